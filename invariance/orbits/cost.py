"""Cost of a computation: operations, seconds, and warnings before it takes minutes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..core.messages import warn

#: Operations of all completed reductions in this process, by precision. Interrupted calls are not
#: counted. Nothing in the library depends on it; it is there for reports on a process.
operations_done: Counter[str] = Counter()
#: A clock that does not move for this many readings counts as standing still.
_READINGS = 100_000
#: Smallest number of a clock's steps in a measurement.
_STEPS = 10
#: A warning is given before more than this many seconds of work.
LONG_SECONDS = 60.0


@dataclass(frozen=True)
class Explanation:
    """How something will be computed, and at what cost."""

    way: str
    operations: float  #: number of floating-point operations
    n_bytes: float  #: upper bound on the memory of the result and of temporary arrays
    seconds: float  #: on one core
    alternatives: dict[str, float]  #: operations of the algorithms that were not chosen

    @classmethod
    def of(cls, way: str, operations: float, n_bytes: float, dtype: Any = "float64") -> Explanation:
        """Return an explanation with the seconds that this many operations usually take."""
        seconds = operations / rate(np.dtype(dtype).name)
        return cls(way, operations, float(n_bytes), seconds, {})

    def __str__(self) -> str:
        text = (
            f"{self.way}: {self.operations:.1e} operations, about {self.seconds:.2g} s on a core, "
            f"{self.n_bytes / 2**20:.0f} MiB"
        )
        if not self.alternatives:
            return text
        counts = [f"{name} {count:.1e}" for name, count in self.alternatives.items()]
        return f"{text} (instead of {', '.join(counts)})"


def warn_long(seconds: float, subject: str, cheaper: str) -> None:
    """Warn if the work takes minutes, and name what would be cheaper."""
    if seconds > LONG_SECONDS:
        minutes = f"{seconds / 60:.2g} minutes on a core. verbose=1 shows progress"
        warn(f"{subject} will take about {minutes}. Cheaper: {cheaper}")


@cache
def rate(dtype: str) -> float:
    """Operations per second of a matrix product on this machine, on one core or more."""
    size = 256
    matrix = np.random.default_rng(0).standard_normal((size, size)).astype(dtype)
    matrix @ matrix
    clock = moving_clock(time.perf_counter)
    seconds = [seconds_of(lambda: matrix @ matrix, clock) for _ in range(3)]
    return float(2 * size**3 / min(seconds))


class Clock(NamedTuple):
    read: Callable[[], float]
    step: float  #: seconds by which it moves, possibly many milliseconds

    @property
    def shortest(self) -> float:
        """Smallest number of seconds that it measures well enough."""
        return _STEPS * self.step


def moving_clock(*clocks: Callable[[], float]) -> Clock:
    """Return the first clock that moves while this process computes.

    In WebAssembly and on some systems the processor's time stands still, or moves in coarse steps.
    """
    for read in clocks:
        start = read()
        for _ in range(_READINGS):
            now = read()
            if now > start:
                return Clock(read, now - start)
    return Clock(time.perf_counter, 0.0)


def seconds_of(function: Callable[[], Any], clock: Clock) -> float:
    """Return the seconds of a call, repeated until the clock has moved by several steps."""
    calls = 1
    while True:
        start = clock.read()
        for _ in range(calls):
            function()
        seconds = clock.read() - start
        if seconds >= clock.shortest:
            return seconds / calls
        calls *= 2
