"""One layer of GRU (https://arxiv.org/abs/1406.1078) or of a plain recurrent network over a sequence, in one
direction."""

from __future__ import annotations

from typing import Any

from .._core.families import half_as_float, operator
from .._core.tensor import Tensor
from .activation import relu
from .contraction import linear
from .recurrent import Sizes, is_recorded, previous_states, rows_of, run_by_steps, sequence_infer, steps, through
from .unary import sigmoid, tanh

# ---------------------------------------------------------------- GRU


def _by_gate(weight: Any) -> Any:
    """Rows of a weight or bias by gate, (3, H, *), those of sigmoids halved."""
    parts = weight.reshape(3, weight.shape[0] // 3, *weight.shape[1:]).copy()
    parts[:2] *= 0.5
    return parts


def _gru_kernel(
    xp: Any, x: Any, h0: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, sizes: Sizes, reverse: bool
) -> tuple:
    """The gates are r, z and n; r and z are sigmoids, computed as scaled tanhs of halved numbers."""
    rows, (batch, hidden) = rows_of(x), h0.shape
    total, d = rows.shape[0], x.dtype
    # (3, rows, H): what belongs to one gate lies together
    gates = xp.matmul(rows, _by_gate(w_ih).swapaxes(1, 2))
    if b_ih is not None:
        bias = _by_gate(b_hh)
        gates += _by_gate(b_ih)[:, None]
        gates[:2] += bias[:2, None]
    memory, y = xp.empty((total, hidden), d), xp.empty((total, hidden), d)
    h, share, scratch = h0.copy(), xp.empty((3, batch, hidden), d), xp.empty((batch, hidden), d)
    recurrent = xp.ascontiguousarray(_by_gate(w_hh).swapaxes(1, 2))
    for start, stop, n in steps(x.shape, sizes, reverse):
        sigmoids, new, yt, m = gates[:2, start:stop], gates[2, start:stop], y[start:stop], memory[start:stop]
        s = xp.matmul(h[:n], recurrent, out=share[:, :n])
        sigmoids += s[:2]
        xp.tanh(sigmoids, out=sigmoids)
        sigmoids *= 0.5
        sigmoids += 0.5
        if b_hh is None:
            m[...] = s[2]
        else:
            xp.add(s[2], bias[2], out=m)
        new += xp.multiply(sigmoids[0], m, out=scratch[:n])
        xp.tanh(new, out=new)
        xp.subtract(h[:n], new, out=yt)
        yt *= sigmoids[1]
        yt += new
        if n == batch:
            h = yt
        else:
            if h.base is not None:  # a view of the result: not to be written
                h = h.copy()
            h[:n] = yt
    return y.reshape(*x.shape[:-1], hidden), h.copy(), gates, memory


def _gru_infer(x: Any, h0: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, sizes: Sizes, reverse: bool) -> list:
    hidden, d = h0.shape[-1], x.dtype
    y, rows, batch = sequence_infer(x, hidden, sizes)
    return [(y, d), ((batch, hidden), d), ((3, rows, hidden), d), ((rows, hidden), d)]


def _gru_backward_kernel(
    xp: Any, x: Any, h0: Any, w_ih: Any, w_hh: Any, y: Any, gates: Any, memory: Any, gy: Any, gh: Any, sizes: Sizes,
    reverse: bool, need_x: bool,
) -> tuple:  # fmt: skip
    rows, (batch, hidden), d, shape = rows_of(x), h0.shape, x.dtype, x.shape
    total = rows.shape[0]
    y = y.reshape(total, hidden)
    gy = None if gy is None else gy if sizes is not None else gy.reshape(total, hidden)
    r, z, new = gates
    before = previous_states(xp, y, h0, shape, sizes, reverse)
    # what dh is multiplied by in each gate; r's share goes through n
    to_new = (1 - z) * (1 - new * new)
    dr = xp.empty((3, total, hidden), d)
    xp.multiply(to_new * memory, r * (1 - r), out=dr[0])
    xp.multiply(before - new, z * (1 - z), out=dr[1])
    xp.multiply(to_new, r, out=dr[2])  # of the recurrent product; the input's share is without r
    dh = xp.zeros(h0.shape, d) if gh is None else gh.copy()
    recurrent, share, kept = (
        w_hh.reshape(3, hidden, hidden), xp.empty((3, batch, hidden), d),
        xp.empty((batch, hidden), d),
    )
    for start, stop, n in steps(shape, sizes, not reverse):
        k, dhn, direct = dr[:, start:stop], dh[:n], to_new[start:stop]
        if gy is not None:
            dhn += gy[start:stop]
        k *= dhn
        direct *= dhn
        xp.multiply(dhn, z[start:stop], out=kept[:n])
        xp.add.reduce(xp.matmul(k, recurrent, out=share[:, :n]), 0, out=dhn)
        dhn += kept[:n]
    g_hh, b_hh = xp.matmul(dr.swapaxes(1, 2), before).reshape(w_hh.shape), dr.sum(1).reshape(-1)
    di = dr
    di[2] = to_new
    gx = xp.add.reduce(xp.matmul(di, w_ih.reshape(3, hidden, -1)), 0).reshape(shape) if need_x else None
    return gx, dh, xp.matmul(di.swapaxes(1, 2), rows).reshape(w_ih.shape), g_hh, di.sum(1).reshape(-1), b_hh


def _gru_backward_infer(x: Any, h0: Any, w_ih: Any, w_hh: Any, *rest: Any) -> list:
    bias = ((w_hh.shape[0],), x.dtype)
    return [*[(t.shape, x.dtype) for t in (x, h0, w_ih, w_hh)], bias, bias]


gru_backward = operator(
    "gru_backward", half_as_float(_gru_backward_kernel), None, _gru_backward_infer, arity=9, outputs=6
)


def _gru_rule(n: Any, g: Any) -> tuple:
    *inputs, y = n.saved
    sizes, reverse = n.attrs
    if is_recorded(g):
        return through(lambda *again: gru_by_steps(*(*again, sizes, reverse)), tuple(inputs), n.edges, g)
    x, h0, w_ih, w_hh, b_ih, _ = inputs
    out = gru_backward(x, h0, w_ih, w_hh, y, *n.aux, g.get(0), g.get(1), sizes, reverse, n.edges[0] is not None)
    return (*out[:4], None, None) if b_ih is None else tuple(out)


gru_op = operator(
    "gru_layer",
    half_as_float(_gru_kernel),
    _gru_rule,
    _gru_infer,
    arity=6,
    outputs=2,
    aux=2,
    save=(0, 1, 2, 3, 4, 5, "y0"),
)


def gru_by_steps(
    x: Any, h0: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, sizes: Sizes = None, reverse: bool = False
) -> tuple[Tensor, Tensor]:
    """The decomposition of the layer, step by step: outputs, last hidden state."""
    hidden = h0.shape[-1]

    def cell(gates: Any, h: Any) -> tuple:
        s = linear(h, w_hh, b_hh)
        r = sigmoid(gates[:, :hidden] + s[:, :hidden])
        z = sigmoid(gates[:, hidden : 2 * hidden] + s[:, hidden : 2 * hidden])
        new = tanh(gates[:, 2 * hidden :] + r * s[:, 2 * hidden :])
        return (new + z * (h - new),)

    return run_by_steps(cell, linear(x, w_ih, b_ih), (h0,), sizes, reverse)


# ---------------------------------------------------------------- plain recurrent network


def _rnn_kernel(
    xp: Any, x: Any, h0: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, sizes: Sizes, reverse: bool, nonlinearity: str
) -> tuple:
    rows, (batch, hidden) = rows_of(x), h0.shape
    y = xp.matmul(rows, w_ih.T)
    if b_ih is not None:
        y += b_ih + b_hh
    h, share, recurrent = h0.copy(), xp.empty((batch, hidden), x.dtype), xp.ascontiguousarray(w_hh.T)
    zero = x.dtype.type(0)
    for start, stop, n in steps(x.shape, sizes, reverse):
        yt = y[start:stop]
        yt += xp.matmul(h[:n], recurrent, out=share[:n])
        if nonlinearity == "tanh":
            xp.tanh(yt, out=yt)
        else:
            xp.maximum(yt, zero, out=yt)
        if n == batch:
            h = yt
        else:
            if h.base is not None:  # a view of the result: not to be written
                h = h.copy()
            h[:n] = yt
    return y.reshape(*x.shape[:-1], hidden), h.copy()


def _rnn_infer(x: Any, h0: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, sizes: Sizes, *rest: Any) -> list:
    y, _, batch = sequence_infer(x, h0.shape[-1], sizes)
    return [(y, x.dtype), ((batch, h0.shape[-1]), x.dtype)]


def _rnn_backward_kernel(
    xp: Any, x: Any, h0: Any, w_ih: Any, w_hh: Any, y: Any, gy: Any, gh: Any, sizes: Sizes, reverse: bool,
    nonlinearity: str, need_x: bool,
) -> tuple:  # fmt: skip
    rows, shape = rows_of(x), x.shape
    total = rows.shape[0]
    y = y.reshape(total, -1)
    gy = None if gy is None else gy if sizes is not None else gy.reshape(total, -1)
    dz = 1 - y * y if nonlinearity == "tanh" else (y > 0).astype(y.dtype)
    dh = xp.zeros(h0.shape, x.dtype) if gh is None else gh.copy()
    for start, stop, n in steps(shape, sizes, not reverse):
        k, dhn = dz[start:stop], dh[:n]
        if gy is not None:
            dhn += gy[start:stop]
        k *= dhn
        xp.matmul(k, w_hh, out=dhn)
    gx = xp.matmul(dz, w_ih).reshape(shape) if need_x else None
    g_hh = xp.matmul(dz.T, previous_states(xp, y, h0, shape, sizes, reverse))
    return gx, dh, xp.matmul(dz.T, rows), g_hh, dz.sum(0)


def _rnn_backward_infer(x: Any, h0: Any, w_ih: Any, w_hh: Any, *rest: Any) -> list:
    return [*[(t.shape, x.dtype) for t in (x, h0, w_ih, w_hh)], ((w_hh.shape[0],), x.dtype)]


rnn_backward = operator(
    "rnn_backward", half_as_float(_rnn_backward_kernel), None, _rnn_backward_infer, arity=7, outputs=5
)


def _rnn_rule(n: Any, g: Any) -> tuple:
    *inputs, y = n.saved
    if is_recorded(g):
        return through(lambda *again: rnn_by_steps(*again, *n.attrs), tuple(inputs), n.edges, g)
    x, h0, w_ih, w_hh, b_ih, _ = inputs
    *out, bias = rnn_backward(x, h0, w_ih, w_hh, y, g.get(0), g.get(1), *n.attrs, n.edges[0] is not None)
    return (*out, None, None) if b_ih is None else (*out, bias, bias)


rnn_op = operator(
    "rnn_layer", half_as_float(_rnn_kernel), _rnn_rule, _rnn_infer, arity=6, outputs=2, save=(0, 1, 2, 3, 4, 5, "y0")
)


def rnn_by_steps(
    x: Any,
    h0: Any,
    w_ih: Any,
    w_hh: Any,
    b_ih: Any,
    b_hh: Any,
    sizes: Sizes = None,
    reverse: bool = False,
    nonlinearity: str = "tanh",
) -> tuple[Tensor, Tensor]:
    """The decomposition of the layer, step by step: outputs, last hidden state."""
    squash = tanh if nonlinearity == "tanh" else relu

    def cell(gates: Any, h: Any) -> tuple:
        return (squash(gates + linear(h, w_hh, b_hh)),)

    return run_by_steps(cell, linear(x, w_ih, b_ih), (h0,), sizes, reverse)
