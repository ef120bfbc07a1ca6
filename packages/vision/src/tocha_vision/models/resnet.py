"""Residual networks: He, Zhang, Ren, Sun (2015), *Deep residual learning*, https://arxiv.org/abs/1512.03385."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tocha
from tocha import nn
from tocha_vision.models._registry import Weights, load_weights, model_builder

URL = "https://download.pytorch.org/models/"
Norm = Callable[..., nn.Module]


def _conv(inputs: int, outputs: int, size: int, stride: int = 1, groups: int = 1, dilation: int = 1) -> nn.Conv2d:
    padding = dilation * (size // 2)
    return nn.Conv2d(inputs, outputs, size, stride, padding, groups=groups, dilation=dilation, bias=False)


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions beside a shortcut, as in ResNet-18 and 34.

    Raises ``ValueError`` for groups or a width, ``NotImplementedError`` for dilation: it has neither.
    """

    expansion = 1

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        if groups != 1 or base_width != 64:
            raise ValueError("BasicBlock only supports groups=1 and base_width=64")
        if dilation > 1:
            raise NotImplementedError("Dilation > 1 not supported in BasicBlock")
        norm = norm_layer or nn.BatchNorm2d
        self.conv1 = _conv(inplanes, planes, 3, stride)
        self.bn1 = norm(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = _conv(planes, planes, 3)
        self.bn2 = norm(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: tocha.Tensor) -> tocha.Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(out)) + shortcut)


class Bottleneck(nn.Module):
    """A 3 x 3 convolution between two of 1 x 1, beside a shortcut, as in ResNet-50 and deeper.

    The stride is on the 3 x 3 convolution, as torchvision has it, not on the first as in the paper.
    """

    expansion = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        norm = norm_layer or nn.BatchNorm2d
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1 = _conv(inplanes, width, 1)
        self.bn1 = norm(width)
        self.conv2 = _conv(width, width, 3, stride, groups, dilation)
        self.bn2 = norm(width)
        self.conv3 = _conv(width, planes * self.expansion, 1)
        self.bn3 = norm(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: tocha.Tensor) -> tocha.Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        return self.relu(self.bn3(self.conv3(out)) + shortcut)


class ResNet(nn.Module):
    """A residual network for colour images.

    Args:
        block: :class:`BasicBlock` or :class:`Bottleneck`.
        layers: blocks in each of the four stages.
        num_classes: length of the output.
        zero_init_residual: start each block as the identity (https://arxiv.org/abs/1706.02677).
        groups, width_per_group: of the 3 x 3 convolutions of ``Bottleneck``.
        replace_stride_with_dilation: for each of the last three stages, dilate instead of halving the image.
        norm_layer: called with the number of channels; ``nn.BatchNorm2d`` by default.

    Shape: (N, 3, H, W) to (N, num_classes); 224 x 224 is usual, at least 33 x 33 to train.
    """

    def __init__(
        self,
        block: type[BasicBlock | Bottleneck],
        layers: Sequence[int],
        num_classes: int = 1000,
        zero_init_residual: bool = False,
        groups: int = 1,
        width_per_group: int = 64,
        replace_stride_with_dilation: Sequence[bool] | None = None,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        dilate = replace_stride_with_dilation or (False, False, False)
        if len(dilate) != 3:
            raise ValueError(
                f"replace_stride_with_dilation should be None or a 3-element tuple, got {replace_stride_with_dilation}"
            )
        self._norm_layer = norm_layer or nn.BatchNorm2d
        self.inplanes = 64
        self.dilation = 1
        self.groups = groups
        self.base_width = width_per_group
        self.conv1 = nn.Conv2d(3, self.inplanes, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = self._norm_layer(self.inplanes)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, 64, layers[0])
        self.layer2 = self._make_layer(block, 128, layers[1], 2, dilate[0])
        self.layer3 = self._make_layer(block, 256, layers[2], 2, dilate[1])
        self.layer4 = self._make_layer(block, 512, layers[3], 2, dilate[2])
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        self._initialize(zero_init_residual)

    def _initialize(self, zero_init_residual: bool) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif zero_init_residual and isinstance(module, (BasicBlock, Bottleneck)):
                last = module.bn3 if isinstance(module, Bottleneck) else module.bn2
                if last.weight is not None:
                    nn.init.zeros_(last.weight)

    def _make_layer(
        self, block: type[BasicBlock | Bottleneck], planes: int, blocks: int, stride: int = 1, dilate: bool = False
    ) -> nn.Sequential:
        outputs = planes * block.expansion
        first_dilation = self.dilation
        if dilate:
            self.dilation *= stride
            stride = 1
        shortcut = None
        if stride != 1 or self.inplanes != outputs:
            shortcut = nn.Sequential(_conv(self.inplanes, outputs, 1, stride), self._norm_layer(outputs))
        common = (self.groups, self.base_width)
        stage = [block(self.inplanes, planes, stride, shortcut, *common, first_dilation, self._norm_layer)]
        self.inplanes = outputs
        for _ in range(1, blocks):
            stage.append(block(outputs, planes, 1, None, *common, self.dilation, self._norm_layer))
        return nn.Sequential(*stage)

    def forward(self, x: tocha.Tensor) -> tocha.Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(tocha.flatten(self.avgpool(x), 1))


def _resnet(
    name: str,
    file: str,
    block: type[BasicBlock | Bottleneck],
    layers: list[int],
    weights: Weights,
    config: dict[str, Any],
) -> ResNet:
    model = ResNet(block, layers, **config)
    load_weights(model, weights, name, URL + file)
    return model


@model_builder
def resnet18(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """ResNet-18.

    Args:
        weights: path of a ``state_dict`` file (torchvision's, or one saved here, or safetensors), or ``None``.
        progress: accepted as torchvision does; nothing is downloaded.
        kwargs: for :class:`ResNet`.

    Raises:
        ValueError: ``weights`` is a name such as ``"DEFAULT"``; the message says which file to fetch.
        FileNotFoundError: there is no such file.
        RuntimeError: its keys or shapes are not those of this model.
    """
    return _resnet("resnet18", "resnet18-f37072fd.pth", BasicBlock, [2, 2, 2, 2], weights, kwargs)


@model_builder
def resnet34(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """ResNet-34; arguments as for :func:`resnet18`."""
    return _resnet("resnet34", "resnet34-b627a593.pth", BasicBlock, [3, 4, 6, 3], weights, kwargs)


@model_builder
def resnet50(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """ResNet-50; arguments as for :func:`resnet18`."""
    return _resnet("resnet50", "resnet50-11ad3fa6.pth", Bottleneck, [3, 4, 6, 3], weights, kwargs)


@model_builder
def resnet101(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """ResNet-101; arguments as for :func:`resnet18`."""
    return _resnet("resnet101", "resnet101-cd907fc2.pth", Bottleneck, [3, 4, 23, 3], weights, kwargs)


@model_builder
def resnet152(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> ResNet:
    """ResNet-152; arguments as for :func:`resnet18`."""
    return _resnet("resnet152", "resnet152-f82ba261.pth", Bottleneck, [3, 8, 36, 3], weights, kwargs)
