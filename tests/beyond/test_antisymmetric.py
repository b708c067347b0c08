"""Antisymmetric kernels: definition, signs, semi-definiteness, learned functions."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from invariance import groups as G
from invariance.beyond import Antisymmetric, Rotations3D
from invariance.core.parameters import ParameterError
from invariance.kernels import Gaussian, Polynomial
from invariance.linear import RLSRegressor

RNG = np.random.default_rng(0)
X, Z = RNG.standard_normal((2, 9, 6))

MIRROR = [[1, 0, 0], [0, 1, 0], [0, 0, -1]]
QUARTER_TURN = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]


def product_of_signs(elements):
    """Sign of a composition of a permutation of two blocks and a negation: of both parts."""
    return np.where(elements[:, 0] == 1, 1, -1) * elements[:, -1]


#: Groups, the parameter ``sign``, and the signs of the elements unless there are many.
CASES = {
    "swapped blocks": (G.Permutations(2, block=3), "determinant", [1, -1]),
    "odd functions": (G.Negation(), "determinant", [1, -1]),
    "orders": (G.Permutations(3, block=2), "determinant", None),
    "signs": (G.SignFlips(6), "determinant", None),
    "swapped columns": (G.Permutations(2).on_columns([1, 4]), "determinant", [1, -1]),
    "mirrored points": (
        G.OnPoints(G.OrthogonalMatrices([MIRROR, QUARTER_TURN]), 3),
        "determinant",
        None,
    ),
    "function": (G.Permutations(2, block=3).then(G.Negation()), product_of_signs, [1, -1, -1, 1]),
}


def signs_of(group, expected):
    """The signs of the elements, from the list, or from the determinant of a small action."""
    elements = group.elements()
    if expected is not None:
        return elements, np.array(expected)
    small = {
        "Permutations": lambda: G.Permutations(3),
        "SignFlips": lambda: G.SignFlips(6),
        "OnPoints": lambda: G.OrthogonalMatrices([MIRROR, QUARTER_TURN]),
    }[type(group).__name__]()
    size = small.n_features or elements.shape[-1]
    return elements, np.rint(np.linalg.det(small.act(elements, np.eye(size))))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("base", [Gaussian(0.1), Polynomial(3), RBF(2.0)], ids=repr)
def test_antisymmetric_kernels_agree_with_the_definition(name, base):
    group, sign, expected_signs = CASES[name]
    kernel = Antisymmetric(base, group, sign)
    elements, signs = signs_of(group, expected_signs)
    assert len(set(signs)) == 2
    images = group.act(elements, Z)
    expected = np.mean([s * base(X, z) for s, z in zip(signs, images, strict=True)], axis=0)
    assert_allclose(kernel(X, Z), expected, atol=1e-10)
    # Functions of the kernel change sign, in both arguments, and the kernel is semi-definite.
    transformed = group.act(elements, X).reshape(-1, 6)
    assert_allclose(kernel(transformed, Z), np.kron(signs[:, None], kernel(X, Z)), atol=1e-10)
    assert_allclose(kernel(Z, transformed), np.kron(signs[None], kernel(Z, X)), atol=1e-10)
    gram = kernel(X)
    assert_allclose(gram, gram.T, atol=1e-10)
    assert_allclose(kernel.diag(X), gram.diagonal(), atol=1e-10)
    assert np.linalg.eigvalsh(gram).min() > -1e-10 * np.abs(base(X)).max()


def test_both_arguments_are_transformed_if_the_base_is_not_preserved():
    """A Gaussian of rescaled columns is not preserved by a swap of two columns."""
    group = G.Permutations(2, block=3)
    base = RBF(np.array([1.0, 2.0, 3.0, 4.0, 1.0, 2.0]))
    scaled = Antisymmetric(base, group)
    swapped_X = X[:, [3, 4, 5, 0, 1, 2]]
    swapped_Z = Z[:, [3, 4, 5, 0, 1, 2]]
    expected = base(X, Z) - base(swapped_X, Z) - base(X, swapped_Z) + base(swapped_X, swapped_Z)
    assert_allclose(scaled(X, Z), expected / 4, atol=1e-12)
    assert_allclose(scaled(swapped_X, Z), -scaled(X, Z), atol=1e-12)


def test_learned_functions_change_sign():
    y = X[:, 0] * X[:, 1] - X[:, 3] * X[:, 4]
    swapped = Z[:, [3, 4, 5, 0, 1, 2]]
    kernel = Antisymmetric(Gaussian(0.2), G.Permutations(2, block=3))
    models = [
        RLSRegressor(kernel=kernel, alphas=[1e-3], fit_intercept=False),
        GaussianProcessRegressor(kernel, alpha=1e-6, random_state=0),
    ]
    for model in models:
        predicted = model.fit(X, y).predict(Z)
        assert_allclose(model.predict(swapped), -predicted, atol=1e-8)
        assert np.abs(predicted).max() > 0.1
    tuned = models[1].kernel_
    assert tuned.base.gamma != 0.2


def test_gradients_are_those_of_finite_differences():
    kernel = Antisymmetric(Gaussian(0.2), G.Negation())
    gram, gradient = kernel(X, eval_gradient=True)
    step = 1e-6
    upper = kernel.clone_with_theta(kernel.theta + step)(X)
    lower = kernel.clone_with_theta(kernel.theta - step)(X)
    assert_allclose(gradient[:, :, 0], (upper - lower) / (2 * step), atol=1e-8)
    assert_allclose(gram, kernel(X))


def test_kernels_can_be_cloned_pickled_and_take_single_precision():
    group, sign, _ = CASES["function"]
    kernel = Antisymmetric(Gaussian(0.1), group, sign)
    assert np.array_equal(clone(kernel)(X), kernel(X))
    assert np.array_equal(pickle.loads(pickle.dumps(kernel))(X), kernel(X))
    single = kernel(X.astype(np.float32))
    assert single.dtype == np.float32
    assert_allclose(single, kernel(X), atol=1e-5)


@pytest.mark.parametrize(
    ("group", "sign", "message"),
    [
        (Rotations3D(), "determinant", "finite group"),
        (G.Translations((4, 3), 1), "determinant", "finite group"),
        (G.Permutations(2, block=3).then(G.Negation()), "determinant", "function of elements"),
        (G.Negation(), lambda elements: np.zeros(len(elements)), "numbers 1 or -1"),
        (G.Negation(), lambda elements: np.ones(3), "2 numbers 1 or -1"),
        (G.CyclicShifts(3, block=2), lambda e: np.where(e[:, 0] == 1, 1, -1), "product"),
        (G.Negation(), "parity", "sign"),
        (None, "determinant", "group"),
    ],
)
def test_invalid_groups_and_signs_are_refused(group, sign, message):
    with pytest.raises(ParameterError, match=message):
        Antisymmetric(Gaussian(0.1), group, sign)(X)
