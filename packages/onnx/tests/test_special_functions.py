"""Special functions, polynomials and solvers against tocha's own, which come from SciPy and LAPACK."""

from __future__ import annotations

import numpy as np
import pytest

import tocha
from tocha import special

X = tocha.cat([tocha.linspace(-30, 30, 301, dtype=tocha.float64), tocha.tensor([0.0, 0.5, 1e-3, 100.0, float("nan")])])


def worst(fn, *args):
    """The largest relative error of the exported function."""
    program = tocha.onnx.export(fn, args, verify=False)
    with np.errstate(all="ignore"):
        got, expected = program(*args)[0].numpy(), fn(*args).numpy()
        np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
        np.testing.assert_array_equal(np.isinf(got), np.isinf(expected))
        known = np.isfinite(expected)
        error = np.abs(got - expected)[known] / np.maximum(np.abs(expected[known]), 1e-9)
    return float(error.max())


@pytest.mark.parametrize(("name", "limit"), [
    ("i0e", 1e-12), ("i1e", 1e-12), ("i0", 1e-12), ("i1", 1e-12), ("bessel_j0", 1e-9), ("bessel_j1", 1e-9),
    ("bessel_y0", 1e-8),
    ("bessel_y1", 1e-8), ("modified_bessel_i0", 1e-12), ("modified_bessel_i1", 1e-12), ("modified_bessel_k0", 1e-7),
    ("modified_bessel_k1", 1e-7), ("scaled_modified_bessel_k0", 1e-7), ("scaled_modified_bessel_k1", 1e-7),
    ("spherical_bessel_j0", 1e-9), ("airy_ai", 1e-6), ("digamma", 1e-9), ("gammaln", 1e-6), ("erfcx", 1e-6),
    ("log_ndtr", 1e-6),
])  # fmt: skip
def test_functions_of_one_number(name, limit):
    assert worst(lambda x: getattr(special, name)(x), X) < limit


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_polygamma(n):
    assert worst(lambda x: tocha.polygamma(n, x), X[X != X.round()]) < 1e-8


def test_quantiles():
    p = tocha.cat([tocha.linspace(0, 1, 101, dtype=tocha.float64), tocha.tensor([1e-12, 1e-300, 1.5, -0.5])])
    assert worst(special.ndtri, p) < 1e-12
    assert worst(special.erfinv, p * 2 - 1) < 1e-12


def test_functions_of_two_numbers():
    a, x = tocha.rand(100, dtype=tocha.float64) * 20 + 0.1, tocha.rand(100, dtype=tocha.float64) * 30
    assert worst(special.gammainc, a, x) < 1e-11
    assert worst(special.gammaincc, a, x) < 1e-11
    assert worst(special.zeta, a + 1.1, x - 3) < 1e-9
    assert worst(special.xlog1py, a, x) < 1e-12


@pytest.mark.parametrize("name", [
    *[f"{shift}chebyshev_polynomial_{kind}" for shift in ("", "shifted_") for kind in "tuvw"], "hermite_polynomial_h",
    "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
])  # fmt: skip
def test_polynomials(name):
    x, n = tocha.rand(50, dtype=tocha.float64) * 4 - 2, tocha.randint(-1, 12, (50,)).double()
    assert worst(lambda x, n: getattr(special, name)(x, n), x, n) < 1e-9


def test_solvers_with_a_dynamic_batch():
    tocha.manual_seed(0)
    a, r = tocha.randn(3, 4, 4) + 5 * tocha.eye(4), tocha.randn(3, 4, 2)

    def program(a, r):
        return (
            tocha.linalg.inv(a), tocha.linalg.solve(a, r), tocha.linalg.det(a), tocha.linalg.cholesky(a @ a.mT),
            tocha.linalg.solve_triangular(a, r, upper=True), tocha.linalg.solve_triangular(a, r, upper=False),
            tocha.cholesky_inverse(a.tril()), tocha.cholesky_solve(r, a.triu(), upper=True),
        )  # fmt: skip

    made = tocha.onnx.export(program, (a, r), dynamic_shapes=({0: "n"}, {0: "n"}), verify=False)
    b, s = a[:2] * 1.1, r[:2]
    for got, expected in zip(made(b, s), program(b, s)):
        np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-3, atol=1e-4)
