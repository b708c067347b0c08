"""Trials measure the score, the time and the memory of a method."""

import sys
import time
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "notebooks/compare"))
from _trials import trial

POINTS = np.random.default_rng(0).standard_normal((40, 3))


def spin(seconds):
    start = time.process_time()
    while time.process_time() - start < seconds:
        pass


def test_a_trial_measures_score_and_discrepancy():
    def fit():
        return lambda points: points[:, 0] + 1

    done = trial(fit, POINTS, score=np.mean, discrepancy=lambda f: f(POINTS[:1])[0])
    assert done.score == pytest.approx(POINTS[:, 0].mean() + 1)
    assert done.discrepancy == pytest.approx(POINTS[0, 0] + 1)
    assert np.isnan(done.peak_mb)


def test_fit_and_prediction_are_timed_apart():
    def fit():
        spin(0.1)
        return lambda points: (spin(0.03), points[:, 0])[1]

    done = trial(fit, POINTS, score=np.mean, discrepancy=lambda f: 0.0)
    assert 0.1 <= done.fit_s and 0.03 <= done.predict_s < 0.1


def test_memory_is_measured_by_a_second_run_or_by_the_first():
    for apart, runs in ((True, 2), (False, 1)):
        fits = []

        def fit(fits=fits):
            fits.append(np.ones(2**20).mean())  # 8 MiB, gone before the prediction
            return lambda points: points[:, 0]

        how = dict(score=np.mean, discrepancy=lambda f: 0.0, memory=True, apart=apart)
        assert 8 <= trial(fit, POINTS, **how).peak_mb < 8.5 and len(fits) == runs
