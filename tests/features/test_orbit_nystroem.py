"""OrbitNystroem: its definition, exactness on spanning landmarks, and remedies in messages."""

import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone

from invariance import groups as G
from invariance.features import OrbitNystroem
from invariance.features.orbit_nystroem import whitener
from invariance.kernels import CDF, Average, BestFit, Gaussian, Laplacian, Linear, Polynomial
from invariance.linear import IndefiniteWarning


def definition(model, X):
    """Return psi(x) = L sum_i w_i K(Z, g_i x), transforming the same side as the model."""
    pooled = 0
    elements = [None] if model.elements_ is None else model.elements_
    for g, w in zip(elements, model.weights_, strict=True):
        points = X
        landmarks = model.landmarks_
        if g is not None and model.side_ == "first":
            points = model.group.act(g[None], X)[0]
        elif g is not None:
            landmarks = model.group.act(g[None], landmarks)[0]
        pooled = pooled + w * model.kernel_(points, landmarks)
    return pooled @ model.whitener_.T


GROUPS = [
    *(None, G.CyclicShifts(6), G.SignFlips(6), G.Permutations(3, block=2)),
    G.CircleAction([0, 0, 1, 1, 2, 2], G.VonMises(0.7), n_nodes=5),
    G.CircleAction([1, 1, 0, 3, 3, 0], G.VonMises(0.7, loc=0.4)),
]
OPTIONS = {
    "n_transforms": [1, 4],
    "kernel": ["gaussian", "laplacian", Polynomial(2), CDF(0.2)],
    "from_orbit": [False, True],
    "side": ["auto", "first"],
    "block_bytes": [1000, 10**8],
}
CHOICES = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in OPTIONS.items()})


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(GROUPS), st.integers(1, 12), CHOICES, st.integers(0, 10**6))
def test_orbit_nystroem_agrees_with_the_definition(group, s, options, seed):
    X = np.random.default_rng(seed).standard_normal((12, 6))
    model = OrbitNystroem(group, s, **options, random_state=seed).fit(X)
    new = np.random.default_rng(seed + 1).standard_normal((5, 6))
    scale = np.abs(model.whitener_).max()
    assert_allclose(model.transform(new), definition(model, new), atol=1e-10 * max(1, scale))


@pytest.mark.parametrize("kernel", [Gaussian(0.3), Laplacian(0.3), Polynomial(3)], ids=repr)
@pytest.mark.parametrize("group", [G.CyclicShifts(3), G.SignFlips(3)], ids=repr)
def test_landmarks_that_span_the_orbits_reproduce_the_kernel(group, kernel):
    X = np.random.default_rng(0).standard_normal((6, 3))
    landmarks = group.act(group.elements(), X).reshape(-1, 3)
    Z = OrbitNystroem(
        group, len(landmarks), kernel=kernel, landmarks=landmarks, rcond=1e-13
    ).fit_transform(X)
    assert_allclose(Z @ Z.T, Average(kernel, group, side="both")(X), atol=1e-6)


@pytest.mark.parametrize("rcond", [1e-12, 1e-3, 0.2])
def test_the_squared_whitener_is_the_pseudo_inverse_above_rcond(rcond):
    gram = Gaussian(0.5)(np.random.default_rng(0).standard_normal((40, 2))) + 1e-6 * np.eye(40)
    values, vectors = np.linalg.eigh(gram)
    above = values > rcond * values[-1]
    expected = (vectors[:, above] / values[above]) @ vectors[:, above].T
    L = whitener(gram, rcond, np.dtype(float))
    assert L.shape == (above.sum(), 40)
    assert_allclose(L.T @ L, expected, atol=1e-6 * np.abs(expected).max())


def test_the_gram_matrix_is_a_lower_bound():
    """Nystrom features are projections: the exact matrix minus theirs is positive semi-definite."""
    X = np.random.default_rng(0).standard_normal((25, 4))
    exact = Average(Gaussian(0.3), G.SignFlips(4), side="both")(X)
    errors = []
    for s in (2, 5, 10, 25):
        Z = OrbitNystroem(G.SignFlips(4), s, gamma=0.3, random_state=0).fit_transform(X)
        left = np.linalg.eigvalsh(exact - Z @ Z.T)
        assert left.min() > -1e-9
        errors.append(left.sum())
    assert np.all(np.diff(errors) <= 1e-12)


def test_only_signed_permutations_preserve_the_laplacian_kernel():
    X = np.random.default_rng(0).standard_normal((9, 4))
    action = G.CircleAction([1, 1, 2, 2], n_nodes=8)
    options = {"gamma": 0.1, "random_state": 0}
    for group, kernel, side in (
        (action, "laplacian", "first"),
        (action, "gaussian", "second"),
        (G.CyclicShifts(4), "laplacian", "second"),
        (G.Negation(), "laplacian", "second"),
    ):
        assert OrbitNystroem(group, 3, kernel=kernel, **options).fit(X).side_ == side
    with pytest.warns(UserWarning, match="not unitary|only approximates"):
        OrbitNystroem(action, 3, kernel="laplacian", side="second", random_state=0).fit(X)


def test_too_many_landmarks_are_refused_and_dependent_ones_are_dropped():
    X = np.repeat(np.random.default_rng(0).standard_normal((4, 3)), 3, axis=0)
    with pytest.warns(UserWarning, match="n_components=50 landmarks .* only 12 points"):
        model = OrbitNystroem(n_components=50, gamma=0.3, random_state=0).fit(X)
    assert len(model.landmarks_) == 12
    assert model.rank_ == 4 == model.transform(X).shape[1] == len(model.get_feature_names_out())
    assert_allclose(model.transform(X) @ model.transform(X).T, Gaussian(0.3)(X), atol=1e-8)


def test_landmarks_of_molecules_come_from_their_orbits():
    C = np.random.default_rng(0).standard_normal((8, 4, 4))
    X = (C + C.swapaxes(1, 2)).reshape(8, -1)
    density = G.SortedNoise(4, 0.5, triangle=True)
    model = OrbitNystroem(density, 4, n_transforms=3, from_orbit=True, random_state=0).fit(X)
    assert model.side_ == "first" and model.landmarks_.shape == (4, 10)
    assert_allclose(model.transform(X), definition(model, X), atol=1e-9)


def test_single_precision_preserves_most_of_the_rank():
    X = np.random.default_rng(0).standard_normal((500, 2))
    double = OrbitNystroem(n_components=200, kernel=Gaussian(0.1), random_state=0).fit(X)
    single = clone(double).set_params(rcond=1e-9).fit(X.astype(np.float32))
    assert 0.5 * double.rank_ < single.rank_ <= double.rank_
    features = single.transform(X.astype(np.float32))
    assert features.dtype == single.whitener_.dtype == np.float32
    assert_allclose(features @ features.T, Gaussian(0.1)(X), atol=5e-3)
    # the difference is rounding alone
    full_rank = clone(double).set_params(rcond=1e-9).fit(X)
    assert full_rank.rank_ == single.rank_
    assert_allclose(
        np.abs(features).max(axis=0), np.abs(full_rank.transform(X)).max(axis=0), atol=5e-3
    )


# -- points beyond single precision, and indefinite kernels ----------------------------------------


def inner_products(features, X):
    """Inner products of the features, relative to the largest."""
    Z = features.fit_transform(X).astype(float)
    return Z @ Z.T / np.abs(Z @ Z.T).max()


@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", Linear(), Polynomial(2, coef0=0)])
@pytest.mark.parametrize("group", [None, G.CyclicShifts(4)], ids=str)
@pytest.mark.filterwarnings("error")
def test_points_of_any_size_have_accurate_features_or_are_refused(group, kernel):
    """These kernels are homogeneous, so that only the scale of the features changes."""
    X = np.random.default_rng(0).standard_normal((40, 4))
    features = OrbitNystroem(group, 10, kernel=kernel, random_state=0)
    right = inner_products(features, X)
    sizes = {
        np.float32: (1e-40, 1e-30, 1e-20, 1e-15, 1e-5, 1.0, 1e10, 1e20),
        np.float64: (1e-300, 1e-170, 1e-160, 1e-100, 1e-30, 1e30, 1e100, 1e160),
    }
    n_right = 0
    for dtype, all_sizes in sizes.items():
        for size in all_sizes:
            try:
                products = inner_products(features, (size * X).astype(dtype))
            except ValueError as error:
                assert re.search("scale|gamma", str(error))
            else:
                assert_allclose(products, right, atol=2e-3)
                n_right += 1
    assert n_right >= 4


def test_equal_landmarks_give_one_feature():
    group = G.CyclicShifts(4)
    for dtype in (np.float32, np.float64):
        X = np.tile(np.array([[1.0, 2.0, -1.0, 0.5]], dtype), (12, 1))
        new = np.random.default_rng(0).standard_normal((5, 4)).astype(dtype)
        for gamma in (0.1, "median"):
            model = OrbitNystroem(group, 6, gamma=gamma, random_state=0).fit(X)
            assert model.rank_ == 1
            average = Average(model.kernel_, group)
            expected = average(new, X[:1]) * average(X[:1])
            products = model.transform(new) @ model.transform(X[:1]).T
            assert_allclose(products, expected, atol=1e-5)


def test_fitted_features_do_not_change_with_the_array_of_landmarks():
    rng = np.random.default_rng(0)
    X, landmarks = rng.standard_normal((8, 6)), rng.standard_normal((5, 6))
    for group in (None, G.CyclicShifts(6), G.Rotations((2, 3), degrees=[0, 20])):
        given_landmarks = landmarks.copy()
        model = OrbitNystroem(group, 5, landmarks=given_landmarks, gamma=0.3).fit(X)
        given_landmarks[:] = 7
        assert_allclose(model.landmarks_, landmarks)
        expected = OrbitNystroem(group, 5, landmarks=landmarks, gamma=0.3).fit_transform(X)
        assert_allclose(model.transform(X), expected)


def test_indefinite_kernels_are_clipped_with_a_warning():
    """Positive semi-definite kernels, singular or not, cause no warning."""
    X = np.random.default_rng(0).standard_normal((30, 6))
    for group in (G.CyclicShifts(6), G.Permutations(3, block=2)):
        kernel = BestFit(Linear(), group)
        for dtype in (np.float64, np.float32):
            model = OrbitNystroem(None, 30, kernel=kernel, landmarks=X)
            with pytest.warns(
                IndefiniteWarning, match="OrbitNystroem.* eigenvalues are neg"
            ) as caught:
                model.fit(X.astype(dtype))
            assert len(caught) == 1 and caught[0].filename == __file__
            features = model.transform(X.astype(dtype))
            values, vectors = np.linalg.eigh(kernel(X))
            assert f"{(values < -1e-9).sum()} of 30 eigenvalues" in str(caught[0].message)
            clipped = (vectors * values.clip(0)) @ vectors.T
            assert_allclose(features @ features.T, clipped, atol=1e-3)
    twice = np.concatenate([X, X])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kernel in (Gaussian(0.1), Linear(), Gaussian(1e-4), Polynomial(3)):
            OrbitNystroem(None, 60, kernel=kernel, landmarks=twice).fit(twice)
            OrbitNystroem(G.CyclicShifts(6), 60, kernel=kernel, landmarks=twice).fit(twice)
