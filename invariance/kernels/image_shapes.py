"""Images as rows, for kernels whose group or base kernel has the shape of the images."""

from __future__ import annotations

from math import prod
from typing import Any

from ..core.kernel_matrix import takes_sets


def images_as_rows(kernel: Any, X: Any) -> Any:
    """Return images (n, height, width, ...) of the kernel's shape as rows; other points stay.

    >>> import numpy as np
    >>> from invariance.groups import Translations
    >>> from invariance.kernels import Average, Gaussian
    >>> images_as_rows(Average(Gaussian(), Translations((3, 4), 1)), np.ones((2, 3, 4))).shape
    (2, 12)
    """
    if getattr(X, "ndim", 0) < 3 or takes_sets(kernel):
        return X
    shape = tuple(X.shape[1:])
    if shape not in _shapes(kernel):
        return X
    return X.reshape(X.shape[0], prod(shape))


def _shapes(kernel: Any) -> set[tuple[int, ...]]:
    """Return the shapes of images that a kernel's group or base kernel has."""
    shapes = set()
    for shape in (getattr(kernel, "point_shape", None), _shape_of_group(kernel)):
        if shape is None:
            continue
        shapes.add(tuple(shape))
        if len(shape) == 3 and shape[2] == 1:
            shapes.add(tuple(shape[:2]))
    base = getattr(kernel, "base", None)
    if base is not None:
        shapes |= _shapes(base)
    return shapes


def _shape_of_group(kernel: Any) -> tuple[int, ...] | None:
    shape: tuple[int, ...] | None = getattr(getattr(kernel, "group", None), "shape", None)
    return shape
