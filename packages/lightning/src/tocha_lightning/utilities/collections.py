"""Walking nested batches: moving them to a device, describing them, finding their batch size."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import tocha
from tocha import Tensor
from tocha_lightning.utilities.exceptions import MisconfigurationException
from tocha_lightning.utilities.rank_zero import WarningCache

log = logging.getLogger(__name__)
_warnings = WarningCache()


def apply_to_collection(data: Any, dtype: type | tuple[type, ...], function: Callable[..., Any], *args: Any) -> Any:
    """Apply `function` to every element of type `dtype` in nested lists, tuples, mappings and dataclasses.

    >>> apply_to_collection({"a": [1, 2.5], "b": (3, "x")}, int, lambda v: v * 10)
    {'a': [10, 2.5], 'b': (30, 'x')}
    """
    if isinstance(data, dtype):
        return function(data, *args)
    kind = type(data)
    if kind is dict:
        return {key: apply_to_collection(value, dtype, function, *args) for key, value in data.items()}
    if kind in (list, tuple):
        return kind([apply_to_collection(value, dtype, function, *args) for value in data])
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return kind(*[apply_to_collection(value, dtype, function, *args) for value in data])
    if isinstance(data, Mapping):
        items = [(key, apply_to_collection(value, dtype, function, *args)) for key, value in data.items()]
        return kind(items)
    if dataclasses.is_dataclass(data) and not isinstance(data, type):
        changed = {
            field.name: apply_to_collection(getattr(data, field.name), dtype, function, *args)
            for field in dataclasses.fields(data)
            if field.init
        }
        return dataclasses.replace(data, **changed)
    return data


def move_data_to_device(batch: Any, device: tocha.device) -> Any:
    """Move every tensor in `batch`, and everything with a method ``to(device)``, to `device`.

    Containers keep their type. What is on `device` already is returned as it is.

    >>> move_data_to_device({"x": tocha.zeros(2)}, tocha.device("cpu"))["x"].device
    device(type='cpu')
    """
    kind = type(batch)
    if kind is Tensor:
        return batch if batch.device == device else batch.to(device, non_blocking=device.type != "cpu")
    if kind is tuple or kind is list:
        return kind([move_data_to_device(item, device) for item in batch])
    if kind is dict:
        return {key: move_data_to_device(value, device) for key, value in batch.items()}
    if hasattr(batch, "to") and callable(batch.to):
        moved = batch.to(device)
        # a `to` that works in place and returns nothing is common in user classes
        return batch if moved is None else moved
    return apply_to_collection(batch, (Tensor,), lambda t: t.to(device))


def tensors_of(batch: Any) -> Iterator[Tensor]:
    """Every tensor in a nested batch, in order."""
    if isinstance(batch, Tensor):
        yield batch
    elif isinstance(batch, Mapping):
        for value in batch.values():
            yield from tensors_of(value)
    elif isinstance(batch, (list, tuple)):
        for value in batch:
            yield from tensors_of(value)
    elif dataclasses.is_dataclass(batch) and not isinstance(batch, type):
        for field in dataclasses.fields(batch):
            yield from tensors_of(getattr(batch, field.name))


def _sizes(batch: Any) -> Iterator[int]:
    if isinstance(batch, Tensor):
        yield 1 if batch.ndim == 0 else batch.shape[0]
    elif isinstance(batch, Mapping):
        for value in batch.values():
            yield from _sizes(value)
    elif isinstance(batch, (list, tuple)):
        if batch and all(isinstance(item, str) for item in batch):
            yield len(batch)
        else:
            for value in batch:
                yield from _sizes(value)
    elif dataclasses.is_dataclass(batch) and not isinstance(batch, type):
        for field in dataclasses.fields(batch):
            yield from _sizes(getattr(batch, field.name))


def extract_batch_size(batch: Any) -> int:
    """The size of the first dimension of the first tensor (or list of strings) in `batch`.

    Warns where the tensors disagree. Raises `MisconfigurationException` where there is nothing to measure.

    >>> extract_batch_size((tocha.zeros(5, 2), tocha.zeros(5)))
    5
    """
    size: int | None = None
    for found in _sizes(batch):
        if size is None:
            size = found
        elif size != found:
            _warnings.warn(
                "Trying to infer the `batch_size` from an ambiguous collection. The batch size we"
                f" found is {size}. To avoid any miscalculations, use `self.log(..., batch_size=batch_size)`."
            )
            break
    if size is None:
        raise MisconfigurationException(
            "We could not infer the batch_size from the batch. Either simplify its structure"
            " or provide the batch_size as `self.log(..., batch_size=batch_size)`."
        )
    return size


def describe(batch: Any, depth: int = 3) -> str:
    """A short text with the structure, dtypes and shapes of a nested batch, for error messages.

    >>> describe({"x": tocha.zeros(2, 3), "y": [1, "a"]})
    "{'x': float32[2, 3], 'y': [int, str]}"
    """
    if isinstance(batch, Tensor):
        return f"{str(batch.dtype).split('.')[-1]}{list(batch.shape)}"
    if isinstance(batch, (Mapping, list, tuple)) and depth == 0:
        return "..."
    if isinstance(batch, Mapping):
        return "{" + ", ".join(f"{key!r}: {describe(value, depth - 1)}" for key, value in batch.items()) + "}"
    if isinstance(batch, (list, tuple)):
        shown = [describe(value, depth - 1) for value in batch[:6]] + (["..."] if len(batch) > 6 else [])
        return "[" + ", ".join(shown) + "]" if isinstance(batch, list) else "(" + ", ".join(shown) + ")"
    return type(batch).__name__


def to_scalars(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Tensors of one element as Python numbers, everything else as it is."""
    return {
        key: value.item() if isinstance(value, Tensor) else to_scalars(value) if isinstance(value, Mapping) else value
        for key, value in metrics.items()
    }
