"""Kernels of Table 2, and their competitors in the notebook `few_samples`."""

import numpy as np
from numpy.typing import NDArray

from invariance.beyond import TangentDistance
from invariance.beyond.scattering import Scattering
from invariance.groups import Rotations, Translations
from invariance.kernels import Average, BestFit, Kernel, Locality, Polynomial

# Transformed training images are prepared once for each block: larger blocks are faster.
BLOCK_BYTES = 2**31


def table2_kernels(name: str, shape: tuple[int, int], degree: int, jobs: int) -> dict[str, Kernel]:
    """Return the kernel (or distance) of each row of Table 2, for images of a data set.

    The windows of locality kernels are those of the paper's code; the bundled digits have windows
    and shifts scaled down.
    """
    if name == "digits":
        shift = 1
        combined_shift = 1
        windows = {"l": 3, "l-ri": 3, "l-ti": 3, "l-ti-ri": 3}
    else:
        shift = 5
        combined_shift = 7
        windows = {"l": 9, "l-ri": 5 if name == "emnist" else 3, "l-ti": 7, "l-ti-ri": 7}
    polynomial = Polynomial(degree, gamma=1 / np.prod(shape))
    local = {}
    for row, window in windows.items():
        local[row] = Locality(shape, window, powers=(2, degree // 2))
    rotations = Rotations(shape, degrees=range(-10, 10))
    few_rotations = Rotations(shape, degrees=range(-5, 6))
    shifts = Translations(shape, max_shift=shift)
    more_shifts = Translations(shape, max_shift=combined_shift)
    local_rotations = rotations if name == "emnist" else few_rotations

    def best_fit(base, group):
        return BestFit(base, group, precision="single", n_jobs=jobs, block_bytes=BLOCK_BYTES)

    return {
        "l-ti-ri": best_fit(local["l-ti-ri"], few_rotations.then(more_shifts)),
        "ti-ri": best_fit(polynomial, more_shifts.then(rotations)),
        "l-ti": best_fit(local["l-ti"], more_shifts),
        "l-ri": best_fit(local["l-ri"], local_rotations),
        "ti": best_fit(polynomial, shifts),
        "ri": best_fit(polynomial, rotations),
        "l": local["l"],
        "svm": polynomial,
        "average-fit": Average(polynomial, rotations, side="second"),
        "tangent-distance": TangentDistance(shape, vectors=("horizontal", "vertical", "thickness")),
    }


def three_nearest(distances: NDArray, y: NDArray) -> NDArray:
    """Return labels by majority of the three nearest; if all differ, the nearest one's."""
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :3]
    first, second, third = y[nearest].T
    return np.where(second == third, second, first)


def squared_distances(A: NDArray, B: NDArray) -> NDArray:
    """Return squared distances of all rows of A to all rows of B."""
    squares = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1)
    return np.maximum(squares - 2 * A @ B.T, 0)


def scattering_distances(
    X: NDArray, X_test: NDArray, shape: tuple[int, int]
) -> tuple[NDArray, NDArray]:
    """Return squared distances of scattering features: among X, and of X_test to X.

    They are scaled to the images' total variance, so that the same widths suit both.
    """
    scattering = Scattering(shape).fit(X)
    features = scattering.transform(X)
    test_features = scattering.transform(X_test)
    scale = X.var(axis=0).sum() / features.var(axis=0).sum()
    training_distances = scale * squared_distances(features, features)
    return training_distances, scale * squared_distances(test_features, features)
