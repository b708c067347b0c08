"""Kernels and feature maps on a GPU, each beside plain lines of PyTorch.

    python tests/slow_checks/on_a_gpu.py [n_points]

Features and base kernels stand beside the bare product that gives as many numbers; Gram matrices
over a group beside a loop over its elements: a product, the base kernel, a mean or a maximum.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from invariance import beyond, features, groups, kernels

# pytest collects the examples of all modules here, also where PyTorch is not installed.
torch = pytest.importorskip("torch", reason="needs PyTorch: pip install '.[torch]'")
Timer = pytest.importorskip("torch.utils.benchmark").Timer

#: Points of this length are shifted cyclically in the Gram matrices.
LENGTH = 64
GAMMA = 0.01


def milliseconds(function: Callable[[torch.Tensor], torch.Tensor], X: torch.Tensor) -> float:
    """Return the median duration of a call."""
    timer = Timer("function(X)", globals={"function": function, "X": X})
    return 1e3 * timer.blocked_autorange().median


def loop_over_shifts(X: torch.Tensor, largest: bool) -> torch.Tensor:
    """Return the mean or maximum of a Gaussian kernel over all cyclic shifts, in plain lines."""
    norms = (X**2).sum(dim=1)
    result = None
    for shift in range(X.shape[1]):
        products = X @ torch.roll(X, shift, dims=1).T
        values = torch.exp(-GAMMA * (norms[:, None] + norms - 2 * products))
        if result is None:
            result = values
        elif largest:
            result = torch.maximum(result, values)
        else:
            result = result + values
    return result if largest else result / X.shape[1]


def features_beside_products(n_points: int, device: str, dtype: torch.dtype) -> None:
    """Print durations of base kernels and features, in bare products."""
    X = torch.rand(n_points, 784, dtype=dtype, device=device)
    jobs = []
    for kernel in (kernels.Gaussian(GAMMA), kernels.Polynomial(4), kernels.CDF()):
        jobs.append((type(kernel).__name__, kernel, n_points))
    shifts = groups.Translations((28, 28), max_shift=3)
    maps = (features.OrbitFourier, features.OrbitNystroem, beyond.MaxFilter, features.GroupCDF)
    for feature_map in maps:
        model = feature_map(shifts, 500, random_state=0).fit(X[:2000].cpu().numpy())
        jobs.append((feature_map.__name__, model.transform, 49 * 500))
    for name, function, width in jobs:
        Y = torch.rand(784, width, dtype=dtype, device=device)
        ours = milliseconds(function, X)
        bare = milliseconds(Y.__rmatmul__, X)
        print(f"{dtype} {name}: {ours:.1f} ms, {ours / bare:.2f} bare products", flush=True)


def gram_matrices_beside_loops(n_points: int, device: str, dtype: torch.dtype) -> None:
    """Print durations of Gram matrices over all shifts, beside a plain loop."""
    X = torch.rand(n_points, LENGTH, dtype=dtype, device=device)
    base = kernels.Gaussian(GAMMA)
    for kernel, largest in (
        (kernels.Average(base, groups.CyclicShifts(LENGTH)), False),
        (kernels.BestFit(base, groups.CyclicShifts(LENGTH)), True),
    ):

        def plain(X: torch.Tensor, largest: bool = largest) -> torch.Tensor:
            return loop_over_shifts(X, largest)

        ours = milliseconds(kernel, X)
        loop = milliseconds(plain, X)
        name = type(kernel).__name__
        difference = (kernel(X[:200]) - plain(X[:200])).abs().max()
        print(
            f"{dtype} {name}, {n_points} x {n_points}, {LENGTH} shifts: {ours:.0f} ms, "
            f"{ours / loop:.2f} plain loops; largest difference {difference:.1e}",
            flush=True,
        )


if __name__ == "__main__":
    n_points = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    device = "cuda" if torch.cuda.is_available() else "cpu"
    name = torch.cuda.get_device_name() if device == "cuda" else device
    print(name, n_points, "points")
    for dtype in (torch.float32, torch.float64):
        gram_matrices_beside_loops(n_points, device, dtype)
        features_beside_products(n_points, device, dtype)
