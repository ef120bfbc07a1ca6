import pytest

import tocha
from tocha_vision import models


def test_weights_are_read_from_a_file(tmp_path):
    model = models.resnet18(num_classes=5)
    tocha.save(model.state_dict(), tmp_path / "weights.pth")
    again = models.resnet18(weights=tmp_path / "weights.pth", num_classes=5)
    x = tocha.randn(1, 3, 33, 33)
    assert tocha.equal(model.eval()(x), again.eval()(x))
    with pytest.raises(RuntimeError, match="size mismatch for fc.weight"):
        models.resnet18(weights=str(tmp_path / "weights.pth"), num_classes=6)
    with pytest.raises(RuntimeError, match=r"Missing key\(s\) in state_dict"):
        models.resnet34(weights=tmp_path / "weights.pth", num_classes=5)


def test_weights_in_safetensors(tmp_path):
    model = models.lenet()
    tocha.serialization.safetensors.save_file(model.state_dict(), tmp_path / "w.safetensors")
    again = models.lenet(weights=tmp_path / "w.safetensors")
    assert all(tocha.equal(value, again.state_dict()[key]) for key, value in model.state_dict().items())


@pytest.mark.parametrize("name", ["DEFAULT", "IMAGENET1K_V1"])
def test_names_of_weights_say_what_to_fetch(name):
    with pytest.raises(ValueError, match=r"would have to be downloaded(?s:.*)mobilenet_v2-b0353104.pth"):
        models.mobilenet_v2(weights=name)


def test_wrong_weights():
    with pytest.raises(FileNotFoundError, match="there is no file nowhere.pth"):
        models.resnet18(weights="nowhere.pth")
    with pytest.raises(TypeError, match="expected the path of a state_dict file"):
        models.resnet18(weights=True)


def test_models_are_found_by_name():
    assert models.list_models() == [
        "lenet", "mobilenet_v2", "resnet101", "resnet152", "resnet18", "resnet34", "resnet50",
    ]  # fmt: skip
    assert models.list_models("*net1*", exclude=["*2"]) == ["resnet101", "resnet18"]
    assert isinstance(models.get_model("MobileNet_V2", width_mult=0.25, num_classes=3), models.MobileNetV2)
    assert models.get_model_builder("lenet") is models.lenet
    with pytest.raises(ValueError, match="Unknown model alexnet"):
        models.get_model("alexnet")


def test_lenet_has_61706_parameters_for_mnist_and_for_the_original_size():
    for size in (28, 32):
        model = models.LeNet(image_size=size)
        assert sum(parameter.numel() for parameter in model.parameters()) == 61706
        assert model(tocha.zeros(2, 1, size, size)).shape == (2, 10)
    assert models.LeNet(4, 3, image_size=12)(tocha.zeros(0, 3, 12, 12)).shape == (0, 4)
    with pytest.raises(ValueError, match="image_size of at least 12"):
        models.LeNet(image_size=8)


def test_resnet_options():
    model = models.resnet50(num_classes=3, replace_stride_with_dilation=(False, True, True), zero_init_residual=True)
    assert float(model.layer1[0].bn3.weight.detach().abs().sum()) == 0
    assert model.layer4[1].conv2.dilation == (4, 4)
    grouped = models.resnet50(num_classes=3, groups=4, width_per_group=16)
    assert grouped.layer1[0].conv2.weight.shape == (64, 16, 3, 3)
    assert grouped.eval()(tocha.zeros(1, 3, 32, 32)).shape == (1, 3)
    with pytest.raises(ValueError, match="BasicBlock only supports groups=1"):
        models.resnet18(groups=2)
    with pytest.raises(NotImplementedError, match="Dilation > 1"):
        models.resnet18(replace_stride_with_dilation=(False, True, True))
    with pytest.raises(ValueError, match="3-element tuple"):
        models.resnet18(replace_stride_with_dilation=(True,))
    with pytest.raises(ValueError, match="4-element list"):
        models.mobilenet_v2(inverted_residual_setting=[[1, 2]])


def test_gradients_reach_every_parameter():
    tocha.manual_seed(0)
    for name in ("resnet18", "mobilenet_v2"):
        model = models.get_model(name, num_classes=4)
        tocha.nn.functional.cross_entropy(model(tocha.randn(2, 3, 64, 64)), tocha.tensor([1, 2])).backward()
        assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in model.parameters())
