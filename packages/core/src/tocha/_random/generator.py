"""The random stream: PyTorch's CPU generator over NumPy's Mersenne Twister, position and saved state included.

PyTorch seeds MT19937 with the low 32 bits of the seed as the reference code of Matsumoto and Nishimura does, which is
NumPy's legacy seeding. A 64-bit draw is two 32-bit draws, the first one high. Every function of this package takes its
numbers from the methods here, so that a script's draws and PyTorch's stay in step. Source of the seeds' range and of
the methods: https://pytorch.org/docs/stable/generated/torch.Generator.html
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

DEFAULT_SEED = 67280421310721
_WORDS = 624
_32, _LOW_24, _LOW_53, _ULP_24 = np.uint64(32), np.uint64(2**24 - 1), np.uint64(2**53 - 1), np.float32(2.0**-24)

# What PyTorch writes: the state of its first generator, kept so that old checkpoints load, then one field.
_STATE = np.dtype([
    ("seed", "<u8"), ("left", "<i4"), ("seeded", "<i4"), ("next", "<u8"), ("words", "<u8", _WORDS), ("normal_x", "<f8"),
    ("normal", "<f8"), ("normal_rho", "<f8"), ("normal_is_valid", "<i4"), ("gap", "<i4"), ("float_normal", "<f4"),
    ("float_normal_is_valid", "?"), ("gap_at_the_end", "u1", 3),
])  # fmt: skip


class Generator:
    """A stream of random numbers, equal to that of ``torch.Generator`` on the CPU for the same seed.

    Args:
        device: only ``"cpu"``: CuPy has generators of its own, whose numbers are not PyTorch's.

    Raises:
        RuntimeError: another device.

    Example:
        >>> from tocha._random.generator import Generator
        >>> g = Generator().manual_seed(0)
        >>> g.words(2).tolist(), g.initial_seed()
        ([2357136044, 2546248239], 0)
    """

    __slots__ = ("device", "next_normal", "_next_float_normal", "_seed", "_bits", "_raw", "__weakref__")

    def __init__(self, device: Any = "cpu") -> None:
        if str(device) != "cpu":
            raise RuntimeError(f"Generator expected device 'cpu', but got {str(device)!r}: CuPy has streams of its own")
        self.device = device
        self._bits = np.random.MT19937(0)
        self._raw = self._bits.random_raw
        self._restart(DEFAULT_SEED)

    def _restart(self, seed: int) -> None:
        self._seed = seed
        self._bits._legacy_seeding(seed & 0xFFFFFFFF)
        self.next_normal: float | None = None
        # No function on the CPU sets or reads it; it is carried for the sake of states saved by PyTorch.
        self._next_float_normal: float | None = None

    def manual_seed(self, seed: int) -> Generator:
        """Restart the stream from ``seed``, an int in [-2**63, 2**64 - 1]; negative ones count from 2**64 down.

        Raises:
            RuntimeError: ``seed`` is not an int.
            ValueError: ``seed`` is out of range.
        """
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        seed = int(seed)
        if not -(2**63) <= seed < 2**64:
            raise ValueError(f"Overflow when unpacking long long: expected [-2**63, 2**64 - 1], but got {seed}")
        self._restart(seed % 2**64)
        return self

    def seed(self) -> int:
        """Restart the stream from a seed of the operating system's and return it."""
        self._restart(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def initial_seed(self) -> int:
        """The seed that the stream started from."""
        return self._seed

    def get_offset(self) -> int:
        """Only streams of CUDA have an offset: raises RuntimeError."""
        raise RuntimeError("CPU Generator does not use offset")

    def set_offset(self, offset: int) -> None:
        """Only streams of CUDA have an offset: raises RuntimeError."""
        raise RuntimeError("CPU Generator does not use offset")

    def get_state(self) -> np.ndarray:
        """The state as PyTorch writes it: a uint8 array (5056,)."""
        inner = self._bits.state["state"]
        words, position = inner["key"], inner["pos"]
        if position == _WORDS and words[0] == self._seed & 0xFFFFFFFF:
            position = 0  # nothing drawn yet: PyTorch starts from 0, NumPy from the end of the block before
        state = np.zeros(1, _STATE)
        fields = state[0]
        fields["seed"], fields["seeded"], fields["words"] = self._seed, 1, words
        fields["next"], fields["left"] = position, _WORDS + 1 - position if position else 1
        if self.next_normal is not None:
            fields["normal"], fields["normal_is_valid"] = self.next_normal, 1
        if self._next_float_normal is not None:
            fields["float_normal"], fields["float_normal_is_valid"] = self._next_float_normal, True
        return state.view(np.uint8)

    def set_state(self, state: np.ndarray) -> Generator:
        """Go on from a state of ``get_state``, PyTorch's or ours.

        Raises:
            TypeError: not a uint8 array.
            RuntimeError: another size, or no state of this generator.
        """
        if getattr(state, "dtype", None) != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if state.size != _STATE.itemsize:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {_STATE.itemsize} "
                f"but found the input RNG state size to be {state.size}"
            )
        fields = np.ascontiguousarray(state).reshape(-1).view(_STATE)[0]
        left, position = int(fields["left"]), int(fields["next"])
        if not fields["seeded"] or not (left == 1 and position <= _WORDS or 1 < left and left + position == _WORDS + 1):
            raise RuntimeError("Invalid mt19937 state")
        inner: Any = {"key": fields["words"].astype(np.uint32), "pos": _WORDS if left == 1 else position}
        self._bits.state = {"bit_generator": "MT19937", "state": inner}
        self._seed = int(fields["seed"])
        self.next_normal = float(fields["normal"]) if fields["normal_is_valid"] else None
        self._next_float_normal = float(fields["float_normal"]) if fields["float_normal_is_valid"] else None
        return self

    def clone_state(self) -> Generator:
        """A new generator that goes on from the same state."""
        return type(self)(self.device).set_state(Generator.get_state(self))

    def __getstate__(self) -> bytes:
        return Generator.get_state(self).tobytes()

    def __setstate__(self, state: bytes) -> None:
        Generator.set_state(self, np.frombuffer(state, np.uint8))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.device,), self.__getstate__()

    def words(self, n: int) -> np.ndarray:
        """The next ``n`` 32-bit draws, uint64 (n,)."""
        return self._raw(n)

    def long_words(self, n: int) -> np.ndarray:
        """The next ``n`` 64-bit draws, uint64 (n,)."""
        raw = self._raw(2 * n)
        high = raw[::2]
        high <<= _32
        high |= raw[1::2]
        return high

    def singles(self, n: int) -> np.ndarray:
        """``n`` numbers of [0, 1), float32 (n,): the low 24 bits of a draw."""
        raw = self._raw(n)
        raw &= _LOW_24
        values = raw.astype(np.float32)
        values *= _ULP_24
        return values

    def doubles(self, n: int) -> np.ndarray:
        """``n`` numbers of [0, 1), float64 (n,): the low 53 bits of a 64-bit draw."""
        long = self.long_words(n)
        long &= _LOW_53
        return long * 2.0**-53

    def normals(self, n: int) -> np.ndarray:
        """``n`` standard normal numbers made in pairs, float64 (n,); the second of a pair waits for the next call."""
        waiting = [] if self.next_normal is None or n == 0 else [self.next_normal]
        missing = n - len(waiting)
        uniform = self.doubles(missing + missing % 2).reshape(-1, 2)
        if n < 16:  # the C library's functions, so that the few are equal to the last bit
            made = np.array(waiting + [value for u1, u2 in uniform.tolist() for value in normal_pair(u1, u2)])
        else:
            radius, angle = np.sqrt(-2.0 * np.log1p(-uniform[:, 1])), 2.0 * math.pi * uniform[:, 0]
            pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], -1)
            made = np.concatenate([waiting, pairs.reshape(-1)])
        if n:
            self.next_normal = float(made[n]) if missing % 2 else None
        return made[:n]


def normal_pair(u1: float, u2: float) -> tuple[float, float]:
    """Two standard normal numbers of two uniform ones (Box and Muller)."""
    radius, angle = math.sqrt(-2.0 * math.log1p(-u2)), 2.0 * math.pi * u1
    return radius * math.cos(angle), radius * math.sin(angle)
