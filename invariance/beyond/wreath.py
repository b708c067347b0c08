"""`Wreath`: parts that are permuted, with a group acting on each part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from functools import reduce
from math import prod
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.parameters import Has, ParameterError, Whole, stores_parameters
from ..groups.base import FiniteGroup
from ..groups.products import FINITE, Factors, matched, pairs, side_by_side


@stores_parameters
class Wreath(Factors):
    """The wreath product: ``inner`` acts on each of m parts, ``outer`` permutes the parts.

    Two teams of five players with three numbers each are a row of 30 numbers, whose order within
    a team and of the teams means nothing: ``Wreath(Permutations(5), Permutations(2), block=3)``.
    An element is one of ``outer`` and one of ``inner`` for each part, flattened, side by side:
    (a; p) sends part p(k), moved by a_p(k), to place k.

    Parameters
    ----------
    inner : FiniteGroup
    outer : FiniteGroup
        Permutations of m numbers.
    block : int
        Numbers that ``inner`` moves together.

    >>> from invariance.groups import Permutations
    >>> Wreath(Permutations(5), Permutations(2), block=3).order
    28800
    """

    inner: Annotated[FiniteGroup, FINITE]
    outer: Annotated[FiniteGroup, Has("permutations, such as Permutations(2)", "generators")]
    _: KW_ONLY
    block: Annotated[int, Whole(1)] = 1

    def _parts(self) -> Sequence[Any]:
        self._check()
        return [self.outer, *[self.inner] * int(self.outer.n_features or 0)]

    def _check_together(self) -> None:
        if None in (self.inner.n_features, self.outer.n_features):
            raise ParameterError(f"{self!r} needs groups of a fixed number of coordinates")
        places = np.sort(self._places(self.outer.generators()), axis=1)
        if np.any(places != np.arange(places.shape[1])):
            raise ParameterError(f"Wreath: outer={self.outer!r} does more than permute parts")

    def _places(self, elements: NDArray[Any]) -> NDArray[Any]:
        """Which part each place gets, shape (r, m)."""
        m = int(self.outer.n_features or 0)
        return self.outer.act(elements, np.arange(float(m))[None])[:, 0].astype(int)

    @property
    def shape(self) -> tuple[int, ...]:
        return (prod((self.outer.n_features or 0, self.inner.n_features or 0, self.block)),)

    def elements(self) -> NDArray[Any]:
        """All, the last part varying fastest."""
        self._check_listable()
        inner = [self.inner.elements()] * int(self.outer.n_features or 0)
        return reduce(pairs, inner, self.outer.elements())

    def compose(self, first: ArrayLike, second: ArrayLike) -> NDArray[Any]:
        (p, *a), (q, *b) = map(self.split, matched(first, second))
        back = np.argsort(self._places(q), axis=1)  # part j of x is at this place of q x
        there = np.stack(a)[back.T, np.arange(len(p))]
        inner = [self.inner.compose(*pair) for pair in zip(there, b, strict=True)]
        return side_by_side([self.outer.compose(p, q), *inner])

    def inverse(self, elements: ArrayLike) -> NDArray[Any]:
        p, *a = self.split(elements)
        moved = np.stack(a)[self._places(p).T, np.arange(len(p))]
        return side_by_side([self.outer.inverse(p), *map(self.inner.inverse, moved)])

    def _act(self, elements: NDArray[Any], X: NDArray[Any]) -> NDArray[Any]:
        outer, *inner = self.split(elements)
        m, r, n = len(inner), len(outer), len(X)
        # Each element of inner that occurs moves each part once.
        used, which = np.unique(np.concatenate(inner), axis=0, return_inverse=True)
        lines = X.reshape(n, m, -1, self.block).swapaxes(2, 3)
        moved = self.inner.act(used, lines.reshape(-1, lines.shape[3]))
        table = moved.reshape(len(used), *lines.shape).transpose(0, 2, 1, 4, 3)
        places = self._places(outer)
        chosen = np.take_along_axis(which.reshape(m, r).T, places, axis=1)
        return np.asarray(table[chosen, places].swapaxes(1, 2).reshape(r, n, -1))
