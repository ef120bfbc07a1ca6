"""Tensors in safetensors files, which hold nothing else: PyTorch-style functions over the safetensors library.

Source: https://huggingface.co/docs/safetensors/api/torch
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from . import _bridge
from ._files import writing

_NAMES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32",
    "I16": "int16", "I8": "int8", "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8", "BOOL": "bool",
    "C64": "complex64",
}  # fmt: skip


def load_file(filename: str | os.PathLike, device: Any = "cpu") -> dict[str, Any]:
    """The tensors of a file by name, in the order of the names.

    Args:
        filename: path of the file.
        device: where the tensors go.

    Raises:
        safetensors.SafetensorError: the file is damaged or no safetensors.
        RuntimeError: a tensor has a dtype that tocha lacks.
        OSError: the file cannot be read.

    Example:
        >>> import os, tempfile, tocha
        >>> from tocha.serialization import safetensors
        >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
        >>> safetensors.save_file({"weight": tocha.ones(2)}, path)
        >>> safetensors.load_file(path)
        {'weight': tensor([1., 1.])}
    """
    import ml_dtypes  # noqa: F401  (makes "bfloat16" a name of NumPy's, which the library looks up)
    from safetensors import safe_open

    with safe_open(filename, framework="np") as file:
        names = sorted(file.keys())
        for name in names:
            _check_dtype(name, file.get_slice(name).get_dtype())
        return {name: _bridge.tensor_of(file.get_tensor(name), False).to(device) for name in names}


def load(data: bytes) -> dict[str, Any]:
    """The tensors of a file's bytes by name, in the order of the names.

    Raises:
        safetensors.SafetensorError: the bytes are damaged or no safetensors.
        RuntimeError: a tensor has a dtype that tocha lacks.
    """
    from safetensors import deserialize

    from ._storage import named_dtype

    tensors = {}
    for name, entry in sorted(deserialize(bytes(data)), key=lambda item: item[0]):
        _check_dtype(name, entry["dtype"])
        flat = np.frombuffer(entry["data"], named_dtype(_NAMES[entry["dtype"]]).np)
        tensors[name] = _bridge.tensor_of(flat.reshape(entry["shape"]), False)
    return tensors


def save_file(tensors: dict[str, Any], filename: str | os.PathLike, metadata: dict[str, str] | None = None) -> None:
    """Write tensors to a file, which appears when it is complete.

    Args:
        tensors: contiguous tensors by name, of which no two share memory.
        filename: path of the file.
        metadata: texts for the file's header.

    Raises:
        ValueError: ``tensors`` is no dict of contiguous dense tensors.
        RuntimeError: two tensors share memory.
    """
    from safetensors.numpy import save_file as write

    arrays = _arrays(tensors)
    with writing(filename) as file:
        write(arrays, file.name, metadata=metadata)


def save(tensors: dict[str, Any], metadata: dict[str, str] | None = None) -> bytes:
    """A file's bytes; arguments and errors as for ``save_file``."""
    from safetensors.numpy import save as to_bytes

    return to_bytes(_arrays(tensors), metadata=metadata)


def _check_dtype(name: str, dtype: str) -> None:
    if dtype not in _NAMES:
        raise RuntimeError(f"tensor {name[:100]!r} of the file has dtype {dtype}, which tocha does not have")


def _arrays(tensors: Any) -> dict[str, np.ndarray]:
    if not isinstance(tensors, dict):
        raise ValueError(f"Expected a dict of [str, tocha.Tensor] but received {type(tensors)}")
    owners: dict[tuple, list[str]] = {}
    for name, tensor in tensors.items():
        if not isinstance(tensor, _bridge.tensor_class()):
            raise ValueError(f"Key `{name}` is invalid, expected tocha.Tensor but received {type(tensor)}")
        if _bridge.is_sparse(tensor):
            raise ValueError(f"Key `{name}` is a sparse tensor, which safetensors does not have: use .to_dense()")
        if not tensor.is_contiguous():
            raise ValueError(f"Key `{name}` is a non contiguous tensor: call .contiguous() on it before saving")
        if tensor.numel():
            storage = _bridge.strided(tensor._data).storage
            owners.setdefault((str(storage.device), storage.data_ptr()), []).append(name)
    shared = [names for names in owners.values() if len(names) > 1]
    if shared:
        raise RuntimeError(
            f"Some tensors share memory, which safetensors cannot say: {shared}. Save one of them, or clones"
        )
    return {name: _bridge.host_array(tensor) for name, tensor in tensors.items()}
