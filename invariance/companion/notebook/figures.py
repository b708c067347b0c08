"""Figures as bytes that are the same whenever the figure is the same, with alternative text."""

import io
import re
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from invariance.companion.notebook.style import RC

__all__ = ["light_png", "light_svg", "to_png", "to_svg"]


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
    return light_svg(text).encode()


def to_png(figure: Figure) -> bytes:
    """PNG at the style sheet's resolution."""
    return light_png(_save(figure, format="png", metadata={"Software": None}))


def light_svg(text: str) -> str:
    """An SVG whose coordinates have two digits after the point, of six: nobody sees the others.

    >>> light_svg('<path d="M 57.612345 41.5 \\nL 1.999999 2"/> <g transform="scale(0.015625)"/>')
    '<path d="M 57.61 41.5\\nL 1.99 2"/> <g transform="scale(0.015625)"/>'
    """
    rounded = lambda match: re.sub(r"(\.\d\d)\d+", r"\1", match[0])  # noqa: E731
    text = re.sub(r'(?<= )(d|x|y)="[^"]*"', rounded, text)
    # matplotlib ends some lines of path data with spaces
    return re.sub(r"[ \t]+\n", "\n", text)


def light_png(png: bytes, *, most: int = 2000) -> bytes:
    """A PNG of bounded width, in 128 colours where that saves a third or more, else as it is."""
    from PIL import Image

    stream = io.BytesIO()
    with Image.open(io.BytesIO(png), formats=["PNG"]) as picture:
        flat = picture.convert("RGB")
        flat.thumbnail((most, 4 * most))
        flat.quantize(128, dither=Image.Dither.NONE).save(stream, "PNG", optimize=True)
        resized = picture.width > most
    light = stream.getvalue()
    return light if resized or len(light) < len(png) * 2 / 3 else png
