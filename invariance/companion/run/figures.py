"""Figures as bytes that are the same whenever the figure is the same, and small ones of them."""

import io
from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.figure import Figure

_LIGHT = 60_000  # bytes of a file
_WEBP = {"lossless": True, "quality": 20, "method": 3}  # twice as fast, a tenth larger


def to_png(figure: Figure) -> bytes:
    """PNG at the style sheet's resolution; in fewer colours, then smaller, if above 60 kB."""
    stream = io.BytesIO()
    options: Any = {"dpi": rcParams["savefig.dpi"], "metadata": {"Software": None}}
    figure.savefig(stream, format="png", facecolor="white", **options)
    png, _ = light_picture(stream.getvalue())
    for most in (2000, 1000, 850, 700):
        if len(png) <= _LIGHT:
            break
        png, _ = light_picture(png, most=most, colours=48)
    return png


def light_picture(
    png: bytes, *, most: int = 2000, colours: int = 128, kind: str = "PNG"
) -> tuple[bytes, bool]:
    """A PNG of bounded width, in few colours where that saves a third or more, else as it is.

    With `kind` ``"WEBP"`` it becomes one without loss, which is a fifth smaller. Also whether the
    picture fills its frame, as photographs do, where less than half is white.
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
