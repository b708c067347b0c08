r"""`Average`: the mean of a base kernel over the transformations of its arguments.

With elements g_i and weights w_i,

.. math:: K(x, z) = \sum_{i, j} w_i w_j \, k_0(g_i x, g_j z).

`Average._gram` takes one of two paths: one sum over the orbits of the second argument
(`OrbitProducts`), where the transformations preserve the base kernel; or both sums (`_both_sides`).
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from functools import cache, lru_cache
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import is_foreign, namespace, numpy_only
from ..core.config import block_bytes_of
from ..core.parameters import Flag, OneOf, Positive, stores_parameters
from ..groups import Transformations
from ..orbits import OrbitProducts, Reduction, WeightedMean, form_of, row_blocks
from ..orbits.nodes import (
    are_given,
    enough_nodes,
    fastest_pairs,
    has_nodes,
    most_nodes,
    moving_norms,
)
from ..orbits.way import in_tiles, joined, warn
from .base import of_products, preserved, root_of_diagonal, whole_derivatives
from .orbit import OrbitKernel

Array = NDArray[Any]

_MEAN = WeightedMean()
#: What a mean of a kernel's values may lose, relative to these.
_ROUNDING = 1e-12


@stores_parameters
class Average(OrbitKernel):
    r"""The average of a base kernel over the transformations of its arguments.

    With elements g_i and weights w_i (Mroueh et al. 2015, eq. 1; Raj et al. 2017, eq. 3),

    .. math:: K(x, z) = \sum_{i, j} w_i w_j \, k_0(g_i x, g_j z),

    which is invariant, K(gx, g'z) = K(x, z), when the g_i run through a whole group. Where the
    transformations preserve the base kernel the double sum is a single one over relative elements,
    computed by correlation for shifts, in closed form for sign changes, ... (see `explain`).

    Parameters
    ----------
    base : Kernel
        Sums and products are evaluated for every transformation, which is slower:
        ``ConstantKernel(2.0) * Average(RBF(), group)`` is the faster way to scale one.
    group : Transformations
    n_transforms : int or None
        How many elements to draw from the group's measure; None takes its quadrature rule: all
        elements of a finite set, and the trapezoidal rule for rotations by any angle.
    side : {"auto", "both", "second", "first"}
        Which arguments are transformed. "second" transforms z alone (the average-fit kernel of
        Liu et al. 2022, section 2.3); "auto" is "both".
    tolerance : float
        For an infinite group: nodes are doubled until the kernel of the points of which most moves
        changes by no more than this, relative to its largest value, or a warning tells the error.
        Nodes that the group was given are kept, and looked at once. Gaussian kernels over turns of
        one frequency (`PlaneRotations`, say) need no nodes.
    normalize : bool
        Divide by sqrt(K(x, x) K(z, z)): points whose orbits are spread out count as others do.
    block_bytes : int or None, bound on temporary arrays; None is the configured one
    n_jobs : int or None, threads; the result does not depend on their number
    verbose : int, 1 shows progress
    random_state : int
        Seed for ``n_transforms``. An integer, since the elements are drawn anew at every call.

    Notes
    -----
    Raises a ParameterError for an infinite group that has no quadrature rule, without
    ``n_transforms``; for points, base kernel and group of different shapes.

    Positive definite where the base kernel is, over a group, and by ``side="both"`` over any
    elements. A mean over relative elements of a set that is no group, or by a quadrature rule whose
    density is not uniform, is so up to the rule's error: eigenvalues may be negative by as much.

    Examples
    --------
    >>> from invariance.groups import CyclicShifts
    >>> from invariance.kernels import Gaussian
    >>> K = Average(Gaussian(gamma=0.1), CyclicShifts(4))
    >>> x, z = [[1.0, 2.0, 3.0, 4.0]], [[0.0, 1.0, 0.0, 2.0]]
    >>> bool(abs(K(x, z) - K([[4.0, 1.0, 2.0, 3.0]], z)) < 1e-12)
    True
    """

    _: KW_ONLY
    side: Annotated[str, OneOf("auto", "both", "second", "first")] = "auto"
    tolerance: Annotated[float, Positive()] = 1e-4
    normalize: Annotated[bool, Flag()] = False

    def _gram(self, X: Any, Y: Any, plain: bool = False) -> Any:
        same, other = Y is None or Y is X, X if Y is None else Y
        orbits, one_side = self._sums(X, other)
        orbits = orbits.at(other)
        if one_side:
            (gram,) = orbits.reduce(X, _MEAN, symmetric=same and self.side == "auto")
        elif is_foreign(X):
            numpy_only(type(self).__name__, "take side='second', or a whole group", X, Y)
        else:
            way = orbits.ways(self._as_factors(orbits, X), _MEAN)[0]
            n, m = len(X), len(other)
            orbits.announce(len(orbits.elements) * way.operations(n, m), way, n, m)
            gram = _both_sides(orbits, X, same)
        return self._normalized(gram, X, other) if self.normalize > plain else gram

    def _gram_arrays(self, xp: Any, X: Any, Y: Any) -> Any:
        return self._gram(X, Y)

    def _diag(self, X: Array) -> Array:
        return np.ones(len(X), X.dtype) if self.normalize else super()._diag(X)

    def _normalized(self, gram: Any, X: Any, Y: Any) -> Any:
        """Divided by the roots of the means of each point with itself, by blocks of points."""
        xp = namespace(X)
        diagonal = np.diagonal if xp is np else xp.linalg.diagonal

        def own(A: Any) -> Any:
            blocks = (A[some, :] for some in row_blocks(A.shape[0], 1, 16))
            values = joined(xp, [diagonal(self._gram(a, None, plain=True)) for a in blocks])
            return root_of_diagonal(type(self).__name__, values, self._rounding(A))

        left = own(X)
        return gram / left[:, None] / (left if Y is X else own(Y))

    def _rounding(self, X: Any) -> Any:
        """What a mean that is zero may come to where values of both signs are summed."""
        form = form_of(self.base, (1, X.shape[1], 1))
        if is_foreign(X) or (form is not None and form.distance):
            return 0.0
        sizes = np.abs(np.asarray(self.base.diag(X), dtype=float))
        return 16 * float(np.finfo(X.dtype).eps) * sizes

    # -- which sums ------------------------------------------------------------------------------

    def _sums(self, X: Any, Y: Any) -> tuple[OrbitProducts, bool]:
        """The orbits to reduce over, of any second points, and whether one sum does."""
        memory = self._cache_for(X.shape[1])
        group = self.group
        if "nodes" not in memory:
            memory["nodes"] = self.n_transforms is None and has_nodes(group)
        if memory["nodes"]:
            group = self._enough_nodes(X, Y, memory)
        if group is not self.group:
            return self._sums_over(group)
        if "sums" not in memory:
            memory["sums"] = self._sums_over(group)
        sums: tuple[OrbitProducts, bool] = memory["sums"]
        return sums

    def _sums_over(self, group: Transformations) -> tuple[OrbitProducts, bool]:
        elements, weights = self.elements(), None
        if self.side in ("first", "second"):
            return self._orbits(elements=elements, side=self.side, group=group), True
        if self.side == "auto" and elements is None and preserved(self.base, self.group):
            if group.one_sided:
                return self._orbits(group=group), True
            rule = group.relative_rule()
            if rule is not None:
                return self._orbits(elements=rule[0], weights=rule[1], group=group), True
        if elements is None:
            elements, weights = group.quadrature()
        return self._orbits(elements=elements, weights=weights, group=group), False

    def _enough_nodes(self, X: Any, Y: Any, memory: dict[str, Any]) -> Transformations:
        """A finite rule of an infinite group, or the group if its mean needs no nodes.

        Nodes that were given are kept, and looked at again for points of which more moves than
        before; a warning tells, once, if they are too coarse.
        """
        group, owner = self.group, type(self).__name__
        given = are_given(group)
        if not given and self._is_exact(X, Y):
            return group
        pairs = fastest_pairs(group, X, Y, owner)
        one, two = pairs.one, pairs.two
        norms = np.stack([moving_norms(group, A, owner).max(axis=1) for A in (one, two)])
        if given and np.all(norms <= memory.get("norms", -1.0)):
            return group

        def mean(group: Transformations) -> Array:
            orbits, one_side = self._sums_over(group)
            orbits = orbits.at(two)
            return orbits.reduce(one, _MEAN)[0] if one_side else _both_sides(orbits, one, False)

        def most(rule: Transformations) -> float:
            return most_nodes(one.shape[1], squared=not self._sums_over(rule)[1])

        element = (group if given else group.refined(1)).quadrature()[0][:1]
        moved = [np.reshape(group.act(element, A), (len(A), -1)) for A in (one, two)]
        base: Any = getattr(self.base, "_gram", self.base)
        n_one, n_two = pairs.n_given
        rounding = _ROUNDING * float(np.abs(base(moved[0][:n_one], moved[1][:n_two])).max())
        rule = enough_nodes(
            group,
            mean,
            tolerance=self.tolerance,
            most=most,
            change=lambda values, exact: pairs.change(values, exact, rounding),
        )
        # once, also while a Gaussian process is tuned
        told = memory.get("told") or self.__dict__.get("_told")
        if rule.error > self.tolerance and not (given and told):
            mend = "a smaller gamma or degree, or a wider density"
            if given:
                accepted = f"tolerance={2 * rule.error:.0e}"
                mend = f"n_nodes=None (degree=None), or accept it by {accepted}"
            warn(
                f"{owner}: {rule.group.order} nodes leave a relative error of about "
                f"{rule.error:.1e}, and eigenvalues may be negative by as much, unless "
                f"side='both'; take {mend}"
            )
            self.__dict__["_told"] = given and self._in_gaussian_process
        if given:
            memory["norms"], memory["told"] = norms, rule.error > self.tolerance
        return rule.group

    def _is_exact(self, X: Any, Y: Any) -> bool:
        """Whether the mean over the infinite group is known without nodes."""
        if self.side == "both" or not (self.side != "auto" or preserved(self.base, self.group)):
            return False
        if self.side == "auto" and not self.group.one_sided:
            return False
        return self._orbits(side=self._side()).at(Y).is_exact(X, _MEAN)

    def _side(self) -> str:
        return "first" if self.side == "first" else "second"

    # -- what else is asked ----------------------------------------------------------------------

    def _plan(self, X: Any, Y: Any) -> tuple[OrbitProducts, Reduction, int, bool]:
        orbits, one_side = self._sums(X, Y)
        times = 1 if one_side else len(orbits.elements)
        return orbits, _MEAN, times, one_side and self.side == "auto"

    def _as_factors(self, orbits: OrbitProducts, X: Array) -> Array:
        if orbits.elements is None or orbits.group.keeps_shape or self.side in ("first", "second"):
            return X
        return np.reshape(orbits.group.act(orbits.elements[:1], X), (len(X), -1))

    def _gradient(self, X: Array) -> Array:
        orbits, one_side = self._sums(X, X)
        functions: Any = self._derivatives(X.shape[1])
        orbits = orbits.at(X)
        simple = one_side and functions is not None and not self.normalize
        if not simple or orbits.ways(X, _MEAN)[0].name == "closed form":
            return whole_derivatives(self, X)
        return of_products(orbits, functions, symmetric=self.side == "auto")


def _both_sides(orbits: OrbitProducts, X: Array, same: bool) -> Array:
    r"""Kernel means :math:`\sum_{i, j} w_i w_j k(g_i x, g_j z)` of all pairs, shape (n, m).

    The orbits of X are unrolled, a block of points at a time, against pieces of the others.
    """
    Y, elements, dtype = orbits.Z, orbits.elements, np.result_type(X, orbits.Z)
    n, m, r = len(X), len(Y), len(elements)
    weights = np.full(r, 1 / r) if orbits.weights is None else orbits.weights
    budget, step = block_bytes_of(orbits.block_bytes), -(-m // min(4, -(-m // 64))) if same else m
    block = max(1, int(budget / 4 // (dtype.itemsize * r * (2 * X.shape[1] + step))))
    sides = (min(block, step),) * 2 if same else (block, m)
    most = 1 + budget // -(-m // sides[1])

    @cache
    def piece(start: int, stop: int) -> OrbitProducts:
        return orbits.at(Y[start:stop], keep=True, block_bytes=most)

    @lru_cache(1)
    def unrolled(start: int, stop: int) -> Array:
        moved = orbits.group.act(elements, X[start:stop])
        return np.reshape(moved, (r * (stop - start), -1))

    def tile(rows: slice, columns: slice) -> Array:
        own = unrolled(rows.start, rows.stop)
        (part,) = piece(columns.start, columns.stop).reduce(own, _MEAN)
        return np.tensordot(weights.astype(part.dtype), part.reshape(r, -1, part.shape[1]), axes=1)

    return in_tiles(tile, (n, m), sides, dtype, symmetric=same)
