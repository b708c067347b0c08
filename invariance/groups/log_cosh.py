r"""Sums of log cosh over coordinates: the logarithm of a mean of exponentials over all signs.

.. math:: \log \mathbb E_s \exp \sum_i s_i a_i b_i = \sum_i \log \cosh a_i b_i

for independent signs s. Where products are small, log cosh t is a short polynomial in t^2. A power
of the product a b is the product of the powers of a and b, so that all pairs and coordinates need
one product of matrices. Where products are large, each needs an exponential.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from numpy.typing import NDArray
from scipy import linalg

from ..core.arrays import on_cpu
from .moments import row_slices

Floats = NDArray[Any]

#: Products are small up to this size. Beyond, the first zero of cosh t, at t = i pi / 2, is so
#: near that the coefficients of a polynomial are large and cancel.
_SMALL = 1.5
#: Powers pay from so many points on either side, and from so many products of coordinates.
_FEWEST_POINTS = 64
_FEWEST_PRODUCTS = 2**17
#: So few products of coordinates are computed at once.
_FEW_PRODUCTS = 2**13
#: Bytes of the powers that are multiplied at a time.
_POWER_BYTES = 2**22


def sums_of_log_cosh(A: Any, B: Any, xp: Any = np) -> Any:
    """sum_i log cosh(a_i b_i) for all pairs of rows of A, (n, d), and B, (m, d): shape (n, m)."""
    A = xp.abs(A)
    B = xp.abs(B)
    if xp is not np or not _is_worth_powers(len(A), len(B), A.shape[1]):
        return _by_exponentials(A, B, xp)
    largest_products = A.max(axis=0) * B.max(axis=0)
    is_small = largest_products <= _SMALL
    if is_small.all():
        return _by_powers(A, B)
    sums = _by_exponentials(A[:, ~is_small], B[:, ~is_small], np)
    if is_small.any():
        sums += _by_powers(A[:, is_small], B[:, is_small])
    return sums


def _is_worth_powers(n: int, m: int, d: int) -> bool:
    return min(n, m) >= _FEWEST_POINTS and n * m * d >= _FEWEST_PRODUCTS


def _by_powers(A: Floats, B: Floats) -> Floats:
    """Return the sums for coordinates that are not negative and have small products."""
    dtype = np.result_type(A, B, np.float32)
    sums = np.zeros((len(A), len(B)), dtype)
    largest_a = A.max(axis=0)
    largest_b = B.max(axis=0)
    largest_products = largest_a * largest_b
    bound = _rounded_up(float(largest_products.max(initial=0)))
    coefficients = _coefficients(bound, float(np.finfo(dtype).eps))
    # Entries are divided by the largest ones, so that no power overflows.
    largest_a[largest_a == 0] = 1
    largest_b[largest_b == 0] = 1
    squares_of_a = np.square(A / largest_a * (largest_products / bound), dtype=dtype)
    squares_of_b = np.square(B / largest_b, dtype=dtype)
    bytes_of_coordinate = dtype.itemsize * len(coefficients) * (len(A) + len(B))
    step = max(1, _POWER_BYTES // bytes_of_coordinate)
    for start in range(0, A.shape[1], step):
        columns = slice(start, start + step)
        powers_of_a = _powers(squares_of_a[:, columns], coefficients)
        powers_of_b = _powers(squares_of_b[:, columns], np.ones_like(coefficients))
        sums += powers_of_a @ powers_of_b.T
    return sums


def _powers(squares: Floats, coefficients: Floats) -> Floats:
    """Return c_k s^k for s of shape (n, d) and k = 1, ..., K, as shape (n, K d)."""
    powers = np.empty((len(squares), len(coefficients), squares.shape[1]), squares.dtype)
    power = np.ones_like(squares)
    for k, coefficient in enumerate(coefficients.tolist()):
        power *= squares
        np.multiply(power, coefficient, out=powers[:, k])
    return powers.reshape(len(squares), -1)


def _rounded_up(bound: float) -> float:
    """Return `_SMALL` over a power of the root of two: the next such number from ``bound`` on.

    So few bounds occur, and their coefficients are kept.
    """
    if bound == 0:
        return _SMALL / 2**10
    n_roots = min(20, np.floor(2 * np.log2(_SMALL / bound)))
    return float(_SMALL / 2 ** (n_roots / 2))


@lru_cache(64)
def _coefficients(bound: float, eps: float) -> Floats:
    """Coefficients c_1, c_2, ... of log cosh t = sum_k c_k (t / bound)^2k for \\|t\\| <= bound."""

    def ratio(share: Floats) -> Floats:
        """Log cosh t over the share (t / bound)^2, which is then zero at zero."""
        log_cosh = np.log1p(2 * np.sinh(bound * np.sqrt(share) / 2) ** 2)
        return np.asarray(log_cosh / share)

    # The distance of the first zero of cosh t, seen from the interval of shares, is the rate at
    # which interpolation converges.
    centre = 1 + np.pi**2 / (2 * bound**2)
    rate = centre + np.sqrt(centre**2 - 1)
    degree = int(np.ceil(np.log(1 / eps) / np.log(rate)))
    interpolant = Chebyshev.interpolate(ratio, degree, domain=[0, 1])
    polynomial = interpolant.convert(kind=Polynomial, domain=[0, 1], window=[0, 1])
    return np.asarray(polynomial.coef, dtype=float)


def _by_exponentials(A: Any, B: Any, xp: Any) -> Any:
    """Return the sums of log cosh t = t - log 2 + log(1 + exp(-2 t)) for t not negative."""
    minus_2b = -2 * B.T
    if xp is np:
        minus_2b = np.ascontiguousarray(minus_2b)
    n_coordinates = A.shape[1]
    sums = A @ B.T
    sums -= n_coordinates * float(np.log(2))
    blocks = [slice(None)]
    if xp is np or on_cpu(sums):
        blocks = list(row_slices(sums.shape))
    for rows in blocks:
        # The logarithm is taken of products of 100 factors, each between 1 and 2.
        for start in range(0, n_coordinates, 100):
            columns = slice(start, min(start + 100, n_coordinates))
            product = _product_of_factors(A[rows, columns], minus_2b[columns, :], xp)
            sums[rows, :] += xp.log(product)
    return sums


def _product_of_factors(A: Any, minus_2b: Any, xp: Any) -> Any:
    """prod_i (1 + exp(-2 a_i b_i)) for all pairs; the second points are columns, times -2."""
    if xp is not np:
        product: Any = 1.0
        for i in range(A.shape[1]):
            product = (xp.exp(A[:, i : i + 1] * minus_2b[i : i + 1, :]) + 1) * product
        return product
    if A.size * minus_2b.shape[1] <= _FEW_PRODUCTS:
        factors = np.exp(A.T[:, :, None] * minus_2b[:, None, :])
        factors += 1
        return factors.prod(axis=0)
    product = np.ones((len(A), minus_2b.shape[1]), np.result_type(A, minus_2b))
    A = A.astype(product.dtype, copy=False)
    minus_2b = minus_2b.astype(product.dtype, copy=False)
    # NumPy takes four times as long for an outer product as BLAS does.
    add_outer = linalg.get_blas_funcs("ger", dtype=product.dtype)
    factor = np.empty_like(product)
    for a, row in zip(A.T, minus_2b, strict=True):
        factor.fill(0)
        add_outer(1.0, row, a, a=factor.T, overwrite_a=True)
        np.exp(factor, out=factor)
        factor += 1
        product *= factor
    return product
