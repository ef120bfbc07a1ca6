"""The random streams against values that PyTorch 2.13 gave (``reference/make_random.py``); no PyTorch needed."""

import copy
import importlib.util
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from tocha import _random as streams
from tocha._core import dtypes
from tocha._random import Generator

DATA = Path(__file__).parent / "data"
spec = importlib.util.spec_from_file_location("make_random", DATA.parent / "reference/make_random.py")
reference = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reference)
CASES = json.loads((DATA / "random_cases.json").read_text(encoding="utf-8"))
VALUES = np.load(DATA / "random_values.npz")
# The last bits of float32 logarithms and sines differ from one machine to the next, PyTorch's as well.
TOLERANCE = {
    "float16": 1e-3, "bfloat16": 8e-3, "float32": 1e-6, "float64": 1e-14, "complex64": 1e-6, "complex128": 1e-14,
}  # fmt: skip
EXACT = {"uniform", "bernoulli", "randint", "random", "randperm", "multinomial", "poisson", "binomial", "geometric"}


def numpy_dtype(name):
    return dtypes._by_name(name).np


def draw(case, gen):
    function, args = getattr(streams, case["function"]), case.get("args", [])
    if case["function"] == "randperm":
        return function(gen, args[0], numpy_dtype(args[1]))
    dtype = numpy_dtype(case["dtype"])
    if "shape" in case:
        out = reference.empty(np, case["shape"], dtype, case.get("layout"))
        result = function(gen, out, *args)
        assert result is out
        return result
    inputs = [np.array(values, dtype) for values in case["inputs"]]
    if case["function"] == "bernoulli":
        return function(gen, np.empty_like(inputs[0]), inputs[0])
    return function(gen, *inputs, *args)


def name_of(case):
    return "-".join(str(case[key]) for key in ("function", "dtype", "layout", "args") if key in case)


@pytest.mark.parametrize("number", range(len(CASES)), ids=[f"{i}-{name_of(case)}" for i, case in enumerate(CASES)])
def test_values_and_position_equal_pytorchs(number):
    case, expected = CASES[number], VALUES[f"{number}"]
    gen = Generator().manual_seed(number)
    values = draw(case, gen)
    assert values.shape == expected.shape
    if values.dtype.name == "bfloat16":
        expected = expected.view(values.dtype)
    assert values.dtype == expected.dtype
    if case["function"] in EXACT:
        assert np.array_equal(values, expected)
    else:
        wide = np.complex128 if values.dtype.kind == "c" else np.float64
        tolerance = TOLERANCE[values.dtype.name]
        np.testing.assert_allclose(values.astype(wide), expected.astype(wide), rtol=tolerance, atol=tolerance)
    assert streams.randint(gen, np.empty((), np.int64), 0, 2**62) == VALUES["following"][number]


def test_few_normal_numbers_are_equal_to_the_last_bit():
    for number, case in enumerate(CASES):
        if case["function"] == "normal" and case["shape"] == [5]:
            assert draw(case, Generator().manual_seed(number)).tobytes() == VALUES[f"{number}"].tobytes()


def test_states_equal_pytorchs():
    fresh, paired = VALUES["states"]
    assert np.array_equal(Generator().manual_seed(-5).get_state(), fresh)
    gen = Generator().manual_seed(7)
    streams.normal(gen, np.empty(3, np.float32))
    assert np.array_equal(gen.get_state(), paired)
    again = Generator().set_state(paired)
    assert again.initial_seed() == 7 and again.next_normal == gen.next_normal
    assert np.array_equal(streams.normal(again, np.empty(9)), streams.normal(gen, np.empty(9)))


@pytest.mark.parametrize("drawn", [0, 1, 5, 623, 624, 625, 1248])
@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, Generator.clone_state, lambda g: pickle.loads(pickle.dumps(g)),
                  lambda g: Generator().set_state(g.get_state())])  # fmt: skip
def test_copies_go_on_from_the_same_place(drawn, duplicate):
    gen = Generator().manual_seed(3)
    gen.words(drawn)
    streams.normal(gen, np.empty(1))
    other = duplicate(gen)
    assert np.array_equal(other.get_state(), gen.get_state())
    expected = gen.normals(40)
    assert np.array_equal(other.normals(40), expected)
    assert gen.initial_seed() == other.initial_seed() == 3


def test_a_float_normal_in_a_state_is_carried():
    state = Generator().manual_seed(1).get_state()
    state[-8:-4] = np.array([1.5], np.float32).view(np.uint8)
    state[-4] = 1
    assert np.array_equal(Generator().set_state(state).get_state(), state)


@pytest.mark.parametrize("seed, initial", [(0, 0), (-1, 2**64 - 1), (-(2**63), 2**63), (2**64 - 1, 2**64 - 1),
                                           (np.int32(5), 5)])  # fmt: skip
def test_seeds(seed, initial):
    gen = Generator()
    assert gen.initial_seed() == 67280421310721 and gen.device == "cpu"
    assert gen.manual_seed(seed) is gen and gen.initial_seed() == initial
    assert np.array_equal(gen.words(3), Generator().manual_seed(initial % 2**32).words(3))
    new = gen.seed()
    assert gen.initial_seed() == new and 0 <= new < 2**64 and Generator().seed() != new


@pytest.mark.parametrize("seed, error, message", [
    (2**64, ValueError, "Overflow when unpacking long long"), (-(2**63) - 1, ValueError, "Overflow"),
    (1.5, RuntimeError, "manual_seed expected a long, but got float"),
    (True, RuntimeError, "manual_seed expected a long, but got bool"),
    ("a", RuntimeError, "manual_seed expected a long, but got str")])  # fmt: skip
def test_seeds_that_are_refused(seed, error, message):
    with pytest.raises(error, match=message):
        Generator().manual_seed(seed)


def test_states_that_are_refused():
    gen = Generator()
    broken = gen.get_state()
    broken[8] = 7  # how many words are left does not fit where the next one is
    for state, error, message in [
        (gen.get_state().astype(np.int32), TypeError, "RNG state must be a torch.ByteTensor"), ([1], TypeError, "Byte"),
        (np.zeros(5, np.uint8), RuntimeError, "size 5056 but found the input RNG state size to be 5"),
        (np.zeros(5056, np.uint8), RuntimeError, "Invalid mt19937 state"), (broken, RuntimeError, "Invalid mt19937"),
    ]:  # fmt: skip
        with pytest.raises(error, match=message):
            gen.set_state(state)
    for call in (gen.get_offset, lambda: gen.set_offset(1)):
        with pytest.raises(RuntimeError, match="CPU Generator does not use offset"):
            call()
    with pytest.raises(RuntimeError, match="device 'cpu', but got 'cuda'"):
        Generator("cuda")


@pytest.mark.parametrize("shape", [(15,), (16,), (33,), (40000,), (70000, 2)])
@pytest.mark.parametrize(
    "function, args", [("uniform", ()), ("normal", ()), ("exponential", ()), ("bernoulli", (0.3,))])  # fmt: skip
def test_memory_order_is_the_order_of_draws(function, args, shape):
    """Every axis order, and arrays with gaps, get the numbers of a contiguous array in the order of memory."""
    f = getattr(streams, function)
    whole = f(Generator().manual_seed(2), np.empty((2, *shape), np.float64)[..., ::2], *args)
    flipped = f(Generator().manual_seed(2), np.empty((shape[-1] + 1 >> 1, *shape[:-1], 2)).T, *args)
    assert np.array_equal(np.sort(whole, axis=None), np.sort(flipped, axis=None))
    assert np.array_equal(whole.reshape(-1), flipped.T.reshape(-1))


def test_dropout_masks():
    x = np.ones((6, 4), np.float32)
    mask = streams.dropout_mask(Generator().manual_seed(0), x, 0.25)
    drawn = Generator().manual_seed(0).doubles(24)
    assert mask.dtype == bool and np.array_equal(mask.reshape(-1), drawn < 0.75)
    turned = streams.dropout_mask(Generator().manual_seed(0), x.T, 0.25)
    assert np.array_equal(turned.T, mask)
    channels = streams.dropout_mask(Generator().manual_seed(0), np.ones((2, 3, 4, 5), np.float16), 0.25, feature=True)
    assert channels.shape == (2, 3, 1, 1) and np.array_equal(channels.reshape(-1), drawn[:6] < 0.75)
    gen = Generator().manual_seed(0)
    assert streams.dropout_mask(gen, x, 0.0).all() and not streams.dropout_mask(gen, x, 1.0).any()
    assert np.array_equal(gen.get_state(), Generator().manual_seed(0).get_state())
    assert streams.dropout_scale(0.3, np.dtype(np.float32)) == np.float32(1) / np.float32(0.7)


def test_rrelu_draws_for_what_is_not_positive_alone():
    x = np.array([[1.0, -1.0], [0.0, 2.0]])
    slopes = streams.rrelu_slopes(Generator().manual_seed(4), x, 0.1, 0.5)
    drawn = Generator().manual_seed(4).doubles(2) * (0.5 - 0.1) + 0.1
    assert np.array_equal(slopes, [[1, drawn[0]], [drawn[1], 1]])


FLOAT, LONG = np.empty(3, np.float32), np.empty(3, np.int64)


@pytest.mark.parametrize("function, args, error, message", [
    ("normal", (FLOAT, 0, -1.5), RuntimeError, "normal expects std >= 0.0, but found std -1.5"),
    ("normal", (LONG,), NotImplementedError, "\"normal_kernel_cpu\" not implemented for 'Long'"),
    ("uniform", (np.empty(3, bool),), NotImplementedError, "\"check_uniform_bounds\" not implemented for 'Bool'"),
    ("uniform", (FLOAT, 3, 1), RuntimeError, "found from=3 > to=1"),
    ("uniform", (FLOAT, 0, 1e39), RuntimeError, "to is out of bounds for float"),
    ("uniform", (np.empty(3, np.float16), -1e6, 0), RuntimeError, "from is out of bounds for c10::Half"),
    ("uniform", (FLOAT, -3e38, 3e38), RuntimeError, r"to-from <= std::numeric_limits<Float>::max\(\), but found to=3e"),
    ("exponential", (FLOAT, 0), RuntimeError, "exponential_ expects lambda > 0.0, but found lambda=0"),
    ("exponential", (LONG,), RuntimeError, "dtype must be a floating point but you specified Long"),
    ("cauchy", (LONG,), RuntimeError, "dtype must be a floating point but you specified long int"),
    ("cauchy", (FLOAT, 0, -1), RuntimeError, "cauchy_ expects sigma > 0.0, but found sigma=-1"),
    ("log_normal", (FLOAT, 1, 0), RuntimeError, "log_normal_ expects std > 0.0, but found std=0"),
    ("geometric", (FLOAT, 1.0), RuntimeError, r"geometric_ expects p to be in \(0, 1\), but got p=1"),
    ("bernoulli", (FLOAT, 1.5), RuntimeError, r"bernoulli_ expects p to be in \[0, 1\], but got p=1.5"),
    ("bernoulli", (FLOAT, FLOAT * 0 + np.nan), RuntimeError, "Expected p_in >= 0 && p_in <= 1 to be true"),
    ("bernoulli", (FLOAT, LONG), NotImplementedError, "\"bernoulli_tensor_cpu_p_\" not implemented for 'Long'"),
    ("randint", (LONG, 5, 5), RuntimeError, "'from' to be less than 'to', but got from=5 >= to=5"),
    ("randint", (np.empty(3, np.uint8), 0, 300), RuntimeError, "to - 1 is out of bounds for unsigned char"),
    ("randint", (np.empty(3, np.uint8), -1, 30), RuntimeError, "from is out of bounds for unsigned char"),
    ("randint", (np.empty(3, np.float16), 4097, 4098), RuntimeError, "but got from=4100 >= to=4098"),
    ("randint", (np.empty(3, np.complex64), 0, 5), RuntimeError, "handles only integral, floating-point and boolean"),
    ("randint", (np.empty(3, np.int32), -(2**63), None), RuntimeError, "handles only int64, double, float and"),
    ("random", (np.empty(3, np.uint16),), NotImplementedError, "\"random_kernel_cpu\" not implemented for 'UInt16'"),
    ("randperm", (-1,), RuntimeError, "negative dimension -1"),
    ("randperm", (300, np.uint8), RuntimeError, "value cannot be converted to type uint8_t without overflow"),
    ("randperm", (3000, np.float16), RuntimeError, "n cannot be greater than 2049 for Half type"),
    ("randperm", (2**30,), RuntimeError, "randperm expects n < 214748364"),
    ("multinomial", (LONG, 1), RuntimeError, "multinomial only supports floating-point dtypes for input, got: Long"),
    ("multinomial", (np.ones((2, 2, 2)), 1), RuntimeError, "prob_dist must be 1 or 2 dim"),
    ("multinomial", (np.ones(2), 0), RuntimeError, "cannot sample n_sample <= 0 samples"),
    ("multinomial", (np.ones(2), 3), RuntimeError, "cannot sample n_sample > prob_dist.size"),
    ("multinomial", (np.array([1, np.inf]), 1, True), RuntimeError, "contains either `inf`, `nan` or element < 0"),
    ("multinomial", (np.zeros(2), 1), RuntimeError, "sum of probabilities <= 0"),
    ("multinomial", (np.ones((3, 0)), 1, True), RuntimeError, "no categories"),
    ("poisson", (np.array([-1.0]),), RuntimeError, "invalid Poisson rate, expected rate to be non-negative"),
    ("poisson", (np.array([1]),), NotImplementedError, "\"poisson_cpu\" not implemented for 'Long'"),
    ("standard_gamma", (np.ones(3, np.float16),), NotImplementedError, "\"gamma_cpu\" not implemented for 'Half'"),
    ("standard_gamma", (np.array([np.nan]),), RuntimeError, "expected concentration to be non-negative"),
    ("binomial", (np.ones(3), np.ones(3, np.float32)), RuntimeError, "Found dtype Float but expected Double"),
    ("normal_tensor", (np.zeros(3), -np.ones(3)), RuntimeError, "normal expects all elements of std >= 0.0"),
    ("normal_tensor", (0.0, np.ones(3, complex)), RuntimeError, "standard deviation to be non-complex"),
    ("dropout_mask", (FLOAT, 1.5), RuntimeError, "dropout probability has to be between 0 and 1, but got 1.5"),
    ("dropout_mask", (FLOAT, 0.5, True), RuntimeError, "requires at least 2 dimensions in the input"),
    ("rrelu_slopes", (FLOAT, 0.5, 0.2), RuntimeError, "Lower bound should be less than or equal to the upper bound"),
])  # fmt: skip
def test_errors_are_pytorchs(function, args, error, message):
    with pytest.raises(error, match=message):
        getattr(streams, function)(Generator(), *args)


def test_warnings_are_pytorchs():
    with pytest.warns(UserWarning, match=r"to - 1 is out of bounds \[-\(2\^24\), 2\^24\]. Due to precision"):
        streams.randint(Generator(), np.empty(3, np.float32), 0, 2**40)
    with pytest.warns(UserWarning, match="mean is more than 2 std from"):
        streams.trunc_normal(Generator().manual_seed(0), np.empty(3), 3.0, 0.1, 0.0, 2.9 - 0.2)


def test_nothing_is_drawn_for_empty_arrays():
    gen, nothing = Generator().manual_seed(0), np.empty((0, 3), np.float32)
    for function, args in [("uniform", ()), ("normal", ()), ("exponential", ()), ("cauchy", ()), ("log_normal", ()),
                           ("geometric", (0.5,)), ("bernoulli", (0.5,)), ("randint", (0, 5)), ("random", ()),
                           ("trunc_normal", ())]:  # fmt: skip
        assert getattr(streams, function)(gen, nothing, *args) is nothing
    for function in (streams.poisson, streams.standard_gamma, streams.dirichlet):
        assert function(gen, nothing).shape == (0, 3)
    assert streams.binomial(gen, nothing, nothing).shape == (0, 3)
    assert streams.multinomial(gen, nothing, 2).shape == (0, 2)
    assert np.array_equal(gen.get_state(), Generator().manual_seed(0).get_state())


def test_undefined_parameters_of_binomial_give_undefined_numbers():
    values = streams.binomial(Generator(), np.array([10.0, 5.0]), np.array([np.nan, 1.0]))
    assert np.isnan(values[0]) and values[1] == 5
