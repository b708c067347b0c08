"""`Sphere`: harmonic polynomials in any dimension, written in normalised monomials.

The frame of the homogeneous polynomials of degree k is ``psi_a = sqrt(kappa_k / a!) x^a``, with
``kappa_k = d (d+2) ... (d+2k-2)``. If it is declared orthonormal, the inner product is, up to a
constant, Fischer's <p, q> = p(d/dx) q. Every orthogonal matrix preserves it, and for *harmonic*
polynomials it equals the inner product of L2(sphere, uniform probability). So harmonic polynomials
are the orthogonal complement of |x|^2 times the polynomials two degrees lower, and the B_k have
orthonormal rows. Sign flips split the monomials by the parities of their exponents into small
blocks, and blocks with equally many odd exponents are copies of each other.

At high degrees monomials cancel, as terms grow like 2^(k/2). So S^2 takes `spherical_harmonics`
from degree `HARMONICS_FROM` on, and other spheres end at `MONOMIALS_TO`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations, count
from math import comb
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.linalg import qr
from scipy.special import gammaln
from sklearn.utils import check_random_state

from ..core.config import block_bytes_of
from ..core.parameters import ParameterError, Whole, check_values, short, stores_parameters
from ..groups import Transformations
from ..orbits import row_blocks
from .base import (
    Basis,
    Eigenspace,
    Maps,
    RowIndex,
    computed,
    cycles,
    permutation_matrix,
    signed_permutation,
    whole_numbers,
)
from .spherical_harmonics import angular_momentum, rotated, solid_harmonics

#: On S^2, degrees below this are written in monomials, which signed permutations permute.
HARMONICS_FROM = 9

#: Other spheres go up to this degree. The error of sum_l phi_l(x) phi_l(y) is then 3e-10 of its
#: largest value on S^1 and at most 1e-11 on others, and thirty times larger ten degrees on.
MONOMIALS_TO = 40

#: S^2 goes up to this degree; the relative error of sum_l phi_l(x)^2 is then 2e-11.
HARMONICS_TO = 1000

#: A dense action on more frame functions than this would not fit in memory. W(E8) has its first
#: invariant among 6,435 monomials of degree 8.
DENSE_LIMIT = 7000

#: Bytes of values that stay in the cache of a core.
_CACHE_BYTES = 2**19

#: Fewest points for which a product of matrices is fast.
_FEWEST_POINTS = 32


@stores_parameters
class Sphere(Basis):
    """The unit sphere S^(d-1) in R^d; eigenspace k holds the harmonic polynomials of degree k.

    The eigenvalue is k(k + d - 2) and the dimension C(d+k-1, k) - C(d+k-3, k-2)
    (Soleymani et al. 2025, example 5.2).

    Functions can be evaluated up to degree 40, and on S^2, in R^3, up to degree 1000. `Circle` has
    no such limit, and neither have dimensions and characters.

    Parameters
    ----------
    n_features : int
        Number d of coordinates, at least 2.
    degree : int, optional
        Highest polynomial degree kept.

    Examples
    --------
    >>> basis = Sphere(30, degree=3)
    >>> basis.dimensions_
    array([   1,   30,  464, 4930])
    >>> x = basis.sample(5, random_state=0)
    >>> basis.evaluate(x).shape
    (5, 5425)
    """

    n_features: Annotated[int, Whole(2, 10**9)]
    degree: Annotated[int | None, Whole(0) | None] = None

    @property
    def manifold_dimension(self) -> int:
        return self._d - 1

    @property
    def volume(self) -> float:
        d = self._d
        return float(2 * np.exp(d / 2 * np.log(np.pi) - gammaln(d / 2)))

    def spectrum(self) -> Iterator[Eigenspace]:
        d = self._d
        for k in count():
            dimension = comb(d + k - 1, k)
            if k > 1:
                dimension -= comb(d + k - 3, k - 2)
            yield Eigenspace(label=k, eigenvalue=float(k * (k + d - 2)), dimension=dimension)

    def sample(self, n_samples: int, random_state: Any = None) -> NDArray:
        check_values("Sphere.sample", {"n_samples": Whole(0)}, {"n_samples": n_samples})
        points = check_random_state(random_state).standard_normal((n_samples, self._d))
        return points / np.linalg.norm(points, axis=1, keepdims=True)

    def check_points(self, X: ArrayLike) -> NDArray:
        X = super().check_points(X)
        norms = np.linalg.norm(X, axis=1)
        worst = int(np.abs(norms - 1).argmax())
        if abs(norms[worst] - 1) > 1e-6:
            raise ParameterError(
                f"points X of Sphere must have norm 1, row {worst} has norm {norms[worst]:.6g}; "
                "divide each row by its norm"
            )
        return X

    @computed
    def _first_harmonics(self) -> int:
        """First degree whose frame functions are spherical harmonics instead of monomials."""
        d = self._d
        limit = MONOMIALS_TO
        first = limit + 1
        if d == 3:
            limit = HARMONICS_TO
            first = HARMONICS_FROM
        degree = len(self.eigenspaces_) - 1
        if degree > limit:
            raise ParameterError(f"Sphere({d}) goes up to degree {limit}, got {degree}; lower it")
        return first

    def frame(self, k: int) -> sparse.csr_array:
        if k >= self._first_harmonics:
            return sparse.eye_array(2 * k + 1, format="csr")
        return harmonics(self._d, k)

    def _values(self, X: NDArray, chosen: NDArray) -> NDArray:
        starts = np.searchsorted(chosen, self._edges)
        degree = int(np.flatnonzero(np.diff(starts)).max(initial=0))
        result = np.empty((len(chosen), len(X)))
        for k, values in self._by_degree(np.ascontiguousarray(X.T), degree):
            rows = slice(starts[k], starts[k + 1])
            indices = chosen[rows] - self._edges[k]
            if len(indices) < len(values):
                values = values[indices]
            result[rows] = values
        return result

    def _by_degree(self, coordinates: NDArray, degree: int) -> Iterator[tuple[int, NDArray]]:
        """Yield the values of all frame functions, for k = 0, ..., degree."""
        values = np.ones((1, coordinates.shape[1]))
        yield 0, values
        for k in range(1, min(degree + 1, self._first_harmonics)):
            table = monomials(self._d, k)
            values = values[table.parents] * coordinates[table.last]
            values *= table.steps[:, None]
            yield k, values
        first = self._first_harmonics
        if first <= degree:
            yield from enumerate(solid_harmonics(coordinates, degree, lowest=first), start=first)

    def _values_cost(self, n_chosen: int) -> int:
        return n_chosen + 2 * int(np.diff(self._edges).max(initial=1))

    def _sums(self, X: NDArray, chosen: NDArray, weights: Any) -> NDArray:
        """Return a few sums of many monomials, without a table of those of the highest degree.

        Each of these is a coordinate times a monomial of one degree less, its parent. Parents that
        have equal weights with every coordinate are added up first: in an invariant sum these are
        most. Points are taken in blocks that stay in the cache.
        """
        degree = len(self.eigenspaces_) - 1
        n_sums = weights.shape[0]
        are_few = n_sums <= max(2, len(chosen) // 500)
        if not are_few or degree < 2 or degree >= self._first_harmonics:
            return super()._sums(X, chosen, weights)
        edges = self._edges
        all_weights = np.zeros((n_sums, edges[-1]))
        all_weights[:, chosen] = weights.toarray() if sparse.issparse(weights) else weights
        table = monomials(self._d, degree)
        highest_weights = all_weights[:, edges[degree] :] * table.steps
        highest = np.flatnonzero(highest_weights.any(axis=1))
        sums = np.zeros((n_sums, len(X)))
        n_parents = edges[degree] - edges[degree - 1]
        # Values of parents stay in the cache, unless they are those of fewer points than pay.
        block_bytes = max(_CACHE_BYTES, 8 * n_parents * _FEWEST_POINTS)
        block_bytes = min(block_bytes, block_bytes_of(None) // 4)
        # Dense weights of as many sums at a time as fit in memory.
        n_at_once = max(1, block_bytes_of(None) // (8 * n_parents * self._d))
        for start in range(0, max(1, len(highest)), n_at_once):
            some = highest[start : start + n_at_once]
            groups = _GroupedParents(table, highest_weights[some], n_parents)
            for points in row_blocks(len(X), 8 * n_parents, block_bytes):
                coordinates = np.ascontiguousarray(X[points].T)
                for k, values in self._by_degree(coordinates, degree - 1):
                    if start == 0:
                        sums[:, points] += all_weights[:, edges[k] : edges[k + 1]] @ values
                for i, sum_of_products in zip(some, groups.sums(values, coordinates), strict=True):
                    sums[i, points] += sum_of_products
        return sums

    def _checked(self, maps: Maps, group: Transformations) -> Maps:
        matrices, shifts = maps
        defects = np.abs(matrices @ matrices.swapaxes(1, 2) - np.eye(self._d))
        largest = max(defects.max(initial=0), np.abs(shifts).max(initial=0))
        if largest > 1e-8:
            raise ParameterError(
                f"{short(group)} does not act on the sphere, not orthogonal by {largest:.2g}"
            )
        return matrices, np.zeros_like(shifts)

    def frame_permutation(
        self, k: int, matrix: NDArray, shift: NDArray
    ) -> tuple[NDArray, NDArray] | None:
        structure = signed_permutation(matrix)
        if structure is None or k >= self._first_harmonics:
            return None
        perm, signs = structure
        table = monomials(self._d, k)
        targets = table.index.find(np.sort(perm[table.variables], axis=1))
        return targets, np.prod(signs[table.variables], axis=1)

    def frame_action(self, k: int, matrix: NDArray, shift: NDArray) -> NDArray | sparse.csr_array:
        if k >= self._first_harmonics:
            return rotated(k, matrix)
        permutation = self.frame_permutation(k, matrix, shift)
        if permutation is not None:
            return permutation_matrix(*permutation)
        n_monomials = len(monomials(self._d, k).variables)
        if n_monomials > DENSE_LIMIT:
            raise ParameterError(
                f"a general matrix acts densely on the {n_monomials} monomials of degree {k}, "
                f"more than the {DENSE_LIMIT} that fit; lower the degree"
            )
        return symmetric_power(matrix, k)

    def frame_derivative(self, k: int, matrix: NDArray, shift: NDArray) -> sparse.csr_array:
        if np.abs(matrix + matrix.T).max() > 1e-8 or np.abs(shift).max(initial=0) > 1e-8:
            raise ParameterError(
                f"only antisymmetric matrices turn the sphere, got {short(matrix)}, {short(shift)}"
            )
        if k >= self._first_harmonics:
            about_x, about_y, about_z = angular_momentum(k)
            return matrix[2, 1] * about_x + matrix[0, 2] * about_y + matrix[1, 0] * about_z
        return derived_power(matrix, k)

    def characters(self, matrix: NDArray, shift: NDArray) -> NDArray:
        r"""Traces by degree: :math:`\sum_k t^k \operatorname{tr} = (1 - t^2) / \det(I - t A)`.

        Those of signed permutations are exact whole numbers.
        """
        degrees = self.labels_.astype(int)
        n_terms = int(degrees[-1]) + 1
        structure = signed_permutation(matrix)
        if structure is not None:
            traces = _permutation_traces(*structure, n_terms)
            return whole_numbers([traces[k] for k in degrees])
        determinant = np.poly(matrix).real
        d = len(matrix)
        # The reciprocal of the determinant, after d zeros.
        padded = np.zeros(n_terms + d)
        padded[d] = 1.0
        for k in range(d + 1, n_terms + d):
            padded[k] = -determinant[1:] @ padded[k - 1 : k - d - 1 : -1]
        series = padded[d:]
        series[2:] -= series[:-2].copy()
        return series[degrees]


def _permutation_traces(perm: NDArray, signs: NDArray, n_terms: int) -> list[int]:
    """Traces of a signed permutation on harmonic polynomials of degrees below ``n_terms``.

    The determinant has the factor 1 - sign t^length for each cycle.
    """
    traces = [1] + [0] * (n_terms - 1)
    for length, sign, _ in cycles(perm, signs, np.zeros(len(perm))):
        for k in range(length, n_terms):
            traces[k] += int(sign) * traces[k - length]
    return [traces[k] - (traces[k - 2] if k >= 2 else 0) for k in range(n_terms)]


class _GroupedParents:
    """Sums of monomials, each a coordinate times its parent, with parents of equal weights added.

    Parameters
    ----------
    table : Monomials
    weights : ndarray of shape (r, number of monomials)
    n_parents : int
    """

    def __init__(self, table: Monomials, weights: NDArray, n_parents: int) -> None:
        d = int(table.last.max()) + 1
        by_parent = np.zeros((n_parents, len(weights), d))
        by_parent[table.parents, :, table.last] = weights.T
        first, group = _equal_rows(by_parent.reshape(n_parents, -1))
        #: Weights of a group's parents with each coordinate, shape (r, groups, d).
        self.weights = np.ascontiguousarray(by_parent[first].swapaxes(0, 1))
        self.membership = permutation_matrix(group, np.ones(n_parents)).T.tocsr()

    def sums(self, parent_values: NDArray, coordinates: NDArray) -> Iterator[NDArray]:
        """Yield the r sums at n points, from values (parents, n) and coordinates (d, n)."""
        if not len(self.weights):
            return
        values = self.membership @ parent_values
        for weights in self.weights:
            yield np.einsum("gn,gn->n", weights @ coordinates, values)


def _equal_rows(rows: NDArray) -> tuple[NDArray, NDArray]:
    """Indices of distinct rows, and for each row the number of the one that it equals."""
    draw = np.random.default_rng(0).standard_normal(rows.shape[1])
    _, first, number = np.unique((rows * draw).sum(axis=1), return_index=True, return_inverse=True)
    if np.array_equal(rows[first][number], rows):
        return first, number
    all_rows = np.arange(len(rows))
    return all_rows, all_rows


@dataclass(frozen=True)
class Monomials:
    """The monomials of degree k in d variables, in lexicographic order.

    Attributes
    ----------
    variables : ndarray of shape (m, k)
        Variables of each monomial in rising order, with repetition.
    last : ndarray of shape (m,)
        Last variable of each monomial.
    repeats : ndarray of shape (m,)
        Exponent of the last variable.
    parents : ndarray of shape (m,)
        Position, one degree lower, of the monomial without its last variable.
    factorials : ndarray of shape (m,)
        a!, the product of the factorials of all exponents.
    steps : ndarray of shape (m,)
        Factor from the parent's normalised monomial to this one's.
    """

    variables: NDArray
    last: NDArray
    repeats: NDArray
    parents: NDArray
    factorials: NDArray
    steps: NDArray

    @cached_property
    def index(self) -> RowIndex:
        return RowIndex(self.variables)

    @cached_property
    def exponents(self) -> NDArray:
        all_variables = np.arange(self.last[-1] + 1)
        return (self.variables[:, :, None] == all_variables).sum(axis=1)

    def first_places(self) -> Iterator[tuple[int, NDArray]]:
        """Yield each position, and the monomials in which a variable first occurs there."""
        is_first = np.diff(self.variables, axis=1, prepend=-1) != 0
        for position, flags in enumerate(is_first.T):
            yield position, np.flatnonzero(flags)


@lru_cache(maxsize=64)
def monomials(d: int, k: int) -> Monomials:
    if k == 0:
        return Monomials(
            variables=np.empty((1, 0), dtype=np.intp),
            last=np.zeros(1, dtype=np.intp),
            repeats=np.zeros(1),
            parents=np.zeros(1, dtype=np.intp),
            factorials=np.ones(1),
            steps=np.ones(1),
        )
    lower = monomials(d, k - 1)
    # A monomial's children are its products with its last variable and all later ones.
    n_children = d - lower.last
    first_children = np.cumsum(n_children) - n_children
    parents = np.repeat(np.arange(len(n_children)), n_children)
    parents_last = lower.last[parents]
    last = parents_last + np.arange(len(parents)) - first_children[parents]
    repeats = np.where(last == parents_last, lower.repeats[parents] + 1, 1.0)
    return Monomials(
        variables=np.concatenate([lower.variables[parents], last[:, None]], axis=1),
        last=last,
        repeats=repeats,
        parents=parents,
        factorials=lower.factorials[parents] * repeats,
        steps=np.sqrt((d + 2 * k - 2) / repeats),
    )


@lru_cache(maxsize=64)
def harmonics(d: int, k: int) -> sparse.csr_array:
    """Return B_k, shape (harmonic dimension, monomials), an orthonormal basis in the frame."""
    rows = []
    columns = []
    entries = []
    n_rows = 0
    for n_odd in range(k % 2, min(k, d) + 1, 2):
        block = _even_harmonics(d, n_odd, (k - n_odd) // 2)
        places = _places_by_parity(d, k, n_odd)
        n_sets = len(places)
        shape = (n_sets, *block.shape)
        n_new = n_sets * len(block)
        new_rows = n_rows + np.arange(n_new).reshape(n_sets, -1, 1)
        rows.append(np.broadcast_to(new_rows, shape).ravel())
        columns.append(np.broadcast_to(places[:, None], shape).ravel())
        entries.append(np.broadcast_to(block, shape).ravel())
        n_rows += n_new
    values = np.concatenate(entries)
    is_entry = values != 0
    indices = (np.concatenate(rows)[is_entry], np.concatenate(columns)[is_entry])
    return sparse.csr_array((values[is_entry], indices), (n_rows, comb(d + k - 1, k)))


def _places_by_parity(d: int, k: int, n_odd: int) -> NDArray:
    """Return the positions of monomials of degree k whose exponents are odd for given variables.

    There is one row for each set of ``n_odd`` variables, and one column for each product of squares
    by which these variables are multiplied.
    """
    squares = monomials(d, (k - n_odd) // 2).variables
    n_squares = len(squares)
    n_sets = comb(d, n_odd)
    odd_sets = np.array(list(combinations(range(d), n_odd)), dtype=np.intp)
    odd_sets = odd_sets.reshape(n_sets, n_odd)
    is_odd = np.zeros((n_sets, d), dtype=bool)
    np.put_along_axis(is_odd, odd_sets, True, axis=1)
    # The odd variables come first, the others follow in order.
    ordered_variables = np.argsort(~is_odd, axis=1, kind="stable")
    doubled = np.repeat(ordered_variables[:, squares], 2, axis=2)
    single = np.broadcast_to(odd_sets[:, None], (n_sets, n_squares, n_odd))
    variables = np.sort(np.concatenate([single, doubled], axis=2), axis=2)
    places = monomials(d, k).index.find(variables.reshape(n_sets * n_squares, k))
    return places.reshape(n_sets, n_squares)


@lru_cache(maxsize=256)
def _even_harmonics(d: int, n_odd: int, half: int) -> NDArray:
    """Orthonormal null space of the Laplacian on x_1 ... x_odd q(x_1^2, ..., x_d^2).

    q runs over homogeneous polynomials of degree ``half``; rows are harmonic polynomials.
    """
    if half == 0:
        return np.ones((1, 1))
    table = monomials(d, half)
    exponents = 2 * table.exponents
    exponents[:, :n_odd] += 1
    n_lower = comb(d + half - 2, half - 1)
    laplacian = np.zeros((len(exponents), n_lower))
    lower_index = monomials(d, half - 1).index
    for position, rows in table.first_places():
        variables = table.variables[rows]
        exponent = exponents[rows, variables[:, position]]
        targets = lower_index.find(np.delete(variables, position, axis=1))
        laplacian[rows, targets] = np.sqrt(exponent * (exponent - 1))
    basis, _ = qr(laplacian)
    return np.ascontiguousarray(basis[:, n_lower:].T)


@lru_cache(maxsize=64)
def _raised(d: int, k: int) -> NDArray:
    """Positions, in degree k, of x_j times each monomial of degree k - 1, shape (d, m)."""
    lower_variables = monomials(d, k - 1).variables
    index = monomials(d, k).index
    places = []
    for j in range(d):
        variables = np.insert(lower_variables, 0, j, axis=1)
        places.append(index.find(np.sort(variables, axis=1)))
    return np.stack(places)


def symmetric_power(matrix: NDArray, k: int) -> NDArray:
    """Return the action of x -> A x on normalised monomials of degree k, by substitution.

    Returns
    -------
    ndarray of shape (m, m), orthogonal when A is
    """
    d = len(matrix)
    power = np.ones((1, 1))
    for degree in range(1, k + 1):
        table = monomials(d, degree)
        size = len(table.parents)
        factors = matrix[table.last]
        # Transposed, so that the terms of one entry lie together in memory.
        parents_power = np.ascontiguousarray(power[table.parents].T)
        transposed = np.zeros((size, size))
        for j, targets in enumerate(_raised(d, degree)):
            if np.any(factors[:, j]):
                transposed[targets] += factors[:, j] * parents_power
        power = transposed.T
    roots = np.sqrt(monomials(d, k).factorials)
    power *= roots
    power /= roots[:, None]
    return power


def derived_power(matrix: NDArray, k: int) -> sparse.csr_array:
    """Return the derivative of normalised monomials under ``x -> x + e A x``, at e = 0.

    Row a of the derivative holds ``A_ij sqrt(a_i (a_j + 1))`` at the monomial ``a - e_i + e_j``.
    """
    d = len(matrix)
    table = monomials(d, k)
    size = len(table.variables)
    rows = [np.zeros(0, dtype=np.intp)]
    columns = [np.zeros(0, dtype=np.intp)]
    entries = [np.zeros(0)]
    for position, places in table.first_places():
        for j in range(d):
            replaced = table.variables[places, position]
            places_of_j = places[matrix[replaced, j] != 0]
            i = table.variables[places_of_j, position]
            variables = table.variables[places_of_j].copy()
            variables[:, position] = j
            exponents_of_i = table.exponents[places_of_j, i]
            exponents_of_j = table.exponents[places_of_j, j]
            weights = exponents_of_i * (exponents_of_j + (i != j))
            rows.append(places_of_j)
            columns.append(table.index.find(np.sort(variables, axis=1)))
            entries.append(matrix[i, j] * np.sqrt(weights))
    indices = (np.concatenate(rows), np.concatenate(columns))
    return sparse.csr_array((np.concatenate(entries), indices), (size, size))
