"""LightningModule: a model together with the steps that train, validate, test and use it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

import tocha
from tocha import Tensor, nn
from tocha.optim import Optimizer
from tocha_lightning.core.hooks import CheckpointHooks, DataHooks, ModelHooks
from tocha_lightning.core.hparams import HyperparametersMixin
from tocha_lightning.core.optimizer import LightningOptimizer
from tocha_lightning.utilities.collections import apply_to_collection
from tocha_lightning.utilities.exceptions import MisconfigurationException
from tocha_lightning.utilities.rank_zero import rank_zero_warn
from tocha_lightning.utilities.types import STEP_OUTPUT


class LightningModule(HyperparametersMixin, ModelHooks, DataHooks, CheckpointHooks, nn.Module):
    """Override `training_step` and `configure_optimizers`, and whatever else the project needs.

    >>> import tocha
    >>> class Line(LightningModule):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.layer = tocha.nn.Linear(1, 1)
    ...     def training_step(self, batch, batch_idx):
    ...         x, y = batch
    ...         loss = tocha.nn.functional.mse_loss(self.layer(x), y)
    ...         self.log("loss", loss)
    ...         return loss
    ...     def configure_optimizers(self):
    ...         return tocha.optim.SGD(self.parameters(), lr=0.1)
    >>> Line().automatic_optimization
    True
    """

    CHECKPOINT_HYPER_PARAMS_KEY = "hyper_parameters"
    CHECKPOINT_HYPER_PARAMS_NAME = "hparams_name"
    CHECKPOINT_HYPER_PARAMS_TYPE = "hparams_type"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._trainer: Any = None
        self._example_input_array: Any = None
        self._automatic_optimization = True
        self._strict_loading: bool | None = None
        self._toggled_state: dict[nn.Parameter, bool] = {}
        self._device = tocha.device("cpu")
        self._dtype = tocha.get_default_dtype()

    def _apply(self, fn: Callable[[Tensor], Tensor], *args: Any, **kwargs: Any) -> Any:
        # `to`, `cuda`, `half` ... all come here: an empty tensor shows where parameters go
        probe = fn(tocha.empty(0, dtype=self._dtype, device=self._device))
        self._device, self._dtype = probe.device, probe.dtype
        return super()._apply(fn, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        # copies and pickles of a model do not take the whole run with them
        return {**self.__dict__, "_trainer": None}

    # --- what the module knows about its run ------------------------------------------------------------------

    @property
    def trainer(self) -> Any:
        """The Trainer that runs this module. Raises RuntimeError before it is given to one."""
        if self._trainer is None:
            raise RuntimeError(f"{type(self).__qualname__} is not attached to a `Trainer`.")
        return self._trainer

    @trainer.setter
    def trainer(self, trainer: Any) -> None:
        for module in self.children():
            if isinstance(module, LightningModule):
                module.trainer = trainer
        self._trainer = trainer

    @property
    def device(self) -> tocha.device:
        """The device of this module."""
        return self._device

    @property
    def dtype(self) -> tocha.dtype:
        """The floating-point type of this module."""
        return self._dtype

    @property
    def on_gpu(self) -> bool:
        """Whether this module is on a CUDA device."""
        return self._device.type == "cuda"

    @property
    def current_epoch(self) -> int:
        """The number of the current epoch, 0 without a Trainer."""
        return self._trainer.current_epoch if self._trainer is not None else 0

    @property
    def global_step(self) -> int:
        """The number of optimizer steps so far, 0 without a Trainer."""
        return self._trainer.global_step if self._trainer is not None else 0

    @property
    def global_rank(self) -> int:
        """The number of this process among all processes."""
        return self._trainer.global_rank if self._trainer is not None else 0

    @property
    def local_rank(self) -> int:
        """The number of this process on its machine."""
        return self._trainer.local_rank if self._trainer is not None else 0

    @property
    def logger(self) -> Any:
        """The first logger, or None."""
        return self._trainer.logger if self._trainer is not None else None

    @property
    def loggers(self) -> list[Any]:
        """All loggers."""
        return self._trainer.loggers if self._trainer is not None else []

    @property
    def example_input_array(self) -> Any:
        """An input (a tensor, a tuple or a dictionary of arguments) for the summary and for exports."""
        return self._example_input_array

    @example_input_array.setter
    def example_input_array(self, example: Any) -> None:
        self._example_input_array = example

    @property
    def automatic_optimization(self) -> bool:
        """True where the Trainer steps the optimizer; set it to False to step it in `training_step`."""
        return self._automatic_optimization

    @automatic_optimization.setter
    def automatic_optimization(self, automatic_optimization: bool) -> None:
        self._automatic_optimization = automatic_optimization

    @property
    def strict_loading(self) -> bool:
        """Whether the keys of a checkpoint have to be exactly those of this module."""
        return True if self._strict_loading is None else self._strict_loading

    @strict_loading.setter
    def strict_loading(self, strict_loading: bool) -> None:
        self._strict_loading = strict_loading

    # --- logging ------------------------------------------------------------------------------------------------

    def print(self, *args: Any, **kwargs: Any) -> None:
        """Print from rank zero without tearing the progress bar apart."""
        if self._trainer is None:
            print(*args, **kwargs)
        else:
            self._trainer.print(*args, **kwargs)

    def log(
        self,
        name: str,
        value: Any,
        prog_bar: bool = False,
        logger: bool | None = None,
        on_step: bool | None = None,
        on_epoch: bool | None = None,
        reduce_fx: str | Callable[[Any], Any] = "mean",
        enable_graph: bool = False,
        sync_dist: bool = False,
        sync_dist_group: Any = None,
        add_dataloader_idx: bool = True,
        batch_size: int | None = None,
        metric_attribute: str | None = None,
        rank_zero_only: bool = False,
    ) -> None:
        """Log a value under `name`.

        Args:
            name: the key; with `on_step` and `on_epoch` both set, ``name_step`` and ``name_epoch``.
            value: a number, a tensor of one element, or a `tocha_lightning.metrics.Metric`.
            prog_bar: show it in the progress bar.
            logger: send it to the loggers (default True).
            on_step: log the value of the step. The default depends on the hook: True in training steps.
            on_epoch: log the value of the epoch, reduced by `reduce_fx`. Default: True outside training steps.
            reduce_fx: ``"mean"`` (weighted by the batch size), ``"sum"``, ``"min"`` or ``"max"``.
            enable_graph: keep the autograd graph of the value.
            sync_dist: reduce it over all processes.
            sync_dist_group: the processes to reduce over.
            add_dataloader_idx: add ``/dataloader_idx_i`` to the name where there are several loaders.
            batch_size: the weight in an epoch's mean; by default the first dimension of the batch.
            metric_attribute: the attribute that holds a metric object, where it cannot be found.
            rank_zero_only: only rank zero calls this.

        Raises:
            MisconfigurationException: logging is not possible here, or the same name is logged with other arguments.
            ValueError: the value is no number, or has more than one element.
        """
        trainer = self._trainer
        if trainer is None:
            rank_zero_warn(
                "You are trying to `self.log()` but the `self.trainer` reference is not registered on the model yet."
                " This is most likely because the model hasn't been passed to the `Trainer`"
            )
            return
        trainer._logging.log(
            self,
            name,
            value,
            (
                prog_bar,
                logger,
                on_step,
                on_epoch,
                reduce_fx,
                enable_graph,
                sync_dist,
                sync_dist_group,
                add_dataloader_idx,
                metric_attribute,
                rank_zero_only,
            ),
            batch_size,
        )

    def log_dict(
        self,
        dictionary: Mapping[str, Any],
        prog_bar: bool = False,
        logger: bool | None = None,
        on_step: bool | None = None,
        on_epoch: bool | None = None,
        reduce_fx: str | Callable[[Any], Any] = "mean",
        enable_graph: bool = False,
        sync_dist: bool = False,
        sync_dist_group: Any = None,
        add_dataloader_idx: bool = True,
        batch_size: int | None = None,
        rank_zero_only: bool = False,
    ) -> None:
        """Log every item of a dictionary or of a `tocha_lightning.metrics.MetricCollection`; see `log`."""
        for key, value in dictionary.items():
            self.log(
                key,
                value,
                prog_bar=prog_bar,
                logger=logger,
                on_step=on_step,
                on_epoch=on_epoch,
                reduce_fx=reduce_fx,
                enable_graph=enable_graph,
                sync_dist=sync_dist,
                sync_dist_group=sync_dist_group,
                add_dataloader_idx=add_dataloader_idx,
                batch_size=batch_size,
                rank_zero_only=rank_zero_only,
            )

    def all_gather(self, data: Any, group: Any = None, sync_grads: bool = False) -> Any:
        """Gather tensors from all processes: shapes get a new first dimension, the number of processes."""
        strategy = self.trainer.strategy
        return apply_to_collection(data, Tensor, lambda t: strategy.all_gather(t, group=group, sync_grads=sync_grads))

    # --- steps to override ----------------------------------------------------------------------------------------

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The computation of the model, as in `nn.Module`."""
        return super().forward(*args, **kwargs)

    def training_step(self, *args: Any, **kwargs: Any) -> STEP_OUTPUT:
        """One training batch: takes ``(batch, batch_idx)``.

        Returns:
            the loss; or a dictionary with the key ``"loss"``; or None to skip the batch (automatic optimization).
        """
        rank_zero_warn("`training_step` must be implemented to be used with the Lightning Trainer")
        return None

    def validation_step(self, *args: Any, **kwargs: Any) -> STEP_OUTPUT:
        """One validation batch: takes ``(batch, batch_idx)``, and ``dataloader_idx`` with several loaders."""
        return None

    def test_step(self, *args: Any, **kwargs: Any) -> STEP_OUTPUT:
        """One test batch: takes ``(batch, batch_idx)``, and ``dataloader_idx`` with several loaders."""
        return None

    def predict_step(self, *args: Any, **kwargs: Any) -> Any:
        """One prediction batch; by default calls the module with the batch."""
        batch = kwargs.get("batch", args[0] if args else None)
        return self(batch)

    def configure_callbacks(self) -> Any:
        """Callbacks that this model brings along; they replace the Trainer's of the same type."""
        return []

    def configure_optimizers(self) -> Any:
        """The optimizers and learning-rate schedulers.

        Returns one of: an optimizer; a list of optimizers; two lists (optimizers, schedulers or their
        configurations); a dictionary ``{"optimizer": ..., "lr_scheduler": ..., "monitor": ...}`` or several of them;
        None to train nothing. A scheduler's configuration has the keys of `LRSchedulerConfig`.
        """
        rank_zero_warn("`configure_optimizers` must be implemented to be used with the Lightning Trainer")
        return None

    # --- optimization -----------------------------------------------------------------------------------------------

    def optimizers(self, use_pl_optimizer: bool = True) -> Any:
        """The optimizer, or the list of them where there are several.

        With `use_pl_optimizer` they are wrapped, so that precision and step counting work in manual optimization.
        """
        strategy = self.trainer.strategy
        found: list[Any] = list(strategy.lightning_optimizers if use_pl_optimizer else strategy.optimizers)
        return found[0] if len(found) == 1 else found

    def lr_schedulers(self) -> Any:
        """None, the scheduler, or the list of them where there are several."""
        found = [config.scheduler for config in self.trainer.lr_scheduler_configs]
        if not found:
            return None
        return found[0] if len(found) == 1 else found

    def manual_backward(self, loss: Tensor, *args: Any, **kwargs: Any) -> None:
        """Use this for ``loss.backward()`` in manual optimization, so that precision and strategy take part."""
        self._require_manual("manual_backward")
        self.trainer.strategy.backward(loss, None, *args, **kwargs)

    def backward(self, loss: Tensor, *args: Any, **kwargs: Any) -> None:
        """Computes the gradients; override it to do that in another way."""
        loss.backward(*args, **kwargs)

    def toggle_optimizer(self, optimizer: Optimizer | LightningOptimizer) -> None:
        """Let only the parameters of `optimizer` require gradients, until `untoggle_optimizer`."""
        optimizers = self.optimizers(use_pl_optimizer=False)
        others = optimizers if isinstance(optimizers, list) else [optimizers]
        state: dict[nn.Parameter, bool] = {}
        for other in others:
            for group in other.param_groups:
                for parameter in group["params"]:
                    state.setdefault(parameter, parameter.requires_grad)
                    parameter.requires_grad = False
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                parameter.requires_grad = state[parameter]
        self._toggled_state = state

    def untoggle_optimizer(self, optimizer: Optimizer | LightningOptimizer) -> None:
        """Give every parameter back what `toggle_optimizer` took."""
        for parameter, requires_grad in self._toggled_state.items():
            parameter.requires_grad = requires_grad
        self._toggled_state = {}

    @contextmanager
    def toggled_optimizer(self, optimizer: Optimizer | LightningOptimizer) -> Iterator[None]:
        """`toggle_optimizer` for the length of a ``with`` block."""
        self.toggle_optimizer(optimizer)
        try:
            yield
        finally:
            self.untoggle_optimizer(optimizer)

    def clip_gradients(
        self,
        optimizer: Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Clip the gradients of `optimizer`, by default as the Trainer's arguments say.

        Raises:
            MisconfigurationException: an unknown algorithm, or a value that conflicts with the Trainer's.
            TypeError: the value is no number.
        """
        trainer = self.trainer
        if gradient_clip_val is None:
            gradient_clip_val = trainer.gradient_clip_val or 0.0
        elif trainer.gradient_clip_val is not None and trainer.gradient_clip_val != gradient_clip_val:
            raise MisconfigurationException(
                f"You have set `Trainer(gradient_clip_val={trainer.gradient_clip_val!r})` and have passed"
                f" `clip_gradients(gradient_clip_val={gradient_clip_val!r})`. Please use only one of them."
            )
        if gradient_clip_algorithm is None:
            gradient_clip_algorithm = trainer.gradient_clip_algorithm or "norm"
        else:
            gradient_clip_algorithm = gradient_clip_algorithm.lower()
            if (
                trainer.gradient_clip_algorithm is not None
                and trainer.gradient_clip_algorithm != gradient_clip_algorithm
            ):
                raise MisconfigurationException(
                    f"You have set `Trainer(gradient_clip_algorithm={trainer.gradient_clip_algorithm!r})` and"
                    " have passed"
                    f" `clip_gradients(gradient_clip_algorithm={gradient_clip_algorithm!r})`. Please use only"
                    " one of them."
                )
        if not isinstance(gradient_clip_val, (int, float)):
            raise TypeError(f"`gradient_clip_val` should be an int or a float. Got {gradient_clip_val}.")
        if gradient_clip_algorithm not in ("norm", "value"):
            raise MisconfigurationException(
                f"`gradient_clip_algorithm` {gradient_clip_algorithm} is invalid. Allowed algorithms: ['value',"
                " 'norm']."
            )
        trainer.precision_plugin.clip_gradients(optimizer, gradient_clip_val, gradient_clip_algorithm)

    def configure_gradient_clipping(
        self,
        optimizer: Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Clips the gradients before the optimizer steps; override it to clip in another way."""
        self.clip_gradients(optimizer, gradient_clip_val, gradient_clip_algorithm)

    def lr_scheduler_step(self, scheduler: Any, metric: Any) -> None:
        """Steps a scheduler; override it for schedulers that take other arguments."""
        if metric is None:
            scheduler.step()
        else:
            scheduler.step(metric)

    def optimizer_step(
        self,
        epoch: int,
        batch_idx: int,
        optimizer: Optimizer | LightningOptimizer,
        optimizer_closure: Callable[[], Any] | None = None,
    ) -> None:
        """Steps the optimizer in automatic optimization; an override has to run `optimizer_closure`."""
        optimizer.step(closure=optimizer_closure)

    def optimizer_zero_grad(self, epoch: int, batch_idx: int, optimizer: Optimizer) -> None:
        """Resets the gradients in automatic optimization."""
        optimizer.zero_grad()

    def _require_manual(self, function: str) -> None:
        if self.automatic_optimization:
            raise MisconfigurationException(
                f"to use {function}, please disable automatic optimization:"
                " set model property `automatic_optimization` as False"
            )

    # --- weights ------------------------------------------------------------------------------------------------------

    def freeze(self) -> LightningModule:
        """Let no parameter require gradients, and go to evaluation mode. Returns the module."""
        for parameter in self.parameters():
            parameter.requires_grad = False
        return self.eval()

    def unfreeze(self) -> LightningModule:
        """Let every parameter require gradients, and go to training mode. Returns the module."""
        for parameter in self.parameters():
            parameter.requires_grad = True
        return self.train()

    def to_onnx(self, file_path: str | os.PathLike[str], input_sample: Any = None, **kwargs: Any) -> Any:
        """Export with `tocha.onnx.export`, which verifies the file against onnxruntime.

        Args:
            file_path: where to write.
            input_sample: an example input; by default `example_input_array`.
            kwargs: passed to `tocha.onnx.export`.

        Raises:
            ValueError: there is neither `input_sample` nor `example_input_array`.
        """
        if input_sample is None:
            input_sample = self.example_input_array
        if input_sample is None:
            raise ValueError(
                "Could not export to ONNX since neither `input_sample` nor `model.example_input_array` attribute"
                " is set."
            )
        sample = apply_to_collection(input_sample, Tensor, lambda t: t.to(self.device))
        arguments = sample if isinstance(sample, tuple) else (sample,)
        modes = {module: module.training for module in self.modules()}
        self.eval()
        try:
            return tocha.onnx.export(self, arguments, os.fspath(file_path), **kwargs)
        finally:
            for module, training in modes.items():
                module.training = training

    @classmethod
    def load_from_checkpoint(
        cls,
        checkpoint_path: str | os.PathLike[str] | IO[bytes],
        map_location: Any = None,
        hparams_file: str | os.PathLike[str] | None = None,
        strict: bool | None = None,
        weights_only: bool | None = None,
        **kwargs: Any,
    ) -> Any:
        """Build the model with the hyperparameters of a checkpoint and load its weights.

        Args:
            checkpoint_path: a path or an open binary file.
            map_location: where to put tensors, as in `tocha.load`.
            hparams_file: a ``.yaml`` or ``.csv`` file whose hyperparameters replace the checkpoint's.
            strict: whether the keys have to match exactly; by default `strict_loading`.
            weights_only: as in `tocha.load`; by default only data is read, no code.
            kwargs: arguments of the constructor that override the saved ones.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: the file is no checkpoint.
        """
        from tocha_lightning.core.saving import load_from_checkpoint

        return load_from_checkpoint(cls, checkpoint_path, map_location, hparams_file, strict, weights_only, **kwargs)
