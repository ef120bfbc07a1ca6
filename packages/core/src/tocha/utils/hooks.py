"""Handles by which a registered hook is taken off again."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

__all__ = ["RemovableHandle"]


class RemovableHandle:
    """Remembers where a hook is registered, and takes it off on ``remove()`` or at the end of a ``with`` block.

    The tables are held weakly: a handle that outlives its module keeps nothing alive, and ``remove()`` is then a
    no-op. Removing twice is harmless.

    Args:
        hooks_dict: the table of hooks (an ``OrderedDict``, since a plain ``dict`` cannot be referred to weakly).
        extra_dict: one table, or a list of tables, with options that are keyed by the same ids.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.utils.hooks.RemovableHandle.html

    >>> from collections import OrderedDict
    >>> hooks = OrderedDict()
    >>> handle = RemovableHandle(hooks)
    >>> hooks[handle.id] = print
    >>> handle.remove()
    >>> len(hooks)
    0
    """

    id: int
    next_id: int = 0

    def __init__(
        self, hooks_dict: OrderedDict, *, extra_dict: OrderedDict | Sequence[OrderedDict] | None = None
    ) -> None:
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        extra = () if extra_dict is None else (extra_dict,) if isinstance(extra_dict, dict) else tuple(extra_dict)
        self.extra_dict_ref = tuple(weakref.ref(table) for table in extra)

    def remove(self) -> None:
        """Take the hook off; does nothing where it is already off or its owner is gone."""
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            table = ref()
            if table is not None:
                table.pop(self.id, None)

    def __getstate__(self) -> tuple:
        return self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref)

    def __setstate__(self, state: tuple) -> None:
        table, self.id, extra = state
        self.hooks_dict_ref = weakref.ref(OrderedDict() if table is None else table)
        self.extra_dict_ref = tuple(weakref.ref(OrderedDict() if t is None else t) for t in extra)
        # Ids stay unique in the process, whatever was unpickled into it.
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc_info: Any) -> None:
        self.remove()
