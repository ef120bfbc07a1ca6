"""Streams and events of CUDA, over CuPy's."""

from __future__ import annotations

from typing import Any

from .devices import module


class Stream:
    """A queue of work on a device."""

    def __init__(self, device: Any = None, priority: int = 0, *, wrapped: Any = None) -> None:
        self._stream = module().cuda.Stream(non_blocking=True) if wrapped is None else wrapped

    def synchronize(self) -> None:
        """Wait until the queue is empty."""
        self._stream.synchronize()

    def query(self) -> bool:
        """Whether the queue is empty."""
        return self._stream.done

    def wait_stream(self, stream: Stream) -> None:
        """Let later work here wait for what ``stream`` has queued so far."""
        self.wait_event(stream.record_event())

    def wait_event(self, event: Event) -> None:
        """Let later work here wait for an event."""
        self._stream.wait_event(event._event)

    def record_event(self, event: Event | None = None) -> Event:
        """Put an event in the queue."""
        made = Event() if event is None else event
        made.record(self)
        return made

    def __enter__(self) -> Stream:
        self._stream.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._stream.__exit__(*error)


class Event:
    """A mark in a stream: to wait for, or to measure time between two (``enable_timing``)."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        self._event = module().cuda.Event(block=blocking, disable_timing=not enable_timing, interprocess=interprocess)

    def record(self, stream: Stream | None = None) -> None:
        """Put the mark in a stream, the current one by default."""
        self._event.record(None if stream is None else stream._stream)

    def query(self) -> bool:
        """Whether the mark has been reached."""
        return self._event.done

    def wait(self, stream: Stream | None = None) -> None:
        """Let later work of a stream wait for the mark."""
        (current_stream() if stream is None else stream)._stream.wait_event(self._event)

    def synchronize(self) -> None:
        """Wait for the mark."""
        self._event.synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds between two marks."""
        return module().cuda.get_elapsed_time(self._event, end_event._event)


def current_stream(device: Any = None) -> Stream:
    """The stream that work goes to."""
    return Stream(wrapped=module().cuda.get_current_stream())


def default_stream(device: Any = None) -> Stream:
    """The device's own stream."""
    return Stream(wrapped=module().cuda.Stream.null)


def set_stream(stream: Stream) -> None:
    """Send work to ``stream`` from now on."""
    stream._stream.use()


class StreamContext:
    """Send work to a stream inside a ``with`` block; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, *error: Any) -> None:
        if self.stream is not None:
            self.stream.__exit__(*error)


def stream(stream: Stream | None) -> StreamContext:
    """``with tocha.cuda.stream(s):`` sends the block's work to ``s``."""
    return StreamContext(stream)
