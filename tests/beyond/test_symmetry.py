"""`symmetry_test` and `find_symmetry`: arithmetic, false alarms, power, what is built in how."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from invariance import beyond
from invariance import groups as G
from invariance.beyond import Augmented, built_in, find_symmetry, symmetry_test
from invariance.beyond.symmetry import _corrected, _inside
from invariance.features import OrbitFourier
from invariance.groups import CyclicShifts, Negation, Permutations, SignFlips, Translations
from invariance.kernels import Average, Gaussian
from invariance.linear import RLSClassifier, RLSRegressor


class Half(Ridge):
    """Ridge regression on one half of the features."""

    def __init__(self, first=True):
        super().__init__()
        self.first = first

    def _of(self, X):
        middle = X.shape[1] // 2
        return X[:, :middle] if self.first else X[:, middle:]

    def fit(self, X, y):
        return super().fit(self._of(X), y)

    def predict(self, X):
        return super().predict(self._of(X))


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


# -- `find_symmetry`: the order of groups, what is controlled, and what is found -------------------

TWO = G.GeneratedPermutations([[2, 3, 0, 1]])
RING = {"orders": G.Permutations(4), "shifts": G.CyclicShifts(4), "by two": TWO}


def ring(n, seed=0):
    """Points, and values that shifts leave as they are and other orders do not."""
    X = np.random.default_rng(seed).standard_normal((n, 4))
    return X, (np.tanh(X) * np.roll(X, 1, axis=1)).sum(axis=1)


def keep(columns):
    """A builder of models that see some columns only, by the group's order."""
    return lambda model, group: make_pipeline(
        FunctionTransformer(lambda X: X[:, columns[group.order]]), model
    )


def test_the_arithmetic():
    X, y = ring(25)
    found = find_symmetry(RLSRegressor([1e-2], Gaussian(0.2)), RING, X, y, margin=0.1)
    left_out = {}
    for name, kernel in {"no group": Gaussian(0.2), **RING}.items():
        kernel = kernel if name == "no group" else Average(Gaussian(0.2), kernel)
        one = RLSRegressor([1e-2 * 25 / 24], kernel)  # the same ridge with one point less
        rest = [np.delete(np.arange(25), i) for i in range(25)]
        held = [one.fit(X[r], y[r]).predict(X[i : i + 1])[0] for i, r in enumerate(rest)]
        left_out[name] = np.abs(held - y)

    def p(own, other):
        d = 1.1 * left_out[other] - left_out[own]
        by_t = stats.t.cdf(np.array([-1, 1]) * d.mean() / np.sqrt(1.5 * d.var(ddof=1) / 25), 24)
        # directions of the parent's fit that are worth their noise, and 10 % of the error
        squares = 25 * np.mean((left_out[other] - left_out[own]) ** 2)
        squares /= np.mean(left_out[own] ** 2)
        gained = 0.76 * 25 * ((left_out[other].mean() / left_out[own].mean()) ** 2 - 1)
        k = max((gained + squares) / 2, 1e-3)
        luck = stats.ncx2.cdf(squares, k, k + 0.76 * 25 * (1 - 1.1**-2))
        return max(by_t[0], luck), by_t[1]

    chain = [p("by two", "no group"), p("shifts", "by two"), p("orders", "shifts")]
    rows = found.rows
    assert_allclose([r["p_for"] for r in rows], np.maximum.accumulate(chain)[:, 0], rtol=1e-5)
    before = [["no group"], ["no group", "by two"], ["no group", "by two", "shifts"]]
    against = [
        len(b) * min(p(r["group"], k)[1] for k in b) for r, b in zip(rows, before, strict=True)
    ]
    holm = np.maximum.accumulate(np.sort(np.minimum(against, 1)) * [3, 2, 1]).clip(max=1)
    assert_allclose(np.sort([r["p_against"] for r in rows]), holm, rtol=1e-5)
    assert [r["over"] for r in rows] == ["no group", "by two", "shifts"]
    assert_allclose(found["shifts"]["error"], left_out["shifts"].mean())


def test_correction_is_sequential_rejection():
    """Adjusted p-values are the least levels at which the procedure, as stated, rejects."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        names = list("abcde")
        before = {k: {j for j in names[:i] if rng.random() < 0.4} for i, k in enumerate(names)}
        for k in names:
            before[k] = before[k].union(*(before[j] for j in before[k]))
        p = dict(zip(names, rng.random(5) ** 3, strict=True))

        def width(left, before=before):
            sets = (s for r in range(1, 6) for s in combinations(left, r))
            free = (s for s in sets if not any(j in before[k] for j in s for k in s))
            return max(map(len, free), default=0)

        def rejected(level, before=before, p=p, width=width, names=names):
            done = set()
            while True:
                left = [k for k in names if k not in done]
                new = {k for k in left if before[k] <= done and p[k] * width(left) <= level}
                if not new:
                    return done
                done |= new

        for k, value in _corrected(p, before).items():
            assert k not in rejected(value * (1 - 1e-9))
            assert value == 1 or k in rejected(value * (1 + 1e-9))


def test_groups_inside_others_are_found():
    shifts = {k: G.GeneratedPermutations([np.roll(np.arange(12), k)]) for k in (1, 2, 3, 4, 6, 12)}
    inside = _inside({str(12 // k): group for k, group in shifts.items()}, (12,), None)
    assert inside["12"] == {"2", "3", "4", "6"} and inside["6"] == {"2", "3"}
    assert inside["4"] == {"2"} and "1" not in inside  # which moves nothing
    few = G.Permutations(3).on_columns([0, 1, 2])
    named = {"all": G.Permutations(30), "few": few, "-": G.Negation(), "signs": G.SignFlips(30)}
    inside = _inside(named, (30,), None)
    assert inside == {"few": set(), "-": set(), "all": {"few"}, "signs": {"-"}}
    rotations = {"space": beyond.Rotations3D(), "axis": G.CircleAction([1, 1, 0])}
    assert _inside(rotations, (3,), None) == {"axis": set(), "space": {"axis"}}
    screw = {"screw": G.CircleAction([1, 1, 2, 2]), "-": G.Negation()}
    assert _inside(screw, (4,), None) == {
        "screw": set(),
        "-": set(),
    }  # half a turn negates two only
    torus = G.CircleAction([1, 1, 0, 0]).times(G.CircleAction([0, 0, 1, 1]))
    with pytest.raises(ValueError, match="cannot be found, say it with parents"):
        _inside({"torus": torus, "-": G.Negation()}, (4,), None)
    told = {"space": ["axis"], "axis": ["quarter"]}
    groups = dict.fromkeys(["space", "axis", "quarter"])
    assert _inside(groups, (3,), told)["space"] == {"axis", "quarter"}


def test_planted_groups_are_found():
    X, y = ring(150)
    model = RLSRegressor(kernel=Gaussian(0.2))
    found = find_symmetry(model, RING, X, y)
    assert found.best == "shifts" and found["orders"]["verdict"] == "refuted"
    assert repr(found).startswith("the data support shifts\nby two: error ")
    noise = find_symmetry(model, list(RING.values()), X, X[::-1, 0])
    assert noise.best is None and "the data support no group" in repr(noise)


def test_classifiers_and_folds():
    X, y = ring(30)
    labels = np.array(["low", "mid", "high"])[np.digitize(y, [-0.7, 0.7])]
    for target in (y > 0, labels):
        closed = find_symmetry(RLSClassifier([1e-2], Gaussian(0.2)), RING, X, target)
        out = find_symmetry(RLSClassifier([1e-2], Gaussian(0.2)), RING, X, target, cv=LeaveOneOut())
        assert_allclose([r["error"] for r in closed.rows], [r["error"] for r in out.rows])
    # drawn anew each time: the same for all models all the same
    folds = KFold(5, shuffle=True, random_state=np.random.RandomState(0))
    svc = find_symmetry(SVC(kernel=Gaussian(0.2)), {"-": G.Negation()}, X, y > 0, cv=folds)
    same = find_symmetry(SVC(), {"-": G.Negation()}, X, y > 0, build=lambda m, g: m, cv=folds)
    assert same["-"]["verdict"] == "the data do not tell" and svc["-"]["error"] < 60
    assert find_symmetry(LinearRegression(), RING, X, y).best is None  # three times ten folds


def test_all_models_are_compared_on_the_same_folds():
    """Of ridge regression leave-one-out is known, with moved copies of its points it is not."""
    X, y = ring(40)
    rows = find_symmetry(RLSRegressor(), {"-": G.Negation()}, X, y).rows
    assert rows == find_symmetry(RLSRegressor(), {"-": G.Negation()}, X, y, cv=10).rows


def test_a_group_too_large_to_average_over_is_told_of_at_once(monkeypatch):
    X, fit, fitted = np.random.default_rng(0).standard_normal((30, 40)), RLSRegressor.fit, []
    monkeypatch.setattr(RLSRegressor, "fit", lambda *given: fitted.append(1) or fit(*given))
    groups = {"shifts": G.CyclicShifts(40), "orders": G.Permutations(40)}
    with pytest.raises(ValueError, match=r"Permutations\(n=40\) has .* n_transforms"):
        find_symmetry(RLSRegressor(kernel=Gaussian(0.1)), groups, X, X[:, 0])
    assert len(fitted) == 1


@pytest.mark.parametrize("second", [None, 1 / 7])
def test_false_alarms(second):
    """Of models that are equally good on average, or that miss one direction worth its noise, one
    is supported in at most 5 % of samples; more than 14 of 150 happen in less than 1 %."""
    columns = {1: [0, 1], 4: [0], 2: [0]} if second else {1: [0, 1, 2], 4: [3, 4, 5], 2: [0, 1, 5]}
    alarms, build = 0, keep(columns)
    for seed in range(150):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((50, 6))
        y = X @ ([1, second, 0, 0, 0, 0] if second else np.ones(6)) + rng.standard_normal(50)
        model = build(RLSRegressor([1e-9]), G.CyclicShifts(1))
        groups = {"four": G.CyclicShifts(4), "two": TWO}
        found = find_symmetry(
            model, groups, X, y, parents={}, build=lambda m, g: build(RLSRegressor([1e-9]), g)
        )
        alarms += found.best is not None
    assert alarms < 15


@pytest.mark.parametrize(("worth", "least", "most"), [(1.0, 0, 14), (0.0, 24, 150)])
def test_power_is_like_that_of_a_paired_test_and_size_is_kept(worth, least, most):
    """The group frees least squares of eight directions, worth their noise or nothing.

    A gain of 10 % of the error is seen in 30 % of samples; fewer than 24 of 150 have a chance of
    1e-4, and more than 14 false alarms, of 4 %, one below 1 %. A paired t test sees 43 % of these
    gains, and has 8 % of false alarms.
    """
    build = keep({1: slice(None), 2: slice(1)})
    few, many = (1 + j / (49 - j - 1) for j in (2, 10))  # of the variance, by coefficients
    supported = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((50, 9))
        coefficients = rng.standard_normal(8)
        coefficients *= np.sqrt(worth * (many / few - 1)) / np.linalg.norm(coefficients)
        y = X[:, 0] + X[:, 1:] @ coefficients + rng.standard_normal(50)
        found = find_symmetry(
            build(RLSRegressor([1e-9]), G.CyclicShifts(1)),
            {"two": TWO},
            X,
            y,
            parents={},
            build=lambda m, g: build(RLSRegressor([1e-9]), g),
        )
        supported += found.best is not None
    assert least <= supported <= most


@pytest.mark.parametrize("n_outputs", [1, 2, 5])
def test_equal_models_and_exact_ones_have_plain_verdicts(n_outputs):
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


def test_a_margin_passes_what_costs_next_to_nothing():
    rng = np.random.default_rng(0)
    X, how = rng.standard_normal((400, 4)), {"parents": {}, "build": keep({2: [0]})}
    y = X[:, 0] + rng.standard_normal(400)
    for margin, best in ((0, None), (0.05, "2")):
        assert find_symmetry(RLSRegressor(), {"2": TWO}, X, y, margin=margin, **how).best == best
