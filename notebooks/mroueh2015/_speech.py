"""Recordings of spoken digits, their splits, and accuracies from Gram matrices."""

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from _block_pca import BlockPCA

from invariance.datasets import (
    fixed_length,
    load_fsdd,
    load_synthetic_speech,
    make_vowels,
)
from invariance.linear import rls_by_cholesky

N_SAMPLES = 8000  # one second
MAX_THRESHOLDS = 64  # more of them are kept as principal components
N_COMPONENTS = 32
TITLES = {"real": "real recordings", "synthetic": "synthetic voices", "vowels": "generated vowels"}
NAMES = {
    "real": "Free Spoken Digit Dataset, six men (stand-in for TIDIGITS)",
    "synthetic": "synthetic voices (stand-in for TIDIGITS)",
    "vowels": "generated vowels (stand-in for TIDIGITS)",
}


@dataclass(frozen=True)
class Recordings:
    """The rows of a data set in use, each word in the middle of one second of silence."""

    name: str
    words: np.ndarray  # (n, N_SAMPLES)
    target: np.ndarray
    speaker: np.ndarray
    repetition: np.ndarray
    group: np.ndarray | None  # "man", "woman" or "child", if the data set has groups
    sources: Any  # files with their digests

    def splits(self, draw, seed):
        """Rows to train and to test on, by split."""
        n_new = 5 if self.name == "real" else 1
        is_new = self.repetition < n_new
        masks = {"utterance": (~is_new, is_new)}
        is_unseen = np.isin(self.speaker, self._unseen_speakers(draw, seed))
        masks["speaker"] = (~is_unseen, is_unseen)
        if self.name != "real":
            man = self.group == "man"
            woman = self.group == "woman"
            child = self.group == "child"
            masks["gender"] = (man, woman)
            masks["age (women)"] = (woman, child)
            masks["age (men)"] = (man, child)
        return {
            split: (np.flatnonzero(train), np.flatnonzero(test))
            for split, (train, test) in masks.items()
        }

    def _unseen_speakers(self, draw, seed):
        """One of the six real speakers in turn; a random half of the others."""
        speakers = np.unique(self.speaker)
        if self.name == "real":
            return speakers[[draw % len(speakers)]]
        shuffled = np.random.default_rng([seed, draw]).permutation(speakers)
        return shuffled[: len(speakers) // 2]


@cache
def load_recordings(name, seed):
    """Recordings by name: real, synthetic, or vowels."""
    if name == "real":
        data = load_fsdd()
        # 25 of the 50 repetitions of every digit by every speaker keep the matrices small.
        rows = np.flatnonzero(data.repetition < 25)
        groups = None
    else:
        if name == "synthetic":
            data = load_synthetic_speech()
        else:
            data = make_vowels(n_speakers=18, repetitions=4, random_state=seed)
        rows = np.arange(len(data.data))
        groups = data.group[rows]
    return Recordings(
        name=name,
        words=fixed_length(data.data[rows], N_SAMPLES),
        target=data.target[rows],
        speaker=data.speaker[rows],
        repetition=data.repetition[rows],
        group=groups,
        sources=data.sources,
    )


def split_accuracies(gram, target, splits, starts):
    """Test accuracy of every split, from one Gram matrix.

    The search for lambda begins at the values in `starts`, by split, which are updated: the lambda
    of the last Gram matrix is near.
    """
    scores = []
    for split, (train, test) in splits.items():
        start = starts.get(split, 1e-4)
        model = rls_by_cholesky(gram[np.ix_(train, train)], target[train], start=start)
        starts[split] = model.alpha / model.scale
        decisions = model.decide(gram[np.ix_(test, train)])
        predicted = np.unique(target)[decisions.argmax(axis=1)]
        scores.append(np.mean(predicted == target[test]))
    return scores


def nested_accuracies(Z, target, splits, bins, counts, starts, seed):
    """Accuracies of shape (bins, templates, splits) from features with the most bins.

    `Z` has shape (recordings, templates, thresholds). Thresholds for fewer bins are among those for
    the most bins, and the Gram matrix of fewer templates is a partial sum.
    """
    by_bins = []
    for n in bins:
        curves = np.ascontiguousarray(Z[:, :, :: max(bins) // n])
        curves = compressed(curves, seed)
        curves = curves - curves.mean(axis=0)
        gram = 0
        by_count = []
        for first, last in pairwise([0, *counts]):
            block = curves[:, first:last].reshape(len(Z), -1)
            gram = gram + block @ block.T
            by_count.append(split_accuracies(gram, target, splits, starts))
        by_bins.append(by_count)
    return by_bins


def compressed(curves, seed):
    """Principal components of the curves, common to all templates, if there are many thresholds."""
    n_points, n_templates, n_thresholds = curves.shape
    if n_thresholds <= MAX_THRESHOLDS:
        return curves
    pca = BlockPCA(n_thresholds, N_COMPONENTS, random_state=seed)
    components = pca.fit_transform(curves.reshape(n_points, -1))
    return components.reshape(n_points, n_templates, N_COMPONENTS)
