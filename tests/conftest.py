"""Several processes of tests share a machine: long tests come first, and memory is given back."""

import ctypes
import gc
import os
import sys
from contextlib import suppress

import numpy as np
import pytest

# With one process of tests per processor, further threads of these would wait for each other.
if "PYTEST_XDIST_WORKER" in os.environ:
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")


def pytest_collection() -> None:
    """Do without the garbage collector while tests are collected: a third of that time."""
    gc.disable()


#: Folders and files whose tests take longest.
LONGEST = (
    "tests/companion/site/test_whole.py",
    "tests/companion/run/test_notebooks.py",
    "tests/test_install.py",
    "tests/kernels/test_memory.py",
    "tests/companion/runner/",
    "tests/companion/",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the longest tests come first, so that processes share short ones at the end."""

    def place(item: pytest.Item) -> int:
        for number, start in enumerate(LONGEST):
            if item.nodeid.startswith(start):
                return number
        return len(LONGEST)

    items.sort(key=place)


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over the many objects that describe the tests."""
    gc.enable()
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def _memory_is_given_back():
    """Forget the tables of eigenfunctions that a file's tests have left, and return free memory.

    The library keeps such tables for a later call; those of forty degrees take 130 MB.
    """
    yield
    for name, module in list(sys.modules.items()):
        if name.startswith("invariance.spectral."):
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()
    gc.collect()
    with suppress(OSError, AttributeError):  # Only glibc has this call.
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def _assert_derivatives(function, *points, forward=False):
    """Compare gradients of PyTorch with central differences along three random directions.

    Directions and weights of the values are normal, so that every entry of the Jacobian counts in
    every comparison: a wrong one is missed with probability zero, but for rounding. With
    `forward`, all derivatives along a direction in forward mode are compared too. `gradcheck` adds
    that gradients are the same twice, and those of undefined gradients.
    """
    import torch
    from torch.autograd import forward_ad

    rng = np.random.default_rng(0)
    step = 1e-6
    for _ in range(3):
        directions = [torch.tensor(rng.standard_normal(tuple(part.shape))) for part in points]
        pairs = list(zip(points, directions, strict=True))
        with torch.no_grad():
            above = function(*[part + step * direction for part, direction in pairs])
            below = function(*[part - step * direction for part, direction in pairs])
        expected = (above - below) / (2 * step)
        tolerance = 1e-7 * (1 + float(expected.abs().max()))
        values = function(*points)
        for _ in range(3):
            weights = torch.tensor(rng.standard_normal(tuple(values.shape)))
            gradients = torch.autograd.grad(values, points, weights, retain_graph=True)
            slope = sum(
                (gradient * direction).sum()
                for gradient, direction in zip(gradients, directions, strict=True)
            )
            assert abs(float(slope - (weights * expected).sum())) <= tolerance
        if forward:
            with forward_ad.dual_level():
                duals = [forward_ad.make_dual(part, direction) for part, direction in pairs]
                tangent = forward_ad.unpack_dual(function(*duals)).tangent
            assert float((tangent - expected).abs().max()) <= tolerance
    assert torch.autograd.gradcheck(function, points, check_forward_ad=forward, fast_mode=True)


@pytest.fixture
def assert_derivatives():
    """The comparison of gradients with finite differences."""
    return _assert_derivatives
