"""``nn.utils`` beside PyTorch's: values, gradients, states and messages."""

import copy
import importlib
import importlib.util
import warnings
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location("side_by_side", Path(__file__).with_name("side_by_side.py"))
side_by_side = importlib.util.module_from_spec(spec)
spec.loader.exec_module(side_by_side)
both, outcome = side_by_side.both, side_by_side.outcome

pytestmark = pytest.mark.filterwarnings("ignore:.*weight_norm. is deprecated:FutureWarning")


def utils(m, name=""):
    return importlib.import_module(f"{m.__name__}.nn.utils{'.' + name if name else ''}")


def linear(m, inputs=4, outputs=6):
    m.manual_seed(0)
    return m.nn.Linear(inputs, outputs)


def gradients(m, module, inputs=4):
    m.manual_seed(1)
    module(m.randn(5, inputs)).sum().backward()
    return [p.grad for p in module.parameters()]


@pytest.mark.parametrize("order", [2.0, 1.0, float("inf"), 3.0, 0.5])
def test_clip_grad_norm(order):
    def case(m):
        layer = linear(m)
        gradients(m, layer)
        return [utils(m).clip_grad_norm_(layer.parameters(), 0.5, order), *[p.grad for p in layer.parameters()]]

    both(case)


def test_clip_grad_value_and_messages():
    def case(m):
        layer = linear(m)
        gradients(m, layer)
        utils(m).clip_grad_value_(layer.parameters(), 0.3)
        bad = m.zeros(2, requires_grad=True)
        bad.grad = m.tensor([float("inf"), 1.0])
        refused = outcome(lambda: utils(m).clip_grad_norm_(bad, 1.0, error_if_nonfinite=True))
        return [[p.grad for p in layer.parameters()], refused]

    both(case)


@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm(dim):
    def case(m):
        layer, x = linear(m), m.ones(1, 4)
        utils(m).weight_norm(layer, dim=dim)
        results = [layer.state_dict(), layer(x), gradients(m, layer)]
        utils(m).remove_weight_norm(layer)
        newer = utils(m, "parametrizations").weight_norm(linear(m), dim=dim)
        results += [layer.state_dict(), newer.state_dict(), newer(x), repr(newer), gradients(m, newer)]
        newer.weight = m.ones(6, 4)
        newer.load_state_dict(utils(m).weight_norm(linear(m), dim=dim).state_dict())
        results.append(newer.weight)
        utils(m, "parametrize").remove_parametrizations(newer, "weight")
        return [*results, newer.state_dict(), type(newer).__name__]

    both(case)


def test_spectral_norm_by_a_hook():
    def case(m):
        layer, x = utils(m).spectral_norm(linear(m), n_power_iterations=2), m.ones(1, 4)
        results = [layer(x) for _ in range(3)]
        layer.eval()
        results += [layer(x), gradients(m, layer), layer.state_dict(), layer.state_dict()._metadata]
        twin = utils(m).spectral_norm(linear(m))
        twin.load_state_dict(layer.state_dict())
        utils(m).remove_spectral_norm(layer)
        return [*results, twin(x), layer.state_dict()]

    both(case)


@pytest.mark.parametrize("layer", ["Linear", "Conv2d", "ConvTranspose2d"])
def test_spectral_norm_as_a_parametrization(layer):
    def case(m):
        m.manual_seed(0)
        module = linear(m) if layer == "Linear" else getattr(m.nn, layer)(2, 3, 3)
        x = m.ones(1, 4) if layer == "Linear" else m.ones(1, 2, 5, 5)
        utils(m, "parametrizations").spectral_norm(module, n_power_iterations=2)
        results = [module.state_dict(), *[module(x) for _ in range(3)]]
        module(x).sum().backward()
        twin = copy.deepcopy(module.eval())
        return [*results, [p.grad for p in module.parameters()], twin.weight, twin.state_dict()]

    both(case)


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
@pytest.mark.parametrize("orthogonal_map", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("use_trivialization", [True, False])
def test_orthogonal(shape, orthogonal_map, use_trivialization):
    def case(m):
        layer = linear(m, shape[1], shape[0])
        options = {"orthogonal_map": orthogonal_map, "use_trivialization": use_trivialization}
        utils(m, "parametrizations").orthogonal(layer, **options)
        results = [layer.state_dict(), layer.weight]
        layer.weight.sum().backward()
        results += [p.grad for p in layer.parameters() if p.grad is not None]
        with m.no_grad():
            for p in layer.parametrizations.weight.parameters():
                p.add_(m.arange(float(p.numel())).view(p.shape) / 50)
        return [*results, layer.weight]

    both(case)


def test_parametrizations():
    def case(m):
        class Symmetric(m.nn.Module):
            def forward(self, x):
                return x.triu() + x.triu(1).transpose(-1, -2)

            def right_inverse(self, a):
                return a.triu()

        class LowRank(m.nn.Module):
            def forward(self, x, y):
                return x @ y

            def right_inverse(self, a):
                return a[:, :1], a[:1]

        class Cut(m.nn.Module):
            def forward(self, x):
                return x[:1]

        p = utils(m, "parametrize")
        layer = p.register_parametrization(linear(m, 3, 3), "weight", Symmetric())
        results = [repr(layer), layer.weight, layer.state_dict(), type(layer).__name__]
        layer.weight = m.ones(3, 3) * 2
        other = p.transfer_parametrizations_and_params(layer, linear(m, 3, 3))
        results += [layer.weight, other.weight]
        p.remove_parametrizations(layer, "weight", leave_parametrized=False)
        low = p.register_parametrization(linear(m, 3, 3), "weight", LowRank(), unsafe=True)
        results += [layer.weight, low.weight, list(low.state_dict())]
        return (
            results
            + [
                outcome(call)
                for call in (
                    lambda: p.register_parametrization(low, "nothing", Symmetric()),
                    lambda: p.register_parametrization(linear(m), "weight", Cut()),
                    lambda: p.remove_parametrizations(low, "weight", False),
                    lambda: setattr(low, "weight", 3),
                )
            ][1:3]
        )

    both(case)


@pytest.mark.parametrize("method", [
    lambda p, n: p.l1_unstructured(n, "weight", 0.3), lambda p, n: p.random_unstructured(n, "weight", 7),
    lambda p, n: p.ln_structured(n, "weight", 0.4, 2, 0), lambda p, n: p.ln_structured(n, "weight", 2, 1, 1),
    lambda p, n: p.random_structured(n, "weight", 2, 1), lambda p, n: p.identity(n, "weight"),
    lambda p, n: p.l1_unstructured(p.random_unstructured(n, "weight", 0.2), "weight", 0.5),
    lambda p, n: p.ln_structured(p.l1_unstructured(n, "weight", 3), "weight", 0.5, 2, -1),
])  # fmt: skip
def test_pruning(method):
    def case(m):
        prune = utils(m, "prune")
        layer = method(prune, linear(m))
        results = [layer.state_dict(), layer(m.ones(1, 4)), prune.is_pruned(layer), gradients(m, layer)]
        prune.remove(layer, "weight")
        return [*results, layer.state_dict(), prune.is_pruned(layer)]

    both(case)


def test_global_pruning_and_messages():
    def case(m):
        prune = utils(m, "prune")
        net = m.nn.Sequential(linear(m, 6, 5), m.nn.Linear(5, 2))
        prune.global_unstructured([(net[0], "weight"), (net[1], "weight")], prune.L1Unstructured, amount=0.5)
        calls = [
            lambda: prune.l1_unstructured(linear(m), "weight", 1.5),
            lambda: prune.l1_unstructured(linear(m), "weight", "a"),
            lambda: prune.l1_unstructured(linear(m), "weight", 100),
            lambda: prune.ln_structured(linear(m), "bias", 0.5, 2, 0),
            lambda: prune.random_structured(linear(m), "weight", 0.5, 4),
        ]  # fmt: skip
        return [net.state_dict(), *[outcome(call) for call in calls]]

    both(case)


def test_fusion():
    def case(m):
        results = []
        for layer, norm, shape, transpose in (
            (m.nn.Conv2d(2, 3, 3), m.nn.BatchNorm2d(3), (2, 2, 5, 5), False),
            (m.nn.Conv1d(2, 3, 3, bias=False), m.nn.BatchNorm1d(3, affine=False), (2, 2, 5), False),
            (m.nn.ConvTranspose2d(2, 3, 3), m.nn.BatchNorm2d(3), (2, 2, 5, 5), True),
        ):
            norm(layer(m.randn(*shape)))
            fused = utils(m).fuse_conv_bn_eval(layer.eval(), norm.eval(), transpose)
            results += [fused(m.ones(*shape)), fused.state_dict(), [p.requires_grad for p in fused.parameters()]]
        return results

    both(case)


def test_packed_sequences():
    def case(m):
        rnn = utils(m, "rnn")
        sequences = [m.arange(float(n)).view(n, 1) + 10 * n for n in (3, 5, 2)]
        packed = rnn.pack_sequence(sequences, enforce_sorted=False)
        x = m.arange(24.0).view(3, 4, 2).requires_grad_()
        again = rnn.pack_padded_sequence(x, m.tensor([2, 4, 1]), True, False)
        padded, lengths = rnn.pad_packed_sequence(again, True)
        (padded * padded).sum().backward()
        calls = [
            lambda: rnn.pack_padded_sequence(m.zeros(4, 3, 2), [1, 2, 3]),
            lambda: rnn.pack_padded_sequence(m.zeros(4, 3, 2), [3, 2, 0]),
            lambda: rnn.pack_padded_sequence(m.zeros(4, 3, 2), [3, 2]),
            lambda: rnn.pad_packed_sequence(packed, total_length=2), lambda: rnn.pad_sequence(3),
            lambda: rnn.pad_sequence(sequences, padding_side="up"),
            lambda: rnn.pack_padded_sequence(m.zeros(0, 3, 2), [3, 2, 1]),
        ]  # fmt: skip
        return [
            *[rnn.pad_sequence(sequences, first, -1.0, side) for first in (False, True) for side in ("right", "left")],
            list(packed), rnn.pad_packed_sequence(packed, True, -2.0, 7), rnn.unpack_sequence(packed), padded, lengths,
            x.grad, [str(outcome(call)).partition(". You can")[0] for call in calls],
        ]  # fmt: skip

    both(case)


def test_functional_call():
    def case(m):
        stateless = utils(m, "stateless")
        net = m.nn.Sequential(linear(m), m.nn.BatchNorm1d(6))
        given = {name: p.detach() * 0 + 1 for name, p in net.named_parameters()}
        given["1.running_mean"] = m.ones(6)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            output = stateless.functional_call(net, given, (m.randn(3, 4),))
        strict = outcome(
            lambda: stateless._functional_call(net, {"0.weight": m.zeros(6, 4)}, m.ones(1, 4), strict=True)
        )
        return [output, given["1.running_mean"], net.state_dict(), strict]

    both(case)
