"""`FeatureMap`: what every transformer of this package does with its points and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Annotated

from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import is_plain, validate_data
from ..core.parameters import Has, Kind, ParameterError, check_parameters

#: Of transformers of parts of points, by another transformer.
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

    Subclasses declare their parameters' kinds in ``_parameters`` and set ``_n_features_out`` when
    they are fitted. What they need of their parameters afterwards they read from ``_fitted``, a
    record of the parameters at `fit`: ``set_params`` changes nothing before the next one.
    """

    _parameters: Mapping[str, Kind] = {}
    #: Advice for arrays of more than two axes.
    _as_rows = "use X.reshape(len(X), -1)"
    _fitted: SimpleNamespace

    def _points_to_fit(self, X: ArrayLike) -> NDArray:
        """X of shape (n, d) in single or double precision; its d is remembered."""
        check_parameters(self)
        self._fitted = SimpleNamespace(**self.get_params(deep=False))
        return self._rows(X, reset=True)

    def _points_to_transform(self, X: ArrayLike) -> NDArray:
        """X of shape (n, d) in single or double precision, with the d of the fitted points."""
        check_is_fitted(self)
        named = hasattr(self, "feature_names_in_")  # whoever gives none is then warned
        if is_plain(X) and X.shape[1] == self.n_features_in_ and not named:
            return X
        return self._rows(X, reset=False)

    def _rows(self, X: ArrayLike, reset: bool) -> NDArray:
        """Points, and not arrays of images, which are to be given as rows of pixels."""
        if len(shape := tuple(getattr(X, "shape", ()))) > 2:
            raise ParameterError(
                f"{type(self).__name__} expects points as rows of shape (n, d), got shape {shape}; "
                f"{self._as_rows}"
            )
        return validate_data(self, X, reset=reset)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        own = getattr(self, "features", None) is None  # no other transformer's
        tags.transformer_tags.preserves_dtype = ["float64", "float32"] if own else []
        return tags
