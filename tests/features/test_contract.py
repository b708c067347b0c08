"""The contract of every feature map: fitted copies, finite features, a bound on memory."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.decomposition import PCA

from invariance import beyond
from invariance import features as F
from invariance.core.parameters import ParameterError
from invariance.groups import CircleAction, CyclicShifts, Translations, VonMises
from invariance.kernels import BestFit, Gaussian, GramTransformer, Linear, Polynomial

X = np.random.default_rng(0).standard_normal((20, 16))
SHIFTS = CyclicShifts(16)
ORBITS = [F.GroupCDF, beyond.MaxFilter, beyond.SortedCoorbits, F.OrbitFourier, F.OrbitNystroem]

#: Estimators, each with parameters that would change its features.
CHANGES = {
    "GroupCDF": (
        F.GroupCDF(SHIFTS, 5, n_bins=4, random_state=0),
        {"n_bins": 9, "rejection": "zero", "n_components": 3, "s": 0.1, "group": None},
    ),
    "OrbitFourier": (
        F.OrbitFourier(SHIFTS, 5, random_state=0),
        {"form": "cos_sin", "n_components": 3, "gamma": 9.0, "side": "first", "group": None},
    ),
    "OrbitNystroem": (
        F.OrbitNystroem(SHIFTS, 5, kernel=Gaussian(0.1), random_state=0),
        {"n_components": 3, "kernel": Linear(), "rcond": 0.5, "side": "first", "group": None},
    ),
    "GramTransformer": (
        GramTransformer(BestFit(Polynomial(4), Translations((4, 4), shifts=[[0, 0], [0, 1]]))),
        {"repair": None, "kernel__base__degree": 1},
    ),
    "MaxFilter": (beyond.MaxFilter(SHIFTS, 5, random_state=0), {"n_components": 3, "group": None}),
    "SortedCoorbits": (
        beyond.SortedCoorbits(SHIFTS, 5, random_state=0),
        {"n_components": 3, "n_ranks": 2, "group": None},
    ),
    "AngularBasis": (F.AngularBasis((4, 4)), {"shape": (1, 16), "concentration": 0.9}),
    "LogMel": (beyond.LogMel(), {"hop": 7, "frame": 31, "n_bands": 3}),
    "PatchPooling": (
        beyond.PatchPooling(PCA(2), (4, 4), size=2, random_state=0),
        {"stride": 2, "grid": 2, "size": 1, "features": None, "shape": (2, 8)},
    ),
    "Scattering": (beyond.Scattering((4, 4), orientations=2), {"n_scales": 1, "shape": (2, 8)}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_set_params_after_fit_has_no_effect_before_the_next_fit(name):
    estimator, changes = CHANGES[name]
    model = clone(estimator).fit(X)
    before = model.transform(X)
    assert_array_equal(model.set_params(**changes).transform(X), before)
    after = model.fit(X).transform(X)
    assert after.shape != before.shape or not np.allclose(after, before)


@pytest.mark.parametrize("kind", ORBITS)
def test_changing_the_group_or_kernel_after_fit_has_no_effect(kind):
    group = CircleAction([1, 1, 2, 2], VonMises(0.7), n_nodes=8)
    parameters = {"kernel": Gaussian(0.1)} if kind is F.OrbitNystroem else {}
    model = kind(group, 5, n_transforms=6, random_state=0, **parameters).fit(X[:, :4])
    before = model.transform(X[:, :4])
    changes = {"group__frequencies": [3, 3, 0, 0], "group__density__kappa": 9.0}
    model.set_params(**changes, **{f"{name}__gamma": 7.0 for name in parameters})
    assert_array_equal(model.transform(X[:, :4]), before)


@pytest.mark.parametrize("kind", ORBITS)
@pytest.mark.parametrize(("dtype", "size"), [(np.float64, 1e200), (np.float32, 1e30)])
def test_points_whose_squares_overflow_are_refused(kind, dtype, size):
    large = (X * size).astype(dtype)
    message = rf"{kind.__name__}: X has entries as large as \d.* overflow in {dtype.__name__}"
    with pytest.raises(ValueError, match=message):
        kind(SHIFTS, 5, random_state=0).fit(large)
    model = kind(SHIFTS, 5, random_state=0).fit(X.astype(dtype))
    with pytest.raises(ValueError, match=message):
        model.transform(large)
    # Just below the limit the features are finite.
    assert np.isfinite(model.transform((X * size**0.55).astype(dtype))).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("s", [5e-324, 1e-300, 1e-38, 1e300])
def test_thresholds_of_any_width_give_no_nan(dtype, s):
    try:
        Z = F.GroupCDF(SHIFTS, 5, s=s, random_state=0).fit_transform(X.astype(dtype))
    except ParameterError as error:
        assert f"s={s}" in str(error) or ("s to be" in str(error) and f"got {s}" in str(error))
    else:
        assert np.isfinite(Z).all()


@pytest.mark.parametrize(
    "offset, error", [(0.0, 1e-4), (100.0, 1e-3), (1000.0, 1e-3)], ids="near far further".split()
)
@pytest.mark.parametrize(
    "group", [None, SHIFTS, CircleAction([0] * 8 + [1] * 4 + [2] * 4, n_nodes=8)], ids=repr
)
def test_single_precision_is_accurate_far_from_the_origin(offset, error, group):
    """The distance |x - z|^2 cancels far from the origin; gamma (1000)^2 does not."""
    transformed = (X + offset * (np.arange(16) < 8)).astype(np.float32)
    landmarks = transformed.copy()
    single = F.OrbitNystroem(group, 20, gamma=0.05, landmarks=landmarks, rcond=1e-3).fit(
        transformed
    )
    double = F.OrbitNystroem(group, 20, gamma=0.05, landmarks=landmarks, rcond=1e-3)
    double.fit(transformed.astype(np.float64))
    assert single.rank_ == double.rank_
    Z = single.transform(transformed)
    exact = double.transform(transformed.astype(np.float64))
    assert_allclose(Z @ Z.T, exact @ exact.T, atol=error)


#: Tolerances for float32 features, or for their Gram matrix if the basis may rotate.
SINGLE = {
    F.GroupCDF: None,
    beyond.MaxFilter: 1e-5,
    beyond.SortedCoorbits: 1e-6,
    F.OrbitFourier: 2e-6,
    F.OrbitNystroem: 1e-3,
}


@pytest.mark.parametrize("kind", ORBITS)
def test_features_do_not_depend_on_threads_and_single_precision_is_close(kind):
    points = np.random.default_rng(0).standard_normal((300, 6))
    model = kind(CyclicShifts(6), 70, random_state=3)
    if "gamma" in model.get_params():
        model.set_params(gamma=0.1, n_components=20 if kind is F.OrbitNystroem else 70)
    Z = model.fit_transform(points)
    assert_array_equal(clone(model).set_params(n_jobs=2).fit_transform(points), Z)
    single = clone(model).fit(points.astype(np.float32)).transform(points.astype(np.float32))
    assert single.dtype == np.float32
    if kind is F.OrbitNystroem:
        single = single @ single.T
        Z = Z @ Z.T
    if SINGLE[kind]:
        assert_allclose(single, Z, atol=SINGLE[kind])
    else:  # Only projections within rounding of a threshold may be counted differently.
        assert np.mean(np.abs(single - Z) > 1e-6) < 1e-4


def test_the_median_bandwidth_uses_the_distances_of_all_pairs():
    normal = np.random.default_rng(0).standard_normal((300, 5))
    far = np.r_[normal[:200], 1e8 + normal[200:]]
    single = normal.astype(np.float32) + np.float32(1000)
    few = np.repeat(normal[:2], [90, 10], 0)
    for points in (normal, single, far, few):
        pairs = points.astype(float)[:, None] - points.astype(float)[None]
        for kernel, distances in (("gaussian", 2 * np.square(pairs)), ("laplacian", np.abs(pairs))):
            median = np.median(distances.sum(axis=2)[np.triu_indices(len(points), 1)])
            expected = 1 / median if median else 1.0
            assert_allclose(F.median_gamma(points, kernel), expected, rtol=1e-12)
            model = F.OrbitFourier(None, 3, kernel=kernel, random_state=0).fit(points)
            assert model.gamma_ == F.median_gamma(points, kernel)


@pytest.mark.parametrize("kind", ORBITS)
def test_explain_names_the_method_for_the_group(kind):
    plan = kind(SHIFTS, 5, random_state=0).fit(X).explain(X)
    assert plan.way and plan.operations > 0 and plan.seconds > 0 and plan.n_bytes >= 0
    if kind is beyond.SortedCoorbits:  # It takes no nodes.
        return
    circle = CircleAction([1] * 8 + [2] * 8, n_nodes=64)
    many = np.tile(X, (15, 1))
    assert kind(circle, 50, random_state=0).fit(many).explain(many).way == "circle"


@pytest.mark.parametrize("n", [2, 3, 4, 50])
@pytest.mark.parametrize("d", [1, 700, 3000])
def test_the_median_bandwidth_is_exact_for_ties_outliers_and_wide_points(n, d):
    rng = np.random.default_rng(n + d)
    spread = rng.standard_normal((n, d))
    clusters = np.concatenate([spread, 1e8 + spread])
    tied = rng.integers(0, 2, (2 * n, d)).astype(float)
    for points in (spread, 1e-60 * spread, rng.standard_cauchy((n, d)), clusters, tied):
        median = np.median(pdist(points, "sqeuclidean"))
        expected = 1 / (2 * median) if median else 1.0
        assert_allclose(F.median_gamma(points), expected, rtol=1e-12)
