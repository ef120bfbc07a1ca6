"""The layers."""

from .batchnorm import *
from .container import *
from .conv import *
from .flatten import *
from .instancenorm import *
from .module import Module
from .normalization import *
from .pooling import *
