"""Puts the stand-in in CuPy's place."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .array import ndarray
from .namespace import MODULES, xp

__all__ = ["install"]


@contextmanager
def install() -> Iterator[Any]:
    """Serve the device type "cuda" by the stand-in inside the block; `import cupy` finds it there too.

    Yields:
        the array module.
    """
    from tocha._core import arrays

    previous = {name: sys.modules.get(name) for name in MODULES}
    sys.modules.update(MODULES)
    try:
        with arrays.registered(arrays.ArrayModule("cuda", xp, ndarray, xp.asnumpy)):
            yield xp
    finally:
        for name, module in previous.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module
