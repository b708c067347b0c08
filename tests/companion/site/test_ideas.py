"""The project's moving pictures: each fits its description, with and without a script."""

import json
import re
import runpy
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

from .conftest import ROOT

IDEAS = runpy.run_path(str(ROOT / "notebooks/pages/_ideas.py"))
ABOUT = yaml.safe_load((ROOT / "notebooks/papers.yml").read_text("utf-8"))
NAMES = [ABOUT["idea"], *(paper["idea"] for paper in ABOUT["papers"].values())]


@pytest.mark.parametrize("name", NAMES)
def test_they_stand_still_without_script_and_are_small(name):
    idea = IDEAS[name]()
    svg, data = idea.moving()
    read = json.loads(data)
    assert ElementTree.fromstring(svg) is not None and len(svg) + len(data) < 60_000
    assert read["labels"] == idea.positions and re.findall(r'data-move="(\d+)"', svg) == [
        str(i) for i in range(len(read["moves"]))
    ]
    assert all(len(v) == len(idea.positions) for m in read["moves"] for v in m.values())


def test_the_front_picture_is_what_it_says():
    """The data and the inner products turn; their distribution does not."""
    first, later = (IDEAS["orbit"]().picture(step) for step in (0, 7))
    curves = [svg.find(".//polyline").get("points") for svg in (first, later)]
    bars = [[b.get("height") for b in svg.findall(".//rect")] for svg in (first, later)]
    assert curves[0] == curves[1] and bars[0] == bars[1]
    assert bars[0][:8] == bars[0][8:]  # two rounds, so that sliding by one changes nothing
    turned = [[g.get("transform") for g in svg.iter("g")] for svg in (first, later)]
    assert turned[0] != turned[1]


def test_the_projection_is_the_average_over_the_rotations():
    idea = IDEAS["projection"]()
    for k in (1, 2, 3, 4, 5, 6):
        signal, projection = (
            np.array([float(p.split(",")[1]) for p in line.get("points").split()])
            for line in idea.picture(k - 1).findall("polyline")
        )
        average = np.mean([np.roll(signal, g * len(signal) // k) for g in range(k)], axis=0)
        np.testing.assert_allclose(projection, average, atol=0.11)  # drawn to a tenth of a unit


def test_the_best_fit_is_the_top_of_the_curve():
    idea = IDEAS["alignment"]()
    dots = [svg.find("circle") for svg in map(idea.picture, range(len(idea.positions)))]
    line = idea.picture(0).find("polyline[@class='grid']").get("points")
    assert min(float(dot.get("cy")) for dot in dots) == float(line.split()[0].split(",")[1])


def test_the_moving_picture_is_a_picture_of_its_own():
    svg = ElementTree.fromstring((ROOT / "figures/orbit.svg").read_text("utf-8"))
    names = {element.get("class") for element in svg.iter()}
    assert {"turning", "sliding", "still"} <= names and "prefers-reduced-motion" in svg[0].text
