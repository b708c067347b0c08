"""`OrbitProducts`: reductions of a kernel over the orbits of some points.

A call goes through four steps:

1. `numerics.centred` subtracts a point that the group fixes, if distances need it.
2. `Planner.plan` states the problem and ranks the algorithms for it by their cost.
3. `engine.reduce_in_blocks` is the loop: transform some templates, multiply, reduce.
4. `OrbitProducts._finish` applies the kernel to extreme inner products.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from math import inf, prod
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from ..core.arrays import is_foreign
from ..core.config import block_bytes_of
from ..core.messages import warn
from .blocks import Workers, mirror, workers
from .cost import Explanation, operations_done, rate, warn_long
from .engine import deserves_threads, reduce_in_blocks
from .explain import explanation
from .far import FarPairs, far_pairs
from .numerics import centred, half_norms
from .plan import Plan, Planner, Problem, Trivial
from .reductions import Reduction
from .registry import Algorithm, Prepared, array_library

Array = NDArray[Any]

#: The other side is transformed if this takes less than so many times the operations.
_WORTH_EXCHANGING = 0.8
#: The time is not estimated for fewer operations.
ESTIMATE_FROM = 1e11
_CHEAPER = "n_transforms=..., single precision, or features (OrbitFourier, OrbitNystroem)"


@dataclass(eq=False, repr=False)
class OrbitProducts:
    r"""Reductions of :math:`k(x, g z)` over g, for all pairs of points x and templates z.

    One rule holds for everything that is remembered between calls: a plan and, with ``keep``,
    prepared templates are stored under all that they depend on, which never includes the points of
    a call. So no result depends on earlier calls.

    Parameters
    ----------
    Z : ndarray of shape (m, d), the templates: landmarks, or second arguments of a kernel
    group : Transformations, or None for the trivial group
    base : kernel or None
        None takes inner products <x, g z> themselves. A kernel that has a form (`form_of`) is
        computed from inner products, another one is evaluated (its ``_gram``).
    owner : str, for messages
    elements, weights : ndarrays of shape (r, ...) and (r,), or None
        Elements to reduce over; None is the whole group, by its quadrature rule. Given elements
        weigh equally without weights.
    offsets : ndarray of shape (m,) or None
        Added to the inner products with each template, such as phases.
    side : {"second", "first", "either"}
        Whether the templates are transformed, or the points handed to `reduce`: <g x, z>. "either"
        states that both give the same, and takes the cheaper one.
    method, precision : as in `BestFit`
    algorithms : sequence of Algorithm classes, or None
        Those that are considered; None takes all that are registered.
    keep : bool
        Whether prepared templates are kept between calls if they fit into half of ``block_bytes``.
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
    algorithms: Sequence[type[Algorithm]] | None = None
    keep: bool = False
    block_bytes: int | None = None
    n_jobs: int | None = None
    verbose: int = 0
    #: Plans, which copies for other templates share; None for a planner without any.
    planner: Planner = None  # type: ignore[assignment]
    prepared: dict[Any, list[Any]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        if self.group is None:
            self.group = Trivial()
        if self.planner is None:
            self.planner = Planner(
                group=self.group,
                base=self.base,
                owner=self.owner,
                elements=self.elements,
                weights=self.weights,
                method=self.method,
                precision=self.precision,
                has_row_offsets=self.row_offsets is not None,
                considered=self.algorithms,
            )

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"prepared": {}}

    def at(self, Z: Any, **changes: Any) -> OrbitProducts:
        """Return the same reductions for other templates; ``keep`` and memory may change too."""
        # `dataclasses.replace` takes as long as the products of a few points.
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.__dict__.update(changes, Z=Z, prepared={})
        return other

    # -- the computation -------------------------------------------------------------------------

    def reduce(
        self, X: Any, reduction: Reduction, *, symmetric: bool = False, out: Sequence[Array] = ()
    ) -> list[Any]:
        """Reduce over the group for all pairs of points.

        Parameters
        ----------
        X : ndarray of shape (n, d), or an array of another library (`ways.arrays`)
        symmetric : bool
            Whether X is Z and the result is known to be symmetric: one triangle is computed.
        out : sequence of ndarrays of shape (n, m, ...), written in place; views will do

        Returns
        -------
        list of arrays of shape (n, m, ...), one for each output of the reduction; like X
        """
        if is_foreign(X):
            return array_library().reduce(self, X, reduction)
        if not self._transforms_first(X, reduction):
            results = self._reduce(X, self.Z, reduction, symmetric, list(out), False)
        else:
            # The points X are transformed and meet Z: results have the axes (Z, X).
            results = [result.swapaxes(0, 1) for result in out]
            results = self._reduce(self.Z, X, reduction, symmetric, results, True)
            results = [result.swapaxes(0, 1) for result in results]
        for target, result in zip(out, results, strict=False):
            if not np.may_share_memory(target, result):
                target[...] = result
        return list(out) or results

    def _reduce(
        self,
        X: Array,
        templates: Array,
        reduction: Reduction,
        symmetric: bool,
        results: list[Array],
        transposed: bool,
    ) -> list[Array]:
        """Reduce over the orbits of templates, for points X that are not transformed.

        Missing results are created, so that after transposing they are in C order.
        """
        dtype = np.result_type(X, templates)
        X, templates, far = self.placed(X, templates, reduction)
        if far is not None and far.is_everything:
            return far.all_values(X, reduction, symmetric)
        plan = self._plan(X, templates, reduction)
        problem = plan.problem
        algorithm = plan.ranked(X, len(templates), skip_blank=not self.keep)[0]
        X = X.astype(problem.dtype, copy=False)
        templates = templates.astype(problem.dtype, copy=False)
        reduction_of_products = reduction.to_follow(problem.form)
        n_missing = reduction_of_products.n_outputs - len(results)
        output_dtype = np.result_type(dtype, problem.dtype) if reduction.extreme else dtype
        for _ in range(n_missing):
            results.append(_empty(len(X), len(templates), reduction.tail, output_dtype, transposed))
        self._run(algorithm, X, templates, reduction_of_products, results, symmetric)
        if reduction.extreme:
            if symmetric and len(results) > 1:
                # `_finish` counts pairs, and the numbers below the diagonal are arbitrary so far.
                for result in results:
                    mirror(result)
            results = self._finish(problem, reduction, results, X, dtype)
        elif problem.folds_rate:
            self._cut_off(results)
        if far is not None:
            far.replace(results, X, reduction)
        if symmetric:
            for result in results:
                mirror(result)
        return results

    def _run(
        self,
        algorithm: Algorithm,
        X: Array,
        templates: Array,
        reduction: Reduction,
        results: list[Array],
        symmetric: bool,
    ) -> None:
        """Run the loop over blocks with this object's threads, and count its operations."""
        n = len(X)
        m = len(templates)
        operations = algorithm.operations(n, m)
        self.announce(operations, algorithm, n, m)
        n_threads = 1
        if deserves_threads(operations):
            n_threads = effective_n_jobs(self.n_jobs)
        with workers(n_threads, self.verbose) as pool:
            reduce_in_blocks(
                algorithm,
                X,
                templates,
                reduction,
                results,
                offsets=self.template_offsets,
                row_offsets=self.row_offsets,
                prepared=self._prepared_for(algorithm, templates, pool),
                symmetric=symmetric,
                pool=pool,
            )
        operations_done[algorithm.problem.dtype.name] += int(operations)

    def roles(self, X: Any, reduction: Reduction) -> tuple[Any, Any]:
        """Return the points that are not transformed, and the templates, which are."""
        if self._transforms_first(X, reduction):
            return self.Z, X
        return X, self.Z

    def _transforms_first(self, X: Any, reduction: Reduction) -> bool:
        """Whether the points X are transformed; gradients with respect to X need the templates."""
        if self.side != "either":
            return self.side == "first"
        n = X.shape[0]
        m = self.Z.shape[0]
        if n >= m or is_foreign(X):
            return False
        dtype = np.result_type(X, self.Z)
        plan = self.planner.plan(X.shape[1], self.Z.shape[1], dtype, reduction, self._bound)
        return plan.least_cost(m, n) < _WORTH_EXCHANGING * plan.least_cost(n, m)

    @property
    def _bound(self) -> int:
        return block_bytes_of(self.block_bytes)

    def placed(
        self, X: Array, templates: Array, reduction: Reduction
    ) -> tuple[Array, Array, FarPairs | None]:
        """Return points about a centre, and pairs whose distances products would get wrong."""
        outline = self.planner.outline(X.shape[1], reduction)
        form: Any = outline.form
        if not outline.may_cancel:
            return X, templates, None
        centred_points = centred(form, self.group, X, templates)
        if centred_points is None:
            return X, templates, None
        X, templates = centred_points
        return X, templates, far_pairs(self, form, X, templates, reduction)

    def _plan(self, X: Array, templates: Array, reduction: Reduction) -> Plan:
        dtype = self.planner.dtype(X, templates, reduction)
        return self.planner.plan(X.shape[1], templates.shape[1], dtype, reduction, self._bound)

    def _prepared_for(
        self, algorithm: Algorithm, templates: Array, pool: Workers
    ) -> list[Prepared] | None:
        """Return prepared templates that are kept between calls, or None if they are not."""
        if not self.keep or self.side != "second":
            return None
        problem = algorithm.problem
        if algorithm not in self.prepared:
            m = len(templates)
            fits = algorithm.prepared_bytes(m) <= problem.block_bytes / 2
            if not fits or algorithm.pieces(m) > 1:
                return None
            self.prepared[algorithm] = list(algorithm.prepare(templates, self.offsets, pool))
        return self.prepared[algorithm]

    def _finish(
        self, problem: Problem, reduction: Any, extremes: list[Array], X: Array, dtype: Any
    ) -> list[Array]:
        """Apply the kernel to extreme inner products."""
        halves = None
        if problem.has_halves:
            halves = half_norms(X.astype(float, copy=False))[:, None]
        values: list[Array]
        values, n_reversed = reduction.finish(extremes, problem.kernel_outer, halves, dtype)
        self.warn_of_reversed(n_reversed, prod(values[0].shape))
        return values

    def warn_of_reversed(self, n_reversed: int, n_pairs: int) -> None:
        """Warn if the smallest inner products gave the largest values."""
        if n_reversed:
            warn(
                f"{type(self.base).__name__} of even degree is larger at the smallest product "
                f"for {n_reversed} of {n_pairs} pairs: maximum and power do not commute there, "
                "and both extremes were followed"
            )

    def _cut_off(self, means: list[Array]) -> None:
        """Cut off means of exponentials whose exponents exceed zero by rounding."""
        largest = 1.0
        if self.weights is not None:
            largest = np.clip(self.weights, 0, None).sum()
        for mean in means:
            np.minimum(mean, largest, out=mean)

    @property
    def template_offsets(self) -> Array | None:
        """Offsets of the transformed points."""
        if self.side == "first":
            return None
        return self.offsets

    @property
    def row_offsets(self) -> Array | None:
        """Offsets of the points that are not transformed."""
        if self.side == "first":
            return self.offsets
        return None

    # -- plans and costs -------------------------------------------------------------------------

    def ranked(self, X: Array, reduction: Reduction) -> list[Algorithm]:
        """Return the algorithms for points X, the cheapest first; `reduce` takes the first one."""
        X, templates = self.roles(X, reduction)
        X, templates, _ = self.placed(X, templates, reduction)
        plan = self._plan(X, templates, reduction)
        return plan.ranked(X, len(templates), skip_blank=not self.keep)

    def is_exact(self, X: Any, reduction: Reduction) -> bool:
        """Whether `reduce` goes over all elements of a finite set, or needs no elements.

        Otherwise some elements stand for an infinite group: see `enough_nodes`.
        """
        if self.group.order < inf:
            return True
        if self.elements is not None:
            return False
        if is_foreign(X):
            return array_library().is_exact(self, X, reduction)
        return not self.ranked(X, reduction)[0].by_elements

    def explain(
        self, X: Any, reduction: Reduction, *, times: float = 1, symmetric: bool = False
    ) -> Explanation:
        """Return the algorithm that `reduce` takes for points X, with operations and seconds.

        ``times`` is the number of such reductions, ``symmetric`` as in `reduce`.
        """
        return explanation(self, X, reduction, times=times, symmetric=symmetric)

    def announce(self, operations: float, algorithm: Algorithm, n: int, m: int) -> None:
        """Warn before work that takes minutes."""
        if operations > ESTIMATE_FROM:
            algorithm.check()  # Work that will be refused is not announced.
            seconds = operations / rate(algorithm.problem.dtype.name)
            warn_long(seconds, f"{self.owner}: {n} x {m} pairs", _CHEAPER)


def _empty(n: int, m: int, tail: tuple[int, ...], dtype: Any, transposed: bool) -> Array:
    """An array of shape (n, m, ...) in C order, or one whose transpose is in C order."""
    if transposed:
        return np.empty((m, n, *tail), dtype).swapaxes(0, 1)
    return np.empty((n, m, *tail), dtype)
