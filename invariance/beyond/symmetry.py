r"""`symmetry_test`: whether a group that is built into a model lowers its error on held-out points.

The following rates come from 1,000 simulations each (``tests/slow_checks/symmetry_test.py``). If
two models are equally good, one is preferred in 2.8 % of samples of 40 points and in 2.4 % of 150.
For data like those of its example, "shifts" lowers the error in 93 %, and "signs" raises it in all.

`find_symmetry` applies a similar test to nested groups. It compares each group with its parents,
the largest groups inside it, by the errors :math:`\ell_i` of n points left out. A p-value is the
larger of two.

- The mean of :math:`d_i = (1 + m)\, \ell_i^{\text{parent}} - \ell_i`, with a margin m, is compared
  with Student's t at variance :math:`1.5\, s^2 / n`, since points that are left out share their
  training points. (On folds n is the number of training points.)
- That test alone accepts fits that differ by little. If the parent has one useful direction more,
  the group is "supported" in 18 % of samples, whenever the direction happened to be estimated as
  nearly nothing. For regression the second p-value is of this hypothesis: the parent's fit has k
  directions more, and they are worth their noise. In least squares with Gaussian errors of variance
  :math:`\sigma^2` then :math:`U = n\, \overline{d^2} / \sigma^2` (at m = 0) has the noncentral
  chi-square distribution of k degrees of freedom and noncentrality k, and
  :math:`n\, (\bar\ell^{\text{parent}} / \bar\ell)^2 - n = 2 k - U`. These give k, and the p-value
  is the probability of a U that is no larger. The left side is multiplied by 0.76, for errors of
  other distributions.

The same script gives the rates for samples of 50 and of 150 points. A group is supported in 0 to
4.6 % if the parent has 1 to 30 directions more that are worth their noise, with errors of four
distributions, and in 2.8 to 5.0 % if it exchanges features for others that are as good, for numbers
and for labels (two standard errors: at most 1.4 %). With 50 points, a gain of 5 % of the error is
detected in 20 % of samples, one of 10 % in 30 %, and one of 24 % in 61 %. A paired t test detects
34, 43 and 68 %, but also reports up to 25 % of gains that do not exist. Models with one or two
directions less are hardly ever detected: for one direction, the best test of this size has power
8 %.

Folds and points are the same for all models, so that differences are paired. A group is tested
once all groups inside it have passed, at level 0.05 / w. Here w is the largest number of remaining
groups that are not nested in one another. The probability of any false rejection is then at most
0.05 (sequential rejection, Goeman and Solari 2010). Without any order this is Holm's method. The
choice of the largest supported group is covered by this level, but its error in the table is biased
by the choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from functools import partial, wraps
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
from ..core.arrays import check_names, refuse_masked, validate_data
from ..core.dask_arrays import refuse_dask
from ..core.parameters import ParameterError, check_values, short
from ..groups import Transformations
from ..groups.base import GROUP, ListingError
from ..kernels import Average, BestFit, Linear
from ..linear.ridge import in_power_of_two
from .equivariant import ACTION, moved_targets

#: Number of times that folds are drawn: one draw has a sixth less power, and more add nothing.
_DRAWS = 3
_POINTS = "percentage points"
_SHARES = "% of the error"
_UNDECIDED = "the data do not tell"
#: The root of every lattice: the model without a group.
_NOTHING = "no group"
#: Attributes of `Augmented` that are those of its estimator.
_DELEGATED = ("classes_", "predict", "predict_proba", "decision_function", "score")


@dataclass(frozen=True)
class Gain:
    """The change of the error if one group is built into a model.

    Attributes
    ----------
    name : str
    plain : float
        Mean error on held-out points: per cent of wrong labels, or root mean squared error.
    with_group : float
        The same for the model with the group.
    gain : float
        Decrease of the error, in ``unit``; positive if the group helps.
    interval : tuple of float
        Interval that covers the expected gain with probability 0.95, for all groups at once.
    p_value : float
        Two-sided p-value of no gain, times the number of groups.
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
    """Gains of all groups, in their order; ``test["name"]`` is a single one, ``str(test)`` all."""

    gains: tuple[Gain, ...]

    def __iter__(self) -> Iterator[Gain]:
        return iter(self.gains)

    def __getitem__(self, name: str) -> Gain:
        return {gain.name: gain for gain in self.gains}[name]

    @property
    def best(self) -> Gain | None:
        """The largest gain among groups that lower the error; None if no group does."""
        helpful = [gain for gain in self.gains if gain.verdict == "lowers the error"]
        return max(helpful, key=lambda gain: gain.gain, default=None)

    def __str__(self) -> str:
        return "\n".join(map(str, self.gains))


@kinds.stores_parameters
class Augmented(MetaEstimatorMixin, BaseEstimator):
    """An estimator that is fitted to points and to transformed copies of them.

    Parameters
    ----------
    estimator : estimator
    group : Transformations
    n_copies : int
        Number of transformed copies of each point, by elements that are drawn anew for each point.
        A group of at most so many elements contributes all of them. The points themselves stay.
    act_on_targets : None, True or Transformations
        None gives a copy the target of its point. True transforms the targets by the same element
        of the group: a rotated point has a rotated force. Another action of the same elements may
        be given, if targets have another shape than points.
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
    act_on_targets: Annotated[Any, None | ACTION] = None
    random_state: int = 0

    def fit(self, X: ArrayLike, y: ArrayLike) -> Augmented:
        kinds.check_parameters(self)
        points, targets = validate_data(self, X, y, multi_output=True)
        copies, target_copies = self._copies(points, targets)
        self.estimator_ = clone(self.estimator)
        self.estimator_.fit(
            np.concatenate([points, *copies]), np.concatenate([targets, *target_copies])
        )
        return self

    def _copies(self, points: NDArray[Any], targets: NDArray[Any]) -> tuple[Any, Any]:
        """Return transformed copies of all points and targets, shapes (copies, n, ...)."""
        if self.group.order <= self.n_copies:
            # The identity among the elements gives each point twice.
            elements = self.group.elements()
            return self.group.act(elements, points), self._moved_targets(elements, targets)
        rng = np.random.RandomState(self.random_state)
        copies = []
        target_copies = []
        for i in range(len(points)):
            elements = self.group.sample(self.n_copies, rng)
            copies.append(self.group.act(elements, points[i : i + 1])[:, 0])
            target_copies.append(self._moved_targets(elements, targets[i : i + 1])[:, 0])
        return np.stack(copies, axis=1), np.stack(target_copies, axis=1)

    def _moved_targets(self, elements: NDArray[Any], targets: NDArray[Any]) -> NDArray[Any]:
        """Return the targets of transformed copies, shape (copies, n, ...)."""
        if self.act_on_targets is None:
            return np.stack([targets] * len(elements))
        return moved_targets(self.group, self.act_on_targets, elements, targets)

    def __getattr__(self, name: str) -> Any:
        """Return predictions, scores and classes of the estimator."""
        if name not in _DELEGATED or "estimator" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no {name!r}")
        if "estimator_" not in self.__dict__:
            return getattr(self.estimator, name)
        value = getattr(self.estimator_, name)
        if not callable(value):
            return value

        @wraps(value)
        def of_named_points(X: Any, *args: Any, **kwargs: Any) -> Any:
            return value(self._without_names(X), *args, **kwargs)

        return of_named_points

    def _without_names(self, X: Any) -> Any:
        """Return points without names of columns, which must be the fitted ones, in their order.

        The estimator is fitted to copies of the points that have no names.
        """
        check_names(self, X)
        return np.asarray(X) if hasattr(self, "feature_names_in_") else X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        for name in ("estimator_type", "target_tags", "classifier_tags", "regressor_tags"):
            setattr(tags, name, getattr(inner, name))
        return tags


def built_in(model: Any, group: Transformations, *, n_transforms: int | None = None) -> Any:
    """Return a copy of a model with a group built in, as its parts allow.

    - A parameter ``group`` of a feature map, also within a pipeline, becomes this group.
    - Otherwise a parameter ``kernel`` that is a kernel object becomes its `Average` over the group.
    - Any other estimator is fitted to transformed copies as well (`Augmented`).

    `n_transforms` is the number of elements that are drawn from the group, for one that is too
    large to list. None leaves the model's own number, and an `Average` takes the whole group.

    >>> from invariance.groups import CyclicShifts
    >>> from invariance.kernels import Gaussian
    >>> from invariance.linear import RLSRegressor
    >>> built_in(RLSRegressor(kernel=Gaussian()), CyclicShifts(3)).kernel
    Average(base=Gaussian(), group=CyclicShifts(n=3))
    """
    parameters = model.get_params()
    groups: dict[str, Any] = {}
    kernels = {}
    for name, value in parameters.items():
        prefix, separator, last_name = name.rpartition("__")
        if last_name == "group":
            groups[name] = group
            number = f"{prefix}{separator}n_transforms"
            if n_transforms is not None and number in parameters:
                groups[number] = n_transforms
        elif last_name == "kernel" and hasattr(value, "diag"):
            kernels[name] = Average(clone(value), group, n_transforms=n_transforms)
    changes = groups or kernels
    if changes:
        return clone(model).set_params(**changes)
    if n_transforms is None:
        return Augmented(clone(model), group)
    return Augmented(clone(model), group, n_copies=n_transforms)


@contextmanager
def _elements_can_be_drawn(owner: str) -> Iterator[None]:
    """Add to the error about a group that is too large to list what its caller can do."""
    try:
        yield
    except ListingError as error:
        fault = str(error).partition(";")[0]
        remedy = f"draw some in {owner}(..., build=partial(built_in, n_transforms=50))"
        where = "with partial from functools and built_in from invariance.beyond"
        raise ListingError(f"{fault}; {remedy}, {where}") from error


def symmetry_test(
    model: Any,
    group: Transformations | Mapping[str, Transformations],
    X: ArrayLike,
    y: ArrayLike,
    *,
    build: Callable[[Any, Transformations], Any] = built_in,
    cv: Any = 10,
) -> SymmetryTest:
    r"""Test whether a group that is built into a model lowers its error on held-out points.

    Both models are fitted to the same folds and compared on the same points: by the difference
    :math:`d_j` of shares of wrong labels, or by that of root mean squared errors as a share of
    their mean. Folds share training points, hence the mean of d is compared with Student's t on
    J - 1 degrees of freedom at variance :math:`(1 / J + n_{\text{test}} / n_{\text{train}}) s^2`
    (Nadeau and Bengio 2003), at level 0.95, corrected for the number of groups (Bonferroni). The
    module states size and power. A gain does not prove a symmetry: a wrong group can help a model
    that has too few points, and the right group adds nothing to a model that learned it from many.

    Parameters
    ----------
    model : estimator
        The model without the group, such as with features of ``Translations(shape, max_shift=0)``.
    group : Transformations, or mapping from names to Transformations
    build : callable
        Function of (model, group) that returns the model with the group, see `built_in`. For a
        group that is too large to list, ``partial(built_in, n_transforms=50)`` draws elements.
    cv : int or splitter
        An integer is a number of folds, drawn three times with fixed seeds, stratified for
        classifiers. The folds of a splitter are taken once.

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
    points, targets = _checked(model, X, y)
    classifies = is_classifier(model)
    models = [clone(model)]
    models += [build(model, each) for each in groups.values()]
    splits = _splits(cv, points, targets, classifies)
    errors = np.empty((len(models), len(splits)))
    for i, (train, test) in enumerate(splits):
        for j, candidate in enumerate(models):
            with _elements_can_be_drawn("symmetry_test"):
                fitted = clone(candidate).fit(points[train], targets[train])
                predictions = fitted.predict(points[test])
            errors[j, i] = _error(predictions, targets[test], classifies)
    ratio = float(np.mean([len(test) / len(train) for train, test in splits]))
    gains = []
    for name, group_errors in zip(groups, errors[1:], strict=True):
        gain = _gain(
            name,
            errors[0],
            group_errors,
            ratio=ratio,
            unit=_POINTS if classifies else _SHARES,
            n_groups=len(groups),
        )
        gains.append(gain)
    return SymmetryTest(tuple(gains))


def _named(
    owner: str, groups: Mapping[str, Transformations] | Sequence[Transformations]
) -> dict[str, Transformations]:
    """Return the groups by name, checked; the name of a group in a sequence is its ``repr``."""
    if isinstance(groups, Mapping):
        named = dict(groups)
    else:
        named = {short(group, 60): group for group in groups}
    if not named:
        raise ParameterError(f"{owner} needs at least one group, got {short(groups)}")
    if len(named) < len(groups):
        raise ParameterError(
            f"{owner} needs groups of different names: give a mapping, got {short(groups)}"
        )
    for name, group in named.items():
        check_values(owner, {f"group {name}": GROUP}, {f"group {name}": group})
    return named


def _checked(model: Any, X: ArrayLike, y: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return points and targets as arrays; labels of shape (n, 1) become those of shape (n,)."""
    refuse_dask("X", X)
    refuse_masked("X", X)
    refuse_masked("y", y)
    targets = np.asarray(y)
    if is_classifier(model) and targets.shape[1:] == (1,):
        targets = targets[:, 0]
    return np.asarray(X), targets


def _error(predictions: NDArray[Any], y: NDArray[Any], classifies: bool) -> float:
    """Return the per cent of wrong labels, or the root mean squared error."""
    predictions = np.reshape(predictions, y.shape)
    if classifies:
        return float(100 * np.mean(predictions != y))
    differences, exponent = in_power_of_two(_differences(predictions, y))
    return float(np.ldexp(np.sqrt(np.mean(differences**2)), exponent))


def _differences(predictions: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    """Return predictions minus targets as floats; integers without a sign would wrap."""
    return np.subtract(predictions, y, dtype=float, casting="unsafe")


def _splits(cv: Any, X: NDArray[Any], y: NDArray[Any], classifies: bool) -> list[Any]:
    """Return the pairs of training and test indices."""
    splitter = check_cv(cv, y, classifier=classifies)
    splitters = [splitter]
    if kinds.Whole(2).accepts(cv):
        kind = type(splitter)
        splitters = [kind(int(cv), shuffle=True, random_state=seed) for seed in range(_DRAWS)]
    splits = []
    for splitter in splitters:
        splits += splitter.split(X, y)
    if len(splits) < 2:
        raise ParameterError(f"cv must make at least two folds, got {len(splits)} by {short(cv)}")
    return splits


def _gain(
    name: str,
    plain: NDArray[Any],
    with_group: NDArray[Any],
    *,
    ratio: float,
    unit: str,
    n_groups: int,
) -> Gain:
    """Return the gain from the errors of each fold.

    ``ratio`` is the number of test points divided by the number of training points.
    """
    differences = plain - with_group
    if unit == _SHARES:
        means = (plain + with_group) / 2
        zeros = np.zeros_like(differences)
        differences = np.divide(100 * differences, means, out=zeros, where=means > 0)
    n_folds = len(differences)
    mean = float(differences.mean())
    standard_error = float(np.sqrt((1 / n_folds + ratio) * differences.var(ddof=1)))
    half_width = standard_error * float(stats.t.ppf(1 - 0.05 / (2 * n_groups), n_folds - 1))
    if standard_error > 0:
        p_value = float(2 * stats.t.sf(abs(mean) / standard_error, n_folds - 1))
    else:
        p_value = float(mean == 0)
    p_value = min(1.0, n_groups * p_value)
    verdict = _UNDECIDED
    if p_value <= 0.05:
        verdict = "lowers the error" if mean > 0 else "raises the error"
    return Gain(
        name=name,
        plain=float(plain.mean()),
        with_group=float(with_group.mean()),
        gain=mean,
        interval=(mean - half_width, mean + half_width),
        p_value=p_value,
        verdict=verdict,
        unit=unit,
    )


@dataclass(frozen=True, repr=False)
class FoundSymmetry:
    """The largest supported group, or None, and a table of all groups, smaller ones first.

    ``result["name"]`` is a row: errors with the group and with the parent that is hardest to
    improve on, p-values for and against, corrected for the lattice, and the verdict; see
    `find_symmetry`.
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
    """Return the largest of nested groups that the data support.

    A group is "supported" if its model has a lower error on points left out (absolute, or per cent
    of wrong labels) than those of its parents, which are supported too. It is "refuted" if its
    error is higher than that of a group inside it. With probability 0.95, every supported group
    lowers the expected error, and with probability 0.95, every refuted group raises it. A symmetry
    that is broken by less than it helps lowers the error too: no test distinguishes it from an
    exact one. The module describes the method, and how large a gain must be to be detected.

    Parameters
    ----------
    model : estimator
        The model without a group. One point is left out at a time if the models, or the last steps
        of pipelines (of these steps alone), have ``loo_decision_``; otherwise a tenth of the
        points, three times over.
    groups : mapping from names to Transformations, or sequence of Transformations
        In any order; the model stands for the trivial group.
    parents : mapping from names to names, optional
        Groups inside each, such as ``{"C6": ["C2", "C3"]}``. By default they are determined from
        orbits of random points, if all groups are unitary.
    margin : float
        Share of the parent's error by which a group may do worse. At zero, the gain of a group that
        removes only a few directions can hardly be detected.
    build, cv : as in `symmetry_test`

    Examples
    --------
    >>> from invariance.groups import CyclicShifts, Permutations
    >>> from invariance.kernels import Gaussian
    >>> from invariance.linear import RLSRegressor
    >>> X = np.random.default_rng(0).standard_normal((100, 4))
    >>> y = (np.tanh(X) * np.roll(X, 1, axis=1)).sum(axis=1)
    >>> groups = {"orders": Permutations(4), "shifts": CyclicShifts(4)}
    >>> result = find_symmetry(RLSRegressor(kernel=Gaussian(0.2)), groups, X, y)
    >>> result.best, result["orders"]["over"], result["orders"]["verdict"]
    ('shifts', 'shifts', 'refuted')
    """
    named = _named("find_symmetry", groups)
    check_values("find_symmetry", {"margin": kinds.Number(0)}, {"margin": margin})
    points, targets = _checked(model, X, y)
    inside = _inside(named, points.shape[1:], parents)
    models = {_NOTHING: clone(model)}
    for name in inside:
        models[name] = build(model, named[name])
    splits = None
    if cv is not None:
        splits = _splits(cv, points, targets, is_classifier(model))
    with _elements_can_be_drawn("find_symmetry"):
        losses, n_train = _left_out(models, points, targets, splits)
    n_outputs = 0 if is_classifier(model) else prod(targets.shape[1:])
    compare = partial(_one_sided, margin=margin, n_train=n_train, n_outputs=n_outputs)
    return _decided(inside, losses, compare)


def _decided(
    inside: Mapping[str, set[str]],
    losses: Mapping[str, NDArray[Any]],
    compare: Callable[[NDArray[Any], NDArray[Any]], tuple[float, float]],
) -> FoundSymmetry:
    """Return the largest supported group and the table.

    ``inside`` has the groups inside each group, and ``losses`` the points' errors for each model.
    """
    parents: dict[str, str] = {}
    p_for: dict[str, float] = {}
    p_against: dict[str, float] = {}
    for name, smaller in inside.items():
        references = (_NOTHING, *smaller)
        p_values = {each: compare(losses[each], losses[name]) for each in references}
        largest_smaller = _largest(smaller, inside) or {_NOTHING}
        p_for[name], parents[name] = max((p_values[each][0], each) for each in largest_smaller)
        smallest = min(against for _, against in p_values.values())
        p_against[name] = min(1.0, len(references) * smallest)
    p_for = corrected_p_values(p_for, inside)
    p_against = corrected_p_values(p_against, {name: set() for name in inside})
    errors = {name: float(loss.mean()) for name, loss in losses.items()}
    supported = {name for name in inside if p_for[name] <= 0.05}
    rows = []
    for name, parent in parents.items():
        verdict = _UNDECIDED
        if name in supported:
            verdict = "supported"
        elif p_against[name] <= 0.05:
            verdict = "refuted"
        row = {
            "group": name,
            "over": parent,
            "without": errors[parent],
            "error": errors[name],
            "p_for": p_for[name],
            "p_against": p_against[name],
            "verdict": verdict,
        }
        rows.append(row)
    best = min(_largest(supported, inside), key=errors.__getitem__, default=None)
    return FoundSymmetry(best, tuple(rows))


def _largest(names: set[str], inside: Mapping[str, set[str]]) -> set[str]:
    """Return the groups among these that are inside no other one of them."""
    smaller = [inside[name] for name in names]
    return names.difference(*smaller)


def _left_out(
    models: dict[str, Any], X: NDArray[Any], y: NDArray[Any], splits: Any
) -> tuple[dict[str, NDArray[Any]], float]:
    """Return the errors of held-out points by model, and the number of training points.

    Without ``splits`` they are leave-one-out errors, or errors on folds if a model has none.
    """
    losses = {}
    # The largest group comes first: if it is too large to average over, its error is raised soon.
    for name, model in reversed(models.items()):
        if splits is not None:
            losses[name] = _on_folds(model, X, y, splits)
            continue
        leave_one_out = _without_each(model, X, y)
        if leave_one_out is None:  # All models are then compared on the same folds.
            folds = _splits(10, X, y, is_classifier(model))
            return _left_out(models, X, y, folds)
        losses[name] = leave_one_out
    if splits is None:
        return losses, float(len(y))
    return losses, float(np.mean([len(train) for train, _ in splits]))


def _without_each(model: Any, X: NDArray[Any], y: NDArray[Any]) -> NDArray[Any] | None:
    """Return leave-one-out errors if the model, or its last step, has ``loo_decision_``."""
    fitted = clone(model).fit(X, y)
    learner = fitted[-1] if isinstance(fitted, Pipeline) else fitted
    decisions = getattr(learner, "loo_decision_", None)
    if decisions is None:
        return None
    if is_classifier(model):
        return _sizes(learner._labels(decisions), y, True)
    return _sizes(decisions, y, False)


def _on_folds(model: Any, X: NDArray[Any], y: NDArray[Any], splits: Any) -> NDArray[Any]:
    """Return mean errors on folds, for the points that are in any fold."""
    errors = np.full((len(splits), len(y)), np.nan)
    for fold_errors, (train, test) in zip(errors, splits, strict=True):
        predictions = clone(model).fit(X[train], y[train]).predict(X[test])
        fold_errors[test] = _sizes(predictions, y[test], is_classifier(model))
    is_tested = np.isfinite(errors).any(axis=0)
    return np.nanmean(errors[:, is_tested], axis=0)


def _sizes(predictions: NDArray[Any], y: NDArray[Any], classifies: bool) -> NDArray[Any]:
    """Return the size of each point's error: 100 for a wrong label, or an absolute value."""
    predictions = np.reshape(predictions, y.shape)
    errors = 100.0 * (predictions != y) if classifies else _differences(predictions, y)
    errors, exponent = in_power_of_two(errors.reshape(len(y), -1))
    return np.ldexp(np.linalg.norm(errors, axis=1), exponent)


def _one_sided(
    parent: NDArray[Any],
    with_group: NDArray[Any],
    *,
    margin: float,
    n_train: float,
    n_outputs: int,
) -> tuple[float, float]:
    """Return p-values of no gain, and of no loss, from two models' errors of the same points.

    ``n_outputs`` is zero for errors of labels.
    """
    # Squares of errors must neither overflow nor vanish, whatever the unit of the targets.
    (parent, with_group), _ = in_power_of_two(np.stack([parent, with_group]))
    differences = (1 + margin) * parent - with_group
    mean = float(differences.mean())
    n = min(len(differences), n_train)
    standard_error = float(np.sqrt(1.5 * differences.var(ddof=1) / n))
    if standard_error == 0:
        return float(mean <= 0), float(mean >= 0)
    t = mean / standard_error
    n_degrees = len(differences) - 1
    p_for = float(stats.t.sf(t, n_degrees))
    p_against = float(stats.t.cdf(t, n_degrees))
    if n_outputs:
        p_for = max(p_for, _by_luck(parent, with_group, margin, n * n_outputs, n_outputs))
    return p_for, p_against


def _by_luck(
    parent: NDArray[Any], with_group: NDArray[Any], margin: float, n: float, n_outputs: int
) -> float:
    """Return the p-value of useful directions that happened to be estimated as nearly nothing.

    See the module; n is the number of values learned from. A difference of norms of errors in t
    outputs has one t-th of the squares of differences.
    """
    variance = float(np.mean(np.square(with_group))) / n_outputs
    if variance == 0:  # The model with the group is exact.
        return 0.0
    U = n * float(np.mean(np.square(parent - with_group))) / variance
    ratio = float(parent.mean() / with_group.mean())
    left_side = 0.76 * n * (ratio**2 - 1)
    k = max((left_side + U) / 2, 1e-3)
    noncentrality = k + 0.76 * n * (1 - 1 / (1 + margin) ** 2)
    if k + noncentrality < 1e4:
        return float(stats.ncx2.cdf(U, k, noncentrality))
    spread = np.sqrt(2 * (k + 2 * noncentrality))
    return float(stats.norm.cdf((U - k - noncentrality) / spread))


def corrected_p_values(
    p_values: dict[str, float], inside: Mapping[str, set[str]]
) -> dict[str, float]:
    """Return p-values corrected by the width of the groups that remain to be tested.

    ``inside`` maps each name to those that are tested before it.
    """
    remaining = list(p_values)
    largest = 0.0
    corrected: dict[str, float] = {}
    while remaining:
        testable = [name for name in remaining if inside[name].isdisjoint(remaining)]
        name = min(testable, key=p_values.__getitem__)
        nested = [[a in inside[b] for a in remaining] for b in remaining]
        order = sparse.csr_array(nested, dtype=int)
        # Dilworth's theorem: the width is the number of chains that cover all groups.
        width = np.count_nonzero(maximum_bipartite_matching(order) < 0)
        largest = max(largest, min(1.0, width * p_values[name]))
        corrected[name] = largest
        remaining.remove(name)
    return corrected


def _inside(
    groups: Mapping[str, Any], shape: tuple[int, ...], parents: Mapping[str, Any] | None
) -> dict[str, set[str]]:
    """Return the groups inside each group, smaller groups first, without trivial ones."""
    if parents is None:
        inside = _by_orbits(groups, shape)
    else:
        unknown = set(parents).union(*parents.values()) - {*groups, _NOTHING}
        if unknown:
            raise ParameterError(f"parents names {sorted(unknown)}, groups only {sorted(groups)}")
        inside = {name: set(parents.get(name, ())) - {_NOTHING} for name in groups}
    for _ in groups:  # Groups inside a group that is inside are inside as well.
        inside = {
            name: smaller.union(*(inside[each] for each in smaller))
            for name, smaller in inside.items()
        }
    equal = [name for name in inside if name in inside[name]]
    if equal:
        raise ParameterError(f"groups {equal} have the same orbits: leave all but one out")
    if not inside:
        raise ParameterError(f"find_symmetry needs a group that moves points, got {short(groups)}")
    return dict(sorted(inside.items(), key=lambda item: len(item[1])))


def _by_orbits(groups: Mapping[str, Any], shape: tuple[int, ...]) -> dict[str, set[str]]:
    """Return, for each group that moves random points, the groups whose orbits lie in its own."""
    points = np.random.RandomState(0).standard_normal((2, prod(shape)))
    images = {}
    for name, group in groups.items():
        image = group.act(_some_elements(group), points)
        if not np.allclose(image, points):
            images[name] = image
    squared_norms = np.square(points).sum(axis=1)
    inside: dict[str, set[str]] = {name: set() for name in images}
    for smaller, larger in permutations(images, 2):
        largest = _largest_products(smaller, images[smaller], points, larger, groups[larger])
        if np.all(largest >= (1 - 1e-10) * squared_norms):
            inside[larger].add(smaller)
    return inside


def _some_elements(group: Any) -> NDArray[Any]:
    """Return elements that move a point if any element of the group does, as a rule."""
    if hasattr(group, "generators"):
        return group.generators()
    if group.order <= 1000:
        return group.elements()
    return group.sample(20, 0)


def _largest_products(
    smaller: str, images: NDArray[Any], points: NDArray[Any], larger: str, group: Any
) -> NDArray[Any]:
    """Return the largest inner product of each image with the orbit of its point."""
    try:
        if not group.unitary:
            raise TypeError(f"{larger} is not unitary")
        kernel = BestFit(Linear(), group)
        products = [kernel(images[:, i], points[i : i + 1]) for i in range(len(points))]
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"whether {smaller} is inside {larger} cannot be found, say it with parents: {error}"
        ) from error
    return np.hstack(products)
