"""Taking batches from loaders, knowing which one is the last."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tocha_lightning.utilities.combined_loader import CombinedLoader, sized_len

_NOTHING = object()


class BatchFetcher:
    """An iterator over ``(batch, batch_idx, dataloader_idx)`` whose `done` is true with the last batch.

    Where the loader has no length it stays one batch ahead.
    """

    def __init__(self, loader: CombinedLoader, profiler: Any = None, profile_name: str = "") -> None:
        self._loader = loader
        self._iterator: Iterator[Any] = iter(loader)
        self._length = sized_len(loader) if loader.sized else None
        self.fetched = 0
        self.done = self._length == 0
        self._ahead: Any = _NOTHING
        self._profiler = profiler if profiler is not None and profiler.active else None
        self._profile_name = profile_name

    def skip(self, batches: int) -> None:
        """Pass over batches that an interrupted epoch has seen already."""
        for _ in range(batches):
            next(self)

    def passed_over(self, batches: int) -> None:
        """The loader itself has left out its first `batches` batches."""
        self.fetched += batches
        self.done = self._length is not None and self.fetched >= self._length

    def __iter__(self) -> BatchFetcher:
        return self

    def _next(self) -> Any:
        if self._profiler is None:
            return next(self._iterator)
        with self._profiler.profile(self._profile_name):
            return next(self._iterator)

    def __next__(self) -> Any:
        if self._length is not None:
            item = self._next()
            self.fetched += 1
            self.done = self.fetched >= self._length
            return item
        item = self._next() if self._ahead is _NOTHING else self._ahead
        self._ahead = _NOTHING
        self.fetched += 1
        try:
            self._ahead = self._next()
        except StopIteration:
            self.done = True
            # a further call has to end, not to ask an exhausted iterator of unknown manners
            self._iterator = iter(())
        return item


class StepIterator:
    """What ``training_step(dataloader_iter)`` gets: an iterator that moves each batch to the device.

    The batch it gave last, and its number, are what the batch-end hooks see.
    """

    def __init__(self, fetcher: BatchFetcher, transfer: Any) -> None:
        self.fetcher = fetcher
        self._transfer = transfer
        self.batch: Any = None
        self.batch_idx = 0
        self.dataloader_idx = 0

    @property
    def done(self) -> bool:
        """Whether there are no more batches."""
        return self.fetcher.done

    def __iter__(self) -> StepIterator:
        return self

    def __next__(self) -> tuple[Any, int, int]:
        batch, self.batch_idx, self.dataloader_idx = next(self.fetcher)
        self.batch = self._transfer(batch, self.dataloader_idx)
        return self.batch, self.batch_idx, self.dataloader_idx
