"""Ideas as moving pictures: drawn in advance, one picture for each position of a slider.

A project's own ideas are functions in ``notebooks/pages/_ideas.py`` that return an `Idea`; SVG
templates beside that file draw them. Without JavaScript, the page shows the first picture.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, fromstring, tostring

from jinja2 import Environment, FileSystemLoader, StrictUndefined

_SHARED_TEMPLATES = Path(__file__).parent / "templates/svg"


@dataclass(frozen=True)
class Idea:
    """A picture for each position of a slider.

    `alt` describes it in words, `positions` are the labels of the slider, and `numbers` returns
    the variables of the `template` for a position. All pictures must have the same elements. `at`
    is the first position. With `plays`, the slider moves by itself, unless the reader's system
    asks for reduced motion.
    """

    alt: str
    positions: list[str]
    template: Path
    numbers: Callable[[int], dict[str, Any]]
    at: int = 0
    plays: bool = False

    def picture(self, position: int) -> Element:
        return _drawn(self.template, self.numbers(position))

    def moving(self) -> tuple[str, str]:
        """Return the first picture as SVG, and as JSON the attributes that change with position."""
        pictures = [list(self.picture(i).iter()) for i in range(len(self.positions))]
        root = self.picture(self.at)
        moves: list[dict[str, list[str]]] = []
        for element, versions in zip(root.iter(), zip(*pictures, strict=True), strict=True):
            changes = _changes(versions)
            if changes:
                element.set("data-move", str(len(moves)))
                moves.append(changes)
        data = json.dumps({"moves": moves, "labels": self.positions})
        return tostring(root, encoding="unicode"), data.replace("<", "\\u003c")


def _changes(versions: tuple[Element, ...]) -> dict[str, list[str]]:
    """Return the values, by position, of each attribute of an element that changes."""
    states = [{**element.attrib, "text": element.text or ""} for element in versions]
    changes = {}
    for name in states[0]:
        values = [state[name] for state in states]
        if len(set(values)) > 1:
            changes[name] = values
    return changes


def _with_one_digit(value: Any) -> Any:
    return f"{value:.1f}" if isinstance(value, float) else value


@cache
def _templates(folder: Path) -> Environment:
    """Environment for the templates of a folder, which may import ``panel.svg``."""
    return Environment(
        loader=FileSystemLoader([folder, _SHARED_TEMPLATES]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=_with_one_digit,
    )


def _drawn(template: Path, numbers: dict[str, Any]) -> Element:
    text = _templates(template.parent).get_template(template.name).render(numbers)
    svg = fromstring(text)
    for element in svg.iter():
        element.text = (element.text or "").strip() or None
        element.tail = None
    svg.set("xmlns", "http://www.w3.org/2000/svg")
    return svg
