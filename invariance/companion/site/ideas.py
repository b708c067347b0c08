"""Ideas to move in the page: pictures drawn in advance, a slider that goes through them.

A project's own ideas are functions of ``notebooks/pages/_ideas.py``, which return an `Idea`; the
SVG templates beside that file draw them. Without the page's script the first picture stands still.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, fromstring, tostring


@dataclass(frozen=True)
class Idea:
    """A picture for each position of a slider; what it shows in words, and what the slider says."""

    alt: str
    positions: list[str]
    template: Path  # draws the picture of a position; all have the same structure
    numbers: Callable[[int], dict[str, Any]]  # what it draws there
    at: int = 0
    plays: bool = False  # by itself, where the reader has not asked for less motion

    def picture(self, position: int) -> Element:
        return _drawn(self.template, **self.numbers(position))

    def moving(self) -> tuple[str, str]:
        """The picture at the start, as SVG, and in JSON what moves at each position."""
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
        return tostring(root, encoding="unicode"), told


@cache
def _templates(folder: Path) -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader([folder, Path(__file__).parent / "templates/svg"]),
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined,
        finalize=lambda value: f"{value:.1f}" if isinstance(value, float) else value,
    )  # fmt: skip


def _drawn(template: Path, **numbers: Any) -> Element:
    """A picture; fractions have one digit. Templates beside it and `panel.svg` may be imported."""
    text = _templates(template.parent).get_template(template.name).render(numbers)
    svg = fromstring(text)
    for element in svg.iter():
        element.text = (element.text or "").strip() or None
        element.tail = None
    svg.set("xmlns", "http://www.w3.org/2000/svg")
    return svg
