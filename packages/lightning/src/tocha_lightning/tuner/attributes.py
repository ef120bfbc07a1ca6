"""An attribute of a model, of its hyperparameters, or of its data module."""

from __future__ import annotations

from typing import Any


def _holders(model: Any, name: str) -> list[Any]:
    trainer = model._trainer
    datamodule = None if trainer is None else trainer.datamodule
    holders: list[Any] = []
    for owner in (model, datamodule):
        if owner is None:
            continue
        if hasattr(owner, name):
            holders.append(owner)
        if name in owner.hparams:
            holders.append(owner.hparams)
    return holders


def has_attribute(model: Any, name: str) -> bool:
    """Whether any of them has it."""
    return bool(_holders(model, name))


def get_attribute(model: Any, name: str) -> Any:
    """Its value; the data module's where several have it."""
    holder = _holders(model, name)[-1]
    return holder[name] if isinstance(holder, dict) else getattr(holder, name)


def set_attribute(model: Any, name: str, value: Any) -> None:
    """Set it everywhere."""
    for holder in _holders(model, name):
        if isinstance(holder, dict):
            holder[name] = value
        else:
            setattr(holder, name, value)
