"""What is asked of an orbit (`Problem`), a way to compute it (`Way`), and what that costs."""

from __future__ import annotations

import sys
import time
import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import cache, cached_property
from math import prod
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController
from tqdm import tqdm

from ..core.arrays import is_foreign, like, namespace
from ..groups import Composition, Transformations
from .reductions import Reduction

Array = NDArray[Any]
_Object = TypeVar("_Object")

#: Operations that orbits have done in this process so far, by precision; none of what was stopped.
done: Counter[str] = Counter()
#: The libraries of this process that use threads: a look for them takes as long as many a block.
_libraries = cache(ThreadpoolController)
#: Readings after which a clock that has not moved is held to stand still.
_READINGS = 100_000
#: Steps of a clock that a measurement takes at least.
_STEPS = 10
#: Work of more than so many seconds is announced by a warning.
_LONG = 60.0


class WeightedSet:
    """Transformations with the elements and weights taken of them; None takes the group's rule."""

    def __init__(
        self, group: Transformations, elements: Array | None = None, weights: Array | None = None
    ):
        self.group = group
        self._given = elements, weights
        self.whole = elements is None

    @cached_property
    def rule(self) -> tuple[Array, Array]:
        """Elements and their weights, which sum to one."""
        elements, weights = self._given
        if elements is None:
            return self.group.quadrature()
        if weights is None:
            weights = np.full(len(elements), 1 / len(elements))
        return elements, np.asarray(weights)

    @cached_property
    def order(self) -> float:
        return self.group.order if self.whole else len(self.rule[0])


def together(sets: list[WeightedSet]) -> Any:
    """Some sets, applied one after another, as one; None for none."""
    if len(sets) < 2:
        return sets[0] if sets else None
    group: Transformations = sets[0].group
    for other in sets[1:]:
        group = Composition(group, other.group)
    return WeightedSet(group)


@dataclass
class Problem:
    """Reductions of a kernel's values over the orbits of second points, whatever the points."""

    form: Any  #: the kernel as a function of inner products (see `Form`); without one
    evaluate: Any  #: ``evaluate(X, Y)`` gives its values
    shape: tuple[int, int, int]  #: of a point: (height, width, channels), or (1, d, 1)
    dtype: np.dtype[Any]  #: of the inner products
    sets: list[WeightedSet]  #: in the order in which they are applied to the second points
    reduction: Reduction  #: one of the kind that is asked for (see `Reduction.kind`)
    block_bytes: int
    #: Whether something is added to the inner products with each first point: half its squared
    #: norm, unless only extremes are wanted, where that is done in the end, or a tolerance.
    first_terms: bool = False
    #: ``closed(X, Y)`` is the whole reduction over the group, where the base kernel knows it.
    closed: Any = None
    #: An array of the library and on the device in which pairs are computed, None for NumPy, and
    #: its namespace. Second points are moved by NumPy on the host, and then sent.
    target: Any = None
    xp: Any = np

    def __post_init__(self) -> None:
        form = self.form
        #: Whether points are what inner products are taken of.
        self.linear = form is not None and form.linear
        #: Whether it is a linear one over one whole group.
        self.plain = self.linear and len(self.sets) == 1 and self.sets[0].whole
        #: Whether prepared second points are scaled so that products are the exponents sought.
        self.folded = self.linear and form.rate is not None and self.reduction.plain_mean
        self.n_channels: int = (form and form.n_channels) or self.shape[2]
        self.lifted_size: int = self.n_channels * self.shape[0] * self.shape[1]
        #: Subtracted from the inner products of points, times the norms of both.
        self.tolerance = 0.0
        if self.linear and form.outer is None and not form.distance and not self.first_terms:
            self.tolerance = self.reduction.tolerance(self.lifted_size, self.dtype)
        #: The function of the values that a way computes, None where these are the kernel's.
        self.outer: Any = _exponential if self.folded else form and form.outer

    def send(self, A: Any) -> Any:
        """An array of the host in the library and on the device of `target`."""
        return A if self.target is None or A is None or is_foreign(A) else like(A, self.target)

    def scaled(self, A: Any, fresh: bool = False) -> Any:
        """What is prepared of points, as it enters exponents; in place where it is a fresh copy."""
        if not self.folded or A is None:
            return A
        return np.multiply(A, A.dtype.type(self.form.rate), out=A if fresh else None)

    def first(self, X: Array) -> Array:
        """Lifted first points (n, channels, height, width)."""
        lifted: Array = self.form.first(X.reshape(len(X), *self.shape))
        return lifted

    def second(self, Y: Array) -> Array:
        lifted: Array = self.form.second(Y.reshape(len(Y), *self.shape))
        return lifted

    @property
    def has_row_terms(self) -> bool:
        """Whether `row_terms`, times `row_factors`, are added to the inner products."""
        return self.first_terms or self.tolerance > 0

    def row_factors(self, moved: Array) -> Array:
        """Factors of what is added for each first point: moved second ones (r, d), shape (r,)."""
        if self.tolerance:
            return np.asarray(self.tolerance * row_norms(moved), dtype=moved.dtype)
        return np.ones(len(moved), moved.dtype)

    def column_terms(self, moved: Array, offsets: Array | None) -> Array | None:
        """What is added for each second point: moved ones (r, m, d), shape (r, m)."""
        terms = None
        if self.form is not None and self.form.distance:
            terms = -half_norms(moved.reshape(-1, moved.shape[-1])).reshape(moved.shape[:2])
        if offsets is not None:
            own = np.broadcast_to(offsets.astype(self.dtype), moved.shape[:2])
            terms = own if terms is None else terms + own
        return terms


def _exponential(values: Any, xp: Any) -> Any:
    return np.exp(values, out=values) if xp is np else xp.exp(values)


class Way(ABC):
    """A way to compute a `Problem`, blocks of first against pieces of second points.

    It holds nothing of the points: what is prepared of them goes from `prepare` to `block`.
    """

    name: str
    host_only = False  #: whether arrays of other libraries are computed by NumPy
    by_elements = True  #: whether it goes over elements, of an infinite group over nodes
    rows = 1024  #: first points at a time
    charge = 1.0  #: how many times as long as of a large product its operations take

    def __init__(self, problem: Problem):
        self.problem = problem

    @classmethod
    def offers(cls, problem: Problem) -> Self | None:
        """This way, where it is one to the problem."""
        return cls(problem)

    def facing(self, support: Array, n: int) -> Way:
        """This way for n first points whose features outside the support, shape (d,), are zero."""
        return self

    def check(self) -> None:
        """Refuse elements that are too many to go through."""
        return

    def order(self, X: Array) -> Array | None:
        """In which order first points are taken, where it matters."""
        return None

    @abstractmethod
    def prepared_bytes(self, m: int) -> float:
        """Bytes that `prepare` keeps for m second points and all elements."""

    def pieces(self, m: int) -> int:
        """Into how many pieces m second points go for memory's sake."""
        return -(-m // max(1, int(self.problem.block_bytes / 2 // self.prepared_bytes(1))))

    @abstractmethod
    def row_bytes(self, width: int) -> float:
        """Bytes at work for a first point, against ``width`` second ones."""

    def row_step(self, width: int) -> int:
        """First points at a time: threads share the bound on memory, a device has it alone."""
        budget = self.problem.block_bytes / (8 if self.problem.target is None else 2)
        return int(np.clip(budget // self.row_bytes(width), 1, self.rows))

    @abstractmethod
    def prepare(self, Y: Array, offsets: Array | None, run: Run) -> Iterator[tuple[float, Any]]:
        """Norms that moved second points stay below, and what `block` needs, some at a time.

        ``run.map`` is Python's, or in ``run.threads`` threads where that pays.
        """

    @abstractmethod
    def block(self, X: Any, prepared: Any, terms: Any, reduction: Reduction) -> list[Any]:
        """Outputs (len(X), m, ...) of the reduction over the prepared elements.

        ``terms`` (len(X),) are added to the inner products with each first point.
        """

    @abstractmethod
    def operations(self, n: int, m: int) -> float:
        """Floating-point operations for n first and m second points."""


# -- what it costs -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Explanation:
    """What a computation will cost, before it is begun."""

    way: str
    operations: float  #: of floating-point numbers
    n_bytes: float  #: the result, and what is kept beside it and the inputs, at most
    seconds: float  #: on one core
    alternatives: dict[str, float]  #: operations of the ways that were not taken

    @classmethod
    def of(cls, way: str, operations: float, n_bytes: float, dtype: Any = "float64") -> Explanation:
        """With the seconds that so many operations take."""
        seconds = operations / rate(np.dtype(dtype).name)
        return cls(way, operations, float(n_bytes), seconds, {})

    def __str__(self) -> str:
        others = ", ".join(f"{name} {count:.1e}" for name, count in self.alternatives.items())
        return (
            f"{self.way}: {self.operations:.1e} operations, about {self.seconds:.2g} s on a core, "
            f"{self.n_bytes / 2**20:.0f} MiB" + (f" (instead of {others})" if others else "")
        )


def warn_long(seconds: float, what: str, cheaper: str) -> None:
    """Warn before minutes of work, with what would be cheaper."""
    if seconds > _LONG:
        minutes = f"{seconds / 60:.2g} minutes on a core. verbose=1 shows progress"
        warn(f"{what} will take about {minutes}. Cheaper: {cheaper}")


def warn(message: str) -> None:
    """A warning at the line outside this package that led here."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("invariance."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)


@cache
def rate(dtype: str) -> float:
    """Operations a second of a matrix product on this machine, one core's worth or more."""
    a = np.random.default_rng(0).standard_normal((256, 256)).astype(dtype)
    a @ a
    best = min(seconds_of(lambda: a @ a, ticking(time.perf_counter)) for _ in range(3))
    return float(2 * 256**3 / best)


class Clock(NamedTuple):
    read: Callable[[], float]
    step: float  #: seconds by which it moves, which may be many milliseconds

    @property
    def least(self) -> float:
        """Seconds that it can measure well enough."""
        return _STEPS * self.step


def ticking(*clocks: Callable[[], float]) -> Clock:
    """The first of some clocks that moves while this process computes.

    In WebAssembly and on some systems the processor's time stands still, or moves in steps in
    which much is computed.
    """
    for read in clocks:
        start = now = read()
        for _ in range(_READINGS):
            if (now := read()) > start:
                return Clock(read, now - start)
    return Clock(time.perf_counter, 0.0)


def seconds_of(function: Callable[[], Any], clock: Clock | None = None) -> float:
    """Seconds that a call takes, of the processor's time unless a clock is given.

    It is called until the clock has moved by several of its steps.
    """
    clock = clock or ticking(time.process_time, time.perf_counter)
    calls = 1
    while True:
        start = clock.read()
        for _ in range(calls):
            function()
        spent = clock.read() - start
        if spent >= clock.least:
            return spent / calls
        calls *= 2


# -- tiles and threads ---------------------------------------------------------------------------


class Run(NamedTuple):
    threads: int
    map: Callable[..., Any]  #: Python's, or in so many threads


@contextmanager
def runner(threads: int, verbose: int) -> Iterator[Run]:
    """What applies a function to arguments: in turn, or in threads with one BLAS thread each.

    Blocks take milliseconds, so that threads are the standard library's: joblib's poll for 10 ms.
    """
    if threads == 1 and not verbose:
        yield Run(1, map)
        return
    with (
        tqdm(desc="orbits", unit=" blocks", disable=not verbose) as progress,
        _libraries().limit(limits=1 if threads > 1 else None, user_api="blas"),
        ThreadPoolExecutor(threads) as pool,
    ):

        def counted(function: Any, arguments: Any) -> Iterator[Any]:
            for found in (pool.map if threads > 1 else map)(function, arguments):
                progress.update()
                yield found

        yield Run(threads, counted)


def in_tiles(
    values: Callable[[slice, slice], Array],
    shape: tuple[int, int],
    sides: tuple[int, int],
    dtype: Any,
    *,
    symmetric: bool = False,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Array:
    """The matrix of ``values(rows, columns)``, of tiles of at most ``sides``.

    Of a symmetric one the tiles on and above the diagonal are computed; its sides are equal.
    """
    matrix = np.empty(shape, dtype)
    # pieces of nearly equal lengths
    steps = (-(-n // -(-n // side)) for n, side in zip(shape, sides, strict=True))
    rows, columns = (list(row_blocks(n, 1, step)) for n, step in zip(shape, steps, strict=True))

    def fill(tile: tuple[slice, slice]) -> None:
        matrix[tile] = values(*tile)

    tiles = [(a, b) for a in rows for b in columns if not symmetric or a.start <= b.start]
    with runner(min(effective_n_jobs(n_jobs), len(tiles)), verbose) as run:
        list(run.map(fill, tiles))
    if symmetric:
        mirror(matrix)
    return matrix


# -- arrays --------------------------------------------------------------------------------------


class Workspace:
    """Arrays that are used again for every tile: fresh memory costs a page fault for every page."""

    def __init__(self, dtype: Any):
        self.dtype = dtype
        self.buffers: dict[str, Array] = {}

    def array(self, name: str, *shape: int) -> Array:
        size = prod(shape)
        if name not in self.buffers or self.buffers[name].size < size:
            self.buffers[name] = np.empty(size, self.dtype)
        return self.buffers[name][:size].reshape(shape)


def row_blocks(n_rows: int, bytes_per_row: float, block_bytes: float) -> Iterator[slice]:
    """Slices that cover ``range(n_rows)`` with at most ``block_bytes`` of temporaries each."""
    step = max(1, int(block_bytes // max(bytes_per_row, 1)))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def mirror(matrix: Array) -> None:
    """Copy the upper triangle onto the lower one, by blocks."""
    n, step = len(matrix), 512
    for a in range(0, n, step):
        matrix[a + step :, a : a + step] = matrix[a : a + step, a + step :].swapaxes(0, 1)
        block = matrix[a : a + step, a : a + step]
        lower = np.tri(len(block), k=-1, dtype=bool)
        np.copyto(block.T, block.T.swapaxes(-2, -1), where=lower.T)


def joined(xp: Any, parts: Sequence[Any], axis: int = 0) -> Any:
    """Arrays of one library, one after another."""
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts, axis=axis) if xp is np else xp.concat(parts, axis=axis)


def beside(xp: Any, *parts: Any) -> Any:
    """Rows side by side, with single columns given as vectors; None is left out."""
    kept = [part if part.ndim == 2 else part[:, None] for part in parts if part is not None]
    return joined(xp, kept, axis=1)


def half_norms(X: Any) -> Any:
    """|x|^2 / 2 of rows."""
    if isinstance(X, np.ndarray):
        return np.einsum("nd,nd->n", X, X) / 2
    return namespace(X).sum(X * X, axis=1) / 2


def row_norms(X: Any) -> Any:
    """Euclidean norms of rows, also of those whose squares overflow or vanish.

    >>> row_norms(np.array([[3e-200, 4e-200], [3e200, 4e200], [0.0, 0.0]]))
    array([5.e-200, 5.e+200, 0.e+000])
    """
    if not isinstance(X, np.ndarray):
        xp = namespace(X)
        largest = xp.max(xp.abs(X), axis=1, keepdims=True)
        scales = xp.where(largest > 0, largest, xp.ones_like(largest))
        norms = scales[:, 0] * xp.sqrt(xp.sum((X / scales) ** 2, axis=1))
        return norms
    limits = np.finfo(X.dtype)
    with np.errstate(over="ignore", under="ignore"):
        squares = np.einsum("nd,nd->n", X, X)
    safe = (squares > limits.tiny / limits.eps**2) & (squares < limits.max)
    norms = np.sqrt(squares)
    if not safe.all():
        rows = X[~safe]
        scales = np.abs(rows).max(axis=1, initial=0.0)
        scales[scales == 0] = 1
        rows = rows / scales[:, None]
        norms[~safe] = scales * np.sqrt(np.einsum("nd,nd->n", rows, rows))
    return norms


def largest_norm(points: Any) -> float:
    """The largest Euclidean norm of the rows, zero for none."""
    if isinstance(points, np.ndarray):
        return float(np.sqrt(np.einsum("nd,nd->n", points, points).max(initial=0.0)))
    return float((2 * namespace(points).max(half_norms(points))) ** 0.5)


def changed(way: _Object, **attributes: Any) -> _Object:
    """A copy of an object with other attributes."""
    other = copy(way)
    vars(other).update(attributes)
    return other
