"""`CircleAction`: rotations that are diagonal in a basis of angular frequencies."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.parameters import Array, ParameterError, Whole, short, stores_parameters
from .base import Group
from .densities import DENSITY, Density, nodes_for

__all__ = ["Angles", "CircleAction"]


class Angles(Group):
    """Turns by angles in radians, shape (r,): all of them, or ``n_nodes`` equal steps."""

    n_nodes: int | None

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


@stores_parameters
class CircleAction(Angles):
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
    linear = True
    frequencies: Annotated[ArrayLike, Array(whole=True, least=0)]
    density: Annotated[Density | None, DENSITY] = None
    _: KW_ONLY
    n_nodes: Annotated[int | None, Whole(1) | None] = None

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
        return super().quadrature() if self.n_nodes else self.refined(1).quadrature()

    def refined(self, factor: int) -> CircleAction:
        """The rule of the whole circle, or the given one, with ``factor`` times as many nodes."""
        n = self.n_nodes
        if n is None:
            n = nodes_for(self.density, 4 * int(self.frequency_array().max(initial=0)) + 1)
        return type(self)(self.frequencies, self.density, n_nodes=factor * n)

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> NDArray[Any]:
        if self.n_nodes is not None:
            return self._from_listed(n_samples, rng)
        if self.density is None:
            return rng.uniform(-np.pi, np.pi, size=n_samples)
        return self.density.sample(n_samples, rng)

    @property
    def one_sided(self) -> bool:
        return self.density is None

    def relative_rule(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The nodes, with the circular autocorrelation of the density's values at them."""
        nodes, q = self.quadrature()
        w = np.fft.irfft(np.abs(np.fft.rfft(q)) ** 2, len(q))
        # Exactly even in the angle, so that a Gram matrix is exactly symmetric in theory.
        return nodes, (w + np.roll(w[::-1], 1)) / 2

    def as_circle(self) -> NDArray[Any]:
        """The frequencies."""
        return self.frequency_array()

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
