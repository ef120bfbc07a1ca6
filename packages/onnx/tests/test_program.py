"""The exported program: files, reports, verification and what it says when something is wrong."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import tocha
import tocha_onnx
from tocha import nn
from tocha_onnx import registry, verification


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = Layer(3, 5)
        self.head = Layer(5, 2)

    def forward(self, x):
        return self.head(self.body(x).relu())


class Layer(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(tocha.randn(outputs, inputs))
        self.bias = nn.Parameter(tocha.randn(outputs))

    def forward(self, x):
        return nn.functional.linear(x, self.weight, self.bias)


@pytest.fixture
def program():
    return tocha.onnx.export(
        Net().eval(), (tocha.randn(4, 3),), input_names=["features"], output_names=["scores"],
        dynamic_axes={"features": {0: "batch"}}, metadata={"author": "a test"},
    )  # fmt: skip


def test_what_is_in_the_model(program):
    model = program.model
    onnx.checker.check_model(model, full_check=True)
    assert [(o.domain, o.version) for o in model.opset_import] == [("", 18)]
    assert [n.op_type for n in model.graph.node] == ["Gemm", "Relu", "Gemm"]
    assert {a.name for a in model.graph.initializer} == {"body.weight", "body.bias", "head.weight", "head.bias"}
    assert {p.key: p.value for p in model.metadata_props} == {
        "framework": "tocha", "framework_version": tocha.__version__, "author": "a test",
    }  # fmt: skip
    (module, source) = model.graph.node[0].metadata_props
    assert (module.key, module.value, source.key) == ("module", "body", "source")
    assert "test_program.py" in source.value


def test_it_was_verified_at_three_sizes(program):
    assert {result.sizes["batch"] for result in program.verification} == {1, 4, 5}
    assert {result.optimized for result in program.verification} == {False, True}
    assert all(difference < 1e-5 for difference in program.differences.values())


def test_calling_it_runs_it(program):
    x = tocha.randn(6, 3)
    (got,) = program(x)
    np.testing.assert_allclose(got.numpy(), program._capture.program.run([x.numpy()])[0], rtol=1e-5, atol=1e-6)
    with pytest.raises(TypeError, match="missing a required argument"):
        program()


def test_saving_is_atomic_and_loads(program, tmp_path):
    program.save(tmp_path / "inside" / "net.onnx")
    loaded = onnx.load(tmp_path / "inside" / "net.onnx")
    assert loaded == program.model
    program.save(tmp_path / "net.onnx", external_data=True)
    onnx.checker.check_model(str(tmp_path / "net.onnx"))
    assert {p.name for p in tmp_path.iterdir()} <= {"inside", "net.onnx", "net.onnx.data"}
    assert program.model.graph.initializer[0].raw_data  # the model in memory keeps its arrays


def test_the_report(program):
    text, markdown = program.report(), program.report(markdown=True)
    for part in ("Gemm", "opset", "batch", "1 and more", "body.weight", "features", "float32[batch, 3]"):
        assert part in text and part in markdown
    assert "| Gemm | 2 |" in markdown


def test_the_report_can_be_written(tmp_path, capsys):
    tocha.onnx.export(lambda x: x + 1, (tocha.ones(2),), report=tmp_path / "report.md")
    assert (tmp_path / "report.md").read_text(encoding="utf-8").startswith("# <lambda>")
    tocha.onnx.export(lambda x: x + 1, (tocha.ones(2),), report=True)
    assert "Add" in capsys.readouterr().out


def test_parameters_stay_without_folding():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(tocha.ones(3))

        def forward(self, x):
            return x * self.scale.exp()

    model = Scaled().eval()
    folded = tocha.onnx.export(model, (tocha.ones(3),))
    assert [n.op_type for n in folded.model.graph.node] == ["Mul"]
    plain = tocha.onnx.export(model, (tocha.ones(3),), do_constant_folding=False)
    assert [n.op_type for n in plain.model.graph.node] == ["Exp", "Mul"]
    assert [a.name for a in plain.model.graph.initializer] == ["scale"]
    assert isinstance(model.scale.data.numpy(), np.ndarray)


def test_shared_weights_and_folding_are_reported():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = Layer(3, 3)
            self.second = Layer(3, 3)
            self.second.weight = self.first.weight

        def forward(self, x):
            return self.second(self.first(x)) + tocha.arange(3.0)

    report = tocha.onnx.export(Twice().eval(), (tocha.ones(2, 3),)).report()
    assert "Shared weights" in report and "'first', 'second'" in report
    assert "1 operators of constants computed, 12 B of results" in report


# ---------------------------------------------------------------- a wrong lowering


@pytest.fixture
def wrong_tanh(monkeypatch):
    registry.find("tanh")
    monkeypatch.setitem(registry._TABLE, "tanh", lambda b, x: b.Tanh(b.Add(x, 0.5)))


def test_a_mismatch_names_the_operator_and_leaves_files(wrong_tanh, tmp_path):
    class Wrong(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            return self.inner(x * 2) + 1

    class Inner(nn.Module):
        def forward(self, x):
            return x.tanh()

    with pytest.raises(tocha.onnx.VerificationError) as caught:
        tocha.onnx.export(Wrong().eval(), (tocha.randn(4, 3),), tmp_path / "wrong.onnx")
    error = caught.value
    assert "the first operator that differs is 'tanh' of module 'inner', at " in str(error)
    assert "test_program.py" in error.difference
    assert error.reproducer == tmp_path / "wrong.mismatch"
    for folder in (error.reproducer, error.reproducer / "operator"):
        assert (folder / "model.onnx").exists()
        for name in ("input_0.pb", "output_0.pb"):
            tensor = onnx.TensorProto.FromString((folder / "test_data_set_0" / name).read_bytes())
            assert onnx.numpy_helper.to_array(tensor).shape == (4, 3)
    operator = onnx.load(error.reproducer / "operator" / "model.onnx")
    assert [n.op_type for n in operator.graph.node] == ["Add", "Tanh"]


def test_what_onnxruntime_refuses_is_told(monkeypatch):
    registry.find("tanh")
    monkeypatch.setitem(registry._TABLE, "tanh", lambda b, x: b.Reshape(x, b.sizes((7,))))
    with pytest.raises(tocha.onnx.VerificationError, match="checker|onnxruntime"):
        tocha.onnx.export(lambda x: x.tanh(), (tocha.ones(3),))


def test_without_verification_nothing_is_compared(wrong_tanh):
    program = tocha.onnx.export(lambda x: x.tanh(), (tocha.ones(3),), verify=False)
    assert program.verification == []
    with pytest.raises(tocha.onnx.VerificationError):
        program.verify()


def test_sizes_of_ones_own():
    program = tocha.onnx.export(
        lambda x: x.sum(1), (tocha.ones(2, 3),), dynamic_shapes=({0: "n", 1: "m"},), verify=False
    )
    results = program.verify(sizes=[{"n": 3, "m": 9}])
    assert {tuple(result.sizes.items()) for result in results} == {(("n", 3), ("m", 9))}


# ---------------------------------------------------------------- comparing


@pytest.mark.parametrize(("expected", "got", "wrong"), [
    (np.float32([1, np.nan, np.inf]), np.float32([1, np.nan, np.inf]), None),
    (np.float32([1, np.nan]), np.float32([1, 1]), "1 of 2 elements differ"),
    (np.float32([1, np.inf]), np.float32([1, -np.inf]), "1 of 2 elements differ"),
    (np.float32([1.0]), np.float64([1.0]), "expected dtype float32"),
    (np.zeros((2, 0), np.float32), np.zeros((2, 0), np.float32), None),
    (np.zeros(2, np.float32), np.zeros((2, 1), np.float32), r"expected shape \[2\]"),
    (np.int64([1, 2]), np.int64([1, 3]), "1 of 2 elements differ"),
    (np.float32([1000.0, 0.0]), np.float32([1000.0, 1e-3]), None),
])  # fmt: skip
def test_compare(expected, got, wrong):
    _, why = verification.compare(expected, got, *verification.tolerance(expected.dtype, []))
    if wrong is None:
        assert why is None
    else:
        with pytest.raises(AssertionError, match=wrong):
            raise AssertionError(why)


def test_fresh_values_are_like_the_example():
    generator = np.random.default_rng(0)
    ids = verification.fresh(np.array([[3, 5], [7, 3]]), (40, 2), generator)
    assert set(ids.reshape(-1)) == {3, 5, 7}
    positive = verification.fresh(np.float32([0.1, 0.5, 0.9]), (100,), generator)
    assert positive.min() >= np.float32(0.1) and positive.max() <= np.float32(0.9)
    edges = verification.fresh(np.float32([0.1, 0.5, 0.9]), (9,), generator)
    assert (np.diff(edges) >= 0).all()
    assert verification.fresh(np.zeros((0, 2), np.int64), (3, 2), generator).tolist() == [[0, 0]] * 3


# ---------------------------------------------------------------- arguments


def test_arguments_that_do_not_fit():
    x = tocha.ones(2, 3)
    double = lambda x: x * 2  # noqa: E731
    with pytest.raises(ValueError, match="opset_version of 17"):
        tocha.onnx.export(double, (x,), opset_version=16)
    with pytest.raises(ValueError, match="at most 1 input names"):
        tocha.onnx.export(double, (x,), input_names=["a", "b"])
    with pytest.raises(ValueError, match="dynamic_shapes or dynamic_axes"):
        tocha.onnx.export(double, (x,), dynamic_shapes=({0: "n"},), dynamic_axes={"x": {0: "n"}})
    with pytest.raises(ValueError, match="has 2 dimensions, got dimension 2"):
        tocha.onnx.export(double, (x,), dynamic_shapes=({2: "n"},))
    with pytest.raises(ValueError, match="give one of them another name"):
        tocha.onnx.export(double, (x,), dynamic_shapes=({0: "n", 1: "n"},))
    with pytest.raises(ValueError, match="dynamic_shapes names"):
        tocha.onnx.export(double, (x,), dynamic_shapes={"y": {0: "n"}})
    with pytest.raises(TypeError, match="to return tensors, got int"):
        tocha.onnx.export(lambda x: 3, (x,))


@pytest.mark.parametrize("dynamic", [
    {"dynamic_shapes": ({0: "n"},)},
    {"dynamic_shapes": {"x": {0: "n"}}},
    {"dynamic_shapes": (("n", None),)},
    {"dynamic_shapes": ({0: tocha_onnx.Dim("n")},)},
    {"dynamic_axes": {"x": {0: "n"}}},
])  # fmt: skip
def test_forms_of_dynamic_sizes(dynamic):
    program = tocha.onnx.export(lambda x: x * 2, (tocha.ones(2, 3),), **dynamic)
    (value,) = program.model.graph.input
    assert [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim] == ["n", 3]


def test_keyword_arguments_and_starred_ones():
    def weighted(*tensors, scale=None):
        return sum(tensors) * scale

    program = tocha.onnx.export(weighted, (tocha.ones(2), tocha.ones(2)), kwargs={"scale": tocha.ones(2)})
    assert program.input_names == ["tensors_0", "tensors_1", "scale"]


@pytest.mark.parametrize("opset", [17, 18, 19, 20, 21, 22, 23])
def test_each_opset_is_written_as_such(opset):
    program = tocha.onnx.export(Net().eval(), (tocha.randn(4, 3),), opset_version=opset)
    assert program.model.opset_import[0].version == opset


@pytest.mark.parametrize("dtype", [tocha.float16, tocha.bfloat16, tocha.float64])
def test_other_floating_types(dtype):
    net = Net().eval().to(dtype)
    program = tocha.onnx.export(net, (tocha.randn(4, 3).to(dtype),), dynamic_shapes=({0: "n"},))
    assert program.model.graph.input[0].type.tensor_type.elem_type == {
        tocha.float16: onnx.TensorProto.FLOAT16, tocha.bfloat16: onnx.TensorProto.BFLOAT16,
        tocha.float64: onnx.TensorProto.DOUBLE,
    }[dtype]  # fmt: skip
