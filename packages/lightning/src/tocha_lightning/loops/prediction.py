"""Prediction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tocha import Tensor
from tocha.utils.data import DataLoader
from tocha_lightning.loops.evaluation import check_dataloader_idx, module_modes, without_gradients
from tocha_lightning.loops.fetcher import BatchFetcher, StepIterator
from tocha_lightning.loops.progress import Progress
from tocha_lightning.trainer.data_sources import (
    DataSource,
    number_of_batches,
    prepare_loaders,
    set_epoch,
    with_sampling,
)
from tocha_lightning.trainer.states import RunningStage
from tocha_lightning.utilities.collections import apply_to_collection, describe
from tocha_lightning.utilities.combined_loader import CombinedLoader
from tocha_lightning.utilities.overrides import takes_param
from tocha_lightning.utilities.rank_zero import rank_zero_warn


class IndexRecorder:
    """A batch sampler that remembers the indices it gave."""

    def __init__(self, batch_sampler: Any) -> None:
        self._batch_sampler = batch_sampler
        self.seen: list[list[int]] = []

    def __iter__(self) -> Iterator[Any]:
        self.seen = []
        for batch in self._batch_sampler:
            self.seen.append(list(batch))
            yield batch

    def __len__(self) -> int:
        return len(self._batch_sampler)


class PredictionLoop:
    """Runs `predict_step` on all batches of all loaders."""

    def __init__(self, trainer: Any, inference_mode: bool = True) -> None:
        self.trainer = trainer
        self.inference_mode = inference_mode
        self.batch_progress = Progress()
        self.source = DataSource(None, "predict_dataloader")
        self.combined_loader: CombinedLoader | None = None
        self.max_batches: list[int | float] = []
        self.epoch_batch_indices: list[list[list[int]]] = []
        self.current_batch_indices: list[int] = []
        self._return_predictions = True
        self._predictions: list[list[Any]] = []
        self._recorders: list[IndexRecorder | None] = []
        self._batch: Any = None

    @property
    def return_predictions(self) -> bool:
        """Whether predictions are kept and returned."""
        return self._return_predictions

    @return_predictions.setter
    def return_predictions(self, return_predictions: bool | None) -> None:
        self._return_predictions = True if return_predictions is None else return_predictions

    @property
    def num_dataloaders(self) -> int:
        """The number of loaders."""
        return len(self.combined_loader.flattened) if self.combined_loader is not None else 0

    @property
    def predictions(self) -> list[Any]:
        """What was predicted: a list of batches, or with several loaders a list for each."""
        return self._predictions[0] if self.num_dataloaders == 1 and self._predictions else self._predictions

    def setup_data(self) -> None:
        """Request and prepare the data."""
        trainer = self.trainer
        if trainer.limit_predict_batches == 0:
            return
        combined = prepare_loaders(trainer, self.source, RunningStage.PREDICTING, "sequential")
        if combined.mode != "sequential":
            raise ValueError('`trainer.predict()` only supports the `CombinedLoader(mode="sequential")` mode.')
        self._recorders = []
        loaders = []
        for loader in combined.flattened:
            recorder = None
            if isinstance(loader, DataLoader) and loader.batch_sampler is not None:
                recorder = IndexRecorder(loader.batch_sampler)
                loader = with_sampling(loader, batch_sampler=recorder)
            self._recorders.append(recorder)
            loaders.append(loader)
        combined.flattened = loaders
        self.max_batches = [
            number_of_batches(RunningStage.PREDICTING, loader, trainer.limit_predict_batches) for loader in loaders
        ]
        combined.limits = self.max_batches
        self.combined_loader = combined
        for loader in loaders:
            set_epoch(loader, trainer.fit_loop.epoch_progress.current.processed)

    def run(self) -> list[Any] | None:
        """Predict. Returns the predictions, if they are to be returned."""
        with without_gradients(self.inference_mode):
            self.setup_data()
            if self.combined_loader is None or sum(self.max_batches) == 0:
                return None
            return self._run(self.combined_loader)

    def _run(self, combined: CombinedLoader) -> list[Any] | None:
        trainer = self.trainer
        hooks, module = trainer._hooks, trainer.lightning_module
        several = len(combined.flattened) > 1
        self.batch_progress.reset_on_run()
        self._predictions = [[] for _ in combined.flattened]
        self.epoch_batch_indices = [[] for _ in combined.flattened]
        trainer._logging.switch(None)
        names = ("predict_step", "on_predict_batch_start", "on_predict_batch_end")
        check_dataloader_idx(module, names, several, "predict")
        restore_modes = module_modes(module)
        fetcher = BatchFetcher(combined, trainer.profiler, "[_PredictionLoop].predict_next")
        hooks.module("on_predict_model_eval")
        hooks.both("on_predict_start")
        if self.combined_loader is not combined:
            # a callback has found another batch size
            self.setup_data()
            assert self.combined_loader is not None
            combined = self.combined_loader
            self.batch_progress.reset_on_run()
            self._predictions = [[] for _ in combined.flattened]
            self.epoch_batch_indices = [[] for _ in combined.flattened]
            fetcher = BatchFetcher(combined, trainer.profiler, "[_PredictionLoop].predict_next")
        hooks.both("on_predict_epoch_start")
        takes_idx = takes_param(module.predict_step, "batch_idx", min_args=2)
        takes_iterator = takes_param(module.predict_step, "dataloader_iter", explicit=True)
        iterator = StepIterator(fetcher, trainer._transfer) if takes_iterator else None
        try:
            while not fetcher.done:
                if iterator is not None:
                    self._predict(iterator.batch, iterator.batch_idx, 0, several, takes_idx, iterator)
                    continue
                try:
                    batch, batch_idx, index = next(fetcher)
                except StopIteration:
                    break
                self._predict(batch, batch_idx, index, several, takes_idx, None)
        except Exception as error:
            hook = trainer._logging.hook
            error.add_note(
                "During prediction"
                + (f" in `{hook}`" if hook else "")
                + f": batch {self.batch_progress.current.completed}, batch contents {describe(self._batch)}"
            )
            raise
        finally:
            self._batch = None
        hooks.both("on_predict_epoch_end")
        hooks.both("on_predict_end")
        restore_modes()
        return self.predictions if self.return_predictions else None

    def _predict(
        self, batch: Any, batch_idx: int, index: int, several: bool, takes_idx: bool, iterator: StepIterator | None
    ) -> None:
        trainer = self.trainer
        hooks, progress = trainer._hooks, self.batch_progress
        if iterator is None:
            self._batch = batch
            batch = self._batch = trainer._transfer(batch, index)
        progress.increment_ready()
        self._remember_indices(index, batch_idx)
        hook_args = (batch, batch_idx, index) if several else (batch, batch_idx)
        hooks.both("on_predict_batch_start", *hook_args)
        progress.increment_started()
        step_args: tuple[Any, ...] = hook_args if takes_idx else (batch, index) if several else (batch,)
        if iterator is not None:
            step_args = (iterator,)
        context = trainer._step_context
        if context is None:
            predictions = hooks.module("predict_step", *step_args)
        else:
            with context():
                predictions = hooks.module("predict_step", *step_args)
        if iterator is not None:
            hook_args = (iterator.batch, iterator.batch_idx)
        progress.increment_processed()
        if predictions is None:
            rank_zero_warn("predict returned None if it was on purpose, ignore this warning...")
        hooks.both("on_predict_batch_end", predictions, *hook_args)
        progress.increment_completed()
        if self.return_predictions:
            # what is kept must not hold device memory
            kept = apply_to_collection(predictions, Tensor, lambda t: t if t.device.type == "cpu" else t.cpu())
            self._predictions[index].append(kept)

    def _remember_indices(self, index: int, batch_idx: int) -> None:
        recorder = self._recorders[index]
        # workers read ahead: the recorder may have given more batches than arrived here
        self.current_batch_indices = recorder.seen[batch_idx] if recorder is not None else []
        self.epoch_batch_indices[index].append(self.current_batch_indices)

    def state_dict(self) -> dict[str, Any]:
        """The counters."""
        return {"state_dict": {}, "batch_progress": self.batch_progress.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the counters."""
        self.batch_progress.load_state_dict(state["batch_progress"])
