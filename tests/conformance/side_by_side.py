"""The same code under PyTorch and under tocha: ``both(case)`` runs ``case(lib)`` twice and compares what comes out."""

import warnings

import numpy as np
import torch

import tocha


def tensor_of(value):
    return value.detach() if hasattr(value, "detach") and hasattr(value, "dtype") else None


def difference(ours, wanted, path="result", tolerance=1e-5):
    """One line that says where two results differ, or None. Texts may differ in the library's name alone."""
    if isinstance(wanted, (list, tuple)):
        if not isinstance(ours, (list, tuple)) or len(ours) != len(wanted):
            return f"{path}: {ours!r}, expected {wanted!r}"
        pairs = [(f"{path}[{i}]", a, b) for i, (a, b) in enumerate(zip(ours, wanted))]
    elif isinstance(wanted, dict):
        if list(ours) != list(wanted):
            return f"{path}: keys {list(ours)}, expected {list(wanted)}"
        pairs = [(f"{path}[{key!r}]", ours[key], wanted[key]) for key in wanted]
    elif tensor_of(wanted) is not None:
        return tensor_difference(ours, wanted, path, tolerance)
    else:
        if isinstance(wanted, str):
            ours, wanted = (text.replace("tocha", "torch") for text in (ours, wanted))
        return None if ours == wanted else f"{path}: {ours!r}, expected {wanted!r}"
    return next((why for where, a, b in pairs if (why := difference(a, b, where, tolerance))), None)


def tensor_difference(ours, wanted, path, tolerance):
    a, b = tensor_of(ours), tensor_of(wanted)
    if a is None or str(a.dtype).split(".")[1] != str(b.dtype).split(".")[1] or tuple(a.shape) != tuple(b.shape):
        return f"{path}: {ours!r}, expected {wanted!r}"
    a, b = (np.asarray(t.float().numpy() if "bfloat16" in str(t.dtype) else t.numpy()) for t in (a, b))
    if a.size and not np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True):
        return f"{path}: differs by {np.abs(a - b).max()}"
    return None


def outcome(call):
    """What a call gives: its value, or the exception's type and message."""
    try:
        return call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def noted(call):
    """What a call gives, and the warnings on the way."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = outcome(call)
    return result, [f"{w.category.__name__}: {w.message}" for w in caught]


def both(case, tolerance=1e-5):
    """Run a case under both libraries from the same seed, and fail where the results differ."""
    results = []
    for lib in (tocha, torch):
        lib.manual_seed(0)
        results.append(case(lib))
    why = difference(*results, tolerance=tolerance)
    assert why is None, why
