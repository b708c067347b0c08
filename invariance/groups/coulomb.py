"""Atom permutations of Coulomb matrices, and the sorted-noise density on them.

A Coulomb matrix C of shape (a, a) describes a molecule with at most a atoms, padded with zeros.
Another numbering of the atoms conjugates it, C -> P C P^T. Arrays of matrices have shape (n, a, a)
or, flattened, (n, a^2).
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from math import isqrt
from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.parameters import Flag, Number, ParameterError, Whole, short, stores_parameters
from .base import Transformations, numbers
from .permutations import SymmetricGroup

Floats: TypeAlias = NDArray[Any]


def check_coulomb(matrices: ArrayLike) -> Floats:
    """Coulomb matrices as a floating array of shape (n, a, a).

    ``matrices`` have shape (n, a, a) or (n, a^2). A ParameterError names the first matrix that is
    not square, not finite or not symmetric.

    >>> check_coulomb([[1.0, 2.0, 2.0, 3.0]]).shape
    (1, 2, 2)
    """
    array = numbers("check_coulomb", "matrices", matrices)
    if array.dtype.kind != "f":
        array = array.astype(np.float64)
    if array.ndim == 2:
        array = _unflattened(array)
    is_square = array.ndim == 3 and array.shape[1] == array.shape[2]
    if not is_square or array.shape[1] == 0:
        raise ParameterError(
            f"matrices must be square, of shape (n, a, a) or (n, a^2), got {array.shape}: "
            f"{short(matrices)}; a single one is C[None]"
        )
    with np.errstate(invalid="ignore"):
        differences = array - array.swapaxes(1, 2)
    gaps = np.abs(differences).max(axis=(1, 2), initial=0)
    sizes = np.abs(array).max(axis=(1, 2), initial=0)
    # Comparisons with NaN are false, so that matrices that are not finite fail as well.
    is_symmetric = gaps <= 1e-5 * sizes
    if not is_symmetric.all():
        index = is_symmetric.argmin()
        raise ParameterError(
            f"matrices: Coulomb matrix {index} of {len(array)} must be finite and symmetric, got "
            f"{short(matrices)}; (C + C.T) / 2 mends rounding"
        )
    return array


def _unflattened(rows: Floats) -> Floats:
    """Rows (n, a^2) as matrices (n, a, a); unchanged if their length is no square number."""
    length = rows.shape[1]
    n_atoms = isqrt(length)
    if length == 0 or n_atoms**2 != length:
        return rows
    return rows.reshape(-1, n_atoms, n_atoms)


def sort_coulomb(matrices: ArrayLike) -> Floats:
    """Matrices with atoms in the order of falling Euclidean row norm, shape (n, a, a).

    The result does not depend on the numbering of the atoms, up to tied norms, but is not a
    continuous function of the molecule.

    >>> sort_coulomb([[[1.0, 2.0], [2.0, 5.0]]])
    array([[[5., 2.],
            [2., 1.]]])
    """
    checked = check_coulomb(matrices)
    order = np.argsort(-_row_norms(checked), axis=1, kind="stable")
    molecules = np.arange(len(order))[:, None, None]
    rows = order[:, :, None]
    columns = order[:, None, :]
    return checked[molecules, rows, columns]


def _row_norms(matrices: Floats) -> Floats:
    """Euclidean norms of the rows of matrices, also if squares overflow or vanish, (n, a)."""
    limits = np.finfo(matrices.dtype)
    with np.errstate(over="ignore"):
        # A norm can exceed the largest number in single precision.
        norms = np.linalg.norm(matrices, axis=2).astype(float)
    is_safe = (norms > float(limits.tiny) ** 0.5 / float(limits.eps)) & (norms < np.inf)
    if not is_safe.all():
        rows = matrices[~is_safe].astype(float)
        # The largest entry of a row is scaled to about one.
        _, exponents = np.frexp(np.abs(rows).max(axis=1))
        scaled_norms = np.linalg.norm(np.ldexp(rows, -exponents[:, None]), axis=1)
        norms[~is_safe] = np.ldexp(scaled_norms, exponents)
    return np.asarray(norms)


def coulomb_eigenvalues(matrices: ArrayLike) -> Floats:
    """Eigenvalues by falling absolute value, shape (n, a): invariant, but not injective.

    >>> coulomb_eigenvalues([[[1.0, 0.0], [0.0, -3.0]]])
    array([[-3.,  1.]])
    """
    values = np.linalg.eigvalsh(check_coulomb(matrices))
    order = np.argsort(-np.abs(values), axis=1)
    return np.take_along_axis(values, order, axis=1)


def coulomb_triangle(matrices: ArrayLike) -> Floats:
    """Upper triangles, shape (n, a (a + 1) / 2), with the inner products of the full matrices.

    Entries off the diagonal are scaled by sqrt(2). Distances stay the same, and products take half
    the work.

    >>> coulomb_triangle([[[1.0, 2.0], [2.0, 5.0]]]).round(4)
    array([[1.    , 2.8284, 5.    ]])
    """
    checked = check_coulomb(matrices)
    rows, columns = np.triu_indices(checked.shape[1])
    factors = _triangle_factors(rows, columns).astype(checked.dtype)
    return np.asarray(checked[:, rows, columns] * factors)


def _triangle_factors(rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Floats:
    """Factors of the entries of a triangle that keep the inner products of full matrices."""
    return np.where(rows == columns, 1, np.sqrt(2))


@stores_parameters
class AtomPermutations(SymmetricGroup):
    """All renumberings of ``n_atoms`` atoms, conjugating flattened Coulomb matrices (S_a).

    The action is linear and takes any a x a matrices; they need not be symmetric.

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

    def as_signed_permutations(self, elements: ArrayLike) -> tuple[Floats, Floats]:
        """Permutations of the a^2 entries: entry (i, j) comes from entry (p_i, p_j)."""
        order = np.abs(np.atleast_2d(elements)) - 1
        first_entries = order * self._degree()
        perm = first_entries[:, :, None] + order[:, None, :]
        perm = perm.reshape(len(order), -1)
        signs = np.ones(perm.shape, dtype=np.int8)
        return perm, signs


@stores_parameters
class SortedNoise(Transformations):
    r"""Random atom orders near the sorted one: sort by row norms with noise added.

    Montavon et al. 2012 draw ``epsilon ~ N(0, noise^2 I)`` and put the atoms in the order of
    falling :math:`\lVert C_i \rVert + \epsilon_i`. An element is one draw of epsilon. The action is
    not linear, so that points must be transformed and never templates (`unitary` is False).

    Parameters
    ----------
    noise : float
        Standard deviation, in the units of the row norms; 0 is plain sorting.
    triangle : bool
        Return `coulomb_triangle` coordinates (a (a + 1) / 2 numbers, the same inner products)
        instead of a^2. `act` then takes full matrices and returns triangles.

    Examples
    --------
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

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> Floats:
        return np.asarray(self.noise * rng.standard_normal((n_samples, self.shape[0])))

    def _check_elements(self, elements: Floats) -> Floats:
        return self._batch(elements, "noise on the row norms", int(self.n_atoms))

    def _act(self, elements: Floats, X: Floats) -> Floats:
        # The matrices are sorted first, so that the noise meets the same atom in every numbering of
        # the molecule.
        try:
            matrices = sort_coulomb(X)
        except ValueError as error:
            # Kernels and features pass a few points at a time, so that the number in the message
            # need not be the user's.
            raise ParameterError(f"X: {error}; check_coulomb(X) counts through all of X") from None
        n_atoms = int(self.n_atoms)
        entries = matrices.reshape(len(X), n_atoms * n_atoms)
        norms = _row_norms(matrices)
        factors: float | Floats = 1.0
        if self.triangle:
            # Only the triangle is gathered, which halves the memory traffic.
            rows, columns = np.triu_indices(n_atoms)
            factors = _triangle_factors(rows, columns)
        else:
            rows, columns = np.indices((n_atoms, n_atoms)).reshape(2, -1)
        results = np.empty((len(elements), len(X), len(rows)), dtype=X.dtype)
        for noise, result in zip(elements, results, strict=True):
            order = np.argsort(-(norms + noise), axis=1, kind="stable")
            positions = order[:, rows] * n_atoms + order[:, columns]
            reordered = np.take_along_axis(entries, positions, axis=1)
            np.multiply(reordered, factors, out=result, casting="unsafe")
        return results
