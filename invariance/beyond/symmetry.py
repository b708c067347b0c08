r"""`symmetry_test`: does building a group into a model lower its error on points held out?

In 1,000 simulations each (``tests/slow_checks/symmetry_test.py``), of two models that are equally
good one is preferred in 2.8 % of samples of 40 points and in 2.4 % of 150. Of data like those of
its example, "shifts" is found to lower the error in 93 %, "signs" to raise it in all.

`find_symmetry` asks it of nested groups, each beside its parents, the largest groups inside it, by
the errors :math:`\ell_i` of n points left out. A p-value is the larger of two.

- The mean of :math:`d_i = (1 + m)\, \ell_i^{\text{parent}} - \ell_i`, with a margin m, is compared
  with Student's t at variance :math:`1.5\, s^2 / n`: points that are left out share their training
  points. (On folds n is the number of training points.)
- That test alone passes fits that differ by little: if the parent has one direction more, which is
  worth its noise, it says "supported" in 18 % of samples, whenever the direction happened to be
  estimated as nearly nothing. For regression the second p-value is of this hypothesis: the parent's
  fit has k directions more, and they are worth their noise. In least squares with Gaussian errors
  of variance :math:`\sigma^2` then :math:`U = n\, \overline{d^2} / \sigma^2` (at m = 0) has the
  noncentral chi-square distribution of k degrees of freedom and noncentrality k, and
  :math:`n\, (\bar\ell^{\text{parent}} / \bar\ell)^2 - n = 2 k - U`. These give k, and the p-value
  is the chance of a U that is no larger. The left side is multiplied by 0.76, for errors of other
  distributions.

In 1,000 simulations each (the same script), with samples of 50 and of 150 points, a group is
supported in 0 to 4.6 % if the parent has 1 to 30 directions more that are worth their noise, with
errors of four distributions, and in 2.8 to 5.0 % if it exchanges features for others that are as
good, for numbers and for labels (two standard errors: at most 1.4 %). Of 50 points, a gain of 5 %
of the error is seen in 20 % of samples, one of 10 % in 30 %, and one of 24 % in 61 %. A paired t
test sees 34, 43 and 68 % of these, but also finds up to 25 % of gains that are not there. A model
freed of one or two directions is hardly ever seen: for one direction, the best test of this size
finds 8 %.

Folds and points are the same for all models, so that differences are paired. A group is tested
once all inside it have passed, at level 0.05 / w, w the most groups left of which none is inside
another: the chance of any false rejection is at most 0.05 (sequential rejection, Goeman and Solari
2010). Without any order that is Holm's method. The largest group supported is thus chosen within
this level, but its error in the table is that of a choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from itertools import permutations
from math import prod
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse, stats
from scipy.sparse.csgraph import maximum_bipartite_matching
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline

from ..core import parameters as kinds
from ..core.arrays import validate_data
from ..core.parameters import ParameterError, check_values, short
from ..groups import Transformations
from ..groups.base import GROUP
from ..kernels import Average, BestFit, Linear

#: How often an integer's folds are drawn: the power of once is a sixth less, more add nothing.
_DRAWS = 3
_SHARES = "% of the error"
_UNTOLD = "the data do not tell"
#: The root of every lattice: the model as it is given.
_NOTHING = "no group"
#: What `Augmented` hands on to its estimator.
_ASKED = "classes_", "predict", "predict_proba", "decision_function", "score"


@dataclass(frozen=True)
class Gain:
    """What building one group in changes.

    Attributes
    ----------
    name : str
    plain, with_group : float
        Mean errors on points held out: per cent of wrong labels, or root mean squared errors.
    gain : float
        By how much the error is less, in ``unit``; positive where the group helps.
    interval : tuple of float
        It covers the expected gain with probability 0.95, together with those of all groups.
    p_value : float
        Two-sided, of no gain, times the number of groups.
    verdict : str
        "lowers the error", "raises the error" or "the data do not tell".
    unit : str
        "percentage points" of wrong labels, or "% of the error" for root mean squared errors.
    """

    name: str
    plain: float
    with_group: float
    gain: float
    interval: tuple[float, float]
    p_value: float
    verdict: str
    unit: str

    def __str__(self) -> str:
        return (
            f"{self.name}: error {self.plain:.3g} -> {self.with_group:.3g}, 95 % interval of the "
            f"gain {self.interval[0]:.2g} to {self.interval[1]:.2g} {self.unit}, "
            f"p = {self.p_value:.2g}: {self.verdict}"
        )


@dataclass(frozen=True)
class SymmetryTest:
    """Gains of all groups, in the order given; ``test["name"]`` is one of them, ``str`` all."""

    gains: tuple[Gain, ...]

    def __iter__(self) -> Iterator[Gain]:
        return iter(self.gains)

    def __getitem__(self, name: str) -> Gain:
        return {gain.name: gain for gain in self.gains}[name]

    @property
    def best(self) -> Gain | None:
        """The largest gain among groups that lower the error; None where the data do not tell."""
        helps = [gain for gain in self.gains if gain.verdict == "lowers the error"]
        return max(helps, key=lambda gain: gain.gain, default=None)

    def __str__(self) -> str:
        return "\n".join(map(str, self.gains))


@kinds.stores_parameters
class Augmented(MetaEstimatorMixin, BaseEstimator):
    """Any estimator, fitted to points and to moved copies of them; it predicts as that does.

    Parameters
    ----------
    estimator : estimator
    group : Transformations
    n_copies : int
        Moved copies of each point: all elements of the group where it has no more, else drawn anew
        for each point. The points themselves are kept.
    random_state : int

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from invariance.groups import SignFlips
    >>> X = np.linspace(-1, 1, 41)[:, None]
    >>> model = Augmented(DecisionTreeRegressor(), SignFlips(1)).fit(X[20:], X[20:, 0] ** 2)
    >>> bool(abs(model.predict([[-0.5]])[0] - 0.25) < 1e-9)
    True
    """

    estimator: Any
    group: Annotated[Transformations, GROUP]
    _: KW_ONLY
    n_copies: Annotated[int, kinds.Whole(1)] = 8
    random_state: int = 0

    def fit(self, X: ArrayLike, y: ArrayLike) -> Augmented:
        kinds.check_parameters(self)
        points, targets = validate_data(self, X, y, multi_output=True)
        if self.group.order <= self.n_copies:  # the identity among them gives each point twice
            moved = self.group.act(self.group.elements(), points)
        else:
            rng = np.random.RandomState(self.random_state)
            drawn = (self.group.sample(self.n_copies, rng) for _ in points)
            each = [self.group.act(g, x[None])[:, 0] for g, x in zip(drawn, points, strict=True)]
            moved = np.stack(each, axis=1)
        every = np.concatenate([points, *moved])
        self.estimator_ = clone(self.estimator)
        self.estimator_.fit(every, np.concatenate([targets] * (len(moved) + 1)))
        return self

    def __getattr__(self, name: str) -> Any:
        """Predictions, scores and classes are the estimator's."""
        if name not in _ASKED or "estimator" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no {name!r}")
        return getattr(self.__dict__.get("estimator_", self.estimator), name)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        for name in ("estimator_type", "target_tags", "classifier_tags", "regressor_tags"):
            setattr(tags, name, getattr(inner, name))
        return tags


def built_in(model: Any, group: Transformations) -> Any:
    """A copy of a model with a group built in, as its parts allow.

    - a parameter ``group`` of a feature map, also within a pipeline, becomes this group;
    - otherwise a parameter ``kernel`` that is a kernel object becomes its `Average` over the group;
    - any other estimator is fitted to moved copies as well (`Augmented`).

    >>> from invariance.groups import CyclicShifts
    >>> from invariance.kernels import Gaussian
    >>> from invariance.linear import RLSRegressor
    >>> built_in(RLSRegressor(kernel=Gaussian()), CyclicShifts(3)).kernel
    Average(base=Gaussian(), group=CyclicShifts(n=3))
    """
    parameters = model.get_params()
    made = {name: group for name in parameters if name.rpartition("__")[2] == "group"}
    made = made or {
        name: Average(clone(value), group)
        for name, value in parameters.items()
        if name.rpartition("__")[2] == "kernel" and hasattr(value, "diag")
    }
    return clone(model).set_params(**made) if made else Augmented(clone(model), group)


def symmetry_test(
    model: Any,
    group: Transformations | Mapping[str, Transformations],
    X: ArrayLike,
    y: ArrayLike,
    *,
    build: Callable[[Any, Transformations], Any] = built_in,
    cv: Any = 10,
) -> SymmetryTest:
    r"""Whether building a group into a model lowers its error on points that it has not seen.

    Both models are fitted to the same folds and compared on the same points: by the difference
    :math:`d_j` of shares of wrong labels, or by that of root mean squared errors as a share of
    their mean. Folds share training points, hence the mean of d is compared with Student's t on
    J - 1 degrees of freedom at variance :math:`(1 / J + n_{\text{test}} / n_{\text{train}}) s^2`
    (Nadeau and Bengio 2003), at level 0.95, corrected for the number of groups (Bonferroni). Size
    and power stand in the module. A gain is no proof of a symmetry: a wrong group can help a model
    that has too few points, and a right one adds nothing to one that learned it from many.

    Parameters
    ----------
    model : estimator
        Without the group, such as with a feature map of ``Translations(shape, max_shift=0)``.
    group : Transformations, or mapping from names to Transformations
    build : callable
        From (model, group) to the model with the group, see `built_in`. Over a group that is too
        large to list, it may average random elements: ``Average(kernel, group, n_transforms=50)``.
    cv : int or splitter
        An integer is a number of folds, drawn three times with fixed seeds, stratified for
        classifiers. A splitter's own folds are taken once.

    Examples
    --------
    >>> from invariance.groups import CyclicShifts, SignFlips
    >>> from invariance.kernels import Gaussian
    >>> from invariance.linear import RLSRegressor
    >>> X = np.random.default_rng(0).standard_normal((80, 4))
    >>> y = np.tanh(X).sum(axis=1) ** 2
    >>> groups = {"shifts": CyclicShifts(4), "signs": SignFlips(4)}
    >>> test = symmetry_test(RLSRegressor(kernel=Gaussian(0.2)), groups, X, y)
    >>> test["shifts"].verdict, test["signs"].verdict
    ('lowers the error', 'raises the error')
    """
    groups = _named("symmetry_test", group if isinstance(group, Mapping) else [group])
    points, targets = np.asarray(X), np.asarray(y)
    models = [clone(model), *(build(model, one) for one in groups.values())]
    splits = _splits(cv, points, targets, is_classifier(model))
    errors = np.empty((len(models), len(splits)))
    for i, (train, test) in enumerate(splits):
        for j, one in enumerate(models):
            found = clone(one).fit(points[train], targets[train]).predict(points[test])
            errors[j, i] = _error(found, targets[test], is_classifier(model))
    share = float(np.mean([len(test) / len(train) for train, test in splits]))
    how = share, "percentage points" if is_classifier(model) else _SHARES, len(groups)
    own = zip(groups, errors[1:], strict=True)
    return SymmetryTest(tuple(_gain(name, errors[0], some, *how) for name, some in own))


def _named(
    owner: str, groups: Mapping[str, Transformations] | Sequence[Transformations]
) -> dict[str, Transformations]:
    """The groups by name, checked; those without one are called as they are written."""
    pairs = groups.items() if isinstance(groups, Mapping) else ((short(g, 60), g) for g in groups)
    named = dict(pairs)
    if len(named) < max(1, len(groups)):
        wrong = "groups of different names: give a mapping" if named else "at least one group"
        raise ParameterError(f"{owner} needs {wrong}, got {short(groups)}")
    for name, one in named.items():
        check_values(owner, {f"group {name}": GROUP}, {f"group {name}": one})
    return named


def _error(found: NDArray[Any], y: NDArray[Any], classifier: bool) -> float:
    """Per cent of wrong labels, or the root mean squared error."""
    return float(100 * np.mean(found != y) if classifier else np.sqrt(np.mean((found - y) ** 2)))


def _splits(cv: Any, X: NDArray[Any], y: NDArray[Any], classifier: bool) -> list[Any]:
    made = [check_cv(cv, y, classifier=classifier)]
    if kinds.Whole(2).accepts(cv):
        made = [type(made[0])(int(cv), shuffle=True, random_state=k) for k in range(_DRAWS)]
    splits = [split for one in made for split in one.split(X, y)]
    if len(splits) < 2:
        raise ParameterError(f"cv must make at least two folds, got {len(splits)} by {short(cv)}")
    return splits


def _gain(
    name: str, plain: NDArray[Any], own: NDArray[Any], share: float, unit: str, n_groups: int
) -> Gain:
    """From the folds' errors; ``share`` is that of test points to training points."""
    d = plain - own
    if unit == _SHARES:
        size = (plain + own) / 2
        d = np.divide(100 * d, size, out=np.zeros_like(d), where=size > 0)
    n, mean = len(d), float(d.mean())
    se = float(np.sqrt((1 / n + share) * d.var(ddof=1)))
    half = se * float(stats.t.ppf(1 - 0.05 / (2 * n_groups), n - 1))
    p = float(2 * stats.t.sf(abs(mean) / se, n - 1)) if se else float(mean == 0)
    p = min(1.0, n_groups * p)
    verdict = _UNTOLD
    if p <= 0.05:
        verdict = "lowers the error" if mean > 0 else "raises the error"
    interval = mean - half, mean + half
    return Gain(name, float(plain.mean()), float(own.mean()), mean, interval, p, verdict, unit)


@dataclass(frozen=True, repr=False)
class FoundSymmetry:
    """The largest group supported, or None, and a table of all, smaller ones first.

    ``found["name"]`` is a row: errors with the group and with the parent that is hardest to improve
    on, p-values for and against, corrected for the lattice, and the verdict; see `find_symmetry`.
    """

    best: str | None
    rows: tuple[dict[str, Any], ...]

    def __getitem__(self, name: str) -> dict[str, Any]:
        return {row["group"]: row for row in self.rows}[name]

    def __repr__(self) -> str:
        line = "{group}: error {without:.3g} ({over}) -> {error:.3g}, p = {p_for:.2g} for, "
        line += "{p_against:.2g} against: {verdict}"
        lines = [line.format(**row) for row in self.rows]
        return "\n".join([f"the data support {self.best or 'no group'}", *lines])


def find_symmetry(
    model: Any,
    groups: Mapping[str, Transformations] | Sequence[Transformations],
    X: ArrayLike,
    y: ArrayLike,
    *,
    parents: Mapping[str, Sequence[str]] | None = None,
    margin: float = 0.0,
    build: Callable[[Any, Transformations], Any] = built_in,
    cv: Any = None,
) -> FoundSymmetry:
    """The largest of nested groups that the data support: each must do better than those inside.

    A group is "supported" where its model has a lower error on points left out (absolute, or per
    cent of wrong labels) than those of its parents, which are supported too; "refuted" where its
    error is higher than that of some group inside. With probability 0.95 none is called supported
    that does not lower the expected error, and with 0.95 none refuted that does not raise it. A
    symmetry that is broken by less than it helps lowers the error too: no test tells it from an
    exact one. How it is done, and how large a gain must be to be seen: see the module.

    Parameters
    ----------
    model : estimator
        Without a group. One point is left out at a time where the models, or the last steps of
        pipelines (of these steps alone), keep ``loo_decision_``; else a tenth, three times over.
    groups : mapping from names to Transformations, or sequence of Transformations
        In any order; the model stands for the trivial group.
    parents : mapping from names to names, optional
        Groups inside each, such as ``{"C6": ["C2", "C3"]}``. Default: found from orbits of random
        points, where groups are unitary.
    margin : float
        By what share of the parent's error a group may do worse. At zero, one that frees it of few
        directions can hardly be seen to help.
    build, cv : as in `symmetry_test`

    Examples
    --------
    >>> from invariance.groups import CyclicShifts, Permutations
    >>> from invariance.kernels import Gaussian
    >>> from invariance.linear import RLSRegressor
    >>> X = np.random.default_rng(0).standard_normal((100, 4))
    >>> y = (np.tanh(X) * np.roll(X, 1, axis=1)).sum(axis=1)
    >>> groups = {"orders": Permutations(4), "shifts": CyclicShifts(4)}
    >>> found = find_symmetry(RLSRegressor(kernel=Gaussian(0.2)), groups, X, y)
    >>> found.best, found["orders"]["over"], found["orders"]["verdict"]
    ('shifts', 'shifts', 'refuted')
    """
    named = _named("find_symmetry", groups)
    check_values("find_symmetry", {"margin": kinds.Number(0)}, {"margin": margin})
    points, targets = np.asarray(X), np.asarray(y)
    inside = _inside(named, points.shape[1:], parents)
    models = {_NOTHING: clone(model), **{name: build(model, named[name]) for name in inside}}
    splits = None if cv is None else _splits(cv, points, targets, is_classifier(model))
    losses, n_train = _left_out(models, points, targets, splits)
    n_outputs = 0 if is_classifier(model) else targets[0].size
    compare = partial(_one_sided, margin=margin, n_train=n_train, n_outputs=n_outputs)
    return _decided(inside, losses, compare)


def _decided(
    inside: Mapping[str, set[str]],
    losses: Mapping[str, NDArray[Any]],
    compare: Callable[[NDArray[Any], NDArray[Any]], tuple[float, float]],
) -> FoundSymmetry:
    """The table and the largest group, from the groups inside each and the points' errors."""
    over, helps, harms = dict[str, str](), dict[str, float](), dict[str, float]()
    for name, smaller in inside.items():
        p = {}
        for k in (_NOTHING, *smaller):
            p[k] = compare(losses[k], losses[name])
        largest = smaller.difference(*(inside[k] for k in smaller)) or {_NOTHING}
        helps[name], over[name] = max((p[k][0], k) for k in largest)
        harms[name] = min(1.0, len(p) * min(against for _, against in p.values()))
    helps, harms = _along(helps, inside), _along(harms, {name: set() for name in inside})
    errors, rows = {name: float(loss.mean()) for name, loss in losses.items()}, []
    for name, k in over.items():
        row = {"group": name, "over": k, "without": errors[k], "error": errors[name]}
        verdict = "refuted" if harms[name] <= 0.05 else _UNTOLD
        verdict = "supported" if helps[name] <= 0.05 else verdict
        rows.append(row | {"p_for": helps[name], "p_against": harms[name], "verdict": verdict})
    passed = {name for name in inside if helps[name] <= 0.05}
    largest = passed.difference(*(inside[name] for name in passed))
    return FoundSymmetry(min(largest, key=errors.__getitem__, default=None), tuple(rows))


def _left_out(
    models: dict[str, Any], X: NDArray[Any], y: NDArray[Any], splits: Any
) -> tuple[dict[str, NDArray[Any]], float]:
    """Errors of points that a model did not learn from, by model, and how many it did learn from.

    Without ``splits`` by leave-one-out, or on folds where a model does not tell of that.
    """
    losses = {}
    # The largest group first: where it is too large to average over, that is told at once.
    for name, model in reversed(models.items()):
        found = _without_each(model, X, y) if splits is None else _on_folds(model, X, y, splits)
        if found is None:  # then all models are compared on the same folds
            return _left_out(models, X, y, _splits(10, X, y, is_classifier(model)))
        losses[name] = found
    n_train = [len(y)] if splits is None else [len(train) for train, _ in splits]
    return losses, float(np.mean(n_train))


def _without_each(model: Any, X: NDArray[Any], y: NDArray[Any]) -> NDArray[Any] | None:
    """Errors of leave-one-out, where the model (or its last step) says what it predicts then."""
    fitted = clone(model).fit(X, y)
    last = fitted[-1] if isinstance(fitted, Pipeline) else fitted
    held = getattr(last, "loo_decision_", None)
    if held is None:
        return None
    found = last._labels(held) if is_classifier(model) else held.reshape(y.shape)
    return _sizes(found, y, is_classifier(model))


def _on_folds(model: Any, X: NDArray[Any], y: NDArray[Any], splits: Any) -> NDArray[Any]:
    """Mean errors on folds, of the points that are in any."""
    sizes = np.full((len(splits), len(y)), np.nan)
    for row, (train, test) in zip(sizes, splits, strict=True):
        found = clone(model).fit(X[train], y[train]).predict(X[test])
        row[test] = _sizes(found, y[test], is_classifier(model))
    return np.nanmean(sizes[:, np.isfinite(sizes).any(axis=0)], axis=0)


def _sizes(found: NDArray[Any], y: NDArray[Any], classifier: bool) -> NDArray[Any]:
    """Sizes of points' errors: 100 where a label is wrong, or absolute values."""
    errors = 100.0 * (found != y) if classifier else found - y
    return np.linalg.norm(errors.reshape(len(y), -1), axis=1)


def _one_sided(
    parent: NDArray[Any], own: NDArray[Any], *, margin: float, n_train: float, n_outputs: int
) -> tuple[float, float]:
    """p-values of no gain, and of no loss, from two models' errors of the same points.

    ``n_outputs`` is zero for errors of labels.
    """
    d = (1 + margin) * parent - own
    mean = float(d.mean())
    n = min(len(d), n_train)
    se = float(np.sqrt(1.5 * d.var(ddof=1) / n))
    if not se:
        return float(mean <= 0), float(mean >= 0)
    helps = float(stats.t.sf(mean / se, len(d) - 1))
    harms = float(stats.t.cdf(mean / se, len(d) - 1))
    if n_outputs:
        helps = max(helps, _by_luck(parent, own, margin, n * n_outputs, n_outputs))
    return helps, harms


def _by_luck(
    parent: NDArray[Any], own: NDArray[Any], margin: float, n: float, n_outputs: int
) -> float:
    """p-value of directions worth their noise that happened to be estimated as nearly nothing.

    See the module; n counts the numbers learned from. A difference of norms of errors in t outputs
    sees one t-th of the squares of differences.
    """
    variance = float(np.mean(np.square(own))) / n_outputs
    if not variance:  # the group's model is exact
        return 0.0
    squares = n * float(np.mean(np.square(parent - own))) / variance
    gained = 0.76 * n * float((parent.mean() / own.mean()) ** 2 - 1)
    directions = max((gained + squares) / 2, 1e-3)
    worth = directions + 0.76 * n * (1 - 1 / (1 + margin) ** 2)
    if directions + worth < 1e4:
        return float(stats.ncx2.cdf(squares, directions, worth))
    spread = np.sqrt(2 * (directions + 2 * worth))
    return float(stats.norm.cdf((squares - directions - worth) / spread))


def _along(p: dict[str, float], inside: Mapping[str, set[str]]) -> dict[str, float]:
    """p-values, corrected by the width of what is left once all groups inside have passed."""
    left, worst, found = list(p), 0.0, dict[str, float]()
    while left:
        one = min((k for k in left if inside[k].isdisjoint(left)), key=p.__getitem__)
        order = sparse.csr_array([[a in inside[b] for a in left] for b in left], dtype=int)
        width = np.count_nonzero(maximum_bipartite_matching(order) < 0)  # Dilworth's theorem
        worst = found[one] = max(worst, min(1.0, width * p[one]))
        left.remove(one)
    return found


def _inside(
    groups: Mapping[str, Any], shape: tuple[int, ...], parents: Mapping[str, Any] | None
) -> dict[str, set[str]]:
    """The groups inside each, told or found, smaller groups first; trivial ones left out."""
    told = parents or {}
    if unknown := set(told).union(*told.values()) - {*groups, _NOTHING}:
        raise ParameterError(f"parents names {sorted(unknown)}, groups only {sorted(groups)}")
    inside = {name: set(told.get(name, ())) - {_NOTHING} for name in groups}
    inside = _by_orbits(groups, shape) if parents is None else inside
    for _ in groups:  # what is inside those as well
        inside = {k: v.union(*(inside[other] for other in v)) for k, v in inside.items()}
    if same := [name for name in inside if name in inside[name]]:
        raise ParameterError(f"groups {same} have the same orbits: leave all but one out")
    if not inside:
        raise ParameterError(f"find_symmetry needs a group that moves points, got {short(groups)}")
    return dict(sorted(inside.items(), key=lambda item: len(item[1])))


def _by_orbits(groups: Mapping[str, Any], shape: tuple[int, ...]) -> dict[str, set[str]]:
    """The groups whose orbits of random points lie in another's, for each that moves them."""
    x, moved = np.random.RandomState(0).standard_normal((2, prod(shape))), {}
    for name, group in groups.items():
        if hasattr(group, "generators"):
            elements = group.generators()
        else:
            elements = group.elements() if group.order <= 1000 else group.sample(20, 0)
        moved[name] = group.act(elements, x)
    inside: dict[str, set[str]] = {k: set() for k in groups if not np.allclose(moved[k], x)}
    for one, other in permutations(inside, 2):
        try:
            if not groups[other].unitary:
                raise TypeError(f"{other} is not unitary")
            orbit = BestFit(Linear(), groups[other])
            largest = [orbit(moved[one][:, i], x[i : i + 1]) for i in range(2)]
        except (TypeError, ValueError) as error:
            unknown = f"whether {one} is inside {other} cannot be found, say it with parents"
            raise ParameterError(f"{unknown}: {error}") from error
        if np.all(np.hstack(largest) >= (1 - 1e-10) * np.square(x).sum(axis=1)):
            inside[other].add(one)
    return inside
