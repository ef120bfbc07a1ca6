"""Distributions of tocha against PyTorch's, over the table in packages/core/tests/distribution_cases.py."""

import pathlib
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the reference is PyTorch")
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "packages" / "core" / "tests"))

import distribution_cases as table  # noqa: E402

import tocha  # noqa: E402

# tocha gives the mode of the density; PyTorch's formula gives NaN wherever the density has one
BETTER = {("Kumaraswamy", "mode")}
# PyTorch approximates the derivatives of gamma and Dirichlet numbers to about three digits; tocha sums their series
APPROXIMATE = {"Beta", "Chi2", "Dirichlet", "Dirichlet flat", "FisherSnedecor", "Gamma", "InverseGamma", "StudentT",
               "Wishart", "Wishart tril"}  # fmt: skip
# float32; PyTorch's polynomials for the Bessel functions
TOLERANCES = {"GeneralizedPareto": (1e-4, 1e-5), "VonMises": (2e-6, 1e-6)}


@pytest.mark.parametrize("name", list(table.CASES))
def test_answers_equal(name):
    want = table.observe(torch, name)
    got = table.observe(tocha, name, values=want["sample"])
    skipped = {key for key in want if (name, key.split(" ")[0]) in BETTER}
    assert set(want) - skipped <= set(got)
    for key in sorted(set(want) - skipped):
        rtol, atol = TOLERANCES.get(name, (1e-7, 1e-9))
        if name in APPROXIMATE and key.startswith("rsample d"):
            rtol, atol = 5e-3, 1e-3
        np.testing.assert_allclose(got[key], want[key], rtol=rtol, atol=atol, err_msg=key)


@pytest.mark.parametrize(("p", "q"), table.KL_PAIRS)
def test_divergences_equal(p, q):
    want, got = table.divergence(torch, p, q), table.divergence(tocha, p, q)
    np.testing.assert_allclose(got["kl"], want["kl"], rtol=1e-7, atol=1e-9)
    for key in want:
        np.testing.assert_allclose(got.get(key, 0.0), want[key], rtol=1e-6, atol=1e-8, err_msg=key)


def test_every_registered_pair_is_registered():
    def names(module):
        return {(p.__name__, q.__name__) for p, q in module.distributions.kl._KL_REGISTRY}

    assert names(torch) <= names(tocha)
