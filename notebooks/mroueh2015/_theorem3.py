"""Learning problems with a known best risk, for theorem 3 of Mroueh et al. (2015)."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from _groups import sphere
from _norm_infinity import NormInfinityClassifier, margin_loss
from scipy.special import entr, expit

from invariance.features import GroupCDF
from invariance.kernels import CDF, Average

N_CANDIDATES = 40  # points among which the two of the target are chosen
TEMPLATES_AT_ONCE = 2000


@dataclass(frozen=True)
class Problem:
    """A finite core set with label probabilities, and the best function of the class F_p."""

    loss: str
    X: np.ndarray
    positive: np.ndarray  # P(y = 1 | x)
    best: np.ndarray  # values of f* on X
    C: float
    best_risk: float


def make_problems(group, eps, n_points, seed):
    """Return the problems for the square, the logistic and the hinge loss, by the loss's name."""
    rng = np.random.default_rng(seed)
    X = np.sort(sphere(n_points, 4, rng), axis=1)
    candidates = np.sort(sphere(N_CANDIDATES, 4, rng), axis=1)
    columns = Average(CDF(epsilon=eps, truncated=True), group)(X, candidates)
    differences = [columns[:, i] - columns[:, j] for i, j in combinations(range(N_CANDIDATES), 2)]
    unit = max(differences, key=np.std)
    return {
        "square": _square_problem(X, unit),
        "logistic": _logistic_problem(X, unit),
        "hinge": _hinge_problem(X, unit),
    }


def _square_problem(X, unit):
    C = 0.95 / np.abs(unit).max()
    f = C * unit
    return Problem(
        loss="square",
        X=X,
        positive=(1 + f) / 2,
        best=f,
        C=float(C),
        best_risk=float(np.mean(1 - f**2)),
    )


def _logistic_problem(X, unit):
    C = 3.0 / np.abs(unit).max()
    f = C * unit
    positive = expit(f)
    return Problem(
        loss="logistic",
        X=X,
        positive=positive,
        best=f,
        C=float(C),
        best_risk=float(np.mean(entr(positive) + entr(1 - positive))),
    )


def _hinge_problem(X, unit):
    median = np.median(np.abs(unit))
    confident = np.abs(unit) >= median
    C = 1 / median
    f = C * unit[confident]
    return Problem(
        loss="hinge",
        X=X[confident],
        positive=1.0 * (f > 0),
        best=f,
        C=float(C),
        best_risk=0.0,
    )


def expected_risk(problem, f):
    """Expectation of V(y f(x)), for values f of shape (..., points)."""
    if_positive = problem.positive * margin_loss(problem.loss, f)
    if_negative = (1 - problem.positive) * margin_loss(problem.loss, -f)
    return np.mean(if_positive + if_negative, axis=-1)


def features(X, group, *, n_templates, n_bins, eps, seed):
    """Features (s / n) psi-hat of section 4 with the whole group, shape (points, m (2n + 1))."""
    s = 1 + eps
    model = GroupCDF(
        group,
        n_templates,
        n_bins=n_bins,
        epsilon=eps,
        rejection="zero",
        s=s,
        random_state=seed,
    )
    psi = model.fit_transform(X).reshape(len(X), n_templates, -1)
    psi = psi * np.sqrt(s * n_templates / n_bins)
    psi[:, :, [0, -1]] *= np.sqrt(2)  # the outermost thresholds count half in `GroupCDF`
    return psi.reshape(len(X), -1)


def best_in_class(problem, Z, n_templates):
    """Minimiser of the expected risk over F~: every point once with each label, weighted."""
    weights = np.r_[problem.positive, 1 - problem.positive]
    labels = np.repeat([1, -1], len(Z))
    model = NormInfinityClassifier(problem.C / n_templates, problem.loss)
    return model.fit(np.r_[Z, Z], labels, sample_weight=weights)


def draw_sample(problem, n_samples, rng):
    """Indices of core points, and labels; both labels occur, as a classifier needs."""
    while True:
        rows = rng.integers(len(problem.X), size=n_samples)
        is_positive = rng.random(n_samples) < problem.positive[rows]
        y = np.where(is_positive, 1, -1)
        if len(set(y)) == 2:
            return rows, y


@dataclass(frozen=True)
class LinearProblem:
    """A core set with label probabilities and a class on which the hinge loss is linear."""

    core: np.ndarray  # sorted points, (points, d)
    positive: np.ndarray  # P(y = 1 | x)
    matrices: np.ndarray  # the group's elements, (elements, d, d)
    s: float
    C: float

    @property
    def label_means(self):
        """E[y | x] over the number of points."""
        return (2 * self.positive - 1) / len(self.core)

    def largest_value(self, n_bins):
        """Largest absolute value of a function of the class."""
        return (2 + 1 / n_bins) * self.s * self.C

    def draw_templates(self, n_templates, rng):
        """Gaussian templates, and a mask of those that are not rejected."""
        d = self.core.shape[1]
        templates = rng.standard_normal((n_templates, d)) / np.sqrt(d)
        accepted = np.square(templates).sum(axis=1) < self.s
        return templates, accepted

    def project(self, templates):
        """Inner products <x, g t>, shape (templates, points, elements)."""
        return np.einsum("pd,gde,te->tpg", self.core, self.matrices, templates)

    def indicators(self, templates, accepted, n_bins):
        """1(<x, g t> <= s k / n), shape (templates, points, elements, thresholds).

        A rejected template is the null template: all its indicators are zero.
        """
        thresholds = self.s * np.arange(-n_bins, n_bins + 1) / n_bins
        below = self.project(templates)[..., None] <= thresholds
        return below * accepted[:, None, None, None]

    def integrals(self, n_templates, rng):
        """Integral of |mu(t, .)| over thresholds, exactly, for drawn templates."""
        batches = []
        for start in range(0, n_templates, TEMPLATES_AT_ONCE):
            n_batch = min(TEMPLATES_AT_ONCE, n_templates - start)
            templates, accepted = self.draw_templates(n_batch, rng)
            batches.append(np.where(accepted, self._integrals_of(templates), 0))
        return np.concatenate(batches)

    def _integrals_of(self, templates):
        n_elements = len(self.matrices)
        values = self.project(templates).reshape(len(templates), -1)
        order = np.argsort(values, axis=1)
        jumps = np.repeat(self.label_means, n_elements)[order] / n_elements
        heights = np.cumsum(jumps, axis=1)
        ends = np.take_along_axis(values, order, axis=1)
        ends = np.append(ends, np.full((len(templates), 1), self.s), axis=1)
        widths = np.diff(ends, axis=1)
        return (np.abs(heights) * widths).sum(axis=1)

    def signed_means(self, templates, accepted, n_bins, label_means=None):
        """E[y 1(<x, g t> <= s k / n)], shape (elements, templates x thresholds)."""
        if label_means is None:
            label_means = self.label_means
        below = self.indicators(templates, accepted, n_bins)
        means = np.einsum("p,tpgk->gtk", label_means, below)
        return means.reshape(len(self.matrices), -1)

    def risk_of_minimiser(self, n_samples, n_templates, n_elements, n_bins, rng):
        """Expected risk on all orbits of the empirical minimiser over the class.

        `n_elements` is the number of sampled group elements, or zero for the whole group.
        """
        templates, accepted = self.draw_templates(n_templates, rng)
        order = len(self.matrices)
        if n_elements == 0:
            elements = np.arange(order)
        else:
            elements = rng.integers(order, size=n_elements)
        share = np.bincount(elements, minlength=order) / len(elements)
        below = self.indicators(templates, accepted, n_bins)
        psi = np.einsum("tpgk,g->ptk", below, share).reshape(len(self.core), -1)
        rows = rng.integers(len(self.core), size=n_samples)
        is_positive = rng.random(n_samples) < self.positive[rows]
        y = np.where(is_positive, 1.0, -1.0)
        label_sums = np.bincount(rows, y, len(self.core))
        learned_signs = np.sign(label_sums @ psi)
        mu = self.signed_means(templates, accepted, n_bins).mean(axis=0)
        return 1 - self.s * self.C / (n_templates * n_bins) * learned_signs @ mu
