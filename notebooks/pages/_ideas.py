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
    across = np.linspace(0, 1, len(y))
    heights = 0.5 + 0.45 * y
    return _points(across, heights)


def _steps(values: np.ndarray) -> Points:
    """Return the empirical distribution of values."""
    n = len(values)
    ranks = np.repeat(np.arange(n + 1), 2)
    heights = ranks / n
    jumps = np.repeat(np.sort(values), 2)
    places = np.r_[0, jumps, 1]
    return _points(places, heights)


def _rescaled(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return values moved and scaled to the interval from low to high."""
    shares = (values - values.min()) / np.ptp(values)
    return shares * (high - low) + low


def _shifted(x: np.ndarray) -> np.ndarray:
    """Return all cyclic shifts of a vector, one in a row."""
    from invariance.groups import CyclicShifts

    group = CyclicShifts(len(x))
    images = group.act(group.elements(), x[None])
    return images[:, 0]


@cache
def orbit(n: int = 8, between: int = 5) -> Idea:
    """A ring of readings that turns, its inner products that turn with it, their CDF that stays."""
    rng = np.random.default_rng(3)
    x = rng.uniform(0.15, 1, n)
    template = rng.standard_normal(n)
    turned_templates = _shifted(template)
    products = turned_templates @ x
    heights = _rescaled(products, 0.1, 1)
    beads = []
    for i, value in enumerate(x.tolist()):
        angle = 2 * np.pi * i / n
        across = 62 * np.cos(angle)
        down = 62 * np.sin(angle)
        radius = 5 + 12 * value
        beads.append((across, down, radius))
    fixed = {"beads": beads, "heights": heights.tolist(), "steps": _steps(heights)}
    degrees = [360 * step / n / between for step in range(n * between)]

    def numbers(step: int) -> Numbers:
        n_turns = step / between
        offset = 20 * (n_turns - n)
        moving = {"turned": f"{degrees[step]:g}", "slid": f"{offset:g}"}
        return fixed | moving

    labels = [f"turned by {angle:.0f}°" for angle in degrees]
    alt = (
        "A ring of eight readings turns step by step; the eight inner products with a template "
        "turn with it, and their cumulative distribution does not move."
    )
    return Idea(alt, labels, HERE / "orbit.svg", numbers, plays=True)


def _convolved(curves: np.ndarray, window: np.ndarray) -> np.ndarray:
    """Return the cyclic convolutions of curves with a window."""
    spectra = np.fft.fft(curves) * np.fft.fft(window)
    return np.fft.ifft(spectra).real


@cache
def distribution(n: int = 24) -> Idea:
    """A template that turns: each inner product has its place in the distribution."""
    rng = np.random.default_rng(8)
    angles = 2 * np.pi * np.arange(n) / n
    bump = np.exp(np.cos(angles) * 6)
    noise = rng.standard_normal((2, n))
    curves = _convolved(noise, bump)
    largest = abs(curves).max(axis=1, keepdims=True)
    x, template = curves / largest
    turned = _shifted(template)
    products = turned @ x
    levels = _rescaled(products, 0.05, 0.95)
    ranks = levels.argsort().argsort() + 1
    across = np.linspace(0, 1, n)
    fixed = {
        "data": _wave(x),
        "products": _points(across, levels),
        "steps": _steps(levels),
    }

    def numbers(g: int) -> Numbers:
        level = levels[g]
        share = ranks[g] / n
        moving = {
            "turned": _wave(turned[g]),
            "product": (across[g], level),
            "share": (level, share),
        }
        return fixed | moving

    labels = [f"template turned by {360 * g / n:.0f}°" for g in range(n)]
    alt = (
        "Left, a curve and a template that turns against it; in the middle their inner product at "
        "each turn; right, how many turns have a smaller one. That distribution is the feature."
    )
    return Idea(alt, labels, HERE / "distribution.svg", numbers)


@cache
def local(n: int = 36) -> Idea:
    """An average over nearby rotations: from the plain kernel to the invariant one."""
    from invariance.kernels import Gaussian

    positions = np.arange(n)
    half = n // 2
    angles = 2 * np.pi * (positions - half) / n
    point = np.exp(4 * np.cos(angles) - 4)
    orbit_points = _shifted(point)
    kernel = Gaussian(gamma=1.5)
    gram = kernel(orbit_points, orbit_points)
    n_steps = np.minimum(positions, n - positions)
    distances = n_steps * 360 / n
    order = (positions + half) % n  # from -180 to 170 degrees
    across = np.linspace(0, 1, n)
    widths = [0, *range(10, 180, 10), 180]

    def numbers(step: int) -> Numbers:
        is_within = distances <= widths[step]
        weights = is_within / np.sum(is_within)
        averaging = np.array([np.roll(weights, g) for g in range(n)])
        averaged = averaging @ gram @ averaging.T
        density = 0.85 * weights[order] / weights.max()
        return {
            "density": density.tolist(),
            "plain": _points(across, 0.95 * gram[0, order]),
            "averaged": _points(across, 0.95 * averaged[0, order]),
        }

    labels = [f"averaged over ±{width}°" for width in widths]
    alt = (
        "Left, the density of rotations that count as harmless; right, the similarity of a point "
        "and its rotated copy: a narrow peak without averaging, flat when all rotations count."
    )
    return Idea(alt, labels, HERE / "local.svg", numbers, at=5)


def _pixels(image: np.ndarray, mask: np.ndarray) -> list[tuple[int, int, str]]:
    """Return column, row and shade of the pixels of a 16 x 16 image that are dark in `mask`."""
    shades = np.clip(image, 0, 1)
    dark = np.flatnonzero(mask > 0.1)
    pixels = []
    for i in dark.tolist():
        row, column = divmod(i, 16)
        pixels.append((column, row, f"{shades[i]:.1f}"))
    return pixels


@cache
def alignment() -> Idea:
    """A digit turned against another: the best fit is the largest similarity."""
    from scipy.ndimage import zoom
    from sklearn.datasets import load_digits

    from invariance.groups import Rotations
    from invariance.kernels import BestFit, Polynomial

    def enlarged(image: np.ndarray) -> np.ndarray:
        zoomed = zoom(image / 16, 2, order=1)
        return np.clip(zoomed, 0, 1).reshape(1, -1)

    digits = load_digits()
    is_two = digits.target == 2
    twos = digits.images[is_two]
    x = enlarged(twos[0])
    z = enlarged(twos[4])
    angles = np.arange(-64, 65, 8)
    group = Rotations((16, 16), degrees=angles)
    tilt = np.radians([-32.0])
    tilted = group.act(tilt, z)[0]
    turned = group.act(group.elements(), tilted)[:, 0]
    base = Polynomial(degree=4, gamma=1 / 16)
    similarities = base(x, turned)[0]
    best_fit = BestFit(base, group)
    best = best_fit(x, tilted)[0, 0]
    top = 0.92
    levels = top * similarities / best
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
    coefficients = rng.standard_normal((2, 12)) / frequencies**0.7
    cosines, sines = coefficients[:, :, None]
    circle = 2 * np.pi * np.arange(n) / n
    angles = np.outer(frequencies, circle)
    parts = cosines * np.cos(angles) + sines * np.sin(angles)
    parts /= abs(parts.sum(axis=0)).max()
    whole = parts.sum(axis=0)
    amplitudes = np.hypot(*coefficients)
    power = amplitudes / amplitudes.max()
    bars = 0.93 * power

    def numbers(step: int) -> Numbers:
        k = step + 1
        is_invariant = frequencies % k == 0
        invariant = parts[is_invariant].sum(axis=0)
        return {
            "whole": _wave(whole),
            "invariant": _wave(invariant),
            "power": bars.tolist(),
            "names": np.where(is_invariant, "bar", "dropped").tolist(),
        }

    labels = [f"rotations by 360°/{k}" for k in range(1, 7)]
    alt = (
        "A curve on the circle and its projection on the functions that rotations by 360 degrees "
        "over k leave unchanged: multiples of k stay among its frequencies, the others go."
    )
    return Idea(alt, labels, HERE / "projection.svg", numbers, at=2)
