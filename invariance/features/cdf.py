r"""`GroupCDF`: cumulative distributions of random projections over the group.

Templates are drawn and prepared at `fit` (`OrbitFeatures`); `transform` is one `Histogram` of
inner products over the orbits of the templates.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import parameters as kinds
from ..core.arrays import is_foreign, like, namespace, refuse_gradient
from ..core.parameters import ParameterError, check_memory, stores_parameters
from ..orbits import Histogram
from ..orbits.numerics import row_norms
from .orbit import OrbitFeatures
from .templates import TEMPLATES, draw_templates


@stores_parameters
class GroupCDF(OrbitFeatures):
    r"""CDF pooling of projections on group-transformed templates.

    Mroueh et al. 2015, section 2: for template j and threshold k = -n..n,

    .. math:: \phi_{jk}(x) = \sqrt{\frac{s}{n m}} \; \frac{1}{|G|} \sum_i
              1[\langle g_i t_j, x \rangle \le s k / n] ,

    so that the inner product of two feature vectors approximates the invariant kernel
    ``Average(CDF(epsilon, radius), group)``. The templates are transformed, never the points.
    Inner products that exceed a threshold by no more than rounding count as equal to it: by up to
    :math:`8 + \sqrt{d} / 2` units in the last place of :math:`\lVert x \rVert \lVert g t \rVert`.
    Rounding depends on g, and would otherwise decide whether a product of zero is at most zero.

    Parameters
    ----------
    group, n_transforms : as in `OrbitFourier`
    n_components : int, number of templates m
    n_bins : int
        n; there are 2 n + 1 thresholds per template, m (2 n + 1) features, template by template.
    templates : {"gaussian", "sphere", "data"} or array of shape (m, d)
        Random, or random training points scaled to norm one; see `draw_templates`.
    epsilon : float, norm bound \|t\|^2 < 1 + epsilon of the templates
    rejection : {"redraw", "zero"}
        See `draw_templates`. With "zero" the outermost thresholds count half, as in the trapezoidal
        rule, and inner products are unbiased for K_s; with "redraw" they are larger on average than
        K_s / P(\|t\|^2 < 1 + epsilon) by half a bin, s / (2 n).
    s : {"bound", "data"} or float
        Half-width of the threshold range. "bound" is the paper's R (1 + epsilon), with R the
        largest norm of the training points. It covers every projection, but in d dimensions most
        projections are as small as R / sqrt(d). "data" takes the 99.9 % quantile of their absolute
        values on the training points.
    tolerance, block_bytes, n_jobs, verbose, random_state : as in `OrbitFourier`
        Shares of nodes converge slowly, hence the larger default tolerance. Rotations of a single
        frequency, such as `PlaneRotations`, need no nodes: the shares are lengths of arcs.

    Attributes
    ----------
    templates_ : ndarray of shape (m, d); rejected ones (``rejection="zero"``) are NaN
    elements_ : the group elements used, shape (\|G\|, ...)
    s_ : float

    Examples
    --------
    >>> import numpy as np
    >>> from invariance.groups import CyclicShifts
    >>> X = np.eye(6)[:2]
    >>> features = GroupCDF(CyclicShifts(6), n_components=50, random_state=0)
    >>> Z = features.fit_transform(X)                 # e_1 and its shift e_2: one orbit
    >>> Z.shape, bool(np.allclose(Z[0], Z[1]))
    ((2, 2550), True)
    >>> of_points = GroupCDF(CyclicShifts(6), 3, templates="data", random_state=0).fit(X)
    >>> np.linalg.norm(of_points.templates_, axis=1)
    array([1., 1., 1.])
    """

    _: KW_ONLY
    tolerance: Annotated[float, kinds.Positive()] = 0.01
    n_bins: Annotated[int, kinds.Whole(1)] = 25
    templates: Annotated[str | ArrayLike, TEMPLATES] = "gaussian"
    epsilon: Annotated[float, kinds.Positive()] = 0.2
    rejection: Annotated[str, kinds.OneOf("redraw", "zero")] = "redraw"
    s: Annotated[str | float, kinds.OneOf("bound", "data") | kinds.Positive()] = "bound"

    def _fit(self, X: NDArray, rng: np.random.RandomState) -> None:
        templates = self._draw_templates(X, rng).astype(X.dtype)
        rejected = np.isnan(templates[:, :1])
        self.templates_ = templates
        self.elements_, _ = self._draw_transforms(rng)
        n_thresholds = 2 * self.n_bins + 1
        self._n_features_out = self.n_components * n_thresholds
        check_memory("GroupCDF", 8 * self._n_features_out, n_bins=self.n_bins)
        templates = np.where(rejected, 0, templates)
        self.s_ = self._half_width(X, templates)
        self._check_bin_width(X.dtype)
        scale = np.sqrt(self.s_ / (self.n_bins * self.n_components))
        scales = np.full(n_thresholds, scale)
        if self.rejection == "zero":
            scales[[0, -1]] *= np.sqrt(0.5)
        # All features of a null template are zero, as in the paper.
        self._factors = np.where(rejected, 0, scales)
        # In units of a bin the thresholds are whole numbers.
        templates_in_bins = templates * X.dtype.type(self.n_bins / self.s_)
        self._prepare(templates_in_bins, Histogram(self.n_bins, self.n_bins))

    def _draw_templates(self, X: NDArray, rng: np.random.RandomState) -> NDArray:
        epsilon: float | None = self.epsilon
        if self.s != "bound" and not isinstance(self.templates, str):
            # The thresholds do not depend on a norm bound, so the templates may have any norm.
            epsilon = None
        return draw_templates(
            self.templates,
            self.n_components,
            n_features=X.shape[1],
            epsilon=epsilon,
            rejection=self.rejection,
            points=X,
            random_state=rng,
        )

    def _check_bin_width(self, dtype: np.dtype) -> None:
        limits = np.finfo(dtype)
        bin_width = self.s_ / self.n_bins
        if not 1e3 * float(limits.tiny) < bin_width < 1e-3 * float(limits.max):
            raise ParameterError(
                f"s={self.s!r}, here {self.s_:.3g}, is beyond {dtype}: rescale the points, and "
                "s with them, so that inner products with the templates are of ordinary size"
            )

    def _half_width(self, X: NDArray, templates: NDArray) -> float:
        if self.s == "bound":
            return float(row_norms(X).max() * (1 + self.epsilon)) or 1.0
        if self.s != "data":
            return float(self.s)
        step = max(1, len(X) // 500)
        points = X[::step]
        templates = templates[:20]
        if self.group_ is not None and self.elements_ is not None:
            templates = self.group_.act(self.elements_, templates)
            templates = templates.reshape(-1, X.shape[1])
        sizes = np.abs(points @ templates.T)
        # One per cent is added so that no training projection equals the last threshold.
        return float(1.01 * np.quantile(sizes, 0.999)) or 1.0

    def _points(self, X: Any) -> Any:
        if is_foreign(X):
            refuse_gradient("GroupCDF", X, "counts projections")
        return super()._points(X)

    def _scaled(self, values: Any) -> Any:
        values *= like(self._factors, values)
        if isinstance(values, np.ndarray):
            return values.reshape(len(values), -1)
        return namespace(values).reshape(values, (values.shape[0], -1))
