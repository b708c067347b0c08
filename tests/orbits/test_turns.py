"""Quarter turns by characters of the group of order four, against turning the images."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from invariance.groups import Rotations, Translations
from invariance.kernels import BestFit, Gaussian, Linear, Locality, Polynomial
from invariance.orbits import Extremes, Form, OrbitProducts
from invariance.orbits.product import QuarterTurns


def problem_of(base, shape):
    points = np.ones((1, int(np.prod(shape))))
    group = Rotations(shape, degrees=[0, 90, 180, 270])
    _, problem, _ = OrbitProducts(points, group, base=base)._plan(points, points, Extremes())
    return problem.form, problem


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
    lift, problem = problem_of(base, shape)
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((3, *shape)), rng.standard_normal((4, *shape))
    x[:, 0] = 0
    every = [
        lift.first(x).reshape(3, -1) @ lift.second(np.rot90(y, turn, axes=(1, 2))).reshape(4, -1).T
        for turn in range(4)
    ]
    support = lift.first(np.abs(x).max(axis=0, keepdims=True)).ravel() != 0
    for known in (None, support):
        turns = QuarterTurns(problem)
        turns = turns if known is None else turns.within(known)
        values = turns.values(turns.first(x.reshape(3, -1)), turns.second(y.reshape(4, -1)))
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
    problem = replace(problem_of(Linear(), (3, 3, 1))[1], form=columns)
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
