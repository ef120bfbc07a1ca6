"""Functions of neural networks, as ``torch.nn.functional``."""

from .activations import *
from .attention import *
from .classification import *
from .convolution import *
from .distance import *
from .dropout import *
from .linear import *
from .losses import *
from .normalization import *
from .padding import *
from .pooling import *
from .sequence import *
from .sparse import *
from .vision import *
