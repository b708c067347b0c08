"""SVG elements with few words."""

from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement

import numpy as np

__all__ = ["draw", "line", "start", "write"]


def start(width: float, height: float, name: str) -> Element:
    """An empty picture of class `name`."""
    box = f"0 0 {width:.0f} {height:.0f}"
    return Element("svg", {"viewBox": box, "class": name, "xmlns": "http://www.w3.org/2000/svg"})


def draw(parent: Element, tag: str, name: str = "", **attributes: float | str) -> Element:
    """An element below another, of class `name`."""
    written = {k: v if isinstance(v, str) else f"{v:.1f}" for k, v in attributes.items()}
    return SubElement(parent, tag, written | ({"class": name} if name else {}))


def write(parent: Element, x: float, y: float, words: str, name: str = "", at: str = "") -> None:
    """A word at a place; `at` is ``middle`` or ``end``."""
    node = draw(parent, "text", name, x=x, y=y, **({"text-anchor": at} if at else {}))
    node.text = words


def line(parent: Element, x: Iterable[float], y: Iterable[float], name: str) -> Element:
    """A curve through points, in the units of the picture."""
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in np.column_stack([[*x], [*y]]))
    return draw(parent, "polyline", name, points=points)
