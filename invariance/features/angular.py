"""`AngularBasis`: images as coefficients on which rotations are exactly unitary and diagonal."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from sklearn.base import clone

from ..core.arrays import check_array, check_pixels
from ..core.dask_arrays import over_blocks
from ..core.parameters import Number, Shape, check_parameters, stores_parameters
from ..groups import CircleAction, Density, OrthogonalMatrices
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
        Largest spatial frequency in radians per pixel; pi is the Nyquist frequency of the grid.
    concentration : float in (0, 1)
        Functions with a smaller share of their energy inside the disc are left out.

    Attributes
    ----------
    frequencies_ : ndarray of int, shape (k,)
        Angular frequencies in the order of `CircleAction`: zeros, then pairs (cos, sin).
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
        n_pixels = X.shape[1]
        self.shape_ = _default_shape(n_pixels) if self.shape is None else tuple(self.shape)
        check_pixels("AngularBasis", self.shape_, n_pixels)
        self.functions_, self.frequencies_ = _basis_functions(
            self.shape_, self.bandwidth, self.concentration
        )
        self._n_features_out = len(self.frequencies_)
        return self

    @over_blocks
    def transform(self, X: ArrayLike) -> NDArray:
        """Coefficients <x, basis function>, shape (n, k), of X's floating type."""
        points = self._points_to_transform(X)
        return points @ self.functions_.astype(points.dtype)

    def inverse_transform(self, coefficients: ArrayLike) -> NDArray:
        """Images sum_k c_k (basis function k), shape (n, d)."""
        coefficients = check_array(coefficients)
        return coefficients @ self.functions_.T.astype(coefficients.dtype)

    def rotations(self, density: Density | None = None, n_nodes: int | None = 64) -> CircleAction:
        """The rotations as a group acting on the coefficients (the basis need not be fitted).

        The density is on the angle in radians, counter-clockwise; see `CircleAction`.
        """
        return CircleAction(self._frequencies(), density, n_nodes=n_nodes)

    def reflection(self) -> OrthogonalMatrices:
        """The mirror image, upside down, as a group of two elements.

        The basis need not be fitted. ``rotations().then(reflection())`` contains all rotations and
        mirror images, O(2).

        >>> import numpy as np
        >>> basis = AngularBasis((6, 6)).fit(np.zeros((1, 36)))
        >>> image = np.arange(36.0).reshape(1, 6, 6)
        >>> mirror = basis.reflection()
        >>> mirrored = mirror.act(mirror.generators(), basis.transform(image.reshape(1, 36)))[0]
        >>> bool(np.allclose(mirrored, basis.transform(image[:, ::-1].reshape(1, 36))))
        True
        """
        frequencies = self._frequencies()
        signs = np.ones(len(frequencies))
        # Mirroring changes the sign of the angle, and so of sines.
        signs[np.flatnonzero(frequencies)[1::2]] = -1
        return OrthogonalMatrices([np.diag(signs)])

    def _frequencies(self) -> NDArray:
        """Angular frequencies of the coefficients; a basis that is not fitted computes them."""
        if hasattr(self, "frequencies_"):
            return self.frequencies_
        check_parameters(self)
        if self.shape is None:
            raise ValueError("the shape of the images is unknown: pass shape, or fit first")
        blank_image = np.zeros((1, int(np.prod(self.shape))))
        return clone(self).fit(blank_image).frequencies_


def _default_shape(n_pixels: int) -> tuple[int, int]:
    """Return the shape of a square image, or of an image one pixel high if it is not a square."""
    side = round(np.sqrt(n_pixels))
    if side**2 == n_pixels:
        return side, side
    return 1, n_pixels


def _basis_functions(
    shape: tuple[int, ...], bandwidth: float, concentration: float
) -> tuple[NDArray, NDArray]:
    """Return the basis functions at the pixels (d, k), and their angular frequencies (k,)."""
    radius = min(shape) / 2
    rho, theta = _polar_coordinates(shape)
    # The radial functions are evaluated once per distance, not once per pixel.
    distances, distance_of_pixel = np.unique(rho.round(9), return_inverse=True)
    # Both integrands oscillate less than radius * bandwidth / pi times.
    n_nodes = int(radius * bandwidth) + 24
    r, r_weights = _quadrature(radius, n_nodes)
    p, p_weights = _quadrature(bandwidth, n_nodes)
    sqrt_measure = np.sqrt(np.outer(r * r_weights, p * p_weights))
    p_scale = np.sqrt(p * p_weights)[:, None]

    functions = []
    frequencies = []
    for m in range(int(2 * radius * bandwidth) + 1):
        hankel = special.jv(m, np.outer(r, p)) * sqrt_measure
        _, singular_values, right_vectors = np.linalg.svd(hankel)
        concentrated = singular_values**2 >= concentration
        if m == 0:
            # A basis is never empty: its most concentrated function always belongs to it.
            concentrated[0] = True
        elif not concentrated.any():
            break
        spectra = p_scale * right_vectors[concentrated].T
        radial = special.jv(m, np.outer(distances, p)) @ spectra
        radial = radial[distance_of_pixel]
        # The signs of singular vectors are arbitrary: fix them, so that runs agree.
        radial = radial * np.where(radial.sum(axis=0) < 0, -1, 1)
        waves = _angular_waves(m, theta)
        products = radial[:, :, None] * waves[:, None, :]
        products = products.reshape(len(theta), -1)
        functions.append(products)
        frequencies.append(np.full(products.shape[1], m))
    return np.concatenate(functions, axis=1), np.concatenate(frequencies)


def _polar_coordinates(shape: tuple[int, ...]) -> tuple[NDArray, NDArray]:
    """Return the radii and the angles of the pixel centres; angles run counter-clockwise."""
    height, width = shape
    rows, columns = np.indices(shape)
    up = (height - 1) / 2 - rows.ravel()  # rows are counted downwards
    right = columns.ravel() - (width - 1) / 2
    return np.hypot(up, right), np.arctan2(up, right)


def _quadrature(length: float, n_nodes: int) -> tuple[NDArray, NDArray]:
    """Return the nodes and weights of the Gauss-Legendre rule on the interval [0, length]."""
    nodes, weights = special.roots_legendre(n_nodes)
    return length * (nodes + 1) / 2, length * weights / 2


def _angular_waves(m: int, theta: NDArray) -> NDArray:
    """Return cos(m theta) and sin(m theta) as columns of unit norm; a constant for m = 0."""
    if m == 0:
        return np.ones((len(theta), 1)) / np.sqrt(2 * np.pi)
    waves = np.stack([np.cos(m * theta), np.sin(m * theta)], axis=-1)
    return waves / np.sqrt(np.pi)
