"""Inner products of all first-layer windows of two sets of images, by running sums."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_blas_funcs

from .windows import Settings

__all__ = ["Changes", "window_values"]

Array = NDArray[Any]


class Changes:
    """Pixels by which each window differs from the one above it, ready for matrix products.

    Parameters
    ----------
    settings : Settings
        Of the windows.
    images : ndarray of shape (n, height, width, channels)
    sign : {1, -1}
        -1 for one of two sets: then pixels that a window loses count negatively in products.
    """

    def __init__(self, settings: Settings, images: Array, sign: int = 1):
        down, across = settings
        pixels = images.transpose(1, 2, 3, 0)
        if down[0] == 1:  # along sequences windows run along their only axis
            down, across, pixels = across, down, pixels.swapaxes(0, 1)
        (side, padding, stride), (width, margin, step) = down, across
        height, length, _, self.n = pixels.shape
        starts = range(-padding, height + padding - side + 1, stride)
        #: Whether running sums would gain nothing.
        self.anew = 2 * stride >= side
        padded = np.zeros((height + 1, *pixels.shape[1:]), images.dtype)  # and a blank row
        padded[:height] = pixels
        self.parts = []
        for start in starts:
            rows = np.arange(start, start + side)
            if not self.anew and start > -padding:
                rows = np.concatenate([rows[-stride:], np.arange(start - stride, start)])
            rows[(rows < 0) | (rows >= height)] = height
            part = padded[rows].transpose(1, 2, 0, 3).copy()
            if not self.anew and start > -padding:
                part[:, :, stride:] *= sign
            self.parts.append(part.reshape(length, -1, self.n))
        left = np.arange(-margin, length + margin - width + 1, step)
        self.columns = list(zip(np.maximum(left, 0), np.minimum(left + width, length), strict=True))

    @staticmethod
    def n_bytes(images: Array) -> int:
        """Roughly what is kept of a point."""
        return 4 * images[:1].nbytes


def window_values(first: Changes, second: Changes, alpha: float) -> Iterator[Array]:
    r""":math:`1 + \alpha \langle x_w, z_w \rangle` for each window w, shape (n, m).

    A window differs from the one above it by a row gained and one lost, so that products over two
    rows of pixels, rather than a whole window's, are enough. The array is used again.
    """
    values = np.ones((first.n, second.n), first.parts[0].dtype, order="F")
    multiply = get_blas_funcs("gemm", (values,))
    for start, stop in first.columns:
        for t, (one, two) in enumerate(zip(first.parts, second.parts, strict=True)):
            if t == 0 or first.anew:
                values[...] = 1
            multiply(
                alpha,
                one[start:stop].reshape(-1, first.n).T,
                two[start:stop].reshape(-1, second.n).T,
                beta=1,
                c=values,
                trans_b=1,
                overwrite_c=1,
            )
            yield values
