"""`BestFit`: the largest value of a kernel over the transformations of one argument."""

from __future__ import annotations

import warnings
from math import prod

import numpy as np
from numpy.typing import NDArray

from ..array_api import like, on_host
from ..groups import Transformations
from .arrays import orbit_extremes, product_extremes
from .base import Kernel, row_blocks
from .lift import Lift, lift_of
from .orbit import check_parts, drawn
from .plans import Correlations, Plan, plan_for

__all__ = ["BestFit"]

#: Bytes of the values that are computed from inner products at a time.
_OUTER_BYTES = 2**20


class BestFit(Kernel):
    r"""Similarity under the best transformation, :math:`K(x, z) = \max_T k_0(x, T z)`.

    Liu et al. 2022, eq. (1). The transformed argument is the second one, that is the training
    points in ``SVC(kernel=BestFit(...))``; ``side="first"`` transforms the first. Over a group of
    unitary maps and a base kernel that depends on inner products the two are the same (lemma 1),
    and the kernel is symmetric and invariant; for interpolated rotations they differ slightly. It
    need not be positive definite: see `gram_report`.

    Nothing is evaluated transformation by transformation where structure allows better. A
    polynomial or Gaussian base needs the largest inner product alone; a quadratic `Locality` is an
    inner product too; translations among the transformations then go by `ShiftCorrelation`, all at
    once, and what comes after the translations moves to the other side as its transpose.

    Parameters
    ----------
    base : Kernel
    group : Transformations
        Any finite set, or any set at all with ``n_transforms``.
    side : {"second", "first"}
        Which argument is transformed.
    n_transforms : int or None
        Draw so many elements from the group's measure instead of taking all.
    symmetric : bool or None
        Whether Gram matrices ``k(X)`` are computed once for both triangles. None does so where
        symmetry is known: unitary transformations, closed under inverse, and a unitarily
        invariant base kernel. True demands it.
    method : {"auto", "definition"}
        "definition" evaluates the base kernel for every transformation.
    precision : {"input", "single"}
        Precision of the inner products; "single" halves time and memory at a relative error of
        about 1e-6. scikit-learn's SVC hands over double precision whatever it was given.
    block_bytes : int
        Bound on the arrays that are kept for a block of points.
    n_jobs : int or None
        Threads over blocks of rows.
    random_state : int
        Seed for ``n_transforms``. An integer, since the elements are drawn anew at every call:
        fitting and predicting must draw the same ones.

    Raises
    ------
    TypeError
        For a base that is no kernel, or a group that is none.
    ValueError
        For an empty or infinite set, ``n_transforms`` without an integer ``random_state``, points
        or a base kernel of another shape, or ``symmetric=True`` where the kernel is not symmetric.

    Warns
    -----
    UserWarning
        When an even power of values below zero exceeds that of the largest value: maximum and
        power do not commute there, and the smallest value is followed as well.

    Examples
    --------
    >>> from invariance.groups import Translations
    >>> from invariance.kernels import Linear
    >>> kernel = BestFit(Linear(), Translations((1, 4), shifts=[[0, 0], [0, 1]]))
    >>> kernel([[0.0, 0.0, 3.0, 0.0]], [[1.0, 2.0, 1.0, 0.0]])     # 3 x 2 beats 3 x 1
    array([[6.]])
    """

    def __init__(
        self,
        base: Kernel,
        group: Transformations,
        side: str = "second",
        n_transforms: int | None = None,
        symmetric: bool | None = None,
        method: str = "auto",
        precision: str = "input",
        block_bytes: int = 2**30,
        n_jobs: int | None = None,
        random_state=0,
    ):
        self.base = base
        self.group = group
        self.side = side
        self.n_transforms = n_transforms
        self.symmetric = symmetric
        self.method = method
        self.precision = precision
        self.block_bytes = block_bytes
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _gram(self, X, Y):
        self._check(X.shape[1])
        same = Y is None or Y is X
        symmetric = self._is_symmetric() and same
        Y = X if same else Y
        if self.side == "first":
            return np.ascontiguousarray(self._second_side(Y, X, symmetric).T)
        return self._second_side(X, Y, symmetric)

    def _check(self, n_features: int) -> None:
        check_parts(self)
        for name, options in (
            ("side", ("second", "first")),
            ("method", ("auto", "definition")),
            ("precision", ("input", "single")),
        ):
            if getattr(self, name) not in options:
                raise ValueError(
                    f"{name} must be {options[0]!r} or {options[1]!r}, got {getattr(self, name)!r}"
                )
        if self.n_transforms is None and self.group.order == 0:
            raise ValueError(f"{self.group!r} is empty: there is nothing to maximise over")
        for part in (self.group, self.base):
            expected = getattr(part, "n_features", None)
            if expected is not None and expected != n_features:
                raise ValueError(
                    f"points have {n_features} features, but {part!r} takes {expected} "
                    f"(shape {part.shape})"
                )

    def _is_symmetric(self) -> bool:
        base_invariant = getattr(self.base, "unitary_invariant", False)
        known = (
            self.n_transforms is None
            and self.group.unitary
            and self.group.symmetric
            and base_invariant
        )
        if self.symmetric and not known:
            reason = (
                f"{self.base!r} changes when both arguments are transformed alike"
                if not base_invariant
                else f"{self.group!r} is not a set of unitary maps that holds its inverses"
            )
            raise ValueError(
                f"symmetric=True, but {reason}; pass symmetric=None, and symmetrise the Gram "
                "matrix if an algorithm needs that"
            )
        return known and self.symmetric is not False

    def _plan(self, lift: Lift, shape, dtype, X: NDArray) -> Plan:
        elements = None if self.n_transforms is None else drawn(self)
        return plan_for(X, lift, shape, dtype, self.group, elements, self.block_bytes, self.n_jobs)

    def _elements(self) -> NDArray:
        if self.n_transforms is not None:
            return drawn(self)
        return self.group.elements()

    def _second_side(self, X: NDArray, Y: NDArray, symmetric: bool) -> NDArray:
        result = np.result_type(X, Y)
        if self.method == "definition":
            return self._by_definition(X, Y)
        shape = self._image_shape(X.shape[1])
        lift = lift_of(self.base, shape[2])
        if lift is None:
            return self._by_definition(X, Y)
        dtype = np.float32 if self.precision == "single" else result
        plan = self._plan(lift, shape, dtype, X)
        low, high = plan.extremes(
            X.astype(dtype, copy=False), Y.astype(dtype, copy=False), symmetric
        )
        values = self._outer(lift, low, high, X, result)
        if symmetric:
            i, j = np.tril_indices(len(X), -1)
            values[i, j] = values[j, i]
        return values

    def _image_shape(self, n_features: int) -> tuple[int, int, int]:
        """(height, width, channels) of the points; plain vectors are images of height one."""
        if hasattr(self.base, "images"):
            _, *sizes = self.base.images(np.empty((0, n_features))).shape
            own = tuple(sizes[:-1]) + ((sizes[-1],) if sizes[-1] > 1 else ())
            given = self.group.shape
            flat = (1, *given) if given is not None and len(given) == 1 else given
            if given is not None and flat not in (own, tuple(sizes), (1, n_features)):
                raise ValueError(
                    f"{self.base!r} sees points of shape {own}, {self.group!r} of shape {given}: "
                    "they must agree"
                )
            return tuple(sizes)
        shape = self.group.shape
        if shape is None or len(shape) == 1:
            return (1, n_features, 1)
        return shape if len(shape) == 3 else (*shape, 1)

    def _outer(self, lift: Lift, low, high, X, dtype) -> NDArray:
        """The kernel's values from the extreme inner products."""
        values = np.empty(high.shape, dtype)
        n_reversed = 0
        # A few rows at a time, in a processor's cache: the arithmetic is less than the traffic.
        for rows in row_blocks(len(X), 4 * high.itemsize * high.shape[1], _OUTER_BYTES):
            points = X[rows].astype(float, copy=False)
            largest = lift.outer(high[rows].astype(float), points)
            if low is not None:
                others = lift.outer(low[rows].astype(float), points)
                n_reversed += int((others > largest).sum())
                np.maximum(largest, others, out=largest)
            values[rows] = largest
        self._warn_reversed(n_reversed, core=high)
        return values

    def _warn_reversed(self, reversed_pairs: int, core) -> None:
        if reversed_pairs:
            warnings.warn(
                f"{type(self.base).__name__} of even degree takes larger values at the "
                f"smallest than at the largest inner product for {reversed_pairs} of "
                f"{prod(core.shape)} pairs: maximum and power do not commute there, so both "
                "extremes were followed; smaller points or scale avoid this",
                stacklevel=6,
            )

    def _check_takes(self, X, Y):
        self.base._check_takes(X, Y)

    def _gram_arrays(self, xp, X, Y):
        self._check(X.shape[1])
        self._is_symmetric()  # refuses symmetric=True where it does not hold
        if self.side == "first":
            return self._second_side_arrays(xp, Y, X).T
        return self._second_side_arrays(xp, X, Y)

    def _second_side_arrays(self, xp, X, Y):
        """`_second_side` in another library; both triangles of a Gram matrix are computed."""
        shape = self._image_shape(X.shape[1])
        lift = lift_of(self.base, shape[2])
        if self.method == "definition" or lift is None:
            return self._by_definition_arrays(xp, X, Y)
        inner = xp.astype(X, xp.float32) if self.precision == "single" else X
        first, second = on_host(inner, "BestFit"), on_host(Y, "BestFit")
        second = second.astype(first.dtype, copy=False)
        plan = self._plan(lift, shape, first.dtype, first)
        if isinstance(plan, Correlations):
            low, high = plan.extremes_arrays(xp, inner, first, second)
        else:
            low, high = orbit_extremes(xp, inner, first, second, plan, self.group, self._elements())
        points = xp.astype(X, xp.float64)

        def outer(core):
            core = xp.astype(core, xp.float64)
            if not lift.halved_norm:
                return lift.outer(core, points)
            squared = xp.sum(points * points, axis=1)[:, None] - 2 * core
            return xp.exp(-self.base.gamma * xp.where(squared > 0, squared, 0 * squared))

        values = outer(high)
        if not lift.monotone:
            others = outer(low)
            self._warn_reversed(int(xp.sum(xp.astype(others > values, xp.int64))), core=high)
            values = xp.maximum(values, others)
        return xp.astype(values, X.dtype)

    def _by_definition_arrays(self, xp, X, Y):
        elements, second = self._elements(), on_host(Y, "BestFit")
        per_element = second.itemsize * (Y.shape[1] + 3 * X.shape[0])
        parts = []
        for columns in row_blocks(len(second), per_element, self.block_bytes):
            width = columns.stop - columns.start
            largest = None
            for some in row_blocks(len(elements), per_element * width, self.block_bytes):
                orbit = self.group.act(elements[some], second[columns])
                values = self.base._gram_arrays(xp, X, like(orbit.reshape(-1, Y.shape[1]), X))
                _, values = product_extremes(values, len(orbit), xp)
                largest = values if largest is None else xp.maximum(largest, values)
            parts.append(largest)
        return xp.concat(parts, axis=1)

    def _by_definition(self, X: NDArray, Y: NDArray) -> NDArray:
        """The base kernel for every transformation, a block of them at a time."""
        elements = self._elements()
        values = np.full((len(X), len(Y)), -np.inf, np.result_type(X, Y))
        per_element = values.itemsize * (Y.shape[1] + 3 * len(X))
        for columns in row_blocks(len(Y), per_element, self.block_bytes):
            width = columns.stop - columns.start
            for some in row_blocks(len(elements), per_element * width, self.block_bytes):
                orbit = self.group.act(elements[some], Y[columns])
                part = self.base(X, orbit.reshape(-1, Y.shape[1]))
                part = part.reshape(len(X), len(orbit), width).max(axis=1)
                np.maximum(values[:, columns], part, out=values[:, columns])
        return values
