r"""`invariant_dimensions`: how many invariant functions there are, without finding a single one.

The dimension of the invariants of eigenspace lambda is the mean character,
:math:`\frac1{|G|} \sum_g \operatorname{tr} D^\lambda(g)`, and the traces have generating
functions: on the sphere Molien's, on the torus a product of theta series over the cycles of the
signed permutation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..groups import FiniteGroup
from .base import Basis, signed_permutation
from .sphere import Sphere
from .torus import Torus

__all__ = ["invariant_dimensions"]


def invariant_dimensions(basis: Basis, group: FiniteGroup) -> NDArray:
    """Number of invariant functions in each kept eigenspace, by averaging characters.

    Lists the group, so its order must be moderate; the eigenspaces may be huge.

    Parameters
    ----------
    basis : Sphere or Torus
        A truncated basis.
    group : FiniteGroup

    Returns
    -------
    ndarray of int, shape (K,)

    Raises
    ------
    TypeError
        For other bases.

    Examples
    --------
    >>> from invariance.groups import SignFlips
    >>> from invariance.spectral import Torus
    >>> invariant_dimensions(Torus(10, degree=3), SignFlips(10))
    array([  1,  10,  45, 120])
    """
    if isinstance(basis, Sphere):
        series = _sphere_characters
        levels = basis.labels_.astype(int)
    elif isinstance(basis, Torus):
        series = _torus_characters
        levels = np.array([basis._squared_norm(label) for label in basis.labels_])
    else:
        raise TypeError(f"characters are known for Sphere and Torus, not for {basis!r}")
    elements = group.elements()
    total = np.zeros(levels[-1] + 1)
    for matrix, shift in zip(*basis.isometries(group, elements), strict=True):
        total += series(basis, matrix, shift, len(total))
    return np.rint(total[levels] / len(elements)).astype(int)


def _sphere_characters(basis: Sphere, matrix: NDArray, shift: NDArray, size: int) -> NDArray:
    r"""Traces by degree: :math:`\sum_k t^k \operatorname{tr} = (1 - t^2) / \det(I - t A)`."""
    determinant = np.poly(matrix).real
    d = len(matrix)
    series = np.zeros(size + d)
    series[d] = 1.0
    for k in range(d + 1, size + d):
        series[k] = -determinant[1:] @ series[k - 1 : k - d - 1 : -1]
    series = series[d:]
    series[2:] -= series[:-2].copy()
    return series


def _torus_characters(basis: Torus, matrix: NDArray, shift: NDArray, size: int) -> NDArray:
    """Traces by squared norm of the frequency vector.

    A cycle of coordinates of length L acts as a single map x -> sign x + t followed around it.
    Its trace on frequency m is 2 cos(omega m t) or, for a reflection, 0; it counts L m^2.
    """
    perm, signs = signed_permutation(matrix)
    series = np.zeros(size)
    series[0] = 1.0
    seen = np.zeros(len(perm), dtype=bool)
    for start in range(len(perm)):
        if seen[start]:
            continue
        length, sign, translation, i = 0, 1.0, 0.0, start
        while not seen[i]:
            seen[i] = True
            translation += sign * shift[i]
            sign *= signs[i]
            length, i = length + 1, perm[i]
        grown = series.copy()
        top = int(np.sqrt((size - 1) / length)) if sign > 0 else 0
        for m in range(1, top + 1):
            trace = 2 * np.cos(basis._frequency * m * translation)
            grown[length * m * m :] += trace * series[: size - length * m * m]
        series = grown
    return series
