"""Operators that are easily quadratic, on a million elements, beside PyTorch: ``python complexity.py``.

Prints milliseconds and the ratio to PyTorch for n and 2n, so that a growth above linear shows.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from typing import Any

N = 1_000_000


def cases(m: Any, n: int) -> dict[str, Callable[[], Any]]:
    m.manual_seed(0)
    x, wide = m.randn(n), m.randn(n // 16, 16)
    index, few = m.randint(0, n, (n,)), m.randint(0, 1000, (n,))
    rows = m.randint(0, n // 16, (n // 16,))
    table = m.randn(50_000, 16, requires_grad=True)
    words = m.randint(0, 50_000, (n // 16,))

    def embedding() -> None:
        table.grad = None
        m.nn.functional.embedding(words, table).sum().backward()

    def getitem() -> None:
        y = x.clone().requires_grad_()
        y[index].sum().backward()

    return {
        "index_add": lambda: m.zeros(n).index_add(0, index, x),
        "index_add rows": lambda: m.zeros(n // 16, 16).index_add(0, rows, wide),
        "scatter_add": lambda: m.zeros(n).scatter_add(0, index, x),
        "scatter_add few": lambda: m.zeros(1000).scatter_add(0, few, x),
        "scatter_reduce": lambda: m.zeros(1000).scatter_reduce(0, few, x, "amax"),
        "index_put": lambda: m.zeros(n).index_put((index,), x, accumulate=True),
        "gather": lambda: x.gather(0, index),
        "index backward": getitem,
        "embedding backward": embedding,
        "unique": lambda: m.unique(few, return_inverse=True, return_counts=True),
        "unique many": lambda: m.unique(index),
        "bincount": lambda: m.bincount(few),
        "sort": lambda: x.sort(),
        "argsort": lambda: x.argsort(),
        "topk": lambda: x.topk(100),
        "median": lambda: x.median(),
        "kthvalue": lambda: x.kthvalue(n // 2),
        "cumsum": lambda: x.cumsum(0),
        "cumprod": lambda: x.cumprod(0),
        "cummax": lambda: x.cummax(0),
        "logcumsumexp": lambda: x.logcumsumexp(0),
        "searchsorted": lambda: m.searchsorted(x.sort().values, x),
        "nonzero": lambda: (x > 0).nonzero(),
        "masked_select": lambda: x[x > 0],
        "repeat_interleave": lambda: x.repeat_interleave(2),
        "histc": lambda: x.histc(100),
    }


def best(fn: Callable[[], Any], tries: int = 3) -> float:
    times = []
    for _ in range(tries):
        start = time.perf_counter()
        fn()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def main() -> int:
    ours, theirs = importlib.import_module("tocha"), importlib.import_module("torch")
    importlib.import_module("tocha.nn")
    theirs.set_num_threads(1)
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    worst = 0.0
    print(f"{'operator':20}{'ms':>9}{'torch':>9}{'ratio':>7}{'2n ms':>9}{'growth':>8}")
    mine, other, double = cases(ours, N), cases(theirs, N), cases(ours, 2 * N)
    for name, fn in mine.items():
        if only not in name:
            continue
        a, b, c = best(fn), best(other[name]), best(double[name])
        worst = max(worst, a / b)
        print(f"{name:20}{a:9.1f}{b:9.1f}{a / b:7.2f}{c:9.1f}{c / a:8.2f}", flush=True)
    print(f"largest ratio to PyTorch: {worst:.2f}")
    return 0 if worst <= 3 else 1


if __name__ == "__main__":
    sys.exit(main())
