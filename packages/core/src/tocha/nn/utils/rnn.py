"""Sequences of different lengths in one batch: padded, and packed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

import tocha
from tocha._core.tensor import Tensor

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
    "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip


class _Fields(NamedTuple):
    data: Any
    batch_sizes: Any
    sorted_indices: Any
    unsorted_indices: Any


class PackedSequence(_Fields):
    """A batch of sequences without padding: first all first steps, then all second steps, and so on.

    Make one with ``pack_sequence`` or ``pack_padded_sequence``; recurrent modules take and give it.

    Attributes:
        data: the steps, ``(sum of lengths, *)``.
        batch_sizes: how many sequences have a first, second, … step; int64, on the CPU.
        sorted_indices: which sequence of the batch is the longest, second longest, …; None where they came sorted.
        unsorted_indices: the way back.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.rnn.PackedSequence.html

    >>> import tocha
    >>> pack_sequence([tocha.tensor([1, 2]), tocha.tensor([3])]).data
    tensor([1, 3, 2])
    """

    __slots__ = ()

    def __new__(
        cls, data: Any, batch_sizes: Any = None, sorted_indices: Any = None, unsorted_indices: Any = None
    ) -> PackedSequence:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. "
                "They should be instantiated by functions like pack_sequence and pack_padded_sequences in "
                "nn.utils.rnn. https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """``data`` converted as by ``Tensor.to``, the indices moved along; ``batch_sizes`` stays on the CPU."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        moved = [None if t is None else t.to(data.device) for t in (self.sorted_indices, self.unsorted_indices)]
        return type(self)(data, self.batch_sizes, *moved)

    def cuda(self, device: Any = "cuda", **kwargs: Any) -> PackedSequence:
        """On a CUDA device."""
        return self.to(device=device, **kwargs)

    def cpu(self, **kwargs: Any) -> PackedSequence:
        """On the CPU."""
        return self.to(device="cpu", **kwargs)

    def pin_memory(self) -> PackedSequence:
        """In memory from which a GPU copies fast."""
        pinned = [None if t is None else t.pin_memory() for t in (self.sorted_indices, self.unsorted_indices)]
        return type(self)(self.data.pin_memory(), self.batch_sizes, *pinned)

    def double(self) -> PackedSequence:
        """``data`` as float64."""
        return self.to(dtype=tocha.float64)

    def float(self) -> PackedSequence:
        """``data`` as float32."""
        return self.to(dtype=tocha.float32)

    def half(self) -> PackedSequence:
        """``data`` as float16."""
        return self.to(dtype=tocha.float16)

    def long(self) -> PackedSequence:
        """``data`` as int64."""
        return self.to(dtype=tocha.int64)

    def int(self) -> PackedSequence:
        """``data`` as int32."""
        return self.to(dtype=tocha.int32)

    def short(self) -> PackedSequence:
        """``data`` as int16."""
        return self.to(dtype=tocha.int16)

    def char(self) -> PackedSequence:
        """``data`` as int8."""
        return self.to(dtype=tocha.int8)

    def byte(self) -> PackedSequence:
        """``data`` as uint8."""
        return self.to(dtype=tocha.uint8)

    @property
    def is_cuda(self) -> bool:
        """Whether ``data`` is on a CUDA device."""
        return self.data.device.type == "cuda"

    def is_pinned(self) -> bool:
        """Whether ``data`` is in memory from which a GPU copies fast."""
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes another.

    >>> import tocha
    >>> invert_permutation(tocha.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    inverse = tocha.empty_like(permutation)
    inverse[permutation] = tocha.arange(permutation.numel(), dtype=permutation.dtype, device=permutation.device)
    return inverse


def _lengths_array(lengths: Any) -> np.ndarray:
    return np.asarray(lengths.cpu().numpy() if isinstance(lengths, Tensor) else lengths, dtype=np.int64)


def _steps(batch_sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each row of packed data, the step and the sequence that it belongs to."""
    steps = np.repeat(np.arange(len(batch_sizes)), batch_sizes)
    starts = np.cumsum(batch_sizes) - batch_sizes
    return steps, np.arange(len(steps)) - np.repeat(starts, batch_sizes)


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack a padded batch.

    Args:
        input: ``(steps, batch, *)``, or ``(batch, steps, *)`` with ``batch_first``.
        lengths: of each sequence, at least 1; on the CPU.
        enforce_sorted: the sequences come in the order of their lengths, longest first; otherwise they are sorted.

    Raises:
        RuntimeError: lengths that do not fit the batch, are not positive, or are not sorted.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.rnn.pack_padded_sequence.html

    >>> import tocha
    >>> pack_padded_sequence(tocha.tensor([[1, 3], [2, 0]]), [2, 1]).batch_sizes
    tensor([2, 1])
    """
    if isinstance(lengths, Tensor) and lengths.device.type != "cpu":
        raise RuntimeError(
            "'lengths' argument should be a 1D CPU int64 tensor, but got "
            f"{lengths.dim()}D {lengths.device} {lengths.dtype} tensor"
        )
    sizes = _lengths_array(lengths)
    sorted_indices = None
    if not enforce_sorted:
        order = np.argsort(-sizes, kind="stable")
        sizes = sizes[order]
        sorted_indices = tocha.as_tensor(order).to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    batch = input.shape[0 if batch_first else 1]
    if len(sizes) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)} (batch_size={batch})"
        )
    if sizes[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if (np.diff(sizes) > 0).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
            "do not need ONNX exportability."
        )
    batch_sizes = (sizes[None, :] > np.arange(sizes[0])[:, None]).sum(1)
    steps, rows = (tocha.as_tensor(part).to(input.device) for part in _steps(batch_sizes))
    data = input[rows, steps] if batch_first else input[steps, rows]
    return PackedSequence(data, tocha.as_tensor(batch_sizes), sorted_indices, None)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The padded batch and the lengths of a packed one, in the order before packing.

    Args:
        sequence: the packed batch.
        batch_first: give ``(batch, steps, *)`` instead of ``(steps, batch, *)``.
        padding_value: fills the steps after a sequence's end.
        total_length: number of steps, at least the longest length; that where None.

    Raises:
        ValueError: ``total_length`` is too short.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.rnn.pad_packed_sequence.html

    >>> import tocha
    >>> pad_packed_sequence(pack_sequence([tocha.tensor([1, 2]), tocha.tensor([3])]), batch_first=True)
    (tensor([[1, 2],
            [3, 0]]), tensor([2, 1]))
    """
    data, batch_sizes, _, unsorted_indices = sequence
    sizes = _lengths_array(batch_sizes)
    longest = len(sizes)
    if total_length is not None and total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got total_length="
            f"{total_length} and max sequence length being {longest}"
        )
    length = longest if total_length is None else total_length
    lengths = (np.arange(sizes[0])[:, None] < sizes[None, :]).sum(1)
    order = np.arange(sizes[0])
    if unsorted_indices is not None:
        order = _lengths_array(unsorted_indices)
        lengths = lengths[order]
    # For each place of the padded batch its row of the data, or the row of padding after them.
    steps, rows = _steps(sizes)
    source = np.full((length, sizes[0]), len(steps), dtype=np.int64)
    source[steps, rows] = np.arange(len(steps))
    source = source[:, order]
    padding = data.new_full((1, *data.shape[1:]), padding_value)
    index = tocha.as_tensor(np.ascontiguousarray(source.T if batch_first else source)).to(data.device)
    return tocha.cat([data, padding])[index], tocha.as_tensor(lengths)


def pad_sequence(
    sequences: Tensor | Iterable[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences of different lengths as one padded tensor.

    Args:
        sequences: each ``(length, *)``.
        batch_first: give ``(batch, steps, *)`` instead of ``(steps, batch, *)``.
        padding_value: fills what is left. padding_side: ``"right"`` or ``"left"``.

    Raises:
        RuntimeError: not an iterable of tensors, an unknown side, or different sizes after the first.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.rnn.pad_sequence.html

    >>> import tocha
    >>> pad_sequence([tocha.tensor([1, 2]), tocha.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    listed = list(sequences)
    if not listed:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    length = max(t.shape[0] for t in listed)
    padded = []
    for t in listed:
        missing = length - t.shape[0]
        if missing:
            padding = t.new_full((missing, *t.shape[1:]), padding_value)
            t = tocha.cat([t, padding] if padding_side == "right" else [padding, t])
        padded.append(t)
    return tocha.stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences of a padded tensor.

    >>> import tocha
    >>> unpad_sequence(tocha.tensor([[1, 2], [3, 0]]), tocha.tensor([2, 1]), batch_first=True)
    [tensor([1, 2]), tensor([3])]
    """
    batch = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [batch[i, :length] for i, length in enumerate(_lengths_array(lengths).tolist())]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences of different lengths.

    Args:
        sequences: each ``(length, *)``. enforce_sorted: see ``pack_padded_sequence``.

    >>> import tocha
    >>> pack_sequence([tocha.tensor([1, 2]), tocha.tensor([3])]).batch_sizes
    tensor([2, 1])
    """
    lengths = [t.shape[0] for t in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a packed batch, in the order before packing.

    >>> import tocha
    >>> unpack_sequence(pack_sequence([tocha.tensor([1, 2]), tocha.tensor([3])]))
    [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
