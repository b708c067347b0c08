"""`AngularBasis`: images as coefficients on which rotations are exactly unitary and diagonal."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from sklearn.base import clone

from ..core.arrays import check_array, check_pixels
from ..core.parameters import Number, Shape, check_parameters, stores_parameters
from ..groups import CircleAction, Density
from .feature_map import FeatureMap


@stores_parameters
class AngularBasis(FeatureMap):
    r"""Coefficients of images in band-limited functions of the disc, by angular frequency.

    The basis functions are :math:`R_{mn}(\rho) \cos m\theta` and
    :math:`R_{mn}(\rho) \sin m\theta`, with R_mn the radial functions of frequencies up to
    ``bandwidth`` that are most concentrated in the disc (circular prolate functions). They are
    orthonormal in the plane, and as samples on the pixel grid up to the part 1 - concentration of
    their energy outside the disc. Rotating an image by theta turns each pair of coefficients by
    m theta: exactly unitary, diagonal, and free of interpolation.

    Parameters
    ----------
    shape : tuple of int or None
        Height and width of the images, in pixels. None takes the square root of the number of
        features at fit, which must then be a square.
    bandwidth : float
        Largest spatial frequency in radians a pixel; pi is the grid's Nyquist frequency.
    concentration : float in (0, 1)
        Functions with less of their energy than this inside the disc are left out.

    Attributes
    ----------
    frequencies_ : ndarray of int, shape (k,)
        As `CircleAction` wants them: zeros first, then neighbouring pairs (cos, sin).
    functions_ : ndarray of shape (d, k), the basis functions at the pixels

    Examples
    --------
    >>> import numpy as np
    >>> basis = AngularBasis((12, 12), concentration=0.9).fit(np.zeros((1, 144)))
    >>> action = basis.rotations()
    >>> image = basis.functions_[:, 5][None]
    >>> turned = basis.inverse_transform(action.act([0.3], basis.transform(image))[0])
    >>> bool(abs(np.linalg.norm(turned) / np.linalg.norm(image) - 1) < 0.1)
    True
    """

    shape: Annotated[tuple[int, int] | None, Shape(2) | None] = None
    _: KW_ONLY
    bandwidth: Annotated[float, Number(above=0, most=np.pi)] = np.pi
    concentration: Annotated[float, Number(above=0, below=1)] = 0.5

    def fit(self, X: ArrayLike, y=None) -> AngularBasis:
        """Compute the basis; of X only the number of features is used."""
        X = self._points_to_fit(X)
        side = round(np.sqrt(X.shape[1]))
        # Without a shape any row of numbers is an image one pixel high, unless it is a square.
        guessed = (side, side) if side**2 == X.shape[1] else (1, X.shape[1])
        self.shape_ = guessed if self.shape is None else tuple(self.shape)
        check_pixels("AngularBasis", self.shape_, X.shape[1])
        how = self.bandwidth, self.concentration
        self.functions_, self.frequencies_ = _functions(self.shape_, *how)
        self._n_features_out = len(self.frequencies_)
        return self

    def transform(self, X: ArrayLike) -> NDArray:
        """Coefficients <x, basis function>, shape (n, k), of X's floating type."""
        points = self._points_to_transform(X)
        return points @ self.functions_.astype(points.dtype)

    def inverse_transform(self, coefficients: ArrayLike) -> NDArray:
        """Images sum_k c_k (basis function k), shape (n, d)."""
        given = check_array(coefficients)
        return given @ self.functions_.T.astype(given.dtype)

    def rotations(self, density: Density | None = None, n_nodes: int | None = 64) -> CircleAction:
        """The rotations as a group acting on the coefficients (the basis need not be fitted).

        The density is on the angle in radians, counter-clockwise; see `CircleAction`.
        """
        if hasattr(self, "frequencies_"):
            return CircleAction(self.frequencies_, density, n_nodes=n_nodes)
        check_parameters(self)
        if self.shape is None:
            raise ValueError("the shape of the images is unknown: pass shape, or fit first")
        fitted = clone(self).fit(np.zeros((1, int(np.prod(self.shape)))))
        return fitted.rotations(density, n_nodes)


def _functions(
    shape: tuple[int, ...], bandwidth: float, concentration: float
) -> tuple[NDArray, NDArray]:
    """Basis functions at the pixels (d, k), and their angular frequencies (k,)."""
    radius = min(shape) / 2
    # Pixel centres in polar coordinates, counter-clockwise as seen: rows count downwards.
    rows, columns = np.indices(shape)
    up, right = (shape[0] - 1) / 2 - rows.ravel(), columns.ravel() - (shape[1] - 1) / 2
    rho, theta = np.hypot(up, right), np.arctan2(up, right)
    distances, inverse = np.unique(rho.round(9), return_inverse=True)
    # Both integrands oscillate less than radius * bandwidth / pi times.
    n_nodes = int(radius * bandwidth) + 24
    nodes, widths = special.roots_legendre(n_nodes)
    r, r_width = radius * (nodes + 1) / 2, radius * widths / 2
    p, p_width = bandwidth * (nodes + 1) / 2, bandwidth * widths / 2

    functions, frequencies = [], []
    for m in range(int(2 * radius * bandwidth) + 1):
        hankel = special.jv(m, np.outer(r, p)) * np.sqrt(np.outer(r * r_width, p * p_width))
        _, singular, right_vectors = np.linalg.svd(hankel)
        kept = singular**2 >= concentration
        if not kept.any() and m > 0:
            break
        # The most concentrated function stays even when none passes: a basis is never empty.
        kept[0] |= m == 0
        spectra = np.sqrt(p * p_width)[:, None] * right_vectors[kept].T
        radial = (special.jv(m, np.outer(distances, p)) @ spectra)[inverse]
        # Signs as a singular value decomposition leaves them are arbitrary.
        radial = radial * np.where(radial.sum(axis=0) < 0, -1, 1)
        waves = np.stack([np.cos(m * theta), np.sin(m * theta)][: 1 + (m > 0)], axis=-1)
        waves /= np.sqrt(np.pi if m else 2 * np.pi)
        functions.append((radial[:, :, None] * waves[:, None]).reshape(len(rho), -1))
        frequencies.append(np.full(functions[-1].shape[1], m))
    return np.concatenate(functions, axis=1), np.concatenate(frequencies)
