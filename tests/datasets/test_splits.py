"""Splits that keep every class, and recordings cut to one length."""

import numpy as np
import pytest

from invariance.datasets import balanced_sample, fixed_length, make_vowels, split_rows


def test_a_split_by_group():
    vowels = make_vowels(n_speakers=3, repetitions=1, random_state=0)
    train, test = split_rows(
        vowels.target, train=vowels.group == "man", test=vowels.group == "woman"
    )
    assert set(vowels.group[train]) == {"man"} and set(vowels.group[test]) == {"woman"}


@pytest.mark.parametrize(
    ("train", "test", "message"),
    [
        ([True, True, False, False], [False, False, True, True], "no training row of class 2"),
        ([False] * 4, [True] * 4, "no row to train"),
        ([True] * 4, [False] * 4, "no row to test"),
        ([True] * 4, [False, True, False, False], "both parts"),
        ([1, 1, 0, 0], [0, 0, 1, 1], "booleans"),
        ([True], [False, False, True, True], "booleans"),
    ],
)
def test_splits_that_leave_something_out(train, test, message):
    with pytest.raises(ValueError, match=message):
        split_rows([0, 1, 1, 2], train=train, test=test)


def test_balanced_samples():
    target = np.repeat([3, 5, 9], [4, 6, 8])
    rows = balanced_sample(target, 4, random_state=0)
    assert np.array_equal(target[rows], np.repeat([3, 5, 9], 4)) and len(set(rows)) == 12
    assert np.array_equal(rows, balanced_sample(target, 4, random_state=0))
    for per_class in (0, 5):
        with pytest.raises(ValueError, match="per_class=. .* class 3 has 4"):
            balanced_sample(target, per_class)


def test_recordings_are_centred_and_never_empty():
    rows = fixed_length([np.arange(1, 4), np.arange(10)], 6)
    assert rows.tolist() == [[0, 1, 2, 3, 0, 0], [2, 3, 4, 5, 6, 7]]
    with pytest.raises(ValueError, match=r"recording 1 is array\(\[\]"):
        fixed_length([np.ones(3), np.ones(0)], 6)
