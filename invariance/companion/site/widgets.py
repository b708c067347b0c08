"""Ideas to move in the page: pictures drawn in advance, a slider that goes through them.

Every number is computed with the library when the site is built. A function draws the picture for
each position of the slider; what differs between the pictures is all that the page's script knows.
Without the script the picture at the start stands still.
"""

import html
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from xml.etree.ElementTree import Element, tostring

import numpy as np

from .svg import draw, line, start, write

__all__ = ["WIDGETS", "Widget", "moving_orbit"]

_WIDTH, _HEIGHT = 640, 225


@dataclass(frozen=True)
class Widget:
    """A picture for each position of a slider.

    Parameters
    ----------
    alt : str
        What it shows, in words.
    positions : list of str
        What the slider says at each position.
    picture : callable
        From a position to an SVG element; all of the same structure.
    at : int
        Where it starts.
    plays : bool
        Whether it moves by itself, where the reader has not asked for less motion.
    """

    alt: str
    positions: list[str]
    picture: Callable[[int], Element]
    at: int = 0
    plays: bool = False

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
        alt, last = html.escape(self.alt), len(self.positions) - 1
        return (
            f'<figure class="widget"{" data-plays" * self.plays}>'
            f'<div class="drawing" role="img" aria-label="{alt}">'
            f'{tostring(root, encoding="unicode")}</div><div class="controls" hidden>'
            '<button type="button">Play</button><input type="range" min="0" '
            f'max="{last}" value="{self.at}" aria-label="{html.escape(self.positions[self.at])}">'
            f"<output>{html.escape(self.positions[self.at])}</output></div>"
            f'<script type="application/json">{told}</script>'
        ), "</figure>"


def _steps(
    values: np.ndarray, x: float, y: float, wide: float, tall: float
) -> tuple[np.ndarray, np.ndarray]:
    """Corners of the empirical distribution of values between 0 and 1."""
    along = np.r_[0, np.repeat(np.sort(values), 2), 1]
    up = np.r_[0, 0, np.repeat(np.arange(1, len(values) + 1), 2)[:-1], len(values)] / len(values)
    return x + wide * along, y + tall * (1 - up)


def _axes(parent: Element, x: float, y: float, wide: float, tall: float, words: str) -> None:
    draw(parent, "path", "axis", d=f"M{x} {y}V{y + tall}H{x + wide}")
    write(parent, x + wide / 2, 215, words, at="middle")


@cache
def orbit(n: int = 8, between: int = 5) -> Widget:
    """A ring of readings that turns, its inner products that turn with it, their CDF that stays."""
    from ...groups import CyclicShifts

    rng = np.random.default_rng(3)
    x, template = rng.uniform(0.15, 1, n), rng.standard_normal(n)
    group = CyclicShifts(n)
    products = group.act(group.elements(), template[None])[:, 0] @ x
    height = (products - products.min()) / np.ptp(products) * 0.9 + 0.1

    def picture(step: int) -> Element:
        svg = start(_WIDTH, _HEIGHT, "orbit")
        ring = draw(svg, "g", transform="translate(110 112)")
        beads = draw(ring, "g", transform=f"rotate({360 * step / n / between:g})")
        for i, value in enumerate(x):
            angle = 2 * np.pi * i / n
            place = {"cx": 62 * np.cos(angle), "cy": 62 * np.sin(angle)}
            draw(beads, "circle", f"tone{i % 4}", **place, r=5 + 12 * float(value))
        write(svg, 110, 215, "the data, turned", at="middle")
        window = draw(svg, "svg", x=235.0, y=40.0, width=160.0, height=145.0)
        bars = draw(window, "g", transform=f"translate({20 * (step / between - n):g})")
        for i in range(2 * n):  # two rounds: sliding by one of them changes nothing
            tall = 135 * float(height[i % n])
            draw(
                bars,
                "rect",
                f"tone{i % n % 4}",
                x=20.0 * i + 2,
                y=140 - tall,
                width=16,
                height=tall,
            )
        write(svg, 315, 215, "inner products with turned templates", at="middle")
        across, up = _steps(height, 455, 40, 150, 140)
        line(svg, across, up, "still")
        _axes(svg, 455, 40, 160, 140, "their distribution stays")
        return svg

    said = [f"turned by {360 * step / n / between:.0f}°" for step in range(n * between)]
    alt = (
        "A ring of eight readings turns step by step; the eight inner products with a template "
        "turn with it, and their cumulative distribution does not move."
    )
    return Widget(alt, said, picture, plays=True)


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
    smooth = np.exp(np.cos(2 * np.pi * np.arange(n) / n) * 6)
    x, template = (np.fft.ifft(np.fft.fft(rng.standard_normal(n)) * np.fft.fft(smooth)).real
                   for _ in range(2))  # fmt: skip
    x, template = x / abs(x).max(), template / abs(template).max()
    group = CyclicShifts(n)
    turned = group.act(group.elements(), template[None])[:, 0]
    products = turned @ x
    level = (products - products.min()) / np.ptp(products) * 0.9 + 0.05
    rank = level.argsort().argsort() + 1
    across = np.linspace(0, 170, n)

    def picture(g: int) -> Element:
        svg = start(_WIDTH, _HEIGHT, "orbit")
        line(svg, 15 + across, 110 - 60 * x, "first")
        line(svg, 15 + across, 110 - 60 * turned[g], "second")
        _axes(svg, 15, 40, 170, 140, "the data, and a template turned")
        line(svg, 235 + across, 180 - 140 * level, "third")
        draw(svg, "circle", "mark", cx=235 + across[g], cy=180 - 140 * level[g], r=6)
        _axes(svg, 235, 40, 170, 140, "their inner product")
        along, up = _steps(level, 455, 40, 160, 140)
        line(svg, along, up, "still")
        draw(svg, "circle", "mark", cx=455 + 160 * level[g], cy=180 - 140 * rank[g] / n, r=6)
        _axes(svg, 455, 40, 160, 140, "share of turns below it")
        return svg

    said = [f"template turned by {360 * g / n:.0f}°" for g in range(n)]
    alt = (
        "Left, a curve and a template that turns against it; in the middle their inner product at "
        "each turn; right, how many turns have a smaller one. That distribution is the feature."
    )
    return Widget(alt, said, picture)


@cache
def local(n: int = 36) -> Widget:
    """An average over nearby rotations: from the plain kernel to the invariant one."""
    from ...groups import CyclicShifts
    from ...kernels import Gaussian

    points = np.exp(4 * np.cos(2 * np.pi * (np.arange(n) - n // 2) / n))[None] / np.e**4
    group = CyclicShifts(n)
    orbit = group.act(group.elements(), points)[:, 0]
    gram = Gaussian(gamma=1.5)(orbit, orbit)
    away = np.minimum(np.arange(n), n - np.arange(n)) * 360 / n
    turns = (np.arange(n) + n // 2) % n  # from -180 to 170 degrees
    widths = [0, *range(10, 180, 10), 180]

    def picture(step: int) -> Element:
        share = (away <= widths[step]).astype(float)
        share /= share.sum()
        averaging = np.array([np.roll(share, g) for g in range(n)])
        curve = (averaging @ gram @ averaging.T)[0][turns]
        svg = start(_WIDTH, _HEIGHT, "orbit")
        for i, weight in enumerate(share[turns] / share.max()):
            draw(
                svg, "rect", "bar", x=40 + 6 * i, y=180 - 120 * weight, width=4, height=120 * weight
            )
        _axes(svg, 35, 40, 225, 140, "turns that count as the same")
        line(svg, np.linspace(330, 610, n), 180 - 135 * gram[0][turns], "second")
        line(svg, np.linspace(330, 610, n), 180 - 135 * curve, "still")
        _axes(svg, 325, 40, 290, 140, "similarity of x and x turned by −180° … 180°")
        return svg

    said = [f"averaged over ±{width}°" for width in widths]
    alt = (
        "Left, the density of rotations that count as harmless; right, the similarity of a point "
        "and its rotated copy: a narrow peak without averaging, flat when all rotations count."
    )
    return Widget(alt, said, picture, at=5)


@cache
def alignment() -> Widget:
    """A digit turned against another: the best fit is the largest similarity."""
    from scipy.ndimage import zoom
    from sklearn.datasets import load_digits

    from ...groups import Rotations
    from ...kernels import BestFit, Polynomial

    digits = load_digits()
    twos = digits.images[digits.target == 2]
    x, z = (np.clip(zoom(twos[i] / 16, 2, order=1), 0, 1) for i in (0, 4))
    angles = np.arange(-64, 65, 8)
    group = Rotations((16, 16), degrees=angles)
    tilted = group.act(np.radians([-32.0]), z.reshape(1, -1))[0]
    turned = group.act(group.elements(), tilted)[:, 0]
    base = Polynomial(degree=4, gamma=1 / 16)
    values = base(x.reshape(1, -1), turned)[0]
    best = BestFit(base, group)(x.reshape(1, -1), tilted)[0, 0]
    level = values / best * 0.92
    across = np.linspace(0, 180, len(angles))

    def image(svg: Element, pixels: np.ndarray, some: np.ndarray, left: float) -> None:
        grid = draw(svg, "g", transform=f"translate({left:g} 40) scale(8.5)")
        for i in np.flatnonzero(some > 0.1):
            shade = f"{min(max(float(pixels[i]), 0), 1):.1f}"
            place = {"x": f"{i % 16}", "y": f"{i // 16}", "fill-opacity": shade}
            draw(grid, "rect", "pixel", **place)

    def picture(g: int) -> Element:
        svg = start(_WIDTH, _HEIGHT, "orbit")
        image(svg, x.ravel(), x.ravel(), 30)
        write(svg, 98, 215, "a two", at="middle")
        image(svg, turned[g], turned.max(axis=0), 215)
        write(svg, 283, 215, "another two, turned", at="middle")
        line(svg, [425, 620], [180 - 140 * 0.92] * 2, "grid")
        write(svg, 425, 180 - 140 * 0.92 - 5, "best fit")
        line(svg, 430 + across, 180 - 140 * level, "still")
        draw(svg, "circle", "mark", cx=430 + across[g], cy=180 - 140 * level[g], r=6)
        _axes(svg, 425, 40, 195, 140, "similarity at each angle")
        return svg

    said = [f"turned by {angle}°" for angle in angles]
    alt = (
        "A handwritten two, a tilted one that the slider turns, and their similarity at each "
        "angle. The best-fit kernel takes the top of that curve."
    )
    return Widget(alt, said, picture, at=2)


@cache
def projection(n: int = 120) -> Widget:
    """A curve on the circle and what is left of it when rotations by 1/k must not change it."""
    rng = np.random.default_rng(5)
    frequency = np.arange(1, 13)
    wave = rng.standard_normal((2, 12)) / frequency**0.7
    angle = 2 * np.pi * np.arange(n) / n
    parts = wave[0][:, None] * np.cos(np.outer(frequency, angle))
    parts += wave[1][:, None] * np.sin(np.outer(frequency, angle))
    most = abs(parts.sum(0)).max()
    power = np.hypot(*wave) / np.hypot(*wave).max()
    across = 15 + np.linspace(0, 340, n)

    def picture(step: int) -> Element:
        kept = frequency % (step + 1) == 0
        svg = start(_WIDTH, _HEIGHT, "orbit")
        line(svg, across, 110 - 65 * parts.sum(0) / most, "second")
        line(svg, across, 110 - 65 * parts[kept].sum(0) / most, "still")
        _axes(svg, 15, 40, 340, 140, "a function on the circle, and its invariant part")
        for f, size, keep in zip(frequency, power, kept, strict=True):
            name = "bar" if keep else "dropped"
            draw(
                svg, "rect", name, x=395 + 18.0 * f, y=180 - 130 * size, width=12, height=130 * size
            )
        _axes(svg, 405, 40, 225, 140, "frequencies 1 to 12: kept, dropped")
        return svg

    said = [f"rotations by 360°/{k}" for k in range(1, 7)]
    alt = (
        "A curve on the circle and its projection on what rotations by 360 degrees over k leave "
        "unchanged: of its frequencies the multiples of k stay, the others go."
    )
    return Widget(alt, said, picture, at=2)


WIDGETS: dict[str, Callable[[], Widget]] = {
    "orbit": orbit,
    "mroueh2015": distribution,
    "raj2017": local,
    "liu2022": alignment,
    "soleymani2025": projection,
}
