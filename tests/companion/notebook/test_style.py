from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from invariance.companion.notebook import style
from invariance.companion.notebook.figures import to_png, to_svg


def test_unknown_methods_are_refused_with_the_close_ones():
    with pytest.raises(ValueError, match=r"'harr'.*Did you mean 'haar'"):
        style.colour("harr")


def test_aliases_lead_to_methods():
    assert all(name in style.METHODS for name in style._ALIASES.values())


@pytest.mark.parametrize(
    "together",
    [
        ["raw", "bag-of-words", "haar", "cdf25x1", "cdf25x10", "cdf25x25"],
        [
            "svm",
            "ti",
            "ri",
            "ti-ri",
            "l",
            "l-ti",
            "l-ri",
            "l-ti-ri",
            "tangent-distance",
            "average-fit",
        ],
        [
            "krr",
            "krr-average",
            "spec-avg",
            "spec-avg-centred",
            "spec-avg-least-squares",
            "spec-avg-ridge",
        ],
        [
            "raw",
            "rff",
            "nystrom",
            "gp",
            "sorted",
            "random-coulomb",
            "cdf",
            "lgika-rff",
            "lgika-nystrom",
        ],
    ],
)
def test_methods_of_one_figure_differ_by_colour_and_marker(together):
    for one, other in combinations(together, 2):
        assert style.colour(one) != style.colour(other), (one, other)
        assert style.look(one) != style.look(other)
    assert len({style.marker(name) for name in together}) >= len(together) - 1


def test_shades_go_from_light_to_dark_through_the_colour():
    brightness = [sum(to_rgb(shade)) for shade in style.shades("cdf", 5)]
    assert (np.diff(brightness) < 0).all()
    assert style.shades("cdf", 1) == [style.colour("cdf")]


def test_equal_figures_have_equal_bytes_and_an_accessible_title():
    def draw():
        style.use()
        figure, axes = plt.subplots()
        axes.errorbar([1, 2], [3, 4], yerr=0.1, color=style.colour("haar"))
        axes.fill_between([1, 2], 0, 1)
        files = to_svg(figure, "Rise & fall"), to_png(figure)
        plt.close(figure)
        return files

    svg, png = draw()
    plt.rcParams["svg.hashsalt"] = "another"
    assert (svg, png) == draw()
    text = svg.decode()
    assert '<svg role="img"' in text and "<title>Rise &amp; fall</title>" in text
    assert "<dc:date>" not in text
