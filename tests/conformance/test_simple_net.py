"""The introductory program gives the same losses, to the last digit it prints, when torch takes tocha's place."""

import contextlib
import io
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is the reference")

SOURCE = (Path(__file__).parents[2] / "examples" / "simple_net.py").read_text(encoding="utf-8")


def printed(source):
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        exec(compile(source, "simple_net.py", "exec"), {"__name__": "__main__"})
    return shown.getvalue()


def test_losses_are_pytorchs():
    reference = printed(SOURCE.replace("tocha", "torch"))
    assert reference.count("epoch") == 10
    assert printed(SOURCE) == reference
