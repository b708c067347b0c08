"""While test data are withheld, no loader hands out a test row, by any of its attributes."""

import os

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from invariance import datasets as D
from invariance.core.parameters import ParameterError


def points(n_train=None, **more):
    details = {"speaker": np.array(list("aabbc")), "places": np.ones((5, 2)), "rate": 8000}
    return D.Dataset(
        np.arange(10).reshape(5, 2), np.arange(5), description="five points", n_train=n_train,
        details=details, **more,
    )  # fmt: skip


def test_a_data_set_with_a_split_holds_its_training_rows_alone():
    with D.withheld():
        hidden = points(n_train=3)
        assert len(hidden.data) == len(hidden.target) == len(hidden.speaker) == 3
        assert hidden.data.base is None and hidden.target.base is None  # no way back by a view
        assert hidden.rate == 8000
        assert_array_equal(hidden.train[0], points(n_train=3).data[:3])
        with pytest.raises(D.WithheldError, match="five points is withheld.*run.measure"):
            hidden.test  # noqa: B018
    assert len(points(n_train=3).test[0]) == 2
    with D.withheld(), D.withheld(False):
        assert len(points(n_train=3).data) == 5


def test_files_without_a_split_are_refused_until_there_is_one():
    with D.withheld():
        hidden = points(sources={"file": "0" * 64})
        for name in ("data", "target", "places"):
            message = rf"{name} of five points.*\.split\(test=rows\)"
            with pytest.raises(D.WithheldError, match=message):
                getattr(hidden, name)
        parts = hidden.split(test=hidden.speaker == "b")
        assert parts.target.tolist() == [0, 1, 4] and parts.places.shape == (3, 2)
        assert parts.speaker.tolist() == ["a", "a", "c"] and parts.rows.tolist() == [0, 1, 4]
        # nothing was drawn from files: another seed draws other points
        assert len(points().data) == 5 and len(D.make_xperm(random_state=0)[1]) > 0


def test_split_is_the_same_with_and_without_the_door():
    whole = points(sources={"file": "0" * 64}).split(test=[3, 0])
    assert whole.target.tolist() == [1, 2, 4, 3, 0] and whole.n_train == 3
    with D.withheld():
        hidden = points(sources={"file": "0" * 64}).split(test=[3, 0])
    assert_array_equal(hidden.data, whole.train[0])
    few = points().split(test=[3], train=[4, 0])
    assert few.target.tolist() == [4, 0, 3] and few.test[1].tolist() == [3]


def test_moved_digits_keep_their_split():
    digits = D.load_digits_images()
    how = {"n_train": 50, "n_test": 30, "random_state": 0}
    whole = D.make_rotated_mnist(digits.data[:200], digits.target[:200], **how)
    with D.withheld():
        hidden = D.make_rotated_mnist(digits.data[:200], digits.target[:200], **how)
        assert len(D.load_digits_images().data) == 1200
    assert_array_equal(hidden.data, whole.data[:50])
    assert len(hidden.degrees) == len(hidden.rows) == 50


def test_images_that_settings_were_chosen_on_are_never_tested_on():
    digits = D.load_digits_images()
    X, y = digits.data[:100], digits.target[:100]
    chosen_on = D.make_rotated_mnist(X, y, n_train=30, n_test=60, random_state=0).rows[:30]
    for seed in (1, 2, 3):
        how = {"n_train": 30, "n_test": 60, "random_state": seed}
        free = D.make_rotated_mnist(X, y, **how)
        moved = D.make_rotated_mnist(X, y, never_test=chosen_on, **how)
        assert np.isin(free.rows[30:], chosen_on).any(), "a draw would hold some by chance"
        assert not np.isin(moved.rows[30:], chosen_on).any()
        assert len(np.unique(moved.rows)) == 90 and moved.n_train == 30
    message = "n_test=80 are too many: 100 images are there, 70 of them to test on"
    with pytest.raises(ParameterError, match=message):
        D.make_rotated_mnist(X, y, n_train=20, n_test=80, never_test=chosen_on, random_state=0)


@pytest.mark.data
@pytest.mark.skipif("INVARIANCE_DATA" not in os.environ, reason="INVARIANCE_DATA is not set")
def test_mnist_and_what_is_made_of_it():
    from invariance.datasets import load_fsdd, load_mnist, load_qm7

    with D.withheld():
        assert len(load_mnist().target) == 60_000
        assert len(D.make_rotated_mnist(n_train=10, n_test=5, random_state=0).data) == 10
        molecules = load_qm7()
        with pytest.raises(D.WithheldError):
            molecules.positions  # noqa: B018
        assert len(molecules.split(test=molecules.folds[2]).target) == 4 * 1433
        assert len(load_fsdd().speaker) == 3000
    moved = D.make_translated_mnist(canvas=29, random_state=0)
    assert moved.n_train == 60_000
