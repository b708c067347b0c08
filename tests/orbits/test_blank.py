"""Blank points: rows of zeros alone and among others, on both sides, equal to the definition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor

from invariance.features import (
    AngularBasis,
    BlockPCA,
    GroupCDF,
    LogMel,
    MaxFilter,
    OrbitFourier,
    OrbitNystroem,
    PatchPooling,
    Scattering,
    SetFeatures,
)
from invariance.groups import (
    CircleAction,
    CyclicShifts,
    GeneratedPermutations,
    Negation,
    Permutations,
    PlaneRotations,
    Rotations,
    SignFlips,
    TorusTranslations,
    Translations,
)
from invariance.kernels import (
    CDF,
    Average,
    BestFit,
    Gaussian,
    Hyperkernel,
    Laplacian,
    Linear,
    Locality,
    MatchingKernel,
    OverlapFit,
    Polynomial,
    SetKernel,
    TangentDistance,
)

GROUPS = [
    GeneratedPermutations([[1, 2, 3, 0]]),
    Permutations(4),
    Permutations(2, block=2),
    SignFlips(4),
    Negation(),
    CyclicShifts(4),
    CyclicShifts(2, block=2),
    CyclicShifts(2, block=2).then(Negation()),
    Translations((2, 2), max_shift=1, boundary="zero"),
    Rotations((2, 2), degrees=[0, 30]),
    Rotations((2, 2), degrees=[0, 90, 180, 270]),
    CircleAction([0, 0, 1, 1], n_nodes=8),
    PlaneRotations(8),
    TorusTranslations([4, 1, 1, 1]),
]
BASES = [Gaussian(0.1), Laplacian(0.2), CDF(0.2, 4.0)]
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
    torch = pytest.importorskip("torch")
    for one, two in [pair for X in BLANK for pair in ((X, FULL), (FULL, X), (X, X))]:
        values, weights = every(base, group, one, two)
        expected = np.tensordot(weights, values, 1), values.max(axis=0)
        kernels = Average(base, group, side="second"), BestFit(base, group)
        for kernel, found in zip(kernels, expected, strict=True):
            assert_allclose(kernel(one, two), found, rtol=1e-7, atol=1e-12)
            assert np.isfinite(kernel(one)).all()
            if type(base) is not Laplacian:
                tensors = torch.from_numpy(one), torch.from_numpy(two)
                assert_allclose(kernel(*tensors), found, rtol=1e-6, atol=1e-7)
        assert np.isfinite(Average(base, group)(one, eval_gradient=True)[1]).all()


#: Feature maps of points (n, 4), and others of points (n, 36).
MODELS = [
    *([GroupCDF, MaxFilter, OrbitFourier, OrbitNystroem][i % 4](group, 3, random_state=0)
      for i, group in enumerate([None, *GROUPS])),
    AngularBasis((6, 6)),
    BlockPCA(6, 2),
    LogMel(frame=16, hop=8),
    PatchPooling(OrbitFourier(n_components=4, random_state=0), (6, 6), size=3, random_state=0),
    Scattering((6, 6), n_scales=1),
    SetFeatures(OrbitFourier(n_components=4, random_state=0), n_coordinates=2),
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
        Locality((6, 6), 3),
        Locality((6, 6), 3, powers=(3, 2, 2), storage="last"),
        Locality((6, 6), 3, powers=(2, 2, 2)),
        Hyperkernel(Average(Gaussian(0.1), CyclicShifts(36)), 2.0),
        Hyperkernel(Linear()),
        OverlapFit(Gaussian(0.1), Translations(36, max_shift=2)),
        OverlapFit(Polynomial(3), Translations(36, max_shift=2), scale="standard"),
        SetKernel(Gaussian(0.5), n_coordinates=2),
        SetKernel(Gaussian(0.5), n_coordinates=2, normalize=True),
        MatchingKernel(Gaussian(0.5), n_coordinates=2),
        Average(Hyperkernel(SetKernel(Gaussian(0.5), n_coordinates=2)), PlaneRotations(4)),
        BestFit(MatchingKernel(Gaussian(0.5), n_coordinates=2), PlaneRotations(4)),
        *(TangentDistance((6, 6), side=side) for side in ("both", "first", "second")),
    ],
    ids=repr,
)
def test_other_kernels_of_blank_points(kernel):
    mixed = np.concatenate([np.zeros((1, 36)), POINTS, np.zeros((1, 36))])
    whole = kernel(mixed, mixed)
    assert np.isfinite(whole).all()
    for rows in (slice(0, 1), slice(1, None), slice(3, 4)):
        for columns in (slice(0, 1), slice(1, None), slice(3, 4)):
            part = kernel(mixed[rows], mixed[columns])
            assert_allclose(part, whole[rows, columns], atol=1e-6)
    assert_allclose(kernel(mixed[:1]), whole[:1, :1], atol=1e-6)
    assert_allclose(kernel(mixed), whole, rtol=1e-5, atol=1e-6)


def test_gradients_pass_through_blank_tensors_and_a_gaussian_process_takes_columns_of_zeros():
    torch = pytest.importorskip("torch")
    for group in (Negation(), Permutations(3), Rotations((2, 2), degrees=[0, 30])):
        d = group.n_features or 4
        X = torch.zeros((2, d), dtype=torch.float64, requires_grad=True)
        kernel = Average(Gaussian(0.3), group, side="second")
        kernel(X, torch.ones((3, d)).double()).sum().backward()
        assert torch.isfinite(X.grad).all()
    X, kernel = np.zeros((6, 4)), Average(Gaussian(0.1), GeneratedPermutations([[1, 2, 3, 0]]))
    model = GaussianProcessRegressor(kernel, alpha=0.1, optimizer=None).fit(X, np.arange(6.0))
    assert_allclose(model.predict(X), np.full(6, 2.5 * 6 / 6.1), rtol=1e-6)
