"""Where a loop gets its data from, and how many batches of it are used."""

from __future__ import annotations

import copy
import os
from collections.abc import Sized
from functools import partial
from typing import Any, cast

from tocha.utils.data import BatchSampler, DataLoader, RandomSampler, SequentialSampler
from tocha_lightning.core.datamodule import LightningDataModule
from tocha_lightning.core.module import LightningModule
from tocha_lightning.trainer.states import RunningStage
from tocha_lightning.utilities.combined_loader import CombinedLoader, sized_len
from tocha_lightning.utilities.exceptions import MisconfigurationException
from tocha_lightning.utilities.overrides import is_overridden
from tocha_lightning.utilities.rank_zero import PossibleUserWarning, rank_zero_warn
from tocha_lightning.utilities.seed import worker_init_function


class DataSource:
    """Data given to the Trainer directly, or by a method of the module or the data module.

    Args:
        instance: a module, a data module, or the loaders themselves.
        name: the method, ``"train_dataloader"`` for example.
    """

    def __init__(self, instance: Any, name: str) -> None:
        self.instance = instance
        self.name = name

    def is_module(self) -> bool:
        """Whether a method has to be asked."""
        return isinstance(self.instance, (LightningModule, LightningDataModule))

    def is_defined(self) -> bool:
        """Whether there is any data."""
        return not self.is_module() or is_overridden(self.name, self.instance)

    def request(self, trainer: Any) -> Any:
        """The loaders."""
        if isinstance(self.instance, LightningModule):
            return trainer._hooks.module(self.name)
        if isinstance(self.instance, LightningDataModule):
            return trainer._hooks.datamodule(self.name)
        return self.instance

    def check_iterable(self, loader: Any, argument: str) -> None:
        """Raise TypeError where `loader` is no iterable."""
        if isinstance(loader, DataLoader):
            return
        try:
            iter(loader)
        except TypeError:
            if self.is_module() and is_overridden(self.name, self.instance):
                origin = f"returned from `{type(self.instance).__name__}.{self.name}()`"
            else:
                origin = f"passed to `Trainer.{argument}`"
            raise TypeError(
                f"An invalid dataloader was {origin}. Found {loader}. Either pass the dataloader to the"
                " Trainer's method"
                f" or implement `def {self.name}(self):` in your LightningModule/LightningDataModule."
            ) from None


def with_sampling(loader: DataLoader[Any], sampler: Any = None, batch_sampler: Any = None) -> Any:
    """A copy of `loader` that draws its indices in another way.

    DataLoader forbids to assign its samplers; the copy shares everything else, whatever class it is of.
    """
    changed = copy.copy(loader)
    if sampler is not None:
        object.__setattr__(changed, "sampler", sampler)
        if loader.batch_sampler is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, loader.batch_size or 1, loader.drop_last)
    if batch_sampler is not None:
        object.__setattr__(changed, "batch_sampler", batch_sampler)
    return changed


def prepare_loaders(trainer: Any, source: DataSource, stage: RunningStage, mode: str) -> CombinedLoader:
    """Request the loaders of a stage and prepare each of them."""
    loaders = source.request(trainer)
    trainer.strategy.barrier(f"{stage.dataloader_prefix}_dataloader()")
    combined = loaders if isinstance(loaders, CombinedLoader) else CombinedLoader(loaders, mode)  # type: ignore[arg-type]
    if trainer.overfit_batches > 0 and trainer.state.fn == "fit":
        _stop_shuffling(combined, stage)
    prefix = "train_" if trainer.state.fn == "fit" else ""
    prepared = []
    for loader in combined.flattened:
        source.check_iterable(loader, f"{trainer.state.fn}({prefix}dataloaders=...)")
        prepared.append(_prepare(trainer, loader, stage))
    combined.flattened = prepared
    return combined


def _stop_shuffling(combined: CombinedLoader, stage: RunningStage) -> None:
    if all(isinstance(dl.sampler, SequentialSampler) for dl in combined.flattened if hasattr(dl, "sampler")):
        return
    rank_zero_warn(
        f"You requested to overfit but enabled {stage.dataloader_prefix} dataloader shuffling."
        f" We are turning off the {stage.dataloader_prefix} dataloader shuffling for you."
    )
    combined.flattened = [
        with_sampling(dl, SequentialSampler(cast(Sized, dl.dataset))) if isinstance(dl, DataLoader) else dl
        for dl in combined.flattened
    ]


def _prepare(trainer: Any, loader: Any, stage: RunningStage) -> Any:
    if isinstance(loader, DataLoader):
        shuffled = isinstance(getattr(loader, "sampler", None), RandomSampler)
        if stage is not RunningStage.TRAINING and shuffled:
            rank_zero_warn(
                f"Your `{stage.dataloader_prefix}_dataloader`'s sampler has shuffling enabled,"
                " it is strongly recommended that you turn shuffling off for val/test dataloaders.",
                category=PossibleUserWarning,
            )
        loader = _distribute(trainer, loader, shuffled or stage is RunningStage.TRAINING)
        if int(os.environ.get("PL_SEED_WORKERS", "0")) and loader.num_workers and loader.worker_init_fn is None:
            loader.worker_init_fn = partial(worker_init_function, rank=trainer.global_rank)
    return trainer.strategy.process_dataloader(loader)


def _distribute(trainer: Any, loader: DataLoader[Any], shuffle: bool) -> Any:
    wanted = trainer.strategy.distributed_sampler_kwargs
    if wanted is None or not trainer.use_distributed_sampler or loader.batch_size is None:
        return loader
    from tocha.utils.data.distributed import DistributedSampler

    if isinstance(loader.sampler, DistributedSampler):
        return loader
    shuffle = shuffle and not trainer.overfit_batches and isinstance(loader.sampler, RandomSampler)
    seed = int(os.environ.get("PL_GLOBAL_SEED", "0"))
    return with_sampling(loader, DistributedSampler(cast(Sized, loader.dataset), shuffle=shuffle, seed=seed, **wanted))


def number_of_batches(stage: RunningStage, loader: Any, limit: int | float) -> int | float:
    """How many batches of `loader` a ``limit_*_batches`` lets through.

    Raises:
        MisconfigurationException: a fraction of a loader without length, or a fraction that leaves no batch.
    """
    length = sized_len(loader)
    prefix = stage.dataloader_prefix
    if length == 0:
        rank_zero_warn(
            f"Total length of `{type(loader).__name__}` across ranks is zero. Please make sure this was your intention."
        )
        return 0
    if isinstance(limit, int):
        return limit if length is None else min(length, limit)
    if length is None:
        if limit not in (0.0, 1.0):
            raise MisconfigurationException(
                f"When using an `IterableDataset`, `Trainer(limit_{prefix}_batches)` must be `1.0` or an int. An int"
                f" specifies `num_{prefix}_batches` to use."
            )
        return float("inf") if limit else 0
    number = int(length * limit)
    if number == 0 and limit > 0:
        raise MisconfigurationException(
            f"You requested to check {limit} of the `{prefix}_dataloader` but {limit} * {length} < 1. Please increase"
            f" the `limit_{prefix}_batches` argument. Try at least `limit_{prefix}_batches={1.0 / length}`"
        )
    return number


def set_epoch(loader: Any, epoch: int) -> None:
    """Tell the samplers of `loader` the number of the epoch, where they want to know."""
    batch_sampler = getattr(loader, "batch_sampler", None)
    candidates = (getattr(loader, "sampler", None), batch_sampler, getattr(batch_sampler, "sampler", None))
    for sampler in {id(candidate): candidate for candidate in candidates}.values():
        tell = getattr(sampler, "set_epoch", None)
        if callable(tell):
            tell(epoch)
