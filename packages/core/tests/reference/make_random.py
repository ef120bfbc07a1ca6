"""Write PyTorch's values of the cases of ``../data/random_cases.json`` to ``../data/random_values.npz``.

    python make_random.py            (needs torch==2.13.0)

A case is a function with either the ``shape``, ``dtype`` and ``layout`` of the tensor to fill or the ``inputs`` (lists,
each of the case's ``dtype``), and further ``args``. Beside the values, one more 64-bit draw is stored: it tells
whether the stream is where PyTorch's is. The tests make their arrays with the functions here.
"""

import json
import math
from pathlib import Path

import numpy as np

DATA = Path(__file__).parent.parent / "data"

FUNCTIONS = {
    "normal_tensor": "normal", "standard_gamma": "_standard_gamma", "dirichlet": "_sample_dirichlet",
    "poisson": "poisson", "binomial": "binomial", "multinomial": "multinomial", "bernoulli": "bernoulli",
}  # fmt: skip
METHODS = {
    "uniform": "uniform_", "normal": "normal_", "exponential": "exponential_", "cauchy": "cauchy_",
    "log_normal": "log_normal_", "geometric": "geometric_", "bernoulli": "bernoulli_", "randint": "random_",
    "random": "random_",
}  # fmt: skip


def empty(module, shape, dtype, layout):
    """A new tensor or array (``module`` is torch or numpy): contiguous, first axis fastest, or every other column."""
    if layout == "transposed":
        return module.empty((shape[-1], *shape[1:-1], shape[0]), dtype=dtype).swapaxes(0, -1)
    if layout == "sliced":
        return module.empty((*shape[:-1], 2 * shape[-1]), dtype=dtype)[..., ::2]
    return module.empty(tuple(shape), dtype=dtype)


def values_of(case, gen):
    """PyTorch's values of a case."""
    import torch

    name, args = case["function"], case.get("args", [])
    dtype = getattr(torch, case.get("dtype", "float32"))
    if "shape" in case:
        tensor = empty(torch, case["shape"], dtype, case.get("layout"))
        if name == "trunc_normal":
            return torch.nn.init.trunc_normal_(tensor, *args, generator=gen)
        return getattr(tensor, METHODS[name])(*args, generator=gen)
    if name == "randperm":
        return torch.randperm(args[0], dtype=getattr(torch, args[1]), generator=gen)
    inputs = [torch.tensor(values, dtype=dtype) for values in case["inputs"]]
    return getattr(torch, FUNCTIONS[name])(*inputs, *args, generator=gen)


def as_numpy(tensor):
    """The tensor as an array that NumPy can store: bfloat16 as its bits."""
    import torch

    return tensor.view(torch.int16).numpy().view(np.uint16) if tensor.dtype == torch.bfloat16 else tensor.numpy()


def main():
    import torch

    cases = json.loads((DATA / "random_cases.json").read_text())
    values, following = {}, []
    for number, case in enumerate(cases):
        gen = torch.Generator().manual_seed(number)
        values[f"{number}"] = as_numpy(values_of(case, gen)).copy()
        following.append(torch.randint(2**62, (), generator=gen).item())
    states = [torch.Generator().manual_seed(-5)]
    states.append(torch.Generator().manual_seed(7))
    torch.randn(3, generator=states[1])
    values["following"] = np.array(following)
    values["states"] = np.stack([gen.get_state().numpy() for gen in states])
    np.savez_compressed(DATA / "random_values.npz", **values)
    print(f"{len(cases)} cases, {math.ceil((DATA / 'random_values.npz').stat().st_size / 1024)} KiB")


if __name__ == "__main__":
    main()
