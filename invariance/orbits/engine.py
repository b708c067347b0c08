"""`OrbitProducts`: reductions over the orbits of some points, by whatever way is cheapest.

A call makes a plan (which way, in which precision, of which tiles), runs one loop over tiles, and
hands what it found to the reduction. Plans are kept, and so are prepared points where that is asked
for; see `OrbitProducts.reduce`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from itertools import pairwise
from math import inf, prod
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from ..core.arrays import is_foreign, like, namespace, on_host, wants_gradient
from ..core.config import block_bytes_of
from ..core.parameters import ParameterError
from ..groups import Transformations
from ..groups.base import ENUMERATION_LIMIT
from .circle import Circle
from .closed import Aligned, Exponential, Matched, OwnForm, Superposed
from .form import INNER, Form, form_of
from .product import Evaluation, Product, Turns
from .reductions import Extremes, Reduction
from .shifts import Shifts
from .way import (
    Explanation,
    Part,
    Problem,
    Shown,
    Way,
    asked,
    half_norms,
    joined,
    mirror,
    rate,
    warn,
    warn_long,
)

Array = NDArray[Any]

#: Ways that some groups and kernels have; `Product` is always there.
WAYS = (Aligned, Exponential, OwnForm, Matched, Superposed, Circle, Shifts, Turns)

#: Threads are not worth their while for fewer operations than these, about 20 ms.
_THREADS_FROM = 4e8
#: First points of a block, where products run at full speed.
_ROWS = 256
#: Single precision will do where it changes the kernel's values by no more than this.
_SINGLE_ERROR = 1e-5
#: Elements are not listed for a product that costs so many times as much as another way.
_HOPELESS = 4.0
#: Small products, and traffic between them, run at a fraction of a large product's rate: measured
#: 1.1 to 2.8 times slower an operation (median 2.1) on grids of 8 x 8 to 64 x 64, in single
#: precision beside other work, and more alone. Extremes are read off the frequencies' last stage,
#: which makes up for it.
_CHARGED = {"correlation": 2.5}
#: A kernel's evaluations take unknown times: those of fewer operations are not looked at.
_EVALUATED_FROM, _LONG_FROM = 1e9, 1e11
#: Seconds that a trial takes, which tells what a computation will cost.
_TRIAL = 0.06
#: Elements of a trial, where there are too many to list them for it.
_TRIAL_ELEMENTS = 512


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
        None takes inner products <x, g z> themselves. A kernel that has a form (`form_of`) is
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

    Z: Any
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

    #: Whether who calls announces what all calls will take.
    _quiet: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self.group = Trivial() if self.group is None else self.group
        self._forget()

    def _forget(self) -> None:
        #: By what they depend on: forms, plans, and what is prepared of the kept points.
        self._forms: dict[Any, tuple[Form | None, tuple[int, int, int], Reduction]] = {}
        self._plans: dict[Any, _Plan] = {}
        self._kept: dict[Any, tuple[Way, list[Any]]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_forms": {}, "_plans": {}, "_kept": {}}

    def at(self, Z: Any, **how: Any) -> OrbitProducts:
        """The same for other kept points, with the plans made so far."""
        other = object.__new__(type(self))
        vars(other).update(vars(self) | how, Z=Z, _kept={})
        return other

    def way(self, X: Any, reduction: Reduction) -> str:
        """The name of the way that `reduce` takes for points X."""
        first, second = (self.Z, X) if self.side == "first" else (X, self.Z)
        _, plan = self._plan(first, second, reduction)
        return self._ways(plan, first, second)[0][0].name

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
            Gradients pass through points that are not transformed, where means are taken of a
            function of inner products.
        reduction : Reduction
        symmetric : bool
            Whether X is Z and the result is known to be symmetric: one triangle is computed.
        out : sequence of ndarrays of shape (n, m, ...), or None
            Written in place and returned; views will do.

        Returns
        -------
        list of arrays of shape (n, m, ...), one for each output of the reduction; like X
        """
        foreign, swap = is_foreign(X), self.side == "first"
        first, second = (self.Z, X) if swap else (X, self.Z)
        if foreign:
            symmetric = False
            second = on_host(second, self.owner) if is_foreign(second) else second
            first = first if is_foreign(first) else like(first, X)
        key, plan = self._plan(first, second, reduction, foreign)
        problem, xp = plan.problem, plan.problem.xp
        followed = problem.reduction if reduction.extreme else reduction
        second = second.astype(problem.dtype, copy=False)
        results: list[Array] | None = None
        if foreign:
            final: Any = xp.float64
            first = xp.astype(first, xp.float32 if problem.dtype == np.float32 else final)
        else:
            final = np.result_type(first, self.Z if not swap else X)
            first = first.astype(problem.dtype, copy=False)
            dtype = np.result_type(final, problem.dtype) if reduction.extreme else final
            results = list(out or ())
            while len(results) < followed.n_outputs:
                results.append(np.empty((len(X), len(self.Z), *reduction.tail), dtype))
            results = [r.swapaxes(0, 1) for r in results] if swap else results
        way, kept, order = self._choose(key, plan, first, second, symmetric)
        found = self._loop(way, first, second, followed, results, key, kept, order, symmetric)
        if reduction.extreme:
            found = self._finish(problem, reduction, found, first, final)
        elif problem.folded and not foreign:  # exponents above zero were rounding
            most = 1.0 if self.weights is None else np.clip(self.weights, 0, None).sum()
            for part in found:
                np.minimum(part, most, out=part)
        if symmetric:
            for part in found:
                mirror(part)
        if not foreign:
            return [part.swapaxes(0, 1) for part in found] if swap else found
        if swap:
            found = [xp.permute_dims(part, (1, 0, *range(2, part.ndim))) for part in found]
        return [xp.astype(part, X.dtype) for part in found]

    def _choose(
        self, key: Any, plan: _Plan, first: Any, second: Array, symmetric: bool
    ) -> tuple[Way, list[Any] | None, Array | None]:
        """The cheapest way, what is kept for it, and in which order first points are taken."""
        if key in self._kept:
            return *self._kept[key], None
        (way, *_), shown = self._ways(plan, first, second)
        return way, None, None if symmetric or shown is None else shown.order(way.skips)

    def _loop(
        self,
        way: Way,
        X: Any,
        Y: Array,
        reduction: Reduction,
        results: list[Array] | None,
        key: Any = None,
        kept: list[Any] | None = None,
        order: Array | None = None,
        symmetric: bool = False,
    ) -> list[Any]:
        """Reduce over the orbits of Y, a tile at a time; into arrays (n, m, ...) where given."""
        n, m, problem = X.shape[0], len(Y), way.problem
        if problem.target is not None and way.on_host:
            X = on_host(X, self.owner)
        terms = self._first_terms(problem, X) if problem.first_terms else None
        operations, pieces = way.operations(n, m), 1 if kept else way.pieces(m)
        if key is not None:  # no trial
            self._announce(operations, way, X, Y, reduction)
        small = operations < _THREADS_FROM
        if symmetric and not small:  # whole tiles under the diagonal are skipped
            pieces = max(pieces, min(8, m // 64))
        pieces = min(max(pieces, 1), m)
        bounds = [i * m // pieces for i in range(pieces + 1)]
        output = _Output(results, reduction, problem.xp)
        offsets = None if self.side == "first" else self.offsets
        with _runner(1 if small else effective_n_jobs(self.n_jobs), self.verbose) as run:
            if self.keep and kept is None and key is not None and self._may_keep(way, pieces, m):
                kept = list(way.prepare(Y, offsets, run))
                self._kept[key] = way, kept
            for start, stop in pairwise(bounds):
                columns, rows = slice(start, stop), stop if symmetric else n
                # The same blocks whatever the number of threads, for the same rounding.
                step = min(way.row_step(stop - start), max(_ROWS, -(-rows // 8)))
                blocks: list[Any] = [slice(a, min(a + step, rows)) for a in range(0, rows, step)]
                if order is not None:
                    blocks = [order[block] for block in blocks]
                own = None if offsets is None else offsets[columns]
                begun = False
                for prepared in kept or way.prepare(Y[columns], own, run):
                    one = partial(_tile, way, X, terms, reduction, prepared, output, columns, begun)
                    list(run(one, blocks))
                    begun = True
                    del one, prepared  # before the next ones are prepared
        return output.arrays()

    def _may_keep(self, way: Way, pieces: int, m: int) -> bool:
        """Whether what a way prepares of m kept points fits, in one piece."""
        fits = pieces < 2 and way.prepared_bytes(m) <= way.problem.block_bytes / 2
        return self.side == "second" and fits

    def _first_terms(self, problem: Problem, X: Any) -> Any:
        """What is added to the inner products with each first point, shape (n,)."""
        distance = problem.form is not None and problem.form.distance
        terms = -half_norms(X) if distance and not problem.reduction.extreme else None
        if self.offsets is not None and self.side == "first":
            own = self.offsets[: X.shape[0]].astype(problem.dtype, copy=False)
            own = like(own, X) if is_foreign(X) else own
            terms = own if terms is None else terms + own
        return terms

    def _finish(
        self, problem: Problem, reduction: Reduction, found: list[Any], first: Any, final: Any
    ) -> list[Any]:
        """The kernel's extreme values from extreme inner products."""
        form, halves = problem.form, None
        if form is not None and form.distance:
            xp = problem.xp
            wide = first.astype(float, copy=False) if xp is np else xp.astype(first, xp.float64)
            halves = half_norms(wide)[:, None]
        outer = None if form is None else form.outer
        outputs, n_reversed = reduction.finish(found, outer, halves, final, problem.xp)
        if n_reversed:
            warn(
                f"{type(self.base).__name__} of even degree takes larger values at the smallest "
                f"than at the largest inner product for {n_reversed} of {prod(outputs[0].shape)} "
                "pairs: maximum and power do not commute there, so both extremes were followed; "
                "smaller points or gamma avoid this"
            )
        return outputs

    # -- the plan --------------------------------------------------------------------------------

    def _plan(
        self, first: Any, second: Array, reduction: Reduction, foreign: bool = False
    ) -> tuple[Any, _Plan]:
        """The plan for points (first ones of any library), and what it depends on."""
        d, kind = first.shape[1], reduction.kind
        if (d, kind) not in self._forms:
            self._forms[d, kind] = self._form(d, reduction)
        form, shape, followed = self._forms[d, kind]
        dtype = self._dtype(form, first, second, foreign)
        bound, target, xp, where = block_bytes_of(self.block_bytes), None, np, None
        if foreign:
            xp = namespace(first)
            target = first.detach() if hasattr(first, "detach") else first
            target = xp.astype(target[:1, :], xp.float32 if dtype == np.float32 else xp.float64)
            where = xp.__name__, str(target.device), wants_gradient(first)
        key = kind, d, dtype, bound, where
        if key in self._plans:
            return key, self._plans[key]
        evaluate = None
        if form is None:
            evaluate = getattr(self.base, "_gram", self.base)
            if foreign:
                evaluate = partial(self.base._gram_arrays, xp)
        if self.elements is None:
            parts = [Part(group) for group in self.group.chain()]
        else:
            parts = [Part(self.group, self.elements, self.weights)]
        # The base kernel's own form of the reduction over the whole group, where it has one.
        closed = None
        plain = reduction.plain_mean or (reduction.extreme and reduction.n_outputs == 1)
        if plain and self.method != "definition" and self.elements is None:
            own = getattr(self.base, "closed_form", None)
            closed = None if own is None else own(self.group, reduction.extreme)
        halves = form is not None and form.distance and not reduction.extreme
        problem = Problem(
            form=form,
            evaluate=evaluate,
            shape=shape,
            dtype=dtype,
            parts=parts,
            reduction=followed,
            block_bytes=bound,
            first_terms=halves or (self.offsets is not None and self.side == "first"),
            closed=closed,
            target=target,
            xp=xp,
        )
        self._plans[key] = _Plan(problem, graded=foreign and where[2])
        return key, self._plans[key]

    def _form(
        self, d: int, reduction: Reduction
    ) -> tuple[Form | None, tuple[int, int, int], Reduction]:
        """The base kernel's form, the points' shape, and what has to be followed."""
        shape = image_shape(self.group, self.base, d)
        form = INNER if self.base is None else None
        if self.base is not None and self.method != "definition":
            form = form_of(self.base, shape)
        if not reduction.extreme or form is None:
            return form, shape, reduction
        if not form.monotone:
            return None, shape, reduction
        if form.turning_point is not None and not reduction.raw:
            if reduction.n_outputs > 1:
                raise ValueError("smallest values of a kernel that turns are not supported")
            return form, shape, Extremes(smallest=True)
        return form, shape, reduction

    def _dtype(self, form: Form | None, first: Any, second: Array, foreign: bool) -> np.dtype[Any]:
        """Of the inner products: single precision where that is asked for and will do."""
        distance, xp = form is not None and form.distance, np
        if foreign:
            first, xp = first.detach() if hasattr(first, "detach") else first, namespace(first)
            single = first.dtype == xp.float32 or self.precision == "single"
        else:
            single = self.precision == "single" or np.result_type(first, second) == np.float32
        if distance:  # squared distances that overflow are refused: products may not show it
            ends = xp.max(first), -xp.min(first), second.max(), -second.min()
            largest = max(map(float, ends))
            if largest > 1e150:
                raise ValueError(
                    f"{self.owner}: squared distances are beyond float64; the largest absolute "
                    f"feature of the points is {largest:g}: scale the points down"
                )
        if single and distance and self.precision != "single":
            norms = float(xp.max(half_norms(first))), float(half_norms(second).max())
            if form.sensitivity * 2 * max(norms) * np.finfo(np.float32).eps > _SINGLE_ERROR:
                single = False
        return np.dtype(np.float32 if single else np.float64)

    def _ways(self, plan: _Plan, first: Any, second: Array) -> tuple[list[Way], Shown | None]:
        """The ways to a problem, cheapest first, and what they need not look at."""
        problem, shown = plan.problem, None
        if problem.form is not None and problem.target is None and not self.keep:
            shown = Shown(problem, first)
            shown = None if shown.whole else shown
        return plan.ways(first.shape[0], len(second), shown), shown

    # -- what it will cost -----------------------------------------------------------------------

    def explain(self, X: Any, reduction: Reduction, *, times: float = 1) -> Explanation:
        """Which way `reduce` takes for points X, with operations, memory and seconds.

        The seconds are from trials on some of the points, of a quarter of a second at most, and on
        some of the elements where these are very many. ``times`` is how often it is done.
        """
        group = self.group
        first, second = (self.Z, X) if self.side == "first" else (X, self.Z)
        _, plan = self._plan(first, second, reduction)
        n, m, problem = len(first), len(second), plan.problem
        if self.elements is None and plan.too_many(n, m):
            draw = getattr(group, "random_words", group.sample)  # words need no stabiliser chain
            listed = replace(self, elements=draw(_TRIAL_ELEMENTS, random_state=0), weights=None)
            return listed.explain(X, reduction, times=times * group.order / _TRIAL_ELEMENTS)
        (way, *others), _ = self._ways(plan, first, second)
        return Explanation(
            way=way.name,
            operations=times * way.operations(n, m),
            n_bytes=min(2 * way.prepared_bytes(m), problem.block_bytes),
            seconds=times * self._trial(way, first, second, problem.reduction),
            alternatives={other.name: times * other.operations(n, m) for other in others},
        )

    def seconds(self, X: Array, reduction: Reduction, *, times: float = 1) -> float:
        """About how long it takes so many times, where that is long enough to be told."""
        _, plan = self._plan(X, self.Z, reduction)
        way = self._ways(plan, X, self.Z)[0][0]
        few = _EVALUATED_FROM if way.evaluates else _LONG_FROM
        if times * way.operations(len(X), len(self.Z)) < few:
            return 0.0
        return times * self._trial(way, X, self.Z, plan.problem.reduction, _TRIAL / 3)

    def _trial(
        self, way: Way, X: Any, Y: Array, reduction: Reduction, enough: float = _TRIAL
    ) -> float:
        """Seconds that a way takes, from trials on more and more points until one takes enough."""
        (n, m), size, seen = (len(X), len(Y)), 4, [(0.0, 0.0)]
        X, Y = (A.astype(way.problem.dtype, copy=False) for A in (X, Y))

        def once(a: int, b: int) -> float:
            results = [np.empty((a, b, *reduction.tail)) for _ in range(reduction.n_outputs)]
            start = time.process_time()
            found = self._loop(way, X[:a], Y[:b], reduction, results)
            if reduction.extreme:
                self._finish(way.problem, reduction, found, X[:a], np.dtype(float))
            return time.process_time() - start

        once(min(n, size), min(m, size))  # a first call has costs of its own
        while True:
            a, b = min(n, size), min(m, size)
            seen.append((way.operations(a, b), min(once(a, b), once(a, b))))
            if (a, b) == (n, m) or seen[-1][1] > enough:
                break
            size *= 2
        (few, short), (many, long) = seen[-2:]
        slope = (long - short) / max(many - few, 1.0) if long > 1.5 * short else long / many
        return long + slope * (way.operations(n, m) - many)

    def _announce(
        self, operations: float, way: Way, X: Any, Y: Array, reduction: Reduction
    ) -> None:
        """Count the work, and warn before minutes of it."""
        (n, m), problem = (X.shape[0], len(Y)), way.problem
        dtype = problem.dtype.name
        asked[dtype] += int(operations)
        if self._quiet or operations < (_EVALUATED_FROM if way.evaluates else _LONG_FROM):
            return
        seconds = operations / rate(dtype)
        if problem.target is None:
            seconds = self._trial(way, X, Y, reduction, _TRIAL / 3)
        warn_long(
            seconds,
            f"{self.owner}: {n} x {m} pairs by {way.name}",
            "verbose=1 shows progress. Cheaper: n_transforms=... for fewer elements, single "
            "precision, or features (OrbitFourier, OrbitNystroem), whose cost grows with the "
            "points alone",
        )


def _tile(
    way: Way,
    X: Any,
    terms: Any,
    reduction: Reduction,
    prepared: Any,
    output: _Output,
    columns: slice,
    begun: bool,
    rows: Any,
) -> None:
    """Some first points against prepared second ones."""
    parts = way.block(X[rows, :], prepared, None if terms is None else terms[rows], reduction)
    output.put(rows, columns, parts, begun)


class _Plan:
    """The ways to a problem: those that are offered, and a product where it may be cheaper."""

    def __init__(self, problem: Problem, graded: bool = False):
        self.problem = problem
        # Gradients do not pass through extremes and lifts, which every way computes on the host.
        extreme, form = problem.reduction.extreme, problem.form
        self._graded = graded and (form is None or (form.linear and not extreme))
        self._offered: list[Way] = []
        for kind in WAYS:
            way = kind.offers(problem)
            if way is not None:
                self._offered.append(way)
        self._product: Way | None = None
        self._plain = 2.0 * problem.lifted_size
        for part in problem.parts:
            self._plain *= part.order

    def ways(self, n: int, m: int, shown: Shown | None) -> list[Way]:
        """That of fewest operations at a large product's rate first."""
        ways, costs = [], []
        for way in self._offered:
            way = way if shown is None else way.facing(shown)
            cost = way.operations(n, m)
            if not self.problem.reduction.extreme:
                cost *= _CHARGED.get(way.name, 1.0)
            if not (self._graded and way.on_host):
                ways.append(way)
                costs.append(cost)
        if not ways or n * m * self._plain < _HOPELESS * min(costs):
            way = self._listed() if shown is None else self._listed().facing(shown)
            ways.append(way)
            costs.append(way.operations(n, m))
        return [ways[i] for i in sorted(range(len(ways)), key=costs.__getitem__)]

    def too_many(self, n: int, m: int) -> bool:
        """Whether elements would have to be listed that are too many for a trial."""
        return not self._offered and self._plain / (2 * self.problem.lifted_size) > 2**13

    def _listed(self) -> Way:
        if self._product is None:
            self._check_listable()
            kind = Evaluation if self.problem.form is None else Product
            self._product = kind(self.problem)
        return self._product

    def _check_listable(self) -> None:
        """Refuse groups too large to list, and say which closed forms they have."""
        for part in self.problem.parts:
            try:
                if part.whole and ENUMERATION_LIMIT < part.order < inf:
                    part.group.elements()
            except ValueError as error:
                group, none = part.group, np.zeros((0, self.problem.lifted_size))
                known = {
                    "BestFit of kernels that grow with <x, z> or fall with |x - z|": (
                        group.aligned(none)
                    ),
                    "BestFit of such kernels by matching": group.as_assignment(),
                    "Average(Polynomial(...)) and Average(Linear())": (
                        group.mean_powers(none, none, 1)
                    ),
                    "Average(Gaussian(...))": group.log_mean_exponential(none, none),
                    "Average(Laplacian(...))": group.log_mean_laplacian(none, none),
                }
                forms = "; ".join(words for words, found in known.items() if found is not None)
                kind = "largest value" if self.problem.reduction.extreme else "mean"
                raise ParameterError(
                    f"{error}. The {kind} of this kernel over it has no closed form; "
                    + (f"one is known for {forms}" if forms else "none is known")
                ) from None


class _Output:
    """Where blocks of results go: into NumPy's arrays in place, or beside each other."""

    def __init__(self, results: list[Array] | None, reduction: Reduction, xp: Any):
        self._results, self._reduction, self._xp = results, reduction, xp
        self._blocks: dict[tuple[int, int], list[Any]] = {}
        self._needed = not reduction.extreme  # whether the smallest value ever matters

    def put(self, rows: Any, columns: slice, parts: list[Any], begun: bool) -> None:
        merge, xp = self._reduction.merge, self._xp
        if len(parts) > 1 and parts[1] is None:  # any will do
            parts = [parts[0], parts[0]]
        elif len(parts) > 1:
            self._needed = True
        if self._results is None:
            key = columns.start, rows.start
            if begun:
                pairs = zip(self._blocks[key], parts, strict=True)
                parts = [merge(a, b, i, xp) for i, (a, b) in enumerate(pairs)]
            self._blocks[key] = parts
            return
        for i, (result, part) in enumerate(zip(self._results, parts, strict=True)):
            if begun:
                part = merge(result[rows, columns], part, i)
            result[rows, columns] = part

    def arrays(self) -> list[Any]:
        """The outputs; smallest values only where they ever mattered."""
        if self._results is not None:
            return self._results if self._needed else self._results[:1]
        by_columns: dict[int, list[list[Any]]] = {}
        for (start, _), parts in sorted(self._blocks.items()):
            by_columns.setdefault(start, []).append(parts)
        columns = [
            [joined(self._xp, list(parts)) for parts in zip(*blocks, strict=True)]
            for blocks in by_columns.values()
        ]
        found = [joined(self._xp, list(parts), 1) for parts in zip(*columns, strict=True)]
        return found if self._needed else found[:1]


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
    return (1, d, 1) if grid is None or prod(grid) != d else grid


Run = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


@contextmanager
def _runner(threads: int, verbose: int) -> Iterator[Run]:
    """What applies a function to arguments: in turn, or in threads with one BLAS thread each."""
    if threads == 1 and not verbose:
        yield map
        return
    with (
        tqdm(desc="orbits", unit=" blocks", disable=not verbose) as progress,
        threadpool_limits(1 if threads > 1 else None, "blas"),
        Parallel(threads, prefer="threads", require="sharedmem") as pool,
    ):

        def run(function: Callable[[Any], Any], arguments: Iterable[Any]) -> Iterable[Any]:
            def counted(argument: Any) -> Any:
                found = function(argument)
                progress.update()
                return found

            every = list(arguments)
            if len(every) < 2 or threads == 1:
                return map(counted, every)
            found: list[Any] = pool(delayed(counted)(argument) for argument in every)
            return found

        yield run


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
