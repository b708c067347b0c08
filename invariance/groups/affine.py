"""`Affine` maps of images about their centre, interpolated."""

from __future__ import annotations

from dataclasses import KW_ONLY
from math import inf
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ..core.parameters import Array, ParameterError, arguments, short, stores_parameters
from .densities import DENSITY, Density
from .resampled import ResampledWithJacobian

__all__ = ["Affine", "affine_maps"]


@arguments(
    **dict.fromkeys(("degrees", "factor", "shear", "shift"), Array(empty=True)),
)
def affine_maps(
    degrees: ArrayLike = 0.0,
    factor: ArrayLike = 1.0,
    *,
    shear: ArrayLike = 0.0,
    shift: ArrayLike = (0.0, 0.0),
) -> NDArray[Any]:
    """Elements of `Affine`: scale, then shear, then rotate about the centre, then shift.

    Parameters
    ----------
    degrees, factor, shear : array-like, broadcast against each other
        Angle in degrees (counter-clockwise), isotropic factor, and columns moved right per row up.
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
    moves = np.asarray(shift, dtype=float)
    if moves.shape[-1:] != (2,):
        raise ParameterError(
            f"affine_maps needs shift to have shape (..., 2), got {short(shift)} of shape "
            f"{moves.shape}"
        )
    parts = [np.asarray(p, dtype=float) for p in (degrees, factor, shear)]
    try:
        angles, factors, shears, down, right = (
            np.ravel(p) for p in np.broadcast_arrays(*parts, moves[..., 0], moves[..., 1])
        )
    except ValueError as error:
        raise ParameterError(
            "affine_maps needs degrees, factor, shear and shift of shapes that broadcast, got "
            f"{short((degrees, factor, shear, shift))}"
        ) from error
    c, s = special.cosdg(angles), special.sindg(angles)
    turn = np.stack([np.stack([c, -s], -1), np.stack([s, c], -1)], axis=1)
    lean = np.broadcast_to(np.eye(2), turn.shape).copy()
    lean[:, 1, 0] = -shears
    linear = turn @ lean * factors[:, None, None]
    return np.concatenate([linear, np.stack([down, right], -1)[..., None]], axis=2)


@stores_parameters
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
    scaling : Density or None
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
    >>> moves = Affine((32, 32, 3), rotation=VonMises(9), scaling=LogNormal(0.3),
    ...                translation=Normal(0.3))
    >>> moves.sample(5, random_state=0).shape, moves.symmetric
    ((5, 2, 3), False)
    """

    rotation: Annotated[Density | None, DENSITY] = None
    _: KW_ONLY
    scaling: Annotated[Density | None, DENSITY] = None
    shear: Annotated[Density | None, DENSITY] = None
    translation: Annotated[Density | None, DENSITY] = None
    maps: Annotated[ArrayLike | None, Array(3) | None] = None

    def _check_together(self) -> None:
        if self.maps is not None:
            self._check_elements(np.asarray(self.maps, dtype=float), "maps")

    def _densities(self) -> dict[str, Density]:
        self._check()
        names = ("rotation", "scaling", "shear", "translation")
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

    @property
    def order(self) -> int | float:
        self._check()
        return inf if self.maps is None else len(np.asarray(self.maps))

    def elements(self) -> NDArray[Any]:
        self._check()
        return super().elements() if self.maps is None else np.asarray(self.maps, dtype=float)

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> NDArray[Any]:
        if self.maps is not None:
            return self._from_listed(n_samples, rng)
        used = self._densities()

        def draw(name: str, default: float, *more: int) -> NDArray[Any]:
            size = (n_samples, *more)
            return used[name].sample(size, rng) if name in used else np.full(size, default)

        return affine_maps(
            np.rad2deg(draw("rotation", 0.0)),
            draw("scaling", 1.0),
            shear=draw("shear", 0.0),
            shift=draw("translation", 0.0, 2),
        )

    def compose(self, first: ArrayLike, second: ArrayLike) -> NDArray[Any]:
        """Products of the maps, second first; broadcasts. On pixels exact up to interpolation."""
        first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
        linear = first[..., :2] @ second[..., :2]
        shift = first[..., :2] @ second[..., 2:] + first[..., 2:]
        return np.concatenate([linear, shift], axis=-1)

    def inverse(self, elements: ArrayLike) -> NDArray[Any]:
        """Inverse maps; undone up to interpolation and what left the frame."""
        maps = self._check_elements(np.asarray(elements, dtype=float))
        linear = np.linalg.inv(maps[:, :, :2])
        return np.concatenate([linear, -linear @ maps[:, :, 2:]], axis=2)

    def _check_elements(self, elements: NDArray[Any], name: str = "elements") -> NDArray[Any]:
        if elements.shape[1:] != (2, 3) or (name == "maps" and not len(elements)):
            raise ParameterError(
                f"affine {name} must have shape (r, 2, 3), at least one, got {elements.shape}: "
                "affine_maps writes them, and maps=None draws from the densities"
            )
        if not np.isfinite(elements).all():
            raise ParameterError(
                f"affine {name} must be finite numbers, got {elements[~np.isfinite(elements)][0]}"
            )
        if not np.all(np.abs(np.linalg.det(elements[:, :, :2])) > 1e-12):
            raise ParameterError(
                f"affine {name} must be invertible: one squeezes the plane into a line; it has no "
                f"inverse; got {short(elements)}"
            )
        return elements.astype(float, copy=False)

    def _maps(self, elements: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        return np.linalg.inv(elements[:, :, :2]), elements[:, :, 2]
