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
from ..core.parameters import Has, arguments
from .base import Basis

__all__ = ["invariant_dimensions"]


@arguments(
    basis=Has("a truncated basis, such as Sphere(3, degree=8)", "characters"),
    group=Has("a finite group, such as Permutations(3)", "act", "generators"),
)
def invariant_dimensions(basis: Basis, group: FiniteGroup) -> NDArray:
    """Number of invariant functions in each kept eigenspace, by averaging characters.

    Lists the group, so its order must be moderate; the eigenspaces may be huge.

    Parameters
    ----------
    basis : Basis
        A truncated basis that has `characters`: `Sphere`, `Torus` and `Circle` do.
    group : FiniteGroup

    Returns
    -------
    ndarray of int, shape (K,)

    Raises
    ------
    ParameterError
        For other bases (a TypeError and a ValueError).

    Examples
    --------
    >>> from invariance.groups import SignFlips
    >>> from invariance.spectral import Torus
    >>> invariant_dimensions(Torus(10, degree=3), SignFlips(10))
    array([  1,  10,  45, 120])
    """
    elements = group.elements()
    maps = zip(*basis.isometries(group, elements), strict=True)
    total = sum(basis.characters(matrix, shift) for matrix, shift in maps)
    return np.rint(total / len(elements)).astype(int)
