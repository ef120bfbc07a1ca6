"""Stored reference values for the operators over images and the layers made of them. Run with PyTorch installed:

    python make_images.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional

# The samples are written for tocha; here they run under the library that they are the reference of.
sys.modules["tocha"], sys.modules["tocha.nn.functional"] = torch, torch.nn.functional
sys.path.insert(0, str(Path(__file__).parent.parent))
from image_samples import IMAGES  # noqa: E402

DATA = Path(__file__).parent.parent / "data"
LAYERS = {
    "Conv2d": lambda nn: nn.Conv2d(3, 4, 3),
    "Conv1d groups": lambda nn: nn.Conv1d(4, 6, 2, groups=2),
    "ConvTranspose2d": lambda nn: nn.ConvTranspose2d(2, 3, 2),
}


def main() -> None:
    values = {}
    for sample in IMAGES:
        inputs = [torch.tensor(a) for a in sample.arrays()]
        inputs = [t.requires_grad_() if t.is_floating_point() else t for t in inputs]
        result = sample.fn(*inputs)
        values[sample.name] = result.detach().numpy()
        if sample.differentiable:
            weights = torch.tensor(np.random.default_rng(1).standard_normal(result.shape))
            (result * weights).sum().backward()
            for i, t in enumerate(inputs):
                if t.grad is not None:
                    values[f"{sample.name}/{i}"] = t.grad.numpy()
    for name, make in LAYERS.items():
        torch.manual_seed(0)
        layer = make(torch.nn)
        for key, parameter in layer.named_parameters():
            values[f"init {name}/{key}"] = parameter.detach().numpy()
    np.savez_compressed(DATA / "images.npz", **values)


if __name__ == "__main__":
    main()
