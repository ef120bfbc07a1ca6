"""Activation checkpointing: forget what a part of the model computed, and compute it again in backward.

Source: https://pytorch.org/docs/stable/checkpoint.html, and Chen et al., "Training Deep Nets with Sublinear Memory
    Cost".
"""

from __future__ import annotations

import contextlib
import sys
import traceback
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from .._core import engine
from .._core.grad_mode import enable_grad, no_grad
from .._core.tensor import Tensor
from ..autograd import Function, backward
from ..autograd.graph import saved_tensors_hooks
from ..random import fork_rng, get_rng_state, set_rng_state

__all__ = ["CheckpointError", "CheckpointFunction", "check_backward_validity", "checkpoint", "checkpoint_sequential",
           "detach_variable",
           "get_device_states", "noop_context_fn", "set_checkpoint_debug_enabled", "set_checkpoint_early_stop",
           "set_device_states"]  # fmt: skip


class CheckpointError(RuntimeError):
    """The recomputation did not repeat the forward pass."""


_early_stop: bool | None = None
_debug: bool | None = None


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Whether checkpoints made inside stop recomputing once they have what is needed, whatever their ``early_stop``
    says."""
    global _early_stop
    previous, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = previous


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Whether checkpoints made inside keep where tensors were saved, for errors; None leaves it to their ``debug``."""
    global _debug
    previous, _debug = _debug, enabled
    try:
        yield
    finally:
        _debug = previous


def noop_context_fn() -> tuple[Any, Any]:
    """The contexts of a checkpoint that needs none."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def detach_variable(inputs: tuple) -> tuple:
    """The same tensors without history, that require grad where they did.

    Raises:
        RuntimeError: ``inputs`` is no tuple.
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple([t.detach().requires_grad_(t.requires_grad) if isinstance(t, Tensor) else t for t in inputs])


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn where no input requires grad."""
    if not any(t.requires_grad for t in inputs if isinstance(t, Tensor)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The CUDA devices of the tensors in ``args``, and the states of their random streams."""
    devices = [a.device.index or 0 for a in args if isinstance(a, Tensor) and a.device.type == "cuda"]
    if not devices:
        return [], []
    from .. import cuda

    return devices, [cuda.get_rng_state(d) for d in devices]


def set_device_states(devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None) -> None:
    """Set the random streams of CUDA devices to ``states``."""
    for device, state in zip(devices, states):
        from .. import cuda

        cuda.set_rng_state(state, device)


class _RandomState:
    """The random streams as they were at the beginning of the forward pass."""

    def __init__(self, preserve: bool, args: Sequence[Any]) -> None:
        self.preserve = preserve
        if preserve:
            self.host = get_rng_state()
            self.devices, self.states = get_device_states(*args)

    @contextlib.contextmanager
    def again(self) -> Iterator[None]:
        with fork_rng(self.devices if self.preserve else (), enabled=self.preserve):
            if self.preserve:
                set_rng_state(self.host)
                set_device_states(self.devices, self.states)
            yield


# ---------------------------------------------------------------- with recording (use_reentrant=False)


class _Holder:
    """Stands for a saved tensor until backward wants it."""

    __slots__ = ("frame", "index", "__weakref__")

    def __init__(self, frame: _Frame, index: int) -> None:
        self.frame, self.index = frame, index


class _Stop(Exception):
    """Everything is recomputed."""


def _facts(t: Tensor) -> dict[str, Any]:
    return {"shape": t.shape, "dtype": t.dtype, "device": t.device}


def _place() -> str:
    """The line of the program that saved a tensor."""
    frames = [f for f in traceback.extract_stack() if "/tocha/" not in f.filename.replace("\\", "/")]
    return f"{frames[-1].filename}:{frames[-1].lineno}: {frames[-1].line}" if frames else "?"


class _Frame:
    """One checkpointed call: how to run it again, and which tensors it saved."""

    def __init__(self, again: Callable[[], Any], check: bool, early_stop: bool, debug: bool) -> None:
        self.again, self.check, self.early_stop, self.debug = again, check, early_stop, debug
        self.holders: list[weakref.ref] = []
        self.facts: list[dict] = []
        self.recomputed: dict[int, Tensor] = {}
        self.places: tuple[list[str], list[str]] = ([], [])

    def pack(self, t: Tensor) -> _Holder:
        holder = _Holder(self, len(self.holders))
        self.holders.append(weakref.ref(holder))
        self.facts.append(_facts(t))
        if self.debug:
            self.places[0].append(_place())
        return holder

    def unpack(self, holder: _Holder) -> Tensor:
        if holder.index not in self.recomputed:
            self.recompute()
        return self.recomputed.pop(holder.index)

    def recompute(self) -> None:
        count = 0
        self.places[1].clear()

        def keep(t: Tensor) -> Tensor:
            nonlocal count
            index, count = count, count + 1
            if self.debug:
                self.places[1].append(_place())
            if index < len(self.holders) and self.holders[index]() is not None:
                self.recomputed[index] = t.detach()
                self._same_facts(index, t)
            if self.early_stop and count == len(self.holders):
                raise _Stop
            return t

        try:
            with saved_tensors_hooks(keep, lambda t: t), enable_grad():
                self.again()
        except _Stop:
            return
        if count != len(self.holders):
            raise CheckpointError(
                "tocha.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.holders)}\n"
                f"Number of tensors saved during recomputation: {count}.\n{self._tip()}"
            )

    def _same_facts(self, index: int, t: Tensor) -> None:
        if self.check and _facts(t) != self.facts[index]:
            raise CheckpointError(
                "tocha.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                f"during the forward pass.\ntensor at position {index}:\nsaved metadata: "
                f"{self.facts[index]}\nrecomputed metadata: {_facts(t)}\n{self._tip()}"
            )

    def _tip(self) -> str:
        if self.debug:
            forward, again = ("\n".join(f"  {i}: {p}" for i, p in enumerate(places)) for places in self.places)
            return f"Saved during forward:\n{forward}\nSaved during recomputation:\n{again}"
        return "Pass debug=True to checkpoint() to see where both passes saved their tensors."


def _without_reentrant(
    function: Callable,
    preserve: bool,
    context_fn: Callable,
    check: str,
    debug: bool,
    early_stop: bool,
    args: tuple,
    kwargs: dict,
) -> Any:
    if check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], got: {check}")
    forward_context, recompute_context = context_fn()
    random = _RandomState(preserve, args)

    def again() -> None:
        with random.again(), recompute_context:
            function(*args, **kwargs)

    frame = _Frame(
        again,
        check == "default",
        early_stop if _early_stop is None else _early_stop,
        debug if _debug is None else _debug,
    )
    with saved_tensors_hooks(frame.pack, frame.unpack), forward_context:
        return function(*args, **kwargs)


# ---------------------------------------------------------------- without recording (use_reentrant=True)


class CheckpointFunction(Function):
    """A checkpoint as one node, whose backward runs the function again and backward through it."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable, preserve_rng_state: bool, *args: Any) -> Any:
        """Run the function without recording it; its arguments are kept."""
        check_backward_validity(args)
        ctx.run_function, ctx.random = run_function, _RandomState(preserve_rng_state, args)
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.inputs = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*[args[i] for i in ctx.places])
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple:
        """Run the function again, recorded, and differentiate it."""
        if _towards_targets():
            raise RuntimeError(
                "When use_reentrant=True, tocha.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                ".backward() without passing the `inputs` argument."
            )
        inputs = list(ctx.inputs)
        for place, t in zip(ctx.places, ctx.saved_tensors):
            inputs[place] = t
        detached = detach_variable(tuple(inputs))
        with ctx.random.again(), enable_grad():
            outputs = ctx.run_function(*detached)
        outputs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
        pairs = [(o, g) for o, g in zip(outputs, grads) if isinstance(o, Tensor) and o.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *[t.grad if isinstance(t, Tensor) else None for t in detached])


def _towards_targets() -> bool:
    """Whether the backward pass that calls us computes gradients of some tensors only."""
    frame = sys._getframe()
    while frame is not None and frame.f_code is not engine.run.__code__:
        frame = frame.f_back  # type: ignore[assignment]
    return frame is not None and frame.f_locals.get("targets") is not None


# ---------------------------------------------------------------- public


def _chosen(use_reentrant: bool | None, name: str) -> bool:
    if use_reentrant is not None:
        return use_reentrant
    warnings.warn(
        f"{name}: the use_reentrant parameter should be passed explicitly. use_reentrant=False is recommended, but if "
        "you need to preserve the current default behavior, you can pass use_reentrant=True.",
        stacklevel=3,
    )
    return True


def checkpoint(
    function: Callable, *args: Any, use_reentrant: bool | None = None, context_fn: Callable = noop_context_fn,
    determinism_check: str = "default", debug: bool = False, early_stop: bool = True, **kwargs: Any,
) -> Any:  # fmt: skip
    """``function(*args)``, whose intermediate values are computed again in backward instead of kept.

    Args:
        use_reentrant: False records the graph, and recomputes what it saved when it is wanted; works with every way of
            backward and with nested arguments. True runs without recording; the arguments that require grad have to
            be tensors among ``args``, and only ``backward()`` without ``inputs`` works. None is True with a warning.
        context_fn: gives two context managers, for the forward pass and for the recomputation.
        determinism_check: "default" compares shapes, dtypes and devices of what is recomputed, "none" does not.
        debug: errors tell where both passes saved their tensors.
        early_stop: stop recomputing as soon as everything wanted is there.
        preserve_rng_state (keyword): recompute with the random numbers of the forward pass (True).

    Raises:
        CheckpointError: the recomputation differs from the forward pass. ValueError: arguments that do not go together.

    Example:
        >>> import tocha
        >>> from tocha.utils.checkpoint import checkpoint
        >>> x = tocha.ones(2, requires_grad=True)
        >>> checkpoint(lambda t: (t * t).relu().sum(), x, use_reentrant=False).backward()
        >>> x.grad
        tensor([2., 2.])
    """
    reentrant = _chosen(use_reentrant, "tocha.utils.checkpoint")
    preserve = kwargs.pop("preserve_rng_state", True)
    if not reentrant:
        return _without_reentrant(function, preserve, context_fn, determinism_check, debug, early_stop, args, kwargs)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if context_fn is not noop_context_fn or debug is not False:
        raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    return CheckpointFunction.apply(function, preserve, *args)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Run ``functions`` (a ``Sequential`` or a list) one after the other, in ``segments`` of which all but the last are
    checkpoints.

    Raises:
        ValueError: an unexpected keyword.
    """
    reentrant = _chosen(use_reentrant, "tocha.utils.checkpoint.checkpoint_sequential")
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions)

    def runner(part: list) -> Callable:
        def run(x: Any) -> Any:
            for step in part:
                x = step(x)
            return x

        return run

    size = len(steps) // segments
    start = 0
    for _ in range(segments - 1 if size else 0):
        input = checkpoint(
            runner(steps[start : start + size]), input, use_reentrant=reentrant, preserve_rng_state=preserve
        )
        start += size
    return runner(steps[start:])(input)
