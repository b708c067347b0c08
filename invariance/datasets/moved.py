"""MNIST's images, or your own, with random motions: translated, rotated and deformed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage
from sklearn.utils import check_random_state

from ..core.arrays import refuse_masked
from ..core.parameters import Array, Number, ParameterError, Seed, Whole, arguments, short
from .dataset import Dataset, Random, apply_filter, row_numbers
from .images import read_idx_dataset


@dataclass(frozen=True)
class _LabelledImages:
    """Images to be transformed, with pixels in [0, 1], and the source of their description."""

    pixels: NDArray[np.float32]
    labels: NDArray[Any]
    name: str
    n_train: int | None
    sources: Mapping[str, str]

    def dataset(
        self,
        data: NDArray[np.float32],
        motion: str,
        labels: NDArray[Any],
        n_train: int | None,
        details: Mapping[str, Any],
    ) -> Dataset:
        """Return the data set of transformed images."""
        dataset = Dataset(
            data,
            labels,
            description=f"{self.name} {motion}",
            n_train=n_train,
            sources=self.sources,
            details=details,
        )
        return apply_filter(dataset)


def _labelled_images(images: ArrayLike | None, labels: ArrayLike | None) -> _LabelledImages:
    """Return MNIST if ``images`` is None, else the checked arguments."""
    name = "given images"
    n_train: int | None = None
    sources: Mapping[str, str] = {}
    if images is None:
        # Without the filter of loaders: it applies to the transformed images.
        mnist = read_idx_dataset("mnist")
        images = mnist.data
        labels = mnist.target
        name = "MNIST"
        n_train = mnist.n_train
        sources = mnist.sources
    refuse_masked("images", images)
    refuse_masked("labels", labels)
    if getattr(images, "dtype", None) == np.bool_:
        images = np.asarray(images, dtype=np.float32)
    if not Array(3).accepts(images):
        raise ParameterError(
            f"images must be finite numbers of shape (n, height, width), got {short(images)}"
        )
    pixels = np.asarray(images)
    classes = np.asarray(labels)
    if labels is None or classes.shape[:1] != pixels.shape[:1]:
        raise ParameterError(
            f"labels must be {len(pixels)}, as many as images, got {short(labels)}"
        )
    scaled = pixels.astype(np.float32)
    if np.issubdtype(pixels.dtype, np.integer):
        scaled /= np.float32(255)
    return _LabelledImages(scaled, classes, name, n_train, sources)


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
    """Images at uniformly random positions of a zero canvas, as in Liu et al. 2022, section 4.

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

    Examples
    --------
    >>> moved = make_translated_mnist(np.ones((5, 8, 8)), np.arange(5), canvas=10, random_state=0)
    >>> moved.data.shape, float(moved.data[0].sum())
    ((5, 10, 10), 64.0)
    """
    originals = _labelled_images(images, labels)
    pixels = originals.pixels
    rng = check_random_state(random_state)
    max_offset = canvas - np.array(pixels.shape[1:])
    if np.any(max_offset < 0):
        raise ParameterError(f"images of shape {pixels.shape[1:]} do not fit on {canvas=}")
    offsets = rng.randint(0, max_offset + 1, size=(len(pixels), 2))
    translated = np.zeros((len(pixels), canvas, canvas), dtype=np.float32)
    height, width = pixels.shape[1:]
    for target, image, (down, right) in zip(translated, pixels, offsets, strict=True):
        target[down : down + height, right : right + width] = image
    if noise > 0:
        translated += _noise(translated.shape, noise, rng)
    return originals.dataset(
        translated,
        f"translated on a {canvas} x {canvas} canvas",
        originals.labels,
        originals.n_train,
        {"offsets": offsets},
    )


@arguments(canvas=Whole(1), noise=Number(0, 1e30), random_state=Seed())
def make_rotated_on_canvas(
    images: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    *,
    canvas: int = 64,
    noise: float = 0.0,
    random_state: Random = None,
) -> Dataset:
    """Images rotated by a random whole degree, centred on a canvas, as in Liu et al. 2022.

    Images keep their order and are interpolated by cubic splines. Parameters are those of
    `make_translated_mnist`, except that the noise only fills the pixels outside the rotated frame
    (section 4.1 of the paper).

    Returns
    -------
    Dataset
        ``data`` float32 of shape (n, canvas, canvas); ``degrees`` (n,).

    Examples
    --------
    >>> turned = make_rotated_on_canvas(np.ones((5, 8, 8)), np.arange(5), canvas=12, random_state=0)
    >>> turned.data.shape
    (5, 12, 12)
    """
    originals = _labelled_images(images, labels)
    pixels = originals.pixels
    rng = check_random_state(random_state)
    degrees = rng.randint(-180, 180, size=len(pixels))
    rotated = _rotated_on_canvas(pixels, degrees, canvas, spline_order=3)
    if noise > 0:
        frame = np.ones((1, *pixels.shape[1:]), np.float32)
        frames = frame.repeat(len(pixels), axis=0)
        outside = _rotated_on_canvas(frames, degrees, canvas, spline_order=0) <= 0
        rotated = np.where(outside, rotated + _noise(rotated.shape, noise, rng), rotated)
    return originals.dataset(
        rotated,
        f"rotated on a {canvas} x {canvas} canvas",
        originals.labels,
        originals.n_train,
        {"degrees": degrees},
    )


def _rotated_on_canvas(
    images: NDArray[np.float32], degrees: NDArray[Any], canvas: int, spline_order: int
) -> NDArray[np.float32]:
    """Return each image rotated by its angle, in a frame that fits, centred on a blank canvas."""
    rotated = np.zeros((len(images), canvas, canvas), dtype=np.float32)
    for target, image, angle in zip(rotated, images, degrees, strict=True):
        frame = ndimage.rotate(image, angle, order=spline_order)
        height, width = frame.shape
        top = (canvas - height) // 2
        left = (canvas - width) // 2
        if min(top, left) < 0:
            raise ParameterError(
                f"an image of shape {frame.shape} once turned by {angle} degrees does not fit on "
                f"{canvas=}"
            )
        target[top : top + height, left : left + width] = frame
    return rotated


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

    ``n_train + n_test`` different images are drawn and rotated by a uniformly random real angle, in
    their own frame, with zero fill and bilinear interpolation.

    Parameters
    ----------
    images, labels : as in `make_translated_mnist`
    never_test : array-like of int or bool, or None
        Row numbers of the images that must not be in the test part, or a mask over all rows, such
        as rows of another draw that settings were chosen on.

    Returns
    -------
    Dataset
        ``data`` float32; ``degrees`` (n,); ``rows``: row numbers of the images that were drawn.

    Examples
    --------
    >>> from invariance.datasets import load_digits_images
    >>> digits = load_digits_images()
    >>> rotated = make_rotated_mnist(digits.data, digits.target, n_train=100, n_test=200,
    ...                              random_state=0)
    >>> rotated.data.shape, rotated.n_train
    ((300, 28, 28), 100)
    """
    originals = _labelled_images(images, labels)
    pixels = originals.pixels
    rng = check_random_state(random_state)
    n_images = len(pixels)
    drawn = rng.permutation(n_images)
    testable = drawn
    if never_test is not None:
        excluded = row_numbers("never_test", never_test, n_images)
        testable = drawn[~np.isin(drawn, excluded)]
    if n_train + n_test > n_images or len(testable) < n_test:
        raise ParameterError(
            f"{n_train=} and {n_test=} are too many: {n_images} images are there, "
            f"{len(testable)} of them to test on"
        )
    if never_test is None:
        test_rows = drawn[n_train : n_train + n_test]
    else:
        test_rows = testable[len(testable) - n_test :]
    train_rows = drawn[~np.isin(drawn, test_rows)][:n_train]
    rows = np.concatenate([train_rows, test_rows])
    degrees = rng.uniform(-180, 180, size=len(rows))
    rotated = np.zeros((len(rows), *pixels.shape[1:]), dtype=np.float32)
    for target, row, angle in zip(rotated, rows, degrees, strict=True):
        ndimage.rotate(pixels[row], angle, order=1, reshape=False, output=target)
    return originals.dataset(
        rotated,
        "rotated in its frame (rebuilt)",
        originals.labels[rows],
        n_train,
        {"degrees": degrees, "rows": rows},
    )


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
    """Images under small random deformations, one per image, with bilinear interpolation.

    The value at p comes from A p + b + u(p), with positions relative to the centre: A is the
    identity plus normal noise, b a normal shift, and u a smooth normal field.

    Parameters
    ----------
    images : array-like of shape (n, height, width)
    linear : float
        Standard deviation of the entries of A.
    shift, bend : float
        Standard deviations of the two components of b and of u, in pixels.
    smoothness : float
        Standard deviation, in pixels, of the Gaussian that smooths noise to give u.

    Returns
    -------
    ndarray of shape (n, height, width), of the images' floating type; zero outside the frame

    Examples
    --------
    >>> squares = np.zeros((2, 28, 28))
    >>> squares[:, 9:19, 9:19] = 1
    >>> copies = deform_images(squares, random_state=0)
    >>> bool(np.any(copies[0] != copies[1]))
    True
    """
    pixels = np.asarray(images)
    if not np.issubdtype(pixels.dtype, np.floating):
        pixels = pixels.astype(np.float64)
    rng = check_random_state(random_state)
    height, width = pixels.shape[1:]
    centre = np.array([height - 1, width - 1]) / 2
    grid = np.indices((height, width)) - centre[:, None, None]
    deformed = np.empty_like(pixels)
    for image, target in zip(pixels, deformed, strict=True):
        matrix = np.eye(2) + linear * rng.standard_normal((2, 2))
        noise = rng.standard_normal((2, height, width))
        field = ndimage.gaussian_filter(noise, (0, smoothness, smoothness), mode="wrap")
        root_mean_square = np.sqrt(np.mean(field**2))
        field *= bend / (root_mean_square or 1)
        offset = centre + shift * rng.standard_normal(2)
        points = np.tensordot(matrix, grid, axes=1) + offset[:, None, None] + field
        ndimage.map_coordinates(image, points, order=1, output=target)
    return deformed
