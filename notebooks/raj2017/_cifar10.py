"""Learners of the notebook `cifar10`: ridge regression on features and on the exact kernel."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from invariance.kernels import Kernel
from invariance.linear import BlockRidgeClassifier, kernel_ridge, solve_ridges

N_PIXELS = 3072
KERNEL_BLOCK = 500  # rows of a kernel matrix at a time: a second full array would not fit


def normalized(images: NDArray) -> NDArray:
    """Return images as rows, centred and divided by their standard deviation (kept from zero)."""
    rows = images.reshape(-1, N_PIXELS).astype(np.float32) / 255
    rows -= rows.mean(axis=1, keepdims=True)
    return rows / np.sqrt(rows.var(axis=1, keepdims=True) + 1e-2)


def held_out_accuracy(
    Z: NDArray, labels: NDArray, n_held_out: int, classes: NDArray, alphas: Sequence[float]
) -> float:
    """Return the best accuracy over the alphas on the last rows of features Z.

    Penalties are relative to the mean squared norm of the rows that are learnt from.
    """
    n = len(Z) - n_held_out
    gram = Z @ Z.T
    targets = np.where(labels[:n, None] == classes, 1.0, -1.0).astype(Z.dtype)
    penalties = np.multiply(alphas, gram.diagonal()[:n].mean(dtype=float)).astype(Z.dtype)
    duals = kernel_ridge(gram[:n, :n], targets, alphas=penalties, clip=False)
    decisions = gram[n:, :n] @ duals + targets.mean(axis=0)
    predicted = classes[decisions.argmax(axis=2)]
    accuracies = (predicted == labels[n : len(Z)]).mean(axis=1)
    failed = np.isnan(duals).any(axis=(1, 2))
    return np.nanmax(np.where(failed, np.nan, accuracies))


def finish(
    model: BlockRidgeClassifier, Z: NDArray, labels: NDArray, alphas: Sequence[float]
) -> None:
    """Choose alpha by the accuracy on a last block of training rows, then learn from it too."""
    best = np.nanargmax(model.scores(Z, labels, alphas=alphas))
    model.partial_fit(Z, labels).solve(alphas[best])


def accuracies_in_blocks(
    features: Callable[[int, int], NDArray],
    tops: Sequence[Any],
    labels: NDArray,
    n_train: int,
    block: int,
    classes: NDArray,
    alphas: Sequence[float],
) -> list[float]:
    """Return test accuracies in per cent of one model per second layer.

    Parameters
    ----------
    features : callable
        ``features(start, stop)`` are the first layer's features of these images.
    tops : sequence of transformers or None
        Second layers; None stands for a model on the first layer.
    labels : ndarray of shape (n,)
        The first `n_train` belong to training images; their last block chooses alpha.
    """
    models = [BlockRidgeClassifier(dtype="float32") for _ in tops]
    hits: list[list[NDArray]] = [[] for _ in tops]
    for start in range(0, len(labels), block):
        bottom = features(start, start + block)
        truth = labels[start : start + block]
        for i, top in enumerate(tops):
            Z = bottom if top is None else top.transform(bottom)
            if start + block < n_train:
                models[i].partial_fit(Z, truth, classes=classes)
            elif start < n_train:
                finish(models[i], Z, truth, alphas)
            else:
                hits[i].append(models[i].predict(Z) == truth)
    return [100 * np.mean(np.concatenate(blocks)) for blocks in hits]


def accuracy_of_draw(
    Z: NDArray,
    labels: NDArray,
    test_labels: NDArray,
    classes: NDArray,
    alphas: Sequence[float],
) -> float:
    """Return the test accuracy in per cent; a fifth of the training rows chooses alpha.

    Z has the training rows first, one for each of `labels`, then the test rows.
    """
    n = len(labels)
    cut = n * 4 // 5
    model = BlockRidgeClassifier(dtype="float32")
    model.partial_fit(Z[:cut], labels[:cut], classes=classes)
    finish(model, Z[cut:n], labels[cut:], alphas)
    return 100 * model.score(Z[n:], test_labels)


def mean_kernel(base: Kernel, views: Sequence[NDArray], rows: slice, n: int) -> NDArray:
    """Return the mean of a kernel over all pairs of views, between some rows and the first n."""
    gram = np.empty((rows.stop - rows.start, n), dtype=np.float32)
    for start in range(rows.start, rows.stop, KERNEL_BLOCK):
        stop = min(start + KERNEL_BLOCK, rows.stop)
        blocks = [base(X[start:stop], Z[:n]) for X in views for Z in views]
        gram[start - rows.start : stop - rows.start] = np.mean(blocks, axis=0)
    return gram


def accuracy_by_size(
    base: Kernel,
    views: Sequence[NDArray],
    labels: NDArray,
    n_train: int,
    n_kept_back: int,
    sizes: Sequence[int],
    ridges: NDArray,
    classes: NDArray,
) -> list[float]:
    """Return test accuracies in per cent of the kernel itself, by the number of training images.

    The last `n_kept_back` training images choose the ridge. If they are learnt from as well, the
    ridge of the size before is taken.
    """
    uniform = np.float32(1 / len(classes))
    targets = np.where(labels[:n_train, None] == classes, np.float32(1), 0) - uniform
    cut = n_train - n_kept_back
    rest = slice(cut, len(labels))
    best = 0
    accuracies = []
    for n in sizes:
        if n > cut:
            ridges = ridges[[best]]

        def square(n: int = n) -> NDArray:
            # The transpose of a symmetric matrix is in the order in which LAPACK takes it.
            return mean_kernel(base, views, slice(0, n), n).T

        duals = solve_ridges(square, targets[:n], ridges, safe=0)
        decisions = mean_kernel(base, views, rest, n) @ duals
        right = classes[decisions.argmax(axis=2)] == labels[cut:]
        best = right[:, :n_kept_back].mean(axis=1).argmax()
        accuracies.append(100 * right[best, n_kept_back:].mean())
    return accuracies
