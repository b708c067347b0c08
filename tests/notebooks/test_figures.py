"""Figures of notebooks: their letters are legible at the width of a page."""

import re
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*/*.py"))
#: Inches. A page shows a picture at most 736 pixels wide: nine points are then ten pixels.
WIDEST = 9
SMALLEST = 9  # points


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_letters_are_legible_at_the_width_of_a_page(path):
    source = path.read_text("utf-8")
    widths = [float(width) for width in re.findall(r"figsize=\(([\d.]+),", source)]
    assert [width for width in widths if width > WIDEST] == []
    sizes = [float(size) for size in re.findall(r"fontsize=([\d.]+)", source)]
    assert [size for size in sizes if size < SMALLEST] == []
