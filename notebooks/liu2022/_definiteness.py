"""Counts of samples with a positive definite Gram matrix, for `positive_definite_samples`."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from sklearn.model_selection import train_test_split

from invariance.kernels import largest_definite
from invariance.theory import liu2022


def polynomial_counts(
    linear: NDArray, degrees: Sequence[int], gammas: Sequence[float]
) -> list[list[int]]:
    """Return the largest definite n of (1 + gamma K)^degree, for each degree and gamma."""
    counts = []
    for degree in degrees:
        counts.append([largest_definite((1 + gamma * linear) ** degree) for gamma in gammas])
    return counts


def theorem_bound(X: NDArray) -> float:
    """Return the number of samples that theorem 1 allows for the covariance of X, as eps -> 0."""
    m = X.shape[1]
    centred = X - X.mean(axis=0)
    gram = centred @ centred.T if len(X) < m else centred.T @ centred
    eigenvalues = np.clip(np.linalg.eigvalsh(gram.astype(float)), 0, None)[-m:]
    spectrum = np.zeros(m)
    spectrum[: len(eigenvalues)] = eigenvalues
    return liu2022.theorem1_samples(spectrum, epsilon=1e-9)


def gaussian_pixels(n: int, seed: int, correlated: bool) -> NDArray:
    """Return n images of independent or correlated Gaussian pixels as rows."""
    images = np.random.default_rng(seed).standard_normal((n, 28, 28))
    if correlated:
        images = gaussian_filter(images, (0, 1, 1)) * 3
    return images.reshape(n, -1)


def split_rows_of_mnist() -> NDArray:
    """Return the training rows of Table 2's split, which is of all 70,000 images."""
    rows, _ = train_test_split(np.arange(70_000), train_size=6 / 7, random_state=4)
    rows, _ = train_test_split(rows, train_size=5 / 6, random_state=4)
    return rows
