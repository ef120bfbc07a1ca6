"""The IDX file format, in which MNIST and its relatives are published: http://yann.lecun.com/exdb/mnist/"""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from pathlib import Path

import numpy as np

TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
GZIP = b"\x1f\x8b"


def read_idx(path: Path, ndim: int) -> np.ndarray:
    """The array of ``ndim`` dimensions in an IDX file, gzipped or not, in the machine's byte order.

    Raises ``RuntimeError``, which names the file, if it is not a whole IDX file with that number of dimensions.
    """
    content = path.read_bytes()
    if content.startswith(GZIP):
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise RuntimeError(f"{path} is damaged ({error}); remove it and fetch it again") from error
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in TYPES or content[3] != ndim:
        raise RuntimeError(f"{path} is not an IDX file of {ndim} dimensions; it begins with {content[:4].hex(' ')}")
    start = 4 + 4 * ndim
    shape = struct.unpack(f">{ndim}I", content[4:start].ljust(4 * ndim, b"\0"))
    dtype = np.dtype(TYPES[content[2]])
    expected = start + math.prod(shape) * dtype.itemsize
    if len(content) != expected:
        raise RuntimeError(f"{path} is damaged: expected {expected} bytes for the shape {shape}, got {len(content)}")
    array = np.frombuffer(content, dtype, offset=start).reshape(shape)
    return array.astype(dtype.newbyteorder("="))
