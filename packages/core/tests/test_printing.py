"""The text of tensors against PyTorch 2.13's (``reference/make_printing.py``); no PyTorch needed."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import tocha
from tocha._core.printing import get_printoptions, printoptions, set_printoptions, tensor_str

DATA = Path(__file__).parent / "data"
spec = importlib.util.spec_from_file_location("make_printing", DATA.parent / "reference/make_printing.py")
reference = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reference)
CASES = json.loads((DATA / "printing_cases.json").read_text(encoding="utf-8"))
TEXTS = json.loads((DATA / "printing_texts.json").read_text(encoding="utf-8"))


def name_of(case):
    return "-".join(str(case[key]) for key in ("dtype", "shape", "options", "device", "default") if key in case)


@pytest.mark.parametrize("number", range(len(CASES)), ids=[f"{i}-{name_of(case)}" for i, case in enumerate(CASES)])
def test_text_is_pytorchs(number):
    case = CASES[number]
    before = tocha.get_default_dtype()
    tocha.set_default_dtype(getattr(tocha, case.get("default", "float32")))
    try:
        with printoptions(**case.get("options", {})):
            assert repr(reference.tensor_of(tocha, reference.array_of(case), case)) == TEXTS[number]
    finally:
        tocha.set_default_dtype(before)


def test_options_are_set_and_restored():
    default = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}
    assert get_printoptions() == default
    with pytest.raises(ZeroDivisionError), printoptions(precision=2, sci_mode=True):
        assert get_printoptions() == default | {"precision": 2, "sci_mode": True}
        set_printoptions(linewidth=10)  # sets sci_mode to None as well
        assert get_printoptions() == default | {"precision": 2, "linewidth": 10}
        raise ZeroDivisionError
    assert get_printoptions() == default
    set_printoptions(profile="short", edgeitems=5)
    assert get_printoptions() == default | {"precision": 2, "edgeitems": 5}
    set_printoptions(profile="default")
    assert get_printoptions() == default


def test_strides_do_not_matter():
    base = np.arange(3000.0, dtype=np.float32).reshape(50, 60)
    for view in (base.T, base[::3, ::7], base[:, :1], base[::-1]):
        copy = np.ascontiguousarray(view)
        assert tensor_str(view, dtype_name="float32") == tensor_str(copy, dtype_name="float32")


def test_facts_that_only_arguments_tell():
    def text(**facts):
        return tensor_str(np.ones(2, np.float32), dtype_name="float32", **facts)

    assert text(device="cuda:0") == "tensor([1., 1.], device='cuda:0')"
    assert text(tangent="tensor([1., 2.])") == "tensor([1., 1.], tangent=tensor([1., 2.]))"
    assert text(name="Mine", requires_grad=True) == "Mine([1., 1.], requires_grad=True)"
