"""The best fit over all rotations, by superposition of points in their given order."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from invariance.features import MaxFilter
from invariance.groups import PlaneRotations, Rotations3D
from invariance.kernels import BestFit, Gaussian, Laplacian, Linear, Polynomial
from invariance.orbits import Extremes, OrbitProducts

GROUPS = [PlaneRotations(), Rotations3D()]
FINE = {2: PlaneRotations(3600), 3: Rotations3D(degree=40)}
#: Largest distance of a rotation from the grid's nearest, in radians, halved and squared: what a
#: maximum over the grid loses of it, relative to the norms.
LOST = {2: 1e-6, 3: 0.03}


def bodies(group, n, seed=0, points=5):
    return np.random.default_rng(seed).standard_normal((n, points * group._size))


@pytest.mark.parametrize("group", GROUPS, ids=repr)
@pytest.mark.parametrize("points", [1, 2, 3, 6])
def test_no_rotation_of_a_fine_grid_does_better_and_one_comes_near(group, points):
    X, Z = bodies(group, 5, points=points), bodies(group, 4, seed=1, points=points)
    size = group._size
    grid = FINE[size].act(FINE[size].elements(), Z) @ X.T
    norms = np.linalg.norm(X, axis=1)[:, None] * np.linalg.norm(Z, axis=1)
    high, low = OrbitProducts(Z, group).reduce(X, Extremes(smallest=True))
    for found, best in ((high, grid.max(axis=0).T), (-low, -grid.min(axis=0).T)):
        assert (found >= best - 1e-12 * norms).all()
        assert (found <= best + LOST[size] * norms).all()
    assert_allclose(MaxFilter(group, templates=Z, n_components=4).fit_transform(X), high)
    if size == 3 and points > 2:  # what SciPy attains
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
def test_kernels_are_invariant_symmetric_and_at_least_the_plain_ones(group):
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
    rule = PlaneRotations(4) if group._size == 2 else Rotations3D(degree=1)
    assert BestFit(Laplacian(1.0), rule)(X).shape == (6, 6)  # a form of none of these
    mirror = np.r_[-1.0, np.ones(group._size - 1)]  # which is no rotation
    mirrored = (bodies(group, 1, points=6).reshape(-1, group._size) * mirror).reshape(1, -1)
    assert BestFit(Gaussian(1.0), group)(bodies(group, 1, points=6), mirrored) < 0.9
