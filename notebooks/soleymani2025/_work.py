"""Pieces of work whose instructions are counted, one function per quantity that grows.

This file is run as a program of its own, under valgrind. The notebook appends its values of `SEED`,
`DEGREE` and `rng`. `prepare` returns the work at a size; only the work itself is counted.
"""

import numpy as np

from invariance import groups, spectral
from invariance.kernels import Average

SEED = 0
DEGREE = 12  # of the sphere's basis under dihedral groups
PERIOD = 2 * np.pi
rng = np.random.default_rng(SEED)


def fit(n):
    """Fit at the theorem's cutoff on the circle, s = 0.75, to n samples."""
    X = spectral.Circle().sample(n, SEED + 1)
    half_turn = groups.TorusTranslations([2], period=PERIOD)
    model = spectral.SpectralAveraging(
        spectral.Circle(), half_turn, smoothness=0.75, cutoff="theorem", estimator="mean"
    )
    return lambda: model.fit(X, np.cos(2 * X[:, 0]))


def generators(n_generators):
    """Projection with random permutations of S_10 on the 10-torus, 1,161 functions."""
    basis = spectral.Torus(10, degree=3)
    identities = np.tile(np.arange(10), (n_generators, 1))
    group = groups.GeneratedPermutations(rng.permuted(identities, axis=1))
    coefficients = rng.standard_normal(basis.n_functions_)
    return lambda: spectral.project(coefficients, basis, group)


def dimension(d):
    """All eigenfunctions of degree at most 2 of the d-torus at 50 points."""
    basis = spectral.Torus(d, degree=2)
    X = spectral.Torus(d).sample(50, SEED)
    return lambda: basis.evaluate(X)


def averaging(order):
    """Kernel averaged over rotations of the circle, for one of its arguments."""
    X = spectral.Circle().sample(60, SEED)
    turns = groups.TorusTranslations([order], period=PERIOD)
    base = spectral.VonMisesKernel(eta=1.0, period=PERIOD)
    kernel = Average(base, turns, side="second")
    return lambda: kernel(X)


def predict(degree):
    """400 predictions from the functions of the 2-torus that a cutoff keeps."""
    basis = spectral.Torus(2, degree=degree)
    X = basis.sample(400, SEED)
    coefficients = rng.standard_normal(basis.n_functions_)
    return lambda: spectral.Expansion(basis, coefficients).predict(X)


def tilted_rotations(orders):
    """Rotations about one tilted axis by 4 pi / order, and a reflection through the axis."""
    gaussian = np.random.default_rng(1).standard_normal((3, 3))
    tilt, _ = np.linalg.qr(gaussian)
    matrices = []
    for angle in 4 * np.pi / np.asarray(orders):
        cosine = np.cos(angle)
        sine = np.sin(angle)
        matrices.append(np.array([[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1]]))
    matrices.append(np.diag([1.0, -1.0, 1.0]))
    return groups.OrthogonalMatrices([tilt @ matrix @ tilt.T for matrix in matrices])


def dihedral(order):
    """Full fit on the sphere under a tilted dihedral group, two generators at any order."""
    basis = spectral.Sphere(3, degree=DEGREE)
    X = basis.sample(500, 0)
    model = spectral.SpectralAveraging(
        basis, tilted_rotations([order]), degree=DEGREE, estimator="mean"
    )
    return lambda: model.fit(X, X[:, 0] ** 2)


def pseudo_inverse(size, orders):
    """Projection of proposition C.2 on one eigenspace of the sphere, by a pseudo-inverse."""
    k = size // 2
    group = tilted_rotations(orders)
    basis = spectral.Sphere(3, degree=k)
    constraints = []
    for generator in group.generators():
        D = basis.representation(k, group, generator[None])[0].toarray()
        constraints.append(D - np.eye(2 * k + 1))
    B = np.concatenate(constraints)
    f = rng.standard_normal(2 * k + 1)
    return lambda: f - B.T @ (np.linalg.pinv(B @ B.T, rcond=1e-10) @ (B @ f))


def eigenspace(size):
    """Pseudo-inverse with two generators against the dimension of the eigenspace."""
    return pseudo_inverse(size, [64])


def program(n_generators):
    """Pseudo-inverse of dimension 41 against the number of generators."""
    return pseudo_inverse(41, 64 / np.arange(1, n_generators))


WORKS = {
    "fit": fit,
    "generators": generators,
    "dimension": dimension,
    "averaging": averaging,
    "predict": predict,
    "dihedral": dihedral,
    "eigenspace": eigenspace,
    "program": program,
}


def prepare(size):
    """Return the work for a pair of a name and a size."""
    name, value = size
    return WORKS[name](value)
