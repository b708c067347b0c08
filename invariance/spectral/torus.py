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
from .base import (
    Basis,
    Eigenspace,
    Maps,
    RowIndex,
    computed,
    cycles,
    permutation_matrix,
    signed_permutation,
)


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

    Examples
    --------
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
        n_listed = 64
        for squared_norm in count():
            if squared_norm >= n_listed:
                n_listed *= 4
            dimension = int(sums_of_squares(self._d, n_listed)[squared_norm])
            if dimension:
                eigenvalue = self._frequency**2 * squared_norm
                yield Eigenspace(squared_norm, eigenvalue, dimension)

    def sample(self, n_samples: int, random_state: Any = None) -> NDArray:
        check_values("Torus.sample", {"n_samples": Whole(0)}, {"n_samples": n_samples})
        half = self.period / 2
        return check_random_state(random_state).uniform(-half, half, size=(n_samples, self._d))

    def frequencies(self, k: int) -> NDArray:
        """Return the integer vectors m of the k-th kept eigenspace, shape (dimension, d)."""
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
        n_factors = max(1, np.count_nonzero(m, axis=1).max(initial=0))
        nonzero_first = np.argsort(m == 0, axis=1, kind="stable")
        coordinates = nonzero_first[:, :n_factors]
        return np.take_along_axis(m, coordinates, axis=1), coordinates

    def _values(self, X: NDArray, chosen: NDArray) -> NDArray:
        all_frequencies, all_coordinates = self._factors
        frequencies = all_frequencies[chosen]
        coordinates = all_coordinates[chosen]
        highest = int(np.abs(frequencies).max(initial=0))
        table = self._factor_table(X, highest)
        places = (frequencies + highest) * self._d + coordinates
        values = table[places[:, 0]]
        for slot in range(1, places.shape[1]):
            rows = np.flatnonzero(frequencies[:, slot])
            values[rows] *= table[places[rows, slot]]
        return values

    def _factor_table(self, X: NDArray, highest: int) -> NDArray:
        """Return all one-dimensional factors: row (m + highest) d + i is factor m of x_i."""
        angles = self._frequency * without_far_turns(X, self.period).T
        table = np.empty((2 * highest + 1, *angles.shape))
        table[highest] = 1
        for m in range(1, highest + 1):
            multiples = m * angles
            np.cos(multiples, out=table[highest + m])
            np.sin(multiples, out=table[highest - m])
        table[:highest] *= np.sqrt(2)
        table[highest + 1 :] *= np.sqrt(2)
        return table.reshape(-1, len(X))

    def _values_cost(self, n_chosen: int) -> int:
        frequencies, _ = self._factors
        highest = int(np.abs(frequencies).max(initial=0))
        return n_chosen + (2 * highest + 1) * self._d

    def outside(self, X: NDArray) -> str | None:
        spread = np.ptp(X, axis=0).max(initial=0)
        if spread <= self.period * (1 + 1e-9):
            return None
        half = self.period / 2
        n_outside = int(np.any(np.abs(X) > half * (1 + 1e-9), axis=1).sum())
        return (
            f"{n_outside} of {len(X)} points lie outside of the torus, {-half:.6g} to {half:.6g}, "
            f"and were read modulo {self.period:.6g}: scale them into it, or give their own period"
        )

    def same_place(self, differences: NDArray) -> NDArray:
        return without_turns(differences, self.period)

    @property
    def _reach(self) -> float:
        return self.period / 8

    def _checked(self, maps: Maps, group: Transformations) -> Maps:
        period = getattr(group, "period", None)
        if period is not None and abs(period - self.period) > 1e-9 * self.period:
            raise ParameterError(
                f"{short(group)} has period {period:.9g}, but the {type(self).__name__} has period "
                f"{self.period:.9g}"
            )
        matrices, shifts = maps
        rounded_matrices = np.round(matrices)
        for i, rounded in enumerate(rounded_matrices):
            if np.abs(matrices[i] - rounded).max() > 1e-8 or signed_permutation(rounded) is None:
                raise ParameterError(
                    f"element {i} of {short(group)} does not act on the torus: only signed "
                    "permutations of the coordinates, and translations, do"
                )
        return rounded_matrices, shifts

    def frame_permutation(
        self, k: int, matrix: NDArray, shift: NDArray
    ) -> tuple[NDArray, NDArray] | None:
        if self._translated_coordinates(shift).size:
            return None
        return self._turned(k, matrix)

    def _translated_coordinates(self, shift: NDArray) -> NDArray:
        """Coordinates that a shift moves."""
        return np.flatnonzero(np.abs(self.same_place(shift)) >= 1e-14 * self.period)

    def _turned(self, k: int, matrix: NDArray) -> tuple[NDArray, NDArray]:
        """Targets and signs of the map ``x -> A x``."""
        perm, signs = _lattice_map(matrix)
        m = self.frequencies(k)
        permuted = np.zeros_like(m)
        permuted[:, perm] = m
        # The sign of each sine changes with the sign of its coordinate.
        is_sine_turned = (m < 0) & (signs < 0)
        values = np.where(np.count_nonzero(is_sine_turned, axis=1) % 2, -1.0, 1.0)
        return self._index(k).find(permuted), values

    def _index(self, k: int) -> RowIndex:
        return _frequency_index(self._d, self._squared_norm(self.labels_[k]))

    def frame_action(self, k: int, matrix: NDArray, shift: NDArray) -> sparse.csr_array:
        action = permutation_matrix(*self._turned(k, matrix))
        m = self.frequencies(k)
        row_ends = np.arange(len(m) + 1)
        for i in self._translated_coordinates(shift):
            # cos(w(u + t)) and sin(w(u + t)) mix the functions m and m with its i-th sign changed.
            angles = self._frequency * np.abs(m[:, i]) * shift[i]
            cosines, sines = _snapped(angles)
            partners = m.copy()
            partners[:, i] *= -1
            entries = (-np.sign(m[:, i]) * sines, self._index(k).find(partners), row_ends)
            mixing = sparse.diags_array(cosines) + sparse.csr_array(entries)
            action = sparse.csr_array(mixing @ action)
            action.eliminate_zeros()
        return action

    def characters(self, matrix: NDArray, shift: NDArray) -> NDArray:
        """Return the traces on the kept eigenspaces, by a product of theta series.

        A cycle of coordinates of length L acts as one map x -> sign x + t, its maps one after the
        other. The trace on frequency m is 2 cos(omega m t) or, for a reflection, 0; it belongs to
        the squared norm L m^2.
        """
        squared_norms = np.array([self._squared_norm(label) for label in self.labels_])
        n_terms = int(squared_norms[-1]) + 1
        series = np.zeros(n_terms)
        series[0] = 1.0
        for length, sign, translation in cycles(*_lattice_map(matrix), shift):
            if sign < 0:
                continue
            product = series.copy()
            highest = int(np.sqrt((n_terms - 1) / length))
            for m in range(1, highest + 1):
                trace = 2 * np.cos(self._frequency * m * translation)
                squared_norm = length * m * m
                product[squared_norm:] += trace * series[: n_terms - squared_norm]
            series = product
        return series[squared_norms]


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
    _parameters = {"degree": Whole(0) | None}

    def __init__(self, degree: int | None = None):
        self.degree = degree

    def spectrum(self) -> Iterator[Eigenspace]:
        yield Eigenspace(label=0, eigenvalue=0.0, dimension=1)
        for k in count(1):
            yield Eigenspace(label=k, eigenvalue=float(k * k), dimension=2)

    @staticmethod
    def _squared_norm(label: float) -> int:
        return int(label) ** 2

    def frequencies(self, k: int) -> NDArray:
        if k == 0:
            return np.array([[0]])
        return np.array([[k], [-k]])


def without_turns(X: NDArray, period: float) -> NDArray:
    """Return coordinates modulo the period, of at most half of it in size."""
    return X - period * np.round(X / period)


def without_far_turns(X: NDArray, period: float) -> NDArray:
    """Return X, modulo the period where it is a hundred periods away: angles would lose digits."""
    is_far = np.abs(X) > 100 * period
    if not is_far.any():
        return X
    return np.where(is_far, without_turns(X, period), X)


def _lattice_map(matrix: NDArray) -> tuple[NDArray, NDArray]:
    """Return perm and signs of a matrix that is known to be a signed permutation."""
    perm = np.abs(matrix).argmax(axis=1)
    return perm, matrix[np.arange(len(perm)), perm]


def _snapped(angles: NDArray) -> tuple[NDArray, NDArray]:
    """Return cosines and sines; those of quarter turns are exact."""
    tolerance = 1e-14 * np.maximum(1, np.abs(angles))

    def snap(values: NDArray) -> NDArray:
        rounded = np.round(values)
        return np.where(np.abs(values - rounded) < tolerance, rounded, values)

    return snap(np.cos(angles)), snap(np.sin(angles))


@lru_cache(maxsize=32)
def sums_of_squares(d: int, size: int) -> NDArray:
    """Return r_d(N), the number of integer vectors in Z^d with squared norm N, for N < size.

    >>> sums_of_squares(2, 6)
    array([1, 4, 4, 0, 4, 8])
    """
    fits_int64 = d * np.log2(2 * size**0.5 + 1) < 62
    numbers = np.zeros(size, dtype=np.int64 if fits_int64 else object)
    numbers[0] = 1
    largest_root = int(np.sqrt(max(size - 1, 0)))
    for _ in range(d):
        with_coordinate = numbers.copy()
        for root in range(1, largest_root + 1):
            with_coordinate[root**2 :] += 2 * numbers[: size - root**2]
        numbers = with_coordinate
    numbers.flags.writeable = False
    return numbers


def _square_partitions(total: int, parts: int, largest: int) -> Iterator[tuple[int, ...]]:
    """Yield the roots, in falling order, of at most ``parts`` squares > 0 that sum to ``total``."""
    if total == 0:
        yield ()
    if parts == 0:
        return
    largest_root = min(largest, int(total**0.5 + 1e-9))
    for root in range(largest_root, 0, -1):
        for smaller_roots in _square_partitions(total - root * root, parts - 1, root):
            yield (root, *smaller_roots)


def distinct_orders(items: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return all different orders of a few numbers, among which there may be equal ones.

    >>> distinct_orders((2, 1, 1))
    [(1, 1, 2), (1, 2, 1), (2, 1, 1)]
    """
    if not items:
        return [()]
    orders = []
    for first_item in sorted(set(items)):
        place = items.index(first_item)
        remaining = items[:place] + items[place + 1 :]
        for tail in distinct_orders(remaining):
            orders.append((first_item, *tail))
    return orders


@lru_cache(maxsize=4096)
def _frequencies(d: int, squared_norm: int) -> NDArray:
    """Return all integer vectors in Z^d of a squared norm, without a search through others."""
    blocks = []
    for roots in _square_partitions(squared_norm, d, squared_norm):
        n_nonzero = len(roots)
        places = np.array(list(combinations(range(d), n_nonzero)), dtype=int)
        places = places.reshape(comb(d, n_nonzero), n_nonzero)
        orders = np.array(distinct_orders(roots), dtype=int)
        bits = (np.arange(2**n_nonzero)[:, None] >> np.arange(n_nonzero)) & 1
        signs = 1 - 2 * bits
        values = (orders[:, None] * signs).reshape(len(orders) * len(signs), n_nonzero)
        block = np.zeros((len(places), len(values), d), dtype=int)
        place_index = np.arange(len(places))[:, None, None]
        value_index = np.arange(len(values))[:, None]
        block[place_index, value_index, places[:, None]] = values
        blocks.append(block.reshape(-1, d))
    rows = np.concatenate(blocks)
    rows.flags.writeable = False
    return rows


@lru_cache(maxsize=256)
def _frequency_index(d: int, squared_norm: int) -> RowIndex:
    return RowIndex(_frequencies(d, squared_norm))
