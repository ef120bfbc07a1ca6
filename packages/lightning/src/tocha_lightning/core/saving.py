"""Building modules and data modules again from a checkpoint."""

from __future__ import annotations

import ast
import csv
import inspect
import os
from typing import IO, Any

import tocha
from tocha_lightning.core.hparams import AttributeDict
from tocha_lightning.utilities.overrides import is_overridden
from tocha_lightning.utilities.rank_zero import rank_zero_warn


def read_checkpoint(
    path: str | os.PathLike[str] | IO[bytes], map_location: Any = None, weights_only: bool | None = None
) -> dict[str, Any]:
    """Read a checkpoint and check that it is one.

    Raises:
        FileNotFoundError: there is no file at `path`.
        ValueError: the file is damaged, or is no checkpoint of a Trainer.
    """
    if not hasattr(path, "read"):
        path = os.fspath(path)
        if not os.path.isfile(path):
            raise FileNotFoundError(f"Checkpoint file not found: {path}")
    try:
        checkpoint = tocha.load(
            path, map_location=map_location, weights_only=True if weights_only is None else weights_only
        )
    except FileNotFoundError:
        raise
    except Exception as error:
        error.add_note(
            f"while reading the checkpoint {path!r}. If the file is cut off or damaged, take an older one from the same"
            " folder; if it holds objects other than tensors, numbers, strings and containers and you trust its"
            " source, pass weights_only=False."
        )
        raise
    if not isinstance(checkpoint, dict) or "state_dict" not in checkpoint:
        keys = sorted(map(str, checkpoint))[:8] if isinstance(checkpoint, dict) else type(checkpoint).__name__
        raise ValueError(
            f"{path!r} is not a checkpoint that a Trainer wrote: expected a dictionary with the key 'state_dict',"
            f" found {keys}. To load bare weights, use `model.load_state_dict(tocha.load(path))`."
        )
    return checkpoint


def load_hparams_from_yaml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read hyperparameters from the ``hparams.yaml`` that a logger wrote."""
    from tocha_lightning.utilities.yaml import load_yaml

    return load_yaml(path)


def load_hparams_from_tags_csv(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read hyperparameters from a CSV file with the columns ``key`` and ``value``."""
    hparams = {}
    with open(path, newline="") as file:
        for row in list(csv.reader(file))[1:]:
            try:
                hparams[row[0]] = ast.literal_eval(row[1])
            except (ValueError, SyntaxError):
                hparams[row[0]] = row[1]
    return hparams


def load_from_checkpoint(
    cls: Any,
    checkpoint_path: str | os.PathLike[str] | IO[bytes],
    map_location: Any = None,
    hparams_file: str | os.PathLike[str] | None = None,
    strict: bool | None = None,
    weights_only: bool | None = None,
    **kwargs: Any,
) -> Any:
    """See `LightningModule.load_from_checkpoint` and `LightningDataModule.load_from_checkpoint`."""
    from tocha_lightning.core.datamodule import LightningDataModule

    if map_location is None and not tocha.cuda.is_available():
        map_location = "cpu"
    checkpoint = read_checkpoint(checkpoint_path, map_location, weights_only)
    if hparams_file is not None:
        extension = os.fspath(hparams_file).rsplit(".", 1)[-1].lower()
        if extension in ("yml", "yaml"):
            checkpoint[cls.CHECKPOINT_HYPER_PARAMS_KEY] = load_hparams_from_yaml(hparams_file)
        elif extension == "csv":
            checkpoint[cls.CHECKPOINT_HYPER_PARAMS_KEY] = load_hparams_from_tags_csv(hparams_file)
        else:
            raise ValueError(f".csv, .yml or .yaml is required for `hparams_file`, got {os.fspath(hparams_file)!r}")
    instance = _instantiate(cls, checkpoint, kwargs)
    if isinstance(instance, LightningDataModule):
        if type(instance).__qualname__ in checkpoint:
            instance.load_state_dict(checkpoint[type(instance).__qualname__])
        return instance
    return _load_weights(instance, checkpoint, checkpoint_path, strict)


def _instantiate(cls: Any, checkpoint: dict[str, Any], kwargs: dict[str, Any]) -> Any:
    saved = dict(checkpoint.get(cls.CHECKPOINT_HYPER_PARAMS_KEY) or {})
    checkpoint[cls.CHECKPOINT_HYPER_PARAMS_KEY] = {**saved, **kwargs}
    parameters = inspect.signature(cls.__init__).parameters
    names = [
        name
        for i, (name, param) in enumerate(parameters.items())
        if i > 0 and param.kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    ]
    open_ended = any(param.kind is inspect.Parameter.VAR_KEYWORD for param in parameters.values())
    # `save_hyperparameters(config)`: the whole dictionary was one argument of the constructor
    as_one = checkpoint.get(cls.CHECKPOINT_HYPER_PARAMS_NAME)
    if as_one and as_one in names:
        arguments: dict[str, Any] = {
            as_one: AttributeDict({**saved, **{k: v for k, v in kwargs.items() if k in saved}})
        }
        arguments.update({key: value for key, value in kwargs.items() if key in names})
    else:
        arguments = {**saved, **kwargs}
    if not open_ended:
        arguments = {key: value for key, value in arguments.items() if key in names}
    return cls(**arguments)


def _load_weights(model: Any, checkpoint: dict[str, Any], path: Any, strict: bool | None) -> Any:
    if model._strict_loading is not None and strict is not None and strict != model.strict_loading:
        raise ValueError(
            f"You set `.load_from_checkpoint(..., strict={strict!r})` which is in conflict with"
            f" `{type(model).__name__}.strict_loading={model.strict_loading!r}`. Please set the same value for"
            " both of them."
        )
    strict = model.strict_loading if strict is None else strict
    if is_overridden("configure_model", model):
        model.configure_model()
    model.on_load_checkpoint(checkpoint)
    keys = model.load_state_dict(checkpoint["state_dict"], strict=strict)
    if not strict:
        if keys.missing_keys:
            rank_zero_warn(
                f"Found keys that are in the model state dict but not in the checkpoint: {keys.missing_keys}"
            )
        if keys.unexpected_keys:
            rank_zero_warn(
                f"Found keys that are not in the model state dict but in the checkpoint: {keys.unexpected_keys}"
            )
    if not checkpoint["state_dict"]:
        rank_zero_warn(f"The state dict in {path!r} contains no parameters.")
        return model
    first = next((value for value in checkpoint["state_dict"].values() if isinstance(value, tocha.Tensor)), None)
    return model if first is None else model.to(first.device)
