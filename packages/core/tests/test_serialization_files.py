"""The files that saving writes and loading reads: archives, paths, streams, mappings, locations, safetensors."""

import copy
import gzip
import io
import mmap
import os
import stat
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import tocha
from tocha import nn
from tocha.serialization import safetensors
from tocha.testing import strict_device

DATA = Path(__file__).parent / "data/serialization"
DTYPES = (
    "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex128 complex64 uint16 uint32 uint64"
).split()
FORMATS = {"zip": {}, "legacy": {"_use_new_zipfile_serialization": False}}


def saved(obj, **options):
    buffer = io.BytesIO()
    tocha.save(obj, buffer, **options)
    buffer.seek(0)
    return buffer


def same(a, b):
    """Equal in type, dtype, shape and every bit."""
    assert type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape and a.requires_grad == b.requires_grad
    # NumPy has no bfloat16, of which float32 loses nothing
    a, b = [t.detach().float() if t.dtype == tocha.bfloat16 else t.detach() for t in (a, b)]
    return a.contiguous().numpy().tobytes() == b.contiguous().numpy().tobytes()


def ramp(name):
    if name == "bool":
        return tocha.tensor([[False, True, False], [True, False, True]])
    if name.startswith("complex"):
        numbers = [complex(i, -float(i)) for i in range(6)]
        return tocha.tensor(numbers, dtype=getattr(tocha, name)).reshape(2, 3)
    return tocha.arange(6).reshape(2, 3).to(getattr(tocha, name))


# ---- the archive


def test_archive_is_a_zip_file_with_aligned_records(tmp_path):
    tocha.save({"a": tocha.ones(3), "b": tocha.ones(100)}, tmp_path / "model.v1.pt")
    data = (tmp_path / "model.v1.pt").read_bytes()
    with zipfile.ZipFile(tmp_path / "model.v1.pt") as file:
        assert file.testzip() is None
        names = [entry.filename.removeprefix("model.v1/") for entry in file.infolist()]
        expected = "data.pkl .format_version .storage_alignment byteorder data/0 data/1 version".split()
        assert names == expected
        assert file.read("model.v1/version") == b"3\n" and file.read("model.v1/.storage_alignment") == b"64"
        assert file.read("model.v1/byteorder").decode() == sys.byteorder
        for entry in file.infolist():
            name_length, extra_length = struct.unpack_from("<HH", data, entry.header_offset + 26)
            assert (entry.header_offset + 30 + name_length + extra_length) % 64 == 0
            assert entry.compress_type == zipfile.ZIP_STORED


def test_folder_of_the_archive():
    def folder(path):
        tocha.save(1, path)
        with zipfile.ZipFile(path) as file:
            return file.namelist()[0].partition("/")[0]

    def inside(tmp):
        return [folder(Path(tmp) / name) for name in ("weights.pt", "noending", ".hidden", "größe.pt")]

    import tempfile

    with tempfile.TemporaryDirectory() as tmp:
        assert inside(tmp) == ["weights", "noending", ".hidden", "archive"]
    with zipfile.ZipFile(saved(1)) as file:
        assert file.namelist()[0] == "archive/data.pkl"


def test_names_in_the_pickle_are_pytorch_s():
    with zipfile.ZipFile(saved([nn.Parameter(tocha.ones(1)), tocha.float32, tocha.Size([1])])) as file:
        data = file.read("archive/data.pkl")
    assert b"tocha" not in data
    for name in (b"torch\nFloatStorage", b"torch._utils\n_rebuild_tensor_v2", b"torch\nfloat32", b"torch\nSize"):
        assert b"c" + name + b"\n" in data


def test_saving_imports_and_needs_no_torch():
    code = "import sys, io, tocha as t; t.save(t.nn.Parameter(t.ones(1)), io.BytesIO()); print('torch' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16", "complex64", "int64", "bool"])
def test_byte_order_of_another_machine(name):
    tensor = ramp(name)
    other = {"little": "big", "big": "little"}[sys.byteorder]
    unit = tensor.element_size() // (2 if tensor.is_complex() else 1)
    loaded = tocha.load(rewritten(saved([tensor, tensor.t()]), other, unit))
    assert same(loaded[0], tensor) and same(loaded[1].contiguous(), tensor.t().contiguous())


def test_byte_order_that_is_not_told():
    buffer = rewritten(saved(tocha.arange(3)), None, 8)
    assert tocha.load(rewritten(saved(tocha.arange(3)), None, 1)).tolist() == [0, 1, 2]
    tocha.serialization.set_default_load_endianness(tocha.serialization.LoadEndianness.BIG)
    try:
        assert tocha.serialization.get_default_load_endianness() is tocha.serialization.LoadEndianness.BIG
        assert tocha.load(buffer).tolist() == [0, 1, 2]
    finally:
        tocha.serialization.set_default_load_endianness(None)
    with pytest.raises(TypeError, match="Invalid argument type"):
        tocha.serialization.set_default_load_endianness("big")


def rewritten(buffer, order, unit):
    """The archive with its storages' numbers of ``unit`` bytes turned around."""
    out = io.BytesIO()
    with zipfile.ZipFile(buffer) as source, zipfile.ZipFile(out, "w") as target:
        for entry in source.infolist():
            data = source.read(entry)
            if "/data/" in entry.filename:
                data = np.frombuffer(data, np.uint8).reshape(-1, unit)[:, ::-1].tobytes()
            if entry.filename.endswith("/byteorder"):
                if order is None:
                    continue
                data = order.encode()
            target.writestr(entry.filename, data)
    out.seek(0)
    return out


def test_checksums_can_be_left_out():
    assert tocha.serialization.get_crc32_options()
    tocha.serialization.set_crc32_options(False)
    try:
        buffer = saved(tocha.arange(3))
    finally:
        tocha.serialization.set_crc32_options(True)
    with zipfile.ZipFile(buffer) as file:
        assert {entry.CRC for entry in file.infolist()} == {0}
    buffer.seek(0)
    assert tocha.load(buffer).tolist() == [0, 1, 2]


def test_damage_is_noticed():
    data = bytearray(saved(tocha.full((1000,), 7.0)).getvalue())
    data[len(data) // 2] ^= 1
    with pytest.raises(RuntimeError, match="damaged"):
        tocha.load(io.BytesIO(data))


def test_skip_data():
    with tocha.serialization.skip_data():
        buffer = saved({"a": tocha.ones(1000)})
    assert tocha.load(buffer)["a"].sum() == 0
    buffer = saved({"a": tocha.ones(1000)})
    with tocha.serialization.skip_data():
        assert tocha.load(buffer)["a"].sum() == 0
        with pytest.raises(RuntimeError, match="Cannot use skip_data=True"):
            tocha.save(1, io.BytesIO(), _use_new_zipfile_serialization=False)


# ---- paths and file-like objects


class Unpicklable:
    def __reduce__(self):
        raise ZeroDivisionError("no")


class FullDisk(io.RawIOBase):
    def __init__(self, size):
        self.left, self.data = size, b""

    def writable(self):
        return True

    def write(self, data):
        if len(data) > self.left:
            raise OSError(28, "No space left on device")
        self.left -= len(data)
        return len(data)


@pytest.mark.parametrize("options", FORMATS.values(), ids=FORMATS)
def test_a_failed_save_leaves_the_file_that_was_there(tmp_path, options, monkeypatch):
    path = tmp_path / "a.pt"
    tocha.save({"good": tocha.ones(3)}, path)
    before = path.read_bytes()
    with pytest.raises(ZeroDivisionError):
        tocha.save([tocha.ones(3), Unpicklable()], path, **options)
    monkeypatch.setattr(os, "fsync", lambda fd: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left"):
        tocha.save(tocha.ones(3), path, **options)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_a_failed_save_leaves_no_new_file(tmp_path):
    with pytest.raises(ZeroDivisionError):
        tocha.save(Unpicklable(), tmp_path / "a.pt")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_reported():
    with pytest.raises(OSError, match="No space left"):
        tocha.save(tocha.ones(1000), FullDisk(1000))


def test_an_object_that_cannot_be_pickled_writes_nothing_to_a_buffer():
    buffer = io.BytesIO()
    with pytest.raises(ZeroDivisionError):
        tocha.save(Unpicklable(), buffer)
    assert buffer.getvalue() == b""


@pytest.mark.skipif(os.name == "nt", reason="permissions and links are Unix's")
def test_permissions_and_links_stay(tmp_path):
    path, link = tmp_path / "a.pt", tmp_path / "link.pt"
    tocha.save(1, path)
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    path.chmod(0o640)
    link.symlink_to(path)
    tocha.save(2, link)
    assert link.is_symlink() and tocha.load(path) == 2 and stat.S_IMODE(path.stat().st_mode) == 0o640


def test_kinds_of_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tocha.save(1, "relative.pt")
    tocha.save(2, str(tmp_path / "with space.pt"))
    tocha.save(3, tmp_path / "größe ☃.pt")
    assert [tocha.load(p) for p in ("relative.pt", "with space.pt", tmp_path / "größe ☃.pt")] == [1, 2, 3]


def test_errors_of_paths(tmp_path):
    with pytest.raises(RuntimeError, match="Parent directory .*nowhere does not exist"):
        tocha.save(1, tmp_path / "nowhere/a.pt")
    with pytest.raises(FileNotFoundError):
        tocha.load(tmp_path / "nothing.pt")
    with pytest.raises(OSError, match="directory"):
        tocha.save(1, tmp_path)
    with pytest.raises(AttributeError, match="'write' attribute"):
        tocha.save(1, 17)
    with pytest.raises(AttributeError, match="only if it is seekable"):
        tocha.load(17)


def test_a_stream_that_can_only_be_written():
    class Stream:
        def __init__(self):
            self.data = b""

        def write(self, data):
            self.data += bytes(data)

    stream = Stream()
    tocha.save(tocha.arange(3), stream)
    assert tocha.load(io.BytesIO(stream.data)).tolist() == [0, 1, 2]


def test_a_file_that_can_only_be_read_and_sought():
    class Reader:
        def __init__(self, data):
            self.file = io.BytesIO(data)
            self.read, self.seek, self.tell = self.file.read, self.file.seek, self.file.tell
            self.readline = self.file.readline

    assert tocha.load(Reader(saved(tocha.arange(3)).getvalue())).tolist() == [0, 1, 2]
    assert tocha.load(Reader((DATA / "legacy.pt").read_bytes()))["tensors"]["zero-dim"].item() == 7


def test_compressed_files(tmp_path):
    with gzip.open(tmp_path / "a.pt.gz", "wb") as file:
        tocha.save(tocha.arange(3), file)
    with gzip.open(tmp_path / "a.pt.gz", "rb") as file:
        assert tocha.load(file).tolist() == [0, 1, 2]


def test_an_archive_after_something_else():
    buffer = io.BytesIO(b"header" + saved(tocha.arange(3)).getvalue())
    buffer.seek(6)
    assert tocha.load(buffer).tolist() == [0, 1, 2]


def test_several_objects_in_one_file_of_the_old_format():
    buffer = io.BytesIO()
    for i in range(3):
        tocha.save(tocha.full((i,), float(i)), buffer, _use_new_zipfile_serialization=False)
    buffer.seek(0)
    assert [tocha.load(buffer).tolist() for _ in range(3)] == [[], [1.0], [2.0, 2.0]]


def test_text_files_are_refused(tmp_path):
    (tmp_path / "a.txt").write_text("text")
    with open(tmp_path / "a.txt") as file, pytest.raises(TypeError, match="binary mode"):
        tocha.load(file)


# ---- mapping


def test_mapped_files_are_read_when_they_are_used(tmp_path):
    tocha.save({"a": tocha.arange(1000), "b": tocha.empty(0)}, tmp_path / "a.pt")
    loaded = tocha.load(tmp_path / "a.pt", mmap=True)
    with open(tmp_path / "a.pt", "r+b") as file:
        position = (tmp_path / "a.pt").read_bytes().index(np.arange(1000).tobytes())
        file.seek(position)
        file.write(struct.pack("=q", 17))
    assert loaded["a"][0] == 17 and loaded["b"].shape == (0,)
    loaded["a"][1] = 18
    assert tocha.load(tmp_path / "a.pt", mmap=True)["a"][:3].tolist() == [17, 1, 2]


@pytest.mark.skipif(os.name == "nt", reason="Windows has private mappings only")
def test_mapped_files_can_be_written(tmp_path):
    tocha.save(tocha.arange(10), tmp_path / "a.pt")
    assert tocha.serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    with tocha.serialization.set_default_mmap_options(mmap.MAP_SHARED):
        loaded = tocha.load(tmp_path / "a.pt", mmap=True)
        loaded[0] = 5
    assert tocha.serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    assert tocha.load(tmp_path / "a.pt", mmap=True)[0] == 5
    with pytest.raises(ValueError, match="expected mmap.MAP_PRIVATE or mmap.MAP_SHARED"):
        tocha.serialization.set_default_mmap_options(17)


def test_a_tensor_of_a_mapped_file_is_saved_alone(tmp_path):
    tocha.save([tocha.zeros(10_000), tocha.ones(3)], tmp_path / "a.pt")
    assert len(saved(tocha.load(tmp_path / "a.pt", mmap=True)[1]).getvalue()) < 2000


def test_only_paths_can_be_mapped():
    with pytest.raises(ValueError, match="f must be a file path"):
        tocha.load(saved(1), mmap=True)


# ---- locations


def test_map_location():
    def load(where):
        return tocha.load(saved(tocha.arange(3)), map_location=where)

    seen = []

    def function(storage, location):
        seen.append((storage.nbytes(), str(storage.device), location))
        return storage if len(seen) > 1 else None

    for where in ("cpu", tocha.device("cpu"), {"cpu": "cpu"}, {"cuda:0": "cpu"}, function, function, b"cpu"):
        assert load(where).tolist() == [0, 1, 2]
    assert seen == [(24, "cpu", "cpu")] * 2
    for where in ("tpu", {"cpu": "xla:1"}):
        with pytest.raises(RuntimeError, match="don't know how to restore data location"):
            load(where)
    with pytest.raises(TypeError, match="map_location must be"):
        load(17)
    with pytest.raises(TypeError, match="must return None or the storage"):
        load(lambda storage, location: 17)


def test_a_gpu_that_is_not_there():
    if tocha.cuda.is_available():
        pytest.skip("has a GPU")
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device but"):
        tocha.load(saved(tocha.arange(3)), map_location="cuda")
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device but"):
        tocha.serialization.validate_cuda_device("cuda:0")
    with pytest.raises(RuntimeError, match="HPU"):
        tocha.serialization.validate_hpu_device("hpu:0")


@pytest.mark.parametrize("zipped", [True, False])
def test_devices(zipped):
    with strict_device.install() as xp:
        tensor = tocha.arange(6.0).reshape(2, 3).to("cuda:1")
        buffer = saved([tensor, tensor.t(), tensor[1]], _use_new_zipfile_serialization=zipped)
        a, b, c = tocha.load(buffer)
        assert {t.device for t in (a, b, c)} == {tocha.device("cuda:1")} and b.stride() == (1, 3)
        with xp.cuda.Device(1):
            a[1, 0] = 50
        assert b.cpu()[0, 1] == 50 and c.cpu()[0] == 50
        for where, device in [
            ("cpu", "cpu"),
            ("cuda:0", "cuda:0"),
            ({"cuda:1": "cuda:0"}, "cuda:0"),
            (lambda storage, location: storage.cpu(), "cpu"),
            (lambda storage, location: storage.cuda(0) if location == "cuda:1" else None, "cuda:0"),
        ]:
            buffer.seek(0)
            loaded = tocha.load(buffer, map_location=where)
            assert str(loaded[1].device) == device and loaded[1].cpu().tolist() == [[0, 3], [1, 4], [2, 5]]
        buffer.seek(0)
        with pytest.raises(RuntimeError, match="CUDA device 9 but tocha.cuda.device_count"):
            tocha.load(buffer, map_location="cuda:9")


@pytest.mark.parametrize("where", ["meta", tocha.device("meta"), {"cpu": "meta"}])
def test_map_location_meta(where):
    obj = {"a": tocha.arange(6.0).reshape(2, 3).t(), "p": nn.Parameter(tocha.ones(2))}
    loaded = tocha.load(saved(obj), map_location=where)
    assert loaded["a"].device.type == "meta" and loaded["a"].shape == (3, 2) and loaded["a"].dtype == tocha.float32
    assert type(loaded["p"]) is nn.Parameter and loaded["p"].requires_grad


@pytest.mark.parametrize("zipped", [True, False])
def test_meta_tensors(zipped):
    tensor = tocha.empty(2, 3, device="meta", dtype=tocha.float16)
    loaded = tocha.load(saved(tensor, _use_new_zipfile_serialization=zipped))
    assert loaded.device.type == "meta" and loaded.shape == (2, 3) and loaded.dtype == tocha.float16


def test_packages_of_locations(monkeypatch):
    from tocha.serialization import _locations

    monkeypatch.setattr(_locations, "_packages", list(_locations._packages))
    seen = []

    def restore(storage, location):
        if location.startswith("tape:"):
            seen.append(location)
            return storage

    tocha.serialization.register_package(5, lambda storage: "tape:7", restore)
    assert tocha.load(saved(tocha.arange(3))).tolist() == [0, 1, 2]
    assert seen == ["tape:7"]


# ---- safetensors


def test_safetensors(tmp_path):
    tensors = {name: ramp(name).contiguous() for name in DTYPES if name != "complex128"}
    tensors |= {"zero-dim": tocha.tensor(7), "empty": tocha.empty(0, 3)}
    safetensors.save_file(tensors, tmp_path / "a.safetensors", metadata={"made": "here"})
    for loaded in (
        safetensors.load_file(tmp_path / "a.safetensors"),
        tocha.load(tmp_path / "a.safetensors"),
        tocha.load(str(tmp_path / "a.safetensors"), map_location="cpu"),
        safetensors.load(safetensors.save(tensors)),
        safetensors.load((tmp_path / "a.safetensors").read_bytes()),
    ):
        assert list(loaded) == sorted(tensors)
        assert all([same(loaded[name], tensors[name]) for name in tensors])
        loaded["float32"].add_(1)
    assert [p.name for p in tmp_path.iterdir()] == ["a.safetensors"]


def test_safetensors_of_models(tmp_path):
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    safetensors.save_file(model.state_dict(), tmp_path / "m.safetensors")
    other = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    other.load_state_dict(tocha.load(tmp_path / "m.safetensors"))
    assert same(other[0].weight, model[0].weight)


def test_errors_of_safetensors(tmp_path):
    path, base = tmp_path / "a.safetensors", tocha.zeros(4, 4)
    for bad, error, message in [
        ([base], ValueError, "Expected a dict"),
        ({"a": 1}, ValueError, "expected tocha.Tensor"),
        ({"a": base.t()[:2]}, ValueError, "non contiguous"),
        ({"a": base, "b": base[0]}, RuntimeError, r"share memory.*\['a', 'b'\]"),
    ]:
        with pytest.raises(error, match=message):
            safetensors.save_file(bad, path)
    assert not path.exists()
    safetensors.save_file({"a": base}, path)
    with pytest.raises(RuntimeError, match="dict map_location is not supported"):
        tocha.load(path, map_location={"cpu": "cpu"})
    with pytest.raises(RuntimeError, match="callable map_location is not supported"):
        tocha.load(path, map_location=lambda s, loc: s)


# ---- more than one thread, and copies


def test_saving_from_several_threads(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    def work(i):
        tocha.save({"i": tocha.full((100,), i)}, tmp_path / "one.pt")
        return int(tocha.load(tmp_path / "one.pt")["i"][0])

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(work, range(64))) <= set(range(64))
    assert [p.name for p in tmp_path.iterdir()] == ["one.pt"]


def test_loaded_tensors_are_tensors_like_others():
    tensor = tocha.load(saved(tocha.arange(6.0).reshape(2, 3)))
    tensor += 1
    tensor[0, 0] = 5
    assert copy.deepcopy(tensor).tolist() == [[5, 2, 3], [4, 5, 6]] and (tensor @ tensor.t()).shape == (2, 2)
