"""How a group acts on one eigenspace: the matrices D^lambda(g), in the basis and on its frame."""

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
    """What generates a group on a manifold, as maps ``x -> A x + t`` of its coordinates.

    Attributes
    ----------
    maps : generators
    slopes : generators of the Lie algebra, for groups that are continuous
    turns, spins : the same generators as matrices (r, p, p) on the p outputs of a function, None
        where its values stay as they are
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
        """That of a group's generators, or all its elements, and of what the basis exchanges.

        Raises
        ------
        ParameterError
            For a group that has neither generators nor a Lie algebra, that does not act on the
            manifold (or, as ``outputs`` do, on the outputs), or whose generators are not of finite
            order there.
        """
        own = basis.exchanges()
        slopes = maps = own[0][:0], own[1][:0]
        turns = spins = np.empty((0, n_outputs, n_outputs))
        if hasattr(group, "lie_algebra"):
            slopes = group.lie_algebra(basis.n_features)
            if outputs is not None:
                spins = _output_slopes(outputs, n_outputs, len(slopes[0]))
        if hasattr(group, "generators"):
            elements = group.elements() if listed else group.generators()
            size, both = len(elements), np.concatenate([elements, group.inverse(elements)])
            matrices, shifts = basis.isometries(group, both)
            maps = matrices[:size], shifts[:size]
            _check_finite_order(basis, group, maps)
            _check_inverses(basis, group, maps, (matrices[size:], shifts[size:]))
            if outputs is not None:
                turns = _output_matrices(outputs, elements, n_outputs)
        elif group is not None and not hasattr(group, "lie_algebra"):
            lacks = f"{short(group)} has neither generators() nor lie_algebra()"
            raise ParameterError(f"{lacks}; take Permutations, Rotations3D or their like")
        joined = np.concatenate([maps[0], own[0]]), np.concatenate([maps[1], own[1]])
        if outputs is None:
            return cls(joined, slopes)
        swaps = np.broadcast_to(np.eye(n_outputs), (len(own[0]), n_outputs, n_outputs))
        if n_outputs == basis.n_features:  # a vector for each factor, exchanged with it
            swaps = own[0]
        return cls(joined, slopes, np.concatenate([turns, swaps]), spins)


def _output_matrices(outputs: Transformations, elements: NDArray, p: int) -> NDArray:
    """How elements move p outputs: orthogonal matrices, shape (r, p, p)."""
    images = outputs.act(elements, np.concatenate([np.eye(p), np.ones((1, p)), np.zeros((1, p))]))
    matrices = images[:, :p].swapaxes(1, 2)
    gaps = matrices @ matrices.swapaxes(1, 2) - np.eye(p), images[:, p] - matrices.sum(axis=2)
    if max(np.abs(gap).max(initial=0) for gap in (*gaps, images[:, p + 1])) > 1e-8:
        due = f"outputs must turn {p} values by orthogonal matrices"
        raise ParameterError(f"{due}, {short(outputs)} does not")
    return np.asarray(matrices)


def _output_slopes(outputs: Any, p: int, number: int) -> NDArray:
    matrices, shifts = outputs.lie_algebra(p) if hasattr(outputs, "lie_algebra") else ([], 0)
    if len(matrices) != number or np.any(shifts):
        raise ParameterError(f"outputs must have the Lie algebra of group, got {short(outputs)}")
    return np.asarray(matrices)


def _check_finite_order(basis: Basis, group: Transformations, maps: Maps) -> None:
    """Refuse maps that turn or translate by an irrational part of a full turn.

    Their invariants exist, but a group that holds such a map is infinite, which the caller did not
    mean: the usual cause is a mistyped angle or period.
    """
    for i, (matrix, shift) in enumerate(zip(*maps, strict=True)):
        whole = np.array_equal(matrix, np.round(matrix))  # a signed permutation
        eigenvalues = np.empty(0) if whole else np.linalg.eigvals(matrix)
        for turn in np.unique(np.abs(np.angle(eigenvalues))) / (2 * np.pi):
            if abs(turn - float(Fraction(turn).limit_denominator(MAX_ORDER))) > 1e-11:
                raise ParameterError(
                    f"element {i} of {short(group)} turns by {turn:.9g} of a full turn, not a "
                    f"fraction with a denominator up to {MAX_ORDER}: it generates no finite group"
                )
        if not np.any(basis.same_place(shift)):
            continue
        power, total = matrix, shift
        while np.abs(power - np.eye(len(matrix))).max() > 1e-8:
            power, total = matrix @ power, matrix @ total + shift
        multiples = basis.same_place(np.arange(1, MAX_ORDER + 1)[:, None] * total)
        if np.abs(multiples).max(axis=1).min() > 1e-9:
            step = f"{short(shift)}, no fraction of the period of {short(basis)}"
            raise ParameterError(f"{short(group)} translates by {step}: give both the same period")


def _check_inverses(basis: Basis, group: Transformations, maps: Maps, inverses: Maps) -> None:
    """Refuse a group that is another one on this manifold, such as one of another period."""
    matrices = inverses[0] @ maps[0]
    shifts = np.einsum("rij,rj->ri", inverses[0], maps[1]) + inverses[1]
    gaps = np.abs(matrices - np.eye(basis.n_features)).max(axis=(1, 2), initial=0)
    gaps = np.maximum(gaps, np.abs(basis.same_place(shifts)).max(axis=1, initial=0))
    if gaps.max(initial=0) > 1e-8:
        wrong = f"a generator of {short(group)} and its inverse do not make the identity"
        raise ParameterError(f"{wrong} on {short(basis)}; give both the same period")


class Actions:
    """How a symmetry acts on one eigenspace.

    With p outputs the space is that of p functions side by side, a row for each pair of a function
    and an output, and an element acts on both.

    Attributes
    ----------
    plain : bool, whether the frame is the basis
    on_frame : actions on the frame, of which
    perms, signs : ndarrays (r, frame size), permute it up to signs, and
    others : list, do not
    mixing : bool, whether there is anything that does not
    """

    def __init__(self, basis: Basis, k: int, symmetry: Symmetry, calls: OracleCalls | None):
        self.basis, self.k, self.symmetry, self.calls = basis, k, symmetry, calls
        self.plain, turns = basis._frame is None, symmetry.turns
        p = 1 if turns is None else turns.shape[1]
        self.size = int(basis.dimensions_[k]) * p
        size = p * int(basis._edges[k + 1] - basis._edges[k])
        self.on_frame, self.others = [], []
        perms, signs = [], []
        for i, (matrix, shift) in enumerate(zip(*symmetry.maps, strict=True)):
            action: Any = basis.frame_action(k, matrix, shift)
            if turns is not None:
                action = _beside(action, turns[i])
            self.on_frame.append(action)
            if (
                sparse.issparse(action)
                and len(action.data) == size
                and np.all(np.diff(action.indptr) == 1)
                and np.all(np.abs(action.data) == 1)
            ):
                perms.append(action.indices)
                signs.append(action.data)
            else:
                self.others.append(action)
        self.perms, self.signs = np.reshape(perms, (-1, size)), np.reshape(signs, (-1, size))
        self.mixing = bool(self.others) or len(symmetry.slopes[0]) > 0
        if calls is not None:
            calls.inner_products += self.perms.size

    @cached_property
    def frame(self) -> sparse.csr_array:
        """The basis in terms of its frame, shape (size, frame size)."""
        frame, turns = self.basis._frames[self.k], self.symmetry.turns
        return frame if turns is None else _beside(frame, np.eye(turns.shape[1]))

    def matrices(self, actions: list[Any], vectors: Any = None) -> list[sparse.csr_array]:
        """Actions on the frame, in the basis, or what they make of vectors there."""
        B, given = self.frame, None if vectors is None else self.frame.T @ vectors
        made = [B @ a @ B.T if given is None else B @ (a @ given) for a in actions]
        found = list(map(sparse.csr_array, made))
        if self.calls is not None:
            self.calls.inner_products += sum(matrix.nnz for matrix in found)
        return found

    def defects(
        self, actions: list[Any] | None = None, vectors: Any = None
    ) -> list[sparse.csr_array]:
        """What annihilates exactly the invariants: D^lambda(g) - I, and the Lie algebra's action.

        Each of the latter is scaled to the largest entry 1; all may be applied to vectors.
        """
        unit = sparse.eye_array(self.size, format="csr") if vectors is None else vectors
        moved = self.matrices(self.on_frame if actions is None else actions, vectors)
        found = [sparse.csr_array(matrix - unit) for matrix in moved]
        spins, slopes = self.symmetry.spins, []
        for i, (matrix, shift) in enumerate(zip(*self.symmetry.slopes, strict=True)):
            slope = self.basis.frame_derivative(self.k, matrix, shift)
            if spins is not None:
                still = sparse.eye_array(slope.shape[0])
                slope = _beside(slope, np.eye(spins.shape[1])) + _beside(still, spins[i])
            slopes.append(slope)
        for slope in self.matrices(slopes, vectors):
            size = np.abs(slope.data).max(initial=0)
            found.append(slope / size if size > 1e-12 else 0 * slope)
        return found


def _beside(action: Any, turn: NDArray) -> sparse.csr_array:
    """An action on functions and one on outputs, as one on pairs of them."""
    return sparse.csr_array(sparse.kron(action, sparse.csr_array(turn), format="csr"))
