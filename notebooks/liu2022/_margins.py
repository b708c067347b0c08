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
    steps = 1e-4 * np.eye(2)
    distances = []
    for point in points:
        value = f([point])[0]
        ahead = f(point + steps)
        behind = f(point - steps)
        gradient = (ahead - behind) / 2e-4
        distances.append(abs(value) / np.linalg.norm(gradient))
    return min(distances)


def walked_margin(machine: SVC, points: NDArray) -> float:
    """Return the least distance of the points from points of the boundary.

    The boundary crosses every line x - y = const once: all lines are bisected at the same time.
    """
    f = machine.decision_function
    differences = np.linspace(-6, 6, 2401)
    low = np.stack([-differences, differences], axis=1) / 2
    high = np.stack([10 - differences, 10 + differences], axis=1) / 2
    for _ in range(60):
        middle = (low + high) / 2
        is_below = f(middle) < 0
        low = np.where(is_below[:, None], middle, low)
        high = np.where(is_below[:, None], high, middle)
    to_boundary = points[:, None] - low
    distances = np.linalg.norm(to_boundary, axis=2)
    return distances.min()


def two_point_machine(gram: NDArray) -> tuple[float, float]:
    """Return a and b of f = a (K(., x_2) - K(., x_1)) + b, from the Gram matrix of x_1 and x_2."""
    first_square = gram[0, 0]
    second_square = gram[1, 1]
    product = gram[0, 1]
    squared_distance = first_square + second_square - 2 * product
    a = 2 / squared_distance
    b = a * (first_square - second_square) / 2
    return a, b


def distance_to_boundary(
    f: Callable[[NDArray], NDArray], point: NDArray, farthest: float, compass: NDArray
) -> float:
    """Return the distance from a point in the plane to the nearest change of sign of f.

    `compass` holds unit vectors: the directions in which the boundary is looked for, no farther
    than to the first circle that it crosses.
    """
    value = f(point[None])[0]
    sign = np.sign(value)

    def is_across(points: NDArray) -> NDArray:
        return sign * f(points) <= 0

    radii = np.linspace(0, farthest, N_RADII + 1)[1:]
    for block in radii.reshape(-1, RING_BLOCK):
        rings = point + block[:, None, None] * compass
        crossed = is_across(rings.reshape(-1, 2))
        crossed = crossed.reshape(RING_BLOCK, len(compass))
        if crossed.any():
            break
    first_ring = crossed.any(axis=1).argmax()
    radius = block[first_ring]
    directions = compass[crossed[first_ring]]
    low = np.full(len(directions), radius - radii[0])
    high = np.full(len(directions), radius)
    for _ in range(25):
        middle = (low + high) / 2
        points = point + middle[:, None] * directions
        is_beyond = is_across(points)
        low = np.where(is_beyond, low, middle)
        high = np.where(is_beyond, middle, high)
    return high.min()


def two_point_margin(kernel: Kernel, x: NDArray, compass: NDArray) -> float:
    """Return the least distance of two samples to the boundary of their machine.

    The boundary crosses the segment between the samples, which limits the search.
    """
    gram = kernel(x)
    a, b = two_point_machine(gram)

    def decision(points: NDArray) -> NDArray:
        difference = kernel(points, x) @ [-1, 1]
        return a * difference + b

    first, second = x
    farthest = 1.001 * np.linalg.norm(second - first)
    from_first = distance_to_boundary(decision, first, farthest, compass)
    from_second = distance_to_boundary(decision, second, farthest, compass)
    return min(from_first, from_second)


def distance_to_polyhedron(point: NDArray, A: NDArray, c: NDArray) -> float:
    """Return the distance of a point to {x: A x <= c}, or infinity if that set is empty.

    The method is Lawson and Hanson's least distance programming.
    """
    excess = A @ point - c
    E = np.vstack([-A.T, excess])
    last = np.zeros(len(E))
    last[-1] = 1
    y, residual = nnls(E, last)
    if residual < 1e-9:
        return np.inf
    r = E @ y - last
    to_nearest = r[:-1] / r[-1]
    return np.linalg.norm(to_nearest)


def linear_best_fit_margin(x: NDArray, shifts: CyclicShifts) -> float:
    """Return the least distance of two samples to the boundary of the linear best-fit machine."""
    m = x.shape[1]
    kernel = BestFit(Linear(), shifts)
    gram = kernel(x) / m
    a, b = two_point_machine(gram)
    orbits = shifts.act(shifts.elements(), x).swapaxes(0, 1)
    first_orbit, second_orbit = a * orbits / m
    first, second = x
    distances = []
    for image in first_orbit:  # f <= 0 on the union of these polyhedra
        distance = distance_to_polyhedron(second, second_orbit - image, np.full(m, -b))
        distances.append(distance)
    for image in second_orbit:  # f >= 0
        distance = distance_to_polyhedron(first, first_orbit - image, np.full(m, b))
        distances.append(distance)
    return min(distances)
