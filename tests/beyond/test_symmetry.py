"""`symmetry_test` and `find_symmetry`: formulas, false alarms, power, models that they build."""

from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeRegressor

from invariance import beyond
from invariance import groups as G
from invariance.beyond import Augmented, built_in, find_symmetry, symmetry_test
from invariance.beyond.symmetry import corrected_p_values
from invariance.features import OrbitFourier
from invariance.groups import CyclicShifts, Negation, Permutations, SignFlips, Translations
from invariance.groups.base import ListingError
from invariance.kernels import Average, Gaussian
from invariance.linear import RLSClassifier, RLSRegressor


class Half(RegressorMixin, BaseEstimator):
    """Ridge regression on one half of the features, with an intercept and alpha 1.

    The steps themselves take a fifth of the time of scikit-learn's `Ridge`, which validates.
    """

    def __init__(self, first=True):
        self.first = first

    def _of(self, X):
        middle = X.shape[1] // 2
        return X[:, :middle] if self.first else X[:, middle:]

    def fit(self, X, y):
        half = self._of(X)
        centred = half - half.mean(axis=0)
        penalized = centred.T @ centred + np.eye(half.shape[1])
        self.coef_ = np.linalg.solve(penalized, centred.T @ (y - y.mean()))
        self.intercept_ = y.mean() - half.mean(axis=0) @ self.coef_
        return self

    def predict(self, X):
        return self._of(X) @ self.coef_ + self.intercept_


def test_intervals_and_p_values_agree_with_nadeau_and_bengio():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = X @ [1.0, 0.5, 2.0, 0.0] + rng.standard_normal(60)
    folds = KFold(6, shuffle=True, random_state=3)
    test = symmetry_test(Half(), Negation(), X, y, cv=folds, build=lambda *_: Half(False))
    d = []
    for fit, held in folds.split(X):
        full, half = (
            np.sqrt(np.mean((Half(f).fit(X[fit], y[fit]).predict(X[held]) - y[held]) ** 2))
            for f in (True, False)
        )
        d.append(100 * (full - half) / ((full + half) / 2))
    se = np.sqrt((1 / 6 + 10 / 50) * np.var(d, ddof=1))
    (gain,) = test
    assert_allclose(gain.gain, np.mean(d))
    assert_allclose(gain.p_value, 2 * stats.t.sf(abs(np.mean(d)) / se, 5))
    half_width = stats.t.ppf(0.975, 5) * se
    assert_allclose(gain.interval, [np.mean(d) - half_width, np.mean(d) + half_width])
    assert (gain.p_value <= 0.05) == (gain.interval[0] > 0 or gain.interval[1] < 0)


def test_an_integer_cv_means_three_repetitions():
    X, y = load_digits(return_X_y=True)
    X = X[:90] / 16
    y = y[:90] % 3
    errors = []
    for seed in range(3):
        for fit, held in StratifiedKFold(4, shuffle=True, random_state=seed).split(X, y):
            errors.append(100 * np.mean(SVC().fit(X[fit], y[fit]).predict(X[held]) != y[held]))
    (gain,) = symmetry_test(SVC(), Negation(), X, y, cv=4, build=lambda model, group: SVC(C=1e-9))
    assert_allclose(gain.plain, np.mean(errors))
    assert gain.unit == "percentage points" and gain.verdict == "raises the error"


def test_two_exact_models_have_no_gain():
    X = np.random.default_rng(0).standard_normal((30, 2))
    (gain,) = symmetry_test(LinearRegression(), Negation(), X, np.zeros(30), build=lambda m, _: m)
    assert gain.gain == 0 and gain.p_value == 1 and gain.interval == (0, 0)


def test_p_values_of_several_groups_are_corrected():
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
    """The models are equally good on average; more than 17 of 150 alarms have probability 0.1 %."""
    alarms = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((n, 6))
        y = X.sum(axis=1) + rng.standard_normal(n)
        test = symmetry_test(Half(), Negation(), X, y, cv=5, build=lambda *_: Half(False))
        alarms += test.best is not None or test.gains[0].verdict == "raises the error"
    assert alarms <= 17


def test_a_true_symmetry_is_supported_and_a_false_one_raises_the_error():
    rng = np.random.default_rng(2)
    X = rng.uniform(-2, 2, (120, 5))
    y = np.tanh(2 * X).sum(axis=1) + np.cos(X * np.roll(X, 1, axis=1)).sum(axis=1)
    y += 0.3 * rng.standard_normal(120)
    groups = {"shifts": CyclicShifts(5), "signs": SignFlips(5)}
    test = symmetry_test(RLSRegressor(kernel=Gaussian(0.2)), groups, X, y)
    assert test.best is test["shifts"] and test["shifts"].p_value < 0.01
    assert test["signs"].verdict == "raises the error" and test["signs"].gain < 0
    assert str(test).startswith("shifts: error ") and "95 % interval of the gain" in str(test)


def test_the_model_decides_how_a_group_is_built_in():
    group, identity = (Translations((8, 8), max_shift=max_shift) for max_shift in (1, 0))
    model = make_pipeline(SVC(kernel=Gaussian(0.1)))
    with_average = built_in(model, group)
    assert (
        isinstance(with_average[-1].kernel, Average) and with_average[-1].kernel.group is not None
    )
    assert isinstance(model[-1].kernel, Gaussian)
    features = make_pipeline(OrbitFourier(identity, 20, random_state=0), RLSClassifier())
    assert built_in(features, group)[0].group.order == 9
    assert isinstance(built_in(SVC(), group), Augmented)  # "rbf" is not a kernel object
    X, y = load_digits(return_X_y=True)
    X = X[:120] / 16
    y = y[:120]
    for invariant in (with_average, built_in(features, group), built_in(SVC(), group)):
        assert invariant.fit(X, y).score(X, y) > 0.8
    test = symmetry_test(model, {"shifts": group}, X, y, cv=3)
    assert "95 % interval" in str(test) and "percentage points" in str(test)


@pytest.mark.parametrize("test", [symmetry_test, find_symmetry])
def test_a_group_that_is_too_large_to_list_needs_elements_that_are_drawn(test):
    X = np.random.default_rng(0).standard_normal((40, 15))
    y = np.tanh(X).sum(axis=1)
    groups = {"orders": Permutations(15)}
    model = RLSRegressor(kernel=Gaussian(0.05))
    remedy = rf"n=15\).*; draw some in {test.__name__}\(.*partial\(built_in, n_transforms=50\)"
    with pytest.raises(ListingError, match=remedy):
        test(model, groups, X, y)
    result = test(model, groups, X, y, build=partial(built_in, n_transforms=4), cv=2)
    expected = test(
        model,
        groups,
        X,
        y,
        build=lambda model, group: RLSRegressor(
            kernel=Average(model.kernel, group, n_transforms=4)
        ),
        cv=2,
    )
    assert str(result) == str(expected)


def test_elements_are_drawn_for_features_and_for_copies():
    group = Permutations(15)
    features = make_pipeline(OrbitFourier(CyclicShifts(15), 20), RLSClassifier())
    assert built_in(features, group, n_transforms=7)[0].n_transforms == 7
    assert built_in(features, group)[0].n_transforms is None
    assert built_in(SVC(), group, n_transforms=7).n_copies == 7


def test_augmentation_fits_transformed_copies():
    X = np.random.default_rng(0).standard_normal((20, 3))
    y = X @ [1.0, 2.0, 3.0]
    group = CyclicShifts(3)
    model = Augmented(LinearRegression(), group).fit(X, y)
    every = np.concatenate([X, *group.act(group.elements(), X)])
    expected = LinearRegression().fit(every, np.tile(y, 4))
    assert_allclose(model.predict(X), expected.predict(X))
    drawn = Augmented(LinearRegression(), Permutations(3), n_copies=2).fit(X, y)
    assert_allclose(clone(drawn).fit(X, y).predict(X), drawn.predict(X))
    assert not hasattr(model, "predict_proba")
    forest = Augmented(RandomForestClassifier(5, random_state=0), group).fit(X, y > 0)
    assert forest.predict_proba(X).shape == (20, 2) and list(forest.classes_) == [False, True]


class Rounded(LinearRegression):
    """A linear model that predicts whole numbers of the targets' type."""

    def fit(self, X, y):
        self.dtype_ = y.dtype
        return super().fit(X, y.astype(float))

    def predict(self, X):
        return super().predict(X).clip(0, 9).round().astype(self.dtype_)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, object])
def test_errors_of_whole_numbers_are_those_of_floats(dtype):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    y = rng.integers(10, size=40)
    groups = {"shifts": CyclicShifts(3)}
    for test in (symmetry_test, find_symmetry):
        expected = test(Rounded(), groups, X, y.astype(float), cv=4)
        assert str(test(Rounded(), groups, X, y.astype(dtype), cv=4)) == str(expected)


def test_augmented_models_refuse_columns_in_another_order():
    X = pd.DataFrame(np.random.default_rng(0).standard_normal((20, 3)), columns=list("abc"))
    y = X["a"] + 10 * X["b"] + 100 * X["c"]
    model = Augmented(LinearRegression(), Translations(3, max_shift=0)).fit(X, y)
    assert_allclose(model.predict(X), y)
    assert_allclose(model.score(X, y), 1)
    for method in (model.predict, partial(model.score, y=y)):
        with pytest.raises(ValueError, match="must be in the same order"):
            method(X[["c", "b", "a"]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert_allclose(model.predict(X.to_numpy()), y)


@pytest.mark.parametrize("exponent", [-900, -650, 650, 900])
def test_verdicts_do_not_depend_on_the_unit_of_the_targets(exponent):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = np.tanh(X).sum(axis=1) ** 2
    groups = {"shifts": CyclicShifts(4), "signs": SignFlips(4)}
    model = RLSRegressor(kernel=Gaussian(0.2))
    gains = symmetry_test(model, groups, X, y, cv=4)
    scaled_gains = symmetry_test(model, groups, X, np.ldexp(y, exponent), cv=4)
    found = find_symmetry(model, groups, X, y)
    scaled_found = find_symmetry(model, groups, X, np.ldexp(y, exponent))
    assert found.best == scaled_found.best == "shifts"
    for name in groups:
        gain = gains[name]
        scaled_gain = scaled_gains[name]
        assert gain.verdict == scaled_gain.verdict != "the data do not tell"
        assert_allclose(scaled_gain.gain, gain.gain)
        assert_allclose(np.ldexp(scaled_gain.plain, -exponent), gain.plain)
        row = found[name]
        scaled_row = scaled_found[name]
        assert row["verdict"] == scaled_row["verdict"]
        assert_allclose(scaled_row["p_for"], row["p_for"])
        assert_allclose(np.ldexp(scaled_row["error"], -exponent), row["error"])


# -- `find_symmetry`: the order of groups, error rates, and results --------------------------------

TWO = G.GeneratedPermutations([[2, 3, 0, 1]])
RING = {"orders": G.Permutations(4), "shifts": G.CyclicShifts(4), "by two": TWO}


def ring(n, seed=0):
    """Points, and values that are invariant to shifts but not to all permutations."""
    X = np.random.default_rng(seed).standard_normal((n, 4))
    return X, (np.tanh(X) * np.roll(X, 1, axis=1)).sum(axis=1)


def keep(columns):
    """A builder of models that use the columns listed for the order of the group."""
    return lambda model, group: make_pipeline(
        FunctionTransformer(lambda X: X[:, columns[group.order]]), model
    )


def test_p_values_agree_with_their_formulas():
    X, y = ring(25)
    result = find_symmetry(RLSRegressor([1e-2], Gaussian(0.2)), RING, X, y, margin=0.1)
    left_out = {}
    for name, kernel in {"no group": Gaussian(0.2), **RING}.items():
        kernel = kernel if name == "no group" else Average(Gaussian(0.2), kernel)
        ridge = RLSRegressor([1e-2 * 25 / 24], kernel)  # the same ridge with one point fewer
        rest = [np.delete(np.arange(25), i) for i in range(25)]
        held = [ridge.fit(X[r], y[r]).predict(X[i : i + 1])[0] for i, r in enumerate(rest)]
        left_out[name] = np.abs(held - y)

    def p(name, parent):
        d = 1.1 * left_out[parent] - left_out[name]
        by_t = stats.t.cdf(np.array([-1, 1]) * d.mean() / np.sqrt(1.5 * d.var(ddof=1) / 25), 24)
        # directions of the parent that cost as much as their noise, and 10 % of the error
        squares = 25 * np.mean((left_out[parent] - left_out[name]) ** 2)
        squares /= np.mean(left_out[name] ** 2)
        gained = 0.76 * 25 * ((left_out[parent].mean() / left_out[name].mean()) ** 2 - 1)
        k = max((gained + squares) / 2, 1e-3)
        luck = stats.ncx2.cdf(squares, k, k + 0.76 * 25 * (1 - 1.1**-2))
        return max(by_t[0], luck), by_t[1]

    chain = [p("by two", "no group"), p("shifts", "by two"), p("orders", "shifts")]
    rows = result.rows
    assert_allclose([r["p_for"] for r in rows], np.maximum.accumulate(chain)[:, 0], rtol=1e-5)
    before = [["no group"], ["no group", "by two"], ["no group", "by two", "shifts"]]
    against = [
        len(b) * min(p(r["group"], k)[1] for k in b) for r, b in zip(rows, before, strict=True)
    ]
    holm = np.maximum.accumulate(np.sort(np.minimum(against, 1)) * [3, 2, 1]).clip(max=1)
    assert_allclose(np.sort([r["p_against"] for r in rows]), holm, rtol=1e-5)
    assert [r["over"] for r in rows] == ["no group", "by two", "shifts"]
    assert_allclose(result["shifts"]["error"], left_out["shifts"].mean())


def test_the_correction_is_sequential_rejection():
    """Adjusted p-values are the smallest levels at which the documented procedure rejects."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        names = list("abcde")
        before = {k: {j for j in names[:i] if rng.random() < 0.4} for i, k in enumerate(names)}
        for k in names:
            before[k] = before[k].union(*(before[j] for j in before[k]))
        p = dict(zip(names, rng.random(5) ** 3, strict=True))

        def width(left, before=before):
            sets = (s for r in range(1, 6) for s in combinations(left, r))
            antichains = (s for s in sets if not any(j in before[k] for j in s for k in s))
            return max(map(len, antichains), default=0)

        def rejected(level, before=before, p=p, width=width, names=names):
            done = set()
            while True:
                left = [k for k in names if k not in done]
                new = {k for k in left if before[k] <= done and p[k] * width(left) <= level}
                if not new:
                    return done
                done |= new

        for k, value in corrected_p_values(p, before).items():
            assert k not in rejected(value * (1 - 1e-9))
            assert value == 1 or k in rejected(value * (1 + 1e-9))


def largest_subgroups(groups, d, **options):
    """For each group, the group that `find_symmetry` compares it with."""
    X, y = np.random.default_rng(0).standard_normal((2, 20, d))
    model = RLSRegressor()
    rows = find_symmetry(model, groups, X, y[:, 0], build=lambda m, _: m, **options).rows
    return {row["group"]: row["over"] for row in rows}


def test_each_group_is_compared_with_its_largest_subgroups():
    shifts = {k: G.GeneratedPermutations([np.roll(np.arange(12), k)]) for k in (1, 2, 3, 4, 6, 12)}
    over = largest_subgroups({str(12 // k): group for k, group in shifts.items()}, 12)
    assert over["12"] in {"4", "6"} and over["6"] in {"2", "3"}
    assert over["4"] == "2" and over["2"] == over["3"] == "no group"
    assert "1" not in over  # the trivial group
    few = G.Permutations(3).on_columns([0, 1, 2])
    groups = {"all": G.Permutations(30), "few": few, "-": G.Negation(), "signs": G.SignFlips(30)}
    over = largest_subgroups(groups, 30)
    assert over == {"few": "no group", "-": "no group", "all": "few", "signs": "-"}
    rotations = {"space": beyond.Rotations3D(), "axis": G.CircleAction([1, 1, 0])}
    assert largest_subgroups(rotations, 3) == {"axis": "no group", "space": "axis"}
    # Half a turn of this circle negates only two of the four coordinates.
    screw = {"screw": G.CircleAction([1, 1, 2, 2]), "-": G.Negation()}
    assert largest_subgroups(screw, 4) == {"screw": "no group", "-": "no group"}
    # Two circles that move different coordinates are aligned one by one.
    torus = G.CircleAction([1, 1, 0, 0]).times(G.CircleAction([0, 0, 1, 1]))
    assert largest_subgroups({"torus": torus, "-": G.Negation()}, 4) == {
        "-": "no group",
        "torus": "-",
    }
    overlapping = G.CircleAction([1, 1, 1, 1]).times(G.CircleAction([1, 1, 0, 0]))
    with pytest.raises(ValueError, match="cannot be found, say it with parents"):
        largest_subgroups({"torus": overlapping, "-": G.Negation()}, 4)


def test_subgroups_of_subgroups_may_be_omitted_from_parents():
    groups = {k: G.CyclicShifts(k).on_columns(range(k)) for k in (2, 3, 4)}
    groups = {str(k): group for k, group in groups.items()}
    X, y = ring(25)
    model = RLSRegressor([1e-2], Gaussian(0.2))
    short = {"4": ["3"], "3": ["2"]}
    full = {"4": ["3", "2"], "3": ["2"]}
    assert (
        find_symmetry(model, groups, X, y, parents=short).rows
        == find_symmetry(model, groups, X, y, parents=full).rows
    )


def test_the_true_group_is_supported_and_larger_groups_are_refuted():
    X, y = ring(150)
    model = RLSRegressor(kernel=Gaussian(0.2))
    result = find_symmetry(model, RING, X, y)
    assert result.best == "shifts" and result["orders"]["verdict"] == "refuted"
    assert repr(result).startswith("the data support shifts\nby two: error ")
    noise = find_symmetry(model, list(RING.values()), X, X[::-1, 0])
    assert noise.best is None and "the data support no group" in repr(noise)


def test_find_symmetry_works_with_classifiers_and_folds():
    X, y = ring(30)
    labels = np.array(["low", "mid", "high"])[np.digitize(y, [-0.7, 0.7])]
    for target in (y > 0, labels):
        closed = find_symmetry(RLSClassifier([1e-2], Gaussian(0.2)), RING, X, target)
        out = find_symmetry(RLSClassifier([1e-2], Gaussian(0.2)), RING, X, target, cv=LeaveOneOut())
        assert_allclose([r["error"] for r in closed.rows], [r["error"] for r in out.rows])
    # random folds, but the same for all models
    folds = KFold(5, shuffle=True, random_state=np.random.RandomState(0))
    svc = find_symmetry(SVC(kernel=Gaussian(0.2)), {"-": G.Negation()}, X, y > 0, cv=folds)
    same = find_symmetry(SVC(), {"-": G.Negation()}, X, y > 0, build=lambda m, g: m, cv=folds)
    assert same["-"]["verdict"] == "the data do not tell" and svc["-"]["error"] < 60
    assert find_symmetry(LinearRegression(), RING, X, y).best is None  # uses three times ten folds


def test_all_models_are_compared_on_the_same_folds():
    """Ridge regression has a formula for leave-one-out, but not with transformed copies."""
    X, y = ring(40)
    rows = find_symmetry(RLSRegressor(), {"-": G.Negation()}, X, y).rows
    assert rows == find_symmetry(RLSRegressor(), {"-": G.Negation()}, X, y, cv=10).rows


def test_a_group_too_large_to_average_over_is_refused_after_one_fit(monkeypatch):
    X = np.random.default_rng(0).standard_normal((30, 40))
    fit = RLSRegressor.fit
    fitted = []
    monkeypatch.setattr(RLSRegressor, "fit", lambda *args: fitted.append(1) or fit(*args))
    groups = {"shifts": G.CyclicShifts(40), "orders": G.Permutations(40)}
    with pytest.raises(ValueError, match=r"Permutations\(n=40\) has .* n_transforms"):
        find_symmetry(RLSRegressor(kernel=Gaussian(0.1)), groups, X, X[:, 0])
    assert len(fitted) == 1


@pytest.mark.parametrize("second", [None, 1 / 7])
def test_find_symmetry_has_few_false_alarms(second):
    """A false alarm happens in at most 5 % of samples.

    The models are equally good on average, or miss one direction that gains as much as its noise
    costs. More than 14 of 150 false alarms have a probability below 1 %.
    """
    columns = {1: [0, 1], 4: [0], 2: [0]} if second else {1: [0, 1, 2], 4: [3, 4, 5], 2: [0, 1, 5]}
    alarms = 0
    build = keep(columns)
    for seed in range(150):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((50, 6))
        y = X @ ([1, second, 0, 0, 0, 0] if second else np.ones(6)) + rng.standard_normal(50)
        model = build(RLSRegressor([1e-9]), G.CyclicShifts(1))
        groups = {"four": G.CyclicShifts(4), "two": TWO}
        result = find_symmetry(
            model, groups, X, y, parents={}, build=lambda m, g: build(RLSRegressor([1e-9]), g)
        )
        alarms += result.best is not None
    assert alarms < 15


@pytest.mark.parametrize(("worth", "smallest", "largest"), [(1.0, 0, 14), (0.0, 24, 150)])
def test_the_power_is_close_to_a_paired_test_and_false_alarms_stay_rare(worth, smallest, largest):
    """The group removes eight directions from least squares.

    The directions gain nothing, or as much as their noise costs. A gain of 10 % of the error is
    detected in 30 % of samples: fewer than 24 of 150 have probability 1e-4. False alarms happen in
    4 %: more than 14 of 150 have a probability below 1 %. A paired t test detects 43 % of these
    gains, and has 8 % false alarms.
    """
    build = keep({1: slice(None), 2: slice(1)})
    few, many = (
        1 + j / (49 - j - 1) for j in (2, 10)
    )  # factors of the variance by number of coefficients
    supported = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((50, 9))
        coefficients = rng.standard_normal(8)
        coefficients *= np.sqrt(worth * (many / few - 1)) / np.linalg.norm(coefficients)
        y = X[:, 0] + X[:, 1:] @ coefficients + rng.standard_normal(50)
        result = find_symmetry(
            build(RLSRegressor([1e-9]), G.CyclicShifts(1)),
            {"two": TWO},
            X,
            y,
            parents={},
            build=lambda m, g: build(RLSRegressor([1e-9]), g),
        )
        supported += result.best is not None
    assert smallest <= supported <= largest


@pytest.mark.parametrize("n_outputs", [1, 2, 5])
def test_equal_models_and_exact_models_have_no_gain(n_outputs):
    X = np.random.default_rng(0).standard_normal((30, 3))
    y = np.squeeze(X[:, :1] * np.ones(n_outputs) + X[::-1, :n_outputs].mean() + X[:, 1:2] ** 2)
    same = find_symmetry(RLSRegressor(), {"-": G.Negation()}, X, y, build=lambda m, g: m)
    assert same["-"]["verdict"] == "the data do not tell"
    with_margin = find_symmetry(
        RLSRegressor(), {"-": G.Negation()}, X, y, build=lambda m, g: m, margin=0.1
    )
    assert with_margin.best == "-"
    exact = find_symmetry(
        LinearRegression(),
        {"-": G.Negation()},
        X,
        np.squeeze(np.zeros((30, n_outputs))),
        build=lambda m, g: m,
        margin=0.1,
    )
    assert exact.best is None


def test_a_margin_accepts_groups_that_cost_almost_nothing():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 4))
    options = {"parents": {}, "build": keep({2: [0]})}
    y = X[:, 0] + rng.standard_normal(400)
    for margin, best in ((0, None), (0.05, "2")):
        assert (
            find_symmetry(RLSRegressor(), {"2": TWO}, X, y, margin=margin, **options).best == best
        )


@pytest.mark.parametrize("test", [symmetry_test, find_symmetry])
def test_targets_in_one_column_give_the_same_result(test):
    """The predictions of trees have shape (n,) also if targets have shape (n, 1)."""
    X, y = ring(50)
    model = DecisionTreeRegressor(max_depth=3, random_state=0)
    in_column = test(model, {"-": Negation()}, X, y[:, None])
    assert str(in_column) == str(test(model, {"-": Negation()}, X, y))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("model", [RLSClassifier([1e-2], Gaussian(0.2)), SVC(kernel=Gaussian(0.2))])
@pytest.mark.parametrize("test", [symmetry_test, find_symmetry])
def test_labels_in_one_column_give_the_same_result(test, model):
    X, y = ring(40)
    labels = np.where(y > 0, "high", "low")
    groups = {"-": Negation()}
    assert str(test(model, groups, X, labels[:, None])) == str(test(model, groups, X, labels))


@pytest.mark.parametrize("test", [symmetry_test, find_symmetry])
def test_masked_entries_are_refused(test):
    X, y = ring(20)
    groups = {"-": Negation()}
    with pytest.raises(ValueError, match="X has 1 masked entries: fill them"):
        test(RLSRegressor(), groups, np.ma.masked_array(X, np.arange(80).reshape(X.shape) == 3), y)
    with pytest.raises(ValueError, match="y has 1 masked entries: fill them"):
        test(RLSRegressor(), groups, X, np.ma.masked_array(y, np.arange(20) == 3))
