"""Progress bars."""

from tocha_lightning.callbacks.progress.progress_bar import ProgressBar
from tocha_lightning.callbacks.progress.text_progress import TextProgressBar

__all__ = ["ProgressBar", "TextProgressBar"]
