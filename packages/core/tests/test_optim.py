"""Optimizers against values of PyTorch 2.13 (``reference/make_optim.py``), and what a user can do to them."""

import copy
import gc
import importlib.util
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

import tocha
from tocha import optim

HERE = Path(__file__).parent
spec = importlib.util.spec_from_file_location("make_optim", HERE / "reference/make_optim.py")
reference = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reference)
STORED = reference.stored()
CASES = [(name, i, options) for name, cases in reference.CASES.items() for i, options in enumerate(cases)]
ELEMENTWISE = [name for name in reference.CASES if name != "Adafactor"]


def parameter(array):
    return tocha.tensor(np.asarray(array), requires_grad=True)


def give(parameters, gradients):
    for p, g in zip(parameters, gradients):
        p.grad = None if g is None else tocha.tensor(g)


def run(optimizer, parameters, gradients):
    for step in gradients:
        give(parameters, step)
        optimizer.step()
    return [p.detach().numpy().copy() for p in parameters]


def state_arrays(optimizer):
    saved = optimizer.state_dict()["state"]
    return {i: {k: v.numpy() for k, v in entries.items()} for i, entries in saved.items()}


@pytest.mark.parametrize(("name", "index", "options"), CASES)
def test_steps_equal_pytorch(name, index, options):
    start, gradients = reference.problem()
    parameters = [parameter(array) for array in start]
    optimizer = getattr(optim, name)(parameters, **options)
    arrays = run(optimizer, parameters, gradients)
    saved = state_arrays(optimizer)
    ours = reference.keyed(name, index, options, arrays, {i: saved.get(i, {}) for i in range(len(arrays))})
    wanted = {key: value for key, value in STORED.items() if key.startswith(f"{name} {index} ")}
    assert sorted(ours) == sorted(wanted)
    for key, value in wanted.items():
        np.testing.assert_allclose(
            ours[key], value, rtol=1e-6 if "step" in key or "mu" in key else 1e-9, atol=1e-12, err_msg=key
        )


@pytest.mark.parametrize("name", ELEMENTWISE)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "complex64", "float32"])
def test_other_dtypes_follow_float64(name, dtype):
    start, gradients = reference.problem("complex128" if dtype == "complex64" else "float64")

    def stepped(kind):
        parameters = [parameter(array).detach().to(kind).requires_grad_() for array in start]
        optimizer = getattr(optim, name)(parameters)
        for step in gradients:
            for p, g in zip(parameters, step):
                p.grad = None if g is None else tocha.tensor(g).to(kind)
            optimizer.step()
        assert all(p.dtype == kind for p in parameters)
        wide = tocha.complex128 if dtype == "complex64" else tocha.float64
        return [p.detach().to(wide).numpy() for p in parameters]

    exact = stepped(tocha.complex128 if dtype == "complex64" else tocha.float64)
    tolerance = {"float16": 2e-2, "bfloat16": 1e-1}.get(dtype, 1e-4)
    for ours, wanted in zip(stepped(getattr(tocha, dtype)), exact):
        np.testing.assert_allclose(ours, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_memory_layout_does_not_matter(name):
    rng = np.random.default_rng(1)
    values, gradients = rng.standard_normal((6, 4)), rng.standard_normal((3, 6, 4))
    plain, turned = parameter(values), tocha.tensor(values.T.copy()).t().requires_grad_()
    assert not turned.is_contiguous()
    for p in (plain, turned):
        run(getattr(optim, name)([p]), [p], [[g] for g in gradients])
    np.testing.assert_allclose(turned.detach().numpy(), plain.detach().numpy(), rtol=1e-12)


# ---------------------------------------------------------------- the flat buffer and what guards it


def alone_and_together(name, change, steps=6, options=None):
    """The same steps in one optimizer of many parameters and in one each; ``change`` may do anything between steps."""
    rng = np.random.default_rng(2)
    start = [rng.standard_normal(shape) for shape in ((3, 2), (5,), (2,))]
    gradients = rng.standard_normal((steps, 3, 6))
    results = []
    for together in (True, False):
        parameters = [parameter(array) for array in start]
        groups = [parameters] if together else [[p] for p in parameters]
        optimizers = [getattr(optim, name)(group, **(options or {})) for group in groups]
        for i in range(steps):
            give(parameters, [gradients[i, j, : p.numel()].reshape(p.shape) for j, p in enumerate(parameters)])
            change(i, parameters, optimizers)
            for optimizer in optimizers:
                optimizer.step()
        results.append([p.detach().numpy().copy() for p in parameters])
    for ours, wanted in zip(*results):
        np.testing.assert_allclose(ours, wanted, rtol=1e-12)


def drop_gradient(i, parameters, optimizers):
    if i in (2, 3):
        parameters[1].grad = None


def replace_data(i, parameters, optimizers):
    if i == 3:
        parameters[0].data = parameters[0].data * 2


def write_in_place(i, parameters, optimizers):
    if i == 3:
        with tocha.no_grad():
            parameters[0].mul_(0.5)
            parameters[1][0] = 7.0


def clear_state(i, parameters, optimizers):
    if i == 3:
        for optimizer in optimizers:
            optimizer.state.clear()


def replace_state(i, parameters, optimizers):
    if i == 3:
        for optimizer in optimizers:
            for entries in optimizer.state.values():
                for key, value in entries.items():
                    entries[key] = value.clone() * 0.5 if value.dim() else value


def rewrite_step(i, parameters, optimizers):
    if i == 3:
        for optimizer in optimizers:
            for p, entries in optimizer.state.items():
                if "step" in entries and p is parameters[1]:
                    entries["step"].fill_(1)


def save_and_load(i, parameters, optimizers):
    if i == 3:
        for optimizer in optimizers:
            optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))


def change_rate(i, parameters, optimizers):
    for optimizer in optimizers:
        optimizer.param_groups[0]["lr"] = 0.01 * (i + 1)


CHANGES = [
    drop_gradient,
    replace_data,
    write_in_place,
    clear_state,
    replace_state,
    rewrite_step,
    save_and_load,
    change_rate,
]


@pytest.mark.parametrize("name", ELEMENTWISE)
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_parameters_step_the_same_together_and_alone(name, change):
    options = {"momentum": 0.9} if name == "SGD" else {}
    alone_and_together(name, change, options=options)


def test_aliases_made_before_the_first_step_follow_it():
    w, b, c = (parameter(np.ones(n)) for n in (3, 2, 2))
    detached, array, view, data = w.detach(), b.detach().numpy(), c.detach()[:1], w.data
    optimizer = optim.SGD([w, b, c], lr=0.5)
    give([w, b, c], [np.ones(3), np.ones(2), np.ones(2)])
    for _ in range(4):
        optimizer.step()
    assert detached.tolist() == data.tolist() == [-1.0] * 3
    assert array.tolist() == [-1.0] * 2
    assert view.tolist() == [-1.0]


def test_aliases_made_after_the_first_step_follow_the_next():
    parameters = [parameter(np.ones(n)) for n in (3, 2)]
    optimizer = optim.Adam(parameters, lr=0.5)
    give(parameters, [np.ones(3), np.ones(2)])
    optimizer.step()
    detached, exp_avg = parameters[0].detach(), optimizer.state[parameters[0]]["exp_avg"]
    before = exp_avg.tolist()
    optimizer.step()
    assert detached.tolist() == parameters[0].tolist()
    assert exp_avg.tolist() != before


def test_a_parameter_of_a_flat_buffer_copies_and_pickles_alone():
    parameters = [parameter(np.full(n, float(n))) for n in (3, 2000)]
    optimizer = optim.Adam(parameters)
    give(parameters, [np.ones(3), np.ones(2000)])
    optimizer.step()
    assert len(pickle.dumps(parameters[0])) < 2000
    twin = copy.deepcopy(parameters[0])
    optimizer.step()
    assert twin.tolist() != parameters[0].tolist()


def test_a_step_counts_as_a_write_for_autograd():
    w, v = parameter(np.ones(2)), parameter(np.ones(2))
    optimizer = optim.SGD([w, v], lr=0.1)
    for _ in range(2):
        loss = (w * w).sum() + (v * v).sum()
        give([w, v], [np.ones(2), np.ones(2)])
        optimizer.step()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()


def test_steps_leave_no_garbage():
    parameters = [parameter(np.ones(n)) for n in (3, 2)]
    optimizer = optim.Adam(parameters)
    give(parameters, [np.ones(3), np.ones(2)])
    optimizer.step()
    gc.collect()
    gc.disable()
    try:
        for _ in range(50):
            optimizer.step()
        assert gc.collect() == 0
    finally:
        gc.enable()
    kept = sys.getrefcount(parameters[0])
    del optimizer
    assert sys.getrefcount(parameters[0]) < kept


# ---------------------------------------------------------------- groups, state, hooks


def test_groups_take_defaults_and_keep_their_own_options():
    a, b, c = (parameter(np.ones(1)) for _ in range(3))
    optimizer = optim.SGD([{"params": [a]}, {"params": b, "lr": 0.5}], lr=0.1, momentum=0.9)
    optimizer.add_param_group({"params": [c], "momentum": 0.0})
    assert [(g["lr"], g["momentum"]) for g in optimizer.param_groups] == [(0.1, 0.9), (0.5, 0.9), (0.1, 0.0)]
    give([a, b, c], [np.ones(1)] * 3)
    optimizer.step()
    assert [p.item() for p in (a, b, c)] == [0.9, 0.5, 0.9]


def test_named_parameters_keep_their_names():
    optimizer = optim.SGD([("w", parameter(np.ones(1))), ("b", parameter(np.ones(1)))], lr=0.1)
    assert optimizer.param_groups[0]["param_names"] == ["w", "b"]
    with pytest.raises(ValueError, match="with/without names. cannot add param group without names"):
        optimizer.add_param_group({"params": [parameter(np.ones(1))]})


def duplicate(p):
    return optim.SGD([{"params": [p]}, {"params": [p]}])


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda p: optim.SGD(p), TypeError, "should be an iterable of Tensors or dicts, but got"),
        (lambda p: optim.SGD([]), ValueError, "optimizer got an empty parameter list"),
        (lambda p: optim.SGD([1]), TypeError, "can only optimize Tensors, but one of the params is int"),
        (lambda p: optim.SGD([p * 2]), ValueError, "can't optimize a non-leaf Tensor"),
        (lambda p: optim.SGD([{"params": {p}}]), TypeError, "ordered collections"),
        (duplicate, ValueError, "some parameters appear in more than one parameter group"),
        (lambda p: optim.SGD([("a", p), parameter(np.ones(1))]), ValueError, "Some param names are missing"),
        (lambda p: optim.SGD([p], lr=-1), ValueError, "Invalid learning rate: -1"),
        (lambda p: optim.SGD([p], momentum=-1), ValueError, "Invalid momentum value: -1"),
        (
            lambda p: optim.SGD([p], nesterov=True),
            ValueError,
            "Nesterov momentum requires a momentum and zero dampening",
        ),
        (lambda p: optim.Adam([p], eps=-1), ValueError, "Invalid epsilon value: -1"),
        (lambda p: optim.Adam([p], betas=(0.9, 1.0)), ValueError, "Invalid beta parameter at index 1: 1.0"),
        (lambda p: optim.Adam([p], lr=tocha.ones(2)), ValueError, "Tensor lr must be 1-element"),
        (lambda p: optim.Adam([p], fused=True, foreach=True), RuntimeError, "cannot be `True` together"),
        (lambda p: optim.Rprop([p], etas=(1.5, 1.2)), ValueError, "Invalid eta values: 1.5, 1.2"),
        (lambda p: optim.Adadelta([p], rho=2), ValueError, "Invalid rho value: 2"),
        (lambda p: optim.Muon([p]), ValueError, "Muon only supports 2D parameters"),
        (lambda p: optim.LBFGS([{"params": [p]}, {"params": []}]), ValueError, "doesn't support per-parameter options"),
    ],
)
def test_wrong_arguments_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make(parameter(np.ones(1)))


def test_twice_in_one_group_warns():
    p = parameter(np.ones(1))
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optim.SGD([p, p])


def test_state_dict_goes_over_to_another_optimizer():
    start, gradients = reference.problem()
    whole = [parameter(array) for array in start]
    expected = run(optim.AdamW(whole, lr=0.1), whole, gradients)
    first = [parameter(array) for array in start]
    optimizer = optim.AdamW(first, lr=0.1)
    run(optimizer, first, gradients[:3])
    saved = pickle.loads(pickle.dumps(optimizer.state_dict()))
    assert list(saved) == ["state", "param_groups"]
    assert list(saved["state"][0]) == ["step", "exp_avg", "exp_avg_sq"]
    assert saved["param_groups"][0]["params"] == [0, 1, 2, 3, 4]
    second = [parameter(p.detach().numpy()) for p in first]
    other = optim.AdamW(second, lr=0.5)
    other.load_state_dict(saved)
    for ours, wanted in zip(run(other, second, gradients[3:]), expected):
        np.testing.assert_allclose(ours, wanted, rtol=1e-12)


def test_loading_a_state_of_other_sizes_is_refused():
    optimizer = optim.SGD([parameter(np.ones(1))])
    two = optim.SGD([parameter(np.ones(1)), parameter(np.ones(1))])
    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group"):
        optimizer.load_state_dict(two.state_dict())
    groups = optim.SGD([{"params": [parameter(np.ones(1))]}, {"params": [parameter(np.ones(1))]}])
    with pytest.raises(ValueError, match="different number of parameter groups"):
        optimizer.load_state_dict(groups.state_dict())


def test_hooks_run_around_the_step_and_can_replace_arguments():
    p, events = parameter(np.ones(1)), []
    optimizer = optim.SGD([p], lr=1.0)
    give([p], [np.ones(1)])

    def replace(opt, args, kwargs):
        events.append("pre")
        return (args[0], lambda: events.append("closure") or 3), kwargs

    handle = optimizer.register_step_pre_hook(replace)
    optimizer.register_step_post_hook(lambda opt, args, kwargs: events.append("post"))
    anywhere = optim.optimizer.register_optimizer_step_post_hook(
        lambda opt, args, kwargs: events.append(type(opt).__name__)
    )
    assert optimizer.step() == 3
    assert events == ["pre", "closure", "post", "SGD"]
    handle.remove()
    anywhere.remove()
    assert optimizer.step() is None
    optimizer.register_step_pre_hook(lambda opt, args, kwargs: 5)
    with pytest.raises(RuntimeError, match="must return None or a tuple"):
        optimizer.step()


def test_state_dict_hooks():
    optimizer, seen = optim.SGD([parameter(np.ones(1))]), []
    optimizer.register_state_dict_pre_hook(lambda opt: seen.append("pre"))
    optimizer.register_state_dict_post_hook(lambda opt, state: {**state, "extra": 1})
    optimizer.register_load_state_dict_pre_hook(lambda opt, state: seen.append(state.pop("extra")))
    optimizer.register_load_state_dict_post_hook(lambda opt: seen.append("loaded"))
    optimizer.load_state_dict(optimizer.state_dict())
    assert seen == ["pre", 1, "loaded"]


def test_zero_grad():
    p = parameter(np.ones(2))
    give([p], [np.ones(2)])
    optimizer = optim.SGD([p])
    kept = p.grad
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is kept and kept.tolist() == [0.0, 0.0]
    optimizer.zero_grad()
    assert p.grad is None


def test_repr_lists_the_options():
    assert repr(optim.SGD([parameter(np.ones(1))], lr=0.1)) == (
        "SGD (\nParameter Group 0\n    dampening: 0\n    differentiable: False\n    foreach: None\n    fused: None\n"
        "    lr: 0.1\n    maximize: False\n    momentum: 0\n    nesterov: False\n    weight_decay: 0\n)"
    )


def test_a_learning_rate_that_is_a_tensor():
    p = parameter(np.ones(1))
    rate = tocha.tensor(0.5)
    optimizer = optim.SGD([p], lr=rate)
    give([p], [np.ones(1)])
    optimizer.step()
    rate.fill_(0.25)
    optimizer.step()
    assert p.item() == 0.25


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_a_differentiable_step_gives_the_same_values(name):
    rng = np.random.default_rng(3)
    start, gradients = rng.standard_normal(5), rng.standard_normal((4, 5))
    plain, leaf = parameter(start), parameter(start)
    options = {"momentum": 0.9} if name == "SGD" else {}
    run(getattr(optim, name)([plain], **options), [plain], [[g] for g in gradients])
    inner = leaf.clone()
    optimizer = getattr(optim, name)([inner], differentiable=True, **options)
    factor = tocha.ones(5, dtype=tocha.float64, requires_grad=True)
    for g in gradients:
        inner.grad = tocha.tensor(g) * factor
        optimizer.step()
    np.testing.assert_allclose(inner.detach().numpy(), plain.detach().numpy(), rtol=1e-9)
    inner.sum().backward()
    assert leaf.grad is not None
    assert np.isfinite(factor.grad.numpy()).all()


def test_the_gradient_of_a_differentiable_step_by_its_rate():
    leaf, rate = parameter(np.array([1.0, 2.0])), tocha.tensor(0.1, dtype=tocha.float64, requires_grad=True)
    inner = leaf.clone()
    inner.grad = tocha.tensor(np.array([3.0, 4.0]))
    optim.SGD([inner], lr=rate, differentiable=True).step()
    inner.sum().backward()
    assert rate.grad.item() == -7.0


# ---------------------------------------------------------------- the methods with a closure


def rosenbrock(w):
    return (1 - w[0]) ** 2 + 100 * (w[1] - w[0] ** 2) ** 2


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs_finds_a_minimum(search):
    w = parameter(np.array([-1.2, 1.0]))
    optimizer = optim.LBFGS([w], lr=1 if search else 1e-3, max_iter=50, line_search_fn=search)

    def closure():
        optimizer.zero_grad()
        loss = rosenbrock(w)
        loss.backward()
        return loss

    first = optimizer.step(closure)
    for _ in range(3 if search else 0):
        optimizer.step(closure)
    assert float(closure()) < (1e-8 if search else float(first))
    saved = optimizer.state_dict()["state"][0]
    assert {
        "func_evals",
        "n_iter",
        "d",
        "t",
        "old_dirs",
        "old_stps",
        "ro",
        "H_diag",
        "prev_flat_grad",
        "prev_loss",
    } <= set(saved)


def test_muon_moves_a_matrix_by_nearly_orthogonal_steps():
    rng = np.random.default_rng(4)
    w = tocha.tensor(np.zeros((6, 4), "float32"), requires_grad=True)
    optimizer = optim.Muon([w], lr=1.0, weight_decay=0.0)
    w.grad = tocha.tensor(rng.standard_normal((6, 4)).astype("float32"))
    optimizer.step()
    singular = np.linalg.svd(w.detach().numpy(), compute_uv=False) / np.sqrt(6 / 4)
    assert (abs(singular - 1) < 0.4).all()


# ---------------------------------------------------------------- large arrays, and other devices


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_blocks_of_large_arrays_compute_the_same_as_small_arrays(name):
    rng = np.random.default_rng(5)
    start, gradients = rng.standard_normal(100_000), rng.standard_normal((3, 100_000))
    whole, parts = parameter(start), [parameter(part) for part in np.split(start, 50)]
    run(getattr(optim, name)([whole]), [whole], [[g] for g in gradients])
    run(getattr(optim, name)(parts), parts, [np.split(g, 50) for g in gradients])
    np.testing.assert_array_equal(whole.detach().numpy(), np.concatenate([p.detach().numpy() for p in parts]))


@pytest.mark.parametrize("name", reference.CASES)
def test_steps_on_a_device_stay_there_and_equal_pytorch(name):
    from tocha.testing.strict_device import install

    with install():
        start, gradients = reference.problem()
        parameters = [tocha.tensor(array).to("cuda").requires_grad_() for array in start]
        optimizer = getattr(optim, name)(parameters)
        for step in gradients:
            for p, g in zip(parameters, step):
                p.grad = None if g is None else tocha.tensor(g).to("cuda")
            optimizer.step()
        for i, p in enumerate(parameters):
            assert p.device.type == "cuda"
            index = next(j for j, options in enumerate(reference.CASES[name]) if not options) if name != "SGD" else None
            if index is not None:
                wanted = STORED[f"{name} {index} parameter {i}"]
                np.testing.assert_allclose(p.detach().cpu().numpy().reshape(-1)[:16], wanted, rtol=1e-9, atol=1e-12)
