"""Pairs of points that lie far from the origin, for kernels of distances.

`numerics.centred` subtracts a point that the group fixes. `far_pairs` returns the pairs that still
lose digits; they are computed from differences. `numerics` explains why this is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.messages import warn
from .numerics import half_norms, lost
from .plan import can_list
from .reductions import Reduction

if TYPE_CHECKING:
    from .orbit_products import OrbitProducts

Array = NDArray[Any]

#: Smaller values of a kernel that decays are zero, whatever the rounding.
_ZERO = 1e-16


@dataclass(frozen=True)
class FarPairs:
    """Pairs of points whose squared distances lose digits, and an engine that computes them."""

    exact: OrbitProducts
    rows: Array
    columns: Array
    #: Relative error of the values that products give.
    error: float
    #: Whether all pairs are to be computed by `exact`.
    is_everything: bool
    #: Whether small values belong to points that are far from each other.
    decays: bool
    #: Function that maps points to representatives of their orbits, if these are compared.
    aligned: Callable[..., Any] | None

    def all_values(self, X: Array, reduction: Reduction, symmetric: bool) -> list[Array]:
        """Return the results for all pairs."""
        return self.exact.reduce(self.points(X), reduction, symmetric=symmetric)

    def replace(self, results: list[Array], X: Array, reduction: Reduction) -> None:
        """Recompute, in place, the values of pairs that lost digits."""
        X = self.points(X)
        rows = self.rows
        if self.error < 1 and self.decays:
            block = np.abs(results[0][np.ix_(rows, self.columns)])
            i, j = np.nonzero(block > _ZERO)
            if 4 * len(i) < block.size:
                for column in np.unique(j):
                    columns = self.columns[column : column + 1]
                    self._put(results, X, reduction, rows[i[j == column]], columns)
                return
        self._put(results, X, reduction, rows, self.columns)

    def points(self, X: Array) -> Array:
        """Return points as `exact` takes them."""
        return X if self.aligned is None else self.aligned(X)

    def _put(
        self, results: list[Array], X: Array, reduction: Reduction, rows: Array, columns: Array
    ) -> None:
        orbits = self.exact.at(self.exact.Z[columns])
        parts = orbits.reduce(X[rows], reduction)
        for result, part in zip(results, parts, strict=True):
            result[np.ix_(rows, columns)] = part


def far_pairs(
    orbits: OrbitProducts, form: Any, X: Array, templates: Array, reduction: Reduction
) -> FarPairs | None:
    """Return the pairs of centred points that lose digits, or None.

    If these cannot be computed from differences, a warning states the error.
    """
    group = orbits.group
    X_halves = half_norms(X.astype(float))
    template_halves = half_norms(templates.astype(float))
    if not group.unitary:  # Transformed templates may be as far away as any point of X.
        template_halves = np.full(len(templates), X_halves.max())
    rows, columns, error = lost(form, X_halves, template_halves)
    if not error:
        return None
    aligned = None
    if not can_list(group, orbits.elements):
        aligned = _representatives(orbits, templates.shape[1], reduction)
        if aligned is None:
            _warn_of_lost_digits(orbits, error)
            return None
    exact = replace(
        orbits,
        Z=templates if aligned is None else aligned(templates),
        group=group if aligned is None else None,
        method="differences",
        side="second",
        keep=False,
        planner=None,  # type: ignore[arg-type]
    )
    covers_all = len(rows) == len(X) and len(columns) == len(templates)
    decaying = form.rate is not None and form.rate > 0
    return FarPairs(
        exact=exact,
        rows=rows,
        columns=columns,
        error=error,
        is_everything=covers_all and (error >= 1 or form.rate is None),
        decays=decaying and (reduction.plain_mean or reduction.plain_maximum),
        aligned=aligned,
    )


def _representatives(orbits: OrbitProducts, d: int, reduction: Reduction) -> Any:
    """The group's `aligned`, if aligned points are as near as their orbits, or None."""
    group = orbits.group
    if not reduction.extreme or orbits.elements is not None or not group.unitary:
        return None
    if group.aligned(np.zeros((0, d))) is None:
        return None
    return group.aligned


def _warn_of_lost_digits(orbits: OrbitProducts, error: float) -> None:
    warn(
        f"{orbits.owner}: points lie so far from the origin that squared distances lose "
        f"digits, and values are wrong by about {min(error, 1.0):.0e}: {orbits.group!r} "
        "fixes no point that could be subtracted; centre the data in a way that suits the "
        "problem, or take a smaller gamma or n_transforms=..."
    )
