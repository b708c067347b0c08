"""Symmetric products and Cholesky factors of matrices that are computed in panels."""

import numpy as np
import pytest

from invariance.core.symmetric import add_row_products, factorize, row_products

#: No whole number of panels.
N = 450
PANEL = 100


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).standard_normal((N, 3), dtype=np.float32)


@pytest.fixture(scope="module")
def definite(rows):
    """A positive definite matrix in Fortran's order."""
    matrix = rows @ rows.T
    matrix.flat[:: N + 1] += 10
    return np.asfortranarray(matrix)


def test_products_of_rows_are_those_of_all_pairs(rows):
    values = row_products(rows, PANEL)
    assert values.dtype == rows.dtype
    np.testing.assert_array_equal(values, values.T)
    np.testing.assert_allclose(values, np.einsum("nd,md->nm", rows, rows), atol=1e-4)


def test_products_of_columns_are_those_of_the_transposed_rows(rows):
    wide = np.asfortranarray(rows.T)
    np.testing.assert_array_equal(row_products(wide.T, PANEL), row_products(rows, PANEL))


def test_products_are_added_to_the_lower_triangle(rows):
    start = np.ones((N, N), np.float32, order="F")
    total = add_row_products(start, rows, PANEL)
    expected = np.einsum("nd,md->nm", rows, rows) + 1
    np.testing.assert_allclose(np.tril(total), np.tril(expected), atol=1e-4)


def test_a_factor_times_its_transpose_is_the_matrix(definite):
    factor = definite.copy(order="F")
    assert factorize(factor, clear=True, panel=PANEL) == 0
    assert not np.triu(factor, 1).any()
    np.testing.assert_allclose(factor @ factor.T, definite, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("first", [1, 250, N])
def test_the_first_block_that_is_not_definite_is_named(definite, first):
    matrix = definite.copy(order="F")
    matrix[first - 1, first - 1] = -1
    assert factorize(matrix, panel=PANEL) == first


def test_only_the_lower_triangle_is_read(definite):
    matrix = np.asfortranarray(np.tril(definite))
    assert factorize(matrix, clear=True, panel=PANEL) == 0
    factor = definite.copy(order="F")
    factorize(factor, clear=True, panel=PANEL)
    np.testing.assert_array_equal(matrix, factor)


@pytest.mark.parametrize("panel", [None, PANEL])
def test_a_matrix_in_any_order_of_storage_is_replaced(definite, panel):
    factor = np.ascontiguousarray(definite)
    assert factorize(factor, clear=True, panel=panel) == 0
    np.testing.assert_allclose(factor @ factor.T, definite, rtol=1e-5, atol=1e-5)
