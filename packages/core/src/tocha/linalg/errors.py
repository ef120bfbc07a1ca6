"""The error of matrices that cannot be factorised, and the checks that come first."""

from __future__ import annotations

from typing import Any

import numpy as np

from tocha._core.inplace import store
from tocha._core.tensor import Tensor


class LinAlgError(RuntimeError):
    """A factorisation or inverse does not exist, as ``torch.linalg.LinAlgError``."""


def check_floating(x: Tensor, name: str, low: bool = False) -> None:
    d = x._data.dtype
    if d.kind not in "fc" or d.itemsize == 2:
        from tocha._core.templates import scalar_type_name

        if d.itemsize == 2:
            raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {scalar_type_name(d)}")
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {scalar_type_name(d)}")


def check_matrix(x: Tensor, name: str, argument: str = "A") -> None:
    if len(x._data.shape) < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")


def check_square(x: Tensor, name: str, argument: str = "A") -> None:
    check_matrix(x, name, argument)
    rows, columns = x._data.shape[-2:]
    if rows != columns:
        raise RuntimeError(
            f"{name}: {argument} must be batches of square matrices, but they are {rows} by {columns} matrices"
        )


def infos(x: Tensor) -> Tensor:
    """LAPACK's status of success, an int32 zero a matrix."""
    import tocha

    return tocha.zeros(tuple(x._data.shape[:-2]), dtype=tocha.int32, device=x.device)


def given(result: Any, out: Any) -> Any:
    return result if out is None else store(out, result)


eps_of = {np.dtype(d): float(np.finfo(d).eps) for d in ("float32", "float64", "complex64", "complex128")}
