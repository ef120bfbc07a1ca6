"""Language models."""

from tocha_text.models.generation import sample
from tocha_text.models.gpt import GPT, GPTConfig

__all__ = ["GPT", "GPTConfig", "sample"]
