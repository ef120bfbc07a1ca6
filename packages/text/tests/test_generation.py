import math

import pytest

import tocha
from tocha_text.models import sample

LOGITS = tocha.tensor([[0.5, 0.2, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]]).log()


def drawn(**options):
    tocha.manual_seed(0)
    draws = tocha.cat([sample(LOGITS, **options) for _ in range(400)], 1)
    return [{int(i): row.tolist().count(i) / 400 for i in set(row.tolist())} for row in draws]


def test_shares_follow_the_probabilities():
    first, second = drawn()
    assert all(abs(first[i] - p) < 0.07 for i, p in enumerate((0.5, 0.2, 0.2, 0.1)))
    assert all(abs(second[i] - p) < 0.07 for i, p in enumerate((0.1, 0.2, 0.3, 0.4)))


def test_temperature():
    assert drawn(temperature=0) == [{0: 1.0}, {3: 1.0}]
    assert drawn(temperature=0.01)[1] == {3: 1.0}
    assert all(0.18 < share < 0.32 for share in drawn(temperature=50.0)[0].values())


def test_top_k_keeps_ties():
    assert set(drawn(top_k=1)[0]) == {0} and set(drawn(top_k=2)[0]) == {0, 1, 2}
    assert set(drawn(top_k=2)[1]) == {2, 3} and set(drawn(top_k=99)[1]) == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("top_p", "kept"), [(0.1, {3}), (0.39, {3}), (0.5, {2, 3}), (0.85, {1, 2, 3}), (1.0, {0, 1, 2, 3})]
)
def test_top_p_keeps_the_fewest_that_suffice(top_p, kept):
    assert set(drawn(top_p=top_p)[1]) == kept


def test_top_p_comes_after_top_k():
    assert set(drawn(top_k=3, top_p=0.9)[1]) == {1, 2, 3}
    assert set(drawn(top_k=2, top_p=0.5)[1]) == {3}


def test_the_generator_decides():
    one, two = (
        [int(sample(LOGITS[:1], generator=generator)) for _ in range(20)]
        for generator in (tocha.Generator().manual_seed(5), tocha.Generator().manual_seed(5))
    )
    assert one == two and len(set(one)) > 1


def test_impossible_tokens_are_never_drawn():
    logits = tocha.tensor([[0.0, -math.inf, 0.0]])
    assert all(int(sample(logits, top_p=0.99)) != 1 for _ in range(50))


@pytest.mark.parametrize(
    ("options", "message"),
    [({"temperature": -1}, "temperature"), ({"top_k": 0}, "top_k"), ({"top_p": 0}, "top_p"), ({"top_p": 1.5}, "top_p")],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=f"expected a {message}"):
        sample(LOGITS, **options)
