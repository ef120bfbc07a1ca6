"""The stand-in for CuPy: it computes what NumPy computes, and refuses what CuPy refuses."""

import ast
import copy
import importlib.util
import itertools
import operator
import pickle
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tocha.testing.strict_device import count_transfers, cupyx, install, ndarray, xp
from tocha.testing.strict_device.table import VERSION, class_table, module_table

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


@pytest.fixture
def host():
    return np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)


@pytest.fixture
def x(host):
    return xp.asarray(host)


def equal(device_array, expected):
    """Same values, dtype and shape; `expected` may be a scalar of NumPy."""
    assert type(device_array) is ndarray
    assert device_array.dtype == expected.dtype and device_array.shape == expected.shape
    np.testing.assert_array_equal(device_array.get(), expected)
    return True


# -- the border between host and device ------------------------------------------------------------------------------


OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.lt, operator.eq]


@pytest.mark.parametrize("apply", OPERATORS)
@pytest.mark.parametrize("make", [lambda host: host, lambda host: host.tolist()], ids=["numpy", "list"])
def test_host_operands_are_refused(x, host, apply, make):
    for left, right in [(x, make(host)), (make(host), x)]:
        with pytest.raises(TypeError):
            apply(left, right)


def test_nothing_converts_by_itself(x, host):
    for convert in (
        np.asarray,
        np.array,
        np.exp,
        np.sum,
        np.concatenate,
        lambda v: np.stack([v]),
        lambda v: host @ v.T,
    ):
        with pytest.raises(TypeError):
            convert(x)
    with pytest.raises(TypeError):
        host[:] = x
    with pytest.raises(TypeError):
        x[:] = host
    with pytest.raises(TypeError):
        x[0] = [1, 2, 3, 4]
    with pytest.raises(TypeError):
        range(xp.asarray(3))
    with pytest.raises(TypeError):
        host[xp.asarray(1)]


@pytest.mark.parametrize("index", [[0, 1], np.array([0, 1]), (slice(None), [0])])
def test_host_indices_are_refused(x, index):
    with pytest.raises(TypeError):
        x[index]
    with pytest.raises(TypeError):
        x[index] = 0


def test_functions_refuse_host_arrays_lists_and_numbers(x, host):
    for call in (
        lambda: xp.exp(host),
        lambda: xp.exp([1.0]),
        lambda: xp.sum(host),
        lambda: xp.sum(3.0),
        lambda: xp.concatenate([x, host]),
        lambda: xp.where(host > 0, x, 0),
        lambda: xp.take(x, [0]),
        lambda: xp.einsum("ij->i", host),
        lambda: x.searchsorted([1.0]),
        lambda: cupyx.scipy.special.erf(host),
    ):
        with pytest.raises(TypeError):
            call()


def test_synchronisations_are_counted(x):
    with count_transfers() as transfers:
        total = x.sum() * 2 + x[1, 2] - x.max()
        x[x > 0] = 1
        total = xp.where(total > 0, total, 0)
    assert transfers.synchronisations == transfers.uploads == 0
    for wait in (
        lambda: total.get(),
        lambda: float(total),
        lambda: int(total),
        lambda: bool(total),
        lambda: complex(total),
        lambda: total.item(),
        lambda: x.tolist(),
        lambda: xp.asnumpy(x),
        lambda: repr(x),
        lambda: x[x > 0],
        lambda: xp.nonzero(x),
        lambda: x.nonzero(),
        lambda: xp.unique(x),
        lambda: xp.cuda.Device().synchronize(),
    ):
        with count_transfers() as transfers:
            wait()
        assert transfers.synchronisations == 1 and transfers.uploads == 0
    with count_transfers() as outer, count_transfers() as inner:
        xp.asarray(np.ones(2))
    assert outer == inner and inner.uploads == 1 and inner.synchronisations == 0


def test_devices_are_kept_apart(x):
    assert xp.cuda.runtime.getDeviceCount() == 2 and x.device.id == 0 and xp.cuda.Device() == xp.cuda.Device(0)
    with xp.cuda.Device(1):
        y = xp.asarray(x)
        assert y.device.id == 1 and y.data.ptr != x.data.ptr and xp.zeros(2).device.id == 1
        assert (y + 1).device.id == 1 and y[0].device.id == 1
        with pytest.raises(ValueError, match="resides \\(0\\) is different from the current device \\(1\\)"):
            y + x
        assert equal(xp.asarray(x) + y, 2 * x.get())
    with pytest.raises(ValueError, match="different from the current device"):
        y.sum()
    assert y.T.device.id == 1 and np.array_equal(y.get(), x.get()), "views and downloads need no kernel"
    with pytest.raises(RuntimeError, match="invalid device ordinal"), xp.cuda.Device(2):
        pass


# -- arrays ----------------------------------------------------------------------------------------------------------


def test_reductions_and_scalars_stay_on_the_device(x, host):
    for result, expected in [
        (x.sum(), host.sum()),
        (xp.sum(x, axis=0, keepdims=True), host.sum(0, keepdims=True)),
        (x.argmax(), host.argmax()),
        (x[1, 2], host[1, 2]),
        (x.sum() * x.sum(), host.sum() * host.sum()),
        (-x.mean(), -host.mean()),
        (xp.exp(x[0, 0]), np.exp(host[0, 0])),
        (xp.dot(x[0], x[1]), host[0] @ host[1]),
        (xp.allclose(x, x), np.bool_(True)),
        (xp.count_nonzero(x), np.int64(12)),
        (xp.linalg.norm(x), np.linalg.norm(host)),
    ]:
        assert equal(result, expected)
    assert isinstance(xp.result_type(x, np.float64), np.dtype) and xp.ndim(x) == 2
    assert xp.may_share_memory(x, x[0]) is True


def test_views_share_memory(x, host):
    views = [x[1], x[:, ::2], x.T, x.reshape(2, 6), x.ravel(), x[None], x[..., 0], x.view(), x.swapaxes(0, 1), x[1, 2]]
    views += [xp.broadcast_to(x, (2, 3, 4)), xp.moveaxis(x, 0, 1), xp.squeeze(x[None]), x.view(np.int32)]
    for view in views:
        assert view.base is x and not view.flags.owndata and xp.shares_memory(view, x)
    for copied in (x.copy(), x + 0, x[xp.asarray([0, 1])], x.flatten(), x.T.ravel(), xp.ascontiguousarray(x.T)):
        assert copied.base is None and copied.flags.owndata and not xp.shares_memory(copied, x)
    x[1][...] = 7
    x.T[0] = x.T[1]
    host[1] = 7
    host[:, 0] = host[:, 1]
    assert equal(x, host)
    assert x.data.ptr == x[0].data.ptr == x[1].data.ptr - 16 and x.strides == (16, 4) and x.T.flags.f_contiguous
    x.shape = (4, 3)
    assert x.shape == (4, 3)


def test_operators_in_place_and_reflected(x, host):
    y = x
    for apply, number in [
        (operator.iadd, 2),
        (operator.imul, 1.5),
        (operator.isub, np.float32(1)),
        (operator.itruediv, 3),
    ]:
        y, host = apply(y, number), apply(host, number)
    assert y is x and equal(x, host)
    assert equal(1 - x, 1 - host) and equal(2**x, 2**host) and equal(np.float64(2) * x, np.float64(2) * host)
    assert equal(x @ x.T, host @ host.T) and equal(abs(-x), abs(-host)) and equal(x % 2, host % 2)
    assert [array.shape for array in divmod(x, 2)] == [(3, 4)] * 2
    flags = x > 0
    assert equal(~flags & flags | flags, host > 0) and equal(x == None, np.zeros((3, 4), bool))  # noqa: E711
    integers = xp.arange(3)
    with pytest.raises(TypeError, match="could not be coerced"):
        integers += 0.5
    with pytest.raises(TypeError):
        x + "text"
    with pytest.raises(TypeError):
        hash(x)


def test_indexing_follows_cupy_where_it_differs(x, host):
    wild = xp.asarray([0, 5, -4])
    assert equal(x[wild], host[[0, 2, 2]]) and equal(x.take(wild, axis=0), host[[0, 2, 2]])
    assert equal(xp.take(x, xp.asarray(13)), host.reshape(-1)[1])
    assert equal(x[:, xp.asarray([4, 1])], host[:, [0, 1]])
    assert equal(xp.take_along_axis(x, xp.asarray([[4]] * 3), 1), host[:, :1])
    with pytest.raises(IndexError):
        x[3]
    with pytest.raises(IndexError, match="more than one boolean"):
        x[xp.ones(3, bool), xp.ones(4, bool)]
    with pytest.raises(IndexError, match="integer or boolean"):
        x[xp.zeros(1)]
    x[xp.asarray([0, 0, 1])] = xp.asarray([[1.0], [2.0], [3.0]])
    assert x[0, 0].item() == 1 and x[1, 0].item() == 3, "of repeated places it is not the last one that stays"
    x[xp.asarray([1, 1])] = 9
    assert x[1].tolist() == [9] * 4
    x[x > 5] = -1
    assert x[1].tolist() == [-1] * 4


def test_scatter(x):
    for dtype in (np.float32, np.float64, np.float16, np.int32, np.int64):
        target = xp.zeros(3, dtype)
        xp.add.at(target, xp.asarray([0, 0, 5]), xp.asarray([1, 2, 3]))
        assert target.tolist() == [3, 0, 3]
    xp.maximum.at(x, (xp.asarray([0, 0]), xp.asarray([1, 1])), xp.asarray([50.0, 40.0]))
    assert x[0, 1].item() == 50
    cupyx.scatter_add(x, xp.asarray([1, 1]), 100.0)
    assert x[1, 0].item() > 190
    with pytest.raises(NotImplementedError, match="multiply.at"):
        xp.multiply.at(x, xp.asarray([0]), 1)
    with pytest.raises(TypeError, match="add.at only supports"):
        xp.add.at(x.astype(BFLOAT16), xp.asarray([0]), 1)
    with pytest.raises(TypeError, match="add.at only supports"):
        xp.add.at(xp.zeros(3, np.int8), xp.asarray([0]), 1)


def test_casts_saturate_as_on_the_device():
    wild = xp.asarray([np.inf, -np.inf, np.nan, -1.5, 300.0, 2.9])
    limits = np.iinfo(np.int32)
    assert wild.astype(np.int32).tolist() == [limits.max, limits.min, 0, -1, 300, 2]
    assert wild.astype(np.uint8).tolist() == [255, 0, 0, 0, 44, 2]
    assert wild.astype(np.int64)[0].item() == np.iinfo(np.int64).max
    target = xp.zeros(6, np.int32)
    target[:] = wild
    assert target[2].item() == 0
    with pytest.raises(TypeError, match="according to the rule"):
        wild.astype(np.int32, casting="same_kind")


def test_empty_memory_is_not_zero():
    for dtype in (np.float32, np.int64, bool, BFLOAT16, np.complex64):
        for made in (xp.empty((2, 2), dtype), xp.empty_like(xp.zeros((2, 2), dtype)), ndarray((2, 2), dtype)):
            assert made.dtype == dtype and made.shape == (2, 2) and bool(xp.all(made != 0))


def test_no_floating_point_warnings():
    x = xp.asarray([0.0, -1.0])
    assert np.isnan((x / 0).get()[0]) and np.isinf(xp.log(x).get()[0]) and np.isinf(x.std(ddof=2).get())


def test_copies_and_pickles(x, host):
    assert equal(copy.copy(x), host) and equal(copy.deepcopy(x), host) and equal(pickle.loads(pickle.dumps(x)), host)
    x.set(host * 2)
    assert equal(x, host * 2)
    x.fill(3)
    x.real = 4
    assert x.get(out=host) is host and (host == 4).all()
    z = x + 1j
    assert equal(z.imag, np.ones((3, 4), np.float32)) and z.real.base is z and len(list(x)) == len(x) == 3


def test_memory_figures():
    pool = xp.get_default_memory_pool()
    before = pool.used_bytes()
    x = xp.zeros(1000, np.float32)
    view = x[10:]
    assert pool.used_bytes() - before == 4000
    del x, view
    assert pool.used_bytes() == before
    free, total = xp.cuda.runtime.memGetInfo()
    assert 0 < free <= total


# -- names, keywords and dtypes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    "block insert geomspace einsum_path errstate frompyfunc nditer unstack vecdot matvec nanquantile linalg.multi_dot "
    "linalg.vector_norm linalg.matrix_norm linalg.svdvals ElementwiseKernel RawKernel fuse apply_along_axis mgrid "
    "lib.stride_tricks.broadcast_to random.Generator.normal not_a_name".split(),
)
def test_names_that_are_not_there(name):
    found = xp
    with pytest.raises(AttributeError):
        for part in name.split("."):
            found = getattr(found() if isinstance(found, type) else found, part)


def test_keywords_that_are_not_there(x):
    for call in (
        lambda: xp.sum(x, where=x > 0),
        lambda: xp.sum(x, initial=0),
        lambda: x.max(initial=0),
        lambda: xp.exp(x, where=x > 0),
        lambda: xp.einsum("ij->i", x, out=x[:, 0]),
        lambda: xp.take(x, xp.asarray([0]), mode="clip"),
        lambda: xp.sort(x, stable=True),
        lambda: xp.fft.fft(x, out=x),
        lambda: xp.mean(x, where=x > 0),
        lambda: xp.random.RandomState(0).get_state,
    ):
        with pytest.raises((TypeError, AttributeError)):
            call()
    for call in (xp.maximum.reduce, xp.logical_or.accumulate, xp.subtract.reduce, xp.maximum.reduceat):
        with pytest.raises(NotImplementedError):
            call(x, xp.asarray([0])) if call.__name__ == "reduceat" else call(x)


CALLS = {
    "where": lambda xp, x: xp.where(x > 0, x, 0.5),
    "einsum": lambda xp, x: xp.einsum("ij,kj->ik", x, x),
    "concatenate": lambda xp, x: xp.concatenate([x, x], 1),
    "stack": lambda xp, x: xp.stack((x, x), -1),
    "split": lambda xp, x: xp.split(x, 2, axis=1)[1],
    "cumsum": lambda xp, x: xp.cumsum(x, 0),
    "argsort": lambda xp, x: xp.argsort(x, axis=1),
    "sort": lambda xp, x: xp.sort(x, axis=0),
    "clip": lambda xp, x: xp.clip(x, -0.5, None),
    "pad": lambda xp, x: xp.pad(x, ((1, 1), (0, 2))),
    "tensordot": lambda xp, x: xp.tensordot(x, x, ([1], [1])),
    "add.reduce": lambda xp, x: xp.add.reduce(x, axis=1),
    "add.accumulate": lambda xp, x: xp.add.accumulate(x, 1),
    "add.reduceat": lambda xp, x: xp.add.reduceat(x, xp.asarray([0, 2]), 1),
    "multiply.reduce": lambda xp, x: xp.multiply.reduce(x, axis=0),
    "multiply.outer": lambda xp, x: xp.multiply.outer(x[0], x[1]),
    "linspace": lambda xp, x: xp.linspace(0, 1, 5, dtype=np.float32),
    "arange": lambda xp, x: xp.arange(2, 8, 2),
    "full_like": lambda xp, x: xp.full_like(x, 3),
    "eye": lambda xp, x: xp.eye(3, k=1, dtype=np.float32),
    "tril": lambda xp, x: xp.tril(x, -1),
    "roll": lambda xp, x: xp.roll(x, 1, axis=0),
    "repeat": lambda xp, x: xp.repeat(x, 2, axis=0),
    "searchsorted": lambda xp, x: xp.searchsorted(xp.sort(x[0]), x[1]),
    "nan_to_num": lambda xp, x: xp.nan_to_num(x / 0),
    "solve": lambda xp, x: xp.linalg.solve(x @ x.T, x),
    "svd": lambda xp, x: xp.linalg.svd(x, full_matrices=False)[1],
    "rfft": lambda xp, x: xp.fft.rfft(x, axis=1),
    "out": lambda xp, x: xp.add(x, 1, out=xp.zeros(x.shape, np.float32)),
    "dtype": lambda xp, x: xp.add(x, 1, dtype=np.float64),
    "frexp": lambda xp, x: xp.frexp(x)[1],
    "bool sum": lambda xp, x: xp.sum(x > 0),
    "int mean": lambda xp, x: xp.arange(4).mean(),
    "put_along_axis": lambda xp, x: xp.put_along_axis(x, xp.asarray([[1]] * 3), 0, 1) or x,
    "fill_diagonal": lambda xp, x: xp.fill_diagonal(x, 1) or x,
    "copyto": lambda xp, x: xp.copyto(x, 1.0, where=x > 0) or x,
    "astype": lambda xp, x: xp.astype(x, np.float16),
    "as_strided": lambda xp, x: xp.lib.stride_tricks.as_strided(x, (2, 2, 3), (16, 4, 4)),
    "sliding_window_view": lambda xp, x: xp.lib.stride_tricks.sliding_window_view(x, 3, axis=1),
    "broadcast": lambda xp, x: xp.zeros(xp.broadcast(x, x[0, :1]).shape),
    "nested": lambda xp, x: xp.array([[x[0, 0], x[0, 1]], [x[1, 0], x[1, 1]]]),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_functions_agree_with_numpy(call, x, host):
    with np.errstate(all="ignore"):
        assert equal(call(xp, x), np.asarray(call(np, host)))


NUMBERS = [np.ones(2, code) for code in "?bBhHiIlLefdFD"] + [True, 2, 2.5, 1j]


@pytest.mark.parametrize("name", ["add", "multiply", "true_divide", "floor_divide", "power", "maximum", "less"])
def test_promotion_agrees_with_numpy(name):
    for left, right in itertools.product(NUMBERS, NUMBERS):
        arrays = [xp.asarray(value) if isinstance(value, np.ndarray) else value for value in (left, right)]
        try:
            expected = getattr(np, name)(left, right)
        except TypeError:
            with pytest.raises(TypeError):
                getattr(xp, name)(*arrays)
            continue
        if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
            result = getattr(xp, name)(*arrays)
            assert result.dtype == expected.dtype, (left.dtype, right.dtype)
            np.testing.assert_array_equal(result.get(), expected)


def test_bfloat16():
    x = xp.arange(4).astype(BFLOAT16).reshape(2, 2)
    for result in (x + x, x * 2, x @ x, xp.exp(x), -x, xp.maximum(x, 0), xp.einsum("ij,jk", x, x), xp.empty_like(x)):
        assert result.dtype == BFLOAT16
    assert (x + xp.ones(2, np.float32)).dtype == np.float32
    assert cupyx.scipy.special.erf(x).dtype == np.float32, "it has no loop for bfloat16, the next wider one is taken"


def test_special_functions():
    special = cupyx.scipy.special
    x = xp.asarray([0.1, 1.0, 2.5])
    for dtype in (np.float16, np.float32, np.float64):
        assert special.erf(x.astype(dtype)).dtype == dtype or dtype == np.float16
    np.testing.assert_allclose(special.gammaln(x).get(), [2.252712651734206, 0.0, 0.2846828704729192], rtol=1e-12)
    np.testing.assert_allclose(special.softmax(x).sum().item(), 1)
    np.testing.assert_allclose(cupyx.rsqrt(x).get(), x.get() ** -0.5)
    assert special.zeta(x + 1, 1.0).shape == (3,)


def test_random_streams():
    draws = [xp.random.RandomState(5).normal(size=(2, 3), dtype=np.float32) for _ in range(2)]
    assert draws[0].dtype == np.float32 and equal(draws[0], draws[1].get())
    generator = xp.random.default_rng(1)
    assert generator.random(4, dtype=np.float32).dtype == np.float32 and generator.integers(0, 5, 3).shape == (3,)
    assert xp.random.rand(2, 3).shape == (2, 3) and xp.random.randint(3, size=2).shape == (2,)
    with pytest.raises(AttributeError):
        generator.permutation(3)


def test_streams_and_events():
    with xp.cuda.Stream(non_blocking=True) as stream:
        assert xp.cuda.get_current_stream() is stream
        start, end = stream.record(), stream.record()
    end.synchronize()
    assert xp.cuda.get_elapsed_time(start, end) >= 0 and xp.cuda.get_current_stream() is xp.cuda.Stream.null
    assert xp.cuda.is_available() and xp.is_available() and xp.get_array_module(xp.zeros(1), 3) is xp
    assert xp.get_array_module(np.zeros(1)) is np


# -- the table ---------------------------------------------------------------------------------------------------------


def test_arrays_offer_no_more_than_cupys():
    table = class_table("ndarray")
    known = {*table["methods"], *table["attributes"].split(), *dir(object)}
    own = {"__weakref__", "__annotations__", "_base", "_device", "_host", "_of", "_view"}
    assert not set(dir(ndarray)) - known - own and not hasattr(ndarray, "__index__")


def test_modules_offer_no_more_than_cupys():
    for name, module in [("cupy", xp), ("cupy.linalg", xp.linalg), ("cupyx.scipy.special", cupyx.scipy.special)]:
        table = module_table(name)
        names = {*table["functions"], *table["ufuncs"], *table["others"].split()}
        public = {key for key in dir(module) if not key.startswith("_")}
        assert public - names <= {"cuda", "exceptions", "get_default_memory_pool", "ndarray", "random", "ufunc"}
        assert {key for key in vars(module) if not key.startswith("_")} <= public


@pytest.mark.skipif(importlib.util.find_spec("cupy") is None, reason="CuPy is not installed")
def test_table_is_that_of_the_installed_cupy():
    import cupy

    if cupy.__version__ != VERSION:
        pytest.skip(f"the table is of CuPy {VERSION}, installed is {cupy.__version__}")
    sys.path.insert(0, str(Path(__file__).parent / "reference"))
    try:
        from make_cupy_table import MODULES, describe_class, describe_module
    finally:
        sys.path.pop(0)
    for name in MODULES:
        try:
            found = describe_module(name)
        except ImportError:  # a CUDA library that the module needs is not installed
            continue
        assert found == module_table(name), name
    assert describe_class("cupy", "ndarray") == class_table("ndarray")


@pytest.mark.skipif(importlib.util.find_spec("cupy") is None, reason="CuPy is not installed")
def test_loops_are_chosen_as_the_installed_cupy_chooses():
    import cupy

    dtypes = [np.dtype(code) for code in "?bBhHiIlLefdFD"] + [BFLOAT16]
    for name in module_table("cupy")["ufuncs"]:
        mine, real = getattr(xp, name, None), getattr(cupy, name)
        if mine is None or mine.nin > 2:
            continue
        for types in itertools.product(dtypes, repeat=mine.nin):
            op = real._ops._guess_routine_from_in_types(types)
            try:
                found = mine._loop([np.ones(1, dtype) for dtype in types], None)[1]
            except TypeError:
                found = None
            assert found == (None if op is None else [np.dtype(t) for t in op.out_types]), (name, types)


def test_importing_tocha_does_not_import_it():
    code = "import sys, tocha; sys.exit(any(name.startswith('tocha.testing') for name in sys.modules))"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_install_serves_the_device_type():
    from tocha._core import arrays

    before = sys.modules.get("cupy")
    with install() as module:
        import cupy
        import cupyx.scipy.special

        assert module is cupy is xp and cupyx.scipy.special.erf is not None
        assert arrays.for_device_type("cuda").xp is xp
        assert arrays.for_array(xp.zeros(1)).to_host(xp.zeros(1)).tolist() == [0]
    assert sys.modules.get("cupy") is before and arrays._by_device.get("cuda") is None


# -- tocha's own kernels -----------------------------------------------------------------------------------------------

SOURCES = Path(importlib.util.find_spec("tocha").submodule_search_locations[0])


def attribute_chain(node):
    """`("xp", ["linalg", "qr"])` for the expression `xp.linalg.qr`."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return (node.id if isinstance(node, ast.Name) else None), names[::-1]


def test_kernels_name_only_what_cupy_has():
    used = set()
    for path in SOURCES.rglob("*.py"):
        if "strict_device" not in path.parts:
            for node in ast.walk(ast.parse(path.read_text())):
                root, names = attribute_chain(node)
                if root == "xp" and names and names[0] not in {"cuda", "random"}:
                    used.add((".".join(names[: 2 if names[0] in {"linalg", "fft"} else 1]), f"{path}:{node.lineno}"))
    assert used
    missing = []
    for name, place in sorted(used):
        try:
            operator.attrgetter(name)(xp)
        except AttributeError:
            missing.append(f"{place}: xp.{name}")
    assert not missing, "\n".join(missing)


def test_kernels_given_by_name_exist_in_cupy():
    from tocha._core.record import OPS, bind

    named = {op.name: op.kernel for op in OPS.values() if isinstance(op.kernel, str)}
    assert named
    for kernel in named.values():
        assert callable(bind(kernel, xp))
