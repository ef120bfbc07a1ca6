"""What every distribution has: shapes, validation of parameters and values, expansion of its parameters."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import tocha

from . import constraints
from .utils import broadcast_all, lazy_property

Size = tocha.Size


class Distribution:
    """A batch of probability distributions, each over events of one shape.

    See https://pytorch.org/docs/stable/distributions.html#torch.distributions.distribution.Distribution

    Args:
        batch_shape: the shape of the batch.
        event_shape: the shape of one event.
        validate_args: check parameters now and values later (default: on, unless Python runs with ``-O``).

    Raises:
        ValueError: a parameter is outside of its constraint.

    A subclass that names its tensor parameters in ``_parameters`` gets ``expand``.
    """

    has_rsample: bool = False
    has_enumerate_support: bool = False
    _validate_args: bool = __debug__
    _parameters: tuple[str, ...] = ()
    _constants: tuple[str, ...] = ()

    if TYPE_CHECKING:  # the parameters, which `_broadcast` sets

        def __getattr__(self, name: str) -> Any: ...

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Turn validation on or off for distributions made from now on without ``validate_args``."""
        if value not in (True, False):
            raise ValueError(f"expected True or False, got {value!r}")
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = Size(), event_shape: Any = Size(), validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()

    def _broadcast(self, validate_args: bool | None, **parameters: Any) -> None:
        """Set parameters of one shape, which is the batch shape, and initialise."""
        self.__dict__.update(zip(parameters, broadcast_all(*parameters.values())))
        Distribution.__init__(self, self.__dict__[next(iter(parameters))].shape, validate_args=validate_args)

    def _validate_parameters(self) -> None:
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or "
                "initialize the distribution with `validate_args=False` to turn off validation.",
                stacklevel=4,
            )
            return
        for name, constraint in arg_constraints.items():
            lazy = name not in self.__dict__ and isinstance(getattr(type(self), name, None), lazy_property)
            if lazy or constraints.is_dependent(constraint):
                continue
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with its batch expanded to ``batch_shape``, without copying its parameters."""
        owner: Any = next((c for c in type(self).__mro__ if "_parameters" in c.__dict__), Distribution)
        if owner is Distribution:
            raise NotImplementedError
        new = self._get_checked_instance(owner, _instance)
        batch_shape, arg_constraints = Size(batch_shape), self.arg_constraints
        for name in owner._parameters:
            if name in self.__dict__:
                value = self.__dict__[name]
                event = value.shape[value.dim() - arg_constraints[name].event_dim :]
                new.__dict__[name] = value.expand(batch_shape + event)
        for name in owner._constants:
            new.__dict__[name] = self.__dict__[name]
        return self._finish_expanded(new, batch_shape)

    def _finish_expanded(self, new: Any, batch_shape: Any) -> Any:
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        if _instance is not None:
            return _instance
        if type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom __init__ method must also "
                "define a custom .expand() method."
            )
        return object.__new__(type(self))

    @property
    def batch_shape(self) -> Any:
        """The shape over which parameters are batched."""
        return self._batch_shape

    @property
    def event_shape(self) -> Any:
        """The shape of one event."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """The constraint of each parameter that is a tensor."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """The constraint that samples satisfy."""
        raise NotImplementedError

    @property
    def mean(self) -> Any:
        """The mean, of shape batch_shape + event_shape."""
        raise NotImplementedError

    @property
    def mode(self) -> Any:
        """The most likely value, of shape batch_shape + event_shape."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Any:
        """The variance, of shape batch_shape + event_shape."""
        raise NotImplementedError

    @property
    def stddev(self) -> Any:
        """The standard deviation, of shape batch_shape + event_shape."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = Size()) -> Any:
        """Values of shape sample_shape + batch_shape + event_shape, without gradients."""
        with tocha.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Any:
        """Values of shape sample_shape + batch_shape + event_shape, differentiable in the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Any:
        """``sample((n,))``; deprecated."""
        warnings.warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning, stacklevel=2)
        return self.sample(Size((n,)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density or mass at ``value``, of the shape of its batch."""
        raise NotImplementedError

    def cdf(self, value: Any) -> Any:
        """The probability of at most ``value``."""
        raise NotImplementedError

    def icdf(self, value: Any) -> Any:
        """The value that the cumulative probability ``value`` belongs to."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values of a discrete distribution along a new first dimension.

        Args:
            expand: repeat them over the batch (else the batch's dimensions have size 1).
        """
        raise NotImplementedError

    def entropy(self) -> Any:
        """The entropy in nats, of shape batch_shape."""
        raise NotImplementedError

    def perplexity(self) -> Any:
        """The exponential of the entropy."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Any = Size()) -> Any:
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def _full(self, value: float, like: Any) -> Any:
        return tocha.full(self._extended_shape(), value, dtype=like.dtype, device=like.device)

    def _enumerated(self, values: Any, expand: bool) -> Any:
        """Scalar ``values`` with the dimensions of the batch behind them."""
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + self._batch_shape) if expand else values

    def _validate(self, value: Any) -> None:
        if self._validate_args:
            self._validate_sample(value)

    def _validate_sample(self, value: Any) -> None:
        """Check the shape of ``value`` and that it is in the support.

        Raises:
            ValueError: it is not.
        """
        if not isinstance(value, tocha.Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        actual, expected = value.shape, self._batch_shape + self._event_shape
        if actual[len(actual) - len(self._event_shape) :] != self._event_shape:
            raise ValueError(f"The right-most size of value must match event_shape: {actual} vs {self._event_shape}.")
        for i, j in zip(reversed(actual), reversed(expected)):
            if i != 1 and j != 1 and i != j:
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {actual} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                stacklevel=4,
            )
            return
        if not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(actual)}) to be within the support "
                f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        shown = {name: self.__dict__[name] for name in self.arg_constraints if name in self.__dict__}
        return (
            f"{type(self).__name__}({', '.join(f'{n}: {v if v.numel() == 1 else v.size()}' for n, v in shown.items())})"
        )
