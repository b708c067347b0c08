"""The style of figures: one style sheet, one colour and marker per method, light PNG files.

If ``notebooks/papers.yml`` sets looks, a method without an entry is an error: no colour is chosen
silently. Where there is no such file, as outside a checkout, methods take colours in turn.
A PNG has twice the pixels at which a page shows it, and says so in its resolution.
"""

import io
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cbook import is_math_text
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.mathtext import MathTextParser
from matplotlib.text import Text
from matplotlib.ticker import LogFormatterSciNotation
from matplotlib.typing import ColorType
from PIL import Image

from ..errors import hint
from ..ledger.claims import read_papers
from ..paths import Paths

RGB = tuple[float, float, float]
#: Size in bytes above which pictures are reduced further.
_LIGHT = 60_000
#: Width in pixels and number of colours of a picture at most.
_MOST = 2000
_COLOURS = 128
#: The width in pixels at which a page shows a picture at most, and its pixels per inch otherwise.
PAGE_WIDTH = 736
PAGE_DPI = 110
#: Pixels of a file for each pixel that a page shows.
_SHARPNESS = 2
#: Parts of a text between which a line may break: formulas stay whole, and numbers keep their unit.
_WORDS = re.compile(r"(?:\$[^$]*\$|\S| (?=%))+")
# As small as the slowest settings but for a fiftieth, and seventy times as fast.
_WEBP = {"lossless": True, "quality": 60, "method": 4}


class Look(NamedTuple):
    """Colour (hex) and marker of a method; ``**look(name)._asdict()`` goes into ``plot``."""

    color: str
    marker: str


#: Looks of methods in a project that sets none.
_IN_TURN = (
    Look("#0072b2", "o"),
    Look("#d55e00", "D"),
    Look("#009e73", "^"),
    Look("#7b3294", "s"),
    Look("#c27f00", "v"),
    Look("#767676", "X"),
    Look("#882255", "p"),
    Look("#332288", "<"),
    Look("#8c510a", "P"),
    Look("#2f9485", ">"),
)
#: The looks that methods have taken in turn, by name.
_taken: dict[str, Look] = {}


def use() -> None:
    """Set matplotlib's defaults, changed by ``style.mplstyle``."""
    mpl.rc_file(Path(__file__).with_suffix(".mplstyle"))


def methods() -> dict[str, Look]:
    """Return the looks of the project's methods, by name and by alias."""
    return _methods(Paths.find(alone=True))


@cache
def _methods(paths: Paths) -> dict[str, Look]:
    papers = read_papers(paths)
    looks = {_key(name): Look(*entry) for name, entry in papers["methods"].items()}
    for alias, name in papers["aliases"].items():
        looks[_key(alias)] = looks[_key(name)]
    return looks


def _key(method: str) -> str:
    """Return a method's name in small letters, with hyphens between words."""
    return "-".join(str(method).lower().replace("_", " ").replace("-", " ").split())


def look(method: str) -> Look:
    """Return colour and marker of a method: ``"My method"`` is ``"my-method"``.

    An unknown method raises a `ValueError`, which names the line to be added and similar methods.
    In a project without any methods, each new name takes the next of ten looks.

    >>> look("raw")
    Look(color='#767676', marker='o')
    >>> look("Published") == look("published")
    True
    """
    key = _key(method)
    known = methods()
    if not known:
        return _taken.setdefault(key, _IN_TURN[len(_taken) % len(_IN_TURN)])
    if key not in known:
        remedy = f'add it to \'methods\' in {Paths.find().papers}, such as {key}: ["#0072b2", "o"]'
        similar = hint(key, known, "methods")
        raise ValueError(f"no colour is set for the method {method!r}: {remedy}. {similar}")
    return known[key]


def colour(method: str) -> str:
    """Return the colour (hex) of a method; see `look`."""
    return look(method).color


def contrast(colour: ColorType, background: ColorType = "white") -> float:
    """Return the contrast of two colours, 1 to 21, by WCAG 2; parts of a figure need 3.

    >>> round(contrast("black"), 1)
    21.0
    """
    luminances = [_luminance(colour) + 0.05, _luminance(background) + 0.05]
    return max(luminances) / min(luminances)


def _luminance(colour: ColorType) -> float:
    """Return the relative luminance of a colour by WCAG 2, 0 to 1."""
    red, green, blue = (_linear(channel) for channel in to_rgb(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    """Return the light intensity of a channel of sRGB."""
    if channel <= 0.04045:
        return channel / 12.92
    return ((channel + 0.055) / 1.055) ** 2.4


def shades(method: str, count: int) -> list[str]:
    """Return `count` shades of a method's colour, light to dark, for values of a parameter.

    The lightest one still has enough contrast to white.

    >>> len(set(shades("raw", 3)))
    3
    """
    if count < 1:
        raise ValueError(f"count={count}: expected at least one shade")
    full = to_rgb(colour(method))
    if count == 1:
        return [to_hex(full)]
    shares_of_white = [percent / 100 for percent in range(61)]
    readable = [share for share in shares_of_white if contrast(_mixed(full, share)) > 3.05]
    lightest = max(readable, default=0.0)
    steps = np.linspace(lightest, -0.45, count)
    return [to_hex(_mixed(full, step)) for step in steps]


def _mixed(colour: RGB, share: float) -> RGB:
    """Mix a colour with a share of white, or with a share of black if it is negative."""
    white = max(share, 0.0)
    red, green, blue = ((1 - abs(share)) * channel + white for channel in colour)
    return red, green, blue


def label_ends(axes: Axes, *, room: float = 0.0, apart: float = 0.055) -> None:
    """Write each line's label beside its end, in its colour, instead of a legend.

    The labels stand in one column to the right of all lines, at least `apart` from each other, as a
    share of the vertical axis. If one of them is moved for this, thin lines lead from the ends to
    the labels. `room` is the space for them inside the axes, as a share of the horizontal axis.
    Call this after setting limits and scales.

    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> _ = axes.plot([0, 1], [0, 1], label="rising"), axes.plot([0, 1], [0, 0.99], label="beside")
    >>> label_ends(axes)
    >>> [text.get_text() for text in axes.texts]
    ['beside', 'rising']
    """
    if room:
        _make_room(axes, room)
    ends = _ends(axes)
    heights = _spread([end.height for end in ends], apart)
    moves = [abs(height - end.height) for height, end in zip(heights, ends, strict=True)]
    has_leaders = max(moves) > 0.03
    gap = 0.08 if has_leaders else 0.02
    column = max(end.x for end in ends) + gap
    for height, end in zip(heights, ends, strict=True):
        leader = None
        if has_leaders:
            leader = {
                "arrowstyle": "-",
                "color": end.color,
                "lw": 0.8,
                "relpos": (0, 0.5),
                "shrinkA": 0,
                "shrinkB": 5,
            }
        axes.annotate(
            end.label,
            xy=(end.x, end.height),
            xytext=(column, height),
            xycoords="axes fraction",
            textcoords="axes fraction",
            color=end.color,
            va="center",
            fontsize=mpl.rcParams["legend.fontsize"],
            arrowprops=leader,
            annotation_clip=False,
        )


class _End(NamedTuple):
    """The end of a line, as shares of the vertical and the horizontal axis."""

    height: float
    x: float
    label: str
    color: Any


def _make_room(axes: Axes, room: float) -> None:
    """Move the right limit by a share of the horizontal axis, on its scale."""
    scale = axes.xaxis.get_transform()
    low, high = scale.transform(axes.get_xlim())
    right = scale.inverted().transform([high + room * (high - low)])
    axes.set_xlim(right=float(right[0]))


def _ends(axes: Axes) -> list[_End]:
    """Return the ends of all labelled lines, from the lowest to the highest."""
    handles, labels = axes.get_legend_handles_labels()
    to_shares = axes.transData + axes.transAxes.inverted()
    ends = []
    for handle, label in zip(handles, labels, strict=True):
        line = getattr(handle, "lines", [handle])[0]
        points = np.array(line.get_data(), dtype=float)
        finite = points[:, np.isfinite(points).all(axis=0)]
        x, y = to_shares.transform(finite[:, -1])
        height = float(np.clip(y, 0, 1))
        ends.append(_End(height, float(x), label, line.get_color()))
    return sorted(ends)


def _spread(heights: list[float], apart: float) -> list[float]:
    """Move heights apart, first upwards, then down again from the top."""
    spread = list(heights)
    for i in range(1, len(spread)):
        spread[i] = max(spread[i], spread[i - 1] + apart)
    limit = 0.97
    for i in reversed(range(len(spread))):
        spread[i] = min(spread[i], limit)
        limit = spread[i] - apart
    return spread


def plain_number(value: float) -> str:
    """Return a number of three digits as readers write it.

    Below 0.001 and above 99,999 powers of ten have exponents, and other numbers give an empty text.

    >>> plain_number(0.02), plain_number(10_000.0), plain_number(1e-6), plain_number(2e-6)
    ('0.02', '10,000', '$10^{-6}$', '')
    """
    if value == 0 or 0.9995e-3 <= abs(value) < 1e5:
        return f"{float(f'{value:.3g}'):,}".removesuffix(".0")
    exponent = round(np.log10(abs(value)))
    if value > 0 and np.isclose(value, 10.0**exponent, rtol=1e-9, atol=0):
        return f"$10^{{{exponent}}}$"
    return ""


class _PlainLabels(LogFormatterSciNotation):
    """Labels of a logarithmic axis: plain numbers if none of them needs an exponent."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        label = super().__call__(x, pos)
        if self.axis is None:
            return str(label)
        low, high = sorted(self.axis.get_view_interval())
        if not label or low < 0.9e-3 or high > 1.1e5:
            return str(label)
        return plain_number(x)


def _plain_labels(figure: Figure) -> None:
    """Give axes of powers of ten whose labels were left to matplotlib plain numbers."""
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if getattr(axis.get_transform(), "base", None) != 10:
                continue
            if type(axis.get_major_formatter()) is LogFormatterSciNotation:
                axis.set_major_formatter(_PlainLabels())
            if type(axis.get_minor_formatter()) is LogFormatterSciNotation:
                axis.set_minor_formatter(_PlainLabels(labelOnlyBase=False))


def wrap_texts(figure: Figure) -> bool:
    """Break titles and labels of axes that are longer than their panel into lines of one length.

    The panels are laid out first. Returns whether a text has changed since.

    >>> figure = Figure(figsize=(3, 3), layout="constrained")
    >>> axes = figure.subplots()
    >>> title = axes.set_title("This sentence is too long for a narrow panel, by far")
    >>> wrap_texts(figure)
    True
    >>> title.get_text()
    'This sentence is too long\\nfor a narrow panel, by far'
    """
    _lay_out(figure)
    changed = False
    for axes in figure.axes:
        panel = axes.get_window_extent()
        for text, room in (
            (axes.title, panel.width),
            (axes.xaxis.label, panel.width),
            (axes.yaxis.label, panel.height),
        ):
            before = text.get_text()
            _wrap(text, room)
            changed |= text.get_text() != before
    return changed


def _lay_out(figure: Figure) -> None:
    """Put the panels in their places, as drawing does, which takes longer."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
    for axes in figure.axes:
        locator = axes.get_axes_locator()
        if locator is None:
            axes.apply_aspect()
        else:
            axes.apply_aspect(locator(axes, renderer))


def _wrap(text: Text, room: float) -> None:
    """Break a text into lines of at most `room` pixels."""
    extent = text.get_window_extent()
    length = max(extent.width, extent.height)
    longest = max(len(line) for line in text.get_text().split("\n"))
    if length <= room or not longest:
        return
    fits = int(longest * room / length)
    lines = []
    for line in text.get_text().split("\n"):
        lines += _balanced(_WORDS.findall(line), fits)
    text.set_text("\n".join(lines))


def _balanced(words: list[str], fits: int) -> list[str]:
    """Return the fewest lines of at most `fits` characters, all as short as possible."""
    fewest = len(_filled(words, fits))
    while fits > 1 and len(_filled(words, fits - 1)) == fewest:
        fits -= 1
    return _filled(words, fits)


def _filled(words: list[str], fits: int) -> list[str]:
    """Put words into lines of at most `fits` characters, or of one longer word."""
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + 1 + len(word) <= fits:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def to_png(figure: Figure) -> bytes:
    """Return a figure as PNG, in fewer colours, and then smaller, if it is above 60 kB.

    It has twice the pixels at which a page shows it. Titles that are too long are broken. The
    figure keeps the layout and the resolution of its picture.
    """
    shown_dpi = min(PAGE_DPI, PAGE_WIDTH / figure.get_figwidth())
    figure.set(dpi=_SHARPNESS * shown_dpi, facecolor="white")
    _plain_labels(figure)
    changed = wrap_texts(figure)
    if not changed:
        figure.set_layout_engine("none")  # Laying out the same panels again would take as long.
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # `savefig` would draw twice.
    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3])
    png = _encoded(_in_few_colours(picture), (figure.dpi, figure.dpi), picture.width)
    for width in (1500, 1200, 1000, 850, 700):
        if len(png) <= _LIGHT:
            break
        png, _ = light_picture(png, most=width, colours=48)
    return png


def unreadable_formula(figure: Figure) -> str | None:
    """Return the first text of a figure that has dollars but no valid formula, or None.

    >>> figure = Figure()
    >>> _ = figure.suptitle("$x^2$ costs $$ 5")
    >>> unreadable_formula(figure)
    '$x^2$ costs $$ 5'
    """
    parser = MathTextParser("path")
    for text in figure.findobj(Text):
        words = text.get_text()
        if is_math_text(words):
            try:
                parser.parse(words)
            except ValueError:
                return str(words)
    return None


def shown_size(png: bytes) -> tuple[int, int]:
    """Return width and height in pixels at which a page shows a PNG, by its resolution."""
    with Image.open(io.BytesIO(png), formats=["PNG"]) as picture:
        dots, _ = picture.info.get("dpi", (PAGE_DPI, PAGE_DPI))
        scale = min(PAGE_DPI / dots, PAGE_WIDTH / picture.width)
        return round(scale * picture.width), round(scale * picture.height)


def light_picture(
    png: bytes, *, most: int = _MOST, colours: int = _COLOURS, kind: str = "PNG"
) -> tuple[bytes, bool]:
    """Return a smaller copy of a PNG, and whether the picture fills its frame, as photographs do.

    The copy is at most `most` pixels wide and has few colours. ``kind="WEBP"`` is lossless.
    """
    with Image.open(io.BytesIO(png), formats=["PNG"]) as picture:
        flat = picture.convert("RGB")
        nearly_white = np.asarray(flat.reduce(4)).min(axis=2) > 247
        filled = bool(nearly_white.mean() < 0.5)
        few = _in_few_colours(flat, most, colours)
        return _encoded(few, picture.info.get("dpi"), picture.width, kind), filled


def _in_few_colours(
    picture: Image.Image, most: int = _MOST, colours: int = _COLOURS
) -> Image.Image:
    """Return a copy of a picture that is at most `most` pixels wide, in few colours."""
    flat = picture.copy()
    flat.thumbnail((most, 4 * most))
    few = flat.quantize(colours, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    palette = np.array(few.getpalette() or [], int).reshape(-1, 3)
    palette[palette.min(axis=1) > 247] = 255  # The background stays white.
    few.putpalette(palette.ravel().tolist())
    return few


def _encoded(
    picture: Image.Image, dots: tuple[float, float] | None, width: int, kind: str = "PNG"
) -> bytes:
    """Return the file of a picture; ``dots`` per inch are those that it had at a ``width``."""
    options: dict[str, Any] = {"optimize": True} if kind == "PNG" else dict(_WEBP)
    if dots and kind == "PNG":
        options["dpi"] = tuple(value * picture.width / width for value in dots)
    stream = io.BytesIO()
    picture.save(stream, kind, **options)
    return stream.getvalue()
