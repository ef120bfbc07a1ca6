"""Comparing the versions of modules."""

from __future__ import annotations

import warnings
from typing import Any


def check_module_version_greater_or_equal(
    module: Any, req_version_tuple: tuple, error_if_malformed: bool = True
) -> bool:
    """Whether ``module.__version__`` is at least a version, of which each field is compared as its own type.

    Args:
        module: has ``__version__``, such as ``"1.2.3"``.
        req_version_tuple: the version, such as ``(1, 2)``.
        error_if_malformed: raise where the version cannot be compared; otherwise warn and say True.

    Raises:
        RuntimeError: the module's version cannot be compared.

    Example:
        >>> import numpy
        >>> from tocha.serialization import check_module_version_greater_or_equal
        >>> check_module_version_greater_or_equal(numpy, (1, 26))
        True
    """
    try:
        fields = module.__version__.split(".")
        return tuple([type(wanted)(fields[i]) for i, wanted in enumerate(req_version_tuple)]) >= req_version_tuple
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        message = (
            f"'{module.__name__}' module version string is malformed '{getattr(module, '__version__', None)}' and "
            f"cannot be compared with tuple {req_version_tuple}"
        )
        if error_if_malformed:
            raise RuntimeError(message) from error
        warnings.warn(f"{message}, but continuing assuming that requirement is met", stacklevel=2)
        return True
