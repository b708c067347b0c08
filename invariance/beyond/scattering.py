"""`Scattering`: second-order scattering coefficients of images by Morlet wavelets."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft, linalg

from ..core.arrays import check_pixels
from ..core.dask_arrays import over_blocks
from ..core.parameters import ParameterError, Shape, Whole, stores_parameters
from ..features.feature_map import FeatureMap
from ..orbits import row_blocks

Array = NDArray[Any]

#: Pixels of the images that are filtered at a time, so that their spectra stay in cache.
_PIXELS_AT_ONCE = 2**17


@stores_parameters
class Scattering(FeatureMap):
    r"""Windowed scattering of Bruna and Mallat 2013: a fixed, untrained baseline.

    Averages over windows of :math:`2^J` pixels of :math:`x`, :math:`|x * \psi_1|` and
    :math:`||x * \psi_1| * \psi_2|`, with Morlet wavelets :math:`\psi` of J scales and L
    orientations, the second of a larger scale than the first. Stable under small deformations,
    nearly invariant under shifts well below :math:`2^J`. From the third scale on, moduli are
    subsampled, with errors of at most a few thousandths of the largest coefficient.

    Parameters
    ----------
    shape : tuple (height, width) or None
        Shape of the flattened images; sides that are not multiples of 2^J are continued by
        reflection. None treats points as images of height one.
    n_scales : int
        J; windows of 2^J pixels are at most twice as long as the longer side of the images.
    orientations : int
        L, the number of orientations.

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
        """Check the shape and compute the filters; nothing is learnt from X."""
        X = self._points_to_fit(X)
        self.shape_ = (1, X.shape[1]) if self.shape is None else tuple(self.shape)
        height, width = self.shape_
        check_pixels("Scattering", self.shape_, X.shape[1])
        max_scales = int(np.log2(2 * max(self.shape_)))
        if self.n_scales > max_scales:
            raise ParameterError(
                f"Scattering needs n_scales <= {max_scales} for images of {height} x {width} "
                f"pixels (n_features={X.shape[1]}), got {self.n_scales}"
            )
        block = 2**self.n_scales
        # A block on each side, and up to the next multiple.
        self._pads = [(block, block + -side % block) for side in self.shape_]
        grid = (height + sum(self._pads[0]), width + sum(self._pads[1]))
        # A wavelet of scale 2^j needs every 2^(j-1)-th pixel, or more if it is short across.
        slant = 4 / self.orientations
        finer = max(0, int(np.ceil(np.log2(slant))))
        steps = [2 ** max(j - 1 - finer, 0) for j in range(self.n_scales)]
        # The average is separable and needed at a few pixels only: two small matrices.
        self._averages = {}
        for step in steps:
            self._averages[grid[0] // step] = [
                _average(side // step, 0.4 * block / step, block // step) for side in grid
            ]
        angles = np.pi * np.arange(self.orientations) / self.orientations
        self._bands = []
        for j, step in enumerate(steps):
            filters = [_filter(grid, 2**j, angle, slant) for angle in angles]
            self._bands.append([_band(wave, step) for wave in filters])
        self._n_together = max(1, _PIXELS_AT_ONCE // (grid[0] * grid[1]))
        self._n_features_out = self._batch(X[:1]).shape[1]
        return self

    @over_blocks
    def transform(self, X: ArrayLike) -> Array:
        """Return coefficients, shape (n, (1 + J L + L^2 J (J - 1) / 2) height width / 4^J)."""
        X = self._points_to_transform(X)
        blocks = row_blocks(len(X), 1, self._n_together)
        return np.concatenate([self._batch(X[block]) for block in blocks])

    def _batch(self, X: Array) -> Array:
        """Return the coefficients of a few images."""
        images = np.pad(X.reshape(len(X), *self.shape_), ((0, 0), *self._pads), "reflect")
        spectrum = fft.fft2(images, norm="forward")
        coefficients = [self._averaged(images)]
        for j, bands in enumerate(self._bands):
            later_bands = [band for later in self._bands[j + 1 :] for band in later]
            for band in bands:
                first_moduli = _modulus(spectrum, band)
                coefficients.append(self._averaged(first_moduli))
                if not later_bands:
                    continue
                first_spectrum = fft.fft2(first_moduli, norm="forward")
                for later_band in later_bands:
                    coefficients.append(self._averaged(_modulus(first_spectrum, later_band)))
        return np.concatenate(coefficients, axis=1).astype(X.dtype, copy=False)

    def _averaged(self, images: Array) -> Array:
        """Return windowed averages of images or moduli, as rows."""
        down, across = self._averages[images.shape[1]]
        averages = down.astype(images.dtype) @ images @ across.astype(images.dtype).T
        return averages.reshape(len(images), -1)


def _modulus(spectrum: Array, band: tuple[Array, Array, Array]) -> Array:
    """Return the modulus of images that are convolved with a wavelet, on its coarser grid."""
    rows, columns, wave = band
    if wave.shape != spectrum.shape[1:]:
        _, height, width = spectrum.shape
        spectrum = spectrum[:, rows % height, columns % width]
    product = spectrum * wave.astype(spectrum.dtype)
    return np.abs(fft.ifft2(product, norm="forward", overwrite_x=True))


def _band(wave: Array, step: int) -> tuple[Array, Array, Array]:
    """Return the rows, columns and values of a wavelet around its peak frequency.

    They suffice for every ``step``-th pixel, because moduli do not depend on a shift of the
    frequencies.
    """
    peak = np.unravel_index(np.abs(wave).argmax(), wave.shape)
    near = []
    for centre, side in zip(peak, wave.shape, strict=True):
        n_frequencies = side // step
        frequencies = centre + np.arange(n_frequencies) - n_frequencies // 2
        near.append(np.sort(frequencies % (n_frequencies * step)))
    rows, columns = np.ix_(*near)
    return rows, columns, wave[rows, columns]


def _average(side: int, width: float, step: int) -> Array:
    """Return periodic Gaussian averages of ``side`` samples at every ``step``-th one.

    The samples at both ends are left out.
    """
    window = np.exp(-(np.arange(-3 * side, 3 * side) ** 2) / (2 * width**2))
    folded = window.reshape(6, side).sum(axis=0) / window.sum()
    return linalg.circulant(folded)[step:-step:step]


def _filter(grid: tuple[int, ...], scale: int, angle: float, slant: float) -> Array:
    """Return the Fourier transform of a Morlet wavelet on a torus."""
    width = 0.8 * scale
    frequency = 3 * np.pi / 4 / scale
    # Beyond nine standard deviations the window is zero in double precision.
    reach = 9 * width / min(slant, 1)
    periods = [min(3, int(np.ceil(reach / side))) for side in grid]
    half_height = periods[0] * grid[0]
    half_width = periods[1] * grid[1]
    rows = np.arange(-half_height, half_height)[:, None]
    columns = np.arange(-half_width, half_width)[None, :]
    along = columns * np.cos(angle) + rows * np.sin(angle)
    across = rows * np.cos(angle) - columns * np.sin(angle)
    window = np.exp(-(along**2 + (slant * across) ** 2) / (2 * width**2))

    def periodic(values: Array) -> Array:
        """Return the Fourier transform of values that are summed over all periods."""
        folded = values.reshape(2 * periods[0], grid[0], 2 * periods[1], grid[1])
        return fft.fft2(folded.sum(axis=(0, 2)) / window.sum())

    gaussian = periodic(window)
    wave = periodic(window * np.exp(1j * frequency * along))
    # Subtracting the Gaussian part makes the wavelet coefficients of constant images exactly zero.
    return wave - wave[0, 0] / gaussian[0, 0] * gaussian
