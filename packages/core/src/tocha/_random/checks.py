"""PyTorch's errors of the random functions."""

from __future__ import annotations

import functools
import warnings

import numpy as np

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
UNSIGNED = ("uint16", "uint32", "uint64")

# NumPy's name -> the two names that PyTorch's messages use, and the bits of the significand
_NAMES = {
    "bool": ("Bool", "bool"), "uint8": ("Byte", "unsigned char"), "int8": ("Char", "signed char"),
    "int16": ("Short", "short int"), "int32": ("Int", "int"), "int64": ("Long", "long int"),
    "uint16": ("UInt16", "short unsigned int"), "uint32": ("UInt32", "unsigned int"),
    "uint64": ("UInt64", "long unsigned int"), "float16": ("Half", "c10::Half"),
    "bfloat16": ("BFloat16", "c10::BFloat16"), "float32": ("Float", "float"), "float64": ("Double", "double"),
    "complex64": ("ComplexFloat", "c10::complex<float>"), "complex128": ("ComplexDouble", "c10::complex<double>"),
}  # fmt: skip
DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
_LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38,
            "float64": 1.7976931348623157e308}  # fmt: skip
_SMALLEST = {"float32": 1.1754943508222875e-38, "float64": 2.2250738585072014e-308}


@functools.cache
def name_of(dtype: np.dtype) -> str:
    """NumPy puts the name together anew each time, which takes longer than ten draws."""
    return dtype.name


def scalar_type(dtype: np.dtype) -> str:
    return _NAMES[dtype.name][0] if dtype.name in _NAMES else dtype.name


def c_type(dtype: np.dtype) -> str:
    return _NAMES[dtype.name][1] if dtype.name in _NAMES else dtype.name


def is_floating(dtype: np.dtype) -> bool:
    return name_of(dtype) in FLOATS


def smallest_normal(dtype: np.dtype) -> float:
    return _SMALLEST[dtype.name]


def integer_bounds(dtype: np.dtype) -> tuple[int, int]:
    if dtype == np.bool_:
        return 0, 1
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def implemented(kernel: str, dtype: np.dtype, allowed: tuple[str, ...]) -> None:
    if name_of(dtype) not in allowed:
        raise NotImplementedError(f'"{kernel}" not implemented for \'{scalar_type(dtype)}\'')


def continuous(name: str, dtype: np.dtype, said: str) -> None:
    if not is_floating(dtype):
        raise RuntimeError(
            f"{name} distribution is a continuous probability distribution. "
            f"dtype must be a floating point but you specified {said}"
        )


def positive(function: str, name: str, value: float) -> None:
    if not value > 0:
        raise RuntimeError(f"{function} expects {name} > 0.0, but found {name}={value:g}")


def normal_std(std: float) -> None:
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")


def normal_stds(std: np.ndarray) -> None:
    if std.dtype.kind == "c":
        raise RuntimeError("normal expects standard deviation to be non-complex")
    if std.size and not std.min() >= 0:
        raise RuntimeError("normal expects all elements of std >= 0.0")


def uniform_bounds(low: float, high: float, dtype: np.dtype) -> None:
    largest = _LARGEST[name_of(dtype)]
    for name, bound in (("from", low), ("to", high)):
        if not -largest <= bound <= largest:
            raise RuntimeError(f"{name} is out of bounds for {c_type(dtype)}")
    if not low <= high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if not high - low <= largest:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{scalar_type(dtype)}>::max(), but found to={high:g} "
            f"and from={low:g} which result in to-from to exceed the limit"
        )


def probability(function: str, p: float) -> None:
    if not 0 <= p <= 1:
        raise RuntimeError(f"{function} expects p to be in [0, 1], but got p={p:g}")


def probabilities(p: np.ndarray) -> None:
    if p.size and not (p.min() >= 0 and p.max() <= 1):
        raise RuntimeError(
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false: "
            "a probability is below 0, above 1 or not a number"
        )


def integer_range(low: int, last: int, dtype: np.dtype) -> None:
    """Both ends (``last`` belongs to the range) have to be values of ``dtype``; where it is floating, exact ones."""
    floating = is_floating(dtype)
    if floating:
        smallest, largest = -_LARGEST[dtype.name], _LARGEST[dtype.name]
    elif dtype.name in _NAMES and dtype.kind != "c":
        smallest, largest = integer_bounds(dtype)
    else:
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    for name, bound in (("from", low), ("to - 1", last)):
        if not smallest <= bound <= largest:
            raise RuntimeError(f"{name} is out of bounds for {c_type(dtype)}")
    for name, bound in (("from", low), ("to - 1", last)) if floating else ():
        digits = DIGITS[dtype.name]
        if not -(2**digits) <= bound <= 2**digits:
            warnings.warn(
                f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations {c_type(dtype)} "
                "can support discrete uniform distribution only within this range. This warning will become an error "
                "in version 1.7 release, please fix the code in advance",
                stacklevel=4,
            )


_C_INTEGERS = {"uint8": "uint8_t", "int8": "int8_t", "int16": "short", "int32": "int", "int64": "int64_t"}


def permutation(n: int, dtype: np.dtype) -> None:
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    if dtype.name in INTEGERS and n - 1 > integer_bounds(dtype)[1]:
        raise RuntimeError(f"value cannot be converted to type {_C_INTEGERS[dtype.name]} without overflow")
    for name, most, said in (("float16", 2**11 + 1, "2049"), ("float32", 2**24 + 1, "2^24+1")):
        if dtype.name == name and n > most:
            raise RuntimeError(f"n cannot be greater than {said} for {scalar_type(dtype)} type.")
    implemented("randperm", dtype, (*INTEGERS, *FLOATS))
    most = (2**32 - 1) // 20
    if n >= most:
        raise RuntimeError(f"randperm expects n < {most}, but got {n}: longer permutations are not there yet")


def multinomial(weights: np.ndarray, num_samples: int, replacement: bool) -> None:
    if not 0 < weights.ndim <= 2:
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if not is_floating(weights.dtype):
        got = scalar_type(weights.dtype)
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {got}")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > weights.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if weights.shape[-1] > 2**24:
        raise RuntimeError("number of categories cannot exceed 2^24")
    if weights.shape[0] == 0:
        return
    if weights.size == 0:
        raise RuntimeError("cannot sample from no categories: prob_dist.size(-1) is 0")
    if not (weights.min() >= 0 and weights.max() < np.inf):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (weights.sum(-1) == 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
