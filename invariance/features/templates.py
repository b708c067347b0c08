"""Random templates and frequencies of feature maps."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.utils import check_random_state

from ..core import parameters as kinds
from ..core.arrays import check_array
from ..core.parameters import ParameterError, arguments, check_memory

#: Values that feature maps accept as a parameter ``templates``.
TEMPLATES = kinds.OneOf("gaussian", "sphere", "data") | kinds.Array(2)


@arguments(
    kind=TEMPLATES,
    n_templates=kinds.Whole(1),
    n_features=kinds.Whole(1),
    epsilon=kinds.Number(above=-1) | None,
    rejection=kinds.OneOf("redraw", "zero"),
    random_state=kinds.Seed(),
)
def draw_templates(
    kind: str | ArrayLike,
    n_templates: int,
    *,
    n_features: int,
    epsilon: float | None,
    rejection: str = "redraw",
    points: ArrayLike | None = None,
    random_state=None,
) -> NDArray:
    """Draw templates t of Mroueh et al. 2015, section 2, shape (n_templates, n_features).

    Parameters
    ----------
    kind : {"gaussian", "sphere", "data"} or array of shape (n_templates, n_features)
        "gaussian": N(0, I/d), accepted while |t|^2 < 1 + epsilon. "sphere": uniform on the unit
        sphere (remark 1). "data": random ``points`` other than zero, scaled to norm one, none of
        them twice before each has been drawn once. An array is used as it is, if it satisfies the
        same bound.
    epsilon : float or None
        None is no bound. A bound that rejects nearly all draws is an error.
    rejection : {"redraw", "zero"}
        "redraw" draws a rejected Gaussian again. "zero" replaces it by the paper's null template,
        NaN here, whose features are zero; inner products are then unbiased for K_s.
    points : array-like of shape (n, n_features), or None
        Needed for "data".

    Examples
    --------
    >>> draw_templates("sphere", 3, n_features=5, epsilon=0.2, random_state=0).shape
    (3, 5)
    """
    bound = np.inf if epsilon is None else 1 + epsilon
    shape = (n_templates, n_features)
    check_memory("draw_templates", 8 * prod(shape), n_templates=n_templates, n_features=n_features)
    rng = check_random_state(random_state)
    if not isinstance(kind, str):
        templates = np.asarray(kind, dtype=float)
        _check_templates(templates, shape, bound)
        return templates
    if kind == "data":
        return _draw_points(points, shape, rng)
    if kind == "sphere":
        return _normalize(rng.standard_normal(shape))
    acceptance = stats.chi2.cdf(n_features * bound, n_features)
    if acceptance < 1e-3:
        raise ParameterError(
            f"epsilon={epsilon} keeps {acceptance:.1e} of the templates: raise epsilon"
        )
    templates = rng.standard_normal(shape) / np.sqrt(n_features)
    outside = _squared_norms(templates) >= bound
    if rejection == "zero":
        templates[outside] = np.nan
        return templates
    while outside.any():
        n_outside = int(outside.sum())
        redrawn = rng.standard_normal((n_outside, n_features)) / np.sqrt(n_features)
        templates[outside] = redrawn
        outside[outside] = _squared_norms(redrawn) >= bound
    return templates


def _draw_points(
    points: ArrayLike | None, shape: tuple[int, int], rng: np.random.RandomState
) -> NDArray:
    """Draw templates of norm one from points."""
    if points is None:
        raise ParameterError("templates 'data' are drawn from points: pass points=X")
    rows = check_array(points, estimator="draw_templates", input_name="points").astype(float)
    n_templates, n_features = shape
    if rows.shape[1] != n_features:
        raise ParameterError(f"points need {n_features} features, got {rows.shape[1]}")
    # Divided by their largest entry, points have squares that neither overflow nor vanish.
    largest = np.abs(rows).max(axis=1)
    candidates = np.flatnonzero(largest)
    if len(candidates) == 0:
        raise ParameterError("templates 'data' need a point other than zero: take 'gaussian'")
    n_rounds = -(-n_templates // len(candidates))
    orders = [rng.permutation(candidates) for _ in range(n_rounds)]
    drawn = np.concatenate(orders)[:n_templates]
    return _normalize(rows[drawn] / largest[drawn, None])


def _squared_norms(templates: NDArray) -> NDArray:
    return np.square(templates).sum(axis=1)


def _normalize(templates: NDArray) -> NDArray:
    return templates / np.linalg.norm(templates, axis=1, keepdims=True)


def _check_templates(templates: NDArray, shape: tuple[int, int], bound: float) -> None:
    """Refuse a user's templates of another shape, or with squared norms not below the bound."""
    if templates.shape != shape:
        raise ParameterError(f"templates need shape (m, d) = {shape}, got {templates.shape}")
    squared_norms = _squared_norms(templates)
    if not np.all(squared_norms < bound):
        worst = int(squared_norms.argmax())
        raise ParameterError(
            f"template {worst} has |t|^2 = {squared_norms[worst]:.4g}, not below 1 + epsilon = "
            f"{bound:.4g}: scale the templates, raise epsilon, or set s explicitly"
        )


_ONE_WIDTH = kinds.Number(0.1, most=np.inf)


def _is_width(value: Any) -> bool:
    """Whether a value is a width, or a pair of widths."""
    if _ONE_WIDTH.accepts(value):
        return True
    return kinds.Each(_ONE_WIDTH).accepts(value) and len(value) == 2


_WIDTH = kinds.Kind("a width > 0, at least 0.1 pixels, or a pair of such", _is_width)


@arguments(
    n_templates=kinds.Whole(1), shape=kinds.Shape(2), width=_WIDTH, random_state=kinds.Seed()
)
def draw_windowed_templates(
    n_templates: int,
    shape: tuple[int, int],
    *,
    width: float | tuple[float, float],
    random_state=None,
) -> NDArray[np.float64]:
    """Draw Gaussian images under Gaussian windows at random places, of unit norm, as rows.

    A window makes a template respond to one part of an image. Its ``width`` is the standard
    deviation in pixels (along each axis), at least 0.1. Its centre is uniform over the image of
    ``shape`` (height, width), one ``width`` away from the border if the image is large enough. An
    infinite width gives templates that are uniform on the sphere (Mroueh et al. 2015, remark 1).

    >>> templates = draw_windowed_templates(5, (28, 28), width=3.0, random_state=0)
    >>> templates.shape, np.linalg.norm(templates, axis=1).round(6)
    ((5, 784), array([1., 1., 1., 1., 1.]))
    """
    check_memory("draw_windowed_templates", 8 * n_templates * prod(shape), n_templates=n_templates)
    widths = np.broadcast_to(width, 2).astype(float)
    rng = check_random_state(random_state)
    templates = rng.standard_normal((n_templates, *shape))
    for axis in range(2):
        length = shape[axis]
        deviation = widths[axis]
        if np.isinf(deviation):
            continue
        last = length - 1
        margin = min(deviation, last / 2)
        centres = rng.uniform(margin, last - margin, size=(n_templates, 1))
        distances = (np.arange(length) - centres) / deviation
        window = np.exp(-0.5 * np.square(distances))
        templates *= np.expand_dims(window, 2 - axis)
    return _normalize(templates.reshape(n_templates, -1))


@arguments(
    kernel=kinds.OneOf("gaussian", "laplacian"),
    gamma=kinds.Positive(),
    n_components=kinds.Whole(1),
    n_features=kinds.Whole(1),
    random_state=kinds.Seed(),
)
def draw_frequencies(
    kernel: str, gamma: float, *, n_components: int, n_features: int, random_state=None
) -> NDArray:
    r"""Draw frequencies omega from the spectral law of a shift-invariant kernel, shape (s, d).

    For "gaussian", exp(-gamma \|x - z\|^2), omega ~ N(0, 2 gamma I); for "laplacian",
    exp(-gamma \|x - z\|_1), omega has independent Cauchy entries of scale gamma.

    >>> draw_frequencies("gaussian", 0.5, n_components=3, n_features=2, random_state=0).shape
    (3, 2)
    """
    shape = (n_components, n_features)
    check_memory("draw_frequencies", 8 * prod(shape), n_components=n_components)
    rng = check_random_state(random_state)
    if kernel == "laplacian":
        return gamma * rng.standard_cauchy(shape)
    return np.sqrt(2 * gamma) * rng.standard_normal(shape)
