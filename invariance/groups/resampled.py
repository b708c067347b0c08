"""What interpolated maps of images about the centre of their frame have in common."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import Flag, OneOf, stores_parameters
from .base import Transformations
from .interpolation import ORDERS, resample
from .translations import IMAGE_SHAPE

__all__ = ["Resampled", "ResampledWithJacobian"]


@stores_parameters
class Resampled(Transformations):
    """Images moved by affine maps of the plane about the centre of the frame, zero outside."""

    unitary = False
    linear = True
    shape: Annotated[tuple[int, ...], IMAGE_SHAPE]
    _: KW_ONLY
    interpolation: Annotated[int, OneOf(*ORDERS)] = 3

    @abstractmethod
    def _maps(self, elements: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Inverse matrices (r, 2, 2) and shifts (r, 2) of x -> A x + b in (row, column)."""

    def _factors(self, inverses: NDArray[Any]) -> NDArray[Any] | None:
        return None

    def _act(self, elements: NDArray[Any], X: NDArray[Any]) -> NDArray[Any]:
        shape = tuple(self.shape)
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


@stores_parameters
class ResampledWithJacobian(Resampled):
    """Intensities times |J_g|^(-1/2), so that the action is unitary but for interpolation."""

    _: KW_ONLY
    jacobian: Annotated[bool, Flag()] = True

    def _factors(self, inverses: NDArray[Any]) -> NDArray[Any] | None:
        return np.sqrt(np.abs(np.linalg.det(inverses))) if self.jacobian else None
