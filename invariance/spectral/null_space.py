"""Invariants as the common null space of D - I, for generators that act in any way."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import lsmr

from ..core.parameters import ParameterError

#: Larger irreducible blocks of D - I go to LSMR instead of a dense singular value decomposition.
DENSE_BLOCK = 1500

#: Fewer columns are one block: looking for smaller ones takes longer than decomposing it.
ONE_BLOCK = 32

#: Singular values of D - I below this are zero: D is orthogonal, so the scale is known.
ZERO = 1e-8

#: Entries of D - I below this are rounding errors and connect nothing.
NOISE = 1e-13


def _batches(
    defects: list[sparse.csr_array], limit: int
) -> Iterator[tuple[NDArray, NDArray | sparse.csr_array]]:
    """Blocks of columns that no row connects, those of equal size together.

    Yields
    ------
    columns : ndarray of int, shape (blocks, size)
    stacked : ndarray of shape (blocks, rows, size)
        Of a block of more than ``limit`` columns, which comes alone, a sparse array (rows, size).
    """
    stack = sparse.coo_array(sparse.vstack(defects))
    size = stack.shape[1]
    if size <= min(ONE_BLOCK, limit):
        yield np.arange(size)[None], stack.toarray()[None]
        return
    real = np.abs(stack.data) >= NOISE
    row, column, data = stack.row[real], stack.col[real], stack.data[real]
    graph = sparse.csr_array((np.ones(len(row)), (row, column)), stack.shape)
    number, label = connected_components(graph.T @ graph, directed=False)
    # A row belongs to the block of its entries; rows of rounding errors alone belong to none.
    owner = np.full(stack.shape[0], number)
    owner[row] = label[column]
    (inside, widths), (above, heights) = _ranks(label, number), _ranks(owner, number + 1)
    for width in np.unique(widths):
        blocks = np.flatnonzero(widths == width)
        which = np.full(number + 1, -1)
        which[blocks] = np.arange(len(blocks))
        members = np.flatnonzero(which[label] >= 0)
        columns = np.empty((len(blocks), width), dtype=int)
        columns[which[label[members]], inside[members]] = members
        mine = np.flatnonzero(which[owner[row]] >= 0)
        place = which[owner[row[mine]]], above[row[mine]], inside[column[mine]]
        if width <= limit:
            stacked = np.zeros((len(blocks), heights[blocks].max(), width))
            stacked[place] = data[mine]
            yield columns, stacked
            continue
        for i, block in enumerate(blocks):
            some = place[0] == i
            entries = data[mine][some], (place[1][some], place[2][some])
            yield columns[[i]], sparse.csr_array(entries, (heights[block], width))


def _ranks(labels: NDArray, number: int) -> tuple[NDArray, NDArray]:
    """The place of each item among those of its label, and how many each label has."""
    counts = np.bincount(labels, minlength=number)
    ranks = np.empty(len(labels), dtype=int)
    ranks[np.argsort(labels, kind="stable")] = np.arange(len(labels)) - np.repeat(
        np.cumsum(counts) - counts, counts
    )
    return ranks, counts


def _decomposed(stacked: NDArray) -> tuple[NDArray, NDArray]:
    """Right singular vectors of each block, one a row, and which of them are null."""
    size = stacked.shape[2]
    if stacked.shape[1] > 2 * size:
        # Orthogonal transformations of the rows keep singular values and vectors.
        stacked = np.asarray(np.linalg.qr(stacked, mode="r"))
    missing = max(0, size - stacked.shape[1])
    stacked = np.pad(stacked, ((0, 0), (0, missing), (0, 0)))
    _, values, vectors = np.linalg.svd(stacked, full_matrices=False)
    doubtful = (values > ZERO / 100) & (values < ZERO * 100)
    if np.any(doubtful):
        raise ParameterError(
            f"D - I has a singular value of {values[doubtful][0]:.2g}, which cannot be told from "
            "zero: give generators that are orthogonal to rounding and turn by no tiny angle"
        )
    return vectors, values < ZERO


def null_vectors(defects: list[sparse.csr_array], k: int) -> sparse.csc_array:
    """Orthonormal basis of what all defects annihilate, shape (columns, nullity)."""
    rows, columns, entries, filled = [], [], [], 0
    for indices, stacked in _batches(defects, 2 * DENSE_BLOCK):
        if sparse.issparse(stacked):
            raise ParameterError(
                f"the generators mix {indices.shape[1]} functions of eigenspace {k}, more than "
                f"the {2 * DENSE_BLOCK} whose null space is found; lower it or use project()"
            )
        for block, vectors, null in zip(indices, *_decomposed(stacked), strict=True):
            nullity = int(null.sum())
            rows.append(np.repeat(block, nullity))
            columns.append(np.tile(filled + np.arange(nullity), len(block)))
            entries.append(vectors[null].T.ravel())
            filled += nullity
    where = np.concatenate(rows), np.concatenate(columns)
    return sparse.csc_array((np.concatenate(entries), where), (defects[0].shape[1], filled))


def null_projection(defects: list[sparse.csr_array], f: NDArray) -> NDArray:
    """f without its part in the defects' row space."""
    result = np.zeros_like(f)
    for indices, stacked in _batches(defects, DENSE_BLOCK):
        if sparse.issparse(stacked):
            result[indices[0]] = _lsmr_projection(stacked, f[indices[0]])
            continue
        for block, vectors, null in zip(indices, *_decomposed(stacked), strict=True):
            result[block] = vectors[null].T @ (vectors[null] @ f[block])
    return result


def range_rows(defects: list[sparse.csr_array]) -> sparse.csr_array:
    """Orthonormal rows with the defects' null space: their rank is decided, their scale one.

    Blocks too large for a singular value decomposition keep their rows as they are.
    """
    parts = [sparse.csr_array((0, defects[0].shape[1]))]
    for indices, stacked in _batches(defects, DENSE_BLOCK):
        found = [stacked]
        if not sparse.issparse(stacked):
            vectors, null = _decomposed(stacked)
            found = [v[~gone] for v, gone in zip(vectors, null, strict=True)]
        for block, rows in zip(indices, found, strict=True):
            entries = sparse.coo_array(rows)
            where = entries.row, block[entries.col]
            shape = (rows.shape[0], defects[0].shape[1])
            parts.append(sparse.csr_array((entries.data, where), shape))
    return sparse.csr_array(sparse.vstack(parts))


def _lsmr_projection(stacked: sparse.csr_array, f: NDArray) -> NDArray:
    """f less its part in the row space of B, the minimum-norm solution of B z = B f."""
    options = {"atol": 1e-14, "btol": 1e-14, "maxiter": 20 * len(f)}
    return np.stack([c - lsmr(stacked, stacked @ c, **options)[0] for c in f.T], axis=1)
