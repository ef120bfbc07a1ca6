"""Convolutions, pools, norms, padding and resizing: values, gradients, memory order and errors."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest
from image_samples import IMAGES
from sample import Sample

import tocha
import tocha.nn.functional as F

VALUES = np.load(Path(__file__).parent / "data" / "images.npz")


def leaves(sample: Sample, layout: str = "plain") -> list[tocha.Tensor]:
    made = []
    for array in sample.arrays():
        if layout == "channels last" and array.ndim > 2:
            array = np.moveaxis(np.ascontiguousarray(np.moveaxis(array, 1, -1)), -1, 1)
        t = tocha.tensor(array)
        if layout == "strided" and array.ndim:
            wide = tocha.tensor(np.repeat(array, 2, -1))
            t = wide[..., ::2]
        made.append(t.detach().requires_grad_() if t.is_floating_point() else t)
    return made


@pytest.mark.parametrize("layout", ["plain", "channels last", "strided"])
@pytest.mark.parametrize("sample", IMAGES, ids=lambda s: s.name)
def test_values_and_gradients_are_the_reference(sample: Sample, layout: str) -> None:
    inputs = leaves(sample, layout)
    result = sample.fn(*inputs)
    expected = VALUES[sample.name]
    assert result.numpy(force=True).dtype == expected.dtype
    np.testing.assert_allclose(result.numpy(force=True), expected, rtol=1e-9, atol=1e-9)
    if not sample.differentiable:
        return
    weights = tocha.tensor(np.random.default_rng(1).standard_normal(expected.shape))
    (result * weights).sum().backward()
    for i, t in enumerate(inputs):
        if f"{sample.name}/{i}" in VALUES:
            np.testing.assert_allclose(t.grad.numpy(), VALUES[f"{sample.name}/{i}"], rtol=1e-8, atol=1e-9)


# ---------------------------------------------------------------- convolution


def naive(x: np.ndarray, w: np.ndarray, stride: tuple, padding: tuple, dilation: tuple, groups: int) -> np.ndarray:
    """The definition of a convolution, one output pixel at a time."""
    kernel = w.shape[2:]
    x = np.pad(x, [(0, 0), (0, 0), *[(p, p) for p in padding]])
    size = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(x.shape[2:], kernel, stride, dilation)]
    out = np.zeros((x.shape[0], w.shape[0], *size))
    per_group, outs = w.shape[1], w.shape[0] // groups
    for place in itertools.product(*[range(n) for n in size]):
        window = tuple(
            [slice(i * s, i * s + d * (k - 1) + 1, d) for i, s, d, k in zip(place, stride, dilation, kernel)]
        )
        for g in range(groups):
            seen = x[(slice(None), slice(g * per_group, (g + 1) * per_group), *window)]
            part = slice(g * outs, (g + 1) * outs)
            out[(slice(None), part, *place)] = np.tensordot(seen, w[part], (range(1, x.ndim), range(1, x.ndim)))
    return out


@pytest.mark.parametrize("seed", range(40))
def test_convolution_is_its_definition_and_transposed_its_adjoint(seed: int) -> None:
    rng = np.random.default_rng(seed)
    nd = int(rng.integers(1, 4))
    groups = int(rng.choice([1, 1, 2, 3, 8]))
    ins, outs = (
        (int(rng.choice([1, 2, 5, 9, 17])), int(rng.choice([1, 2, 4]))) if groups < 8 else (1, int(rng.choice([1, 2])))
    )
    kernel, stride = tuple(rng.integers(1, 4, nd).tolist()), tuple(rng.integers(1, 4, nd).tolist())
    padding, dilation = tuple(rng.integers(0, 3, nd).tolist()), tuple(rng.integers(1, 3, nd).tolist())
    size = rng.integers(5, 9, nd).tolist()
    x, w = rng.standard_normal((2, ins * groups, *size)), rng.standard_normal((outs * groups, ins, *kernel))
    expected = naive(x, w, stride, padding, dilation, groups)
    convolve = getattr(F, f"conv{nd}d")
    result = convolve(tocha.tensor(x), tocha.tensor(w), None, stride, padding, dilation, groups)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-10, atol=1e-10)
    single = convolve(tocha.tensor(x).float(), tocha.tensor(w).float(), None, stride, padding, dilation, groups)
    np.testing.assert_allclose(single.numpy(), expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())
    g = rng.standard_normal(expected.shape)
    natural = [
        (n - 1) * s - 2 * p + d * (k - 1) + 1
        for n, s, p, d, k in zip(expected.shape[2:], stride, padding, dilation, kernel)
    ]
    extra = tuple([n - m for n, m in zip(size, natural)])
    if min(natural) > 0 and all([e < max(s, d) for e, s, d in zip(extra, stride, dilation)]):
        back = getattr(F, f"conv_transpose{nd}d")(
            tocha.tensor(g), tocha.tensor(w), None, stride, padding, extra, groups, dilation
        )
        assert math.isclose(float((back * tocha.tensor(x)).sum()), float((g * expected).sum()), rel_tol=1e-9)


def test_convolution_results_keep_channels_together_and_can_be_viewed() -> None:
    x, w = tocha.randn(2, 3, 5, 5), tocha.randn(4, 3, 3, 3).requires_grad_()
    y = F.conv2d(x, w)
    assert y.is_contiguous(memory_format=tocha.channels_last)
    assert tocha.relu(y).is_contiguous(memory_format=tocha.channels_last)
    flat = y.view(2, -1)
    np.testing.assert_array_equal(flat.numpy(force=True), y.numpy(force=True).reshape(2, -1))
    flat.square().sum().backward()
    seen, w.grad = w.grad, None
    F.conv2d(x, w).reshape(2, -1).square().sum().backward()
    np.testing.assert_allclose(seen.numpy(), w.grad.numpy(), rtol=1e-5)


def test_a_view_that_moves_the_elements_still_aliases_them() -> None:
    with tocha.no_grad():
        y = F.conv2d(tocha.randn(2, 3, 5, 5), tocha.randn(4, 3, 3, 3))
        first, second = y.chunk(2, 1)
        flat = first.view(2, -1)
        second.fill_(7.0)
        flat.fill_(3.0)
        assert (y[:, 2:] == 7).all() and (y[:, :2] == 3).all() and (first == 3).all()
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        tocha.randn(2, 3, 4).permute(0, 2, 1).view(-1)


@pytest.mark.parametrize("dtype", [tocha.float16, tocha.bfloat16, tocha.int64, tocha.complex64], ids=str)
def test_convolution_of_other_dtypes(dtype: tocha.dtype) -> None:
    x, w = tocha.arange(32).reshape(1, 2, 4, 4) % 5, tocha.arange(24).reshape(3, 2, 2, 2) % 3
    expected = naive(x.numpy(), w.numpy(), (1, 1), (1, 1), (1, 1), 1)
    result = F.conv2d(x.to(dtype), w.to(dtype), padding=1)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result.to(tocha.complex128).real.numpy(), expected)


def test_empty_batches() -> None:
    x = tocha.zeros(0, 3, 5, 5, requires_grad=True)
    w = tocha.ones(4, 3, 3, 3, requires_grad=True)
    y = F.max_pool2d(F.conv2d(x, w), 2)
    assert y.shape == (0, 4, 1, 1)
    y.sum().backward()
    assert x.grad.shape == x.shape and not w.grad.any()
    assert F.avg_pool2d(x, 2).shape == (0, 3, 2, 2) and F.interpolate(x, 3).shape == (0, 3, 3, 3)
    assert F.layer_norm(x, (5,)).shape == x.shape and F.group_norm(x, 3).shape == x.shape


# ---------------------------------------------------------------- pools


def test_the_first_maximum_gets_the_gradient() -> None:
    x = tocha.zeros(1, 1, 4, 4, requires_grad=True)
    F.max_pool2d(x, 3, 1, 1).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy()[0, 0], [[4, 2, 2, 0], [2, 1, 1, 0], [2, 1, 1, 0], [0, 0, 0, 0]])


def test_maximum_of_infinities_and_nan() -> None:
    x = tocha.full((1, 1, 2, 4), -math.inf)
    x[0, 0, 1, 3] = math.nan
    values, indices = F.max_pool2d(x, 2, 2, 1, return_indices=True)
    assert values[0, 0, 0, 0] == -math.inf and math.isnan(values[0, 0, 1, 2])
    assert indices.flatten().tolist() == [0, 1, 3, 4, 5, 7]


def test_integer_pools() -> None:
    x = tocha.tensor([[[[-3, 4], [5, -7]]]])
    assert F.max_pool2d(x, 2).item() == 5 and F.max_pool2d(x, 2).dtype == tocha.int64
    assert F.avg_pool2d(x, 2).item() == 0 and F.avg_pool2d(x - 1, 2).item() == -1


def test_unpooling_puts_maxima_back() -> None:
    x = tocha.arange(30.0).view(1, 1, 5, 6)
    values, indices = F.max_pool2d(x, 2, return_indices=True)
    back = F.max_unpool2d(values, indices, 2, output_size=(5, 6))
    assert back.shape == x.shape
    assert tocha.equal(back[back != 0], values.flatten())


def test_fractional_pool_draws_its_windows() -> None:
    x = tocha.randn(2, 3, 8, 8)
    tocha.manual_seed(0)
    values, indices = F.fractional_max_pool2d(x, 2, output_ratio=(0.5, 0.75), return_indices=True)
    assert values.shape == (2, 3, 4, 6)
    assert tocha.equal(values, x.flatten(2).gather(2, indices.flatten(2)).view_as(values))
    tocha.manual_seed(0)
    assert tocha.equal(F.fractional_max_pool2d(x, 2, output_size=(4, 6)), values)


# ---------------------------------------------------------------- norms


@pytest.mark.parametrize("offset", [0.0, 3.0, 1000.0])
def test_batch_norm_is_accurate_for_large_means(offset: float) -> None:
    x = tocha.randn(64, 5, 6, 6, dtype=tocha.float64) + offset
    rounded = x.float()
    expected = F.batch_norm(rounded.double(), None, None, training=True)
    result = F.batch_norm(rounded, None, None, training=True)
    np.testing.assert_allclose(result.numpy(), expected.numpy(), atol=2e-6 + offset * 2e-7)


def test_running_statistics() -> None:
    x = tocha.tensor([[1.0], [3.0], [5.0]])
    mean, var = tocha.zeros(1), tocha.ones(1)
    F.batch_norm(x, mean, var, training=True, momentum=0.25)
    assert mean.item() == 0.75 and var.item() == pytest.approx(0.75 + 0.25 * 4)
    layer = tocha.nn.BatchNorm1d(1, momentum=None)
    for factor in (1.0, 3.0):
        layer(x * factor)
    assert layer.running_mean.item() == pytest.approx(6.0)
    assert layer.running_var.item() == pytest.approx(20.0)
    assert layer.num_batches_tracked.item() == 2
    layer.eval()
    np.testing.assert_allclose(
        layer(x).numpy(force=True).ravel(), (np.array([1, 3, 5]) - 6) / math.sqrt(20 + 1e-5), rtol=1e-6
    )
    instance = tocha.nn.InstanceNorm1d(2, track_running_stats=True)
    instance(tocha.arange(12.0).view(2, 2, 3))
    np.testing.assert_allclose(instance.running_mean.numpy(), [0.4, 0.7], rtol=1e-6)


def test_half_precision_with_single_precision_parameters() -> None:
    x = tocha.randn(4, 6, 3).to(tocha.bfloat16).requires_grad_()
    w, b = tocha.ones(6, requires_grad=True), tocha.zeros(6, requires_grad=True)
    mean, var = tocha.zeros(6), tocha.ones(6)
    for y in (F.batch_norm(x, mean, var, w, b, True), F.group_norm(x, 2, w, b)):
        assert y.dtype == tocha.bfloat16
        y.sum().backward()
    assert mean.dtype == tocha.float32 and x.grad.dtype == tocha.bfloat16 and w.grad.dtype == tocha.float32


# ---------------------------------------------------------------- errors

Z = tocha.zeros
ERRORS = [
    (lambda: F.conv2d(Z(5, 5), Z(8, 3, 3, 3)), RuntimeError, "Expected 3D (unbatched) or 4D (batched) input to conv2d"),
    (
        lambda: F.conv2d(Z(1, 4, 5, 5), Z(8, 3, 3, 3)),
        RuntimeError,
        "expected input[1, 4, 5, 5] to have 3 channels, but got 4",
    ),
    (
        lambda: F.conv2d(Z(1, 3, 2, 2), Z(8, 3, 3, 3)),
        RuntimeError,
        "Kernel size can't be greater than actual input size",
    ),
    (
        lambda: F.conv2d(Z(1, 3, 5, 5), Z(8, 3, 3, 3), Z(7)),
        RuntimeError,
        "expected bias to be 1-dimensional with 8 elements",
    ),
    (lambda: F.conv2d(Z(1, 3, 5, 5), Z(8, 3, 3, 3), stride=0), RuntimeError, "non-positive stride is not supported"),
    (lambda: F.conv2d(Z(1, 3, 5, 5), Z(8, 3, 3, 3), padding="all"), RuntimeError, "Invalid padding string: 'all'"),
    (
        lambda: F.conv2d(Z(1, 3, 5, 5).double(), Z(8, 3, 3, 3)),
        RuntimeError,
        "Input type (double) and weight type (float)",
    ),
    (lambda: F.conv2d([1.0], Z(8, 3, 3, 3)), TypeError, "must be Tensor, not list"),
    (
        lambda: F.conv2d(Z(1, 3, 5, 5), Z(8, 3, 3, 3), stride=1.5),
        TypeError,
        "'stride' must be tuple of ints, not float",
    ),
    (
        lambda: F.conv_transpose2d(Z(1, 3, 5, 5), Z(3, 4, 3, 3), output_padding=1),
        RuntimeError,
        "output padding must be smaller",
    ),
    (
        lambda: F.max_pool2d(Z(1, 3, 5, 5), 2, padding=2),
        RuntimeError,
        "pad should be at most half of effective kernel size",
    ),
    (
        lambda: F.max_pool2d(Z(1, 3, 5, 5), 7),
        RuntimeError,
        "Given input size: (3x5x5). Calculated output size: (3x0x0)",
    ),
    (lambda: F.max_pool2d(Z(1, 3, 5, 5) > 0, 2), NotImplementedError, "not implemented for 'Bool'"),
    (lambda: F.avg_pool2d(Z(1, 3, 5, 5), 2, divisor_override=0), RuntimeError, "divisor must be not zero"),
    (lambda: F.adaptive_avg_pool2d(Z(5, 5), 2), RuntimeError, "Expected 3D or 4D tensor, but got [5, 5]"),
    (
        lambda: F.max_unpool2d(Z(1, 1, 2, 2), Z(1, 1, 2, 2).long() + 99, 2),
        RuntimeError,
        "Found an invalid max index: 99",
    ),
    (lambda: F.batch_norm(Z(2, 3, 5), Z(4), Z(3)), RuntimeError, "running_mean should contain 3 elements not 4"),
    (lambda: F.batch_norm(Z(1, 3), Z(3), Z(3), training=True), ValueError, "Expected more than 1 value per channel"),
    (lambda: F.layer_norm(Z(2, 5), (4,)), RuntimeError, "Given normalized_shape=[4], expected input with shape [*, 4]"),
    (lambda: F.group_norm(Z(2, 3, 5), 2), RuntimeError, "to be divisible by num_groups"),
    (
        lambda: F.pad(Z(1, 3, 5, 5), (5, 1, 1, 1), "reflect"),
        RuntimeError,
        "Padding size should be less than the corresponding",
    ),
    (
        lambda: F.pad(Z(1, 3, 5, 5), (1, 1), "reflect"),
        NotImplementedError,
        "Padding size 2 is not supported for 4D input",
    ),
    (lambda: F.pad(Z(3), (1, 1, 1)), RuntimeError, "Padding length must be divisible by 2"),
    (lambda: F.interpolate(Z(1, 3, 5, 5)), ValueError, "either size or scale_factor should be defined"),
    (
        lambda: F.interpolate(Z(1, 3, 5, 5), 3, mode="linear"),
        NotImplementedError,
        "Got 4D input, but linear mode needs 3D",
    ),
    (lambda: F.interpolate(Z(1, 3, 5, 5), 0), RuntimeError, "Input and output sizes should be greater than 0"),
    (
        lambda: F.grid_sample(Z(1, 3, 5, 5), Z(1, 2, 2, 3)),
        RuntimeError,
        "expected grid to have size 2 in last dimension",
    ),
    (lambda: F.fold(Z(1, 13, 4), (3, 3), 2), RuntimeError, "divisible by the product of kernel_size"),
    (lambda: F.pixel_shuffle(Z(1, 3, 2, 2), 2), RuntimeError, "divisible by the square of upscale_factor"),
]


@pytest.mark.parametrize(("call", "kind", "message"), ERRORS, ids=[m for _, _, m in ERRORS])
def test_errors(call, kind, message) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        call()
