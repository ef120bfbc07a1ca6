"""The base of callbacks that write checkpoints: the Trainer runs them last."""

from tocha_lightning.callbacks.callback import Callback


class Checkpoint(Callback):
    """Derive from it so that the Trainer adds no checkpoint callback of its own, and runs yours after all others."""
