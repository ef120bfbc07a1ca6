"""The random streams beside PyTorch's: many sizes, dtypes, strides and seeds, and states exchanged both ways."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from tocha import _random as streams
from tocha._core import dtypes
from tocha._random import Generator

REFERENCE = Path(__file__).parents[2] / "packages/core/tests/reference/make_random.py"
spec = importlib.util.spec_from_file_location("make_random", REFERENCE)
reference = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reference)

pytestmark = pytest.mark.filterwarnings("ignore:to - 1 is out of bounds")
FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]
SIZES = [1, 2, 7, 15, 16, 17, 31, 32, 100, 1000, 32769, 100003]
FILLS = [
    ("uniform", (), FLOATS), ("uniform", (-0.37, 0.91), FLOATS), ("normal", (), FLOATS), ("normal", (1.3, 0.7), FLOATS),
    ("exponential", (1.5,), FLOATS), ("cauchy", (0.5, 2.0), FLOATS), ("log_normal", (0.25, 0.5), FLOATS),
    ("geometric", (0.3,), FLOATS + INTEGERS), ("bernoulli", (0.3,), ["bool", *FLOATS, *INTEGERS]),
    ("random", (), ["bool", *FLOATS, *INTEGERS]), ("randint", (5, 2**40), ["int64", "float64"]),
    ("randint", (3, 101), ["uint16", "uint32", "uint64", *FLOATS, *INTEGERS]),
    ("randint", (-7, None), ["int8", "int16", "int32", "int64", *FLOATS]),
    ("trunc_normal", (0.0, 1.0, -1.0, 1.5), ["float32", "float64"]),
    ("trunc_normal", (0.0, 1.0, 0.5, 0.9), ["float32", "float64"]),
]  # fmt: skip
# One unit in the last place of values below 8, and of larger ones relatively, after float32 steps or float64 ones.
NEAR = {"float16": (8e-3, 1e-3), "bfloat16": (6.4e-2, 8e-3), "float32": (1e-6, 1e-6), "float64": (4e-15, 4e-15)}


def numpy_dtype(name):
    return dtypes._by_name(name).np


def to_numpy(tensor):
    array = reference.as_numpy(tensor)
    return array.view(numpy_dtype("bfloat16")) if tensor.dtype == torch.bfloat16 else array


def pair(seed):
    return Generator().manual_seed(seed), torch.Generator().manual_seed(seed)


def assert_same_place(gen, theirs):
    """The same states, but for the last bit of a waiting normal number."""
    state = theirs.get_state().numpy()
    loaded = Generator().set_state(state)
    assert (gen.next_normal is None) == (loaded.next_normal is None)
    if gen.next_normal is not None:
        assert abs(gen.next_normal - loaded.next_normal) < 1e-14
        gen.next_normal = loaded.next_normal
    assert np.array_equal(gen.get_state(), state)


def assert_near(ours, theirs):
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
    if ours.dtype.kind in "biu":
        assert np.array_equal(ours, theirs)
        return
    atol, rtol = NEAR[ours.dtype.name]
    ours, theirs = ours.astype(np.float64), theirs.astype(np.float64)
    np.testing.assert_allclose(ours, theirs, atol=atol, rtol=rtol)
    # Where rounding to the dtype hides the last bits, nearly all are equal.
    if atol > 1e-3:
        assert (ours != theirs).mean() < 1e-3


@pytest.mark.parametrize("function, args, dtype", [(f, args, dtype) for f, args, names in FILLS for dtype in names])
def test_sizes_and_dtypes(function, args, dtype):
    for seed, size in enumerate(SIZES):
        gen, theirs = pair(seed * 1000 - 3)
        case = {"function": function, "args": list(args), "dtype": dtype, "shape": [size]}
        ours = getattr(streams, function)(gen, np.empty(size, numpy_dtype(dtype)), *args)
        assert_near(ours, to_numpy(reference.values_of(case, theirs)))
        assert_same_place(gen, theirs)


@pytest.mark.parametrize("function, args", [
    ("uniform", (-2, 3)), ("randint", (0, 2**35)), ("randint", (0, 17)), ("random", ()), ("bernoulli", (0.7,)),
])  # fmt: skip
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_uniform_numbers_and_integers_are_equal_to_the_last_bit(function, args, dtype):
    if dtype == "float16" and args == (0, 2**35):
        args = (0, 2048)
    for seed in (0, 1, -9, 2**63 + 1):
        gen, theirs = pair(seed)
        case = {"function": function, "args": list(args), "dtype": dtype, "shape": [50001]}
        expected = to_numpy(reference.values_of(case, theirs))
        ours = getattr(streams, function)(gen, np.empty(50001, numpy_dtype(dtype)), *args)
        assert ours.tobytes() == expected.tobytes()


LAYOUTS = {
    "transposed": lambda x: x.swapaxes(0, 1), "permuted": lambda x: x.swapaxes(1, 3).swapaxes(2, 3),
    "sliced": lambda x: x[:, ::2], "sliced transposed": lambda x: x[..., 1::2].swapaxes(0, 3),
    "narrowed": lambda x: x[1:], "one element": lambda x: x[:1, :1].swapaxes(0, 2),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("function, args", [
    ("uniform", (-1, 2)), ("normal", (1, 2)), ("exponential", (1,)), ("randint", (0, 99)), ("bernoulli", (0.4,)),
    ("trunc_normal", (0.0, 1.0, -1.0, 0.5)), ("trunc_normal", (0.0, 1.0, 1.0, 1.5))])  # fmt: skip
def test_strides(function, args, layout):
    shape = (4, 6, 3, 8)
    gen, theirs = pair(11)
    tensor = LAYOUTS[layout](torch.empty(shape))
    if function == "trunc_normal":
        nn.init.trunc_normal_(tensor, *args, generator=theirs)
    else:
        getattr(tensor, reference.METHODS[function])(*args, generator=theirs)
    ours = getattr(streams, function)(gen, LAYOUTS[layout](np.empty(shape, np.float32)), *args)
    assert_near(ours, tensor.numpy())
    assert_same_place(gen, theirs)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_random_factories_like_another_tensor(layout):
    x = torch.empty(4, 6, 3, 8)
    like, ours = LAYOUTS[layout](x), LAYOUTS[layout](x.numpy())
    for theirs, function in ((torch.rand_like, streams.uniform), (torch.randn_like, streams.normal)):
        torch.manual_seed(5)
        assert_near(function(Generator().manual_seed(5), np.empty_like(ours)), theirs(like).numpy())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_dropout(layout, dtype):
    x = LAYOUTS[layout](torch.linspace(-2, 2, 4 * 6 * 3 * 8).reshape(4, 6, 3, 8)).to(getattr(torch, dtype))
    raw = to_numpy(x)
    for p in (0.0, 0.2, 0.7, 1.0):
        for function, feature in ((torch.dropout, False), (torch.feature_dropout, True)):
            torch.manual_seed(3)
            theirs = to_numpy(function(x, p, True))
            mask = streams.dropout_mask(Generator().manual_seed(3), raw, p, feature)
            scale = streams.dropout_scale(p, raw.dtype) if p < 1 else raw.dtype.type(0)
            ours = np.where(mask, raw * scale, raw * raw.dtype.type(0))
            assert np.array_equal(ours.astype(np.float64), theirs.astype(np.float64))
        if 0 < p < 1:
            for function, feature in ((torch.alpha_dropout, False), (torch.feature_alpha_dropout, True)):
                torch.manual_seed(4)
                theirs = to_numpy(function(x, p, True))
                mask = streams.dropout_mask(Generator().manual_seed(4), raw, p, feature)
                scale, shift = streams.alpha_dropout_scale_shift(mask, p, raw.dtype)
                assert np.array_equal((raw * scale + shift).astype(np.float64), theirs.astype(np.float64))


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float64"])
def test_rrelu(dtype):
    x = torch.linspace(-3, 1, 1001).to(getattr(torch, dtype)).reshape(77, 13).T
    torch.manual_seed(1)
    theirs = nn.functional.rrelu(x, 0.1, 0.3, training=True)
    slopes = streams.rrelu_slopes(Generator().manual_seed(1), to_numpy(x), 0.1, 0.3)
    ours = to_numpy(x) * slopes
    if dtype == "bfloat16":  # PyTorch multiplies before it rounds the slope
        np.testing.assert_allclose(ours.astype(np.float32), to_numpy(theirs).astype(np.float32), rtol=8e-3)
    else:
        assert np.array_equal(ours, to_numpy(theirs))


def gamma_shapes(n):
    return np.geomspace(1e-3, 1e4, n)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [1, 9, 1000, 5000])
def test_counts(dtype, n):
    kind = getattr(torch, dtype)
    rates = torch.from_numpy(np.geomspace(1e-3, 1e4, n)).to(kind)
    gen, theirs = pair(n)
    expected = torch.poisson(rates, generator=theirs)
    assert_near(streams.poisson(gen, to_numpy(rates)), to_numpy(expected))
    assert_same_place(gen, theirs)
    if dtype in ("float32", "float64"):
        count = torch.from_numpy(np.geomspace(1, 1e5, n).round()).to(kind)
        for p in np.random.default_rng(0).uniform(0, 1, 3):
            prob = torch.full((), p, dtype=kind)
            expected = torch.binomial(count, prob.expand(n), generator=theirs)
            assert np.array_equal(streams.binomial(gen, count.numpy(), prob.numpy()), expected.numpy())
        assert_same_place(gen, theirs)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 9, 1000, 5000])
def test_gamma_and_dirichlet(dtype, n):
    alpha = torch.from_numpy(gamma_shapes(n)).to(getattr(torch, dtype))
    gen, theirs = pair(n)
    for _ in range(2):
        assert_near(streams.standard_gamma(gen, alpha.numpy()), torch._standard_gamma(alpha, generator=theirs).numpy())
        assert_same_place(gen, theirs)
        rows = torch.stack([alpha, alpha + 1])
        assert_near(streams.dirichlet(gen, rows.numpy()), torch._sample_dirichlet(rows, generator=theirs).numpy())
        assert_same_place(gen, theirs)


@pytest.mark.parametrize("dtype", FLOATS)
def test_bernoulli_of_a_tensor(dtype):
    p = torch.linspace(0, 1, 6000).to(getattr(torch, dtype)).reshape(60, 100)
    for probabilities in (p, p.T, p[:, ::3], p[:1]):
        gen, theirs = pair(8)
        expected = torch.bernoulli(probabilities, generator=theirs)
        raw = to_numpy(probabilities)
        assert_near(streams.bernoulli(gen, np.empty(raw.shape, raw.dtype), raw), to_numpy(expected))
        assert_same_place(gen, theirs)
    gen, theirs = pair(9)
    into = torch.empty(100, 60, dtype=torch.int32).T.bernoulli_(p[:, :1], generator=theirs)
    out = np.empty((100, 60), np.int32).T
    assert np.array_equal(streams.bernoulli(gen, out, to_numpy(p[:, :1])), into.numpy())


@pytest.mark.parametrize("dtype", FLOATS)
def test_multinomial(dtype):
    weights = torch.rand(5, 40, generator=torch.Generator().manual_seed(0)).to(getattr(torch, dtype))
    for rows in (weights, weights[0], weights[:, ::2], weights.T, weights * 1e-4):
        for count, replacement in ((1, False), (1, True), (3, False), (100, True)):
            gen, theirs = pair(count)
            expected = torch.multinomial(rows, count, replacement, generator=theirs)
            ours = streams.multinomial(gen, to_numpy(rows), count, replacement)
            assert ours.dtype == np.int64 and np.array_equal(ours, expected.numpy())
            assert_same_place(gen, theirs)


def test_randperm():
    for n in [0, 1, 2, 3, 16, 100, 1000, 60000]:
        gen, theirs = pair(n)
        assert np.array_equal(streams.randperm(gen, n), torch.randperm(n, generator=theirs).numpy())
        assert_same_place(gen, theirs)


@pytest.mark.parametrize("mean, std", [
    (torch.arange(20.0), torch.ones(20)), (torch.zeros(3, 1), torch.arange(1.0, 9)), (torch.zeros(30), 2.5),
    (1.5, torch.linspace(0, 1, 17)), (torch.zeros(18).half(), torch.full((18,), 0.1)),
    (torch.zeros(18), torch.ones(18).half()),
    (torch.zeros(18), torch.tensor(0.3, dtype=torch.float64)), (torch.zeros(9, dtype=torch.float64), torch.ones(9)),
    (torch.tensor(2.0), torch.ones(18, dtype=torch.float64)),
])  # fmt: skip
def test_normal_of_tensors(mean, std):
    gen, theirs = pair(2)
    expected = torch.normal(mean, std, generator=theirs).numpy()
    ours = streams.normal_tensor(gen, *(x.numpy() if torch.is_tensor(x) else x for x in (mean, std)))
    assert_near(ours, expected)
    assert_same_place(gen, theirs)


@pytest.mark.parametrize("seed", [0, 1, -1, -(2**63), 2**64 - 1, 67280421310721])
def test_states_go_both_ways(seed):
    gen, theirs = pair(seed)
    assert_same_place(gen, theirs)
    assert gen.initial_seed() == theirs.initial_seed()
    for steps in (1, 2, 5, 623, 624, 625, 3000):
        torch.empty(steps).uniform_(generator=theirs)
        torch.empty(3).normal_(generator=theirs)
        gen.set_state(theirs.get_state().numpy())
        assert_near(gen.doubles(9), torch.rand(9, dtype=torch.float64, generator=theirs).numpy())
        gen.normals(1), gen.words(steps)
        theirs.set_state(torch.from_numpy(gen.get_state()))
        assert theirs.initial_seed() == gen.initial_seed()
        expected = torch.empty(11, dtype=torch.float64).normal_(generator=theirs).numpy()
        assert np.array_equal(streams.normal(gen, np.empty(11)), expected)
        assert_same_place(gen, theirs)


def test_a_script_of_many_draws():
    """One stream through all kinds of draws: each has to leave it where the next one starts."""
    gen, theirs = pair(1234)
    order = np.random.default_rng(0).permutation([i for i in range(len(CASES)) for _ in range(2)])
    for number in order:
        case = CASES[number]
        expected = to_numpy(reference.values_of(case, theirs))
        out = np.empty(case["shape"], numpy_dtype(case["dtype"]))
        ours = getattr(streams, case["function"])(gen, out, *case["args"])
        assert_near(ours, expected)
        assert_same_place(gen, theirs)


CASES = [{"function": function, "args": list(args), "dtype": dtype, "shape": [size]} for function, args, dtype in [
    ("uniform", (), "float32"), ("uniform", (), "float64"), ("normal", (), "float32"), ("normal", (), "bfloat16"),
    ("log_normal", (0, 0.5), "float32"), ("randint", (0, 9), "int64"), ("bernoulli", (0.5,), "float32"),
] for size in (3, 5, 17, 700)]  # fmt: skip
