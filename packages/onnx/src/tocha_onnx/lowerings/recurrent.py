"""One layer, in one direction, of LSTM, GRU or a plain recurrent network."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import Array, Builder
from ..registry import Unsupported, lowering, unsupported

NP_FLOAT32, NP_INT32, NP_INT64 = np.dtype("float32"), np.dtype("int32"), np.dtype("int64")

# The order of the gates: in ONNX, as places in PyTorch's.
LSTM_GATES = (0, 3, 1, 2)  # i o f c, of i f g o
GRU_GATES = (1, 0, 2)  # z r h, of r z n


def _reordered(data: np.ndarray, gates: tuple[int, ...]) -> np.ndarray:
    blocks = np.split(data, len(gates))
    return np.concatenate([blocks[g] for g in gates])


def _stacked(b: Builder, parts: tuple[Array, ...], gates: tuple[int, ...], name: str) -> Array:
    """Weights, or the two biases, with the blocks of their gates in ONNX's order, behind a dimension of directions."""
    arrays = [b.data(part) for part in parts]
    if all(data is not None for data in arrays):
        key = "/".join([parts[0].name, name])
        if key not in b.kept:
            made = np.concatenate([_reordered(data, gates) for data in arrays if data is not None])[None]
            b.kept[key] = b.initializer(key, made)
        return b.kept[key]
    blocks: list[Array] = []
    for part in parts:
        found = b.add("Split", part, outputs=len(gates), axis=0, num_outputs=len(gates) if b.opset >= 18 else None)
        blocks += [found[g] for g in gates] if len(gates) > 1 else [part]
    return b.unsqueeze(b.Concat(*blocks, axis=0) if len(blocks) > 1 else blocks[0], (0,))


def _weights(
    b: Builder, gates: tuple[int, ...], w_ih: Array, w_hh: Array, b_ih: Array | None, b_hh: Array | None
) -> list:
    bias = None if b_ih is None or b_hh is None else _stacked(b, (b_ih, b_hh), gates, "B")
    return [_stacked(b, (w_ih,), gates, "W"), _stacked(b, (w_hh,), gates, "R"), bias]


class _Sequence:
    """The input as ONNX takes it: padded, with the lengths of packed sequences beside it."""

    def __init__(self, b: Builder, x: Array, sizes: tuple[int, ...] | None) -> None:
        self.b, self.sizes = b, sizes
        self.padded, self.lengths = x, None
        if sizes is None:
            return
        steps, batch = len(sizes), sizes[0]
        starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
        inside = np.arange(batch)[None] < np.array(sizes)[:, None]
        rows = np.where(inside, starts[:, None] + np.arange(batch), 0)
        self.padded = b.Gather(x, b.constant(rows.astype(np.int64)), axis=0)
        self.lengths = b.constant(inside.sum(0).astype(np.int32))
        self.kept = np.flatnonzero(inside.reshape(-1)).astype(np.int64)
        self.count = steps * batch

    def back(self, y: Array, hidden: int) -> Array:
        """The outputs in the form of the input."""
        y = self.b.squeeze(y, (1,))
        if self.sizes is None:
            return y
        return self.b.Gather(self.b.Reshape(y, self.b.sizes((self.count, hidden))), self.b.constant(self.kept), axis=0)


def _run(
    b: Builder, op: str, x: Array, states: list[Array], weights: list, sizes: Any, reverse: bool, **attributes: Any
) -> tuple[Array, ...]:
    dtype = x.dtype
    if dtype.itemsize == 2:
        x, *states = [b.cast(v, NP_FLOAT32) for v in (x, *states)]
        weights = [None if w is None else b.cast(w, NP_FLOAT32) for w in weights]
    hidden = states[0].shape[-1]
    sequence = _Sequence(b, x, sizes)
    initial = [b.unsqueeze(h, (0,)) for h in states]
    made = b.add(
        op, sequence.padded, *weights, sequence.lengths, *initial, outputs=1 + len(states), hidden_size=hidden,
        direction="reverse" if reverse else "forward", **attributes,
    )  # fmt: skip
    y, *last = made
    return tuple(b.cast(v, dtype) for v in (sequence.back(y, hidden), *[b.squeeze(h, (0,)) for h in last]))


@lowering("lstm_layer")
def lstm(
    b: Builder, x: Array, h0: Array, c0: Array, w_ih: Array, w_hh: Array, b_ih: Array | None, b_hh: Array | None,
    w_hr: Array | None, sizes: Any, reverse: bool,
) -> tuple[Array, ...]:  # fmt: skip
    if w_hr is not None:
        raise Unsupported("ONNX's LSTM has no projection of the hidden state (proj_size)")
    weights = _weights(b, LSTM_GATES, w_ih, w_hh, b_ih, b_hh)
    return _run(b, "LSTM", x, [h0, c0], weights, sizes, reverse)


@lowering("gru_layer")
def gru(
    b: Builder,
    x: Array,
    h0: Array,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None,
    b_hh: Array | None,
    sizes: Any,
    reverse: bool,
) -> tuple[Array, ...]:
    weights = _weights(b, GRU_GATES, w_ih, w_hh, b_ih, b_hh)
    return _run(b, "GRU", x, [h0], weights, sizes, reverse, linear_before_reset=1)


@lowering("rnn_layer")
def rnn(
    b: Builder, x: Array, h0: Array, w_ih: Array, w_hh: Array, b_ih: Array | None, b_hh: Array | None, sizes: Any,
    reverse: bool,
    nonlinearity: str,
) -> tuple[Array, ...]:  # fmt: skip
    weights = _weights(b, (0,), w_ih, w_hh, b_ih, b_hh)
    return _run(b, "RNN", x, [h0], weights, sizes, reverse, activations=["Tanh" if nonlinearity == "tanh" else "Relu"])


unsupported(
    "gradients of recurrent layers are one operator here and none in ONNX: export the forward graph",
    "gru_backward", "lstm_backward", "rnn_backward",
)  # fmt: skip
