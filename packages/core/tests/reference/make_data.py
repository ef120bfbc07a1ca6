"""Write PyTorch's orders of samples, and values of its initialisers, to ``../data/data_and_init.json``.

    python make_data.py            (needs torch==2.13.0)

Each case takes the library (torch or tocha) and returns something that ``plain`` turns into lists.
"""

import json
from pathlib import Path

FILE = Path(__file__).parent.parent / "data" / "data_and_init.json"
SEED = 1234


def data(lib):
    import importlib

    return importlib.import_module(f"{lib.__name__}.utils.data")


def passes(lib, count=2, **options):
    """The batches of several passes over a loader, and a draw that tells where the stream is after them."""
    loader = data(lib).DataLoader(lib.arange(11), **options)
    return [list(loader) for _ in range(count)] + [lib.rand(2)]


def own_generator(lib):
    return lib.Generator().manual_seed(5)


ORDERS = {
    "RandomSampler": lambda m: list(data(m).RandomSampler(range(15))),
    "RandomSampler twice": lambda m: [list(s) for s in [data(m).RandomSampler(range(9))] * 2],
    "RandomSampler replacement": lambda m: list(data(m).RandomSampler(range(15), True, 70)),
    "RandomSampler more": lambda m: list(data(m).RandomSampler(range(4), num_samples=10, generator=own_generator(m))),
    "SubsetRandomSampler": lambda m: list(data(m).SubsetRandomSampler([3, 1, 4, 15, 9])),
    "WeightedRandomSampler": lambda m: list(data(m).WeightedRandomSampler([1.0, 2.0, 3.0], 9)),
    "WeightedRandomSampler without": lambda m: list(data(m).WeightedRandomSampler([1.0, 2.0, 3.0, 0.5], 3, False)),
    "DistributedSampler": lambda m: [list(data(m).DistributedSampler(range(11), 3, r)) for r in range(3)],
    "random_split": lambda m: [s.indices for s in data(m).random_split(range(20), [12, 8])],
    "random_split fractions": lambda m: [s.indices for s in data(m).random_split(range(11), [0.5, 0.3, 0.2])],
    "random_split generator": lambda m: [s.indices for s in data(m).random_split(range(9), [4, 5], own_generator(m))],
    "loader": lambda m: passes(m, batch_size=3),
    "loader shuffled": lambda m: passes(m, batch_size=3, shuffle=True),
    "loader drop_last": lambda m: passes(m, batch_size=4, shuffle=True, drop_last=True),
    "loader generator": lambda m: passes(m, batch_size=4, shuffle=True, generator=own_generator(m)),
    "loader without batches": lambda m: passes(m, batch_size=None, shuffle=True),
}

INITIALISERS = {
    "uniform_": ((7, 5), {"a": -2, "b": 3}), "normal_": ((33,), {"mean": 2, "std": 0.5}),
    "trunc_normal_": ((30,), {}), "trunc_normal_ narrow": ((50,), {"std": 0.02, "a": -0.05, "b": 0.05}),
    "trunc_normal_ tail": ((20, 5), {"a": 2, "b": 3}), "eye_": ((3, 5), {}), "dirac_": ((6, 3, 3), {"groups": 2}),
    "xavier_uniform_": ((6, 8), {"gain": 2.0}), "xavier_normal_": ((6, 8, 3), {}),
    "kaiming_uniform_": ((6, 8, 3, 3), {"a": 2.23}),
    "kaiming_normal_": ((6, 8), {"mode": "fan_out", "nonlinearity": "relu"}),
    "orthogonal_": ((6, 4), {}), "orthogonal_ wide": ((4, 3, 2), {"gain": 2.0}),
    "sparse_": ((10, 6), {"sparsity": 0.3}),
}  # fmt: skip


def initialised(lib, name):
    shape, options = INITIALISERS[name]
    return getattr(lib.nn.init, name.split()[0])(lib.empty(*shape, dtype=lib.float64), **options)


def plain(value):
    """Nested lists of numbers."""
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value.tolist() if hasattr(value, "tolist") else value


def main():
    import torch

    values = {}
    for name, case in ORDERS.items():
        torch.manual_seed(SEED)
        values[name] = plain(case(torch))
    for name in INITIALISERS:
        torch.manual_seed(SEED)
        values[name] = plain(initialised(torch, name).reshape(-1)[:40])
    FILE.write_text(json.dumps(values), encoding="utf-8")
    print(f"{FILE.name}: {len(values)} cases from torch {torch.__version__}")


if __name__ == "__main__":
    main()
