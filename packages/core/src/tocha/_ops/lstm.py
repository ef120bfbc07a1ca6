"""One layer of LSTM (https://doi.org/10.1162/neco.1997.9.8.1735) over a sequence, in one direction.

The gates of all steps get their input's share in one product. The gates i, f, o of each step are sigmoids, which are
scaled hyperbolic tangents: halving their weights beforehand leaves one tanh for all four gates. The gradient scales
with factors that are computed for all steps at once, so that a step back is a few products.
"""

from __future__ import annotations

from typing import Any

from .._core.families import half_as_float, operator
from .._core.tensor import Tensor
from .contraction import linear
from .recurrent import Sizes, is_recorded, previous_states, rows_of, run_by_steps, sequence_infer, steps, through
from .unary import sigmoid, tanh


def _scale_and_shift(xp: Any, hidden: int, dtype: Any) -> tuple[Any, Any]:
    """What makes sigmoids of tanhs: 0.5 and 0.5 for the gates i, f, o, and 1 and 0 for g."""
    scale, shift = xp.full(4 * hidden, 0.5, dtype), xp.full(4 * hidden, 0.5, dtype)
    scale[2 * hidden : 3 * hidden] = 1
    shift[2 * hidden : 3 * hidden] = 0
    return scale, shift


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
    rows, hidden = rows_of(x), c0.shape[-1]
    total, batch = rows.shape[0], c0.shape[0]
    scale, shift = _scale_and_shift(xp, hidden, x.dtype)
    gates = xp.matmul(rows, (w_ih * scale[:, None]).T)
    if b_ih is not None:
        gates += (b_ih + b_hh) * scale
    recurrent = (w_hh * scale[:, None]).T
    cells, squashed = xp.empty((total, hidden), x.dtype), xp.empty((total, hidden), x.dtype)
    y = xp.empty((total, h0.shape[-1]), x.dtype)
    h, c = h0.copy(), c0.copy()
    share, fresh = xp.empty((batch, 4 * hidden), x.dtype), xp.empty((batch, hidden), x.dtype)
    for start, stop, n in steps(x.shape, sizes, reverse):
        z, ct, s, yt = gates[start:stop], cells[start:stop], squashed[start:stop], y[start:stop]
        z += xp.matmul(h[:n], recurrent, out=share[:n])
        xp.tanh(z, out=z)
        z *= scale
        z += shift
        xp.multiply(z[:, hidden : 2 * hidden], c[:n], out=ct)
        ct += xp.multiply(z[:, :hidden], z[:, 2 * hidden : 3 * hidden], out=fresh[:n])
        xp.tanh(ct, out=s)
        if w_hr is None:
            xp.multiply(z[:, 3 * hidden :], s, out=yt)
        else:
            xp.matmul(xp.multiply(z[:, 3 * hidden :], s, out=fresh[:n]), w_hr.T, out=yt)
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
    wide, narrow = (rows, 4 * hidden), (rows, hidden)
    return [(y, d), ((batch, h0.shape[-1]), d), ((batch, hidden), d), (wide, d), (narrow, d), (narrow, d)]


def _backward_kernel(
    xp: Any, x: Any, h0: Any, c0: Any, w_ih: Any, w_hh: Any, w_hr: Any, y: Any, gates: Any, cells: Any, squashed: Any,
    gy: Any, gh: Any, gc: Any, sizes: Sizes, reverse: bool, need_x: bool,
) -> tuple:  # fmt: skip
    rows, hidden, batch, d = rows_of(x), c0.shape[-1], c0.shape[0], x.dtype
    shape = x.shape
    y = y.reshape(rows.shape[0], -1)
    gy = None if gy is None else gy if sizes is not None else gy.reshape(rows.shape[0], -1)
    i, f, g, o = [gates[:, k * hidden : (k + 1) * hidden] for k in range(4)]
    # what dc (for i, f, g) and dh (for o) are multiplied by, in each gate
    factors = xp.empty((rows.shape[0], 4, hidden), d)
    sigmoids = gates * (1 - gates)
    xp.multiply(g, sigmoids[:, :hidden], out=factors[:, 0])
    before = previous_states(xp, cells, c0, shape, sizes, reverse)
    xp.multiply(before, sigmoids[:, hidden : 2 * hidden], out=factors[:, 1])
    xp.multiply(i, 1 - g * g, out=factors[:, 2])
    xp.multiply(squashed, sigmoids[:, 3 * hidden :], out=factors[:, 3])
    through_cell = o * (1 - squashed * squashed)
    dh = xp.zeros(h0.shape, d) if gh is None else gh.copy()
    dc = xp.zeros(c0.shape, d) if gc is None else gc.copy()
    if w_hr is not None:
        outputs = o * squashed
        projected = xp.empty_like(y)
    scratch = xp.empty((batch, hidden), d)
    for start, stop, n in steps(shape, sizes, not reverse):
        k, dhn, dcn = factors[start:stop], dh[:n], dc[:n]
        if gy is not None:
            dhn += gy[start:stop]
        if w_hr is None:
            dm = dhn
        else:
            projected[start:stop] = dhn
            dm = xp.matmul(dhn, w_hr)
        dcn += xp.multiply(dm, through_cell[start:stop], out=scratch[:n])
        k[:, :3] *= dcn[:, None]
        k[:, 3] *= dm
        dcn *= f[start:stop]
        xp.matmul(k.reshape(n, 4 * hidden), w_hh, out=dhn)
    dz = factors.reshape(rows.shape[0], 4 * hidden)
    gx = xp.matmul(dz, w_ih).reshape(shape) if need_x else None
    g_ih = xp.matmul(dz.T, rows)
    g_hh = xp.matmul(dz.T, previous_states(xp, y, h0, shape, sizes, reverse))
    return gx, dh, dc, g_ih, g_hh, dz.sum(0), None if w_hr is None else xp.matmul(projected.T, outputs)


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
