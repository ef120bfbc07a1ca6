"""Makes ``tocha_vision/datasets/digits_data/digits.npz`` from scikit-learn's copy of the data set.

    pip download --no-deps scikit-learn && unzip scikit_learn-*.whl 'sklearn/datasets/data/digits.csv.gz'
    python bundle_digits.py sklearn/datasets/data/digits.csv.gz
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

TARGET = Path(__file__).parents[2] / "src/tocha_vision/datasets/digits_data/digits.npz"


def main(source: str) -> None:
    table = np.loadtxt(source, delimiter=",")
    images, labels = table[:, :64].reshape(-1, 8, 8).astype(np.uint8), table[:, 64].astype(np.uint8)
    if images.shape != (1797, 8, 8) or images.max() != 16 or not np.array_equal(table[:, :64], images.reshape(-1, 64)):
        raise SystemExit(f"{source} is not the data set of 1,797 images with levels 0 to 16")
    np.savez_compressed(TARGET, images=images, labels=labels)
    print(f"{TARGET}: {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
