"""The memory of kernels, seen from outside the process."""

import subprocess
import sys

import pytest

_MEASURED = """
import resource, sys
import numpy as np
from invariance.groups import *
from invariance.kernels import *
from invariance.kernels.tangent import TANGENTS
rng, sh = np.random.default_rng(0), (28, 28)
kernel, n, d = {case}
X = rng.random((n, d))
kernel.set_params(block_bytes=32 * 2**20)
kernel(X[:20])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
gram = kernel(X)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((after - before) * 1024 - gram.nbytes)
"""


@pytest.mark.parametrize(
    "case",
    [
        "BestFit(Polynomial(3, 1 / 784), Translations(sh, max_shift=1)), 2000, 784",
        "BestFit(Gaussian(0.01), Rotations(sh, degrees=[0, 5])), 1000, 784",
        "Average(Gaussian(0.1), CircleAction([0] * 10 + [1, 1] * 20, n_nodes=16)), 2000, 50",
        "Average(Gaussian(0.1), SignFlips(20)), 2000, 20",
        "Average(Gaussian(0.1), Rotations(sh, degrees=[0, 5]), side='both'), 700, 784",
        "BestFit(Locality(sh, 7), Translations(sh, max_shift=1)), 200, 784",
        "Locality(sh, 7), 400, 784",
        "Locality(sh, 7, powers=(2, 2, 2)), 200, 784",
        "TangentDistance(sh), 1000, 784",
        "TangentDistance(sh, tuple(TANGENTS)[:6], side='first'), 1000, 784",
    ],
)
def test_memory_stays_under_its_bound(case):
    """Beside inputs and result at most 1.25 times `block_bytes`, seen from outside the process."""
    code = _MEASURED.format(case=case)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 1.25 * 32 * 2**20
