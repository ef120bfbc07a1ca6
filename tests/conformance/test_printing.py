"""The text of tensors beside PyTorch's: the stored cases again, and random tensors of every dtype and shape."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
import torch

import tocha
from tocha._core.printing import printoptions

TESTS = Path(__file__).parents[2] / "packages/core/tests"
spec = importlib.util.spec_from_file_location("make_printing", TESTS / "reference/make_printing.py")
reference = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reference)

SHAPES = [(), (1,), (7,), (30,), (1200,), (0, 4), (3, 5), (1, 1, 2), (40, 50), (2, 3, 4), (7, 8, 30), (2, 2, 2, 2, 3)]
OPTIONS = [
    {}, {"precision": 3, "linewidth": 50}, {"threshold": 20, "edgeitems": 2}, {"sci_mode": True}, {"sci_mode": False},
]  # fmt: skip
DTYPES = "float16 bfloat16 float32 float64 complex64 complex128 uint8 int8 int16 int32 int64 bool".split()


def test_stored_texts_are_what_pytorch_prints():
    cases, texts = (json.loads((TESTS / f"data/printing_{name}.json").read_text()) for name in ("cases", "texts"))
    assert [reference.text_of(case) for case in cases] == texts


def random_tensor(dtype, shape, seed):
    """Numbers of a scale that differs from one seed to the next, some of them whole, zero or not finite."""
    rng = np.random.default_rng(seed)
    spread = seed % 3
    values = rng.normal(size=shape) * 10.0 ** rng.integers(-6, 9) * 10.0 ** rng.uniform(-spread, spread, shape)
    if seed % 4 == 1:
        values = np.round(values)
    special = rng.random(shape)
    values = np.where(special < 0.05, 0, values)
    values = np.where((special > 0.97) & (seed % 5 == 0), rng.choice([np.inf, -np.inf, np.nan]), values)
    tensor = torch.from_numpy(np.asarray(values))
    if dtype.is_complex:
        return torch.complex(tensor, tensor.flip(0) if shape else -tensor).to(dtype)
    return tensor.to(dtype) if dtype.is_floating_point else tensor.nan_to_num(0, 0, 0).clamp(-1e15, 1e15).to(dtype)


def to_tocha(tensor):
    if tensor.dtype == torch.bfloat16:
        return tocha.from_numpy(tensor.float().numpy()).to(tocha.bfloat16)
    return tocha.from_numpy(tensor.numpy())


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_random_tensors(dtype, shape):
    for seed in range(20):
        tensor = random_tensor(getattr(torch, dtype), shape, seed)
        options = OPTIONS[seed % len(OPTIONS)]
        with torch._tensor_str.printoptions(**options), printoptions(**options):
            assert repr(to_tocha(tensor)) == repr(tensor).replace("torch.", "tocha.")


def test_operators_and_views():
    for program in (
        lambda m: m.tensor([1.5], requires_grad=True) * 2, lambda m: m.ones(3, requires_grad=True)[1:],
        lambda m: m.ones(2, 3, requires_grad=True).sum(), lambda m: m.arange(6).reshape(2, 3).t(),
        lambda m: m.ones(3, requires_grad=True).detach(), lambda m: m.zeros(2, 3, device="meta"), lambda m: m.eye(3),
        lambda m: m.ones(2, 3, dtype=m.float16).expand(4, 2, 3), lambda m: m.tensor([[True], [False]]),
    ):  # fmt: skip
        assert repr(program(tocha)) == repr(program(torch)).replace("torch.", "tocha.")
