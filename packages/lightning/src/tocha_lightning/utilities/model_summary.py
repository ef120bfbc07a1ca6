"""The layers of a model: types, parameters, shapes and floating-point operations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import tocha
from tocha import Tensor, nn
from tocha_lightning.utilities.exceptions import MisconfigurationException
from tocha_lightning.utilities.tables import text_table

UNKNOWN = "?"
UNITS = ("", "K", "M", "B", "T")


def human_readable(number: float) -> str:
    """A count with three digits and a unit.

    >>> [human_readable(n) for n in (0, 123, 1234, 23_500_000)]
    ['0', '123', '1.2 K', '23.5 M']
    """
    index = 0
    value = float(number)
    while value >= 1000 and index < len(UNITS) - 1:
        value /= 1000
        index += 1
    if index == 0:
        return str(int(number))
    return f"{value:.1f} {UNITS[index]}" if value < 100 else f"{value:.0f} {UNITS[index]}"


def sizes_of(value: Any) -> Any:
    """The shape of a tensor, or the shapes of those in a collection, as nested lists."""
    if isinstance(value, Tensor):
        return list(value.shape)
    if isinstance(value, Mapping):
        return {key: sizes_of(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [sizes_of(item) for item in value]
    return UNKNOWN


def _flops(module: nn.Module, inputs: Any, output: Any) -> int:
    """Twice the multiply-adds of one call of a layer; layers that do little count as none."""
    if isinstance(output, (tuple, list)):
        output = output[0] if output else None
    if not isinstance(output, Tensor):
        return 0
    if isinstance(module, nn.Linear):
        return 2 * output.numel() * module.in_features
    kernel = getattr(module, "kernel_size", None)
    channels, groups = getattr(module, "in_channels", None), getattr(module, "groups", None)
    if kernel is None or channels is None or groups is None:
        return 0
    taps = math.prod(kernel) if isinstance(kernel, (tuple, list)) else int(kernel)
    if getattr(module, "transposed", False):
        # every input element is multiplied into a whole window of the output
        source = inputs[0] if isinstance(inputs, (tuple, list)) else inputs
        return 2 * source.numel() * taps * (module.out_channels // groups)
    return 2 * output.numel() * taps * (channels // groups)


class LayerSummary:
    """One layer: what it is, and what came in and went out in a forward pass with the example."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self.in_size: Any = UNKNOWN
        self.out_size: Any = UNKNOWN
        self.flops = 0

    def watch(self) -> list[Any]:
        """Register hooks that take the shapes; remove them after the forward pass."""

        def shapes(module: nn.Module, inputs: Any, output: Any) -> None:
            source = inputs[0] if isinstance(inputs, tuple) and len(inputs) == 1 else inputs
            self.in_size, self.out_size = sizes_of(source), sizes_of(output)

        def count(module: nn.Module, inputs: Any, output: Any) -> None:
            self.flops += _flops(module, inputs, output)

        handles = [self.module.register_forward_hook(shapes)]
        # what a container does is the sum of what its layers do
        leaves = [child for child in self.module.modules() if not any(True for _ in child.children())]
        return handles + [leaf.register_forward_hook(count) for leaf in leaves]

    @property
    def layer_type(self) -> str:
        """The class."""
        return type(self.module).__name__

    @property
    def num_parameters(self) -> int:
        """The number of parameters of the layer and all within it."""
        return sum(parameter.numel() for parameter in self.module.parameters())

    @property
    def training(self) -> bool:
        """Whether the layer is in training mode."""
        return self.module.training


class ModelSummary:
    """A table of the layers of a `LightningModule`.

    Args:
        model: the module.
        max_depth: how deep to go into it; 1: its direct children; 0: totals only; -1: everything.

    Shapes and operations need `LightningModule.example_input_array`.

    Raises:
        ValueError: `max_depth` is below -1.
    """

    def __init__(self, model: Any, max_depth: int = 1) -> None:
        if not isinstance(max_depth, int) or max_depth < -1:
            raise ValueError(f"`max_depth` can be -1, 0 or > 0, got {max_depth}.")
        self.model = model
        self.max_depth = max_depth
        self.layers = {name: LayerSummary(module) for name, module in self.named_modules}
        self.has_example = model.example_input_array is not None
        self._total_flops = 0
        if self.has_example:
            self._forward_example()

    @property
    def named_modules(self) -> list[tuple[str, nn.Module]]:
        """The layers that the table shows."""
        if self.max_depth == 0:
            return []
        if self.max_depth == 1:
            return list(self.model.named_children())
        found = [(name, module) for name, module in self.model.named_modules() if name]
        return [item for item in found if self.max_depth == -1 or item[0].count(".") < self.max_depth]

    def _forward_example(self) -> None:
        model = self.model
        example = model.example_input_array
        whole = LayerSummary(model)
        handles = [handle for layer in [whole, *self.layers.values()] for handle in layer.watch()]
        modes = [(module, module.training) for module in model.modules()]
        from tocha_lightning.utilities.collections import move_data_to_device

        example = move_data_to_device(example, model.device)
        model.eval()
        try:
            with tocha.no_grad():
                if isinstance(example, (tuple, list)):
                    model(*example)
                elif isinstance(example, Mapping):
                    model(**example)
                else:
                    model(example)
        except Exception as error:
            error.add_note("while calling the model with its `example_input_array` for the summary")
            raise
        finally:
            for handle in handles:
                handle.remove()
            for module, training in modes:
                module.training = training
        self._total_flops = whole.flops

    @property
    def total_parameters(self) -> int:
        """The number of parameters."""
        return sum(parameter.numel() for parameter in self.model.parameters())

    @property
    def trainable_parameters(self) -> int:
        """The number of parameters that require gradients."""
        return sum(parameter.numel() for parameter in self.model.parameters() if parameter.requires_grad)

    @property
    def total_flops(self) -> int:
        """The floating-point operations of a forward pass with the example; 0 without one."""
        return self._total_flops

    @property
    def model_size(self) -> float:
        """The memory of the parameters in megabytes."""
        return sum(parameter.numel() * parameter.element_size() for parameter in self.model.parameters()) * 1e-6

    @property
    def total_training_modes(self) -> dict[str, int]:
        """How many modules are in training mode, and how many in evaluation mode."""
        modes = [module.training for module in self.model.modules()][1:]
        return {"train": sum(modes), "eval": len(modes) - sum(modes)}

    def columns(self) -> list[tuple[str, list[str]]]:
        """The table as headings and cells."""
        layers = self.layers
        columns = [
            ("", [str(i) for i in range(len(layers))]),
            ("Name", list(layers)),
            ("Type", [layer.layer_type for layer in layers.values()]),
            ("Params", [human_readable(layer.num_parameters) for layer in layers.values()]),
            ("Mode", ["train" if layer.training else "eval" for layer in layers.values()]),
        ]
        if self.has_example:
            columns += [
                ("FLOPs", [human_readable(layer.flops) for layer in layers.values()]),
                ("In sizes", [str(layer.in_size) for layer in layers.values()]),
                ("Out sizes", [str(layer.out_size) for layer in layers.values()]),
            ]
        # parameters of the model itself belong to no layer
        own = sum(p.numel() for p in self.model.parameters(recurse=False))
        if own:
            row = {"": " ", "Name": "other params", "Type": "n/a", "Params": human_readable(own), "Mode": "n/a"}
            for heading, cells in columns:
                cells.append(row.get(heading, "n/a"))
        return columns

    def totals(self) -> list[tuple[str, str]]:
        """The lines under the table."""
        trainable, total = self.trainable_parameters, self.total_parameters
        modes = self.total_training_modes
        lines = [
            (human_readable(trainable), "Trainable params"),
            (human_readable(total - trainable), "Non-trainable params"),
            (human_readable(total), "Total params"),
            (f"{self.model_size:,.3f}", "Total estimated model params size (MB)"),
            (str(modes["train"]), "Modules in train mode"),
            (str(modes["eval"]), "Modules in eval mode"),
        ]
        if self.has_example:
            lines.append((human_readable(self.total_flops), "Total FLOPs"))
        return lines

    def __str__(self) -> str:
        columns = self.columns()
        rows = list(zip(*[cells for _, cells in columns], strict=True))
        table = text_table([heading for heading, _ in columns], rows)
        rule = table.splitlines()[1]
        totals = "\n".join(f"{number:<10}{text}" for number, text in self.totals())
        return f"{table}\n{rule}\n{totals}" if rows else totals

    __repr__ = __str__


def summarize(lightning_module: Any, max_depth: int = 1) -> ModelSummary:
    """The summary of a module.

    Raises:
        MisconfigurationException: it is no `LightningModule`.
    """
    from tocha_lightning.core.module import LightningModule

    if not isinstance(lightning_module, LightningModule):
        raise MisconfigurationException(f"Expected a `LightningModule`, got {type(lightning_module).__name__}.")
    return ModelSummary(lightning_module, max_depth)
