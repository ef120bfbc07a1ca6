"""Loss and gradients in one graph."""

from __future__ import annotations

import pytest

import tocha
from tocha import nn
from tocha.nn import functional as F


@pytest.fixture(autouse=True)
def seed():
    tocha.manual_seed(0)


def test_a_convolutional_network():
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 3)
    ).eval()
    images, labels = tocha.randn(4, 1, 8, 8), tocha.tensor([0, 2, 1, 0])
    program = tocha.onnx.export_training(
        model, F.cross_entropy, images, labels, input_names=["images", "labels"],
        dynamic_axes={"images": {0: "batch"}, "labels": {0: "batch"}},
    )  # fmt: skip
    assert program.output_names == ["loss", *[f"grad.{name}" for name, _ in model.named_parameters()]]
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    outputs = dict(zip(program.output_names, program(images, labels)))
    assert outputs["loss"].item() == pytest.approx(loss.item(), rel=1e-5)
    for name, parameter in model.named_parameters():
        assert (outputs[f"grad.{name}"] - parameter.grad).abs().max().item() < 1e-5
    assert all(isinstance(p.grad, tocha.Tensor) for p in model.parameters())


def test_batch_statistics_in_train_mode():
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.GELU(), nn.Linear(4, 1))
    dim = tocha.onnx.Dim("batch", min=2)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    program = tocha.onnx.export_training(
        model, F.mse_loss, tocha.randn(6, 3), tocha.randn(6, 1), mode="train", dynamic_shapes=({0: dim}, {0: dim})
    )
    assert model.training and program.differences
    for name, value in model.state_dict().items():
        assert tocha.equal(value, before[name])


def test_a_language_model():
    class Tiny(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.norm = nn.Embedding(7, 8), nn.LayerNorm(8)
            self.qkv = nn.Linear(8, 24)

        def forward(self, ids):
            x = self.table(ids)
            q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
            x = x + F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return F.linear(x, self.table.weight)

    tokens = {0: "batch", 1: "tokens"}
    program = tocha.onnx.export_training(
        Tiny().eval(), lambda scores, ids: F.cross_entropy(scores.flatten(0, 1), ids.flatten()),
        tocha.randint(0, 7, (2, 5)), tocha.randint(0, 7, (2, 5)), dynamic_shapes=(tokens, tokens),
    )  # fmt: skip
    assert "grad.table.weight" in program.output_names


def test_arguments_that_do_not_fit():
    model = nn.Linear(2, 1).eval()
    with pytest.raises(ValueError, match="'eval' or 'train'"):
        tocha.onnx.export_training(model, F.mse_loss, tocha.ones(1, 2), tocha.ones(1, 1), mode="both")
    with pytest.raises(tocha.onnx.UnsupportedOperatorError, match="random"):
        dropping = nn.Sequential(nn.Linear(2, 1), nn.Dropout())
        tocha.onnx.export_training(dropping, F.mse_loss, tocha.ones(1, 2), tocha.ones(1, 1), mode="train")
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    with pytest.raises(ValueError, match="require grad"):
        tocha.onnx.export_training(model, F.mse_loss, tocha.ones(1, 2), tocha.ones(1, 1))


def test_attention_with_rows_that_see_nothing():
    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(4, 12)

        def forward(self, x, mask):
            q, k, v = self.qkv(x).chunk(3, -1)
            return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    mask = tocha.ones(5, 5, dtype=tocha.bool).tril(-1)
    program = tocha.onnx.export_training(
        Masked().eval(), lambda out, wanted: F.mse_loss(out, wanted), (tocha.randn(2, 5, 4), mask), tocha.randn(2, 5, 4)
    )
    assert all(g.isfinite().all() for g in program(tocha.randn(2, 5, 4), mask, tocha.randn(2, 5, 4)))
