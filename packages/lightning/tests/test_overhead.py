"""What the Trainer adds to a step, counted in calls rather than in noisy microseconds; and that nothing piles up."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from typing import Any

import pytest

import tocha
import tocha_lightning as L
from tocha_lightning.loggers import CSVLogger


class Nothing(L.LightningModule):
    def __init__(self, log: bool) -> None:
        super().__init__()
        self.weight = tocha.nn.Parameter(tocha.ones(1))
        self.wanted = log

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        loss = self.weight.sum()
        if self.wanted:
            self.log("loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self) -> Any:
        return tocha.optim.SGD(self.parameters(), lr=0.1)


class Batches:
    def __init__(self, number: int) -> None:
        self.number = number
        self.batch = tocha.ones(1)

    def __len__(self) -> int:
        return self.number

    def __iter__(self) -> Any:
        return iter([self.batch] * self.number)


def calls(run: Any) -> int:
    """How many functions of tocha_lightning, and built-in ones called by them, `run` calls."""
    count = 0

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        if event in ("call", "c_call") and "tocha_lightning" in frame.f_code.co_filename:
            count += 1

    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


def per_step(**arguments: Any) -> float:
    def run(number: int) -> int:
        trainer = L.Trainer(max_epochs=1, accelerator="cpu", **arguments)
        return calls(lambda: trainer.fit(Nothing("barebones" not in arguments), Batches(number)))

    run(2)
    return (run(110) - run(10)) / 100


@pytest.mark.filterwarnings("ignore:The number of training batches")
def test_calls_of_a_step(tmp_path: Any) -> None:
    # a call takes about 0.1 microseconds
    bare = per_step(barebones=True)
    assert bare < 130, bare
    full = per_step(
        logger=CSVLogger(tmp_path), enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False
    )
    assert full < 190, full


def test_memory_does_not_grow(tmp_path: Any) -> None:
    sizes: list[int] = []

    class Measure(L.Callback):
        def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
            if trainer.current_epoch in (40, 120):
                gc.collect()
                sizes.append(tracemalloc.get_traced_memory()[0])

    trainer = L.Trainer(
        max_epochs=121, accelerator="cpu", logger=CSVLogger(tmp_path), callbacks=[Measure()], log_every_n_steps=2,
        enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False,
    )  # fmt: skip
    tracemalloc.start()
    try:
        trainer.fit(Nothing(True), Batches(3))
    finally:
        tracemalloc.stop()
    assert sizes[1] - sizes[0] < 20_000
