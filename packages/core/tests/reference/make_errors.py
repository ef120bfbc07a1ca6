"""The commonest mistakes and what PyTorch says of each. Run with PyTorch installed: ``python make_errors.py``.

Each case is an expression in which ``t`` is the library and ``F`` its functional module.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

CASES = [
    "t.ones(2, 3) @ t.ones(2, 3)", "t.ones(3) @ t.ones(4)", "t.ones(2, 3) + t.ones(2, 4)",
    "t.mm(t.ones(2), t.ones(2, 2))", "t.ones(2, 3).view(4)", "t.ones(2, 3).T.view(6)", "t.ones(2, 3).reshape(-1, 4)",
    "t.ones(2, 3).reshape(-1, -1)", "t.ones(2, 3)[2]", "t.ones(2, 3)[0, 0, 0]", "t.ones(2, 3)[:, ::-1]",
    "t.ones(3)[1.5]", "t.tensor(1.0)[0]", "t.ones(2, 3).sum(2)", "t.ones(2, 3).sum((0, 0))",
    "t.ones(2, 3).transpose(0, 5)", "t.ones(2, 3).permute(0)", "t.ones(2, 3).permute(0, 0)",
    "t.ones(2, 3).expand(2, 4)", "t.ones(2, 3).squeeze(3)", "t.cat([])", "t.cat([t.ones(2, 3), t.ones(3, 2)])",
    "t.cat([t.ones(2), t.ones(2, 2)])", "t.stack([t.ones(2), t.ones(3)])", "t.ones(3).item()", "bool(t.ones(3))",
    "bool(t.ones(0))", "len(t.tensor(1.0))", "float(t.ones(2))", "int('a') if False else t.ones(2) + 'a'",
    "t.ones(2).add_(t.ones(3))", "t.ones(2, dtype=t.int64).add_(1.5)", "t.tensor('a')", "t.tensor([1, [2]])",
    "t.tensor([[1, 2], [3]])", "t.ones(2, requires_grad=True).add_(1)", "t.ones(2, requires_grad=True).numpy()",
    "t.ones(2).backward()", "t.ones(2, requires_grad=True).backward()",
    "(t.ones(2, requires_grad=True) * 2).backward()", "t.ones(2, dtype=t.int64).requires_grad_()",
    "t.ones(2, dtype=t.int64, requires_grad=True)", "t.ones(2, dtype=t.int64).mean()", "t.ones(-1)",
    "t.arange(0, 5, 0)", "t.arange(0, 5, -1)", "t.ones(2, 3).gather(1, t.tensor([[3]]))",
    "t.ones(2, 3).gather(1, t.tensor([[0.5]]))", "t.ones(2, 3).gather(1, t.tensor([0]))",
    "t.ones(3).scatter(0, t.tensor([3]), 1.0)", "t.ones(3).index_select(0, t.tensor([3]))", "t.ones(3)[t.tensor([3])]",
    "t.ones(3)[t.tensor([0.5])]", "t.ones(3)[t.tensor([True, False])]", "t.ones(3).masked_fill(t.ones(3), 1.0)",
    "t.where(t.ones(2), 1.0, 2.0)", "t.ones(2, 2).topk(3)", "t.ones(3).chunk(0)", "t.ones(3).split([1, 1])",
    "t.ones(3).unsqueeze(3)", "t.ones(2, 2).t().t().unsqueeze(0).t()", "t.einsum('ij,jk', t.ones(2, 3))",
    "t.einsum('ij,jk', t.ones(2, 3), t.ones(2, 3))", "t.linalg.inv(t.zeros(2, 2))", "t.linalg.inv(t.ones(2, 3))",
    "t.linalg.cholesky(-t.eye(2))", "t.linalg.solve(t.eye(2), t.ones(3, 1))",
    "t.ones(2, dtype=t.bool) - t.ones(2, dtype=t.bool)", "-t.ones(2, dtype=t.bool)",
    "t.ones(2, dtype=t.complex64) < t.ones(2, dtype=t.complex64)", "t.ones(2) @ t.ones(2, dtype=t.float64)",
    "t.tensor([1, 2]) ** -1", "t.randperm(-1)", "t.randint(5, 5, (1,))", "t.normal(0.0, -1.0, (2,))",
    "t.multinomial(t.tensor([-1.0, 2.0]), 1)", "t.bernoulli(t.tensor([2.0]))", "F.linear(t.ones(2, 3), t.ones(4, 2))",
    "F.conv2d(t.ones(1, 3, 4, 4), t.ones(2, 1, 3, 3))", "F.conv2d(t.ones(4, 4), t.ones(2, 1, 3, 3))",
    "F.conv2d(t.ones(1, 1, 2, 2), t.ones(1, 1, 3, 3))", "F.max_pool2d(t.ones(1, 1, 2, 2), 3)",
    "F.cross_entropy(t.ones(2, 3), t.tensor([0]))", "F.cross_entropy(t.ones(2, 3), t.tensor([0, 3]))",
    "F.cross_entropy(t.ones(2, 3), t.tensor([0.0, 1.0]))", "F.nll_loss(t.ones(2, 3), t.tensor([[0], [1]]))",
    "F.embedding(t.tensor([3]), t.ones(3, 2))", "F.embedding(t.tensor([0.5]), t.ones(3, 2))",
    "F.dropout(t.ones(2), 1.5)", "F.batch_norm(t.ones(1, 2), None, None, training=True)",
    "F.layer_norm(t.ones(2, 3), (4,))", "F.softmax(t.ones(2), 3)",
    "F.binary_cross_entropy(t.tensor([2.0]), t.tensor([1.0]))", "F.mse_loss(t.ones(2), t.ones(3))",
    "F.gelu(t.ones(2), 'tan')", "t.nn.Linear(3, 2)(t.ones(2, 4))", "t.nn.Conv2d(3, 4, 3)(t.ones(1, 2, 8, 8))",
    "t.nn.Conv2d(3, 4, 3, groups=2)", "t.nn.Linear(2, 2).load_state_dict({})",
    "t.nn.Linear(2, 2).load_state_dict({'weight': t.ones(3, 3), 'bias': t.ones(2)})", "t.nn.Module()(1)",
    "t.nn.Linear(2, 2).foo", "t.nn.Sequential(1)", "t.optim.SGD([], lr=0.1)", "t.optim.SGD([t.ones(2)], lr=-1)",
    "t.optim.Adam([t.ones(2)], betas=(1.5, 0.9))", "t.optim.SGD([t.ones(2, requires_grad=True) * 2], lr=0.1)",
    "t.optim.SGD(t.ones(2), lr=0.1)", "t.device('gpu')", "t.device('cuda:a')",
    "t.autograd.grad(t.ones(1, requires_grad=True).sum(), t.ones(1, requires_grad=True))", "t.finfo(t.int32)",
    "t.iinfo(t.float32)", "t.manual_seed('a')", "t.ones(2).to('tpu')", "t.exp(1.0)", "t.add(1)", "t.ones(2).foo",
    "t.foo", "t.ones(2, 3).norm(p='x')", "t.tensor([1.0]).copy_(t.ones(2))", "t.ones(2, 3).flatten(2, 1)",
    "t.ones(2, 6).unflatten(1, (4, 2))", "t.ones(3).narrow(0, 2, 2)",
]  # fmt: skip


def said(lib, expression: str) -> list[str] | None:
    """The exception's type and message, or None where there is none."""
    try:
        eval(expression, {"t": lib, "F": lib.nn.functional, "bool": bool, "len": len, "float": float, "int": int})
    except Exception as error:
        return [type(error).__name__, str(error).split("\nException raised from")[0][:300]]
    return None


if __name__ == "__main__":
    import torch

    table = {case: said(torch, case) for case in CASES}
    silent = [case for case, what in table.items() if what is None]
    print("no error in PyTorch:", silent, file=sys.stderr)
    kept = {case: what for case, what in table.items() if what is not None}
    (Path(__file__).parent.parent / "data" / "errors.json").write_text(
        json.dumps(kept, indent=0, sort_keys=True) + "\n"
    )
