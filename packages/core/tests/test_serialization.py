"""Saving and loading without PyTorch: round trips, files that PyTorch wrote, and what a file may name.

The files in data/serialization are PyTorch's own: reference/make_serialization.py wrote them.
"""

import fractions
import io
import pickle
import struct
import types
from collections import Counter, OrderedDict, defaultdict
from pathlib import Path

import numpy as np
import pytest

import tocha
from tocha import nn

DATA = Path(__file__).parent / "data/serialization"
DTYPES = (
    "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex128 complex64 uint16 uint32 uint64"
).split()
FORMATS = {"zip": {}, "legacy": {"_use_new_zipfile_serialization": False}}


@pytest.fixture(params=FORMATS)
def again(request):
    """Save an object and load it, in each format."""

    def save_and_load(obj, **options):
        buffer = io.BytesIO()
        tocha.save(obj, buffer, **FORMATS[request.param])
        buffer.seek(0)
        return tocha.load(buffer, **options)

    return save_and_load


def saved(obj, **options):
    buffer = io.BytesIO()
    tocha.save(obj, buffer, **options)
    buffer.seek(0)
    return buffer


def same(a, b):
    """Equal in type, dtype, shape and every bit."""
    assert type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape and a.requires_grad == b.requires_grad
    # NumPy has no bfloat16, of which float32 loses nothing
    a, b = [t.detach().float() if t.dtype == tocha.bfloat16 else t.detach() for t in (a, b)]
    return a.contiguous().numpy().tobytes() == b.contiguous().numpy().tobytes()


def address(tensor):
    return tensor.data_ptr()


# ---- round trips


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (5,), (2, 3, 4)])
def test_every_dtype_and_shape(name, shape, again):
    count = int(np.prod(shape))
    tensor = tocha.arange(count).reshape(shape).to(getattr(tocha, name))
    assert same(again(tensor), tensor)


def test_special_values_keep_their_bits(again):
    tensor = tocha.tensor([float("nan"), float("inf"), -0.0, 1e-45])
    assert same(again(tensor), tensor)


def test_views_keep_sharing_one_memory(again):
    base = tocha.arange(24.0)
    a, b, c = again([base, base[4:10:2], base.view(4, 6).t()])
    assert c.stride() == (1, 6) and b.stride() == (2,) and b.storage_offset() == 4
    a[4] = 100
    assert b[0] == 100 and c[4, 0] == 100
    assert address(a) == address(c)


def test_one_tensor_named_twice_is_one_tensor(again):
    tensor = tocha.ones(3)
    a, b, c = again({"a": tensor, "b": tensor, "c": tensor.detach()}).values()
    assert a is b and a is not c
    a.zero_()
    assert c.sum() == 0


def test_shared_memory_is_written_once():
    base = tocha.zeros(10_000)
    assert len(saved([base[i : i + 100] for i in range(100)]).getvalue()) < 50_000


def test_expanded_and_transposed(again):
    tensor = tocha.arange(3.0).unsqueeze(1).expand(3, 1000)
    loaded = again(tensor)
    assert loaded.stride() == (1, 0) and same(loaded, tensor)
    assert len(saved(tensor).getvalue()) < 2000


def test_memory_of_numpy_with_negative_strides_is_written_forwards(again):
    tensor = tocha.flip(tocha.arange(6.0).reshape(2, 3), (0, 1))
    assert again(tensor).tolist() == [[5.0, 4.0, 3.0], [2.0, 1.0, 0.0]]


def test_gradients_are_required_again_but_history_is_gone(again):
    leaf = tocha.arange(3.0, requires_grad=True)
    a, b = again([leaf, leaf * 2])
    assert a.requires_grad and a.is_leaf and b.requires_grad and b.is_leaf
    (a * 3).sum().backward()
    assert a.grad.tolist() == [3.0, 3.0, 3.0]


def test_parameters(again):
    parameter, frozen = nn.Parameter(tocha.ones(2)), nn.Parameter(tocha.ones(2), requires_grad=False)
    a, b = again([parameter, frozen])
    assert type(a) is nn.Parameter and a.requires_grad and type(b) is nn.Parameter and not b.requires_grad


def test_attributes_of_tensors_and_parameters(again):
    tensor, parameter = tocha.ones(2), nn.Parameter(tocha.ones(2))
    tensor.tag, parameter.tag = "a tensor", {"of": "a parameter"}
    a, b = again([tensor, parameter])
    assert a.tag == "a tensor" and b.tag == {"of": "a parameter"} and type(b) is nn.Parameter


def test_what_is_not_a_tensor(again):
    obj = {
        "size": tocha.Size([2, 3]),
        "dtypes": [tocha.bfloat16, tocha.bool, tocha.int64],
        "devices": [tocha.device("cpu"), tocha.device("cuda", 1)],
        "ordered": OrderedDict([("b", 1), ("a", 2)]),
        "counter": Counter("hello"),
        "sets": [{1, 2}, frozenset({3})],
        "bytes": [b"", b"\x00\xff", bytearray(b"ab"), bytearray()],
        "numbers": [True, None, -1, 300, 70000, 2**40, -(2**70), 0.1, float("inf"), 1 - 2j],
        "texts": ["", "ünï☃\U0001f600", "a" * 300, "\ud800"],
        ("a", 1): [(), (1,), (1, (2, [3])), {}],
    }
    loaded = again(obj)
    assert loaded == obj
    assert [type(v) for v in loaded.values()] == [type(v) for v in obj.values()]
    assert type(loaded["size"]) is tocha.Size and loaded["dtypes"][0] is tocha.bfloat16


def test_generators():
    generator = tocha.Generator().manual_seed(3)
    tocha.randn(3, generator=generator)
    loaded = tocha.load(saved(generator), weights_only=False)
    assert loaded.initial_seed() == 3 and loaded is not generator
    assert tocha.randn(5, generator=loaded).tolist() == tocha.randn(5, generator=generator).tolist()


def test_containers_that_hold_themselves(again):
    obj = [1]
    obj.append(obj)
    loaded = again(obj)
    assert loaded[1] is loaded


def test_state_dict_keeps_its_metadata(again):
    state = OrderedDict(weight=tocha.ones(2))
    state._metadata = OrderedDict({"": {"version": 1}})
    assert again(state)._metadata == state._metadata


@pytest.mark.parametrize("protocol", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("weights_only", [True, False])
def test_pickle_protocols(protocol, weights_only):
    if protocol == 1 and weights_only:
        pytest.skip("protocol 1 writes truth values as text, which weights_only does not read, PyTorch's neither")
    obj = {"a": tocha.arange(3), "b": [tocha.float32, nn.Parameter(tocha.ones(1)), "text", b"bytes", {1, 2}]}
    loaded = tocha.load(saved(obj, pickle_protocol=protocol), weights_only=weights_only)
    assert loaded["a"].tolist() == [0, 1, 2]
    assert loaded["b"][0] is tocha.float32 and type(loaded["b"][1]) is nn.Parameter
    assert loaded["b"][2:] == ["text", b"bytes", {1, 2}]


def test_one_memory_as_two_dtypes_is_refused():
    tensor = tocha.ones(4)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        tocha.save([tensor, tensor.view(tocha.int32)], io.BytesIO())


# ---- files that PyTorch wrote


def ramp(name):
    if name == "bool":
        return tocha.tensor([[False, True, False], [True, False, True]])
    if name.startswith("complex"):
        numbers = [complex(i, -float(i)) for i in range(6)]
        return tocha.tensor(numbers, dtype=getattr(tocha, name)).reshape(2, 3)
    return tocha.arange(6).reshape(2, 3).to(getattr(tocha, name))


@pytest.mark.parametrize("options", [{}, {"weights_only": False}, {"mmap": True}, {"map_location": "cpu"}])
@pytest.mark.parametrize("filename", ["zip.pt", "legacy.pt"])
def test_reading_pytorch(filename, options):
    if "mmap" in options and filename == "legacy.pt":
        with pytest.raises(RuntimeError, match="mmap can only be used"):
            tocha.load(DATA / filename, mmap=True)
        return
    loaded = tocha.load(DATA / filename, **options)
    assert set(loaded["dtypes"]) >= set(DTYPES) - {"uint16", "uint32", "uint64"}
    for name, tensor in loaded["dtypes"].items():
        assert same(tensor, ramp(name)), name
    t = loaded["tensors"]
    assert t["base"].tolist() == list(range(24)) and t["slice"].tolist() == [4, 6, 8]
    assert t["transposed"].shape == (6, 4) and t["transposed"][1].tolist() == [1, 7, 13, 19]
    assert t["expanded"].shape == (2, 1000) and t["expanded"].stride() == (1, 0)
    assert t["zero-dim"].shape == () and t["zero-dim"].item() == 7 and t["empty"].shape == (0, 3)
    assert t["requires grad"].requires_grad and t["requires grad"].dtype == tocha.float64
    assert type(t["parameter"]) is nn.Parameter and t["parameter"].tolist() == [[0, 1], [2, 3]]
    assert type(t["frozen"]) is nn.Parameter and not t["frozen"].requires_grad
    assert t["attributed"].tag == "kept"
    assert t["conjugated"].tolist() == [1 - 2j, 3 + 4j]
    with tocha.no_grad():
        t["base"][4] = -1
    assert t["slice"][0] == -1 and t["transposed"][4, 0] == -1
    o = loaded["others"]
    assert type(o["size"]) is tocha.Size and o["size"] == (2, 3) and o["dtype"] is tocha.bfloat16
    assert o["device"] == tocha.device("cuda:1") and o["ordered"] == OrderedDict([("b", 1), ("a", 2)])
    assert o["counter"] == Counter("hello") and o["set"] == {1, 2}
    assert o["bytes"] == b"\x00\xff" and o["bytearray"] == bytearray(b"ab")
    assert o["numbers"] == [True, None, -1, 300, 70000, 2**40, -(2**70), 0.1, 1 - 2j]
    assert o["nested"] == {("a", 1): [(), (1,), (1, (2, [3]))], "ünïcode": "☃"}


def test_reading_a_training_script_s_checkpoint():
    loaded = tocha.load(DATA / "training.pt")
    assert loaded["epoch"] == 2 and loaded["rng"].dtype == tocha.uint8 and loaded["rng"].shape == (5056,)
    assert list(loaded["model"]) == [
        "0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var", "1.num_batches_tracked",
    ]  # fmt: skip
    assert loaded["model"]._metadata[""] == {"version": 1}
    assert loaded["model"]["1.num_batches_tracked"].item() == 2
    state = loaded["optimizer"]
    assert state["param_groups"][0]["lr"] == 0.01 and state["param_groups"][0]["betas"] == (0.9, 0.999)
    assert list(state["state"][0]) == ["step", "exp_avg", "exp_avg_sq"] and state["state"][0]["step"].item() == 2.0


def test_a_checkpoint_of_pytorch_goes_on_in_tocha():
    loaded = tocha.load(DATA / "training.pt")
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    optimizer = tocha.optim.Adam(model.parameters(), lr=1.0)
    model.load_state_dict(loaded["model"])
    optimizer.load_state_dict(loaded["optimizer"])
    assert optimizer.param_groups[0]["lr"] == 0.01
    model(tocha.ones(4, 3)).sum().backward()
    optimizer.step()
    assert optimizer.state[model[0].weight]["step"].item() == 3.0
    again = tocha.load(saved({"model": model.state_dict(), "optimizer": optimizer.state_dict()}))
    assert same(again["model"]["0.weight"], model[0].weight.detach())


def test_a_whole_module_of_pytorch():
    with pytest.raises(pickle.UnpicklingError, match="GLOBAL tocha.nn.modules.container.Sequential was not an allowed"):
        tocha.load(DATA / "module.pt")
    model = tocha.load(DATA / "module.pt", weights_only=False)
    assert type(model) is nn.Sequential and type(model[0]) is nn.Linear and type(model[1]) is nn.ReLU
    expected = model[0].weight.detach().numpy() @ np.ones(3, "float32") + model[0].bias.detach().numpy()
    np.testing.assert_allclose(model(tocha.ones(3)).detach().numpy(), np.maximum(expected, 0), rtol=1e-5)


def test_whole_modules(again):
    model = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    loaded = again(model, weights_only=False)
    assert type(loaded[0]) is nn.Linear and same(loaded[0].weight, model[0].weight)
    allowed = [nn.Sequential, nn.Linear, nn.ReLU]
    with tocha.serialization.safe_globals(allowed):
        assert same(again(model)[0].weight, model[0].weight)


def test_sparse_tensors():
    if not hasattr(tocha, "sparse_coo_tensor"):
        with pytest.raises(RuntimeError, match="a layout that tocha does not have"):
            tocha.load(DATA / "sparse.pt")
        pytest.skip("tocha has no sparse tensors yet")
    loaded = tocha.load(DATA / "sparse.pt")
    assert loaded["layout"] is tocha.sparse_coo and loaded["eye"].layout is tocha.sparse_coo
    for tensor in (loaded["eye"], tocha.load(saved(loaded))["eye"]):
        assert tensor.to_dense().tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]


def test_hooks_are_left_behind_with_a_warning():
    leaf = tocha.ones(2, requires_grad=True)
    leaf.register_hook(lambda grad: grad * 2)
    with pytest.warns(UserWarning, match="backward hook .* on tensor will not be serialized"):
        buffer = saved(leaf)
    loaded = tocha.load(buffer)
    loaded.sum().backward()
    assert loaded.grad.tolist() == [1.0, 1.0]


def test_space_left_for_data_reads_as_zeros():
    assert tocha.load(DATA / "blank.pt")["blank"].tolist() == [0.0, 0.0, 0.0]


# ---- what may be named


def test_unsafe_names_are_refused_and_told():
    buffer = saved([fractions.Fraction(1, 3), tocha.ones(1)])
    with pytest.raises(pickle.UnpicklingError, match="GLOBAL fractions.Fraction was not an allowed global by default"):
        tocha.load(buffer)
    unsafe = tocha.serialization.get_unsafe_globals_in_checkpoint
    assert unsafe(saved(fractions.Fraction(1, 3))) == ["fractions.Fraction"]
    assert unsafe(saved(nn.Parameter(tocha.ones(1)))) == []
    assert unsafe(DATA / "module.pt") == [
        "tocha.nn.modules.container.Sequential", "tocha.nn.modules.linear.Linear", "tocha.nn.modules.activation.ReLU",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="Expected input to be a checkpoint"):
        unsafe(DATA / "legacy.pt")
    assert tocha.load(saved(fractions.Fraction(1, 3)), weights_only=False) == fractions.Fraction(1, 3)


@pytest.mark.parametrize("protocol", [2, 4])
def test_unsafe_names_of_each_protocol(protocol):
    buffer = saved([fractions.Fraction(1, 3), fractions.Fraction(1, 4)], pickle_protocol=protocol)
    assert tocha.serialization.get_unsafe_globals_in_checkpoint(buffer) == ["fractions.Fraction"]


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y


class Guarded(Point):
    __slots__ = ("z",)

    def __getstate__(self):
        return {"x": self.x}

    def __setstate__(self, state):
        self.x, self.y = state["x"], "set"


def test_safe_globals():
    assert tocha.serialization.get_safe_globals() == []
    point = Point(1, tocha.ones(2))
    with pytest.raises(pickle.UnpicklingError):
        tocha.load(saved(point))
    with tocha.serialization.safe_globals([Point, Guarded]):
        assert tocha.serialization.get_safe_globals() == [Point, Guarded]
        loaded, guarded = tocha.load(saved([point, Guarded(1, 2)]))
        assert loaded.x == 1 and loaded.y.tolist() == [1.0, 1.0] and (guarded.x, guarded.y) == (1, "set")
    assert tocha.serialization.get_safe_globals() == []
    with tocha.serialization.safe_globals([(Guarded, f"{Point.__module__}.Point")]):
        assert type(tocha.load(saved(Point(1, 2)))) is Guarded
    tocha.serialization.add_safe_globals([Point])
    assert tocha.load(saved(point)).x == 1
    tocha.serialization.clear_safe_globals()
    with pytest.raises(pickle.UnpicklingError):
        tocha.load(saved(point))


class Names(list):
    pass


def test_safe_globals_that_are_containers(again):
    obj = [Names("ab"), defaultdict(list, a=[1])]
    with tocha.serialization.safe_globals([Names, defaultdict, list]):
        loaded = again(obj)
    assert loaded == obj and type(loaded[0]) is Names and type(loaded[1]) is defaultdict


@pytest.mark.parametrize("bad, error", [((Point, "a", "b"), ValueError), ((Point, 1), TypeError)])
def test_safe_globals_that_are_wrong(bad, error):
    with tocha.serialization.safe_globals([bad]), pytest.raises(error):
        tocha.load(saved(1))


class Tagged(tocha.Tensor):
    pass


def test_subclasses_of_tensor(again):
    tensor = tocha.arange(3.0).as_subclass(Tagged)
    tensor.tag = "x"
    with pytest.raises(pickle.UnpicklingError, match="Tagged was not an allowed global"):
        again(tensor)
    with tocha.serialization.safe_globals([Tagged]):
        loaded = again(tensor)
    assert type(loaded) is Tagged and loaded.tag == "x" and loaded.tolist() == [0.0, 1.0, 2.0]


def test_functions_and_classes_by_reference(again):
    obj = [nn.functional.relu, nn.Linear, fractions.Fraction, same, tocha.tanh, tocha.Tensor]
    assert again(obj, weights_only=False) == obj


def test_modules_of_pickle():
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        tocha.load(saved(1), pickle_module=pickle, weights_only=True)
    assert tocha.load(saved(fractions.Fraction(1, 3)), pickle_module=pickle) == fractions.Fraction(1, 3)

    class Pickler(pickle.Pickler):
        def reducer_override(self, obj):
            return (int, ("7",)) if isinstance(obj, fractions.Fraction) else NotImplemented

    module = types.SimpleNamespace(Pickler=Pickler, Unpickler=pickle.Unpickler, dumps=pickle.dumps, __name__="other")
    buffer = saved([fractions.Fraction(1, 3), nn.Parameter(tocha.ones(2)), tocha.float32], pickle_module=module)
    loaded = tocha.load(buffer, pickle_module=module)
    assert loaded[0] == 7 and type(loaded[1]) is nn.Parameter and loaded[2] is tocha.float32


def test_environment_variables(monkeypatch):
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(pickle.UnpicklingError):
        tocha.load(saved(fractions.Fraction(1, 3)), weights_only=False)
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "yes")
    with pytest.raises(RuntimeError, match="Only one of"):
        tocha.load(saved(1))
    monkeypatch.delenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD")
    with pytest.warns(UserWarning, match="forcing weights_only=False"):
        assert tocha.load(saved(fractions.Fraction(1, 3))) == fractions.Fraction(1, 3)
    with pytest.raises(pickle.UnpicklingError):
        tocha.load(saved(fractions.Fraction(1, 3)), weights_only=True)


def test_arguments_for_the_unpickler():
    with pytest.warns(UserWarning, match="only works if `weights_only=False`"):
        tocha.load(saved(1), errors="strict")
    assert tocha.load(saved({"a": 1}), weights_only=False, encoding="latin1", errors="strict") == {"a": 1}


def python2(text):
    """A file of the old format as Python 2 wrote it, with a string of bytes for a key."""
    key, name = b"T" + struct.pack("<I", len(text)) + text, b"U\x07storage"
    storage = b"(" + name + b"ctorch\nFloatStorage\nU\x0293U\x03cpuK\x02NtQ"
    hooks = b"ccollections\nOrderedDict\n]\x85R"
    tensor = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00K\x02\x85K\x01\x85\x89" + hooks + b"tR"
    parts = [pickle.dumps(0x1950A86A20F9469CFC6C, 2), pickle.dumps(1001, 2), pickle.dumps({}, 2)]
    body = b"\x80\x02}" + key + tensor + b"s."
    return b"".join([*parts, body, b"\x80\x02]U\x0293a.", struct.pack("<q2f", 2, 1.5, 2.5)])


@pytest.mark.parametrize("weights_only", [True, False])
def test_strings_of_python_2(weights_only):
    def load(text, **options):
        return tocha.load(io.BytesIO(python2(text)), weights_only=weights_only, **options)

    assert load(b"weight")["weight"].tolist() == [1.5, 2.5]
    assert list(load(b"\xe9", encoding="latin1")) == ["\xe9"]
    assert list(load(b"\xe9", encoding="bytes")) == [b"\xe9"]
    with pytest.raises((pickle.UnpicklingError, UnicodeDecodeError)):
        load(b"\xe9")


def test_source_of_modules_in_the_old_format():
    code = Point.__module__.encode()
    body = b"\x80\x02(X\x06\x00\x00\x00modulec" + code + b"\nPoint\nX\x04\x00\x00\x00f.pyX\x04\x00\x00\x00passtQ."
    parts = [pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, {})]
    data = b"".join([*parts, body, pickle.dumps([], 2)])
    with pytest.warns(tocha.serialization.SourceChangeWarning, match="Point' has changed"):
        assert tocha.load(io.BytesIO(data), weights_only=False) is Point


def test_versions_of_modules():
    check = tocha.serialization.check_module_version_greater_or_equal
    module = types.SimpleNamespace(__name__="m", __version__="1.2.10")
    assert check(module, (1, 2, 9)) and check(module, (1, 2)) and not check(module, (1, 3))
    module.__version__ = "x"
    with pytest.raises(RuntimeError, match="malformed"):
        check(module, (1, 2))
    with pytest.warns(UserWarning, match="malformed"):
        assert check(module, (1, 2), error_if_malformed=False)
