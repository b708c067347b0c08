"""Points, groups and the kernel by its definition, as several notebooks of this paper use them."""

import numpy as np
from scipy import stats

from invariance import groups
from invariance.theory import mroueh2015 as theory


def sphere(n, d, rng):
    """n points drawn uniformly from the unit sphere, (n, d)."""
    X = rng.standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def turns(order, d):
    """Rotations of all d / 2 coordinate planes by multiples of 2 pi / order."""
    c, s = np.cos(2 * np.pi / order), np.sin(2 * np.pi / order)
    return groups.OrthogonalMatrices([np.kron(np.eye(d // 2), [[c, -s], [s, c]])])


def four_groups(d, order=24):
    """Four compact unitary groups on d coordinates, d a multiple of four, by name."""
    flips = groups.SignFlips(4)
    still = groups.CyclicShifts(1, block=d - 4) if d > 4 else None
    return {
        "permutations": groups.Permutations(4, block=d // 4),
        "cyclic shifts": groups.CyclicShifts(4, block=d // 4),
        "sign flips": groups.DirectProduct([flips, still]) if still else flips,
        "rotations": turns(order, d),
    }


def both_sides(gap, d, eps, R=1.0):
    """K_s - (s - d_G) <= delta1 and (s - d_G) - K_s <= delta2, and what each can ever be."""
    most = 2 * R / np.sqrt(2 * np.pi * d)
    return [
        (gap, theory.theorem1_delta1(d, eps, R=R), most),
        (-gap, theory.theorem1_delta2(d, eps, R=R), R * (1 + eps)),
    ]


def kernel_by_definition(projections, d, slacks):
    """K_s, shape (slacks, points, points), from projections (points, elements) on each direction.

    Of a direction and its opposite, with exact integrals over thresholds; the radius by quadrature.
    """
    below = [theory.cdf_products(sign * p, 1 + 1e-9) for p in projections for sign in (1, -1)]
    mean_max, kernels = 1 + 1e-9 - sum(below) / len(below), []
    nodes, weights = np.polynomial.legendre.leggauss(200)
    for eps in slacks:
        half = np.sqrt(1 + eps) / 2
        radius = half * (nodes + 1)
        share = weights * half * np.sqrt(d) * stats.chi.pdf(np.sqrt(d) * radius, d)
        kernels.append(share.sum() * (1 + eps) - share @ radius * mean_max)
    return np.array(kernels)
