"""`OnPoints`: transformations of a point, applied to all points of a set alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import Array, ParameterError, Whole, stores_parameters
from .base import GROUP, Transformations
from .borrowed import Borrowed, of_group

__all__ = ["OnPoints"]


@stores_parameters
class OnPoints(Borrowed):
    """Any transformations of points, acting on all points of a set alike.

    A row of m ``n_coordinates`` numbers, or a padded set (m, n_coordinates), is m points. Missing
    points, NaN, stay missing.

    Parameters
    ----------
    group : Transformations
        Of vectors of as many entries as there are ``coordinates``.
    n_coordinates : int
        Numbers that make a point, its label and weight included.
    coordinates : sequence of int or None
        Those that are moved, such as ``(1, 2, 3)`` where the first is a label; None is all.

    Examples
    --------
    >>> import numpy as np
    >>> from invariance.groups import PlaneRotations
    >>> atoms = [[6.0, 1.0, 0.0, 8.0, 0.0, 1.0]]               # a carbon and an oxygen
    >>> OnPoints(PlaneRotations(), 3, coordinates=(1, 2)).act([np.pi / 2], atoms)[0].round(6) + 0.0
    array([[ 6.,  0.,  1.,  8., -1.,  0.]])
    """

    group: Annotated[Transformations, GROUP]
    n_coordinates: Annotated[int, Whole(1)]
    _: KW_ONLY
    coordinates: Annotated[Sequence[int] | None, Array(1, whole=True, least=0) | None] = None

    def _moved(self) -> list[int]:
        if self.coordinates is None:
            return list(range(self.n_coordinates))
        return [int(c) for c in self.coordinates]

    def _check_together(self) -> None:
        moved, n = self._moved(), self.group.n_features
        if len(set(moved)) < len(moved) or max(moved) >= self.n_coordinates:
            raise ParameterError(
                f"OnPoints needs coordinates to be different ones below n_coordinates="
                f"{self.n_coordinates}, got {self.coordinates!r}"
            )
        if n not in (None, len(moved)):
            raise ParameterError(
                f"OnPoints: {self.group!r} moves {n} coordinates, but points have {len(moved)}: "
                f"n_coordinates={self.n_coordinates}, coordinates={self.coordinates!r}"
            )

    unitary = of_group("unitary")
    linear = of_group("linear")
    preserves_l1 = of_group("preserves_l1")
    is_group = of_group("is_group")
    symmetric = of_group("symmetric")
    one_sided = of_group("one_sided")

    def moves_points(self, size: int) -> list[int] | None:
        return self._moved() if size == self.n_coordinates else None

    def refined(self, factor: int) -> OnPoints | None:
        finer = self.group.refined(factor)
        if finer is None:
            return None
        return OnPoints(finer, self.n_coordinates, coordinates=self.coordinates)

    def relative_rule(self) -> tuple[NDArray[Any], NDArray[Any]] | None:
        return self.group.relative_rule()

    def _act(self, elements: NDArray[Any], X: NDArray[Any]) -> NDArray[Any]:
        if X.shape[1] % self.n_coordinates:
            raise ParameterError(
                f"{self!r} acts on rows of points of {self.n_coordinates} coordinates, but the "
                f"rows have {X.shape[1]}"
            )
        points, moved = X.reshape(-1, self.n_coordinates), self._moved()
        there = ~np.isnan(points).any(axis=1)
        result = np.repeat(points[None], len(elements), axis=0)
        places = np.ix_(np.arange(len(elements)), np.flatnonzero(there), np.array(moved))
        result[places] = self.group.act(elements, points[there][:, moved])
        return result.reshape(len(elements), *X.shape)
