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
from itertools import pairwise, takewhile

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array

from ..groups import Group

__all__ = ["Basis", "Eigenspace", "OracleCalls"]

#: Bound, in bytes, on the table of frame functions that a blocked evaluation holds at once.
BLOCK_BYTES = 64 * 2**20


@dataclass(frozen=True)
class Eigenspace:
    """One eigenspace: its label (what `degree` counts), its eigenvalue and its dimension."""

    label: float
    eigenvalue: float
    dimension: int


@dataclass
class OracleCalls:
    """How often the paper's two oracles were asked.

    Attributes
    ----------
    eigenfunctions : int
        Oracle one: values phi(x), one a function and point.
    inner_products : int
        Oracle two: entries <phi o g, phi'> that were computed, one a pair and generator. A
        structured action computes only its non-zero entries.
    """

    eigenfunctions: int = 0
    inner_products: int = 0

    @property
    def total(self) -> int:
        return self.eigenfunctions + self.inner_products


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

    n_features: int
    manifold_dimension: int
    volume: float
    degree: float | None

    # ------------------------------------------------------------------ the spectrum
    @abstractmethod
    def spectrum(self) -> Iterator[Eigenspace]:
        """All eigenspaces in ascending order, from formulas: no function is enumerated."""

    @abstractmethod
    def counting(self, eigenvalues: ArrayLike) -> NDArray:
        """The counting function: dimension of all eigenspaces with eigenvalue <= each value."""

    def truncate(
        self, degree: float | None = None, cutoff: float | None = None, warn: bool = True
    ) -> Basis:
        """A finite basis of the same manifold.

        Parameters
        ----------
        degree : int or float, optional
            Label of the highest eigenspace kept.
        cutoff : float, optional
            Keep the eigenspaces with D_lambda <= cutoff (Soleymani et al. 2025, algorithm 1).
        warn : bool
            Warn when the cutoff falls inside an eigenspace and is rounded down.

        Raises
        ------
        ValueError
            Unless exactly one of the two is given, or for a cutoff below one.
        """
        if (degree is None) == (cutoff is None):
            raise ValueError(f"give either degree or cutoff, got {degree=} and {cutoff=}")
        if cutoff is None:
            return self._with_degree(degree)
        if not cutoff >= 1:
            raise ValueError(f"cutoff must be at least 1 (the constant function), got {cutoff!r}")
        total, last = 0, None
        # n^(1/(1+alpha)) of a perfect power falls short of it by rounding.
        limit = cutoff * (1 + 1e-12)
        for space in self.spectrum():
            if total + space.dimension > limit:
                break
            total, last = total + space.dimension, space
        if warn and total != cutoff:
            warnings.warn(
                f"cutoff={cutoff:g} falls inside the eigenspace of eigenvalue "
                f"{space.eigenvalue:.6g} ({space.dimension} functions, {total + 1} to "
                f"{total + space.dimension}); it was rounded down to D={total} because cutting "
                "an eigenspace would break exact invariance",
                UserWarning,
                stacklevel=2,
            )
        return self._with_degree(last.label)

    def _with_degree(self, degree: float) -> Basis:
        return type(self)(**{**self.get_params(deep=False), "degree": degree})

    @property
    def eigenspaces_(self) -> list[Eigenspace]:
        if self.degree is None:
            raise ValueError(f"{self!r} has infinitely many functions; truncate it first")
        if not np.isreal(self.degree) or not self.degree >= 0:
            raise ValueError(f"degree must be a non-negative number, got {self.degree!r}")
        # Asked for once an eigenspace, so kept, for as long as the parameters stay the same.
        parameters = {name: v for name, v in vars(self).items() if not name.startswith("_")}
        if getattr(self, "_kept", (None,))[0] != parameters:
            limit = self.degree + 1e-9 * max(1, abs(self.degree))
            kept = list(takewhile(lambda space: space.label <= limit, self.spectrum()))
            self._kept = (parameters, kept)
        return self._kept[1]

    @property
    def labels_(self) -> NDArray:
        return np.array([space.label for space in self.eigenspaces_])

    @property
    def eigenvalues_(self) -> NDArray:
        return np.array([space.eigenvalue for space in self.eigenspaces_], dtype=float)

    @property
    def dimensions_(self) -> NDArray:
        return np.array([space.dimension for space in self.eigenspaces_], dtype=int)

    @property
    def counts_(self) -> NDArray:
        return np.cumsum(self.dimensions_)

    @property
    def n_functions_(self) -> int:
        return int(self.dimensions_.sum())

    def slices(self) -> list[slice]:
        """Where each kept eigenspace stands among the columns of `evaluate`."""
        edges = np.concatenate([[0], self.counts_])
        return [slice(int(a), int(b)) for a, b in pairwise(edges)]

    # ------------------------------------------------------------------ evaluation (oracle one)
    @abstractmethod
    def sample(self, n_samples: int, random_state=None) -> NDArray:
        """Points drawn independently from the uniform measure, shape (n_samples, n_features)."""

    @abstractmethod
    def frame(self, k: int) -> sparse.csr_array:
        """B_k, shape (dimension, frame size): eigenspace k's basis in terms of its frame."""

    @abstractmethod
    def _frames(self, X: NDArray, wanted: list[NDArray]) -> list[NDArray]:
        """Frame functions ``wanted[k]`` of each kept eigenspace, each of shape (chosen, n)."""

    def check_points(self, X: ArrayLike) -> NDArray:
        """X as floats of shape (n, n_features), on the manifold."""
        X = check_array(X, dtype=np.float64)
        if X.shape[1] != self.n_features:
            raise ValueError(
                f"points of {type(self).__name__} have {self.n_features} coordinates, "
                f"got {X.shape[1]}"
            )
        return X

    def evaluate(self, X: ArrayLike, calls: OracleCalls | None = None) -> NDArray:
        """Values of all kept eigenfunctions.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        calls : OracleCalls, optional
            Counts the values computed.

        Returns
        -------
        ndarray of shape (n, D), columns by eigenspace as `slices` says
        """
        return self.combine(X, sparse.eye_array(self.n_functions_, format="csr"), calls)

    def combine(self, X: ArrayLike, weights, calls: OracleCalls | None = None) -> NDArray:
        """Values of linear combinations of the eigenfunctions, in blocks of points.

        Only the frame functions that some combination uses are evaluated, and at most
        `BLOCK_BYTES` of their values exist at a time.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        weights : array or sparse array of shape (D, r)
            Column j holds the coefficients of the j-th combination.
        calls : OracleCalls, optional

        Returns
        -------
        ndarray of shape (n, r)
        """
        X = self.check_points(X)
        weights = sparse.csr_array(weights)
        wanted, mixed = [], []
        for k, columns in enumerate(self.slices()):
            mix = sparse.csr_array(self.frame(k).T @ weights[columns])
            chosen = np.flatnonzero(np.diff(mix.indptr))
            wanted.append(chosen)
            mixed.append(_dense_if_full(mix[chosen]))
        if calls is not None:
            calls.eigenfunctions += len(X) * int(np.count_nonzero(np.diff(weights.indptr)))
        values = np.empty((len(X), weights.shape[1]))
        step = max(1, BLOCK_BYTES // (8 * max(1, self._frame_cost(wanted))))
        for start in range(0, len(X), step):
            rows = slice(start, start + step)
            parts = self._frames(X[rows], wanted)
            values[rows] = sum(mix.T @ part for mix, part in zip(mixed, parts, strict=True)).T
        return values

    def _frame_cost(self, wanted: list[NDArray]) -> int:
        """Numbers held per point while `_frames` works."""
        return sum(len(chosen) for chosen in wanted)

    # ------------------------------------------------------------------ actions (oracle two)
    @abstractmethod
    def frame_action(self, k: int, matrix: NDArray, shift: NDArray):
        """F with ``psi(A x + t) = F psi(x)`` for eigenspace k's frame; sparse or dense."""

    @abstractmethod
    def isometries(self, group: Group, elements: ArrayLike) -> tuple[NDArray, NDArray]:
        """The maps ``x -> A x + t`` by which elements act: shapes (r, d, d) and (r, d).

        Raises
        ------
        ValueError
            When an element does not act on this manifold by such an isometry.
        """

    def representation(
        self, k: int, group: Group, elements: ArrayLike, calls: OracleCalls | None = None
    ) -> list[sparse.csr_array]:
        r"""The orthogonal matrices of the elements on the k-th kept eigenspace (oracle two).

        .. math:: D^\lambda(g)_{l l'} = \langle \phi_{\lambda, l} \circ g, \phi_{\lambda, l'}
                  \rangle, \qquad \phi_\lambda(g x) = D^\lambda(g)\, \phi_\lambda(x).

        Parameters
        ----------
        k : int
            Position of the eigenspace among the kept ones.
        group : Group
        elements : array of shape (r, ...)
        calls : OracleCalls, optional

        Returns
        -------
        list of r sparse arrays of shape (dimension, dimension)
        """
        frame = self.frame(k)
        matrices = []
        for matrix, shift in zip(*self.isometries(group, elements), strict=True):
            action = self.frame_action(k, matrix, shift)
            matrices.append(sparse.csr_array(frame @ action @ frame.T))
            if calls is not None:
                calls.inner_products += matrices[-1].nnz
        return matrices

    def _affine(self, group: Group, elements: ArrayLike, scale: float, wrap) -> tuple:
        """A and t of ``x -> A x + t``, read off the images of a few points and then checked."""
        d = self.n_features
        if group.n_features not in (None, d):
            raise ValueError(
                f"{group!r} acts on {group.n_features} coordinates, but the points of "
                f"{type(self).__name__} have {d}"
            )
        elements = np.asarray(elements)
        if len(elements) == 0:
            return np.empty((0, d, d)), np.empty((0, d))
        others = np.random.default_rng(0).uniform(-scale, scale, size=(3, d))
        images = group.act(elements, np.concatenate([np.zeros((1, d)), scale * np.eye(d), others]))
        shifts = images[:, 0]
        matrices = wrap(images[:, 1 : d + 1] - shifts[:, None]).swapaxes(1, 2) / scale
        predicted = others @ matrices.swapaxes(1, 2) + shifts[:, None]
        gap = np.abs(wrap(images[:, d + 1 :] - predicted)).max(axis=(1, 2)) / scale
        if gap.max() > 1e-8:
            raise ValueError(
                f"element {int(gap.argmax())} of {group!r} does not act on the eigenfunctions of "
                f"{type(self).__name__}: it is no map x -> A x + t (off by {gap.max():.2g})"
            )
        return matrices, shifts


def _dense_if_full(matrix: sparse.csr_array):
    """Dense products are faster once a good share of the entries is there."""
    return matrix.toarray() if matrix.nnz > 0.2 * np.prod(matrix.shape) else matrix


def signed_permutation(matrix: NDArray) -> tuple[NDArray, NDArray] | None:
    """perm and signs with ``(A x)[i] = signs[i] x[perm[i]]``, or None when A is no such matrix.

    >>> import numpy as np
    >>> signed_permutation(np.array([[0.0, -1.0], [1.0, 0.0]]))
    (array([1, 0]), array([-1.,  1.]))
    """
    rounded = np.round(matrix)
    if np.abs(matrix - rounded).max() > 1e-12:
        return None
    hits = rounded != 0
    if not (np.all(hits.sum(axis=0) == 1) and np.all(hits.sum(axis=1) == 1)):
        return None
    perm = hits.argmax(axis=1)
    signs = rounded[np.arange(len(perm)), perm]
    return (perm, signs) if np.all(np.abs(signs) == 1) else None
