"""Messages about invalid elements, points, matrices, labels, and parameters."""

import re
import time
from functools import partial

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.stats import ortho_group
from sklearn.decomposition import PCA

from invariance import beyond
from invariance import datasets as D
from invariance import features as F
from invariance import groups as G
from invariance import kernels as K
from invariance import linear as L
from invariance import spectral as S
from invariance.beyond import find_symmetry, separation_report
from invariance.evaluation.means import mean_se
from invariance.evaluation.rates import fit_rate
from invariance.theory import mroueh2015 as theory
from invariance.theory.raj2017 import jacobian_factor

RNG = np.random.default_rng(0)
X = np.arange(12.0).reshape(3, 4)
IMAGES = RNG.random((2, 6, 6))
FIVE = [[0] * 5]
EYE = np.eye(3)
P3, P4, P6, P16 = (RNG.standard_normal((20, d)) for d in (3, 4, 6, 16))
SYMMETRIC = np.array([(x.reshape(4, 4) + x.reshape(4, 4).T).ravel() for x in P16])
LABELS = np.arange(20) % 2
HIDDEN = np.ma.masked_equal(LABELS, 1)
GAUSS = K.Gaussian(0.5)
MASKED = np.ma.masked_less(np.eye(9), 0.5)
EIGHT = np.arange(8.0).reshape(2, 2, 2)
SET = np.ones((2, 2, 2))
TEAMS = beyond.pad_sets([[RNG.standard_normal((m, 2)) for m in (2, 3)]] * 2)
ATOMS = RNG.standard_normal((2, 3, 3))
CHARGES = np.array([[8, 1, 1], [6, 8, 1]])
GRAM = GAUSS(P3)
CROOKED = GAUSS(P3) + 0.02 * np.eye(20, k=4)
INDEFINITE = GRAM - 0.3 * np.eye(20)
SPHERE = S.Sphere(3).sample(20, random_state=0)
BALL = S.Sphere(3, 2)
TORI = S.Torus(2, degree=4)
TWO_TORI = beyond.Product([S.Torus(2)] * 2, degree=10)


def refused(take, cases):
    """Check that each case raises an error with a matching message within a second."""
    for value, message in cases:
        start = time.process_time()
        try:
            take(value)
        except (ValueError, TypeError) as error:
            assert re.search(message, str(error)), f"{message!r} is not in {error!s}"
        else:
            pytest.fail(f"nothing was raised, expected {message!r}")
        assert time.process_time() - start < 1, message


def call(function):
    function()


# -- groups ----------------------------------------------------------------------------------------

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
    (beyond.SpectrogramPitchSpeed((6, 6)), [[0, np.nan]], IMAGES),
    (G.SortedNoise(2), [[np.nan, 0.0]], [[1.0, 0, 0, 1]]),
    (G.SignFlips(3), [[1 + 1j, 2, 3]], X[:, :3]),
]


class Cropping(G.Transformations):
    """A wrong user-defined transformation that changes the shape of points."""

    order = 1

    def sample(self, n_samples, random_state=None):
        return np.zeros(n_samples)

    def _act(self, elements, X):
        return np.repeat(X[None, :, 1:], len(elements), axis=0)


# Few enough points that SymPy counts them at once, even if its random test for S_n fails.
NUMBERINGS = G.GeneratedPermutations([[*range(1, 20), 0], [1, 0, *range(2, 20)]])
NOISE = G.SortedNoise(2)
GAP = [[1.0, 0, 0, 1], [1.0, np.nan, np.nan, 1]]
LONGER = G.CyclicShifts(4, block=6).then(G.Permutations(6))
GROUPS = [
    (lambda: Cropping().act([0.0], np.ones((2, 4))), "must keep the points' shape"),
    (lambda: G.Rotations((8, 8)).act([1.0], [np.ones((8, 8)), np.ones((8, 7))]), "X .* one shape"),
    (lambda: G.Rotations((8, 8)).act([1.0], np.ones((2, 8, 9))), r"\(2, 8, 9\)"),
    (lambda: G.Rotations((8, 8), degrees=[]).elements(), "at least one"),
    (lambda: G.Rotations((8, 8)).elements(), "infinitely many"),
    (lambda: G.Affine((8, 8)).act(np.zeros((1, 2, 3)), np.ones((1, 8, 8))), "no inverse"),
    (lambda: G.affine_maps(shift=3.0), "shift"),
    (lambda: G.Translations((8, 8), 8, boundary="zero").elements(), "move all out of"),
    (lambda: G.Translations((8, 8), 4).elements(), "are the same on"),
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
    (lambda: G.GeneratedPermutations([[0, 0, 1]]).order, "permutations of 0"),
    (lambda: G.Permutations(3).act([[1, 2, 3]], np.ones((2, 4))), "acts on arrays of shape"),
    (lambda: G.Permutations(3).act([[1, 2, 3]], np.ones(3)), "single point"),
    (lambda: G.Uniform(1.0, 1.0).pdf(1), "low < high, got low=1.0, high=1.0"),
    (G.AtomPermutations(14).elements, "lists; take SortedNoise.* or coulomb_eigenvalues"),
    (lambda: G.TorusTranslations([[2, 2]]).generators(), "needs orders to be a sequence"),
    (partial(G.check_group, G.Negation), r"make an instance of the class, Negation\(...\)"),
    (partial(G.check_group, 3), "needs group to be a group .*, got 3"),
    (NUMBERINGS.elements, "more than the 1000000 that"),
    (G.Permutations(30).elements, "more than the 1000000 that.*draw some with sample"),
    (G.SignFlips(100).elements, "more than the 1000000 that"),
    (
        lambda: NOISE.act(NOISE.sample(1), GAP),
        r"matrix 1 of 2 must be .* check_coulomb\(X\) counts",
    ),
    (G.Affine((8, 8), maps=[]).elements, "at least one"),
    (G.CircleAction([1, 1], G.Normal(0.01, 1.0), n_nodes=2).weights, "positive weight: n_nodes=2"),
    (G.Rotations((8, 8), degrees=[90], density=G.Normal(1e-3)).weights, "positive weight"),
    (beyond.Wreath(G.Permutations(2), G.SignFlips(2)).elements, "more than permute"),
    (beyond.Wreath(G.Negation(), G.Permutations(2)).elements, "fixed number"),
    (lambda: G.Negation().on_each(3), "any length"),
    (lambda: G.Permutations(3).on_columns([4, 0, 2]).act([[1, 2, 3]], X), "rows have 4"),
    (lambda: G.CyclicShifts(4).then(G.LinearMaps(EYE[None])).act(FIVE, X), "shapes .* both must"),
    (partial(LONGER.act, FIVE, np.ones((1, 24))), r"on_each\(n_points\) .* act on longer ones"),
    (lambda: G.CyclicShifts(6).times(G.Permutations(6)), r"element \[6, 1, 2, 3, 4, 5\] of Cyc"),
    (lambda: beyond.Rotations3D().times(G.OrthogonalMatrices([EYE[[1, 2, 0]]])), "commute"),
    (lambda: G.Translations((4, 4), 1).times(G.Negation()), "two groups"),
    (lambda: G.OnPoints(G.CyclicShifts(3), 3).act([[1, 2, 3]], X[:1]), "rows of points of 3 coord"),
    (beyond.PitchSpeed((80,), speeds=[0]).elements, "speeds .* >= 0.01"),
    (beyond.PitchSpeed((80,), cents=[]).elements, "at least one"),
    (lambda: beyond.PitchSpeed((80,)).act([100.0], np.zeros((1, 80))), "pairs"),
    (lambda: beyond.PitchSpeed((80,)).act([[0, -1.0]], np.zeros((1, 80))), "pairs"),
    (lambda: beyond.PitchSpeed((80,)).act([[0, 1.0]], np.zeros((1, 81))), "81"),
    (lambda: beyond.SpectrogramPitchSpeed((8, 9), low=5e3).act([[0, 1]], np.zeros((1, 72))), "low"),
]
POINTS = [
    ({"n_coordinates": 2}, "moves 3 coordinates"),
    ({"n_coordinates": 3, "coordinates": (0, 0, 1)}, "different ones below n_coordinates=3"),
]
FREQUENCIES = [
    *((bad, "frequencies must") for bad in ([1], [1, 1, 1], [1, 2], [1, 0, 1])),
    ([-1, -1], "frequencies to be a sequence of whole numbers >= 0, at least one, got .-1,"),
    ([0.5, 0.5], "frequencies to be a sequence of whole numbers >= 0, at least one, got .0.5,"),
]
MATRICES = [
    (np.ones((2, 3, 4)), r"must be square, of shape \(n, a, a\) .* got \(2, 3, 4\)"),
    (np.ones((2, 5)), r"must be square, .* got \(2, 5\)"),
    (np.arange(18.0).reshape(2, 3, 3), r"matrix 0 of 2 must be finite and symmetric.*\(C \+ C.T\)"),
    ([np.eye(2), [[1.0, np.nan], [0.0, 1.0]]], r"matrix 1 of 2 must be finite .* nan"),
    (np.full((1, 4), np.inf), r"matrix 0 of 1 must be finite .* inf"),
    (np.eye(23), r"got \(23, 23\).* a single one is C\[None\]"),
    (np.ones((3, 0)), r"of shape \(n, a, a\) .* got \(3, 0\)"),
]

# -- kernels ---------------------------------------------------------------------------------------

PRECOMPUTED = partial(K.GramTransformer, "precomputed")
KERNELS = [
    (K.Average(K.Linear(), G.CyclicShifts(5)), "points have 6 features"),
    (K.Average(K.Locality((3, 2), 3), G.Translations((2, 3), max_shift=1)), "must agree"),
    (K.Average(GAUSS, G.CircleAction([0, 1, 1], n_nodes=4)), "takes 3"),
    (K.Average(GAUSS, G.Affine((2, 3))), "n_transforms"),
    (K.BestFit(K.Locality((3, 2), 3), G.Translations((2, 3), max_shift=1)), "must agree"),
    (K.BestFit(K.Locality((2, 3), 9), G.CyclicTranslations((2, 3))), "no larger than their i"),
    (K.BestFit(K.Linear(), G.Rotations((2, 3))), "infinitely many"),
    (lambda _: K.BestFit(K.Linear(), beyond.Rotations3D())(P4), "multiple of 3"),
    (partial(K.Linear(), Y=P3), "6 features and Y has 3"),
    (partial(GAUSS, Y=P6, eval_gradient=True), "for Y=None"),
    (K.Gaussian(gamma_bounds=(-1, 2)), "gamma_bounds to be 'fixed' or a sequence"),
    (beyond.OverlapFit(GAUSS, G.Permutations(6)), "needs shifts of a grid"),
    (beyond.OverlapFit(K.Laplacian(), G.Translations(6, max_shift=1)), "needs a base that grows"),
    (beyond.OverlapFit(K.Polynomial(2), G.Translations(6, max_shift=1)), "needs a base that grows"),
    (beyond.TangentDistance((2, 3), ("shear",)), "vectors to be .*got .'shear'"),
    (beyond.TangentDistance((8, 9)), "have 72 pixels, but X has 6"),
    (beyond.TangentDistance((1, 6)), r"two pixels each.*got \(1, 6\)"),
    (K.gershgorin_margin, "a Gram matrix is square"),
    (K.largest_definite, "a Gram matrix is square"),
    (PRECOMPUTED().fit, "a Gram matrix is square"),
    (lambda _: PRECOMPUTED(repair="nystrom").fit([[-1.0, 2], [2, 1]]), "not positive.*take 'clip'"),
    (K.GramTransformer(lambda x, z: np.nan).fit, "NaN|finite"),
    (PRECOMPUTED().fit(EYE).transform, "3 features"),
]
LOCAL = [
    ({"window": 4}, "window to be an odd whole number .*got 4"),
    ({"window": 7}, "no larger than their input 6, got 7"),
    ({"window": 3, "powers": (2,)}, "at least two"),
    ({"window": 3, "powers": (2, 0)}, "positive integers"),
    ({"window": (3, 3)}, r"1 of window by powers, got \(3, 3\)"),
    ({"window": 3, "padding": 3}, "below the window"),
    ({"window": 3, "gammas": (1.0,)}, "2 of gammas"),
    ({"shape": (5, 6), "window": 3}, "have 30 pixels, but X has 36"),
]
SETS = [
    (partial(beyond.SetKernel(GAUSS), P4), "n_coordinates=d"),
    (partial(beyond.SetKernel(GAUSS), "abc"), "of pad_sets"),
    (partial(beyond.MatchingKernel(GAUSS), np.full((2, 2, 2), np.nan)), "set 0 has no points"),
    (
        partial(beyond.SetKernel(GAUSS), np.where(EIGHT == 5, np.nan, 1)),
        "1 of point 0 of set 1 is na",
    ),
    (
        partial(beyond.MatchingKernel(GAUSS), np.where(EIGHT == 5, np.inf, 1)),
        "1 of point 0 of set 1",
    ),
    (partial(beyond.SetKernel(GAUSS, n_coordinates=3), X), r"\(n, largest, 3\) .* \(3, 4\)"),
    (partial(beyond.SetKernel(GAUSS, weighted=True), -SET), "must be >= 0"),
    (partial(beyond.SetKernel(GAUSS, labelled=True), SET[..., :1]), "leave none to compare"),
    (partial(beyond.SetKernel(GAUSS), SET, ATOMS), r"points of \[2, 3\] coordinates"),
    (partial(beyond.SetKernel(beyond.SetKernel(GAUSS)), TEAMS, TEAMS[..., :1]), "do not compare"),
    (partial(beyond.SetFeatures(beyond.SetFeatures(), labelled=True).fit, TEAMS), "not of sets"),
    (partial(beyond.SetFeatures().fit(SET).transform, ATOMS), "fitted to points of 2 numbers"),
    (partial(beyond.SetFeatures().fit(SET).transform, np.nan * SET), "set 0 has no points"),
    *(
        (partial(beyond.pad_sets, bad), "pad_sets needs")
        for bad in ([], [P3[:0]], [P3, P4], [["a"]])
    ),
    (partial(beyond.pad_sets, [[[np.nan]]]), "pad_sets needs"),
    (partial(beyond.pad_sets, []), "at least one set"),
    (partial(beyond.pad_sets, np.zeros((4, 30))), "a row for each point, not shape \\(30,\\)"),
    (partial(beyond.pad_sets, [np.zeros((3, 2)), np.zeros((3, 4))]), "set 1 has shape \\(3, 4\\)"),
    (partial(beyond.patch_sets, np.ones((3, 60)), (5, 5), size=3), "patch_sets: images of shape"),
    (
        partial(beyond.patch_sets, np.ones((3, 60)), (5, 6, 2), size=6),
        "patch_sets: images of shape",
    ),
    (partial(beyond.atom_environments, ATOMS, CHARGES[:, :2]), "charges need shape"),
    (
        partial(beyond.atom_environments, ATOMS, CHARGES * [[1], [0]]),
        "molecule 1 has charges that are",
    ),
    (
        partial(beyond.atom_environments, ATOMS[:1], 0 * CHARGES[:1]),
        "molecule 0 has charges that are",
    ),
    (partial(beyond.atom_environments, 0 * ATOMS, CHARGES), "in molecule 0 of 2"),
    (partial(beyond.atom_environments, ATOMS, CHARGES, elements=[1, 6]), r"hold \[8\], not in"),
    (partial(beyond.graph_nodes, [[0, 1], [0, 0]]), "symmetric"),
    (partial(beyond.graph_nodes, [[0, -1], [-1, 0]]), "negative"),
    (partial(beyond.graph_nodes, [[0, 1, 1], [1, 0, 0]]), "square"),
    (partial(beyond.graph_nodes, [[0, np.nan], [np.nan, 0]]), "finite"),
    (partial(beyond.graph_nodes, np.eye(2), [[1.0]]), "one row of attributes for each of 2"),
    (partial(beyond.graph_nodes, [np.eye(2)], [[[1.0], [1.0]]] * 2), "2 graphs"),
]

# -- features --------------------------------------------------------------------------------------

ROWS = r"OrbitFourier expects points as rows of shape \(n, d\), got shape \(20, 4, 4\); use X.resha"
SORTED = G.SortedNoise(4, triangle=True)
FEATURES = [
    (partial(F.GroupCDF(templates=np.full((100, 4), 3.0)).fit, P4), "= 36, not below"),
    (partial(F.GroupCDF(templates=np.ones((3, 4))).fit, P4), "shape"),
    (partial(F.GroupCDF(G.CyclicShifts(5)).fit, P4), "acts on arrays of shape"),
    (lambda: F.draw_templates("gaussian", 3, n_features=10_000, epsilon=-0.2), "raise epsilon"),
    (
        partial(beyond.MaxFilter(None, 5, templates=X).fit, P6),
        r"templates .* \(5, 6\), got \(3, 4\)",
    ),
    (partial(F.OrbitFourier().fit, P16.reshape(20, 4, 4)), ROWS),
    (partial(F.OrbitFourier().fit(P16).transform, P16.reshape(20, 4, 4)), ROWS),
    (partial(F.OrbitNystroem(landmarks=X[:2, :2]).fit, P16), r"shape .* 16\), got \(2, 2\)"),
    (partial(F.OrbitNystroem(kernel=K.Linear(), landmarks=np.zeros((100, 3))).fit, P3), "no posit"),
    (partial(F.OrbitNystroem(SORTED, 4, n_transforms=3).fit, SYMMETRIC), "take from_orbit=True"),
    (partial(F.median_gamma, [[0.0], [np.nan]]), r"X must be finite, but entry \(1, 0\) is nan"),
    (partial(F.median_gamma, [[0.0], [1e200]]), "too far apart: rescale X"),
    (partial(F.median_gamma, [[0.0], [1e-160]]), "too close: rescale X"),
    (partial(beyond.PatchPooling(PCA).fit, P16), r"make an instance of the class, PCA\(...\)"),
    (partial(beyond.PatchPooling(shape=(3, 5)).fit, P16), "have 15 pixels, but X has 16 features"),
    (
        partial(beyond.Scattering((16, 16), n_scales=10).fit, np.ones((2, 256))),
        "n_scales <= 5 .* 10",
    ),
    (partial(F.AngularBasis((4, 5)).fit, P16), "have 20 pixels, but X has 16 feature"),
    (F.AngularBasis().rotations, "pass shape, or fit first"),
    (partial(beyond.LogMel(100).fit, np.zeros((2, 800))), "sample_rate to be .* > 200, got 100"),
    (partial(F.draw_windowed_templates, 3, (4, 4), width=[1.0, 2.0, 3.0]), "width > 0"),
    (partial(F.draw_windowed_templates, 3, (4, 4), width=0.008), "at least 0.1 .* got 0.008"),
]

# -- linear ----------------------------------------------------------------------------------------


def broken(x, z):
    return np.nan if x[0] > 0 else 1.0


def far(x, z):
    return np.inf if x[0] > 9 else x @ z


RLS = (L.RLSClassifier, L.RLSRegressor)
BLOCKS = L.BlockRidgeClassifier().fit(P3, LABELS)
LINEAR = [
    (partial(L.RLSClassifier(kernel="precomputed").fit, P3, LABELS), "square at fit"),
    (partial(L.RLSClassifier(kernel="precomputed").fit, CROOKED, LABELS), "symmetric.*GramTrans"),
    (partial(L.RLSClassifier().fit, P3, 0 * LABELS), "one class"),
    *((partial(r(kernel=broken).fit, P3, LABELS), "Gram matrix must be finite.* nan") for r in RLS),
    *(
        (partial(r(kernel=far).fit(P3, LABELS).predict, 10 + P3**2), "new points.*finite")
        for r in RLS
    ),
    *(
        (partial(kind().fit, P3, LABELS, sample_weight=weight * np.ones(20)), message)
        for kind in (L.RLSClassifier, L.BlockRidgeClassifier)
        for weight, message in ((0, "zero|positive weight"), (-1, "[Nn]egative"))
    ),
    (partial(L.BlockRidgeClassifier().partial_fit, P3, LABELS), "needs classes"),
    (partial(L.BlockRidgeClassifier().partial_fit, P3, 2 * LABELS, [0, 1]), "label 2 is not among"),
    (partial(BLOCKS.scores, P3, LABELS, alphas=[1e-3, np.nan]), "scores needs alphas to be a fini"),
    (partial(BLOCKS.scores, P3, LABELS, alphas=[1e-3, -1.0]), "scores needs alphas to be a finite"),
    (partial(BLOCKS.scores, P3, LABELS[:3], alphas=[1.0]), r"one label per row: 20 .* of \(3,\)"),
    (partial(BLOCKS.solve, -1), "solve needs alpha to be a finite number > 0, got -1"),
    (partial(BLOCKS.scores, P3, HIDDEN, alphas=[1.0]), "y has 10 masked entries: fill them"),
    (partial(L.BlockRidgeClassifier().partial_fit, P3, LABELS, HIDDEN), "classes has 10 masked"),
    *(
        (partial(model.fit, P3, LABELS, HIDDEN), "sample_weight has 10 masked entries: fill them")
        for model in (L.RLSRegressor(), L.RLSClassifier(), BLOCKS, S.SpectralAveraging())
    ),
    (partial(D.make_translated_mnist, IMAGES, HIDDEN[:2]), "labels has 1 masked entries"),
    (
        partial(D.make_translated_mnist, np.ma.masked_array(IMAGES > 0.5, IMAGES > 0.5), [0, 1]),
        "images has .* masked entries",
    ),
    (partial(L.left_out_with_copies, GRAM, LABELS[:7], alphas=[0.1]), "as many rows for one label"),
    (partial(L.left_out_with_copies, GRAM, 0 * LABELS, alphas=[1e-3]), "class"),
]
GRAMS = [
    ((np.eye(4)[:3], [0, 1, 0]), "square"),
    ((EYE, [0, 1]), "one label per row"),
    ((np.diag([1.0, np.nan, 1.0]), [0, 1, 1]), r"Gram matrix .* entry \(1, 1\) is nan"),
    ((EYE, [1, 1, 1]), "two classes"),
    ((-np.eye(5), [0, 1, 1, 0, 1]), "positive semi-definite"),
    ((1j * EYE, [0, 1, 1]), "gram needs real numbers"),
    ((EYE, np.ma.masked_equal([0, 1, 7], 7)), "labels to be .* none masked"),
    ((MASKED, LABELS[:9]), "gram has 72 masked entries"),
    ((CROOKED, LABELS), "not symmetric"),
    ((INDEFINITE, LABELS), "not positive semi-definite: centred, .* RLSClassifier"),
    ((GRAM, np.full(20, np.nan)), "labels to be .* none masked or missing"),
    ((GRAM, np.where(LABELS, 1.0, np.nan)), "labels to be .* or missing"),
]
NINE = {"gram": np.eye(9), "y": np.arange(9.0)}
RIDGES = [
    ({"gram": np.eye(9) * np.nan}, r"Gram matrix must be finite, but entry \(0, 0\) is nan"),
    ({"gram": np.ones((9, 8))}, r"square Gram matrix .* gram of shape \(9, 8\)"),
    ({"gram": np.triu(np.ones((9, 9)))}, "not symmetric .*GramTransformer"),
    ({"gram": CROOKED, "y": LABELS}, r"not symmetric \(largest .* 0.02\).*GramTransformer"),
    ({"gram": np.eye(9) * 1j}, "gram needs real numbers"),
    ({"gram": MASKED}, "gram has .* masked entries"),
    ({"y": np.ones(8)}, "one y per row, got .* and 8 y"),
    ({"y": np.append(np.ones(8), np.inf)}, "y must be finite, but entry 8 is inf"),
    ({"y": 1j * np.ones(9)}, "y needs real numbers"),
]

# -- spectral --------------------------------------------------------------------------------------


def turn(axis, angle):
    return Rotation.from_rotvec(angle * np.array(axis) / np.linalg.norm(axis)).as_matrix()


class Squaring(G.Negation):
    """A nonlinear map, which preserves no eigenspace."""

    def _act(self, elements, X):
        return np.where(elements[:, None, None] == -1, X**2, X)


SHEAR = G.OrthogonalMatrices([[[1.0, 1, 0], [0, 1, 0], [0, 0, 1]]])
DENSE = ortho_group.rvs(40, random_state=0)
FREE = {"degree": 5, "estimator": "least_squares"}
AVERAGING = [
    (S.SpectralAveraging(S.Sphere(4)), "have 4 coordinates"),
    (S.SpectralAveraging(S.Sphere(3), G.Permutations(4)), "acts on 4 coordinates"),
    (S.SpectralAveraging(S.Sphere(3), degree=1, cutoff=4), "either degree or cutoff"),
    (
        S.SpectralAveraging(S.Sphere(3), **FREE),
        "keeps 36 invariant functions .* than the 20 samples",
    ),
    (S.SpectralAveraging(S.Sphere(3), SHEAR), "not orthogonal"),
    *(
        (S.SpectralAveraging(S.Sphere(3), group, outputs=outputs, degree=2), message)
        for group, outputs, message in (
            (G.CyclicShifts(3), G.TorusTranslations([3, 3, 3]), "orthogonal matrices"),
            (G.CyclicShifts(3), G.Permutations(4), "acts on arrays of shape|must be"),
            (G.CyclicShifts(3), G.Permutations, "needs outputs to be a group"),
            (beyond.Rotations3D(), beyond.PlaneRotations(), "Lie algebra|multiple of 2"),
            (beyond.Rotations3D(), G.Permutations(3), "Lie algebra|multiple of 2"),
        )
    ),
]
PERIODS = [
    (S.Circle(), G.TorusTranslations([5])),
    (S.Torus(2), G.TorusTranslations([3, 1], period=2 * np.pi)),
    (S.Torus(2), G.TorusTranslations([4, 1], period=3.0)),
    (S.Torus(2), G.TorusTranslations([4, 1], period=4.0)),
]
MIXED = [
    beyond.Product([S.Circle(), S.Torus(1)], degree=9),
    beyond.Product([S.Sphere(3)] * 2, degree=2),
]
PROJECTIONS = [
    ((BALL, G.Permutations(4)), "acts on 4 coordinates, but .* have 3"),
    ((BALL, Squaring()), "does not act on the eigenfunctions"),
    ((S.Sphere(2, degree=2), G.TorusTranslations([2, 2])), "does not act on the sphere"),
    ((TORI, G.OrthogonalMatrices([turn([0, 0, 1], np.pi / 3)[:2, :2]])), "only signed permutation"),
    ((TWO_TORI, G.Permutations(4)), "mixes the coordinates"),
    ((TWO_TORI, G.Permutations(3)), "acts on 3 coordinates"),
    ((MIXED[0], G.Permutations(2)), "exchanges factor"),
    ((MIXED[1], G.CyclicShifts(6)), "mixes"),
]
QUARTERS = G.OrthogonalMatrices([turn([0, 0, 1], np.pi / 2), turn([1e-8, 0, 1], np.pi / 2)])
UNLIKE = beyond.Product([S.Sphere(3), S.Circle()], degree=2, exchangeable=True)
ALONG = [G.TorusTranslations([4], period=period) for period in (2 * np.pi, 3.0)]
SUBSPACES = [
    ((BALL, G.OrthogonalMatrices([turn([0, 0, 1], 1e-8)])), r"turns by 1.59\S* of a full turn"),
    ((S.Torus(36, degree=1), G.Translations((6, 6), 1)), "generators"),
    ((BALL, QUARTERS), "cannot be told from zero"),
    ((UNLIKE, None), "only equal factors"),
    ((S.Sphere(4, degree=2), beyond.Rotations3D()), "multiple of 3"),
    ((S.Torus(2, degree=2), beyond.PlaneRotations()), "no derivatives"),
    ((S.Sphere(6, degree=2), beyond.PlaneRotations(8)), "finite rule"),
    *(((TORI, G.DirectProduct([along, G.SignFlips(1)])), "the same period") for along in ALONG),
]
LARGE = G.OrthogonalMatrices([DENSE])
SPECTRAL = [
    (partial(S.SpectralAveraging(S.Sphere(3)).fit, 2 * SPHERE, LABELS), "row . has norm 2; divide"),
    (partial(S.project, np.zeros(8), BALL, G.Permutations(3)), r"must have shape \(9,\)"),
    (partial(S.project, np.zeros(9), BALL, G.Permutations(3), method="magic"), "method to be 'aut"),
    (partial(S.project, np.zeros(9), S.Sphere, G.Permutations(3)), "basis .* make an instance"),
    (partial(S.Sphere(40, 3).representation, 3, LARGE, DENSE[None]), "acts densely on the"),
    (partial(S.invariant_dimensions, TWO_TORI, G.SignFlips(4)), "Sphere and Torus"),
    (lambda: S.Torus(3).n_functions_, "infinitely many functions; truncate"),
    (lambda: S.Torus(3).truncate(), "either degree or cutoff"),
    (lambda: S.Torus(3).truncate(degree=1, cutoff=2), "either degree or cutoff"),
    (lambda: BALL.evaluate([[1.0, 1.0, 0.0]]), "row 0 has norm 1.41421"),
    (lambda: BALL.evaluate([[1.0, 0.0]]), "have 3 coordinates, got X with 2"),
    (lambda: UNLIKE.evaluate([[2.0, 0.0, 0.0, 1.0]]), "row 0 has norm 2"),
    (partial(S.SpectralAveraging(BALL).fit, SPHERE, [None, *[1.0] * 19]), "y must be finite, but"),
    (partial(S.Expansion, S.Sphere(3, degree=3), np.zeros(3)), "holds 16 functions"),
]
COUNTS = [(np.zeros(20), "positive weight|non-zero"), (-np.ones(20), "[Nn]egative")]
COUNTS += [(np.full(20, 1 / 40), "as so many copies")]

# -- evaluation, data, theory ----------------------------------------------------------------------

TWO = G.GeneratedPermutations([[2, 3, 0, 1]])
RING = {"orders": G.Permutations(4), "shifts": G.CyclicShifts(4), "by two": TWO}
SYMMETRIES = [
    (([RING["shifts"], G.GeneratedPermutations([[1, 2, 3, 0]])], {}), "same orbits"),
    (([G.CyclicShifts(1, block=4)], {}), "needs a group that moves points"),
    ((RING, {"parents": {"shifts": ["by three"]}}), "parents names"),
    (({"half": G.LinearMaps([np.eye(4) / 2]), **RING}, {}), "not unitary"),
    ((RING, {"margin": -1}), "margin"),
    (([TWO, TWO], {}), "find_symmetry needs groups of different names: give a mapping"),
    (({}, {}), "find_symmetry needs at least one group"),
    (({"shifts": 4}, {}), "find_symmetry needs group shifts to be a group .* got 4"),
]
RATES = [
    (([1, 2, 3], [1, 2]), "shape"),
    (([1, 2, 2], [1, 2, 3]), "three distinct"),
    (([0, 1, 2], [1, 2, 3]), "x, positive and finite"),
    (([1, 2, 3], [1, -2, 3]), r"y at x=2 is -2"),
    (([1, 2, 3], [1, np.nan, 3]), "y must be finite, but entry 1 is nan"),
    (([1, 2, 3], [1, 1j, 3]), "y needs real numbers"),
    (([1, 2, 3j], [1, 2, 3]), "x needs real numbers"),
    (([1, 2, 3], np.ma.masked_greater([1, 2, 3], 2)), "y has 1 masked entries"),
]
DIGITS = np.zeros((6, 28, 28))
NAMES = np.arange(6)
FIVE_POINTS = D.Dataset(np.ones((5, 2)), np.arange(5), description="five points")
OTHERS = [
    *((partial(mean_se, bad), "at least two repetitions") for bad in (3.0, [3.0], [[1.0, 2.0]])),
    (partial(separation_report, np.abs, G.SignFlips(4), X[:1]), "two points"),
    (partial(separation_report, np.abs, G.LinearMaps([2 * np.eye(4)]), X), "unitary"),
    (partial(D.make_translated_mnist, DIGITS, NAMES, canvas=20), "do not fit"),
    (partial(D.make_translated_mnist, DIGITS, NAMES[:-1]), "labels must be 6"),
    (partial(D.make_translated_mnist, DIGITS[0], NAMES), "n, height, width"),
    (partial(D.make_rotated_mnist, DIGITS, NAMES), "n_train=12000 .* 6 images are there"),
    (partial(D.make_rotated_on_canvas, DIGITS, NAMES, canvas=28), "does not fit"),
    (partial(D.deform_images, DIGITS[0]), "an array of 3 axes"),
    *((partial(D.balanced_sample, [3, 3, 5], n), "per_class=. .* class [35] has") for n in (0, 2)),
    (partial(D.fixed_length, [np.ones(3), np.ones(0)], 6), r"recording 1 is array\(\[\]"),
    (partial(FIVE_POINTS.split, test=[5]), "row numbers below 5"),
    (partial(FIVE_POINTS.split, test=[True]), "or a mask"),
    (partial(FIVE_POINTS.split, test=[1.5]), "row numbers"),
    (partial(FIVE_POINTS.split, test=[1], train=[1, 2]), "both parts"),
    (partial(theory.cdf_products, [[3.0]], s=1.0), "within"),
    (partial(jacobian_factor, [[1.0, 1.0], [1.0, 1.0]]), "no inverse"),
]

ON_EACH = {
    "elements": (
        lambda c: c[0].act(*c[1:]),
        [(c, "elements .*got|square|finit") for c in ELEMENTS],
    ),
    "groups": (call, GROUPS),
    "coordinates": (
        lambda options: G.OnPoints(G.CyclicShifts(3), **options).act([[1, 2, 3]], P6),
        POINTS,
    ),
    "frequencies": (lambda f: G.CircleAction(f).act([0.1], np.ones((1, len(f)))), FREQUENCIES),
    **{
        kind.__name__: (kind, MATRICES)
        for kind in (G.check_coulomb, G.sort_coulomb, G.coulomb_eigenvalues, G.coulomb_triangle)
    },
    "kernels": (lambda kernel: kernel(P6), KERNELS),
    "localities": (
        lambda options: K.Locality(**({"shape": (6, 6)} | options))(np.ones((2, 36))),
        LOCAL,
    ),
    "sets": (call, SETS),
    "features": (call, FEATURES),
    "linear": (call, LINEAR),
    "cholesky": (lambda arguments: L.rls_by_cholesky(*arguments), GRAMS),
    "ridges": (lambda options: L.kernel_ridge(**NINE | options, alphas=[1.0]), RIDGES),
    "averaging": (lambda model: model.fit(SPHERE, SPHERE), AVERAGING),
    "periods": (
        lambda pair: S.SpectralAveraging(*pair, degree=4).fit(X := pair[0].sample(40), X[:, 0]),
        [(pair, r"has period [\d.]+, but the \w+ has period [\d.]+") for pair in PERIODS],
    ),
    "projections": (lambda pair: S.project(np.zeros(pair[0].n_functions_), *pair), PROJECTIONS),
    "subspaces": (lambda pair: S.invariant_subspace(*pair), SUBSPACES),
    "spectral": (call, SPECTRAL),
    "counts": (
        lambda w: S.SpectralAveraging(S.Sphere(3), cutoff="theorem").fit(SPHERE, LABELS, w),
        COUNTS,
    ),
    "symmetries": (
        lambda case: find_symmetry(L.RLSRegressor(kernel=GAUSS), case[0], P4, P4[:, 0], **case[1]),
        SYMMETRIES,
    ),
    "rates": (lambda arguments: fit_rate(*arguments), RATES),
    "others": (call, OTHERS),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ON_EACH)
def test_refused_values_are_named(name):
    refused(*ON_EACH[name])
