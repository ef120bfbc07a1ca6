"""``tocha.onnx.export``: trace, clean up, lower, save, verify."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import metadata as distributions
from typing import Any

import tocha
from tocha import autograd, nn

from .capture import Capture, Program, capture
from .lower import NEWEST_OPSET, OLDEST_OPSET, fold_constants, lower
from .program import ONNXProgram

__all__ = ["export", "export_training"]


def export(
    model: Any,
    args: Any = (),
    path: Any = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    input_names: Any = None,
    output_names: Any = None,
    dynamic_shapes: Any = None,
    dynamic_axes: Any = None,
    opset_version: int = 18,
    external_data: bool | None = None,
    verify: bool = True,
    report: bool | str | os.PathLike = False,
    do_constant_folding: bool = True,
    metadata: Mapping[str, str] | None = None,
) -> ONNXProgram:
    """Write a module, or a function of tensors, as an ONNX model, and check it against onnxruntime before returning.

    Args:
        model: an ``nn.Module`` or a callable. A module is exported in eval mode, and then has its own mode again.
        args: the positional arguments of an example call, as a tuple (or a single tensor). Tensors in them, also
        inside of tuples, lists, dicts and dataclasses, become the inputs, even where the same tensor comes twice;
        everything else becomes part of the model.
    path: where to write the file; None keeps the model in memory.
        kwargs: keyword arguments of the example call.
        input_names, output_names: names in order. Else inputs are called as in the signature of ``forward``
            (``x``, ``batch_image``), outputs ``output`` or ``output_0`` and so on, a dict's by its keys.
        dynamic_shapes: for each argument (by name, or in order) its dynamic dimensions: ``{0: "batch"}`` or
            ``{0: Dim("batch", max=64)}``, nested as the argument is. Sizes of one name are equal.
        dynamic_axes: the same by input name, as PyTorch's older exporter takes it: ``{"x": {0: "batch"}}``.
        opset_version: 17 up to the newest that onnx and onnxruntime know; the model is written for it, not converted.
        external_data: keep arrays in a second file ``path.data``; None: where the model would exceed 2 GB.
        verify: compare the model with the program in onnxruntime, at several sizes of each dynamic dimension.
        report: True prints the report; a path writes it there as Markdown.
        do_constant_folding: compute at once what depends on no input.
        metadata: texts to keep in the file, besides the framework and its version.

    Returns:
        An :class:`ONNXProgram`. Call it to run the model in onnxruntime.

    Raises:
        UnsupportedOperatorError: an operator has no ONNX form; the message says which, why and where.
        TracingError: the program branches on a tensor's values; the message names the line.
        GuardError: the program works for one value of a dynamic size only; the message names the line.
        VerificationError: onnxruntime computes something else than the program.

    Source of the arguments: https://docs.pytorch.org/docs/2.13/onnx_export.html

    Example:
        >>> import tocha
        >>> from tocha_onnx import export
        >>> double = export(lambda x: x * 2, (tocha.ones(4, 3),), dynamic_shapes=({0: "batch"},))
        >>> double(tocha.ones(5, 3))[0].sum().item()
        30.0
    """
    _check_opset(opset_version)
    program = Program(model, _as_tuple(args), kwargs or {})
    captured = capture(program, input_names, output_names, dynamic_shapes, dynamic_axes, fold=do_constant_folding)
    name = type(model).__name__ if program.is_module else getattr(model, "__name__", "function")
    return finish(captured, name, path, opset_version, external_data, verify, report, do_constant_folding, metadata)


def export_training(
    model: nn.Module,
    loss: Any,
    args: Any,
    targets: Any = (),
    path: Any = None,
    *,
    mode: str = "eval",
    input_names: Any = None,
    dynamic_shapes: Any = None,
    dynamic_axes: Any = None,
    opset_version: int = 18,
    external_data: bool | None = None,
    verify: bool = True,
    report: bool | str | os.PathLike = False,
    metadata: Mapping[str, str] | None = None,
) -> ONNXProgram:
    """Write a model's loss and the gradients of its parameters as one ONNX model: forward and backward in one graph.

    Args:
        model: the module.
        loss: ``loss(output, *targets)`` gives the number to differentiate.
        args: an example of the module's arguments.
        targets: an example of the loss's further arguments.
        mode: "eval", or "train" (batch statistics; dropout draws random numbers and is refused).
        input_names, dynamic_shapes, dynamic_axes, …: see :func:`export`; the inputs are those of ``args``, then those
            of ``targets``.

    Returns:
        An :class:`ONNXProgram` with the outputs ``loss`` and ``grad.<name>`` for each parameter that requires grad.

    Raises:
        ValueError: no parameter requires grad. For the rest see :func:`export`.
    """
    _check_opset(opset_version)
    if mode not in ("eval", "train"):
        raise ValueError(f"expected 'eval' or 'train', got {mode!r}")
    args, targets = _as_tuple(args), _as_tuple(targets)
    wanted = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    if not wanted:
        raise ValueError("expected a model with parameters that require grad")

    def step(*tensors: Any) -> dict[str, tocha.Tensor]:
        value = loss(model(*tensors[: len(args)]), *tensors[len(args) :])
        gradients = autograd.grad(value, [p for _, p in wanted], allow_unused=True)
        found = {f"grad.{name}": g for (name, _), g in zip(wanted, gradients) if g is not None}
        return {"loss": value.detach(), **found}

    program = Program(step, (*args, *targets), {}, owner=model, gradients=True, training=mode == "train")
    captured = capture(program, input_names, None, dynamic_shapes, dynamic_axes, fold=True)
    name = f"{type(model).__name__}_training"
    return finish(captured, name, path, opset_version, external_data, verify, report, True, metadata)


def _check_opset(version: int) -> None:
    if not OLDEST_OPSET <= version <= NEWEST_OPSET:
        raise ValueError(f"expected an opset_version of {OLDEST_OPSET} to {NEWEST_OPSET}, got {version}")


def _as_tuple(args: Any) -> tuple:
    return args if isinstance(args, tuple) else tuple(args) if isinstance(args, list) else (args,)


def finish(
    captured: Capture,
    name: str,
    path: Any,
    opset_version: int,
    external_data: bool | None,
    verify: bool,
    report: bool | str | os.PathLike,
    do_constant_folding: bool,
    metadata: Mapping[str, str] | None,
) -> ONNXProgram:
    """Clean a captured graph up, lower, save, verify and report it."""
    graph = captured.graph
    folded = (0, 0)
    graph.dead_code_elimination()
    if do_constant_folding:
        folded = fold_constants(graph)
    graph.common_subexpressions()
    graph.dead_code_elimination()
    known = {"framework": "tocha", "framework_version": distributions.version("tocha"), **(metadata or {})}
    lowered = lower(graph, captured.outputs, opset=opset_version, name=name, metadata=known)
    result = ONNXProgram(captured, lowered, opset_version, folded)
    if path is not None:
        result.save(path, external_data=external_data)
    if verify:
        result.verify()
    if report is True:
        print(result.report())
    elif report:
        from pathlib import Path

        Path(report).write_text(result.report(markdown=True), encoding="utf-8")
    return result
