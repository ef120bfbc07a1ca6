"""Short-time Fourier transforms, and the window functions of the torch namespace."""

from __future__ import annotations

import warnings
from typing import Any

from .._core import dtypes
from .._core.broadcast import operators
from .._core.families import method
from .._core.tensor import Tensor
from .complex import view_as_real
from .creation import ones, resolve_dtype

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "istft", "kaiser_window", "stft"]


def _framed(
    n_fft: int, hop_length: int | None, win_length: int | None, window: Tensor | None, like: Tensor, name: str
) -> tuple[int, int, Tensor]:
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if hop <= 0:
        raise RuntimeError(
            f"{name}(n_fft={n_fft}, hop_length={hop}, win_length={length}): expected hop_length > 0, but got "
            f"hop_length={hop}"
        )
    if not 0 < length <= n_fft:
        raise RuntimeError(
            f"{name}(n_fft={n_fft}, hop_length={hop}, win_length={length}): expected 0 < win_length <= n_fft, but got "
            f"win_length={length}"
        )
    if window is not None and tuple(window._data.shape) != (length,):
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={length}, but got window with size "
            f"{list(window._data.shape)}"
        )
    if window is None:
        window = ones(length, dtype=dtypes.of(like._data.dtype).to_real(), device=like.device)
    left = (n_fft - length) // 2
    if length < n_fft:
        window = operators["slice_pad"](window, (n_fft,), (slice(left, left + length),))
    return hop, length, window


def stft(
    input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Tensor | None = None, center: bool = True, pad_mode: str = "reflect", normalized: bool = False,
    onesided: bool | None = None, return_complex: bool | None = None, align_to_window: bool | None = None,
) -> Tensor:  # fmt: skip
    """Fourier transforms of windowed frames of a signal (…, L), as (…, frequencies, frames).

    Source: https://pytorch.org/docs/stable/generated/torch.stft.html
    """
    from ..fft import fft, rfft

    if return_complex is None:
        if input._data.dtype.kind != "c" and (window is None or window._data.dtype.kind != "c"):
            raise RuntimeError(
                "stft requires the return_complex parameter be given for real inputs, and will further require that "
                "return_complex=True in a future PyTorch release."
            )
        return_complex = True
    ndim = len(input._data.shape)
    if ndim not in (1, 2):
        raise RuntimeError(f"stft: expected a 1D or 2D tensor, but got {ndim}D")
    x = input.unsqueeze(0) if ndim == 1 else input
    hop, _, w = _framed(n_fft, hop_length, win_length, window, input, "stft")
    if center:
        from ..nn.functional import pad

        shape = x._data.shape
        x = pad(x.view(1, *shape), (n_fft // 2, n_fft // 2), pad_mode).view(shape[0], -1)
    if not 0 < n_fft <= x._data.shape[-1]:
        raise RuntimeError(f"stft: expected 0 < n_fft <= {x._data.shape[-1]}, but got n_fft={n_fft}")
    frames = x.unfold(-1, n_fft, hop) * w
    is_complex = frames._data.dtype.kind == "c"
    half = not is_complex if onesided is None else onesided
    if half and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    norm = "ortho" if normalized else None
    result = (rfft(frames, n_fft, -1, norm) if half else fft(frames, n_fft, -1, norm)).transpose(-1, -2)
    result = result.squeeze(0) if ndim == 1 else result
    return result if return_complex else view_as_real(result.contiguous())


def istft(
    input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Tensor | None = None, center: bool = True, normalized: bool = False, onesided: bool | None = None,
    length: int | None = None, return_complex: bool = False,
) -> Tensor:  # fmt: skip
    """The signal whose ``stft`` is given, by overlap-add; the windows must not vanish anywhere."""
    from ..fft import ifft, irfft

    if input._data.dtype.kind != "c":
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    ndim = len(input._data.shape)
    if ndim not in (2, 3):
        raise RuntimeError(f"istft: expected a tensor with 2 or 3 dimensions, but got {ndim}")
    x = input.unsqueeze(0) if ndim == 2 else input
    bins, frames = x._data.shape[-2:]
    half = bins != n_fft if onesided is None else onesided
    if half and bins != n_fft // 2 + 1:
        raise RuntimeError(
            "istft: expected the frequency dimension (3rd to the last) of the input tensor to match n_fft / 2 + 1 "
            f"when onesided=True, but got {bins}"
        )
    if not half and bins != n_fft:
        raise RuntimeError(
            "istft: expected the frequency dimension (3rd to the last) of the input tensor to match n_fft when "
            f"onesided=False, but got {bins}"
        )
    hop, _, w = _framed(n_fft, hop_length, win_length, window, input, "istft")
    norm = "ortho" if normalized else None
    spectra = x.transpose(-1, -2)
    if return_complex:
        pieces = ifft(spectra, n_fft, -1, norm)
    else:
        pieces = irfft(spectra if half else spectra[..., : n_fft // 2 + 1], n_fft, -1, norm)
    total = n_fft + hop * (frames - 1)
    signal = _overlap_added(pieces * w, total, hop)
    envelope = _overlap_added((w * w).expand(1, frames, n_fft), total, hop)
    start = n_fft // 2 if center else 0
    stop = start + length if length is not None else total - n_fft // 2 if center else total
    signal, envelope = signal[:, start:stop], envelope[:, start:stop]
    if envelope._data.size and not bool((envelope.abs() > 1e-11).all()):
        raise RuntimeError(
            "istft: window overlap add min: 1; the window sums to zero somewhere, so the signal cannot be recovered"
        )
    result = signal / envelope
    if length is not None and stop > total:
        warnings.warn(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. "
            "Please check your center and hop_length settings",
            stacklevel=2,
        )
        shape = (result._data.shape[0], length)
        result = operators["slice_pad"](result, shape, (slice(None), slice(0, result._data.shape[1])))
    return result.squeeze(0) if ndim == 2 else result


def _overlap_added(pieces: Tensor, total: int, hop: int) -> Tensor:
    from .splitting import unfold_backward

    return unfold_backward(pieces, (pieces._data.shape[0], total), 1, pieces._data.shape[-1], hop)


# ---------------------------------------------------------------- windows


def _legacy(name: str, n: int, periodic: bool, dtype: Any, device: Any, requires_grad: bool, **options: Any) -> Tensor:
    from ..signal import windows

    if n < 0:
        raise RuntimeError(f"{name}_window requires non-negative window_length, got window_length={n}")
    d = dtypes.of(resolve_dtype(dtype))
    wide = d if d.name in ("float32", "float64") else dtypes.float32
    made = getattr(windows, name)(
        n, sym=not periodic, dtype=wide, device=device, requires_grad=requires_grad, **options
    )
    return made if wide is d else made.to(d)


def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """The Hann window."""
    return _legacy("hann", window_length, periodic, dtype, device, requires_grad)


def hamming_window(window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *,
                   dtype: Any = None, layout: Any = None,
                   device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """The Hamming window ``alpha - beta cos(2 pi k / N)``."""
    return _legacy("general_cosine", window_length, periodic, dtype, device, requires_grad, a=[alpha, beta])


def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """The Blackman window."""
    return _legacy("blackman", window_length, periodic, dtype, device, requires_grad)


def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """The Bartlett window."""
    return _legacy("bartlett", window_length, periodic, dtype, device, requires_grad)


def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None,
                  layout: Any = None, device: Any = None,
                  requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """The Kaiser window of shape ``beta``."""
    return _legacy("kaiser", window_length, periodic, dtype, device, requires_grad, beta=beta)


method(stft)
method(istft)
