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
        matrix = np.zeros((d, d + 1))
        matrix[i, j] = 1
        matrix[j, i] = -signs[i] * signs[j]
        generators.append(matrix)
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
    scale = np.sqrt(2 * len(signs))
    return lambda X: X**2 @ np.array(signs, dtype=float)[:, None] / scale


def around_axis(X: Array) -> Array:
    """Return the squared distance from the last axis of space, and the position along it."""
    return np.column_stack([(X[:, :2] ** 2).sum(axis=1) / 2, X[:, 2]])


TASKS = {
    "so(3)": Task(3, sum_of_squares([1, 1, 1]), rotations([1, 1, 1])),
    "so(4)": Task(4, sum_of_squares([1, 1, 1, 1]), rotations([1, 1, 1, 1])),
    "so(1,3)": Task(4, sum_of_squares([1, -1, -1, -1]), rotations([1, -1, -1, -1])),
    "one rotation": Task(3, around_axis, rotations([1, 1, 1])[:1]),
    "a translation": Task(3, lambda X: 1.5 * X[:, :2], along_axis(3), affine=True),
    "a scaling": Task(3, lambda X: 2 * X / np.linalg.norm(X, axis=1, keepdims=True), scaling(3)),
}


def random_waves(
    values: Array, n_waves: int, frequencies: tuple[float, float], rng: Generator
) -> Array:
    """Return sums of waves with random directions, phases and amplitudes, shape (n,)."""
    k = values.shape[1]
    directions = rng.standard_normal((k, n_waves))
    directions /= np.linalg.norm(directions, axis=0)
    rates = rng.uniform(*frequencies, n_waves)
    phases = rng.uniform(0, 2 * np.pi, n_waves)
    return np.sin(values @ directions * rates + phases) @ rng.standard_normal(n_waves)


def cubic(X: Array, rng: Generator) -> Array:
    """Return a random polynomial of degree three with all its terms of equal mean size."""
    n, d = X.shape
    linear = X @ rng.standard_normal(d)
    squares = np.einsum("ni,nj->nij", X, X).reshape(n, -1)
    cubes = np.einsum("ni,nj->nij", squares, X).reshape(n, -1)
    total = linear / linear.std()
    for terms in (squares, cubes):
        values = terms @ rng.standard_normal(terms.shape[1])
        total += values / values.std()
    return total


def additive(X: Array, rng: Generator) -> Array:
    """Return a sum of waves of single coordinates, with amplitudes between 0.3 and 1."""
    d = X.shape[1]
    rates = rng.uniform(0.5, 2.5, d)
    phases = rng.uniform(0, 2 * np.pi, d)
    return np.sin(X * rates + phases) @ rng.uniform(0.3, 1, d)


#: Functions without symmetry, of points (n, 3).
WITHOUT = {
    "100 waves": lambda X, rng: random_waves(X, 100, (0.3, 2.5), rng),
    "cubic polynomial": cubic,
    "sum over coordinates": additive,
    "five waves": lambda X, rng: random_waves(X, 5, (0.5, 2.0), rng),
    "noise alone": lambda X, rng: np.zeros(len(X)),
}


def draw(name: str, n: int, noise: float, seed: list[int]) -> tuple[Array, Array, Array]:
    """Return points, noisy values of a random function, and its planted fields.

    Points are normal, for the scaling in a shell of radii 1 to 2. Coordinates of planted functions are turned by a random rotation.
    """
    rng = np.random.default_rng(seed)
    if name in WITHOUT:
        X = rng.standard_normal((n, 3))
        values = WITHOUT[name](X, rng)
        fields = np.zeros((0, 3, 4))
    else:
        task = TASKS[name]
        X = rng.standard_normal((n, task.d))
        if name == "a scaling":  # Functions of the direction have no limit at the origin.
            X *= (rng.uniform(1, 2, n) / np.linalg.norm(X, axis=1))[:, None]
        turn = stats.ortho_group.rvs(task.d, random_state=rng)
        values = random_waves(task.invariants(X @ turn), 4, (0.5, 1.5), rng)
        # In the new coordinates x = turn u the field A u + b is turn (A turn^T x + b).
        back = np.eye(task.d + 1)
        back[: task.d, : task.d] = turn.T
        fields = turn @ task.fields @ back
    spread = values.std() or 1.0
    return X, values / spread + noise * rng.standard_normal(n), fields


def cosine(first: Array, second: Array) -> float:
    """Return the cosine of the largest angle between two spans of fields of equal dimension."""
    bases = [np.linalg.qr(fields.reshape(len(fields), -1).T)[0] for fields in (first, second)]
    return float(np.linalg.svd(bases[0].T @ bases[1], compute_uv=False).min())
