"""A table of distributions, and what to ask of each: run with any module of PyTorch's interface.

``reference/make_distributions.py`` stores PyTorch's answers for ``test_distributions.py``; the conformance session
compares them live.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

SCALES, LOCS, PROBS = [0.3, 1.0, 2.5], [-1.5, 0.0, 2.0], [0.1, 0.5, 0.8]
ROWS = [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]
LOGITS = [[-1.0, 0.5, 2.0], [0.0, 0.0, 3.0]]
COVARIANCE = [[2.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 0.5]]
TRIL = [[1.0, 0.0, 0.0], [0.5, 0.7, 0.0], [-0.3, 0.2, 1.2]]

# name -> (class, parameters that get gradients, other arguments)
CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "Bernoulli": ("Bernoulli", {"probs": PROBS}, {}),
    "Bernoulli logits": ("Bernoulli", {"logits": LOCS}, {}),
    "Beta": ("Beta", {"concentration1": [0.4, 2.0, 9.0], "concentration0": [0.7, 1.5, 30.0]}, {}),
    "Binomial": ("Binomial", {"probs": PROBS}, {"total_count": 7}),
    "Binomial logits": ("Binomial", {"logits": LOCS}, {"total_count": 40}),
    "Categorical": ("Categorical", {"probs": ROWS}, {}),
    "Categorical logits": ("Categorical", {"logits": LOGITS}, {}),
    "Cauchy": ("Cauchy", {"loc": LOCS, "scale": SCALES}, {}),
    "Chi2": ("Chi2", {"df": [0.7, 3.0, 12.0]}, {}),
    "ContinuousBernoulli": ("ContinuousBernoulli", {"probs": [0.1, 0.4995, 0.8]}, {}),
    "ContinuousBernoulli logits": ("ContinuousBernoulli", {"logits": LOCS}, {}),
    "Dirichlet": ("Dirichlet", {"concentration": [[0.5, 1.5, 3.0], [4.0, 2.0, 20.0]]}, {}),
    "Dirichlet flat": ("Dirichlet", {"concentration": [0.5, 0.7, 0.9]}, {}),
    "Exponential": ("Exponential", {"rate": SCALES}, {}),
    "FisherSnedecor": ("FisherSnedecor", {"df1": [1.5, 4.0, 10.0], "df2": [3.0, 5.0, 9.0]}, {}),
    "Gamma": ("Gamma", {"concentration": [0.4, 2.0, 30.0], "rate": SCALES}, {}),
    "GeneralizedPareto": (
        "GeneralizedPareto", {"loc": LOCS, "scale": SCALES, "concentration": [0.3, 0.0, -0.4]}, {}),
    "Geometric": ("Geometric", {"probs": PROBS}, {}),
    "Geometric logits": ("Geometric", {"logits": LOCS}, {}),
    "Gumbel": ("Gumbel", {"loc": LOCS, "scale": SCALES}, {}),
    "HalfCauchy": ("HalfCauchy", {"scale": SCALES}, {}),
    "HalfNormal": ("HalfNormal", {"scale": SCALES}, {}),
    "InverseGamma": ("InverseGamma", {"concentration": [0.8, 2.5, 5.0], "rate": SCALES}, {}),
    "Kumaraswamy": ("Kumaraswamy", {"concentration1": [0.5, 2.0, 3.0], "concentration0": [0.7, 1.5, 4.0]}, {}),
    "LKJCholesky": ("LKJCholesky", {"concentration": SCALES}, {"dim": 3}),
    "Laplace": ("Laplace", {"loc": LOCS, "scale": SCALES}, {}),
    "LogNormal": ("LogNormal", {"loc": LOCS, "scale": SCALES}, {}),
    "LogisticNormal": ("LogisticNormal", {"loc": LOCS, "scale": SCALES}, {}),
    "LowRankMultivariateNormal": (
        "LowRankMultivariateNormal",
        {"loc": LOCS, "cov_factor": [[1.0, 0.2], [0.3, -0.4], [0.0, 2.0]], "cov_diag": SCALES}, {}),
    "Multinomial": ("Multinomial", {"probs": ROWS}, {"total_count": 6}),
    "MultivariateNormal covariance": ("MultivariateNormal", {"loc": LOCS, "covariance_matrix": COVARIANCE}, {}),
    "MultivariateNormal precision": ("MultivariateNormal", {"loc": [LOCS, SCALES], "precision_matrix": COVARIANCE}, {}),
    "MultivariateNormal tril": ("MultivariateNormal", {"loc": LOCS, "scale_tril": TRIL}, {}),
    "NegativeBinomial": ("NegativeBinomial", {"total_count": [1.0, 3.5, 10.0], "probs": PROBS}, {}),
    "NegativeBinomial logits": ("NegativeBinomial", {"total_count": [1.0, 3.5, 10.0], "logits": LOCS}, {}),
    "Normal": ("Normal", {"loc": LOCS, "scale": SCALES}, {}),
    "Normal broadcast": ("Normal", {"loc": [[-1.0], [2.0]], "scale": SCALES}, {}),
    "OneHotCategorical": ("OneHotCategorical", {"probs": ROWS}, {}),
    "OneHotCategoricalStraightThrough": ("OneHotCategoricalStraightThrough", {"logits": LOGITS}, {}),
    "Pareto": ("Pareto", {"scale": SCALES, "alpha": [0.8, 1.7, 4.0]}, {}),
    "Poisson": ("Poisson", {"rate": [0.3, 4.0, 25.0]}, {}),
    "RelaxedBernoulli": ("RelaxedBernoulli", {"temperature": 0.7, "probs": PROBS}, {}),
    "RelaxedOneHotCategorical": ("RelaxedOneHotCategorical", {"temperature": 0.7, "logits": LOGITS}, {}),
    "StudentT": ("StudentT", {"df": [0.8, 1.7, 6.0], "loc": LOCS, "scale": SCALES}, {}),
    "Uniform": ("Uniform", {"low": LOCS, "high": [1.0, 0.5, 3.5]}, {}),
    "VonMises": ("VonMises", {"loc": LOCS, "concentration": [0.2, 1.0, 8.0]}, {}),
    "Weibull": ("Weibull", {"scale": SCALES, "concentration": [0.7, 1.5, 3.0]}, {}),
    "Wishart": ("Wishart", {"df": [4.0, 6.5], "covariance_matrix": COVARIANCE}, {}),
    "Wishart tril": ("Wishart", {"df": 5.0, "scale_tril": TRIL}, {}),
}  # fmt: skip


# PyTorch's GeneralizedPareto compares with a float32 constant
FLOAT32 = {"GeneralizedPareto"}


def build(m: Any, name: str) -> tuple[Any, dict[str, Any]]:
    """The distribution and its parameters, which are leaves that want gradients."""
    kind, parameters, rest = CASES[name]
    dtype = "float32" if name in FLOAT32 else "float64"
    leaves = {k: m.tensor(v, dtype=getattr(m, dtype), requires_grad=True) for k, v in parameters.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(m.distributions, kind)(**leaves, **rest), leaves


def _gradients(value: Any, leaves: dict[str, Any], answers: dict, what: str) -> None:
    if not value.requires_grad:
        return
    for leaf in leaves.values():
        leaf.grad = None
    weight = np.cos(np.arange(value.numel(), dtype=np.float64)).reshape(tuple(value.shape))
    if not np.isfinite(value.detach().numpy()).all():
        return
    try:
        (value * value.new_tensor(weight.tolist())).sum().backward(retain_graph=True)
    except (NotImplementedError, RuntimeError):  # no derivative, or PyTorch's Wishart, which overwrites its own mask
        return
    for name, leaf in leaves.items():
        if leaf.grad is not None:
            answers[f"{what} d{name}"] = leaf.grad.numpy().copy()


def observe(m: Any, name: str, values: np.ndarray | None = None, gradients: bool = True) -> dict[str, np.ndarray]:
    """What the distribution answers; where it says NotImplementedError the answer is missing.

    Args:
        values: where to evaluate densities (default: the samples of seed 0).
    """
    answers: dict[str, np.ndarray] = {}
    dist, leaves = build(m, name)

    def ask(what: str, fn: Callable) -> None:
        try:
            value = fn()
        except NotImplementedError:
            return
        answers[what] = value.detach().numpy().copy()
        if gradients:
            _gradients(value, leaves, answers, what)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for what in ("mean", "mode", "variance", "stddev"):
            ask(what, lambda what=what: getattr(dist, what))
        ask("entropy", lambda: dist.entropy())
        ask("perplexity", lambda: dist.perplexity())
        m.manual_seed(0)
        ask("sample", lambda: dist.sample((4,)))
        if dist.has_rsample:
            m.manual_seed(1)
            ask("rsample", lambda: dist.rsample((3,)))
        m.manual_seed(2)
        ask("expanded sample", lambda: dist.expand((2, *dist.batch_shape)).sample((2,)))
        at = m.tensor(answers["sample"] if values is None else values)
        ask("log_prob", lambda: dist.log_prob(at))
        ask("expanded log_prob", lambda: dist.expand((2, *dist.batch_shape)).log_prob(at.unsqueeze(1)))
        ask("cdf", lambda: dist.cdf(at))
        ask("icdf", lambda: dist.icdf(m.full((2, *dist.batch_shape), 0.3, dtype=at.dtype)))
        if dist.has_enumerate_support:
            ask("support", lambda: dist.enumerate_support())
            ask("support flat", lambda: dist.enumerate_support(expand=False))
    answers["shapes"] = np.array([*dist.batch_shape, -1, *dist.event_shape])
    return answers


KL_PAIRS = [  # the names of the cases of p and q
    *[(n, n) for n in (
        "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "ContinuousBernoulli", "Dirichlet", "Exponential",
        "Gamma", "Geometric", "Gumbel", "HalfNormal", "Laplace", "LogNormal", "LowRankMultivariateNormal",
        "MultivariateNormal covariance", "Normal", "OneHotCategorical", "Pareto", "Poisson", "Uniform", "Chi2")],
    ("Bernoulli", "Poisson"), ("Poisson", "Bernoulli"), ("Poisson", "Binomial"),
    *[("Beta", q) for q in ("Pareto", "Exponential", "Gamma", "Normal", "Uniform", "ContinuousBernoulli")],
    *[("ContinuousBernoulli", q) for q in ("Pareto", "Exponential", "Normal", "Uniform")],
    *[("Exponential", q) for q in ("Beta", "ContinuousBernoulli", "Pareto", "Uniform", "Gamma", "Gumbel", "Normal")],
    *[("Gamma", q) for q in (
        "Beta", "ContinuousBernoulli", "Pareto", "Uniform", "Exponential", "Gumbel", "Normal", "Chi2")],
    *[("Gumbel", q) for q in (
        "Beta", "ContinuousBernoulli", "Exponential", "Gamma", "Pareto", "Uniform", "Normal")],
    *[("Laplace", q) for q in (
        "Beta", "ContinuousBernoulli", "Exponential", "Gamma", "Pareto", "Uniform", "Normal")],
    *[("Normal", q) for q in (
        "Beta", "ContinuousBernoulli", "Exponential", "Gamma", "Pareto", "Uniform", "Gumbel", "Laplace")],
    *[("Pareto", q) for q in ("Beta", "ContinuousBernoulli", "Uniform", "Exponential", "Gamma", "Normal")],
    *[("Uniform", q) for q in (
        "Beta", "ContinuousBernoulli", "Exponential", "Gamma", "Gumbel", "Normal", "Pareto")],
    *[("Uniform inside", q) for q in ("Beta", "ContinuousBernoulli", "Exponential", "Gamma", "Uniform", "Pareto low")],
    ("LowRankMultivariateNormal", "MultivariateNormal tril"), ("MultivariateNormal tril", "LowRankMultivariateNormal"),
    ("MultivariateNormal tril", "MultivariateNormal covariance"),
]  # fmt: skip
CASES["Uniform inside"] = ("Uniform", {"low": [0.1, 0.2, 0.4], "high": [0.5, 0.9, 0.8]}, {})
CASES["Pareto low"] = ("Pareto", {"scale": [0.05, 0.1, 0.2], "alpha": [0.8, 1.7, 4.0]}, {})


def divergence(m: Any, p: str, q: str) -> dict[str, np.ndarray]:
    """The divergence and its gradients with respect to both distributions' parameters."""
    (dist_p, leaves_p), (dist_q, leaves_q) = build(m, p), build(m, q)
    value = m.distributions.kl_divergence(dist_p, dist_q)
    answers = {"kl": value.detach().numpy().copy()}
    leaves = {**{f"p.{k}": v for k, v in leaves_p.items()}, **{f"q.{k}": v for k, v in leaves_q.items()}}
    _gradients(value, leaves, answers, "kl")
    return answers
