"""Strategies: where a model runs, and how processes work together."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import tocha
from tocha import Tensor
from tocha.optim import Optimizer
from tocha_lightning.accelerators import Accelerator, CPUAccelerator
from tocha_lightning.core.optimizer import LightningOptimizer, to_lightning_optimizer
from tocha_lightning.plugins.io import CheckpointIO, FileCheckpointIO
from tocha_lightning.plugins.precision import Precision
from tocha_lightning.utilities.collections import apply_to_collection
from tocha_lightning.utilities.types import LRSchedulerConfig


class Strategy(ABC):
    """What the Trainer asks of a strategy. The defaults are those of a single process.

    A strategy of several processes overrides the communication (`reduce`, `all_gather`, `broadcast`, `barrier`,
    `reduce_gradients`), the ranks, and `distributed_sampler_kwargs`.
    """

    strategy_name = ""

    def __init__(
        self,
        accelerator: Accelerator | None = None,
        checkpoint_io: CheckpointIO | None = None,
        precision_plugin: Precision | None = None,
    ) -> None:
        self.accelerator = accelerator or CPUAccelerator()
        self.checkpoint_io = checkpoint_io or FileCheckpointIO()
        self.precision_plugin = precision_plugin or Precision()
        self._module: Any = None
        self._optimizers: list[Optimizer] = []
        self.lightning_optimizers: list[LightningOptimizer] = []
        self.lr_scheduler_configs: list[LRSchedulerConfig] = []
        self._sync_blocked = False

    # --- processes ------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def root_device(self) -> tocha.device:
        """The device of this process."""

    @property
    def world_size(self) -> int:
        """The number of processes."""
        return 1

    @property
    def global_rank(self) -> int:
        """The number of this process among all of them."""
        return 0

    @property
    def local_rank(self) -> int:
        """The number of this process on its machine."""
        return 0

    @property
    def node_rank(self) -> int:
        """The number of this machine."""
        return 0

    @property
    def is_global_zero(self) -> bool:
        """Whether this process writes files, logs and prints."""
        return self.global_rank == 0

    @property
    def distributed_sampler_kwargs(self) -> dict[str, Any] | None:
        """``num_replicas`` and ``rank`` of the sampler that splits the data, or None to leave samplers alone."""
        return None

    def reduce(self, tensor: Any, group: Any = None, reduce_op: str = "mean") -> Any:
        """Reduce a tensor over all processes: ``"mean"``, ``"sum"``, ``"min"`` or ``"max"``."""
        return tensor

    def reduce_boolean_decision(self, decision: bool, all: bool = True) -> bool:
        """One decision for all processes: what all of them, or any of them, decided."""
        return decision

    def reduce_gradients(self, module: Any) -> None:
        """After backward, unless gradients are being accumulated: combine them over all processes."""
        return None

    def all_gather(self, tensor: Tensor, group: Any = None, sync_grads: bool = False) -> Tensor:
        """The tensors of all processes, stacked."""
        return tensor

    def broadcast(self, obj: Any, src: int = 0) -> Any:
        """The object of process `src`."""
        return obj

    def barrier(self, name: str | None = None) -> None:
        """Wait for all processes."""
        return None

    @contextlib.contextmanager
    def block_backward_sync(self, block: bool = True) -> Iterator[None]:
        """Within, `reduce_gradients` is not called: for gradients that are accumulated."""
        before, self._sync_blocked = self._sync_blocked, block
        try:
            yield
        finally:
            self._sync_blocked = before

    # --- model and optimizers ------------------------------------------------------------------------------------

    @property
    def model(self) -> Any:
        """The module as the strategy runs it."""
        return self._module

    @property
    def lightning_module(self) -> Any:
        """The module as the user gave it."""
        return self._module

    def connect(self, module: Any) -> None:
        """Take the module of the next run."""
        self._module = module

    @property
    def optimizers(self) -> list[Optimizer]:
        """The optimizers."""
        return self._optimizers

    @optimizers.setter
    def optimizers(self, optimizers: list[Optimizer]) -> None:
        self._optimizers = optimizers
        self.lightning_optimizers = [to_lightning_optimizer(optimizer, self) for optimizer in optimizers]

    def setup_environment(self) -> None:
        """Prepare the device and the communication."""
        self.accelerator.setup_device(self.root_device)

    def setup(self, trainer: Any) -> None:
        """Move the module to its device and, for fit, make the optimizers."""
        from tocha_lightning.trainer.optimizer_setup import configure

        self._module = self.precision_plugin.convert_module(self._module)
        self.model_to_device()
        if trainer.state.fn == "fit":
            self.optimizers, self.lr_scheduler_configs = configure(self._module)
        self.move_optimizer_states()

    def model_to_device(self) -> None:
        """Move the module to `root_device`."""
        self._module.to(self.root_device)

    def move_optimizer_states(self) -> None:
        """Move the state of every optimizer to `root_device`."""
        for optimizer in self._optimizers:
            for parameter, state in optimizer.state.items():
                for key, value in state.items():
                    if isinstance(value, Tensor) and value.ndim and value.device != self.root_device:
                        optimizer.state[parameter][key] = value.to(self.root_device)

    def process_dataloader(self, dataloader: Any) -> Any:
        """Change a data loader before it is used."""
        return dataloader

    def backward(self, loss: Tensor, optimizer: Optimizer | None, *args: Any, **kwargs: Any) -> Tensor:
        """Compute the gradients, with the hooks before and after."""
        precision, module = self.precision_plugin, self._module
        loss = precision.pre_backward(loss, module)
        precision.backward(loss, module, optimizer, *args, **kwargs)
        if not self._sync_blocked:
            self.reduce_gradients(module)
        precision.post_backward(module)
        return loss

    def optimizer_step(self, optimizer: Optimizer, closure: Callable[[], Any], **kwargs: Any) -> Any:
        """Step an optimizer through the precision plugin."""
        return self.precision_plugin.optimizer_step(optimizer, self._module, closure, **kwargs)

    # --- checkpoints --------------------------------------------------------------------------------------------------

    def lightning_module_state_dict(self) -> dict[str, Any]:
        """The weights as they are saved."""
        return self._module.state_dict()

    def load_model_state_dict(self, checkpoint: dict[str, Any], strict: bool = True) -> None:
        """Load the weights of a checkpoint."""
        self._module.load_state_dict(checkpoint["state_dict"], strict=strict)

    def optimizer_state(self, optimizer: Optimizer) -> dict[str, Any]:
        """The state of an optimizer as it is saved."""
        return optimizer.state_dict()

    def load_optimizer_state_dict(self, checkpoint: dict[str, Any]) -> None:
        """Load the states of all optimizers.

        Raises:
            ValueError: the checkpoint is of another number of optimizers.
        """
        states = checkpoint["optimizer_states"]
        if len(states) != len(self._optimizers):
            raise ValueError(
                f"The checkpoint has the states of {len(states)} optimizers, but `configure_optimizers` returned"
                f" {len(self._optimizers)}."
            )
        for optimizer, state in zip(self._optimizers, states, strict=True):
            optimizer.load_state_dict(state)
        self.move_optimizer_states()

    def save_checkpoint(self, checkpoint: dict[str, Any], filepath: str, storage_options: Any = None) -> None:
        """Write a checkpoint, from rank zero."""
        if self.is_global_zero:
            self.checkpoint_io.save_checkpoint(checkpoint, filepath, storage_options=storage_options)

    def load_checkpoint(self, path: str, weights_only: bool | None = None) -> dict[str, Any]:
        """Read a checkpoint."""
        map_location = "cpu" if self.root_device.type == "cpu" else None
        return self.checkpoint_io.load_checkpoint(path, map_location=map_location, weights_only=weights_only)

    def remove_checkpoint(self, filepath: str) -> None:
        """Delete a checkpoint, from rank zero."""
        if self.is_global_zero:
            self.checkpoint_io.remove_checkpoint(filepath)

    # --- the end ----------------------------------------------------------------------------------------------------

    def on_exception(self, exception: BaseException) -> None:
        """A run ends with an exception."""
        return None

    def teardown(self) -> None:
        """The run is over: the module goes back to the CPU, memory of the device is freed."""
        if self._module is not None and self.root_device.type != "cpu":
            self._module.cpu()
            for optimizer in self._optimizers:
                for parameter, state in optimizer.state.items():
                    optimizer.state[parameter] = apply_to_collection(state, Tensor, lambda t: t.cpu())
        self.precision_plugin.teardown()
        self.accelerator.teardown()
        self.checkpoint_io.teardown()
