"""Making a batch of samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import tocha
from tocha._core.tensor import Tensor

from .nested import each, is_namedtuple, like_mapping, like_sequence

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]

_FOUND = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def default_convert(data: Any) -> Any:
    """NumPy arrays and numbers to tensors, inside nested lists, tuples and dictionaries too; the rest as it is.

    Used by a ``DataLoader`` that does not batch (``batch_size=None``).

    >>> import numpy as np
    >>> default_convert({"x": np.zeros(2), "name": "a"})
    {'x': tensor([0., 0.], dtype=tocha.float64), 'name': 'a'}
    """
    if isinstance(data, Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        return data if data.dtype.kind in "SaUO" else tocha.as_tensor(data)
    if isinstance(data, Mapping):
        return like_mapping(data, {key: default_convert(data[key]) for key in data})
    if is_namedtuple(data):
        return type(data)(*each(default_convert, data))
    if isinstance(data, tuple):
        return each(default_convert, data)
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return like_sequence(data, each(default_convert, data))
    return data


def collate(batch: Sequence[Any], *, collate_fn_map: dict | None = None) -> Any:
    """Make a batch of samples by the type of the first.

    Args:
        batch: the samples.
        collate_fn_map: functions ``fn(batch, *, collate_fn_map)`` by type (or tuple of types), looked up first by the
            exact type and then, in order, by ``isinstance``. Mappings and sequences that it does not name are
            descended into.

    Raises:
        TypeError: there is no rule for the type. RuntimeError: sequences of different lengths.
    """
    first = batch[0]
    kind = type(first)
    if collate_fn_map is not None:
        function = collate_fn_map.get(kind)
        if function is None:
            function = next((fn for types, fn in collate_fn_map.items() if isinstance(first, types)), None)
        if function is not None:
            return function(batch, collate_fn_map=collate_fn_map)

    def inner(samples: Sequence[Any]) -> Any:
        return collate(samples, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        return like_mapping(first, {key: inner([sample[key] for sample in batch]) for key in first})
    if is_namedtuple(first):
        return kind(*each(inner, zip(*batch, strict=False)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = each(inner, zip(*batch, strict=True))
        return columns if isinstance(first, tuple) else like_sequence(first, columns)
    raise TypeError(_FOUND.format(kind))


def collate_tensor_fn(batch: Sequence[Tensor], *, collate_fn_map: dict | None = None) -> Tensor:
    if getattr(batch[0], "is_sparse", False):
        raise RuntimeError(
            "Batches of sparse tensors are not currently supported by the default collate_fn; please provide a custom "
            "collate_fn to handle them appropriately."
        )
    return tocha.stack(tuple(batch), 0)


def collate_numpy_array_fn(batch: Sequence[np.ndarray], *, collate_fn_map: dict | None = None) -> Any:
    if batch[0].dtype.kind in "SaUO":
        raise TypeError(_FOUND.format(batch[0].dtype))
    return collate([tocha.as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Sequence[Any], *, collate_fn_map: dict | None = None) -> Tensor:
    return tocha.as_tensor(np.array(batch))


def collate_float_fn(batch: Sequence[float], *, collate_fn_map: dict | None = None) -> Tensor:
    return tocha.tensor(batch, dtype=tocha.float64)


def collate_int_fn(batch: Sequence[int], *, collate_fn_map: dict | None = None) -> Tensor:
    return tocha.tensor(batch)


def collate_str_fn(batch: Sequence[Any], *, collate_fn_map: dict | None = None) -> Sequence[Any]:
    return batch


default_collate_fn_map: dict[type | tuple[type, ...], Callable] = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Sequence[Any]) -> Any:
    """Make a batch of samples: tensors and arrays are stacked, numbers become a tensor, containers are descended into.

    Python floats give float64, ints int64; strings stay a list; tuples become lists.

    Raises:
        TypeError: a sample of another type. RuntimeError: tensors, or lists, of different sizes.

    Source: https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.default_collate

    >>> import tocha
    >>> default_collate([(tocha.zeros(2), 1), (tocha.ones(2), 5)])
    [tensor([[0., 0.],
            [1., 1.]]), tensor([1, 5])]
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
