"""``tocha onnx export | verify | report | bench``, and this package's lines in ``tocha doctor``."""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import tocha
from tocha import nn, serialization

__all__ = ["doctor", "onnx"]


def doctor() -> Iterator[tuple[str, str]]:
    """Versions, and the newest opset that both libraries know."""
    from .lower import NEWEST_OPSET, OLDEST_OPSET

    for name in ("onnx", "onnxruntime"):
        yield name, metadata.version(name)
    yield "opsets", f"{OLDEST_OPSET} to {NEWEST_OPSET}"


def onnx(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], int]:
    """Export models to ONNX, verify and describe them, and time them in onnxruntime."""
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True, dest="action")
    for name, what in (
        ("export", "export a model and check it"),
        ("verify", "export in memory and compare with onnxruntime, at sizes of your choice"),
        ("report", "describe a model (exported from Python, or an .onnx file)"),
        ("bench", "time onnxruntime against the eager model"),
    ):
        action = actions.add_parser(name, help=what, description=what)
        action.add_argument("model", help="where to import the model, or a function that makes it: package.module:name")
        action.add_argument("--kwargs", default="{}", help="arguments of the function that makes it, as JSON")
        action.add_argument("--weights", type=Path, help="a state_dict to load into it")
        action.add_argument(
            "--input", action="append", default=[], metavar="NAME:DTYPE[SIZES]",
            help="an input, such as images:float32[batch=4,3,224,224]; a size with a name is dynamic",
        )  # fmt: skip
        action.add_argument("--high", type=int, default=10, help="integer inputs are drawn below this number")
        action.add_argument("--opset", type=int, default=18)
        action.add_argument("--seed", type=int, default=0)
        if name == "export":
            action.add_argument("-o", "--output", type=Path, required=True)
            action.add_argument("--report", type=Path, help="write the report there, as Markdown")
            action.add_argument("--no-verify", action="store_true")
        if name == "verify":
            action.add_argument("--sizes", action="append", default=[], metavar="NAME=N,…", help="sizes to verify at")
        if name == "report":
            action.add_argument("--markdown", action="store_true")
        if name == "bench":
            action.add_argument("--runs", type=int, default=20)
    return run


def run(arguments: argparse.Namespace) -> int:
    """The action that was asked for; the exit status is 1 where a check fails."""
    from .errors import UnsupportedOperatorError, VerificationError

    try:
        if arguments.action == "report" and arguments.model.endswith(".onnx"):
            print(describe(Path(arguments.model)))
            return 0
        return ACTIONS[arguments.action](arguments)
    except (VerificationError, UnsupportedOperatorError) as error:
        print(error, file=sys.stderr)
        return 1


def _model(arguments: argparse.Namespace) -> Any:
    module, _, name = arguments.model.partition(":")
    if not name:
        raise SystemExit(f"expected package.module:name, got {arguments.model!r}")
    found = getattr(importlib.import_module(module), name)
    made = found if isinstance(found, nn.Module) else found(**json.loads(arguments.kwargs))
    if arguments.weights is not None:
        made.load_state_dict(serialization.load(arguments.weights))
    return made.eval()


def parse_input(text: str, high: int, generator: np.random.Generator) -> tuple[str, tocha.Tensor, dict[int, str]]:
    """An example tensor, its name and its dynamic dimensions, of ``name:dtype[batch=4,3]``.

    >>> name, tensor, dynamic = parse_input("x:float32[batch=4,3]", 10, np.random.default_rng(0))
    >>> name, tuple(tensor.shape), dynamic
    ('x', (4, 3), {0: 'batch'})
    """
    name, _, kind = text.partition(":")
    dtype, bracket, sizes = kind.partition("[")
    if not (name and dtype and bracket and sizes.endswith("]")):
        raise SystemExit(f"expected NAME:DTYPE[SIZES], got {text!r}")
    shape, dynamic = [], {}
    for axis, size in enumerate(filter(None, sizes[:-1].split(","))):
        label, equals, number = size.rpartition("=")
        if equals:
            dynamic[axis] = label.strip()
        shape.append(int(number))
    np_dtype = np.dtype(dtype)
    if np_dtype.kind in "iu":
        data: Any = generator.integers(0, high, shape)
    elif np_dtype.kind == "b":
        data = generator.integers(0, 2, shape)
    else:
        data = generator.standard_normal(shape)
    return name, tocha.from_numpy(np.asarray(data).astype(np_dtype)), dynamic


def _export(arguments: argparse.Namespace, **options: Any) -> tuple[Any, Any, tuple]:
    from .exporting import export

    if not arguments.input:
        raise SystemExit("expected at least one --input NAME:DTYPE[SIZES]")
    generator = np.random.default_rng(arguments.seed)
    inputs = [parse_input(text, arguments.high, generator) for text in arguments.input]
    model, args = _model(arguments), tuple(tensor for _, tensor, _ in inputs)
    program = export(
        model, args, input_names=[name for name, _, _ in inputs], opset_version=arguments.opset,
        dynamic_axes={name: axes for name, _, axes in inputs}, **options,
    )  # fmt: skip
    return program, model, args


def _action_export(arguments: argparse.Namespace) -> int:
    program, _, _ = _export(
        arguments, path=arguments.output, verify=not arguments.no_verify, report=arguments.report or False
    )
    print(f"{arguments.output}: {program!r}")
    for label, difference in program.differences.items():
        print(f"  largest difference from onnxruntime at {label}: {difference:.1e}")
    return 0


def _action_verify(arguments: argparse.Namespace) -> int:
    program, _, _ = _export(arguments, verify=False)
    sizes = [{k: int(v) for k, v in (part.split("=") for part in text.split(","))} for text in arguments.sizes]
    program.verify(sizes=sizes or None)
    for result in program.verification:
        how = "optimized" if result.optimized else "plain"
        print(f"{result.label:<24}{how:<12}{result.skipped or format(result.max_difference, '.1e')}")
    return 0


def _action_report(arguments: argparse.Namespace) -> int:
    program, _, _ = _export(arguments)
    print(program.report(markdown=arguments.markdown))
    return 0


def _action_bench(arguments: argparse.Namespace) -> int:
    program, model, args = _export(arguments)
    with tocha.no_grad():
        eager = median_time(lambda: model(*args), arguments.runs)
    runtime = median_time(lambda: program(*args), arguments.runs)
    print(f"{'eager':<14}{eager * 1e3:10.2f} ms")
    print(f"{'onnxruntime':<14}{runtime * 1e3:10.2f} ms")
    print(f"{'ratio':<14}{eager / runtime:10.2f}")
    return 0


def median_time(call: Callable[[], Any], runs: int) -> float:
    """Seconds of one call: the median, after a first one that does not count."""
    call()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def describe(path: Path) -> str:
    """Inputs, outputs and operators of a file that any exporter may have written."""
    import collections

    import onnx as library

    model = library.load(path, load_external_data=False)
    opsets = ", ".join(f"{opset.domain or 'onnx'} {opset.version}" for opset in model.opset_import)
    lines = [str(path), f"  opset {opsets}"]
    for kind, values in (("input", model.graph.input), ("output", model.graph.output)):
        for value in values:
            tensor = value.type.tensor_type
            sizes = ", ".join(str(d.dim_param or d.dim_value) for d in tensor.shape.dim)
            lines.append(
                f"  {kind:<8}{value.name}  {library.TensorProto.DataType.Name(tensor.elem_type).lower()}[{sizes}]"
            )
    counts = collections.Counter(node.op_type for node in model.graph.node)
    lines += [f"  {count:>6}  {name}" for name, count in counts.most_common()]
    return "\n".join(lines)


ACTIONS = {"export": _action_export, "verify": _action_verify, "report": _action_report, "bench": _action_bench}
