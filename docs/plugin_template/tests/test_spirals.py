import pytest
from tocha_spirals import Spirals

import tocha


def test_arms_reach_the_unit_circle():
    data = Spirals(classes=3, points=40, noise=0.0)
    radius = data.data.square().sum(1).sqrt()
    assert radius.reshape(3, 40).amax(1).tolist() == pytest.approx([1.0] * 3)
    assert data.targets.tolist() == [0] * 40 + [1] * 40 + [2] * 40


def test_the_seed_decides():
    assert Spirals(seed=1).data.equal(Spirals(seed=1).data)
    assert not Spirals(seed=1).data.equal(Spirals(seed=2).data)


def test_it_is_found_by_name():
    assert tocha.plugins.get("datasets", "Spirals") is Spirals


def test_bad_sizes_are_refused():
    with pytest.raises(ValueError, match="expected classes of at least 1"):
        Spirals(classes=0)
