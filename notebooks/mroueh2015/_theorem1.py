"""Quantities of theorem 1 of Mroueh et al. (2015) without its formulas: simulations and lists."""

from itertools import product

import numpy as np
from _groups import sphere

from invariance.companion import mean_se
from invariance.kernels import CDF, Average
from invariance.theory import mroueh2015 as theory


def simulate_kernel(group, X, slacks, n_templates, rng):
    """Exact and simulated K_s on all pairs of points, array (4, slacks, pairs).

    The four parts are the closed form, the mean over templates, its standard error, and the orbit
    distance.
    """
    d = X.shape[1]
    templates = rng.standard_normal((n_templates, d)) / np.sqrt(d)
    squared = np.square(templates).sum(axis=1)
    orbits = group.act(group.elements(), templates)
    pairs = np.triu_indices(len(X))
    reach = np.sqrt(squared.max())
    products = []
    for j in range(n_templates):
        projections = X @ orbits[:, j].T
        products.append(theory.cdf_products(projections, reach)[pairs])
    products = np.array(products)
    distance = theory.orbit_distance(group.act(group.elements(), X))[pairs]
    parts = []
    for eps in slacks:
        accepted = squared[:, None] < 1 + eps
        # A wider range of thresholds adds its width: there both functions are one.
        values = np.where(accepted, products + (1 + eps) - reach, 0)
        mean, error = mean_se(values)
        exact = Average(CDF(epsilon=eps), group)(X)[pairs]
        parts.append((exact, mean, error, distance))
    return np.array(parts).swapaxes(0, 1)


def distance_to_limit(shifts, d, eps, n_templates, rng):
    """(s - d_G) - K_s for a pair of points, simulated: the means of twenty batches of templates."""
    x, z = sphere(2, d, np.random.default_rng(d))
    n_batch = n_templates // 20
    means = []
    for _ in range(20):
        squared = rng.chisquare(d, n_batch) / d
        squared = squared[squared >= 1 + eps]
        directions = sphere(len(squared), d, rng)
        rejected = directions * np.sqrt(squared)[:, None]
        orbit = shifts.act(shifts.elements(), rejected)
        on_x = orbit @ x
        on_z = orbit @ z
        maxima = np.maximum(on_x[:, None], on_z[None])
        terms = 1 + eps - maxima.mean(axis=(0, 1))
        means.append(terms.sum() / n_batch)
    return means


def mean_products(X, orbits, s):
    """Mean over templates of <Phi(x), Phi(z)> with infinitely many bins.

    `orbits` holds the transformed copies of each template, shape (templates, elements, d).
    """
    return sum(theory.cdf_products(X @ copies.T, s) for copies in orbits) / len(orbits)


def listed_expectation(group, n_elements, X, templates, s):
    """Expectation of <Phi(x), Phi(z)> over all tuples of that many group elements."""
    orbits = group.act(group.elements(), templates)
    copies = []
    for elements in product(range(group.order), repeat=n_elements):
        copies += list(orbits[list(elements)].swapaxes(0, 1))
    return mean_products(X, copies, s)
