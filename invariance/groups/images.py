"""Rotations and other affine maps of images about the centre of their frame, by interpolation.

Pixels that leave the frame are lost and zeros come in, so that these maps do not form a group.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY
from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ..core import parameters as kinds
from ..core.parameters import ParameterError, arguments, short, stores_parameters
from .base import Transformations
from .densities import DENSITY, Density, Uniform, circular_pdf, nodes_for, normalize_weights
from .interpolation import ORDERS, resample
from .translations import IMAGE_SHAPE

Floats: TypeAlias = NDArray[Any]


@stores_parameters
class _Interpolated(Transformations):
    """Base of affine maps of images about the centre of the frame, zero outside."""

    unitary = False
    linear = True
    shape: Annotated[tuple[int, ...], IMAGE_SHAPE]
    _: KW_ONLY
    interpolation: Annotated[int, kinds.OneOf(*ORDERS)] = 3

    #: Whether intensities are multiplied by |J_g|^(-1/2).
    jacobian = False

    @abstractmethod
    def _maps(self, elements: Floats) -> tuple[Floats, Floats | float]:
        """Inverse matrices (r, 2, 2) and shifts (r, 2) of x -> A x + b in (row, column)."""

    def _act(self, elements: Floats, X: Floats) -> Floats:
        height, width, *channels = map(int, self.shape)
        n_channels = channels[0] if channels else 1
        inverses, shifts = self._maps(elements)
        last_pixel = np.array([height, width]) - 1
        centre = last_pixel / 2
        # The result at y is the image at A^-1 (y - centre - b) + centre.
        new_centres = np.broadcast_to(centre + shifts, (len(elements), 2))
        offsets = centre - np.einsum("rij,rj->ri", inverses, new_centres)
        factors = None
        if self.jacobian:
            determinants = np.linalg.det(inverses)
            factors = np.sqrt(np.abs(determinants))
        # Channels are interpolated as images of their own.
        images = X.reshape(len(X), height, width, n_channels)
        channels_first = np.ascontiguousarray(np.moveaxis(images, 3, 1))
        planes = channels_first.reshape(-1, height, width)
        results = resample(inverses, offsets, factors, planes, self.interpolation)
        results = results.reshape(len(elements), len(X), n_channels, height, width)
        channels_last = np.moveaxis(results, 2, 4)
        return channels_last.reshape(len(elements), *X.shape)


@stores_parameters
class Rotations(_Interpolated):
    """Rotations of an image about its centre, by interpolation, in a fixed frame with zero fill.

    An element is an angle in radians, counter-clockwise as displayed (row 0 on top). The result is
    that of ``scipy.ndimage.rotate(image, degrees, reshape=False, order=interpolation)``. Except
    for quarter turns of a square, it is neither unitary nor closed under composition.

    Parameters
    ----------
    shape : tuple
        (height, width) or (height, width, channels).
    degrees : sequence of float or None
        A finite set of angles, in degrees; angles a whole turn apart count once. None takes all
        angles.
    density : Density or None
        Density of the angle in radians. It gives the weights of ``degrees``; if ``degrees`` is
        None, angles are drawn from it. None is uniform.
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

    def _angles(self) -> Floats | None:
        """The angles in degrees without repetitions of a whole turn; None for all angles."""
        self._check()
        if self.degrees is None:
            return None
        degrees = np.asarray(self.degrees, dtype=float)
        _, first_indices = np.unique(_within_one_turn(degrees), return_index=True)
        return degrees[np.sort(first_indices)]

    @property
    def unitary(self) -> bool:  # type: ignore[override]
        """True only for finitely many quarter turns of a square image, or half turns of any."""
        degrees = self._angles()
        if degrees is None:
            return False
        is_square = self.shape[0] == self.shape[1]
        step = 90 if is_square else 180
        return not np.any(degrees % step)

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        degrees = self._angles()
        if self.density is not None and not self.density.symmetric:
            return False
        if degrees is None:
            return True
        return set(_within_one_turn(degrees)) == set(_within_one_turn(-degrees))

    def _listed(self) -> Floats | None:
        """The angles in radians, shape (r,), in the order of ``degrees``."""
        degrees = self._angles()
        if degrees is None:
            return None
        return np.deg2rad(degrees)

    def weights(self) -> Floats | None:
        degrees = self._angles()
        if degrees is None or self.density is None:
            return None
        principal_degrees = -((180 - degrees) % 360 - 180)
        values = circular_pdf(self.density, np.deg2rad(principal_degrees))
        return normalize_weights(values, self.density, degrees=self.degrees)

    def refined(self, factor: int) -> Rotations | None:
        """The finite rule with ``4 * factor * max(height, width)`` equally spaced angles.

        An image with n pixels per side holds angular frequencies up to pi n / 2, and a product of
        two images up to twice that. A narrow density takes more angles.
        """
        if self.degrees is not None:
            return None
        longer_side = max(self.shape[:2])
        n_angles = factor * nodes_for(self.density, 4 * longer_side)
        degrees = np.arange(n_angles) * 360 / n_angles
        return Rotations(
            self.shape, degrees, density=self.density, interpolation=self.interpolation
        )

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> Floats:
        density = self.density or Uniform()
        return density.sample(n_samples, rng)

    def as_turns(self) -> Rotations | None:
        """The rotations in [0, 90) degrees, if quarter turns complete them to the whole set.

        >>> Rotations((4, 4), degrees=range(-180, 180, 30)).as_turns().degrees
        [0.0, 30.0, 60.0]
        >>> Rotations((4, 4), degrees=range(-90, 90, 30)).as_turns() is None
        True
        """
        angles = self._angles()
        if angles is None or self.shape[0] != self.shape[1]:
            return None
        degrees = np.unique(_within_one_turn(angles))
        first_quarter = degrees[degrees < 90]
        quarter_turns = 90 * np.arange(4)
        completed = (first_quarter + quarter_turns[:, None]).ravel()
        completed.sort()
        if len(completed) != len(degrees) or not np.allclose(completed, degrees, atol=1e-6):
            return None
        return Rotations(self.shape, first_quarter.tolist(), interpolation=self.interpolation)

    def inverse(self, elements: ArrayLike) -> Floats:
        """Opposite angles; they undo the rotations up to interpolation and lost corners."""
        return -np.asarray(elements)

    def _check_elements(self, elements: Floats) -> Floats:
        return self._batch(elements, "angles in radians")

    def _maps(self, elements: Floats) -> tuple[Floats, float]:
        degrees = np.rad2deg(np.asarray(elements, dtype=float))
        # Whole degrees are restored exactly, so that quarter turns are exact.
        nearest = np.round(degrees)
        is_whole = np.abs(degrees - nearest) <= 1e-15 * np.abs(degrees)
        degrees = np.where(is_whole, nearest, degrees)
        return _rotation_matrices(degrees).swapaxes(1, 2), 0.0


def _within_one_turn(degrees: Floats) -> Floats:
    """Angles in [0, 360), equal if they are a whole turn apart."""
    return np.round(degrees % 360, 9) % 360


def _rotation_matrices(degrees: Floats) -> Floats:
    """Counter-clockwise rotations in (row, column), shape (r, 2, 2)."""
    cosines = special.cosdg(degrees)
    sines = special.sindg(degrees)
    matrices = np.empty((len(degrees), 2, 2))
    matrices[:, 0, 0] = cosines
    matrices[:, 0, 1] = -sines
    matrices[:, 1, 0] = sines
    matrices[:, 1, 1] = cosines
    return matrices


@arguments(**dict.fromkeys(("degrees", "factor", "shear", "shift"), kinds.Array(empty=True)))
def affine_maps(
    degrees: ArrayLike = 0.0,
    factor: ArrayLike = 1.0,
    *,
    shear: ArrayLike = 0.0,
    shift: ArrayLike = (0.0, 0.0),
) -> Floats:
    """Elements of `Affine`: scale, then shear, then rotate about the centre, then shift.

    The arguments are broadcast against each other: angles in degrees (counter-clockwise),
    isotropic factors, shears (columns moved right per row up) and shifts of shape (..., 2), in
    pixels (down, right). The result has shape (r, 2, 3): rows [A | b] of x -> A x + b in
    (row, column) about the centre.

    >>> affine_maps(degrees=[0, 90], shift=(1, 0)).shape
    (2, 2, 3)
    """
    try:
        # This also fails if the shifts have no last axis of length two.
        downs, rights = np.moveaxis(np.asarray(shift, dtype=float), -1, 0)
        arrays = np.broadcast_arrays(degrees, factor, shear, downs, rights)
        columns = [np.ravel(array).astype(float) for array in arrays]
    except ValueError as error:
        values = short((degrees, factor, shear, shift))
        rule = "degrees, factor, shear and shift (..., 2) must broadcast"
        raise ParameterError(f"{rule}, got {values}") from error
    angles, factors, shears, downs, rights = columns
    rotations = _rotation_matrices(angles)
    shear_matrices = np.broadcast_to(np.eye(2), rotations.shape).copy()
    shear_matrices[:, 1, 0] = -shears
    linear_parts = rotations @ shear_matrices * factors[:, None, None]
    shifts = np.stack([downs, rights], axis=1)
    return np.concatenate([linear_parts, shifts[:, :, None]], axis=2)


@stores_parameters
class Affine(_Interpolated):
    r"""Affine maps of an image about its centre: :math:`T_g I = |J_g|^{-1/2} I(g^{-1} x)`.

    Raj et al. 2017, lemma 2.1: with the factor, the action is unitary on functions of the plane;
    on pixels it is unitary up to interpolation and losses at the frame's edge
    (`departure_from_unitary`). An element is a matrix [A | b] of shape (2, 3), in (row, column)
    about the centre; `affine_maps` builds them.

    Parameters
    ----------
    shape, interpolation
        The same as in `Rotations`.
    rotation : Density or None
        Density of the angle in radians; None does not rotate.
    scaling : Density or None
        Density of the isotropic factor; None does not scale.
    translation : Density or None
        Density of the shift along each axis, in pixels; None does not shift.
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
        """The densities that are set, by the name of their parameter."""
        self._check()
        densities = {}
        for name in ("rotation", "scaling", "translation"):
            density = getattr(self, name)
            if density is not None:
                densities[name] = density
        return densities

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        """Whether q(g) = q(g^-1).

        This holds for one symmetric density alone, for symmetric rotation and scaling together,
        and for finitely many maps with all their inverses.
        """
        densities = self._densities()
        if self.maps is not None:
            maps = self.elements()
            return all(_contains(maps, inverse) for inverse in self.inverse(maps))
        # Rotations and isotropic scalings commute; any other pair does not, so that the inverse
        # runs through the parts in the opposite order.
        commutes = len(densities) <= 1 or set(densities) == {"rotation", "scaling"}
        return commutes and all(density.symmetric for density in densities.values())

    def _listed(self) -> Floats | None:
        if self.maps is None:
            return None
        return np.asarray(self.maps, dtype=float)

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> Floats:
        densities = self._densities()
        angles = np.zeros(n_samples)
        factors = np.ones(n_samples)
        shifts = np.zeros((n_samples, 2))
        if "rotation" in densities:
            angles = densities["rotation"].sample(n_samples, rng)
        if "scaling" in densities:
            factors = densities["scaling"].sample(n_samples, rng)
        if "translation" in densities:
            shifts = densities["translation"].sample((n_samples, 2), rng)
        return affine_maps(np.rad2deg(angles), factors, shift=shifts)

    def inverse(self, elements: ArrayLike) -> Floats:
        """Inverse maps; they undo the maps up to interpolation and losses at the frame's edge."""
        maps = self._check_elements(np.asarray(elements, dtype=float))
        linear_parts = np.linalg.inv(maps[:, :, :2])
        shifts = -linear_parts @ maps[:, :, 2:]
        return np.concatenate([linear_parts, shifts], axis=2)

    def _check_elements(self, elements: Floats, name: str = "elements") -> Floats:
        if not _are_invertible(elements):
            raise ParameterError(
                f"affine {name} must be finite, of shape (r, 2, 3), as affine_maps writes them; a "
                f"map with no inverse is not accepted; got {short(elements)}"
            )
        return elements.astype(float, copy=False)

    def _maps(self, elements: Floats) -> tuple[Floats, Floats]:
        inverses = np.linalg.inv(elements[:, :, :2])
        shifts = elements[:, :, 2]
        return inverses, shifts


def _are_invertible(maps: Floats) -> bool:
    """Whether affine maps are finite, of shape (r, 2, 3), and have inverses."""
    if maps.shape[1:] != (2, 3) or not np.isfinite(maps).all():
        return False
    determinants = np.linalg.det(maps[:, :, :2])
    return bool(np.all(np.abs(determinants) > 1e-12))


def _contains(maps: Floats, candidate: Floats) -> bool:
    """Whether one of the maps equals the candidate, up to rounding."""
    is_equal = np.isclose(maps, candidate).all(axis=(1, 2))
    return bool(is_equal.any())
