"""Invariants where the generators permute a frame up to signs: sums over its signed orbits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

__all__ = ["orbit_average", "orbit_sums"]


def _signed_components(
    permutations: list[tuple[NDArray, NDArray]], size: int
) -> tuple[NDArray, NDArray, NDArray]:
    """Orbits of frame functions up to sign.

    Invariance asks ``c[perm[a]] = sign[a] c[a]``. On the double cover with nodes (a, +) and
    (a, -) that is plain connectedness; an orbit that meets its own negative carries only zero.

    Returns
    -------
    orbit : ndarray of int, the orbit's number, -1 where the coefficient must vanish
    sign : ndarray of float
    sizes : ndarray of int, one an orbit
    """
    if all(np.all(signs > 0) for _, signs in permutations):
        _, orbit = _connected([perm for perm, _ in permutations], size)
        return orbit, np.ones(size), np.bincount(orbit)
    neighbours = []
    for perm, signs in permutations:
        flipped = (signs < 0) * size
        neighbours.append(np.concatenate([perm + flipped, perm + size - flipped]))
    _, label = _connected(neighbours, 2 * size)
    plus, minus = label[:size], label[size:]
    sign = np.where(plus < minus, 1.0, -1.0)
    orbit = np.full(size, -1)
    free = plus != minus
    _, orbit[free] = np.unique(np.minimum(plus, minus)[free], return_inverse=True)
    return orbit, sign, np.bincount(orbit[free])


def _connected(neighbours: list[NDArray], size: int) -> tuple[int, NDArray]:
    """Components of the graph that joins node a with ``neighbours[i][a]`` for every i."""
    if not neighbours:
        return size, np.arange(size)
    edges = np.stack(neighbours, axis=1).ravel()
    ends = np.arange(0, len(edges) + 1, len(neighbours))
    graph = sparse.csr_array((np.ones(len(edges), dtype=np.int8), edges, ends), (size, size))
    return connected_components(graph, directed=False)


def orbit_average(
    frame: sparse.csr_array, permutations: list[tuple[NDArray, NDArray]], f: NDArray
) -> NDArray:
    """Average over signed orbits of the frame.

    The frame's own average over the group commutes with B_k^T B_k (every isometry does), so
    averaging there and reading off the basis coefficients averages in the basis.
    """
    in_frame = frame.T @ f
    orbit, sign, sizes = _signed_components(permutations, len(in_frame))
    free = orbit >= 0
    averaged = np.zeros_like(in_frame)
    for column, target in zip(in_frame.T, averaged.T, strict=True):
        sums = np.bincount(orbit[free], (sign * column)[free], len(sizes))
        target[free] = sign[free] * (sums / sizes)[orbit[free]]
    return np.asarray(frame @ averaged)


def orbit_sums(
    frame: sparse.csr_array, permutations: list[tuple[NDArray, NDArray]]
) -> sparse.csc_array:
    """Orthonormal invariant vectors, shape (dimension, r), in terms of the eigenspace's basis."""
    size = frame.shape[1]
    orbit, sign, sizes = _signed_components(permutations, size)
    free = np.flatnonzero(orbit >= 0)
    entries = sign[free] / np.sqrt(sizes[orbit[free]])
    sums = sparse.csc_array((entries, (free, orbit[free])), (size, len(sizes)))
    vectors = sparse.csc_array(frame @ sums)
    if frame.shape[0] == size:
        return vectors
    # Orbit sums span invariants of the whole frame; B_k annihilates those outside the eigenspace
    # and keeps the others' lengths, so the Gram matrix is a projector: eigenvalues 0 and 1.
    values, mix = np.linalg.eigh((vectors.T @ vectors).toarray())
    return sparse.csc_array(vectors @ mix[:, values > 0.5])
