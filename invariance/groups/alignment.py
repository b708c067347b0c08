"""Elements g that align points b with points a: those with the largest inner product <a, g b>.

Each function takes points A (n, d) and B (m, d) and returns elements of shape (n, m, ...). The
groups' method `aligning` calls them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

Array = NDArray[Any]

#: Nodes per period of the highest frequency from which Newton's method starts, and its steps.
_NODES_PER_PERIOD = 12
_NEWTON_STEPS = 8


def sorting_permutations(A: Array, B: Array) -> Array:
    """Permutations in one-line notation that put the entries of b in the order of those of a."""
    order_of_A = np.argsort(A, axis=1, kind="stable")
    order_of_B = np.argsort(B, axis=1, kind="stable")
    ranks_of_A = np.argsort(order_of_A, axis=1, kind="stable")
    # The entry of rank k of b moves to the place of the entry of rank k of a.
    sources = order_of_B[:, ranks_of_A].swapaxes(0, 1)
    return np.asarray(sources + 1)


def matching_permutations(A: Array, B: Array, block: int) -> Array:
    """Permutations of blocks in one-line notation, by a matching for each pair of points."""
    n_blocks = A.shape[1] // block
    elements = np.empty((len(A), len(B), n_blocks), dtype=np.intp)
    blocks_of_A = A.reshape(len(A), n_blocks, block)
    blocks_of_B = B.reshape(len(B), n_blocks, block)
    for i, blocks_of_a in enumerate(blocks_of_A):
        for j, blocks_of_b in enumerate(blocks_of_B):
            _, sources = linear_sum_assignment(blocks_of_a @ blocks_of_b.T, maximize=True)
            elements[i, j] = sources + 1
    return elements


def signs_of_products(A: Array, B: Array) -> Array:
    """Signs of a_i b_i, and one if the product is zero, shape (n, m, d)."""
    signs_of_A = np.where(A < 0, -1, 1)
    signs_of_B = np.where(B < 0, -1, 1)
    return np.asarray(signs_of_A[:, None] * signs_of_B)


def signed_permutations(A: Array, B: Array) -> Array:
    """Signed permutations in one-line notation: the largest absolute values meet."""
    permutations = sorting_permutations(np.abs(A), np.abs(B))
    signs_of_A = np.where(A < 0, -1, 1)
    signs_of_B = np.where(B < 0, -1, 1)
    columns = np.arange(len(B))[None, :, None]
    moved_signs = signs_of_B[columns, permutations - 1]
    return np.asarray(permutations * signs_of_A[:, None] * moved_signs)


def rotation_matrices(points_of_A: Array, points_of_B: Array) -> Array:
    """Rotations of space by superposition (Kabsch 1976), shape (n, m, 3, 3).

    The points have shapes (n, k, 3) and (m, k, 3).
    """
    moments = np.tensordot(points_of_A, points_of_B, axes=(1, 1)).swapaxes(1, 2)
    left, _, right = np.linalg.svd(moments)
    # No rotation superposes a mirror image.
    left[..., 2] *= np.sign(np.linalg.det(left @ right))[..., None]
    return np.asarray(left @ right)


def wave_angles(frequencies: Array, waves: Array) -> Array:
    """Angles t at which Re sum_m z_m exp(i m t) is largest, for z of shape (k, pairs)."""
    n_pairs = waves.shape[1]
    if len(frequencies) == 1:
        return np.asarray(-np.angle(waves[0]) / frequencies[0])
    n_nodes = _NODES_PER_PERIOD * int(frequencies.max(initial=1))
    nodes = 2 * np.pi * np.arange(n_nodes) / n_nodes
    step = 2 * np.pi / n_nodes
    best_angles = np.zeros(n_pairs)
    for pair in range(n_pairs):
        wave = waves[:, pair]

        def derivative(angles: Array, order: int, wave: Array = wave) -> Array:
            turns = np.exp(1j * np.outer(angles, frequencies))
            return np.asarray(((turns * wave) @ (1j * frequencies) ** order).real)

        angles = nodes
        for _ in range(_NEWTON_STEPS):
            slope = derivative(angles, 1)
            bend = derivative(angles, 2)
            uphill = np.sign(slope) * step / 4
            newton = np.divide(-slope, bend, out=uphill, where=bend < 0)
            angles = angles + np.clip(newton, -step / 2, step / 2)
        angles = np.concatenate([angles, nodes])
        best_angles[pair] = angles[np.argmax(derivative(angles, 0))]
    return best_angles
