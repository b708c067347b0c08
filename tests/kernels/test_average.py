"""Averages: nodes of quadratures over rotations, normalization, and hyperkernels."""

import re
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import WhiteKernel
from sklearn.metrics.pairwise import rbf_kernel

from invariance import beyond
from invariance import groups as G
from invariance.features import OrbitFourier
from invariance.kernels import Average, Gaussian, Hyperkernel, Linear, Polynomial
from invariance.linear import IndefiniteWarning, RLSRegressor


@pytest.mark.parametrize(("kappa", "gamma"), [(10.0, 0.3), (1000.0, 0.3), (0.0, 3.0), (10.0, 3.0)])
def test_the_number_of_nodes_follows_the_density_and_the_bandwidth(kappa, gamma):
    X = np.random.default_rng(0).standard_normal((6, 5))
    frequencies = [0, 1, 1, 2, 2]
    fine = G.CircleAction(frequencies, G.VonMises(kappa), n_nodes=4000)
    exact = Average(Gaussian(gamma), fine)(X)
    gram = Average(Gaussian(gamma), G.CircleAction(frequencies, G.VonMises(kappa)))(X)
    assert np.abs(gram - exact).max() < 1e-4 * exact.max()


def test_nodes_for_rough_images_and_for_densities_that_are_too_narrow():
    X = np.random.default_rng(0).standard_normal((4, 36))
    base = Gaussian(0.5)
    fine = G.Rotations((6, 6), degrees=np.arange(1, 14400, 2) / 40)
    exact = Average(base, fine, side="second")(X, X[::-1])
    values = Average(base, G.Rotations((6, 6)), side="second", tolerance=0.003)(X, X[::-1])
    assert np.abs(values - exact).max() < 0.02 * exact.max()
    with pytest.warns(UserWarning, match=r"is too narrow for \d+ nodes"):
        Average(Gaussian(1.0), G.CircleAction([1, 1], G.VonMises(1e9)))(np.eye(2))


@pytest.mark.parametrize(
    ("kappa", "gamma", "n_nodes"), [(10.0, 0.3, 9), (0.0, 3.0, 9), (1000.0, 0.3, 48)]
)
def test_explicit_nodes_are_used_and_a_warning_estimates_the_error_of_too_few(
    kappa, gamma, n_nodes
):
    X = np.random.default_rng(0).standard_normal((6, 5))
    frequencies = [0, 1, 1, 2, 2]
    coarse = G.CircleAction(frequencies, G.VonMises(kappa), n_nodes=n_nodes)
    kernel = Average(Gaussian(gamma), coarse)
    with pytest.warns(UserWarning, match=f"{n_nodes} nodes leave a relative error of") as caught:
        gram = kernel(X)
    exact = Average(Gaussian(gamma), G.CircleAction(frequencies, G.VonMises(kappa)))(X)
    error = np.abs(gram - exact).max() / exact.max()
    estimate = float(re.search(r"about ([\d.e+-]+),", str(caught[0].message))[1])
    assert error > 1e-3 and 0.3 * error < estimate < 3 * error
    elements = coarse.elements()
    weights = coarse.weights()
    transformed = coarse.act(elements, X)
    rows = transformed.reshape(-1, X.shape[1])
    values = rbf_kernel(rows, rows, gamma=gamma).reshape(n_nodes, len(X), n_nodes, len(X))
    weights = np.full(n_nodes, 1 / n_nodes) if weights is None else weights
    assert_allclose(gram, np.einsum("r,s,rnsm->nm", weights, weights, values), rtol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Average(Gaussian(gamma), coarse, tolerance=10.0)(X)
        Average(Gaussian(0.01), G.CircleAction(frequencies, G.VonMises(1.0), n_nodes=64))(X)


def test_explicit_nodes_are_checked_once_and_again_after_a_change():
    doublings = []

    class Circle(G.CircleAction):
        def refined(self, factor):
            doublings.extend([factor] * (factor == 2))
            return super().refined(factor)

    X = np.random.default_rng(0).standard_normal((6, 5))
    kernel = Average(Gaussian(0.3), Circle([0, 1, 1, 2, 2], G.VonMises(1.0), n_nodes=48))
    kernel(X), kernel(X), kernel(X[:3], X)
    assert len(doublings) == 1
    kernel(2 * X)
    assert len(doublings) == 2
    for name, coarse in (("base__gamma", 300.0), ("group__density__kappa", 1000.0)):
        fine = kernel.get_params()[name]
        kernel.set_params(**{name: coarse})
        with pytest.warns(UserWarning, match="48 nodes leave a relative error") as caught:
            kernel(X)
        assert caught[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            kernel(X), kernel(X[:3], X), kernel(3 * X)  # no second warning
            kernel.set_params(tolerance=10.0)(X)
            kernel.set_params(**{name: fine}, tolerance=1e-4)(X)


def test_a_gaussian_process_warns_once_about_too_few_nodes():
    X = np.random.default_rng(0).standard_normal((12, 5))
    kernel = Average(Gaussian(3.0), G.CircleAction([0, 1, 1, 2, 2], n_nodes=7), tolerance=1e-9)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        GaussianProcessRegressor(kernel + WhiteKernel()).fit(X, X[:, 0])
    assert sum("7 nodes leave" in str(each.message) for each in caught) == 1


def test_a_quadrature_that_is_not_positive_definite_warns():
    X = np.random.default_rng(0).standard_normal((40, 9))
    rule = beyond.Rotations3D(2)  # 32 nodes, too few for this kernel
    with pytest.warns(UserWarning, match="32 nodes .* eigenvalues may be negative .* side='both'"):
        gram = Average(Gaussian(0.5), rule)(X)
    assert np.linalg.eigvalsh(gram)[0] < -1e-3 * gram.max()
    with pytest.warns(IndefiniteWarning, match="not positive semi-definite"):
        RLSRegressor(kernel=Average(Gaussian(0.5), rule, tolerance=10.0)).fit(X, X[:, 0])
    both = Average(Gaussian(0.5), rule, side="both", tolerance=10.0)(X)
    assert np.linalg.eigvalsh(both)[0] > -1e-12 * both.max()


# -- normalize=True: the cosine of the mean embeddings of two orbits -------------------------------

RNG = np.random.default_rng(0)
CASES = [
    (Gaussian(0.2), G.CyclicShifts(6), {}),
    (Polynomial(3), G.SignFlips(6), {}),
    (Gaussian(0.2), G.Translations((2, 3), 1, boundary="zero"), {"side": "both"}),
    (Gaussian(0.2), G.Rotations((2, 3), degrees=[-10, 0, 10]), {}),
    (
        Gaussian(0.2),
        beyond.PlaneRotations(),
        {"tolerance": 1e-12},
    ),  # the points decide how many nodes
]


@pytest.mark.parametrize(("base", "group", "options"), CASES, ids=repr)
def test_the_normalized_average_is_the_average_divided_by_the_norms(base, group, options):
    X = RNG.standard_normal((20, 6))
    Y = RNG.standard_normal((4, 6))
    plain = Average(base, group, **options)
    kernel = Average(base, group, normalize=True, **options)
    norms = [np.sqrt([plain(x[None])[0, 0] for x in A]) for A in (X, Y)]
    assert_allclose(kernel(X, Y), plain(X, Y) / np.outer(*norms), rtol=1e-8)
    assert_allclose(kernel(X).diagonal(), 1, rtol=1e-8)
    assert_allclose(kernel.diag(X), 1)


# -- the Gaussian kernel on top of another kernel's embedding --------------------------------------

X, Y = (np.random.default_rng(seed).standard_normal((12 - 5 * seed, 5)) for seed in (0, 1))


def test_the_hyperkernel_is_the_gaussian_kernel_of_explicit_features():
    assert_allclose(Hyperkernel(Linear(), gamma=0.3)(X, Y), Gaussian(0.3)(X, Y), rtol=1e-12)
    features = OrbitFourier(G.CyclicShifts(5), 40, gamma=0.2, random_state=0).fit(X)
    first = features.transform(X)
    second = features.transform(Y)
    kernel = Hyperkernel(Linear(), gamma=2.0)
    assert_allclose(kernel.diag(X), kernel(X).diagonal())
    assert_allclose(kernel(X), kernel(X, X.copy()), atol=1e-9)
    squares = [(Z**2).sum(axis=1) for Z in (first, second)]
    assert_allclose(kernel.of_gram(first @ second.T, *squares), Gaussian(2.0)(first, second))
