"""What a sample of an operator is: a name, a function of tensors, and its inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass
class Sample:
    name: str
    fn: Callable
    inputs: tuple
    positive: bool = False
    differentiable: bool = True
    meta: bool = True
    device: bool = True
    waits: int = 0  # how often the host has to wait for the device: where a shape depends on values
    scale: float = 1.0

    def arrays(self) -> list[np.ndarray]:
        rng = np.random.default_rng(sum(map(ord, self.name)))
        made = []
        for given in self.inputs:
            if isinstance(given, np.ndarray):
                made.append(given.copy())
            else:
                x = rng.standard_normal(given) * self.scale
                made.append(np.abs(x) + 0.5 if self.positive else x)
        return made
