"""`Affine` maps of images about their centre, interpolated."""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from sklearn.utils import check_random_state

from .densities import Density, own_density
from .resampled import ResampledWithJacobian

__all__ = ["Affine", "affine_maps"]


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


class Affine(ResampledWithJacobian):
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
