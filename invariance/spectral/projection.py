r"""`project` and `invariant_subspace`: the nearest invariant coefficients, by ways that agree.

Algorithm 1 of Soleymani et al. 2025 solves, in every eigenspace,

.. math:: \min_f |f - \tilde f|^2 \quad \text{subject to} \quad D^\lambda(g) f = f
          \text{ for every generator } g.

The constraints say that f is invariant, so the solution is the orthogonal projection onto the
invariant subspace, which is also the average of f~ over the whole group (Reynolds operator).
Where the generators permute a frame up to signs, invariants are sums over its signed orbits;
elsewhere they are the common null space of D - I (`null_space`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from ..core.extras import need
from ..core.parameters import Array, Has, Kind, OneOf, ParameterError, Whole, arguments, short
from ..groups import FiniteGroup, Transformations
from .actions import Actions, Symmetry
from .base import BASIS, GROUP, Basis, OracleCalls
from .null_space import null_projection, null_vectors, range_rows

METHODS = ("auto", "components", "null_space", "closed_form", "qp", "reynolds")

#: In eigenspaces up to this dimension one dense null space is quicker than orbit sums before it.
SMALL = 100

_KINDS: dict[str, Kind] = {
    "basis": BASIS,
    "group": GROUP | None,
    "outputs": GROUP | None,
    "calls": Has("an OracleCalls", "inner_products") | None,
}


@arguments(coefficients=Array(), method=OneOf(*METHODS), **_KINDS)
def project(
    coefficients: ArrayLike,
    basis: Basis,
    group: Transformations | None,
    *,
    method: str = "auto",
    outputs: Transformations | None = None,
    calls: OracleCalls | None = None,
) -> NDArray:
    """The invariant function nearest to an expansion in eigenfunctions.

    Parameters
    ----------
    coefficients : array-like of shape (D,) or (D, m)
        One or m expansions, ordered as the columns of ``basis.evaluate``.
    basis : Basis
        A truncated basis.
    group : FiniteGroup, continuous group or None
        Only its generators, or those of its Lie algebra, are used (except by "reynolds"). None
        leaves what the basis brings itself, such as the exchange of factors.
    method : {"auto", "components", "null_space", "closed_form", "qp", "reynolds"}
        "components": where the generators permute the frame up to signs, average over the
        connected components of that permutation. "null_space": singular value decomposition of
        the blocks of D - I (large blocks: LSMR). Both together where some generators permute the
        frame. "closed_form": proposition C.2,
        ``f - B^T (B B^T)^+ B f``, dense. "qp": the quadratic program with cvxpy, an eigenspace at
        a time. "reynolds": average over all elements. "auto" takes "components" where it can.
    outputs : group, optional
        How values move where they are vectors: elements are written as those of ``group`` and act
        on the m columns, which are then one function with f(g x) = g f(x), *equivariant*. Such
        functions are the invariants of pairs of an eigenfunction and an output, so that the same
        programs find the nearest one. As many outputs as coordinates are exchanged with factors
        that the basis exchanges; others stay.
    calls : OracleCalls, optional
        Counts the entries of D asked for.

    Returns
    -------
    ndarray of the shape of ``coefficients``

    Raises
    ------
    ParameterError
        For a wrong length, an unknown method, a group that does not act on the basis, a generator
        of infinite order, or "components" where the generators do not permute the frame.
    ImportError
        For "qp" without cvxpy.

    Examples
    --------
    >>> from invariance.groups import SignFlips
    >>> from invariance.spectral import Torus
    >>> basis = Torus(1, degree=1)                         # 1, sqrt2 cos, sqrt2 sin
    >>> project([3.0, 2.0, 1.0], basis, SignFlips(1))
    array([3., 2., 0.])
    """
    coefficients = np.asarray(coefficients, dtype=float)
    if coefficients.ndim not in (1, 2) or len(coefficients) != basis.n_functions_:
        raise ParameterError(
            f"coefficients must have shape ({basis.n_functions_},) or ({basis.n_functions_}, m) "
            f"for {short(basis)}, got shape {coefficients.shape}: {short(coefficients)}"
        )
    columns = coefficients.reshape(len(coefficients), -1)
    result = np.empty_like(columns)
    made = Symmetry.listed if method == "reynolds" else Symmetry.generated
    symmetry = made(basis, group, outputs, columns.shape[1])
    for k, rows in enumerate(basis.slices()):
        # with outputs, all columns are one vector
        f = columns[rows] if outputs is None else columns[rows].reshape(-1, 1)
        found = _project_one(Actions(basis, k, symmetry, calls), f, method)
        result[rows] = found.reshape(columns[rows].shape)
    return result.reshape(coefficients.shape)


@arguments(method=OneOf("auto", "components", "null_space"), n_outputs=Whole(1), **_KINDS)
def invariant_subspace(
    basis: Basis,
    group: Transformations | None,
    *,
    method: str = "auto",
    outputs: Transformations | None = None,
    n_outputs: int = 1,
    calls: OracleCalls | None = None,
) -> list[sparse.csc_array]:
    """An orthonormal basis of the invariant functions in each kept eigenspace.

    Parameters
    ----------
    basis : Basis
        A truncated basis.
    group : FiniteGroup, continuous group or None
    method : {"auto", "components", "null_space"}
    outputs : group, optional
        As in `project`: instead, the equivariant functions with ``n_outputs`` values p.
    n_outputs : int
    calls : OracleCalls, optional

    Returns
    -------
    list of sparse arrays of shape (dimension, invariant dimension); with ``outputs`` (dimension p,
    equivariant dimension), the outputs of one eigenfunction side by side

    Examples
    --------
    >>> from invariance.groups import Permutations, Rotations3D
    >>> from invariance.spectral import Sphere
    >>> [u.shape[1] for u in invariant_subspace(Sphere(30, degree=3), Permutations(30))]
    [1, 1, 1, 2]
    >>> [u.shape[1] for u in invariant_subspace(Sphere(3, degree=3), Rotations3D())]
    [1, 0, 0, 0]
    """
    symmetry = Symmetry.generated(basis, group, outputs, n_outputs)
    spaces = range(len(basis.labels_))
    return [invariant_vectors(Actions(basis, k, symmetry, calls), method) for k in spaces]


def invariant_vectors(actions: Actions, method: str = "auto") -> sparse.csc_array:
    """Orthonormal invariant vectors of one eigenspace.

    Orbit sums for the generators that permute the frame, then, within their span, the null space
    that the other generators leave.
    """
    size = actions.size
    if method == "components" and actions.mixing:
        raise _no_orbit_sums(actions)
    if method == "null_space" or (actions.mixing and (size <= SMALL or not len(actions.perms))):
        defects = actions.defects()
        unit = sparse.eye_array(size, format="csc")
        return null_vectors(defects, actions.k) if defects else unit
    sums = _orbit_sums(actions)
    if not actions.mixing or sums.shape[1] == 0:
        return sums
    within = actions.defects(actions.others, sums)
    return sparse.csc_array(sums @ null_vectors(within, actions.k))


def _project_one(actions: Actions, f: NDArray, method: str) -> NDArray:
    if method == "reynolds":
        matrices = actions.matrices(actions.on_frame)
        return sum(matrix @ f for matrix in matrices) / len(matrices)
    if method == "components" and actions.mixing:
        raise _no_orbit_sums(actions)
    if method in ("auto", "components"):
        if not actions.mixing:
            return _orbit_average(actions, f)
        if len(actions.perms) and actions.size > SMALL:
            vectors = invariant_vectors(actions, method)
            return np.asarray(vectors @ (vectors.T @ f))
    defects = actions.defects()
    if not defects:
        return f.copy()
    if method in ("auto", "null_space"):
        return null_projection(defects, f)
    if method == "closed_form":
        stacked = sparse.vstack(defects).toarray()
        # The pseudo-inverse with an absolute threshold: B may vanish up to rounding, where a
        # threshold relative to its largest singular value would invert the rounding errors.
        values, vectors = np.linalg.eigh(stacked @ stacked.T)
        kept = values > 1e-12
        inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
        return np.asarray(f - stacked.T @ (inverse @ (stacked @ f)))
    # Where the generators permute the frame, B is right entry by entry and stays sparse.
    constraints = range_rows(defects) if actions.mixing else sparse.vstack(defects, format="csr")
    return np.stack([_quadratic_program(constraints, column) for column in f.T], axis=1)


def _no_orbit_sums(actions: Actions) -> ParameterError:
    return ParameterError(
        f"the generators do not permute the functions of eigenspace {actions.k} up to signs, so "
        "its invariants are no orbit sums; use method='null_space' (or 'auto')"
    )


def _quadratic_program(constraints: sparse.csr_array, target: NDArray) -> NDArray:
    """min |f - target|^2 subject to B f = 0 (eq. 10)."""
    cp = need("cvxpy", "qp")
    scale = np.linalg.norm(target)
    if scale == 0 or constraints.shape[0] == 0:
        return target.copy()
    f = cp.Variable(len(target))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(f - target / scale)), [constraints @ f == 0])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-13, tol_gap_rel=1e-13, tol_feas=1e-13)
    if f.value is None:
        raise RuntimeError(
            f"the quadratic program of an eigenspace of {len(target)} functions was not solved "
            f"({problem.status}); use method='auto', which needs no solver"
        )
    return np.asarray(scale * f.value)


def _signed_orbits(actions: Actions) -> tuple[NDArray, NDArray, NDArray]:
    """Orbits of frame functions up to sign.

    Invariance asks ``c[perm[a]] = sign[a] c[a]``. On the double cover with nodes (a, +) and
    (a, -) that is plain connectedness; an orbit that meets its own negative carries only zero.

    Returns
    -------
    orbit : ndarray of int, the orbit's number, -1 where the coefficient must vanish
    sign : ndarray of float
    sizes : ndarray of int, one per orbit
    """
    perms, size = actions.perms, actions.perms.shape[1]
    if not len(perms):
        return np.arange(size), np.ones(size), np.ones(size, dtype=int)
    doubled = bool(np.any(actions.signs < 0))
    if doubled:
        flipped = (actions.signs < 0) * size
        perms = np.concatenate([perms + flipped, perms + size - flipped], axis=1)
    # The graph that joins node a with perms[i][a] for every i.
    ends = np.arange(0, perms.size + 1, len(perms))
    graph = sparse.csr_array((np.ones(perms.size, dtype=np.int8), perms.T.ravel(), ends))
    label = connected_components(graph, directed=False)[1]
    if not doubled:
        return label, np.ones(size), np.bincount(label)
    plus, minus = label[:size], label[size:]
    sign = np.where(plus < minus, 1.0, -1.0)
    orbit = np.full(size, -1)
    free = plus != minus
    _, orbit[free] = np.unique(np.minimum(plus, minus)[free], return_inverse=True)
    return orbit, sign, np.bincount(orbit[free])


def _orbit_average(actions: Actions, f: NDArray) -> NDArray:
    """Average over signed orbits of the frame.

    The frame's own average over the group commutes with B_k^T B_k (every isometry does), so
    averaging there and reading off the basis coefficients averages in the basis.
    """
    in_frame = actions.frame.T @ f
    orbit, sign, sizes = _signed_orbits(actions)
    free = orbit >= 0
    averaged = np.zeros_like(in_frame)
    for column, target in zip(in_frame.T, averaged.T, strict=True):
        sums = np.bincount(orbit[free], (sign * column)[free], len(sizes))
        target[free] = sign[free] * (sums / sizes)[orbit[free]]
    return np.asarray(actions.frame @ averaged)


def _orbit_sums(actions: Actions) -> sparse.csc_array:
    """Orthonormal invariant vectors, shape (dimension, r), in terms of the eigenspace's basis."""
    orbit, sign, sizes = _signed_orbits(actions)
    free = orbit >= 0
    entries = sign[free] / np.sqrt(sizes[orbit[free]])
    ends = np.concatenate([[0], np.cumsum(free)])
    sums = sparse.csr_array((entries, orbit[free], ends), (len(orbit), len(sizes)))
    if actions.plain:
        return sums
    vectors = sparse.csc_array(actions.frame @ sums)
    if actions.size == len(orbit):
        return vectors
    # Orbit sums span invariants of the whole frame; B_k annihilates those outside the eigenspace
    # and keeps the others' lengths, so the Gram matrix is a projector: eigenvalues 0 and 1.
    values, mix = np.linalg.eigh((vectors.T @ vectors).toarray())
    return sparse.csc_array(vectors @ mix[:, values > 0.5])


@arguments(
    basis=Has("a truncated basis, such as Sphere(3, degree=8)", "characters"),
    group=Has("a finite group, such as Permutations(3)", "act", "generators"),
)
def invariant_dimensions(basis: Basis, group: FiniteGroup) -> NDArray:
    r"""Number of invariant functions in each kept eigenspace, without finding a single one.

    The mean character, :math:`\frac1{|G|} \sum_g \operatorname{tr} D^\lambda(g)`; the traces have
    generating functions, on the sphere Molien's, on the torus a product of theta series. It lists
    the group, so its order must be moderate; the eigenspaces may be huge.

    Parameters
    ----------
    basis : Basis
        A truncated `Sphere`, `Torus` or `Circle`.
    group : FiniteGroup

    Returns
    -------
    ndarray of int, shape (K,)

    Raises
    ------
    ParameterError
        For other bases.

    Examples
    --------
    >>> from invariance.groups import SignFlips
    >>> from invariance.spectral import Torus
    >>> invariant_dimensions(Torus(10, degree=3), SignFlips(10))
    array([  1,  10,  45, 120])
    """
    elements = group.elements()
    maps = zip(*basis.isometries(group, elements), strict=True)
    total = sum(basis.characters(matrix, shift) for matrix, shift in maps)
    return np.rint(total / len(elements)).astype(int)
