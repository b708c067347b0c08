"""`FeatureMap`: what every transformer of this package does with its points and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import is_plain, validate_data
from ..core.parameters import Kind, ParameterError, check_parameters


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A transformer of points, given as rows, that keeps their floating type.

    Subclasses declare their parameters' kinds in ``_parameters`` and set ``_n_features_out`` when
    they are fitted. What they need of their parameters afterwards they read from ``_fitted``, a
    record of the parameters at `fit`: ``set_params`` changes nothing before the next one.
    """

    _parameters: Mapping[str, Kind] = {}
    _fitted: SimpleNamespace

    def _points_to_fit(self, X: ArrayLike) -> NDArray:
        """X of shape (n, d) in single or double precision; its d is remembered."""
        check_parameters(self)
        self._fitted = SimpleNamespace(**self.get_params(deep=False))
        _check_rows(type(self).__name__, X)
        return validate_data(self, X)

    def _points_to_transform(self, X: ArrayLike) -> NDArray:
        """X of shape (n, d) in single or double precision, with the d of the fitted points."""
        check_is_fitted(self)
        named = hasattr(self, "feature_names_in_")  # whoever gives none is then warned
        if is_plain(X) and X.shape[1] == self.n_features_in_ and not named:
            return X
        _check_rows(type(self).__name__, X)
        return validate_data(self, X, reset=False)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _check_rows(owner: str, X: Any) -> None:
    """Refuse arrays of images, which are to be given as rows of pixels."""
    shape = tuple(getattr(X, "shape", ()))
    if len(shape) > 2:
        raise ParameterError(
            f"{owner} expects points as rows of shape (n, d), got shape {shape}; use "
            "X.reshape(len(X), -1)"
        )
