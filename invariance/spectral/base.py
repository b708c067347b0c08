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
from itertools import islice, pairwise, takewhile
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from ..core.arrays import check_array
from ..core.config import block_bytes_of
from ..core.parameters import (
    Flag,
    Has,
    Number,
    ParameterError,
    check_parameters,
    check_values,
    short,
)
from ..groups import Transformations

__all__ = ["BASIS", "GROUP", "Basis", "Eigenspace", "OracleCalls"]

#: What may be given for the parameters ``basis`` and ``group``.
BASIS = Has("a basis, such as Sphere(3)", "spectrum", "frame_action", "truncate", "combine")
GROUP = Has("a group, such as Permutations(3)", "act", "sample")

#: The maps ``x -> A x + t`` of some elements: matrices (r, d, d) and shifts (r, d).
Maps: TypeAlias = tuple[NDArray, NDArray]

_Value = TypeVar("_Value")


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


#: Eigenspaces that a basis may list.
SPACES_LIMIT = 50_000


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
    def manifold_dimension(self) -> int:
        """Dimension d of the manifold in the paper's rates."""

    @property
    @abstractmethod
    def volume(self) -> float:
        """The manifold's volume."""

    # ------------------------------------------------------------------ the spectrum
    @abstractmethod
    def spectrum(self) -> Iterator[Eigenspace]:
        """All eigenspaces in ascending order, from formulas: no function is enumerated."""

    @abstractmethod
    def counting(self, eigenvalues: ArrayLike) -> NDArray:
        """The counting function: dimension of all eigenspaces with eigenvalue <= each value."""

    def truncate(
        self, degree: float | None = None, cutoff: float | None = None, *, warn: bool = True
    ) -> Self:
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
        ParameterError
            Unless exactly one of the two is given, or for a cutoff below one.
        """
        if (degree is None) == (cutoff is None):
            raise ParameterError(f"give either degree or cutoff, got {degree=} and {cutoff=}")
        if cutoff is None:
            return self._with_degree(degree)
        kinds = {"cutoff": Number(1), "warn": Flag()}
        check_values(f"{type(self).__name__}.truncate", kinds, {"cutoff": cutoff, "warn": warn})
        total, label = 0, 0.0
        # n^(1/(1+alpha)) of a perfect power falls short of it by rounding.
        limit = cutoff * (1 + 1e-12)
        for space in self.spectrum():
            if total + space.dimension > limit:
                break
            total, label = total + space.dimension, space.label
        if warn and total != cutoff:
            warnings.warn(
                f"cutoff={cutoff:g} falls inside the eigenspace of eigenvalue "
                f"{space.eigenvalue:.6g} ({space.dimension} functions, {total + 1} to "
                f"{total + space.dimension}); it was rounded down to D={total} because cutting "
                "an eigenspace would break exact invariance",
                UserWarning,
                stacklevel=2,
            )
        return self._with_degree(label)

    def _with_degree(self, degree: float | None) -> Self:
        return type(self)(**{**self.get_params(deep=False), "degree": degree})

    def without_degree(self) -> Self:
        """The manifold itself, of infinitely many functions."""
        return self._with_degree(None)

    @property
    def eigenspaces_(self) -> list[Eigenspace]:
        self._check()
        degree = self.degree
        if degree is None:
            raise ParameterError(
                f"{self!r} has degree None, hence infinitely many functions; truncate it first"
            )
        return self._kept("eigenspaces", lambda: self._spaces(float(degree)))

    def _spaces(self, degree: float) -> list[Eigenspace]:
        """The eigenspaces up to a degree."""
        limit = degree + 1e-9 * max(1, abs(degree))
        below = takewhile(lambda space: space.label <= limit, self.spectrum())
        found = list(islice(below, SPACES_LIMIT + 1))
        self._check_number(len(found), degree)
        return found

    def _check_number(self, n_spaces: int, degree: float) -> None:
        if n_spaces > SPACES_LIMIT:
            raise ParameterError(
                f"{short(self)}: more than {SPACES_LIMIT} eigenspaces lie below {degree=:g}; "
                "lower it"
            )

    def _check(self) -> None:
        """Refuse wrong parameters; those that were looked at are not looked at again."""
        self._kept("checked", lambda: check_parameters(self))

    def _kept(self, name: str, make: Callable[[], _Value]) -> _Value:
        """What was computed before, for as long as the parameters stay the same."""
        parameters = {key: v for key, v in vars(self).items() if not key.startswith("_")}
        if getattr(self, "_memory", (None,))[0] != parameters:
            self._memory: tuple[dict[str, Any], dict[str, Any]] = (parameters, {})
        found = self._memory[1]
        if name not in found:
            found[name] = make()
        return found[name]

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {key: value for key, value in state.items() if key != "_memory"}

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

    def frame_edges(self) -> NDArray:
        """Where each eigenspace's frame starts when all stand in a row; shape (K + 1,)."""
        return self._kept(
            "edges",
            lambda: np.cumsum(
                [0] + [self.frame(k).shape[1] for k in range(len(self.eigenspaces_))]
            ),
        )

    def _whole_frame(self) -> sparse.csr_array | None:
        """All B_k as one block-diagonal array; None where the frame is the basis."""
        return self._kept(
            "frame",
            lambda: _block_diagonal([self.frame(k) for k in range(len(self.eigenspaces_))]),
        )

    def check_accuracy(self) -> None:
        """Refuse a basis whose functions rounding errors would spoil; most have none such."""

    @abstractmethod
    def _values(self, X: NDArray, chosen: NDArray) -> NDArray:
        """Frame functions, by their rising places in the row of frames; shape (chosen, n)."""

    def check_points(self, X: ArrayLike) -> NDArray:
        """X as floats of shape (n, n_features), on the manifold."""
        self._check()
        points = check_array(X, dtype=np.float64)
        if points.shape[1] != self.n_features:
            raise ParameterError(
                f"points of {short(self)} have {self.n_features} coordinates, got X with "
                f"{points.shape[1]}"
            )
        return points

    def outside(self, X: NDArray) -> str | None:
        """What to warn of where the points' coordinates look unlike this manifold's; else None."""
        return None

    def evaluate(
        self, X: ArrayLike, calls: OracleCalls | None = None, *, block_bytes: int | None = None
    ) -> NDArray:
        """Values of all kept eigenfunctions.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        calls : OracleCalls, optional
            Counts the values computed.
        block_bytes : int, optional
            Bound, in bytes, on the table of frame functions held at once; None is
            `invariance.config_context`'s.

        Returns
        -------
        ndarray of shape (n, D), columns by eigenspace as `slices` says
        """
        X = self.check_points(X)
        self.check_accuracy()
        D, frame = self.n_functions_, self._whole_frame()
        if calls is not None:
            calls.eigenfunctions += len(X) * D
        chosen = np.arange(D if frame is None else frame.shape[1])
        values = np.empty((D, len(X))).T
        for rows in self._blocks_of(len(X), len(chosen), block_bytes):
            part = self._values(X[rows], chosen)
            values[rows] = (part if frame is None else frame @ part).T
        return values

    def combine(
        self,
        X: ArrayLike,
        weights: ArrayLike | sparse.sparray,
        *,
        calls: OracleCalls | None = None,
        block_bytes: int | None = None,
    ) -> NDArray:
        """Values of linear combinations of the eigenfunctions, in blocks of points.

        Only the frame functions that some combination uses are evaluated.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        weights : array or sparse array of shape (D, r)
            Column j holds the coefficients of the j-th combination.
        calls : OracleCalls, optional
        block_bytes : int, optional
            As in `evaluate`.

        Returns
        -------
        ndarray of shape (n, r)
        """
        X = self.check_points(X)
        self.check_accuracy()
        mix = sparse.csr_array(weights)
        if mix.shape[0] != self.n_functions_:
            raise ParameterError(
                f"weights must have shape ({self.n_functions_}, r) for this basis, got {mix.shape}"
            )
        if calls is not None:
            calls.eigenfunctions += len(X) * int(np.count_nonzero(np.diff(mix.indptr)))
        frame = self._whole_frame()
        if frame is not None:
            # A product with a few columns is much faster dense.
            mix = sparse.csr_array(frame.T @ (mix.toarray() if mix.shape[1] <= 4 else mix))
        chosen = np.flatnonzero(np.diff(mix.indptr))
        values = np.empty((len(X), mix.shape[1]))
        total = self._summation(mix, chosen)
        for rows in self._blocks_of(len(X), len(chosen), block_bytes):
            values[rows] = total(X[rows])
        return values

    def _summation(self, mix: sparse.csr_array, chosen: NDArray) -> Callable[[NDArray], NDArray]:
        """A function from points to weighted sums of the chosen frame functions, (n, r)."""
        short_mix = mix[chosen]
        # Dense products are faster once a good share of the entries is there.
        full = short_mix.nnz > 0.2 * np.prod(short_mix.shape)
        across = (short_mix.toarray() if full else short_mix).T
        return lambda X: (across @ self._values(X, chosen)).T

    def _blocks_of(self, n: int, n_chosen: int, block_bytes: int | None = None) -> Iterator[slice]:
        # The table, and while it is made a part of it again.
        per_point = 16 * max(1, self._values_cost(n_chosen))
        step = max(1, block_bytes_of(block_bytes) // per_point)
        for start in range(0, n, step):
            yield slice(start, start + step)

    def _values_cost(self, n_chosen: int) -> int:
        """Numbers held per point while `_values` works."""
        return n_chosen

    # ------------------------------------------------------------------ actions (oracle two)
    @abstractmethod
    def frame_action(self, k: int, matrix: NDArray, shift: NDArray) -> NDArray | sparse.csr_array:
        """F with ``psi(A x + t) = F psi(x)`` for eigenspace k's frame; sparse or dense."""

    def frame_derivative(self, k: int, matrix: NDArray, shift: NDArray) -> sparse.csr_array:
        """F with ``psi(x + e (A x + t)) = psi(x) + e F psi(x) + O(e^2)``, for small e."""
        raise ParameterError(
            f"{type(self).__name__} knows no derivatives of its functions, which continuous groups "
            "need; take a finite subgroup"
        )

    @abstractmethod
    def isometries(self, group: Transformations, elements: ArrayLike) -> Maps:
        """The maps ``x -> A x + t`` by which elements act: shapes (r, d, d) and (r, d).

        Raises
        ------
        ParameterError
            When an element does not act on this manifold by such an isometry.
        """

    def same_place(self, differences: NDArray) -> NDArray:
        """Differences of coordinates, reduced to zero where they lead back to the same point."""
        return differences

    def exchanges(self) -> Maps:
        """Symmetries that the basis itself brings: generators as maps ``x -> A x + t``."""
        d = self.n_features
        return np.empty((0, d, d)), np.empty((0, d))

    @property
    def n_orders(self) -> int:
        """The order of the group that `exchanges` generate."""
        return 1

    def characters(self, matrix: NDArray, shift: NDArray) -> NDArray:
        """Traces of the map ``x -> A x + t`` on the kept eigenspaces, shape (K,)."""
        raise ParameterError(f"characters are known for Sphere and Torus, not for {self!r}")

    def representation(
        self,
        k: int,
        group: Transformations,
        elements: ArrayLike,
        *,
        calls: OracleCalls | None = None,
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

    def _affine(self, group: Transformations, elements: ArrayLike, scale: float) -> Maps:
        """A and t of ``x -> A x + t``, read off the images of a few points and then checked."""
        d = self.n_features
        if group.n_features not in (None, d):
            raise ParameterError(
                f"{short(group)} acts on {group.n_features} coordinates, but the points of "
                f"{short(self)} have {d}"
            )
        elements = np.asarray(elements)
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
                f"element {int(gap.argmax())} of {short(group)} does not act on the "
                f"eigenfunctions of {type(self).__name__}: it is no map x -> A x + t "
                f"(off by {gap.max():.2g})"
            )
        return matrices, shifts


def _block_diagonal(blocks: list[sparse.csr_array]) -> sparse.csr_array:
    """What ``scipy.sparse.block_diag`` gives, without sorting entries that are in order."""
    heights, widths = (
        np.cumsum([0] + [b.shape[0] for b in blocks]),
        np.cumsum([0] + [b.shape[1] for b in blocks]),
    )
    filled = np.cumsum([0] + [b.nnz for b in blocks])
    starts = [b.indptr[:-1].astype(np.int64) + at for b, at in zip(blocks, filled, strict=False)]
    indices = [b.indices.astype(np.int64) + at for b, at in zip(blocks, widths, strict=False)]
    indptr = np.concatenate([*starts, filled[-1:]])
    data = np.concatenate([b.data for b in blocks])
    shape = (int(heights[-1]), int(widths[-1]))
    return sparse.csr_array((data, np.concatenate(indices), indptr), shape)


def one_a_row(values: NDArray, columns: NDArray) -> sparse.csr_array:
    """The square sparse array with one entry in each row."""
    size = len(values)
    return sparse.csr_array((values, columns, np.arange(size + 1)), (size, size))


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
