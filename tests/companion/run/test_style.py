import io

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from PIL import Image

from invariance.companion import curve, panel
from invariance.companion.errors import LedgerError
from invariance.companion.run import style
from invariance.companion.run.style import light_picture, to_png


def test_methods_take_different_looks_in_turn_in_a_project_that_sets_none(project):
    names = ("haar", "raw", "my forest", "my SVC", "my network")
    looks = [style.look(name) for name in names]
    assert len({look.color for look in looks}) == len({look.marker for look in looks}) == 5
    assert style.look("My forest") == looks[2]
    for look in looks:
        assert style.contrast(look.color) >= 3
        dark = _on_a_dark_page(look.color)
        assert style.contrast(dark, _on_a_dark_page("white")) >= 3


def test_a_project_has_the_methods_of_its_papers_file(project):
    (project.root / "notebooks/papers.yml").write_text(
        'methods: {mine: ["#ff0000", o]}\naliases: {ours: mine}\n', "utf-8"
    )
    assert style.look("Ours") == ("#ff0000", "o")
    with pytest.raises(ValueError, match=r"'mind'.*papers.yml, such as mind:.*Did you mean 'mine'"):
        style.colour("mind")


def test_a_method_may_have_several_words(project):
    (project.root / "notebooks/papers.yml").write_text(
        'methods: {Exact kernel: ["#ff0000", o]}\naliases: {the_truth: Exact kernel}\n', "utf-8"
    )
    names = ("exact kernel", "exact-kernel", "Exact Kernel", "the truth")
    assert {style.look(name) for name in names} == {("#ff0000", "o")}


@pytest.mark.parametrize("entry", ["black", "[black]", "[black, o, o]", '{color: "black"}'])
def test_a_look_is_a_colour_and_a_marker(project, entry):
    (project.root / "notebooks/papers.yml").write_text(f"methods: {{mine: {entry}}}\n", "utf-8")
    with pytest.raises(LedgerError, match=r"methods: mine: .*\[colour, marker\]"):
        style.look("mine")


@pytest.mark.parametrize(
    "together",
    [
        "raw bag-of-words haar cdf25x1 cdf25x10 cdf25x25",
        "svm ti ri ti-ri l l-ti l-ri l-ti-ri tangent-distance average-fit",
        "krr krr-average spec-avg spec-avg-centred spec-avg-least-squares spec-avg-ridge",
        "raw rff nystrom gp sorted random-coulomb cdf lgika-rff lgika-nystrom",
        # Further colours.
        "krr augmentation local krr-average lgika-rff lgika-nystrom cdf best-fit spec-avg "
        "spec-avg-ridge +",
        "linear polynomial rbf published bound +",
    ],
)
def test_methods_of_one_figure_differ_by_colour_and_marker(together):
    names = together.strip("+").split()
    assert len({style.colour(name) for name in names}) == len(names)
    if "+" not in together:
        assert len({style.look(name).marker for name in names}) >= len(names) - 1


def test_shades_go_from_light_to_dark_through_the_colour():
    brightness = [sum(to_rgb(shade)) for shade in style.shades("cdf", 5)]
    assert (np.diff(brightness) < 0).all()
    assert style.shades("cdf", 1) == [style.colour("cdf")]


def test_equal_figures_have_equal_bytes_and_are_small():
    def draw():
        style.use()
        figure = Figure(figsize=(9, 4))
        left, right = figure.subplots(1, 2)
        rng = np.random.default_rng(0)
        left.scatter(*rng.random((2, 3000)), color=style.colour("haar"))
        for _ in range(6):
            right.plot(np.cumsum(rng.standard_normal(2000)), marker="o")
        return to_png(figure)

    png = draw()
    assert png == draw() and len(png) < 60_000


def test_photographs_and_drawings_are_distinguished():
    """Dark pages invert drawings, but not photographs."""
    figure = Figure()
    figure.subplots().plot([1, 2])
    assert not light_picture(to_png(figure))[1]
    full = Figure()
    full.add_axes((0, 0, 1, 1)).imshow(np.random.default_rng(0).random((9, 9)), aspect="auto")
    assert light_picture(to_png(full))[1]


def _on_a_dark_page(colour):
    """Return a colour as dark pages of the site show it: invert(.92) hue-rotate(180deg)."""
    inverted = np.array(to_rgb(colour)) * (1 - 2 * 0.92) + 0.92
    weights = np.array([0.213, 0.715, 0.072])
    return np.clip(2 * weights @ inverted - inverted, 0, 1)


def test_every_colour_stands_out_from_white_and_from_a_dark_page():
    for method in style.methods():
        for shade in (style.colour(method), *style.shades(method, 5)):
            assert style.contrast(shade) >= 3, (method, shade)
            assert style.contrast(_on_a_dark_page(shade), _on_a_dark_page("white")) >= 3, method


@pytest.mark.parametrize(("second", "moves"), [(1.01, True), (3.0, False)])
def test_labels_are_at_the_ends_of_their_lines_and_do_not_overlap(second, moves):
    axes = Figure().subplots()
    lasts = (1.0, second, 5.0)
    for name, last in zip("abc", lasts, strict=True):
        axes.errorbar([1, 10], [0, last], yerr=0.1, label=name)
    axes.set(xscale="log", ylim=(0, 6))
    for room, right in ((0, 1), (0.5, 0.7)):
        style.label_ends(axes, room=room)
        texts = axes.texts[-3:]
        assert [text.get_text() for text in texts] == ["a", "b", "c"]
        levels = [text.get_position()[1] for text in texts]
        assert np.diff(levels).min() >= 0.055 - 1e-9 and axes.get_xlim()[1] > 10
        to_shares = axes.transData + axes.transAxes.inverted()
        for text, last in zip(texts, lasts, strict=True):
            end = to_shares.transform((10, last))
            assert end[0] < right
            assert end[0] < text.get_position()[0] < end[0] + 0.1
            # A line leads from the end to the label if labels had to be moved.
            assert np.allclose(text.xy, end) and (text.arrow_patch is not None) == moves


def test_labels_stay_within_the_height_of_the_figure():
    axes = Figure().subplots()
    for name, last in (("a", 6.0), ("b", 5.99), ("c", 5.98), ("lost", np.nan)):
        axes.plot([0, 1, 2], [0, last, np.nan] if name == "lost" else [0, 1, last], label=name)
    axes.set(ylim=(0, 6))
    style.label_ends(axes)
    levels = {text.get_text(): text.get_position()[1] for text in axes.texts}
    assert (
        levels["c"] < levels["b"] < levels["a"] < 1.0 and levels["lost"] < 0.1
    )  # Below the title.


def test_error_bars_of_a_curve_are_two_errors_long_and_above_zero_on_a_logarithmic_axis():
    for scale, low in (("linear", [-1.0, 1.0]), ("log", [0.1, 1.0])):
        axes = Figure().subplots()
        axes.set_yscale(scale)
        curve(axes, [1, 2, 3], [1.0, 2.0], "haar", error=[1.0, 0.5])
        bars = axes.collections[0].get_segments()
        np.testing.assert_allclose([bar[:, 1] for bar in bars], np.transpose([low, [3.0, 3.0]]))


def test_a_panel_has_a_curve_and_words_for_each_entry():
    axes = Figure().subplots()
    y = np.array([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]])
    curves = {"all": ("haar", y), "some": ("raw", y[:, :2]), "own": ("raw", [9.0], {"x": [3]})}
    panel(axes, [1, 2, 3], curves, log="x", title="found")
    drawn = {c.get_label(): c.lines[0].get_data() for c in axes.containers}
    assert {k: (list(x), list(v)) for k, (x, v) in drawn.items()} == {
        "all": ([1, 2, 3], [2.0, 3.0, 4.0]), "some": ([1, 2], [2.0, 3.0]), "own": ([3], [9.0])
    }  # fmt: skip
    assert {t.get_text() for t in axes.texts} == set(curves) and axes.get_title() == "found"


def _png_of_a_panel(width, **labels):
    style.use()
    figure = Figure(figsize=(width, 3))
    axes = figure.subplots()
    axes.plot([1, 10], [0.2, 0.6])
    axes.set(**labels)
    return figure, to_png(figure)


@pytest.mark.parametrize(("width", "shown"), [(5, 550), (9, 736), (14, 736)])
def test_a_picture_has_twice_the_pixels_at_which_a_page_shows_it(width, shown):
    _, png = _png_of_a_panel(width)
    height = round(3 * shown / width)
    assert style.shown_size(png) == pytest.approx((shown, height), abs=1)
    with Image.open(io.BytesIO(png)) as picture:
        assert picture.size == pytest.approx((2 * shown, 2 * height), abs=2)


def test_a_smaller_copy_of_a_picture_is_shown_at_the_same_size():
    _, png = _png_of_a_panel(5)
    smaller, _ = light_picture(png, most=600)
    assert style.shown_size(smaller) == pytest.approx(style.shown_size(png), abs=1)


def test_long_titles_and_labels_are_broken_into_lines_that_fit():
    title = (
        "A sentence that is longer than its panel is wide and says that 92 % of $x + y$ are right"
    )
    figure, _ = _png_of_a_panel(4, title=title, ylabel=f"{title} (%)", xlabel="short")
    figure.draw_without_rendering()
    axes = figure.axes[0]
    assert axes.get_xlabel() == "short"
    for text, room in (
        (axes.title, axes.get_window_extent().width),
        (axes.yaxis.label, axes.get_window_extent().height),
    ):
        extent = text.get_window_extent()
        assert max(extent.width, extent.height) <= 1.1 * room
        lines = text.get_text().split("\n")
        assert len(lines) > 1 and " ".join(lines).startswith(title)
        assert not any(line.startswith("%") or line.count("$") % 2 for line in lines)


def test_logarithmic_axes_have_plain_numbers_unless_they_are_too_large_or_small():
    figure, _ = _png_of_a_panel(5, yscale="log")
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels(which="both")]
    assert "0.2" in labels and not any("10" in label for label in labels)
    figure = Figure()
    axes = figure.subplots()
    axes.plot([1, 10], [1e-9, 1.0])
    axes.set(yscale="log")
    axes.set_xscale("log", base=2)
    to_png(figure)
    axes.set_xlim(1, 32)
    for axis, base in ((axes.yaxis, "10^"), (axes.xaxis, "2^")):
        labels = [label.get_text() for label in axis.get_ticklabels()]
        assert any(base in label for label in labels)


def test_masked_values_are_not_drawn():
    axes = Figure().subplots()
    y = np.ma.array([1.0, 999.0, 3.0], mask=[0, 1, 0])
    assert np.array_equal(curve(axes, [1, 2, 3], y, "haar"), [1, np.nan, 3], equal_nan=True)
    samples = np.ma.array([[1.0, 2.0], [3.0, 999.0]], mask=[[0, 0], [0, 1]])
    assert np.array_equal(curve(axes, [1, 2], samples, "raw"), [2, np.nan], equal_nan=True)
    # Others are the same numbers as ever.
    plain = np.random.default_rng(0).normal(size=(5, 3))
    assert np.array_equal(curve(axes, [1, 2, 3], plain, "raw"), plain.mean(axis=0))
    assert np.array_equal(curve(axes, [1, 2], [1, None], "raw"), [1, np.nan], equal_nan=True)
