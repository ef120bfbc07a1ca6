"""LightningDataModule: data loading in one reusable class."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Any

import tocha
from tocha.utils.data import DataLoader, Dataset, IterableDataset
from tocha_lightning.core.hooks import DataHooks
from tocha_lightning.core.hparams import HyperparametersMixin
from tocha_lightning.utilities.combined_loader import sized_len


class LightningDataModule(DataHooks, HyperparametersMixin):
    """Everything about the data of a project: download, splits, transforms and loaders.

    Override `prepare_data` (one process), `setup` (every process) and the ``*_dataloader`` methods.

    >>> import tocha
    >>> from tocha.utils.data import DataLoader, TensorDataset
    >>> class Numbers(LightningDataModule):
    ...     def train_dataloader(self):
    ...         return DataLoader(TensorDataset(tocha.arange(6.0)), batch_size=2)
    >>> len(Numbers().train_dataloader())
    3
    """

    name: str | None = None
    CHECKPOINT_HYPER_PARAMS_KEY = "datamodule_hyper_parameters"
    CHECKPOINT_HYPER_PARAMS_NAME = "datamodule_hparams_name"
    CHECKPOINT_HYPER_PARAMS_TYPE = "datamodule_hparams_type"

    def __init__(self) -> None:
        super().__init__()
        self.trainer: Any = None

    @classmethod
    def from_datasets(
        cls,
        train_dataset: Dataset[Any] | Iterable[Dataset[Any]] | None = None,
        val_dataset: Dataset[Any] | Iterable[Dataset[Any]] | None = None,
        test_dataset: Dataset[Any] | Iterable[Dataset[Any]] | None = None,
        predict_dataset: Dataset[Any] | Iterable[Dataset[Any]] | None = None,
        batch_size: int = 1,
        num_workers: int = 0,
        **datamodule_kwargs: Any,
    ) -> LightningDataModule:
        """A data module of datasets, one or a sequence or a mapping of them for each stage.

        Training data is shuffled unless it is an `IterableDataset`.
        """

        def loader(dataset: Dataset[Any], shuffle: bool = False) -> DataLoader[Any]:
            shuffle = shuffle and not isinstance(dataset, IterableDataset)
            return DataLoader(
                dataset,
                batch_size=batch_size,
                shuffle=shuffle,
                num_workers=num_workers,
                pin_memory=tocha.cuda.is_available(),
                persistent_workers=num_workers > 0,
            )

        def loaders(datasets: Any, shuffle: bool = False) -> Any:
            if isinstance(datasets, Mapping):
                return {key: loader(dataset, shuffle) for key, dataset in datasets.items()}
            if isinstance(datasets, Sequence) and not isinstance(datasets, Dataset):
                return [loader(dataset, shuffle) for dataset in datasets]
            return loader(datasets, shuffle)

        datamodule = cls(**datamodule_kwargs)
        if train_dataset is not None:
            datamodule.train_dataloader = lambda: loaders(train_dataset, shuffle=True)  # type: ignore[method-assign]
        if val_dataset is not None:
            datamodule.val_dataloader = lambda: loaders(val_dataset)  # type: ignore[method-assign]
        if test_dataset is not None:
            datamodule.test_dataloader = lambda: loaders(test_dataset)  # type: ignore[method-assign]
        if predict_dataset is not None:
            datamodule.predict_dataloader = lambda: loaders(predict_dataset)  # type: ignore[method-assign]
        return datamodule

    def state_dict(self) -> dict[str, Any]:
        """State to keep in checkpoints."""
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""

    def on_exception(self, exception: BaseException) -> None:
        """Called when a run ends with an exception."""

    @classmethod
    def load_from_checkpoint(
        cls,
        checkpoint_path: str | os.PathLike[str] | IO[bytes],
        map_location: Any = None,
        hparams_file: str | os.PathLike[str] | None = None,
        weights_only: bool | None = None,
        **kwargs: Any,
    ) -> LightningDataModule:
        """Build the data module with the hyperparameters and the state of a checkpoint.

        Args:
            checkpoint_path: a path or an open binary file.
            map_location: where to put tensors, as in `tocha.load`.
            hparams_file: a ``.yaml`` or ``.csv`` file whose hyperparameters replace the checkpoint's.
            weights_only: as in `tocha.load`; by default only data is read, no code.
            kwargs: arguments of the constructor that override the saved ones.
        """
        from tocha_lightning.core.saving import load_from_checkpoint

        return load_from_checkpoint(
            cls, checkpoint_path, map_location, hparams_file, strict=None, weights_only=weights_only, **kwargs
        )

    def __str__(self) -> str:
        """The sizes of the datasets that the loaders give, where they are known."""
        lines = []
        for stage in ("train", "val", "test", "predict"):
            try:
                loaders = getattr(self, f"{stage}_dataloader")()
            except Exception:  # a loader may need `setup` first: a description must not fail
                lines.append(f"{stage.capitalize()} dataset: None")
                continue
            items = loaders if isinstance(loaders, (list, tuple)) else [loaders]
            for i, item in enumerate(items):
                dataset = getattr(item, "dataset", None)
                size = sized_len(dataset) if dataset is not None else None
                index = f" {i}" if len(items) > 1 else ""
                name = type(dataset).__name__ if dataset is not None else type(item).__name__
                lines.append(f"{stage.capitalize()} dataset{index}: {name}, size={'NA' if size is None else size}")
        return "{" + "\n ".join(lines) + "}"
