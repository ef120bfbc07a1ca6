"""What core contributes to ``tocha doctor``: each check returns (label, value) pairs, or raises with the reason."""

from __future__ import annotations

import importlib.util
import platform
import sys
from collections.abc import Iterator
from importlib import metadata
from typing import Any

Lines = Iterator[tuple[str, str]]


def versions() -> Lines:
    """Python, the libraries that core computes with, and the BLAS that NumPy calls."""
    yield "python", f"{platform.python_version()} on {platform.system()} {platform.machine()} ({sys.executable})"
    for name in ("tocha", "numpy", "scipy", "ml_dtypes", "safetensors", "pluggy"):
        yield name, metadata.version(name)
    for name in ("llvmlite", "mpi4py"):
        if importlib.util.find_spec(name) is not None:
            yield name, metadata.version(name)
    yield "BLAS", blas()


def blas() -> str:
    """The BLAS in use with its number of threads where threadpoolctl tells, else the one that NumPy was built with."""
    import numpy as np

    if importlib.util.find_spec("threadpoolctl") is not None:
        import threadpoolctl

        pools = [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
        if pools:
            return "; ".join(
                f"{pool['internal_api']} {pool['version']}, {pool.get('architecture', 'unknown')} kernels, "
                f"{pool['num_threads']} threads" for pool in pools
            )
    configuration: Any = np.show_config(mode="dicts")
    built = configuration["Build Dependencies"]["blas"]
    return f"{built.get('name', 'unknown')} {built.get('version', '')}, as NumPy was built"


def core() -> Lines:
    """One forward and backward pass whose result is known, and a random stream that is."""
    import tocha

    x = tocha.tensor([[1.0, -2.0], [3.0, 0.5]], requires_grad=True)
    (gradient,) = tocha.autograd.grad(((x @ x.T).relu() * x).sum(), x)
    expect("gradient of a small graph", gradient.tolist(), [[10.0, -1.5], [6.0, 7.75]])
    yield "autograd", "the gradient of a small graph is right"
    generator = tocha.Generator().manual_seed(0)
    expect("first draw of seed 0", tocha.rand(1, generator=generator).item(), 0.49625658988952637)
    yield "random", "seed 0 draws what PyTorch's seed 0 draws"


def expect(what: str, got: object, expected: object) -> None:
    if got != expected:
        raise AssertionError(f"{what}: expected {expected}, got {got}")


def devices() -> Lines:
    """The devices that tensors can live on, and why CUDA is not among them where it is not."""
    import tocha

    yield "cpu", platform.processor() or platform.machine()
    try:
        tocha.zeros(1, device="cuda")
    except RuntimeError as error:
        yield "cuda", f"not available: {error}"
    else:
        for index in range(tocha.cuda.device_count()):
            yield f"cuda:{index}", tocha.cuda.get_device_name(index)


def kernels() -> Lines:
    """How many operators there are, and which of them run on something else than the array library's own kernel."""
    import tocha  # noqa: F401  (registers the operators)
    from tocha._core.record import OPS

    yield "operators", str(len(OPS))
    replaced: dict[str, list[str]] = {}
    for op in OPS.values():
        for device_type, kernel in op.overrides.items():
            replaced.setdefault(f"{device_type}: {kernel.__module__}", []).append(op.name)
    for source, names in sorted(replaced.items()):
        yield source, ", ".join(sorted(names))
    if not replaced:
        yield "replaced", "none: all run on NumPy and CuPy as they are"
