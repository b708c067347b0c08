"""Representations with one row per orbit of sequences of letters, and samples of sequences."""

import numpy as np

from invariance.groups import CyclicShifts, Permutations

N_LETTERS = 8
N_PLACES = 5
LARGE_TABLE = 2000  # orbits, above which a Cholesky decomposition replaces eigenvectors


def orbits_of_sequences(X, group):
    """Bags of letters of all orbits, a first sequence of each, and the orbit of each sequence.

    `X` holds sequences of unit norm. An orbit is named by its bag of letters and the first of its
    sequences in the order of a dictionary.
    """
    one_hot = X.reshape(-1, N_PLACES, N_LETTERS) * np.sqrt(N_PLACES)
    letters = one_hot.argmax(axis=2)
    bags = np.rint(one_hot.sum(axis=1)).astype(int)
    places = np.repeat(np.arange(float(N_PLACES)), N_LETTERS)
    moved_places = group.act(group.elements(), places[None])[:, 0]
    moved_places = moved_places[:, ::N_LETTERS].astype(int)
    place_values = N_LETTERS ** np.arange(N_PLACES)
    codes_of_elements = [letters[:, order] @ place_values for order in moved_places]
    codes = np.min(codes_of_elements, axis=0)
    orbits, first, orbit_of = np.unique(
        np.c_[bags, codes], axis=0, return_index=True, return_inverse=True
    )
    return orbits[:, :N_LETTERS], first, orbit_of


def varying(table):
    """Mask of the columns of a table that are not the same in all rows."""
    return np.ptp(table, axis=0) > 0


def isometric(gram):
    """Coordinates whose inner products are the given Gram matrix."""
    if len(gram) > LARGE_TABLE:  # faster, up to a ridge of the size of rounding
        ridge = 1e-12 * np.trace(gram) / len(gram)
        return np.linalg.cholesky(gram + ridge * np.eye(len(gram)))
    eigenvalues, eigenvectors = np.linalg.eigh(gram)
    positive = eigenvalues > eigenvalues[-1] * 1e-13
    return eigenvectors[:, positive] * np.sqrt(eigenvalues[positive])


def balanced_sample(y, n_per_class, rng):
    """Balanced training indices, and the mask of all other points."""
    by_class = []
    for label in (0, 1):
        candidates = np.flatnonzero(y == label)
        by_class.append(rng.choice(candidates, n_per_class, replace=False))
    train = rng.permutation(np.concatenate(by_class))
    is_test = np.ones(len(y), dtype=bool)
    is_test[train] = False
    return train, is_test


class _Distinct:
    """A finite group whose elements are drawn without replacement.

    Beyond the group's order, each element is drawn equally often, or once more than another.
    """

    def _sample(self, n_samples, rng):
        shuffled = rng.permutation(self.elements())
        rounds = -(-n_samples // self.order)
        return np.tile(shuffled, (rounds, 1))[:n_samples]


class DistinctPermutations(_Distinct, Permutations):
    """Permutations, drawn without replacement."""


class DistinctShifts(_Distinct, CyclicShifts):
    """Cyclic shifts, drawn without replacement."""
