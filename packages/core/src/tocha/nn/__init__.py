"""Neural networks: layers, their functions and initialisation, as ``torch.nn``."""

from . import functional, init
from .modules import *
from .parameter import *


def __getattr__(name: str) -> object:
    # Tools that layers do not need are imported on first use.
    if name not in ("attention", "utils"):
        raise AttributeError(f"module 'tocha.nn' has no attribute {name!r}")
    import importlib

    return importlib.import_module(f"tocha.nn.{name}")
