"""The transformer of https://arxiv.org/abs/1706.03762 and its parts."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import tocha
from tocha._core.record import ABSTRACT
from tocha._core.tensor import Tensor
from tocha.nn import functional as F
from tocha.nn import init
from tocha.nn.functional.attention import check_mask

from .activation import GELU, ReLU
from .attention import MultiheadAttention
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]

Activation = str | Callable[[Tensor], Tensor]


def _activation(activation: Activation) -> Callable[[Tensor], Tensor]:
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return F.relu if activation == "relu" else F.gelu


def _causal_mask(size: int, device: Any = None, dtype: Any = None) -> Tensor:
    return tocha.full((size, size), -math.inf, dtype=dtype or tocha.get_default_dtype(), device=device).triu(1)


def _is_causal(mask: Tensor | None, is_causal: bool | None, x: Tensor, batch_first: bool) -> bool:
    """Whether ``mask`` is the causal one: as the caller says, or by comparison where he says nothing."""
    if is_causal is not None or mask is None:
        return is_causal is True
    if type(mask._data) in ABSTRACT or mask._data.dtype.kind == "b":
        return False
    size = x._data.shape[0] if x.ndim == 2 else x._data.shape[1 if batch_first else 0]
    if tuple(mask._data.shape) != (size, size):
        return False
    return bool((mask == _causal_mask(size, mask.device, mask.dtype)).all())


class _Layer(Module):
    """What the encoder's and the decoder's layers share: attention to itself, and the feed-forward block."""

    norm_first: bool

    def _configure(
        self, d_model: int, nhead: int, dim_feedforward: int, dropout: float, activation: Activation, eps: float,
        batch_first: bool, norm_first: bool, bias: bool, attentions: tuple[str, ...], norms: int, factory: dict,
    ) -> None:  # fmt: skip
        for name in attentions:
            setattr(
                self,
                name,
                MultiheadAttention(d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **factory),
            )
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **factory)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **factory)
        self.norm_first = norm_first
        for i in range(1, norms + 1):
            setattr(self, f"norm{i}", LayerNorm(d_model, eps=eps, bias=bias, **factory))
        for i in range(1, norms + 1):
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = _activation(activation)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("activation", F.relu)

    def _attend(
        self, name: str, drop: Any, x: Tensor, memory: Tensor, mask: Any, padding: Any, is_causal: bool
    ) -> Tensor:
        attention = getattr(self, name)
        result, _ = attention(
            x, memory, memory, attn_mask=mask, key_padding_mask=padding, need_weights=False, is_causal=is_causal
        )
        return drop(result)

    def _feed_forward(self, x: Tensor, drop: Any) -> Tensor:
        return drop(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network, each with a residual connection and layer norm.

    Args:
        d_model: the size of a token.
        nhead: how many heads.
        dim_feedforward: the inner size of the feed-forward network.
        dropout: chance of dropout.
        activation: "relu", "gelu" or a function.
        layer_norm_eps: the eps of the layer norms.
        batch_first: input and output are (N, S, E) and not (S, N, E).
        norm_first: layer norm before attention and feed-forward network (https://arxiv.org/abs/2002.04745), not after.
        bias: learn biases.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.TransformerEncoderLayer.html

    >>> import tocha
    >>> layer = tocha.nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16)
    >>> layer(tocha.rand(5, 3, 8)).shape
    tocha.Size([5, 3, 8])
    """

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Activation = F.relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
        norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self._configure(
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias,
            ("self_attn",), 2, {"device": device, "dtype": dtype},
        )  # fmt: skip

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Pass the tokens ``src`` on.

        Args:
            src_mask: (S, S) or (N * nhead, S, S), True or minus infinity for pairs that are hidden.
            src_key_padding_mask: (N, S), True or minus infinity for tokens that are hidden.
            is_causal: a hint that ``src_mask`` is causal.
        """
        check_mask(src_key_padding_mask, "src_key_padding_mask", src_mask, "src_mask")
        check_mask(src_mask, "src_mask")
        x: Any = src
        args = (src_mask, src_key_padding_mask, is_causal)
        if self.norm_first:
            y = self.norm1(x)
            x = x + self._attend("self_attn", self.dropout1, y, y, *args)
            return x + self._feed_forward(self.norm2(x), self.dropout2)
        x = self.norm1(x + self._attend("self_attn", self.dropout1, x, x, *args))
        return self.norm2(x + self._feed_forward(x, self.dropout2))


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's output, and a feed-forward network; arguments as the encoder layer's.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.TransformerDecoderLayer.html

    >>> import tocha
    >>> layer = tocha.nn.TransformerDecoderLayer(d_model=8, nhead=2, dim_feedforward=16)
    >>> layer(tocha.rand(4, 3, 8), tocha.rand(5, 3, 8)).shape
    tocha.Size([4, 3, 8])
    """

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Activation = F.relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
        norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self._configure(
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias,
            ("self_attn", "multihead_attn"), 3, {"device": device, "dtype": dtype},
        )  # fmt: skip

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """Pass the tokens ``tgt`` on, with the encoder's output ``memory``; masks as those of the encoder layer."""
        x: Any = tgt
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        if self.norm_first:
            y = self.norm1(x)
            x = x + self._attend("self_attn", self.dropout1, y, y, *own)
            x = x + self._attend("multihead_attn", self.dropout2, self.norm2(x), memory, *other)
            return x + self._feed_forward(self.norm3(x), self.dropout3)
        x = self.norm1(x + self._attend("self_attn", self.dropout1, x, x, *own))
        x = self.norm2(x + self._attend("multihead_attn", self.dropout2, x, memory, *other))
        return self.norm3(x + self._feed_forward(x, self.dropout3))


def _copies(layer: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(layer) for _ in range(count)])


class TransformerEncoder(Module):
    """A stack of copies of an encoder layer.

    Args:
        encoder_layer: copied ``num_layers`` times, with its weights.
        norm: applied at the end, or None.
        enable_nested_tensor: in evaluation, without recording, the output of tokens that are hidden at the end of
            sequences is 0, as PyTorch's nested tensors leave it.
        mask_check: accepted for PyTorch's sake: masks are always checked.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.TransformerEncoder.html

    >>> import tocha
    >>> layer = tocha.nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16)
    >>> tocha.nn.TransformerEncoder(layer, num_layers=2)(tocha.rand(5, 3, 8)).shape
    tocha.Size([5, 3, 8])
    """

    def __init__(
        self, encoder_layer: Module, num_layers: int, norm: Module | None = None, enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """Pass the tokens ``src`` through the layers.

        Args:
            mask: (S, S) or (N * nhead, S, S), True or minus infinity for pairs that are hidden.
            src_key_padding_mask: (N, S), True or minus infinity for tokens that are hidden.
            is_causal: a hint that ``mask`` is causal; None: found out.
        """
        check_mask(src_key_padding_mask, "src_key_padding_mask", mask, "mask")
        check_mask(mask, "mask")
        causal = _is_causal(mask, is_causal, src, _batch_first(self.layers))
        for layer in self.layers:
            src = layer(src, src_mask=mask, is_causal=causal, src_key_padding_mask=src_key_padding_mask)
        if mask is None and src_key_padding_mask is not None and self._cuts_padding(src):
            hidden: Any = src_key_padding_mask != 0
            if not (hidden[:, :-1] & ~hidden[:, 1:]).any():  # only at the end of sequences
                src = src.masked_fill(hidden.unsqueeze(-1), 0.0)
        return src if self.norm is None else self.norm(src)

    def _cuts_padding(self, x: Tensor) -> bool:
        """Whether PyTorch would compute in evaluation without the hidden tokens, whose output is then 0."""
        first: Any = self.layers[0] if len(self.layers) else None
        if not (self.enable_nested_tensor and isinstance(first, TransformerEncoderLayer) and x.ndim == 3):
            return False
        attention = first.self_attn
        if first.training or first.norm_first or not attention.batch_first or attention.in_proj_bias is None:
            return False
        plain = first.activation in (F.relu, F.gelu) or isinstance(first.activation, (ReLU, GELU))
        if not plain or first.norm1.eps != first.norm2.eps or attention.num_heads % 2:
            return False
        recorded = tocha.is_grad_enabled() and (x.requires_grad or any([p.requires_grad for p in first.parameters()]))
        return not recorded and type(x._data) not in ABSTRACT


def _batch_first(layers: ModuleList) -> bool:
    return layers[0].self_attn.batch_first if len(layers) else False


class TransformerDecoder(Module):
    """A stack of copies of a decoder layer.

    Args:
        decoder_layer: copied ``num_layers`` times, with its weights.
        norm: applied at the end, or None.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.TransformerDecoder.html

    >>> import tocha
    >>> layer = tocha.nn.TransformerDecoderLayer(d_model=8, nhead=2, dim_feedforward=16)
    >>> tocha.nn.TransformerDecoder(layer, num_layers=2)(tocha.rand(4, 3, 8), tocha.rand(5, 3, 8)).shape
    tocha.Size([4, 3, 8])
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """Pass the tokens ``tgt`` through the layers, with the encoder's output ``memory``; masks as those of the
        encoder."""
        causal = _is_causal(tgt_mask, tgt_is_causal, tgt, _batch_first(self.layers))
        for layer in self.layers:
            tgt = layer(
                tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )  # fmt: skip
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """Encoder and decoder.

    Args:
        d_model: the size of a token.
        nhead: how many heads.
        num_encoder_layers, num_decoder_layers: how many layers.
        dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias: see
            ``TransformerEncoderLayer``.
        custom_encoder, custom_decoder: modules to use instead.

    Weights with more than one dimension are drawn by ``xavier_uniform_``.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Transformer.html

    >>> import tocha
    >>> model = tocha.nn.Transformer(8, 2, 1, 1, 16)
    >>> model(tocha.rand(5, 3, 8), tocha.rand(4, 3, 8)).shape
    tocha.Size([4, 3, 8])
    """

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
        dim_feedforward: int = 2048, dropout: float = 0.1, activation: Activation = F.relu, custom_encoder: Any = None,
        custom_decoder: Any = None, layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False,
        bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        args = (
            d_model,
            nhead,
            dim_feedforward,
            dropout,
            activation,
            layer_norm_eps,
            batch_first,
            norm_first,
            bias,
            device,
            dtype,
        )

        def norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)

        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            self.encoder = TransformerEncoder(TransformerEncoderLayer(*args), num_encoder_layers, norm())
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            self.decoder = TransformerDecoder(TransformerDecoderLayer(*args), num_decoder_layers, norm())
        for p in self.parameters():
            if p.ndim > 1:
                init.xavier_uniform_(p)
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(
        self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """Decode ``tgt`` (T, N, E) with what the encoder makes of ``src`` (S, N, E).

        Raises:
            RuntimeError: batch sizes differ, or tokens are not of size ``d_model``.
        """
        at = 0 if self.batch_first else 1
        if src.ndim == 3 and not src._data.shape[at] == tgt._data.shape[at]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if not src._data.shape[-1] == self.d_model or not tgt._data.shape[-1] == self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """The causal mask (sz, sz): minus infinity above the diagonal, 0 elsewhere.

        >>> import tocha
        >>> tocha.nn.Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        return _causal_mask(sz, device, dtype)
