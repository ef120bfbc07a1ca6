"""Distributions: PyTorch's stored answers, gradients by differences, constraints, transforms and errors."""

from pathlib import Path

import distribution_cases as table
import numpy as np
import pytest

import tocha
from tocha import distributions as D
from tocha.distributions import constraints, transforms

STORED = np.load(Path(__file__).parent / "data" / "distributions.npz")
# the mode of the density, where PyTorch's formula gives NaN
BETTER = {"Kumaraswamy/mode"}
# PyTorch approximates the derivatives of gamma and Dirichlet numbers to about three digits
APPROXIMATE = ("Beta", "Chi2", "Dirichlet", "FisherSnedecor", "Gamma", "InverseGamma", "StudentT", "Wishart")
TOLERANCES = {"GeneralizedPareto": (1e-4, 1e-5), "VonMises": (2e-6, 1e-6)}


@pytest.mark.parametrize("name", list(table.CASES))
def test_answers_are_pytorchs(name):
    want = {key.split("/")[1]: STORED[key] for key in STORED.files if key.startswith(name + "/")}
    got = table.observe(tocha, name, values=want["sample"])
    checked = 0
    for key, expected in want.items():
        if any(f"{name}/{key}".startswith(b) for b in BETTER):
            continue
        rtol, atol = TOLERANCES.get(name, (1e-7, 1e-9))
        if key.startswith("rsample d") and name.startswith(APPROXIMATE):
            rtol, atol = 5e-3, 1e-3
        np.testing.assert_allclose(got[key], expected, rtol=rtol, atol=atol, err_msg=key)
        checked += 1
    assert checked >= 5


@pytest.mark.parametrize(("p", "q"), table.KL_PAIRS)
def test_divergences_are_pytorchs(p, q):
    got = table.divergence(tocha, p, q)["kl"]
    np.testing.assert_allclose(got, STORED[f"kl/{p}/{q}"], rtol=1e-7, atol=1e-9)


def test_gamma_numbers_move_with_their_concentration_as_quantiles_do():
    from scipy.special import gammainc, gammaincinv

    alpha = np.repeat([0.05, 0.5, 1.0, 3.0, 40.0, 900.0, 1500.0, 1e5], 5)
    x = gammaincinv(alpha, np.tile([0.01, 0.2, 0.5, 0.9, 0.995], 8))
    step = 1e-5 * alpha
    u = gammainc(alpha, x)
    want = (gammaincinv(alpha + step, u) - gammaincinv(alpha - step, u)) / (2 * step)
    got = tocha._standard_gamma_grad(tocha.tensor(alpha), tocha.tensor(x)).numpy()
    np.testing.assert_allclose(got, want, rtol=2e-4)


def test_beta_numbers_move_with_their_concentration_as_quantiles_do():
    from scipy.special import betaincinv

    a, b, u = (v.ravel() for v in np.meshgrid([0.3, 2.0, 50.0], [0.4, 3.0, 200.0], [0.05, 0.5, 0.9]))
    x, step = betaincinv(a, b, u), 1e-5 * a
    want = (betaincinv(a + step, b, u) - betaincinv(a - step, b, u)) / (2 * step) / (1 - x)
    got = tocha._dirichlet_grad(tocha.tensor(x), tocha.tensor(a), tocha.tensor(a + b)).numpy()
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-8)


def test_kumaraswamy_mode_is_the_peak():
    d = D.Kumaraswamy(tocha.tensor([2.0, 3.0]), tocha.tensor([1.5, 4.0]))
    x = tocha.linspace(0.001, 0.999, 999).unsqueeze(-1).expand(999, 2)
    peak = x[:, 0][d.log_prob(x).argmax(0)]
    assert tocha.allclose(d.mode, peak, atol=2e-3)


TRANSFORMS = [
    (transforms.ExpTransform(), 0), (transforms.PowerTransform(tocha.tensor(2.0)), 0), (transforms.TanhTransform(), 0),
    (transforms.SigmoidTransform(), 0), (transforms.SoftplusTransform(), 0), (transforms.AffineTransform(1.0, -2.0), 0),
    (transforms.ComposeTransform([transforms.AffineTransform(0.5, 3.0), transforms.SigmoidTransform()]), 0),
    (transforms.CumulativeDistributionTransform(D.Normal(0.0, 1.0)), 0), (transforms.StickBreakingTransform(), 1),
]  # fmt: skip


@pytest.mark.parametrize(("t", "dims"), TRANSFORMS, ids=lambda v: type(v).__name__)
def test_transforms_invert_and_know_their_jacobians(t, dims):
    x = tocha.tensor([0.3, 0.9, 1.4], dtype=tocha.float64)
    y = t(x)
    assert tocha.allclose(t.inv(y), x, rtol=1e-6)
    assert t.inv.inv is t
    assert t.forward_shape(x.shape) == y.shape
    jacobian = tocha.autograd.functional.jacobian(lambda x: t(x)[: len(x)], x)
    want = jacobian.diagonal().abs().log() if dims == 0 else tocha.linalg.slogdet(jacobian).logabsdet
    assert tocha.allclose(t.log_abs_det_jacobian(x, y), want, rtol=1e-6)
    assert tocha.allclose(t.inv.log_abs_det_jacobian(y, x), -want, rtol=1e-6)


@pytest.mark.parametrize("constraint", [
    constraints.real, constraints.positive, constraints.greater_than(2.0), constraints.less_than(-1.0),
    constraints.unit_interval, constraints.interval(-2.0, 3.0), constraints.simplex, constraints.lower_cholesky,
    constraints.positive_definite, constraints.corr_cholesky, constraints.real_vector,
    constraints.cat([constraints.positive, constraints.unit_interval], -1, [1, 2]),
    constraints.stack([constraints.positive, constraints.real, constraints.unit_interval], -1),
], ids=repr)  # fmt: skip
def test_transform_to_reaches_the_region(constraint):
    tocha.manual_seed(0)
    x = tocha.randn(4, 3, 3, dtype=tocha.float64)
    y = D.transform_to(constraint)(x)
    assert constraint.check(y).all()


def test_cache_gives_back_the_very_tensor():
    t = transforms.TanhTransform(cache_size=1)
    x = tocha.tensor([40.0])
    assert t.inv(t(x)) is x
    assert not tocha.isfinite(transforms.TanhTransform().inv(x.tanh())).any()


def test_parameters_and_values_are_validated():
    with pytest.raises(ValueError, match=r"Expected parameter scale \(Tensor of shape \(2,\)\) of distribution Normal"):
        D.Normal(tocha.zeros(2), tocha.tensor([1.0, -1.0]))
    with pytest.raises(ValueError, match=r"to be within the support \(IntegerGreaterThan\(lower_bound=0\)\)"):
        D.Poisson(tocha.tensor(1.0)).log_prob(tocha.tensor(0.5))
    with pytest.raises(ValueError, match="must be specified, but not both"):
        D.Bernoulli()
    with pytest.raises(ValueError, match="not broadcastable with batch_shape"):
        D.Normal(tocha.zeros(3), 1.0).log_prob(tocha.zeros(2))
    with pytest.raises(ValueError, match="at least one-dimensional"):
        D.Categorical(tocha.tensor(1.0))
    with pytest.raises(NotImplementedError, match=r"No KL\(p \|\| q\) is implemented for p type Poisson"):
        D.kl_divergence(D.Poisson(tocha.tensor(1.0)), D.Cauchy(0.0, 1.0))
    assert D.Normal(0.0, -1.0, validate_args=False).scale == -1


def test_own_subclass_and_own_divergence():
    class Shifted(D.Normal):
        def __init__(self, loc):
            super().__init__(loc + 1, 1.0)

    with pytest.raises(NotImplementedError, match="must also define a custom .expand"):
        Shifted(tocha.zeros(2)).expand((3, 2))
    assert tocha.allclose(D.kl_divergence(Shifted(tocha.zeros(2)), D.Normal(0.0, 1.0)), tocha.full((2,), 0.5))


def test_mixture_density_is_the_weighted_sum():
    mixture = D.Categorical(tocha.tensor([0.3, 0.7]))
    parts = D.Normal(tocha.tensor([-1.0, 2.0]), tocha.tensor([0.5, 1.0]))
    d, x = D.MixtureSameFamily(mixture, parts), tocha.tensor([-1.2, 0.0, 2.2])
    want = (parts.log_prob(x.unsqueeze(-1)).exp() * tocha.tensor([0.3, 0.7])).sum(-1).log()
    assert tocha.allclose(d.log_prob(x), want)
    assert d.sample((5,)).shape == (5,)
    assert tocha.allclose(d.mean, tocha.tensor(1.1))


def test_import_is_lazy():
    import subprocess
    import sys

    code = "import tocha, sys; assert 'tocha.distributions' not in sys.modules; assert tocha.distributions.Normal"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
