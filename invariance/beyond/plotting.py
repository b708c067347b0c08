"""Pictures of orbits, of alignments, and of kernels along an orbit; they need Matplotlib."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.extras import need
from ..core.parameters import ParameterError, Whole, check_values
from ..groups import Transformations

Array = NDArray[Any]

_IMAGES = {"n_images": Whole(1)}
#: Width and height of the picture of a point, in inches.
_SIZE = 1.6


def plot_orbit(
    group: Transformations, x: ArrayLike, n_images: int = 6, *, random_state: Any = 0
) -> Any:
    """Draw a point and some of its images under a group.

    A point is drawn as an image if the group has the shape of images, as points of the plane (the
    first two coordinates) if the group rotates points, and as a curve otherwise.

    Parameters
    ----------
    group : Transformations
    x : array-like of shape (d,)
    n_images : int
        All elements are taken if there are no more, otherwise some are drawn.
    random_state : int or RandomState

    Returns
    -------
    ndarray of Matplotlib's Axes, shape (1 + number of images,), the point itself first

    Examples
    --------
    >>> from invariance.groups import CyclicShifts
    >>> axes = plot_orbit(CyclicShifts(4), [1.0, 2.0, 0.0, 0.0])
    >>> len(axes), axes[0].get_title()
    (5, 'x')
    """
    check_values("plot_orbit", _IMAGES, {"n_images": n_images})
    point = _as_point(x, "x")
    if group.order <= n_images:
        elements = group.elements()
    else:
        elements = group.sample(n_images, random_state)
    images = group.act(elements, point[None])[:, 0]
    axes = _row_of_axes(1 + len(images))
    _draw(axes[0], group, point)
    axes[0].set_title("x")
    for axis, image in zip(axes[1:], images, strict=True):
        _draw(axis, group, image)
        axis.set_title("g x")
    return axes


def plot_alignment(kernel: Any, x: ArrayLike, z: ArrayLike) -> Any:
    """Draw x, z, and z transformed so that it fits x best, for a kernel `BestFit`.

    Parameters
    ----------
    kernel : BestFit
        If its ``side`` is "first", x is transformed to fit z, and the names exchange.
    x, z : array-like of shape (d,)

    Returns
    -------
    ndarray of Matplotlib's Axes, shape (3,)

    Examples
    --------
    >>> from invariance.groups import CyclicShifts
    >>> from invariance.kernels import BestFit, Gaussian
    >>> kernel = BestFit(Gaussian(), CyclicShifts(4))
    >>> axes = plot_alignment(kernel, [1.0, 2.0, 0.0, 0.0], [0.0, 1.0, 2.0, 0.0])
    >>> [axis.get_title() for axis in axes]
    ['x', 'z', 'aligned z: 1.00']
    """
    if not hasattr(kernel, "best_element"):
        raise ParameterError(f"kernel must be a BestFit, which aligns points, got {kernel!r}")
    points = {"x": _as_point(x, "x"), "z": _as_point(z, "z")}
    moving, fixed = ("x", "z") if kernel.side == "first" else ("z", "x")
    element = kernel.best_element(points["x"][None], points["z"][None])[0]
    aligned = kernel.group.act(element, points[moving][None])[0, 0]
    value = float(kernel(points["x"][None], points["z"][None])[0, 0])
    axes = _row_of_axes(3)
    for axis, name in zip(axes, (fixed, moving), strict=False):
        _draw(axis, kernel.group, points[name])
        axis.set_title(name)
    _draw(axes[2], kernel.group, aligned)
    axes[2].set_title(f"aligned {moving}: {value:.2f}")
    return axes


def plot_along_orbit(
    kernel: Any, group: Transformations, x: ArrayLike, z: ArrayLike, *, axes: Any = None
) -> Any:
    """Draw the values k(x, g z) of a kernel for all elements g of a group, or for many of them.

    The curve of an invariant kernel is level.

    Parameters
    ----------
    kernel : callable, a kernel
    group : Transformations
        An infinite group needs a quadrature rule; elements that are angles are the abscissa.
    x, z : array-like of shape (d,)
    axes : Axes or None, to draw in; several kernels may share one

    Returns
    -------
    Axes

    Examples
    --------
    >>> from invariance.groups import CyclicShifts
    >>> from invariance.kernels import Average, Gaussian
    >>> group = CyclicShifts(4)
    >>> x, z = [1.0, 2.0, 0.0, 0.0], [0.0, 1.0, 2.0, 0.0]
    >>> axes = plot_along_orbit(Gaussian(0.1), group, x, z)
    >>> axes = plot_along_orbit(Average(Gaussian(0.1), group), group, x, z, axes=axes)
    >>> len(axes.lines)
    2
    """
    first = _as_point(x, "x")
    second = _as_point(z, "z")
    rule: Any = group
    if group.order == inf:
        rule = group.refined(16)
    elements, _ = (rule or group).quadrature()
    images = group.act(elements, second[None]).reshape(len(elements), -1)
    values = np.asarray(kernel(first[None], images))[0]
    if axes is None:
        _, axes = _pyplot().subplots(figsize=(4.5, 3), layout="constrained")
    has_angles = elements.ndim == 1 and elements.dtype.kind == "f"
    abscissa = elements if has_angles else np.arange(len(elements))
    order = np.argsort(abscissa, kind="stable")
    marker = "o" if len(elements) <= 40 else ""
    axes.plot(abscissa[order], values[order], marker=marker, label=type(kernel).__name__)
    axes.set(xlabel="angle" if has_angles else "element g", ylabel="k(x, g z)")
    axes.legend()
    return axes


def _pyplot() -> Any:
    need("matplotlib", "plots")
    return need("matplotlib.pyplot", "plots")


def _as_point(x: ArrayLike, name: str) -> Array:
    point = np.asarray(x, dtype=float).ravel()
    if point.size == 0:
        raise ParameterError(f"{name} must be one point of shape (d,), got no numbers")
    return point


def _row_of_axes(n: int) -> Any:
    _, axes = _pyplot().subplots(
        1, n, figsize=(_SIZE * n, _SIZE + 0.3), squeeze=False, layout="constrained"
    )
    return axes[0]


def _draw(axis: Any, group: Transformations, point: Array) -> None:
    """Draw a point as an image, as points of the plane, or as a curve."""
    grid = group.grid_shape
    if grid is not None and min(grid[:2]) > 1 and np.prod(grid) == point.size:
        axis.imshow(point.reshape(grid).mean(axis=2), cmap="gray")
        axis.set(xticks=[], yticks=[])
        return
    size = getattr(group, "_size", None) or getattr(group, "n_coordinates", None)
    if size and group.moves_points(size) and point.size % size == 0 and size > 1:
        moving = group.moves_points(size)[:2]
        points = point.reshape(-1, size)[:, moving]
        axis.plot(*points.T, "o-", markersize=4, linewidth=0.8)
        axis.plot(*points[0], "o", color="black", markersize=5)  # the first point
        axis.set_aspect("equal", adjustable="datalim")
        return
    axis.plot(point, "o-", markersize=3)
    axis.set_xticks([])
