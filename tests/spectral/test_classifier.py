"""`SpectralAveragingClassifier` against regularised least squares on the invariant functions."""

import numpy as np
import pytest

from invariance.groups import Permutations, Rotations3D
from invariance.linear import RLSClassifier
from invariance.core.parameters import ParameterError
from invariance.spectral import (
    Product,
    SpectralAveraging,
    SpectralAveragingClassifier,
    Sphere,
)

X = Sphere(4).sample(160, random_state=0)
LABELS = np.array(["low", "middle", "high"])[np.digitize(X.prod(axis=1), [-0.02, 0.02])]


@pytest.mark.parametrize("smoothness", [None, 4.0])
@pytest.mark.parametrize("labels", [LABELS, LABELS == "low"])
def test_it_is_least_squares_on_invariant_functions(smoothness, labels):
    model = SpectralAveragingClassifier(
        Sphere(4), Permutations(4), degree=4, smoothness=smoothness, class_weight="balanced"
    ).fit(X, labels)
    features = (model.basis_.evaluate(X) @ model.vectors_.toarray())[:, 1:]
    if smoothness is not None:
        counts = np.repeat(model.basis_.counts_, model.invariant_dimensions_)[1:]
        features = features * counts ** (-smoothness / 3)  # alpha / 2 = s / d
    plain = RLSClassifier(class_weight="balanced").fit(features, labels)
    np.testing.assert_array_equal(model.classes_, plain.classes_)
    np.testing.assert_allclose(
        model.decision_function(X), plain.decision_function(features), atol=1e-9
    )
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(features), atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), plain.predict(features))
    # The expansion is the decision function.
    np.testing.assert_allclose(
        model.expansion_.predict(X).reshape(model.decision_function(X).shape),
        model.decision_function(X),
        atol=1e-9,
    )
    assert model.discrepancy(X[:30]) < 1e-12


def test_labels_and_probabilities_are_invariant_and_weights_count():
    basis = Product([Sphere(3)] * 3, exchangeable=True)
    Z = basis.sample(300, random_state=0)
    points = Z.reshape(-1, 3, 3)
    near = np.linalg.norm(points.sum(axis=1), axis=1) > 1.8
    model = SpectralAveragingClassifier(basis, Rotations3D(), degree=8).fit(Z[:200], near[:200])
    assert model.score(Z[200:], near[200:]) > 0.9
    moved = Rotations3D().act(Rotations3D().sample(1, 0), Z)[0].reshape(-1, 3, 3)[:, ::-1]
    np.testing.assert_allclose(
        model.predict_proba(moved.reshape(len(Z), -1)), model.predict_proba(Z), atol=1e-12
    )
    weights = np.where(near[:200], 1.0, 0.0)
    with pytest.raises(ValueError, match="two classes"):
        model.fit(Z[:200], near[:200], sample_weight=weights)
    weights = np.where(near[:200], 5.0, 1.0)
    heavy = SpectralAveragingClassifier(basis, Rotations3D(), degree=8)
    heavy.fit(Z[:200], near[:200], sample_weight=weights)
    assert heavy.predict(Z).sum() > model.fit(Z[:200], near[:200]).predict(Z).sum()


def test_bad_input_is_named():
    with pytest.raises(ParameterError, match="class_weight"):
        SpectralAveragingClassifier(Sphere(4), degree=1, class_weight="even").fit(X, LABELS)
    with pytest.raises(ParameterError, match="alphas"):
        SpectralAveragingClassifier(Sphere(4), degree=1, alphas=[-1.0]).fit(X, LABELS)
    with pytest.raises(ValueError, match="norm 1"):
        SpectralAveragingClassifier(Sphere(4), degree=1).fit(2 * X, LABELS)


@pytest.mark.parametrize("estimator", [SpectralAveraging, SpectralAveragingClassifier])
def test_explain_bounds_what_fit_asks_for(estimator):
    for basis, group, way in [
        (Sphere(4), Permutations(4), "orbit sums"),
        (Product([Sphere(3)] * 2, exchangeable=True), Rotations3D(), "null space"),
    ]:
        points = basis.sample(160, random_state=0)
        model = estimator(basis, group, degree=4)
        cost = model.explain(points)
        assert cost.way == way and not hasattr(model, "basis_")
        model.fit(points, points[:, 0] > 0 if estimator is not SpectralAveraging else points[:, 0])
        np.testing.assert_array_equal(cost.dimensions, model.basis_.dimensions_)
        assert model.oracle_calls_.eigenfunctions <= cost.evaluations
        assert f"{model.basis_.n_functions_} eigenfunctions" in str(cost)
        assert 0 < cost.seconds < 1 and cost.n_bytes > 0
    small, large = (estimator(Sphere(4), Permutations(4), degree=k).explain(X) for k in (4, 20))
    assert large.operations > 3 * small.operations
