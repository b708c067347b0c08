"""The task X_perm: complete, balanced as counted, invariant to reordering."""

import numpy as np
import pytest

from invariance.datasets import make_xperm
from invariance.groups import Permutations


def test_all_sequences_once_and_positives_as_counted():
    X, y = make_xperm(random_state=3)
    assert len(np.unique(X, axis=0)) == len(X) == 8**5
    assert np.all(X.reshape(-1, 5, 8).sum(axis=2) == 1)
    # Inclusion and exclusion: all, minus those without one target, plus those without either.
    assert y.sum() == 8**5 - 2 * 7**5 + 6**5


def test_labels_are_invariant():
    X, y = make_xperm(length=3, alphabet=4, random_state=0)
    label = {x.tobytes(): v for x, v in zip(X, y, strict=True)}
    group = Permutations(3, block=4)
    for moved in group.act(group.elements(), X):
        assert [label[x.tobytes()] for x in moved] == y.tolist()


def test_the_seed_draws_the_targets():
    y = [make_xperm(random_state=seed)[1] for seed in (0, 0, 1)]
    assert np.array_equal(y[0], y[1]) and not np.array_equal(y[0], y[2])


@pytest.mark.parametrize(
    ("length", "alphabet", "named"), [(0, 8, "length"), (5, 1, "alphabet"), (20, 8, "length")]
)
def test_sizes_that_make_no_sense(length, alphabet, named):
    with pytest.raises(ValueError, match=named):
        make_xperm(length, alphabet)
