"""Whole models with dynamic sizes, written here or taken from core: each is verified at several sizes on export."""

from __future__ import annotations

import pytest

import tocha
from tocha import nn
from tocha.nn import functional as F


@pytest.fixture(autouse=True)
def seed():
    tocha.manual_seed(0)


def check(model, args, dynamic, **options):
    program = tocha.onnx.export(model.eval(), args, dynamic_shapes=dynamic, **options)
    tried = {r.label for r in program.verification if r.skipped is None}
    assert len(tried) >= 3, program.verification
    return program


IMAGES = {0: "batch", 2: "height", 3: "width"}
TOKENS = {0: "batch", 1: "tokens"}


def test_perceptron():
    check(
        nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(), nn.Linear(8, 3)), (tocha.randn(1, 4),), ({0: "batch"},)
    )


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        block = lambda a, b: nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU())  # noqa: E731
        self.down1, self.down2, self.middle = block(1, 4), block(4, 8), block(8, 8)
        self.up2, self.up1, self.head = block(16, 4), block(8, 4), nn.Conv2d(4, 2, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.middle(F.max_pool2d(b, 2))
        c = F.interpolate(c, size=b.shape[2:], mode="bilinear")
        b = self.up2(tocha.cat((b, c), 1))
        return self.head(self.up1(tocha.cat((a, F.interpolate(b, size=a.shape[2:], mode="bilinear")), 1)))


def test_unet():
    check(UNet(), (tocha.randn(1, 1, 12, 20),), (IMAGES,))


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.ConvTranspose2d(6, 8, 4), nn.BatchNorm2d(8), nn.ReLU(), nn.ConvTranspose2d(8, 4, 4, 2, 1),
            nn.LeakyReLU(0.2), nn.ConvTranspose2d(4, 1, 3, 2, 1, output_padding=1), nn.Tanh(),
        )  # fmt: skip

    def forward(self, noise):
        return self.layers(noise[:, :, None, None])


def test_gan_generator():
    program = check(Generator(), (tocha.randn(2, 6),), ({0: "batch"},))
    assert program(tocha.randn(3, 6))[0].shape == (3, 1, 16, 16)


class WaveNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.start = nn.Conv1d(1, 6, 1)
        self.layers = nn.ModuleList([nn.Conv1d(6, 12, 2, dilation=2**i) for i in range(4)])
        self.end = nn.Conv1d(6, 3, 1)

    def forward(self, x):
        x = self.start(x)
        for i, layer in enumerate(self.layers):
            filtered, gate = layer(F.pad(x, (2**i, 0))).chunk(2, 1)
            x = x + filtered.tanh() * gate.sigmoid()
        return self.end(x.relu())


def test_wavenet():
    check(WaveNet(), (tocha.randn(1, 1, 19),), ({0: "batch", 2: "time"},))


class PatchTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 8, 4, 4)
        self.token = nn.Parameter(tocha.randn(1, 1, 8))
        self.positions = nn.Parameter(tocha.randn(1, 17, 8))
        self.norm, self.qkv, self.out, self.head = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8), nn.Linear(8, 5)

    def forward(self, images):
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = tocha.cat((self.token.expand(x.shape[0], -1, -1), x), 1) + self.positions
        q, k, v = self.qkv(self.norm(x)).view(x.shape[0], x.shape[1], 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return self.head(x[:, 0])


def test_vision_transformer():
    check(PatchTransformer(), (tocha.randn(1, 3, 16, 16),), ({0: "batch"},))


class Towers(nn.Module):
    def __init__(self):
        super().__init__()
        self.users, self.items = nn.Embedding(10, 6), nn.Embedding(20, 6)
        self.deep = nn.Sequential(nn.Linear(8, 6), nn.GELU())

    def forward(self, user, history, item, features):
        u = F.normalize(self.users(user) + self.items(history).mean(1), dim=1)
        i = F.normalize(self.items(item) + self.deep(features), dim=1)
        return (u * i).sum(1), u @ i.T


def test_two_towers():
    args = (tocha.tensor([1, 9]), tocha.tensor([[1, 2, 3], [4, 5, 19]]), tocha.tensor([3, 0]), tocha.randn(2, 8))
    check(Towers(), args, ({0: "batch"}, {0: "batch", 1: "seen"}, {0: "batch"}, {0: "batch"}))


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 8), nn.Tanh())
        self.actor, self.critic = nn.Linear(8, 3), nn.Linear(8, 1)

    def forward(self, observation):
        h = self.body(observation)
        logits = self.actor(h)
        logp = F.log_softmax(logits, -1)
        return {
            "action": logits.argmax(-1),
            "entropy": -(logp.exp() * logp).sum(-1),
            "value": self.critic(h).squeeze(-1),
        }


def test_policy():
    program = check(Policy(), (tocha.randn(1, 5),), ({0: "batch"},))
    assert program.output_names == ["action", "entropy", "value"]


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.start = nn.Linear(4, 8 * 2 * 2)
        self.layers = nn.Sequential(
            nn.Upsample(scale_factor=2), nn.Conv2d(8, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.SiLU(),
            nn.Upsample(scale_factor=2, mode="bilinear"), nn.Conv2d(4, 1, 3, padding=1, padding_mode="reflect"),
            nn.Sigmoid(),
        )  # fmt: skip

    def forward(self, z):
        return self.layers(self.start(z).view(-1, 8, 2, 2))


def test_autoencoder_decoder():
    check(Decoder(), (tocha.randn(1, 4),), ({0: "batch"},))


class Detector(nn.Module):
    """Boxes and scores from a grid of anchors, and the overlap of each box with each other."""

    def __init__(self):
        super().__init__()
        self.body = nn.Conv2d(3, 4, 3, 2, 1)
        self.boxes, self.scores = nn.Conv2d(4, 4, 1), nn.Conv2d(4, 3, 1)

    def forward(self, images):
        x = self.body(images).relu()
        rows, columns = x.shape[2:]
        y, z = tocha.meshgrid(tocha.arange(rows), tocha.arange(columns), indexing="ij")
        centres = tocha.stack((z, y), -1).view(-1, 2).float() * 2 + 1
        boxes = self.boxes(x).flatten(2).transpose(1, 2)
        corners = tocha.cat((centres - boxes[..., :2].exp(), centres + boxes[..., 2:].exp()), -1)
        scores = self.scores(x).flatten(2).transpose(1, 2).softmax(-1)
        low = tocha.maximum(corners[:, :, None, :2], corners[:, None, :, :2])
        high = tocha.minimum(corners[:, :, None, 2:], corners[:, None, :, 2:])
        shared = (high - low).clamp(min=0).prod(-1)
        area = (corners[..., 2:] - corners[..., :2]).prod(-1)
        overlap = shared / (area[:, :, None] + area[:, None] - shared)
        best, place = scores.max(-1)
        return corners, best, place, overlap


def test_detector():
    check(Detector(), (tocha.randn(1, 3, 8, 12),), (IMAGES,))


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_recurrent(kind, bidirectional):
    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(9, 5)
            self.layers = kind(5, 6, num_layers=2, batch_first=True, bidirectional=bidirectional)
            self.head = nn.Linear(12 if bidirectional else 6, 3)

        def forward(self, ids):
            outputs, state = self.layers(self.table(ids))
            return self.head(outputs), state

    program = check(Tagger(), (tocha.randint(0, 9, (2, 7)),), (TOKENS,))
    nodes = [node.op_type for node in program.model.graph.node]
    assert nodes.count(kind.__name__) == (4 if bidirectional else 2)


def test_transformer():
    model = nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    mask = nn.Transformer.generate_square_subsequent_mask(5)

    class Translate(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = model

        def forward(self, source, target, mask):
            return self.inner(source, target, tgt_mask=mask)

    check(
        Translate(), (tocha.randn(2, 6, 8), tocha.randn(2, 5, 8), mask), ({0: "batch", 1: "source"}, {0: "batch"}, None)
    )


def test_transformer_encoder_with_a_padding_mask():
    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="gelu", norm_first=True)
            self.inner = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

        def forward(self, x, lengths):
            padding = tocha.arange(x.shape[1])[None] >= lengths[:, None]
            hidden = self.inner(x, src_key_padding_mask=padding)
            kept = (~padding)[..., None].float()
            return (hidden * kept).sum(1) / kept.sum(1)

    check(Encoder(), (tocha.randn(2, 5, 8), tocha.tensor([5, 3])), (TOKENS, {0: "batch"}))
