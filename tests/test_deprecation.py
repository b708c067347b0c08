"""Old spellings work for one release, mean the same, and say what to write instead."""

import warnings

import numpy as np
import pytest

import invariance.kernels as kernels
from invariance.features import GroupCDF, OrbitFourier, OrbitNystroem, Scattering
from invariance.groups import Affine, CyclicShifts, Projected, Scalings, VonMises
from invariance.kernels import Average, Gaussian, Locality, Polynomial, TangentDistance
from invariance.linear import BlockRidgeClassifier, RLSClassifier, RLSRegressor
from invariance.spectral import SpectralAveraging, Torus

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (12, 4))
IMAGES = RNG.random((5, 64))
Y = np.arange(12) % 2
SHIFTS = CyclicShifts(4)
BASE = Gaussian(0.5)


def gram(kernel):
    return kernel(X)


def of_images(kernel):
    return kernel(IMAGES)


def features(made):
    return made.fit(X).transform(X)


def features_of_images(made):
    return made.fit(IMAGES).transform(IMAGES)


def decisions(model):
    return model.fit(X, Y).decision_function(X)


def predictions(model):
    return model.fit(X, X[:, 0]).predict(X)


def elements(group):
    return group.sample(3, random_state=0)


#: By what is to be written: the old spelling, the new one, and what both are to agree on.
SPELLINGS = {
    "RLSClassifier(alphas=...)": (
        lambda: RLSClassifier(lambdas=[0.1, 1.0]),
        lambda: RLSClassifier(alphas=[0.1, 1.0]),
        decisions,
    ),
    "RLSRegressor(alphas=...)": (
        lambda: RLSRegressor(lambdas=[0.1, 1.0]),
        lambda: RLSRegressor(alphas=[0.1, 1.0]),
        predictions,
    ),
    "BlockRidgeClassifier(alpha=...)": (
        lambda: BlockRidgeClassifier(lam=0.1),
        lambda: BlockRidgeClassifier(alpha=0.1),
        decisions,
    ),
    "SpectralAveraging(alphas=...)": (
        lambda: SpectralAveraging(Torus(4, degree=1), estimator="ridge", penalties=[0.1]),
        lambda: SpectralAveraging(Torus(4, degree=1), estimator="ridge", alphas=[0.1]),
        predictions,
    ),
    "Polynomial(gamma=...)": (
        lambda: Polynomial(2, scale=0.3),
        lambda: Polynomial(2, gamma=0.3),
        gram,
    ),
    "Polynomial(coef0=...)": (
        lambda: Polynomial(2, constant=0.3),
        lambda: Polynomial(2, coef0=0.3),
        gram,
    ),
    "Average(side=...)": (
        lambda: Average(BASE, SHIFTS, sides="both"),
        lambda: Average(BASE, SHIFTS, side="both"),
        gram,
    ),
    "Average(base, group)": (
        lambda: kernels.CircleAverage(BASE, SHIFTS),
        lambda: Average(BASE, SHIFTS),
        gram,
    ),
    "Average(base, group, n_transforms=..., statistic=...)": (
        lambda: kernels.EmpiricalAverage(BASE, SHIFTS, n_transforms=3, statistic="U"),
        lambda: Average(BASE, SHIFTS, n_transforms=3, statistic="U", random_state=0),
        gram,
    ),
    "TangentDistance(side=...)": (
        lambda: TangentDistance(shape=(8, 8), sides="both"),
        lambda: TangentDistance(shape=(8, 8), side="both"),
        of_images,
    ),
    "Locality(powers=...)": (
        lambda: Locality((2, 2), window=1, degrees=(2, 1)),
        lambda: Locality((2, 2), window=1, powers=(2, 1)),
        gram,
    ),
    "Locality(gammas=...)": (
        lambda: Locality((2, 2), window=1, scales=(0.5, 0.2)),
        lambda: Locality((2, 2), window=1, gammas=(0.5, 0.2)),
        gram,
    ),
    "GroupCDF(n_components=...)": (
        lambda: GroupCDF(SHIFTS, n_templates=3, random_state=0),
        lambda: GroupCDF(SHIFTS, n_components=3, random_state=0),
        features,
    ),
    "OrbitFourier(side='second')": (
        lambda: OrbitFourier(SHIFTS, n_components=3, side="templates", random_state=0),
        lambda: OrbitFourier(SHIFTS, n_components=3, side="second", random_state=0),
        features,
    ),
    "OrbitFourier(side='first')": (
        lambda: OrbitFourier(SHIFTS, n_components=3, side="points", random_state=0),
        lambda: OrbitFourier(SHIFTS, n_components=3, side="first", random_state=0),
        features,
    ),
    "OrbitNystroem(side='second')": (
        lambda: OrbitNystroem(
            SHIFTS, kernel=BASE, n_components=3, side="templates", random_state=0
        ),
        lambda: OrbitNystroem(SHIFTS, kernel=BASE, n_components=3, side="second", random_state=0),
        features,
    ),
    "Scattering(n_scales=...)": (
        lambda: Scattering((8, 8), scales=1),
        lambda: Scattering((8, 8), n_scales=1),
        features_of_images,
    ),
    "Scalings(factors=...)": (
        lambda: Scalings((8, 8), scales=[0.5, 1.0]),
        lambda: Scalings((8, 8), factors=[0.5, 1.0]),
        elements,
    ),
    "Affine(scaling=...)": (
        lambda: Affine((8, 8), scale=VonMises(2.0)),
        lambda: Affine((8, 8), scaling=VonMises(2.0)),
        elements,
    ),
    "Projected(group=...)": (
        lambda: Projected(transformations=SHIFTS, components=np.eye(4)[:2]),
        lambda: Projected(group=SHIFTS, components=np.eye(4)[:2]),
        elements,
    ),
}


@pytest.mark.parametrize("write", SPELLINGS)
def test_an_old_spelling_means_the_new_one(write):
    old, new, result = SPELLINGS[write]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = result(old())
    said = [str(w.message) for w in caught if w.category is FutureWarning]
    assert said and all(message.endswith(f"write {write}") for message in said), said
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        np.testing.assert_array_equal(found, result(new()))


@pytest.mark.parametrize("model", [RLSClassifier([0.1, 1.0]), RLSRegressor([0.1, 1.0])])
def test_old_fitted_attributes(model):
    model.fit(X, Y)
    with pytest.warns(FutureWarning, match=r"write alpha_$"):
        assert model.lambda_ == model.alpha_
    with pytest.warns(FutureWarning, match=r"write alphas_$"):
        assert model.lambdas_ is model.alphas_


def test_both_spellings_at_once_are_refused():
    with pytest.raises(TypeError, match="both alpha and lam"):
        BlockRidgeClassifier(alpha=0.1, lam=0.1)
