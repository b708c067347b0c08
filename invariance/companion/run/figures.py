"""Figures as bytes that are the same whenever the figure is the same, with alternative text."""

import io
import re
from base64 import b64decode, b64encode
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from invariance.companion.run.style import RC

__all__ = ["dense", "light_picture", "light_svg", "to_png", "to_svg"]

# bytes of a file, and points of what becomes pixels in one that is larger
_LIGHT, _DENSE = 60_000, 60


def _save(figure: Figure, **options: Any) -> bytes:
    stream = io.BytesIO()
    # Jupyter's inline backend changes these; a figure must not depend on where it is drawn
    fixed: Any = {name: value for name, value in RC.items() if name.startswith("svg.")}
    with mpl.rc_context(fixed):
        figure.savefig(stream, dpi=RC["savefig.dpi"], facecolor="white", **options)
    return stream.getvalue()


def to_svg(figure: Figure, alt: str) -> bytes:
    """SVG with ``role="img"`` and `alt` as its title, without a date.

    Where that takes more than 60 kB, lines and marks of many points become pixels, text stays.

    >>> from matplotlib.figure import Figure
    >>> svg = to_svg(Figure(), alt="An empty frame").decode()
    >>> 'role="img"' in svg and "<title>An empty frame</title>" in svg
    True
    """
    text = _as_svg(figure, alt)
    if len(text) > _LIGHT and (many := dense(figure)):
        for artist in many:
            artist.set_rasterized(True)
        text = min(text, _as_svg(figure, alt), key=len)
    return text.encode()


def _as_svg(figure: Figure, alt: str) -> str:
    text = _save(figure, format="svg", metadata={"Date": None, "Title": alt}).decode()
    text = light_svg(re.sub(r"<svg ", '<svg role="img" ', text, count=1))
    return re.sub(r"(?<=base64,)[^\"]*", _fewer_colours, text)


def _fewer_colours(base64: re.Match[str]) -> str:
    from PIL import Image

    stream = io.BytesIO()
    with Image.open(io.BytesIO(b64decode(base64[0])), formats=["PNG"]) as picture:
        few = picture.convert("RGBA").quantize(64, method=Image.Quantize.FASTOCTREE)
        few.save(stream, "PNG", optimize=True)
    return b64encode(stream.getvalue()).decode()


def dense(figure: Figure) -> list[Artist]:
    """Lines and collections of more than 60 points or corners.

    >>> from matplotlib.figure import Figure
    >>> axes = (figure := Figure()).subplots()
    >>> line, cloud = axes.plot(range(9))[0], axes.scatter(range(99), range(99))
    >>> dense(figure) == [cloud]
    True
    """

    def points(artist: Any) -> int:
        if isinstance(artist, Line2D):
            return np.size(artist.get_xdata(orig=False))
        corners = sum(len(path.vertices) for path in artist.get_paths())
        return max(corners, len(artist.get_offsets()))

    found: list[Artist] = [*figure.findobj(Line2D), *figure.findobj(Collection)]
    return [artist for artist in found if points(artist) > _DENSE]


def to_png(figure: Figure) -> bytes:
    """PNG at the style sheet's resolution; in fewer colours, then smaller, if above 60 kB."""
    png = light_picture(_save(figure, format="png", metadata={"Software": None}))
    for most in (2000, 1000, 850, 700):
        if len(png) <= _LIGHT:
            break
        png = light_picture(png, most=most, colours=48)
    return png


def light_svg(text: str) -> str:
    """An SVG in half the bytes: nothing in it that nobody sees.

    One digit after the point of six, styles that recur as classes, short names, no comments, no
    metadata and no line breaks.

    >>> light_svg('<g id="a" style="x: 1"><path d="M 57.612345 41.5 \\nL 1.999999 2"/></g></style>')
    '<g class="s0"><path d="M57.6 41.5L1.9 2"/></g>.s0{x: 1}</style>'
    """
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<!DOCTYPE.*?>", "", text, flags=re.S)
    shortened = r'(?<= )(d|x|y|width|height)="[^"]*"|translate\([^)]*\)'
    text = re.sub(shortened, lambda m: re.sub(r"(\.\d)\d+", r"\1", m[0]), text)
    text = text.replace('xlink:href="#', 'href="#')
    moved = r'(<use [^>]*)transform="translate\(([-.\d]+)[ ,]([-.\d]+)\)"'
    text = re.sub(moved, r'\1x="\2" y="\3"', text).replace(' y="0"', "")
    text = re.sub(r'( [xy]="[-\d]+)\.0"', r'\1"', text)
    names: dict[str, str] = {}
    for name in re.findall(r'(?:href="#|url\(#)([\w.-]+)', text):
        names.setdefault(name, f"i{len(names)}")
    text = re.sub(r' id="([^"]*)"', lambda m: f' id="{names[m[1]]}"' if m[1] in names else "", text)
    text = re.sub(r'(href="#|url\(#)([\w.-]+)', lambda m: m[1] + names[m[2]], text)
    styles: dict[str, str] = {}
    text = re.sub(
        r' style="([^"]*)"',
        lambda m: f' class="{styles.setdefault(m[1], f"s{len(styles)}")}"',
        text,
    )
    text = re.sub(r">\s+<", "><", text)
    text = re.sub(r'\s*\n\s*(?=[MLQCZz"])|(?<=[MLQC]) ', "", text)
    before = ""
    while before != text:
        before = text
        text = re.sub(r"<g></g>|<g/>|<defs></defs>", "", text)
        text = re.sub(r"<g>(<(?:path|use|image)[^<>]*/>)</g>", r"\1", text)
    text = re.sub(r"<g([^<>]*)>((?:<use [^<>]*/>)+)</g>", _one_class, text)
    sheet = "".join(f".{name}{{{style}}}" for style, name in styles.items())
    return text.replace("</style>", f"{sheet}</style>", 1)


def _one_class(group: re.Match[str]) -> str:
    """A group of marks with the class that all of them have in common."""
    found = set(re.findall(r'/>|( class="s\d+")/>', group[2]))
    if len(found) != 1 or "" in found or "class=" in group[1]:
        return group[0]
    (shared,) = found
    return f"<g{group[1]}{shared}>{group[2].replace(shared, '')}</g>"


def light_picture(png: bytes, *, most: int = 2000, colours: int = 128, kind: str = "PNG") -> bytes:
    """A PNG of bounded width, in few colours where that saves a third or more, else as it is.

    With `kind` ``"WEBP"`` it becomes one without loss, which is a fifth smaller.
    """
    from PIL import Image

    stream = io.BytesIO()
    with Image.open(io.BytesIO(png), formats=["PNG"]) as picture:
        changed = picture.width > most or colours < 128 or kind != "PNG"
        if picture.mode == "P" and not changed:
            return png  # it is one already
        flat = picture.convert("RGB")
        flat.thumbnail((most, 4 * most))
        few = flat.quantize(colours, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        palette = np.array(few.getpalette() or [], int).reshape(-1, 3)
        palette[palette.min(axis=1) > 247] = 255  # what lies around the marks stays white
        few.putpalette(palette.ravel().tolist())
        few.save(stream, kind, **({"optimize": True} if kind == "PNG" else {"lossless": True}))
    light = stream.getvalue()
    return light if changed or len(light) < len(png) * 2 / 3 else png
