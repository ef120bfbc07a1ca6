"""Files made to do harm, or that are not checkpoints at all: each gives one clear error, runs nothing and takes little.

Every file of the folder is loaded in this process, under a watch on memory and time, and once more all of them in a
process that may not take more than a gigabyte.
"""

import gzip
import io
import json
import pickle
import struct
import subprocess
import sys
import tarfile
import time
import tracemalloc
import warnings
import zipfile
from pathlib import Path
from random import Random

import numpy as np
import pytest

import tocha

DATA = Path(__file__).parent / "data/serialization"
SENTINEL = "it-ran"
ERRORS = (pickle.UnpicklingError, RuntimeError, ValueError, EOFError)


# ---- pickles by hand


def name(module, attribute):
    return f"c{module}\n{attribute}\n".encode()


def text(value):
    data = value.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<I", len(data)) + data


def number(value):
    data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(data)]) + data


def many(*parts):
    return b"(" + b"".join(parts) + b"t"


def whole(body):
    return b"\x80\x02" + body + b"."


def call(function, *args):
    return function + many(*args) + b"R"


def storage(kind="FloatStorage", key="0", count=4, location="cpu"):
    return many(text("storage"), name("torch", kind), text(key), text(location), number(count)) + b"Q"


def hooks():
    return name("collections", "OrderedDict") + b")R"


def tensor(offset=0, size=(4,), stride=(1,), made_of=None, **facts):
    args = (number(offset), many(*map(number, size)), many(*map(number, stride)), b"\x89", hooks())
    return call(name("torch._utils", "_rebuild_tensor_v2"), made_of or storage(**facts), *args)


def archive(body, records=None, folder="archive", compress=zipfile.ZIP_STORED):
    """A zip file as PyTorch writes it, around a pickle; one storage of four floats."""
    records = {"byteorder": b"little", "version": b"3\n", **(records or {"data/0": bytes(16)})}
    return zipped([(f"{folder}/{path}", data) for path, data in [("data.pkl", body), *records.items()]], compress)


def zipped(files, compress=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compress) as file, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Duplicate name")
        for path, data in files:
            file.writestr(path, data)
    return buffer.getvalue()


FOUR_FLOATS = struct.pack("<q", 4) + bytes(16)


def legacy(body, keys=("0",), storages=FOUR_FLOATS, magic=0x1950A86A20F9469CFC6C, version=1001):
    parts = [pickle.dumps(part, 2) for part in (magic, version, {"little_endian": True})]
    return b"".join([*parts, body, pickle.dumps(list(keys), 2), storages])


def old_tensor(count=4, view=b"N", **facts):
    sid = many(text("storage"), name("torch", "FloatStorage"), text("0"), text("cpu"), number(count), view) + b"Q"
    return tensor(made_of=sid, **facts)


# ---- the folder

COMMAND = f"open({SENTINEL!r}, 'w').close()"


def code_runners():
    """Pickles that run something when Python's own unpickler loads them."""
    shell = f"touch {SENTINEL}"
    execute = name("builtins", "exec")
    reduced = {
        "os.system": call(name("os", "system"), text(shell)),
        "posix.system": call(name("posix", "system"), text(shell)),
        "nt.system": call(name("nt", "system"), text(shell)),
        "subprocess": call(name("subprocess", "getoutput"), text(shell)),
        "exec": call(execute, text(COMMAND)),
        "eval of Python 2": call(name("__builtin__", "eval"), text(f"exec({COMMAND!r})")),
        "runpy": call(name("runpy", "_run_code"), text(COMMAND), b"}"),
        "import of a submodule": call(name("torch.nn.functional", "os.system"), text(shell)),
        "dotted name of tocha": call(name("tocha.serialization", "_files.os.system"), text(shell)),
        "dotted name of a class": call(name("collections", "OrderedDict.__init__.__globals__"), text(shell)),
        "getattr": call(name("builtins", "getattr"), name("builtins", "int"), text("from_bytes")),
        "apply": call(name("functools", "partial"), execute, text(COMMAND)),
        "numpy loads": call(name("numpy.core.multiarray", "_reconstruct"), text("x")),
        "torch.load in torch.load": call(name("torch.serialization", "load"), text("other.pt")),
        "torch.hub": call(name("torch.hub", "load"), text("someone/something")),
        "newobj": execute + many(text(COMMAND)) + b"\x81",
        "newobj_ex": execute + many(text(COMMAND)) + b"}\x92",
        "object": b"(" + execute + text(COMMAND) + b"o",
        "instance": b"(" + text(COMMAND) + b"ibuiltins\nexec\n",
        "stack global": text("builtins") + text("exec") + b"\x93" + many(text(COMMAND)) + b"R",
        "extension registry": b"\x82\x01" + many(text(COMMAND)) + b"R",
        "call of a result": hooks() + many(text(COMMAND)) + b"R",
        "call of a tensor": tensor() + many(text(COMMAND)) + b"R",
        "tensor subclass": call(
            name("torch._tensor", "_rebuild_from_type_v2"), execute, name("torch", "Tensor"), many(text(COMMAND)), b"}"
        ),
        "subclass of nothing": call(
            name("torch._tensor", "_rebuild_from_type_v2"),
            name("torch._utils", "_rebuild_tensor_v2"),
            name("collections", "OrderedDict"),
            many(storage(), number(0), many(number(4)), many(number(1)), b"\x89", hooks()),
            b"}",
        ),
        "state of a class": name("torch.nn.parameter", "Parameter")
        + b"N}"
        + text("__init__")
        + name("collections", "OrderedDict")
        + b"s\x86b",
        "method of a dict": hooks() + b"}" + text("items") + name("_codecs", "encode") + b"sb",
        "method of a tensor": tensor() + b"}" + text("backward") + name("_codecs", "encode") + b"sb",
        "private field of a tensor": tensor() + b"}" + text("_data") + text("x") + b"sb",
        "persistent id of a module": many(text("module"), execute, b"N", b"N") + b"Q",
        "persistent id of a string": text("storage") + b"Q",
        "setitem on a class": name("torch", "Tensor") + text("x") + b"Ns",
        "append to a dict": b"}" + text("x") + b"a",
        "codec": call(name("_codecs", "encode"), text("x"), text("idna")),
    }
    return reduced


def too_large():
    """Pickles of a few bytes that ask for much memory or time."""
    deep_key = b")" + b"\x85" * 200_000
    wide_key = b")" + b"".join(b"q" + bytes([i]) + b"h" + bytes([i]) + b"\x86" for i in range(60))
    long_list = b"](" + b"N" * 100_000 + b"eq\x01"
    big_number = b"\x8b" + struct.pack("<I", 100_000) + b"\x7f" * 100_000
    pairs = b"](" + b"".join(number(i) + b"N\x86" for i in range(20_000)) + b"eq\x010"
    return {
        "bytearray of a terabyte": call(name("builtins", "bytearray"), number(10**12)),
        "text of 4 GB": b"X" + struct.pack("<I", 2**32 - 1) + b"x",
        "text of 16 EB": b"\x8d" + struct.pack("<Q", 2**64 - 1) + b"x",
        "bytes of 4 GB": b"B" + struct.pack("<I", 2**32 - 1) + b"x",
        "bytearray of 16 EB": b"\x96" + struct.pack("<Q", 2**64 - 1) + b"x",
        "integer of 4 GB": b"\x8b" + struct.pack("<I", 2**32 - 1) + b"x",
        "frame of 16 EB": b"\x95" + struct.pack("<Q", 2**64 - 1),
        "key nested deeply": b"}" + deep_key + b"Ns",
        "key that doubles 60 times": b"}" + wide_key + b"Ns",
        "set of a nested key": call(name("builtins", "set"), b"](" + deep_key + b"e"),
        "frozenset of a nested key": b"(" + deep_key + b"\x91",
        "huge integer as key": b"}" + big_number + b"Ns",
        "complex numbers as keys": b"}" + call(name("builtins", "complex"), b"G" + bytes(8), b"G" + bytes(8)) + b"Ns",
        "the same list copied again and again": pairs + call(name("collections", "OrderedDict"), b"h\x01") * 3000,
        "the same text encoded again and again": text("x" * 10**6)
        + b"q\x01"
        + call(name("_codecs", "encode"), b"h\x01", text("latin1")) * 1000,
        "the same size again and again": long_list + call(name("torch", "Size"), b"h\x01") * 1000,
        "state set again and again": b"}("
        + b"".join(text(f"a{i}") + b"N" for i in range(20_000))
        + b"uq\x010"
        + hooks()
        + b"h\x01b" * 20_000,
        "sets by the million": b"\x8f" * 1_000_000,
        "memo by the million": b"N" + b"\x94" * 2_500_000,
        "a tensor of many dimensions": tensor(size=(1,) * 65, stride=(1,) * 65),
        "conjugate of a number repeated": call(
            name("torch._utils", "_rebuild_tensor_v2"),
            storage(),
            number(0),
            many(number(10**12)),
            many(number(0)),
            b"\x89",
            hooks(),
            b"}" + text("conj") + b"\x88s",
        ),
    }


def bad_tensors():
    """Tensors that would reach outside of their storage."""
    return {
        "too long": tensor(size=(5,)),
        "offset beyond": tensor(offset=1),
        "offset huge": tensor(offset=2**62),
        "offset negative": tensor(offset=-1),
        "offset of 200 digits": tensor(offset=10**200),
        "size negative": tensor(size=(-4,)),
        "sizes that overflow": tensor(size=(2**32, 2**32), stride=(0, 0)),
        "stride beyond": tensor(size=(2,), stride=(4,)),
        "stride huge": tensor(size=(2,), stride=(2**62,)),
        "stride negative": tensor(offset=3, size=(4,), stride=(-1,)),
        "strides that wrap": tensor(size=(3, 2), stride=(2**63 - 1, 2)),
        "strides missing": tensor(size=(2, 2), stride=(1,)),
        "size of None": call(
            name("torch._utils", "_rebuild_tensor_v2"), storage(), number(0), many(b"N"), many(b"N"), b"\x89", hooks()
        ),
        "wider than its storage": tensor(size=(4,), kind="DoubleStorage"),
        "storage larger than its record": tensor(size=(1000,), count=1000),
        "storage smaller than its record": tensor(size=(1,), count=1),
        "storage of negative size": tensor(size=(0,), count=-4),
        "storage of 16 EB": tensor(size=(4,), count=2**62),
        "storage that is not there": tensor(key="17"),
        "storage with a path for a key": tensor(key="../../../../etc/passwd"),
        "storage on a device unknown": tensor(location="tpu:0"),
        "storage of a quantized type": tensor(kind="QUInt8Storage"),
        "storage that is a number": tensor(made_of=number(3)),
        "one storage of two sizes": many(tensor(), tensor(count=2, size=(2,))),
        "parameter of a list": call(name("torch._utils", "_rebuild_parameter"), b"]", b"\x88", hooks()),
        "parameter of integers": call(
            name("torch._utils", "_rebuild_parameter"), tensor(kind="IntStorage"), b"\x88", hooks()
        ),
        "kind of tensor that tocha lacks": call(name("torch._utils", "_rebuild_qtensor"), storage()),
        "dtype that tocha lacks": name("torch", "float8_e5m2"),
        "type without a storage": call(
            name("torch._utils", "_rebuild_tensor_v3"),
            storage("UntypedStorage", count=16),
            number(0),
            many(number(4)),
            many(number(1)),
            b"\x89",
            hooks(),
            text("float32"),
        ),
    }


def broken_pickles():
    return {
        "empty": b"",
        "nothing on the stack": b"\x80\x02.",
        "cut off": whole(tensor())[:-20],
        "cut off in a number": b"\x80\x02J\x00",
        "protocol 200": b"\x80\xc8N.",
        "memo never written": whole(b"h\x05"),
        "mark never set": whole(b"t"),
        "text that is not UTF-8": whole(b"X\x01\x00\x00\x00\xff"),
        "unhashable key": whole(b"}]Ns"),
        "list as arguments": whole(name("collections", "OrderedDict") + b"]R"),
        "opcode unknown": whole(b"\xff"),
        "name that never ends": b"\x80\x02c" + b"a" * 5000,
        "attributes of a list": whole(b"]}b"),
    }


def broken_archives():
    good = archive(whole(tensor()))
    directory = good.index(b"PK\x01\x02")
    nested = archive(whole(b"N"), {f"data/{i}": b"x" for i in range(20)})
    return {
        "cut off in the directory": good[:-30],
        "cut off in a record": good[:100],
        "directory alone": good[directory:],
        "magic alone": b"PK\x03\x04",
        "magic and noise": b"PK\x03\x04" + bytes(range(256)) * 8,
        "something before it": b"PK\x03\x04 not the beginning" + good,
        "compressed": archive(whole(tensor()), {"data/0": bytes(2**20)}, compress=zipfile.ZIP_DEFLATED),
        "zip bomb": archive(whole(tensor(count=2**26)), {"data/0": bytes(2**28)}, compress=zipfile.ZIP_DEFLATED),
        "said to be of 4 GB": resized(good, "archive/data/0", 2**32 - 2),
        "records that overlap": overlapping(nested),
        "a record twice": zipped([("archive/data.pkl", whole(tensor())), *[("archive/data/0", bytes(16))] * 2]),
        "damaged data": good.replace(bytes(16), b"\x01" + bytes(15), 1),
        "no pickle": archive(whole(b"N")).replace(b"data.pkl", b"data.pkk"),
        "byte order unknown": good.replace(b"little", b"middle"),
        "names above the folder": zipped([("../../x/data.pkl", whole(b"N"))]),
        "absolute names": zipped([("/etc/passwd", b"root")]),
        "another name in the record": good.replace(b"archive/data/0", b"archive/data/1", 1),
        "TorchScript": archive(whole(b"N"), {"constants.pkl": whole(b"N")}),
        "NumPy's": npz(),
        "Java's": zipped([("META-INF/MANIFEST.MF", b"Manifest-Version: 1.0\n"), ("A.class", b"\xca\xfe\xba\xbe")]),
        "empty archive": b"PK\x05\x06" + bytes(18),
    }


def resized(data, path, size):
    """The directory's entry for a record, saying another size."""
    entry = data.rindex(path.encode(), data.index(b"PK\x01\x02")) - 46
    return data[: entry + 20] + struct.pack("<II", size, size) + data[entry + 28 :]


def overlapping(data):
    """All records lie on the first one."""
    first = data.index(b"archive/data/0") - 30
    begin = data.index(b"PK\x01\x02")
    out = bytearray(data)
    for i in range(1, 20):
        entry = data.index(f"archive/data/{i}".encode(), begin) - 46
        out[entry + 42 : entry + 46] = struct.pack("<I", first)
    return bytes(out)


def npz():
    buffer = io.BytesIO()
    np.savez(buffer, a=np.ones(3))
    return buffer.getvalue()


def npy():
    buffer = io.BytesIO()
    np.save(buffer, np.ones(3))
    return buffer.getvalue()


def tar():
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as file:
        for path in ("storages", "tensors", "pickle", f"../{SENTINEL}"):
            entry = tarfile.TarInfo(path)
            entry.size = 4
            file.addfile(entry, io.BytesIO(b"data"))
    return buffer.getvalue()


def foreign():
    return {
        "nothing": b"",
        "one byte": b"\x80",
        "HTML": b"<!DOCTYPE html><html><body>404 Not Found</body></html>",
        "JSON": b'{"weights": [1, 2, 3]}',
        "text": b"just some text\n" * 100,
        "zeros": bytes(4096),
        "noise": np.random.RandomState(0).bytes(4096),
        "NumPy array": npy(),
        "gzip": gzip.compress(archive(whole(tensor()))),
        "PNG": b"\x89PNG\r\n\x1a\n" + bytes(64),
        "Git LFS pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n",
        "tar of PyTorch 0.1": tar(),
        "safetensors by another name": struct.pack("<Q", 2) + b"{}",
        "pickle of another kind": pickle.dumps({"a": 1}, 2),
        "pickle of protocol 5": pickle.dumps([1, 2, 3], 5),
    }


def bad_legacy():
    good = legacy(whole(old_tensor()))
    view = many(text("v"), number(2), number(10))
    return {
        "magic number": legacy(whole(b"N"), magic=17),
        "magic that is a list": legacy(whole(b"N"), magic=[1]),
        "version": legacy(whole(b"N"), version=1000),
        "cut off after the magic": good[:20],
        "cut off in the data": good[:-4],
        "cut off before the data": good[:-20],
        "storage of a terabyte": legacy(whole(old_tensor(count=2**38))),
        "storage of another size": legacy(whole(old_tensor(count=3, size=(3,)))),
        "size negative": legacy(whole(old_tensor()), storages=struct.pack("<q", -4) + bytes(16)),
        "size of 16 EB": legacy(whole(old_tensor()), storages=struct.pack("<q", 2**62) + bytes(16)),
        "keys that are none": legacy(whole(old_tensor()), keys=()),
        "keys of others": legacy(whole(old_tensor()), keys=("0", "1")),
        "key twice": legacy(whole(old_tensor()), keys=("0", "0")),
        "key of 5000 digits": legacy(whole(old_tensor()), keys=(10**5000,)),
        "tensor beyond its storage": legacy(whole(old_tensor(size=(5,)))),
        "view beyond its storage": legacy(whole(old_tensor(view=view))),
        "view that is a number": legacy(whole(old_tensor(view=number(3)))),
        "code": legacy(whole(call(name("os", "system"), text(f"touch {SENTINEL}")))),
        "code before the object": pickle.dumps(0, 2)[:2] + call(name("os", "system"), text(f"touch {SENTINEL}")) + b".",
        "code in the keys": legacy(whole(b"N")).replace(
            pickle.dumps(["0"], 2), whole(call(name("os", "system"), text(f"touch {SENTINEL}")))
        ),
        "a module's source": legacy(
            whole(many(text("module"), name("builtins", "exec"), text("f.py"), text(COMMAND)) + b"Q")
        ),
    }


def bad_safetensors():
    def made(header, data=b""):
        head = json.dumps(header).encode()
        return struct.pack("<Q", len(head)) + head + data

    entry = {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}
    return {
        "empty": b"",
        "header of 16 EB": struct.pack("<Q", 2**64 - 1) + b"{}",
        "header beyond the file": struct.pack("<Q", 10**6) + b"{}",
        "header that is no JSON": struct.pack("<Q", 4) + b"abcd",
        "data missing": made({"a": entry}),
        "data left over": made({"a": entry}, bytes(20)),
        "shape of another size": made({"a": {**entry, "shape": [2**40]}}, bytes(16)),
        "shape that overflows": made({"a": {**entry, "shape": [2**63, 2**63]}}, bytes(16)),
        "tensors that overlap": made({"a": entry, "b": entry}, bytes(16)),
        "offsets backwards": made({"a": {**entry, "data_offsets": [16, 0]}}, bytes(16)),
        "type unknown": made({"a": {**entry, "dtype": "F31"}}, bytes(16)),
        "type that tocha lacks": made({"a": {"dtype": "F8_E5M2", "shape": [4], "data_offsets": [0, 4]}}, bytes(4)),
    }


def folder():
    files = {f"pickle, {k}.pt": archive(v) for k, v in broken_pickles().items()}
    for kind, bodies in (("code", code_runners()), ("large", too_large()), ("tensor", bad_tensors())):
        files |= {f"{kind}, {k}.pt": archive(whole(v)) for k, v in bodies.items()}
    files |= {f"old code, {k}.pt": legacy(whole(v), keys=(), storages=b"") for k, v in code_runners().items()}
    files |= {f"archive, {k}.pt": v for k, v in broken_archives().items()}
    files |= {f"foreign, {k}.pt": v for k, v in foreign().items()}
    files |= {f"old, {k}.pt": v for k, v in bad_legacy().items()}
    files |= {f"safetensors, {k}.safetensors": v for k, v in bad_safetensors().items()}
    return files


FILES = folder()


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Commands in files would leave their mark here."""
    monkeypatch.chdir(tmp_path)


def errors_of(filename):
    if not filename.endswith(".safetensors"):
        return ERRORS
    from safetensors import SafetensorError

    return (*ERRORS, SafetensorError)


@pytest.mark.parametrize("filename", FILES)
def test_one_clear_error_and_nothing_run(filename, tmp_path):
    path = tmp_path / filename
    path.write_bytes(FILES[filename])
    before = set(tmp_path.iterdir())
    with pytest.raises(errors_of(filename)) as caught:
        tocha.load(path)
    assert len(str(caught.value)) > 10 and len(str(caught.value)) < 2000
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize("filename", [f for f in FILES if f.startswith(("large", "tensor", "archive", "old, "))])
def test_memory_and_time_stay_with_the_file_s_size(filename, tmp_path):
    path = tmp_path / filename
    path.write_bytes(FILES[filename])
    tracemalloc.start()
    begin = time.perf_counter()
    try:
        with pytest.raises(ERRORS):
            tocha.load(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert time.perf_counter() - begin < 60
    assert peak < 2**24 + 250 * len(FILES[filename])


@pytest.mark.parametrize("filename", [f for f in FILES if f.startswith(("tensor", "archive")) and "damaged" not in f])
def test_mapping_checks_the_same(filename, tmp_path):
    """But for checksums: to compute them would be to read the file."""
    path = tmp_path / filename
    path.write_bytes(FILES[filename])
    with pytest.raises(ERRORS):
        tocha.load(path, mmap=True)


def test_files_in_memory_are_refused_like_files_with_a_path():
    for filename, data in FILES.items():
        if filename.endswith(".pt"):
            with pytest.raises(ERRORS):
                tocha.load(io.BytesIO(data))


def test_the_whole_folder_fits_into_a_gigabyte(tmp_path):
    resource = pytest.importorskip("resource", reason="limits of a process need Unix")
    for filename, data in FILES.items():
        (tmp_path / filename).write_bytes(data)
    code = """
import pathlib, resource, sys, tocha
import ml_dtypes, safetensors, tocha.nn
limit = 2**30 + int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
loaded = 0
for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    try:
        tocha.load(path)
        loaded += 1
    except MemoryError:
        raise SystemExit(f"{path.name} needs more than a gigabyte")
    except Exception:
        pass
print(loaded, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""
    if not sys.platform.startswith("linux"):
        pytest.skip("the size of a process is read from /proc")
    run = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr
    loaded, megabytes = map(int, run.stdout.split())
    assert loaded == 0
    assert megabytes < 1024
    assert resource and not (tmp_path / SENTINEL).exists()


def mutated(data, random):
    data = bytearray(data)
    for _ in range(random.choice([1, 1, 2, 5])):
        i, j = random.randrange(len(data)), random.randrange(len(data))
        change = random.randrange(4)
        if change == 0:
            data[i] = random.randrange(256)
        elif change == 1:
            data[i] = random.choice(b"cRQbtsue(q\x85\x86\x87\x93\x81hK.)]}0")
        elif change == 2:
            del data[i : i + random.randrange(1, 6)]
        else:
            data[i:i] = data[j : j + random.randrange(1, 30)]
    return bytes(data)


@pytest.mark.parametrize("seed", range(3))
def test_files_of_pytorch_with_random_damage(seed):
    """Each loads, or is refused in one of the ways that it may be."""
    random = Random(seed)
    old, new = (DATA / "legacy.pt").read_bytes(), (DATA / "zip.pt").read_bytes()
    with zipfile.ZipFile(io.BytesIO(new)) as file:
        records = {path.partition("/")[2]: file.read(path) for path in file.namelist()}
    body = records.pop("data.pkl")
    refused = 0
    for _ in range(150):
        for data in (mutated(old, random), mutated(new, random), archive(mutated(body, random), records)):
            try:
                tocha.load(io.BytesIO(data))
            except ERRORS:
                refused += 1
    assert refused > 300


def test_a_device_file_is_not_read_for_ever():
    with pytest.raises(RuntimeError, match="not a regular file"):
        tocha.load("/dev/zero")


def test_the_commands_do_run_where_code_is_asked_for(tmp_path):
    """The sentinel works: else the tests above would prove nothing."""
    (tmp_path / "trusted.pt").write_bytes(FILES["code, exec.pt"])
    tocha.load(tmp_path / "trusted.pt", weights_only=False)
    assert (tmp_path / SENTINEL).exists()


def test_the_good_file_beside_the_bad_ones_loads():
    loaded = tocha.load(io.BytesIO(archive(whole(tensor()))))
    assert loaded.tolist() == [0.0] * 4
    loaded = tocha.load(io.BytesIO(legacy(whole(old_tensor()))))
    assert loaded.tolist() == [0.0] * 4
