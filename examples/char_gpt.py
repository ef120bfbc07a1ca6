"""A small GPT learns to write like a text, one character or one piece of a word at a time.

    python examples/char_gpt.py                              # Jane Austen, some minutes
    python examples/char_gpt.py my_text.txt --steps 200      # any text file, a quick look
    python examples/char_gpt.py --tokenizer bpe              # pieces of words instead of characters

Writes to runs/char_gpt/ what it learned to say (sample.txt), its weights (model.pt) and its tokenizer.
"""

import argparse
import time
from pathlib import Path

import tocha
from tocha import nn
from tocha.nn import functional as F
from tocha.optim import AdamW
from tocha.optim.lr_scheduler import OneCycleLR
from tocha.utils.data import DataLoader
from tocha_text import BPETokenizer, CharTokenizer, LanguageModelingDataset
from tocha_text.models import GPT, GPTConfig

HELD_OUT = 0.1  # of the text, its end: no training sample overlaps it


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    austen = Path(__file__).parent / "data" / "pride_and_prejudice.txt"
    parser.add_argument("text", nargs="?", type=Path, default=austen, help="the text file to learn from")
    parser.add_argument("--tokenizer", choices=("char", "bpe"), default="char")
    parser.add_argument("--vocab-size", type=int, default=1000, help="most tokens of the bpe tokenizer")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--block-size", type=int, default=64, help="tokens that the network sees at once")
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--length", type=int, default=600, help="tokens to write in the end")
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--top-p", type=float, default=0.95)
    parser.add_argument("--prompt", default="\n", help="what it is to go on from")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=Path("runs/char_gpt"))
    return parser.parse_args()


def endless(loader: DataLoader):
    while True:
        yield from loader


@tocha.no_grad()
def mean_loss(model: nn.Module, loader: DataLoader, device: str) -> float:
    model.eval()
    losses = [loss_of(model, batch, device).item() for batch in loader]
    model.train()
    return sum(losses) / len(losses)


def loss_of(model: nn.Module, batch: list[tocha.Tensor], device: str) -> tocha.Tensor:
    inputs, targets = (part.to(device) for part in batch)
    return F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())


def main() -> None:
    args = arguments()
    tocha.manual_seed(args.seed)
    text = args.text.read_text(encoding="utf-8")
    if args.tokenizer == "char":
        tokenizer = CharTokenizer.train(text)
    else:
        tokenizer = BPETokenizer.train(text, vocab_size=args.vocab_size)
    cut = int(len(text) * (1 - HELD_OUT))
    train = LanguageModelingDataset(text[:cut] + "\n", tokenizer, args.block_size, stride=1)
    held_out = LanguageModelingDataset(text[cut:] + "\n", tokenizer, args.block_size)
    config = GPTConfig(
        vocab_size=tokenizer.vocab_size,
        block_size=args.block_size,
        n_layer=args.layers,
        n_head=args.heads,
        n_embd=args.width,
        dropout=args.dropout,
    )
    model = GPT(config).to(args.device)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    print(f"{args.text.name}: {len(text):,} characters, {len(train.tokens):,} tokens to learn from")
    print(f"{tokenizer!r}, GPT with {parameters:,} parameters")

    optimizer = AdamW(model.parameters(), lr=args.lr, weight_decay=0.1)
    scheduler = OneCycleLR(optimizer, max_lr=args.lr, total_steps=args.steps, pct_start=0.1)
    batches = endless(DataLoader(train, args.batch_size, shuffle=True, drop_last=True))
    held_out_batches = DataLoader(held_out, args.batch_size)
    start = time.perf_counter()
    for step in range(1, args.steps + 1):
        loss = loss_of(model, next(batches), args.device)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        if step % max(1, args.steps // 10) == 0:
            rate = step * args.batch_size * args.block_size / (time.perf_counter() - start)
            unseen = mean_loss(model, held_out_batches, args.device)
            print(f"step {step:5d}  loss {loss.item():.3f}  held-out loss {unseen:.3f}  {rate:,.0f} tokens/s")

    prompt = tocha.tensor([tokenizer.encode(args.prompt)], device=args.device)
    written = model.generate(prompt, args.length, args.temperature, top_p=args.top_p)
    sample = tokenizer.decode(written[0])
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "sample.txt").write_text(sample, encoding="utf-8")
    tokenizer.save(args.out / "tokenizer.json")
    tocha.save({"config": vars(config), "model": model.state_dict()}, args.out / "model.pt")
    print(f"\n{sample.strip()}\n\nwritten to {args.out}/sample.txt, with model.pt and tokenizer.json beside it")


if __name__ == "__main__":
    main()
