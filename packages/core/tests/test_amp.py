"""Autocast's dtypes by kind of operator, its bookkeeping, and the gradient scaler's arithmetic."""

import pytest

import tocha
from tocha import nn
from tocha.nn import functional as F

ONES = tocha.ones(2, 2)


def test_products_run_in_bfloat16_and_losses_in_float32():
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32, 4))
    with tocha.autocast("cpu"):
        out = net(tocha.randn(3, 1, 6, 6))
        loss = F.cross_entropy(out, tocha.tensor([0, 1, 2]))
    assert out.dtype is tocha.bfloat16
    assert loss.dtype is tocha.float32
    loss.backward()
    assert {p.grad.dtype for p in net.parameters()} == {tocha.float32}


@pytest.mark.parametrize(("fn", "dtype"), [
    (lambda: ONES @ ONES, "bfloat16"), (lambda: ONES.mm(ONES), "bfloat16"),
    (lambda: tocha.matmul(ONES, ONES), "bfloat16"),
    (lambda: tocha.einsum("ij,jk->ik", ONES, ONES), "bfloat16"), (lambda: ONES.double() @ ONES.double(), "float64"),
    (lambda: nn.LSTM(2, 3)(ONES)[0], "bfloat16"), (lambda: nn.GRU(2, 3)(ONES)[0], "float32"),
    (lambda: ONES + ONES, "float32"), (lambda: F.mse_loss(ONES.bfloat16(), ONES.bfloat16()), "float32"),
    (lambda: tocha.cat([ONES, ONES.bfloat16()]), "float32"),
    (lambda: tocha.linalg.inv(tocha.eye(2).bfloat16()), "float32"),
    (lambda: F.softmax(ONES.bfloat16(), -1), "bfloat16"),
])  # fmt: skip
def test_dtypes_by_kind(fn, dtype):
    with tocha.autocast("cpu"):
        assert fn().dtype.name == dtype


def test_regions_nest_and_end():
    assert not tocha.is_autocast_enabled("cpu")
    with tocha.autocast("cpu", dtype=tocha.float16):
        assert tocha.get_autocast_dtype("cpu") is tocha.float16
        assert (ONES @ ONES).dtype is tocha.float16
        with tocha.autocast("cpu", enabled=False):
            assert (ONES @ ONES).dtype is tocha.float32
        assert tocha.is_autocast_enabled("cpu")
    assert (ONES @ ONES).dtype is tocha.float32
    assert tocha.get_autocast_dtype("cpu") is tocha.bfloat16

    @tocha.autocast("cpu")
    def product():
        return ONES @ ONES

    assert product().dtype is tocha.bfloat16


def test_custom_function_keeps_forwards_autocast():
    class Product(tocha.autograd.Function):
        @staticmethod
        @tocha.amp.custom_fwd(device_type="cpu", cast_inputs=tocha.float32)
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x @ w

        @staticmethod
        @tocha.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            return g @ w.mT, x.mT @ g

    w = tocha.ones(2, 2, requires_grad=True)
    with tocha.autocast("cpu"):
        out = Product.apply(ONES.bfloat16(), w)
        assert out.dtype is tocha.float32
    out.sum().backward()
    assert w.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_scaler_scales_skips_and_adapts():
    w = nn.Parameter(tocha.ones(2))
    optimizer = tocha.optim.SGD([w], lr=0.1)
    scaler = tocha.GradScaler("cpu", init_scale=4.0, growth_interval=1)
    scaler.scale((w * 3).sum()).backward()
    assert w.grad.tolist() == [12.0, 12.0]
    scaler.unscale_(optimizer)
    assert w.grad.tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="already been called on this optimizer"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"step\(\) has already been called"):
        scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 8.0
    before = w.detach().clone()
    optimizer.zero_grad()
    scaler.scale((w * float("inf")).sum()).backward()
    assert scaler.step(optimizer) is None
    scaler.update()
    assert scaler.get_scale() == 4.0
    assert tocha.equal(w.detach(), before)
    other = tocha.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()


def test_errors():
    with pytest.raises(RuntimeError, match="unsupported autocast device_type 'foo'"):
        tocha.autocast("foo")
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        tocha.autocast(3)
    with pytest.raises(AssertionError, match="No inf checks were recorded prior to update"):
        tocha.GradScaler("cpu").update()
    with pytest.warns(UserWarning, match="Disabling autocast"):
        tocha.autocast("cpu", dtype=tocha.float64)
