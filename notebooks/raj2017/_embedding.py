"""Points, embeddings and accuracies for the notebook `embedding`."""

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score

from invariance.groups import CircleAction, CyclicShifts, Permutations, Transformations
from invariance.kernels import Average, Kernel
from invariance.linear import RLSClassifier


def quadratic_features(X: NDArray) -> NDArray:
    """Return explicit features of the kernel (1 + <x, z>)^2."""
    i, j = np.triu_indices(X.shape[-1], 1)
    ones = np.ones((*X.shape[:-1], 1))
    mixed = np.sqrt(2) * X[..., i] * X[..., j]
    return np.concatenate([ones, np.sqrt(2) * X, X**2, mixed], axis=-1)


def hard_pairs(
    n_pairs: int, rng: np.random.Generator
) -> dict[str, tuple[Transformations, NDArray]]:
    """Return groups, and pairs of points of different orbits that have equal mean and covariance.

    Points have unit length; a group's pairs have shape (2, pairs, features).
    """
    x = rng.standard_normal((n_pairs, 6))
    phases = np.exp(2j * np.pi * rng.random((n_pairs, 2)))
    spectrum = np.fft.rfft(x)
    spectrum[:, 1:3] *= phases
    same_spectrum = np.fft.irfft(spectrum, 6)

    # equal sums and equal sums of squares
    z = rng.standard_normal((n_pairs, 6))
    centred_x = x - x.mean(axis=1, keepdims=True)
    centred_z = z - z.mean(axis=1, keepdims=True)
    ratios = np.linalg.norm(centred_x, axis=1) / np.linalg.norm(centred_z, axis=1)
    same_moments = centred_z * ratios[:, None]

    angles = 2 * np.pi * rng.random(n_pairs)
    radii = np.hypot(x[:, 0], x[:, 1])
    same_radii = np.stack(
        [radii * np.cos(angles), radii * np.sin(angles), x[:, 2], x[:, 3]], axis=1
    )
    return {
        "shifts": (CyclicShifts(6), _at_unit_length(x, same_spectrum)),
        "permutations": (Permutations(6), _at_unit_length(centred_x, same_moments)),
        "rotations": (
            CircleAction([1, 1, 2, 2], n_nodes=64),
            _at_unit_length(x[:, :4], same_radii),
        ),
    }


def _at_unit_length(first: NDArray, second: NDArray) -> NDArray:
    """Return pairs of points divided by the length of the first."""
    return np.array([first, second]) / np.linalg.norm(first, axis=1)[:, None]


def squared_distances(kernel: Kernel, group: Transformations, pairs: NDArray) -> NDArray:
    """Return squared distances of the embeddings of pairs, shape (2, n, features)."""
    n = pairs.shape[1]
    # A finite rule is the group itself: its error as a quadrature does not matter.
    average = Average(kernel, group, tolerance=1e6)
    gram = average(np.concatenate(pairs))
    norms = np.diagonal(gram)
    return norms[:n] + norms[n:] - 2 * np.diagonal(gram, n)


def limit_errors(
    kernel: Kernel, group: Transformations, X: NDArray, rng: np.random.Generator
) -> float:
    """Return the largest relative error of two properties of the Haar kernel.

    It is the double sum over the listed elements, and moving either argument does not change it.
    """
    n, d = X.shape
    elements = group.elements()
    orbits = group.act(elements, X)
    average = Average(kernel, group, tolerance=1.0)
    gram = average(X)
    pairs = kernel(orbits.reshape(-1, d)).reshape(len(orbits), n, len(orbits), n)
    errors = [np.abs(pairs.mean(axis=(0, 2)) - gram).max()]
    for i in rng.integers(len(elements), size=5):
        errors.append(np.abs(average(orbits[i], X) - gram).max())
        errors.append(np.abs(average(X, orbits[i]) - gram).max())
    return np.max(errors) / np.abs(gram).max()


def accuracies_by_size(
    kernel: Kernel, Z: NDArray, labels: NDArray, place: NDArray, sizes: tuple[int, ...]
) -> list[float]:
    """Return test accuracies by the number of training points per class.

    `place` numbers the points of each class; the first ``sizes[-1]`` of a class are for training.
    """
    train = place < sizes[-1]
    test = ~train
    gram = kernel(Z[train])
    across = kernel(Z[test], Z[train])
    accuracies = []
    for n in sizes:
        rows = place[train] < n
        model = RLSClassifier(kernel="precomputed")
        model.fit(gram[np.ix_(rows, rows)], labels[train][rows])
        accuracies.append(accuracy_score(labels[test], model.predict(across[:, rows])))
    return accuracies
