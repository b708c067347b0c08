"""Invariants as the common null space of D - I, for generators that act in any way."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from ..core.parameters import ParameterError

#: Larger irreducible blocks of D - I take too long to decompose.
LARGEST_BLOCK = 3000

#: Fewer columns are one block: looking for smaller ones takes longer than decomposing it.
ONE_BLOCK = 32

#: Singular values of D - I below this are zero: D is orthogonal, so the scale is known.
ZERO = 1e-8

#: Entries of D - I below this are rounding errors and connect nothing.
NOISE = 1e-13


def split_space(defects: list[sparse.csr_array], k: int) -> tuple[sparse.csc_array, NDArray]:
    """An orthogonal matrix (size, size), and which of its columns all defects annihilate.

    Right singular vectors of the blocks of columns that no row connects.
    """
    rows, columns, entries, nulls, filled = [], [], [], [], 0
    for indices, stacked in _batches(defects, k):
        for block, vectors, null in zip(indices, *_decomposed(stacked), strict=True):
            size = len(block)
            rows.append(np.repeat(block, size))
            columns.append(np.tile(filled + np.arange(size), size))
            entries.append(vectors.T.ravel())
            nulls.append(null)
            filled += size
    where = np.concatenate(rows), np.concatenate(columns)
    vectors = sparse.csc_array((np.concatenate(entries), where), (filled, filled))
    return vectors, np.concatenate(nulls)


def _batches(defects: list[sparse.csr_array], k: int) -> Iterator[tuple[NDArray, NDArray]]:
    """Columns (blocks, size) and entries (blocks, rows, size) of blocks, by size."""
    stack = sparse.coo_array(sparse.vstack(defects))
    size = stack.shape[1]
    if size <= min(ONE_BLOCK, LARGEST_BLOCK):
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
    if widths.max() > LARGEST_BLOCK:
        many = f"{widths.max()} functions of eigenspace {k}"
        raise ParameterError(f"generators mix {many}, too many; lower the degree")
    for width in np.unique(widths):
        blocks = np.flatnonzero(widths == width)
        which = np.full(number + 1, -1)
        which[blocks] = np.arange(len(blocks))
        members = np.flatnonzero(which[label] >= 0)
        columns = np.empty((len(blocks), width), dtype=int)
        columns[which[label[members]], inside[members]] = members
        mine = np.flatnonzero(which[owner[row]] >= 0)
        stacked = np.zeros((len(blocks), heights[blocks].max(), width))
        stacked[which[owner[row[mine]]], above[row[mine]], inside[column[mine]]] = data[mine]
        yield columns, stacked


def _ranks(labels: NDArray, number: int) -> tuple[NDArray, NDArray]:
    """The place of each item among those of its label, and how many each label has."""
    counts = np.bincount(labels, minlength=number)
    ranks = np.empty(len(labels), dtype=int)
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    ranks[np.argsort(labels, kind="stable")] = np.arange(len(labels)) - starts
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
        value = f"{values[doubtful][0]:.2g}, which cannot be told from zero"
        raise ParameterError(f"D - I has a singular value of {value}; give larger angles")
    return vectors, values < ZERO
