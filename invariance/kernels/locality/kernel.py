"""`Locality`: polynomial kernels of local features at several spatial scales."""

from __future__ import annotations

from dataclasses import KW_ONLY
from itertools import product
from math import prod
from typing import Annotated, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ...core.arrays import like, on_cpu, on_host
from ...core.config import block_bytes_of
from ...orbits import Form, OrbitProducts, WeightedMean, row_blocks
from ...core.parameters import (
    BLOCK_BYTES,
    Each,
    Flag,
    OneOf,
    ParameterError,
    Positive,
    Shape,
    Whole,
    check_parameters,
    short,
    stores_parameters,
)
from ..base import Kernel, power
from .quadratic import quadratic_form
from .running import Changes, window_values
from .windows import Settings, image_sizes, memberships, window_settings

__all__ = ["Locality"]

#: Bytes of a tile of pairs.
_TILE_BYTES = 2**20


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
    shape : tuple
        (height, width) of images, or (length,) of sequences; points are flattened.
    window : int or sequence of int
        Odd side of the windows, the same on every local layer or one a layer.
    powers : sequence of int
        One for each local layer and one for the final sum over all positions: two for eq. (5),
        three for eq. (6).
    padding : {"same", "valid"} or int or sequence
        Zeros around each layer's input: (window - 1) / 2, none, or so many.
    stride : int or sequence of int
        Distance between neighbouring windows.
    channels : int
        Channels of a pixel, the last axis of a point.
    mixed : bool
        Whether a window's inner product runs over all channels. By default channels have their
        own windows and are summed at the first layer.
    gammas : sequence of float or None
        The factors alpha, ..., beta, one for each degree; ``(1, 1)`` is eq. (5) as printed. None
        is the paper's experiments: one over the pixels of a window, and at last one over
        channels times height.
    storage : {"layers", "last"}
        Keep the values of a whole layer while the next one is computed (time linear in depth), or
        only the running ones, computing lower layers anew for every window that needs them (time
        exponential in depth, memory independent of the number of windows).
    block_bytes : int or None
        Bound on temporary arrays; None is the configured one.

    Raises
    ------
    ValueError
        For an even-sized window, one larger than its (padded) input, powers that are not
        positive integers, or points that do not match ``shape``.

    Examples
    --------
    >>> kernel = Locality((4, 4), window=3, powers=(2, 2))
    >>> x, z = np.ones((1, 16)), np.eye(4).reshape(1, 16)
    >>> kernel(x, z).round(3)
    array([[43.707]])
    """

    shape: Annotated[tuple[int, ...], Shape(1, 2)]
    window: int | tuple[int, ...] = 7
    _: KW_ONLY
    powers: tuple[int, ...] = (2, 4)
    padding: str | int | tuple[str | int, ...] = "same"
    stride: int | tuple[int, ...] = 1
    channels: Annotated[int, Whole(1)] = 1
    mixed: Annotated[bool, Flag()] = False
    gammas: Annotated[tuple[float, ...] | None, Each(Positive()) | None] = None
    storage: Annotated[str, OneOf("layers", "last")] = "layers"
    block_bytes: Annotated[int | None, BLOCK_BYTES] = None

    # -- parameters ------------------------------------------------------------------------------

    def _powers_(self) -> list[int]:
        check_parameters(self)
        powers = self.powers if isinstance(self.powers, (tuple, list)) else ()
        if len(powers) < 2 or not all(map(Whole(1).accepts, powers)):
            raise ParameterError(
                "powers must be at least two positive integers, one for each local layer and "
                f"one for the final sum, got {short(self.powers)}"
            )
        return [int(d) for d in self.powers]

    def _windows(self) -> list[Settings]:
        """Side, padding and stride of the windows, for each local layer and both axes."""
        return window_settings(self, len(self._powers_()) - 1)

    def _layers(self) -> list[list[NDArray[Any]]]:
        """For each local layer and axis, the 0/1 matrix (windows, pixels) of who holds whom."""
        return memberships(self._windows(), image_sizes(self.shape))

    def _gammas_(self) -> list[float]:
        """The factors before each power."""
        degrees = self._powers_()
        if self.gammas is not None:
            scales = [float(s) for s in self.gammas]
            if len(scales) != len(degrees):
                raise ParameterError(
                    f"gammas must be {len(degrees)} positive numbers, one for each of "
                    f"powers={self.powers!r}, got {self.gammas!r}"
                )
            return scales
        own = [1.0 / prod(side for side, _, _ in axes) for axes in self._windows()]
        return [*own, 1 / (self.channels * int(np.atleast_1d(self.shape)[0]))]

    @property
    def n_features(self) -> int:
        """Length of the points: pixels times channels."""
        check_parameters(self)
        return prod(image_sizes(self.shape)) * self.channels

    def images(self, X: NDArray[Any]) -> NDArray[Any]:
        """Points (n, d) as images (n, height, width, channels)."""
        if X.shape[1] != self.n_features:
            raise ValueError(
                f"{self!r} takes points of {self.n_features} features "
                f"(shape {self.shape} with {self.channels} channels), got {X.shape[1]}"
            )
        return X.reshape(len(X), *image_sizes(self.shape), self.channels)

    def work(self) -> tuple[int, int]:
        """Window values computed for a pair of points, and how many are held at a time.

        With ``storage="layers"`` each window is computed once and two neighbouring layers are
        held. With ``storage="last"`` a window's value is computed anew for every window above
        that needs it, and each layer holds one running sum.

        >>> [Locality((27,), 3, powers=(2,) * n, storage="last").work() for n in (2, 3, 4)]
        [(27, 2), (106, 3), (339, 4)]
        """
        layers = self._layers()
        sizes = [len(vertical) * len(horizontal) for vertical, horizontal in layers]
        if self.storage == "layers":
            return sum(sizes), max(a + b for a, b in zip(sizes, [*sizes[1:], 1], strict=True))
        # How often every window of a layer is computed, from the top layer down.
        times = np.ones((len(layers[-1][0]), len(layers[-1][1])))
        total = times.sum()
        for vertical, horizontal in reversed(layers[1:]):
            times = vertical.T @ times @ horizontal
            total += times.sum()
        return int(total), len(layers) + 1

    # -- values ----------------------------------------------------------------------------------

    def _gram(self, X: NDArray[Any], Y: NDArray[Any] | None) -> NDArray[Any]:
        Y = X if Y is None else Y
        if self.storage == "layers" and len(self._powers_()) == 2:
            return self._running(X, Y)
        layers = self._layers()
        n_windows = prod(len(m) for m in layers[0])
        window = prod(side for side, _, _ in self._windows()[0])
        values = np.empty((len(X), len(Y)), dtype=np.result_type(X, Y))
        # Patches of both sides, and about three layers of values for each pair.
        patch_bytes = values.itemsize * window * n_windows * self.channels
        budget = block_bytes_of(self.block_bytes) // 3
        for columns in row_blocks(len(Y), patch_bytes, budget):
            second = self._patches(Y[columns]).swapaxes(2, 3)
            pair_bytes = values.itemsize * (3 * n_windows if self.storage == "layers" else 3)
            per_row = patch_bytes + pair_bytes * (columns.stop - columns.start)
            for rows in row_blocks(len(X), per_row, budget):
                first = self._patches(X[rows])
                compute = self._by_layers if self.storage == "layers" else self._by_recursion
                values[rows, columns] = compute(first, second, layers)
        return values

    def _gram_arrays(self, xp: Any, X: Any, Y: Any) -> Any:
        points = [on_host(X, "Locality"), on_host(Y, "Locality")]
        if on_cpu(X):  # running sums are many small products, which a device is slow at
            return like(self._gram(*points), X)
        form = self.inner_form(self.point_shape)
        if form is not None:
            orbits = OrbitProducts(Y, None, base=self, block_bytes=self.block_bytes)
            return orbits.reduce(X, WeightedMean())[0]
        return self._layers_arrays(xp, X, *points)

    def _layers_arrays(self, xp: Any, X: Any, first: NDArray[Any], second: NDArray[Any]) -> Any:
        """`_by_layers` in another library, by blocks; windows are cut out on the host."""
        layers = self._layers()
        n_windows = prod(len(m) for m in layers[0])
        width = max(
            1, int(np.sqrt(block_bytes_of(self.block_bytes) / (4 * first.itemsize * n_windows)))
        )
        patches = [
            like(self._patches(second[columns]).swapaxes(2, 3), X)
            for columns in row_blocks(len(second), 1, width)
        ]
        rows = []
        for block in row_blocks(len(first), 1, width):
            own = like(self._patches(first[block]), X)
            rows.append(
                xp.concat([self._by_layers(own, other, layers, xp) for other in patches], axis=1)
            )
        return xp.concat(rows, axis=0)

    def _patches(self, X: NDArray[Any]) -> NDArray[Any]:
        """First-layer windows, zero-padded: (windows, channel groups, n, pixels of a window)."""
        images = self.images(X)
        (f, p, s), (g, q, t) = self._windows()[0]
        padded = np.pad(images, ((0, 0), (p, p), (q, q), (0, 0)))
        windows = sliding_window_view(padded, (f, g), axis=(1, 2))[:, ::s, ::t]
        # (n, rows, columns, channels, f, g) -> (rows, columns, channels, n, f, g)
        windows = windows.transpose(1, 2, 3, 0, 4, 5)
        rows, columns, channels, n = windows.shape[:4]
        if self.mixed:
            windows = windows.transpose(0, 1, 3, 2, 4, 5)
            return np.ascontiguousarray(windows).reshape(rows * columns, 1, n, -1)
        return np.ascontiguousarray(windows).reshape(rows * columns, channels, n, -1)

    def _by_layers(self, first: Any, second: Any, layers: Any, xp: Any = np) -> Any:
        """All values of a layer at once: arrays of shape (windows, n, m)."""
        degrees, scales = self._powers_(), self._gammas_()
        values: Any = 0
        for channel in range(first.shape[1]):
            inner = first[:, channel, ...] @ second[:, channel, ...]
            values = values + power(1 + scales[0] * inner, degrees[0])
        n, m = values.shape[1:]
        for matrices, scale, degree in zip(layers[1:], scales[1:], degrees[1:], strict=False):
            vertical, horizontal = (like(matrix, values) for matrix in matrices)
            grid = xp.reshape(values, (vertical.shape[1], horizontal.shape[1], n * m))
            grid = xp.tensordot(vertical, xp.matmul(horizontal, grid), axes=1)
            values = power(1 + scale * xp.reshape(grid, (-1, n, m)), degree)
        return power(1 + scales[-1] * xp.sum(values, axis=0), degrees[-1])

    def _by_recursion(self, first: NDArray[Any], second: NDArray[Any], layers: Any) -> Any:
        """One (n, m) array a layer: every window recomputes the windows below it."""
        degrees, scales = self._powers_(), self._gammas_()

        def value(layer: int, row: int, column: int) -> Any:
            if layer == 0:
                position = row * len(layers[0][1]) + column
                return sum(
                    power(1 + scales[0] * (a @ b), degrees[0])
                    for a, b in zip(first[position], second[position], strict=True)
                )
            vertical, horizontal = layers[layer]
            below = product(np.flatnonzero(vertical[row]), np.flatnonzero(horizontal[column]))
            total = sum(value(layer - 1, int(r), int(c)) for r, c in below)
            return power(1 + scales[layer] * total, degrees[layer])

        top = len(layers) - 1
        positions = product(range(len(layers[top][0])), range(len(layers[top][1])))
        total = sum(value(top, r, c) for r, c in positions)
        return power(1 + scales[-1] * total, degrees[-1])

    # -- the quadratic first layer as one inner product --------------------------------------------

    @property
    def point_shape(self) -> tuple[int, int, int]:
        """(height, width, channels) of the points."""
        return (*image_sizes(self.shape), self.channels)

    def inner_form(self, shape: tuple[int, int, int]) -> Form | None:
        """The kernel as a function of one inner product, where its structure allows that.

        See `quadratic_form`. None for other powers and depths, and for mixed channels.
        """
        powers, gammas = self._powers_(), self._gammas_()
        layers = self._layers()
        if len(powers) != 2 or powers[0] != 2 or (self.mixed and self.channels > 1):
            return None
        return quadratic_form(layers[0], self._windows()[0], self.channels, gammas, powers[1])

    def _diag(self, X: NDArray[Any]) -> NDArray[Any]:
        squares = self.images(X) ** 2
        values = squares.sum(axis=3, keepdims=True) if self.mixed else squares
        degrees, scales = self._powers_(), self._gammas_()
        for matrices, scale, degree in zip(self._layers(), scales[:-1], degrees[:-1], strict=True):
            vertical, horizontal = (m.astype(X.dtype) for m in matrices)
            sums = np.einsum("ah,nhwc,bw->nabc", vertical, values, horizontal, optimize=True)
            values = power(1 + scale * sums, degree).sum(axis=3, keepdims=True)
        diagonal: NDArray[Any] = power(1 + scales[-1] * values.sum(axis=(1, 2, 3)), degrees[-1])
        return diagonal

    # -- two layers: running sums over windows ---------------------------------------------------

    def _running(self, X: NDArray[Any], Y: NDArray[Any]) -> NDArray[Any]:
        (degree, final), (alpha, beta) = self._powers_(), self._gammas_()
        self._layers()  # which refuses windows larger than the frame
        (settings,) = self._windows()
        out = np.empty((len(X), len(Y)), dtype=np.result_type(X, Y))
        X, Y = X.astype(out.dtype, copy=False), Y.astype(out.dtype, copy=False)
        groups = [slice(None)] if self.mixed else [slice(c, c + 1) for c in range(self.channels)]
        # Tiles of pairs whose three arrays stay in a core's own cache.
        budget = block_bytes_of(self.block_bytes) // 4
        side = int((min(budget, _TILE_BYTES) / (4 * out.itemsize)) ** 0.5)
        side = max(1, min(side, int(budget // Changes.n_bytes(X))))
        for columns in row_blocks(len(Y), 1, side):
            second = [Changes(settings, self.images(Y[columns])[..., g], -1) for g in groups]
            for rows in row_blocks(len(X), 1, side):
                total = np.zeros((rows.stop - rows.start, second[0].n), out.dtype, order="F")
                for g, other in zip(groups, second, strict=True):
                    first = Changes(settings, self.images(X[rows])[..., g])
                    for values in window_values(first, other, alpha):
                        total += power(values, degree)
                out[rows, columns] = power(1 + beta * total, final)
        return out
