"""Blank points, alone and among others: every feature map and kernel beside those of orbits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from invariance.features import (
    AngularBasis,
    BlockPCA,
    LogMel,
    OrbitFourier,
    PatchPooling,
    Scattering,
    SetFeatures,
    StructuredTemplates,
    median_gamma,
)
from invariance.groups import CyclicShifts, PlaneRotations, Translations
from invariance.kernels import (
    Average,
    BestFit,
    Gaussian,
    Hyperkernel,
    Linear,
    Locality,
    MatchingKernel,
    OverlapFit,
    Polynomial,
    SetKernel,
    TangentDistance,
    gram_report,
)

POINTS = np.random.default_rng(0).random((5, 36))
MIXED = np.concatenate([np.zeros((1, 36)), POINTS, np.zeros((1, 36))])
BLANK = MIXED[:1]


@pytest.mark.parametrize(
    "kernel",
    [
        Locality((6, 6), 3),
        Locality((6, 6), 3, powers=(3, 2, 2), storage="last"),
        Locality((6, 6), 3, powers=(2, 2, 2)),
        Hyperkernel(Average(Gaussian(0.1), CyclicShifts(36)), 2.0),
        Hyperkernel(Linear()),
        *(OverlapFit(b, Translations(36, max_shift=2), scale=s) for b, s in
          ((Gaussian(0.1), "size"), (Linear(), "norm"), (Polynomial(3), "standard"))),
        SetKernel(Gaussian(0.5), n_coordinates=2),
        SetKernel(Gaussian(0.5), n_coordinates=2, normalize=True),
        MatchingKernel(Gaussian(0.5), n_coordinates=2),
        Average(Hyperkernel(SetKernel(Gaussian(0.5), n_coordinates=2)), PlaneRotations(4)),
        BestFit(MatchingKernel(Gaussian(0.5), n_coordinates=2), PlaneRotations(4)),
        *(TangentDistance((6, 6), side=side) for side in ("both", "first", "second")),
    ],
    ids=repr,
)  # fmt: skip
def test_kernels_of_blank_points(kernel):
    whole = kernel(MIXED, MIXED)
    assert np.isfinite(whole).all()
    for rows in (slice(0, 1), slice(1, None), slice(3, 4)):
        for columns in (slice(0, 1), slice(1, None), slice(3, 4)):
            part = kernel(MIXED[rows], MIXED[columns])
            assert_allclose(part, whole[rows, columns], atol=1e-6)
    assert_allclose(kernel(BLANK), whole[:1, :1], atol=1e-6)
    assert_allclose(kernel(MIXED), whole, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        AngularBasis((6, 6)),
        BlockPCA(6, 2),
        LogMel(frame=16, hop=8),
        PatchPooling(OrbitFourier(n_components=4, random_state=0), (6, 6), size=3, random_state=0),
        Scattering((6, 6), n_scales=1),
        SetFeatures(OrbitFourier(n_components=4, random_state=0), n_coordinates=2),
    ],
    ids=repr,
)
def test_features_of_blank_points(model):
    whole = model.fit(MIXED).transform(MIXED)
    assert np.isfinite(whole).all()
    assert_allclose(model.transform(BLANK), whole[:1])
    assert_allclose(model.transform(MIXED[3:4]), whole[3:4])
    assert np.isfinite(model.fit(BLANK).transform(MIXED)).all()


def test_blank_points_in_functions():
    assert median_gamma(np.zeros((4, 3))) == median_gamma(np.zeros((1, 3))) == 1.0
    assert not StructuredTemplates(3, 4, gamma=1.0, random_state=0).products(np.zeros((1, 4))).any()
    assert gram_report(np.zeros((1, 1))).definite_up_to == 0
