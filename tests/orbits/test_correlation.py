"""Correlations over shifts against inner products with every shifted image."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from invariance.orbits.correlation import (
    FrequencyCorrelation,
    RowCorrelation,
    ShiftCorrelation,
    shift_correlation,
)

WAYS = [
    RowCorrelation,
    partial(RowCorrelation, transposed=True),
    FrequencyCorrelation,
    partial(FrequencyCorrelation, transposed=True),
]


def by_shift(a, b, shifts):
    """Inner products of shape (shifts, n, m)."""
    return np.array(
        [np.einsum("nchw,mchw->nm", a, np.roll(b, tuple(s), axis=(2, 3))) for s in shifts]
    )


def at_shifts(pairs, values, shifts):
    """Of values (a, m, b, n) those at some shifts, shape (shifts, n, m)."""
    found = []
    for place in zip(*pairs.places(shifts), strict=True):
        grid = np.zeros(pairs.wanted.shape)
        grid[place if place[1] >= pairs.n_own else (0, *place[1:])] = 1
        ((a, b),) = np.argwhere(pairs.in_tile_order(grid))
        found.append(values[a, :, b].T)
    return np.array(found)


def every(pairs, a, b):
    """Correlations of all pairs, shape (a, m, b, n)."""
    return np.concatenate([part.copy() for part in pairs.values(a, pairs.spectra(b))], axis=1)


@settings(max_examples=40, deadline=None)
@given(
    st.tuples(st.integers(1, 6), st.integers(1, 6)),
    st.integers(1, 3),
    st.data(),
    st.sampled_from([*WAYS, shift_correlation]),
)
def test_correlation_is_the_inner_product_with_shifted_images(grid, n_channels, data, way):
    n_shifts = data.draw(st.integers(1, 8))
    shifts = np.array(
        data.draw(
            st.lists(
                st.tuples(st.integers(-8, 8), st.integers(-8, 8)), min_size=1, max_size=n_shifts
            )
        )
    )
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    a, b = rng.standard_normal((3, n_channels, *grid)), rng.standard_normal((4, n_channels, *grid))
    expected = by_shift(a, b, shifts)
    pairs = way(grid, shifts, n_channels, float)
    high, low = pairs.extremes(a, pairs.spectra(b), minimum=True)
    assert_allclose(high, np.max(expected, axis=0), atol=1e-10)
    assert_allclose(low, np.min(expected, axis=0), atol=1e-10)


@pytest.mark.parametrize("grid", [(6, 8), (5, 7), (6, 7)])
@pytest.mark.parametrize("blank", [0, 2])
@pytest.mark.parametrize("way", WAYS)
def test_operations_are_those_of_the_matrix_products(grid, blank, way, monkeypatch):
    shifts = np.array([[0, 0], [1, 2], [-1, 1]])
    pairs = way(grid, shifts, 3, float)
    a, b = np.random.default_rng(0).standard_normal((2, 4, 3, *grid))
    axis = 1 if pairs.transposed else 0
    shown = 1 - blank / grid[axis]
    np.moveaxis(a, 2 + axis, 0)[:blank] = 0
    spectra, done, matmul = pairs.spectra(b), [], np.matmul

    def counted(one, other, out=None):
        product = matmul(one, other, out=out)
        each = 8 if np.iscomplexobj(product) else 2  # a complex product is four real ones
        done.append(each * product.size * one.shape[-1])
        return product

    monkeypatch.setattr(np, "matmul", counted)
    pairs.extremes(a, spectra)
    assert sum(done) == 16 * sum(pairs.operations(shown).values())


def test_the_way_that_multiplies_least():
    shifts = np.stack(np.meshgrid([-1, 0, 1], [-1, 0, 1]), -1).reshape(-1, 2)
    tall, wide = (
        shift_correlation((28, 28), shifts, 1, float, shown=shown)
        for shown in [(1.0, 0.5), (0.5, 1.0)]
    )
    assert tall.transposed and not wide.transposed
    assert isinstance(shift_correlation((28, 28), shifts, 90, float), FrequencyCorrelation)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "shifts",
    [
        [[0, 0], [1, 2], [-1, 1]],
        [[i, j] for i in (-1, 0, 1) for j in (-2, -1, 0, 1, 2)],
        [[i, j] for i in (0, 2, 4) for j in (0, 4)],
    ],
    ids=["asymmetric", "symmetric", "steps"],
)
def test_tiles_do_not_change_the_extremes(way, shifts, monkeypatch):
    """Several second images at a time, in outer tiles, inner ones, or both."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((3, 2, 6, 8)), rng.standard_normal((11, 2, 6, 8))
    pairs, expected = way((6, 8), np.array(shifts), 2, float), by_shift(a, b, shifts)
    for cache, tile in [(1, 1), (1, 4000), (2000, 1), (2000, 9000), (2000, 2500)]:
        monkeypatch.setattr(ShiftCorrelation, "cache_bytes", cache)
        monkeypatch.setattr(FrequencyCorrelation, "tile_bytes", tile)
        tiles = [some for some, *_ in pairs._tiles(pairs._own(a), pairs.spectra(b))]
        assert len(tiles) > 1
        assert_allclose(np.concatenate([np.arange(11)[some] for some in tiles]), np.arange(11))
        high, low = pairs.extremes(a, pairs.spectra(b), minimum=True)
        assert_allclose(high, expected.max(axis=0), atol=1e-12)
        assert_allclose(low, expected.min(axis=0), atol=1e-12)
        assert_allclose(at_shifts(pairs, every(pairs, a, b), shifts), expected, atol=1e-12)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("grid", [(6, 8), (5, 7), (1, 6), (6, 1)])
def test_every_correlation_stands_where_places_says(way, grid):
    shifts = np.indices(grid).reshape(2, -1).T - np.array(grid) // 2
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 3, *grid)), rng.standard_normal((4, 3, *grid))
    pairs = way(grid, shifts, 3, float)
    found, expected = every(pairs, a, b), by_shift(a, b, shifts)
    assert found.shape[1::2] == (4, 2) and found.shape[0] * found.shape[2] == len(shifts)
    assert_allclose(at_shifts(pairs, found, shifts), expected, atol=1e-12)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "shifts",
    [
        [[0, 0], [1, 2], [-1, 1]],
        [[0, j] for j in range(8)],
        [[2, 4], [0, 4], [2, 0]],
    ],
    ids=["asymmetric", "all columns", "steps"],
)
def test_offsets_are_subtracted_before_the_extremes(way, shifts):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((3, 2, 6, 8)), rng.standard_normal((4, 2, 6, 8))
    pairs = way((6, 8), np.array(shifts), 2, float)
    a_b = pairs.in_tile_order(pairs.wanted).shape
    offsets = 9 * rng.random((a_b[0], len(b), a_b[1], 1))
    expected = by_shift(a, b, shifts)
    expected -= at_shifts(pairs, offsets, shifts)
    high, low = pairs.extremes(a, pairs.spectra(b), offsets, minimum=True)
    assert_allclose(high, expected.max(axis=0), atol=1e-12)
    assert_allclose(low, expected.min(axis=0), atol=1e-12)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shifts", [[[0, 0], [1, 1]], [[0, 0], [2, 4]]], ids=["plain", "steps"])
@pytest.mark.parametrize(("n", "m"), [(0, 3), (3, 0), (0, 0)])
def test_no_images(way, shifts, n, m):
    pairs = way((6, 8), np.array(shifts), 2, float)
    spectra = pairs.spectra(np.ones((m, 2, 6, 8)))
    first = np.ones((n, 2, 6, 8))
    high, low = pairs.extremes(first, spectra, minimum=True)
    assert high.shape == low.shape == (n, m)
    assert sum(part.shape[1] for part in pairs.values(first, spectra)) == m


@pytest.mark.parametrize("way", WAYS)
def test_clear_errors(way):
    for shifts in ([], np.empty((0, 2), int), [1, 2], [[1, 2, 3]]):
        with pytest.raises(ValueError, match=r"rows \(down, right\), at least one"):
            way((6, 8), shifts, 2, float)
    pairs = way((6, 8), [[0, 0], [2, -2]], 2, float)
    assert pairs.n_channels == 2
    assert pairs.places([[-4, 6]]) == pairs.places([[2, -2]])
    spectra = pairs.spectra(np.ones((3, 2, 6, 8)))
    for shape in ((3, 1, 6, 8), (3, 4, 6, 8), (3, 2, 8, 6)):
        with pytest.raises(ValueError, match=r"shape \(n, 2, 6, 8\) for 2 channels"):
            pairs.spectra(np.ones(shape))
        with pytest.raises(ValueError, match=r"shape \(n, 2, 6, 8\) for 2 channels"):
            pairs.extremes(np.ones(shape), spectra)
