"""``tocha.Generator``: the random stream with its state as a tensor."""

from __future__ import annotations

from typing import Any

from .._random.generator import Generator as Stream
from .devices import device as Device
from .tensor import Tensor, wrap


class Generator(Stream):
    """A stream of random numbers, equal to that of ``torch.Generator`` on the CPU for the same seed.

    Example:
        >>> import tocha
        >>> g = tocha.Generator().manual_seed(0)
        >>> tocha.rand(1, generator=g)
        tensor([0.4963])
    """

    __slots__ = ()

    def __init__(self, device: Any = "cpu") -> None:
        super().__init__(device if isinstance(device, Device) else Device(device))

    def get_state(self) -> Tensor:  # type: ignore[override]
        """The state, a uint8 tensor in PyTorch's layout."""
        return wrap(super().get_state())

    def set_state(self, new_state: Any) -> Generator:
        """Go on from a state."""
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a tocha.ByteTensor, but got {type(new_state).__name__}")
        super().set_state(new_state._data)
        return self

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, tuple):  # seed, offset and state, as files of PyTorch have them
            self.set_state(state[2])
        else:
            super().__setstate__(state)

    def clone_state(self) -> Generator:
        again = Generator()
        again.__setstate__(self.__getstate__())
        return again


default_generator = Generator()
default_generator.seed()  # as PyTorch's, another stream in every process until manual_seed
