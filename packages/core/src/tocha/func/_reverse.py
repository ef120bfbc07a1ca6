"""Reverse mode: ``grad``, ``grad_and_value``, ``vjp``, ``jacrev``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._core.grad_mode import recording
from .._core.tensor import Tensor
from .._core.views import edge
from ..autograd._levels import gradients, leads_beyond, leave, level, root
from ._arguments import check_real, check_tensors, positions, replaced, split_aux
from ._tree import Spec, flatten, tree_map, unflatten


def make_root(x: Any) -> Tensor:
    if not isinstance(x, Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
    return root(x)


def filled(values: Any, like: Any) -> list[Tensor]:
    """``values`` with zeros for None."""
    from .._ops.creation import zeros_like

    return [zeros_like(t) if v is None else v for v, t in zip(values, like)]


def chosen_roots(args: tuple, argnums: int | tuple[int, ...]) -> tuple[tuple, list[Tensor], list[Tensor], Spec]:
    """The arguments with roots in the place of those that ``argnums`` names; the originals, the roots, their
    structure."""
    places = positions(argnums, len(args))
    single = isinstance(argnums, int)
    leaves, spec = flatten(args[places[0]] if single else tuple([args[p] for p in places]))
    roots = [make_root(leaf) for leaf in leaves]
    inner = unflatten(roots, spec)
    return replaced(args, places, (inner,) if single else inner), leaves, roots, spec


def grad_and_value(func: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable:
    """A function that gives ``(gradient, value)`` of ``func``, which must return a 0-d tensor.

    Args:
        argnums: the argument to differentiate (may be a nest of tensors), or a tuple of several.
        has_aux: ``func`` returns ``(value, aux)``; the result is ``(gradient, (value, aux))``.

    Raises:
        RuntimeError: ``func`` returns something else than a 0-d tensor, or ``argnums`` does not fit the arguments.

    Source: https://pytorch.org/docs/stable/generated/torch.func.grad_and_value.html

    Example:
        >>> import tocha
        >>> tocha.func.grad_and_value(lambda x: x * x)(tocha.tensor(3.0))
        (tensor(6.), tensor(9.))
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        api = "grad_and_value(f)(*args)"
        inner, leaves, roots, spec = chosen_roots(args, argnums)
        with level():
            output, aux = split_aux(func(*inner, **kwargs), has_aux, api)
        if not isinstance(output, Tensor):
            raise RuntimeError(f"{api}: Expected f(*args) to return a Tensor, got {type(output)}")
        if output.ndim:
            raise RuntimeError(
                f"{api}: Expected f(*args) to return a scalar Tensor, got tensor with {output.ndim} dims. Maybe you "
                "wanted to use the vjp or jacrev APIs instead?"
            )
        ids = {id(r) for r in roots}
        create = bool(recording()) and leads_beyond((output,), ids)
        found = gradients([output], roots, None, create, retain=create or has_aux)
        grads = unflatten([leave(g, ids) for g in filled(found, leaves)], spec)
        value = leave(output, ids)
        return grads, (value, tree_map(lambda t: leave(t, ids), aux)) if has_aux else value

    return wrapper


def grad(func: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable:
    """A function that gives the gradient of ``func``, which must return a 0-d tensor; nests to any order.

    Args and errors: as :func:`grad_and_value`; with ``has_aux`` the result is ``(gradient, aux)``.

    Example:
        >>> import tocha
        >>> tocha.func.grad(tocha.func.grad(tocha.sin))(tocha.tensor(0.0))
        tensor(-0.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        grads, value = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return wrapper


class _Pullback:
    """A recorded function and the products of cotangents with its Jacobian."""

    def __init__(self, func: Callable, args: tuple, argnums: Any, has_aux: bool) -> None:
        api = "vjp(f, *primals)"
        if argnums is None:  # every argument: the structure is the tuple of them
            self.leaves, self.spec = flatten(args)
            self.roots = [make_root(leaf) for leaf in self.leaves]
            inner = unflatten(self.roots, self.spec)
        else:
            inner, self.leaves, self.roots, self.spec = chosen_roots(args, argnums)
        with level():
            output, aux = split_aux(func(*inner), has_aux, api)
        self.outputs, self.output_spec = flatten(output)
        check_tensors(self.outputs, api)
        for o in self.outputs:
            if o._data.dtype.kind not in "fVc":
                raise RuntimeError(
                    "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
                    f"{o.dtype}"
                )
        self.ids = {id(r) for r in self.roots}
        self.live = leads_beyond(self.outputs, self.ids)
        self.output = unflatten([leave(o, self.ids) for o in self.outputs], self.output_spec)
        self.aux = tree_map(lambda t: leave(t, self.ids), aux)

    def pull(
        self, cotangents: list, retain: bool = True, create: bool | None = None, only: int | None = None
    ) -> list[Tensor]:
        """The products with the cotangents of all outputs, or of the one numbered ``only``."""
        outputs = self.outputs if only is None else [self.outputs[only]]
        if create is None:
            create = bool(recording())
        create = create and (self.live or any(edge(c) is not None for c in cotangents))
        found = gradients(outputs, self.roots, cotangents, create, retain)
        return [leave(g, self.ids) for g in filled(found, self.leaves)]


def vjp(func: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """``(func(*primals), vjp_fn)``, or with ``has_aux`` ``(output, vjp_fn, aux)``.

    ``vjp_fn(cotangents)`` gives, for cotangents in the structure of the output, a tuple of vector-Jacobian products,
    one for each primal. It may be called as often as you like.

    Raises:
        RuntimeError: an output is no floating-point or complex tensor, or the cotangents have another structure.

    Source: https://pytorch.org/docs/stable/generated/torch.func.vjp.html

    Example:
        >>> import tocha
        >>> y, vjp_fn = tocha.func.vjp(tocha.sin, tocha.zeros(2))
        >>> vjp_fn(tocha.ones(2))
        (tensor([1., 1.]),)
    """
    pullback = _Pullback(func, primals, None, has_aux)

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        leaves, spec = flatten(cotangents)
        if spec != pullback.output_spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {spec}, primal output: {pullback.output_spec}"
            )
        return unflatten(pullback.pull(leaves, retain_graph, create_graph), pullback.spec)

    return (pullback.output, vjp_fn, pullback.aux) if has_aux else (pullback.output, vjp_fn)


def basis(like: Tensor) -> Any:
    """The unit tensors of the shape of ``like``, one after the other."""
    from .._ops.creation import zeros_like

    for i in range(like._data.size):
        unit = zeros_like(like).contiguous()
        unit.view(-1)[i] = 1
        yield unit


def stacked(rows: list, like: Tensor, shape: tuple) -> Tensor:
    """``rows`` as one tensor of ``shape`` (zeros like ``like`` where there are none)."""
    from .._ops.movement import stack

    return stack(rows).reshape(shape) if rows else like.new_zeros(shape)


def jacrev(
    func: Callable, argnums: int | tuple[int, ...] = 0, *, has_aux: bool = False, chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable:  # fmt: skip
    """A function that gives the Jacobian of ``func`` by reverse mode: one backward pass an output element.

    The Jacobian of an output of shape (O…) with respect to an argument of shape (I…) has shape (O…, I…); the result
    has the structure of the output, with the structure of the arguments inside.

    Args:
        argnums, has_aux: as :func:`grad_and_value`.
        chunk_size: how many rows PyTorch would compute at once; rows are computed one by one here, so it only has to be
            positive.

    Raises:
        RuntimeError: complex inputs or outputs. ValueError: ``chunk_size`` is not positive.

    Example:
        >>> import tocha
        >>> tocha.func.jacrev(lambda x: x * x)(tocha.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapper(*args: Any) -> Any:
        check_real("jacrev", args, "inputs")
        pullback = _Pullback(func, args, argnums, has_aux)
        check_real("jacrev", pullback.outputs, "outputs")
        jacobians = []
        for i, out in enumerate(pullback.outputs):
            rows = []
            for unit in basis(out.detach()):
                rows.append(pullback.pull([unit], only=i))
            columns = [
                stacked([r[k] for r in rows], x, (*out._data.shape, *x._data.shape))
                for k, x in enumerate(pullback.leaves)
            ]
            jacobians.append(unflatten(columns, pullback.spec))
        result = unflatten(jacobians, pullback.output_spec)
        return (result, pullback.aux) if has_aux else result

    return wrapper
