"""One table of operator samples that drives several tests: gradients, shape rules, the stand-in device.

A sample is a name, a function of tensors, and the shapes (or arrays) of its inputs. Inputs that are shapes become
float64 tensors of fixed random numbers; ``positive`` keeps them above zero, ``flat`` says that there is no gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from image_samples import IMAGES
from network_samples import NETWORKS
from sample import Sample

import tocha
import tocha.nn.functional as F
from tocha import linalg


def ints(*values: Any) -> np.ndarray:
    return np.array(values, np.int64)


INDEX = np.array([[0, 2, 1], [1, 0, 2]])
MASK = np.array([[True, False, True], [False, True, True]])

_UNARY = [
    "neg", "abs", "exp", "expm1", "exp2", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "asinh", "sigmoid",
    "square", "sinc", "deg2rad", "rad2deg", "erf", "erfc", "sgn",
]  # fmt: skip
_POSITIVE = ["log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal", "lgamma", "digamma", "i0"]
_FLAT = ["floor", "ceil", "round", "trunc", "sign", "isnan", "isinf", "isfinite", "signbit", "logical_not"]
_BINARY = [
    "add",
    "sub",
    "mul",
    "div",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "atan2",
    "hypot",
    "logaddexp",
    "logaddexp2",
    "copysign",
]
_COMPARE = ["eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor"]


def _method(name: str) -> Callable:
    return lambda *tensors: getattr(tensors[0], name)(*tensors[1:])


SAMPLES: list[Sample] = [
    *[Sample(n, _method(n), ((2, 3),)) for n in _UNARY],
    *[Sample(n, _method(n), ((2, 3),), positive=True) for n in _POSITIVE],
    *[Sample(n, _method(n), ((2, 3),), differentiable=False) for n in _FLAT],
    Sample("asin", _method("asin"), ((2, 3),), scale=0.2),
    Sample("acos", _method("acos"), ((2, 3),), scale=0.2),
    Sample("atanh", _method("atanh"), ((2, 3),), scale=0.2),
    Sample("erfinv", _method("erfinv"), ((2, 3),), scale=0.2),
    *[Sample(n, _method(n), ((2, 3), (2, 3))) for n in _BINARY],
    *[Sample(f"{n} broadcast", _method(n), ((2, 1, 3), (4, 1))) for n in _BINARY],
    *[Sample(f"{n} 0-d", _method(n), ((2, 3), ())) for n in ("add", "sub", "mul", "div")],
    *[Sample(n, _method(n), ((2, 3), (2, 3)), differentiable=False) for n in _COMPARE],
    *[Sample(f"empty {n}", _method(n), ((0, 3), (0, 3)), differentiable=False) for n in ("add", "mul", "div",
                                                                                         "maximum")],
    Sample("pow", _method("pow"), ((2, 3), (2, 3)), positive=True),
    Sample("pow number", lambda x: x**3, ((2, 3),)),
    Sample("rpow", lambda x: 2.0**x, ((2, 3),)),
    Sample("rsub", lambda x: 1.5 - x, ((2, 3),)),
    Sample("rdiv", lambda x: 1.5 / x, ((2, 3),), positive=True),
    Sample("remainder", lambda x: x % 0.7, ((2, 3),)),
    Sample("fmod", lambda x: x.fmod(0.7), ((2, 3),)),
    Sample("floor_divide", lambda x, y: x // y, ((2, 3), (2, 3)), positive=True, differentiable=False),
    Sample("lerp", lambda x, y: tocha.lerp(x, y, 0.3), ((2, 3), (2, 3))),
    Sample("addcmul", lambda x, y, z: tocha.addcmul(x, y, z, value=0.5), ((2, 3), (2, 3), (3,))),
    Sample("addcdiv", lambda x, y, z: tocha.addcdiv(x, y, z, value=0.5), ((2, 3), (2, 3), (3,)), positive=True),
    Sample("clamp", lambda x: x.clamp(-0.5, 0.7), ((2, 3),)),
    Sample("clamp tensors", lambda x, a, b: x.clamp(a - 1, b + 1), ((2, 3), (3,), (2, 1))),
    Sample("where", lambda c, x, y: tocha.where(c, x, y), (MASK, (2, 3), (3,))),
    Sample("masked_fill", lambda x, m: x.masked_fill(m, 2.0), ((2, 3), MASK)),
    # reductions
    *[Sample(f"{n} all", _method(n), ((2, 3),)) for n in ("sum", "mean", "prod", "amax", "amin", "std", "var",
                                                          "logsumexp_all") if n != "logsumexp_all"],
    *[Sample(f"{n} dim", lambda x, n=n: getattr(x, n)(1), ((2, 3, 2),)) for n in ("sum", "mean", "prod", "amax", "amin",
                                                                                  "std", "var", "logsumexp")],
    *[Sample(f"{n} keepdim", lambda x, n=n: getattr(x, n)((0, 2), keepdim=True), ((2, 3, 2),)) for n in ("sum", "mean",
                                                                                                         "amax", "std",
                                                                                                         "logsumexp")],
    *[Sample(f"{n} dim", lambda x, n=n: getattr(x, n)(1).values, ((2, 3, 2),)) for n in ("max", "min", "median",
                                                                                         "cummax", "cummin")],
    *[Sample(n, lambda x, n=n: getattr(x, n)(1), ((2, 3),), differentiable=False) for n in ("argmax", "argmin", "all",
                                                                                            "any", "argsort")],
    Sample("cumsum", lambda x: x.cumsum(1), ((2, 4),)),
    Sample("cumprod", lambda x: x.cumprod(1), ((2, 4),)),
    Sample("cumprod zero", lambda x: x.cumprod(0), (np.array([1.0, 0.0, 2.0, 3.0]),)),
    Sample("prod zero", lambda x: x.prod(), (np.array([[1.0, 0.0], [2.0, 3.0]]),)),
    Sample("logcumsumexp", lambda x: x.logcumsumexp(0), ((3, 2),)),
    Sample("norm", lambda x: x.norm(), ((2, 3),)),
    Sample("sort", lambda x: x.sort(1).values, ((2, 4),)),
    Sample("topk", lambda x: x.topk(2, 1).values, ((2, 5),)),
    Sample("kthvalue", lambda x: x.kthvalue(2, 1).values, ((2, 5),)),
    # movement
    Sample("view", lambda x: x.view(3, -1), ((2, 3),)),
    Sample("permute", lambda x: x.permute(2, 0, 1), ((2, 3, 4),)),
    Sample("transpose", lambda x: x.transpose(0, -1), ((2, 3, 4),)),
    Sample("expand", lambda x: x.expand(4, 2, 3), ((2, 1),)),
    Sample("flatten", lambda x: x.flatten(1), ((2, 3, 4),)),
    Sample("squeeze", lambda x: x.squeeze(1).unsqueeze(0), ((2, 1, 3),)),
    Sample("cat", lambda x, y: tocha.cat([x, y], 1), ((2, 3), (2, 2))),
    Sample("stack", lambda x, y: tocha.stack([x, y], 1), ((2, 3), (2, 3))),
    Sample("split", lambda x: x.split(2, 1)[1] * 2, ((2, 5),)),
    Sample("chunk", lambda x: tocha.cat(x.chunk(3, -1)[::-1], -1), ((2, 6),)),
    Sample("unbind", lambda x: x.unbind(1)[2], ((2, 3),)),
    Sample("repeat", lambda x: x.repeat(2, 3), ((2, 2),)),
    Sample("repeat_interleave", lambda x: x.repeat_interleave(2, 1), ((2, 2),)),
    Sample("roll", lambda x: x.roll(1, 0), ((3, 2),)),
    Sample("flip", lambda x: x.flip(0, 1), ((3, 2),)),
    Sample("tril", lambda x: x.tril(), ((3, 3),)),
    Sample("triu", lambda x: x.triu(1), ((3, 3),)),
    Sample("diagonal", lambda x: x.diagonal(1), ((3, 4),)),
    Sample("diag_embed", lambda x: tocha.diag_embed(x), ((2, 3),)),
    Sample("unfold", lambda x: x.unfold(0, 3, 2), ((7, 2),)),
    Sample("select", lambda x: x[1], ((3, 2),)),
    Sample("slice", lambda x: x[::2, 1:], ((4, 3),)),
    Sample("slice newaxis", lambda x: x[..., None, 1], ((2, 3, 2),)),
    Sample("index", lambda x, i: x[i], ((3, 2), INDEX)),
    Sample("index two", lambda x, i: x[i, i - 1], ((3, 3), INDEX)),
    Sample("index apart", lambda x, i: x[i[0], :, i[1]], ((3, 2, 3), INDEX)),
    Sample("mask", lambda x, m: x[m], ((2, 3), MASK), meta=False, waits=1),
    Sample("gather", lambda x, i: x.gather(0, i), ((3, 3), INDEX)),
    Sample("take_along_dim", lambda x, i: x.take_along_dim(i, 1), ((2, 3), INDEX)),
    Sample("scatter", lambda x, i, s: x.scatter(0, i, s), ((3, 3), ints([0, 1, 2]), (1, 3))),
    Sample("scatter_add", lambda x, i, s: x.scatter_add(0, i, s), ((3, 3), INDEX, (2, 3))),
    Sample("index_select", lambda x, i: x.index_select(1, i), ((2, 3), ints(0, 2, 0))),
    Sample("index_add", lambda x, i, s: x.index_add(0, i, s), ((3, 2), ints(0, 2, 0), (3, 2))),
    Sample("index_copy", lambda x, i, s: x.index_copy(0, i, s), ((3, 2), ints(2, 0), (2, 2))),
    # products
    Sample("matmul", lambda x, y: x @ y, ((2, 3), (3, 4))),
    Sample("matmul batch", lambda x, y: x @ y, ((2, 1, 2, 3), (4, 3, 2))),
    Sample("matmul rows", lambda x, y: x @ y, ((2, 2, 3), (3, 4))),
    Sample("matmul vector", lambda x, y: x @ y, ((2, 3), (3,))),
    Sample("matmul vectors", lambda x, y: x @ y, ((3,), (3,))),
    Sample("linear", lambda x, w, b: F.linear(x, w, b), ((2, 3), (4, 3), (4,))),
    Sample("linear rows", lambda x, w, b: F.linear(x, w, b), ((2, 2, 3), (4, 3), (4,))),
    Sample("einsum", lambda x, y: tocha.einsum("bij,bkj->bik", x, y), ((2, 2, 3), (2, 4, 3))),
    Sample("outer", tocha.outer, ((2,), (3,))),
    Sample("addmm", lambda c, x, y: tocha.addmm(c, x, y, beta=0.5, alpha=2), ((2, 2), (2, 3), (3, 2))),
    # activations and losses
    *[Sample(n, lambda x, n=n: getattr(F, n)(x), ((2, 3),)) for n in ("relu", "gelu", "silu", "softplus", "elu",
                                                                      "leaky_relu", "mish", "hardtanh")],
    Sample("softmax", lambda x: F.softmax(x, -1), ((2, 3),)),
    Sample("log_softmax", lambda x: F.log_softmax(x, 0), ((2, 3),)),
    Sample("cross_entropy", lambda x, t: F.cross_entropy(x, t), ((2, 3), ints(2, 0))),
    Sample("cross_entropy smooth", lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1), ((2, 3), ints(2, 0))),
    Sample("mse_loss", lambda x, y: F.mse_loss(x, y), ((2, 3), (2, 3))),
    Sample("embedding", lambda i, w: F.embedding(i, w), (INDEX, (3, 2))),
    # convolution, pooling, normalisation
    Sample("conv1d", lambda x, w, b: F.conv1d(x, w, b, 2, 1), ((2, 3, 7), (4, 3, 3), (4,))),
    Sample("conv2d", lambda x, w, b: F.conv2d(x, w, b, padding=1), ((2, 2, 4, 5), (3, 2, 3, 3), (3,))),
    Sample("conv2d groups", lambda x, w: F.conv2d(x, w, stride=2, groups=2), ((1, 4, 5, 5), (4, 2, 3, 3))),
    Sample("max_pool2d", lambda x: F.max_pool2d(x, 2), ((1, 2, 4, 4),)),
    Sample("avg_pool2d", lambda x: F.avg_pool2d(x, 2), ((1, 2, 4, 4),)),
    Sample("batch_norm", lambda x: F.batch_norm(x, None, None, training=True), ((4, 2, 3),)),
    Sample("layer_norm", lambda x, w, b: F.layer_norm(x, (4,), w, b), ((2, 3, 4), (4,), (4,))),
    # linear algebra and transforms
    Sample("inv", lambda x: linalg.inv(x + 3 * tocha.eye(3, dtype=x.dtype, device=x.device)), ((3, 3),)),
    Sample("solve", lambda a, b: linalg.solve(a + 3 * tocha.eye(3, dtype=a.dtype, device=a.device), b),
           ((3, 3), (3, 2))),
    Sample("det", lambda x: linalg.det(x), ((2, 3, 3),), meta=False),
    Sample("cholesky", lambda x: linalg.cholesky(x @ x.mT + tocha.eye(3, dtype=x.dtype, device=x.device)), ((3, 3),)),
    Sample("svdvals", lambda x: linalg.svdvals(x), ((3, 2),)),
    Sample("rfft", lambda x: tocha.view_as_real(tocha.fft.rfft(x)), ((2, 5),)),
    *IMAGES,
    *NETWORKS,
]  # fmt: skip
