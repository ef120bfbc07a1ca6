"""Makes ``gpt.npz`` from PyTorch: a GPT-2 block of its own making, whose weights, logits and gradients are stored.

    pip install torch==2.13.0 numpy
    python make_reference.py

Written from the paper's formulas with plain tensor operations, so that it shares no code with ``tocha_text``.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import torch

TARGET = Path(__file__).with_name("gpt.npz")
VOCAB, CONTEXT, LAYERS, HEADS, WIDTH = 11, 7, 2, 2, 8


def weights() -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    shapes: dict[str, tuple[int, ...]] = {"transformer.wte.weight": (VOCAB, WIDTH)}
    shapes["transformer.wpe.weight"] = (CONTEXT, WIDTH)
    for layer in range(LAYERS):
        name = f"transformer.h.{layer}."
        shapes |= {name + "ln_1.weight": (WIDTH,), name + "ln_1.bias": (WIDTH,)}
        shapes |= {name + "attn.c_attn.weight": (3 * WIDTH, WIDTH), name + "attn.c_attn.bias": (3 * WIDTH,)}
        shapes |= {name + "attn.c_proj.weight": (WIDTH, WIDTH), name + "attn.c_proj.bias": (WIDTH,)}
        shapes |= {name + "ln_2.weight": (WIDTH,), name + "ln_2.bias": (WIDTH,)}
        shapes |= {name + "mlp.c_fc.weight": (4 * WIDTH, WIDTH), name + "mlp.c_fc.bias": (4 * WIDTH,)}
        shapes |= {name + "mlp.c_proj.weight": (WIDTH, 4 * WIDTH), name + "mlp.c_proj.bias": (WIDTH,)}
    shapes |= {"transformer.ln_f.weight": (WIDTH,), "transformer.ln_f.bias": (WIDTH,)}
    return {name: (torch.randn(shape) * 0.5).requires_grad_() for name, shape in shapes.items()}


def norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    centered = x - x.mean(-1, keepdim=True)
    return centered / (centered.square().mean(-1, keepdim=True) + 1e-5).sqrt() * weight + bias


def gelu(x: torch.Tensor) -> torch.Tensor:
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def logits(w: dict[str, torch.Tensor], ids: torch.Tensor) -> torch.Tensor:
    length = ids.shape[1]
    x = w["transformer.wte.weight"][ids] + w["transformer.wpe.weight"][:length]
    for layer in range(LAYERS):
        b = {key.split(f"h.{layer}.")[1]: value for key, value in w.items() if f"h.{layer}." in key}
        h = norm(x, b["ln_1.weight"], b["ln_1.bias"]) @ b["attn.c_attn.weight"].T + b["attn.c_attn.bias"]
        heads = []
        for head in range(HEADS):
            size = WIDTH // HEADS
            q, k, v = (h[..., part * WIDTH + head * size : part * WIDTH + (head + 1) * size] for part in range(3))
            scores = q @ k.transpose(1, 2) / math.sqrt(size)
            later = torch.arange(length)[None, :] > torch.arange(length)[:, None]
            heads.append(scores.masked_fill(later, -math.inf).softmax(-1) @ v)
        x = x + torch.cat(heads, -1) @ b["attn.c_proj.weight"].T + b["attn.c_proj.bias"]
        h = gelu(norm(x, b["ln_2.weight"], b["ln_2.bias"]) @ b["mlp.c_fc.weight"].T + b["mlp.c_fc.bias"])
        x = x + h @ b["mlp.c_proj.weight"].T + b["mlp.c_proj.bias"]
    return norm(x, w["transformer.ln_f.weight"], w["transformer.ln_f.bias"]) @ w["transformer.wte.weight"].T


def main() -> None:
    w = weights()
    ids = torch.randint(0, VOCAB, (3, CONTEXT))
    out = logits(w, ids)
    loss = torch.nn.functional.cross_entropy(out[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
    loss.backward()
    stored = {"ids": ids.numpy(), "logits": out.detach().numpy(), "loss": loss.detach().numpy()}
    stored |= {f"weight {name}": value.detach().numpy() for name, value in w.items()}
    stored |= {f"grad {name}": value.grad.numpy() for name, value in w.items()}
    np.savez_compressed(TARGET, **stored)
    print(f"torch {torch.__version__}: loss {loss.item():.6f}, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
