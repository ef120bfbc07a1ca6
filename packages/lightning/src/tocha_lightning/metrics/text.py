"""Metrics of language: perplexity and BLEU."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import tocha
from tocha import Tensor
from tocha_lightning.metrics.metric import Metric


class Perplexity(Metric):
    """The exponential of the mean negative log-likelihood of the right tokens.

    Args:
        ignore_index: targets of this value (padding) do not count.

    >>> perplexity = Perplexity()
    >>> perplexity(tocha.zeros(1, 3, 5), tocha.tensor([[0, 1, 2]]))
    tensor(5.)
    """

    total_log_probs: Tensor
    count: Tensor

    def __init__(self, ignore_index: int | None = None) -> None:
        super().__init__()
        self.ignore_index = ignore_index
        self.add_state("total_log_probs", tocha.tensor(0.0, dtype=tocha.float64), dist_reduce_fx="sum")
        self.add_state("count", tocha.tensor(0), dist_reduce_fx="sum")

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Take logits [..., vocabulary] and tokens [...]."""
        if preds.shape[:-1] != target.shape:
            raise ValueError(
                f"Expected logits [..., vocabulary] for tokens [...], got {tuple(preds.shape)} and"
                f" {tuple(target.shape)}."
            )
        logits, tokens = preds.reshape(-1, preds.shape[-1]), target.reshape(-1).long()
        if self.ignore_index is not None:
            keep = tokens != self.ignore_index
            logits, tokens = logits[keep], tokens[keep]
        log_probs = logits.double().log_softmax(-1).gather(-1, tokens[:, None])
        self.total_log_probs = self.total_log_probs - log_probs.sum()
        self.count = self.count + tokens.numel()

    def compute(self) -> Tensor:
        """The perplexity."""
        return (self.total_log_probs / self.count).exp().float()


def _ngrams(tokens: Sequence[str], longest: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(tokens[i : i + n]) for n in range(1, longest + 1) for i in range(len(tokens) - n + 1))


class BLEUScore(Metric):
    """The corpus BLEU score of translations: the geometric mean of n-gram precisions, with a penalty for brevity.

    From Papineni et al., "BLEU: a Method for Automatic Evaluation of Machine Translation" (2002).

    Args:
        n_gram: the longest n-grams.
        smooth: add one to the counts of n-grams longer than one word (Lin and Och, 2004).
        weights: of the n-gram lengths; by default equal.
        tokenize: splits a text; by default at white space.

    Raises:
        ValueError: weights of another number than `n_gram`, or references for another number of texts.

    >>> bleu = BLEUScore(n_gram=2)
    >>> bleu(["the cat is on the mat"], [["there is a cat on the mat", "a cat is on the mat"]])
    tensor(0.8165)
    """

    numerator: Tensor
    denominator: Tensor
    preds_len: Tensor
    target_len: Tensor

    def __init__(
        self,
        n_gram: int = 4,
        smooth: bool = False,
        weights: Sequence[float] | None = None,
        tokenize: Callable[[str], Sequence[str]] = str.split,
    ) -> None:
        super().__init__()
        if weights is not None and len(weights) != n_gram:
            raise ValueError(f"List of weights has different weights than `n_gram`: {len(weights)} != {n_gram}")
        self.n_gram = n_gram
        self.smooth = smooth
        self.weights = [1 / n_gram] * n_gram if weights is None else list(weights)
        self.tokenize = tokenize
        for name in ("numerator", "denominator"):
            self.add_state(name, tocha.zeros(n_gram, dtype=tocha.float64), dist_reduce_fx="sum")
        for name in ("preds_len", "target_len"):
            self.add_state(name, tocha.tensor(0.0, dtype=tocha.float64), dist_reduce_fx="sum")

    def update(self, preds: str | Sequence[str], target: Sequence[str | Sequence[str]]) -> None:
        """Take texts, and for each its reference or a list of references."""
        texts = [preds] if isinstance(preds, str) else list(preds)
        references = [[item] if isinstance(item, str) else list(item) for item in target]
        if len(texts) != len(references):
            raise ValueError(f"Corpus has different size {len(texts)} != {len(references)}")
        numerator, denominator = [0.0] * self.n_gram, [0.0] * self.n_gram
        length, wanted = 0, 0
        for text, alternatives in zip(texts, references, strict=True):
            tokens = self.tokenize(text)
            split = [self.tokenize(alternative) for alternative in alternatives]
            length += len(tokens)
            wanted += min((len(other) for other in split), key=lambda size: (abs(size - len(tokens)), size))
            allowed: Counter[tuple[str, ...]] = Counter()
            for other in split:
                allowed |= _ngrams(other, self.n_gram)
            found = _ngrams(tokens, self.n_gram)
            for ngram, count in (found & allowed).items():
                numerator[len(ngram) - 1] += count
            for ngram, count in found.items():
                denominator[len(ngram) - 1] += count
        device = self.numerator.device
        self.numerator = self.numerator + tocha.tensor(numerator, dtype=tocha.float64, device=device)
        self.denominator = self.denominator + tocha.tensor(denominator, dtype=tocha.float64, device=device)
        self.preds_len = self.preds_len + length
        self.target_len = self.target_len + wanted

    def compute(self) -> Tensor:
        """The score."""
        if float(self.numerator.min()) == 0.0 and not self.smooth or float(self.numerator[0]) == 0.0:
            return tocha.tensor(0.0, device=self.numerator.device)
        extra = tocha.ones_like(self.numerator) if self.smooth else tocha.zeros_like(self.numerator)
        extra[0] = 0.0
        precision = (self.numerator + extra) / (self.denominator + extra)
        weights = tocha.tensor(self.weights, dtype=tocha.float64, device=precision.device)
        mean = (weights * precision.log()).sum().exp()
        longer = bool(self.preds_len > self.target_len)
        penalty = 1.0 if longer else (1 - self.target_len / self.preds_len).exp()
        return (penalty * mean).float()
