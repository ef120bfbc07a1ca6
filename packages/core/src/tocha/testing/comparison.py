"""Comparison of tensors, numbers and containers of them, with messages that say where and by how much they differ."""

from __future__ import annotations

import cmath
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import tocha

# rtol, atol
_TOLERANCES = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7),
}  # fmt: skip


class _Mismatch(Exception):
    """What differs, and the keys that lead to it."""

    def __init__(self, text: str, error: type[Exception] = AssertionError) -> None:
        super().__init__(text)
        self.text, self.error, self.path = text, error, []  # type: ignore[var-annotated]


class _Options:
    def __init__(self, rtol: Any, atol: Any, **flags: bool) -> None:
        if (rtol is None) != (atol is None):
            missing = "rtol" if rtol is None else "atol"
            raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")
        self.rtol, self.atol = rtol, atol
        self.__dict__.update(flags)

    def __getattr__(self, name: str) -> bool:
        raise AttributeError(name)

    def tolerances(self, *dtypes: Any) -> tuple[float, float]:
        """Those given, or the loosest of the dtypes'."""
        if self.rtol is not None:
            return self.rtol, self.atol
        pairs = [_TOLERANCES.get(d.name, (0.0, 0.0)) for d in dtypes]
        return max(r for r, _ in pairs), max(a for _, a in pairs)


def _allowed(tolerance: float, equality: bool) -> str:
    return "" if equality else f" (up to {tolerance} allowed)"


def _compare_numbers(actual: Any, expected: Any, rtol: float, atol: float, equal_nan: bool) -> None:
    if actual == expected or (equal_nan and cmath.isnan(actual) and cmath.isnan(expected)):
        return
    off = abs(actual - expected)
    if cmath.isfinite(actual) and cmath.isfinite(expected) and off <= atol + rtol * abs(expected):
        return
    exact = rtol == 0 and atol == 0
    relative = off / abs(expected) if expected != 0 else float("inf")
    raise _Mismatch(
        f"Scalars are not {'equal' if exact else 'close'}!\n\nExpected {expected} but got {actual}.\n"
        f"Absolute difference: {off}{_allowed(atol, exact)}\nRelative difference: {relative}{_allowed(rtol, exact)}"
    )


def _greatest(differences: Any, matches: Any) -> tuple[Any, tuple]:
    flat = int(differences.masked_fill(matches, 0).flatten().argmax())
    index = np.unravel_index(flat, tuple(differences.shape))
    return differences.flatten()[flat].item(), tuple(int(i) for i in index)


def _compare_tensors(actual: Any, expected: Any, options: Any) -> None:
    def check(what: str, a: Any, b: Any) -> None:
        if a != b:
            raise _Mismatch(f"The values for attribute '{what}' do not match: {a} != {b}.")

    check("shape", actual.shape, expected.shape)
    if options.check_layout:
        check("layout", actual.layout, expected.layout)
    if options.check_device:
        check("device", actual.device, expected.device)
    if options.check_dtype:
        check("dtype", actual.dtype, expected.dtype)
    if options.check_stride:
        check("stride()", actual.stride(), expected.stride())
    rtol, atol = options.tolerances(actual.dtype, expected.dtype)
    if actual.device.type == "meta" or expected.device.type == "meta":
        return  # no values to compare
    actual, expected = actual.detach(), expected.detach()
    if actual.device != expected.device:
        actual, expected = actual.cpu(), expected.cpu()
    if actual.dtype != expected.dtype:
        common = tocha.promote_types(actual.dtype, expected.dtype)
        actual, expected = actual.to(common), expected.to(common)
    matches = tocha.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=options.equal_nan)
    if matches.all():
        return
    if actual.dim() == 0:
        _compare_numbers(actual.item(), expected.item(), rtol, atol, options.equal_nan)
    if not (actual.dtype.is_floating_point or actual.dtype.is_complex):
        actual, expected = actual.to(tocha.int64), expected.to(tocha.int64)
    differences = (actual - expected).abs()
    relatives = differences / expected.abs()
    exact, wrong, total = rtol == 0 and atol == 0, int((~matches).sum()), matches.numel()
    (most, at), (most_relative, relative_at) = _greatest(differences, matches), _greatest(relatives, matches)
    raise _Mismatch(
        f"Tensor-likes are not {'equal' if exact else 'close'}!\n\n"
        f"Mismatched elements: {wrong} / {total} ({wrong / total:.1%})\n"
        f"Greatest absolute difference: {most} at index {at}{_allowed(atol, exact)}\n"
        f"Greatest relative difference: {most_relative} at index {relative_at}{_allowed(rtol, exact)}"
    )


def _inside(actual: Any, expected: Any, key: Any, options: Any) -> None:
    try:
        _compare(actual[key], expected[key], options)
    except _Mismatch as mismatch:
        mismatch.path.insert(0, key)
        raise


def _compare(actual: Any, expected: Any, options: Any) -> None:
    both = (actual, expected)
    if actual is None or expected is None:
        if actual is not expected:
            raise _Mismatch(f"None mismatch: {actual} is not {expected}")
    elif all(isinstance(v, Mapping) for v in both):
        missing, more = [k for k in expected if k not in actual], [k for k in actual if k not in expected]
        if missing or more:
            text = "The keys of the mappings do not match:"
            text += f"\nMissing keys in the actual mapping: {sorted(missing)}" if missing else ""
            raise _Mismatch(text + (f"\nAdditional keys in the actual mapping: {sorted(more)}" if more else ""))
        for key in sorted(actual, key=str):
            _inside(actual, expected, key, options)
    elif all(isinstance(v, Sequence) and not isinstance(v, (str, bytes)) for v in both):
        if len(actual) != len(expected):
            raise _Mismatch(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}")
        for index in range(len(actual)):
            _inside(actual, expected, index, options)
    elif all(isinstance(v, (bool, np.bool_)) for v in both):
        if bool(actual) is not bool(expected):
            raise _Mismatch(f"Booleans mismatch: {bool(actual)} is not {bool(expected)}")
    elif all(isinstance(v, (int, float, complex, np.number)) and not isinstance(v, bool) for v in both):
        _compare_scalars(actual, expected, options)
    elif _are_tensor_likes(actual, expected, options):
        first, second = [v if isinstance(v, tocha.Tensor) else tocha.as_tensor(v) for v in both]
        _compare_tensors(first, second, options)
    else:
        raise _Mismatch(
            f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.", TypeError
        )


def _compare_scalars(actual: Any, expected: Any, options: Any) -> None:
    numbers = [v.item() if isinstance(v, np.number) else v for v in (actual, expected)]
    if options.check_dtype and type(numbers[0]) is not type(numbers[1]):
        raise _Mismatch(f"The (d)types do not match: {type(numbers[0])} != {type(numbers[1])}.")
    kinds = {int: tocha.int64, float: tocha.float64, complex: tocha.complex128}
    rtol, atol = options.tolerances(*(kinds[type(v)] for v in numbers))
    _compare_numbers(numbers[0], numbers[1], rtol, atol, options.equal_nan)


def _are_tensor_likes(actual: Any, expected: Any, options: Any) -> bool:
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    if not related or (not options.allow_subclasses and type(actual) is not type(expected)):
        return False
    return all(isinstance(v, (tocha.Tensor, np.ndarray)) for v in (actual, expected))


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Assert |actual - expected| <= atol + rtol * |expected|, for tensors, arrays, numbers and containers of them.

    Args:
        rtol, atol: both or none; by default by dtype: (1.3e-6, 1e-5) for float32, (1e-7, 1e-7) for float64,
            (1e-3, 1e-5) for float16, (1.6e-2, 1e-5) for bfloat16, 0 for integers and bool.
        msg: the error's message, or a function of the message that it would have.

    Raises:
        AssertionError: they differ, in value, shape, or in what else is checked.
        TypeError: they are of types that cannot be compared.
        ValueError: only one of ``rtol`` and ``atol`` is given.

    Example:
        >>> import tocha
        >>> tocha.testing.assert_close(tocha.tensor([1.0, 2.0]), tocha.tensor([1.0, 2.0]))
    """
    options = _Options(
        rtol, atol, allow_subclasses=allow_subclasses, equal_nan=equal_nan, check_device=check_device,
        check_dtype=check_dtype, check_layout=check_layout, check_stride=check_stride,
    )  # fmt: skip
    try:
        _compare(actual, expected, options)
    except _Mismatch as mismatch:
        text = mismatch.text
        if mismatch.path:
            text += f"\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in mismatch.path)}"
        if msg is not None and mismatch.error is AssertionError:
            text = msg(text) if callable(msg) else msg
        raise mismatch.error(text) from None


# rtol, atol of the older function
_OLD_TOLERANCES = {"float16": (1e-3, 1e-3), "float32": (1e-4, 1e-5), "float64": (1e-5, 1e-8)}


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Deprecated: use :func:`assert_close`, which also compares dtype and device."""
    warnings.warn(
        "`tocha.testing.assert_allclose()` is deprecated; use `tocha.testing.assert_close()`.",
        FutureWarning,
        stacklevel=2,
    )
    actual, expected = (v if isinstance(v, tocha.Tensor) else tocha.as_tensor(v) for v in (actual, expected))
    if rtol is None and atol is None:
        pairs = [_OLD_TOLERANCES.get(v.dtype.name, (0.0, 0.0)) for v in (actual, expected)]
        rtol, atol = max(r for r, _ in pairs), max(a for _, a in pairs)
    assert_close(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=True,
        check_dtype=False,
        msg=msg or None,
    )
