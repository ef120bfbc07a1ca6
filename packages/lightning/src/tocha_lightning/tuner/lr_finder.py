"""Finding a learning rate by trying them in increasing order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tocha_lightning.tuner.attributes import set_attribute
from tocha_lightning.tuner.trial import forgotten, train_steps
from tocha_lightning.utilities.exceptions import MisconfigurationException
from tocha_lightning.utilities.rank_zero import log, rank_zero_warn


class LRFinder:
    """The losses at increasing learning rates.

    From Smith, "Cyclical Learning Rates for Training Neural Networks" (2017).

    Args:
        mode: ``"exponential"`` or ``"linear"``.
        lr_min: the first learning rate.
        lr_max: the last one.
        num_training: how many.

    Attributes:
        results: ``"lr"`` and ``"loss"``, lists of the same length; the losses are smoothed.
    """

    def __init__(self, mode: str, lr_min: float, lr_max: float, num_training: int) -> None:
        if mode not in ("linear", "exponential"):
            raise ValueError(f"`mode` should be either 'linear' or 'exponential', got {mode!r}")
        self.mode = mode
        self.lr_min = lr_min
        self.lr_max = lr_max
        self.num_training = num_training
        self.results: dict[str, list[float]] = {"lr": [], "loss": []}
        self._optimal_idx: int | None = None

    def rate(self, step: int) -> float:
        """The learning rate of a step."""
        part = 0.0 if step == 0 else (step + 1) / self.num_training
        if self.mode == "linear":
            return self.lr_min + part * (self.lr_max - self.lr_min)
        return self.lr_min * (self.lr_max / self.lr_min) ** part

    def suggestion(self, skip_begin: int = 10, skip_end: int = 1) -> float | None:
        """The learning rate at which the loss falls most steeply; None where there are too few points.

        Args:
            skip_begin: leave out so many points at the beginning.
            skip_end: leave out so many points at the end.
        """
        indices = range(len(self.results["loss"]))[skip_begin : len(self.results["loss"]) - skip_end]
        finite = [i for i in indices if math.isfinite(self.results["loss"][i])]
        if len(finite) < 2:
            log.error(
                "Failed to compute suggestion for learning rate because there are not enough points. Increase the loop"
                " iteration limits or the size of your dataset/dataloader."
            )
            self._optimal_idx = None
            return None
        losses = np.array([self.results["loss"][i] for i in finite])
        rates = np.array([self.results["lr"][i] for i in finite])
        self._optimal_idx = finite[int(np.gradient(losses, rates).argmin())]
        return self.results["lr"][self._optimal_idx]

    def plot(self, suggest: bool = False, show: bool = False, ax: Any = None) -> Any:
        """A Matplotlib figure of loss against learning rate; with `suggest` the suggestion is marked.

        Raises:
            ModuleNotFoundError: Matplotlib is not installed.
        """
        try:
            import matplotlib.pyplot as plt
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError("`LRFinder.plot` needs Matplotlib: `pip install matplotlib`.") from error
        figure, ax = plt.subplots() if ax is None else (ax.figure, ax)
        ax.plot(self.results["lr"], self.results["loss"])
        if self.mode == "exponential":
            ax.set_xscale("log")
        ax.set_xlabel("Learning rate")
        ax.set_ylabel("Loss")
        if suggest and self.suggestion() is not None:
            i = self._optimal_idx or 0
            ax.plot(self.results["lr"][i], self.results["loss"][i], markersize=10, marker="o", color="red")
        if show:
            plt.show()
        return figure


def lr_find(
    trainer: Any,
    model: Any,
    min_lr: float = 1e-8,
    max_lr: float = 1,
    num_training: int = 100,
    mode: str = "exponential",
    early_stop_threshold: float | None = 4.0,
    update_attr: bool = False,
    attr_name: str = "",
) -> LRFinder | None:
    """Run the search within ``fit``; see `Tuner.lr_find`."""
    if trainer.fast_dev_run:
        rank_zero_warn("Skipping learning rate finder since `fast_dev_run` is enabled.")
        return None
    if update_attr:
        attr_name = lr_attribute(model, attr_name)
    if not trainer.optimizers:
        raise MisconfigurationException("The learning rate finder needs an optimizer.")
    finder = LRFinder(mode, min_lr, max_lr, num_training)
    beta, average, best = 0.98, 0.0, 0.0

    def before(step: int) -> None:
        rate = finder.rate(step)
        for optimizer in trainer.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate
        finder.results["lr"].append(rate)

    def after(step: int, loss: Any) -> bool:
        nonlocal average, best
        if loss is None:
            finder.results["loss"].append(float("nan"))
            return True
        average = beta * average + (1 - beta) * float(loss)
        # the running mean starts at 0: make up for it
        smoothed = average / (1 - beta ** (step + 2))
        diverged = early_stop_threshold is not None and step > 0 and smoothed > early_stop_threshold * best
        if step == 0 or smoothed < best:
            best = smoothed
        finder.results["loss"].append(smoothed)
        return not trainer.strategy.broadcast(diverged)

    with forgotten(trainer):
        steps = train_steps(trainer, num_training, before, after)
    if steps < num_training:
        log.info(f"LR finder stopped early after {steps} steps due to diverging loss.")
    if update_attr:
        rate = finder.suggestion()
        if rate is not None:
            set_attribute(model, attr_name, rate)
            for optimizer in trainer.optimizers:
                for group in optimizer.param_groups:
                    group["lr"] = rate
            log.info(f"Learning rate set to {rate}")
    return finder


def lr_attribute(model: Any, attr_name: str) -> str:
    """The attribute that holds the learning rate."""
    from tocha_lightning.tuner.attributes import has_attribute

    for name in [attr_name] if attr_name else ["lr", "learning_rate"]:
        if has_attribute(model, name):
            return name
    raise AttributeError(
        "When using the learning rate finder, either `model` or `model.hparams` should have one of these fields:"
        f" {[attr_name] if attr_name else ['lr', 'learning_rate']}. If your model has a different name for the learning"
        " rate, set it with `.lr_find(attr_name=...)`."
    )
