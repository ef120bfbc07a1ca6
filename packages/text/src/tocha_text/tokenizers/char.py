"""One number a character."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from tocha_text._files import write_text
from tocha_text.tokenizers.base import Tokenizer, as_list


class CharTokenizer(Tokenizer):
    """Each character of an alphabet is a token.

    Args:
        alphabet: the characters in the order of their numbers, without repeats.
        unknown: one of the characters, which stands for those that are not in the alphabet; ``None`` refuses them.

    Raises ``ValueError`` for an empty alphabet, a repeated character, or an ``unknown`` that is not in it.

    >>> from tocha_text import CharTokenizer
    >>> tokenizer = CharTokenizer.train("hello")
    >>> tokenizer.alphabet, tokenizer.encode("hole")
    ('ehlo', [1, 3, 2, 0])
    >>> tokenizer.decode([1, 0, 2, 2, 3])
    'hello'
    """

    def __init__(self, alphabet: Iterable[str], unknown: str | None = None) -> None:
        characters = list(alphabet)
        self._ids = {character: index for index, character in enumerate(characters)}
        if not characters or any(len(character) != 1 for character in characters):
            raise ValueError(f"expected an alphabet of single characters, got {characters!r}")
        if len(self._ids) != len(characters):
            repeated = sorted({character for character in characters if characters.count(character) > 1})
            raise ValueError(f"the alphabet has {repeated} more than once")
        if unknown is not None and unknown not in self._ids:
            raise ValueError(f"unknown={unknown!r} is not in the alphabet")
        self.alphabet = "".join(characters)
        self.unknown = unknown

    @classmethod
    def train(cls, texts: str | Iterable[str], unknown: str | None = None) -> Self:
        """The alphabet of a text, or of several: its characters in the order of their code points.

        ``unknown`` is added to them if it does not occur.
        """
        characters: set[str] = set() if unknown is None else {unknown}
        for text in [texts] if isinstance(texts, str) else texts:
            characters.update(text)
        return cls(sorted(characters), unknown)

    @property
    def vocab_size(self) -> int:
        return len(self.alphabet)

    def encode(self, text: str) -> list[int]:
        """One number a character; raises ``ValueError`` for one that is not in the alphabet, unless ``unknown`` is
        set."""
        if self.unknown is not None:
            other = self._ids[self.unknown]
            return [self._ids.get(character, other) for character in text]
        try:
            return [self._ids[character] for character in text]
        except KeyError as error:
            raise ValueError(
                f"the character {error.args[0]!r} at position {text.index(error.args[0])} is not in the alphabet; "
                "train on a text that has it, or set unknown"
            ) from None

    def decode(self, ids: Iterable[int]) -> str:
        """Raises ``ValueError`` for a number that no character has."""
        numbers = as_list(ids)
        if numbers and not 0 <= min(numbers) <= max(numbers) < self.vocab_size:
            raise ValueError(f"expected numbers from 0 to {self.vocab_size - 1}, got {min(numbers)} to {max(numbers)}")
        return "".join([self.alphabet[number] for number in numbers])

    def save(self, path: str | os.PathLike[str]) -> None:
        content = {"type": "CharTokenizer", "alphabet": self.alphabet, "unknown": self.unknown}
        write_text(path, json.dumps(content, ensure_ascii=False) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            if content["type"] != "CharTokenizer":
                raise ValueError(f"its type is {content['type']!r}")
            return cls(content["alphabet"], content["unknown"])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{os.fspath(path)} is not a saved CharTokenizer: {error!r}") from error

    def __repr__(self) -> str:
        return f"CharTokenizer(vocab_size={self.vocab_size}, unknown={self.unknown!r})"
