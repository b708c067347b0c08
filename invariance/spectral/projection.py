r"""`project`: the nearest invariant coefficients, by five ways that agree.

Algorithm 1 of Soleymani et al. 2025 solves, in every eigenspace,

.. math:: \min_f |f - \tilde f|^2 \quad \text{subject to} \quad D^\lambda(g) f = f
          \text{ for every generator } g.

The constraints say that f is invariant, so the solution is the orthogonal projection onto the
invariant subspace, which is also the average of f~ over the whole group (Reynolds operator).
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ..groups import FiniteGroup
from .actions import Actions, check_finite_order
from .base import Basis, OracleCalls
from .null_space import null_projection, null_vectors
from .orbit_sums import orbit_average, orbit_sums

__all__ = ["METHODS", "invariant_subspace", "project"]

METHODS = ("auto", "components", "null_space", "closed_form", "qp", "reynolds")


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
    check_finite_order(group, maps)
    for k, rows in enumerate(basis.slices()):
        actions = Actions(basis, k, maps, calls)
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
    check_finite_order(group, maps)
    found = []
    for k in range(len(basis.labels_)):
        actions = Actions(basis, k, maps, calls)
        if method != "null_space" and actions.permutations() is not None:
            found.append(orbit_sums(actions))
        elif method == "components":
            raise _no_permutation(actions)
        else:
            found.append(null_vectors(actions))
    return found


def _project_one(actions: Actions, f: NDArray, method: str) -> NDArray:
    if method in ("auto", "components"):
        permutations = actions.permutations()
        if permutations is not None:
            return orbit_average(actions, permutations, f)
        if method == "components":
            raise _no_permutation(actions)
        method = "null_space"
    if method == "reynolds":
        return sum(matrix @ f for matrix in actions.matrices()) / len(actions.maps[0])
    if not len(actions.maps[0]):
        return f.copy()
    if method == "null_space":
        return null_projection(actions.matrices(), f)
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


def _no_permutation(actions: Actions) -> ValueError:
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
