"""What every tokenizer can do."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Self


class Tokenizer(ABC):
    """Turns text into a list of numbers from 0 to ``vocab_size - 1``, and such numbers into text."""

    @property
    @abstractmethod
    def vocab_size(self) -> int:
        """How many different numbers there are."""

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """The numbers of a text."""

    @abstractmethod
    def decode(self, ids: Iterable[int]) -> str:
        """The text of numbers: a list, or a tensor of one dimension."""

    @abstractmethod
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the tokenizer to a JSON file."""

    @classmethod
    @abstractmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Reads what :meth:`save` wrote; raises ``ValueError`` for another file."""

    def __len__(self) -> int:
        return self.vocab_size


def as_list(ids: Iterable[int] | Any) -> list[int]:
    """Plain integers, whether they come in a list, an array or a tensor."""
    return [int(i) for i in (ids.tolist() if hasattr(ids, "tolist") else ids)]
