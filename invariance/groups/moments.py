"""Means over all permutations or signs, of powers of <a, g b> and of exponentials.

They are computed in closed form: the elements of the group are never listed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import comb, factorial, perm, prod
from typing import Any, TypeAlias

import numpy as np
from numpy.polynomial.polynomial import polyval
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

Floats: TypeAlias = NDArray[Any]

#: Number of entries that fit in the cache of a core.
_CACHED = 2**16

#: Even degree up to which sums of even powers give the moments; beyond, their differences lose
#: digits.
_BY_SUMS = 6
#: Ratio of the powers of mean and deviation above which a loss of digits is looked for.
_FAR = 1e3
#: A mean over permutations has lost digits if it is below this share of its terms' sizes, and
#: centred rows are taken if their terms are smaller by this factor.
_LOST = 1e-7
_GAIN = 100
#: Coefficients of t^2, t^4, t^6 in log cosh t.
_LOG_COSH = (1 / 2, -1 / 12, 1 / 45)


def row_slices(shape: tuple[int, ...]) -> Iterator[slice]:
    """Blocks of rows of a large array, each small enough for the cache of a core."""
    n_rows = shape[0]
    block_size = max(1, _CACHED // max(shape[1], 1))
    for start in range(0, n_rows, block_size):
        yield slice(start, min(start + block_size, n_rows))


def sign_polynomial(A: Floats, B: Floats, coefficients: Sequence[float]) -> Floats:
    r"""E sum_k c_k (sum_i s_i a_i b_i)^k over independent signs; odd powers have the mean zero.

    The generating function of the moments is :math:`\prod_i \cosh(t a_i b_i)`, whose logarithm
    holds the sums :math:`p_{2j} = \sum_i (a_i b_i)^{2j}`: one matrix product each.

    >>> sign_polynomial(np.array([[1.0, 2.0]]), np.array([[3.0, 1.0]]), [1.0, 5.0, 2.0])
    array([[27.]])
    """
    mean = np.full((len(A), len(B)), coefficients[0], np.result_type(A, B))
    degree = len(coefficients) - 1
    highest_even = degree - degree % 2
    if highest_even <= _BY_SUMS:
        _add_moments_by_sums(mean, A, B, coefficients)
    else:
        _add_moments_by_coordinates(mean, A, B, coefficients)
    return mean


def _add_moments_by_coordinates(
    mean: Floats, A: Floats, B: Floats, coefficients: Sequence[float]
) -> None:
    """Update the moments with one coordinate after the other, so that nothing cancels."""
    even_degrees = range(2, len(coefficients), 2)
    moments = {k: np.zeros_like(mean) for k in even_degrees}
    moments[0] = np.ones_like(mean)
    for a, b in zip(A.T, B.T, strict=True):
        squares = np.multiply.outer(a, b) ** 2
        # Moments are updated in place, from the highest degree down.
        for k in reversed(even_degrees):
            power = np.ones_like(squares)
            for j in range(2, k + 1, 2):
                power *= squares
                moments[k] += comb(k, j) * power * moments[k - j]
    for k in even_degrees:
        mean += coefficients[k] * moments[k]


def _add_moments_by_sums(mean: Floats, A: Floats, B: Floats, coefficients: Sequence[float]) -> None:
    """Compute the moments from the sums p_2j, in blocks of rows."""
    even_degrees = range(2, len(coefficients), 2)
    powers_of_a = [A**size for size in even_degrees]
    powers_of_b = [(B**size).T for size in even_degrees]
    for rows in row_slices(mean.shape):
        sums = []
        for a, b in zip(powers_of_a, powers_of_b, strict=True):
            sums.append(a[rows] @ b)
        moments: dict[int, Floats] = {}
        for k in even_degrees:
            moments[k] = _factor_of_sum(k, k // 2) * sums[k // 2 - 1]
            for j in range(1, k // 2):
                moments[k] += _factor_of_sum(k, j) * sums[j - 1] * moments[k - 2 * j]
            mean[rows] += coefficients[k] * moments[k]


def _factor_of_sum(k: int, j: int) -> float:
    """Factor of p_2j m_(k-2j) in m_k.

    From M' = (log M)' M it follows that k m_k / k! = sum_j 2j c_j p_2j m_(k-2j) / (k-2j)!.
    """
    falling_factorial = factorial(k - 1) / factorial(k - 2 * j)
    return 2 * j * _LOG_COSH[j - 1] * falling_factorial


def sign_laplacian(A: Floats, B: Floats) -> Floats:
    r"""log E exp -sum_i |a_i - s_i b_i| over independent signs.

    With the increasing function :math:`h(u) = 2u + \ell(u)`, where
    :math:`\ell(u) = \log(1 + e^{-2u})`, a coordinate contributes

    .. math:: -|u - v| + \ell(\min(u, v)) - \log 2
        = \tfrac12 \bigl(\ell(u) + \ell(v) - |h(u) - h(v)|\bigr) - \log 2,
        \quad u = |a_i|, v = |b_i|,

    so that all pairs need one matrix of sums of absolute differences.
    """
    dtype = np.result_type(A, B)
    A = np.abs(A, dtype=float)
    B = np.abs(B, dtype=float)
    terms_of_a = np.log1p(np.exp(-2 * A))
    terms_of_b = np.log1p(np.exp(-2 * B))
    log_means: Floats = cdist(2 * A + terms_of_a, 2 * B + terms_of_b, "cityblock")
    log_means *= -0.5
    log_means += terms_of_a.sum(axis=1)[:, None] / 2
    log_means += terms_of_b.sum(axis=1) / 2 - A.shape[1] * float(np.log(2))
    return log_means.astype(dtype, copy=False)


def permutation_polynomial(
    A: Floats, B: Floats, coefficients: Sequence[float], *, even: bool = False
) -> Floats:
    r"""E sum_k c_k <a, g b>^k over all permutations g of n coordinates.

    :math:`\langle a, g b \rangle^k` is a sum over k-tuples of places. Tuples whose equal places
    form a set partition with parts :math:`\lambda_1, \dots, \lambda_l` contribute
    :math:`T_\lambda(a) T_\lambda(b) / (n)_l` with

    .. math:: T_\lambda(a) = \sum_{i_1, \dots, i_l \text{ distinct}}
        a_{i_1}^{\lambda_1} \cdots a_{i_l}^{\lambda_l}.

    So the mean is a single product of two matrices, with a column for each partition of each k.
    ``even`` averages over signs as well, which leaves parts of even size. Terms that cancel, as for
    rows far from zero against rows of mean zero, are replaced by those of centred rows.
    """
    n_coordinates = A.shape[1]
    degree = len(coefficients) - 1
    sums_of_a = _DistinctSums(A, degree)
    sums_of_b = _DistinctSums(B, degree)
    columns_of_a = [np.full(len(A), coefficients[0])]
    columns_of_b = [np.ones(len(B))]
    for k in range(1, degree + 1):
        for parts in _contributing_partitions(k, n_coordinates, even):
            factor = coefficients[k] * _share(parts, n_coordinates)
            columns_of_a.append(factor * sums_of_a.at(parts))
            columns_of_b.append(sums_of_b.at(parts))
    terms_of_a = np.array(columns_of_a).T
    terms_of_b = np.array(columns_of_b)
    mean = terms_of_a @ terms_of_b
    if not even and (sums_of_a.are_far_from_zero() or sums_of_b.are_far_from_zero()):
        _repair_by_centring(mean, terms_of_a, terms_of_b, A, B, coefficients)
    return mean


def _share(parts: tuple[int, ...], n_coordinates: int) -> float:
    """Number of set partitions with parts of these sizes, over the number of their placements."""
    return _set_partitions(parts) / perm(n_coordinates, len(parts))


def _repair_by_centring(
    mean: Floats,
    terms_of_a: Floats,
    terms_of_b: Floats,
    A: Floats,
    B: Floats,
    coefficients: Sequence[float],
) -> None:
    """Compute entries of a mean anew if its terms cancel so far that many digits are lost."""
    sizes_of_b = np.abs(terms_of_b)
    for rows in row_slices(mean.shape):
        sizes = np.abs(terms_of_a[rows]) @ sizes_of_b
        is_lost = _LOST * sizes > np.abs(mean[rows])
        if not is_lost.any():
            continue
        centred_mean, centred_sizes = _mean_by_centring(A[rows], B, coefficients)
        # Means that are near zero by themselves have terms of the same size after centring.
        is_better = is_lost & (_GAIN * centred_sizes < sizes)
        np.copyto(mean[rows], centred_mean, where=is_better)


def _mean_by_centring(A: Floats, B: Floats, coefficients: Sequence[float]) -> tuple[Floats, Floats]:
    r"""E sum_k c_k <a, g b>^k by centred rows, and the sum of the sizes of its terms.

    With :math:`m = n \bar a \bar b` and :math:`u = \langle a_c, g b_c \rangle`, the inner product
    is :math:`m + u`, and

    .. math:: E \sum_k c_k (m + u)^k = \sum_j E u^j \sum_{k \ge j} c_k \binom{k}{j} m^{k - j}.
    """
    n_coordinates = A.shape[1]
    degree = len(coefficients) - 1
    means_of_a = A.mean(axis=1, dtype=float, keepdims=True)
    means_of_b = B.mean(axis=1, dtype=float, keepdims=True)
    sums_of_a = _DistinctSums(A - means_of_a, degree)
    sums_of_b = _DistinctSums(B - means_of_b, degree)
    product_of_means = n_coordinates * means_of_a * means_of_b.T
    mean = polyval(product_of_means, coefficients)
    sizes = polyval(np.abs(product_of_means), np.abs(coefficients))
    for j in range(1, degree + 1):
        derived = [coefficients[k] * comb(k, j) for k in range(j, degree + 1)]
        factors = polyval(product_of_means, derived)
        sizes_of_factors = polyval(np.abs(product_of_means), np.abs(derived))
        for parts in _contributing_partitions(j, n_coordinates, False):
            share = _share(parts, n_coordinates)
            moments = np.multiply.outer(share * sums_of_a.at(parts), sums_of_b.at(parts))
            mean += factors * moments
            sizes += sizes_of_factors * np.abs(moments)
    return mean, sizes


class _DistinctSums:
    """The sums T_lambda over distinct coordinates of each row; they are remembered."""

    def __init__(self, X: Floats, degree: int):
        self._sums: dict[tuple[int, ...], Floats] = {}
        self._n_coordinates = X.shape[1]
        self._degree = degree
        X = np.asarray(X, dtype=float)
        power = X
        for k in range(1, degree + 1):
            self._sums[k,] = power.sum(axis=1)
            power = power * X

    def are_far_from_zero(self) -> bool:
        """Whether powers of a row's mean are much larger than those of its standard deviation.

        Against a row of mean zero, terms of such sizes cancel.
        """
        if self._degree < 2:
            return False
        # The squared mean exceeds a multiple of the variance if it is most of the mean square.
        multiple = _FAR ** (2 / self._degree)
        share = multiple / (1 + multiple) * self._n_coordinates
        sums = self._sums[1,]
        return bool((sums * sums > share * self._sums[2,]).any())

    def at(self, parts: tuple[int, ...]) -> Floats:
        """All places for the last part, minus the places that an earlier part takes."""
        if parts in self._sums:
            return self._sums[parts]
        *earlier, last = parts
        total = self.at(tuple(earlier)) * self._sums[last,]
        for i, size in enumerate(earlier):
            merged = (*earlier[:i], size + last, *earlier[i + 1 :])
            total = total - self.at(merged)
        self._sums[parts] = total
        return total


@lru_cache(256)
def _contributing_partitions(k: int, n_coordinates: int, even: bool) -> tuple[tuple[int, ...], ...]:
    """Partitions of k in at most as many parts as there are coordinates, all even if asked."""
    partitions = []
    for parts in _partitions(k):
        has_odd_part = any(size % 2 for size in parts)
        if len(parts) > n_coordinates or (even and has_odd_part):
            continue
        partitions.append(parts)
    return tuple(partitions)


def _partitions(k: int, largest: int | None = None) -> Iterator[tuple[int, ...]]:
    """Tuples of positive whole numbers that sum to k, in falling order."""
    if k == 0:
        yield ()
    for first in range(min(k, largest or k), 0, -1):
        for rest in _partitions(k - first, first):
            yield (first, *rest)


@lru_cache(1024)
def _set_partitions(parts: tuple[int, ...]) -> int:
    """Number of partitions of a set into parts with these sizes."""
    orders_of_equal_parts = prod(factorial(count) for count in Counter(parts).values())
    orders_within_parts = prod(factorial(size) for size in parts)
    return factorial(sum(parts)) // (orders_within_parts * orders_of_equal_parts)
