"""Random tensors and in-place random fills, drawn from PyTorch's streams (see ``_random``).

On CUDA and under the stand-in the numbers are drawn on the host from the same generator and copied, so a seed
gives the same values on every device.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _random as streams
from .._core import arrays, dtypes
from .._core.families import method
from .._core.generator import Generator, default_generator
from .._core.inplace import check_writable, store
from .._core.record import ABSTRACT, Op
from .._core.tensor import Tensor
from .._core.views import bump_version
from .creation import create, resolve_dtype
from .dims import sizes_of
from .from_data import finished

__all__ = ["bernoulli", "binomial", "multinomial", "normal", "poisson", "rand", "rand_like", "randint", "randint_like",
           "randn", "randn_like", "randperm"]  # fmt: skip


def generator_or_default(generator: Any) -> Generator:
    return default_generator if generator is None else generator


def _drawn(xp: Any, shape: tuple, dtype: np.dtype, fill: str, generator: Any, *args: Any) -> Any:
    raw = getattr(streams, fill)(generator_or_default(generator), np.empty(shape, dtype), *args)
    return raw if xp is np else xp.asarray(raw)


random_op = Op("random", _drawn, None, lambda shape, dtype, *rest: (shape, dtype), arity=0)
random_op.meta["random"] = True


def draw(
    shape: tuple,
    dtype: np.dtype,
    fill: str,
    generator: Any,
    *args: Any,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A new tensor filled by the stream function ``fill``."""
    return create(random_op, (shape, dtype, fill, generator, *args), device, requires_grad)


def rand(*size: Any, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
         requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Uniform numbers of [0, 1).

    Example:
        >>> import tocha
        >>> _ = tocha.manual_seed(0)
        >>> tocha.rand(2)
        tensor([0.4963, 0.7682])
    """
    result = draw(
        sizes_of(size, "rand"), resolve_dtype(dtype), "uniform", generator, device=device, requires_grad=requires_grad
    )
    return result if out is None else store(out, result)


def randn(*size: Any, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
          requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Standard normal numbers."""
    result = draw(
        sizes_of(size, "randn"), resolve_dtype(dtype), "normal", generator, device=device, requires_grad=requires_grad
    )
    return result if out is None else store(out, result)


def randint(low: Any, high: Any = None, size: Any = None, *, generator: Any = None, out: Any = None, dtype: Any = None,
            layout: Any = None,
            device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Integers of [low, high): ``randint(high, size)`` or ``randint(low, high, size)``; int64 by default."""
    if size is None:
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    if size is None:
        raise TypeError("randint() missing the argument 'size'")
    if high <= low:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    result = draw(
        sizes_of((size,), "randint"),
        resolve_dtype(dtype, dtypes.NP_INT64),
        "randint",
        generator,
        low,
        high,
        device=device,
        requires_grad=requires_grad,
    )
    return result if out is None else store(out, result)


def randperm(n: int, *, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None,
             device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """A random permutation of ``0 … n - 1``."""
    raw = streams.randperm(generator_or_default(generator), n, resolve_dtype(dtype, dtypes.NP_INT64))
    from .._core.devices import as_device

    result = finished(arrays.to_device(raw, as_device(device)), requires_grad)
    return result if out is None else store(out, result)


def _like(
    fill: str, input: Tensor, args: tuple, dtype: Any, device: Any, requires_grad: bool, generator: Any = None
) -> Tensor:
    d = resolve_dtype(dtype, input._data.dtype)
    raw = input._data
    if type(raw) is np.ndarray and raw.ndim > 1 and not raw.flags.c_contiguous and device is None:
        return finished(
            getattr(streams, fill)(generator_or_default(generator), np.empty_like(raw, dtype=d), *args), requires_grad
        )
    return draw(
        tuple(raw.shape),
        d,
        fill,
        generator,
        *args,
        device=input.device if device is None else device,
        requires_grad=requires_grad,
    )


def rand_like(input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
              memory_format: Any = None, generator: Any = None) -> Tensor:  # fmt: skip
    """Uniform numbers of [0, 1) in the shape, dtype and on the device of ``input``."""
    return _like("uniform", input, (), dtype, device, requires_grad, generator)


def randn_like(input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
               memory_format: Any = None, generator: Any = None) -> Tensor:  # fmt: skip
    """Standard normal numbers in the shape, dtype and on the device of ``input``."""
    return _like("normal", input, (), dtype, device, requires_grad, generator)


def randint_like(input: Tensor, low: Any, high: Any = None, *, dtype: Any = None, layout: Any = None,
                 device: Any = None,
                 requires_grad: bool = False, memory_format: Any = None, generator: Any = None) -> Tensor:  # fmt: skip
    """Integers of [low, high) (``randint_like(input, high)``: from 0) in the shape and dtype of ``input``."""
    low, high = [v.item() if isinstance(v, Tensor) else v for v in (low, high)]
    if high is None:
        low, high = 0, low
    return _like("randint", input, (low, high), dtype, device, requires_grad, generator)


def _host(t: Tensor) -> np.ndarray:
    return arrays.to_host(t._data)


def _on_device_of(raw: np.ndarray, like: Tensor) -> Tensor:
    return finished(raw if type(like._data) is np.ndarray else arrays.to_device(raw, like.device))


def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: Any = None, out: Any = None,
           dtype: Any = None, layout: Any = None,
           device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Normal numbers of ``mean`` and ``std``: tensors (one number an element), or numbers with ``size``."""
    gen = generator_or_default(generator)
    if isinstance(mean, Tensor) or isinstance(std, Tensor):
        like = mean if isinstance(mean, Tensor) else std
        values = [_host(v) if isinstance(v, Tensor) else v for v in (mean, std)]
        result = _on_device_of(streams.normal_tensor(gen, *values), like)
    else:
        if size is None:
            raise TypeError("normal() with numbers for mean and std needs the argument 'size'")
        result = draw(
            sizes_of((size,), "normal"),
            resolve_dtype(dtype),
            "normal",
            generator,
            mean,
            std,
            device=device,
            requires_grad=requires_grad,
        )
    return result if out is None else store(out, result)


def bernoulli(input: Tensor, p: Any = None, *, generator: Any = None, out: Any = None) -> Tensor:
    """Ones with the probabilities in ``input`` (or ``p``), zeros else; differentiable with gradient 0, as PyTorch's."""
    gen = generator_or_default(generator)
    if type(input._data) in ABSTRACT:
        return draw(
            tuple(input._data.shape),
            input._data.dtype,
            "bernoulli",
            generator,
            0.5 if p is None else p,
            device=input.device,
        )
    if p is None and input._data.dtype.kind not in "fV":
        raise RuntimeError(f'"bernoulli_tensor_cpu_p_" not implemented for \'{input.dtype}\'')
    chance = _host(input) if p is None else p
    result = _on_device_of(streams.bernoulli(gen, np.empty_like(_host(input), order="C"), chance), input)
    if input.requires_grad:
        result = result + input * 0
    return result if out is None else store(out, result)


def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None, out: Any = None
) -> Tensor:
    """``num_samples`` indices drawn with the weights in each row of ``input`` (1-d or 2-d), int64."""
    result = _on_device_of(
        streams.multinomial(generator_or_default(generator), _host(input), num_samples, replacement), input
    )
    return result if out is None else store(out, result)


def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """Poisson numbers of the rates in ``input``."""
    result = _on_device_of(streams.poisson(generator_or_default(generator), _host(input)), input)
    return result + input * 0 if input.requires_grad else result


def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """Binomial numbers: successes of ``count`` tries with chance ``prob``."""
    c, q = np.broadcast_arrays(_host(count), _host(prob))
    return _on_device_of(
        streams.binomial(generator_or_default(generator), np.ascontiguousarray(c), np.ascontiguousarray(q)), count
    )


# ---------------------------------------------------------------- in-place fills


def _fill(self: Tensor, fill: Callable, *args: Any, generator: Any = None) -> Tensor:
    check_writable(self)
    raw = self._data
    if type(raw) in ABSTRACT:
        return self
    if type(raw) is np.ndarray:
        fill(generator_or_default(generator), raw, *args)
    else:
        raw[...] = arrays.to_device(
            fill(generator_or_default(generator), np.empty(raw.shape, raw.dtype), *args), self.device
        )
    bump_version(self)
    if self._base is None:
        self._node = None  # the values no longer depend on what was there
    return self


def uniform_(self: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Any = None, **kwargs: Any) -> Tensor:
    """Fill with uniform numbers of [from, to)."""
    return _fill(
        self, streams.uniform, kwargs.pop("from", kwargs.pop("a", from_)), kwargs.pop("b", to), generator=generator
    )


def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with normal numbers."""
    return _fill(self, streams.normal, mean, std, generator=generator)


def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with exponential numbers of rate ``lambd``."""
    return _fill(self, streams.exponential, lambd, generator=generator)


def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Fill with geometric numbers: tries until the first success of chance ``p``."""
    return _fill(self, streams.geometric, p, generator=generator)


def cauchy_(self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with Cauchy numbers."""
    return _fill(self, streams.cauchy, median, sigma, generator=generator)


def log_normal_(self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Tensor:
    """Fill with log-normal numbers; ``mean`` and ``std`` are the logarithm's."""
    return _fill(self, streams.log_normal, mean, std, generator=generator)


def random_(self: Tensor, from_: int | None = None, to: int | None = None, *, generator: Any = None) -> Tensor:
    """Fill with integers: of the whole range of the dtype, of [0, from_), or of [from_, to)."""
    if from_ is None:
        return _fill(self, streams.random, generator=generator)
    return _fill(self, streams.randint, *((0, from_) if to is None else (from_, to)), generator=generator)


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill with ones of chance ``p`` (a number or a tensor), zeros else."""
    return _fill(self, streams.bernoulli, _host(p) if isinstance(p, Tensor) else p, generator=generator)


def trunc_normal_(
    self: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Tensor:
    return _fill(self, streams.trunc_normal, mean, std, a, b, generator=generator)


for _fn in (
    uniform_,
    normal_,
    exponential_,
    geometric_,
    cauchy_,
    log_normal_,
    random_,
    bernoulli_,
    bernoulli,
    multinomial,
):
    method(_fn)
