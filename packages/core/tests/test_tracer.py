"""Tracing real programs with symbolic sizes, and replaying the graph at other sizes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tocha
import tocha.nn.functional as F
from tocha import nn
from tocha._trace.tracer import Tracer, TracingError

FLOAT = np.dtype(np.float32)


def traced(fn: Callable, *shapes: tuple) -> Tracer:
    """Trace ``fn``; a name in a shape is a symbolic size whose hint is 4 (or 6 for "seq")."""
    tracer = Tracer()
    symbols: dict = {}

    def size(s):
        if not isinstance(s, str):
            return s
        if s not in symbols:
            symbols[s] = tracer.graph.environment.symbol(s, hint=6 if s == "seq" else 4)
        return symbols[s]

    inputs = [tracer.input(f"x{i}", tuple([size(s) for s in shape]), FLOAT) for i, shape in enumerate(shapes)]
    with tracer.active():
        out = fn(*inputs)
    outs = out if isinstance(out, (tuple, list)) else (out,)
    tracer.graph.outputs = [
        tracer.constant(o._data).value if type(o._data) is np.ndarray else o._data.value for o in outs
    ]
    tracer.graph.validate()
    return tracer


def check(
    fn: Callable,
    *shapes: tuple, sizes: tuple[dict, ...] = ({"n": 4, "seq": 6}, {"n": 2, "seq": 3}, {"n": 7, "seq": 11}),
) -> Tracer:
    """The graph replays what eager code computes, at several sizes, without a guard."""
    tracer = traced(fn, *shapes)
    assert not tracer.graph.environment.guards, str(tracer.graph.environment)
    for values in sizes:
        rng = np.random.default_rng(0)
        arrays = [
            rng.standard_normal([values.get(s, s) if isinstance(s, str) else s for s in shape]).astype(FLOAT)
            for shape in shapes
        ]
        expected = fn(*[tocha.tensor(a) for a in arrays])
        results = tracer.graph.run(arrays)
        for e, r in zip(expected if isinstance(expected, (tuple, list)) else (expected,), results):
            np.testing.assert_allclose(r, e.detach().numpy(), rtol=1e-5, atol=1e-6)
    return tracer


def filled(x):
    out = tocha.zeros(x.shape[0], 3)
    h = x
    for t in range(3):
        h = h.tanh()
        out[:, t] = h[:, 0]
    return out


PROGRAMS = {
    "pointwise": (lambda x: (x * 2 + 1).sigmoid() - x.mean(0), [("n", 3)]),
    "reshape": (lambda x: x.view(x.shape[0], -1).sum(1), [("n", 3, 4)]),
    "flatten and back": (lambda x: x.flatten(0, 1).reshape(x.shape[0], -1, 4), [("n", "seq", 4)]),
    "mean of all": (lambda x: x.mean() + x.var(1).sum(), [("n", "seq")]),
    "expand a constant": (lambda x: tocha.ones(1, 3).expand(x.shape[0], 3) + x, [("n", 3)]),
    "arange": (lambda x: tocha.arange(x.shape[1]) + x, [("n", "seq")]),
    "causal mask": (
        lambda x: tocha.ones(x.shape[1], x.shape[1]).tril().masked_fill(tocha.eye(x.shape[1]) > 0, 2.0),
        [("n", "seq")],
    ), "slices": (lambda x: x[1:, :-1] * x[:-1, 1:], [("n", "seq")]),
    "cat": (lambda x: tocha.cat([x, x * 2, x[:1]], 0), [("n", 3)]),
    "split": (lambda x: x.chunk(2, -1)[0] - x.chunk(2, -1)[1], [("n", 6)]),
    "matmul": (lambda x, y: x @ y.transpose(0, 1), [("n", 3), ("seq", 3)]),
    "rows written": (filled, [("n", 2)]),
    "view written": (lambda x: (lambda y: (y[:, 1:].mul_(2), y)[1])(x * 1), [("n", 3)]),
    "index": (lambda x: x[:, tocha.tensor([2, 0])], [("n", 3)]),
    "gather": (lambda x: x.gather(1, x.argmax(1, keepdim=True)), [("n", 3)]),
    "softmax": (lambda x: F.softmax(x @ x.mT / x.shape[-1] ** 0.5, -1), [("n", "seq", 4)]),
    "layer norm": (lambda x: F.layer_norm(x, (4,)), [("n", "seq", 4)]),
    "conv": (lambda x: F.max_pool2d(F.conv2d(x, tocha.ones(2, 3, 3, 3), padding=1).relu(), 2), [("n", 3, 8, 8)]),
    "attention": (lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True), [("n", 2, "seq", 4)]),
    "einsum": (lambda x, y: tocha.einsum("nsd,ntd->nst", x, y), [("n", "seq", 4), ("n", 5, 4)]),
    "where": (lambda x: tocha.where(x > 0, x, -x), [("n", 3)]),
    "stack": (lambda x: tocha.stack([x, x + 1], 1), [("n", 3)]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    fn, shapes = PROGRAMS[name]
    check(fn, *shapes)


def test_a_network_and_its_gradients() -> None:
    tocha.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 2))

    def step(x: tocha.Tensor) -> tuple:
        loss = (model(x) ** 2).mean()
        return (loss, *tocha.autograd.grad(loss, list(model.parameters())))

    tracer = check(step, ("n", 3))
    assert len(tracer.graph.constants) + len(tracer.graph.parameters) >= 6
    text = str(tracer.graph)
    assert "linear" in text and "test_tracer.py" in text, "the table names operators and the user's lines"


def test_shared_arrays_are_one_value_with_their_name() -> None:
    w = tocha.ones(3, 3)
    tracer = Tracer()
    tracer.name_parameter(w._data, "w")
    x = tracer.input("x", (2, 3), FLOAT)
    with tracer.active():
        y = (x @ w) @ w
    tracer.graph.outputs = [y._data.value]
    assert [v.name for v in tracer.graph.parameters] == ["w"]


def test_a_branch_on_a_size_is_a_named_guard() -> None:
    tracer = traced(lambda x: x * 2 if x.shape[0] > 3 else x * 3, ("n", 2))
    (guard,) = tracer.graph.environment.guards
    assert "n" in str(guard) and "test_tracer.py" in str(guard)
    with pytest.raises(RuntimeError, match="conditions that do not hold"):
        tracer.graph.run([np.ones((2, 2), FLOAT)])


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x if x.sum() > 0 else -x,
        lambda x: x * x.sum().item(),
        lambda x: tocha.tensor(x.tolist()),
        lambda x: x.numpy(),
    ], ids=["bool", "item", "tolist", "numpy"],
)
def test_values_are_not_known_while_tracing(fn) -> None:
    with pytest.raises((TracingError, NotImplementedError), match="tracing|shape rule|nonzero"):
        traced(fn, ("n", 3))


def test_eager_code_is_as_before_after_a_trace() -> None:
    x = tocha.ones(2, requires_grad=True)
    with pytest.raises(ZeroDivisionError):
        traced(lambda t: 1 / 0, ("n", 2))
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0] and type(tocha.zeros(2)._data) is np.ndarray
