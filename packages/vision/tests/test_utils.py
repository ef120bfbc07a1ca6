import io

import numpy as np
import pytest
from PIL import Image

import tocha
from tocha_vision.utils import make_grid, save_image

IMAGES = tocha.arange(5 * 3 * 4 * 6, dtype=tocha.float32).reshape(5, 3, 4, 6) / 359


def test_grid_has_the_images_in_reading_order():
    grid = make_grid(IMAGES, nrow=2, padding=1, pad_value=0.5)
    assert grid.shape == (3, 3 * 5 + 1, 2 * 7 + 1)
    assert tocha.equal(grid[:, 6:10, 8:14], IMAGES[3])
    assert (grid[:, 11:, 8:] == 0.5).all() and (grid[:, 0] == 0.5).all()


def test_grid_does_not_change_its_input_and_needs_tensors():
    before = IMAGES.clone()
    make_grid(IMAGES, normalize=True, scale_each=True, value_range=(0.2, 0.4))
    assert tocha.equal(IMAGES, before)
    for wrong in ("image", [1, 2], None):
        with pytest.raises(TypeError, match="tensor or list of tensors expected"):
            make_grid(wrong)
    with pytest.raises(TypeError, match="value_range has to be a tuple"):
        make_grid(IMAGES, normalize=True, value_range=[0, 1])


def test_grid_of_tensors_that_require_gradients():
    assert not make_grid(IMAGES.clone().requires_grad_()).requires_grad


def test_saved_image_reads_back(tmp_path):
    save_image(IMAGES, tmp_path / "grid.png", nrow=5, padding=0)
    pixels = np.asarray(Image.open(tmp_path / "grid.png"))
    expected = np.concatenate(list(IMAGES.numpy()), 2).transpose(1, 2, 0)
    np.testing.assert_array_equal(pixels, (expected * 255 + 0.5).astype(np.uint8))
    assert [path.name for path in tmp_path.iterdir()] == ["grid.png"]


def test_saved_to_a_file_object_in_a_named_format():
    file = io.BytesIO()
    save_image(IMAGES[0], file, "bmp")
    assert Image.open(io.BytesIO(file.getvalue())).format == "BMP"


def test_a_failed_save_leaves_the_old_file(tmp_path):
    target = tmp_path / "grid.unknown"
    target.write_text("old")
    with pytest.raises(ValueError, match="unknown file extension"):
        save_image(IMAGES, target)
    assert target.read_text() == "old" and len(list(tmp_path.iterdir())) == 1
