"""The exported program: a model, where it came from, and what was found when it was checked."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import tocha
from tocha.onnx.tracing import wrap

from .capture import Capture
from .lower import Lowered
from .runtime import PROTOBUF_LIMIT, Session
from .trees import bind_arguments, flatten
from .verification import Result, verify

__all__ = ["ONNXProgram"]


class ONNXProgram:
    """What ``tocha.onnx.export`` returns.

    Attributes:
        opset_version: the opset that it is written for.
        input_names, output_names: in order.
        verification: one :class:`~tocha_onnx.verification.Result` for each check against onnxruntime.
    """

    def __init__(self, capture: Capture, lowered: Lowered, opset_version: int, folded: tuple[int, int]) -> None:
        self._capture, self._lowered = capture, lowered
        self.opset_version = opset_version
        self.folded = folded
        self.input_names = list(capture.inputs)
        self.output_names = list(capture.outputs)
        self.verification: list[Result] = []
        self.path: Path | None = None
        self._model: onnx.ModelProto | None = None
        self._session: Session | None = None

    @property
    def model(self) -> onnx.ModelProto:
        """The model as ONNX's ``ModelProto``, arrays included."""
        if self._model is None:
            self._model = self._lowered.proto()
        return self._model

    @property
    def model_proto(self) -> onnx.ModelProto:
        """``model``, under PyTorch's name."""
        return self.model

    @property
    def nbytes(self) -> int:
        """Bytes of all initializers."""
        return sum(data.nbytes for data in self._lowered.arrays.values())

    @property
    def guards(self) -> list[str]:
        """What the trace took for granted about dynamic sizes, each with the line of the program."""
        return [str(guard) for guard in self._capture.graph.environment.guards]

    @property
    def differences(self) -> dict[str, float]:
        """The largest difference from onnxruntime for each set of sizes that was checked: ``{"batch=1": 1e-7}``."""
        found: dict[str, float] = {}
        for result in self.verification:
            if result.skipped is None:
                found[result.label] = max(found.get(result.label, 0.0), result.max_difference)
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[tocha.Tensor, ...]:
        """Run the model in onnxruntime on arguments like the example's; the outputs as a flat tuple."""
        program = self._capture.program
        call = program.model.forward if program.is_module else program.model
        tensors = [t for name, value in bind_arguments(call, args, kwargs) for _, t in flatten(value, name)]
        if len(tensors) != len(self.input_names):
            raise TypeError(
                f"expected {len(self.input_names)} tensors ({', '.join(self.input_names)}), got {len(tensors)}"
            )
        if self._session is None:
            self._session = Session(self._lowered.model, self._lowered.arrays)
        feeds = dict(zip(self.input_names, [np.asarray(t.detach().cpu()._data) for t in tensors]))
        return tuple(wrap(np.array(a)) for a in self._session.run(feeds, self.output_names))

    def save(self, path: Any, *, external_data: bool | None = None) -> None:
        """Write the file under a temporary name, then rename it.

        Args:
            path: where to; arrays outside of the file go to ``path`` with ``.data`` appended, which is replaced too.
            external_data: keep arrays outside of the file; None: where it would exceed protobuf's 2 GB.
        """
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        external = self.nbytes >= PROTOBUF_LIMIT if external_data is None else external_data
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
            made = Path(folder) / path.name
            if external:
                model = onnx.ModelProto()
                model.CopyFrom(self.model)  # saving with external data empties the arrays of the model it is given
                onnx.save_model(
                    model, made, save_as_external_data=True, all_tensors_to_one_file=True, location=f"{path.name}.data",
                    size_threshold=1024,
                )  # fmt: skip
                data = Path(folder) / f"{path.name}.data"
                if data.exists():
                    os.replace(data, path.with_name(data.name))
            else:
                onnx.save_model(self.model, made)
            os.replace(made, path)
        self.path = path

    def verify(
        self, *, sizes: Any = None, rtol: float | None = None, atol: float | None = None, seed: int = 0
    ) -> list[Result]:
        """Check the model, and compare onnxruntime with the program; see :func:`tocha_onnx.verification.verify`.

        Raises:
            VerificationError: they differ.
        """
        self.verification = verify(self, sizes=sizes, rtol=rtol, atol=atol, seed=seed)
        return self.verification

    def report(self, *, markdown: bool = False) -> str:
        """What is in the model and how it was checked, as text or as Markdown."""
        from .report import report

        return report(self, markdown=markdown)

    def __repr__(self) -> str:
        inputs, outputs = ", ".join(self.input_names), ", ".join(self.output_names)
        nodes = len(self._lowered.model.graph.node)
        return f"ONNXProgram(({inputs}) -> ({outputs}), opset {self.opset_version}, {nodes} nodes)"
