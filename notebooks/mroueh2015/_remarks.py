"""Kernels of templates on the sphere, and subsets of groups, for the remarks of Mroueh et al. (2015)."""

import numpy as np
from _groups import sphere, turns

from invariance.groups import CyclicShifts, Permutations, Transformations
from invariance.theory import mroueh2015 as theory

JUST_ABOVE_ONE = 1 + 1e-12  # end of the thresholds for projections in [-1, 1]


def direction_grid(d, n):
    """Unit vectors on a grid in two or three dimensions, and their weights."""
    n_angles = 2 * n
    angle = (np.arange(n_angles) + 0.5) * np.pi / n
    if d == 2:
        circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        weights = np.full(n_angles, 0.5 / n)
        return circle, weights
    height, share = np.polynomial.legendre.leggauss(n)
    radius = np.sqrt(1 - height**2)[:, None]
    x = radius * np.cos(angle)
    y = radius * np.sin(angle)
    z = height[:, None] + 0 * angle
    points = np.stack([x, y, z], axis=-1).reshape(-1, 3)
    weights = np.repeat(share / (4 * n), n_angles)
    return points, weights


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
    d = X.shape[1]
    templates = sphere(n_templates, d, rng)
    sampled_K = kernel_of_templates(group, X, templates, _equal_weights(n_templates))
    return np.abs(sampled_K - K).max()


def _equal_weights(n):
    """The same weight for each of n templates."""
    return np.full(n, 1 / n)


def error_of_elements(group, X, n_elements, n_templates, rng):
    """Largest error of sampled elements, for the same templates and exact thresholds."""
    d = X.shape[1]
    templates = sphere(n_templates, d, rng)
    orbits = group.act(group.elements(), templates)
    indices = rng.integers(group.order, size=n_elements)
    sampled = orbits[indices]
    total = 0
    for j in range(n_templates):
        sampled_projections = X @ sampled[:, j].T
        all_projections = X @ orbits[:, j].T
        of_sampled = theory.cdf_products(sampled_projections, JUST_ABOVE_ONE)
        of_group = theory.cdf_products(all_projections, JUST_ABOVE_ONE)
        total = total + of_sampled - of_group
    return np.abs(total).max() / n_templates


def excess_of_bins(group, X, n_bins, n_templates, rng):
    """Inner products with bins less the exact integrals, for every pair of points."""
    n, d = X.shape
    templates = sphere(n_templates, d, rng)
    orbits = group.act(group.elements(), templates)
    projections = np.einsum("pd,gtd->ptg", X, orbits)
    thresholds = np.arange(-n_bins, n_bins + 1) / n_bins
    is_below = projections[..., None] <= thresholds
    distributions = is_below.mean(axis=2)
    psi = distributions.reshape(n, -1)
    exact = kernel_of_templates(group, X, templates, _equal_weights(n_templates))
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
    rotations = circle.elements()
    cosines = rotations[:, 0, 0]
    is_near = cosines > np.cos(np.pi / 4) - 1e-9
    ring = CyclicShifts(8, block=d // 8)
    shifts = ring.elements()
    symmetric = Permutations(4, d // 4)
    permutations = symmetric.elements()
    identity = [1, 2, 3, 4]
    swap = [2, 1, 3, 4]
    three_cycle = [2, 3, 1, 4]
    n_moved = np.sum(permutations != np.array(identity), axis=1)
    return {
        "rotations within 45°": Subset(circle, rotations[is_near]),
        "shifts by at most one": Subset(ring, shifts[[0, 1, 7]]),
        "at most one swap": Subset(symmetric, permutations[n_moved <= 2]),
        "shifts by none or one": Subset(ring, shifts[[0, 1]]),
        "a swap, a three-cycle": Subset(symmetric, [swap, three_cycle]),
        "identity, a three-cycle": Subset(symmetric, [identity, three_cycle]),
    }


def subset_distances(subset, X):
    """Mean distance over a subset by its elements (as printed) and by their inverses (eq. 11)."""
    d = X.shape[1]
    transposed = subset.act(subset.elements(), np.eye(d))  # matrices of the elements
    images = X @ transposed
    images_under_inverses = X @ transposed.swapaxes(1, 2)
    return {
        "printed": theory.orbit_distance(images),
        "inverses": theory.orbit_distance(images_under_inverses),
    }
