"""`SpectralCost`: how many functions, evaluations and operations, before any of them is made."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.config import block_bytes_of
from ..groups import Transformations
from ..orbits.way import Explanation, rate
from .actions import Symmetry
from .base import Basis, signed_permutation

__all__ = ["SpectralCost", "cost"]

#: What a value of an eigenfunction and an entry of a sparse array cost, and at least every
#: eigenspace for every generator, in operations of a matrix product that take as long.
_VALUE, _ENTRY, _CALL = 500, 1e5, 8e7


@dataclass(frozen=True)
class SpectralCost(Explanation):
    """What finding invariant functions and fitting them costs; bounds, but for the seconds.

    Attributes
    ----------
    dimensions : ndarray of shape (K,)
        Of the kept eigenspaces; their sum is D.
    evaluations : int
        Oracle one: values of eigenfunctions, n D.
    inner_products : int
        Oracle two: entries of D^lambda(g). One for each function and generator that permutes
        them ("orbit sums"), all pairs of an eigenspace for other generators ("null space").
    """

    dimensions: NDArray
    evaluations: int
    inner_products: int

    def __str__(self) -> str:
        return (
            f"{int(self.dimensions.sum())} eigenfunctions in {len(self.dimensions)} eigenspaces, "
            f"{self.evaluations:.1e} evaluations; {super().__str__()}"
        )


def cost(
    basis: Basis,
    group: Transformations | None,
    n: int,
    *,
    outputs: Transformations | None = None,
    n_outputs: int = 1,
) -> SpectralCost:
    """The cost of fitting n points on a truncated basis.

    >>> from invariance.groups import Permutations
    >>> from invariance.spectral import Sphere
    >>> found = cost(Sphere(30, degree=3), Permutations(30), 500)
    >>> found.way, found.dimensions, found.evaluations
    ('orbit sums', array([   1,   30,  464, 4930]), 2712500)
    """
    sizes = basis.dimensions_.astype(float) * n_outputs
    symmetry = Symmetry.generated(basis, group, outputs, n_outputs)
    permuting = [signed_permutation(matrix) is not None for matrix in symmetry.maps[0]]
    if symmetry.turns is not None:
        signed = [signed_permutation(turn) is not None for turn in symmetry.turns]
        permuting = [a and b for a, b in zip(permuting, signed, strict=True)]
    moved = [np.any(basis.same_place(shift)) for shift in symmetry.maps[1]]
    n_permuting = sum(a and not b for a, b in zip(permuting, moved, strict=True))
    n_others = len(permuting) - n_permuting + len(symmetry.slopes[0])
    entries = n_permuting * sizes.sum() + n_others * np.sum(sizes**2)
    order = float(min(getattr(group, "order", 1), 1e300)) if n_permuting else 1.0
    order = (1.0 if order == 1e300 else order) * basis.n_orders
    # A share 1 / |G| of the functions is invariant, one of each eigenspace at least, say.
    left = np.maximum(sizes / order, 1)
    kept = float(len(sizes) if n_others else left.sum())
    operations = _VALUE * n * basis.n_functions_ + 2 * n * n_outputs * kept * (kept + 20)
    operations += (n_permuting + 5 * n_others) * _ENTRY * sizes.sum()
    operations += _CALL * len(sizes) * (1 + n_permuting + n_others)
    operations += 20 * n_others * np.sum(left**3)
    n_bytes = 8 * (n * n_outputs * kept + 2 * n_others * left.max() ** 2 + 20 * sizes.sum())
    n_bytes += min(block_bytes_of(None), 16 * n * basis.n_functions_)
    return SpectralCost(
        "null space" if n_others else "orbit sums",
        float(operations),
        float(n_bytes),
        float(operations) / rate("float64"),
        {},
        basis.dimensions_,
        n * basis.n_functions_,
        int(entries),
    )
