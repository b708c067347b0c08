"""`Wreath`: parts that are permuted, with a group acting on each part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from functools import reduce
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.parameters import Has, ParameterError, Whole, stores_parameters
from ..groups.base import FiniteGroup
from ..groups.products import FINITE, Factors, matched, pairs, refuse_weights, side_by_side

Array = NDArray[Any]


@stores_parameters
class Wreath(Factors):
    """The wreath product: ``inner`` acts on each of m parts, ``outer`` permutes the parts.

    Two teams of five players with three numbers each are a row of 30 numbers. If the order within
    a team and the order of the teams are arbitrary, their symmetry is
    ``Wreath(Permutations(5), Permutations(2), block=3)``. An element (a; p) consists of p in
    ``outer`` and one a_j in ``inner`` for each part, flattened, side by side. It transforms part
    p(k) by a_p(k) and puts it at position k.

    Parameters
    ----------
    inner : FiniteGroup
    outer : FiniteGroup
        Permutations of m numbers.
    block : int
        Length of the blocks of numbers that ``inner`` permutes.

    Examples
    --------
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
        refuse_weights("Wreath", self.inner, self.outer)
        positions = np.sort(self._sources(self.outer.generators()), axis=1)
        if np.any(positions != np.arange(positions.shape[1])):
            raise ParameterError(f"Wreath: outer={self.outer!r} does more than permute parts")

    def _sources(self, elements: Array) -> Array:
        """Return the number of the part that each position receives, shape (r, m)."""
        n_parts = int(self.outer.n_features or 0)
        numbers = np.arange(float(n_parts))[None]
        return self.outer.act(elements, numbers)[:, 0].astype(int)

    @property
    def shape(self) -> tuple[int, ...]:
        n_parts = self.outer.n_features or 0
        n_blocks = self.inner.n_features or 0
        return (n_parts * n_blocks * self.block,)

    def elements(self) -> Array:
        """Return all elements, the last part varying fastest."""
        self._check_listable()
        inner = [self.inner.elements()] * int(self.outer.n_features or 0)
        return reduce(pairs, inner, self.outer.elements())

    def compose(self, first: ArrayLike, second: ArrayLike) -> Array:
        first, second = matched(first, second)
        first_outer, *first_inner = self.split(first)
        second_outer, *second_inner = self.split(second)
        # Part j of x is at position positions[:, j] of second x.
        positions = np.argsort(self._sources(second_outer), axis=1)
        moved_first_inner = np.stack(first_inner)[positions.T, np.arange(len(positions))]
        inner = []
        for after, before in zip(moved_first_inner, second_inner, strict=True):
            inner.append(self.inner.compose(after, before))
        return side_by_side([self.outer.compose(first_outer, second_outer), *inner])

    def inverse(self, elements: ArrayLike) -> Array:
        outer, *inner = self.split(elements)
        sources = self._sources(outer)
        moved_inner = np.stack(inner)[sources.T, np.arange(len(sources))]
        inverses = [self.inner.inverse(part) for part in moved_inner]
        return side_by_side([self.outer.inverse(outer), *inverses])

    def _act(self, elements: Array, X: Array) -> Array:
        outer, *inner = self.split(elements)
        n_parts = len(inner)
        n_elements = len(outer)
        # Each element of the inner group that occurs acts on each part once.
        distinct, index = np.unique(np.concatenate(inner), axis=0, return_inverse=True)
        parts = X.reshape(len(X), n_parts, -1, self.block).swapaxes(2, 3)
        images = self.inner.act(distinct, parts.reshape(-1, parts.shape[3]))
        # Shape (distinct elements, parts, points, blocks, numbers of a block).
        table = images.reshape(len(distinct), *parts.shape).transpose(0, 2, 1, 4, 3)
        sources = self._sources(outer)
        inner_index = np.take_along_axis(index.reshape(n_parts, n_elements).T, sources, axis=1)
        transformed = table[inner_index, sources].swapaxes(1, 2)
        return np.asarray(transformed.reshape(n_elements, len(X), -1))
