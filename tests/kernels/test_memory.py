"""Memory of kernels and feature maps, measured by the operating system."""

import subprocess
import sys

import pytest

_SHARED = """
import os, resource
import numpy as np
from invariance.features import *
from invariance.groups import *
from invariance.kernels import *
from invariance.beyond.tangent import TANGENTS, TangentDistance
rng, sh, group = np.random.default_rng(0), (28, 28), CyclicShifts(4, block=16)
"""
#: Each case runs in a child process, which shares only imported modules with the others.
_MEASURED = """
if not os.fork():
    bound, model = 32 * 2**20, None
    {case}
    call(X[:70])
    if model is not None:
        model.fit(X[:500])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = call(X)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(((after - before) * 1024 - result.nbytes) / bound, flush=True)
    os._exit(0)
os.wait()
"""
KERNEL = """
    call, n, d = {case}
    X = rng.random((n, d))
    call.set_params(block_bytes=bound)
"""
#: The points take 77 MB, or their features 122 MB: a copy of either exceeds the bound.
FEATURES = """
    bound = 16 * 2**20
    model, n = {case}
    model.set_params(block_bytes=bound, random_state=0)
    X = rng.standard_normal((n, 64), dtype=np.float32)
    call = model.fit(X[:70]).transform
"""
CASES = {
    **{case: FEATURES for case in (
        "GroupCDF(group, 200, n_bins=25), 3000",
        "OrbitFourier(group, 10, side='first'), 300_000",
        "OrbitNystroem(group, 10), 300_000",
    )},
    **{case: KERNEL for case in (
        "BestFit(Polynomial(3, 1 / 784), Translations(sh, max_shift=1)), 2000, 784",
        "BestFit(Gaussian(0.01), Rotations(sh, degrees=[0, 5])), 1000, 784",
        "Average(Gaussian(0.1), CircleAction([0] * 10 + [1, 1] * 20, n_nodes=16)), 2000, 50",
        "Average(Gaussian(0.1), SignFlips(20)), 2000, 20",
        "Average(Gaussian(0.1), Rotations(sh, degrees=[0, 5]), side='both'), 700, 784",
        "BestFit(Locality(sh, 7), Translations(sh, max_shift=1)), 120, 784",
        "Locality(sh, 7), 400, 784",
        "Locality(sh, 7, powers=(2, 2, 2)), 200, 784",
        "TangentDistance(sh), 1000, 784",
        "TangentDistance(sh, tuple(TANGENTS)[:6]), 1000, 784",
    )},
}  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux alone")
def test_memory_stays_under_its_bound():
    """A call needs at most 1.25 times `block_bytes` in addition to its inputs and its result."""
    code = "".join(_MEASURED.format(case=CASES[case].format(case=case)) for case in CASES)
    done = subprocess.run(
        [sys.executable, "-c", _SHARED + code], capture_output=True, encoding="utf-8", check=True
    )
    shares = dict(zip(CASES, map(float, done.stdout.split()), strict=True))
    assert {case: share for case, share in shares.items() if share >= 1.25} == {}
