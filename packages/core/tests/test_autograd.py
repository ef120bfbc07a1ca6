"""The engine: accumulation, modes, hooks, errors, custom functions, memory."""

from __future__ import annotations

import gc
import threading
import tracemalloc
import weakref

import numpy as np
import pytest

import tocha
from tocha import nn
from tocha.autograd import Function, gradcheck, gradgradcheck


def leaf(*values: float, dtype: tocha.dtype = tocha.float64) -> tocha.Tensor:
    return tocha.tensor(list(values), dtype=dtype, requires_grad=True)


def test_gradients_accumulate_and_are_not_shared() -> None:
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    assert x.grad is first and x.grad.tolist() == [5.0, 7.0]
    a, b = leaf(1.0), leaf(2.0)
    (a + b).backward(tocha.ones(1, dtype=tocha.float64))
    a.grad.zero_()
    assert b.grad.tolist() == [1.0], "two leaves must not hold one gradient array"
    seed = tocha.ones(2, dtype=tocha.float64)
    x.grad = None
    (x + 0).backward(seed)
    x.grad.zero_()
    assert seed.tolist() == [1.0, 1.0], "the caller's gradient is not adopted"


def test_grad_touches_no_leaf_and_handles_unused_inputs() -> None:
    x, y = leaf(2.0), leaf(3.0)
    (g,) = tocha.autograd.grad((x * x).sum(), x)
    assert g.item() == 4.0 and x.grad is None
    with pytest.raises(RuntimeError, match="appears to not have been used"):
        tocha.autograd.grad((x * x).sum(), [x, y])
    g, unused = tocha.autograd.grad((x * x).sum(), [x, y], allow_unused=True)
    assert unused is None
    _, zeros = tocha.autograd.grad((x * x).sum(), [x, y], materialize_grads=True)
    assert zeros.tolist() == [0.0]


def test_grad_with_respect_to_an_inner_tensor() -> None:
    x = leaf(2.0)
    h = x * x
    (g,) = tocha.autograd.grad((h * h).sum(), h)
    assert g.item() == 8.0


def test_higher_derivatives() -> None:
    x = leaf(2.0)
    y = x**4
    values = []
    for _ in range(4):
        (y,) = tocha.autograd.grad(y.sum(), x, create_graph=True)
        values.append(y.item())
    assert values == [32.0, 48.0, 48.0, 24.0]


def test_backward_twice() -> None:
    x = leaf(2.0)
    y = (x * x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()
    z = (x * x).sum()
    z.backward(retain_graph=True)
    z.backward()
    assert x.grad.item() == 12.0


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda x: x.backward(), RuntimeError, "grad can be implicitly created only for scalar outputs"),
        (lambda x: tocha.ones(1).backward(), RuntimeError, "does not require grad and does not have a grad_fn"),
        (lambda x: (x * 2).backward(tocha.ones(3)), RuntimeError, "Mismatch in shape"),
        (lambda x: (x * 2).backward(1.0), TypeError, "gradients can be either Tensors or None"),
        (
            lambda x: x.add_(1),
            RuntimeError,
            "a leaf Variable that requires grad is being used in an in-place operation",
        ),
        (lambda x: x[0].mul_(2), RuntimeError, "a view of a leaf Variable that requires grad"),
        (lambda x: (x * 2).requires_grad_(False), RuntimeError, "only change requires_grad flags of leaf variables"),
        (lambda x: x.numpy(), RuntimeError, "Can't call numpy\\(\\) on Tensor that requires grad"),
        (lambda x: tocha.ones(2, dtype=tocha.int64).requires_grad_(), RuntimeError, "floating point and complex dtype"),
        (lambda x: setattr(x, "grad", tocha.ones(3)), RuntimeError, "assigned|assign a gradient"),
        (lambda x: setattr(x, "grad", 1.0), TypeError, "assigned grad expected to be a Tensor"),
    ],
)
def test_errors(make, error, text) -> None:
    x = tocha.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(error, match=text):
        make(x)


def test_a_saved_tensor_that_was_written() -> None:
    x = leaf(1.0, 2.0)
    h = x * 2
    y = h * h
    h.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation.*is at version 1; expected version 0"):
        y.sum().backward()
    h = x * 2
    y = h + 1  # saves nothing
    h.mul_(3)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_modes() -> None:
    x = leaf(1.0)
    with tocha.no_grad():
        assert not (x * 2).requires_grad
        with tocha.enable_grad():
            assert (x * 2).requires_grad
    with tocha.set_grad_enabled(False):
        assert not tocha.is_grad_enabled()
    assert tocha.is_grad_enabled()

    @tocha.no_grad()
    def doubled(t: tocha.Tensor) -> tocha.Tensor:
        return t * 2

    @tocha.no_grad
    def tripled(t: tocha.Tensor) -> tocha.Tensor:
        return t * 3

    assert not doubled(x).requires_grad and not tripled(x).requires_grad

    @tocha.no_grad()
    def steps():
        yield x * 2
        yield x * 3

    flags = []
    for y in steps():
        flags.append((y.requires_grad, tocha.is_grad_enabled()))
    assert flags == [(False, True), (False, True)]


def test_inference_mode() -> None:
    with tocha.inference_mode():
        x = tocha.ones(2)
    assert x.is_inference()
    with pytest.raises(RuntimeError, match="inference tensor"):
        x.requires_grad_()
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        x.add_(1)


def test_grad_mode_is_one_a_thread() -> None:
    seen = []
    with tocha.no_grad():
        thread = threading.Thread(target=lambda: seen.append(tocha.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_hooks() -> None:
    x = leaf(1.0, 2.0)
    h = x * 2
    seen = []
    h.register_hook(lambda g: g * 10)
    h.retain_grad()
    x.register_hook(lambda g: seen.append(g.tolist()))
    handle = x.register_hook(lambda g: g * 100)
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.tolist()))
    h.sum().backward()
    assert seen == [[20.0, 20.0], [2000.0, 2000.0]] and h.grad.tolist() == [10.0, 10.0]
    handle.remove()
    x.grad = None
    (x * 1).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    node = (x * x).grad_fn
    order = []
    y = x * x
    y.grad_fn.register_prehook(lambda gs: order.append(("pre", len(gs))))
    y.grad_fn.register_hook(lambda gi, go: order.append(("post", len(gi), len(go))))
    y.sum().backward()
    assert order == [("pre", 1), ("post", 2, 1)] and node.name() == "MulBackward0"


def test_grad_fn_names_and_edges() -> None:
    x = leaf(1.0)
    y = (x * 2).sum()
    assert y.grad_fn.name() == "SumBackward0"
    mul, index = y.grad_fn.next_functions[0]
    assert (mul.name(), index) == ("MulBackward0", 0)
    accumulate, _ = mul.next_functions[0]
    assert accumulate.variable is x


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x * x * g


class Scaled(Function):
    """The newer style: forward without ctx."""

    @staticmethod
    def forward(x, factor):
        return x * factor, x + factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx, a, b):
        return a * ctx.factor + b, None


def test_custom_functions() -> None:
    x = leaf(0.5, -1.5)
    assert gradcheck(Cube.apply, x) and gradgradcheck(Cube.apply, x)
    assert gradcheck(lambda t: Scaled.apply(t, 2.0), x)
    a, b = Scaled.apply(x, 2.0)
    b.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0], "an output without gradient counts as zeros"


def test_custom_function_flags() -> None:
    class Both(Function):
        @staticmethod
        def forward(ctx, x, y):
            place = (x > 0).to(x.dtype)
            ctx.mark_non_differentiable(place)
            assert ctx.needs_input_grad == (True, False)
            return x * 2, place

        @staticmethod
        def backward(ctx, g, g_place):
            return g * 2, None

    x = leaf(1.0, -1.0)
    y, place = Both.apply(x, tocha.ones(2))
    assert y.requires_grad and not place.requires_grad

    class Fill(Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(3)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 3

    h = x * 1
    out = Fill.apply(h)
    assert out is h
    out.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]

    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @tocha.autograd.function.once_differentiable
        def backward(ctx, g):
            return g * 2

    (g,) = tocha.autograd.grad(Once.apply(x).sum(), x, create_graph=True)
    assert g.tolist() == [2.0, 2.0]

    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g, g

    with pytest.raises(RuntimeError, match="incorrect number of gradients"):
        Wrong.apply(x).sum().backward()


def test_anomaly_mode_names_the_forward_line() -> None:
    x = leaf(-1.0)
    with tocha.autograd.detect_anomaly():
        y = x.sqrt().sum()
        with pytest.warns(UserWarning, match="x.sqrt"), pytest.raises(RuntimeError, match="SqrtBackward0.*nan"):
            y.backward()


def test_saved_tensor_hooks() -> None:
    x = leaf(1.0, 2.0)
    packed = []

    def pack(t: tocha.Tensor) -> int:
        packed.append(t.numpy().copy())
        return len(packed) - 1

    with tocha.autograd.graph.saved_tensors_hooks(pack, lambda i: tocha.from_numpy(packed[i])):
        y = (x * x).exp().sum()
    assert len(packed) == 3
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * x.detach().numpy() * np.exp(x.detach().numpy() ** 2))


def test_a_deep_chain_needs_no_recursion() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y + 1
    y.sum().backward()
    assert x.grad.item() == 1.0


def test_training_leaves_no_cycles_and_does_not_grow() -> None:
    tocha.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = tocha.optim.Adam(model.parameters())
    x, y = tocha.randn(16, 4), tocha.randn(16, 2)

    def step() -> None:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()

    for _ in range(20):
        step()
    gc.collect()
    gc.disable()
    try:
        tracemalloc.start()
        before = tracemalloc.take_snapshot()
        for _ in range(1000):
            step()
        after = tracemalloc.take_snapshot()
        assert gc.collect() < 50, "training left reference cycles behind"
    finally:
        gc.enable()
        tracemalloc.stop()
    grown = sum(
        s.size_diff for s in after.compare_to(before, "filename") if "tracemalloc" not in s.traceback[0].filename
    )
    assert grown < 64 * 1024, f"memory grew by {grown} bytes over 1,000 steps"


def test_the_graph_does_not_keep_outputs_alive() -> None:
    x = leaf(1.0)
    h = x.exp()
    reference = weakref.ref(h)
    y = h.sum()
    del h
    assert reference() is None
    y.backward()
    assert x.grad is not None
