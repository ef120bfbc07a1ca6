"""Batches from a worker process to the loader's, through shared memory.

A batch is pickled with its arrays out of band. Large arrays are written into an anonymous memory file (``memfd``) whose
descriptor goes over the connection's socket: the loader maps the file and its arrays lie in it, without another copy.
The file has no name, so nothing is left behind however a process ends, and the memory is free when the last array is.
Small batches, and systems without ``memfd``, send the bytes over the connection.
"""

from __future__ import annotations

import array
import mmap
import os
import pickle
import socket
from typing import Any

# Below this, sending the bytes is faster than making and mapping a file.
SHARED_FROM = 64 * 1024
ALIGNMENT = 64
_HAS_MEMFD = hasattr(os, "memfd_create") and hasattr(socket, "AF_UNIX") and hasattr(socket, "SCM_RIGHTS")


class Channel:
    """One end of a connection between the loader and a worker.

    Args:
        connection: a ``multiprocessing`` connection that both ways lead over.
    """

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self._socket: socket.socket | None = None

    def send(self, message: Any) -> None:
        """Send anything picklable.

        Raises:
            OSError: the other end is gone.
        """
        buffers: list[pickle.PickleBuffer] = []
        data = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
        views = [buffer.raw() for buffer in buffers]
        sizes = [view.nbytes for view in views]
        shared = _HAS_MEMFD and sum(sizes) >= SHARED_FROM
        descriptor = _filled_file(views, sizes) if shared else None
        try:
            self.connection.send_bytes(pickle.dumps((data, sizes, shared)))
            if descriptor is not None:
                rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))
                self._wire().sendmsg([b"f"], [rights])
            else:
                for view in views:
                    self.connection.send_bytes(view)
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def receive(self) -> Any:
        """The next message; waits for it.

        Raises:
            EOFError, OSError: the other end is gone.
        """
        data, sizes, shared = pickle.loads(self.connection.recv_bytes())
        if shared:
            return pickle.loads(data, buffers=_mapped_file(self._receive_descriptor(), sizes))
        buffers = []
        for size in sizes:
            buffer = bytearray(size)
            self.connection.recv_bytes_into(buffer)
            buffers.append(buffer)
        return pickle.loads(data, buffers=buffers)

    def _receive_descriptor(self) -> int:
        received = array.array("i")
        byte, ancillary, _, _ = self._wire().recvmsg(1, socket.CMSG_SPACE(received.itemsize))
        if not byte:
            raise EOFError
        for level, kind, content in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                received.frombytes(content[: received.itemsize])
        if not received:
            raise RuntimeError(
                "Too many open files. Communication with the workers is no longer possible. Please increase the limit "
                "using `ulimit -n` in the shell"
            )
        return received[0]

    def _wire(self) -> socket.socket:
        if self._socket is None:
            self._socket = socket.socket(fileno=os.dup(self.connection.fileno()))
        return self._socket

    def close(self) -> None:
        """Close this end."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self.connection.close()


def _offsets(sizes: list[int]) -> tuple[list[int], int]:
    starts, end = [], 0
    for size in sizes:
        starts.append(end)
        end += -(-size // ALIGNMENT) * ALIGNMENT
    return starts, end


def _filled_file(views: list[memoryview], sizes: list[int]) -> int:
    """An anonymous file with the contents of the buffers."""
    starts, end = _offsets(sizes)
    descriptor = os.memfd_create("tocha-batch", os.MFD_CLOEXEC)
    try:
        os.ftruncate(descriptor, end)
        with mmap.mmap(descriptor, end) as memory:
            for view, start, size in zip(views, starts, sizes, strict=True):
                memory[start : start + size] = view
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _mapped_file(descriptor: int, sizes: list[int]) -> list[memoryview]:
    """The buffers that a received file holds; the memory lives as long as one of them."""
    starts, end = _offsets(sizes)
    try:
        flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
        memory = memoryview(mmap.mmap(descriptor, end, flags=flags))
    finally:
        os.close(descriptor)
    return [memory[start : start + size] for start, size in zip(starts, sizes, strict=True)]
