"""The base of every metric: state, update, compute, reset."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import tocha
from tocha import Tensor, nn


class Metric(nn.Module):
    """Accumulates over batches what `compute` turns into a value.

    Subclasses declare their state with `add_state` in ``__init__`` and define `update` and `compute`. Calling the
    metric updates it and returns the value of that batch alone.

    >>> import tocha
    >>> class Total(Metric):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.add_state("total", tocha.tensor(0.0))
    ...     def update(self, values):
    ...         self.total = self.total + values.sum()
    ...     def compute(self):
    ...         return self.total
    >>> total = Total()
    >>> total(tocha.ones(3)), total(tocha.ones(2))
    (tensor(3.), tensor(2.))
    >>> total.compute()
    tensor(5.)
    """

    def __init__(self) -> None:
        super().__init__()
        self._defaults: dict[str, Any] = {}
        self._persistent: dict[str, bool] = {}
        self._reduce: dict[str, str | None] = {}
        self._update_count = 0
        self._computed: Any = None
        self.forward_cache: Any = None

    def add_state(
        self, name: str, default: Tensor | list[Tensor], dist_reduce_fx: str | None = None, persistent: bool = False
    ) -> None:
        """Declare a state.

        Args:
            name: the attribute.
            default: a tensor, or an empty list to which tensors are appended.
            dist_reduce_fx: how processes combine it: ``"sum"``, ``"mean"``, ``"max"``, ``"min"``, ``"cat"`` or None.
            persistent: keep it in `state_dict`.

        Raises:
            ValueError: `default` is neither a tensor nor an empty list, or the reduction is unknown.
        """
        if not isinstance(default, Tensor) and default != []:
            raise ValueError("state variable must be a tensor or any empty list (where you can append tensors)")
        if dist_reduce_fx not in (None, "sum", "mean", "max", "min", "cat"):
            raise ValueError(
                f"`dist_reduce_fx` must be one of ['sum', 'mean', 'max', 'min', 'cat', None], got {dist_reduce_fx!r}"
            )
        self._defaults[name] = copy.deepcopy(default)
        self._persistent[name] = persistent
        self._reduce[name] = dist_reduce_fx
        self.__dict__[name] = copy.deepcopy(default)

    def __setattr__(self, name: str, value: Any) -> None:
        # states are plain attributes: not parameters, not buffers
        if name in self.__dict__.get("_defaults", ()):
            self.__dict__[name] = value
        else:
            super().__setattr__(name, value)

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Take a batch."""
        raise NotImplementedError(f"{type(self).__name__} has to define `update`.")

    def compute(self) -> Any:
        """The value of everything seen since the last `reset`."""
        raise NotImplementedError(f"{type(self).__name__} has to define `compute`.")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "update" in cls.__dict__:
            cls.update = _counted(cls.__dict__["update"])  # type: ignore[method-assign]
        if "compute" in cls.__dict__:
            cls.compute = _cached(cls.__dict__["compute"])  # type: ignore[method-assign]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Update with a batch and return the value of that batch alone."""
        total, count = self._states(), self._update_count
        self.reset()
        self.update(*args, **kwargs)
        value = self.compute()
        batch = self._states()
        for name in self._defaults:
            self.__dict__[name] = total[name]
        self._update_count, self._computed = count, None
        if not self._merge(batch, count):
            self.update(*args, **kwargs)
        else:
            self._update_count = count + 1
        self.forward_cache = value
        return value

    def _states(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in self._defaults}

    def _merge(self, batch: dict[str, Any], count: int) -> bool:
        """Add a batch's states to the accumulated ones where their reductions say how; else False."""
        merged: dict[str, Any] = {}
        for name, reduce in self._reduce.items():
            total, new = self.__dict__[name], batch[name]
            if reduce == "sum":
                merged[name] = total + new
            elif reduce == "max":
                merged[name] = tocha.maximum(total, new)
            elif reduce == "min":
                merged[name] = tocha.minimum(total, new)
            elif reduce == "cat" and isinstance(total, list):
                merged[name] = [*total, *new]
            else:
                return False
        self.__dict__.update(merged)
        return True

    def reset(self) -> None:
        """Forget everything."""
        for name, default in self._defaults.items():
            device = getattr(self.__dict__[name], "device", None)
            fresh = copy.deepcopy(default)
            self.__dict__[name] = fresh.to(device) if isinstance(fresh, Tensor) and device is not None else fresh
        self._update_count, self._computed, self.forward_cache = 0, None, None

    @property
    def update_called(self) -> bool:
        """Whether there was a batch since the last `reset`."""
        return self._update_count > 0

    def persistent(self, mode: bool = False) -> None:
        """Keep all states in `state_dict`, or none of them."""
        for name in self._persistent:
            self._persistent[name] = mode

    def _apply(self, fn: Callable[[Tensor], Tensor], *args: Any, **kwargs: Any) -> Any:
        for name in self._defaults:
            state = self.__dict__[name]
            self.__dict__[name] = [fn(t) for t in state] if isinstance(state, list) else fn(state)
        self._computed = None
        return super()._apply(fn, *args, **kwargs)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for name, persistent in self._persistent.items():
            if persistent:
                state = self.__dict__[name]
                destination[prefix + name] = (
                    [t.detach().clone() for t in state] if isinstance(state, list) else state.detach().clone()
                )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any, **kwargs: Any) -> None:
        for name in self._defaults:
            if prefix + name in state_dict:
                self.__dict__[name] = state_dict.pop(prefix + name)
                self._update_count = max(self._update_count, 1)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def clone(self) -> Metric:
        """A copy with its own state."""
        return copy.deepcopy(self)

    def __hash__(self) -> int:
        return id(self)


def _counted(update: Callable[..., None]) -> Callable[..., None]:
    def counted(self: Metric, *args: Any, **kwargs: Any) -> None:
        self._computed = None
        self._update_count += 1
        with tocha.no_grad():
            update(self, *args, **kwargs)

    counted.__doc__, counted.__wrapped__ = update.__doc__, update  # type: ignore[attr-defined]
    return counted


def _cached(compute: Callable[..., Any]) -> Callable[..., Any]:
    def cached(self: Metric) -> Any:
        if self._computed is None:
            if not self._update_count:
                from tocha_lightning.utilities.rank_zero import rank_zero_warn

                rank_zero_warn(
                    f"The ``compute`` method of metric {type(self).__name__} was called before the ``update`` method"
                    " which may lead to errors, as metric states have not yet been updated."
                )
            with tocha.no_grad():
                self._computed = compute(self)
        return self._computed

    cached.__doc__, cached.__wrapped__ = compute.__doc__, compute  # type: ignore[attr-defined]
    return cached
