"""Fetching files: checked, with progress, and never half there."""

from __future__ import annotations

import hashlib
import http.client
import os
import sys
import time
import urllib.request
from pathlib import Path

CHUNK = 1 << 16
TIMEOUT = 30  # seconds without a byte


def download(url: str, path: Path, md5: str) -> None:
    """Writes what ``url`` gives to ``path``, which appears only when it is whole and its MD5 sum is right.

    Raises ``OSError`` if the server cannot be reached or says no, or if what came is not what was expected.
    """
    request = urllib.request.Request(url, headers={"User-Agent": "tocha"})
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.md5(usedforsecurity=False)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response, open(temporary, "wb") as file:
            progress = Progress(path.name, int(response.headers.get("Content-Length") or 0))
            while chunk := response.read(CHUNK):
                file.write(chunk)
                digest.update(chunk)
                progress.advance(len(chunk))
            progress.close()
        if digest.hexdigest() != md5:
            raise OSError(f"what came has the MD5 sum {digest.hexdigest()}, expected {md5}")
        os.replace(temporary, path)
    except http.client.HTTPException as error:
        raise OSError(f"the connection broke off ({error!r})") from error
    finally:
        temporary.unlink(missing_ok=True)


class Progress:
    """One line on the standard error: how much of a file is here, and how fast it comes."""

    def __init__(self, name: str, total: int) -> None:
        self.name, self.total = name, total
        self.done, self.start, self.shown = 0, time.monotonic(), 0.0

    def advance(self, size: int) -> None:
        self.done += size
        now = time.monotonic()
        if sys.stderr.isatty() and now - self.shown > 0.1:
            self.shown = now
            print(f"\r{self}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        print(f"\r{self}" if sys.stderr.isatty() else str(self), file=sys.stderr, flush=True)

    def __str__(self) -> str:
        rate = self.done / max(time.monotonic() - self.start, 1e-6) / 1e6
        if self.total:
            return f"{self.name} {self.done / self.total:6.1%} of {self.total / 1e6:.1f} MB, {rate:.1f} MB/s"
        return f"{self.name} {self.done / 1e6:.1f} MB, {rate:.1f} MB/s"
