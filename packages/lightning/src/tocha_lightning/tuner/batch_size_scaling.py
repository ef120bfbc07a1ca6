"""Finding the largest batch size that fits into memory."""

from __future__ import annotations

import gc
from typing import Any

import tocha
from tocha_lightning.trainer.states import TrainerFn
from tocha_lightning.tuner.attributes import get_attribute, has_attribute, set_attribute
from tocha_lightning.tuner.trial import forgotten, train_steps
from tocha_lightning.utilities.exceptions import MisconfigurationException
from tocha_lightning.utilities.rank_zero import rank_zero_info, rank_zero_warn


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that the memory of the host or of a GPU is exhausted."""
    return isinstance(error, MemoryError) or "out of memory" in str(error).lower()


def scale_batch_size(
    trainer: Any,
    mode: str = "power",
    steps_per_trial: int = 3,
    init_val: int = 2,
    max_trials: int = 25,
    batch_arg_name: str = "batch_size",
    margin: float = 0.05,
    max_val: int = 8192,
) -> int | None:
    """Run the search within a run; see `Tuner.scale_batch_size`."""
    if trainer.fast_dev_run:
        rank_zero_warn("Skipping batch size scaler since `fast_dev_run` is enabled.")
        return None
    if mode not in ("power", "binsearch"):
        raise ValueError(f"`mode` should be either 'power' or 'binsearch', got {mode!r}")
    model = trainer.lightning_module
    if not has_attribute(model, batch_arg_name):
        raise MisconfigurationException(
            f"Field {batch_arg_name} not found in `model`, `datamodule`, nor their `hparams` attributes."
        )
    if not _loop(trainer).source.is_module():
        raise MisconfigurationException(
            "Batch size finder cannot be used with dataloaders passed directly: the method that makes them has to read"
            f" `{batch_arg_name}`."
        )
    original = get_attribute(model, batch_arg_name)
    sizes = _Trials(trainer, batch_arg_name, steps_per_trial, max_val)
    best, failed, size = 0, None, init_val
    for _ in range(max_trials):
        if sizes.fits(size):
            best = size
            if size >= min(max_val, sizes.dataset_size or max_val):
                break
            size = size * 2 if failed is None else (best + failed) // 2
        else:
            failed = size
            if mode == "power" or best == 0:
                size //= 2
                if best or size < 1:
                    break
            else:
                size = (best + failed) // 2
        size = min(size, max_val)
        if failed is not None and (mode == "power" and best or failed - best <= 1):
            break
    if best == 0:
        set_attribute(model, batch_arg_name, original)
        sizes.reload()
        raise MemoryError(f"Not even a batch size of 1 fits into memory (tried down from {init_val}).")
    if mode == "binsearch" and failed is not None:
        # memory use varies from batch to batch: stay a little below what just fitted
        best = max(1, int(best * (1 - margin)))
    set_attribute(model, batch_arg_name, best)
    sizes.reload()
    rank_zero_info(f"Finished batch size finder, will continue with full run using batch size {best}")
    return int(best)


def _loop(trainer: Any) -> Any:
    return {
        TrainerFn.FITTING: trainer.fit_loop,
        TrainerFn.VALIDATING: trainer.validate_loop,
        TrainerFn.TESTING: trainer.test_loop,
        TrainerFn.PREDICTING: trainer.predict_loop,
    }[trainer.state.fn]


class _Trials:
    def __init__(self, trainer: Any, name: str, steps: int, max_val: int) -> None:
        self.trainer = trainer
        self.name = name
        self.steps = steps
        self.max_val = max_val
        self.dataset_size: int | None = None

    def reload(self) -> None:
        """Let the loaders be made with the batch size that is set now."""
        _loop(self.trainer).combined_loader = None

    def fits(self, size: int) -> bool:
        """Whether a few steps of this batch size go through."""
        trainer = self.trainer
        set_attribute(trainer.lightning_module, self.name, size)
        self.reload()
        try:
            with forgotten(trainer):
                if trainer.state.fn is TrainerFn.FITTING:
                    train_steps(trainer, self.steps, lambda step: None, lambda step, loss: True)
                else:
                    self._evaluate()
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            error.__traceback__ = None  # it keeps the tensors of the failed step alive
            gc.collect()
            rank_zero_info(f"Batch size {size} failed")
            fitted = False
        else:
            rank_zero_info(f"Batch size {size} succeeded, trying batch size {size * 2}")
            fitted = True
        loaders = _loop(trainer).combined_loader
        if loaders is not None:
            lengths = [len(dl.dataset) for dl in loaders.flattened if hasattr(getattr(dl, "dataset", None), "__len__")]
            self.dataset_size = max(lengths, default=None)
        if trainer.strategy.root_device.type == "cuda":
            tocha.cuda.empty_cache()
        return fitted

    def _evaluate(self) -> None:
        trainer = self.trainer
        loop = _loop(trainer)
        prefix = trainer.state.stage.dataloader_prefix
        name = f"limit_{prefix}_batches"
        limit, callbacks = getattr(trainer, name), trainer.callbacks
        verbose, loop.verbose = getattr(loop, "verbose", False), False
        setattr(trainer, name, self.steps)
        trainer.callbacks = []
        try:
            loop.run()
        finally:
            setattr(trainer, name, limit)
            trainer.callbacks = callbacks
            loop.verbose = verbose
