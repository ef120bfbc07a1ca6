"""Function transforms: values known by hand or from finite differences, nesting, structure, errors."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable

import numpy as np
import pytest

import tocha
from tocha import func

X = [0.3, -1.2, 2.0]


def double(values: object) -> tocha.Tensor:
    return tocha.tensor(values, dtype=tocha.float64)


def cubic(x: tocha.Tensor) -> tocha.Tensor:
    return (x**3).sum() + x[0] * x[1] * x[2]


def cubic_hessian(x: np.ndarray) -> np.ndarray:
    h = np.diag(6 * x)
    for i, j, k in ((0, 1, 2), (0, 2, 1), (1, 2, 0)):
        h[i, j] += x[k]
        h[j, i] += x[k]
    return h


# ---------------------------------------------------------------- reverse mode


def test_grad_and_its_derivatives() -> None:
    f = func.grad(lambda x: x**4)
    assert f(tocha.tensor(2.0)).item() == 32
    assert func.grad(f)(tocha.tensor(2.0)).item() == 48
    assert func.grad(func.grad(f))(tocha.tensor(2.0)).item() == 48
    assert not f(tocha.tensor(2.0)).requires_grad


def test_grad_of_several_arguments_in_containers() -> None:
    grads = func.grad(lambda p, y: (p["a"] * y).sum() + p["b"][0], argnums=(0, 1))(
        {"a": double(X), "b": [double(1.0)]}, double(X)
    )
    assert grads[0]["a"].tolist() == X and grads[0]["b"][0].item() == 1 and grads[1].tolist() == X
    assert func.grad(lambda x, y: x * y, argnums=-1)(tocha.tensor(2.0), tocha.tensor(3.0)).item() == 2


def test_grad_and_value_with_aux() -> None:
    grads, (value, aux) = func.grad_and_value(lambda x: ((x * x).sum(), {"twice": 2 * x}), has_aux=True)(double(X))
    assert grads.tolist() == [2 * v for v in X] and value.item() == pytest.approx(sum(v * v for v in X))
    assert not aux["twice"].requires_grad and aux["twice"].tolist() == [2 * v for v in X]


def test_an_unused_argument_has_a_zero_gradient() -> None:
    assert func.grad(lambda x, y: y.sum())(double(X), double(X)).tolist() == [0, 0, 0]


def test_captured_tensors_keep_their_history() -> None:
    w = double(X).requires_grad_()
    g = func.grad(lambda x: (w * x * x).sum())(double([1.0, 1.0, 1.0]))
    assert g.requires_grad
    (outer,) = tocha.autograd.grad(g.sum(), w)
    assert outer.tolist() == [2, 2, 2]
    x = double(X).requires_grad_()
    (outer,) = tocha.autograd.grad(func.grad(cubic)(x).sum(), x)
    np.testing.assert_allclose(outer.numpy(), cubic_hessian(np.array(X)).sum(0))
    assert w.grad is None and x.grad is None, "transforms touch no leaf"


def test_no_grad_inside_and_outside() -> None:
    def f(x: tocha.Tensor) -> tocha.Tensor:
        with tocha.no_grad():
            constant = x**2
        return (x**2 - constant).sum()

    assert func.grad(f)(double(X)).tolist() == [2 * v for v in X]
    with tocha.no_grad():
        g = func.grad(cubic)(double(X).requires_grad_())
    assert not g.requires_grad and tocha.is_grad_enabled()
    with tocha.inference_mode():
        assert func.grad(lambda x: x * x)(tocha.tensor(3.0)).item() == 6


def test_vjp_can_be_called_again_and_keeps_structure() -> None:
    output, vjp_fn = func.vjp(lambda x, y: {"product": x * y, "sum": x.sum()}, double(X), double(X))
    assert set(output) == {"product", "sum"} and not output["product"].requires_grad
    for scale in (1.0, 2.0):
        gx, gy = vjp_fn({"product": scale * tocha.ones(3, dtype=tocha.float64), "sum": double(1.0)})
        assert gx.tolist() == [scale * v + 1 for v in X] and gy.tolist() == [scale * v for v in X]
    cotangent = double([1.0, 0.0, 0.0]).requires_grad_()
    _, linear = func.vjp(lambda x: x * x, double(X))
    (g,) = linear(cotangent)
    (back,) = tocha.autograd.grad(g.sum(), cotangent)
    assert back.tolist() == [2 * v for v in X], "a product is differentiable in its cotangent"


def test_jacobians_agree_in_both_modes_for_nested_structures() -> None:
    Pair = namedtuple("Pair", "left right")

    def f(p: dict, y: tocha.Tensor) -> Pair:
        return Pair(p["w"] @ y, [p["w"].sum(0) * y.sum()])

    p, y = {"w": double(np.arange(6.0).reshape(2, 3) / 7)}, double(X)
    reverse, forward = func.jacrev(f, argnums=(0, 1))(p, y), func.jacfwd(f, argnums=(0, 1))(p, y)
    assert isinstance(reverse, Pair) and isinstance(forward, Pair)
    assert reverse.left[0]["w"].shape == (2, 2, 3) and reverse.right[0][1].shape == (3, 3)
    np.testing.assert_allclose(reverse.left[1].numpy(), p["w"].numpy())
    for a, b in zip((reverse.left, *reverse.right), (forward.left, *forward.right)):
        np.testing.assert_allclose(a[0]["w"].numpy(), b[0]["w"].numpy())
        np.testing.assert_allclose(a[1].numpy(), b[1].numpy())


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (1,)])
def test_jacobians_of_odd_shapes(shape: tuple) -> None:
    x = tocha.zeros(shape, dtype=tocha.float64)
    for mode in (func.jacrev, func.jacfwd):
        assert mode(lambda t: t * 2)(x).shape == (*shape, *shape)
        assert mode(lambda t: tocha.ones(4, dtype=tocha.float64))(x).shape == (4, *shape)


@pytest.mark.parametrize("outer", [func.jacrev, func.jacfwd])
@pytest.mark.parametrize("inner", [func.jacrev, func.jacfwd, func.grad])
def test_hessian_by_every_nesting(outer: Callable, inner: Callable) -> None:
    np.testing.assert_allclose(outer(inner(cubic))(double(X)).numpy(), cubic_hessian(np.array(X)), atol=1e-12)


def test_hessian_is_differentiable_itself() -> None:
    np.testing.assert_allclose(func.hessian(cubic)(double(X)).numpy(), cubic_hessian(np.array(X)), atol=1e-12)
    x = double(X).requires_grad_()
    (third,) = tocha.autograd.grad(func.hessian(cubic)(x).sum(), x)
    np.testing.assert_allclose(third.numpy(), [6 + 2.0] * 3)


# ---------------------------------------------------------------- forward mode


def test_jvp_values_and_linearize() -> None:
    t = double([1.0, 0.5, -1.0])
    y, dy = func.jvp(lambda x: (x.sin(), x.sum()), (double(X),), (t,))
    np.testing.assert_allclose(dy[0].numpy(), np.cos(X) * t.numpy())
    assert dy[1].item() == pytest.approx(0.5) and not dy[0].requires_grad
    out, push = func.linearize(lambda x: {"y": x.exp()}, double(X))
    np.testing.assert_allclose(push(t)["y"].numpy(), np.exp(X) * t.numpy())
    np.testing.assert_allclose(push(2 * t)["y"].numpy(), 2 * np.exp(X) * t.numpy())
    np.testing.assert_allclose(out["y"].numpy(), np.exp(X))


def test_jvp_of_what_does_not_depend_on_the_input() -> None:
    y, dy, aux = func.jvp(lambda x: (tocha.ones(2), "note"), (double(X),), (double(X),), has_aux=True)
    assert dy.tolist() == [0, 0] and aux == "note"
    with pytest.raises(RuntimeError, match="independent of the inputs"):
        func.jvp(lambda x: tocha.ones(2), (double(X),), (double(X),), strict=True)


def test_forward_over_reverse_and_reverse_over_forward() -> None:
    x, v = double(X), double([1.0, -2.0, 0.5])
    want = cubic_hessian(np.array(X)) @ v.numpy()
    _, fwd = func.jvp(func.grad(cubic), (x,), (v,))
    rev = func.grad(lambda t: func.jvp(cubic, (t,), (v,))[1])(x)
    np.testing.assert_allclose(fwd.numpy(), want)
    np.testing.assert_allclose(rev.numpy(), want)
    second = func.jvp(lambda t: func.jvp(tocha.sin, (t,), (v,))[1], (x,), (v,))[1]
    np.testing.assert_allclose(second.numpy(), -np.sin(X) * v.numpy() ** 2)


def test_jvp_is_differentiable_in_primal_and_tangent() -> None:
    x, t = double(X).requires_grad_(), double([1.0, 2.0, 3.0]).requires_grad_()
    _, dy = func.jvp(tocha.sin, (x,), (t,))
    gx, gt = tocha.autograd.grad(dy.sum(), (x, t))
    np.testing.assert_allclose(gx.numpy(), -np.sin(X) * t.detach().numpy())
    np.testing.assert_allclose(gt.numpy(), np.cos(X))


# ---------------------------------------------------------------- vmap


def test_vmap_over_dimensions_and_containers() -> None:
    a = tocha.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(func.vmap(tocha.sum, in_dims=1)(a).numpy(), a.numpy().sum((0, 2)))
    np.testing.assert_array_equal(
        func.vmap(lambda x: x * 2, in_dims=1, out_dims=-1)(a).numpy(), 2 * a.numpy().transpose(0, 2, 1)
    )
    out = func.vmap(
        lambda d, y: {"s": d["a"] + d["b"][0], "y": y.sum()},
        in_dims=({"a": 0, "b": None}, -1), out_dims={"s": 1, "y": 0},
    )({"a": tocha.ones(3, 2), "b": [tocha.arange(2.0)]}, tocha.ones(4, 3))
    assert out["s"].shape == (2, 3) and out["s"][:, 0].tolist() == [1, 2] and out["y"].tolist() == [4, 4, 4]
    nested = tocha.vmap(tocha.vmap(lambda x, y: x * y, in_dims=(None, 0)), in_dims=(0, None))(
        tocha.arange(3.0), tocha.arange(2.0)
    )
    assert nested.tolist() == [[0, 0], [0, 1], [0, 2]]


def test_vmap_takes_control_flow_and_writes() -> None:
    x = tocha.tensor([1.0, -1.0, 2.0])
    assert func.vmap(lambda t: t * 10 if t > 0 else t)(x).tolist() == [10, -1, 20]
    y = tocha.zeros(3, 2)
    func.vmap(lambda t: t.add_(1))(y)
    assert y.tolist() == [[1, 1]] * 3


def test_vmap_of_an_empty_batch() -> None:
    out = func.vmap(lambda t: (t @ tocha.ones(3, 2), t.sum()), out_dims=(1, 0))(tocha.ones(0, 4, 3))
    assert out[0].shape == (4, 0, 2) and out[1].shape == (0,)


def test_vmap_randomness() -> None:
    tocha.manual_seed(0)
    before = tocha.get_rng_state()
    with pytest.raises(RuntimeError, match="randomness error mode"):
        func.vmap(lambda t: t + tocha.rand(1))(tocha.zeros(2))
    assert bool((tocha.get_rng_state() == before).all()), "a refused call leaves the stream as it was"
    same = func.vmap(lambda t: t + tocha.rand(2), randomness="same")(tocha.zeros(3))
    assert same[0].tolist() == same[1].tolist() == same[2].tolist()
    different = func.vmap(lambda t: t + tocha.rand(2), randomness="different")(tocha.zeros(3))
    assert len({tuple(row) for row in different.tolist()}) == 3


def test_vmap_and_derivatives_nest() -> None:
    x, w = double(np.arange(12.0).reshape(4, 3) / 5), double(X)
    per_sample = func.vmap(func.grad(lambda w, x: (x @ w).sin()), in_dims=(None, 0))(w, x)
    np.testing.assert_allclose(per_sample.numpy(), np.cos(x.numpy() @ np.array(X))[:, None] * x.numpy())
    np.testing.assert_allclose(func.jacrev(func.vmap(lambda t: t * t))(w).numpy(), np.diag(2 * np.array(X)))
    w = w.requires_grad_()
    out = func.vmap(func.grad(lambda x, w: (x * w * w).sum()), in_dims=(0, None))(x, w)
    (g,) = tocha.autograd.grad(out.sum(), w)
    np.testing.assert_allclose(g.numpy(), 4 * 2 * np.array(X))


# ---------------------------------------------------------------- modules and the rest


def test_ensembles_of_models() -> None:
    models = [tocha.nn.Linear(3, 2) for _ in range(4)]
    params, buffers = func.stack_module_state(models)
    assert params["weight"].shape == (4, 2, 3) and params["weight"].requires_grad and buffers == {}
    x = tocha.randn(5, 3)
    out = func.vmap(lambda p, b: func.functional_call(models[0], (p, b), (x,)))(params, buffers)
    for i, model in enumerate(models):
        assert tocha.allclose(out[i], model(x))
    grads = func.grad(lambda p: func.functional_call(models[0], p, x).sum())(dict(models[0].named_parameters()))
    np.testing.assert_allclose(grads["weight"].numpy(), np.tile(x.sum(0).numpy(), (2, 1)), rtol=1e-5)
    assert models[0].weight.grad is None


def test_batch_norm_without_running_statistics() -> None:
    net = func.replace_all_batch_norm_modules_(tocha.nn.Sequential(tocha.nn.BatchNorm1d(2), tocha.nn.ReLU()))
    assert net[0].running_mean is None and not net[0].track_running_stats
    net.eval()
    assert net(tocha.tensor([[0.0, 2.0], [2.0, 0.0]])).sum().item() == pytest.approx(2, abs=1e-4), (
        "statistics of the batch in eval mode"
    )


def test_functionalize_keeps_results() -> None:
    x = tocha.zeros(2)
    assert func.functionalize(lambda t: t.clone().add_(1))(x).tolist() == [1, 1] and x.tolist() == [0, 0]
    assert func.debug_unwrap(x) is x


@pytest.mark.parametrize(
    ("pattern", "lengths", "shape"),
    [
        ("a b c -> c b a", {}, (4, 3, 2)), ("a b c -> (a b) c", {}, (6, 4)),
        ("a b (c d) -> (d a) b c", {"d": 2}, (4, 3, 2)), ("... c -> c ...", {}, (4, 2, 3)),
        ("a ... -> a (...)", {}, (2, 12)), ("a b c -> a 1 b c 1", {}, (2, 1, 3, 4, 1)),
    ],
)  # fmt: skip
def test_rearrange(pattern: str, lengths: dict, shape: tuple) -> None:
    x = tocha.arange(24).reshape(2, 3, 4)
    out = func.rearrange(x, pattern, **lengths)
    assert out.shape == shape and sorted(out.reshape(-1).tolist()) == list(range(24))


def test_rearrange_values_and_errors() -> None:
    x = tocha.arange(6).reshape(2, 3)
    assert func.rearrange(x, "a b -> (b a)").tolist() == [0, 3, 1, 4, 2, 5]
    assert func.rearrange([x, x], "n a b -> a n b").shape == (2, 2, 3)
    for pattern, message in (
        ("a b", "single '->'"), ("a b -> a", "only on one side"), ("a a -> a", "duplicate dimension 'a'"),
        ("(a b -> a b", "balanced"), ("a 2 -> a 2", "number 1"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            func.rearrange(x, pattern)
    with pytest.raises(RuntimeError, match="3 dimensions|2 dimensions"):
        func.rearrange(x, "a b c -> c b a")
    with pytest.raises(RuntimeError, match="cannot be split"):
        func.rearrange(x, "a (b c) -> a b c", c=2)


ERRORS: list[tuple[Callable, type, str]] = [
    (lambda: func.grad(lambda x: x)(tocha.ones(2)), RuntimeError, "to return a scalar Tensor, got tensor with 1 dims"),
    (lambda: func.grad(lambda x: 3)(tocha.ones(2)), RuntimeError, "to return a Tensor, got <class 'int'>"),
    (lambda: func.grad(lambda x: x)(3.0), ValueError, "Thing passed to transform API must be Tensor"),
    (lambda: func.grad(lambda x: x.sum(), argnums=2)(tocha.ones(2)), RuntimeError,
     "Got argnum=2, but only 1 positional inputs"),
    (lambda: func.grad(lambda x: x.sum(), argnums=())(tocha.ones(2)), RuntimeError, "argnums must be non-empty"),
    (lambda: func.grad(lambda x, y: x.sum(), argnums=(0, -2))(tocha.ones(2), tocha.ones(2)), RuntimeError,
     "must be unique"),
    (lambda: func.grad(lambda x: x.sum(), has_aux=True)(tocha.ones(2)), RuntimeError,
     r"should be a tuple: \(output, aux\)"),
    (lambda: func.vjp(lambda x: x, tocha.ones(2))[1]((tocha.ones(2),)), RuntimeError, "pytree structure of cotangents"),
    (lambda: func.vjp(lambda x: x.argmax(), tocha.ones(2)), RuntimeError, "must be floating-point or complex"),
    (lambda: func.jvp(lambda x: x, tocha.ones(2), tocha.ones(2)), RuntimeError, "Expected primals to be a tuple"),
    (lambda: func.jvp(lambda x: x, (tocha.ones(2),), tocha.ones(2)), RuntimeError, "same python structure"),
    (lambda: func.jvp(lambda x: x, (tocha.ones(2),), (tocha.ones(3),)), RuntimeError, "different size"),
    (lambda: func.linearize(lambda x: x, tocha.ones(2))[1](tocha.ones(3)), RuntimeError, "doesn't match the shape"),
    (lambda: func.jacrev(lambda x: x)(tocha.ones(2, dtype=tocha.complex64)), RuntimeError,
     "Expected all inputs to be real"),
    (lambda: func.jacrev(lambda x: x, chunk_size=0), ValueError, "greater than 0"),
    (lambda: func.vmap(lambda x: x)(), ValueError, "got no inputs"),
    (lambda: func.vmap(lambda x: x, in_dims=2)(tocha.ones(2)), ValueError, "dimensionality 1 so expected in_dim"),
    (lambda: func.vmap(lambda x: x, in_dims=(0, 0))(tocha.ones(2)), ValueError,
     "not compatible with the structure of `inputs`"),
    (lambda: func.vmap(lambda x: x, in_dims=(None,))(tocha.ones(2)), ValueError, "at least one Tensor to vmap over"),
    (lambda: func.vmap(lambda x, y: x)(tocha.ones(2), tocha.ones(3)), ValueError, r"got sizes \[2, 3\]"),
    (lambda: func.vmap(lambda x: 3)(tocha.ones(2)), ValueError, "must only return Tensors"),
    (lambda: func.vmap(lambda x: x, out_dims=None)(tocha.arange(2)), ValueError, "can not return a BatchedTensor"),
    (lambda: func.vmap(lambda x: x)(3), ValueError, "We cannot vmap over non-Tensor arguments"),
    (lambda: func.vmap(lambda x: x, randomness="x"), RuntimeError, "Only allowed values for randomness"),
    (lambda: func.functionalize(lambda x: x, remove="x"), RuntimeError, "received invalid argument for remove=x"),
    (lambda: func.stack_module_state([]), RuntimeError, "at least one model"),
    (lambda: func.functional_call(tocha.nn.Linear(1, 1), ({"a": 1}, {"a": 1}), ()), ValueError,
     "appeared in multiple dictionaries"),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors(case: int) -> None:
    call, kind, message = ERRORS[case]
    with pytest.raises(kind, match=message):
        call()
