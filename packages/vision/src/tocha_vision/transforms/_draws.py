"""Random numbers from tocha's default generator, one at a time."""

from __future__ import annotations

import tocha


def uniform(low: float, high: float) -> float:
    """A float32 from ``low`` to ``high``."""
    return float(tocha.empty(1).uniform_(float(low), float(high)).item())


def integer(stop: int) -> int:
    """A whole number from 0 to ``stop - 1``."""
    return int(tocha.randint(0, stop, size=(1,)).item())


def coin(p: float) -> bool:
    """True with probability ``p``."""
    return bool(tocha.rand(1) < p)


def draw_ratio(low: float, high: float) -> float:
    """A float32 from ``low`` to ``high``, drawn so that a ratio and its reciprocal are equally likely."""
    bounds = tocha.log(tocha.tensor([low, high], dtype=tocha.float32)).tolist()
    return float(tocha.exp(tocha.empty(1).uniform_(*bounds)).item())
