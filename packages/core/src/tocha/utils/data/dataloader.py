"""``DataLoader``: batches of a dataset."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from ._utils.collate import default_collate, default_convert
from ._utils.fetch import IterableFetcher, MapFetcher
from ._utils.worker import get_worker_info
from .dataset import Dataset, IterableDataset
from .iterators import _BaseDataLoaderIter, _MultiProcessingDataLoaderIter, _SingleProcessDataLoaderIter
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T_co = TypeVar("T_co", covariant=True)
_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class _InfiniteConstantSampler(Sampler[None]):
    """None without end: a stream needs no indices."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


class DataLoader(Generic[T_co]):
    """Batches of a dataset, made in this process or ahead of need in others.

    Args:
        dataset: by index (``__getitem__`` and ``__len__``) or a stream (``IterableDataset``).
        batch_size: samples a batch; None: no batches, samples one by one.
        shuffle: take the samples in another random order each pass.
        sampler: gives the indices, instead of ``shuffle``.
        batch_sampler: gives lists of indices, instead of ``batch_size``, ``shuffle``, ``sampler`` and ``drop_last``.
        num_workers: processes that make batches; 0: this one does.
        collate_fn: makes a batch of a list of samples; ``default_collate`` where None (``default_convert`` without
            batches).
        pin_memory: put batches into memory from which a GPU copies fast; no effect without one.
        drop_last: leave out a last batch that is shorter.
        timeout: seconds to wait for a batch of a worker; 0: without end.
        worker_init_fn: called with its number in each worker, after it is seeded.
        multiprocessing_context: how workers are started: ``"fork"``, ``"spawn"``, ``"forkserver"`` or a context.
        generator: what shuffles and seeds the workers; the default one where None.
        prefetch_factor: batches that each worker makes ahead; 2 where None.
        persistent_workers: keep the workers from one pass to the next.
        pin_memory_device: deprecated, no effect.
        in_order: give batches in the order of the indices; otherwise as workers have them ready.

    With ``num_workers=0`` exceptions of the dataset come as they are. A worker's exception is raised here with its
    type and message and the worker's traceback; a worker that dies raises ``RuntimeError`` at the next batch.

    Raises:
        ValueError: options that exclude each other, or are out of range.

    Source: https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.DataLoader

    >>> import tocha
    >>> [batch.tolist() for batch in DataLoader(tocha.arange(5), batch_size=2)]
    [[0, 1], [2, 3], [4]]
    """

    dataset: Dataset[T_co]
    batch_size: int | None
    num_workers: int
    sampler: Any
    batch_sampler: Any
    prefetch_factor: int | None
    drop_last: bool
    persistent_workers: bool
    _iterator: _MultiProcessingDataLoaderIter | None
    _initialized: bool = False

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Sampler[list] | Iterable[list] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        if num_workers > 0 and prefetch_factor is None:
            prefetch_factor = 2
        self.dataset, self.num_workers, self.prefetch_factor = dataset, num_workers, prefetch_factor
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.timeout, self.worker_init_fn, self.in_order = timeout, worker_init_fn, in_order
        self.multiprocessing_context = multiprocessing_context
        self._is_stream = isinstance(dataset, IterableDataset)
        if self._is_stream:
            _check_stream(shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            if self._is_stream:
                sampler = _InfiniteConstantSampler()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)
            else:
                sampler = SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler, self.generator = sampler, batch_sampler, generator
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self._initialized = True
        self._IterableDataset_len_called: int | None = None
        self._iterator = None
        self.check_worker_number_rationality()

    # ------------------------------------------------------------ iteration

    def __iter__(self) -> _BaseDataLoaderIter:
        if not (self.persistent_workers and self.num_workers > 0):
            return self._get_iterator()
        if self._iterator is None or not self._iterator._workers:
            iterator = self._get_iterator()
            assert isinstance(iterator, _MultiProcessingDataLoaderIter)
            self._iterator = iterator
        else:
            self._iterator._reset(self)
        return self._iterator

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    def __len__(self) -> int:
        """The number of batches; that of samples without batches.

        Raises:
            TypeError: the dataset, or the sampler, has no length.
        """
        if not self._is_stream:
            return len(self._index_sampler)
        samples = self._IterableDataset_len_called = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return samples
        return samples // self.batch_size if self.drop_last else math.ceil(samples / self.batch_size)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    @property
    def _fetcher_class(self) -> Any:
        return IterableFetcher if self._is_stream else MapFetcher

    def _make_fetcher(self, dataset: Any) -> Any:
        return self._fetcher_class(dataset, self._auto_collation, self.collate_fn, self.drop_last)

    # ------------------------------------------------------------ options

    def __setattr__(self, attr: str, val: Any) -> None:
        if self._initialized and attr in _FIXED:
            raise ValueError(f"{attr} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(attr, val)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_iterator": None}  # processes do not go with a copy

    @property
    def multiprocessing_context(self) -> Any:
        """How workers are started: a context of ``multiprocessing``, or None for its default."""
        return self._multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, value: Any) -> None:
        if value is not None:
            if self.num_workers == 0:
                raise ValueError(
                    "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                    f"num_workers={self.num_workers}"
                )
            import multiprocessing
            import multiprocessing.context

            if isinstance(value, str):
                methods = multiprocessing.get_all_start_methods()
                if value not in methods:
                    raise ValueError(
                        f"multiprocessing_context option should specify a valid start method in {methods!r}, but got "
                        f"multiprocessing_context={value!r}"
                    )
                value = multiprocessing.get_context(value)
            if not isinstance(value, multiprocessing.context.BaseContext):
                raise TypeError(
                    "multiprocessing_context option should be a valid context object or a string specifying the start "
                    f"method, but got multiprocessing_context={value}"
                )
        self._multiprocessing_context = value

    def check_worker_number_rationality(self) -> None:
        """Warn where there are more workers than processors to run them on."""
        if self.num_workers == 0:
            return
        affinity = getattr(os, "sched_getaffinity", None)
        processors = len(affinity(0)) if affinity is not None else os.cpu_count()
        if processors is not None and self.num_workers <= processors:
            return
        if processors is None:
            suggestion = "DataLoader is not able to compute a suggested max number of worker in current system."
        else:
            suggestion = (
                "Our suggested max number of worker in current system is "
                f"{processors}{'' if affinity is not None else ' (`cpuset` is not taken into account)'}, which is "
                "smaller than what this DataLoader is going to create."
            )
        warnings.warn(
            f"This DataLoader will create {self.num_workers} worker processes in total. {suggestion} Please be aware "
            "that excessive worker creation might get DataLoader running slow or even freeze, lower the worker number "
            "to avoid potential slowness/freeze if necessary.",
            stacklevel=3,
        )


def _check_workers(num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool) -> None:
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
            "multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_stream(shuffle: bool | None, sampler: Any, batch_sampler: Any) -> None:
    for name, value, absent in (
        ("shuffle", shuffle, shuffle in (False, None)),
        ("sampler", sampler, sampler is None),
        ("batch_sampler", batch_sampler, batch_sampler is None),
    ):
        if not absent:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
            )
