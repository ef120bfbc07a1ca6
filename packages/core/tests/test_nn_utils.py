"""``nn.utils``: clipping, packed sequences, parametrizations, norms of weights, pruning, fusion, stateless calls."""

import copy
import pickle

import numpy as np
import pytest

import tocha
from tocha import nn
from tocha.nn.utils import parametrizations, parametrize, prune, rnn, stateless


def linear(inputs=4, outputs=3, bias=True):
    tocha.manual_seed(0)
    return nn.Linear(inputs, outputs, bias=bias, dtype=tocha.float64)


def with_gradients(*arrays):
    parameters = []
    for array in arrays:
        p = tocha.zeros(*np.shape(array), requires_grad=True)
        p.grad = tocha.tensor(array)
        parameters.append(p)
    return parameters


# ---------------------------------------------------------------- gradients


@pytest.mark.parametrize(("order", "norm"), [(2.0, 13.0), (1.0, 19.0), (float("inf"), 12.0), (3.0, 1819 ** (1 / 3))])
def test_clip_grad_norm(order, norm):
    parameters = with_gradients([3.0, -4.0], [[12.0]]) + [tocha.zeros(1, requires_grad=True)]
    total = nn.utils.clip_grad_norm_(parameters, 1.3, norm_type=order)
    assert total.item() == pytest.approx(norm, rel=1e-6)
    assert parameters[0].grad.tolist() == pytest.approx([3 * 1.3 / norm, -4 * 1.3 / norm], rel=1e-5)
    small = with_gradients([0.3, 0.4])
    assert nn.utils.clip_grad_norm_(small[0], 10.0).item() == pytest.approx(0.5)
    assert small[0].grad.tolist() == pytest.approx([0.3, 0.4])


def test_clip_grad_norm_of_nothing_and_of_nan():
    assert nn.utils.clip_grad_norm_([tocha.zeros(1, requires_grad=True)], 1.0).item() == 0.0
    with pytest.warns(UserWarning, match="`parameters` is an empty generator"):
        nn.utils.clip_grad_norm_((p for p in []), 1.0)
    bad = with_gradients([float("nan")])
    with pytest.raises(RuntimeError, match="The total norm of order 2.0 for gradients from `parameters` is non-finite"):
        nn.utils.clip_grad_norm_(bad, 1.0, error_if_nonfinite=True)
    assert np.isnan(nn.utils.clip_grad_norm_(bad, 1.0).item())


def test_clipping_keeps_dtypes():
    for dtype in (tocha.float16, tocha.bfloat16, tocha.float64):
        p = tocha.zeros(2, dtype=dtype, requires_grad=True)
        p.grad = tocha.tensor([300.0, 400.0], dtype=dtype)
        assert nn.utils.clip_grad_norm_([p], 5.0).item() == pytest.approx(500, rel=1e-2)
        assert p.grad.dtype == dtype and p.grad.tolist() == pytest.approx([3, 4], rel=1e-2)
        nn.utils.clip_grad_value_([p], 3.5)
        assert p.grad.dtype == dtype and p.grad.tolist() == pytest.approx([3, 3.5], rel=1e-2)


def test_vectors_of_parameters():
    layer = linear(2, 1)
    vector = nn.utils.parameters_to_vector(layer.parameters())
    assert vector.requires_grad and vector.shape == (3,)
    nn.utils.vector_to_parameters(tocha.tensor([1.0, 2.0, 3.0]), layer.parameters())
    assert layer.weight.tolist() == [[1.0, 2.0]] and layer.bias.tolist() == [3.0]
    with pytest.raises(TypeError, match="expected torch.Tensor, but got: list"):
        nn.utils.vector_to_parameters([1.0], layer.parameters())


# ---------------------------------------------------------------- sequences


def sequences():
    return [tocha.arange(float(n)).view(n, 1) + 10 * n for n in (3, 5, 2)]


def test_pack_and_pad_are_inverse():
    packed = rnn.pack_sequence(sequences(), enforce_sorted=False)
    assert packed.data.flatten().tolist() == [50, 30, 20, 51, 31, 21, 52, 32, 53, 54]
    assert packed.batch_sizes.tolist() == [3, 3, 2, 1, 1]
    assert (packed.sorted_indices.tolist(), packed.unsorted_indices.tolist()) == ([1, 0, 2], [1, 0, 2])
    padded, lengths = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=-1.0, total_length=6)
    assert padded.shape == (3, 6, 1) and lengths.tolist() == [3, 5, 2]
    assert padded[2, :, 0].tolist() == [20, 21, -1, -1, -1, -1]
    for unpacked, original in zip(rnn.unpack_sequence(packed), sequences()):
        assert unpacked.tolist() == original.tolist()
    assert packed.double().data.dtype == tocha.float64


def test_gradients_flow_through_packing():
    x = tocha.arange(24.0).view(3, 4, 2).requires_grad_()
    packed = rnn.pack_padded_sequence(x, [2, 4, 1], batch_first=True, enforce_sorted=False)
    padded, _ = rnn.pad_packed_sequence(packed, batch_first=True)
    (padded * 3).sum().backward()
    assert x.grad[..., 0].tolist() == [[3, 3, 0, 0], [3, 3, 3, 3], [3, 0, 0, 0]]


def test_padding_to_either_side():
    assert rnn.pad_sequence(sequences(), True, -1.0, "left")[2, :, 0].tolist() == [-1, -1, -1, 20, 21]
    assert rnn.pad_sequence(sequences()).shape == (5, 3, 1)


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ([1, 2, 3], "must be sorted in decreasing order"),
        ([3, 2, 0], "has to be greater than 0"),
        ([3, 2], "batch_size=3"),
    ],
)
def test_wrong_lengths_are_refused(lengths, message):
    with pytest.raises(RuntimeError, match=message):
        rnn.pack_padded_sequence(tocha.zeros(4, 3, 2), lengths)


# ---------------------------------------------------------------- weights as functions


class Doubled(nn.Module):
    def forward(self, x):
        return x * 2

    def right_inverse(self, x):
        return x / 2


def test_register_and_remove_a_parametrization():
    layer = linear()
    before = layer.weight.detach().clone()
    parametrize.register_parametrization(layer, "weight", Doubled())
    assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original"]
    assert type(layer).__name__ == "ParametrizedLinear" and isinstance(layer, nn.Linear)
    assert layer.weight.tolist() == before.tolist()
    layer(tocha.ones(1, 4, dtype=tocha.float64)).sum().backward()
    assert layer.parametrizations.weight.original.grad.tolist() == [[2.0] * 4] * 3
    layer.weight = tocha.full((3, 4), 6.0, dtype=tocha.float64)
    assert layer.parametrizations.weight.original[0, 0].item() == 3.0
    parametrize.register_parametrization(layer, "weight", Doubled())
    assert layer.weight[0, 0].item() == 12.0
    assert parametrize.is_parametrized(layer, "weight") and not parametrize.is_parametrized(layer, "bias")
    with parametrize.cached():
        assert layer.weight is layer.weight
    assert layer.weight is not layer.weight
    twin = copy.deepcopy(layer)
    twin.weight = tocha.zeros(3, 4, dtype=tocha.float64)
    assert layer.weight[0, 0].item() == 12.0
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        pickle.dumps(layer)
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and isinstance(layer.weight, nn.Parameter)
    assert layer.weight[0, 0].item() == 12.0


class Cut(nn.Module):
    def forward(self, x):
        return x[:1]


def test_wrong_parametrizations_leave_the_module_as_it_was():
    layer = linear()
    with pytest.raises(ValueError, match="may not change the shape of the tensor, unless `unsafe` flag is enabled"):
        parametrize.register_parametrization(layer, "weight", Cut())
    with pytest.raises(
        ValueError, match="does not have a parameter, a buffer, or a parametrized element with name 'w'"
    ):
        parametrize.register_parametrization(layer, "w", Doubled())
    assert type(layer) is nn.Linear and list(layer.state_dict()) == ["weight", "bias"]
    parametrize.register_parametrization(layer, "weight", Cut(), unsafe=True)
    assert layer.weight.shape == (1, 4)


@pytest.mark.parametrize("make", ["hook", "parametrization"])
def test_weight_norm(make):
    layer, plain = linear(), linear()
    if make == "hook":
        with pytest.warns(FutureWarning, match="weight_norm` is deprecated"):
            nn.utils.weight_norm(layer)
        length, direction = layer.weight_g, layer.weight_v
    else:
        parametrizations.weight_norm(layer)
        length, direction = layer.parametrizations.weight.original0, layer.parametrizations.weight.original1
    x = tocha.ones(2, 4, dtype=tocha.float64)
    np.testing.assert_allclose(layer(x).detach().numpy(), plain(x).detach().numpy(), rtol=1e-12)
    np.testing.assert_allclose(
        length.detach().numpy(), np.linalg.norm(plain.weight.detach().numpy(), axis=1, keepdims=True), rtol=1e-12
    )
    with tocha.no_grad():
        direction.mul_(7.0)
        length.mul_(2.0)
    np.testing.assert_allclose(layer(x).detach().numpy(), 2 * (plain(x) - plain.bias).detach().numpy()
                               + plain.bias.detach().numpy(), rtol=1e-12)  # fmt: skip
    layer(x).sum().backward()
    along = (direction.grad * direction).sum(1)
    assert along.abs().max().item() < 1e-12  # the length of the direction has no effect
    if make == "hook":
        nn.utils.remove_weight_norm(layer)
        assert isinstance(layer.weight, nn.Parameter)
        with pytest.raises(ValueError, match="weight_norm of 'weight' not found"):
            nn.utils.remove_weight_norm(layer)


def test_states_of_the_older_weight_norm_load_into_the_newer():
    older, newer = linear(), linear()
    with pytest.warns(FutureWarning, match="deprecated"):
        nn.utils.weight_norm(older)
    with tocha.no_grad():
        older.weight_g.mul_(3.0)
    parametrizations.weight_norm(newer)
    newer.load_state_dict(older.state_dict())
    x = tocha.ones(1, 4, dtype=tocha.float64)
    np.testing.assert_allclose(newer(x).detach().numpy(), older(x).detach().numpy(), rtol=1e-12)


@pytest.mark.parametrize("make", [nn.utils.spectral_norm, parametrizations.spectral_norm])
def test_spectral_norm(make):
    layer = make(linear(), n_power_iterations=5)
    x = tocha.ones(1, 4, dtype=tocha.float64)
    for _ in range(20):
        layer(x)
    assert np.linalg.norm(layer.weight.detach().numpy(), 2) == pytest.approx(1.0, rel=1e-6)
    layer.eval()
    assert layer(x).tolist() == layer(x).tolist()
    twin = make(linear())
    twin.load_state_dict(layer.state_dict())
    np.testing.assert_allclose(twin.eval()(x).detach().numpy(), layer(x).detach().numpy(), rtol=1e-9)
    (layer(x) * tocha.arange(3.0, dtype=tocha.float64)).sum().backward()
    assert all(p.grad is not None for p in layer.parameters())


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
@pytest.mark.parametrize("orthogonal_map", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("use_trivialization", [True, False])
def test_orthogonal(shape, orthogonal_map, use_trivialization):
    layer = linear(shape[1], shape[0])
    parametrizations.orthogonal(layer, orthogonal_map=orthogonal_map, use_trivialization=use_trivialization)
    for _ in range(2):
        w = layer.weight.detach().numpy()
        small = w @ w.T if shape[0] < shape[1] else w.T @ w
        np.testing.assert_allclose(small, np.eye(len(small)), atol=1e-10)
        layer(tocha.ones(1, shape[1], dtype=tocha.float64)).sum().backward()
        with tocha.no_grad():
            original = layer.parametrizations.weight.original
            original.sub_(original.grad.tril(-1) * 0.3)


def test_orthogonal_takes_an_orthogonal_weight_as_it_is():
    target = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
    layer = linear(4, 4)
    parametrizations.orthogonal(layer)
    layer.weight = tocha.tensor(target)
    np.testing.assert_allclose(layer.weight.detach().numpy(), target, atol=1e-10)


# ---------------------------------------------------------------- pruning


def zeros_in(tensor):
    return int((tensor == 0).sum())


def test_pruning_masks_and_unmasks():
    layer = linear()
    smallest = sorted(layer.weight.detach().abs().flatten().tolist())[:4]
    prune.l1_unstructured(layer, "weight", amount=4)
    assert list(layer.state_dict()) == ["bias", "weight_orig", "weight_mask"]
    assert zeros_in(layer.weight) == 4
    assert sorted(layer.weight_orig.detach()[layer.weight_mask == 0].abs().tolist()) == smallest
    layer(tocha.ones(1, 4, dtype=tocha.float64)).sum().backward()
    assert layer.weight_orig.grad.tolist() == layer.weight_mask.tolist()
    prune.random_unstructured(layer, "weight", amount=0.5)
    assert zeros_in(layer.weight) == 8
    assert prune.is_pruned(layer)
    prune.remove(layer, "weight")
    assert not prune.is_pruned(layer) and zeros_in(layer.weight) == 8
    assert isinstance(layer.weight, nn.Parameter) and list(layer.state_dict()) == ["bias", "weight"]
    with pytest.raises(ValueError, match="has to be pruned before pruning can be removed"):
        prune.remove(layer, "weight")


def test_pruning_channels():
    layer = linear(4, 6)
    norms = layer.weight.detach().norm(dim=1)
    prune.ln_structured(layer, "weight", amount=0.5, n=2, dim=0)
    pruned = (layer.weight.detach().abs().sum(1) == 0).tolist()
    assert [i for i, gone in enumerate(pruned) if gone] == sorted(norms.argsort()[:3].tolist())
    prune.random_structured(layer, "weight", amount=1, dim=1)
    assert int((layer.weight.detach().abs().sum(0) == 0).sum()) == 1


def test_pruning_several_parameters_together():
    net = nn.Sequential(linear(4, 3), linear(3, 2))
    with tocha.no_grad():
        net[1].weight.mul_(100.0)
    prune.global_unstructured([(net[0], "weight"), (net[1], "weight")], prune.L1Unstructured, amount=6)
    assert (zeros_in(net[0].weight), zeros_in(net[1].weight)) == (6, 0)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda m: prune.l1_unstructured(m, "weight", 1.5),
            ValueError,
            "amount=1.5 should either be a float in the range",
        ),
        (lambda m: prune.l1_unstructured(m, "weight", "a"), TypeError, "Invalid type for amount: a"),
        (
            lambda m: prune.l1_unstructured(m, "weight", 100),
            ValueError,
            "should be smaller than the number of parameters",
        ),
        (
            lambda m: prune.ln_structured(m, "bias", 0.5, 2, 0),
            ValueError,
            "only be applied to multidimensional tensors",
        ),
        (lambda m: prune.random_structured(m, "weight", 0.5, 4), IndexError, "Invalid index 4 for tensor of size"),
    ],
)
def test_wrong_pruning_leaves_the_module_as_it_was(call, error, message):
    layer = linear()
    with pytest.raises(error, match=message):
        call(layer)
    assert sorted(layer.state_dict()) == ["bias", "weight"]


# ---------------------------------------------------------------- fusion and stateless calls


@pytest.mark.parametrize(
    ("layer", "norm", "shape", "options"),
    [
        (nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), (4, 2, 6, 5), {}),
        (nn.Conv1d(2, 3, 3, bias=False), nn.BatchNorm1d(3, affine=False), (4, 2, 6), {}),
        (nn.ConvTranspose2d(2, 3, 3), nn.BatchNorm2d(3), (4, 2, 6, 5), {"transpose": True}),
        (nn.Linear(4, 3), nn.BatchNorm1d(3), (6, 4), None),
    ],
)
def test_fusion_computes_the_same(layer, norm, shape, options):
    x = tocha.randn(*shape)
    norm(layer(x))
    layer.eval()
    with pytest.raises(AssertionError, match="Fusion only for eval!"):
        nn.utils.fuse_linear_bn_eval(layer, norm)
    norm.eval()
    fused = (
        nn.utils.fuse_linear_bn_eval(layer, norm)
        if options is None
        else nn.utils.fuse_conv_bn_eval(layer, norm, **options)
    )
    assert type(fused) is type(layer) and isinstance(fused.bias, nn.Parameter)
    np.testing.assert_allclose(fused(x).detach().numpy(), norm(layer(x)).detach().numpy(), atol=1e-4)


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2, bias=False)
        self.b = nn.Linear(2, 2, bias=False)
        self.b.weight = self.a.weight
        self.register_buffer("calls", tocha.zeros(1))

    def forward(self, x):
        self.calls = self.calls + 1
        return self.b(self.a(x))


def test_functional_call_swaps_in_and_out():
    module = Shared()
    before = module.a.weight
    given = {"a.weight": tocha.eye(2) * 3, "calls": tocha.zeros(1)}
    assert stateless._functional_call(module, given, tocha.ones(1, 2)).tolist() == [[9.0, 9.0]]
    assert module.a.weight is before and module.b.weight is before
    assert module.calls.item() == 0 and given["calls"].item() == 1
    with pytest.raises(ValueError, match="functional_call got multiple values for keys"):
        stateless._functional_call(module, {"a.weight": tocha.eye(2), "b.weight": tocha.eye(2)}, tocha.ones(1, 2))
    with pytest.raises(RuntimeError, match="Missing key"):
        stateless._functional_call(module, {"a.weight": tocha.eye(2)}, tocha.ones(1, 2), strict=True)
    with pytest.raises(RuntimeError):
        stateless._functional_call(module, {"a.weight": tocha.eye(2)}, tocha.ones(1, 3))
    assert module.a.weight is before
    with pytest.warns(FutureWarning, match="use `torch.func.functional_call` instead"):
        stateless.functional_call(module, {}, tocha.ones(1, 2))


def test_functional_call_is_differentiable():
    module, weight = Shared(), tocha.eye(2).requires_grad_()
    stateless._functional_call(module, {"a.weight": weight}, tocha.ones(1, 2)).sum().backward()
    assert weight.grad is not None and module.a.weight.grad is None


def test_skip_init_gives_a_module_of_the_right_shape():
    layer = nn.utils.skip_init(nn.Linear, 5, 1, dtype=tocha.float64)
    assert layer.weight.shape == (1, 5) and layer.weight.dtype == tocha.float64 and not layer.weight.is_meta
    with pytest.raises(RuntimeError, match="Module must support a 'device' arg"):
        nn.utils.skip_init(nn.ReLU)
