"""Function transforms: derivatives and batching of functions, as ``torch.func``.

Transforms nest in any order, and their results are differentiable. Source: https://pytorch.org/docs/stable/func.html
"""

from __future__ import annotations

from ._forward import hessian, jacfwd, jvp, linearize
from ._functionalize import debug_unwrap, functionalize
from ._modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from ._rearrange import rearrange
from ._reverse import grad, grad_and_value, jacrev, vjp
from ._vmap import vmap

__all__ = ["debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev",
           "jvp", "linearize",
           "rearrange", "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap"]  # fmt: skip
