"""``tocha.testing``: what passes, what fails and in which words, and the tensors that it makes."""

import numpy as np
import pytest

import tocha
from tocha.testing import assert_allclose, assert_close, make_tensor

t = tocha.tensor


@pytest.mark.parametrize(("actual", "expected", "options"), [
    (t([1.0, 2.0]), t([1.0, 2.0 + 1e-6]), {}), (1, 1.0, {"check_dtype": False}), (None, None, {}),
    (t(float("nan")), t(float("nan")), {"equal_nan": True}), ([t(1), {"a": 2.0}], [t(1), {"a": 2.0}], {}),
    (t([]), t([]), {}), (np.ones(2), np.ones(2), {}), (t([1.0]), t([1.2]), {"rtol": 0.5, "atol": 0}),
    (tocha.zeros(2, device="meta"), tocha.zeros(2, device="meta"), {}),
])  # fmt: skip
def test_passes(actual, expected, options):
    assert assert_close(actual, expected, **options) is None


@pytest.mark.parametrize(("actual", "expected", "error", "text"), [
    (t([1.0, 2, 3]), t([1.0, 2, 4]), AssertionError,
     "Tensor-likes are not close!\n\nMismatched elements: 1 / 3 (33.3%)\n"
     "Greatest absolute difference: 1.0 at index (2,) (up to 1e-05 allowed)\n"
     "Greatest relative difference: 0.25 at index (2,) (up to 1.3e-06 allowed)"),
    (t([1, 2]), t([1, 4]), AssertionError,
     "Tensor-likes are not equal!\n\nMismatched elements: 1 / 2 (50.0%)\n"
     "Greatest absolute difference: 2 at index (1,)\nGreatest relative difference: 0.5 at index (1,)"),
    ({"a": [1.0, 3.0]}, {"a": [1.0, 2.0]}, AssertionError,
     "Scalars are not close!\n\nExpected 2.0 but got 3.0.\nAbsolute difference: 1.0 (up to 1e-07 allowed)\n"
     "Relative difference: 0.5 (up to 1e-07 allowed)\n\nThe failure occurred for item ['a'][1]"),
    (t([1.0]), t([1.0, 2.0]), AssertionError,
     "The values for attribute 'shape' do not match: tocha.Size([1]) != tocha.Size([2])."),
    (t(1.0), t(1.0, dtype=tocha.float64), AssertionError,
     "The values for attribute 'dtype' do not match: tocha.float32 != tocha.float64."),
    ([1], [1, 2], AssertionError, "The length of the sequences mismatch: 1 != 2"),
    ({"a": 1}, {"b": 1}, AssertionError, "The keys of the mappings do not match:\nMissing keys in the actual mapping: "
     "['b']\nAdditional keys in the actual mapping: ['a']"),
    (True, False, AssertionError, "Booleans mismatch: True is not False"),
    ("a", "b", TypeError,
     "No comparison pair was able to handle inputs of type <class 'str'> and <class 'str'>."),
])  # fmt: skip
def test_failures_in_pytorchs_words(actual, expected, error, text):
    with pytest.raises(error) as caught:
        assert_close(actual, expected)
    assert str(caught.value) == text


def test_messages_and_tolerances_can_be_given():
    with pytest.raises(AssertionError, match="^mine$"):
        assert_close(t(1.0), t(2.0), msg="mine")
    with pytest.raises(AssertionError, match="^before: Scalars"):
        assert_close(t(1.0), t(2.0), msg=lambda text: "before: " + text)
    with pytest.raises(ValueError, match="but got no atol"):
        assert_close(t(1.0), t(2.0), rtol=1.0)
    with pytest.warns(FutureWarning, match="deprecated"):
        assert_allclose(t(1.0), 1.0)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "complex64", "int64", "uint8", "bool"])
def test_made_tensors_lie_in_their_interval(dtype):
    tocha.manual_seed(0)
    made = make_tensor((40, 3), dtype=getattr(tocha, dtype), device="cpu", low=0, high=2)
    values = tocha.view_as_real(made) if dtype == "complex64" else made.double()
    assert made.dtype.name == dtype
    assert values.min() >= 0 and values.max() <= 2
    assert values.unique().numel() >= 2


def test_made_tensors_options():
    made = make_tensor(3, 4, dtype=tocha.float32, device="cpu", requires_grad=True, noncontiguous=True)
    assert made.shape == (3, 4) and made.requires_grad and not made.is_contiguous()
    assert (make_tensor((50,), dtype=tocha.int64, device="cpu", low=-1, high=2, exclude_zero=True) != 0).all()
    with pytest.raises(ValueError, match="must be less than"):
        make_tensor((2,), dtype=tocha.int64, device="cpu", low=3, high=1)
