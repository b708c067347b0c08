"""`make_textures`: spots and stripes, the offline stand-in for photographs."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from ..core.parameters import Positive, Seed, Whole, arguments
from .dataset import Dataset

__all__ = ["make_textures"]


@arguments(n_samples=Whole(3), length=Positive(), width=Positive(), random_state=Seed())
def make_textures(
    n_samples: int = 600,
    *,
    length: float = 3.0,
    width: float = 0.75,
    random_state: int | np.random.RandomState | None = None,
) -> Dataset:
    """Colour images of smoothed noise in the layout of `load_cifar10`: round spots, and stripes.

    Parameters
    ----------
    n_samples : int
    length, width : float
        Standard deviations, in pixels, of the Gaussian that smooths class 1, down and across; that
        of class 0 has 1.5 both ways. The nearer to 1.5, the harder to tell.
    random_state : int, RandomState or None

    Returns
    -------
    Dataset
        ``data`` uint8 (n, 32, 32, 3), ``target`` 0 and 1 by turns; two thirds are to learn from.

    Examples
    --------
    >>> textures = make_textures(30, random_state=0)
    >>> textures.data.shape, textures.n_train
    ((30, 32, 32, 3), 20)
    """
    from scipy import ndimage

    noise = check_random_state(random_state).standard_normal((n_samples, 32, 32, 3))
    labels = np.arange(n_samples) % 2
    for label, widths in enumerate([(1.5, 1.5), (length, width)]):
        rows = labels == label
        noise[rows] = ndimage.gaussian_filter(noise[rows], (0, *widths, 0))
    pixels = 128 + 40 * noise / noise.std(axis=(1, 2, 3), keepdims=True)
    return Dataset(
        pixels.clip(0, 255).astype(np.uint8),
        labels,
        description="made-up textures",
        n_train=2 * n_samples // 3,
    )
