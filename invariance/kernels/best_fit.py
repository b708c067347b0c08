r"""`BestFit`: the largest value of a base kernel over the transformations of one argument.

A base kernel that is a function phi of inner products, k_0(x, z) = phi(<a(x), b(z)>), needs the
largest of these alone, and the smallest where phi turns: `Extremes` follows them over the orbits of
z (`OrbitProducts`), and applies phi in the end.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from math import inf
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import OneOf, ParameterError, stores_parameters
from ..orbits import Extremes, OrbitProducts, Reduction, form_of
from ..orbits.engine import image_shape
from ..orbits.way import warn
from .base import preserved, whole_derivatives
from .orbit import OrbitKernel

Array = NDArray[Any]

_LARGEST, _LARGEST_PRODUCT = Extremes(), Extremes(raw=True)


@stores_parameters
class BestFit(OrbitKernel):
    r"""Similarity under the best transformation, :math:`K(x, z) = \max_T k_0(x, T z)`.

    Liu et al. 2022, eq. (1). The transformed argument is the second one, that is the training
    points in ``SVC(kernel=BestFit(...))``; ``side="first"`` transforms the first. Over a group of
    unitary maps and a base kernel that depends on inner products the two are the same (lemma 1),
    and the kernel is symmetric and invariant; for interpolated rotations they differ slightly. It
    need not be positive definite: see `gram_report`, and `GramTransformer` for the repair. A
    Gaussian process is warned before it fails.

    Shifts go by correlation, all at once; sign changes, permutations and all rotations of points in
    a given order (`Rotations3D`, `PlaneRotations`) have closed forms: see `explain`. PyTorch's
    gradients with respect to points that are not transformed are those at the best transformation.

    Parameters
    ----------
    base : Kernel
    group : Transformations
        Any finite set; all rotations of the plane or of space, alone or with finite sets before and
        after them (``.then``, ``.times``); or any set with ``n_transforms``.
    side : {"second", "first"}, which argument is transformed
    n_transforms : int or None, draw so many elements from the group's measure instead of taking all
    method : {"auto", "definition"}, "definition" evaluates the base kernel for every transformation
    precision : {"input", "single"}
        Precision of the inner products; "single" halves time and memory at a relative error of
        about 1e-6. scikit-learn's SVC hands over double precision whatever it was given.
    block_bytes, n_jobs, verbose, random_state : as in `Average`

    Notes
    -----
    Raises a ParameterError for an empty or infinite set, points or a base kernel of another shape.
    Warns where an even power of values below zero exceeds that of the largest value: maximum and
    power do not commute there, and the smallest value is followed as well.

    Examples
    --------
    >>> from invariance.groups import Translations
    >>> from invariance.kernels import Linear
    >>> kernel = BestFit(Linear(), Translations((1, 4), shifts=[[0, 0], [0, 1]]))
    >>> kernel([[0.0, 0.0, 3.0, 0.0]], [[1.0, 2.0, 1.0, 0.0]])     # 3 x 2 beats 3 x 1
    array([[6.]])
    """

    _: KW_ONLY
    side: Annotated[str, OneOf("second", "first")] = "second"
    method: Annotated[str, OneOf("auto", "definition")] = "auto"
    precision: Annotated[str, OneOf("input", "single")] = "input"

    def _check(self, n_features: int) -> None:
        super()._check(n_features)
        if self.n_transforms is None:
            order = self.group.order
            if order == 0:
                raise ParameterError(f"{self.group!r} is empty: there is nothing to maximise over")
            if order == inf and not self._knows_largest(n_features):
                self.group.elements()  # which says that there are infinitely many

    def _knows_largest(self, n_features: int) -> bool:
        """Whether the largest value over an infinite group is known without its elements."""
        point = np.zeros((1, n_features))
        orbits = self._orbits(side=self.side, method=self.method).at(point)
        return orbits.is_exact(point, _LARGEST)

    def _over(self, d: int) -> tuple[OrbitProducts, bool]:
        """The orbits, of any second points, and whether Gram matrices are known to be symmetric."""
        memory = self._of(d)
        if "over" not in memory:
            how = {name: getattr(self, name) for name in ("side", "method", "precision")}
            symmetric = self.n_transforms is None and self.group.symmetric
            symmetric = symmetric and preserved(self.base, self.group)
            memory["over"] = self._orbits(elements=self.elements(), **how), symmetric
        over: tuple[OrbitProducts, bool] = memory["over"]
        return over

    def _plan(self, X: Any, Y: Any) -> tuple[OrbitProducts, Reduction, int, bool]:
        orbits, symmetric = self._over(X.shape[1])
        return orbits, _LARGEST, 1, symmetric

    def _gram(self, X: Array, Y: Array | None) -> Array:
        orbits, symmetric = self._over(X.shape[1])
        same = symmetric and (Y is None or Y is X)
        found = orbits.at(X if Y is None else Y).reduce(X, _LARGEST, symmetric=same)
        return np.asarray(found[0])

    def _gram_arrays(self, xp: Any, X: Any, Y: Any) -> Any:
        return self._over(X.shape[1])[0].at(X if Y is None else Y).reduce(X, _LARGEST)[0]

    def _check_finite(self, values: Array, X: Array, Y: Array | None) -> None:
        super()._check_finite(values, X, Y)
        if Y is None and values.ndim == 2 and "_in_process" in self.__dict__:
            _warn_indefinite(values)

    def _gradient(self, X: Array) -> Array:
        """At the transformation that fits best, which a change of parameters does not move."""
        functions = self._derivatives(X.shape[1])
        form: Any = form_of(self.base, image_shape(self.group, self.base, X.shape[1]))
        if functions is None or form.turning_point is not None or not form.monotone:
            return whole_derivatives(self, X)
        if not functions:  # nothing is tuned
            return np.empty((len(X), len(X), 0))
        orbits, symmetric = self._over(X.shape[1])
        (best,) = orbits.at(X).reduce(X, _LARGEST_PRODUCT, symmetric=symmetric)
        return np.stack([function(best.copy()) for function in functions], axis=-1)


def _warn_indefinite(gram: Array) -> None:
    """Tell what a Gaussian process will end in where a Gram matrix is not positive definite."""
    ridge = 1e-10 * float(gram.diagonal().mean())
    try:
        np.linalg.cholesky(gram + ridge * np.eye(len(gram)))
    except np.linalg.LinAlgError:
        lowest = -float(np.linalg.eigvalsh((gram + gram.T) / 2)[0])
        if lowest > ridge:
            warn(
                f"BestFit is not positive definite here (an eigenvalue of {-lowest:.1e}): take "
                f"Average, or alpha={2 * lowest:.0e}, or GramTransformer and KernelRidge"
            )
