"""`SphericalCoefficients`: rotations of functions on a sphere, in spherical harmonics."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated

import numpy as np

from ..core.parameters import Whole, stores_parameters
from ..groups.base import Array
from ..groups.continuous import equal_turns
from ..orbits import row_blocks
from ..spectral.spherical_harmonics import solid_harmonics
from .space import SpaceRotations

#: Bytes of harmonics at rotated points, for a block of rotations.
_BYTES = 2**25


@stores_parameters
class SphericalCoefficients(SpaceRotations):
    r"""SO(3) acting on the coefficients of functions on a sphere in real spherical harmonics.

    A point is the vector c of a function :math:`f = \sum_{l \le L} \sum_{|m| \le l} c_{lm} Y_{lm}`,
    ordered by l and then by m from -l to l, of length :math:`(L + 1)^2`. A rotation g replaces f by
    :math:`x \mapsto f(g^{-1} x)`: Wigner's matrix of each degree l multiplies its 2 l + 1
    coefficients. The action is exactly unitary. Elements are matrices, shape (r, 3, 3).

    The harmonics are orthonormal up to one factor per degree, and without the sign
    :math:`(-1)^m`: with :math:`P = \texttt{scipy.special.sph_harm\_y(l, |m|, ...)}`, they are P for
    m = 0, :math:`(-1)^m \sqrt 2 \; \mathrm{Re} P` for m > 0, and
    :math:`(-1)^m \sqrt 2 \; \mathrm{Im} P` for m < 0.

    Parameters
    ----------
    degree : int
        L, the largest degree of the harmonics.
    rule_degree : int or None
        Replace the group by the product rule of `Rotations3D` of that degree. Its means are exact
        for products of the coefficients of transformed points whose degrees sum to at most
        ``rule_degree``. None keeps the whole group; averages then choose a degree. `BestFit` needs
        a rule, and takes the largest value over its rotations.

    Examples
    --------
    A quarter turn about the vertical axis takes the function x to y, and z stays:

    >>> import numpy as np
    >>> group = SphericalCoefficients(degree=1)
    >>> quarter_turn = [[[0, -1, 0], [1, 0, 0], [0, 0, 1]]]
    >>> x_and_z = [[0.0, 0.0, 2.0, 1.0]]                       # coefficients of 1, y, z, x
    >>> group.act(quarter_turn, x_and_z)[0].round(12) + 0.0
    array([[0., 1., 2., 0.]])
    """

    degree: Annotated[int, Whole(0, 50)]
    _: KW_ONLY
    rule_degree: Annotated[int | None, Whole(0, 200) | None] = None

    @property
    def _rule_degree(self) -> int | None:
        return self.rule_degree

    @property
    def shape(self) -> tuple[int, ...]:
        return ((self.degree + 1) ** 2,)

    def refined(self, factor: int) -> SphericalCoefficients:
        self._check()
        if self.rule_degree is None:
            # Entries of a Wigner matrix have degree l, and their squares have nonzero means.
            refined_degree = max(4, 2 * self.degree) * factor
        else:
            refined_degree = (self.rule_degree + 2) * factor - 2
        return SphericalCoefficients(self.degree, rule_degree=min(200, refined_degree))

    def moving(self, size: int) -> Array:
        """The degree of each coefficient: its largest angular frequency."""
        self._check()
        degrees = np.arange(self.degree + 1)
        return np.repeat(degrees, 2 * degrees + 1)[None].astype(float)

    def wigner_matrices(self, elements: Array) -> list[Array]:
        """Return D with Y(g x) = D Y(x) for each degree l, of shape (r, 2 l + 1, 2 l + 1).

        D is the integral of Y(g x) Y(x)^T over the sphere, by a rule that is exact for it.
        """
        points, weights = _sphere_rule(self.degree)
        at_points = list(solid_harmonics(points, self.degree))
        rotated_points = np.moveaxis(elements @ points, 1, 0)
        shape = rotated_points.shape[1:]
        at_rotated_points = solid_harmonics(rotated_points.reshape(3, -1), self.degree)
        matrices = []
        for values, rotated_values in zip(at_points, at_rotated_points, strict=True):
            by_element = rotated_values.reshape(len(values), *shape).swapaxes(0, 1)
            matrices.append(by_element @ (values * weights).T)
        return matrices

    def _act(self, elements: Array, X: Array) -> Array:
        images = np.empty((len(elements), *X.shape), X.dtype)
        n_points = 2 * (self.degree + 1) ** 2
        bytes_per_element = 8 * n_points * (4 * self.degree + 8)
        for block in row_blocks(len(elements), bytes_per_element, _BYTES):
            start = 0
            for matrices in self.wigner_matrices(elements[block].astype(float)):
                stop = start + matrices.shape[1]
                transposed = matrices.swapaxes(1, 2).astype(X.dtype)
                images[block, :, start:stop] = X[:, start:stop] @ transposed
                start = stop
        return images


def _sphere_rule(degree: int) -> tuple[Array, Array]:
    """Return points (3, p) and weights, exact for products of two harmonics up to a degree."""
    heights, height_weights = np.polynomial.legendre.leggauss(degree + 1)
    angles = equal_turns(2 * degree + 1)
    z, angle = (grid.ravel() for grid in np.meshgrid(heights, angles, indexing="ij"))
    radius = np.sqrt(1 - z**2)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle), z])
    weights = np.repeat(height_weights / 2, len(angles)) / len(angles)
    return points, weights
