"""Kernels of templates on the sphere, and subsets of groups, for the remarks of Mroueh et al. (2015)."""

import numpy as np
from _groups import sphere, turns

from invariance.groups import CyclicShifts, Permutations, Transformations
from invariance.theory import mroueh2015 as theory

JUST_ABOVE_ONE = 1 + 1e-12  # end of the thresholds for projections in [-1, 1]


def direction_grid(d, n):
    """Unit vectors on a grid in two or three dimensions, and their weights."""
    angle = (np.arange(2 * n) + 0.5) * np.pi / n
    if d == 2:
        circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        return circle, np.full(2 * n, 0.5 / n)
    height, share = np.polynomial.legendre.leggauss(n)
    radius = np.sqrt(1 - height**2)[:, None]
    x = radius * np.cos(angle)
    y = radius * np.sin(angle)
    z = height[:, None] + 0 * angle
    points = np.stack([x, y, z], axis=-1).reshape(-1, 3)
    return points, np.repeat(share / (4 * n), 2 * n)


def kernel_of_templates(group, X, templates, weights):
    """Expected integral over thresholds of the product of distribution functions, for s = 1."""
    orbits = group.act(group.elements(), templates)
    terms = []
    for j in range(len(templates)):
        projections = X @ orbits[:, j].T
        terms.append(theory.cdf_products(projections, JUST_ABOVE_ONE))
    return np.tensordot(weights, np.array(terms), 1)


def error_of_templates(group, X, K, n_templates, rng):
    """Largest error of sampled templates, with the whole group and exact thresholds."""
    templates = sphere(n_templates, X.shape[1], rng)
    weights = np.full(n_templates, 1 / n_templates)
    sampled_K = kernel_of_templates(group, X, templates, weights)
    return np.abs(sampled_K - K).max()


def error_of_elements(group, X, n_elements, n_templates, rng):
    """Largest error of sampled elements, for the same templates and exact thresholds."""
    templates = sphere(n_templates, X.shape[1], rng)
    orbits = group.act(group.elements(), templates)
    indices = rng.integers(group.order, size=n_elements)
    sampled = orbits[indices]
    total = 0
    for j in range(n_templates):
        of_sampled = theory.cdf_products(X @ sampled[:, j].T, JUST_ABOVE_ONE)
        of_group = theory.cdf_products(X @ orbits[:, j].T, JUST_ABOVE_ONE)
        total = total + of_sampled - of_group
    return np.abs(total).max() / n_templates


def excess_of_bins(group, X, n_bins, n_templates, rng):
    """Inner products with bins less the exact integrals, for every pair of points."""
    templates = sphere(n_templates, X.shape[1], rng)
    orbits = group.act(group.elements(), templates)
    projections = np.einsum("pd,gtd->ptg", X, orbits)
    thresholds = np.arange(-n_bins, n_bins + 1) / n_bins
    below = projections[..., None] <= thresholds
    psi = below.mean(axis=2).reshape(len(X), -1)
    weights = np.full(n_templates, 1 / n_templates)
    exact = kernel_of_templates(group, X, templates, weights)
    gram = psi @ psi.T / (n_bins * n_templates)
    return gram - exact


class Subset(Transformations):
    """Chosen elements of a group, with equal probabilities."""

    def __init__(self, group, chosen):
        self.group = group
        self.chosen = chosen

    @property
    def shape(self):
        return self.group.shape

    def _listed(self):
        return np.asarray(self.chosen)

    def _act(self, elements, X):
        return self.group.act(elements, X)


def subsets(d):
    """Subsets of three groups by name; the first three are closed under inverses."""
    circle = turns(24, d)
    shifts = CyclicShifts(8, block=d // 8)
    swaps = Permutations(4, d // 4)
    cosines = circle.elements()[:, 0, 0]
    near = circle.elements()[cosines > np.cos(np.pi / 4) - 1e-9]
    n_moved = np.sum(swaps.elements() != np.arange(1, 5), axis=1)
    at_most_one_swap = swaps.elements()[n_moved <= 2]
    return {
        "rotations within 45°": Subset(circle, near),
        "shifts by at most one": Subset(shifts, shifts.elements()[[0, 1, 7]]),
        "at most one swap": Subset(swaps, at_most_one_swap),
        "shifts by none or one": Subset(shifts, shifts.elements()[[0, 1]]),
        "a swap, a three-cycle": Subset(swaps, [[2, 1, 3, 4], [2, 3, 1, 4]]),
        "identity, a three-cycle": Subset(swaps, [[1, 2, 3, 4], [2, 3, 1, 4]]),
    }


def subset_distances(subset, X):
    """Mean distance over a subset by its elements (as printed) and by their inverses (eq. 11)."""
    matrices = subset.act(subset.elements(), np.eye(X.shape[1])).swapaxes(1, 2)
    return {
        "printed": theory.orbit_distance(X @ matrices.swapaxes(1, 2)),
        "inverses": theory.orbit_distance(X @ matrices),
    }
