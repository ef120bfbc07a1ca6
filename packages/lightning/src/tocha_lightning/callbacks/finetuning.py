"""Freezing a part of the model, and training it later."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tocha import nn
from tocha.optim import Optimizer
from tocha_lightning.callbacks.callback import Callback
from tocha_lightning.utilities.exceptions import MisconfigurationException
from tocha_lightning.utilities.rank_zero import log, rank_zero_warn

Modules = Any  # a module, or nested iterables of modules


def multiplicative(epoch: int) -> float:
    """Twice as much every epoch."""
    return 2.0


def _is_batch_norm(module: nn.Module) -> bool:
    return isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d))


class BaseFinetuning(Callback):
    """Override `freeze_before_training` and `finetune_function`: the latter is called at every epoch and optimizer.

    Parameter groups that are added while training are in checkpoints.
    """

    def __init__(self) -> None:
        self._groups: dict[int, list[dict[str, Any]]] = {}
        self._restarting = False

    def freeze_before_training(self, pl_module: Any) -> None:
        """Freeze here."""
        raise NotImplementedError

    def finetune_function(self, pl_module: Any, epoch: int, optimizer: Optimizer) -> None:
        """Unfreeze here."""
        raise NotImplementedError

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Freeze."""
        self.freeze_before_training(pl_module)

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Give the optimizers of a resumed run the parameter groups that were added before."""
        if not self._restarting:
            return
        self._restarting = False
        parameters = dict(pl_module.named_parameters())
        for index, optimizer in enumerate(trainer.optimizers):
            known = {id(p) for group in optimizer.param_groups for p in group["params"]}
            for saved in self._groups.get(index, [])[len(optimizer.param_groups) :]:
                group = {**saved, "params": [parameters[name] for name in saved["params"]]}
                for parameter in group["params"]:
                    parameter.requires_grad = True
                if not any(id(parameter) in known for parameter in group["params"]):
                    optimizer.add_param_group(group)

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Call `finetune_function`."""
        names = {parameter: name for name, parameter in pl_module.named_parameters()}
        for index, optimizer in enumerate(trainer.optimizers):
            self.finetune_function(pl_module, trainer.current_epoch, optimizer)
            self._groups[index] = [
                {**{k: v for k, v in group.items() if k != "params"}, "params": [names[p] for p in group["params"]]}
                for group in optimizer.param_groups
            ]

    def state_dict(self) -> dict[str, Any]:
        """The parameter groups by the names of their parameters."""
        return {"internal_optimizer_metadata": self._groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take up the parameter groups."""
        self._restarting = True
        self._groups = state_dict["internal_optimizer_metadata"]

    @staticmethod
    def flatten_modules(modules: Modules) -> list[nn.Module]:
        """All modules without children, and those that have parameters of their own."""
        if isinstance(modules, nn.ModuleDict):
            modules = modules.values()
        if isinstance(modules, nn.Module) and not isinstance(modules, (nn.ModuleList, nn.Sequential)):
            found = list(modules.modules())
        else:
            found = [m for module in modules for m in BaseFinetuning.flatten_modules(module)]
        return [m for m in found if not list(m.children()) or any(True for _ in m.parameters(recurse=False))]

    @staticmethod
    def filter_params(modules: Modules, train_bn: bool = True, requires_grad: bool = True) -> Iterator[nn.Parameter]:
        """The parameters that do or do not require gradients, those of batch normalization only with `train_bn`."""
        for module in BaseFinetuning.flatten_modules(modules):
            if _is_batch_norm(module) and not train_bn:
                continue
            for parameter in module.parameters(recurse=False):
                if parameter.requires_grad == requires_grad:
                    yield parameter

    @staticmethod
    def make_trainable(modules: Modules) -> None:
        """Unfreeze."""
        for module in BaseFinetuning.flatten_modules(modules):
            if _is_batch_norm(module):
                module.track_running_stats = True
            for parameter in module.parameters(recurse=False):
                parameter.requires_grad = True

    @staticmethod
    def freeze_module(module: nn.Module) -> None:
        """Freeze one module, without its children."""
        if _is_batch_norm(module):
            module.track_running_stats = False
        for parameter in module.parameters(recurse=False):
            parameter.requires_grad = False

    @staticmethod
    def freeze(modules: Modules, train_bn: bool = True) -> None:
        """Freeze; batch normalization stays trainable with `train_bn`."""
        for module in BaseFinetuning.flatten_modules(modules):
            if _is_batch_norm(module) and train_bn:
                BaseFinetuning.make_trainable(module)
            else:
                BaseFinetuning.freeze_module(module)

    @staticmethod
    def filter_on_optimizer(optimizer: Optimizer, params: Iterable[nn.Parameter]) -> list[nn.Parameter]:
        """The parameters that `optimizer` does not have yet; warns of the others."""
        known = {id(p) for group in optimizer.param_groups for p in group["params"]}
        given = list(params)
        new = [parameter for parameter in given if id(parameter) not in known]
        if len(new) < len(given):
            rank_zero_warn(
                "The provided params to be frozen already exist within another group of this optimizer. Those"
                " parameters"
                " will be skipped.\nHINT: Did you init your optimizer in `configure_optimizer` as such:\n"
                f" {type(optimizer)}(filter(lambda p: p.requires_grad, self.parameters()), ...) "
            )
        return new

    @staticmethod
    def unfreeze_and_add_param_group(
        modules: Modules,
        optimizer: Optimizer,
        lr: float | None = None,
        initial_denom_lr: float = 10.0,
        train_bn: bool = True,
    ) -> None:
        """Unfreeze `modules` and add their parameters to `optimizer`.

        Args:
            modules: what to unfreeze.
            optimizer: gets a new parameter group.
            lr: its learning rate; by default that of the first group divided by `initial_denom_lr`.
            initial_denom_lr: see `lr`.
            train_bn: train batch normalization too.
        """
        BaseFinetuning.make_trainable(modules)
        rate = optimizer.param_groups[0]["lr"] / initial_denom_lr if lr is None else float(lr)
        params = BaseFinetuning.filter_on_optimizer(optimizer, BaseFinetuning.filter_params(modules, train_bn=train_bn))
        if params:
            optimizer.add_param_group({"params": params, "lr": rate})


class BackboneFinetuning(BaseFinetuning):
    """Trains ``pl_module.backbone`` from an epoch on, with a learning rate that rises to that of the rest.

    Args:
        unfreeze_backbone_at_epoch: the epoch.
        lambda_func: by how much the backbone's learning rate is multiplied at an epoch.
        backbone_initial_ratio_lr: its first value as a fraction of the model's learning rate.
        backbone_initial_lr: its first value.
        should_align: stop at the model's learning rate.
        initial_denom_lr: divides the learning rate where neither is given.
        train_bn: train batch normalization too.
        verbose: say the learning rates.
        rounding: to so many digits.

    Raises:
        MisconfigurationException: the model has no ``backbone``.
    """

    def __init__(
        self,
        unfreeze_backbone_at_epoch: int = 10,
        lambda_func: Callable[[int], float] = multiplicative,
        backbone_initial_ratio_lr: float = 0.1,
        backbone_initial_lr: float | None = None,
        should_align: bool = True,
        initial_denom_lr: float = 10.0,
        train_bn: bool = True,
        verbose: bool = False,
        rounding: int = 12,
    ) -> None:
        super().__init__()
        self.unfreeze_backbone_at_epoch = unfreeze_backbone_at_epoch
        self.lambda_func = lambda_func
        self.backbone_initial_ratio_lr = backbone_initial_ratio_lr
        self.backbone_initial_lr = backbone_initial_lr
        self.should_align = should_align
        self.initial_denom_lr = initial_denom_lr
        self.train_bn = train_bn
        self.verbose = verbose
        self.rounding = rounding
        self.previous_backbone_lr: float | None = None

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Check for the backbone."""
        if not isinstance(getattr(pl_module, "backbone", None), nn.Module):
            raise MisconfigurationException("The LightningModule should have a nn.Module `backbone` attribute")
        super().on_fit_start(trainer, pl_module)

    def freeze_before_training(self, pl_module: Any) -> None:
        """Freeze the backbone."""
        self.freeze(pl_module.backbone, train_bn=self.train_bn)

    def finetune_function(self, pl_module: Any, epoch: int, optimizer: Optimizer) -> None:
        """Unfreeze the backbone, then raise its learning rate."""
        current = optimizer.param_groups[0]["lr"]
        if epoch == self.unfreeze_backbone_at_epoch:
            rate = (
                self.backbone_initial_lr
                if self.backbone_initial_lr is not None
                else current * self.backbone_initial_ratio_lr
            )
            self.previous_backbone_lr = rate
            self.unfreeze_and_add_param_group(
                pl_module.backbone, optimizer, rate, train_bn=self.train_bn, initial_denom_lr=self.initial_denom_lr
            )
        elif epoch > self.unfreeze_backbone_at_epoch and self.previous_backbone_lr is not None:
            rate = self.lambda_func(epoch + 1) * self.previous_backbone_lr
            if self.should_align and rate > current:
                rate = current
            optimizer.param_groups[-1]["lr"] = rate
            self.previous_backbone_lr = rate
        else:
            return
        if self.verbose:
            log.info(f"Current lr: {round(current, self.rounding)}, Backbone lr: {round(rate, self.rounding)}")

    def state_dict(self) -> dict[str, Any]:
        """The parameter groups and the backbone's learning rate."""
        return {**super().state_dict(), "previous_backbone_lr": self.previous_backbone_lr}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take them up."""
        self.previous_backbone_lr = state_dict["previous_backbone_lr"]
        super().load_state_dict(state_dict)
