"""Gram matrices and learners at sizes at which OpenBLAS ends the process.

    python tests/slow_checks/large_matrices.py [n]

The process has two BLAS threads. ``numpy`` in place of ``n`` multiplies a matrix by its own
transpose, by NumPy alone: where this ends in a segmentation fault, the other checks show that this
library does not.
"""

import os
import sys

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "2"

import numpy as np

from invariance.core.symmetric import factorize
from invariance.groups import CyclicShifts
from invariance.kernels import Average, Gaussian, Polynomial
from invariance.linear import BlockRidgeClassifier


def points(n: int, d: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((n, d))


def run_checks(n: int) -> None:
    for kernel, d in (
        (Gaussian(0.001), 500),
        (Polynomial(2), 500),
        (Average(Gaussian(0.1), CyclicShifts(4)), 4),
    ):
        gram = None  # The memory holds one matrix.
        gram = kernel(points(n, d))
        symmetric = np.allclose(gram[:100], gram[:, :100].T)
        print(f"{kernel}: symmetric {symmetric}", flush=True)
    gram = np.asfortranarray(gram)
    gram.flat[:: n + 1] += 1
    print("Cholesky:", factorize(gram) == 0, flush=True)
    del gram
    wide = points(60, n)
    BlockRidgeClassifier().partial_fit(wide, wide[:, 0] > 0, classes=[False, True])
    print("BlockRidgeClassifier: done", flush=True)


if __name__ == "__main__":
    size = sys.argv[1] if len(sys.argv) > 1 else "23000"
    if size == "numpy":
        X = points(23_000, 500)
        print("NumPy:", (X @ X.T).shape)
    else:
        run_checks(int(size))
