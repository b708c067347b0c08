"""`Sphere`: harmonic polynomials in any dimension, written in normalised monomials.

On homogeneous polynomials of degree k take the frame ``psi_a = sqrt(kappa_k / a!) x^a``,
``kappa_k = d (d+2) ... (d+2k-2)``. Declaring it orthonormal is, up to the constant, Fischer's inner
product <p, q> = p(d/dx) q, which every orthogonal matrix preserves, and which on *harmonic*
polynomials equals that of L2(sphere, uniform probability). So these are the orthogonal complement
of |x|^2 times the polynomials two degrees lower, and the B_k have orthonormal rows. Sign flips
split the monomials by the parities of their exponents into small blocks, and blocks with equally
many odd exponents are copies of each other.

Monomials cancel where the degree is high, as terms grow like 2^(k/2). So S^2 takes
`spherical_harmonics` from degree `HARMONICS_FROM` on, and other spheres end at `MONOMIALS_TO`.
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

from ..core.parameters import ParameterError, Whole, check_values, short, stores_parameters
from ..groups import Transformations
from .base import Basis, Eigenspace, Maps, RowIndex, computed, signed_permutation
from .spherical_harmonics import angular_momentum, rotated, solid_harmonics

#: On S^2, degrees below this are written in monomials, which signed permutations permute.
HARMONICS_FROM = 9

#: Other spheres go up to this degree: sum_l phi_l(x) phi_l(y) is then right to 3e-10 of its largest
#: value on S^1, to 1e-11 and less on others, and thirty times worse ten degrees on.
MONOMIALS_TO = 40

#: S^2 goes up to this degree, where sum_l phi_l(x)^2 is right to 2e-11.
HARMONICS_TO = 1000

#: A dense action on more frame functions than this would not fit in memory. W(E8) has its first
#: invariant among 6,435 monomials of degree 8.
DENSE_LIMIT = 7000


@stores_parameters
class Sphere(Basis):
    """The unit sphere S^(d-1) in R^d; eigenspace k holds the harmonic polynomials of degree k.

    The eigenvalue is k(k + d - 2) and the dimension C(d+k-1, k) - C(d+k-3, k-2)
    (Soleymani et al. 2025, example 5.2).

    Functions can be evaluated up to degree 40, on S^2, in R^3, up to 1000 (`Circle` has no such
    limit). Dimensions and characters know none.

    Parameters
    ----------
    n_features : int
        Number d of coordinates, at least 2.
    degree : int, optional
        Highest polynomial degree kept.

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
            size = comb(d + k - 1, k) - (comb(d + k - 3, k - 2) if k > 1 else 0)
            yield Eigenspace(k, float(k * (k + d - 2)), size)

    def sample(self, n_samples: int, random_state: Any = None) -> NDArray:
        check_values("Sphere.sample", {"n_samples": Whole(0)}, {"n_samples": n_samples})
        points = check_random_state(random_state).standard_normal((n_samples, self._d))
        return points / np.linalg.norm(points, axis=1, keepdims=True)

    def check_points(self, X: ArrayLike) -> NDArray:
        X = super().check_points(X)
        norms = np.linalg.norm(X, axis=1)
        worst = int(np.abs(norms - 1).argmax())
        if abs(norms[worst] - 1) > 1e-6:
            gap = f"row {worst} has norm {norms[worst]:.6g}; divide each row by its norm"
            raise ParameterError(f"points X of Sphere must have norm 1, {gap}")
        return X

    @computed
    def _turning(self) -> int:
        """The degree from which on functions are spherical harmonics instead of monomials."""
        d, top = self._d, len(self.eigenspaces_) - 1
        limit = HARMONICS_TO if d == 3 else MONOMIALS_TO
        if top > limit:
            raise ParameterError(f"Sphere({d}) goes up to degree {limit}, got {top}; lower it")
        return HARMONICS_FROM if d == 3 else limit + 1

    def frame(self, k: int) -> sparse.csr_array:
        if k >= self._turning:
            return sparse.eye_array(2 * k + 1, format="csr")
        return harmonics(self._d, k)

    def _values(self, X: NDArray, chosen: NDArray) -> NDArray:
        starts = np.searchsorted(chosen, self._edges)
        top = int(np.flatnonzero(np.diff(starts)).max(initial=0))
        result = np.empty((len(chosen), len(X)))
        for k, values in self._by_degree(np.ascontiguousarray(X.T), top):
            rows = slice(starts[k], starts[k + 1])
            wanted = chosen[rows] - self._edges[k]
            result[rows] = values if len(wanted) == len(values) else values[wanted]
        return result

    def _by_degree(self, coordinates: NDArray, top: int) -> Iterator[tuple[int, NDArray]]:
        """The frame functions of each degree up to ``top``, one degree at a time."""
        values = np.ones((1, coordinates.shape[1]))
        yield 0, values
        for k in range(1, min(top + 1, self._turning)):
            table = monomials(self._d, k)
            values = values[table.parents] * coordinates[table.last]
            values *= table.steps[:, None]
            yield k, values
        if self._turning <= top:
            for k, values in enumerate(solid_harmonics(coordinates, top)):
                if k >= self._turning:
                    yield k, values

    def _values_cost(self, n_chosen: int) -> int:
        return n_chosen + 2 * int(np.diff(self._edges).max(initial=1))

    def _sums(self, X: NDArray, chosen: NDArray, weights: Any) -> NDArray:
        """Few sums of many monomials, those of the highest degree without writing them out.

        Each is a coordinate times a monomial of one degree less, which are summed against them.
        """
        top, few = len(self.eigenspaces_) - 1, max(2, len(chosen) // 500)
        if weights.shape[0] > few or top < 2 or top >= self._turning:
            return super()._sums(X, chosen, weights)
        edges, coordinates = self._edges, np.ascontiguousarray(X.T)
        of_frame = np.zeros((weights.shape[0], edges[-1]))
        of_frame[:, chosen] = weights.toarray() if sparse.issparse(weights) else weights
        sums, lower = np.zeros((len(of_frame), len(X))), coordinates
        for k, lower in self._by_degree(coordinates, top - 1):
            sums += of_frame[:, edges[k] : edges[k + 1]] @ lower
        table = monomials(self._d, top)
        by_parent = np.zeros((len(lower), self._d))
        for total, highest in zip(sums, of_frame[:, edges[top] :] * table.steps, strict=True):
            if highest.any():
                by_parent[table.parents, table.last] = highest
                total += np.einsum("pn,pn->n", by_parent @ coordinates, lower)
        return sums

    def _checked(self, maps: Maps, group: Transformations) -> Maps:
        matrices, shifts = maps
        defect = np.abs(matrices @ matrices.swapaxes(1, 2) - np.eye(self._d))
        off = np.maximum(defect.max(axis=(1, 2), initial=0), np.abs(shifts).max(axis=1, initial=0))
        if off.max(initial=0) > 1e-8:
            gap = f"not orthogonal by {off.max():.2g}"
            raise ParameterError(f"{short(group)} does not act on the sphere, {gap}")
        return matrices, np.zeros_like(shifts)

    def frame_action(self, k: int, matrix: NDArray, shift: NDArray) -> NDArray | sparse.csr_array:
        if k >= self._turning:
            return rotated(k, matrix)
        d, variables = self._d, monomials(self._d, k).variables
        structure = signed_permutation(matrix)
        if structure is not None:
            perm, signs = structure
            target = monomials(d, k).index.find(np.sort(perm[variables], axis=1))
            entries = np.prod(signs[variables], axis=1)
            return sparse.csr_array((entries, target, np.arange(len(target) + 1)))
        if (size := len(variables)) > DENSE_LIMIT:
            dense = f"a general matrix acts densely on the {size} monomials of degree {k}"
            raise ParameterError(f"{dense}, more than the {DENSE_LIMIT} that fit; lower the degree")
        return symmetric_power(matrix, k)

    def frame_derivative(self, k: int, matrix: NDArray, shift: NDArray) -> sparse.csr_array:
        if np.abs(matrix + matrix.T).max() > 1e-8 or np.abs(shift).max(initial=0) > 1e-8:
            given = f"{short(matrix)}, {short(shift)}"
            raise ParameterError(f"only antisymmetric matrices turn the sphere, got {given}")
        if k >= self._turning:
            turn = matrix[2, 1], matrix[0, 2], matrix[1, 0]
            return sum(w * m for w, m in zip(turn, angular_momentum(k), strict=True))
        return derived_power(matrix, k)

    def characters(self, matrix: NDArray, shift: NDArray) -> NDArray:
        r"""Traces by degree: :math:`\sum_k t^k \operatorname{tr} = (1 - t^2) / \det(I - t A)`."""
        levels = self.labels_.astype(int)
        size = int(levels[-1]) + 1
        determinant = np.poly(matrix).real
        d = len(matrix)
        series = np.zeros(size + d)
        series[d] = 1.0
        for k in range(d + 1, size + d):
            series[k] = -determinant[1:] @ series[k - 1 : k - d - 1 : -1]
        series = series[d:]
        series[2:] -= series[:-2].copy()
        return series[levels]


@dataclass(frozen=True)
class Monomials:
    """The monomials of degree k in d variables, in lexicographic order.

    ``variables`` (m, k) lists each monomial's variables in rising order, with repetition;
    ``last`` (m,) is the last of them, ``repeats`` its exponent, ``parents`` the place one degree
    lower once it is dropped; ``factorials`` is a!; ``steps`` leads from the parent's normalised
    monomial to this one's.
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
        return (self.variables[:, :, None] == np.arange(self.last[-1] + 1)).sum(axis=1)

    def first_places(self) -> Iterator[tuple[int, NDArray]]:
        """Positions, and the monomials where a variable stands there for the first time."""
        fresh = np.diff(self.variables, axis=1, prepend=-1) != 0
        for position, there in enumerate(fresh.T):
            yield position, np.flatnonzero(there)


@lru_cache(maxsize=64)
def monomials(d: int, k: int) -> Monomials:
    if k == 0:
        one, none = np.ones(1), np.zeros(1, dtype=np.intp)
        return Monomials(np.empty((1, 0), dtype=np.intp), none, 0 * one, none, one, one)
    lower = monomials(d, k - 1)
    children = d - lower.last
    firsts = np.cumsum(children) - children
    parents = np.repeat(np.arange(len(firsts)), children)
    last = lower.last[parents] + np.arange(len(parents)) - firsts[parents]
    repeats = np.where(last == lower.last[parents], lower.repeats[parents] + 1, 1.0)
    variables = np.concatenate([lower.variables[parents], last[:, None]], axis=1)
    factorials, steps = lower.factorials[parents] * repeats, np.sqrt((d + 2 * k - 2) / repeats)
    return Monomials(variables, last, repeats, parents, factorials, steps)


@lru_cache(maxsize=64)
def harmonics(d: int, k: int) -> sparse.csr_array:
    """B_k, shape (harmonic dimension, monomials): an orthonormal basis in the monomial frame."""
    rows, columns, values = [], [], []
    filled = 0
    for odd in range(k % 2, min(k, d) + 1, 2):
        half = (k - odd) // 2
        block = _even_harmonics(d, odd, half)
        squares = monomials(d, half).variables
        sets = np.array(list(combinations(range(d), odd)), dtype=np.intp)
        sets = sets.reshape(comb(d, odd), odd)
        member = np.zeros((len(sets), d), dtype=bool)
        np.put_along_axis(member, sets, True, axis=1)
        # Slots 0 .. odd-1 are the odd variables, the others follow in order.
        slots = np.argsort(~member, axis=1, kind="stable")
        doubled = np.repeat(slots[:, squares], 2, axis=2)
        odds = np.broadcast_to(sets[:, None], (len(sets), len(squares), odd))
        spelled = np.sort(np.concatenate([odds, doubled], axis=2), axis=2)
        place = monomials(d, k).index.find(spelled.reshape(len(sets) * len(squares), k))
        place = place.reshape(len(sets), len(squares))
        kept = np.broadcast_to(place[:, None], (len(sets), *block.shape))
        row = filled + np.arange(len(sets) * len(block)).reshape(len(sets), -1, 1)
        rows.append(np.broadcast_to(row, kept.shape).ravel())
        columns.append(kept.ravel())
        values.append(np.broadcast_to(block, kept.shape).ravel())
        filled += len(sets) * len(block)
    entries = np.concatenate(values)
    there = entries != 0
    where = np.concatenate(rows)[there], np.concatenate(columns)[there]
    return sparse.csr_array((entries[there], where), (filled, comb(d + k - 1, k)))


@lru_cache(maxsize=256)
def _even_harmonics(d: int, odd: int, half: int) -> NDArray:
    """Orthonormal null space of the Laplacian on x_1 ... x_odd q(x_1^2, ..., x_d^2).

    q runs over homogeneous polynomials of degree ``half``; rows are harmonic polynomials.
    """
    squares = monomials(d, half).variables
    if half == 0:
        return np.ones((1, 1))
    exponents = 2 * monomials(d, half).exponents
    exponents[:, :odd] += 1
    lower = comb(d + half - 2, half - 1)
    laplacian = np.zeros((len(squares), lower))
    index = monomials(d, half - 1).index
    for position, rows in monomials(d, half).first_places():
        variable = squares[rows, position]
        a = exponents[rows, variable]
        target = index.find(np.delete(squares[rows], position, axis=1))
        laplacian[rows, target] = np.sqrt(a * (a - 1))
    basis, _ = qr(laplacian)
    return np.ascontiguousarray(basis[:, lower:].T)


@lru_cache(maxsize=64)
def _raised(d: int, k: int) -> NDArray:
    """Place of x_j times each monomial of degree k - 1 among those of degree k: (d, m)."""
    lower = monomials(d, k - 1).variables
    longer = (np.sort(np.insert(lower, 0, j, axis=1), axis=1) for j in range(d))
    return np.stack([monomials(d, k).index.find(rows) for rows in longer])


def symmetric_power(matrix: NDArray, k: int) -> NDArray:
    """How x -> A x acts on normalised monomials of degree k, by polynomial substitution.

    Returns
    -------
    ndarray of shape (m, m), orthogonal when A is
    """
    d = len(matrix)
    power = np.ones((1, 1))
    for degree in range(1, k + 1):
        table = monomials(d, degree)
        # Transposed, so that what is added to a place lies together in memory.
        grown = np.zeros((len(table.parents), len(table.parents)))
        factor, lifted = matrix[table.last], np.ascontiguousarray(power[table.parents].T)
        for j, target in enumerate(_raised(d, degree)):
            if np.any(factor[:, j]):
                grown[target] += factor[:, j] * lifted
        power = grown.T
    root = np.sqrt(monomials(d, k).factorials)
    power *= root
    power /= root[:, None]
    return power


def derived_power(matrix: NDArray, k: int) -> sparse.csr_array:
    """How ``x -> x + e A x`` changes normalised monomials of degree k, to first order in e.

    Row a of A's derivative holds ``A_ij sqrt(a_i (a_j + 1))`` at the monomial ``a - e_i + e_j``.
    """
    d, table = len(matrix), monomials(len(matrix), k)
    rows, columns, entries = ([np.zeros(0, dtype=np.intp)] for _ in "rce")
    for position, places in table.first_places():
        for j in range(d):
            moved = places[matrix[table.variables[places, position], j] != 0]
            i, spelled = table.variables[moved, position], table.variables[moved].copy()
            spelled[:, position] = j
            weight = table.exponents[moved, i] * (table.exponents[moved, j] + (i != j))
            rows.append(moved)
            columns.append(table.index.find(np.sort(spelled, axis=1)))
            entries.append(matrix[i, j] * np.sqrt(weight))
    where = np.concatenate(rows), np.concatenate(columns)
    return sparse.csr_array((np.concatenate(entries), where), (len(table.variables),) * 2)
