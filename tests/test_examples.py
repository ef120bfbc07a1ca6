"""The programs in ``examples/``, run as a user runs them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"

# What PyTorch 2.13.0 prints for simple_net.py with "tocha" replaced by "torch": see conformance/test_simple_net.py.
SIMPLE_NET = """\
epoch  10  loss 0.274336
epoch  20  loss 0.206011
epoch  30  loss 0.171778
epoch  40  loss 0.137195
epoch  50  loss 0.106734
epoch  60  loss 0.080277
epoch  70  loss 0.060416
epoch  80  loss 0.042437
epoch  90  loss 0.029178
epoch 100  loss 0.020278
"""


def run(folder, name, *arguments):
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *map(str, arguments)]
    environment = {**os.environ, "COLUMNS": "100"}
    result = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_simple_net_prints_what_it_prints_under_pytorch(tmp_path):
    assert run(tmp_path, "simple_net.py") == SIMPLE_NET


@pytest.mark.parametrize("tokenizer", ["char", "bpe"])
def test_char_gpt_writes_a_sample(tmp_path, tokenizer):
    text = tmp_path / "text.txt"
    text.write_text("She sells sea shells by the sea shore.\n" * 60, encoding="utf-8")
    sizes = ["--steps", 20, "--block-size", 16, "--layers", 1, "--heads", 2, "--width", 16, "--batch-size", 8]
    shown = run(tmp_path, "char_gpt.py", text, "--tokenizer", tokenizer, "--vocab-size", 280, "--length", 30, *sizes)
    losses = [float(line.split()[3]) for line in shown.splitlines() if line.startswith("step")]
    assert len(losses) == 10 and losses[-1] < losses[0]
    out = tmp_path / "runs" / "char_gpt"
    assert sorted(path.name for path in out.iterdir()) == ["model.pt", "sample.txt", "tokenizer.json"]
    sample = (out / "sample.txt").read_text(encoding="utf-8")
    assert len(sample) > 10 and sample.strip() in shown


def test_quickstart_leaves_everything_it_promises(tmp_path):
    pytest.importorskip("matplotlib", reason="the quick start draws with matplotlib, which no package needs")
    shown = run(tmp_path, "quickstart.py", "--epochs", 4)
    accuracy = next(line for line in shown.splitlines() if line.startswith("accuracy"))
    assert float(accuracy.split()[1].rstrip("%")) > 90
    assert [line.split()[-1] for line in shown.splitlines() if "largest difference" in line] == ["1", "64", "97"]
    out = tmp_path / "runs" / "quickstart"
    names = ["best.ckpt", "confusion_matrix.png", "curves.png", "digits.onnx", "metrics.csv", "mistakes.png"]
    assert set(names) <= {path.name for path in out.iterdir()}
    for name in names:
        if name.endswith(".png"):
            assert (out / name).read_bytes().startswith(b"\x89PNG") and (out / name).stat().st_size > 10_000
    header, *rows = (out / "metrics.csv").read_text().splitlines()
    assert {"epoch", "step", "train_loss", "train_accuracy", "val_loss", "val_accuracy"} <= set(header.split(","))
    assert len(rows) >= 4
