"""`Product`: eigenfunctions of a product of manifolds are products of eigenfunctions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY
from itertools import islice, pairwise, product
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
from ..spectral.base import BASIS, Basis, Eigenspace, Maps, computed, listed

Array = NDArray[Any]

#: Largest number of products of eigenspaces that are listed: sorting more would take minutes.
PRODUCTS_LIMIT = 1_000_000


@stores_parameters
class Product(Basis):
    """The product of manifolds; a point is the concatenation of one point per factor.

    Eigenvalues add up. Products of eigenfunctions with equal sums form one eigenspace.

    Parameters
    ----------
    factors : list of Basis
        Their own ``degree`` is not used.
    degree : float, optional
        Keep the eigenspaces with eigenvalue up to this.
    exchangeable : bool
        Whether the factors are equal, and functions on this basis must not depend on their order,
        as for indistinguishable particles. Every projection onto invariants then includes the
        exchange of factors.

    Examples
    --------
    >>> from invariance.spectral import Circle, Sphere
    >>> basis = Product([Sphere(3), Circle()], degree=4)
    >>> basis.eigenvalues_
    array([0., 1., 2., 3., 4.])
    >>> basis.dimensions_
    array([1, 2, 3, 6, 2])

    Four indistinguishable particles on a sphere, rotated together:

    >>> from invariance.beyond import Rotations3D
    >>> from invariance.spectral import invariant_subspace
    >>> particles = Product([Sphere(3)] * 4, degree=6, exchangeable=True)
    >>> invariants = invariant_subspace(particles, Rotations3D())
    >>> particles.dimensions_, [vectors.shape[1] for vectors in invariants]
    (array([  1,  12,  54, 128]), [1, 0, 1, 0])
    """

    factors: Annotated[list[Basis], kinds.Each(BASIS)]
    degree: Annotated[float | None, kinds.Number(0) | None] = None
    _: KW_ONLY
    exchangeable: Annotated[bool, kinds.Flag()] = False

    @property
    def n_features(self) -> int:
        return sum(factor._d for factor in self.factors)

    @property
    def manifold_dimension(self) -> int:
        return sum(factor.manifold_dimension for factor in self.factors)

    @property
    def volume(self) -> float:
        return prod(factor.volume for factor in self.factors)

    def _blocks(self, limit: float) -> list[tuple[float, list[tuple[int, ...]]]]:
        """Return eigenvalues up to ``limit``, each with the tuples of its factor eigenspaces."""
        spectra = []
        for factor in self.factors:
            spectra.append([space.eigenvalue for space in _below(factor, limit)])
        if prod(map(len, spectra)) > PRODUCTS_LIMIT:
            raise ParameterError(
                f"{short(self)} has over {PRODUCTS_LIMIT} products of eigenspaces up to "
                f"degree={limit:g}; lower it"
            )
        sums = []
        for numbered in product(*map(enumerate, spectra)):
            indices = tuple(index for index, _ in numbered)
            sums.append((sum(eigenvalue for _, eigenvalue in numbered), indices))
        merged: list[tuple[float, list[tuple[int, ...]]]] = []
        for total, indices in sorted(sums):
            if total > _up_to(limit):
                break
            if merged and total - merged[-1][0] <= 1e-9 * max(1, total):
                merged[-1][1].append(indices)
            else:
                merged.append((total, [indices]))
        return merged

    def _spaces(self, degree: float) -> list[Eigenspace]:
        sizes = []
        for factor in self.factors:
            sizes.append([space.dimension for space in _below(factor, degree)])
        spaces = []
        for eigenvalue, tuples in self._blocks(degree):
            dimension = 0
            for indices in tuples:
                dimension += prod(size[k] for size, k in zip(sizes, indices, strict=True))
            spaces.append(Eigenspace(eigenvalue, eigenvalue, dimension))
        return spaces

    def spectrum(self) -> Iterator[Eigenspace]:
        check_parameters(self)
        done = -1.0
        limit = 1.0
        for factor in self.factors:
            second_space = next(islice(factor.spectrum(), 1, None))
            limit = max(limit, second_space.eigenvalue)
        while True:
            for space in self._spaces(limit):
                if space.eigenvalue > done + 1e-9 * max(1, space.eigenvalue):
                    yield space
            done = _up_to(limit)
            limit *= 2

    @computed
    def _tuples(self) -> list[list[tuple[int, ...]]]:
        """The tuples of factor eigenspaces that make up each eigenspace."""
        return [tuples for _, tuples in self._blocks(self.labels_[-1])]

    @computed
    def _parts(self) -> list[Basis]:
        """The factors, truncated to the eigenspaces that occur in products."""
        limit = self.labels_[-1]
        parts = []
        for factor in self.factors:
            last_space = _below(factor, limit)[-1]
            parts.append(clone(factor).truncate(degree=last_space.label))
        return parts

    def sample(self, n_samples: int, random_state: Any = None) -> NDArray[np.float64]:
        rng = check_random_state(random_state)
        samples = [factor.sample(n_samples, rng) for factor in self.factors]
        return np.concatenate(samples, axis=1)

    @computed
    def _places(self) -> list[slice]:
        """The columns of each factor's coordinates."""
        edges = np.cumsum([0] + [factor._d for factor in self.factors])
        return [slice(int(start), int(stop)) for start, stop in pairwise(edges)]

    def _factor_columns(self) -> Iterator[tuple[Basis, slice]]:
        """Yield each factor with the columns of its coordinates."""
        return zip(self.factors, self._places, strict=True)

    def check_points(self, X: ArrayLike) -> Array:
        points = super().check_points(X)
        for factor, columns in self._factor_columns():
            factor.check_points(points[:, columns])
        return points

    def outside(self, X: Array) -> str | None:
        for factor, columns in self._factor_columns():
            reason = factor.outside(X[:, columns])
            if reason:
                return reason
        return None

    def same_place(self, differences: Array) -> Array:
        parts = []
        for factor, columns in self._factor_columns():
            parts.append(factor.same_place(differences[..., columns]))
        return np.concatenate(parts, axis=-1)

    def frame(self, k: int) -> sparse.csr_array:
        frames = self._of_factors(k, lambda i, j: self._parts[i].frame(j))
        pieces = []
        n_rows = 0
        n_columns = 0
        for indices in self._tuples[k]:
            block = _kron([frames[pair] for pair in enumerate(indices)])
            pieces.append((n_rows + block.row, n_columns + block.col, block.data))
            n_rows += block.shape[0]
            n_columns += block.shape[1]
        return _assembled(pieces, n_rows, n_columns)

    def _of_factors(
        self, k: int, make: Callable[[int, int], Any]
    ) -> dict[tuple[int, int], sparse.coo_array]:
        """Return ``make(i, j)`` for each factor i and eigenspace j that occur in eigenspace k."""
        pairs = {pair for indices in self._tuples[k] for pair in enumerate(indices)}
        return {(i, j): sparse.coo_array(make(i, j)) for i, j in sorted(pairs)}

    @computed
    def _origins(self) -> Array:
        """Numbers of the factors' frame functions in each product, shape (frame size, factors)."""
        edges = [part._edges for part in self._parts]
        origins = []
        for tuples in self._tuples:
            for indices in tuples:
                ranges = [np.arange(e[j], e[j + 1]) for e, j in zip(edges, indices, strict=True)]
                grid = np.stack(np.meshgrid(*ranges, indexing="ij"), axis=-1)
                origins.append(grid.reshape(-1, len(edges)))
        return np.concatenate(origins)

    def _values(self, X: Array, chosen: Array) -> Array:
        values: Any = None
        origins = self._origins[chosen].T
        for part, columns, origin in zip(self._parts, self._places, origins, strict=True):
            distinct, index = np.unique(origin, return_inverse=True)
            if values is None:
                values = part._values(X[:, columns], distinct)[index]
            elif len(distinct) > 1 or distinct[0] > 0:  # the first function is constant
                values *= part._values(X[:, columns], distinct)[index]
        return np.asarray(values)

    def _values_cost(self, n_chosen: int) -> int:
        return 2 * n_chosen + sum(part._values_cost(int(part._edges[-1])) for part in self._parts)

    def exchanges(self) -> Maps:
        """Return the swap of the first two factors and the cycle of all, if exchangeable."""
        d = self._d
        n_factors = len(self.factors)
        if not self.exchangeable or n_factors < 2:
            return super().exchanges()
        if not all(_equal(factor, self.factors[0]) for factor in self.factors):
            raise ParameterError(f"only equal factors are exchangeable, got {short(self.factors)}")
        swap = np.eye(n_factors)[[1, 0, *range(2, n_factors)]]
        orders = [swap]
        if n_factors > 2:
            orders.append(np.roll(np.eye(n_factors), -1, axis=0))
        matrices = [np.kron(order, np.eye(d // n_factors)) for order in orders]
        return np.stack(matrices), np.zeros((len(matrices), d))

    @computed
    def _reach(self) -> float:
        # A power of two, by which matrices are divided without rounding.
        least_reach = min(factor._reach for factor in self.factors)
        return float(2.0 ** np.floor(np.log2(least_reach)))

    def _checked(self, maps: Maps, group: Transformations) -> Maps:
        matrices, shifts = maps
        places = self._places
        refusal = f"{short(group)} does not act on the eigenfunctions of the product: it"
        # depends[i, j, r]: after element r, factor i depends on factor j.
        n_factors = len(places)
        depends = np.empty((n_factors, n_factors, len(matrices)), bool)
        for i, rows in enumerate(places):
            for j, columns in enumerate(places):
                depends[i, j] = np.abs(matrices[:, rows, columns]).max(axis=(1, 2)) > 1e-8
        if np.any(depends.sum(axis=0) != 1) or np.any(depends.sum(axis=1) != 1):
            raise ParameterError(f"{refusal} mixes the coordinates of different factors")
        for i, j, r in np.argwhere(depends):
            target = self.factors[i]
            source = self.factors[j]
            if i != j and not _equal(target, source):
                raise ParameterError(
                    f"{refusal} exchanges factor {j}, {short(source)}, with factor {i}, "
                    f"{short(target)}"
                )
            rows = places[i]
            columns = places[j]
            block = (matrices[[r], rows, columns], shifts[[r], rows])
            checked_matrices, checked_shifts = target._checked(block, group)
            matrices[r, rows] = 0
            matrices[r, rows, columns] = checked_matrices[0]
            shifts[r, rows] = checked_shifts[0]
        return matrices, shifts

    def frame_action(self, k: int, matrix: Array, shift: Array) -> sparse.csr_array:
        places = self._places
        tuples = self._tuples[k]
        # source[i] is the factor whose coordinates become those of factor i.
        is_block = [[np.any(matrix[rows, columns]) for columns in places] for rows in places]
        source = np.array(is_block).argmax(axis=1)

        def action(i: int, j: int) -> Any:
            rows = places[i]
            columns = places[source[i]]
            return self._parts[i].frame_action(j, matrix[rows, columns], shift[rows])

        actions = self._of_factors(k, action)
        sizes = []
        for indices in tuples:
            sizes.append([actions[pair].shape[0] for pair in enumerate(indices)])
        starts = np.cumsum([0] + [prod(shape) for shape in sizes])
        position = {indices: number for number, indices in enumerate(tuples)}
        pieces = []
        for start, indices in zip(starts, tuples, strict=False):
            block = _kron([actions[pair] for pair in enumerate(indices)])
            # Slot i of the block's columns is factor source[i] of the target.
            target = position[tuple(np.array(indices)[np.argsort(source)].tolist())]
            numbers = np.arange(prod(sizes[target])).reshape(sizes[target])
            order = numbers.transpose(source).ravel()
            pieces.append((start + block.row, starts[target] + order[block.col], block.data))
        return _assembled(pieces, int(starts[-1]), int(starts[-1]))

    def frame_derivative(self, k: int, matrix: Array, shift: Array) -> sparse.csr_array:
        diagonal_blocks = [matrix[columns, columns] for columns in self._places]
        if np.any(np.abs(block_diag(*diagonal_blocks) - matrix) > 1e-8):
            raise ParameterError("the group mixes the coordinates of different factors")

        def derivative(i: int, j: int) -> Any:
            columns = self._places[i]
            return self._parts[i].frame_derivative(j, matrix[columns, columns], shift[columns])

        derivatives = self._of_factors(k, derivative)
        identities = {}
        for pair, part in derivatives.items():
            identities[pair] = sparse.eye_array(part.shape[0], format="coo")
        pieces = []
        start = 0
        for indices in self._tuples[k]:
            pairs = list(enumerate(indices))
            # The product rule: one factor is differentiated in each term.
            for differentiated in pairs:
                parts = dict(identities)
                parts[differentiated] = derivatives[differentiated]
                block = _kron([parts[pair] for pair in pairs])
                pieces.append((start + block.row, start + block.col, block.data))
            start += block.shape[0]
        return _assembled(pieces, start, start)


def _assembled(
    pieces: list[tuple[Array, Array, Array]], n_rows: int, n_columns: int
) -> sparse.csr_array:
    """Return the sum of sparse matrices from their rows, columns and entries."""
    rows, columns, entries = (np.concatenate(part) for part in zip(*pieces, strict=True))
    return sparse.csr_array((entries, (rows, columns)), (n_rows, n_columns))


def _kron(parts: list[sparse.coo_array]) -> sparse.coo_array:
    """Return a Kronecker product; SciPy's takes a hundred times as long for small arrays."""
    rows = np.zeros(1, dtype=np.intp)
    columns = np.zeros(1, dtype=np.intp)
    entries = np.ones(1)
    n_rows = 1
    n_columns = 1
    for part in parts:
        rows = np.add.outer(rows * part.shape[0], part.row).ravel()
        columns = np.add.outer(columns * part.shape[1], part.col).ravel()
        entries = np.multiply.outer(entries, part.data).ravel()
        n_rows *= part.shape[0]
        n_columns *= part.shape[1]
    return sparse.coo_array((entries, (rows, columns)), (n_rows, n_columns))


def _up_to(limit: Any) -> Any:
    """Return a bound slightly above an eigenvalue, since sums of eigenvalues are rounded."""
    return limit * (1 + 1e-9) + 1e-9


def _below(factor: Basis, limit: float) -> list[Eigenspace]:
    """Return the eigenspaces of a factor with eigenvalue up to a limit."""
    return listed(factor, limit, _up_to(limit), "eigenvalue")


def _equal(first: Basis, second: Basis) -> bool:
    """Whether two factors are the same manifold; their degrees are not used."""
    return repr(first._with_degree(None)) == repr(second._with_degree(None))
