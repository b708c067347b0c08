"""Atom permutations of Coulomb matrices, and the sorted-noise density on them.

A Coulomb matrix C of shape (a, a) describes a molecule with at most a atoms, padded with zeros.
Numbering the atoms otherwise conjugates it, C -> P C P^T. Matrices are handled flattened,
(n, a^2), or as (n, a, a).
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from math import isqrt
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.parameters import Flag, Number, ParameterError, Whole, short, stores_parameters
from .base import Transformations, numbers
from .permutations import SymmetricGroup


def check_coulomb(matrices: ArrayLike) -> NDArray[Any]:
    """Coulomb matrices as a floating array of shape (n, a, a).

    ``matrices`` are of shape (n, a, a) or (n, a^2). A ParameterError names the first that is not
    square, not finite or not symmetric.

    >>> check_coulomb([[1.0, 2.0, 2.0, 3.0]]).shape
    (1, 2, 2)
    """
    given = numbers("check_coulomb", "matrices", matrices)
    given = given if given.dtype.kind == "f" else given.astype(np.float64)
    atoms = isqrt(given.shape[1]) if given.ndim == 2 else 0
    if atoms and atoms**2 == given.shape[1]:
        given = given.reshape(-1, atoms, atoms)
    if given.ndim != 3 or given.shape[1] != given.shape[2] or not given.shape[1]:
        raise ParameterError(
            f"matrices must be square, of shape (n, a, a) or (n, a^2), got {given.shape}: "
            f"{short(matrices)}; a single one is C[None]"
        )
    with np.errstate(invalid="ignore"):
        gaps = np.abs(given - given.swapaxes(1, 2)).max(axis=(1, 2), initial=0)
    fine = gaps <= 1e-5 * np.abs(given).max(axis=(1, 2), initial=0)  # not where NaN
    if not fine.all():
        which = f"matrix {fine.argmin()} of {len(given)}"
        due = f"must be finite and symmetric, got {short(matrices)}"
        raise ParameterError(f"matrices: Coulomb {which} {due}; (C + C.T) / 2 mends rounding")
    return given


def sort_coulomb(matrices: ArrayLike) -> NDArray[Any]:
    """Atoms in the order of falling Euclidean row norm, shape (n, a, a).

    The same for every numbering of the atoms up to tied norms, but not continuous in the molecule.

    >>> sort_coulomb([[[1.0, 2.0], [2.0, 5.0]]])
    array([[[5., 2.],
            [2., 1.]]])
    """
    checked = check_coulomb(matrices)
    order = np.argsort(-np.linalg.norm(checked, axis=2), axis=1, kind="stable")
    return checked[np.arange(len(order))[:, None, None], order[:, :, None], order[:, None, :]]


def coulomb_eigenvalues(matrices: ArrayLike) -> NDArray[Any]:
    """Eigenvalues by falling absolute value, shape (n, a): invariant, but not injective.

    >>> coulomb_eigenvalues([[[1.0, 0.0], [0.0, -3.0]]])
    array([[-3.,  1.]])
    """
    values = np.linalg.eigvalsh(check_coulomb(matrices))
    return np.take_along_axis(values, np.argsort(-np.abs(values), axis=1), axis=1)


def coulomb_triangle(matrices: ArrayLike) -> NDArray[Any]:
    """Upper triangles, shape (n, a (a + 1) / 2), with the inner products of the full matrices.

    Entries off the diagonal are scaled by sqrt(2): half the work of every product, the same
    distances.

    >>> coulomb_triangle([[[1.0, 2.0], [2.0, 5.0]]]).round(4)
    array([[1.    , 2.8284, 5.    ]])
    """
    checked = check_coulomb(matrices)
    rows, columns = np.triu_indices(checked.shape[1])
    scale = np.where(rows == columns, 1, np.sqrt(2)).astype(checked.dtype)
    return np.asarray(checked[:, rows, columns] * scale)


@stores_parameters
class AtomPermutations(SymmetricGroup):
    """All renumberings of ``n_atoms`` atoms, conjugating flattened Coulomb matrices (S_a).

    The action is linear and takes any a x a matrices: these need not be symmetric.

    >>> group = AtomPermutations(2)
    >>> group.act(group.generators(), [[1.0, 2.0, 2.0, 5.0]])[0]
    array([[5., 2., 2., 1.]])
    """

    n_atoms: Annotated[int, Whole(1, 10_000)]

    _remedy = "take SortedNoise(n_atoms), orders near the sorted one, or coulomb_eigenvalues"

    def _degree(self) -> int:
        self._check()
        return self.n_atoms

    @property
    def shape(self) -> tuple[int, ...]:
        return (self._degree(), self._degree())

    def as_signed_permutations(self, elements: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
        """Elements on the a^2 entries: entry (i, j) comes from entry (p_i, p_j)."""
        order = np.abs(np.atleast_2d(elements)) - 1
        n = self._degree()
        perm = (order[:, :, None] * n + order[:, None, :]).reshape(len(order), -1)
        return perm, np.ones(perm.shape, dtype=np.int8)


@stores_parameters
class SortedNoise(Transformations):
    r"""Random atom orders near the sorted one: sort by row norms with noise added.

    Montavon et al. 2012 draw ``epsilon ~ N(0, noise^2 I)`` and put the atoms in the order of
    falling :math:`\lVert C_i \rVert + \epsilon_i`. An element is one draw of epsilon. It does not
    act linearly, so that points must be transformed and never templates (`unitary` is False).

    Parameters
    ----------
    noise : float
        Standard deviation, in the units of the row norms; 0 is plain sorting.
    triangle : bool
        Return `coulomb_triangle` coordinates (a (a + 1) / 2 numbers, the same inner products)
        instead of a^2. `act` then takes full matrices and returns triangles.

    >>> C = [[1.0, 2.0, 2.0, 5.0]]
    >>> density = SortedNoise(2, noise=0.0)
    >>> density.act(density.sample(1), C)[0]
    array([[5., 2., 2., 1.]])
    """

    unitary = False
    n_atoms: Annotated[int, Whole(1, 10_000)]
    noise: Annotated[float, Number(0)] = 1.0
    _: KW_ONLY
    triangle: Annotated[bool, Flag()] = False

    @property
    def shape(self) -> tuple[int, ...]:
        self._check()
        return (self.n_atoms,) * 2

    @property
    def keeps_shape(self) -> bool:  # type: ignore[override]
        return not self.triangle

    @property
    def order(self) -> float:
        return np.inf

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> NDArray[Any]:
        return np.asarray(self.noise * rng.standard_normal((n_samples, self.shape[0])))

    def _check_elements(self, elements: NDArray[Any]) -> NDArray[Any]:
        return self._batch(elements, "noise on the row norms", int(self.n_atoms))

    def _act(self, elements: NDArray[Any], X: NDArray[Any]) -> NDArray[Any]:
        n = int(self.n_atoms)
        # Sorting first makes the noise meet the same atom in every numbering of the molecule.
        try:
            matrices = sort_coulomb(X)
        except ValueError as error:  # kernels and features hand over some points at a time
            raise ParameterError(f"X: {error}; check_coulomb(X) counts through all of X") from None
        norms = np.linalg.norm(matrices, axis=2)
        # Of a triangle only that is gathered: half the memory traffic.
        row, column = np.triu_indices(n) if self.triangle else np.indices((n, n)).reshape(2, -1)
        scale = np.where(row == column, 1, np.sqrt(2)) if self.triangle else 1.0
        moved = np.empty((len(elements), len(X), len(row)), dtype=X.dtype)
        for noise, result in zip(elements, moved, strict=True):
            order = np.argsort(-(norms + noise), axis=1, kind="stable")
            places = order[:, row] * n + order[:, column]
            picked = np.take_along_axis(matrices.reshape(len(X), n * n), places, axis=1)
            np.multiply(picked, scale, out=result, casting="unsafe")
        return moved
