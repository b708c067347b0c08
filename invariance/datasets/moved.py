"""`make_rotated_mnist`, `make_translated_mnist`, `deform_images`: images moved at random."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ..core.parameters import Array, Number, ParameterError, Seed, Whole, arguments, short
from .dataset import Dataset, withheld
from .images import load_mnist


def _given(
    images: ArrayLike | None, labels: ArrayLike | None
) -> tuple[NDArray[np.float32], NDArray[Any], str, Mapping[str, str], int | None]:
    """float32 pixels in [0, 1], labels, name and checksums of the data, and its own split."""
    name, n_train = "given images", None
    sources: Mapping[str, str] = {}
    if images is None:
        with withheld(False):  # what is made of them knows its own split
            mnist = load_mnist()
        images, labels = mnist.data, mnist.target
        name, sources, n_train = "MNIST", mnist.sources, mnist.n_train
    if np.issubdtype(getattr(images, "dtype", np.float64), np.bool_):
        images = np.asarray(images, dtype=np.float32)
    if not Array(3).accepts(images):
        raise ParameterError(
            f"images must be finite numbers of shape (n, height, width), got {short(images)}"
        )
    pixels = np.asarray(images)
    classes = np.asarray(labels)
    if labels is None or classes.shape[:1] != pixels.shape[:1]:
        raise ParameterError(
            f"images of shape {pixels.shape} need as many labels, {len(pixels)}, got "
            f"{short(labels)}"
        )
    scale = np.float32(255 if np.issubdtype(pixels.dtype, np.integer) else 1)
    return pixels.astype(np.float32) / scale, classes, name, sources, n_train


def _with_noise(
    canvas: NDArray[np.float32], noise: float, rng: np.random.RandomState
) -> NDArray[np.float32]:
    if noise > 0:
        canvas += (noise * rng.standard_normal(canvas.shape)).astype(np.float32)
    return canvas


@arguments(canvas=Whole(1), noise=Number(0, 1e30), random_state=Seed())
def make_translated_mnist(
    images: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    *,
    canvas: int = 64,
    noise: float = 0.0,
    random_state: int | np.random.RandomState | None = None,
) -> Dataset:
    """Images at uniformly random places of a zero canvas, as in Liu et al. 2022, section 4.

    Parameters
    ----------
    images, labels : arrays of shape (n, height, width) and (n,), or None
        None takes all of MNIST. Integers are divided by 255.
    canvas : int
        Side of the canvas; offsets are uniform on 0..canvas - side (0..36 for MNIST on 64).
    noise : float
        Standard deviation of normal noise on every pixel of the canvas: the paper adds 0.1, its
        public code none.
    random_state : int, RandomState or None

    Returns
    -------
    Dataset
        ``data`` float32 of shape (n, canvas, canvas); ``offsets`` (n, 2), down and right.

    Raises
    ------
    ParameterError
        When the canvas is smaller than the images.

    Examples
    --------
    >>> moved = make_translated_mnist(np.ones((5, 8, 8)), np.arange(5), canvas=10, random_state=0)
    >>> moved.data.shape, float(moved.data[0].sum())
    ((5, 10, 10), 64.0)
    """
    pixels, classes, name, sources, own_split = _given(images, labels)
    rng = check_random_state(random_state)
    room = canvas - np.array(pixels.shape[1:])
    if np.any(room < 0):
        raise ParameterError(
            f"images of shape {pixels.shape[1:]} do not fit on a canvas of side {canvas}"
        )
    offsets = rng.randint(0, room + 1, size=(len(pixels), 2))
    moved = np.zeros((len(pixels), canvas, canvas), dtype=np.float32)
    for place, image, (down, right) in zip(moved, pixels, offsets, strict=True):
        place[down : down + image.shape[0], right : right + image.shape[1]] = image
    return Dataset(
        _with_noise(moved, noise, rng),
        classes,
        description=f"{name} translated on a {canvas} x {canvas} canvas",
        n_train=own_split,
        sources=sources,
        details={"offsets": offsets},
    )


@arguments(
    canvas=Whole(1) | None,
    n_train=Whole(0) | None,
    n_test=Whole(0) | None,
    interpolation=Whole(0, 5) | None,
    noise=Number(0, 1e30),
    random_state=Seed(),
)
def make_rotated_mnist(
    images: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    *,
    canvas: int | None = None,
    n_train: int | None = 12_000,
    n_test: int | None = 50_000,
    interpolation: int | None = None,
    noise: float = 0.0,
    never_test: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Dataset:
    """Images rotated by uniformly random angles, in either paper's way.

    Without a canvas: the benchmark of Larochelle et al. 2007 that Raj et al. 2017 use, rebuilt.
    ``n_train + n_test`` different images are drawn and turned by a real angle, in their own frame,
    with zero fill and bilinear interpolation. With a canvas: Liu et al. 2022. All images in the
    given order, turned by a whole degree, with cubic splines, centred on the canvas.

    Parameters
    ----------
    images, labels : as in `make_translated_mnist`
    canvas : int or None
        64 in Liu et al. 2022.
    n_train, n_test : int or None
        Without a canvas: sizes of the two disjoint parts. None as ``n_test`` takes the rest.
    interpolation : int or None
        Order of the splines, 0 to 5; None is 1 without a canvas and 3 with one.
    noise : float
        Standard deviation of the normal noise that fills what the turned frame leaves blank.
    never_test : array-like of int, or None
        Without a canvas: images that never come into the test part, such as those that settings
        were chosen on in another draw.
    random_state : int, RandomState or None

    Returns
    -------
    Dataset
        ``data`` float32; ``degrees`` (n,); ``rows``: which of the images were taken.

    Examples
    --------
    >>> from invariance.datasets import load_digits_images
    >>> digits = load_digits_images()
    >>> turned = make_rotated_mnist(digits.data, digits.target, n_train=100, n_test=200,
    ...                             random_state=0)
    >>> turned.data.shape, turned.n_train
    ((300, 28, 28), 100)
    """
    pixels, classes, name, sources, own_split = _given(images, labels)
    rng = check_random_state(random_state)
    if canvas is None:  # Raj et al. 2017
        rows, n_train = _drawn_rows(len(pixels), n_train, n_test, never_test, rng)
        degrees = rng.uniform(-180, 180, size=len(rows))
        shape, order, where = pixels.shape[1:], 1, "in its frame (rebuilt)"
    else:  # Liu et al. 2022
        rows, n_train = np.arange(len(pixels)), own_split
        degrees = rng.randint(-180, 180, size=len(rows))
        shape, order, where = (canvas, canvas), 3, f"on a {canvas} x {canvas} canvas"
    order = order if interpolation is None else interpolation
    turned = _turned(pixels[rows], degrees, shape, order, canvas is not None)
    if noise > 0:
        frames = np.ones((1, *pixels.shape[1:]), np.float32).repeat(len(rows), axis=0)
        filled = _turned(frames, degrees, shape, 0, canvas is not None) > 0
        turned = np.where(filled, turned, _with_noise(turned.copy(), noise, rng))
    made = {"description": f"{name} rotated {where}", "n_train": n_train, "sources": sources}
    return Dataset(turned, classes[rows], details={"degrees": degrees, "rows": rows}, **made)


def _drawn_rows(
    n: int,
    n_train: int | None,
    n_test: int | None,
    never_test: ArrayLike | None,
    rng: np.random.RandomState,
) -> tuple[NDArray[np.int64], int]:
    """Different rows, those for training first, and how many these are."""
    n_train = n if n_train is None else n_train
    n_test = n - n_train if n_test is None else n_test
    if not n_train <= n_train + n_test <= n:
        raise ParameterError(
            f"{n_train} training and {n_test} test images were asked for, {n} are there: give "
            "smaller n_train and n_test"
        )
    rows = rng.permutation(n)
    if never_test is None:
        return rows[: n_train + n_test], n_train
    free = rows[~np.isin(rows, never_test)]
    if len(free) < n_test:
        raise ParameterError(
            f"{n_test} test images were asked for, {len(free)} are there without those of "
            "never_test"
        )
    tests = free[len(free) - n_test :]
    return np.concatenate([rows[~np.isin(rows, tests)][:n_train], tests]), n_train


def _turned(
    images: NDArray[np.float32],
    degrees: NDArray[Any],
    shape: tuple[int, ...],
    order: int,
    reshape: bool,
) -> NDArray[np.float32]:
    """Each image turned by its angle, in the middle of a blank one of that shape."""
    from scipy import ndimage

    turned = np.zeros((len(images), *shape), dtype=np.float32)
    for place, image, angle in zip(turned, images, degrees, strict=True):
        moved = ndimage.rotate(image, angle, order=order, reshape=reshape)
        top, left = (np.array(shape) - moved.shape) // 2
        if min(top, left) < 0:
            raise ParameterError(
                f"an image turned by {angle} degrees has shape {moved.shape} and does not fit on a "
                f"canvas of side {shape[0]}"
            )
        place[top : top + moved.shape[0], left : left + moved.shape[1]] = moved
    return turned


@arguments(
    images=Array(3),
    linear=Number(0, 1),
    shift=Number(0, 1e6),
    bend=Number(0, 1e6),
    smoothness=Number(above=0, most=1e6),
    random_state=Seed(),
)
def deform_images(
    images: ArrayLike,
    *,
    linear: float = 0.1,
    shift: float = 0.7,
    bend: float = 0.6,
    smoothness: float = 4.0,
    random_state: int | np.random.RandomState | None = None,
) -> NDArray[Any]:
    """Images under small deformations, another one for each, with bilinear interpolation.

    The value at p comes from A p + b + u(p), with places counted from the centre: A is the
    identity and normal noise, b a normal shift, and u a smooth normal field.

    Parameters
    ----------
    images : array-like of shape (n, height, width)
    linear : float
        Standard deviation of the entries of A.
    shift, bend : float
        Of the two components of b and of u, in pixels.
    smoothness : float
        Standard deviation, in pixels, of the Gaussian that noise is smoothed with to give u.
    random_state : int, RandomState or None

    Returns
    -------
    ndarray of shape (n, height, width), of the images' floating type; zeros come in from outside

    Examples
    --------
    >>> squares = np.zeros((2, 28, 28))
    >>> squares[:, 9:19, 9:19] = 1
    >>> copies = deform_images(squares, random_state=0)
    >>> bool(np.any(copies[0] != copies[1]))
    True
    """
    from scipy import ndimage

    given = np.asarray(images)
    given = given if np.issubdtype(given.dtype, np.floating) else given.astype(np.float64)
    rng = check_random_state(random_state)
    height, width = given.shape[1:]
    centre = np.array([height - 1, width - 1]) / 2
    grid = np.indices((height, width)) - centre[:, None, None]
    out = np.empty_like(given)
    for image, place in zip(given, out, strict=True):
        matrix = np.eye(2) + linear * rng.standard_normal((2, 2))
        noise = rng.standard_normal((2, height, width))
        field = ndimage.gaussian_filter(noise, (0, smoothness, smoothness), mode="wrap")
        field *= bend / (np.sqrt(np.mean(field**2)) or 1)
        offset = centre + shift * rng.standard_normal(2)
        points = np.tensordot(matrix, grid, axes=1) + offset[:, None, None] + field
        ndimage.map_coordinates(image, points, order=1, output=place)
    return out
