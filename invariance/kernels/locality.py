"""`Locality`: polynomial kernels of local features at several spatial scales.

The kernel sums powers over windows, and sums of powers over windows of these, layer by layer. Two
algorithms compute it: `_values_of_pairs` keeps all values of a layer, and `_ByWindows` keeps a few
windows' values at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from functools import lru_cache
from itertools import pairwise, product
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
from ..orbits.blocks import in_tiles
from .base import Kernel, power

Array = NDArray[Any]

#: Number of windows in neighbouring columns whose values are computed together.
_TOGETHER = 8
#: Bytes of the values of these windows, which stay in a core's own cache.
_TILE_BYTES = 3 * 2**19


def _is_side(side: Any) -> bool:
    return kinds.Whole(1).accepts(side) and side % 2 == 1


def _are_powers(powers: Any) -> bool:
    return kinds.Each(kinds.Whole(1)).accepts(powers) and len(powers) > 1


_SIDE = kinds.Kind("an odd whole number >= 1", _is_side)
_POWERS = kinds.Kind(
    "at least two positive integers, one for each local layer and one for the final sum",
    _are_powers,
)
_PADDING = kinds.OneOf("same", "valid") | kinds.Whole(0)
_ONE_OR_EACH_SIDE = _SIDE | kinds.Each(_SIDE)
_ONE_OR_EACH_PADDING = _PADDING | kinds.Each(_PADDING)
_ONE_OR_EACH_STRIDE = kinds.Whole(1) | kinds.Each(kinds.Whole(1))
_GAMMAS = kinds.Each(kinds.Positive()) | None


class _Window(NamedTuple):
    """Windows along one axis: their length, the zeros around the input, and their distance."""

    side: int
    padding: int
    stride: int


class _Layer(NamedTuple):
    """Windows of one layer, vertical before horizontal, and the power of their sums."""

    windows: tuple[_Window, _Window]
    members: tuple[Array, Array]  #: 0/1 matrices (windows, pixels) of the pixels in each window
    gamma: float
    degree: int

    @property
    def n_windows(self) -> int:
        rows, columns = self.members
        return len(rows) * len(columns)

    def transposed(self) -> _Layer:
        """Return the layer for images with height and width exchanged."""
        return self._replace(windows=self.windows[::-1], members=self.members[::-1])


class _Network(NamedTuple):
    """All local layers, from the pixels up; factor and power of the final sum."""

    layers: list[_Layer]
    beta: float
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
        Odd side of the windows, the same on every local layer or one per layer.
    powers : sequence of int
        One for each local layer and one for the final sum over all positions: two for eq. (5),
        three for eq. (6).
    padding : {"same", "valid"} or int or sequence
        Number of zeros around each layer's input: "same" is (window - 1) / 2, "valid" is zero.
    stride : int or sequence of int, distance between neighbouring windows
    channels : int, channels of a pixel, the last axis of a point
    mixed : bool
        Whether a window's inner product runs over all channels. By default channels have their
        own windows and are summed at the first layer.
    gammas : sequence of float or None
        The factors alpha, ..., beta, one for each degree; ``(1, 1)`` is eq. (5) as printed. None
        takes those of the paper's experiments: one over the number of pixels of a window, and for
        the final sum one over channels times height.
    storage : {"layers", "last"}
        Keep the values of a whole layer (time linear in depth), or compute lower layers anew for
        every window that needs them (time exponential, memory one sum per layer and pair).
    block_bytes, n_jobs : as in `Average`; threads serve kernels of several local layers

    Examples
    --------
    >>> kernel = Locality((4, 4), window=3, powers=(2, 2))
    >>> x, z = np.ones((1, 16)), np.eye(4).reshape(1, 16)
    >>> kernel(x, z).round(3)
    array([[43.707]])
    """

    shape: Annotated[tuple[int, ...], kinds.Shape(1, 2)]
    window: Annotated[int | tuple[int, ...], _ONE_OR_EACH_SIDE] = 7
    _: KW_ONLY
    powers: Annotated[tuple[int, ...], _POWERS] = (2, 4)
    padding: Annotated[str | int | tuple[str | int, ...], _ONE_OR_EACH_PADDING] = "same"
    stride: Annotated[int | tuple[int, ...], _ONE_OR_EACH_STRIDE] = 1
    channels: Annotated[int, kinds.Whole(1)] = 1
    mixed: Annotated[bool, kinds.Flag()] = False
    gammas: Annotated[tuple[float, ...] | None, _GAMMAS] = None
    storage: Annotated[str, kinds.OneOf("layers", "last")] = "layers"
    block_bytes: kinds.BlockBytes = None
    n_jobs: kinds.Jobs = None

    # -- parameters ------------------------------------------------------------------------------

    def _network(self) -> _Network:
        """Check the parameters; return the layers that they describe."""
        check_parameters(self)
        n_layers = len(self.powers) - 1
        is_image = len(self.shape) == 2
        sides = self._per_layer("window", n_layers)
        paddings = self._per_layer("padding", n_layers)
        strides = self._per_layer("stride", n_layers)
        if self.gammas is None:
            gammas = self._default_gammas(sides)
        else:
            gammas = self._per_layer("gammas", n_layers + 1)
        height, width, _ = self.point_shape
        layers = []
        for i in range(n_layers):
            across = _window(sides[i], paddings[i], strides[i])
            down = across if is_image else _Window(side=1, padding=0, stride=1)
            rows = _members(height, down)
            columns = _members(width, across)
            layer = _Layer(
                windows=(down, across),
                members=(rows, columns),
                gamma=float(gammas[i]),
                degree=int(self.powers[i]),
            )
            layers.append(layer)
            height = len(rows)
            width = len(columns)
        return _Network(layers, beta=float(gammas[-1]), degree=int(self.powers[-1]))

    def _per_layer(self, name: str, n_entries: int) -> list[Any]:
        """Return the entries of a parameter; a single value is repeated for every layer."""
        value = getattr(self, name)
        if not isinstance(value, (tuple, list)):
            return [value] * n_entries
        if len(value) != n_entries:
            raise ParameterError(f"Locality needs {n_entries} of {name} by powers, got {value!r}")
        return list(value)

    def _default_gammas(self, sides: list[int]) -> list[float]:
        """Return the factors of the paper's experiments."""
        n_dimensions = len(self.shape)
        gammas = [1 / side**n_dimensions for side in sides]
        gammas.append(1 / (self.channels * int(self.shape[0])))
        return gammas

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
        """Return points (n, d) as pixels of shape (channels, height, width, n)."""
        check_pixels("Locality", (*self.shape, self.channels), X.shape[1])
        images = xp.reshape(X, (X.shape[0], *self.point_shape))
        order = (3, 1, 2, 0)
        if xp is np:
            return images.transpose(order)
        return xp.permute_dims(images, order)

    def work(self) -> tuple[int, int]:
        """Return the number of window values per pair of points: computed, and held at a time.

        >>> [Locality((27,), 3, powers=(2,) * n, storage="last").work() for n in (2, 3, 4)]
        [(27, 2), (106, 3), (339, 4)]
        """
        layers = self._network().layers
        if self.storage == "layers":
            sizes = [layer.n_windows for layer in layers]
            # A layer is held together with the next one, and the last one with the final sum.
            n_held = [size + next_size for size, next_size in pairwise([*sizes, 1])]
            return sum(sizes), max(n_held)
        # Count how often each window of a layer is computed, from the top layer down.
        rows, columns = layers[-1].members
        times = np.ones((len(rows), len(columns)))
        total = times.sum()
        for layer in reversed(layers[1:]):
            rows, columns = layer.members
            times = rows.T @ times @ columns
            total += times.sum()
        return int(total), len(layers) + 1

    # -- values ----------------------------------------------------------------------------------

    def _gram(self, X: Array, Y: Array | None) -> Array:
        symmetric = Y is None
        if Y is None:
            X_pixels = self._pixels(X)
            Y_pixels = X_pixels
        else:
            dtype = np.result_type(X, Y)
            X_pixels = self._pixels(X.astype(dtype, copy=False))
            Y_pixels = self._pixels(Y.astype(dtype, copy=False))
        network = self._network()
        if self.storage == "layers" and len(network.layers) > 1:
            return self._gram_by_layers(network, X_pixels, Y_pixels, symmetric=symmetric)
        return self._gram_by_windows(network, X_pixels, Y_pixels, symmetric=symmetric)

    def _gram_by_layers(self, network: _Network, X: Array, Y: Array, *, symmetric: bool) -> Array:
        """Return the kernel matrix of pixels, with the values of whole layers in memory."""

        def tile(rows: slice, columns: slice) -> Any:
            pairs = X[..., rows, None] * Y[..., None, columns]
            return _values_of_pairs(pairs, network, self.mixed)

        bytes_per_pair = 4 * self.n_features * X.itemsize
        side = self._tile_side(bytes_per_pair, bytes_per_point=1)
        shape = (X.shape[3], Y.shape[3])
        return in_tiles(tile, shape, (side, side), X.dtype, symmetric=symmetric, n_jobs=self.n_jobs)

    def _gram_by_windows(self, network: _Network, X: Array, Y: Array, *, symmetric: bool) -> Array:
        """Return the kernel matrix of pixels, with the values of a few windows in memory."""
        if len(self.shape) == 1:
            # A sequence becomes an image of width one, since `_ByWindows` moves windows down.
            X = X.swapaxes(1, 2)
            Y = Y.swapaxes(1, 2)
            layers = [layer.transposed() for layer in network.layers]
            network = network._replace(layers=layers)
        tile = _ByWindows(X, Y, network, self.mixed, self._budget())
        bytes_per_pair = (_TOGETHER + 2) * X.itemsize
        side = self._tile_side(bytes_per_pair, bytes_per_point=2 * tile.bytes_per_point)
        shape = (X.shape[3], Y.shape[3])
        # One thread: SciPy's products hold the interpreter's lock, so threads would wait.
        return in_tiles(tile, shape, (side, side), X.dtype, symmetric=symmetric, n_jobs=1)

    def _budget(self) -> float:
        return block_bytes_of(self.block_bytes) / 4

    def _tile_side(self, bytes_per_pair: float, bytes_per_point: float) -> int:
        """Return the side of square tiles that fit in the cache and in the bound on memory."""
        budget = self._budget()
        side_by_pairs = (min(budget, _TILE_BYTES) / bytes_per_pair) ** 0.5
        side_by_points = budget / bytes_per_point
        return max(1, int(min(side_by_pairs, side_by_points)))

    def _gram_arrays(self, xp: Any, X: Any, Y: Any) -> Any:
        Z = X if Y is None else Y
        needs_gradient = wants_gradient(X) or wants_gradient(Z)
        if on_cpu(X) and not needs_gradient:
            host_Y = None
            if Y is not None:
                host_Y = on_host(Y)
            return like(self._gram(on_host(X), host_Y), X)
        network = self._network()
        bytes_per_pair = 8 * 4 * self.n_features
        side = int((block_bytes_of(self.block_bytes) / bytes_per_pair) ** 0.5)
        X_pixels = self._pixels(X, xp)[..., None]
        Z_pixels = self._pixels(Z, xp)[..., None, :]
        row_strips = []
        for rows in row_blocks(X.shape[0], 1, side):
            tiles = []
            for columns in row_blocks(Z.shape[0], 1, side):
                pairs = X_pixels[..., rows, :] * Z_pixels[..., columns]
                tiles.append(_values_of_pairs(pairs, network, self.mixed, xp))
            row_strips.append(xp.concat(tiles, axis=1))
        return xp.concat(row_strips, axis=0)

    def _diag(self, X: Array) -> Array:
        network = self._network()
        budget = block_bytes_of(self.block_bytes) / 2
        blocks = []
        for rows in row_blocks(len(X), 4 * X[:1].nbytes, budget):
            squares = np.square(self._pixels(X[rows]))
            blocks.append(_values_of_pairs(squares, network, self.mixed))
        return np.concatenate(blocks)

    # -- the quadratic first layer as one inner product --------------------------------------------

    def inner_form(self, shape: tuple[int, int, int]) -> Form | None:
        r"""Return the kernel of two layers with :math:`d_1 = 2` as a function of one inner product.

        The sum over windows is, up to a constant,

        .. math:: \sum_w \langle x_w, z_w \rangle^2 = \sum_\delta \sum_p
                  k(p, p + \delta)\, x_p x_{p + \delta} \; z_p z_{p + \delta},

        where k counts the windows that contain both pixels. Padding, stride and the frame's edge
        enter through k alone, which is applied to the first argument. The linear term has the same
        weights. Other powers and depths, and mixed channels, have no form: the result is None.
        """
        network = self._network()
        layer = network.layers[0]
        if len(network.layers) > 1 or layer.degree != 2:
            return None
        if self.mixed and self.channels > 1:
            return None
        n_windows = layer.n_windows * self.channels
        offsets, counts = _offsets_and_counts(layer)
        # An offset other than zero stands for its opposite too, which contributes the same.
        weights = counts * layer.gamma**2
        weights[1:] *= 2
        linear_weights = 2 / layer.gamma * weights[:1]
        factors = np.concatenate([linear_weights, weights])

        def weighted_products(images: Array) -> Array:
            lifted = _products_at_offsets(images, offsets, "constant")
            lifted *= factors.astype(images.dtype)
            return lifted.reshape(len(images), -1, *images.shape[1:3])

        def periodic_products(images: Array) -> Array:
            lifted = _products_at_offsets(images, offsets, "wrap")
            return lifted.reshape(len(images), -1, *images.shape[1:3])

        def outer(values: Any, xp: Any) -> Any:
            return power(1 + network.beta * (n_windows + values), network.degree)

        return Form(
            outer,
            n_channels=self.channels * (len(offsets) + 1),
            first=weighted_products,
            second=periodic_products,
        )


def _offsets_and_counts(layer: _Layer) -> tuple[list[tuple[int, int]], Array]:
    """Return the offsets between two pixels of a window, and how many windows contain each pair.

    Only one of two opposite offsets is listed, and the zero offset comes first. The counts have
    shape (offsets, height, width); entry (k, p) counts the windows that contain the pixels p and
    p + offsets[k].
    """
    vertical, horizontal = layer.windows
    rows, columns = layer.members
    shared_rows = rows.T @ rows
    shared_columns = columns.T @ columns
    down_range = range(vertical.side)
    across_range = range(1 - horizontal.side, horizontal.side)
    offsets = []
    counts = []
    for down, across in product(down_range, across_range):
        if (down, across) < (0, 0):
            continue
        row_counts = _diagonal(shared_rows, down)
        column_counts = _diagonal(shared_columns, across)
        count = np.outer(row_counts, column_counts)
        if count.any():
            offsets.append((down, across))
            counts.append(count)
    return offsets, np.stack(counts)


def _products_at_offsets(images: Array, offsets: list[tuple[int, int]], mode: Any) -> Array:
    """Return pixels, and their products with the pixels at each offset.

    Pixels beyond the frame are zero (``mode="constant"``) or those of the opposite edge
    (``mode="wrap"``). The result has shape (n, channels, 1 + offsets, height, width).
    """
    n, height, width, channels = images.shape
    down = max(i for i, _ in offsets)
    across = max(abs(j) for _, j in offsets)
    planes = np.ascontiguousarray(np.moveaxis(images, 3, 1))
    margins = ((0, 0), (0, 0), (0, down), (across, across))
    padded = np.pad(planes, margins, mode)
    lifted = np.empty((n, channels, len(offsets) + 1, height, width), images.dtype)
    lifted[:, :, 0] = planes
    for k, (top, j) in enumerate(offsets, start=1):
        left = across + j
        neighbours = padded[:, :, top : top + height, left : left + width]
        np.multiply(planes, neighbours, out=lifted[:, :, k])
    return lifted


def _values_of_pairs(values: Any, network: _Network, mixed: bool, xp: Any = np) -> Any:
    """Return kernel values of pairs from their products of pixels.

    The products have shape (channels, height, width, ...), the result has shape (...).
    """
    pairs_shape = values.shape[3:]
    if mixed:
        values = xp.sum(values, axis=0, keepdims=True)
    for layer in network.layers:
        rows = like(layer.members[0], values)
        columns = like(layer.members[1], values)
        channels, height, width = values.shape[:3]
        # Sums over the columns, then over the rows of each window.
        values = xp.reshape(values, (channels, height, width, -1))
        values = xp.matmul(columns, values)
        values = xp.reshape(values, (channels, height, -1))
        values = xp.matmul(rows, values)
        values = power(1 + layer.gamma * values, layer.degree)
        values = xp.sum(values, axis=0)
        values = xp.reshape(values, (1, rows.shape[0], columns.shape[0], *pairs_shape))
    total = xp.sum(values, axis=(0, 1, 2))
    return power(1 + network.beta * total, network.degree)


def _window(side: int, padding: str | int, stride: int) -> _Window:
    """Return windows along one axis, with the padding as a number."""
    if padding == "same":
        n_zeros = side // 2
    elif padding == "valid":
        n_zeros = 0
    else:
        n_zeros = int(padding)
    if n_zeros >= side:
        raise ParameterError(f"Locality: padding below the window {side}, got {padding}")
    return _Window(int(side), int(n_zeros), int(stride))


def _members(size: int, window: _Window) -> Array:
    """Return the 0/1 matrix (windows, pixels) of the pixels in each window, along one axis."""
    if window.side > size:
        raise ParameterError(
            f"Locality: windows no larger than their input {size}, got {window.side}"
        )
    last_start = size + window.padding - window.side
    starts = np.arange(-window.padding, last_start + 1, window.stride)
    position = np.arange(size) - starts[:, None]
    inside = (position >= 0) & (position < window.side)
    return inside.astype(float)


def _diagonal(matrix: Array, offset: int) -> Array:
    """Return ``matrix[p, p + offset]`` for every p, zero if p + offset leaves the frame."""
    n_before = max(0, -offset)
    n_after = max(0, offset)
    padded = np.pad(np.diagonal(matrix, offset), (n_before, n_after))
    return padded[: len(matrix)]


# -- window by window ------------------------------------------------------------------------------


class _ByWindows:
    """Compute tiles (n, m) of kernel values from pixels, with a few windows' values in memory.

    A window differs from the window above it by rows of pixels that it gains and rows that it
    loses. If there is one layer and these rows are fewer than the window's own, products over them
    are added to the values of the window above.
    """

    def __init__(self, X: Array, Y: Array, network: _Network, mixed: bool, budget: float):
        self.X = X
        self.Y = Y
        self.network = network
        vertical, self.horizontal = network.layers[0].windows
        self.side = vertical.side
        self.padding = vertical.padding
        self.stride = vertical.stride
        #: Channels that are summed in one window: all of them, or each by itself.
        self.channel_groups = [slice(None)]
        if not mixed:
            self.channel_groups = [slice(c, c + 1) for c in range(len(X))]
        #: Whether every window is computed from all of its rows.
        update_is_longer = 2 * self.stride >= self.side
        self.recompute = len(network.layers) > 1 or update_is_longer
        strip_rows = self.side if self.recompute else 2 * self.stride
        #: Bytes of the strips of one point, with the copies that are needed to make them.
        self.bytes_per_point = (strip_rows / self.stride + 2) * X[..., 0].nbytes
        points_per_tile = (_TILE_BYTES / X.itemsize / _TOGETHER) ** 0.5
        n_cached = max(2, int(budget / (points_per_tile * self.bytes_per_point)))
        self.strips = lru_cache(n_cached)(self._strips)

    def __call__(self, rows: slice, columns: slice) -> Array:
        X_strips = self.strips("X", rows.start, rows.stop)
        Y_strips = self.strips("Y", columns.start, columns.stop)
        top_layer = self.network.layers[-1]
        all_rows = np.arange(len(top_layer.members[0]))
        all_columns = np.arange(len(top_layer.members[1]))
        level = len(self.network.layers) - 1
        total = self._total(level, all_rows, all_columns, X_strips, Y_strips)
        return np.asarray(power(1 + self.network.beta * total, self.network.degree))

    def _total(
        self,
        level: int,
        rows: Array,
        columns: Array,
        X_strips: list[list[Array]],
        Y_strips: list[list[Array]],
    ) -> Array:
        """Return the sum of a layer's values over the windows in these rows and columns."""
        layer = self.network.layers[level]
        X_strip = X_strips[0][0]
        n = X_strip.shape[-1]
        m = Y_strips[0][0].shape[-1]
        total = np.zeros((n, m), X_strip.dtype)
        if level == 0:
            for X_group, Y_group in zip(X_strips, Y_strips, strict=True):
                for values in self._values(X_group, Y_group, rows, columns, layer.gamma):
                    if layer.degree == 2:  # einsum needs no array of all powers.
                        total += np.einsum("wnm,wnm->nm", values, values)
                    else:
                        total += power(values, layer.degree).sum(axis=0)
            return total
        for row, column in product(rows, columns):
            rows_below = np.flatnonzero(layer.members[0][row])
            columns_below = np.flatnonzero(layer.members[1][column])
            sum_below = self._total(level - 1, rows_below, columns_below, X_strips, Y_strips)
            total += power(1 + layer.gamma * sum_below, layer.degree)
        return total

    def _strips(self, argument: str, start: int, stop: int) -> list[list[Array]]:
        """Return the pixels of points start to stop, for each group of channels and window row.

        Each strip has shape (width, p, points). Its p pixels of each column are all pixels of the
        window row; or those that it gains over the row above, then those that it loses. The lost
        pixels of Y have a negative sign, so that their products are subtracted.
        """
        points = self.X if argument == "X" else self.Y
        height = points.shape[1]
        last_top = height + self.padding - self.side
        strips: list[list[Array]] = []
        for channels in self.channel_groups:
            pixels = points[channels, :, :, start:stop].transpose(1, 2, 0, 3)
            blank_row = np.zeros((1, *pixels.shape[1:]), pixels.dtype)
            padded = np.concatenate([pixels, blank_row])
            group_strips = []
            for top in range(-self.padding, last_top + 1, self.stride):
                rows = self._strip_rows(top)
                rows[(rows < 0) | (rows >= height)] = height  # The blank row is the last one.
                strip = _gather_rows(padded, rows)
                if argument == "Y" and self._is_update(top):
                    lost = strip[:, self.stride :]
                    np.negative(lost, out=lost)
                group_strips.append(strip.reshape(len(strip), -1, stop - start))
            strips.append(group_strips)
        return strips

    def _is_update(self, top: int) -> bool:
        """Whether the windows that start at row ``top`` are computed from those above them."""
        is_first = top == -self.padding
        return not self.recompute and not is_first

    def _strip_rows(self, top: int) -> Array:
        """Return the rows of pixels in the strip of the windows that start at row ``top``."""
        window_rows = np.arange(top, top + self.side)
        if not self._is_update(top):
            return window_rows
        gained = window_rows[-self.stride :]
        lost = np.arange(top - self.stride, top)
        return np.concatenate([gained, lost])

    def _values(
        self,
        X_strips: list[Array],
        Y_strips: list[Array],
        rows: Array,
        columns: Array,
        gamma: float,
    ) -> Iterator[Array]:
        r"""Yield :math:`1 + \gamma \langle x_w, z_w \rangle`, shape (windows, n, m).

        Each array holds a few windows in neighbouring columns. The windows go down from the first
        row, and every array overwrites the one before it.
        """
        width, margin, step = self.horizontal
        n = X_strips[0].shape[2]
        m = Y_strips[0].shape[2]
        n_together = min(_TOGETHER, len(columns))
        values = np.empty((n_together, n, m), X_strips[0].dtype)
        multiply = get_blas_funcs("gemm", (values,))
        for start in range(0, len(columns), n_together):
            lefts = columns[start : start + n_together] * step - margin
            spans = [slice(max(left, 0), left + width) for left in lefts.tolist()]
            for k, row in enumerate(rows):
                if k == 0 or self.recompute:
                    values[...] = 1
                for value, span in zip(values, spans, strict=False):
                    X_pixels = X_strips[row][span].reshape(-1, n)
                    Y_pixels = Y_strips[row][span].reshape(-1, m)
                    # BLAS adds the products to `value`, whose transpose is in its order.
                    multiply(
                        gamma,
                        Y_pixels.T,
                        X_pixels.T,
                        beta=1,
                        c=value.T,
                        trans_b=1,
                        overwrite_c=1,
                    )
                yield values[: len(spans)]


def _gather_rows(pixels: Array, rows: Array) -> Array:
    """Return rows of pixels (height, width, ...) as an array of shape (width, rows, ...)."""
    width, *rest = pixels.shape[1:]
    gathered = np.empty((width, len(rows), *rest), pixels.dtype)
    for k, row in enumerate(rows):
        gathered[:, k] = pixels[row]
    return gathered
