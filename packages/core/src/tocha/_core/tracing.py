"""The tracer in charge, if any: factory functions ask it, so that new tensors are traced values too."""

from __future__ import annotations

from typing import Any

active: Any = None
