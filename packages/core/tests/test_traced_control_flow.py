"""Traced branches, loops and sizes that values decide, replayed by the graph; and scan."""

from __future__ import annotations

import numpy as np
import pytest

import tocha
from tocha.onnx.tracing import Tracer, TracingError, value_of


def traced(fn, *arrays):
    """The graph of a function of arrays whose first dimension is dynamic."""
    tracer = Tracer()
    n = tracer.graph.environment.symbol("n", hint=arrays[0].shape[0])
    inputs = [tracer.input(f"x{i}", (n, *a.shape[1:]), a.dtype) for i, a in enumerate(arrays)]
    with tracer.active():
        out = fn(*inputs)
        tracer.graph.outputs = [value_of(t, tracer) for t in (out if isinstance(out, tuple) else (out,))]
    tracer.graph.validate()
    return tracer.graph


def test_a_branch_is_replayed_by_its_condition():
    def program(x):
        return tocha.cond(x.sum() > 0, lambda a: a * 2, lambda a: a.abs() + a.shape[0], (x,))

    graph = traced(program, np.ones((4, 2)))
    (node,) = [node for node in graph.nodes if node.name == "cond"]
    assert len(node.attributes[0].nodes) == 1
    np.testing.assert_array_equal(graph.run([np.ones((3, 2))])[0], np.full((3, 2), 2.0))
    np.testing.assert_array_equal(graph.run([-np.ones((3, 2))])[0], np.full((3, 2), 4.0))


def test_a_loop_is_replayed_until_its_condition_is_false():
    weight = tocha.ones(2, dtype=tocha.float64)

    def double(x):
        step = lambda y, i: (y + x * weight, i + 1)  # noqa: E731
        return tocha.while_loop(lambda y, i: y.sum() < 100, step, (x, tocha.tensor(0)))

    graph = traced(double, np.ones((4, 2)))
    total, count = graph.run([np.ones((5, 2))])
    assert total.sum() >= 100 and count == 9


@pytest.mark.parametrize("reverse", [False, True])
def test_scan(reverse):
    def step(carry, x):
        carry = carry * 0.5 + x
        return carry, {"double": carry * 2}

    x = np.arange(6.0).reshape(3, 2)
    last, made = tocha.scan(step, tocha.zeros(2, dtype=tocha.float64), tocha.from_numpy(x), reverse=reverse)
    carry, expected = np.zeros(2), []
    for row in x[::-1] if reverse else x:
        carry = carry * 0.5 + row
        expected.append(carry * 2)
    expected = np.stack(expected[::-1] if reverse else expected)
    np.testing.assert_allclose(made["double"].numpy(), expected)
    np.testing.assert_allclose(last.numpy(), carry)

    def program(x):
        last, made = tocha.scan(step, tocha.zeros(2, dtype=tocha.float64), x, reverse=reverse)
        return last, made["double"]

    replayed = traced(program, x).run([x])
    np.testing.assert_allclose(replayed[0], carry)
    np.testing.assert_allclose(replayed[1], expected)
    with pytest.raises(RuntimeError, match="at least one slice"):
        tocha.scan(step, tocha.zeros(2), tocha.zeros(0, 2))


def test_a_part_may_not_write_to_what_is_outside():
    def leak(x):
        y = x * 1
        tocha.cond(x.sum() > 0, lambda: y.add_(1), lambda: y.sub_(1))
        return y + 1

    with pytest.raises(TracingError, match="wrote to a tensor from outside"):
        traced(leak, np.ones((2, 2)))


def test_a_mask_has_a_size_of_its_own():
    def positive(x):
        mask = x > 0
        return x[mask] * 2 + x[mask]

    graph = traced(positive, np.ones((4, 2)))
    assert graph.environment.symbols["u0"].hint is None
    x = np.array([[1.0, -1.0], [2.0, 3.0], [-4.0, 0.0]])
    np.testing.assert_array_equal(graph.run([x])[0], [3.0, 6.0, 9.0])
    with pytest.raises(NotImplementedError, match="meta"):
        tocha.ones(3, device="meta").nonzero()


def test_random_draws_are_neither_merged_nor_dropped():
    graph = traced(lambda x: x + tocha.randn(2) + tocha.randn(2), np.ones((4, 2), np.float32))
    graph.common_subexpressions()
    graph.dead_code_elimination()
    assert [node.name for node in graph.nodes].count("random") == 2
