"""Atom permutations of Coulomb matrices and the sorted-noise density."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from invariance import groups as G


def molecules(n, atoms, seed=0):
    """Symmetric matrices with positive, distinct row norms, like Coulomb matrices."""
    C = np.random.default_rng(seed).uniform(0.1, 5, (n, atoms, atoms))
    return C + C.swapaxes(1, 2)


def test_permutations_act_on_matrices_by_conjugation():
    C = molecules(3, 4)
    group = G.AtomPermutations(4)
    for element in group.sample(6, 0):
        P = np.zeros((4, 4))
        P[np.arange(4), element - 1] = 1
        expected = P @ C @ P.T
        assert_allclose(group.act(element[None], C)[0], expected)
        assert_allclose(group.act(element[None], C.reshape(3, -1))[0], expected.reshape(3, -1))


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 6), st.integers(0, 10**6))
def test_sorted_matrices_and_eigenvalues_do_not_depend_on_the_numbering(atoms, seed):
    C = molecules(2, atoms, seed)
    group = G.AtomPermutations(atoms)
    for transformed in group.act(group.sample(3, seed), C):
        assert_allclose(G.sort_coulomb(transformed), G.sort_coulomb(C))
        assert_allclose(G.coulomb_eigenvalues(transformed), G.coulomb_eigenvalues(C), atol=1e-9)


def test_sorted_matrices_have_decreasing_row_norms():
    norms = np.linalg.norm(G.sort_coulomb(molecules(10, 7)), axis=2)
    assert np.all(np.diff(norms, axis=1) <= 0)
    values = np.abs(G.coulomb_eigenvalues(molecules(10, 7)))
    assert np.all(np.diff(values, axis=1) <= 1e-12)


@pytest.mark.parametrize(
    ("unit", "dtype"), [(1e-200, float), (1e200, float), (1e-25, np.float32), (1e20, np.float32)]
)
def test_matrices_are_sorted_in_units_whose_squares_overflow_or_vanish(unit, dtype):
    C = molecules(3, 4).astype(dtype)
    scaled = (unit * molecules(3, 4)).astype(dtype)
    expected = G.sort_coulomb(C)
    assert_allclose(G.sort_coulomb(scaled) / dtype(unit), expected, rtol=1e-6)
    noise = np.array([[0.0, 1.0, -2.0, 0.5]])
    density = G.SortedNoise(4)
    noisy = density.act(noise * unit, scaled) / dtype(unit)
    assert_allclose(noisy, density.act(noise, C), rtol=1e-6)


def test_triangles_preserve_inner_products():
    C = molecules(6, 5)
    flat = C.reshape(6, -1)
    half = G.coulomb_triangle(C)
    assert half.shape == (6, 15)
    assert_allclose(half @ half.T, flat @ flat.T)


def test_no_noise_is_sorting_and_much_noise_is_uniform():
    C = molecules(3, 3)
    density = G.SortedNoise(3, noise=0.0)
    assert_allclose(density.act(density.sample(1, 0), C)[0], G.sort_coulomb(C))
    wild = G.SortedNoise(3, noise=1e6)
    transformed = wild.act(wild.sample(6000, 0), C)[:, 0]
    for order in permutations(range(3)):
        image = G.sort_coulomb(C)[0][np.ix_(order, order)]
        share = np.mean(np.abs(transformed - image).max(axis=(1, 2)) < 1e-9)
        assert abs(share - 1 / 6) < 4.5 * np.sqrt(5 / 36 / 6000)


def test_two_atoms_are_exchanged_with_the_probability_of_noisy_sorting():
    """Two atoms are exchanged with probability P(N(0, 2 s^2) > gap)."""
    from scipy.stats import norm

    C = np.array([[[4.0, 1.0], [1.0, 3.0]]])
    gap = np.linalg.norm(C[0, 0]) - np.linalg.norm(C[0, 1])
    density = G.SortedNoise(2, noise=0.8)
    transformed = density.act(density.sample(20_000, 1), C)[:, 0]
    swapped = np.mean(transformed[:, 0, 0] == 3.0)
    expected = norm.sf(gap / (0.8 * np.sqrt(2)))
    assert abs(swapped - expected) < 4.5 * np.sqrt(expected * (1 - expected) / 20_000)


def test_every_numbering_of_a_molecule_has_the_same_distribution():
    C = molecules(4, 5)
    density = G.SortedNoise(5, noise=2.0)
    elements = density.sample(7, 0)
    group = G.AtomPermutations(5)
    for transformed in group.act(group.sample(4, 1), C):
        assert_allclose(density.act(elements, transformed), density.act(elements, C))


def test_the_action_on_triangles_agrees_with_the_action_on_matrices():
    C = molecules(4, 5)
    full = G.SortedNoise(5, 2.0)
    half = G.SortedNoise(5, 2.0, triangle=True)
    elements = full.sample(3, 0)
    assert_array_equal(elements, half.sample(3, 0))
    expected = G.coulomb_triangle(full.act(elements, C).reshape(-1, 5, 5)).reshape(3, 4, -1)
    assert_allclose(half.act(elements, C), expected)
    assert_allclose(half.act(elements, C.reshape(4, -1)), expected)
