"""``tocha spirals``: write the points into a CSV file."""

import argparse
import csv
from collections.abc import Callable
from pathlib import Path


def spirals(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], None]:
    """Write the points of interleaved spirals, with their labels, into a CSV file."""
    parser.add_argument("path", type=Path)
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--points", type=int, default=100, help="points on each arm")
    parser.add_argument("--seed", type=int, default=0)
    return write


def write(arguments: argparse.Namespace) -> None:
    from tocha_spirals.dataset import Spirals

    data = Spirals(arguments.classes, arguments.points, seed=arguments.seed)
    with open(arguments.path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["x", "y", "label"])
        rows.writerows([*point.tolist(), label.item()] for point, label in data)
    print(f"{len(data)} points in {arguments.path}")
