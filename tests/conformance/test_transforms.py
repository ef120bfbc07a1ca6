"""``func``, ``autograd.functional``, forward mode and checkpoints beside PyTorch's: values, history, messages."""

import importlib
import importlib.util
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

spec = importlib.util.spec_from_file_location("side_by_side", Path(__file__).with_name("side_by_side.py"))
side_by_side = importlib.util.module_from_spec(spec)
spec.loader.exec_module(side_by_side)
both, outcome = side_by_side.both, side_by_side.outcome

pytestmark = [  # PyTorch's own forward mode compiles by its deprecated torch.jit
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning"),
]


def x(m, *shape, seed=0):
    return m.from_numpy(np.random.default_rng(seed).standard_normal(shape))


def leaf(m, *shape, seed=0):
    return x(m, *shape, seed=seed).requires_grad_()


def ad(m):
    return importlib.import_module(f"{m.__name__}.autograd.forward_ad")


def checkpoint(m):
    return importlib.import_module(f"{m.__name__}.utils.checkpoint")


def cubic(t):
    return (t**3).sum() + (t.sin() * t[0]).sum()


def pair(p, y):
    return p @ y, {"s": p.sum(0)}


FUNC = {
    "grad": lambda m: m.func.grad(cubic)(x(m, 3)),
    "grad of containers": lambda m: m.func.grad(lambda p, y: (p["a"] * y).sum(), argnums=(0, 1))(
        {"a": x(m, 3)}, x(m, 3, seed=1)
    ),
    "grad of grad": lambda m: m.func.grad(m.func.grad(lambda t: t**3))(m.tensor(2.0)),
    "grad with aux": lambda m: m.func.grad(lambda t: ((t * 2).sum(), t + 1), has_aux=True)(x(m, 3)),
    "jacrev": lambda m: m.func.jacrev(pair, argnums=(0, 1))(x(m, 2, 3), x(m, 3, 2, seed=1)),
    "jacfwd": lambda m: m.func.jacfwd(pair, argnums=(0, 1))(x(m, 2, 3), x(m, 3, 2, seed=1)),
    "hessian": lambda m: m.func.hessian(cubic)(x(m, 4)),
    "hessian of an inverse": lambda m: m.func.hessian(lambda t: m.linalg.inv(t).sum())(
        x(m, 2, 2) + 3 * m.eye(2, dtype=m.float64)
    ),
    "jacrev of jacfwd": lambda m: m.func.jacrev(m.func.jacfwd(cubic))(x(m, 4)),
    "jacfwd of jacfwd": lambda m: m.func.jacfwd(m.func.jacfwd(cubic))(x(m, 4)),
    "jacrev of jacrev": lambda m: m.func.jacrev(m.func.jacrev(cubic))(x(m, 4)),
    "jvp": lambda m: m.func.jvp(
        lambda a, b: (a * b, a.sum()), (x(m, 3), x(m, 3, seed=1)), (x(m, 3, seed=2), x(m, 3, seed=3))
    ),
    "jvp of jvp": lambda m: m.func.jvp(lambda t: m.func.jvp(m.sin, (t,), (t,))[1], (x(m, 3),), (x(m, 3, seed=2),)),
    "jvp of grad": lambda m: m.func.jvp(m.func.grad(cubic), (x(m, 3),), (x(m, 3, seed=2),)),
    "grad of jvp": lambda m: m.func.grad(lambda t: m.func.jvp(lambda y: (y * t).sin().sum(), (t,), (t,))[1])(x(m, 3)),
    "jvp of a constant": lambda m: m.func.jvp(lambda t: (m.ones(2), t), (x(m, 3),), (x(m, 3, seed=2),)),
    "vjp": lambda m: m.func.vjp(lambda t: (t * t, t.sum()), x(m, 3))[1](
        (x(m, 3, seed=1), m.tensor(1.0, dtype=m.float64))
    ),
    "linearize": lambda m: m.func.linearize(lambda t: {"a": t.sin()}, x(m, 3))[1](x(m, 3, seed=3)),
    "vmap": lambda m: m.func.vmap(lambda a, b: (a @ b, a.sum()), in_dims=(0, None), out_dims=(1, 0))(
        x(m, 4, 2, 3), x(m, 3, 2)
    ),
    "vmap of containers": lambda m: m.func.vmap(lambda d: d["a"] + d["b"][0], in_dims=({"a": 0, "b": None},))(
        {"a": x(m, 3, 2), "b": [x(m, 2)]}
    ),
    "vmap of grad": lambda m: m.func.vmap(m.func.grad(lambda t, w: (t @ w).sin()), in_dims=(0, None))(
        x(m, 4, 3), x(m, 3)
    ),
    "vmap of vmap": lambda m: m.func.vmap(m.func.vmap(m.mul, in_dims=(None, 0)), in_dims=(0, None))(x(m, 4), x(m, 3)),
    "jacrev of vmap": lambda m: m.func.jacrev(m.func.vmap(lambda t: t.sin() * t))(x(m, 4)),
    "vmap of jacrev": lambda m: m.func.vmap(m.func.jacrev(lambda p, y: p["w"] @ y + p["b"]), in_dims=(0, None))(
        {"w": x(m, 2, 3, 4), "b": x(m, 2, 3)}, x(m, 4)
    ),
    "rearrange": lambda m: m.func.rearrange(x(m, 2, 3, 4), "a b (c d) -> (d a) b c 1", d=2),
    "rearrange a list": lambda m: m.func.rearrange([x(m, 2, 3)] * 2, "... t -> t ..."),
    "grad under no_grad": lambda m: m.no_grad()(lambda: m.func.grad(cubic)(leaf(m, 3)))(),
    "grad of a leaf": lambda m: (lambda t: m.autograd.grad(m.func.grad(cubic)(t).sum(), t))(leaf(m, 3)),
    "grad with a captured leaf": lambda m: (
        lambda w: m.autograd.grad(m.func.grad(lambda t: (t * w).sin().sum())(x(m, 3)).sum(), w)
    )(leaf(m, 3, seed=4)),
    "jvp of leaves": lambda m: (lambda a, t: m.autograd.grad(m.func.jvp(m.sin, (a,), (t,))[1].sum(), (a, t)))(
        leaf(m, 3), leaf(m, 3, seed=5)
    ),
    "functional products": lambda m: [
        f(lambda a, b: (a * b).sin(), (x(m, 2, 2), x(m, 2, seed=1)), v)
        for f, v in (
            (m.autograd.functional.vjp, x(m, 2, 2, seed=4)),
            (m.autograd.functional.jvp, (x(m, 2, 2, seed=5), x(m, 2, seed=6))),
        )
    ],
    "functional jacobian": lambda m: m.autograd.functional.jacobian(
        lambda a, b: (a * b).sin(), (x(m, 2, 2), x(m, 2, seed=1))
    ),
    "functional hessian": lambda m: m.autograd.functional.hessian(
        lambda a, b: (a * b * a).sin().sum(), (x(m, 2, 2), x(m, 2))
    ),
    "functional hvp": lambda m: m.autograd.functional.hvp(lambda a: (a**4).sum(), x(m, 3), x(m, 3, seed=1)),
    "functional vhp": lambda m: m.autograd.functional.vhp(lambda a: (a**4).sum(), x(m, 3), x(m, 3, seed=1)),
    "batched cotangents": lambda m: (lambda t: m.autograd.grad(t**2, t, x(m, 4, 3, seed=3), is_grads_batched=True))(
        leaf(m, 3)
    ),
}


@pytest.mark.parametrize("name", FUNC)
def test_values(name):
    both(FUNC[name])


def test_results_require_grad_where_pytorch_s_do():
    def case(m):
        plain, outer = x(m, 3), leaf(m, 3)
        results = []
        for t in (plain, outer):
            results += [
                m.func.grad(cubic)(t),
                m.func.jacrev(m.sin)(t),
                m.func.jvp(m.sin, (t,), (plain,))[1],
                m.func.vjp(m.sin, t)[0],
            ]
            results += [m.func.vmap(m.sin)(t), m.func.hessian(cubic)(t)]
        results.append(m.func.grad(lambda t: (t * outer).sum())(plain))
        return [r.requires_grad for r in results]

    both(case)


def test_dual_numbers():
    def case(m):
        fw = ad(m)
        with fw.dual_level():
            d = fw.make_dual(x(m, 3), x(m, 3, seed=1))
            e = fw.make_dual(x(m, 3), x(m, 3, seed=2))
            e.mul_(2)
            parts = [fw.unpack_dual(v) for v in (d, (d.sin() * d).sum(), d + e, e[1:], x(m, 2))]
            texts = [re.sub(r"\s+", " ", repr(v)) for v in (d, d * 2, m.ones(1))]
        return [tuple(p) for p in parts], texts

    both(case)


def network(m):
    m.manual_seed(0)
    return m.nn.Sequential(m.nn.Linear(4, 8), m.nn.LayerNorm(8), m.nn.GELU(), m.nn.Dropout(0.5), m.nn.Linear(8, 3))


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("segments", [None, 2])
def test_checkpoints(reentrant, segments):
    def case(m):
        net, t = network(m), x(m, 5, 4).float().requires_grad_()
        m.manual_seed(1)
        if segments:
            y = checkpoint(m).checkpoint_sequential(net, segments, t, use_reentrant=reentrant)
        else:
            y = checkpoint(m).checkpoint(net, t, use_reentrant=reentrant)
        after = m.rand(2)
        y.pow(2).sum().backward()
        return y, after, t.grad, [p.grad for p in net.parameters()]

    both(case)


F = {
    "not a scalar": lambda m: m.func.grad(lambda t: t)(m.ones(2)),
    "not a tensor": lambda m: m.func.grad(lambda t: t.sum())(3.0),
    "argnums too large": lambda m: m.func.grad(lambda t: t.sum(), argnums=2)(m.ones(2)),
    "argnums empty": lambda m: m.func.grad(lambda t: t.sum(), argnums=())(m.ones(2)),
    "aux missing": lambda m: m.func.grad(lambda t: t.sum(), has_aux=True)(m.ones(2)),
    "number returned": lambda m: m.func.grad(lambda t: 3)(m.ones(2)),
    "integer output": lambda m: m.func.vjp(lambda t: t.argmax(), m.ones(2)),
    "primals no tuple": lambda m: m.func.jvp(lambda t: t, m.ones(2), m.ones(2)),
    "strict": lambda m: m.func.jvp(lambda t: m.ones(2), (m.ones(2),), (m.ones(2),), strict=True),
    "tangent of another size": lambda m: m.func.jvp(lambda t: t, (m.ones(2),), (m.ones(3),)),
    "linearize with another size": lambda m: m.func.linearize(lambda t: t, m.ones(2))[1](m.ones(3)),
    "complex": lambda m: m.func.jacrev(lambda t: t)(m.ones(2, dtype=m.complex64)),
    "vmap without inputs": lambda m: m.func.vmap(lambda t: t)(),
    "vmap in_dims": lambda m: m.func.vmap(lambda t: t, in_dims=2)(m.ones(2)),
    "vmap in_dims None": lambda m: m.func.vmap(lambda t: t, in_dims=None)(m.ones(2)),
    "vmap of nothing": lambda m: m.func.vmap(lambda t: t, in_dims=(None,))(m.ones(2)),
    "vmap sizes": lambda m: m.func.vmap(lambda t, u: t)(m.ones(2), m.ones(3)),
    "vmap output": lambda m: m.func.vmap(lambda t: 3)(m.ones(2)),
    "vmap out_dims None": lambda m: m.func.vmap(lambda t: t, out_dims=None)(m.arange(2)),
    "vmap random": lambda m: m.func.vmap(lambda t: t + m.rand(1))(m.ones(2)),
    "vmap out_dims": lambda m: m.func.vmap(lambda t: t, out_dims="a")(m.ones(2)),
    "vmap randomness": lambda m: m.func.vmap(lambda t: t, randomness="t"),
    "vmap chunk": lambda m: m.func.vmap(lambda t: t, chunk_size=0),
    "vmap of a number": lambda m: m.func.vmap(lambda t: t)(3),
    "functionalize": lambda m: m.func.functionalize(lambda t: t, remove="t"),
    "no models": lambda m: m.func.stack_module_state([]),
    "functional_call": lambda m: m.func.functional_call(m.nn.Linear(1, 1), 3, ()),
    "rearrange": lambda m: m.func.rearrange(m.ones(2, 3), "a b -> a"),
    "functional vjp without v": lambda m: m.autograd.functional.vjp(lambda t: t, m.ones(2)),
    "functional vjp v": lambda m: m.autograd.functional.vjp(lambda t: t, m.ones(2), m.ones(3)),
    "functional hessian": lambda m: m.autograd.functional.hessian(lambda t: t, m.ones(2)),
    "functional strict": lambda m: m.autograd.functional.jacobian(lambda t: m.ones(1), m.ones(2), strict=True),
    "functional strict hessian": lambda m: m.autograd.functional.hessian(lambda t: t.sum(), m.ones(2), strict=True),
    "functional number": lambda m: m.autograd.functional.vjp(lambda t: 3, m.ones(2), m.ones(3)),
    "dual without a level": lambda m: ad(m).make_dual(m.ones(2), m.ones(2)),
    "checkpoint keyword": lambda m: checkpoint(m).checkpoint(m.sin, m.ones(2), use_reentrant=True, a=3),
    "checkpoint debug": lambda m: checkpoint(m).checkpoint(m.sin, m.ones(2), use_reentrant=True, debug=True),
    "checkpoint and grad": lambda m: (
        lambda t: m.autograd.grad(checkpoint(m).checkpoint(m.sin, t, use_reentrant=True).sum(), t)
    )(m.ones(2, requires_grad=True)),
}


@pytest.mark.parametrize("name", F)
def test_messages(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        both(lambda m: outcome(lambda: F[name](m)))
