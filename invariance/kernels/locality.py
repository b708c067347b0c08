"""`Locality`: polynomial kernels of local features at several spatial scales."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from functools import lru_cache
from itertools import product
from math import prod
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_blas_funcs

from ..core import parameters as kinds
from ..core.arrays import check_pixels, like, on_cpu, on_host, wants_gradient
from ..core.config import block_bytes_of
from ..core.parameters import ParameterError, check_parameters, stores_parameters
from ..orbits import Form, row_blocks
from ..orbits.way import in_tiles
from .base import Kernel, power

Array = NDArray[Any]

#: Windows in neighbouring columns whose values are computed together, and bytes of them all: they
#: stay in a core's own cache.
_TOGETHER, _TILE_BYTES = 8, 3 * 2**19

_SIDE = kinds.Kind(
    "an odd whole number >= 1", lambda side: kinds.Whole(1).accepts(side) and side % 2 == 1
)
_POWERS = kinds.Kind(
    "at least two positive integers, one for each local layer and one for the final sum",
    lambda powers: kinds.Each(kinds.Whole(1)).accepts(powers) and len(powers) > 1,
)
_PADDING = kinds.OneOf("same", "valid") | kinds.Whole(0)


class _Layer(NamedTuple):
    """Windows, vertical before horizontal, and the power that their sums are raised to."""

    settings: list[tuple[int, int, int]]  # side, padding and stride
    holds: list[Array]  # 0/1 matrices (windows, pixels)
    gamma: float
    degree: int


@stores_parameters
class Locality(Kernel):
    r"""The multi-layer locality kernel of images or sequences.

    With windows :math:`w` of ``window`` pixels a side (Liu et al. 2022, eq. 5),

    .. math:: K(x, z) = \Big( 1 + \beta \sum_w \big(1 + \alpha \langle x_w, z_w \rangle\big)^{d_1}
              \Big)^{d_2},

    and each further entry of ``powers`` sums windows of the layer below before its own power
    (eq. 6). It is positive definite at any depth (lemma 3).

    Parameters
    ----------
    shape : tuple, (height, width) of images, or (length,) of sequences; points are flattened
    window : int or sequence of int
        Odd side of the windows, the same on every local layer or one a layer.
    powers : sequence of int
        One for each local layer and one for the final sum over all positions: two for eq. (5),
        three for eq. (6).
    padding : {"same", "valid"} or int or sequence
        Zeros around each layer's input: (window - 1) / 2, none, or so many.
    stride : int or sequence of int, distance between neighbouring windows
    channels : int, channels of a pixel, the last axis of a point
    mixed : bool
        Whether a window's inner product runs over all channels. By default channels have their
        own windows and are summed at the first layer.
    gammas : sequence of float or None
        The factors alpha, ..., beta, one for each degree; ``(1, 1)`` is eq. (5) as printed. None
        is the paper's experiments: one over the pixels of a window, and at last one over
        channels times height.
    storage : {"layers", "last"}
        Keep the values of a whole layer (time linear in depth), or compute lower layers anew for
        every window that needs them (time exponential, memory one sum a layer and pair).
    block_bytes, n_jobs : as in `Average`; threads serve kernels of several local layers

    Examples
    --------
    >>> kernel = Locality((4, 4), window=3, powers=(2, 2))
    >>> x, z = np.ones((1, 16)), np.eye(4).reshape(1, 16)
    >>> kernel(x, z).round(3)
    array([[43.707]])
    """

    shape: Annotated[tuple[int, ...], kinds.Shape(1, 2)]
    window: Annotated[int | tuple[int, ...], _SIDE | kinds.Each(_SIDE)] = 7
    _: KW_ONLY
    powers: Annotated[tuple[int, ...], _POWERS] = (2, 4)
    padding: Annotated[str | int | tuple[str | int, ...], _PADDING | kinds.Each(_PADDING)] = "same"
    stride: Annotated[int | tuple[int, ...], kinds.Whole(1) | kinds.Each(kinds.Whole(1))] = 1
    channels: Annotated[int, kinds.Whole(1)] = 1
    mixed: Annotated[bool, kinds.Flag()] = False
    gammas: Annotated[tuple[float, ...] | None, kinds.Each(kinds.Positive()) | None] = None
    storage: Annotated[str, kinds.OneOf("layers", "last")] = "layers"
    block_bytes: kinds.BlockBytes = None
    n_jobs: kinds.Jobs = None

    # -- parameters ------------------------------------------------------------------------------

    def _steps(self) -> tuple[list[_Layer], float, int]:
        """The local layers, from the pixels up; factor and power of the final sum."""
        check_parameters(self)
        count, dimensions, each = len(self.powers) - 1, len(self.shape), {}
        for name in ("window", "padding", "stride", "gammas"):
            value, due = getattr(self, name), count + (name == "gammas")
            each[name] = value if isinstance(value, (tuple, list)) else [value] * due
            if len(each[name]) != due:
                raise ParameterError(f"Locality needs {due} of {name} by powers, got {value!r}")
        gammas = each.pop("gammas")
        if self.gammas is None:
            gammas = [1 / side**dimensions for side in each["window"]]
            gammas.append(1 / (self.channels * int(self.shape[0])))
        sizes, layers = self.point_shape[:2], []
        for i, (window, padding, stride) in enumerate(zip(*each.values(), strict=True)):
            zeros = {"same": window // 2, "valid": 0}.get(padding, padding)
            if zeros >= window:
                raise ParameterError(f"Locality: padding below the window {window}, got {padding}")
            along = (int(window), int(zeros), int(stride))
            settings = [along if dimensions == 2 else (1, 0, 1), along]
            holds = [_holds(size, *axis) for size, axis in zip(sizes, settings, strict=True)]
            layers.append(_Layer(settings, holds, float(gammas[i]), int(self.powers[i])))
            sizes = (len(holds[0]), len(holds[1]))
        return layers, float(gammas[-1]), int(self.powers[-1])

    @property
    def point_shape(self) -> tuple[int, int, int]:
        """(height, width, channels) of the points; a sequence is an image of height one."""
        check_parameters(self)
        height, width = (1, *self.shape)[-2:]
        return int(height), int(width), int(self.channels)

    @property
    def n_features(self) -> int:
        """Length of the points: pixels times channels."""
        return prod(self.point_shape)

    def _pixels(self, X: Any, xp: Any = np) -> Any:
        """Points (n, d) as (channels, height, width, n)."""
        check_pixels("Locality", (*self.shape, self.channels), X.shape[1])
        planes, order = xp.reshape(X, (X.shape[0], *self.point_shape)), (3, 1, 2, 0)
        return planes.transpose(order) if xp is np else xp.permute_dims(planes, order)

    def work(self) -> tuple[int, int]:
        """Window values computed for a pair of points, and how many are held at a time.

        >>> [Locality((27,), 3, powers=(2,) * n, storage="last").work() for n in (2, 3, 4)]
        [(27, 2), (106, 3), (339, 4)]
        """
        layers, _, _ = self._steps()
        sizes = [len(layer.holds[0]) * len(layer.holds[1]) for layer in layers]
        if self.storage == "layers":
            return sum(sizes), max(a + b for a, b in zip(sizes, [*sizes[1:], 1], strict=True))
        # How often every window of a layer is computed, from the top layer down.
        times = np.ones([len(matrix) for matrix in layers[-1].holds])
        total = times.sum()
        for layer in reversed(layers[1:]):
            times = layer.holds[0].T @ times @ layer.holds[1]
            total += times.sum()
        return int(total), len(layers) + 1

    # -- values ----------------------------------------------------------------------------------

    def _gram(self, X: Array, Y: Array | None) -> Array:
        dtype = np.result_type(X, X if Y is None else Y)
        first = self._pixels(X.astype(dtype, copy=False))
        second = first if Y is None else self._pixels(Y.astype(dtype, copy=False))
        steps, budget = self._steps(), block_bytes_of(self.block_bytes) / 4
        if self.storage == "layers" and len(steps[0]) > 1:
            pair_bytes, point_bytes = 4 * self.n_features * dtype.itemsize, 1
            n_jobs = self.n_jobs

            def tile(rows: slice, columns: slice) -> Any:
                pairs = first[..., rows, None] * second[..., None, columns]
                return _of_products(pairs, steps, self.mixed)

        else:
            if len(self.shape) == 1:  # as an image of width one: windows run down
                first, second = first.swapaxes(1, 2), second.swapaxes(1, 2)
                turned = [_Layer(a.settings[::-1], a.holds[::-1], *a[2:]) for a in steps[0]]
                steps = turned, *steps[1:]
            tile = _ByWindows(first, second, steps, self.mixed, budget)
            pair_bytes, point_bytes = (_TOGETHER + 2) * dtype.itemsize, 2 * tile.point_bytes
            n_jobs = 1  # SciPy's products hold the interpreter's lock, and threads would wait
        side = min((min(budget, _TILE_BYTES) / pair_bytes) ** 0.5, budget / point_bytes)
        sides, shape = (max(1, int(side)),) * 2, (first.shape[3], second.shape[3])
        return in_tiles(tile, shape, sides, dtype, symmetric=Y is None, n_jobs=n_jobs)

    def _gram_arrays(self, xp: Any, X: Any, Y: Any) -> Any:
        if on_cpu(X) and not (wants_gradient(X) or (Y is not None and wants_gradient(Y))):
            return like(self._gram(on_host(X), None if Y is None else on_host(Y)), X)
        Y = X if Y is None else Y
        side = int((block_bytes_of(self.block_bytes) / (8 * 4 * self.n_features)) ** 0.5)
        first, second = self._pixels(X, xp)[..., None], self._pixels(Y, xp)[..., None, :]
        columns, steps, rows = list(row_blocks(Y.shape[0], 1, side)), self._steps(), []
        for a in row_blocks(X.shape[0], 1, side):
            pairs = (first[..., a, :] * second[..., b] for b in columns)
            tiles = [_of_products(some, steps, self.mixed, xp) for some in pairs]
            rows.append(xp.concat(tiles, axis=1))
        return xp.concat(rows, axis=0)

    def _diag(self, X: Array) -> Array:
        blocks = row_blocks(len(X), 4 * X[:1].nbytes, block_bytes_of(self.block_bytes) / 2)
        squares = (np.square(self._pixels(X[some])) for some in blocks)
        steps = self._steps()
        return np.concatenate([_of_products(some, steps, self.mixed) for some in squares])

    # -- the quadratic first layer as one inner product --------------------------------------------

    def inner_form(self, shape: tuple[int, int, int]) -> Form | None:
        r"""The kernel of two layers with :math:`d_1 = 2` as a function of one inner product.

        The sum over windows is, up to a constant,

        .. math:: \sum_w \langle x_w, z_w \rangle^2 = \sum_\delta \sum_p
                  k(p, p + \delta)\, x_p x_{p + \delta} \; z_p z_{p + \delta},

        where k counts the windows that hold both pixels; padding, stride and the frame's edge
        enter through k alone, on the first argument. The linear term is weighted alike. None for
        other powers and depths, and for mixed channels.
        """
        (layer, *others), beta, degree = self._steps()
        if others or layer.degree != 2 or (self.mixed and self.channels > 1):
            return None
        n_windows = len(layer.holds[0]) * len(layer.holds[1]) * self.channels
        down, across = (side - 1 for side, _, _ in layer.settings)
        # The offsets delta and -delta contribute alike: one of each pair, counted twice.
        offsets = [o for o in product(range(down + 1), range(-across, across + 1)) if o >= (0, 0)]
        shared = [matrix.T @ matrix for matrix in layer.holds]
        weights = np.stack(
            [np.outer(_offset(shared[0], i), _offset(shared[1], j)) for i, j in offsets]
        )
        alive = np.asarray(weights.any(axis=(1, 2)))
        offsets = [o for o, keep in zip(offsets, alive, strict=True) if keep]
        weights = weights[alive] * layer.gamma**2
        weights[1:] *= 2
        factors = np.concatenate([2 / layer.gamma * weights[:1], weights])

        def products(images: Array, mode: Any) -> Array:
            """Pixels, then products with those at each offset, in the frame or around its edges."""
            n, height, width, channels = images.shape
            lifted = np.empty((n, channels, len(offsets) + 1, height, width), images.dtype)
            planes = np.ascontiguousarray(np.moveaxis(images, 3, 1))
            lifted[:, :, 0] = planes
            beyond = np.pad(planes, ((0, 0), (0, 0), (0, down), (across, across)), mode)
            for k, (i, j) in enumerate(offsets):
                moved = beyond[:, :, i : i + height, j + across : j + across + width]
                np.multiply(planes, moved, out=lifted[:, :, k + 1])
            return lifted

        def first(images: Array) -> Array:
            lifted = products(images, "constant")
            lifted *= factors.astype(images.dtype)
            return lifted.reshape(len(images), -1, *images.shape[1:3])

        def second(images: Array) -> Array:
            return products(images, "wrap").reshape(len(images), -1, *images.shape[1:3])

        def outer(values: Any, xp: Any) -> Any:
            return power(1 + beta * (n_windows + values), degree)

        n_channels = self.channels * (len(offsets) + 1)
        return Form(outer, n_channels=n_channels, first=first, second=second)


def _of_products(values: Any, steps: Any, mixed: bool, xp: Any = np) -> Any:
    """Of pairs (...), by their products of pixels, shape (channels, height, width, ...)."""
    pairs, (layers, beta, final) = values.shape[3:], steps
    if mixed:
        values = xp.sum(values, axis=0, keepdims=True)
    for layer in layers:
        down, across = (like(matrix, values) for matrix in layer.holds)
        c, h, w, *_ = values.shape
        values = xp.matmul(across, xp.reshape(values, (c, h, w, -1)))
        values = xp.matmul(down, xp.reshape(values, (c, h, -1)))
        values = xp.sum(power(1 + layer.gamma * values, layer.degree), axis=0)
        values = xp.reshape(values, (1, down.shape[0], across.shape[0], *pairs))
    return power(1 + beta * xp.sum(values, axis=(0, 1, 2)), final)


def _holds(size: int, window: int, padding: int, stride: int) -> Array:
    """The 0/1 matrix (windows, pixels) of who holds whom, along one axis."""
    if window > size:
        raise ParameterError(f"Locality: windows no larger than their input {size}, got {window}")
    starts = np.arange(-padding, size + padding - window + 1, stride)
    inside = np.arange(size) - starts[:, None]
    return ((inside >= 0) & (inside < window)).astype(float)


def _offset(matrix: Array, offset: int) -> Array:
    """``matrix[p, p + offset]`` for every p, zero where p + offset leaves the frame."""
    lost = max(0, -offset), max(0, offset)
    return np.pad(np.diagonal(matrix, offset), lost)[: len(matrix)]


# -- window by window ------------------------------------------------------------------------------


class _ByWindows:
    """Tiles (n, m) of kernel values of pixels, of which a few windows' values are held at a time.

    A window differs from the one above it by rows of pixels gained and lost: with one layer, where
    these are fewer than the window's own, products over them are added to the values above.
    """

    def __init__(self, first: Array, second: Array, steps: Any, mixed: bool, budget: float):
        self.sides, (self.layers, self.beta, self.final) = (first, second), steps
        self.groups = [slice(None)] if mixed else [slice(c, c + 1) for c in range(len(first))]
        (self.side, _, self.stride), self.across = self.layers[0].settings
        self.anew = len(self.layers) > 1 or 2 * self.stride >= self.side
        #: Bytes that strips of a point take, and a copy while they are made.
        rows = self.side if self.anew else 2 * self.stride
        self.point_bytes = (rows / self.stride + 2) * first[..., 0].nbytes
        points = (_TILE_BYTES / first.itemsize / _TOGETHER) ** 0.5
        kept = max(2, int(budget / (points * self.point_bytes)))
        self.strips = lru_cache(kept)(self._strips)

    def __call__(self, rows: slice, columns: slice) -> Array:
        one = self.strips(0, rows.start, rows.stop)
        two = self.strips(1, columns.start, columns.stop)
        every = tuple(np.arange(len(matrix)) for matrix in self.layers[-1].holds)
        total = self._total(len(self.layers) - 1, every, one, two)
        return np.asarray(power(1 + self.beta * total, self.final))

    def _total(self, level: int, windows: Any, one: Any, two: Any) -> Array:
        """The sum over some windows of a layer, rows and columns, of their values."""
        layer = self.layers[level]
        values = np.zeros((one[0][0].shape[-1], two[0][0].shape[-1]), one[0][0].dtype)
        if level == 0:
            for a, b in zip(one, two, strict=True):
                for some in self._products(a, b, windows[0], windows[1], layer.gamma):
                    if layer.degree == 2:  # without an array of all powers
                        values += np.einsum("wnm,wnm->nm", some, some)
                    else:
                        values += power(some, layer.degree).sum(axis=0)
            return values
        for places in product(*windows):
            below = [np.flatnonzero(m[i]) for m, i in zip(layer.holds, places, strict=True)]
            total = self._total(level - 1, below, one, two)
            values += power(1 + layer.gamma * total, layer.degree)
        return values

    def _strips(self, which: int, start: int, stop: int) -> list[list[Array]]:
        """For each group of channels and row of windows, pixels of shape (width, p, points).

        Of each column the p pixels that a row of windows has gained, then those that it has lost,
        which count negatively on the second side.
        """
        (_, padding, _), side, stride = self.layers[0].settings[0], self.side, self.stride
        _, height, width, _ = self.sides[which].shape
        made: list[list[Array]] = []
        for group in self.groups:
            pixels = self.sides[which][group, :, :, start:stop].transpose(1, 2, 0, 3)
            blank = np.zeros((1, *pixels.shape[1:]), pixels.dtype)
            padded = np.concatenate([pixels, blank])
            made.append([])
            for top in range(-padding, height + padding - side + 1, stride):
                rows = np.arange(top, top + side)
                changed = not self.anew and top > -padding
                if changed:
                    rows = np.concatenate([rows[-stride:], np.arange(top - stride, top)])
                rows[(rows < 0) | (rows >= height)] = height
                strip = np.empty((width, len(rows), *pixels.shape[2:]), pixels.dtype)
                for k, row in enumerate(rows):
                    strip[:, k] = padded[row]
                if changed and which == 1:
                    np.negative(strip[:, stride:], out=strip[:, stride:])
                made[-1].append(strip.reshape(width, -1, stop - start))
        return made

    def _products(
        self, one: list[Array], two: list[Array], rows: Array, columns: Array, gamma: float
    ) -> Iterator[Array]:
        r""":math:`1 + \gamma \langle x_w, z_w \rangle`, shape (windows, n, m), of a few at a time.

        Those in some neighbouring columns, from the first row down. The array is used again.
        """
        width, margin, step = self.across
        n, m = one[0].shape[2], two[0].shape[2]
        values = np.empty((min(_TOGETHER, len(columns)), n, m), one[0].dtype)
        multiply = get_blas_funcs("gemm", (values,))
        for start in range(0, len(columns), len(values)):
            left = columns[start : start + len(values)] * step - margin
            some = [slice(max(a, 0), a + width) for a in left.tolist()]
            for k, row in enumerate(rows):
                if k == 0 or self.anew:
                    values[...] = 1
                for value, pixels in zip(values, some, strict=False):
                    a, b = two[row][pixels].reshape(-1, m).T, one[row][pixels].reshape(-1, n).T
                    multiply(gamma, a, b, beta=1, c=value.T, trans_b=1, overwrite_c=1)
                yield values[: len(some)]
