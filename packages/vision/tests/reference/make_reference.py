"""Makes ``reference.npz`` from the real torchvision; run it again when ``cases.py`` changes.

    pip install torch==2.14.1 torchvision==0.29.1 numpy pillow
    python make_reference.py
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torchvision
from cases import CASES
from torchvision import datasets, models, transforms, utils

TARGET = Path(__file__).with_name("reference.npz")


def arrays(result: Any) -> list[np.ndarray]:
    """The images of a case's result, as arrays."""
    return [np.asarray(image) for image in (result if isinstance(result, (list, tuple)) else [result])]


def layout(model: torch.nn.Module) -> str:
    """A digest of the names, shapes and types in a state_dict, in order."""
    state = model.state_dict().items()
    lines = [f"{key} {tuple(value.shape)} {str(value.dtype).split('.')[1]}" for key, value in state]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def main() -> None:
    stored: dict[str, np.ndarray] = {}
    for name, case in CASES.items():
        for index, array in enumerate(arrays(case(torch, transforms, utils))):
            stored[f"{name}/{index}"] = array
    for index in (0, 3):
        image, label = datasets.FakeData(4, (3, 6, 5), 10, random_offset=7)[index]
        stored[f"fakedata/{index}"], stored[f"fakedata label/{index}"] = np.asarray(image), np.asarray(label)
    for name in ("resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "mobilenet_v2"):
        torch.manual_seed(0)
        stored[f"layout {name}"] = np.asarray(layout(getattr(models, name)(num_classes=7)))
    for name in ("resnet18", "resnet50", "mobilenet_v2"):
        torch.manual_seed(0)
        model = getattr(models, name)(num_classes=7)
        x = torch.randn(2, 3, 64, 64)
        stored[f"output {name}"] = model.train()(x).detach().numpy()
        for module in model.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.momentum = 0.7
        model(x)
        stored[f"output {name} eval"] = model.eval()(x).detach().numpy()
    np.savez_compressed(TARGET, **stored)
    print(f"torchvision {torchvision.__version__}: {len(stored)} arrays, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
