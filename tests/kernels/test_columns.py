"""Kernels of some columns, and images in the shape of a group."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from invariance.beyond import SetKernel
from invariance.core.parameters import ParameterError
from invariance.features import GroupCDF, OrbitFourier
from invariance.groups import CyclicTranslations, Permutations, Translations
from invariance.kernels import Average, BestFit, Gaussian, Locality, OnColumns

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((2, 6, 5))
COLUMNS = [3, 0, 1]


@pytest.mark.parametrize("base", [Gaussian(0.3), RBF(0.7), Average(Gaussian(0.3), Permutations(3))])
def test_values_and_derivatives_are_those_of_the_columns(base):
    kernel = OnColumns(base, COLUMNS)
    assert_allclose(kernel(X, Y), base(X[:, COLUMNS], Y[:, COLUMNS]))
    assert_allclose(kernel(X), base(X[:, COLUMNS]))
    assert_allclose(kernel.diag(X), kernel(X).diagonal())
    gram, derivatives = kernel(X, eval_gradient=True)
    assert_allclose(derivatives, base(X[:, COLUMNS], eval_gradient=True)[1])
    assert_allclose(gram, kernel(X))
    assert_allclose(clone(kernel)(X, Y), kernel(X, Y))
    changed = kernel.clone_with_theta(kernel.theta + 1)
    assert np.abs(changed(X, Y) - kernel(X, Y)).max() > 1e-3


def test_a_product_treats_columns_differently():
    pairs = Average(Gaussian(0.3), Permutations(2)).on_columns([0, 1])
    kernel = pairs * Gaussian(0.5).on_columns([2, 3, 4])
    exchanged = X[:, [1, 0, 2, 3, 4]]
    assert_allclose(kernel(exchanged, Y), kernel(X, Y))
    moved = X[:, [0, 1, 3, 2, 4]]
    assert np.abs(kernel(moved, Y) - kernel(X, Y)).max() > 1e-3
    process = GaussianProcessRegressor(kernel, alpha=0.1).fit(X, X[:, 0] * X[:, 1])
    assert_allclose(process.predict(exchanged), process.predict(X))


def test_a_set_of_points_may_stand_in_some_columns():
    rows = RNG.standard_normal((6, 8))
    rows[0, 4:6] = np.nan  # This set has two points.
    sets = SetKernel(Gaussian(0.3), n_coordinates=2)
    kernel = sets.on_columns(range(6))
    assert_allclose(kernel(rows), sets(rows[:, :6]))
    assert_allclose(kernel(rows, rows[:2]), sets(rows[:, :6], rows[:2, :6]))
    assert_allclose(kernel.diag(rows), sets(rows[:, :6]).diagonal())
    rest = Gaussian(0.5).on_columns([6, 7])
    complete = rows[1:]
    expected = sets(complete[:, :6]) * Gaussian(0.5)(complete[:, 6:])
    assert_allclose((kernel * rest)(complete), expected)
    with pytest.raises(ParameterError, match=r"SetKernel.* of shape \(5, 7\)"):
        sets.on_columns(range(7))(complete)


def test_columns_of_tensors_have_gradients():
    pytest.importorskip(
        "array_api_compat", reason="array-api-compat (extra torch) is not installed"
    )
    torch = pytest.importorskip("torch", reason="torch (extra torch) is not installed")
    kernel = Average(Gaussian(0.3), Permutations(3)).on_columns(COLUMNS)
    points = torch.tensor(X[:2], requires_grad=True)
    assert_allclose(kernel(points).detach(), kernel(X[:2]))
    assert torch.autograd.gradcheck(kernel, (points, torch.tensor(Y[:1], requires_grad=True)))


def test_columns_that_points_lack_are_refused():
    with pytest.raises(ParameterError, match="the points have 5 columns"):
        Gaussian().on_columns([5])(X)
    with pytest.raises(ParameterError, match="columns"):
        Gaussian().on_columns([-1])(X)


# -- images in the shape of the group --------------------------------------------------------------

IMAGES = RNG.random((5, 3, 4))
ROWS = IMAGES.reshape(5, 12)


@pytest.mark.parametrize(
    "kernel",
    [
        Average(Gaussian(0.1), CyclicTranslations((3, 4))),
        BestFit(Gaussian(0.1), Translations((3, 4, 1), 1, boundary="zero")),
        Locality((3, 4), 3),
    ],
    ids=["Average", "BestFit", "Locality"],
)
def test_kernels_take_images_of_their_shape(kernel):
    assert np.array_equal(kernel(IMAGES), kernel(ROWS))
    assert np.array_equal(kernel(IMAGES[:2], ROWS), kernel(ROWS[:2], ROWS))
    assert np.array_equal(kernel.diag(IMAGES), kernel.diag(ROWS))
    if hasattr(kernel, "explain"):
        assert kernel.explain(IMAGES).way == kernel.explain(ROWS).way
    with pytest.raises(ValueError, match="flattened points"):
        kernel(np.ones((2, 4, 3)))
    with pytest.raises(ValueError, match="flattened points"):
        Gaussian(0.1)(IMAGES)


@pytest.mark.parametrize("kind", [OrbitFourier, GroupCDF])
def test_features_take_images_of_the_shape_of_the_group(kind):
    features = kind(CyclicTranslations((3, 4)), 5, random_state=0)
    expected = clone(features).fit_transform(ROWS)
    assert np.array_equal(features.fit_transform(IMAGES), expected)
    assert np.array_equal(features.transform(ROWS), expected)
    with pytest.raises(ValueError):
        features.transform(np.ones((2, 4, 3)))
