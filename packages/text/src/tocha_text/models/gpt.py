"""GPT-2: Radford et al. (2019), *Language models are unsupervised multitask learners*."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import tocha
from tocha import nn
from tocha.nn import functional as F
from tocha_text.models.generation import sample

KeyValue: TypeAlias = tuple[tocha.Tensor, tocha.Tensor]


@dataclass
class GPTConfig:
    """The sizes of a :class:`GPT`; the defaults are those of the smallest GPT-2 (124 million parameters).

    Attributes:
        vocab_size: different tokens.
        block_size: most tokens that the network sees at once.
        n_layer: blocks of attention and multilayer perceptron.
        n_head: heads of attention in a block; ``n_embd`` has to be a multiple of it.
        n_embd: numbers that stand for a token.
        dropout: probability, of embeddings, attention and the blocks' outputs.
        bias: linear layers and layer norms have one.
        tie_weights: the output layer shares the weights of the token embedding.
        layer_norm_epsilon: added to the variance.
        initializer_range: standard deviation of the initial weights.

    Raises ``ValueError`` for sizes below 1, or an ``n_embd`` that is no multiple of ``n_head``.
    """

    vocab_size: int = 50257
    block_size: int = 1024
    n_layer: int = 12
    n_head: int = 12
    n_embd: int = 768
    dropout: float = 0.1
    bias: bool = True
    tie_weights: bool = True
    layer_norm_epsilon: float = 1e-5
    initializer_range: float = 0.02

    def __post_init__(self) -> None:
        for name in ("vocab_size", "block_size", "n_layer", "n_head", "n_embd"):
            if getattr(self, name) < 1:
                raise ValueError(f"expected {name} to be at least 1, got {getattr(self, name)}")
        if self.n_embd % self.n_head:
            raise ValueError(f"expected n_embd to be a multiple of n_head, got {self.n_embd} and {self.n_head}")


class CausalSelfAttention(nn.Module):
    """Each token looks at itself and at those before it."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.n_head = config.n_head
        self.dropout = config.dropout
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.bias)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=config.bias)
        self.resid_dropout = nn.Dropout(config.dropout)

    def forward(self, x: tocha.Tensor, past: KeyValue | None = None) -> tuple[tocha.Tensor, KeyValue]:
        batch, length, width = x.shape
        heads = (batch, length, self.n_head, width // self.n_head)
        query, key, value = (part.view(heads).transpose(1, 2) for part in self.c_attn(x).split(width, 2))
        mask = None
        if past is not None:
            key, value = tocha.cat((past[0], key), 2), tocha.cat((past[1], value), 2)
            if length > 1:
                seen = past[0].shape[2]
                mask = tocha.ones(length, seen + length, dtype=tocha.bool, device=x.device).tril(seen)
        out = F.scaled_dot_product_attention(
            query,
            key,
            value,
            attn_mask=mask,
            dropout_p=self.dropout if self.training else 0.0,
            is_causal=past is None,
        )
        out = out.transpose(1, 2).reshape(batch, length, width)
        return self.resid_dropout(self.c_proj(out)), (key, value)


class MLP(nn.Module):
    """Two linear layers, the same for each token, with GPT-2's approximation of GELU between."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.c_fc = nn.Linear(config.n_embd, 4 * config.n_embd, bias=config.bias)
        self.c_proj = nn.Linear(4 * config.n_embd, config.n_embd, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: tocha.Tensor) -> tocha.Tensor:
        return self.dropout(self.c_proj(F.gelu(self.c_fc(x), approximate="tanh")))


class Block(nn.Module):
    """Attention, then a multilayer perceptron, each beside a shortcut and behind a layer norm."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon, bias=config.bias)
        self.attn = CausalSelfAttention(config)
        self.ln_2 = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon, bias=config.bias)
        self.mlp = MLP(config)

    def forward(self, x: tocha.Tensor, past: KeyValue | None = None) -> tuple[tocha.Tensor, KeyValue]:
        attended, present = self.attn(self.ln_1(x), past)
        x = x + attended
        return x + self.mlp(self.ln_2(x)), present


class GPT(nn.Module):
    """A transformer that predicts the next token; modules have the names that they have in ``transformers``' GPT-2.

    Args:
        config: the sizes.

    Shape: int64 (N, T) to logits (N, T, vocab_size), T at most ``block_size``.

    The weights start as in GPT-2: normal with ``initializer_range``, the layers that end a shortcut's side branch
    divided by the square root of their number.

    >>> import tocha
    >>> from tocha_text.models import GPT, GPTConfig
    >>> model = GPT(GPTConfig(vocab_size=50, block_size=16, n_layer=2, n_head=2, n_embd=8))
    >>> ids = tocha.tensor([[1, 2, 3]])
    >>> model(ids).shape, model.generate(ids, max_new_tokens=4, temperature=0).shape
    (tocha.Size([1, 3, 50]), tocha.Size([1, 7]))
    """

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.config = config
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(config.vocab_size, config.n_embd),
                "wpe": nn.Embedding(config.block_size, config.n_embd),
                "drop": nn.Dropout(config.dropout),
                "h": nn.ModuleList([Block(config) for _ in range(config.n_layer)]),
                "ln_f": nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon, bias=config.bias),
            }
        )
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self._initialize()
        if config.tie_weights:
            self.lm_head.weight = self.transformer["wte"].weight

    def _initialize(self) -> None:
        spread = self.config.initializer_range
        for name, module in self.named_modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                ends_branch = name.endswith("c_proj")
                std = spread / math.sqrt(2 * self.config.n_layer) if ends_branch else spread
                nn.init.normal_(module.weight, mean=0.0, std=std)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)

    def forward(
        self, ids: tocha.Tensor, past: Sequence[KeyValue] | None = None, use_cache: bool = False
    ) -> tocha.Tensor | tuple[tocha.Tensor, list[KeyValue]]:
        """The logits of the token after each token.

        Args:
            ids: int64, shape (N, T).
            past: what an earlier call with ``use_cache`` returned: the tokens before ``ids``, already worked through.
            use_cache: also return the keys and values of each block, two tensors of shape
                (N, n_head, tokens so far, n_embd / n_head).

        Raises ``ValueError`` for more tokens than ``block_size``, those in ``past`` included.
        """
        seen = 0 if past is None else past[0][0].shape[2]
        total = seen + ids.shape[1]
        if total > self.config.block_size:
            raise ValueError(f"expected at most block_size = {self.config.block_size} tokens, got {total}")
        places = tocha.arange(seen, total, device=ids.device)
        x = self.transformer["drop"](self.transformer["wte"](ids) + self.transformer["wpe"](places))
        presents: list[KeyValue] = []
        for index, block in enumerate(self.transformer["h"]):
            x, present = block(x, None if past is None else past[index])
            presents.append(present)
        logits = self.lm_head(self.transformer["ln_f"](x))
        return (logits, presents) if use_cache else logits

    @tocha.no_grad()
    def generate(
        self,
        ids: tocha.Tensor,
        max_new_tokens: int,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        generator: tocha.Generator | None = None,
    ) -> tocha.Tensor:
        """Continues each row of ``ids``, in evaluation mode.

        Args:
            ids: int64, shape (N, T), T at least 1. Of a text longer than ``block_size``, its end is seen.
            max_new_tokens: how many tokens to add.
            temperature, top_k, top_p, generator: as for :func:`tocha_text.models.sample`.

        Returns: int64, shape (N, T + max_new_tokens).
        """
        was_training = self.training
        self.eval()
        try:
            past: list[KeyValue] | None = None
            for _ in range(max_new_tokens):
                fits = ids.shape[1] <= self.config.block_size
                if past is not None and fits:
                    logits, past = self(ids[:, -1:], past, use_cache=True)
                else:
                    # Beyond block_size every place moves at each step, so that nothing computed before holds.
                    logits, past = self(ids[:, -self.config.block_size :], use_cache=True)
                ids = tocha.cat((ids, sample(logits[:, -1], temperature, top_k, top_p, generator)), 1)
        finally:
            self.train(was_training)
        return ids
