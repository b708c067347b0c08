"""Base kernels and orbit averages: definitions, symmetry, invariance, definiteness."""

import pickle
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, DotProduct, WhiteKernel
from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from invariance import kernels as K
from invariance.groups import (
    CyclicShifts,
    Negation,
    OrthogonalMatrices,
    Permutations,
    SignedPermutations,
    SignFlips,
    Transformations,
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
    Polynomial,
)
from invariance.spectral import SignAveragedVonMises, SobolevKernel, Torus, VonMisesKernel

BASES = [Linear(), Polynomial(3, gamma=0.2), Gaussian(0.3), Laplacian(0.2), CDF(0.3, radius=5)]
TURN = OrthogonalMatrices([np.kron(np.eye(3), [[0.0, -1.0], [1.0, 0.0]])])
GROUPS = [CyclicShifts(6), SignFlips(6), Permutations(3, block=2), Negation(), TURN]


def points(n, d=6, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


@pytest.mark.parametrize("kernel", BASES, ids=repr)
def test_base_kernels_agree_with_their_formulas(kernel):
    X = points(4)
    Z = points(3, seed=1)
    gap = X[:, None] - Z[None]
    expected = {
        "Linear": X @ Z.T,
        "Polynomial": (1 + 0.2 * X @ Z.T) ** 3,
        "Gaussian": np.exp(-0.3 * np.square(gap).sum(-1)),
        "Laplacian": np.exp(-0.2 * np.abs(gap).sum(-1)),
    }.get(type(kernel).__name__)
    if expected is not None:
        assert_allclose(kernel(X, Z), expected)
    assert_allclose(kernel.diag(X), np.diag(kernel(X)))
    assert_allclose(kernel(X), kernel(X, X), atol=1e-7)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(BASES), st.sampled_from(GROUPS), st.integers(1, 8), st.integers(0, 10**6))
def test_the_average_over_a_group_is_the_double_mean_and_invariant(base, group, n, seed):
    X = points(n, seed=seed)
    Z = points(3, seed=seed + 1)
    K = Average(base, group)
    G = group.elements()
    orbits = [group.act(G, points).reshape(-1, 6) for points in (X, Z)]
    every_pair = base(*orbits).reshape(len(G), n, len(G), 3)
    assert_allclose(K(X, Z), every_pair.mean(axis=(0, 2)), rtol=1e-10, atol=1e-12)
    g = group.act(group.sample(1, seed), X)[0]
    h = group.act(group.sample(1, seed + 1), Z)[0]
    assert_allclose(K(g, h), K(X, Z), rtol=1e-10, atol=1e-12)
    gram = K(X)
    assert_allclose(gram, gram.T, rtol=1e-10, atol=1e-12)
    assert np.linalg.eigvalsh((gram + gram.T) / 2).min() > -1e-9 * np.abs(base(X)).max()


SIGN_FLIPS = SignFlips(4)
PERMUTATIONS = Permutations(4)


@pytest.mark.parametrize(
    ("base", "group", "one_sum"),
    [
        (VonMisesKernel(0.5), SignedPermutations(4), True),
        (SignAveragedVonMises(0.5), PERMUTATIONS, True),
        (SignAveragedVonMises(0.5) + Laplacian(0.1) * 2.0, PERMUTATIONS, True),
        (SobolevKernel(Torus(4, degree=2), smoothness=4.0), PERMUTATIONS, True),
        (Average(Laplacian(0.2), SIGN_FLIPS, n_transforms=3), PERMUTATIONS, False),
        (Average(Gaussian(0.2), CyclicShifts(2, block=2)), SIGN_FLIPS, False),
    ],
    ids=repr,
)
def test_the_double_mean_is_one_sum_if_the_group_preserves_the_base_kernel(base, group, one_sum):
    """If k0(gx, gz) = k0(x, z), one sum over g is enough; otherwise the mean stays double."""
    X = points(3, d=4)
    Z = points(2, d=4, seed=1)
    G = group.elements()
    K = Average(base, group)
    orbits = [group.act(G, points).reshape(-1, 4) for points in (X, Z)]
    every_pair = base(*orbits).reshape(len(G), 3, len(G), 2)
    assert_allclose(K(X, Z), every_pair.mean(axis=(0, 2)), rtol=1e-10)
    single = Average(base, group, side="second")
    assert (K.explain(X, Z).operations == single.explain(X, Z).operations) is one_sum


def test_averages_with_either_side_with_small_blocks_and_over_the_trivial_group():
    """The Laplacian kernel is not unitarily invariant: rotating one side is not enough."""
    X = points(9)
    Z = points(7, seed=1)
    both = Average(Laplacian(0.5), TURN)(X)
    assert np.abs(both - Average(Laplacian(0.5), TURN, side="both")(X)).max() < 1e-12
    for side in ("both", "second"):
        one_block = Average(Gaussian(0.3), SignFlips(6), side=side)
        small = Average(Gaussian(0.3), SignFlips(6), side=side, block_bytes=20_000)
        assert_allclose(small(X, Z), one_block(X, Z), rtol=1e-12)
    assert_allclose(Average(Gaussian(0.3), Permutations(1, block=6))(X), Gaussian(0.3)(X))


class WrappedKernel(K.Kernel):
    """A user-defined kernel with the inner form of another kernel."""

    unitary_invariant = True

    def __init__(self, inner):
        self.inner = inner

    def _gram(self, X, Y):
        return self.inner(X, Y)

    def inner_form(self, shape):
        return self.inner.inner_form(shape)


class WrappedGroup(Transformations):
    """A user-defined set of transformations that act as shifts."""

    unitary = True
    linear = True
    order = 12

    def __init__(self, inner):
        self.inner = inner

    @property
    def n_features(self):
        return self.inner.n_features

    def elements(self):
        return self.inner.elements()

    def _act(self, elements, X):
        return self.inner.act(elements, X)

    def as_shifts(self, elements):
        return self.inner.as_shifts(elements)


@pytest.mark.parametrize("reduced", [Average, BestFit])
def test_user_defined_kernels_and_groups_use_the_fast_methods(reduced):
    """The methods of an object decide how it is computed, not its class."""
    X = points(5, d=12)
    base = Gaussian(0.1)
    group = CyclicShifts(12)
    expected = reduced(base, group, side="second")
    for kernel in (
        reduced(WrappedKernel(base), group, side="second"),
        reduced(base, WrappedGroup(group), side="second"),
    ):
        assert_allclose(kernel(X), expected(X), rtol=1e-10)
        fast = {expected.explain(X).way, *expected.explain(X).alternatives}
        assert {kernel.explain(X).way, *kernel.explain(X).alternatives} == fast


class OfWeightedPoints(GaussianProcessKernel):
    """A kernel of points whose coordinates have different weights: shifts do not preserve it."""

    def __init__(self, base, weights):
        self.base = base
        self.weights = weights

    def __call__(self, X, Y=None, eval_gradient=False):
        return self.base(X * self.weights, None if Y is None else Y * self.weights)

    def diag(self, X):
        return self.base.diag(X)

    def is_stationary(self):
        return True


@pytest.mark.parametrize("kernel_over_group", [K.Average, K.BestFit])
def test_a_foreign_kernel_with_a_base_kernel_is_not_taken_for_a_sum(kernel_over_group):
    X = points(3, d=3)
    group = CyclicShifts(3)
    images = group.act(group.elements(), X)
    base = OfWeightedPoints(RBF(1.0), np.array([3.0, 1.0, 0.2]))
    if kernel_over_group is K.Average:
        expected = np.mean([[base(A, B) for B in images] for A in images], axis=(0, 1))
    else:
        expected = np.max([base(X, B) for B in images], axis=0)
    assert_allclose(kernel_over_group(base, group)(X), expected)


class RBFOfRanks(RBF):
    def __call__(self, X, Y=None, eval_gradient=False):
        ranks = np.argsort(np.argsort(X, axis=1), axis=1)
        return super().__call__(ranks, None if Y is None else np.argsort(np.argsort(Y, axis=1)))


class FirstProducts(DotProduct):
    def __call__(self, X, Y=None, eval_gradient=False):
        return super().__call__(X[:, :1], None if Y is None else Y[:, :1])


@pytest.mark.parametrize("base", [RBFOfRanks(), FirstProducts()], ids=repr)
def test_subclasses_of_kernels_of_scikit_learn_compute_their_own_values(base):
    X = points(3, d=3)
    group = CyclicShifts(3)
    images = group.act(group.elements(), X)
    double_mean = np.mean([[base(A, B) for B in images] for A in images], axis=(0, 1))
    assert_allclose(K.Average(base, group)(X, X.copy()), double_mean)
    largest = np.max([base(X, B) for B in images], axis=0)
    assert_allclose(K.BestFit(base, group)(X, X.copy()), largest)


def test_every_kernel_works_in_estimators_of_scikit_learn():
    X = points(20)
    y = np.arange(20) % 2
    for kernel in (*BASES, Average(Gaussian(0.3), SignFlips(6))):
        gram = kernel(X)
        ridge = gram @ np.linalg.solve(gram + 0.1 * np.eye(20), y)
        predicted = KernelRidge(kernel=kernel, alpha=0.1).fit(X, y).predict(X)
        assert_allclose(predicted, ridge, rtol=1e-6, atol=1e-8)
        process = GaussianProcessRegressor(kernel + WhiteKernel(0.1, "fixed"), alpha=1e-8)
        assert np.isfinite(process.fit(X, y.astype(float)).predict(X)).all()


IMAGES = Translations((4, 5), max_shift=1)
COMPOSED = [
    Average(Gaussian(0.3), IMAGES),
    Average(Gaussian(0.3), IMAGES, n_transforms=3),
    BestFit(Polynomial(2, 0.1), IMAGES),
    BestFit(Gaussian(0.3), IMAGES, n_transforms=3),
    BestFit(Locality((4, 5), window=3), IMAGES),
    Locality((4, 5), window=3),
]


@pytest.mark.parametrize("kernel", [*BASES, *COMPOSED], ids=repr)
def test_kernels_in_pipelines_can_be_pickled_and_take_data_frames(kernel):
    X = points(30, 20)
    Z = points(4, 20, seed=1)
    y = np.arange(30) % 3
    scaler = MinMaxScaler().fit(X)
    scaled = scaler.transform(X)
    new = scaler.transform(Z)
    model = make_pipeline(MinMaxScaler(), SVC(kernel=kernel)).fit(X, y)
    expected = SVC(kernel="precomputed").fit(kernel(scaled, scaled), y).predict(kernel(new, scaled))
    assert_array_equal(model.predict(Z), expected)
    twin = pickle.loads(pickle.dumps(model))
    assert repr(twin["svc"].kernel) == repr(kernel)
    assert_array_equal(twin.predict(Z), expected)
    frame = pd.DataFrame(X, columns=[f"pixel {i}" for i in range(20)])
    # Data frames store columns, arrays store rows: equal up to rounding.
    assert_allclose(kernel(frame, Z), kernel(X, Z), rtol=1e-12, atol=1e-12)
    assert_allclose(kernel(frame), kernel(X), rtol=1e-12, atol=1e-12)
    assert_allclose(kernel.diag(frame), kernel.diag(X), rtol=1e-12)


def test_grid_search_over_parameters_of_the_base_and_of_the_group():
    X = points(30, 20)
    y = np.arange(30) % 2
    model = make_pipeline(MinMaxScaler(), SVC(kernel=BestFit(Polynomial(2, 0.1), IMAGES)))
    grid = {"svc__kernel__base__degree": [1, 4], "svc__kernel__group__max_shift": [0, 1]}
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(X, y)
    scores = []
    for degree, max_shift in product((1, 4), (0, 1)):
        kernel = BestFit(Polynomial(degree, 0.1), Translations((4, 5), max_shift=max_shift))
        by_hand = make_pipeline(MinMaxScaler(), SVC(kernel=kernel))
        scores.append(cross_val_score(by_hand, X, y, cv=3).mean())
    assert len(set(scores)) > 1
    assert_allclose(search.cv_results_["mean_test_score"], scores)
    best = search.best_estimator_["svc"].kernel
    assert best.base.degree == search.best_params_["svc__kernel__base__degree"]
    assert best.group.max_shift == search.best_params_["svc__kernel__group__max_shift"]


@pytest.mark.parametrize("d", [1, 2, 5, 40])
def test_cdf_kernel_is_the_expectation_over_templates(d):
    """s P - c |x - z| is the average of s - max(<x, t>, <z, t>) over accepted templates."""
    rng = np.random.default_rng(d)
    x, z = rng.standard_normal((2, 1, d))
    x = x / np.linalg.norm(x)
    z = z / np.linalg.norm(z)
    t = rng.standard_normal((200_000, d)) / np.sqrt(d)
    accepted = np.square(t).sum(axis=1) < 1.3
    values = accepted * (1.3 - np.maximum(t @ x[0], t @ z[0]))
    gap = values.mean() - CDF(epsilon=0.3)(x, z)[0, 0]
    assert abs(gap) < 5 * values.std() / np.sqrt(len(t))
    t /= np.linalg.norm(t, axis=1, keepdims=True)
    values = 1.3 - np.maximum(t @ x[0], t @ z[0])
    gap = values.mean() - CDF(epsilon=0.3, templates="sphere")(x, z)[0, 0]
    assert abs(gap) < 5 * values.std() / np.sqrt(len(t)) + 1e-12


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "kernel",
    [
        Locality((28, 28), 7),
        Locality((28, 28), 7, powers=(2, 2, 4)),
        Polynomial(8, 1.0),
        BestFit(Locality((28, 28), 7), Translations((28, 28), max_shift=1)),
        BestFit(Polynomial(8, 1.0), Translations((28, 28), max_shift=1)),
        BestFit(Polynomial(8, 1.0), Translations((28, 28), max_shift=1), method="definition"),
        Average(Polynomial(8, 1.0), Negation()),
    ],
    ids=repr,
)
def test_pixels_that_overflow_single_precision_are_refused_with_the_remedy(kernel):
    pixels = np.random.default_rng(0).integers(0, 256, (2, 784)).astype(np.float32)
    pixels[0, 0] = 255
    for call in (kernel, kernel.diag):
        with pytest.raises(ValueError, match=r"beyond float32.*is 255: .*divide by 255"):
            call(pixels)
        assert np.isfinite(call(pixels.astype(float))).all()
    assert np.isfinite(kernel(pixels / np.float32(2550))).all()


@pytest.mark.parametrize("base", [Gaussian(0.1), Polynomial(3)], ids=repr)
def test_huge_points_are_refused_with_advice_to_scale_them(base):
    X = np.random.default_rng(0).standard_normal((5, 6)) * 1e200
    shifts = CyclicShifts(6)
    for kernel in (base, Average(base, shifts), BestFit(base, shifts), Hyperkernel(Polynomial(3))):
        with pytest.raises(ValueError, match="largest absolute feature of the points is .*scale"):
            kernel(X)


def test_points_of_a_wrong_shape_or_with_nan_are_refused():
    for X in (np.full((2, 6), np.nan), np.empty((0, 6)), np.ones(6), [np.ones(6), np.ones(5)]):
        with pytest.raises(ValueError):
            Average(Linear(), CyclicShifts(6))(X)
    for kernel in (*BASES, BestFit(Linear(), CyclicShifts(6))):
        for call in (kernel, kernel.diag, partial(kernel, points(3))):
            with pytest.raises(ValueError, match=r"flattened points.*got an array of shape .2, 3"):
                call(np.ones((2, 3, 2)))


@pytest.mark.parametrize("offset", [100, 1000, 30_000])
def test_single_precision_is_accurate_far_from_the_origin(offset):
    X = (offset + np.random.default_rng(0).standard_normal((40, 5))).astype(np.float32)
    expected = rbf_kernel(X.astype(float), gamma=0.3)
    assert_allclose(Gaussian(0.3)(X), expected, atol=1e-6)
    assert_allclose(Gaussian(0.3)(X, X[:7]), expected[:, :7], atol=1e-6)
    group = CyclicShifts(5)
    transformed = group.act(group.elements(), X)
    values = np.array(
        [rbf_kernel(X.astype(float), Z.astype(float), gamma=0.3) for Z in transformed]
    )
    assert_allclose(Average(Gaussian(0.3), group)(X), values.mean(axis=0), atol=1e-6)
    assert_allclose(BestFit(Gaussian(0.3), group)(X), values.max(axis=0), atol=1e-6)
    assert Average(Gaussian(0.3), group)(X).dtype == np.float32


@pytest.mark.parametrize(
    "kernel",
    [
        K.Gaussian(0.5),
        K.Laplacian(0.5),
        K.Polynomial(2),
        K.Linear(),
        K.CDF(radius=4.0),
        K.Hyperkernel(K.Laplacian(0.5)),
        K.Average(K.Laplacian(0.5), CyclicShifts(3)),
        K.BestFit(K.Laplacian(0.5), CyclicShifts(3)),
    ],
    ids=repr,
)
def test_two_arrays_of_single_precision_give_single_precision(kernel):
    X = np.random.default_rng(0).standard_normal((4, 3))
    narrow = X.astype(np.float32)
    assert kernel(narrow).dtype == kernel(narrow, narrow[:2]).dtype == np.float32
    assert kernel(narrow, X).dtype == kernel(X).dtype == np.float64
    assert_allclose(kernel(narrow), kernel(narrow.astype(float)), atol=1e-5)


@pytest.mark.parametrize("gamma, scale", [(1e140, 1e-70), (1e-140, 1e70), (-2e140, 1e-70)])
@pytest.mark.parametrize("degree, coef0", [(4, 1.0), (3, 0.0), (12, -0.5)])
def test_an_average_of_powers_does_not_depend_on_the_unit(gamma, scale, degree, coef0):
    X = np.random.default_rng(0).standard_normal((3, 3))
    base = K.Polynomial(degree, gamma, coef0=coef0)
    plain = K.Polynomial(degree, gamma * scale**2, coef0=coef0)
    for group in (Permutations(3), SignFlips(3)):
        gram = K.Average(base, group)(scale * X)
        assert_allclose(gram, K.Average(plain, group)(X), rtol=1e-9)


def test_an_average_of_powers_that_overflow_is_refused_like_the_power():
    base = K.Polynomial(4, coef0=1e140)
    for kernel in (base, K.Average(base, Permutations(3))):
        with pytest.raises(ValueError, match="values beyond float64.*scale them down"):
            kernel(np.ones((1, 3)))
