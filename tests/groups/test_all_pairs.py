"""Every pair of the cheat sheet's groups that makes sense together, against the definition.

All groups act on rows of six numbers. The definition applies listed or densely sampled elements of
the first group, and then those of the second one, to each point.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from invariance import beyond
from invariance import groups as G
from invariance.features import OrbitFourier
from invariance.kernels import Average, BestFit, Gaussian

X, Y = 0.5 * np.random.default_rng(0).standard_normal((2, 2, 6))
Y = Y[:1]
QUARTER_TURN = [[[0, -1, 0], [1, 0, 0], [0, 0, 1]]]

FINITE = {
    "shifts": G.CyclicShifts(3, block=2),
    "shifts of points": G.CyclicShifts(2, block=3),
    "order of numbers": G.Permutations(3).on_columns([0, 2, 4]),
    "order of blocks": G.Permutations(3, block=2),
    "order on each": G.Permutations(3).on_each(2),
    "given swaps": G.GeneratedPermutations([[1, 0, 2, 3, 4, 5], [0, 1, 3, 2, 4, 5]]),
    "some signs": G.SignFlips(2).on_columns([1, 4]),
    "one sign": G.Negation(),
    "order and signs": G.SignedPermutations(2).on_columns([0, 3]),
    "on the rest": G.DirectProduct([G.CyclicShifts(4), G.SignFlips(2)]),
    "teams": beyond.Wreath(G.CyclicShifts(2), G.Permutations(3)),
    "mirror": G.OnPoints(G.OrthogonalMatrices([[[1, 0], [0, -1]]]), 2),
    "crystal": G.OnPoints(G.OrthogonalMatrices(QUARTER_TURN), 3),
    "turns": beyond.PlaneRotations(5),
    "image": G.CyclicTranslations((3, 2)),
    "signal": G.Translations((1, 6), max_shift=1),
    "scale": G.Affine((2, 3), maps=G.affine_maps(factor=[0.9, 1.1])),
    "maps": G.LinearMaps([np.eye(6), np.eye(6) + 0.2 * np.eye(6, k=1)]),
    "angles": G.TorusTranslations([2, 1], period=2.0).on_columns([0, 1]),
}
INFINITE = {
    "plane": beyond.PlaneRotations(),
    "space": beyond.Rotations3D(),
    "about an axis": G.OnPoints(beyond.PlaneRotations(), 3, coordinates=(0, 1)),
    "each point of space": G.OnPoints(beyond.Rotations3D(), 3),
    "screw": G.OnPoints(G.CircleAction([0, 1, 1]), 3),
    "frequencies": G.CircleAction([0, 1, 1, 2, 2, 0]),
    "sphere": beyond.SphericalCoefficients(1).on_columns([5, 4, 3, 2]),
}
#: Infinite groups that move other coordinates than each other.
APART = {
    "two in the plane": (
        beyond.PlaneRotations().on_columns([0, 3]),
        beyond.PlaneRotations().on_columns([5, 1]),
    ),
    "plane and space": (
        beyond.PlaneRotations().on_columns([1, 5]),
        beyond.Rotations3D().on_columns([0, 3, 2]),
    ),
    "space and circle": (
        beyond.Rotations3D().on_columns([0, 1, 2]),
        G.CircleAction([1, 1, 0]).on_columns([3, 4, 5]),
    ),
}
#: Finite groups that meet rotations of space, which take most time.
WITH_SPACE = ("shifts of points", "one sign", "mirror", "maps", "angles")
IN_SPACE = ("space", "each point of space", "sphere")


def _pairs():
    """Pairs of finite groups, each in one order, and of finite and infinite ones in both orders."""
    names = list(FINITE)
    for i, one in enumerate(names):
        for j, two in enumerate(names[i:]):
            yield (two, one) if j % 2 else (one, two)
        for infinite in INFINITE:
            if infinite not in IN_SPACE or one in WITH_SPACE:
                yield one, infinite
                yield infinite, one


ALL = FINITE | INFINITE
PAIRS = {f"{one} . {two}": (ALL[one], ALL[two]) for one, two in _pairs()} | APART


def _angles(n):
    return 2 * np.pi * np.arange(n) / n


def _rotations_of_space(degree):
    """Return rotations and weights whose means are exact for polynomials of this degree."""
    cosines, weights = np.polynomial.legendre.leggauss(degree // 2 + 1)
    turns = 2 * np.pi * np.arange(degree + 2) / (degree + 2)
    angles = [(a, np.arccos(c), b) for a in turns for c in cosines for b in turns]
    repeated = np.tile(np.repeat(weights, len(turns)), len(turns))
    return Rotation.from_euler("ZYZ", angles).as_matrix(), repeated / repeated.sum()


DENSE = _angles(24), _rotations_of_space(6)
#: Means over these few elements of an infinite group differ from the dense ones by 1e-10.
FEW = _angles(12), _rotations_of_space(4)


def _rule(group, rules):
    """Return elements and weights of a group: all of a finite one, a rule of another."""
    angles, rotations_and_weights = rules
    if group.order < np.inf:
        elements = group.elements()
    elif group.sample(1, 0).ndim == 3:
        return rotations_and_weights
    else:
        elements = angles
    return elements, np.full(len(elements), 1 / len(elements))


def _all_images(first, second, Z, rules=DENSE):
    """Return images (pairs of elements, points, 6) under one set and then another, and weights."""
    first_elements, first_weights = _rule(first, rules)
    second_elements, second_weights = _rule(second, rules)
    once = first.act(first_elements, Z).reshape(-1, 6)
    twice = second.act(second_elements, once)
    images = twice.reshape(len(second_elements) * len(first_elements), len(Z), 6)
    return images, np.outer(second_weights, first_weights).ravel()


def _gaussian(A, B):
    halves = A @ B.T - np.square(A).sum(axis=1)[:, None] / 2 - np.square(B).sum(axis=1) / 2
    return np.exp(0.2 * halves)


@pytest.mark.filterwarnings("ignore:.*nodes")
@pytest.mark.filterwarnings("ignore:.*not unitary")
@pytest.mark.parametrize("name", PAIRS)
def test_kernels_and_features_over_every_pair_agree_with_the_definition(name):
    first, second = PAIRS[name]
    group = first.then(second)
    images_of_X, weights = _all_images(first, second, X)
    images_of_Y, _ = _all_images(first, second, Y)

    # K(x, z) is the mean of k(g x, h z) over all g and h.
    few_images_of_Y, few_weights = _all_images(first, second, Y, FEW)
    values = _gaussian(images_of_X.reshape(-1, 6), few_images_of_Y.reshape(-1, 6))
    values = values.reshape(len(weights), len(X), len(few_weights), len(Y))
    mean = np.tensordot(weights, np.tensordot(values, few_weights, axes=(2, 0)), axes=1)
    assert_allclose(Average(Gaussian(0.1), group)(X, Y), mean, rtol=2e-4)

    # The features are means of cosines over the transformed points.
    features = OrbitFourier(group, 4, gamma=0.1, random_state=0).fit(X)
    cosines = np.cos(images_of_X @ features.templates_.T + features.phases_)
    expected = np.sqrt(2 / 4) * np.tensordot(weights, cosines, axes=1)
    assert_allclose(features.transform(X), expected, atol=2e-4)

    # The best fit is attained by an element, and no listed element is better.
    kernel = BestFit(Gaussian(0.1), group)
    best = np.stack([_gaussian(X, image) for image in images_of_Y]).max(axis=0)
    if name in REFUSED:
        _check_refusal(kernel, first, second)
        return
    largest = kernel(X, Y)
    elements = kernel.best_element(X, Y)
    attained = [[group.act(elements[i, [j]], Y[[j]])[0, 0] for j in range(1)] for i in range(2)]
    for i in range(len(X)):
        assert_allclose(_gaussian(X[[i]], np.array(attained[i]))[0], largest[i], rtol=1e-9)
    # Dense samples of an infinite group miss its best element by a little.
    slack = 1e-12 if group.order < np.inf else 0.02
    assert np.all(largest >= best * (1 - 1e-12)) and np.all(largest <= best * (1 + slack))


#: Transformations that change lengths, after an infinite group.
REFUSED = {f"{one} . {two}" for one in INFINITE for two in ("scale", "maps", "angles")}
REFUSED |= {name for name in PAIRS if "sphere" in name}


def _check_refusal(kernel, first, second):
    """The message names both sets and a remedy."""
    with pytest.raises(ValueError, match="n_transforms") as error:
        kernel(X, Y)
    message = str(error.value)
    for part in (first, second):
        assert type(part).__name__ in message
