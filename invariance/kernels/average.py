"""`Average`: the orbit-averaged (Haar-integration) kernel of any base kernel and group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from functools import partial
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from ..array_api import is_foreign, numpy_only
from ..deprecation import renamed_parameters
from ..groups import Transformations
from ..orbits import OrbitProducts, Reduction, WeightedMean
from ..orbits.both_sides import both_sides, without_equal
from ..orbits.derivatives import of_products, whole_derivatives
from ..orbits.rules import enough_nodes
from ..parameters import OneOf, ParameterError, Positive, check_parameters, stores_parameters
from .base import Kernel, as_points
from .orbit import OrbitKernel

__all__ = ["Average"]

Array = NDArray[Any]


@renamed_parameters(sides="side")
@stores_parameters
class Average(OrbitKernel):
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
    side: Annotated[str, OneOf("auto", "both", "second", "first")] = "auto"
    statistic: Annotated[str, OneOf("V", "U")] = "V"
    tolerance: Annotated[float, Positive()] = 1e-4

    def transforms(self) -> tuple[Array, Array]:
        """The elements averaged over and their weights, which sum to one."""
        elements = self.elements()
        if elements is None:
            return self.group.quadrature()
        return elements, np.full(len(elements), 1 / len(elements))

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

    def grams(self, X: ArrayLike, Y: ArrayLike | None, gammas: Sequence[float]) -> Array:
        """Kernel matrices of Gaussian base kernels at several bandwidths, from one pass.

        Parameters
        ----------
        X, Y : arrays of shape (n, d) and (m, d); Y=None is X
        gammas : sequence of q floats
            In place of the base kernel's own.

        Returns
        -------
        ndarray of shape (q, n, m)

        Raises
        ------
        ParameterError
            For a base that is no Gaussian kernel, or where both arguments are transformed.
        """
        bases = [clone(self.base).set_params(gamma=gamma) for gamma in gammas]
        X = as_points(X, type(self).__name__)
        other = X if Y is None else as_points(Y, type(self).__name__)
        for base in bases:
            check_parameters(base)
        self._check(X.shape[1])
        own, *forms = (b.inner_form((1, X.shape[1], 1)) for b in (self.base, *bases))
        orbits = self._one_side(other, self._finite(X, other))
        if orbits is None or own is None or own.rate is None:
            raise ParameterError(
                f"{type(self).__name__}.grams needs a Gaussian base kernel and a group that "
                f"preserves it, got {self.base!r} and {self.group!r}"
            )
        if not forms:
            raise ParameterError(f"{type(self).__name__}.grams needs gammas, got {gammas!r}")
        reduction = WeightedMean([partial(form.value, xp=np) for form in forms], raw=True)
        return np.stack(orbits.reduce(X, reduction, symmetric=Y is None and self.side == "auto"))

    def _one_side(self, Z: Any, group: Transformations) -> OrbitProducts | None:
        """The average as a reduction over the orbits of Z alone, where it is one."""
        elements = self.elements()
        if self.side in ("first", "second"):
            return self._orbits(Z, group, elements=elements, side=self.side)
        if self.side == "both" or elements is not None or not self._preserved():
            return None
        if group.one_sided:
            return self._orbits(Z, group)
        rule = group.relative_rule()
        return None if rule is None else self._orbits(Z, group, elements=rule[0], weights=rule[1])

    def _plan(self, Z: Any) -> tuple[OrbitProducts, Reduction]:
        group = self._finite(Z, Z)
        return self._one_side(Z, group) or self._both_sides(Z, group), WeightedMean()

    def _both_sides(self, Z: Any, group: Transformations) -> OrbitProducts:
        """Orbits of Z, for transforms of the first points to meet."""
        elements, weights = self.transforms() if group is self.group else group.quadrature()
        return self._orbits(Z, group, elements=elements, weights=weights)

    def _unrolled(self, orbits: OrbitProducts) -> int:
        one_side = self._one_side(orbits.Z, orbits.group) is not None
        return 1 if one_side or orbits.elements is None else len(orbits.elements)

    def _of_group(self, group: Transformations, X: Any, Y: Any, same: bool) -> Any:
        orbits = self._one_side(Y, group)
        if orbits is None:
            return both_sides(self._both_sides(Y, group), X, same=same)
        symmetric = same and self.side == "auto" and not is_foreign(X)
        return orbits.reduce(X, WeightedMean(), symmetric=symmetric)[0]

    def _gradient(self, X: Array) -> Array:
        orbits = None if self.statistic == "U" else self._one_side(X, self._finite(X, X))
        functions = self._derivatives(X.shape[1])
        closed = orbits is None or orbits.explain(X, WeightedMean()).way == "closed form"
        if functions is None or orbits is None or closed:
            return whole_derivatives(self, X)
        return of_products(orbits, functions, symmetric=self.side == "auto")

    def _gram_arrays(self, xp: Any, X: Any, Y: Any) -> Any:
        self._check(X.shape[1])
        orbits = self._one_side(Y, self._finite(X, Y))
        if orbits is None:
            numpy_only(type(self).__name__, "take side='second', or a whole group", X, Y)
        return orbits.reduce(X, WeightedMean())[0]

    def _finite(self, X: Any, Y: Any) -> Transformations:
        """The group, or for an infinite one a finite one whose mean agrees to `tolerance`."""
        if self.n_transforms is not None:
            return self.group
        return enough_nodes(
            self.group,
            lambda group, A, B: self._of_group(group, A, B, False),
            (X, Y),
            tolerance=self.tolerance,
            pairs=lambda group, B: self._one_side(B, group) is None,
            kernel=self,
        )


def empirical_average(
    base: Kernel, group: Transformations, n_transforms: int = 20, statistic: str = "V", **more: Any
) -> Average:
    """What ``EmpiricalAverage`` was."""
    return Average(base, group, n_transforms=n_transforms, statistic=statistic, **more)
