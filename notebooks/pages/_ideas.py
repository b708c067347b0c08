"""The companion's pictures to move; every number is computed with the library."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from invariance.companion.site.ideas import Idea

HERE = Path(__file__).parent

Points = list[tuple[float, float]]


def _points(x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray) -> Points:
    return [(float(a), float(b)) for a, b in zip(x, y, strict=True)]


def _wave(y: np.ndarray) -> Points:
    """A curve between -1 and 1, about the middle."""
    return _points(np.linspace(0, 1, len(y)), 0.5 + 0.45 * y)


def _steps(values: np.ndarray) -> Points:
    """The empirical distribution of values."""
    n = len(values)
    up = np.r_[0, 0, np.repeat(np.arange(1, n + 1), 2)[:-1], n] / n
    return _points(np.r_[0, np.repeat(np.sort(values), 2), 1], up)


def _between(values: np.ndarray, low: float, high: float) -> np.ndarray:
    return (values - values.min()) / np.ptp(values) * (high - low) + low


@cache
def orbit(n: int = 8, between: int = 5) -> Idea:
    """A ring of readings that turns, its inner products that turn with it, their CDF that stays."""
    from invariance.groups import CyclicShifts

    rng = np.random.default_rng(3)
    x, template = rng.uniform(0.15, 1, n), rng.standard_normal(n)
    group = CyclicShifts(n)
    height = _between(group.act(group.elements(), template[None])[:, 0] @ x, 0.1, 1)

    angles = 2 * np.pi * np.arange(n) / n
    beads = [
        (62 * np.cos(angle), 62 * np.sin(angle), 5 + 12 * value)
        for value, angle in zip(x.tolist(), angles.tolist(), strict=True)
    ]
    still = {"beads": beads, "heights": height.tolist(), "steps": _steps(height)}

    def numbers(step: int) -> dict[str, Any]:
        turned, slid = f"{360 * step / n / between:g}", f"{20 * (step / between - n):g}"
        return still | {"turned": turned, "slid": slid}

    said = [f"turned by {360 * step / n / between:.0f}°" for step in range(n * between)]
    alt = (
        "A ring of eight readings turns step by step; the eight inner products with a template "
        "turn with it, and their cumulative distribution does not move."
    )
    return Idea(alt, said, HERE / "orbit.svg", numbers, plays=True)


@cache
def distribution(n: int = 24) -> Idea:
    """A template that turns: each inner product has its place in the distribution."""
    from invariance.groups import CyclicShifts

    rng = np.random.default_rng(8)
    smooth = np.fft.fft(np.exp(np.cos(2 * np.pi * np.arange(n) / n) * 6))
    curves = np.fft.ifft(np.fft.fft(rng.standard_normal((2, n))) * smooth).real
    x, template = curves / abs(curves).max(axis=1, keepdims=True)
    group = CyclicShifts(n)
    turned = group.act(group.elements(), template[None])[:, 0]
    level = _between(turned @ x, 0.05, 0.95)
    rank = level.argsort().argsort() + 1
    turns = np.linspace(0, 1, n)

    def numbers(g: int) -> dict[str, Any]:
        return {
            "data": _wave(x), "turned": _wave(turned[g]), "products": _points(turns, level),
            "product": (turns[g], level[g]),
            "steps": _steps(level), "share": (level[g], rank[g] / n),
        }  # fmt: skip

    said = [f"template turned by {360 * g / n:.0f}°" for g in range(n)]
    alt = (
        "Left, a curve and a template that turns against it; in the middle their inner product at "
        "each turn; right, how many turns have a smaller one. That distribution is the feature."
    )
    return Idea(alt, said, HERE / "distribution.svg", numbers)


@cache
def local(n: int = 36) -> Idea:
    """An average over nearby rotations: from the plain kernel to the invariant one."""
    from invariance.groups import CyclicShifts
    from invariance.kernels import Gaussian

    points = np.exp(4 * np.cos(2 * np.pi * (np.arange(n) - n // 2) / n) - 4)[None]
    group = CyclicShifts(n)
    orbit = group.act(group.elements(), points)[:, 0]
    gram = Gaussian(gamma=1.5)(orbit, orbit)
    away = np.minimum(np.arange(n), n - np.arange(n)) * 360 / n
    turns = (np.arange(n) + n // 2) % n  # from -180 to 170 degrees
    widths = [0, *range(10, 180, 10), 180]

    def numbers(step: int) -> dict[str, Any]:
        share = (away <= widths[step]) / np.sum(away <= widths[step])
        averaging = np.array([np.roll(share, g) for g in range(n)])
        averaged = averaging @ gram @ averaging.T
        across = np.linspace(0, 1, n)
        return {
            "density": (0.85 * share[turns] / share.max()).tolist(),
            "plain": _points(across, 0.95 * gram[0][turns]),
            "averaged": _points(across, 0.95 * averaged[0][turns]),
        }

    said = [f"averaged over ±{width}°" for width in widths]
    alt = (
        "Left, the density of rotations that count as harmless; right, the similarity of a point "
        "and its rotated copy: a narrow peak without averaging, flat when all rotations count."
    )
    return Idea(alt, said, HERE / "local.svg", numbers, at=5)


@cache
def alignment() -> Idea:
    """A digit turned against another: the best fit is the largest similarity."""
    from scipy.ndimage import zoom
    from sklearn.datasets import load_digits

    from invariance.groups import Rotations
    from invariance.kernels import BestFit, Polynomial

    digits = load_digits()
    twos = digits.images[digits.target == 2]
    x, z = (np.clip(zoom(twos[i] / 16, 2, order=1), 0, 1).reshape(1, -1) for i in (0, 4))
    angles = np.arange(-64, 65, 8)
    group = Rotations((16, 16), degrees=angles)
    tilted = group.act(np.radians([-32.0]), z)[0]
    turned = group.act(group.elements(), tilted)[:, 0]
    base, top = Polynomial(degree=4, gamma=1 / 16), 0.92
    level = top * base(x, turned)[0] / BestFit(base, group)(x, tilted)[0, 0]
    across = np.linspace(0, 1, len(angles))

    def seen(pixels: np.ndarray, some: np.ndarray) -> list[tuple[int, int, str]]:
        """Column, row and shade of what is ever dark."""
        dark = np.flatnonzero(some > 0.1).tolist()
        return [(i % 16, i // 16, f"{min(max(float(pixels[i]), 0), 1):.1f}") for i in dark]

    def numbers(g: int) -> dict[str, Any]:
        return {
            "one": seen(x[0], x[0]), "another": seen(turned[g], turned.max(axis=0)), "top": top,
            "levels": _points(across, level), "level": (float(across[g]), float(level[g])),
        }  # fmt: skip

    said = [f"turned by {angle}°" for angle in angles]
    alt = (
        "A handwritten two, a tilted one that the slider turns, and their similarity at each "
        "angle. The best-fit kernel takes the top of that curve."
    )
    return Idea(alt, said, HERE / "alignment.svg", numbers, at=2)


@cache
def projection(n: int = 120) -> Idea:
    """A curve on the circle and what is left of it when rotations by 1/k must not change it."""
    rng = np.random.default_rng(5)
    frequency = np.arange(1, 13)
    cosine, sine = rng.standard_normal((2, 12)) / frequency**0.7
    angle = np.outer(frequency, 2 * np.pi * np.arange(n) / n)
    parts = cosine[:, None] * np.cos(angle) + sine[:, None] * np.sin(angle)
    parts /= abs(parts.sum(0)).max()
    power = np.hypot(cosine, sine) / np.hypot(cosine, sine).max()

    def numbers(step: int) -> dict[str, Any]:
        kept = frequency % (step + 1) == 0
        return {
            "whole": _wave(parts.sum(0)), "invariant": _wave(parts[kept].sum(0)),
            "power": (0.93 * power).tolist(),
            "names": ["bar" if keep else "dropped" for keep in kept],
        }  # fmt: skip

    said = [f"rotations by 360°/{k}" for k in range(1, 7)]
    alt = (
        "A curve on the circle and its projection on what rotations by 360 degrees over k leave "
        "unchanged: of its frequencies the multiples of k stay, the others go."
    )
    return Idea(alt, said, HERE / "projection.svg", numbers, at=2)
