"""One layer of LSTM (https://doi.org/10.1162/neco.1997.9.8.1735) over a sequence, in one direction.

The gates of all steps get their input's share in one product. Three of the four gates are sigmoids, which are scaled
hyperbolic tangents: halving their weights beforehand leaves one tanh for all four. The gradient scales
with factors that are computed for all steps at once, so that a step back is a few products.
"""

from __future__ import annotations

from typing import Any

from .._core.families import half_as_float, operator
from .._core.tensor import Tensor
from .contraction import linear
from .recurrent import Sizes, is_recorded, previous_states, rows_of, run_by_steps, sequence_infer, steps, through
from .unary import sigmoid, tanh

_ORDER = [0, 1, 3, 2]  # PyTorch's gates are i, f, g, o; here the sigmoids come first: i, f, o, g


def _by_gate(xp: Any, weight: Any) -> Any:
    """Rows of a weight or bias by gate, (4, H, *), those of sigmoids halved."""
    parts = weight.reshape(4, weight.shape[0] // 4, *weight.shape[1:])[xp.asarray(_ORDER)]
    parts[:3] *= 0.5
    return parts


def _kernel(
    xp: Any,
    x: Any,
    h0: Any,
    c0: Any,
    w_ih: Any,
    w_hh: Any,
    b_ih: Any,
    b_hh: Any,
    w_hr: Any,
    sizes: Sizes,
    reverse: bool,
) -> tuple:
    rows, (batch, hidden) = rows_of(x), c0.shape
    total, d = rows.shape[0], x.dtype
    # (4, rows, H): what belongs to one gate lies together
    gates = xp.matmul(rows, _by_gate(xp, w_ih).swapaxes(1, 2))
    if b_ih is not None:
        gates += _by_gate(xp, b_ih + b_hh)[:, None]
    recurrent = xp.ascontiguousarray(_by_gate(xp, w_hh).swapaxes(1, 2))
    cells, squashed, y = xp.empty((total, hidden), d), xp.empty((total, hidden), d), xp.empty((total, h0.shape[-1]), d)
    h, c = h0.copy(), c0.copy()
    share, fresh = xp.empty((4, batch, hidden), d), xp.empty((batch, hidden), d)
    for start, stop, n in steps(x.shape, sizes, reverse):
        z, ct, s, yt = gates[:, start:stop], cells[start:stop], squashed[start:stop], y[start:stop]
        z += xp.matmul(h[:n], recurrent, out=share[:, :n])
        xp.tanh(z, out=z)
        sigmoids = z[:3]
        sigmoids *= 0.5
        sigmoids += 0.5
        xp.multiply(z[1], c[:n], out=ct)
        ct += xp.multiply(z[0], z[3], out=fresh[:n])
        xp.tanh(ct, out=s)
        if w_hr is None:
            xp.multiply(z[2], s, out=yt)
        else:
            xp.matmul(xp.multiply(z[2], s, out=fresh[:n]), w_hr.T, out=yt)
        if n == batch:
            h, c = yt, ct
        else:
            if h.base is not None or c.base is not None:  # views of the results: not to be written
                h, c = h.copy(), c.copy()
            h[:n], c[:n] = yt, ct
    return y.reshape(*x.shape[:-1], h0.shape[-1]), h.copy(), c.copy(), gates, cells, squashed


def _infer(
    x: Any, h0: Any, c0: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, w_hr: Any, sizes: Sizes, reverse: bool
) -> list:
    hidden, d = c0.shape[-1], x.dtype
    y, rows, batch = sequence_infer(x, h0.shape[-1], sizes)
    wide, narrow = (4, rows, hidden), (rows, hidden)
    return [(y, d), ((batch, h0.shape[-1]), d), ((batch, hidden), d), (wide, d), (narrow, d), (narrow, d)]


def _backward_kernel(
    xp: Any, x: Any, h0: Any, c0: Any, w_ih: Any, w_hh: Any, w_hr: Any, y: Any, gates: Any, cells: Any, squashed: Any,
    gy: Any, gh: Any, gc: Any, sizes: Sizes, reverse: bool, need_x: bool,
) -> tuple:  # fmt: skip
    rows, hidden, batch, d = rows_of(x), c0.shape[-1], c0.shape[0], x.dtype
    shape = x.shape
    y = y.reshape(rows.shape[0], -1)
    gy = None if gy is None else gy if sizes is not None else gy.reshape(rows.shape[0], -1)
    i, f, o, g = gates
    # what dc (for i, f, g) and dh (for o) are multiplied by, in each gate; in the end the gradients of the gates
    dz = xp.empty((4, rows.shape[0], hidden), d)
    slopes = 1 - gates[:3]
    slopes *= gates[:3]
    xp.multiply(g, slopes[0], out=dz[0])
    xp.multiply(previous_states(xp, cells, c0, shape, sizes, reverse), slopes[1], out=dz[1])
    xp.multiply(squashed, slopes[2], out=dz[3])
    xp.multiply(i, 1 - g * g, out=dz[2])
    through_cell = o * (1 - squashed * squashed)
    dh = xp.zeros(h0.shape, d) if gh is None else gh.copy()
    dc = xp.zeros(c0.shape, d) if gc is None else gc.copy()
    if w_hr is not None:
        outputs = o * squashed
        projected = xp.empty_like(y)
    recurrent, share = w_hh.reshape(4, hidden, -1), xp.empty((4, *h0.shape), d)
    scratch = xp.empty((batch, hidden), d)
    for start, stop, n in steps(shape, sizes, not reverse):
        k, dhn, dcn = dz[:, start:stop], dh[:n], dc[:n]
        if gy is not None:
            dhn += gy[start:stop]
        if w_hr is None:
            dm = dhn
        else:
            projected[start:stop] = dhn
            dm = xp.matmul(dhn, w_hr)
        dcn += xp.multiply(dm, through_cell[start:stop], out=scratch[:n])
        by_cell, by_state = k[:3], k[3]
        by_cell *= dcn
        by_state *= dm
        dcn *= f[start:stop]
        xp.add.reduce(xp.matmul(k, recurrent, out=share[:, :n]), 0, out=dhn)
    gx = xp.add.reduce(xp.matmul(dz, w_ih.reshape(4, hidden, -1)), 0).reshape(shape) if need_x else None
    columns = dz.swapaxes(1, 2)
    g_ih = xp.matmul(columns, rows).reshape(w_ih.shape)
    g_hh = xp.matmul(columns, previous_states(xp, y, h0, shape, sizes, reverse)).reshape(w_hh.shape)
    return gx, dh, dc, g_ih, g_hh, dz.sum(1).reshape(-1), None if w_hr is None else xp.matmul(projected.T, outputs)


def _backward_infer(x: Any, h0: Any, c0: Any, w_ih: Any, w_hh: Any, w_hr: Any, *rest: Any) -> list:
    d = x.dtype
    specs = [(t.shape, d) for t in (x, h0, c0, w_ih, w_hh)]
    return [*specs, ((w_hh.shape[0],), d), (w_hr.shape if w_hr is not None else (0,), d)]


lstm_backward = operator("lstm_backward", half_as_float(_backward_kernel), None, _backward_infer, arity=13, outputs=7)


def _rule(n: Any, g: Any) -> tuple:
    *inputs, y = n.saved
    sizes, reverse = n.attrs
    if is_recorded(g):
        return through(lambda *again: lstm_by_steps(*(*again, sizes, reverse)), tuple(inputs), n.edges, g)
    x, h0, c0, w_ih, w_hh, b_ih, _, w_hr = inputs
    out = lstm_backward(
        x, h0, c0, w_ih, w_hh, w_hr, y, *n.aux, g.get(0), g.get(1), g.get(2), sizes, reverse, n.edges[0] is not None
    )
    gx, gh, gc, g_ih, g_hh, bias, g_hr = out
    return gx, gh, gc, g_ih, g_hh, *((None, None) if b_ih is None else (bias, bias)), None if w_hr is None else g_hr


lstm_op = operator(
    "lstm_layer", half_as_float(_kernel), _rule, _infer, arity=8, outputs=3, aux=3, save=(0, 1, 2, 3, 4, 5, 6, 7, "y0")
)


def lstm_by_steps(
    x: Any,
    h0: Any,
    c0: Any,
    w_ih: Any,
    w_hh: Any,
    b_ih: Any,
    b_hh: Any,
    w_hr: Any,
    sizes: Sizes = None,
    reverse: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """The decomposition of the layer, step by step: outputs, last hidden state, last cell state."""
    hidden = c0.shape[-1]

    def cell(gates: Any, h: Any, c: Any) -> tuple:
        z = gates + linear(h, w_hh, b_hh)
        i, f, g, o = [z[:, k * hidden : (k + 1) * hidden] for k in range(4)]
        c = sigmoid(f) * c + sigmoid(i) * tanh(g)
        h = sigmoid(o) * tanh(c)
        return h if w_hr is None else linear(h, w_hr), c

    return run_by_steps(cell, linear(x, w_ih, b_ih), (h0, c0), sizes, reverse)
