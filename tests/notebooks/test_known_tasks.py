"""Tasks of other papers: their values by definition, and fields that several vectors share."""

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

sys.path.insert(0, str(Path(__file__).parents[2] / "notebooks/beyond"))
from _known_tasks import (
    KNOWN_TASKS,
    STEP,
    cosine_of_smallest,
    double_pendulum,
    draw_known,
    invariant_mass,
    moment_of_inertia,
    next_position,
    shared_fields,
    two_bodies,
)


def test_a_circular_orbit_turns_at_its_angular_speed():
    """Two bodies of mass 1 at distance 2 r: the speed v has v^2 / r = 1 / (2 r)^2."""
    radius = 2.0
    speed = np.sqrt(radius / (2 * radius) ** 2)
    moved = next_position(np.array([[radius, 0.0]]), np.array([[0.0, speed]]))
    angle = speed / radius * STEP
    assert_allclose(moved, [[radius * np.cos(angle), radius * np.sin(angle)]], atol=1e-6)


def test_a_step_of_two_bodies_is_equivariant():
    vectors, values = two_bodies(20, np.random.default_rng(0))
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    positions, momenta, tests = np.moveaxis(vectors @ turn.T, 1, 0)
    assert_allclose(np.sum(tests * next_position(positions, momenta), axis=1), values)


def test_the_moment_of_inertia_is_that_of_its_matrix():
    vectors, values = moment_of_inertia(5, np.random.default_rng(1))
    for (*points, axis), value in zip(vectors, values, strict=True):
        inertia = sum(r @ r * np.eye(3) - np.outer(r, r) for r in points)
        assert_allclose(axis @ inertia @ axis, value)


def test_the_energy_of_the_double_pendulum():
    vectors, values = double_pendulum(4, np.random.default_rng(2))
    for (first, second, p, q), value in zip(vectors, values, strict=True):
        springs = (np.linalg.norm(first) - 1) ** 2 + (np.linalg.norm(second - first) - 1) ** 2
        assert_allclose(springs / 2 + (p @ p + q @ q) / 2 + first[2] + second[2], value)


def test_two_particles_have_at_least_the_mass_of_both():
    vectors, values = invariant_mass(50, np.random.default_rng(3))
    squares = vectors**2
    assert_allclose(squares[:, :, 0] - squares[:, :, 1:].sum(axis=2), 0.25)
    assert values.min() >= 0.0


@pytest.mark.parametrize("name", KNOWN_TASKS)
def test_values_have_the_stated_size_and_noise(name):
    X, y = draw_known(name, 400, 0.0, [4, 0])
    again, noisy = draw_known(name, 400, 0.5, [4, 0])
    assert_allclose(X, again)
    assert_allclose([y.mean(), y.std()], [0, 1], atol=1e-12)
    assert 0.4 < (noisy - y).std() < 0.6
    assert X.shape[1] % KNOWN_TASKS[name].matrices.shape[1] == 0


def test_fields_shared_by_two_vectors_are_those_that_preserve_a_product():
    """The function <x, z> changes along no field A x, A z with a skew matrix A."""
    X = np.random.default_rng(5).standard_normal((60, 6))
    gradients = np.hstack([X[:, 3:], X[:, :3]])
    changes, fields = shared_fields(X, gradients, 2)
    skew = [KNOWN_TASKS["moment of inertia"].matrices[i] for i in range(3)]
    assert_allclose(changes[:3], 0, atol=1e-12)
    assert changes[3] > 0.1
    assert cosine_of_smallest(fields, np.array(skew)) == pytest.approx(1)


def test_a_matrix_for_each_vector_leaves_more_freedom():
    """For <x, z> there is also A x with -A^T z, for any A."""
    X = np.random.default_rng(6).standard_normal((60, 6))
    gradients = np.hstack([X[:, 3:], X[:, :3]])
    changes, fields = shared_fields(X, gradients, 2, one_matrix=False)
    assert fields.shape == (18, 6, 3)
    assert_allclose(changes[:9], 0, atol=1e-12)
    assert changes[9] > 1e-3
    assert_allclose(fields[:9, :3], -fields[:9, 3:].swapaxes(1, 2), atol=1e-10)
