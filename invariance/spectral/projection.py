r"""`project` and `invariant_subspace`: the nearest invariant coefficients, by several methods.

Algorithm 1 of Soleymani et al. 2025 solves, in every eigenspace,

.. math:: \min_f |f - \tilde f|^2 \quad \text{subject to} \quad D^\lambda(g) f = f
          \text{ for every generator } g.

The constraints say that f is invariant, so the solution is the orthogonal projection onto the
invariant subspace, which is also the average of f~ over the whole group (Reynolds operator).
If the generators permute a frame up to signs, invariants are sums over its signed orbits.
Otherwise they are the common null space of D - I (`split_space`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from ..core.extras import need
from ..core.parameters import Array, Has, Kind, OneOf, ParameterError, Whole, arguments, short
from ..groups.base import GROUP, FiniteGroup, Transformations
from .actions import Actions, Symmetry
from .base import BASIS, Basis, OracleCalls, whole_numbers

METHODS = ("auto", "components", "null_space", "closed_form", "qp", "reynolds")

#: In eigenspaces up to this dimension, a dense null space alone is quicker than after orbit sums.
SMALL = 100

#: Larger irreducible blocks of D - I take too long to decompose.
LARGEST_BLOCK = 3000

#: Up to this many columns are one block: a search for smaller blocks would take longer.
ONE_BLOCK = 32

#: Singular values of D - I below this are zero: D is orthogonal, so the scale is known.
ZERO = 1e-8

#: Departure from the conditions of optimality, relative to the coefficients, up to which a
#: solution of the quadratic program is as good as the other methods' answer.
SOLVED = 1e-8

#: Entries of D - I below this are rounding errors and connect nothing.
NOISE = 1e-13

_KINDS: dict[str, Kind] = {
    "basis": BASIS,
    "group": GROUP | None,
    "outputs": GROUP | None,
    "calls": Has("an OracleCalls", "inner_products") | None,
}


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
    """Return the invariant function nearest to an expansion in eigenfunctions, of the same shape.

    Parameters
    ----------
    coefficients : array-like of shape (D,) or (D, m)
        One or m expansions, ordered as the columns of ``basis.evaluate``.
    basis : Basis
        A truncated basis.
    group : FiniteGroup, continuous group or None
        Only its generators are used (but for "reynolds"). None leaves the basis's own exchanges.
    method : {"auto", "components", "null_space", "closed_form", "qp", "reynolds"}
        "components": orbit sums, for generators that permute the frame up to signs. "null_space":
        singular value decomposition of the blocks of D - I. "auto": the first for generators that
        permute, the second for others. "closed_form": proposition C.2, ``f - B^T (B B^T)^+ B f``,
        dense. "qp": the quadratic program, with cvxpy. "reynolds": the average over all elements.
    outputs : group, optional
        The action on values, if these are vectors: elements are written as those of ``group`` and
        act on the m columns, one *equivariant* function with f(g x) = g f(x). As many outputs as
        coordinates are exchanged with factors that the basis exchanges; others stay.
    calls : OracleCalls, optional
        Counts the entries of D that are computed.

    Raises
    ------
    ParameterError
        For a wrong length, a group that does not act on the basis, a generator of infinite order,
        or a method that does not serve this group.
    RuntimeError
        If the solver of "qp" gives no solution, or one that is not optimal to 1e-8.

    Examples
    --------
    >>> from invariance.groups import SignFlips
    >>> from invariance.spectral import Torus
    >>> project([3.0, 2.0, 1.0], Torus(1, degree=1), SignFlips(1))     # 1, sqrt2 cos, sqrt2 sin
    array([3., 2., 0.])
    """
    array = np.asarray(coefficients, dtype=float)
    D = basis.n_functions_
    if array.ndim not in (1, 2) or len(array) != D:
        raise ParameterError(
            f"coefficients must have shape ({D},) or ({D}, m) for {short(basis)}, got "
            f"{array.shape}: {short(coefficients)}"
        )
    columns = array.reshape(D, -1)
    listed = method == "reynolds"
    if listed and (len(basis.exchanges()[0]) or not hasattr(group, "generators")):
        raise ParameterError(f"'reynolds' needs a listed group, got {short(group)}; take 'auto'")
    symmetry = Symmetry.generated(basis, group, outputs, columns.shape[1], listed=listed)
    return _projected(columns, basis, symmetry, method, calls).reshape(array.shape)


def _projected(
    columns: NDArray, basis: Basis, symmetry: Symmetry, method: str, calls: OracleCalls | None
) -> NDArray:
    """Return columns projected by a method, one eigenspace at a time."""
    result = np.empty_like(columns)
    for k, rows in enumerate(basis.slices()):
        actions = Actions(basis, k, symmetry, calls)
        f = columns[rows]
        shape = f.shape
        if symmetry.turns is not None:  # All outputs are one vector.
            f = f.reshape(-1, 1)
        f, exponents = _in_powers_of_two(f)
        projected = _projected_in_eigenspace(f, actions, method)
        result[rows] = np.ldexp(projected, exponents).reshape(shape)
    return result


def _projected_in_eigenspace(f: NDArray, actions: Actions, method: str) -> NDArray:
    """Return the projection of columns f in the basis of one eigenspace."""
    if method == "reynolds":
        images = [matrix @ f for matrix in actions.matrices(actions.on_frame)]
        return np.asarray(np.mean(images, axis=0))
    if method in ("auto", "components") and not actions.mixing:
        return _mean_over_orbits(f, actions)
    if method in ("auto", "components", "null_space"):
        vectors = invariant_vectors(actions, method)
        return np.asarray(vectors @ (vectors.T @ f))
    defects = actions.defects() or [sparse.csr_array((1, actions.size))]
    if method == "closed_form":
        return _closed_form(defects, f)
    return _quadratic_program(defects, f, actions)


def _mean_over_orbits(f: NDArray, actions: Actions) -> NDArray:
    """Return f averaged over orbits of frame functions, since every isometry keeps the frame."""
    sums = _orbit_sums(actions)
    if actions.plain:
        return np.asarray(sums @ (sums.T @ f))
    frame = actions.frame
    averaged = sums @ (sums.T @ (frame.T @ f))
    return np.asarray(frame @ averaged)


def _in_powers_of_two(columns: NDArray) -> tuple[NDArray, NDArray]:
    """Return columns with entries of size below one, and the exponents of their powers of two.

    Linear maps then do not depend on the unit of a column, and nothing is rounded.
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
    """Return an orthonormal basis of the invariant functions in each kept eigenspace.

    Arguments are those of `project`. With ``outputs``, the functions are equivariant and have
    ``n_outputs`` values p.

    Returns
    -------
    list of sparse arrays of shape (dimension, invariant dimension); with ``outputs`` (dimension p,
    equivariant dimension), the outputs of one eigenfunction side by side

    Examples
    --------
    >>> from invariance.groups import Permutations
    >>> from invariance.beyond import Rotations3D
    >>> from invariance.spectral import Sphere
    >>> [u.shape[1] for u in invariant_subspace(Sphere(30, degree=3), Permutations(30))]
    [1, 1, 1, 2]
    >>> [u.shape[1] for u in invariant_subspace(Sphere(3, degree=3), Rotations3D())]
    [1, 0, 0, 0]
    """
    symmetry = Symmetry.generated(basis, group, outputs, n_outputs)
    subspaces = []
    for k in range(len(basis.labels_)):
        actions = Actions(basis, k, symmetry, calls)
        subspaces.append(invariant_vectors(actions))
    return subspaces


def invariant_vectors(actions: Actions, method: str = "auto") -> sparse.csc_array:
    """Return orthonormal invariant vectors of one eigenspace.

    They are orbit sums for the generators that permute the frame, and, within the span of these,
    the null space for the other generators.
    """
    if method == "components" and actions.mixing:
        raise ParameterError(
            f"the generators do not permute the functions of eigenspace {actions.k}: use 'auto'"
        )
    only_null_space = actions.mixing and (actions.size <= SMALL or len(actions.perms) == 0)
    if method == "null_space" or only_null_space:
        return _null_space(actions.defects(), actions.size, actions.k)
    orbit_sums = _in_basis(actions, _orbit_sums(actions))
    if not actions.mixing or orbit_sums.shape[1] == 0:
        return orbit_sums
    defects = actions.defects(actions.mixed, orbit_sums)
    coefficients = _null_space(defects, orbit_sums.shape[1], actions.k)
    return sparse.csc_array(orbit_sums @ coefficients)


def _null_space(defects: list[sparse.csr_array], size: int, k: int) -> sparse.csc_array:
    """Return orthonormal vectors of length ``size`` that all defects map to zero."""
    if not defects:
        return sparse.eye_array(size, format="csc")
    vectors, is_null = split_space(defects, k)
    return vectors[:, is_null]


def split_space(defects: list[sparse.csr_array], k: int) -> tuple[sparse.csc_array, NDArray]:
    """Return an orthogonal matrix (size, size), and whether all defects map each column to zero.

    The columns are right singular vectors of the blocks of columns that no row connects.
    """
    rows = []
    columns = []
    entries = []
    null_flags = []
    n_filled = 0
    for blocks, matrices in _batches(defects, k):
        block_vectors, block_flags = _decomposed(matrices)
        for block, vectors, is_null in zip(blocks, block_vectors, block_flags, strict=True):
            size = len(block)
            new_columns = n_filled + np.arange(size)
            rows.append(np.repeat(block, size))
            columns.append(np.tile(new_columns, size))
            entries.append(vectors.T.ravel())
            null_flags.append(is_null)
            n_filled += size
    places = (np.concatenate(rows), np.concatenate(columns))
    shape = (n_filled, n_filled)
    matrix = sparse.csc_array((np.concatenate(entries), places), shape)
    return matrix, np.concatenate(null_flags)


def _batches(defects: list[sparse.csr_array], k: int) -> Iterator[tuple[NDArray, NDArray]]:
    """Yield blocks of one width at a time: their columns, and their entries.

    The shapes are (blocks, width) and (blocks, rows, width).
    """
    stack = sparse.coo_array(sparse.vstack(defects))
    size = stack.shape[1]
    if size <= min(ONE_BLOCK, LARGEST_BLOCK):
        yield np.arange(size)[None], stack.toarray()[None]
        return
    is_entry = np.abs(stack.data) >= NOISE
    rows = stack.row[is_entry]
    columns = stack.col[is_entry]
    data = stack.data[is_entry]
    graph = sparse.csr_array((np.ones(len(rows)), (rows, columns)), stack.shape)
    n_blocks, block_of_column = connected_components(graph.T @ graph, directed=False)
    # A row belongs to the block of its entries; rows of rounding errors alone belong to no block.
    block_of_row = np.full(stack.shape[0], n_blocks)
    block_of_row[rows] = block_of_column[columns]
    column_ranks, widths = _ranks(block_of_column, n_blocks)
    row_ranks, heights = _ranks(block_of_row, n_blocks + 1)
    if widths.max() > LARGEST_BLOCK:
        raise ParameterError(
            f"generators mix {widths.max()} functions of eigenspace {k}, too many; lower the degree"
        )
    for width in np.unique(widths):
        blocks = np.flatnonzero(widths == width)
        place_of_block = np.full(n_blocks + 1, -1)
        place_of_block[blocks] = np.arange(len(blocks))
        members = np.flatnonzero(place_of_block[block_of_column] >= 0)
        block_columns = np.empty((len(blocks), width), dtype=np.intp)
        places = place_of_block[block_of_column[members]]
        block_columns[places, column_ranks[members]] = members
        places = place_of_block[block_of_row[rows]]
        is_inside = places >= 0
        matrices = np.zeros((len(blocks), heights[blocks].max(), width))
        inner_rows = row_ranks[rows[is_inside]]
        inner_columns = column_ranks[columns[is_inside]]
        matrices[places[is_inside], inner_rows, inner_columns] = data[is_inside]
        yield block_columns, matrices


def _ranks(labels: NDArray, n_labels: int) -> tuple[NDArray, NDArray]:
    """Return the position of each item among those of its label, and the size of each label."""
    counts = np.bincount(labels, minlength=n_labels)
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    ranks = np.empty(len(labels), dtype=np.intp)
    ranks[np.argsort(labels, kind="stable")] = np.arange(len(labels)) - starts
    return ranks, counts


def _decomposed(matrices: NDArray) -> tuple[NDArray, NDArray]:
    """Return the right singular vectors of each matrix, as rows, and whether each is null."""
    height, width = matrices.shape[1:]
    if height > 2 * width:
        # Orthogonal transformations of the rows keep singular values and vectors.
        matrices = np.asarray(np.linalg.qr(matrices, mode="r"))
        height = matrices.shape[1]
    n_missing = max(0, width - height)
    matrices = np.pad(matrices, ((0, 0), (0, n_missing), (0, 0)))
    _, values, vectors = np.linalg.svd(matrices, full_matrices=False)
    is_uncertain = (values > ZERO / 100) & (values < ZERO * 100)
    if np.any(is_uncertain):
        raise ParameterError(
            f"D - I has a singular value of {values[is_uncertain][0]:.2g}, which cannot be told "
            "from zero; give larger angles"
        )
    return vectors, values < ZERO


def _closed_form(defects: list[sparse.csr_array], f: NDArray) -> NDArray:
    """Project with the pseudo-inverse of B B^T; its threshold is absolute, since B may be zero."""
    B = sparse.vstack(defects).toarray()
    values, vectors = np.linalg.eigh(B @ B.T)
    is_positive = values > 1e-12
    vectors = vectors[:, is_positive]
    pseudo_inverse = (vectors / values[is_positive]) @ vectors.T
    return np.asarray(f - B.T @ (pseudo_inverse @ (B @ f)))


def _quadratic_program(defects: list[sparse.csr_array], f: NDArray, actions: Actions) -> NDArray:
    """Minimise |z - f|^2 subject to B z = 0 (eq. 10), for each column of f."""
    # If the generators permute the frame, each entry of B is exact, and B stays sparse.
    constraints = sparse.vstack(defects, format="csr")
    if actions.mixing:
        vectors, is_null = split_space(defects, actions.k)
        constraints = sparse.csr_array(vectors[:, ~is_null].T)
    if constraints.shape[0] == 0:
        return f.copy()
    result = np.zeros_like(f)
    for j, target in enumerate(f.T):
        scale = np.linalg.norm(target)
        if scale > 0:
            result[:, j] = scale * _nearest_solution(constraints, target / scale)
    return result


def _nearest_solution(constraints: sparse.csr_array, target: NDArray) -> NDArray:
    """Return the solution z of ``constraints @ z == 0`` that is nearest to a unit vector."""
    cp = need("cvxpy", "qp")
    z = cp.Variable(len(target))
    invariance = constraints @ z == 0
    problem = cp.Problem(cp.Minimize(cp.sum_squares(z - target)), [invariance])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-13, tol_gap_rel=1e-13, tol_feas=1e-13)
    if z.value is None or invariance.dual_value is None:
        raise RuntimeError(f"the program was not solved ({problem.status}); use method='auto'")
    # The solver's status ("optimal_inaccurate") gives no number for its error.
    violation = np.linalg.norm(constraints @ z.value)
    slope = np.linalg.norm(2 * (z.value - target) + constraints.T @ invariance.dual_value)
    if not max(violation, slope) <= SOLVED:
        raise RuntimeError(
            f"the solver ended with {problem.status!r} at a point that violates the constraint "
            f"by {violation:.2g} and is {slope:.2g} from optimal, relative to the coefficients; "
            "use method='auto'"
        )
    return np.asarray(z.value)


def _signed_orbits(actions: Actions) -> tuple[NDArray, NDArray, NDArray]:
    """Return each frame function's orbit up to sign, its sign, and the orbits' sizes.

    Invariance requires ``c[perm[a]] = sign[a] c[a]``. On the double cover with nodes (a, +) and
    (a, -), orbits are connected components. If a component contains both nodes of a, then c[a] is
    zero, and its orbit is -1.
    """
    perms = actions.perms
    size = perms.shape[1]
    all_positive = np.ones(size)
    if len(perms) == 0:
        return np.arange(size), all_positive, np.ones(size, dtype=np.intp)
    if not np.any(actions.signs < 0):
        orbits = _components(perms)
        return orbits, all_positive, np.bincount(orbits)
    offsets = np.where(actions.signs < 0, size, 0)
    doubled = np.concatenate([perms + offsets, perms + size - offsets], axis=1)
    components = _components(doubled)
    positive = components[:size]
    negative = components[size:]
    signs = np.where(positive < negative, 1.0, -1.0)
    is_nonzero = positive != negative
    smaller = np.minimum(positive, negative)[is_nonzero]
    orbits = np.full(size, -1)
    _, orbits[is_nonzero] = np.unique(smaller, return_inverse=True)
    return orbits, signs, np.bincount(orbits[is_nonzero])


def _components(perms: NDArray) -> NDArray:
    """Return the number of each node's orbit under permutations, given as rows."""
    n_perms, size = perms.shape
    # The graph joins node a with perms[i][a] for every i.
    row_ends = np.arange(0, perms.size + 1, n_perms)
    entries = (np.ones(perms.size), perms.T.ravel(), row_ends)
    graph = sparse.csr_array(entries, (size, size))
    return np.asarray(connected_components(graph, directed=False)[1])


def _orbit_sums(actions: Actions) -> sparse.csr_array:
    """Return orthonormal invariant vectors of the frame, shape (frame size, r)."""
    orbits, signs, sizes = _signed_orbits(actions)
    is_nonzero = orbits >= 0
    orbit_indices = orbits[is_nonzero]
    entries = signs[is_nonzero] / np.sqrt(sizes[orbit_indices])
    row_ends = np.concatenate([[0], np.cumsum(is_nonzero)])
    return sparse.csr_array((entries, orbit_indices, row_ends), (len(orbits), len(sizes)))


def _in_basis(actions: Actions, sums: sparse.csr_array) -> sparse.csc_array:
    """Return orthonormal invariant vectors in the eigenspace's basis, shape (dimension, r)."""
    if actions.plain:
        return sums
    vectors = sparse.csc_array(actions.frame @ sums)
    frame_size = len(sums.indptr) - 1
    if actions.size == frame_size:
        return vectors
    # Orbit sums span invariants of the whole frame; B_k annihilates those outside the eigenspace
    # and keeps the lengths of the rest, so the Gram matrix is a projector: eigenvalues 0 and 1.
    values, mix = np.linalg.eigh((vectors.T @ vectors).toarray())
    return sparse.csc_array(vectors @ mix[:, values > 0.5])


@arguments(
    basis=Has("a truncated basis, such as Sphere(3, degree=8)", "characters"),
    group=Has("a finite group, such as Permutations(3)", "act", "generators"),
)
def invariant_dimensions(basis: Basis, group: FiniteGroup) -> NDArray:
    r"""Return the number of invariant functions in each kept eigenspace, without computing any.

    It is the mean character, :math:`\frac1{|G|} \sum_g \operatorname{tr} D^\lambda(g)`. The traces
    have generating functions: on the sphere Molien's, on the torus a product of theta series. The
    group is listed; the eigenspaces may be huge, if the traces keep their digits. ``basis`` is a
    truncated `Sphere`, `Torus` or `Circle`.

    >>> from invariance.groups import SignFlips
    >>> from invariance.spectral import Torus
    >>> invariant_dimensions(Torus(10, degree=3), SignFlips(10))
    array([  1,  10,  45, 120])
    """
    elements = group.elements()
    matrices, shifts = basis.isometries(group, elements)
    are_huge = max(basis.dimensions_) > 2**53
    totals: Any = np.zeros(len(basis.dimensions_), dtype=object)
    for matrix, shift in zip(matrices, shifts, strict=True):
        characters = basis.characters(matrix, shift)
        if are_huge and characters.dtype == np.float64:
            raise ParameterError(
                f"{short(basis)} has eigenspaces of over 2**53 functions, whose traces under "
                f"{short(group)} lose their last digits: lower the degree"
            )
        totals = totals + characters.astype(object)  # Python's whole numbers are exact
    return whole_numbers([_rounded_ratio(total, len(elements)) for total in totals])


def _rounded_ratio(total: float, n: int) -> int:
    """Return the whole number nearest to a ratio; it is exact for whole numbers."""
    if isinstance(total, int):
        return total // n
    return round(total / n)
