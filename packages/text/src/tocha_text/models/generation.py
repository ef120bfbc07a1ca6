"""Choosing the next token."""

from __future__ import annotations

import math

import tocha


def sample(
    logits: tocha.Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: tocha.Generator | None = None,
) -> tocha.Tensor:
    """Draws one token for each row.

    Args:
        logits: shape (N, V).
        temperature: below 1 favours likely tokens, above 1 evens out; 0 takes the likeliest.
        top_k: only the ``top_k`` likeliest tokens, and those that tie with the last of them.
        top_p: only the fewest likeliest tokens whose probabilities add up to ``top_p`` (nucleus sampling,
            https://arxiv.org/abs/1904.09751), after ``top_k``.
        generator: where the random numbers come from.

    Returns: int64 tensor of shape (N, 1).

    Raises ``ValueError`` for a temperature below 0, a ``top_k`` below 1, or a ``top_p`` that is not above 0 and at
    most 1.

    >>> import tocha
    >>> sample(tocha.tensor([[0.0, 3.0, 1.0]]), temperature=0)
    tensor([[1]])
    """
    if temperature < 0:
        raise ValueError(f"expected a temperature of at least 0, got {temperature}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"expected a top_k of at least 1, got {top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"expected a top_p above 0 and at most 1, got {top_p}")
    if temperature == 0:
        return logits.argmax(-1, keepdim=True)
    logits = logits / temperature
    if top_k is not None and top_k < logits.shape[-1]:
        last = logits.topk(top_k, -1).values[..., -1:]
        logits = logits.masked_fill(logits < last, -math.inf)
    if top_p is not None and top_p < 1:
        ordered, order = logits.sort(-1, descending=True)
        probabilities = ordered.softmax(-1)
        likelier = probabilities.cumsum(-1) - probabilities
        logits = tocha.full_like(logits, -math.inf).scatter(
            -1, order, ordered.masked_fill(likelier >= top_p, -math.inf)
        )
    return tocha.multinomial(logits.softmax(-1), 1, generator=generator)
