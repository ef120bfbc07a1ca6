"""Dual numbers, ``autograd.functional``, and the rest of ``autograd`` beside the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tocha
import tocha.autograd.forward_ad as fwAD
from tocha.autograd import functional as AF

X, T = [0.5, -1.0, 2.0], [1.0, 2.0, -0.5]


def double(values: object) -> tocha.Tensor:
    return tocha.tensor(values, dtype=tocha.float64)


# ---------------------------------------------------------------- dual numbers


def test_tangents_follow_operations_views_and_writes() -> None:
    with fwAD.dual_level():
        x = fwAD.make_dual(double(X), double(T))
        primal, tangent = fwAD.unpack_dual(x.sin() * 2)
        np.testing.assert_allclose(tangent.numpy(), 2 * np.cos(X) * T)
        np.testing.assert_allclose(primal.numpy(), 2 * np.sin(X))
        assert not primal.requires_grad and not tangent.requires_grad
        assert fwAD.unpack_dual(x[1:].reshape(2, 1)).tangent.tolist() == [[2.0], [-0.5]]
        buffer = tocha.zeros(3, dtype=tocha.float64)
        buffer[1] = x[0] * 3
        assert fwAD.unpack_dual(buffer).tangent.tolist() == [0, 3, 0]
        x.mul_(2)
        assert fwAD.unpack_dual(x).tangent.tolist() == [2, 4, -1]
        y = fwAD.make_dual(double(X), double([0.0, 0.0, 1.0]))
        assert fwAD.unpack_dual(x + y).tangent.tolist() == [2, 4, 0]
        assert fwAD.unpack_dual(double(X)).tangent is None
        kept = x * 1
    assert fwAD.unpack_dual(kept).tangent is None, "tangents end with their level"


def test_tangents_are_differentiable() -> None:
    x, t = double(X).requires_grad_(), double(T).requires_grad_()
    with fwAD.dual_level():
        tangent = fwAD.unpack_dual((fwAD.make_dual(x, t) ** 3).sum()).tangent
    gx, gt = tocha.autograd.grad(tangent, (x, t))
    np.testing.assert_allclose(gx.numpy(), 6 * np.array(X) * T)
    np.testing.assert_allclose(gt.numpy(), 3 * np.array(X) ** 2)


def test_complex_tangents() -> None:
    z, t = tocha.tensor([1 + 2j, -1j], dtype=tocha.complex128), tocha.tensor([1j, 2.0], dtype=tocha.complex128)
    with fwAD.dual_level():
        dual = fwAD.make_dual(z, t)
        np.testing.assert_allclose(fwAD.unpack_dual(dual * dual).tangent.numpy(), 2 * z.numpy() * t.numpy())
        expected = (z.numpy().conj() * t.numpy()).real / abs(z.numpy())
        np.testing.assert_allclose(fwAD.unpack_dual(dual.abs()).tangent.numpy(), expected)


def test_a_dual_number_prints_its_tangent() -> None:
    with fwAD.dual_level():
        x = fwAD.make_dual(tocha.ones(2), tocha.zeros(2))
        assert repr(x) == "tensor([1., 1.], tangent=tensor([0., 0.]))"
        assert repr(tocha.ones(1)) == "tensor([1.])"


def test_custom_function_with_jvp_only() -> None:
    class Cube(tocha.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: tocha.Tensor, scale: float) -> tocha.Tensor:
            ctx.save_for_forward(x)
            ctx.scale = scale
            return scale * x**3

        @staticmethod
        def jvp(ctx: Any, t: tocha.Tensor, _: None) -> tocha.Tensor:
            (x,) = ctx.saved_tensors
            return 3 * ctx.scale * x * x * t

    with fwAD.dual_level():
        tangent = fwAD.unpack_dual(Cube.apply(fwAD.make_dual(double(X), double(T)), 2.0)).tangent
    np.testing.assert_allclose(tangent.numpy(), 6 * np.array(X) ** 2 * T)


def test_level_errors() -> None:
    with pytest.raises(RuntimeError, match="make sure to enter_dual_level"):
        fwAD.make_dual(tocha.ones(2), tocha.ones(2))
    with pytest.raises(RuntimeError, match="must be a positive number"):
        fwAD.exit_dual_level()
    with fwAD.dual_level():
        with pytest.raises(RuntimeError, match="Nested forward mode AD"):
            fwAD.enter_dual_level()
        with pytest.raises(RuntimeError, match="different size"):
            fwAD.make_dual(tocha.ones(2), tocha.ones(3))
        with pytest.raises(ValueError, match="Expected primal to be floating point or complex"):
            fwAD.make_dual(tocha.arange(2), tocha.ones(2))
        with pytest.raises(RuntimeError, match="already has a forward gradient"):
            fwAD.make_dual(fwAD.make_dual(tocha.ones(2), tocha.ones(2)), tocha.ones(2))
        with pytest.raises(RuntimeError, match="was not the last one"):
            fwAD.exit_dual_level(level=3)


# ---------------------------------------------------------------- autograd.functional


def two(x: tocha.Tensor, y: tocha.Tensor) -> tuple[tocha.Tensor, tocha.Tensor]:
    return x * y.sum(), y**2


def test_products_with_jacobians() -> None:
    x, y = double(X), double([1.0, 2.0])
    outputs, products = AF.vjp(two, (x, y), (double(T), double([1.0, 1.0])))
    assert outputs[0].tolist() == [3 * v for v in X] and outputs[1].tolist() == [1, 4]
    dot = float(np.dot(X, T))
    assert products[0].tolist() == [3 * v for v in T] and products[1].tolist() == [dot + 2, dot + 4]
    _, tangents = AF.jvp(two, (x, y), (double(T), double([1.0, 0.0])))
    np.testing.assert_allclose(tangents[0].numpy(), 3 * np.array(T) + X)
    assert tangents[1].tolist() == [2, 0]


@pytest.mark.parametrize("options", [{}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}])
def test_jacobian(options: dict) -> None:
    rows = AF.jacobian(two, (double(X), double([1.0, 2.0])), **options)
    np.testing.assert_allclose(rows[0][0].numpy(), 3 * np.eye(3))
    np.testing.assert_allclose(rows[0][1].numpy(), np.repeat(np.array(X)[:, None], 2, 1))
    np.testing.assert_allclose(rows[1][0].numpy(), np.zeros((2, 3)))
    np.testing.assert_allclose(rows[1][1].numpy(), np.diag([2.0, 4.0]))
    assert AF.jacobian(lambda t: t * 2, tocha.ones(0), **options).shape == (0, 0)


def test_hessians_and_their_products() -> None:
    def f(x: tocha.Tensor, y: tocha.Tensor) -> tocha.Tensor:
        return (x * x).sum() * y

    x, y, v = double(X), double(2.0), (double(T), double(1.0))
    rows = AF.hessian(f, (x, y))
    np.testing.assert_allclose(rows[0][0].numpy(), 4 * np.eye(3))
    np.testing.assert_allclose(rows[0][1].numpy(), 2 * np.array(X))
    assert rows[1][1].item() == 0
    want = 4 * np.array(T) + 2 * np.array(X)
    for product in (AF.vhp(f, (x, y), v)[1], AF.hvp(f, (x, y), v)[1]):
        np.testing.assert_allclose(product[0].numpy(), want)
        assert product[1].item() == pytest.approx(2 * float(np.dot(X, T)))
    forward = AF.hessian(f, (x, y), vectorize=True, outer_jacobian_strategy="forward-mode")
    np.testing.assert_allclose(forward[0][0].numpy(), 4 * np.eye(3))


def test_create_graph_makes_results_differentiable() -> None:
    x = double(X).requires_grad_()
    jacobian = AF.jacobian(lambda t: t**3, x, create_graph=True)
    (g,) = tocha.autograd.grad(jacobian.sum(), x)
    np.testing.assert_allclose(g.numpy(), 6 * np.array(X))
    assert not AF.jacobian(lambda t: t**3, x).requires_grad
    (g,) = tocha.autograd.grad(AF.hvp(lambda t: (t**4).sum(), x, double(T), create_graph=True)[1].sum(), x)
    np.testing.assert_allclose(g.numpy(), 24 * np.array(X) * T)


FUNCTIONAL_ERRORS: list[tuple[Callable, type, str]] = [
    (lambda: AF.vjp(lambda x: x, tocha.ones(2)), RuntimeError, "can only be None"),
    (lambda: AF.vjp(lambda x: x, tocha.ones(2), tocha.ones(3)), RuntimeError, "v has invalid size"),
    (lambda: AF.vjp(lambda x: 3, tocha.ones(2)), TypeError, "outputs of the user-provided function given to vjp"),
    (lambda: AF.jvp(lambda x: x, (tocha.ones(2), 3)), TypeError, "value at index 1"),
    (lambda: AF.hessian(lambda x: x, tocha.ones(2)), RuntimeError, "should contain a single element"),
    (lambda: AF.hessian(lambda x: (x, x), tocha.ones(1)), RuntimeError, "should return a single Tensor"),
    (lambda: AF.jacobian(lambda x: tocha.ones(1), tocha.ones(2), strict=True), RuntimeError,
     "does not require gradients"),
    (lambda: AF.jacobian(lambda x, y: x, (tocha.ones(2), tocha.ones(2)), strict=True), RuntimeError,
     "independent of input 1"),
    (lambda: AF.hessian(lambda x: x.sum(), tocha.ones(2), strict=True), RuntimeError, "independent of the input"),
    (lambda: AF.jacobian(lambda x: x, tocha.ones(2), strategy="forward-mode"), NotImplementedError, "vectorize=True"),
    (lambda: AF.jacobian(lambda x: x, tocha.ones(2), strategy="sideways"), AssertionError, "Expected strategy"),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(FUNCTIONAL_ERRORS)))
def test_functional_errors(case: int) -> None:
    call, kind, message = FUNCTIONAL_ERRORS[case]
    with pytest.raises(kind, match=message):
        call()


# ---------------------------------------------------------------- grad of batches, old names


def test_batched_cotangents() -> None:
    x = double(X).requires_grad_()
    y, z = x * x, double(1.0).requires_grad_()
    (g,) = tocha.autograd.grad(y, x, tocha.eye(3, dtype=tocha.float64), is_grads_batched=True)
    np.testing.assert_allclose(g.numpy(), np.diag(2 * np.array(X)))
    _, unused = tocha.autograd.grad(
        x * x, (x, z), double(np.ones((2, 3))), is_grads_batched=True, materialize_grads=True
    )
    assert unused.shape == (2,)
    with pytest.raises(RuntimeError, match="first dimension of each grad_output as the batch dimension"):
        tocha.autograd.grad(x * x, x, tocha.ones(2, 4, dtype=tocha.float64), is_grads_batched=True)


def test_variable_is_a_tensor() -> None:
    v = tocha.autograd.Variable(tocha.ones(2), requires_grad=True)
    assert isinstance(v, tocha.autograd.Variable) and isinstance(v, tocha.Tensor) and v.requires_grad
    assert isinstance(tocha.ones(1), tocha.autograd.Variable) and not isinstance(1, tocha.autograd.Variable)


def test_nested_io_function() -> None:
    class Scale(tocha.autograd.NestedIOFunction):
        def forward_extended(self, pair: Any) -> Any:
            self.save_for_backward(pair)
            return [pair[0] * pair[1], pair[0]]

        def backward_extended(self, of_product: tocha.Tensor, of_same: tocha.Tensor) -> Any:
            ((a, b),) = self.saved_tensors
            return (of_product * b + of_same, of_product * a)

    a, b = double(X).requires_grad_(), double(T).requires_grad_()
    product, same = Scale()((a, b))
    (product.sum() + same.sum()).backward()
    assert a.grad.tolist() == [t + 1 for t in T] and b.grad.tolist() == X


def test_engine_switches_are_contexts_and_decorators() -> None:
    for switch in (tocha.autograd.set_multithreading_enabled, tocha.autograd.enforce_grad_layout_policy):
        with switch(False):
            assert switch._state.get() is False
        assert switch._state.get() is True
        assert switch(False)(switch._state.get)() is False and switch._state.get() is True


# ---------------------------------------------------------------- hooks on what is saved


def test_second_derivatives_through_saved_tensor_hooks() -> None:
    x = double(X).requires_grad_()
    with tocha.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t):
        y = (x**3).sum() + (x.exp() * x).sum()
    (g,) = tocha.autograd.grad(y, x, create_graph=True)
    (h,) = tocha.autograd.grad(g.sum(), x)
    v = np.array(X)
    np.testing.assert_allclose(h.numpy(), 6 * v + np.exp(v) * (v + 2))


def test_hooks_get_what_kernels_and_custom_functions_keep() -> None:
    class Exp(tocha.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: tocha.Tensor) -> tocha.Tensor:
            y = x.exp()
            ctx.save_for_backward(y, x)
            return y

        @staticmethod
        def backward(ctx: Any, g: tocha.Tensor) -> tocha.Tensor:
            y, _ = ctx.saved_tensors
            return g * y

    packed: list[tocha.Tensor] = []
    x = double(X).requires_grad_()
    with tocha.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or len(packed) - 1, lambda i: packed[i]):
        y = Exp.apply(x)
        assert len(packed) == 2
        z = tocha.nn.functional.layer_norm(tocha.ones(2, 3, requires_grad=True), (3,))
    assert len(packed) > 2
    (g,) = tocha.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = tocha.autograd.grad(g.sum(), x)
    np.testing.assert_allclose(h.numpy(), np.exp(X))
    z.sum().backward()
