"""Blank points: rows of zeros alone and among others, on both sides, equal to the definition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessRegressor

from invariance.features import GroupCDF, MaxFilter, OrbitFourier, OrbitNystroem
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
from invariance.kernels import CDF, Average, BestFit, Gaussian, Laplacian, Locality

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
    for X in BLANK:
        for one, two in ((X, FULL), (FULL, X), (X, X)):
            values, weights = every(base, group, one, two)
            expected = np.tensordot(weights, values, 1), values.max(axis=0)
            kernels = Average(base, group, side="second"), BestFit(base, group)
            for kernel, found in zip(kernels, expected, strict=True):
                assert_allclose(kernel(one, two), found, rtol=1e-7, atol=1e-12)
                assert np.isfinite(kernel(X)).all()
                if type(base) is Laplacian:
                    continue
                tensors = torch.from_numpy(one), torch.from_numpy(two)
                assert_allclose(kernel(*tensors), found, rtol=1e-6, atol=1e-7)
            gradient = Average(base, group)(one, eval_gradient=True)[1]
            assert np.isfinite(gradient).all()


KINDS = [GroupCDF, MaxFilter, OrbitFourier, OrbitNystroem]


@pytest.mark.parametrize("i", range(1 + len(GROUPS)))
def test_features_of_blank_points(i):
    group, kind = [None, *GROUPS][i], KINDS[i % 4]
    model = kind(group, 3, random_state=0).fit(FULL)
    both = model.transform(np.vstack([FULL, np.zeros((2, 4))]))
    assert_allclose(model.transform(np.zeros((1, 4))), both[3:4], rtol=1e-10, atol=1e-12)
    assert_allclose(both[:3], model.transform(FULL), rtol=1e-9, atol=1e-12)
    assert np.isfinite(kind(group, 2, random_state=0).fit_transform(np.zeros((2, 4)))).all()


@pytest.mark.parametrize("side", ["first", "second"])
def test_blank_images_of_a_locality_kernel(side):
    base, group = Locality((4, 4), 3), Translations((4, 4), max_shift=1)
    X, Z = np.zeros((2, 16)), np.random.default_rng(0).random((3, 16))
    for one, two in ((X, Z), (Z, X), (X, X)):
        first, second = (one, two) if side == "second" else (two, one)
        found = BestFit(base, group, side=side)(one, two)
        expected = every(base, group, first, second)[0].max(axis=0)
        assert_allclose(found, expected if side == "second" else expected.T, rtol=1e-9)


def test_gradients_pass_through_blank_tensors():
    torch = pytest.importorskip("torch")
    for group in (Negation(), Permutations(3), Rotations((2, 2), degrees=[0, 30])):
        d = group.n_features or 4
        X = torch.zeros((2, d), dtype=torch.float64, requires_grad=True)
        Average(Gaussian(0.3), group, side="second")(
            X, torch.ones((3, d)).double()
        ).sum().backward()
        assert torch.isfinite(X.grad).all()


def test_a_gaussian_process_on_columns_of_zeros():
    X = np.zeros((6, 4))
    kernel = Average(Gaussian(0.1), GeneratedPermutations([[1, 2, 3, 0]]))
    model = GaussianProcessRegressor(kernel, alpha=0.1, optimizer=None).fit(X, np.arange(6.0))
    assert_allclose(model.predict(X), np.full(6, 2.5 * 6 / 6.1), rtol=1e-6)
