"""A strict stand-in for CuPy, so that code for CUDA is tested where there is no GPU.

`xp` stands for the module `cupy` and `ndarray` for its arrays, which lie in host memory but do not let anything reach
it: NumPy arrays, lists and arrays of another device are refused as operands, nothing converts by itself, and only what
CuPy's table of names and parameters holds exists. Results of reductions are 0-d arrays, empty arrays hold rubbish, and
everything that makes the host wait is counted:

>>> from tocha.testing.strict_device import count_transfers, xp
>>> with count_transfers() as transfers:
...     total = xp.asarray([1.0, 2.0]).sum()
...     value = float(total)
>>> total.shape, value, transfers
((), 3.0, Transfers(synchronisations=1, uploads=1))

Not imitated: streams (everything has happened already), kernels written in CUDA, sparse matrices.
"""

from __future__ import annotations

from . import methods as _methods  # noqa: F401  (attaches the operators and methods of arrays)
from .array import ndarray
from .counters import Transfers, count_transfers
from .installation import install
from .namespace import MODULES, xp

cupyx = MODULES["cupyx"]

__all__ = ["Transfers", "count_transfers", "cupyx", "install", "ndarray", "xp"]
