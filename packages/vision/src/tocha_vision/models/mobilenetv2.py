"""MobileNetV2: Sandler et al. (2018), *Inverted residuals and linear bottlenecks*, https://arxiv.org/abs/1801.04381."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tocha
from tocha import nn
from tocha_vision.models._registry import Weights, load_weights, model_builder

URL = "https://download.pytorch.org/models/mobilenet_v2-b0353104.pth"
Norm = Callable[..., nn.Module]

# expansion, channels, blocks, stride of the first block: table 2 of the paper
SETTING = [[1, 16, 1, 1], [6, 24, 2, 2], [6, 32, 3, 2], [6, 64, 4, 2], [6, 96, 3, 1], [6, 160, 3, 2], [6, 320, 1, 1]]


def _rounded(channels: float, divisor: int) -> int:
    """The multiple of ``divisor`` nearest to ``channels``, and not more than a tenth below it."""
    rounded = max(divisor, int(channels + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * channels else rounded


def _conv_norm_relu(
    inputs: int, outputs: int, size: int, norm: Norm, stride: int = 1, groups: int = 1
) -> nn.Sequential:
    convolution = nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False)
    return nn.Sequential(convolution, norm(outputs), nn.ReLU6(inplace=True))


class InvertedResidual(nn.Module):
    """1 x 1 convolution to more channels, depthwise 3 x 3, 1 x 1 back without activation; a shortcut where shapes fit.

    Raises ``ValueError`` for a stride other than 1 and 2.
    """

    def __init__(self, inp: int, oup: int, stride: int, expand_ratio: int, norm_layer: Norm | None = None) -> None:
        super().__init__()
        if stride not in (1, 2):
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        norm = norm_layer or nn.BatchNorm2d
        hidden = round(inp * expand_ratio)
        self.stride = stride
        self.use_res_connect = stride == 1 and inp == oup
        layers: list[nn.Module] = []
        if expand_ratio != 1:
            layers.append(_conv_norm_relu(inp, hidden, 1, norm))
        layers.append(_conv_norm_relu(hidden, hidden, 3, norm, stride, groups=hidden))
        self.conv = nn.Sequential(*layers, nn.Conv2d(hidden, oup, 1, bias=False), norm(oup))
        self.out_channels = oup

    def forward(self, x: tocha.Tensor) -> tocha.Tensor:
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class MobileNetV2(nn.Module):
    """A small network for colour images.

    Args:
        num_classes: length of the output.
        width_mult: all numbers of channels times this.
        inverted_residual_setting: a row (expansion, channels, blocks, stride) a stage; the paper's by default.
        round_nearest: numbers of channels are multiples of this.
        block: called with (inputs, outputs, stride, expand_ratio=, norm_layer=); :class:`InvertedResidual` by default.
        norm_layer: called with the number of channels; ``nn.BatchNorm2d`` by default.
        dropout: probability before the last layer.

    Shape: (N, 3, H, W) to (N, num_classes); 224 x 224 is usual.

    Raises ``ValueError`` for a setting that is no list of rows of four numbers.
    """

    def __init__(
        self,
        num_classes: int = 1000,
        width_mult: float = 1.0,
        inverted_residual_setting: Sequence[Sequence[int]] | None = None,
        round_nearest: int = 8,
        block: Callable[..., nn.Module] | None = None,
        norm_layer: Norm | None = None,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        setting = SETTING if inverted_residual_setting is None else inverted_residual_setting
        if not setting or any(len(row) != 4 for row in setting):
            raise ValueError(
                f"inverted_residual_setting should be non-empty or a 4-element list, got {inverted_residual_setting}"
            )
        block = block or InvertedResidual
        norm = norm_layer or nn.BatchNorm2d
        channels = _rounded(32 * width_mult, round_nearest)
        self.last_channel = _rounded(1280 * max(1.0, width_mult), round_nearest)
        features: list[nn.Module] = [_conv_norm_relu(3, channels, 3, norm, stride=2)]
        for expansion, wanted, blocks, stride in setting:
            outputs = _rounded(wanted * width_mult, round_nearest)
            for index in range(blocks):
                step = stride if index == 0 else 1
                features.append(block(channels, outputs, step, expand_ratio=expansion, norm_layer=norm))
                channels = outputs
        features.append(_conv_norm_relu(channels, self.last_channel, 1, norm))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(nn.Dropout(p=dropout), nn.Linear(self.last_channel, num_classes))
        self._initialize()

    def _initialize(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01)
                nn.init.zeros_(module.bias)  # type: ignore[arg-type]

    def forward(self, x: tocha.Tensor) -> tocha.Tensor:
        x = nn.functional.adaptive_avg_pool2d(self.features(x), (1, 1))
        return self.classifier(tocha.flatten(x, 1))


@model_builder
def mobilenet_v2(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> MobileNetV2:
    """MobileNetV2; arguments and errors as for :func:`~tocha_vision.models.resnet18`, ``kwargs`` goes to
    :class:`MobileNetV2`."""
    model = MobileNetV2(**kwargs)
    load_weights(model, weights, "mobilenet_v2", URL)
    return model
