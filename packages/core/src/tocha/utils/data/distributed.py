"""A sampler for training in several processes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sized

import tocha

from .sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """Each process's part of a dataset, the same number for each.

    Args:
        dataset: its length is what counts.
        num_replicas: number of processes. rank: number of this one. Both are asked of ``tocha.distributed`` where None.
        shuffle: shuffle with ``seed + epoch``; call ``set_epoch`` before each epoch.
        seed: the same in all processes.
        drop_last: leave out what does not divide; otherwise the first samples come again.

    Raises:
        RuntimeError: a number is None and nothing distributed runs. ValueError: ``rank`` is out of range.

    Source: https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.distributed.DistributedSampler

    >>> list(DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            distributed = getattr(tocha, "distributed", None)
            if distributed is None or not distributed.is_available():
                raise RuntimeError("Requires distributed package to be available")
            num_replicas = distributed.get_world_size() if num_replicas is None else num_replicas
            rank = distributed.get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank, self.epoch = dataset, num_replicas, rank, 0
        self.shuffle, self.seed, self.drop_last = shuffle, seed, drop_last
        whole, rest = divmod(len(dataset), num_replicas)
        self.num_samples = whole + (rest > 0 and not drop_last)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        indices = list(range(len(self.dataset)))
        if self.shuffle:
            generator = tocha.Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = tocha.randperm(len(self.dataset), generator=generator).tolist()
        if not self.drop_last and indices:
            indices *= math.ceil(self.total_size / len(indices))
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Shuffle anew: call it in every process before an epoch begins."""
        self.epoch = epoch
