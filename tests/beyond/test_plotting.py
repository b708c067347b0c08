"""Pictures of orbits and alignments: what is drawn are the transformed points."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from invariance.beyond import PlaneRotations, plot_alignment, plot_along_orbit, plot_orbit
from invariance.groups import CyclicShifts, CyclicTranslations, Permutations
from invariance.kernels import Average, BestFit, Gaussian

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def figures():
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib (extra plots)")
    matplotlib.use("agg")
    from matplotlib import pyplot

    yield
    pyplot.close("all")


def test_an_orbit_of_images_and_of_curves():
    image = RNG.random(12)
    axes = plot_orbit(CyclicTranslations((3, 4)), image, n_images=12)
    drawn = [np.asarray(axis.images[0].get_array()) for axis in axes]
    assert len(drawn) == 13
    assert_allclose(drawn[0], image.reshape(3, 4))
    shifted = [np.roll(image.reshape(3, 4), (i, j), (0, 1)) for i in range(3) for j in range(4)]
    assert_allclose(drawn[1:], shifted)
    curves = plot_orbit(Permutations(9), np.arange(9.0), n_images=4)
    assert len(curves) == 5
    assert all(sorted(axis.lines[0].get_ydata()) == list(range(9)) for axis in curves)


def test_an_alignment_of_plane_points_undoes_the_turn():
    x = RNG.standard_normal(8)
    z = PlaneRotations().act([0.7], x[None])[0, 0]
    axes = plot_alignment(BestFit(Gaussian(1.0), PlaneRotations()), x, z)
    assert_allclose(axes[2].lines[0].get_xydata(), x.reshape(4, 2), atol=1e-9)
    assert_allclose(axes[1].lines[0].get_xydata(), z.reshape(4, 2))
    assert axes[2].get_title() == "aligned z: 1.00"
    first = plot_alignment(BestFit(Gaussian(1.0), CyclicShifts(8), side="first"), np.roll(x, 3), x)
    assert [axis.get_title() for axis in first] == ["z", "x", "aligned x: 1.00"]
    assert_allclose(first[2].lines[0].get_ydata(), x)


def test_an_invariant_kernel_is_level_along_an_orbit():
    group = PlaneRotations()
    x, z = RNG.standard_normal((2, 8))
    axes = plot_along_orbit(Gaussian(0.1), group, x, z)
    axes = plot_along_orbit(Average(Gaussian(0.1), group), group, x, z, axes=axes)
    plain, level = (line.get_ydata() for line in axes.lines)
    angles = axes.lines[0].get_xdata()
    turned = group.act(angles, z[None])[:, 0]
    assert_allclose(plain, np.exp(-0.1 * np.square(turned - x).sum(axis=1)))
    assert np.ptp(level) < 1e-9 < 0.01 < np.ptp(plain)
    assert axes.get_xlabel() == "angle"


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plot_orbit(CyclicShifts(4), np.ones(4), n_images=0), "plot_orbit needs n_images"),
        (lambda: plot_orbit(CyclicShifts(4), []), "x must be one point"),
        (
            lambda: plot_orbit(CyclicShifts(4), np.ones((2, 4))),
            r"shape \(n, 4\), got X of \(1, 8\)",
        ),
        (
            lambda: plot_alignment(Average(Gaussian(), CyclicShifts(4)), np.ones(4), np.ones(4)),
            "kernel must be a BestFit.*got Average",
        ),
        (
            lambda: plot_along_orbit(Gaussian(), CyclicShifts(4), np.ones(4), []),
            "z must be one point",
        ),
    ],
)
def test_bad_input_is_refused(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    with pytest.raises(ImportError, match=r"needs matplotlib.*\.\[plots\]"):
        plot_orbit(CyclicShifts(3), [1.0, 2.0, 3.0])
