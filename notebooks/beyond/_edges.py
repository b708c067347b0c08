"""Features of edges at any angle, on which rotations of an image act by frequencies."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import fft, ndimage

from invariance.features import AngularBasis
from invariance.groups import CircleAction

ORIENTATIONS = 8
PAD = 8  # pixels around an image of 28 x 28
SIDE = 44  # pixels of a padded image
BLOCK = 500  # images at a time

#: Filters: width in pixels, and frequency.
FINE = (1.2, 1.6)
COARSE = (2.2, 0.9)
LONG = (3.2, 0.55)

#: Pooling of each layer: bandwidth of the angular basis, and blur in pixels.
FIRST = (0.55 * np.pi, 1.5)
SECOND = (0.4 * np.pi, 2.5)
THIRD = (0.3 * np.pi, 3.2)


class Basis(NamedTuple):
    """Functions of the angular basis at the pixels of a padded image, and their frequencies."""

    functions: NDArray[np.float32]
    frequencies: NDArray[np.int_]


def gabor(width: float, frequency: float) -> NDArray[np.float32]:
    """Return filters of zero mean, shape (orientations, SIDE, SIDE), as functions of frequency."""
    horizontal = 2 * np.pi * fft.fftfreq(SIDE)
    vertical = horizontal[:, None]
    angles = -np.pi * np.arange(ORIENTATIONS)[:, None, None] / ORIENTATIONS
    cosines = np.cos(angles)
    sines = np.sin(angles)
    along = horizontal * cosines + vertical * sines
    across = vertical * cosines - horizontal * sines
    wave = _gaussian(along - frequency, across, width)
    envelope = _gaussian(along, across, width)
    mean = np.exp(-((width * frequency) ** 2) / 2)
    return (wave - mean * envelope).astype(np.float32)


def _gaussian(x: NDArray, y: NDArray, width: float) -> NDArray:
    return np.exp(-(x**2 + y**2) * width**2 / 2)


def padded(images: NDArray) -> NDArray:
    """Return images with a border of zeros."""
    return np.pad(images.reshape(-1, 28, 28), ((0, 0), (PAD, PAD), (PAD, PAD)))


def blurred_basis(bandwidth: float, blur: float) -> Basis:
    """Return the angular basis of a bandwidth, blurred."""
    basis = AngularBasis((28, 28), bandwidth=bandwidth).fit(np.zeros((1, 784)))
    functions = padded(basis.functions_.T)
    functions = ndimage.gaussian_filter(functions, (0, blur, blur), mode="constant")
    flat = functions.reshape(len(functions), -1).T
    return Basis(flat.astype(np.float32), basis.frequencies_)


def over_orientations(maps: NDArray, basis: Basis) -> tuple[NDArray[np.float32], NDArray[np.int_]]:
    """Return coefficients of maps, and their frequencies under rotations.

    Parameters
    ----------
    maps : ndarray of shape (n, orientations, SIDE, SIDE)
    basis : Basis

    Returns
    -------
    features : ndarray of shape (n, d)
    frequencies : ndarray of shape (d,)
    """
    n = len(maps)
    half = ORIENTATIONS // 2
    flat = maps.reshape(n * ORIENTATIONS, -1)
    coefficients = (flat @ basis.functions).reshape(n, ORIENTATIONS, -1)
    radial = np.flatnonzero(basis.frequencies == 0)
    cosines = np.flatnonzero(basis.frequencies > 0)[::2]

    radial_series = fft.fft(coefficients[:, :, radial], axis=1, norm="ortho")[:, :half]
    invariant = radial_series[:, 0].real
    radial_waves = 2**0.5 * radial_series[:, 1:].reshape(n, -1)
    radial_frequencies = np.repeat(2 * np.arange(1, half), len(radial))

    k = np.arange(1 - half, half)
    waves = coefficients[:, :, cosines] - 1j * coefficients[:, :, cosines + 1]
    angular_series = fft.fft(waves, axis=1, norm="ortho")[:, k]
    angular_frequencies = basis.frequencies[cosines] + 2 * k[:, None]
    # A negative frequency is that of the complex conjugate.
    angular_series = np.where(angular_frequencies < 0, angular_series.conj(), angular_series)
    angular_waves = angular_series.reshape(n, -1)
    angular_frequencies = np.abs(angular_frequencies).ravel()

    rotating = np.concatenate([radial_waves, angular_waves], axis=1)
    rotating_frequencies = np.concatenate([radial_frequencies, angular_frequencies])
    pairs = np.stack([rotating.real, rotating.imag], axis=-1).reshape(n, -1)
    features = np.concatenate([invariant, pairs], axis=1).astype(np.float32)
    frequencies_of_invariant = np.zeros(len(radial), int)
    frequencies_of_pairs = np.repeat(rotating_frequencies, 2)
    return features, np.append(frequencies_of_invariant, frequencies_of_pairs)


def edges(images: NDArray) -> tuple[list[NDArray[np.float32]], list[NDArray[np.int_]]]:
    """Return the layers of images' features, arrays (n, d), and the frequencies of each layer.

    The first two layers are moduli of two filters. They are followed, for every turn between two
    orientations, by a modulus of a modulus and by a third modulus.
    """
    bases = [blurred_basis(*pooling) for pooling in (FIRST, SECOND, THIRD)]
    fine = gabor(*FINE)
    coarse = gabor(*COARSE)
    long = gabor(*LONG)
    orientations = np.arange(ORIENTATIONS)
    blocks = []
    for start in range(0, len(images), BLOCK):
        spectra = fft.fft2(padded(images[start : start + BLOCK]))[:, None]
        fine_edges = np.abs(fft.ifft2(spectra * fine))
        coarse_edges = np.abs(fft.ifft2(spectra * coarse))
        parts = [over_orientations(maps, bases[0]) for maps in (fine_edges, coarse_edges)]
        spectra = fft.fft2(fine_edges)
        for turn in range(ORIENTATIONS):
            turned = coarse[(orientations + turn) % ORIENTATIONS]
            turned_twice = long[(orientations + 2 * turn) % ORIENTATIONS]
            second = np.abs(fft.ifft2(spectra * turned))
            third = np.abs(fft.ifft2(fft.fft2(second) * turned_twice))
            parts.append(over_orientations(second, bases[1]))
            parts.append(over_orientations(third, bases[2]))
        blocks.append([features for features, _ in parts])
    layers = [np.concatenate(layer) for layer in zip(*blocks, strict=True)]
    return layers, [frequencies for _, frequencies in parts]


def weighted(
    layers: Sequence[NDArray], frequencies: Sequence[NDArray], second: float, third: float = 0
) -> tuple[NDArray, CircleAction]:
    """Return layers side by side at unit norm, and the group on them.

    The second and third moduli have the weights `second` and `third`; layers of weight zero are
    left out.
    """
    weights = [1, 1] + [second, third] * ORIENTATIONS
    columns = []
    column_frequencies = []
    for weight, layer, layer_frequencies in zip(weights, layers, frequencies, strict=True):
        if weight:
            columns.append(weight * layer)
            column_frequencies.append(layer_frequencies)
    X = np.concatenate(columns, axis=1)
    circle = CircleAction(np.concatenate(column_frequencies), n_nodes=48)
    return X / np.linalg.norm(X, axis=1, keepdims=True), circle
