"""`OrbitProducts`: reductions over the orbits of some points, by whatever way is cheapest.

A call makes a plan (the problem, and the ways to it), takes the way of fewest operations, runs one
loop over tiles, and hands what it found to the reduction. Plans are kept for further calls.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from math import inf, prod
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from ..core.arrays import (
    detached,
    is_foreign,
    like,
    namespace,
    numpy_only,
    on_cpu,
    on_host,
    wants_gradient,
)
from ..core.config import block_bytes_of
from ..core.parameters import ParameterError
from ..groups import Transformations
from ..groups.base import ENUMERATION_LIMIT
from .circle import Circle
from .closed import Aligned, Exponential, Matched, OwnForm, Superposed, Turned
from .form import INNER, Form, form_of
from .numerics import centre_of, lost, needs_care, single_will_do
from .product import Differences, Evaluation, Product, QuarterTurned
from .reductions import Extremes, Reduction
from .shifts import Shifts
from .way import (
    Explanation,
    Problem,
    Way,
    WeightedSet,
    done,
    half_norms,
    joined,
    largest_norm,
    mirror,
    rate,
    row_blocks,
    row_norms,
    runner,
    seconds_of,
    ticking,
    warn,
    warn_long,
)

Array = NDArray[Any]

#: Ways that some groups and kernels have; a product is always there.
WAYS = (
    Aligned, Exponential, OwnForm, Matched, Superposed, Turned, Circle, Shifts, QuarterTurned,
)  # fmt: skip

#: Threads are not worth their while for fewer operations than these, about 20 ms.
_THREADS_FROM = 4e8
#: First points of a block, where products run at full speed, and where two threads pay.
_ROWS, _FEWEST = 256, 96
#: Operations of a GPU while the host does one, measured with sixteen cores.
_OUTRUN = 100.0
#: Operations of which nobody is told in advance.
_LONG_FROM = 1e11
_CHEAPER = "n_transforms=..., single precision, or features (OrbitFourier, OrbitNystroem)"
#: Coordinates whose squares overflow.
_OVERFLOWS = 1e150
#: Seconds of a call itself: its checks and its plan.
_CALL = 2e-4
#: Seconds of a trial that tells what a computation will cost, and its elements where they are many.
_TRIAL, _TRIAL_ELEMENTS = 0.06, 4096


@dataclass(eq=False, repr=False)
class OrbitProducts:
    r"""Reductions of :math:`k(x, g z)` over g, for all pairs of points x and kept points z.

    Parameters
    ----------
    Z : ndarray of shape (m, d), points that are kept: templates, landmarks, second arguments
    group : Transformations, or None for the trivial group
    base : kernel or None
        None takes inner products <x, g z> themselves. A kernel that has a form (`form_of`) is
        computed from inner products, another one is evaluated (its ``_gram``).
    owner : str, for messages
    elements, weights : ndarrays of shape (r, ...) and (r,), or None
        Elements to reduce over; None is the whole group, by its quadrature rule. Given elements
        weigh equally without weights.
    offsets : ndarray of shape (m,) or None
        Added to the inner products with each kept point, such as phases.
    side : {"second", "first"}
        Whether the kept points are transformed, or those handed to `reduce`: <g x, z>.
    method, precision : as in `BestFit`
    keep : bool
        Whether moved points are kept between calls where they fit into half of ``block_bytes``.
    block_bytes, n_jobs, verbose : as in `Average`

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

    Z: Any
    group: Any
    _: KW_ONLY
    base: Any = None
    owner: str = "OrbitProducts"
    elements: Any = None
    weights: Any = None
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
        #: By what they depend on: forms, plans, and what is prepared of the kept points.
        self._forms: dict[Any, tuple[Form | None, tuple[int, int, int], Reduction]] = {}
        self._plans: dict[Any, tuple[Problem, list[Way]]] = {}
        self._kept: dict[Any, tuple[Way, list[Any]]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_forms": {}, "_plans": {}, "_kept": {}}

    def at(self, Z: Any, **how: Any) -> OrbitProducts:
        """The same for other kept points, with the plans made so far."""
        other = object.__new__(type(self))
        vars(other).update(vars(self) | how, Z=Z, _kept={})
        return other

    # -- the computation -------------------------------------------------------------------------

    def reduce(
        self, X: Any, reduction: Reduction, *, symmetric: bool = False, out: Sequence[Array] = ()
    ) -> list[Any]:
        """Reduce over the group for all pairs of points.

        Parameters
        ----------
        X : ndarray of shape (n, d), or an array of another library
            Gradients pass through points that are not transformed, where a function of inner
            products is reduced: of an extreme at the element that attains it, as in max pooling.
        symmetric : bool
            Whether X is Z and the result is known to be symmetric: one triangle is computed.
        out : sequence of ndarrays of shape (n, m, ...), written in place; views will do

        Returns
        -------
        list of arrays of shape (n, m, ...), one for each output of the reduction; like X
        """
        first, second, foreign = self._sides(X)
        swap = self.side == "first"
        first, second, lossy = self._placed(first, second, reduction)
        if lossy is not None and (foreign or lossy.everywhere):
            found = lossy.exact.reduce(lossy.of(first), reduction, symmetric=symmetric)
            return _oriented(found, swap, X if foreign else None, out)
        key, problem, offered = self._plan(first, second, reduction, foreign)
        way, kept = self._kept.get(key) or (self._ways(problem, offered, first, second)[0], None)
        if foreign and way.host_only:
            twin = self.at(on_host(self.Z, self.owner)) if is_foreign(self.Z) else self
            return [like(part, X) for part in twin.reduce(on_host(X, self.owner), reduction)]
        followed = problem.reduction if reduction.extreme else reduction
        second = second.astype(problem.dtype, copy=False)
        if foreign:
            xp, symmetric, results = problem.xp, False, None
            final, first = xp.float64, xp.astype(first, problem.target.dtype)
        else:
            final = np.result_type(X, self.Z)
            first = first.astype(problem.dtype, copy=False)
            dtype = np.result_type(final, problem.dtype) if reduction.extreme else final
            results = list(out)
            while len(results) < followed.n_outputs:
                results.append(np.empty((len(X), len(self.Z), *reduction.tail), dtype))
            results = [r.swapaxes(0, 1) for r in results] if swap else results
        found = self._loop(way, first, second, followed, results, key, kept, symmetric)
        if reduction.extreme:
            found = self._finish(problem, reduction, found, first, final)
        elif problem.folded and not foreign:  # exponents above zero were rounding
            most = 1.0 if self.weights is None else np.clip(self.weights, 0, None).sum()
            for part in found:
                np.minimum(part, most, out=part)
        if lossy is not None:
            lossy.replace(found, first, reduction)
        for part in found if symmetric else ():
            mirror(part)
        return _oriented(found, swap, X if foreign else None)

    def _sides(self, X: Any) -> tuple[Any, Array, bool]:
        """First and second points, which are NumPy's, and whether pairs are another library's."""
        first, second = (self.Z, X) if self.side == "first" else (X, self.Z)
        if foreign := is_foreign(X):
            second = on_host(second, self.owner) if is_foreign(second) else second
            first = first if is_foreign(first) else like(first, X)
        return first, second, foreign

    def _placed(
        self, first: Any, second: Array, reduction: Reduction
    ) -> tuple[Any, Array, _Lossy | None]:
        """Points as squared distances are to be taken of: about a point that the group fixes.

        With the pairs whose distances products would still get wrong, as a rule none.
        """
        form = self._form_for(first.shape[1], reduction)[0]
        if form is None or not form.distance or not form.linear:
            return first, second, None
        largest = max(float(second.max()), -float(second.min()))
        if largest > _OVERFLOWS or not needs_care(form, second.shape[1] * largest**2 / 2):
            return first, second, None
        centre = centre_of(form, second, self.group)
        if centre is not None:
            first, second = first - like(centre, first), second - centre
        return first, second, self._lossy(form, first, second, reduction)

    def _lossy(self, form: Form, first: Any, second: Array, reduction: Reduction) -> _Lossy | None:
        """Pairs of centred points that lose digits; a warning if there is no other way to them."""
        host = on_host(detached(first)) if is_foreign(first) else first
        halves, others = (half_norms(A.astype(float)) for A in (host, second))
        if not self.group.unitary:  # moved points may be as far away as those that they are near
            others = np.full(len(second), halves.max())
        rows, columns, error = lost(form, halves, others)
        if not error:
            return None
        whole = len(rows) == len(halves) and len(columns) == len(others)
        whole = whole and (error >= 1 or form.rate is None)
        aligned = None
        if self._countable():
            exact = replace(self, Z=second, method="differences", side="second", keep=False)
        elif reduction.extreme and self._aligns(first.shape[1]):
            aligned = self.group.aligned
            exact = replace(self, Z=aligned(second), group=None, side="second", keep=False)
        else:
            warn(
                f"{self.owner}: points lie so far from the origin that squared distances lose "
                f"digits, and values are wrong by about {min(error, 1.0):.0e}: {self.group!r} "
                "fixes no point that could be subtracted; centre the data in a way that suits the "
                "problem, or take a smaller gamma or n_transforms=..."
            )
            return None
        return _Lossy(exact, rows, columns, error, whole, aligned)

    def _countable(self) -> bool:
        """Whether every element can be applied."""
        return self.elements is not None or self.group.order <= ENUMERATION_LIMIT

    def _aligns(self, d: int) -> bool:
        """Whether the group has representatives of orbits that lie as near as orbits come."""
        if self.elements is not None or not self.group.unitary:
            return False
        return self.group.aligned(np.zeros((0, d))) is not None

    def _loop(
        self,
        way: Way,
        X: Any,
        Y: Array,
        reduction: Reduction,
        results: list[Array] | None,
        key: Any = None,
        kept: list[Any] | None = None,
        symmetric: bool = False,
    ) -> list[Any]:
        """Reduce over the orbits of Y, a tile at a time; into arrays (n, m, ...) where given.

        With a ``key`` what is prepared of Y may be kept for further calls.
        """
        n, m, problem = X.shape[0], len(Y), way.problem
        terms = None  # added to the inner products with each first point, shape (n,)
        if problem.form is not None and problem.form.distance and not problem.reduction.extreme:
            terms = -half_norms(X)
        if problem.tolerance:
            terms = -row_norms(X)
        if self.offsets is not None and self.side == "first":
            own = like(self.offsets[:n].astype(problem.dtype, copy=False), X)
            terms = own if terms is None else terms + own
        operations, pieces = way.operations(n, m), 1 if kept else way.pieces(m)
        if key is not None:  # no trial
            self.announce(operations, way, n, m)
        small = operations < _THREADS_FROM
        order = None if symmetric or results is None or kept else way.order(X)
        if symmetric and not small:  # whole tiles under the diagonal are skipped
            pieces = max(pieces, min(8, m // 64))
        offsets = None if self.side == "first" else self.offsets
        output = _Output(results, problem.xp)
        with runner(1 if small else effective_n_jobs(self.n_jobs), self.verbose) as run:
            fits = pieces < 2 and way.prepared_bytes(m) <= problem.block_bytes / 2
            if self.keep and kept is None and key is not None and fits and self.side == "second":
                kept = list(way.prepare(Y, offsets, run))
                self._kept[key] = way, kept
            width = -(-m // pieces)
            for start in range(0, m, width):
                columns = slice(start, min(start + width, m))
                rows = columns.stop if symmetric else n
                # The same blocks whatever the number of threads, for the same rounding.
                step = min(way.row_step(columns.stop - start), max(_ROWS, -(-rows // 8)))
                count = max(-(-rows // step), 0 if small else min(2, rows // _FEWEST))
                blocks: list[Any] = list(row_blocks(rows, 1, -(-rows // count)))
                if order is not None:
                    blocks = [order[block] for block in blocks]
                own, merge = None if offsets is None else offsets[columns], None
                for norm, prepared in kept or way.prepare(Y[columns], own, run):
                    given = way, X, terms, reduction, prepared, norm, output, columns, merge
                    list(run.map(partial(_tile, given), blocks))
                    merge = reduction.merge
                    del given, prepared  # before the next ones are prepared
        if key is not None:
            done[problem.dtype.name] += int(operations)
        return output.arrays()

    def _finish(
        self, problem: Problem, reduction: Any, found: list[Any], first: Any, final: Any
    ) -> list[Any]:
        """The kernel's extreme values from extreme inner products."""
        outputs: list[Any]
        form, halves, xp = problem.form, None, problem.xp
        if form is not None and form.distance:
            wide = first.astype(float, copy=False) if xp is np else xp.astype(first, xp.float64)
            halves = half_norms(wide)[:, None]
        outer = None if form is None else form.outer
        outputs, n_reversed = reduction.finish(found, outer, halves, final, xp)
        if n_reversed:
            warn(
                f"{type(self.base).__name__} of even degree is larger at the smallest product "
                f"for {n_reversed} of {prod(outputs[0].shape)} pairs: maximum and power do not "
                "commute there, and both extremes were followed"
            )
        return outputs

    # -- the plan --------------------------------------------------------------------------------

    def _plan(
        self, first: Any, second: Array, reduction: Reduction, foreign: bool = False
    ) -> tuple[Any, Problem, list[Way]]:
        """What a problem depends on, the problem, and the ways to it."""
        d, kind = first.shape[1], reduction.kind
        form, shape, followed = self._form_for(d, reduction)
        dtype, bound = self._dtype(form, first, second), block_bytes_of(self.block_bytes)
        target, xp = None, np
        where: Any = None
        if foreign:
            xp = namespace(first)
            target = first.detach() if hasattr(first, "detach") else first
            target = xp.astype(target[:1, :], xp.float32 if dtype == np.float32 else xp.float64)
            where = xp.__name__, str(target.device), wants_gradient(first)
        key = kind, d, dtype, bound, where
        if key in self._plans:
            return key, *self._plans[key]
        evaluate = None
        if form is None:
            evaluate = getattr(self.base, "_gram", self.base)
            if foreign and not hasattr(self.base, "_gram_arrays"):  # a sum or product, say
                remedy = "take one kernel as the base, such as Gaussian or Polynomial"
                numpy_only(type(self.base).__name__, remedy, first, second)
            if foreign:
                evaluate = partial(self.base._gram_arrays, xp)
        self._check_width(d, second.shape[1])
        sets = [WeightedSet(self.group, self.elements, self.weights)]
        # The base kernel's own form of the reduction over the whole group, where it has one.
        closed = None
        if self.elements is None:
            sets = [WeightedSet(group) for group in self.group.chain()]
            plain = reduction.plain_mean or (reduction.extreme and reduction.n_outputs == 1)
            if plain and self.method != "definition" and hasattr(self.base, "closed_form"):
                closed = self.base.closed_form(self.group, reduction.extreme)
        halves = form is not None and form.distance and not reduction.extreme
        terms = halves or (self.offsets is not None and self.side == "first")
        asked_for = form, evaluate, shape, dtype, sets, followed, bound
        problem = Problem(*asked_for, first_terms=terms, closed=closed, target=target, xp=xp)
        offered: list[Way | None] = [kind.offers(problem) for kind in WAYS]
        ways = [way for way in offered if way is not None]
        order = prod(part.order for part in sets)
        if foreign and where[2]:
            # Gradients do not pass through NumPy. A way that loses them says so; it stays where
            # nothing else finds an extreme, over elements that cannot be listed.
            free = [way for way in ways if not way.host_only]
            ways = free if free or not reduction.extreme or order <= ENUMERATION_LIMIT else ways
        if order == inf:  # what needs no nodes is exact
            ways = [way for way in ways if not way.by_elements] or ways
        if self.method == "differences":
            ways = [Differences(problem)]
        elif not ways or order < inf:
            ways.append(Evaluation(problem) if form is None else Product(problem))
        self._plans[key] = problem, ways
        return key, problem, ways

    def _form_for(
        self, d: int, reduction: Reduction
    ) -> tuple[Form | None, tuple[int, int, int], Reduction]:
        """`_form`, made once."""
        key = d, reduction.kind
        if key not in self._forms:
            self._forms[key] = self._form(d, reduction)
        return self._forms[key]

    def _check_width(self, d: int, n_moved: int) -> None:
        """Refuse a group that makes points of another length than those that they meet."""
        if self.group.keeps_shape:
            return
        elements = self.group.sample(1, 0) if self.elements is None else self.elements[:1]
        width = self.group.act(elements, np.zeros((1, n_moved))).size
        if width != d:
            raise ParameterError(
                f"{self.owner}: {self.group!r} makes {width} numbers of {n_moved}, and points of "
                f"{d} meet them untransformed: take maps to {d} numbers, or Average (side='both') "
                "or OrbitFourier (side='first'), which compare transformed points alone"
            )

    def _form(self, d: int, reduction: Any) -> tuple[Form | None, tuple[int, int, int], Reduction]:
        """The base kernel's form, the points' shape, and what has to be followed."""
        shape = image_shape(self.group, self.base, d)
        form = INNER if self.base is None else None
        if self.base is not None and self.method != "definition":
            form = form_of(self.base, shape)
        if form is not None and reduction.extreme:
            if form.turning_point is not None and not reduction.raw:
                reduction = Extremes(smallest=True)
            form = form if form.monotone else None
        if form is not None and self.method == "differences":
            form = replace(form, distance=False, rate=None)
        return form, shape, reduction

    def _dtype(self, form: Form | None, first: Any, second: Array) -> np.dtype[Any]:
        """Of the inner products: single precision where that is asked for and will do."""
        if self.method == "differences":
            return np.dtype(np.float64)
        xp = np if isinstance(first, np.ndarray) else namespace(first)
        first = first.detach() if hasattr(first, "detach") else first
        narrow = first.dtype == xp.float32 and (xp is not np or second.dtype == np.float32)
        if form is not None and form.distance:
            # Squared distances that overflow are refused: products may not show it.
            ends = xp.max(first), -xp.min(first), second.max(), -second.min()
            largest = max(map(float, ends))
            if largest > _OVERFLOWS:
                raise ValueError(
                    f"{self.owner}: the largest absolute feature of the points is {largest:g}, "
                    "and squared distances overflow: scale the points down"
                )
            if narrow and self.precision != "single":
                squares = max(float(xp.max(half_norms(first))), float(half_norms(second).max()))
                narrow = single_will_do(form, squares)
        single = narrow or self.precision == "single"
        return np.dtype(np.float32 if single else np.float64)

    def _ways(self, problem: Problem, offered: list[Way], first: Any, second: Array) -> list[Way]:
        """Ways for some points, that of fewest operations at a large product's rate first."""
        n, m = first.shape[0], len(second)
        if problem.form is not None and problem.target is None and not self.keep:
            support = (first.max(axis=0) > 0) | (first.min(axis=0) < 0)
            if not support.all():
                offered = [way.facing(support, n) for way in offered]
        slower = 1.0 if problem.target is None or on_cpu(problem.target) else _OUTRUN
        return sorted(
            offered, key=lambda w: w.charge * w.operations(n, m) * (slower if w.host_only else 1)
        )

    def ways(self, X: Any, reduction: Reduction) -> list[Way]:
        """The ways of `reduce` for points X; it takes the first one."""
        first, second, foreign = self._sides(X)
        first, second, _ = self._placed(first, second, reduction)
        _, problem, offered = self._plan(first, second, reduction, foreign)
        return self._ways(problem, offered, first, second)

    def is_exact(self, X: Any, reduction: Reduction) -> bool:
        """Whether `reduce` goes over all elements of a finite set, or needs none of the group.

        Otherwise some elements stand for an infinite group: see `enough_nodes`.
        """
        if self.group.order < inf:
            return True
        return self.elements is None and not self.ways(X, reduction)[0].by_elements

    # -- what it will cost -----------------------------------------------------------------------

    def explain(
        self, X: Any, reduction: Reduction, *, times: float = 1, symmetric: bool = False
    ) -> Explanation:
        """Which way `reduce` takes for points X, with operations, memory and seconds.

        The seconds are from a trial on some points, and some elements where these are very many;
        ``times`` is how often it is done, ``symmetric`` as in `reduce`.
        """
        group, (first, second, _) = self.group, self._sides(X)
        first, second, lossy = self._placed(first, second, reduction)
        if lossy is not None and lossy.everywhere:
            first = lossy.of(first)
            return lossy.exact.explain(first, reduction, times=times, symmetric=symmetric)
        n, m = len(first), len(second)
        (way, *others) = self.ways(X, reduction)
        if self.elements is None and not others and 2**13 < group.order < inf:
            draw = getattr(group, "random_words", group.sample)  # words need no stabiliser chain
            listed = replace(self, elements=draw(_TRIAL_ELEMENTS, random_state=0), weights=None)
            times *= group.order / _TRIAL_ELEMENTS
            return listed.explain(X, reduction, times=times, symmetric=symmetric)
        large = way.operations(n, m) >= _THREADS_FROM
        tiles = max(way.pieces(m), large * min(8, m // 64)) if symmetric else 1
        share = times * (1 + 1 / tiles) / 2
        kept = min(2 * way.prepared_bytes(m), way.problem.block_bytes)
        result = n * m * reduction.n_outputs * prod(reduction.tail) * _itemsize(X, self.Z)
        return Explanation(
            way=way.name,
            operations=times * way.operations(n, m),
            n_bytes=kept + result,
            seconds=max(_CALL, share * self._trial(way, first, second, way.problem.reduction)),
            alternatives={other.name: times * other.operations(n, m) for other in others},
        )

    def _trial(self, way: Way, X: Any, Y: Array, reduction: Reduction) -> float:
        """Seconds that a way takes, from trials on more and more points until one takes enough."""
        (n, m), size, spent = (len(X), len(Y)), 4, 0.0
        X, Y = (A.astype(way.problem.dtype, copy=False) for A in (X, Y))

        clock = ticking(time.process_time, time.perf_counter)
        while True:
            (a, b), before = (min(n, size), min(m, size)), spent
            trial = partial(self._loop, way, X[:a], Y[:b], reduction, None)
            start = clock.read()
            trial()
            spent = clock.read() - start
            if (a, b) == (n, m) or (spent > _TRIAL and before > 0):
                break
            size *= 2
        if spent < 4 * _TRIAL:  # the first time memory is new to the process, and slower
            again = seconds_of(trial, clock)
            spent = again if spent < clock.least else min(spent, again)
        return spent * way.operations(n, m) / way.operations(a, b)

    def announce(self, operations: float, way: Way, n: int, m: int) -> None:
        """Warn before minutes of work."""
        if operations > _LONG_FROM:
            way.check()  # what will be refused is not announced
            what = f"{self.owner}: {n} x {m} pairs"
            warn_long(operations / rate(way.problem.dtype.name), what, _CHEAPER)


def _itemsize(*points: Any) -> int:
    """Bytes of a number of what is computed from some points."""
    single = all(str(A.dtype).endswith("float32") for A in points)
    return 4 if single else 8


@dataclass(frozen=True)
class _Lossy:
    """Pairs of far points, and what computes them from differences."""

    exact: OrbitProducts
    rows: Array
    columns: Array
    error: float  #: relative, of the values that products give
    everywhere: bool  #: whether that is all pairs
    aligned: Any  #: what makes representatives of orbits, if these are compared

    def of(self, first: Any) -> Any:
        """First points as `exact` takes them."""
        return first if self.aligned is None else self.aligned(first, namespace(first))

    def replace(self, found: list[Array], first: Array, reduction: Reduction) -> None:
        """Values of pairs that lost digits, computed anew in place."""
        rows, columns = self.rows, self.columns
        first = self.of(first)
        if self.error < 1 and self._decays(reduction):
            # Values that are nothing are so whatever the rounding.
            block = np.abs(found[0][np.ix_(rows, columns)])
            i, j = np.nonzero(block > 1e-16)
            if 4 * len(i) < block.size:
                for column in np.unique(j):
                    few = rows[i[j == column]]
                    self._put(found, first, reduction, few, columns[column : column + 1])
                return
        self._put(found, first, reduction, rows, columns)

    def _decays(self, reduction: Any) -> bool:
        """Whether small values are those of points far from each other."""
        form = form_of(self.exact.base, image_shape(None, self.exact.base, self.exact.Z.shape[1]))
        decaying = form is not None and form.rate is not None and form.rate > 0
        return decaying and (reduction.plain_mean or (reduction.extreme and not reduction.raw))

    def _put(
        self, found: list[Array], first: Array, reduction: Reduction, rows: Array, columns: Array
    ) -> None:
        parts = self.exact.at(self.exact.Z[columns]).reduce(first[rows], reduction)
        for whole, part in zip(found, parts, strict=True):
            whole[np.ix_(rows, columns)] = part


def _oriented(
    found: list[Any], swap: bool, like_array: Any = None, out: Sequence[Array] = ()
) -> list[Any]:
    """Results for first and second points, as those for X and the kept points; into ``out``."""
    if like_array is not None:
        xp = namespace(like_array)
        if swap:
            found = [xp.permute_dims(part, (1, 0, *range(2, part.ndim))) for part in found]
        return [xp.astype(part, like_array.dtype) for part in found]
    if swap:
        found = [part.swapaxes(0, 1) for part in found]
    for target, part in zip(out, found, strict=False):
        target[...] = part
    return list(out) or found


def _tile(given: Any, rows: Any) -> None:
    """Some first points against prepared second ones."""
    way, X, terms, reduction, prepared, norm, output, columns, merge = given
    X, form = X[rows, :], way.problem.form
    if reduction.kind == ("extremes", True, False) and form is not None:
        turning = form.turning_point
        if turning is not None and -largest_norm(X) * norm >= turning:
            reduction = Extremes()  # the kernel rises wherever the values are
    parts = way.block(X, prepared, None if terms is None else terms[rows], reduction)
    parts += parts[-1:] * (way.problem.reduction.n_outputs - len(parts))  # any will do for those
    output.put(rows, columns, parts, merge)


class _Output:
    """Where blocks of results go: into NumPy's arrays in place, or beside each other."""

    def __init__(self, results: list[Array] | None, xp: Any):
        self._results, self._xp = results, xp
        self._blocks: dict[int, dict[int, list[Any]]] = {}

    def put(self, rows: Any, columns: slice, parts: list[Any], merge: Any) -> None:
        """Place a block, or ``merge`` it with what is there."""
        if self._results is None:
            blocks = self._blocks.setdefault(columns.start, {})
            if merge is not None:
                pairs = enumerate(zip(blocks[rows.start], parts, strict=True))
                parts = [merge(a, b, i, self._xp) for i, (a, b) in pairs]
            blocks[rows.start] = parts
            return
        for i, (result, part) in enumerate(zip(self._results, parts, strict=True)):
            if merge is not None:
                part = merge(result[rows, columns], part, i)
            result[rows, columns] = part

    def arrays(self) -> list[Any]:
        if self._results is not None:
            return self._results
        columns = [
            [joined(self._xp, list(parts)) for parts in zip(*blocks.values(), strict=True)]
            for blocks in self._blocks.values()
        ]
        return [joined(self._xp, list(parts), 1) for parts in zip(*columns, strict=True)]


def image_shape(group: Transformations | None, base: Any, d: int) -> tuple[int, int, int]:
    """(height, width, channels) of points; plain vectors are images of height one.

    Raises a ValueError where base kernel and group see points of different shapes.
    """
    given = None if group is None else group.shape
    own = getattr(base, "point_shape", None)
    if own is not None:
        seen = tuple(own[:2]) + ((own[2],) if own[2] > 1 else ())
        flat = (1, *given) if given is not None and len(given) == 1 else given
        if given is not None and flat not in (seen, tuple(own), (1, prod(own))):
            raise ValueError(f"{base!r} sees points {seen}, {group!r} {given}: they must agree")
        return own[0], own[1], own[2]
    grid = None if group is None else group.grid_shape
    return (1, d, 1) if grid is None or prod(grid) != d else grid


class Trivial(Transformations):
    """The identity alone, on vectors of any length."""

    order = 1

    def elements(self) -> Array:
        return np.zeros((1, 0))

    def sample(self, n_samples: int, random_state: Any = None) -> Array:
        return np.zeros((n_samples, 0))

    def act(self, elements: Any, X: Any) -> Array:
        return np.broadcast_to(X, (len(elements), *X.shape))  # of points as they are

    _act = act
