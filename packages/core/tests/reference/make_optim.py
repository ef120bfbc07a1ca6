"""Write what PyTorch's optimizers do to ``../data/optim_values.npz``, for the cases below.

    python make_optim.py            (needs torch==2.13.0)

Each case steps parameters of several shapes with the same gradients; one parameter has none at one of the steps.
Stored are the parameters after the last step, and every tensor of the optimizer's state.
"""

from pathlib import Path

import numpy as np

FILE = Path(__file__).parent.parent / "data" / "optim_values.npz"
SHAPES = [(4, 3), (4,), (), (2, 1, 4), (130, 140)]
STEPS = 6

CASES = {
    "SGD": [
        {"lr": 0.1}, {"lr": 0.1, "momentum": 0.9}, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "weight_decay": 0.1},
        {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1, "maximize": True},
    ],
    "Adam": [
        {}, {"weight_decay": 0.1, "lr": 0.01}, {"amsgrad": True}, {"maximize": True, "weight_decay": 0.1},
        {"betas": (0.5, 0.6), "eps": 0.001, "lr": 0.1}, {"lr": 0.0},
        {"weight_decay": 0.1, "decoupled_weight_decay": True},
    ],
    "AdamW": [{}, {"weight_decay": 0.1, "amsgrad": True, "lr": 0.1}, {"maximize": True}],
    "RMSprop": [{}, {"momentum": 0.9}, {"centered": True, "momentum": 0.9, "weight_decay": 0.1, "maximize": True}],
    "Adagrad": [{}, {"lr_decay": 0.1, "initial_accumulator_value": 0.1, "weight_decay": 0.1, "maximize": True}],
    "Adadelta": [{}, {"rho": 0.5, "weight_decay": 0.1, "maximize": True}],
    "Adamax": [{}, {"weight_decay": 0.1, "maximize": True}],
    "NAdam": [{}, {"weight_decay": 0.1}, {"weight_decay": 0.1, "decoupled_weight_decay": True, "momentum_decay": 0.1}],
    "RAdam": [{}, {"betas": (0.5, 0.6), "weight_decay": 0.1}, {"weight_decay": 0.1, "decoupled_weight_decay": True}],
    "ASGD": [{}, {"t0": 2, "weight_decay": 0.1, "maximize": True, "lambd": 0.1}],
    "Rprop": [{}, {"maximize": True, "step_sizes": (0.001, 0.02)}],
    "Adafactor": [{}, {"weight_decay": 0.1, "maximize": True, "eps": (1e-8, 0.01), "d": 1.5}],
}  # fmt: skip


def problem(dtype="float64"):
    """The parameters before the first step, and the gradients of each step (None: no gradient)."""
    rng = np.random.default_rng(0)
    start = [np.asarray(rng.standard_normal(shape), dtype) for shape in SHAPES]
    gradients = [[np.asarray(rng.standard_normal(shape), dtype) for shape in SHAPES] for _ in range(STEPS)]
    gradients[3][1] = None
    return start, gradients


def keyed(name, index, options, parameters, state):
    """Arrays by name: parameters, then the state's; of the large one, a few entries."""
    values = {}
    for i, array in enumerate(parameters):
        values[f"{name} {index} parameter {i}"] = array.reshape(-1)[:16]
        for key, value in state[i].items():
            values[f"{name} {index} {key} {i}"] = np.asarray(value).reshape(-1)[:16]
    return values


def stored():
    """The values by name, as ``main`` wrote them."""
    with np.load(FILE) as file:
        parts = np.split(file["values"], np.cumsum(file["sizes"])[:-1])
        return dict(zip(file["names"].tolist(), parts))


def main():
    import torch

    values = {}
    for name, configurations in CASES.items():
        for index, options in enumerate(configurations):
            start, gradients = problem()
            parameters = [torch.tensor(array, requires_grad=True) for array in start]
            optimizer = getattr(torch.optim, name)(parameters, **options)
            for step in gradients:
                for p, g in zip(parameters, step):
                    p.grad = None if g is None else torch.tensor(g)
                optimizer.step()
            state = {i: {k: v.numpy() for k, v in optimizer.state[p].items() if v is not None}
                     for i, p in enumerate(parameters)}  # fmt: skip
            values |= keyed(name, index, options, [p.detach().numpy() for p in parameters], state)
    np.savez_compressed(
        FILE,
        names=np.array(list(values)),
        sizes=[v.size for v in values.values()],
        values=np.concatenate(list(values.values())),
    )
    print(f"{FILE.name}: {len(values)} arrays from torch {torch.__version__}")


if __name__ == "__main__":
    main()
