"""`Kernel` and the base kernels: linear, polynomial, Gaussian, Laplacian.

A kernel is a callable ``k(X, Y) -> (n, m)``. It derives from scikit-learn's Gaussian-process
kernel, so that ``SVC(kernel=k)``, ``KernelRidge(kernel=k)``, ``GaussianProcessRegressor(kernel=k)``
and ``pairwise_kernels`` take it as it is, and sums, products and powers of kernels are kernels.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import KW_ONLY
from functools import partial
from math import comb
from typing import Annotated, Any, ClassVar
from weakref import ref

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import Hyperparameter
from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel
from sklearn.metrics.pairwise import manhattan_distances

from ..core import parameters as kinds
from ..core.arrays import (
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
from ..core.kernel_matrix import takes_sets
from ..core.parameter_state import ParameterState
from ..core.parameters import ParameterError, check_parameters, plain, short, stores_parameters
from ..groups import Transformations
from ..orbits import Form, OrbitProducts, WeightedMean, form_of, row_blocks
from ..orbits.closed import least_matching
from ..orbits.numerics import (
    REPAIR_FROM,
    centre_of,
    error_of,
    half_squares,
    needs_care,
    repair,
    repair_near,
    single_will_do,
)
from ..orbits.way import half_norms

Array = NDArray[Any]
Reduced = Callable[[Array, Array], Array]
Derivative = Callable[[Array], Array]

#: What may be given for a parameter ``base``.
BASE = kinds.Has("a kernel, such as Gaussian(0.1)", "diag", "is_stationary")

#: Within which hyperparameters are tuned, as in scikit-learn, and what may be given for that.
BOUNDS = (1e-5, 1e5)
BOUNDS_KIND = kinds.OneOf("fixed") | kinds.Array(1, above=0)

#: Degrees beyond which a mean of powers is not written as a sum of moments.
_MOST_POWERS = 12
#: Bytes of values that a function is applied to at a time: they stay in a processor's cache.
_TILE_BYTES = 2**20
#: Of a logarithm; the fifth derivative's term and rounding are then both about 1e-12.
_STEP = 1e-3


def as_points(X: ArrayLike, name: str) -> Array:
    """X as a matrix of real numbers, one point a row."""
    if is_plain(X):
        return X
    if getattr(X, "ndim", 2) > 2:
        raise ValueError(f"{name} takes flattened points, got an array of shape {np.shape(X)}")
    return check_array(X, estimator=name)


def on_rows(kernel: Any, *arrays: ArrayLike) -> tuple[Any, list[Array]]:
    """A kernel for points as rows, and the points as rows.

    Padded sets (n, largest, d) become rows (n, largest * d) for a kernel of sets, and for one that
    is made of such; the kernel that is returned knows d.
    """
    rows: Any
    if not takes_sets(kernel):
        return kernel, [as_points(X, type(kernel).__name__) for X in arrays]
    if getattr(kernel, "takes_sets", False):
        bound, rows = kernel.on_rows(*arrays)
        return bound, rows
    bound = copy(kernel)
    for name, part in vars(kernel).items():
        if takes_sets(part):
            part, rows = on_rows(part, *arrays)
            setattr(bound, name, part)
    return bound, rows


class _Call(threading.local):
    """A call of a kernel, in which the parameters of each kernel are looked at once."""

    def __init__(self) -> None:
        self.depth = 0
        self.looked_at: dict[int, Any] = {}

    def __enter__(self) -> None:
        self.depth += 1

    def __exit__(self, *exception: object) -> None:
        self.depth -= 1
        if not self.depth:
            self.looked_at.clear()


_call = _Call()


class Kernel(BaseEstimator, GaussianProcessKernel):
    """Base class of all kernels: ``k(X, Y)`` of shape (n, m), ``k(X)`` the Gram matrix.

    A subclass implements `inner_form`, where it is a function of one inner product, or ``_gram``; a
    composed kernel holds its parts as parameters. One that has a ``_gram`` of its own says its own
    `inner_form` and `closed_form`, too. Arrays of other libraries are taken where `inner_form`
    says how.
    """

    #: Whether k(Ax, Az) = k(x, z) for every orthogonal A: one sum over a group then does for two.
    unitary_invariant: bool = False
    _parameters: ClassVar[dict[str, kinds.Kind]] = {}
    #: Positive parameters that a Gaussian process tunes, within the bounds of ``..._bounds``.
    _tuned: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Withdraw inherited forms where the class has values of its own, and warn of it."""
        super().__init_subclass__(**kwargs)
        own = vars(cls)
        cls._form = own.get("inner_form", cls._form)
        changed = [name for name in ("__call__", "_gram") if name in own]
        lost = {}
        for name in ("inner_form", "closed_form") if changed else ():
            if name not in own:
                if getattr(cls, name) is not getattr(Kernel, name):
                    lost[name] = next(base for base in cls.__mro__[1:] if name in vars(base))
                setattr(cls, name, getattr(Kernel, name))
        if lost:
            owner = next(iter(lost.values()))
            none = ", ".join(f"{n} = Kernel.{n}" for n in lost)
            still = ", ".join(f"{n} = {base.__name__}.{n}" for n, base in lost.items())
            warnings.warn(
                f"{cls.__name__} defines {' and '.join(changed)}, so that {' and '.join(lost)} of "
                f"{owner.__name__} may not hold for it: kernels and features over groups evaluate "
                f"it for each element, often ten times slower. If its values are those of "
                f"{owner.__name__}, write {still} in the class; if not, {none}",
                stacklevel=3,
            )
        asked = cls.unitary_invariant or cls.preserved_by is not Kernel.preserved_by
        if "closed_form" in own and own["closed_form"] is not Kernel.closed_form and not asked:
            warnings.warn(
                f"{cls.__name__} defines closed_form, but Average asks for it only if the kernel "
                "is known to be preserved by the group: write unitary_invariant = True or define "
                "preserved_by(group)",
                stacklevel=3,
            )

    def set_params(self, **params: Any) -> Any:
        """As scikit-learn's; NumPy's numbers, such as a Gaussian process sets, become Python's."""
        return super().set_params(**{name: plain(value) for name, value in params.items()})

    def _gram(self, X: Array, Y: Array | None) -> Array:
        """The kernel matrix of shape (n, m) between rows; ``Y=None`` means ``Y=X``."""
        form = self._form((1, X.shape[1], 1))
        if form is None:
            raise NotImplementedError(f"{type(self).__name__} needs a method inner_form or _gram")
        values: Array = products(form, X, Y)
        if form.outer is None or values.nbytes <= _TILE_BYTES:
            return np.asarray(form.value(values))
        for rows in row_blocks(len(values), values[:1].nbytes, _TILE_BYTES):  # they stay in cache
            values[rows] = form.outer(values[rows], np)
        return values

    def _gram_arrays(self, xp: Any, X: Any, Y: Any) -> Any:
        """`_gram` in another library, with ``Y=None`` for ``Y=X``."""
        form = self.inner_form((1, X.shape[1], 1))
        if form is None or not form.linear:
            remedy = "take a kernel of inner products or distances, such as Gaussian or Polynomial"
            numpy_only(type(self).__name__, remedy, X, Y)
        return form.value(products(form, X, Y, xp), xp)

    def inner_form(self, shape: tuple[int, int, int]) -> Form | None:
        """The kernel as a function of one inner product of lifted points, where it is one.

        Averages and maxima over a group are then computed from inner products, by the cheapest way
        that the group offers (`invariance.orbits`); otherwise the kernel is evaluated. Points are
        of ``shape`` (height, width, channels); plain vectors are images of height one.
        """
        return None

    #: What `_gram` here computes; a class with another `_gram` inherits no `inner_form`.
    _form: Any = inner_form

    def closed_form(self, group: Transformations, largest: bool) -> Reduced | None:
        """A function (X, Y) -> mean, or largest value, of k(x, g y) over a whole group, at once.

        None if there is none. `Average` asks only if `preserved_by` says yes: only then is its mean
        over both arguments' transformations one over those of the second. Kernels that are
        functions of inner products need none for their largest value, and those that are
        exponentials of them none for their mean.
        """
        return None

    def preserved_by(self, group: Transformations) -> bool:
        """Whether k(gx, gz) = k(x, z) for every element of a set of transformations."""
        return self.unitary_invariant and group.unitary

    # -- calls -----------------------------------------------------------------------------------

    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> Any:
        """The matrix of k(x_i, y_j).

        Parameters
        ----------
        X : array-like of shape (n, d)
        Y : array-like of shape (m, d), default X
        eval_gradient : bool
            Whether to return, for Y=None, also the derivatives of shape (n, n, p) with respect to
            ``theta``, the logarithms of the p hyperparameters, for `GaussianProcessRegressor`.

        Returns
        -------
        ndarray of shape (n, m), float32 when both inputs are float32, else float64
            For arrays of another library an array of that library, on their device.
        """
        with _call:
            return self._called(X, Y, eval_gradient)

    def _called(self, X: Any, Y: Any, eval_gradient: bool) -> Any:
        memory = self._memory()
        if is_foreign(X) or is_foreign(Y):
            xp = check_arrays(type(self).__name__, X, Y)
            dtype = xp.result_type(X, X if Y is None else Y)
            return self._gram_arrays(xp, *(A if A is None else xp.astype(A, dtype) for A in (X, Y)))
        kernel, name = self, type(self).__name__
        if memory["of sets"]:
            kernel, (X, *others) = on_rows(self, X, *(() if Y is None else (Y,)))
            Y = others[0] if others else None
        else:
            X, Y = as_points(X, name), None if Y is None else as_points(Y, name)
        if Y is not None and X.shape[1] != Y.shape[1]:
            raise ValueError(f"{name}: X has {X.shape[1]} features and Y has {Y.shape[1]}")
        if eval_gradient and Y is not None:
            raise ValueError(f"{name}: derivatives are those of the Gram matrix, for Y=None")
        # Overflow is refused below, in the user's terms.
        with np.errstate(over="ignore", invalid="ignore"):
            gram = kernel._gram(X, Y)
            self._check_finite(gram, X, Y)
            return (gram, kernel._gradient(X.astype(float))) if eval_gradient else gram

    def diag(self, X: ArrayLike) -> Array:
        """k(x_i, x_i) for each row, shape (n,)."""
        with _call, np.errstate(over="ignore", invalid="ignore"):
            self._memory()
            kernel, (X,) = on_rows(self, X)
            values: Array = kernel._diag(X)
        self._check_finite(values, X, None)
        return values

    def _diag(self, X: Array) -> Any:
        form = self.inner_form((1, X.shape[1], 1))
        if form is not None and form.linear:
            return form.value(np.zeros(len(X), X.dtype) if form.distance else 2 * half_norms(X))
        # By blocks on the diagonal: a call has costs of its own.
        blocks = [self._gram(X[some], None).diagonal() for some in row_blocks(len(X), 1, 16)]
        return np.concatenate(blocks)

    def _memory(self) -> Any:
        """What is known of the kernel while its parameters are what they are: they are checked."""
        before, memory = self.__dict__.get("_remembered", (None, None))
        seen = _call.looked_at.get(id(self))
        if seen is not None and seen() is self:
            return memory
        now = ParameterState(self)
        if before is None or not before.equals(now):
            for part in now.objects:  # a group's parameters may have been changed in place
                getattr(part, "__dict__", {}).pop("_checked", None)
            check_parameters(self)
            for part in self.__dict__.values():
                if hasattr(part, "_memory"):
                    part._memory()
            memory = {"of sets": takes_sets(self)}
            self.__dict__["_remembered"] = ParameterState(self).copied(), memory  # checks convert
        if _call.depth:
            _call.looked_at[id(self)] = ref(self)
        return memory

    def __dir__(self) -> list[str]:
        """All names. scikit-learn would compute every attribute to see whether it is there."""
        return list(object.__dir__(self))

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_remembered"}

    def _check_finite(self, values: Array, X: Array, Y: Array | None) -> None:
        """Refuse values that overflowed; the points are finite."""
        # The extremes are infinite or NaN where any value is, and need no array of their own.
        if not np.isfinite(values.min()) or not np.isfinite(values.max()):
            largest = max(float(np.nanmax(np.abs(A))) for A in (X, X if Y is None else Y))
            raise ValueError(
                f"{short(self)}: values beyond {values.dtype}; the largest absolute feature of "
                f"the points is {largest:g}: scale them down (pixels: divide by 255)"
            )

    # -- for Gaussian processes ------------------------------------------------------------------

    def is_stationary(self) -> bool:
        return False

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        """What a Gaussian process tunes by gradient; a value that is not positive is fixed."""
        bounds = {
            name: getattr(self, f"{name}_bounds", BOUNDS) if getattr(self, name) > 0 else "fixed"
            for name in self._tuned
        }
        return [Hyperparameter(name, "numeric", within) for name, within in bounds.items()]

    def _gradient(self, X: Array) -> Array:
        """Derivatives of the Gram matrix with respect to theta, shape (n, n, p)."""
        functions = outer_derivatives(self, (1, X.shape[1], 1))
        if functions is None:
            return whole_derivatives(self, X)
        return of_products(OrbitProducts(X, None, base=self), functions)


def root_of_diagonal(owner: str, values: Any, rounding: Any = 0.0) -> Any:
    """Roots of k(x, x), by which ``normalize`` divides; refuses points that have none.

    ``rounding``, of the values' shape or one number, is what sums that should be zero may give.
    """
    xp = namespace(values)
    wrong = ~(values > rounding)
    if bool(xp.any(wrong)):
        first = int(xp.argmax(xp.astype(wrong, xp.int8) if xp is not np else wrong))
        count = int(xp.sum(xp.astype(wrong, xp.int64) if xp is not np else wrong))
        raise ParameterError(
            f"{owner} needs K(x, x) above zero for normalize=True, but it is zero up to rounding, "
            f"or no number, for {count} of {values.shape[0]} points, the first of them at {first}: "
            "take normalize=False, leave these points out, or take another base kernel"
        )
    return xp.sqrt(values)


def preserved(kernel: Any, group: Transformations) -> bool:
    """Whether k(gx, gz) = k(x, z) is known for every element, of kernels of scikit-learn as well.

    Their sums, products and powers are asked for their parts; of others those that see distances or
    inner products are preserved by what is unitary.
    """
    known = getattr(kernel, "preserved_by", None)
    if known is not None:
        return bool(known(group))
    parts = [part for part in vars(kernel).values() if hasattr(part, "diag")]
    if parts or hasattr(kernel, "constant_value"):
        return all(preserved(part, group) for part in parts)
    return bool(group.unitary) and form_of(kernel, (1, 1, 1)) is not None


class Linear(Kernel):
    """k(x, z) = <x, z>.

    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    unitary_invariant = True

    def inner_form(self, shape: tuple[int, int, int]) -> Form:
        return Form()

    def closed_form(self, group: Transformations, largest: bool) -> Reduced | None:
        return None if largest else _of_powers(group, [0.0, 1.0])


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

    def inner_form(self, shape: tuple[int, int, int]) -> Form:
        if not self.gamma > 0:
            return Form(self._of_products, monotone=False)
        turns = self.degree % 2 == 0
        return Form(self._of_products, turning_point=-self.coef0 / self.gamma if turns else None)

    def closed_form(self, group: Transformations, largest: bool) -> Reduced | None:
        p = int(self.degree)
        if largest or p > _MOST_POWERS:
            return None
        coef0 = np.float64(self.coef0)  # its powers are infinite, not refused, if they overflow
        with np.errstate(over="ignore"):
            terms = [float(comb(p, k) * coef0 ** (p - k)) for k in range(p + 1)]
        return _of_powers(group, terms, float(self.gamma))

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
    gamma: Annotated[float, kinds.Positive()] = 1.0
    _: KW_ONLY
    gamma_bounds: Annotated[Any, BOUNDS_KIND] = BOUNDS
    _tuned = ("gamma",)

    def inner_form(self, shape: tuple[int, int, int]) -> Form:
        rate = 2 * self.gamma
        return Form(self._of_half_squares, distance=True, sensitivity=rate, rate=rate)

    def _of_half_squares(self, values: Any, xp: Any) -> Any:
        if xp is not np:
            return xp.exp(2 * self.gamma * xp.clip(values, max=0))
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

    gamma: Annotated[float, kinds.Positive()] = 1.0
    _: KW_ONLY
    gamma_bounds: Annotated[Any, BOUNDS_KIND] = BOUNDS
    _tuned = ("gamma",)

    def preserved_by(self, group: Transformations) -> bool:
        """The sum of absolute differences sees no permutation and no change of sign."""
        return group.preserves_l1

    def closed_form(self, group: Transformations, largest: bool) -> Reduced | None:
        none, gamma = np.zeros((0, group.n_features or 1)), self.gamma
        if not largest:
            mean = group.log_mean_laplacian
            if mean(none, none) is None:
                return None
            return lambda X, Y: np.exp(mean(gamma * X, gamma * Y))
        # A sum of convex functions of differences is least where the points are aligned.
        if group.aligned(none) is not None:
            return lambda X, Y: self._gram(group.aligned(X), group.aligned(Y))
        block = group.as_assignment()
        if not block:
            return None
        return lambda X, Y: np.exp(-gamma * least_matching(X, Y, block, "cityblock"))

    def _gram(self, X: Array, Y: Array | None) -> Array:
        distances = manhattan_distances(X, Y)
        distances *= -self.gamma
        values = np.exp(distances, out=distances)
        return np.asarray(values.astype(np.result_type(X, X if Y is None else Y), copy=False))

    def _diag(self, X: Array) -> Array:
        return np.ones(len(X), X.dtype)

    def is_stationary(self) -> bool:
        return True


def _of_powers(group: Transformations, terms: list[float], gamma: float = 1.0) -> Reduced | None:
    """Sums of terms[k] times the mean of (gamma <x, g y>)^k.

    Both points take a root of gamma, whose powers could overflow where the terms do not.
    """
    root = float(np.sqrt(abs(gamma)))
    none = np.zeros((0, group.n_features or 1))
    if group.mean_powers(none, none, len(terms) - 1) is None:
        return None

    def mean(X: Array, Y: Array) -> Array:
        if gamma != 1:
            X = X * X.dtype.type(root)
            Y = Y * Y.dtype.type(np.copysign(root, gamma))
        moments: Any = group.mean_powers(X, Y, len(terms) - 1)
        return np.asarray(sum(t * moment for t, moment in zip(terms, moments, strict=True)))

    return mean


def power(values: Any, degree: int) -> Any:
    """Integer powers by repeated squaring: ``**`` goes through the general function."""
    result = None
    while True:
        if degree & 1:
            result = values if result is None else result * values
        degree >>= 1
        if not degree:
            return result
        values = values * values


def products(form: Form, X: Any, Y: Any, xp: Any = np) -> Any:
    """v of all pairs of rows (see `Form`); of distances above zero by rounding alone, which outer
    functions cut off; zero on the diagonal for Y=None.

    Single precision is left for double where it would change a kernel's values, and inner products
    for differences (`orbits.numerics`).
    """
    other = X if Y is None else Y
    if not form.distance:
        return X @ other.T
    if xp is not np:
        return _distances_of_arrays(form, X, Y, xp)
    halves = np.einsum("nd,nd->n", X, X) / 2
    others = halves if Y is None else np.einsum("nd,nd->n", other, other) / 2
    largest = float(max(halves.max(initial=0), others.max(initial=0)))
    careful = needs_care(form, largest)
    centre = centre_of(form, other) if careful else None
    if centre is not None:
        X = X - centre
        other = X if Y is None else Y - centre
        halves = half_norms(X)
        others = half_norms(other)
        largest = float(max(halves.max(), others.max()))
    narrow = np.result_type(X, other) == np.float32
    if narrow and not single_will_do(form, largest, repaired=True):
        v, wide = np.empty((len(X), len(other)), np.float32), other.astype(float)
        for rows in row_blocks(len(X), 8 * len(other), 2**24):
            v[rows] = products(form, X[rows].astype(float), wide)
    else:
        v = X @ other.T
        v -= halves[:, None]
        v -= others
        if careful:
            repair(form, v, X, other, halves, others)
        if form.rooted:
            if Y is None:
                np.fill_diagonal(v, -np.inf)  # it is known
            repair_near(v, X, other, largest)
    if Y is None:
        np.fill_diagonal(v, 0)
    return v


def _distances_of_arrays(form: Form, X: Any, Y: Any, xp: Any) -> Any:
    """`products` of arrays of another library."""
    other = X if Y is None else Y
    points = on_host(detached(other))
    largest = float(half_norms(points.astype(float)).max())
    centre = centre_of(form, points) if needs_care(form, largest) else None
    if centre is not None:
        X = X - like(centre, X)
        other = X if Y is None else Y - like(centre, Y)
    halves, others = half_norms(X), half_norms(other)
    worst = min(float(xp.max(detached(A))) for A in (halves, others))
    if error_of(form, worst) > REPAIR_FROM:
        v = half_squares(X, other)
    else:
        v = X @ other.T - halves[:, None] - others[None, :]
    if Y is None:
        v = xp.where(xp.eye(v.shape[0], dtype=xp.bool, device=X.device), 0 * v[:1, :1], v)
    return v


# -- derivatives with respect to the logarithms of hyperparameters --------------------------------
#
# A kernel that is a function of inner products has derivatives that are functions of them too. They
# are differences of four values, with a relative error of about 1e-11: nobody writes them by hand.


def _moved(kernel: Any, j: int) -> list[tuple[Any, float]]:
    """The kernel with a hyperparameter changed, and how much its values count in a derivative."""
    found = []
    for steps, weight in ((1, 8), (-1, -8), (2, -1), (-2, 1)):
        theta = np.array(kernel.theta, dtype=float)
        theta[j] += steps * _STEP
        found.append((kernel.clone_with_theta(theta), weight / (12 * _STEP)))
    return found


def whole_derivatives(kernel: Any, X: Array) -> Array:
    """Derivatives of a Gram matrix, from four more for each hyperparameter, shape (n, n, p)."""
    made = np.zeros((len(X), len(X), len(kernel.theta)))
    for j in range(made.shape[2]):
        for moved, weight in _moved(kernel, j):
            made[:, :, j] += weight * moved._gram(X, None)
    return made


def outer_derivatives(kernel: Any, shape: tuple[int, int, int]) -> list[Derivative] | None:
    """Derivatives of the function phi of inner products that a kernel is; None if it is none.

    It is for kernels whose lifts have no hyperparameters.
    """
    form = form_of(kernel, shape)
    if form is None:
        return None
    every = [
        [(form_of(moved, shape), weight) for moved, weight in _moved(kernel, j)]
        for j in range(len(kernel.theta))
    ]
    return [partial(_derivative, forms=forms, rate=form.rate) for forms in every]


def _derivative(values: Array, forms: list[tuple[Any, float]], rate: float | None) -> Array:
    """Of phi, at values that may be overwritten."""
    if rate is None:
        total = np.zeros_like(values)
        for form, weight in forms:
            total += weight * form.value(values.copy())
        return total
    slope = sum(form.rate * weight for form, weight in forms)
    values *= values.dtype.type(rate)
    found = np.exp(values)  # of exp(rate v), one exponential in place of four
    found *= values
    if abs(slope / rate - 1) > 1e-9:  # it is the rate itself for one that is linear in gamma
        found *= values.dtype.type(slope / rate)
    return found


def of_products(
    orbits: OrbitProducts, functions: Sequence[Derivative], *, symmetric: bool = True
) -> Array:
    """Means of functions of inner products of the kept points among themselves, (n, n, p)."""
    if not functions:
        return np.empty((len(orbits.Z), len(orbits.Z), 0))
    reduction = WeightedMean(functions, raw=True)
    return np.stack(orbits.reduce(orbits.Z, reduction, symmetric=symmetric), axis=-1)
