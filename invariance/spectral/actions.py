"""`Symmetry` and `Actions`: the matrices D^lambda(g) of a group on one eigenspace and its frame."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..core.parameters import ParameterError, short
from ..groups import Transformations
from .base import Basis, Maps, OracleCalls

#: A generator's eigenvalues must be roots of unity of at most this order.
MAX_ORDER = 2000


@dataclass(frozen=True)
class Symmetry:
    """Generators of a group on a manifold, as maps ``x -> A x + t`` of its coordinates.

    Attributes
    ----------
    maps : Maps
        The generators.
    slopes : Maps
        Generators of the Lie algebra, if the group is continuous.
    turns, spins : ndarray of shape (r, p, p) or None
        The same generators as matrices on the p outputs of a function. None if values stay as they
        are.
    """

    maps: Maps
    slopes: Maps
    turns: NDArray | None = None
    spins: NDArray | None = None

    @classmethod
    def generated(
        cls,
        basis: Basis,
        group: Any,
        outputs: Transformations | None = None,
        n_outputs: int = 1,
        *,
        listed: bool = False,
    ) -> Symmetry:
        """Return the symmetry that a group and the exchanges of the basis generate.

        With ``listed``, all elements of the group serve as generators.

        Raises
        ------
        ParameterError
            If the group has neither generators nor a Lie algebra, does not act on the manifold (or,
            as ``outputs`` do, on the outputs), or has a generator of infinite order there.
        """
        exchanges, exchange_shifts = basis.exchanges()
        maps = [_no_maps(basis)]
        slopes = [_no_maps(basis)]
        turns = [np.empty((0, n_outputs, n_outputs))]
        spins = [np.empty((0, n_outputs, n_outputs))]
        parts = _generating_parts(group)
        for part, part_outputs in zip(parts, _matching_outputs(outputs, parts), strict=True):
            if hasattr(part, "lie_algebra"):
                slopes.append(part.lie_algebra(basis.n_features))
                if outputs is not None:
                    spins.append(_output_slopes(part_outputs, n_outputs, len(slopes[-1][0])))
            if hasattr(part, "generators"):
                elements = part.elements() if listed else part.generators()
                maps.append(_generator_maps(basis, part, elements))
                if outputs is not None:
                    turns.append(_output_matrices(part_outputs, elements, n_outputs))
        matrices = np.concatenate([*(matrices for matrices, _ in maps), exchanges])
        shifts = np.concatenate([*(shifts for _, shifts in maps), exchange_shifts])
        all_slopes = (
            np.concatenate([matrices for matrices, _ in slopes]),
            np.concatenate([shifts for _, shifts in slopes]),
        )
        if outputs is None:
            return cls(maps=(matrices, shifts), slopes=all_slopes)
        # As many outputs as coordinates are a vector for each factor, exchanged with the factor.
        exchange_turns = exchanges
        if n_outputs != basis.n_features:
            identity = np.eye(n_outputs)
            exchange_turns = np.broadcast_to(identity, (len(exchanges), n_outputs, n_outputs))
        all_turns = np.concatenate([*turns, exchange_turns])
        all_spins = np.concatenate(spins)
        return cls(maps=(matrices, shifts), slopes=all_slopes, turns=all_turns, spins=all_spins)


def _generating_parts(group: Any) -> list[Any]:
    """Return groups with generators or a Lie algebra that together generate a group.

    They are the parts of a composition if it is a group, and otherwise the group itself.
    """
    if group is None:
        return []
    if _generates(group):
        return [group]
    parts: list[Any] = group.chain() if hasattr(group, "chain") else [group]
    is_product = len(parts) > 1 and (group.is_group or group.one_sided)
    if is_product and all(_generates(part) for part in parts):
        return parts
    raise ParameterError(
        f"{short(group)} has neither generators() nor lie_algebra(); take Permutations, "
        "Rotations3D or their like, or a product of such groups, as group.times(another_group)"
    )


def _generates(group: Any) -> bool:
    return hasattr(group, "generators") or hasattr(group, "lie_algebra")


def _matching_outputs(outputs: Any, parts: list[Any]) -> list[Any]:
    """Return the action on the outputs of each part of a group."""
    if outputs is None or len(parts) == 1:
        return [outputs] * len(parts)
    parts_of_outputs: list[Any] = outputs.chain()
    if len(parts_of_outputs) != len(parts):
        raise ParameterError(
            f"outputs must be a product of {len(parts)} groups, as group is, got {short(outputs)}"
        )
    return parts_of_outputs


def _no_maps(basis: Basis) -> Maps:
    d = basis.n_features
    return np.empty((0, d, d)), np.empty((0, d))


def _generator_maps(basis: Basis, group: Any, elements: NDArray) -> Maps:
    """Return the maps of elements of a group, which are checked together with their inverses."""
    n_elements = len(elements)
    with_inverses = np.concatenate([elements, group.inverse(elements)])
    matrices, shifts = basis.isometries(group, with_inverses)
    maps = (matrices[:n_elements], shifts[:n_elements])
    inverses = (matrices[n_elements:], shifts[n_elements:])
    _check_finite_order(basis, group, maps)
    _check_inverses(basis, group, maps, inverses)
    return maps


def _output_matrices(outputs: Transformations, elements: NDArray, p: int) -> NDArray:
    """Return the orthogonal matrices by which elements act on p outputs, shape (r, p, p)."""
    ones = np.ones((1, p))
    zeros = np.zeros((1, p))
    images = outputs.act(elements, np.concatenate([np.eye(p), ones, zeros]))
    matrices = images[:, :p].swapaxes(1, 2)
    gaps = [
        matrices @ matrices.swapaxes(1, 2) - np.eye(p),
        images[:, p] - matrices.sum(axis=2),
        images[:, p + 1],
    ]
    largest_gap = max(np.abs(gap).max(initial=0) for gap in gaps)
    if largest_gap > 1e-8:
        raise ParameterError(
            f"outputs must turn {p} values by orthogonal matrices, {short(outputs)} does not"
        )
    return np.asarray(matrices)


def _output_slopes(outputs: Any, p: int, n_slopes: int) -> NDArray:
    """Return the generators of the Lie algebra of p outputs, shape (n_slopes, p, p)."""
    if hasattr(outputs, "lie_algebra"):
        matrices, shifts = outputs.lie_algebra(p)
        if len(matrices) == n_slopes and not np.any(shifts):
            return np.asarray(matrices)
    elif n_slopes == 0:
        return np.empty((0, p, p))
    raise ParameterError(f"outputs must have the Lie algebra of group, got {short(outputs)}")


def _check_finite_order(basis: Basis, group: Transformations, maps: Maps) -> None:
    """Refuse maps that turn or translate by an irrational part of a full turn.

    Their invariants exist, but a group with such a map is infinite, which the caller did not mean:
    the usual cause is a mistyped angle or period.
    """
    for i, (matrix, shift) in enumerate(zip(*maps, strict=True)):
        is_signed_permutation = np.array_equal(matrix, np.round(matrix))
        if not is_signed_permutation:
            _check_turns(group, i, matrix)
        if np.any(basis.same_place(shift)):
            _check_translation(basis, group, matrix, shift)


def _check_turns(group: Transformations, i: int, matrix: NDArray) -> None:
    """Check that element i turns by fractions of a full turn."""
    angles = np.abs(np.angle(np.linalg.eigvals(matrix)))
    for turn in np.unique(angles) / (2 * np.pi):
        fraction = Fraction(turn).limit_denominator(MAX_ORDER)
        if abs(turn - float(fraction)) > 1e-11:
            raise ParameterError(
                f"element {i} of {short(group)} turns by {turn:.9g} of a full turn, not a "
                f"fraction with a denominator up to {MAX_ORDER}: it generates no finite group"
            )


def _check_translation(
    basis: Basis, group: Transformations, matrix: NDArray, shift: NDArray
) -> None:
    """Check that a power of the map ``x -> A x + t`` returns each point to its place."""
    power = matrix
    total = shift
    while np.abs(power - np.eye(len(matrix))).max() > 1e-8:
        power = matrix @ power
        total = matrix @ total + shift
    counts = np.arange(1, MAX_ORDER + 1)
    multiples = basis.same_place(counts[:, None] * total)
    if np.abs(multiples).max(axis=1).min() > 1e-9:
        raise ParameterError(
            f"{short(group)} translates by {short(shift)}, no fraction of the period of "
            f"{short(basis)}: give both the same period"
        )


def _check_inverses(basis: Basis, group: Transformations, maps: Maps, inverses: Maps) -> None:
    """Refuse a group that is another one on this manifold, such as one of another period."""
    inverse_matrices, inverse_shifts = inverses
    matrices = inverse_matrices @ maps[0]
    shifts = np.einsum("rij,rj->ri", inverse_matrices, maps[1]) + inverse_shifts
    gaps = np.abs(matrices - np.eye(basis.n_features))
    shift_gaps = np.abs(basis.same_place(shifts))
    if max(gaps.max(initial=0), shift_gaps.max(initial=0)) > 1e-8:
        raise ParameterError(
            f"a generator of {short(group)} and its inverse do not make the identity on "
            f"{short(basis)}; give both the same period"
        )


class Actions:
    """The actions of a symmetry on one eigenspace.

    With p outputs the space is that of p functions side by side, with a row for each pair of a
    function and an output, and an element acts on both.

    Attributes
    ----------
    plain : bool
        Whether the frame is the basis.
    perms, signs : ndarrays of shape (r, frame size)
        The actions that permute the frame up to signs.
    mixed : list
        The other actions.
    mixing : bool
        Whether there are other actions, or a Lie algebra.
    """

    def __init__(self, basis: Basis, k: int, symmetry: Symmetry, calls: OracleCalls | None):
        self.basis = basis
        self.k = k
        self.symmetry = symmetry
        self.calls = calls
        self.plain = basis._frame is None
        turns = symmetry.turns
        n_outputs = 1 if turns is None else turns.shape[1]
        self.size = n_outputs * int(basis.dimensions_[k])
        frame_size = n_outputs * int(basis._edges[k + 1] - basis._edges[k])
        self.mixed: list[Any] = []
        perms = []
        signs = []
        for i in range(len(symmetry.maps[0])):
            permutation = self._permutation(i)
            if permutation is None:
                action = self._action(i)
                permutation = _as_permutation(action, frame_size)
            if permutation is None:
                self.mixed.append(action)
            else:
                perms.append(permutation[0])
                signs.append(permutation[1])
        self.perms = np.reshape(perms, (-1, frame_size))
        self.signs = np.reshape(signs, (-1, frame_size))
        self.mixing = bool(self.mixed) or len(symmetry.slopes[0]) > 0
        if calls is not None:
            calls.inner_products += self.perms.size

    def _permutation(self, i: int) -> tuple[NDArray, NDArray] | None:
        """Return targets and signs, if the basis knows that map i permutes the frame."""
        if self.symmetry.turns is not None:
            return None
        matrices, shifts = self.symmetry.maps
        return self.basis.frame_permutation(self.k, matrices[i], shifts[i])

    def _action(self, i: int) -> Any:
        """Return the action of map i on the frame, as a matrix."""
        matrices, shifts = self.symmetry.maps
        action: Any = self.basis.frame_action(self.k, matrices[i], shifts[i])
        if self.symmetry.turns is not None:
            action = _on_pairs(action, self.symmetry.turns[i])
        return action

    @cached_property
    def on_frame(self) -> list[Any]:
        """All actions on the frame, as matrices."""
        return [self._action(i) for i in range(len(self.symmetry.maps[0]))]

    @cached_property
    def frame(self) -> sparse.csr_array:
        """The basis in terms of its frame, shape (size, frame size)."""
        frame = self.basis._frames[self.k]
        turns = self.symmetry.turns
        if turns is None:
            return frame
        return _on_pairs(frame, np.eye(turns.shape[1]))

    def matrices(self, actions: list[Any], vectors: Any = None) -> list[sparse.csr_array]:
        """Return actions on the frame as matrices in the basis, times vectors if there are any."""
        B = self.frame
        if vectors is None:
            products = [B @ action @ B.T for action in actions]
        else:
            in_frame = B.T @ vectors
            products = [B @ (action @ in_frame) for action in actions]
        products = [sparse.csr_array(product) for product in products]
        if self.calls is not None:
            self.calls.inner_products += sum(product.nnz for product in products)
        return products

    def defects(
        self, actions: list[Any] | None = None, vectors: Any = None
    ) -> list[sparse.csr_array]:
        """Return matrices whose common null space are the invariants, times vectors if any.

        They are D^lambda(g) - I, and the action of the Lie algebra, scaled to a largest entry of 1.
        """
        if actions is None:
            actions = self.on_frame
        unmoved = sparse.eye_array(self.size, format="csr") if vectors is None else vectors
        defects = []
        for matrix in self.matrices(actions, vectors):
            defects.append(sparse.csr_array(matrix - unmoved))
        for slope in self.matrices(self._slopes(), vectors):
            scale = np.abs(slope.data).max(initial=0)
            # Entries up to 1e-12 are rounding errors.
            defects.append(slope / scale if scale > 1e-12 else 0 * slope)
        return defects

    def _slopes(self) -> list[Any]:
        """Return the action of the Lie algebra on the frame."""
        spins = self.symmetry.spins
        slopes = []
        for i, (matrix, shift) in enumerate(zip(*self.symmetry.slopes, strict=True)):
            slope = self.basis.frame_derivative(self.k, matrix, shift)
            if spins is not None:
                # The product rule, for a function and its outputs.
                identity = sparse.eye_array(slope.shape[0])
                slope = _on_pairs(slope, np.eye(spins.shape[1])) + _on_pairs(identity, spins[i])
            slopes.append(slope)
        return slopes


def _as_permutation(action: Any, size: int) -> tuple[NDArray, NDArray] | None:
    """Return targets and signs of an action that permutes ``size`` functions, else None."""
    if not sparse.issparse(action) or len(action.data) != size:
        return None
    if np.any(np.diff(action.indptr) != 1) or np.any(np.abs(action.data) != 1):
        return None
    return action.indices, action.data


def _on_pairs(action: Any, turn: NDArray) -> sparse.csr_array:
    """Return an action on functions and one on outputs, as an action on pairs of the two."""
    return sparse.csr_array(sparse.kron(action, sparse.csr_array(turn), format="csr"))
