"""The operator record: everything tocha knows about one primitive or fused operator, in one place."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from . import arrays

OPS: dict[str, Op] = {}
# kinds of raw array that are not memory (meta, traced): type -> how an operator runs on them
ABSTRACT: dict[type, Callable[[Op], Callable]] = {}

_GRAD_NAMES = {"mm": "Mm", "matmul": "Mm", "cast": "ToCopy", "view": "View", "sum": "Sum", "log_softmax": "LogSoftmax"}


def _camel(name: str) -> str:
    return _GRAD_NAMES.get(name) or "".join(part[:1].upper() + part[1:] for part in name.split("_"))


class Op:
    """One operator.

    Args:
        name: unique; lowerings and overrides find the operator by it.
        kernel: the name of a function of the array module, or ``kernel(xp, *raw_inputs, *attributes)``.
        vjp: ``vjp(node, g)`` gives one gradient (or None) for each tensor input. It uses operators and operator
            calls only, so that it runs on raw arrays, Tensors and traced values. None: not differentiable.
        infer: ``infer(*inputs, *attributes)`` gives ``(shape, dtype)``, or a list of them for several outputs, from
            the inputs' ``shape`` and ``dtype`` alone, in arithmetic that works on symbolic sizes.
        arity: number of leading tensor arguments; None: the first argument is a sequence of tensors.
        save: what the rule needs: indices of inputs (of a sequence ``("all",)``, or ``("from1",)``, ``("from2",)`` for
            all but the first one or two), ``"y"`` for the output (``"y0"``, ``"y1"`` of several).
        outputs: number of outputs; 0: a tuple whose length the call decides.
        aux: number of extra values that the kernel returns after its outputs, for the rule only.
        view: the output aliases the first input (``"maybe"``: unless the kernel had to copy).
        linear: the rule is real-linear in ``g`` and uses no saved complex value, so complex numbers need no
            conjugation.
    """

    __slots__ = (
        "name", "kernel", "vjp", "infer", "arity", "roles", "outputs", "aux", "view", "linear", "kern", "table",
        "overrides", "call", "backward", "grad_name", "family", "_conjugate", "save_from", "meta",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        kernel: str | Callable,
        vjp: Callable | None = None,
        infer: Callable | None = None,
        *,
        arity: int | None = 1,
        save: tuple[int | str, ...] = (),
        outputs: int = 1,
        aux: int = 0,
        view: bool | str = False,
        linear: bool = False,
        family: str = "generic",
    ) -> None:
        if name in OPS:
            raise ValueError(f"operator {name!r} is registered twice")
        self.name, self.kernel, self.vjp, self.infer, self.arity = name, kernel, vjp, infer, arity
        self.save_from = {"all": 0, "from1": 1, "from2": 2}.get(str(save[0])) if save else None
        if self.save_from is not None:
            save = ()
        self.roles = tuple([-1 - int(s[1:] or 0) if isinstance(s, str) else s for s in save])
        self.outputs, self.aux, self.view, self.linear, self.family = outputs, aux, view, linear, family
        self.overrides: dict[str, Callable] = {}
        self.table: dict[type, Callable] = {}
        self.kern: Callable = self.resolve(np.ndarray)
        self.backward = vjp
        self.grad_name = _camel(name) + "Backward0"
        self._conjugate: Op | None = None
        self.call: Callable = self.run
        self.meta: dict[str, Any] = {}
        OPS[name] = self

    def __repr__(self) -> str:
        return f"<operator {self.name}>"

    def resolve(self, raw_type: type) -> Callable:
        """The kernel for a raw type; found once, then kept in ``table``."""
        kernel = self.table.get(raw_type)
        if kernel is None:
            abstract = ABSTRACT.get(raw_type)
            if abstract is not None:
                kernel = abstract(self)
            else:
                module = arrays._by_type.get(raw_type)
                if module is None:
                    raise TypeError(
                        f"{self.name}(): argument 'input' (position 1) must be Tensor, not {raw_type.__name__}"
                    )
                kernel = self.overrides.get(module.device_type) or bind(self.kernel, module.xp)
                if module.device_type != "cpu":
                    kernel = on_its_device(kernel, module)
            self.table[raw_type] = kernel
        return kernel

    def run(self, *args: Any) -> Any:
        """Run the kernel that fits the raw arrays in ``args`` (first output only where it keeps aux values)."""
        result = self.select(args)(*args)
        return result[0] if self.aux and self.outputs == 1 else result[: -self.aux] if self.aux else result

    def replay(self, *args: Any) -> Any:
        """As ``run``, with what the kernel keeps for the rule after the outputs: a recorded graph has those values
        too."""
        return self.select(args)(*args)

    def select(self, args: tuple) -> Callable:
        """The kernel for the array type of ``args``, raw inputs and attributes."""
        if self.arity is None:
            return self.resolve(raw_type_of(args[0]))
        return self.resolve(raw_type_of(args[: self.arity]))

    def override(self, device_type: str, kernel: Callable) -> None:
        """Use ``kernel(*raw_inputs, *attributes)`` on a device type; takes effect at once, everywhere."""
        self.overrides[device_type] = kernel
        self.forget()

    def forget(self) -> None:
        """Drop the kernels that were resolved: the next call of each array type resolves anew."""
        self.table.clear()
        self.kern = self.resolve(np.ndarray)

    def conjugate(self) -> Op:
        """The record that nodes of complex numbers carry: its rule is the real rule between two conjugations.

        For holomorphic f, PyTorch's gradient is ``g * conj(f'(x))``, which is ``conj(rule(conj(g)))``.
        """
        if self.linear:
            return self
        if self._conjugate is None:
            self._conjugate = _Conjugated(self)  # type: ignore[assignment]
        return self._conjugate  # type: ignore[return-value]


class _Conjugated:
    """Proxy of a record whose rule is conjugated."""

    def __init__(self, op: Op) -> None:
        self.op = op

    def __getattr__(self, name: str) -> Any:
        return getattr(self.op, name)

    def vjp(self, node: Any, g: Any) -> tuple:
        from .._ops.complex import conj_physical as conj

        g = type(g)({k: conj(v) for k, v in g.items()}) if isinstance(g, dict) else conj(g)
        return tuple([None if r is None else conj(r) for r in self.op.vjp(node, g)])  # type: ignore[misc]

    backward = vjp


def bind(kernel: str | Callable, xp: Any) -> Callable:
    """A kernel for one array module."""
    if isinstance(kernel, str):
        found = xp
        for part in kernel.split("."):
            found = getattr(found, part)
        return found
    return functools.partial(kernel, xp)


def on_its_device(kernel: Callable, module: arrays.ArrayModule) -> Callable:
    """A kernel that runs where its arrays are, when that is not the current device."""
    current = module.xp.cuda.runtime.getDevice

    def run(*args: Any, **kwargs: Any) -> Any:
        for arg in args:
            a: Any = arg[0] if type(arg) is tuple and arg else arg
            if type(a) is module.array_type:
                if a.device.id == current():
                    break
                with module.xp.cuda.Device(a.device.id):
                    return kernel(*args, **kwargs)
        return kernel(*args, **kwargs)

    return run


def raw_type_of(values: Any) -> type:
    """The one raw type of several arrays (numbers and None do not count).

    Raises:
        RuntimeError: they are on different devices (PyTorch's message).
    """
    kind: type = np.ndarray
    first: Any = None
    for value in values:
        t = type(value)
        if t is np.ndarray:
            if first is None:
                first = value
            elif kind is not np.ndarray and kind not in ABSTRACT:
                raise device_error(first, value)
        elif t in ABSTRACT:
            if kind is np.ndarray or kind not in ABSTRACT or getattr(t, "records", False):
                kind, first = t, value
        elif t in arrays._by_type and t is not np.generic:
            if (kind is np.ndarray and first is not None) or (
                kind is not np.ndarray and kind is not t and kind not in ABSTRACT
            ):
                raise device_error(first, value)
            if kind is t and first is not None and arrays.device_of(first) != arrays.device_of(value):
                raise device_error(first, value)
            kind, first = t, value
    return kind


def device_error(a: Any, b: Any) -> RuntimeError:
    return RuntimeError(
        "Expected all tensors to be on the same device, but found at least two devices, "
        f"{arrays.device_of(a)} and {arrays.device_of(b)}! Move one of them with .to(device)"
    )


def forget_kernels() -> None:
    for op in OPS.values():
        op.forget()


arrays._on_change.append(forget_kernels)
