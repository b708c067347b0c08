"""Means over all permutations or signs, of powers of <a, g b> and of exponentials, unlisted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from math import comb, factorial, perm, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

#: Numbers that stay in a core's cache.
_CACHED = 2**16


def row_slices(shape: tuple[int, ...]) -> Iterator[slice]:
    """Rows of a large array, as many at a time as stay in a core's cache."""
    step = max(1, _CACHED // max(shape[1], 1))
    yield from (slice(a, min(a + step, shape[0])) for a in range(0, shape[0], step))


#: Degree up to which sums of even powers give the moments; beyond, their differences lose digits.
_BY_SUMS = 6
#: Coefficients of t^2, t^4, t^6 in log cosh t.
_LOG_COSH = (1 / 2, -1 / 12, 1 / 45)


def sign_powers(A: NDArray[Any], B: NDArray[Any], degree: int) -> list[NDArray[Any]]:
    r"""E (sum_i s_i a_i b_i)^k over independent signs, k = 0, ..., degree.

    The generating function is :math:`\prod_i \cosh(t a_i b_i)`, whose logarithm holds the sums
    :math:`p_{2j} = \sum_i (a_i b_i)^{2j}`: one matrix product each.

    >>> [m.tolist() for m in sign_powers(np.array([[1.0, 2.0]]), np.array([[3.0, 1.0]]), 2)]
    [[[1.0]], [[0.0]], [[13.0]]]
    """
    moments = [np.zeros((len(A), len(B)), np.result_type(A, B)) for _ in range(degree + 1)]
    moments[0] += 1
    if degree > _BY_SUMS:  # one coordinate after the other: nothing cancels
        for a, b in zip(A.T, B.T, strict=True):
            squares = np.multiply.outer(a, b) ** 2
            for k in range(degree - degree % 2, 0, -2):
                power = np.ones_like(squares)
                for j in range(2, k + 1, 2):
                    power *= squares
                    moments[k] += comb(k, j) * power * moments[k - j]
        return moments
    powers = [(A ** (2 * j), (B ** (2 * j)).T) for j in range(1, degree // 2 + 1)]
    for rows in row_slices(moments[0].shape):
        sums = [one[rows] @ two for one, two in powers]
        for k in range(2, degree + 1, 2):
            for j in range(1, k // 2 + 1):
                # From M' = (log M)' M: k m_k / k! = sum_j 2j c_j p_2j m_(k-2j) / (k-2j)!.
                factor = 2 * j * _LOG_COSH[j - 1] * factorial(k - 1) / factorial(k - 2 * j)
                moments[k][rows] += factor * sums[j - 1] * moments[k - 2 * j][rows]
    return moments


def sign_laplacian(A: NDArray[Any], B: NDArray[Any]) -> NDArray[Any]:
    """log E exp -sum_i |a_i - s_i b_i| over independent signs.

    A coordinate gives -| |a| - |b| | + log(1 + exp(-2 min(|a|, |b|))) - log 2, and the second term
    is the larger one of two that depend on a or on b alone.
    """
    alike = np.result_type(A, B)
    A, B = np.abs(A), np.abs(B)
    total = -cdist(A, B, "cityblock").astype(alike, copy=False) - A.shape[1] * float(np.log(2))
    one, two = (np.log1p(np.exp(-2 * M)) for M in (A, B))
    columns = np.ascontiguousarray(two.T)
    for rows in row_slices(total.shape):
        part, larger = total[rows], np.empty_like(total[rows])
        for values, column in zip(one[rows].T, columns, strict=True):
            part += np.maximum(values[:, None], column, out=larger)
    return np.asarray(total)


def permutation_powers(
    A: NDArray[Any], B: NDArray[Any], degree: int, even: bool = False
) -> list[NDArray[Any]]:
    r"""E <a, g b>^k over all permutations g of n coordinates, k = 0, ..., degree.

    :math:`\langle a, g b \rangle^k` is a sum over k-tuples of places. Tuples whose equal places
    form a set partition with parts :math:`\lambda_1, \dots, \lambda_l` contribute
    :math:`T_\lambda(a) T_\lambda(b) / (n)_l` with

    .. math:: T_\lambda(a) = \sum_{i_1, \dots, i_l \text{ distinct}}
        a_{i_1}^{\lambda_1} \cdots a_{i_l}^{\lambda_l}.

    ``even`` averages over signs as well, which leaves parts of even size.
    """
    n, tables = A.shape[1], list[dict[tuple[int, ...], NDArray[Any]]]()
    for M in (np.asarray(A, dtype=float), np.asarray(B, dtype=float)):
        powers = accumulate([M] * degree, np.multiply)
        tables.append({(k,): power.sum(axis=1) for k, power in enumerate(powers, start=1)})

    def sums(known: dict[tuple[int, ...], NDArray[Any]], parts: tuple[int, ...]) -> NDArray[Any]:
        """All places for the last part, less those of the others."""
        if parts not in known:
            *others, last = parts
            total = sums(known, tuple(others)) * known[last,]
            for a, size in enumerate(others):
                total = total - sums(known, (*others[:a], size + last, *others[a + 1 :]))
            known[parts] = total
        return known[parts]

    found = [np.ones((len(A), len(B)))]
    for k in range(1, degree + 1):
        shapes = [parts for parts in _partitions(k) if len(parts) <= n]
        shapes = [parts for parts in shapes if not (even and any(p % 2 for p in parts))]
        counts = np.array([_set_partitions(parts) / perm(n, len(parts)) for parts in shapes])
        one, two = (np.array([sums(known, parts) for parts in shapes]) for known in tables)
        found.append((one.T * counts) @ two if shapes else np.zeros_like(found[0]))
    return found


def _partitions(k: int, largest: int | None = None) -> Iterator[tuple[int, ...]]:
    """Whole numbers that sum to k, in falling order."""
    if k == 0:
        yield ()
    for first in range(min(k, largest or k), 0, -1):
        for rest in _partitions(k - first, first):
            yield (first, *rest)


def _set_partitions(parts: tuple[int, ...]) -> int:
    """How many partitions of a set have parts of these sizes."""
    equal = prod(factorial(count) for count in Counter(parts).values())
    return factorial(sum(parts)) // (prod(map(factorial, parts)) * equal)
