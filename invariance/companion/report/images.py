"""Figures as data inside the page: whole, and as thumbnails."""

import base64
import io
import re
from pathlib import Path
from typing import NamedTuple

from PIL import Image

_LARGEST_SVG = 400_000  # bytes; a vector figure of many points outweighs its bitmap
_THUMBNAIL = (440, 300)  # twice the size on the page, for dense screens
_WIDEST = 760


class Picture(NamedTuple):
    """A figure ready for an <img>: data address, and its natural size on the page."""

    src: str
    width: int
    height: int


def picture(svg: bytes | None, png: bytes | None) -> Picture | None:
    """The sharper form of a figure that is not too heavy, or None without any.

    Parameters
    ----------
    svg, png : bytes or None
        The two forms of one figure. A vector image stands in the page as an image, so that
        nothing in it can run and no two figures share identifiers.
    """
    size = _svg_size(svg) if svg is not None else None
    if svg is not None and size is not None:
        light = len(svg) <= _LARGEST_SVG and (png is None or len(svg) <= 4 * len(png))
        if png is None or light:
            return Picture(_address("image/svg+xml", svg), *size)
    if png is None:
        return None
    try:
        with Image.open(io.BytesIO(png)) as image:
            width, height = image.size
    except OSError:
        return None
    shown = min(size[0] if size else width, _WIDEST)
    return Picture(_address("image/png", png), shown, round(shown * height / width))


def thumbnail(svg: Path | None, png: Path | None) -> Picture | None:
    """A small form of a figure for the gallery."""
    if png is not None:
        try:
            with Image.open(png) as image:
                small = Image.new("RGB", image.size, "white")
                small.paste(image, mask=image.getchannel("A") if image.mode == "RGBA" else None)
        except OSError:
            return None
        small.thumbnail(_THUMBNAIL, Image.Resampling.LANCZOS)
        # 64 colours without dithering keep lines clean at a fifth of the bytes
        small = small.quantize(64, dither=Image.Dither.NONE)
        buffer = io.BytesIO()
        small.save(buffer, "PNG", optimize=True)
        return Picture(
            _address("image/png", buffer.getvalue()), small.width // 2, small.height // 2
        )
    return picture(svg.read_bytes(), None) if svg is not None else None


def _address(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


def _svg_size(svg: bytes) -> tuple[int, int] | None:
    box = re.search(rb"""<svg[^>]*\bviewBox=["']\S+ \S+ ([\d.]+) ([\d.]+)["']""", svg)
    if box is None:
        return None
    # matplotlib counts in points, a page in pixels of 1/96 inch
    width, height = float(box[1]) * 4 / 3, float(box[2]) * 4 / 3
    return min(round(width), _WIDEST), round(height * min(1, _WIDEST / width))
