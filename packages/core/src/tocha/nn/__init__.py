"""Neural networks: layers, their functions and initialisation, as ``torch.nn``."""

from . import functional, init
from .modules import *
from .parameter import *
