"""Where a result comes from: code, packages, machine."""

import os
import platform
import re
import resource
import subprocess
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

# the packages whose version may change a number or a figure
PACKAGES = ("cvxpy", "joblib", "matplotlib", "numpy", "pandas", "scikit-learn", "scipy", "sympy")


@cache
def package_versions() -> dict[str, str]:
    """Versions of Python and of the packages that compute."""
    found = {"python": platform.python_version()} | dict.fromkeys(PACKAGES, "absent")
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


@cache
def code_version(root: Path) -> str:
    """Version of this package and the commit of `root`: ``0.1.0+g1234abc``, or ``...-dirty``.

    Dirty means that the package or a notebook differs from the commit; new figures do not count.
    """

    def git(*arguments: str) -> str:
        line = ["git", "-C", str(root), *arguments]
        return subprocess.run(line, capture_output=True, text=True, timeout=30, check=True).stdout

    release = version("invariance")
    try:
        commit = git("rev-parse", "--short=10", "HEAD").strip()
        changed = git("status", "--porcelain", "--", "invariance", "notebooks")
    except (OSError, subprocess.SubprocessError):
        return release
    return f"{release}+g{commit}{'-dirty' if changed else ''}"


@cache
def architecture() -> str:
    """The processor for which NumPy's BLAS works, such as ``"SkylakeX"``: last digits of a matrix
    product depend on it. OpenBLAS finds it out, or ``OPENBLAS_CORETYPE`` says it."""
    import numpy  # noqa: F401  (loads the library)
    from threadpoolctl import threadpool_info

    found = {str(library.get("architecture", "")) for library in threadpool_info()}
    return ", ".join(sorted(found - {""})) or "unknown"


@cache
def hardware() -> dict[str, Any]:
    """Processor, cores and memory of this machine, and the BLAS in use with its threads."""
    processor = platform.processor() or platform.machine()
    with suppress(OSError, IndexError):  # no such file outside Linux
        told = Path("/proc/cpuinfo").read_text()
        processor = re.findall(r"(?m)^model name\s*: (.+)$", told)[0].strip()
    return {
        "processor": processor,
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "blas": architecture(),
        "blas_threads": os.environ.get("OMP_NUM_THREADS", "not pinned"),
    }


def floor_s() -> float:
    """Seconds of a bare matrix product for the operations that orbits have taken so far here.

    They are counted before they are done (`invariance.orbits.way.asked`): inner products over
    orbits, not solvers of linear systems nor figures. A symmetric matrix counts whole.
    """
    way = sys.modules.get("invariance.orbits.way")  # absent where there were no orbits
    return sum(n / way.rate(dtype) for dtype, n in way.asked.items()) if way else 0.0


def peak_memory_mb() -> dict[str, float]:
    """Peak resident memory of this process and of its largest finished child, in MiB.

    The system counts a child from its fork on, so the child's figure is an upper bound.
    """
    unit = 2**20 if sys.platform == "darwin" else 2**10
    whose = {"peak_memory_mb": resource.RUSAGE_SELF}
    whose["peak_memory_child_mb"] = resource.RUSAGE_CHILDREN
    return {name: round(resource.getrusage(who).ru_maxrss / unit, 1) for name, who in whose.items()}
