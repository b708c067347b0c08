"""Time several implementations of one job side by side."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Implementations by name: functions without arguments.
Implementations = Mapping[str, Callable[[], Any]]


@dataclass(frozen=True)
class Job:
    """A computation that several implementations do.

    Attributes
    ----------
    prepare : callable
        Takes a number of points, prepares everything that is not timed, and returns the
        implementations by name. One is called "ours".
    sizes : sequence of int
        Numbers of points.
    aim : float or None
        The multiple of our time that the last implementation should take.
    """

    prepare: Callable[[int], Implementations]
    sizes: Sequence[int]
    aim: float | None = None


@dataclass
class Measurement:
    """Seconds by the clock and of the processor, and differences from our result.

    Attributes
    ----------
    seconds : dict
        Keys are the name of an implementation and a number of points.
    differences : dict
        Largest difference of each implementation from ours, relative to our largest number.
    """

    seconds: dict[tuple[str, int], NDArray[np.float64]] = field(default_factory=dict)
    differences: dict[str, float] = field(default_factory=dict)

    def names(self) -> list[str]:
        """Return the names of the implementations, in their order."""
        return list(dict.fromkeys(name for name, _ in self.seconds))

    def largest_size(self, name: str) -> int:
        """Return the largest number of points that an implementation reached."""
        return max(size for key, size in self.seconds if key == name)


def measure(job: Job, *, budget: float, repeats: int, least_seconds: float) -> Measurement:
    """Time the implementations of a job alternately, and keep the least of several times.

    They are repeated for `least_seconds` at each size, and at least `repeats` times, since other
    programs disturb the times of short computations most. An implementation other than ours that
    exceeds `budget` seconds is not run at larger sizes.
    """
    measurement = Measurement()
    slow: set[str] = set()
    for size in job.sizes:
        implementations = job.prepare(size)
        timed = {name: f for name, f in implementations.items() if name not in slow}
        if size == job.sizes[0]:
            measurement.differences = _differences(timed)
        for name in timed:
            measurement.seconds[name, size] = np.full(2, np.inf)
        started = time.perf_counter()
        n_repeated = 0
        while n_repeated < repeats or time.perf_counter() - started < least_seconds:
            n_repeated += 1
            for name, implementation in timed.items():
                seconds = measurement.seconds[name, size]
                measurement.seconds[name, size] = np.minimum(seconds, _time(implementation))
        for name in timed:
            if name != "ours" and measurement.seconds[name, size][1] > budget:
                slow.add(name)
    return measurement


def _time(implementation: Callable[[], Any]) -> NDArray[np.float64]:
    """Return the seconds of one call, by the clock and of the processor."""
    clock = time.perf_counter()
    processor = time.process_time()
    implementation()
    return np.array([time.perf_counter() - clock, time.process_time() - processor])


def _differences(implementations: Implementations) -> dict[str, float]:
    """Return the relative difference from our result of all results of its shape."""
    ours = implementations["ours"]()
    differences = {}
    for name, implementation in implementations.items():
        if name in ("ours", "floor"):
            continue
        result = implementation()
        if result.shape == ours.shape:
            differences[name] = float(np.abs(result - ours).max() / np.abs(ours).max())
    return differences
