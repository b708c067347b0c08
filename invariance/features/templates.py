"""Random templates, of a law that a kernel asks for or for one place; `median_gamma`."""

from __future__ import annotations

from math import log10, prod

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.linalg import hadamard
from scipy.spatial.distance import pdist
from sklearn.utils import check_random_state

from ..core import parameters as kinds
from ..core.arrays import check_array
from ..core.parameters import ParameterError, arguments, check_memory

#: Points that are looked at.
_MOST = 1000


@arguments(
    kind=kinds.OneOf("gaussian", "sphere") | kinds.Array(2),
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
    random_state=None,
) -> NDArray:
    """Draw templates t of Mroueh et al. 2015, section 2, shape (n_templates, n_features).

    Parameters
    ----------
    kind : {"gaussian", "sphere"} or array of shape (n_templates, n_features)
        "gaussian": N(0, I/d), accepted while |t|^2 < 1 + epsilon. "sphere": uniform on the unit
        sphere (remark 1). An array is taken as it is, and held to the same bound.
    epsilon : float or None
        None is no bound. One that rules out nearly all draws is refused.
    rejection : {"redraw", "zero"}
        What happens to a rejected Gaussian: drawn again (no template is wasted), or the paper's
        null template, NaN here, whose features are zero (unbiased for K_s).

    Examples
    --------
    >>> draw_templates("sphere", 3, n_features=5, epsilon=0.2, random_state=0).shape
    (3, 5)
    """
    d, bound = n_features, np.inf if epsilon is None else 1 + epsilon
    check_memory("draw_templates", 8 * n_templates * d, n_templates=n_templates, n_features=d)
    rng = check_random_state(random_state)
    if not isinstance(kind, str):
        return _held_to(bound, np.asarray(kind, dtype=float), (n_templates, d))
    if kind == "sphere":
        templates = rng.standard_normal((n_templates, d))
        return templates / np.linalg.norm(templates, axis=1, keepdims=True)
    kept = stats.chi2.cdf(d * bound, d)
    if kept < 1e-3:
        raise ParameterError(f"epsilon={epsilon} keeps {kept:.1e} of the templates: raise epsilon")
    templates = rng.standard_normal((n_templates, d)) / np.sqrt(d)
    outside = np.square(templates).sum(axis=1) >= bound
    if rejection == "zero":
        templates[outside] = np.nan
        return templates
    while outside.any():
        fresh = rng.standard_normal((int(outside.sum()), d)) / np.sqrt(d)
        templates[outside] = fresh
        outside[outside] = np.square(fresh).sum(axis=1) >= bound
    return templates


def _held_to(bound: float, templates: NDArray, shape: tuple[int, int]) -> NDArray:
    """Own templates, of the shape that is due and of squared norms below the bound."""
    if templates.shape != shape:
        raise ParameterError(f"templates need shape (m, d) = {shape}, got {templates.shape}")
    squared = np.square(templates).sum(axis=1)
    if not np.all(squared < bound):
        worst = int(squared.argmax())
        raise ParameterError(
            f"template {worst} has |t|^2 = {squared[worst]:.4g}, not below 1 + epsilon = "
            f"{bound:.4g}: scale the templates, raise epsilon, or set s explicitly"
        )
    return templates


_SIDE = kinds.Number(0.1, most=np.inf)
_WIDTH = kinds.Kind(
    "a width > 0, at least 0.1 pixels, or a pair of such",
    lambda v: _SIDE.accepts(v) or (kinds.Each(_SIDE).accepts(v) and len(v) == 2),
)


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
    """Gaussian images under a Gaussian window at a random place, of unit norm, as rows.

    A window makes a template answer to one part of an image. Places are uniform over the image of
    ``shape`` (height, width), one ``width`` away from its border where there is room: the window's
    standard deviation in pixels (along each axis), at least 0.1. An infinite one gives templates
    uniform on the sphere (Mroueh et al. 2015, remark 1).

    >>> templates = draw_windowed_templates(5, (28, 28), width=3.0, random_state=0)
    >>> templates.shape, np.linalg.norm(templates, axis=1).round(6)
    ((5, 784), array([1., 1., 1., 1., 1.]))
    """
    check_memory("draw_windowed_templates", 8 * n_templates * prod(shape), n_templates=n_templates)
    widths = np.broadcast_to(width, 2).astype(float)
    rng = check_random_state(random_state)
    templates = rng.standard_normal((n_templates, *shape))
    for axis, (length, sd) in enumerate(zip(shape, widths, strict=True)):
        if np.isinf(sd):
            continue
        margin = min(sd, (length - 1) / 2)
        centres = rng.uniform(margin, length - 1 - margin, size=(n_templates, 1))
        window = np.exp(-0.5 * np.square((np.arange(length) - centres) / sd))
        templates *= np.expand_dims(window, 2 - axis)
    templates = templates.reshape(n_templates, -1)
    return templates / np.linalg.norm(templates, axis=1, keepdims=True)


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
    r"""Templates omega ~ p, the spectral law of a shift-invariant kernel, shape (s, d).

    For "gaussian", exp(-gamma \|x - z\|^2), omega ~ N(0, 2 gamma I); for "laplacian",
    exp(-gamma \|x - z\|_1), omega has independent Cauchy entries of scale gamma.

    >>> draw_frequencies("gaussian", 0.5, n_components=3, n_features=2, random_state=0).shape
    (3, 2)
    """
    shape = n_components, n_features
    check_memory("draw_frequencies", 8 * prod(shape), n_components=n_components)
    rng = check_random_state(random_state)
    if kernel == "laplacian":
        return gamma * rng.standard_cauchy(shape)
    return np.sqrt(2 * gamma) * rng.standard_normal(shape)


@arguments(kernel=kinds.OneOf("gaussian", "laplacian"), random_state=kinds.Seed())
def median_gamma(X: ArrayLike, kernel: str = "gaussian", *, random_state=None) -> float:
    """The gamma whose kernel falls to a fixed value at the median distance between points.

    1 / (2 median |x - z|^2) or, for the Laplacian, 1 / median |x - z|_1, over pairs of at
    most 1,000 points drawn from X, of shape (n, d); 1.0 where all points coincide.

    >>> median_gamma([[0.0], [1.0]])
    0.5
    """
    points = check_array(X, estimator="median_gamma").astype(float, copy=False)
    rng = check_random_state(random_state)
    if len(points) > _MOST:
        points = points[rng.choice(len(points), _MOST, replace=False)]
    if len(points) < 2:
        return 1.0
    # In a unit of about the points' size, a power of two, no square overflows or vanishes.
    reach = float(np.max(points.max(axis=0) / 2 - points.min(axis=0) / 2))
    if reach == 0:
        return 1.0
    exponent = int(np.frexp(reach)[1])
    points = np.ldexp(points, -exponent)
    if kernel == "laplacian":
        median = float(np.median(pdist(points, "cityblock")))
        exponents = exponent
    else:
        median = 2 * _median_squared_distance(points)
        exponents = 2 * exponent
    if median == 0:
        spread = float(np.ptp(points, axis=0).max())
        if spread > 0 and spread**2 < np.finfo(float).tiny:
            raise ValueError(f"X is too close, within {spread:.2g}: rescale X")
        return 1.0
    size = -log10(median) - exponents * log10(2)
    if not -300 <= size <= 150:
        raise ValueError(
            f"X is too {'far apart' if size < 0 else 'close'}: rescale X, as the median distance "
            f"asks for a gamma of about 1e{size:+.0f}, beyond the range from 1e-300 to 1e+150"
        )
    return float(np.ldexp(1 / median, -exponents))


def _median_squared_distance(X: NDArray) -> float:
    """Through one matrix product of centred points where that loses no digits."""
    with np.errstate(over="ignore", invalid="ignore"):
        centred = X - X.mean(axis=0, dtype=np.float64)
        gram = centred @ centred.T
        norms = gram.diagonal().copy()
        gram *= 2
        rows = enumerate(gram)
        pairs = np.concatenate([norms[i] + norms[i + 1 :] - row[i + 1 :] for i, row in rows])
        median = float(np.median(pairs, overwrite_input=True))
    # Distances far below the norms, as within distant clusters, are lost to cancellation there.
    if median > 1e-3 * norms.max() > 0 and np.isfinite(median):
        return median
    return float(np.median(pdist(X, "sqeuclidean")))


class StructuredTemplates:
    r"""Gaussian templates in Hadamard blocks, whose projections need no large matrix product.

    Raj et al. 2017, remark 4, after Le, Sarlos and Smola 2013 and Yu et al. 2016: for the kernel
    exp(-gamma \|x - z\|^2), in blocks of p, the next power of two above d, the rows of

    .. math:: \sqrt{2 \gamma}\; S\, H D_3\, H D_2\, H D_1 ,

    with H the orthonormal Hadamard matrix, D_i random signs and S the radii of Gaussian vectors. H
    is a Kronecker product of two of size :math:`\sqrt p`: all projections of a point on a block
    take :math:`O(p \sqrt p)` operations in small matrix products, not :math:`p^2`.

    >>> templates = StructuredTemplates(6, 3, gamma=0.5, random_state=0)
    >>> templates.products(np.eye(3)).shape                            # <e_i, omega_j>
    (3, 6)
    """

    @arguments(
        n_components=kinds.Whole(1),
        n_features=kinds.Whole(1),
        gamma=kinds.Positive(),
        random_state=kinds.Seed(),
    )
    def __init__(self, n_components: int, n_features: int, *, gamma: float, random_state=None):
        rng = check_random_state(random_state)
        self.n_components, self.n_features = n_components, n_features
        exponent = max(1, int(n_features - 1).bit_length())
        self.size = 2**exponent
        blocks = -(-n_components // self.size)
        self.signs = rng.choice([-1.0, 1.0], size=(blocks, 3, self.size))
        # Three orthonormal products, and sqrt(p) of a Gaussian vector's length.
        radii = np.sqrt(rng.chisquare(self.size, size=(blocks, self.size)))
        self.radii = np.sqrt(2 * gamma) * radii / self.size**1.5
        self._factors = hadamard(2 ** (exponent // 2)), hadamard(2 ** (exponent - exponent // 2))

    @arguments(X=kinds.Array(2))
    def products(self, X: ArrayLike) -> NDArray:
        """Inner products <x, omega>, shape (n, n_components), of X's precision."""
        points = np.asarray(X)
        kind = np.result_type(points.dtype, np.float32)
        left, right = (factor.astype(kind) for factor in self._factors)
        padded = np.zeros((len(points), self.size), dtype=kind)
        padded[:, : self.n_features] = points
        parts = []
        for signs, radii in zip(self.signs.astype(kind), self.radii.astype(kind), strict=True):
            values = padded
            for flips in signs:
                table = (values * flips).reshape(-1, len(left), len(right))
                values = (left @ (table @ right)).reshape(len(points), -1)
            parts.append(values * radii)
        return np.hstack(parts)[:, : self.n_components]
