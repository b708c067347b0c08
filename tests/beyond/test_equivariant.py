"""Equivariant ridge regression: the kernel's definition, all copies, and f(g x) = g f(x)."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge

from invariance import groups as G
from invariance.beyond import Augmented, EquivariantRidge, PlaneRotations, Rotations3D
from invariance.kernels import Gaussian, Laplacian, Linear, Polynomial

RNG = np.random.default_rng(0)
X, Z = RNG.standard_normal((2, 7, 6))
Y = RNG.standard_normal((7, 3))
MIRROR = G.OrthogonalMatrices([np.diag([1.0, -1.0])])

#: Group, action on three targets.
CASES = {
    "shifts": (G.CyclicShifts(3, block=2), G.CyclicShifts(3)),
    "orders": (G.Permutations(3, block=2), G.Permutations(3)),
    "signs": (G.Negation(), G.Negation()),
    "even": (G.Negation(), G.OnPoints(G.Negation(), 3, coordinates=[1])),
    "turns": (PlaneRotations(5), PlaneRotations(5).on_columns([2, 0])),
    "mirror": (G.OnPoints(MIRROR, 2), MIRROR.on_columns([0, 1])),
}


def matrices(action, elements):
    """The matrices rho(g), from the images of unit vectors."""
    return [action.act(g[None], np.eye(3))[0].T for g in elements]


def kernel_blocks(base, group, action, A, B):
    """K(x, z) = mean over g and h of rho(h)^-1 k(h x, g z) rho(g), a matrix for each pair."""
    elements = group.elements()
    rho = matrices(action, elements)
    blocks = np.zeros((len(A), len(B), 3, 3))
    for h_A, rho_h in zip(group.act(elements, A), rho, strict=True):
        for g_B, rho_g in zip(group.act(elements, B), rho, strict=True):
            blocks += np.multiply.outer(base(h_A, g_B), np.linalg.inv(rho_h) @ rho_g)
    return blocks / len(elements) ** 2


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("base", [Gaussian(0.1), Laplacian(0.2)], ids=["Gaussian", "Laplacian"])
def test_predictions_agree_with_the_definition(name, base):
    group, action = CASES[name]
    alpha = 0.01
    n = len(X)
    gram = kernel_blocks(base, group, action, X, X).swapaxes(1, 2).reshape(3 * n, 3 * n)
    dual = np.linalg.solve(gram + n * alpha * np.eye(3 * n), Y.ravel()).reshape(n, 3)
    expected = np.einsum("ijab,jb->ia", kernel_blocks(base, group, action, Z, X), dual)
    model = EquivariantRidge(base, group, act_on_targets=action, alpha=alpha).fit(X, Y)
    assert_allclose(model.predict(Z), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_it_is_ridge_regression_on_all_transformed_copies(name):
    group, action = CASES[name]
    elements = group.elements()
    copies = group.act(elements, X).reshape(-1, 6)
    targets = action.act(elements, Y).reshape(-1, 3)
    alpha = 0.01
    plain = KernelRidge(kernel=Gaussian(0.1), alpha=len(copies) * alpha).fit(copies, targets)
    model = EquivariantRidge(Gaussian(0.1), group, act_on_targets=action, alpha=alpha).fit(X, Y)
    assert_allclose(model.predict(Z), plain.predict(Z), rtol=1e-7, atol=1e-9)


def test_values_move_with_their_arguments_over_infinite_groups():
    for group, action in (
        (PlaneRotations(), PlaneRotations().on_columns([1, 2])),
        (G.OnPoints(G.CircleAction([0, 1, 1]), 3), G.CircleAction([1, 1, 0])),
        (Rotations3D(), Rotations3D()),
        (Rotations3D().then(G.Negation()), Rotations3D().then(G.Negation())),
    ):
        model = EquivariantRidge(Gaussian(0.05), group, act_on_targets=action, alpha=1e-4)
        model.fit(0.5 * X, Y)
        elements = group.sample(3, 0)
        points = np.concatenate([[0.5 * Z], group.act(elements, 0.5 * Z)])
        values, *moved = model.predict(points.reshape(-1, 6)).reshape(4, 7, 3)
        expected = action.act(elements, values)
        assert_allclose(moved, expected, atol=1e-3 * np.abs(expected).max())


def test_a_law_of_two_bodies_is_learned_from_few_points():
    """The force along the line between two points of space, of a strength that depends on |r|."""
    rng = np.random.default_rng(1)
    pairs = rng.uniform(-1, 1, (120, 6))
    difference = pairs[:, 3:] - pairs[:, :3]
    forces = difference * np.exp(-np.square(difference).sum(axis=1, keepdims=True))
    model = EquivariantRidge(Gaussian(0.3), Rotations3D(), alpha=1e-8).fit(pairs[:20], forces[:20])
    plain = KernelRidge(kernel=Gaussian(0.3), alpha=20 * 1e-8).fit(pairs[:20], forces[:20])
    errors = [np.square(m.predict(pairs[20:]) - forces[20:]).mean() for m in (model, plain)]
    assert errors[0] < 0.2 * errors[1]


def test_a_weight_is_a_number_of_copies_and_flat_targets_stay_flat():
    y = X[:, 0] ** 3
    model = EquivariantRidge(Gaussian(0.1), G.Negation(), alpha=0.01)
    weights = np.array([1, 2, 0, 1, 3, 1, 1])
    weighted = model.fit(X, y, sample_weight=weights).predict(Z)
    repeated = model.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights)).predict(Z)
    assert weighted.shape == (7,)
    assert_allclose(weighted, repeated)
    assert_allclose(model.predict(-Z), -repeated)


class Doubled(G.Transformations):
    """Every element doubles all targets."""

    def _act(self, elements, X):
        return np.repeat(2 * X[None], len(elements), axis=0)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (EquivariantRidge(Gaussian(), G.Translations(6, 1)), "no group with equal weights"),
        (EquivariantRidge(Gaussian(), G.CircleAction([1] * 6, G.VonMises(1.0))), "no group with"),
        (EquivariantRidge(Gaussian(), G.CyclicShifts(6)), "does not act on 3 targets"),
        (
            EquivariantRidge(Gaussian(), G.Negation(), act_on_targets=Doubled()),
            "preserve the lengths",
        ),
        (
            EquivariantRidge(
                Gaussian(), PlaneRotations(5), act_on_targets=PlaneRotations(6).on_columns([0])
            ),
            "does not act on 3 targets",
        ),
        (EquivariantRidge(Gaussian(), G.Negation(), act_on_targets=None), "act_on_targets"),
        (EquivariantRidge(Gaussian(), G.Negation(), alpha=0.0), "alpha"),
        (EquivariantRidge(Polynomial(1, -1.0), G.Negation(), alpha=1e-9), "positive definite"),
    ],
)
def test_what_cannot_be_equivariant_is_refused(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)


class Inverses(G.Permutations):
    """Permutations that act by their inverses: another order of products."""

    aligned = G.Transformations.aligned
    as_assignment = G.Transformations.as_assignment
    aligning = G.Transformations.aligning
    representatives = G.Transformations.representatives
    mean_polynomial = G.Transformations.mean_polynomial
    log_mean_laplacian = G.Transformations.log_mean_laplacian
    reflects = G.Transformations.reflects

    def _act(self, elements, X):
        return super()._act(self.inverse(elements), X)


def test_an_action_by_inverses_is_refused():
    model = EquivariantRidge(Linear(), G.Permutations(3, block=2), act_on_targets=Inverses(3))
    with pytest.raises(ValueError, match="another order than the group"):
        model.fit(X, Y)


# -- augmentation ----------------------------------------------------------------------------------


def test_copies_have_transformed_targets():
    group = G.CyclicShifts(3, block=2)
    targets = G.CyclicShifts(3)
    elements = group.elements()
    copies = np.concatenate([X, group.act(elements, X).reshape(-1, 6)])
    expected = np.concatenate([Y, targets.act(elements, Y).reshape(-1, 3)])
    model = Augmented(Ridge(), group, act_on_targets=targets).fit(X, Y)
    assert_allclose(model.predict(Z), Ridge().fit(copies, expected).predict(Z))
    flat = Augmented(Ridge(), G.Negation(), act_on_targets=True).fit(X, Y[:, 0])
    by_hand = Ridge().fit(np.concatenate([X, X, -X]), np.concatenate([Y, Y, -Y])[:, 0])
    assert_allclose(flat.predict(Z), by_hand.predict(Z))


def test_drawn_copies_use_the_same_element_for_point_and_target():
    """A linear equivariant map stays an exact fit, whatever elements are drawn."""
    group = PlaneRotations()
    action = PlaneRotations().on_columns([0, 1])
    turned = np.c_[X[:, 2] - X[:, 5], X[:, 3] + X[:, 4], np.ones(7)]
    model = Augmented(LinearRegression(), group, n_copies=5, act_on_targets=action).fit(X, turned)
    assert_allclose(model.predict(X), turned, atol=1e-9)
    ordinary = Augmented(LinearRegression(), group, n_copies=5).fit(X, turned)
    assert np.abs(ordinary.predict(X) - turned).max() > 0.1


@pytest.mark.parametrize("kernel", [Gaussian(0.1), Laplacian(0.2)])
def test_a_fitted_model_does_not_follow_changes_of_its_parameters(kernel):
    group = G.CyclicShifts(3, block=2)
    action = G.CyclicShifts(3)
    model = EquivariantRidge(clone(kernel), group, act_on_targets=action).fit(X, Y)
    expected = model.predict(Z)
    model.kernel.gamma = 9.0
    group.set_params(n=6, block=1)
    action.set_params(n=1, block=3)
    assert_array_equal(model.predict(Z), expected)
    model.set_params(act_on_targets=G.Negation(), group=G.Negation(), kernel=Linear())
    assert_array_equal(model.predict(Z), expected)
