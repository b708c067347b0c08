"""`SetFeatures`: means or sums of a feature map over the points of a set."""

from __future__ import annotations

from dataclasses import KW_ONLY
from types import SimpleNamespace
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..core import parameters as kinds
from ..core.arrays import check_array, is_foreign, like, on_host, validate_data
from ..core.config import block_bytes_of
from ..core.dask_arrays import over_blocks
from ..core.parameters import ParameterError, check_parameters, stores_parameters
from ..features.feature_map import FeatureMap, Inner
from .padded import PointSets, as_set_rows, nested_as_sets

Array = NDArray[Any]


@stores_parameters
class SetFeatures(FeatureMap):
    r"""Explicit features of sets: a feature map of points, averaged or summed over each set.

    .. math:: \phi(x) = \sum_i w_i \, \psi(x_i)

    With random Fourier or Nystrom features for psi, inner products approximate `SetKernel`, at a
    cost that is linear in the number of points. If psi has a group, each point is compared over its
    own orbit. ``SetFeatures(SetFeatures(...))`` are features of sets of sets (n, largest, largest
    inside, d); ``SetFeatures(make_pipeline(SetFeatures(...), OrbitFourier(None)))`` also depends on
    which points are in the same inner set.

    Parameters
    ----------
    features : transformer or None
        psi; None is the identity. A clone is fitted to a sample of points, one clone per label.
    pooling : {"mean", "sum"}
    labelled : bool
        The first coordinate of each point is a label. Each label of the training points has its own
        features, side by side; points with other labels are ignored.
    n_coordinates : int or None
        Numbers per point (label included) if sets are rows (n, largest * d) instead of padded
        arrays (n, largest, d).
    n_points : int
        Largest number of points of each label that ``features`` is fitted to.
    block_bytes, random_state : as in `OrbitFourier`

    Attributes
    ----------
    features_ : dict
        Fitted transformers by label; the only key is None if there are no labels.

    Examples
    --------
    >>> from invariance.features import OrbitNystroem
    >>> from invariance.beyond import pad_sets
    >>> from invariance.kernels import Gaussian
    >>> from invariance.beyond import SetKernel
    >>> rng = np.random.default_rng(0)
    >>> X = pad_sets([rng.standard_normal((m, 2)) for m in (3, 5, 4)])
    >>> features = SetFeatures(OrbitNystroem(n_components=12, kernel=Gaussian(1.0), random_state=0))
    >>> Z = features.fit_transform(X)
    >>> bool(np.allclose(Z @ Z.T, SetKernel(Gaussian(1.0))(X)))       # every point is a landmark
    True
    """

    features: Inner = None
    pooling: Annotated[str, kinds.OneOf("mean", "sum")] = "mean"
    _: KW_ONLY
    labelled: Annotated[bool, kinds.Flag()] = False
    n_coordinates: Annotated[int | None, kinds.Whole(1) | None] = None
    n_points: Annotated[int, kinds.Whole(1)] = 10_000
    block_bytes: kinds.BlockBytes = None
    random_state: kinds.RandomState = None

    def fit(self, X: ArrayLike, y: Any = None) -> SetFeatures:
        """Fit the feature map to points of sets X, of shape (n, largest, d) or rows."""
        check_parameters(self)
        self._fitted = SimpleNamespace(**self.get_params(deep=False))
        sets, shape = self._sets(X, reset=True)
        rng = check_random_state(self.random_state)
        self.features_ = {}
        self._widths = {}
        for label, part in sets.by_label().items():
            points = part.values
            if len(points) > self.n_points:
                points = points[rng.choice(len(points), self.n_points, replace=False)]
            features = None
            if self.features is not None:
                features = clone(self.features).fit(points.reshape(len(points), *shape))
            self.features_[label] = features
            self._widths[label] = _transformed(features, points[:1], shape).shape[1]
        self._n_features_out = sum(self._widths.values())
        return self

    def _sets(self, X: Any, *, reset: bool = False) -> tuple[PointSets, tuple[int, ...]]:
        """Return the sets with their points as rows, and the shape of a point.

        The shape is (-1,), or that of a padded set if points are sets themselves.
        """
        parameters = self._fitted
        owner = type(self).__name__
        point_shape = tuple(getattr(X, "shape", ()))[2:]
        nested = len(point_shape) > 1
        if nested and parameters.labelled:
            raise ParameterError(f"{owner}: labels are of points, not of sets of them")
        if point_shape:
            padded = nested_as_sets(X)[0]
            X = check_array(padded, allow_nd=True, ensure_all_finite="allow-nan")
        else:
            X = validate_data(self, X, reset=reset, allow_nd=True, ensure_all_finite="allow-nan")
        (rows,), size = as_set_rows(owner, parameters.n_coordinates, X)
        d = point_shape[-1] if nested else size
        if reset:
            self._d = d
            if point_shape:
                self.n_features_in_ = d
        elif d != self._d:
            raise ParameterError(f"{owner} was fitted to points of {self._d} numbers, got {d}")
        sets = PointSets.from_rows(
            owner, rows, size, labelled=parameters.labelled, weighted=False, nested=nested
        )
        if parameters.pooling == "mean":
            sets = sets.with_mean_weights()
        return sets, point_shape if nested else (-1,)

    def dtype_of_features(self, point: Array) -> np.dtype[Any]:
        sets, _ = self._sets(point)
        return sets.values.dtype

    @over_blocks
    def transform(self, X: ArrayLike) -> Array:
        """Return features of shape (n, k), or (n, labels * k), one row per set."""
        check_is_fitted(self)
        if is_foreign(X):
            return like(self.transform(on_host(X, "SetFeatures.transform")), X)
        sets, point_shape = self._sets(X)
        parts = sets.by_label()
        dtype = sets.values.dtype
        pooled_by_label = []
        for label, features in self.features_.items():
            pooled = np.zeros((len(sets), self._widths[label]), dtype)
            pooled_by_label.append(pooled)
            if label not in parts:
                continue
            part = parts[label]
            bytes_per_point = dtype.itemsize * (part.values.shape[1] + 2 * pooled.shape[1])
            n_points = max(1.0, block_bytes_of(self._fitted.block_bytes) / bytes_per_point)
            for block in part.blocks(n_points):
                block_sets = part[block]
                if len(block_sets.values):
                    values = _transformed(features, block_sets.values, point_shape)
                    pooled[block] = block_sets.sums() @ values
        return np.concatenate(pooled_by_label, axis=1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # Without n_coordinates, the points of a row cannot be separated.
        tags.input_tags.two_d_array = self.n_coordinates is not None
        tags.input_tags.three_d_array = True
        tags.input_tags.allow_nan = True
        return tags


def _transformed(features: Any, points: Array, point_shape: tuple[int, ...]) -> Array:
    """Return features of points, or the points themselves if there is no transformer."""
    if features is None:
        return points
    transformed: Array = features.transform(points.reshape(len(points), *point_shape))
    return transformed
