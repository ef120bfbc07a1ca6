"""Products with Jacobians and Hessians of a function at a point, as ``torch.autograd.functional``.

Source: https://pytorch.org/docs/stable/autograd.html#functional-higher-level-api
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._core.grad_mode import enable_grad, recording, set_grad_enabled
from .._core.tensor import Tensor
from .._core.views import edge
from ._levels import Pushforward, alias, gradients

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def _tuple(value: Any, argument: str, api: str) -> tuple[bool, tuple]:
    """Whether ``value`` is a tuple, and a tuple of tensors in any case."""
    many = isinstance(value, tuple)
    values = value if many else (value,)
    for i, t in enumerate(values):
        if not isinstance(t, Tensor):
            where = f"value at index {i}" if many else f"given {argument}"
            raise TypeError(
                f"The {argument} given to {api} must be either a Tensor or a tuple of Tensors but the {where} has type "
                f"{type(t)}."
            )
    return many, values


def _entries(inputs: tuple, create_graph: bool, need_graph: bool = True) -> tuple[Tensor, ...]:
    """Tensors of our own over the same memory, so that what the function captures is told from its arguments."""
    return tuple(
        [alias(t) if create_graph and edge(t) is not None else t.detach().requires_grad_(need_graph) for t in inputs]
    )


def _exits(values: Sequence[Tensor], create_graph: bool, many: bool) -> Any:
    out = tuple(values) if create_graph else tuple([t.detach() for t in values])
    return out if many else out[0]


def _vector(v: Any, api: str, like: tuple, many: bool, create_graph: bool) -> tuple[Tensor, ...]:
    _, given = _tuple(v, "v", api)
    if len(given) != len(like):
        if many:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(given)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for i, (a, b) in enumerate(zip(given, like)):
        if a.shape != b.shape:
            raise RuntimeError(
                f"{f'Entry {i} in ' if many else ''}v has invalid size: should be {b.shape} but got {a.shape}."
            )
    return _entries(given, create_graph, False)


def _strict(strict: bool, values: Sequence[Tensor | None], message: str) -> None:
    """In strict mode every value has to be there and to require grad; ``message`` may say which by ``{i}``."""
    if not strict:
        return
    for i, t in enumerate(values):
        if t is None:
            raise RuntimeError(_INDEPENDENT.format(i=i))
        if not t.requires_grad:
            raise RuntimeError(message.format(i=i))


_INDEPENDENT = (
    "The output of the user-provided function is independent of input {i}. This is not allowed in strict mode."
)
_OUTPUT = (
    "Output {i} of the user-provided function does not require gradients. The outputs must be computed in a "
    "differentiable manner "
    "from the input when running in strict mode."
)
_GRAD_INPUT = (
    "The gradient with respect to input {i} is independent of the inputs of the user-provided function. This is not "
    "allowed in strict mode."
)
_JACOBIAN = (
    "While computing the hessian, found that the jacobian of the user-provided function with respect to input {i} is "
    "independent of the "
    "input. This is not allowed in strict mode. You should ensure that your function is twice differentiable and that "
    "the jacobian depends "
    "on the inputs (this would be violated by a linear function for example)."
)
_JACOBIAN_MISSING = (
    "The jacobian of the user-provided function is independent of input {i}. This is not allowed in strict mode."
)
_TANGENT_MISSING = (
    "The gradient with respect to the input is independent of entry {i} in the grad_outputs when using the double "
    "backward trick to compute "
    "forward mode gradients. This is not allowed in strict mode."
)
_HESSIAN_MISSING = (
    "The hessian of the user-provided function is independent of entry {i} in the grad_jacobian. This is not allowed "
    "in strict mode as it "
    "prevents from using the double backward trick to replace forward mode AD."
)


def _filled(
    values: Sequence[Tensor | None], like: Sequence[Tensor], strict: bool, create_graph: bool, missing: str, what: str
) -> list[Tensor]:
    from .._ops.creation import zeros_like

    out = []
    for i, (t, x) in enumerate(zip(values, like)):
        if t is None:
            if strict:
                raise RuntimeError(missing.format(i=i))
            t = zeros_like(x)
        elif strict and create_graph and not t.requires_grad:
            raise RuntimeError(
                f"The {what} of the user-provided function is independent of input {i}. This is not allowed in strict "
                "mode when create_graph=True."
            )
        out.append(t)
    return out


def _mode(create_graph: bool) -> set_grad_enabled:
    return set_grad_enabled(True if create_graph else bool(recording()))


def vjp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """``(func(*inputs), v @ Jacobian)``.

    Args:
        inputs: a tensor, or a tuple that ``func`` takes one by one.
        v: as the output of ``func``; may be left out where that has one element.
        create_graph: make output and product differentiable.
        strict: an input without influence is an error (otherwise its product is zeros).

    Raises:
        RuntimeError: ``v`` does not fit the output, or a case of ``strict``. TypeError: something is no tensor.

    Example:
        >>> import tocha
        >>> tocha.autograd.functional.vjp(lambda x: x * x, tocha.tensor([1.0, 2.0]), tocha.ones(2))
        (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        many, given = _tuple(inputs, "inputs", "vjp")
        entries = _entries(given, create_graph)
        many_out, outputs = _tuple(func(*entries), "outputs of the user-provided function", "vjp")
        _strict(strict, outputs, _OUTPUT)
        if v is not None:
            v = _vector(v, "vjp", outputs, many_out, create_graph)
        elif len(outputs) != 1 or outputs[0]._data.size != 1:
            raise RuntimeError(
                "The vector v can only be None if the user-provided function returns a single Tensor with a single "
                "element."
            )
    with _mode(create_graph):
        found = gradients(outputs, entries, v, create_graph, create_graph)
        product = _filled(found, entries, strict, create_graph, _INDEPENDENT, "jacobian")
    return _exits(outputs, create_graph, many_out), _exits(product, create_graph, many)


def jvp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """``(func(*inputs), Jacobian @ v)``, by the derivative of the vector-Jacobian product.

    Args:
        v: as ``inputs``; may be left out where they have one element. The others and errors: as :func:`vjp`.

    Example:
        >>> import tocha
        >>> tocha.autograd.functional.jvp(lambda x: x * x, tocha.tensor([1.0, 2.0]), tocha.ones(2))
        (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        many, given = _tuple(inputs, "inputs", "jvp")
        entries = _entries(given, create_graph)
        v = _given_or_one(v, "jvp", entries, many, create_graph)
        many_out, outputs = _tuple(func(*entries), "outputs of the user-provided function", "jvp")
        _strict(strict, outputs, _OUTPUT)
        seeds = _zeros(outputs)
        products = gradients(outputs, entries, seeds, True)
        _strict(strict, products, _GRAD_INPUT)
    with _mode(create_graph):
        found = _second(products, seeds, v, create_graph)
        tangents = _filled(found, outputs, strict, create_graph, _TANGENT_MISSING, "jacobian")
    return _exits(outputs, create_graph, many_out), _exits(tangents, create_graph, many_out)


def _given_or_one(v: Any, api: str, entries: tuple, many: bool, create_graph: bool) -> Any:
    if v is not None:
        return _vector(v, api, entries, many, create_graph)
    if len(entries) != 1 or entries[0]._data.size != 1:
        raise RuntimeError(
            "The vector v can only be None if the input to the user-provided function is a single Tensor with a single "
            "element."
        )
    return None


def _zeros(like: Sequence[Tensor]) -> list[Tensor]:
    from .._ops.creation import zeros_like

    return [zeros_like(t, requires_grad=True) for t in like]


def _second(
    products: Sequence[Tensor | None], inputs: Sequence[Tensor], v: Any, create_graph: bool
) -> list[Tensor | None]:
    """The gradient of ``products`` (None: not there) along ``v``."""
    kept = [(p, None if v is None else v[i]) for i, p in enumerate(products) if p is not None]
    return gradients([p for p, _ in kept], inputs, None if v is None else [w for _, w in kept], create_graph)


def jacobian(
    func: Callable, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The Jacobian: a tensor of shape (output…, input…), in a tuple an output, an input, where there are tuples of
    them.

    Args:
        create_graph, strict: as :func:`vjp`.
        vectorize: PyTorch computes all rows at once with it; here it changes nothing but what it can be combined with.
        strategy: "reverse-mode" (a backward pass an output element), or "forward-mode" (one an input element; needs
            ``vectorize``).

    Example:
        >>> import tocha
        >>> tocha.autograd.functional.jacobian(lambda x: x * x, tocha.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs '
            "than inputs, "
            '"forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    many, given = _tuple(inputs, "inputs", "jacobian")
    if strategy == "forward-mode":
        _check_forward(create_graph, strict, vectorize)
        many_out, rows = _forward_jacobian(func, given)
        return _unpacked(rows, many_out, many)
    if strict and vectorize:
        raise RuntimeError(
            "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
            "Please either set "
            "`strict=False` or `vectorize=False`."
        )
    with enable_grad():
        entries = _entries(given, create_graph)
        many_out, outputs = _tuple(func(*entries), "outputs of the user-provided function", "jacobian")
        _strict(strict, outputs, _OUTPUT)
        rows = [_rows(out, i, entries, strict, create_graph) for i, out in enumerate(outputs)]
        return _unpacked([[t if create_graph else t.detach() for t in row] for row in rows], many_out, many)


def _rows(out: Tensor, number: int, entries: tuple, strict: bool, create_graph: bool) -> list[Tensor]:
    """The Jacobian of one output with respect to each input."""
    from ..func._reverse import basis, stacked

    found: list[list[Tensor]] = [[] for _ in entries]
    for unit in basis(out.detach()):
        for i, (g, x) in enumerate(zip(gradients([out], entries, [unit], create_graph), entries)):
            if g is None and strict:
                raise RuntimeError(
                    f"Output {number} of the user-provided function is independent of input {i}. This is not allowed "
                    "in strict mode."
                )
            if strict and create_graph and not g.requires_grad:  # type: ignore[union-attr]
                raise RuntimeError(
                    f"The jacobian of the user-provided function is independent of input {number}. This is not allowed "
                    "in strict mode when create_graph=True."
                )
            found[i].append(x.detach().new_zeros(x.shape) if g is None else g)
    return [stacked(rows, x.detach(), (*out.shape, *x.shape)) for rows, x in zip(found, entries)]


def _unpacked(rows: list, many_out: bool, many: bool) -> Any:
    packed = tuple([tuple(row) if many else row[0] for row in rows])
    return packed if many_out else packed[0]


def _check_forward(create_graph: bool, strict: bool, vectorize: bool) -> None:
    if create_graph:
        raise NotImplementedError(
            'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not supported '
            "together (yet). "
            'Please either set `create_graph=False` or `strategy="reverse-mode"`.'
        )
    if strict:
        raise RuntimeError(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported '
            "together (yet). Please "
            'either set `strict=False` or `strategy="reverse-mode"`.'
        )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for "
            "`vectorize=True`."
        )


def _forward_jacobian(func: Callable, inputs: tuple) -> tuple[bool, list]:
    from ..func._reverse import basis, filled, stacked

    with enable_grad():
        entries = _entries(inputs, False)
        many_out, outputs = _tuple(func(*entries), "outputs", "jacobian")
        push = Pushforward(outputs, entries)
    rows: list[list[Tensor]] = [[] for _ in outputs]
    for k, x in enumerate(entries):
        tangents: list = [None] * len(entries)
        columns = []
        for unit in basis(x.detach()):
            tangents[k] = unit
            columns.append(filled(push(tangents), [o.detach() for o in outputs]))
        for i, out in enumerate(outputs):
            flat = stacked([c[i] for c in columns], out.detach(), (x._data.size, *out.shape))
            rows[i].append(flat.movedim(0, -1).reshape((*out.shape, *x.shape)).detach())
    return many_out, rows


def _scalar(outputs: tuple, many_out: bool, api: str) -> None:
    if many_out:
        raise RuntimeError(f"The function given to {api} should return a single Tensor")
    if outputs[0]._data.size != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {api} should contain a single element")


def hessian(
    func: Callable, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The Hessian of a function with one output element: (input…, input…), in a tuple of tuples for several inputs.

    Args: as :func:`jacobian`; ``outer_jacobian_strategy`` is the strategy of the second derivative.

    Example:
        >>> import tocha
        >>> tocha.autograd.functional.hessian(lambda x: (x ** 3).sum(), tocha.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    many, given = _tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def scalar(*values: Tensor) -> Tensor:
        many_out, outputs = _tuple(func(*values), "outputs of the user-provided function", "hessian")
        _strict(strict, outputs, _OUTPUT)
        _scalar(outputs, many_out, "hessian")
        return outputs[0].squeeze()

    def first(*values: Tensor) -> tuple:
        found = jacobian(scalar, values, create_graph=True)
        _strict(strict, found, _JACOBIAN)
        return found

    rows = jacobian(first, given, create_graph, strict, vectorize, outer_jacobian_strategy)
    return rows if many else rows[0][0]


def vhp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """``(func(*inputs), v @ Hessian)`` of a function with one output element.

    Args: as :func:`jvp`.

    Example:
        >>> import tocha
        >>> tocha.autograd.functional.vhp(lambda x: (x ** 3).sum(), tocha.tensor([1.0, 2.0]), tocha.ones(2))
        (tensor(9.), tensor([ 6., 12.]))
    """
    many, entries, v, outputs, first = _first_gradient("vhp", func, inputs, v, create_graph, strict)
    with _mode(create_graph):
        product = _filled(
            _second(first, entries, v, create_graph), entries, strict, create_graph, _JACOBIAN_MISSING, "hessian"
        )
    return _exits(outputs, create_graph, False), _exits(product, create_graph, many)


def hvp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """``(func(*inputs), Hessian @ v)`` of a function with one output element; ``vhp`` gives the same values faster.

    Args: as :func:`jvp`.

    Example:
        >>> import tocha
        >>> tocha.autograd.functional.hvp(lambda x: (x ** 3).sum(), tocha.tensor([1.0, 2.0]), tocha.ones(2))
        (tensor(9.), tensor([ 6., 12.]))
    """
    many, entries, v, outputs, first = _first_gradient("hvp", func, inputs, v, create_graph, strict)
    with enable_grad():
        seeds = _zeros(entries)
        second = _second(first, entries, seeds, True)
    with _mode(create_graph):
        product = _filled(
            _second(second, seeds, v, create_graph), entries, strict, create_graph, _HESSIAN_MISSING, "hessian"
        )
    return _exits(outputs, create_graph, False), _exits(product, create_graph, many)


def _first_gradient(api: str, func: Callable, inputs: Any, v: Any, create_graph: bool, strict: bool) -> tuple:
    with enable_grad():
        many, given = _tuple(inputs, "inputs", api)
        entries = _entries(given, create_graph)
        v = _given_or_one(v, api, entries, many, create_graph)
        many_out, outputs = _tuple(func(*entries), "outputs of the user-provided function", api)
        _strict(strict, outputs, _OUTPUT)
        _scalar(outputs, many_out, api)
        first = gradients(outputs, entries, None, True)
        _strict(strict, first, _JACOBIAN)
    return many, entries, v, outputs, first
