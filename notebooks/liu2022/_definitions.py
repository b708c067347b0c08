"""Kernels of Table 2 by their definitions, and the time that they take, for the notebook `cost`."""

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from invariance.groups import Transformations

ELEMENT_BLOCK = 200  # transformations at a time
Definition = Callable[[NDArray, NDArray], NDArray]


def plain_polynomial(A: NDArray, B: NDArray) -> NDArray:
    """Return the polynomial kernel of degree 8 between images of 28 x 28 pixels."""
    return (1 + A @ B.T / 784) ** 8


def plain_locality(A: NDArray, B: NDArray, window: int) -> NDArray:
    """Return the locality kernel with powers 2 and 4, one window at a time."""
    pad = window // 2
    margins = ((0, 0), (pad, pad), (pad, pad))
    padded_A = np.pad(A.reshape(-1, 28, 28), margins)
    padded_B = np.pad(B.reshape(-1, 28, 28), margins)
    total = np.zeros((len(A), len(B)), dtype=np.result_type(A, float))
    for i in range(28):
        for j in range(28):
            windows_A = padded_A[:, i : i + window, j : j + window].reshape(len(A), -1)
            windows_B = padded_B[:, i : i + window, j : j + window].reshape(len(B), -1)
            total += (1 + windows_A @ windows_B.T / window**2) ** 2
    return (total / 28 + 1) ** 4


def plain_maximum(
    definition: Definition, group: Transformations, A: NDArray, B: NDArray
) -> NDArray:
    """Return the maximum of a kernel over every transformation of the rows of B."""
    elements = group.elements()
    best = -np.inf
    for start in range(0, len(elements), ELEMENT_BLOCK):
        transformed = group.act(elements[start : start + ELEMENT_BLOCK], B)
        values = definition(A, transformed.reshape(-1, B.shape[1]))
        values = values.reshape(len(A), len(transformed), len(B))
        best = np.maximum(best, values.max(axis=1))
    return best


class CountingNumber(float):
    """A number that counts multiplications: a division is one, a power of k is k - 1.

    >>> CountingNumber.n_multiplications = 0
    >>> number = CountingNumber(3.0)
    >>> (1 + number * number / 2) ** 4, CountingNumber.n_multiplications
    (915.0625, 5)
    """

    n_multiplications = 0
    __array_ufunc__ = None  # sums and products with NumPy's numbers are those of this class

    def __add__(self, other):
        return CountingNumber(float(self) + float(other))

    __radd__ = __add__

    def __mul__(self, other):
        CountingNumber.n_multiplications += 1
        return CountingNumber(float(self) * float(other))

    __rmul__ = __mul__

    def __truediv__(self, other):
        CountingNumber.n_multiplications += 1
        return CountingNumber(float(self) / float(other))

    def __pow__(self, exponent):
        CountingNumber.n_multiplications += exponent - 1
        return CountingNumber(float(self) ** exponent)


def counting_numbers(image: NDArray) -> NDArray:
    """Return an image as a row (1, d) of numbers that count their multiplications."""
    numbers = np.empty((1, len(image)), dtype=object)
    numbers[0] = [CountingNumber(value) for value in image]
    return numbers


def counted_multiplications(
    definition: Definition, group: Transformations | None, x: NDArray, z: NDArray
) -> int:
    """Return the multiplications of a kernel, or of its maximum over a group, for two images.

    One evaluation is counted by numbers that count; the evaluations are counted while the maximum
    runs. Moving the images is not counted, and neither are zeros beyond the border.
    """
    CountingNumber.n_multiplications = 0
    definition(counting_numbers(x), counting_numbers(z))
    per_evaluation = CountingNumber.n_multiplications
    if group is None:
        return per_evaluation
    n_evaluations = 0

    def counting_definition(A: NDArray, B: NDArray) -> NDArray:
        nonlocal n_evaluations
        n_evaluations += len(A) * len(B)
        return definition(A, B)

    plain_maximum(counting_definition, group, x[None], z[None])
    return n_evaluations * per_evaluation


def plain_seconds(
    definition: Definition,
    group: Transformations,
    test: NDArray,
    train: NDArray,
    n_rows: int,
    n_elements: int,
) -> tuple[float, float]:
    """Return processor seconds of the plain definition: measured, and scaled up to everything.

    It is timed on the first rows of the test set and on the first transformations. The time that
    transforming the training images takes is scaled by transformations only.
    """
    best = np.full((n_rows, len(train)), -np.inf)
    transforming = 0.0
    evaluating = 0.0
    for element in group.elements()[:n_elements]:
        start = time.process_time()
        transformed = group.act(element[None], train)[0]
        middle = time.process_time()
        np.maximum(best, definition(test[:n_rows], transformed), out=best)
        transforming += middle - start
        evaluating += time.process_time() - middle
    all_rows = evaluating * len(test) / n_rows
    scaled = group.order / n_elements * (transforming + all_rows)
    return transforming + evaluating, scaled


def peak_bytes(function: Callable[[], Any]) -> int:
    """Return the largest sum of arrays alive during a call."""
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def mean_seconds(function: Callable[[], Any]) -> float:
    """Return processor seconds of a call: the mean of three, or fewer after twenty seconds."""
    start = time.process_time()
    n_calls = 0
    while n_calls < 3 and time.process_time() - start < 20:
        function()
        n_calls += 1
    return (time.process_time() - start) / n_calls


def product_rate(dtype: DTypeLike, m: int, k: int, n: int, seed: int) -> float:
    """Return the operations per second of a matrix product (m, k) by (k, n).

    A complex multiplication counts as four.
    """
    normal = np.random.default_rng(seed).standard_normal
    left = normal((m, k)).astype(dtype)
    right = normal((k, n)).astype(dtype)
    out = np.empty((m, n), dtype)
    operations = (8 if np.iscomplexobj(out) else 2) * m * k * n
    repeats = 1 + int(2e8 // operations)
    best = np.inf
    for _ in range(5):
        start = time.process_time()
        for _ in range(repeats):
            np.matmul(left, right, out=out)
        best = min(best, (time.process_time() - start) / repeats)
    return operations / best


def used_pixels(images: NDArray) -> tuple[float, float]:
    """Return how much of images (n, h, w) is not blank, on average over the images.

    The first number is the share of columns that an image spans; the second counts the pixels of
    these columns that some image uses.
    """
    width = images.shape[2]
    shown = images > 0
    columns = shown.any(axis=1)
    first = columns.argmax(axis=1)
    last = width - columns[:, ::-1].argmax(axis=1)
    used_per_column = shown.any(axis=0).sum(axis=0)
    used_before = np.append(0, np.cumsum(used_per_column))
    return (last - first).mean() / width, (used_before[last] - used_before[first]).mean()
