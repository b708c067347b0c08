"""Stationary Gaussian images on the torus, for `theorem1_2` and `concentration`."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from invariance.kernels import BestFit

KINDS = ("linear", "2", "8", "rbf")  # base kernels: linear, polynomials by degree, Gaussian


def spectrum(side: int, length: float) -> NDArray:
    """Return the eigenvalues of the covariance of a stationary field; length 0 is white noise."""
    frequencies = np.fft.fftfreq(side)
    squares = frequencies[:, None] ** 2 + frequencies**2
    rate = -2 * (np.pi * length) ** 2
    values = np.exp(rate * squares)
    normalised = values / values.mean()
    return normalised.ravel()


def correlated(white: NDArray, length: float) -> NDArray:
    """Return white images (n, side, side) as rows of correlated pixels."""
    n, side, _ = white.shape
    eigenvalues = spectrum(side, length).reshape(side, side)
    coefficients = np.fft.fft2(white) * np.sqrt(eigenvalues)
    images = np.fft.ifft2(coefficients).real
    return images.reshape(n, -1)


def stationary_images(n: int, side: int, length: float, rng: np.random.Generator) -> NDArray:
    """Return n images as rows; pixels are correlated over `length` pixels."""
    white = rng.standard_normal((n, side, side))
    return correlated(white, length)


def best_fit_grams(X: NDArray, kernel: BestFit) -> Iterator[NDArray]:
    """Yield the Gram matrix of X for each base kernel of `KINDS`.

    All follow from the largest and the smallest inner products over the translations. The Gaussian
    kernel has sigma = 1, and |x|^2 / m is close to one.
    """
    m = X.shape[1]
    linear = kernel(X) / m
    smallest = -kernel(X, -X) / m
    half_norms = (X**2).mean(axis=1) / 2
    yield linear
    largest_size = np.maximum(1 + linear, -(1 + smallest))
    for degree in (2, 8):
        yield largest_size**degree
    exponents = linear - half_norms[:, None] - half_norms
    yield np.exp(exponents)
