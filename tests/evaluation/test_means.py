import numpy as np
import pytest
from numpy.testing import assert_allclose

from invariance.evaluation.means import Score, mean_se


def test_mean_and_standard_error():
    samples = np.random.default_rng(0).normal(size=(50, 3))
    mean, se = mean_se(samples)
    assert_allclose(se, samples.std(axis=0, ddof=1) / np.sqrt(50))
    assert mean_se(samples[:, 0]) == Score(mean[0], se[0])


@pytest.mark.parametrize("samples", [3.0, [3.0], [[1.0, 2.0]]])
def test_one_repetition_has_no_standard_error(samples):
    with pytest.raises(ValueError, match="at least two repetitions"):
        mean_se(samples)
