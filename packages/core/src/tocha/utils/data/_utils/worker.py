"""What runs in a worker process of a ``DataLoader``."""

from __future__ import annotations

import os
import random
import signal
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tocha

# How often a worker looks whether the loader's process still is its parent.
PARENT_CHECK_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """This worker's number, how many there are, its seed, and its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str | None = "multiprocessing"


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """About the worker process this is called in (``id``, ``num_workers``, ``seed``, ``dataset``); None elsewhere.

    Source: https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.get_worker_info

    >>> get_worker_info() is None
    True
    """
    return _worker_info


class Failure:
    """An exception on its way from a worker to the loader: its type, and the traceback as text."""

    def __init__(self, error: BaseException, where: str) -> None:
        self.kind: Any = type(error)
        self.name, self.where = type(error).__name__, where
        self.text = "".join(traceback.format_exception(error))

    def __getstate__(self) -> dict[str, Any]:
        import pickle

        state = self.__dict__.copy()
        try:
            pickle.dumps(self.kind)
        except Exception:  # a class of a function, or of a module the loader does not have
            state["kind"] = None
        return state

    def reraise(self) -> None:
        """Raise an exception of the same type, with the worker's message and traceback.

        A type that cannot be made from one message becomes a ``RuntimeError``.
        """
        message: str = f"Caught {self.name} {self.where}.\nOriginal {self.text}"
        if self.kind is None:
            raise RuntimeError(message)
        kind = self.kind
        if kind is KeyError:
            message = _Verbatim(message)
        try:
            error = kind(message=message) if getattr(kind, "message", None) else kind(message)
        except Exception:
            raise RuntimeError(message) from None
        try:
            raise error
        finally:
            # An exception and a frame that hold each other would keep the iterator, and its processes, alive.
            del error


class _Verbatim(str):
    """A message that ``KeyError``, which prints the repr of its argument, prints as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Job:
    """Everything a worker needs to know."""

    fetcher: Callable  # makes a fetcher of (dataset, auto_collation, collate_fn, drop_last)
    dataset: Any
    auto_collation: bool
    collate_fn: Callable
    drop_last: bool
    base_seed: int
    init_fn: Callable[[int], Any] | None
    worker_id: int
    num_workers: int


# Messages to a worker are (number, index), RESUME or STOP; from a worker (number, result) or RESUMED.
STOP, RESUME, RESUMED = "stop", "resume", "resumed"


@dataclass(frozen=True)
class Ended:
    """The worker's part of a stream is at its end."""


def worker_loop(job: Job, connection: Any, inherited: list[Any]) -> None:
    """Serve batches until told to stop, or until the loader's process is gone.

    Args:
        job: what to serve. connection: to the loader.
        inherited: the loader's ends of other workers' connections, which a forked process holds open.
    """
    from .transport import Channel

    for other in inherited:
        other.close()
    # Ctrl-C reaches the whole process group: the loader's process decides what becomes of its workers. And handlers
    # that
    # the training script installed are not for us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _seed(job)
    global _worker_info
    seed = job.base_seed + job.worker_id
    _worker_info = WorkerInfo(job.worker_id, job.num_workers, seed, job.dataset)
    channel = Channel(connection)
    tasks = _read_tasks(connection)
    try:
        _serve(job, channel, tasks)
    except (BrokenPipeError, ConnectionResetError, EOFError):
        pass  # the loader does not want any more
    finally:
        channel.close()


def _serve(job: Job, channel: Any, tasks: Any) -> None:
    where = f"in DataLoader worker process {job.worker_id}"

    def start() -> Any:
        return job.fetcher(job.dataset, job.auto_collation, job.collate_fn, job.drop_last)

    fetcher: Any = None
    failure: Failure | None = None
    ended = False
    try:
        if job.init_fn is not None:
            job.init_fn(job.worker_id)
        fetcher = start()
    except Exception as error:
        failure = Failure(error, where)
    while (task := tasks.get()) != STOP:
        if task == RESUME:
            channel.send(RESUMED)
            ended = False
            try:
                fetcher = start()
            except Exception as error:
                failure = Failure(error, where)
            continue
        if ended:
            continue
        number, index = task
        result: Any
        if failure is not None:
            result, failure = failure, None
        else:
            try:
                result = fetcher.fetch(index)
            except StopIteration as error:
                ended = getattr(fetcher, "ended", None) is not None
                result = Ended() if ended else Failure(error, where)
            except Exception as error:
                result = Failure(error, where)
        try:
            channel.send((number, result))
        except OSError:
            raise
        except Exception as error:  # the batch does not pickle
            channel.send((number, Failure(error, where)))
        del result, task, index  # the batch's memory is not needed while the next is made


def _read_tasks(connection: Any) -> Any:
    """A queue that a thread fills from the connection, so that the loader never waits to hand over a task."""
    import queue
    import threading

    tasks: queue.SimpleQueue = queue.SimpleQueue()
    parent = os.getppid()

    def read() -> None:
        while True:
            try:
                if not connection.poll(PARENT_CHECK_SECONDS):
                    if os.getppid() != parent:
                        os._exit(1)
                    continue
                task = connection.recv()
            except (EOFError, OSError):
                os._exit(1)  # the loader's process died without a word
            tasks.put(task)
            if task == STOP:
                return

    threading.Thread(target=read, name="tocha-tasks", daemon=True).start()
    return tasks


def _seed(job: Job) -> None:
    """Seed all random streams, each worker's apart, with PyTorch's seeds."""
    seed = job.base_seed + job.worker_id
    random.seed(seed)
    tocha.manual_seed(seed)
    parts = [job.worker_id, job.base_seed & 0xFFFFFFFF, job.base_seed >> 32, 0]
    np.random.seed(np.random.SeedSequence(parts).generate_state(4).tolist())
    set_threads = getattr(tocha, "set_num_threads", None)
    if set_threads is not None:
        set_threads(1)
