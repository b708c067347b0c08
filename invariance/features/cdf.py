"""`GroupCDF`: cumulative distributions of group-transformed random projections."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ..array_api import like, refuse_gradient
from ..groups import Transformations
from .orbit import OrbitFeatures
from .pooling import row_slices
from .templates import draw_templates

__all__ = ["GroupCDF"]

#: A tile of projections: large enough on both sides for the matrix product to run at full speed,
#: small enough for the pooling behind it to work in cache.
_TILE_ROWS, _TILE_COLUMNS = 512, 2048


class GroupCDF(OrbitFeatures):
    r"""CDF pooling of projections on group-transformed templates.

    Mroueh et al. 2015, section 2: for template j and threshold k = -n..n,

    .. math:: \phi_{jk}(x) = \sqrt{\frac{s}{n m}} \; \frac{1}{|G|} \sum_i
              1[\langle g_i t_j, x \rangle \le s k / n] ,

    so that the inner product of two feature vectors approximates the invariant kernel
    ``Average(CDF(epsilon, radius), group)``. The templates are transformed, never the points.

    Parameters
    ----------
    group : Transformations or None
        None is the trivial group.
    n_templates : int
        m.
    n_bins : int
        n; there are 2 n + 1 thresholds a template, m (2 n + 1) features, template by template.
    n_transforms : int or None
        Group elements to draw; None takes the group's quadrature rule, all elements of a finite
        set, where it weighs them equally.
    templates : {"gaussian", "sphere"} or array of shape (m, d)
    epsilon : float
        Norm bound |t|^2 < 1 + epsilon of the templates.
    rejection : {"redraw", "zero"}
        See `draw_templates`. With "zero" the features are unbiased for K_s; with "redraw" they
        are for K_s / P(|t|^2 < 1 + epsilon), and no template is wasted.
    s : {"bound", "data"} or float
        Half-width of the threshold range. "bound" is the paper's R (1 + epsilon), with R the
        largest norm seen at fit; it covers every projection but in d dimensions these spread over
        R / sqrt(d) only. "data" takes the 99.9 % quantile of their size on the training points.
    block_bytes : int
        Bound on temporary arrays, whatever n, m and \|G\|. Transformed templates are kept
        between calls when they fit in it, and made again, a block at a time, when not.
    random_state : int, RandomState or None

    Attributes
    ----------
    templates_ : ndarray of shape (m, d); a rejected one (``rejection="zero"``) is NaN
    rejected_ : ndarray of bool, shape (m,)
    elements_ : the group elements used, shape (\|G\|, ...)
    s_ : float

    Examples
    --------
    >>> import numpy as np
    >>> from invariance.groups import CyclicShifts
    >>> X = np.eye(6)[:2]
    >>> features = GroupCDF(CyclicShifts(6), n_templates=50, random_state=0)
    >>> Z = features.fit_transform(X)                 # e_1 and its shift e_2: one orbit
    >>> Z.shape, bool(np.allclose(Z[0], Z[1]))
    ((2, 2550), True)
    """

    def __init__(
        self,
        group: Transformations | None = None,
        n_templates: int = 100,
        n_bins: int = 25,
        n_transforms: int | None = None,
        templates: str | ArrayLike = "gaussian",
        epsilon: float = 0.2,
        rejection: str = "redraw",
        s: str | float = "bound",
        block_bytes: int = 256 * 2**20,
        random_state=None,
    ):
        self.group = group
        self.n_templates = n_templates
        self.n_bins = n_bins
        self.n_transforms = n_transforms
        self.templates = templates
        self.epsilon = epsilon
        self.rejection = rejection
        self.s = s
        self.block_bytes = block_bytes
        self.random_state = random_state

    def fit(self, X: ArrayLike, y=None) -> GroupCDF:
        """Draw templates and group elements, and fix the thresholds.

        Parameters
        ----------
        X : array-like of shape (n, d)
            NumPy's or, through the array API standard, another library's; what is fitted is kept
            as NumPy arrays.
        """
        X = self._points_to_fit(X)
        self._check_counts("n_templates", "n_bins")
        if not self.epsilon > 0:
            raise ValueError(f"GroupCDF needs epsilon > 0, got {self.epsilon!r}")
        rng = check_random_state(self.random_state)
        # With thresholds set by hand or by the data no norm bound has to hold.
        epsilon = (
            np.inf if self.s != "bound" and not isinstance(self.templates, str) else (self.epsilon)
        )
        self.templates_ = draw_templates(
            self.templates, self.n_templates, X.shape[1], epsilon, self.rejection, rng
        ).astype(X.dtype)
        self.rejected_ = np.isnan(self.templates_[:, 0])
        self.elements_, weights = self._draw_transforms(rng)
        if np.ptp(weights) > 0:
            raise ValueError(
                f"{self.group!r} weighs its elements unequally; give n_transforms to draw "
                "from its measure"
            )
        self._n_elements = len(weights)
        self._n_features_out = self.n_templates * (2 * self.n_bins + 1)
        orbit_bytes = self.templates_.nbytes * self._n_elements
        self._orbit = self._transformed(slice(None)) if orbit_bytes <= self.block_bytes else None
        self.s_ = self._half_width(X)
        return self

    def _half_width(self, X: NDArray) -> float:
        if isinstance(self.s, str):
            if self.s == "bound":
                radius = np.sqrt(np.einsum("nd,nd->n", X, X).max())
                return float(radius * (1 + self.epsilon)) or 1.0
            if self.s == "data":
                step = max(1, len(X) // 500)
                some = self._transformed(slice(0, min(self.n_templates, 20)))
                sizes = np.abs(X[::step] @ some.reshape(-1, X.shape[1]).T)
                # One per cent beyond, so that no training projection sits on the last threshold.
                return float(1.01 * np.quantile(sizes, 0.999)) or 1.0
            raise ValueError(f"s must be 'bound', 'data' or a positive number, got {self.s!r}")
        if not self.s > 0:
            raise ValueError(f"s must be 'bound', 'data' or a positive number, got {self.s!r}")
        return float(self.s)

    def _transformed(self, which: slice, elements: slice = slice(None)) -> NDArray:
        """Transformed templates of shape (templates, elements, d), contiguous."""
        templates = np.where(self.rejected_[which, None], 0, self.templates_[which])
        if self.elements_ is None:
            return templates[:, None]
        orbit = self.group.act(self.elements_[elements], templates)
        return np.ascontiguousarray(orbit.swapaxes(0, 1))

    def _transform(self, X: NDArray) -> NDArray:
        features = np.empty((len(X), self.n_templates, 2 * self.n_bins + 1), dtype=X.dtype)
        in_bins = X * X.dtype.type(self.n_bins / self.s_)
        # A block of transformed templates: whole groups while they fit, else a part of one.
        fit_in = max(1, int(self.block_bytes // 4 // (X.shape[1] * X.itemsize)))
        some_elements = min(self._n_elements, fit_in)
        some_templates = fit_in // some_elements
        for start in range(0, self.n_templates, some_templates):
            which = slice(start, min(start + some_templates, self.n_templates))
            counts = 0
            for first in range(0, self._n_elements, some_elements):
                elements = slice(first, min(first + some_elements, self._n_elements))
                kept = self._orbit is not None
                orbit = self._orbit[which] if kept else self._transformed(which, elements)
                counts = counts + self._count(in_bins, orbit.astype(X.dtype, copy=False))
            scale = np.sqrt(self.s_ / (self.n_bins * self.n_templates)) / self._n_elements
            np.multiply(counts, scale, out=features[:, which], casting="unsafe")
        # The null template of the paper has features zero.
        features[:, self.rejected_] = 0
        return features.reshape(len(X), -1)

    def _transform_arrays(self, xp, X):
        refuse_gradient("GroupCDF", X, "counts projections")
        in_bins = X * (self.n_bins / self.s_)
        scale = float(np.sqrt(self.s_ / (self.n_bins * self.n_templates)) / self._n_elements)
        # About three arrays of a tile of products, and the transformed templates themselves.
        item = self.templates_.itemsize
        per_template = self._n_elements * item * X.shape[1]
        some = max(1, int(self.block_bytes // (4 * per_template)))
        blocks = []
        for which in row_slices(self.n_templates, 1, some):
            orbit = self._transformed(which) if self._orbit is None else self._orbit[which]
            columns = like(orbit.reshape(-1, X.shape[1]).T, X)
            width = self._n_elements * (which.stop - which.start)
            step = max(1, int(self.block_bytes // (3 * item * width)))
            rows = []
            for block in row_slices(X.shape[0], 1, step):
                values = in_bins[block, :] @ columns
                values = xp.reshape(values, (values.shape[0], -1, self._n_elements))
                counts = [
                    xp.sum(xp.astype(values <= k, xp.int32), axis=-1)
                    for k in range(-self.n_bins, self.n_bins + 1)
                ]
                rows.append(xp.astype(xp.stack(counts, axis=-1), X.dtype) * scale)
            blocks.append(xp.concat(rows, axis=0))
        kept = like(~self.rejected_[:, None], X)
        features = xp.concat(blocks, axis=1) * kept
        return xp.reshape(features, (X.shape[0], -1))

    def _count(self, X: NDArray, orbit: NDArray) -> NDArray:
        """Numbers of projections at or below each threshold, shape (n, templates, 2 n_bins + 1).

        A projection in units of the bin width falls below threshold k from k = ceil(value) on: one
        histogram and one cumulative sum replace 2 n_bins + 1 comparisons.
        """
        n_templates, n_elements, d = orbit.shape
        counts = np.zeros((len(X), n_templates, 2 * self.n_bins + 1), dtype=np.int32)
        some_templates = max(1, _TILE_COLUMNS // n_elements)
        for start in range(0, n_templates, some_templates):
            which = slice(start, min(start + some_templates, n_templates))
            for first in range(0, n_elements, _TILE_COLUMNS):
                tile = orbit[which, first : first + _TILE_COLUMNS]
                shape = tile.shape[:2]
                for begin in range(0, len(X), _TILE_ROWS):
                    rows = slice(begin, begin + _TILE_ROWS)
                    values = (X[rows] @ tile.reshape(-1, d).T).reshape(-1, *shape)
                    counts[rows, which] += self._cumulate(values)
        return counts

    def _cumulate(self, values: NDArray) -> NDArray:
        """Cumulative histograms over the last axis of projections in units of the bin width."""
        n_cells = 2 * self.n_bins + 2
        np.ceil(values, out=values)
        np.clip(values, -self.n_bins, self.n_bins + 1, out=values)
        lead = values.shape[:2]
        offsets = np.arange(lead[0] * lead[1]).reshape(*lead, 1) * n_cells + self.n_bins
        cells = np.empty(values.shape, dtype=np.intp)
        np.add(values, offsets, out=cells, casting="unsafe")
        histogram = np.bincount(cells.ravel(), minlength=lead[0] * lead[1] * n_cells)
        return np.cumsum(histogram.reshape(*lead, n_cells)[..., :-1], axis=2, dtype=np.int32)
