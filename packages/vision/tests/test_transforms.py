import math
import random

import numpy as np
import pytest
from PIL import Image

import tocha
from tocha_vision import transforms as T
from tocha_vision.transforms import functional as F

RGB = Image.fromarray(np.arange(8 * 6 * 3, dtype=np.uint8).reshape(8, 6, 3))
TENSOR = tocha.arange(8 * 6 * 3, dtype=tocha.float32).reshape(3, 8, 6) / 144


@pytest.mark.parametrize(
    ("transform", "expected"),
    [
        (T.ToPILImage("RGB"), "ToPILImage(mode=RGB)"),
        (T.ConvertImageDtype(tocha.float32), "ConvertImageDtype()"),
        (T.Normalize((0.5,), (0.25,)), "Normalize(mean=(0.5,), std=(0.25,))"),
        (T.Resize((4, 5)), "Resize(size=(4, 5), interpolation=bilinear, max_size=None, antialias=True)"),
        (T.Pad((1, 2), fill=3), "Pad(padding=(1, 2), fill=3, padding_mode=constant)"),
        (T.RandomApply([T.CenterCrop(3)]), "RandomApply(\n    p=0.5\n    CenterCrop(size=(3, 3))\n)"),
        (T.RandomOrder([T.Lambda(abs)]), "RandomOrder(\n    Lambda()\n)"),
        (T.RandomChoice([T.ToTensor()]), "RandomChoice(\n    ToTensor()\n)(p=None)"),
        (T.RandomCrop(4, padding=2), "RandomCrop(size=(4, 4), padding=2)"),
        (
            T.RandomResizedCrop(8),
            "RandomResizedCrop(size=(8, 8), scale=(0.08, 1.0), ratio=(0.75, 1.3333), interpolation=bilinear, "
            "antialias=True)",
        ),
        (T.TenCrop(3), "TenCrop(size=(3, 3), vertical_flip=False)"),
        (
            T.ColorJitter(0.1, 0, (0.5, 1.5), 0.1),
            "ColorJitter(brightness=(0.9, 1.1), contrast=None, saturation=(0.5, 1.5), hue=(-0.1, 0.1))",
        ),
        (
            T.RandomRotation((-5, 3), expand=True, center=(1, 2), fill=3),
            "RandomRotation(degrees=[-5.0, 3.0], interpolation=nearest, expand=True, center=(1, 2), fill=3)",
        ),
        (
            T.RandomAffine((1, 2), (0.1, 0.2), (0.9, 1.1), (1, 2, 3, 4), center=(3, 4), fill=2),
            "RandomAffine(degrees=[1.0, 2.0], translate=(0.1, 0.2), scale=(0.9, 1.1), shear=[1.0, 2.0, 3.0, 4.0], "
            "fill=2, center=(3, 4))",
        ),
        (T.RandomErasing(), "RandomErasing(p=0.5, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=0, inplace=False)"),
    ],
)
def test_representations_are_torchvisions(transform, expected):
    assert repr(transform) == expected


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: F.to_tensor([1, 2]), TypeError, "pic should be PIL Image or ndarray. Got <class 'list'>"),
        (lambda: F.to_tensor(np.zeros(3)), ValueError, "pic should be 2/3 dimensional. Got 1 dimensions."),
        (lambda: F.pil_to_tensor(TENSOR), TypeError, "pic should be PIL Image. Got"),
        (lambda: F.to_pil_image(7), TypeError, "pic should be Tensor or ndarray. Got <class 'int'>."),
        (lambda: F.to_pil_image(tocha.zeros(5)), ValueError, "pic should be 2/3 dimensional. Got 1 dimensions."),
        (lambda: F.to_pil_image(tocha.zeros(5, 2, 2)), ValueError, "pic should not have > 4 channels. Got 5 channels."),
        (lambda: F.to_pil_image(np.zeros((2, 2))), TypeError, "Input type float64 is not supported"),
        (lambda: F.to_pil_image(np.zeros((2, 2), np.uint8), "F"), ValueError, "Incorrect mode .* Should be L"),
        (lambda: F.to_pil_image(np.zeros((2, 2, 3), np.uint8), "CMYK"), ValueError, "Only modes .*RGB.* are supported"),
        (lambda: F.convert_image_dtype(TENSOR, tocha.int32), RuntimeError, "cannot be performed safely"),
        (lambda: F.convert_image_dtype(RGB), TypeError, "Input img should be Tensor Image"),
        (lambda: F.normalize(TENSOR.to(tocha.uint8), [0], [1]), TypeError, "a float tensor. Got tocha.uint8."),
        (lambda: F.normalize(TENSOR[0], [0], [1]), ValueError, r"size \(..., C, H, W\)"),
        (lambda: F.normalize(TENSOR, [0, 0, 0], [1, 0, 1]), ValueError, "std evaluated to zero"),
        (lambda: F.normalize(RGB, [0], [1]), TypeError, "img should be Tensor Image"),
        (lambda: F.hflip("cat.png"), TypeError, "img should be PIL Image or Tensor Image. Got <class 'str'>"),
        (lambda: F.resize(RGB, "7"), TypeError, "Size should be int or sequence"),
        (lambda: F.resize(RGB, (1, 2, 3)), ValueError, "Size must be an int or a 1 or 2 element"),
        (lambda: F.resize(RGB, 5, max_size=5), ValueError, "max_size = 5 must be strictly greater"),
        (lambda: F.resize(RGB, (5, 5), max_size=9), ValueError, "max_size should only be passed if"),
        (lambda: F.resize(RGB, 5, "bilinear"), TypeError, "Argument interpolation should be of type InterpolationMode"),
        (lambda: F.pad(RGB, 1.5), TypeError, "Got inappropriate padding arg"),
        (lambda: F.pad(RGB, (1, 2, 3)), ValueError, "Padding must be an int or a 1, 2, or 4 element tuple"),
        (lambda: F.pad(RGB, 1, padding_mode="wrap"), ValueError, "Padding mode should be either constant"),
        (lambda: F.pad(RGB, 1, fill=(1, 2)), ValueError, "does not match the number of channels"),
        (lambda: F.center_crop(RGB, (1, 2, 3)), ValueError, "Please provide only two dimensions"),
        (lambda: F.five_crop(RGB, 7), ValueError, r"Requested crop size \(7, 7\) is bigger than input size \(8, 6\)"),
        (lambda: F.rotate(TENSOR, 3, T.InterpolationMode.BICUBIC), ValueError, "interpolation of a tensor is one of"),
        (lambda: F.rotate(TENSOR, 3, fill=(1, 2)), ValueError, "does not match the number of channels"),
        (lambda: F.affine("x", 0, (0, 0), 1.0, 0), TypeError, "img should be PIL Image or Tensor Image"),
        (lambda: F.affine(RGB, 0, (1,), 1.0, 0), ValueError, "translate should be a sequence of length 2"),
        (lambda: F.affine(RGB, 0, (1, 2), 0, 0), ValueError, "scale should be positive"),
        (lambda: F.adjust_hue(RGB, 0.6), ValueError, r"hue_factor \(0.6\) is not in \[-0.5, 0.5\]"),
        (lambda: F.adjust_contrast(RGB, -1), ValueError, r"contrast_factor \(-1\) is not non-negative"),
        (lambda: F.adjust_gamma(RGB, -1), ValueError, "Gamma should be a non-negative"),
        (lambda: F.adjust_brightness(tocha.zeros(2, 4, 4), 1), TypeError, "permitted channel values are 1 or 3"),
        (lambda: F.rgb_to_grayscale(RGB, 2), ValueError, "num_output_channels should be either 1 or 3"),
        (lambda: F.to_grayscale(TENSOR), TypeError, "Input should be PIL Image"),
        (lambda: T.Lambda(3), TypeError, "Argument lambd should be callable, got 'int'"),
        (lambda: T.ConvertImageDtype("float32"), TypeError, "Argument dtype should be of type"),
        (lambda: T.RandomCrop(9)(RGB), ValueError, r"crop size \(9, 9\) is larger than input image size \(8, 6\)"),
        (lambda: T.RandomRotation(-3), ValueError, "If degrees is a single number, it must be positive"),
        (lambda: T.RandomRotation((1, 2, 3)), ValueError, "degrees should be a sequence of length 2"),
        (lambda: T.RandomAffine(0, translate=(0.5, 2)), ValueError, "translation values should be between 0 and 1"),
        (lambda: T.RandomAffine(0, scale=(0, 1)), ValueError, "scale values should be positive"),
        (lambda: T.RandomAffine(0, shear=(1, 2, 3)), ValueError, "shear should be a sequence of length 2 or 4"),
        (lambda: T.RandomResizedCrop(5, scale=0.5), TypeError, "Scale should be a sequence"),
        (lambda: T.RandomErasing(p=2), ValueError, "Random erasing probability should be between 0 and 1"),
        (lambda: T.RandomErasing(value="noise"), ValueError, "If value is str, it should be 'random'"),
        (lambda: T.RandomErasing(1, value=(1, 2))(TENSOR), ValueError, r"or 3 \(number of input channels\)"),
        (lambda: T.ColorJitter(-1), ValueError, "If brightness is a single number, it must be non negative"),
        (lambda: T.ColorJitter(hue=0.7), ValueError, r"hue values should be between \(-0.5, 0.5\)"),
        (lambda: T.ColorJitter(contrast=(1, 2, 3)), TypeError, "contrast should be a single number or a list/tuple"),
        (lambda: T.RandomChoice(3), TypeError, "Argument transforms should be a sequence"),
        (lambda: T.RandomChoice([], p=3), TypeError, "Argument p should be a sequence"),
    ],
)  # fmt: skip
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_warnings():
    with pytest.warns(UserWarning, match="Scale and ratio should be of kind"):
        T.RandomResizedCrop(4, scale=(1.0, 0.5))
    with pytest.warns(UserWarning, match="Argument antialias is ignored"):
        F.resize(RGB, 4, antialias=False)


def test_normalize_in_place_and_not():
    image = TENSOR.clone()
    out = F.normalize(image, [0.5] * 3, [2.0] * 3)
    assert tocha.equal(image, TENSOR) and not tocha.equal(out, TENSOR)
    assert F.normalize(image, [0.5] * 3, [2.0] * 3, inplace=True) is image and tocha.equal(image, out)


def test_erase_in_place_and_not():
    image = TENSOR.clone()
    F.erase(image, 0, 0, 2, 2, tocha.zeros(1))
    assert tocha.equal(image, TENSOR)
    F.erase(image, 0, 0, 2, 2, tocha.full((1,), 7.0), inplace=True)
    assert image[:, :2, :2].tolist() == [[[7.0, 7.0], [7.0, 7.0]]] * 3


def test_to_tensor_leaves_other_types_alone_and_copies_what_cannot_be_written():
    assert F.to_tensor(np.array([[1000]], dtype=np.int32)).tolist() == [[[1000]]]
    assert F.to_tensor(np.zeros((0, 4, 3), np.uint8)).shape == (3, 0, 4)
    flipped = np.arange(6, dtype=np.float32).reshape(2, 3)[:, ::-1]
    assert F.to_tensor(flipped).tolist() == [[[2.0, 1.0, 0.0], [5.0, 4.0, 3.0]]]


def test_images_without_channels_and_with_many_batches():
    plane = tocha.arange(12).reshape(3, 4)
    assert F.hflip(plane)[0].tolist() == [3, 2, 1, 0]
    assert F.crop(tocha.zeros(2, 5, 3, 8, 6), 1, 1, 4, 4).shape == (2, 5, 3, 4, 4)
    assert F.get_dimensions(plane) == [1, 3, 4] and F.get_image_size(RGB) == [6, 8]
    assert F.get_image_num_channels(RGB) == 3


def test_a_grey_tensor_becomes_three_channels():
    assert F.rgb_to_grayscale(TENSOR[:1], 3).shape == (3, 8, 6)


def test_pillow_numbers_name_interpolations():
    for number, mode in ((0, "nearest"), (1, "lanczos"), (2, "bilinear"), (3, "bicubic"), (4, "box"), (5, "hamming")):
        assert T.Resize(4, interpolation=number).interpolation.value == mode


def test_random_choice_and_order_follow_pythons_random():
    steps = [T.Lambda(lambda seen, i=i: [*seen, i]) for i in range(5)]
    random.seed(0)
    order = T.RandomOrder(steps)([])
    assert sorted(order) == [0, 1, 2, 3, 4] and order != [0, 1, 2, 3, 4]
    assert {tuple(T.RandomChoice(steps, p=[0, 0, 1, 0, 1])([])) for _ in range(50)} == {(2,), (4,)}


def test_probabilities_zero_and_one():
    tocha.manual_seed(0)
    for make in (T.RandomHorizontalFlip, T.RandomVerticalFlip, T.RandomGrayscale, T.RandomErasing, T.RandomInvert):
        assert all(tocha.equal(make(0.0)(TENSOR), TENSOR) for _ in range(20))
        assert all(not tocha.equal(make(1.0)(TENSOR), TENSOR) for _ in range(20))
    assert T.RandomApply([T.Lambda(lambda _: None)], p=0.0)(TENSOR) is TENSOR


def test_random_resized_crop_stays_inside_and_covers_the_range():
    tocha.manual_seed(0)
    image = tocha.zeros(1, 40, 60)
    areas = []
    for _ in range(300):
        top, left, height, width = T.RandomResizedCrop.get_params(image, (0.1, 0.6), (0.5, 2.0))
        assert 0 <= top <= 40 - height and 0 <= left <= 60 - width
        assert 0.4 < width / height < 2.4
        areas.append(height * width / 2400)
    assert 0.09 < min(areas) < 0.13 and 0.52 < max(areas) < 0.62 and math.isclose(np.mean(areas), 0.35, abs_tol=0.04)


def test_transforms_stand_in_an_nn_sequential():
    pipeline = tocha.nn.Sequential(T.CenterCrop(4), T.Normalize((0.5,), (0.5,)))
    assert pipeline(TENSOR).shape == (3, 4, 4)
