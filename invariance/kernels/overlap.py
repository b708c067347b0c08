"""`OverlapFit`: the best fit of shifted points on what both of them show."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from tqdm import tqdm

from ..core.config import block_bytes_of
from ..core.parameters import OneOf, ParameterError
from ..groups import Transformations
from ..orbits import Explanation, form_of, row_blocks
from ..orbits.way import mirror, rate, warn_long
from .base import Kernel, as_points
from .orbit import OrbitKernel

Array = NDArray[Any]


class OverlapFit(OrbitKernel):
    r"""Similarity at the best shift, of the overlap alone: signals and images that are cut out.

    A shift T moves z within its frame; what leaves is lost, and nothing is known of what comes in.
    With :math:`O_T` the places where both x and T z are known,

    .. math:: K(x, z) = \max_T \phi \left(x|_{O_T}, \, (T z)|_{O_T} \right)

    for a base kernel phi of inner products or distances. `BestFit` over zero-filled shifts takes
    the zeros for measurements instead: a signal with a level other than zero then gets a step, and
    a shift that loses energy looks closer. K is symmetric and, like every best fit, need not be
    positive definite (`GramTransformer`).

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
    block_bytes, verbose : as in `BestFit`

    Raises
    ------
    ParameterError
        For a group that is no set of shifts, or a base that is no such function.

    Examples
    --------
    >>> from invariance.groups import Translations
    >>> from invariance.kernels import Gaussian
    >>> kernel = OverlapFit(Gaussian(0.5), Translations(5, max_shift=2, boundary="zero"))
    >>> long = np.array([3.0, 4.0, 1.0, 5.0, 2.0, 6.0])
    >>> kernel(long[None, :5], long[None, 1:])              # one step apart
    array([[1.]])
    """

    _parameters = OrbitKernel._parameters | {"scale": OneOf("size", "standard")}
    n_transforms = n_jobs = None

    def __init__(
        self,
        base: Kernel,
        group: Transformations,
        *,
        scale: str = "size",
        block_bytes: int | None = None,
        verbose: int = 0,
    ):
        self.base, self.group, self.scale = base, group, scale
        self.block_bytes, self.verbose = block_bytes, verbose

    def _shifts(self, d: int) -> _Overlaps:
        self._check(d)
        grid = self.group.as_shifts(self.group.elements())
        if grid is None or np.prod(grid.shape) != d:
            raise ParameterError(
                f"OverlapFit needs shifts of a grid, got {self.group!r}; BestFit takes any group"
            )
        form = form_of(self.base, grid.shape)
        turns = form is not None and (form.turning_point is not None or not form.monotone)
        if form is None or not form.linear or turns:
            raise ParameterError(
                f"OverlapFit needs a base that grows with <x, z> or falls with |x - z|, not "
                f"{self.base!r}"
            )
        return _Overlaps(grid.shape, grid.pairs, self.scale, form)

    def _gram(self, X: Array, Y: Array | None) -> Array:
        overlaps, other = self._shifts(X.shape[1]), X if Y is None else Y
        gram = np.empty((len(X), len(other)), np.result_type(X, other))
        seconds = gram.size * overlaps.operations / rate("float64")
        what = f"OverlapFit: {len(X)} x {len(other)} pairs"
        warn_long(seconds, what, "a smaller max_shift, or BestFit")
        second = overlaps.prepared(other)
        bytes_per_row = overlaps.bytes_per_pair * len(other)
        blocks = list(row_blocks(len(X), bytes_per_row, block_bytes_of(self.block_bytes) / 2))
        for rows in tqdm(blocks, desc="overlaps", disable=not self.verbose):
            gram[rows] = overlaps.best(overlaps.prepared(X[rows]), second)
        if other is X and self.group.symmetric:
            mirror(gram)
        return gram

    def explain(self, X: Any, Y: Any = None) -> Explanation:
        X = as_points(X, type(self).__name__)
        n, overlaps = len(X) * len(X if Y is None else Y), self._shifts(X.shape[1])
        n_bytes = min(n * overlaps.bytes_per_pair, block_bytes_of(self.block_bytes) / 2)
        return Explanation.of("correlation of overlaps", n * overlaps.operations, n_bytes)


class _Overlaps:
    """Inner products of all pairs on the overlaps of all shifts, in the frequency domain."""

    def __init__(self, shape: tuple[int, int, int], pairs: Array, scale: str, form: Any):
        self.shape, self.pairs, self.scale, self.form = shape, pairs, scale, form
        reach = np.abs(pairs).max(axis=0)
        self.grid = tuple(
            fft.next_fast_len(int(side + most), real=True)
            for side, most in zip(shape[:2], reach, strict=True)
        )
        frame = self._spectra(np.ones((1, *shape)))
        #: Numbers of places that overlap, one for each shift.
        self.sizes = np.rint(self._at_shifts(frame, frame)[0, 0])
        self.frame = frame
        self.bytes_per_pair = 8 * (3 * self.grid[0] * self.grid[1] + 4 * len(pairs)) * shape[2]
        #: Of a pair, measured.
        self.operations = 40.0 * self.bytes_per_pair

    def _spectra(self, images: Array) -> Array:
        return np.asarray(fft.rfft2(images, self.grid, axes=(1, 2)))

    def _at_shifts(self, first: Array, second: Array) -> Array:
        """sum_p a(p) b(p - T) over places and channels, shape (n, m, shifts)."""
        products = np.einsum("nfgc,mfgc->nmfg", first, second.conj())
        every = fft.irfft2(products, self.grid, axes=(2, 3), overwrite_x=True)
        down, right = self.pairs.T
        return np.asarray(every[:, :, down % self.grid[0], right % self.grid[1]])

    def prepared(self, X: Array) -> dict[str, Array]:
        """Of some points: spectra, and sums over the overlap as first and as second argument."""
        images = X.astype(float).reshape(len(X), *self.shape)
        if self.scale == "standard":
            images = images - images.mean(axis=(1, 2), keepdims=True)
        made = {"spectra": self._spectra(images)}
        squares = self._spectra(np.square(images).sum(axis=3, keepdims=True))
        frame = self.frame[..., :1]
        made["own"] = self._at_shifts(squares, frame)[:, 0]
        made["moved"] = self._at_shifts(frame, squares)[0]
        if self.scale == "standard":
            channels = np.moveaxis(made["spectra"], 3, 0)[..., None]
            made["own_sums"] = np.stack([self._at_shifts(c, frame)[:, 0] for c in channels])
            made["moved_sums"] = np.stack([self._at_shifts(frame, c)[0] for c in channels])
        return made

    def best(self, first: dict[str, Array], second: dict[str, Array]) -> Array:
        """Largest values, shape (n, m)."""
        products = self._at_shifts(first["spectra"], second["spectra"])
        own, moved = first["own"], second["moved"]
        if self.scale == "size":
            if self.form.distance:
                products -= np.maximum(own, 0)[:, None] / 2
                products -= np.maximum(moved, 0)[None] / 2
                np.minimum(products, 0, out=products)
            products /= self.sizes / np.prod(self.shape)
        else:
            size = self.sizes / self.shape[2]
            own = np.maximum(own - np.square(first["own_sums"]).sum(axis=0) / size, 0)
            moved = np.maximum(moved - np.square(second["moved_sums"]).sum(axis=0) / size, 0)
            products -= np.einsum("cns,cms->nms", first["own_sums"], second["moved_sums"] / size)
            # What is constant on an overlap resembles nothing there.
            scales = []
            for squares, whole in ((own, first["own"]), (moved, second["moved"])):
                flat = squares <= 1e-12 * whole.max(axis=1, keepdims=True)
                scales.append(np.where(flat, 0, 1 / np.sqrt(np.where(flat, 1, squares))))
            products *= scales[0][:, None]
            products *= scales[1][None]
            if self.form.distance:
                products -= 1
        found: Array = self.form.value(products.max(axis=2))
        return found
