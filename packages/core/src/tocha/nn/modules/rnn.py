"""Recurrent layers and cells."""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any

import tocha
from tocha._core.tensor import Tensor
from tocha._ops import sequence
from tocha.nn import init
from tocha.nn.parameter import Parameter

from .module import Module

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _check_arguments(
    input_size: Any, hidden_size: Any, num_layers: int, bias: Any, batch_first: Any, dropout: Any, proj_size: int
) -> None:
    if not isinstance(dropout, numbers.Number) or isinstance(dropout, bool) or not 0 <= dropout <= 1:  # type: ignore[operator]
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
        )
    if dropout > 0 and num_layers == 1:  # type: ignore[operator]
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
            f"greater than 1, but got dropout={dropout} and num_layers={num_layers}",
            stacklevel=4,
        )
    for name, flag in (("bias", bias), ("batch_first", batch_first)):
        if not isinstance(flag, bool):
            raise TypeError(f"{name} should be of type bool, got: {type(flag).__name__}")
    for name, size in (("input_size", input_size), ("hidden_size", hidden_size)):
        if not isinstance(size, int):
            raise TypeError(f"{name} should be of type int, got: {type(size).__name__}")
        if size <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")


class RNNBase(Module):
    """What the recurrent layers share: arguments, weights, checks, and the way from padded or packed input to output.

    The weights are ``weight_ih_l0`` (gates * hidden, input), ``weight_hh_l0``, ``bias_ih_l0``, ``bias_hh_l0`` (and
    ``weight_hr_l0`` with a projection) for layer 0, and so on; those of the backward direction end in ``_reverse``.
    They are drawn uniformly from ±1 / sqrt(hidden_size).
    """

    def __init__(
        self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        _check_arguments(input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size)
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        gates, state, directions = _GATES[mode] * hidden_size, proj_size or hidden_size, 2 if bidirectional else 1
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            width = input_size if layer == 0 else state * directions
            for suffix in ("", "_reverse")[:directions]:
                shapes: dict[str, tuple] = {"weight_ih": (gates, width), "weight_hh": (gates, state)}
                if bias:
                    shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                names = [f"{name}_l{layer}{suffix}" for name in shapes]
                for name, shape in zip(names, shapes.values()):
                    self.register_parameter(name, Parameter(tocha.empty(shape, device=device, dtype=dtype)))
                self._all_weights.append(names)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The weights, a list for each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights(self) -> list[Parameter]:
        own = self.__dict__
        return [own[name] if name in own else getattr(self, name) for names in self._all_weights for name in names]

    def flatten_parameters(self) -> None:
        """Nothing to do: PyTorch's cuDNN wants the weights in one piece of memory, tocha does not."""

    # ------------------------------------------------------------ checks

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Refuse input of a wrong dtype, number of dimensions or size."""
        weight = self._flat_weights[0]
        if input._data.dtype != weight._data.dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert input: "
                f"input.to({weight.dtype}), or convert model: model.to({input.dtype})"
            )
        expected = 2 if batch_sizes is not None else 3
        if input.ndim != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.ndim}")
        if not input._data.shape[-1] == self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input._data.shape[-1]}"
            )

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of the hidden states for an input."""
        return self._state_size(input, batch_sizes, self.proj_size or self.hidden_size)

    def _state_size(self, input: Tensor, batch_sizes: Tensor | None, width: int) -> tuple[int, int, int]:
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = input._data.shape[0 if self.batch_first else 1]
        return self.num_layers * (2 if self.bidirectional else 1), batch, width

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """Refuse hidden states of another shape."""
        if tuple(hx._data.shape) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, list(hx._data.shape)))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Refuse what does not fit together."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Hidden states with their batch in another order."""
        return hx if permutation is None else hx.index_select(1, permutation)

    # ------------------------------------------------------------ forward

    def _zeros(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        """The first states where the user gives none."""
        size = self.get_expected_hidden_size(input, batch_sizes)
        return tocha.zeros(size, dtype=input.dtype, device=input.device)

    def _unbatched(self, hx: Any, batched: bool) -> Any:
        """Given states as (layers, B, H)."""
        if batched:
            if hx.ndim != 3:
                raise RuntimeError(f"For batched 3-D input, hx should also be 3-D but got {hx.ndim}-D tensor")
            return hx
        if hx.ndim != 2:
            raise RuntimeError(f"For unbatched 2-D input, hx should also be 2-D but got {hx.ndim}-D tensor")
        return hx.unsqueeze(1)

    def _squeezed(self, hidden: Any) -> Any:
        return hidden.squeeze(1)

    def _compute(self, *args: Any) -> tuple[Tensor, Any]:
        """The output and the last states; the arguments are those of the functions of ``_ops.sequence``."""
        raise NotImplementedError

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """Run the layers over a batch of sequences; see the class."""
        if isinstance(input, tuple):  # a PackedSequence
            return self._forward_packed(input, hx)
        if input.ndim not in (2, 3):
            ending = " tensor" if self.mode.startswith("RNN") else ""
            raise ValueError(f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.ndim}D{ending} instead")
        batched, batch_dim = input.ndim == 3, 0 if self.batch_first else 1
        if not batched:
            input = input.unsqueeze(batch_dim)
        hx = self._zeros(input, None) if hx is None else self._unbatched(hx, batched)
        self.check_forward_args(input, hx, None)
        output, hidden = self._compute(
            input,
            hx,
            self._flat_weights,
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
            self.batch_first,
        )
        return (output, hidden) if batched else (output.squeeze(batch_dim), self._squeezed(hidden))

    def _forward_packed(self, packed: Any, hx: Any) -> tuple[Any, Any]:
        from tocha.nn.utils.rnn import PackedSequence

        data, batch_sizes, sorted_indices, unsorted_indices = packed
        hx = self._zeros(data, batch_sizes) if hx is None else self.permute_hidden(hx, sorted_indices)
        self.check_forward_args(data, hx, batch_sizes)
        output, hidden = self._compute(
            data,
            batch_sizes,
            hx,
            self._flat_weights,
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
        )
        return PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices), self.permute_hidden(
            hidden, unsorted_indices
        )

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        defaults = {
            "proj_size": 0,
            "num_layers": 1,
            "bias": True,
            "batch_first": False,
            "dropout": 0,
            "bidirectional": False,
        }
        return text + "".join([f", {k}={getattr(self, k)}" for k, v in defaults.items() if getattr(self, k) != v])

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("proj_size", 0)


class RNN(RNNBase):
    """Layers ``h = tanh(W_ih x + b_ih + W_hh h + b_hh)`` over sequences.

    Args:
        input_size, hidden_size: how many numbers a step of the input, and the state, have.
        num_layers: layers on top of each other.
        nonlinearity: "tanh" or "relu".
        bias: learn biases.
        batch_first: input and output are (B, T, *) and not (T, B, *); states never are.
        dropout: chance of dropout between layers.
        bidirectional: run a second network over the sequence backwards, and give both outputs.

    Called with the input, (T, B, I), (T, I) or a ``PackedSequence``, and the first states (layers * directions, B, H)
    (default: 0), it returns the last layer's outputs and the last states.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.RNN.html

    >>> import tocha
    >>> output, h = tocha.nn.RNN(10, 20, 2)(tocha.randn(5, 3, 10))
    >>> output.shape, h.shape
    (tocha.Size([5, 3, 20]), tocha.Size([2, 3, 20]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            nonlinearity, args = args[3], args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = nonlinearity

    def _compute(self, *args: Any) -> tuple[Tensor, Any]:
        return sequence.rnn_tanh(*args) if self.mode == "RNN_TANH" else sequence.rnn_relu(*args)


class GRU(RNNBase):
    """Gated recurrent units over sequences (https://arxiv.org/abs/1406.1078); arguments as those of ``RNN``.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.GRU.html

    >>> import tocha
    >>> output, h = tocha.nn.GRU(10, 20, 2, bidirectional=True)(tocha.randn(5, 3, 10))
    >>> output.shape, h.shape
    (tocha.Size([5, 3, 40]), tocha.Size([4, 3, 20]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)

    def _compute(self, *args: Any) -> tuple[Tensor, Any]:
        return sequence.gru(*args)


class LSTM(RNNBase):
    """Long short-term memory over sequences (https://doi.org/10.1162/neco.1997.9.8.1735).

    Args:
        proj_size: project the hidden state to this size after each step (https://arxiv.org/abs/1402.1128); 0: do not.

    The other arguments are those of ``RNN``. States are a pair: hidden (layers * directions, B, proj_size or H) and
    cell (layers * directions, B, H).

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.LSTM.html

    >>> import tocha
    >>> output, (h, c) = tocha.nn.LSTM(10, 20, 2)(tocha.randn(5, 3, 10))
    >>> output.shape, h.shape, c.shape
    (tocha.Size([5, 3, 20]), tocha.Size([2, 3, 20]), tocha.Size([2, 3, 20]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of the cell states for an input."""
        return self._state_size(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Refuse what does not fit together."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(
            hidden[0], self.get_expected_hidden_size(input, batch_sizes), "Expected hidden[0] size {}, got {}"
        )
        self.check_hidden_size(
            hidden[1], self.get_expected_cell_size(input, batch_sizes), "Expected hidden[1] size {}, got {}"
        )

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Hidden and cell states with their batch in another order."""
        return hx if permutation is None else (hx[0].index_select(1, permutation), hx[1].index_select(1, permutation))

    def _zeros(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        sizes = (self.get_expected_hidden_size(input, batch_sizes), self.get_expected_cell_size(input, batch_sizes))
        return tuple([tocha.zeros(size, dtype=input.dtype, device=input.device) for size in sizes])

    def _unbatched(self, hx: Any, batched: bool) -> Any:
        expected = 3 if batched else 2
        if hx[0].ndim != expected or hx[1].ndim != expected:
            raise RuntimeError(
                f"For {'batched' if batched else 'unbatched'} {expected}-D input, hx and cx should also be "
                f"{expected}-D but got ({hx[0].ndim}-D, {hx[1].ndim}-D) tensors"
            )
        return hx if batched else (hx[0].unsqueeze(1), hx[1].unsqueeze(1))

    def _squeezed(self, hidden: Any) -> Any:
        return hidden[0].squeeze(1), hidden[1].squeeze(1)

    def _compute(self, *args: Any) -> tuple[Tensor, Any]:
        output, h, c = sequence.lstm(*args)
        return output, (h, c)


# ---------------------------------------------------------------- cells


class RNNCellBase(Module):
    """What the cells share: the weights, drawn uniformly from ±1 / sqrt(hidden_size)."""

    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(tocha.empty((rows, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(tocha.empty((rows, hidden_size), device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(tocha.empty(rows, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"

    def _check_ndim(self, t: Tensor, what: str) -> None:
        if t.ndim not in (1, 2):
            raise ValueError(f"{type(self).__name__}: Expected {what} to be 1D or 2D, got {t.ndim}D instead")

    def _zeros(self, input: Tensor) -> Tensor:
        return tocha.zeros(input.shape[0], self.hidden_size, dtype=input.dtype, device=input.device)

    def _weights(self) -> tuple:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh


class _OneStateCell(RNNCellBase):
    """A cell whose state is one tensor."""

    def _step(self, input: Tensor, hx: Tensor) -> Tensor:
        raise NotImplementedError

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next state (B, H) or (H) for ``input`` (B, I) or (I) and the state (default: 0)."""
        self._check_ndim(input, "input")
        if hx is not None:
            self._check_ndim(hx, "hidden")
        batched = input.ndim == 2
        if not batched:
            input = input.unsqueeze(0)
            hx = None if hx is None else hx.unsqueeze(0)
        result = self._step(input, self._zeros(input) if hx is None else hx)
        return result if batched else result.squeeze(0)


class RNNCell(_OneStateCell):
    """One step ``tanh(W_ih x + b_ih + W_hh h + b_hh)``.

    Args:
        nonlinearity: "tanh" or "relu".

    >>> import tocha
    >>> tocha.nn.RNNCell(10, 20)(tocha.randn(3, 10)).shape
    tocha.Size([3, 20])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def _step(self, input: Tensor, hx: Tensor) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        cell = sequence.rnn_tanh_cell if self.nonlinearity == "tanh" else sequence.rnn_relu_cell
        return cell(input, hx, *self._weights())


class GRUCell(_OneStateCell):
    """One step of ``GRU``.

    >>> import tocha
    >>> tocha.nn.GRUCell(10, 20)(tocha.randn(3, 10)).shape
    tocha.Size([3, 20])
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def _step(self, input: Tensor, hx: Tensor) -> Tensor:
        return sequence.gru_cell(input, hx, *self._weights())


class LSTMCell(RNNCellBase):
    """One step of ``LSTM``: the states are a pair, hidden and cell.

    >>> import tocha
    >>> h, c = tocha.nn.LSTMCell(10, 20)(tocha.randn(3, 10))
    >>> h.shape, c.shape
    (tocha.Size([3, 20]), tocha.Size([3, 20]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: Any = None) -> tuple[Tensor, Tensor]:
        """The next states for ``input`` (B, I) or (I) and the states (default: 0)."""
        self._check_ndim(input, "input")
        for i, state in enumerate(hx or ()):
            self._check_ndim(state, f"hx[{i}]")
        batched = input.ndim == 2
        if not batched:
            input = input.unsqueeze(0)
            hx = None if hx is None else tuple([state.unsqueeze(0) for state in hx])
        if hx is None:
            hx = (self._zeros(input),) * 2
        h, c = sequence.lstm_cell(input, hx, *self._weights())
        return (h, c) if batched else (h.squeeze(0), c.squeeze(0))
