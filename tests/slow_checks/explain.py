"""What `explain` says beside what a call takes, on and off the matrix product.

    python tests/slow_checks/explain.py

Twenty kernels, groups and sizes, on an idle machine with one BLAS thread: within a factor of two.
"""

import sys
import time

import numpy as np

from invariance.features import GroupCDF, MaxFilter, OrbitFourier, OrbitNystroem
from invariance.groups import (
    CircleAction,
    CyclicShifts,
    GeneratedPermutations,
    Permutations,
    PlaneRotations,
    Rotations,
    SignFlips,
    Translations,
)
from invariance.kernels import Average, BestFit, Gaussian, Kernel, Laplacian, Locality, Polynomial


class Slow(Kernel):
    """A kernel of one's own, evaluated point by point."""

    def _gram(self, X, Y):
        Y = X if Y is None else Y
        return np.exp(-np.array([[np.abs(np.sin(x - y)).sum() for y in Y] for x in X]))


RNG = np.random.default_rng(0)
SHAPE = (28, 28)
CYCLE = GeneratedPermutations([[1, 2, 3, 4, 5, 0]])
CASES = {
    "shifts, polynomial": (BestFit(Polynomial(3, 0.01), Translations(SHAPE, max_shift=2)), 600),
    "shifts, Gaussian": (Average(Gaussian(0.01), Translations(SHAPE, max_shift=2)), 400),
    "row of shifts": (BestFit(Gaussian(0.01), CyclicShifts(784)), 500),
    "few rotations": (BestFit(Gaussian(0.01), Rotations(SHAPE, degrees=[-9, 0, 9])), 600),
    "quarter turns": (BestFit(Gaussian(0.01), Rotations(SHAPE, degrees=range(0, 360, 45))), 400),
    "locality": (BestFit(Locality(SHAPE, 5), Translations(SHAPE, max_shift=1)), 100),
    "deep locality": (BestFit(Locality((8, 8), 3, powers=(2, 2, 2)), CyclicShifts(64)), 20),
    "circle": (Average(Gaussian(0.1), CircleAction([0] * 4 + [1, 1] * 8, n_nodes=64)), 600),
    "signs": (Average(Gaussian(0.1), SignFlips(20)), 400),
    "signs, Laplacian": (Average(Laplacian(0.1), SignFlips(20)), 400),
    "permutations": (Average(Gaussian(0.1), Permutations(6)), 150),
    "permutations, powers": (Average(Polynomial(3, 0.1), Permutations(20)), 500),
    "matching": (BestFit(Gaussian(0.1), Permutations(6, block=2)), 60),
    "both sides": (Average(Gaussian(0.1), Permutations(4), side="both"), 120),
    "evaluated": (Average(Slow(), Permutations(4), side="second"), 30),
    "evaluated, both": (Average(Slow(), CYCLE, side="both"), 24),
    "rotations of points": (Average(Gaussian(0.1), PlaneRotations(64)), 200),
    "GroupCDF": (GroupCDF(Translations(SHAPE, max_shift=2), 200, random_state=0), 300),
    "OrbitFourier": (OrbitFourier(CyclicShifts(64), 500, gamma=0.1, random_state=0), 2000),
    "OrbitNystroem": (OrbitNystroem(CyclicShifts(64), 300, gamma=0.1, random_state=0), 2000),
    "MaxFilter": (MaxFilter(Translations(SHAPE, max_shift=2), 200, random_state=0), 1000),
}


def main():
    beyond = 0
    for name, (model, n) in CASES.items():
        group = model.group
        d = group.n_features or {"rotations of points": 16}.get(name, 64)
        X = RNG.random((n, d))
        if hasattr(model, "fit"):
            model.fit(X)
        call = model.transform if hasattr(model, "fit") else model
        begun = time.process_time()
        told = model.explain(X)
        took = time.process_time() - begun
        call(X)
        measured = np.inf
        for _ in range(3):
            begun = time.process_time()
            call(X)
            measured = min(measured, time.process_time() - begun)
        ratio = told.seconds / measured
        wrong = took > 1 or not 0.5 < ratio < 2
        beyond += wrong
        print(
            f"{name:22s} {told.way:28s} told {told.seconds:8.3f} s, measured {measured:8.3f} s, "
            f"ratio {ratio:5.2f}, itself {took:5.2f} s{' <--' if wrong else ''}"
        )
    return beyond


if __name__ == "__main__":
    sys.exit(main())
