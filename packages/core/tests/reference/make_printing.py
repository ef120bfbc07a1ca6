"""Write PyTorch's text of the tensors of ``../data/printing_cases.json`` to ``../data/printing_texts.json``.

    python make_printing.py          (needs torch==2.13.0)

A case has ``values`` (nested lists, pairs for complex numbers, or a ramp of ``size`` numbers), ``dtype`` and perhaps
``shape``; what is done with the tensor (``requires_grad``, ``grad``: it comes out of an operator, ``parameter``,
``device``); the ``default`` dtype; the ``options`` of printing. "torch." becomes "tocha.". The tests make their arrays
and tensors with the functions here.
"""

import json
from pathlib import Path

import numpy as np

DATA = Path(__file__).parent.parent / "data"


def array_of(case):
    """The values as a float64, complex128 or integer array; the caller casts to the dtype."""
    values, dtype = case["values"], case["dtype"]
    kind = "float64" if dtype.startswith(("float", "bfloat", "complex")) else dtype
    if isinstance(values, dict):
        array = (values["start"] + values["step"] * np.arange(values["size"])).astype(kind)
    else:
        array = np.array(values, dtype=kind) if values != [] else np.empty(0, kind)
    if dtype.startswith("complex"):
        array = np.ascontiguousarray(array).reshape(-1, 2).view(np.complex128).reshape(-1)
    return array.reshape(case["shape"]) if "shape" in case else array


def tensor_of(module, array, case):
    """The case's tensor, in ``module``: torch or tocha."""
    tensor = module.from_numpy(array).to(getattr(module, case["dtype"]))
    if case.get("parameter"):
        return module.nn.Parameter(tensor)
    if case.get("requires_grad") or case.get("grad"):
        tensor.requires_grad_()
    if case.get("grad"):
        tensor = tensor * 1
    return tensor.to(case.get("device", "cpu"))


def text_of(case):
    """PyTorch's text of a case."""
    import torch

    torch.set_default_dtype(getattr(torch, case.get("default", "float32")))
    with torch._tensor_str.printoptions(**case.get("options", {})):
        text = repr(tensor_of(torch, array_of(case), case))
    torch.set_default_dtype(torch.float32)
    return text.replace("torch.", "tocha.")


def main():
    cases = json.loads((DATA / "printing_cases.json").read_text())
    texts = [text_of(case) for case in cases]
    (DATA / "printing_texts.json").write_text(json.dumps(texts, indent=0) + "\n")
    print(f"{len(texts)} texts")


if __name__ == "__main__":
    main()
