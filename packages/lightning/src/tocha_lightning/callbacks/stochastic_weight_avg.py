"""Stochastic weight averaging: the mean of the weights over the last epochs."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import tocha
from tocha import Tensor, nn
from tocha.optim.swa_utils import SWALR
from tocha_lightning.callbacks.callback import Callback
from tocha_lightning.utilities.exceptions import MisconfigurationException
from tocha_lightning.utilities.rank_zero import rank_zero_info, rank_zero_warn
from tocha_lightning.utilities.types import LRSchedulerConfig


def has_running_statistics(module: nn.Module) -> bool:
    """Whether `module` is a batch normalization that keeps statistics."""
    return hasattr(module, "running_mean") and hasattr(module, "momentum") and module.running_mean is not None


class StochasticWeightAveraging(Callback):
    """Averages the weights over the last epochs and gives the model the average at the end.

    From Izmailov et al., "Averaging Weights Leads to Wider Optima and Better Generalization" (2018). From
    `swa_epoch_start` on the learning rate follows `tocha.optim.swa_utils.SWALR`. A model with batch normalization gets
    one more epoch, without training, in which the statistics of the averaged model are computed.

    Args:
        swa_lrs: the learning rate of averaging, one or one for each parameter group.
        swa_epoch_start: the first epoch of averaging, counted from 1, or a fraction of `max_epochs`.
        annealing_epochs: how many epochs the learning rate takes to get there.
        annealing_strategy: ``"cos"`` or ``"linear"``.
        avg_fn: takes the average, the new weights and the number of averages so far; by default the plain mean.
        device: where the average is kept; None: where the model is.

    Raises:
        MisconfigurationException: arguments that cannot work, or several optimizers or schedulers.
    """

    def __init__(
        self,
        swa_lrs: float | list[float],
        swa_epoch_start: int | float = 0.8,
        annealing_epochs: int = 10,
        annealing_strategy: str = "cos",
        avg_fn: Callable[[Tensor, Tensor, Tensor], Tensor] | None = None,
        device: tocha.device | str | None = "cpu",
    ) -> None:
        if isinstance(swa_epoch_start, int) and swa_epoch_start < 1:
            raise MisconfigurationException("swa_epoch_start should be a >0 integer or a float between 0 and 1.")
        if isinstance(swa_epoch_start, float) and not 0 <= swa_epoch_start <= 1:
            raise MisconfigurationException("swa_epoch_start should be a >0 integer or a float between 0 and 1.")
        rates = [swa_lrs] if isinstance(swa_lrs, (int, float)) else swa_lrs
        if not isinstance(rates, list) or not all(isinstance(lr, (int, float)) and lr > 0 for lr in rates):
            raise MisconfigurationException("The `swa_lrs` should a positive float, or a list of positive floats")
        if annealing_strategy not in ("cos", "linear"):
            raise MisconfigurationException(
                f"`annealing_strategy` can be 'cos' or 'linear', got {annealing_strategy!r}"
            )
        if avg_fn is not None and not callable(avg_fn):
            raise MisconfigurationException("The `avg_fn` should be callable.")
        self.n_averaged = 0
        self._swa_lrs = swa_lrs
        self._swa_epoch_start = swa_epoch_start
        self._annealing_epochs = annealing_epochs
        self._annealing_strategy = annealing_strategy
        self._avg_fn = avg_fn or self.avg_fn
        self._device = None if device is None else tocha.device(device)
        self._average: list[Tensor] = []
        self._scheduler: Any = None
        self._scheduler_state: dict[str, Any] | None = None
        self._latest_update_epoch = -1
        self._max_epochs = -1
        self._has_batch_norm = False
        self._momenta: dict[nn.Module, float | None] = {}

    @property
    def swa_start(self) -> int:
        """The first epoch of averaging, from 0."""
        assert isinstance(self._swa_epoch_start, int)
        return max(self._swa_epoch_start - 1, 0)

    @property
    def swa_end(self) -> int | float:
        """The last epoch of averaging, from 0."""
        return float("inf") if self._max_epochs == -1 else self._max_epochs - 1

    @staticmethod
    def avg_fn(averaged: Tensor, new: Tensor, num_averaged: Tensor) -> Tensor:
        """The mean of `num_averaged` + 1 values."""
        return averaged + (new - averaged) / (num_averaged + 1)

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Check the run; it takes one more epoch if there is batch normalization."""
        if len(trainer.optimizers) != 1:
            raise MisconfigurationException("SWA currently works with 1 `optimizer`.")
        if len(trainer.lr_scheduler_configs) > 1:
            raise MisconfigurationException("SWA currently not supported for more than 1 `lr_scheduler`.")
        self._max_epochs = trainer.max_epochs
        if isinstance(self._swa_epoch_start, float):
            if self._max_epochs == -1:
                raise MisconfigurationException(
                    "SWA with `swa_epoch_start` as a float is not supported when `max_epochs=-1`."
                    " Please provide `swa_epoch_start` as an integer."
                )
            self._swa_epoch_start = int(self._max_epochs * self._swa_epoch_start)
        self._has_batch_norm = any(has_running_statistics(module) for module in pl_module.modules())
        if self._has_batch_norm and self._max_epochs != -1:
            trainer.fit_loop.max_epochs += 1
        if self._scheduler_state is not None:
            # the checkpoint's scheduler is the one of averaging, not the model's own
            trainer.lr_scheduler_configs.clear()

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """A run that is resumed within an averaging epoch has to average on."""
        if self._scheduler_state is not None:
            self._begin(trainer)

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin, average, or compute the statistics of batch normalization."""
        epoch = trainer.current_epoch
        if self.swa_start <= epoch <= self.swa_end:
            if self._scheduler is None:
                self._begin(trainer)
            if epoch > self._latest_update_epoch:
                self.update_parameters(pl_module)
                self._latest_update_epoch = epoch
        if self._max_epochs != -1 and epoch == self.swa_end + 1:
            self.transfer_weights(pl_module)
            self._reset_batch_norm(pl_module)
            trainer.fit_loop.epoch_loop.automatic_optimization.skip_backward = True

    def _begin(self, trainer: Any) -> None:
        optimizer = trainer.optimizers[0]
        groups = optimizer.param_groups
        rates = self._swa_lrs if isinstance(self._swa_lrs, list) else [self._swa_lrs] * len(groups)
        now = [group["lr"] for group in groups]
        for rate, group in zip(rates, groups, strict=True):
            group["initial_lr"] = rate
        cos = self._annealing_strategy == "cos"
        self._scheduler = SWALR(
            optimizer,
            swa_lr=rates,
            anneal_epochs=self._annealing_epochs,
            anneal_strategy=self._annealing_strategy,
            last_epoch=trainer.max_epochs if cos else -1,
        )
        if self._scheduler_state is not None:
            self._scheduler.load_state_dict(self._scheduler_state)
            self._scheduler_state = None
            for rate, group in zip(now, groups, strict=True):
                group["lr"] = rate
        elif trainer.current_epoch != self.swa_start:
            rank_zero_warn("SWA is initializing after swa_start without any checkpoint data.")
        config = LRSchedulerConfig(self._scheduler)
        configs = trainer.lr_scheduler_configs
        if configs:
            if configs[0].interval != "epoch" or configs[0].frequency != 1:
                rank_zero_warn(f"SWA is currently only supported every epoch. Found {configs[0]}")
            rank_zero_info(f"Swapping scheduler `{type(configs[0].scheduler).__name__}` for `SWALR`")
            configs[0] = config
        else:
            configs.append(config)

    @tocha.no_grad()
    def update_parameters(self, pl_module: Any) -> None:
        """Take the model's weights into the average."""
        count = tocha.tensor(self.n_averaged)
        new = [parameter.detach().to(self._device or parameter.device) for parameter in pl_module.parameters()]
        if self.n_averaged == 0:
            self._average = [parameter.clone() for parameter in new]
        else:
            self._average = [
                self._avg_fn(average, parameter, count) for average, parameter in zip(self._average, new, strict=True)
            ]
        self.n_averaged += 1

    @tocha.no_grad()
    def transfer_weights(self, pl_module: Any) -> None:
        """Give the model the average."""
        for average, parameter in zip(self._average, pl_module.parameters(), strict=True):
            parameter.copy_(average.to(parameter.device))

    def _reset_batch_norm(self, pl_module: Any) -> None:
        self._momenta = {}
        for module in pl_module.modules():
            if has_running_statistics(module):
                module.running_mean.zero_()
                module.running_var.fill_(1)
                module.num_batches_tracked.zero_()
                # without momentum the statistics are the mean over all batches
                self._momenta[module] = module.momentum
                module.momentum = None

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Train again."""
        trainer.fit_loop.epoch_loop.automatic_optimization.skip_backward = False

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Give the model the average, if that was not done."""
        last = trainer.current_epoch - 1
        if self._has_batch_norm and self._max_epochs != -1 and last == self.swa_end + 1:
            trainer.fit_loop.max_epochs -= 1
            for module, momentum in self._momenta.items():
                module.momentum = momentum
        elif (last == self.swa_end or self._max_epochs == -1) and self._average:
            self.transfer_weights(pl_module)

    def state_dict(self) -> dict[str, Any]:
        """The average and where averaging stands."""
        return {
            "n_averaged": self.n_averaged,
            "latest_update_epoch": self._latest_update_epoch,
            "scheduler_state": None if self._scheduler is None else self._plain_scheduler_state(),
            "average_model_state": list(self._average),
        }

    def _plain_scheduler_state(self) -> dict[str, Any]:
        # the function of annealing belongs to the class, and would not be read back safely
        return {key: value for key, value in self._scheduler.state_dict().items() if not callable(value)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on averaging."""
        self.n_averaged = state_dict["n_averaged"]
        self._latest_update_epoch = state_dict["latest_update_epoch"]
        self._scheduler_state = deepcopy(state_dict["scheduler_state"])
        self._average = list(state_dict["average_model_state"])
