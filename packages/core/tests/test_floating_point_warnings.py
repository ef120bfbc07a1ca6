"""Infinities and NaN come without a warning, as PyTorch's do: in every thread, and even where warnings are errors."""

import subprocess
import sys

import pytest

PROGRAM = """
import threading
import tocha

seen = []

def arithmetic():
    zero = tocha.zeros(2, requires_grad=True)
    y = 1 / zero + (zero - 1).log()
    y.sum().backward()
    seen.append((y.tolist(), zero.grad.tolist()))

if KIND == "main":
    arithmetic()
else:
    worker = threading.Thread(target=arithmetic)
    worker.start()
    worker.join()
print(seen)
"""


@pytest.mark.parametrize("kind", ["main", "thread"])
def test_infinities_come_without_a_warning(kind: str) -> None:
    code = f"KIND = {kind!r}\n{PROGRAM}"
    run = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert run.stderr == ""
    assert run.stdout == "[([nan, nan], [-inf, -inf])]\n"


def test_numpys_own_warnings_outside_of_tocha_stay_in_other_threads() -> None:
    code = """
import threading, warnings
import numpy, tocha
def work():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        numpy.log(numpy.zeros(1))
    print([str(c.message) for c in caught])
worker = threading.Thread(target=work)
worker.start()
worker.join()
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "['divide by zero encountered in log']\n"
