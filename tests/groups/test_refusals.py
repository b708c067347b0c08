"""What is refused, and how the message names it: elements, points, parameters."""

import re
import time

import numpy as np
import pytest

from invariance.groups import (
    Affine,
    AtomPermutations,
    CircleAction,
    Composition,
    CyclicShifts,
    CyclicTranslations,
    DirectProduct,
    GeneratedPermutations,
    LinearMaps,
    LogNormal,
    Negation,
    OrthogonalMatrices,
    Permutations,
    Rotations,
    SignedPermutations,
    SignFlips,
    SortedNoise,
    SpectrogramPitchSpeed,
    TorusTranslations,
    Transformations,
    Translations,
    Uniform,
    VonMises,
    affine_maps,
    check_coulomb,
    coulomb_eigenvalues,
    coulomb_triangle,
    departure_from_unitary,
    sort_coulomb,
)

X = np.arange(12.0).reshape(3, 4)
IMAGES = np.random.default_rng(0).random((2, 6, 6))


def refused(cases):
    """Each call of the cases raises an error whose message matches, within a second."""
    for call, message in cases:
        start = time.process_time()
        try:
            call()
        except (ValueError, TypeError) as error:
            assert re.search(message, str(error)), f"{message!r} is not in {error!s}"
        else:
            pytest.fail(f"nothing was raised, due was {message!r}")
        assert time.process_time() - start < 1, message


ELEMENTS = [
    (SignFlips(3), [[1, 1, 1]], X[:, :3]),
    (Permutations(3), [[0, 1, 2]], X[:, :3]),
    (SignedPermutations(3), [[1, 2.5, 3]], X[:, :3]),
    (CyclicShifts(4), [[2, 1, 3, 4]], X),
    (GeneratedPermutations([[1, 2, 3, 0]]), [[1, 2, 3]], X),
    (Negation(), [2], X),
    (Negation(), [[1]], X),
    (OrthogonalMatrices([np.diag([1.0, -1])]), [[[1.0, 0.5], [0, 1]]], X[:, :2]),
    (OrthogonalMatrices([np.diag([1.0, -1])]), np.eye(2), X[:, :2]),
    (DirectProduct([CyclicShifts(2), SignFlips(2)]), [[1, 2, 1]], X),
    (DirectProduct([CyclicShifts(2), SignFlips(2)]), [[1, 2, 1, 1]], X),
    (Composition(CyclicShifts(4), SignFlips(4)), [[1, 2, 3, 4]], X),
    (LinearMaps(np.ones((2, 1, 4))), [2], X),
    (LinearMaps(np.ones((2, 1, 4))), [0.5], X),
    (CyclicShifts(4).then(LinearMaps(np.eye(4)[None, :2])), [[4, 3, 2, 1, 0]], X),
    (CircleAction([0, 0, 1, 1]), [np.nan], X),
    (TorusTranslations([4, 1, 1, 1]), [[0.5, 0, 0, 0]], X),
    (CyclicTranslations((2, 2)), [[0.5, 0]], X),
    (Translations((6, 6), 1), [[0.5, 0]], IMAGES),
    (Translations((6, 6), 1), [[True, False]], IMAGES),
    (Rotations((6, 6)), [np.inf], IMAGES),
    (Affine((6, 6)), [[[1.0, 0, 0], [0, 0, 0]]], IMAGES),
    (SpectrogramPitchSpeed((6, 6)), [[0, np.nan]], IMAGES),
    (SortedNoise(2), [[np.nan, 0.0]], [[1.0, 0, 0, 1]]),
    (SignFlips(3), [[1 + 1j, 2, 3]], X[:, :3]),
]


def test_what_is_no_element():
    acting = [(lambda g=g, e=e, x=x: g.act(e, x)) for g, e, x in ELEMENTS]
    refused((call, r"elements .*got|square|finite") for call in acting)


VALUES = [
    (lambda: CyclicShifts(3).then(SignFlips), "other to be a group .* make an instance"),
    (lambda: Translations((6, 6), max_shift=10**9).order, "max_shift.* got 1000000000"),
    (lambda: CyclicTranslations((2, None)).order, "shape .* got .2, None"),
    (lambda: CyclicShifts(10**30).order, "n to be a whole number >= 1, got 1000"),
    (lambda: DirectProduct([SignFlips]).order, "factors .* got .*SignFlips"),
    (lambda: DirectProduct([CircleAction([1, 1])]).order, "factors .* got .CircleAction"),
    (lambda: OrthogonalMatrices([]).order, r"matrices .* got \[\]"),
    (lambda: GeneratedPermutations([[0.5, 1.5]]).order, "permutations .* got"),
    (lambda: CircleAction([[1, 1]]).shape, r"frequencies .* got \[\[1, 1\]\]"),
    (lambda: VonMises(1e10).sample(2), "kappa to be .* <= 1e.09, got 1"),
    (lambda: affine_maps([[0, 1]], [1, 2, 3]), "broadcast"),
    (lambda: departure_from_unitary(CyclicShifts(4), "X"), "X .* got 'X'"),
    (lambda: VonMises().fourier_coefficients(0.5), "orders .* got 0.5"),
]


def test_wrong_values():
    refused(VALUES)


class Cropping(Transformations):
    """Leaves the shape: what a wrong user-defined transformation may do."""

    order = 1

    def sample(self, n_samples, random_state=None):
        return np.zeros(n_samples)

    def _act(self, elements, X):
        return np.repeat(X[None, :, 1:], len(elements), axis=0)


IMAGE_INPUT = [
    (lambda: Cropping().act([0.0], np.ones((2, 4))), "must keep the points' shape"),
    (lambda: Rotations((8, 8)).act([1.0], [np.ones((8, 8)), np.ones((8, 7))]), "X .* one shape"),
    (lambda: Rotations((8, 8)).act([1.0], np.ones((2, 8, 9))), r"\(2, 8, 9\)"),
    (lambda: Rotations((8, 8), degrees=[]).elements(), "at least one"),
    (lambda: Rotations((8, 8)).elements(), "infinitely many"),
    (lambda: Affine((8, 8)).act(np.zeros((1, 2, 3)), np.ones((1, 8, 8))), "no inverse"),
    (lambda: affine_maps(shift=3.0), "shift"),
    (lambda: Translations((8, 8), 8, boundary="zero").elements(), "out of its frame"),
    (lambda: Translations((8, 8), 4).elements(), "differ"),
    (lambda: Translations((8, 8), shifts=[]).elements(), "at least one"),
    (lambda: Translations((8, 8)).act([[1, 2, 3]], np.ones((1, 8, 8))), r"\(r, 2\)"),
    (lambda: CyclicTranslations((8, 8), axes=(2,)).order, "axes"),
    (lambda: departure_from_unitary(Rotations((8, 8)), np.zeros((1, 8, 8))), "undefined"),
    (lambda: departure_from_unitary(Rotations((8, 8)), np.full((1, 8, 8), np.nan)), "finite"),
]


def test_bad_images_and_parameters_of_their_transformations():
    refused(IMAGE_INPUT)


DENSITIES = [
    (Uniform(1.0, 1.0), "low < high, got low=1.0, high=1.0"),
    (VonMises(np.inf), "VonMises needs kappa to be a finite number >= 0 and <= 1e.09, got inf"),
    (LogNormal(1.0, median=-1.0), "LogNormal needs median to be a finite number > 0, got -1.0"),
]


def test_bad_densities():
    for density, message in DENSITIES:
        refused((lambda f=f: f(1), message) for f in (density.sample, density.pdf))


MATRICES = [
    (np.ones((2, 3, 4)), r"must be square, of shape \(n, a, a\) .* got \(2, 3, 4\)"),
    (np.ones((2, 5)), r"must be square, .* got \(2, 5\)"),
    (np.arange(18.0).reshape(2, 3, 3), r"matrix 0 of 2 is not symmetric, .* use \(C \+ C.T\)"),
    ([np.eye(2), [[1.0, np.nan], [0.0, 1.0]]], r"matrix 1 of 2 must .* \(0, 1\) is nan"),
    (np.full((1, 4), np.inf), r"matrix 0 of 1 must be finite, but entry \(0, 0\) is inf"),
    (np.eye(23), r"got \(23, 23\).* a single one is C\[None\]"),
    (np.ones((3, 0)), r"of shape \(n, a, a\) .* got \(3, 0\)"),
]


def test_bad_coulomb_matrices():
    for function in (check_coulomb, sort_coulomb, coulomb_eigenvalues, coulomb_triangle):
        refused((lambda f=function, bad=bad: f(bad), message) for bad, message in MATRICES)


def test_bad_generators_degrees_and_points():
    identity = Permutations(3).identity()
    refused(
        [
            *(
                (lambda m=m: OrthogonalMatrices([m]).order, "not orthogonal|shape")
                for m in (np.eye(3)[:2], 2 * np.eye(2), [[1.0, 1.0], [0.0, 1.0]])
            ),
            (
                lambda: OrthogonalMatrices([[[0, 1j], [1j, 0]]]).order,
                "matrices to be an array of 3 axes of finite numbers",
            ),
            (lambda: Permutations(3).act(identity, np.ones((2, 4))), "acts on arrays of shape"),
            (lambda: Permutations(3).act(identity, np.ones(3)), "single point"),
            (lambda: GeneratedPermutations([[0, 0, 1]]).order, "permutations of 0"),
        ]
    )


def test_too_many_atoms_name_what_serves_molecules():
    """Drawing some of 14! orders had half the accuracy of sorted noise."""
    message = "AtomPermutations.*lists; take SortedNoise.* or coulomb_eigenvalues"
    refused([(AtomPermutations(14).elements, message)])
