"""Activation checkpointing: the same gradients, less memory, errors that say what differs."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import numpy as np
import pytest

import tocha
from tocha import nn
from tocha.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    detach_variable,
    get_device_states,
    set_checkpoint_early_stop,
)


def network() -> nn.Sequential:
    tocha.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(), nn.Dropout(0.5), nn.Linear(8, 3))


def gradients(run: Any) -> tuple:
    net, x = network(), tocha.linspace(-1, 1, 20).reshape(5, 4).requires_grad_()
    tocha.manual_seed(1)
    y = run(net, x)
    after = tocha.rand(1).item()
    y.pow(2).sum().backward()
    return y.tolist(), after, x.grad.tolist(), [p.grad.tolist() for p in net.parameters()]


@pytest.mark.parametrize("reentrant", [True, False])
def test_gradients_and_random_numbers_are_those_of_the_plain_run(reentrant: bool) -> None:
    plain = gradients(lambda net, x: net(x))
    assert gradients(lambda net, x: checkpoint(net, x, use_reentrant=reentrant)) == plain
    assert gradients(lambda net, x: checkpoint_sequential(net, 2, x, use_reentrant=reentrant)) == plain


def test_the_function_runs_again_once_and_stops_early() -> None:
    calls: list[str] = []

    def f(x: tocha.Tensor) -> tocha.Tensor:
        calls.append("start")
        y = x.sin().exp()
        calls.append("end")
        return y

    x = tocha.ones(3, requires_grad=True)
    checkpoint(f, x, use_reentrant=False).sum().backward()
    assert calls == ["start", "end", "start"]
    calls.clear()
    with set_checkpoint_early_stop(False):
        y = checkpoint(f, x, use_reentrant=False)
    y.sum().backward()
    assert calls == ["start", "end", "start", "end"]


def test_second_derivatives_nesting_and_backward_twice() -> None:
    x = tocha.tensor([0.3, -1.0], dtype=tocha.float64, requires_grad=True)
    v = x.detach().numpy()
    y = checkpoint(lambda t: t.sin() * t, x, use_reentrant=False)
    (g,) = tocha.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = tocha.autograd.grad(g.sum(), x)
    np.testing.assert_allclose(h.numpy(), 2 * np.cos(v) - v * np.sin(v))
    y = checkpoint(lambda t: checkpoint(tocha.sin, t.exp(), use_reentrant=False).tanh(), x, use_reentrant=False)
    y.sum().backward(retain_graph=True)
    first = x.grad.clone()
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * first.numpy())
    np.testing.assert_allclose(first.numpy(), (1 - np.tanh(np.sin(np.exp(v))) ** 2) * np.cos(np.exp(v)) * np.exp(v))


def test_nested_arguments_keywords_and_contexts() -> None:
    entered: list[str] = []

    class Note:
        def __init__(self, name: str) -> None:
            self.name = name

        def __enter__(self) -> None:
            entered.append(self.name)

        def __exit__(self, *_: object) -> None:
            pass

    x = tocha.ones(2, requires_grad=True)
    out = checkpoint(
        lambda d, scale=1.0: {"y": d["x"][0].exp() * scale, "note": "kept"}, {"x": [x]}, scale=3.0, use_reentrant=False,
        context_fn=lambda: (Note("forward"), Note("again")),
    )  # fmt: skip
    assert out["note"] == "kept"
    out["y"].sum().backward()
    assert entered == ["forward", "again"]
    np.testing.assert_allclose(x.grad.numpy(), 3 * np.exp([1.0, 1.0]), rtol=1e-6)


def test_memory_of_intermediate_values_is_freed() -> None:
    def deep(x: tocha.Tensor) -> tocha.Tensor:
        for _ in range(20):
            x = x.sin()
        return x

    def held(run: Any) -> int:
        x = tocha.ones(20_000, requires_grad=True)
        gc.collect()
        tracemalloc.start()
        y = run(x)
        size = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        y.sum().backward()
        return size

    plain = held(deep)
    assert plain > 20 * 80_000
    for reentrant in (True, False):
        assert held(lambda x, reentrant=reentrant: checkpoint(deep, x, use_reentrant=reentrant)) < 3 * 80_000


@pytest.mark.parametrize("debug", [False, True])
def test_a_different_recomputation_is_an_error(debug: bool) -> None:
    def unstable(change: str) -> Any:
        runs = [0]

        def f(t: tocha.Tensor) -> tocha.Tensor:
            runs[0] += 1
            if runs[0] == 1 or change == "none":
                return t.sin().exp()
            return t.sin() if change == "number" else t[:2].sin().exp()

        return f

    x = tocha.ones(3, requires_grad=True)
    for change, message in (
        ("number", "A different number of tensors was saved"),
        ("shape", "have different metadata"),
    ):
        y = checkpoint(unstable(change), x, use_reentrant=False, debug=debug).sum()
        with pytest.raises(CheckpointError, match=message) as error:
            y.backward()
        assert ("test_checkpoint.py" in str(error.value)) is debug, "with debug the error names the lines"


def test_reentrant_limits() -> None:
    x = tocha.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"incompatible with .grad\(\)"):
        tocha.autograd.grad(checkpoint(tocha.sin, x, use_reentrant=True).sum(), x)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        checkpoint(tocha.sin, tocha.ones(2), use_reentrant=True)
    with pytest.warns(UserWarning, match="should be passed explicitly"):
        checkpoint(tocha.sin, x)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: scale"):
        checkpoint(tocha.sin, x, use_reentrant=True, scale=1)
    with pytest.raises(ValueError, match="only supported when use_reentrant=False"):
        checkpoint(tocha.sin, x, use_reentrant=True, debug=True)
    with pytest.raises(ValueError, match="determinism_check"):
        checkpoint(tocha.sin, x, use_reentrant=False, determinism_check="strict")


def test_helpers() -> None:
    x = tocha.ones(2, requires_grad=True) * 2
    y, note = detach_variable((x, "note"))
    assert y.is_leaf and y.requires_grad and note == "note"
    with pytest.raises(RuntimeError, match="Only tuple of tensors is supported"):
        detach_variable([x])
    assert get_device_states(x) == ([], [])
