"""Dirichlet energies of functions on tori and spheres, computed without any eigenvalue."""

import numpy as np

from invariance import spectral
from invariance.spectral import Sphere


def slopes(f, points, move, degree):
    """Derivatives of f at points along closed geodesics.

    `move(points, angle)` moves the points along their geodesics. Along a geodesic f is a
    trigonometric polynomial of at most this degree, so a weighted sum of values is exact.
    """
    size = 2 * degree + 1
    steps = np.arange(1, size)
    angles = 2 * np.pi * steps / size
    signs = (-1.0) ** steps
    weights = -0.5 * signs / np.sin(angles / 2)
    total = 0
    for weight, angle in zip(weights, angles, strict=True):
        images = move(points, angle)
        total = total + weight * f(images)
    return -total


def energy_on_torus(f, d, degree, period):
    """Mean of |grad f|^2 over a grid."""
    n_nodes = 4 * degree + 1
    axis = np.arange(n_nodes) * period / n_nodes
    axes = [axis] * d
    coordinates = np.meshgrid(*axes, indexing="ij")
    grid = np.stack(coordinates, axis=-1).reshape(-1, d)
    angle_per_length = 2 * np.pi / period
    total = 0.0
    for unit in np.eye(d):

        def move(X, angle, unit=unit):
            length = angle * period / (2 * np.pi)
            return X + length * unit

        derivatives = angle_per_length * slopes(f, grid, move, degree)
        total += np.mean(derivatives**2)
    return total


def energy_on_sphere(f, degree):
    """Mean of |grad f|^2 over the sphere in three dimensions, with Gauss nodes in height."""
    X, weights = _grid_on_sphere(degree)
    eastward = np.cross(X, [0.0, 0.0, 1.0])
    eastward /= np.linalg.norm(eastward, axis=1, keepdims=True)
    northward = np.cross(X, eastward)
    total = 0.0
    for tangent in (eastward, northward):

        def move(Y, angle, tangent=tangent):
            return np.cos(angle) * Y + np.sin(angle) * tangent

        derivatives = slopes(f, X, move, degree)
        total += weights @ derivatives**2
    return total


def _grid_on_sphere(degree):
    """Points and weights that integrate the square of a slope exactly."""
    n_angles = 4 * degree + 3
    n_heights = 2 * degree + 2
    angle = np.arange(n_angles) * 2 * np.pi / n_angles
    height, share = np.polynomial.legendre.leggauss(n_heights)
    radius = np.sqrt(1 - height**2)[:, None]
    x = radius * np.cos(angle)
    y = radius * np.sin(angle)
    z = height[:, None] + 0 * angle
    points = np.stack([x, y, z], axis=-1).reshape(-1, 3)
    weights = np.repeat(share / 2, n_angles) / n_angles
    return points, weights


def measured_energy(basis, coefficients, degree, period):
    """Dirichlet energy of an expansion, from values of the function alone."""
    expansion = spectral.Expansion(basis, coefficients)
    f = expansion.predict
    if isinstance(basis, Sphere):
        return energy_on_sphere(f, degree)
    return energy_on_torus(f, basis.n_features, degree, period)


def largest_from_there_on(values):
    """Largest of the values from each index to the end."""
    return np.maximum.accumulate(values[::-1])[::-1]
