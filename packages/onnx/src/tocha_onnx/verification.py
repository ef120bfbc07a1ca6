"""Proof of an export: the checker, then onnxruntime against the program at several sizes, on fresh inputs.

Each dynamic size is tried at 1, at the example's and at a larger prime, each without and with onnxruntime's
optimizations; at the example's sizes also with edge values among the inputs. Names, shapes, dtypes and values have to
agree.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tocha.onnx.tracing import evaluate, free_symbols

from .errors import VerificationError
from .runtime import Session, check

if TYPE_CHECKING:
    from .program import ONNXProgram

__all__ = ["Result", "compare", "fresh", "tolerance", "trial_sizes", "verify"]


@dataclass(frozen=True)
class Result:
    """One comparison: the sizes, whether onnxruntime optimized, and the largest absolute difference of any output.

    ``skipped`` says why these sizes could not be tried, and is None where they were.
    """

    sizes: Mapping[str, int]
    optimized: bool
    max_difference: float
    skipped: str | None = None

    @property
    def label(self) -> str:
        """The sizes as text: ``batch=4``."""
        return ", ".join(f"{name}={size}" for name, size in self.sizes.items()) or "as given"


# ---------------------------------------------------------------- what to try


def _primes(above: int) -> Iterator[int]:
    n = max(2, above + 1)
    while True:
        if all(n % k for k in range(2, math.isqrt(n) + 1)):
            yield n
        n += 1


def trial_sizes(program: ONNXProgram) -> list[dict[str, int]]:
    """Values of the dynamic sizes to verify at: the example's, all 1, and larger primes, where the guards allow
    them."""
    capture = program._capture
    environment, dimensions = capture.graph.environment, capture.dimensions
    if not dimensions:
        return [{}]
    example = {d.name: d.example for d in dimensions}
    hints = {d.name: environment.hints[d.name] for d in dimensions}

    def allowed(sizes: Mapping[str, int]) -> bool:
        for d in dimensions:
            if sizes[d.name] < (d.minimum or 0) or (d.maximum is not None and sizes[d.name] > d.maximum):
                return False
        return all(guard.holds(sizes) for guard in environment.guards)

    trials = [example if allowed(example) else hints]
    base = trials[0]
    for d in dimensions:
        for candidate in [{**base, d.name: 1}]:
            if allowed(candidate):
                trials.append(candidate)
    ones = {d.name: 1 for d in dimensions}
    if allowed(ones):
        trials.append(ones)
    taken = {base[d.name] for d in dimensions}
    larger = base
    for _ in range(2):
        larger = _larger(larger, dimensions, allowed, taken)
        trials.append(larger)
        if all(len({trial[d.name] for trial in trials}) >= 3 for d in dimensions):
            break
    unique = []
    for trial in trials:
        if trial not in unique:
            unique.append(trial)
    return unique


def _larger(base: dict[str, int], dimensions: list[Any], allowed: Any, taken: set[int]) -> dict[str, int]:
    """Sizes above the base's, no two the same: primes where the guards allow them."""
    made = dict(base)
    for d in dimensions:
        first = max(4, base[d.name])
        candidates = [p for _, p in zip(range(12), _primes(first))] + [base[d.name] * k for k in (2, 3, 4)]
        for n in [*candidates, *range(base[d.name] + 1, base[d.name] + 65)]:
            if n not in taken and allowed({**made, d.name: n}):
                made[d.name] = n
                taken.add(n)
                break
    return made


def fresh(example: np.ndarray, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    """New values of the kind that the example has: integers are drawn from its own, floats from its range."""
    dtype, size = example.dtype, int(np.prod(shape, dtype=np.int64))
    if not example.size and dtype.kind in "biu":
        return np.zeros(shape, dtype)
    if dtype.kind in "biu":
        made = generator.choice(example.reshape(-1), size).reshape(shape).astype(dtype)
    else:
        made = _fresh_floats(example, size, generator).reshape(shape).astype(dtype)
    return _ordered_as(example, made)


def _ordered_as(example: np.ndarray, made: np.ndarray) -> np.ndarray:
    """Sorted where the example is: edges of bins and offsets have to be."""
    if not example.ndim or example.shape[-1] < 2 or not example.size:
        return made
    return np.sort(made, -1) if bool((example[..., 1:] >= example[..., :-1]).all()) else made


def _fresh_floats(example: np.ndarray, size: int, generator: np.random.Generator) -> np.ndarray:
    values = example.astype(np.float64).reshape(-1)
    values = values[np.isfinite(values)]
    low, high = (values.min(), values.max()) if values.size else (0.0, 0.0)
    if low == high:
        return generator.standard_normal(size) + low if values.size < 2 or low in (0.0, 1.0) else np.full(size, low)
    return np.clip(values.mean() + values.std() * generator.standard_normal(size), low, high)


# ---------------------------------------------------------------- how to compare


def tolerance(dtype: np.dtype, notes: list[str]) -> tuple[float, float]:
    """Relative and absolute tolerance for a dtype; float64 gets float32's where onnxruntime computes in it."""
    if dtype.kind in "biu":
        return 0.0, 0.0
    if dtype.name == "float64":
        return (1e-3, 1e-5) if any("float32" in note for note in notes) else (1e-6, 1e-8)
    return {"float16": (1e-2, 1e-2), "bfloat16": (5e-2, 5e-2)}.get(dtype.name, (1e-3, 1e-5))


def compare(expected: np.ndarray, got: np.ndarray, rtol: float, atol: float) -> tuple[float, str | None]:
    """The largest difference, and what is wrong (None where nothing is)."""
    if got.dtype != expected.dtype:
        return math.inf, f"expected dtype {expected.dtype}, got {got.dtype}"
    if got.shape != expected.shape:
        return math.inf, f"expected shape {list(expected.shape)}, got {list(got.shape)}"
    if not expected.size:
        return 0.0, None
    a, b = expected.astype(np.float64), got.astype(np.float64)
    if expected.dtype.kind in "iu":
        wrong = expected != got
    else:
        finite = np.isfinite(a)
        scale = float(np.abs(a[finite]).max()) if finite.any() else 1.0
        wrong = ~np.isclose(b, a, rtol=rtol, atol=atol * max(1.0, scale), equal_nan=True)
    with np.errstate(invalid="ignore"):
        difference = np.abs(a - b)
    known = difference[~np.isnan(difference)]
    largest = float(known.max()) if known.size else 0.0
    if not wrong.any():
        return largest, None
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    count = int(wrong.sum())
    return largest, (
        f"{count:,} of {wrong.size:,} elements differ, by at most {largest:.3g}; first at {list(place)}: "
        f"expected {expected[place]}, got {got[place]}"
    )


# ---------------------------------------------------------------- the check


def edged(example: np.ndarray, made: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Fresh values, half of them replaced by edges of what the example has: its ends, zeros of both signs, ones."""
    if not example.size or not made.size or example.dtype.kind not in "iufV":
        return made
    values = [example.min(), example.max()]
    if example.dtype.kind in "fV":
        numbers = example.astype(np.float64)
        if not np.isfinite(numbers).all():
            return made
        low, high = numbers.min(), numbers.max()
        values = [low, high, *[v for v in (0.0, -0.0, 1.0, -1.0, 0.5) if low <= v <= high]]
    drawn = generator.choice(np.array(values), made.shape).astype(made.dtype)
    return _ordered_as(example, np.where(generator.random(made.shape) < 0.5, drawn, made))


def _feeds(program: ONNXProgram, sizes: Mapping[str, int], generator: Any, kind: str) -> list[np.ndarray]:
    """Arrays for the inputs: the "example"'s, "fresh" ones, or fresh ones with "edges" among them."""
    capture = program._capture
    arrays = []
    for value, example in zip(capture.graph.inputs, capture.program.examples):
        shape = tuple(evaluate(value.shape, sizes) if free_symbols(value.shape) else value.shape)
        if kind == "example" and shape == tuple(example.shape):
            arrays.append(example)
            continue
        made = fresh(example, shape, generator)
        arrays.append(edged(example, made, generator) if kind == "edges" else made)
    return arrays


def verify(
    program: ONNXProgram,
    *,
    sizes: Any = None,
    rtol: float | None = None,
    atol: float | None = None,
    seed: int = 0,
    reproducer: Path | None = None,
) -> list[Result]:
    """Check a model and compare onnxruntime with the program.

    Args:
        sizes: dictionaries of dynamic sizes to try; None: 1, the example's and a larger prime of each.
        rtol, atol: tolerances, by dtype where None; ``atol`` counts times the largest expected value above 1.
        seed: of the fresh inputs.
        reproducer: folder for the files that show a mismatch; None: beside the model, or a temporary folder.

    Raises:
        VerificationError: a mismatch, with the first operator that differs.
    """
    try:
        check(program._lowered.model, program._lowered.arrays)
    except Exception as error:
        raise VerificationError(f"ONNX's checker refuses the model: {error}") from error
    sessions = {optimized: _session(program, optimized) for optimized in (False, True)}
    generator = np.random.default_rng(seed)
    results: list[Result] = []
    trials = trial_sizes(program) if sizes is None else [dict(trial) for trial in sizes]
    for number, trial in enumerate(trials):
        for kind in ("example", "fresh", "edges") if number == 0 else ("fresh",):
            arrays = _feeds(program, trial, generator, kind)
            required = kind == "example"
            results += _compare_run(program, sessions, trial, arrays, rtol, atol, reproducer, required)
    return results


def _session(program: ONNXProgram, optimized: bool) -> Session:
    try:
        return Session(program._lowered.model, program._lowered.arrays, optimized=optimized)
    except Exception as error:
        how = "with" if optimized else "without"
        raise VerificationError(f"onnxruntime does not load the model {how} optimizations: {error}") from error


def _compare_run(
    program: ONNXProgram, sessions: dict[bool, Session], sizes: Mapping[str, int], arrays: list[np.ndarray],
    rtol: float | None, atol: float | None, reproducer: Path | None, required: bool,
) -> list[Result]:  # fmt: skip
    """``required``: the program has to run on these inputs; fresh ones may be none that it takes."""
    label = Result(sizes, False, 0.0).label
    try:
        with np.errstate(all="ignore"):
            expected = program._capture.program.run(arrays)
    except Exception as error:
        if required:
            raise
        return [Result(sizes, False, 0.0, f"the program itself fails: {type(error).__name__}: {error}")]
    feeds = dict(zip(program.input_names, arrays))
    results = []
    for optimized, session in sessions.items():
        how = "with" if optimized else "without"
        wrong: str | None = None
        largest = 0.0
        try:
            got = session.run(feeds, program.output_names)
        except Exception as error:
            wrong = f"onnxruntime fails: {error}"
        else:
            for name, e, g in zip(program.output_names, expected, got):
                default = tolerance(e.dtype, program._lowered.notes)
                r, a = default[0] if rtol is None else rtol, default[1] if atol is None else atol
                difference, why = compare(e, g, r, a)
                largest = max(largest, difference)
                if why is not None and wrong is None:
                    wrong = f"output {name!r}: {why}"
            if len(got) != len(expected):
                wrong = f"expected {len(expected)} outputs, got {len(got)}"
        if wrong is not None:
            from .bisect import explain

            raise explain(
                program, sizes, arrays, expected, f"at {label}, {how} onnxruntime's optimizations, {wrong}", reproducer
            )
        results.append(Result(dict(sizes), optimized, largest))
    return results
