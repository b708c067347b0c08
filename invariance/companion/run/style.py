"""The style of figures: one style sheet, one colour and marker per method, light PNG files.

A method without an entry in ``notebooks/papers.yml`` is an error. No colour is chosen silently.
"""

import io
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cbook import is_math_text
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.mathtext import MathTextParser
from matplotlib.text import Text
from matplotlib.typing import ColorType

from ..errors import hint
from ..ledger.claims import read_papers
from ..paths import Paths

RGB = tuple[float, float, float]
#: Size in bytes above which pictures are reduced further.
_LIGHT = 60_000
# Compared with Pillow's defaults, twice as fast and a tenth larger.
_WEBP = {"lossless": True, "quality": 20, "method": 3}


class Look(NamedTuple):
    """Colour (hex) and marker of a method; ``**look(name)._asdict()`` goes into ``plot``."""

    color: str
    marker: str


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

    An unknown method raises a `ValueError`, which names similar methods.

    >>> look("raw")
    Look(color='#767676', marker='o')
    >>> look("Published") == look("published")
    True
    """
    key = _key(method)
    if key not in methods():
        remedy = f"{hint(key, methods(), 'methods')} Add a new one in notebooks/papers.yml"
        raise ValueError(f"no colour is set for the method {method!r}. {remedy}")
    return methods()[key]


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
    share of the vertical axis. `room` is the space for them inside the axes, as a share of the
    horizontal axis. Call this after setting limits and scales.

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
    column = max(end.x for end in ends) + 0.02
    for height, end in zip(heights, ends, strict=True):
        axes.text(
            column,
            height,
            end.label,
            color=end.color,
            transform=axes.transAxes,
            va="center",
            fontsize=mpl.rcParams["legend.fontsize"],
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


def to_png(figure: Figure) -> bytes:
    """Return a figure as PNG, in fewer colours, and then smaller, if it is above 60 kB."""
    stream = io.BytesIO()
    figure.savefig(
        stream,
        format="png",
        facecolor="white",
        dpi=mpl.rcParams["savefig.dpi"],
        metadata={"Software": None},
    )
    png, _ = light_picture(stream.getvalue())
    for width in (2000, 1000, 850, 700):
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


def light_picture(
    png: bytes, *, most: int = 2000, colours: int = 128, kind: str = "PNG"
) -> tuple[bytes, bool]:
    """Return a smaller copy of a PNG, and whether the picture fills its frame, as photographs do.

    The copy is at most `most` pixels wide and has few colours. It is used only if it saves a third,
    or if another width, number of colours or format was requested. ``kind="WEBP"`` is lossless.
    """
    from PIL import Image

    stream = io.BytesIO()
    with Image.open(io.BytesIO(png), formats=["PNG"]) as picture:
        changed = picture.width > most or colours < 128 or kind != "PNG"
        flat = picture.convert("RGB")
        nearly_white = np.asarray(flat.reduce(4)).min(axis=2) > 247
        filled = bool(nearly_white.mean() < 0.5)
        if picture.mode == "P" and not changed:
            return png, filled  # The picture has few colours already.
        flat.thumbnail((most, 4 * most))
        few = flat.quantize(colours, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        palette = np.array(few.getpalette() or [], int).reshape(-1, 3)
        palette[palette.min(axis=1) > 247] = 255  # The background stays white.
        few.putpalette(palette.ravel().tolist())
        options: dict[str, Any] = {"optimize": True} if kind == "PNG" else _WEBP
        few.save(stream, kind, **options)
    light = stream.getvalue()
    if changed or len(light) < len(png) * 2 / 3:
        return light, filled
    return png, filled
