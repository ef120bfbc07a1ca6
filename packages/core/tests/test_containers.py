"""Containers of modules and parameters."""

import copy
from collections import OrderedDict

import pytest

import tocha
from tocha import nn


class Add(nn.Module):
    def __init__(self, amount):
        super().__init__()
        self.amount = amount

    def forward(self, x):
        return x + self.amount

    def extra_repr(self):
        return str(self.amount)


def amounts(container):
    return [module.amount for module in container]


def test_sequential_applies_in_order():
    net = nn.Sequential(Add(1), Add(10))
    assert net(0) == 11
    assert list(net._modules) == ["0", "1"]
    assert repr(net) == "Sequential(\n  (0): Add(1)\n  (1): Add(10)\n)"
    named = nn.Sequential(OrderedDict(a=Add(1), b=Add(2)))
    assert named.a.amount == 1 and named[1].amount == 2
    assert list(named[:1]._modules) == ["a"]


def test_sequential_is_a_list():
    net = nn.Sequential(Add(0), Add(1), Add(2))
    assert amounts(net[1:]) == [1, 2] and net[-1].amount == 2 and len(net) == 3
    net[0] = Add(5)
    assert net.append(Add(3)) is net
    net.insert(1, Add(7))
    net.extend([Add(8), Add(9)])
    assert amounts(net) == [5, 7, 1, 2, 3, 8, 9]
    assert net.pop(1).amount == 7
    assert amounts(net.pop(slice(4, 6))) == [8, 9]
    del net[0]
    assert amounts(net) == [1, 2, 3] and list(net._modules) == ["0", "1", "2"]
    del net[:2]
    assert amounts(net) == [3]
    net.insert(-1, Add(4))
    assert amounts(net) == [4, 3]


def test_sums_and_products_of_sequentials():
    a, b = nn.Sequential(Add(1)), nn.Sequential(Add(2))
    assert amounts(a + b) == [1, 2]
    assert amounts(a * 3) == amounts(3 * a) == [1, 1, 1]
    a += b
    a *= 2
    assert amounts(a) == [1, 2, 1, 2]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda s: s[5], IndexError, "index 5 is out of range"),
        (lambda s: s.insert(9, Add(1)), IndexError, "Index out of range: 9"),
        (lambda s: s.insert(0, 3), AssertionError, "module should be of type"),
        (lambda s: s + 3, ValueError, "add operator supports only objects of Sequential class"),
        (lambda s: s * 0, ValueError, "Non-positive multiplication factor 0"),
        (lambda s: s * "a", TypeError, "unsupported operand type"),
        (lambda s: s.append(3), TypeError, "int is not a Module subclass"),
        (lambda s: nn.ModuleList([s])[1], IndexError, "index 1 is out of range"),
        (lambda s: nn.ModuleList().extend(3), TypeError, "should be called with an iterable, but got int"),
        (lambda s: nn.ModuleList([s])(1), NotImplementedError, 'is missing the required "forward" function'),
        (lambda s: nn.ModuleDict(3), TypeError, "should be called with an iterable of key/value pairs, but got int"),
        (lambda s: nn.ModuleDict([1]), TypeError, "update sequence element #0 should be Iterable; isint"),
        (lambda s: nn.ModuleDict([(1,)]), ValueError, "element #0 has length 1; 2 is required"),
        (lambda s: nn.ModuleDict({"a.b": s}), KeyError, "module name can.*t contain"),
        (lambda s: nn.ModuleDict().pop("a"), KeyError, "a"),
        (lambda s: nn.ParameterList()(1), RuntimeError, "ParameterList should not be called."),
        (
            lambda s: nn.ParameterList().extend(tocha.zeros(2)),
            TypeError,
            "should be called with an iterable, but got Tensor",
        ),
        (lambda s: nn.ParameterDict()["a"], AttributeError, "'ParameterDict' object has no attribute 'a'"),
        (lambda s: nn.ParameterDict()[3], TypeError, "cannot be used as a key as it is not a string"),
        (lambda s: nn.ParameterDict().popitem(), KeyError, "dictionary is empty"),
    ],
)
def test_wrong_uses_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(nn.Sequential(Add(1)))


def test_module_list():
    layers = nn.ModuleList(Add(i) for i in range(3))
    layers.append(Add(3)).extend([Add(4)])
    layers.insert(0, Add(9))
    layers += [Add(5)]
    assert amounts(layers) == [9, 0, 1, 2, 3, 4, 5]
    assert isinstance(layers[1:3], nn.ModuleList) and amounts(layers[1:3]) == [0, 1]
    layers[0] = Add(8)
    assert layers.pop(-1).amount == 5
    del layers[1:3]
    assert amounts(layers) == [8, 2, 3, 4]
    assert amounts(layers + [Add(1)]) == [8, 2, 3, 4, 1]
    assert [name for name, _ in layers.named_children()] == ["0", "1", "2", "3"]


def test_module_list_repr_counts_repeats():
    same = nn.ModuleList([Add(1), Add(1), Add(2), nn.Sequential(Add(3))])
    assert repr(same) == (
        "ModuleList(\n  (0-1): 2 x Add(1)\n  (2): Add(2)\n  (3): Sequential(\n    (0): Add(3)\n  )\n)"
    )
    assert repr(nn.ModuleList()) == "ModuleList()"


def test_module_dict():
    heads = nn.ModuleDict({"b": Add(1), "a": Add(2)})
    heads["c"] = Add(3)
    heads.update([("d", Add(4))])
    assert list(heads) == list(heads.keys()) == ["b", "a", "c", "d"]
    assert "a" in heads and len(heads) == 4
    assert [m.amount for m in heads.values()] == [1, 2, 3, 4]
    assert heads.pop("a").amount == 2 and "a" not in heads
    del heads["b"]
    assert [name for name, _ in heads.items()] == ["c", "d"]
    assert repr(heads) == "ModuleDict(\n  (c): Add(3)\n  (d): Add(4)\n)"
    heads.clear()
    assert len(heads) == 0


def test_parameter_list():
    weights = nn.ParameterList([tocha.zeros(2, 3), 5])
    weights.append(tocha.ones(1))
    weights += [tocha.ones(4)]
    assert [name for name, _ in weights.named_parameters()] == ["0", "2", "3"]
    assert weights[1] == 5 and len(weights) == 4 and isinstance(weights[-1], nn.Parameter)
    assert len(weights[1:]) == 3
    weights[1] = tocha.zeros(7)
    assert [tuple(p.shape) for p in weights] == [(2, 3), (7,), (1,), (4,)]
    assert repr(nn.ParameterList([tocha.zeros(2, 3), "x"])) == (
        "ParameterList(\n    (0): Parameter containing: [tocha.float32 of size 2x3]\n    (1): Object of type: str\n)"
    )
    twin = copy.deepcopy(weights)
    assert len(twin) == 4 and twin[0] is not weights[0]


def test_parameter_dict():
    weights = nn.ParameterDict({"w": tocha.zeros(2), "b": tocha.ones(3)})
    assert list(weights) == ["b", "w"]
    assert list(reversed(weights)) == ["w", "b"]
    weights["n"] = 3
    assert weights.get("missing", 4) == 4 and weights.setdefault("n", 9) == 3
    assert [name for name, _ in weights.named_parameters()] == ["b", "w"]
    joined = weights | {"z": tocha.zeros(1)}
    assert list(joined) == ["b", "w", "n", "z"] and list(weights) == ["b", "w", "n"]
    weights |= {"y": 1}
    assert weights.popitem() == ("y", 1)
    assert weights.pop("b").tolist() == [1.0] * 3
    assert "b" not in weights and len(weights) == 2
    assert list(weights.fromkeys(["p", "q"], 0).items()) == [("p", 0), ("q", 0)]
    assert list(weights.copy().values())[1] == 3
    weights.clear()
    assert list(weights.parameters()) == []
