"""Polynomials as representations of linear maps: `n_partitions`, `action`, `permutation_action`."""

from collections.abc import Iterator
from functools import cache
from itertools import combinations_with_replacement
from math import factorial

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@cache
def n_partitions(total: int, largest: int, most_parts: int) -> int:
    """Return the number of ways to write a total as at most so many parts, each at most so large."""
    if total == 0:
        return 1
    if most_parts == 0:
        return 0
    parts = range(1, min(total, largest) + 1)
    return sum(n_partitions(total - part, part, most_parts - 1) for part in parts)


def n_symmetric_polynomials(degree: int, d: int) -> int:
    """Return the dimension of the symmetric polynomials up to a degree in d numbers."""
    return sum(n_partitions(total, total, d) for total in range(degree + 1))


def exponents(degree: int, d: int) -> NDArray[np.intp]:
    """Return the exponents of all monomials of one degree in d numbers, shape (D, d)."""
    rows = []
    for chosen in combinations_with_replacement(range(d), degree):
        rows.append(np.bincount(np.array(chosen, dtype=int), minlength=d))
    return np.array(rows)


def scaled_monomials(X: Array, powers: NDArray[np.intp]) -> Array:
    """Return monomials times the roots of their multinomial coefficients, shape (n, D).

    In this basis an orthogonal map of the points acts by an orthogonal matrix.
    """
    degree = int(powers[0].sum())
    values = np.prod(X[:, None, :] ** powers, axis=2)
    ways = [factorial(degree) / np.prod([factorial(p) for p in row]) for row in powers]
    return values * np.sqrt(ways)


def actions(maps: Array, degree: int, n_vectors: int) -> Array:
    """Return the matrices by which linear maps act on polynomials of one degree.

    Parameters
    ----------
    maps : ndarray of shape (k, d, d)
    degree : int
    n_vectors : int
        The polynomials are functions of so many vectors of d numbers, which all move together.

    Returns
    -------
    ndarray of shape (k, D, D)
    """
    d = maps.shape[1]
    powers = exponents(degree, n_vectors * d)
    rng = np.random.default_rng(0)
    points = rng.standard_normal((2 * len(powers), n_vectors, d))
    points /= np.linalg.norm(points, axis=(1, 2), keepdims=True)
    flat = points.reshape(len(points), -1)
    inverse = np.linalg.pinv(scaled_monomials(flat, powers))
    matrices = []
    for matrix in maps:
        moved = (points @ matrix.T).reshape(len(points), -1)
        matrices.append(inverse @ scaled_monomials(moved, powers))
    return np.array(matrices)


def permutation_actions(permutations: NDArray[np.intp], degree: int) -> Iterator[Array]:
    """Yield the matrices by which permutations of d numbers act on monomials of one degree."""
    d = permutations.shape[1]
    powers = exponents(degree, d)
    places = {tuple(row): i for i, row in enumerate(powers)}
    for permutation in permutations:
        images = [places[tuple(row[permutation])] for row in powers]
        matrix = np.zeros((len(powers), len(powers)))
        matrix[images, np.arange(len(powers))] = 1
        yield matrix
