"""The same seed gives the same numbers: loss curves of the benchmark's workloads and the random functions.

    python seeds.py [--steps 20]

Each workload (weights, data, shuffles and dropout drawn from seed 0) is trained for some steps under PyTorch
and under the framework; every loss must agree to a relative 1e-4 for the first ten steps and 1e-2 after that
(rounding grows through training). Every random function must give PyTorch's values for the same seed.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys

import torch

from common import NAME, compare, framework, short

BENCH = pathlib.Path(__file__).parents[2] / "benchmarks" / "workloads.py"
WORKLOADS = ["simplenet", "mlp", "cnn", "resnet18", "mobile", "gpt", "lstm", "vae"]

FUNCTIONS = {
    "rand": lambda m: m.rand(7, 5), "rand f64": lambda m: m.rand(9, dtype=m.float64), "randn small": lambda m: m.randn(5),
    "randn": lambda m: m.randn(6, 7), "randn twice small": lambda m: m.cat([m.randn(3), m.randn(2)]),
    "randn f64": lambda m: m.randn(40, dtype=m.float64), "randint": lambda m: m.randint(-3, 17, (11,)),
    "randint wide": lambda m: m.randint(0, 2**40, (5,)), "randperm": lambda m: m.randperm(23),
    "rand_like": lambda m: m.rand_like(m.zeros(4, 4)), "randn_like": lambda m: m.randn_like(m.zeros(4, 5)),
    "randint_like": lambda m: m.randint_like(m.zeros(6), 9), "normal": lambda m: m.normal(1.5, 2.0, (20,)),
    "normal tensors": lambda m: m.normal(m.arange(20.0), m.ones(20)), "bernoulli": lambda m: m.bernoulli(m.full((50,), 0.3)),
    "bernoulli_": lambda m: m.empty(50).bernoulli_(0.3), "uniform_": lambda m: m.empty(9).uniform_(-2, 3),
    "normal_": lambda m: m.empty(33).normal_(2, 0.5), "exponential_": lambda m: m.empty(9).exponential_(1.5),
    "geometric_": lambda m: m.empty(9).geometric_(0.3), "cauchy_": lambda m: m.empty(9).cauchy_(),
    "log_normal_": lambda m: m.empty(20).log_normal_(), "random_": lambda m: m.empty(9, dtype=m.int64).random_(100),
    "multinomial": lambda m: m.multinomial(m.tensor([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]]), 2),
    "multinomial replaced": lambda m: m.multinomial(m.tensor([0.1, 0.2, 0.7]), 12, True),
    "dropout": lambda m: m.nn.functional.dropout(m.ones(50), 0.2), "dropout2d": lambda m: m.nn.functional.dropout2d(m.ones(3, 8, 2, 2), 0.5),
    "alpha_dropout": lambda m: m.nn.functional.alpha_dropout(m.ones(50), 0.2, True),
    "rrelu": lambda m: m.nn.functional.rrelu(-m.ones(20), training=True), "poisson": lambda m: m.poisson(m.full((9,), 4.0)),
    "gumbel_softmax": lambda m: m.nn.functional.gumbel_softmax(m.zeros(4, 5)),
    "Linear": lambda m: m.nn.Linear(7, 5).weight.detach(), "Conv2d": lambda m: m.nn.Conv2d(3, 4, 3).bias.detach(),
    "Embedding": lambda m: m.nn.Embedding(10, 6).weight.detach(), "LSTM": lambda m: m.nn.LSTM(4, 3).weight_hh_l0.detach(),
    "MultiheadAttention": lambda m: m.nn.MultiheadAttention(8, 2).in_proj_weight.detach(),
    "Transformer": lambda m: list(m.nn.TransformerEncoderLayer(8, 2, 16).parameters())[-3].detach(),
    "trunc_normal_": lambda m: m.nn.init.trunc_normal_(m.empty(30)), "orthogonal_": lambda m: m.nn.init.orthogonal_(m.empty(6, 4)),
    "sparse_": lambda m: m.nn.init.sparse_(m.empty(10, 6), 0.3), "kaiming": lambda m: m.nn.init.kaiming_normal_(m.empty(6, 8)),
    "xavier": lambda m: m.nn.init.xavier_uniform_(m.empty(6, 8)), "random_split": lambda m: m.tensor(m.utils.data.random_split(range(20), [12, 8])[0].indices),
    "RandomSampler": lambda m: m.tensor(list(m.utils.data.RandomSampler(range(15)))),
    "WeightedRandomSampler": lambda m: m.tensor(list(m.utils.data.WeightedRandomSampler([1.0, 2.0, 3.0], 9))),
    "DataLoader": lambda m: m.cat([b for b in m.utils.data.DataLoader(m.arange(20), batch_size=6, shuffle=True)]),
    "Categorical": lambda m: m.distributions.Categorical(m.tensor([0.1, 0.2, 0.7])).sample((9,)),
    "Normal": lambda m: m.distributions.Normal(0.0, 1.0).sample((20,)), "Gamma": lambda m: m.distributions.Gamma(m.tensor(2.0), m.tensor(1.0)).sample((9,)),
    "Beta": lambda m: m.distributions.Beta(m.tensor(2.0), m.tensor(1.0)).sample((9,)),
    "after many": lambda m: (m.rand(1001), m.randn(3), m.rand(2))[2],
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    fw, good, total = framework(), 0, 0
    import torch.distributions, torch.utils.data  # noqa: E401,F401

    for name, f in FUNCTIONS.items():
        if args.only not in name:
            continue
        total += 1
        torch.manual_seed(1234)
        ref = f(torch)
        try:
            fw.manual_seed(1234)
            why = compare(ref, f(fw))
        except Exception as error:
            why = short(error)
        good += why is None
        if why:
            print(f"differs {name:24}{why}", flush=True)
    curves = 0
    for name in [w for w in WORKLOADS if args.only in w]:
        out = []
        for lib in ("torch", NAME):
            run = subprocess.run([sys.executable, str(BENCH), lib, name, f"--losses={args.steps}"], capture_output=True, text=True)
            out.append(json.loads(run.stdout.splitlines()[-1]) if run.stdout else {"error": run.stderr[-200:]})
        ref, got = out
        if "error" in got:
            print(f"differs {name:24}{got['error']}", flush=True)
            continue
        far = [i for i, (a, b) in enumerate(zip(ref["losses"], got["losses"])) if not abs(a - b) <= (1e-4 if i < 10 else 1e-2) * max(abs(a), 1e-3)]
        curves += not far
        if far:
            i = far[0]
            print(f"differs {name:24}step {i}: loss {got['losses'][i]:.6f}, PyTorch {ref['losses'][i]:.6f}", flush=True)
    print(f"random functions: {good} of {total} equal; loss curves: {curves} of {len(WORKLOADS)} equal")
    return 0 if good == total and curves == len(WORKLOADS) else 1


if __name__ == "__main__":
    sys.exit(main())
