"""Automatic mixed precision, as ``torch.amp``: autocast, gradient scaling, decorators for own autograd functions.

See https://pytorch.org/docs/stable/amp.html
"""

from __future__ import annotations

from .autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
