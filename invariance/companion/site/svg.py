"""Drawings: SVG that a template writes of numbers."""

import re
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, fromstring

__all__ = ["drawn"]


@cache
def _templates() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates/svg"),
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined,
        finalize=lambda value: f"{value:.1f}" if isinstance(value, float) else value,
    )  # fmt: skip


def drawn(template: str, **numbers: Any) -> Element:
    """A picture; fractions have one digit."""
    text = _templates().get_template(f"{template}.svg").render(numbers)
    svg = fromstring(re.sub(r">\s+<", "><", text))
    svg.set("xmlns", "http://www.w3.org/2000/svg")
    return svg
