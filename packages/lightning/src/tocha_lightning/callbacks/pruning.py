"""Removing weights while training."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import tocha
from tocha import nn
from tocha.nn.utils import prune
from tocha_lightning.callbacks.callback import Callback
from tocha_lightning.utilities.exceptions import MisconfigurationException
from tocha_lightning.utilities.rank_zero import log, rank_zero_debug

Pair = tuple[nn.Module, str]
_FUNCTIONS: dict[str, Any] = {
    "ln_structured": prune.ln_structured,
    "l1_unstructured": prune.l1_unstructured,
    "random_structured": prune.random_structured,
    "random_unstructured": prune.random_unstructured,
}
_METHODS: dict[Any, Any] = {
    prune.ln_structured: prune.LnStructured,
    prune.l1_unstructured: prune.L1Unstructured,
    prune.random_structured: prune.RandomStructured,
    prune.random_unstructured: prune.RandomUnstructured,
}


class ModelPruning(Callback):
    """Prunes parameters at the end of epochs, with `tocha.nn.utils.prune`.

    Args:
        pruning_fn: ``"l1_unstructured"``, ``"random_unstructured"``, ``"ln_structured"``, ``"random_structured"``, or a
            subclass of `tocha.nn.utils.prune.BasePruningMethod`.
        parameters_to_prune: pairs of a module and the name of its parameter; by default all `parameter_names`.
        parameter_names: by default ``weight`` and ``bias``.
        use_global_unstructured: compare the weights of all parameters with each other.
        amount: a fraction of the weights or their number, or a function of the epoch that gives it.
        apply_pruning: whether to prune, or a function of the epoch that says so.
        make_pruning_permanent: at the end, and in checkpoints, only the pruned weights stay.
        use_lottery_ticket_hypothesis: give the weights that are left their first values again (Frankle and Carbin,
            2018), or a function of the epoch that says whether to.
        resample_parameters: give them new initial values instead.
        pruning_dim: the dimension of structured pruning.
        pruning_norm: the norm of ``"ln_structured"``.
        verbose: 1 says how much is pruned, 2 for every parameter.
        prune_on_train_epoch_end: prune there rather than after validation.

    Raises:
        MisconfigurationException: arguments that cannot work, or nothing to prune.
    """

    PARAMETER_NAMES = ("weight", "bias")

    def __init__(
        self,
        pruning_fn: Callable[..., Any] | str,
        parameters_to_prune: Sequence[Pair] = (),
        parameter_names: list[str] | None = None,
        use_global_unstructured: bool = True,
        amount: int | float | Callable[[int], int | float] = 0.5,
        apply_pruning: bool | Callable[[int], bool] = True,
        make_pruning_permanent: bool = True,
        use_lottery_ticket_hypothesis: bool | Callable[[int], bool] = True,
        resample_parameters: bool = False,
        pruning_dim: int | None = None,
        pruning_norm: int | None = None,
        verbose: int = 0,
        prune_on_train_epoch_end: bool = True,
    ) -> None:
        if verbose not in (0, 1, 2):
            raise MisconfigurationException("`verbose` must be any of (0, 1, 2)")
        if not (callable(amount) or isinstance(amount, (int, float))):
            raise MisconfigurationException(
                "`amount` should be provided and be either an int, a float or Callable function."
            )
        self._method, self._options = self._resolve(pruning_fn, use_global_unstructured, pruning_dim, pruning_norm)
        self._given = list(parameters_to_prune)
        self._parameter_names = list(parameter_names or self.PARAMETER_NAMES)
        self._use_global_unstructured = use_global_unstructured
        self._make_pruning_permanent = make_pruning_permanent
        self._resample_parameters = resample_parameters
        self._prune_on_train_epoch_end = prune_on_train_epoch_end
        self._verbose = verbose
        self.amount = amount
        self._apply_pruning = apply_pruning
        self._use_lottery_ticket_hypothesis = use_lottery_ticket_hypothesis
        self._pairs: list[Pair] = []
        self._originals: list[tuple[nn.Module, nn.Module, list[str]]] = []

    @staticmethod
    def _resolve(
        pruning_fn: Any, globally: bool, dim: int | None, norm: int | None
    ) -> tuple[type[prune.BasePruningMethod], dict[str, Any]]:
        if inspect.isclass(pruning_fn) and issubclass(pruning_fn, prune.BasePruningMethod):
            if not globally:
                raise MisconfigurationException(
                    "PyTorch `BasePruningMethod` is currently only supported with `use_global_unstructured=True`."
                )
            method: type[prune.BasePruningMethod] = pruning_fn
        elif isinstance(pruning_fn, str) and pruning_fn.lower() in _FUNCTIONS:
            method = _METHODS[_FUNCTIONS[pruning_fn.lower()]]
        elif pruning_fn in _METHODS:
            method = _METHODS[pruning_fn]
        else:
            raise MisconfigurationException(
                f"`pruning_fn` has to be a BasePruningMethod or one of {list(_FUNCTIONS)}, got {pruning_fn!r}."
            )
        structured = method in (prune.LnStructured, prune.RandomStructured)
        options: dict[str, Any] = {}
        if structured:
            if dim is None:
                raise MisconfigurationException(
                    "When requesting `structured` pruning, the `pruning_dim` should be provided."
                )
            options["dim"] = dim
            if method is prune.LnStructured:
                if norm is None:
                    raise MisconfigurationException(
                        "When requesting `ln_structured` pruning, the `pruning_norm` should be provided."
                    )
                options["n"] = norm
        if globally and structured:
            raise MisconfigurationException(
                "Only unstructured pruning is supported with `use_global_unstructured=True`."
            )
        return method, options

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Find the parameters, and keep their first values."""
        pairs = self._given or [
            (module, name)
            for module in pl_module.modules()
            for name in self._parameter_names
            if isinstance(getattr(module, name, None), nn.Parameter)
        ]
        if not pairs:
            raise MisconfigurationException(f"Could not find any of {self._parameter_names} in the model to prune.")
        for module, name in pairs:
            if not isinstance(getattr(module, name, None), (nn.Parameter, tocha.Tensor)):
                raise MisconfigurationException(f"{type(module).__name__} has no parameter {name!r} to prune.")
        self._pairs = pairs
        if self._use_lottery_ticket_hypothesis:
            modules = {id(module): module for module, _ in pairs}
            self._originals = [
                (module, deepcopy(module), [n for m, n in pairs if m is module]) for module in modules.values()
            ]

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Prune, if it is this hook's turn."""
        if self._prune_on_train_epoch_end:
            self._run(trainer.current_epoch)

    def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Prune, if it is this hook's turn."""
        if not trainer.sanity_checking and not self._prune_on_train_epoch_end and trainer.state.fn == "fit":
            self._run(trainer.current_epoch)

    def _run(self, epoch: int) -> None:
        wanted = self._apply_pruning(epoch) if callable(self._apply_pruning) else self._apply_pruning
        amount = self.amount(epoch) if callable(self.amount) else self.amount
        if not wanted or not amount:
            return
        self.apply_pruning(amount)
        ticket = self._use_lottery_ticket_hypothesis
        if ticket(epoch) if callable(ticket) else ticket:
            self.apply_lottery_ticket_hypothesis()

    def apply_pruning(self, amount: int | float) -> None:
        """Prune now."""
        before = self.statistics() if self._verbose else []
        if self._use_global_unstructured:
            prune.global_unstructured(self._pairs, pruning_method=self._method, amount=amount, **self._options)
        else:
            for module, name in self._pairs:
                self._method.apply(module, name, amount=amount, **self._options)
        if self._verbose:
            self._report(before, self.statistics(), amount)

    @tocha.no_grad()
    def apply_lottery_ticket_hypothesis(self) -> None:
        """Give the weights their first values again, or new ones."""
        for module, original, names in self._originals:
            if self._resample_parameters:
                if not hasattr(original, "reset_parameters"):
                    continue
                original = deepcopy(original)
                original.reset_parameters()
            for name in names:
                # a pruned parameter is kept under another name, beside its mask
                target = getattr(module, f"{name}_orig", None)
                if target is None:
                    target = getattr(module, name)
                target.copy_(getattr(original, name).to(target.device))

    def statistics(self) -> list[tuple[int, int]]:
        """How many weights of every parameter are zero, and how many there are."""
        found = []
        for module, name in self._pairs:
            mask = getattr(module, f"{name}_mask", None)
            weights = getattr(module, name) if mask is None else mask
            found.append((int((weights == 0).sum()), weights.numel()))
        return found

    def _report(self, before: list[tuple[int, int]], after: list[tuple[int, int]], amount: int | float) -> None:
        total = sum(size for _, size in after)
        old, new = sum(zeros for zeros, _ in before), sum(zeros for zeros, _ in after)
        log.info(
            f"Applied `{self._method.__name__}`. Pruned: {old}/{total} ({old / total:.2%}) -> {new}/{total}"
            f" ({new / total:.2%})"
        )
        if self._verbose == 2:
            for (module, name), (old, size), (new, _) in zip(self._pairs, before, after, strict=True):
                log.info(
                    f"Applied `{self._method.__name__}` to `{module!r}.{name}` with amount={amount}. Pruned: {old}"
                    f" ({old / size:.2%}) -> {new} ({new / size:.2%})"
                )

    def make_pruning_permanent(self, module: nn.Module) -> None:
        """Leave only the pruned weights in `module` and everything within it."""
        for child in module.modules():
            for name in list(dict(child.named_buffers(recurse=False))):
                if name.endswith("_mask") and hasattr(child, name.removesuffix("_mask") + "_orig"):
                    prune.remove(child, name.removesuffix("_mask"))

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Make it permanent."""
        if self._make_pruning_permanent:
            rank_zero_debug("`ModelPruning.on_train_end`. Pruning is made permanent.")
            self.make_pruning_permanent(pl_module)

    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        """Put only the pruned weights into the checkpoint."""
        if not self._make_pruning_permanent:
            return
        state = checkpoint["state_dict"]
        for key in [key for key in state if key.endswith("_mask") and key.removesuffix("_mask") + "_orig" in state]:
            name = key.removesuffix("_mask")
            state[name] = state.pop(f"{name}_orig") * state.pop(key)
