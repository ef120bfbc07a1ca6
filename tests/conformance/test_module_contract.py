"""``Module`` and the containers beside PyTorch's: names, states, messages, texts, hooks."""

import copy
import importlib.util
import pickle
from collections import OrderedDict
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location("side_by_side", Path(__file__).with_name("side_by_side.py"))
side_by_side = importlib.util.module_from_spec(spec)
spec.loader.exec_module(side_by_side)
both, noted, outcome = side_by_side.both, side_by_side.noted, side_by_side.outcome


def layer_class(m):
    class Layer(m.nn.Module):
        def __init__(self, inputs, outputs, bias=True):
            super().__init__()
            self.sizes = (inputs, outputs)
            self.weight = m.nn.Parameter(m.arange(float(inputs * outputs)).view(outputs, inputs) / 7)
            if bias:
                self.bias = m.nn.Parameter(m.ones(outputs))
            else:
                self.register_parameter("bias", None)
            self.register_buffer("kept", m.zeros(2))
            self.register_buffer("scratch", m.ones(1), persistent=False)

        def forward(self, x, shift=0):
            return m.nn.functional.linear(x, self.weight, self.bias) + shift

        def extra_repr(self):
            return f"{self.sizes[0]}, {self.sizes[1]}"

    return Layer


def net_of(m):
    layer = layer_class(m)

    class Net(m.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = layer(2, 3), layer(3, 1, False)
            self.seq = m.nn.Sequential(layer(1, 1), layer(1, 1))
            self.list = m.nn.ModuleList([layer(1, 1), layer(1, 1), layer(1, 2)])
            self.dict = m.nn.ModuleDict({"x": layer(1, 1)})
            self.params = m.nn.ParameterList([m.zeros(2), 3, m.ones(1)])
            self.named = m.nn.ParameterDict({"z": m.zeros(1), "b": m.ones(2, 2)})

        def forward(self, x, shift=0):
            return self.seq(self.b(self.a(x, shift=shift)))

    return Net(), layer


def test_names_and_texts():
    def case(m):
        net, _ = net_of(m)
        return [
            repr(net), list(net.state_dict()), dict(net.state_dict()._metadata), [n for n, _ in net.named_parameters()],
            [n for n, _ in net.named_buffers()], [n for n, _ in net.named_modules()],
            [n for n, _ in net.named_children()], net.state_dict(), net(m.ones(1, 2)),
        ]  # fmt: skip

    both(case)


def test_messages_of_loading():
    def case(m):
        net, _ = net_of(m)
        state = net.state_dict()
        state["a.weight"] = m.ones(3, 2)
        loads = [
            ({"a.weight": m.zeros(3, 3), "q": 1, "b.weight": 4, "seq.0.zzz": 1}, {}),
            ({"a.weight": m.zeros(3, 2)}, {"strict": False}), (5, {}), (net.state_dict(), {}),
            (state, {"assign": True}),
        ]  # fmt: skip
        return [str(outcome(lambda s=s, k=k: net.load_state_dict(s, **k))) for s, k in loads] + [net.a.weight]

    both(case)


def wrong_uses(m):
    net, layer = net_of(m)
    return [
        lambda: setattr(net.a, "weight", m.zeros(1)), lambda: setattr(net.a, "weight", 3), lambda: setattr(net, "a", 3),
        lambda: setattr(net.a, "kept", 3), lambda: net.register_buffer("a", m.zeros(1)),
        lambda: net.register_buffer("x.y", None), lambda: net.register_buffer("b1", 3),
        lambda: net.register_parameter("", None), lambda: net.register_parameter("zz", m.zeros(1)),
        lambda: net.add_module("x.y", None), lambda: net.add_module("", None), lambda: net.add_module(3, None),
        lambda: net.add_module("forward", m.nn.Module()), lambda: net.add_module("q", 3), lambda: net.nothing,
        lambda: repr(net.get_submodule("seq.0")), lambda: net.get_submodule("seq.9"),
        lambda: net.get_submodule("a.weight"), lambda: net.get_parameter("a.weight"),
        lambda: net.get_parameter("a.kept"), lambda: net.get_buffer("a.kept"), lambda: net.get_buffer("a.weight"),
        lambda: net.set_submodule("seq.q", layer(4, 4), strict=True), lambda: net.set_submodule("", layer(1, 1)),
        lambda: net.set_submodule("a.weight", layer(1, 1)), lambda: net.set_submodule("a", 3),
        lambda: m.nn.Module()(3), lambda: m.nn.Module(3), lambda: m.nn.Module(a=3), lambda: net.train(3),
        lambda: net.to(m.int32), lambda: net.seq[5], lambda: net.seq * 0, lambda: net.seq * "a", lambda: net.seq + 3,
        lambda: net.seq.insert(50, layer(1, 1)), lambda: net.list[99], lambda: net.list.extend(3),
        lambda: net.dict.update([1]), lambda: net.dict.update([(1,)]), lambda: net.dict.update(3),
        lambda: net.dict.pop("y"), lambda: net.params.extend(3), lambda: net.params(3), lambda: net.params[9],
        lambda: net.named.update(3), lambda: net.named.update([1]), lambda: delattr(net, "zzz"),
    ]  # fmt: skip


def test_messages_of_wrong_uses():
    both(lambda m: [outcome(call) for call in wrong_uses(m)])


def test_containers_change_alike():
    def case(m):
        net, layer = net_of(m)
        seq, seen = net.seq, []
        for call in [
            lambda: seq[0:1], lambda: seq + seq, lambda: seq * 2, lambda: seq.insert(1, layer(5, 5)),
            lambda: seq.pop(0),
            lambda: seq.append(layer(9, 9)), lambda: seq.extend([layer(8, 8)]), lambda: seq.__delitem__(slice(0, 2)),
            lambda: net.list.insert(1, layer(7, 7)), lambda: net.list.pop(-1), lambda: net.list[1:],
            lambda: net.list + [layer(3, 3)], lambda: net.dict.update({"y": layer(2, 2)}),
            lambda: net.params.append(m.zeros(1, 2)), lambda: net.params[1:], lambda: net.named | {"q": m.zeros(1)},
            lambda: net.named.popitem()[0], lambda: net.named.setdefault("k", m.ones(1)),
        ]:  # fmt: skip
            seen.append(repr(outcome(call)).replace("Parameter containing:\n", ""))
            seen.append(repr(net))
        return seen

    both(case)


def test_hooks_see_and_change_alike():
    def case(m):
        net, seen = net_of(m)[0], []
        net.a.register_forward_pre_hook(lambda mod, args: seen.append(args))
        net.a.register_forward_pre_hook(lambda mod, args, kw: (args, {"shift": kw["shift"] + 1}), with_kwargs=True)
        net.a.register_forward_hook(lambda mod, args, kw, output: output * 2, with_kwargs=True)
        net.a.register_forward_hook(lambda mod, args, output: seen.append("first"), prepend=True)
        net.a.register_full_backward_hook(lambda mod, grad_input, grad_output: seen.append((grad_input, grad_output)))
        net.b.register_full_backward_pre_hook(lambda mod, grad_output: (grad_output[0] * 3,))
        net.b.register_full_backward_hook(lambda mod, grad_input, grad_output: (grad_input[0] * 5,))
        x = m.ones(2, 2, requires_grad=True)
        _, warned = noted(lambda: net(x).sum().backward())
        return [seen, warned, x.grad, net.a.weight.grad, net.b.weight.grad]

    both(case)


def test_older_backward_hooks_warn_alike():
    def case(m):
        layer, seen = layer_class(m)(2, 2), []
        layer.register_backward_hook(lambda mod, grad_input, grad_output: seen.append(grad_output))
        _, warned = noted(lambda: layer(m.ones(1, 2, requires_grad=True)).sum().backward())
        return [seen, warned, outcome(lambda: layer.register_full_backward_hook(print))]

    both(case)


def test_hooks_without_inputs_that_need_gradients_warn_alike():
    def case(m):
        layer, seen = layer_class(m)(2, 2), []
        layer.register_full_backward_hook(lambda mod, grad_input, grad_output: seen.append((grad_input, grad_output)))
        _, warned = noted(lambda: layer(m.ones(1, 2)).sum().backward())
        return [seen, warned]

    both(case)


def test_copies_and_conversions():
    def case(m):
        net = m.nn.Sequential(m.nn.Linear(2, 3), m.nn.BatchNorm1d(3), m.nn.Sequential(OrderedDict(x=m.nn.Linear(3, 1))))
        twin = copy.deepcopy(net)
        again = pickle.loads(pickle.dumps(net))
        results = [twin.state_dict(), again.state_dict(), twin(m.ones(4, 2))]
        for convert in ("double", "half", "bfloat16", "float"):
            results.append([str(p.dtype) for p in getattr(net, convert)().parameters()])
            results.append([str(b.dtype) for b in net.buffers()])
        results.append(outcome(lambda: net.to("meta").to("cpu")) if m.__name__ == "torch" else None)
        return results[:-1]

    both(case)


@pytest.mark.parametrize("name", ["Linear", "Conv2d", "BatchNorm2d", "LayerNorm", "Embedding", "Dropout", "ReLU"])
def test_layers_print_alike(name):
    arguments = {"Linear": (3, 4), "Conv2d": (3, 4, 3), "BatchNorm2d": (4,), "LayerNorm": (5,), "Embedding": (10, 3)}
    both(lambda m: repr(getattr(m.nn, name)(*arguments.get(name, ()))))
