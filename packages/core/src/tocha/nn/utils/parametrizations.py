"""Ready parametrizations: orthogonal weights, weight norm, spectral norm."""

from __future__ import annotations

from typing import Any

import tocha
from tocha._core import arrays as array_modules
from tocha._core.tensor import Tensor, wrap

from ..modules.module import Module
from . import parametrize
from ._spectral import as_matrix, default_dim, times, unit
from .weight_norm import norm_except_dim, scaled_direction

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

_MAPS = ("matrix_exp", "cayley", "householder")


def _householder_product(a: Tensor, tau: Tensor) -> Tensor:
    """The first columns of the product of the reflections ``I - tau v v^H``."""
    rows, columns = a.shape[-2:]
    ones = tocha.eye(rows, columns, dtype=a.dtype, device=a.device)
    v = a.tril(-1) + ones
    product = ones.expand(*a.shape[:-2], rows, columns)
    for i in range(columns - 1, -1, -1):
        column = v[..., :, i : i + 1]
        product = product - tau[..., i, None, None] * (column @ (column.mH @ product))
    return product


def _reflections(matrix: Tensor) -> tuple[Any, Any]:
    """LAPACK's ``geqrf``: the reflections' vectors below the diagonal (R above it), and their factors."""
    raw = matrix.detach()._data
    h, tau = array_modules.module_of(raw).linalg.qr(raw, mode="raw")
    return wrap(h).transpose(-2, -1).contiguous(), wrap(tau)


def _made_orthogonal(matrix: Tensor) -> Tensor:
    raw = matrix.detach()._data
    xp = array_modules.module_of(raw)
    q, r = xp.linalg.qr(raw)
    diagonal = xp.diagonal(r, axis1=-2, axis2=-1)
    return wrap(q * xp.sign(diagonal)[..., None, :])


def _is_orthogonal(matrix: Tensor) -> bool:
    rows, columns = matrix.shape[-2:]
    identity = tocha.eye(columns, dtype=matrix.dtype, device=matrix.device)
    return bool(((matrix.mH @ matrix - identity).abs() <= 10.0 * rows * tocha.finfo(matrix.dtype).eps + 1e-5).all())


class _Orthogonal(Module):
    """Any matrix to one with orthogonal columns (rows, if it is wide)."""

    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Tensor:
        wide = x.shape[-2] < x.shape[-1]
        if wide:
            x = x.mT
        rows, columns = x.shape[-2:]
        if self.orthogonal_map == "householder":
            a = x.tril(-1)
            q = _householder_product(a, 2.0 / (1.0 + (a * a).sum(-2)))
            # Signs, not differentiated: assigning a matrix (right_inverse) sets them.
            q = q * x.diagonal(dim1=-2, dim2=-1).detach().trunc().unsqueeze(-2)
        else:
            x = x.tril()
            if rows != columns:
                x = tocha.cat([x, x.new_zeros((*x.shape[:-1], rows - columns))], -1)
            skew = x - x.mH
            if self.orthogonal_map == "matrix_exp":
                q = tocha.matrix_exp(skew)
            else:
                identity = tocha.eye(rows, dtype=x.dtype, device=x.device)
                q = tocha.linalg.solve(identity - skew * 0.5, identity + skew * 0.5)
            if rows != columns:
                q = q[..., :columns]
        if "base" in self._buffers:
            q = self.base @ q
        return q.mT if wide else q

    def right_inverse(self, q: Tensor) -> Tensor:
        """What has to be trained so that the result is ``q``, made orthogonal first."""
        if q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {q.shape}."
            )
        with tocha.no_grad():
            wide = q.shape[-2] < q.shape[-1]
            tall = q.mT if wide else q
            rows, columns = tall.shape[-2:]
            if "base" not in self._buffers:
                if self.orthogonal_map != "householder":
                    raise NotImplementedError(
                        "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                        "use_trivialization=False."
                    )
                a, tau = _reflections(tall)
                signs = a.diagonal(dim1=-2, dim2=-1).sign()
                signs = tocha.where(tau == 0.0, -signs, signs)
                a = (
                    a - tocha.diag_embed(a.diagonal(dim1=-2, dim2=-1) - signs)
                    if rows == columns
                    else _with_diagonal(a, signs)
                )
                return a.mT if wide else a
            if rows == columns:
                base = tall.clone() if _is_orthogonal(tall) else _made_orthogonal(tall)
            else:
                noise = tocha.randn(*tall.shape[:-1], rows - columns, dtype=tall.dtype, device=tall.device)
                base = _made_orthogonal(tocha.cat([tall, noise], -1))
            self.base = base
            # Below the diagonal 0 and on it -1: mapped to the identity's columns by every map.
            return _with_diagonal(tocha.zeros_like(q), None)


def _with_diagonal(matrix: Tensor, values: Tensor | None) -> Tensor:
    """The matrix with another diagonal (-1 where None)."""
    rows, columns = matrix.shape[-2:]
    on = tocha.eye(rows, columns, dtype=matrix.dtype, device=matrix.device)
    if values is None:
        return matrix * (1 - on) - on
    short = values.unsqueeze(-2) if rows >= columns else values.unsqueeze(-1)
    return matrix * (1 - on) + on * short


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Keep a weight's columns (rows, if it is wide) orthogonal while it is trained; returns the module.

    Args:
        module: whose parameter. name: which, a matrix or a batch of them.
        orthogonal_map: ``"matrix_exp"``, ``"cayley"`` or ``"householder"``; where None the first for square and complex
            matrices and the last for others.
        use_trivialization: start from the weight as it is, made orthogonal, and train the change from there.

    Raises:
        ValueError: no such parameter, fewer than two dimensions, or an unknown map.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.parametrizations.orthogonal.html
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.dim() < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions.")
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    parametrization = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, parametrization, unsafe=True)


class _WeightNorm(Module):
    """A length and a direction to a weight."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return scaled_direction(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """The length and the direction of a weight."""
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Train a weight as a length times a direction; returns the module.

    Args:
        module: whose parameter. name: which. dim: the dimension with a length of its own for each entry; None: one for
            all.

    Source: Salimans and Kingma, https://arxiv.org/abs/1602.07868;
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.parametrizations.weight_norm.html
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def from_older_form(state_dict: Any, prefix: str, *rest: Any) -> None:
        if f"{prefix}{name}_g" in state_dict and f"{prefix}{name}_v" in state_dict:
            for old, new in (("g", "original0"), ("v", "original1")):
                state_dict[f"{prefix}parametrizations.{name}.{new}"] = state_dict.pop(f"{prefix}{name}_{old}")

    module._register_load_state_dict_pre_hook(from_older_form)
    return module


class _SpectralNorm(Module):
    """A weight to the weight divided by its largest singular value."""

    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.dim()
        if not -ndim <= dim < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim, self.eps, self.n_power_iterations = dim % ndim, eps, n_power_iterations
        if ndim > 1:
            with tocha.no_grad():
                matrix = as_matrix(weight, self.dim)
                u = matrix.new_empty((matrix.shape[0],)).normal_(0, 1)
                v = matrix.new_empty((matrix.shape[1],)).normal_(0, 1)
                self.register_buffer("_u", unit(u, eps))
                self.register_buffer("_v", unit(v, eps))
                self._power_method(matrix, 15)

    def _power_method(self, matrix: Tensor, n_power_iterations: int) -> None:
        with tocha.no_grad():
            for _ in range(n_power_iterations):
                self._u.copy_(unit(times(matrix, self._v), self.eps))
                self._v.copy_(unit(times(matrix.mH, self._u), self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.dim() == 1:
            return unit(weight, self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # Copies: the next pass writes into them while the graph of this one may still be alive.
        u, v = self._u.clone(), self._v.clone()
        return weight / ((u.conj() if u.is_complex() else u) * times(matrix, v)).sum()

    def right_inverse(self, value: Tensor) -> Tensor:
        """The value itself: it is taken to be divided already."""
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value, which power iteration follows; returns the module.

    Args:
        module: whose parameter. name: which. n_power_iterations: how many at each use in training.
        eps: the smallest length that vectors are divided by.
        dim: the dimension of the outputs; 1 for transposed convolutions and else 0 where None.

    Raises:
        ValueError: no such parameter. IndexError: ``dim`` is out of range.

    Source: Miyato et al., https://arxiv.org/abs/1802.05957;
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.parametrizations.spectral_norm.html
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    parametrization = _SpectralNorm(weight, n_power_iterations, default_dim(module) if dim is None else dim, eps)
    return parametrize.register_parametrization(module, name, parametrization)
