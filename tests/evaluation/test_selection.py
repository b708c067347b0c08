"""Selection of kernels and feature maps by leave-one-out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg
from sklearn.preprocessing import FunctionTransformer

from invariance.core.parameters import ParameterError
from invariance.evaluation.selection import best_by_leave_one_out, best_with_copies
from invariance.groups import Negation, Translations
from invariance.kernels import BestFit, Gaussian, Linear
from invariance.linear import RLSClassifier, RLSRegressor

X = np.random.default_rng(0).standard_normal((20, 3))
Z = np.random.default_rng(1).standard_normal((15, 3))
y = np.sin(2 * X[:, 0]) + X[:, 1]
ALPHAS = [1e-8, 1e-5, 1e-3, 0.1]


def leave_one_out(kernel):
    """Smallest leave-one-out error over all alphas, from fits without each point."""
    errors = []
    for alpha in ALPHAS:
        residuals = []
        for i in range(len(X)):
            rest = np.arange(len(X)) != i
            # the sum over points has the same penalty without one of them
            model = RLSRegressor([alpha * len(X) / (len(X) - 1)], kernel=kernel).fit(
                X[rest], y[rest]
            )
            residuals.append(model.predict(X[i : i + 1])[0] - y[i])
        errors.append(np.mean(np.square(residuals)))
    return min(errors)


def test_the_candidate_with_the_smallest_leave_one_out_error_is_selected():
    kernels = [Gaussian(gamma) for gamma in (1e-3, 0.3, 50.0)]
    best = min(kernels, key=leave_one_out)
    for order in (kernels, kernels[::-1]):
        predict = best_by_leave_one_out(order, RLSRegressor(ALPHAS), X=X, y=y)
        expected = RLSRegressor(ALPHAS, kernel=best).fit(X, y).predict(Z)
        assert_allclose(predict(Z), expected, rtol=1e-8)


def test_sums_and_products_of_kernels_can_be_candidates():
    first, rest = Gaussian(0.3).on_columns([0]), Gaussian(0.1).on_columns([1, 2])
    for kernel in (first * rest, first + rest, 2 * first):
        predict = best_by_leave_one_out([kernel], RLSRegressor(ALPHAS), X=X, y=y)
        expected = RLSRegressor(ALPHAS, kernel=kernel).fit(X, y).predict(Z)
        assert_allclose(predict(Z), expected, rtol=1e-8)


def test_feature_maps_can_be_candidates():
    maps = [FunctionTransformer(np.tanh), FunctionTransformer(np.sin)]
    predict = best_by_leave_one_out(maps, RLSRegressor(), X=X, y=np.sin(X).sum(axis=1))
    assert_allclose(predict(Z), np.sin(Z).sum(axis=1), atol=1e-4)
    assert not hasattr(maps[1], "n_features_in_")  # candidates are cloned, not fitted


def test_an_asymmetric_indefinite_kernel_is_made_symmetric_and_clipped():
    images = np.random.default_rng(2).standard_normal((30, 16))
    new_images = np.random.default_rng(3).standard_normal((5, 16))
    labels = np.arange(30) % 3
    kernel = BestFit(Linear(), Translations((4, 4), shifts=[[0, 0], [0, 1], [1, 0]]))
    gram = kernel(images)
    gram = (gram + gram.T) / 2
    values, vectors = linalg.eigh(gram)
    assert values[0] < -0.1
    projection = vectors[:, values > 0] @ vectors[:, values > 0].T
    learner = RLSClassifier(kernel="precomputed").fit(projection @ gram @ projection, labels)
    predict = best_by_leave_one_out([kernel], RLSClassifier(), X=images, y=labels)
    assert_array_equal(
        predict(new_images), learner.predict(kernel(new_images, images) @ projection)
    )


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_copies_are_added_with_the_penalty_chosen_without_them(task):
    learner = RLSRegressor() if task == "regression" else RLSClassifier()
    values = y if task == "regression" else np.array(["a", "b", "c"])[np.arange(20) % 3]
    transformed = Negation().act(np.array([-1]), X)
    predicted = best_with_copies([Gaussian(0.5)], learner, X=X, y=values, moved=transformed)(Z)

    alpha = type(learner)(kernel=Gaussian(0.5)).fit(X, values).alpha_
    points = np.concatenate([X, -X])
    targets = np.tile(values, 2)
    if task == "classification":
        targets = np.where(targets[:, None] == ["a", "b", "c"], 1.0, -1.0)
    gram = Gaussian(0.5)(points) + alpha * 40 * np.eye(40)
    mean = targets.mean(axis=0)
    decided = Gaussian(0.5)(Z, points) @ np.linalg.solve(gram, targets - mean) + mean
    if task == "regression":
        assert_allclose(predicted, decided, rtol=1e-6)
    else:
        assert_array_equal(predicted, np.array(["a", "b", "c"])[decided.argmax(axis=1)])


@pytest.mark.parametrize("exponent", [-600, -400, 400, 900])
@pytest.mark.parametrize("with_copies", [False, True])
def test_the_choice_does_not_depend_on_the_unit_of_the_targets(with_copies, exponent):
    kernels = [Gaussian(50.0), Gaussian(0.3), Gaussian(1e-3)]

    def fit(targets):
        if with_copies:
            return best_with_copies(kernels, RLSRegressor(), X=X, y=targets, moved=-X[None])
        return best_by_leave_one_out(kernels, RLSRegressor(), X=X, y=targets)

    assert_array_equal(fit(np.ldexp(y, exponent))(Z), np.ldexp(fit(y)(Z), exponent))


@pytest.mark.parametrize(
    "learner",
    [RLSClassifier(class_weight="balanced"), RLSRegressor(fit_intercept=False)],
)
def test_copies_are_refused_for_learners_whose_parameters_would_be_ignored(learner):
    with pytest.raises(ParameterError, match="fit_intercept=True and class_weight=None, got RLS"):
        best_with_copies([Gaussian(0.5)], learner, X=X, y=np.arange(20) % 2, moved=-X[None])
