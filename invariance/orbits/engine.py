"""`OrbitProducts`: reductions over the orbits of some points, by whatever way is cheapest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass
from functools import partial
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from ..core.arrays import is_foreign, like, namespace, on_host, wants_gradient
from ..core.config import block_bytes_of
from ..groups import Transformations
from .choose import Explanation, offered, rate, warn, warn_long
from .form import INNER, Form
from .product import Product
from .reductions import Extremes, Reduction
from .way import Part, Problem, Way, bounding_boxes, half_norms, row_blocks

__all__ = ["OrbitProducts"]

Array = NDArray[Any]

#: Threads are not worth their while for fewer operations than these, about 20 ms.
_THREADS_FROM = 4e8
#: Bytes of the values that are computed from extreme inner products at a time.
_OUTER_BYTES = 2**20
#: Single precision will do where it changes the kernel's values by no more than this.
_SINGLE_ERROR = 1e-5


@dataclass(eq=False, repr=False)
class OrbitProducts:
    r"""Reductions of :math:`k(x, g z)` over g, for all pairs of points x and kept points z.

    Parameters
    ----------
    Z : ndarray of shape (m, d)
        Points that are kept: templates, landmarks, second arguments.
    group : Transformations or None
        None is the trivial group.
    base : kernel or None
        None takes inner products <x, g z> themselves. A kernel with ``inner_form(shape)`` is
        computed from inner products, another one is evaluated (its ``_gram``).
    owner : str
        For messages.
    elements : ndarray of shape (r, ...) or None
        Elements to reduce over; None is the whole group, by its quadrature rule.
    weights : ndarray of shape (r,) or None
        Of the elements; None weighs given elements equally.
    offsets : ndarray of shape (m,) or None
        Added to the inner products with each kept point, such as phases.
    side : {"second", "first"}
        Whether the kept points are transformed, or those handed to `reduce`: <g x, z>.
    method : {"auto", "definition"}
        "definition" evaluates the base kernel for every transformation.
    precision : {"input", "single"}
    keep : bool
        Whether moved points are kept between calls where they fit into half of ``block_bytes``.
    block_bytes : int or None
        Bound on temporary arrays; None is the configured one.
    n_jobs : int or None
        Threads; the result does not depend on their number.
    verbose : int
        1 shows progress.

    Examples
    --------
    >>> from invariance.groups import CyclicShifts
    >>> from invariance.orbits import Extremes, OrbitProducts, WeightedMean
    >>> orbits = OrbitProducts(np.array([[1.0, 2.0, 0.0]]), CyclicShifts(3))
    >>> X = np.array([[1.0, 0.0, 0.0]])
    >>> orbits.reduce(X, Extremes(smallest=True))
    [array([[2.]]), array([[0.]])]
    >>> orbits.reduce(X, WeightedMean([np.cos]))[0].round(3)       # (cos 0 + cos 1 + cos 2) / 3
    array([[0.375]])
    """

    Z: Array
    group: Any
    _: KW_ONLY
    base: Any = None
    owner: str = "OrbitProducts"
    elements: Array | None = None
    weights: Array | None = None
    offsets: Array | None = None
    side: str = "second"
    method: str = "auto"
    precision: str = "input"
    keep: bool = False
    block_bytes: int | None = None
    n_jobs: int | None = None
    verbose: int = 0

    def __post_init__(self) -> None:
        self.group = Trivial() if self.group is None else self.group
        self._kept: dict[Any, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_kept": {}}

    # -- the problem -----------------------------------------------------------------------------

    def _form(self, shape: tuple[int, int, int]) -> Form | None:
        if self.base is None:
            return INNER
        if self.method == "definition" or not speaks_for_itself(self.base):
            return None
        form: Form | None = self.base.inner_form(shape)
        return form

    def _closed(self, reduction: Reduction) -> Callable[[Array, Array], Array] | None:
        """The base kernel's own form of the reduction over the whole group, where it has one."""
        plain = reduction.plain_mean or (reduction.extreme and reduction.n_outputs == 1)
        if not plain or self.method == "definition" or self.elements is not None:
            return None
        if self.base is None or not speaks_for_itself(self.base, "closed_form"):
            return None
        return self.base.closed_form(self.group, reduction.extreme)  # type: ignore[no-any-return]

    def _shape(self, d: int) -> tuple[int, int, int]:
        """(height, width, channels) of the points; plain vectors are images of height one."""
        return image_shape(self.group, self.base, d)

    def problem(
        self, X: Array, reduction: Reduction, second: Array, dtype: Any = None, target: Any = None
    ) -> Problem:
        """What `reduce` solves for first points X and second points; see `Problem.target`."""
        shape = self._shape(X.shape[1])
        form = self._form(shape)
        reduction = _internal(reduction, form)
        evaluate = None
        if form is not None and form.distance:
            self._check_norms(X, second)
        if form is None:
            form, evaluate = INNER, getattr(self.base, "_gram", self.base)
            if target is not None:
                evaluate = partial(self.base._gram_arrays, namespace(target))
        if dtype is None:
            dtype = self._dtype(form, X, second)
        if self.elements is None:
            parts = [Part(group) for group in self.group.chain()]
        else:
            parts = [Part(self.group, self.elements, self.weights)]
        problem = Problem(
            form=form,
            shape=shape,
            dtype=np.dtype(dtype),
            parts=parts,
            reduction=reduction,
            block_bytes=block_bytes_of(self.block_bytes),
            evaluate=evaluate,
            closed=self._closed(reduction),
            target=target,
            first_terms=(form.distance and not reduction.extreme)
            or (self.offsets is not None and self.side == "first"),
        )
        if evaluate is None and not self.keep and len(X):
            if target is None:
                problem.boxes = bounding_boxes(problem.images(X))
            # Features that are zero for all first points, such as an empty border, do not matter.
            brightest = np.maximum(X.max(axis=0), -X.min(axis=0)).reshape(1, *shape)
            problem.support = form.first(brightest)[0] != 0
        return problem

    def _check_norms(self, *points: Array) -> None:
        """Refuse points whose squared distances overflow: products alone may not show it."""
        largest = max(float(max(A.max(initial=0), -A.min(initial=0))) for A in points)
        if largest > 1e150:
            raise ValueError(
                f"{self.owner}: squared distances are beyond float64; the largest absolute feature "
                f"of the points is {largest:g}: scale the points down"
            )

    def _dtype(self, form: Form, X: Array, second: Array) -> Any:
        dtype = np.result_type(X, second)
        if self.precision == "single":
            return np.float32
        if dtype == np.float32 and form.distance:
            largest = max(float(np.einsum("nd,nd->n", A, A).max(initial=0)) for A in (X, second))
            if form.sensitivity * largest * np.finfo(np.float32).eps > _SINGLE_ERROR:
                return np.float64
        return dtype

    # -- the computation -------------------------------------------------------------------------

    def reduce(
        self,
        X: Any,
        reduction: Reduction,
        *,
        symmetric: bool = False,
        out: Sequence[Array] | None = None,
    ) -> list[Any]:
        """Reduce over the group for all pairs of points.

        Parameters
        ----------
        X : ndarray of shape (n, d), or an array of another library
        reduction : Reduction
        symmetric : bool
            Whether X is Z and the result is known to be symmetric: one triangle is computed.
        out : sequence of ndarrays of shape (n, m, ...), or None
            Written in place and returned; views will do.

        Returns
        -------
        list of arrays of shape (n, m, ...), one for each output of the reduction
        """
        if is_foreign(X):
            return self._reduce_arrays(X, reduction)
        first, second = (X, self.Z) if self.side == "second" else (self.Z, X)
        problem = self.problem(first, reduction, second)
        inner, final = problem.reduction, np.result_type(X, self.Z)
        results = list(out or ())
        if out is None:
            shape, dtype = (len(X), len(self.Z), *inner.tail), problem.dtype
            results = [
                np.empty(shape, dtype if inner.extreme else final) for _ in range(inner.n_outputs)
            ]
        swapped = results if self.side == "second" else [r.swapaxes(0, 1) for r in results]
        first, second = (A.astype(problem.dtype, copy=False) for A in (first, second))
        needed = self._fill(problem, first, second, swapped, symmetric)
        if inner.extreme:
            axis = 0 if self.side == "second" else 1
            points = X if self.side == "second" else self.Z
            results = self._finish(problem, reduction, results, needed, (points, axis), final)
            if symmetric and problem.form.distance:  # half norms of rows entered both triangles
                for result in results:
                    mirror(result if axis == 0 else result.swapaxes(0, 1))
        elif problem.folded and problem.form.distance:  # exponents above zero were rounding
            most = 1.0 if self.weights is None else np.clip(self.weights, 0, None).sum()
            for result in results:
                np.minimum(result, most, out=result)
        return results

    def _reduce_arrays(self, X: Any, reduction: Reduction) -> list[Any]:
        """`reduce` for points of another library; results are like X.

        Gradients pass through points that are not transformed, where means are taken of a function
        of inner products.
        """
        xp = namespace(X)
        first, second = (X, self.Z) if self.side == "second" else (self.Z, X)
        second = on_host(second, self.owner) if is_foreign(second) else second
        first = first if is_foreign(first) else like(first, X)
        single = X.dtype == xp.float32 or self.precision == "single"
        dtype = np.dtype(np.float32 if single else np.float64)
        form = self._form(self._shape(first.shape[1]))
        known = np.zeros((0, first.shape[1]))
        if form is not None and (reduction.extreme or not form.linear):
            known = on_host(first, self.owner)
        if form is not None and form.distance and single:
            seen = on_host(first.detach() if hasattr(first, "detach") else first)
            dtype = np.dtype(self._dtype(form, seen.astype(dtype), second.astype(dtype)))
        known, second = known.astype(dtype), second.astype(dtype, copy=False)
        target = xp.astype(first, xp.float32 if dtype == np.float32 else xp.float64)
        problem = self.problem(known, reduction, second, dtype, target)
        graded = wants_gradient(first)
        key = *_key(problem), xp.__name__, str(target.device), graded
        way, kept = self._kept.get(key, (None, None))
        if way is None:
            ways = offered(problem, first.shape[0], len(second))
            way = next((w for w in ways if not (w.on_host and graded)), None) or Product(problem)
        if kept is None and self._may_keep(way, len(second)):
            kept = list(way.prepare(second, self._offsets(slice(None)), map_in_turn))
            self._kept[key] = way, kept
        way.problem = problem
        points = target
        if way.on_host:
            points = known if len(known) else on_host(first, self.owner).astype(dtype)
        results = self._fill_arrays(problem, points, second, way, kept)
        if problem.reduction.extreme:
            results = self._finish(problem, reduction, results, True, (points, 0), xp.float64)
        if self.side == "first":
            results = [xp.permute_dims(r, (1, 0, *range(2, r.ndim))) for r in results]
        return [xp.astype(result, X.dtype) for result in results]

    def _fill_arrays(self, problem: Problem, X: Any, Y: Array, way: Way, kept: Any) -> list[Any]:
        """`_fill` in another library: outputs (n, m, ...)."""
        xp, merge, columns = problem.xp, problem.reduction.merge, []
        terms = self._first_terms(problem, X)
        for some in row_blocks(len(Y), 1, -(-len(Y) // min(way.pieces(len(Y)), len(Y)))):
            blocks = list(row_blocks(X.shape[0], 1, way.row_step(some.stop - some.start)))
            found: dict[int, list[Any]] = {}
            for second in kept or way.prepare(Y[some], self._offsets(some), map_in_turn):
                for k, rows in enumerate(blocks):
                    parts = way.block(X[rows, :], second, None if terms is None else terms[rows])
                    parts = [parts[0] if part is None else part for part in parts]
                    if k in found:
                        pairs = zip(found[k], parts, strict=True)
                        parts = [merge(a, b, i, xp) for i, (a, b) in enumerate(pairs)]
                    found[k] = parts
            columns.append([_joined(xp, parts, 0) for parts in zip(*found.values(), strict=True)])
        return [_joined(xp, parts, 1) for parts in zip(*columns, strict=True)]

    def _may_keep(self, way: Way, m: int) -> bool:
        """Whether what a way prepares of m kept points fits, in one piece."""
        few = way.pieces(m) < 2 and way.prepared_bytes(m) <= way.problem.block_bytes / 2
        return self.keep and self.side == "second" and few

    def _offsets(self, which: slice) -> Array | None:
        """Of second points."""
        return None if self.offsets is None or self.side == "first" else self.offsets[which]

    def _first_terms(self, problem: Problem, X: Any) -> Any:
        """What is added to the inner products with each first point, shape (n,)."""
        terms = -half_norms(X) if problem.form.distance and not problem.reduction.extreme else None
        if self.offsets is not None and self.side == "first":
            own = self.offsets.astype(problem.dtype, copy=False)
            own = like(own, X) if is_foreign(X) else own
            terms = own if terms is None else terms + own
        return terms

    def _fill(
        self,
        problem: Problem,
        X: Array,
        Y: Array,
        results: list[Array],
        symmetric: bool,
        way: Way | None = None,
    ) -> bool:
        """Write the reductions over orbits of Y into arrays (n, m, ...).

        Returns whether all outputs were ever needed.
        """
        n, m = len(X), len(Y)
        terms = self._first_terms(problem, X)
        reduction = problem.reduction
        key, kept = _key(problem), None
        if key in self._kept:
            way, kept = self._kept[key]
            way.problem = problem
        elif way is None:
            way = offered(problem, n, m)[0]
        warn_long(
            self._operations(way, X, Y),
            f"{self.owner}: {n} x {m} pairs by {way.name}",
            "verbose=1 shows progress. Cheaper: n_transforms=... for fewer elements, single "
            "precision, or features (OrbitFourier, OrbitNystroem), whose cost grows with the "
            "points alone",
            problem.dtype.name,
        )
        needed = False
        small = way.operations(n, m) < _THREADS_FROM
        threads = 1 if small else effective_n_jobs(self.n_jobs)
        pieces = way.pieces(m)
        if symmetric and not small:  # whole tiles under the diagonal are skipped
            pieces = max(pieces, min(8, m // 64))
        pieces = min(max(pieces, 1), m)
        bounds = [i * m // max(pieces, 1) for i in range(pieces + 1)]
        order = np.arange(n)
        if not symmetric and problem.boxes is not None:
            order = _by_boxes(problem.boxes, way.skips)
        with _Runner(threads, self.verbose) as run:
            if kept is None and len(bounds) == 2 and self._may_keep(way, m):
                kept = list(way.prepare(Y, self._offsets(slice(None)), run))
                self._kept[key] = way, kept
            for start, stop in pairwise(bounds):
                rows = stop if symmetric else n
                # The same blocks whatever the number of threads, for the same rounding.
                step = min(way.row_step(stop - start), max(256, -(-rows // 8)))
                blocks = [order[a : min(a + step, rows)] for a in range(0, rows, step)]
                columns = slice(start, stop)
                begun = False
                prepared = kept or way.prepare(Y[columns], self._offsets(columns), run)
                for second in prepared:

                    def one(
                        block: Array,
                        second: Any = second,
                        begun: bool = begun,
                        columns: slice = columns,
                    ) -> bool:
                        own = slice(block[0], block[-1] + 1)
                        ordered = len(block) == own.stop - own.start and bool(
                            (np.diff(block) == 1).all()
                        )
                        which: Any = own if ordered else block
                        parts = way.block(X[which], second, None if terms is None else terms[which])
                        seen = False
                        for i, (result, part) in enumerate(zip(results, parts, strict=True)):
                            if part is None:
                                part = parts[0]  # the smallest cannot matter: any will do
                            elif i:
                                seen = True
                            if begun:
                                part = reduction.merge(result[which, columns], part, i)
                            result[which, columns] = part
                        return seen

                    needed |= any(run(one, blocks))
                    begun = True
                    del one, second  # before the next ones are prepared
        if symmetric:
            for result in results:
                mirror(result)
        return needed

    def _finish(
        self,
        problem: Problem,
        wanted: Reduction,
        results: list[Any],
        needed: bool,
        of: tuple[Any, int],
        final: Any,
    ) -> list[Any]:
        """The kernel's extreme values from extreme inner products.

        ``of`` are the first points and the axis of the results along which they stand.
        """
        form, xp, n_wanted = problem.form, problem.xp, wanted.n_outputs
        high, low = results[0], None
        if len(results) > 1 and (needed or n_wanted > 1):
            low = results[1]
        if problem.evaluate is not None or (form.outer is None and not form.distance):
            return [
                part if xp is not np else part.astype(final, copy=False)
                for part in results[:n_wanted]
            ]
        halves = None
        if form.distance:
            own = half_norms(of[0].astype(float, copy=False))
            halves = problem.send(own)
            halves = halves[None, :] if of[1] else halves[:, None]
        outputs = [
            part if part.dtype == final else xp.empty_like(part, dtype=final)
            for part in results[:n_wanted]
        ]
        n_reversed = 0

        def values(part: Any, rows: slice) -> Any:
            v = xp.astype(part[rows, :], final) if xp is not np else part[rows].astype(float)
            if halves is not None:
                v -= halves if of[1] else halves[rows, :]
            return form.value(v, xp)

        # A few rows at a time, in a processor's cache: the arithmetic is less than the traffic.
        block_bytes = _OUTER_BYTES if xp is np else 2**60
        for rows in row_blocks(high.shape[0], 4 * 8 * max(high.shape[1], 1), block_bytes):
            largest = values(high, rows)
            if low is not None:
                smallest = values(low, rows)
                if form.turning_point is not None:
                    one = xp.ones_like(largest)
                    n_reversed += int(xp.sum(xp.where(smallest > largest, one, 0 * one)))
                    largest = xp.maximum(largest, smallest)
                elif n_wanted > 1:
                    outputs[1][rows, :] = smallest
            outputs[0][rows, :] = largest
        self.warn_reversed(n_reversed, prod(high.shape))
        return outputs

    def warn_reversed(self, n_reversed: int, n_pairs: int) -> None:
        if n_reversed:
            warn(
                f"{type(self.base).__name__} of even degree takes larger values at the smallest "
                f"than at the largest inner product for {n_reversed} of {n_pairs} pairs: maximum "
                "and power do not commute there, so both extremes were followed; smaller points or "
                "gamma avoid this"
            )

    # -- what it will cost -----------------------------------------------------------------------

    def _operations(self, way: Way, X: Array, Y: Array) -> float:
        """Of a way, and of the evaluations of a base kernel that can tell."""
        operations, order = way.operations(len(X), len(Y)), getattr(way, "elements", ())
        count = getattr(self.base, "operations", None)
        if way.problem.evaluate is None or count is None:
            return operations
        return operations + len(order) * (count(X, Y) or 0.0)

    def explain(self, X: Array, reduction: Reduction) -> Explanation:
        """Which way `reduce` takes for points X, with operations, memory and seconds."""
        first, second = (X, self.Z) if self.side == "second" else (self.Z, X)
        problem = self.problem(first, reduction, second)
        way, *others = offered(problem, len(first), len(second))
        operations = self._operations(way, first, second)
        return Explanation(
            way=way.name,
            operations=operations,
            n_bytes=min(2 * way.prepared_bytes(len(second)), problem.block_bytes),
            seconds=operations / rate(problem.dtype.name),
            alternatives={w.name: w.operations(len(first), len(second)) for w in others},
        )


def image_shape(group: Transformations | None, base: Any, d: int) -> tuple[int, int, int]:
    """(height, width, channels) of points; plain vectors are images of height one.

    Raises
    ------
    ValueError
        When base kernel and group see points of different shapes.
    """
    given = None if group is None else group.shape
    own = getattr(base, "point_shape", None)
    if own is not None:
        seen = tuple(own[:2]) + ((own[2],) if own[2] > 1 else ())
        flat = (1, *given) if given is not None and len(given) == 1 else given
        if given is not None and flat not in (seen, tuple(own), (1, prod(own))):
            raise ValueError(
                f"{base!r} sees points of shape {seen}, {group!r} of shape {given}: they must agree"
            )
        return own[0], own[1], own[2]
    grid = None if group is None else group.grid_shape
    if grid is None or prod(grid) != d:
        return (1, d, 1)
    return grid


def speaks_for_itself(base: Any, method: str = "inner_form") -> bool:
    """Whether a kernel's method is of the class that defines its values, or below it."""
    for cls in type(base).__mro__:
        if method in vars(cls):
            return True
        if {"_gram", "__call__"} & set(vars(cls)):
            return False
    return False


def _internal(reduction: Reduction, form: Form | None) -> Reduction:
    """What must be followed so that the reduction can be had in the end."""
    if reduction.extreme and form is not None and form.turning_point is not None:
        if reduction.n_outputs > 1:
            raise ValueError("smallest values of a kernel that is not monotone are not supported")
        return Extremes(smallest=True)
    return reduction


def _key(problem: Problem) -> tuple[Any, ...]:
    """What prepared points depend on beside the points."""
    reduction = problem.reduction
    return problem.dtype, type(reduction), reduction.n_outputs, problem.folded


def _by_boxes(boxes: Array, axis: int) -> Array:
    """First points in the order of their bounding boxes."""
    keys = [boxes[:, a, end] for a in (1 - axis, axis) for end in (1, 0)]
    return np.lexsort(keys)


def mirror(matrix: Array) -> None:
    """Copy the upper triangle onto the lower one, by blocks."""
    n, step = len(matrix), 512
    for a in range(0, n, step):
        matrix[a + step :, a : a + step] = matrix[a : a + step, a + step :].swapaxes(0, 1)
        block = matrix[a : a + step, a : a + step]
        lower = np.tri(len(block), k=-1, dtype=bool)
        np.copyto(block.T, block.T.swapaxes(-2, -1), where=lower.T)


def map_in_turn(function: Callable[[Any], Any], arguments: Iterable[Any]) -> list[Any]:
    return [function(argument) for argument in arguments]


def _joined(xp: Any, parts: Sequence[Any], axis: int) -> Any:
    return parts[0] if len(parts) == 1 else xp.concat(list(parts), axis=axis)


class _Runner(ExitStack):
    """Applies functions to arguments one after another, or in threads with one BLAS thread each."""

    def __init__(self, threads: int, verbose: int):
        super().__init__()
        self.threads = threads
        self._done: Callable[[int], Any] | None = None
        if threads > 1:
            self.enter_context(threadpool_limits(1, "blas"))
            pool = Parallel(threads, prefer="threads", require="sharedmem")
            self._pool = self.enter_context(pool)
        if verbose:
            self._done = self.enter_context(tqdm(desc="orbits", unit=" blocks")).update

    def __call__(self, function: Callable[[Any], Any], arguments: Iterable[Any]) -> list[Any]:
        arguments = list(arguments)
        if self.threads > 1 and len(arguments) > 1:
            found: list[Any] = self._pool(delayed(function)(argument) for argument in arguments)
            if self._done is not None:
                self._done(len(arguments))
            return found
        results = []
        for argument in arguments:
            results.append(function(argument))
            if self._done is not None:
                self._done(1)
        return results


class Trivial(Transformations):
    """The identity alone, on vectors of any length."""

    order = 1

    def elements(self) -> Array:
        return np.zeros((1, 0))

    def sample(self, n_samples: int, random_state: Any = None) -> Array:
        return np.zeros((n_samples, 0))

    def act(self, elements: Any, X: Any) -> Array:
        return self._act(elements, X)

    def _act(self, elements: Array, X: Array) -> Array:
        return np.broadcast_to(X, (len(elements), *X.shape))
