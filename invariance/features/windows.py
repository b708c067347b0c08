"""`draw_windowed_templates`: Gaussian templates that look at one place."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from sklearn.utils import check_random_state

__all__ = ["draw_windowed_templates"]


def draw_windowed_templates(
    n_templates: int,
    shape: tuple[int, int],
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
        Standard deviation in pixels of the Gaussian filter applied before the window.
    random_state : int, RandomState or None
        Places are uniform over the image, one width away from its border where there is room.

    Returns
    -------
    ndarray of shape (n_templates, height * width)

    Raises
    ------
    ValueError
        For a width that is not positive, a negative blur or no templates.

    Examples
    --------
    >>> templates = draw_windowed_templates(5, (28, 28), width=3.0, random_state=0)
    >>> templates.shape, np.linalg.norm(templates, axis=1).round(6)
    ((5, 784), array([1., 1., 1., 1., 1.]))
    """
    widths = np.broadcast_to(np.asarray(width, dtype=float), (2,))
    if n_templates < 1 or not np.all(widths > 0) or not blur >= 0:
        raise ValueError(
            f"windowed templates need n_templates >= 1, width > 0 and blur >= 0, got "
            f"n_templates={n_templates}, width={width!r}, blur={blur!r}"
        )
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
