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
    return -position / (4 * np.linalg.norm(position, axis=1, keepdims=True) ** 3)


def next_position(position: Array, momentum: Array) -> Array:
    """Return the positions after `STEP`, by the velocity Verlet method, shape (n, 2)."""
    h = STEP / _N_STEPS
    for _ in range(_N_STEPS):
        halfway = momentum + h / 2 * acceleration(position)
        position = position + h * halfway
        momentum = halfway + h / 2 * acceleration(position)
    return position


def two_bodies(n: int, rng: Generator) -> tuple[Array, Array]:
    """Return positions, momenta and test vectors in the plane, and u . (the next position).

    Momenta are those of circular orbits with noise of 30 %: without it they would be functions of
    the positions.
    """
    radii = rng.uniform(*RADII, n)
    angles = rng.uniform(0, 2 * np.pi, n)
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    tangents = np.column_stack([-np.sin(angles), np.cos(angles)])
    speeds = 0.5 / np.sqrt(radii)[:, None]
    positions = radii[:, None] * directions
    momenta = speeds * (tangents + 0.3 * rng.standard_normal((n, 2)))
    tests = rng.standard_normal((n, 2))
    values = np.sum(tests * next_position(positions, momenta), axis=1)
    return np.stack([positions, momenta, tests], axis=1), values


def moment_of_inertia(n: int, rng: Generator) -> tuple[Array, Array]:
    """Return three points of space and an axis u, and u . I u for their moment of inertia I."""
    vectors = rng.standard_normal((n, 4, 3))
    across = np.cross(vectors[:, :3], vectors[:, 3:])
    return vectors, np.sum(across**2, axis=(1, 2))


def double_pendulum(n: int, rng: Generator) -> tuple[Array, Array]:
    """Return positions and momenta of two masses that hang on springs, and their energy."""
    first, between = rng.standard_normal((2, n, 3))
    momenta = rng.standard_normal((n, 2, 3))
    second = first + between
    stretched = np.column_stack([np.linalg.norm(first, axis=1), np.linalg.norm(between, axis=1)])
    energy = np.sum((stretched - 1) ** 2, axis=1) / 2
    energy += np.sum(momenta**2, axis=(1, 2)) / 2
    energy += first[:, 2] + second[:, 2]
    return np.concatenate([np.stack([first, second], axis=1), momenta], axis=1), energy


def invariant_mass(n: int, rng: Generator) -> tuple[Array, Array]:
    """Return the four-momenta of two particles of mass 1/2, and the logarithm of their mass."""
    momenta = rng.standard_normal((n, 2, 3))
    energies = np.sqrt(0.25 + np.sum(momenta**2, axis=2, keepdims=True))
    total = np.sum(np.concatenate([energies, momenta], axis=2), axis=1)
    squared_mass = total[:, 0] ** 2 - np.sum(total[:, 1:] ** 2, axis=1)
    return np.concatenate([energies, momenta], axis=2), np.log(squared_mass)


def two_vectors(n: int, rng: Generator) -> tuple[Array, Array]:
    """Return two vectors of five numbers, and a function of their lengths and angle."""
    vectors = rng.standard_normal((n, 2, 5))
    first, second = np.linalg.norm(vectors, axis=2).T
    cosines = np.sum(vectors[:, 0] * vectors[:, 1], axis=1) / (first * second)
    return vectors, np.sin(first) - second**3 / 2 + cosines


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


PLANE = rotations([1, 1])[:, :, :-1]
SPACE = rotations([1, 1, 1])[:, :, :-1]
LORENTZ = rotations([1, -1, -1, -1])[:, :, :-1]
FIVE = rotations([1, 1, 1, 1, 1])[:, :, :-1]

KNOWN_TASKS = {
    "two bodies, one step": KnownTask("LieGAN, LieSD", two_bodies, PLANE),
    "moment of inertia": KnownTask("LieSD", moment_of_inertia, SPACE),
    "mass of two particles": KnownTask("after top tagging", invariant_mass, LORENTZ),
    "double pendulum on springs": KnownTask("EMLP", double_pendulum, SPACE[:1]),
    "two vectors of five numbers": KnownTask("EMLP, LieGG", two_vectors, FIVE),
}


def draw_known(name: str, n: int, noise: float, seed: list[int]) -> tuple[Array, Array]:
    """Return points (n, k * m) and noisy values, with noise relative to the standard deviation."""
    rng = np.random.default_rng(seed)
    vectors, values = KNOWN_TASKS[name].sample(n, rng)
    values = (values - values.mean()) / values.std()
    return vectors.reshape(n, -1), values + noise * rng.standard_normal(n)


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
    products = slopes[:, :, :, None] * vectors[:, :, None, :]
    if one_matrix:
        products = products.sum(axis=1)
    m = vectors.shape[2]
    rows = products.reshape(n, -1)
    changes, fields = np.linalg.eigh(rows.T @ rows / n)
    return changes, fields.T.reshape(len(changes), -1, m)


def cosine_of_smallest(fields: Array, matrices: Array) -> float:
    """Return the cosine of the largest angle between as many first fields as matrices, and these."""
    return cosine(fields[: len(matrices)], matrices)
