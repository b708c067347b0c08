"""Small molecules: `load_qm7`, `load_mutag`, and `make_molecules` where there is no file."""

from __future__ import annotations

import numpy as np
from scipy import io
from sklearn.utils import check_random_state

from ..core.parameters import ParameterError, Seed, Whole, arguments
from .catalogue import CATALOGUE
from .dataset import Dataset, Random


def load_qm7(download_if_missing: bool = True) -> Dataset:
    """QM7: 7,165 molecules of up to 23 atoms.

    Returns
    -------
    Dataset
        ``data`` float32 of shape (7165, 23, 23): Coulomb matrices in atomic units, padded with
        zeros, rows sorted by decreasing L1 norm as stored. ``target`` float32: atomisation
        energies in kcal/mol. ``folds`` int of shape (5, 1433): test indices of the five folds
        shipped with the data. ``positions`` (7165, 23, 3) in Bohr and ``charges`` (7165, 23), in
        the order of the atoms, which is not that of the sorted rows.
    """
    entry = CATALOGUE["qm7"]
    found = entry.fetched(download_if_missing)
    (file,) = found.values()
    arrays = io.loadmat(file.path)
    folds = arrays["P"].astype(int)
    details = {"folds": folds, "positions": arrays["R"], "charges": arrays["Z"]}
    return entry.dataset(found, arrays["X"], arrays["T"].ravel(), details=details)


def load_mutag(download_if_missing: bool = True) -> Dataset:
    """MUTAG: 188 aromatic nitro compounds as graphs of 10 to 28 atoms, 125 of them mutagenic.

    Returns
    -------
    Dataset
        ``data``: adjacency matrices, an object array of shape (188,) of arrays (m, m). ``target``
        int64, 1 for mutagenic. ``atoms``: an object array of arrays (m, 7), one-hot kinds of atoms.
    """
    entry = CATALOGUE["mutag"]
    found = entry.fetched(download_if_missing)
    # One row an edge (twice), a node, a graph, a node; everything counts from 1 but the kinds.
    edges, graph_of, target, kinds = (
        np.loadtxt(f.path, delimiter=",", dtype=np.int64) for f in found.values()
    )
    sizes = np.bincount((graph_of - 1).astype(np.intp))
    graphs, atoms = np.empty((2, len(sizes)), dtype=object)
    ends = np.cumsum(sizes)
    for i, (start, end) in enumerate(zip(ends - sizes, ends, strict=True)):
        own = edges[graph_of[edges[:, 0] - 1] == i + 1] - 1 - start
        graphs[i] = np.zeros((end - start, end - start))
        graphs[i][tuple(own.T)] = 1
        atoms[i] = np.eye(7)[kinds[start:end]]
    return entry.dataset(found, graphs, (target > 0).astype(np.int64), details={"atoms": atoms})


@arguments(n_samples=Whole(5), random_state=Seed())
def make_molecules(n_samples: int = 500, *, random_state: Random = None) -> Dataset:
    """Made-up molecules with energies from a potential of pairs, in the layout of `load_qm7`.

    Four to seven atoms of H, C, N, O lie near the sites of a cubic grid, 2.5 Bohr apart. The
    energy is a function of the molecule alone, however it lies and its atoms are numbered. It
    checks code; it says nothing about chemistry. ``n_samples`` is a multiple of 5.

    Returns
    -------
    Dataset
        ``data`` float32 (n, 7, 7), ``target`` float32 (n,), ``folds`` (5, n / 5), ``positions``
        (n, 7, 3) and ``charges`` (n, 7), as of `load_qm7`.

    >>> molecules = make_molecules(20, random_state=0)
    >>> molecules.data.shape, molecules.folds.shape
    ((20, 7, 7), (5, 4))
    """
    if rest := n_samples % 5:
        raise ParameterError(f"{n_samples=} makes no five equal folds; take {n_samples - rest}")
    rng = check_random_state(random_state)
    positions = np.zeros((n_samples, 7, 3), np.float32)
    charges = np.zeros((n_samples, 7), np.float32)
    coulomb = np.zeros((n_samples, 7, 7), np.float32)
    energies = np.zeros(n_samples, np.float32)
    for i, n_atoms in enumerate(rng.randint(4, 8, n_samples)):
        Z = rng.choice([1.0, 6.0, 7.0, 8.0], n_atoms, p=[0.5, 0.3, 0.1, 0.1])
        sites = np.unravel_index(rng.permutation(27)[:n_atoms], (3, 3, 3))
        R = 2.5 * np.stack(sites, axis=1) + rng.normal(0, 0.15, (n_atoms, 3))
        distances = np.linalg.norm(R[:, None] - R, axis=2) + np.eye(n_atoms)
        C = np.where(np.eye(n_atoms), 0.5 * Z**2.4, np.outer(Z, Z) / distances)
        order = np.argsort(-C.sum(axis=1))
        coulomb[i, :n_atoms, :n_atoms] = C[np.ix_(order, order)]
        positions[i, :n_atoms], charges[i, :n_atoms] = R, Z
        bonds = np.sqrt(np.outer(Z, Z)) * np.exp(-distances / 2)
        energies[i] = -50 * np.sqrt(Z.sum()) - 20 * np.triu(bonds, 1).sum()
    folds = rng.permutation(n_samples).reshape(5, -1)
    details = {"folds": folds, "positions": positions, "charges": charges}
    return Dataset(coulomb, energies, description="made-up molecules", details=details)
