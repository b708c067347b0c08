"""`Product`: eigenfunctions of a product of manifolds are products of eigenfunctions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY
from itertools import islice, pairwise, product, takewhile
from math import prod
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.linalg import block_diag
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..core import parameters as kinds
from ..core.parameters import ParameterError, check_parameters, short, stores_parameters
from ..groups import Transformations
from .base import BASIS, Basis, Eigenspace, Maps, computed, listed

#: More products of eigenspaces than this are not listed: sorting them would take minutes.
PRODUCTS_LIMIT = 1_000_000


@stores_parameters
class Product(Basis):
    """The product of manifolds; a point is the concatenation of one point per factor.

    Eigenvalues add up. Equal sums are one eigenspace, whichever factors they come from.

    Parameters
    ----------
    factors : list of Basis
        Their own ``degree`` is not used.
    degree : float, optional
        Keep the eigenspaces with eigenvalue up to this.
    exchangeable : bool
        The factors are equal, and what is learnt on this basis must not depend on their order,
        as for particles that cannot be told apart: every projection onto invariants then includes
        the exchange of factors.

    >>> from invariance.spectral import Circle, Sphere
    >>> basis = Product([Sphere(3), Circle()], degree=4)
    >>> basis.eigenvalues_
    array([0., 1., 2., 3., 4.])
    >>> basis.dimensions_
    array([1, 2, 3, 6, 2])

    Four particles on a sphere, in any order, which a rotation moves together:

    >>> from invariance.groups import Rotations3D
    >>> from invariance.spectral import invariant_subspace
    >>> particles = Product([Sphere(3)] * 4, degree=6, exchangeable=True)
    >>> found = invariant_subspace(particles, Rotations3D())
    >>> particles.dimensions_, [vectors.shape[1] for vectors in found]
    (array([  1,  12,  54, 128]), [1, 0, 1, 0])
    """

    factors: Annotated[list[Basis], kinds.Each(BASIS)]
    degree: Annotated[float | None, kinds.Number(0) | None] = None
    _: KW_ONLY
    exchangeable: Annotated[bool, kinds.Flag()] = False

    @property
    def n_features(self) -> int:
        return sum(f._d for f in self.factors)

    @property
    def manifold_dimension(self) -> int:
        return sum(f.manifold_dimension for f in self.factors)

    @property
    def volume(self) -> float:
        return prod(f.volume for f in self.factors)

    def _blocks(self, limit: float) -> list[tuple[float, list[tuple[int, ...]]]]:
        """Eigenvalues up to ``limit``, each with the tuples of factor eigenspaces it comes from."""
        spectra = [[space.eigenvalue for space in _below(f, limit)] for f in self.factors]
        if prod(map(len, spectra)) > PRODUCTS_LIMIT:
            many = f"over {PRODUCTS_LIMIT} products of eigenspaces up to degree={limit:g}"
            raise ParameterError(f"{short(self)} has {many}; lower it")
        pairs = product(*map(enumerate, spectra))
        sums = ((sum(v for _, v in pair), tuple(k for k, _ in pair)) for pair in pairs)
        merged: list[tuple[float, list[tuple[int, ...]]]] = []
        for total, chosen in takewhile(lambda pair: pair[0] <= _up_to(limit), sorted(sums)):
            if merged and total - merged[-1][0] <= 1e-9 * max(1, total):
                merged[-1][1].append(chosen)
            else:
                merged.append((total, [chosen]))
        return merged

    def _spaces(self, degree: float) -> list[Eigenspace]:
        sizes = [[space.dimension for space in _below(f, degree)] for f in self.factors]

        def dimension(tuples: list[tuple[int, ...]]) -> int:
            return sum(prod(s[k] for s, k in zip(sizes, t, strict=True)) for t in tuples)

        return [Eigenspace(value, value, dimension(t)) for value, t in self._blocks(degree)]

    def spectrum(self) -> Iterator[Eigenspace]:
        check_parameters(self)
        done = -1.0
        limit = max(1.0, *(next(islice(f.spectrum(), 1, None)).eigenvalue for f in self.factors))
        while True:
            for space in self._spaces(limit):
                if space.eigenvalue > done + 1e-9 * max(1, space.eigenvalue):
                    yield space
            done, limit = _up_to(limit), 2 * limit

    @computed
    def _tuples(self) -> list[list[tuple[int, ...]]]:
        """The tuples of factor eigenspaces that make up each kept eigenspace."""
        return [t for _, t in self._blocks(self.labels_[-1])]

    @computed
    def _parts(self) -> list[Basis]:
        """The factors, truncated as far as the kept eigenspaces need them."""
        limit = self.labels_[-1]
        return [clone(f).truncate(degree=_below(f, limit)[-1].label) for f in self.factors]

    def sample(self, n_samples: int, random_state: Any = None) -> NDArray:
        rng = check_random_state(random_state)
        return np.concatenate([f.sample(n_samples, rng) for f in self.factors], axis=1)

    @computed
    def _places(self) -> list[slice]:
        """Where each factor's coordinates stand."""
        edges = np.cumsum([0] + [f._d for f in self.factors])
        return [slice(int(a), int(b)) for a, b in pairwise(edges)]

    def check_points(self, X: ArrayLike) -> NDArray:
        points = super().check_points(X)
        for factor, place in zip(self.factors, self._places, strict=True):
            factor.check_points(points[:, place])
        return points

    def outside(self, X: NDArray) -> str | None:
        parts = zip(self.factors, self._places, strict=True)
        return next((found for f, place in parts if (found := f.outside(X[:, place]))), None)

    def same_place(self, differences: NDArray) -> NDArray:
        parts = zip(self.factors, self._places, strict=True)
        return np.concatenate([f.same_place(differences[..., p]) for f, p in parts], axis=-1)

    def frame(self, k: int) -> sparse.csr_array:
        made = self._of_factors(k, lambda i, j: self._parts[i].frame(j))
        pieces, tall, wide = [], 0, 0
        for chosen in self._tuples[k]:
            block = _kron([made[pair] for pair in enumerate(chosen)])
            pieces.append((tall + block.row, wide + block.col, block.data))
            tall, wide = tall + block.shape[0], wide + block.shape[1]
        return _assembled(pieces, tall, wide)

    def _of_factors(
        self, k: int, make: Callable[[int, int], Any]
    ) -> dict[tuple[int, int], sparse.coo_array]:
        """What belongs to factor i and its eigenspace j, for all that occur, made once each."""
        pairs = sorted({pair for chosen in self._tuples[k] for pair in enumerate(chosen)})
        return {(i, j): sparse.coo_array(make(i, j)) for i, j in pairs}

    @computed
    def _origins(self) -> NDArray:
        """Which frame function of each factor makes each of ours, shape (frame size, factors)."""
        edges = [f._edges for f in self._parts]
        found = []
        for chosen in (chosen for tuples in self._tuples for chosen in tuples):
            ranges = [np.arange(e[j], e[j + 1]) for e, j in zip(edges, chosen, strict=True)]
            found.append(np.stack(np.meshgrid(*ranges, indexing="ij"), axis=-1))
        return np.concatenate([grid.reshape(-1, len(edges)) for grid in found])

    def _values(self, X: NDArray, chosen: NDArray) -> NDArray:
        values: Any = None
        origins = self._origins[chosen].T
        for factor, place, origin in zip(self._parts, self._places, origins, strict=True):
            used, where = np.unique(origin, return_inverse=True)
            if values is None:
                values = factor._values(X[:, place], used)[where]
            elif len(used) > 1 or used[0] > 0:  # the first function is constant
                values *= factor._values(X[:, place], used)[where]
        return np.asarray(values)

    def _values_cost(self, n_chosen: int) -> int:
        return 2 * n_chosen + sum(f._values_cost(int(f._edges[-1])) for f in self._parts)

    def exchanges(self) -> Maps:
        """The swap of the first two factors and the cycle of all, where they are exchangeable."""
        d, number = self._d, len(self.factors)
        if not self.exchangeable or number < 2:
            return super().exchanges()
        if not all(_equal(f, self.factors[0]) for f in self.factors):
            raise ParameterError(f"only equal factors are exchangeable, got {short(self.factors)}")
        cycle = np.roll(np.eye(number), -1, axis=0)
        swap = np.eye(number)[[1, 0, *range(2, number)]]
        found = [np.kron(order, np.eye(d // number)) for order in (swap, cycle)][: number - 1]
        return np.stack(found), np.zeros((len(found), d))

    @computed
    def _reach(self) -> float:
        # a power of two, by which matrices are divided without rounding
        return float(2.0 ** np.floor(np.log2(min(f._reach for f in self.factors))))

    def _checked(self, maps: Maps, group: Transformations) -> Maps:
        places, (matrices, shifts) = self._places, maps
        shown = f"{short(group)} does not act on the eigenfunctions of the product: it"
        sizes = [[np.abs(matrices[:, a, b]).max(axis=(1, 2)) for b in places] for a in places]
        # depends[i, j, r]: what element r makes of factor i depends on factor j.
        depends = np.array(sizes) > 1e-8
        if np.any(depends.sum(axis=0) != 1) or np.any(depends.sum(axis=1) != 1):
            raise ParameterError(f"{shown} mixes the coordinates of different factors")
        for i, j, r in np.argwhere(depends):
            if i != j and not _equal(self.factors[i], self.factors[j]):
                one, two = short(self.factors[j]), short(self.factors[i])
                raise ParameterError(f"{shown} exchanges factor {j}, {one}, with factor {i}, {two}")
            block = matrices[[r], places[i], places[j]], shifts[[r], places[i]]
            matrix, shift = self.factors[i]._checked(block, group)
            matrices[r, places[i]] = 0
            matrices[r, places[i], places[j]], shifts[r, places[i]] = matrix[0], shift[0]
        return matrices, shifts

    def frame_action(self, k: int, matrix: NDArray, shift: NDArray) -> sparse.csr_array:
        places, tuples = self._places, self._tuples[k]
        # Whose coordinates become those of each factor.
        source = np.array([[np.any(matrix[a, b]) for b in places] for a in places]).argmax(axis=1)

        def action(i: int, j: int) -> Any:
            into, out = places[i], places[source[i]]
            return self._parts[i].frame_action(j, matrix[into, out], shift[into])

        made = self._of_factors(k, action)
        sizes = [[made[pair].shape[0] for pair in enumerate(chosen)] for chosen in tuples]
        starts = np.cumsum([0] + [prod(shape) for shape in sizes])
        where = {chosen: place for place, chosen in enumerate(tuples)}
        pieces = []
        for start, chosen in zip(starts, tuples, strict=False):
            block = _kron([made[pair] for pair in enumerate(chosen)])
            # Slot i of the block's columns is factor source[i] of the target.
            goal = where[tuple(np.array(chosen)[np.argsort(source)].tolist())]
            order = np.arange(prod(sizes[goal])).reshape(sizes[goal]).transpose(source).ravel()
            pieces.append((start + block.row, starts[goal] + order[block.col], block.data))
        return _assembled(pieces, int(starts[-1]), int(starts[-1]))

    def frame_derivative(self, k: int, matrix: NDArray, shift: NDArray) -> sparse.csr_array:
        if np.any(np.abs(block_diag(*[matrix[a, a] for a in self._places]) - matrix) > 1e-8):
            raise ParameterError("the group mixes the coordinates of different factors")

        def slope(i: int, j: int) -> Any:
            a = self._places[i]
            return self._parts[i].frame_derivative(j, matrix[a, a], shift[a])

        slopes = self._of_factors(k, slope)
        still = {pair: sparse.eye_array(m.shape[0], format="coo") for pair, m in slopes.items()}
        pieces, start = [], 0
        for pairs in (list(enumerate(chosen)) for chosen in self._tuples[k]):
            for turned in pairs:
                block = _kron([(slopes if p == turned else still)[p] for p in pairs])
                pieces.append((start + block.row, start + block.col, block.data))
            start += block.shape[0]
        return _assembled(pieces, start, start)


def _assembled(
    pieces: list[tuple[NDArray, NDArray, NDArray]], tall: int, wide: int
) -> sparse.csr_array:
    rows, columns, entries = (np.concatenate(part) for part in zip(*pieces, strict=True))
    return sparse.csr_array((entries, (rows, columns)), (tall, wide))


def _kron(parts: list[sparse.coo_array]) -> sparse.coo_array:
    """A Kronecker product; SciPy's takes a hundred times as long for small arrays."""
    rows = columns = np.zeros(1, dtype=np.intp)
    entries = np.ones(1)
    for part in parts:
        rows = np.add.outer(rows * part.shape[0], part.row).ravel()
        columns = np.add.outer(columns * part.shape[1], part.col).ravel()
        entries = np.multiply.outer(entries, part.data).ravel()
    shape = prod(part.shape[0] for part in parts), prod(part.shape[1] for part in parts)
    return sparse.coo_array((entries, (rows, columns)), shape)


def _up_to(limit: Any) -> Any:
    """A little above an eigenvalue: sums of eigenvalues are right up to rounding."""
    return limit * (1 + 1e-9) + 1e-9


def _below(factor: Basis, limit: float) -> list[Eigenspace]:
    return listed(factor, limit, _up_to(limit), "eigenvalue")


def _equal(one: Basis, two: Basis) -> bool:
    """Whether two factors are the same manifold; their degrees are not used."""
    return repr(one._with_degree(None)) == repr(two._with_degree(None))
