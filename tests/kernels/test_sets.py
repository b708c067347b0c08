"""Kernels of sets: the plain definition, order, sizes, groups inside and outside, pipelines."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linear_sum_assignment
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from invariance.core.parameters import ParameterError
from invariance.features import pad_sets, unpad_sets
from invariance.groups import CyclicShifts, OnPoints, PlaneRotations, Rotations3D, SignFlips
from invariance.kernels import (
    Average,
    BestFit,
    Gaussian,
    GramTransformer,
    Hyperkernel,
    Laplacian,
    MatchingKernel,
    Polynomial,
    SetKernel,
)
from invariance.linear import RLSClassifier, RLSRegressor
from invariance.orbits import engine, way


def draw(n, d=2, seed=0, largest=6):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((m, d)) for m in rng.integers(1, largest + 1, n)]


SETS, OTHERS = draw(9), draw(4, seed=1, largest=8)
X, Z = pad_sets(SETS), pad_sets(OTHERS)


def mean_over_pairs(base, one, two):
    return np.array([[base(a, b).mean() for b in two] for a in one])


def best_matching(base, a, b):
    K = base(a, b)
    return K[linear_sum_assignment(-K)].sum() / max(K.shape)


@pytest.mark.parametrize("base", [Gaussian(0.7), Polynomial(2), Laplacian(0.5), RBF(0.8)], ids=repr)
@pytest.mark.parametrize("block_bytes", [None, 200])
def test_the_mean_over_all_pairs_of_points(base, block_bytes):
    kernel = SetKernel(base, block_bytes=block_bytes)
    assert_allclose(kernel(X), mean_over_pairs(base, SETS, SETS), rtol=1e-12)
    assert_allclose(kernel(X, Z), mean_over_pairs(base, SETS, OTHERS), rtol=1e-12)
    assert_allclose(kernel.diag(X), kernel(X).diagonal())
    assert np.linalg.eigvalsh(kernel(X))[0] > -1e-10


def test_sums_normalised_values_and_rows():
    base, plain = Gaussian(0.7), mean_over_pairs(Gaussian(0.7), SETS, SETS)
    sizes = np.array([len(points) for points in SETS])
    assert_allclose(SetKernel(base, "sum")(X), plain * np.outer(sizes, sizes))
    roots = np.sqrt(plain.diagonal())
    normalised = SetKernel(base, normalize=True)
    assert_allclose(normalised(X), plain / np.outer(roots, roots))
    assert_allclose(normalised(X, X[:3]), normalised(X)[:, :3])
    assert_allclose(normalised.diag(X), 1)
    rows = SetKernel(base, n_coordinates=2)
    assert_allclose(rows(X.reshape(len(X), -1)), plain)


def test_single_precision_keeps_its_digits_far_from_the_origin():
    rounded = (X + 5).astype(np.float32)
    exact = SetKernel(Gaussian(0.7))(rounded.astype(float))
    single = SetKernel(Gaussian(0.7))(rounded)
    assert single.dtype == np.float32
    assert_allclose(single, exact, rtol=1e-6)


def test_order_and_padding_do_not_matter():
    shuffled = [np.random.default_rng(3).permutation(points) for points in SETS]
    longer = np.concatenate([np.full((9, 3, 2), np.nan), pad_sets(shuffled)], axis=1)
    for kernel in (SetKernel(Gaussian(0.7)), MatchingKernel(Gaussian(0.7))):
        assert_allclose(kernel(longer, X), kernel(X), rtol=1e-12)


def test_weights_and_labels():
    rng = np.random.default_rng(2)
    base = Gaussian(0.7)
    weights = [rng.random(len(points)) for points in SETS]
    weighted = pad_sets([np.c_[points, w] for points, w in zip(SETS, weights, strict=True)])
    expected = [
        [(v / v.sum()) @ base(a, b) @ (w / w.sum()) for b, w in zip(SETS, weights, strict=True)]
        for a, v in zip(SETS, weights, strict=True)
    ]
    assert_allclose(SetKernel(base, weighted=True)(weighted), expected)
    labels = [rng.integers(3, size=len(points)) for points in SETS]
    labelled = pad_sets([np.c_[label, points] for points, label in zip(SETS, labels, strict=True)])
    expected = [
        [(base(a, b) * (k[:, None] == m)).sum() for b, m in zip(SETS, labels, strict=True)]
        for a, k in zip(SETS, labels, strict=True)
    ]
    assert_allclose(SetKernel(base, "sum", labelled=True)(labelled), expected)
    assert_allclose(
        SetKernel(base, "sum", labelled=True)(labelled, labelled[:2]), np.array(expected)[:, :2]
    )
    everything = pad_sets([np.c_[k, p, w] for p, k, w in zip(SETS, labels, weights, strict=True)])
    expected = [
        [
            v @ (base(a, b) * (k[:, None] == m)) @ w
            for b, m, w in zip(SETS, labels, weights, strict=True)
        ]
        for a, k, v in zip(SETS, labels, weights, strict=True)
    ]
    assert_allclose(SetKernel(base, "sum", labelled=True, weighted=True)(everything), expected)


def test_the_best_matching():
    base = Gaussian(0.7)
    expected = [[best_matching(base, a, b) for b in OTHERS] for a in SETS]
    for block_bytes in (None, 200):
        kernel = MatchingKernel(base, block_bytes=block_bytes)
        assert_allclose(kernel(X, Z), expected, rtol=1e-12)
        assert_allclose(kernel(X), [[best_matching(base, a, b) for b in SETS] for a in SETS])
    assert_allclose(MatchingKernel(base).diag(X), 1)
    largest = np.maximum.outer([len(a) for a in SETS], [len(b) for b in OTHERS])
    assert_allclose(MatchingKernel(base, "sum")(X, Z), expected * largest)


def test_an_average_over_rotations_of_whole_sets():
    inner = Hyperkernel(SetKernel(Gaussian(0.7)), 4.0)
    group = PlaneRotations(16)
    angles = group.elements()
    moved = [
        pad_sets([points @ group._matrices(angles[[r]])[0].T for points in OTHERS])
        for r in range(16)
    ]
    expected = np.mean([inner(X, other) for other in moved], axis=0)
    kernel = Average(inner, group)
    assert_allclose(kernel(X, Z), expected, rtol=1e-10)
    assert_allclose(Average(inner, group, side="both")(X, Z), expected, rtol=1e-10)
    best = BestFit(inner, group)
    assert_allclose(best(X, Z), np.max([inner(X, other) for other in moved], axis=0), rtol=1e-10)
    assert "product" in str(kernel.explain(X, Z))


def test_an_average_of_the_plain_mean_is_the_mean_of_averages():
    """It is linear in both sets: why the docstring recommends a Hyperkernel between."""
    outside = Average(SetKernel(Gaussian(0.7)), PlaneRotations(32))
    inside = SetKernel(Average(Gaussian(0.7), PlaneRotations(32)))
    assert_allclose(outside(X, Z), inside(X, Z), rtol=1e-12)


@pytest.mark.parametrize("d, group", [(2, PlaneRotations()), (3, Rotations3D())])
def test_rules_for_infinite_groups_are_chosen(d, group):
    one, two = (pad_sets(draw(4, d, seed, 3)) for seed in (0, 1))
    kernel = Average(Hyperkernel(SetKernel(Gaussian(0.3)), 2.0), group, tolerance=1e-4)
    turned = group.act(group.sample(1, 0), one)[0]
    assert_allclose(kernel(turned, two), kernel(one, two), rtol=1e-3)
    assert not np.allclose(kernel.base(turned, two), kernel.base(one, two), rtol=1e-3)


def test_any_group_acts_on_points_or_on_some_of_their_coordinates():
    labels = np.where(np.isnan(X[:, :, :1]), np.nan, 1.0)
    labelled = np.concatenate([labels, X], axis=2)
    base = Hyperkernel(SetKernel(Gaussian(0.7)), 4.0)
    with_labels = Hyperkernel(SetKernel(Gaussian(0.7), labelled=True), 4.0)
    for group in (SignFlips(2), CyclicShifts(2), PlaneRotations(8)):
        expected = Average(base, OnPoints(group, 2))(X)
        other = OnPoints(group, 3, coordinates=(1, 2))
        assert_allclose(Average(with_labels, other)(labelled), expected, rtol=1e-10)
    # What is known to preserve the kernel is averaged over one argument alone.
    kernel = SetKernel(Gaussian(0.7), labelled=True, n_coordinates=3)
    assert kernel.preserved_by(OnPoints(SignFlips(2), 3, coordinates=(1, 2)))
    assert not kernel.preserved_by(OnPoints(SignFlips(2), 3, coordinates=(0, 1)))
    assert not kernel.preserved_by(SignFlips(3))


def test_sums_and_products_of_kernels_of_sets():
    one, two = SetKernel(Gaussian(0.7)), MatchingKernel(Gaussian(0.2))
    assert_allclose((one + two * one)(X, Z), one(X, Z) + two(X, Z) * one(X, Z))
    both = Average(one * one, PlaneRotations(8))
    assert both(X, Z).shape == (9, 4)


@pytest.fixture(scope="module")
def rings():
    """Sets of points on one of two rings."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    angles = [rng.uniform(0, 2 * np.pi, rng.integers(3, 7)) for _ in y]
    return pad_sets(
        [(1 + r) * np.c_[np.cos(a), np.sin(a)] for a, r in zip(angles, y, strict=True)]
    ), y


def test_in_pipelines_cross_validation_and_grid_search(rings):
    X, y = rings
    kernel = SetKernel(Gaussian(1.0))
    models = [
        SVC(kernel=kernel),
        RLSClassifier(kernel=kernel),
        make_pipeline(GramTransformer(MatchingKernel(Gaussian(1.0))), SVC(kernel="precomputed")),
    ]
    for model in models:
        assert cross_val_score(model, X, y, cv=3).min() > 0.9
        smaller = model.fit(X, y).predict(X[:, :3][~np.isnan(X[:, 0, 0])])
        assert smaller.shape == (60,)
    search = GridSearchCV(RLSRegressor(kernel=kernel), {"kernel__base__gamma": [1e6, 1.0]}, cv=3)
    assert search.fit(X, y.astype(float)).best_params_["kernel__base__gamma"] == 1.0


@pytest.mark.parametrize(
    "bad, message",
    [
        (np.zeros((3, 4)), "n_coordinates=d says how many numbers"),
        ("abc", "a padded array"),
        (np.full((2, 2, 2), np.nan), "set 0 has no points"),
        (
            np.where(np.arange(8).reshape(2, 2, 2) == 5, np.nan, 1.0),
            "coordinate 1 of point 0 of set 1",
        ),
        (
            np.where(np.arange(8).reshape(2, 2, 2) == 5, np.inf, 1.0),
            "coordinate 1 of point 0 of set 1",
        ),
    ],
)
@pytest.mark.parametrize("kind", [SetKernel, MatchingKernel])
def test_bad_sets_are_named(kind, bad, message):
    with pytest.raises(ParameterError, match=message):
        kind(Gaussian(1.0))(bad)


def test_points_of_other_spaces_and_bad_weights_are_refused():
    kernel = SetKernel(Gaussian(1.0))
    with pytest.raises(ParameterError, match=r"points of \[2, 3\] coordinates"):
        kernel(X, pad_sets(draw(2, 3)))
    with pytest.raises(ParameterError, match=r"\(n, largest, 3\), .* of shape \(2, 4\)"):
        SetKernel(Gaussian(1.0), n_coordinates=3)(np.zeros((2, 4)))
    with pytest.raises(ParameterError, match="must not be negative"):
        SetKernel(Gaussian(1.0), weighted=True)(-np.ones((2, 2, 2)))
    with pytest.raises(ParameterError, match="leave none to compare"):
        SetKernel(Gaussian(1.0), labelled=True)(np.ones((2, 2, 1)))


def test_padding_and_back():
    for points, back in zip(SETS, unpad_sets(X), strict=True):
        assert_allclose(points, back)
    assert pad_sets([np.zeros((1, 2), np.float32)]).dtype == np.float32
    for bad in (
        [],
        [np.zeros((0, 2))],
        [np.zeros((1, 2)), np.zeros((1, 3))],
        [["a"]],
        [[[np.nan]]],
    ):
        with pytest.raises(ParameterError, match="pad_sets needs"):
            pad_sets(bad)


def test_explain_counts_pairs_of_points():
    points = sum(map(len, SETS)) * sum(map(len, OTHERS))
    told = SetKernel(Gaussian(1.0)).explain(X, Z)
    assert told.way == "pairs of points"
    assert told.operations == points * (2 * 2 + 600)
    assert MatchingKernel(Gaussian(1.0)).explain(X, Z).operations > told.operations + 6e5 * 36


@pytest.mark.parametrize(
    "kernel, cheaper",
    [
        (SetKernel(Gaussian(1.0)), "SetFeatures"),
        (MatchingKernel(Gaussian(1.0)), "SetKernel"),
        (Average(Hyperkernel(SetKernel(Gaussian(1.0))), PlaneRotations(4)), "n_transforms"),
    ],
)
def test_minutes_of_work_are_announced(monkeypatch, kernel, cheaper):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel(X, Z)
    monkeypatch.setattr(way, "_LONG", 0.0)
    monkeypatch.setattr(engine, "_LONG_FROM", 0.0)
    with pytest.warns(UserWarning, match=f"9 x 4 .* minutes .* {cheaper}") as said:
        kernel(X, Z)
    assert said[0].filename == __file__
