"""Invariants as the null space of D - I, for generators that act in any way."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import lsmr

from .actions import Actions

__all__ = ["null_projection", "null_vectors"]

#: Larger irreducible blocks of D - I go to LSMR instead of a dense singular value decomposition.
DENSE_BLOCK = 1500

#: Singular values of D - I below this are zero: D is orthogonal, so the scale is known.
ZERO = 1e-8


def _blocks(matrices: list[sparse.csr_array]) -> list[NDArray]:
    """Index sets that no generator mixes."""
    pattern = sum(abs(matrix) for matrix in matrices)
    number, label = connected_components(pattern, directed=False)
    order = np.argsort(label, kind="stable")
    return np.split(order, np.searchsorted(label[order], np.arange(1, number)))


def _batches(blocks: list[NDArray]) -> list[NDArray]:
    """Blocks of equal size stacked, shape (blocks, size)."""
    sizes = np.array([len(block) for block in blocks])
    return [
        np.stack([blocks[i] for i in np.flatnonzero(sizes == size)]) for size in np.unique(sizes)
    ]


def _stacked(matrices: list[sparse.csr_array], indices: NDArray) -> NDArray:
    """D - I of all generators on several blocks: shape (blocks, generators * size, size)."""
    size = indices.shape[1]
    parts = []
    for matrix in matrices:
        if len(indices) == 1 or matrix.shape[0] <= 2000:
            picked = matrix.toarray()[indices[:, :, None], indices[:, None, :]]
        else:
            picked = np.stack([matrix[block][:, block].toarray() for block in indices])
        parts.append(picked - np.eye(size))
    return np.concatenate(parts, axis=1)


def _null_batch(matrices: list[sparse.csr_array], indices: NDArray) -> list[NDArray]:
    """Orthonormal null vectors of each block, shapes (size, nullity)."""
    _, values, vectors = np.linalg.svd(_stacked(matrices, indices), full_matrices=False)
    doubtful = (values > ZERO / 100) & (values < ZERO * 100)
    if np.any(doubtful):
        raise ValueError(
            f"D - I has a singular value of {values[doubtful][0]:.2g}, which cannot be told from "
            "zero: the generators are orthogonal only approximately, or turn by a tiny angle"
        )
    return [v[s < ZERO].T for s, v in zip(values, vectors, strict=True)]


def null_vectors(actions: Actions) -> sparse.csc_array:
    matrices, size = actions.matrices(), actions.frame.shape[0]
    if not matrices:
        return sparse.eye_array(size, format="csc")
    rows, columns, entries, filled = [], [], [], 0
    for indices in _batches(_blocks(matrices)):
        if indices.shape[1] > 2 * DENSE_BLOCK:
            raise ValueError(
                f"the generators mix {indices.shape[1]} functions of eigenspace {actions.k}, more "
                f"than the {2 * DENSE_BLOCK} whose null space is computed; lower the degree, or "
                "use project(), which needs no basis of the invariants"
            )
        for block, vectors in zip(indices, _null_batch(matrices, indices), strict=True):
            nullity = vectors.shape[1]
            rows.append(np.repeat(block, nullity))
            columns.append(np.tile(filled + np.arange(nullity), len(block)))
            entries.append(vectors.ravel())
            filled += nullity
    where = np.concatenate(rows), np.concatenate(columns)
    return sparse.csc_array((np.concatenate(entries), where), (size, filled))


def null_projection(matrices: list[sparse.csr_array], f: NDArray) -> NDArray:
    result = np.zeros_like(f)
    for indices in _batches(_blocks(matrices)):
        if indices.shape[1] > DENSE_BLOCK:
            for block in indices:
                result[block] = _lsmr_projection(matrices, block, f[block])
            continue
        for block, vectors in zip(indices, _null_batch(matrices, indices), strict=True):
            result[block] = vectors @ (vectors.T @ f[block])
    return result


def _lsmr_projection(matrices: list[sparse.csr_array], block: NDArray, f: NDArray) -> NDArray:
    """f less its part in the row space of B, the minimum-norm solution of B z = B f."""
    unit = sparse.eye_array(len(block), format="csr")
    stacked = sparse.vstack([matrix[block][:, block] - unit for matrix in matrices], format="csr")
    result = np.empty_like(f)
    for j, column in enumerate(f.T):
        result[:, j] = (
            column
            - lsmr(stacked, stacked @ column, atol=1e-14, btol=1e-14, maxiter=20 * len(block))[0]
        )
    return result
