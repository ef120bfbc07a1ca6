"""Attention layers."""

from __future__ import annotations

from typing import Any

import tocha
from tocha._core.tensor import Tensor
from tocha.nn import init
from tocha.nn.functional.attention import layer_forward
from tocha.nn.parameter import Parameter

from .linear import NonDynamicallyQuantizableLinear
from .module import Module

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Attention with several heads (https://arxiv.org/abs/1706.03762): project, attend, project back.

    Args:
        embed_dim: E, the size of queries and outputs, divided among the heads.
        num_heads: how many heads.
        dropout: chance that an attention weight is dropped while training.
        bias: learn biases of the projections.
        add_bias_kv: learn one more key and value.
        add_zero_attn: one more key and value of zeros.
        kdim, vdim: sizes of keys and values (default: E).
        batch_first: inputs and output are (N, L, E) and not (L, N, E).

    The projections' weights are drawn by ``xavier_uniform_``, their biases start as 0.

    Raises:
        ValueError, AssertionError: sizes that do not fit.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.MultiheadAttention.html

    >>> import tocha
    >>> layer = tocha.nn.MultiheadAttention(8, 2, batch_first=True)
    >>> x = tocha.randn(4, 5, 8)
    >>> output, weights = layer(x, x, x)
    >>> output.shape, weights.shape
    (tocha.Size([4, 5, 8]), tocha.Size([4, 5, 5]))
    """

    in_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, add_bias_kv: bool = False,
        add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} "
                "instead"
            )
        super().__init__()
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")

        def parameter(*size: int) -> Parameter:
            return Parameter(tocha.empty(size, device=device, dtype=dtype))

        names = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
        if self._qkv_same_embed_dim:
            self.in_proj_weight = parameter(3 * embed_dim, embed_dim)
            for name in names:
                self.register_parameter(name, None)
        else:
            for name, size in zip(names, (embed_dim, self.kdim, self.vdim)):
                setattr(self, name, parameter(embed_dim, size))
            self.register_parameter("in_proj_weight", None)
        self.register_parameter("in_proj_bias", parameter(3 * embed_dim) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        if add_bias_kv:
            self.bias_k, self.bias_v = parameter(1, 1, embed_dim), parameter(1, 1, embed_dim)
        else:
            self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)  # type: ignore[arg-type]
        else:
            for weight in (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)  # type: ignore[arg-type]
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None,
        need_weights: bool = True, attn_mask: Tensor | None = None, average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        """Attend; see ``functional.multi_head_attention_forward`` for masks and weights.

        Without ``need_weights`` the fast ``scaled_dot_product_attention`` is used.
        """
        return layer_forward(
            self, query, key, value, key_padding_mask, need_weights, attn_mask, average_attn_weights, is_causal
        )
