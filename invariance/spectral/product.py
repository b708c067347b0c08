"""`Product`: eigenfunctions of a product of manifolds are products of eigenfunctions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..groups import Group
from .base import Basis, Eigenspace

__all__ = ["Product"]


class Product(Basis):
    """The product of manifolds; a point is the concatenation of one point a factor.

    Eigenvalues add up. Equal sums are one eigenspace, whichever factors they come from.

    Parameters
    ----------
    factors : list of Basis
        Their own ``degree`` is not used.
    degree : float, optional
        Keep the eigenspaces with eigenvalue up to this.

    Examples
    --------
    >>> from invariance.spectral import Circle, Sphere
    >>> basis = Product([Sphere(3), Circle()], degree=4)
    >>> basis.eigenvalues_
    array([0., 1., 2., 3., 4.])
    >>> basis.dimensions_
    array([1, 2, 3, 6, 2])
    """

    def __init__(self, factors: list[Basis], degree: float | None = None):
        self.factors = factors
        self.degree = degree

    @property
    def n_features(self) -> int:
        return sum(f.n_features for f in self.factors)

    @property
    def manifold_dimension(self) -> int:
        return sum(f.manifold_dimension for f in self.factors)

    @property
    def volume(self) -> float:
        return prod(f.volume for f in self.factors)

    def _blocks(self, limit: float) -> list[tuple[float, list[tuple[int, ...]]]]:
        """Eigenvalues up to ``limit``, each with the tuples of factor eigenspaces it comes from."""
        spectra = []
        for factor in self.factors:
            values = []
            for space in factor.spectrum():
                if space.eigenvalue > limit * (1 + 1e-9) + 1e-9:
                    break
                values.append(space.eigenvalue)
            spectra.append(values)
        sums = sorted(
            (sum(values[k] for values, k in zip(spectra, chosen, strict=True)), chosen)
            for chosen in product(*(range(len(values)) for values in spectra))
        )
        merged: list[tuple[float, list[tuple[int, ...]]]] = []
        for total, chosen in sums:
            if total > limit * (1 + 1e-9) + 1e-9:
                break
            if merged and total - merged[-1][0] <= 1e-9 * max(1, total):
                merged[-1][1].append(chosen)
            else:
                merged.append((total, [chosen]))
        return merged

    def _dimension(self, chosen: tuple[int, ...], factors: list[Basis]) -> int:
        spaces = [f.eigenspaces_[k] for f, k in zip(factors, chosen, strict=True)]
        return prod(s.dimension for s in spaces)

    def _cut(self, limit: float) -> list[Basis]:
        """The factors, each truncated at the eigenvalue limit."""
        cut = []
        for factor in self.factors:
            label = None
            for space in factor.spectrum():
                if space.eigenvalue > limit * (1 + 1e-9) + 1e-9:
                    break
                label = space.label
            cut.append(clone(factor).truncate(degree=label))
        return cut

    def spectrum(self) -> Iterator[Eigenspace]:
        done, limit = -1.0, max(1.0, self._first_gap())
        while True:
            factors = self._cut(limit)
            dimensions = [f.dimensions_ for f in factors]
            for value, tuples in self._blocks(limit):
                if value > done + 1e-9 * max(1, value):
                    size = sum(
                        prod(int(d[k]) for d, k in zip(dimensions, chosen, strict=True))
                        for chosen in tuples
                    )
                    yield Eigenspace(value, value, size)
            done, limit = limit * (1 + 1e-9) + 1e-9, 2 * limit

    def _first_gap(self) -> float:
        gaps = []
        for factor in self.factors:
            spectrum = factor.spectrum()
            next(spectrum)
            gaps.append(next(spectrum).eigenvalue)
        return max(gaps)

    def counting(self, eigenvalues: ArrayLike) -> NDArray:
        values = np.asarray(eigenvalues, dtype=float)
        spaces = self.truncate(degree=float(max(values.max(), 0))).eigenspaces_
        levels = np.array([s.eigenvalue for s in spaces])
        totals = np.concatenate([[0], np.cumsum([s.dimension for s in spaces])])
        return totals[np.searchsorted(levels, values * (1 + 1e-9) + 1e-9, side="right")]

    def sample(self, n_samples: int, random_state=None) -> NDArray:
        rng = check_random_state(random_state)
        return np.concatenate([f.sample(n_samples, rng) for f in self.factors], axis=1)

    def _split(self, X: NDArray) -> list[NDArray]:
        edges = np.cumsum([0] + [f.n_features for f in self.factors])
        return [X[:, a:b] for a, b in pairwise(edges)]

    def check_points(self, X: ArrayLike) -> NDArray:
        X = super().check_points(X)
        for factor, part in zip(self.factors, self._split(X), strict=True):
            factor.check_points(part)
        return X

    def _tuples(self) -> list[list[tuple[int, ...]]]:
        return [tuples for _, tuples in self._blocks(float(self.degree))]

    def frame(self, k: int) -> sparse.csr_array:
        factors = self._cut(float(self.degree))
        blocks = []
        for chosen in self._tuples()[k]:
            block = sparse.csr_array(np.ones((1, 1)))
            for factor, j in zip(factors, chosen, strict=True):
                block = sparse.kron(block, factor.frame(j), format="csr")
            blocks.append(block)
        return sparse.csr_array(sparse.block_diag(blocks, format="csr"))

    def _frames(self, X: NDArray, wanted: list[NDArray]) -> list[NDArray]:
        factors = self._cut(float(self.degree))
        tables = []
        for factor, part in zip(factors, self._split(X), strict=True):
            everything = [np.arange(factor.frame(j).shape[1]) for j in range(len(factor.labels_))]
            tables.append(factor._frames(part, everything))
        parts = []
        for rows, tuples in zip(wanted, self._tuples(), strict=True):
            values = [self._outer(tables, chosen) for chosen in tuples]
            parts.append(np.concatenate(values)[rows])
        return parts

    @staticmethod
    def _outer(tables: list[list[NDArray]], chosen: tuple[int, ...]) -> NDArray:
        values = tables[0][chosen[0]]
        for table, j in zip(tables[1:], chosen[1:], strict=True):
            values = (values[:, None] * table[j][None]).reshape(-1, values.shape[1])
        return values

    def _frame_cost(self, wanted: list[NDArray]) -> int:
        return 2 * sum(self.frame(k).shape[1] for k in range(len(wanted)))

    def isometries(self, group: Group, elements: ArrayLike) -> tuple[NDArray, NDArray]:
        edges = np.cumsum([0] + [f.n_features for f in self.factors])
        parts = [
            f.isometries(_Restriction(group, self, int(a), int(b)), elements)
            for f, (a, b) in zip(self.factors, pairwise(edges), strict=True)
        ]
        n = len(parts[0][0])
        matrices = np.zeros((n, self.n_features, self.n_features))
        for (matrix, _), (a, b) in zip(parts, pairwise(edges), strict=True):
            matrices[:, a:b, a:b] = matrix
        return matrices, np.concatenate([shift for _, shift in parts], axis=1)

    def frame_action(self, k: int, matrix: NDArray, shift: NDArray) -> sparse.csr_array:
        factors = self._cut(float(self.degree))
        edges = np.cumsum([0] + [f.n_features for f in factors])
        blocks = []
        for chosen in self._tuples()[k]:
            block = sparse.csr_array(np.ones((1, 1)))
            for factor, j, (a, b) in zip(factors, chosen, pairwise(edges), strict=True):
                action = factor.frame_action(j, matrix[a:b, a:b], shift[a:b])
                block = sparse.kron(block, sparse.csr_array(action), format="csr")
            blocks.append(block)
        return sparse.csr_array(sparse.block_diag(blocks, format="csr"))


class _Restriction:
    """A group seen on one factor's coordinates, which it must not mix with the others'."""

    def __init__(self, group: Group, whole: Product, start: int, stop: int):
        self.group, self.whole, self.start, self.stop = group, whole, start, stop
        self.n_features = stop - start

    def __repr__(self) -> str:
        return repr(self.group)

    def act(self, elements: NDArray, X: NDArray) -> NDArray:
        n, d = len(X), self.whole.n_features
        if self.group.n_features not in (None, d):
            raise ValueError(
                f"{self.group!r} acts on {self.group.n_features} coordinates, but the points of "
                f"Product have {d}"
            )
        inside = np.zeros((2 * n, d))
        inside[:, self.start : self.stop] = np.tile(X, (2, 1))
        # The second half differs from the first elsewhere only: its images here must agree.
        others = np.random.default_rng(1).uniform(-0.2, 0.2, size=(n, d))
        others[:, self.start : self.stop] = 0
        inside[n:] += others
        images = self.group.act(elements, inside)[:, :, self.start : self.stop]
        if np.abs(images[:, :n] - images[:, n:]).max() > 1e-8:
            raise ValueError(
                f"{self.group!r} does not act on the eigenfunctions of the product: it mixes the "
                "coordinates of different factors"
            )
        return images[:, :n]
