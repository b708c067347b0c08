"""How figures look (one style sheet, one colour and one marker for each method), and their bytes.

A method that ``notebooks/papers.yml`` does not name is an error, no colour made up on the spot.
"""

import io
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.cbook import is_math_text
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.mathtext import MathTextParser
from matplotlib.text import Text

from ..errors import hint
from ..ledger.claims import read_papers
from ..paths import Paths

_LIGHT = 60_000  # bytes of a file
_WEBP = {"lossless": True, "quality": 20, "method": 3}  # twice as fast, a tenth larger


class Look(NamedTuple):
    """Colour (hex) and marker of a method; ``**look(name)._asdict()`` goes into ``plot``."""

    color: str
    marker: str


def use() -> None:
    """Make ``style.mplstyle`` matplotlib's style, over its own sheet and no one else's."""
    mpl.rc_file(Path(__file__).with_suffix(".mplstyle"))


def methods() -> dict[str, Look]:
    """The project's methods and their other names."""
    return _methods(Paths.find(alone=True))


@cache
def _methods(paths: Paths) -> dict[str, Look]:
    about = read_papers(paths)
    named = {str(name): Look(*look) for name, look in about["methods"].items()}
    return named | {str(other): named[name] for other, name in about["aliases"].items()}


def look(method: str) -> Look:
    """Colour and marker of a method: ``"My method"`` is ``"my-method"``.

    A `ValueError` names the close or all known ones for an unknown method.

    >>> look("raw")
    Look(color='#767676', marker='o')
    >>> look("Published") == look("published")
    True
    """
    key = "-".join(str(method).lower().replace("_", " ").replace("-", " ").split())
    if key not in methods():
        said = f"{hint(key, methods(), 'methods')} Add a new one in notebooks/papers.yml"
        raise ValueError(f"no colour is set for the method {method!r}. {said}")
    return methods()[key]


def colour(method: str) -> str:
    """The one colour (hex) of a method; see `look`."""
    return look(method).color


def contrast(colour: Any, background: Any = "white") -> float:
    """Contrast of two colours, 1 to 21, by the guidelines WCAG 2; parts of a figure need 3.

    >>> round(contrast("black"), 1)
    21.0
    """
    bright = []
    for name in (colour, background):
        light = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in to_rgb(name)]
        bright.append(0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2] + 0.05)
    return max(bright) / min(bright)


def shades(method: str, count: int) -> list[str]:
    """`count` shades of a method's colour, light to dark, for the values of a parameter.

    The lightest still stands out from white (`contrast`).

    >>> len(set(shades("raw", 3)))
    3
    """
    if count < 1:
        raise ValueError(f"count={count}: expected at least one shade")
    full = np.array(to_rgb(colour(method)))

    def mixed(share: float) -> Any:  # with so much of white, or of black below zero
        return (1 - abs(share)) * full + max(share, 0.0)

    lightest = max(s / 100 for s in range(61) if s == 0 or contrast(mixed(s / 100)) > 3.05)
    steps = np.linspace(lightest, -0.45, count) if count > 1 else [0.0]
    return [to_hex(mixed(step)) for step in steps]


def label_ends(axes: Any, *, room: float = 0.0, apart: float = 0.055) -> None:
    """Write each line's label at its end's height, in its colour, in place of a legend.

    The words stand in a column right of all ends, at least `apart` of the vertical axis from each
    other; `room` is space for them inside, as a share of the horizontal axis. To be called when
    limits and scales are set.

    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> _ = axes.plot([0, 1], [0, 1], label="rising"), axes.plot([0, 1], [0, 0.99], label="beside")
    >>> label_ends(axes)
    >>> [text.get_text() for text in axes.texts]
    ['beside', 'rising']
    """
    shown, words = axes.get_legend_handles_labels()
    lines = [getattr(handle, "lines", [handle])[0] for handle in shown]
    if room:
        scale = axes.xaxis.get_transform()
        low, high = scale.transform(axes.get_xlim())
        end = float(scale.inverted().transform([high + room * (high - low)])[0])
        axes.set_xlim(right=end)
    place = axes.transData + axes.transAxes.inverted()
    ends = []
    for line, label in zip(lines, words, strict=True):
        data = np.array(line.get_data(), dtype=float)
        along, up = place.transform(data[:, np.isfinite(data).all(axis=0)][:, -1])
        ends.append((float(np.clip(up, 0, 1)), float(along), label, line.get_color()))
    ends.sort()
    levels = [up for up, *_ in ends]
    for i in range(1, len(levels)):
        levels[i] = max(levels[i], levels[i - 1] + apart)
    for i in range(1, len(levels) + 1):  # a crowd at the top makes room downwards
        levels[-i] = min(levels[-i], 0.97 if i == 1 else levels[1 - i] - apart)
    column = max(along for _, along, *_ in ends) + 0.02
    how = {"transform": axes.transAxes, "va": "center", "fontsize": mpl.rcParams["legend.fontsize"]}
    for level, (*_, label, color) in zip(levels, ends, strict=True):
        axes.text(column, level, label, color=color, **how)


def to_png(figure: Figure) -> bytes:
    """PNG at the style sheet's resolution; in fewer colours, then smaller, if above 60 kB."""
    stream = io.BytesIO()
    options: Any = {"dpi": mpl.rcParams["savefig.dpi"], "metadata": {"Software": None}}
    figure.savefig(stream, format="png", facecolor="white", **options)
    png, _ = light_picture(stream.getvalue())
    for most in (2000, 1000, 850, 700):
        if len(png) <= _LIGHT:
            break
        png, _ = light_picture(png, most=most, colours=48)
    return png


def unreadable_formula(figure: Figure) -> str | None:
    """The first text of a figure with dollars around what is no formula; None if there is none.

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
    """A PNG of bounded width, in few colours where that saves a third or more, else as it is.

    Of `kind` ``"WEBP"`` it has no loss. Also whether it fills its frame, as photographs do.
    """
    from PIL import Image

    stream = io.BytesIO()
    with Image.open(io.BytesIO(png), formats=["PNG"]) as picture:
        changed = picture.width > most or colours < 128 or kind != "PNG"
        flat = picture.convert("RGB")
        filled = bool((np.asarray(flat.reduce(4)).min(axis=2) > 247).mean() < 0.5)
        if picture.mode == "P" and not changed:
            return png, filled  # it is one already
        flat.thumbnail((most, 4 * most))
        few = flat.quantize(colours, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        palette = np.array(few.getpalette() or [], int).reshape(-1, 3)
        palette[palette.min(axis=1) > 247] = 255  # what lies around the marks stays white
        few.putpalette(palette.ravel().tolist())
        few.save(stream, kind, **({"optimize": True} if kind == "PNG" else _WEBP))
    light = stream.getvalue()
    return (light if changed or len(light) < len(png) * 2 / 3 else png), filled
