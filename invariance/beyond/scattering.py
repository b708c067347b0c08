"""`Scattering`: second-order scattering coefficients of images by Morlet wavelets."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft, linalg

from ..core.arrays import check_pixels
from ..core.parameters import ParameterError, Shape, Whole, stores_parameters
from ..features.feature_map import FeatureMap
from ..orbits import row_blocks

#: Pixels of the images that are filtered at a time: their spectra stay in cache.
_TOGETHER = 2**17


@stores_parameters
class Scattering(FeatureMap):
    r"""Windowed scattering of Bruna and Mallat 2013: a fixed, untrained baseline.

    Averages over windows of :math:`2^J` pixels of :math:`x`, :math:`|x * \psi_1|` and
    :math:`||x * \psi_1| * \psi_2|`, with Morlet wavelets :math:`\psi` of J scales and L
    orientations, the second of a larger scale than the first. Stable under small deformations,
    nearly invariant under shifts well below :math:`2^J`. From the third scale on, moduli are taken
    at some places only, which errs by some thousandths of the largest coefficient at most.

    Parameters
    ----------
    shape : tuple (height, width) or None
        Of the flattened images; sides that are no multiple of 2^J are continued by reflection.
        None takes points as images of height one.
    n_scales : int
        J; windows of 2^J pixels are at most twice as long as the longer side of the images.
    orientations : int, L

    Examples
    --------
    >>> images = np.random.default_rng(0).random((3, 256))
    >>> Scattering((16, 16), n_scales=2).fit_transform(images).shape    # (1 + 16 + 64) x 4 x 4
    (3, 1296)
    """

    shape: Annotated[tuple[int, int] | None, Shape(2) | None] = None
    n_scales: Annotated[int, Whole(1)] = 2
    _: KW_ONLY
    orientations: Annotated[int, Whole(1, 64)] = 8

    def fit(self, X: ArrayLike, y=None) -> Scattering:
        """Check the shape and make the filters; nothing is learnt."""
        X = self._points_to_fit(X)
        self.shape_ = (1, X.shape[1]) if self.shape is None else tuple(self.shape)
        check_pixels("Scattering", self.shape_, X.shape[1])
        most = int(np.log2(2 * max(self.shape_)))
        if self.n_scales > most:
            height, width = self.shape_
            due = f"n_scales <= {most} for images of {height} x {width} pixels"
            due += f" (n_features={X.shape[1]})"
            raise ParameterError(f"Scattering needs {due}, got {self.n_scales}")
        block = 2**self.n_scales
        # A block on each side, and up to the next multiple.
        self._pads = [(block, block + -side % block) for side in self.shape_]
        grid = tuple(side + sum(pad) for side, pad in zip(self.shape_, self._pads, strict=True))
        # A wavelet of scale 2^j needs every 2^(j-1)-th place, or finer where it is short across.
        # The average is separable and wanted at a few places only: two small matrices.
        slant = 4 / self.orientations
        finer = max(0, int(np.ceil(np.log2(slant))))
        steps = [2 ** max(j - 1 - finer, 0) for j in range(self.n_scales)]
        self._averages = {
            grid[0] // s: [_average(n // s, 0.4 * block / s, block // s) for n in grid]
            for s in steps
        }
        angles = np.pi * np.arange(self.orientations) / self.orientations
        self._bands = [
            [_band(_filter(grid, 2**j, angle, slant), step) for angle in angles]
            for j, step in enumerate(steps)
        ]
        self._n_together = max(1, _TOGETHER // (grid[0] * grid[1]))
        self._n_features_out = self._batch(X[:1]).shape[1]
        return self

    def transform(self, X: ArrayLike) -> NDArray:
        """Coefficients of shape (n, (1 + J L + L^2 J (J - 1) / 2) height width / 4^J)."""
        X = self._points_to_transform(X)
        blocks = row_blocks(len(X), 1, self._n_together)
        return np.concatenate([self._batch(X[some]) for some in blocks])

    def _batch(self, X: NDArray) -> NDArray:
        images = np.pad(X.reshape(len(X), *self.shape_), ((0, 0), *self._pads), "reflect")

        def averaged(image: NDArray) -> NDArray:
            matrices = self._averages[image.shape[1]]
            down, across = (matrix.astype(image.dtype) for matrix in matrices)
            return (down @ image @ across.T).reshape(len(X), -1)

        def modulus(spectrum: NDArray, band: tuple[NDArray, ...]) -> NDArray:
            rows, columns, wave = band
            if wave.shape != spectrum.shape[1:]:
                _, height, width = spectrum.shape
                spectrum = spectrum[:, rows % height, columns % width]
            product = spectrum * wave.astype(spectrum.dtype)
            return np.abs(fft.ifft2(product, norm="forward", overwrite_x=True))

        spectrum = fft.fft2(images, norm="forward")
        parts = [averaged(images)]
        for j, bands in enumerate(self._bands):
            finer = [wave for later in self._bands[j + 1 :] for wave in later]
            for band in bands:
                first = modulus(spectrum, band)
                parts.append(averaged(first))
                if finer:
                    of_first = fft.fft2(first, norm="forward")
                    parts.extend(averaged(modulus(of_first, wave)) for wave in finer)
        return np.concatenate(parts, axis=1).astype(X.dtype, copy=False)


def _band(wave: NDArray, step: int) -> tuple[NDArray, ...]:
    """A wavelet at those frequencies that every ``step``-th place needs; moduli ignore a shift."""
    peak = np.unravel_index(np.abs(wave).argmax(), wave.shape)
    n = np.array(wave.shape) // step
    near = [(a + np.arange(m) - m // 2) % (m * step) for a, m in zip(peak, n, strict=True)]
    rows, columns = np.ix_(*map(np.sort, near))
    return rows, columns, wave[rows, columns]


def _average(side: int, width: float, step: int) -> NDArray:
    """Periodic Gaussian averages of ``side`` samples at every ``step``-th, a step off both ends."""
    window = np.exp(-(np.arange(-3 * side, 3 * side) ** 2) / (2 * width**2))
    folded = window.reshape(6, side).sum(axis=0) / window.sum()
    return linalg.circulant(folded)[step:-step:step]


def _filter(grid: tuple[int, ...], scale: int, angle: float, slant: float) -> NDArray:
    """Fourier transform of a Morlet wavelet on a torus."""
    width, frequency = 0.8 * scale, 3 * np.pi / 4 / scale
    # Nine standard deviations of the window: beyond them it is zero in double precision.
    reach = 9 * width / min(slant, 1)
    periods = [min(3, int(np.ceil(reach / side))) for side in grid]
    rows, columns = (
        np.arange(-count * side, count * side).reshape(shape)
        for count, side, shape in zip(periods, grid, ((-1, 1), (1, -1)), strict=True)
    )
    along = columns * np.cos(angle) + rows * np.sin(angle)
    across = rows * np.cos(angle) - columns * np.sin(angle)
    window = np.exp(-(along**2 + (slant * across) ** 2) / (2 * width**2))

    def periodic(values: NDArray) -> NDArray:
        folded = values.reshape(2 * periods[0], grid[0], 2 * periods[1], grid[1])
        return fft.fft2(folded.sum(axis=(0, 2)) / window.sum())

    gaussian = periodic(window)
    wave = periodic(window * np.exp(1j * frequency * along))
    # The Gaussian part is taken off so that a constant image gives exactly nothing.
    return wave - wave[0, 0] / gaussian[0, 0] * gaussian
