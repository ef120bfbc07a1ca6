"""The LKJ distribution of correlation matrices, by their Cholesky factors."""

from __future__ import annotations

import math
from typing import Any

import tocha

from . import constraints
from .beta import Beta
from .distribution import Distribution, Size
from .utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of ``dim`` x ``dim`` correlation matrices of density det ** (concentration - 1).

    Lewandowski, Kurowicka and Joe, 2009, doi:10.1016/j.jmva.2009.04.008.

    Raises:
        ValueError: ``dim`` is below 2.
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _parameters, _constants = ("concentration",), ("dim",)

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.shape, (dim, dim), validate_args=validate_args)

    def _squared_radii(self) -> Beta:
        """The distribution of what each row below its diagonal has of its length of 1, squared (section 3.2)."""
        row = tocha.arange(self.dim, dtype=self.concentration.dtype, device=self.concentration.device)
        row = (row - 1).clamp(min=0)
        rest = (self.concentration + 0.5 * (self.dim - 2)).unsqueeze(-1) - 0.5 * row
        return Beta(row + 0.5, rest)

    def sample(self, sample_shape: Any = Size()) -> Any:
        """By the onion method: a direction and a length for each row."""
        with tocha.no_grad():
            squared = self._squared_radii().sample(sample_shape).unsqueeze(-1)
            shape = self._extended_shape(sample_shape)
            normal = tocha.randn(shape, dtype=squared.dtype, device=squared.device).tril(-1)
            length = normal.norm(dim=-1, keepdim=True)
            row = squared.sqrt() * (normal / length).masked_fill(length == 0, 0.0)  # the first row has nothing
            left = (1 - (row**2).sum(-1)).clamp(min=tocha.finfo(row.dtype).tiny)
            return row + left.sqrt().diag_embed()

    def log_prob(self, value: Any) -> Any:
        self._validate(value)
        n = self.dim - 1
        powers = tocha.arange(n - 1, -1, -1, device=self.concentration.device)  # of the Jacobian, row by row
        powers = powers + 2 * (self.concentration - 1).unsqueeze(-1)
        density = (powers * value.diagonal(dim1=-2, dim2=-1)[..., 1:].log()).sum(-1)
        alpha = self.concentration + 0.5 * n
        norm = 0.5 * n * math.log(math.pi) + tocha.mvlgamma(alpha - 0.5, n) - n * tocha.lgamma(alpha)
        return density - norm
