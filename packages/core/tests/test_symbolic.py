"""Symbolic sizes: exact arithmetic, sound decisions, and no way to turn one into a number without a trace of it."""

import copy
import math
import operator
import pickle

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tocha._trace import symbolic
from tocha._trace.symbolic import (
    Environment,
    GuardError,
    SymFloat,
    SymInt,
    evaluate,
    fold,
    free_symbols,
    is_symbolic,
    product,
    structural_key,
    sym_max,
    sym_min,
)

NAMES = ("a", "b", "c")


@pytest.fixture
def environment():
    return Environment()


@pytest.fixture
def n(environment):
    return environment.symbol("n", hint=7)


@pytest.fixture
def m(environment):
    return environment.symbol("m", hint=5)


def guards(environment):
    return [guard.expression for guard in environment.guards]


# A program in integers, as nested tuples: a name, a number, or (operation, left, right).
programs = st.recursive(
    st.sampled_from(NAMES) | st.integers(-6, 6),
    lambda inner: st.tuples(st.sampled_from(["+", "-", "*", "//", "%", "min", "max"]), inner, inner),
    max_leaves=8,
)
values = st.fixed_dictionaries({name: st.integers(2, 40) for name in NAMES})
OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod}
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


def run(program, symbols):
    if isinstance(program, str):
        return symbols[program]
    if isinstance(program, int):
        return program
    kind, left, right = program[0], run(program[1], symbols), run(program[2], symbols)
    if kind in ("min", "max"):
        return (sym_min if kind == "min" else sym_max)(left, right)
    return OPERATIONS[kind](left, right)


def run_both(program, hints, at):
    """The program on symbols, and on the numbers `at`; skips what divides by zero."""
    environment = Environment()
    symbols = {name: environment.symbol(name, hint=hints[name]) for name in NAMES}
    try:
        symbolic_result = run(program, symbols)
        number = run(program, at)
    except ZeroDivisionError:
        assume(False)
    assume(not environment.violations(at))
    return environment, symbolic_result, number


@given(programs, values, values)
@settings(max_examples=300, deadline=None)
def test_evaluating_equals_concrete_arithmetic(program, hints, at):
    _, result, number = run_both(program, hints, at)
    assert evaluate(result, at) == number
    assert eval(repr(result), {"min": min, "max": max}, dict(at)) == number


@given(programs, values)
@settings(max_examples=200, deadline=None)
def test_hint_is_the_value_while_tracing(program, hints):
    environment, result, number = run_both(program, hints, hints)
    assert environment.hint(result) == number


@given(programs, programs, values, values, st.sampled_from(COMPARISONS))
@settings(max_examples=300, deadline=None)
def test_comparisons_are_right_wherever_the_guards_hold(left, right, hints, at, compare):
    environment, difference, number = run_both(("-", left, right), hints, at)
    answer = compare(difference, 0)
    assert isinstance(answer, bool)
    assert answer == compare(environment.hint(difference), 0)
    if not environment.violations(at):
        assert answer == compare(number, 0)


@given(programs, programs, values)
@settings(max_examples=200, deadline=None)
def test_equal_numbers_hash_equal(left, right, hints):
    environment, pair, _ = run_both(("-", left, right), hints, hints)
    symbols = {name: SymInt(symbolic.Polynomial.unknown(name), environment) for name in NAMES}
    x, y = run(left, symbols), run(right, symbols)
    if x == y:
        assert hash(x) == hash(y)
    if structural_key(x) == structural_key(y):
        assert pair == 0


@given(values, values, st.sampled_from(["+", "-", "*", "/", "**"]), st.floats(0.25, 4), st.booleans())
@settings(max_examples=100, deadline=None)
def test_deferred_floats_equal_eager_floats_bit_for_bit(hints, at, kind, number, swap):
    floats = {**OPERATIONS, "/": operator.truediv, "**": operator.pow}
    environment = Environment()
    a, b = (environment.symbol(name, hint=hints[name]) for name in "ab")

    def formula(a, b, root):
        x, y = (number, a * b) if swap else (a + b, number)
        return -(floats[kind](x, y) / root(b)) * 3 + 1 - 2 / a

    assume(kind != "**" or not swap or at["a"] * at["b"] < 100)
    result = formula(a, b, symbolic.sqrt)
    assert isinstance(result, SymFloat) and not environment.guards
    assert evaluate(result, at) == formula(at["a"], at["b"], math.sqrt)
    assert eval(repr(result), {"sqrt": math.sqrt}, dict(at)) == evaluate(result, at)


def test_canonical_form(n, m, environment):
    assert repr(2 * n + 1) == "2*n + 1"
    assert repr((n - 1) // 2 + 1) == "(n + 1)//2"
    assert repr(((n - 1) // 2) // 2 + 1) == "(n + 3)//4"
    assert repr((4 * n + 3) // 4) == "n"
    assert repr((2 * n) % 4) == "2*(n % 2)"
    assert repr(-(n // 2)) == "-(n//2)" and repr(-(-n // 2)) == "(n + 1)//2" and repr(-(-n // m)) == "(n - 1)//m + 1"
    assert repr(n * n * m - 3) == "m*n**2 - 3"
    assert (n * m * 64) // m == n * 64
    assert repr((n * m + m) // (n + 1)) == "m"
    assert type(n - n) is int and type(n // n) is int and type((n * 3) % n) is int
    assert n // (n + 1) == 0 and 1 // n == 0 and -1 // n == -1 and 1 % n == 1
    assert divmod(2 * n + 1, 2) == (n, 1) and divmod(2, n + 1) == (0, 2)
    assert repr(abs(-n)) == "n" and n**0 == 1 and repr(n**3) == "n**3"
    assert math.floor(n) is n and round(n) is n and +n is n
    assert f"{n}|{n + 1:>8}" == "n|   n + 1"
    assert guards(environment) == []


def test_what_bounds_decide_leaves_no_guard(n, m, environment):
    assert n != 0 and n != 1 and n > 1 and n >= 2 and not n < 2 and n == n and n + m == m + n
    assert n * m > n and n // 2 <= n and n // 2 >= 1 and 0 <= n % 3 < 3 and (n + 1) // 2 >= n // 2
    assert sym_min(n, m) <= n and sym_max(n, m) >= m and sym_min(n, m) <= sym_max(n, m)
    assert 2 * n != 3 and bool(n) and n != "n" and n != None and n != 2.5 and n < math.inf  # noqa: E711
    assert sym_min(n, 1) == 1 and repr(sym_max(n, n // 2)) == "n"
    assert guards(environment) == []


def test_an_open_comparison_becomes_one_guard_that_names_its_line(n, m, environment):
    for _ in range(2):
        assert n > 4
    assert not n > 8.5
    assert n != m
    assert guards(environment) == ["n > 4", "n <= 8", "n != m"]
    assert n > 3 and n < 20 and m - n != 0, "follows from the guards"
    assert len(environment.guards) == 3
    guard = environment.guards[0]
    assert guard.source.file == __file__ and guard.source.function.startswith("test_an_open") and not guard.specialises
    assert guard.holds({"n": 5, "m": 5}) and not guard.holds({"n": 4, "m": 5})
    assert environment.violations({"n": 6, "m": 5}) == []
    assert environment.violations({"n": 6, "m": 6}) == [str(environment.guards[2])]
    assert environment.violations({"n": 1, "m": 6}) == ["2 <= n, got 1"]


LEAKS = {
    "range": lambda n: list(range(n)),
    "np.zeros": lambda n: np.zeros(n),
    "np.zeros shape": lambda n: np.zeros((2, n)),
    "np.full": lambda n: np.full(n, 1.0),
    "np.arange": lambda n: np.arange(n),
    "np.array": lambda n: np.array([n, 2]),
    "np.asarray": lambda n: np.asarray(n),
    "reshape": lambda n: np.zeros(14).reshape(n, 2),
    "list product": lambda n: [0] * n,
    "tuple product": lambda n: n * (1,),
    "subscript": lambda n: list(range(100))[n],
    "slice": lambda n: list(range(100))[:n],
    "int": int,
    "float": float,
    "index": operator.index,
    "hash": hash,
    "set": lambda n: n in {1, 2, 3},
    "dict": lambda n: {3: 1}.get(n),
    "sqrt": math.sqrt,
    "format": lambda n: f"{n:03d}",
    "np.multiply": lambda n: np.zeros(3) * np.asarray(n),
    "int of float": lambda n: int(n / 3),
    "round of float": lambda n: round(n * 0.3),
    "floor of float": lambda n: math.floor(symbolic.sqrt(n)),
    "float of float": lambda n: float(1 / n),
    "hash of float": lambda n: hash(1 / n),
    "if of float": lambda n: bool(n / 2),
}


@pytest.mark.parametrize("leak", LEAKS.values(), ids=LEAKS)
def test_no_silent_specialisation(leak):
    environment = Environment()
    concrete, found = leak(7), leak(environment.symbol("n", hint=7))
    assert np.array_equal(concrete, found)
    assert all(guard.source.file == __file__ for guard in environment.guards)
    if leak is LEAKS["if of float"]:
        assert guards(environment) == ["n/2 != 0"]
    else:
        assert environment.violations({"n": 8}) and any(guard.specialises for guard in environment.guards)


@pytest.mark.parametrize("leak", [leak for name, leak in LEAKS.items() if name != "if of float"])
def test_strict_environment_refuses_to_specialise(leak):
    n = Environment(strict=True).symbol("n", hint=7)
    with pytest.raises(GuardError, match=r"n was declared dynamic.*test_symbolic\.py:\d+ in ") as caught:
        leak(n)
    assert caught.value.source.file == __file__


def test_strict_environment_allows_restrictions_but_not_pins():
    environment = Environment(strict=True)
    n = environment.symbol("n", hint=7)
    assert n <= 512 and n != 4
    assert guards(environment) == ["n <= 512", "n != 4"]
    with pytest.raises(GuardError, match="n == 7"):
        n == 7  # noqa: B015
    empty = environment.symbol("e", hint=3, minimum=0)
    with pytest.raises(GuardError, match="e != 0"):
        bool(empty)


def test_sizes_of_zero_and_one_when_allowed():
    environment = Environment()
    n = environment.symbol("n", hint=3, minimum=0, maximum=8)
    assert n >= 0 and n <= 8 and guards(environment) == []
    assert bool(n) and guards(environment) == ["n != 0"]
    zero = environment.symbol("z", hint=0, minimum=0)
    assert not zero
    with pytest.raises(ZeroDivisionError):
        n // zero
    with pytest.raises(ZeroDivisionError):
        n % 0


def test_a_size_that_depends_on_data_has_no_hint():
    environment = Environment()
    n = environment.symbol("found", minimum=0)
    assert n >= 0 and n + 1 > n
    with pytest.raises(GuardError, match=r"depends on data .*\(found\)"):
        n > 3  # noqa: B015
    with pytest.raises(GuardError, match="found"):
        int(n)


def test_bad_symbols():
    environment = Environment()
    environment.symbol("n", hint=4)
    with pytest.raises(ValueError, match="exists already"):
        environment.symbol("n", hint=4)
    with pytest.raises(ValueError, match="identifier"):
        environment.symbol("n//2", hint=4)
    with pytest.raises(ValueError, match="outside 2"):
        environment.symbol("m", hint=1)
    with pytest.raises(ValueError, match="minimum <= maximum"):
        environment.symbol("m", hint=1, minimum=3, maximum=2)
    with pytest.raises(ValueError, match="two traces"):
        environment.symbol("p", hint=4) + Environment().symbol("q", hint=4)


def test_evaluate_walks_containers_and_substitutes(n, m):
    value = ((n, 1), [m + 1], {"pad": n // 2}, slice(None, n, 2), "text", None, 1 / n)
    assert evaluate(value, {"n": 8, "m": 3}) == ((8, 1), [4], {"pad": 4}, slice(None, 8, 2), "text", None, 0.125)
    assert free_symbols(value) == {"n", "m"} and is_symbolic(value) and not is_symbolic(("text", 3, slice(2)))
    other = Environment().symbol("k", hint=9)
    assert repr(evaluate((n + 1) // 2, {"n": 2 * other})) == "k"
    with pytest.raises(KeyError, match="no value for the symbolic size 'm'"):
        evaluate(n + m, {"n": 3})


def test_structural_key_tells_attributes_apart_without_guards(n, environment):
    assert structural_key((n + 1, slice(n))) == structural_key((1 + n, slice(n)))
    distinct = [1, 1.0, True, 0.0, -0.0, n, 1 / n, 2 / n, (1,), [1], "1", None, {"a": 1}, {"a": 2}]
    assert len({structural_key(value) for value in distinct}) == len(distinct)
    assert guards(environment) == []


def test_terms_and_fold_describe_the_expression(n, m):
    assert {(term.coefficient, term.factors) for term in (2 * n * n * m - 3).terms()} == {
        (2, (("m", 1), ("n", 2))),
        (-3, ()),
    }

    class Text:
        """Writes an expression as calls, the way an exporter emits nodes."""

        def __getattr__(self, name):
            return lambda *arguments: f"{name}({', '.join(map(str, arguments))})"

        def constant(self, value):
            return repr(value)

        def symbol(self, name):
            return name

    assert fold((n + 1) // 2, Text()) == "floor_divide(add(n, 1), 2)"
    assert fold(2 * n * m, Text()) == "multiply(multiply(2, m), n)"
    assert fold(sym_min(n, m), Text()) == "minimum(m, n)"
    assert fold(1 / n, Text()) == "divide(1, to_float(n))"
    assert fold(5, Text()) == "5"


def test_rounding_a_deferred_float_stays_symbolic_where_it_is_exact(n, environment):
    assert repr(math.floor(n / 2)) == "n//2" and repr(math.ceil(n / 2)) == "(n + 1)//2"
    assert repr(math.floor(n * 1.5)) == "n + n//2" and repr(math.trunc(n * 0.25)) == "n//4"
    assert guards(environment) == []
    assert math.floor(n * 0.1) == 0 and len(environment.guards) == 1


def test_products_shapes_and_numpy_scalars(n, m, environment):
    assert repr(product((n, 3, m))) == "3*m*n" and product(()) == 1
    assert repr(np.int64(2) * n) == "2*n" and repr(n + np.int32(1)) == "n + 1"
    assert isinstance(np.float32(2) * (1 / n), SymFloat)
    assert max(n, 9) == 9 and guards(environment) == ["n < 9"], "the builtin compares"
    with pytest.raises(TypeError):
        n + "1"
    with pytest.raises(TypeError):
        n // 2.0
    with pytest.raises(TypeError):
        2**n
    with pytest.raises(TypeError):
        np.zeros(3) * n


def test_copies_and_pickles(n):
    assert copy.deepcopy(n) is n
    again = pickle.loads(pickle.dumps(((n + 1) // 2, 1 / n)))
    assert repr(again) == "((n + 1)//2, 1/n)" and evaluate(again, {"n": 5}) == (3, 0.2)
