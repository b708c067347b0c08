"""`OverlapFit`: the best fit of shifted points on what both of them show."""

from __future__ import annotations

from dataclasses import KW_ONLY
from math import prod
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ..core.config import block_bytes_of
from ..core.parameters import OneOf, ParameterError, stores_parameters
from ..kernels.base import as_points, products
from ..kernels.orbit import OrbitKernel
from ..orbits import Explanation, Form, form_of
from ..orbits.way import in_tiles, warn_long

Array = NDArray[Any]


@stores_parameters
class OverlapFit(OrbitKernel):
    r"""Similarity at the best shift, of the overlap alone: signals and images that are cut out.

    A shift T moves z within its frame; what leaves is lost, and nothing is known of what comes in.
    With :math:`O_T` the places where both x and T z are known,

    .. math:: K(x, z) = \max_T \phi \left(x|_{O_T}, \, (T z)|_{O_T} \right)

    for a base kernel phi of inner products or distances. (`BestFit` over zero-filled shifts takes
    the zeros for measurements.) K is symmetric and need not be positive definite: see
    `GramTransformer`.

    Parameters
    ----------
    base : Kernel
        One that grows with the inner product or falls with the distance, also scikit-learn's.
    group : Transformations
        Shifts of a grid, such as ``Translations(128, max_shift=32)``, of whatever boundary.
    scale : {"size", "standard"}
        What makes overlaps of different sizes comparable: sums are divided by the share of the
        frame that overlaps ("size"); or each channel's mean on the overlap is subtracted from both
        parts, which are scaled to norm one ("standard", the normalised cross-correlation).
    n_transforms, block_bytes, n_jobs, verbose, random_state : as in `BestFit`

    Raises a ParameterError for a group that is no set of shifts, a base that is no such function.

    Examples
    --------
    >>> from invariance.groups import Translations
    >>> from invariance.kernels import Gaussian
    >>> kernel = OverlapFit(Gaussian(0.5), Translations(5, max_shift=2, boundary="zero"))
    >>> long = np.array([3.0, 4.0, 1.0, 5.0, 2.0, 6.0])
    >>> kernel(long[None, :5], long[None, 1:])              # one step apart
    array([[1.]])
    """

    _: KW_ONLY
    scale: Annotated[str, OneOf("size", "standard")] = "size"

    def _shifts(self, d: int) -> tuple[Form, tuple[int, int, int], Array]:
        """The base as a function of v (see `Form`), the points' shape, and (down, right) shifts."""
        self._check(d)
        elements = self.elements()
        grid = self.group.as_shifts(self.group.elements() if elements is None else elements)
        if grid is None or prod(grid.shape) != d:
            raise ParameterError(f"OverlapFit needs shifts of a grid, got {self.group!r}")
        form = form_of(self.base, grid.shape)
        turns = form is not None and (form.turning_point is not None or not form.monotone)
        if form is None or not form.linear or turns:
            raise ParameterError(
                f"OverlapFit needs a base that grows with <x, z> or -|x - z|, got {self.base!r}"
            )
        return form, grid.shape, grid.pairs[(np.abs(grid.pairs) < grid.shape[:2]).all(axis=1)]

    def _gram(self, X: Array, Y: Array | None) -> Array:
        other = X if Y is None else Y
        told = self.explain(X, other)
        warn_long(told.seconds, f"OverlapFit: {len(X)} x {len(other)} pairs", "a smaller max_shift")
        form, shape, shifts = self._shifts(X.shape[1])

        def best(rows: slice, columns: slice) -> Array:
            A, B = (P.astype(float).reshape(-1, *shape) for P in (X[rows], other[columns]))
            if self.scale == "standard":  # so that little is lost to rounding
                A, B = (P - P.mean(axis=(1, 2), keepdims=True) for P in (A, B))
            found = np.full((len(A), len(B)), -np.inf)
            for shift in shifts:
                one, two = self._overlap(A, shift), self._overlap(B, -shift)
                if self.scale == "size":
                    v = products(form, one, two) * (prod(shape) / one.shape[1])
                else:
                    v = one @ two.T - form.distance
                np.maximum(found, v, out=found)
            return np.asarray(form.value(found))

        symmetric = other is X and self.n_transforms is None and self.group.symmetric
        sides, kind = (self._side(X.shape[1]),) * 2, np.result_type(X, other)
        how: dict[str, Any] = {"n_jobs": self.n_jobs, "verbose": self.verbose}
        return in_tiles(best, (len(X), len(other)), sides, kind, symmetric=symmetric, **how)

    def _overlap(self, images: Array, shift: Array) -> Any:
        """What images (n, height, width, channels) show where they meet others so shifted: rows."""
        down, right = (
            slice(max(by, 0), side + min(by, 0))
            for by, side in zip(shift.tolist(), images.shape[1:3], strict=True)
        )
        part = images[:, down, right]
        if self.scale == "size":
            return part.reshape(len(part), -1)
        part = part - part.mean(axis=(1, 2), keepdims=True)
        size, most = (np.square(A).sum(axis=(1, 2, 3)) for A in (part, images))
        flat = size <= 1e-12 * most  # what is constant on an overlap resembles nothing there
        scale = np.where(flat, 0, 1 / np.sqrt(np.where(flat, 1, size)))
        return part.reshape(len(part), -1) * scale[:, None]

    def _side(self, d: int) -> int:
        """Points of a side of a tile: images with their parts, and values."""
        budget = block_bytes_of(self.block_bytes) / 4
        return max(1, int(min((budget / 24) ** 0.5, budget / (64 * d))))

    def explain(self, X: Any, Y: Any = None) -> Explanation:
        X = as_points(X, type(self).__name__)
        _, shape, shifts = self._shifts(X.shape[1])
        n, m = len(X), len(X if Y is None else Y)
        overlaps = shape[2] * np.prod(np.array(shape[:2]) - np.abs(shifts), axis=1).sum()
        operations = float(n * m) * (2 * overlaps + 20 * len(shifts))
        side = min(n, self._side(X.shape[1]))
        n_bytes = 24 * side**2 + n * m * X.itemsize
        return Explanation.of("product of overlaps", operations, n_bytes)
