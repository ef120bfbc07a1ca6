"""The forward-mode levels in force, innermost last; ``autograd.forward_ad`` fills it, printing asks it."""

from __future__ import annotations

from typing import Any

levels: list[Any] = []
