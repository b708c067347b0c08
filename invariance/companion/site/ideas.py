"""Ideas to move in the page: pictures drawn in advance, a slider that goes through them.

A project's own ideas are functions of ``notebooks/pages/_ideas.py``, which return an `Idea`; the
SVG templates beside that file draw them. What differs between the pictures is all that the page's
script knows. Without the script the picture at the start stands still.
"""

import html
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, fromstring, tostring

__all__ = ["Idea", "drawing", "drawn"]


@dataclass(frozen=True)
class Idea:
    """A picture for each position of a slider.

    Parameters
    ----------
    alt : str
        What it shows, in words.
    positions : list of str
        What the slider says at each position.
    template : Path
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
    template: Path
    numbers: Callable[[int], dict[str, Any]]
    at: int = 0
    plays: bool = False

    def picture(self, position: int) -> Element:
        return drawn(self.template, **self.numbers(position))

    def html(self) -> str:
        """The figure: the picture at the start, the slider, and what moves at each position."""
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
        said = html.escape(self.positions[self.at])
        return (
            f'<figure class="widget"{" data-plays" * self.plays}>{drawing(root, self.alt)}'
            '<div class="controls" hidden><button type="button">Play</button>'
            f'<input type="range" min="0" max="{len(self.positions) - 1}" value="{self.at}" '
            f'aria-label="{said}"><output>{said}</output></div>'
            f'<script type="application/json">{told}</script></figure>'
        )


def drawing(svg: Element, alt: str) -> str:
    """An SVG element and what it shows in words, as HTML."""
    shown = tostring(svg, encoding="unicode")
    return f'<div class="drawing" role="img" aria-label="{html.escape(alt)}">{shown}</div>'


@cache
def _templates(folder: Path) -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader([folder, Path(__file__).parent / "templates/svg"]),
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined,
        finalize=lambda value: f"{value:.1f}" if isinstance(value, float) else value,
    )  # fmt: skip


def drawn(template: Path, **numbers: Any) -> Element:
    """A picture; fractions have one digit. Templates beside it and `panel.svg` may be imported."""
    text = _templates(template.parent).get_template(template.name).render(numbers)
    svg = fromstring(text)
    for element in svg.iter():
        element.text = (element.text or "").strip() or None
        element.tail = None
    svg.set("xmlns", "http://www.w3.org/2000/svg")
    return svg
