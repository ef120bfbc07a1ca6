"""The old module of ``Variable``."""

from ._legacy import Variable, VariableMeta

__all__ = ["Variable", "VariableMeta"]
