"""Means and maxima over groups too large to list, compared with their definitions."""

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from invariance.beyond import MaxFilter, PlaneRotations, Rotations3D
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
    return np.array([base(X, transformed) for transformed in group.act(group.elements(), Z)])


def has_closed_form(base, group, largest):
    """Whether the documentation promises a closed form."""
    if largest:
        return getattr(base, "gamma", 1) > 0
    powers = isinstance(base, (Linear, Polynomial)) and getattr(group, "block", 0) == 1
    return powers or isinstance(group, SignFlips)


@pytest.mark.filterwarnings("ignore:Polynomial of even degree:UserWarning")
@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("base", BASES, ids=repr)
@pytest.mark.parametrize("group", SMALL, ids=repr)
def test_every_method_agrees_with_the_values_over_all_elements(group, base, largest):
    X = points(group.n_features)
    Z = points(group.n_features, 4, seed=1)
    values = all_values(base, group, X, Z)
    expected = values.max(axis=0) if largest else values.mean(axis=0)
    reduction = Extremes() if largest else WeightedMean()
    orbits = OrbitProducts(Z, group, base=base)
    algorithms = orbits.ranked(X, reduction)
    names = [algorithm.name for algorithm in algorithms]
    assert ("closed form" in names or "matching" in names) == has_closed_form(base, group, largest)
    for algorithm in map(type, algorithms):
        orbits = OrbitProducts(Z, group, base=base, algorithms=[algorithm])
        (reduced,) = orbits.reduce(X, reduction)
        assert_allclose(reduced, expected, rtol=1e-10, atol=1e-12, err_msg=algorithm.name)


@pytest.mark.filterwarnings("ignore:Polynomial of even degree:UserWarning")
@pytest.mark.parametrize("kernel", [Average, BestFit])
@pytest.mark.parametrize("base", BASES, ids=repr)
@pytest.mark.parametrize("group", HUGE, ids=repr)
def test_huge_groups_have_a_closed_form_or_an_error_with_the_remedy(group, base, kernel):
    X = points(group.n_features)
    K = kernel(base, group)
    if has_closed_form(base, group, kernel is BestFit):
        assert K.explain(X).way in ("closed form", "matching")
        transformed = group.act(group.sample(1, 0), X)[0]
        gram = K(X)
        assert_allclose(K(transformed, X), gram, rtol=1e-7, atol=1e-9 * np.abs(gram).max())
        assert_allclose(gram, gram.T, rtol=1e-12)
        single = K(X.astype(np.float32))
        assert single.dtype == np.float32
        assert_allclose(single, gram, rtol=1e-3, atol=1e-4 * np.abs(gram).max())
    else:
        with pytest.raises(ValueError, match="n_transforms"):
            K(X)
        assert kernel(base, group, n_transforms=5)(X).shape == (7, 7)


def test_closed_forms_on_either_side_and_with_one_dominant_coordinate():
    X = points(10)
    Z = points(10, 4, seed=1)
    group = SignFlips(10)
    for base in (Polynomial(3, 0.3), Laplacian(0.2), Gaussian(0.2)):
        second, first = (Average(base, group, side=side)(X, Z) for side in ("second", "first"))
        assert_allclose(first, second, rtol=1e-12)
    X = np.array([[1e3, 1e-3, 1.0]])
    base = Polynomial(8, 1.0, coef0=0.0)
    expected = all_values(base, SignFlips(3), X, X).mean(axis=0)
    assert_allclose(Average(base, SignFlips(3))(X), expected, rtol=1e-13)


@pytest.mark.parametrize("degree", [2, 3, 4, 6, 8, 12])
@pytest.mark.parametrize("offset", [30.0, 300.0, 3e5])
def test_averages_over_permutations_of_points_far_from_zero(offset, degree):
    """Inner products of such points with points of mean zero are moderate, but not their terms."""
    X = offset + points(5, 3)
    Z = points(5, 4, seed=1)
    Z -= Z.mean(axis=1, keepdims=True)
    images = np.array([Z[:, order] for order in permutations(range(5))], dtype=np.longdouble)
    expected = ((1 + X.astype(np.longdouble) @ images.swapaxes(1, 2)) ** degree).mean(axis=0)
    average = Average(Polynomial(degree), Permutations(5))
    # Rounding of the points themselves changes inner products by about 1e-16 times the offset.
    rtol = 1e-7 + 1e-14 * offset * degree
    assert_allclose(average(X, Z), expected.astype(float), rtol=rtol)
    assert_allclose(average(Z, X), expected.T.astype(float), rtol=rtol)


# -- the best fit over all rotations, by superposition of corresponding points --------------

GROUPS = [PlaneRotations(), Rotations3D()]
FINE = {2: PlaneRotations(3600), 3: Rotations3D(degree=40)}
#: Largest loss of a maximum over the grid, relative to the norms: half the squared distance, in
#: radians, of a rotation from the nearest grid point.
GRID_LOSS = {2: 1e-6, 3: 0.03}


def dimension(group):
    return 2 if isinstance(group, PlaneRotations) else 3


def bodies(group, n, seed=0, points=5):
    return np.random.default_rng(seed).standard_normal((n, points * dimension(group)))


@pytest.mark.parametrize("group", GROUPS, ids=repr)
@pytest.mark.parametrize("points", [1, 2, 3, 6])
def test_the_best_rotation_is_at_least_as_good_as_a_fine_grid_and_close_to_it(group, points):
    X = bodies(group, 5, points=points)
    Z = bodies(group, 4, seed=1, points=points)
    size = dimension(group)
    grid = FINE[size].act(FINE[size].elements(), Z) @ X.T
    norms = np.linalg.norm(X, axis=1)[:, None] * np.linalg.norm(Z, axis=1)
    high, low = OrbitProducts(Z, group).reduce(X, Extremes(smallest=True))
    for best, grid_best in ((high, grid.max(axis=0).T), (-low, -grid.min(axis=0).T)):
        assert (best >= grid_best - 1e-12 * norms).all()
        assert (best <= grid_best + GRID_LOSS[size] * norms).all()
    assert_allclose(MaxFilter(group, templates=Z, n_components=4).fit_transform(X), high)
    if size == 3 and points > 2:  # compare with SciPy's alignment
        rotations = [
            [Rotation.align_vectors(x.reshape(-1, 3), z.reshape(-1, 3))[0] for z in Z] for x in X
        ]
        turned = [[r.apply(z.reshape(-1, 3)) for r, z in zip(a, Z, strict=True)] for a in rotations]
        attained = [
            [np.sum(x.reshape(-1, 3) * t) for t in a] for x, a in zip(X, turned, strict=True)
        ]
        assert_allclose(high, attained, rtol=1e-10)


@pytest.mark.parametrize("group", GROUPS, ids=repr)
@pytest.mark.filterwarnings("ignore:Polynomial of even degree:UserWarning")
def test_best_fits_over_rotations_are_symmetric_invariant_and_at_least_the_base_kernel(group):
    X = bodies(group, 6)
    for base in (Linear(), Polynomial(3, 0.1), Polynomial(2, 0.1), Gaussian(0.1)):
        kernel = BestFit(base, group)
        gram = kernel(X)
        turned = group.act(group.sample(2, 0), X)
        assert_allclose(kernel(turned[0], turned[1]), gram, rtol=1e-10)
        assert_allclose(gram, gram.T, rtol=1e-12)
        assert (gram >= base(X) - 1e-12).all() and kernel.explain(X).way == "alignment"
        assert_allclose(kernel(X.astype(np.float32)), gram, rtol=1e-3)
        assert_allclose(BestFit(base, group, side="first")(X), gram, rtol=1e-10)
    rule = PlaneRotations(4) if dimension(group) == 2 else Rotations3D(degree=1)
    assert BestFit(Laplacian(1.0), rule)(X).shape == (6, 6)  # no method for rotations applies
    mirror = np.r_[-1.0, np.ones(dimension(group) - 1)]  # a reflection, not a rotation
    mirrored = (bodies(group, 1, points=6).reshape(-1, dimension(group)) * mirror).reshape(1, -1)
    assert BestFit(Gaussian(1.0), group)(bodies(group, 1, points=6), mirrored) < 0.9


@pytest.mark.parametrize(
    ("dtype", "unit"),
    [
        (np.float64, 2.0**-400),
        (np.float64, 2.0**400),
        (np.float32, 2.0**-40),
        (np.float32, 2.0**40),
    ],
    ids=str,
)
def test_the_best_rotation_does_not_depend_on_the_unit_of_the_points(dtype, unit):
    X = bodies(Rotations3D(), 5).astype(dtype)
    Z = bodies(Rotations3D(), 4, seed=1).astype(dtype)
    expected = np.empty((len(X), len(Z)))
    for i, x in enumerate(X.astype(float).reshape(5, -1, 3)):
        for j, z in enumerate(Z.astype(float).reshape(4, -1, 3)):
            left, _, right = np.linalg.svd(x.T @ z)
            left[:, 2] *= np.linalg.det(left @ right)  # no reflection
            expected[i, j] = np.sum(x * (z @ (left @ right).T))
    kernel = BestFit(Linear(), Rotations3D())
    scaled = kernel(dtype(unit) * X, dtype(unit) * Z).astype(float)
    assert_allclose(scaled / unit**2, expected, rtol=1e-5 if dtype == np.float32 else 1e-12)
