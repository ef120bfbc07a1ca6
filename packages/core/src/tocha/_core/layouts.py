"""Memory formats and layouts: names that PyTorch's users pass around."""

from __future__ import annotations


class memory_format:
    """How a tensor's elements lie in memory, such as ``tocha.channels_last``."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"tocha.{self.name}"

    def __reduce__(self) -> tuple:
        return _format, (self.name,)


class layout:
    """The storage layout of a tensor: ``tocha.strided`` for dense ones."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"tocha.{self.name}"

    def __reduce__(self) -> tuple:
        return _layout, (self.name,)


contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")
strided = layout("strided")
_FORMATS = {f.name: f for f in (contiguous_format, preserve_format, channels_last, channels_last_3d)}
_LAYOUTS = {strided.name: strided}


def _format(name: str) -> memory_format:
    return _FORMATS[name]


def _layout(name: str) -> layout:
    return _LAYOUTS[name]
