"""Distances of samples from a machine's boundary, for the notebook `margins`."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from sklearn.svm import SVC

from invariance.groups import CyclicShifts
from invariance.kernels import BestFit, Kernel, Linear

N_RADII = 200  # circles around a point on which a change of sign is looked for
RING_BLOCK = 20  # circles at a time


def linear_margin(machine: SVC, points: NDArray) -> float:
    """Return the least |f| / |gradient of f| at the points, for f linear on either side."""
    f = machine.decision_function
    step = 1e-4 * np.eye(2)
    distances = []
    for point in points:
        gradient = (f(point + step) - f(point - step)) / 2e-4
        distances.append(abs(f([point])[0]) / np.linalg.norm(gradient))
    return min(distances)


def walked_margin(machine: SVC, points: NDArray) -> float:
    """Return the least distance of the points from points of the boundary.

    The boundary crosses every line x - y = const once: all lines are bisected at the same time.
    """
    f = machine.decision_function
    along = np.linspace(-6, 6, 2401)
    low = np.stack([-along, along], axis=1) / 2
    high = np.stack([10 - along, 10 + along], axis=1) / 2
    for _ in range(60):
        middle = (low + high) / 2
        below = (f(middle) < 0)[:, None]
        low = np.where(below, middle, low)
        high = np.where(below, high, middle)
    return np.linalg.norm(points[:, None] - low, axis=2).min()


def two_point_machine(gram: NDArray) -> tuple[float, float]:
    """Return a and b of f = a (K(., x_2) - K(., x_1)) + b, from the Gram matrix of x_1 and x_2."""
    (low, both), (_, high) = gram
    a = 2 / (low + high - 2 * both)
    return a, a * (low - high) / 2


def distance_to_boundary(
    f: Callable[[NDArray], NDArray], point: NDArray, farthest: float, compass: NDArray
) -> float:
    """Return the distance from a point in the plane to the nearest change of sign of f.

    `compass` holds unit vectors: the directions in which the boundary is looked for, no farther
    than to the first circle that it crosses.
    """
    sign = np.sign(f(point[None])[0])
    radii = np.linspace(0, farthest, N_RADII + 1)[1:]
    for block in radii.reshape(-1, RING_BLOCK):
        points = point + block[:, None, None] * compass
        crossed = (sign * f(points.reshape(-1, 2)) <= 0).reshape(RING_BLOCK, len(compass))
        if crossed.any():
            break
    ring = crossed.any(axis=1).argmax()
    directions = compass[crossed[ring]]
    low = np.repeat(block[ring] - radii[0], len(directions))
    high = np.repeat(block[ring], len(directions))
    for _ in range(25):
        middle = (low + high) / 2
        beyond = sign * f(point + middle[:, None] * directions) <= 0
        low = np.where(beyond, low, middle)
        high = np.where(beyond, middle, high)
    return high.min()


def two_point_margin(kernel: Kernel, x: NDArray, compass: NDArray) -> float:
    """Return the least distance of two samples to the boundary of their machine.

    The boundary crosses the segment between the samples, which limits the search.
    """
    a, b = two_point_machine(kernel(x))
    farthest = 1.001 * np.linalg.norm(x[1] - x[0])

    def decision(points: NDArray) -> NDArray:
        return a * (kernel(points, x) @ [-1, 1]) + b

    return min(distance_to_boundary(decision, point, farthest, compass) for point in x)


def distance_to_polyhedron(point: NDArray, A: NDArray, c: NDArray) -> float:
    """Return the distance of a point to {x: A x <= c}, or infinity if that set is empty.

    By Lawson and Hanson's least distance programming.
    """
    E = np.vstack([-A.T, A @ point - c])
    last = np.eye(len(E))[-1]
    y, residual = nnls(E, last)
    if residual < 1e-9:
        return np.inf
    r = E @ y - last
    return np.linalg.norm(r[:-1] / r[-1])


def linear_best_fit_margin(x: NDArray, shifts: CyclicShifts) -> float:
    """Return the least distance of two samples to the boundary of the linear best-fit machine."""
    m = x.shape[1]
    a, b = two_point_machine(BestFit(Linear(), shifts)(x) / m)
    orbits = shifts.act(shifts.elements(), x).swapaxes(0, 1)
    first, second = a * orbits / m
    to_first = min(distance_to_polyhedron(x[1], second - row, np.full(m, -b)) for row in first)
    to_second = min(distance_to_polyhedron(x[0], first - row, np.full(m, b)) for row in second)
    return min(to_first, to_second)
