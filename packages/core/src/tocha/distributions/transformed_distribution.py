"""A distribution seen through transforms."""

from __future__ import annotations

from typing import Any

import tocha

from . import constraints
from .distribution import Distribution, Size
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """What ``transforms`` (one, or a list, the first applied first) make of numbers of ``base_distribution``.

    The density follows by the change of variables: log p(x) - log |dy / dx|.

    Raises:
        ValueError: ``transforms`` are not transforms, or the base has too few dimensions for them.
    """

    arg_constraints: dict = {}

    def __init__(
        self, base_distribution: Any, transforms: Transform | list[Transform], validate_args: bool | None = None
    ) -> None:
        if isinstance(transforms, Transform):
            transforms = [transforms]
        elif not isinstance(transforms, list):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        elif not all(isinstance(t, Transform) for t in transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        self.transforms = transforms
        whole = ComposeTransform(transforms)
        domain_dim, codomain_dim = whole.domain.event_dim, whole.codomain.event_dim
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        base_dim = len(base_distribution.event_shape)
        if len(base_shape) < domain_dim:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {domain_dim}, but got {base_shape}."
            )
        shape = whole.forward_shape(base_shape)
        needed = whole.inverse_shape(shape)
        if base_shape != needed:  # the transforms' parameters broadcast
            base_distribution = base_distribution.expand(needed[: len(needed) - base_dim])
        if domain_dim > base_dim:
            base_distribution = Independent(base_distribution, domain_dim - base_dim)
        self.base_dist = base_distribution
        event_dim = max(codomain_dim, base_dim + codomain_dim - domain_dim)
        cut = len(shape) - event_dim
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(TransformedDistribution, _instance)
        batch_shape = Size(batch_shape)
        shape = ComposeTransform(self.transforms).inverse_shape(batch_shape + self.event_shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        new.transforms = self.transforms
        return self._finish_expanded(new, batch_shape)

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        extra = len(self.event_shape) - support.event_dim
        return constraints.independent(support, extra) if extra > 0 else support

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    def _forward(self, x: Any) -> Any:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: Any = Size()) -> Any:
        with tocha.no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = Size()) -> Any:
        return self._forward(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        self._validate(value)
        dim, result, y = len(self.event_shape), 0.0, value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            dim += transform.domain.event_dim - transform.codomain.event_dim
            slope = transform.log_abs_det_jacobian(x, y)
            result, y = result - sum_rightmost(slope, dim - transform.domain.event_dim), x
        return result + sum_rightmost(self.base_dist.log_prob(y), dim - len(self.base_dist.event_shape))

    def _rising(self, probability: Any) -> Any:
        """``1 - probability`` where the transforms fall."""
        sign = ComposeTransform(self.transforms).sign
        return probability if isinstance(sign, int) and sign == 1 else sign * (probability - 0.5) + 0.5

    def cdf(self, value: Any) -> Any:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._rising(self.base_dist.cdf(value))

    def icdf(self, value: Any) -> Any:
        return self._forward(self.base_dist.icdf(self._rising(value)))
