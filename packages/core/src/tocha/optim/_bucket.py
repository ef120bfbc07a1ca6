"""Many small parameters as one flat array: a step then costs a dozen calls of the array library, not a dozen each.

The parameters' raw arrays become pieces of the flat one, and so do the arrays of their state; gradients are gathered
with one ``concatenate``. What a user can do to a parameter between two steps is checked before each step
(``Bucket.ready``); where something moved, the caller falls back to stepping tensor by tensor, on the same state.
"""

from __future__ import annotations

import math
from sys import getrefcount
from typing import Any

import numpy as np

from tocha._core import arrays as array_modules
from tocha._core.tensor import Tensor

# Larger tensors are as fast on their own, and need no gathering.
SMALL = 16384


class Bucket:
    """Parameters of one group with one dtype on one device, whose scalars of state (``step``) agree.

    Args:
        xp: the array module. params: what to flatten. states: the state dictionary of each parameter.
        names: the state's arrays. scalar_names: the state's scalars.
    """

    def __init__(
        self,
        xp: Any,
        params: list[Tensor],
        states: list[dict[str, Any]],
        names: tuple[str, ...],
        scalar_names: tuple[str, ...],
    ) -> None:
        self.params, self.scalar_names = params, scalar_names
        self.array_type, self.dtype = type(params[0]._data), params[0]._data.dtype
        self.xp, self.concatenate = xp, xp.concatenate
        self.tools: tuple | None = None
        shapes = [p._data.shape for p in params]
        size = sum(math.prod(shape) for shape in shapes)
        self.flat, self.gradient = xp.empty(size, self.dtype), xp.empty(size, self.dtype)
        pieces = cut(self.flat, shapes)
        for p, piece in zip(params, pieces, strict=True):
            piece[...] = p._data
            p._data = piece
        kept: list[Any] = states if names or scalar_names else [None] * len(params)
        self.members = list(zip(params, pieces, kept, strict=True))
        self.arrays = tuple([xp.empty(size, self.dtype) for _ in names])
        self._pieces = {name: cut(array, shapes) for name, array in zip(names, self.arrays, strict=True)}
        self._adopt(states)

    def _adopt(self, states: list[dict[str, Any]]) -> None:
        """Take the values of the parameters' state over into flat arrays, of which the state then consists."""
        self.watched = []
        for name, pieces in self._pieces.items():
            for state, piece in zip(states, pieces, strict=True):
                piece[...] = state[name]._data
                state[name]._data = piece
                self.watched.append((state, name, piece))
        self.rows = []  # one a scalar: it has a dtype of its own
        for name in self.scalar_names:
            row = np.array([array_modules.to_host(state[name]._data) for state in states])
            self.rows.append(row)
            for i, state in enumerate(states):
                piece = row[i : i + 1].reshape(())
                state[name]._data = piece
                self.watched.append((state, name, piece))
        self._remember()

    def _bytes(self) -> bytes:
        return self.rows[0].tobytes() if len(self.rows) == 1 else b"".join([row.tobytes() for row in self.rows])

    def _remember(self) -> None:
        self.expected = self._bytes()
        self.values: tuple[float, ...] = tuple([row.item(0) for row in self.rows])

    def ready(self, states: dict[Tensor, dict[str, Any]]) -> bool:
        """Gather the gradients; False where one is absent or something was replaced since the last step.

        Args:
            states: the optimizer's, in which each parameter must still have the dictionary that it had.
        """
        gradients = []
        kind, dtype = self.array_type, self.dtype
        try:
            for p, piece, state in self.members:
                g = p._grad._data
                if p._data is not piece or type(g) is not kind or g.dtype != dtype or states.get(p) is not state:
                    return False
                gradients.append(g.reshape(-1))
            for state, name, piece in self.watched:
                if state[name]._data is not piece:
                    return False
        except (AttributeError, KeyError):  # no gradient, or no such state any more
            return False
        if self._bytes() != self.expected:
            if not all([(row == row[0]).all() for row in self.rows]):
                return False
            self._remember()
        self.concatenate(gradients, out=self.gradient)
        return True

    def waiting(self) -> bool:
        """Whether a gradient is absent: a reason to step tensor by tensor this time only."""
        return any(p._grad is None for p in self.params)

    def written(self, scalars: tuple[float, ...]) -> None:
        """Note that a step changed the parameters, and that the scalars of the state are now these."""
        for row, value in zip(self.rows, scalars, strict=True):
            row.fill(value)
        self._remember()
        for p in self.params:
            counter = p._counter
            if counter is None:
                p._counter = [1, 0]
            else:
                counter[0] += 1


def cut(flat: Any, shapes: list[tuple[int, ...]]) -> list[Any]:
    """Consecutive pieces of a flat array, in these shapes."""
    pieces, start = [], 0
    # Through a memoryview, each piece has an owner of its own size: whoever saves or copies the memory behind one
    # parameter (a file, a deepcopy) then takes that parameter alone, not the whole buffer.
    memory = memoryview(flat) if type(flat) is np.ndarray else None  # type: ignore[arg-type]
    for shape in shapes:
        stop = start + math.prod(shape)
        part = flat[start:stop] if memory is None else np.frombuffer(memory[start:stop], flat.dtype)
        pieces.append(part.reshape(shape))
        start = stop
    return pieces


class _Probe:
    __slots__ = ("_data",)

    def __init__(self, data: Any) -> None:
        self._data = data


def _references(t: Any) -> int:
    return getrefcount(t._data)


def _base_references(t: Any) -> int:
    return getrefcount(t._data.base)


# What the two functions count for an array that nobody else holds (it depends on the interpreter).
_ALONE = _references(_Probe(np.empty(2)))
_BASE_ALONE = _base_references(_Probe(np.empty(2)[:1]))


def movable(p: Tensor, flats: list[Any]) -> bool:
    """Whether the array of ``p`` may move: small, dense, of 4 or 8 bytes, and seen through ``p`` alone.

    ``p.detach()``, ``p.data``, ``p.numpy()``, a view, a ``state_dict`` or a graph that is still alive share memory with
    ``p`` and would go stale. All of them hold a reference to the array or to its base.

    Args:
        flats: weak references to the flat arrays of earlier buckets, whose pieces may move again.
    """
    raw = p._data
    if not 0 < raw.size <= SMALL or raw.dtype.kind != "f" or raw.dtype.itemsize < 4 or not raw.flags.c_contiguous:
        return False
    base = raw.base
    del raw
    if _references(p) > _ALONE or p._base is not None:
        return False
    if base is None:
        return True
    if type(base) is not np.ndarray:
        return False
    owner = base.base
    del base
    if _base_references(p) > _BASE_ALONE:
        return False
    return owner is None or (type(owner) is memoryview and any(owner.obj is flat() for flat in flats))
