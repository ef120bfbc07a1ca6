"""int8 models through onnxruntime's own tools, with the accuracy before and after."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import tocha

from .program import ONNXProgram
from .runtime import Session
from .trees import flatten

__all__ = ["Quantized", "accuracy", "quantize_dynamic", "quantize_static"]

Metric = Callable[[list[np.ndarray], Any], tuple[float, int]]


@dataclass(frozen=True)
class Quantized:
    """A quantized model: where it is, its size and the original's in bytes, and the metric of both.

    ``difference`` is the largest difference of any output from the original's on the data that was seen. It and the
    metrics are None where nothing was measured.
    """

    path: Path
    nbytes: int
    nbytes_before: int
    metric: float | None = None
    metric_before: float | None = None
    difference: float | None = None

    def __str__(self) -> str:
        text = f"{self.path}: {self.nbytes:,} bytes, {self.nbytes / self.nbytes_before:.0%} of {self.nbytes_before:,}"
        if self.metric is not None and self.metric_before is not None:
            text += f"; metric {self.metric:.4f}, before {self.metric_before:.4f}"
        return text


def accuracy(outputs: list[np.ndarray], batch: Any) -> tuple[float, int]:
    """How many rows of the first output have their maximum at the label, the batch's last tensor; and how many rows."""
    labels = [tensor for _, tensor in flatten(batch, "")][-1].numpy()
    return float((outputs[0].argmax(-1) == labels).sum()), labels.size


def quantize_dynamic(
    model: ONNXProgram | str | os.PathLike,
    path: str | os.PathLike,
    *,
    data: Iterable[Any] | None = None,
    metric: Metric = accuracy,
    per_channel: bool = True,
    op_types: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
) -> Quantized:
    """Write a model whose weights are int8; activations are quantized as they come. For models of matrix products.

    Args:
        model: an exported program, or the path of an ONNX file.
        path: where to write.
        data: batches (say of a ``DataLoader``) to measure with: tensors, the model's inputs first.
        metric: ``metric(outputs, batch)`` gives a sum and the number of elements it is a sum of.
        per_channel: one scale for each output channel instead of one for each weight.
        op_types: the ONNX operators to quantize; None: all that onnxruntime can.
        exclude: names of nodes to leave alone.
    """
    from onnxruntime.quantization import QuantType
    from onnxruntime.quantization import quantize_dynamic as quantize

    source = _proto(model)

    def run(target: str) -> None:
        quantize(
            source,
            target,
            op_types_to_quantize=list(op_types) if op_types else None,
            per_channel=per_channel,
            weight_type=QuantType.QInt8,
            nodes_to_exclude=list(exclude),
            extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
        )

    return _write(source, Path(path), run, data, metric)


def quantize_static(
    model: ONNXProgram | str | os.PathLike,
    path: str | os.PathLike,
    calibration: Iterable[Any],
    *,
    data: Iterable[Any] | None = None,
    metric: Metric = accuracy,
    per_channel: bool = True,
    batches: int | None = None,
    op_types: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
) -> Quantized:
    """Write a model whose weights and activations are int8, their ranges taken from data. For convolutional networks.

    Args:
        calibration: batches to find the activations' ranges with: tensors, the model's inputs first.
        batches: how many of them to use; None: all.
        model, path, data, metric, per_channel, op_types, exclude: see :func:`quantize_dynamic`.

    Raises:
        ValueError: there is no batch to calibrate with.
    """
    from onnxruntime.quantization import CalibrationDataReader, QuantType
    from onnxruntime.quantization import quantize_static as quantize

    source = _proto(model)
    names = _inputs(source)
    feeds = []
    for batch, _ in zip(calibration, range(batches)) if batches is not None else ((batch, 0) for batch in calibration):
        feeds.append(_feed(batch, names))
    if not feeds:
        raise ValueError("expected at least one batch to calibrate with, got none")

    class Reader(CalibrationDataReader):
        def __init__(self) -> None:
            self.left: Iterator[dict[str, np.ndarray]] = iter(feeds)

        def get_next(self) -> dict[str, np.ndarray] | None:
            return next(self.left, None)

    def run(target: str) -> None:
        quantize(
            source,
            target,
            Reader(),
            op_types_to_quantize=list(op_types) if op_types else None,
            per_channel=per_channel,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            nodes_to_exclude=list(exclude),
        )

    return _write(source, Path(path), run, data, metric)


def _proto(model: ONNXProgram | str | os.PathLike) -> onnx.ModelProto:
    made = onnx.ModelProto()
    made.CopyFrom(model.model if isinstance(model, ONNXProgram) else onnx.load(model))
    return made


def _inputs(model: onnx.ModelProto) -> list[str]:
    arrays = {array.name for array in model.graph.initializer}
    return [value.name for value in model.graph.input if value.name not in arrays]


def _feed(batch: Any, names: list[str]) -> dict[str, np.ndarray]:
    tensors = [tensor.detach().cpu().numpy() for _, tensor in flatten(batch, "")]
    if len(tensors) < len(names):
        raise ValueError(f"expected batches with the inputs {', '.join(names)} first, got {len(tensors)} tensors")
    return dict(zip(names, tensors))


def _write(
    source: onnx.ModelProto, path: Path, run: Callable[[str], None], data: Iterable[Any] | None, metric: Metric
) -> Quantized:
    before = source.SerializeToString()
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
        made = Path(folder) / path.name
        with warnings.catch_warnings(), _quiet():
            warnings.simplefilter("ignore")
            run(str(made))
        os.replace(made, path)
    original = onnx.ModelProto.FromString(before)
    quantized = onnx.load(path)
    found: tuple[Any, Any, Any] = (None, None, None)
    if data is not None:
        found = _measure(original, quantized, data, metric)
    return Quantized(path, path.stat().st_size, len(before), *found)


def _measure(
    original: onnx.ModelProto, quantized: onnx.ModelProto, data: Iterable[Any], metric: Metric
) -> tuple[float, float, float]:
    """The metric after and before, and the largest difference of any output."""
    names, outputs = _inputs(original), [value.name for value in original.graph.output]
    sessions = Session(quantized), Session(original)
    totals, count, difference = [0.0, 0.0], 0, 0.0
    with tocha.no_grad():
        for batch in data:
            feed = _feed(batch, names)
            results = [session.run(feed, outputs) for session in sessions]
            for i, result in enumerate(results):
                total, seen = metric(result, batch)
                totals[i] += total
            count += seen
            for new, old in zip(*results):
                if old.dtype.kind == "f" and old.size:
                    difference = max(difference, float(np.abs(new - old).max()))
    if not count:
        raise ValueError("expected data to measure with, got no batch")
    return totals[0] / count, totals[1] / count, difference


class _quiet:
    """Without the advice that onnxruntime's tools log."""

    def __enter__(self) -> None:
        import logging

        self._level = logging.root.manager.disable
        logging.disable(logging.WARNING)

    def __exit__(self, *_: object) -> None:
        import logging

        logging.disable(self._level)
