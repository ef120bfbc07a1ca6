"""One seed for every random generator, and keeping generators as they were."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import tocha
from tocha_lightning.utilities.rank_zero import rank_zero_info, rank_zero_warn

MAX_SEED = 2**32 - 1


def seed_everything(seed: int | None = None, workers: bool = False, verbose: bool = True) -> int:
    """Seed Python's `random`, NumPy's global generator and tocha's generators (CPU and CUDA).

    Args:
        seed: from 0 to 4294967295. Without it the environment variable ``PL_GLOBAL_SEED`` is used, else 0.
        workers: seed the workers of every DataLoader given to the Trainer, each with a stream of its own.
        verbose: say so in the log.

    Returns:
        The seed in use. It is also written to ``PL_GLOBAL_SEED`` for processes started from here.

    Raises:
        ValueError: the seed is out of range.

    >>> seed_everything(7, verbose=False)
    7
    """
    if seed is None:
        text = os.environ.get("PL_GLOBAL_SEED")
        if text is None:
            seed = 0
            rank_zero_warn(f"No seed found, seed set to {seed}")
        else:
            try:
                seed = int(text)
            except ValueError:
                raise ValueError(f"Invalid seed found in the environment variable PL_GLOBAL_SEED: {text!r}") from None
    seed = int(seed)
    if not 0 <= seed <= MAX_SEED:
        raise ValueError(f"{seed} is not in bounds, numpy accepts from 0 to {MAX_SEED}")
    if verbose:
        rank_zero_info(f"Seed set to {seed}")
    os.environ["PL_GLOBAL_SEED"] = str(seed)
    os.environ["PL_SEED_WORKERS"] = str(int(workers))
    random.seed(seed)
    np.random.seed(seed)
    tocha.manual_seed(seed)
    return seed


def reset_seed(verbose: bool = False) -> None:
    """Go back to the seed that `seed_everything` set last; does nothing if it never ran."""
    seed = os.environ.get("PL_GLOBAL_SEED")
    if seed is not None:
        seed_everything(int(seed), workers=bool(int(os.environ.get("PL_SEED_WORKERS", "0"))), verbose=verbose)


def collect_rng_states() -> dict[str, Any]:
    """The states of all global generators, in types that a checkpoint reads back safely."""
    legacy: Any = np.random.get_state(legacy=False)
    version, python_state, gauss_next = random.getstate()
    states: dict[str, Any] = {
        "tocha": tocha.get_rng_state(),
        "numpy": {
            "name": legacy["bit_generator"],
            "keys": tocha.tensor(legacy["state"]["key"].astype(np.int64)),
            "position": int(legacy["state"]["pos"]),
            "has_gauss": int(legacy["has_gauss"]),
            "gauss": float(legacy["gauss"]),
        },
        "python": {"version": version, "state": list(python_state), "gauss_next": gauss_next},
    }
    if tocha.cuda.is_available():
        states["cuda"] = list(tocha.cuda.get_rng_state_all())
    return states


def set_rng_states(states: dict[str, Any]) -> None:
    """Restore what `collect_rng_states` returned."""
    tocha.set_rng_state(states["tocha"])
    saved = states["numpy"]
    keys = saved["keys"].numpy().astype(np.uint32)
    np.random.set_state((saved["name"], keys, saved["position"], saved["has_gauss"], saved["gauss"]))
    python = states["python"]
    random.setstate((python["version"], tuple(python["state"]), python["gauss_next"]))
    if "cuda" in states and tocha.cuda.is_available():
        tocha.cuda.set_rng_state_all(states["cuda"])


@contextmanager
def isolate_rng() -> Iterator[None]:
    """Leave every global generator as it was found.

    >>> _ = seed_everything(0, verbose=False)
    >>> with isolate_rng():
    ...     a = tocha.rand(1)
    >>> bool((a == tocha.rand(1)).all())
    True
    """
    states = collect_rng_states()
    try:
        yield
    finally:
        set_rng_states(states)


def worker_init_function(worker_id: int, rank: int | None = None) -> None:
    """Give a DataLoader worker its own seeds for Python and NumPy, derived from its tocha seed."""
    from tocha_lightning.utilities.rank_zero import rank_zero_only

    rank = rank_zero_only.rank if rank is None else rank  # type: ignore[attr-defined]
    base = tocha.initial_seed() - worker_id  # the DataLoader seeded this worker with base + worker_id
    sequence = np.random.SeedSequence([base, worker_id, rank])
    np.random.seed(sequence.generate_state(4))
    tocha_part, python_part = sequence.spawn(2)
    tocha.manual_seed(int(tocha_part.generate_state(1, dtype=np.uint64)[0]))
    high, low = python_part.generate_state(2, dtype=np.uint64).tolist()
    random.seed((high << 64) + low)
