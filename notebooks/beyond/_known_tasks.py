"""Tasks of papers that discover symmetries by networks: `draw`, `shared_fields`.

All points consist of several vectors, and a group moves all vectors by the same matrix.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from _planted_flows import cosine, rotations
from numpy.typing import NDArray

Array = NDArray[np.float64]
Generator = np.random.Generator

#: Step between two states, and the range of radii, as in the data of LieGAN.
STEP = 0.4
RADII = (1.5, 3.0)
_N_STEPS = 100  # of the integrator


def acceleration(position: Array) -> Array:
    """Return the acceleration of one of two equal bodies around their centre, shape (n, 2)."""
    radius = np.linalg.norm(position, axis=1, keepdims=True)
    return -position / (4 * radius**3)


def next_position(position: Array, momentum: Array) -> Array:
    """Return the positions after `STEP`, by the velocity Verlet method, shape (n, 2)."""
    step = STEP / _N_STEPS
    half_step = step / 2
    for _ in range(_N_STEPS):
        halfway = momentum + half_step * acceleration(position)
        position = position + step * halfway
        momentum = halfway + half_step * acceleration(position)
    return position


def two_bodies(n: int, rng: Generator) -> tuple[Array, Array]:
    """Return positions, momenta and test vectors in the plane, and u . (the next position).

    Momenta are those of circular orbits with noise of 30 %: without it they would be functions of
    the positions.
    """
    radii = rng.uniform(*RADII, n)
    angles = rng.uniform(0, 2 * np.pi, n)
    cosines = np.cos(angles)
    sines = np.sin(angles)
    directions = np.column_stack([cosines, sines])
    tangents = np.column_stack([-sines, cosines])
    positions = radii[:, None] * directions
    speeds = 0.5 / np.sqrt(radii)
    noise = rng.standard_normal((n, 2))
    momenta = speeds[:, None] * (tangents + 0.3 * noise)
    tests = rng.standard_normal((n, 2))
    next_positions = next_position(positions, momenta)
    values = np.sum(tests * next_positions, axis=1)
    vectors = np.stack([positions, momenta, tests], axis=1)
    return vectors, values


def moment_of_inertia(n: int, rng: Generator) -> tuple[Array, Array]:
    """Return three points of space and an axis u, and u . I u for their moment of inertia I."""
    vectors = rng.standard_normal((n, 4, 3))
    points = vectors[:, :3]
    axis = vectors[:, 3:]
    products = np.cross(points, axis)
    values = np.sum(products**2, axis=(1, 2))
    return vectors, values


def double_pendulum(n: int, rng: Generator) -> tuple[Array, Array]:
    """Return positions and momenta of two masses that hang on springs, and their energy."""
    springs = rng.standard_normal((2, n, 3))
    momenta = rng.standard_normal((n, 2, 3))
    first, between = springs
    second = first + between
    positions = np.stack([first, second], axis=1)
    lengths = np.linalg.norm(springs, axis=2)
    elastic = np.sum((lengths - 1) ** 2, axis=0) / 2
    kinetic = np.sum(momenta**2, axis=(1, 2)) / 2
    height = first[:, 2] + second[:, 2]
    energy = elastic + kinetic + height
    vectors = np.concatenate([positions, momenta], axis=1)
    return vectors, energy


def invariant_mass(n: int, rng: Generator) -> tuple[Array, Array]:
    """Return the four-momenta of two particles of mass 1/2, and the logarithm of their mass."""
    momenta = rng.standard_normal((n, 2, 3))
    squared_momenta = np.sum(momenta**2, axis=2, keepdims=True)
    energies = np.sqrt(0.25 + squared_momenta)
    vectors = np.concatenate([energies, momenta], axis=2)
    total = np.sum(vectors, axis=1)
    total_energy = total[:, 0]
    total_momentum = total[:, 1:]
    squared_mass = total_energy**2 - np.sum(total_momentum**2, axis=1)
    return vectors, np.log(squared_mass)


def two_vectors(n: int, rng: Generator) -> tuple[Array, Array]:
    """Return two vectors of five numbers, and a function of their lengths and angle."""
    vectors = rng.standard_normal((n, 2, 5))
    first_length, second_length = np.linalg.norm(vectors, axis=2).T
    products = np.sum(vectors[:, 0] * vectors[:, 1], axis=1)
    cosines = products / (first_length * second_length)
    values = np.sin(first_length) - second_length**3 / 2 + cosines
    return vectors, values


@dataclass(frozen=True)
class KnownTask:
    """A task with its source and its symmetry.

    Attributes
    ----------
    sample : callable
        From (n, rng) to vectors (n, k, m) and values (n,).
    matrices : ndarray of shape (g, m, m)
        Generators, which act on all k vectors.
    """

    source: str
    sample: Callable[[int, Generator], tuple[Array, Array]]
    matrices: Array


def _matrices(signs: list[int]) -> Array:
    """Return the generators of `rotations` without their shifts, which are zero."""
    fields = rotations(signs)
    return fields[:, :, :-1]


PLANE = _matrices([1, 1])
SPACE = _matrices([1, 1, 1])
LORENTZ = _matrices([1, -1, -1, -1])
FIVE = _matrices([1, 1, 1, 1, 1])
ABOUT_ONE_AXIS = SPACE[:1]

KNOWN_TASKS = {
    "two bodies, one step": KnownTask("LieGAN, LieSD", two_bodies, PLANE),
    "moment of inertia": KnownTask("LieSD", moment_of_inertia, SPACE),
    "mass of two particles": KnownTask("after top tagging", invariant_mass, LORENTZ),
    "double pendulum on springs": KnownTask("EMLP", double_pendulum, ABOUT_ONE_AXIS),
    "two vectors of five numbers": KnownTask("EMLP, LieGG", two_vectors, FIVE),
}


def draw_known(name: str, n: int, noise: float, seed: list[int]) -> tuple[Array, Array]:
    """Return points (n, k * m) and noisy values, with noise relative to the standard deviation."""
    rng = np.random.default_rng(seed)
    task = KNOWN_TASKS[name]
    vectors, values = task.sample(n, rng)
    points = vectors.reshape(n, -1)
    standardised = (values - values.mean()) / values.std()
    errors = rng.standard_normal(n)
    return points, standardised + noise * errors


def shared_fields(
    points: Array, gradients: Array, n_vectors: int, *, one_matrix: bool = True
) -> tuple[Array, Array]:
    r"""Return mean squared slopes, ascending, and the matrices of fields along which they occur.

    All vectors of a point move by the same matrix A, and the mean of
    :math:`(\sum_j \nabla_j f(x) \cdot A x_j)^2` is a quadratic form of A.

    Parameters
    ----------
    points, gradients : ndarray of shape (n, k * m)
    n_vectors : int
        The number k.
    one_matrix : bool
        False gives each vector a matrix of its own.

    Returns
    -------
    ndarray of shape (m * m,) or (k * m * m,)
    ndarray of shape (m * m, m, m) or (k * m * m, k * m, m)
        Matrices of several vectors are stacked.
    """
    n = len(points)
    vectors = points.reshape(n, n_vectors, -1)
    slopes = gradients.reshape(n, n_vectors, -1)
    # The slope along A x is the sum of the entries of A times these products.
    products = slopes[:, :, :, None] * vectors[:, :, None, :]
    if one_matrix:
        products = products.sum(axis=1)
    rows = products.reshape(n, -1)
    quadratic_form = rows.T @ rows / n
    changes, eigenvectors = np.linalg.eigh(quadratic_form)
    m = vectors.shape[2]
    fields = eigenvectors.T.reshape(len(changes), -1, m)
    return changes, fields


def cosine_of_smallest(fields: Array, matrices: Array) -> float:
    """Return the cosine of the largest angle between as many first fields as matrices, and these."""
    smallest = fields[: len(matrices)]
    return cosine(smallest, matrices)
