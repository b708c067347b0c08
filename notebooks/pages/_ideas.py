"""The companion's pictures to move; every number is computed with the library."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from invariance.companion.site.ideas import Idea

HERE = Path(__file__).parent

Points = list[tuple[float, float]]
Numbers = dict[str, Any]
Values = Sequence[float] | np.ndarray


def _points(x: Values, y: Values) -> Points:
    return [(float(a), float(b)) for a, b in zip(x, y, strict=True)]


def _wave(y: np.ndarray) -> Points:
    """Return a curve between -1 and 1, about the middle."""
    return _points(np.linspace(0, 1, len(y)), 0.5 + 0.45 * y)


def _steps(values: np.ndarray) -> Points:
    """Return the empirical distribution of values."""
    n = len(values)
    ranks = np.repeat(np.arange(1, n + 1), 2)[:-1]
    heights = np.r_[0, 0, ranks, n] / n
    places = np.r_[0, np.repeat(np.sort(values), 2), 1]
    return _points(places, heights)


def _rescaled(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return values moved and scaled to the interval from low to high."""
    share = (values - values.min()) / np.ptp(values)
    return share * (high - low) + low


@cache
def orbit(n: int = 8, between: int = 5) -> Idea:
    """A ring of readings that turns, its inner products that turn with it, their CDF that stays."""
    from invariance.groups import CyclicShifts

    rng = np.random.default_rng(3)
    x = rng.uniform(0.15, 1, n)
    template = rng.standard_normal(n)
    group = CyclicShifts(n)
    products = group.act(group.elements(), template[None])[:, 0] @ x
    heights = _rescaled(products, 0.1, 1)

    beads = []
    for i, value in enumerate(x.tolist()):
        angle = 2 * np.pi * i / n
        beads.append((62 * np.cos(angle), 62 * np.sin(angle), 5 + 12 * value))
    fixed = {"beads": beads, "heights": heights.tolist(), "steps": _steps(heights)}
    degrees = [360 * step / n / between for step in range(n * between)]

    def numbers(step: int) -> Numbers:
        offset = 20 * (step / between - n)
        return fixed | {"turned": f"{degrees[step]:g}", "slid": f"{offset:g}"}

    labels = [f"turned by {angle:.0f}°" for angle in degrees]
    alt = (
        "A ring of eight readings turns step by step; the eight inner products with a template "
        "turn with it, and their cumulative distribution does not move."
    )
    return Idea(alt, labels, HERE / "orbit.svg", numbers, plays=True)


@cache
def distribution(n: int = 24) -> Idea:
    """A template that turns: each inner product has its place in the distribution."""
    from invariance.groups import CyclicShifts

    rng = np.random.default_rng(8)
    bump = np.exp(np.cos(2 * np.pi * np.arange(n) / n) * 6)
    noise = rng.standard_normal((2, n))
    curves = np.fft.ifft(np.fft.fft(noise) * np.fft.fft(bump)).real
    x, template = curves / abs(curves).max(axis=1, keepdims=True)
    group = CyclicShifts(n)
    turned = group.act(group.elements(), template[None])[:, 0]
    levels = _rescaled(turned @ x, 0.05, 0.95)
    ranks = levels.argsort().argsort() + 1
    turns = np.linspace(0, 1, n)

    def numbers(g: int) -> Numbers:
        return {
            "data": _wave(x),
            "turned": _wave(turned[g]),
            "products": _points(turns, levels),
            "product": (turns[g], levels[g]),
            "steps": _steps(levels),
            "share": (levels[g], ranks[g] / n),
        }

    labels = [f"template turned by {360 * g / n:.0f}°" for g in range(n)]
    alt = (
        "Left, a curve and a template that turns against it; in the middle their inner product at "
        "each turn; right, how many turns have a smaller one. That distribution is the feature."
    )
    return Idea(alt, labels, HERE / "distribution.svg", numbers)


@cache
def local(n: int = 36) -> Idea:
    """An average over nearby rotations: from the plain kernel to the invariant one."""
    from invariance.groups import CyclicShifts
    from invariance.kernels import Gaussian

    positions = np.arange(n)
    point = np.exp(4 * np.cos(2 * np.pi * (positions - n // 2) / n) - 4)[None]
    group = CyclicShifts(n)
    orbit_points = group.act(group.elements(), point)[:, 0]
    gram = Gaussian(gamma=1.5)(orbit_points, orbit_points)
    distances = np.minimum(positions, n - positions) * 360 / n
    order = (positions + n // 2) % n  # from -180 to 170 degrees
    across = np.linspace(0, 1, n)
    widths = [0, *range(10, 180, 10), 180]

    def numbers(step: int) -> Numbers:
        is_within = distances <= widths[step]
        weights = is_within / np.sum(is_within)
        averaging = np.array([np.roll(weights, g) for g in range(n)])
        averaged = averaging @ gram @ averaging.T
        return {
            "density": (0.85 * weights[order] / weights.max()).tolist(),
            "plain": _points(across, 0.95 * gram[0][order]),
            "averaged": _points(across, 0.95 * averaged[0][order]),
        }

    labels = [f"averaged over ±{width}°" for width in widths]
    alt = (
        "Left, the density of rotations that count as harmless; right, the similarity of a point "
        "and its rotated copy: a narrow peak without averaging, flat when all rotations count."
    )
    return Idea(alt, labels, HERE / "local.svg", numbers, at=5)


def _pixels(image: np.ndarray, mask: np.ndarray) -> list[tuple[int, int, str]]:
    """Return column, row and shade of the pixels of a 16 x 16 image that are dark in `mask`."""
    pixels = []
    for i in np.flatnonzero(mask > 0.1).tolist():
        shade = min(max(float(image[i]), 0), 1)
        pixels.append((i % 16, i // 16, f"{shade:.1f}"))
    return pixels


@cache
def alignment() -> Idea:
    """A digit turned against another: the best fit is the largest similarity."""
    from scipy.ndimage import zoom
    from sklearn.datasets import load_digits

    from invariance.groups import Rotations
    from invariance.kernels import BestFit, Polynomial

    def enlarged(image: np.ndarray) -> np.ndarray:
        return np.clip(zoom(image / 16, 2, order=1), 0, 1).reshape(1, -1)

    digits = load_digits()
    twos = digits.images[digits.target == 2]
    x = enlarged(twos[0])
    z = enlarged(twos[4])
    angles = np.arange(-64, 65, 8)
    group = Rotations((16, 16), degrees=angles)
    tilted = group.act(np.radians([-32.0]), z)[0]
    turned = group.act(group.elements(), tilted)[:, 0]
    base = Polynomial(degree=4, gamma=1 / 16)
    best = BestFit(base, group)(x, tilted)[0, 0]
    top = 0.92
    levels = top * base(x, turned)[0] / best
    across = np.linspace(0, 1, len(angles))
    ever_dark = turned.max(axis=0)

    def numbers(g: int) -> Numbers:
        return {
            "one": _pixels(x[0], x[0]),
            "another": _pixels(turned[g], ever_dark),
            "top": top,
            "levels": _points(across, levels),
            "level": (float(across[g]), float(levels[g])),
        }

    labels = [f"turned by {angle}°" for angle in angles]
    alt = (
        "A handwritten two, a tilted one that the slider turns, and their similarity at each "
        "angle. The best-fit kernel takes the top of that curve."
    )
    return Idea(alt, labels, HERE / "alignment.svg", numbers, at=2)


@cache
def projection(n: int = 120) -> Idea:
    """A curve on the circle and its part that rotations by 1/k of a turn do not change."""
    rng = np.random.default_rng(5)
    frequencies = np.arange(1, 13)
    cosines, sines = rng.standard_normal((2, 12)) / frequencies**0.7
    angles = np.outer(frequencies, 2 * np.pi * np.arange(n) / n)
    parts = cosines[:, None] * np.cos(angles) + sines[:, None] * np.sin(angles)
    parts /= abs(parts.sum(0)).max()
    amplitudes = np.hypot(cosines, sines)
    power = amplitudes / amplitudes.max()

    def numbers(step: int) -> Numbers:
        is_invariant = frequencies % (step + 1) == 0
        return {
            "whole": _wave(parts.sum(0)),
            "invariant": _wave(parts[is_invariant].sum(0)),
            "power": (0.93 * power).tolist(),
            "names": ["bar" if stays else "dropped" for stays in is_invariant],
        }

    labels = [f"rotations by 360°/{k}" for k in range(1, 7)]
    alt = (
        "A curve on the circle and its projection on the functions that rotations by 360 degrees "
        "over k leave unchanged: multiples of k stay among its frequencies, the others go."
    )
    return Idea(alt, labels, HERE / "projection.svg", numbers, at=2)
