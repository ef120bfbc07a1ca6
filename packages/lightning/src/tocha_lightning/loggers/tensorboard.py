"""Event files for TensorBoard, written by the package tensorboard."""

from __future__ import annotations

import os
import time
from argparse import Namespace
from collections.abc import Mapping
from typing import Any

import numpy as np

from tocha import Tensor
from tocha_lightning.loggers.logger import Logger, as_dict, flattened, next_version
from tocha_lightning.utilities.yaml import save_yaml


def _array(value: Any) -> np.ndarray[Any, Any]:
    return value.detach().cpu().numpy() if isinstance(value, Tensor) else np.asarray(value)


class EventWriter:
    """The calls of PyTorch's ``SummaryWriter`` that need no graph, on top of tensorboard's own file writer.

    Raises:
        ModuleNotFoundError: tensorboard is not installed.
    """

    def __init__(self, log_dir: str, **kwargs: Any) -> None:
        try:
            from tensorboard.summary.writer.event_file_writer import EventFileWriter
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "`TensorBoardLogger` needs tensorboard: `pip install tocha-lightning[tensorboard]`."
                " `CSVLogger` needs nothing."
            ) from error
        self.log_dir = log_dir
        self._writer = EventFileWriter(log_dir, **kwargs)

    def _add(self, summary: Any, step: int | None, walltime: float | None = None) -> None:
        from tensorboard.compat.proto.event_pb2 import Event

        event = Event(summary=summary, wall_time=time.time() if walltime is None else walltime)
        if step is not None:
            event.step = int(step)
        self._writer.add_event(event)

    def _value(self, step: int | None, walltime: float | None = None, **fields: Any) -> None:
        from tensorboard.compat.proto.summary_pb2 import Summary

        self._add(Summary(value=[Summary.Value(**fields)]), step, walltime)

    def add_scalar(
        self, tag: str, scalar_value: Any, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """A number."""
        self._value(global_step, walltime, tag=tag, simple_value=float(scalar_value))

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Several numbers under ``main_tag/``."""
        for tag, value in tag_scalar_dict.items():
            self.add_scalar(f"{main_tag}/{tag}", value, global_step, walltime)

    def add_histogram(
        self, tag: str, values: Any, global_step: int | None = None, bins: int = 64, walltime: float | None = None
    ) -> None:
        """The distribution of an array."""
        from tensorboard.compat.proto.summary_pb2 import HistogramProto

        array = _array(values).astype(np.float64).ravel()
        array = array[np.isfinite(array)]
        counts, edges = np.histogram(array, bins=bins) if array.size else (np.zeros(1), np.array([0.0, 0.0]))
        histogram = HistogramProto(
            min=array.min() if array.size else 0.0,
            max=array.max() if array.size else 0.0,
            num=array.size,
            sum=array.sum(),
            sum_squares=array.dot(array),
            bucket_limit=edges[1:].tolist(),
            bucket=counts.tolist(),
        )
        self._value(global_step, walltime, tag=tag, histo=histogram)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """An image: floats of 0 to 1 or bytes, with 1, 3 or 4 channels. Needs Pillow."""
        import io

        from PIL import Image
        from tensorboard.compat.proto.summary_pb2 import Summary

        array = _array(img_tensor)
        if dataformats == "HW":
            array = array[..., None]
        elif dataformats != "HWC":
            array = array.transpose([dataformats.index(axis) for axis in "HWC"])
        if array.dtype != np.uint8:
            array = (array.clip(0, 1) * 255).round().astype(np.uint8)
        height, width, channels = array.shape
        data = io.BytesIO()
        Image.fromarray(array[..., 0] if channels == 1 else array).save(data, format="PNG")
        image = Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=data.getvalue())
        self._value(global_step, walltime, tag=tag, image=image)

    def add_figure(
        self, tag: str, figure: Any, global_step: int | None = None, close: bool = True, walltime: float | None = None
    ) -> None:
        """A Matplotlib figure."""
        figure.canvas.draw()
        pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3]
        self.add_image(tag, pixels, global_step, walltime, dataformats="HWC")
        if close:
            import matplotlib.pyplot as plt

            plt.close(figure)

    def add_text(
        self, tag: str, text_string: str, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """A text in Markdown."""
        from tensorboard.plugins.text.summary_v2 import text_pb

        summary = text_pb(tag + "/text_summary", text_string)
        self._add(summary, global_step, walltime)

    def add_hparams(
        self, hparam_dict: Mapping[str, Any], metric_dict: Mapping[str, float], step: int | None = None
    ) -> None:
        """Hyperparameters, and the metrics by which runs are compared."""
        from google.protobuf.struct_pb2 import Value
        from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
        from tensorboard.plugins.hparams import metadata
        from tensorboard.plugins.hparams.api_pb2 import Experiment, HParamInfo, MetricInfo, MetricName, Status
        from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData, SessionEndInfo, SessionStartInfo

        values = {}
        for key, value in hparam_dict.items():
            if isinstance(value, bool):
                values[key] = Value(bool_value=value)
            elif isinstance(value, (int, float)):
                values[key] = Value(number_value=value)
            else:
                values[key] = Value(string_value=str(value))
        experiment = Experiment(
            hparam_infos=[HParamInfo(name=key) for key in values],
            metric_infos=[MetricInfo(name=MetricName(tag=key)) for key in metric_dict],
        )
        parts = {
            metadata.EXPERIMENT_TAG: HParamsPluginData(experiment=experiment),
            metadata.SESSION_START_INFO_TAG: HParamsPluginData(session_start_info=SessionStartInfo(hparams=values)),
            metadata.SESSION_END_INFO_TAG: HParamsPluginData(
                session_end_info=SessionEndInfo(status=Status.Value("STATUS_SUCCESS"))
            ),
        }
        for tag, content in parts.items():
            content.version = metadata.PLUGIN_DATA_VERSION
            plugin = SummaryMetadata.PluginData(plugin_name=metadata.PLUGIN_NAME, content=content.SerializeToString())
            self._add(Summary(value=[Summary.Value(tag=tag, metadata=SummaryMetadata(plugin_data=plugin))]), None)
        for key, metric in metric_dict.items():
            self.add_scalar(key, metric, step)

    def flush(self) -> None:
        """Write what was added."""
        self._writer.flush()

    def close(self) -> None:
        """Write what was added, and close the file."""
        self._writer.close()


class TensorBoardLogger(Logger):
    """Writes event files to ``save_dir/name/version[/sub_dir]``.

    Args:
        save_dir: the directory of all experiments.
        name: the experiment; None or empty for none.
        version: a number, or the name of a directory; by default the next number.
        log_graph: not supported: must be False.
        default_hp_metric: log ``hp_metric`` where hyperparameters come without metrics.
        prefix: put before the name of every metric.
        sub_dir: a directory within that of the version.
        kwargs: passed to tensorboard's file writer: ``max_queue_size``, ``flush_secs``, ``filename_suffix``.

    Raises:
        ValueError: `log_graph` is True.
        ModuleNotFoundError: tensorboard is not installed.
    """

    NAME_HPARAMS_FILE = "hparams.yaml"

    def __init__(
        self,
        save_dir: str | os.PathLike[str],
        name: str | None = "lightning_logs",
        version: int | str | None = None,
        log_graph: bool = False,
        default_hp_metric: bool = True,
        prefix: str = "",
        sub_dir: str | os.PathLike[str] | None = None,
        **kwargs: Any,
    ) -> None:
        if log_graph:
            raise ValueError("`log_graph=True` is not supported: export the model with `LightningModule.to_onnx`.")
        self._save_dir = os.fspath(save_dir)
        self._name = name or ""
        self._version = version
        self._default_hp_metric = default_hp_metric
        self._prefix = prefix
        self._sub_dir = None if sub_dir is None else os.fspath(sub_dir)
        self._kwargs = kwargs
        self._experiment: EventWriter | None = None
        self.hparams: dict[str, Any] = {}

    @property
    def name(self) -> str:
        """The experiment."""
        return self._name

    @property
    def version(self) -> int | str:
        """The version."""
        if self._version is None:
            self._version = next_version(self.root_dir)
        return self._version

    @property
    def save_dir(self) -> str:
        """The directory of all experiments."""
        return self._save_dir

    @property
    def sub_dir(self) -> str | None:
        """The directory within that of the version."""
        return self._sub_dir

    @property
    def root_dir(self) -> str:
        """The directory of all versions."""
        return os.path.join(self._save_dir, self._name)

    @property
    def log_dir(self) -> str:
        """The directory of this version."""
        version = self.version
        path = os.path.join(self.root_dir, version if isinstance(version, str) else f"version_{version}")
        if self._sub_dir is not None:
            path = os.path.join(path, self._sub_dir)
        return os.path.expandvars(os.path.expanduser(path))

    @property
    def experiment(self) -> EventWriter:
        """The writer, with ``add_scalar``, ``add_image``, ``add_histogram``, ``add_figure`` and ``add_text``."""
        if self._experiment is None:
            os.makedirs(self.log_dir, exist_ok=True)
            self._experiment = EventWriter(self.log_dir, **self._kwargs)
        return self._experiment

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        """Write metrics."""
        for key, value in self._prefixed(metrics).items():
            if isinstance(value, Mapping):
                self.experiment.add_scalars(key, value, step)
                continue
            try:
                self.experiment.add_scalar(key, value.item() if isinstance(value, Tensor) else value, step)
            except (TypeError, ValueError) as error:
                raise ValueError(f"you tried to log {value} which is currently not supported. Try a number.") from error

    def log_hyperparams(
        self,
        params: dict[str, Any] | Namespace | None = None,
        metrics: dict[str, Any] | None = None,
        step: int | None = None,
    ) -> None:
        """Write hyperparameters, with the metrics by which runs are compared."""
        given = as_dict(params)
        self.hparams.update(given)
        if metrics is None:
            metrics = {"hp_metric": -1} if self._default_hp_metric else {}
        elif not isinstance(metrics, dict):
            metrics = {"hp_metric": metrics}
        self.experiment.add_hparams(flattened(given), metrics, step or 0)

    def save(self) -> None:
        """Write what was added."""
        self.experiment.flush()
        path = os.path.join(self.log_dir, self.NAME_HPARAMS_FILE)
        if not os.path.isfile(path):
            save_yaml(path, self.hparams)

    def finalize(self, status: str) -> None:
        """Write the rest and close the file."""
        if self._experiment is None:
            return
        self._experiment.flush()
        if status == "success":
            self.save()
        self._experiment.close()
        self._experiment = None


def tensorboard_installed() -> bool:
    """Whether the package is there."""
    from importlib.util import find_spec

    return find_spec("tensorboard") is not None
