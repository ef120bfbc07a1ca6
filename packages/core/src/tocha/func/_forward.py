"""Forward mode: ``jvp``, ``linearize``, ``jacfwd``; and ``hessian``, forward over reverse."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._core.tensor import Tensor
from ..autograd._levels import Pushforward, leave, level
from ._arguments import check_real, check_tensors, positions, replaced, split_aux
from ._reverse import basis, filled, jacrev, make_root, stacked
from ._tree import flatten, tree_map, unflatten

_JVP = "jvp(f, primals, tangents)"


class _Linear:
    """A function recorded at a point, and its derivative there."""

    def __init__(self, func: Callable, args: tuple, argnums: Any, has_aux: bool, api: str) -> None:
        places = tuple(range(len(args))) if argnums is None else positions(argnums, len(args))
        chosen = tuple([args[p] for p in places])
        self.leaves, self.spec = flatten(chosen)
        roots = [make_root(leaf) for leaf in self.leaves]
        with level():
            output, aux = split_aux(func(*replaced(args, places, unflatten(roots, self.spec))), has_aux, api)
        self.outputs, self.output_spec = flatten(output)
        check_tensors(self.outputs, api)
        self.push = Pushforward(self.outputs, roots)
        self.output = unflatten([leave(o, self.push.ids) for o in self.outputs], self.output_spec)
        self.aux = tree_map(lambda t: leave(t, self.push.ids), aux)


def jvp(func: Callable, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> tuple:
    """``(func(*primals), tangent of the output)``: the Jacobian-vector product along ``tangents``.

    Args:
        primals, tangents: tuples of one structure.
        strict: an output that does not depend on the primals is an error (otherwise its tangent is zeros).
        has_aux: ``func`` returns ``(output, aux)``, and the result is ``(output, tangent, aux)``.

    Raises:
        RuntimeError: the structures differ, or something is no tensor.

    Source: https://pytorch.org/docs/stable/generated/torch.func.jvp.html

    Example:
        >>> import tocha
        >>> tocha.func.jvp(tocha.sin, (tocha.tensor(0.0),), (tocha.tensor(2.0),))
        (tensor(0.), tensor(2.))
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{_JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    leaves, spec = flatten(primals)
    directions, tangent_spec = flatten(tangents)
    if spec != tangent_spec:
        raise RuntimeError(
            f"{_JVP}: Expected primals and tangents to have the same python structure. For example, if primals is a "
            f"tuple of 3 tensors, tangents also must be. Got primals with structure {spec} and tangents with structure "
            f"{tangent_spec}"
        )
    for name, values in (("primals", leaves), ("tangents", directions)):
        if not values:
            raise RuntimeError(f"{_JVP}: Expected {name} to contain at least one Tensor.")
        for value in values:
            if not isinstance(value, Tensor):
                raise RuntimeError(f"{_JVP}: Expected {name} to only contain Tensors, got {type(value)}")
    for p, t in zip(leaves, directions):
        if p.shape != t.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the original Tensor, this is "
                f"not supported. Tensor is of size {list(p.shape)} while the given forward gradient is of size "
                f"{list(t.shape)}."
            )
    linear = _Linear(func, primals, None, has_aux, _JVP)
    found = linear.push(directions)
    if strict and any(t is None for t in found):
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed "
            "with strict=True."
        )
    tangent = unflatten(filled(found, linear.outputs), linear.output_spec)
    return (linear.output, tangent, linear.aux) if has_aux else (linear.output, tangent)


def linearize(func: Callable, *primals: Any) -> tuple[Any, Callable]:
    """``(func(*primals), jvp_fn)``; ``jvp_fn(*tangents)`` is the derivative at ``primals``, without running ``func``
    again.

    Raises:
        RuntimeError: the tangents differ from the primals in structure, shape, dtype or device.

    Example:
        >>> import tocha
        >>> y, jvp_fn = tocha.func.linearize(tocha.sin, tocha.tensor(0.0))
        >>> jvp_fn(tocha.tensor(2.0))
        tensor(2.)
    """
    linear = _Linear(func, primals, None, False, "linearize(f, *primals)")

    def jvp_fn(*tangents: Any) -> Any:
        leaves, spec = flatten(tangents)
        if spec != linear.spec:
            raise RuntimeError(f"Expected the tangents {spec} to have the same argspec as the primals {linear.spec}")
        for i, (t, p) in enumerate(zip(leaves, linear.leaves)):
            for what in ("shape", "device", "dtype"):
                have, want = getattr(t, what), getattr(p, what)
                if have != want:
                    raise RuntimeError(
                        f"tangent:{i} with {what} {have} in flattened pytree doesn't match the {what} {want} of the "
                        "corresponding primal."
                    )
        return unflatten(filled(linear.push(leaves), linear.outputs), linear.output_spec)

    return linear.output, jvp_fn


def jacfwd(
    func: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable:
    """A function that gives the Jacobian of ``func`` by forward mode: ``func`` runs once, then one pass an input
    element.

    Shapes and structure are those of :func:`jacrev`.

    Args:
        argnums, has_aux: as :func:`grad_and_value`.
        randomness: "error", "different" or "same", as in :func:`vmap`; ``func`` runs once, so that every direction
            sees the same random numbers.

    Raises:
        RuntimeError: complex inputs or outputs.

    Example:
        >>> import tocha
        >>> tocha.func.jacfwd(lambda x: x * x)(tocha.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    from ._vmap import check_randomness, guarded

    @functools.wraps(func)
    def wrapper(*args: Any) -> Any:
        check_real("jacfwd", args, "inputs")
        check_randomness(randomness)
        with guarded(randomness):
            linear = _Linear(func, args, argnums, has_aux, _JVP)
        check_real("jacfwd", linear.outputs, "outputs")
        pushed = []  # for each leaf, for each of its elements: the tangents of all outputs
        for k, leaf in enumerate(linear.leaves):
            tangents: list = [None] * len(linear.leaves)
            columns = []
            for unit in basis(leaf.detach()):
                tangents[k] = unit
                columns.append(filled(linear.push(tangents), linear.outputs))
            pushed.append(columns)
        jacobians = []
        for i, out in enumerate(linear.outputs):
            shape = tuple(out._data.shape)
            parts = [
                stacked([c[i] for c in columns], out.detach(), (leaf._data.size, *shape))
                .movedim(0, -1)
                .reshape((*shape, *leaf._data.shape))
                for columns, leaf in zip(pushed, linear.leaves)
            ]
            inner = unflatten(parts, linear.spec)
            jacobians.append(inner[0] if isinstance(argnums, int) else inner)
        result = unflatten(jacobians, linear.output_spec)
        return (result, linear.aux) if has_aux else result

    return wrapper


def hessian(func: Callable, argnums: int | tuple[int, ...] = 0) -> Callable:
    """A function that gives the Hessian of ``func``: ``jacfwd(jacrev(func))``.

    Example:
        >>> import tocha
        >>> tocha.func.hessian(lambda x: (x ** 3).sum())(tocha.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
