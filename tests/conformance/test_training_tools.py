"""Optimizers, schedulers and loaders beside PyTorch's: states exchanged both ways, messages, batches."""

import importlib
import importlib.util
import random
from pathlib import Path

import numpy as np
import pytest
import torch

import tocha

spec = importlib.util.spec_from_file_location("side_by_side", Path(__file__).with_name("side_by_side.py"))
side_by_side = importlib.util.module_from_spec(spec)
spec.loader.exec_module(side_by_side)
both, difference, noted, outcome = side_by_side.both, side_by_side.difference, side_by_side.noted, side_by_side.outcome

NAMES = [
    "SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop", "Adafactor",
]  # fmt: skip


def trained(m, name, state=None, start=0, steps=4):
    """The parameters and the state after some steps on the same gradients."""
    options = {"momentum": 0.9} if name == "SGD" else {}
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(shape) for shape in ((3, 2), (4,))]
    parameters = [m.tensor(value, requires_grad=True) for value in values]
    optimizer = getattr(m.optim, name)(parameters, **options)
    if state is not None:
        with m.no_grad():
            for p, value in zip(parameters, state[0]):
                p.copy_(m.tensor(value))
        optimizer.load_state_dict(state[1])
    gradients = rng.standard_normal((20, 6))
    for i in range(start, start + steps):
        for p in parameters:
            p.grad = m.tensor(gradients[i, : p.numel()].reshape(tuple(p.shape)))
        optimizer.step()
    return [p.detach().numpy().copy() for p in parameters], optimizer.state_dict()


def converted(value, m):
    """Nested state with its tensors made the other library's."""
    if hasattr(value, "detach"):
        return m.tensor(value.detach().numpy().copy())
    if isinstance(value, dict):
        return {k: converted(v, m) for k, v in value.items()}
    return [converted(v, m) for v in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("first", "second"), [(torch, tocha), (tocha, torch)], ids=["to tocha", "to torch"])
def test_an_optimizers_state_goes_over(name, first, second):
    whole, whole_state = trained(first, name, steps=8)
    values, state = trained(first, name, steps=4)
    rest, rest_state = trained(second, name, (values, converted(state, second)), start=4, steps=4)
    for a, b in zip(rest, whole):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    for entries in (*rest_state["state"].values(), *whole_state["state"].values()):
        for scalar in {"mu_product", "eta", "mu"} & set(entries):
            entries[scalar] = entries[scalar].double()  # loading gives them the parameter's dtype, in PyTorch too
    assert difference(converted(rest_state, torch), converted(whole_state, torch), tolerance=1e-6) is None


def scheduler_calls(m):
    s = m.optim.lr_scheduler

    def sgd(**options):
        return m.optim.SGD([m.zeros(1, requires_grad=True)], **({"lr": 0.1, "momentum": 0.9} | options))

    def early():
        scheduler = s.StepLR(sgd(), 1)
        scheduler.step()
        return scheduler.get_last_lr()

    def replaced():
        optimizer = sgd()
        scheduler = s.StepLR(optimizer, 1)
        optimizer.step = lambda: None
        scheduler.step()

    def too_many():
        optimizer = sgd()
        scheduler = s.OneCycleLR(optimizer, 0.1, total_steps=3)
        for _ in range(5):
            optimizer.step()
            scheduler.step()

    return [
        early, replaced, too_many, lambda: s.StepLR(sgd(), 3).get_lr(), lambda: s.StepLR(3, 1),
        lambda: s.StepLR(sgd(), 3, last_epoch=4), lambda: s.LambdaLR(sgd(), [len, len]),
        lambda: s.MultiplicativeLR(sgd(), 3), lambda: s.ConstantLR(sgd(), 3), lambda: s.LinearLR(sgd(), 0),
        lambda: s.LinearLR(sgd(), 0.5, 3), lambda: s.SequentialLR(sgd(), [], []),
        lambda: s.SequentialLR(sgd(), [3], []),
        lambda: s.ChainedScheduler([]), lambda: s.CosineAnnealingWarmRestarts(sgd(), 0),
        lambda: s.CosineAnnealingWarmRestarts(sgd(), 1, 0), lambda: s.CosineAnnealingWarmRestarts(sgd(), 1, 1, "a"),
        lambda: s.CyclicLR(sgd(), [0.1, 0.2], 0.1), lambda: s.CyclicLR(sgd(), 0.1, 0.1, mode="q"),
        lambda: s.OneCycleLR(sgd(), 0.1), lambda: s.OneCycleLR(sgd(), 0.1, total_steps=0),
        lambda: s.OneCycleLR(sgd(), 0.1, epochs=0, steps_per_epoch=1),
        lambda: s.OneCycleLR(sgd(), 0.1, total_steps=3, pct_start=1),
        lambda: s.ReduceLROnPlateau(sgd(), factor=1.0), lambda: s.ReduceLROnPlateau(sgd(), mode="q"),
        lambda: s.ReduceLROnPlateau(sgd(), min_lr=[1, 2]), lambda: m.optim.SGD([]), lambda: m.optim.SGD(m.zeros(1)),
        lambda: m.optim.SGD([m.zeros(1, requires_grad=True) * 2]), lambda: sgd(lr=-1), lambda: sgd(momentum=-1),
        lambda: sgd(nesterov=True, dampening=1), lambda: m.optim.Adam([m.zeros(1)], betas=(0.9, 1.0)),
        lambda: m.optim.Adam([m.zeros(1)], betas=(0.9, m.tensor(0.9))), lambda: repr(sgd()),
    ]  # fmt: skip


def test_messages_and_warnings():
    both(lambda m: [noted(call) for call in scheduler_calls(m)])


def dataset_class(m):
    data = importlib.import_module(f"{m.__name__}.utils.data")

    class Samples(data.Dataset):
        def __len__(self):
            return 11

        def __getitem__(self, i):
            drawn = (random.random(), int(np.random.randint(1 << 30)), m.rand(2))
            return i * i, np.full(3, i, "float32"), {"a": float(i), "s": str(i)}, *drawn

    return data, Samples()


@pytest.mark.parametrize("options", [
    {"batch_size": 3}, {"batch_size": 3, "shuffle": True}, {"batch_size": 4, "shuffle": True, "drop_last": True},
    {"batch_size": None, "shuffle": True}, {"batch_size": 3, "shuffle": True, "num_workers": 2},
    {"batch_size": 2, "shuffle": True, "num_workers": 2, "persistent_workers": True},
])  # fmt: skip
def test_batches_and_every_random_stream(options):
    def case(m):
        data, samples = dataset_class(m)
        loader = data.DataLoader(samples, **options)
        batches = []
        for epoch in range(2):
            random.seed(epoch)
            np.random.seed(epoch)
            batches += list(loader)
        return [*batches, m.rand(3)]

    both(case)


def test_messages_of_loaders():
    def case(m):
        data, samples = dataset_class(m)
        options = [
            {"num_workers": -1}, {"timeout": -1}, {"prefetch_factor": 2}, {"persistent_workers": True},
            {"sampler": [0], "shuffle": True}, {"batch_sampler": [[0]], "batch_size": 2},
            {"batch_size": None, "drop_last": True}, {"multiprocessing_context": "fork"},
        ]  # fmt: skip
        refused = [outcome(lambda o=o: data.DataLoader(samples, **o)) for o in options]
        return refused + [outcome(lambda: data.random_split(range(10), [3, 3])),
                          outcome(lambda: data.random_split(range(10), [1.5, -0.5])),
                          outcome(lambda: data.default_collate([object()])).partition("<")[0]]  # fmt: skip

    both(case)
