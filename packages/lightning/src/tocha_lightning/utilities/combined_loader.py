"""Several data loaders read as one."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, Literal

Mode = Literal["min_size", "max_size_cycle", "max_size", "sequential"]
MODES = ("min_size", "max_size_cycle", "max_size", "sequential")
Number = int | float


def flatten(tree: Any) -> list[Any]:
    """The leaves of nested lists, tuples and dictionaries, in order."""
    if isinstance(tree, dict):
        return [leaf for value in tree.values() for leaf in flatten(value)]
    if type(tree) in (list, tuple) or (isinstance(tree, tuple) and hasattr(tree, "_fields")):
        return [leaf for value in tree for leaf in flatten(value)]
    return [tree]


def unflatten(tree: Any, leaves: Iterator[Any]) -> Any:
    """A copy of the nested containers of `tree` with its leaves taken from `leaves`."""
    if isinstance(tree, dict):
        return {key: unflatten(value, leaves) for key, value in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*[unflatten(value, leaves) for value in tree])
    if type(tree) in (list, tuple):
        return type(tree)([unflatten(value, leaves) for value in tree])
    return next(leaves)


def sized_len(loader: Any) -> int | None:
    """The number of batches of `loader`, or None where it does not know."""
    try:
        return len(loader)
    except (TypeError, NotImplementedError):
        return None


class CombinedLoader(Iterable[tuple[Any, int, int]]):
    """Iterates over several iterables at once, or one after the other.

    Args:
        iterables: one iterable or nested lists, tuples and dictionaries of them. A batch has the same structure.
        mode: ``"min_size"`` stops with the shortest; ``"max_size_cycle"`` stops with the longest and starts the
            others again; ``"max_size"`` stops with the longest and gives None for the others; ``"sequential"``
            reads one after the other.

    Iteration gives ``(batch, batch_idx, dataloader_idx)``.

    Raises:
        ValueError: an unknown mode.

    >>> loader = CombinedLoader({"a": range(3), "b": "xy"}, "max_size_cycle")
    >>> [batch for batch, batch_idx, dataloader_idx in loader]
    [{'a': 0, 'b': 'x'}, {'a': 1, 'b': 'y'}, {'a': 2, 'b': 'x'}]
    >>> list(CombinedLoader(["ab", "c"], "sequential"))
    [('a', 0, 0), ('b', 1, 0), ('c', 0, 1)]
    """

    def __init__(self, iterables: Any, mode: Mode = "min_size") -> None:
        if mode not in MODES:
            raise ValueError(f"Unsupported mode {mode!r}, please select one of: {list(MODES)}.")
        self._iterables = iterables
        self._flattened = flatten(iterables)
        self._mode = mode
        self._limits: list[Number] | None = None

    @property
    def iterables(self) -> Any:
        """The original collection of iterables."""
        return self._iterables

    @property
    def mode(self) -> str:
        """How the iterables are combined."""
        return self._mode

    @property
    def flattened(self) -> list[Any]:
        """The iterables as a list. Assign a list of the same length to replace them."""
        return self._flattened

    @flattened.setter
    def flattened(self, flattened: list[Any]) -> None:
        if len(flattened) != len(self._flattened):
            raise ValueError(
                f"Mismatch in flattened length ({len(flattened)}) and existing length ({len(self._flattened)})"
            )
        self._iterables = unflatten(self._iterables, iter(flattened))
        self._flattened = flattened

    @property
    def limits(self) -> list[Number] | None:
        """The most batches to take from each iterable."""
        return self._limits

    @limits.setter
    def limits(self, limits: Number | list[Number] | None) -> None:
        if isinstance(limits, (int, float)):
            limits = [limits] * len(self._flattened)
        elif isinstance(limits, list) and len(limits) != len(self._flattened):
            raise ValueError(
                f"Mismatch in number of limits ({len(limits)}) and number of iterables ({len(self._flattened)})"
            )
        self._limits = limits

    @property
    def sized(self) -> bool:
        """Whether every iterable knows its length: a limit alone does not say that there is so much data."""
        return all(sized_len(iterable) is not None for iterable in self._flattened)

    def _length(self, index: int) -> Number | None:
        length = sized_len(self._flattened[index])
        if self._limits is None:
            return length
        limit = self._limits[index]
        if length is None:
            return None if limit == float("inf") else limit
        return min(length, limit)

    def __len__(self) -> int:
        """The number of batches. Raises NotImplementedError where an iterable that matters has no length."""
        if not self._flattened:
            return 0
        lengths = [self._length(i) for i in range(len(self._flattened))]
        if self._mode == "min_size":
            known = [length for length in lengths if length is not None]
            if known:
                return int(min(known))
        elif not any(length is None for length in lengths):
            return int(sum(lengths) if self._mode == "sequential" else max(lengths))  # type: ignore[arg-type,type-var]
        raise NotImplementedError("A data loader has no length: `CombinedLoader` cannot know its own.")

    def _iterators(self) -> list[Iterator[Any]]:
        limits = self._limits or [float("inf")] * len(self._flattened)
        return [
            iter(it) if limit == float("inf") else itertools.islice(iter(it), int(limit))
            for it, limit in zip(self._flattened, limits, strict=True)
        ]

    def __iter__(self) -> Iterator[tuple[Any, int, int]]:
        if self._mode == "sequential":
            return self._sequential()
        # iterators are made now, not at the first batch: making one may draw from the global random generator
        return self._together(self._iterators())

    def _sequential(self) -> Iterator[tuple[Any, int, int]]:
        for index, iterable in enumerate(self._flattened):
            limit = float("inf") if self._limits is None else self._limits[index]
            if limit == 0:
                continue
            iterator = iter(iterable) if limit == float("inf") else itertools.islice(iter(iterable), int(limit))
            for batch_idx, batch in enumerate(iterator):
                yield batch, batch_idx, index

    def _together(self, iterators: list[Iterator[Any]]) -> Iterator[tuple[Any, int, int]]:
        done = [False] * len(iterators)
        for batch_idx in itertools.count():
            batches = []
            for i, iterator in enumerate(iterators):
                try:
                    batches.append(next(iterator))
                    continue
                except StopIteration:
                    if self._mode == "min_size":
                        return
                done[i] = True
                if all(done):
                    return
                if self._mode == "max_size":
                    batches.append(None)
                    continue
                iterators[i] = self._iterators()[i]
                try:
                    batches.append(next(iterators[i]))
                except StopIteration:
                    return
            if not iterators:
                return
            yield unflatten(self._iterables, iter(batches)), batch_idx, 0
