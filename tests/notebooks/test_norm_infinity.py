"""The norm-infinity program agrees with other solvers and its dual bound."""

import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import linprog, lsq_linear, minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

sys.path.insert(0, str(Path(__file__).parents[2] / "notebooks/mroueh2015"))
from _norm_infinity import NormInfinityClassifier, margin_loss

cvxpy = pytest.importorskip("cvxpy", reason="needs the extra `qp`")

LOSSES = ("hinge", "logistic", "square")


def noisy_labels(rng, n, p):
    X = rng.standard_normal((n, p))
    y = np.where(X[:, 0] + rng.standard_normal(n) > 0, 1, -1)
    y[:2] = 1, -1
    return X, y


def by_definition(loss, X, y, B):
    """The minimal risk, from a different solver for each loss."""
    n, p = X.shape
    S = y[:, None] * X
    if loss == "square":
        return np.mean((1 - S @ lsq_linear(S, np.ones(n), (-B, B), tol=1e-14).x) ** 2)
    if loss == "hinge":
        optimum = linprog(
            np.r_[np.zeros(p), np.ones(n) / n],
            A_ub=-np.c_[S, np.eye(n)],
            b_ub=-np.ones(n),
            bounds=[(-B, B)] * p + [(0, None)] * n,
        )
        return optimum.fun
    optimum = minimize(
        lambda w: (np.logaddexp(0, -S @ w).mean(), -S.T @ (1 / (1 + np.exp(S @ w))) / n),
        np.zeros(p),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-B, B)] * p,
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 5000},
    )
    return optimum.fun


@pytest.mark.parametrize("loss", LOSSES)
@settings(max_examples=15, deadline=None)
@given(st.integers(3, 30), st.integers(1, 12), st.floats(-2, 1), st.integers(0, 10**6))
def test_the_minimal_risk_agrees_with_other_solvers(loss, n, p, log_bound, seed):
    X, y = noisy_labels(np.random.default_rng(seed), n, p)
    B = 10**log_bound
    model = NormInfinityClassifier(B, loss).fit(X, y)
    assert np.abs(model.coef_).max() <= B
    assert_allclose(model.risk_, by_definition(loss, X, y, B), atol=2e-6)
    # `risk_` is the risk of the weights, and the gap bounds the distance to the minimum.
    risk = margin_loss(loss, y * model.decision_function(X)).mean()
    assert_allclose(model.risk_, risk, rtol=1e-9, atol=1e-12)
    assert -1e-9 < model.duality_gap_[0] < 1e-5


#: Options of CVXPY that end a solver early.
LOOSE = {"solver": "CLARABEL", "tol_gap_abs": 1e-2, "tol_gap_rel": 1e-2, "tol_feas": 1e-2}
ROUGH = {"hinge": {"solver": "SCS", "eps": 2e-3}, "logistic": LOOSE, "square": LOOSE}


@pytest.mark.parametrize("loss", LOSSES)
def test_the_duality_gap_bounds_the_error_of_an_inaccurate_solver(loss, monkeypatch):
    """The gap covers the distance to the minimum, and the fit warns."""
    X, y = noisy_labels(np.random.default_rng(1), 60, 8)
    exact = NormInfinityClassifier(0.5, loss).fit(X, y)
    solve = cvxpy.Problem.solve

    def solve_roughly(problem, **options):
        return solve(problem, **(options | ROUGH[loss]))

    monkeypatch.setattr(cvxpy.Problem, "solve", solve_roughly)
    rough = NormInfinityClassifier(0.5, loss)
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        rough.fit(X, y)
    assert rough.risk_[0] - rough.duality_gap_[0] <= exact.risk_[0] + 1e-12
    assert rough.duality_gap_[0] < 1e-2


def test_weights_of_both_labels_give_the_expected_risk():
    """For the square loss, the best function is the regression function.

    The weights are the probabilities of both labels; the model has one coefficient per point.
    """
    probability = np.array([0.1, 0.4, 0.9])
    X = np.tile(np.eye(3), (2, 1))
    y = np.repeat([1, -1], 3)
    weights = np.r_[probability, 1 - probability]
    model = NormInfinityClassifier(5.0, "square").fit(X, y, sample_weight=weights)
    assert_allclose(model.coef_[0], 2 * probability - 1, atol=1e-6)
    assert_allclose(model.risk_, np.mean(1 - (2 * probability - 1) ** 2), atol=1e-9)


def test_several_classes_are_fitted_one_against_the_rest():
    rng = np.random.default_rng(3)
    centres = np.array([[3.0, 0], [0, 3.0], [-3.0, -3.0]])
    y = rng.integers(3, size=90)
    X = centres[y] + rng.standard_normal((90, 2))
    model = NormInfinityClassifier(1.0, "logistic").fit(X, np.array(["a", "b", "c"])[y])
    assert model.coef_.shape == (3, 2) and model.decision_function(X).shape == (90, 3)
    for k, name in enumerate("abc"):
        binary = NormInfinityClassifier(1.0, "logistic").fit(X, y == k)
        assert model.classes_[k] == name
        assert_allclose(model.coef_[k], binary.coef_[0], atol=1e-4)
    assert model.score(X, np.array(["a", "b", "c"])[y]) > 0.9


def test_the_order_and_repetition_of_samples_do_not_matter():
    X, y = noisy_labels(np.random.default_rng(4), 20, 30)
    order = np.random.default_rng(5).permutation(40)
    twice = NormInfinityClassifier(0.2).fit(np.r_[X, X][order], np.r_[y, y][order])
    assert_allclose(twice.coef_, NormInfinityClassifier(0.2).fit(X, y).coef_, atol=1e-12)


@parametrize_with_checks([NormInfinityClassifier(loss="hinge", bound=10.0)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (partial(NormInfinityClassifier().fit, np.eye(3), ["a"] * 3), "two classes, got the one"),
        (partial(margin_loss, "absolute", 0.0), "hinge"),
    ],
)
def test_refusals_name_the_remedy(call, message):
    with pytest.raises(ValueError, match=message):
        call()
