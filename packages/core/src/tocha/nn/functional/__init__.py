"""Functions of neural networks, as ``torch.nn.functional``."""

from .activations import *
from .convolution import *
from .dropout import *
from .linear import *
from .losses import *
from .normalization import *
from .pooling import *
from .sparse import *
