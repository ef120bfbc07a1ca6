"""Activations, losses, attention and recurrent layers: values, gradients, draws, layers and errors."""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from network_samples import DRAWS, LAYERS, NETWORKS, numbers, outputs
from sample import Sample

import tocha
import tocha.nn.functional as F
from tocha import nn

VALUES = np.load(Path(__file__).parent / "data" / "networks.npz")


def leaves(sample: Sample, strided: bool) -> list[tocha.Tensor]:
    made = []
    for array in sample.arrays():
        t = tocha.tensor(array)
        if strided and array.ndim:
            t = tocha.tensor(np.repeat(array, 2, -1))[..., ::2]
        made.append(t.detach().requires_grad_() if t.is_floating_point() else t)
    return made


@pytest.mark.parametrize("strided", [False, True], ids=["plain", "strided"])
@pytest.mark.parametrize("sample", NETWORKS, ids=lambda s: s.name)
def test_values_and_gradients_are_the_reference(sample: Sample, strided: bool) -> None:
    inputs = leaves(sample, strided)
    result = sample.fn(*inputs)
    expected = VALUES[sample.name]
    assert result.numpy(force=True).dtype == expected.dtype
    np.testing.assert_allclose(result.numpy(force=True), expected, rtol=1e-7, atol=1e-8)
    weights = tocha.tensor(np.random.default_rng(1).standard_normal(expected.shape))
    (result * weights).sum().backward()
    for i, t in enumerate(inputs):
        if f"{sample.name}/{i}" in VALUES:
            np.testing.assert_allclose(t.grad.numpy(), VALUES[f"{sample.name}/{i}"], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", LAYERS)
def test_layers_start_and_compute_as_the_reference(name: str) -> None:
    make, call = LAYERS[name]
    tocha.manual_seed(0)
    layer = make(nn)
    state = layer.state_dict()
    stored = {key.split("/", 1)[1]: VALUES[key] for key in VALUES.files if key.startswith(f"init {name}/")}
    assert list(state) == list(stored)
    for key, value in state.items():
        np.testing.assert_allclose(value.numpy(), stored[key], rtol=1e-6, atol=1e-7)
    results = outputs(call(layer))
    assert len(results) == len([key for key in VALUES.files if key.startswith(f"layer {name}/")])
    for i, result in enumerate(results):
        np.testing.assert_allclose(result.numpy(force=True), VALUES[f"layer {name}/{i}"], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", DRAWS)
def test_draws_are_the_reference(name: str) -> None:
    tocha.manual_seed(0)
    np.testing.assert_allclose(DRAWS[name](F).numpy(), VALUES[f"draw {name}"], rtol=1e-5, atol=1e-6)


# ---------------------------------------------------------------- activations


@pytest.mark.parametrize("name", ["relu", "elu", "celu", "selu", "leaky_relu", "hardtanh", "silu", "mish", "hardswish"])
def test_in_place_twins_write_the_tensor_and_differentiate(name: str) -> None:
    f = getattr(F, name)
    x = tocha.tensor([-4.0, -0.3, 0.0, 0.4, 5.0], requires_grad=True)
    plain, y = f(x), x * 1
    memory = y.data
    written = f(y, inplace=True)
    assert written is y and np.array_equal(memory.numpy(), plain.numpy(force=True))
    (grad,) = tocha.autograd.grad(plain.sum(), x)
    np.testing.assert_allclose(tocha.autograd.grad(written.sum(), x)[0].numpy(), grad.numpy())
    with pytest.raises(RuntimeError, match="leaf Variable"):
        f(x, inplace=True)


def test_masked_gradients_are_zero_even_of_infinity() -> None:
    x = tocha.tensor([-1.0, 4.0], requires_grad=True)
    F.relu(x).sqrt().sum().backward()
    assert x.grad.tolist() == [0.0, 0.25]


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_is_exact_to_float32_in_blocks_of_any_layout(approximate: str) -> None:
    x = np.linspace(-12, 12, 70001)
    wide = F.gelu(tocha.tensor(x), approximate=approximate)
    narrow = F.gelu(tocha.tensor(x.astype(np.float32)), approximate=approximate)
    np.testing.assert_allclose(narrow.numpy(), wide.numpy(), atol=6e-7)
    matrix = tocha.tensor(x[:70000].reshape(200, 350).astype(np.float32))
    assert np.array_equal(
        F.gelu(matrix.T, approximate=approximate).numpy(), F.gelu(matrix, approximate=approximate).numpy().T
    )


def test_softmax_of_hidden_and_huge_numbers() -> None:
    x = tocha.tensor([[1e4, 1e4 - 1], [-1e4, -math.inf], [0.0, 0.0]])
    np.testing.assert_allclose(F.softmax(x, 1).numpy()[:, 0], [1 / (1 + math.exp(-1)), 1, 0.5], rtol=1e-6)
    assert np.isnan(F.softmax(tocha.full((2,), -math.inf), 0).numpy()).all()
    assert F.softmax(tocha.ones(0, 3), 1).shape == F.log_softmax(tocha.ones(0, 3), 0).shape == (0, 3)
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax"):
        F.softmax(tocha.ones(2))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: F.gelu(tocha.ones(2), approximate="tan"),
            RuntimeError,
            "approximate argument must be either none or tanh",
        ),
        (lambda: F.elu(tocha.arange(3)), NotImplementedError, "\"elu_cpu\" not implemented for 'Long'"),
        (lambda: F.relu(tocha.ones(2) > 0), RuntimeError, "Boolean inputs not supported for relu"),
        (lambda: F.hardtanh(tocha.ones(2), 2, 1), ValueError, "min_val cannot be greater than max_val"),
        (lambda: F.celu(tocha.ones(2), 0.0), RuntimeError, "alpha cannot be 0 for CELU"),
        (lambda: F.softshrink(tocha.ones(2), -1.0), RuntimeError, "lambda must be in range"),
        (lambda: F.glu(tocha.ones(3)), RuntimeError, "Halving dimension must be even, but dimension 0 is size 3"),
        (
            lambda: F.prelu(tocha.ones(2, 3), tocha.ones(2)),
            RuntimeError,
            "Found parameter numbers = 2 and channel size",
        ),
        (lambda: F.softmax(tocha.ones(2), 3), IndexError, "Dimension out of range"),
        (lambda: F.dropout(tocha.ones(2), 2.0), ValueError, "dropout probability has to be between 0 and 1"),
        (lambda: F.dropout(tocha.arange(3), 0.5), RuntimeError, "result type Float can't be cast"),
        (lambda: F.dropout1d(tocha.ones(2)), RuntimeError, "Expected 2D or 3D input"),
        (lambda: nn.Hardtanh(1.0, 1.0), AssertionError, "must be greater than min_val"),
        (lambda: nn.Dropout(-0.1), ValueError, "dropout probability"),
        (lambda: nn.Softmax2d()(tocha.ones(2)), ValueError, "expected input to be 3D or 4D"),
    ],
)
def test_errors_of_activations(call, error, message) -> None:
    with pytest.raises(error, match=message):
        call()


def test_dropout_passes_on_what_it_does_not_drop() -> None:
    x = tocha.ones(3, requires_grad=True)
    assert F.dropout(x, 0.5, training=False) is x
    assert F.dropout(x, 0.5, training=False, inplace=True) is x
    assert F.dropout(x, 1.0).tolist() == [0, 0, 0]
    with pytest.warns(UserWarning, match="3D input"):
        assert F.dropout2d(tocha.ones(2, 3, 4)).shape == (2, 3, 4)


# ---------------------------------------------------------------- losses


def test_cross_entropy_of_nothing_and_of_ignored_rows() -> None:
    scores = tocha.tensor([[1.0, 2.0], [0.0, 3.0]], requires_grad=True)
    nothing = F.cross_entropy(scores, tocha.tensor([1, 1]), ignore_index=1)
    assert math.isnan(nothing.item())
    nothing.backward()
    assert scores.grad.tolist() == [[0, 0], [0, 0]]
    assert math.isnan(F.cross_entropy(tocha.ones(0, 3), tocha.ones(0, dtype=tocha.int64)).item())
    assert F.nll_loss(tocha.ones(0, 3), tocha.ones(0, dtype=tocha.int64), reduction="sum").item() == 0
    infinite = tocha.tensor([[-math.inf, 0.0]])
    assert F.nll_loss(infinite, tocha.tensor([-100]), reduction="sum").item() == 0


def test_losses_of_one_row_and_old_flags() -> None:
    assert F.cross_entropy(tocha.zeros(4), tocha.tensor(1)).item() == pytest.approx(math.log(4))
    assert F.multi_margin_loss(tocha.ones(4), tocha.tensor(0)).item() == 0.75
    with pytest.warns(UserWarning, match="please use reduction='sum' instead"):
        assert F.l1_loss(tocha.ones(2), tocha.zeros(2), size_average=False).item() == 2
    with pytest.warns(UserWarning, match="different to the input size"):
        assert F.mse_loss(tocha.ones(2, 2), tocha.zeros(2)).item() == 1
    weighted = F.mse_loss(tocha.tensor([1.0, 2.0]), tocha.zeros(2), weight=tocha.tensor([3.0, 1.0]))
    assert weighted.item() == pytest.approx(7 / 4)


def test_ctc_of_impossible_and_empty_targets() -> None:
    logp = tocha.zeros(3, 2, 4, dtype=tocha.float64).log_softmax(2)
    logp.requires_grad_()
    labels = tocha.tensor([[1, 1, 1], [2, 0, 0]])
    losses = F.ctc_loss(logp, labels, (3, 3), (3, 0), reduction="none")
    assert losses[0].item() == math.inf and losses[1].item() == pytest.approx(3 * math.log(4))
    finite = F.ctc_loss(logp, labels, (3, 3), (3, 0), reduction="sum", zero_infinity=True)
    finite.backward()
    assert finite.item() == pytest.approx(3 * math.log(4)) and not logp.grad[:, 0].any()
    loss = F.ctc_loss(logp, tocha.tensor([[1], [2]]), (3, 3), (1, 1))
    (grad,) = tocha.autograd.grad(loss, logp, create_graph=True)
    with pytest.raises(RuntimeError, match="_ctc_loss_backward is not implemented"):
        grad.sum().backward()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: F.nll_loss(tocha.ones(3, 4), tocha.full((3,), 4)), IndexError, "Target 4 is out of bounds"),
        (lambda: F.nll_loss(tocha.ones(3, 4), tocha.full((3,), -1)), IndexError, "Target -1 is out of bounds"),
        (lambda: F.nll_loss(tocha.ones(3, 4), tocha.zeros(3)), RuntimeError, "to be Long or Byte, but got Float"),
        (lambda: F.nll_loss(tocha.ones(3, 4), tocha.arange(2)), ValueError, "batch_size \\(3\\) to match"),
        (lambda: F.nll_loss(tocha.ones(3, 4), tocha.arange(3), tocha.ones(3)), RuntimeError, "for all 4 classes"),
        (
            lambda: F.cross_entropy(tocha.ones(3, 4), tocha.arange(3), reduction="x"),
            ValueError,
            "x is not a valid value",
        ),
        (lambda: F.cross_entropy(tocha.ones(3, 4), tocha.arange(3), label_smoothing=2.0), RuntimeError, "between 0.0"),
        (lambda: F.binary_cross_entropy(tocha.full((2,), 2.0), tocha.ones(2)), RuntimeError, "between 0 and 1"),
        (lambda: F.binary_cross_entropy(tocha.ones(2), tocha.ones(3)), ValueError, "target size"),
        (lambda: F.smooth_l1_loss(tocha.ones(2), tocha.ones(2), beta=-1.0), RuntimeError, "negative values for beta"),
        (lambda: F.huber_loss(tocha.ones(2), tocha.ones(2), delta=0.0), RuntimeError, "non-positive values for delta"),
        (lambda: F.gaussian_nll_loss(tocha.ones(2), tocha.ones(2), -1.0), ValueError, "negative entry"),
        (lambda: F.margin_ranking_loss(tocha.ones(2), tocha.ones(1, 2), tocha.ones(2)), RuntimeError, "same dimension"),
        (lambda: F.triplet_margin_loss(*[tocha.ones(2)] * 3, margin=0), ValueError, "margin must be greater than 0"),
        (lambda: F.ctc_loss(tocha.ones(3, 1, 4), tocha.ones(1, 1), (4,), (1,)), RuntimeError, "value at most 3"),
        (lambda: F.ctc_loss(tocha.ones(3, 1, 4), tocha.ones(1, 1), (3,), (2,)), RuntimeError, "size at least 2"),
        (lambda: F.embedding(tocha.tensor([3]), tocha.ones(3, 2)), IndexError, "index out of range in self"),
        (lambda: F.embedding(tocha.tensor([-1]), tocha.ones(3, 2)), IndexError, "index out of range in self"),
        (lambda: F.embedding(tocha.ones(1), tocha.ones(3, 2)), RuntimeError, "Long, Int; but got torch.FloatTensor"),
        (lambda: F.embedding(tocha.tensor([0]), tocha.ones(3, 2), sparse=True), NotImplementedError, "dense gradients"),
        (lambda: F.embedding_bag(tocha.tensor([0]), tocha.ones(3, 2)), ValueError, "1D Tensor but got None"),
        (lambda: F.one_hot(tocha.tensor([-1])), RuntimeError, "Class values must be non-negative"),
        (lambda: F.one_hot(tocha.tensor([2]), 2), RuntimeError, "smaller than num_classes"),
        (lambda: tocha.cdist(tocha.ones(2, 3), tocha.ones(2, 4)), RuntimeError, "same number of columns"),
        (
            lambda: F.bilinear(tocha.ones(2, 3), tocha.ones(2, 2), tocha.ones(1, 3, 3)),
            RuntimeError,
            "got 2 but expected 3",
        ),
        (lambda: F.linear(tocha.ones(2, 3), tocha.ones(4, 5)), RuntimeError, "cannot be multiplied \\(2x3 and 5x4\\)"),
    ],
)
def test_errors_of_losses_and_tables(call, error, message) -> None:
    with pytest.raises(error, match=message), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call()


def test_embedding_scales_rows_that_are_too_long() -> None:
    table = tocha.tensor([[3.0, 4.0], [0.3, 0.4], [30.0, 40.0]])
    F.embedding(tocha.tensor([0, 1, 0]), table, max_norm=1.0)
    np.testing.assert_allclose(table.numpy(), [[0.6, 0.8], [0.3, 0.4], [30, 40]], rtol=1e-6)


def test_large_gradients_of_embedding_and_of_short_ones_agree() -> None:
    index = tocha.tensor(np.random.default_rng(0).integers(0, 7, (40, 50)))
    table = tocha.randn(7, 16, requires_grad=True)
    g = tocha.randn(40, 50, 16)
    F.embedding(index, table).backward(g)
    expected = np.zeros((7, 16))
    np.add.at(expected, index.numpy(), g.numpy().astype(np.float64))
    np.testing.assert_allclose(table.grad.numpy(), expected, rtol=1e-4, atol=1e-4)


# ---------------------------------------------------------------- attention


def plain_attention(q, k, v, hidden=None, scale=None):
    s = q @ np.swapaxes(k, -1, -2) * (scale or 1 / math.sqrt(q.shape[-1]))
    if hidden is not None:
        s = np.where(hidden, -np.inf, s)
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


@pytest.mark.parametrize("rows", [63, 64, 65, 200])
def test_causal_attention_in_tiles(rows: int) -> None:
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((3, 2, rows, 4)) for _ in range(3))
    hidden = np.arange(rows)[:, None] < np.arange(rows)
    tensors = [tocha.tensor(a, requires_grad=True) for a in (q, k, v)]
    fast = F.scaled_dot_product_attention(*tensors, is_causal=True)
    np.testing.assert_allclose(fast.numpy(force=True), plain_attention(q, k, v, hidden), rtol=1e-9, atol=1e-12)
    slow = F.scaled_dot_product_attention(*tensors, tocha.tensor(~hidden))
    g = tocha.tensor(rng.standard_normal(fast.shape))
    for a, b in zip(tocha.autograd.grad(fast, tensors, g), tocha.autograd.grad(slow, tensors, g)):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-8, atol=1e-10)


def test_attention_computes_large_scores_again_for_the_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    from tocha._ops import attention

    rng = np.random.default_rng(0)
    tensors = [tocha.tensor(rng.standard_normal((2, 3, 40, 4)) * 40, requires_grad=True) for _ in range(3)]
    g = tocha.tensor(rng.standard_normal((2, 3, 40, 4)))
    kept = tocha.autograd.grad(F.scaled_dot_product_attention(*tensors), tensors, g)
    monkeypatch.setattr(attention, "_KEEP", 0)
    monkeypatch.setattr(attention, "_TILE", 1 << 8)
    again = tocha.autograd.grad(F.scaled_dot_product_attention(*tensors), tensors, g)
    for a, b in zip(kept, again):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-7, atol=1e-8)


def test_attention_keeps_the_layout_of_heads() -> None:
    x = tocha.randn(2, 5, 3, 4).transpose(1, 2)
    assert F.scaled_dot_product_attention(x, x, x).transpose(1, 2).is_contiguous()
    empty = F.scaled_dot_product_attention(tocha.ones(2, 3, 4), tocha.ones(2, 0, 4), tocha.ones(2, 0, 5))
    assert empty.shape == (2, 3, 5) and not empty.any()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            {"key": tocha.ones(2, 3, 4).double()},
            RuntimeError,
            "to have the same dtype, but got query.dtype: float key.dtype: double",
        ),
        ({"query": tocha.ones(4)}, RuntimeError, "at least 2 dimensional"),
        ({"attn_mask": tocha.ones(3, 3).int()}, RuntimeError, "attn_mask dtype to be bool or float"),
        ({"attn_mask": tocha.ones(3, 3), "is_causal": True}, RuntimeError, "should not be set when is_causal=True"),
        ({"key": tocha.ones(2, 3, 5)}, RuntimeError, "Expected size for first two dimensions"),
        ({"dropout_p": 2.0}, RuntimeError, "dropout probability"),
    ],
)
def test_errors_of_attention(change, error, message) -> None:
    arguments = {name: tocha.ones(2, 3, 4) for name in ("query", "key", "value")} | change
    with pytest.raises(error, match=message):
        F.scaled_dot_product_attention(**arguments)


def test_heads_with_and_without_weights_agree_under_every_mask() -> None:
    layer = nn.MultiheadAttention(8, 2, batch_first=True)
    x = tocha.randn(3, 5, 8)
    pairs = tocha.ones(5, 5).triu(1).bool()
    keys = tocha.zeros(3, 5, dtype=tocha.bool)
    keys[1, 3:] = True
    per_head = tocha.randn(6, 5, 5)
    floating = tocha.zeros(5, 5).masked_fill(pairs, -math.inf)
    for attn_mask, padding in [
        (None, None), (pairs, None), (None, keys), (pairs, keys), (floating, None), (per_head, None),
        (floating, tocha.zeros(3, 5).masked_fill(keys, -math.inf)),
    ]:  # fmt: skip
        fast, nothing = layer(x, x, x, padding, False, attn_mask)
        slow, weights = layer(x, x, x, padding, True, attn_mask)
        assert nothing is None and weights.shape == (3, 5, 5)
        np.testing.assert_allclose(fast.numpy(force=True), slow.numpy(force=True), rtol=1e-4, atol=1e-6)
    seq_first = copy.deepcopy(layer)
    seq_first.batch_first = False
    y, _ = seq_first(*[x.transpose(0, 1)] * 3, attn_mask=pairs, is_causal=True, need_weights=False)
    np.testing.assert_allclose(
        y.transpose(0, 1).numpy(force=True), layer(x, x, x, attn_mask=pairs)[0].numpy(force=True), atol=1e-6
    )
    with pytest.raises(AssertionError, match="embed_dim must be divisible"):
        nn.MultiheadAttention(8, 3)
    with pytest.raises(RuntimeError, match="The shape of the 2D attn_mask is"):
        layer(x, x, x, attn_mask=pairs[:4])
    with pytest.raises(RuntimeError, match="Need attn_mask if specifying the is_causal hint"):
        layer(x, x, x, is_causal=True)


def test_transformer_finds_out_that_a_mask_is_causal() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)
    model = nn.TransformerEncoder(layer, 2)
    x, mask = tocha.randn(2, 4, 8), nn.Transformer.generate_square_subsequent_mask(4)
    y = model(x, mask)
    changed = x.clone()
    changed[:, 3] = 1.0
    np.testing.assert_allclose(y[:, :3].numpy(force=True), model(changed, mask)[:, :3].numpy(force=True), atol=1e-6)
    np.testing.assert_allclose(y.numpy(force=True), model(x, mask == -math.inf).numpy(force=True), atol=1e-6)
    with pytest.raises(RuntimeError, match="relu/gelu, not tanh"):
        nn.TransformerEncoderLayer(8, 2, activation="tanh")


# ---------------------------------------------------------------- recurrent layers


@pytest.mark.parametrize("mode", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_packed_sequences_are_the_sequences_alone(mode: str, bidirectional: bool) -> None:
    layer = getattr(nn, mode)(3, 4, 2, bidirectional=bidirectional)
    lengths = [2, 5, 1]
    sequences = [tocha.randn(n, 3) for n in lengths]
    output, state = layer(nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False))
    padded, _ = nn.utils.rnn.pad_packed_sequence(output)
    for i, sequence in enumerate(sequences):
        alone, last = layer(sequence)
        np.testing.assert_allclose(padded[: lengths[i], i].numpy(force=True), alone.numpy(force=True), atol=1e-6)
        for a, b in zip(outputs(state), outputs(last)):
            np.testing.assert_allclose(a[:, i].numpy(force=True), b.numpy(force=True), atol=1e-6)


def test_gradients_of_packed_sequences_are_those_of_the_sequences() -> None:
    layer = nn.LSTM(3, 4, bidirectional=True).double()
    sequences = [tocha.randn(n, 3, dtype=tocha.float64, requires_grad=True) for n in (4, 2)]
    weights = list(layer.parameters())
    together = layer(nn.utils.rnn.pack_sequence(sequences))[0].data.pow(2).sum()
    apart = sum(layer(s)[0].pow(2).sum() for s in sequences)
    for a, b in zip(*[tocha.autograd.grad(loss, sequences + weights) for loss in (together, apart)]):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9, atol=1e-12)


def test_cells_are_layers_of_one_step() -> None:
    tocha.manual_seed(0)
    cell, layer = nn.LSTMCell(3, 4), nn.LSTM(3, 4)
    layer.load_state_dict({f"{k}_l0": v for k, v in cell.state_dict().items()})
    x = tocha.randn(6, 2, 3)
    state = None
    for step in x:
        state = cell(step, state)
    _, (h, c) = layer(x)
    np.testing.assert_allclose(state[0].numpy(force=True), h[0].numpy(force=True), atol=1e-6)
    np.testing.assert_allclose(state[1].numpy(force=True), c[0].numpy(force=True), atol=1e-6)


def test_a_second_backward_through_a_kept_graph() -> None:
    layer = nn.GRU(3, 4, batch_first=True)
    y = layer(numbers(2, 5, 3))[0][:, -1].sum()
    y.backward(retain_graph=True)
    first = layer.weight_hh_l0.grad.clone()
    y.backward()
    np.testing.assert_allclose(layer.weight_hh_l0.grad.numpy(), 2 * first.numpy(), rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: nn.LSTM(3, 4)(tocha.ones(2, 5, 7)), RuntimeError, "Expected 3, got 7"),
        (lambda: nn.LSTM(3, 4)(tocha.ones(2, 5, 3).double()), ValueError, "does not match weight dtype"),
        (lambda: nn.LSTM(3, 4)(tocha.ones(2, 5, 3), (tocha.ones(1, 4, 4), tocha.ones(1, 5, 4))), RuntimeError,
         "Expected hidden\\[0\\] size \\(1, 5, 4\\), got \\[1, 4, 4\\]"),
        (lambda: nn.GRU(3, 4)(tocha.ones(0, 5, 3)), RuntimeError, "sequence length to be larger than 0"),
        (lambda: nn.GRU(3, 4)(tocha.ones(3)), ValueError, "GRU: Expected input to be 2D or 3D, got 1D"),
        (lambda: nn.GRU(3, 4, proj_size=2), ValueError, "only supported for LSTM"),
        (lambda: nn.RNN(3, 4, nonlinearity="x"), ValueError, "Unknown nonlinearity 'x'"),
        (lambda: nn.LSTM(3, 4, proj_size=4), ValueError, "proj_size has to be smaller"),
        (lambda: nn.LSTM(3, 0), ValueError, "hidden_size must be greater than zero"),
        (lambda: nn.LSTM(3, 4, dropout=2.0), ValueError, "dropout should be a number in range"),
        (lambda: nn.GRUCell(3, 4)(tocha.ones(2, 7)), RuntimeError, "got 7 expected 3"),
        (lambda: nn.GRUCell(3, 4)(tocha.ones(2, 3), tocha.ones(3, 4)), RuntimeError, "hidden0 batch size 3"),
    ],
)  # fmt: skip
def test_errors_of_recurrent_layers(call, error, message) -> None:
    with pytest.raises(error, match=message):
        call()


# ---------------------------------------------------------------- layers

REPRS = {
    "Linear(in_features=2, out_features=3, bias=False)": lambda: nn.Linear(2, 3, bias=False),
    "Bilinear(in1_features=2, in2_features=3, out_features=4, bias=True)": lambda: nn.Bilinear(2, 3, 4),
    "LazyLinear(in_features=0, out_features=3, bias=True)": lambda: nn.LazyLinear(3),
    "Identity()": lambda: nn.Identity(5, name="x"),
    "ReLU(inplace=True)": lambda: nn.ReLU(True),
    "ReLU6()": lambda: nn.ReLU6(),
    "LeakyReLU(negative_slope=0.1, inplace=True)": lambda: nn.LeakyReLU(0.1, True),
    "RReLU(lower=0.125, upper=0.3333333333333333)": lambda: nn.RReLU(),
    "Threshold(threshold=0.1, value=20, inplace=True)": lambda: nn.Threshold(0.1, 20, True),
    "Hardtanh(min_val=-1.0, max_val=1.0)": lambda: nn.Hardtanh(),
    "Hardswish()": lambda: nn.Hardswish(True),
    "CELU(alpha=1.0)": lambda: nn.CELU(),
    "GELU(approximate='tanh')": lambda: nn.GELU("tanh"),
    "Softplus(beta=1.0, threshold=20.0)": lambda: nn.Softplus(),
    "Softshrink(0.5)": lambda: nn.Softshrink(),
    "PReLU(num_parameters=3)": lambda: nn.PReLU(3),
    "LogSoftmax(dim=1)": lambda: nn.LogSoftmax(1),
    "Dropout2d(p=0.3, inplace=True)": lambda: nn.Dropout2d(0.3, True),
    "Embedding(5, 3, padding_idx=4, max_norm=1.0, norm_type=1.0)": lambda: nn.Embedding(5, 3, -1, 1.0, 1.0),
    "EmbeddingBag(5, 3, mode='sum', padding_idx=0)": lambda: nn.EmbeddingBag(5, 3, mode="sum", padding_idx=0),
    "LSTM(3, 4, proj_size=2, num_layers=2, batch_first=True, bidirectional=True)": lambda: nn.LSTM(
        3, 4, 2, True, True, 0.0, True, 2
    ),
    "RNN(3, 4, num_layers=2, bias=False, dropout=0.5)": lambda: nn.RNN(3, 4, 2, "relu", False, dropout=0.5),
    "RNNCell(3, 4, bias=False, nonlinearity=relu)": lambda: nn.RNNCell(3, 4, False, "relu"),
    "CrossEntropyLoss()": lambda: nn.CrossEntropyLoss(),
    "MultiheadAttention(\n  (out_proj): NonDynamicallyQuantizableLinear(in_features=4, out_features=4, bias=True)\n)": (
        lambda: nn.MultiheadAttention(4, 2)
    ),
}


@pytest.mark.parametrize("text", REPRS)
def test_layers_print_as_the_reference(text: str) -> None:
    assert repr(REPRS[text]()) == text


def test_layers_are_copied_and_pickled() -> None:
    for make, call in LAYERS.values():
        layer = make(nn)
        copied, loaded = copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))
        for again in (copied, loaded):
            for a, b in zip(outputs(call(layer)), outputs(call(again))):
                assert np.array_equal(a.numpy(force=True), b.numpy(force=True))


def test_lazy_linear_takes_its_size_from_the_input() -> None:
    layer = nn.LazyLinear(3)
    assert layer(tocha.ones(2, 5)).shape == (2, 3) and type(layer) is nn.Linear and layer.in_features == 5


def test_losses_keep_their_weights_as_buffers() -> None:
    loss = nn.BCEWithLogitsLoss(pos_weight=tocha.tensor([2.0, 3.0]))
    assert list(loss.state_dict()) == ["pos_weight"] and loss.double().pos_weight.dtype == tocha.float64
    with pytest.raises(ValueError, match="only p == 1 and p == 2 supported"):
        nn.MultiMarginLoss(p=3)


def test_adaptive_softmax_is_a_distribution_and_its_targets_are_in_range() -> None:
    layer = nn.AdaptiveLogSoftmaxWithLoss(4, 8, [2, 5], 2.0)
    x = tocha.randn(6, 4)
    logp = layer.log_prob(x)
    np.testing.assert_allclose(logp.exp().sum(1).numpy(force=True), np.ones(6), rtol=1e-5)
    assert layer.predict(x).tolist() == logp.argmax(1).tolist()
    target = tocha.tensor([0, 1, 3, 4, 6, 7])
    output, loss = layer(x, target)
    np.testing.assert_allclose(
        output.numpy(force=True), logp.gather(1, target.unsqueeze(1))[:, 0].numpy(force=True), rtol=1e-5
    )
    loss.backward()
    assert all(p.grad is not None for p in layer.parameters())
    with pytest.raises(RuntimeError, match="Target values should be in"):
        layer(x, target + 2)


def test_a_function_of_pytorch_runs_ours_of_the_same_name() -> None:
    def theirs(name: str, module: str):
        def f(*args, **kwargs):
            raise AssertionError("PyTorch's own code ran")

        f.__name__, f.__module__ = name, module
        return f

    x = tocha.tensor([-1.0, 2.0])
    run = tocha.Tensor.__torch_function__
    assert run(theirs("relu", "torch.nn.functional"), (), (x,)).tolist() == [0, 2]
    assert run(theirs("add", "torch"), (), (x, x)).tolist() == [-2, 4]
    assert run(len, (), (x,)) == 2
    with pytest.raises(TypeError, match="torch.no_such_name was called with a tensor of tocha"):
        run(theirs("no_such_name", "torch"), (), (x,))


def test_the_implementation_of_attention_can_be_chosen() -> None:
    from tocha.nn.attention import SDPBackend, sdpa_kernel

    q, k, v = (tocha.randn(2, 3, 4, dtype=tocha.float64, requires_grad=True) for _ in range(3))
    mask = tocha.tensor([[True, False, True], [False, False, False], [True, True, True]])
    fused = F.scaled_dot_product_attention(q, k, v, mask)
    with sdpa_kernel([SDPBackend.MATH]):
        plain = F.scaled_dot_product_attention(q, k, v, mask)
    assert fused.grad_fn.name() != plain.grad_fn.name()
    np.testing.assert_allclose(fused.numpy(force=True), plain.numpy(force=True), rtol=1e-9, atol=1e-12)
    for a, b in zip(*[tocha.autograd.grad(y.square().sum(), (q, k, v)) for y in (fused, plain)]):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-8, atol=1e-10)
    with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION), pytest.raises(RuntimeError, match="No viable backend"):
        F.scaled_dot_product_attention(q, k, v)
    with pytest.raises(AssertionError, match="got str"), sdpa_kernel("math"):
        pass


def test_an_encoder_in_evaluation_leaves_padding_at_the_end_zero() -> None:
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2).eval()
    x, hidden = tocha.randn(2, 4, 8), tocha.tensor([[False] * 4, [False, False, True, True]])
    with tocha.no_grad():
        short = model(x, src_key_padding_mask=hidden)
        middle = model(x, src_key_padding_mask=tocha.tensor([[False] * 4, [False, True, False, False]]))
    full = model(x, src_key_padding_mask=hidden)
    assert not short[1, 2:].any() and middle[1, 1].any() and full[1, 2:].any()
    np.testing.assert_allclose(short[~hidden].numpy(), full[~hidden].numpy(force=True), atol=1e-6)
