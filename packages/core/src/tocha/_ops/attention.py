"""Scaled dot-product attention (https://arxiv.org/abs/1706.03762) as one operator.

On NumPy it goes through the scores in tiles that stay in the processor's cache, each one product of matrices, an
exponential and another product. Tiles of causal attention end at the diagonal. The softmax is not normalised: the
result is, which is smaller. Small score matrices are kept for the gradient, large ones are computed again.
"""

from __future__ import annotations

import contextvars
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._core.broadcast import broadcast_shapes, operators, reduce_to, same_shape
from .._core.families import operator
from .._core.templates import scalar_type_name
from .._core.tensor import Tensor
from .activation import NUMPY, f32
from .constants import zeros_as
from .contraction import matmul_op, swap_last
from .dims import product
from .softmax import SAFE, softmax_op
from .ternary import where_op

ndarray = np.ndarray
_TILE = 1 << 18  # numbers in a tile
_KEEP = 1 << 22  # up to how many scores are kept for the gradient
_ROWS = 64  # rows of a tile of causal attention

# ---------------------------------------------------------------- tiles, on NumPy


def _tiles(q: ndarray, length: int, causal: bool) -> Iterator[tuple[slice, slice, int]]:
    """For each tile: a slice of the first dimension, one of the queries, and how many keys they see."""
    batch, rows = q.shape[0], q.shape[-2]
    each = max(1, product(q.shape[1:-2]) * length)
    if causal:
        high = min(rows, _ROWS)
    else:
        high = rows if each * rows <= _TILE else max(16, _TILE // each)
    wide = max(1, _TILE // (each * max(high, 1)))
    for b in range(0, batch, wide):
        for r in range(0, rows, high):
            last = min(r + high, rows)
            yield slice(b, b + wide), slice(r, last), min(last, length) if causal else length


def _part(extra: Any, b: slice, r: slice, stop: int) -> Any:
    """The part of a mask, broadcastable to the scores, that belongs to a tile."""
    if extra.ndim > 2 and extra.shape[0] != 1:
        extra = extra[b]
    if extra.shape[-2] != 1:
        extra = extra[..., r, :]
    return extra[..., :stop] if extra.shape[-1] != 1 else extra


def _exponentials(
    q: ndarray, k: ndarray, mask: Any, b: slice, r: slice, stop: int, causal: bool
) -> tuple[ndarray, ndarray]:
    """The exponentials of a tile's scores, and their sums (…, 1); ``q`` is scaled."""
    keys = k[b, ..., :stop, :].swapaxes(-1, -2)
    s = np.matmul(q[b, ..., r, :], keys)
    part = None if mask is None else _part(mask, b, r, stop)
    below = np.tri(s.shape[-2], stop - r.start, dtype=s.dtype) if causal and stop > r.start else None
    ones = np.ones(stop, s.dtype)
    if part is not None and part.dtype.kind != "b":
        s += part
    if s.max() < SAFE:
        np.exp(s, out=s)
        if below is not None:
            s[..., r.start : stop] *= below
        if part is not None and part.dtype.kind == "b":
            s *= part
        total = np.matmul(s, ones)[..., None]
        if total.min() > 1e-20:
            return s, total
        s = np.matmul(q[b, ..., r, :], keys)
        if part is not None and part.dtype.kind != "b":
            s += part
    if below is not None:
        s[..., r.start : stop][..., below == 0] = -np.inf
    if part is not None and part.dtype.kind == "b":
        s = np.where(part, s, s.dtype.type(-np.inf))
    m = s.max(-1, keepdims=True)
    m[m == -np.inf] = 0  # rows that see nothing: sums of 0
    s -= m
    np.exp(s, out=s)
    return s, np.matmul(s, ones)[..., None]


def _scaled(q: ndarray, scale: float) -> ndarray:
    return q * q.dtype.type(scale)


def _inverse(total: ndarray) -> ndarray:
    """1 / total, and 0 for rows that see nothing."""
    return np.divide(1, total, out=np.zeros_like(total), where=total != 0)


def _forward(q: ndarray, k: ndarray, v: ndarray, mask: Any, drop: Any, causal: bool, scale: float) -> tuple:
    if q.ndim == 2:
        one_batch: Any = [None if a is None else a[None] for a in (q, k, v, mask, drop)]
        y, *kept = _forward(*(*one_batch, causal, scale))
        return y[0], *kept
    shape = (*q.shape[:-1], v.shape[-1])
    # PyTorch's layout: that of the queries, so that heads can be joined without a copy
    y = np.empty_like(q) if v.shape[-1] == q.shape[-1] else np.empty(shape, q.dtype)
    length = k.shape[-2]
    if not length or not y.size:
        y[...] = 0
        return y, None, None
    inverse = np.empty((*q.shape[:-1], 1), q.dtype)
    tiles: Any = [] if product(q.shape[:-1]) * length <= _KEEP else None
    q = _scaled(q, scale)
    for b, r, stop in _tiles(q, length, causal):
        s, total = _exponentials(q, k, mask, b, r, stop, causal)
        inverse[b, ..., r, :] = _inverse(total)
        if tiles is not None:
            tiles.append(s)
        if drop is not None:
            s = s * _part(drop, b, r, stop)
        out = y[b, ..., r, :]
        np.matmul(s, v[b, ..., :stop, :], out=out)
        out *= inverse[b, ..., r, :]
    return y, tiles, inverse


def _attention_kernel(xp: Any, q: Any, k: Any, v: Any, mask: Any, drop: Any, causal: bool, scale: float) -> tuple:
    if q.dtype.itemsize == 2:
        wide: Any = [None if a is None or a.dtype.kind == "b" else a.astype(f32) for a in (q, k, v, mask, drop)]
        if mask is not None and mask.dtype.kind == "b":
            wide[3] = mask
        return _attention_kernel(xp, *(*wide, causal, scale))[0].astype(q.dtype), None, None
    if xp is np:
        return _forward(q, k, v, mask, drop, causal, scale)
    if not k.shape[-2]:
        return xp.zeros((*q.shape[:-1], v.shape[-1]), q.dtype), None, None
    s = xp.matmul(q * scale, k.swapaxes(-1, -2))
    if causal or (mask is not None and mask.dtype.kind == "b"):
        s += _bias_kernel(xp, q, k, mask, causal)
    elif mask is not None:
        s += mask
    m = s.max(-1, keepdims=True)
    s -= xp.where(m == -np.inf, xp.zeros_like(m), m)
    s = xp.exp(s)
    total = s.sum(-1, keepdims=True)
    s /= xp.where(total == 0, xp.ones_like(total), total)
    return xp.matmul(s if drop is None else s * drop, v), None, None


# ---------------------------------------------------------------- gradient


def _bias_kernel(xp: Any, q: Any, k: Any, mask: Any, causal: bool) -> Any:
    if causal:
        mask = xp.tri(q.shape[-2], k.shape[-2], dtype=bool)
    return xp.where(mask, q.dtype.type(0), q.dtype.type(-np.inf))


attention_bias = operator(
    "attention_bias",
    _bias_kernel,
    None,
    lambda q, k, mask, causal: ((q.shape[-2], k.shape[-2]) if causal else mask.shape, q.dtype),
    arity=3,
)
attention_bias.__doc__ = (
    "What is added to scores so that hidden ones become minus infinity: (L, S) if causal, else of the mask's shape."
)


def _as_float32(t: Any) -> Any:
    return t if t is None or _dtype(t).itemsize != 2 else operators["cast"](t, f32)


def _sees_anything(mask: Any) -> Any:
    """Which rows of a mask see anything, (…, L, 1)."""
    seen = mask if _dtype(mask).kind == "b" else mask > -math.inf
    return operators["sum"](seen, (len(mask.shape) - 1,), True) > 0


def _dtype(t: Any) -> Any:
    return (t._data if isinstance(t, Tensor) else t).dtype


def _attention_rule(n: Any, g: Any) -> tuple:
    half = _dtype(g)
    if half.itemsize != 2:
        return _through_softmax(n, n.saved, g)
    grads = _through_softmax(n, tuple([_as_float32(t) for t in n.saved]), _as_float32(g))
    return tuple([None if t is None else operators["cast"](t, half) for t in grads])


def probabilities(q: Any, k: Any, mask: Any, causal: bool, scale: float) -> Any:
    """``softmax(q k^T scale + bias)``, with rows of 0 for queries that see nothing."""
    s = matmul_op(q * scale, swap_last(k))
    if causal or (mask is not None and _dtype(mask).kind == "b"):
        s = s + attention_bias(q, k, mask, causal)
    elif mask is not None:
        s = s + mask
    last = len(s.shape) - 1
    if mask is None:
        return softmax_op(s, last)
    # a softmax of minus infinities alone would be NaN
    seeing, nothing = _sees_anything(mask), zeros_as(s)
    return where_op(seeing, softmax_op(where_op(seeing, s, nothing), last), nothing)


def _through_softmax(n: Any, saved: tuple, g: Any) -> tuple:
    """The gradient through the probabilities."""
    q, k, v, mask, drop, _ = saved
    causal, scale = n.attrs
    p = probabilities(q, k, mask, causal, scale)
    eq, ek, ev, em, _ = n.edges
    gv = gq = gk = gm = None
    if ev is not None:
        gv = matmul_op(swap_last(p if drop is None else p * drop), g)
    if eq is not None or ek is not None or em is not None:
        gp = matmul_op(g, swap_last(v))
        if drop is not None:
            gp = gp * drop
        gs = p * (gp - operators["sum"](gp * p, (len(p.shape) - 1,), True))
        gq = None if eq is None else matmul_op(gs, k) * scale
        gk = None if ek is None else matmul_op(swap_last(gs), q) * scale
        gm = None if em is None else reduce_to(gs, mask.shape)
    return gq, gk, gv, gm, None


def _attention_backward(n: Any, g: Any) -> tuple:
    q, k, v, mask, drop, y = n.saved
    causal, scale = n.attrs
    if type(g) not in NUMPY or q.dtype.itemsize == 2 or q.ndim == 2 or not k.shape[-2] or not y.size:
        return _attention_rule(n, g)
    tiles: Any
    inverse: Any
    tiles, inverse = n.aux if n.aux is not None else (None, None)
    eq, ek, ev, em, _ = n.edges
    scaled = _scaled(q, scale)
    length = k.shape[-2]
    gq, gk, gv = np.empty_like(q), np.zeros_like(k), np.zeros_like(v)
    gs = np.zeros((*q.shape[:-1], length), q.dtype) if em is not None else None
    for i, (b, r, stop) in enumerate(_tiles(q, length, causal)):
        if tiles is not None:
            p = tiles[i]
            share = inverse[b, ..., r, :]
        else:
            p, total = _exponentials(scaled, k, mask, b, r, stop, causal)
            share = _inverse(total)
        gr = g[b, ..., r, :] * share
        part = None if drop is None else _part(drop, b, r, stop)
        if ev is not None:
            gv[b, ..., :stop, :] += np.matmul((p if part is None else p * part).swapaxes(-1, -2), gr)
        gp = np.matmul(gr, v[b, ..., :stop, :].swapaxes(-1, -2))
        if part is not None:
            gp *= part
        gp -= np.einsum("...i,...i->...", gr, y[b, ..., r, :])[..., None]
        gp *= p
        np.matmul(gp, k[b, ..., :stop, :], out=gq[b, ..., r, :])
        if ek is not None:
            gk[b, ..., :stop, :] += np.matmul(gp.swapaxes(-1, -2), scaled[b, ..., r, :])
        if gs is not None:
            gs[b, ..., r, :stop] = gp
    gq *= q.dtype.type(scale)
    gm = None if gs is None else reduce_to(gs, mask.shape)
    return gq if eq is not None else None, gk if ek is not None else None, gv if ev is not None else None, gm, None


attention_op = operator(
    "scaled_dot_product_attention",
    _attention_kernel,
    _attention_rule,
    lambda q, k, v, mask, drop, causal, scale: [((*q.shape[:-1], v.shape[-1]), q.dtype)],
    arity=5,
    save=(0, 1, 2, 3, 4, "y"),
    aux=2,
)
attention_op.op.backward = _attention_backward  # type: ignore[attr-defined]

# ---------------------------------------------------------------- public


def _name(t: Tensor) -> str:
    names = {
        "Long": "long int",
        "Short": "short",
        "Byte": "unsigned char",
        "Char": "signed char",
        "Half": "c10::Half",
        "BFloat16": "c10::BFloat16",
    }
    name = scalar_type_name(t._data.dtype)
    return names.get(name, name.lower())


def check_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, is_causal: bool) -> None:
    """Refuse what PyTorch refuses, in its words."""
    for position, (argument, t) in enumerate((("query", query), ("key", key), ("value", value)), 1):
        if not isinstance(t, Tensor):
            raise TypeError(
                f"scaled_dot_product_attention(): argument '{argument}' (position {position}) must be Tensor, not "
                f"{type(t).__name__}"
            )
    q, k, v = query._data, key._data, value._data
    if q.dtype != k.dtype or q.dtype != v.dtype:
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {_name(query)} key.dtype: "
            f"{_name(key)} and value.dtype: {_name(value)} instead."
        )
    if min(len(q.shape), len(k.shape), len(v.shape)) < 2:
        raise RuntimeError(
            f"Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: {len(q.shape)} "
            f"key.dim: {len(k.shape)} and value.dim: {len(v.shape)} instead."
        )
    if attn_mask is not None:
        if is_causal:
            raise RuntimeError(
                "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
            )
        m = attn_mask._data.dtype
        if m.kind != "b" and m != q.dtype and m != f32:
            raise RuntimeError(
                "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
                f"{_name(attn_mask)} and  query.dtype: {_name(query)} instead."
            )
    if q.dtype.kind not in "fV":
        raise RuntimeError(f"expected scalar type Float but found {scalar_type_name(q.dtype)}")
    if not k.shape[-1] == q.shape[-1] or not v.shape[-2] == k.shape[-2]:
        a, b = (
            ((*q.shape[-2:],), (k.shape[-1], k.shape[-2]))
            if not k.shape[-1] == q.shape[-1]
            else ((q.shape[-2], k.shape[-2]), (*v.shape[-2:],))
        )
        lead = product(q.shape[:-2])
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{lead}, {a[1]}] but got: [{lead}, "
            f"{b[0]}]."
        )


def _repeat_heads(t: Any, heads: Any) -> Any:
    """Each head of keys or values (…, H, S, E) for several heads of queries next to each other."""
    shape = t._data.shape
    if shape[-3] == heads:
        return t
    if heads % shape[-3] != 0:
        raise RuntimeError("Number of heads in key and value must divide the number of heads in query")
    times = heads // shape[-3]
    wide = operators["expand"](t.unsqueeze(-3), (*shape[:-2], times, *shape[-2:]))
    return operators["view"](wide, (*shape[:-3], heads, *shape[-2:]))


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """``softmax(query @ key.T * scale + mask) @ value``.

    Args:
        query: (…, L, E); key: (…, S, E); value: (…, S, Ev), with leading dimensions that broadcast; the result is (…,
            L, Ev).
        attn_mask: broadcastable to (…, L, S): boolean (True: take part) or numbers to add to the scores.
        dropout_p: chance that a weight is dropped; there is no training mode, pass 0 in evaluation.
        is_causal: position i of the queries sees keys up to i.
        scale: default ``1 / sqrt(E)``.
        enable_gqa: keys and values may have fewer heads (dimension -3), each for a group of heads of queries.

    Raises:
        RuntimeError: dtypes or shapes do not fit, or both ``attn_mask`` and ``is_causal`` are given.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.scaled_dot_product_attention.html

    Example:
        >>> import tocha
        >>> x = tocha.ones(1, 4, 3, 8)
        >>> tocha.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True).shape
        tocha.Size([1, 4, 3, 8])
    """
    check_attention(query, key, value, attn_mask, is_causal)
    if enable_gqa:
        if min(query.ndim, key.ndim, value.ndim) < 3:
            raise IndexError("Dimension out of range (expected to be in range of [-2, 1], but got -3)")
        heads = query._data.shape[-3]
        key, value = _repeat_heads(key, heads), _repeat_heads(value, heads)
    q, k, v = query._data.shape, key._data.shape, value._data.shape
    batch = q[:-2]
    if not (same_shape(batch, k[:-2]) and same_shape(batch, v[:-2])):
        batch = broadcast_shapes(batch, k[:-2], v[:-2])
        query, key, value = [_with_batch(t, batch) for t in (query, key, value)]
    scores = (*batch, q[-2], k[-2])
    if attn_mask is not None:
        broadcast_shapes(scores, attn_mask._data.shape)
        if attn_mask._data.dtype.kind != "b" and attn_mask._data.dtype != query._data.dtype:
            attn_mask = operators["cast"](attn_mask, query._data.dtype)
        attn_mask = _at_least_2d(attn_mask, len(scores))
    drop = None
    if dropout_p:
        from .creation import ones
        from .dropout import dropout

        drop = dropout(ones(scores, dtype=query.dtype, device=query.device), dropout_p, True)
    if scale is None:
        scale = 1 / math.sqrt(q[-1]) if q[-1] else math.inf
    allowed = backends.get()
    run = attention_op if allowed is None else _chosen(allowed, query.device.type)
    return run(query, key, value, attn_mask, drop, is_causal, float(scale))


# ---------------------------------------------------------------- which implementation

# None, or the names of the backends that sdpa_kernel allows
backends: contextvars.ContextVar[frozenset[str] | None] = contextvars.ContextVar("attention backends", default=None)
_FUSED = {"cpu": {"FLASH_ATTENTION"}, "cuda": {"FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION"}}


def _chosen(allowed: frozenset[str], device_type: str) -> Any:
    if allowed & _FUSED.get(device_type, _FUSED["cuda"]):
        return attention_op
    if "MATH" in allowed:
        return by_products
    raise RuntimeError(
        "No viable backend for scaled_dot_product_attention was found. This is likely due to turning off both the math "
        "kernel and the fused kernels."
    )


def by_products(query: Any, key: Any, value: Any, mask: Any, drop: Any, causal: bool, scale: float) -> Any:
    """The decomposition of the operator: each step an operator of its own."""
    half = query._data.dtype
    q, k, v, mask, drop = [
        t if t is None or _dtype(t).kind == "b" else _as_float32(t) for t in (query, key, value, mask, drop)
    ]
    p = probabilities(q, k, mask, causal, scale)
    result = matmul_op(p if drop is None else p * drop, v)
    return result if half.itemsize != 2 else operators["cast"](result, half)


def _with_batch(t: Tensor, batch: tuple) -> Tensor:
    shape = t._data.shape
    return t if same_shape(shape[:-2], batch) else operators["expand"](t, (*batch, *shape[-2:]))


def _at_least_2d(mask: Any, ndim: int) -> Any:
    """A mask as many-dimensional as the scores, so that parts of it can be cut out."""
    shape = mask._data.shape
    return mask if len(shape) == ndim else operators["view"](mask, (*[1] * (ndim - len(shape)), *shape))
