"""`Torus` and `Circle`: products of sines and cosines, indexed by signed integer frequencies."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations, count
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_random_state
from sympy.utilities.iterables import multiset_permutations

from ..groups import Group
from .base import Basis, Eigenspace, signed_permutation
from .rows import RowIndex

__all__ = ["Circle", "Torus"]


class Torus(Basis):
    r"""The flat torus of side ``period``, by default [-1, 1)^d with opposite faces glued.

    The eigenfunctions are indexed by integer vectors m: coordinate i contributes 1 for
    :math:`m_i = 0`, :math:`\sqrt2 \cos(\omega m_i x_i)` for :math:`m_i > 0` and
    :math:`\sqrt2 \sin(\omega |m_i| x_i)` for :math:`m_i < 0`, with :math:`\omega = 2\pi` /
    ``period``, which is :math:`\pi` in the setting of Soleymani et al. 2025, section 6. The
    eigenvalue is :math:`\omega^2 \sum_i m_i^2`.

    Parameters
    ----------
    n_features : int
        Dimension d.
    period : float
        Side length. Any real coordinates are points of the torus: they are read modulo this.
    degree : int, optional
        Keep the eigenspaces with :math:`\sum_i m_i^2` up to this.

    Examples
    --------
    >>> basis = Torus(10, degree=3)
    >>> basis.dimensions_, basis.n_functions_
    (array([  1,  20, 180, 960]), 1161)
    >>> basis.evaluate([[0.0] * 10]).shape
    (1, 1161)
    """

    def __init__(self, n_features: int, period: float = 2.0, degree: int | None = None):
        self.n_features = n_features
        self.period = period
        self.degree = degree

    @property
    def manifold_dimension(self) -> int:
        return self.n_features

    @property
    def volume(self) -> float:
        return float(self.period**self.n_features)

    @property
    def _frequency(self) -> float:
        if not self.period > 0:
            raise ValueError(f"{type(self).__name__} needs period > 0, got {self.period!r}")
        return 2 * np.pi / self.period

    def spectrum(self) -> Iterator[Eigenspace]:
        d = _dimension(self)
        size = 64
        for level in count():
            if level >= size:
                size *= 4
            number = int(sums_of_squares(d, size)[level])
            if number:
                yield Eigenspace(level, self._frequency**2 * level, number)

    def counting(self, eigenvalues: ArrayLike) -> NDArray:
        levels = np.asarray(eigenvalues, dtype=float) / self._frequency**2
        # A level that is an integer up to rounding belongs to the eigenvalue it was made from.
        levels = np.floor(levels * (1 + 1e-12) + 1e-12).astype(int)
        total = np.cumsum(sums_of_squares(_dimension(self), max(int(levels.max()), 0) + 1))
        return np.where(levels < 0, 0, total[np.maximum(levels, 0)])

    def sample(self, n_samples: int, random_state=None) -> NDArray:
        rng = check_random_state(random_state)
        half = self.period / 2
        return rng.uniform(-half, half, size=(n_samples, _dimension(self)))

    def frequencies(self, k: int) -> NDArray:
        """The integer vectors m of the k-th kept eigenspace, shape (dimension, d)."""
        return _frequencies(_dimension(self), self._squared_norm(self.eigenspaces_[k].label))

    @staticmethod
    def _squared_norm(label: float) -> int:
        return int(label)

    def frame(self, k: int) -> sparse.csr_array:
        return sparse.eye_array(self.eigenspaces_[k].dimension, format="csr")

    def _frames(self, X: NDArray, wanted: list[NDArray]) -> list[NDArray]:
        d = self.n_features
        chosen = [self.frequencies(k)[rows] for k, rows in enumerate(wanted)]
        top = max((int(np.abs(m).max()) for m in chosen if m.size), default=0)
        table = self._table(X, top)
        parts = []
        for m in chosen:
            part = np.ones((len(m), len(X)))
            # Slot j holds each function's j-th factor that is not 1.
            factors = np.count_nonzero(m, axis=1)
            order = np.argsort(m == 0, axis=1, kind="stable")
            for slot in range(int(factors.max(initial=0))):
                rows = np.flatnonzero(factors > slot)
                coordinate = order[rows, slot]
                part[rows] *= table[(m[rows, coordinate] + top) * d + coordinate]
            parts.append(part)
        return parts

    def _table(self, X: NDArray, top: int) -> NDArray:
        """All one-dimensional factors: row ``(m + top) d + i`` holds factor m of coordinate i."""
        angles = self._frequency * X.T
        rows = []
        for m in range(-top, top + 1):
            wave = np.sin if m < 0 else np.cos
            rows.append(np.sqrt(2) * wave(abs(m) * angles) if m else np.ones_like(angles))
        return np.concatenate(rows)

    def isometries(self, group: Group, elements: ArrayLike) -> tuple[NDArray, NDArray]:
        def wrap(differences):
            return differences - self.period * np.round(differences / self.period)

        matrices, shifts = self._affine(group, elements, self.period / 8, wrap)
        for i, matrix in enumerate(matrices):
            rounded = np.round(matrix)
            if np.abs(matrix - rounded).max() > 1e-8 or signed_permutation(rounded) is None:
                raise ValueError(
                    f"element {i} of {group!r} does not act on the eigenfunctions of the torus: "
                    "apart from translations, only signed permutations of the coordinates map "
                    "its lattice to itself"
                )
            matrices[i] = rounded
        return matrices, shifts

    def frame_action(self, k: int, matrix: NDArray, shift: NDArray) -> sparse.csr_array:
        perm, signs = signed_permutation(matrix)
        m = self.frequencies(k)
        index = _frequency_index(_dimension(self), self._squared_norm(self.eigenspaces_[k].label))
        moved = np.zeros_like(m)
        moved[:, perm] = m
        values = np.prod(np.where((m < 0) & (signs < 0), -1.0, 1.0), axis=1)
        size = len(m)
        action = sparse.csr_array((values, (np.arange(size), index.find(moved))), (size, size))
        turned = sparse.eye_array(size, format="csr")
        for i in np.flatnonzero(wrapped(shift, self.period)):
            # cos(w(u + t)) and sin(w(u + t)) mix the functions m and m with its i-th sign changed.
            cosine, sine = _snapped(self._frequency * np.abs(m[:, i]) * shift[i])
            partner = m.copy()
            partner[:, i] *= -1
            rows = np.arange(size)
            off = -np.sign(m[:, i]) * sine
            turn = sparse.csr_array(
                (
                    np.concatenate([cosine, off]),
                    (np.tile(rows, 2), np.concatenate([rows, index.find(partner)])),
                ),
                (size, size),
            )
            turned = turned @ turn
        result = sparse.csr_array(turned @ action)
        result.eliminate_zeros()
        return result


class Circle(Torus):
    r"""The circle, a point being an angle in radians: 1, :math:`\sqrt2\cos kx, \sqrt2\sin kx`.

    Parameters
    ----------
    degree : int, optional
        Highest frequency kept; the eigenvalue of frequency k is k^2.

    Examples
    --------
    >>> Circle(degree=2).evaluate([[0.0]])
    array([[1.        , 1.41421356, 0.        , 1.41421356, 0.        ]])
    """

    n_features = 1
    period = 2 * np.pi

    def __init__(self, degree: int | None = None):
        self.degree = degree

    def spectrum(self) -> Iterator[Eigenspace]:
        return (Eigenspace(k, float(k * k), 2 if k else 1) for k in count())

    def counting(self, eigenvalues: ArrayLike) -> NDArray:
        eigenvalues = np.asarray(eigenvalues, dtype=float)
        return np.where(eigenvalues < 0, 0, 1 + 2 * np.sqrt(np.abs(eigenvalues)).astype(int))

    @staticmethod
    def _squared_norm(label: float) -> int:
        return int(label) ** 2


def _dimension(basis: Basis) -> int:
    d = basis.n_features
    if isinstance(d, bool) or not isinstance(d, (int, np.integer)) or d < 1:
        raise ValueError(f"{type(basis).__name__} needs an integer n_features >= 1, got {d!r}")
    return int(d)


def wrapped(differences: NDArray, period: float) -> NDArray:
    """Differences reduced to [-period/2, period/2], with rounding errors set to zero."""
    reduced = differences - period * np.round(differences / period)
    return np.where(np.abs(reduced) < 1e-14 * period, 0.0, reduced)


def _snapped(angles: NDArray) -> tuple[NDArray, NDArray]:
    """cos and sin, with the zeros and ones of quarter turns exact."""
    values = np.cos(angles), np.sin(angles)
    rounded = [np.round(v) for v in values]
    return tuple(
        np.where(np.abs(v - r) < 1e-14 * np.maximum(1, np.abs(angles)), r, v)
        for v, r in zip(values, rounded, strict=True)
    )


@lru_cache(maxsize=32)
def sums_of_squares(d: int, size: int) -> NDArray:
    """r_d(N), the number of integer vectors in Z^d with squared norm N, for N < size.

    >>> sums_of_squares(2, 6)
    array([1, 4, 4, 0, 4, 8])
    """
    exact = (2 * size**0.5 + 1) ** d < 2**62
    numbers = np.zeros(size, dtype=np.int64 if exact else object)
    numbers[0] = 1
    for _ in range(d):
        grown = numbers.copy()
        for root in range(1, int(np.sqrt(size - 1)) + 1 if size > 1 else 1):
            grown[root**2 :] += 2 * numbers[: size - root**2]
        numbers = grown
    numbers.flags.writeable = False
    return numbers


def _square_partitions(total: int, parts: int, largest: int) -> Iterator[tuple[int, ...]]:
    """Ways to write ``total`` as at most ``parts`` positive squares; yields the roots, falling."""
    if total == 0:
        yield ()
        return
    if parts == 0:
        return
    for root in range(min(largest, int(total**0.5 + 1e-9)), 0, -1):
        for rest in _square_partitions(total - root * root, parts - 1, root):
            yield (root, *rest)


@lru_cache(maxsize=256)
def _frequencies(d: int, squared_norm: int) -> NDArray:
    """All integer vectors in Z^d of a given squared norm, without visiting any others."""
    blocks = []
    for roots in _square_partitions(squared_norm, d, squared_norm):
        j = len(roots)
        places = np.array(list(combinations(range(d), j)), dtype=int).reshape(comb(d, j), j)
        orders = np.array(list(multiset_permutations(roots)) if j else [()], dtype=int)
        signs = 1 - 2 * ((np.arange(2**j)[:, None] >> np.arange(j)) & 1)
        values = (orders[:, None] * signs).reshape(len(orders) * len(signs), j)
        block = np.zeros((len(places), len(values), d), dtype=int)
        np.put_along_axis(
            block,
            np.broadcast_to(places[:, None], (len(places), len(values), j)),
            np.broadcast_to(values, (len(places), len(values), j)),
            axis=2,
        )
        blocks.append(block.reshape(-1, d))
    rows = np.concatenate(blocks)
    rows.flags.writeable = False
    return rows


@lru_cache(maxsize=256)
def _frequency_index(d: int, squared_norm: int) -> RowIndex:
    return RowIndex(_frequencies(d, squared_norm))
