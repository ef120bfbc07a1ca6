"""Transforms of vectors and matrices."""

from __future__ import annotations

import math
from typing import Any

import tocha

from . import constraints
from ._map import SameType, Transform
from ._pointwise_transforms import clipped_sigmoid
from .utils import softplus, tril_matrix_to_vec, vec_to_tril_matrix


def _pad_one(x: Any, *, before: bool) -> Any:
    """``x`` with a 1 before or behind its last dimension."""
    one = x.new_ones(x.shape[:-1] + (1,))
    return tocha.cat([one, x] if before else [x, one], -1)


def _at_least(shape: Any, dims: int) -> None:
    if len(shape) < dims:
        raise ValueError("Too few dimensions on input")


class CorrCholeskyTransform(SameType, Transform):
    """Vectors of D (D - 1) / 2 numbers to Cholesky factors of D x D correlation matrices.

    Row by row below the diagonal, tanh of each number is the share that it takes of what the row's unit length has left
    (https://mc-stan.org/docs/reference-manual/transforms.html, Cholesky factors of correlation matrices).
    """

    domain, codomain = constraints.real_vector, constraints.corr_cholesky
    bijective = True

    def _call(self, x: Any) -> Any:
        eps = tocha.finfo(x.dtype).eps
        share = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - share**2).sqrt().cumprod(-1)
        size = share.shape[-1]
        share = share + tocha.eye(size, dtype=x.dtype, device=x.device)
        return share * _pad_one(left[..., :-1], before=True)

    def _inverse(self, y: Any) -> Any:
        left = _pad_one((1 - (y * y).cumsum(-1))[..., :-1], before=True)
        share = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (share.log1p() - (-share).log1p()) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Of ``x`` to the entries of ``y`` below its diagonal."""
        left = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        tanh = -2 * (x + softplus(-2 * x) - math.log(2)).sum(-1)
        return 0.5 * left.log().sum(-1) + tanh

    def forward_shape(self, shape: Any) -> Any:
        _at_least(shape, 1)
        size = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (size, size)

    def inverse_shape(self, shape: Any) -> Any:
        _at_least(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return shape[:-2] + (shape[-1] * (shape[-1] - 1) // 2,)


class SoftmaxTransform(SameType, Transform):
    """Vectors to the simplex by normalised exponentials; not bijective."""

    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x: Any) -> Any:
        return tocha.softmax(x, -1)

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        _at_least(shape, 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(SameType, Transform):
    """Vectors to the simplex of one dimension more: each number breaks its share off what is left of a stick.

    Shifts make zero the middle of the simplex (https://mc-stan.org/docs/reference-manual/transforms.html).
    """

    domain, codomain = constraints.real_vector, constraints.simplex
    bijective = True

    @staticmethod
    def _shift(x: Any, count: int) -> Any:
        return tocha.arange(count, 0, -1, dtype=x.dtype, device=x.device).log()

    def _call(self, x: Any) -> Any:
        share = clipped_sigmoid(x - self._shift(x, x.shape[-1]))
        return _pad_one(share, before=False) * _pad_one((1 - share).cumprod(-1), before=True)

    def _inverse(self, y: Any) -> Any:
        taken = y[..., :-1]
        left = (1 - taken.cumsum(-1)).clamp(min=tocha.finfo(y.dtype).tiny)  # rounding may leave less than nothing
        return taken.log() - left.log() + self._shift(y, taken.shape[-1])

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        x = x - self._shift(x, x.shape[-1])
        return (y[..., :-1].log() - x - softplus(-x)).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        _at_least(shape, 1)
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape: Any) -> Any:
        _at_least(shape, 1)
        return shape[:-1] + (shape[-1] - 1,)


class LowerCholeskyTransform(SameType, Transform):
    """Matrices to lower triangular ones of positive diagonals, by exponentials of the diagonal."""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(SameType, Transform):
    """Matrices to positive definite ones, by their Cholesky factors."""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.positive_definite

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(tocha.linalg.cholesky(y))
