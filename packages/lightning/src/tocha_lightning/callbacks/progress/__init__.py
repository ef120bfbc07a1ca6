"""Progress bars."""

from tocha_lightning.callbacks.progress.progress_bar import ProgressBar
from tocha_lightning.callbacks.progress.rich_progress import RichProgressBar, RichProgressBarTheme
from tocha_lightning.callbacks.progress.text_progress import TextProgressBar

# Lightning's name for the bar of plain text
TQDMProgressBar = TextProgressBar

__all__ = ["ProgressBar", "RichProgressBar", "RichProgressBarTheme", "TQDMProgressBar", "TextProgressBar"]
