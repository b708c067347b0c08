"""`symmetry_test`: its arithmetic, its false alarms, its power, and what is built in how."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from invariance.evaluation import Augmented, built_in, symmetry_test
from invariance.features import OrbitFourier
from invariance.groups import CyclicShifts, Negation, Permutations, SignFlips, Translations
from invariance.kernels import Average, Gaussian
from invariance.linear import RLSClassifier, RLSRegressor


class Half(RegressorMixin, BaseEstimator):
    """Ridge regression on one half of the features."""

    def __init__(self, first=True):
        self.first = first

    def _of(self, X):
        middle = X.shape[1] // 2
        return X[:, :middle] if self.first else X[:, middle:]

    def fit(self, X, y):
        A, self.mean_ = self._of(X), np.mean(y)
        self.at_ = A.mean(axis=0)
        A = A - self.at_
        self.coef_ = np.linalg.solve(A.T @ A + np.eye(A.shape[1]), A.T @ (y - self.mean_))
        return self

    def predict(self, X):
        return (self._of(X) - self.at_) @ self.coef_ + self.mean_


def test_the_arithmetic_is_that_of_nadeau_and_bengio():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = X @ [1.0, 0.5, 2.0, 0.0] + rng.standard_normal(60)
    folds = KFold(6, shuffle=True, random_state=3)
    test = symmetry_test(Half(), Negation(), X, y, cv=folds, build=lambda *_: Half(False))
    d = []
    for fit, held in folds.split(X):
        plain, other = (
            np.sqrt(np.mean((Half(f).fit(X[fit], y[fit]).predict(X[held]) - y[held]) ** 2))
            for f in (True, False)
        )
        d.append(100 * (plain - other) / ((plain + other) / 2))
    se = np.sqrt((1 / 6 + 10 / 50) * np.var(d, ddof=1))
    (gain,) = test
    assert_allclose(gain.gain, np.mean(d))
    assert_allclose(gain.p_value, 2 * stats.t.sf(abs(np.mean(d)) / se, 5))
    half_width = stats.t.ppf(0.975, 5) * se
    assert_allclose(gain.interval, [np.mean(d) - half_width, np.mean(d) + half_width])
    assert (gain.p_value <= 0.05) == (gain.interval[0] > 0 or gain.interval[1] < 0)


def test_an_integer_draws_the_folds_three_times():
    X, y = load_digits(return_X_y=True)
    X, y = X[:90] / 16, y[:90] % 3
    wrong = []
    for seed in range(3):
        for fit, held in StratifiedKFold(4, shuffle=True, random_state=seed).split(X, y):
            wrong.append(100 * np.mean(SVC().fit(X[fit], y[fit]).predict(X[held]) != y[held]))
    (gain,) = symmetry_test(SVC(), Negation(), X, y, cv=4, build=lambda model, group: SVC(C=1e-9))
    assert_allclose(gain.plain, np.mean(wrong))
    assert gain.unit == "percentage points" and gain.verdict == "raises the error"


def test_exact_models_are_level():
    X = np.random.default_rng(0).standard_normal((30, 2))
    (gain,) = symmetry_test(LinearRegression(), Negation(), X, np.zeros(30), build=lambda m, _: m)
    assert gain.gain == 0 and gain.p_value == 1 and gain.interval == (0, 0)


def test_several_groups_are_corrected_for():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = X @ [1.0, 0.5, 2.0, 0.0] + rng.standard_normal(60)
    groups = {"a": Negation(), "b": Permutations(4), "c": SignFlips(4)}
    models = {"a": Half(False), "b": Ridge(1e3), "c": Half()}
    names = {repr(group): name for name, group in groups.items()}

    def build(model, group):
        return models[names[repr(group)]]

    alone = [symmetry_test(Half(), groups[k], X, y, build=build).gains[0] for k in groups]
    together = symmetry_test(Half(), groups, X, y, build=build)
    assert_allclose([g.p_value for g in together], [min(1, 3 * g.p_value) for g in alone])
    widths = [[np.diff(g.interval)[0] for g in list(test)[:2]] for test in (together, alone)]
    assert_allclose(np.divide(*widths), stats.t.ppf(1 - 0.025 / 3, 29) / stats.t.ppf(0.975, 29))
    assert together["c"].gain == 0 and together["c"].p_value == 1  # the same model
    assert together["c"].verdict == "the data do not tell"


@pytest.mark.parametrize("n", [40, 150])
def test_false_alarms_are_no_more_frequent_than_stated(n):
    """Two models that are equally good on average; more than 17 of 150 alarms happen in 0.1 %."""
    alarms = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((n, 6))
        y = X.sum(axis=1) + rng.standard_normal(n)
        test = symmetry_test(Half(), Negation(), X, y, cv=5, build=lambda *_: Half(False))
        alarms += test.best is not None or test.gains[0].verdict == "raises the error"
    assert alarms <= 17


def test_a_symmetry_is_found_and_a_wrong_one_refused():
    rng = np.random.default_rng(2)
    X = rng.uniform(-2, 2, (120, 5))
    y = np.tanh(2 * X).sum(axis=1) + np.cos(X * np.roll(X, 1, axis=1)).sum(axis=1)
    y += 0.3 * rng.standard_normal(120)
    groups = {"shifts": CyclicShifts(5), "signs": SignFlips(5)}
    test = symmetry_test(RLSRegressor(kernel=Gaussian(0.2)), groups, X, y)
    assert test.best is test["shifts"] and test["shifts"].p_value < 0.01
    assert test["signs"].verdict == "raises the error" and test["signs"].gain < 0
    assert str(test).startswith("shifts: error ") and "95 % interval of the gain" in str(test)


def test_what_is_built_in_depends_on_the_model():
    group, still = (Translations((8, 8), max_shift=most) for most in (1, 0))
    model = make_pipeline(SVC(kernel=Gaussian(0.1)))
    made = built_in(model, group)
    assert isinstance(made[-1].kernel, Average) and made[-1].kernel.group is not None
    assert isinstance(model[-1].kernel, Gaussian)
    features = make_pipeline(OrbitFourier(still, 20, random_state=0), RLSClassifier())
    assert built_in(features, group)[0].group.order == 9
    assert isinstance(built_in(SVC(), group), Augmented)  # "rbf" is no kernel object
    X, y = load_digits(return_X_y=True)
    X, y = X[:120] / 16, y[:120]
    for one in (made, built_in(features, group), built_in(SVC(), group)):
        assert one.fit(X, y).score(X, y) > 0.8
    test = symmetry_test(model, {"shifts": group}, X, y, cv=3)
    assert "95 % interval" in str(test) and "percentage points" in str(test)


def test_augmentation_is_fitting_to_moved_copies():
    X = np.random.default_rng(0).standard_normal((20, 3))
    y, group = X @ [1.0, 2.0, 3.0], CyclicShifts(3)
    model = Augmented(LinearRegression(), group).fit(X, y)
    every = np.concatenate([X, *group.act(group.elements(), X)])
    expected = LinearRegression().fit(every, np.tile(y, 4))
    assert_allclose(model.predict(X), expected.predict(X))
    drawn = Augmented(LinearRegression(), Permutations(3), n_copies=2).fit(X, y)
    assert_allclose(clone(drawn).fit(X, y).predict(X), drawn.predict(X))
    assert not hasattr(model, "predict_proba")
    forest = Augmented(RandomForestClassifier(5, random_state=0), group).fit(X, y > 0)
    assert forest.predict_proba(X).shape == (20, 2) and list(forest.classes_) == [False, True]
