"""Recurrent networks over whole batches: layers stacked, both directions, padded or packed; and single steps.

The functions take the weights as flat lists, layer by layer, forward before backward direction:
``w_ih, w_hh[, b_ih, b_hh][, w_hr]``. ``tocha.nn.LSTM`` and its kin call them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._core import arrays
from .._core.tensor import Tensor
from .gru import gru_op, rnn_op
from .lstm import lstm_op
from .movement import cat, stack

__all__ = ["gru", "gru_cell", "lstm", "lstm_cell", "rnn_relu", "rnn_relu_cell", "rnn_tanh", "rnn_tanh_cell"]


def _run(
    layer: Callable, x: Any, sizes: Any, states: tuple, params: Sequence, each: int, num_layers: int, dropout: float,
    train: bool, bidirectional: bool,
) -> tuple:  # fmt: skip
    """Stack ``layer(x, states, weights, sizes, reverse) -> (y, *states)``; returns the output and the states
    stacked."""
    from .dropout import dropout as drop

    directions = 2 if bidirectional else 1
    last: list[tuple] = []
    for i in range(num_layers):
        outputs = []
        for direction in range(directions):
            k = i * directions + direction
            y, *new = layer(x, tuple([s[k] for s in states]), params[k * each : (k + 1) * each], sizes, direction == 1)
            outputs.append(y)
            last.append(tuple(new))
        x = outputs[0] if directions == 1 else cat(outputs, -1)
        if dropout and train and i < num_layers - 1:
            x = drop(x, dropout, True)
    return x, *[stack(s) for s in zip(*last)]


def _sizes(batch_sizes: Tensor) -> tuple[int, ...]:
    return tuple(arrays.to_host(batch_sizes._data).tolist())


def _recurrent(layer: Callable, packed: bool, args: tuple, gates: int) -> tuple:
    """What the four functions share: read their two forms of arguments."""
    if packed:
        x, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional = args
        sizes: Any = _sizes(batch_sizes)
        batch_first = False
    else:
        x, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first = args
        sizes = None
    states = tuple(hx) if gates == 4 else (hx,)
    each = 4 if has_biases else 2
    if gates == 4 and states[0]._data.shape[-1] != states[1]._data.shape[-1]:
        each += 1  # a projection
    if batch_first:
        x = x.transpose(0, 1)
    if not packed and type(x._data.shape[0]) is int and x._data.shape[0] == 0:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    y, *last = _run(layer, x, sizes, states, params, each, num_layers, dropout, train, bidirectional)
    return y.transpose(0, 1) if batch_first else y, *last


def _lstm_layer(x: Any, states: tuple, weights: Sequence, sizes: Any, reverse: bool) -> tuple:
    w_ih, w_hh, *rest = weights
    b_ih, b_hh = rest[:2] if len(rest) > 1 else (None, None)
    w_hr = rest[-1] if len(rest) % 2 else None
    return lstm_op(x, *states, w_ih, w_hh, b_ih, b_hh, w_hr, sizes, reverse)


def _gru_layer(x: Any, states: tuple, weights: Sequence, sizes: Any, reverse: bool) -> tuple:
    return gru_op(x, *states, *_four(weights), sizes, reverse)


def _rnn_layer(nonlinearity: str) -> Callable:
    def layer(x: Any, states: tuple, weights: Sequence, sizes: Any, reverse: bool) -> tuple:
        return rnn_op(x, *states, *_four(weights), sizes, reverse, nonlinearity)

    return layer


def _four(weights: Sequence) -> tuple:
    return (*weights, None, None)[:4]


_rnn_tanh_layer, _rnn_relu_layer = _rnn_layer("tanh"), _rnn_layer("relu")


def lstm(*args: Any) -> tuple[Tensor, Tensor, Tensor]:
    """LSTM layers over a batch of sequences: output, last hidden states, last cell states.

    ``lstm(input, (h, c), params, has_biases, num_layers, dropout, train, bidirectional, batch_first)`` takes input
    (T, B, I), or (B, T, I) where ``batch_first``; ``lstm(data, batch_sizes, (h, c), params, has_biases, num_layers,
    dropout, train, bidirectional)`` takes the fields of a ``PackedSequence``. States are (layers * directions, B, H).
    """
    return _recurrent(_lstm_layer, isinstance(args[1], Tensor), args, 4)


def gru(*args: Any) -> tuple[Tensor, Tensor]:
    """GRU layers over a batch of sequences: output, last hidden states. Arguments as ``lstm``'s, with ``h`` alone."""
    return _recurrent(_gru_layer, isinstance(args[2], Tensor), args, 3)


def rnn_tanh(*args: Any) -> tuple[Tensor, Tensor]:
    """Layers ``h = tanh(w_ih x + w_hh h + b)`` over a batch of sequences. Arguments as those of ``gru``."""
    return _recurrent(_rnn_tanh_layer, isinstance(args[2], Tensor), args, 1)


def rnn_relu(*args: Any) -> tuple[Tensor, Tensor]:
    """Layers ``h = relu(w_ih x + w_hh h + b)`` over a batch of sequences. Arguments as those of ``gru``."""
    return _recurrent(_rnn_relu_layer, isinstance(args[2], Tensor), args, 1)


# ---------------------------------------------------------------- single steps


def _check_cell(input: Tensor, states: Sequence, w_ih: Tensor, w_hh: Tensor) -> None:
    x, w = input._data.shape, w_ih._data.shape
    if not x[1] == w[1]:
        raise RuntimeError(f"input has inconsistent input_size: got {x[1]} expected {w[1]}")
    hidden = w_hh._data.shape[1]
    for i, h in enumerate(states):
        size = h._data.shape
        if not size[0] == x[0]:
            raise RuntimeError(f"Input batch size {x[0]} doesn't match hidden{i} batch size {size[0]}")
        if not size[1] == hidden:
            raise RuntimeError(f"hidden{i} has inconsistent hidden_size: got {size[1]}, expected {hidden}")


def lstm_cell(
    input: Tensor, hx: Sequence, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """One step of LSTM: ``input`` (B, I) and the states (B, H) give the next states.

    Raises:
        RuntimeError: the shapes do not fit.
    """
    _check_cell(input, hx, w_ih, w_hh)
    _, h, c = lstm_op(input.unsqueeze(0), *hx, w_ih, w_hh, b_ih, b_hh, None, None, False)
    return h, c


def gru_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """One step of GRU: ``input`` (B, I) and the state (B, H) give the next state.

    Raises:
        RuntimeError: the shapes do not fit.
    """
    _check_cell(input, (hx,), w_ih, w_hh)
    return gru_op(input.unsqueeze(0), hx, w_ih, w_hh, b_ih, b_hh, None, False)[1]


def rnn_tanh_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """``tanh(w_ih input + w_hh hx + b)`` for ``input`` (B, I) and ``hx`` (B, H).

    Raises:
        RuntimeError: the shapes do not fit.
    """
    _check_cell(input, (hx,), w_ih, w_hh)
    return rnn_op(input.unsqueeze(0), hx, w_ih, w_hh, b_ih, b_hh, None, False, "tanh")[1]


def rnn_relu_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """``relu(w_ih input + w_hh hx + b)`` for ``input`` (B, I) and ``hx`` (B, H).

    Raises:
        RuntimeError: the shapes do not fit.
    """
    _check_cell(input, (hx,), w_ih, w_hh)
    return rnn_op(input.unsqueeze(0), hx, w_ih, w_hh, b_ih, b_hh, None, False, "relu")[1]
