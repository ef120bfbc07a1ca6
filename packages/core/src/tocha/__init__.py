"""tocha: PyTorch's programming model on NumPy (CPU) and CuPy (CUDA), whole and readable."""

from __future__ import annotations

import warnings as _warnings
from typing import TYPE_CHECKING as _TYPE_CHECKING

import numpy as _np

from ._core import dtypes as _dtypes
from ._core.broadcast import broadcast_shapes as _broadcast_shapes
from ._core.devices import device, get_default_device
from ._core.devices import set_default_device as _set_default_device
from ._core.dtypes import (
    bfloat16, can_cast, complex64, complex128, dtype, finfo, float16, float32, float64, get_default_dtype, iinfo,
    int8, int16, int32, int64, promote_types, set_default_dtype, uint8, uint16, uint32, uint64,
)  # fmt: skip
from ._core.generator import Generator, default_generator
from ._core.grad_mode import (
    enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled,
)  # fmt: skip
from ._core.layouts import (
    channels_last, channels_last_3d, contiguous_format, layout, memory_format, preserve_format, strided,
)  # fmt: skip
from ._core.tensor import Size, Tensor
from ._ops.activation import *
from ._ops.adaptive_pooling import *
from ._ops.aliasing import *
from ._ops.arrangement import *
from ._ops.binary import *
from ._ops.comparison import *
from ._ops.complex import *
from ._ops.contraction import *
from ._ops.control_flow import *
from ._ops.conversion import *
from ._ops.convolution import *
from ._ops.creation import *
from ._ops.cumulative import *
from ._ops.distance import *
from ._ops.dropout import *
from ._ops.einsum import *
from ._ops.exchange import *
from ._ops.extremes import *
from ._ops.from_data import *
from ._ops.gamma_sampling import *
from ._ops.grid_sampling import *
from ._ops.indexing import *
from ._ops.legacy import *
from ._ops.logic import *
from ._ops.matrices import *
from ._ops.movement import *
from ._ops.namespace_inplace import *
from ._ops.nonzero import *
from ._ops.normalization import *
from ._ops.padding import *
from ._ops.pairwise import *
from ._ops.pooling import *
from ._ops.power import *
from ._ops.products import *
from ._ops.random import *
from ._ops.raw_signatures import *
from ._ops.reduction import *
from ._ops.rounding import *
from ._ops.searching import *
from ._ops.selection import *
from ._ops.sequence import *
from ._ops.shape_inplace import *
from ._ops.shuffling import *
from ._ops.softmax import *
from ._ops.sorting import *
from ._ops.special_functions import *
from ._ops.spectral import *
from ._ops.splitting import *
from ._ops.statistics import *
from ._ops.ternary import *
from ._ops.unary import *
from .random import fork_rng, get_rng_state, initial_seed, manual_seed, seed, set_rng_state, thread_safe_generator

__version__ = "0.1.0"

# PyTorch's arithmetic does not warn of infinities and NaN; docs/decisions/ has the reason and the alternatives.
_np.seterr(all="ignore")
# The setting belongs to a context, and threads begin with an empty one (before Python 3.14).
_warnings.filterwarnings("ignore", ".* encountered in ", RuntimeWarning, "tocha")

bool = _dtypes.bool_
half, float, double = float16, float32, float64
short, int, long = int16, int32, int64
cfloat, cdouble = complex64, complex128
inf, nan, pi, e = _np.inf, _np.nan, _np.pi, _np.e
newaxis = None

# imported on first use: name -> module, or module:attribute
_SETTINGS = (
    "are_deterministic_algorithms_enabled", "get_deterministic_debug_mode", "get_device_module",
    "get_float32_matmul_precision", "get_num_interop_threads", "get_num_threads",
    "is_deterministic_algorithms_warn_only_enabled", "is_warn_always_enabled", "set_default_tensor_type",
    "set_deterministic_debug_mode", "set_float32_matmul_precision", "set_num_interop_threads", "set_num_threads",
    "set_warn_always", "use_deterministic_algorithms",
)  # fmt: skip
_AUTOCAST = (
    "autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache", "get_autocast_cpu_dtype",
    "get_autocast_dtype", "get_autocast_gpu_dtype", "is_autocast_cache_enabled", "is_autocast_cpu_enabled",
    "is_autocast_enabled", "set_autocast_cache_enabled", "set_autocast_cpu_dtype", "set_autocast_cpu_enabled",
    "set_autocast_dtype", "set_autocast_enabled", "set_autocast_gpu_dtype",
)  # fmt: skip
_LAZY = {
    "plugins": "tocha.plugins",
    "hookimpl": "tocha.plugins:hookimpl",
    "onnx": "tocha.onnx",
    "utils": "tocha.utils",
    "serialization": "tocha.serialization",
    "save": "tocha.serialization:save",
    "load": "tocha.serialization:load",
    "nn": "tocha.nn",
    "optim": "tocha.optim",
    "autograd": "tocha.autograd",
    "func": "tocha.func",
    "cpu": "tocha.cpu",
    "is_anomaly_enabled": "tocha.autograd.anomaly:is_anomaly_enabled",
    "is_anomaly_check_nan_enabled": "tocha.autograd.anomaly:is_anomaly_check_nan_enabled",
    **{name: f"tocha._core.settings:{name}" for name in _SETTINGS},
    "vmap": "tocha.func:vmap",
    "cuda": "tocha.cuda",
    "testing": "tocha.testing",
    "special": "tocha.special",
    "fft": "tocha.fft",
    "masked": "tocha.masked",
    "distributions": "tocha.distributions",
    "amp": "tocha.amp",
    "autocast": "tocha.amp:autocast",
    "GradScaler": "tocha.amp:GradScaler",
    **{name: f"tocha.amp._state:{name}" for name in _AUTOCAST},
    "signal": "tocha.signal",
    "linalg": "tocha.linalg",
    "set_printoptions": "tocha._core.printing:set_printoptions",
    "random": "tocha.random",
}


def set_default_device(device: object) -> None:  # noqa: F811
    """Make factory functions create tensors on ``device`` (None: the CPU)."""
    _set_default_device(device)  # type: ignore[arg-type]


def broadcast_shapes(*shapes: object) -> Size:
    """The shape that ``shapes`` broadcast to.

    Raises:
        RuntimeError: they do not broadcast together.
    """
    return Size(_broadcast_shapes(*shapes))


if _TYPE_CHECKING:
    from . import (
        amp,
        autograd,
        cpu,
        cuda,
        distributions,
        fft,
        func,
        linalg,
        masked,
        nn,
        onnx,
        optim,
        plugins,
        random,
        serialization,
        signal,
        special,
        testing,
        utils,
    )
    from ._core.printing import set_printoptions
    from ._core.settings import (
        are_deterministic_algorithms_enabled, get_deterministic_debug_mode, get_device_module,
        get_float32_matmul_precision, get_num_interop_threads, get_num_threads,
        is_deterministic_algorithms_warn_only_enabled, is_warn_always_enabled, set_default_tensor_type,
        set_deterministic_debug_mode, set_float32_matmul_precision, set_num_interop_threads, set_num_threads,
        set_warn_always, use_deterministic_algorithms,
    )  # fmt: skip
    from .amp import GradScaler, autocast
    from .amp._state import (
        autocast_decrement_nesting, autocast_increment_nesting, clear_autocast_cache, get_autocast_cpu_dtype,
        get_autocast_dtype, get_autocast_gpu_dtype, is_autocast_cache_enabled, is_autocast_cpu_enabled,
        is_autocast_enabled, set_autocast_cache_enabled, set_autocast_cpu_dtype, set_autocast_cpu_enabled,
        set_autocast_dtype, set_autocast_enabled, set_autocast_gpu_dtype,
    )  # fmt: skip
    from .autograd.anomaly import is_anomaly_check_nan_enabled, is_anomaly_enabled
    from .func import vmap
    from .plugins import hookimpl
    from .serialization import load, save
else:

    def __getattr__(name: str) -> object:
        target = _LAZY.get(name)
        if target is None:
            raise AttributeError(f"module 'tocha' has no attribute {name!r}")
        import importlib

        module, _, attribute = target.partition(":")
        value = importlib.import_module(module)
        found = getattr(value, attribute) if attribute else value
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({n for n in globals() if not n.startswith("_")} | set(_LAZY))
