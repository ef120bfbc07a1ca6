"""Write PyTorch's answers for the table in ``../distribution_cases.py`` to ``../data/distributions.npz``.

python make_distributions.py            (needs torch==2.13.0)
"""

import sys
from pathlib import Path

import numpy as np

TESTS = Path(__file__).parent.parent
FILE = TESTS / "data" / "distributions.npz"


def main() -> None:
    sys.path.insert(0, str(TESTS))
    import distribution_cases as table
    import torch

    stored = {}
    for name in table.CASES:
        for key, value in table.observe(torch, name).items():
            stored[f"{name}/{key}"] = value
    for p, q in table.KL_PAIRS:
        stored[f"kl/{p}/{q}"] = table.divergence(torch, p, q)["kl"]
    np.savez_compressed(FILE, **stored)


if __name__ == "__main__":
    main()
