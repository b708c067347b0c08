"""How far a second call travels: calls, files and depth inside the package, on 20 x 10 points."""

import os
import sys

import numpy as np
import pytest

import invariance
from invariance.features import GroupCDF, OrbitFourier
from invariance.groups import CyclicShifts, Permutations
from invariance.kernels import Average, BestFit, Gaussian
from invariance.spectral import SpectralAveraging, Sphere

ROOT = os.path.dirname(invariance.__file__) + os.sep
X, Y = np.random.default_rng(0).random((30, 64))[:20], np.random.default_rng(1).random((10, 64))
SHIFTS = CyclicShifts(64)
FEATURES = {"n_components": 5, "random_state": 0}

CALLS = {
    "BestFit": (BestFit(Gaussian(0.1), SHIFTS), 115),
    "Average": (Average(Gaussian(0.1), SHIFTS), 115),
    "Gaussian": (Gaussian(0.1), 24),
    "GroupCDF": (GroupCDF(SHIFTS, **FEATURES).fit(X).transform, 64),
    "OrbitFourier": (OrbitFourier(SHIFTS, **FEATURES).fit(X).transform, 64),
}


def travel(call):
    """Calls, files and depth of the frames inside the package."""
    calls, depth, deepest, files = 0, 0, 0, set()

    def see(frame, event, _):
        nonlocal calls, depth, deepest
        if not frame.f_code.co_filename.startswith(ROOT):
            return
        if event == "call":
            calls, depth = calls + 1, depth + 1
            deepest = max(deepest, depth)
            files.add(frame.f_code.co_filename)
        elif event == "return":
            depth -= 1

    sys.setprofile(see)
    try:
        call()
    finally:
        sys.setprofile(None)
    return calls, len(files), deepest


@pytest.mark.parametrize("name", CALLS)
def test_a_second_call_goes_down_once_and_comes_back_once(name):
    function, most = CALLS[name]
    points = (Y,) if most == 64 else (X, Y)
    function(*points)
    calls, files, deepest = travel(lambda: function(*points))
    assert calls <= most and files <= 14 and deepest <= 10, (calls, files, deepest)


def test_a_fit_by_projection_travels_no_further():
    S = np.random.default_rng(0).standard_normal((50, 5))
    S /= np.linalg.norm(S, axis=1, keepdims=True)
    model = SpectralAveraging(Sphere(5), Permutations(5), degree=3, estimator="ridge")
    model.fit(S, S[:, 0] ** 3)
    calls, files, deepest = travel(lambda: model.fit(S, (S**3).sum(axis=1)))
    assert calls <= 200 and files <= 14 and deepest <= 12, (calls, files, deepest)
