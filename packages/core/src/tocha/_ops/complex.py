"""Complex numbers: conjugate, real and imaginary parts."""

from __future__ import annotations

from .._core.families import unary

__all__ = ["conj_physical"]

conj_physical = unary("conj_physical", "conjugate", lambda g: conj_physical(g), floating=False, linear=True)
