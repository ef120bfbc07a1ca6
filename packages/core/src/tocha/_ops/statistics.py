"""Statistics and finite differences, as compositions."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.broadcast import operators
from .._core.families import method
from .._core.inplace import store
from .._core.tensor import Tensor
from .dims import wrap_dim
from .movement import cat, reshape, stack
from .ternary import lerp

__all__ = ["block_diag", "cartesian_prod", "combinations", "corrcoef", "cov", "cumulative_trapezoid", "diff", "dist",
           "gradient", "nanquantile", "quantile", "renorm", "trapezoid", "trapz"]  # fmt: skip


def _out(result: Tensor, out: Any) -> Tensor:
    return result if out is None else store(out, result)


# ---------------------------------------------------------------- quantiles


def _quantile(
    input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str, ignore_nan: bool, out: Any, name: str
) -> Tensor:
    if input._data.dtype.kind != "f" or input._data.dtype.itemsize < 4:
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    scalar = not isinstance(q, Tensor)
    if scalar:
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
        q = input.new_tensor(q)
    elif q._data.dtype != input._data.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    if len(q._data.shape) > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if not input._data.size:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    shape = list(input._data.shape)
    if dim is None:
        x = reshape(input, -1)
        kept = [1] * len(shape)
    else:
        d = wrap_dim(dim, len(shape))
        x = input.movedim(d, -1) if shape else reshape(input, 1)
        kept = [1 if i == d else n for i, n in enumerate(shape)]
        if not keepdim:
            kept = [n for i, n in enumerate(shape) if i != d]
    if dim is None and not keepdim:
        kept = []
    ordered = x.sort(-1).values
    count = (ordered == ordered).sum(-1, keepdim=True).to(x.dtype)
    points = reshape(q, -1)
    if ignore_nan:
        rank = points * (count - 1).clamp(min=0)
    else:
        size = float(ordered._data.shape[-1])
        last = (points * 0 + 1) * (size - 1)
        rank = points * (size - 1) * (count == size).to(x.dtype) + last * (count != size).to(x.dtype)
    rank = rank.expand(*ordered._data.shape[:-1], points._data.shape[0])
    if interpolation in ("lower", "higher", "nearest"):
        place = {"lower": rank.floor, "higher": rank.ceil, "nearest": rank.round}[interpolation]().detach()
        result = ordered.gather(-1, place.long())
    else:
        below = rank.detach().floor()
        weight = rank - below if interpolation == "linear" else rank.detach() * 0 + 0.5
        above = rank.detach().ceil()
        low, high = ordered.gather(-1, below.long()), ordered.gather(-1, above.long())
        result = lerp(low, high, weight)
    result = result.movedim(-1, 0)
    if dim is not None and keepdim:
        result = reshape(result, points._data.shape[0], *kept)
    elif dim is None:
        result = reshape(result, points._data.shape[0], *kept)
    if scalar or not q._data.shape:
        result = result[0]
    return _out(result, out)


def quantile(
    input: Tensor,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    out: Any = None,
) -> Tensor:
    """The ``q``-th quantiles (in [0, 1]) along ``dim``; several ``q`` give a leading dimension."""
    return _quantile(input, q, dim, keepdim, interpolation, False, out, "quantile")


def nanquantile(
    input: Tensor,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    out: Any = None,
) -> Tensor:
    """``quantile`` of the elements that are not NaN."""
    return _quantile(input, q, dim, keepdim, interpolation, True, out, "quantile")


# ---------------------------------------------------------------- covariance


def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """The covariance matrix of variables in rows and observations in columns."""
    if len(input._data.shape) > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {len(input._data.shape)} "
            "dimensions"
        )
    x = reshape(input, 1, -1) if len(input._data.shape) < 2 else input
    single = x._data.shape[0] == 1
    if x._data.dtype.kind in "biu":
        x = x.to(dtypes.get_default_dtype())
    n = x._data.shape[1]
    w = None
    if fweights is not None:
        w = fweights
    if aweights is not None:
        w = aweights if w is None else w * aweights
    total: Any = n if w is None else w.sum()
    if n == 0:
        return reshape(x.sum(1) * float("nan"), ()) if single else x.new_full((x._data.shape[0],) * 2, float("nan"))
    average = (x.sum(1) if w is None else (x * w).sum(1)) / total
    if w is not None and aweights is not None and correction:
        norm = total - correction * (w * aweights).sum() / total
    else:
        norm = total - correction
    norm = norm.clamp(min=0) if isinstance(norm, Tensor) else max(norm, 0)
    centred = x - average.unsqueeze(1)
    weighted = centred if w is None else centred * w
    result = weighted @ centred.mT.conj() / norm
    return reshape(result, ()) if single else result


def corrcoef(input: Tensor) -> Tensor:
    """The Pearson correlation matrix of variables in rows."""
    from .complex import real

    c = cov(input)
    if not c._data.shape:
        return c / c
    d = real(c.diagonal()).sqrt()
    c = c / d.unsqueeze(1) / d.unsqueeze(0)
    if c._data.dtype.kind == "c":
        from .complex import complex, imag

        return complex(real(c).clamp(-1, 1), imag(c).clamp(-1, 1))
    return c.clamp(-1, 1)


# ---------------------------------------------------------------- differences and integrals


def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    *,
    out: Any = None,
) -> Tensor:
    """The differences of neighbours along ``dim``, ``n`` times."""
    if not input._data.shape:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    d = wrap_dim(dim, len(input._data.shape))
    if n == 0:
        return _out(input.clone(), out)
    x = (
        cat([t for t in (prepend, input, append) if t is not None], d)
        if prepend is not None or append is not None
        else input
    )
    if n > x._data.shape[d]:
        x = x.narrow(d, 0, 0)
        return _out(x.clone(), out)
    for _ in range(n):
        size = x._data.shape[d]
        later, earlier = x.narrow(d, 1, size - 1), x.narrow(d, 0, size - 1)
        x = later ^ earlier if x._data.dtype.kind == "b" else later - earlier
    return _out(x, out)


def gradient(input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """Central differences along each of ``dim`` (second-order, one-sided at the edges)."""
    ndim = len(input._data.shape)
    dims = list(range(ndim)) if dim is None else [wrap_dim(d, ndim) for d in ((dim,) if isinstance(dim, int) else dim)]
    if spacing is None:
        spacing = 1
    if isinstance(spacing, (int, float, complex)):
        steps: list = [spacing] * len(dims)
    elif isinstance(spacing, Tensor):
        steps = [spacing] * len(dims)
    else:
        steps = list(spacing)
    if len(steps) != len(dims):
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim() = "
            f"{ndim}', but got a list of length {len(steps)}"
        )
    x = input if input._data.dtype.kind in "fcV" else input.to(dtypes.get_default_dtype())
    for d in dims:
        if x._data.shape[d] < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    return tuple([_gradient(x, s, d, edge_order) for s, d in zip(steps, dims)])


def _gradient(x: Tensor, spacing: Any, d: int, edge_order: int) -> Tensor:
    n = x._data.shape[d]
    part = lambda start, length: x.narrow(d, start, length)  # noqa: E731
    if not isinstance(spacing, Tensor):
        inner = (part(2, n - 2) - part(0, n - 2)) / (2 * spacing)
        if edge_order == 1:
            first, last = (part(1, 1) - part(0, 1)) / spacing, (part(n - 1, 1) - part(n - 2, 1)) / spacing
        else:
            first = (part(0, 1) * -1.5 + part(1, 1) * 2 - part(2, 1) * 0.5) / spacing
            last = (part(n - 1, 1) * 1.5 - part(n - 2, 1) * 2 + part(n - 3, 1) * 0.5) / spacing
        return cat([first, inner, last], d)
    shape = [-1 if i == d else 1 for i in range(len(x._data.shape))]
    h = reshape(spacing[1:] - spacing[:-1], *shape)
    h1, h2 = h.narrow(d, 0, n - 2), h.narrow(d, 1, n - 2)
    inner = (
        part(0, n - 2) * (-h2 / (h1 * (h1 + h2)))
        + part(1, n - 2) * ((h2 - h1) / (h1 * h2))
        + part(2, n - 2) * (h1 / (h2 * (h1 + h2)))
    )
    if edge_order == 1:
        first, last = (
            (part(1, 1) - part(0, 1)) / h.narrow(d, 0, 1),
            (part(n - 1, 1) - part(n - 2, 1)) / h.narrow(d, n - 2, 1),
        )
        return cat([first, inner, last], d)
    a, b = h.narrow(d, 0, 1), h.narrow(d, 1, 1)
    first = (
        part(0, 1) * (-(a * 2 + b) / (a * (a + b)))
        + part(1, 1) * ((a + b) / (a * b))
        - part(2, 1) * (a / (b * (a + b)))
    )
    a, b = h.narrow(d, n - 3, 1), h.narrow(d, n - 2, 1)
    last = (
        part(n - 3, 1) * (b / (a * (a + b)))
        - part(n - 2, 1) * ((a + b) / (a * b))
        + part(n - 1, 1) * ((b * 2 + a) / (b * (a + b)))
    )
    return cat([first, inner, last], d)


def _trapezoids(y: Tensor, x: Any, dx: Any, dim: int) -> tuple[Tensor, int]:
    d = wrap_dim(dim, len(y._data.shape))
    n = y._data.shape[d]
    if n == 0:
        return y.sum(d, keepdim=True), d
    pairs = y.narrow(d, 0, n - 1) + y.narrow(d, 1, n - 1)
    if x is None:
        return pairs * (dx / 2.0), d
    if len(x._data.shape) == 1:
        if x._data.shape[0] != n:
            raise RuntimeError("trapezoid: There must be one `x` value for each sample point")
        x = reshape(x, [-1 if i == d else 1 for i in range(len(y._data.shape))])
        width = diff(x, dim=d)
    else:
        width = diff(x, dim=d - len(y._data.shape))
    return pairs * width / 2.0, d


def trapezoid(y: Tensor, x: Any = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """The integral along ``dim`` by the trapezoidal rule, with points ``x`` or steps ``dx`` (1 by default)."""
    parts, d = _trapezoids(y, x, 1 if dx is None else dx, dim)
    return parts.sum(d)


trapz = trapezoid


def cumulative_trapezoid(y: Tensor, x: Any = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """Running integrals along ``dim`` by the trapezoidal rule."""
    parts, d = _trapezoids(y, x, 1 if dx is None else dx, dim)
    return parts.cumsum(d)


# ---------------------------------------------------------------- norms and distances


def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The ``p``-norm of the difference."""
    from ..linalg import vector_norm

    return vector_norm(input - other, p)


def renorm(input: Tensor, p: float, dim: int, maxnorm: float, *, out: Any = None) -> Tensor:
    """Slices along ``dim`` scaled down to a ``p``-norm of at most ``maxnorm``."""
    from ..linalg import vector_norm

    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError("renorm: expected maxnorm to be >= 0")
    d = wrap_dim(dim, len(input._data.shape))
    if len(input._data.shape) < 2:
        raise RuntimeError(
            "renorm: input needs at least 2 dimensions, got " + str(len(input._data.shape)) + " dimensions"
        )
    norm = vector_norm(input, p, dim=[i for i in range(len(input._data.shape)) if i != d], keepdim=True)
    scale = operators["where"](norm > maxnorm, maxnorm / (norm + 1e-7), 1.0)
    return _out(input * scale.to(input.dtype), out)


# ---------------------------------------------------------------- combinations


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of ``r`` elements of a vector, (n, r)."""
    if len(input._data.shape) != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input._data.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    n = input._data.shape[0]
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    raw = np.array(list(choose(range(n), r)), np.int64).reshape(-1, r)
    if r == 0:
        return input.new_empty((0,))
    from .from_data import tensor

    return input[tensor(raw, device=input.device)]


def cartesian_prod(*tensors: Any) -> Tensor:
    """All tuples of one element from each vector, (n, number of vectors)."""
    from .arrangement import meshgrid

    if len(tensors) == 1:
        return tensors[0] if isinstance(tensors[0], Tensor) else cartesian_prod(*tensors[0])
    return stack([reshape(g, -1) for g in meshgrid(*tensors, indexing="ij")], 1)


def block_diag(*tensors: Any) -> Tensor:
    """Matrices along the diagonal of a larger one, zeros elsewhere."""
    from .._core.templates import common_dtype

    blocks = [reshape(t, 1, -1) if len(t._data.shape) < 2 else t for t in tensors]
    for i, b in enumerate(blocks):
        if len(b._data.shape) > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {len(b._data.shape)} "
                "dimensions"
            )
    d = common_dtype(blocks)
    width = sum(b._data.shape[1] for b in blocks)
    rows, start = [], 0
    for b in blocks:
        n, m = b._data.shape
        b = operators["cast"](b, d) if b._data.dtype != d else b
        rows.append(cat([b.new_zeros((n, start)), b, b.new_zeros((n, width - start - m))], 1))
        start += m
    return cat(rows, 0)


for _fn in (quantile, nanquantile, cov, corrcoef, diff, dist, renorm):
    method(_fn)
