"""A convolutional network learns real handwritten digits, and leaves as an ONNX file.

    python examples/quickstart.py                          # 1,797 digits that come with tocha-vision
    python examples/quickstart.py --data fashion-mnist     # 70,000 pictures of clothes, downloaded once

Writes to runs/quickstart/: metrics.csv, curves.png, confusion_matrix.png, mistakes.png, best.ckpt and digits.onnx.
Needs tocha-vision, tocha-lightning, tocha-onnx and matplotlib; ``nox -s quickstart`` installs them.
"""

import argparse
import csv
import time
from pathlib import Path

import matplotlib
import numpy as np
import onnxruntime

import tocha
import tocha_lightning as L
from tocha import nn
from tocha.nn import functional as F
from tocha.utils.data import DataLoader, Dataset, random_split
from tocha_lightning.callbacks import ModelCheckpoint
from tocha_lightning.loggers import CSVLogger
from tocha_vision import datasets, transforms

matplotlib.use("agg")
from matplotlib import pyplot as plt  # noqa: E402

DATA = {
    "digits": {"make": datasets.Digits, "size": 8, "epochs": 10, "batch_size": 64},
    "fashion-mnist": {"make": datasets.FashionMNIST, "size": 28, "epochs": 5, "batch_size": 128},
}
BATCH_SIZES = (1, 64, 97)  # at which onnxruntime has to give the same numbers: one, the exported one, a prime
BLUE, ORANGE, RED, GREY = "#2f6db3", "#e08a1e", "#c0392b", "#8a8a8a"


class Classifier(L.LightningModule):
    """Two convolutions and two linear layers, for square grey images."""

    def __init__(self, size: int, learning_rate: float = 3e-3) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 32, kernel_size=3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 64, kernel_size=3, padding=1),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(64 * (size // 4) ** 2, 128),
            nn.ReLU(),
            nn.Dropout(0.25),
            nn.Linear(128, 10),
        )

    def forward(self, images: tocha.Tensor) -> tocha.Tensor:
        return self.layers(images)

    def _step(self, batch: list[tocha.Tensor], stage: str) -> tocha.Tensor:
        images, labels = batch
        logits = self(images)
        loss = F.cross_entropy(logits, labels)
        accuracy = (logits.argmax(1) == labels).to(tocha.float32).mean()
        # A batch of another size than the rest counts by its size.
        self.log_dict(
            {f"{stage}_loss": loss, f"{stage}_accuracy": accuracy},
            on_step=False,
            on_epoch=True,
            prog_bar=True,
            batch_size=len(labels),
        )
        return loss

    def training_step(self, batch: list[tocha.Tensor], batch_index: int) -> tocha.Tensor:
        return self._step(batch, "train")

    def validation_step(self, batch: list[tocha.Tensor], batch_index: int) -> None:
        self._step(batch, "val")

    def predict_step(self, batch: list[tocha.Tensor], batch_index: int) -> tocha.Tensor:
        return self(batch[0]).softmax(1)

    def configure_optimizers(self) -> dict:
        optimizer = tocha.optim.AdamW(self.parameters(), lr=self.hparams.learning_rate)
        scheduler = tocha.optim.lr_scheduler.OneCycleLR(
            optimizer, max_lr=self.hparams.learning_rate, total_steps=int(self.trainer.estimated_stepping_batches)
        )
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=sorted(DATA), default="digits")
    parser.add_argument("--root", type=Path, default=Path("data"), help="folder for what is downloaded")
    parser.add_argument("--out", type=Path, help="folder to write to; runs/quickstart[-fashion-mnist] by default")
    parser.add_argument("--epochs", type=int, help="times through the training images")
    parser.add_argument("--batch-size", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--accelerator", default="auto")
    args = parser.parse_args()
    args.out = args.out or Path("runs") / ("quickstart" if args.data == "digits" else f"quickstart-{args.data}")
    args.epochs = args.epochs or DATA[args.data]["epochs"]
    args.batch_size = args.batch_size or DATA[args.data]["batch_size"]
    return args


def load(args: argparse.Namespace) -> tuple[Dataset, Dataset, Dataset]:
    """Images to learn from, images to choose the best epoch by, and images that nothing sees until the end."""
    options = {"transform": transforms.ToTensor()}
    if args.data != "digits":
        options["download"] = True
    make = DATA[args.data]["make"]
    known, unseen = make(args.root, train=True, **options), make(args.root, train=False, **options)
    learn, choose = random_split(known, [0.9, 0.1])
    return learn, choose, unseen


def main() -> None:
    args = arguments()
    L.seed_everything(args.seed)
    onnx_path = args.out / f"{args.data}.onnx"
    written = ["metrics.csv", "hparams.yaml", "curves.png", "confusion_matrix.png", "mistakes.png", "best.ckpt"]
    for path in (*(args.out / name for name in written), onnx_path):
        path.unlink(missing_ok=True)

    learn, choose, unseen = load(args)
    start = time.perf_counter()
    model = Classifier(DATA[args.data]["size"])
    checkpoint = ModelCheckpoint(args.out, filename="best", monitor="val_loss", mode="min")
    trainer = L.Trainer(
        accelerator=args.accelerator,
        max_epochs=args.epochs,
        logger=CSVLogger(args.out.parent, name=args.out.name, version=""),
        callbacks=[checkpoint],
        log_every_n_steps=10,
    )
    trainer.fit(model, DataLoader(learn, args.batch_size, shuffle=True), DataLoader(choose, 256))
    seconds = time.perf_counter() - start

    best = Classifier.load_from_checkpoint(checkpoint.best_model_path)
    probabilities = tocha.cat(trainer.predict(best, DataLoader(unseen, 256))).cpu().numpy()
    labels = unseen.targets.numpy()
    accuracy = float((probabilities.argmax(1) == labels).mean())
    draw_curves(args.out / "metrics.csv", args.out / "curves.png")
    draw_confusion_matrix(probabilities, labels, unseen.classes, args.out / "confusion_matrix.png")
    draw_mistakes(probabilities, unseen, args.out / "mistakes.png")

    images = tocha.stack([unseen[index][0] for index in range(max(BATCH_SIZES))])
    differences = export(best.cpu().eval(), images, onnx_path)

    print(f"\n{'accuracy':<14}{accuracy:.2%} of {len(labels):,} images that it never saw")
    print(f"{'training':<14}{seconds:.1f} s, {args.epochs} epochs of {len(learn):,} images")
    print(f"{'ONNX':<14}{onnx_path.name}, {onnx_path.stat().st_size / 1000:,.0f} kB")
    for size, difference in differences.items():
        print(f"{'onnxruntime' if size == 1 else '':<14}largest difference {difference:.1e} at batch size {size}")
    print(f"{'written to':<14}{args.out}/")


def export(model: nn.Module, images: tocha.Tensor, path: Path) -> dict[int, float]:
    """Writes the ONNX file; the largest difference between the two programs' outputs at each batch size."""
    tocha.onnx.export(
        model,
        (images[:64],),
        path,
        input_names=["images"],
        output_names=["logits"],
        dynamic_axes={"images": {0: "batch"}, "logits": {0: "batch"}},
    )
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    differences = {}
    for size in BATCH_SIZES:
        (theirs,) = session.run(["logits"], {"images": images[:size].numpy()})
        with tocha.no_grad():
            differences[size] = float(np.abs(model(images[:size]).numpy() - theirs).max())
    return differences


def draw_curves(metrics: Path, target: Path) -> None:
    """Loss and accuracy by epoch, while learning and on the images that choose the best epoch."""
    with open(metrics, newline="") as file:
        rows = list(csv.DictReader(file))
    figure, panels = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for panel, name in zip(panels, ("loss", "accuracy")):
        for stage, label, color in (("train", "training", BLUE), ("val", "validation", ORANGE)):
            points = [(int(row["epoch"]) + 1, float(row[f"{stage}_{name}"])) for row in rows if row[f"{stage}_{name}"]]
            panel.plot(*zip(*points), color=color, marker="o", markersize=4, linewidth=2, label=label)
        panel.set_title(name.capitalize(), loc="left", fontweight="bold")
        panel.set_xlabel("epoch")
        panel.xaxis.get_major_locator().set_params(integer=True)
        panel.grid(axis="y", color="#e5e5e5")
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylim(bottom=0)
    panels[1].yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1, decimals=0))
    panels[1].legend(frameon=False, loc="lower right")
    save(figure, target)


def draw_confusion_matrix(probabilities: np.ndarray, labels: np.ndarray, classes: list[str], target: Path) -> None:
    """How often each class was taken for each other."""
    counts = np.zeros((len(classes), len(classes)), dtype=int)
    np.add.at(counts, (labels, probabilities.argmax(1)), 1)
    shares = counts / counts.sum(1, keepdims=True)
    figure, panel = plt.subplots(figsize=(7.2, 6.6), layout="constrained")
    # The square root keeps a single mistake among many right answers visible.
    panel.imshow(np.sqrt(shares), cmap="Blues", vmin=0, vmax=1)
    for (row, column), count in np.ndenumerate(counts):
        if count:
            color = "white" if shares[row, column] > 0.4 else RED if row != column else "black"
            panel.text(column, row, count, ha="center", va="center", color=color, fontsize=9)
    names = [name.partition(" - ")[0] for name in classes]
    turned = {"rotation": 45, "ha": "right"} if max(map(len, names)) > 3 else {}
    panel.set_xticks(range(len(names)), names, **turned)
    panel.set_yticks(range(len(names)), names)
    panel.set_xlabel("predicted")
    panel.set_ylabel("true")
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)
    accuracy = np.trace(counts) / counts.sum()
    panel.set_title(f"{accuracy:.2%} of {counts.sum():,} right", loc="left", fontweight="bold")
    save(figure, target)


def draw_mistakes(probabilities: np.ndarray, dataset: Dataset, target: Path, rows: int = 3, columns: int = 8) -> None:
    """The images whose true class got the least probability: the mistakes first, then the closest calls."""
    labels = dataset.targets.numpy()
    order = np.argsort(probabilities[np.arange(len(labels)), labels])[: rows * columns]
    wrong = int((probabilities.argmax(1) != labels).sum())
    figure, panels = plt.subplots(rows, columns, figsize=(1.45 * columns, 2.0 * rows), layout="constrained")
    for panel, index in zip(panels.flat, order):
        predicted, label = int(probabilities[index].argmax()), int(labels[index])
        true, guess = (dataset.classes[number].partition(" - ")[0] for number in (label, predicted))
        right = predicted == label
        verdict = f"{probabilities[index, label]:.0%} sure" if right else f"taken for {guess}"
        panel.imshow(dataset.data[int(index)].numpy(), cmap="gray_r", interpolation="bicubic")
        panel.set_title(f"{true}\n{verdict}", fontsize=9, color=GREY if right else RED)
        panel.set_xticks([])
        panel.set_yticks([])
        panel.spines[:].set_color("#dddddd" if right else RED)
    rest = "the others are the closest calls" if wrong < len(order) else f"these are the clearest {len(order)}"
    title = f"{wrong} of {len(labels):,} wrong, in red; {rest}"
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
    save(figure, target)


def save(figure: plt.Figure, target: Path) -> None:
    """Writes the picture under a temporary name, then renames it."""
    temporary = target.with_name(f".{target.name}")
    figure.savefig(temporary, dpi=150, format="png")
    temporary.replace(target)
    plt.close(figure)


if __name__ == "__main__":
    main()
