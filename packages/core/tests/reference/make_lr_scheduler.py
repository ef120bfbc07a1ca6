"""Write the learning rates and momenta that PyTorch's schedulers set to ``../data/lr_curves.json``.

    python make_lr_scheduler.py            (needs torch==2.13.0)

The cases take the module ``lr_scheduler`` and ``swa_utils``, so that the tests run them with tocha's.
"""

import json
from pathlib import Path

FILE = Path(__file__).parent.parent / "data" / "lr_curves.json"
EPOCHS = 24
LOSSES = [1.0, 0.9, 0.95, 0.93, 0.92, 0.91, 0.8]

CASES = {
    "StepLR": lambda s, w, o: s.StepLR(o, 7, 0.5),
    "MultiStepLR": lambda s, w, o: s.MultiStepLR(o, [5, 11, 11, 20], 0.3),
    "ConstantLR": lambda s, w, o: s.ConstantLR(o, 0.5, 8),
    "LinearLR": lambda s, w, o: s.LinearLR(o, 0.1, 1.0, 12),
    "ExponentialLR": lambda s, w, o: s.ExponentialLR(o, 0.9),
    "PolynomialLR": lambda s, w, o: s.PolynomialLR(o, 20, 2.0),
    "CosineAnnealingLR": lambda s, w, o: s.CosineAnnealingLR(o, 10, 0.001),
    "CosineAnnealingWarmRestarts": lambda s, w, o: s.CosineAnnealingWarmRestarts(o, 5, 2),
    "CyclicLR triangular": lambda s, w, o: s.CyclicLR(o, 0.01, 0.1, 4),
    "CyclicLR triangular2": lambda s, w, o: s.CyclicLR(o, 0.01, 0.1, 4, 7, mode="triangular2"),
    "CyclicLR exp_range": lambda s, w, o: s.CyclicLR(o, [0.01, 0.02], 0.1, 4, mode="exp_range", gamma=0.9),
    "OneCycleLR": lambda s, w, o: s.OneCycleLR(o, 0.2, total_steps=31),
    "OneCycleLR three phases": lambda s, w, o: s.OneCycleLR(
        o, [0.2, 0.3], epochs=10, steps_per_epoch=4, three_phase=True, anneal_strategy="linear"
    ),
    "LambdaLR": lambda s, w, o: s.LambdaLR(o, [lambda e: 0.95**e, lambda e: 0.9**e]),
    "MultiplicativeLR": lambda s, w, o: s.MultiplicativeLR(o, lambda e: 0.9),
    "SequentialLR": lambda s, w, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9), s.StepLR(o, 2)], [4, 9]
    ),
    "ChainedScheduler": lambda s, w, o: s.ChainedScheduler(
        [s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9), s.CosineAnnealingLR(o, 7)]
    ),
    "ReduceLROnPlateau": lambda s, w, o: s.ReduceLROnPlateau(o, "min", 0.5, 2),
    "ReduceLROnPlateau abs": lambda s, w, o: s.ReduceLROnPlateau(
        o, "max", 0.5, 1, 0.01, "abs", cooldown=2, min_lr=[0.01, 0.001]
    ),
    "SWALR": lambda s, w, o: w.SWALR(o, 0.05, 6),
    "SWALR linear": lambda s, w, o: w.SWALR(o, [0.05, 0.01], 0, "linear"),
}


def optimizer_of(lib):
    """Two groups with rates of their own."""
    groups = [
        {"params": [lib.zeros(2, requires_grad=True)]},
        {"params": [lib.zeros(2, requires_grad=True)], "lr": 0.02},
    ]
    return lib.optim.SGD(groups, lr=0.1, momentum=0.9)


def advance(scheduler, optimizer, epoch, name):
    """One epoch; the groups' rates and momenta after it."""
    optimizer.step()
    scheduler.step(LOSSES[epoch % len(LOSSES)]) if name.startswith("Reduce") else scheduler.step()
    return [group["lr"] for group in optimizer.param_groups] + [group["momentum"] for group in optimizer.param_groups]


def main():
    import torch
    import torch.optim.swa_utils

    curves = {}
    for name, make in CASES.items():
        optimizer = optimizer_of(torch)
        scheduler = make(torch.optim.lr_scheduler, torch.optim.swa_utils, optimizer)
        curves[name] = [advance(scheduler, optimizer, epoch, name) for epoch in range(EPOCHS)]
    FILE.write_text(json.dumps(curves), encoding="utf-8")
    print(f"{FILE.name}: {len(curves)} curves from torch {torch.__version__}")


if __name__ == "__main__":
    main()
