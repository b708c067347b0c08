"""`Average`: the orbit-averaged (Haar-integration) kernel of any base kernel and group."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Any

from numpy.typing import NDArray

from ..core.arrays import numpy_only
from ..core.parameters import OneOf, ParameterError, stores_parameters
from ..orbits import WeightedMean
from ..orbits.both_sides import without_equal
from .orbit import GroupMean

__all__ = ["Average"]

Array = NDArray[Any]


@stores_parameters
class Average(GroupMean):
    r"""The average of a base kernel over the transformations of its arguments.

    With elements g_i and weights w_i (Mroueh et al. 2015, eq. 1; Raj et al. 2017, eq. 3),

    .. math:: K(x, z) = \sum_{i, j} w_i w_j \, k_0(g_i x, g_j z),

    which is invariant, K(gx, g'z) = K(x, z), when the g_i run through a whole group. Where the
    transformations preserve the base kernel the double sum is a single one over relative elements,
    and that is what is computed: by correlation for shifts, by frequency for a `CircleAction`, in
    closed form for sign changes and a Gaussian kernel, and so on (see `explain`).

    Parameters
    ----------
    base : Kernel
    group : Transformations
    n_transforms : int or None
        How many elements to draw from the group's measure; None takes its quadrature rule: all
        elements of a finite set, and the trapezoidal rule for rotations by any angle.
    side : {"auto", "both", "second", "first"}
        Which arguments are transformed. "second" transforms z alone (the average-fit kernel of
        Liu et al. 2022, section 2.3); "auto" is "both".
    statistic : {"V", "U"}
        With ``n_transforms`` elements used on both sides, "V" is the double sum and "U" leaves out
        i = j (Raj et al. 2017, proof of theorem 3.1): unbiased, and at most 1/r away for a base
        kernel with values in [0, 1].
    tolerance : float
        For an infinite group without ``n_transforms``: nodes are doubled until the kernel of the
        largest points changes by no more than this, relative to its largest value, or a warning
        tells the error (`invariance.orbits.rules.enough_nodes`).
    block_bytes : int or None
        Bound on temporary arrays; None is the configured one.
    n_jobs : int or None
        Threads; the result does not depend on their number.
    verbose : int
        1 shows progress.
    random_state : int
        Seed for ``n_transforms``. An integer, since the elements are drawn anew at every call:
        fitting and predicting must draw the same ones.

    Raises
    ------
    ParameterError
        For parameters that are not of their kind; an infinite group that has no quadrature rule,
        without ``n_transforms``; points, base kernel and group of different shapes.

    Examples
    --------
    >>> from invariance.groups import CyclicShifts
    >>> from invariance.kernels import Gaussian
    >>> K = Average(Gaussian(gamma=0.1), CyclicShifts(4))
    >>> x, z = [[1.0, 2.0, 3.0, 4.0]], [[0.0, 1.0, 0.0, 2.0]]
    >>> bool(abs(K(x, z) - K([[4.0, 1.0, 2.0, 3.0]], z)) < 1e-12)
    True
    """

    _: KW_ONLY
    statistic: Annotated[str, OneOf("V", "U")] = "V"

    def _check(self, n_features: int) -> None:
        super()._check(n_features)
        if self.statistic == "U" and (self.n_transforms or 0) < 2:
            raise ParameterError(
                f"{type(self).__name__}: a U-statistic needs n_transforms >= 2, got "
                f"{self.n_transforms!r}"
            )
        if self.statistic == "U" and self.side in ("first", "second"):
            raise ParameterError(
                f"{type(self).__name__}: a U-statistic uses the elements on both sides, got "
                f"side={self.side!r}"
            )

    def _gram(self, X: Array, Y: Array | None) -> Array:
        self._check(X.shape[1])
        other = X if Y is None else Y
        group = self._finite(X, other)
        gram: Array = self._of_group(group, X, other, Y is None or Y is X)
        if self.statistic == "V":
            return gram
        elements = self.elements()
        assert elements is not None
        return without_equal(gram, self.base, group, elements, (X, other))

    def _gram_arrays(self, xp: Any, X: Any, Y: Any) -> Any:
        self._check(X.shape[1])
        orbits = self._one_side(Y, self._finite(X, Y))
        if orbits is None:
            numpy_only(type(self).__name__, "take side='second', or a whole group", X, Y)
        return orbits.reduce(X, WeightedMean())[0]
