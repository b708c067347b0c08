"""Samples of the rotated digits, and ridge regression on them, for the notebook `rotated_mnist`."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from _ridge import solve_by_gradients
from numpy.typing import NDArray

from invariance.companion.ledger.settings import read_settings
from invariance.companion.paths import Paths
from invariance.features import AngularBasis, OrbitFourier, median_gamma
from invariance.kernels import Gaussian, Hyperkernel, Kernel
from invariance.linear import kernel_ridge, rls_by_cholesky

CLASSES = np.arange(10)
# The preconditioner's penalty, relative to the mean squared norm, is at least this.
LEAST_PRECONDITIONER_ALPHA = 1e-4
TEST_BLOCK = 2500  # images whose features are in memory at the same time


@dataclass(frozen=True)
class Sample:
    """One rebuilt set: pixels, coefficients in the angular basis, and labels, training rows first.

    The seed with which it was rebuilt also draws the templates.
    """

    pixels: NDArray
    angular: NDArray
    labels: NDArray
    n_train: int
    seed: int


def sample_of(data: Any, basis: AngularBasis, seed: int) -> Sample:
    """Return a data set of images as a `Sample`."""
    pixels = data.data.reshape(len(data.data), -1)
    angular = basis.fit(pixels[:1]).transform(pixels)
    return Sample(pixels, angular, data.target, data.n_train, seed)


def scaled(coefficients: NDArray, unit: bool) -> NDArray:
    """Return images at unit norm, or unchanged."""
    if not unit:
        return coefficients
    return coefficients / np.linalg.norm(coefficients, axis=1, keepdims=True)


def entries(*axes: Sequence[Any]) -> list[list[Any]]:
    """Return all combinations of the values on the axes as lists."""
    return [list(entry) for entry in product(*axes)]


def one_against_rest(labels: NDArray) -> NDArray:
    """Return targets of shape (n, 10): 1 for the right class, otherwise -1."""
    return np.where(labels[:, None] == CLASSES, 1.0, -1.0)


def leave_one_out_error(kernel: Kernel, X: NDArray, labels: NDArray) -> float:
    """Return the least leave-one-out error over the penalties."""
    # The search for the penalty goes below the rounding of single precision.
    gram = kernel(X.astype(float))
    path = rls_by_cholesky(gram, labels[: len(X)], start=1e-5)
    return min(path.loo_errors.values())


def held_out_accuracies(
    gram: NDArray, labels: NDArray, n_held_out: int, alphas: Sequence[float]
) -> NDArray:
    """Return the accuracy on the last images after learning from the first, by alpha.

    Penalties are relative to the mean squared norm. An entry is NaN if the penalty is too small for
    a Cholesky factor.
    """
    n = len(gram) - n_held_out
    training_gram = gram[:n, :n]
    targets = one_against_rest(labels[:n])
    penalties = np.multiply(alphas, training_gram.diagonal().mean(dtype=float))
    duals = kernel_ridge(training_gram, targets, alphas=penalties, clip=False)
    predicted = (gram[n:, :n] @ duals + targets.mean(axis=0)).argmax(axis=2)
    accuracies = (predicted == labels[n : len(gram)]).mean(axis=1)
    failed = np.isnan(duals).any(axis=(1, 2))
    return np.where(failed, np.nan, accuracies)


def cross_validated_accuracy(
    gram: NDArray, labels: NDArray, alphas: Sequence[float], n_folds: int = 5
) -> float:
    """Return the best accuracy over the alphas, in per cent, by cross-validation."""
    targets = one_against_rest(labels)
    fold_of = np.arange(len(labels)) % n_folds
    n_right = np.zeros(len(alphas))
    for fold in range(n_folds):
        train = np.flatnonzero(fold_of != fold)
        test = np.flatnonzero(fold_of == fold)
        training_gram = gram[np.ix_(train, train)]
        penalties = np.multiply(alphas, training_gram.diagonal().mean(dtype=float))
        duals = kernel_ridge(training_gram, targets[train], alphas=penalties, clip=False)
        decisions = gram[np.ix_(test, train)] @ duals + targets[train].mean(axis=0)
        n_right += (decisions.argmax(axis=2) == labels[test]).sum(axis=1)
    return 100 * n_right.max() / len(labels)


def ridge_on_features(
    Z: NDArray, near: NDArray, targets: NDArray, alpha: float
) -> tuple[NDArray, NDArray]:
    """Return coefficients and intercepts of ridge regression on features Z.

    `near` is nearly the Gram matrix of Z. It is overwritten, and preconditions the equations.
    """
    targets = targets.astype(Z.dtype)
    intercepts = targets.mean(axis=0)
    penalty = alpha * np.trace(near)
    least_penalty = LEAST_PRECONDITIONER_ALPHA * near.diagonal().mean()
    near.flat[:: len(near) + 1] += max(penalty, least_penalty)
    preconditioner = (slice(None), slice(None), near)
    duals = solve_by_gradients(Z, targets - intercepts, penalty, [preconditioner])
    return Z.T @ duals, intercepts


def percent_right(decisions: Sequence[NDArray], labels: NDArray) -> float:
    """Return the accuracy in per cent of decisions in blocks, shape (images, 10) each."""
    return 100 * np.mean(np.concatenate(decisions).argmax(axis=1) == labels)


def chosen_settings() -> dict[str, Any]:
    """Return what the notebook `rotated_mnist` has chosen, by the names of its settings."""
    path = Paths.find().settings("raj2017/rotated_mnist")
    choices = read_settings(path)
    if choices is None:
        raise FileNotFoundError(f"{path}: 'invariance choose raj2017/rotated_mnist' writes it")
    return {name: choice.chosen for name, choice in choices.items()}


def accuracies_by_layer(
    X: NDArray,
    labels: NDArray,
    n_train: int,
    first: Any,
    alpha: float,
    second: tuple[int, float, float] | None = None,
    seed: int = 0,
) -> list[float]:
    """Return the test accuracy in per cent with one layer and, if there is a second, with two.

    Parameters
    ----------
    X, labels : ndarray
        Training images first, `n_train` of them.
    first : transformer
        The first layer, not fitted.
    alpha : float
        The penalty on the first layer.
    second : tuple or None
        Templates, bandwidth as a multiple of the median heuristic's, and penalty.
    """
    targets = one_against_rest(labels[:n_train])
    layers = [first.fit(X[:n_train])]
    Z = first.transform(X[:n_train])
    gram = Z @ Z.T
    weights = [ridge_on_features(Z, gram.copy(), targets, alpha)]
    if second is not None:
        n_templates, multiple, second_alpha = second
        gamma = multiple * median_gamma(Z, random_state=seed)
        layer = OrbitFourier(
            None, n_templates, form="cos_sin", gamma=gamma, random_state=seed + 1
        ).fit(Z[:1])
        layers.append(layer)
        # the Gram matrix of the second features comes near that of their kernel
        near = Hyperkernel(Gaussian(), layer.gamma_).of_gram(gram, gram.diagonal())
        weights.append(ridge_on_features(layer.transform(Z), near, targets, second_alpha))
    decisions: list[list[NDArray]] = [[] for _ in layers]
    for start in range(n_train, len(X), TEST_BLOCK):
        Z = X[start : start + TEST_BLOCK]
        for i, layer in enumerate(layers):
            Z = layer.transform(Z)
            coefficients, intercepts = weights[i]
            decisions[i].append(Z @ coefficients + intercepts)
    return [percent_right(blocks, labels[n_train:]) for blocks in decisions]
