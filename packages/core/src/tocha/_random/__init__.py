"""Random streams equal to PyTorch's on the CPU, on raw NumPy arrays; ``docs/random.md`` has the table of rules."""

from .continuous import cauchy, exponential, log_normal, normal, normal_tensor, uniform
from .discrete import bernoulli, geometric, multinomial, randint, random, randperm
from .generator import Generator
from .noise import alpha_dropout_scale_shift, dropout_mask, dropout_scale, rrelu_slopes
from .rejection import binomial, dirichlet, poisson, standard_gamma
from .trunc_normal import trunc_normal

__all__ = [
    "Generator", "alpha_dropout_scale_shift", "bernoulli", "binomial", "cauchy", "dirichlet",
    "dropout_mask", "dropout_scale", "exponential", "geometric", "log_normal", "multinomial", "normal", "normal_tensor",
    "poisson", "randint", "random", "randperm", "rrelu_slopes", "standard_gamma", "trunc_normal", "uniform",
]  # fmt: skip
