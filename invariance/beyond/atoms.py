"""`atom_environments`: a descriptor of what surrounds each atom of a molecule."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.parameters import Array, ParameterError, Positive, Whole, arguments
from ..orbits import row_blocks

Floats = NDArray[Any]
#: Constants of Christensen et al. 2020, in angstroms.
_PAIR_DECAY = 1.8
_TRIPLE_RATE, _TRIPLE_DECAY, _TRIPLE_WEIGHT = 2.7, 0.57, 13.4
#: Bytes of the triples of some molecules.
_BYTES = 2**25


@arguments(
    positions=Array(3),
    charges=Array(2, least=0),
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
    elements: ArrayLike | None = None,
    cutoff: float = 8.0,
    unit: float = 1.0,
    width: float = 0.32,
    n_pairs: int = 24,
    n_triples: int = 20,
) -> Floats:
    r"""Molecules as sets of atoms: the element of each atom, and who stands around it how far.

    The descriptor of Christensen, Bratholm, Faber and von Lilienfeld (2020, FCHL19). For each
    element, the atom's distances to atoms of that element enter a smooth histogram (log-normal
    bumps at ``n_pairs`` distances up to the cutoff, falling as :math:`r^{-1.8}`); for each pair of
    elements, the mean distances to two neighbours enter a second one, times the cosine and the
    sine of the angle between them and the Axilrod-Teller factor :math:`1 + 3 \cos \cos \cos` of
    their triangle. Rotations, reflections and the order of neighbours leave it as it is.

    Parameters
    ----------
    positions, charges : array-like of shape (n, a, 3) and (n, a)
        Charges are atomic numbers, or any positive labels; zero where a molecule has fewer atoms.
    elements : sequence or None
        The labels that have columns of their own; None takes those in ``charges``.
    cutoff, width : float
        In angstroms; of the bumps of pairs, eta_2 of the paper, in square angstroms.
    unit : float, an angstrom in the units of ``positions``: 1.88972612 for those in Bohr
    n_pairs, n_triples : int
        Distances at which the histograms are read; no ``n_triples`` leaves out the angles.

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
    """
    R, Z, kinds = _checked(positions, charges, elements, unit)
    is_kind = (Z[..., None] == kinds).astype(float)
    (n, a), e = Z.shape, len(kinds)
    atoms = np.full((n, a, 1 + e * n_pairs + e * (e + 1) * n_triples), np.nan)
    how = cutoff, width, n_pairs, n_triples
    for some in row_blocks(n, 8 * a**3 * (n_triples + 4), _BYTES):
        atoms[some, :, 1:] = _environments(R[some], is_kind[some], *how)
    atoms[..., 0] = Z
    atoms[Z == 0] = np.nan
    return atoms


def _checked(
    positions: ArrayLike, charges: ArrayLike, elements: ArrayLike | None, unit: float
) -> tuple[Floats, Floats, Floats]:
    """Positions in angstroms, charges, and the elements."""
    with np.errstate(over="ignore"):
        R, Z = np.asarray(positions, float) / unit, np.asarray(charges)
    if not np.abs(R).max(initial=0) < 1e6:
        raise ParameterError(f"positions reach {np.abs(R).max():.3g} angstroms at unit={unit}")
    if R.shape[:2] != Z.shape:
        raise ParameterError(f"charges need shape {R.shape[:2]}, that of positions, got {Z.shape}")
    if not (there := Z.any(axis=1)).all():
        raise ParameterError(f"molecule {np.argmin(there)} has charges that are all zero")
    kinds = np.unique(Z[Z > 0] if elements is None else np.asarray(elements))
    if len(unknown := np.setdiff1d(Z[Z > 0], kinds)):
        raise ParameterError(f"charges hold {unknown.tolist()}, not in elements={kinds.tolist()}")
    return R, Z, kinds


def _environments(
    R: Floats, is_kind: Floats, cutoff: float, width: float, n_pairs: int, n_triples: int
) -> Floats:
    """Descriptors (n, a, p) of atoms at R (n, a, 3), of whose kinds ``is_kind`` (n, a, e) tells."""
    n, a, e = is_kind.shape
    there = np.asarray(is_kind.any(axis=2))
    both = there[:, :, None] & there[:, None] & ~np.eye(a, dtype=bool)
    difference = R[:, :, None] - R[:, None]
    distance = np.sqrt(np.einsum("nijc,nijc->nij", difference, difference))
    fit = distance > 1e-6
    if not fit[both].all():
        raise ParameterError(
            f"positions of two atoms are equal, in molecule {np.argwhere(both & ~fit)[0, 0]} of "
            f"{n} looked at together: do zero charges mark missing atoms?"
        )
    distance[~both] = 1.0
    near = np.where(both & (distance < cutoff), (np.cos(np.pi * distance / cutoff) + 1) / 2, 0.0)

    reads = np.linspace(0, cutoff, n_pairs + 1)[1:]
    spread = np.log1p(width / distance**2)[..., None]
    bumps = (np.log(reads) - np.log(distance)[..., None] + spread / 2) ** 2
    bumps = np.exp(-bumps / (2 * spread)) / (np.sqrt(2 * np.pi * spread) * reads)
    bumps *= (near * distance**-_PAIR_DECAY)[..., None]
    pairs = np.einsum("nijr,nje->nier", bumps, is_kind, optimize=True).reshape(n, a, -1)
    if not n_triples:
        return pairs

    # The neighbours j < k of each atom i, by the cosines of their triangle's angles.
    j, k = np.triu_indices(a, 1)
    ij, ik, jk = distance[:, :, j], distance[:, :, k], distance[:, None, j, k]
    cosines = [
        np.clip((p**2 + q**2 - r**2) / (2 * p * q), -1, 1)
        for p, q, r in ((ij, ik, jk), (ij, jk, ik), (ik, jk, ij))
    ]
    weight = near[:, :, j] * near[:, :, k] * (1 + 3 * cosines[0] * cosines[1] * cosines[2])
    weight *= (ij * ik * jk) ** -_TRIPLE_DECAY
    weight *= 2 * np.exp(-(np.pi**2) / 2) * _TRIPLE_WEIGHT * np.sqrt(_TRIPLE_RATE / np.pi)
    reads = np.linspace(0, cutoff, n_triples + 1)[1:]
    bumps = np.exp(-_TRIPLE_RATE * ((ij + ik)[..., None] / 2 - reads) ** 2)
    first, second = np.triu_indices(e)
    ordered = is_kind[:, j][:, :, first] * is_kind[:, k][:, :, second]
    ordered += (is_kind[:, j][:, :, second] * is_kind[:, k][:, :, first]) * (first != second)
    triples = [
        np.einsum("nipr,npe->nier", bumps * part[..., None], ordered, optimize=True)
        for part in (weight * cosines[0], weight * np.sqrt(1 - cosines[0] ** 2))
    ]
    return np.concatenate([pairs, *(part.reshape(n, a, -1) for part in triples)], axis=2)
