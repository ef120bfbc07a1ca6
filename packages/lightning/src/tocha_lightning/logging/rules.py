"""In which hooks `self.log` may be called, and what it means there by default."""

from __future__ import annotations

from tocha_lightning.utilities.exceptions import MisconfigurationException

# hook -> (default on_step, default on_epoch); a hook of an epoch may not log a step
_STEP = (True, False)
_EPOCH = (False, True)

LEVELS: dict[str, tuple[bool, bool]] = {
    **dict.fromkeys(
        (
            "training_step",
            "on_train_batch_start",
            "on_train_batch_end",
            "on_before_backward",
            "backward",
            "on_after_backward",
            "on_before_optimizer_step",
            "optimizer_step",
            "configure_gradient_clipping",
            "clip_gradients",
            "on_before_zero_grad",
            "optimizer_zero_grad",
        ),
        _STEP,
    ),
    **dict.fromkeys(
        (
            "validation_step",
            "test_step",
            "on_validation_batch_start",
            "on_validation_batch_end",
            "on_test_batch_start",
            "on_test_batch_end",
        ),
        _EPOCH,
    ),
}

EPOCH_ONLY = frozenset(
    f"on_{stage}{part}"
    for stage in ("train", "validation", "test")
    for part in ("_start", "_epoch_start", "_epoch_end")
)


def levels(hook: str, on_step: bool | None, on_epoch: bool | None) -> tuple[bool, bool]:
    """Whether a value logged in `hook` counts for the step and for the epoch.

    Raises:
        MisconfigurationException: nothing may be logged in `hook`, or not that way.
    """
    if hook in EPOCH_ONLY:
        if on_step:
            raise MisconfigurationException(
                f"You can't `self.log(on_step={on_step})` inside `{hook}`, must be one of {(False,)}."
            )
        if on_epoch is False:
            raise MisconfigurationException(
                f"You can't `self.log(on_epoch={on_epoch})` inside `{hook}`, must be one of {(True,)}."
            )
        return _EPOCH
    if hook not in LEVELS:
        raise MisconfigurationException(
            f"You can't `self.log()` inside `{hook}`. HINT: You can still log directly to the logger by using"
            " `self.logger.experiment`."
        )
    default_step, default_epoch = LEVELS[hook]
    on_step = default_step if on_step is None else on_step
    on_epoch = default_epoch if on_epoch is None else on_epoch
    if not on_step and not on_epoch:
        raise MisconfigurationException("`self.log(on_step=False, on_epoch=False)` is not useful.")
    return on_step, on_epoch
