"""The cheaper side is transformed if both sides give the same."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from invariance import groups as G
from invariance.kernels import Average, BestFit, Gaussian, Polynomial
from invariance.orbits import Extremes, OrbitProducts, WeightedMean

#: A dihedral group, whose elements are applied one by one.
DIHEDRAL = G.GeneratedPermutations([[1, 2, 3, 4, 5, 0], [0, 5, 4, 3, 2, 1]])
INTERPOLATED = G.Rotations((2, 3), degrees=[0, 20, -20])


def points(n, seed):
    return np.random.default_rng(seed).standard_normal((n, 6))


def transformed_points(group, monkeypatch, call):
    """The largest number of points to which elements are applied in a call."""
    numbers = []
    act = type(group).act

    def counted(self, elements, X):
        numbers.append(len(X))
        return act(self, elements, X)

    monkeypatch.setattr(type(group), "act", counted)
    call()
    monkeypatch.undo()
    return max(numbers)


@pytest.mark.parametrize("kernel", [Average, BestFit])
def test_one_prediction_transforms_one_point(kernel, monkeypatch):
    kernel = kernel(Gaussian(0.1), DIHEDRAL)
    one, many = points(1, 0), points(300, 1)
    assert transformed_points(DIHEDRAL, monkeypatch, lambda: kernel(one, many)) == 1
    assert transformed_points(DIHEDRAL, monkeypatch, lambda: kernel(many, one)) == 1


@pytest.mark.parametrize("kernel", [Average, BestFit])
def test_a_set_that_changes_inner_products_transforms_the_second_argument(kernel, monkeypatch):
    kernel = kernel(Gaussian(0.1), INTERPOLATED, side="second")
    call = lambda: kernel(points(1, 0), points(300, 1))  # noqa: E731
    assert transformed_points(INTERPOLATED, monkeypatch, call) == 300


@pytest.mark.parametrize("base", [None, Gaussian(0.1), Polynomial(3, 0.1)], ids=repr)
@pytest.mark.parametrize("reduction", [WeightedMean(), Extremes()], ids=["mean", "largest"])
@pytest.mark.parametrize("n", [1, 7, 200])
def test_either_side_gives_the_same(base, reduction, n):
    X, Z = points(n, 0), points(90, 1)
    second, first, either = (
        OrbitProducts(Z, DIHEDRAL, base=base, side=side).reduce(X, reduction)[0]
        for side in ("second", "first", "either")
    )
    assert_allclose(first, second, rtol=1e-12, atol=1e-14)
    assert_allclose(either, second, rtol=1e-12, atol=1e-14)
    assert either.flags.c_contiguous
