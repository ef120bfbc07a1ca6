"""The chi-squared distribution."""

from __future__ import annotations

from typing import Any

import tocha

from . import constraints
from .gamma import Gamma
from .utils import is_number

__all__ = ["Chi2"]


class Chi2(Gamma):
    """Sums of squares of ``df`` standard normal numbers: Gamma(df / 2, 1 / 2)."""

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        half = 0.5 * df if not is_number(df) else tocha.tensor(0.5 * df)
        super().__init__(half, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Any:
        """The degrees of freedom."""
        return self.concentration * 2

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Chi2, _instance)
        batch_shape = tocha.Size(batch_shape)
        new.concentration, new.rate = self.concentration.expand(batch_shape), self.rate.expand(batch_shape)
        return self._finish_expanded(new, batch_shape)
