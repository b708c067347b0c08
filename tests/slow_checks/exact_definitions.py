"""Groups, kernels and ridge regression by their definitions, in extended precision.

Nothing here is taken from the package's own computations: a group is a list of matrices (or, where
it is infinite, a dense rule of them), a kernel is a function of differences or inner products, an
average is a double sum. Arrays are of ``np.longdouble``, with 64 bits of mantissa on x86.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import permutations, product
from typing import Any

import numpy as np

Array = np.ndarray
Long = np.longdouble

#: Whether long doubles are longer than doubles here; they are not on every processor.
IS_EXTENDED = np.finfo(Long).eps < 1e-18
PI = Long("3.14159265358979323846264338327950288")


def extended(A: Any) -> Array:
    return np.asarray(A, dtype=Long)


# -- matrices of finite groups ---------------------------------------------------------------------


def of_orders(orders: Any, block: int = 1) -> Array:
    """Matrices that permute blocks of coordinates: place i gets block ``order[i]``."""
    return extended([np.kron(np.eye(len(order))[list(order)], np.eye(block)) for order in orders])


def cyclic(n: int, block: int = 1) -> Array:
    return of_orders([np.roll(np.arange(n), k) for k in range(n)], block)


def symmetric(n: int, block: int = 1) -> Array:
    return of_orders(permutations(range(n)), block)


def sign_changes(n: int) -> Array:
    return extended([np.diag(signs) for signs in product([1.0, -1.0], repeat=n)])


def negation(d: int) -> Array:
    return extended([np.eye(d), -np.eye(d)])


def together(first: Array, second: Array) -> Array:
    """All products: ``first`` is applied first."""
    return extended([b @ a for a in first for b in second])


def side_by_side(one: Array, two: Array) -> Array:
    p = one.shape[1]
    q = two.shape[1]
    made = np.zeros((len(one), len(two), p + q, p + q), Long)
    made[:, :, :p, :p] = one[:, None]
    made[:, :, p:, p:] = two
    return made.reshape(-1, p + q, p + q)


def on_columns(maps: Array, columns: Any, d: int) -> Array:
    made = np.tile(np.eye(d, dtype=Long), (len(maps), 1, 1))
    made[np.ix_(np.arange(len(maps)), columns, columns)] = maps
    return made


def on_each(maps: Array, n_points: int) -> Array:
    return extended([np.kron(np.eye(n_points), A) for A in maps])


def plane_turns(angles: Array) -> Array:
    c = np.cos(angles)
    s = np.sin(angles)
    return np.stack([np.stack([c, -s], -1), np.stack([s, c], -1)], axis=1)


def equal_angles(n: int) -> Array:
    return 2 * PI * np.arange(n).astype(Long) / n


def distinct(maps: Array) -> Array:
    """The maps without repetition, up to 1e-12."""
    rounded = np.round(maps.reshape(len(maps), -1).astype(float), 9) + 0.0
    first = np.unique(rounded, axis=0, return_index=True)[1]
    return maps[np.sort(first)]


def generated(generators: Array) -> Array:
    """All products of some matrices."""
    maps = np.eye(generators.shape[1], dtype=Long)[None]
    while True:
        more = distinct(np.concatenate([maps, together(maps, generators)]))
        if len(more) == len(maps):
            return maps
        maps = more


# -- what is infinite ------------------------------------------------------------------------------


@dataclass
class Turns:
    """Rotations that act on some columns of d: "plane", "space", or a "circle" with frequencies."""

    kind: str
    columns: tuple[int, ...]
    d: int
    frequencies: tuple[int, ...] = ()
    density: Callable[[Array], Array] | None = None

    def rule(self, level: int, relative: bool = True) -> tuple[Array, Array]:
        """Matrices (r, d, d) of a rule and their weights; exact as ``level`` grows.

        With a density, weights are those of the ``relative`` angle of two that are drawn from it,
        or of one of them.
        """
        if self.kind == "space":
            turns, weights = _space_rule(level)
            transformed = on_each(turns, len(self.columns) // 3)
        else:
            angles = equal_angles(level)
            weights = np.full(level, Long(1) / level)
            if self.density is not None:
                q = extended(self.density((angles.astype(float) + np.pi) % (2 * np.pi) - np.pi))
                weights = q = q / q.sum()
            if self.density is not None and relative:
                weights = extended([np.sum(q * np.roll(q, k)) for k in range(level)])
            transformed = self._turned(angles)
        return on_columns(transformed, list(self.columns), self.d), weights

    def _turned(self, angles: Array) -> Array:
        n = len(self.columns)
        if self.kind == "plane":
            return on_each(plane_turns(angles), n // 2)
        transformed = np.tile(np.eye(n, dtype=Long), (len(angles), 1, 1))
        for i in np.flatnonzero(self.frequencies)[::2]:
            transformed[:, i : i + 2, i : i + 2] = plane_turns(self.frequencies[i] * angles)
        return transformed

    def largest_inner(self, X: Array, Y: Array) -> Array | None:
        """max_g <x, g y> over all rotations; None where there is no formula."""
        transformed = list(self.columns)
        still = [i for i in range(self.d) if i not in transformed]
        fixed = X[:, still] @ Y[:, still].T
        if self.kind == "plane":
            one, two = (A[:, transformed].reshape(len(A), -1, 2) for A in (X, Y))
            real = np.einsum("npi,mpi->nm", one, two)
            imaginary = np.einsum("np,mp->nm", one[..., 0], two[..., 1])
            imaginary -= np.einsum("np,mp->nm", one[..., 1], two[..., 0])
            return fixed + np.hypot(real, imaginary)
        if self.kind == "space":
            one, two = (A[:, transformed].reshape(len(A), -1, 3) for A in (X, Y))
            moments = np.einsum("npi,mpj->nmij", one, two)
            return fixed + extended([[_superposed(M) for M in row] for row in moments])
        return None


def _space_rule(level: int) -> tuple[Array, Array]:
    """Rotations of space by Euler angles: exact for polynomials of degree ``level``."""
    n = level + 1 + (level + 1) % 2
    cosines, weights = np.polynomial.legendre.leggauss(level // 2 + 1)
    turns = equal_angles(n)
    about_z = np.tile(np.eye(3, dtype=Long), (n, 1, 1))
    about_z[:, :2, :2] = plane_turns(turns)
    tilted = np.tile(np.eye(3, dtype=Long), (len(cosines), 1, 1))
    c = extended(cosines)
    s = np.sqrt(1 - c * c)
    tilted[:, 0, 0] = c
    tilted[:, 2, 2] = c
    tilted[:, 0, 2] = s
    tilted[:, 2, 0] = -s
    maps = np.einsum("aij,bjk,ckl->abcil", about_z, tilted, about_z).reshape(-1, 3, 3)
    shares = extended(weights) / 2 / n**2
    return maps, np.broadcast_to(shares[None, :, None], (n, len(c), n)).ravel()


def _superposed(M: Array) -> Any:
    """The largest trace of R^T M over rotations R: an eigenvalue of Horn's quaternion matrix."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = M
    horn = extended(
        [
            [xx + yy + zz, yz - zy, zx - xz, xy - yx],
            [yz - zy, xx - yy - zz, xy + yx, zx + xz],
            [zx - xz, xy + yx, yy - xx - zz, yz + zy],
            [xy - yx, zx + xz, yz + zy, zz - xx - yy],
        ]
    )
    return eigenvalues(horn)[0].max()


# -- an action beside the package's group ----------------------------------------------------------


@dataclass
class Action:
    """A group of the package, and what it is by definition.

    ``maps`` (r, k, d) and ``weights`` are a finite part, ``shifts`` (r, d) are added. Where there
    are ``turns`` as well, elements are one of each, ``maps`` first where ``maps_first``.
    """

    name: str
    group: Any
    d: int
    maps: Array
    weights: Array | None = None
    shifts: Array | None = None
    turns: Turns | None = None
    maps_first: bool = True
    unitary: bool = True
    is_group: bool = True
    coulomb: int = 0
    #: Columns that some element moves.
    transformed: list[int] = field(default_factory=list)

    def rule(self, level: int = 0, relative: bool = True) -> tuple[Array, Array]:
        """Matrices and their weights; see `Turns.rule`."""
        weights = self.weights
        if weights is None:
            weights = np.full(len(self.maps), Long(1) / len(self.maps))
        if self.turns is None:
            return self.maps, weights
        turned, shares = self.turns.rule(level, relative)
        first, second = (self.maps, turned) if self.maps_first else (turned, self.maps)
        one, two = (weights, shares) if self.maps_first else (shares, weights)
        return np.einsum("bij,ajk->abik", second, first).reshape(-1, self.d, self.d), np.outer(
            one, two
        ).ravel()

    def moves(self, X: Array, maps: Array) -> Array:
        """The points after each map, shape (r, n, k)."""
        transformed = np.einsum("rij,nj->rni", maps, extended(X))
        return transformed if self.shifts is None else transformed + self.shifts[:, None]

    def levels(self) -> tuple[int, ...]:
        """Levels of `rule` of which two that agree are right."""
        if self.turns is None:
            return (0,)
        return (12, 18, 26) if self.turns.kind == "space" else (64, 201, 804, 3217)

    def fixed(self) -> Array:
        """The projection on what no element moves."""
        maps, weights = self.rule(4 if self.turns is None or self.turns.kind == "space" else 64)
        return np.tensordot(weights, maps, axes=1)


# -- kernels ---------------------------------------------------------------------------------------


@dataclass
class Base:
    """A base kernel by its definition, and how fast it changes.

    ``values(A, B)`` is for points (..., n, k) and (..., m, k). With points of norm at most S, and
    n <= d features, values are at most ``size(S)``, and a change of a point by e changes them by
    at most ``slope(S, d) e``: what rounding of the points may do is ``eps S slope``.
    """

    name: str
    kernel: Any
    values: Callable[[Array, Array], Array]
    size: Callable[[Any], Any]
    slope: Callable[[Any, int], Any]
    of_distance: bool = False
    of_inner: bool = True  # whether unitary maps of both points do not change it
    definite: bool = True


def squares(A: Array, B: Array) -> Array:
    return np.square(A[..., :, None, :] - B[..., None, :, :]).sum(axis=-1)


def inner(A: Array, B: Array) -> Array:
    return (A[..., :, None, :] * B[..., None, :, :]).sum(axis=-1)


def gaussian(kernel: Any) -> Base:
    gamma = Long(kernel.gamma)
    return Base(
        f"Gaussian({kernel.gamma:.6g})",
        kernel,
        lambda A, B: np.exp(-gamma * squares(A, B)),
        lambda S: 1,
        lambda S, d: np.sqrt(2 * gamma / np.exp(Long(1))),
        of_distance=True,
    )


def laplacian(kernel: Any) -> Base:
    gamma = Long(kernel.gamma)
    return Base(
        f"Laplacian({kernel.gamma:.6g})",
        kernel,
        lambda A, B: np.exp(-gamma * np.abs(A[..., :, None, :] - B[..., None, :, :]).sum(-1)),
        lambda S: 1,
        lambda S, d: gamma * np.sqrt(Long(d)),
        of_inner=False,
    )


def polynomial(kernel: Any) -> Base:
    p = int(kernel.degree)
    gamma = Long(kernel.gamma)
    coef0 = Long(kernel.coef0)
    bound = lambda S: abs(coef0) + abs(gamma) * S * S  # noqa: E731
    return Base(
        repr(kernel),
        kernel,
        lambda A, B: (coef0 + gamma * inner(A, B)) ** p,
        lambda S: p * bound(S) ** p,
        lambda S, d: p * abs(gamma) * S * bound(S) ** (p - 1),
        definite=coef0 >= 0 and gamma >= 0,
    )


def linear(kernel: Any) -> Base:
    return Base("Linear()", kernel, inner, lambda S: S * S, lambda S, d: S)


def cdf(kernel: Any, d: int) -> Base:
    """s P - c |x - z| by its own coefficients, which a test of their own compares."""
    constant, slope = (Long(c) for c in kernel.coefficients(d))
    return Base(
        repr(kernel),
        kernel,
        lambda A, B: constant - slope * np.sqrt(squares(A, B)),
        lambda S: constant + 2 * slope * S,
        lambda S, d: slope,
        of_distance=True,
        definite=False,  # only for points within the radius
    )


def von_mises(kernel: Any, averaged: bool) -> Base:
    eta = Long(kernel.eta)
    omega = 2 * PI / Long(kernel.period)

    def values(A: Array, B: Array) -> Array:
        u = omega * A[..., :, None, :]
        v = omega * B[..., None, :, :]
        if not averaged:
            return np.exp(eta * (np.cos(u - v) - kernel.normalize).sum(axis=-1))
        parts = np.exp(eta * (np.cos(u - v) - kernel.normalize))
        parts = (parts + np.exp(eta * (np.cos(u + v) - kernel.normalize))) / 2
        return parts.prod(axis=-1)

    def size(S: Any) -> Any:
        return 1 if kernel.normalize else np.exp(eta)  # of one feature; see `slope`

    return Base(
        repr(kernel),
        kernel,
        values,
        size,
        lambda S, d: 2 * eta * omega * np.sqrt(Long(d)) * size(S) ** d + size(S) ** d / (S or 1),
        of_inner=False,
    )


def average(base: Base, action: Action, X: Array, Y: Array, level: int, side: str) -> Array:
    """The mean of a kernel over transformations of both points, or of one.

    Over a group, or between relative angles drawn from a density, and for a base that unitary maps
    keep, one sum is two.
    """
    maps, weights = action.rule(level)
    X = extended(X)
    Y = extended(Y)
    once = action.is_group and action.unitary and base.of_inner
    once = once or (action.turns is not None and action.turns.density is not None)
    if side == "first":
        return np.tensordot(weights, base.values(action.moves(X, maps), Y[None]), axes=1)
    if side == "second" or once:
        return np.tensordot(weights, base.values(X[None], action.moves(Y, maps)), axes=1)
    one = action.moves(X, maps)
    two = action.moves(Y, maps)
    total = np.zeros((len(X), len(Y)), Long)
    for weight, transformed in zip(weights, one, strict=True):
        total += weight * np.tensordot(weights, base.values(transformed[None], two), axes=1)
    return total


def settled(compute: Callable[[int], Array], levels: tuple[int, ...], rtol: float) -> Array | None:
    """Values by the first rule that agrees with the one before it; None where none does."""
    before = compute(levels[0])
    if len(levels) == 1:
        return before
    for level in levels[1:]:
        now = compute(level)
        if np.abs(now - before).max() <= rtol * max(np.abs(now).max(), Long(1e-300)):
            return now
        before = now
    return None


def best(base: Base, action: Action, X: Array, Y: Array, side: str) -> Array | None:
    """The largest value over the transformations of one point; None where it is not known."""
    X = extended(X)
    Y = extended(Y)
    if action.turns is None:
        transformed, still = (X, Y) if side == "first" else (Y, X)
        transformed = action.moves(transformed, action.maps)
        pair = (transformed, still[None]) if side == "first" else (still[None], transformed)
        return base.values(*pair).max(axis=0)
    parts = [action.turns.largest_inner(X, Y @ A.T) for A in action.maps]
    if parts[0] is None:
        return None
    largest = np.max(parts, axis=0)
    if not base.of_distance:  # of inner products, and rising
        return base.values(largest[:, :, None, None], np.ones((1, 1, 1, 1), Long))[:, :, 0, 0]
    apart = np.square(X).sum(1)[:, None] + np.square(Y).sum(1) - 2 * largest
    apart = np.maximum(apart, 0)[:, :, None, None]
    return base.values(np.sqrt(apart), np.zeros((1, 1, 1, 1), Long))[:, :, 0, 0]


# -- linear algebra --------------------------------------------------------------------------------


def solve(A: Array, B: Array) -> Array:
    """A^-1 B by elimination with pivots."""
    A = extended(A).copy()
    B = extended(B).copy()
    flat = B.ndim == 1
    B = B.reshape(len(B), -1)
    n = len(A)
    for k in range(n):
        pivot = k + int(np.abs(A[k:, k]).argmax())
        A[[k, pivot]], B[[k, pivot]] = A[[pivot, k]], B[[pivot, k]]
        factors = A[k + 1 :, k] / A[k, k]
        A[k + 1 :] -= factors[:, None] * A[k]
        B[k + 1 :] -= factors[:, None] * B[k]
    for k in range(n - 1, -1, -1):
        B[k] = (B[k] - A[k, k + 1 :] @ B[k + 1 :]) / A[k, k]
    return B[:, 0] if flat else B


def eigenvalues(A: Array) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors (columns) of a small symmetric matrix, by Jacobi's rotations."""
    A = extended(A).copy()
    n = len(A)
    vectors = np.eye(n, dtype=Long)
    scale = np.abs(A).max()
    for _ in range(60):
        if np.abs(A - np.diag(A.diagonal())).max() <= 1e-20 * scale:
            break
        for i in range(n - 1):
            for j in range(i + 1, n):
                if A[i, j] == 0:
                    continue
                theta = (A[j, j] - A[i, i]) / (2 * A[i, j])
                t = 1 / (abs(theta) + np.sqrt(theta * theta + 1))
                t = t if theta >= 0 else -t
                c = 1 / np.sqrt(t * t + 1)
                turn = np.array([[c, c * t], [-c * t, c]])
                A[:, [i, j]] = A[:, [i, j]] @ turn
                A[[i, j]] = turn.T @ A[[i, j]]
                vectors[:, [i, j]] = vectors[:, [i, j]] @ turn
    return A.diagonal().copy(), vectors


@dataclass
class Ridge:
    """min_{a, b} sum_i s_i (y_i - (K a)_i - b)^2 + alpha a^T K a, for shares s that sum to one.

    Stationary where y_i - (K a)_i - b = alpha a_i / s_i and, with an intercept, sum(a) = 0.
    """

    matrix: Array
    coefficients: Array  # a, and b in the last row where there is an intercept
    intercept: bool

    @classmethod
    def fit(cls, K: Array, y: Array, alpha: float, shares: Array, intercept: bool = True) -> Ridge:
        n = len(K)
        matrix = np.zeros((n + intercept,) * 2, Long)
        matrix[:n, :n] = extended(K) + np.diag(Long(alpha) / extended(shares))
        matrix[n:, :n] = 1
        matrix[:n, n:] = 1
        y = extended(y).reshape(n, -1)
        right = np.concatenate([y, np.zeros((int(intercept), y.shape[1]), Long)])
        return cls(matrix, solve(matrix, right), intercept)

    def predict(self, rows: Array) -> Array:
        return self._rows(rows) @ self.coefficients

    def _rows(self, rows: Array) -> Array:
        ones = np.ones((len(rows), int(self.intercept)), Long)
        return np.concatenate([extended(rows), ones], axis=1)

    def sensitivity(self, rows: Array) -> Array:
        """By how much predictions change, (m, t), for a change of K of norm one, at first order.

        The change is v^T dK a, with v what solves the transposed system for the row.
        """
        n = len(self.matrix) - self.intercept
        v = solve(self.matrix, self._rows(rows).T)[:n]
        sizes = np.sqrt(np.square(self.coefficients[:n]).sum(axis=0))
        return np.sqrt(np.square(v).sum(axis=0))[:, None] * sizes
