"""Validation, during fit or by itself, and test."""

from __future__ import annotations

import inspect
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import tocha
from tocha_lightning.logging.results import Results
from tocha_lightning.loops.fetcher import BatchFetcher, StepIterator
from tocha_lightning.loops.progress import BatchProgress
from tocha_lightning.trainer.data_sources import DataSource, number_of_batches, prepare_loaders, set_epoch
from tocha_lightning.trainer.states import RunningStage, TrainerFn
from tocha_lightning.utilities.collections import describe, to_scalars
from tocha_lightning.utilities.combined_loader import CombinedLoader
from tocha_lightning.utilities.exceptions import SIGTERMException
from tocha_lightning.utilities.overrides import is_overridden, takes_param
from tocha_lightning.utilities.tables import results_table

INFINITY = float("inf")


def without_gradients(inference_mode: bool) -> AbstractContextManager[Any]:
    """The context of an evaluation."""
    return tocha.inference_mode() if inference_mode else tocha.no_grad()


def check_dataloader_idx(module: Any, hooks: tuple[str, ...], several: bool, prefix: str) -> None:
    """Raise RuntimeError where a step or hook takes `dataloader_idx` and should not, or does not and should."""
    for name in hooks:
        hook = getattr(module, name)
        takes = takes_param(hook, "dataloader_idx")
        if several and not takes:
            raise RuntimeError(
                f"You provided multiple `{prefix}_dataloader`, but no `dataloader_idx` argument in"
                f" `{type(module).__name__}.{name}()`. Try adding `dataloader_idx=0` to its signature."
            )
        if not several and takes:
            parameter = inspect.signature(hook).parameters.get("dataloader_idx")
            if parameter is not None and parameter.default is inspect.Parameter.empty:
                raise RuntimeError(
                    f"You provided only a single `{prefix}_dataloader`, but have included `dataloader_idx` in"
                    f" `{type(module).__name__}.{name}()`. Either remove the argument or give it a default value i.e."
                    " `dataloader_idx=0`."
                )


def module_modes(module: Any) -> Callable[[], None]:
    """Remember the mode of every submodule; the returned function gives it back."""
    modes = [(child, child.training) for child in module.modules()]

    def restore() -> None:
        for child, training in modes:
            child.training = training

    return restore


class EvaluationLoop:
    """Runs all batches of all evaluation loaders, one loader after the other."""

    def __init__(
        self,
        trainer: Any,
        fn: TrainerFn,
        stage: RunningStage,
        verbose: bool = True,
        inference_mode: bool = True,
    ) -> None:
        self.trainer = trainer
        self.verbose = verbose
        self.inference_mode = inference_mode
        self.batch_progress = BatchProgress()
        self.results = Results(training=False)
        self.source = DataSource(None, f"{stage.dataloader_prefix}_dataloader")
        self.combined_loader: CombinedLoader | None = None
        self.has_run = False
        self.metrics_logged = False
        self._fn = fn
        self._stage = stage
        self._hook = "validation" if stage is RunningStage.VALIDATING else "test"
        self._max_batches: list[int | float] = []
        self._outputs: list[dict[str, Any]] = []
        self._seen: dict[int, int] = defaultdict(int)
        self._last_reload_epoch = -INFINITY
        self._batch: Any = None

    @property
    def max_batches(self) -> list[int | float]:
        """The number of batches of every loader."""
        if not self.trainer.sanity_checking:
            return self._max_batches
        return [min(self.trainer.num_sanity_val_steps, batches) for batches in self._max_batches]

    @property
    def num_dataloaders(self) -> int:
        """The number of loaders."""
        return len(self.combined_loader.flattened) if self.combined_loader is not None else 0

    @property
    def skip(self) -> bool:
        """Whether there is nothing to do."""
        return sum(self.max_batches) == 0

    def setup_data(self) -> None:
        """Request and prepare the data, if that was not done or is due again."""
        trainer = self.trainer
        fitting = self._fn is TrainerFn.FITTING
        every = trainer.reload_dataloaders_every_n_epochs
        reload = every and trainer.current_epoch - self._last_reload_epoch >= every
        if self.combined_loader is not None and fitting and not reload:
            return
        prefix = self._stage.dataloader_prefix
        limit = getattr(trainer, f"limit_{prefix}_batches")
        module = trainer.lightning_module
        if limit == 0 or not is_overridden(f"{self._hook}_step", module):
            return
        if fitting and (not trainer.sanity_checking or trainer.fit_loop.epoch_loop.validates_this_epoch()):
            self._last_reload_epoch = trainer.current_epoch
        combined = prepare_loaders(trainer, self.source, self._stage, "sequential")
        self.combined_loader = combined
        self._max_batches = [number_of_batches(self._stage, loader, limit) for loader in combined.flattened]
        self._seen = defaultdict(int)
        if not fitting:
            for loader in combined.flattened:
                set_epoch(loader, trainer.fit_loop.epoch_progress.current.processed)

    # --- running -----------------------------------------------------------------------------------------------------

    def run(self) -> list[dict[str, Any]]:
        """Evaluate. Returns the logged metrics of every loader."""
        with without_gradients(self.inference_mode):
            self.setup_data()
            if self.skip:
                return []
            return self._run()

    def _run(self) -> list[dict[str, Any]]:
        trainer = self.trainer
        combined = self.combined_loader
        assert combined is not None
        self.has_run = self.metrics_logged = False
        self._outputs = []
        self.batch_progress.reset_on_run()
        if self._fn is TrainerFn.FITTING:
            for loader in combined.flattened:
                set_epoch(loader, trainer.fit_loop.epoch_progress.current.processed)
        combined.limits = self.max_batches
        trainer._logging.switch(self.results)
        profile_name = f"[_EvaluationLoop].{self._stage.dataloader_prefix}_next"
        fetcher = BatchFetcher(combined, trainer.profiler, profile_name)
        several = combined.mode == "sequential" and len(combined.flattened) > 1
        restore_modes = self._start(several)
        if self.combined_loader is not combined:
            # a callback has found another batch size
            self.setup_data()
            assert self.combined_loader is not None
            combined = self.combined_loader
            combined.limits = self.max_batches
            trainer._logging.switch(self.results)
            self._outputs = []
            self.batch_progress.reset_on_run()
            fetcher = BatchFetcher(combined, trainer.profiler, profile_name)
        step = getattr(trainer.lightning_module, f"{self._hook}_step")
        takes_iterator = takes_param(step, "dataloader_iter", explicit=True)
        takes_idx = takes_param(step, "batch_idx", min_args=2)
        iterator = StepIterator(fetcher, trainer._transfer) if takes_iterator else None
        current = 0
        try:
            while not fetcher.done:
                if iterator is not None:
                    self._iterator_step(iterator)
                    continue
                try:
                    batch, batch_idx, index = next(fetcher)
                except StopIteration:
                    break
                if index != current:
                    self._store_outputs()
                    current = index
                self.batch_progress.is_last_batch = fetcher.done
                self._step(batch, batch_idx, index, several, takes_idx)
        except Exception as error:
            self._explain(error)
            raise
        finally:
            self._batch = None
        self._store_outputs()
        return self._end(restore_modes)

    def _start(self, several: bool) -> Callable[[], None]:
        trainer = self.trainer
        hooks, name = trainer._hooks, self._hook
        names = tuple(f"{part}" for part in (f"{name}_step", f"on_{name}_batch_start", f"on_{name}_batch_end"))
        check_dataloader_idx(trainer.lightning_module, names, several, self._stage.dataloader_prefix)
        restore_modes = module_modes(trainer.lightning_module)
        hooks.module(f"on_{name}_model_eval")
        hooks.both(f"on_{name}_start")
        hooks.both(f"on_{name}_epoch_start")
        return restore_modes

    def _step(self, batch: Any, batch_idx: int, index: int, several: bool, takes_idx: bool) -> None:
        trainer = self.trainer
        hooks, progress, name = trainer._hooks, self.batch_progress, self._hook
        self._batch = batch
        batch = self._batch = trainer._transfer(batch, index)
        hook_args = (batch, batch_idx, index) if several else (batch, batch_idx)
        progress.increment_ready()
        trainer._logging.batch_start(self.results, batch, index if several else None)
        hooks.both(f"on_{name}_batch_start", *hook_args)
        progress.increment_started()
        step_args = hook_args if takes_idx else (batch, index) if several else (batch,)
        context = trainer._step_context
        if context is None:
            output = hooks.module(f"{name}_step", *step_args)
        else:
            with context():
                output = hooks.module(f"{name}_step", *step_args)
        progress.increment_processed()
        hooks.both(f"on_{name}_batch_end", output, *hook_args)
        self._complete(index)

    def _iterator_step(self, iterator: StepIterator) -> None:
        trainer = self.trainer
        hooks, progress, name = trainer._hooks, self.batch_progress, self._hook
        progress.increment_ready()
        trainer._logging.batch_start(self.results, None)
        hooks.both(f"on_{name}_batch_start", iterator.batch, iterator.batch_idx)
        progress.increment_started()
        output = hooks.module(f"{name}_step", iterator)
        progress.is_last_batch = iterator.done
        progress.increment_processed()
        hooks.both(f"on_{name}_batch_end", output, iterator.batch, iterator.batch_idx)
        self._complete(iterator.dataloader_idx)

    def _complete(self, index: int) -> None:
        trainer = self.trainer
        logging = trainer._logging
        logging.settle()
        logging.batch_end(self.results)
        self.batch_progress.increment_completed()
        if not trainer.sanity_checking:
            self.has_run = True
            if trainer.loggers:
                logging.send(logging.current_log(), step=self._seen[index])
            self._seen[index] += 1
        if trainer.received_sigterm and not self.batch_progress.is_last_batch:
            raise SIGTERMException

    def _store_outputs(self) -> None:
        """A loader is exhausted: keep its metrics."""
        logging = self.trainer._logging
        logging.epoch_end_reached()
        if self.trainer.sanity_checking:
            self._outputs.append({})
            return
        logging.settle()
        self._outputs.append(logging.current_log())

    def _end(self, restore_modes: Callable[[], None]) -> list[dict[str, Any]]:
        trainer = self.trainer
        hooks, logging, name = trainer._hooks, trainer._logging, self._hook
        self.results.dataloader_idx = None
        logging.epoch_end_reached()
        hooks.both(f"on_{name}_epoch_end")
        outputs, self._outputs = self._outputs, []
        if not trainer.sanity_checking:
            logging.settle()
            common = logging.current_log()
            everything: dict[str, Any] = {}
            for output in reversed(outputs):
                everything.update(output)
            everything.update(common)
            for output in outputs:
                output.update(common)
            logging.send(everything)
        self.metrics_logged = True
        hooks.both(f"on_{name}_end")
        logging.reset_results()
        if is_overridden(f"on_{name}_model_train", trainer.lightning_module):
            hooks.module(f"on_{name}_model_train")
        else:
            restore_modes()
        outputs = [to_scalars(output) for output in outputs]
        if self.verbose and trainer.is_global_zero:
            table = results_table(outputs, self._stage.value)
            if table:
                trainer.print(table)
        trainer._last_val_time = time.monotonic()
        return outputs

    def _explain(self, error: Exception) -> None:
        hook = self.trainer._logging.hook
        stage = "the sanity check" if self.trainer.sanity_checking else self._hook
        error.add_note(
            f"During {stage}"
            + (f" in `{hook}`" if hook else "")
            + f": batch {self.batch_progress.current.completed}"
            + (f", batch contents {describe(self._batch)}" if self._batch is not None else "")
        )

    def state_dict(self) -> dict[str, Any]:
        """The counters."""
        return {"state_dict": {}, "batch_progress": self.batch_progress.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the counters."""
        self.batch_progress.load_state_dict(state["batch_progress"])
