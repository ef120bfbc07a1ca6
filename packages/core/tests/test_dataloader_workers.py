"""The loader over worker processes: what arrives, what happens when a worker fails, and that nothing is left behind."""

import gc
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import tocha
from tocha.utils import data

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
]


class Numbers(data.Dataset):
    def __init__(self, n=10):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        return index


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] != "Z"


def pids_of(iterator):
    return [worker.process.pid for worker in iterator._workers]


def gone(pids, seconds=10.0):
    deadline = time.monotonic() + seconds
    while any(alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not any(alive(pid) for pid in pids)


@pytest.mark.parametrize("options", [
    {"batch_size": 3}, {"batch_size": 3, "shuffle": True}, {"batch_size": 4, "shuffle": True, "drop_last": True},
    {"batch_size": None, "shuffle": True},
])  # fmt: skip
def test_workers_change_neither_order_nor_the_random_stream(options):
    def loaded(**workers):
        tocha.manual_seed(3)
        loader = data.DataLoader(tocha.arange(11), **options, **workers)
        return [[batch.tolist() for batch in loader] for _ in range(2)] + [tocha.rand(2).tolist()]

    expected = loaded()
    assert loaded(num_workers=2) == expected
    assert loaded(num_workers=1, prefetch_factor=5) == expected


class Draws(Numbers):
    def __getitem__(self, index):
        return [random.random(), np.random.random(), tocha.rand(1).item(), data.get_worker_info().seed]


def test_each_worker_is_seeded_apart_and_the_same_every_time():
    def draws(seed):
        tocha.manual_seed(seed)
        return [tuple(row) for row in data.DataLoader(Draws(4), batch_size=None, num_workers=2)]

    first, again, other = draws(0), draws(0), draws(1)
    assert first == again
    assert len(set(first)) == 4
    assert first != other
    base = first[0][3]
    assert [row[3] for row in first] == [base, base + 1, base, base + 1]


class Stream(data.IterableDataset):
    def __init__(self, n=10):
        self.n = n

    def __iter__(self):
        info = data.get_worker_info()
        return iter(range(info.id, self.n + 3 * info.id, info.num_workers))


@pytest.mark.parametrize("persistent", [False, True])
def test_streams_end_worker_by_worker(persistent):
    loader = data.DataLoader(Stream(), batch_size=2, num_workers=2, persistent_workers=persistent)
    expected = sorted([*range(0, 10, 2), *range(1, 13, 2)])
    for _ in range(3):
        assert sorted(x for batch in loader for x in batch.tolist()) == expected


def test_persistent_workers_serve_every_pass_and_unfinished_ones():
    loader = data.DataLoader(Numbers(), batch_size=2, num_workers=2, persistent_workers=True)
    iterator = iter(loader)
    assert next(iterator).tolist() == [0, 1]
    pids = pids_of(iterator)
    for _ in range(2):
        assert [b.tolist() for b in loader] == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
    assert pids_of(loader._iterator) == pids
    del iterator, loader
    assert gone(pids)


class Arrays(Numbers):
    def __getitem__(self, index):
        return {
            "big": np.full((200, 100), index, "float32"),
            "small": tocha.full((3,), float(index)),
            "name": f"n{index}",
        }


def test_large_batches_come_through_shared_memory_whole_and_writable():
    for number, batch in enumerate(data.DataLoader(Arrays(6), batch_size=2, num_workers=2)):
        first = 2 * number
        assert batch["name"] == [f"n{first}", f"n{first + 1}"]
        assert batch["big"][:, 7, 9].tolist() == [first, first + 1]
        assert batch["small"].tolist() == [[first] * 3, [first + 1] * 3]
        batch["big"] += 1
        assert batch["big"].sum().item() == 20000 * (2 * first + 3)


def test_many_batches_leave_no_descriptors_open():
    loader = data.DataLoader(Arrays(400), batch_size=1, num_workers=2)
    iterator = iter(loader)
    next(iterator)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(300):
        next(iterator)
    assert len(os.listdir("/proc/self/fd")) <= before + 2


def test_batches_of_workers_can_be_in_any_order():
    loader = data.DataLoader(Slow({0: 0.4}), batch_size=None, num_workers=2, in_order=False)
    order = list(loader)
    assert sorted(order) == list(range(10))
    assert order[0] != 0


class Slow(Numbers):
    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds

    def __getitem__(self, index):
        time.sleep(self.seconds.get(index, 0))
        return index


class WhenAndWhere(Numbers):
    def __getitem__(self, index):
        begin = time.monotonic()
        time.sleep(0.05)
        return os.getpid(), begin, time.monotonic()


def test_two_workers_work_at_once():
    work = list(data.DataLoader(WhenAndWhere(), batch_size=None, num_workers=2))
    first, second = ([w for w in work if w[0] == worker] for worker in sorted({w[0] for w in work}))
    assert any(a[1] < b[2] and b[1] < a[2] for a in first for b in second)


# ---------------------------------------------------------------- failures


class TwoArguments(Exception):
    def __init__(self, message, code):
        super().__init__(message)


class Fails(Numbers):
    def __init__(self, error):
        super().__init__()
        self.error = error

    def __getitem__(self, index):
        if index == 3:
            raise self.error
        return index


@pytest.mark.parametrize(
    ("error", "kind"),
    [(ValueError("bad sample"), ValueError), (KeyError("k"), KeyError), (TwoArguments("m", 2), RuntimeError)],
)
def test_a_workers_exception_comes_with_its_type_message_and_traceback(error, kind):
    iterator = iter(data.DataLoader(Fails(error), num_workers=2))
    pids = pids_of(iterator)
    with pytest.raises(kind) as caught:
        list(iterator)
    text = str(caught.value)
    assert text.startswith(f"Caught {type(error).__name__} in DataLoader worker process 1.\nOriginal Traceback")
    assert "raise self.error" in text and str(error) in text
    del iterator, caught
    gc.disable()  # not only when the collector runs
    try:
        assert gone(pids)
    finally:
        gc.enable()


def test_after_an_exception_the_loader_goes_on():
    iterator = iter(data.DataLoader(Fails(ValueError("bad")), num_workers=2))
    got = []
    while True:
        try:
            got.append(next(iterator).item())
        except ValueError:
            got.append("bad")
        except StopIteration:
            break
    assert got == [0, 1, 2, "bad", 4, 5, 6, 7, 8, 9]


class Unpicklable(Numbers):
    def __getitem__(self, index):
        return lambda: index


def test_a_batch_that_does_not_pickle_says_so():
    with pytest.raises(Exception, match="in DataLoader worker process 0.*pickle|local object") as caught:
        list(data.DataLoader(Unpicklable(), num_workers=1, collate_fn=list))
    assert "Original Traceback" in str(caught.value)


def test_an_exception_of_the_worker_init_fn():
    with pytest.raises(ZeroDivisionError, match="Caught ZeroDivisionError in DataLoader worker process 0"):
        list(data.DataLoader(Numbers(), num_workers=1, worker_init_fn=lambda worker: 1 / 0))


class Dies(Numbers):
    def __init__(self, how):
        super().__init__(1000)
        self.how = how

    def __getitem__(self, index):
        if index == 3:
            self.how()
        return index


def test_a_killed_worker_is_reported_at_once():
    iterator = iter(data.DataLoader(Dies(lambda: os.kill(os.getpid(), signal.SIGKILL)), num_workers=2))
    pids, started = pids_of(iterator), time.monotonic()
    with pytest.raises(RuntimeError, match=f"DataLoader worker \\(pid {pids[1]}\\) is killed by signal: Killed"):
        list(iterator)
    assert time.monotonic() - started < 5
    assert gone(pids)
    with pytest.raises(RuntimeError, match="iterate over the DataLoader again"):
        next(iterator)


def test_a_worker_that_exits_is_reported():
    with pytest.raises(RuntimeError, match="exited unexpectedly with exit code 3"):
        list(data.DataLoader(Dies(lambda: os._exit(3)), num_workers=2))


def test_the_timeout():
    with pytest.raises(RuntimeError, match="DataLoader timed out after 0.3 seconds"):
        list(data.DataLoader(Slow({5: 1.0}), num_workers=2, timeout=0.3))


# ---------------------------------------------------------------- ends

SCRIPT = """
    import os, sys, time
    from tocha.utils import data
    class Slow(data.Dataset):
        def __len__(self): return 1000
        def __getitem__(self, index): time.sleep(0.02); return index
    if __name__ == "__main__":
        loaders = [data.DataLoader(Slow(), num_workers=1) for _ in range(2)]
        iterators = [iter(loader) for loader in loaders]
        for iterator in iterators: next(iterator)
        print(*[w.process.pid for i in iterators for w in i._workers], flush=True)
        {end}
"""


@pytest.mark.parametrize(
    ("end", "send"),
    [
        ("sys.exit(0)", None),
        ("time.sleep(60)", signal.SIGKILL),
        ("time.sleep(60)", signal.SIGTERM),
        ("list(iterators[0])", signal.SIGINT),
        ("1 / 0", None),
    ],
)
def test_no_process_outlives_the_script(tmp_path, end, send):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT).format(end=end), encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    pids = [int(pid) for pid in process.stdout.readline().split()]
    assert len(pids) == 2
    if send is not None:
        # Ctrl-C reaches the whole group; the others the script alone.
        os.killpg(process.pid, send) if send == signal.SIGINT else process.send_signal(send)
    process.communicate(timeout=30)
    assert gone(pids)


def children():
    return {child.pid for child in multiprocessing.active_children()}


def test_leaving_a_loop_stops_the_workers():
    before = children()
    for batch in data.DataLoader(Numbers(1000), num_workers=2):
        pids = children() - before
        if batch.item() == 3:
            break
    assert len(pids) == 2
    assert gone(pids)


def test_workers_are_safe_after_blas_has_run():
    big = np.ones((400, 400), "float32")
    big @ big
    loader = data.DataLoader(Products(), batch_size=None, num_workers=2)
    assert [x.item() for x in loader] == [200.0] * 4


class Products(Numbers):
    def __init__(self):
        super().__init__(4)

    def __getitem__(self, index):
        big = tocha.ones(200, 200)
        return (big @ big)[0, 0]


def test_workers_can_be_spawned(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
            from tocha.utils import data
            class Squares(data.Dataset):
                def __len__(self): return 4
                def __getitem__(self, index): return index * index
            if __name__ == "__main__":
                loader = data.DataLoader(Squares(), batch_size=2, num_workers=1, multiprocessing_context="spawn")
                print([batch.tolist() for batch in loader])
        """),
        encoding="utf-8",
    )
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    assert run.stdout.strip() == "[[0, 1], [4, 9]]", run.stderr
