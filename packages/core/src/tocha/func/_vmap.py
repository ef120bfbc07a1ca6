"""``vmap``: a function of one example as a function of a batch.

The function runs once for each slice, and the results are stacked. That is right for every function without a
batching rule an operator: for control flow that depends on values, ``item()``, writes and custom functions as well,
which PyTorch's batched tensors refuse. It saves the loop in the source, not the loop.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from .._core.generator import default_generator
from .._core.grad_mode import no_grad
from .._core.tensor import Tensor
from ._tree import flatten, spread, unflatten


def check_randomness(randomness: str) -> None:
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")


@contextlib.contextmanager
def guarded(randomness: str) -> Iterator[None]:
    """Refuse random numbers from the default stream where ``randomness`` is "error"."""
    if randomness != "error":
        yield
        return
    before = default_generator.get_state()
    yield
    if not bool((default_generator.get_state() == before).all()):
        default_generator.set_state(before)
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
            "randomness flags on vmap or perform the randomness operation out of vmap"
        )


def _name(func: Any) -> str:
    if hasattr(func, "__name__"):
        return func.__name__
    return f"functools.partial({_name(func.func)}, ...)" if isinstance(func, functools.partial) else repr(func)


def vmap(
    func: Callable, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *, chunk_size: int | None = None
) -> Callable:
    """``func`` mapped over a dimension of its arguments.

    Args:
        func: takes and returns nests of tensors.
        in_dims: the dimension to map over, None for an argument that all calls share; or a tuple of these, nested
            as the arguments are.
        out_dims: where the mapped dimension goes in each output (None: the output does not depend on it).
        randomness: "error" refuses random functions, "different" draws for each slice, "same" draws the same for all.
        chunk_size: how many slices PyTorch would compute at once; slices run one by one here, so it only has to be
            positive.

    Raises:
        ValueError: ``in_dims`` or ``out_dims`` do not fit, sizes differ, or an output is no tensor.
        RuntimeError: random numbers with ``randomness="error"``.

    Source: https://pytorch.org/docs/stable/generated/torch.func.vmap.html

    Example:
        >>> import tocha
        >>> tocha.func.vmap(tocha.dot)(tocha.ones(2, 3), tocha.ones(2, 3))
        tensor([3., 3.])
    """
    check_randomness(randomness)
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        _check_out_dims(out_dims, func)
        leaves, spec = flatten(args)
        dims, size = _batch(in_dims, args, leaves, spec, func)

        def run(i: int) -> Any:
            cut = [x if d is None else x.select(d, i) for x, d in zip(leaves, dims)]
            return func(*unflatten(cut, spec), **kwargs)

        if not size:
            return _empty(func, leaves, dims, spec, kwargs, out_dims)
        state = default_generator.get_state() if randomness == "same" else None
        results = []
        with guarded(randomness):
            for i in range(size):
                if state is not None:
                    default_generator.set_state(state)
                results.append(run(i))
        return _stack(results, out_dims, func)

    return wrapper


def _check_out_dims(out_dims: Any, func: Any) -> None:
    for d in flatten(out_dims)[0]:
        if d is not None and not isinstance(d, int):
            raise ValueError(
                f"vmap({_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python "
                "collection of ints representing where in the outputs the vmapped dimension should appear."
            )


def _batch(in_dims: Any, args: tuple, leaves: list, spec: Any, func: Any) -> tuple[list, int]:
    """The mapped dimension of each leaf, and its size."""
    name = f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{name}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap "
            "over a function with no inputs. The latter is unsupported."
        )
    dims = spread(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"{name}: in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{flatten(in_dims)[1]} but inputs has structure {spec}."
        )
    for i, (x, d) in enumerate(zip(leaves, dims)):
        if d is None:
            continue
        if not isinstance(d, int):
            raise ValueError(
                f"{name}: Got in_dim={d} for an input but in_dim must be either an integer dimension or None."
            )
        if not isinstance(x, Tensor):
            raise ValueError(
                f"{name}: Got in_dim={d} for an input but the input is of type {type(x)}. We cannot vmap over "
                "non-Tensor arguments, please use None as the respective in_dim"
            )
        if not -x.ndim <= d < x.ndim:
            raise ValueError(
                f"{name}: Got in_dim={d} for some input, but that input is a Tensor of dimensionality {x.ndim} so "
                f"expected in_dim to satisfy -{x.ndim} <= in_dim < {x.ndim}."
            )
        dims[i] = d % x.ndim
    sizes = [x.shape[d] for x, d in zip(leaves, dims) if d is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(s != sizes[0] for s in sizes):
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            "mapped dimension"
        )
    return dims, sizes[0]


def _output_dims(out_dims: Any, output: Any, spec: Any, func: Any) -> list:
    if isinstance(output, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1:
        return list(out_dims)
    dims = spread(out_dims, spec)
    if dims is None:
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure "
            f"of `outputs`. out_dims has structure {flatten(out_dims)[1]} but outputs has structure {spec}."
        )
    return dims


def _stack(results: list, out_dims: Any, func: Any) -> Any:
    from .._ops.movement import stack

    rows = [flatten(r) for r in results]
    spec = rows[0][1]
    dims = _output_dims(out_dims, results[0], spec, func)
    outputs = []
    for k, d in enumerate(dims):
        values = [leaves[k] for leaves, _ in rows]
        if d is None:
            outputs.append(_shared(values, func))
            continue
        if not isinstance(values[0], Tensor):
            raise ValueError(
                f"vmap({_name(func)}, ...): `{_name(func)}` must only return Tensors, got type {type(values[0])}. Did "
                "you mean to set out_dims= to None for output?"
            )
        outputs.append(stack(values, d))
    return unflatten(outputs, spec)


def _shared(values: list, func: Any) -> Any:
    """The output that all slices gave, where ``out_dims`` says that they gave the same."""
    first = values[0]
    if isinstance(first, Tensor) and not all(v is first or bool((v == first).all()) for v in values):
        raise ValueError(
            f"vmap({_name(func)}, ...): `{_name(func)}` can not return a BatchedTensor when out_dim is None"
        )
    return first


def _empty(func: Callable, leaves: list, dims: list, spec: Any, kwargs: dict, out_dims: Any) -> Any:
    """The outputs for an empty batch, whose shapes an example of zeros tells."""
    state = default_generator.get_state()
    with no_grad():
        cut = [
            x if d is None else x.new_zeros([n for i, n in enumerate(x.shape) if i != d]) for x, d in zip(leaves, dims)
        ]
        output = func(*unflatten(cut, spec), **kwargs)
    default_generator.set_state(state)
    found, output_spec = flatten(_stack([output], out_dims, func))
    places = _output_dims(out_dims, output, output_spec, func)
    return unflatten([t if d is None else t.narrow(d % t.ndim, 0, 0) for t, d in zip(found, places)], output_spec)
