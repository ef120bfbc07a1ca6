"""Discrete Fourier transforms, as ``torch.fft``.

``n`` or ``s`` is the signal's length (padded with zeros or cut), ``norm`` "backward" (inverse scaled by 1/n), "ortho"
(both by 1/sqrt(n)) or "forward" (forward scaled by 1/n). Source: https://pytorch.org/docs/stable/fft.html
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._core import dtypes
from ._core.broadcast import operators
from ._core.inplace import store
from ._core.tensor import Tensor
from ._ops.arrangement import roll
from ._ops.complex import conj, to_complex
from ._ops.creation import resolve_dtype
from ._ops.dims import wrap_dim
from ._ops.fourier import c2c, c2r, r2c
from ._ops.from_data import placed

__all__ = ["fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn",
           "ifftshift", "ihfft",
           "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn"]  # fmt: skip


def _scale(norm: str | None, sizes: Sequence, forward: bool) -> float:
    if norm not in (None, "backward", "ortho", "forward"):
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    total = math.prod(sizes)
    if norm == "ortho":
        return 1 / math.sqrt(total)
    return 1 / total if (norm == "forward") == forward else 1.0


def _prepared(x: Tensor, want_complex: bool) -> Tensor:
    d = x._data.dtype
    if d.kind in "biu":
        x = operators["cast"](x, dtypes.default_np())
    elif d.itemsize == 2:
        from ._core.templates import scalar_type_name

        raise RuntimeError(f"Unsupported dtype {scalar_type_name(d)}")
    return to_complex(x) if want_complex else x


def _resized(x: Tensor, dims: tuple[int, ...], sizes: Sequence) -> Tensor:
    """Each of ``dims`` cut or padded with zeros to its size."""
    shape = list(x._data.shape)
    for d, n in zip(dims, sizes):
        if n < 1:
            raise RuntimeError(f"Invalid number of data points ({n}) specified")
        shape[d] = min(shape[d], n)
    if shape != list(x._data.shape):
        x = operators["slice"](x, tuple([slice(0, n) for n in shape]))
    wide = list(shape)
    for d, n in zip(dims, sizes):
        wide[d] = n
    if wide != shape:
        x = operators["slice_pad"](x, tuple(wide), tuple([slice(0, n) for n in shape]))
    return x


def _axes(x: Tensor, s: Any, dim: Any) -> tuple[tuple[int, ...], list]:
    """The dimensions and their sizes that ``s`` and ``dim`` mean."""
    ndim = len(x._data.shape)
    if dim is not None:
        dims = tuple([wrap_dim(d, ndim) for d in ((dim,) if isinstance(dim, int) else dim)])
        if len(set(dims)) != len(dims):
            raise RuntimeError("FFT dims must be unique")
    elif s is not None:
        if len(s) > ndim:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {ndim} dimensions.")
        dims = tuple(range(ndim - len(s), ndim))
    else:
        dims = tuple(range(ndim))
    if s is not None and len(s) != len(dims):
        raise RuntimeError("When given, dim and shape arguments must have the same length")
    sizes = [x._data.shape[d] if s is None or s[i] == -1 else s[i] for i, d in enumerate(dims)]
    return dims, sizes


def _out(result: Tensor, out: Any) -> Tensor:
    return result if out is None else store(out, result)


def _complex(x: Tensor, s: Any, dim: Any, norm: Any, forward: bool) -> Tensor:
    x = _prepared(x, True)
    dims, sizes = _axes(x, s, dim)
    if not dims:
        return x
    return c2c(_resized(x, dims, sizes), dims, forward, _scale(norm, sizes, forward))


def _one(n: Any) -> Any:
    return None if n is None else (n,)


def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None) -> Tensor:
    """The discrete Fourier transform along ``dim``, complex.

    Example:
        >>> import tocha
        >>> tocha.fft.fft(tocha.tensor([1.0, 0.0, 0.0])).real.tolist()
        [1.0, 1.0, 1.0]
    """
    return _out(_complex(input, _one(n), dim, norm, True), out)


def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None) -> Tensor:
    """The inverse of ``fft``."""
    return _out(_complex(input, _one(n), dim, norm, False), out)


def fftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None) -> Tensor:
    """``fft`` over several dimensions (all by default)."""
    return _out(_complex(input, s, dim, norm, True), out)


def ifftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None) -> Tensor:
    """The inverse of ``fftn``."""
    return _out(_complex(input, s, dim, norm, False), out)


def fft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Any = None) -> Tensor:
    """``fftn`` over the last two dimensions."""
    return fftn(input, s, dim, norm, out=out)


def ifft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Any = None) -> Tensor:
    """``ifftn`` over the last two dimensions."""
    return ifftn(input, s, dim, norm, out=out)


def _real_forward(x: Tensor, s: Any, dim: Any, norm: Any, forward: bool, name: str) -> Tensor:
    if x._data.dtype.kind == "c":
        raise RuntimeError(f"{name} expects a real input tensor, but got {x.dtype}")
    x = _prepared(x, False)
    dims, sizes = _axes(x, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    return r2c(_resized(x, dims, sizes), dims, _scale(norm, sizes, forward))


def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None) -> Tensor:
    """``fft`` of a real signal: the non-negative frequencies, n // 2 + 1 of them."""
    return _out(_real_forward(input, _one(n), dim, norm, True, "rfft"), out)


def rfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None) -> Tensor:
    """``fftn`` of a real signal: the last dimension's non-negative frequencies."""
    return _out(_real_forward(input, s, dim, norm, True, "rfftn"), out)


def rfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Any = None) -> Tensor:
    """``rfftn`` over the last two dimensions."""
    return rfftn(input, s, dim, norm, out=out)


def _real_inverse(x: Tensor, s: Any, dim: Any, norm: Any, forward: bool, name: str) -> Tensor:
    x = _prepared(x, True)
    dims, sizes = _axes(x, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    if s is None or s[-1] == -1:
        sizes[-1] = 2 * (x._data.shape[dims[-1]] - 1)
    if sizes[-1] < 1:
        raise RuntimeError(f"Invalid number of data points ({sizes[-1]}) specified")
    have = [*sizes[:-1], sizes[-1] // 2 + 1]
    return c2r(_resized(x, dims, have), dims, sizes[-1], _scale(norm, sizes, forward))


def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None) -> Tensor:
    """The inverse of ``rfft``; ``n`` is the signal's length (by default even)."""
    return _out(_real_inverse(input, _one(n), dim, norm, False, "irfft"), out)


def irfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None) -> Tensor:
    """The inverse of ``rfftn``."""
    return _out(_real_inverse(input, s, dim, norm, False, "irfftn"), out)


def irfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Any = None) -> Tensor:
    """``irfftn`` over the last two dimensions."""
    return irfftn(input, s, dim, norm, out=out)


def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None) -> Tensor:
    """The transform of a signal that is Hermitian in time, of which the first half is given; real."""
    return _out(_real_inverse(conj(_prepared(input, True)), _one(n), dim, norm, True, "hfft"), out)


def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None) -> Tensor:
    """The inverse of ``hfft``."""
    return _out(conj(_real_forward(input, _one(n), dim, norm, False, "ihfft")), out)


def hfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None) -> Tensor:
    """``hfft`` over the last of ``dim``, ``fft`` over the others."""
    return _out(_real_inverse(conj(_prepared(input, True)), s, dim, norm, True, "hfftn"), out)


def ihfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None) -> Tensor:
    """The inverse of ``hfftn``."""
    return _out(conj(_real_forward(input, s, dim, norm, False, "ihfftn")), out)


def hfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Any = None) -> Tensor:
    """``hfftn`` over the last two dimensions."""
    return hfftn(input, s, dim, norm, out=out)


def ihfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Any = None) -> Tensor:
    """``ihfftn`` over the last two dimensions."""
    return ihfftn(input, s, dim, norm, out=out)


def _frequencies(raw: np.ndarray, dtype: Any, device: Any, requires_grad: bool, out: Any) -> Tensor:
    return _out(placed(raw.astype(resolve_dtype(dtype)), device, requires_grad), out)


def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies of ``fft``'s results, in cycles per unit of the sample spacing ``d``."""
    return _frequencies(np.fft.fftfreq(n, d), dtype, device, requires_grad, out)


def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies of ``rfft``'s results."""
    return _frequencies(np.fft.rfftfreq(n, d), dtype, device, requires_grad, out)


def _shift(input: Tensor, dim: Any, inverse: bool) -> Tensor:
    ndim = len(input._data.shape)
    dims = list(range(ndim)) if dim is None else [wrap_dim(d, ndim) for d in ((dim,) if isinstance(dim, int) else dim)]
    halves = [input._data.shape[d] // 2 for d in dims]
    if inverse:
        halves = [(input._data.shape[d] + 1) // 2 for d in dims]
    return roll(input, halves, dims) if dims else input


def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The zero frequency moved to the middle."""
    return _shift(input, dim, False)


def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The inverse of ``fftshift``."""
    return _shift(input, dim, True)
