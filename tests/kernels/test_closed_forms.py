"""Means and maxima over groups that nobody can list, held to their definitions on small ones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from invariance.groups import DirectProduct, Permutations, SignedPermutations, SignFlips
from invariance.kernels import Average, BestFit, Gaussian, Laplacian, Linear, Polynomial
from invariance.orbits import Extremes, OrbitProducts, WeightedMean

SMALL = [SignFlips(5), SignedPermutations(3), DirectProduct([Permutations(3), SignFlips(2)])]
SMALL += [Permutations(n, block=block) for n, block in ((4, 1), (3, 2), (2, 3))]
HUGE = [SignFlips(40), Permutations(40), Permutations(20, block=2), SignedPermutations(40)]
HUGE += [DirectProduct([Permutations(20), SignedPermutations(20)])]
BASES = [
    Linear(),
    Polynomial(2, 0.3),
    Polynomial(5, 0.2, coef0=0.5),
    Polynomial(3, -0.2),
    Gaussian(0.2),
    Laplacian(0.3),
]


def points(d, n=7, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def all_values(base, group, X, Z):
    return np.array([base(X, moved) for moved in group.act(group.elements(), Z)])


def known(base, group, largest):
    """Whether a closed form is promised."""
    if largest:
        return getattr(base, "gamma", 1) > 0
    powers = isinstance(base, (Linear, Polynomial)) and getattr(group, "block", 0) == 1
    return powers or isinstance(group, SignFlips)


@pytest.mark.filterwarnings("ignore:Polynomial of even degree:UserWarning")
@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("base", BASES, ids=repr)
@pytest.mark.parametrize("group", SMALL, ids=repr)
def test_every_way_gives_what_all_elements_give(group, base, largest, monkeypatch):
    X, Z = points(group.n_features), points(group.n_features, 4, seed=1)
    values = all_values(base, group, X, Z)
    expected = values.max(axis=0) if largest else values.mean(axis=0)
    reduction = Extremes() if largest else WeightedMean()
    orbits = OrbitProducts(Z, group, base=base)
    ways = orbits.ways(X, reduction)
    closed = [way for way in ways if way.name in ("closed form", "matching")]
    assert bool(closed) == known(base, group, largest)
    for name in {way.name for way in ways}:

        def only(*given, name=name):
            return [way for way in ways if way.name == name]

        monkeypatch.setattr(orbits, "_ways", only)
        found = orbits.reduce(X, reduction)[0]
        assert_allclose(found, expected, rtol=1e-10, atol=1e-12, err_msg=name)


@pytest.mark.filterwarnings("ignore:Polynomial of even degree:UserWarning")
@pytest.mark.parametrize("kernel", [Average, BestFit])
@pytest.mark.parametrize("base", BASES, ids=repr)
@pytest.mark.parametrize("group", HUGE, ids=repr)
def test_huge_groups_are_ordinary_or_the_error_says_what_to_do(group, base, kernel):
    X = points(group.n_features)
    K = kernel(base, group)
    if known(base, group, kernel is BestFit):
        assert K.explain(X).way in ("closed form", "matching")
        moved = group.act(group.sample(1, 0), X)[0]
        gram = K(X)
        assert_allclose(K(moved, X), gram, rtol=1e-7, atol=1e-9 * np.abs(gram).max())
        assert_allclose(gram, gram.T, rtol=1e-12)
        single = K(X.astype(np.float32))
        assert single.dtype == np.float32
        assert_allclose(single, gram, rtol=1e-3, atol=1e-4 * np.abs(gram).max())
    else:
        with pytest.raises(ValueError, match="n_transforms"):
            K(X)
        assert kernel(base, group, n_transforms=5)(X).shape == (7, 7)


def test_sides_and_one_coordinate_that_dominates():
    X, Z, group = points(10), points(10, 4, seed=1), SignFlips(10)
    for base in (Polynomial(3, 0.3), Laplacian(0.2), Gaussian(0.2)):
        second, first = (Average(base, group, side=side)(X, Z) for side in ("second", "first"))
        assert_allclose(first, second, rtol=1e-12)
    X, base = np.array([[1e3, 1e-3, 1.0]]), Polynomial(8, 1.0, coef0=0.0)
    expected = all_values(base, SignFlips(3), X, X).mean(axis=0)
    assert_allclose(Average(base, SignFlips(3))(X), expected, rtol=1e-13)


def test_a_subclass_that_lists_other_elements_loses_the_closed_forms():
    class EvenFlips(SignFlips):
        def elements(self):
            every = super().elements()
            return every[np.sign(every).prod(axis=1) > 0]

        @property
        def order(self):
            return super().order // 2

    X, Z = points(6), points(6, 4, seed=1)
    for kernel, reduce in ((Average, np.mean), (BestFit, np.max)):
        for base in (Gaussian(0.2), Laplacian(0.2), Polynomial(3, 0.1)):
            expected = reduce(all_values(base, EvenFlips(6), X, Z), axis=0)
            assert_allclose(kernel(base, EvenFlips(6))(X, Z), expected, rtol=1e-10)
    assert EvenFlips(6).mean_powers(np.ones((1, 6)), np.ones((1, 6)), 2) is None
