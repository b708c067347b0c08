"""Where the windows of every layer lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import Whole

__all__ = ["Settings", "image_sizes", "memberships", "window_settings"]

#: Side, padding and stride of a layer's windows, along both axes.
Settings = tuple[tuple[int, int, int], tuple[int, int, int]]


def image_sizes(shape: int | Sequence[int]) -> tuple[int, int]:
    """Height and width; a sequence is an image of height one."""
    sizes = np.atleast_1d(np.asarray(shape))
    if len(sizes) not in (1, 2) or sizes.dtype.kind not in "iu" or np.any(sizes < 1):
        raise ValueError(
            f"shape must be (height, width) or (length,), got {shape!r}; the number of "
            "channels is a parameter of its own"
        )
    return (1, int(sizes[0])) if len(sizes) == 1 else (int(sizes[0]), int(sizes[1]))


def window_settings(kernel: Any, n_layers: int) -> list[Settings]:
    """The windows of each local layer, from a kernel's parameters."""
    along_both = len(np.atleast_1d(kernel.shape)) == 2
    layers = []
    settings = zip(
        *(_for_each_layer(kernel, name, n_layers) for name in ("window", "padding", "stride")),
        strict=True,
    )
    for window, padding, stride in settings:
        if not Whole(1).accepts(window):
            raise ValueError(f"window must be a positive odd integer, got {window!r}")
        if window % 2 == 0:
            raise ValueError(
                f"window must be odd, to have a pixel at its centre, got {window!r}: take "
                f"{window - 1} or {window + 1}"
            )
        if not Whole(1).accepts(stride):
            raise ValueError(f"stride must be a positive integer, got {stride!r}")
        if isinstance(padding, str):
            padding = {"same": (window - 1) // 2, "valid": 0}.get(padding, padding)
        if not Whole(0, int(window) - 1).accepts(padding):
            raise ValueError(
                "padding must be 'same', 'valid' or a number of pixels below the window's "
                f"{window}, got {padding!r}"
            )
        own = (int(window), int(padding), int(stride))
        layers.append((own if along_both else (1, 0, 1), own))
    return layers


def _for_each_layer(kernel: Any, name: str, n_layers: int) -> list[Any]:
    """A parameter's value for every local layer."""
    value = getattr(kernel, name)
    several = isinstance(value, (tuple, list)) or getattr(value, "ndim", 0) == 1
    values = list(value) if several else [value] * n_layers
    if len(values) != n_layers:
        raise ValueError(
            f"{name}={value!r} has {len(values)} entries for {n_layers} local layers "
            f"(powers={kernel.powers!r})"
        )
    return values


def memberships(layers: list[Settings], sizes: tuple[int, int]) -> list[list[NDArray[Any]]]:
    """For each local layer and axis, the 0/1 matrix (windows, pixels) of who holds whom."""
    found = []
    for settings in layers:
        matrices = []
        for (window, padding, stride), size in zip(settings, sizes, strict=True):
            if window > size:
                raise ValueError(
                    f"a window of {window} pixels is larger than its input of size {size}: "
                    "take a smaller window"
                )
            starts = np.arange(-padding, size + padding - window + 1, stride)
            inside = np.arange(size) - starts[:, None]
            matrices.append(((inside >= 0) & (inside < window)).astype(float))
        found.append(matrices)
        sizes = (len(matrices[0]), len(matrices[1]))
    return found
