"""Functions of neural networks, as ``torch.nn.functional``."""

from .activations import *
from .dropout import *
from .linear import *
from .losses import *
from .sparse import *
