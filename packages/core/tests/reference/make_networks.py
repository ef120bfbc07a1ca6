"""Stored reference values for activations, losses, attention, recurrent layers. Run with PyTorch installed:

python make_networks.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional

# The samples are written for tocha; here they run under the library that they are the reference of.
sys.modules["tocha"], sys.modules["tocha.nn.functional"] = torch, torch.nn.functional
HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from network_samples import DRAWS, LAYERS, NETWORKS, outputs  # noqa: E402


def main() -> None:
    values = {}
    for sample in NETWORKS:
        inputs = [torch.tensor(a) for a in sample.arrays()]
        inputs = [t.requires_grad_() if t.is_floating_point() else t for t in inputs]
        result = sample.fn(*inputs)
        values[sample.name] = result.detach().numpy()
        weights = torch.tensor(np.random.default_rng(1).standard_normal(result.shape))
        (result * weights).sum().backward()
        for i, t in enumerate(inputs):
            if t.grad is not None:
                values[f"{sample.name}/{i}"] = t.grad.numpy()
    for name, (make, call) in LAYERS.items():
        torch.manual_seed(0)
        layer = make(torch.nn)
        for key, parameter in layer.state_dict().items():
            values[f"init {name}/{key}"] = parameter.numpy()
        for i, result in enumerate(outputs(call(layer))):
            values[f"layer {name}/{i}"] = result.detach().numpy()
    for name, draw in DRAWS.items():
        torch.manual_seed(0)
        values[f"draw {name}"] = draw(torch.nn.functional).numpy()
    np.savez_compressed(HERE.parent / "data" / "networks.npz", **values)


if __name__ == "__main__":
    main()
