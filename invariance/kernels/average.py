r"""`Average`: the mean of a base kernel over the transformations of its arguments.

With elements g_i and weights w_i,

.. math:: K(x, z) = \sum_{i, j} w_i w_j \, k_0(g_i x, g_j z).

`Average` takes one of two paths. If the transformations preserve the base kernel, one sum over the
orbits of the second argument is enough (`OrbitProducts`). Otherwise both sums are evaluated
(`_both_sides`). If a composition ends with a group that preserves the base kernel, only the parts
before this group transform the first argument.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from functools import cache, lru_cache
from math import inf
from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import detached, is_foreign, like, namespace, on_host
from ..core.config import block_bytes_of
from ..core.messages import warn
from ..core.parameter_state import one_call
from ..core.parameters import Flag, OneOf, Positive, stores_parameters
from ..groups import Transformations
from ..orbits import OrbitProducts, Reduction, WeightedMean, form_of, row_blocks
from ..orbits.blocks import in_tiles
from ..orbits.nodes import (
    Pairs,
    Rule,
    are_given,
    enough_nodes,
    fastest_pairs,
    has_nodes,
    most_nodes,
    moving_norms,
)
from ..orbits.plan import WeightedSet, composed
from ..orbits.ways.tensor_action import Maps
from .base import preserved, root_of_diagonal
from .derivatives import gram_and_derivatives
from .orbit import OrbitKernel

Array = NDArray[Any]

#: An engine, and the transformations of the first argument; None leaves it as it is.
_Sums: TypeAlias = tuple[OrbitProducts, WeightedSet | None]

_MEAN = WeightedMean()
#: Rounding error of a mean of kernel values, relative to the largest of them.
_ROUNDING = 1e-12


@stores_parameters
class Average(OrbitKernel):
    r"""The average of a base kernel over the transformations of its arguments.

    With elements g_i and weights w_i (Mroueh et al. 2015, eq. 1; Raj et al. 2017, eq. 3),

    .. math:: K(x, z) = \sum_{i, j} w_i w_j \, k_0(g_i x, g_j z),

    which is invariant, K(gx, g'z) = K(x, z), when the g_i run through a whole group. If the
    transformations preserve the base kernel, the double sum is a single sum over relative elements,
    computed by correlation for shifts, in closed form for sign changes, ... (see `explain`).

    Parameters
    ----------
    base : Kernel
        Sums and products are evaluated for every transformation, which is slower:
        ``ConstantKernel(2.0) * Average(RBF(), group)`` is the faster way to scale one.
    group : Transformations
    n_transforms : int or None
        Number of elements to draw from the group's measure. None takes its quadrature rule: all
        elements of a finite set, and the trapezoidal rule for rotations by any angle.
    side : {"auto", "both", "second", "first"}
        Which arguments are transformed. "second" transforms z alone (the average-fit kernel of
        Liu et al. 2022, section 2.3); "auto" is "both". If one sum is enough, "auto" transforms
        the smaller set of points.
    tolerance : float
        For an infinite group: nodes are doubled until the kernel of the points that move farthest
        changes by no more than this, relative to its largest value, or a warning states the error.
        If the group has a fixed number of nodes, these are used, and their error is checked once.
        Gaussian kernels over turns of one frequency (`PlaneRotations`, say) need no nodes.
    normalize : bool
        Divide by sqrt(K(x, x) K(z, z)), so that points with spread-out orbits have full weight.
    block_bytes : int or None, bound on temporary arrays; None is the configured one
    n_jobs : int or None, threads; the result does not depend on their number
    verbose : int, 1 shows progress
    random_state : int
        Seed for ``n_transforms``. An integer, since the elements are drawn anew at every call.

    Notes
    -----
    Raises a ParameterError if an infinite group has no quadrature rule and ``n_transforms`` is
    None, or if points, base kernel and group have different shapes.

    If the base kernel is positive definite, so is its average over a group, and with
    ``side="both"`` its average over any elements. A mean over relative elements of a set that is
    not a group, or by a quadrature rule with a density that is not uniform, is positive definite up
    to the rule's error: eigenvalues may be negative by as much.

    PyTorch's gradients pass through both arguments, also with ``normalize``, if the elements can be
    listed and are linear maps, or if the mean has a closed form for tensors.

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

    def _gram(self, X: Any, Y: Any) -> Any:
        gram = self._mean(X, Y)
        if not self.normalize:
            return gram
        if Y is None:
            return self._normalized(gram, X, X)
        return self._normalized(gram, X, Y)

    def _mean(self, X: Any, Y: Any) -> Any:
        """Return the matrix of means, before it is normalized."""
        templates = X if Y is None else Y
        is_gram = templates is X
        orbits, first_side = self._sums(X, templates)
        orbits = orbits.at(templates)
        if first_side is None:
            symmetric = is_gram and self.side == "auto"
            (gram,) = orbits.reduce(X, _MEAN, symmetric=symmetric)
            return gram
        if is_foreign(X):
            return _both_sides_of_arrays(orbits, first_side, X)
        n_points = len(X)
        n_templates = len(templates)
        cheapest = orbits.ranked(self._as_factors(orbits, X), _MEAN)[0]
        operations = first_side.order * cheapest.operations(n_points, n_templates)
        orbits.announce(operations, cheapest, n_points, n_templates)
        return _both_sides(orbits, first_side, X, is_gram)

    def _gram_arrays(self, xp: Any, X: Any, Y: Any) -> Any:
        return self._gram(X, Y)

    def _diag(self, X: Array) -> Any:
        if self.normalize:
            return np.ones(len(X), X.dtype)
        return super()._diag(X)

    def _normalized(self, gram: Any, X: Any, Y: Any) -> Any:
        """Divide each value by the roots of K(x, x) and K(z, z)."""
        X_norms = self._norms(X)
        Y_norms = X_norms if Y is X else self._norms(Y)
        if is_foreign(gram):  # PyTorch's gradients need a new tensor.
            return gram / X_norms[:, None] / Y_norms
        gram /= X_norms[:, None]
        gram /= Y_norms
        return gram

    def _norms(self, X: Any) -> Any:
        """Return the roots of K(x, x), computed in blocks of points."""
        xp = namespace(X)
        diagonal = np.diagonal if xp is np else xp.linalg.diagonal
        blocks = []
        for rows in row_blocks(X.shape[0], 1, 16):
            gram = self._mean(X[rows, :], None)
            blocks.append(diagonal(gram))
        concatenate = np.concatenate if xp is np else xp.concat
        values = concatenate(blocks)
        return root_of_diagonal(type(self).__name__, values, self._rounding(X))

    def _rounding(self, X: Any) -> Any:
        """Return the largest value that rounding may leave of a mean that is zero.

        Rounding matters only if values of both signs cancel, which distances rule out.
        """
        form = form_of(self.base, (1, X.shape[1], 1))
        if form is not None and form.distance:
            return 0.0
        points = on_host(detached(X), type(self).__name__) if is_foreign(X) else X
        magnitudes = np.abs(np.asarray(self.base.diag(points), dtype=float))
        rounding = 16 * float(np.finfo(points.dtype).eps) * magnitudes
        return like(rounding, X) if is_foreign(X) else rounding

    # -- which sums ------------------------------------------------------------------------------

    def _sums(self, X: Any, Y: Any) -> _Sums:
        """Return the engine, without points, and the transformations of the first argument.

        These are None if one sum over the group is enough.
        """
        cache = self._memory
        needs_nodes = ("needs nodes", X.shape[1])
        if needs_nodes not in cache:
            self._check_features(X.shape[1])
            cache[needs_nodes] = self.n_transforms is None and has_nodes(self.group)
        if cache[needs_nodes]:
            rule = self._enough_nodes(X, Y, cache)
            if rule is not self.group:
                return self._sums_over(rule)
        if "sums" not in cache:
            cache["sums"] = self._sums_over(self.group)
        sums: _Sums = cache["sums"]
        return sums

    def _sums_over(self, group: Transformations) -> _Sums:
        """Return the result of `_sums` for a finite rule of the group, or for the group itself."""
        elements = self.elements()
        if self.side in ("first", "second"):
            return self._orbits(elements=elements, side=self.side, group=group), None
        if self.side == "auto" and elements is None:
            before = parts_before(self.base, group)
            if before == []:
                return self._orbits(group=group, side="either"), None
            relative_rule = group.relative_rule()
            if relative_rule is not None and preserved(self.base, self.group):
                elements, weights = relative_rule
                return self._orbits(elements=elements, weights=weights, group=group), None
            if before is not None:
                return self._orbits(group=group), composed([WeightedSet(part) for part in before])
        if elements is not None:
            return self._orbits(elements=elements, group=group), WeightedSet(group, elements)
        elements, weights = group.quadrature()
        orbits = self._orbits(elements=elements, weights=weights, group=group)
        return orbits, WeightedSet(group, elements, weights)

    def _enough_nodes(self, X: Any, Y: Any, cache: dict[Any, Any]) -> Transformations:
        """Return a finite rule of an infinite group, or the group if its mean needs no nodes.

        If the user fixed the nodes, they are used as they are. Their error is estimated again only
        for points that move farther than before, and a warning states it once.
        """
        group = self.group
        owner = type(self).__name__
        fixed = are_given(group)
        if not fixed and self._is_exact(X, Y):
            return group
        pairs = fastest_pairs(group, X, Y, owner)
        norms = np.stack(
            [
                moving_norms(group, pairs.one, owner).max(axis=1),
                moving_norms(group, pairs.two, owner).max(axis=1),
            ]
        )
        norms_key = ("norms", one_call.differentiates)
        if fixed and np.all(norms <= cache.get(norms_key, -1.0)):
            return group
        rounding = _ROUNDING * self._largest_value(pairs)

        def mean(rule: Transformations) -> Array:
            orbits, first_side = self._sums_over(rule)
            orbits = orbits.at(pairs.two)
            if first_side is None:
                values: Array = orbits.reduce(pairs.one, _MEAN)[0]
                return values
            return _both_sides(orbits, first_side, pairs.one, False)

        def node_limit(rule: Transformations) -> float:
            _, first_side = self._sums_over(rule)
            n_features = pairs.one.shape[1]
            if first_side is not None and first_side.order == rule.order:
                return most_nodes(n_features, squared=True)
            return most_nodes(n_features)

        def change(values: Array, exact: Array) -> float:
            return pairs.change(values, exact, rounding)

        rule = enough_nodes(group, mean, tolerance=self.tolerance, most=node_limit, change=change)
        # A user's own nodes are reported once for each setting of the parameters, and not for those
        # that a Gaussian process only tries.
        silent = fixed and (cache.get("reported", False) or one_call.differentiates)
        if rule.error > self.tolerance and not silent:
            self._warn_of_nodes(rule, fixed)
            cache["reported"] = True
        if fixed:
            cache[norms_key] = norms
        return rule.group

    def _largest_value(self, pairs: Pairs) -> float:
        """Return the largest absolute value of the base kernel between transformed points.

        One element of the group is enough: only the size of the values is needed.
        """
        rule = self.group if are_given(self.group) else self.group.refined(1)
        elements, _ = rule.quadrature()
        n_one, n_two = pairs.n_given
        X = _unrolled(self.group, elements[:1], pairs.one)
        Y = _unrolled(self.group, elements[:1], pairs.two)
        base: Any = getattr(self.base, "_gram", self.base)
        values = base(X[:n_one], Y[:n_two])
        return float(np.abs(values).max())

    def _warn_of_nodes(self, rule: Rule, fixed: bool) -> None:
        """Warn that the nodes leave an error, and name a remedy."""
        remedy = "a smaller gamma or degree of the base kernel, more nodes, or a wider density"
        if fixed:
            tolerance = f"tolerance={2 * rule.error:.0e}"
            remedy = f"n_nodes=None (degree=None), or accept it by {tolerance}"
        warn(
            f"{type(self).__name__}: {rule.group.order} nodes leave a relative error of about "
            f"{rule.error:.1e}, and eigenvalues may be negative by as much, unless "
            f"side='both'; take {remedy}"
        )

    def _is_exact(self, X: Any, Y: Any) -> bool:
        """Whether the mean over the infinite group can be computed without nodes."""
        side = self.side
        if side == "both":
            return False
        if side == "auto":
            before = parts_before(self.base, self.group)
            if before is None or any(part.order == inf for part in before):
                return False
            side = "second"  # Sums over the orbits of the second argument are exact or not.
        return self._orbits(side=side).at(Y).is_exact(X, _MEAN)

    # -- plans and derivatives -------------------------------------------------------------------

    def _plan(self, X: Any, Y: Any) -> tuple[OrbitProducts, Reduction, int, bool]:
        orbits, first_side = self._sums(X, Y)
        if first_side is not None:
            # One reduction for each element that transforms the first argument.
            return orbits, _MEAN, int(first_side.order), False
        return orbits, _MEAN, 1, self.side == "auto"

    def _as_factors(self, orbits: OrbitProducts, X: Array) -> Array:
        only_templates_move = orbits.elements is None or self.side in ("first", "second")
        if only_templates_move or orbits.group.keeps_shape:
            return X
        return _unrolled(orbits.group, orbits.elements[:1], X)

    def _gram_and_gradient(self, X: Array) -> tuple[Array, Array]:
        """Return the Gram matrix and its derivatives, in one pass over the group if it can be."""
        points = X.astype(float)
        orbits, first_side = self._sums(points, points)
        functions = self._with_derivatives(X.shape[1])
        if functions is None or first_side is not None or self.normalize:
            return super()._gram_and_gradient(X)
        orbits = orbits.at(points)
        cheapest = orbits.ranked(points, _MEAN)[0]
        if cheapest.name == "closed form":
            return super()._gram_and_gradient(X)
        symmetric = self.side == "auto"
        n_parameters = len(self.theta)
        gram, gradient = gram_and_derivatives(orbits, functions, n_parameters, symmetric=symmetric)
        return gram.astype(X.dtype, copy=False), gradient


def _unrolled(group: Transformations, elements: Array, X: Array) -> Array:
    """Return the transformed points as rows, one element after the other."""
    transformed = group.act(elements, X)
    return np.reshape(transformed, (len(elements) * len(X), -1))


def parts_before(base: Any, group: Transformations) -> list[Transformations] | None:
    """Return the parts of a group that transform the first argument as well, those of a mean.

    The last parts of a composition transform the second argument alone if they are together a group
    that preserves the base kernel. The result is empty if that is the whole group, and None if
    there are no such parts.
    """
    parts = group.chain()
    if len(parts) == 1:
        return [] if preserved(base, group) and group.one_sided else None
    for n_before in range(len(parts)):
        last: Any = composed([WeightedSet(part) for part in parts[n_before:]])
        if preserved(base, last.group) and last.group.one_sided:
            return list(parts[:n_before])
    return None


def _both_sides_of_arrays(orbits: OrbitProducts, first_side: WeightedSet, X: Any) -> Any:
    """Return the means of `_both_sides` for arrays of another library; gradients pass."""
    xp = namespace(X)
    elements, weights = first_side.rule
    total: Any = 0.0
    for element, weight in zip(elements, weights, strict=True):
        maps = Maps.of(first_side.group, element[None], X.shape[1])
        (means,) = orbits.reduce(maps.on_all(X)[0, :, :], _MEAN)
        total = total + float(weight) * means
    return xp.astype(total, X.dtype)


def _both_sides(orbits: OrbitProducts, first_side: WeightedSet, X: Array, symmetric: bool) -> Array:
    r"""Return the means :math:`\sum_{i, j} w_i w_j k(g_i x, g_j z)` of all pairs, shape (n, m).

    A block of points of X is transformed at a time. `OrbitProducts` sums over the orbits of z, and
    `tile` sums over the orbits of x.
    """
    Z = orbits.Z
    elements, weights = first_side.rule
    dtype = np.result_type(X, Z)
    n_elements = len(elements)
    n_templates = len(Z)

    budget = block_bytes_of(orbits.block_bytes)
    bytes_per_number = dtype.itemsize * n_elements
    sides = _tile_sides(n_templates, X.shape[1], bytes_per_number, budget, symmetric=symmetric)
    n_pieces = -(-n_templates // sides[1])
    bytes_per_piece = 1 + budget // n_pieces

    @cache
    def piece(start: int, stop: int) -> OrbitProducts:
        return orbits.at(Z[start:stop], keep=True, block_bytes=bytes_per_piece)

    @lru_cache(1)
    def orbits_of_rows(start: int, stop: int) -> Array:
        return _unrolled(first_side.group, elements, X[start:stop])

    def tile(rows: slice, columns: slice) -> Array:
        transformed = orbits_of_rows(rows.start, rows.stop)
        (means,) = piece(columns.start, columns.stop).reduce(transformed, _MEAN)
        means = means.reshape(n_elements, -1, means.shape[1])
        return np.tensordot(weights.astype(means.dtype), means, axes=1)

    shape = (len(X), n_templates)
    return in_tiles(tile, shape, sides, dtype, symmetric=symmetric)


def _tile_sides(
    n_templates: int, n_features: int, bytes_per_number: int, budget: int, *, symmetric: bool
) -> tuple[int, int]:
    """Return rows and columns of a tile of `_both_sides`.

    A quarter of the bound on memory holds transformed points and their values against the
    templates. ``bytes_per_number`` are the bytes of a number for each element of the group.
    """
    columns = n_templates
    if symmetric:
        n_tiles = min(4, -(-n_templates // 64))
        columns = -(-n_templates // n_tiles)
    bytes_per_point = bytes_per_number * (2 * n_features + columns)
    rows = max(1, int(budget / 4 // bytes_per_point))
    if symmetric:  # The tiles of a symmetric matrix are squares.
        side = min(rows, columns)
        return side, side
    return rows, columns
