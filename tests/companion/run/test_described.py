"""Descriptions of figures, for readers who do not see them."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from invariance.companion.run.plots import described


def panel():
    return Figure().subplots()


def test_rows_are_read_along_the_horizontal_axis():
    axes = panel()
    axes.errorbar([5.0, 4.0], [0.1, 1.1], xerr=0.1, label="ours")
    axes.plot([np.nan, 2.0], [0, 1], "o", label="theirs")
    axes.set_yticks([0, 1], ["shifts", "turns"])
    assert described(axes.figure) == "theirs: turns 2, ours: shifts 5, turns 4."


def test_straight_lines_have_one_place():
    axes = panel()
    axes.axvline(3, label="aim")
    axes.axhline(0.5, label="chance")
    axes.plot([0, 1], [7, 9], label="curve")
    assert described(axes.figure) == "aim at 3, chance at 0.5, curve from 7 to 9."


@pytest.mark.parametrize("kind", ["names", "dates", "no ticks", "no labels", "empty", "one", "log"])
def test_every_figure_has_a_description(kind):
    axes = panel()
    x = np.arange(3)
    if kind == "names":
        x = ["a", "b", "c"]
    if kind == "dates":
        x = np.array(["2020-01-01", "2020-01-02", "2020-01-03"], "datetime64[D]")
    values = {"empty": [], "one": [2.0]}.get(kind, [1.0, 2.0, 4.0])
    axes.plot(x[: len(values)], values, label="curve")
    if kind == "no ticks":
        axes.set_yticks([])
    if kind == "no labels":
        axes.set_yticks([1, 2, 4], [])
    if kind == "log":
        axes.set_yscale("log")
    expected = {"empty": "curve.", "one": "curve."}.get(kind, "curve from 1 to 4.")
    assert described(axes.figure) == expected
    plt.close("all")
