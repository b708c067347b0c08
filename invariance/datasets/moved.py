"""MNIST's images, or your own, moved at random: translated, rotated and deformed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage
from sklearn.utils import check_random_state

from ..core.parameters import Array, Number, ParameterError, Seed, Whole, arguments, short
from .dataset import Dataset, Random, withheld
from .images import load_mnist


def _given(
    images: ArrayLike | None, labels: ArrayLike | None
) -> tuple[NDArray[np.float32], Callable[..., Dataset]]:
    """float32 pixels in [0, 1], and what makes a data set of them once they are moved."""
    name, own_split, sources = "given images", None, dict[str, str]()
    if images is None:
        with withheld(False):  # what is made of them knows its own split
            mnist = load_mnist()
        images, labels = mnist.data, mnist.target
        name, sources, own_split = "MNIST", dict(mnist.sources), mnist.n_train
    if getattr(images, "dtype", None) == np.bool_:
        images = np.asarray(images, dtype=np.float32)
    if not Array(3).accepts(images):
        due = "finite numbers of shape (n, height, width)"
        raise ParameterError(f"images must be {due}, got {short(images)}")
    pixels, classes = np.asarray(images), np.asarray(labels)
    if labels is None or classes.shape[:1] != pixels.shape[:1]:
        due = f"{len(pixels)}, as many as images"
        raise ParameterError(f"labels must be {due}, got {short(labels)}")
    scale = np.float32(255 if np.issubdtype(pixels.dtype, np.integer) else 1)

    def moved(data: NDArray[Any], how: str, n_train: int | None = own_split, **details: Any):
        target = classes[details.get("rows", slice(None))]
        more: Any = {"description": f"{name} {how}", "n_train": n_train, "sources": sources}
        return Dataset(data, target, **more, details=details)

    return pixels.astype(np.float32) / scale, moved


def _noise(shape: tuple[int, ...], noise: float, rng: np.random.RandomState) -> NDArray[np.float32]:
    return (noise * rng.standard_normal(shape)).astype(np.float32)


@arguments(canvas=Whole(1), noise=Number(0, 1e30), random_state=Seed())
def make_translated_mnist(
    images: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    *,
    canvas: int = 64,
    noise: float = 0.0,
    random_state: Random = None,
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

    Returns
    -------
    Dataset
        ``data`` float32 of shape (n, canvas, canvas); ``offsets`` (n, 2), down and right.

    >>> moved = make_translated_mnist(np.ones((5, 8, 8)), np.arange(5), canvas=10, random_state=0)
    >>> moved.data.shape, float(moved.data[0].sum())
    ((5, 10, 10), 64.0)
    """
    pixels, made = _given(images, labels)
    rng = check_random_state(random_state)
    room = canvas - np.array(pixels.shape[1:])
    if np.any(room < 0):
        raise ParameterError(f"images of shape {pixels.shape[1:]} do not fit on {canvas=}")
    offsets = rng.randint(0, room + 1, size=(len(pixels), 2))
    moved = np.zeros((len(pixels), canvas, canvas), dtype=np.float32)
    for place, image, (down, right) in zip(moved, pixels, offsets, strict=True):
        place[down : down + image.shape[0], right : right + image.shape[1]] = image
    if noise > 0:
        moved += _noise(moved.shape, noise, rng)
    return made(moved, f"translated on a {canvas} x {canvas} canvas", offsets=offsets)


@arguments(canvas=Whole(1), noise=Number(0, 1e30), random_state=Seed())
def make_rotated_on_canvas(
    images: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    *,
    canvas: int = 64,
    noise: float = 0.0,
    random_state: Random = None,
) -> Dataset:
    """Images turned by a random whole degree, centred on a canvas, as in Liu et al. 2022.

    By cubic splines, in the order given. Parameters are those of `make_translated_mnist`, but the
    noise fills what the turned frame leaves blank (section 4.1 of the paper), and nothing else.

    Returns
    -------
    Dataset
        ``data`` float32 of shape (n, canvas, canvas); ``degrees`` (n,).

    >>> turned = make_rotated_on_canvas(np.ones((5, 8, 8)), np.arange(5), canvas=12, random_state=0)
    >>> turned.data.shape
    (5, 12, 12)
    """
    pixels, made = _given(images, labels)
    rng = check_random_state(random_state)
    degrees = rng.randint(-180, 180, size=len(pixels))
    turned = _on_canvas(pixels, degrees, canvas, 3)
    if noise > 0:
        frames = np.ones((1, *pixels.shape[1:]), np.float32).repeat(len(pixels), axis=0)
        blank = _on_canvas(frames, degrees, canvas, 0) <= 0
        turned = np.where(blank, turned + _noise(turned.shape, noise, rng), turned)
    return made(turned, f"rotated on a {canvas} x {canvas} canvas", degrees=degrees)


def _on_canvas(
    images: NDArray[np.float32], degrees: NDArray[Any], canvas: int, order: int
) -> NDArray[np.float32]:
    """Each image turned by its angle, its frame grown to fit, in the middle of a blank canvas."""
    turned = np.zeros((len(images), canvas, canvas), dtype=np.float32)
    for place, image, angle in zip(turned, images, degrees, strict=True):
        moved = ndimage.rotate(image, angle, order=order)
        top, left = (canvas - np.array(moved.shape)) // 2
        if min(top, left) < 0:
            turned_by = f"an image of shape {moved.shape} once turned by {angle} degrees"
            raise ParameterError(f"{turned_by} does not fit on {canvas=}")
        place[top : top + moved.shape[0], left : left + moved.shape[1]] = moved
    return turned


@arguments(n_train=Whole(0), n_test=Whole(0), random_state=Seed())
def make_rotated_mnist(
    images: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    *,
    n_train: int = 12_000,
    n_test: int = 50_000,
    never_test: ArrayLike | None = None,
    random_state: Random = None,
) -> Dataset:
    """The benchmark of Larochelle et al. 2007 that Raj et al. 2017 use, rebuilt.

    ``n_train + n_test`` different images are drawn and turned by a uniformly random real angle, in
    their own frame, with zero fill and bilinear interpolation.

    Parameters
    ----------
    images, labels : as in `make_translated_mnist`
    never_test : array-like of int, or None
        Rows of the images that are kept out of the test part, such as those that settings were
        chosen on in another draw.

    Returns
    -------
    Dataset
        ``data`` float32; ``degrees`` (n,); ``rows``: which of the images were taken.

    >>> from invariance.datasets import load_digits_images
    >>> digits = load_digits_images()
    >>> turned = make_rotated_mnist(digits.data, digits.target, n_train=100, n_test=200,
    ...                             random_state=0)
    >>> turned.data.shape, turned.n_train
    ((300, 28, 28), 100)
    """
    pixels, made = _given(images, labels)
    rng = check_random_state(random_state)
    n = len(pixels)
    rows = rng.permutation(n)
    free = rows if never_test is None else rows[~np.isin(rows, never_test)]
    if n_train + n_test > n or len(free) < n_test:
        there = f"{n} images are there, {len(free)} of them to test on"
        raise ParameterError(f"{n_train=} and {n_test=} are too many: {there}")
    tests = rows[n_train : n_train + n_test] if never_test is None else free[len(free) - n_test :]
    rows = np.concatenate([rows[~np.isin(rows, tests)][:n_train], tests])
    degrees = rng.uniform(-180, 180, size=len(rows))
    turned = np.zeros((len(rows), *pixels.shape[1:]), dtype=np.float32)
    for place, row, angle in zip(turned, rows, degrees, strict=True):
        ndimage.rotate(pixels[row], angle, order=1, reshape=False, output=place)
    return made(turned, "rotated in its frame (rebuilt)", n_train, degrees=degrees, rows=rows)


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
    random_state: Random = None,
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

    Returns
    -------
    ndarray of shape (n, height, width), of the images' floating type; zeros come in from outside

    >>> squares = np.zeros((2, 28, 28))
    >>> squares[:, 9:19, 9:19] = 1
    >>> copies = deform_images(squares, random_state=0)
    >>> bool(np.any(copies[0] != copies[1]))
    True
    """
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
