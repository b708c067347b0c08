"""`Product`: eigenfunctions of a product of manifolds are products of eigenfunctions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from itertools import islice, pairwise, product, takewhile
from math import factorial, prod
from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.linalg import block_diag
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..groups import Transformations
from ..core.parameters import Each, Flag, Has, Number, ParameterError, short, stores_parameters
from .base import Basis, Eigenspace, Maps

__all__ = ["Product"]

#: More products of eigenspaces than this are not listed: sorting them would take minutes.
PRODUCTS_LIMIT = 1_000_000


@stores_parameters
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

    factors: Annotated[
        list[Basis], Each(Has("a basis, such as Sphere(3)", "spectrum", "frame_action", "sample"))
    ]
    degree: Annotated[float | None, Number(0) | None] = None
    _: KW_ONLY
    exchangeable: Annotated[bool, Flag()] = False

    @property
    def n_features(self) -> int:
        self._check()
        return sum(f.n_features for f in self.factors)

    @property
    def manifold_dimension(self) -> int:
        return sum(f.manifold_dimension for f in self.factors)

    @property
    def volume(self) -> float:
        return prod(f.volume for f in self.factors)

    def _blocks(self, limit: float) -> list[tuple[float, list[tuple[int, ...]]]]:
        """Eigenvalues up to ``limit``, each with the tuples of factor eigenspaces it comes from."""
        self._check()
        spectra = [[space.eigenvalue for space in _below(f, limit)] for f in self.factors]
        if prod(map(len, spectra)) > PRODUCTS_LIMIT:
            raise ParameterError(
                f"{short(self)}: more than {PRODUCTS_LIMIT} products of eigenspaces lie below the "
                f"eigenvalue {limit:g}; lower degree"
            )
        merged: list[tuple[float, list[tuple[int, ...]]]] = []
        for total, chosen in sorted(
            (sum(values[k] for values, k in zip(spectra, chosen, strict=True)), chosen)
            for chosen in product(*(range(len(values)) for values in spectra))
        ):
            if total > _up_to(limit):
                break
            if merged and total - merged[-1][0] <= 1e-9 * max(1, total):
                merged[-1][1].append(chosen)
            else:
                merged.append((total, [chosen]))
        return merged

    def _cut(self, limit: float) -> list[Basis]:
        """The factors, each truncated at the eigenvalue limit."""
        return [clone(f).truncate(degree=_below(f, limit)[-1].label) for f in self.factors]

    def _spaces(self, degree: float) -> list[Eigenspace]:
        dimensions = [f.dimensions_ for f in self._cut(degree)]
        found = []
        for value, tuples in self._blocks(degree):
            sizes = [[int(d[k]) for d, k in zip(dimensions, t, strict=True)] for t in tuples]
            found.append(Eigenspace(value, value, sum(map(prod, sizes))))
        return found

    def spectrum(self) -> Iterator[Eigenspace]:
        done = -1.0
        limit = max(1.0, *(next(islice(f.spectrum(), 1, None)).eigenvalue for f in self.factors))
        while True:
            for space in self._spaces(limit):
                if space.eigenvalue > done + 1e-9 * max(1, space.eigenvalue):
                    yield space
            done, limit = _up_to(limit), 2 * limit

    def counting(self, eigenvalues: ArrayLike) -> NDArray:
        values = np.asarray(eigenvalues, dtype=float)
        spaces = self.truncate(degree=float(max(values.max(), 0))).eigenspaces_
        levels = np.array([s.eigenvalue for s in spaces])
        totals = np.concatenate([[0], np.cumsum([s.dimension for s in spaces])])
        return totals[np.searchsorted(levels, _up_to(values), side="right")]

    def sample(self, n_samples: int, random_state: Any = None) -> NDArray:
        rng = check_random_state(random_state)
        return np.concatenate([f.sample(n_samples, rng) for f in self.factors], axis=1)

    def _split(self, X: NDArray) -> list[NDArray]:
        return [X[..., place] for place in self._places_of_factors()]

    def _places_of_factors(self) -> list[slice]:
        """Where each factor's coordinates stand."""
        edges = np.cumsum([0] + [f.n_features for f in self.factors])
        return [slice(int(a), int(b)) for a, b in pairwise(edges)]

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
        chosen = self._tuples()[k]
        frames = self._of_factors(k, lambda i, j: self._factors()[i].frame(j))
        blocks = [_kron([frames[pair] for pair in enumerate(tuple_)]) for tuple_ in chosen]
        heights, widths = (
            np.cumsum(
                [0] + [prod(frames[pair].shape[axis] for pair in enumerate(t)) for t in chosen]
            )
            for axis in (0, 1)
        )
        pieces = [
            (h + r, w + c, e) for (r, c, e), h, w in zip(blocks, heights, widths, strict=False)
        ]
        return _assembled(pieces, (heights[-1], widths[-1]))

    def _of_factors(self, k: int, make: Any) -> dict[tuple[int, int], sparse.coo_array]:
        """What belongs to factor i and its eigenspace j, for all that occur, made once each."""
        pairs = sorted({pair for chosen in self._tuples()[k] for pair in enumerate(chosen)})
        return {(i, j): sparse.coo_array(make(i, j)) for i, j in pairs}

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
        parts = zip(self.factors, self._split(differences), strict=True)
        return np.concatenate([factor.same_place(part) for factor, part in parts], axis=-1)

    def exchanges(self) -> Maps:
        """The swap of the first two factors and the cycle of all, where they are exchangeable."""
        self._check()
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

    @property
    def n_orders(self) -> int:
        return factorial(len(self.factors)) if self.exchangeable else 1

    def isometries(self, group: Transformations, elements: ArrayLike) -> Maps:
        elements = np.asarray(elements)
        d, places = self.n_features, self._places_of_factors()
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
                into, out = places[i], places[j]
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
        places = self._places_of_factors()
        points = np.zeros((len(places) + 1, self.n_features))
        draw = np.random.default_rng(1)
        for point, place in zip(points[1:], places, strict=True):
            point[place] = draw.uniform(0.1, 0.2, size=place.stop - place.start)
        images = group.act(elements, points)
        moved = np.abs(images[:, 1:] - images[:, :1]) > 1e-8
        # depends[r, j, i]: what factor i becomes depends on factor j.
        depends = np.stack([moved[:, :, place].any(axis=2) for place in places], axis=2)
        if np.any(depends.sum(axis=1) != 1) or np.any(depends.sum(axis=2) != 1):
            raise ParameterError(
                f"{short(group)} does not act on the eigenfunctions of the product: it mixes the "
                "coordinates of different factors"
            )
        return depends.argmax(axis=1)

    def frame_action(self, k: int, matrix: NDArray, shift: NDArray) -> sparse.csr_array:
        places, tuples = self._places_of_factors(), self._tuples()[k]
        # Whose coordinates become those of each factor.
        source = np.array([[np.any(matrix[a, b]) for b in places] for a in places]).argmax(axis=1)

        def action(i: int, j: int) -> Any:
            into, out = places[i], places[source[i]]
            return self._factors()[i].frame_action(j, matrix[into, out], shift[into])

        actions = self._of_factors(k, action)
        sizes = [[actions[pair].shape[0] for pair in enumerate(chosen)] for chosen in tuples]
        starts = np.cumsum([0] + [prod(shape) for shape in sizes])
        where = {chosen: place for place, chosen in enumerate(tuples)}
        pieces = []
        for start, chosen in zip(starts, tuples, strict=False):
            row, column, entries = _kron([actions[pair] for pair in enumerate(chosen)])
            # Slot i of the block's columns is factor source[i] of the target.
            goal = where[tuple(np.array(chosen)[np.argsort(source)].tolist())]
            order = np.arange(prod(sizes[goal])).reshape(sizes[goal]).transpose(source).ravel()
            pieces.append((start + row, starts[goal] + order[column], entries))
        return _assembled(pieces, (starts[-1], starts[-1]))

    def frame_derivative(self, k: int, matrix: NDArray, shift: NDArray) -> sparse.csr_array:
        places = self._places_of_factors()
        if np.any(np.abs(block_diag(*[matrix[a, a] for a in places]) - matrix) > 1e-8):
            raise ParameterError(
                "the continuous group does not act on the eigenfunctions of the product: it mixes "
                "the coordinates of different factors"
            )

        def slope(i: int, j: int) -> Any:
            a = places[i]
            return self._factors()[i].frame_derivative(j, matrix[a, a], shift[a])

        slopes = self._of_factors(k, slope)
        still = {pair: sparse.eye_array(m.shape[0], format="coo") for pair, m in slopes.items()}
        pieces, start = [], 0
        for chosen in self._tuples()[k]:
            pairs = list(enumerate(chosen))
            for turned in pairs:
                parts = [slopes[pair] if pair == turned else still[pair] for pair in pairs]
                row, column, entries = _kron(parts)
                pieces.append((start + row, start + column, entries))
            start += prod(still[pair].shape[0] for pair in pairs)
        return _assembled(pieces, (start, start))


#: Rows, columns and entries of a sparse array.
_Piece: TypeAlias = tuple[NDArray, NDArray, NDArray]


def _kron(parts: list[sparse.coo_array]) -> _Piece:
    """A Kronecker product; SciPy's takes a hundred times as long for small arrays."""
    rows = columns = np.zeros(1, dtype=np.int64)
    entries = np.ones(1)
    for part in parts:
        rows = np.add.outer(rows * part.shape[0], part.row).ravel()
        columns = np.add.outer(columns * part.shape[1], part.col).ravel()
        entries = np.multiply.outer(entries, part.data).ravel()
    return rows, columns, entries


def _assembled(pieces: list[_Piece], shape: tuple[int, int]) -> sparse.csr_array:
    rows, columns, entries = (np.concatenate(part) for part in zip(*pieces, strict=True))
    return sparse.csr_array((entries, (rows, columns)), (int(shape[0]), int(shape[1])))


def _up_to(limit: Any) -> Any:
    """A little above an eigenvalue: sums of eigenvalues are right up to rounding."""
    return limit * (1 + 1e-9) + 1e-9


def _below(factor: Basis, limit: float) -> list[Eigenspace]:
    found = []
    for space in takewhile(lambda s: s.eigenvalue <= _up_to(limit), factor.spectrum()):
        found.append(space)
        factor._check_number(len(found), limit)
    return found


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
