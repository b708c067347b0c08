"""How a group acts on one eigenspace: the matrices D^lambda(g), in the basis and on its frame."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..groups import Transformations
from ..parameters import ParameterError, short
from .base import Basis, Maps, OracleCalls

__all__ = ["Actions", "Symmetry"]

#: A generator's eigenvalues must be roots of unity of at most this order.
MAX_ORDER = 2000


@dataclass(frozen=True)
class Symmetry:
    """What generates a group on a manifold, as maps ``x -> A x + t`` of its coordinates.

    Attributes
    ----------
    maps : generators (or, for an average over a listed group, elements)
    slopes : generators of the Lie algebra, for groups that are continuous
    """

    maps: Maps
    slopes: Maps

    @classmethod
    def generated(cls, basis: Basis, group: Transformations | None) -> Symmetry:
        """The symmetry of a group's generators, together with those that the basis brings.

        Raises
        ------
        ParameterError
            For a group that has neither generators nor a Lie algebra, that does not act on the
            manifold, or whose generators are not of finite order there.
        """
        basis.check_accuracy()
        own = basis.exchanges()
        empty = np.empty((0, *own[0].shape[1:])), np.empty((0, own[1].shape[1]))
        if group is None:
            return cls(own, empty)
        maps, slopes = empty, empty
        if hasattr(group, "lie_algebra"):
            slopes = group.lie_algebra(basis.n_features)
        if hasattr(group, "generators"):
            generators = group.generators()
            both = np.concatenate([generators, group.inverse(generators)])
            matrices, shifts = basis.isometries(group, both)
            size = len(generators)
            maps = matrices[:size], shifts[:size]
            _check_finite_order(basis, group, maps)
            _check_inverses(basis, group, maps, (matrices[size:], shifts[size:]))
        elif not hasattr(group, "lie_algebra"):
            raise ParameterError(
                f"{short(group)} has neither generators() nor lie_algebra(), which its invariants "
                "are found by; take a FiniteGroup, such as OrthogonalMatrices or Permutations, or "
                "a continuous group, such as Rotations3D"
            )
        return cls(_joined(maps, own), slopes)

    @classmethod
    def listed(cls, basis: Basis, group: Transformations | None) -> Symmetry:
        """All elements of a finite group, for an average over them."""
        if len(basis.exchanges()[0]) or not hasattr(group, "generators"):
            raise ParameterError(
                f"method='reynolds' averages over a listed group, which {short(group)} (and the "
                "exchange of factors that a basis brings) is not; use method='auto'"
            )
        assert group is not None
        basis.check_accuracy()
        maps = basis.isometries(group, group.elements())
        _check_finite_order(basis, group, maps)
        return cls(maps, (maps[0][:0], maps[1][:0]))


def _joined(one: Maps, two: Maps) -> Maps:
    return np.concatenate([one[0], two[0]]), np.concatenate([one[1], two[1]])


def _check_finite_order(basis: Basis, group: Transformations, maps: Maps) -> None:
    """Refuse maps that turn or translate by an irrational part of a full turn.

    Their invariants exist, but a group that holds such a map is infinite, which the caller did not
    mean: the usual cause is a mistyped angle or period.
    """
    for i, (matrix, shift) in enumerate(zip(*maps, strict=True)):
        turns = np.angle(np.linalg.eigvals(matrix)) / (2 * np.pi)
        for turn in turns:
            if abs(turn - float(Fraction(turn).limit_denominator(MAX_ORDER))) > 1e-11:
                raise ParameterError(
                    f"element {i} of {short(group)} turns by {abs(turn):.9g} of a full turn, which "
                    f"is no fraction with a denominator up to {MAX_ORDER}: it generates no finite "
                    "group (of manageable order)"
                )
        if not np.any(basis.same_place(shift)):
            continue
        power, total = matrix, shift
        while np.abs(power - np.eye(len(matrix))).max() > 1e-8:
            power, total = matrix @ power, matrix @ total + shift
        multiples = basis.same_place(np.arange(1, MAX_ORDER + 1)[:, None] * total)
        if np.abs(multiples).max(axis=1).min() > 1e-9:
            raise ParameterError(
                f"element {i} of {short(group)} translates by {short(shift)}, which is no fraction "
                f"of the period of {short(basis)} with a denominator up to {MAX_ORDER}: it "
                "generates no finite group there; give group and basis the same period"
            )


def _check_inverses(basis: Basis, group: Transformations, maps: Maps, others: Maps) -> None:
    """Refuse a group that is another one on this manifold, such as one of another period."""
    for i, ((a, s), (b, t)) in enumerate(
        zip(zip(*maps, strict=True), zip(*others, strict=True), strict=True)
    ):
        gap = max(np.abs(b @ a - np.eye(len(a))).max(), np.abs(basis.same_place(b @ s + t)).max())
        if gap > 1e-8:
            raise ParameterError(
                f"generator {i} of {short(group)} followed by its inverse is not the identity on "
                f"{short(basis)} (off by {gap:.2g}): the group is another one there; for "
                "translations, give group and basis the same period"
            )


def _signed_rows(action: Any) -> tuple[NDArray, NDArray] | None:
    """perm and signs of a sparse signed permutation, or None."""
    if not sparse.issparse(action) or np.any(np.diff(action.indptr) != 1):
        return None
    if np.any(np.abs(action.data) != 1):
        return None
    return action.indices, action.data


class Actions:
    """How a symmetry acts on one eigenspace, computed when first asked for."""

    def __init__(self, basis: Basis, k: int, symmetry: Symmetry, calls: OracleCalls | None):
        self.basis, self.k, self.symmetry, self.calls = basis, k, symmetry, calls
        self.frame = basis.frame(k)
        self._frame_actions: list[NDArray | sparse.csr_array] | None = None

    def on_frame(self) -> list[NDArray | sparse.csr_array]:
        if self._frame_actions is None:
            self._frame_actions = [
                self.basis.frame_action(self.k, matrix, shift)
                for matrix, shift in zip(*self.symmetry.maps, strict=True)
            ]
        return self._frame_actions

    def split(self) -> tuple[list[tuple[NDArray, NDArray]], list[NDArray | sparse.csr_array]]:
        """Actions that permute the frame up to signs, as (perm, signs), and the others."""
        permuting, others = [], []
        for action in self.on_frame():
            found = _signed_rows(action)
            if found is None:
                others.append(action)
            else:
                permuting.append(found)
        if self.calls is not None:
            self.calls.inner_products += sum(len(perm) for perm, _ in permuting)
        return permuting, others

    def permutations(self) -> list[tuple[NDArray, NDArray]] | None:
        """Each action as (perm, signs) on the frame, or None when one is no signed permutation."""
        permuting, others = self.split()
        return None if others or len(self.symmetry.slopes[0]) else permuting

    def matrices(
        self, actions: list[NDArray | sparse.csr_array] | None = None, every_entry: bool = False
    ) -> list[sparse.csr_array]:
        """D^lambda(g), sparse; ``every_entry`` counts the zeros as asked for, too."""
        actions = self.on_frame() if actions is None else actions
        found = [sparse.csr_array(self.frame @ a @ self.frame.T) for a in actions]
        if self.calls is not None:
            self.calls.inner_products += sum(
                matrix.shape[0] ** 2 if every_entry else matrix.nnz for matrix in found
            )
        return found

    def defects(
        self, actions: list[NDArray | sparse.csr_array] | None = None, every_entry: bool = False
    ) -> list[sparse.csr_array]:
        """What annihilates exactly the invariants: D^lambda(g) - I, and the Lie algebra's action.

        Each of the latter is scaled to the largest entry 1.
        """
        unit = sparse.eye_array(self.frame.shape[0], format="csr")
        found = [sparse.csr_array(m - unit) for m in self.matrices(actions, every_entry)]
        for matrix, shift in zip(*self.symmetry.slopes, strict=True):
            slope = self.basis.frame_derivative(self.k, matrix, shift)
            slope = sparse.csr_array(self.frame @ slope @ self.frame.T)
            if self.calls is not None:
                self.calls.inner_products += slope.shape[0] ** 2 if every_entry else slope.nnz
            size = np.abs(slope.data).max(initial=0)
            found.append(slope / size if size > 1e-12 else 0 * slope)
        return found
