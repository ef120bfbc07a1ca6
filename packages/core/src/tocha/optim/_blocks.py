"""Updating large arrays in blocks that fit a processor's cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# So many numbers at a time stay in the cache while a dozen calls go over them. (Threads do not help: they would take
# turns with Python's lock at each of the calls, which take a few microseconds.)
BLOCK = 32768


def update_in_blocks(update: Callable, scratch: tuple, p: Any, g: Any, arrays: tuple, n: Any, constants: Any) -> None:
    """Run an update, a function ``(p, g, arrays, u, w, numbers, constants)`` that works in place, on flat arrays.

    Args:
        update: what to run. scratch: two arrays of ``BLOCK`` numbers, given to it as ``u`` and ``w``.
        p, g, arrays: flat, of one dtype and length. n, constants: given to the update as they are.
    """
    size = p.size
    for i in range(0, size, BLOCK):
        part = slice(i, i + BLOCK)
        block = p[part]
        u, w = scratch[0][: block.size], scratch[1][: block.size]
        update(block, g[part], [a[part] for a in arrays], u, w, n, constants)
