"""Which implementation ``scaled_dot_product_attention`` uses, as ``torch.nn.attention``."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator

from tocha._ops.attention import backends as _backends

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(enum.Enum):
    """The implementations of attention that PyTorch names.

    ``MATH`` is the plain sequence of products and softmax. The others stand for tocha's one fused operator, where the
    device has it under that name: ``FLASH_ATTENTION`` on every device, ``EFFICIENT_ATTENTION`` and
    ``CUDNN_ATTENTION`` on CUDA.
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[dict]:
    """Let ``scaled_dot_product_attention`` use only ``backends`` inside.

    Args:
        backends: one, or a list. The fused operator is preferred to ``MATH`` where both are allowed.
        set_priority: accepted for PyTorch's sake: there are only two implementations, and the order is the same.

    Raises:
        AssertionError: ``backends`` is neither an ``SDPBackend`` nor a list.
        RuntimeError: (from the call inside) the device has none of them.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.attention.sdpa_kernel.html

    >>> import tocha
    >>> x = tocha.ones(1, 2, 3, 4)
    >>> with sdpa_kernel(SDPBackend.MATH):
    ...     tocha.nn.functional.scaled_dot_product_attention(x, x, x).shape
    tocha.Size([1, 2, 3, 4])
    """
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            f"{type(backends).__name__}"
        )
    chosen = backends if isinstance(backends, list) else [backends]
    token = _backends.set(frozenset([b.name for b in chosen if isinstance(b, SDPBackend)]))
    try:
        yield {}
    finally:
        _backends.reset(token)
