"""Datasets, tokenizers and language models, on tocha.

Submodules are imported on first use, and ``tokenizers`` only by what splits text into byte pairs.

>>> from tocha_text import CharTokenizer, LanguageModelingDataset
>>> text = "to be or not to be"
>>> dataset = LanguageModelingDataset(text, CharTokenizer.train(text), block_size=5)
>>> dataset.tokenizer.decode(dataset[0][0]), dataset.tokenizer.decode(dataset[0][1])
('to be', 'o be ')
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tocha_text import datasets, models, tokenizers, vocab
    from tocha_text.datasets import LanguageModelingDataset
    from tocha_text.tokenizers import BPETokenizer, CharTokenizer, Tokenizer

__version__ = "0.1.0"
__all__ = [
    "BPETokenizer",
    "CharTokenizer",
    "LanguageModelingDataset",
    "Tokenizer",
    "datasets",
    "models",
    "tokenizers",
    "vocab",
]

_HOMES = {
    "BPETokenizer": "tokenizers",
    "CharTokenizer": "tokenizers",
    "LanguageModelingDataset": "datasets",
    "Tokenizer": "tokenizers",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"tocha_text.{_HOMES[name]}"), name)
    if name in __all__:
        return importlib.import_module(f"tocha_text.{name}")
    raise AttributeError(f"module 'tocha_text' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
