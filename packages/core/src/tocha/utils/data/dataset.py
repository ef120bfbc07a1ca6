"""Datasets: by index, as streams, and combinations of others."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import tocha
from tocha._core.tensor import Tensor

__all__ = [
    "ChainDataset", "ConcatDataset", "Dataset", "IterableDataset", "StackDataset", "Subset", "TensorDataset",
    "random_split",
]  # fmt: skip

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Samples by index: a subclass defines ``__getitem__``, and ``__len__`` for samplers to know how many there are.

    It may define ``__getitems__(indices)`` too, which gives the samples of a whole batch at once.

    Source: https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.Dataset

    >>> class Squares(Dataset):
    ...     def __len__(self):
    ...         return 4
    ...     def __getitem__(self, index):
    ...         return index * index
    >>> [Squares()[i] for i in range(4)]
    [0, 1, 4, 9]
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[T_co]) -> ConcatDataset[T_co]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """Samples as a stream: a subclass defines ``__iter__``.

    Each worker process of a ``DataLoader`` iterates its own copy: use ``get_worker_info()`` in ``__iter__`` to give
    each its part, or every sample comes once a worker.

    Source: https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.IterableDataset

    >>> class Count(IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(3))
    >>> list(Count())
    [0, 1, 2]
    """

    def __add__(self, other: Dataset[T_co]) -> ChainDataset:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """The entries of tensors along their first dimension.

    Args:
        tensors: of the same first size.

    Raises:
        AssertionError: the first sizes differ.

    >>> import tocha
    >>> TensorDataset(tocha.arange(3), tocha.zeros(3))[1]
    (tensor(1), tensor(0.))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensor.size(0) != tensors[0].size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple([tensor[index] for tensor in self.tensors])

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class StackDataset(Dataset[Any]):
    """Several datasets side by side: a sample is the tuple, or the dictionary, of their samples.

    Args:
        args: datasets, for tuples; or kwargs: named ones, for dictionaries.

    Raises:
        ValueError: both kinds, none, or datasets of different lengths.

    >>> StackDataset(image=[1, 2], label=["a", "b"])[0]
    {'image': 1, 'label': 'a'}
    """

    datasets: tuple | dict

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like input/output, but both "
                "types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        lengths = [len(dataset) for dataset in self._members()]
        self._length = lengths[0]
        if any(length != self._length for length in lengths):
            raise ValueError("Size mismatch between datasets")

    def _members(self) -> list[Any]:
        return list(self.datasets.values() if isinstance(self.datasets, dict) else self.datasets)

    def _sample(self, parts: Iterable[Any]) -> Any:
        return dict(zip(self.datasets, parts, strict=True)) if isinstance(self.datasets, dict) else tuple(parts)

    def __getitem__(self, index: Any) -> Any:
        return self._sample([dataset[index] for dataset in self._members()])

    def __getitems__(self, indices: list) -> list:
        """The samples of a batch; datasets inside that can give theirs at once do so.

        Raises:
            ValueError: one of them gave another number of samples.
        """
        columns = [samples_of(dataset, indices) for dataset in self._members()]
        for column in columns:
            if len(column) != len(indices):
                raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(column)}")
        return [self._sample(parts) for parts in zip(*columns, strict=True)]

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[T_co]):
    """Datasets one after the other.

    Args:
        datasets: with lengths; no ``IterableDataset``.

    Raises:
        AssertionError: there is none, or one is an ``IterableDataset``.

    >>> ConcatDataset([[1, 2], [3]])[2]
    3
    """

    datasets: list[Any]
    cumulative_sizes: list[int]

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """The lengths added up."""
        return list(itertools.accumulate(len(dataset) for dataset in sequence))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> T_co:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, idx)
        return self.datasets[which][idx - (self.cumulative_sizes[which - 1] if which else 0)]

    @property
    def cummulative_sizes(self) -> list[int]:
        """The deprecated spelling of ``cumulative_sizes``."""
        warnings.warn(
            "`cummulative_sizes` attribute is renamed to `cumulative_sizes`", category=FutureWarning, stacklevel=2
        )
        return self.cumulative_sizes


class ChainDataset(IterableDataset):
    """Streams one after the other.

    Args:
        datasets: of type ``IterableDataset``; looked at as they are reached.

    Raises:
        AssertionError: one is not an ``IterableDataset``.
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def _checked(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield dataset

    def __iter__(self) -> Iterator[Any]:
        for dataset in self._checked():
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._checked())


class Subset(Dataset[T_co]):
    """Some samples of a dataset.

    Args:
        dataset: the whole. indices: which, in this order.

    Raises:
        NotImplementedError: a subclass overrides ``__getitem__`` but not ``__getitems__``, which loaders prefer.

    >>> Subset(["a", "b", "c"], [2, 0])[0]
    'c'
    """

    dataset: Any
    indices: Sequence[int]

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices
        cls = type(self)
        if cls.__getitem__ is not Subset.__getitem__ and cls.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{cls.__name__} overrides __getitem__ but not __getitems__. When subclassing Subset and overriding "
                "__getitem__, you must also override __getitems__ to ensure DataLoader works correctly with your "
                "custom logic. A simple implementation:\n\n"
                "def __getitems__(self, indices):\n    return [self.__getitem__(idx) for idx in indices]"
            )

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[T_co]:
        """The samples of a batch."""
        return samples_of(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def samples_of(dataset: Any, indices: list[Any]) -> list[Any]:
    """The samples at several indices, at once where the dataset can."""
    together: Callable | None = getattr(dataset, "__getitems__", None)
    return together(indices) if callable(together) else [dataset[i] for i in indices]


def random_split(dataset: Dataset[T], lengths: Sequence[int | float], generator: Any = None) -> list[Subset[T]]:
    """Deal the samples out at random to subsets of given lengths.

    Args:
        dataset: the whole.
        lengths: numbers of samples, which add up to all; or fractions that add up to 1: what rounding leaves over goes
            to the first subsets, one each.
        generator: to draw from; the default one where None.

    Raises:
        ValueError: the lengths do not add up, or a fraction is out of range.

    Source: https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.random_split

    >>> [len(part) for part in random_split(range(10), [0.7, 0.3])]
    [7, 3]
    """
    total = len(dataset)  # type: ignore[arg-type]
    counts: list[Any] = list(lengths)
    if math.isclose(sum(counts), 1) and sum(counts) <= 1:
        for i, fraction in enumerate(counts):
            if fraction < 0 or fraction > 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        counts = [math.floor(total * fraction) for fraction in counts]
        for i in range(total - sum(counts)):
            counts[i % len(counts)] += 1
        for i, count in enumerate(counts):
            if count == 0:
                warnings.warn(
                    f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=2
                )
    if sum(counts) != total:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = tocha.randperm(total, generator=generator).tolist()
    return [Subset(dataset, order[end - n : end]) for end, n in zip(itertools.accumulate(counts), counts, strict=True)]
