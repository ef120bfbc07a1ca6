"""Samples of activations, losses, attention and recurrent layers, in the table of ``operator_samples``."""

from __future__ import annotations

import numpy as np
from sample import Sample

import tocha
import tocha.nn.functional as F

CLASSES = np.array([2, 0, 1])
IGNORED = np.array([2, -100, 1])
PIXELS = np.array([[[2, 0], [1, 1]], [[0, 2], [2, 1]]])
SIGNS = np.array([[1.0, -1.0, 1.0], [-1.0, -1.0, 1.0]])
HALVES = np.array([[0.25, 0.5, 1.0], [0.0, 0.75, 0.5]])
LABELS = np.array([[1, 2, 1], [2, 2, 0]])
SEVERAL = np.array([[2, -1, 0], [0, 1, -1]])
LOOKED_UP = np.array([0, 2, 1, 2, 2])
BAGS = np.array([0, 2, 2])
SEEN = np.array([[True, False, True, True], [True, True, False, True], [False, True, True, True]])
WEIGHTS = ((8, 3), (8, 2), (8,), (8,))


def fixed(array):
    """A target: data without a gradient, in the dtype and on the device of ``x``."""
    return lambda x: tocha.tensor(array).to(x)


def by(name, *args, **kwargs):
    """A function of ``functional`` of one tensor and fixed arguments."""
    return lambda x: getattr(F, name)(x, *args, **kwargs)


def against(name, array, **kwargs):
    """A loss of one tensor against a fixed target."""
    target = fixed(array)
    return lambda x: getattr(F, name)(x, target(x), **kwargs)


def recurrent(run, states):
    """The outputs and last states of a layer in one row, so that one result stands for all."""

    def fn(x, *rest):
        given = rest[:states]
        hx = given if states == 2 else given[0]
        results = run(x, hx, rest[states:], True, 1, 0.0, False, False, False)
        return tocha.cat([r.flatten() for r in results])

    return fn


def packed(x, h, *weights):
    results = tocha.gru(x, tocha.tensor([3, 2, 1]), h, weights, True, 1, 0.0, False, False)
    return tocha.cat([r.flatten() for r in results])


def both_ways(x, h, c, *weights):
    results = tocha.lstm(x, (h, c), weights, True, 1, 0.0, False, True, True)
    return tocha.cat([r.flatten() for r in results])


def heads(q, k, v, w, b, out):
    result, weights = F.multi_head_attention_forward(
        q, k, v, 4, 2, w, b, None, None, True, 0.0, out, None, need_weights=True, average_attn_weights=False
    )
    return tocha.cat([result.flatten(), weights.flatten()])


def bag(mode, **kwargs):
    def fn(w):
        index, offsets = (tocha.tensor(a, device=w.device) for a in (LOOKED_UP, BAGS))
        return F.embedding_bag(index, w, offsets, mode=mode, **kwargs)

    return fn


def attention(mask=None, **kwargs):
    def fn(q, k, v):
        seen = None if mask is None else tocha.tensor(mask, device=q.device)
        return F.scaled_dot_product_attention(q, k, v, seen, **kwargs)

    return fn


QKV = ((2, 1, 3, 2), (2, 1, 4, 2), (2, 1, 4, 3))

NETWORKS = [
    *[
        Sample(name, by(name), ((2, 3),))
        for name in (
            "celu", "hardshrink", "hardsigmoid", "hardswish", "logsigmoid", "relu6", "selu", "softshrink", "softsign",
            "tanhshrink",
        )
    ],
    Sample("elu scaled", by("elu", 0.7), ((2, 3),)),
    Sample("celu scaled", by("celu", 0.7), ((2, 3),)),
    Sample("gelu tanh", by("gelu", approximate="tanh"), ((2, 3),)),
    Sample("glu", by("glu", 0), ((4, 3),)),
    Sample("threshold", by("threshold", 0.1, 5.0), ((2, 3),)),
    Sample("rrelu", by("rrelu", 0.1, 0.3), ((2, 3),)),
    Sample("softplus sharp", by("softplus", 3.0, 2.0), ((2, 3),)),
    Sample("leaky_relu steep", by("leaky_relu", 1.5), ((2, 3),)),
    Sample("prelu", lambda x, w: F.prelu(x, w), ((2, 3, 2), (3,))),
    Sample("prelu one", lambda x, w: F.prelu(x, w), ((2, 3), (1,))),
    Sample("softmin", by("softmin", 1), ((2, 3),)),
    Sample("softmax of one", by("softmax", 0), ((),)),
    Sample("softmax large", by("softmax", 1), ((2, 5),), scale=100.0),
    Sample("log_softmax large", by("log_softmax", 1), ((2, 5),), scale=100.0),
    # losses
    Sample("nll_loss", lambda x, t: F.nll_loss(x, t), ((3, 3), CLASSES)),
    Sample("nll_loss weighted", lambda x, t: F.nll_loss(x, t, tocha.tensor([1.0, 2.0, 0.5]).to(x)), ((3, 3), IGNORED)),
    Sample("nll_loss pixels", lambda x, t: F.nll_loss(x, t, reduction="none"), ((2, 3, 2, 2), PIXELS)),
    Sample("cross_entropy ignored", lambda x, t: F.cross_entropy(x, t), ((3, 3), IGNORED)),
    Sample("cross_entropy none", lambda x, t: F.cross_entropy(x, t, reduction="none"), ((3, 3), CLASSES)),
    Sample("cross_entropy large", lambda x, t: F.cross_entropy(x, t), ((3, 3), CLASSES), scale=50.0),
    Sample("cross_entropy pixels", lambda x, t: F.cross_entropy(x, t, reduction="sum"), ((2, 3, 2, 2), PIXELS)),
    Sample("cross_entropy chances", against("cross_entropy", HALVES, label_smoothing=0.2), ((2, 3),)),
    Sample("l1_loss", lambda x, y: F.l1_loss(x, y), ((2, 3), (2, 3))),
    Sample("smooth_l1_loss", lambda x, y: F.smooth_l1_loss(x, y, beta=0.6), ((2, 3), (2, 3))),
    Sample("huber_loss", lambda x, y: F.huber_loss(x, y, delta=0.6), ((2, 3), (2, 3))),
    Sample("mse_loss none", lambda x, y: F.mse_loss(x, y, reduction="none"), ((2, 3), (2, 3))),
    Sample("bce", lambda x: F.binary_cross_entropy(tocha.sigmoid(x), fixed(HALVES)(x)), ((2, 3),)),
    Sample("bce with logits", lambda x, y: F.binary_cross_entropy_with_logits(x, y), ((2, 3), (2, 3))),
    Sample("bce weighted", against("binary_cross_entropy_with_logits", HALVES, reduction="sum"), ((2, 3),)),
    Sample("soft_margin_loss", against("soft_margin_loss", SIGNS), ((2, 3),)),
    Sample("kl_div", against("kl_div", HALVES, reduction="batchmean"), ((2, 3),)),
    Sample("kl_div logs", lambda x, y: F.kl_div(x, y, reduction="sum", log_target=True), ((2, 3), (2, 3))),
    Sample("poisson_nll_loss", against("poisson_nll_loss", HALVES * 8, full=True), ((2, 3),)),
    Sample("gaussian_nll_loss", lambda x, y, v: F.gaussian_nll_loss(x, y, v), ((2, 3),) * 3, positive=True, meta=False,
           waits=1),
    Sample("multi_margin_loss", lambda x, t: F.multi_margin_loss(x, t, p=2), ((3, 3), CLASSES)),
    Sample("multilabel_margin_loss", lambda x, t: F.multilabel_margin_loss(x, t),
           ((2, 3), np.array([[2, -1, 0], [0, 1, -1]]))),
    Sample("multilabel_soft_margin_loss", against("multilabel_soft_margin_loss", HALVES), ((2, 3),)),
    Sample("hinge_embedding_loss", against("hinge_embedding_loss", SIGNS), ((2, 3),)),
    Sample("margin_ranking_loss", lambda x, y: F.margin_ranking_loss(x, y, fixed(SIGNS)(x), 0.3), ((2, 3), (2, 3))),
    Sample("cosine_embedding_loss", lambda x, y: F.cosine_embedding_loss(x, y, fixed(SIGNS[0, :2])(x)),
           ((2, 3), (2, 3))),
    Sample("triplet_margin_loss", lambda a, p, n: F.triplet_margin_loss(a, p, n, swap=True), ((2, 3),) * 3),
    Sample("ctc_loss", lambda x: F.ctc_loss(F.log_softmax(x, 2), tocha.tensor(LABELS), (5, 4), (3, 2)), ((5, 2, 4),),
           differentiable=False, meta=False),
    # distances and tables
    Sample("pairwise_distance", lambda x, y: F.pairwise_distance(x, y, p=3.0), ((2, 3), (2, 3))),
    Sample("cosine_similarity", lambda x, y: F.cosine_similarity(x, y, 0), ((2, 3), (2, 1))),
    Sample("cdist", lambda x, y: tocha.cdist(x, y), ((2, 2, 3), (2, 4, 3))),
    Sample("cdist by product", lambda x, y: tocha.cdist(x, y, compute_mode="use_mm_for_euclid_dist"), ((2, 3), (4, 3))),
    Sample("pdist", lambda x: F.pdist(x, 1.5), ((4, 3),)),
    Sample("bilinear", lambda x, y, w, b: F.bilinear(x, y, w, b), ((2, 3), (2, 2), (4, 3, 2), (4,))),
    Sample("embedding padded", lambda i, w: F.embedding(i, w, padding_idx=2), (LOOKED_UP, (3, 2)),
           differentiable=False),
    Sample("embedding by frequency", lambda i, w: F.embedding(i, w, scale_grad_by_freq=True), (LOOKED_UP, (3, 2)),
           differentiable=False),
    Sample("embedding_bag sum", bag("sum"), ((3, 2),), meta=False, waits=1),
    Sample("embedding_bag mean", bag("mean"), ((3, 2),), meta=False, waits=1),
    Sample("embedding_bag max", bag("max"), ((3, 2),), meta=False, waits=1),
    # attention
    Sample("attention", attention(), QKV),
    Sample("attention causal", attention(is_causal=True, scale=0.7), QKV),
    Sample("attention masked", attention(SEEN), QKV),
    Sample("attention blind", attention(np.zeros((3, 4), bool)), QKV),
    Sample("attention biased", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m), (*QKV, (1, 3, 4))),
    Sample("attention groups", attention(enable_gqa=True), ((2, 4, 3, 2), (2, 2, 4, 2), (2, 2, 4, 2))),
    Sample("attention matrices", attention(), ((3, 2), (4, 2), (4, 3))),
    Sample("heads", heads, ((3, 2, 4), (2, 2, 4), (2, 2, 4), (12, 4), (12,), (4, 4))),
    # recurrent layers
    Sample("lstm", recurrent(tocha.lstm, 2), ((3, 2, 3), (1, 2, 2), (1, 2, 2), *WEIGHTS)),
    Sample("lstm projected", recurrent(tocha.lstm, 2),
           ((2, 2, 3), (1, 2, 1), (1, 2, 2), (8, 3), (8, 1), (8,), (8,), (1, 2))),
    Sample("lstm both ways", both_ways,
           ((2, 2, 3), (2, 2, 2), (2, 2, 2), *WEIGHTS, *WEIGHTS)),
    Sample("gru", recurrent(tocha.gru, 1), ((3, 2, 3), (1, 2, 2), (6, 3), (6, 2), (6,), (6,))),
    Sample("gru packed", packed, ((6, 3), (1, 3, 2), (6, 3), (6, 2), (6,), (6,))),
    Sample("rnn_tanh", recurrent(tocha.rnn_tanh, 1), ((3, 2, 3), (1, 2, 2), (2, 3), (2, 2), (2,), (2,))),
    Sample("rnn_relu", recurrent(tocha.rnn_relu, 1), ((3, 2, 3), (1, 2, 2), (2, 3), (2, 2), (2,), (2,))),
    Sample("lstm_cell", lambda x, h, c, *w: tocha.stack(tocha.lstm_cell(x, (h, c), *w)),
           ((2, 3), (2, 2), (2, 2), *WEIGHTS)),
]  # fmt: skip


def outputs(result):
    """The tensors of a layer's result, in order."""
    if result is None:
        return []
    if hasattr(result, "detach"):
        return [result]
    return [t for part in result for t in outputs(part)]


def numbers(*shape, start=0.0):
    """Fixed float32 input of a layer."""
    size = int(np.prod(shape))
    return tocha.sin(tocha.arange(size, dtype=tocha.float32) * 0.7 + start).reshape(shape)


def hidden(*positions):
    """A mask of keys (2, 3) that hides ``positions``."""
    mask = np.zeros((2, 3), bool)
    for p in positions:
        mask[p] = True
    return tocha.tensor(mask)


# name -> the layer, made from a seed, and a call of it
LAYERS = {
    "Linear": (lambda nn: nn.Linear(3, 4), lambda m: m(numbers(2, 3))),
    "Bilinear": (lambda nn: nn.Bilinear(2, 3, 4), lambda m: m(numbers(5, 2), numbers(5, 3))),
    "Embedding": (lambda nn: nn.Embedding(5, 3, padding_idx=-1), lambda m: m(tocha.tensor([[1, 4], [0, 2]]))),
    "EmbeddingBag": (lambda nn: nn.EmbeddingBag(5, 3), lambda m: m(tocha.tensor([[1, 4], [0, 2]]))),
    "PReLU": (lambda nn: nn.PReLU(3), lambda m: m(numbers(2, 3))),
    "RNN": (lambda nn: nn.RNN(3, 2, 2, "relu", batch_first=True), lambda m: m(numbers(2, 4, 3))),
    "GRU": (lambda nn: nn.GRU(3, 2, 2, bidirectional=True, bias=False), lambda m: m(numbers(4, 2, 3))),
    "LSTM": (lambda nn: nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2), lambda m: m(numbers(4, 2, 3))),
    "LSTM unbatched": (lambda nn: nn.LSTM(3, 4), lambda m: m(numbers(4, 3), (numbers(1, 4), numbers(1, 4)))),
    "GRUCell": (lambda nn: nn.GRUCell(3, 2), lambda m: m(numbers(2, 3), numbers(2, 2))),
    "LSTMCell": (lambda nn: nn.LSTMCell(3, 2), lambda m: m(numbers(3))),
    "MultiheadAttention": (lambda nn: nn.MultiheadAttention(4, 2), lambda m: m(*[numbers(3, 2, 4)] * 3)),
    "MultiheadAttention extras": (
        lambda nn: nn.MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True, kdim=3, vdim=5, batch_first=True),
        lambda m: m(numbers(2, 2, 4), numbers(2, 3, 3), numbers(2, 3, 5), key_padding_mask=hidden((0, 1), (1, 2))),
    ),
    "TransformerEncoder": (
        lambda nn: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(4, 2, 6, 0.0, "gelu", batch_first=True, norm_first=True), 2, nn.LayerNorm(4),
            enable_nested_tensor=False,
        ),
        lambda m: m(numbers(2, 3, 4), src_key_padding_mask=hidden((1, 2))),
    ),
    "Transformer": (
        lambda nn: nn.Transformer(4, 2, 1, 1, 6, 0.0, batch_first=True),
        lambda m: m(numbers(2, 3, 4), numbers(2, 3, 4, start=1.0), tgt_mask=m.generate_square_subsequent_mask(3)),
    ),
    "AdaptiveLogSoftmaxWithLoss": (
        lambda nn: nn.AdaptiveLogSoftmaxWithLoss(4, 8, [2, 5], 2.0),
        lambda m: (m(numbers(3, 4), tocha.tensor([1, 4, 7])), m.log_prob(numbers(3, 4)), m.predict(numbers(3, 4))),
    ),
}  # fmt: skip

# name -> a function that draws random numbers
DRAWS = {
    "dropout": lambda F: F.dropout(tocha.ones(3, 7), 0.3),
    "dropout transposed": lambda F: F.dropout(numbers(3, 7).t(), 0.3),
    "dropout1d": lambda F: F.dropout1d(tocha.ones(5, 3), 0.4),
    "dropout2d": lambda F: F.dropout2d(tocha.ones(2, 5, 2, 2), 0.4),
    "dropout3d": lambda F: F.dropout3d(tocha.ones(2, 3, 2, 1, 2), 0.4),
    "alpha_dropout": lambda F: F.alpha_dropout(numbers(3, 7), 0.3, True),
    "feature_alpha_dropout": lambda F: F.feature_alpha_dropout(numbers(2, 5, 2), 0.3, True),
    "rrelu": lambda F: F.rrelu(numbers(3, 7), training=True),
    "gumbel_softmax": lambda F: F.gumbel_softmax(numbers(3, 4), tau=0.7),
    "gumbel_softmax hard": lambda F: F.gumbel_softmax(numbers(3, 4), hard=True),
    "attention": lambda F: F.scaled_dot_product_attention(*[numbers(1, 2, 3, 4)] * 3, dropout_p=0.4),
    "TransformerEncoderLayer": lambda F: (
        tocha.nn.TransformerEncoderLayer(4, 2, 6, 0.3, batch_first=True)(numbers(2, 3, 4)).detach()
    ),
    "LSTM": lambda F: tocha.nn.LSTM(3, 2, 2, dropout=0.4, batch_first=True)(numbers(2, 4, 3))[0].detach(),
}
