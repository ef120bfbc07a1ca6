"""Each operator of the sample table: gradients to second order, shape rules, and the stand-in device."""

from __future__ import annotations

import numpy as np
import pytest
from operator_samples import SAMPLES, Sample

import tocha
from tocha.autograd import gradcheck, gradgradcheck
from tocha.testing import strict_device

IDS = [s.name for s in SAMPLES]


def tensors(sample: Sample, grad: bool = False, device: str = "cpu") -> list[tocha.Tensor]:
    made = [tocha.tensor(a, device=device) for a in sample.arrays()]
    if grad:
        for t in made:
            if t.is_floating_point():
                t.requires_grad_()
    return made


def test_names_are_unique() -> None:
    assert len(set(IDS)) == len(IDS)


@pytest.mark.parametrize("sample", [s for s in SAMPLES if s.differentiable], ids=lambda s: s.name)
def test_gradient(sample: Sample) -> None:
    assert gradcheck(sample.fn, tensors(sample, True))


@pytest.mark.parametrize("sample", [s for s in SAMPLES if s.differentiable], ids=lambda s: s.name)
def test_second_gradient(sample: Sample) -> None:
    assert gradgradcheck(sample.fn, tensors(sample, True), atol=1e-4)


@pytest.mark.parametrize("sample", [s for s in SAMPLES if s.meta], ids=lambda s: s.name)
def test_shape_rule(sample: Sample) -> None:
    """Meta tensors get the shape and dtype that real ones get."""
    real = sample.fn(*tensors(sample))
    meta = sample.fn(*tensors(sample, device="meta"))
    assert meta.device.type == "meta"
    assert (meta.shape, meta.dtype) == (real.shape, real.dtype)


@pytest.mark.parametrize("sample", [s for s in SAMPLES if s.device], ids=lambda s: s.name)
def test_on_the_device_stand_in(sample: Sample) -> None:
    """The same values and gradients through CuPy's interface, without an implicit copy to the host."""
    host = tensors(sample, True)
    expected = sample.fn(*host)
    with strict_device.install():
        there = tensors(sample, True, "cuda")
        with strict_device.count_transfers() as transfers:
            result = sample.fn(*there)
        assert transfers.synchronisations == sample.waits, "an operator waited for the device"
        assert result.device == tocha.device("cuda", 0)
        np.testing.assert_allclose(result.detach().cpu().numpy(), expected.detach().numpy(), rtol=1e-10, atol=1e-12)
        if sample.differentiable and expected.requires_grad:
            expected.sum().backward()
            result.sum().backward()
            for a, b in zip(host, there):
                if a.grad is not None:
                    np.testing.assert_allclose(b.grad.cpu().numpy(), a.grad.numpy(), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("dtype", [tocha.float32, tocha.float16, tocha.bfloat16], ids=str)
@pytest.mark.parametrize("sample", [s for s in SAMPLES if s.differentiable], ids=lambda s: s.name)
def test_dtype_is_kept(sample: Sample, dtype: tocha.dtype) -> None:
    """No operator widens a dtype by the way, forward or backward."""
    made = [t.to(dtype).requires_grad_() if t.is_floating_point() else t for t in tensors(sample)]
    if dtype is not tocha.float32 and sample.name in ("inv", "solve", "det", "cholesky", "svdvals", "rfft"):
        with pytest.raises(RuntimeError):
            sample.fn(*made)
        return
    result = sample.fn(*made)
    assert result.dtype == dtype
    result.sum().backward()
    for t in made:
        if t.grad is not None:
            assert t.grad.dtype == dtype
