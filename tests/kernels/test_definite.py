"""Best fits that are known to be positive semi-definite, by the eigenvalues of Gram matrices."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from invariance import groups as G
from invariance.kernels import (
    CDF,
    Average,
    BestFit,
    Gaussian,
    GramTransformer,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
)
from invariance.linear import RLSRegressor
from invariance.orbits import Form

TURN = np.array([[-1, -np.sqrt(3)], [np.sqrt(3), -1]]) / 2  # a third of a turn
MIRROR = np.diag([1.0, -1.0])
TRIANGLE = G.OrthogonalMatrices([TURN, MIRROR])


class Exponential(Kernel):
    """exp(<x, z> / 100), a user's kernel of inner products that declares to be definite."""

    unitary_invariant = True
    positive_definite = True

    def inner_form(self, shape):
        return Form(lambda values, xp: xp.exp(0.01 * values), rate=0.01)


def point_sets(d, group):
    """Random points, points with ties and zeros, points near few orbits, points of many sizes."""
    rng = np.random.default_rng(0)
    yield rng.standard_normal((60, d))
    yield rng.integers(-1, 2, (60, d)).astype(float)
    yield np.concatenate([np.eye(d), -np.eye(d), np.ones((1, d)), np.zeros((1, d))])
    few = rng.standard_normal((4, d))
    images = group.act(group.sample(15, 0), few).reshape(-1, d)
    yield images + 1e-3 * rng.standard_normal(images.shape)
    yield np.exp(rng.standard_normal((60, 1))) * rng.standard_normal((60, d))


def least_eigenvalue(kernel, X):
    """Least eigenvalue of the Gram matrix of points, relative to the largest."""
    gram = kernel(X)
    assert_allclose(gram, gram.T, atol=1e-9 * np.abs(gram).max())
    eigenvalues = np.linalg.eigvalsh((gram + gram.T) / 2)
    return eigenvalues[0] / np.abs(eigenvalues).max()


def pushed_down(kernel, X, n_steps=300):
    """Least relative eigenvalue after random steps of single points that lower it."""
    rng = np.random.default_rng(1)
    lowest = least_eigenvalue(kernel, X)
    for step in range(n_steps):
        moved = X.copy()
        i = rng.integers(len(X))
        moved[i] += 0.5 ** (step % 5) * rng.standard_normal(X.shape[1])
        value = least_eigenvalue(kernel, moved)
        if value < lowest:
            lowest, X = value, moved
    return lowest


DEFINITE = {
    "orders": BestFit(Linear(), G.Permutations(4)),
    "signs, Gaussian": BestFit(Gaussian(0.3), G.SignFlips(3)),
    "orders and signs, cubic": BestFit(Polynomial(3, coef0=0.5), G.SignedPermutations(3)),
    "orders, cubic": BestFit(Polynomial(3, coef0=0.0), G.Permutations(4)),
    "triangle": BestFit(Linear(), TRIANGLE),
    "triangle, Gaussian": BestFit(Gaussian(1.0), TRIANGLE),
    "triangle, exponential": BestFit(Exponential(), TRIANGLE),
    "triangle, first argument": BestFit(Linear(), TRIANGLE, side="first"),
    "orders, Laplacian": BestFit(Laplacian(0.5), G.Permutations(4)),
    "signs, Laplacian": BestFit(Laplacian(0.5), G.SignFlips(3)),
    "orders, then signs": BestFit(Gaussian(0.5), G.Permutations(3).then(G.SignFlips(3))),
    "a product": BestFit(Linear(), G.DirectProduct([G.Permutations(3), TRIANGLE])),
    "two halves": BestFit(Linear(), G.GeneratedPermutations([[1, 0, 2, 3], [0, 1, 3, 2]])),
    "no transformation": BestFit(Polynomial(2), G.Permutations(1, block=3)),
    "columns": BestFit(Linear(), G.Permutations(2).on_columns([0, 2])),
}

NOT_DEFINITE = {
    "shifts": BestFit(Linear(), G.CyclicShifts(4)),
    "shifts, Gaussian": BestFit(Gaussian(0.5), G.CyclicShifts(4)),
    "rotations": BestFit(Linear(), G.OrthogonalMatrices([TURN])),
    "one sign": BestFit(Linear(), G.Negation().on_columns([0, 1, 2])),
    "blocks": BestFit(Gaussian(0.5), G.Permutations(3, block=2)),
    "even orders": BestFit(Linear(), G.GeneratedPermutations([[1, 2, 0, 3], [1, 0, 3, 2]])),
    "shifts, exponential": BestFit(Exponential(), G.CyclicShifts(4)),
}

#: Nothing is known of these; all have negative eigenvalues.
UNKNOWN = {
    "orders, quadratic": BestFit(Polynomial(2), G.Permutations(3)),
    "orders, negative constant": BestFit(Polynomial(3, coef0=-1.0), G.Permutations(3)),
    "orders, decreasing": BestFit(Polynomial(1, gamma=-1.0), G.Permutations(3)),
    "triangle, Laplacian": BestFit(Laplacian(0.5), TRIANGLE),
    "some orders": BestFit(Linear(), G.Permutations(4), n_transforms=5),
    "shifts to the right": BestFit(Linear(), G.Translations((1, 5), shifts=[[0, 0], [0, 1]])),
    "shifts, cubic": BestFit(Polynomial(3, coef0=0.0), G.CyclicShifts(4)),
}


def dimension(kernel):
    return kernel.group.n_features or 3


@pytest.mark.parametrize("name", DEFINITE)
def test_known_kernels_have_no_negative_eigenvalue(name):
    kernel = DEFINITE[name]
    assert kernel.positive_definite is True
    for X in point_sets(dimension(kernel), kernel.group):
        assert least_eigenvalue(kernel, X) > -1e-12
    few = np.random.default_rng(2).standard_normal((6, dimension(kernel)))
    assert pushed_down(kernel, few) > -1e-12


@pytest.mark.filterwarnings("ignore:Polynomial of even degree")
@pytest.mark.parametrize("name", [*NOT_DEFINITE, *UNKNOWN])
def test_other_kernels_have_a_negative_eigenvalue(name):
    kernel = (NOT_DEFINITE | UNKNOWN)[name]
    assert kernel.positive_definite is (False if name in NOT_DEFINITE else None)
    lowest = 0.0
    for X in point_sets(dimension(kernel), kernel.group):
        gram = kernel(X)
        eigenvalues = np.linalg.eigvalsh((gram + gram.T) / 2)
        lowest = min(lowest, eigenvalues[0] / np.abs(eigenvalues).max())
    assert lowest < -1e-6


def test_the_answer_follows_the_parameters():
    kernel = BestFit(Linear(), G.Permutations(4))
    assert kernel.positive_definite is True
    kernel.group = G.CyclicShifts(4)
    assert kernel.positive_definite is False
    kernel.base = Polynomial(2)
    assert kernel.positive_definite is None


def test_base_kernels_know_whether_they_are_definite():
    assert all(base.positive_definite is True for base in (Linear(), Gaussian(), Laplacian()))
    assert Polynomial(2, coef0=0.0).positive_definite is True
    assert Polynomial(2, coef0=-1.0).positive_definite is None
    assert Polynomial(3, gamma=-1.0).positive_definite is None
    # k = s P - c |x - z| is definite for points in a ball only.
    assert CDF().positive_definite is None
    assert BestFit(CDF(), G.Permutations(3)).positive_definite is None
    assert BestFit(RBF(), G.Permutations(3)).positive_definite is None
    assert Average(Gaussian(), G.Permutations(3)).positive_definite is None


def test_a_subclass_with_its_own_values_knows_nothing():
    with pytest.warns(UserWarning, match="defines _gram"):

        class Shifted(Gaussian):
            def _gram(self, X, Y):
                return super()._gram(X, Y) - 0.5

    assert Shifted().positive_definite is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")

        class Lower(BestFit):
            def _gram(self, X, Y):
                return super()._gram(X, Y) - 1

    assert Lower(Linear(), G.Permutations(3)).positive_definite is None


@pytest.mark.parametrize("repair", ["clip", "flip", "shift", "nystrom"])
def test_nothing_is_repaired_where_nothing_is_broken(repair):
    X = np.random.default_rng(3).standard_normal((30, 4))
    kernel = BestFit(Linear(), G.Permutations(4))
    model = GramTransformer(kernel, repair=repair)
    assert np.array_equal(model.fit_transform(X), kernel(X))
    assert np.array_equal(model.transform(X[:5]), kernel(X[:5], X))
    assert model.eigenvalues_ is None and model.n_landmarks_ is None
    broken = BestFit(Linear(), G.CyclicShifts(4))
    model = GramTransformer(broken, repair=repair).fit(X)
    assert model.eigenvalues_[0] < -1e-3
    assert np.abs(model.fit_transform(X) - broken(X)).max() > 1e-3


def test_a_gaussian_process_is_not_warned_of_a_definite_kernel():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((40, 4)).repeat(2, axis=0)
    y = np.sort(X, axis=1)[:, 0]
    single = {"precision": "single"}
    for kernel, warns in (
        (BestFit(Gaussian(1e-3), G.Permutations(4), **single), False),
        (BestFit(Gaussian(1e-3), G.CyclicShifts(4), **single), True),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            GaussianProcessRegressor(clone(kernel), alpha=0.1).fit(X, y)
        messages = [str(each.message) for each in caught]
        assert any("not positive definite" in message for message in messages) is warns


def test_least_squares_do_not_warn_of_rounding_of_a_definite_kernel():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 4))
    y = np.sort(X, axis=1)[:, 0]
    for group, warns in ((G.Permutations(4), False), (G.CyclicShifts(4), True)):
        model = RLSRegressor(kernel=BestFit(Linear(), group, precision="single"))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, y)
        messages = [str(each.message) for each in caught]
        assert any("not positive semi-definite" in message for message in messages) is warns
