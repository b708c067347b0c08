"""Kernels of sets: definition, order, sizes, groups inside and outside, pipelines."""

import time
import warnings
from itertools import count

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linear_sum_assignment
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from invariance.beyond import (
    MatchingKernel,
    PlaneRotations,
    REMatchKernel,
    Rotations3D,
    SetFeatures,
    SetKernel,
    pad_sets,
    unpad_sets,
)
from invariance.core.parameters import ParameterError
from invariance.features import OrbitFourier
from invariance.groups import CyclicShifts, OnPoints, Permutations, SignFlips
from invariance.kernels import (
    Average,
    BestFit,
    Gaussian,
    GramTransformer,
    Hyperkernel,
    Laplacian,
    Linear,
    Polynomial,
)
from invariance.linear import RLSClassifier, RLSRegressor
from invariance.orbits import cost, orbit_products


def draw(n, d=2, seed=0, largest=6):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((m, d)) for m in rng.integers(1, largest + 1, n)]


SETS = draw(9)
NEW_SETS = draw(4, seed=1, largest=8)
X = pad_sets(SETS)
Z = pad_sets(NEW_SETS)
BASE = Gaussian(0.7)


def mean_over_pairs(base, X, Y):
    return np.array([[base(a, b).mean() for b in Y] for a in X])


def best_matching(base, a, b):
    K = base(a, b)
    return K[linear_sum_assignment(-K)].sum() / max(K.shape)


@pytest.mark.parametrize(
    "base",
    [Gaussian(0.7), Linear(), Polynomial(2), Laplacian(0.5), RBF(0.8), DotProduct(0.3)],
    ids=repr,
)
@pytest.mark.parametrize("block_bytes", [None, 200])
def test_the_set_kernel_is_the_mean_over_all_pairs_of_points(base, block_bytes):
    kernel = SetKernel(base, block_bytes=block_bytes)
    assert_allclose(kernel(X), mean_over_pairs(base, SETS, SETS), rtol=1e-12)
    assert_allclose(kernel(X, Z), mean_over_pairs(base, SETS, NEW_SETS), rtol=1e-12)
    assert_allclose(kernel.diag(X), kernel(X).diagonal())
    assert np.linalg.eigvalsh(kernel(X))[0] > -1e-10


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("base", [Gaussian(0.7), Laplacian(0.5), RBF(0.8)], ids=repr)
def test_a_distant_point_does_not_change_the_values_of_other_sets(base, dtype):
    far = dtype(1e17 if dtype == np.float64 else 1e9)
    beside = pad_sets([*SETS, np.full((1, 2), far)]).astype(dtype)
    expected = mean_over_pairs(base, SETS, SETS)
    assert_allclose(SetKernel(base)(beside)[:-1, :-1], expected, rtol=1e-5)
    matched = MatchingKernel(base)(beside)[:-1, :-1]
    assert_allclose(matched, MatchingKernel(base)(X), rtol=1e-5)


def test_set_kernels_with_sums_normalization_flat_rows_and_single_precision():
    base = Gaussian(0.7)
    plain = mean_over_pairs(base, SETS, SETS)
    sizes = np.array([len(points) for points in SETS])
    assert_allclose(SetKernel(base, "sum")(X), plain * np.outer(sizes, sizes))
    roots = np.sqrt(plain.diagonal())
    normalized = SetKernel(base, normalize=True)
    assert_allclose(normalized(X), plain / np.outer(roots, roots))
    assert_allclose(normalized(X, X[:3]), normalized(X)[:, :3])
    assert_allclose(normalized.diag(X), 1)
    assert_allclose(SetKernel(base, n_coordinates=2)(X.reshape(len(X), -1)), plain)
    rounded = (X + 5).astype(np.float32)
    single = SetKernel(base)(rounded)
    assert single.dtype == np.float32
    assert_allclose(single, SetKernel(base)(rounded.astype(float)), rtol=1e-6)


def test_order_and_padding_have_no_effect():
    shuffled = [np.random.default_rng(3).permutation(points) for points in SETS]
    longer = np.concatenate([np.full((9, 3, 2), np.nan), pad_sets(shuffled)], axis=1)
    for kernel in (SetKernel(BASE), MatchingKernel(BASE)):
        assert_allclose(kernel(longer, X), kernel(X), rtol=1e-12)
    kernel = REMatchKernel(BASE, tol=1e-13)
    assert_allclose(kernel(longer, X), kernel(X), rtol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("pooling", ["mean", "sum"])
@pytest.mark.parametrize("base", [BASE, Linear()], ids=repr)
def test_set_kernels_with_weights_and_labels_agree_with_the_definition(
    weighted, labelled, pooling, base
):
    rng = np.random.default_rng(2)
    weights = [rng.random(len(points)) if weighted else np.ones(len(points)) for points in SETS]
    labels = [rng.integers(3 if labelled else 1, size=len(points)) for points in SETS]
    shares = [w / w.sum() if pooling == "mean" else w for w in weights]
    parts = [
        np.c_[k, p, w][:, 0 if labelled else 1 : None if weighted else 3]
        for k, p, w in zip(labels, SETS, weights, strict=True)
    ]
    every = list(zip(SETS, labels, shares, strict=True))
    expected = [
        [v @ (base(a, b) * (k[:, None] == m)) @ w for b, m, w in every] for a, k, v in every
    ]
    kernel = SetKernel(base, pooling, labelled=labelled, weighted=weighted)
    points = pad_sets(parts)
    assert_allclose(kernel(points), expected)
    assert_allclose(kernel(points, points[:2]), np.array(expected)[:, :2])
    assert_allclose(kernel.diag(points), np.diag(expected))


def test_the_matching_kernel_is_the_best_assignment():
    base = Gaussian(0.7)
    expected = [[best_matching(base, a, b) for b in NEW_SETS] for a in SETS]
    for block_bytes in (None, 200):
        kernel = MatchingKernel(base, block_bytes=block_bytes)
        assert_allclose(kernel(X, Z), expected, rtol=1e-12)
        assert_allclose(kernel(X), [[best_matching(base, a, b) for b in SETS] for a in SETS])
    assert_allclose(MatchingKernel(base).diag(X), 1)
    largest = np.maximum.outer([len(a) for a in SETS], [len(b) for b in NEW_SETS])
    assert_allclose(MatchingKernel(base, "sum")(X, Z), expected * largest)


def test_averages_over_rotations_of_whole_sets_agree_with_the_definition():
    inner = Hyperkernel(SetKernel(Gaussian(0.7)), 4.0)
    group = PlaneRotations(16)
    turns = [group.act(angle[None], np.eye(2))[0] for angle in group.elements()]
    values = np.array(
        [inner(X, pad_sets([points @ turn for points in NEW_SETS])) for turn in turns]
    )
    kernel = Average(inner, group)
    assert_allclose(kernel(X, Z), values.mean(axis=0), rtol=1e-10)
    assert_allclose(Average(inner, group, side="both")(X, Z), values.mean(axis=0), rtol=1e-10)
    assert_allclose(BestFit(inner, group)(X, Z), values.max(axis=0), rtol=1e-10)
    assert "product" in str(kernel.explain(X, Z))
    # A SetKernel is linear in both sets; the docstring recommends a Hyperkernel around it.
    outside = Average(SetKernel(Gaussian(0.7)), group)
    inside = Average(Gaussian(0.7), group)
    assert_allclose(outside(X, Z), SetKernel(inside)(X, Z), rtol=1e-12)
    mean = SetKernel(Gaussian(0.7))
    matching = MatchingKernel(Gaussian(0.2))
    assert_allclose((mean + matching * mean)(X, Z), mean(X, Z) + matching(X, Z) * mean(X, Z))
    assert Average(mean * mean, group)(X, Z).shape == (9, 4)


@pytest.mark.parametrize("d, group", [(2, PlaneRotations()), (3, Rotations3D())])
def test_averages_of_set_kernels_over_rotations_are_invariant(d, group):
    first = pad_sets(draw(4, d, 0, 3))
    second = pad_sets(draw(4, d, 1, 3))
    kernel = Average(Hyperkernel(SetKernel(Gaussian(0.3)), 2.0), group, tolerance=1e-4)
    rotated = group.act(group.sample(1, 0), first)[0]
    assert_allclose(kernel(rotated, second), kernel(first, second), rtol=1e-3)
    assert not np.allclose(kernel.base(rotated, second), kernel.base(first, second), rtol=1e-3)


def test_any_group_acts_on_points_or_on_some_of_their_coordinates():
    labels = np.where(np.isnan(X[:, :, :1]), np.nan, 1.0)
    labelled = np.concatenate([labels, X], axis=2)
    base = Hyperkernel(SetKernel(Gaussian(0.7)), 4.0)
    with_labels = Hyperkernel(SetKernel(Gaussian(0.7), labelled=True), 4.0)
    for group in (SignFlips(2), CyclicShifts(2), PlaneRotations(8)):
        expected = Average(base, OnPoints(group, 2))(X)
        on_coordinates = OnPoints(group, 3, coordinates=(1, 2))
        assert_allclose(Average(with_labels, on_coordinates)(labelled), expected, rtol=1e-10)
    # If the group preserves the kernel, only one argument is averaged.
    kernel = SetKernel(Gaussian(0.7), labelled=True, n_coordinates=3)
    assert kernel.preserved_by(OnPoints(SignFlips(2), 3, coordinates=(1, 2)))
    assert not kernel.preserved_by(OnPoints(SignFlips(2), 3, coordinates=(0, 1)))
    assert not kernel.preserved_by(SignFlips(3))


def test_set_kernels_work_in_pipelines_cross_validation_and_grid_search():
    """Sets of points on one of two rings."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    angles = [rng.uniform(0, 2 * np.pi, rng.integers(3, 7)) for _ in y]
    rings = [(1 + r) * np.c_[np.cos(a), np.sin(a)] for a, r in zip(angles, y, strict=True)]
    X = pad_sets(rings)
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


def test_unpad_inverts_pad():
    for points, back in zip(SETS, unpad_sets(X), strict=True):
        assert_allclose(points, back)
    assert pad_sets([np.zeros((1, 2), np.float32)]).dtype == np.float32


def test_explain_counts_pairs_of_points():
    n_pairs = sum(map(len, SETS)) * sum(map(len, NEW_SETS))
    explanation = SetKernel(Gaussian(1.0)).explain(X, Z)
    assert explanation.way == "pairs of points"
    assert explanation.operations == n_pairs * (2 * 2 + 600)
    assert (
        MatchingKernel(Gaussian(1.0)).explain(X, Z).operations > explanation.operations + 6e5 * 36
    )


def test_explain_counts_one_product_of_sums_if_points_are_compared_by_inner_products():
    n_points = sum(map(len, SETS)) + sum(map(len, NEW_SETS))
    explanation = SetKernel(Linear()).explain(X, Z)
    assert explanation.way == "sums of points"
    assert explanation.operations == 2 * 2 * (n_points + len(SETS) * len(NEW_SETS))


TURNS = PlaneRotations(4)

SWAPS = Permutations(2)


@pytest.mark.parametrize("n_sets", [9, 40])
@pytest.mark.parametrize(
    "base",
    [
        Average(Gaussian(1.0), TURNS),
        BestFit(Gaussian(1.0), TURNS),
        Average(Gaussian(1.0), SWAPS),
        Average(Gaussian(1.0), TURNS, side="both"),
        Average(Gaussian(1.0), PlaneRotations(), n_transforms=30, random_state=0),
    ],
)
@pytest.mark.parametrize("kind", [SetKernel, MatchingKernel])
def test_operations_contain_those_of_the_base_kernel_on_all_pairs_of_points(kind, base, n_sets):
    """A tile transforms its points anew, so that the pooling and further copies are added."""
    sets = draw(n_sets, seed=2, largest=12)
    points = np.concatenate(sets)
    X = pad_sets(sets)
    kernel = kind(base, block_bytes=2**17)
    pairs = base.explain(points, points).operations
    plain = kind(Gaussian(1.0), block_bytes=2**17).explain(X).operations
    for explanation in (kernel.explain(X), kernel.explain(X, X)):
        assert explanation.operations >= pairs + plain
    through_another = kind(Hyperkernel(base), block_bytes=2**17).explain(X)
    assert through_another.operations >= pairs + plain


def test_operations_of_labelled_sets_are_those_for_points_of_equal_labels():
    sets = [np.column_stack([np.arange(len(s)) % 3, s]) for s in draw(8, seed=3, largest=9)]
    points = np.concatenate(sets)
    base = Average(Gaussian(1.0), TURNS)
    explanation = SetKernel(base, labelled=True).explain(pad_sets(sets))
    expected = 0.0
    for label in range(3):
        of_label = points[points[:, 0] == label, 1:]
        expected += base.explain(of_label, of_label).operations
        expected += len(of_label) ** 2 * (2 * 2 + 600)
    assert explanation.operations == pytest.approx(expected)


def test_seconds_are_for_one_triangle_if_the_matrix_is_symmetric(monkeypatch):
    # Every look at this clock finds a second more, so that equal trials take equal times.
    monkeypatch.setattr(time, "process_time", count().__next__)
    X = np.random.default_rng(0).standard_normal((40, 8, 2))
    # Tiles have 32 x 128 points, so that ten rows of tiles have three, and some are left out.
    kernel = SetKernel(Gaussian(1.0), block_bytes=4 * 64**2 * 8)
    symmetric = kernel.explain(X)
    whole = kernel.explain(X, X)
    assert symmetric.operations == whole.operations
    n_tiles = sum(3 - start // 128 for start in range(0, 320, 32))
    last_column = 64 / 128
    share = (n_tiles - (1 - last_column) * 10) / (10 * 2.5)
    assert symmetric.seconds == pytest.approx(whole.seconds * share)


def test_explain_of_sets_without_a_common_label():
    X = np.array([[[1.0, 0.0, 2.0]], [[1.0, 3.0, 0.0]]])
    Z = X + [1.0, 0.0, 0.0]
    kernel = SetKernel(Average(Gaussian(1.0), TURNS), labelled=True)
    assert kernel.explain(X, Z).operations == 0
    assert not kernel(X, Z).any()


@pytest.mark.parametrize(
    "kernel, cheaper",
    [
        (SetKernel(Gaussian(1.0)), "SetFeatures"),
        (MatchingKernel(Gaussian(1.0)), "SetKernel"),
    ],
)
def test_long_computations_are_announced(monkeypatch, kernel, cheaper):
    monkeypatch.setattr(cost, "LONG_SECONDS", 1.0)  # The machine may be fast.
    sets = np.zeros((3000, 60, 2))
    message = f"3000 x 3000 .* minutes .* {cheaper}"
    with warnings.catch_warnings(), pytest.raises(UserWarning, match=message):
        warnings.simplefilter("error")
        kernel(sets)


@pytest.mark.parametrize(
    "kernel, cheaper",
    [
        (Average(Hyperkernel(SetKernel(Gaussian(1.0))), TURNS, tolerance=10.0), "n_transforms"),
        (Average(SetKernel(Gaussian(1.0)), TURNS, side="both", tolerance=10.0), "n_transforms"),
    ],
)
def test_long_averages_over_sets_are_announced(monkeypatch, kernel, cheaper):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel(X, Z)
    monkeypatch.setattr(cost, "LONG_SECONDS", 0.0)
    monkeypatch.setattr(orbit_products, "ESTIMATE_FROM", 0.0)
    with pytest.warns(UserWarning, match=f"9 x 4 .* minutes .* {cheaper}") as warned:
        kernel(X, Z)
    assert warned[0].filename == __file__


def test_a_list_of_sets_of_different_sizes_is_refused_with_the_remedy():
    features = SetFeatures(OrbitFourier(None, 4))
    for use in (SetKernel(BASE), Hyperkernel(SetKernel(BASE)), features.fit):
        with pytest.raises(ParameterError, match="list of .* of different .*pad_sets"):
            use([np.ones((3, 2)), np.ones((4, 2))])
