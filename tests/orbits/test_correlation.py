"""Correlations over shifts, and quarter turns, against moving the images."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from invariance.groups import CyclicShifts, Rotations, Translations
from invariance.kernels import BestFit, Gaussian, Linear, Locality, Polynomial
from invariance.orbits import Extremes, Form, OrbitProducts
from invariance.orbits.ways.correlation import (
    FrequencyCorrelation,
    RowCorrelation,
    shift_correlation,
)
from invariance.orbits.ways.quarter_turns import QuarterTurns

WAYS = [
    RowCorrelation,
    partial(RowCorrelation, transposed=True),
    FrequencyCorrelation,
    partial(FrequencyCorrelation, transposed=True),
]
SHIFTS = {
    "asymmetric": [[0, 0], [1, 2], [-1, 1]],
    "symmetric": [[i, j] for i in (-1, 0, 1) for j in (-2, -1, 0, 1, 2)],
    "all columns": [[0, j] for j in range(8)],
    "steps": [[i, j] for i in (0, 2, 4) for j in (0, 4)],
}
every_way = pytest.mark.parametrize("way", WAYS)


def by_shift(a, b, shifts):
    """Inner products of shape (shifts, n, m)."""
    return np.array(
        [np.einsum("nchw,mchw->nm", a, np.roll(b, tuple(s), axis=(2, 3))) for s in shifts]
    )


def at_shifts(pairs, values, shifts):
    """Return the values (a, m, b, n) at some shifts, shape (shifts, n, m)."""
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


def check_extremes(pairs, a, b, expected, offsets=None, atol=1e-12):
    high, low = pairs.extremes(a, pairs.spectra(b), offsets, minimum=True)
    assert_allclose(high, np.max(expected, axis=0), atol=atol)
    assert_allclose(low, np.min(expected, axis=0), atol=atol)


@settings(max_examples=40, deadline=None)
@given(
    st.tuples(st.integers(1, 6), st.integers(1, 6)),
    st.integers(1, 3),
    st.one_of(
        st.lists(st.tuples(st.integers(-8, 8), st.integers(-8, 8)), min_size=1, max_size=8),
        st.sampled_from(list(SHIFTS.values())),
    ),
    st.integers(0, 1000),
    st.sampled_from([*WAYS, shift_correlation]),
)
def test_correlation_is_the_inner_product_with_shifted_images(grid, n_channels, shifts, seed, way):
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((3, n_channels, *grid)), rng.standard_normal((4, n_channels, *grid))
    pairs, expected = way(grid, shifts, n_channels, float), by_shift(a, b, shifts)
    check_extremes(pairs, a, b, expected, atol=1e-10)
    assert_allclose(at_shifts(pairs, every(pairs, a, b), shifts), expected, atol=1e-10)
    a_b = pairs.in_tile_order(pairs.wanted).shape
    offsets = 9 * rng.random((a_b[0], len(b), a_b[1], 1))  # which are subtracted before
    check_extremes(pairs, a, b, expected - at_shifts(pairs, offsets, shifts), offsets)


@pytest.mark.parametrize("grid", [(6, 8), (5, 7), (6, 7)])
@pytest.mark.parametrize("blank", [0, 2])
@every_way
def test_operations_are_those_of_the_matrix_products(grid, blank, way, monkeypatch):
    pairs = way(grid, np.array(SHIFTS["asymmetric"]), 3, float)
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


@every_way
@pytest.mark.parametrize("name", ["asymmetric", "symmetric", "steps"])
def test_tiles_do_not_change_the_extremes(way, name):
    """Several second images at a time, in outer tiles, inner ones, or both."""
    rng, shifts = np.random.default_rng(0), SHIFTS[name]
    a, b = rng.standard_normal((3, 2, 6, 8)), rng.standard_normal((11, 2, 6, 8))
    pairs, expected = way((6, 8), np.array(shifts), 2, float), by_shift(a, b, shifts)
    for cache, tile in [(1, 1), (1, 4000), (2000, 1), (2000, 9000), (2000, 2500)]:
        pairs.cache_bytes = cache
        pairs.tile_bytes = tile
        tiles = [some for some, *_ in pairs.tiles(pairs.transforms(a), pairs.spectra(b))]
        assert len(tiles) > 1
        assert_allclose(np.concatenate([np.arange(11)[some] for some in tiles]), np.arange(11))
        check_extremes(pairs, a, b, expected)
        assert_allclose(at_shifts(pairs, every(pairs, a, b), shifts), expected, atol=1e-12)


# -- quarter turns by characters of the group of order four ----------------------------------------


def problem_of(base, shape):
    points = np.ones((1, int(np.prod(shape))))
    group = Rotations(shape, degrees=[0, 90, 180, 270])
    planner = OrbitProducts(points, group, base=base).planner
    problem = planner.plan(
        points.shape[1], points.shape[1], points.dtype, Extremes(), 2**20
    ).problem
    return problem


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 7),
    st.integers(1, 2),
    st.sampled_from(["linear", "same", "valid"]),
    st.integers(1, 2),
    st.integers(0, 1000),
)
def test_extremes_over_the_turned_images(side, channels, kind, stride, seed):
    base = (
        Linear()
        if kind == "linear" or side < 3
        else Locality((side, side), window=3, padding=kind, stride=stride, channels=channels)
    )
    shape = (side, side, channels)
    problem = problem_of(base, shape)
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((3, *shape)), rng.standard_normal((4, *shape))
    x[:, 0] = 0
    every = [
        problem.lift_points(x).reshape(3, -1)
        @ problem.lift_templates(np.rot90(y, turn, axes=(1, 2))).reshape(4, -1).T
        for turn in range(4)
    ]
    support = problem.lift_points(np.abs(x).max(axis=0, keepdims=True)).ravel() != 0
    for known in (None, support):
        turns = QuarterTurns(problem)
        turns = turns if known is None else turns.within(known)
        values = turns.values(
            turns.transform_points(x.reshape(3, -1)), turns.transform_templates(y.reshape(4, -1))
        )
        assert_allclose(values, np.stack(every, axis=1), atol=1e-12)


def test_which_sets_consist_of_quarter_turns():
    shape = (6, 6)
    assert Rotations(shape, degrees=[10, 100, 190, -80]).as_turns().degrees == [10.0]
    assert Rotations(shape, degrees=[0, 90, 180, 270, 360]).as_turns().degrees == [0.0]
    for other in (
        Rotations(shape, degrees=[10, 100, 190]),
        Rotations(shape, degrees=[-10, 0, 10]),
        Rotations((6, 5), degrees=[0, 90, 180, 270]),
        Translations(shape, max_shift=1),
    ):
        assert other.as_turns() is None
    columns = Form(n_channels=1, second=lambda images: np.cumsum(images, axis=1))
    problem = replace(problem_of(Linear(), (3, 3, 1)), form=columns)
    with pytest.raises(ValueError, match="does not permute"):
        QuarterTurns(problem)


@pytest.mark.filterwarnings("ignore:Polynomial of even degree:UserWarning")
@pytest.mark.parametrize(
    "base",
    [Polynomial(8, 0.02), Gaussian(0.1), Polynomial(2, 3.0), Locality((7, 7), 3, powers=(2, 4))],
    ids=repr,
)
def test_best_fit_over_all_rotations_is_that_of_the_definition(base):
    rng = np.random.default_rng(0)
    X, Z = rng.uniform(0, 1, (9, 7, 7)), rng.uniform(-1, 1, (5, 49))
    X[:, :3] = 0  # an empty border, of which the fast path makes use
    X = X.reshape(9, -1)
    turns = Rotations((7, 7), degrees=range(-180, 180, 30))
    expected = np.max([base(X, z) for z in turns.act(turns.elements(), Z)], axis=0)
    assert_allclose(BestFit(base, turns)(X, Z), expected, rtol=1e-10)
    single = BestFit(base, turns, precision="single", block_bytes=20_000, n_jobs=2)
    assert_allclose(single(X, Z), expected, rtol=1e-5)


@pytest.mark.parametrize("size", [127, 1000])
def test_long_correlations_are_as_exact_as_products(size):
    """Angles of many turns must not cost digits: sums of 1,000 signs are whole to 1e-12."""
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (20, size))
    group = CyclicShifts(size)
    way = OrbitProducts(signs, group).explain(signs, Extremes()).way
    (largest,) = OrbitProducts(signs, group).reduce(signs, Extremes())
    assert way == "correlation"
    assert_allclose(largest, np.rint(largest), atol=2e-15 * size, rtol=0)
