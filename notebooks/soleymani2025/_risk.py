"""Targets of known smoothness, and the risk of spectral averaging on them, by Parseval."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import Ridge

from invariance import spectral
from invariance.groups import Permutations, SignFlips, TorusTranslations
from invariance.spectral import Circle, SpectralAveraging, Sphere, Torus
from invariance.theory import soleymani2025 as theory

N_SIZES = 6  # sample sizes of a curve
N_SUP_POINTS = 2000  # points for the largest value of a target


@dataclass(frozen=True)
class Case:
    """A manifold with a group, and the smoothness of the targets on it."""

    name: str
    manifold: Any
    group: Any
    s: float
    degree: int  # of the target's expansion

    @property
    def d(self):
        """Dimension of the manifold."""
        return self.manifold.manifold_dimension

    @property
    def basis(self):
        """Basis in which targets are expanded."""
        return self.manifold.truncate(degree=self.degree)

    @property
    def title(self):
        """Name with the smoothness."""
        return f"{self.name}, s = {self.s:g}"

    def cutoff(self, n):
        """Cutoff of theorem 1, the number of functions at n samples."""
        return theory.cutoff(n, self.s, d=self.d)

    def sample_sizes(self, smallest, largest):
        """Return at most six n, evenly spread, whose cutoff ends at the end of an eigenspace."""
        power = 1 + theory.alpha(self.s, self.d)
        sizes = np.ceil(self.basis.counts_**power * (1 - 1e-12)).astype(int)
        sizes = sizes[(sizes >= smallest) & (sizes <= largest)]
        spread = np.linspace(0, len(sizes) - 1, N_SIZES).astype(int)
        return sizes[np.unique(spread)]

    def draw_target(self, rng):
        """Draw an invariant function in H^s and in no smoother space."""
        return spectral.sobolev_target(self.basis, self.group, smoothness=self.s, random_state=rng)

    def sizes_of(self, target, rng):
        """Sobolev norm and largest absolute value of a target."""
        basis = self.basis
        counts = np.repeat(basis.counts_, basis.dimensions_)
        norm = theory.sobolev_norm(target.coefficients, counts, s=self.s, d=self.d)
        X = self.manifold.sample(N_SUP_POINTS, rng)
        return norm, np.abs(target.predict(X)).max()


ROTATION = TorusTranslations([2], period=2 * np.pi)
CASES = [
    Case("circle, half turn", Circle(), ROTATION, s=1.0, degree=100),
    Case("torus 2, sign flips", Torus(2), SignFlips(2), s=1.5, degree=120),
    Case("torus 2, sign flips", Torus(2), SignFlips(2), s=2.0, degree=80),
    Case("torus 3, permutations", Torus(3), Permutations(3), s=2.0, degree=20),
    Case("torus 3, permutations", Torus(3), Permutations(3), s=2.5, degree=14),
    Case("sphere 2, permutations", Sphere(3), Permutations(3), s=2.0, degree=14),
]


def noisy_values(target, X, noise, rng):
    """Values of a target with Gaussian noise."""
    return target.predict(X) + noise * rng.standard_normal(len(X))


def squared_distance(coefficients, target_coefficients):
    """Squared distance of two functions by Parseval, whichever has more coefficients."""
    difference = np.zeros(max(len(coefficients), len(target_coefficients)))
    difference[: len(coefficients)] = coefficients
    difference[: len(target_coefficients)] -= target_coefficients
    return np.sum(difference**2)


def sobolev_ridge(case, values, y):
    """Coefficients of kernel ridge regression with the Sobolev kernel, in its feature form.

    `values` holds the eigenfunctions at the samples. The penalty has the order of theorem 1.
    """
    basis = case.basis
    n = len(y)
    alpha = theory.alpha(case.s, case.d)
    scale = np.repeat(basis.counts_, basis.dimensions_) ** (-alpha / 2)
    penalty = n * n ** theory.risk_exponent(case.s, case.d) / 10
    ridge = Ridge(alpha=penalty, fit_intercept=False, solver="cholesky")
    ridge.fit(values * scale, y)
    return ridge.coef_ * scale


def risks_of_draw(case, sizes, noise, rng):
    """Excess risks of three estimators and the bound of eq. (43), by name, one per sample size."""
    target = case.draw_target(rng)
    norm, sup = case.sizes_of(target, rng)
    basis = case.basis
    risks = {"mean": [], "least_squares": [], "krr": [], "bound": []}
    for n in sizes:
        X = case.manifold.sample(n, rng)
        y = noisy_values(target, X, noise, rng)
        for estimator in ("mean", "least_squares"):
            model = SpectralAveraging(
                case.manifold,
                case.group,
                smoothness=case.s,
                cutoff="theorem",
                estimator=estimator,
            )
            model.fit(X, y)
            risks[estimator].append(squared_distance(model.coef_, target.coefficients))
        bound = theory.risk_bound(
            n,
            len(model.coef_),
            s=case.s,
            d=case.d,
            noise=noise,
            sup_norm=sup,
            sobolev=norm,
        )
        risks["bound"].append(bound)
        ridge_coefficients = sobolev_ridge(case, basis.evaluate(X), y)
        risks["krr"].append(squared_distance(ridge_coefficients, target.coefficients))
    return risks


def published_estimate(basis, group, X, y):
    """Spectral averaging with the empirical mean, as published."""
    return SpectralAveraging(basis, group, estimator="mean").fit(X, y)


def terms_of_draw(case, n, cutoffs, noise, rng):
    """Variance, truncation and the bounds of both, one row per cutoff."""
    target = case.draw_target(rng)
    norm, sup = case.sizes_of(target, rng)
    X = case.manifold.sample(n, rng)
    y = noisy_values(target, X, noise, rng)
    basis = case.basis
    rows = []
    for cutoff in cutoffs:
        truncated = basis.truncate(cutoff=cutoff, warn=False)
        model = published_estimate(truncated, case.group, X, y)
        D = len(model.coef_)
        variance = np.sum((model.coef_ - target.coefficients[:D]) ** 2)
        truncation = np.sum(target.coefficients[D:] ** 2)
        variance_bound = theory.estimation_error(n, D, noise=noise, sup_norm=sup)
        truncation_bound = theory.approximation_error(D, case.s, d=case.d, sobolev=norm)
        rows.append((variance, truncation, variance_bound, truncation_bound))
    return rows


def terms_of_small_wave(n, degree, wave, n_draws, noise, first_seed):
    """Mean terms as in `terms_of_draw`, for a target on the circle that nearly meets the bound.

    There is no group; the target is a constant and a small wave just beyond the cutoff.
    """
    truncated = Circle().truncate(degree=degree)
    basis = Circle().truncate(degree=degree + 1)
    D = truncated.n_functions_
    coefficients = np.zeros(basis.n_functions_)
    coefficients[0] = 1
    coefficients[D] = wave
    target = spectral.Expansion(basis, coefficients)
    counts = np.repeat(basis.counts_, basis.dimensions_)
    norm = theory.sobolev_norm(coefficients, counts, s=1.0, d=1)
    sup = 1 + np.sqrt(2) * wave
    variance_bound = theory.estimation_error(n, D, noise=noise, sup_norm=sup)
    truncation_bound = theory.approximation_error(D, 1.0, d=1, sobolev=norm)
    variances = []
    for draw in range(n_draws):
        rng = np.random.RandomState(first_seed + draw)
        X = basis.sample(n, rng)
        y = noisy_values(target, X, noise, rng)
        model = published_estimate(truncated, None, X, y)
        variances.append(np.sum((model.coef_ - coefficients[:D]) ** 2))
    return np.array([[np.mean(variances), wave**2, variance_bound, truncation_bound]])


def risks_by_cutoff(case, n, factors, noise, rng):
    """Excess risk of the published estimate at multiples of the theorem's cutoff, one draw."""
    target = case.draw_target(rng)
    X = case.manifold.sample(n, rng)
    y = noisy_values(target, X, noise, rng)
    basis = case.basis
    risks = []
    for factor in factors:
        truncated = basis.truncate(cutoff=factor * case.cutoff(n), warn=False)
        model = published_estimate(truncated, case.group, X, y)
        risks.append(squared_distance(model.coef_, target.coefficients))
    return risks


def risks_of_sparse_target(case, n, noise, rng):
    """Risk at a tenth of the cutoff and at the cutoff, for a target on low eigenspaces alone."""
    low = case.manifold.truncate(cutoff=case.cutoff(n) / 10, warn=False)
    full = case.manifold.truncate(cutoff=case.cutoff(n), warn=False)
    coefficients = rng.standard_normal(low.n_functions_)
    coefficients = spectral.project(coefficients, low, case.group)
    coefficients /= np.linalg.norm(coefficients)
    X = case.manifold.sample(n, rng)
    y = noisy_values(spectral.Expansion(low, coefficients), X, noise, rng)
    risks = []
    for basis in (low, full):
        model = published_estimate(basis, case.group, X, y)
        risks.append(squared_distance(model.coef_, coefficients))
    return risks
