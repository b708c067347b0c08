r"""`project`: the nearest invariant coefficients, by five ways that agree.

Algorithm 1 of Soleymani et al. 2025 solves, in every eigenspace,

.. math:: \min_f |f - \tilde f|^2 \quad \text{subject to} \quad D^\lambda(g) f = f
          \text{ for every generator } g.

The constraints say that f is invariant, so the solution is the orthogonal projection onto the
invariant subspace, which is also the average of f~ over the whole group (Reynolds operator).
"""

from __future__ import annotations

from fractions import Fraction

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import lsmr

from ..groups import FiniteGroup
from .base import Basis, OracleCalls

__all__ = ["METHODS", "invariant_subspace", "project"]

METHODS = ("auto", "components", "null_space", "closed_form", "qp", "reynolds")

#: Larger irreducible blocks of D - I go to LSMR instead of a dense singular value decomposition.
DENSE_BLOCK = 1500

#: A generator's eigenvalues must be roots of unity of at most this order.
MAX_ORDER = 2000

#: Singular values of D - I below this are zero: D is orthogonal, so the scale is known.
ZERO = 1e-8


def project(
    coefficients: ArrayLike,
    basis: Basis,
    group: FiniteGroup,
    method: str = "auto",
    calls: OracleCalls | None = None,
) -> NDArray:
    """The invariant function nearest to an expansion in eigenfunctions.

    Parameters
    ----------
    coefficients : array-like of shape (D,) or (D, m)
        One or m expansions, ordered as the columns of ``basis.evaluate``.
    basis : Basis
        A truncated basis.
    group : FiniteGroup
        Only its generators are used (except by "reynolds").
    method : {"auto", "components", "null_space", "closed_form", "qp", "reynolds"}
        "components": where the generators permute the frame up to signs, average over the
        connected components of that permutation. "null_space": singular value decomposition of
        the blocks of D - I (large blocks: LSMR). "closed_form": proposition C.2,
        ``f - B^T (B B^T)^+ B f``, dense. "qp": the quadratic program with cvxpy, an eigenspace at
        a time. "reynolds": average over all elements. "auto" takes "components" where it can.
    calls : OracleCalls, optional
        Counts the entries of D asked for.

    Returns
    -------
    ndarray of the shape of ``coefficients``

    Raises
    ------
    ValueError
        For a wrong length, an unknown method, a group that does not act on the basis, a generator
        of infinite order, or "components" where the generators do not permute the frame.

    Examples
    --------
    >>> from invariance.groups import SignFlips
    >>> from invariance.spectral import Torus
    >>> basis = Torus(1, degree=1)                         # 1, sqrt2 cos, sqrt2 sin
    >>> project([3.0, 2.0, 1.0], basis, SignFlips(1))
    array([3., 2., 0.])
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}")
    coefficients = np.asarray(coefficients, dtype=float)
    if coefficients.ndim not in (1, 2) or len(coefficients) != basis.n_functions_:
        raise ValueError(
            f"coefficients must have shape ({basis.n_functions_},) or ({basis.n_functions_}, m) "
            f"for this basis, got {coefficients.shape}"
        )
    columns = coefficients.reshape(len(coefficients), -1)
    result = np.empty_like(columns)
    elements = group.elements() if method == "reynolds" else group.generators()
    maps = basis.isometries(group, elements)
    _check_finite_order(group, maps)
    for k, rows in enumerate(basis.slices()):
        actions = _Actions(basis, k, maps, calls)
        result[rows] = _project_one(actions, columns[rows], method)
    return result.reshape(coefficients.shape)


def invariant_subspace(
    basis: Basis, group: FiniteGroup, method: str = "auto", calls: OracleCalls | None = None
) -> list[sparse.csc_array]:
    """An orthonormal basis of the invariant functions in each kept eigenspace.

    Parameters
    ----------
    basis : Basis
        A truncated basis.
    group : FiniteGroup
    method : {"auto", "components", "null_space"}
    calls : OracleCalls, optional

    Returns
    -------
    list of sparse arrays of shape (dimension, invariant dimension)

    Examples
    --------
    >>> from invariance.groups import Permutations
    >>> from invariance.spectral import Sphere
    >>> [u.shape[1] for u in invariant_subspace(Sphere(30, degree=3), Permutations(30))]
    [1, 1, 1, 2]
    """
    if method not in ("auto", "components", "null_space"):
        raise ValueError(f"method must be auto, components or null_space, got {method!r}")
    maps = basis.isometries(group, group.generators())
    _check_finite_order(group, maps)
    found = []
    for k in range(len(basis.labels_)):
        actions = _Actions(basis, k, maps, calls)
        if method != "null_space" and actions.permutations() is not None:
            found.append(_component_vectors(actions))
        elif method == "components":
            raise _no_permutation(actions)
        else:
            found.append(_null_vectors(actions))
    return found


def _check_finite_order(group: FiniteGroup, maps: tuple[NDArray, NDArray]) -> None:
    """Refuse matrices that turn by an irrational angle.

    Their invariants exist, but a group that holds such a matrix is infinite, which the caller
    did not mean: the usual cause is a mistyped angle.
    """
    for i, matrix in enumerate(maps[0]):
        turns = np.angle(np.linalg.eigvals(matrix)) / (2 * np.pi)
        for turn in turns:
            if abs(turn - float(Fraction(turn).limit_denominator(MAX_ORDER))) > 1e-11:
                raise ValueError(
                    f"element {i} of {group!r} turns by {abs(turn):.9g} of a full turn, which is "
                    f"no fraction with a denominator up to {MAX_ORDER}: it generates no finite "
                    "group (of manageable order)"
                )


class _Actions:
    """How given isometries act on one eigenspace, computed when first asked for."""

    def __init__(self, basis: Basis, k: int, maps, calls: OracleCalls | None):
        self.basis, self.k, self.maps, self.calls = basis, k, maps, calls
        self.frame = basis.frame(k)
        self._frame_actions = None

    def on_frame(self) -> list:
        if self._frame_actions is None:
            self._frame_actions = [
                self.basis.frame_action(self.k, matrix, shift)
                for matrix, shift in zip(*self.maps, strict=True)
            ]
        return self._frame_actions

    def permutations(self) -> list[tuple[NDArray, NDArray]] | None:
        """Each action as (perm, signs) on the frame, or None when one is no signed permutation."""
        found = []
        for action in self.on_frame():
            if not sparse.issparse(action):
                return None
            one_each = np.all(np.diff(action.indptr) == 1)
            if not one_each or np.any(np.abs(action.data) != 1):
                return None
            found.append((action.indices, action.data))
        if self.calls is not None:
            self.calls.inner_products += sum(len(perm) for perm, _ in found)
        return found

    def matrices(self, every_entry: bool = False) -> list[sparse.csr_array]:
        """D^lambda(g), sparse; ``every_entry`` counts the zeros as asked for, too."""
        found = [sparse.csr_array(self.frame @ a @ self.frame.T) for a in self.on_frame()]
        if self.calls is not None:
            self.calls.inner_products += sum(
                matrix.shape[0] ** 2 if every_entry else matrix.nnz for matrix in found
            )
        return found

    def constraints(self) -> sparse.csr_array:
        """B, the stacked D^lambda(g) - I, set up entry by entry as the paper counts it."""
        size = self.frame.shape[0]
        unit = sparse.eye_array(size, format="csr")
        stacked = [matrix - unit for matrix in self.matrices(every_entry=True)]
        return sparse.csr_array(sparse.vstack(stacked))


def _project_one(actions: _Actions, f: NDArray, method: str) -> NDArray:
    if method in ("auto", "components"):
        permutations = actions.permutations()
        if permutations is not None:
            return _component_average(actions, permutations, f)
        if method == "components":
            raise _no_permutation(actions)
        method = "null_space"
    if method == "reynolds":
        return sum(matrix @ f for matrix in actions.matrices()) / len(actions.maps[0])
    if not len(actions.maps[0]):
        return f.copy()
    if method == "null_space":
        return _null_projection(actions.matrices(), f)
    constraints = actions.constraints()
    if method == "closed_form":
        stacked = constraints.toarray()
        # The pseudo-inverse with an absolute threshold: B may vanish up to rounding, where a
        # threshold relative to its largest singular value would invert the rounding errors.
        values, vectors = np.linalg.eigh(stacked @ stacked.T)
        kept = values > 1e-12
        inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
        return f - stacked.T @ (inverse @ (stacked @ f))
    return np.stack([_quadratic_program(constraints, column) for column in f.T], axis=1)


def _no_permutation(actions: _Actions) -> ValueError:
    return ValueError(
        f"the generators do not permute the functions of eigenspace {actions.k} up to signs, so "
        "its invariants are no orbit sums; use method='null_space' (or 'auto')"
    )


def _quadratic_program(constraints: sparse.csr_array, target: NDArray) -> NDArray:
    """min |f - target|^2 subject to B f = 0 (eq. 10)."""
    scale = np.linalg.norm(target)
    if scale == 0:
        return np.zeros_like(target)
    f = cp.Variable(len(target))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(f - target / scale)), [constraints @ f == 0])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-13, tol_gap_rel=1e-13, tol_feas=1e-13)
    return scale * f.value


# ---------------------------------------------------------------- permuted frames
def _signed_components(permutations, size: int) -> tuple[NDArray, NDArray, NDArray]:
    """Orbits of frame functions up to sign.

    Invariance asks ``c[perm[a]] = sign[a] c[a]``. On the double cover with nodes (a, +) and
    (a, -) that is plain connectedness; an orbit that meets its own negative carries only zero.

    Returns
    -------
    orbit : ndarray of int, the orbit's number, -1 where the coefficient must vanish
    sign : ndarray of float
    sizes : ndarray of int, one an orbit
    """
    if all(np.all(signs > 0) for _, signs in permutations):
        _, orbit = _connected([perm for perm, _ in permutations], size)
        return orbit, np.ones(size), np.bincount(orbit)
    neighbours = []
    for perm, signs in permutations:
        flipped = (signs < 0) * size
        neighbours.append(np.concatenate([perm + flipped, perm + size - flipped]))
    _, label = _connected(neighbours, 2 * size)
    plus, minus = label[:size], label[size:]
    sign = np.where(plus < minus, 1.0, -1.0)
    orbit = np.full(size, -1)
    free = plus != minus
    _, orbit[free] = np.unique(np.minimum(plus, minus)[free], return_inverse=True)
    return orbit, sign, np.bincount(orbit[free])


def _connected(neighbours: list[NDArray], size: int) -> tuple[int, NDArray]:
    """Components of the graph that joins node a with ``neighbours[i][a]`` for every i."""
    if not neighbours:
        return size, np.arange(size)
    edges = np.stack(neighbours, axis=1).ravel()
    ends = np.arange(0, len(edges) + 1, len(neighbours))
    graph = sparse.csr_array((np.ones(len(edges), dtype=np.int8), edges, ends), (size, size))
    return connected_components(graph, directed=False)


def _component_average(actions: _Actions, permutations, f: NDArray) -> NDArray:
    """Average over signed orbits of the frame.

    The frame's own average over the group commutes with B_k^T B_k (every isometry does), so
    averaging there and reading off the basis coefficients averages in the basis.
    """
    in_frame = actions.frame.T @ f
    orbit, sign, sizes = _signed_components(permutations, len(in_frame))
    free = orbit >= 0
    averaged = np.zeros_like(in_frame)
    for column, target in zip(in_frame.T, averaged.T, strict=True):
        sums = np.bincount(orbit[free], (sign * column)[free], len(sizes))
        target[free] = sign[free] * (sums / sizes)[orbit[free]]
    return actions.frame @ averaged


def _component_vectors(actions: _Actions) -> sparse.csc_array:
    size = actions.frame.shape[1]
    orbit, sign, sizes = _signed_components(actions.permutations(), size)
    free = np.flatnonzero(orbit >= 0)
    entries = sign[free] / np.sqrt(sizes[orbit[free]])
    sums = sparse.csc_array((entries, (free, orbit[free])), (size, len(sizes)))
    vectors = sparse.csc_array(actions.frame @ sums)
    if actions.frame.shape[0] == size:
        return vectors
    # Orbit sums span invariants of the whole frame; B_k annihilates those outside the eigenspace
    # and keeps the others' lengths, so the Gram matrix is a projector: eigenvalues 0 and 1.
    values, mix = np.linalg.eigh((vectors.T @ vectors).toarray())
    return sparse.csc_array(vectors @ mix[:, values > 0.5])


# ---------------------------------------------------------------- general actions
def _blocks(matrices: list[sparse.csr_array]) -> list[NDArray]:
    """Index sets that no generator mixes."""
    pattern = sum(abs(matrix) for matrix in matrices)
    number, label = connected_components(pattern, directed=False)
    order = np.argsort(label, kind="stable")
    return np.split(order, np.searchsorted(label[order], np.arange(1, number)))


def _batches(blocks: list[NDArray]) -> list[NDArray]:
    """Blocks of equal size stacked, shape (blocks, size)."""
    sizes = np.array([len(block) for block in blocks])
    return [
        np.stack([blocks[i] for i in np.flatnonzero(sizes == size)]) for size in np.unique(sizes)
    ]


def _stacked(matrices: list[sparse.csr_array], indices: NDArray) -> NDArray:
    """D - I of all generators on several blocks: shape (blocks, generators * size, size)."""
    size = indices.shape[1]
    parts = []
    for matrix in matrices:
        if len(indices) == 1 or matrix.shape[0] <= 2000:
            picked = matrix.toarray()[indices[:, :, None], indices[:, None, :]]
        else:
            picked = np.stack([matrix[block][:, block].toarray() for block in indices])
        parts.append(picked - np.eye(size))
    return np.concatenate(parts, axis=1)


def _null_batch(matrices: list[sparse.csr_array], indices: NDArray) -> list[NDArray]:
    """Orthonormal null vectors of each block, shapes (size, nullity)."""
    _, values, vectors = np.linalg.svd(_stacked(matrices, indices), full_matrices=False)
    doubtful = (values > ZERO / 100) & (values < ZERO * 100)
    if np.any(doubtful):
        raise ValueError(
            f"D - I has a singular value of {values[doubtful][0]:.2g}, which cannot be told from "
            "zero: the generators are orthogonal only approximately, or turn by a tiny angle"
        )
    return [v[s < ZERO].T for s, v in zip(values, vectors, strict=True)]


def _null_vectors(actions: _Actions) -> sparse.csc_array:
    matrices, size = actions.matrices(), actions.frame.shape[0]
    if not matrices:
        return sparse.eye_array(size, format="csc")
    rows, columns, entries, filled = [], [], [], 0
    for indices in _batches(_blocks(matrices)):
        if indices.shape[1] > 2 * DENSE_BLOCK:
            raise ValueError(
                f"the generators mix {indices.shape[1]} functions of eigenspace {actions.k}, more "
                f"than the {2 * DENSE_BLOCK} whose null space is computed; lower the degree, or "
                "use project(), which needs no basis of the invariants"
            )
        for block, vectors in zip(indices, _null_batch(matrices, indices), strict=True):
            nullity = vectors.shape[1]
            rows.append(np.repeat(block, nullity))
            columns.append(np.tile(filled + np.arange(nullity), len(block)))
            entries.append(vectors.ravel())
            filled += nullity
    where = np.concatenate(rows), np.concatenate(columns)
    return sparse.csc_array((np.concatenate(entries), where), (size, filled))


def _null_projection(matrices: list[sparse.csr_array], f: NDArray) -> NDArray:
    result = np.zeros_like(f)
    for indices in _batches(_blocks(matrices)):
        if indices.shape[1] > DENSE_BLOCK:
            for block in indices:
                result[block] = _lsmr_projection(matrices, block, f[block])
            continue
        for block, vectors in zip(indices, _null_batch(matrices, indices), strict=True):
            result[block] = vectors @ (vectors.T @ f[block])
    return result


def _lsmr_projection(matrices: list[sparse.csr_array], block: NDArray, f: NDArray) -> NDArray:
    """f less its part in the row space of B, the minimum-norm solution of B z = B f."""
    unit = sparse.eye_array(len(block), format="csr")
    stacked = sparse.vstack([matrix[block][:, block] - unit for matrix in matrices], format="csr")
    result = np.empty_like(f)
    for j, column in enumerate(f.T):
        result[:, j] = column - lsmr(
            stacked, stacked @ column, atol=1e-14, btol=1e-14, maxiter=20 * len(block)
        )[0]
    return result
