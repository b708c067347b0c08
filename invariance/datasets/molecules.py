"""Small molecules: `load_qm7`, `load_mutag`, and the generated `make_molecules`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import io
from sklearn.utils import check_random_state

from ..core.parameters import ParameterError, Seed, Whole, arguments
from .catalogue import CATALOGUE
from .dataset import Dataset, Random, apply_filter


def load_qm7(download_if_missing: bool = True) -> Dataset:
    """QM7: 7,165 molecules of up to 23 atoms.

    Returns
    -------
    Dataset
        ``data`` float32 of shape (7165, 23, 23): Coulomb matrices in atomic units, padded with
        zeros, rows sorted by decreasing L1 norm as stored. ``target`` float32: atomisation
        energies in kcal/mol. ``folds`` int of shape (5, 1433): test indices of the five folds
        shipped with the data. ``positions`` (7165, 23, 3) in Bohr and ``charges`` (7165, 23), in
        the order of the atoms, which differs from that of the sorted rows.
    """
    entry = CATALOGUE["qm7"]
    files = entry.fetched(download_if_missing)
    (file,) = files.values()
    arrays = io.loadmat(file.path)
    details = {
        "folds": arrays["P"].astype(int),
        "positions": arrays["R"],
        "charges": arrays["Z"],
    }
    return apply_filter(entry.dataset(files, arrays["X"], arrays["T"].ravel(), details=details))


def load_mutag(download_if_missing: bool = True) -> Dataset:
    """MUTAG: 188 aromatic nitro compounds as graphs of 10 to 28 atoms, 125 of them mutagenic.

    Returns
    -------
    Dataset
        ``data``: adjacency matrices, an object array of shape (188,) of arrays (m, m). ``target``
        int64, 1 for mutagenic. ``atoms``: an object array of arrays (m, 7), one-hot kinds of atoms.
    """
    entry = CATALOGUE["mutag"]
    files = entry.fetched(download_if_missing)
    # The files have one row per directed edge, node, graph and node. Numbers count from 1, but
    # those of the atoms' kinds from 0.
    edges, graph_of_node, labels, kinds = (
        np.loadtxt(file.path, delimiter=",", dtype=np.int64) for file in files.values()
    )
    sizes = np.bincount((graph_of_node - 1).astype(np.intp))
    graph_of_edge = graph_of_node[edges[:, 0] - 1]
    adjacency = np.empty(len(sizes), dtype=object)
    atoms = np.empty(len(sizes), dtype=object)
    start = 0
    for i, size in enumerate(sizes):
        end = start + size
        graph_edges = edges[graph_of_edge == i + 1] - 1 - start
        adjacency[i] = np.zeros((size, size))
        adjacency[i][graph_edges[:, 0], graph_edges[:, 1]] = 1
        atoms[i] = np.eye(7)[kinds[start:end]]
        start = end
    target = (labels > 0).astype(np.int64)
    return apply_filter(entry.dataset(files, adjacency, target, details={"atoms": atoms}))


def _coulomb_matrix(
    charges: NDArray[np.floating], distances: NDArray[np.floating]
) -> NDArray[np.float64]:
    """Return the Coulomb matrix with its rows sorted by decreasing sum."""
    diagonal = 0.5 * charges**2.4
    matrix = np.where(np.eye(len(charges)), diagonal, np.outer(charges, charges) / distances)
    order = np.argsort(-matrix.sum(axis=1))
    sorted_matrix: NDArray[np.float64] = matrix[np.ix_(order, order)]
    return sorted_matrix


@arguments(n_samples=Whole(5), random_state=Seed())
def make_molecules(n_samples: int = 500, *, random_state: Random = None) -> Dataset:
    """Made-up molecules with energies from a potential of pairs, in the layout of `load_qm7`.

    Four to seven atoms of H, C, N, O lie near the sites of a cubic grid, 2.5 Bohr apart. The
    energy depends on the molecule alone, not on its position or on the numbering of its atoms. The
    data set is for checking code and carries no chemistry. ``n_samples`` is a multiple of 5.

    Returns
    -------
    Dataset
        ``data`` float32 (n, 7, 7), ``target`` float32 (n,), ``folds`` (5, n / 5), ``positions``
        (n, 7, 3) and ``charges`` (n, 7), as in `load_qm7`.

    Examples
    --------
    >>> molecules = make_molecules(20, random_state=0)
    >>> molecules.data.shape, molecules.folds.shape
    ((20, 7, 7), (5, 4))
    """
    remainder = n_samples % 5
    if remainder:
        raise ParameterError(
            f"{n_samples=} makes no five equal folds; take {n_samples - remainder}"
        )
    rng = check_random_state(random_state)
    positions = np.zeros((n_samples, 7, 3), np.float32)
    charges = np.zeros((n_samples, 7), np.float32)
    coulomb = np.zeros((n_samples, 7, 7), np.float32)
    energies = np.zeros(n_samples, np.float32)
    for i, n_atoms in enumerate(rng.randint(4, 8, n_samples)):
        Z = rng.choice([1.0, 6.0, 7.0, 8.0], n_atoms, p=[0.5, 0.3, 0.1, 0.1])
        sites = np.unravel_index(rng.permutation(27)[:n_atoms], (3, 3, 3))
        R = 2.5 * np.stack(sites, axis=1) + rng.normal(0, 0.15, (n_atoms, 3))
        # Ones on the diagonal avoid a division by zero.
        distances = np.linalg.norm(R[:, None] - R, axis=2) + np.eye(n_atoms)
        coulomb[i, :n_atoms, :n_atoms] = _coulomb_matrix(Z, distances)
        positions[i, :n_atoms] = R
        charges[i, :n_atoms] = Z
        bonds = np.sqrt(np.outer(Z, Z)) * np.exp(-distances / 2)
        energies[i] = -50 * np.sqrt(Z.sum()) - 20 * np.triu(bonds, 1).sum()
    folds = rng.permutation(n_samples).reshape(5, -1)
    details = {"folds": folds, "positions": positions, "charges": charges}
    dataset = Dataset(coulomb, energies, description="made-up molecules", details=details)
    return apply_filter(dataset)
