"""LightningCLI: a command line made of a model, a data module and a Trainer."""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Callable
from types import MethodType
from typing import Any

from tocha.optim import Optimizer
from tocha_lightning.cli.parser import (
    SCHEDULERS,
    ActionConfigFile,
    ArgumentParser,
    LightningArgumentParser,
    Namespace,
    ReduceLROnPlateau,
    class_from_function,
)
from tocha_lightning.cli.save_config import SaveConfigCallback
from tocha_lightning.core import LightningDataModule, LightningModule
from tocha_lightning.core.hparams import given_hyperparameters
from tocha_lightning.core.saving import read_checkpoint
from tocha_lightning.trainer import Trainer
from tocha_lightning.utilities.exceptions import MisconfigurationException
from tocha_lightning.utilities.overrides import is_overridden
from tocha_lightning.utilities.rank_zero import rank_zero_warn
from tocha_lightning.utilities.seed import seed_everything


def instantiate_class(args: Any, init: dict[str, Any]) -> Any:
    """Make an instance of ``{"class_path": ..., "init_args": ...}``, with the positional arguments `args`.

    >>> instantiate_class((3,), {"class_path": "fractions.Fraction", "init_args": {"denominator": 4}})
    Fraction(3, 4)
    """
    module, name = init["class_path"].rsplit(".", 1)
    positional = args if isinstance(args, tuple) else (args,)
    return getattr(importlib.import_module(module), name)(*positional, **(init.get("init_args") or {}))


class LightningCLI:
    """Parses the command line and configuration files, makes model, data and Trainer, and runs the subcommand.

    Args:
        model_class: the model, or a function that makes it; None: the configuration chooses by ``class_path``.
        datamodule_class: the data module, likewise.
        save_config_callback: keeps the configuration; None: nothing does.
        save_config_kwargs: its arguments.
        trainer_class: the Trainer.
        trainer_defaults: other defaults for its arguments; callbacks among them are always there.
        seed_everything_default: the seed; True: one is chosen; False: none is set.
        parser_kwargs: arguments of the parsers, by subcommand or for all.
        parser_class: the parser.
        subclass_mode_model: the configuration may choose a subclass of `model_class`.
        subclass_mode_data: the configuration may choose a subclass of `datamodule_class`.
        args: the command line as a list, or the configuration as a dictionary; None: of the process.
        run: run the subcommand ``fit``, ``validate``, ``test`` or ``predict``; False only makes the objects.
        auto_configure_optimizers: let the configuration choose optimizer and scheduler.
        load_from_checkpoint_support: keep what was configured as the hyperparameters of model and data module.

    Attributes:
        model, datamodule, trainer, config, config_init, parser, subcommand.

    Raises:
        ModuleNotFoundError: jsonargparse is not installed.
    """

    def __init__(
        self,
        model_class: type[LightningModule] | Callable[..., LightningModule] | None = None,
        datamodule_class: type[LightningDataModule] | Callable[..., LightningDataModule] | None = None,
        save_config_callback: type[SaveConfigCallback] | None = SaveConfigCallback,
        save_config_kwargs: dict[str, Any] | None = None,
        trainer_class: type[Trainer] | Callable[..., Trainer] = Trainer,
        trainer_defaults: dict[str, Any] | None = None,
        seed_everything_default: bool | int = True,
        parser_kwargs: dict[str, Any] | None = None,
        parser_class: type[LightningArgumentParser] = LightningArgumentParser,
        subclass_mode_model: bool = False,
        subclass_mode_data: bool = False,
        args: Any = None,
        run: bool = True,
        auto_configure_optimizers: bool = True,
        load_from_checkpoint_support: bool = True,
    ) -> None:
        if ArgumentParser is object:
            raise ModuleNotFoundError("`LightningCLI` needs jsonargparse: `pip install tocha-lightning[cli]`.")
        self.save_config_callback = save_config_callback
        self.save_config_kwargs = save_config_kwargs or {}
        self.trainer_class = trainer_class
        self.trainer_defaults = trainer_defaults or {}
        self.seed_everything_default = seed_everything_default
        self.parser_kwargs = parser_kwargs or {}
        self.parser_class = parser_class
        self.auto_configure_optimizers = auto_configure_optimizers
        self.load_from_checkpoint_support = load_from_checkpoint_support
        self.model_class = model_class
        self.subclass_mode_model = model_class is None or subclass_mode_model
        self.datamodule_class = datamodule_class
        self.subclass_mode_data = datamodule_class is None or subclass_mode_data
        self._subcommand_parsers: dict[str, LightningArgumentParser] = {}
        self._subcommand_arguments: dict[str, list[str]] = {}
        self.parser = self._make_parser(run)
        self.parse_arguments(self.parser, args)
        self._take_hyperparameters_of_checkpoint()
        self.subcommand: str | None = self.config["subcommand"] if run else None
        self._seed()
        self.before_instantiate_classes()
        self.instantiate_classes()
        self.after_instantiate_classes()
        if self.subcommand is not None:
            self._run_subcommand(self.subcommand)

    # --- parsers --------------------------------------------------------------------------------------------------

    @staticmethod
    def subcommands() -> dict[str, set[str]]:
        """The subcommands, with the arguments of the Trainer's method that are not on the command line."""
        rest = {"model", "dataloaders", "datamodule"}
        fit = {"model", "train_dataloaders", "val_dataloaders", "datamodule"}
        return {"fit": fit, "validate": rest, "test": rest, "predict": rest}

    def init_parser(self, **kwargs: Any) -> LightningArgumentParser:
        """Make a parser with ``--config``."""
        parser = self.parser_class(**kwargs)
        parser.add_argument(
            "-c", "--config", action=ActionConfigFile, help="Path to a configuration file in json or yaml format."
        )
        return parser

    def _make_parser(self, run: bool) -> LightningArgumentParser:
        names = self.subcommands()
        parser = self.init_parser(**{key: value for key, value in self.parser_kwargs.items() if key not in names})
        if not run:
            self._add_arguments(parser)
            return parser
        trainer_class = self.trainer_class
        if not isinstance(trainer_class, type):
            trainer_class = class_from_function(trainer_class)
        group = parser.add_subcommands()
        for name, skip in names.items():
            summary = (getattr(trainer_class, name).__doc__ or "").strip().split("\n")[0]
            options = {"description": summary, **self.parser_kwargs.get(name, {})}
            subparser = self.init_parser(**options)
            self._add_arguments(subparser)
            self._subcommand_arguments[name] = subparser.add_method_arguments(trainer_class, name, skip=set(skip))
            self._subcommand_parsers[name] = subparser
            group.add_subcommand(name, subparser, help=summary)
        return parser

    def _add_arguments(self, parser: LightningArgumentParser) -> None:
        self.add_default_arguments_to_parser(parser)
        self.add_core_arguments_to_parser(parser)
        self.add_arguments_to_parser(parser)
        if self.auto_configure_optimizers:
            if not parser._optimizers:
                parser.add_optimizer_args((Optimizer,))
            if not parser._lr_schedulers:
                parser.add_lr_scheduler_args(SCHEDULERS)
        self.link_optimizers_and_lr_schedulers(parser)

    def add_default_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        """Add ``--seed_everything``."""
        parser.add_argument(
            "--seed_everything",
            type=bool | int,
            default=self.seed_everything_default,
            help="Seed of all random generators; true chooses one, false sets none.",
        )

    def add_core_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        """Add the arguments of Trainer, model and data module."""
        parser.add_lightning_class_args(self.trainer_class, "trainer")
        defaults = {f"trainer.{key}": value for key, value in self.trainer_defaults.items() if key != "callbacks"}
        parser.set_defaults(defaults)
        parser.add_lightning_class_args(self.model_class or LightningModule, "model", self.subclass_mode_model)
        parser.add_lightning_class_args(
            self.datamodule_class or LightningDataModule,
            "data",
            self.subclass_mode_data,
            required=self.datamodule_class is not None,
        )

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        """Override to add arguments, or to link them."""

    @staticmethod
    def link_optimizers_and_lr_schedulers(parser: LightningArgumentParser) -> None:
        """Link the optimizers and schedulers that were added with ``link_to``."""
        for key, (kind, link_to) in {**parser._optimizers, **parser._lr_schedulers}.items():
            if link_to == "AUTOMATIC":
                continue
            if isinstance(kind, tuple):
                parser.link_arguments(key, link_to)
            else:
                parser.link_arguments(key, link_to, compute_fn=functools.partial(_with_class_path, kind))

    def parse_arguments(self, parser: LightningArgumentParser, args: Any) -> None:
        """Parse, into `config`."""
        if isinstance(args, (dict, Namespace)):
            self.config = parser.parse_object(args)
        else:
            self.config = parser.parse_args(args)

    def _take_hyperparameters_of_checkpoint(self) -> None:
        """With ``--ckpt_path`` the model is configured as it was when the checkpoint was saved."""
        subcommand = self.config.get("subcommand")
        path = self.config[subcommand].get("ckpt_path") if subcommand else None
        if not path or not os.path.isfile(path):
            return
        hparams = dict(read_checkpoint(path, map_location="cpu").get("hyper_parameters") or {})
        class_path = hparams.pop("_class_path", None)
        if not hparams or (self.subclass_mode_model and class_path is None):
            return
        if self.subclass_mode_model:
            hparams = {"class_path": class_path, "init_args": hparams}
        self.config = self.parser.parse_object({subcommand: {"model": hparams}}, self.config)

    # --- objects ---------------------------------------------------------------------------------------------------

    def _get(self, config: Any, key: str, default: Any = None) -> Any:
        return config.get(key if self.subcommand is None else f"{self.subcommand}.{key}", default)

    def _own_parser(self) -> LightningArgumentParser:
        return self.parser if self.subcommand is None else self._subcommand_parsers[self.subcommand]

    def _seed(self) -> None:
        seed = self._get(self.config, "seed_everything")
        if seed is False:
            return
        if seed is True:
            import secrets

            seed = secrets.randbelow(2**32)
        seed = seed_everything(seed, workers=True)
        target = self.config if self.subcommand is None else self.config[self.subcommand]
        target["seed_everything"] = seed

    def _instantiators(self) -> list[tuple[Callable[..., Any], type, bool]]:
        """What makes model and data module, so that they know how they were configured."""
        kinds = {
            "model": (self.model_class or LightningModule, self.subclass_mode_model),
            "data": (self.datamodule_class or LightningDataModule, self.subclass_mode_data),
        }
        return [
            (functools.partial(self._instantiate, key), kind, subclasses)
            for key, (kind, subclasses) in kinds.items()
            if isinstance(kind, type)
        ]

    def _instantiate(self, key: str, class_type: type, *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("applied_instantiation_links", None)
        configured = self._get(self.config, key)
        plain = configured.as_dict() if hasattr(configured, "as_dict") else dict(configured or {})
        if "class_path" in plain:
            arguments = {**(plain.get("init_args") or {}), **(plain.get("dict_kwargs") or {})}
            plain = {"_class_path": plain["class_path"], **arguments}
        token = given_hyperparameters.set(plain)
        try:
            return class_type(*args, **kwargs)
        finally:
            given_hyperparameters.reset(token)

    def before_instantiate_classes(self) -> None:
        """Override to run code before the objects are made."""

    def instantiate_classes(self) -> None:
        """Make `datamodule`, `model` and `trainer`."""
        makers = self._instantiators() if self.load_from_checkpoint_support else None
        self.config_init = self.parser.instantiate(self.config, instantiators=makers)
        self.datamodule = self._get(self.config_init, "data")
        self.model = self._get(self.config_init, "model")
        self._add_configure_optimizers()
        self.trainer = self.instantiate_trainer()

    def after_instantiate_classes(self) -> None:
        """Override to run code after the objects are made."""

    def instantiate_trainer(self, **kwargs: Any) -> Trainer:
        """Make the Trainer; `kwargs` override its configuration."""
        config = {**self._get(self.config_init, "trainer", {}), **kwargs}
        parser = self._own_parser()
        given = config.get("callbacks") or []
        callbacks = list(given) if isinstance(given, list) else [given]
        callbacks += [self._get(self.config_init, key) for key in parser.callback_keys]
        always = self.trainer_defaults.get("callbacks", [])
        callbacks += always if isinstance(always, list) else [always]
        if self.save_config_callback is not None and not config.get("fast_dev_run"):
            own_config = self.config if self.subcommand is None else self.config[self.subcommand]
            callbacks.append(self.save_config_callback(parser, own_config, **self.save_config_kwargs))
        return self.trainer_class(**{**config, "callbacks": callbacks})

    @staticmethod
    def configure_optimizers(lightning_module: LightningModule, optimizer: Optimizer, lr_scheduler: Any = None) -> Any:
        """What `LightningModule.configure_optimizers` returns; override to change it."""
        if lr_scheduler is None:
            return optimizer
        if isinstance(lr_scheduler, ReduceLROnPlateau):
            return {
                "optimizer": optimizer,
                "lr_scheduler": {"scheduler": lr_scheduler, "monitor": lr_scheduler.monitor},
            }
        return [optimizer], [lr_scheduler]

    def _add_configure_optimizers(self) -> None:
        """Give the model the optimizer and the scheduler of the configuration."""
        if not self.auto_configure_optimizers:
            return
        parser = self._own_parser()
        optimizers = [key for key, (_, link) in parser._optimizers.items() if link == "AUTOMATIC"]
        schedulers = [key for key, (_, link) in parser._lr_schedulers.items() if link == "AUTOMATIC"]
        if not optimizers:
            return
        if len(optimizers) > 1 or len(schedulers) > 1:
            raise MisconfigurationException(
                "At most one optimizer and one lr_scheduler can be 'AUTOMATIC', found"
                f" {optimizers + schedulers}. Link the others and implement `configure_optimizers`."
            )
        optimizer = self._class_config(parser._optimizers[optimizers[0]][0], optimizers[0])
        if optimizer is None:
            return
        scheduler = self._class_config(parser._lr_schedulers[schedulers[0]][0], schedulers[0]) if schedulers else None
        if is_overridden("configure_optimizers", self.model):
            rank_zero_warn(
                f"`{type(self.model).__name__}.configure_optimizers` will be overridden by"
                f" `{type(self).__name__}.configure_optimizers`."
            )
        make = self.configure_optimizers

        def configure_optimizers(model: LightningModule) -> Any:
            made = instantiate_class((model.parameters(),), optimizer)
            return make(model, made, None if scheduler is None else instantiate_class((made,), scheduler))

        self.model.configure_optimizers = MethodType(configure_optimizers, self.model)

    def _class_config(self, kind: Any, key: str) -> dict[str, Any] | None:
        found = self._get(self.config_init, key)
        if found is None:
            return None
        plain = found.as_dict() if hasattr(found, "as_dict") else dict(found)
        return plain if isinstance(kind, tuple) else _with_class_path(kind, plain)

    def _run_subcommand(self, subcommand: str) -> None:
        """Run ``before_<subcommand>``, the Trainer's method and ``after_<subcommand>``."""
        arguments: dict[str, Any] = {"model": self.model, "datamodule": self.datamodule}
        for name in self._subcommand_arguments[subcommand]:
            arguments[name] = self._get(self.config_init, name)
        before, after = (getattr(self, f"{when}_{subcommand}", None) for when in ("before", "after"))
        if callable(before):
            before()
        getattr(self.trainer, subcommand)(**arguments)
        if callable(after):
            after()


def _with_class_path(kind: type, init_args: Any) -> dict[str, Any]:
    plain = init_args.as_dict() if hasattr(init_args, "as_dict") else dict(init_args or {})
    return {"class_path": f"{kind.__module__}.{kind.__qualname__}", "init_args": plain}
