r"""`find_generators`: continuous symmetries of a function, from its values at some points.

A function f does not change along the flow of the field v(x) = A x + b if and only if
:math:`\nabla f(x) \cdot (A x + b) = 0` everywhere. Kernel ridge regression with a Gaussian kernel
estimates f, and the gradient of the estimate has a closed form. The mean of squares

.. math:: q(A, b) = \frac1n \sum_i \big(\nabla \hat f(x_i) \cdot (A x_i + b)\big)^2

is a quadratic form of the entries of A and b. Its eigenvectors of the smallest eigenvalues are the
estimates of the generators: no list of groups, no network and no search are needed. Fields are
measured in coordinates in which the points have the covariance one, so that the result does not
depend on the coordinates in which points are given.

How small is small? Two tests at the same level answer, by functions that are drawn and fitted as
the data are. A generator is reported if the smallest eigenvalue passes both.

- *No symmetry* has to be rejected. Under this hypothesis f is a draw from the Gaussian process for
  which the ridge regression is the best estimator: values have the covariance :math:`K + r`, with
  the kernel matrix K and the ridge r. The p-value of an eigenvalue, relative to the mean of all, is
  the share of draws whose *smallest* eigenvalue is no larger. So a generator is reported for such a
  function with probability 0.05 at most, up to the choice of the two kernel parameters.
- *A slope of zero* must not be rejected. A function that varies little along a field without being
  constant fails here: its slopes are larger than the errors of slopes. These are simulated: the
  gradients of functions of the same process are known, and so are those of their fits.

The number of generators is an estimate without a stated error: among the eigenvalues that pass the
first test, it is the place of the largest ratio of an eigenvalue to the one before it. The notebook
``beyond/find_generators`` measures how often it is right, and how often functions of other kinds,
without a symmetry, get a generator.

Kernel parameters are those of the largest likelihood on at most 250 points. One Cholesky factor
serves the fit and all draws: with :math:`K + r = L L^T`, the coefficients of a draw without
symmetry are :math:`L^{-T} z` for standard normal z.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d

from ..core import parameters as kinds
from ..core.arrays import check_array
from ..core.parameters import ParameterError, arguments, short
from ..kernels import Gaussian
from ..linear.ridge import in_power_of_two

Array = NDArray[Any]

#: Rates that are tried, as multiples of one over the median squared distance.
_RATES = 2.0 ** np.arange(-5, 3)
#: Ridges that are tried, relative to the kernel's diagonal, which is one.
_RIDGES = 10.0 ** np.arange(-5, 2.1, 0.5)
#: The kernel's parameters are chosen on at most this many points.
_MOST_TO_CHOOSE = 250
#: Functions that are drawn and fitted together, to limit memory.
_DRAWS_AT_ONCE = 50
#: Number of waves of which a function of the Gaussian process is composed.
_N_WAVES = 300


@dataclass(frozen=True, repr=False)
class FoundGenerators:
    """Fields v(x) = A x + b along which a function does not change.

    All fields are sorted by the mean square of the function's slope along them. They have mean
    squared length one, and are orthogonal, in coordinates in which the points have covariance one.

    Attributes
    ----------
    dimension : int
        Number of generators; ``len(result)`` is the same.
    matrices : ndarray of shape (dimension, d, d)
        The matrices A of these generators.
    shifts : ndarray of shape (dimension, d)
        The vectors b, which are zero if only linear fields were asked for.
    changes : ndarray of shape (k,)
        Mean squared slopes along all k fields, ascending; zero or infinite beyond floats.
    p_values : ndarray of shape (k,)
        Shares of functions without symmetry that have a field with a slope as small.
    p_values_of_zero : ndarray of shape (k,)
        Shares of simulated errors of slopes that are as large: small if a slope is not zero.
    all_matrices : ndarray of shape (k, d, d)
    all_shifts : ndarray of shape (k, d)
    closure : float or None
        Largest part of a commutator of two generators that lies outside their span, relative to
        the commutator. It is near zero if the generators form a Lie algebra, as they should. None
        for fewer than two generators or if all commute.
    gamma : float
        The chosen bandwidth, for points with covariance one.
    ridge : float
        The chosen ridge, for points with covariance one.
    points : ndarray of shape (n, d)
        The points that were used.
    gradients : ndarray of shape (n, d)
        The gradients of the fitted function there.
    """

    dimension: int
    matrices: Array
    shifts: Array
    changes: Array
    p_values: Array
    p_values_of_zero: Array
    all_matrices: Array
    all_shifts: Array
    closure: float | None
    gamma: float
    ridge: float
    points: Array
    gradients: Array

    def __len__(self) -> int:
        return self.dimension

    def __repr__(self) -> str:
        names = {0: "no generator", 1: "1 generator"}
        lines = [names.get(self.dimension, f"{self.dimension} generators")]
        if self.closure is not None:
            lines[0] += f", closed up to {100 * self.closure:.2g} % of a commutator"
        with np.errstate(invalid="ignore"):  # squares may have overflowed or vanished
            relative = self.changes / self.changes.mean()
        for i in range(min(len(relative), self.dimension + 2)):
            lines.append(
                f"squared slope {relative[i]:.2g} of the mean: p = {self.p_values[i]:.2g} without "
                f"symmetry, {self.p_values_of_zero[i]:.2g} for a slope of zero"
            )
        return "\n".join(lines)

    def flow(self, X: ArrayLike, t: ArrayLike) -> Array:
        """Return points after the flow of a combination of the generators for a time of one.

        Parameters
        ----------
        X : array-like of shape (n, d)
        t : array-like of shape (dimension,)
            Coefficients of the generators.
        """
        points = check_array(X, dtype=np.float64)
        coefficients = np.asarray(t, dtype=float)
        if coefficients.shape != (self.dimension,):
            raise ParameterError(
                f"flow needs t to be one number per generator, {self.dimension}, got {short(t)}"
            )
        fields = _homogeneous(self.matrices, self.shifts)
        motion = linalg.expm(np.tensordot(coefficients, fields, 1))
        return np.asarray(points @ motion[:-1, :-1].T + motion[:-1, -1])


@arguments(
    affine=kinds.Flag(),
    level=kinds.Number(above=0, most=0.5),
    n_null=kinds.Whole(1),
    n_points=kinds.Whole(10),
    random_state=kinds.Seed(),
)
def find_generators(
    X: ArrayLike,
    y: ArrayLike,
    *,
    affine: bool = False,
    level: float = 0.05,
    n_null: int = 99,
    n_points: int = 1000,
    random_state: Any = None,
) -> FoundGenerators:
    r"""Return the linear (or affine) fields along which a function does not change.

    The module describes the estimate and its test. A function with a symmetry that is broken by
    less than the noise shows looks symmetric. So do functions that are nearly linear or quadratic
    over the points: a quadratic function *is* symmetric, under the rotations of its own metric.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points that fill the space; a group acts about the origin unless ``affine`` is true.
    y : array-like of shape (n,)
        Values of the function, with noise.
    affine : bool
        Whether fields may have a constant part, as translations do and rotations about a point
        that is not the origin. A coordinate that the function does not depend on then gives d + 1
        fields, the coordinate's direction times 1 and times each coordinate.
    level : float
        Level of both tests: the probability that a generator is reported for a function without
        symmetry, and that a symmetry is missed because its slope seems not to be zero.
    n_null : int
        Number of functions that are drawn and fitted for each of the two tests.
    n_points : int
        At most so many points are used, drawn at random: time grows with their cube.
    random_state : int, RandomState or None

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((300, 3))
    >>> y = np.sqrt((X**2).sum(axis=1))
    >>> result = find_generators(X, y, random_state=0)
    >>> result.dimension
    3
    >>> A = result.matrices[0]
    >>> bool(np.abs(A + A.T).max() < 0.1 * np.abs(A).max())         # a rotation
    True
    """
    points = check_array(X, dtype=np.float64, estimator="find_generators", ensure_min_samples=10)
    values = check_array(
        column_or_1d(y), input_name="y", dtype=np.float64, ensure_2d=False, ensure_min_samples=10
    )
    check_consistent_length(points, values)
    if np.ptp(values) == 0:
        raise ParameterError("find_generators needs values y that vary, got constant ones")
    if level * (n_null + 1) < 1:
        raise ParameterError(
            f"find_generators needs n_null >= {int(np.ceil(1 / level)) - 1} for level={level:g}, "
            f"got {n_null}: no p-value could be as small"
        )
    rng = check_random_state(random_state)
    used = np.sort(rng.permutation(len(points))[:n_points])
    points = points[used]
    values = values[used]
    # Squares of values must neither overflow nor vanish, whatever their unit.
    exponent = 0
    if not 1e-100 < np.abs(values).max() < 1e100:
        values, exponent = in_power_of_two(values)
    values = values - values.mean()
    coordinates = _Coordinates(points, affine)
    white = coordinates.white
    few = rng.permutation(len(points))[:_MOST_TO_CHOOSE]
    gamma, ridge = _likeliest(white[few], values[few])
    gram = Gaussian(gamma)(white)
    factor = linalg.cholesky(gram + ridge * np.eye(len(gram)), lower=True)
    coefficients = linalg.cho_solve((factor, True), values)
    (gradients,) = gaussian_gradients(gram, gamma, white, coefficients[:, None])
    changes, fields = linalg.eigh(_quadratic_form(gradients, coordinates.lifted))
    fitted = _Fitted(coordinates, gamma, ridge, gram, factor)
    smallest = fitted.smallest_eigenvalues(n_null, rng)
    as_small = smallest <= (changes / changes.mean())[:, None]
    p_values = (1 + as_small.sum(axis=1)) / (1 + n_null)
    scale = float(values @ coefficients) / len(values)
    errors = scale * fitted.squared_errors(fields, n_null, rng)
    as_large = errors >= changes[:, None]
    p_values_of_zero = (1 + as_large.sum(axis=1)) / (1 + n_null)
    dimension = 0
    if p_values[0] <= level < p_values_of_zero[0]:
        dimension = _largest_step(changes, int(np.count_nonzero(p_values <= level)))
    matrices, shifts = coordinates.restored(fields.T)
    with np.errstate(over="ignore", under="ignore"):
        squared_slopes = np.ldexp(changes.clip(0), 2 * exponent)
    return FoundGenerators(
        dimension=dimension,
        matrices=matrices[:dimension],
        shifts=shifts[:dimension],
        changes=squared_slopes,
        p_values=p_values,
        p_values_of_zero=p_values_of_zero,
        all_matrices=matrices,
        all_shifts=shifts,
        closure=_closure(fields.T[:dimension], coordinates),
        gamma=gamma,
        ridge=ridge,
        points=points,
        gradients=np.ldexp(coordinates.restored_gradients(gradients), exponent),
    )


class _Coordinates:
    """Coordinates in which points have the second moments one, about the origin or their mean.

    Attributes
    ----------
    white : ndarray of shape (n, d)
        The points in these coordinates, (x - origin) / units @ to_white.
    lifted : ndarray of shape (n, d) or (n, d + 1)
        The same, followed by one if fields may have a constant part.
    """

    def __init__(self, points: Array, affine: bool):
        self.affine = affine
        self.origin = points.mean(axis=0) if affine else np.zeros(points.shape[1])
        moved = points - self.origin
        self.units = np.ones(points.shape[1])
        moments = _principal_moments(moved)
        if moments is None:  # Coordinates may have very different units.
            _, exponents = np.frexp(np.abs(moved).max(axis=0))
            self.units = np.ldexp(1.0, exponents)
            moved = np.ldexp(moved, -exponents)
            moments = _principal_moments(moved)
        if moments is None:
            raise ParameterError(
                "find_generators needs points X that fill the space, but they lie in a subspace: "
                "give their coordinates there"
            )
        eigenvalues, vectors = moments
        roots = np.sqrt(eigenvalues)
        self.to_white = vectors / roots @ vectors.T
        self.from_white = vectors * roots @ vectors.T
        self.white = moved @ self.to_white
        self.lifted = self.white
        if affine:
            self.lifted = np.column_stack([self.white, np.ones(len(points))])

    def as_matrices(self, fields: Array) -> tuple[Array, Array]:
        """Return matrices (k, d, d) and shifts (k, d) of fields (k, d * (d or d + 1)), white."""
        d = len(self.origin)
        blocks = fields.reshape(len(fields), d, d + self.affine)
        if self.affine:
            return blocks[:, :, :d], blocks[:, :, d]
        return blocks, np.zeros((len(fields), d))

    def restored(self, fields: Array) -> tuple[Array, Array]:
        """Return matrices and shifts of fields in the coordinates of the points."""
        white_matrices, white_shifts = self.as_matrices(fields)
        matrices = self.from_white @ white_matrices @ self.to_white
        matrices = self.units[:, None] * matrices / self.units
        shifts = white_shifts @ self.from_white * self.units - matrices @ self.origin
        return matrices, shifts

    def restored_gradients(self, gradients: Array) -> Array:
        """Return gradients (n, d) with respect to the coordinates of the points."""
        return np.asarray(gradients @ self.to_white.T / self.units)


def _principal_moments(points: Array) -> tuple[Array, Array] | None:
    """Return eigenvalues and eigenvectors of the second moments; None if a direction vanishes."""
    with np.errstate(over="ignore"):
        moments = points.T @ points / len(points)
    if not np.isfinite(moments).all():
        return None
    eigenvalues, vectors = linalg.eigh(moments)
    if not eigenvalues[0] > 1e-10 * eigenvalues[-1]:
        return None
    return eigenvalues, vectors


@dataclass(frozen=True)
class _Fitted:
    """A kernel ridge regression at given points, which fits functions that are drawn.

    The Gaussian process has the kernel as its covariance, and the noise has the ridge as variance.
    """

    coordinates: _Coordinates
    gamma: float
    ridge: float
    gram: Array
    factor: Array

    def smallest_eigenvalues(self, n_draws: int, rng: Any) -> Array:
        """Return the smallest eigenvalue of each draw, relative to the mean, shape (n_draws,)."""
        smallest = []
        for size in _batches(n_draws):
            normals = rng.standard_normal((len(self.gram), size))
            draws = linalg.solve_triangular(self.factor, normals, lower=True, trans="T")
            for gradients in self._gradients(draws):
                form = _quadratic_form(gradients, self.coordinates.lifted)
                eigenvalues = linalg.eigvalsh(form)
                smallest.append(eigenvalues[0] / eigenvalues.mean())
        return np.array(smallest)

    def squared_errors(self, fields: Array, n_draws: int, rng: Any) -> Array:
        """Return mean squared errors of slopes along fields (columns), shape (k, n_draws).

        The functions are sums of waves whose covariance is the kernel (random Fourier features).
        """
        white = self.coordinates.white
        n, d = white.shape
        waves = np.sqrt(2 * self.gamma) * rng.standard_normal((d, _N_WAVES))
        phases = white @ waves + 2 * np.pi * rng.random_sample(_N_WAVES)
        cosines = np.cos(phases)
        sines = np.sin(phases)
        errors = []
        for size in _batches(n_draws):
            amplitudes = np.sqrt(2 / _N_WAVES) * rng.standard_normal((_N_WAVES, size))
            noise = np.sqrt(self.ridge) * rng.standard_normal((n, size))
            values = cosines @ amplitudes + noise
            estimates = self._gradients(linalg.cho_solve((self.factor, True), values))
            slopes = (waves.T[:, :, None] * amplitudes[:, None, :]).reshape(_N_WAVES, d * size)
            gradients = -(sines @ slopes).reshape(n, d, size).transpose(2, 0, 1)
            for difference in estimates - gradients:
                form = _quadratic_form(difference, self.coordinates.lifted)
                errors.append(np.einsum("ik,ij,jk->k", fields, form, fields))
        return np.array(errors).T

    def _gradients(self, coefficients: Array) -> Array:
        return gaussian_gradients(self.gram, self.gamma, self.coordinates.white, coefficients)


def _batches(n_draws: int) -> list[int]:
    """Return the sizes of the batches in which functions are drawn."""
    starts = range(0, n_draws, _DRAWS_AT_ONCE)
    return [min(_DRAWS_AT_ONCE, n_draws - start) for start in starts]


def _largest_step(changes: Array, most: int) -> int:
    """Return the number, from 1 to ``most``, after which ascending values grow by most."""
    ends = changes[: most + 1].clip(1e-300)
    if len(ends) < 2:
        return most
    return 1 + int(np.argmax(ends[1:] / ends[:-1]))


def _likeliest(points: Array, values: Array) -> tuple[float, float]:
    """Return the rate of the Gaussian kernel and the ridge with the largest likelihood.

    The scale of the values is that of the largest likelihood, too.
    """
    squares = -np.log(Gaussian(1.0)(points).clip(1e-300))
    off_diagonal = squares[np.triu_indices(len(points), 1)]
    median = float(np.median(off_diagonal))
    best = (np.inf, 0.0, 0.0)
    for multiple in _RATES:
        gamma = float(multiple / median)
        eigenvalues, vectors = linalg.eigh(Gaussian(gamma)(points))
        inside = np.square(vectors.T @ values)
        for ridge in _RIDGES:
            variances = eigenvalues.clip(0) + ridge
            misfit = np.log(np.mean(inside / variances)) + np.mean(np.log(variances))
            best = min(best, (float(misfit), gamma, float(ridge)))
    return best[1], best[2]


def gaussian_gradients(gram: Array, gamma: float, X: Array, coefficients: Array) -> Array:
    r"""Return the gradients of f(x) = sum_i a_i exp(-gamma |x - x_i|^2) at the points x_i.

    .. math:: \nabla f(x_j) = -2 \gamma \sum_i a_i K_{ji} (x_j - x_i) .

    Parameters
    ----------
    gram : ndarray of shape (n, n)
    gamma : float
    X : ndarray of shape (n, d)
    coefficients : ndarray of shape (n, r)
        The coefficients a of r functions.

    Returns
    -------
    ndarray of shape (r, n, d)

    Examples
    --------
    >>> x = np.array([[0.0], [1.0]])
    >>> gaussian_gradients(Gaussian(1.0)(x), 1.0, x, np.array([[1.0], [0.0]]))[0].round(4) + 0.0
    array([[ 0.    ],
           [-0.7358]])
    """
    n, d = X.shape
    n_functions = coefficients.shape[1]
    weighted = (coefficients[:, :, None] * X[:, None, :]).reshape(n, n_functions * d)
    values = gram @ coefficients
    centres = (gram @ weighted).reshape(n, n_functions, d)
    gradients = -2 * gamma * (values[:, :, None] * X[:, None, :] - centres)
    return np.asarray(gradients.swapaxes(0, 1))


def _quadratic_form(gradients: Array, lifted: Array) -> Array:
    """Return the matrix of q(A, b) for the entries of (A, b), row by row."""
    products = gradients[:, :, None] * lifted[:, None, :]
    rows = products.reshape(len(lifted), -1)
    return np.asarray(rows.T @ rows / len(lifted))


def _homogeneous(matrices: Array, shifts: Array) -> Array:
    """Return fields as matrices (k, d + 1, d + 1) that act on (x, 1)."""
    n_fields, d = shifts.shape
    fields = np.zeros((n_fields, d + 1, d + 1))
    fields[:, :d, :d] = matrices
    fields[:, :d, d] = shifts
    return fields


def _closure(fields: Array, coordinates: _Coordinates) -> float | None:
    """Return the largest part of a commutator outside the span of orthonormal fields."""
    if len(fields) < 2:
        return None
    matrices = _homogeneous(*coordinates.as_matrices(fields))
    basis = matrices.reshape(len(matrices), -1)
    outside = []
    for first, second in combinations(matrices, 2):
        commutator = (first @ second - second @ first).ravel()
        size = float(np.linalg.norm(commutator))
        if size > 1e-6:
            rest = commutator - basis.T @ (basis @ commutator)
            outside.append(float(np.linalg.norm(rest)) / size)
    return max(outside, default=None)
