"""Aliases, writes through them, and the gradients that follow."""

from __future__ import annotations

import numpy as np
import pytest

import tocha
from tocha.autograd import gradcheck

ALIASES = {
    "view": lambda x: x.view(6, 2), "reshape": lambda x: x.reshape(-1), "permute": lambda x: x.permute(1, 0),
    "T": lambda x: x.T, "transpose": lambda x: x.transpose(0, 1), "slice": lambda x: x[1:], "select": lambda x: x[1],
    "strided": lambda x: x[:, ::2], "narrow": lambda x: x.narrow(1, 1, 2), "unsqueeze": lambda x: x.unsqueeze(0),
    "squeeze": lambda x: x.unsqueeze(0).squeeze(0), "flatten": lambda x: x.flatten(),
    "diagonal": lambda x: x.diagonal(), "unfold": lambda x: x.unfold(1, 2, 2), "split": lambda x: x.split(2, 1)[0],
    "chunk": lambda x: x.chunk(2)[1], "unbind": lambda x: x.unbind(1)[1],
    "as_strided": lambda x: x.as_strided((2, 2), (4, 1), 1), "detach": lambda x: x.detach(),
    "view_as": lambda x: x.view_as(x), "movedim": lambda x: x.movedim(0, 1),
    "expand": lambda x: x.unsqueeze(0).expand(1, 3, 4),
}  # fmt: skip
COPIES = {
    "clone": lambda x: x.clone(), "index": lambda x: x[[0, 1]], "mask": lambda x: x[x > 0],
    "contiguous": lambda x: x.T.contiguous(), "reshape": lambda x: x.T.reshape(-1), "cat": lambda x: tocha.cat([x]),
    "flip": lambda x: x.flip(0), "to": lambda x: x.to(tocha.float64),
}  # fmt: skip


@pytest.mark.parametrize("name", ALIASES)
def test_aliases_share_memory_and_version(name: str) -> None:
    x = tocha.arange(12.0).view(3, 4).clone()
    v = ALIASES[name](x)
    assert np.shares_memory(v.numpy(), x.numpy())
    before = x._version
    with tocha.no_grad():
        if v.numpy().flags.writeable:
            v.mul_(2)
            assert x._version == v._version == before + 1


@pytest.mark.parametrize("name", COPIES)
def test_copies_do_not(name: str) -> None:
    x = tocha.arange(12.0).view(3, 4).clone()
    assert not np.shares_memory(COPIES[name](x).numpy(), x.numpy())


def test_view_refuses_what_needs_a_copy() -> None:
    with pytest.raises(RuntimeError, match=r"view size is not compatible.*Use .reshape\(...\) instead"):
        tocha.ones(2, 3).T.view(6)
    with pytest.raises(RuntimeError, match=r"shape '\[4\]' is invalid for input of size 6"):
        tocha.ones(2, 3).view(4)


def test_writing_rows_in_a_loop_has_the_right_gradient() -> None:
    w = tocha.tensor([1.0, 2.0], dtype=tocha.float64, requires_grad=True)

    def run(w: tocha.Tensor) -> tocha.Tensor:
        out = tocha.zeros(3, 2, dtype=tocha.float64)
        h = w
        for t in range(3):
            h = h * w
            out[t] = h
        return out

    assert gradcheck(run, w)
    out = run(w)
    out.sum().backward()
    assert w.grad.tolist() == [2.0 + 3.0 + 4.0, 4.0 + 12.0 + 32.0]


WRITES = {
    "add_": lambda x: x.add_(2), "mul_": lambda x: x.mul_(x + 1), "sub_ alpha": lambda x: x.sub_(x + 1, alpha=0.5),
    "relu_": lambda x: x.relu_(), "exp_": lambda x: x.exp_(), "pow_": lambda x: x.pow_(2),
    "clamp_": lambda x: x.clamp_(-1, 1), "zero_": lambda x: x.zero_(), "fill_": lambda x: x.fill_(3),
    "copy_": lambda x: x.copy_(x * 2 + 1), "setitem": lambda x: x.__setitem__(0, x[1] * 2),
    "slice mul_": lambda x: x[1:].mul_(3), "column copy_": lambda x: x[:, 0].copy_(x[:, 1] * 2),
    "T add_": lambda x: x.T.add_(x.T), "view of view": lambda x: x.view(-1)[2:4].mul_(5),
    "masked_fill_": lambda x: x.masked_fill_(x > 0, 2.0), "diagonal fill_": lambda x: x.diagonal().fill_(1.0),
    "index setitem": lambda x: x.__setitem__([0, 1], x[[1, 0]] * 2),
    "mask setitem": lambda x: x.__setitem__(x > 0, 0.5),
    "index_add_": lambda x: x.index_add_(0, tocha.tensor([1]), x[:1] * 2),
    "/=": lambda x: x.__itruediv__(2), "silent view": lambda x: (x.view(-1), x.mul_(2)),
    "unsqueeze sin_": lambda x: x.unsqueeze(0).sin_(),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITES)
def test_gradient_through_a_write(name: str) -> None:
    start = tocha.tensor([[0.5, -1.5, 0.2], [1.5, 0.3, -0.7]], dtype=tocha.float64, requires_grad=True)

    def run(x: tocha.Tensor) -> tocha.Tensor:
        y = x * 1.5
        WRITES[name](y)
        return y * y

    assert gradcheck(run, start)


def test_aliases_made_before_a_write_follow() -> None:
    x = tocha.ones(2, 2, dtype=tocha.float64, requires_grad=True)
    y = x * 1
    early = y[0]
    y.mul_(3)
    assert early.tolist() == [3.0, 3.0]
    early.sum().backward()
    assert x.grad.tolist() == [[3.0, 3.0], [0.0, 0.0]]


def test_a_write_of_a_tensor_with_history_into_one_without() -> None:
    buffer, w = tocha.zeros(3), tocha.ones(2, requires_grad=True)
    buffer[1:] = w * 2
    assert buffer.requires_grad
    buffer.sum().backward()
    assert w.grad.tolist() == [2.0, 2.0]


def test_parts_of_a_split_cannot_be_written() -> None:
    x = tocha.ones(4, requires_grad=True) * 1
    part = x.split(2)[0]
    with pytest.raises(RuntimeError, match="returns multiple views"):
        part.mul_(2)


def test_expanded_memory_cannot_be_written() -> None:
    with pytest.raises(
        RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"
    ):
        tocha.ones(1).expand(3).add_(1)


@pytest.mark.parametrize(
    ("write", "text"),
    [
        (
            lambda: tocha.ones(2, dtype=tocha.int64).add_(1.5),
            "result type Float can't be cast to the desired output type Long",
        ),
        (
            lambda: tocha.ones(2).add_(tocha.ones(3, 2)),
            r"output with shape \[2\] doesn't match the broadcast shape \[3, 2\]",
        ),
        (lambda: tocha.ones(2).copy_(tocha.ones(3)), "must match the size of tensor b"),
    ],
)
def test_writes_that_do_not_fit(write, text) -> None:
    with pytest.raises(RuntimeError, match=text):
        write()


def test_data_and_detach() -> None:
    x = tocha.ones(2, requires_grad=True)
    y = x * 2
    z = y * y
    y.data.mul_(2)  # not seen
    z.sum().backward()
    y = x * 2
    z = y * y
    y.detach().mul_(2)  # seen
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_detach_in_place_refuses_views() -> None:
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        (tocha.ones(2, requires_grad=True) * 1)[0].detach_()


@pytest.mark.parametrize("dtype", [tocha.float32, tocha.bfloat16, tocha.complex64])
def test_no_rows_can_be_put(dtype: tocha.dtype) -> None:
    x, rows = tocha.ones(5, 5, dtype=dtype, requires_grad=True), tocha.ones(0, 5, dtype=dtype, requires_grad=True)
    nowhere = (tocha.zeros(0, dtype=tocha.int64),)
    for accumulate in (True, False):
        result = tocha.index_put(x, nowhere, rows, accumulate)
        assert tocha.equal(result, x)
        result.real.sum().backward()
        assert rows.grad is not None and rows.grad.shape == (0, 5)
