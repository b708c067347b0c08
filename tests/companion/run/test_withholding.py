"""While test data are withheld, no loader hands out a test row, in this process or in others."""

import copy
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from invariance import datasets as D
from invariance.companion import WithheldError, withheld
from invariance.companion.run.withholding import without_test_data


@pytest.fixture(autouse=True)
def no_filter(monkeypatch):
    monkeypatch.delenv("INVARIANCE_DATASET_FILTER", raising=False)


def five_points(**fields):
    details = {"speaker": np.array(list("aabbc")), "places": np.ones((5, 2)), "rate": 8000}
    return D.Dataset(
        np.arange(10).reshape(5, 2), np.arange(5), description="five points", details=details,
        **fields,
    )  # fmt: skip


def test_a_data_set_with_a_split_holds_its_training_rows_alone():
    everything = five_points(n_train=3)
    hidden = without_test_data(everything)
    assert len(hidden.data) == len(hidden.target) == len(hidden.speaker) == 3
    assert hidden.data.base is None and hidden.target.base is None  # no way back by a view
    assert hidden.rate == 8000
    assert_array_equal(hidden.train[0], everything.data[:3])
    with pytest.raises(WithheldError, match="five points is withheld.*run.measure"):
        hidden.test  # noqa: B018
    assert len(everything.test[0]) == 2


def test_files_without_a_split_are_refused_until_there_is_one():
    hidden = without_test_data(five_points(sources={"file": "0" * 64}))
    for name in ("data", "target", "places"):
        message = rf"{name} of five points.*\.split\(test=rows\)"
        with pytest.raises(WithheldError, match=message):
            getattr(hidden, name)
    assert set(hidden.details) == {"speaker", "rate"}
    assert (hidden.description, hidden.n_train) == ("five points", None)
    with pytest.raises(AttributeError, match="has no 'pitch'"):
        hidden.pitch  # noqa: B018
    for twin in (hidden, pickle.loads(pickle.dumps(hidden)), copy.deepcopy(hidden)):
        with withheld():
            parts = twin.split(test=twin.speaker == "b")
        assert parts.target.tolist() == [0, 1, 4] and parts.places.shape == (3, 2)
        assert parts.speaker.tolist() == ["a", "a", "c"] and parts.rows.tolist() == [0, 1, 4]


def test_generated_data_without_a_split_stay_until_they_are_split():
    """Nothing was drawn from files: another seed draws other points."""
    with withheld():
        assert len(without_test_data(five_points()).data) == 5
        assert len(D.make_xperm(random_state=0)[1]) > 0
        assert five_points().split(test=[0]).target.tolist() == [1, 2, 3, 4]


def test_split_is_the_same_while_data_are_withheld():
    everything = five_points(sources={"file": "0" * 64})
    parts = everything.split(test=[3, 0])
    with withheld():
        hidden = without_test_data(everything).split(test=[3, 0])
        assert_array_equal(hidden.split(test=[0]).data, parts.train[0][1:])
    assert_array_equal(hidden.data, parts.train[0])


def test_withholding_ends_and_can_be_interrupted():
    with withheld(), withheld(False):
        assert len(D.load_digits_images().data) == 1797
    with withheld(), pytest.raises(ZeroDivisionError), withheld(False):
        1 / 0  # noqa: B018
    assert len(D.load_digits_images().data) == 1797


def test_a_filter_of_the_user_is_left_alone(monkeypatch):
    monkeypatch.setenv("INVARIANCE_DATASET_FILTER", "copy:copy")
    with withheld(False):
        assert os.environ["INVARIANCE_DATASET_FILTER"] == "copy:copy"


def test_processes_started_meanwhile_withhold_too():
    count = "from invariance import datasets as D; print(len(D.load_digits_images().data))"
    counts = []
    for closed in (True, False):
        with withheld(closed):
            counts.append(int(subprocess.check_output([sys.executable, "-c", count])))
    assert counts == [1200, 1797]


def test_rotated_digits_keep_their_split():
    digits = D.load_digits_images()
    sizes = {"n_train": 50, "n_test": 30, "random_state": 0}
    everything = D.make_rotated_mnist(digits.data[:200], digits.target[:200], **sizes)
    with withheld():
        hidden = D.make_rotated_mnist(digits.data[:200], digits.target[:200], **sizes)
        assert len(D.load_digits_images().data) == 1200
    assert_array_equal(hidden.data, everything.data[:50])
    assert len(hidden.degrees) == len(hidden.rows) == 50


@pytest.mark.data
@pytest.mark.skipif("INVARIANCE_DATA" not in os.environ, reason="INVARIANCE_DATA is not set")
def test_mnist_and_what_is_made_of_it():
    from invariance.datasets import load_fsdd, load_mnist, load_qm7

    with withheld():
        assert len(load_mnist().target) == 60_000
        assert len(D.make_rotated_mnist(n_train=10, n_test=5, random_state=0).data) == 10
        molecules = load_qm7()
        with pytest.raises(WithheldError):
            molecules.positions  # noqa: B018
        assert len(molecules.split(test=molecules.folds[2]).target) == 4 * 1433
        assert len(load_fsdd().speaker) == 3000
    assert D.make_translated_mnist(canvas=29, random_state=0).n_train == 60_000
