"""Learning to continue a text: each sample is a piece of it, and the same piece one token later."""

from __future__ import annotations

import os
from pathlib import Path

import tocha
from tocha.utils.data import Dataset
from tocha_text.tokenizers.base import Tokenizer


class LanguageModelingDataset(Dataset):
    """Pieces of ``block_size`` tokens of one text.

    Args:
        path_or_text: the text file, or the text itself. A ``pathlib.Path`` is always a file; a ``str`` is one if there
            is a file of that name, and is taken for text otherwise, unless it looks like a name.
        tokenizer: makes the numbers.
        block_size: tokens in a sample.
        stride: tokens from the start of one sample to the start of the next; ``block_size`` by default, so that the
            samples do not overlap; 1 gives a sample for each place in the text.
        encoding: of the file.

    Attributes:
        tokens: the whole text, int64 tensor of one dimension.
        tokenizer, block_size, stride: as given.

    A sample is ``(input, target)``, two int64 tensors of shape (block_size,); ``target[i]`` is the token after
    ``input[i]``. What is left over at the end of the text is not used.

    Raises:
        FileNotFoundError: a ``Path``, or a ``str`` that looks like one, of which there is no file.
        ValueError: a size below 1, or a text of fewer than ``block_size + 1`` tokens.
    """

    def __init__(
        self,
        path_or_text: str | os.PathLike[str],
        tokenizer: Tokenizer,
        block_size: int,
        stride: int | None = None,
        encoding: str = "utf-8",
    ) -> None:
        self.tokenizer = tokenizer
        self.block_size = block_size
        self.stride = block_size if stride is None else stride
        if self.block_size < 1 or self.stride < 1:
            raise ValueError(f"expected a block_size and a stride of at least 1, got {block_size} and {stride}")
        text = _read(path_or_text, encoding)
        self.tokens = tocha.tensor(tokenizer.encode(text), dtype=tocha.int64)
        if len(self.tokens) <= block_size:
            raise ValueError(
                f"expected a text of at least block_size + 1 = {block_size + 1} tokens, got {len(self.tokens)}"
            )

    def __len__(self) -> int:
        return (len(self.tokens) - 1 - self.block_size) // self.stride + 1

    def __getitem__(self, index: int) -> tuple[tocha.Tensor, tocha.Tensor]:
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range for {len(self)} samples")
        start = (index % len(self)) * self.stride
        return self.tokens[start : start + self.block_size], self.tokens[start + 1 : start + 1 + self.block_size]

    def __repr__(self) -> str:
        return (
            f"LanguageModelingDataset({len(self)} samples of {self.block_size} tokens, stride {self.stride}, "
            f"from {len(self.tokens)} tokens)"
        )


def _read(path_or_text: str | os.PathLike[str], encoding: str) -> str:
    if isinstance(path_or_text, str):
        # The operating system limits names to some thousand bytes and refuses to look up longer ones.
        might_be_name = len(path_or_text) < 1024 and not any(c in path_or_text for c in "\n\0")
        if not might_be_name:
            return path_or_text
        path = Path(path_or_text).expanduser()
        if not path.is_file():
            if path.suffix and not any(character.isspace() for character in path_or_text):
                raise FileNotFoundError(f"there is no file {path_or_text!r}")
            return path_or_text
        return path.read_text(encoding=encoding)
    return Path(path_or_text).read_text(encoding=encoding)
