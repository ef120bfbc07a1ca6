"""What the tests of the Trainer share: a small model, its data, and a Trainer that keeps quiet."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import tocha
import tocha_lightning as L
from tocha.utils.data import DataLoader, TensorDataset


class Plain(L.LightningModule):
    """A line fitted to points, without validation."""

    def __init__(self, lr: float = 0.1, dropout: float = 0.0) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.layer = tocha.nn.Linear(3, 1)
        self.drop = tocha.nn.Dropout(dropout)
        self.seen: list[Any] = []

    def forward(self, x: Any) -> Any:
        return self.layer(self.drop(x))

    def loss(self, batch: Any) -> Any:
        x, y = batch
        return tocha.nn.functional.mse_loss(self(x), y)

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        loss = self.loss(batch)
        self.log("loss", loss, on_step=True, on_epoch=True, prog_bar=True)
        self.seen.append(batch[0][:, 0].tolist())
        return loss

    def test_step(self, batch: Any, batch_idx: int) -> None:
        self.log("test_loss", self.loss(batch))

    def predict_step(self, batch: Any, batch_idx: int) -> Any:
        return self(batch[0])

    def configure_optimizers(self) -> Any:
        return tocha.optim.SGD(self.parameters(), lr=self.hparams.lr, momentum=0.9)


class Small(Plain):
    """The same with validation."""

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        self.log("val_loss", self.loss(batch), prog_bar=True)


def points(samples: int = 12) -> TensorDataset:
    x = tocha.linspace(-1.0, 1.0, samples * 3).reshape(samples, 3)
    return TensorDataset(x, x.sum(1, keepdim=True) + 0.5)


def loader(samples: int = 12, batch_size: int = 2, **kwargs: Any) -> DataLoader:
    return DataLoader(points(samples), batch_size=batch_size, **kwargs)


@pytest.fixture
def lightning(tmp_path: Any) -> SimpleNamespace:
    """``Small``, ``Plain``, ``points``, ``loader``, and ``trainer(**arguments)`` that writes into the test's folder."""

    def trainer(**arguments: Any) -> L.Trainer:
        defaults = {
            "accelerator": "cpu",
            "default_root_dir": str(tmp_path),
            "enable_progress_bar": False,
            "enable_model_summary": False,
            "logger": False,
            "max_epochs": 2,
            "log_every_n_steps": 1,
        }
        return L.Trainer(**{**defaults, **arguments})

    return SimpleNamespace(Small=Small, Plain=Plain, points=points, loader=loader, trainer=trainer, path=tmp_path)


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Every test draws the same random numbers."""
    L.seed_everything(0, verbose=False)
