r"""`project` and `invariant_subspace`: the nearest invariant coefficients, by ways that agree.

Algorithm 1 of Soleymani et al. 2025 solves, in every eigenspace,

.. math:: \min_f |f - \tilde f|^2 \quad \text{subject to} \quad D^\lambda(g) f = f
          \text{ for every generator } g.

The constraints say that f is invariant, so the solution is the orthogonal projection onto the
invariant subspace, which is also the average of f~ over the whole group (Reynolds operator).
Where the generators permute a frame up to signs, invariants are sums over its signed orbits;
elsewhere they are the common null space of D - I (`split_space`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from ..core.extras import need
from ..core.parameters import Array, Has, Kind, OneOf, ParameterError, Whole, arguments, short
from ..groups.base import GROUP, FiniteGroup, Transformations
from .actions import Actions, Symmetry
from .base import BASIS, Basis, OracleCalls

METHODS = ("auto", "components", "null_space", "closed_form", "qp", "reynolds")

#: In eigenspaces up to this dimension one dense null space is quicker than orbit sums before it.
SMALL = 100

#: Larger irreducible blocks of D - I take too long to decompose.
LARGEST_BLOCK = 3000

#: Fewer columns are one block: looking for smaller ones takes longer than decomposing it.
ONE_BLOCK = 32

#: Singular values of D - I below this are zero: D is orthogonal, so the scale is known.
ZERO = 1e-8

#: Departure from the conditions of optimality, relative to the coefficients, up to which a
#: solution of the quadratic program is as good as the other methods' answer.
SOLVED = 1e-8

#: Entries of D - I below this are rounding errors and connect nothing.
NOISE = 1e-13

_KINDS: dict[str, Kind] = {"basis": BASIS, "group": GROUP | None, "outputs": GROUP | None}
_KINDS["calls"] = Has("an OracleCalls", "inner_products") | None


@arguments(coefficients=Array(least=-1e305, most=1e305), method=OneOf(*METHODS), **_KINDS)
def project(
    coefficients: ArrayLike,
    basis: Basis,
    group: Transformations | None,
    *,
    method: str = "auto",
    outputs: Transformations | None = None,
    calls: OracleCalls | None = None,
) -> NDArray:
    """The invariant function nearest to an expansion in eigenfunctions, of the same shape.

    Parameters
    ----------
    coefficients : array-like of shape (D,) or (D, m)
        One or m expansions, ordered as the columns of ``basis.evaluate``.
    basis : Basis
        A truncated basis.
    group : FiniteGroup, continuous group or None
        Only its generators are used (but for "reynolds"). None leaves the basis's own exchanges.
    method : {"auto", "components", "null_space", "closed_form", "qp", "reynolds"}
        "components": orbit sums, where the generators permute the frame up to signs. "null_space":
        singular value decomposition of the blocks of D - I. "auto": the first for generators that
        permute, the second for others. "closed_form": proposition C.2, ``f - B^T (B B^T)^+ B f``,
        dense. "qp": the quadratic program, with cvxpy. "reynolds": the average over all elements.
    outputs : group, optional
        How values move where they are vectors: elements are written as those of ``group`` and act
        on the m columns, one function with f(g x) = g f(x), *equivariant*. As many outputs as
        coordinates are exchanged with factors that the basis exchanges; others stay.
    calls : OracleCalls, optional
        Counts the entries of D asked for.

    Raises
    ------
    ParameterError
        For a wrong length, a group that does not act on the basis, a generator of infinite order,
        or a method that does not serve this group.
    RuntimeError
        If the solver of "qp" gives no solution, or one that is not optimal to 1e-8.

    >>> from invariance.groups import SignFlips
    >>> from invariance.spectral import Torus
    >>> project([3.0, 2.0, 1.0], Torus(1, degree=1), SignFlips(1))     # 1, sqrt2 cos, sqrt2 sin
    array([3., 2., 0.])
    """
    given = np.asarray(coefficients, dtype=float)
    if given.ndim not in (1, 2) or len(given) != (D := basis.n_functions_):
        due = f"must have shape ({D},) or ({D}, m) for {short(basis)}"
        raise ParameterError(f"coefficients {due}, got {given.shape}: {short(coefficients)}")
    columns, listed = given.reshape(len(given), -1), method == "reynolds"
    if listed and (len(basis.exchanges()[0]) or not hasattr(group, "generators")):
        raise ParameterError(f"'reynolds' needs a listed group, got {short(group)}; take 'auto'")
    symmetry = Symmetry.generated(basis, group, outputs, columns.shape[1], listed=listed)
    return _projected(columns, basis, symmetry, method, calls).reshape(given.shape)


def _projected(
    columns: NDArray, basis: Basis, symmetry: Symmetry, method: str, calls: OracleCalls | None
) -> NDArray:
    """Columns projected by a method, an eigenspace at a time."""
    result = np.empty_like(columns)
    for k, rows in enumerate(basis.slices()):
        actions = Actions(basis, k, symmetry, calls)
        # with outputs, all columns are one vector
        f = columns[rows] if symmetry.turns is None else columns[rows].reshape(-1, 1)
        f, exponents = _in_powers_of_two(f)
        if method == "reynolds":
            found = np.mean([matrix @ f for matrix in actions.matrices(actions.on_frame)], axis=0)
        elif method in ("auto", "components") and not actions.mixing:
            # averages in the frame, which every isometry keeps
            sums, frame = _orbit_sums(actions), actions.frame
            found = sums @ (sums.T @ (f if actions.plain else frame.T @ f))
            found = found if actions.plain else frame @ found
        elif method in ("auto", "components", "null_space"):
            vectors = invariant_vectors(actions, method)
            found = vectors @ (vectors.T @ f)
        else:
            defects = actions.defects() or [sparse.csr_array((1, actions.size))]
            solve = _closed_form if method == "closed_form" else _quadratic_program
            found = solve(defects, f, actions)
        result[rows] = np.ldexp(found, exponents).reshape(columns[rows].shape)
    return result


def _in_powers_of_two(columns: NDArray) -> tuple[NDArray, NDArray]:
    """Columns with entries below one in size, and the exponents of the powers of two taken out.

    Linear maps then do not see the unit of a column, however large or small: nothing is rounded.
    """
    _, exponents = np.frexp(np.abs(columns).max(axis=0, initial=0.0))
    return np.ldexp(columns, -exponents), exponents


@arguments(n_outputs=Whole(1), **_KINDS)
def invariant_subspace(
    basis: Basis,
    group: Transformations | None,
    *,
    outputs: Transformations | None = None,
    n_outputs: int = 1,
    calls: OracleCalls | None = None,
) -> list[sparse.csc_array]:
    """An orthonormal basis of the invariant functions in each kept eigenspace.

    Arguments are those of `project`; with ``outputs`` instead the equivariant functions with
    ``n_outputs`` values p.

    Returns
    -------
    list of sparse arrays of shape (dimension, invariant dimension); with ``outputs`` (dimension p,
    equivariant dimension), the outputs of one eigenfunction side by side

    >>> from invariance.groups import Permutations
    >>> from invariance.beyond import Rotations3D
    >>> from invariance.spectral import Sphere
    >>> [u.shape[1] for u in invariant_subspace(Sphere(30, degree=3), Permutations(30))]
    [1, 1, 1, 2]
    >>> [u.shape[1] for u in invariant_subspace(Sphere(3, degree=3), Rotations3D())]
    [1, 0, 0, 0]
    """
    symmetry = Symmetry.generated(basis, group, outputs, n_outputs)
    spaces = range(len(basis.labels_))
    return [invariant_vectors(Actions(basis, k, symmetry, calls)) for k in spaces]


def invariant_vectors(actions: Actions, method: str = "auto") -> sparse.csc_array:
    """Orthonormal invariant vectors of one eigenspace.

    Orbit sums for the generators that permute the frame, then, within their span, the null space
    that the other generators leave.
    """
    size, within = actions.size, None
    if method == "components" and actions.mixing:
        functions = f"the functions of eigenspace {actions.k}"
        raise ParameterError(f"the generators do not permute {functions}: use 'auto'")
    if method == "null_space" or (actions.mixing and (size <= SMALL or not len(actions.perms))):
        defects = actions.defects()
    else:
        within = _in_basis(actions, _orbit_sums(actions))
        if not actions.mixing or within.shape[1] == 0:
            return within
        defects = actions.defects(actions.others, within)
    if not defects:
        return sparse.eye_array(size, format="csc")
    vectors, null = split_space(defects, actions.k)
    found = vectors[:, null]
    return found if within is None else sparse.csc_array(within @ found)


def split_space(defects: list[sparse.csr_array], k: int) -> tuple[sparse.csc_array, NDArray]:
    """An orthogonal matrix (size, size), and which of its columns all defects annihilate.

    Right singular vectors of the blocks of columns that no row connects.
    """
    rows, columns, entries, nulls, filled = [], [], [], [], 0
    for indices, stacked in _batches(defects, k):
        for block, vectors, null in zip(indices, *_decomposed(stacked), strict=True):
            size = len(block)
            rows.append(np.repeat(block, size))
            columns.append(np.tile(filled + np.arange(size), size))
            entries.append(vectors.T.ravel())
            nulls.append(null)
            filled += size
    where = np.concatenate(rows), np.concatenate(columns)
    vectors = sparse.csc_array((np.concatenate(entries), where), (filled, filled))
    return vectors, np.concatenate(nulls)


def _batches(defects: list[sparse.csr_array], k: int) -> Iterator[tuple[NDArray, NDArray]]:
    """Columns (blocks, size) and entries (blocks, rows, size) of blocks, by size."""
    stack = sparse.coo_array(sparse.vstack(defects))
    size = stack.shape[1]
    if size <= min(ONE_BLOCK, LARGEST_BLOCK):
        yield np.arange(size)[None], stack.toarray()[None]
        return
    real = np.abs(stack.data) >= NOISE
    row, column, data = stack.row[real], stack.col[real], stack.data[real]
    graph = sparse.csr_array((np.ones(len(row)), (row, column)), stack.shape)
    number, label = connected_components(graph.T @ graph, directed=False)
    # A row belongs to the block of its entries; rows of rounding errors alone belong to none.
    owner = np.full(stack.shape[0], number)
    owner[row] = label[column]
    (inside, widths), (above, heights) = _ranks(label, number), _ranks(owner, number + 1)
    if widths.max() > LARGEST_BLOCK:
        many = f"{widths.max()} functions of eigenspace {k}"
        raise ParameterError(f"generators mix {many}, too many; lower the degree")
    for width in np.unique(widths):
        blocks = np.flatnonzero(widths == width)
        which = np.full(number + 1, -1)
        which[blocks] = np.arange(len(blocks))
        members = np.flatnonzero(which[label] >= 0)
        columns = np.empty((len(blocks), width), dtype=np.intp)
        columns[which[label[members]], inside[members]] = members
        mine = np.flatnonzero(which[owner[row]] >= 0)
        stacked = np.zeros((len(blocks), heights[blocks].max(), width))
        stacked[which[owner[row[mine]]], above[row[mine]], inside[column[mine]]] = data[mine]
        yield columns, stacked


def _ranks(labels: NDArray, number: int) -> tuple[NDArray, NDArray]:
    """The place of each item among those of its label, and how many each label has."""
    counts = np.bincount(labels, minlength=number)
    ranks = np.empty(len(labels), dtype=np.intp)
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    ranks[np.argsort(labels, kind="stable")] = np.arange(len(labels)) - starts
    return ranks, counts


def _decomposed(stacked: NDArray) -> tuple[NDArray, NDArray]:
    """Right singular vectors of each block, one a row, and which of them are null."""
    size = stacked.shape[2]
    if stacked.shape[1] > 2 * size:
        # Orthogonal transformations of the rows keep singular values and vectors.
        stacked = np.asarray(np.linalg.qr(stacked, mode="r"))
    missing = max(0, size - stacked.shape[1])
    stacked = np.pad(stacked, ((0, 0), (0, missing), (0, 0)))
    _, values, vectors = np.linalg.svd(stacked, full_matrices=False)
    doubtful = (values > ZERO / 100) & (values < ZERO * 100)
    if np.any(doubtful):
        value = f"{values[doubtful][0]:.2g}, which cannot be told from zero"
        raise ParameterError(f"D - I has a singular value of {value}; give larger angles")
    return vectors, values < ZERO


def _closed_form(defects: list[sparse.csr_array], f: NDArray, actions: Actions) -> NDArray:
    """The pseudo-inverse with an absolute threshold: B may vanish up to rounding."""
    stacked = sparse.vstack(defects).toarray()
    values, vectors = np.linalg.eigh(stacked @ stacked.T)
    kept = values > 1e-12
    inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    return np.asarray(f - stacked.T @ (inverse @ (stacked @ f)))


def _quadratic_program(defects: list[sparse.csr_array], f: NDArray, actions: Actions) -> NDArray:
    """min |f - target|^2 subject to B f = 0 (eq. 10), for each column."""
    cp = need("cvxpy", "qp")
    # Where the generators permute the frame, B is right entry by entry and stays sparse.
    constraints = sparse.vstack(defects, format="csr")
    if actions.mixing:
        vectors, null = split_space(defects, actions.k)
        constraints = sparse.csr_array(vectors[:, ~null].T)
    result = f.copy()
    for target, found in zip(f.T, result.T, strict=True):
        scale = np.linalg.norm(target)
        if scale == 0 or constraints.shape[0] == 0:
            continue
        unit = target / scale
        z = cp.Variable(len(target))
        invariant = constraints @ z == 0
        problem = cp.Problem(cp.Minimize(cp.sum_squares(z - unit)), [invariant])
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-13, tol_gap_rel=1e-13, tol_feas=1e-13)
        if z.value is None or invariant.dual_value is None:
            raise RuntimeError(f"the program was not solved ({problem.status}); use method='auto'")
        # The solver's own word on how exact it is ("optimal_inaccurate") says nothing in numbers.
        violated = np.linalg.norm(constraints @ z.value)
        slope = np.linalg.norm(2 * (z.value - unit) + constraints.T @ invariant.dual_value)
        if not max(violated, slope) <= SOLVED:
            raise RuntimeError(
                f"the solver ended with {problem.status!r} at a point that violates the constraint "
                f"by {violated:.2g} and is {slope:.2g} from optimal, relative to the coefficients; "
                "use method='auto'"
            )
        found[:] = scale * z.value
    return result


def _signed_orbits(actions: Actions) -> tuple[NDArray, NDArray, NDArray]:
    """Each frame function's orbit up to sign (-1: it must vanish), its sign, and orbits' sizes.

    Invariance asks ``c[perm[a]] = sign[a] c[a]``. On the double cover with nodes (a, +) and
    (a, -) that is plain connectedness; an orbit that meets its own negative carries only zero.
    """
    perms, size = actions.perms, actions.perms.shape[1]
    if not len(perms):
        return np.arange(size), np.ones(size), np.ones(size, dtype=np.intp)
    doubled = bool(np.any(actions.signs < 0))
    if doubled:
        flipped = (actions.signs < 0) * size
        perms = np.concatenate([perms + flipped, perms + size - flipped], axis=1)
    # The graph that joins node a with perms[i][a] for every i.
    ends = np.arange(0, perms.size + 1, len(perms))
    ones, shape = np.ones(perms.size), (perms.shape[1],) * 2
    graph = sparse.csr_array((ones, perms.T.ravel(), ends), shape)
    label = connected_components(graph, directed=False)[1]
    if not doubled:
        return label, np.ones(size), np.bincount(label)
    plus, minus = label[:size], label[size:]
    sign = np.where(plus < minus, 1.0, -1.0)
    orbit = np.full(size, -1)
    free = plus != minus
    _, orbit[free] = np.unique(np.minimum(plus, minus)[free], return_inverse=True)
    return orbit, sign, np.bincount(orbit[free])


def _orbit_sums(actions: Actions) -> sparse.csr_array:
    """Orthonormal invariant vectors of the frame, shape (frame size, r)."""
    orbit, sign, sizes = _signed_orbits(actions)
    free = orbit >= 0
    entries = sign[free] / np.sqrt(sizes[orbit[free]])
    ends = np.concatenate([[0], np.cumsum(free)])
    return sparse.csr_array((entries, orbit[free], ends), (len(orbit), len(sizes)))


def _in_basis(actions: Actions, sums: sparse.csr_array) -> sparse.csc_array:
    """Orthonormal invariant vectors, shape (dimension, r), in terms of the eigenspace's basis."""
    if actions.plain:
        return sums
    vectors = sparse.csc_array(actions.frame @ sums)
    if actions.size == len(sums.indptr) - 1:
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
    generating functions, on the sphere Molien's, on the torus a product of theta series. The group
    is listed; the eigenspaces may be huge. ``basis`` is a truncated `Sphere`, `Torus` or `Circle`.

    >>> from invariance.groups import SignFlips
    >>> from invariance.spectral import Torus
    >>> invariant_dimensions(Torus(10, degree=3), SignFlips(10))
    array([  1,  10,  45, 120])
    """
    elements = group.elements()
    maps = zip(*basis.isometries(group, elements), strict=True)
    total = sum(basis.characters(matrix, shift) for matrix, shift in maps)
    return np.rint(total / len(elements)).astype(int)
