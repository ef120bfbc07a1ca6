"""Writes the files in tests/data/serialization with PyTorch, for the tests that read them without PyTorch.

    pip install torch==2.13.*
    python packages/core/tests/reference/make_serialization.py

Values follow from the elements' numbers, so that the tests can say what they should be. PyTorch's own file names for
storages in the old format are addresses, which differ from run to run; nothing else does.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from pathlib import Path

import torch

FOLDER = Path(__file__).parents[1] / "data/serialization"
DTYPES = (
    "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex128 complex64 uint16 uint32 uint64"
).split()


def ramp(dtype: str) -> torch.Tensor:
    """0, 1, 2, 3, 4, 5 in two rows; alternating for bool, with a negative imaginary part for complex numbers."""
    values = torch.arange(6).reshape(2, 3)
    if dtype == "bool":
        return values % 2 == 1
    if dtype.startswith("complex"):
        return torch.complex(values.double(), -values.double()).to(getattr(torch, dtype))
    return values.to(getattr(torch, dtype))


def tensors() -> dict:
    base = torch.arange(24, dtype=torch.float32)
    grad = torch.arange(3, dtype=torch.float64).requires_grad_()
    attributed = torch.nn.Parameter(torch.ones(2))
    attributed.tag = "kept"
    return {
        "base": base,
        "slice": base[4:10:2],
        "transposed": base.view(4, 6).t(),
        "expanded": base[:2].unsqueeze(1).expand(2, 1000),
        "zero-dim": torch.tensor(7),
        "empty": torch.empty(0, 3),
        "requires grad": grad,
        "parameter": torch.nn.Parameter(torch.arange(4.0).reshape(2, 2)),
        "frozen": torch.nn.Parameter(torch.ones(1), requires_grad=False),
        "attributed": attributed,
        "conjugated": torch.tensor([1 + 2j, 3 - 4j]).conj(),
    }


def others() -> dict:
    return {
        "size": torch.Size([2, 3]),
        "dtype": torch.bfloat16,
        "device": torch.device("cuda", 1),
        "ordered": OrderedDict([("b", 1), ("a", 2)]),
        "counter": Counter("hello"),
        "set": {1, 2},
        "bytes": b"\x00\xff",
        "bytearray": bytearray(b"ab"),
        "numbers": [True, None, -1, 300, 70000, 2**40, -(2**70), 0.1, 1 - 2j],
        "nested": {("a", 1): [(), (1,), (1, (2, [3]))], "ünïcode": "☃"},
    }


def training() -> dict:
    """What a training script saves after two steps: model, optimizer, epoch."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.arange(12.0).reshape(4, 3)).square().sum().backward()
        optimizer.step()
    return {"epoch": 2, "model": model.state_dict(), "optimizer": optimizer.state_dict(), "rng": torch.get_rng_state()}


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    dtypes = {name: ramp(name) for name in DTYPES}
    old = {name: dtypes[name] for name in DTYPES if not name.startswith("uint") or name == "uint8"}
    torch.save({"dtypes": dtypes, "tensors": tensors(), "others": others()}, FOLDER / "zip.pt")
    legacy = {"dtypes": old, "tensors": tensors(), "others": others()}
    torch.save(legacy, FOLDER / "legacy.pt", _use_new_zipfile_serialization=False)
    torch.save(training(), FOLDER / "training.pt")
    torch.save({"eye": torch.eye(3).to_sparse(), "layout": torch.sparse_coo}, FOLDER / "sparse.pt")
    torch.manual_seed(0)
    torch.save(torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU()), FOLDER / "module.pt")
    with torch.serialization.skip_data():
        torch.save({"blank": torch.ones(3)}, FOLDER / "blank.pt")


if __name__ == "__main__":
    main()
