"""Every registered algorithm against the plain definition: one transformation after another."""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

from invariance import groups as G
from invariance.beyond import PlaneRotations, Rotations3D
from invariance.kernels import Gaussian, Laplacian, Linear, Locality, Polynomial
from invariance.orbits import Extremes, Histogram, OrbitProducts, WeightedMean
from invariance.orbits.registry import algorithms

SHAPE = (4, 4)
SHIFTS = G.Translations(SHAPE, max_shift=1)
TURNS = G.Rotations(SHAPE, degrees=[-12, 0, 5])
#: Groups, of points with 16 features unless they have a shape, and the fine finite set that stands
#: for an infinite one.
GROUPS = {
    "shifts": (SHIFTS, None),
    "shifts that lose pixels": (G.Translations(SHAPE, max_shift=1, boundary="zero"), None),
    "rotations": (TURNS, None),
    "quarter turns": (G.Rotations(SHAPE, degrees=range(0, 360, 30)), None),
    "rotations, then shifts": (TURNS.then(SHIFTS), None),
    "shifts, then rotations": (SHIFTS.then(TURNS), None),
    "circle": (G.CircleAction([0] * 4 + [1, 1, 2, 2, 3, 3] * 2, n_nodes=9), None),
    "signs": (G.SignFlips(5), None),
    "permutations": (G.Permutations(4, block=4), None),
    "signs and permutations": (G.DirectProduct([G.Permutations(3), G.SignFlips(2)]), None),
    "plane": (PlaneRotations(), PlaneRotations(360)),
    "plane, after a negation": (
        G.Negation().then(PlaneRotations()),
        G.Negation().then(PlaneRotations(360)),
    ),
    "negation": (G.Negation(), None),
}
BASES = {
    "inner products": None,
    "linear": Linear(),
    "cubic": Polynomial(3, 0.1),
    "even": Polynomial(4, 0.1),
    "gaussian": Gaussian(0.1),
    "laplacian": Laplacian(0.1),
    "local": Locality(SHAPE, 3),
}
REDUCTIONS = [WeightedMean(), Extremes(), Histogram(4, 1.9)]


def cases():
    for group_name, (group, fine) in GROUPS.items():
        for base_name, base in BASES.items():
            for reduction in REDUCTIONS:
                if reduction.tail and (base is not None or fine is not None):
                    continue  # Shares of a fine rule are not exact.
                if isinstance(base, Locality) and group.n_features not in (None, 16):
                    continue  # The kernel is one of images.
                yield pytest.param(
                    group_name, base_name, reduction,
                    id=f"{group_name}, {base_name}, {type(reduction).__name__}",
                )  # fmt: skip


@cache
def all_values(group_name, base_name):
    """The kernel's values at all transformed templates, (elements, n, m), and the weights."""
    group, fine = GROUPS[group_name]
    base = BASES[base_name]
    X, Z = points_and_templates(group)
    elements, weights = (fine or group).quadrature()
    transformed = np.asarray((fine or group).act(elements, Z))
    values = [X @ z.T if base is None else base(X, z) for z in transformed]
    return np.array(values), weights


def definition(group_name, base_name, reduction):
    """The reduction of the kernel's values at all transformed templates."""
    values, weights = all_values(group_name, base_name)
    if reduction.extreme:
        return np.max(values, axis=0)
    if not reduction.tail:
        return np.tensordot(weights, values, 1)
    thresholds = 1.9 * np.arange(-4, 5) / 4
    below = [np.tensordot(weights, values <= threshold, 1) for threshold in thresholds]
    return np.stack(below, axis=-1)


def points(n, seed, d=16):
    return np.random.default_rng(seed).uniform(-0.3, 0.7, (n, d))


def points_and_templates(group):
    d = group.n_features or 16
    return points(7, 0, d), points(5, 1, d)


def algorithms_of(group_name, base_name, reduction, block_bytes=None):
    """Yield the algorithms that are compared with the definition in a case, and their orbits."""
    group, fine = GROUPS[group_name]
    base = BASES[base_name]
    _, Z = points_and_templates(group)
    d = Z.shape[1]
    # A maximum over a fine rule misses that over the circle by the square of half a step.
    exact = fine is None
    for algorithm in algorithms():
        orbits = OrbitProducts(Z, group, base=base, block_bytes=block_bytes, algorithms=[algorithm])
        plan = orbits.planner.plan(d, d, Z.dtype, reduction, 2**28)
        if plan.algorithms and (exact or not plan.algorithms[0].by_elements):
            yield algorithm, orbits


@pytest.mark.filterwarnings("ignore:Polynomial of even degree:UserWarning")
@pytest.mark.parametrize(("group_name", "base_name", "reduction"), list(cases()))
@pytest.mark.parametrize("block_bytes", [None, 20_000])
def test_an_algorithm_is_its_definition(group_name, base_name, reduction, block_bytes):
    group, fine = GROUPS[group_name]
    X, _ = points_and_templates(group)
    expected = definition(group_name, base_name, reduction)
    tolerance = {"rtol": 1e-9, "atol": 1e-11} if fine is None else {"rtol": 1e-4, "atol": 1e-3}
    for algorithm, orbits in algorithms_of(group_name, base_name, reduction, block_bytes):
        (values,) = orbits.reduce(X, reduction)
        assert_allclose(values, expected, err_msg=algorithm.__name__, **tolerance)


def test_every_algorithm_is_compared_in_some_case():
    compared = set()
    for case in cases():
        compared |= {algorithm for algorithm, _ in algorithms_of(*case.values)}
    far = {"Differences", "Superposed"}  # See test_far_away.py, and below.
    assert {algorithm.__name__ for algorithm in set(algorithms()) - compared} <= far


def test_an_alignment_is_no_worse_than_a_fine_grid():
    group = Rotations3D()
    X, Z = points(6, 0, 12), points(4, 1, 12)
    grid = Rotations3D(degree=20)
    fine = np.max(grid.act(grid.elements(), Z) @ X.T, axis=0).T
    (largest,) = OrbitProducts(Z, group).reduce(X, Extremes())
    assert (largest >= fine - 1e-12).all()
    assert_allclose(largest, fine, atol=0.05)
