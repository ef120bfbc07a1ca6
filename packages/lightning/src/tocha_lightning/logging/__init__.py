"""Logging of metrics: rules, values and where they go."""

from tocha_lightning.logging.connector import LoggingConnector
from tocha_lightning.logging.results import Results

__all__ = ["LoggingConnector", "Results"]
