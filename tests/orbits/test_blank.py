"""Blank points: rows of zeros alone and among others, on both sides, equal to the definition."""

from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor

from invariance import beyond
from invariance import features as F
from invariance import groups as G
from invariance import kernels as K

GROUPS = [
    G.GeneratedPermutations([[1, 2, 3, 0]]),
    G.Permutations(4),
    G.Permutations(2, block=2),
    G.SignFlips(4),
    G.Negation(),
    G.CyclicShifts(4),
    G.CyclicShifts(2, block=2),
    G.CyclicShifts(2, block=2).then(G.Negation()),
    G.Translations((2, 2), max_shift=1, boundary="zero"),
    G.Rotations((2, 2), degrees=[0, 30]),
    G.Rotations((2, 2), degrees=[0, 90, 180, 270]),
    G.CircleAction([0, 0, 1, 1], n_nodes=8),
    beyond.PlaneRotations(8),
    G.TorusTranslations([4, 1, 1, 1]),
]
BASES = [K.Gaussian(0.1), K.Laplacian(0.2), K.CDF(0.2, 4.0)]
POINTS = np.random.default_rng(0).random((5, 36))
FULL = np.random.default_rng(0).standard_normal((3, 4))
BLANK = [np.zeros((1, 4)), np.vstack([np.zeros((2, 4)), FULL])]


def every(base, group, X, Z):
    elements, weights = group.quadrature()
    moved = [m.reshape(len(Z), -1) for m in group.act(elements, Z)]
    return np.array([base(X, m) for m in moved]), weights


@pytest.mark.filterwarnings("ignore:.*nodes leave a relative error:UserWarning")
@pytest.mark.parametrize("i", range(len(GROUPS)))
def test_kernels_of_blank_points_are_those_of_the_definition(i):
    group, base = GROUPS[i], BASES[i % 3]
    for one, two in [pair for X in BLANK for pair in ((X, FULL), (FULL, X), (X, X))]:
        values, weights = every(base, group, one, two)
        expected = np.tensordot(weights, values, 1), values.max(axis=0)
        kernels = K.Average(base, group, side="second"), K.BestFit(base, group)
        for kernel, found in zip(kernels, expected, strict=True):
            assert_allclose(kernel(one, two), found, rtol=1e-7, atol=1e-12)
            assert np.isfinite(kernel(one)).all()
            if type(base) is not K.Laplacian and find_spec("torch"):
                tensors = map(import_module("torch").from_numpy, (one, two))
                assert_allclose(kernel(*tensors), found, rtol=1e-6, atol=1e-7)
        assert np.isfinite(K.Average(base, group)(one, eval_gradient=True)[1]).all()


@pytest.mark.parametrize("degrees", [[0, 90, 180, 270], [0, 45, 90, 135, 180, 225, 270, 315]])
@pytest.mark.parametrize(
    "base",
    [
        K.Gaussian(0.1),
        K.Linear(),
        K.Polynomial(2),
        K.CDF(0.2, 4.0),
        K.Laplacian(0.2),
        K.Locality((3, 3), 3, powers=(2, 2)),
    ],
    ids=repr,
)
def test_blank_images_meet_quarter_turns(base, degrees):
    """No pixel of them can be seen, nor, alone with its neighbours, one at the edge."""
    group = G.Rotations((3, 3), degrees=degrees)
    images = np.random.default_rng(0).random((2, 9))
    edge = np.eye(9)[:1]
    for one in (np.zeros((1, 9)), np.zeros((3, 9)), edge):
        for two in (images, np.zeros((2, 9)), edge):
            values, weights = every(base, group, one, two)
            mean = K.Average(base, group, side="second")(one, two)
            assert_allclose(mean, np.tensordot(weights, values, 1), rtol=1e-9, atol=1e-12)
            for kernel in (K.BestFit(base, group), K.BestFit(base, group, method="definition")):
                assert_allclose(kernel(one, two), values.max(axis=0), rtol=1e-9, atol=1e-7)


#: Feature maps of points (n, 4), and others of points (n, 36).
MODELS = [
    *(
        [F.GroupCDF, beyond.MaxFilter, F.OrbitFourier, F.OrbitNystroem][i % 4](
            group, 3, random_state=0
        )
        for i, group in enumerate([None, *GROUPS])
    ),
    F.AngularBasis((6, 6)),
    beyond.LogMel(frame=16, hop=8),
    beyond.PatchPooling(
        F.OrbitFourier(n_components=4, random_state=0), (6, 6), size=3, random_state=0
    ),
    beyond.Scattering((6, 6), n_scales=1),
    beyond.SetFeatures(F.OrbitFourier(n_components=4, random_state=0), n_coordinates=2),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:OrbitNystroem. n_components")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: " ".join(repr(model).split()))
def test_features_of_blank_points(model):
    points = FULL if hasattr(model, "group") else POINTS
    mixed = np.vstack([points[:2], 0 * points[:2], points[2:]])
    whole = clone(model).fit(points).transform(mixed)
    fitted = clone(model).fit(points)
    for rows in (slice(0, 2), slice(2, 3), slice(2, 4), slice(4, None)):
        assert_allclose(fitted.transform(mixed[rows]), whole[rows], rtol=1e-9, atol=1e-12)
    for blank in (0 * points[:2], mixed):
        assert np.isfinite(clone(model).fit(blank).transform(mixed)).all()


@pytest.mark.parametrize(
    "kernel",
    [
        K.Locality((6, 6), 3),
        K.Locality((6, 6), 3, powers=(3, 2, 2), storage="last"),
        K.Locality((6, 6), 3, powers=(2, 2, 2)),
        K.Hyperkernel(K.Average(K.Gaussian(0.1), G.CyclicShifts(36)), 2.0),
        K.Hyperkernel(K.Linear()),
        beyond.OverlapFit(K.Gaussian(0.1), G.Translations(36, max_shift=2)),
        beyond.OverlapFit(K.Polynomial(3), G.Translations(36, max_shift=2), scale="standard"),
        beyond.SetKernel(K.Gaussian(0.5), n_coordinates=2),
        beyond.SetKernel(K.Gaussian(0.5), n_coordinates=2, normalize=True),
        beyond.MatchingKernel(K.Gaussian(0.5), n_coordinates=2),
        beyond.REMatchKernel(K.Gaussian(0.5), n_coordinates=2),
        K.Average(
            K.Hyperkernel(beyond.SetKernel(K.Gaussian(0.5), n_coordinates=2)),
            beyond.PlaneRotations(4),
        ),
        K.BestFit(
            beyond.MatchingKernel(K.Gaussian(0.5), n_coordinates=2), beyond.PlaneRotations(4)
        ),
        beyond.TangentDistance((6, 6)),
    ],
    ids=repr,
)
def test_other_kernels_of_blank_points(kernel):
    mixed = np.concatenate([np.zeros((1, 36)), POINTS, np.zeros((1, 36))])
    whole = kernel(mixed, mixed)
    assert np.isfinite(whole).all()
    for rows in (slice(0, 1), slice(1, None), slice(3, 4)):
        for columns in (slice(0, 1), slice(1, None), slice(3, 4)):
            assert_allclose(kernel(mixed[rows], mixed[columns]), whole[rows, columns], atol=1e-6)
    assert_allclose(kernel(mixed[:1]), whole[:1, :1], atol=1e-6)
    assert_allclose(kernel(mixed), whole, rtol=1e-5, atol=1e-6)


def test_gradients_pass_through_blank_tensors_and_a_gaussian_process_takes_columns_of_zeros():
    torch = pytest.importorskip("torch")
    for group in (G.Negation(), G.Permutations(3), G.Rotations((2, 2), degrees=[0, 30])):
        d = group.n_features or 4
        X = torch.zeros((2, d), dtype=torch.float64, requires_grad=True)
        kernel = K.Average(K.Gaussian(0.3), group, side="second")
        kernel(X, torch.ones((3, d)).double()).sum().backward()
        assert torch.isfinite(X.grad).all()
    X, kernel = np.zeros((6, 4)), K.Average(K.Gaussian(0.1), GROUPS[0])
    model = GaussianProcessRegressor(kernel, alpha=0.1, optimizer=None).fit(X, np.arange(6.0))
    assert_allclose(model.predict(X), np.full(6, 2.5 * 6 / 6.1), rtol=1e-6)
