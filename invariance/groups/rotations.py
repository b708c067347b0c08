"""`Rotations` of images about their centre, interpolated."""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from sklearn.utils import check_random_state

from .densities import Density, Uniform, own_density
from .resampled import Resampled, listed, normalised
from .translations import image_shape

__all__ = ["Rotations"]


class Rotations(Resampled):
    """Rotations of an image about its centre, by interpolation, in a fixed frame with zero fill.

    An element is an angle in degrees, counter-clockwise as displayed (row 0 on top). The result is
    that of ``scipy.ndimage.rotate(image, angle, reshape=False, order=interpolation)``. Because of
    the interpolation and of the corners that leave the frame, these maps are neither unitary nor
    closed under composition (see `departure_from_unitary`) except for quarter turns of a square.

    Parameters
    ----------
    shape : tuple
        (height, width) or (height, width, channels).
    degrees : sequence of float or None
        A finite set of angles. None takes all angles.
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
    >>> Rotations((2, 2), degrees=[90], interpolation=1).act([90.0], [[[1.0, 2.0], [3.0, 4.0]]])
    array([[[[2., 4.],
             [1., 3.]]]])
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        degrees: ArrayLike | None = None,
        density: Density | None = None,
        interpolation: int = 3,
    ):
        self.shape = shape
        self.degrees = degrees
        self.density = density
        self.interpolation = interpolation

    @property
    def unitary(self) -> bool:
        """Only for a finite set of quarter turns of a square image (half turns of any)."""
        if self.degrees is None:
            return False
        height, width = image_shape(self.shape)[:2]
        return not np.any(listed(self.degrees, "degrees") % (90 if height == width else 180))

    @property
    def symmetric(self) -> bool:
        density = own_density(self)
        if density is not None and not density.symmetric:
            return False
        if self.degrees is None:
            return True
        turns = np.round(listed(self.degrees, "degrees") % 360, 9) % 360
        return set(turns) == set(np.round(-turns % 360, 9) % 360)

    @property
    def order(self) -> int | float:
        return inf if self.degrees is None else len(listed(self.degrees, "degrees"))

    def elements(self) -> NDArray:
        """The angles in degrees, shape (r,), as given."""
        if self.degrees is None:
            return super().elements()
        return listed(self.degrees, "degrees")

    def quadrature(self) -> tuple[NDArray, NDArray]:
        """The listed angles; of all angles, four a pixel of the longer side.

        An image of n pixels a side holds angular frequencies up to pi n / 2, and a product of two
        up to twice that.
        """
        whole = self.refined(1)
        return super().quadrature() if whole is None else whole.quadrature()

    def refined(self, factor: int) -> Rotations | None:
        """The rule of all angles with ``factor`` times as many; None where they are listed."""
        if self.degrees is not None:
            return None
        n = 4 * factor * max(image_shape(self.shape)[:2])
        nodes = np.arange(n) * 360 / n
        return Rotations(
            self.shape, degrees=nodes, density=self.density, interpolation=self.interpolation
        )

    def weights(self) -> NDArray | None:
        density = own_density(self)
        if self.degrees is None or density is None:
            return None
        # Densities on the circle are written on (-pi, pi].
        radians = np.deg2rad(-((180 - self.elements()) % 360 - 180))
        return normalised(density.pdf(radians), density)

    def sample(self, n_samples: int, random_state=None) -> NDArray:
        rng = check_random_state(random_state)
        if self.degrees is not None:
            angles = self.elements()
            return angles[rng.choice(len(angles), size=n_samples, p=self.weights())]
        density = own_density(self) or Uniform()
        return np.rad2deg(density.sample(n_samples, rng))

    def as_turns(self) -> Rotations | None:
        """The rotations in [0, 90) degrees, if these followed by quarter turns are all.

        >>> Rotations((4, 4), degrees=range(-180, 180, 30)).as_turns().degrees
        [0.0, 30.0, 60.0]
        >>> Rotations((4, 4), degrees=range(-90, 90, 30)).as_turns() is None
        True
        """
        if self.degrees is None or self.shape[0] != self.shape[1]:
            return None
        degrees = np.unique(np.round(self.elements() % 360, 9) % 360)
        first = degrees[degrees < 90]
        every = np.sort((first + 90 * np.arange(4)[:, None]).ravel())
        if len(every) != len(degrees) or not np.allclose(every, degrees, atol=1e-6):
            return None
        return Rotations(
            self.shape, degrees=first.tolist(), interpolation=self.interpolation
        )

    def inverse(self, elements: ArrayLike) -> NDArray:
        """Opposite angles; undone up to interpolation and lost corners."""
        return -np.asarray(elements)

    def _maps(self, elements: NDArray) -> tuple[NDArray, NDArray]:
        if elements.ndim != 1:
            raise ValueError(f"angles must have shape (r,), got {elements.shape}")
        c, s = special.cosdg(elements), special.sindg(elements)
        inverses = np.stack([np.stack([c, s], -1), np.stack([-s, c], -1)], axis=1)
        return inverses, np.zeros((len(elements), 2))
