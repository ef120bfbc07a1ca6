"""Which sizes of the inputs are dynamic: PyTorch's ``dynamic_shapes`` and ``dynamic_axes``, read into one form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tocha.onnx.tracing import Environment

__all__ = ["Dim", "Dimension", "read_dynamic", "symbols"]


@dataclass(frozen=True)
class Dim:
    """A named dynamic size, with the range that the program supports; as ``torch.export.Dim``.

    >>> Dim("batch", max=64)
    Dim(name='batch', min=None, max=64)
    """

    name: str
    min: int | None = None
    max: int | None = None


@dataclass
class Dimension:
    """A dynamic size of the exported model: its name, its range, the example's size and where it appears."""

    name: str
    minimum: int | None
    maximum: int | None
    example: int
    places: list[tuple[str, int]]


def _as_dim(value: Any, input_name: str, axis: int) -> Dim | None:
    """A name, a ``Dim``, PyTorch's, or ``Dim.AUTO`` and ``Dim.DYNAMIC`` (which get a name of their own); None:
    static."""
    if value is None or isinstance(value, int) and not isinstance(value, bool):
        return None
    if isinstance(value, Dim):
        return value
    if isinstance(value, str):
        return Dim(value)
    hint = getattr(value, "name", None)
    if hint in ("AUTO", "DYNAMIC"):
        return Dim(f"{input_name}_dim_{axis}")
    if hint == "STATIC":
        return None
    name = getattr(value, "__name__", None)
    if isinstance(name, str):
        return Dim(name, getattr(value, "min", None), getattr(value, "max", None))
    raise TypeError(f"expected a name, a Dim or None for dimension {axis} of {input_name!r}, got {value!r}")


def _axes(spec: Any, input_name: str, rank: int) -> dict[int, Dim]:
    """The dynamic dimensions of one input."""
    if spec is None:
        return {}
    if isinstance(spec, Mapping):
        items = list(spec.items())
    elif isinstance(spec, tuple | list):
        if all(isinstance(axis, int) and not isinstance(axis, bool) for axis in spec) and spec:
            items = [(axis, f"{input_name}_dim_{axis}") for axis in spec]  # the short form of dynamic_axes
        else:
            items = list(enumerate(spec))
    else:
        raise TypeError(f"expected a mapping from dimension to name for {input_name!r}, got {spec!r}")
    found = {}
    for axis, value in items:
        if not -rank <= axis < rank:
            raise ValueError(f"the input {input_name!r} has {rank} dimensions, got dimension {axis}")
        dim = _as_dim(value, input_name, axis % rank)
        if dim is not None:
            found[axis % rank] = dim
    return found


def read_dynamic(
    dynamic_shapes: Any, dynamic_axes: Any, arguments: list[tuple[str, Any]], leaves: list[tuple[str, str, int]]
) -> list[dict[int, Dim]]:
    """The dynamic dimensions of each input.

    Args:
        arguments: the names of the call's arguments and their values.
        leaves: for each input its predicted name, its final name and its rank.
    """
    if dynamic_shapes is not None and dynamic_axes is not None:
        raise ValueError("expected dynamic_shapes or dynamic_axes, got both")
    if dynamic_axes is not None:
        return _read_axes(dynamic_axes, leaves)
    if dynamic_shapes is None:
        return [{} for _ in leaves]
    return _read_shapes(dynamic_shapes, arguments, leaves)


def _read_axes(dynamic_axes: Mapping[str, Any], leaves: list[tuple[str, str, int]]) -> list[dict[int, Dim]]:
    return [_axes(dynamic_axes.get(name, dynamic_axes.get(predicted)), name, rank) for predicted, name, rank in leaves]


def _read_shapes(
    dynamic: Any, arguments: list[tuple[str, Any]], leaves: list[tuple[str, str, int]]
) -> list[dict[int, Dim]]:
    from .trees import children

    specs: dict[str, Any] = {}

    def walk(name: str, tree: Any, spec: Any) -> None:
        inside = children(tree)
        if not inside:
            specs[name] = spec
            return
        for position, (key, item) in enumerate(inside):
            if spec is None:
                inner = None
            elif isinstance(spec, Mapping):
                inner = spec.get(key)
            else:
                inner = spec[position]
            walk(f"{name}_{key}", item, inner)

    if isinstance(dynamic, Mapping):
        by_argument = dict(dynamic)
        known = {name for name, _ in arguments}
        by_leaf = {name: name for _, name, _ in leaves} | {predicted: predicted for predicted, _, _ in leaves}
        unknown = [name for name in by_argument if name not in known and name not in by_leaf]
        # f(*xs): PyTorch names the tuple itself
        for name in list(unknown):
            parts = [n for n, _ in arguments if re.fullmatch(rf"{re.escape(name)}_\d+", n)]
            if parts and isinstance(by_argument[name], tuple | list):
                by_argument.update(zip(parts, by_argument.pop(name)))
                unknown.remove(name)
        if unknown:
            raise ValueError(f"dynamic_shapes names {unknown}, expected names among {sorted(known)}")
        for name, tree in arguments:
            if name in by_argument:
                walk(name, tree, by_argument[name])
        for predicted, name, _ in leaves:
            if name in by_argument and name not in known:
                specs[predicted] = by_argument[name]
    else:
        if len(dynamic) != len(arguments):
            raise ValueError(f"expected dynamic_shapes for {len(arguments)} arguments, got {len(dynamic)}")
        for (name, tree), spec in zip(arguments, dynamic):
            walk(name, tree, spec)
    return [_axes(specs.get(predicted), name, rank) for predicted, name, rank in leaves]


_HINTS = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31)


def symbols(
    environment: Environment, axes: list[dict[int, Dim]], names: list[str], shapes: list[tuple[int, ...]]
) -> tuple[list[tuple[Any, ...]], list[Dimension]]:
    """The inputs' shapes with a symbol for each dynamic size, and the dimensions.

    A size of 0 or 1 in the example is a case of its own in shape arithmetic; the trace then runs with another number.

    Raises:
        ValueError: one name is given to sizes that differ.
    """
    dimensions: dict[str, Dimension] = {}
    for name, dims, shape in zip(names, axes, shapes):
        for axis, dim in sorted(dims.items()):
            found = dimensions.get(dim.name)
            if found is None:
                found = dimensions[dim.name] = Dimension(dim.name, dim.min, dim.max, shape[axis], [])
            elif found.example != shape[axis]:
                first = found.places[0]
                raise ValueError(
                    f"the dimension {dim.name!r} is {found.example} in {first[0]!r} (dimension {first[1]}) and "
                    f"{shape[axis]} in {name!r} (dimension {axis}): give one of them another name"
                )
            found.places.append((name, axis))
            found.minimum = dim.min if found.minimum is None else found.minimum
            found.maximum = dim.max if found.maximum is None else found.maximum
    made, hints = {}, iter(_HINTS)
    for name, found in dimensions.items():
        if not name.isidentifier():
            raise ValueError(f"expected an identifier as the name of a dimension, got {name!r}")
        minimum = max(2, found.minimum or 0)
        hint = found.example
        if hint < minimum:
            hint = next((h for h in hints if h >= minimum and (found.maximum is None or h <= found.maximum)), minimum)
        made[name] = environment.symbol(name, hint, minimum=minimum, maximum=found.maximum)
    symbolic = [
        tuple(made[dims[axis].name] if axis in dims else n for axis, n in enumerate(shape))
        for dims, shape in zip(axes, shapes)
    ]
    return symbolic, list(dimensions.values())
