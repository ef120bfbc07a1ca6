"""int8 models: written, measured, smaller, and about as right as before."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import tocha
from tocha import nn
from tocha.utils.data import DataLoader, TensorDataset


@pytest.fixture
def data():
    generator = np.random.default_rng(0)
    centres = generator.standard_normal((4, 64)).astype(np.float32) * 2
    labels = generator.integers(0, 4, 200)
    points = (centres[labels] + generator.standard_normal((200, 64))).astype(np.float32)
    return centres, TensorDataset(tocha.from_numpy(points), tocha.from_numpy(labels))


def classifier(centres, convolution=False):
    """A classifier that knows the centres; with a convolution before it that changes nothing."""
    head = nn.Linear(64, 4)
    with tocha.no_grad():
        head.weight.copy_(tocha.from_numpy(centres))
        head.bias.copy_(tocha.from_numpy(-0.5 * (centres**2).sum(1)))
    if not convolution:
        return nn.Sequential(head).eval()
    same = nn.Conv2d(1, 1, 3, padding=1, bias=False)
    with tocha.no_grad():
        same.weight.zero_()
        same.weight[0, 0, 1, 1] = 1.0
    return nn.Sequential(nn.Unflatten(1, (1, 8, 8)), same, nn.Flatten(), head).eval()


def test_dynamic(data, tmp_path):
    centres, dataset = data
    program = tocha.onnx.export(classifier(centres), (dataset[:5][0],), dynamic_shapes=({0: "batch"},))
    result = tocha.onnx.quantize_dynamic(program, tmp_path / "small.onnx", data=DataLoader(dataset, 50))
    assert result.metric_before > 0.95 and abs(result.metric - result.metric_before) < 0.02
    assert 0 < result.difference < 2.0
    assert "metric" in str(result) and result.path == tmp_path / "small.onnx"
    kinds = {node.op_type for node in onnx.load(result.path).graph.node}
    assert kinds & {"MatMulInteger", "DynamicQuantizeLinear"}
    assert [p.name for p in tmp_path.iterdir()] == ["small.onnx"]


def test_static(data, tmp_path):
    centres, dataset = data
    path = tmp_path / "model.onnx"
    tocha.onnx.export(classifier(centres, convolution=True), (dataset[:5][0],), path, dynamic_shapes=({0: "batch"},))
    small, loader = tmp_path / "small.onnx", DataLoader(dataset, 20)
    result = tocha.onnx.quantize_static(path, small, loader, batches=3, data=loader)
    assert abs(result.metric - result.metric_before) < 0.05
    kinds = [node.op_type for node in onnx.load(result.path).graph.node]
    assert "QuantizeLinear" in kinds and "DequantizeLinear" in kinds


def test_arguments_that_do_not_fit(data, tmp_path):
    centres, dataset = data
    program = tocha.onnx.export(classifier(centres), (dataset[:5][0],), dynamic_shapes=({0: "batch"},))
    with pytest.raises(ValueError, match="at least one batch"):
        tocha.onnx.quantize_static(program, tmp_path / "small.onnx", [])
    with pytest.raises(ValueError, match="to measure with"):
        tocha.onnx.quantize_dynamic(program, tmp_path / "small.onnx", data=[])
