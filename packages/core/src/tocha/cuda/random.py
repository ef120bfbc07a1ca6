"""Random state on CUDA: numbers for every device come from the host's default stream, so these speak of that one."""

from __future__ import annotations

from typing import Any

from .. import random as host
from .._core.tensor import Tensor
from .devices import device_count


def manual_seed(seed: int) -> None:
    """Seed the stream (harmless without CUDA)."""
    if device_count():
        host.manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the stream that all devices share (harmless without CUDA)."""
    manual_seed(seed)


def seed() -> None:
    """Seed the stream from the operating system (harmless without CUDA)."""
    if device_count():
        host.seed()


def seed_all() -> None:
    """Seed the stream that all devices share from the operating system."""
    seed()


def initial_seed() -> int:
    """The seed that the stream was started from."""
    return host.initial_seed()


def get_rng_state(device: Any = "cuda") -> Tensor:
    """The stream's state."""
    return host.get_rng_state()


def get_rng_state_all() -> list[Tensor]:
    """The stream's state, once a device."""
    return [host.get_rng_state() for _ in range(device_count())]


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Go on from a state of ``get_rng_state``."""
    host.set_rng_state(new_state)


def set_rng_state_all(new_states: list[Tensor]) -> None:
    """Go on from a state of ``get_rng_state_all``."""
    for state in new_states[:1]:
        host.set_rng_state(state)
