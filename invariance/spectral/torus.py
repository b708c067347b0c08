"""`Torus` and `Circle`: products of sines and cosines, indexed by signed integer frequencies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from functools import lru_cache
from itertools import combinations, count
from math import comb
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from ..core.parameters import Number, ParameterError, Whole, check_values, short, stores_parameters
from ..groups import Transformations
from .base import Basis, Eigenspace, Maps, RowIndex, computed, signed_permutation


@stores_parameters
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

    >>> basis = Torus(10, degree=3)
    >>> basis.dimensions_, basis.n_functions_
    (array([  1,  20, 180, 960]), 1161)
    >>> basis.evaluate([[0.0] * 10]).shape
    (1, 1161)
    """

    n_features: Annotated[int, Whole(1)]
    period: Annotated[float, Number(1e-100, 1e100)] = 2.0
    _: KW_ONLY
    degree: Annotated[int | None, Whole(0) | None] = None

    @property
    def manifold_dimension(self) -> int:
        return self._d

    @property
    def volume(self) -> float:
        return float(self.period**self._d)

    @property
    def _frequency(self) -> float:
        return float(2 * np.pi / self.period)

    def spectrum(self) -> Iterator[Eigenspace]:
        d, size = self._d, 64
        for level in count():
            if level >= size:
                size *= 4
            number = int(sums_of_squares(d, size)[level])
            if number:
                yield Eigenspace(level, self._frequency**2 * level, number)

    def sample(self, n_samples: int, random_state: Any = None) -> NDArray:
        check_values("Torus.sample", {"n_samples": Whole(0)}, {"n_samples": n_samples})
        half = self.period / 2
        return check_random_state(random_state).uniform(-half, half, size=(n_samples, self._d))

    def frequencies(self, k: int) -> NDArray:
        """The integer vectors m of the k-th kept eigenspace, shape (dimension, d)."""
        return _frequencies(self._d, self._squared_norm(self.labels_[k]))

    @staticmethod
    def _squared_norm(label: float) -> int:
        return int(label)

    def frame(self, k: int) -> sparse.csr_array:
        return sparse.eye_array(self.dimensions_[k], format="csr")

    @computed
    def _frame(self) -> None:
        return None

    @computed
    def _edges(self) -> NDArray:
        return np.concatenate([[0], self.counts_])

    @computed
    def _factors(self) -> tuple[NDArray, NDArray]:
        """Frequencies and coordinates of each function's factors, first those that are not 1."""
        m = np.concatenate([self.frequencies(k) for k in range(len(self.labels_))])
        most = max(1, np.count_nonzero(m, axis=1).max(initial=0))
        coordinates = np.argsort(m == 0, axis=1, kind="stable")[:, :most]
        return np.take_along_axis(m, coordinates, axis=1), coordinates

    def _values(self, X: NDArray, chosen: NDArray) -> NDArray:
        frequencies, coordinates = (each[chosen] for each in self._factors)
        top = int(np.abs(frequencies).max(initial=0))
        # All one-dimensional factors: row (m + top) d + i holds factor m of coordinate i.
        angles = self._frequency * X.T
        table = np.empty((2 * top + 1, *angles.shape))
        table[top] = 1
        for m in range(1, top + 1):
            turned = m * angles
            np.cos(turned, out=table[top + m])
            np.sin(turned, out=table[top - m])
        table[:top] *= np.sqrt(2)
        table[top + 1 :] *= np.sqrt(2)
        table = table.reshape(-1, len(X))
        places = (frequencies + top) * self._d + coordinates
        values = table[places[:, 0]]
        for slot in range(1, places.shape[1]):
            rows = np.flatnonzero(frequencies[:, slot])
            values[rows] *= table[places[rows, slot]]
        return values

    def _values_cost(self, n_chosen: int) -> int:
        return n_chosen + (2 * int(np.abs(self._factors[0]).max(initial=0)) + 1) * self._d

    def outside(self, X: NDArray) -> str | None:
        spread = np.ptp(X, axis=0).max(initial=0)
        if spread <= self.period * (1 + 1e-9):
            return None
        half = self.period / 2
        number = int(np.any(np.abs(X) > half * (1 + 1e-9), axis=1).sum())
        return (
            f"{number} of {len(X)} points lie outside of the torus, {-half:.6g} to {half:.6g}, and "
            f"were read modulo {self.period:.6g}: scale them into it, or give their own period"
        )

    def same_place(self, differences: NDArray) -> NDArray:
        return differences - self.period * np.round(differences / self.period)

    @property
    def _reach(self) -> float:
        return self.period / 8

    def _checked(self, maps: Maps, group: Transformations) -> Maps:
        own = getattr(group, "period", None)
        if own is not None and abs(own - self.period) > 1e-9 * self.period:
            mine = f"the {type(self).__name__} has period {self.period:.9g}"
            raise ParameterError(f"{short(group)} has period {own:.9g}, but {mine}")
        rounded = np.round(maps[0])
        for i, (matrix, near) in enumerate(zip(maps[0], rounded, strict=True)):
            if np.abs(matrix - near).max() > 1e-8 or signed_permutation(near) is None:
                raise ParameterError(
                    f"element {i} of {short(group)} does not act on the torus: only signed "
                    "permutations of the coordinates, and translations, do"
                )
        return rounded, maps[1]

    def frame_action(self, k: int, matrix: NDArray, shift: NDArray) -> sparse.csr_array:
        perm, signs = _lattice_map(matrix)
        m, level = self.frequencies(k), self._squared_norm(self.labels_[k])
        index = _frequency_index(self._d, level)
        moved = np.zeros_like(m)
        moved[:, perm] = m
        values = np.prod(np.where((m < 0) & (signs < 0), -1.0, 1.0), axis=1)
        rows = np.arange(len(m) + 1)
        action = sparse.csr_array((values, index.find(moved), rows))
        translation = self.same_place(shift)
        for i in np.flatnonzero(np.abs(translation) >= 1e-14 * self.period):
            # cos(w(u + t)) and sin(w(u + t)) mix the functions m and m with its i-th sign changed.
            cosine, sine = _snapped(self._frequency * np.abs(m[:, i]) * shift[i])
            partner = m * np.where(np.arange(self._d) == i, -1, 1)
            off = sparse.csr_array((-np.sign(m[:, i]) * sine, index.find(partner), rows))
            action = sparse.csr_array((sparse.diags_array(cosine) + off) @ action)
            action.eliminate_zeros()
        return action

    def characters(self, matrix: NDArray, shift: NDArray) -> NDArray:
        """Traces on the kept eigenspaces, by a product of theta series.

        A cycle of coordinates of length L acts as a single map x -> sign x + t followed around
        it. Its trace on frequency m is 2 cos(omega m t) or, for a reflection, 0; it counts L m^2.
        """
        levels = np.array([self._squared_norm(label) for label in self.labels_])
        size = int(levels[-1]) + 1
        perm, signs = _lattice_map(matrix)
        series = np.zeros(size)
        series[0] = 1.0
        seen = np.zeros(len(perm), dtype=bool)
        for start in range(len(perm)):
            if seen[start]:
                continue
            length, sign, translation, i = 0, 1.0, 0.0, start
            while not seen[i]:
                seen[i] = True
                translation += sign * shift[i]
                sign *= signs[i]
                length, i = length + 1, int(perm[i])
            grown = series.copy()
            top = int(np.sqrt((size - 1) / length)) if sign > 0 else 0
            for m in range(1, top + 1):
                trace = 2 * np.cos(self._frequency * m * translation)
                grown[length * m * m :] += trace * series[: size - length * m * m]
            series = grown
        return series[levels]


class Circle(Torus):
    r"""The circle, a point being an angle in radians: 1, :math:`\sqrt2\cos kx, \sqrt2\sin kx`.

    Parameters
    ----------
    degree : int, optional
        Highest frequency kept; the eigenvalue of frequency k is k^2.

    >>> Circle(degree=2).evaluate([[0.0]])
    array([[1.        , 1.41421356, 0.        , 1.41421356, 0.        ]])
    """

    n_features = 1
    period = 2 * np.pi
    _parameters = {"degree": Whole(0) | None}

    def __init__(self, degree: int | None = None):
        self.degree = degree

    def spectrum(self) -> Iterator[Eigenspace]:
        return (Eigenspace(k, float(k * k), 2 if k else 1) for k in count())

    @staticmethod
    def _squared_norm(label: float) -> int:
        return int(label) ** 2

    def frequencies(self, k: int) -> NDArray:
        return np.array([[k], [-k]] if k else [[0]])


def _lattice_map(matrix: NDArray) -> tuple[NDArray, NDArray]:
    """perm and signs of a signed permutation, which `isometries` has made sure of."""
    perm = np.abs(matrix).argmax(axis=1)
    return perm, matrix[np.arange(len(perm)), perm]


def _snapped(angles: NDArray) -> tuple[NDArray, NDArray]:
    """cos and sin, with the zeros and ones of quarter turns exact."""
    values = np.cos(angles), np.sin(angles)
    near = 1e-14 * np.maximum(1, np.abs(angles))
    cosine, sine = (np.where(np.abs(v - np.round(v)) < near, np.round(v), v) for v in values)
    return cosine, sine


@lru_cache(maxsize=32)
def sums_of_squares(d: int, size: int) -> NDArray:
    """r_d(N), the number of integer vectors in Z^d with squared norm N, for N < size.

    >>> sums_of_squares(2, 6)
    array([1, 4, 4, 0, 4, 8])
    """
    exact = d * np.log2(2 * size**0.5 + 1) < 62
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
    for root in range(min(largest, int(total**0.5 + 1e-9)), 0, -1) if parts else ():
        for rest in _square_partitions(total - root * root, parts - 1, root):
            yield (root, *rest)


def distinct_orders(items: tuple[int, ...]) -> list[tuple[int, ...]]:
    """All different orders of a few numbers, some of which may be equal.

    >>> distinct_orders((2, 1, 1))
    [(1, 1, 2), (1, 2, 1), (2, 1, 1)]
    """
    if not items:
        return [()]
    rests = [(i, items.index(i)) for i in sorted(set(items))]
    return [(i, *tail) for i, k in rests for tail in distinct_orders(items[:k] + items[k + 1 :])]


@lru_cache(maxsize=4096)
def _frequencies(d: int, squared_norm: int) -> NDArray:
    """All integer vectors in Z^d of a given squared norm, without visiting any others."""
    blocks = []
    for roots in _square_partitions(squared_norm, d, squared_norm):
        j = len(roots)
        places = np.array(list(combinations(range(d), j)), dtype=int).reshape(comb(d, j), j)
        orders = np.array(distinct_orders(roots), dtype=int)
        signs = 1 - 2 * ((np.arange(2**j)[:, None] >> np.arange(j)) & 1)
        values = (orders[:, None] * signs).reshape(len(orders) * len(signs), j)
        block = np.zeros((len(places), len(values), d), dtype=int)
        which = np.arange(len(places))[:, None, None], np.arange(len(values))[:, None]
        block[*which, places[:, None]] = values
        blocks.append(block.reshape(-1, d))
    rows = np.concatenate(blocks)
    rows.flags.writeable = False
    return rows


@lru_cache(maxsize=256)
def _frequency_index(d: int, squared_norm: int) -> RowIndex:
    return RowIndex(_frequencies(d, squared_norm))
