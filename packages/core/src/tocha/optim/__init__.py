"""Optimizers (``tocha.optim``) and learning-rate schedulers (``tocha.optim.lr_scheduler``)."""

from . import lr_scheduler as lr_scheduler
from ._swap import swap_in_optimizer_params_and_state as swap_in_optimizer_params_and_state
from .adadelta import Adadelta as Adadelta
from .adafactor import Adafactor as Adafactor
from .adagrad import Adagrad as Adagrad
from .adam import Adam as Adam
from .adam import AdamW as AdamW
from .adamax import Adamax as Adamax
from .asgd import ASGD as ASGD
from .lbfgs import LBFGS as LBFGS
from .muon import Muon as Muon
from .nadam import NAdam as NAdam
from .optimizer import Optimizer as Optimizer
from .radam import RAdam as RAdam
from .rmsprop import RMSprop as RMSprop
from .rprop import Rprop as Rprop
from .sgd import SGD as SGD
from .sparse_adam import SparseAdam as SparseAdam


def __getattr__(name: str) -> object:
    # It needs modules, which optimizers do not.
    if name != "swa_utils":
        raise AttributeError(f"module 'tocha.optim' has no attribute {name!r}")
    import importlib

    return importlib.import_module("tocha.optim.swa_utils")
