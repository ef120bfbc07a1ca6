"""The text of a tensor, character for character PyTorch's, from a raw array; and the options of printing."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np


@dataclasses.dataclass
class _Options:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_PROFILES: dict[str, dict[str, float]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}
_options = _Options()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print. What is None stays as it is, except ``sci_mode``, which a call always sets.

    Args:
        precision: digits after the point (4).
        threshold: more elements than this are summarised (1000).
        edgeitems: how many a summary shows at the beginning and end of each dimension (3).
        linewidth: columns of a line (80).
        profile: ``"default"``, ``"short"`` (precision 2, edgeitems 2) or ``"full"`` (no summary), before the others.
        sci_mode: scientific notation always (True), never (False), or where the values call for it (None).

    Source: https://pytorch.org/docs/stable/generated/torch.set_printoptions.html

    Example:
        >>> import tocha
        >>> tocha.set_printoptions(precision=2)
        >>> tocha.tensor([1.12345])
        tensor([1.12])
        >>> tocha.set_printoptions(profile="default")
    """
    chosen = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    given = {name: value for name, value in chosen.items() if value is not None}
    for name, value in {**_PROFILES.get(profile or "", {}), **given}.items():
        setattr(_options, name, value)
    _options.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The options of printing, as arguments for ``set_printoptions``.

    Example:
        >>> get_printoptions()["linewidth"]
        80
    """
    return dataclasses.asdict(_options)


@contextlib.contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Print with other options inside the block; the arguments are those of ``set_printoptions``.

    Example:
        >>> import tocha
        >>> with printoptions(sci_mode=True):
        ...     print(tocha.tensor([2.0]))
        tensor([2.0000e+00])
    """
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


def tensor_str(
    array: Any,
    *,
    dtype_name: str,
    default_dtype_name: str = "float32",
    device: str | None = None,
    requires_grad: bool = False,
    grad_fn_name: str | None = None,
    tangent: str | None = None,
    name: str = "tensor",
) -> str:
    """``name(values, device=…, size=…, dtype=…, grad_fn=…)``, each part where PyTorch prints it.

    Args:
        array: a NumPy array; anything else that has a ``shape`` has no values, and prints as ``...``.
        dtype_name: the name after ``tocha.``.
        default_dtype_name: of the default floating dtype, which is not printed.
        device: as printed, None for the CPU.
        grad_fn_name: such as ``MulBackward0``.
        tangent: the text of a dual number's tangent.
        name: of the class, ``tensor`` for a plain tensor or parameter.
    """
    known = isinstance(array, np.ndarray)
    shape = tuple(array.shape)
    indent = len(name) + 1
    suffixes = [] if device is None else [f"device='{device}'"]
    usual = {default_dtype_name}
    if known and array.size:
        usual |= {"int64", "bool", "complex128" if default_dtype_name == "float64" else "complex64"}
    if not known or (array.size == 0 and array.ndim != 1) or (array.size and not _options.edgeitems):
        suffixes.append(f"size={shape}")
    if dtype_name not in usual:
        suffixes.append(f"dtype=tocha.{dtype_name}")
    if grad_fn_name is not None:
        suffixes.append(f"grad_fn=<{grad_fn_name}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")
    values = "..." if not known else _values(array, indent) if array.size else "[]"
    return _with_suffixes(f"{name}({values}", suffixes, indent) + ")"


def _with_suffixes(text: str, suffixes: Sequence[str], indent: int) -> str:
    column = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if column + len(suffix) + 2 > _options.linewidth:
            text += ",\n" + " " * indent + suffix
            column = indent + len(suffix)
        else:
            text += ", " + suffix
            column += len(suffix) + 2
    return text


def _values(array: np.ndarray, indent: int) -> str:
    summarize = array.size > _options.threshold
    shown = _edges(array) if summarize else array
    if array.dtype.kind == "c":
        formats: tuple[_Format, ...] = (_Format(shown.real), _Format(shown.imag))
    else:
        formats = (_Format(shown),)
    return _nested(array, indent, summarize, formats)


def _edges(array: np.ndarray) -> np.ndarray:
    """The elements that a summary shows."""
    edge = _options.edgeitems
    if not edge:  # PyTorch measures all of a vector here, and nothing of a matrix
        return array if array.ndim == 1 else array.reshape(-1)[:0]
    for axis, size in enumerate(array.shape):
        if size > 2 * edge:
            array = np.concatenate([array.swapaxes(0, axis)[:edge], array.swapaxes(0, axis)[-edge:]]).swapaxes(0, axis)
    return array


class _Format:
    """How the elements of an array are written, all equally wide."""

    def __init__(self, array: np.ndarray) -> None:
        self.floating = array.dtype.kind in "fV"
        self.integral, self.scientific, self.width = True, False, 1
        if not self.floating:
            self.width = max([1, *(len(f"{value}") for value in array.reshape(-1).tolist())])
            return
        values = array.astype(np.float64).reshape(-1)
        values = values[np.isfinite(values) & (values != 0)]
        if values.size == 0:
            return
        self.integral = bool((values == np.ceil(values)).all())
        self.scientific = _is_scientific(np.abs(values)) if _options.sci_mode is None else _options.sci_mode
        # "inf" and "nan" get no point, so among whole numbers the point counts for the width.
        self.width = max(len(self._number(value)) for value in values.tolist())

    def _number(self, value: float) -> str:
        if self.scientific:
            return f"{value:.{_options.precision}e}"
        if not self.integral:
            return f"{value:.{_options.precision}f}"
        return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"

    def __call__(self, value: Any) -> str:
        return (self._number(value) if self.floating else f"{value}").rjust(self.width)


def _is_scientific(magnitudes: np.ndarray) -> bool:
    smallest, largest = float(magnitudes.min()), float(magnitudes.max())
    return bool(np.divide(largest, smallest) > 1000.0 or largest > 1.0e8 or smallest < 1.0e-4)


def _element(value: Any, formats: Sequence[_Format]) -> str:
    if len(formats) == 1:
        return formats[0](value)
    imaginary = formats[1](value.imag).lstrip() + "j"
    return formats[0](value.real) + ("" if imaginary[0] == "-" else "+") + imaginary


def _nested(array: np.ndarray, indent: int, summarize: bool, formats: Sequence[_Format]) -> str:
    if array.ndim == 0:
        return _element(array.item(), formats)
    if array.ndim == 1:
        return _vector(array, indent, summarize, formats)
    edge, size = _options.edgeitems, len(array)
    if summarize and size > 2 * edge:
        shown: list[int | None] = [*range(edge), None, *range(size - edge, size)]
    else:
        shown = list(range(size))
    parts = ["..." if i is None else _nested(array[i], indent + 1, summarize, formats) for i in shown]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def _vector(array: np.ndarray, indent: int, summarize: bool, formats: Sequence[_Format]) -> str:
    width = sum(f.width for f in formats) + len(formats) + 1  # the separator, and the "j" of complex numbers
    in_a_line = max(1, math.floor((_options.linewidth - indent) / width))
    edge = _options.edgeitems
    if summarize and not edge:
        parts = ["..."]
    elif summarize and len(array) > 2 * edge:
        parts = [_element(value, formats) for value in array[:edge].tolist()] + [" ..."]
        parts += [_element(value, formats) for value in array[-edge:].tolist()]
    else:
        parts = [_element(value, formats) for value in array.tolist()]
    lines = [", ".join(parts[i : i + in_a_line]) for i in range(0, len(parts), in_a_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
