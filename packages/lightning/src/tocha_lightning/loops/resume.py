"""Going on exactly where a checkpoint was saved: the place in the run, in the data, and the random states."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from tocha.utils.data import DataLoader, IterableDataset
from tocha_lightning.loops.fetcher import BatchFetcher
from tocha_lightning.trainer.data_sources import with_sampling
from tocha_lightning.utilities.combined_loader import CombinedLoader


def position(trainer: Any) -> str:
    """The point of the run at which training stands.

    Returns one of:
        ``"batch"``: a batch has begun, its optimizer step may be missing;
        ``"batch_end"``: in the hooks at the end of a batch;
        ``"validation"``: in a validation run between batches;
        ``"validation_end"``: in the hooks at the end of it;
        ``"epoch_end"``: in the hooks at the end of an epoch;
        ``"between"``: between epochs, before or after all of them.
    """
    fit_loop = trainer.fit_loop
    epoch, batch = fit_loop.epoch_progress.current, fit_loop.epoch_loop.batch_progress.current
    if epoch.processed > epoch.completed:
        return "epoch_end"
    if epoch.started <= epoch.processed:
        return "between"
    if trainer.validating:
        return "validation_end" if fit_loop.epoch_loop.val_loop.metrics_logged else "validation"
    if batch.processed > batch.completed:
        return "batch_end"
    return "batch"


class _Skipping:
    """A batch sampler that can pass over batches once it is being read."""

    def __init__(self, batch_sampler: Any) -> None:
        self._batch_sampler = batch_sampler
        self._iterator: Iterator[Any] = iter(())

    def __iter__(self) -> Iterator[Any]:
        self._iterator = iter(self._batch_sampler)
        return self._iterator

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def skip(self, batches: int) -> None:
        """Draw the indices of so many batches and forget them."""
        for _ in range(batches):
            next(self._iterator, None)


def fetcher_after(combined: CombinedLoader, batches: int, profiler: Any) -> BatchFetcher:
    """A fetcher that has passed over the first `batches` batches.

    Where one loader reads an indexed dataset in this process, what is passed over is not even loaded.
    """
    loader = combined.flattened[0] if len(combined.flattened) == 1 else None
    quick = (
        isinstance(loader, DataLoader)
        and loader.num_workers == 0
        and loader.batch_sampler is not None
        and not isinstance(loader.dataset, IterableDataset)
    )
    name = "[_TrainingEpochLoop].train_dataloader_next"
    if not quick or loader is None:
        fetcher = BatchFetcher(combined, profiler, name)
        fetcher.skip(batches)
        return fetcher
    sampler = _Skipping(loader.batch_sampler)
    rest = copy.copy(combined)
    rest.flattened = [with_sampling(loader, batch_sampler=sampler)]
    fetcher = BatchFetcher(rest, profiler, name)
    # not before the loader has made its iterator: both draw from the random generator, in this order
    sampler.skip(batches)
    fetcher.passed_over(batches)
    return fetcher


def _generators(combined: CombinedLoader | None) -> Iterator[Any]:
    """The random generators that loaders and samplers bring along, each once."""
    seen: set[int] = set()
    for loader in combined.flattened if combined is not None else ():
        sampler = getattr(loader, "sampler", None)
        for owner in (loader, sampler):
            generator = getattr(owner, "generator", None)
            if generator is not None and hasattr(generator, "get_state") and id(generator) not in seen:
                seen.add(id(generator))
                yield generator


def collect_generators(combined: CombinedLoader | None) -> list[Any]:
    """The states of the generators of all loaders."""
    return [generator.get_state() for generator in _generators(combined)]


def restore_generators(combined: CombinedLoader, states: list[Any]) -> None:
    """Restore what `collect_generators` returned."""
    for generator, state in zip(_generators(combined), states, strict=False):
        generator.set_state(state)
