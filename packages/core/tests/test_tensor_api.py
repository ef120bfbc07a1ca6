"""The rest of the ``torch`` and ``torch.Tensor`` namespaces: storages, exchange, in-place shapes, settings."""

from __future__ import annotations

import copy
import os
import pickle
import warnings
from collections.abc import Callable

import numpy as np
import pytest

import tocha

# ---------------------------------------------------------------- storages


def test_views_share_one_storage() -> None:
    x = tocha.arange(6.0).reshape(2, 3)
    y = x[1:, 1:]
    assert y.untyped_storage().data_ptr() == x.data_ptr() and y.storage_offset() == 4
    assert y.data_ptr() - y.untyped_storage().data_ptr() == 4 * 4
    assert x.untyped_storage().nbytes() == y.untyped_storage().nbytes() == 24
    assert x.untyped_storage() == y.untyped_storage() and x.untyped_storage() != tocha.ones(1).untyped_storage()
    as_bytes = x.view(tocha.uint8)[1, 4:]
    assert as_bytes.storage_offset() == 16 and as_bytes.untyped_storage().nbytes() == 24
    image = tocha.ones(1, 2, 3, 4).contiguous(memory_format=tocha.channels_last)
    assert image[0, 1].storage_offset() == 1 and image.untyped_storage().nbytes() == 96


def test_storage_reads_and_writes_the_memory() -> None:
    x = tocha.tensor([1, 2], dtype=tocha.int16)
    s = x.untyped_storage()
    assert (s.tolist(), s[2], s[1:3].tolist(), len(s), s.element_size()) == ([1, 0, 2, 0], 2, [0, 2], 4, 1)
    s[0] = 7
    assert x.tolist() == [7, 2]
    s.copy_(tocha.tensor([3, 4], dtype=tocha.int16).untyped_storage())
    assert x.tolist() == [3, 4]
    s.fill_(0)
    assert x.tolist() == [0, 0]
    assert s.clone().data_ptr() != s.data_ptr() and str(s.device) == "cpu" and s.get_device() == -1
    with pytest.raises(RuntimeError, match="not resizable"):
        s.resize_(8)
    own = tocha.UntypedStorage([1, 2])
    assert own.resize_(3).nbytes() == 3 and own.tolist()[:2] == [1, 2]
    assert repr(own[:2]) == " 1\n 2\n[tocha.storage.UntypedStorage(device=cpu) of size 2]"
    assert tocha.ones(3, device="meta").untyped_storage().nbytes() == 12
    with pytest.raises(RuntimeError, match="sizes must be equal"):
        own.copy_(s)


def test_typed_storage_warns_and_counts_elements() -> None:
    x = tocha.tensor([1.0, 2.0, 3.0])
    with pytest.warns(UserWarning, match="TypedStorage is deprecated"):
        s = x[1:].storage()
    assert (s.tolist(), s.size(), s.nbytes(), s.dtype) == ([1.0, 2.0, 3.0], 3, 12, tocha.float32)
    s[1] = 9.0
    assert x.tolist() == [1, 9, 3]
    assert tocha.is_storage(s) and tocha.is_storage(s.untyped()) and not tocha.is_storage(x)


def test_set_takes_storages() -> None:
    source = tocha.arange(4.0)
    x = tocha.zeros(1).set_(source.untyped_storage(), 1, (2,), (1,))
    assert x.tolist() == [1, 2]
    x[0] = 8
    assert source.tolist() == [0, 8, 2, 3]
    assert tocha.zeros(1).set_(source.untyped_storage()).shape == (4,)


# ---------------------------------------------------------------- exchange


def test_dlpack_shares_memory_both_ways() -> None:
    a = np.arange(4)
    x = tocha.from_dlpack(a)
    x[0] = 9
    assert a[0] == 9
    y = tocha.arange(3)
    b = np.from_dlpack(y)
    y[1] = 7
    assert b.tolist() == [0, 7, 2]
    z = tocha.from_dlpack(tocha.to_dlpack(y))
    z[0] = 5
    assert y[0].item() == 5
    assert tocha.from_dlpack(y, copy=True).data_ptr() != y.data_ptr()
    assert tuple(map(int, y.__dlpack_device__())) == (1, 0)
    with pytest.raises(BufferError, match="use tensor.detach"):
        tocha.ones(1, requires_grad=True).__dlpack__()
    with pytest.raises(TypeError, match="__dlpack__"):
        tocha.from_dlpack(3)


def test_frombuffer() -> None:
    memory = bytearray(np.arange(4, dtype=np.int32).tobytes())
    x = tocha.frombuffer(memory, dtype=tocha.int32, count=2, offset=4)
    assert x.tolist() == [1, 2]
    x[0] = 6
    assert np.frombuffer(memory, np.int32)[1] == 6
    assert tocha.frombuffer(memory, dtype=tocha.float32, requires_grad=True).requires_grad
    with pytest.warns(UserWarning, match="not writable"):
        tocha.frombuffer(b"ab", dtype=tocha.uint8)
    for arguments, message in (
        ((b"",), "must not be 0"),
        ((bytearray(5),), "multiple of element size"),
        ((bytearray(4), 2), "must not be greater"),
        ((bytearray(4), -1, 4), "must be non-negative"),
        ((3,), "buffer protocol"),
    ):
        with pytest.raises(ValueError, match=message):
            tocha.frombuffer(arguments[0], dtype=tocha.int32, **dict(zip(("count", "offset"), arguments[1:])))


def test_numpy_functions_give_tensors() -> None:
    x = tocha.tensor([1.0, 4.0])
    assert isinstance(np.sqrt(x), tocha.Tensor) and np.sqrt(x).tolist() == [1, 2]
    assert np.greater(x, 2).dtype == tocha.uint8, "as PyTorch answers NumPy"


def test_copy_pickle_and_subclasses() -> None:
    x = tocha.ones(2, requires_grad=True)
    shallow = copy.copy(x)
    assert shallow.data_ptr() == x.data_ptr() and shallow.requires_grad
    again = pickle.loads(pickle.dumps(x * 2))
    assert again.requires_grad and again.is_leaf and again.tolist() == [2, 2]

    class Named(tocha.Tensor):
        pass

    y = (x * 3).as_subclass(Named)
    assert type(y) is Named and y.grad_fn is not None
    y.sum().backward()
    assert x.grad.tolist() == [3, 3]
    with pytest.raises(TypeError, match="inherit from Tensor"):
        x.as_subclass(int)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="shared memory is inherited by forked processes only")
def test_shared_memory_is_seen_by_forked_processes() -> None:
    x = tocha.arange(6.0).reshape(2, 3).t()
    assert not x.is_shared() and x.share_memory_() is x and x.is_shared() and x[1:].is_shared()
    assert x.tolist() == [[0, 3], [1, 4], [2, 5]] and x.stride() == (1, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        x[0, 1] = 42.0
        os._exit(0)
    os.waitpid(child, 0)
    assert x[0, 1].item() == 42


def test_pinned_memory_needs_a_gpu() -> None:
    x = tocha.ones(2)
    assert not x.is_pinned()
    if not tocha.cuda.is_available():
        with pytest.raises(RuntimeError, match="CuPy|CUDA"):
            x.pin_memory()


# ---------------------------------------------------------------- in place


def test_shapes_in_place_keep_memory_and_history() -> None:
    x = tocha.zeros(2, 1, 3)
    address = x.data_ptr()
    assert x.squeeze_().shape == (2, 3) and x.t_().shape == (3, 2) and x.unsqueeze_(0).shape == (1, 3, 2)
    assert x.transpose_(0, 2).shape == (2, 3, 1) and x.swapaxes_(0, 1).shape == (3, 2, 1) and x.data_ptr() == address
    leaf = tocha.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = leaf * 1
    y.t_()
    y[0].mul_(10)
    (g,) = tocha.autograd.grad(y.sum(), leaf)
    assert g.tolist() == [[10, 1], [10, 1]]
    z = leaf * 1
    z[:1].t_().mul_(3)
    (g,) = tocha.autograd.grad(z.sum(), leaf)
    assert g.tolist() == [[3, 3], [1, 1]]
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        leaf.t_()


def test_functions_of_elements_in_place() -> None:
    assert tocha.tensor([1, 2]).apply_(lambda v: v * 10).tolist() == [10, 20]
    assert tocha.ones(2, 2).map_(tocha.tensor([1.0, 2.0]), lambda a, b: a + b).tolist() == [[2, 3], [2, 3]]
    assert tocha.ones(2).map2_(tocha.tensor([1.0, 2.0]), tocha.ones(2), lambda a, b, c: a + b + c).tolist() == [3, 4]
    with pytest.raises(RuntimeError, match=r"Can't call apply_\(\) on Variable that requires grad"):
        tocha.ones(1, requires_grad=True).apply_(abs)
    with pytest.raises(TypeError, match="expected torch.FloatTensor"):
        tocha.ones(2).map_(tocha.ones(2, dtype=tocha.float64), lambda a, b: a)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("exp_", (), np.e),
        ("neg_", (), -1),
        ("acos_", (), 0),
        ("sigmoid_", (), 1 / (1 + np.exp(-1))),
        ("ldexp_", (tocha.tensor(2),), 4),
        ("xlogy_", (tocha.tensor(np.e),), 1),
        ("round_", (), 1),
        ("deg2rad_", (), np.pi / 180),
    ],
)
def test_in_place_functions_of_the_namespace(name: str, arguments: tuple, expected: float) -> None:
    x = tocha.ones(2)
    assert getattr(tocha, name)(x, *arguments) is x and x.tolist() == pytest.approx([expected] * 2)
    with pytest.raises(TypeError, match="must be Tensor, not int"):
        getattr(tocha, name)(3, *arguments)


def test_resize_keeps_the_number_of_elements() -> None:
    assert tocha.arange(4).resize(2, 2).tolist() == [[0, 1], [2, 3]]
    assert tocha.arange(4).resize_as(tocha.ones(4, 1)).shape == (4, 1)
    with pytest.raises(RuntimeError, match=r"requested resize to 2 \(2 elements in total\)"):
        tocha.arange(3).resize(2)


# ---------------------------------------------------------------- facts and old names


def test_facts_of_dense_tensors() -> None:
    x = tocha.ones(2, 3)
    assert x.layout is tocha.strided and not x.is_sparse and not x.is_quantized and x.output_nr == 0 and x.name is None
    assert x.to_dense() is x and x.to_dense(tocha.float64).dtype == tocha.float64
    assert x.t().dim_order() == (1, 0) and x.is_set_to(x.view(2, 3)) and not x.is_set_to(x.t())
    packed, pivots = tocha.tensor([[0.0, 1.0], [1.0, 0.0]]).lu()
    assert packed.tolist() == [[1, 0], [0, 1]] and pivots.tolist() == [2, 2]


def test_typed_constructors() -> None:
    assert tocha.FloatTensor([1, 2]).tolist() == [1, 2] and tocha.LongTensor(2, 3).dtype == tocha.int64
    assert tocha.LongTensor([1.5]).tolist() == [1] and tocha.BoolTensor([0, 2]).tolist() == [False, True]
    assert isinstance(tocha.ones(1), tocha.FloatTensor) and not isinstance(tocha.ones(1), tocha.LongTensor)
    assert tocha.ones(1).type(tocha.LongTensor).dtype == tocha.int64
    x = tocha.ones(2, dtype=tocha.int32)
    assert x.new(2, 3).shape == (2, 3) and x.new([1, 2]).dtype == tocha.int32 and x.new().shape == (0,)
    with pytest.raises(TypeError, match="expected a tensor of dtype"):
        tocha.FloatTensor(x)


def test_raw_signatures_take_numbers_for_reductions() -> None:
    x, t = tocha.tensor([0.0, 1.0]), tocha.tensor([1.0, 0.0])
    losses = tocha.binary_cross_entropy_with_logits(x, t)
    assert losses.shape == (2,)
    for number, kind in ((1, "mean"), (2, "sum")):
        want = tocha.nn.functional.binary_cross_entropy_with_logits(x, t, reduction=kind)
        assert tocha.binary_cross_entropy_with_logits(x, t, reduction=number).item() == want.item()
    with pytest.raises(ValueError, match="not a valid value for reduction"):
        tocha.kl_div(x, t, 3)
    weight = tocha.eye(3)
    assert tocha.embedding(weight, tocha.tensor([2])).tolist() == [[0, 0, 1]]
    out, bags, sizes, _ = tocha.embedding_bag(weight, tocha.tensor([0, 2, 1]), tocha.tensor([0, 1]), mode=1)
    assert out.tolist() == [[1, 0, 0], [0, 0.5, 0.5]] and bags.tolist() == [0, 1, 1] and sizes.tolist() == [1, 2]


def test_vander_and_slice_copy() -> None:
    assert tocha.vander(tocha.tensor([2, 3])).tolist() == [[2, 1], [3, 1]]
    assert tocha.vander(tocha.tensor([2, 3]), 3, increasing=True).tolist() == [[1, 2, 4], [1, 3, 9]]
    assert tocha.vander(tocha.tensor([2, 3]), 0).shape == (2, 0)
    x = tocha.arange(6).reshape(2, 3)
    part = tocha.slice_copy(x, 1, 0, 3, 2)
    assert part.tolist() == [[0, 2], [3, 5]] and part.untyped_storage() != x.untyped_storage()


def test_control_flow() -> None:
    x = tocha.ones(1, requires_grad=True)
    tocha.cond(x.sum() > 0, lambda t: t * 2, lambda t: t * 3, (x,)).backward()
    assert x.grad.tolist() == [2]
    assert tocha.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + i), (0, tocha.tensor(0)))[1].item() == 3
    with pytest.raises(RuntimeError, match="single-element tensor"):
        tocha.cond(tocha.ones(2), lambda: 0, lambda: 1)
    with pytest.raises(RuntimeError, match="should return 2 values"):
        tocha.while_loop(lambda i, s: True, lambda i, s: (i,), (0, 1))


# ---------------------------------------------------------------- the meta device


META: list[Callable[[], tocha.Tensor]] = [
    lambda: tocha.empty(2, 3, device="meta"),
    lambda: tocha.empty_strided((2, 3), (3, 1), device="meta"),
    lambda: tocha.zeros(2, 3, device="meta") + 1,
    lambda: tocha.rand(2, 3, device="meta"),
    lambda: tocha.full((2, 3), 1.0, device="meta"),
    lambda: tocha.ones_like(tocha.ones(2, 3), device="meta"),
    lambda: tocha.empty(1, device="meta").new_zeros(2, 3),
    lambda: tocha.randn(2, 3, device="meta") @ tocha.ones(3, 3, device="meta"),
    lambda: tocha.nn.Linear(3, 2, device="meta").weight.detach(),
    lambda: tocha.ones(2, 3).to("meta"),
    lambda: tocha.tensor([[1.0, 2, 3]] * 2, device="meta"),
]


@pytest.mark.parametrize("case", range(len(META)))
def test_factories_on_the_meta_device(case: int) -> None:
    made = META[case]()
    assert made.shape == (2, 3) and made.device.type == "meta" and made.dtype == tocha.float32
    assert repr(made) == "tensor(..., device='meta', size=(2, 3))"


def test_permutations_on_the_meta_device() -> None:
    assert repr(tocha.randperm(3, device="meta")) == "tensor(..., device='meta', size=(3,), dtype=tocha.int64)"


# ---------------------------------------------------------------- settings


def test_threads() -> None:
    before = tocha.get_num_threads()
    try:
        tocha.set_num_threads(1)
        assert tocha.get_num_threads() == 1
    finally:
        tocha.set_num_threads(before)
    assert tocha.get_num_interop_threads() >= 1
    for bad, message in ((0, "positive integer"), ("a", "expects an int")):
        with pytest.raises(RuntimeError, match=message):
            tocha.set_num_threads(bad)


def test_determinism_and_precision() -> None:
    try:
        tocha.use_deterministic_algorithms(True, warn_only=True)
        assert tocha.are_deterministic_algorithms_enabled() and tocha.is_deterministic_algorithms_warn_only_enabled()
        assert tocha.get_deterministic_debug_mode() == 1
        tocha.set_deterministic_debug_mode("error")
        assert tocha.get_deterministic_debug_mode() == 2
    finally:
        tocha.use_deterministic_algorithms(False)
    assert tocha.get_deterministic_debug_mode() == 0
    for call, kind, message in (
        (lambda: tocha.set_deterministic_debug_mode("x"), RuntimeError, "expected one of `default`"),
        (lambda: tocha.use_deterministic_algorithms(1), TypeError, "must be bool, not int"),
        (lambda: tocha.set_float32_matmul_precision("low"), RuntimeError, "expected one of `highest`"),
        (lambda: tocha.set_warn_always(1), RuntimeError, "expects a bool"),
        (lambda: tocha.get_device_module(3), RuntimeError, "Invalid value of device"),
    ):
        with pytest.raises(kind, match=message):
            call()
    tocha.set_float32_matmul_precision("high")
    assert tocha.get_float32_matmul_precision() == "high"
    tocha.set_float32_matmul_precision("highest")
    assert tocha.get_device_module("cpu") is tocha.cpu and tocha.cpu.device_count() == 1


def test_default_tensor_type() -> None:
    try:
        tocha.set_default_tensor_type(tocha.DoubleTensor)
        assert tocha.ones(1).dtype == tocha.float64
    finally:
        tocha.set_default_tensor_type("torch.FloatTensor")
    assert tocha.ones(1).dtype == tocha.float32
    with pytest.raises(TypeError, match="only floating-point types"):
        tocha.set_default_tensor_type(tocha.LongTensor)
