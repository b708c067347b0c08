r"""`BestFit`: the largest value of a base kernel over the transformations of one argument.

Many base kernels are a function phi of one inner product, k_0(x, z) = phi(<a(x), b(z)>). If phi
increases, the best transformation is the one with the largest inner product, and phi is applied
only once, to that maximum. If phi first falls and then rises, the smallest inner product is needed
as well. `OrbitProducts` computes the inner products of x with the orbit of z, and `Extremes`
reduces them to their maximum (and minimum).
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from math import inf
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arrays import detached, is_foreign, on_host
from ..core.messages import warn
from ..core.parameter_state import one_call
from ..core.parameters import OneOf, ParameterError, stores_parameters
from ..orbits import Extremes, OrbitProducts, Reduction, best_elements, form_of
from ..orbits.plan import image_shape
from .base import preserved
from .derivatives import whole_derivatives
from .image_shapes import images_as_rows
from .orbit import OrbitKernel

Array = NDArray[Any]

#: The largest value of the base kernel over an orbit.
_LARGEST_VALUE = Extremes()
#: The largest inner product over an orbit, before phi is applied.
_LARGEST_PRODUCT = Extremes(raw=True)
#: Ridge, relative to the mean diagonal, that a Gaussian process adds before it factorizes.
_RIDGE = 1e-10


@stores_parameters
class BestFit(OrbitKernel):
    r"""Similarity under the best transformation, :math:`K(x, z) = \max_T k_0(x, T z)`.

    Liu et al. 2022, eq. (1). The transformed argument is the second one, that is the training
    points in ``SVC(kernel=BestFit(...))``; ``side="first"`` transforms the first. Over a group of
    unitary maps and a base kernel that depends on inner products the two are the same (lemma 1),
    and the kernel is symmetric and invariant; for interpolated rotations they differ slightly. It
    need not be positive definite: see `gram_report`, and `GramTransformer` for the repair. If a
    call asks for derivatives, as a Gaussian process does, a warning names a matrix that is not.

    All shifts are computed at once, by correlation. Sign changes, permutations and all rotations of
    points in a fixed order (`Rotations3D`, `PlaneRotations`) have closed forms: see `explain`.
    `best_element` returns the transformation that fits best. PyTorch's gradients with respect to
    both arguments are those at this transformation; derivatives of second order are so too, which
    leaves out how the best one of infinitely many transformations changes.

    Parameters
    ----------
    base : Kernel
    group : Transformations
        Any finite set; all rotations of the plane or of space, alone or with finite sets before and
        after them (``.then``, ``.times``); or any set with ``n_transforms``.
    side : {"second", "first"}, which argument is transformed
        Over a whole group of unitary maps both give the same for many base kernels. "second" then
        transforms the smaller set of points, up to rounding with the same result.
    n_transforms : int or None
        Number of elements to draw from the group's measure. None takes all elements.
    method : {"auto", "definition"}, "definition" evaluates the base kernel for every transformation
    precision : {"input", "single"}
        Precision of the inner products; "single" halves time and memory at a relative error of
        about 1e-6. scikit-learn's SVC always passes double precision.
    block_bytes, n_jobs, verbose, random_state : as in `Average`

    Notes
    -----
    Raises a ParameterError if the set is empty, if it is infinite and the maximum has no closed
    form, or if points, base kernel and group have different shapes.

    Warns if the base kernel is an even power and the power of a negative value exceeds the power of
    the largest value. Maximum and power do not commute then, so the smallest value is tracked too.

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

    def _check_features(self, n_features: int) -> None:
        """Check as `OrbitKernel` does, once per number of features, and that there is a maximum."""
        super()._check_features(n_features)
        if self.n_transforms is not None:
            return
        order = self.group.order
        if order == 0:
            raise ParameterError(f"{self.group!r} is empty: there is nothing to maximise over")
        if order == inf and not self._has_exact_maximum(n_features):
            self.group.elements()  # An infinite group raises its own error here.

    def _has_exact_maximum(self, n_features: int) -> bool:
        """Whether the maximum over an infinite group can be computed without listing elements."""
        origin = np.zeros((1, n_features))
        orbits = self._orbits(side=self.side, method=self.method)
        return orbits.at(origin).is_exact(origin, _LARGEST_VALUE)

    def _engine(self, n_features: int) -> tuple[OrbitProducts, bool]:
        """Return the engine, still without points, and whether Gram matrices are symmetric.

        A Gram matrix is symmetric if the set contains the inverse of each of its elements and the
        base kernel does not change when both of its arguments are transformed. The engine is kept
        until a parameter changes (`_cache_for`).
        """
        cache = self._memory
        key = ("engine", n_features)
        if key not in cache:
            self._check_features(n_features)
            takes_all = self.n_transforms is None
            symmetric = takes_all and self.group.symmetric and preserved(self.base, self.group)
            # The same value is attained on the other side, which may be the smaller one.
            is_either = symmetric and self.side == "second"
            orbits = self._orbits(
                elements=self.elements(),
                side="either" if is_either else self.side,
                method=self.method,
                precision=self.precision,
            )
            cache[key] = (orbits, symmetric)
        engine: tuple[OrbitProducts, bool] = cache[key]
        return engine

    def best_element(self, X: ArrayLike, Y: ArrayLike | None = None) -> Array:
        r"""Return the transformation that attains the kernel's value, for each pair of points.

        It is the T with :math:`K(x, z) = k_0(x, T z)`, or :math:`k_0(T x, z)` if ``side="first"``.
        If several attain it, one of them is returned.

        Parameters
        ----------
        X : array-like of shape (n, d)
        Y : array-like of shape (m, d), default X

        Returns
        -------
        ndarray of shape (n, m, ...), elements of the group as its method ``act`` takes them
            ``group.act(elements[i, [j]], Y[[j]])`` is point j, aligned with point i of X.

        Examples
        --------
        >>> from invariance.groups import Permutations
        >>> from invariance.kernels import Gaussian
        >>> group = Permutations(3)
        >>> x, z = np.array([[1.0, 5.0, 3.0]]), np.array([[2.9, 1.2, 4.8]])
        >>> element = BestFit(Gaussian(), group).best_element(x, z)[0]
        >>> group.act(element, z)[0]
        array([[1.2, 4.8, 2.9]])
        """
        name = type(self).__name__
        if is_foreign(X):
            X = on_host(detached(X), name)
        if is_foreign(Y):
            Y = on_host(detached(Y), name)
        with one_call:
            self._check()
            X = images_as_rows(self, X)
            Y = images_as_rows(self, Y)
            kernel, points, templates = self._as_rows(X, Y)
            if templates is None:
                templates = points
            orbits, _ = kernel._engine(points.shape[1])
            if self.side == "first":
                return best_elements(orbits.at(points), templates).swapaxes(0, 1)
            return best_elements(orbits.at(templates), points)

    def _plan(self, X: Array, Y: Array) -> tuple[OrbitProducts, Reduction, int, bool]:
        """Return what `explain` explains: see `OrbitKernel._plan`."""
        orbits, symmetric = self._engine(X.shape[1])
        return orbits, _LARGEST_VALUE, 1, symmetric

    def _gram(self, X: Array, Y: Array | None) -> Array:
        orbits, symmetric = self._engine(X.shape[1])
        templates = X if Y is None else Y
        symmetric = symmetric and templates is X
        (largest,) = orbits.at(templates).reduce(X, _LARGEST_VALUE, symmetric=symmetric)
        return np.asarray(largest)

    def _gram_arrays(self, xp: Any, X: Any, Y: Any) -> Any:
        orbits, _ = self._engine(X.shape[1])
        templates = X if Y is None else Y
        (largest,) = orbits.at(templates).reduce(X, _LARGEST_VALUE)
        return largest

    def _check_finite(self, values: Array, X: Array, Y: Array | None) -> None:
        """Check values, and warn before a Gaussian process factorizes an indefinite matrix."""
        super()._check_finite(values, X, Y)
        is_gram = Y is None and values.ndim == 2
        if is_gram and one_call.differentiates:
            _warn_if_indefinite(values)

    def _gradient(self, X: Array) -> Array:
        """Derivatives of the Gram matrix with respect to theta, shape (n, n, p).

        A small change of the base kernel's parameters does not change the best transformation. So
        the derivatives are those of the base kernel, taken at the largest inner product.
        """
        n_features = X.shape[1]
        derivatives = self._derivatives(n_features)
        if derivatives is None:
            return whole_derivatives(self, X)
        form: Any = form_of(self.base, image_shape(self.group, self.base, n_features))
        if not form.monotone or form.turning_point is not None:
            # The best fit need not be at the largest inner product.
            return whole_derivatives(self, X)
        if not derivatives:  # All hyperparameters are fixed.
            return np.empty((len(X), len(X), 0))
        orbits, symmetric = self._engine(n_features)
        (largest,) = orbits.at(X).reduce(X, _LARGEST_PRODUCT, symmetric=symmetric)
        # A derivative may overwrite its argument, so each one receives a copy.
        gradients = [derivative(largest.copy()) for derivative in derivatives]
        return np.stack(gradients, axis=-1)


def _warn_if_indefinite(gram: Array) -> None:
    """Warn, before a Gaussian process fails, that its Gram matrix is not positive definite."""
    ridge = _RIDGE * float(gram.diagonal().mean())
    try:
        np.linalg.cholesky(gram + ridge * np.eye(len(gram)))
    except np.linalg.LinAlgError:
        smallest = float(np.linalg.eigvalsh((gram + gram.T) / 2)[0])
    else:
        return
    if smallest >= -ridge:
        return
    warn(
        f"BestFit is not positive definite here (an eigenvalue of {smallest:.1e}): take "
        f"Average, or alpha={-2 * smallest:.0e}, or GramTransformer and KernelRidge"
    )
