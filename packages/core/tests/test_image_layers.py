"""Layers made of convolutions, pools and norms: how they print, start, adapt and refuse."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest

import tocha
from tocha import nn

VALUES = np.load(Path(__file__).parent / "data" / "images.npz")

REPRS = {
    "Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1))": lambda: nn.Conv2d(3, 8, 3),
    "Conv2d(4, 8, kernel_size=(3, 5), stride=(2, 2), padding=(1, 1), dilation=(2, 2), groups=2, bias=False, "
    "padding_mode=reflect)": lambda: nn.Conv2d(4, 8, (3, 5), 2, 1, 2, 2, False, "reflect"),
    "Conv1d(3, 8, kernel_size=(3,), stride=(1,), padding=same)": lambda: nn.Conv1d(3, 8, 3, padding="same"),
    "ConvTranspose2d(4, 8, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), dilation=(2, 2), output_padding=(1, 1), "
    "groups=2)": lambda: nn.ConvTranspose2d(4, 8, 3, 2, 1, 1, 2, True, 2),
    "LazyConv2d(0, 8, kernel_size=(3, 3), stride=(1, 1))": lambda: nn.LazyConv2d(8, 3),
    "MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)": lambda: nn.MaxPool2d(2),
    "AvgPool1d(kernel_size=(3,), stride=(3,), padding=(0,))": lambda: nn.AvgPool1d(3),
    "AdaptiveAvgPool2d(output_size=(None, 2))": lambda: nn.AdaptiveAvgPool2d((None, 2)),
    "LPPool2d(norm_type=2, kernel_size=3, stride=None, ceil_mode=False)": lambda: nn.LPPool2d(2, 3),
    "MaxUnpool1d(kernel_size=(3,), stride=(2,), padding=(0,))": lambda: nn.MaxUnpool1d(3, stride=2),
    "BatchNorm2d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)": lambda: nn.BatchNorm2d(
        3
    ),
    "InstanceNorm2d(3, eps=1e-05, momentum=0.1, affine=False, bias=False, track_running_stats=False)": lambda: (
        nn.InstanceNorm2d(3)
    ),
    "LayerNorm((2, 3), eps=1e-05, elementwise_affine=False, bias=False)": lambda: nn.LayerNorm(
        (2, 3), elementwise_affine=False
    ),
    "GroupNorm(2, 4, eps=1e-05, affine=True, bias=True)": lambda: nn.GroupNorm(2, 4),
    "RMSNorm((4,), eps=None, elementwise_affine=True)": lambda: nn.RMSNorm(4),
    "LocalResponseNorm(3, alpha=0.0001, beta=0.75, k=1.0)": lambda: nn.LocalResponseNorm(3),
    "ZeroPad2d((1, 1, 1, 1))": lambda: nn.ZeroPad2d(1),
    "ConstantPad2d(padding=(1, 1, 1, 1), value=2.5)": lambda: nn.ConstantPad2d(1, 2.5),
    "Upsample(scale_factor=2.0, mode='nearest')": lambda: nn.Upsample(scale_factor=2),
    "UpsamplingBilinear2d(size=(3, 4), mode='bilinear')": lambda: nn.UpsamplingBilinear2d((3, 4)),
    "Unfold(kernel_size=3, dilation=1, padding=0, stride=2)": lambda: nn.Unfold(3, stride=2),
    "PixelShuffle(upscale_factor=2)": lambda: nn.PixelShuffle(2),
    "Unflatten(dim=1, unflattened_size=(2, 3))": lambda: nn.Unflatten(1, (2, 3)),
}


@pytest.mark.parametrize("text", REPRS)
def test_repr(text: str) -> None:
    assert repr(REPRS[text]()) == text


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("Conv2d", lambda: nn.Conv2d(3, 4, 3)),
        ("Conv1d groups", lambda: nn.Conv1d(4, 6, 2, groups=2)),
        ("ConvTranspose2d", lambda: nn.ConvTranspose2d(2, 3, 2)),
    ],
)
def test_initial_values_are_the_reference(name, make) -> None:
    tocha.manual_seed(0)
    for key, parameter in make().named_parameters():
        np.testing.assert_array_equal(parameter.numpy(force=True), VALUES[f"init {name}/{key}"])


@pytest.mark.parametrize(
    ("lazy", "eager", "shape"),
    [
        (lambda: nn.LazyConv2d(4, 3), lambda: nn.Conv2d(5, 4, 3), (2, 5, 6, 6)),
        (lambda: nn.LazyConv1d(4, 3), lambda: nn.Conv1d(5, 4, 3), (5, 6)),
        (lambda: nn.LazyConvTranspose2d(4, 3, groups=2), lambda: nn.ConvTranspose2d(6, 4, 3, groups=2), (2, 6, 5, 5)),
        (lambda: nn.LazyBatchNorm2d(), lambda: nn.BatchNorm2d(5), (2, 5, 6, 6)),
        (lambda: nn.LazyInstanceNorm1d(), lambda: nn.InstanceNorm1d(5, affine=True, track_running_stats=True), (5, 6)),
    ],
)
def test_lazy_layers_become_what_they_stand_for(lazy, eager, shape) -> None:
    x = tocha.randn(shape)
    layer = lazy()
    assert layer.has_uninitialized_params()
    tocha.manual_seed(1)
    result = layer(x)
    tocha.manual_seed(1)
    expected = eager()
    assert type(layer) is type(expected) and repr(layer) == repr(expected)
    assert tocha.equal(result, expected(x))
    loaded = lazy()
    loaded.load_state_dict(expected.state_dict())
    assert tocha.equal(loaded(x), expected(x)) and repr(loaded) == repr(expected)
    assert copy.deepcopy(lazy())(x).shape == result.shape


def test_transposed_convolution_takes_the_size_that_is_wanted() -> None:
    layer = nn.ConvTranspose2d(4, 8, 3, 2)
    assert layer(tocha.zeros(1, 4, 5, 5), output_size=(12, 11)).shape == (1, 8, 12, 11)
    with pytest.raises(
        ValueError, match=r"requested an output size of \(15, 12\), but valid sizes range from \[11, 11\]"
    ):
        layer(tocha.zeros(1, 4, 5, 5), output_size=(15, 12))


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_padding_modes_of_convolutions(mode: str) -> None:
    x = tocha.randn(1, 2, 5, 6)
    layer = nn.Conv2d(2, 3, 3, padding=(1, 2), padding_mode=mode)
    padded = nn.functional.pad(x, (2, 2, 1, 1), mode)
    assert tocha.allclose(layer(x), nn.functional.conv2d(padded, layer.weight, layer.bias))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nn.Conv2d(3, 8, 3, groups=2), "in_channels must be divisible by groups"),
        (lambda: nn.Conv2d(4, 8, 3, padding="all"), "Invalid padding string 'all'"),
        (lambda: nn.Conv2d(4, 8, 3, 2, padding="same"), "padding='same' is not supported for strided convolutions"),
        (
            lambda: nn.ConvTranspose2d(4, 8, 3, padding_mode="reflect"),
            'Only "zeros" padding mode is supported for ConvTranspose2d',
        ),
        (lambda: nn.BatchNorm2d(3)(tocha.zeros(2, 3, 4)), r"expected 4D input \(got 3D input\)"),
        (lambda: nn.InstanceNorm2d(3, affine=True)(tocha.zeros(2, 4, 4, 4)), "to match num_features"),
        (lambda: nn.GroupNorm(2, 5), "must be divisible by num_groups"),
        (lambda: nn.CircularPad2d(1)(tocha.zeros(2, 3)), r"expected 3D or 4D input \(got 2D input\)"),
        (lambda: nn.FractionalMaxPool2d(2), "requires specifying either an output size, or a pooling ratio"),
    ],
)
def test_errors(call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_old_files_without_a_count_of_batches_load() -> None:
    layer = nn.BatchNorm1d(2)
    state = layer.state_dict()
    del state["num_batches_tracked"]
    state._metadata.clear()
    layer.load_state_dict(state)
    assert layer.num_batches_tracked.item() == 0


def test_sync_batch_norm_replaces_every_batch_norm() -> None:
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Sequential(nn.BatchNorm1d(3)))
    converted = nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(net))
    assert isinstance(converted[1], nn.SyncBatchNorm) and isinstance(converted[2][0], nn.SyncBatchNorm)
    assert list(converted.state_dict()) == list(net.state_dict())


def test_a_convolutional_network_learns() -> None:
    tocha.manual_seed(0)
    x = tocha.zeros(16, 1, 8, 8)
    target = tocha.arange(16) % 2
    x[target == 0, :, 2:4] = 1.0
    x[target == 1, :, :, 2:4] = 1.0
    net = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3, padding=1, groups=2), nn.GroupNorm(2, 8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(8, 2),
    )  # fmt: skip
    optimizer = tocha.optim.Adam(net.parameters(), lr=0.02)
    for _ in range(40):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x + 0.1 * tocha.randn_like(x)), target)
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.1
    assert (net.eval()(x).argmax(1) == target).all()
