"""Datasets of text."""

from tocha_text.datasets.language_modeling import LanguageModelingDataset

__all__ = ["LanguageModelingDataset"]
