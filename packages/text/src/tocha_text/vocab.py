"""The numbers of words, with torchtext's interface."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence


class Vocab:
    """A list of different tokens; a token's place is its number.

    Args:
        tokens: the tokens in the order of their numbers.
        default_index: the number of tokens that are not there; ``None`` refuses them.

    Raises ``RuntimeError`` for a repeated token.

    >>> vocab = build_vocab_from_iterator([["to", "be"], ["or", "not", "to", "be"]], specials=["<unk>"])
    >>> vocab.get_itos()
    ['<unk>', 'be', 'to', 'not', 'or']
    >>> vocab.set_default_index(vocab["<unk>"])
    >>> vocab(["to", "question"])
    [2, 0]
    """

    def __init__(self, tokens: Iterable[str] = (), default_index: int | None = None) -> None:
        self._tokens: list[str] = []
        self._indices: dict[str, int] = {}
        self._default = default_index
        for token in tokens:
            self.append_token(token)

    def __len__(self) -> int:
        return len(self._tokens)

    def __contains__(self, token: str) -> bool:
        return token in self._indices

    def __getitem__(self, token: str) -> int:
        """The number of a token; raises ``RuntimeError`` if it is not there and no default index is set."""
        index = self._indices.get(token, self._default)
        if index is None:
            raise RuntimeError(f"Token {token} not found and default index is not set")
        return index

    def __call__(self, tokens: Iterable[str]) -> list[int]:
        return self.lookup_indices(tokens)

    def set_default_index(self, index: int | None) -> None:
        """The number of tokens that are not there; ``None`` refuses them again."""
        self._default = index

    def get_default_index(self) -> int | None:
        """The number of tokens that are not there, or ``None``."""
        return self._default

    def insert_token(self, token: str, index: int) -> None:
        """Puts a token at a place and moves those behind it up by one.

        Raises ``RuntimeError`` if the token is there already or the place is beyond the end.
        """
        if token in self._indices:
            raise RuntimeError(f"Token {token} already exists in Vocab with index: {self._indices[token]}")
        if not 0 <= index <= len(self):
            raise RuntimeError(f"Specified index {index} is out of bounds for vocab of size {len(self)}")
        self._tokens.insert(index, token)
        for place in range(index, len(self._tokens)):
            self._indices[self._tokens[place]] = place

    def append_token(self, token: str) -> None:
        """Adds a token at the end; raises ``RuntimeError`` if it is there already."""
        self.insert_token(token, len(self))

    def lookup_token(self, index: int) -> str:
        """The token with a number; raises ``RuntimeError`` if there is none."""
        if not 0 <= index < len(self):
            raise RuntimeError(f"Specified index {index} is out of bounds for vocab of size {len(self)}")
        return self._tokens[index]

    def lookup_tokens(self, indices: Iterable[int]) -> list[str]:
        """The tokens with these numbers."""
        return [self.lookup_token(index) for index in indices]

    def lookup_indices(self, tokens: Iterable[str]) -> list[int]:
        """The numbers of these tokens."""
        return [self[token] for token in tokens]

    def get_stoi(self) -> dict[str, int]:
        """A copy of the numbers by token."""
        return dict(self._indices)

    def get_itos(self) -> list[str]:
        """A copy of the tokens by number."""
        return list(self._tokens)

    def __repr__(self) -> str:
        return f"Vocab(size={len(self)}, default_index={self._default})"


def vocab(
    ordered_dict: Mapping[str, int],
    min_freq: int = 1,
    specials: Sequence[str] | None = None,
    special_first: bool = True,
) -> Vocab:
    """The tokens that occur ``min_freq`` times or more, in the order of the mapping from token to count.

    ``specials`` come before them, or after them, whatever their counts.
    """
    special = list(specials or ())
    tokens = [token for token, count in ordered_dict.items() if count >= min_freq and token not in special]
    return Vocab(special + tokens if special_first else tokens + special)


def build_vocab_from_iterator(
    iterator: Iterable[Iterable[str]],
    min_freq: int = 1,
    specials: Sequence[str] | None = None,
    special_first: bool = True,
    max_tokens: int | None = None,
) -> Vocab:
    """The tokens of many texts, the most frequent first, then by their code points.

    Args:
        iterator: gives lists of tokens.
        min_freq: how often a token has to occur.
        specials: tokens to add, whatever their counts.
        special_first: before the others, or after them.
        max_tokens: the most tokens there may be, ``specials`` included.

    Raises ``ValueError`` if ``max_tokens`` leaves no room beside ``specials``.
    """
    counts = Counter(token for tokens in iterator for token in tokens)
    order = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    if max_tokens is not None:
        room = max_tokens - len(specials or ())
        if room <= 0:
            raise ValueError("len(specials) >= max_tokens, so the vocab will be entirely special tokens.")
        order = order[:room]
    return vocab(dict(order), min_freq, specials, special_first)
