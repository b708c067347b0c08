"""`OrbitFeatures`: what features that reduce inner products over orbits share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, field
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..core import parameters as kinds
from ..core.arrays import check_arrays, is_foreign, namespace, on_host
from ..core.parameters import ParameterError, stores_parameters
from ..groups import Transformations
from ..groups.base import GROUP
from ..orbits import Explanation, OrbitProducts, Reduction
from ..orbits.way import warn
from .feature_map import FeatureMap

#: Of the features whose elements may act on either side.
Side = Annotated[str, kinds.OneOf("auto", "first", "second")]


@stores_parameters
class OrbitFeatures(FeatureMap, ABC):
    """Reductions of <x, g t>, or of a kernel k(x, g t), over g for templates t.

    `fit` sets ``_orbits``, and transforming is one `OrbitProducts.reduce`.
    """

    group: Annotated[Transformations | None, GROUP | None] = None
    n_components: Annotated[int, kinds.Whole(1)] = 100
    _: KW_ONLY
    n_transforms: Annotated[int | None, kinds.Whole(1) | None] = None
    block_bytes: kinds.BlockBytes = None
    n_jobs: kinds.Jobs = None
    verbose: kinds.Verbose = 0
    random_state: kinds.RandomState = None

    _orbits: OrbitProducts = field(init=False)
    _keeps: Reduction = field(init=False)

    def fit(self, X: ArrayLike, y=None) -> Self:
        """Draw templates and group elements, with all that depends on them.

        X, of shape (n, d), may be another library's array; what is fitted is NumPy's.
        """
        self._fit(self._points_to_fit(X), check_random_state(self.random_state))
        return self

    @abstractmethod
    def _fit(self, X: NDArray, rng: np.random.RandomState) -> None:
        """`fit` to validated points."""

    def transform(self, X: ArrayLike) -> NDArray:
        """Features of points X of shape (n, d), one row per point, of X's floating type.

        They are in the library and on the device of X.
        """
        return self._scaled(self._reduced(self._points(X)))

    def explain(self, X: ArrayLike) -> Explanation:
        """How `transform` would compute the features of X: the way, operations, memory, seconds."""
        return self._orbits.explain(self._points(X), self._keeps)

    def _scaled(self, values: Any) -> Any:
        """Features from what is kept of the orbits, an array that may be overwritten."""
        return values

    def _points_to_fit(self, X: ArrayLike) -> NDArray:
        owner = type(self).__name__
        if is_foreign(X):
            check_arrays(owner, X)
            X = on_host(X, f"{owner}.fit")
        X = super()._points_to_fit(X)
        self._check_size(X)
        self.group_: Any = clone(self.group, safe=False)
        due = getattr(self.group_, "n_features", None)
        if due not in (None, X.shape[1]):
            raise ParameterError(f"{self.group!r} acts on arrays of shape (n, {due}): {X.shape}")
        return X

    def _points(self, X: Any) -> Any:
        if is_foreign(X):
            check_is_fitted(self)
            check_arrays(type(self).__name__, X, n_features=self.n_features_in_)
        else:
            X = self._points_to_transform(X)
        self._check_size(X)
        return X

    def _check_size(self, X: Any) -> None:
        """Refuse points whose squared norms, and so possibly inner products, overflow."""
        xp = namespace(X)
        largest = max(float(xp.max(X)), -float(xp.min(X)))
        if largest > np.sqrt(float(xp.finfo(X.dtype).max) / X.shape[1]) / 8:
            raise ValueError(
                f"{type(self).__name__}: X has entries as large as {largest:.3g}, whose squares "
                f"overflow in {X.dtype}: rescale X"
            )

    def _draw_transforms(self, rng: np.random.RandomState) -> tuple[NDArray | None, NDArray]:
        """Group elements and weights that sum to one; ``(None, [1])`` without a group."""
        if self.group_ is None:
            return None, np.ones(1)
        if self.n_transforms is None:
            return self.group_.quadrature()
        r = self.n_transforms
        return self.group_.sample(r, rng), np.full(r, 1 / r)

    def _prepare(
        self, templates: NDArray, elements: NDArray | None, keeps: Reduction, **how: Any
    ) -> None:
        """Templates for the engine, and what it keeps; no elements are the group's own rule."""
        self._keeps = keeps
        how |= {name: getattr(self, name) for name in ("block_bytes", "n_jobs", "verbose")}
        how |= {"elements": elements, "keep": how.get("side") != "first"}
        self._orbits = OrbitProducts(templates, self.group_, owner=type(self).__name__, **how)

    def _reduced(self, X: Any) -> Any:
        """The outputs of the reduction for points X, side by side, shape (n, k m, ...)."""
        reduction, m = self._keeps, len(self._orbits.Z)
        if is_foreign(X):
            parts = self._orbits.reduce(X, reduction)
            return parts[0] if len(parts) == 1 else namespace(X).concat(parts, axis=1)
        result = np.empty((len(X), reduction.n_outputs * m, *reduction.tail), X.dtype)
        parts = np.split(result, reduction.n_outputs, axis=1)  # views
        self._orbits.reduce(X, reduction, out=parts)
        return result

    def _prepare_on_side(
        self, templates: NDArray, elements: NDArray | None, *, preserved: bool, **how: Any
    ) -> None:
        """`_prepare` with the elements on the side that ``side`` asks for, with ``weights_``.

        Where the action preserves the value f(x, t), which ``preserved`` says, ``f(g x, t) = f(x,
        g^-1 t)``: a set without inverses needs a symmetric density, and then agrees in expectation
        (Raj et al. 2017, section 2.2.1).
        """
        group = self.group_
        self.side_, self.elements_ = "second", None
        if group is None or elements is None:
            return self._prepare(templates, None, side="second", **how)
        inverse = getattr(group, "inverse", None)
        faithful = inverse is not None or group.symmetric
        if self.side == "first" or (self.side == "auto" and not (preserved and faithful)):
            self.side_, self.elements_ = "first", elements
        elif not faithful:
            raise ParameterError(
                f"the density of {group!r} is not symmetric and has no inverses: take side='first'"
            )
        else:
            self.elements_ = elements if inverse is None else inverse(elements)
            if not preserved:
                warn(
                    f"the action of {group!r} is not unitary, so that transforming templates only "
                    "approximates transforming points; side='first' is exact"
                )
        # the group's own rule stands for these elements where it can
        given = None
        if self.n_transforms is not None or not (self.side_ == "first" or group.symmetric):
            given, how["weights"] = self.elements_, self.weights_
        self._prepare(templates, given, side=self.side_, **how)


def spawn(rng: np.random.RandomState, n_streams: int) -> list[np.random.RandomState]:
    """Generators whose draws do not depend on how much the others are used."""
    return [np.random.RandomState(seed) for seed in rng.randint(2**31 - 1, size=n_streams)]
