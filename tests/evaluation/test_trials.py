"""What is measured is what happened."""

import time

import numpy as np
import pytest

from invariance.evaluation.trials import share_of_changes, trial
from invariance.groups import Negation

X = np.random.default_rng(0).standard_normal((40, 3))


def spin(seconds):
    start = time.process_time()
    while time.process_time() - start < seconds:
        pass


def test_a_trial_measures_score_discrepancy_and_peak_memory():
    def fit():
        large = np.ones(2**20)  # 8 MiB, gone before the prediction
        offset = large.mean()
        return lambda points: points[:, 0] + offset

    done = trial(fit, X, score=np.mean, discrepancy=lambda f: f(X[:1])[0], memory=True)
    assert done.score == pytest.approx(X[:, 0].mean() + 1)
    assert done.discrepancy == pytest.approx(X[0, 0] + 1)
    assert 8 <= done.peak_mb < 8.5
    assert np.isnan(trial(fit, X, score=np.mean, discrepancy=lambda f: 0.0).peak_mb)


def test_fit_and_prediction_are_timed_apart():
    def fit():
        spin(0.1)
        return lambda points: (spin(0.03), points[:, 0])[1]

    done = trial(fit, X, score=np.mean, discrepancy=lambda f: 0.0)
    assert 0.1 <= done.fit_s and 0.03 <= done.predict_s < 0.1


def test_memory_is_measured_by_a_second_run_or_by_the_first():
    for apart, runs in ((True, 2), (False, 1)):
        fits = []

        def fit(fits=fits):
            fits.append(np.ones(2**20).mean())  # 8 MiB
            return lambda points: points[:, 0]

        how = dict(score=np.mean, discrepancy=lambda f: 0.0, memory=True, apart=apart)
        assert 8 <= trial(fit, X, **how).peak_mb < 8.5 and len(fits) == runs


def test_share_of_changes_counts_pairs_of_point_and_element():
    group = Negation()
    moved = group.act(group.sample(8, 0), X)
    signs = X[:, 0] > 0
    expected = np.mean([(Y[:, 0] > 0) != signs for Y in moved])
    assert 0 < expected < 1
    assert share_of_changes(lambda Z: Z[:, 0] > 0, group, X=X) == expected
    assert share_of_changes(lambda Z: np.abs(Z[:, 0]) > 1, group, X=X) == 0
