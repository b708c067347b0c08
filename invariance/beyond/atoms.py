"""`atom_environments`: a descriptor of the surroundings of each atom of a molecule or crystal."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.parameters import Array, ParameterError, Positive, Whole, arguments
from ..orbits import row_blocks

Floats = NDArray[Any]
# Constants of Christensen et al. 2020, in angstroms.
_PAIR_DECAY = 1.8
_TRIPLE_RATE = 2.7
_TRIPLE_DECAY = 0.57
_TRIPLE_WEIGHT = 13.4
#: Bytes of the triples of a block of molecules.
_BYTES = 2**25
#: Largest number of atoms in all images of a cell that the cutoff may reach.
_MAX_IMAGES = 10**6


@arguments(
    positions=Array(3),
    charges=Array(2, least=0),
    cell=Array(2) | Array(3) | None,
    elements=Array(1, above=0) | None,
    cutoff=Positive(),
    unit=Positive(),
    width=Positive(),
    n_pairs=Whole(1),
    n_triples=Whole(0),
)
def atom_environments(
    positions: ArrayLike,
    charges: ArrayLike,
    *,
    cell: ArrayLike | None = None,
    elements: ArrayLike | None = None,
    cutoff: float = 8.0,
    unit: float = 1.0,
    width: float = 0.32,
    n_pairs: int = 24,
    n_triples: int = 20,
) -> Floats:
    r"""Molecules as sets of atoms: the element of each atom, and its neighbours' distances.

    The descriptor of Christensen, Bratholm, Faber and von Lilienfeld (2020, FCHL19). For each
    element, the atom's distances to atoms of that element enter a smooth histogram (log-normal
    bumps at ``n_pairs`` distances up to the cutoff, falling as :math:`r^{-1.8}`); for each pair of
    elements, the mean distances to two neighbours enter a second one, times the cosine and the
    sine of the angle between them and the Axilrod-Teller factor :math:`1 + 3 \cos \cos \cos` of
    their triangle. It is invariant under rotations, reflections and permutations of neighbours.

    Parameters
    ----------
    positions, charges : array-like of shape (n, a, 3) and (n, a)
        Charges are atomic numbers, or any positive labels; zeros pad molecules with fewer atoms.
    cell : array-like of shape (3, 3) or (n, 3, 3), or None
        The three vectors along which a crystal repeats, in rows, in the units of ``positions``.
        All periodic images of atoms within the cutoff are neighbours, including images of the atom
        itself; every atom of the cell has one row. None is for molecules.
    elements : sequence or None
        The labels that have their own columns; None takes those in ``charges``.
    cutoff : float
        Largest distance of neighbours, in angstroms.
    width : float
        Width of the bumps of pairs, eta_2 of the paper, in square angstroms.
    unit : float
        An angstrom in the units of ``positions``: 1.88972612 for positions in Bohr.
    n_pairs, n_triples : int
        Numbers of distances at which the histograms are evaluated; zero ``n_triples`` leaves out
        the angles.

    Returns
    -------
    ndarray of shape (n, a, 1 + p)
        A padded set of atoms for each molecule (`pad_sets`), missing ones NaN: first the label,
        then p = e n_pairs + e (e + 1) n_triples numbers, for e elements. `SetKernel` and
        `SetFeatures` compare atoms of one label with ``labelled=True``.

    Examples
    --------
    >>> water = [[[0.0, 0.0, 0.1], [0.76, 0.0, -0.48], [-0.76, 0.0, -0.48]]]
    >>> atoms = atom_environments(water, [[8, 1, 1]])
    >>> atoms.shape, bool(np.allclose(atoms[0, 1], atoms[0, 2]))      # the hydrogens are alike
    ((1, 3, 169), True)

    In rock salt, a cell of eight atoms has two kinds of surroundings:

    >>> corners = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    >>> positions = 2.82 * np.concatenate([corners, 1 - corners])[None]
    >>> atoms = atom_environments(positions, [[11] * 4 + [17] * 4], cell=5.64 * np.eye(3))
    >>> len(np.unique(atoms[0].round(8), axis=0))
    2
    """
    R, Z, kinds = _checked(positions, charges, elements, unit)
    is_kind = (Z[..., None] == kinds).astype(float)
    n_molecules, n_atoms = Z.shape
    n_kinds = len(kinds)
    n_columns = n_kinds * n_pairs + n_kinds * (n_kinds + 1) * n_triples
    atoms = np.empty((n_molecules, n_atoms, 1 + n_columns))
    sizes = (cutoff, width, n_pairs, n_triples)
    if cell is None:
        bytes_per_molecule = 8 * n_atoms**3 * (n_triples + 4)
        for block in row_blocks(n_molecules, bytes_per_molecule, _BYTES):
            atoms[block, :, 1:] = _environments(R[block], is_kind[block], *sizes)
    else:
        cells = _checked_cells(np.asarray(cell, float) / unit, n_molecules)
        for m in range(n_molecules):
            atoms[m, :, 1:] = _periodic_environments(R[m], is_kind[m], cells[m], *sizes)
    atoms[..., 0] = Z
    atoms[Z == 0] = np.nan
    return atoms


def _checked(
    positions: ArrayLike, charges: ArrayLike, elements: ArrayLike | None, unit: float
) -> tuple[Floats, Floats, Floats]:
    """Return positions in angstroms, charges, and the elements."""
    with np.errstate(over="ignore"):
        R = np.asarray(positions, float) / unit
    Z = np.asarray(charges)
    if not np.abs(R).max(initial=0) < 1e6:
        raise ParameterError(f"positions reach {np.abs(R).max():.3g} angstroms at unit={unit}")
    if R.shape[:2] != Z.shape:
        raise ParameterError(f"charges need shape {R.shape[:2]}, that of positions, got {Z.shape}")
    has_atoms = Z.any(axis=1)
    if not has_atoms.all():
        raise ParameterError(f"molecule {np.argmin(has_atoms)} has charges that are all zero")
    labels = Z[Z > 0]
    kinds = np.unique(labels if elements is None else np.asarray(elements))
    unknown = np.setdiff1d(labels, kinds)
    if len(unknown):
        raise ParameterError(f"charges hold {unknown.tolist()}, not in elements={kinds.tolist()}")
    return R, Z, kinds


def _checked_cells(cells: Floats, n_crystals: int) -> Floats:
    """Return one cell (3, 3) for each crystal, in angstroms."""
    if cells.shape not in ((3, 3), (n_crystals, 3, 3)):
        raise ParameterError(
            f"cell needs shape (3, 3) or {(n_crystals, 3, 3)}, the vectors in rows, got "
            f"{cells.shape}"
        )
    lengths = np.linalg.norm(cells, axis=-1)
    volumes = np.abs(np.linalg.det(cells))
    is_flat = volumes <= 1e-6 * lengths.prod(axis=-1)
    if np.any(is_flat):
        raise ParameterError(
            f"cell {int(np.argmax(is_flat))} has vectors in one plane: give three directions along "
            "which the crystal repeats"
        )
    return np.broadcast_to(cells, (n_crystals, 3, 3))


def _periodic_environments(
    R: Floats,
    is_kind: Floats,
    cell: Floats,
    cutoff: float,
    width: float,
    n_pairs: int,
    n_triples: int,
) -> Floats:
    """Return descriptors (a, p) of the atoms of one cell, at R (a, 3) with kinds (a, e)."""
    exists = is_kind.any(axis=1)
    positions = R[exists]
    kinds = is_kind[exists]
    # Atoms are brought into the cell, so that few images are within the cutoff.
    inverse = np.linalg.inv(cell)
    fractions = positions @ inverse
    fractions -= np.floor(fractions)
    positions = fractions @ cell
    images = _images(cell, inverse, cutoff, len(positions))
    descriptors = []
    for centre in positions:
        vectors = positions - centre + images[:, None]
        distances = np.linalg.norm(vectors, axis=2)
        is_same = distances < 1e-6
        if is_same.sum() > 1:
            raise ParameterError(
                "positions of two atoms are equal, or equal up to a vector of the cell: leave out "
                "atoms that are images of others"
            )
        image, atom = np.nonzero((distances < cutoff) & ~is_same)
        neighbours = vectors[image, atom]
        descriptor = _environment(neighbours, kinds[atom], cutoff, width, n_pairs, n_triples)
        descriptors.append(descriptor)
    environments = np.zeros((len(R), descriptors[0].size))
    environments[exists] = descriptors
    return environments


def _images(cell: Floats, inverse: Floats, cutoff: float, n_atoms: int) -> Floats:
    """Return the shifts of a cell to its images with atoms within the cutoff, shape (s, 3)."""
    # The distance of two opposite faces, for each vector of the cell.
    heights = 1 / np.linalg.norm(inverse, axis=0)
    reach = np.floor(cutoff / heights + 1)
    n_images = float(np.prod(2 * reach + 1))
    if n_images * n_atoms > _MAX_IMAGES:
        raise ParameterError(
            f"cutoff={cutoff} reaches {n_images:.0f} images of a cell: take a smaller cutoff, or "
            "check the units of cell"
        )
    steps = [np.arange(-n, n + 1) for n in reach]
    multiples = np.stack(np.meshgrid(*steps, indexing="ij"), axis=-1).reshape(-1, 3)
    return np.asarray(multiples @ cell)


def _environment(
    neighbours: Floats, kinds: Floats, cutoff: float, width: float, n_pairs: int, n_triples: int
) -> Floats:
    """Return the descriptor (p,) of an atom at the origin, from its neighbours (b, 3)."""
    distances = np.linalg.norm(neighbours, axis=1)[None, None]
    near = (np.cos(np.pi * distances / cutoff) + 1) / 2
    is_kind = kinds[None]
    parts = [_pair_histograms(distances, near, is_kind, cutoff, width, n_pairs)]
    if n_triples:
        between = np.linalg.norm(neighbours[:, None] - neighbours, axis=2)[None]
        parts += _triple_histograms(distances, between, near, is_kind, cutoff, n_triples)
    return np.concatenate(parts, axis=2)[0, 0]


def _environments(
    R: Floats, is_kind: Floats, cutoff: float, width: float, n_pairs: int, n_triples: int
) -> Floats:
    """Return descriptors (n, a, p) of atoms at R (n, a, 3) with one-hot kinds (n, a, e)."""
    distances, near = _distances(R, is_kind, cutoff)
    pairs = _pair_histograms(distances, near, is_kind, cutoff, width, n_pairs)
    if not n_triples:
        return pairs
    triples = _triple_histograms(distances, distances, near, is_kind, cutoff, n_triples)
    return np.concatenate([pairs, *triples], axis=2)


def _distances(R: Floats, is_kind: Floats, cutoff: float) -> tuple[Floats, Floats]:
    """Return the distances of atoms, and weights that fall to zero at the cutoff, (n, a, a)."""
    n_molecules, n_atoms, _ = is_kind.shape
    exists = np.asarray(is_kind.any(axis=2))
    is_pair = exists[:, :, None] & exists[:, None] & ~np.eye(n_atoms, dtype=bool)
    differences = R[:, :, None] - R[:, None]
    distances = np.sqrt(np.einsum("nijc,nijc->nij", differences, differences))
    is_apart = distances > 1e-6
    if not is_apart[is_pair].all():
        molecule = np.argwhere(is_pair & ~is_apart)[0, 0]
        raise ParameterError(
            f"positions of two atoms are equal, in molecule {molecule} of {n_molecules} looked at "
            "together: do zero charges mark missing atoms?"
        )
    distances[~is_pair] = 1.0
    falling = (np.cos(np.pi * distances / cutoff) + 1) / 2
    near = np.where(is_pair & (distances < cutoff), falling, 0.0)
    return distances, near


def _pair_histograms(
    distances: Floats, near: Floats, is_kind: Floats, cutoff: float, width: float, n_pairs: int
) -> Floats:
    """Return histograms of the distances to atoms of each kind, (n, a, e n_pairs)."""
    grid = np.linspace(0, cutoff, n_pairs + 1)[1:]
    spread = np.log1p(width / distances**2)[..., None]
    deviations = (np.log(grid) - np.log(distances)[..., None] + spread / 2) ** 2
    bumps = np.exp(-deviations / (2 * spread)) / (np.sqrt(2 * np.pi * spread) * grid)
    bumps *= (near * distances**-_PAIR_DECAY)[..., None]
    pairs = np.einsum("nijr,nje->nier", bumps, is_kind, optimize=True)
    return pairs.reshape(*pairs.shape[:2], -1)


def _cosines(opposite: Floats, first: Floats, second: Floats) -> Floats:
    """Return cosines of the angle between two sides of a triangle."""
    squares = first**2 + second**2 - opposite**2
    return np.clip(squares / (2 * first * second), -1, 1)


def _triple_histograms(
    distances: Floats,
    between: Floats,
    near: Floats,
    is_kind: Floats,
    cutoff: float,
    n_triples: int,
) -> list[Floats]:
    """Return histograms for the cosine and the sine of angles at an atom, for pairs of kinds.

    ``distances`` and ``near`` (n, c, a) are from centres to neighbours, ``between`` (n, a, a) are
    distances of neighbours.
    """
    n_molecules, n_centres, n_atoms = distances.shape
    n_kinds = is_kind.shape[2]
    grid = np.linspace(0, cutoff, n_triples + 1)[1:]
    # Unordered pairs of kinds; two equal kinds are counted once.
    first, second = np.triu_indices(n_kinds)
    # Pairs of neighbours j < k of each atom i.
    pairs_j, pairs_k = np.triu_indices(n_atoms, 1)
    histograms = np.zeros((2, n_molecules, n_centres, len(first) * n_triples))
    bytes_per_pair = 8 * n_molecules * n_centres * (n_triples + 4)
    for block in row_blocks(len(pairs_j), bytes_per_pair, _BYTES):
        j = pairs_j[block]
        k = pairs_k[block]
        ij = distances[:, :, j]
        ik = distances[:, :, k]
        jk = between[:, None, j, k]
        cosine = _cosines(jk, ij, ik)
        weight = near[:, :, j] * near[:, :, k]
        weight *= 1 + 3 * cosine * _cosines(ik, ij, jk) * _cosines(ij, ik, jk)
        weight *= (ij * ik * jk) ** -_TRIPLE_DECAY
        weight *= 2 * np.exp(-(np.pi**2) / 2) * _TRIPLE_WEIGHT * np.sqrt(_TRIPLE_RATE / np.pi)
        bumps = np.exp(-_TRIPLE_RATE * ((ij + ik)[..., None] / 2 - grid) ** 2)
        of_j = is_kind[:, j]
        of_k = is_kind[:, k]
        is_kind_pair = of_j[:, :, first] * of_k[:, :, second]
        is_kind_pair += (of_j[:, :, second] * of_k[:, :, first]) * (first != second)
        for histogram, part in zip(
            histograms, (weight * cosine, weight * np.sqrt(1 - cosine**2)), strict=True
        ):
            weighted = bumps * part[..., None]
            triples = np.einsum("nipr,npe->nier", weighted, is_kind_pair, optimize=True)
            histogram += triples.reshape(n_molecules, n_centres, -1)
    return list(histograms)
