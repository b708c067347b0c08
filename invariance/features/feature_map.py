"""`FeatureMap`: the base class of all transformers, which checks points and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import is_plain, validate_data
from ..core.parameters import Has, Kind, ParameterError, check_parameters

#: The inner transformer of a transformer that applies it to parts of points.
Inner = Annotated[
    TransformerMixin | None, Has("a transformer, such as PCA(4)", "fit", "transform") | None
]


#: Advice for series of several channels: rows of a reshaped array would join them end to end.
ONE_CHANNEL = (
    "a row is one series: fit one to each channel, such as X[:, :, 0] if channels are the last "
    "axis, and join their features by np.hstack"
)


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A transformer of points, given as rows, that keeps their floating type.

    Subclasses declare the kinds of their parameters in ``_parameters`` and set ``_n_features_out``
    in `fit`. After `fit` they read parameters from ``_fitted``, a record made by `fit`, so that
    ``set_params`` has no effect before the next `fit`. The method `transform` of a subclass is
    decorated with `over_blocks`, so that it takes Dask arrays.
    """

    _parameters: Mapping[str, Kind] = {}
    #: Advice for arrays of more than two axes.
    _as_rows = "use X.reshape(len(X), -1)"
    #: Whether points must be finite; "allow-nan" permits NaN.
    _ensure_all_finite: bool | str = True
    _fitted: SimpleNamespace

    def _points_to_fit(self, X: ArrayLike) -> NDArray:
        """Check parameters, and points X of shape (n, d), in single or double precision."""
        check_parameters(self)
        self._fitted = SimpleNamespace(**self.get_params(deep=False))
        return self._rows(X, reset=True)

    def _points_to_transform(self, X: ArrayLike) -> NDArray:
        """Check points X of shape (n, d), which have as many features as the fitted points."""
        check_is_fitted(self)
        # Points without names cause a warning if the fitted ones had names.
        has_names = hasattr(self, "feature_names_in_")
        if is_plain(X) and X.shape[1] == self.n_features_in_ and not has_names:
            return X
        return self._rows(X, reset=False)

    def dtype_of_features(self, point: NDArray) -> np.dtype:
        """Check one point, given as a row, and return the floating type of its features."""
        return self._rows(point, reset=False).dtype

    def _rows(self, X: ArrayLike, reset: bool) -> NDArray:
        """Check points as rows, and refuse arrays of images, whose pixels are not in one row."""
        shape = tuple(getattr(X, "shape", ()))
        if len(shape) > 2:
            raise ParameterError(
                f"{type(self).__name__} expects points as rows of shape (n, d), got shape {shape}; "
                f"{self._as_rows}"
            )
        return validate_data(self, X, reset=reset, ensure_all_finite=self._ensure_all_finite)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # The type of an inner transformer's features is not known.
        if getattr(self, "features", None) is None:
            tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        else:
            tags.transformer_tags.preserves_dtype = []
        return tags
