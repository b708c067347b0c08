"""What is refused, and how the message names it: elements, points, parameters."""

import re
import time

import numpy as np
import pytest

from invariance import groups as G

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
    (G.SignFlips(3), [[1, 1, 1]], X[:, :3]),
    (G.Permutations(3), [[0, 1, 2]], X[:, :3]),
    (G.SignedPermutations(3), [[1, 2.5, 3]], X[:, :3]),
    (G.CyclicShifts(4), [[2, 1, 3, 4]], X),
    (G.GeneratedPermutations([[1, 2, 3, 0]]), [[1, 2, 3]], X),
    (G.Negation(), [2], X),
    (G.Negation(), [[1]], X),
    (G.OrthogonalMatrices([np.diag([1.0, -1])]), [[[1.0, 0.5], [0, 1]]], X[:, :2]),
    (G.OrthogonalMatrices([np.diag([1.0, -1])]), np.eye(2), X[:, :2]),
    (G.DirectProduct([G.CyclicShifts(2), G.SignFlips(2)]), [[1, 2, 1]], X),
    (G.DirectProduct([G.CyclicShifts(2), G.SignFlips(2)]), [[1, 2, 1, 1]], X),
    (G.Composition(G.CyclicShifts(4), G.SignFlips(4)), [[1, 2, 3, 4]], X),
    (G.LinearMaps(np.ones((2, 1, 4))), [2], X),
    (G.LinearMaps(np.ones((2, 1, 4))), [0.5], X),
    (G.CyclicShifts(4).then(G.LinearMaps(np.eye(4)[None, :2])), [[4, 3, 2, 1, 0]], X),
    (G.CircleAction([0, 0, 1, 1]), [np.nan], X),
    (G.TorusTranslations([4, 1, 1, 1]), [[0.5, 0, 0, 0]], X),
    (G.CyclicTranslations((2, 2)), [[0.5, 0]], X),
    (G.Translations((6, 6), 1), [[0.5, 0]], IMAGES),
    (G.Translations((6, 6), 1), [[True, False]], IMAGES),
    (G.Rotations((6, 6)), [np.inf], IMAGES),
    (G.Affine((6, 6)), [[[1.0, 0, 0], [0, 0, 0]]], IMAGES),
    (G.SpectrogramPitchSpeed((6, 6)), [[0, np.nan]], IMAGES),
    (G.SortedNoise(2), [[np.nan, 0.0]], [[1.0, 0, 0, 1]]),
    (G.SignFlips(3), [[1 + 1j, 2, 3]], X[:, :3]),
]


def test_what_is_no_element():
    acting = [(lambda g=g, e=e, x=x: g.act(e, x)) for g, e, x in ELEMENTS]
    refused((call, r"elements .*got|square|finite") for call in acting)


class Cropping(G.Transformations):
    """Leaves the shape: what a wrong user-defined transformation may do."""

    order = 1

    def sample(self, n_samples, random_state=None):
        return np.zeros(n_samples)

    def _act(self, elements, X):
        return np.repeat(X[None, :, 1:], len(elements), axis=0)


OTHERS = [
    (lambda: Cropping().act([0.0], np.ones((2, 4))), "must keep the points' shape"),
    (lambda: G.Rotations((8, 8)).act([1.0], [np.ones((8, 8)), np.ones((8, 7))]), "X .* one shape"),
    (lambda: G.Rotations((8, 8)).act([1.0], np.ones((2, 8, 9))), r"\(2, 8, 9\)"),
    (lambda: G.Rotations((8, 8), degrees=[]).elements(), "at least one"),
    (lambda: G.Rotations((8, 8)).elements(), "infinitely many"),
    (lambda: G.Affine((8, 8)).act(np.zeros((1, 2, 3)), np.ones((1, 8, 8))), "no inverse"),
    (lambda: G.affine_maps(shift=3.0), "shift"),
    (lambda: G.Translations((8, 8), 8, boundary="zero").elements(), "out of its frame"),
    (lambda: G.Translations((8, 8), 4).elements(), "differ"),
    (lambda: G.Translations((8, 8), shifts=[]).elements(), "at least one"),
    (lambda: G.Translations((8, 8)).act([[1, 2, 3]], np.ones((1, 8, 8))), r"\(r, 2\)"),
    (lambda: G.CyclicTranslations((8, 8), axes=(2,)).order, "axes"),
    (lambda: G.departure_from_unitary(G.Rotations((8, 8)), np.zeros((1, 8, 8))), "undefined"),
    (lambda: G.departure_from_unitary(G.Rotations((8, 8)), np.full((1, 8, 8), np.nan)), "finite"),
    (lambda: G.CyclicShifts(3).then(G.SignFlips), "other to be a group .* make an instance"),
    (lambda: G.affine_maps([[0, 1]], [1, 2, 3]), "broadcast"),
    (lambda: G.CircleAction([[1, 1]]).shape, r"frequencies .* got \[\[1, 1\]\]"),
    (lambda: G.OrthogonalMatrices([np.eye(3)[:2]]).order, "shape"),
    (lambda: G.OrthogonalMatrices([2 * np.eye(2)]).order, "not orthogonal"),
    (lambda: G.OrthogonalMatrices([[[1.0, 1.0], [0.0, 1.0]]]).order, "not orthogonal"),
    (lambda: G.GeneratedPermutations([[0, 0, 1]]).order, "permutations of 0"),
    (lambda: G.Permutations(3).act([[1, 2, 3]], np.ones((2, 4))), "acts on arrays of shape"),
    (lambda: G.Permutations(3).act([[1, 2, 3]], np.ones(3)), "single point"),
    (lambda: G.Uniform(1.0, 1.0).pdf(1), "low < high, got low=1.0, high=1.0"),
    (G.AtomPermutations(14).elements, "lists; take SortedNoise.* or coulomb_eigenvalues"),
    (lambda: G.TorusTranslations([[2, 2]]).generators(), "needs orders to be one row"),
]


def test_other_wrong_values():
    refused(OTHERS)


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
    for function in (G.check_coulomb, G.sort_coulomb, G.coulomb_eigenvalues, G.coulomb_triangle):
        refused((lambda f=function, bad=bad: f(bad), message) for bad, message in MATRICES)
