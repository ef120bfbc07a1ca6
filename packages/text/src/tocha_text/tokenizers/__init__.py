"""Between text and numbers: one number a character, or one a frequent piece of text."""

from tocha_text.tokenizers.base import Tokenizer
from tocha_text.tokenizers.bpe import BPETokenizer
from tocha_text.tokenizers.char import CharTokenizer

__all__ = ["BPETokenizer", "CharTokenizer", "Tokenizer"]
