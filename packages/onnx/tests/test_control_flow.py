"""cond, while_loop and scan become If, Loop and Scan."""

from __future__ import annotations

import numpy as np
import pytest

import tocha
from tocha import nn


def kinds(program):
    return {node.op_type for node in program.model.graph.node}


def both(program, fn, *args):
    for got, expected in zip(program(*args), _flat(fn(*args))):
        np.testing.assert_allclose(got.numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)


def _flat(tree):
    return [tree] if isinstance(tree, tocha.Tensor) else [leaf for item in tree for leaf in _flat(item)]


def test_a_branch_on_values():
    weight = nn.Parameter(tocha.randn(3, 3))

    def program(x, y):
        return tocha.cond(x.sum() > 0, lambda a: (a @ weight + y, a.sum(1)), lambda a: (a * 2 - y, a[:, 0]), (x,))

    x, y = tocha.rand(2, 3), tocha.randn(3)
    made = tocha.onnx.export(program, (x, y), dynamic_shapes=({0: "n"}, None))
    assert "If" in kinds(made)
    both(made, program, x, y)
    both(made, program, -tocha.rand(4, 3), y)


def test_branches_inside_of_branches_and_modules():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)

        def forward(self, x):
            inner = lambda a: tocha.cond(a.max() > 1, self.first, self.second, (a,))  # noqa: E731
            return tocha.cond(x.mean() > 0, inner, lambda a: a, (x,))

    net = Net().eval()
    made = tocha.onnx.export(net, (tocha.ones(2, 3) * 2,), dynamic_shapes=({0: "n"},))
    with tocha.no_grad():
        for value in (2.0, 0.5, -1.0):
            both(made, net, tocha.full((3, 3), value))


def test_a_loop_until_values_say_so():
    def collatz(n):
        def step(n, count):
            return tocha.where(n % 2 == 0, n // 2, 3 * n + 1), count + 1

        return tocha.while_loop(lambda n, count: n != 1, step, (n, n * 0))

    made = tocha.onnx.export(collatz, (tocha.tensor(6),))
    assert "Loop" in kinds(made)
    assert made(tocha.tensor(27))[1].item() == 111
    assert made(tocha.tensor(1))[1].item() == 0


def test_a_loop_reads_what_is_outside():
    def power(a, x):
        unlike = lambda v, i: (v - a @ v).abs().sum() > 1e-6  # noqa: E731
        return tocha.while_loop(unlike, lambda v, i: (a @ v, i + 1), (x, tocha.tensor(0)))

    a = tocha.tensor([[0.5, 0.2], [0.5, 0.8]])
    made = tocha.onnx.export(power, (a, tocha.tensor([1.0, 0.0])))
    both(made, power, a, tocha.tensor([0.3, 0.7]))


@pytest.mark.parametrize("reverse", [False, True])
def test_scan(reverse):
    def cell(state, x):
        h, total = state
        h = (h * 0.5 + x["a"]).tanh()
        return (h, total + x["b"]), {"h": h, "sum": total}

    def program(h, total, a, b):
        return tocha.scan(cell, (h, total), {"a": a, "b": b}, dim=1, reverse=reverse)

    args = (tocha.zeros(2, 3), tocha.zeros(2), tocha.randn(2, 5, 3), tocha.randn(2, 5))
    time = {0: "n", 1: "t"}
    made = tocha.onnx.export(program, args, dynamic_shapes=({0: "n"}, {0: "n"}, time, time))
    assert "Scan" in kinds(made)
    other = (tocha.ones(3, 3), tocha.ones(3), tocha.randn(3, 8, 3), tocha.randn(3, 8))
    (h, total), results = program(*other)
    for got, expected in zip(made(*other), (h, total, results["h"], results["sum"])):
        np.testing.assert_allclose(got.numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_what_cannot_be_recorded():
    with pytest.raises(RuntimeError, match="branches of cond.*same shapes"):
        tocha.onnx.export(lambda x: tocha.cond(x.sum() > 0, lambda a: a, lambda a: a[:1], (x,)), (tocha.ones(3),))
    with pytest.raises(RuntimeError, match="while_loop carries"):
        tocha.onnx.export(
            lambda x: tocha.while_loop(lambda a: a.sum() < 9, lambda a: (tocha.cat((a, a)),), (x,)), (tocha.ones(3),)
        )

    def leak(x):
        y = x * 1
        tocha.cond(x.sum() > 0, lambda: y.add_(1), lambda: y.sub_(1), ())
        return y + 1

    with pytest.raises(RuntimeError, match="wrote to a tensor from outside"):
        tocha.onnx.export(leak, (tocha.ones(3),))
    with pytest.raises(tocha.onnx.UnsupportedOperatorError, match="cond.*nextafter"):
        next_one = lambda a: tocha.nextafter(a, a)  # noqa: E731
        tocha.onnx.export(lambda x: tocha.cond(x.sum() > 0, next_one, lambda a: a, (x,)), (tocha.ones(3),))
