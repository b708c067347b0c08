"""`OverlapFit`: the best fit of shifted points on their overlap."""

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
from ..orbits.blocks import in_tiles
from ..orbits.cost import warn_long

Array = NDArray[Any]


def _is_increasing(form: Form) -> bool:
    """Whether a kernel is an increasing function of inner products or negative distances."""
    return form.linear and form.monotone and form.turning_point is None


def _has_opposites(shifts: Array) -> bool:
    """Whether the opposite of each shift is one of the shifts.

    A group of cyclic shifts may have them only up to whole turns, which change the overlap.
    """
    pairs = set(map(tuple, shifts.tolist()))
    return all((-down, -right) in pairs for down, right in pairs)


@stores_parameters
class OverlapFit(OrbitKernel):
    r"""Similarity of the overlap at the best shift, for signals and images cut from larger ones.

    A shift T moves z within its frame; values that leave the frame are lost, and values that enter
    it are unknown. With :math:`O_T` the positions at which both x and T z are known,

    .. math:: K(x, z) = \max_T \phi \left(x|_{O_T}, \, (T z)|_{O_T} \right)

    for a base kernel phi of inner products or distances. (`BestFit` over zero-filled shifts takes
    the zeros for measurements.) K is symmetric if the opposite of each shift is among the shifts.
    It need not be positive definite: see `GramTransformer`.

    Parameters
    ----------
    base : Kernel
        A kernel that grows with the inner product or falls with the distance, also scikit-learn's.
    group : Transformations
        Shifts of a grid, such as ``Translations(128, max_shift=32)``, with any boundary.
    scale : {"size", "standard"}
        Makes overlaps of different sizes comparable. "size" divides sums by the share of the frame
        that overlaps. "standard" subtracts each channel's mean on the overlap from both parts and
        scales them to norm one (the normalised cross-correlation).
    n_transforms, block_bytes, n_jobs, verbose, random_state : as in `BestFit`

    Raises a ParameterError if the group is not a set of shifts, or the base is another function.

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
        """Return the base's form, the points' shape, and the shifts (down, right)."""
        self._check_features(d)
        elements = self.elements()
        if elements is None:
            elements = self.group.elements()
        grid = self.group.as_shifts(elements)
        if grid is None or prod(grid.shape) != d:
            raise ParameterError(f"OverlapFit needs shifts of a grid, got {self.group!r}")
        form = form_of(self.base, grid.shape)
        if form is None or not _is_increasing(form):
            raise ParameterError(
                f"OverlapFit needs a base that grows with <x, z> or -|x - z|, got {self.base!r}"
            )
        has_overlap = (np.abs(grid.pairs) < grid.shape[:2]).all(axis=1)
        return form, grid.shape, grid.pairs[has_overlap]

    def _gram(self, X: Array, Y: Array | None) -> Array:
        Z = X if Y is None else Y
        seconds = self.explain(X, Z).seconds
        warn_long(seconds, f"OverlapFit: {len(X)} x {len(Z)} pairs", "a smaller max_shift")
        form, shape, shifts = self._shifts(X.shape[1])

        def best_fit(rows: slice, columns: slice) -> Array:
            x_images = self._images(X[rows], shape)
            z_images = self._images(Z[columns], shape)
            best = np.full((len(x_images), len(z_images)), -np.inf)
            for shift in shifts:
                x_parts = self._overlap(x_images, shift)
                z_parts = self._overlap(z_images, -shift)
                if self.scale == "size":
                    frame_per_overlap = prod(shape) / x_parts.shape[1]
                    values = products(form, x_parts, z_parts) * frame_per_overlap
                else:
                    values = x_parts @ z_parts.T - form.distance
                np.maximum(best, values, out=best)
            return np.asarray(form.value(best))

        side = self._side(X.shape[1])
        return in_tiles(
            best_fit,
            (len(X), len(Z)),
            (side, side),
            np.result_type(X, Z),
            symmetric=Z is X and _has_opposites(shifts),
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )

    def _images(self, points: Array, shape: tuple[int, int, int]) -> Array:
        """Return points as images (n, height, width, channels) in float64."""
        images = points.astype(float).reshape(-1, *shape)
        if self.scale == "standard":
            # Powers of two, which round nothing, keep squares from overflowing and vanishing.
            _, exponents = np.frexp(np.abs(images).max(axis=(1, 2, 3), keepdims=True))
            images = np.ldexp(images, -exponents)
            # Means are subtracted twice, so that little is rounded away.
            images = images - images.mean(axis=(1, 2), keepdims=True)
        return images

    def _overlap(self, images: Array, shift: Array) -> Array:
        """Return the parts of images that overlap with others after their shift, as rows."""
        _, height, width, _ = images.shape
        down, right = shift.tolist()
        rows = slice(max(down, 0), height + min(down, 0))
        columns = slice(max(right, 0), width + min(right, 0))
        parts = images[:, rows, columns]
        if self.scale == "size":
            return parts.reshape(len(parts), -1)
        parts = parts - parts.mean(axis=(1, 2), keepdims=True)
        part_norms = np.square(parts).sum(axis=(1, 2, 3))
        image_norms = np.square(images).sum(axis=(1, 2, 3))
        # A part that is constant up to rounding resembles nothing.
        is_flat = part_norms <= 1e-12 * image_norms
        scale = np.where(is_flat, 0, 1 / np.sqrt(np.where(is_flat, 1, part_norms)))
        return parts.reshape(len(parts), -1) * scale[:, None]

    def _side(self, d: int) -> int:
        """Return the side of a tile: its images with their parts, and its values, fit in memory."""
        budget = block_bytes_of(self.block_bytes) / 4
        return max(1, int(min((budget / 24) ** 0.5, budget / (64 * d))))

    def work_over_orbits(self, X: Array, Y: Array) -> float:
        return self.explain(X, Y).operations

    def explain(self, X: Any, Y: Any = None) -> Explanation:
        X = as_points(X, type(self).__name__)
        _, shape, shifts = self._shifts(X.shape[1])
        n_pairs = len(X) * (len(X) if Y is None else len(Y))
        height, width, n_channels = shape
        overlap_pixels = np.prod(np.array([height, width]) - np.abs(shifts), axis=1).sum()
        operations = float(n_pairs) * (2 * n_channels * overlap_pixels + 20 * len(shifts))
        side = min(len(X), self._side(X.shape[1]))
        n_bytes = 24 * side**2 + n_pairs * X.itemsize
        return Explanation.of("product of overlaps", operations, n_bytes)
