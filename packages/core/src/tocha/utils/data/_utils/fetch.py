"""Getting one batch from a dataset."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dataset import samples_of


class MapFetcher:
    """Takes samples by index.

    Args:
        dataset: the dataset. auto_collation: whether indices come in lists, one a batch.
        collate_fn: what makes a batch of samples. drop_last: no effect here.
    """

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable, drop_last: bool) -> None:
        self.dataset, self.auto_collation, self.collate_fn = dataset, auto_collation, collate_fn

    def fetch(self, index: Any) -> Any:
        """The batch of a list of indices, or one sample."""
        return self.collate_fn(samples_of(self.dataset, index) if self.auto_collation else self.dataset[index])


class IterableFetcher:
    """Takes the next samples of a stream; raises ``StopIteration`` at its end.

    Args:
        dataset: the stream. auto_collation: whether to take a batch at a time.
        collate_fn: what makes a batch of samples. drop_last: leave a shorter last batch out.
    """

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable, drop_last: bool) -> None:
        self.auto_collation, self.collate_fn, self.drop_last = auto_collation, collate_fn, drop_last
        self.dataset_iter = iter(dataset)
        self.ended = False

    def fetch(self, index: Any) -> Any:
        """The next batch of as many samples as ``index`` has entries, or the next sample."""
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.dataset_iter))
        samples = []
        for _ in index:
            try:
                samples.append(next(self.dataset_iter))
            except StopIteration:
                self.ended = True
                break
        if not samples or (self.drop_last and len(samples) < len(index)):
            raise StopIteration
        return self.collate_fn(samples)
