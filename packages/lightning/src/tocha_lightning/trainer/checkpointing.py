"""What a checkpoint holds, and restoring it."""

from __future__ import annotations

import copy
import os
from typing import Any

from tocha_lightning.trainer.states import TrainerFn
from tocha_lightning.utilities.exceptions import MisconfigurationException
from tocha_lightning.utilities.overrides import is_overridden
from tocha_lightning.utilities.rank_zero import rank_zero_info, rank_zero_warn

# the release of Lightning whose checkpoint layout this is; tools that read the files look for it
LAYOUT_VERSION = "2.6.0"


class CheckpointConnector:
    """Makes and restores the checkpoints of a Trainer."""

    def __init__(self, trainer: Any) -> None:
        self.trainer = trainer
        self.ckpt_path: str | None = None
        self._loaded: dict[str, Any] = {}
        self._user_managed = False

    # --- which file -----------------------------------------------------------------------------------------------

    def select_path(self, ckpt_path: Any, model_provided: bool) -> str | None:
        """The file that the `ckpt_path` of ``fit``, ``validate``, ``test`` or ``predict`` means.

        Raises:
            ValueError: ``"best"`` or ``"last"`` where there is none.
        """
        if self._user_managed:
            if not ckpt_path:
                return self.ckpt_path
            rank_zero_warn(
                f"`trainer.ckpt_path = {self.ckpt_path!r}` was called but then you passed"
                f" `trainer.fit(ckpt_path={ckpt_path!r})`. The latter will be loaded."
            )
            self._user_managed = False
        trainer = self.trainer
        fn = trainer.state.fn
        callbacks = trainer.checkpoint_callbacks
        best = [c for c in callbacks if getattr(c, "best_model_path", "")]
        if ckpt_path is None:
            if fn is TrainerFn.FITTING or model_provided or not best:
                return None
            # without a model the best one of the last `fit` is meant
            rank_zero_warn(
                f"`.{fn}(ckpt_path=None)` was called without a model. The best model of the previous `fit` call will be"
                f" used. You can pass `.{fn}(ckpt_path='best')` to use the best model or"
                f" `.{fn}(ckpt_path='last')` to use"
                " the last model. If you pass a value, this warning will be silenced."
            )
            ckpt_path = "best"
        if ckpt_path == "best":
            return self._best(fn, callbacks)
        if ckpt_path == "last":
            return self._last(fn)
        return os.fspath(ckpt_path)

    def _best(self, fn: Any, callbacks: list[Any]) -> str:
        trainer = self.trainer
        if not callbacks:
            raise ValueError(f'`.{fn}(ckpt_path="best")` is set but `ModelCheckpoint` is not configured.')
        if len(callbacks) > 1:
            rank_zero_warn(
                f'`.{fn}(ckpt_path="best")` is called with Trainer configured with multiple `ModelCheckpoint`'
                " callbacks."
                " It will use the best checkpoint path from first checkpoint callback."
            )
        path = getattr(trainer.checkpoint_callback, "best_model_path", "")
        if not path:
            if trainer.fast_dev_run:
                raise ValueError(
                    f'You cannot execute `.{fn}(ckpt_path="best")` with `fast_dev_run=True`. Please pass an exact'
                    f" checkpoint path to `.{fn}(ckpt_path=...)`"
                )
            raise ValueError(
                f'`.{fn}(ckpt_path="best")` is set but `ModelCheckpoint` is not configured to save the best model.'
            )
        return str(path)

    def _last(self, fn: Any) -> str | None:
        from tocha_lightning.callbacks import ModelCheckpoint, OnExceptionCheckpoint

        candidates: set[str] = set()
        for callback in self.trainer.callbacks:
            if isinstance(callback, ModelCheckpoint):
                candidates |= callback.find_last_checkpoints(self.trainer)
            elif isinstance(callback, OnExceptionCheckpoint) and os.path.isfile(callback.ckpt_path):
                candidates.add(callback.ckpt_path)
        if not candidates:
            # a first run may ask for the last checkpoint too, so that the same script can be started again
            rank_zero_warn(
                f'.{fn}(ckpt_path="last") is set, but there is no last checkpoint available. No checkpoint will be'
                " loaded. HINT: Set `ModelCheckpoint(..., save_last=True)`."
            )
            return None
        return max(candidates, key=os.path.getmtime)

    # --- saving -----------------------------------------------------------------------------------------------------

    def dump(self, weights_only: bool = False) -> dict[str, Any]:
        """The contents of a checkpoint at this moment; `weights_only` leaves out what training needs."""
        trainer = self.trainer
        module, datamodule, strategy = trainer.lightning_module, trainer.datamodule, trainer.strategy
        checkpoint: dict[str, Any] = {
            "epoch": trainer.current_epoch,
            "global_step": trainer.global_step,
            "pytorch-lightning_version": LAYOUT_VERSION,
            "state_dict": strategy.lightning_module_state_dict(),
            "loops": {
                "fit_loop": trainer.fit_loop.state_dict(everything=not weights_only),
                "validate_loop": trainer.validate_loop.state_dict(),
                "test_loop": trainer.test_loop.state_dict(),
                "predict_loop": trainer.predict_loop.state_dict(),
            },
        }
        if not weights_only:
            states = {c.state_key: c.state_dict() for c in trainer.callbacks if is_overridden("state_dict", c)}
            checkpoint["callbacks"] = {key: state for key, state in states.items() if state}
            checkpoint["optimizer_states"] = [strategy.optimizer_state(o) for o in strategy.optimizers]
            checkpoint["lr_schedulers"] = [c.scheduler.state_dict() for c in strategy.lr_scheduler_configs]
            precision_state = trainer.precision_plugin.state_dict()
            if precision_state:
                checkpoint[type(trainer.precision_plugin).__qualname__] = precision_state
        for owner in (module, datamodule):
            if owner is not None and owner.hparams:
                if hasattr(owner, "_hparams_name"):
                    checkpoint[owner.CHECKPOINT_HYPER_PARAMS_NAME] = owner._hparams_name
                checkpoint[owner.CHECKPOINT_HYPER_PARAMS_KEY] = dict(owner.hparams)
        if datamodule is not None:
            state = trainer._hooks.datamodule("state_dict")
            if state:
                checkpoint[type(datamodule).__qualname__] = state
        if not weights_only:
            trainer._hooks.callbacks("on_save_checkpoint", checkpoint)
        trainer._hooks.module("on_save_checkpoint", checkpoint)
        return checkpoint

    # --- restoring ---------------------------------------------------------------------------------------------------

    def restore_modules_and_callbacks(self, path: str | None, weights_only: bool | None) -> None:
        """Read the file, then restore the module, the data module and the callbacks."""
        self.ckpt_path = path
        self._loaded = {}
        if not path:
            return
        rank_zero_info(f"Restoring states from the checkpoint path at {path}")
        trainer = self.trainer
        self._loaded = checkpoint = trainer.strategy.load_checkpoint(path, weights_only=weights_only)
        trainer._hooks.module("on_load_checkpoint", checkpoint)
        trainer.strategy.load_model_state_dict(checkpoint, strict=trainer.lightning_module.strict_loading)
        datamodule = trainer.datamodule
        if datamodule is not None and type(datamodule).__qualname__ in checkpoint:
            trainer._hooks.datamodule("load_state_dict", checkpoint[type(datamodule).__qualname__])
        self._restore_callbacks(checkpoint)

    def _restore_callbacks(self, checkpoint: dict[str, Any]) -> None:
        states = checkpoint.get("callbacks")
        if states is None:
            return
        trainer = self.trainer
        missing = states.keys() - {callback.state_key for callback in trainer.callbacks}
        if missing:
            rank_zero_warn(
                "Be aware that when using `ckpt_path`, callbacks used to create the checkpoint need to be provided"
                f" during `Trainer` instantiation. Please add the following callbacks: {list(missing)}."
            )
        trainer._hooks.callbacks("on_load_checkpoint", checkpoint)
        for callback in trainer.callbacks:
            state = states.get(callback.state_key)
            if state:
                callback.load_state_dict(copy.deepcopy(state))

    def restore_training_state(self) -> None:
        """Restore precision, loops, optimizers and schedulers.

        Raises:
            KeyError: the checkpoint holds weights only.
            MisconfigurationException: it is further than `max_epochs`.
        """
        checkpoint, trainer = self._loaded, self.trainer
        if not checkpoint:
            return
        precision = trainer.precision_plugin
        if type(precision).__qualname__ in checkpoint:
            precision.load_state_dict(checkpoint[type(precision).__qualname__])
        fitting = trainer.state.fn is TrainerFn.FITTING
        loops = checkpoint.get("loops")
        if loops is None and fitting:
            raise KeyError(
                "Trying to go on with training, but the checkpoint does not say how far it was (it has no 'loops')."
                " To begin anew with its weights, use `load_from_checkpoint` of the model's class."
            )
        if loops is not None:
            key = f"{trainer.state.fn.value}_loop"
            getattr(trainer, key).load_state_dict(loops[key])
        if not fitting:
            return
        if trainer.max_epochs not in (-1, None) and trainer.current_epoch > trainer.max_epochs:
            raise MisconfigurationException(
                f"You restored a checkpoint with current_epoch={trainer.current_epoch},"
                f" but you have set Trainer(max_epochs={trainer.max_epochs})."
            )
        for key, what in (("optimizer_states", "optimizer"), ("lr_schedulers", "learning rate scheduler")):
            if key not in checkpoint:
                raise KeyError(
                    f"Trying to restore {what} state but checkpoint contains only the model."
                    " This is probably due to `ModelCheckpoint.save_weights_only` being set to `True`."
                )
        trainer.strategy.load_optimizer_state_dict(checkpoint)
        configs = trainer.lr_scheduler_configs
        for config, state in zip(configs, checkpoint["lr_schedulers"], strict=False):
            config.scheduler.load_state_dict(state)

    def restored(self) -> None:
        """Say so and free the memory."""
        if self.ckpt_path:
            what = "Restored all states" if self.trainer.state.fn is TrainerFn.FITTING else "Loaded model weights"
            rank_zero_info(f"{what} from the checkpoint at {self.ckpt_path}")
        self._loaded = {}
