"""Several processes of tests share a machine: long tests come first, and memory is given back."""

import ctypes
import gc
import os
import sys
from contextlib import suppress

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
