"""Byte-pair encoding: Sennrich, Haddow, Birch (2015), https://arxiv.org/abs/1508.07909, on bytes, as in GPT-2."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tocha_text._files import write_text
from tocha_text.tokenizers.base import Tokenizer, as_list

if TYPE_CHECKING:
    import tokenizers


class BPETokenizer(Tokenizer):
    """Frequent sequences of bytes are tokens; as every byte is one, each text has numbers, and they give it back.

    Made by :meth:`train`, :meth:`load` or :meth:`from_gpt2`, or from an object of the library ``tokenizers``, which
    does the work and is there as ``backend`` for everything else that it can do.

    >>> from tocha_text import BPETokenizer
    >>> tokenizer = BPETokenizer.train(["low lower lowest"] * 9, vocab_size=270)
    >>> tokenizer.decode(tokenizer.encode("slowest, ça va?"))
    'slowest, ça va?'
    >>> len("low lower"), len(tokenizer.encode("low lower"))
    (9, 2)
    """

    def __init__(self, backend: tokenizers.Tokenizer) -> None:
        self.backend = backend

    @classmethod
    def train(
        cls,
        texts: str | Iterable[str],
        vocab_size: int = 30000,
        min_frequency: int = 2,
        special_tokens: Sequence[str] = (),
        show_progress: bool = False,
    ) -> Self:
        """Learns the merges from a text, or from several.

        Args:
            texts: what to learn from.
            vocab_size: the most tokens there may be, the 256 bytes and the special tokens among them.
            min_frequency: how often a pair has to occur to be merged.
            special_tokens: have the first numbers, and are never split; ``encode`` finds them in the text.
            show_progress: a bar on the standard error.

        Raises ``ValueError`` if ``vocab_size`` has no room for the bytes and the special tokens.
        """
        from tokenizers import trainers

        needed = 256 + len(special_tokens)
        if vocab_size < needed:
            raise ValueError(
                f"expected a vocab_size of at least {needed} (256 bytes and {len(special_tokens)} special tokens), "
                f"got {vocab_size}"
            )
        backend = _byte_level()
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size,
            min_frequency=min_frequency,
            special_tokens=list(special_tokens),
            initial_alphabet=_alphabet(),
            show_progress=show_progress,
        )
        backend.train_from_iterator([texts] if isinstance(texts, str) else texts, trainer)
        return cls(backend)

    @classmethod
    def from_gpt2(cls, vocab: str | os.PathLike[str], merges: str | os.PathLike[str]) -> Self:
        """Reads GPT-2's two files: ``vocab.json`` (or ``encoder.json``), and ``merges.txt`` (or ``vocab.bpe``).

        Raises ``ValueError`` if they are not such files.
        """
        from tokenizers import models

        try:
            model = models.BPE.from_file(os.fspath(vocab), os.fspath(merges))
        except Exception as error:  # the library raises nothing narrower
            raise ValueError(f"{os.fspath(vocab)} and {os.fspath(merges)} are not GPT-2's files: {error}") from error
        return cls(_byte_level(model))

    @property
    def vocab_size(self) -> int:
        return self.backend.get_vocab_size()

    @property
    def vocab(self) -> dict[str, int]:
        """The number of each token; bytes are written as GPT-2 writes them, a space as ``Ġ``."""
        return self.backend.get_vocab()

    def token_to_id(self, token: str) -> int:
        """The number of a token, a special one for instance; raises ``KeyError`` if there is no such token."""
        number = self.backend.token_to_id(token)
        if number is None:
            raise KeyError(token)
        return number

    def encode(self, text: str) -> list[int]:
        return self.backend.encode(text, add_special_tokens=False).ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """:meth:`encode` of each text, on all processor cores."""
        return [encoding.ids for encoding in self.backend.encode_batch(list(texts), add_special_tokens=False)]

    def decode(self, ids: Iterable[int], skip_special_tokens: bool = False) -> str:
        """Numbers that cut a character in two give U+FFFD in its place; raises ``ValueError`` for a number that no
        token has."""
        numbers = as_list(ids)
        if numbers and not 0 <= min(numbers) <= max(numbers) < self.vocab_size:
            raise ValueError(f"expected numbers from 0 to {self.vocab_size - 1}, got {min(numbers)} to {max(numbers)}")
        return self.backend.decode(numbers, skip_special_tokens=skip_special_tokens)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a JSON file that the library ``tokenizers`` and Hugging Face's ``transformers`` read too."""
        write_text(path, self.backend.to_str(pretty=True))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Reads a ``tokenizer.json``, from :meth:`save` or elsewhere; raises ``ValueError`` if it is none."""
        from tokenizers import Tokenizer as Backend

        content = Path(path).read_bytes()
        try:
            return cls(Backend.from_buffer(content))
        except Exception as error:  # the library raises nothing narrower
            raise ValueError(f"{os.fspath(path)} is not a saved tokenizer: {error}") from error

    def __repr__(self) -> str:
        return f"BPETokenizer(vocab_size={self.vocab_size})"


def _byte_level(model: tokenizers.models.BPE | None = None) -> tokenizers.Tokenizer:
    from tokenizers import Tokenizer as Backend
    from tokenizers import decoders, models, pre_tokenizers

    backend = Backend(model or models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return backend


def _alphabet() -> list[str]:
    from tokenizers import pre_tokenizers

    return pre_tokenizers.ByteLevel.alphabet()
