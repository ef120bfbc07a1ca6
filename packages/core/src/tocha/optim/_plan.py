"""Which parameters of a group are stepped together in a flat buffer, and which on their own."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from tocha._core import arrays as array_modules
from tocha._core.tensor import Tensor

from ._bucket import Bucket, movable

# A program that replaces its parameters' data at every step would have us build a buffer every time.
MOST_BUILDS = 8
LAST_LOOK = 1024


class Plan:
    """How to step one group. It holds until the group, the state or the parameters' memory is replaced.

    Args:
        params: the group's. states: the optimizer's state. state_of: gives the state of a parameter, begun if need be.
        names: the state's arrays. scalar_names: its scalars. previous: the plan that does not hold any more.
    """

    def __init__(
        self,
        params: list[Tensor],
        states: dict[Tensor, dict[str, Any]],
        state_of: Callable[[Tensor], dict[str, Any]],
        names: tuple[str, ...],
        scalar_names: tuple[str, ...],
        previous: Plan | None,
    ) -> None:
        self.params, self.states, self.broken = list(params), states, False
        self.builds: int = 1 if previous is None else previous.builds + 1
        self.flats: list[Any] = [] if previous is None else [flat for flat in previous.flats if flat() is not None]
        self.steps, self.look_at = 0, 2
        self.buckets: list[Bucket] = []
        if previous is not None:
            previous.buckets.clear()  # they hold references to the arrays, which could not move then
        alike: dict[tuple, list[Tensor]] = {}
        if self.builds <= MOST_BUILDS:
            for p in self.params:
                if p._grad is not None and movable(p, self.flats):
                    state = state_of(p)
                    scalars = tuple([state[name].item() for name in scalar_names])
                    alike.setdefault((type(p._data), p._data.dtype.str, scalars), []).append(p)
        together: set[int] = set()
        for members in alike.values():
            if len(members) < 2:
                continue
            xp = array_modules.module_of(members[0]._data)
            bucket = Bucket(xp, members, [state_of(p) for p in members], names, scalar_names)
            self.flats.append(weakref.ref(bucket.flat))
            self.buckets.append(bucket)
            together.update(map(id, members))
        self.rest = [p for p in self.params if id(p) not in together]

    def fits(self, params: list[Tensor], states: dict[Tensor, dict[str, Any]]) -> bool:
        """Whether the plan still describes the group."""
        if self.broken or states is not self.states or len(params) != len(self.params):
            return False
        for a, b in zip(self.params, params, strict=True):
            if a is not b:
                return False
        self.steps += 1
        if self.steps == self.look_at:
            # Arrays that something else held at the first step, such as a graph, may be free to move by now.
            self.look_at = self.steps * 2 if self.steps < LAST_LOOK else -1
            if sum(p._grad is not None and movable(p, self.flats) for p in self.rest) > 1:
                self.builds -= 1
                return False
        return True
