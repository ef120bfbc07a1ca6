from pathlib import Path

import numpy as np
import pytest

import tocha
from tocha.nn import functional as F
from tocha_text import CharTokenizer, LanguageModelingDataset
from tocha_text.models import GPT, GPTConfig

REFERENCE = np.load(Path(__file__).parent / "reference" / "gpt.npz", allow_pickle=False)
SIZES = {"vocab_size": 11, "block_size": 7, "n_layer": 2, "n_head": 2, "n_embd": 8}


def reference_model():
    model = GPT(GPTConfig(**SIZES, dropout=0.0))
    weights = {key[7:]: tocha.from_numpy(REFERENCE[key].copy()) for key in REFERENCE.files if key.startswith("weight ")}
    model.load_state_dict({**weights, "lm_head.weight": weights["transformer.wte.weight"]})
    return model, tocha.from_numpy(REFERENCE["ids"].copy())


def test_logits_loss_and_gradients_equal_the_reference():
    model, ids = reference_model()
    logits = model(ids)
    np.testing.assert_allclose(logits.detach().numpy(), REFERENCE["logits"], rtol=1e-4, atol=1e-5)
    loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
    assert loss.item() == pytest.approx(float(REFERENCE["loss"]), rel=1e-5)
    loss.backward()
    gradients = {name: parameter.grad.numpy() for name, parameter in model.named_parameters()}
    assert {f"grad {name}" for name in gradients} == {key for key in REFERENCE.files if key.startswith("grad ")}
    for name, gradient in gradients.items():
        np.testing.assert_allclose(gradient, REFERENCE[f"grad {name}"], rtol=1e-3, atol=2e-5, err_msg=name)


def test_the_smallest_gpt2_has_124_million_parameters():
    config = GPTConfig()
    layer = 12 * config.n_embd**2 + 13 * config.n_embd
    small = GPT(GPTConfig(n_layer=1, block_size=1024, dropout=0.0))
    counted = sum(parameter.numel() for parameter in small.parameters())
    assert counted + 11 * layer == 124439808


def test_tied_weights_are_one_tensor_and_untied_are_two():
    tied, untied = GPT(GPTConfig(**SIZES)), GPT(GPTConfig(**SIZES, tie_weights=False))
    assert tied.lm_head.weight is tied.transformer["wte"].weight
    assert untied.lm_head.weight is not untied.transformer["wte"].weight
    assert len(list(untied.parameters())) == len(list(tied.parameters())) + 1
    assert list(tied.state_dict()) == list(untied.state_dict())


def test_no_biases():
    names = [name for name, _ in GPT(GPTConfig(**SIZES, bias=False)).named_parameters()]
    assert names and not any(name.endswith("bias") for name in names)


def test_later_tokens_do_not_change_earlier_logits():
    model, ids = reference_model()
    changed = ids.clone()
    changed[:, 4:] = (changed[:, 4:] + 1) % 11
    before, after = model(ids), model(changed)
    assert tocha.allclose(before[:, :4], after[:, :4], atol=1e-6)
    assert not tocha.allclose(before[:, 4:], after[:, 4:], atol=1e-2)


@pytest.mark.parametrize("cuts", [(1,), (3,), (2, 5), (1, 2, 3, 4, 5, 6)])
def test_the_cache_gives_the_same_logits(cuts):
    model, ids = reference_model()
    parts, past = [], None
    for start, stop in zip((0, *cuts), (*cuts, 7)):
        logits, past = model(ids[:, start:stop], past, use_cache=True)
        parts.append(logits)
    assert past[0][0].shape == (3, 2, 7, 4) and len(past) == 2
    assert tocha.allclose(tocha.cat(parts, 1), model(ids), atol=1e-5)


def test_generation_equals_repeated_argmax_beyond_the_context():
    model, ids = reference_model()
    expected = ids[:, :3]
    for _ in range(12):
        best = model(expected[:, -7:])[:, -1].argmax(-1, keepdim=True)
        expected = tocha.cat((expected, best), 1)
    assert tocha.equal(model.generate(ids[:, :3], 12, temperature=0), expected)
    assert tocha.equal(model.generate(ids, 0), ids)


def test_generation_is_reproducible_leaves_the_mode_and_makes_no_graph():
    model = GPT(GPTConfig(**SIZES, dropout=0.5))
    ids = tocha.zeros(2, 1, dtype=tocha.int64)
    first, second = (model.generate(ids, 9, 0.9, 8, 0.95, tocha.Generator().manual_seed(1)) for _ in range(2))
    assert tocha.equal(first, second) and first.shape == (2, 10) and 0 <= first.min() and first.max() < 11
    assert model.training and not first.requires_grad
    assert not model.eval().generate(ids, 1).requires_grad and not model.training


def test_too_many_tokens_and_wrong_sizes():
    model = GPT(GPTConfig(**SIZES))
    with pytest.raises(ValueError, match="at most block_size = 7 tokens, got 8"):
        model(tocha.zeros(1, 8, dtype=tocha.int64))
    for wrong in ({"n_embd": 9}, {"n_head": 0}, {"block_size": -1}):
        with pytest.raises(ValueError, match="expected"):
            GPTConfig(**{**SIZES, **wrong})


def test_initial_weights():
    tocha.manual_seed(0)
    model = GPT(GPTConfig(vocab_size=50, block_size=32, n_layer=8, n_head=4, n_embd=64))
    block = model.transformer["h"][3]
    assert float(block.attn.c_attn.weight.detach().std()) == pytest.approx(0.02, rel=0.05)
    assert float(block.mlp.c_proj.weight.detach().std()) == pytest.approx(0.02 / 4, rel=0.05)
    assert float(block.attn.c_attn.bias.detach().abs().max()) == 0
    assert float(model.transformer["wte"].weight.detach().std()) == pytest.approx(0.02, rel=0.1)


def test_it_learns_a_text_by_heart():
    text = "the quick brown fox jumps over the lazy dog.\n" * 12
    tokenizer = CharTokenizer.train(text)
    dataset = LanguageModelingDataset(text, tokenizer, block_size=16, stride=1)
    tocha.manual_seed(0)
    model = GPT(GPTConfig(tokenizer.vocab_size, block_size=16, n_layer=1, n_head=2, n_embd=32, dropout=0.0))
    optimizer = tocha.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(4):
        for x, y in tocha.utils.data.DataLoader(dataset, batch_size=32, shuffle=True):
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert losses[0] == pytest.approx(np.log(tokenizer.vocab_size), rel=0.05) and losses[-1] < 0.4
    prompt = tocha.tensor([tokenizer.encode("the quick brown ")])
    assert (
        tokenizer.decode(model.generate(prompt, 27, temperature=0)[0])
        == "the quick brown fox jumps over the lazy dog"[:43]
    )
