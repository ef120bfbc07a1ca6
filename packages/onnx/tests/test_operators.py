"""Operators with a dynamic batch (and another dimension where they have one), at several sizes, in four opsets."""

from __future__ import annotations

import numpy as np
import pytest

import tocha
from tocha.nn import functional as F
from tocha.onnx.tracing import OPS
from tocha_onnx import registry
from tocha_onnx.lower import NEWEST_OPSET

OPSETS = (17, 18, 21, NEWEST_OPSET)


@pytest.fixture(autouse=True)
def seed():
    tocha.manual_seed(0)


def floats(*shape):
    return tocha.randn(*shape)


def positive(*shape):
    return tocha.rand(*shape) + 0.1


def ints(*shape, low=-9, high=9):
    return tocha.randint(low, high, shape)


NB = {0: "n", 1: "m"}
HW = {0: "n", 2: "h", 3: "w"}

# name: (function, example arguments, dynamic dimensions of each)
CASES = {
    "arithmetic": (lambda x, y: (x + y, x - y, x * y, x / y, -x, x + 2, 3 - x, x @ y.mT), (floats(3, 4), floats(3,
    4)), (NB, NB)),
    "broadcasting": (lambda x, y: x * y + y[0], (floats(3, 4), floats(3, 1)), (NB, {0: "n"})),
    "comparison": (lambda x, y: (x < y, x <= y, x > y, x >= y, x == y, x != y), (ints(3, 4), ints(3, 4)), (NB, NB)),
    "integers": (lambda x, y: (x // y, x % y, x**2, abs(x), x.sign(), x >> 1, x << 2, ~x),
                 (ints(3, 4), ints(3, 4, low=1)), (NB, NB)),
    "small integers": (lambda x: (x + x, x * 2, x.sum(0), x.amax(1), x.float(), x > 1), (ints(3, 4).to(tocha.int8),),
    (NB,)),
    "booleans": (lambda x, y: (x & y, x | y, x ^ y, ~x, x.any(1), x.all(0), x.sum()),
                 (ints(3, 4) > 0, ints(3, 4) > 2), (NB, NB)),
    "unary": (lambda x: [getattr(x, name)() for name in (
        "exp", "expm1", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "asinh", "sigmoid", "erf", "erfc",
        "floor", "ceil",
        "round", "trunc", "frac", "abs", "sign", "neg", "relu", "square", "exp2", "sinc", "isnan", "isinf", "isfinite",
        "signbit", "deg2rad")], (floats(3, 4),), (NB,)),
    "logarithms": (lambda x: (x.log(), x.log2(), x.log10(), x.log1p(), x.sqrt(), x.rsqrt(), x.reciprocal(), x**1.5),
                   (positive(3, 4),), (NB,)),
    "pairs": (lambda x, y: (tocha.maximum(x, y), tocha.minimum(x, y), tocha.fmax(x, y), tocha.atan2(x, y),
    tocha.hypot(x, y),
                            tocha.logaddexp(x, y), tocha.fmod(x, y), tocha.remainder(x, y), tocha.copysign(x, y)),
              (floats(3, 4), floats(3, 4)), (NB, NB)),
    "activations": (lambda x: (F.leaky_relu(x), F.elu(x), F.selu(x), F.celu(x, 1.5), F.softplus(x), F.gelu(x),
    F.silu(x),
                               F.gelu(x, approximate="tanh"), F.hardtanh(x), F.hardswish(x), F.hardsigmoid(x),
                               F.mish(x),
                               F.logsigmoid(x), F.softshrink(x), F.hardshrink(x), F.relu6(x), F.softmax(x, 1),
                               F.log_softmax(x, 0)), (floats(3, 4),), (NB,)),
    "choosing": (lambda x, y: (tocha.where(x > 0, x, y), x.clamp(-1, 1), x.clamp(min=0), tocha.clamp(x, y, y + 1)),
                 (floats(3, 4), floats(3, 4)), (NB, NB)),
    "reductions": (lambda x: (x.sum(), x.sum(1), x.mean(0, keepdim=True), x.prod(1), x.amax(0), x.amin(1), x.var(1),
    x.std(0),
                              x.logsumexp(1), x.norm(dim=1), x.max(1), x.min(0)), (floats(4, 5),),
                   ({0: tocha.onnx.Dim("n", min=2), 1: tocha.onnx.Dim("m", min=2)},)),
    "places": (lambda x: (x.argmax(1), x.argmin(0, keepdim=True), x.argmax(), x.sort(1), x.argsort(0, descending=True),
                          x.topk(2, 1), x.median(1), x.kthvalue(2, 1)), (floats(3, 4),), ({0: "n"},)),
    "running": (lambda x: (x.cumsum(1), x.cumprod(0), x.cummax(1), x.cummin(0), x.logcumsumexp(1)), (floats(3, 4),),
    (NB,)),
    "views": (lambda x: (x.reshape(-1), x.view(x.shape[0], 2, -1), x.t(), x.unsqueeze(1), x.expand(2, -1, -1),
    x.flatten(),
                         x[:, None, ::2], x[..., -1], x[1:], x[:, 1:3], x[-1:, -2:], x.flip(1), x.roll(1, 0)),
              (floats(3, 4),), ({0: "n"},)),
    "joining": (lambda x, y: (tocha.cat((x, y)), tocha.stack((x, x), 1), tocha.cat((x, x), 1)), (floats(3, 4),
    floats(2, 4)),
                ({0: "n"}, {0: "k"})),
    "splitting": (lambda x: (*x.split(2, 1), *x.chunk(2, 1), *x.unbind(1)), (floats(3, 4),), ({0: "n"},)),
    "triangles": (lambda x: (x.tril(), x.triu(1), x.tril(-1), x.diagonal(), tocha.diag_embed(x)), (floats(3, 4),),
    (NB,)),
    "windows": (lambda x: x.unfold(1, 3, 2), (floats(3, 8),), (NB,)),
    "creation": (lambda x: (tocha.arange(x.shape[0]), tocha.zeros(x.shape[0], 2), tocha.full((2, x.shape[1]), 1.5),
                            tocha.eye(x.shape[0]), tocha.zeros_like(x), tocha.ones_like(x), x.new_full((2,), 3.0),
                            x * x.shape[0] + x.shape[1] / 2), (floats(3, 4),), (NB,)),
    "gathering": (lambda x, i, r: (x.gather(1, i), x.index_select(0, r), x[r], x[r - 1], x[:, i[0]], x[r, i[:, 0]],
                                   x[r[:, None], i], x[i * 0, i], tocha.take_along_dim(x, i, 1)),
                  (floats(3, 4), ints(3, 2, low=0, high=4), ints(3, low=0, high=1)), ({0: "n"}, {0: "n"}, {0: "n"})),
    "scattering": (lambda x, i, s, r: (x.scatter(1, i, s), x.scatter_add(1, i, s), x.index_add(1, i[0], s),
                                       x.index_add(0, r, x * 2), x.masked_fill(x > 0, 2.0),
                                       x.index_put((r, i[:, 0]), s[:, 0], accumulate=True)),
                   (floats(3, 4), tocha.tensor([[0, 3], [2, 1], [1, 0]]), floats(3, 2), ints(3, low=0, high=1)),
                   ({0: "n"}, {0: "n"}, {0: "n"}, {0: "n"})),
    "matrices": (lambda x, y: (x @ y, tocha.bmm(x, y), tocha.einsum("nij,njk->nik", x, y), x @ y[0], x[0] @ y[0, :, 0]),
                 (floats(3, 4, 5), floats(3, 5, 2)), ({0: "n"}, {0: "n"})),
    "linear": (lambda x, w, c: (F.linear(x, w, c), F.linear(x[:, None], w), F.linear(x[0], w, c)),
               (floats(3, 4), floats(5, 4), floats(5)), ({0: "n"}, None, None)),
    "embedding": (lambda i, w: F.embedding(i, w, padding_idx=1), (ints(3, 4, low=0, high=6), floats(7, 5)), (NB, None)),
    "convolution": (lambda x, w: (F.conv2d(x, w, padding=1), F.conv2d(x, w, stride=2, dilation=2, padding=2),
                                  F.conv2d(x, w[:, :1], groups=2, padding="same"), F.conv_transpose2d(x, w[:2],
                                  stride=2,
                                  output_padding=1)), (floats(2, 2, 7, 8), floats(4, 2, 3, 3)), (HW, None)),
    "pools": (lambda x: (F.max_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 2,
    count_include_pad=False),
                         F.adaptive_avg_pool2d(x, 1), F.adaptive_max_pool2d(x, 1), F.lp_pool2d(x, 2, 2)),
              (positive(2, 3, 8, 9),), (HW,)),
    "pools with a ceiling": (lambda x: (F.max_pool2d(x, 3, 2, 1, ceil_mode=True), F.avg_pool2d(x, 3, 2, 1,
    ceil_mode=True),
                                        F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False),
                                        F.avg_pool2d(x, 2, divisor_override=3),
                                        *F.max_pool2d(x, 2, return_indices=True), F.adaptive_avg_pool2d(x, (3, 4))),
                             (floats(2, 3, 8, 9),), ({0: "n"},)),
    "normalisation": (lambda x, w: (F.layer_norm(x, (4,), w, w), F.group_norm(x, 2), F.instance_norm(x),
    F.rms_norm(x, (4,)),
                                    F.batch_norm(x, w[:2], w[:2].abs() + 1, w[:2], w[:2]), F.normalize(x, dim=1)),
                      (floats(3, 2, 4), positive(4)), ({0: "n"}, None)),
    "losses": (lambda x, t, y: (F.cross_entropy(x, t), F.cross_entropy(x, t, reduction="none", ignore_index=1),
    F.nll_loss(x, t),
                                F.mse_loss(x, y), F.l1_loss(x, y), F.smooth_l1_loss(x, y, beta=0.5), F.huber_loss(x, y),
                                F.binary_cross_entropy_with_logits(x, y.sigmoid())),
               (floats(4, 3), ints(4, low=0, high=3), floats(4, 3)), ({0: "n"}, {0: "n"}, {0: "n"})),
    "attention": (lambda q, k: (F.scaled_dot_product_attention(q, k, k), F.scaled_dot_product_attention(q, q, q,
    is_causal=True),
                                F.scaled_dot_product_attention(q, k, k, attn_mask=q @ k.mT > 0)),
                  (floats(2, 3, 4, 5), floats(2, 3, 6, 5)), ({0: "n", 2: "q"}, {0: "n", 2: "k"})),
    "padding": (lambda x: (F.pad(x, (1, 2)), F.pad(x, (1, -1, 2, 0), value=3.0), F.pad(x, (2, 1), mode="reflect"),
                           F.pad(x, (1, 3), mode="replicate"), F.pad(x, (2, 1), mode="circular")), (floats(2, 3, 5),),
                ({0: "n", 2: tocha.onnx.Dim("t", min=3)},)),
    "resizing": (lambda x: (F.interpolate(x, scale_factor=2), F.interpolate(x, size=(5, 7), mode="bilinear"),
                            F.interpolate(x, size=(1, 1), mode="bilinear"), F.interpolate(x, scale_factor=2,
                            mode="bicubic"),
                            F.interpolate(x, size=(5, 7), mode="bilinear", align_corners=True),
                            F.interpolate(x, size=(5, 7), mode="nearest-exact")), (floats(2, 3, 4, 6),), (HW,)),
    "resizing fixed images": (lambda x: (F.interpolate(x, size=(64, 64)), F.interpolate(x, scale_factor=0.6,
    mode="bilinear"),
                                         F.interpolate(x, size=(9, 30), mode="bicubic", antialias=True),
                                         F.interpolate(x, size=(7, 8), mode="area")), (floats(2, 3, 26, 26),),
                                         ({0: "n"},)),
    "powers": (lambda x, y: (x**y, x**3, 2**y), (ints(3, 4), ints(3, 4, low=0)), (NB, NB)),
    "searching": (lambda e, x: (tocha.searchsorted(e, x), tocha.bucketize(x, e, right=True)),
                  (tocha.tensor([-1.0, 0.0, 0.5]), floats(3, 4)), (None, NB)),
    "one-hot": (lambda i: (F.one_hot(i, 5), i.bool()), (ints(3, 4, low=0, high=5),), (NB,)),
}  # fmt: skip


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("name", CASES)
def test_operators_at_several_sizes(name, opset):
    call, args, dynamic = CASES[name]
    program = tocha.onnx.export(lambda *tensors: call(*tensors), args, dynamic_shapes=dynamic, opset_version=opset)
    tried = {result.label for result in program.verification if result.skipped is None}
    assert len(tried) >= (2 if name == "reductions" else 3), program.verification


def test_edge_values():
    x = tocha.tensor([0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1e-8, -1e-8, 1.0, -2.5, 2.5, 1e30])
    program = tocha.onnx.export(
        lambda x: (x.expm1(), x.log1p(), x.round(), x.isnan(), x.isinf(), x.isfinite(), x.signbit(), x.sort().values,
                   x.topk(3).values, tocha.fmax(x, x * 0), x.sigmoid(), F.softplus(x), x.trunc(), x.nan_to_num()), (x,),
    )  # fmt: skip
    assert program.verification


def test_empty_batches():
    program = tocha.onnx.export(lambda x: (x.sum(1), x.reshape(x.shape[0], -1), x.relu()), (floats(3, 2, 2),),
                                dynamic_shapes=({0: "n"},))  # fmt: skip
    got = program(tocha.zeros(0, 2, 2))
    assert [tuple(t.shape) for t in got] == [(0, 2), (0, 4), (0, 2, 2)]


@pytest.mark.parametrize("dtype", [tocha.float16, tocha.float64, tocha.bfloat16], ids=str)
def test_floating_types(dtype):
    def program(x, w):
        return x @ w, x.sum(1), F.softmax(x, 1), F.gelu(x), F.layer_norm(x, (4,)), x.mean(), x.cumsum(1), F.silu(x)

    tocha.onnx.export(program, (floats(3, 4).to(dtype), floats(4, 5).to(dtype)), dynamic_shapes=({0: "n"}, None))


def test_what_float64_loses_is_told():
    program = tocha.onnx.export(lambda x: x.erf(), (floats(3).double(),))
    assert any("Erf is computed in float32" in note for note in program._lowered.notes)
    assert "computed in float32" in program.report()


def test_every_operator_has_a_lowering_or_a_reason():
    import importlib
    import pkgutil

    for module in pkgutil.walk_packages(tocha.__path__, "tocha."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    known = registry.lowerings()
    assert sorted(set(OPS) - {name.removeprefix("complex/") for name in known}) == []
    for name, entry in known.items():
        assert callable(entry) or (isinstance(entry, registry.Unsupported) and len(entry.reason) > 20), name


def test_unsupported_by_name_and_twice():
    with pytest.raises(ValueError, match="already"):
        registry.lowering("relu")(lambda b, x: x)
    with pytest.raises(tocha.onnx.Unsupported, match="factorisations"):
        registry.find("linalg_svd")


def test_parts_of_the_builder():
    from tocha_onnx.builder import Array, Builder

    b = Builder(18)
    x = Array("x", np.dtype("float32"), (2, 3))
    assert b.Add(x, 1).name == b.Add(x, 1).name  # written once
    assert b.constant(1.5).name == b.constant(np.float32(1.5)).name
    assert [node.op_type for node in b.nodes] == ["Add"]
    with pytest.raises(TypeError, match="expected float32"):
        b.Add(x, b.constant(np.int64(1)))
    y = b.Erf(Array("d", np.dtype("float64"), (2,)))
    assert y.dtype == np.float64 and [n.op_type for n in b.nodes] == ["Add", "Cast", "Erf", "Cast"]


def test_complex_numbers_between_real_ones():
    def program(x, y):
        spectrum = tocha.fft.rfft(x, dim=1)
        z = tocha.complex(x, y)
        return (
            tocha.fft.irfft(spectrum * 0.5, n=x.shape[1], dim=1), spectrum.abs(),
            tocha.view_as_real(spectrum), (z * z.conj()).real, (z / (z + 2)).imag, tocha.fft.fft2(z).abs(),
            tocha.fft.ifft(z).real, tocha.fft.hfft(x, dim=1), tocha.fft.irfft2(spectrum), z.sum(0).abs(),
        )  # fmt: skip

    dims = {0: tocha.onnx.Dim("n", min=2), 1: tocha.onnx.Dim("m", min=2)}
    tocha.onnx.export(program, (floats(4, 6), floats(4, 6)), dynamic_shapes=(dims, dims))
    with pytest.raises(tocha.onnx.UnsupportedOperatorError, match="complex64"):
        tocha.onnx.export(lambda x: tocha.fft.fft(x), (floats(4),))
    with pytest.raises(tocha.onnx.UnsupportedOperatorError, match="input 'z' is complex"):
        tocha.onnx.export(lambda z: z.real, (tocha.complex(floats(3), floats(3)),))
    with pytest.raises(tocha.onnx.UnsupportedOperatorError, match="exp.*no form for complex"):
        tocha.onnx.export(lambda x: tocha.complex(x, x).exp().real, (floats(3),))
