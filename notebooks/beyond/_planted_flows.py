"""Functions with planted continuous symmetries, and without: `draw`, `cosine`."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Array = NDArray[np.float64]
Generator = np.random.Generator


def rotations(signs: list[int]) -> Array:
    """Return the generators of the linear maps that preserve a sum of squares with these signs."""
    d = len(signs)
    generators = []
    for i, j in combinations(range(d), 2):
        field = np.zeros((d, d + 1))
        field[i, j] = 1
        field[j, i] = -signs[i] * signs[j]
        generators.append(field)
    return np.array(generators)


def along_axis(d: int) -> Array:
    """Return the affine fields along the last axis, which are d + 1."""
    fields = np.zeros((d + 1, d, d + 1))
    for column in range(d + 1):
        fields[column, -1, column] = 1
    return fields


def scaling(d: int) -> Array:
    """Return the field x."""
    return np.eye(d, d + 1)[None]


@dataclass(frozen=True)
class Task:
    """A family of functions of d numbers.

    Attributes
    ----------
    invariants : callable
        From points (n, d) to numbers (n, k) of which the functions are functions.
    fields : ndarray of shape (m, d, d + 1)
        The planted generators (A, b).
    affine : bool
        Whether affine fields are searched.
    """

    d: int
    invariants: Callable[[Array], Array]
    fields: Array
    affine: bool = False


def sum_of_squares(signs: list[int]) -> Callable[[Array], Array]:
    """Return the function sum_i signs_i x_i^2, of standard deviation one at normal points."""
    column = np.array(signs, dtype=float)[:, None]
    scale = np.sqrt(2 * len(signs))

    def signed_sum(X: Array) -> Array:
        return X**2 @ column / scale

    return signed_sum


def around_axis(X: Array) -> Array:
    """Return half the squared distance from the last axis of space, and the position along it."""
    squares = X[:, :2] ** 2
    half_squared_distances = squares.sum(axis=1) / 2
    heights = X[:, 2]
    return np.column_stack([half_squared_distances, heights])


def first_two(X: Array) -> Array:
    """Return the first two coordinates, times 1.5."""
    return 1.5 * X[:, :2]


def direction(X: Array) -> Array:
    """Return the points divided by their norms, times two."""
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return 2 * X / norms


TASKS = {
    "so(3)": Task(3, sum_of_squares([1, 1, 1]), rotations([1, 1, 1])),
    "so(4)": Task(4, sum_of_squares([1, 1, 1, 1]), rotations([1, 1, 1, 1])),
    "so(1,3)": Task(4, sum_of_squares([1, -1, -1, -1]), rotations([1, -1, -1, -1])),
    "one rotation": Task(3, around_axis, rotations([1, 1, 1])[:1]),
    "a translation": Task(3, first_two, along_axis(3), affine=True),
    "a scaling": Task(3, direction, scaling(3)),
}


def random_waves(
    values: Array, n_waves: int, frequencies: tuple[float, float], rng: Generator
) -> Array:
    """Return sums of waves with random directions, phases and amplitudes, shape (n,)."""
    k = values.shape[1]
    directions = rng.standard_normal((k, n_waves))
    directions /= np.linalg.norm(directions, axis=0)
    lowest, highest = frequencies
    rates = rng.uniform(lowest, highest, n_waves)
    phases = rng.uniform(0, 2 * np.pi, n_waves)
    amplitudes = rng.standard_normal(n_waves)
    projections = values @ directions
    waves = np.sin(projections * rates + phases)
    return waves @ amplitudes


def cubic(X: Array, rng: Generator) -> Array:
    """Return a random polynomial of degree three with all its terms of equal mean size."""
    squares = _products(X, X)
    cubes = _products(squares, X)
    total = np.zeros(len(X))
    for terms in (X, squares, cubes):
        n_terms = terms.shape[1]
        coefficients = rng.standard_normal(n_terms)
        values = terms @ coefficients
        total += values / values.std()
    return total


def _products(first: Array, second: Array) -> Array:
    """Return the products of every column of the first array with every column of the second."""
    products = np.einsum("ni,nj->nij", first, second)
    return products.reshape(len(first), -1)


def additive(X: Array, rng: Generator) -> Array:
    """Return a sum of waves of single coordinates, with amplitudes between 0.3 and 1."""
    d = X.shape[1]
    rates = rng.uniform(0.5, 2.5, d)
    phases = rng.uniform(0, 2 * np.pi, d)
    amplitudes = rng.uniform(0.3, 1, d)
    waves = np.sin(X * rates + phases)
    return waves @ amplitudes


def many_waves(X: Array, rng: Generator) -> Array:
    """Return a sum of 100 waves."""
    return random_waves(X, 100, (0.3, 2.5), rng)


def five_waves(X: Array, rng: Generator) -> Array:
    """Return a sum of five waves."""
    return random_waves(X, 5, (0.5, 2.0), rng)


def zero(X: Array, rng: Generator) -> Array:
    """Return zeros."""
    return np.zeros(len(X))


#: Functions without symmetry, of points (n, 3).
WITHOUT = {
    "100 waves": many_waves,
    "cubic polynomial": cubic,
    "sum over coordinates": additive,
    "five waves": five_waves,
    "noise alone": zero,
}


def draw(name: str, n: int, noise: float, seed: list[int]) -> tuple[Array, Array, Array]:
    """Return points, noisy values of a random function, and its planted fields.

    Points are normal, for the scaling in a shell of radii 1 to 2. Coordinates of planted functions
    are turned by a random rotation.
    """
    rng = np.random.default_rng(seed)
    if name in WITHOUT:
        X = rng.standard_normal((n, 3))
        function = WITHOUT[name]
        values = function(X, rng)
        fields = np.zeros((0, 3, 4))
    else:
        task = TASKS[name]
        X = rng.standard_normal((n, task.d))
        if name == "a scaling":  # Functions of the direction have no limit at the origin.
            X = _in_shell(X, rng)
        turn = stats.ortho_group.rvs(task.d, random_state=rng)
        invariants = task.invariants(X @ turn)
        values = random_waves(invariants, 4, (0.5, 1.5), rng)
        fields = _turned(task.fields, turn)
    spread = values.std()
    if spread > 0:
        values = values / spread
    errors = rng.standard_normal(n)
    return X, values + noise * errors, fields


def _in_shell(X: Array, rng: Generator) -> Array:
    """Return the points moved along their rays to random radii between 1 and 2."""
    radii = rng.uniform(1, 2, len(X))
    factors = radii / np.linalg.norm(X, axis=1)
    return X * factors[:, None]


def _turned(fields: Array, turn: Array) -> Array:
    """Return the fields A u + b in the coordinates x = turn u: turn (A turn^T x + b)."""
    d = len(turn)
    back = np.eye(d + 1)
    back[:d, :d] = turn.T
    return turn @ fields @ back


def cosine(first: Array, second: Array) -> float:
    """Return the cosine of the largest angle between two spans of fields of equal dimension."""
    cosines = np.linalg.svd(_basis(first).T @ _basis(second), compute_uv=False)
    return float(cosines.min())


def _basis(fields: Array) -> Array:
    """Return an orthonormal basis of the span of fields, as columns."""
    columns = fields.reshape(len(fields), -1).T
    basis, _ = np.linalg.qr(columns)
    return basis
