"""Images turned, scaled and moved by affine maps about the centre of their frame, interpolated.

What leaves the frame is lost and zeros come in, so that none of these maps is a group's.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ..core import parameters as kinds
from ..core.parameters import ParameterError, arguments, short, stores_parameters
from .base import Transformations
from .densities import DENSITY, Density, Uniform, nodes_for, normalised
from .interpolation import ORDERS, resample
from .translations import IMAGE_SHAPE


@stores_parameters
class _Interpolated(Transformations):
    """Images moved by affine maps of the plane about the centre of the frame, zero outside."""

    unitary = False
    linear = True
    shape: Annotated[tuple[int, ...], IMAGE_SHAPE]
    _: KW_ONLY
    interpolation: Annotated[int, kinds.OneOf(*ORDERS)] = 3

    #: Whether intensities are multiplied by |J_g|^(-1/2).
    jacobian = False

    @abstractmethod
    def _maps(self, elements: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any] | float]:
        """Inverse matrices (r, 2, 2) and shifts (r, 2) of x -> A x + b in (row, column)."""

    def _act(self, elements: NDArray[Any], X: NDArray[Any]) -> NDArray[Any]:
        shape = tuple(self.shape)
        inverses, shifts = self._maps(elements)
        centre = (np.array(shape[:2]) - 1) / 2
        # Position A^-1 (y - centre - b) + centre of the image is seen at y.
        seen = np.broadcast_to(centre + shifts, (len(elements), 2))
        offsets = centre - np.einsum("rij,rj->ri", inverses, seen)
        n_channels = shape[2] if len(shape) == 3 else 1
        planes = np.moveaxis(X.reshape(len(X), *shape[:2], n_channels), 3, 1)
        planes = np.ascontiguousarray(planes).reshape(-1, *shape[:2])
        factors = np.sqrt(np.abs(np.linalg.det(inverses))) if self.jacobian else None
        moved = resample(inverses, offsets, factors, planes, self.interpolation)
        moved = moved.reshape(len(elements), len(X), n_channels, *shape[:2])
        return np.moveaxis(moved, 2, 4).reshape(len(elements), *X.shape)


@stores_parameters
class Rotations(_Interpolated):
    """Rotations of an image about its centre, by interpolation, in a fixed frame with zero fill.

    An element is an angle in radians, counter-clockwise as displayed (row 0 on top). The result is
    that of ``scipy.ndimage.rotate(image, degrees, reshape=False, order=interpolation)``: but for
    quarter turns of a square neither unitary nor closed under composition.

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

    degrees: Annotated[ArrayLike | None, kinds.Array(1) | None] = None
    _: KW_ONLY
    density: Annotated[Density | None, DENSITY] = None

    def _angles(self) -> NDArray[Any] | None:
        """The angles in degrees as given, those a whole turn apart once; None for all angles."""
        self._check()
        if self.degrees is None:
            return None
        degrees = np.asarray(self.degrees, dtype=float)
        return degrees[np.sort(np.unique(_turned(degrees), return_index=True)[1])]

    @property
    def unitary(self) -> bool:  # type: ignore[override]
        """Only for a finite set of quarter turns of a square image (half turns of any)."""
        degrees, (height, width) = self._angles(), self.shape[:2]
        return degrees is not None and not np.any(degrees % (90 if height == width else 180))

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        degrees = self._angles()
        if self.density is not None and not self.density.symmetric:
            return False
        return degrees is None or set(_turned(degrees)) == set(_turned(-degrees))

    def _listed(self) -> NDArray[Any] | None:
        """The angles in radians, shape (r,), in the order of ``degrees``."""
        degrees = self._angles()
        return None if degrees is None else np.deg2rad(degrees)

    def weights(self) -> NDArray[Any] | None:
        degrees = self._angles()
        if degrees is None or self.density is None:
            return None
        # Densities on the circle are written on (-pi, pi].
        values = self.density.pdf(np.deg2rad(-((180 - degrees) % 360 - 180)))
        return normalised(values, self.density, degrees=self.degrees)

    def refined(self, factor: int) -> Rotations | None:
        """Of all angles, four a pixel of the longer side, and ``factor`` times as many.

        An image of n pixels a side holds angular frequencies up to pi n / 2, and a product of two
        up to twice that.
        """
        if self.degrees is not None:
            return None
        n = factor * nodes_for(self.density, 4 * max(self.shape[:2]))
        nodes = np.arange(n) * 360 / n
        return Rotations(self.shape, nodes, density=self.density, interpolation=self.interpolation)

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> NDArray[Any]:
        return (self.density or Uniform()).sample(n_samples, rng)

    def as_turns(self) -> Rotations | None:
        """The rotations in [0, 90) degrees, if these followed by quarter turns are all.

        >>> Rotations((4, 4), degrees=range(-180, 180, 30)).as_turns().degrees
        [0.0, 30.0, 60.0]
        >>> Rotations((4, 4), degrees=range(-90, 90, 30)).as_turns() is None
        True
        """
        listed = self._angles()
        if listed is None or self.shape[0] != self.shape[1]:
            return None
        degrees = np.unique(_turned(listed))
        first = degrees[degrees < 90]
        every = np.sort((first + 90 * np.arange(4)[:, None]).ravel())
        if len(every) != len(degrees) or not np.allclose(every, degrees, atol=1e-6):
            return None
        return Rotations(self.shape, first.tolist(), interpolation=self.interpolation)

    def inverse(self, elements: ArrayLike) -> NDArray[Any]:
        """Opposite angles; undone up to interpolation and lost corners."""
        return -np.asarray(elements)

    def _check_elements(self, elements: NDArray[Any]) -> NDArray[Any]:
        return self._batch(elements, "angles in radians")

    def _maps(self, elements: NDArray[Any]) -> tuple[NDArray[Any], float]:
        degrees = np.rad2deg(np.asarray(elements, dtype=float))
        near = np.round(degrees)  # whole degrees exactly so, and hence quarter turns
        degrees = np.where(np.abs(degrees - near) <= 1e-15 * np.abs(degrees), near, degrees)
        c, s = special.cosdg(degrees), special.sindg(degrees)
        return np.stack([np.stack([c, s], -1), np.stack([-s, c], -1)], axis=1), 0.0


def _turned(degrees: NDArray[Any]) -> NDArray[Any]:
    """Angles in [0, 360), the same where they are a whole turn apart."""
    return np.round(degrees % 360, 9) % 360


@arguments(**dict.fromkeys(("degrees", "factor", "shear", "shift"), kinds.Array(empty=True)))
def affine_maps(
    degrees: ArrayLike = 0.0,
    factor: ArrayLike = 1.0,
    *,
    shear: ArrayLike = 0.0,
    shift: ArrayLike = (0.0, 0.0),
) -> NDArray[Any]:
    """Elements of `Affine`: scale, then shear, then rotate about the centre, then shift.

    Angles in degrees (counter-clockwise), isotropic factors, shears in columns moved right per row
    up and shifts of shape (..., 2), pixels (down, right), broadcast against each other. The result
    has shape (r, 2, 3), rows [A | b] of x -> A x + b in (row, column) about the centre.

    >>> affine_maps(degrees=[0, 90], shift=(1, 0)).shape
    (2, 2, 3)
    """
    try:
        pairs = np.moveaxis(np.asarray(shift, dtype=float), -1, 0)
        parts = np.broadcast_arrays(degrees, factor, shear, *pairs)
        angles, factors, shears, down, right = (np.ravel(p).astype(float) for p in parts)
    except ValueError as error:  # also of an axis that is not there, or not of length two
        given = short((degrees, factor, shear, shift))
        due = "degrees, factor, shear and shift (..., 2) must broadcast"
        raise ParameterError(f"{due}, got {given}") from error
    c, s = special.cosdg(angles), special.sindg(angles)
    turn = np.stack([np.stack([c, -s], -1), np.stack([s, c], -1)], axis=1)
    lean = np.broadcast_to(np.eye(2), turn.shape).copy()
    lean[:, 1, 0] = -shears
    linear = turn @ lean * factors[:, None, None]
    return np.concatenate([linear, np.stack([down, right], -1)[..., None]], axis=2)


@stores_parameters
class Affine(_Interpolated):
    r"""Affine maps of an image about its centre: :math:`T_g I = |J_g|^{-1/2} I(g^{-1} x)`.

    Raj et al. 2017, lemma 2.1: with the factor the action is unitary on functions of the plane;
    on pixels it is so up to interpolation and what leaves the frame (`departure_from_unitary`). An
    element is a matrix [A | b] of shape (2, 3), in (row, column) about the centre; `affine_maps`
    writes them.

    Parameters
    ----------
    shape, interpolation
        As in `Rotations`.
    rotation : Density or None
        Of the angle in radians; None does not rotate.
    scaling : Density or None
        Of the isotropic factor; None does not scale.
    translation : Density or None
        Of the shift along each axis, in pixels.
    maps : array of shape (r, 2, 3) or None
        A finite set of elements instead of the densities.
    jacobian : bool
        Whether the factor |J_g|^(-1/2) is applied.

    Examples
    --------
    >>> from invariance.groups import LogNormal, Normal, VonMises
    >>> moves = Affine((32, 32, 3), rotation=VonMises(9), scaling=LogNormal(0.3),
    ...                translation=Normal(0.3))
    >>> moves.sample(5, random_state=0).shape, moves.symmetric
    ((5, 2, 3), False)
    """

    rotation: Annotated[Density | None, DENSITY] = None
    _: KW_ONLY
    scaling: Annotated[Density | None, DENSITY] = None
    translation: Annotated[Density | None, DENSITY] = None
    maps: Annotated[ArrayLike | None, kinds.Array(3) | None] = None
    jacobian: Annotated[bool, kinds.Flag()] = True

    def _check_together(self) -> None:
        if self.maps is not None:
            self._check_elements(np.asarray(self.maps, dtype=float), "maps")

    def _densities(self) -> dict[str, Density]:
        self._check()
        names = ("rotation", "scaling", "translation")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        """Whether q(g) = q(g^-1): one symmetric density alone, or rotation and scaling together."""
        used = self._densities()
        if self.maps is not None:
            mine, opposite = self.elements(), self.inverse(self.elements())
            return all(bool(np.isclose(mine, g).all(axis=(1, 2)).any()) for g in opposite)
        # Rotations and isotropic scalings commute; any other pair does not, so that the inverse
        # runs through the parts in the other order.
        commute = len(used) <= 1 or set(used) == {"rotation", "scaling"}
        return commute and all(density.symmetric for density in used.values())

    def _listed(self) -> NDArray[Any] | None:
        return None if self.maps is None else np.asarray(self.maps, dtype=float)

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> NDArray[Any]:
        used = self._densities()

        def draw(name: str, default: float, *more: int) -> NDArray[Any]:
            size = (n_samples, *more)
            return used[name].sample(size, rng) if name in used else np.full(size, default)

        degrees, factors = np.rad2deg(draw("rotation", 0.0)), draw("scaling", 1.0)
        return affine_maps(degrees, factors, shift=draw("translation", 0.0, 2))

    def inverse(self, elements: ArrayLike) -> NDArray[Any]:
        """Inverse maps; undone up to interpolation and what left the frame."""
        maps = self._check_elements(np.asarray(elements, dtype=float))
        linear = np.linalg.inv(maps[:, :, :2])
        return np.concatenate([linear, -linear @ maps[:, :, 2:]], axis=2)

    def _check_elements(self, elements: NDArray[Any], name: str = "elements") -> NDArray[Any]:
        right = elements.shape[1:] == (2, 3) and np.isfinite(elements).all()
        if not right or not np.all(np.abs(np.linalg.det(elements[:, :, :2])) > 1e-12):
            raise ParameterError(
                f"affine {name} must be of shape (r, 2, 3), as affine_maps writes them, finite and "
                f"none with no inverse; got {short(elements)}"
            )
        return elements.astype(float, copy=False)

    def _maps(self, elements: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        return np.linalg.inv(elements[:, :, :2]), elements[:, :, 2]
