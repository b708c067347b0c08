"""Hyperparameters in Gaussian processes: bounds, derivatives, and kernels of scikit-learn."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Exponentiation,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from invariance import kernels as K
from invariance import spectral as S
from invariance.groups import CyclicShifts, CyclicTranslations, Permutations, SignFlips
from invariance.orbits import form_of

GROUP = CyclicShifts(6)
SKLEARN_KERNELS = [
    RBF(1.3),
    Matern(1.3),
    RationalQuadratic(),
    ConstantKernel(2.0) * RBF(0.7) + Matern(2.0, nu=2.5),
    DotProduct(0.5),
    Exponentiation(DotProduct(0.5), 3),
]
KERNELS = [
    K.Gaussian(0.3),
    K.Laplacian(0.2),
    K.Polynomial(3, 0.3),
    K.Average(K.Gaussian(0.3), GROUP),
    K.Average(K.Gaussian(0.3), GROUP, side="second"),
    K.Average(K.Gaussian(0.3), GROUP, n_transforms=4),
    K.Average(K.Laplacian(0.3), GROUP),
    K.Average(K.Gaussian(0.3), SignFlips(6)),
    K.Average(K.Gaussian(0.3), CyclicTranslations((2, 3))),
    K.Average(K.Polynomial(3, 0.3), Permutations(6)),
    K.Average(RBF(np.full(6, 1.3)), GROUP),
    K.Average(K.Gaussian(0.3), GROUP, normalize=True),
    K.BestFit(K.Gaussian(0.3), GROUP),
    K.BestFit(K.Laplacian(0.3), GROUP),
    K.BestFit(K.Gaussian(0.3), Permutations(6)),
    K.BestFit(K.Polynomial(2, 0.3), GROUP),
    *(S.VonMisesKernel(0.7, normalize=normalize) for normalize in (True, False)),
    *(S.SignAveragedVonMises(0.7, normalize=normalize) for normalize in (True, False)),
    S.SobolevKernel(S.Torus(6, degree=2), 0.7),
    ConstantKernel() * K.Average(K.Gaussian(0.3), GROUP) + WhiteKernel(),
    *(K.Average(base, GROUP) for base in SKLEARN_KERNELS),
    *(K.BestFit(base, GROUP) for base in SKLEARN_KERNELS),
]


def points(n=12, d=6, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def differences(kernel, X, step=1e-5):
    """Central differences with respect to the logarithm of each hyperparameter."""
    pairs = [
        [kernel.clone_with_theta(kernel.theta + sign * step * unit)(X) for sign in (1, -1)]
        for unit in np.eye(len(kernel.theta))
    ]
    return np.stack([(upper - lower) / (2 * step) for upper, lower in pairs], axis=-1)


@pytest.mark.filterwarnings("ignore:Polynomial of even degree:UserWarning")
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: " ".join(repr(k).split()))
def test_derivatives_agree_with_central_differences(kernel):
    X = points()
    gram, gradient = kernel(X, eval_gradient=True)
    assert_allclose(gram, kernel(X), rtol=1e-12)
    assert gradient.shape == (12, 12, len(kernel.theta)) and len(kernel.theta) > 0
    scale = np.abs(gradient).max()
    assert scale > 1e-3
    assert_allclose(gradient, differences(kernel, X), atol=2e-8 * max(scale, 1))
    if isinstance(kernel, K.Gaussian):
        assert_allclose(gradient[:, :, 0], gram * np.log(gram), atol=1e-11)


def test_hyperparameters_have_names_bounds_and_can_be_fixed():
    kernel = K.Average(K.Gaussian(0.3, gamma_bounds=(1e-3, 10)), GROUP)
    (gamma,) = kernel.hyperparameters
    assert (gamma.name, gamma.fixed, kernel.n_dims) == ("base__gamma", False, 1)
    assert_allclose(kernel.bounds, np.log([[1e-3, 10]]))
    changed = kernel.clone_with_theta([np.log(2.0)])
    assert_allclose([changed.base.gamma, kernel.base.gamma], [2.0, 0.3])
    fixed = K.Average(K.Gaussian(0.3, gamma_bounds="fixed"), GROUP)
    assert fixed(points(), eval_gradient=True)[1].shape == (12, 12, 0)
    assert len(K.Polynomial(2, 0.3, coef0=0.0).theta) == 1  # zero has no logarithm
    assert len(S.VonMisesKernel(0.7, eta_bounds="fixed").theta) == 0
    for kernel in (K.Linear(), K.CDF(), K.Locality((2, 3), 1)):
        assert kernel.n_dims == 0 and kernel(points(), eval_gradient=True)[1].shape[2] == 0
    foreign = K.Average(ConstantKernel(2.0) * RBF(0.7), GROUP)
    names = [h.name for h in foreign.hyperparameters]
    assert names == ["base__k1__constant_value", "base__k2__length_scale"]


@pytest.mark.parametrize("scale", [1.0, ConstantKernel(2.0)], ids=["plain", "product"])
def test_a_gaussian_process_with_an_indefinite_kernel_warns_and_names_the_remedy(scale):
    X = points(30)
    message = (
        "BestFit is not positive definite .* take Average, or al.* or GramTransformer and Kern"
    )
    kernel = scale * K.BestFit(DotProduct(0.5), GROUP)
    with pytest.warns(UserWarning, match=message), pytest.raises(np.linalg.LinAlgError):
        GaussianProcessRegressor(kernel).fit(X, X[:, 0])
    # Without an optimizer the process calls the kernel as any other caller does; the process's own
    # error names the kernel.
    with pytest.raises(np.linalg.LinAlgError, match="BestFit.*positive definite.*alpha"):
        GaussianProcessRegressor(kernel, optimizer=None).fit(X, X[:, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        K.Average(K.Gaussian(0.3), GROUP)(X, eval_gradient=True)
        K.BestFit(DotProduct(0.5), GROUP)(X)  # a plain call does not warn


def test_a_user_defined_kernel_has_derivatives():
    class Cauchy(K.Gaussian):
        def _gram(self, X, Y):
            return 1 / (1 - np.log(super()._gram(X, Y)))

    for kernel in (Cauchy(0.3), K.Average(Cauchy(0.3), GROUP), K.BestFit(Cauchy(0.3), GROUP)):
        gradient = kernel(points(), eval_gradient=True)[1]
        assert_allclose(gradient, differences(kernel, points()), atol=1e-8)


@pytest.mark.parametrize("base", SKLEARN_KERNELS, ids=repr)
def test_kernels_of_scikit_learn_use_correlations_unless_they_are_sums_or_products(base):
    X = points(9, 64)
    Z = points(5, 64, 1)
    group = CyclicTranslations((8, 8))
    values = np.array([base(X, transformed) for transformed in group.act(group.elements(), Z)])
    simple = isinstance(base, (RBF, RationalQuadratic, DotProduct))  # Matern is an RBF
    reduced_kernels = K.Average(base, group, side="second"), K.BestFit(base, group)
    for kernel, expected in zip(
        reduced_kernels, (values.mean(axis=0), values.max(axis=0)), strict=True
    ):
        plan = kernel.explain(points(200, 64))
        assert ("correlation" in {plan.way, *plan.alternatives}) is simple
        assert_allclose(kernel(X, Z), expected, rtol=1e-9, atol=1e-12)


def test_kernels_that_are_not_a_function_of_one_number_agree_with_the_definition():
    X = points(9)
    Z = points(5, seed=1)
    moved_X, moved_Z = (GROUP.act(GROUP.elements(), A) for A in (X, Z))
    for base in (RBF(np.arange(1.0, 7.0)), RBF() * DotProduct(), Exponentiation(DotProduct(), 2)):
        assert form_of(base, (1, 6, 1)) is None
        both = np.array([[base(a, b) for b in moved_Z] for a in moved_X])
        one_sided = np.array([base(X, b) for b in moved_Z])
        assert_allclose(K.BestFit(base, GROUP)(X, Z), one_sided.max(axis=0), rtol=1e-10)
        assert_allclose(K.Average(base, GROUP)(X, Z), both.mean(axis=(0, 1)), rtol=1e-10)


def test_a_gaussian_process_finds_a_good_gamma_from_two_decades_away():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 6))
    Z = rng.standard_normal((300, 6))

    def target(X):
        return np.cos(X * np.roll(X, 1, axis=1)).sum(axis=1) + np.tanh(X).sum(axis=1)

    y = target(X) + 0.1 * rng.standard_normal(len(X))

    def score(gamma, bounds=(1e-5, 1e5)):
        kernel = ConstantKernel() * K.Average(K.Gaussian(gamma, gamma_bounds=bounds), GROUP)
        model = GaussianProcessRegressor(kernel + WhiteKernel(), normalize_y=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(X, y).score(Z, target(Z))

    grid = [score(gamma, "fixed") for gamma in (0.1, 1.0, 100.0)]
    assert grid[2] < 0.1 < 0.8 < max(grid)
    for gamma in (1e-3, 10.0):
        assert score(gamma) > max(grid) - 0.01


@pytest.mark.parametrize(
    "base",
    [
        K.Linear(),
        K.CDF(0.5),
        K.Gaussian(0.5, gamma_bounds="fixed"),
        K.Laplacian(0.5, gamma_bounds="fixed"),
        K.Polynomial(3, coef0=0.0, gamma_bounds="fixed"),
        ConstantKernel(2.0, "fixed") * K.Gaussian(0.5, gamma_bounds="fixed"),
    ],
    ids=str,
)
@pytest.mark.parametrize("reduced", [K.BestFit, K.Average, lambda base, _: base])
def test_a_gaussian_process_takes_kernels_without_a_parameter_to_tune(base, reduced):
    """Alone, times a tuned constant, and plus tuned noise."""
    X = np.random.default_rng(0).standard_normal((8, 4))
    kernel = reduced(base, SignFlips(4))
    for tuned in (kernel, ConstantKernel(1.0) * kernel, kernel + WhiteKernel(0.1)):
        gram, gradient = tuned(X, eval_gradient=True)
        assert gradient.shape == (8, 8, len(tuned.theta))
        assert_allclose(gram, tuned(X))
        model = GaussianProcessRegressor(tuned, alpha=1.0).fit(X, X[:, 0])
        assert np.isfinite(model.predict(X)).all()
