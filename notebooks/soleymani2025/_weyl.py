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
    angles = 2 * np.pi * np.arange(1, size) / size
    weights = -0.5 * (-1.0) ** np.arange(1, size) / np.sin(angles / 2)
    total = 0
    for weight, angle in zip(weights, angles, strict=True):
        total = total + weight * f(move(points, angle))
    return -total


def energy_on_torus(f, d, degree, period):
    """Mean of |grad f|^2 over a grid."""
    n_nodes = 4 * degree + 1
    axis = np.arange(n_nodes) * period / n_nodes
    grid = np.stack(np.meshgrid(*[axis] * d, indexing="ij"), axis=-1).reshape(-1, d)
    total = 0.0
    for unit in np.eye(d):

        def move(X, angle, unit=unit):
            return X + angle * period / (2 * np.pi) * unit

        derivatives = 2 * np.pi / period * slopes(f, grid, move, degree)
        total += np.mean(derivatives**2)
    return total


def energy_on_sphere(f, degree):
    """Mean of |grad f|^2 over the sphere in three dimensions, with Gauss nodes in height."""
    n_turns = 4 * degree + 3
    height, share = np.polynomial.legendre.leggauss(2 * degree + 2)
    angle = np.arange(n_turns) * 2 * np.pi / n_turns
    radius = np.sqrt(1 - height**2)[:, None]
    coordinates = [radius * np.cos(angle), radius * np.sin(angle), height[:, None] + 0 * angle]
    X = np.stack(coordinates, axis=-1).reshape(-1, 3)
    weights = np.repeat(share / 2, n_turns) / n_turns
    eastward = np.cross(X, [0.0, 0.0, 1.0])
    eastward /= np.linalg.norm(eastward, axis=1, keepdims=True)
    northward = np.cross(X, eastward)
    total = 0.0
    for tangent in (eastward, northward):

        def move(Y, angle, tangent=tangent):
            return np.cos(angle) * Y + np.sin(angle) * tangent

        total += weights @ slopes(f, X, move, degree) ** 2
    return total


def measured_energy(basis, coefficients, degree, period):
    """Dirichlet energy of an expansion, from values of the function alone."""
    f = spectral.Expansion(basis, coefficients).predict
    if isinstance(basis, Sphere):
        return energy_on_sphere(f, degree)
    return energy_on_torus(f, basis.n_features, degree, period)


def largest_from_there_on(values):
    """Largest of the values from each index to the end."""
    return np.maximum.accumulate(values[::-1])[::-1]
