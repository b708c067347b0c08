"""`Scattering`: second-order scattering coefficients of images by Morlet wavelets."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft

from .base import FeatureMap

__all__ = ["Scattering"]


class Scattering(FeatureMap):
    r"""Windowed scattering of Bruna and Mallat 2013: a fixed, untrained baseline.

    Averages over windows of :math:`2^J` pixels of :math:`x`, :math:`|x * \psi_1|` and
    :math:`||x * \psi_1| * \psi_2|`, with Morlet wavelets :math:`\psi` of J scales and L
    orientations, the second of a larger scale than the first. Stable under small deformations,
    nearly invariant under shifts well below :math:`2^J`.

    Parameters
    ----------
    shape : tuple (height, width) or None
        Of the flattened images; sides that are no multiple of 2^J are continued by reflection.
        None takes points as images of height one.
    scales : int
        J.
    orientations : int
        L.
    batch_size : int
        Images at a time.

    Raises
    ------
    ValueError
        At `fit`, for points that are no images of the shape, or parameters that are not positive.

    Examples
    --------
    >>> images = np.random.default_rng(0).random((3, 256))
    >>> Scattering((16, 16), scales=2).fit_transform(images).shape    # (1 + 16 + 64) x 4 x 4
    (3, 1296)
    """

    def __init__(
        self,
        shape: tuple[int, int] | None = None,
        scales: int = 2,
        orientations: int = 8,
        batch_size: int = 64,
    ):
        self.shape = shape
        self.scales = scales
        self.orientations = orientations
        self.batch_size = batch_size

    def fit(self, X: ArrayLike, y=None) -> Scattering:
        """Check the shape and make the filters; nothing is learnt."""
        X = self._points_to_fit(X)
        self._check_counts("scales", "orientations", "batch_size")
        self.shape_ = (1, X.shape[1]) if self.shape is None else tuple(self.shape)
        if len(self.shape_) != 2 or X.shape[1] != self.shape_[0] * self.shape_[1]:
            raise ValueError(
                f"points have {X.shape[1]} features, not images of shape {self.shape!r}: give the "
                "(height, width) of the images that were flattened"
            )
        block = 2**self.scales
        # A block on each side, and up to the next multiple.
        self._pads = [(block, block + -side % block) for side in self.shape_]
        grid = tuple(side + sum(pad) for side, pad in zip(self.shape_, self._pads, strict=True))
        self._low = _filter(grid, 0.8 * 2 ** (self.scales - 1), 0.0, 0.0, 1.0)
        self._bands = [
            [
                _filter(grid, 0.8 * 2**j, 3 * np.pi / 4 / 2**j, np.pi * k / self.orientations,
                        4 / self.orientations)
                for k in range(self.orientations)
            ]
            for j in range(self.scales)
        ]
        self._n_features_out = self._batch(X[:1]).shape[1]
        return self

    def transform(self, X: ArrayLike) -> NDArray:
        """Coefficients of shape (n, (1 + J L + L^2 J (J - 1) / 2) height width / 4^J)."""
        X = self._points_to_transform(X)
        return np.concatenate([
            self._batch(X[start : start + self.batch_size])
            for start in range(0, len(X), self.batch_size)
        ])

    def _batch(self, X: NDArray) -> NDArray:
        block = 2**self.scales
        images = np.pad(X.reshape(len(X), *self.shape_), ((0, 0), *self._pads), "reflect")

        def averaged(spectrum: NDArray) -> NDArray:
            smooth = fft.ifft2(spectrum * self._low).real
            return smooth[:, block:-block:block, block:-block:block].reshape(len(X), -1)

        spectrum = fft.fft2(images)
        parts = [averaged(spectrum)]
        for j, bands in enumerate(self._bands):
            for band in bands:
                first = fft.fft2(np.abs(fft.ifft2(spectrum * band)))
                parts.append(averaged(first))
                for later in self._bands[j + 1 :]:
                    parts.extend(
                        averaged(fft.fft2(np.abs(fft.ifft2(first * wave)))) for wave in later
                    )
        return np.concatenate(parts, axis=1).astype(X.dtype, copy=False)


def _filter(grid, width: float, frequency: float, angle: float, slant: float) -> NDArray:
    """Fourier transform of a Morlet wavelet (or, at frequency 0, a Gaussian) on a torus."""
    rows, columns = (
        np.arange(-3 * side, 3 * side).reshape(shape)
        for side, shape in zip(grid, ((-1, 1), (1, -1)), strict=True)
    )
    along = columns * np.cos(angle) + rows * np.sin(angle)
    across = rows * np.cos(angle) - columns * np.sin(angle)
    window = np.exp(-(along**2 + (slant * across) ** 2) / (2 * width**2))

    def periodic(values: NDArray) -> NDArray:
        folded = values.reshape(6, grid[0], 6, grid[1]).sum(axis=(0, 2))
        return fft.fft2(folded / window.sum())

    gaussian = periodic(window)
    if frequency == 0:
        return gaussian
    wave = periodic(window * np.exp(1j * frequency * along))
    # The Gaussian part is taken off so that a constant image gives exactly nothing.
    return wave - wave[0, 0] / gaussian[0, 0] * gaussian
