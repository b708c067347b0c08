"""What interpolated maps of images about the centre of their frame have in common."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .base import Transformations
from .densities import Density
from .interpolation import ORDERS, resample
from .translations import image_shape

__all__ = ["Resampled", "ResampledWithJacobian", "listed", "normalised"]


class Resampled(Transformations):
    """Images moved by affine maps of the plane about the centre of the frame, zero outside."""

    unitary = False
    linear = True

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


class ResampledWithJacobian(Resampled):
    """Intensities times |J_g|^(-1/2), so that the action is unitary but for interpolation."""

    def _factors(self, inverses: NDArray) -> NDArray | None:
        return np.sqrt(np.abs(np.linalg.det(inverses))) if self.jacobian else None


def listed(values: ArrayLike, name: str) -> NDArray:
    """A parameter that lists the elements of a finite set, checked."""
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise ValueError(f"{name} must be a sequence of finite numbers, at least one, got {values}")
    return values


def normalised(weights: NDArray, density: Density) -> NDArray:
    """Weights of listed elements that add up to one."""
    if not weights.sum() > 0:
        raise ValueError(f"{density!r} gives none of the listed elements a positive weight")
    return weights / weights.sum()
