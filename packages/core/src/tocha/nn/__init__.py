"""Neural networks: layers, their functions and initialisation, as ``torch.nn``."""

from . import functional, init
from .modules import *
from .parameter import *

del attention  # type: ignore[name-defined]  # noqa: F821  # hides the package of this name


def __getattr__(name: str) -> object:
    # Tools that layers do not need are imported on first use.
    if name not in ("attention", "utils"):
        raise AttributeError(f"module 'tocha.nn' has no attribute {name!r}")
    import importlib

    return importlib.import_module(f"tocha.nn.{name}")
