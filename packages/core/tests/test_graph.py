"""The traced graph: building, replaying, printing and rewriting it."""

import weakref

import numpy as np
import pytest

from tocha._trace.graph import Graph
from tocha._trace.symbolic import Environment

F4 = np.dtype(np.float32)


def scale(x, factor):
    return x * np.float32(factor)


def stack(arrays, axis):
    return np.stack(arrays, axis)


def split(x):
    return x[: len(x) // 2], x[len(x) // 2 :]


@pytest.fixture
def model():
    """(tanh(x @ w) * (1/batch) twice, stacked), over a symbolic batch."""
    graph = Graph()
    batch = graph.environment.symbol("batch", hint=4)
    x = graph.input("x", (batch, 3), F4)
    w = graph.parameter("weight", np.arange(6, dtype=F4).reshape(3, 2))
    (h,) = graph.add(np.matmul, (x, w), (), [((batch, 2), F4)], module="body.0")
    (y,) = graph.add(np.tanh, (h,), (), [((batch, 2), F4)], module="body.1")
    (a,) = graph.add(scale, (y,), (1 / batch,), [((batch, 2), F4)])
    (b,) = graph.add(scale, (y,), (1 / batch,), [((batch, 2), F4)])
    (z,) = graph.add(stack, ((a, b),), (0,), [((2, batch, 2), F4)])
    graph.outputs = [z, x]
    return graph


def reference(x):
    y = np.tanh(x @ np.arange(6, dtype=F4).reshape(3, 2)) * np.float32(1 / len(x))
    return np.stack([y, y])


@pytest.mark.parametrize("size", [2, 4, 9])
def test_replay_at_any_size(model, size):
    x = np.random.default_rng(0).normal(size=(size, 3)).astype(F4)
    z, again = model.run([x])
    assert np.array_equal(z, reference(x)) and again is x
    assert model.bind([x]) == {"batch": size}


def test_rewrites_keep_the_result(model):
    x = np.ones((5, 3), F4)
    (unused,) = model.add(np.exp, (model.inputs[0],), (), [((5, 3), F4)])
    model.constant(np.zeros(2, F4), "forgotten")
    assert model.dead_code_elimination() == 1 and not model.constants and len(model.parameters) == 1
    assert model.common_subexpressions() == 1
    assert model.dead_code_elimination() == 0 and len(model.nodes) == 4
    model.validate()
    assert np.array_equal(model.run([x])[0], reference(x))


def test_merging_tells_attributes_and_impure_nodes_apart():
    graph = Graph()
    x = graph.input("x", (3,), F4)
    results = [
        graph.add(scale, (x,), (factor,), [((3,), F4)], pure=pure)[0]
        for factor, pure in [(1, True), (1.0, True), (True, True), (1, False), (1, False), (1, True)]
    ]
    graph.outputs = results
    assert graph.common_subexpressions() == 1
    assert graph.outputs[5] is graph.outputs[0] and len(set(graph.outputs)) == 5
    graph.outputs = []
    assert graph.dead_code_elimination() == 3 and [node.pure for node in graph.nodes] == [False, False]


def test_merging_follows_chains_and_several_outputs():
    graph = Graph()
    x = graph.input("x", (4,), F4)
    halves = [graph.add(split, (x,), (), [((2,), F4), ((2,), F4)]) for _ in range(2)]
    sums = [graph.add(np.add, pair, (), [((2,), F4)])[0] for pair in halves]
    graph.outputs = sums
    assert graph.common_subexpressions() == 2
    assert graph.outputs[0] is graph.outputs[1]
    graph.validate()
    assert graph.run([np.arange(4, dtype=F4)])[1].tolist() == [2, 4]


def test_values_are_released_at_last_use(model):
    class Watched(np.ndarray):
        pass

    made = []

    def call(op, arguments):
        alive = sum(ref() is not None for ref in made)
        result = op(*arguments).view(Watched)
        made.append(weakref.ref(result))
        peak.append(alive)
        return result

    peak = []
    model.run([np.ones((4, 3), F4)], call=call)
    # y lives until both scalings have read it, h no longer than tanh
    assert peak == [0, 1, 1, 2, 2]


def test_operators_with_a_replay_method_are_called_through_it():
    class Operator:
        name = "double"

        def replay(self, x):
            return 2 * x

    graph = Graph()
    x = graph.input("x", (), F4)
    graph.outputs = list(graph.add(Operator(), (x,), (), [((), F4)]))
    assert graph.run([np.float32(3).reshape(())]) == [6] and "double" in str(graph)


def test_inputs_that_do_not_fit(model):
    with pytest.raises(RuntimeError, match=r"takes 1 inputs \(x\), got 2"):
        model.run([np.ones((4, 3), F4)] * 2)
    with pytest.raises(RuntimeError, match=r"expected input x: float32\[batch, 3\], got float64\[4, 3\]"):
        model.run([np.ones((4, 3))])
    with pytest.raises(RuntimeError, match=r"that is \[4, 3\] for batch=4, got \[4, 2\]"):
        model.run([np.ones((4, 2), F4)])
    with pytest.raises(RuntimeError, match=r"that is \[5, 3\] for batch=5, got \[4, 3\]"):
        model.run([np.ones((4, 3), F4)], {"batch": 5})
    with pytest.raises(RuntimeError, match=r"conditions that do not hold here: 2 <= batch, got 1"):
        model.run([np.ones((1, 3), F4)])
    assert model.inputs[0].shape[0] <= 8
    with pytest.raises(RuntimeError, match=r"batch <= 8  \(.*test_graph\.py:\d+ in test_inputs"):
        model.run([np.ones((9, 3), F4)])


def test_a_symbol_that_no_input_shows():
    environment = Environment()
    n = environment.symbol("n", hint=3)
    graph = Graph(environment)
    x = graph.input("x", (2 * n,), F4)
    graph.outputs = list(graph.add(lambda x, size: x.reshape(size), (x,), ((n, 2),), [((n, 2), F4)]))
    with pytest.raises(KeyError, match="no value for the symbolic size 'n'"):
        graph.run([np.ones(8, F4)])
    assert graph.run([np.ones(8, F4)], {"n": 4})[0].shape == (4, 2)


def test_users_values_and_held_arrays(model):
    names = [value.name for value in model.values()]
    assert names == ["x", "weight", "v2", "v3", "v4", "v5", "v6"]
    users = {value.name: [node.name for node in nodes] for value, nodes in model.users().items()}
    assert users == {
        "x": ["matmul"], "weight": ["matmul"], "v2": ["tanh"], "v3": ["scale", "scale"],
        "v4": ["stack"], "v5": ["stack"], "v6": [],
    }  # fmt: skip
    weight = model.parameters[0]
    assert model.parameter("weight", weight.data) is weight and model.constant(weight.data) is weight
    assert model.nodes[0].outputs[0].producer is model.nodes[0] and weight.producer is None


def test_validate_finds_broken_graphs(model):
    model.nodes.reverse()
    with pytest.raises(ValueError, match="reads 'v4' before it is defined"):
        model.validate()
    model.nodes.reverse()
    model.nodes[0].outputs[0].rename("x")
    with pytest.raises(ValueError, match="two values of the graph are named 'x'"):
        model.validate()


def test_replace_rewires_readers(model):
    h, y = (node.outputs[0] for node in model.nodes[:2])
    model.replace({y: h})
    assert model.dead_code_elimination() == 1
    assert [node.name for node in model.nodes] == ["matmul", "scale", "scale", "stack"]
    x = np.ones((2, 3), F4)
    assert np.array_equal(model.run([x])[0][0], x @ model.parameters[0].data / 2)


def test_text(model, capsys):
    model.print()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["value", "operator", "inputs", "and", "attributes", "module", "line"]
    assert lines[2].split() == ["x:", "float32[batch,", "3]", "input"]
    assert lines[4].split()[:7] == ["v2:", "float32[batch,", "2]", "matmul", "x,", "weight", "body.0"]
    assert lines[4].split()[-1].startswith("test_graph.py:")
    assert " v3, 1/batch " in lines[6] and " (v4, v5), 0 " in lines[8]
    assert lines[9:] == ["returns v6, x", "2 <= batch, traced with 4"]
    assert repr(model.nodes[0]) == "v2 = matmul(x, weight)"


def test_dot(model):
    text = model.to_dot()
    assert text.startswith("digraph {") and text.endswith("}")
    assert 'v0 [shape=ellipse, label="input x: float32[batch, 3]"];' in text
    assert 'v0 -> n0 [label="[batch, 3]"];' in text and 'n2 -> n4 [label="[batch, 2]"];' in text
    assert "n4 -> r0;" in text and "v0 -> r1;" in text
