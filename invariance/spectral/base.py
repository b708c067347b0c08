"""`Basis`: eigenfunctions of the Laplace-Beltrami operator, one eigenspace at a time.

Coordinates come in two layers. The *basis* of eigenspace k is orthonormal for the uniform
probability measure. It is written in a *frame*: functions psi (products of sines and cosines,
monomials) that are cheap to evaluate and that many groups merely permute, with
``phi = B_k psi`` and ``B_k`` sparse with orthonormal rows. On the torus the frame is the basis.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise, takewhile
from typing import Any, Generic, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from ..core import parameters as kinds
from ..core.arrays import as_floats, check_array
from ..core.config import block_bytes_of
from ..core.parameter_state import Remembering
from ..core.parameters import ParameterError, check_values, short
from ..groups import Transformations

#: Values that a parameter ``basis`` may have.
BASIS = kinds.Has("a basis, such as Sphere(3)", "spectrum", "frame_action", "truncate", "combine")

#: The maps ``x -> A x + t`` of some elements: matrices (r, d, d) and shifts (r, d).
Maps: TypeAlias = tuple[NDArray, NDArray]

#: Eigenspaces that a basis may list.
SPACES_LIMIT = 50_000


#: Values of functions that fit in the cache of a core.
_CACHED = 2**16
#: Points that are taken at a time, if there is memory: fewer would not outweigh Python's calls.
_FEWEST_POINTS = 500

_Value = TypeVar("_Value")


class computed(Generic[_Value]):
    """Attribute of a basis that is computed at its first use, and again if a parameter changes."""

    def __init__(self, function: Callable[[Any], _Value]) -> None:
        self.function = function
        self.name = function.__name__
        self.__doc__ = function.__doc__

    def __get__(self, basis: Any, owner: Any = None) -> _Value:
        if basis is None:
            return self  # type: ignore[return-value]
        values = basis._memory
        if self.name not in values:
            values[self.name] = self.function(basis)
        return values[self.name]


@dataclass(frozen=True)
class Eigenspace:
    """One eigenspace: its label (what `degree` counts), its eigenvalue and its dimension."""

    label: float
    eigenvalue: float
    dimension: int


@dataclass
class OracleCalls:
    """Numbers of calls to the paper's two oracles.

    ``eigenfunctions`` counts values phi(x), one per function and point. ``inner_products`` counts
    entries <phi o g, phi'>; a structured action computes only those that are not zero.
    """

    eigenfunctions: int = 0
    inner_products: int = 0


class Endless(ParameterError, AttributeError):
    """A list of all functions of a basis that is not truncated; `hasattr` then returns False."""


class Basis(Remembering, BaseEstimator, ABC):
    """Real eigenfunctions of a manifold, kept up to and including the eigenspace ``degree``.

    With ``degree=None`` the object only describes the manifold; `truncate` gives a finite basis.
    Whole eigenspaces are kept, always: cutting one breaks exact invariance.

    Attributes
    ----------
    n_features : int
        Coordinates of a point.
    manifold_dimension : int
        Dimension d of the manifold in the paper's rates.
    volume : float
    eigenspaces_ : list of Eigenspace
    labels_ : ndarray of shape (K,)
        Labels of the kept eigenspaces, in ascending order.
    eigenvalues_ : ndarray of shape (K,)
    dimensions_ : ndarray of shape (K,)
        Dimensions beyond 64 bits are Python's numbers.
    counts_ : ndarray of shape (K,)
        D_lambda, the number of eigenfunctions of eigenvalue at most lambda.
    n_functions_ : int
        Number of functions kept, the effective cutoff D.
    """

    n_features: Any
    degree: Any

    @property
    @abstractmethod
    def manifold_dimension(self) -> int: ...

    @property
    @abstractmethod
    def volume(self) -> float: ...

    @computed
    def _d(self) -> int:
        """Number of coordinates of a point."""
        return int(self.n_features)

    @abstractmethod
    def spectrum(self) -> Iterator[Eigenspace]:
        """All eigenspaces in ascending order, from formulas: no function is enumerated."""

    def counting(self, eigenvalues: ArrayLike) -> NDArray:
        """The counting function: dimension of all eigenspaces with eigenvalue <= each value."""
        limits = as_floats("eigenvalues", eigenvalues)
        if not np.isfinite(limits).all():
            raise ParameterError(f"counting needs finite eigenvalues, got {short(eigenvalues)}")
        # An eigenvalue that differs by rounding is the same one.
        limits = limits + 1e-9 * np.abs(limits)
        highest = limits.max(initial=-1)
        spaces = list(takewhile(lambda space: space.eigenvalue <= highest, self.spectrum()))
        dimensions = [space.dimension for space in spaces]
        totals = np.array(list(accumulate(dimensions, initial=0)))
        listed_eigenvalues = [space.eigenvalue for space in spaces]
        return totals[np.searchsorted(listed_eigenvalues, limits, side="right")]

    def truncate(
        self, degree: float | None = None, cutoff: float | None = None, *, warn: bool = True
    ) -> Self:
        """Return a finite basis of the same manifold, by one of ``degree`` and ``cutoff``.

        Parameters
        ----------
        degree : int or float, optional
            Label of the highest eigenspace kept.
        cutoff : float, optional
            Keep the eigenspaces with D_lambda <= cutoff (Soleymani et al. 2025, algorithm 1).
        warn : bool
            Warn when the cutoff, at least one, falls inside an eigenspace and is rounded down.
        """
        if (degree is None) == (cutoff is None):
            raise ParameterError(f"give either degree or cutoff, got {degree=} and {cutoff=}")
        if cutoff is None:
            return self._with_degree(degree)
        due = {"cutoff": kinds.Number(1), "warn": kinds.Flag()}
        check_values(f"{type(self).__name__}.truncate", due, {"cutoff": cutoff, "warn": warn})
        total = 0
        label = 0.0
        # n^(1/(1+alpha)) of a perfect power falls short of it by rounding.
        limit = float(cutoff) * (1 + 1e-12)
        for space in self.spectrum():
            if total + space.dimension > limit:
                break
            total += space.dimension
            label = space.label
        if warn and total != cutoff:
            message = (
                f"cutoff={cutoff:g} falls inside the eigenspace of functions {total + 1} to "
                f"{total + space.dimension}, which stays whole: rounded down to D={total}"
            )
            warnings.warn(message, UserWarning, stacklevel=2)
        return self._with_degree(label)

    def _with_degree(self, degree: float | None) -> Self:
        parameters = self.get_params(deep=False)
        parameters["degree"] = degree
        return type(self)(**parameters)

    @computed
    def eigenspaces_(self) -> list[Eigenspace]:
        if self.degree is None:
            raise Endless(f"{short(self)} has infinitely many functions; truncate it first")
        return self._spaces(float(self.degree))

    def _spaces(self, degree: float) -> list[Eigenspace]:
        """Return the eigenspaces up to a degree."""
        return listed(self, degree, degree + 1e-9 * max(1, abs(degree)), "label")

    @computed
    def labels_(self) -> NDArray:
        return np.array([space.label for space in self.eigenspaces_])

    @computed
    def eigenvalues_(self) -> NDArray:
        return np.array([space.eigenvalue for space in self.eigenspaces_])

    @computed
    def dimensions_(self) -> NDArray:
        return whole_numbers([space.dimension for space in self.eigenspaces_])

    @computed
    def counts_(self) -> NDArray:
        return whole_numbers(list(accumulate(space.dimension for space in self.eigenspaces_)))

    @property
    def n_functions_(self) -> int:
        return int(self.counts_[-1])

    def slices(self) -> list[slice]:
        """Return the columns of `evaluate` that belong to each kept eigenspace."""
        edges = [0, *self.counts_]
        return [slice(int(start), int(stop)) for start, stop in pairwise(edges)]

    @abstractmethod
    def sample(self, n_samples: int, random_state: Any = None) -> NDArray:
        """Points drawn independently from the uniform measure, shape (n_samples, n_features)."""

    @abstractmethod
    def frame(self, k: int) -> sparse.csr_array:
        """B_k, shape (dimension, frame size): eigenspace k's basis in terms of its frame."""

    @computed
    def _frames(self) -> list[sparse.csr_array]:
        return [self.frame(k) for k in range(len(self.eigenspaces_))]

    @computed
    def _frame(self) -> sparse.csr_array | None:
        """All B_k as one block-diagonal array; None if the frame is the basis."""
        return block_diagonal(self._frames)

    @computed
    def _edges(self) -> NDArray:
        """First index of each eigenspace in the concatenated frames, shape (K + 1,)."""
        return np.cumsum([0] + [frame.shape[1] for frame in self._frames])

    @abstractmethod
    def _values(self, X: NDArray, chosen: NDArray) -> NDArray:
        """Values of frame functions, chosen by ascending index; shape (chosen, n)."""

    def _sums(self, X: NDArray, chosen: NDArray, weights: Any) -> NDArray:
        """Sums of chosen frame functions with weights of shape (r, chosen); shape (r, n)."""
        sums = np.empty((weights.shape[0], len(X)))
        for points in self._point_blocks(len(X), len(chosen)):
            sums[:, points] = weights @ self._values(X[points], chosen)
        return sums

    def _values_cost(self, n_chosen: int) -> int:
        """Return how many numbers per point `_values` holds at a time."""
        return n_chosen

    def check_points(self, X: ArrayLike) -> NDArray:
        """Return X as floats of shape (n, n_features), on the manifold."""
        d = self._d
        points = check_array(X, dtype=np.float64)
        if points.shape[1] != d:
            shape = f"X with {points.shape[1]}"
            raise ParameterError(f"points of {short(self)} have {d} coordinates, got {shape}")
        return points

    def outside(self, X: NDArray) -> str | None:
        """Return a warning if the points' coordinates look unlike this manifold's, else None."""
        return None

    def evaluate(self, X: ArrayLike) -> NDArray:
        """Return all kept eigenfunctions at X (n, n_features): (n, D), ordered as in `slices`."""
        return self._combined(self.check_points(X), None)

    def combine(
        self, X: ArrayLike, weights: ArrayLike | sparse.sparray, *, calls: OracleCalls | None = None
    ) -> NDArray:
        """Linear combinations of the eigenfunctions at X of shape (n, n_features), shape (n, r).

        Only the frame functions that some combination uses are evaluated, in blocks of points
        (`invariance.config_context` bounds their memory).

        Parameters
        ----------
        weights : array or sparse array of shape (D, r)
            Column j holds the coefficients of the j-th combination.
        calls : OracleCalls, optional
            Counts the values computed.
        """
        mix = sparse.csr_array(weights)
        if mix.shape[0] != self.n_functions_:
            raise ParameterError(f"weights must be ({self.n_functions_}, r) here, got {mix.shape}")
        return self._combined(self.check_points(X), mix, calls)

    def _combined(
        self, points: NDArray, mix: sparse.csr_array | None, calls: OracleCalls | None = None
    ) -> NDArray:
        """Sums of eigenfunctions, ``mix`` of shape (D, r), or all; the points are checked."""
        if calls is not None:
            n_used = self.n_functions_
            if mix is not None:
                n_used = int(np.count_nonzero(np.diff(mix.indptr)))
            calls.eigenfunctions += len(points) * n_used
        if mix is None:
            weights = self._frame
            chosen = np.arange(self._edges[-1])
        else:
            chosen, weights = self._frame_weights(mix)
        if weights is not None:
            return self._sums(points, chosen, weights).T
        values = np.empty((len(chosen), len(points)))
        for block in self._point_blocks(len(points), len(chosen)):
            values[:, block] = self._values(points[block], chosen)
        return values.T

    def _point_blocks(self, n_points: int, n_chosen: int) -> Iterator[slice]:
        """Yield blocks of points for which `_values` fits in the cache, or at least in memory."""
        n_numbers = max(1, self._values_cost(n_chosen))
        # The table, and a part of it once more while it is computed.
        most_points = max(1, block_bytes_of(None) // (16 * n_numbers))
        step = min(most_points, max(_FEWEST_POINTS, _CACHED // n_numbers))
        for start in range(0, n_points, step):
            yield slice(start, min(start + step, n_points))

    def _frame_weights(self, mix: sparse.csr_array) -> tuple[NDArray, Any]:
        """Return the frame functions that a mix (D, r) uses, and their weights (r, chosen)."""
        if self._frame is not None:
            # A product with a few columns is much faster dense.
            columns = mix.toarray() if mix.shape[1] <= 8 else mix
            mix = sparse.csr_array(self._frame.T @ columns)
        chosen = np.flatnonzero(np.diff(mix.indptr))
        weights = mix[chosen]
        # Dense products are faster unless most entries are zero.
        if weights.nnz > 0.2 * np.prod(weights.shape):
            return chosen, weights.toarray().T
        return chosen, weights.T

    @abstractmethod
    def frame_action(self, k: int, matrix: NDArray, shift: NDArray) -> NDArray | sparse.csr_array:
        """F with ``psi(A x + t) = F psi(x)`` for eigenspace k's frame; sparse or dense."""

    def frame_permutation(
        self, k: int, matrix: NDArray, shift: NDArray
    ) -> tuple[NDArray, NDArray] | None:
        """The same action as ``targets`` and ``signs``, if it permutes the frame up to signs.

        ``psi_a(A x + t) = signs[a] psi_targets[a](x)``. None if it does not, or if only
        `frame_action` tells.
        """
        return None

    def frame_derivative(self, k: int, matrix: NDArray, shift: NDArray) -> sparse.csr_array:
        """F with ``psi(x + e (A x + t)) = psi(x) + e F psi(x) + O(e^2)``, for small e."""
        raise ParameterError(f"{short(self)} has no derivatives; take a finite subgroup")

    def isometries(self, group: Transformations, elements: ArrayLike) -> Maps:
        """Return the maps ``x -> A x + t`` of elements: shapes (r, d, d) and (r, d).

        A ParameterError names an element that does not act on this manifold by such an isometry.
        """
        return self._checked(self._affine(group, elements), group)

    @abstractmethod
    def _checked(self, maps: Maps, group: Transformations) -> Maps:
        """Check that the maps are isometries, and return them without their rounding."""

    def same_place(self, differences: NDArray) -> NDArray:
        """Reduce differences of coordinates that lead back to the same point to zero."""
        return differences

    def exchanges(self) -> Maps:
        """Return symmetries that the basis itself has: generators as maps ``x -> A x + t``."""
        return np.empty((0, self._d, self._d)), np.empty((0, self._d))

    def characters(self, matrix: NDArray, shift: NDArray) -> NDArray:
        """Traces of the map ``x -> A x + t`` on the kept eigenspaces, shape (K,)."""
        raise ParameterError(f"characters are known for Sphere and Torus, not for {short(self)}")

    def representation(
        self, k: int, group: Transformations, elements: ArrayLike
    ) -> list[sparse.csr_array]:
        r"""The orthogonal matrices of r elements on the k-th kept eigenspace (oracle two), sparse.

        .. math:: D^\lambda(g)_{l l'} = \langle \phi_{\lambda, l} \circ g, \phi_{\lambda, l'}
                  \rangle, \qquad \phi_\lambda(g x) = D^\lambda(g)\, \phi_\lambda(x).
        """
        frame = self.frame(k)
        representations = []
        for matrix, shift in zip(*self.isometries(group, elements), strict=True):
            action = self.frame_action(k, matrix, shift)
            representations.append(sparse.csr_array(frame @ action @ frame.T))
        return representations

    #: Coordinates up to this size belong to different points if they are different.
    _reach: Any = 1.0

    def _affine(self, group: Transformations, elements: ArrayLike) -> Maps:
        """Return A and t of ``x -> A x + t``, computed from the images of a few points."""
        d = self._d
        scale = self._reach
        elements = np.asarray(elements)
        if group.n_features not in (None, d):
            acts = f"{short(group)} acts on {group.n_features} coordinates"
            raise ParameterError(f"{acts}, but {short(self)} have {d}")
        if len(elements) == 0:
            return np.empty((0, d, d)), np.empty((0, d))
        origin = np.zeros((1, d))
        check_points = np.random.default_rng(0).uniform(-scale, scale, size=(3, d))
        images = group.act(elements, np.concatenate([origin, scale * np.eye(d), check_points]))
        shifts = images[:, 0]
        columns = self.same_place(images[:, 1 : d + 1] - shifts[:, None])
        matrices = columns.swapaxes(1, 2) / scale
        predicted = check_points @ matrices.swapaxes(1, 2) + shifts[:, None]
        differences = self.same_place(images[:, d + 1 :] - predicted)
        errors = np.abs(differences).max(axis=(1, 2)) / scale
        if errors.max() > 1e-8:
            raise ParameterError(
                f"{short(group)} does not act on the eigenfunctions of {short(self)}: element "
                f"{int(errors.argmax())} is no map x -> A x + t (off by {errors.max():.2g})"
            )
        return matrices, shifts


def listed(basis: Basis, limit: float, end: float, by: str) -> list[Eigenspace]:
    """Eigenspaces whose label or eigenvalue is at most ``end``, refused if they are too many."""
    spaces: list[Eigenspace] = []
    for space in basis.spectrum():
        if getattr(space, by) > end:
            break
        if len(spaces) == SPACES_LIMIT:
            many = f"over {SPACES_LIMIT} eigenspaces up to degree={limit:g}"
            raise ParameterError(f"{short(basis)} has {many}; lower it")
        spaces.append(space)
    return spaces


def block_diagonal(blocks: list[sparse.csr_array]) -> sparse.csr_array:
    """Block-diagonal array, as of ``scipy.sparse.block_diag``, without sorting sorted entries."""
    entries = []
    columns = []
    starts = []
    height = 0
    width = 0
    n_entries = 0
    for block in blocks:
        entries.append(block.data)
        columns.append(block.indices + width)
        starts.append(block.indptr[:-1] + n_entries)
        height += block.shape[0]
        width += block.shape[1]
        n_entries += len(block.data)
    starts.append(np.array([n_entries]))
    parts = (np.concatenate(entries), np.concatenate(columns), np.concatenate(starts))
    return sparse.csr_array(parts, (height, width))


def whole_numbers(values: list[int]) -> NDArray:
    """Array of whole numbers; if one is beyond 64 bits, they stay Python's.

    >>> whole_numbers([1, 2**70])
    array([1, 1180591620717411303424], dtype=object)
    """
    fit = all(abs(value) < 2**63 for value in values)
    return np.array(values, dtype=int if fit else object)


def permutation_matrix(targets: NDArray, signs: NDArray) -> sparse.csr_array:
    """Sparse matrix with the entry ``signs[a]`` in row a and column ``targets[a]``."""
    return sparse.csr_array((signs, targets, np.arange(len(targets) + 1)))


def signed_permutation(matrix: NDArray) -> tuple[NDArray, NDArray] | None:
    """perm and signs with ``(A x)[i] = signs[i] x[perm[i]]``, or None when A is no such matrix.

    >>> signed_permutation(np.array([[0.0, -1.0], [1.0, 0.0]]))
    (array([1, 0]), array([-1.,  1.]))
    """
    rounded = np.round(matrix)
    hits = rounded != 0
    if np.abs(matrix - rounded).max() > 1e-12:
        return None
    if np.any(np.abs(rounded[hits]) != 1):
        return None
    if np.any(hits.sum(axis=0) != 1) or np.any(hits.sum(axis=1) != 1):
        return None
    perm = hits.argmax(axis=1)
    return perm, rounded[np.arange(len(perm)), perm]


def cycles(perm: NDArray, signs: NDArray, shift: NDArray) -> Iterator[tuple[int, float, float]]:
    """Yield the length, sign and translation of each cycle of coordinates of a map.

    The matrix of the map is the `signed_permutation` of perm and signs.
    """
    visited = np.zeros(len(perm), dtype=bool)
    for start in range(len(perm)):
        if visited[start]:
            continue
        length = 0
        sign = 1.0
        translation = 0.0
        i = start
        while not visited[i]:
            visited[i] = True
            translation += sign * shift[i]
            sign *= signs[i]
            length += 1
            i = int(perm[i])
        yield length, sign, translation


class RowIndex:
    """Look up rows of a table of distinct integer rows, many at a time.

    A random linear form modulo 2^64 finds candidates, which are then compared entry by entry.

    >>> RowIndex(np.array([[0, 1], [2, 0]])).find(np.array([[2, 0], [5, 5]]))
    array([ 1, -1])
    """

    def __init__(self, rows: NDArray):
        self.rows = rows
        draw = np.random.default_rng(0)
        self._form = draw.integers(1, 2**63, size=rows.shape[1], dtype=np.int64) | 1
        keys = rows.astype(np.int64) @ self._form
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]
        if np.any(self._keys[1:] == self._keys[:-1]):
            raise ValueError("the table holds a row twice (or two rows share a hash)")

    def find(self, queries: NDArray) -> NDArray:
        """Return the position of each query row in the table, -1 if it is missing."""
        ranks = np.searchsorted(self._keys, queries.astype(np.int64) @ self._form)
        positions = self._order[np.minimum(ranks, len(self._order) - 1)]
        is_match = np.all(self.rows[positions] == queries, axis=1)
        return np.where(is_match, positions, -1)
