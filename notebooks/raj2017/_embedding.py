"""Points, embeddings and accuracies for the notebook `embedding`."""

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score

from invariance.groups import CircleAction, CyclicShifts, Permutations, Transformations
from invariance.kernels import Average, Kernel
from invariance.linear import RLSClassifier


def quadratic_features(X: NDArray) -> NDArray:
    """Return explicit features of the kernel (1 + <x, z>)^2."""
    *shape, d = X.shape
    i, j = np.triu_indices(d, 1)
    ones = np.ones((*shape, 1))
    linear = np.sqrt(2) * X
    mixed = linear[..., i] * X[..., j]
    return np.concatenate([ones, linear, X**2, mixed], axis=-1)


def hard_pairs(
    n_pairs: int, rng: np.random.Generator
) -> dict[str, tuple[Transformations, NDArray]]:
    """Return groups, and pairs of points of different orbits that have equal mean and covariance.

    Points have unit length; a group's pairs have shape (2, pairs, features).
    """
    x = rng.standard_normal((n_pairs, 6))
    same_spectrum = _with_random_phases(x, rng)
    z = rng.standard_normal((n_pairs, 6))
    centred_x = _centred(x)
    same_moments = _with_norms_of(centred_x, _centred(z))
    in_planes = x[:, :4]
    same_radii = _with_first_plane_turned(in_planes, rng)
    circle = CircleAction([1, 1, 2, 2], n_nodes=64)
    return {
        "shifts": (CyclicShifts(6), _at_unit_length(x, same_spectrum)),
        "permutations": (Permutations(6), _at_unit_length(centred_x, same_moments)),
        "rotations": (circle, _at_unit_length(in_planes, same_radii)),
    }


def _with_random_phases(x: NDArray, rng: np.random.Generator) -> NDArray:
    """Return signals with the same spectrum, and other phases of frequencies one and two."""
    n, length = x.shape
    phases = 2j * np.pi * rng.random((n, 2))
    coefficients = np.fft.rfft(x)
    coefficients[:, 1:3] *= np.exp(phases)
    return np.fft.irfft(coefficients, length)


def _centred(x: NDArray) -> NDArray:
    """Return rows less their means."""
    return x - x.mean(axis=1, keepdims=True)


def _with_norms_of(x: NDArray, z: NDArray) -> NDArray:
    """Return the rows of z with the norms of those of x."""
    ratios = np.linalg.norm(x, axis=1) / np.linalg.norm(z, axis=1)
    return z * ratios[:, None]


def _with_first_plane_turned(x: NDArray, rng: np.random.Generator) -> NDArray:
    """Return points whose first two coordinates have other, random angles."""
    angles = 2 * np.pi * rng.random(len(x))
    radii = np.hypot(x[:, 0], x[:, 1])
    turned = x.copy()
    turned[:, 0] = radii * np.cos(angles)
    turned[:, 1] = radii * np.sin(angles)
    return turned


def _at_unit_length(first: NDArray, second: NDArray) -> NDArray:
    """Return pairs of points divided by the length of the first."""
    lengths = np.linalg.norm(first, axis=1)
    return np.array([first, second]) / lengths[:, None]


def squared_distances(kernel: Kernel, group: Transformations, pairs: NDArray) -> NDArray:
    """Return squared distances of the embeddings of pairs, shape (2, n, features)."""
    n = pairs.shape[1]
    # A finite rule is the group itself: its error as a quadrature does not matter.
    average = Average(kernel, group, tolerance=1e6)
    points = np.concatenate(pairs)
    gram = average(points)
    squared_norms = np.diagonal(gram)
    products = np.diagonal(gram, n)
    return squared_norms[:n] + squared_norms[n:] - 2 * products


def limit_errors(
    kernel: Kernel, group: Transformations, X: NDArray, rng: np.random.Generator
) -> float:
    """Return the largest relative error of two properties of the Haar kernel.

    It is the double sum over the listed elements, and moving either argument does not change it.
    """
    n, d = X.shape
    elements = group.elements()
    order = len(elements)
    orbits = group.act(elements, X)
    average = Average(kernel, group, tolerance=1.0)
    gram = average(X)
    between_orbits = kernel(orbits.reshape(-1, d))
    by_elements = between_orbits.reshape(order, n, order, n)
    double_sum = by_elements.mean(axis=(0, 2))
    grams = [double_sum]
    for i in rng.integers(order, size=5):
        images = orbits[i]
        grams.append(average(images, X))
        grams.append(average(X, images))
    largest_error = np.abs(np.array(grams) - gram).max()
    return largest_error / np.abs(gram).max()


def accuracies_by_size(
    kernel: Kernel, Z: NDArray, labels: NDArray, place: NDArray, sizes: tuple[int, ...]
) -> list[float]:
    """Return test accuracies by the number of training points per class.

    `place` numbers the points of each class; the first ``sizes[-1]`` of a class are for training.
    """
    is_train = place < sizes[-1]
    Z_train = Z[is_train]
    Z_test = Z[~is_train]
    train_labels = labels[is_train]
    test_labels = labels[~is_train]
    gram = kernel(Z_train)
    across = kernel(Z_test, Z_train)
    accuracies = []
    for n in sizes:
        is_used = place[is_train] < n
        used_gram = gram[np.ix_(is_used, is_used)]
        model = RLSClassifier(kernel="precomputed")
        model.fit(used_gram, train_labels[is_used])
        predicted = model.predict(across[:, is_used])
        accuracy = accuracy_score(test_labels, predicted)
        accuracies.append(accuracy)
    return accuracies
