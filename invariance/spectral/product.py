"""`Product`: eigenfunctions of a product of manifolds are products of eigenfunctions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..groups import Transformations
from ..parameters import Flag, Has, Kind, Number, ParameterError, check_parameters, short
from .base import Basis, Eigenspace, Maps

__all__ = ["Product"]

#: More products of eigenspaces than this are not listed: sorting them would take minutes.
PRODUCTS_LIMIT = 1_000_000


class _Factors(Kind):
    """Lists of bases, at least one."""

    words = "a list of at least one basis, such as [Sphere(3), Circle()]"
    _one = Has("a basis", "spectrum", "frame_action", "sample")

    def accepts(self, value: Any) -> bool:
        return (
            isinstance(value, (list, tuple)) and bool(value) and all(map(self._one.accepts, value))
        )


class Product(Basis):
    """The product of manifolds; a point is the concatenation of one point a factor.

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

    Examples
    --------
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

    _parameters = {
        "factors": _Factors(),
        "degree": Number(0) | None,
        "exchangeable": Flag(),
    }

    def __init__(
        self, factors: list[Basis], degree: float | None = None, *, exchangeable: bool = False
    ):
        self.factors = factors
        self.degree = degree
        self.exchangeable = exchangeable

    @property
    def n_features(self) -> int:
        check_parameters(self, ["factors"])
        return sum(f.n_features for f in self.factors)

    @property
    def manifold_dimension(self) -> int:
        return sum(f.manifold_dimension for f in self.factors)

    @property
    def volume(self) -> float:
        return prod(f.volume for f in self.factors)

    def _blocks(self, limit: float) -> list[tuple[float, list[tuple[int, ...]]]]:
        """Eigenvalues up to ``limit``, each with the tuples of factor eigenspaces it comes from."""
        check_parameters(self, ["factors"])
        spectra = []
        for factor in self.factors:
            values = []
            for space in factor.spectrum():
                if space.eigenvalue > limit * (1 + 1e-9) + 1e-9:
                    break
                values.append(space.eigenvalue)
                factor._check_number(len(values), limit)
            spectra.append(values)
        if prod(map(len, spectra)) > PRODUCTS_LIMIT:
            raise ParameterError(
                f"{short(self)}: more than {PRODUCTS_LIMIT} products of eigenspaces lie below the "
                f"eigenvalue {limit:g}; lower degree"
            )
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

    def _spaces(self, degree: float) -> list[Eigenspace]:
        blocks = self._blocks(degree)
        dimensions = [f.dimensions_ for f in self._cut(degree)]
        return [
            Eigenspace(
                value,
                value,
                sum(
                    prod(int(d[k]) for d, k in zip(dimensions, chosen, strict=True))
                    for chosen in tuples
                ),
            )
            for value, tuples in blocks
        ]

    def spectrum(self) -> Iterator[Eigenspace]:
        done, limit = -1.0, max(1.0, self._first_gap())
        while True:
            for space in self._spaces(limit):
                if space.eigenvalue > done + 1e-9 * max(1, space.eigenvalue):
                    yield space
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

    def sample(self, n_samples: int, random_state: Any = None) -> NDArray:
        rng = check_random_state(random_state)
        return np.concatenate([f.sample(n_samples, rng) for f in self.factors], axis=1)

    def _split(self, X: NDArray) -> list[NDArray]:
        edges = np.cumsum([0] + [f.n_features for f in self.factors])
        return [X[:, a:b] for a, b in pairwise(edges)]

    def check_points(self, X: ArrayLike) -> NDArray:
        points = super().check_points(X)
        for factor, part in zip(self.factors, self._split(points), strict=True):
            factor.check_points(part)
        return points

    def outside(self, X: NDArray) -> str | None:
        parts = zip(self.factors, self._split(X), strict=True)
        return next((found for f, part in parts if (found := f.outside(part))), None)

    def check_accuracy(self) -> None:
        for factor in self._factors():
            factor.check_accuracy()

    def _tuples(self) -> list[list[tuple[int, ...]]]:
        """The tuples of factor eigenspaces that make up each kept eigenspace."""
        spaces = len(self.eigenspaces_)  # checks the parameters
        return self._kept(
            "tuples", lambda: [t for _, t in self._blocks(float(self.degree or 0))][:spaces]
        )

    def _factors(self) -> list[Basis]:
        """The factors, truncated as far as the kept eigenspaces need them."""
        return self._kept("factors", lambda: self._cut(float(self.degree or 0)))

    def frame(self, k: int) -> sparse.csr_array:
        blocks = []
        for chosen in self._tuples()[k]:
            block = sparse.csr_array(np.ones((1, 1)))
            for factor, j in zip(self._factors(), chosen, strict=True):
                block = sparse.kron(block, factor.frame(j), format="csr")
            blocks.append(block)
        return sparse.csr_array(sparse.block_diag(blocks, format="csr"))

    def _places(self) -> NDArray:
        """Which frame function of each factor makes each of ours, shape (frame size, factors)."""
        edges = [f.frame_edges() for f in self._factors()]
        found = []
        for tuples in self._tuples():
            for chosen in tuples:
                ranges = [np.arange(e[j], e[j + 1]) for e, j in zip(edges, chosen, strict=True)]
                grid = np.meshgrid(*ranges, indexing="ij")
                found.append(np.stack([axis.ravel() for axis in grid], axis=1))
        return np.concatenate(found)

    def _values(self, X: NDArray, chosen: NDArray) -> NDArray:
        places = self._kept("places", self._places)[chosen]
        values = np.ones((len(chosen), len(X)))
        parts = zip(self._factors(), self._split(X), places.T, strict=True)
        for i, (factor, part, place) in enumerate(parts):
            used, where = np.unique(place, return_inverse=True)
            table = factor._values(part, used)
            if i == 0:
                values = table[where]
            elif len(used) > 1 or used[0] > 0:
                values *= table[where]
        return values

    def _values_cost(self, n_chosen: int) -> int:
        return 2 * n_chosen + sum(f._values_cost(int(f.frame_edges()[-1])) for f in self._factors())

    def same_place(self, differences: NDArray) -> NDArray:
        edges = self._edges()
        parts = [
            f.same_place(differences[..., a:b])
            for f, (a, b) in zip(self.factors, pairwise(edges), strict=True)
        ]
        return np.concatenate(parts, axis=-1)

    def _edges(self) -> NDArray:
        return np.cumsum([0] + [f.n_features for f in self.factors])

    def exchanges(self) -> Maps:
        """The swap of the first two factors and the cycle of all, where they are exchangeable."""
        check_parameters(self)
        number, d = len(self.factors), self.n_features
        if not self.exchangeable or number < 2:
            return super().exchanges()
        if not all(_equal(f, self.factors[0]) for f in self.factors):
            raise ParameterError(
                f"only equal factors can be exchanged, got {short(self.factors)}; drop "
                "exchangeable=True or make the factors equal"
            )
        swap, cycle = np.arange(number), np.roll(np.arange(number), -1)
        swap[:2] = 1, 0
        orders = [swap, cycle][: number - 1]
        block = np.eye(d // number)
        matrices = np.stack([np.kron(np.eye(number)[order], block) for order in orders])
        return matrices, np.zeros((len(orders), d))

    def isometries(self, group: Transformations, elements: ArrayLike) -> Maps:
        elements = np.asarray(elements)
        d, edges = self.n_features, self._edges()
        if group.n_features not in (None, d):
            raise ParameterError(
                f"{short(group)} acts on {group.n_features} coordinates, but the points of "
                f"{short(self)} have {d}"
            )
        matrices, shifts = np.zeros((len(elements), d, d)), np.zeros((len(elements), d))
        sources = self._sources(group, elements)
        for source in np.unique(sources, axis=0):
            alike = np.flatnonzero(np.all(sources == source, axis=1))
            for i, j in enumerate(source):
                into, out = slice(edges[i], edges[i + 1]), slice(edges[j], edges[j + 1])
                if i != j and not _equal(self.factors[i], self.factors[j]):
                    raise ParameterError(
                        f"{short(group)} does not act on the eigenfunctions of the product: it "
                        f"exchanges factor {j}, {short(self.factors[j])}, with factor {i}, "
                        f"{short(self.factors[i])}"
                    )
                seen: Any = _Restriction(group, d, out, into)
                matrix, shift = self.factors[i].isometries(seen, elements[alike])
                matrices[alike, into, out] = matrix
                shifts[alike, into] = shift
        return matrices, shifts

    def _sources(self, group: Transformations, elements: NDArray) -> NDArray:
        """From which factor each factor's new coordinates come, shape (r, factors)."""
        edges, number = self._edges(), len(self.factors)
        points = np.zeros((number + 1, self.n_features))
        draw = np.random.default_rng(1)
        for j, (a, b) in enumerate(pairwise(edges)):
            points[j + 1, a:b] = draw.uniform(0.1, 0.2, size=b - a)
        images = group.act(elements, points)
        moved = np.abs(images[:, 1:] - images[:, :1]) > 1e-8
        # depends[r, j, i]: what factor i becomes depends on factor j.
        depends = np.stack([moved[:, :, a:b].any(axis=2) for a, b in pairwise(edges)], axis=2)
        if np.any(depends.sum(axis=1) != 1) or np.any(depends.sum(axis=2) != 1):
            raise ParameterError(
                f"{short(group)} does not act on the eigenfunctions of the product: it mixes the "
                "coordinates of different factors"
            )
        return depends.argmax(axis=1)

    def frame_action(self, k: int, matrix: NDArray, shift: NDArray) -> sparse.csr_array:
        edges, factors = self._edges(), self._factors()
        tuples = self._tuples()[k]
        number = len(factors)
        filled = np.array(
            [[np.any(matrix[a:b, c:d]) for c, d in pairwise(edges)] for a, b in pairwise(edges)]
        )
        source = filled.argmax(axis=1)
        sizes = [
            [f.frame(j).shape[1] for f, j in zip(factors, chosen, strict=True)] for chosen in tuples
        ]
        starts = np.cumsum([0] + [prod(shape) for shape in sizes])
        where = {chosen: place for place, chosen in enumerate(tuples)}
        rows, columns, entries = [], [], []
        for place, chosen in enumerate(tuples):
            block = sparse.csr_array(np.ones((1, 1)))
            target = [0] * number
            for i, (factor, j) in enumerate(zip(factors, chosen, strict=True)):
                a, b = edges[i], edges[i + 1]
                c, d = edges[source[i]], edges[source[i] + 1]
                action = factor.frame_action(j, matrix[a:b, c:d], shift[a:b])
                block = sparse.kron(block, sparse.csr_array(action), format="csr")
                target[source[i]] = j
            # Slot i of the block's columns is factor source[i] of the target.
            goal = where[tuple(target)]
            order = np.arange(prod(sizes[goal])).reshape(sizes[goal]).transpose(source).ravel()
            found = block.tocoo()
            rows.append(starts[place] + found.row)
            columns.append(starts[goal] + order[found.col])
            entries.append(found.data)
        indices = np.concatenate(rows), np.concatenate(columns)
        return sparse.csr_array((np.concatenate(entries), indices), (starts[-1], starts[-1]))

    def frame_derivative(self, k: int, matrix: NDArray, shift: NDArray) -> sparse.csr_array:
        edges, factors = self._edges(), self._factors()
        inside = np.zeros_like(matrix)
        for a, b in pairwise(edges):
            inside[a:b, a:b] = matrix[a:b, a:b]
        if np.any(np.abs(inside - matrix) > 1e-8):
            raise ParameterError(
                "the continuous group does not act on the eigenfunctions of the product: it mixes "
                "the coordinates of different factors"
            )
        blocks = []
        for chosen in self._tuples()[k]:
            sizes = [f.frame(j).shape[1] for f, j in zip(factors, chosen, strict=True)]
            total = sparse.csr_array((prod(sizes), prod(sizes)))
            for i, (factor, j) in enumerate(zip(factors, chosen, strict=True)):
                a, b = edges[i], edges[i + 1]
                slope = factor.frame_derivative(j, matrix[a:b, a:b], shift[a:b])
                left = sparse.eye_array(prod(sizes[:i]), format="csr")
                right = sparse.eye_array(prod(sizes[i + 1 :]), format="csr")
                total = total + sparse.kron(sparse.kron(left, slope), right, format="csr")
            blocks.append(total)
        return sparse.csr_array(sparse.block_diag(blocks, format="csr"))


def _equal(one: Basis, two: Basis) -> bool:
    """Whether two factors are the same manifold; their degrees are not used."""
    return repr(one.without_degree()) == repr(two.without_degree())


class _Restriction:
    """A group seen on one factor's coordinates, and on where it moves them."""

    def __init__(self, group: Transformations, n_features: int, source: slice, target: slice):
        self.group, self.whole, self.source, self.target = group, n_features, source, target
        self.n_features = source.stop - source.start
        self.period = getattr(group, "period", None)

    def __repr__(self) -> str:
        return repr(self.group)

    def act(self, elements: NDArray, X: NDArray) -> NDArray:
        inside = np.zeros((len(X), self.whole))
        inside[:, self.source] = X
        return self.group.act(elements, inside)[:, :, self.target]
