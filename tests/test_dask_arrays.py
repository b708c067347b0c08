"""Dask arrays: feature maps and kernels stay lazy, and block by block equal NumPy's results."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import config_context
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError

from invariance import beyond
from invariance import features as F
from invariance import groups as G
from invariance import kernels as K
from invariance.core.parallel import by_rows
from invariance.core.parameters import ParameterError
from invariance.features.feature_map import FeatureMap
from invariance.linear import BlockRidgeClassifier, RLSClassifier

da = pytest.importorskip("dask.array", reason="dask is not installed")
import dask  # noqa: E402

#: Largest relative difference: only the number of rows of a matrix product differs.
SAME = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-12}

POINTS = np.random.default_rng(0).standard_normal((23, 64))
SHIFTS = G.CyclicShifts(64)
SETTINGS = {"gamma": 0.1, "random_state": 0}
FEATURES = {
    "AngularBasis": F.AngularBasis((8, 8)),
    "DilatedCDF": beyond.DilatedCDF(n_features=168, random_state=0),
    "GramTransformer": K.GramTransformer(
        K.Average(K.Polynomial(2, coef0=0), SHIFTS, normalize=True)
    ),
    "GroupCDF": F.GroupCDF(SHIFTS, 5, n_bins=3, random_state=0),
    "LogMel": beyond.LogMel(),
    "MaxFilter": beyond.MaxFilter(SHIFTS, 7, random_state=0),
    "SortedCoorbits": beyond.SortedCoorbits(SHIFTS, 7, random_state=0),
    "OrbitFourier": F.OrbitFourier(SHIFTS, 9, **SETTINGS),
    "OrbitFourier, nodes": F.OrbitFourier(G.CircleAction([0, 1, 1] + 61 * [0]), 9, **SETTINGS),
    "OrbitNystroem": F.OrbitNystroem(SHIFTS, 6, **SETTINGS),
    "OrbitNystroem, normalised": F.OrbitNystroem(
        None, 6, kernel=K.Average(K.Polynomial(2, coef0=0), SHIFTS, normalize=True), random_state=0
    ),
    "PatchPooling": beyond.PatchPooling(PCA(4), (8, 8), size=3, grid=2, random_state=0),
    "Scattering": beyond.Scattering((8, 8), n_scales=2),
    "SetFeatures": beyond.SetFeatures(
        F.OrbitFourier(None, 5, **SETTINGS), labelled=False, n_coordinates=4
    ),
}


def lazy(X, rows=7):
    """Return points as a Dask array with blocks of some rows."""
    return da.from_array(X, chunks=(rows, *X.shape[1:]))


def assert_same(actual, expected, coarsest=None):
    """Check values, shape and type; `coarsest` is the type of the points if it is another one."""
    assert actual.shape == expected.shape and actual.dtype == expected.dtype
    tolerance = SAME[np.dtype(coarsest or expected.dtype)] * np.abs(expected).max()
    assert_allclose(actual.compute(scheduler="sync"), expected, rtol=0, atol=tolerance)


def never(X):
    """Return an array like X whose blocks must not be computed."""

    def computed(block):
        raise AssertionError("a block was computed")

    return X.map_blocks(computed, dtype=X.dtype, meta=np.empty((0,) * X.ndim, X.dtype))


def subclasses(base):
    for derived in base.__subclasses__():
        yield derived
        yield from subclasses(derived)


def test_every_feature_map_is_compared():
    public = {name for module in (F, beyond) for name in module.__all__}
    maps = {derived.__name__ for derived in subclasses(FeatureMap)} & public
    assert maps <= {type(model).__name__ for model in FEATURES.values()}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("name", FEATURES)
def test_features_are_those_of_numpy(name, dtype):
    X = (4 * POINTS).astype(dtype)
    model = FEATURES[name].fit(X[:17])
    expected = model.transform(X)
    features = model.transform(lazy(X))
    assert isinstance(features, da.Array)
    assert features.chunks == ((7, 7, 7, 2), expected.shape[1:])
    assert_same(features, expected, coarsest=np.float32 if dtype == np.float32 else np.float64)


@pytest.mark.parametrize("name", FEATURES)
def test_nothing_is_computed_in_advance(name):
    model = FEATURES[name].fit(POINTS)
    features = model.transform(never(lazy(POINTS)))
    with pytest.raises(AssertionError, match="a block was computed"):
        features.compute(scheduler="sync")


def test_a_block_is_computed_alone():
    model = F.OrbitFourier(SHIFTS, 9, **SETTINGS).fit(POINTS)
    X = lazy(POINTS)
    blocks = da.concatenate([never(X[:14]), X[14:]])
    features = model.transform(blocks)
    assert_same(features[15:], model.transform(POINTS[15:]))


@pytest.mark.parametrize("name", ["OrbitFourier", "PatchPooling", "GramTransformer"])
def test_a_later_fit_changes_no_features(name):
    model = FEATURES[name].fit(POINTS)
    expected = model.transform(POINTS)
    features = model.transform(lazy(POINTS))
    model.fit(2 * POINTS[:10] + 1)
    assert_same(features, expected)


def test_filtered_points_have_blocks_of_unknown_size():
    model = F.OrbitFourier(SHIFTS, 9, **SETTINGS).fit(POINTS)
    kernel = K.BestFit(K.Gaussian(0.1), SHIFTS)
    X = lazy(POINTS)
    chosen = np.arange(23) > 8  # nothing is left of the first block
    filtered = X[da.from_array(chosen, chunks=7)]
    features = model.transform(filtered).compute(scheduler="sync")
    assert_allclose(features, model.transform(POINTS[chosen]), rtol=0, atol=1e-12)
    gram = kernel(filtered, POINTS).compute(scheduler="sync")
    assert_allclose(gram, kernel(POINTS[chosen], POINTS), rtol=0, atol=1e-12)


def test_sets_of_points():
    sets = POINTS.reshape(23, 16, 4)
    model = beyond.SetFeatures(F.OrbitFourier(None, 5, **SETTINGS), random_state=0).fit(sets)
    assert_same(model.transform(lazy(sets)), model.transform(sets))
    kernel = beyond.SetKernel(K.Gaussian(0.1))
    others = sets[:5, :9]
    assert_same(kernel(lazy(sets), lazy(others, 3)), kernel(sets, others))


KERNELS = {
    "gaussian": K.Gaussian(0.1),
    "sum": K.Gaussian(0.1) + K.Linear() * K.Polynomial(2),
    "average": K.Average(K.Gaussian(0.1), SHIFTS),
    "average, normalised": K.Average(K.Polynomial(2, coef0=0), SHIFTS, normalize=True),
    "best fit": K.BestFit(K.Linear(), SHIFTS),
    "best fit, locality": K.BestFit(K.Locality((8, 8), 3, powers=(2, 2)), G.Negation()),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", KERNELS)
def test_kernel_matrices_are_those_of_numpy(name, dtype):
    kernel = KERNELS[name]
    X = POINTS.astype(dtype)
    Y = X[:10] + 1
    gram = kernel(lazy(X))
    assert gram.chunks == (2 * ((7, 7, 7, 2),))
    assert_same(gram, kernel(X))
    assert_same(kernel(lazy(X), lazy(Y, 4)), kernel(X, Y))
    assert_same(kernel(lazy(X), Y), kernel(X, Y))
    assert_same(kernel(X, lazy(Y, 4)), kernel(X, Y))
    other = np.float64 if dtype == np.float32 else np.float32
    mixed = kernel(lazy(X), Y.astype(other))
    assert_same(mixed, kernel(X, Y.astype(other)), coarsest=np.float32)


def test_kernels_compute_nothing_in_advance_and_keep_their_parameters():
    kernel = K.Gaussian(0.1)
    expected = kernel(POINTS)
    gram = kernel(lazy(POINTS))
    later = kernel(never(lazy(POINTS)), POINTS)
    kernel.set_params(gamma=3.0)
    assert_same(gram, expected)
    with pytest.raises(AssertionError, match="a block was computed"):
        later.compute(scheduler="sync")


REMEDY = r"Dask array.*X\[:1000\]\.compute\(\)"
REFUSED = {
    "fit": (lambda X: F.OrbitFourier(SHIFTS, 9).fit(X), ParameterError, REMEDY),
    "fit of a basis": (lambda X: F.AngularBasis((8, 8)).fit(X), ParameterError, REMEDY),
    "fit_transform": (lambda X: K.GramTransformer().fit_transform(X), ParameterError, REMEDY),
    "a learner": (lambda X: RLSClassifier().fit(X, np.arange(23) % 2), ParameterError, REMEDY),
    "labels": (
        lambda X: BlockRidgeClassifier().fit(POINTS, X[:, 0] > 0),
        ParameterError,
        r"y is a Dask array.*y\.compute\(\)",
    ),
    "act": (lambda X: SHIFTS.act(SHIFTS.elements(), X), ParameterError, REMEDY),
    "diag": (lambda X: K.Gaussian(0.1).diag(X), ParameterError, REMEDY),
    "sets of a kernel": (
        lambda X: beyond.SetKernel(K.Gaussian(0.1)).diag(X.reshape(23, 16, 4)),
        ParameterError,
        REMEDY,
    ),
    "sets": (lambda X: beyond.SetFeatures().fit(X.reshape(23, 16, 4)), ParameterError, REMEDY),
    "symmetry": (
        lambda X: beyond.symmetry_test(RLSClassifier(), SHIFTS, X, np.arange(23) % 2),
        ParameterError,
        REMEDY,
    ),
    "by_rows": (lambda X: by_rows(K.Linear(), X, symmetric=True), ParameterError, REMEDY),
    "derivatives": (
        lambda X: K.Gaussian(0.1)(X, eval_gradient=True),
        ParameterError,
        REMEDY,
    ),
    "not fitted": (lambda X: F.OrbitFourier(SHIFTS, 9).transform(X), NotFittedError, "not fitted"),
    "too few features": (
        lambda X: F.OrbitFourier(SHIFTS, 9).fit(POINTS).transform(X[:, :9].rechunk(9)),
        ValueError,
        "X has 9 features, but OrbitFourier is expecting 64",
    ),
    "too few features of a kernel": (
        lambda X: K.Gaussian(0.1)(X, POINTS[:, :9]),
        ValueError,
        "Gaussian: X has 64 features and Y has 9",
    ),
    "images": (
        lambda X: F.OrbitFourier(SHIFTS, 9).fit(POINTS).transform(X.reshape(23, 8, 8)),
        ParameterError,
        r"use X\.reshape",
    ),
    "images of a kernel": (
        lambda X: K.Gaussian(0.1)(X.reshape(23, 8, 8)),
        ValueError,
        "Gaussian takes flattened points",
    ),
    "features in two chunks": (
        lambda X: F.OrbitFourier(SHIFTS, 9).fit(POINTS).transform(X.rechunk((7, 32))),
        ParameterError,
        r"OrbitFourier: X has rows in several chunks, .*X\.rechunk\(\{1: -1\}\)",
    ),
    "features in two chunks of a kernel": (
        lambda X: K.Gaussian(0.1)(POINTS, X.rechunk((7, 32))),
        ParameterError,
        r"Gaussian: Y has rows in several chunks, .*Y\.rechunk\(\{1: -1\}\)",
    ),
    "complex numbers": (lambda X: K.Gaussian(0.1)(1j * X), ValueError, "Complex data"),
    "no array": (
        lambda X: F.OrbitFourier(SHIFTS, 9).fit(POINTS).transform(dask.delayed(X)),
        ParameterError,
        r"X is a Delayed of Dask, and arrays .*X\.to_dask_array\(lengths=True\) of a data",
    ),
    "a container": (
        lambda X: F.AngularBasis((8, 8)).fit(POINTS).set_output(transform="pandas").transform(X),
        ParameterError,
        r"set_output\(transform=.pandas.\).*transform=.default.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_nothing_is_made_dense_silently(case):
    function, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        function(never(lazy(POINTS)))


def test_a_container_that_is_configured_is_refused():
    model = F.AngularBasis((8, 8)).fit(POINTS)
    with config_context(transform_output="pandas"), pytest.raises(ParameterError, match="pandas"):
        model.transform(lazy(POINTS))


def test_a_block_with_nan_is_refused_when_it_is_computed():
    X = POINTS.copy()
    X[20, 3] = np.nan
    features = F.OrbitFourier(SHIFTS, 9, **SETTINGS).fit(POINTS).transform(lazy(X))
    features[:14].compute(scheduler="sync")
    with pytest.raises(ParameterError, match="X must be finite"):
        features.compute(scheduler="sync")


def test_threads_give_the_same_numbers():
    model = F.OrbitFourier(SHIFTS, 9, **SETTINGS).fit(POINTS)
    kernel = K.BestFit(K.Gaussian(0.1), SHIFTS)
    X = lazy(POINTS, 4)
    values, gram = dask.compute(model.transform(X), kernel(X), scheduler="threads", num_workers=4)
    assert_allclose(values, model.transform(POINTS), rtol=0, atol=1e-12)
    assert_allclose(gram, kernel(POINTS), rtol=0, atol=1e-12)


def test_equal_computations_have_equal_names():
    """Dask computes what has the same name once."""
    model = F.OrbitFourier(SHIFTS, 9, **SETTINGS).fit(POINTS)
    X = lazy(POINTS)
    assert model.transform(X).name == model.transform(X).name
    other = F.OrbitFourier(SHIFTS, 9, gamma=0.2, random_state=0).fit(POINTS)
    assert other.transform(X).name != model.transform(X).name
    assert K.Gaussian(0.1)(X).name == K.Gaussian(0.1)(X).name != K.Gaussian(0.2)(X).name
