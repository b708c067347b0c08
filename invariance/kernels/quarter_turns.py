"""`QuarterTurns`: inner products over the quarter turns of an image at a fraction of their cost.

A quarter turn Q of a square only permutes pixels, and so it permutes the products of pixels that a
`Lift` holds. On a cycle of features the four inner products <a, b Q^k> are a cyclic correlation of
length four, which a Fourier transform of that length takes apart: two real products, and a complex
one of which four turns need the real and the imaginary part once each.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..groups import Rotations
from .lift import Lift

__all__ = ["QuarterTurns", "within_a_quarter"]

#: Points that are lifted at a time.
_POINTS = 32


def within_a_quarter(group: Rotations) -> Rotations | None:
    """The rotations of `group` in [0, 90) degrees, if it is these followed by quarter turns.

    None where it is not, or where a quarter turn does not map the frame to itself.

    >>> within_a_quarter(Rotations((4, 4), degrees=range(-180, 180, 30))).degrees
    [0.0, 30.0, 60.0]
    >>> within_a_quarter(Rotations((4, 4), degrees=range(-90, 90, 30))) is None
    True
    """
    if not isinstance(group, Rotations) or group.shape[0] != group.shape[1]:
        return None
    degrees = np.unique(np.round(np.rad2deg(group.elements()) % 360, 9) % 360)
    first = degrees[degrees < 90]
    every = np.sort((first + 90 * np.arange(4)[:, None]).ravel())
    if len(every) != len(degrees) or not np.allclose(every, degrees, atol=1e-6):
        return None
    return Rotations(group.shape, degrees=first.tolist(), interpolation=group.interpolation)


class QuarterTurns:
    """Largest and smallest inner products of lifted points over the quarter turns of the second.

    Parameters
    ----------
    lift : Lift
    shape : tuple (side, side, channels)
    support : ndarray of bool, shape (n_features,), or None
        Features that are not zero for all first points: others need not be looked at.

    Raises
    ------
    ValueError
        If a quarter turn does not permute the features of the lift.

    Examples
    --------
    >>> from invariance.kernels import Linear
    >>> from invariance.kernels.lift import lift_of
    >>> x, z = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [3.0, 2.0]])
    >>> turns = QuarterTurns(lift_of(Linear()), (2, 2, 1))
    >>> turns.extremes(turns.first(x.reshape(1, 4)), turns.second(z.reshape(1, 4)))
    (array([[3.]]), array([[0.]]))
    """

    def __init__(self, lift: Lift, shape: tuple[int, int, int], support: NDArray | None = None):
        image = np.random.default_rng(0).random((1, *shape))
        own, turned = (lift.second(i).ravel() for i in (image, np.rot90(image, axes=(1, 2))))
        # No two features of a random image are equal unless they always are: sorting matches them.
        turn = np.empty(len(own), dtype=np.intp)
        turn[np.argsort(turned, kind="stable")] = np.argsort(own, kind="stable")
        cycles = [np.arange(len(own))]
        for _ in range(3):
            cycles.append(turn[cycles[-1]])
        cycles = np.array(cycles)
        if not np.array_equal(own[turn], turned) or not np.array_equal(turn[cycles[3]], cycles[0]):
            raise ValueError("a quarter turn does not permute the features")
        chosen = cycles.min(axis=0) == cycles[0]
        if support is not None:
            chosen &= support[cycles].any(axis=0)
        self._cycles = cycles[:, chosen]
        # A cycle of length one or two is passed through several times.
        repeats = (self._cycles == self._cycles[0]).sum(axis=0)
        self._weights = 0.25 / repeats
        self._lift, self._shape = lift, shape

    def _transform(self, features: NDArray) -> list[NDArray]:
        """For each character of the group of order four; the complex ones as real, imaginary."""
        a, b, c, d = (features.take(cycle, axis=1) for cycle in self._cycles)
        real, imaginary = a - c, d - b
        a += c
        b += d
        return [a + b, a - b, real, imaginary]

    def first(self, X: NDArray) -> list[NDArray]:
        """What `extremes` needs of untransformed points (n, d)."""
        features = self._lift.first(X.reshape(len(X), *self._shape)).reshape(len(X), -1)
        parts = self._transform(features)
        weights = self._weights.astype(X.dtype)
        for part, factor in zip(parts, (1, 1, 2, 2), strict=True):
            part *= factor * weights
        return parts

    def second(self, Y: NDArray) -> list[NDArray]:
        """What `extremes` needs of points (m, d) that are turned."""
        parts = [np.empty((len(Y), self._cycles.shape[1]), Y.dtype) for _ in range(4)]
        # A few points at a time, so that the features themselves are never all there.
        for start in range(0, len(Y), _POINTS):
            some = Y[start : start + _POINTS]
            features = self._lift.second(some.reshape(len(some), *self._shape))
            own = self._transform(features.reshape(len(some), -1))
            for part, values in zip(parts, own, strict=True):
                part[start : start + _POINTS] = values
        return parts

    def extremes(self, first: list[NDArray], second: list[NDArray]) -> tuple[NDArray, NDArray]:
        """Largest and smallest inner products, shape (n, m)."""
        a, c = first, [part.T for part in second]
        trivial, sign = a[0] @ c[0], a[1] @ c[1]
        real, imaginary = a[2] @ c[2], a[3] @ c[2]
        real += a[3] @ c[3]
        imaginary -= a[2] @ c[3]
        np.abs(real, out=real)
        np.abs(imaginary, out=imaginary)
        halves, quarters = trivial + sign, trivial - sign
        return (
            np.maximum(halves + real, quarters + imaginary),
            np.minimum(halves - real, quarters - imaginary),
        )
