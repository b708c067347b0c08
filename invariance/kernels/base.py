"""`Kernel` and the base kernels: linear, polynomial, Gaussian, Laplacian.

A kernel is a callable ``k(X, Y) -> (n, m)``. It derives from scikit-learn's Gaussian-process
kernel, so that ``SVC(kernel=k)``, ``KernelRidge(kernel=k)``, ``GaussianProcessRegressor(kernel=k)``
and ``pairwise_kernels`` take it as it is, and sums, products and powers of kernels are kernels.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import KW_ONLY
from math import comb, isfinite
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import (
    ConstantKernel,
    Exponentiation,
    Hyperparameter,
    Product,
    Sum,
)
from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel
from sklearn.metrics.pairwise import manhattan_distances

from ..core import parameters as kinds
from ..core.arrays import (
    are_matrices,
    check_array,
    check_arrays,
    detached,
    is_foreign,
    is_plain,
    like,
    namespace,
    numpy_only,
    on_host,
)
from ..core.dask_arrays import is_dask, lazy_gram, one_point
from ..core.kernel_matrix import takes_sets
from ..core.parameter_state import ComparingContents, one_call
from ..core.parameters import ParameterError, plain, short, stores_parameters
from ..core.symmetric import row_products
from ..groups import Transformations
from ..groups.base import definer
from ..orbits import Form, OrbitProducts, form_of, row_blocks
from ..orbits.matching import least_matching
from ..orbits.numerics import (
    REPAIR_FROM,
    centre_of,
    error_of,
    half_norms,
    half_squares,
    needs_care,
    repair,
    repair_near,
    sample_of,
    single_will_do,
)
from .derivatives import gram_and_derivatives, outer_with_derivatives, whole_derivatives
from .image_shapes import images_as_rows

Array = NDArray[Any]
Reduced = Callable[[Array, Array], Array]

#: Valid values of a parameter ``base``.
BASE = kinds.Has("a kernel, such as Gaussian(0.1)", "diag", "is_stationary")

#: Default bounds of tuned hyperparameters, as in scikit-learn, and the valid values of bounds.
BOUNDS = (1e-5, 1e5)
BOUNDS_KIND = kinds.OneOf("fixed") | kinds.Array(1, above=0)

#: Methods that define a kernel's values; a class with its own may lose definiteness.
_VALUES = frozenset({"__call__", "_gram", "inner_form"})
#: Highest degree for which a mean of powers is written as a sum of moments.
_HIGHEST_MOMENT = 12
#: Bytes of values that a function is applied to at a time, so that they stay in the cache.
_TILE_BYTES = 2**20
#: Bytes of differences of points of other libraries that are held at a time, without gradients.
_ARRAY_BYTES = 2**24


def as_points(X: ArrayLike, name: str) -> Array:
    """Return X as a matrix of real numbers, one point per row."""
    if is_plain(X):
        return X
    if getattr(X, "ndim", 2) > 2:
        raise ValueError(f"{name} takes flattened points, got an array of shape {np.shape(X)}")
    return check_array(X, estimator=name)


def on_rows(kernel: Any, *arrays: ArrayLike) -> tuple[Any, list[Array]]:
    """Return a kernel for points as rows, and the points as rows.

    For a kernel of sets, or one composed of such kernels, padded sets of shape (n, largest, d)
    become rows of length largest * d. The returned kernel is a copy that stores d.
    """
    rows: Any
    if not takes_sets(kernel):
        return kernel, [as_points(X, type(kernel).__name__) for X in arrays]
    if hasattr(kernel, "on_rows"):
        bound, rows = kernel.on_rows(*arrays)
        return bound, rows
    bound = copy(kernel)
    for name, part in vars(kernel).items():
        if takes_sets(part):
            part, rows = on_rows(part, *arrays)
            setattr(bound, name, part)
    return bound, rows


class Kernel(ComparingContents, BaseEstimator, GaussianProcessKernel):
    """Base class of all kernels: ``k(X, Y)`` of shape (n, m), ``k(X)`` the Gram matrix.

    A subclass implements `inner_form` if it is a function of one inner product, and ``_gram`` if
    not. A composed kernel holds its parts as parameters. A subclass with its own ``_gram`` inherits
    neither `inner_form` nor `closed_form`: it must define them again. Kernels with an `inner_form`
    also take arrays of other libraries.
    """

    #: Whether k(Ax, Az) = k(x, z) for every orthogonal A; one sum over a group then replaces two.
    unitary_invariant: bool = False
    #: True if all Gram matrices are known to be positive semi-definite, None if that is not known.
    positive_definite: bool | None = None
    _parameters: ClassVar[dict[str, kinds.Kind]] = {}
    #: Positive parameters that a Gaussian process tunes, within the bounds of ``..._bounds``.
    _tuned: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Withdraw inherited forms if the class computes its own values, and warn of it."""
        super().__init_subclass__(**kwargs)
        namespace_of_class = vars(cls)
        cls._form = namespace_of_class.get("inner_form", cls._form)
        if not _VALUES.isdisjoint(namespace_of_class):
            cls.positive_definite = namespace_of_class.get("positive_definite")
        overridden = [name for name in ("__call__", "_gram") if name in namespace_of_class]
        if overridden:
            own_gram = namespace_of_class.get("_gram_arrays", Kernel._gram_arrays)
            cls._gram_arrays = own_gram  # type: ignore[method-assign]
            lost_forms = _withdraw_forms(cls)
            if lost_forms:
                message = _message_of_lost_forms(cls, overridden, lost_forms)
                warnings.warn(message, stacklevel=3)
        if _has_unused_closed_form(cls):
            warnings.warn(
                f"{cls.__name__} defines closed_form, but Average asks for it only if the kernel "
                "is known to be preserved by the group: write unitary_invariant = True or define "
                "preserved_by(group)",
                stacklevel=3,
            )

    def set_params(self, **params: Any) -> Any:
        """Set parameters as in scikit-learn; NumPy's numbers become Python's.

        Gaussian processes set hyperparameters to NumPy's numbers.
        """
        plain_params = {name: plain(value) for name, value in params.items()}
        return super().set_params(**plain_params)

    def _gram(self, X: Array, Y: Array | None) -> Array:
        """Return the kernel matrix of shape (n, m) between rows; ``Y=None`` means ``Y=X``."""
        form = self._form((1, X.shape[1], 1))
        if form is None:
            raise NotImplementedError(f"{type(self).__name__} needs a method inner_form or _gram")
        values: Array = products(form, X, Y)
        if form.outer is None or values.nbytes <= _TILE_BYTES:
            return np.asarray(form.value(values))
        for rows in row_blocks(len(values), values[:1].nbytes, _TILE_BYTES):
            values[rows] = form.outer(values[rows], np)
        return values

    def _gram_arrays(self, xp: Any, X: Any, Y: Any) -> Any:
        """Return the kernel matrix of another library's arrays; ``Y=None`` means ``Y=X``."""
        form = self.inner_form((1, X.shape[1], 1))
        if form is None or not form.linear:
            remedy = "take a kernel of inner products or distances, such as Gaussian or Polynomial"
            numpy_only(type(self).__name__, remedy, X, Y)
        return form.value(products(form, X, Y, xp), xp)

    def inner_form(self, shape: tuple[int, int, int]) -> Form | None:
        """Return the kernel as a function of one inner product of lifted points, or None.

        With a form, averages and maxima over a group are computed from inner products, by the
        cheapest algorithm for the group (`invariance.orbits`). Otherwise the kernel is evaluated.
        Points have ``shape`` (height, width, channels); plain vectors are images of height one.
        """
        return None

    #: The form that `Kernel._gram` evaluates, also in classes whose `inner_form` is withdrawn.
    _form: Any = inner_form

    def closed_form(self, group: Transformations, largest: bool) -> Reduced | None:
        """Return a function of (X, Y) that computes the mean, or the maximum, of k(x, g y) over g.

        The result is None if there is no closed form. `Average` asks for one only if `preserved_by`
        is true, since only then a mean over one argument's transformations is enough. Kernels with
        an `inner_form` need no closed form of their maximum, and exponentials of inner products
        need no closed form of their mean.
        """
        return None

    def preserved_by(self, group: Transformations) -> bool:
        """Whether k(gx, gz) = k(x, z) for every element of a set of transformations."""
        return self.unitary_invariant and group.unitary

    def on_columns(self, columns: Sequence[int]) -> Kernel:
        """Return this kernel on some columns of the points; see `OnColumns`.

        >>> Gaussian(0.5).on_columns([1])([[7.0, 0.0]], [[3.0, 0.0]])
        array([[1.]])
        """
        from .columns import OnColumns  # that module imports this one

        return OnColumns(self, columns)

    def aligned_by(self, group: Transformations) -> bool:
        """Whether the maximum of k(x, g z) is k of both points as the group aligns them.

        It is not asked of kernels with an `inner_form`, for which it follows.
        """
        return False

    # -- calls -----------------------------------------------------------------------------------

    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> Any:
        """Return the matrix of k(x_i, y_j).

        Parameters
        ----------
        X : array-like of shape (n, d), or images of the shape that the group or base kernel has
        Y : array-like of shape (m, d), default X
        eval_gradient : bool
            Whether to return, for Y=None, also the derivatives of shape (n, n, p) with respect to
            ``theta``, the logarithms of the p hyperparameters, for `GaussianProcessRegressor`.

        Returns
        -------
        ndarray of shape (n, m), float32 when both inputs are float32, else float64
            For arrays of another library an array of that library, on their device. For a Dask
            array of points, one block with each block of the other points, a Dask array.
        """
        with one_call:
            one_call.differentiates = one_call.differentiates or eval_gradient
            return self._called(X, Y, eval_gradient)

    def _called(self, X: Any, Y: Any, eval_gradient: bool) -> Any:
        self._check()
        if not are_matrices(X, Y):
            if (is_dask(X) or is_dask(Y)) and not eval_gradient:
                return self._call_on_blocks(X, Y)
            X = images_as_rows(self, X)
            Y = images_as_rows(self, Y)
            if is_foreign(X) or is_foreign(Y):
                return self._call_on_arrays(X, Y)
        kernel, X, Y = self._as_rows(X, Y)
        if eval_gradient and Y is not None:
            name = type(self).__name__
            raise ValueError(f"{name}: derivatives are those of the Gram matrix, for Y=None")
        # NumPy's warnings of overflow are off: `_check_finite` raises an error with a remedy.
        with np.errstate(over="ignore", invalid="ignore"):
            if not eval_gradient:
                gram = kernel._gram(X, Y)
                self._check_finite(gram, X, Y)
                return gram
            gram, gradient = kernel._gram_and_gradient(X)
            self._check_finite(gram, X, None)
            return gram, gradient

    def _call_on_blocks(self, X: Any, Y: Any) -> Any:
        """Return the kernel matrix of Dask arrays as a Dask array."""
        self._as_rows(one_point(X), one_point(Y))
        return lazy_gram(self, X, Y)

    def _call_on_arrays(self, X: Any, Y: Any) -> Any:
        """Return the kernel matrix of another library's arrays, in their common type."""
        if self._takes_sets():
            return self._call_on_sets(X, Y)
        xp = check_arrays(type(self).__name__, X, Y)
        if Y is None:
            return self._gram_arrays(xp, X, None)
        dtype = xp.result_type(X, Y)
        return self._gram_arrays(xp, xp.astype(X, dtype), xp.astype(Y, dtype))

    def _call_on_sets(self, X: Any, Y: Any) -> Any:
        """Return the kernel matrix of another library's sets, which NumPy computes."""
        owner = type(self).__name__
        X_on_host = on_host(X, owner) if is_foreign(X) else X
        Y_on_host = on_host(Y, owner) if is_foreign(Y) else Y
        gram = self(X_on_host, Y_on_host)
        return like(gram, X if is_foreign(X) else Y)

    def _as_rows(self, X: Any, Y: Any) -> tuple[Any, Array, Array | None]:
        """Return a kernel for points as rows, and X and Y (or None) as rows."""
        if self._takes_sets():
            if Y is None:
                kernel, (X,) = on_rows(self, X)
            else:
                kernel, (X, Y) = on_rows(self, X, Y)
            return kernel, X, Y
        name = type(self).__name__
        X = as_points(X, name)
        if Y is not None:
            Y = as_points(Y, name)
            if X.shape[1] != Y.shape[1]:
                raise ValueError(f"{name}: X has {X.shape[1]} features and Y has {Y.shape[1]}")
        return self, X, Y

    def diag(self, X: ArrayLike) -> Array:
        """Return k(x_i, x_i) for each row, shape (n,)."""
        with one_call, np.errstate(over="ignore", invalid="ignore"):
            self._check()
            kernel, (X,) = on_rows(self, images_as_rows(self, X))
            values: Array = kernel._diag(X)
        self._check_finite(values, X, None)
        return values

    def _diag(self, X: Array) -> Any:
        form = self.inner_form((1, X.shape[1], 1))
        if form is not None and form.linear:
            if form.distance:
                return form.value(np.zeros(len(X), X.dtype))
            return form.value(2 * half_norms(X))
        # Blocks of 16 points, since a call for each point would take longer.
        blocks = []
        for rows in row_blocks(len(X), 1, 16):
            gram = self._gram(X[rows], None)
            blocks.append(gram.diagonal())
        return np.concatenate(blocks)

    def _takes_sets(self) -> bool:
        """Whether the kernel, or a kernel that it is composed of, takes padded sets."""
        memory = self._memory
        if "takes sets" not in memory:
            memory["takes sets"] = takes_sets(self)
        return bool(memory["takes sets"])

    def _check_finite(self, values: Array, X: Array, Y: Array | None) -> None:
        """Raise an error if values overflowed; the points are known to be finite."""
        # One infinite value or NaN makes an extreme so, and extremes need no temporary array.
        if isfinite(values.min()) and isfinite(values.max()):
            return
        largest = float(np.nanmax(np.abs(X)))
        if Y is not None:
            largest = max(largest, float(np.nanmax(np.abs(Y))))
        raise ValueError(
            f"{short(self)}: values beyond {values.dtype}; the largest absolute feature of "
            f"the points is {largest:g}: scale them down (pixels: divide by 255)"
        )

    # -- for Gaussian processes ------------------------------------------------------------------

    def is_stationary(self) -> bool:
        return False

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        """Hyperparameters that a Gaussian process tunes; a value that is not positive is fixed."""
        hyperparameters = []
        for name in self._tuned:
            bounds = getattr(self, f"{name}_bounds", BOUNDS)
            if getattr(self, name) <= 0:
                bounds = "fixed"
            hyperparameters.append(Hyperparameter(name, "numeric", bounds))
        return hyperparameters

    def _gram_and_gradient(self, X: Array) -> tuple[Array, Array]:
        """Return the Gram matrix and its derivatives, for kernels that share their work."""
        return self._gram(X, None), self._gradient(X.astype(float))

    def _gradient(self, X: Array) -> Array:
        """Derivatives of the Gram matrix with respect to theta, shape (n, n, p)."""
        functions = outer_with_derivatives(self, (1, X.shape[1], 1))
        if functions is None:
            return whole_derivatives(self, X)
        without_group = OrbitProducts(X, None, base=self)
        _, gradient = gram_and_derivatives(without_group, functions, len(self.theta))
        return gradient


def _withdraw_forms(cls: type[Kernel]) -> dict[str, type]:
    """Give a class the empty forms of `Kernel`, unless it defines its own.

    Returns a dict from the name of each form that is lost to the class that it came from.
    """
    lost_forms = {}
    for name in ("inner_form", "closed_form"):
        if name in vars(cls):
            continue
        empty_form = getattr(Kernel, name)
        if getattr(cls, name) is not empty_form:
            lost_forms[name] = definer(cls, name)
        setattr(cls, name, empty_form)
    return lost_forms


def _message_of_lost_forms(
    cls: type[Kernel], overridden: list[str], lost_forms: dict[str, type]
) -> str:
    owner = next(iter(lost_forms.values())).__name__
    to_keep = []
    to_withdraw = []
    for name, base in lost_forms.items():
        to_keep.append(f"{name} = {base.__name__}.{name}")
        to_withdraw.append(f"{name} = Kernel.{name}")
    return (
        f"{cls.__name__} defines {' and '.join(overridden)}, so that {' and '.join(lost_forms)} of "
        f"{owner} may not hold for it: kernels and features over groups evaluate "
        f"it for each element, often ten times slower. If its values are those of "
        f"{owner}, write {', '.join(to_keep)} in the class; if not, {', '.join(to_withdraw)}"
    )


def _has_unused_closed_form(cls: type[Kernel]) -> bool:
    """Whether a class defines a closed form that `Average` would never use."""
    closed_form = vars(cls).get("closed_form", Kernel.closed_form)
    if closed_form is Kernel.closed_form:
        return False
    return not cls.unitary_invariant and cls.preserved_by is Kernel.preserved_by


class TunesItsBase:
    """Part of a kernel with a base kernel, whose parameters a Gaussian process tunes."""

    base: Any

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        """Hyperparameters of the base kernel, under the names ``base__...``."""
        return [
            Hyperparameter(f"base__{h.name}", h.value_type, h.bounds, h.n_elements)
            for h in self.base.hyperparameters
        ]

    @property
    def theta(self) -> Array:
        """Logarithms of the base kernel's hyperparameters that are not fixed."""
        return np.asarray(self.base.theta, dtype=float)

    @theta.setter
    def theta(self, theta: Array) -> None:
        self.base.theta = theta


def root_of_diagonal(owner: str, values: Any, rounding: Any = 0.0) -> Any:
    """Return the roots of k(x, x), by which ``normalize`` divides.

    A ParameterError is raised if a value is not above ``rounding``: one number, or one per point,
    that rounding may leave of sums that should be zero.
    """
    xp = namespace(values)
    invalid = ~(values > rounding)
    if bool(xp.any(invalid)):
        # Libraries other than NumPy take no argmax and no sum of booleans.
        flags = invalid if xp is np else xp.astype(invalid, xp.int32)
        first = int(xp.argmax(flags))
        count = int(xp.sum(flags))
        raise ParameterError(
            f"{owner} needs K(x, x) above zero for normalize=True, but it is zero up to rounding, "
            f"or no number, for {count} of {values.shape[0]} points, the first of them at {first}: "
            "take normalize=False, leave these points out, or take another base kernel"
        )
    return xp.sqrt(values)


def preserved(kernel: Any, group: Transformations) -> bool:
    """Whether k(gx, gz) = k(x, z) is known for every element g of the group.

    Kernels of scikit-learn have no `preserved_by`. Their sums, products and powers are preserved if
    all parts are. Other kernels of distances or inner products are preserved by unitary maps. It is
    not known for classes that derive from sums, products or powers, as they may compute other
    values.
    """
    preserved_by = getattr(kernel, "preserved_by", None)
    if preserved_by is not None:
        return bool(preserved_by(group))
    if type(kernel) in (Sum, Product, Exponentiation, ConstantKernel):
        parts = [part for part in vars(kernel).values() if hasattr(part, "diag")]
        return all(preserved(part, group) for part in parts)
    return bool(group.unitary) and form_of(kernel, (1, 1, 1)) is not None


class Linear(Kernel):
    """k(x, z) = <x, z>.

    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    unitary_invariant = True
    positive_definite = True

    def inner_form(self, shape: tuple[int, int, int]) -> Form:
        return Form()

    def closed_form(self, group: Transformations, largest: bool) -> Reduced | None:
        if largest:
            return None
        return _mean_of_powers(group, [0.0, 1.0])


@stores_parameters
class Polynomial(Kernel):
    """k(x, z) = (coef0 + gamma <x, z>)^degree.

    A Gaussian process tunes gamma and coef0 within ``gamma_bounds`` and ``coef0_bounds``, unless
    these are "fixed".

    >>> Polynomial(degree=2)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    unitary_invariant = True
    degree: Annotated[int, kinds.Whole(1, 10_000)] = 3
    gamma: Annotated[float, kinds.Number()] = 1.0
    _: KW_ONLY
    coef0: Annotated[float, kinds.Number()] = 1.0
    gamma_bounds: Annotated[Any, BOUNDS_KIND] = BOUNDS
    coef0_bounds: Annotated[Any, BOUNDS_KIND] = BOUNDS
    _tuned = ("gamma", "coef0")

    @property
    def positive_definite(self) -> bool | None:  # type: ignore[override]
        """True if all coefficients of powers of <x, z> are at least zero, else None."""
        return True if self.gamma >= 0 and self.coef0 >= 0 else None

    def inner_form(self, shape: tuple[int, int, int]) -> Form:
        if not self.gamma > 0:
            return Form(self._of_products, monotone=False)
        if self.degree % 2 == 1:
            return Form(self._of_products)
        return Form(self._of_products, turning_point=-self.coef0 / self.gamma)

    def closed_form(self, group: Transformations, largest: bool) -> Reduced | None:
        degree = int(self.degree)
        if largest or degree > _HIGHEST_MOMENT:
            return None
        # Powers of NumPy's numbers become infinite if they overflow; Python's raise an error.
        coef0 = np.float64(self.coef0)
        coefficients = []
        with np.errstate(over="ignore"):
            for k in range(degree + 1):
                coefficient = comb(degree, k) * coef0 ** (degree - k)
                coefficients.append(float(coefficient))
        return _mean_of_powers(group, coefficients, float(self.gamma))

    def _of_products(self, values: Any, xp: Any = np) -> Any:
        if xp is not np:
            return power(self.coef0 + self.gamma * values, int(self.degree))
        values *= values.dtype.type(self.gamma)
        values += values.dtype.type(self.coef0)
        return power(values, int(self.degree))


@stores_parameters
class Gaussian(Kernel):
    """k(x, z) = exp(-gamma |x - z|^2); a Gaussian process tunes gamma, unless bounds are "fixed".

    >>> Gaussian(gamma=0.5)([[0.0]], [[0.0], [1.0]]).round(4)
    array([[1.    , 0.6065]])
    """

    unitary_invariant = True
    positive_definite = True
    gamma: Annotated[float, kinds.Positive()] = 1.0
    _: KW_ONLY
    gamma_bounds: Annotated[Any, BOUNDS_KIND] = BOUNDS
    _tuned = ("gamma",)

    def inner_form(self, shape: tuple[int, int, int]) -> Form:
        rate = 2 * self.gamma
        return Form(self._of_half_squares, distance=True, sensitivity=rate, rate=rate)

    def _of_half_squares(self, values: Any, xp: Any) -> Any:
        if xp is not np:
            # Rounding is cut off without a change of the derivatives.
            excess = detached(xp.clip(values, min=0))
            return xp.exp(2 * self.gamma * (values - excess))
        np.minimum(values, 0, out=values)
        values *= values.dtype.type(2 * self.gamma)
        return np.exp(values, out=values)

    def is_stationary(self) -> bool:
        return True


@stores_parameters
class Laplacian(Kernel):
    """k(x, z) = exp(-gamma |x - z|_1); a Gaussian process tunes gamma, unless bounds are "fixed".

    >>> Laplacian(gamma=1.0)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.1353]])
    """

    positive_definite = True
    gamma: Annotated[float, kinds.Positive()] = 1.0
    _: KW_ONLY
    gamma_bounds: Annotated[Any, BOUNDS_KIND] = BOUNDS
    _tuned = ("gamma",)

    def preserved_by(self, group: Transformations) -> bool:
        """Whether the group preserves sums of absolute differences, as sign changes do."""
        return group.preserves_l1

    def aligned_by(self, group: Transformations) -> bool:
        """Whether the group aligns points: sums of absolute differences are then least, too."""
        no_points = np.zeros((0, group.n_features or 1))
        return group.preserves_l1 and group.aligned(no_points) is not None

    def closed_form(self, group: Transformations, largest: bool) -> Reduced | None:
        gamma = self.gamma
        no_points = np.zeros((0, group.n_features or 1))
        if not largest:
            log_mean = group.log_mean_laplacian
            if log_mean(no_points, no_points) is None:
                return None
            return lambda X, Y: np.exp(log_mean(gamma * X, gamma * Y))
        # A sum of convex functions of differences is least if the points are aligned.
        if group.aligned(no_points) is not None:
            return lambda X, Y: self._gram(group.aligned(X), group.aligned(Y))
        block = group.as_assignment()
        if not block:
            return None
        return lambda X, Y: np.exp(-gamma * least_matching(X, Y, block, "cityblock"))

    def _gram(self, X: Array, Y: Array | None) -> Array:
        distances = manhattan_distances(X, Y)
        distances *= -self.gamma
        values = np.exp(distances, out=distances)
        dtype = X.dtype if Y is None else np.result_type(X, Y)
        return np.asarray(values.astype(dtype, copy=False))

    def _gram_arrays(self, xp: Any, X: Any, Y: Any) -> Any:
        Z = X if Y is None else Y
        blocks = []
        for rows in row_blocks(X.shape[0], 8 * Z.shape[0] * Z.shape[1], _ARRAY_BYTES):
            differences = xp.abs(X[rows, :][:, None, :] - Z[None, :, :])
            blocks.append(xp.exp(-self.gamma * xp.sum(differences, axis=2)))
        return blocks[0] if len(blocks) == 1 else xp.concat(blocks, axis=0)

    def _diag(self, X: Array) -> Array:
        return np.ones(len(X), X.dtype)

    def is_stationary(self) -> bool:
        return True


def _mean_of_powers(
    group: Transformations, coefficients: list[float], gamma: float = 1.0
) -> Reduced | None:
    """Return a function for the mean over g of sum_k coefficients[k] (gamma <x, g y>)^k.

    The result is None if the group has no moments. Both points are scaled by a root of gamma, since
    powers of gamma itself could overflow although the terms do not.
    """
    root = float(np.sqrt(abs(gamma)))
    no_points = np.zeros((0, group.n_features or 1))
    if group.mean_polynomial(no_points, no_points, coefficients) is None:
        return None

    def mean(X: Array, Y: Array) -> Array:
        if gamma != 1:
            X = X * X.dtype.type(root)
            Y = Y * Y.dtype.type(np.copysign(root, gamma))
        return np.asarray(group.mean_polynomial(X, Y, coefficients))

    return mean


def power(values: Any, degree: int) -> Any:
    """Return positive integer powers, by repeated squaring, which is faster than ``**``."""
    result = None
    while True:
        if degree % 2 == 1:
            result = values if result is None else result * values
        degree = degree // 2
        if degree == 0:
            return result
        values = values * values


def products(form: Form, X: Any, Y: Any, xp: Any = np) -> Any:
    """Return the value v of a `Form` for all pairs of rows, with zeros on the diagonal for Y=None.

    Values v = -|x - z|^2 / 2 may exceed zero by rounding; outer functions cut them off. If single
    precision would change a kernel's values, double precision is used, and if inner products lose
    digits, differences of points (`orbits.numerics`).
    """
    if not form.distance:
        if Y is not None:
            return X @ Y.T
        return row_products(X) if xp is np else X @ X.T
    if xp is not np:
        return _distances_of_arrays(form, X, Y, xp)
    return _distances(form, X, Y)


def _distances(form: Form, X: Array, Y: Array | None) -> Array:
    """Return v = -|x - y|^2 / 2 for NumPy arrays."""
    Z = X if Y is None else Y
    X_halves = np.einsum("nd,nd->n", X, X) / 2
    Z_halves = X_halves if Y is None else np.einsum("nd,nd->n", Z, Z) / 2
    largest = float(max(X_halves.max(initial=0), Z_halves.max(initial=0)))
    careful = needs_care(form, largest)
    centre = centre_of(form, Z) if careful else None
    if centre is not None:
        X = X - centre
        Z = X if Y is None else Z - centre
        X_halves = half_norms(X)
        Z_halves = half_norms(Z)
        largest = float(max(X_halves.max(), Z_halves.max()))
    is_single = np.result_type(X, Z) == np.float32
    if is_single and not single_will_do(form, largest, repaired=True):
        v = _in_double(form, X, Z)
    else:
        v = row_products(X) if Y is None else X @ Z.T
        v -= X_halves[:, None]
        v -= Z_halves
        if careful:
            repair(form, v, X, Z, X_halves, Z_halves)
        if form.rooted:
            if Y is None:
                np.fill_diagonal(v, -np.inf)  # The diagonal is zero and needs no repair.
            repair_near(v, X, Z, largest)
    if Y is None:
        np.fill_diagonal(v, 0)
    return v


def _in_double(form: Form, X: Array, Z: Array) -> Array:
    """Return single-precision values of `products` that are computed in double precision."""
    v = np.empty((len(X), len(Z)), np.float32)
    Z = Z.astype(float)
    for rows in row_blocks(len(X), 8 * len(Z), 2**24):
        v[rows] = products(form, X[rows].astype(float), Z)
    return v


def _distances_of_arrays(form: Form, X: Any, Y: Any, xp: Any) -> Any:
    """Return v = -|x - y|^2 / 2 for arrays of another library."""
    Z = X if Y is None else Y
    constant = detached(Z)
    # Norms are computed where the points are: a copy of all points for the host takes longer.
    largest = float(xp.max(half_norms(constant)))
    centre = None
    if needs_care(form, largest):
        centre = centre_of(form, on_host(sample_of(constant)))
    if centre is not None:
        X = X - like(centre, X)
        Z = X if Y is None else Z - like(centre, Z)
    X_halves = half_norms(X)
    Z_halves = half_norms(Z)
    largest_X = float(xp.max(detached(X_halves)))
    largest_Z = float(xp.max(detached(Z_halves)))
    is_single = X.dtype == xp.float32
    if is_single and not single_will_do(form, max(largest_X, largest_Z)):
        Y_in_double = None if Y is None else xp.astype(Z, xp.float64)
        v = _distances_of_arrays(form, xp.astype(X, xp.float64), Y_in_double, xp)
        return xp.astype(v, xp.float32)
    if error_of(form, min(largest_X, largest_Z)) > REPAIR_FROM:
        v = half_squares(X, Z)
    else:
        v = X @ Z.T
        v = v - X_halves[:, None] - Z_halves[None, :]
    if Y is not None:
        return v
    diagonal = xp.eye(v.shape[0], dtype=xp.bool, device=X.device)
    return xp.where(diagonal, 0 * v[:1, :1], v)
