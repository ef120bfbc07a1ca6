"""Random state: seeds, saved states, and blocks that leave the state as it was. As ``torch.random``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from ._core.generator import Generator, default_generator
from ._core.tensor import Tensor

__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
    "thread_safe_generator",
]


def manual_seed(seed: int) -> Generator:
    """Start the default stream from ``seed``; the same seed gives PyTorch's numbers."""
    return default_generator.manual_seed(int(seed))  # type: ignore[return-value]


def seed() -> int:
    """Start the default stream from a seed of the operating system, which is returned."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that the default stream was started from."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The default stream's state, a uint8 tensor that ``set_rng_state`` takes (PyTorch's too)."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Go on from a state of ``get_rng_state``."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(
    devices: Iterable | None = None, enabled: bool = True, device_type: str = "cuda", **_: Any
) -> Iterator[None]:
    """Leave the default stream after the block as it was before it."""
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)


def thread_safe_generator() -> Generator | None:
    """The generator for random functions in a data-loading thread: None, the default one."""
    return None
