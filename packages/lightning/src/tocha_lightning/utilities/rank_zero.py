"""Messages, warnings and calls that only the process of rank zero makes."""

from __future__ import annotations

import functools
import logging
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

log = logging.getLogger("tocha_lightning")


class _UnlessConfigured(logging.StreamHandler):
    """Shows messages on the standard error where the program has not set up logging itself."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:
            self.stream = sys.stderr
            super().emit(record)


if log.level == logging.NOTSET:
    log.setLevel(logging.INFO)
    log.addHandler(_UnlessConfigured())


class LightningDeprecationWarning(DeprecationWarning):
    """Something that still works and will not for ever."""


class PossibleUserWarning(UserWarning):
    """A hint that may be a false positive: filter this category to silence all of them."""


def rank_zero_only(fn: Callable[..., T], default: T | None = None) -> Callable[..., T | None]:
    """Make `fn` run on the process of rank zero only; elsewhere the call returns `default`.

    The rank is ``rank_zero_only.rank``, which the strategy sets.

    >>> rank_zero_only(lambda: "printed")()
    'printed'
    """

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> T | None:
        if rank_zero_only.rank == 0:  # type: ignore[attr-defined]
            return fn(*args, **kwargs)
        return default

    return wrapped


rank_zero_only.rank = 0  # type: ignore[attr-defined]


@rank_zero_only
def rank_zero_info(message: str) -> None:
    """Log `message` at level INFO from rank zero."""
    log.info(message)


@rank_zero_only
def rank_zero_debug(message: str) -> None:
    """Log `message` at level DEBUG from rank zero."""
    log.debug(message)


def _callers_level() -> int:
    """The `stacklevel` of the first frame outside of this package: warnings are about the user's line."""
    package = os.path.dirname(os.path.dirname(__file__)) + os.sep
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame, level = frame.f_back, level + 1
    return level


@rank_zero_only
def rank_zero_warn(message: str, stacklevel: int | None = None, category: type[Warning] = UserWarning) -> None:
    """Warn from rank zero, about the line outside of this package that led here."""
    warnings.warn(message, stacklevel=_callers_level() if stacklevel is None else stacklevel, category=category)


class WarningCache(set[str]):
    """Gives each message once.

    >>> cache = WarningCache()
    >>> cache.info("said once")
    >>> "said once" in cache
    True
    """

    def warn(self, message: str, category: type[Warning] = UserWarning) -> None:
        """Warn, unless `message` was given before."""
        if message not in self:
            self.add(message)
            rank_zero_warn(message, category=category)

    def info(self, message: str) -> None:
        """Log at level INFO, unless `message` was given before."""
        if message not in self:
            self.add(message)
            rank_zero_info(message)
