"""`Rotations`, `Scalings` and general `Affine` maps of images in a fixed frame, interpolated."""

from __future__ import annotations

from abc import abstractmethod
from math import inf

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from sklearn.utils import check_random_state

from .base import Transformations
from .densities import Density, LogNormal, Uniform, own_density
from .interpolation import ORDERS, resample
from .translations import image_shape

__all__ = ["Affine", "Rotations", "Scalings", "affine_maps"]


class _Resampled(Transformations):
    """Images moved by affine maps of the plane about the centre of the frame, zero outside."""

    unitary = False

    # `shape` is a constructor argument of the subclasses, where the base class computes it.
    shape = None

    @abstractmethod
    def _maps(self, elements: NDArray) -> tuple[NDArray, NDArray]:
        """Inverse matrices (r, 2, 2) and shifts (r, 2) of x -> A x + b in (row, column)."""

    def _factors(self, inverses: NDArray) -> NDArray | None:
        return None

    def _act(self, elements: NDArray, X: NDArray) -> NDArray:
        shape = image_shape(self.shape)
        if self.interpolation not in ORDERS:
            raise ValueError(
                f"interpolation must be of order 1 (bilinear) or 3 (cubic spline), got "
                f"{self.interpolation!r}"
            )
        inverses, shifts = self._maps(elements)
        centre = (np.array(shape[:2]) - 1) / 2
        # Position A^-1 (y - centre - b) + centre of the image is seen at y.
        offsets = centre - np.einsum("rij,rj->ri", inverses, centre + shifts)
        n_channels = shape[2] if len(shape) == 3 else 1
        planes = X.reshape(len(X), *shape[:2], n_channels)
        planes = np.ascontiguousarray(planes.transpose(0, 3, 1, 2)).reshape(-1, *shape[:2])
        moved = resample(inverses, offsets, self._factors(inverses), planes, self.interpolation)
        if n_channels > 1:
            moved = moved.reshape(len(elements), len(X), n_channels, *shape[:2])
            moved = moved.transpose(0, 1, 3, 4, 2)
        return moved.reshape(len(elements), *X.shape)

def _normalised(weights: NDArray, density: Density) -> NDArray:
    if not weights.sum() > 0:
        raise ValueError(f"{density!r} gives none of the listed elements a positive weight")
    return weights / weights.sum()


def _listed(values: ArrayLike, name: str) -> NDArray:
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise ValueError(f"{name} must be a sequence of finite numbers, at least one, got {values}")
    return values


class Rotations(_Resampled):
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
        return not np.any(_listed(self.degrees, "degrees") % (90 if height == width else 180))

    @property
    def symmetric(self) -> bool:
        density = own_density(self)
        if density is not None and not density.symmetric:
            return False
        if self.degrees is None:
            return True
        turns = np.round(_listed(self.degrees, "degrees") % 360, 9) % 360
        return set(turns) == set(np.round(-turns % 360, 9) % 360)

    @property
    def order(self) -> int | float:
        return inf if self.degrees is None else len(_listed(self.degrees, "degrees"))

    def elements(self) -> NDArray:
        """The angles in degrees, shape (r,), as given."""
        if self.degrees is None:
            return super().elements()
        return _listed(self.degrees, "degrees")

    def weights(self) -> NDArray | None:
        density = own_density(self)
        if self.degrees is None or density is None:
            return None
        # Densities on the circle are written on (-pi, pi].
        radians = np.deg2rad(-((180 - self.elements()) % 360 - 180))
        return _normalised(density.pdf(radians), density)

    def sample(self, n_samples: int, random_state=None) -> NDArray:
        rng = check_random_state(random_state)
        if self.degrees is not None:
            angles = self.elements()
            return angles[rng.choice(len(angles), size=n_samples, p=self.weights())]
        density = own_density(self) or Uniform()
        return np.rad2deg(density.sample(n_samples, rng))

    def inverse(self, elements: ArrayLike) -> NDArray:
        """Opposite angles; undone up to interpolation and lost corners."""
        return -np.asarray(elements)

    def _maps(self, elements: NDArray) -> tuple[NDArray, NDArray]:
        if elements.ndim != 1:
            raise ValueError(f"angles must have shape (r,), got {elements.shape}")
        c, s = special.cosdg(elements), special.sindg(elements)
        inverses = np.stack([np.stack([c, s], -1), np.stack([-s, c], -1)], axis=1)
        return inverses, np.zeros((len(elements), 2))


class _Jacobian(_Resampled):
    """Intensities times |J_g|^(-1/2), so that the action is unitary but for interpolation."""

    def _factors(self, inverses: NDArray) -> NDArray | None:
        return np.sqrt(np.abs(np.linalg.det(inverses))) if self.jacobian else None


class Scalings(_Jacobian):
    """Magnifications of an image about its centre, by interpolation, in a fixed frame.

    An element is a factor; above one the content grows.

    Parameters
    ----------
    shape : tuple
        (height, width) or (height, width, channels).
    scales : sequence of float or None
        A finite set of factors. None takes all positive ones.
    density : Density or None
        On the factor. With ``scales`` it weighs them, as a density of log(factor), where 1/2 and 2
        mirror each other; without, factors are drawn from it, and None is ``LogNormal(0.3)``.
    interpolation : {1, 3}
    jacobian : bool
        Whether intensities are multiplied by |J_g|^(-1/2) = 1 / factor (Raj et al. 2017, lemma
        2.1), which keeps the energy.

    Examples
    --------
    >>> zooms = Scalings((8, 8), scales=[0.5, 1, 2])
    >>> zooms.order, zooms.symmetric
    (3, True)
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        scales: ArrayLike | None = None,
        density: Density | None = None,
        interpolation: int = 3,
        jacobian: bool = True,
    ):
        self.shape = shape
        self.scales = scales
        self.density = density
        self.interpolation = interpolation
        self.jacobian = jacobian

    @property
    def symmetric(self) -> bool:
        density = own_density(self)
        if self.scales is None:
            return density is None or density.symmetric
        if density is not None:
            weights = dict(zip(self.elements(), self.weights(), strict=True))
        else:
            weights = dict.fromkeys(self.elements(), 1.0)
        return all(
            any(np.isclose(1 / s, t) and np.isclose(w, v) for t, v in weights.items())
            for s, w in weights.items()
        )

    @property
    def order(self) -> int | float:
        return inf if self.scales is None else len(_listed(self.scales, "scales"))

    def elements(self) -> NDArray:
        """The factors, shape (r,), as given."""
        return super().elements() if self.scales is None else _listed(self.scales, "scales")

    def weights(self) -> NDArray | None:
        density = own_density(self)
        if self.scales is None or density is None:
            return None
        factors = self.elements()
        return _normalised(density.pdf(factors) * factors, density)

    def sample(self, n_samples: int, random_state=None) -> NDArray:
        rng = check_random_state(random_state)
        if self.scales is not None:
            factors = self.elements()
            return factors[rng.choice(len(factors), size=n_samples, p=self.weights())]
        density = own_density(self) or LogNormal(0.3)
        return density.sample(n_samples, rng)

    def inverse(self, elements: ArrayLike) -> NDArray:
        """Reciprocal factors; undone up to interpolation and what left the frame."""
        return 1 / np.asarray(elements)

    def _maps(self, elements: NDArray) -> tuple[NDArray, NDArray]:
        if elements.ndim != 1 or not np.all(elements > 0):
            raise ValueError(f"scales must be positive numbers of shape (r,), got {elements}")
        inverses = np.eye(2) / elements[:, None, None]
        return inverses, np.zeros((len(elements), 2))


def affine_maps(
    degrees: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    shear: ArrayLike = 0.0,
    shift: ArrayLike = (0.0, 0.0),
) -> NDArray:
    """Elements of `Affine`: scale, then shear, then rotate about the centre, then shift.

    Parameters
    ----------
    degrees, scale, shear : array-like, broadcast against each other
        Angle (counter-clockwise), isotropic factor, and columns moved right per row up.
    shift : array-like of shape (..., 2)
        Pixels (down, right).

    Returns
    -------
    ndarray of shape (r, 2, 3), rows [A | b] of x -> A x + b in (row, column) about the centre

    Examples
    --------
    >>> affine_maps(degrees=[0, 90], shift=(1, 0)).shape
    (2, 2, 3)
    """
    shift = np.asarray(shift, dtype=float)
    if shift.shape[-1:] != (2,):
        raise ValueError(f"shift must have shape (..., 2), got {shift.shape}")
    parts = [np.asarray(p, dtype=float) for p in (degrees, scale, shear)]
    degrees, scale, shear, down, right = (
        np.ravel(p) for p in np.broadcast_arrays(*parts, shift[..., 0], shift[..., 1])
    )
    c, s = special.cosdg(degrees), special.sindg(degrees)
    turn = np.stack([np.stack([c, -s], -1), np.stack([s, c], -1)], axis=1)
    lean = np.broadcast_to(np.eye(2), turn.shape).copy()
    lean[:, 1, 0] = -shear
    linear = turn @ lean * scale[:, None, None]
    return np.concatenate([linear, np.stack([down, right], -1)[..., None]], axis=2)


class Affine(_Jacobian):
    r"""Affine maps of an image about its centre: :math:`T_g I = |J_g|^{-1/2} I(g^{-1} x)`.

    Raj et al. 2017, lemma 2.1: with the factor the action is unitary on functions of the plane;
    on pixels it is so up to interpolation and what leaves the frame (`departure_from_unitary`). An
    element is a matrix [A | b] of shape (2, 3), in (row, column) about the centre; `affine_maps`
    writes them.

    Parameters
    ----------
    shape : tuple
        (height, width) or (height, width, channels).
    rotation : Density or None
        Of the angle in radians; None does not rotate.
    scale : Density or None
        Of the isotropic factor; None does not scale.
    shear : Density or None
    translation : Density or None
        Of the shift along each axis, in pixels.
    maps : array of shape (r, 2, 3) or None
        A finite set of elements instead of the densities.
    interpolation : {1, 3}
    jacobian : bool
        Whether the factor |J_g|^(-1/2) is applied.

    Examples
    --------
    >>> from invariance.groups import LogNormal, Normal, VonMises
    >>> moves = Affine((32, 32, 3), rotation=VonMises(9), scale=LogNormal(0.3),
    ...                translation=Normal(0.3))
    >>> moves.sample(5, random_state=0).shape, moves.symmetric
    ((5, 2, 3), False)
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        rotation: Density | None = None,
        scale: Density | None = None,
        shear: Density | None = None,
        translation: Density | None = None,
        maps: ArrayLike | None = None,
        interpolation: int = 3,
        jacobian: bool = True,
    ):
        self.shape = shape
        self.rotation = rotation
        self.scale = scale
        self.shear = shear
        self.translation = translation
        self.maps = maps
        self.interpolation = interpolation
        self.jacobian = jacobian

    @property
    def symmetric(self) -> bool:
        """Whether q(g) = q(g^-1): one symmetric density alone, or rotation and scale together."""
        if self.maps is not None:
            mine, opposite = self.elements(), self.inverse(self.elements())
            return all(np.isclose(mine, g).all(axis=(1, 2)).any() for g in opposite)
        used = {
            name: density
            for name in ("rotation", "scale", "shear", "translation")
            if (density := own_density(self, name)) is not None
        }
        # Rotations and isotropic scalings commute; any other pair does not, so that the inverse
        # runs through the parts in the other order.
        commute = len(used) <= 1 or set(used) == {"rotation", "scale"}
        return commute and all(density.symmetric for density in used.values())

    @property
    def order(self) -> int | float:
        return inf if self.maps is None else len(self._checked(self.maps))

    def elements(self) -> NDArray:
        return super().elements() if self.maps is None else self._checked(self.maps)

    def sample(self, n_samples: int, random_state=None) -> NDArray:
        rng = check_random_state(random_state)
        if self.maps is not None:
            maps = self.elements()
            return maps[rng.randint(len(maps), size=n_samples)]

        def draw(name: str, default: float, *more: int) -> NDArray:
            density, size = own_density(self, name), (n_samples, *more)
            return np.full(size, default) if density is None else density.sample(size, rng)

        return affine_maps(
            np.rad2deg(draw("rotation", 0.0)),
            draw("scale", 1.0),
            draw("shear", 0.0),
            draw("translation", 0.0, 2),
        )

    def compose(self, first: ArrayLike, second: ArrayLike) -> NDArray:
        """Products of the maps, second first; broadcasts. On pixels exact up to interpolation."""
        first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
        linear = first[..., :2] @ second[..., :2]
        shift = first[..., :2] @ second[..., 2:] + first[..., 2:]
        return np.concatenate([linear, shift], axis=-1)

    def inverse(self, elements: ArrayLike) -> NDArray:
        """Inverse maps; undone up to interpolation and what left the frame."""
        elements = self._checked(elements)
        linear = np.linalg.inv(elements[:, :, :2])
        return np.concatenate([linear, -linear @ elements[:, :, 2:]], axis=2)

    @staticmethod
    def _checked(maps: ArrayLike) -> NDArray:
        maps = np.asarray(maps, dtype=float)
        if maps.ndim != 3 or maps.shape[1:] != (2, 3) or not len(maps):
            raise ValueError(
                f"affine maps must have shape (r, 2, 3), at least one, got {maps.shape}: "
                "affine_maps writes them, and maps=None draws from the densities"
            )
        if not np.isfinite(maps).all():
            raise ValueError(
                f"affine maps must be finite numbers, got {maps[~np.isfinite(maps)][0]}"
            )
        if not np.all(np.abs(np.linalg.det(maps[:, :, :2])) > 1e-12):
            raise ValueError("an affine map squeezes the plane into a line; it has no inverse")
        return maps

    def _maps(self, elements: NDArray) -> tuple[NDArray, NDArray]:
        elements = self._checked(elements)
        return np.linalg.inv(elements[:, :, :2]), elements[:, :, 2]
