"""``Module``: members, state, conversion, traversal, printing. (Hooks: ``test_module_hooks.py``.)"""

import copy
import gc
import pickle
import weakref
from collections import OrderedDict

import pytest

import tocha
from tocha import nn


class Layer(nn.Module):
    """A linear layer of our own, with one buffer of each kind."""

    def __init__(self, inputs, outputs, bias=True):
        super().__init__()
        self.sizes = (inputs, outputs)
        self.weight = nn.Parameter(tocha.ones(outputs, inputs))
        if bias:
            self.bias = nn.Parameter(tocha.zeros(outputs))
        else:
            self.register_parameter("bias", None)
        self.register_buffer("count", tocha.tensor(0))
        self.register_buffer("scratch", tocha.zeros(2), persistent=False)

    def forward(self, x, scale=1):
        y = x @ self.weight.T
        return (y if self.bias is None else y + self.bias) * scale

    def extra_repr(self):
        return f"{self.sizes[0]} -> {self.sizes[1]}"


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Layer(2, 3), Layer(3, 1, bias=False)

    def forward(self, x):
        return self.second(self.first(x))


# ---------------------------------------------------------------- members


def test_assignment_registers():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == ["first.weight", "first.bias", "second.weight"]
    assert [name for name, _ in net.named_buffers()] == [
        "first.count",
        "first.scratch",
        "second.count",
        "second.scratch",
    ]
    assert [name for name, _ in net.named_modules()] == ["", "first", "second"]
    assert list(net.state_dict()) == ["first.weight", "first.bias", "first.count", "second.weight", "second.count"]
    assert net.second.bias is None
    assert len(list(net.parameters(recurse=False))) == 0


def test_a_member_can_change_its_kind():
    module = nn.Module()
    module.x = 3
    module.x = Layer(1, 1)
    assert list(module._modules) == ["x"]
    module.x = nn.Parameter(tocha.zeros(1))
    assert (list(module._modules), list(module._parameters)) == ([], ["x"])
    module.x = None
    assert module.x is None and list(module.parameters()) == []
    del module.x
    assert not hasattr(module, "x")
    module.x = nn.Buffer(tocha.ones(2), persistent=False)
    assert (list(module._buffers), list(module.state_dict())) == (["x"], [])
    module.x = tocha.zeros(3)
    assert module._buffers["x"] is module.x


def test_the_tables_can_be_written_directly():
    net = Net()
    replacement = Layer(7, 7)
    net._modules["first"] = replacement
    assert net.first is replacement
    net.second._parameters["weight"] = other = nn.Parameter(tocha.zeros(1, 3))
    assert net.second.weight is other
    del net._modules["second"]
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'second'"):
        net.second  # noqa: B018
    assert net._modules.pop("first") is replacement
    assert not hasattr(net, "first")
    net._modules.update(a=replacement)
    assert net.a is replacement
    net._modules = {"b": replacement}
    assert net.b is replacement and not hasattr(net, "a")
    net._modules.clear()
    assert not hasattr(net, "b")


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            lambda m: setattr(m, "weight", tocha.zeros(1)),
            TypeError,
            "as parameter 'weight' .torch.nn.Parameter or None",
        ),
        (lambda m: setattr(m, "weight", 3), TypeError, "cannot assign 'int' as parameter 'weight'"),
        (lambda m: setattr(m, "count", 3), TypeError, "cannot assign 'int' as buffer 'count'"),
        (lambda m: m.register_parameter("sizes", None), KeyError, "attribute 'sizes' already exists"),
        (lambda m: m.register_parameter("a.b", None), KeyError, "parameter name can.*t contain"),
        (lambda m: m.register_parameter("", None), KeyError, "parameter name can.*t be empty string"),
        (lambda m: m.register_parameter(3, None), TypeError, "parameter name should be a string. Got int"),
        (lambda m: m.register_parameter("w", 3), TypeError, "cannot assign 'int' object to parameter 'w'"),
        (lambda m: m.register_buffer("forward", None), KeyError, "attribute 'forward' already exists"),
        (lambda m: m.register_buffer("b", 3), TypeError, "cannot assign 'int' object to buffer 'b'"),
        (lambda m: m.add_module("m", 3), TypeError, "int is not a Module subclass"),
        (lambda m: m.add_module("a.b", None), KeyError, "module name can.*t contain .*got: a.b"),
        (lambda m: m.nothing, AttributeError, "'Layer' object has no attribute 'nothing'"),
        (lambda m: m.train(3), ValueError, "training mode is expected to be boolean"),
        (lambda m: m.to(tocha.int64), TypeError, "only accepts floating point or complex dtypes"),
        (
            lambda m: nn.Module()(1),
            NotImplementedError,
            r'Module \[Module\] is missing the required "forward" function',
        ),
        (lambda m: nn.Module(3), TypeError, r"Module.__init__\(\) takes 1 positional argument but 2 were given"),
        (lambda m: nn.Module(a=3), TypeError, "got an unexpected keyword argument 'a'"),
    ],
)
def test_wrong_uses_are_refused(change, error, message):
    with pytest.raises(error, match=message):
        change(Layer(2, 2))


def test_a_non_leaf_is_no_parameter():
    weight = nn.Parameter(tocha.ones(2))
    weight_of = nn.Module()
    with tocha.no_grad():
        weight.mul_(2)
    weight_of.register_parameter("w", weight)
    computed = weight * 2
    computed._is_param = True
    with pytest.raises(ValueError, match="Cannot assign non-leaf Tensor to parameter 'v'"):
        weight_of.register_parameter("v", computed)


def test_assigning_before_init_is_refused():
    class Early(nn.Module):
        def __init__(self, value):
            self.value = value

    for value in (Layer(1, 1), nn.Parameter(tocha.zeros(1))):
        with pytest.raises(AttributeError, match=r"cannot assign (module|parameters) before Module.__init__\(\) call"):
            Early(value)
    assert Early(3).value == 3


def test_call_super_init():
    class Other:
        def __init__(self, value):
            self.value = value

    class Both(nn.Module, Other):
        call_super_init = True

    assert Both(3).value == 3


def test_shared_members_come_once():
    net = Net()
    net.again = net.first
    net.second.weight = net.first.weight
    assert len(list(net.parameters())) == 2
    assert len(list(net.named_parameters(remove_duplicate=False))) == 5
    assert len(list(net.modules())) == 3
    assert len(list(net.modules(remove_duplicate=False))) == 4
    assert [name for name, _ in net.named_children()] == ["first", "second"]


def test_paths():
    net = nn.Module()
    net.inner = Net()
    assert net.get_submodule("inner.first") is net.inner.first
    assert net.get_submodule("") is net
    assert net.get_parameter("inner.first.bias") is net.inner.first.bias
    assert net.get_buffer("inner.first.count") is net.inner.first.count
    replacement = Layer(9, 9)
    net.set_submodule("inner.first", replacement)
    assert net.inner.first is replacement
    net.set_submodule("inner.third", replacement)
    assert net.inner.third is replacement
    for call, message in [
        (lambda: net.get_submodule("inner.fourth"), "Net has no attribute `fourth`"),
        (lambda: net.get_submodule("inner.first.weight"), "`weight` is not an nn.Module"),
        (lambda: net.get_parameter("inner.first.count"), "`count` is not an nn.Parameter"),
        (lambda: net.get_buffer("inner.first.weight"), "`weight` is not a buffer"),
        (lambda: net.set_submodule("inner.fourth", replacement, strict=True), "Net has no attribute `fourth`"),
    ]:
        with pytest.raises(AttributeError, match=message):
            call()
    with pytest.raises(ValueError, match="Cannot set the submodule without a target name!"):
        net.set_submodule("", replacement)


def test_dir_lists_members():
    names = dir(Net())
    assert {"first", "second", "forward", "training"} <= set(names)
    assert names == sorted(names)
    assert not any(name[0].isdigit() for name in dir(nn.Sequential(Layer(1, 1))))


def test_modules_are_in_no_reference_cycle():
    gc.collect()
    gc.disable()
    try:
        net = Net()
        net.register_forward_hook(lambda module, args, output: None)
        net(tocha.ones(1, 2)).sum().backward()
        watched = weakref.ref(net.first)
        del net
        assert watched() is None
    finally:
        gc.enable()


# ---------------------------------------------------------------- state


def test_state_shares_memory_and_loads_into_place():
    net, other = Net(), Net()
    state = net.state_dict()
    with tocha.no_grad():
        net.first.weight.fill_(7.0)
    assert state["first.weight"][0, 0].item() == 7.0
    assert not state["first.weight"].requires_grad
    assert net.state_dict(keep_vars=True)["first.weight"] is net.first.weight
    weight = other.first.weight
    result = other.load_state_dict(state)
    assert str(result) == "<All keys matched successfully>"
    assert other.first.weight is weight and weight[0, 0].item() == 7.0
    assert state._metadata == OrderedDict([("", {"version": 1}), ("first", {"version": 1}), ("second", {"version": 1})])


def test_prefixes_and_destinations():
    destination = OrderedDict(kept=1)
    assert Layer(1, 1).state_dict(destination=destination, prefix="a.") is destination
    assert list(destination) == ["kept", "a.weight", "a.bias", "a.count"]
    with pytest.warns(FutureWarning, match="Positional args are being deprecated"):
        assert list(Layer(1, 1).state_dict(OrderedDict(), "b.")) == ["b.weight", "b.bias", "b.count"]


def test_strictness():
    net = Net()
    state = net.state_dict()
    state["first.extra"] = state.pop("second.weight")
    state["third.weight"] = tocha.zeros(1)
    with pytest.raises(RuntimeError) as caught:
        net.load_state_dict(state)
    assert str(caught.value) == (
        'Error(s) in loading state_dict for Net:\n\tMissing key(s) in state_dict: "second.weight". \n\t'
        'Unexpected key(s) in state_dict: "third.weight", "first.extra". '
    )
    keys = net.load_state_dict(state, strict=False)
    assert (keys.missing_keys, keys.unexpected_keys) == (["second.weight"], ["third.weight", "first.extra"])
    assert repr(keys).startswith("_IncompatibleKeys(missing_keys=['second.weight']")
    with pytest.raises(TypeError, match="Expected state_dict to be dict-like, got <class 'list'>."):
        net.load_state_dict([])


def test_shapes_and_kinds_are_checked_even_when_not_strict():
    message = (
        r"size mismatch for weight: copying a param with shape tocha.Size\(\[3, 3\]\) from checkpoint, the shape in "
        r"current model is tocha.Size\(\[1, 2\]\)."
    )
    with pytest.raises(RuntimeError, match=message):
        Layer(2, 1).load_state_dict({"weight": tocha.zeros(3, 3)}, strict=False)
    with pytest.raises(RuntimeError, match='While copying the parameter named "weight", expected torch.Tensor'):
        Layer(2, 1).load_state_dict({"weight": [1.0, 2.0]}, strict=False)
    layer = Layer(2, 1)
    layer.load_state_dict({"count": tocha.tensor([5])}, strict=False)
    assert layer.count.item() == 5


def test_assign_takes_the_tensors_themselves():
    layer = Layer(2, 1)
    weight = tocha.zeros(1, 2, dtype=tocha.float64)
    layer.weight.requires_grad_(False)
    layer.load_state_dict({"weight": weight, "count": tocha.tensor(4)}, strict=False, assign=True)
    assert isinstance(layer.weight, nn.Parameter) and layer.weight.dtype == tocha.float64
    assert not layer.weight.requires_grad
    assert layer.count.item() == 4
    with tocha.no_grad():
        weight.fill_(3.0)
    assert layer.weight[0, 0].item() == 3.0


class Counting(nn.Module):
    _version = 2

    def __init__(self):
        super().__init__()
        self.calls, self.seen = 0, None

    def get_extra_state(self):
        return {"calls": self.calls}

    def set_extra_state(self, state):
        self.calls = state["calls"]

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
        self.seen = local_metadata.get("version")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


def test_extra_state_and_versions():
    outer = nn.Module()
    outer.inner = Counting()
    outer.inner.calls = 5
    state = outer.state_dict()
    assert list(state) == ["inner._extra_state"]
    other = nn.Module()
    other.inner = Counting()
    other.load_state_dict(state)
    assert (other.inner.calls, other.inner.seen) == (5, 2)
    with pytest.raises(RuntimeError, match='Missing key\\(s\\) in state_dict: "inner._extra_state"'):
        other.load_state_dict({})
    with pytest.raises(RuntimeError, match='Unexpected key\\(s\\) in state_dict: "_extra_state"'):
        nn.Module().load_state_dict({"_extra_state": 1})


# ---------------------------------------------------------------- copies


def test_copies_and_pickles_are_whole_and_apart():
    net = Net()
    net.first.register_forward_hook(double_output)
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert twin.first.weight is not net.first.weight
        assert twin.first._parameters["weight"] is twin.first.weight
        assert twin(tocha.ones(1, 2)).item() == net(tocha.ones(1, 2)).item() == 12.0
        twin.first._parameters["weight"] = nn.Parameter(tocha.zeros(3, 2))
        assert twin(tocha.ones(1, 2)).item() == 0.0
        assert net.first.weight[0, 0].item() == 1.0
    shallow = copy.copy(net)
    assert shallow.first is net.first


def double_output(module, args, output):
    return output * 2


def test_a_module_with_the_copied_dict_of_another_leaves_that_alone():
    net = Net()
    replica = Net.__new__(Net)
    replica.__dict__ = net.__dict__.copy()
    assert replica.first is net.first
    replica._modules = replica._modules.copy()
    replica._modules["first"] = Layer(5, 5)
    replica._parameters = {}
    assert net.first.sizes == (2, 3) and replica.first.sizes == (5, 5)
    other = Layer.__new__(Layer)
    other.__dict__ = net.first.__dict__.copy()
    other.weight = nn.Parameter(tocha.zeros(1))
    del other.bias
    assert net.first.weight.shape == (3, 2) and net.first.bias is not None
    assert other.weight.shape == (1,) and not hasattr(other, "bias")


def test_a_copy_keeps_what_is_shared():
    net = Net()
    net.second.weight = net.first.weight
    twin = copy.deepcopy(net)
    assert twin.second.weight is twin.first.weight


# ---------------------------------------------------------------- conversion and modes


def test_conversions_keep_the_parameters_identity():
    net = Net()
    net(tocha.ones(1, 2)).sum().backward()
    weight, grad = net.first.weight, net.first.weight.grad
    assert net.double() is net
    assert net.first.weight is weight and weight.grad is grad
    assert weight.dtype == grad.dtype == tocha.float64
    assert net.first.count.dtype == tocha.int64
    assert net.first.scratch.dtype == tocha.float64
    assert {p.dtype for p in net.half().parameters()} == {tocha.float16}
    assert {p.dtype for p in net.bfloat16().parameters()} == {tocha.bfloat16}
    assert {p.dtype for p in net.float().parameters()} == {tocha.float32}
    assert {p.dtype for p in net.to(tocha.zeros(1, dtype=tocha.float64)).parameters()} == {tocha.float64}
    assert {p.dtype for p in net.to("cpu", tocha.float32).parameters()} == {tocha.float32}
    assert {p.dtype for p in net.to(device="cpu", dtype=tocha.float64, non_blocking=True).parameters()} == {
        tocha.float64
    }
    with pytest.raises(TypeError, match="invalid keyword argument"):
        net.to(speed="fast")


def test_meta_modules_get_memory_by_to_empty():
    net = Net().to("meta")
    assert all(t.is_meta for t in [*net.parameters(), *net.buffers()])
    with pytest.raises(
        NotImplementedError, match=r"Please use torch.nn.Module.to_empty\(\) instead of torch.nn.Module.to"
    ):
        net.to("cpu")
    net.to_empty(device="cpu")
    assert net.first.weight.shape == (3, 2) and not net.first.weight.is_meta


def test_modes_reach_every_child():
    net = Net()
    assert net.eval() is net
    assert [m.training for m in net.modules()] == [False] * 3
    net.train()
    assert [m.training for m in net.modules()] == [True] * 3
    assert net.requires_grad_(False) is net
    assert not any(p.requires_grad for p in net.parameters())
    seen = []
    assert net.apply(lambda m: seen.append(type(m).__name__)) is net
    assert seen == ["Layer", "Layer", "Net"]


def test_zero_grad():
    net = Net()
    net(tocha.ones(1, 2)).sum().backward()
    kept = net.first.weight.grad
    net.zero_grad(set_to_none=False)
    assert net.first.weight.grad is kept and kept.abs().sum().item() == 0
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())


# ---------------------------------------------------------------- printing


def test_repr():
    net = Net()
    net.gone = Layer(1, 1)
    net.gone = None
    assert repr(net) == "Net(\n  (first): Layer(2 -> 3)\n  (second): Layer(3 -> 1)\n  (gone): None\n)"
    assert repr(nn.Module()) == "Module()"

    class Described(Net):
        def extra_repr(self):
            return "one\ntwo"

    assert repr(Described()) == ("Described(\n  one\n  two\n  (first): Layer(2 -> 3)\n  (second): Layer(3 -> 1)\n)")
    outer = nn.Module()
    outer.net = net
    assert repr(outer).splitlines()[2] == "    (first): Layer(2 -> 3)"


# ---------------------------------------------------------------- parameters


def test_parameters_and_buffers_are_tensors_with_a_mark():
    values = tocha.zeros(2)
    weight, buffer = nn.Parameter(values), nn.Buffer(values)
    assert isinstance(weight, nn.Parameter) and weight.requires_grad and weight.is_leaf
    assert isinstance(buffer, nn.Buffer) and type(buffer) is tocha.Tensor and buffer.persistent
    assert not isinstance(values, nn.Parameter) and not isinstance(values, nn.Buffer)
    with tocha.no_grad():
        weight.fill_(3.0)
    assert values.tolist() == [3.0, 3.0]
    assert repr(weight) == "Parameter containing:\ntensor([3., 3.], requires_grad=True)"
    assert type(weight * 2) is tocha.Tensor
    twin = copy.deepcopy(weight)
    assert isinstance(twin, nn.Parameter) and twin is not weight and twin.tolist() == [3.0, 3.0]
    assert isinstance(pickle.loads(pickle.dumps(weight)), nn.Parameter)
    with pytest.raises(RuntimeError, match="floating point and complex dtype can require gradients"):
        nn.Parameter(tocha.zeros(2, dtype=tocha.int64))
    assert not nn.Parameter(tocha.zeros(2, dtype=tocha.int64), requires_grad=False).requires_grad


def test_lazy_parameters_have_no_shape_before_they_are_materialised():
    weight = nn.UninitializedParameter(dtype=tocha.float64)
    assert nn.parameter.is_lazy(weight) and repr(weight) == "<UninitializedParameter>"
    for use in (lambda: weight + 1, lambda: weight.sum(), lambda: tocha.exp(weight)):
        with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter in"):
            use()
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter or buffer"):
        weight.shape  # noqa: B018
    module = nn.Module()
    module.weight = weight
    module.float()
    assert weight.dtype == tocha.float32
    assert copy.deepcopy(weight).dtype == tocha.float32
    weight.materialize((2, 3))
    assert type(weight) is nn.Parameter and weight.shape == (2, 3) and weight.requires_grad
    buffer = nn.UninitializedBuffer()
    buffer.materialize((2,), dtype=tocha.int64)
    assert type(buffer) is tocha.Tensor and buffer.dtype == tocha.int64


def test_a_register_buffer_of_ones_own_is_used():
    class Old(nn.Module):
        def register_buffer(self, name, tensor):
            super().register_buffer(name, tensor)
            self.last = name

    module = Old()
    module.x = nn.Buffer(tocha.zeros(1))
    assert module.last == "x" and list(module.state_dict()) == ["x"]
    with pytest.raises(RuntimeError, match=r"implements register_buffer\(\) without the persistent argument"):
        module.y = nn.Buffer(tocha.zeros(1), persistent=False)


def test_the_package_of_attention_backends_is_not_hidden_by_the_layers_module():
    assert tocha.nn.attention.SDPBackend.MATH.name == "MATH"
