"""Programs that exporters get wrong: each is verified at several sizes on export, and its model is looked at."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import tocha
from tocha import nn
from tocha.nn import functional as F

BATCH = {0: "batch"}


def export(fn, *args, **options):
    return tocha.onnx.export(fn, args, **options)


def run(program, *args):
    return [out.numpy() for out in program(*args)]


def ops(program):
    return [node.op_type for node in program.model.graph.node]


def shapes(values):
    return [[d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim] for v in values]


def test_an_example_of_one_does_not_fix_the_batch():
    program = export(lambda x: x.reshape(x.shape[0], -1).sum(1), tocha.randn(1, 2, 3), dynamic_shapes=(BATCH,))
    assert shapes(program.model.graph.input) == [["batch", 2, 3]]
    assert shapes(program.model.graph.output) == [["batch"]]
    assert list(program.differences) == ["batch=1", "batch=5", "batch=7"]
    assert run(program, tocha.ones(7, 2, 3))[0].tolist() == [6.0] * 7


def test_a_branch_on_a_size_is_a_guard_with_its_line():
    def grown(x):
        if x.shape[1] > 8:
            return x * 2
        return x

    program = export(grown, tocha.randn(2, 10), dynamic_shapes=({0: "batch", 1: "length"},))
    (guard,) = program.guards
    assert guard.startswith("length > 8") and "test_special_cases.py" in guard and "in grown" in guard
    assert guard.split("  (")[0] in program.report()
    assert all(result.sizes["length"] > 8 for result in program.verification)


def test_a_program_for_one_size_only_is_refused_with_its_line():
    def fixed(x):
        return x if x.shape[0] == 4 else x * 2

    with pytest.raises(RuntimeError, match=r"batch == 4.*test_special_cases.py:\d+ in fixed"):
        export(fixed, tocha.randn(4, 2), dynamic_shapes=(BATCH,))
    with pytest.raises(RuntimeError, match="declared dynamic"):
        export(lambda x: x * int(x.shape[0]), tocha.randn(4, 2), dynamic_shapes=(BATCH,))


def test_the_same_tensor_twice_stays_two_inputs():
    x = tocha.randn(3)
    program = export(lambda a, b: a - b, x, x)
    assert program.input_names == ["a", "b"]
    assert run(program, tocha.tensor([3.0, 2.0, 1.0]), tocha.ones(3))[0].tolist() == [2.0, 1.0, 0.0]


def test_an_unused_input_stays():
    program = export(lambda used, unused: used * 2, tocha.ones(3), tocha.ones(2))
    assert [value.name for value in program.model.graph.input] == ["used", "unused"]


def test_a_write_to_a_view_reaches_its_base():
    def write(x):
        y = x[:, 1:]
        y.mul_(2)
        return x

    program = export(write, tocha.randn(2, 3), dynamic_shapes=(BATCH,))
    assert run(program, tocha.ones(1, 3))[0].tolist() == [[1.0, 2.0, 2.0]]


@pytest.mark.parametrize("write", [
    lambda y: y.__setitem__((slice(None), 1), 5.0),
    lambda y: y[0].add_(1),
    lambda y: y.t()[2, ::2].fill_(7.0),
    lambda y: y.view(-1)[1:4].mul_(3),
    lambda y: y[:, -1].zero_(),
    lambda y: y.diagonal().fill_(2.0),
    lambda y: y[1:, ::2][:, 1].sub_(4),
    lambda y: y.__setitem__(y > 1, -1.0),
], ids=["column", "row", "transposed steps", "flat", "last", "diagonal", "nested", "mask"])  # fmt: skip
def test_writes_through_views(write):
    def program(x):
        y = x.clone()
        write(y)
        return y, x

    made = export(program, tocha.arange(12.0).view(3, 4))
    given = tocha.arange(12.0, 0.0, -1.0).view(3, 4)
    expected = program(given)
    for e, g in zip(expected, made(given)):
        np.testing.assert_array_equal(e.numpy(), g.numpy())


def test_tied_weights_are_one_array():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Parameter(tocha.randn(7, 4))
            self.head = self.table

        def forward(self, ids):
            return F.linear(F.embedding(ids, self.table), self.head)

    program = export(Tied().eval(), tocha.tensor([[1, 2, 6]]), dynamic_shapes=({0: "batch", 1: "length"},))
    arrays = [array.name for array in program.model.graph.initializer if len(array.dims) == 2]
    assert arrays == ["table"]


def test_exporting_twice_to_one_path_gives_the_same_file(tmp_path):
    path = tmp_path / "model.onnx"
    files = []
    for _ in range(2):
        export(lambda x: x + tocha.ones(2000), tocha.ones(2000), path=path, external_data=True)
        files.append((path.read_bytes(), (tmp_path / "model.onnx.data").read_bytes()))
    assert files[0] == files[1]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.onnx", "model.onnx.data"]


def test_floor_division_of_negative_integers():
    def divisions(x, y):
        return x // y, x % y, tocha.div(x, y, rounding_mode="trunc"), tocha.fmod(x, y)

    x, y = tocha.tensor([-7, 7, -7, 7, -6, 0]), tocha.tensor([3, -3, -3, 3, 3, 5])
    program = export(divisions, x, y)
    got = run(program, x, y)
    assert got[0].tolist() == [-3, -3, 2, 2, -2, 0]
    assert got[1].tolist() == [2, -2, -1, 1, 0, 0]
    assert got[2].tolist() == [-2, -2, 2, 2, -2, 0]
    assert got[3].tolist() == [-1, 1, -1, 1, 0, 0]


def test_powers_of_large_integers_keep_their_digits():
    x = tocha.tensor([3037000499, -3, 2, 7])
    program = export(lambda x: (x**2, x**0, x ** tocha.tensor([1, 3, 5, 2])), x)
    assert run(program, x)[0].tolist() == [3037000499**2, 9, 4, 49]


def test_circular_padding():
    program = export(
        lambda x: F.pad(x, (2, 1), mode="circular"), tocha.randn(1, 2, 5), dynamic_shapes=({0: "n", 2: "t"},)
    )
    assert run(program, tocha.arange(4.0).view(1, 1, 4).expand(1, 2, 4))[0][0, 0].tolist() == [2, 3, 0, 1, 2, 3, 0]


def test_a_mask_built_from_lengths():
    def masked(x, lengths):
        return x.masked_fill(tocha.arange(x.shape[1])[None] >= lengths[:, None], -1.0)

    program = export(masked, tocha.randn(3, 4), tocha.tensor([1, 4, 2]), dynamic_shapes=({0: "n", 1: "t"}, {0: "n"}))
    assert run(program, tocha.ones(2, 3), tocha.tensor([1, 2]))[0].tolist() == [[1, -1, -1], [1, 1, -1]]


def test_arange_of_a_size():
    program = export(lambda x: tocha.arange(x.shape[1]), tocha.randn(1, 4), dynamic_shapes=({1: "t"},))
    assert "Range" in ops(program)
    assert run(program, tocha.ones(1, 6))[0].tolist() == [0, 1, 2, 3, 4, 5]


def test_advanced_indexing_with_a_dynamic_batch():
    def pick(x, columns):
        rows = tocha.arange(x.shape[0])
        return x[rows, columns], x[:, [0, -1]], x[rows[:, None], columns[None]]

    program = export(pick, tocha.randn(3, 5), tocha.tensor([4, 0, 1]), dynamic_shapes=(BATCH, BATCH))
    x = tocha.arange(10.0).view(2, 5)
    got = run(program, x, tocha.tensor([1, -1]))
    assert got[0].tolist() == [1.0, 9.0] and got[1].tolist() == [[0.0, 4.0], [5.0, 9.0]]


def test_boolean_indexing_has_a_size_of_its_own():
    program = export(lambda x: (x[x > 0], x.nonzero()), tocha.tensor([1.0, -1.0, 2.0]), dynamic_shapes=({0: "n"},))
    assert shapes(program.model.graph.output) == [["u0"], ["u1", 1]]
    got = run(program, tocha.tensor([-1.0, 0.0, 3.0, 4.0]))
    assert got[0].tolist() == [3.0, 4.0] and got[1].tolist() == [[0], [2], [3]]


def test_einsum():
    program = export(lambda x, y: tocha.einsum("bij,bjk->bik", x, y), tocha.randn(2, 3, 4), tocha.randn(2, 4, 5),
                     dynamic_shapes=(BATCH, BATCH))  # fmt: skip
    assert ops(program) == ["MatMul"]


def test_a_model_in_train_mode_is_exported_in_eval_mode_with_a_warning():
    class Random(nn.Module):
        def forward(self, x):
            assert not self.training
            return F.dropout(x, 0.5, self.training)

    model = Random()
    with pytest.warns(UserWarning, match="training mode"):
        program = export(model, tocha.ones(100))
    assert model.training
    assert run(program, tocha.ones(100))[0].tolist() == [1.0] * 100


def test_random_numbers_are_refused():
    with pytest.raises(tocha.onnx.UnsupportedOperatorError, match=r"random.*test_special_cases.py:\d+.*draws random"):
        export(lambda x: x + tocha.randn(3), tocha.ones(3))


def test_a_branch_on_values_is_refused_with_its_line():
    def loop(x):
        while x.sum() < 10:
            x = x * 2
        return x

    with pytest.raises(RuntimeError, match=r"test_special_cases.py:\d+ in loop.*where"):
        export(loop, tocha.ones(3))


def test_an_operator_without_an_onnx_form_is_refused_with_reason_module_and_line():
    class Special(nn.Module):
        def forward(self, x):
            return tocha.nextafter(x, x + 1)

    with pytest.raises(
        tocha.onnx.UnsupportedOperatorError, match=r"nextafter.*'inner'.*test_special_cases.py:\d+.*bits"
    ):
        export(_Outer(Special()), tocha.ones(3))


class _Outer(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.eval()

    def forward(self, x):
        return self.inner(x)


@dataclasses.dataclass
class Batch:
    image: tocha.Tensor
    extra: tuple


def test_nested_inputs_and_outputs_have_predictable_names():
    class Nested(nn.Module):
        def forward(self, batch, options, scale=2.0):
            total = batch.image + batch.extra[1]
            return {"sum": total * scale, "parts": [batch.extra[0], options["mask"]]}

    args = (Batch(tocha.ones(2, 3), (tocha.zeros(2, 3), tocha.ones(3))), {"mask": tocha.ones(4), "flag": True})
    program = tocha.onnx.export(
        Nested().eval(), args, dynamic_shapes={"batch": {"image": BATCH, "extra": (BATCH, None)}}
    )
    assert program.input_names == ["batch_image", "batch_extra_0", "batch_extra_1", "options_mask"]
    assert program.output_names == ["sum", "parts_0", "parts_1"]
    assert shapes(program.model.graph.input)[:2] == [["batch", 3], ["batch", 3]]


def test_a_buffer_that_forward_writes_to_is_itself_again():
    class Cache(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", tocha.zeros(3))

        def forward(self, x):
            self.seen += x
            return self.seen * 2

    model = Cache().eval()
    program = export(model, tocha.ones(3))
    assert model.seen.tolist() == [0.0, 0.0, 0.0]
    assert run(program, tocha.ones(3))[0].tolist() == [2.0, 2.0, 2.0]


def test_squeeze_of_a_dynamic_size_is_not_believed_at_one():
    with pytest.raises(tocha.onnx.VerificationError, match="(?s)batch=1.*min=2") as caught:
        export(lambda x: x.squeeze(), tocha.randn(3, 4), dynamic_shapes=(BATCH,))
    assert (caught.value.reproducer / "model.onnx").exists()
    dim = tocha.onnx.Dim("batch", min=2)
    program = export(lambda x: x.squeeze(), tocha.randn(3, 4), dynamic_shapes=({0: dim},))
    assert all(result.sizes["batch"] >= 2 for result in program.verification)


def test_preprocessing_in_the_graph():
    def program(image):
        x = (image.float() / 255 - 0.5) / 0.25
        return x.permute(0, 3, 1, 2), F.one_hot(x.mean((1, 2)).argmax(-1), 3)

    made = export(program, tocha.randint(0, 256, (2, 4, 4, 3), dtype=tocha.uint8), dynamic_shapes=(BATCH,))
    assert shapes(made.model.graph.output) == [["batch", 3, 4, 4], ["batch", 3]]
