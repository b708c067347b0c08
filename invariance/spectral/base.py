"""`Basis`: eigenfunctions of the Laplace-Beltrami operator, one eigenspace at a time.

Coordinates come in two layers. The *basis* of eigenspace k is orthonormal for the uniform
probability measure. It is written in a *frame*: functions psi (products of sines and cosines,
monomials) that are cheap to evaluate and that many groups merely permute, with
``phi = B_k psi`` and ``B_k`` sparse with orthonormal rows. On the torus the frame is the basis.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate, pairwise, takewhile
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from ..core import parameters as kinds
from ..core.arrays import check_array
from ..core.config import block_bytes_of
from ..core.parameters import ParameterError, check_parameters, check_values, short
from ..groups import Transformations

#: What may be given for a parameter ``basis``.
BASIS = kinds.Has("a basis, such as Sphere(3)", "spectrum", "frame_action", "truncate", "combine")

#: The maps ``x -> A x + t`` of some elements: matrices (r, d, d) and shifts (r, d).
Maps: TypeAlias = tuple[NDArray, NDArray]

#: Eigenspaces that a basis may list.
SPACES_LIMIT = 50_000


@dataclass(frozen=True)
class Eigenspace:
    """One eigenspace: its label (what `degree` counts), its eigenvalue and its dimension."""

    label: float
    eigenvalue: float
    dimension: int


@dataclass
class OracleCalls:
    """How often the paper's two oracles were asked.

    ``eigenfunctions`` counts values phi(x), one per function and point, ``inner_products`` entries
    <phi o g, phi'>, of which a structured action computes only those that are not zero.
    """

    eigenfunctions: int = 0
    inner_products: int = 0


class Endless(ParameterError, AttributeError):
    """A list of all functions of a basis that is not truncated: `hasattr` says that it has none."""


class Basis(BaseEstimator, ABC):
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
    labels_, eigenvalues_, dimensions_ : ndarray of shape (K,)
        The kept eigenspaces in ascending order.
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

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a parameter, and forget what was computed from the old ones."""
        object.__setattr__(self, name, value)
        for kept in list(vars(self)):
            if kept[0] == "_" or kept[-1] == "_":
                del self.__dict__[kept]

    def __dir__(self) -> list[str]:
        """All names. scikit-learn would compute every attribute to see whether it is there."""
        return list(object.__dir__(self))

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {n: v for n, v in state.items() if n[0] != "_" and n[-1] != "_"}

    @cached_property
    def _d(self) -> int:
        """Coordinates of a point, once the parameters are known to be what they may be."""
        check_parameters(self)
        return int(self.n_features)

    @abstractmethod
    def spectrum(self) -> Iterator[Eigenspace]:
        """All eigenspaces in ascending order, from formulas: no function is enumerated."""

    def counting(self, eigenvalues: ArrayLike) -> NDArray:
        """The counting function: dimension of all eigenspaces with eigenvalue <= each value."""
        # An eigenvalue that differs by rounding is the same one.
        limits = np.asarray(eigenvalues, dtype=float)
        limits = limits + 1e-9 * np.abs(limits)
        spaces = list(takewhile(lambda s: s.eigenvalue <= limits.max(initial=-1), self.spectrum()))
        totals = np.array(list(accumulate((s.dimension for s in spaces), initial=0)))
        return totals[np.searchsorted([s.eigenvalue for s in spaces], limits, side="right")]

    def truncate(
        self, degree: float | None = None, cutoff: float | None = None, *, warn: bool = True
    ) -> Self:
        """A finite basis of the same manifold, by one of ``degree`` and ``cutoff``.

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
        total, label = 0, 0.0
        # n^(1/(1+alpha)) of a perfect power falls short of it by rounding.
        limit = float(cutoff) * (1 + 1e-12)
        for space in self.spectrum():
            if total + space.dimension > limit:
                break
            total, label = total + space.dimension, space.label
        if warn and total != cutoff:
            says = f"cutoff={cutoff:g} falls inside the eigenspace of functions {total + 1} to "
            says += f"{total + space.dimension}, which stays whole: rounded down to D={total}"
            warnings.warn(says, UserWarning, stacklevel=2)
        return self._with_degree(label)

    def _with_degree(self, degree: float | None) -> Self:
        return type(self)(**{**self.get_params(deep=False), "degree": degree})

    @cached_property
    def eigenspaces_(self) -> list[Eigenspace]:
        check_parameters(self)
        if self.degree is None:
            raise Endless(f"{short(self)} has infinitely many functions; truncate it first")
        return self._spaces(float(self.degree))

    def _spaces(self, degree: float) -> list[Eigenspace]:
        """The eigenspaces up to a degree."""
        return listed(self, degree, degree + 1e-9 * max(1, abs(degree)), "label")

    labels_ = cached_property(lambda self: np.array([s.label for s in self.eigenspaces_]))
    eigenvalues_ = cached_property(lambda self: np.array([s.eigenvalue for s in self.eigenspaces_]))
    dimensions_ = cached_property(lambda b: np.array([s.dimension for s in b.eigenspaces_], int))
    counts_ = cached_property(lambda self: np.cumsum(self.dimensions_))

    @property
    def n_functions_(self) -> int:
        return int(self.counts_[-1])

    def slices(self) -> list[slice]:
        """Where each kept eigenspace stands among the columns of `evaluate`."""
        return [slice(int(a), int(b)) for a, b in pairwise([0, *self.counts_])]

    @abstractmethod
    def sample(self, n_samples: int, random_state: Any = None) -> NDArray:
        """Points drawn independently from the uniform measure, shape (n_samples, n_features)."""

    @abstractmethod
    def frame(self, k: int) -> sparse.csr_array:
        """B_k, shape (dimension, frame size): eigenspace k's basis in terms of its frame."""

    @cached_property
    def _frames(self) -> list[sparse.csr_array]:
        return list(map(self.frame, range(len(self.eigenspaces_))))

    @cached_property
    def _frame(self) -> sparse.csr_array | None:
        """All B_k as one block-diagonal array; None where the frame is the basis."""
        return block_diagonal(self._frames)

    @cached_property
    def _edges(self) -> NDArray:
        """Where each eigenspace's frame starts when all stand in a row; shape (K + 1,)."""
        return np.cumsum([0] + [frame.shape[1] for frame in self._frames])

    @abstractmethod
    def _values(self, X: NDArray, chosen: NDArray) -> NDArray:
        """Frame functions, by their rising places in the row of frames; shape (chosen, n)."""

    def _sums(self, X: NDArray, chosen: NDArray, weights: Any) -> NDArray:
        """Sums of chosen frame functions with weights of shape (r, chosen); shape (r, n)."""
        return np.asarray(weights @ self._values(X, chosen))

    def _values_cost(self, n_chosen: int) -> int:
        """Numbers held per point while `_values` works."""
        return n_chosen

    def check_points(self, X: ArrayLike) -> NDArray:
        """X as floats of shape (n, n_features), on the manifold."""
        d = self._d
        points = check_array(X, dtype=np.float64)
        if (n := points.shape[1]) != d:
            raise ParameterError(f"points of {short(self)} have {d} coordinates, got X with {n}")
        return points

    def outside(self, X: NDArray) -> str | None:
        """What to warn of where the points' coordinates look unlike this manifold's; else None."""
        return None

    def evaluate(self, X: ArrayLike) -> NDArray:
        """All kept eigenfunctions at X (n, n_features): (n, D), by eigenspace as in `slices`."""
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
        frame, D = self._frame, self.n_functions_
        used = D if mix is None else int(np.count_nonzero(np.diff(mix.indptr)))
        if calls is not None:
            calls.eigenfunctions += len(points) * used
        if mix is None:
            weights = frame
            chosen = np.arange(D if frame is None else frame.shape[1])
        else:
            if frame is not None:
                # A product with a few columns is much faster dense.
                mix = sparse.csr_array(frame.T @ (mix.toarray() if mix.shape[1] <= 8 else mix))
            chosen = np.flatnonzero(np.diff(mix.indptr))
            part = mix[chosen]
            # Dense products are faster once a good share of the entries is there.
            weights = (part.toarray() if part.nnz > 0.2 * np.prod(part.shape) else part).T
        values = np.empty((len(chosen) if weights is None else weights.shape[0], len(points))).T
        # The table, and while it is made a part of it again.
        per_point = 16 * max(1, self._values_cost(len(chosen)))
        step = max(1, block_bytes_of(None) // per_point)
        for start in range(0, len(points), step):
            some = points[start : start + step]
            made = self._values if weights is None else partial(self._sums, weights=weights)
            values[start : start + step] = made(some, chosen).T
        return values

    @abstractmethod
    def frame_action(self, k: int, matrix: NDArray, shift: NDArray) -> NDArray | sparse.csr_array:
        """F with ``psi(A x + t) = F psi(x)`` for eigenspace k's frame; sparse or dense."""

    def frame_derivative(self, k: int, matrix: NDArray, shift: NDArray) -> sparse.csr_array:
        """F with ``psi(x + e (A x + t)) = psi(x) + e F psi(x) + O(e^2)``, for small e."""
        raise ParameterError(f"{short(self)} has no derivatives; take a finite subgroup")

    def isometries(self, group: Transformations, elements: ArrayLike) -> Maps:
        """The maps ``x -> A x + t`` by which elements act: shapes (r, d, d) and (r, d).

        A ParameterError names an element that does not act on this manifold by such an isometry.
        """
        return self._checked(self._affine(group, elements), group)

    @abstractmethod
    def _checked(self, maps: Maps, group: Transformations) -> Maps:
        """The maps as this manifold takes them, once they are known to be isometries."""

    def same_place(self, differences: NDArray) -> NDArray:
        """Differences of coordinates, reduced to zero where they lead back to the same point."""
        return differences

    def exchanges(self) -> Maps:
        """Symmetries that the basis itself brings: generators as maps ``x -> A x + t``."""
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
        frame, maps = self.frame(k), zip(*self.isometries(group, elements), strict=True)
        return [sparse.csr_array(frame @ self.frame_action(k, *m) @ frame.T) for m in maps]

    #: How far from the origin coordinates are sure to be no others'.
    _reach: Any = 1.0

    def _affine(self, group: Transformations, elements: ArrayLike) -> Maps:
        """A and t of ``x -> A x + t``, read off the images of a few points and then checked."""
        d, scale, elements = self._d, self._reach, np.asarray(elements)
        if group.n_features not in (None, d):
            acts = f"{short(group)} acts on {group.n_features} coordinates"
            raise ParameterError(f"{acts}, but {short(self)} have {d}")
        if len(elements) == 0:
            return np.empty((0, d, d)), np.empty((0, d))
        others = np.random.default_rng(0).uniform(-scale, scale, size=(3, d))
        images = group.act(elements, np.concatenate([np.zeros((1, d)), scale * np.eye(d), others]))
        shifts = images[:, 0]
        matrices = self.same_place(images[:, 1 : d + 1] - shifts[:, None]).swapaxes(1, 2) / scale
        predicted = others @ matrices.swapaxes(1, 2) + shifts[:, None]
        gap = np.abs(self.same_place(images[:, d + 1 :] - predicted)).max(axis=(1, 2)) / scale
        if gap.max() > 1e-8:
            raise ParameterError(
                f"{short(group)} does not act on the eigenfunctions of {short(self)}: element "
                f"{int(gap.argmax())} is no map x -> A x + t (off by {gap.max():.2g})"
            )
        return matrices, shifts


def listed(basis: Basis, limit: float, end: float, by: str) -> list[Eigenspace]:
    """Eigenspaces whose label or eigenvalue is at most ``end``, refused where they are too many."""
    found: list[Eigenspace] = []
    for space in basis.spectrum():
        if getattr(space, by) > end:
            break
        if len(found) == SPACES_LIMIT:
            many = f"over {SPACES_LIMIT} eigenspaces up to degree={limit:g}"
            raise ParameterError(f"{short(basis)} has {many}; lower it")
        found.append(space)
    return found


def block_diagonal(blocks: list[sparse.csr_array]) -> sparse.csr_array:
    """What ``scipy.sparse.block_diag`` gives, without sorting entries that are in order."""
    entries, columns, starts = [], [], []
    height = width = filled = 0
    for block in blocks:
        entries.append(block.data)
        columns.append(block.indices + width)
        starts.append(block.indptr[:-1] + filled)
        height, width = height + block.shape[0], width + block.shape[1]
        filled += len(block.data)
    starts.append(np.array([filled]))
    parts = np.concatenate(entries), np.concatenate(columns), np.concatenate(starts)
    return sparse.csr_array(parts, (height, width))


def signed_permutation(matrix: NDArray) -> tuple[NDArray, NDArray] | None:
    """perm and signs with ``(A x)[i] = signs[i] x[perm[i]]``, or None when A is no such matrix.

    >>> signed_permutation(np.array([[0.0, -1.0], [1.0, 0.0]]))
    (array([1, 0]), array([-1.,  1.]))
    """
    rounded = np.round(matrix)
    hits = rounded != 0
    if np.abs(matrix - rounded).max() > 1e-12 or np.any(np.abs(rounded[hits]) != 1):
        return None
    if not (np.all(hits.sum(axis=0) == 1) and np.all(hits.sum(axis=1) == 1)):
        return None
    perm = hits.argmax(axis=1)
    return perm, rounded[np.arange(len(perm)), perm]


class RowIndex:
    """Look up rows of a table of distinct integer rows, many at a time.

    They are found by a random linear form modulo 2^64 and then compared entry by entry.

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
        """Position of each query row in the table, -1 where it is not there."""
        place = np.searchsorted(self._keys, queries.astype(np.int64) @ self._form)
        place = self._order[np.minimum(place, len(self._order) - 1)]
        return np.where(np.all(self.rows[place] == queries, axis=1), place, -1)
