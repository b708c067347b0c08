"""Which way an orbit's inner products are computed: that of fewest operations."""

from __future__ import annotations

import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import inf, prod
from typing import Any

import numpy as np

from ..groups.base import ENUMERATION_LIMIT, ability
from ..core.parameters import ParameterError
from .circle import Circle
from .closed import Aligned, Exponential, Matched, OwnForm, Superposed
from .product import Product
from .shifts import Shifts
from .turns import Turns
from .way import Problem, Way

__all__ = ["Explanation", "asked", "by_the_clock", "choose", "offered", "rate", "warn"]
__all__ += ["warn_long"]

#: Operations that orbits have been asked for in this process so far, by precision.
asked: Counter[str] = Counter()

#: Ways that some groups and kernels have; `Product` is always there.
WAYS = (Aligned, Exponential, OwnForm, Matched, Superposed, Circle, Shifts, Turns)

#: Elements are not listed for a product that costs so many times as much as another way.
_HOPELESS = 4.0

#: Work of more than so many seconds is announced by a warning, from so many operations on.
_LONG, _LONG_FROM = 120.0, 1e11

#: Small products, and traffic between them, run at a fraction of a large product's rate: measured
#: 1.1 to 2.8 times slower an operation (median 2.1) on grids of 8 x 8 to 64 x 64, in single
#: precision beside other work, and more alone. Extremes are read off the frequencies' last stage,
#: which makes up for it.
_CHARGED = {"correlation": 2.5}


@dataclass(frozen=True)
class Explanation:
    """What a computation will cost, before it is begun.

    Attributes
    ----------
    way : str
    operations : float
        Floating-point operations.
    n_bytes : float
        What is kept beside inputs and result, at most.
    seconds : float
        On one core, at the rate of this machine's matrix product.
    alternatives : dict
        Operations of the ways that were not taken.
    """

    way: str
    operations: float
    n_bytes: float
    seconds: float
    alternatives: dict[str, float]

    @classmethod
    def of(cls, way: str, operations: float, n_bytes: float, dtype: Any = "float64") -> Explanation:
        """With the seconds that so many operations take."""
        seconds = operations / rate(np.dtype(dtype).name)
        return cls(way, operations, float(n_bytes), seconds, {})

    def times(self, n: int) -> Explanation:
        """What n such computations cost, one after another."""
        others = {name: n * count for name, count in self.alternatives.items()}
        return Explanation(self.way, n * self.operations, self.n_bytes, n * self.seconds, others)

    def __str__(self) -> str:
        others = ", ".join(f"{name} {count:.1e}" for name, count in self.alternatives.items())
        return (
            f"{self.way}: {self.operations:.1e} operations, about {self.seconds:.2g} s on a core, "
            f"{self.n_bytes / 2**20:.0f} MiB" + (f" (instead of {others})" if others else "")
        )


def offered(problem: Problem, n: int, m: int) -> list[Way]:
    """The ways to a problem, that of fewest operations at a large product's rate first."""
    charged: list[tuple[float, Way]] = []

    def add(way: Way) -> None:
        slower = 1.0 if problem.reduction.extreme else _CHARGED.get(way.name, 1.0)
        charged.append((slower * way.operations(n, m), way))

    for kind in WAYS:
        way = kind.offers(problem)
        if way is not None:
            add(way)
    if not charged:
        _check_listable(problem)
    order = prod(part.order for part in problem.parts)
    plain = 2 * n * m * problem.lifted_size * order
    if not charged or plain < _HOPELESS * min(cost for cost, _ in charged):
        add(Product(problem))
    return [way for _, way in sorted(charged, key=lambda pair: pair[0])]


def choose(problem: Problem, n: int, m: int) -> Way:
    """The way of fewest operations."""
    return offered(problem, n, m)[0]


def _check_listable(problem: Problem) -> None:
    """Refuse groups too large to list, and say which closed forms they have."""
    for part in problem.parts:
        try:
            if part.whole and ENUMERATION_LIMIT < part.order < inf:
                part.group.elements()
        except ValueError as error:
            kind = "largest value" if problem.reduction.extreme else "mean"
            known = {
                "aligned": "BestFit of kernels that grow with <x, z> or fall with |x - z|",
                "as_assignment": "BestFit of such kernels by matching",
                "mean_powers": "Average(Polynomial(...)) and Average(Linear())",
                "log_mean_exponential": "Average(Gaussian(...))",
                "log_mean_separable": "Average(Laplacian(...))",
            }
            forms = [words for name, words in known.items() if ability(part.group, name)]
            raise ParameterError(
                f"{error}. The {kind} of this kernel over it has no closed form; "
                + (f"one is known for {'; '.join(forms)}" if forms else "none is known")
            ) from None


def warn_long(operations: float, what: str, cheaper: str, dtype: str = "float64") -> None:
    """Count the work in `asked`, and warn before minutes of it, with what would be cheaper."""
    asked[dtype] += int(operations)
    if operations < _LONG_FROM or operations / rate(dtype) < _LONG:
        return
    minutes = operations / rate(dtype) / 60
    warn(f"{what} will take about {minutes:.2g} minutes on a core. {cheaper}")


def warn(message: str) -> None:
    """A warning at the line outside this package that led here."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("invariance."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)


def by_the_clock(once: Callable[[], Any], times: float) -> Explanation:
    """What so many times the work of a call will cost, from a second call of it."""
    once()  # what a first call costs more
    start = time.perf_counter()
    once()
    seconds = max(1.0, times) * (time.perf_counter() - start)
    return Explanation("evaluation", seconds * rate("float64"), 0.0, seconds, {})


@cache
def rate(dtype: str) -> float:
    """Operations a second of a matrix product on this machine, one core's worth or more."""
    a = np.random.default_rng(0).standard_normal((256, 256)).astype(dtype)
    a @ a
    best = np.inf
    for _ in range(3):
        start = time.perf_counter()
        a @ a
        best = min(best, time.perf_counter() - start)
    return float(2 * 256**3 / best)
