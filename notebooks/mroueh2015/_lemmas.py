"""Quantities that the lemmas of Mroueh et al. (2015) bound, computed without the lemmas."""

import numpy as np
from _groups import sphere
from scipy import stats

BATCH = 500  # draws of points on a sphere that are in memory at a time


def integrated_moments(mean_x, mean_y, sd_x, sd_y, rho):
    """Mean and variance of max(X, Y), X and Y Gaussian, by integrating the density on a fine grid."""
    z = np.linspace(-30, 30, 60_001)
    spacing = z[1] - z[0]
    density_of_x = _density_of_maximum(z, mean_x, sd_x, mean_y, sd_y, rho)
    density_of_y = _density_of_maximum(z, mean_y, sd_y, mean_x, sd_x, rho)
    density = density_of_x + density_of_y
    mass = density * spacing
    mean = mass @ z
    variance = mass @ (z - mean) ** 2
    return mean, variance


def _density_of_maximum(z, mean, sd, other_mean, other_sd, rho):
    """Density at z of the first variable while the second one is smaller."""
    slope = rho * other_sd / sd
    conditional_mean = other_mean + slope * (z - mean)
    conditional_sd = other_sd * np.sqrt(1 - rho**2)
    density = stats.norm.pdf(z, mean, sd)
    other_is_smaller = stats.norm.cdf(z, conditional_mean, conditional_sd)
    return density * other_is_smaller


def mean_norms(space, n_vectors, n_draws, rng):
    """Return the norms, shape (n_draws,), of centred means of vectors of norm at most one.

    `space` is "signs", "steps" or "sphere in d" for a number d.
    """
    if space == "signs":
        return _norms_of_signs(n_vectors, n_draws, rng)
    if space == "steps":
        return _norms_of_steps(n_vectors, n_draws, rng)
    d = int(space.split()[-1])
    means = []
    for start in range(0, n_draws, BATCH):
        n_batch = min(BATCH, n_draws - start)
        vectors = sphere(n_batch * n_vectors, d, rng)
        by_draw = vectors.reshape(n_batch, n_vectors, d)
        means.append(by_draw.mean(axis=1))
    all_means = np.concatenate(means)
    return np.linalg.norm(all_means, axis=1)


def _norms_of_signs(n_signs, n_draws, rng):
    """Absolute means of random signs."""
    n_positive = rng.binomial(n_signs, 0.5, n_draws)
    sums = 2 * n_positive - n_signs
    return np.abs(sums) / n_signs


def _norms_of_steps(n_steps, n_draws, rng):
    """L2 distances of empirical distributions from the uniform one."""
    drawn = rng.random((n_draws, n_steps))
    places = np.sort(drawn, axis=1)
    ranks = np.arange(1, n_steps + 1)
    middles = (2 * ranks - 1) / (2 * n_steps)
    squared = np.square(places - middles).mean(axis=1)
    within_steps = 1 / (12 * n_steps**2)
    return np.sqrt(within_steps + squared)


def multinomial_outcomes(m, p):
    """Largest distance of F_m from F, and probability, of all counts of three values."""
    values = np.arange(m + 1)
    first, second = np.meshgrid(values, values, indexing="ij")
    is_possible = first + second <= m
    first = first[is_possible]
    second = second[is_possible]
    third = m - first - second
    counts = np.stack([first, second, third], axis=1)
    empirical = np.cumsum(counts[:, :2], axis=1) / m
    exact = np.cumsum(p)[:2]
    distances = np.abs(empirical - exact).max(axis=1)
    probabilities = stats.multinomial.pmf(counts, m, p)
    return distances, probabilities


def binomial_outcomes(m, p):
    """Distance of F_m from F, and probability, of all counts of a Bernoulli variable."""
    counts = np.arange(m + 1)
    empirical = counts / m
    distances = np.abs(empirical - p)
    probabilities = stats.binom.pmf(counts, m, p)
    return distances, probabilities


def mean_of_signs(k):
    """Expectation of the absolute sum of k random signs, exactly."""
    if k == 0:
        return 0.0
    half = np.ceil(k / 2)
    probability = stats.binom.pmf(half, k, 0.5)
    return 2 * half * probability


def complexity(n_samples, n_points):
    """Rademacher complexity of all functions of size one on equally likely points, exactly."""
    counts = np.arange(n_samples + 1)
    probabilities = stats.binom.pmf(counts, n_samples, 1 / n_points)
    total = 0
    for count, probability in zip(counts, probabilities, strict=True):
        if probability > 1e-17:
            mean = mean_of_signs(count)
            total = total + n_points * probability * mean / n_samples
    return total


def allowed_gap(n_samples, complexity, V0, delta, spread=1.0):
    """Gap that theorem 5 allows between risk and empirical risk, for L = C = 1.

    `spread` is the constant of the last term: 1 as printed, 2 as the proof needs it.
    """
    deviation = np.sqrt(np.log(1 / delta) / (2 * n_samples))
    at_zero = 2 * V0 / np.sqrt(n_samples)
    return 4 * complexity + at_zero + spread * deviation
