"""`Rotations` of images about their centre, interpolated."""

from __future__ import annotations

from dataclasses import KW_ONLY
from math import inf
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ..core.parameters import Array, stores_parameters
from .densities import DENSITY, Density, Uniform, nodes_for, normalised
from .resampled import Resampled

__all__ = ["Rotations"]


def _whole_degrees(radians: NDArray[Any]) -> NDArray[Any]:
    """Angles in degrees, whole ones exactly so: sines and cosines of quarter turns are exact."""
    degrees = np.rad2deg(np.asarray(radians, dtype=float))
    near = np.round(degrees)
    return np.asarray(np.where(np.abs(degrees - near) <= 1e-15 * np.abs(degrees), near, degrees))


@stores_parameters
class Rotations(Resampled):
    """Rotations of an image about its centre, by interpolation, in a fixed frame with zero fill.

    An element is an angle in radians, counter-clockwise as displayed (row 0 on top). The result is
    that of ``scipy.ndimage.rotate(image, degrees, reshape=False, order=interpolation)``, exactly so
    for angles of whole degrees. Because of the interpolation and of the corners that leave the
    frame, these maps are neither unitary nor closed under composition (see
    `departure_from_unitary`) except for quarter turns of a square.

    Parameters
    ----------
    shape : tuple
        (height, width) or (height, width, channels).
    degrees : sequence of float or None
        A finite set of angles, in degrees; angles a whole turn apart are one. None takes all
        angles.
    density : Density or None
        On the angle in radians. With ``degrees`` it weighs them; without, angles are drawn from
        it. None is uniform.
    interpolation : {1, 3}
        Order of the spline: bilinear or cubic.

    Examples
    --------
    >>> turns = Rotations((28, 28), degrees=range(-10, 10))
    >>> turns.order, turns.symmetric
    (20, False)
    >>> quarters = Rotations((2, 2), degrees=range(-180, 181, 90), interpolation=1)
    >>> quarters.order
    4
    >>> quarters.act([np.pi / 2], [[[1.0, 2.0], [3.0, 4.0]]])
    array([[[[2., 4.],
             [1., 3.]]]])
    """

    degrees: Annotated[ArrayLike | None, Array(1) | None] = None
    _: KW_ONLY
    density: Annotated[Density | None, DENSITY] = None

    def _listed(self) -> NDArray[Any] | None:
        """The angles in degrees as given, those a whole turn apart once; None for all angles."""
        self._check()
        if self.degrees is None:
            return None
        degrees = np.asarray(self.degrees, dtype=float)
        turns = np.round(degrees % 360, 9) % 360
        return degrees[np.sort(np.unique(turns, return_index=True)[1])]

    @property
    def unitary(self) -> bool:  # type: ignore[override]
        """Only for a finite set of quarter turns of a square image (half turns of any)."""
        degrees = self._listed()
        if degrees is None:
            return False
        height, width = self.shape[:2]
        return not np.any(degrees % (90 if height == width else 180))

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        degrees = self._listed()
        if self.density is not None and not self.density.symmetric:
            return False
        if degrees is None:
            return True
        turns = np.round(degrees % 360, 9) % 360
        return set(turns) == set(np.round(-turns % 360, 9) % 360)

    @property
    def order(self) -> int | float:
        degrees = self._listed()
        return inf if degrees is None else len(degrees)

    def elements(self) -> NDArray[Any]:
        """The angles in radians, shape (r,), in the order of ``degrees``."""
        degrees = self._listed()
        return super().elements() if degrees is None else np.deg2rad(degrees)

    def quadrature(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The listed angles; of all angles, four a pixel of the longer side.

        An image of n pixels a side holds angular frequencies up to pi n / 2, and a product of two
        up to twice that.
        """
        whole = self.refined(1)
        return super().quadrature() if whole is None else whole.quadrature()

    def refined(self, factor: int) -> Rotations | None:
        """The rule of all angles with ``factor`` times as many; None where they are listed."""
        if self._listed() is not None:
            return None
        n = factor * nodes_for(self.density, 4 * int(max(self.shape[:2])))
        nodes = np.arange(n) * 360 / n
        return Rotations(self.shape, nodes, density=self.density, interpolation=self.interpolation)

    def weights(self) -> NDArray[Any] | None:
        degrees = self._listed()
        if degrees is None or self.density is None:
            return None
        # Densities on the circle are written on (-pi, pi].
        radians = np.deg2rad(-((180 - degrees) % 360 - 180))
        return normalised(self.density.pdf(radians), self.density, degrees=self.degrees)

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> NDArray[Any]:
        if self.degrees is not None:
            return self._from_listed(n_samples, rng)
        return (self.density or Uniform()).sample(n_samples, rng)

    def as_turns(self) -> Rotations | None:
        """The rotations in [0, 90) degrees, if these followed by quarter turns are all.

        >>> Rotations((4, 4), degrees=range(-180, 180, 30)).as_turns().degrees
        [0.0, 30.0, 60.0]
        >>> Rotations((4, 4), degrees=range(-90, 90, 30)).as_turns() is None
        True
        """
        listed = self._listed()
        if listed is None or self.shape[0] != self.shape[1]:
            return None
        degrees = np.unique(np.round(listed % 360, 9) % 360)
        first = degrees[degrees < 90]
        every = np.sort((first + 90 * np.arange(4)[:, None]).ravel())
        if len(every) != len(degrees) or not np.allclose(every, degrees, atol=1e-6):
            return None
        return Rotations(self.shape, first.tolist(), interpolation=self.interpolation)

    def inverse(self, elements: ArrayLike) -> NDArray[Any]:
        """Opposite angles; undone up to interpolation and lost corners."""
        return -np.asarray(elements)

    def _check_elements(self, elements: NDArray[Any]) -> NDArray[Any]:
        if elements.ndim != 1 or not np.isfinite(elements).all():
            self._refuse(elements, "finite angles in radians, of shape (r,)")
        return elements

    def _maps(self, elements: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        degrees = _whole_degrees(elements)
        c, s = special.cosdg(degrees), special.sindg(degrees)
        inverses = np.stack([np.stack([c, s], -1), np.stack([-s, c], -1)], axis=1)
        return inverses, np.zeros((len(elements), 2))
