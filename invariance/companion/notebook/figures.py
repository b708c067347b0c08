"""Figures as bytes that are the same whenever the figure is the same, with alternative text."""

import io
import re
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from invariance.companion.notebook.style import RC

__all__ = ["to_png", "to_svg"]


def _save(figure: Figure, **options: Any) -> bytes:
    stream = io.BytesIO()
    # Jupyter's inline backend changes these; a figure must not depend on where it is drawn
    fixed: Any = {name: value for name, value in RC.items() if name.startswith("svg.")}
    with mpl.rc_context(fixed):
        figure.savefig(stream, dpi=RC["savefig.dpi"], facecolor="white", **options)
    return stream.getvalue()


def to_svg(figure: Figure, alt: str) -> bytes:
    """SVG with ``role="img"`` and `alt` as its title, without a date.

    >>> from matplotlib.figure import Figure
    >>> svg = to_svg(Figure(), alt="An empty frame").decode()
    >>> 'role="img"' in svg and "<title>An empty frame</title>" in svg
    True
    """
    text = _save(figure, format="svg", metadata={"Date": None, "Title": alt}).decode()
    text = re.sub(r"<svg ", '<svg role="img" ', text, count=1)
    # matplotlib ends some lines of path data with spaces
    return re.sub(r"[ \t]+\n", "\n", text).encode()


def to_png(figure: Figure) -> bytes:
    """PNG at the style sheet's resolution."""
    return _save(figure, format="png", metadata={"Software": None})
