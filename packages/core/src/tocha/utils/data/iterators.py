"""The iterators of a ``DataLoader``: in this process, or over worker processes."""

from __future__ import annotations

import itertools
import signal
import time
import warnings
import weakref
from typing import TYPE_CHECKING, Any

import tocha

from ._utils import pin_memory as pinning
from ._utils.worker import RESUME, RESUMED, STOP, Ended, Failure, Job, worker_loop
from .sampler import draw_seed

if TYPE_CHECKING:
    from .dataloader import DataLoader

# How long workers may take to finish what they are at when they are told to stop.
SHUTDOWN_SECONDS = 5.0


class _BaseDataLoaderIter:
    """One pass over a loader."""

    def __init__(self, loader: DataLoader) -> None:
        # Not the loader itself: it holds the iterator of persistent workers, and a cycle would outlive ``del loader``.
        self._dataset, self._num_workers, self._index_sampler = (
            loader.dataset,
            loader.num_workers,
            loader._index_sampler,
        )
        self._timeout, self._in_order, self._persistent = loader.timeout, loader.in_order, loader.persistent_workers
        self._expected = loader._IterableDataset_len_called
        self._pin = loader.pin_memory and _accelerator_available()
        if loader.pin_memory and loader.pin_memory_device:
            warnings.warn(
                "pin_memory_device is deprecated, the current accelerator will be used as the device,ignore "
                f"pin_memory_device='{loader.pin_memory_device}'.",
                stacklevel=4,
            )
        if loader.pin_memory and not self._pin:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be "
                "used.",
                stacklevel=4,
            )
        self._sampler_iter = iter(loader._index_sampler)
        # Drawn after the sampler's iterator is made and before its first index, as PyTorch does.
        self._base_seed = draw_seed(loader.generator)
        self._num_yielded = 0

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        data = self._next_data()
        self._num_yielded += 1
        if self._expected is not None and self._num_yielded > self._expected:
            self._warn_of_length()
        return pinning.pin_memory(data) if self._pin else data

    def _warn_of_length(self) -> None:
        message = (
            f"Length of IterableDataset {self._dataset} was reported to be {self._expected}(when accessing "
            f"len(dataloader)), but {self._num_yielded} samples have been fetched. "
        )
        if self._num_workers > 0:
            message += (
                "For multiprocessing data-loading, this could be caused by not properly configuring the "
                "IterableDataset replica at each worker. Please see "
                "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
            )
        warnings.warn(message, stacklevel=3)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Makes batches in this process, one when it is asked for."""

    def __init__(self, loader: DataLoader) -> None:
        super().__init__(loader)
        if loader.timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        self._fetcher = loader._make_fetcher(loader.dataset)

    def _next_data(self) -> Any:
        return self._fetcher.fetch(next(self._sampler_iter))


class _Worker:
    """A worker process, seen from the loader's."""

    def __init__(self, process: Any, channel: Any) -> None:
        self.process, self.channel = process, channel
        self.active = True  # gets tasks; a worker whose part of a stream is at its end does not
        self.tasks = 0


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Hands indices to workers in turn, some ahead of need, and gives their batches in the order of the indices."""

    def __init__(self, loader: DataLoader) -> None:
        super().__init__(loader)
        if not loader.prefetch_factor:
            raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
        self._most_tasks = loader.prefetch_factor * loader.num_workers
        self._workers: list[_Worker] = []
        self._finish = weakref.finalize(self, _shut_down, self._workers)
        try:
            _start_workers(loader, self._base_seed, self._workers)
        except BaseException:
            self._finish()
            raise
        self._begin()

    def _begin(self) -> None:
        """Set the counts of a pass, and hand out its first indices."""
        self._sent = self._given = 0  # numbers of the next index to hand out and of the next batch to give
        self._where: dict[int, _Worker] = {}  # who has which number
        self._early: dict[int, Any] = {}  # results that came before their turn
        self._turn = itertools.cycle(self._workers)
        for worker in self._workers:
            worker.active, worker.tasks = True, 0
        for _ in range(self._most_tasks):
            self._hand_out()

    def _reset(self, loader: DataLoader) -> None:
        """Begin another pass with the same workers."""
        self._sampler_iter = iter(loader._index_sampler)
        self._num_yielded, self._expected = 0, loader._IterableDataset_len_called
        for worker in self._workers:
            worker.channel.connection.send(RESUME)
        for worker in self._workers:
            # What is left of an unfinished pass comes first.
            while self._from(worker) != RESUMED:
                pass
        self._begin()

    # ------------------------------------------------------------ tasks

    def _hand_out(self) -> None:
        """Give the next index to the next worker that takes any."""
        try:
            index = next(self._sampler_iter)
        except StopIteration:
            return
        active = sum(worker.active for worker in self._workers)
        for worker in itertools.islice(self._turn, len(self._workers)):
            if worker.active and (self._in_order or worker.tasks < self._most_tasks // active):
                break
        else:
            return
        self._where[self._sent] = worker
        worker.tasks += 1
        try:
            worker.channel.connection.send((self._sent, index))
        except OSError:
            raise self._died(worker) from None
        self._sent += 1

    def _next_data(self) -> Any:
        while True:
            # Numbers that a worker had when its stream ended get no result.
            while self._given < self._sent and self._given not in self._where and self._given not in self._early:
                self._given += 1
            if self._given == self._sent and not self._where:
                if not self._persistent:
                    self._finish()
                raise StopIteration
            if self._given in self._early:
                return self._deliver(self._early.pop(self._given))
            number, result, worker = self._receive()
            if isinstance(result, Ended):
                self._end(worker)
                self._hand_out()
                continue
            del self._where[number]
            worker.tasks -= 1
            if number == self._given:
                return self._deliver(result)
            if not self._in_order:
                return self._deliver(result, count=False)
            self._early[number] = result

    def _deliver(self, result: Any, count: bool = True) -> Any:
        self._given += count
        self._hand_out()
        if isinstance(result, Failure):
            result.reraise()
        return result

    def _end(self, worker: _Worker) -> None:
        """The worker's stream is at its end: forget what else it was to do."""
        worker.active = False
        for number in [number for number, who in self._where.items() if who is worker]:
            del self._where[number]
        if not self._persistent:
            worker.channel.connection.send(STOP)

    # ------------------------------------------------------------ results

    def _receive(self) -> tuple[int, Any, _Worker]:
        """The next result of any worker.

        Raises:
            RuntimeError: the timeout has passed, or a worker died.
        """
        from multiprocessing.connection import wait

        timeout = self._timeout
        busy = {worker.channel.connection: worker for worker in self._workers if worker.active}
        if not busy:
            raise RuntimeError("The workers of this iterator have stopped; iterate over the DataLoader again")
        ready = wait(list(busy), timeout if timeout > 0 else None)
        if not ready:
            raise RuntimeError(f"DataLoader timed out after {timeout} seconds")
        worker = busy[ready[0]]
        number, result = self._from(worker)
        return number, result, worker

    def _from(self, worker: _Worker) -> Any:
        try:
            return worker.channel.receive()
        except (EOFError, OSError):
            raise self._died(worker) from None

    def _died(self, worker: _Worker) -> RuntimeError:
        """What to say of a worker whose end of the connection is closed."""
        process = worker.process
        process.join(SHUTDOWN_SECONDS)
        worker.active = False
        code, pid = process.exitcode, process.pid
        self._finish()
        if code is not None and code < 0:
            message = f"DataLoader worker (pid {pid}) is killed by signal: {signal.strsignal(-code)}. "
            if -code == getattr(signal, "SIGBUS", None):
                message += "It is possible that dataloader's workers are out of shared memory."
            elif -code == getattr(signal, "SIGKILL", None):
                message += "The system does that to a process that uses too much memory."
            return RuntimeError(message.rstrip())
        return RuntimeError(
            f"DataLoader worker (pid(s) {pid}) exited unexpectedly with exit code {code}. Rerunning with num_workers=0 "
            "may give better error trace."
        )

    def _shutdown_workers(self) -> None:
        """Stop the workers; no further batch comes."""
        self._finish()


def _accelerator_available() -> bool:
    available = getattr(getattr(tocha, "cuda", None), "is_available", None)
    return available is not None and available()


def _start_workers(loader: DataLoader, base_seed: int, workers: list[_Worker]) -> None:
    import multiprocessing

    from ._utils.transport import Channel

    context: Any = loader.multiprocessing_context or multiprocessing.get_context()
    forks = (context.get_start_method() if hasattr(context, "get_start_method") else None) == "fork"
    for i in range(loader.num_workers):
        ours, theirs = context.Pipe(duplex=True)
        job = Job(
            loader._fetcher_class, loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last,
            base_seed, loader.worker_init_fn, i, loader.num_workers,
        )  # fmt: skip
        # A forked process holds copies of all our ends; while it does, the other workers would not see us die.
        inherited = [ours, *[worker.channel.connection for worker in workers]] if forks else []
        process = context.Process(target=worker_loop, args=(job, theirs, inherited), daemon=True)
        try:
            with warnings.catch_warnings():
                # Of forking beside threads: BLAS threads are made anew in the child, and ours hold no locks.
                warnings.simplefilter("ignore", DeprecationWarning)
                process.start()
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        workers.append(_Worker(process, Channel(ours)))


def _shut_down(workers: list[_Worker]) -> None:
    """Stop the worker processes: politely, then by a signal, then by one that cannot be ignored."""
    for worker in workers:
        try:
            worker.channel.connection.send(STOP)
        except OSError:
            pass
        worker.channel.close()
    deadline = time.monotonic() + SHUTDOWN_SECONDS
    for worker in workers:
        worker.process.join(max(0.0, deadline - time.monotonic()))
    for stop in ("terminate", "kill"):
        alive = [worker.process for worker in workers if worker.process.is_alive()]
        for process in alive:
            getattr(process, stop)()
        for process in alive:
            process.join(1.0)
    workers.clear()
