"""Ideas to move in the page: pictures drawn in advance, a slider that goes through them.

Every number is computed with the library when the site is built. A function draws the picture for
each position of the slider; what differs between the pictures is all that the page's script knows.
Without the script the picture at the start stands still.
"""

import html
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from xml.etree.ElementTree import Element, tostring

import numpy as np

from .svg import drawn

__all__ = ["WIDGETS", "Widget", "moving_orbit"]


@dataclass(frozen=True)
class Widget:
    """A picture for each position of a slider.

    Parameters
    ----------
    alt : str
        What it shows, in words.
    positions : list of str
        What the slider says at each position.
    template : str
        Draws the picture of a position; all have the same structure.
    numbers : callable
        What the template draws at a position.
    at : int
        Where it starts.
    plays : bool
        Whether it moves by itself, where the reader has not asked for less motion.
    """

    alt: str
    positions: list[str]
    template: str
    numbers: Callable[[int], dict[str, Any]]
    at: int = 0
    plays: bool = False

    def picture(self, position: int) -> Element:
        return drawn(self.template, **self.numbers(position))

    def html(self) -> tuple[str, str]:
        """The figure around its caption: what comes before and after."""
        frames = [[*self.picture(i).iter()] for i in range(len(self.positions))]
        root = self.picture(self.at)
        moves: list[dict[str, list[str]]] = []
        for element, states in zip(root.iter(), zip(*frames, strict=True), strict=True):
            read = [{**state.attrib, "text": state.text or ""} for state in states]
            moving = {k: [r[k] for r in read] for k in read[0] if len({r[k] for r in read}) > 1}
            if moving:
                element.set("data-move", str(len(moves)))
                moves.append(moving)
        told = json.dumps({"moves": moves, "says": self.positions}).replace("<", "\\u003c")
        alt, said = html.escape(self.alt), html.escape(self.positions[self.at])
        return (
            f'<figure class="widget"{" data-plays" * self.plays}>'
            f'<div class="drawing" role="img" aria-label="{alt}">'
            f'{tostring(root, encoding="unicode")}</div><div class="controls" hidden>'
            '<button type="button">Play</button><input type="range" min="0" '
            f'max="{len(self.positions) - 1}" value="{self.at}" aria-label="{said}">'
            f'<output>{said}</output></div><script type="application/json">{told}</script>'
        ), "</figure>"


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
def orbit(n: int = 8, between: int = 5) -> Widget:
    """A ring of readings that turns, its inner products that turn with it, their CDF that stays."""
    from ...groups import CyclicShifts

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
    return Widget(alt, said, "orbit", numbers, plays=True)


_ORBIT_STYLE = """
text { font: 12px sans-serif; fill: #444 } .axis { fill: none; stroke: #767676 }
.tone0 { fill: #0072b2 } .tone1 { fill: #d55e00 } .tone2 { fill: #009e73 } .tone3 { fill: #9a5fb0 }
.still { fill: none; stroke: #009e73; stroke-width: 2.5 }
@media (prefers-color-scheme: dark) { text { fill: #ccc } }
@media (prefers-reduced-motion: no-preference) {
g.turning { animation: turn 16s linear infinite }
g.sliding { animation: slide 16s linear infinite } }
@keyframes turn { to { transform: rotate(360deg) } }
@keyframes slide { from { transform: translateX(-160px) } to { transform: translateX(0) } }
"""


def moving_orbit() -> str:
    """The picture of an orbit as a file that moves by itself, where motion is welcome."""
    svg = orbit().picture(0)
    turning, sliding = [g for g in svg.iter("g") if not g.get("transform", "").endswith("112)")]
    turning.set("class", "turning")
    sliding.set("class", "sliding")
    style = Element("style")
    style.text = _ORBIT_STYLE
    svg.insert(0, style)
    return tostring(svg, encoding="unicode") + "\n"


@cache
def distribution(n: int = 24) -> Widget:
    """A template that turns: each inner product has its place in the distribution."""
    from ...groups import CyclicShifts

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
    return Widget(alt, said, "distribution", numbers)


@cache
def local(n: int = 36) -> Widget:
    """An average over nearby rotations: from the plain kernel to the invariant one."""
    from ...groups import CyclicShifts
    from ...kernels import Gaussian

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
    return Widget(alt, said, "local", numbers, at=5)


@cache
def alignment() -> Widget:
    """A digit turned against another: the best fit is the largest similarity."""
    from scipy.ndimage import zoom
    from sklearn.datasets import load_digits

    from ...groups import Rotations
    from ...kernels import BestFit, Polynomial

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
    return Widget(alt, said, "alignment", numbers, at=2)


@cache
def projection(n: int = 120) -> Widget:
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
    return Widget(alt, said, "projection", numbers, at=2)


WIDGETS: dict[str, Callable[[], Widget]] = {
    "orbit": orbit,
    "mroueh2015": distribution,
    "raj2017": local,
    "liu2022": alignment,
    "soleymani2025": projection,
}
