"""The arguments of convolutions, checked and normalised in PyTorch's words."""

from __future__ import annotations

from typing import Any

from .._core.broadcast import operators
from .._core.dtypes import of
from .._core.templates import expected_tensor
from .._core.tensor import Tensor
from .dims import product


def per_dimension(value: Any, nd: int, name: str) -> tuple:
    """A number, or one a dimension, as a tuple.

    Raises:
        TypeError: it is not made of integers. RuntimeError: it has another length.
    """
    if type(value) is int:
        return (value,) * nd
    if isinstance(value, (tuple, list)):
        values = tuple([_integer(v, name) for v in value])
        if len(values) == 1:
            return values * nd
        if len(values) != nd:
            raise RuntimeError(
                f"expected {name} to be a single integer value or a list of {nd} values to match the convolution "
                f"dimensions, but got {name}={list(values)}"
            )
        return values
    return (_integer(value, name),) * nd


def _integer(value: Any, name: str) -> Any:
    if type(value) is int or hasattr(value, "scalar_category"):
        return value
    if isinstance(value, (float, str, bool)) or not hasattr(value, "__index__"):
        raise TypeError(f"argument '{name}' must be tuple of ints, not {type(value).__name__}")
    return value.__index__()


def same_padding(input: Any, weight: Any, stride: Any, padding: str, dilation: Any, nd: int) -> tuple[Any, Any]:
    """``padding`` "same" or "valid" as a number a dimension, and the input padded where both sides differ."""
    if padding == "valid":
        return input, 0
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if any([s != 1 for s in per_dimension(stride, nd, "stride")]):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    totals = [d * (k - 1) for d, k in zip(per_dimension(dilation, nd, "dilation"), weight.shape[2:])]
    if any([t % 2 for t in totals]):
        pads: list = []
        for t in reversed(totals):
            pads += [0, t % 2]
        input = operators["constant_pad"](input, tuple(pads), 0.0)
    return input, tuple([t // 2 for t in totals])


def _check_tensors(name: str, nd: int, input: Any, weight: Any, bias: Any) -> None:
    for position, (what, t) in enumerate((("input", input), ("weight", weight), ("bias", bias)), 1):
        if not isinstance(t, Tensor) and not (position == 3 and t is None):
            raise expected_tensor(name, position, t, what)
    if len(input._data.shape) not in (nd + 1, nd + 2):
        raise RuntimeError(
            f"Expected {nd + 1}D (unbatched) or {nd + 2}D (batched) input to {name}, but got input of size: "
            f"{list(input._data.shape)}"
        )
    dtype = input._data.dtype
    for what, t in (("weight", weight), ("bias", bias)):
        if t is not None and t._data.dtype is not dtype and t._data.dtype != dtype:
            names = [
                str(of(d)).split(".")[1].replace("float32", "float").replace("float64", "double")
                for d in (dtype, t._data.dtype)
            ]
            raise RuntimeError(f"Input type ({names[0]}) and {what} type ({names[1]}) should be the same")
    if dtype.kind == "b":
        raise NotImplementedError(f"\"slow_{name}_cpu\" not implemented for 'Bool'")
    if len(weight._data.shape) != nd + 2:
        raise RuntimeError(
            f"Expected {nd + 2}-dimensional weight for {nd + 2}-dimensional input, but got weight of size "
            f"{list(weight._data.shape)} instead"
        )


def _check_numbers(stride: tuple, padding: tuple, dilation: tuple, groups: Any) -> None:
    if any([_negative(p) for p in padding]):
        raise RuntimeError("negative padding is not supported")
    if any([s <= 0 for s in stride]):
        raise RuntimeError("non-positive stride is not supported")
    if any([d <= 0 for d in dilation]):
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")


def _negative(n: Any) -> bool:
    return type(n) is int and n < 0


def _check_weight(w: Any, groups: int) -> None:
    if w[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
            f"{list(w)} instead"
        )
    if w[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of "
            f"size [{list(w)}] instead"
        )
    if any([type(k) is int and k == 0 for k in w[2:]]):
        names = ("depth", "height", "width")[-len(w[2:]) :]
        sizes = " ".join([f"kernel_{n}: {k}" for n, k in zip(names, w[2:])])
        raise RuntimeError(f"kernel size should be greater than zero, but got {sizes}")


def _check_bias(w: Any, bias: Any, outputs: Any, transposed: bool) -> None:
    if bias is not None and (len(bias._data.shape) != 1 or bias._data.shape[0] != outputs):
        given = "Given transposed=1, weight" if transposed else "Given weight"
        raise RuntimeError(
            f"{given} of size {list(w)}, expected bias to be 1-dimensional with {outputs} elements, but got bias of "
            f"size {list(bias._data.shape)} instead"
        )


def _sizes(values: Any) -> str:
    return "(" + " x ".join([str(v) for v in values]) + ")"


def check_convolution(
    name: str, nd: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: Any
) -> tuple[tuple, tuple, tuple, bool]:
    """``(stride, padding, dilation, whether the input has a batch dimension)``.

    Raises:
        RuntimeError: see the messages. TypeError: an argument is of the wrong type.
    """
    _check_tensors(name, nd, input, weight, bias)
    stride = per_dimension(stride, nd, "stride")
    padding = per_dimension(padding, nd, "padding")
    dilation = per_dimension(dilation, nd, "dilation")
    _check_numbers(stride, padding, dilation, groups)
    x, w = input._data.shape, weight._data.shape
    batched = len(x) == nd + 2
    if not batched:
        x = (1, *x)
    _check_weight(w, groups)
    if x[1] != w[1] * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(w)}, expected input{list(x)} to have {w[1] * groups} "
            f"channels, but got {x[1]} channels instead"
        )
    _check_bias(w, bias, w[0], False)
    padded = [n + 2 * p for n, p in zip(x[2:], padding)]
    seen = [d * (k - 1) + 1 for d, k in zip(dilation, w[2:])]
    for have, need in zip(padded, seen):
        if type(have) is int and have < need:
            raise RuntimeError(
                f"Calculated padded input size per channel: {_sizes(padded)}. Kernel size: {_sizes(seen)}. "
                "Kernel size can't be greater than actual input size"
            )
    return stride, padding, dilation, batched


def check_transposed(
    name: str,
    nd: int,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: Any,
    dilation: Any,
) -> tuple[tuple, tuple, tuple, tuple, tuple, bool]:
    """``(stride, padding, dilation, output_padding, size of the output, whether the input has a batch dimension)``.

    Raises:
        RuntimeError: see the messages. TypeError: an argument is of the wrong type.
    """
    _check_tensors(name, nd, input, weight, bias)
    stride = per_dimension(stride, nd, "stride")
    padding = per_dimension(padding, nd, "padding")
    dilation = per_dimension(dilation, nd, "dilation")
    extra = per_dimension(output_padding, nd, "output_padding")
    _check_numbers(stride, padding, dilation, groups)
    if any([e < 0 for e in extra]):
        raise RuntimeError("negative output_padding is not supported")
    x, w = input._data.shape, weight._data.shape
    batched = len(x) == nd + 2
    if not batched:
        x = (1, *x)
    _check_weight(w, groups)
    if x[1] != w[0]:
        raise RuntimeError(
            f"Given transposed=1, weight of size {list(w)}, expected input{list(x)} to have {w[0]} channels, but got "
            f"{x[1]} channels instead"
        )
    _check_bias(w, bias, w[1] * groups, True)
    if any([e >= s and e >= d for e, s, d in zip(extra, stride, dilation)]):
        names = ("depth", "height", "width")[-nd:]
        parts = [
            f"{what}_{n}: {v}"
            for what, vs in (("output_padding", extra), ("stride", stride), ("dilation", dilation))
            for n, v in zip(names, vs)
        ]
        raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got {' '.join(parts)}")
    size = tuple(
        [
            (n - 1) * s - 2 * p + d * (k - 1) + e + 1
            for n, s, p, d, k, e in zip(x[2:], stride, padding, dilation, w[2:], extra)
        ]
    )
    if any([type(n) is int and n < 1 for n in size]) and product(x[2:]) != 0:
        raise RuntimeError(
            f"Given input size per channel: {_sizes(x[2:])}. Calculated output size per channel: {_sizes(size)}. "
            "Output size is too small"
        )
    return stride, padding, dilation, extra, size, batched
