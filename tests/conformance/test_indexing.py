"""Generated indices against PyTorch: values, assignment, accumulation, gradients and errors."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tocha

SETTINGS = settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def indexed(draw) -> tuple[tuple[int, ...], tuple]:
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    items: list = []
    common = draw(st.sampled_from([(), (1,), (3,), (2, 3)]))
    d = 0
    used_ellipsis = False
    while d < len(shape):
        kind = draw(st.sampled_from(["int", "slice", "none", "ellipsis", "tensor", "list", "mask", "stop", "zero"]))
        n = shape[d]
        if kind == "int":
            items.append(draw(st.integers(-n, n - 1)))
        elif kind == "slice":
            part = st.one_of(st.none(), st.integers(-n - 1, n + 1))
            items.append(slice(draw(part), draw(part), draw(st.sampled_from([None, 1, 2, 3]))))
        elif kind == "none":
            items.append(None)
            if len(items) > 6:
                break
            continue
        elif kind == "ellipsis":
            if used_ellipsis:
                continue
            used_ellipsis = True
            items.append(...)
            d += draw(st.integers(0, len(shape) - d))
            continue
        elif kind == "tensor":
            size = int(np.prod(common))
            values = draw(st.lists(st.integers(-n, n - 1), min_size=size, max_size=size))
            items.append(np.array(values, np.int64).reshape(common))
        elif kind == "zero":
            items.append(np.array(draw(st.integers(0, n - 1)), np.int64))
        elif kind == "list":
            items.append([draw(st.integers(0, n - 1))] * (common[-1] if common else 1))
        elif kind == "mask":
            items.append(np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n))))
        else:
            break
        d += 1
    return shape, tuple(items)


def converted(items: tuple, tensor) -> tuple:
    return tuple([tensor(i) if isinstance(i, np.ndarray) else i for i in items])


def outcome(fn):
    try:
        return fn()
    except Exception as error:
        return error


def same(ours, theirs, what: str) -> None:
    if isinstance(theirs, Exception):
        assert isinstance(ours, Exception), f"{what}: PyTorch raises {theirs!r}, got {ours!r}"
        return
    assert not isinstance(ours, Exception), f"{what}: {ours!r}"
    assert tuple(ours.shape) == tuple(theirs.shape), f"{what}: {tuple(ours.shape)}, expected {tuple(theirs.shape)}"
    np.testing.assert_array_equal(ours.detach().numpy(), theirs.detach().numpy(), err_msg=what)


@SETTINGS
@given(indexed())
def test_reading_and_its_gradient(case) -> None:
    shape, items = case
    raw = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    ours, theirs = tocha.tensor(raw, requires_grad=True), torch.tensor(raw, requires_grad=True)
    a = outcome(lambda: ours[converted(items, tocha.tensor)])
    b = outcome(lambda: theirs[converted(items, torch.tensor)])
    same(a, b, f"x[{items}] of {shape}")
    if isinstance(b, Exception) or not b.requires_grad:
        return
    weight = np.arange(b.numel(), dtype=np.float64).reshape(tuple(b.shape)) + 1
    (a * tocha.tensor(weight)).sum().backward()
    (b * torch.tensor(weight)).sum().backward()
    same(ours.grad, theirs.grad, f"gradient of x[{items}] of {shape}")


@SETTINGS
@given(indexed(), st.booleans())
def test_assignment(case, scalar: bool) -> None:
    shape, items = case
    raw = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    ours, theirs = tocha.tensor(raw), torch.tensor(raw)
    target = outcome(lambda: theirs[converted(items, torch.tensor)])
    if isinstance(target, Exception):
        return
    if any(isinstance(i, (np.ndarray, list)) for i in items) and _repeats(items, shape):
        return  # which of several values stays is not defined
    value = 7.0 if scalar else np.arange(target.numel(), dtype=np.float64).reshape(tuple(target.shape)) * -1

    def write(x, tensor):
        x[converted(items, tensor)] = value if scalar else tensor(value)
        return x

    same(
        outcome(lambda: write(ours, tocha.tensor)),
        outcome(lambda: write(theirs, torch.tensor)),
        f"x[{items}] = … of {shape}",
    )


def _repeats(items: tuple, shape: tuple[int, ...]) -> bool:
    numbers = torch.arange(int(np.prod(shape))).reshape(shape)[converted(items, torch.tensor)]
    return numbers.unique().numel() != numbers.numel()


@SETTINGS
@given(indexed())
def test_assignment_has_gradients(case) -> None:
    shape, items = case
    raw = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    target = outcome(lambda: torch.tensor(raw)[converted(items, torch.tensor)])
    if isinstance(target, Exception) or _repeats(items, shape):
        return
    value = np.ones(tuple(target.shape))
    results = []
    for lib in (tocha, torch):
        x, v = lib.tensor(raw, requires_grad=True), lib.tensor(value, requires_grad=True)
        y = x * 2
        y[converted(items, lib.tensor)] = v * 3
        (y * lib.tensor(raw + 1)).sum().backward()
        results.append((x.grad, v.grad))
    for ours, theirs in zip(*results):
        if theirs is not None:
            same(
                tocha.zeros_like(tocha.tensor(theirs.numpy())) if ours is None else ours,
                theirs,
                f"x[{items}] = v of {shape}",
            )


@settings(max_examples=150, deadline=None)
@given(indexed())
def test_index_put_accumulates(case) -> None:
    shape, items = case
    indices = tuple([i for i in items if isinstance(i, np.ndarray) and i.ndim])
    if not indices or len(indices) > len(shape):
        return
    raw = np.zeros(shape)
    results = []
    for lib in (tocha, torch):
        def run(lib=lib):
            x = lib.tensor(raw)
            place = x[tuple([lib.tensor(i) for i in indices])]
            return x.index_put(
                tuple([lib.tensor(i) for i in indices]), lib.ones(place.shape, dtype=lib.float64), accumulate=True
            )

        results.append(outcome(run))
    same(*results, f"index_put {indices} of {shape}")
