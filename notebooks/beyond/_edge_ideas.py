"""Variants of the edges of `_edges.py`, which might read turned digits better."""

from typing import NamedTuple

import numpy as np
from _edges import (
    BLOCK,
    COARSE,
    FINE,
    FIRST,
    LONG,
    ORIENTATIONS,
    SECOND,
    blurred_basis,
    gabor,
    over_orientations,
    padded,
)
from numpy.typing import NDArray
from scipy import fft

from invariance.groups import CircleAction


class Layers(NamedTuple):
    """Two layers of features, arrays (n, d), and their frequencies."""

    first: NDArray
    second: NDArray
    frequencies: NDArray


def two_layers(images: NDArray, *, power: float = 1, coarse_edges: bool = False) -> Layers:
    """Return edges, and edges of edges.

    Parameters
    ----------
    images : ndarray of shape (n, 784)
    power : float
        Moduli are raised to it before they are pooled.
    coarse_edges : bool
        Whether the second layer also has edges of coarse edges, by the long filter.
    """
    first_basis = blurred_basis(*FIRST)
    second_basis = blurred_basis(*SECOND)
    fine, coarse, long = (gabor(*scale) for scale in (FINE, COARSE, LONG))
    first_blocks = []
    second_blocks = []
    for start in range(0, len(images), BLOCK):
        spectra = fft.fft2(padded(images[start : start + BLOCK]))[:, None]
        fine_edges = np.abs(fft.ifft2(spectra * fine))
        coarse_edges_of_images = np.abs(fft.ifft2(spectra * coarse))
        maps = [fine_edges, coarse_edges_of_images]
        first = [over_orientations(edges**power, first_basis) for edges in maps]
        chains = [(fft.fft2(fine_edges), coarse)]
        if coarse_edges:
            chains.append((fft.fft2(coarse_edges_of_images), long))
        second = []
        for spectra_of_edges, filters in chains:
            for turn in range(ORIENTATIONS):
                turned = np.roll(filters, -turn, axis=0)
                moduli = np.abs(fft.ifft2(spectra_of_edges * turned))
                second.append(over_orientations(moduli**power, second_basis))
        first_blocks.append(np.concatenate([features for features, _ in first], axis=1))
        second_blocks.append(np.concatenate([features for features, _ in second], axis=1))
    frequencies = np.concatenate([frequencies for _, frequencies in first + second])
    return Layers(np.concatenate(first_blocks), np.concatenate(second_blocks), frequencies)


def side_by_side(layers: Layers, ratio: float) -> tuple[NDArray, CircleAction]:
    """Return both layers at unit norm, and the group on them.

    The mean norm of the second layer becomes `ratio` times that of the first.
    """
    first_norm = np.linalg.norm(layers.first, axis=1).mean()
    second_norm = np.linalg.norm(layers.second, axis=1).mean()
    weight = np.float32(ratio * first_norm / second_norm)
    X = np.concatenate([layers.first, weight * layers.second], axis=1)
    circle = CircleAction(layers.frequencies, n_nodes=48)
    return X / np.linalg.norm(X, axis=1, keepdims=True), circle
