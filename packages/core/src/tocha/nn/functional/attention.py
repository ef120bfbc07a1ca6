"""Attention: of one head over given projections, and of several heads with them."""

from __future__ import annotations

import math
import warnings
from typing import Any

import tocha
from tocha._core.broadcast import same_shape
from tocha._core.tensor import Tensor
from tocha._ops.attention import scaled_dot_product_attention
from tocha._ops.contraction import linear
from tocha._ops.softmax import softmax

from .dropout import dropout

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]


def check_mask(mask: Any, name: str, other: Any = None, other_name: str = "") -> None:
    """Refuse a mask that is neither boolean nor floating; warn where two masks are of different types."""
    if mask is None:
        return
    if mask._data.dtype.kind not in "bfV":
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if other is not None and mask._data.dtype != other._data.dtype:
        warnings.warn(
            f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=4,
        )


def _hides(mask: Any, dtype: Any) -> Any:
    """A mask as numbers to add to scores: minus infinity where a boolean one is True."""
    if mask is None or mask._data.dtype.kind != "b":
        return mask
    return tocha.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(mask, -math.inf)


def _check_shapes(query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Any, attn_mask: Any, heads: int) -> bool:
    """PyTorch's checks of dimensions; returns whether the input is batched."""
    ndim = query.ndim
    if ndim not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {ndim}-D query tensor")
    kind = "batched (3-D)" if ndim == 3 else "unbatched (2-D)"
    if key.ndim != ndim or value.ndim != ndim:
        raise AssertionError(
            f"For {kind} `query`, expected `key` and `value` to be {ndim}-D but found {key.ndim}-D and {value.ndim}-D "
            "tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.ndim != ndim - 1:
        raise AssertionError(
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {ndim - 1}-D but found "
            f"{key_padding_mask.ndim}-D tensor instead"
        )
    if attn_mask is not None:
        if attn_mask.ndim not in (2, 3):
            raise AssertionError(
                f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.ndim}-D "
                "tensor instead"
            )
        if ndim == 2 and attn_mask.ndim == 3:
            expected = (heads, query._data.shape[0], key._data.shape[0])
            if tuple(attn_mask._data.shape) != expected:
                raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}")
    return ndim == 3


def _project(query: Any, key: Any, value: Any, weight: Any, bias: Any, separate: Any) -> tuple:
    """Queries, keys and values through their projections; for self-attention in one product."""
    size = query._data.shape[-1]
    if separate is None:
        if key is value and query is key:
            joint = linear(query, weight, bias)
            return tuple([joint[..., i * size : (i + 1) * size] for i in range(3)])
        weights = [weight[i * size : (i + 1) * size] for i in range(3)]
    else:
        weights = separate
        for name, w, x in zip(("query", "key", "value"), weights, (query, key, value)):
            expected = (size, x._data.shape[-1])
            if tuple(w._data.shape) != expected:
                raise AssertionError(f"expecting {name} weights shape of {expected}, but got {w.shape}")
    biases = [None] * 3 if bias is None else [bias[i * size : (i + 1) * size] for i in range(3)]
    return tuple([linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases)])


class _Masks:
    """The two masks of multi-head attention on their way to one mask of scores (N, heads, L, S)."""

    def __init__(self, attn_mask: Any, padding: Any, batch: Any, heads: int, rows: Any, length: Any) -> None:
        self.batch, self.heads = batch, heads
        self.scores, self.padding = attn_mask, padding
        if attn_mask is not None:
            expected = (rows, length) if attn_mask.ndim == 2 else (batch * heads, rows, length)
            if not same_shape(attn_mask._data.shape, expected):
                raise RuntimeError(
                    f"The shape of the {attn_mask.ndim}D attn_mask is {attn_mask.shape}, but should be "
                    f"{tuple(expected)}."
                )

    def see_one_more(self) -> None:
        """One more key that every query sees."""
        for name in ("scores", "padding"):
            mask = getattr(self, name)
            if mask is not None:
                seen = tocha.zeros((*mask.shape[:-1], 1), dtype=mask.dtype, device=mask.device)
                setattr(self, name, tocha.cat((mask, seen), -1))

    def merged(self, length: Any, dtype: Any) -> Any:
        """Numbers to add to the scores, or booleans of what takes part where both masks are boolean."""
        scores, padding = self.scores, self.padding
        if padding is not None:
            for i, expected in enumerate((self.batch, length)):
                if not padding._data.shape[i] == expected:
                    raise AssertionError(
                        f"Expected key_padded_mask.shape[{i}] to be {expected}, but got {padding._data.shape[i]}"
                    )
            padding = padding.view(self.batch, 1, 1, length)
        if scores is not None and scores.ndim == 3:
            scores = scores.view(self.batch, self.heads, *scores.shape[1:])
        present = [m for m in (scores, padding) if m is not None]
        if not present:
            return None
        if all([m._data.dtype.kind == "b" for m in present]):
            hidden = present[0] if len(present) == 1 else present[0] | present[1]
            return ~hidden
        numbers = [_hides(m, dtype) for m in present]
        return numbers[0] if len(numbers) == 1 else numbers[0] + numbers[1]


def attend(
    query: Any, key: Any, value: Any, heads: int, weights: tuple, extra: tuple, dropout_p: float, attn_mask: Any,
    key_padding_mask: Any, need_weights: bool, average: bool, is_causal: bool, batch_first: bool,
    static: tuple, training: bool,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """Multi-head attention of batched tensors, (L, N, E), or (N, L, E) where ``batch_first``.

    Args:
        weights: the joint projection or None, its bias or None, the three separate ones or None, that of the output,
            its bias.
        extra: ``bias_k``, ``bias_v``, ``add_zero_attn``.
        static: keys and values (N * heads, S, E / heads) to use instead of the projected ones.
        training: give the output PyTorch's order in memory, (L, N, E): a dropout that follows draws in that order.
    """
    joint, bias, separate, out_weight, out_bias = weights
    time, at = (1, 0) if batch_first else (0, 1)
    shape = query._data.shape
    rows, batch, size = shape[time], shape[at], shape[2]
    masks = _Masks(attn_mask, key_padding_mask, batch, heads, rows, key._data.shape[time])
    q, k, v = _project(query, key, value, joint, bias, separate)
    bias_k, bias_v, add_zero = extra
    if bias_k is not None and bias_v is not None:
        if static[0] is not None or static[1] is not None:
            raise AssertionError("bias cannot be added to static " + ("key." if static[0] is not None else "value."))
        one_more = (batch, 1, size) if batch_first else (1, batch, size)
        k, v = tocha.cat((k, bias_k.expand(one_more)), time), tocha.cat((v, bias_v.expand(one_more)), time)
        masks.see_one_more()
    elif bias_k is not None or bias_v is not None:
        names = ("k", "v") if bias_v is None else ("v", "k")
        raise AssertionError(f"bias_{names[0]} is set but bias_{names[1]} is None")
    head = size // heads

    def by_head(t: Any, fixed: Any, name: str) -> Any:
        if fixed is None:
            a, b = t._data.shape[:2]
            return t.view(a, b, heads, head).permute(*((0, 2, 1, 3) if batch_first else (1, 2, 0, 3)))
        for dim, expected in ((0, batch * heads), (2, head)):
            if not fixed._data.shape[dim] == expected:
                raise AssertionError(
                    f"expecting static_{name}.size({dim}) of {expected}, but got {fixed._data.shape[dim]}"
                )
        return fixed.view(batch, heads, fixed._data.shape[1], head)

    q, k, v = by_head(q, None, "q"), by_head(k, static[0], "k"), by_head(v, static[1], "v")
    if add_zero:
        nothing = tocha.zeros((batch, heads, 1, head), dtype=k.dtype, device=k.device)
        k, v = tocha.cat((k, nothing), 2), tocha.cat((v, nothing), 2)
        masks.see_one_more()
    mask = masks.merged(k._data.shape[2], query.dtype)
    seen: Any = None
    if need_weights:
        scores = q * math.sqrt(1.0 / head) @ k.transpose(-2, -1)
        if mask is not None:
            scores = scores + (_hides(~mask, query.dtype) if mask._data.dtype.kind == "b" else mask)
        seen = softmax(scores, -1)
        if dropout_p > 0.0:
            seen = dropout(seen, dropout_p)
        result = seen @ v
        if average:
            seen = seen.mean(1)
    else:
        result = scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
    if batch_first and not training:
        return linear(result.transpose(1, 2).reshape(shape), out_weight, out_bias), seen
    joined = linear(result.permute(2, 0, 1, 3).reshape(rows, batch, size), out_weight, out_bias)
    return joined.transpose(0, 1) if batch_first else joined, seen


def multi_head_attention_forward(
    query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float,
    out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: bool = True,
    key_padding_mask: Tensor | None = None, need_weights: bool = True, attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False, q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None, static_k: Tensor | None = None, static_v: Tensor | None = None,
    average_attn_weights: bool = True, is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """Attention with several heads: project, attend, project back. ``tocha.nn.MultiheadAttention`` is its layer.

    Args:
        query, key, value: (L, N, E), (S, N, Ek), (S, N, Ev), or without the N.
        in_proj_weight, in_proj_bias: the joint projection (3E, E) and its bias (3E).
        q_proj_weight, k_proj_weight, v_proj_weight: the projections where ``use_separate_proj_weight``.
        bias_k, bias_v: (1, 1, E), one more key and value.
        add_zero_attn: one more key and value of zeros.
        key_padding_mask: (N, S), True or minus infinity for keys that are hidden.
        attn_mask: (L, S) or (N * num_heads, L, S), True or minus infinity for pairs that are hidden.
        static_k, static_v: (N * num_heads, S, E / num_heads), keys and values that are used as they are.
        need_weights: return the attention weights, averaged over heads where ``average_attn_weights``.
        is_causal: a hint that ``attn_mask`` is causal.

    Returns:
        The output (L, N, E), and the weights (N, L, S), (N, num_heads, L, S) or None.

    Raises:
        AssertionError, RuntimeError: shapes or arguments that do not fit.
    """
    batched = _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    check_mask(key_padding_mask, "key_padding_mask", attn_mask, "attn_mask")
    check_mask(attn_mask, "attn_mask")
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    return _forward(
        query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, (bias_k, bias_v, add_zero_attn),
        dropout_p if training else 0.0, out_proj_weight, out_proj_bias, key_padding_mask, need_weights, attn_mask,
        (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None, (static_k, static_v),
        average_attn_weights, is_causal, batched, False, training,
    )  # fmt: skip


def _forward(
    query: Any, key: Any, value: Any, embed_dim: int, heads: int, joint: Any, bias: Any, extra: tuple, dropout_p: float,
    out_weight: Any, out_bias: Any, key_padding_mask: Any, need_weights: bool, attn_mask: Any, separate: Any,
    static: tuple, average: bool, is_causal: bool, batched: bool, batch_first: bool, training: bool,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """What the function and the layer share, after their checks of dimensions."""
    if not batched:
        batch_first = False
        same_kv, same_qk = key is value, query is key
        query = query.unsqueeze(1)
        key = query if same_qk else key.unsqueeze(1)
        value = key if same_kv else value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None  # the hint says it all
    else:
        is_causal = False
    size = query._data.shape[-1]
    if not size == embed_dim:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim}, but got {size}")
    if size // heads * heads != size:
        raise AssertionError(f"embed_dim {size} not divisible by num_heads {heads}")
    k, v = key._data.shape, value._data.shape
    if separate is None and not same_shape(k, v):
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
    if separate is not None and not same_shape(k[:2], v[:2]):
        raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
    if separate is None and joint is None:
        raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
    for name, w in zip("qkv", separate or ()):
        if w is None:
            raise AssertionError(f"use_separate_proj_weight is True but {name}_proj_weight is None")
    output, seen = attend(
        query, key, value, heads, (joint, bias, separate, out_weight, out_bias), extra, dropout_p, attn_mask,
        key_padding_mask, need_weights, average, is_causal, batch_first, static, training,
    )  # fmt: skip
    if not batched:
        output = output.squeeze(1)
        seen = None if seen is None else seen.squeeze(0)
    return output, seen


def layer_forward(
    layer: Any,
    query: Any,
    key: Any,
    value: Any,
    key_padding_mask: Any,
    need_weights: bool,
    attn_mask: Any,
    average: bool,
    is_causal: bool,
) -> tuple:
    """The forward pass of ``MultiheadAttention``."""
    batched = _check_shapes(query, key, value, key_padding_mask, attn_mask, layer.num_heads)
    check_mask(key_padding_mask, "key_padding_mask", attn_mask, "attn_mask")
    check_mask(attn_mask, "attn_mask")
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    separate = None if layer._qkv_same_embed_dim else (layer.q_proj_weight, layer.k_proj_weight, layer.v_proj_weight)
    return _forward(
        query, key, value, layer.embed_dim, layer.num_heads, layer.in_proj_weight, layer.in_proj_bias,
        (layer.bias_k, layer.bias_v, layer.add_zero_attn), layer.dropout if layer.training else 0.0,
        layer.out_proj.weight, layer.out_proj.bias, key_padding_mask, need_weights, attn_mask, separate, (None, None),
        average, is_causal, batched, layer.batch_first, layer.training,
    )  # fmt: skip
