"""Hooks of modules: order, arguments, what they may replace, and how they are taken off."""

import pytest

import tocha
from tocha import nn
from tocha.nn.modules import module as global_hooks


class Scale(nn.Module):
    def __init__(self, factor=2.0):
        super().__init__()
        self.weight = nn.Parameter(tocha.tensor(factor))

    def forward(self, x, *, shift=0.0):
        return x * self.weight + shift


def test_forward_hooks_run_in_order_and_may_replace():
    module, events = Scale(), []
    module.register_forward_pre_hook(lambda m, args: events.append("pre") or (args[0] + 1,))
    module.register_forward_pre_hook(lambda m, args: args[0] * 10, prepend=True)
    module.register_forward_hook(lambda m, args, output: events.append("post") or output + 0.5)
    module.register_forward_hook(lambda m, args, output: events.append("first"), prepend=True)
    assert module(tocha.tensor(1.0)).item() == 22.5
    assert events == ["pre", "first", "post"]


def test_hooks_with_keyword_arguments():
    module, seen = Scale(), []
    module.register_forward_pre_hook(lambda m, args, kwargs: (args, {"shift": kwargs["shift"] + 1}), with_kwargs=True)
    module.register_forward_hook(lambda m, args, kwargs, output: seen.append(kwargs), with_kwargs=True)
    assert module(tocha.tensor(1.0), shift=3.0).item() == 6.0
    assert seen == [{"shift": 4.0}]
    module.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(
        RuntimeError, match="forward pre-hook must return None or a tuple of .new_args, new_kwargs., but got 3"
    ):
        module(tocha.tensor(1.0), shift=0.0)


def test_handles_take_hooks_off():
    module, events = Scale(), []
    with module.register_forward_hook(lambda *args: events.append(1)) as handle:
        module(tocha.tensor(1.0))
    module(tocha.tensor(1.0))
    assert events == [1]
    handle.remove()
    module._forward_hooks[99] = lambda *args: events.append(2)
    module(tocha.tensor(1.0))
    assert events == [1, 2]
    module._forward_hooks.clear()
    module(tocha.tensor(1.0))
    assert events == [1, 2]


class Fails(nn.Module):
    def forward(self, x):
        raise ValueError("forward failed")


def test_hooks_that_are_always_called():
    module, events = Fails(), []
    module.register_forward_hook(lambda m, args, output: events.append(("always", output)), always_call=True)
    module.register_forward_hook(lambda m, args, output: events.append("never"))
    with pytest.raises(ValueError, match="forward failed"):
        module(tocha.tensor(1.0))
    assert events == [("always", None)]

    def broken(m, args, output):
        raise KeyError("hook failed")

    module.register_forward_hook(broken, always_call=True)
    with pytest.warns(
        UserWarning, match="raised an exception that was silenced as another error was raised in forward"
    ):
        with pytest.raises(ValueError, match="forward failed"):
            module(tocha.tensor(1.0))


def test_global_hooks_see_every_module_and_go_again():
    net, events = nn.Sequential(Scale(), Scale(3.0)), []
    handles = [
        global_hooks.register_module_forward_pre_hook(lambda m, args: events.append(f"pre {type(m).__name__}")),
        global_hooks.register_module_forward_hook(lambda m, args, output: events.append(type(m).__name__)),
    ]
    try:
        assert net(tocha.tensor(1.0)).item() == 6.0
    finally:
        for handle in handles:
            handle.remove()
    assert events == ["pre Sequential", "pre Scale", "Scale", "pre Scale", "Scale", "Sequential"]
    net(tocha.tensor(1.0))
    assert len(events) == 6
    assert not nn.Module._hooked


def test_registration_hooks():
    seen = []
    handles = [
        global_hooks.register_module_parameter_registration_hook(lambda m, name, value: seen.append(name)),
        global_hooks.register_module_buffer_registration_hook(lambda m, name, value: value + 1),
        global_hooks.register_module_module_registration_hook(lambda m, name, value: seen.append(name)),
    ]
    try:
        module = nn.Module()
        module.child = Scale()
        module.register_buffer("b", tocha.zeros(1))
    finally:
        for handle in handles:
            handle.remove()
    assert seen == ["weight", "child"]
    assert module.b.item() == 1.0


# ---------------------------------------------------------------- backward


def test_full_backward_hooks():
    module, seen = Scale(3.0), []
    module.register_full_backward_hook(lambda m, grad_input, grad_output: seen.append((grad_input, grad_output)))
    x = tocha.tensor([1.0, 2.0], requires_grad=True)
    (module(x) * 5).sum().backward()
    assert [g.tolist() for pair in seen[0] for g in pair] == [[15.0, 15.0], [5.0, 5.0]]
    assert x.grad.tolist() == [15.0, 15.0]
    assert module.weight.grad.item() == 15.0


def test_backward_hooks_may_replace_gradients():
    module = Scale(3.0)
    module.register_full_backward_pre_hook(lambda m, grad_output: (grad_output[0] * 10,))
    module.register_full_backward_hook(lambda m, grad_input, grad_output: (grad_input[0] + 1,))
    x = tocha.tensor([1.0, 2.0], requires_grad=True)
    module(x).sum().backward()
    assert x.grad.tolist() == [31.0, 31.0]
    assert module.weight.grad.item() == 30.0


def test_backward_hooks_where_no_input_needs_a_gradient():
    module, seen = Scale(3.0), []
    module.register_full_backward_hook(
        lambda m, grad_input, grad_output: seen.append((grad_input, grad_output[0].item()))
    )
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        module(tocha.tensor(2.0)).backward()
    assert seen == [((None,), 1.0)]
    assert module.weight.grad.item() == 2.0


def test_backward_hooks_of_the_wrong_length_are_refused():
    module = Scale()
    module.register_full_backward_hook(lambda m, grad_input, grad_output: (*grad_input, None))
    with pytest.raises(RuntimeError, match="returned an invalid number of grad_input, got 2, but expected 1"):
        module(tocha.tensor(1.0, requires_grad=True)).backward()


class Pair(nn.Module):
    def forward(self, a, b, name):
        return a * b, a + 1


def test_backward_hooks_of_several_inputs_and_outputs():
    module, seen = Pair(), []
    module.register_full_backward_hook(lambda m, grad_input, grad_output: seen.append((grad_input, grad_output)))
    a, b = tocha.tensor(2.0, requires_grad=True), tocha.tensor(5.0)
    product, _ = module(a, b, "name")
    product.backward()
    grad_input, grad_output = seen[0]
    assert [None if g is None else g.item() for g in grad_input] == [5.0, None, None]
    assert [g.item() for g in grad_output] == [1.0, 0.0]


def test_the_older_backward_hook_and_that_kinds_do_not_mix():
    module, seen = Scale(3.0), []
    module.register_backward_hook(lambda m, grad_input, grad_output: seen.append(grad_output[0].item()))
    x = tocha.tensor(2.0, requires_grad=True)
    with pytest.warns(FutureWarning, match="when the forward contains multiple autograd Nodes"):
        module(x).backward()
    assert seen == [1.0]
    with pytest.raises(
        RuntimeError, match="Cannot use both regular backward hooks and full backward hooks on a single Module"
    ):
        module.register_full_backward_hook(print)


def test_no_backward_hooks_without_gradients():
    module = Scale()
    module.register_full_backward_hook(lambda *args: pytest.fail("called"))
    with tocha.no_grad():
        assert not module(tocha.tensor(1.0, requires_grad=True)).requires_grad


# ---------------------------------------------------------------- state


def test_state_dict_hooks():
    net, events = nn.Sequential(Scale()), []
    net.register_state_dict_pre_hook(lambda m, prefix, keep_vars: events.append(("pre", prefix, keep_vars)))

    def rename(m, state, prefix, metadata):
        state[prefix + "w"] = state.pop(prefix + "weight")

    net[0].register_state_dict_post_hook(rename)
    assert list(net.state_dict()) == ["0.w"]
    assert events == [("pre", "", False)]
    with pytest.raises(RuntimeError, match="previously registered via register_state_dict_post_hook"):
        net[0]._register_state_dict_hook(rename)
    net[0].register_state_dict_post_hook(lambda *args: 3)
    with pytest.raises(RuntimeError, match="state_dict post-hook must return None"):
        net.state_dict()


def test_load_state_dict_hooks():
    net, events = nn.Sequential(Scale()), []

    def from_older(m, state, prefix, metadata, strict, missing, unexpected, errors):
        events.append((type(m).__name__, prefix))
        state[prefix + "weight"] = state.pop(prefix + "w")

    net[0].register_load_state_dict_pre_hook(from_older)
    net.load_state_dict({"0.w": tocha.tensor(7.0)}, strict=False)
    assert net[0].weight.item() == 7.0
    assert events == [("Scale", "0.")]
    other = nn.Sequential(Scale())
    other.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
    assert str(other.load_state_dict({})) == "<All keys matched successfully>"
    other.register_load_state_dict_post_hook(lambda m, keys: 3)
    with pytest.raises(AssertionError, match="not expected to return new values"):
        other.load_state_dict({})
