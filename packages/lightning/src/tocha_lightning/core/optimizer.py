"""The optimizer as user code sees it: stepping goes through the precision plugin and the strategy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tocha.optim import Optimizer
from tocha_lightning.utilities.exceptions import MisconfigurationException


def _nothing() -> None:
    return None


class LightningOptimizer:
    """Wraps an optimizer so that ``step`` counts steps, runs hooks and handles precision.

    It passes for an instance of the optimizer's own class, and every other attribute is the optimizer's.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizer = optimizer
        self._strategy: Any = None
        self._on_before_step: Callable[[], None] = _nothing
        self._on_after_step: Callable[[], None] = _nothing
        kind = type(optimizer)
        self.__class__ = type("Lightning" + kind.__name__, (self.__class__, kind), {})

    @property
    def optimizer(self) -> Optimizer:
        """The wrapped optimizer."""
        return self._optimizer

    @contextmanager
    def toggle_model(self, sync_grad: bool = True) -> Iterator[None]:
        """Within, only the parameters of this optimizer require gradients (see `LightningModule.toggle_optimizer`).

        With `sync_grad` False, gradients are not synchronised between processes: for accumulation.
        """
        module = self._strategy.lightning_module
        with self._strategy.block_backward_sync(not sync_grad):
            module.toggle_optimizer(self)
            try:
                yield
            finally:
                module.untoggle_optimizer(self)

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Update the parameters.

        Args:
            closure: computes the loss and its gradients again; most optimizers do not need one.
            kwargs: passed to the optimizer's own ``step``.

        Raises:
            MisconfigurationException: `closure` cannot be called.
        """
        self._on_before_step()
        if closure is None:
            closure = _nothing
        elif not callable(closure):
            raise MisconfigurationException("When `optimizer.step(closure)` is called, the closure should be callable")
        output = self._strategy.optimizer_step(self._optimizer, closure, **kwargs)
        self._on_after_step()
        return output

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_optimizer"], name)

    # methods that the class of the optimizer defines would act on this wrapper's own (empty) state
    def zero_grad(self, *args: Any, **kwargs: Any) -> None:
        """Reset the gradients of the wrapped optimizer's parameters."""
        self._optimizer.zero_grad(*args, **kwargs)

    def state_dict(self) -> dict[str, Any]:
        """The wrapped optimizer's state."""
        return self._optimizer.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the wrapped optimizer's state."""
        self._optimizer.load_state_dict(state_dict)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a parameter group to the wrapped optimizer."""
        self._optimizer.add_param_group(param_group)

    def __repr__(self) -> str:
        return f"Lightning{self._optimizer!r}"


def to_lightning_optimizer(optimizer: Optimizer | LightningOptimizer, strategy: Any) -> LightningOptimizer:
    """Wrap `optimizer` for `strategy`; a wrapped one stays as it is."""
    wrapped = optimizer if isinstance(optimizer, LightningOptimizer) else LightningOptimizer(optimizer)
    wrapped._strategy = strategy
    return wrapped


class NoOptimizer(Optimizer):
    """Stands in where `configure_optimizers` returned None: the closure runs, nothing is updated."""

    def __init__(self) -> None:
        import tocha

        super().__init__([tocha.zeros(1)], {})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Ignored, but for the parameter that every optimizer has to have."""
        if not hasattr(self, "param_groups") or not self.param_groups:
            super().add_param_group(param_group)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Ignored."""

    def state_dict(self) -> dict[str, Any]:
        """Empty."""
        return {}

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Run the closure."""
        return closure() if closure is not None else None

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Nothing to reset."""

    def __repr__(self) -> str:
        return "No Optimizer"
