import functools
import gzip
import hashlib
import http.server
import struct
import threading
from pathlib import Path

import numpy as np
import pytest

import tocha
from tocha_vision.datasets import MNIST, FashionMNIST


def idx(array, code=8):
    return bytes([0, 0, code, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


IMAGES = np.arange(3 * 28 * 28, dtype=np.uint8).reshape(3, 28, 28)
LABELS = np.array([7, 0, 9], dtype=np.uint8)
CONTENT = {
    "train-images-idx3-ubyte": idx(IMAGES),
    "train-labels-idx1-ubyte": idx(LABELS),
    "t10k-images-idx3-ubyte": idx(IMAGES[:2]),
    "t10k-labels-idx1-ubyte": idx(LABELS[:2]),
}


def lay(folder, zipped):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in CONTENT.items():
        if zipped:
            (folder / f"{name}.gz").write_bytes(gzip.compress(content, mtime=0))
        else:
            (folder / name).write_bytes(content)


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("folder", ["MNIST/raw", "."])
def test_files_are_read_from_either_place_zipped_or_not(tmp_path, folder, zipped):
    lay(tmp_path / folder, zipped)
    train, test = MNIST(tmp_path), MNIST(str(tmp_path), train=False, download=True)
    assert (len(train), len(test)) == (3, 2)
    np.testing.assert_array_equal(train.data.numpy(), IMAGES)
    assert train.targets.dtype == tocha.int64 and train.targets.tolist() == [7, 0, 9]
    image, label = train[1]
    assert label == 0 and image.mode == "L"
    np.testing.assert_array_equal(np.asarray(image), IMAGES[1])


def test_the_class_names_the_folder_of_a_subclass(tmp_path):
    class Mine(MNIST):
        pass

    lay(tmp_path / "Mine" / "raw", True)
    assert len(Mine(tmp_path)) == 3
    with pytest.raises(RuntimeError, match="Dataset not found"):
        MNIST(tmp_path)


def test_a_missing_dataset_says_where_its_files_belong(tmp_path):
    with pytest.raises(RuntimeError, match="use download=True") as caught:
        MNIST(tmp_path)
    assert str(tmp_path / "MNIST" / "raw") in str(caught.value) and "train-images-idx3-ubyte.gz" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not an IDX file"),
        (b"<html>404</html>", "not an IDX file"),
        (idx(LABELS), "not an IDX file of 3 dimensions"),
        (idx(IMAGES)[:-1], "is damaged: expected 2368 bytes"),
        (idx(IMAGES) + b"\0", "is damaged: expected 2368 bytes"),
        (idx(IMAGES)[:9], "is damaged"),
        (gzip.compress(idx(IMAGES))[:-30], "is damaged"),
        (gzip.compress(idx(IMAGES))[:20], "is damaged"),
        (b"\x1f\x8bnonsense", "is damaged"),
        (idx(IMAGES[:2]), "has 2 images, but .* has 3 labels"),
    ],
)
def test_damaged_files_are_named(tmp_path, content, message):
    lay(tmp_path, zipped=False)
    (tmp_path / "train-images-idx3-ubyte").write_bytes(content)
    with pytest.raises(RuntimeError, match=message) as caught:
        MNIST(tmp_path)
    assert "train-images-idx3-ubyte" in str(caught.value)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture
def server(tmp_path):
    folder = tmp_path / "server"
    lay(folder, zipped=True)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}/", folder
        running.shutdown()
        thread.join()


def served(mirrors, folder):
    sums = [(f"{name}.gz", hashlib.md5((folder / f"{name}.gz").read_bytes()).hexdigest()) for name in CONTENT]
    return type("Served", (MNIST,), {"mirrors": mirrors, "resources": sums})


def test_download_fetches_checks_and_shows_what_it_does(tmp_path, server, capsys):
    url, folder = server
    Served = served(["http://127.0.0.1:9/nobody/", url], folder)
    dataset = Served(tmp_path, download=True)
    np.testing.assert_array_equal(dataset.data.numpy(), IMAGES)
    raw = Path(dataset.raw_folder)
    assert sorted(path.name for path in raw.iterdir()) == sorted(f"{name}.gz" for name in CONTENT)
    shown = capsys.readouterr().err
    assert all(f"{name}.gz" in shown for name in CONTENT) and "100.0% of" in shown
    Served(tmp_path, train=False, download=True)
    assert capsys.readouterr().err == ""


def test_a_file_with_another_checksum_is_not_kept(tmp_path, server):
    url, folder = server
    Served = served([url], folder)
    (folder / "t10k-labels-idx1-ubyte.gz").write_bytes(b"something else")
    with pytest.raises(RuntimeError, match="t10k-labels-idx1-ubyte.gz(?s:.*)MD5 sum .* expected") as caught:
        Served(tmp_path, download=True)
    assert str(tmp_path / "Served" / "raw") in str(caught.value)
    assert len(list((tmp_path / "Served" / "raw").iterdir())) == 3


def test_without_a_server_the_error_says_what_to_do(tmp_path):
    Unreachable = type("Unreachable", (MNIST,), {"mirrors": ["http://127.0.0.1:9/"]})
    with pytest.raises(RuntimeError, match=r"Error downloading train-images.*(?s:.*)put the files .* into"):
        Unreachable(tmp_path, download=True)
    assert list((tmp_path / "Unreachable" / "raw").iterdir()) == []


def test_checksums_are_the_published_ones():
    assert dict(MNIST.resources)["train-images-idx3-ubyte.gz"] == "f68b3c2dcbeaaa9fbdd348bbdeb94873"
    assert dict(FashionMNIST.resources)["t10k-labels-idx1-ubyte.gz"] == "bb300cfdad3c16e7a12a480ee83cd310"


@pytest.mark.skipif(
    not Path(FashionMNIST.system_folders[0]).is_dir(),
    reason="the Debian package dataset-fashion-mnist is not installed",
)
def test_fashion_mnist_is_found_where_debian_lays_it(tmp_path):
    train, test = FashionMNIST(tmp_path), FashionMNIST(tmp_path, train=False)
    assert train.data.shape == (60000, 28, 28) and test.data.shape == (10000, 28, 28)
    assert np.bincount(train.targets.numpy()).tolist() == [6000] * 10
    assert test.targets[:5].tolist() == [9, 2, 1, 1, 6] and test.classes[9] == "Ankle boot"
