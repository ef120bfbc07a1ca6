"""Gradients against finite differences, to first and second order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.tensor import Tensor, wrap
from ._backward import grad

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """A gradient differs from its numerical estimate."""


def _tuple(x: Any) -> tuple:
    return (x,) if isinstance(x, Tensor) else tuple(x)


def _differentiable(outputs: Any) -> list[Tensor]:
    return [o for o in _tuple(outputs) if isinstance(o, Tensor) and o.requires_grad]


def _real_parts(t: Tensor) -> list[np.ndarray]:
    """An output as real functions: itself, or its real and imaginary parts."""
    raw = t.detach().numpy()
    return [raw.real.copy(), raw.imag.copy()] if raw.dtype.kind == "c" else [raw.copy()]


def _numerical(fn: Callable[[], list[np.ndarray]], x: np.ndarray, eps: float) -> list[np.ndarray]:
    """Central differences of each real output: (elements of x, elements of output).

    For complex ``x``, derivative along the real axis plus ``1j`` times that along the imaginary one, PyTorch's
    convention.
    """
    flat = x.reshape(-1)
    count = len(fn())
    rows: list[list[np.ndarray]] = [[] for _ in range(count)]
    for i in range(flat.size):
        total: list = [0] * count
        for unit in (1, 1j) if flat.dtype.kind == "c" else (1,):
            old = flat[i]
            flat[i] = old + eps * unit
            high = fn()
            flat[i] = old - eps * unit
            low = fn()
            flat[i] = old
            total = [t + unit * (h - v) / (2 * eps) for t, h, v in zip(total, high, low)]
        for row, t in zip(rows, total):
            row.append(np.asarray(t).reshape(-1))
    return [np.stack(row) if row else np.zeros((0, 0)) for row in rows]


def gradcheck(
    func: Callable, inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
    raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False, check_batched_grad: bool = False, check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False, check_backward_ad: bool = True, fast_mode: bool = False, masked: bool | None = None,
) -> bool:  # fmt: skip
    """Compare the gradients of ``func(*inputs)`` with central differences; inputs that require grad should be float64.

    Raises:
        GradcheckError: they differ (with ``raise_exception``; otherwise the result is False).
        ValueError: no input requires grad.

    Example:
        >>> import tocha
        >>> x = tocha.tensor([0.5, 1.5], dtype=tocha.float64, requires_grad=True)
        >>> tocha.autograd.gradcheck(tocha.sin, (x,))
        True
    """
    args = _tuple(inputs)
    wanted = [a for a in args if isinstance(a, Tensor) and a.requires_grad]
    if not wanted:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them have "
            "requires_grad=True."
        )

    def floating() -> list[Tensor]:
        return [o for o in _tuple(func(*args)) if isinstance(o, Tensor) and o._data.dtype.kind in "fc"]

    def values() -> list[np.ndarray]:
        return [part for o in floating() for part in _real_parts(o)]

    outputs = floating()
    for i, x in enumerate(wanted):
        estimates = iter(_numerical(values, x.detach().numpy(), eps))
        for k, out in enumerate(outputs):
            for unit in (1, 1j) if out._data.dtype.kind == "c" else (1,):
                analytic, estimate = _analytic(out, x, unit), next(estimates)
                if np.allclose(analytic, estimate, rtol, atol, equal_nan=True):
                    continue
                if not raise_exception:
                    return False
                part = {1: "the real part of " if out._data.dtype.kind == "c" else "", 1j: "the imaginary part of "}[
                    unit
                ]
                raise GradcheckError(
                    f"Jacobian mismatch for {part}output {k} with respect to input "
                    f"{i},\nnumerical:{estimate}\nanalytical:{analytic}\n"
                )
    return True


def _analytic(out: Tensor, x: Tensor, unit: complex) -> np.ndarray:
    """The gradients of the real (``unit`` 1) or imaginary (1j) part of each element of ``out``, as columns."""
    n, m = x._data.size, out._data.size
    result = np.zeros((n, m), x._data.dtype)
    if not out.requires_grad:
        return result
    for j in range(m):
        seed = np.zeros(out._data.shape, out._data.dtype)
        seed.reshape(-1)[j] = unit
        (g,) = grad(out, x, wrap(seed), retain_graph=True, allow_unused=True)
        if g is not None:
            result[:, j] = g.detach().numpy().reshape(-1)
    return result


def gradgradcheck(
    func: Callable, inputs: Any, grad_outputs: Sequence | None = None, *, eps: float = 1e-6, atol: float = 1e-5,
    rtol: float = 1e-3, gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True,
    nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
    check_batched_grad: bool = False, check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True,
    fast_mode: bool = False, masked: bool = False,
) -> bool:  # fmt: skip
    """``gradcheck`` of the gradients themselves, with respect to the inputs and to ``grad_outputs`` (random by
    default)."""
    args = _tuple(inputs)
    outputs = _differentiable(func(*args))
    if grad_outputs is None:
        rng = np.random.default_rng(0)
        seeds = [wrap(rng.standard_normal(o._data.shape).astype(o._data.dtype)).requires_grad_() for o in outputs]
    else:
        seeds = list(_tuple(grad_outputs))
    count = len(args)

    def first(*everything: Any) -> tuple:
        given, cotangents = everything[:count], everything[count:]
        wanted = [a for a in given if isinstance(a, Tensor) and a.requires_grad]
        results = grad(_differentiable(func(*given)), wanted, cotangents, create_graph=True, allow_unused=True)
        return tuple([r for r in results if r is not None])

    return gradcheck(first, (*args, *seeds), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception)
