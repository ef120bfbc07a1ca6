"""A line search whose result fulfils the strong Wolfe conditions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple


class Point(NamedTuple):
    """A step along the direction: its length, the loss there, the gradient there and its slope along the direction."""

    t: float
    loss: float
    gradient: Any
    slope: float


def cubic_minimum(a: Point, b: Point, bounds: tuple[float, float] | None = None) -> float:
    """Where the cubic through two points with these slopes is least, inside ``bounds`` (default: between them)."""
    least, most = bounds if bounds is not None else (min(a.t, b.t), max(a.t, b.t))
    if a.t > b.t:
        a, b = b, a
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if not square >= 0:
        return (least + most) / 2.0
    d2 = math.sqrt(square)
    divisor = b.slope - a.slope + 2 * d2
    if divisor == 0:
        return least
    return min(max(b.t - (b.t - a.t) * ((b.slope + d2 - d1) / divisor), least), most)


def strong_wolfe(
    evaluate: Callable[[float], Point],
    start: Point,
    t: float,
    longest: float,
    max_evaluations: int,
    decrease: float = 1e-4,
    curvature: float = 0.9,
    tolerance_change: float = 1e-9,
) -> tuple[Point, int]:
    """A point where the loss is low enough and the slope flat enough.

    Args:
        evaluate: the point at a length. start: the point at 0. t: the first length to try.
        longest: the largest entry of the direction, to tell when a bracket is too short to matter.
        max_evaluations: how many times to evaluate at most after the first.
        decrease, curvature: the constants of the two conditions.

    Returns:
        the point, and how many times ``evaluate`` was called.

    Source: Nocedal and Wright, Numerical Optimization, algorithms 3.5 and 3.6, with PyTorch's safeguards.
    """

    def too_high(point: Point) -> bool:
        return point.loss > start.loss + decrease * point.t * start.slope

    def flat(point: Point) -> bool:
        return abs(point.slope) <= -curvature * start.slope

    before, here = start, evaluate(t)
    evaluations, rounds, done = 1, 0, False
    bracket: list[Point] = []
    while rounds < max_evaluations:
        if too_high(here) or (rounds > 1 and here.loss >= before.loss):
            bracket = [before, here]
            break
        if flat(here):
            bracket, done = [here], True
            break
        if here.slope >= 0:
            bracket = [before, here]
            break
        bounds = (here.t + 0.01 * (here.t - before.t), here.t * 10)
        t = cubic_minimum(before, here, bounds)
        before, here = here, evaluate(t)
        evaluations += 1
        rounds += 1
    if rounds == max_evaluations:
        bracket = [start, here]

    low, high = (0, 1) if bracket[0].loss <= bracket[-1].loss else (1, 0)
    stalled = False
    while not done and rounds < max_evaluations:
        left, right = sorted((bracket[0].t, bracket[1].t))
        if (right - left) * longest < tolerance_change:
            break
        t = cubic_minimum(bracket[0], bracket[1])
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:
            # Near an end of the bracket: allowed once, then moved inwards.
            if stalled or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stalled = False
            else:
                stalled = True
        else:
            stalled = False
        here = evaluate(t)
        evaluations += 1
        rounds += 1
        if too_high(here) or here.loss >= bracket[low].loss:
            bracket[high] = here
            low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
        else:
            if flat(here):
                done = True
            elif here.slope * (bracket[high].t - bracket[low].t) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = here
    return bracket[low if len(bracket) > 1 else 0], evaluations
