"""`CircleAction`: rotations that are diagonal in a basis of angular frequencies.

`CircleProducts` computes inner products with all rotated copies of a vector at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..parameters import Array, ParameterError, Whole, short
from .base import Group
from .densities import DENSITY, Density

__all__ = ["CircleAction", "CircleProducts"]

#: Pairs whose products at all angles fit into a fast cache together.
_PAIRS = 512


class CircleAction(Group):
    r"""The circle acting on vectors by plane rotations, one angular frequency a pair of entries.

    Two neighbouring entries (c, s) of frequency m > 0 are the coefficients of cos and sin; the
    rotation by theta turns them by m theta. An entry of frequency 0 stays as it is. The action is
    exactly unitary, unlike the rotation of a pixel image by interpolation: `AngularBasis` takes
    images to such vectors and knows their frequencies.

    With ``n_nodes`` the circle is replaced by the cyclic group of that order and the density by
    its values there, normalised: the trapezoidal rule, whose error falls faster than any power for
    smooth functions of the angle. `elements` and `weights` list the rule.

    Parameters
    ----------
    frequencies : array-like of int, shape (d,)
        Zeros stand alone, positive ones in neighbouring pairs.
    density : Density or None
        On the angle in radians; None is uniform.
    n_nodes : int or None
        Order of the cyclic group; None keeps the whole circle, which can be sampled only.

    Examples
    --------
    >>> import numpy as np
    >>> action = CircleAction([0, 1, 1, 2, 2], n_nodes=8)
    >>> action.act([np.pi / 2], [[5.0, 1.0, 0.0, 1.0, 0.0]])[0].round(12) + 0.0
    array([[ 5.,  0.,  1., -1.,  0.]])
    """

    unitary = True
    _parameters = {
        "frequencies": Array(whole=True, least=0),
        "density": DENSITY,
        "n_nodes": Whole(1) | None,
    }

    def __init__(
        self,
        frequencies: ArrayLike,
        density: Density | None = None,
        *,
        n_nodes: int | None = None,
    ):
        self.frequencies = frequencies
        self.density = density
        self.n_nodes = n_nodes

    def _check_together(self) -> None:
        frequencies = np.atleast_1d(np.asarray(self.frequencies))
        places = np.flatnonzero(frequencies > 0)
        paired = frequencies.ravel()[places]
        if (
            frequencies.ndim != 1
            or len(paired) % 2
            or np.any(paired[::2] != paired[1::2])
            or np.any(places[1::2] - places[::2] != 1)
        ):
            raise ParameterError(
                "frequencies must be one row in which positive frequencies come in neighbouring "
                f"pairs (cos, sin), got {short(self.frequencies)}"
            )

    def frequency_array(self) -> NDArray[Any]:
        """The frequencies as integers, checked.

        Raises
        ------
        ParameterError
            For a negative frequency or one that lacks its partner.
        """
        self._check()
        return np.atleast_1d(np.asarray(self.frequencies))

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        self._check()
        return self.density is None or self.density.symmetric

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.frequency_array()),)

    @property
    def order(self) -> int | float:
        self._check()
        return np.inf if self.n_nodes is None else int(self.n_nodes)

    def elements(self) -> NDArray[Any]:
        """The nodes 2 pi k / n_nodes of the quadrature rule, shape (n_nodes,)."""
        self._check()
        if self.n_nodes is None:
            return super().elements()
        self._check_listable()
        return np.asarray(2 * np.pi * np.arange(self.n_nodes) / self.n_nodes)

    def weights(self) -> NDArray[Any] | None:
        """The density at the nodes, normalised to sum to one; None when uniform."""
        self._check()
        if self.density is None or self.n_nodes is None:
            return None
        # Densities on the line (a normal, say) see the angle of least size.
        angles = (self.elements() + np.pi) % (2 * np.pi) - np.pi
        values = self.density.pdf(angles)
        if not values.sum() > 0:
            raise ParameterError(
                f"density {self.density!r} vanishes at all {self.n_nodes} nodes; raise n_nodes"
            )
        return np.asarray(values / values.sum())

    def quadrature(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The nodes; of the whole circle, four a period of the highest frequency, and one more."""
        if self.n_nodes is not None:
            return super().quadrature()
        n = 4 * int(self.frequency_array().max(initial=0)) + 1
        return CircleAction(self.frequencies, self.density, n_nodes=n).quadrature()

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> NDArray[Any]:
        if self.n_nodes is not None:
            return np.asarray(rng.choice(self.elements(), size=n_samples, p=self.weights()))
        if self.density is None:
            return rng.uniform(-np.pi, np.pi, size=n_samples)
        return self.density.sample(n_samples, rng)

    def identity(self) -> NDArray[Any]:
        return np.zeros(1)

    def compose(self, first: ArrayLike, second: ArrayLike) -> NDArray[Any]:
        return np.asarray(np.asarray(first) + np.asarray(second))

    def inverse(self, elements: ArrayLike) -> NDArray[Any]:
        return -np.asarray(elements)

    def _check_elements(self, elements: NDArray[Any]) -> NDArray[Any]:
        if elements.ndim != 1 or not np.isfinite(elements).all():
            self._refuse(elements, "finite angles in radians, of shape (r,)")
        return elements

    def _act(self, elements: NDArray[Any], X: NDArray[Any]) -> NDArray[Any]:
        frequencies = self.frequency_array()
        moved = np.repeat(X[None], len(elements), axis=0)
        cosines = np.flatnonzero(frequencies)[::2]
        turns = np.asarray(elements, dtype=float).reshape(-1, 1) * frequencies[cosines]
        c = np.cos(turns)[:, None].astype(X.dtype)
        s = np.sin(turns)[:, None].astype(X.dtype)
        even, odd = X[:, cosines], X[:, cosines + 1]
        moved[..., cosines] = even * c - odd * s
        moved[..., cosines + 1] = even * s + odd * c
        return moved


class CircleProducts:
    r"""All products ``<x, g_theta t>`` at many angles from one projection and one small product.

    With the coefficients of x and t collected by frequency,

    .. math:: \langle x, g_\theta t \rangle = \sum_m a_m \cos m\theta + b_m \sin m\theta ,

    where a_m and b_m are two short inner products: the cost of a pair is that of one projection
    plus (2 M + 1) operations an angle, instead of d operations an angle.

    Parameters
    ----------
    frequencies : ndarray of int, shape (d,), as in `CircleAction`
    templates : ndarray of shape (s, d)
    angles : ndarray of shape (r,), radians
    """

    def __init__(self, frequencies: NDArray[Any], templates: NDArray[Any], angles: NDArray[Any]):
        dtype = templates.dtype
        self.n_templates = len(templates)
        self.n_angles = len(angles)
        self._fixed = np.flatnonzero(frequencies == 0)
        cosines = np.flatnonzero(frequencies > 0)[::2]
        self._blocks = []
        orders = np.unique(frequencies[frequencies > 0])
        for m in orders:
            at = cosines[frequencies[cosines] == m]
            columns = np.concatenate([at, at + 1])
            c, s = templates[:, at], templates[:, at + 1]
            same = np.ascontiguousarray(np.concatenate([c, s], axis=1).T)
            cross = np.ascontiguousarray(np.concatenate([-s, c], axis=1).T)
            self._blocks.append((columns, same, cross))
        self._constant = np.ascontiguousarray(templates[:, self._fixed].T)
        angles = np.asarray(angles, dtype=float)
        # Nodes come in pairs theta, -theta: cosines and sines are then needed for one of each.
        half = len(angles) // 2 + 1
        mirrored = np.exp(1j * angles[1:][::-1]) - np.exp(-1j * angles[1:])
        at_zero = len(angles) > 2 and abs(np.exp(1j * angles[0]) - 1) < 1e-9
        self._half = half if at_zero and np.abs(mirrored).max() < 1e-9 else None
        turns = np.outer(angles if self._half is None else angles[:half], orders)
        ones = np.ones((len(turns), 1))
        self._even = np.concatenate([ones, np.cos(turns)], axis=1).astype(dtype)
        self._odd = np.sin(turns).astype(dtype)
        self._both = np.concatenate([self._even, self._odd], axis=1)

    def gather(self, X: NDArray[Any]) -> list[NDArray[Any]]:
        """The rows' coefficients by frequency, contiguous: made once for many tiles."""
        parts = [np.ascontiguousarray(X[:, self._fixed])]
        return parts + [np.ascontiguousarray(X[:, columns]) for columns, _, _ in self._blocks]

    def _coefficients(
        self, gathered: list[NDArray[Any]], rows: slice, columns: slice
    ) -> NDArray[Any]:
        """a_0, ..., a_M, b_1, ..., b_M of a tile, shape (2 M + 1, rows, columns)."""
        constant = gathered[0][rows]
        shape = (len(constant), self._constant[:, columns].shape[1])
        m = len(self._blocks)
        coefficients = np.empty((2 * m + 1, *shape), dtype=constant.dtype)
        np.matmul(constant, self._constant[:, columns], out=coefficients[0])
        for i, (_, same, cross) in enumerate(self._blocks):
            part = gathered[i + 1][rows]
            np.matmul(part, same[:, columns], out=coefficients[1 + i])
            np.matmul(part, cross[:, columns], out=coefficients[1 + m + i])
        return coefficients

    def pairs(
        self, gathered: list[NDArray[Any]], rows: slice, columns: slice
    ) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Products of a tile, a cache's worth of (row, column) pairs at a time.

        Yields
        ------
        which : slice of the flattened (row, column) pairs
        values : ndarray of shape (r, pairs), overwritten by the next one
        """
        coefficients = self._coefficients(gathered, rows, columns)
        coefficients = coefficients.reshape(len(coefficients), -1)
        n_pairs, split = coefficients.shape[1], self._even.shape[1]
        width = min(_PAIRS, n_pairs)
        values = np.empty((self.n_angles, width), dtype=coefficients.dtype)
        if self._half is not None:
            even, odd = np.empty((2, self._half, width), dtype=coefficients.dtype)
        for start in range(0, n_pairs, width):
            which = slice(start, min(start + width, n_pairs))
            now = slice(0, which.stop - which.start)
            part = coefficients[:, which]
            if self._half is None:
                np.matmul(self._both, part, out=values[:, now])
            else:
                h, rest = self._half, self.n_angles - self._half
                np.matmul(self._even, part[:split], out=even[:, now])
                np.matmul(self._odd, part[split:], out=odd[:, now])
                np.add(even[:, now], odd[:, now], out=values[:h, now])
                mirror = slice(rest, 0, -1)
                np.subtract(even[mirror, now], odd[mirror, now], out=values[h:, now])
            yield which, values[:, now]

    def __call__(self, gathered: list[NDArray[Any]], rows: slice, columns: slice) -> NDArray[Any]:
        """Products of a tile, shape (r, rows, columns)."""
        shape = (len(gathered[0][rows]), self._constant[:, columns].shape[1])
        tile = np.empty((self.n_angles, shape[0] * shape[1]), dtype=gathered[0].dtype)
        for which, values in self.pairs(gathered, rows, columns):
            tile[:, which] = values
        return tile.reshape(self.n_angles, *shape)
