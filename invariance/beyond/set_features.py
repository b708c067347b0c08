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
from ..core.arrays import check_array, validate_data
from ..core.config import block_bytes_of
from ..core.parameters import ParameterError, check_parameters, stores_parameters
from ..features.feature_map import FeatureMap, Inner
from .padded import PointSets, as_set_rows, nested_as_sets


@stores_parameters
class SetFeatures(FeatureMap):
    r"""Explicit features of sets: a feature map of points, averaged or summed over each set.

    .. math:: \phi(x) = \sum_i w_i \, \psi(x_i)

    With random Fourier or Nystrom features for psi, inner products approximate `SetKernel`, at a
    cost that is linear in the number of points; with a group in psi each point is compared over its
    own orbit. ``SetFeatures(SetFeatures(...))`` are features of sets of sets (n, largest, largest
    inside, d); ``SetFeatures(make_pipeline(SetFeatures(...), OrbitFourier(None)))`` also sees who
    is with whom.

    Parameters
    ----------
    features : transformer or None
        psi; None is the identity. A clone is fitted to a sample of points, one for each label.
    pooling : {"mean", "sum"}
    labelled : bool
        The first coordinate of each point is a label: points of each label have features of their
        own, side by side. Those of a label that `fit` has not seen have none.
    n_coordinates : int or None
        Numbers that make a point (label included) where sets are given as rows
        (n, largest * d) instead of padded arrays (n, largest, d).
    n_points : int, points, of each label, that ``features`` is fitted to
    block_bytes, random_state : as in `OrbitFourier`

    Attributes
    ----------
    features_ : dict from labels to fitted transformers; of None without labels

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
            fitted = None
            if self.features is not None:
                fitted = clone(self.features).fit(points.reshape(len(points), *shape))
            self.features_[label] = fitted
            self._widths[label] = _through(fitted, points[:1], shape).shape[1]
        self._n_features_out = sum(self._widths.values())
        return self

    def _sets(self, X: Any, *, reset: bool = False) -> tuple[PointSets, tuple[int, ...]]:
        """The points of each set, as rows, and the shape of a point, (d,) unless it is a set."""
        given, owner = self._fitted, type(self).__name__
        how: dict[str, Any] = {"allow_nd": True, "ensure_all_finite": "allow-nan"}
        shape = tuple(getattr(X, "shape", ()))[2:]
        nested = len(shape) > 1
        if nested and given.labelled:
            raise ParameterError(f"{owner}: labels are of points, not of sets of them")
        if shape:
            X = check_array(nested_as_sets(X)[0], **how)
        else:
            X = validate_data(self, X, reset=reset, **how)
        (rows,), size = as_set_rows(owner, given.n_coordinates, X)
        d = shape[-1] if nested else size
        if reset:
            self._d = d
            if shape:
                self.n_features_in_ = d
        elif d != self._d:
            raise ParameterError(f"{owner} was fitted to points of {self._d} numbers, got {d}")
        sets = PointSets.of(owner, rows, size, given.labelled, False, nested)
        return sets.of_means() if given.pooling == "mean" else sets, shape if nested else (-1,)

    def transform(self, X: ArrayLike) -> NDArray:
        """Features of shape (n, k), or (n, labels * k), one row per set."""
        check_is_fitted(self)
        (sets, shape), blocks = self._sets(X), []
        parts, dtype = sets.by_label(), sets.values.dtype
        for label, fitted in self.features_.items():
            pooled = np.zeros((len(sets), self._widths[label]), dtype)
            blocks.append(pooled)
            if label not in parts:
                continue
            part = parts[label]
            each = dtype.itemsize * (part.values.shape[1] + 2 * pooled.shape[1])
            step = max(1.0, block_bytes_of(self._fitted.block_bytes) / each)
            for some in part.blocks(step):
                points = part[some]
                if len(points.values):
                    pooled[some] = points.sums() @ _through(fitted, points.values, shape)
        return np.concatenate(blocks, axis=1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # without n_coordinates a row does not say where a point ends
        tags.input_tags.two_d_array = self.n_coordinates is not None
        tags.input_tags.three_d_array = True
        tags.input_tags.allow_nan = True
        return tags


def _through(features: Any, points: NDArray, shape: tuple[int, ...]) -> NDArray:
    return points if features is None else features.transform(points.reshape(len(points), *shape))
