"""What this package adds to tocha's plugins: datasets, tokenizers and models by name, imported when asked for."""

from __future__ import annotations

from tocha.hookspecs import Register
from tocha.plugins import hookimpl


@hookimpl
def tocha_register_datasets(register: Register) -> None:
    register("LanguageModelingDataset", "tocha_text.datasets:LanguageModelingDataset")


@hookimpl
def tocha_register_tokenizers(register: Register) -> None:
    register("BPETokenizer", "tocha_text.tokenizers:BPETokenizer")
    register("CharTokenizer", "tocha_text.tokenizers:CharTokenizer")


@hookimpl
def tocha_register_models(register: Register) -> None:
    register("GPT", "tocha_text.models:GPT")
