"""`draw_windowed_templates`: Gaussian templates that look at one place."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from sklearn.utils import check_random_state

from ..core.parameters import (
    Number,
    ParameterError,
    Seed,
    Shape,
    Whole,
    arguments,
    check_memory,
    check_values,
    short,
)

__all__ = ["draw_windowed_templates"]


@arguments(n_templates=Whole(1), shape=Shape(2), random_state=Seed())
def draw_windowed_templates(
    n_templates: int,
    shape: tuple[int, int],
    *,
    width: float | tuple[float, float],
    blur: float = 0.0,
    random_state=None,
) -> NDArray[np.float64]:
    """Gaussian images under a Gaussian window at a random place, of unit norm.

    With an infinite window and no blur these are templates uniform on the sphere (Mroueh et al.
    2015, remark 1). A window makes a template answer to one part of an image, so that pooling
    over small translations and rotations forgets where a stroke is rather than how it looks.

    Parameters
    ----------
    n_templates : int
    shape : tuple (height, width)
    width : float or pair of floats
        Standard deviation of the window in pixels (along each axis).
    blur : float
        Standard deviation in pixels of the Gaussian filter applied before the window, at most the
        image's longer side.
    random_state : int, RandomState or None
        Places are uniform over the image, one width away from its border where there is room.

    Returns
    -------
    ndarray of shape (n_templates, height * width)

    Raises
    ------
    ValueError
        For a width that is not positive, a negative blur, no templates or a wrong shape.

    Examples
    --------
    >>> templates = draw_windowed_templates(5, (28, 28), width=3.0, random_state=0)
    >>> templates.shape, np.linalg.norm(templates, axis=1).round(6)
    ((5, 784), array([1., 1., 1., 1., 1.]))
    """
    check_values("draw_windowed_templates", {"blur": Number(0, max(shape))}, {"blur": blur})
    widths = _widths(width)
    size = 8 * n_templates * int(shape[0]) * int(shape[1])
    check_memory(f"draw_windowed_templates with {shape=}", size, n_templates=n_templates)
    rng = check_random_state(random_state)
    templates = rng.standard_normal((n_templates, *shape))
    if blur:
        templates = ndimage.gaussian_filter(templates, (0, blur, blur), mode="wrap")
    for axis, (length, sd) in enumerate(zip(shape, widths, strict=True)):
        if np.isinf(sd):
            continue
        margin = min(sd, (length - 1) / 2)
        centres = rng.uniform(margin, length - 1 - margin, size=(n_templates, 1))
        window = np.exp(-0.5 * np.square((np.arange(length) - centres) / sd))
        templates *= np.expand_dims(window, 2 - axis)
    templates = templates.reshape(n_templates, -1)
    return templates / np.linalg.norm(templates, axis=1, keepdims=True)


def _widths(width: float | tuple[float, float]) -> NDArray[np.float64]:
    """Along both axes; an infinite one, which is no window, will do."""
    try:
        widths = np.broadcast_to(np.asarray(width), (2,))
    except ValueError:
        widths = np.zeros(2)
    if widths.dtype.kind not in "iuf" or not np.all(widths >= 0.1):
        raise ParameterError(
            "draw_windowed_templates needs width > 0, at least 0.1 pixels, a number or a pair, got "
            f"{short(width)}"
        )
    return widths.astype(np.float64)
