"""``tocha onnx`` on the command line, and the exporter as a plugin."""

from __future__ import annotations

import onnx
import pytest

import tocha
from tocha import nn, plugins
from tocha._cli import main


class Scale(nn.Module):
    def __init__(self, by: float = 2.0) -> None:
        super().__init__()
        self.by = nn.Parameter(tocha.tensor(by))

    def forward(self, x: tocha.Tensor) -> tocha.Tensor:
        return x * self.by


@pytest.fixture
def model(monkeypatch):
    import sys
    import types

    module = types.ModuleType("scale_for_the_command")
    module.Scale = Scale
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return "scale_for_the_command:Scale"


INPUT = ("--input", "x:float32[batch=4,3]")


def test_export(model, tmp_path, capsys):
    path = tmp_path / "scale.onnx"
    assert (
        main(
            [
                "onnx",
                "export",
                model,
                *INPUT,
                "-o",
                str(path),
                "--kwargs",
                '{"by": 3.0}',
                "--report",
                str(tmp_path / "r.md"),
            ]
        )
        == 0
    )
    printed = capsys.readouterr().out
    assert "largest difference from onnxruntime at batch=1: 0.0e+00" in printed
    loaded = onnx.load(path)
    assert [d.dim_param or d.dim_value for d in loaded.graph.input[0].type.tensor_type.shape.dim] == ["batch", 3]
    assert (tmp_path / "r.md").read_text(encoding="utf-8").startswith("# Scale")


def test_verify(model, capsys):
    assert main(["onnx", "verify", model, *INPUT, "--sizes", "batch=6"]) == 0
    assert capsys.readouterr().out.split()[:3] == ["batch=6", "plain", "0.0e+00"]


def test_report_of_a_model_and_of_a_file(model, tmp_path, capsys):
    assert main(["onnx", "report", model, *INPUT, "--markdown"]) == 0
    assert "| Mul | 1 |" in capsys.readouterr().out
    path = tmp_path / "scale.onnx"
    main(["onnx", "export", model, *INPUT, "-o", str(path)])
    capsys.readouterr()
    assert main(["onnx", "report", str(path)]) == 0
    assert "float[batch, 3]" in capsys.readouterr().out


def test_bench(model, capsys):
    assert main(["onnx", "bench", model, *INPUT, "--runs", "2"]) == 0
    assert "ratio" in capsys.readouterr().out


def test_an_error_is_printed_and_is_the_exit_status(monkeypatch, model, capsys):
    from tocha_onnx import registry

    monkeypatch.setitem(registry.lowerings() and registry._TABLE, "mul", registry.Unsupported("the test forbids it"))
    assert main(["onnx", "verify", model, *INPUT]) == 1
    assert "the test forbids it" in capsys.readouterr().err


def test_arguments_that_do_not_fit(model):
    with pytest.raises(SystemExit, match="at least one --input"):
        main(["onnx", "verify", model])
    with pytest.raises(SystemExit, match="NAME:DTYPE"):
        main(["onnx", "verify", model, "--input", "x"])
    with pytest.raises(SystemExit, match="package.module:name"):
        main(["onnx", "verify", "nowhere", *INPUT])


def test_the_doctor_knows_the_opsets(capsys):
    main(["doctor"])
    assert "opsets" in capsys.readouterr().out


def test_the_exporter_is_found_through_its_hook(monkeypatch):
    assert plugins.get("exporters", "onnx").__module__.startswith("tocha_onnx")
    assert tocha.onnx.ONNXProgram.__module__.startswith("tocha_onnx")

    def absent(kind, name):
        raise LookupError("no plugin registers it")

    monkeypatch.setattr(plugins, "get", absent)
    with pytest.raises(ImportError, match="pip install tocha-onnx"):
        tocha.onnx.export(lambda x: x, (tocha.ones(1),))


def test_a_plugin_brings_the_lowering_of_its_operator():
    from tocha.onnx.tracing import OPS, Op, wrap

    op = Op("acme_cube", lambda xp, x: x * x * x, None, lambda x: (x.shape, x.dtype))
    try:
        cube = lambda x: wrap(op.resolve(type(x._data))(x._data))  # noqa: E731
        with pytest.raises(tocha.onnx.UnsupportedOperatorError, match="acme_cube.*nobody has written"):
            tocha.onnx.export(cube, (tocha.ones(3),))

        class Acme:
            @plugins.hookimpl
            def tocha_register_lowerings(self, register):
                register("acme_cube", lambda b, x: b.Mul(b.Mul(x, x), x))

        plugins.register(Acme(), "acme")
        program = tocha.onnx.export(cube, (tocha.randn(3),))
        assert [n.op_type for n in program.model.graph.node] == ["Mul", "Mul"]
    finally:
        del OPS["acme_cube"]
