"""Points, groups and the kernel by its definition, as several notebooks of this paper use them."""

import numpy as np
from scipy import stats

from invariance import groups
from invariance.theory import mroueh2015 as theory

JUST_ABOVE_ONE = 1 + 1e-9  # end of the thresholds for projections in [-1, 1]


def sphere(n, d, rng):
    """n points drawn uniformly from the unit sphere, shape (n, d)."""
    X = rng.standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def turns(order, d):
    """Rotations of all d / 2 coordinate planes by multiples of 2 pi / order."""
    cosine = np.cos(2 * np.pi / order)
    sine = np.sin(2 * np.pi / order)
    rotation = [[cosine, -sine], [sine, cosine]]
    return groups.OrthogonalMatrices([np.kron(np.eye(d // 2), rotation)])


def four_groups(d, order=24):
    """Four compact unitary groups on d coordinates, d a multiple of four, by name."""
    flips = groups.SignFlips(4)
    if d > 4:
        identity = groups.CyclicShifts(1, block=d - 4)
        flips = groups.DirectProduct([flips, identity])
    return {
        "permutations": groups.Permutations(4, block=d // 4),
        "cyclic shifts": groups.CyclicShifts(4, block=d // 4),
        "sign flips": flips,
        "rotations": turns(order, d),
    }


def both_sides(gap, d, eps, R=1.0):
    """Trials of theorem 1's two inequalities: measured gap, slack, and largest possible gap.

    The gap is K_s - (s - d_G); it is at most delta1, and its negative at most delta2.
    """
    delta1 = theory.theorem1_delta1(d, eps, R=R)
    delta2 = theory.theorem1_delta2(d, eps, R=R)
    largest_distance = 2 * R / np.sqrt(2 * np.pi * d)
    return [(gap, delta1, largest_distance), (-gap, delta2, R * (1 + eps))]


def kernel_by_definition(projections, d, slacks):
    """K_s, shape (slacks, points, points), from projections (points, elements) on each direction.

    The mean is over each direction and its opposite, with exact integrals over thresholds. The
    radius of a template is integrated by quadrature.
    """
    below = []
    for on_direction in projections:
        below.append(theory.cdf_products(on_direction, JUST_ABOVE_ONE))
        below.append(theory.cdf_products(-1 * on_direction, JUST_ABOVE_ONE))
    mean_maximum = JUST_ABOVE_ONE - sum(below) / len(below)
    nodes, weights = np.polynomial.legendre.leggauss(200)
    kernels = []
    for eps in slacks:
        half = np.sqrt(1 + eps) / 2
        radius = half * (nodes + 1)
        density = np.sqrt(d) * stats.chi.pdf(np.sqrt(d) * radius, d)
        share = weights * half * density
        kernels.append(share.sum() * (1 + eps) - share @ radius * mean_maximum)
    return np.array(kernels)
