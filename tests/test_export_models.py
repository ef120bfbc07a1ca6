"""Models of tocha-vision and tocha-text leave as ONNX files that onnxruntime runs with the same results."""

from __future__ import annotations

import pytest

import tocha


@pytest.fixture(autouse=True)
def seed():
    tocha.manual_seed(0)


def sizes_tried(program, name):
    return {result.sizes[name] for result in program.verification if result.skipped is None}


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2"])
def test_image_models_with_a_dynamic_batch(name, tmp_path):
    from tocha_vision import models

    model = getattr(models, name)().eval()
    path = tmp_path / f"{name}.onnx"
    program = tocha.onnx.export(model, (tocha.randn(2, 3, 32, 32),), path, dynamic_shapes=({0: "batch"},))
    assert sizes_tried(program, "batch") == {1, 2, 5}
    assert max(program.differences.values()) < 1e-3 and path.stat().st_size > program.nbytes
    kinds = {node.op_type for node in program.model.graph.node}
    assert {"Conv", "BatchNormalization", "Gemm"} <= kinds


def test_an_image_model_with_images_of_any_size():
    from tocha_vision import models

    dynamic = {0: "batch", 2: "height", 3: "width"}
    program = tocha.onnx.export(models.resnet18().eval(), (tocha.randn(1, 3, 40, 32),), dynamic_shapes=(dynamic,))
    assert len(sizes_tried(program, "height")) >= 3


def small_gpt():
    from tocha_text.models import GPT, GPTConfig

    return GPT(GPTConfig(vocab_size=50, block_size=32, n_layer=2, n_head=2, n_embd=16)).eval()


def test_gpt_with_a_dynamic_batch_and_length():
    ids = tocha.randint(0, 50, (2, 7))
    program = tocha.onnx.export(small_gpt(), (ids,), dynamic_shapes=({0: "batch", 1: "tokens"},))
    assert sizes_tried(program, "tokens") == {1, 7, 11}
    (guard,) = program.guards
    assert guard.startswith("tokens <= 32")
    tables = [array.name for array in program.model.graph.initializer if array.dims == [50, 16]]
    assert tables == ["transformer.wte.weight"]  # the head is the same array


def test_gpt_with_its_cache_as_inputs_and_outputs():
    model = small_gpt()

    class Step(tocha.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, ids, past):
            return self.model(ids, past, use_cache=True)

    past = [(tocha.randn(2, 2, 5, 8), tocha.randn(2, 2, 5, 8)) for _ in range(2)]
    cache = {0: "batch", 2: "seen"}
    dynamic = {"ids": {0: "batch"}, "past": [(cache, cache), (cache, cache)]}
    program = tocha.onnx.export(Step().eval(), (tocha.randint(0, 50, (2, 1)), past), dynamic_shapes=dynamic)
    assert program.input_names == ["ids", "past_0_0", "past_0_1", "past_1_0", "past_1_1"]
    assert len(program.output_names) == 5
    ids = tocha.randint(0, 50, (1, 4))
    with tocha.no_grad():
        whole = model(ids)
        logits, kept = model(ids[:, :3], use_cache=True)
    step = program(ids[:, 3:], list(kept))
    assert (step[0] - whole[:, 3:]).abs().max().item() < 1e-5
