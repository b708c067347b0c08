"""`OrbitFeatures`: the base class of features that reduce inner products over orbits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, field
from math import prod
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..core import parameters as kinds
from ..core.arrays import check_arrays, detached, is_foreign, namespace, on_host
from ..core.dask_arrays import over_blocks
from ..core.messages import warn
from ..core.parameters import ParameterError, stores_parameters
from ..groups import Transformations
from ..groups.base import GROUP
from ..orbits import Explanation, OrbitProducts, Reduction
from ..orbits.nodes import (
    Rule,
    are_given,
    enough_nodes,
    fastest,
    has_nodes,
    most_nodes,
    moving_norms,
    plain,
)
from .feature_map import FeatureMap

#: Nodes are chosen for at most this many templates.
_MAX_TEMPLATES = 64
#: Nodes are chosen for the points that vary fastest along their orbits, and this many others.
_N_ORDINARY = 8
#: Smallest tolerance if the action is not exactly that of a group, as for interpolated images.
_INTERPOLATED = 0.01
#: Rounding of the norms up to which the nodes of `fit` are fine enough.
_SLACK = 1 + 1e-6

#: The argument on which the group elements act.
Side = Annotated[str, kinds.OneOf("auto", "first", "second")]


@stores_parameters
class OrbitFeatures(FeatureMap, ABC):
    """Reductions of <x, g t>, or of a kernel k(x, g t), over g for templates t.

    `fit` sets ``_orbits``, and `transform` is one call of `OrbitProducts.reduce`.
    """

    group: Annotated[Transformations | None, GROUP | None] = None
    n_components: Annotated[int, kinds.Whole(1)] = 100
    _: KW_ONLY
    n_transforms: Annotated[int | None, kinds.Whole(1) | None] = None
    tolerance: Annotated[float, kinds.Positive()] = 1e-4
    block_bytes: kinds.BlockBytes = None
    n_jobs: kinds.Jobs = None
    verbose: kinds.Verbose = 0
    random_state: kinds.RandomState = None

    _orbits: OrbitProducts = field(init=False)
    _keeps: Reduction = field(init=False)
    #: Whether features are functions of all templates together.
    _mixes_templates = False

    def fit(self, X: ArrayLike, y=None) -> Self:
        """Draw templates and group elements, and compute everything that depends on them.

        X, of shape (n, d), or (n, height, width) if the group has that shape, may be an array of
        another library; fitted arrays are NumPy's.
        """
        X = self._points_to_fit(X)
        self._fit(X, check_random_state(self.random_state))
        self._fit_nodes(X)
        return self

    @abstractmethod
    def _fit(self, X: NDArray, rng: np.random.RandomState) -> None:
        """Fit the features to validated points."""

    @over_blocks
    def transform(self, X: ArrayLike) -> NDArray:
        """Features of points X of shape (n, d), one row per point, of X's floating type.

        They are in the library and on the device of X. Those of a Dask array, whose blocks have
        whole rows, are a Dask array: nothing is computed yet.
        """
        X = self._points(X)
        orbits = self._orbits_for(X)
        return self._scaled(self._reduced(orbits, X))

    def explain(self, X: ArrayLike) -> Explanation:
        """Explain how `transform` computes the features of X: method, operations, memory, time."""
        X = self._points(X)
        orbits = self._orbits_for(X)
        return orbits.explain(X, self._keeps)

    def _scaled(self, values: Any) -> Any:
        """Return features, given the reduced values, which may be overwritten."""
        return values

    def _points_to_fit(self, X: ArrayLike) -> NDArray:
        owner = type(self).__name__
        X = self._images_as_rows(X)
        if is_foreign(X):
            check_arrays(owner, X)
            X = on_host(X, f"{owner}.fit")
        X = super()._points_to_fit(X)
        self._check_size(X)
        self.group_: Any = clone(self.group, safe=False)
        n_features = getattr(self.group_, "n_features", None)
        if n_features not in (None, X.shape[1]):
            raise ParameterError(
                f"{self.group!r} acts on arrays of shape (n, {n_features}): {X.shape}"
            )
        return X

    def _images_as_rows(self, X: Any) -> Any:
        """Return images (n, height, width) of the group's shape as rows; other points stay."""
        group: Any = self.group
        shape = getattr(group, "shape", None)
        if shape is None or getattr(X, "ndim", 0) < 3 or tuple(X.shape[1:]) != tuple(shape):
            return X
        return X.reshape(X.shape[0], prod(shape))

    def _points(self, X: Any) -> Any:
        X = self._images_as_rows(X)
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
        X = detached(X)
        largest = max(float(xp.max(X)), -float(xp.min(X)))
        largest_square = float(xp.finfo(X.dtype).max) / X.shape[1]
        if largest > np.sqrt(largest_square) / 8:
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
        weights = np.full(self.n_transforms, 1 / self.n_transforms)
        return self.group_.sample(self.n_transforms, rng), weights

    def _on_orbits(self, X: NDArray, elements: NDArray, rng) -> NDArray:
        """Transform each point by an element that is drawn by its weight."""
        element_of_point = rng.choice(len(elements), size=len(X), p=self.weights_)
        width = transformed_width(self.group_, elements, X)
        transformed = np.empty((len(X), width), X.dtype)
        for index in np.unique(element_of_point):
            rows = element_of_point == index
            points = self.group_.act(elements[index][None], X[rows])[0]
            transformed[rows] = points.reshape(len(points), -1)
        return transformed

    def _prepare(self, templates: NDArray, keeps: Reduction) -> None:
        """Set the orbits of templates and their reduction; the templates are transformed.

        Elements that were drawn have to be in ``elements_``.
        """
        self._templates = templates
        self._keeps = keeps
        self._base: Any = None
        self._offsets: NDArray | None = None
        self._preserved: bool | None = None
        self._orbits = self._orbits_over(self.group_)

    def _prepare_on_side(
        self,
        templates: NDArray,
        elements: NDArray | None,
        keeps: Reduction,
        *,
        preserved: bool,
        base: Any = None,
        offsets: NDArray | None = None,
    ) -> None:
        """Set the orbits and their reduction, with elements that act as ``side`` requires.

        ``preserved`` is whether transforming both arguments leaves the value f(x, t) as it is: then
        ``f(g x, t) = f(x, g^-1 t)``. A set without inverses needs a symmetric density, and the
        sides then agree in expectation (Raj et al. 2017, section 2.2.1).
        """
        self._templates = templates
        self._keeps = keeps
        self._base = base
        self._offsets = offsets
        self._preserved = preserved
        self.side_ = "second"
        self.elements_ = None
        if self.group_ is not None and elements is not None:
            self.side_ = self._chosen_side()
            self.elements_ = self._acting(self.group_, elements)
        self._orbits = self._orbits_over(self.group_)

    def _chosen_side(self) -> str:
        group = self.group_
        if self.side == "first":
            return "first"
        can_invert = getattr(group, "inverse", None) is not None or group.symmetric
        if self.side == "auto" and not (self._preserved and can_invert):
            return "first"
        if not can_invert:
            raise ParameterError(
                f"the density of {group!r} is not symmetric and has no inverses: take side='first'"
            )
        if not self._preserved:
            reason = f"the action of {group!r} is not unitary"
            if group.unitary:
                reason = f"{group!r} is not known to preserve the kernel {self._base!r}"
            warn(
                f"{reason}, so that transforming templates only approximates transforming points; "
                "side='first' is exact"
            )
        return "second"

    def _acting(self, group: Any, elements: NDArray) -> NDArray:
        """Return the elements that act on the chosen side: inverses act on templates."""
        inverse = getattr(group, "inverse", None)
        if self.side_ == "first" or inverse is None:
            return elements
        return inverse(elements)

    def _orbits_over(self, group: Any, chosen: NDArray | None = None) -> OrbitProducts:
        """Return the orbits of all or chosen templates, over the group or a rule for it."""
        parameters = self._fitted
        templates = self._templates
        offsets = self._offsets
        if chosen is not None:
            templates = templates[chosen].astype(float)
            if offsets is not None:
                offsets = offsets[chosen].astype(float)
        side = "second" if self._preserved is None else self.side_
        elements, weights = self._elements_over(group, side)
        return OrbitProducts(
            templates,
            group,
            base=self._base,
            owner=type(self).__name__,
            elements=elements,
            weights=weights,
            offsets=offsets,
            side=side,
            keep=side != "first",
            block_bytes=parameters.block_bytes,
            n_jobs=parameters.n_jobs,
            verbose=parameters.verbose,
        )

    def _elements_over(self, group: Any, side: str) -> tuple[NDArray | None, NDArray | None]:
        """Return the elements and weights of a group, or None for its own rule."""
        has_weights = self._preserved is not None
        if self._fitted.n_transforms is not None and self.elements_ is not None:
            return self.elements_, self.weights_ if has_weights else None
        if not has_weights or group is None or side == "first" or group.symmetric:
            return None, None
        # Inverses act on the templates, and the density at an inverse is another one.
        elements, weights = group.quadrature()
        return self._acting(group, elements), weights

    def _reduced(self, orbits: OrbitProducts, X: Any) -> Any:
        """Return the outputs of the reduction for points X, side by side, shape (n, k m, ...)."""
        reduction = self._keeps
        if is_foreign(X):
            outputs = orbits.reduce(X, reduction)
            if len(outputs) == 1:
                return outputs[0]
            return namespace(X).concat(outputs, axis=1)
        n_columns = reduction.n_outputs * len(orbits.Z)
        result = np.empty((len(X), n_columns, *reduction.tail), X.dtype)
        outputs = [result]
        if reduction.n_outputs > 1:
            outputs = np.split(result, reduction.n_outputs, axis=1)
        orbits.reduce(X, reduction, out=outputs)
        return result

    # -- nodes that stand for an infinite group --------------------------------------------------

    def _fit_nodes(self, X: NDArray) -> None:
        """Choose the nodes of an infinite group for the points of `fit`."""
        #: Norms of the moving parts of points up to which the nodes are fine enough; None for any.
        self._reach: NDArray | None = None
        #: Whether a warning was issued that the group's own nodes are too few.
        self._warned = False
        #: Orbits over finer rules, by the number of their nodes.
        self._finer: dict[float, OrbitProducts] = {}
        group = self.group_
        self._has_nodes = self.n_transforms is None and has_nodes(group)
        if not self._has_nodes:
            return
        if not are_given(group) and self._orbits.is_exact(X[:1], self._keeps):
            if self._preserved is not None:
                self.weights_ = None
            self.elements_ = None
            return
        step = max(1, len(X) // _N_ORDINARY)
        rule = self._enough_nodes(X, X[::step])
        self._reach = moving_norms(group, X, type(self).__name__).max(axis=1)
        if are_given(group):
            return
        self.elements_, weights = rule.group.quadrature()
        if self._preserved is not None:
            self.elements_ = self._acting(rule.group, self.elements_)
            self.weights_ = weights
        self._orbits = self._orbits_over(rule.group)

    def _enough_nodes(self, X: Any, ordinary: NDArray | None = None) -> Rule:
        """Return a rule that is fine enough for points X, or warn how large its error is."""
        group = self.group_
        points = fastest(group, X, type(self).__name__)
        if ordinary is not None:
            points = np.concatenate([points, ordinary.astype(float)])
        chosen = self._fastest_templates()

        def mean(rule: Any) -> NDArray:
            values = self._reduced(self._orbits_over(rule, chosen), points)
            if self._mixes_templates:
                values = self._scaled(values)
            return values.reshape(len(points), -1)

        node_limit = most_nodes(points.shape[1])
        tolerance = self._fitted.tolerance
        if not group.unitary:
            tolerance = max(tolerance, _INTERPOLATED)
        # Features of two points of an orbit may have errors of opposite signs.
        rule = enough_nodes(group, mean, tolerance=tolerance / 2, most=lambda rule: node_limit)
        difference = 2 * rule.error
        is_coarse = difference > tolerance
        self._warned = is_coarse and are_given(group)
        if is_coarse:
            self._warn_of_few_nodes(rule.group.order, difference)
        return rule

    def _fastest_templates(self) -> NDArray:
        """Return the indices of the templates that vary most along their orbits, at most 64.

        They are the indices of all templates if features depend on all of them together.
        """
        n_templates = len(self._templates)
        everything = np.arange(n_templates)
        if self._mixes_templates or n_templates <= _MAX_TEMPLATES:
            return everything
        templates = np.nan_to_num(self._templates)
        norms = moving_norms(self.group_, templates, type(self).__name__)
        if norms.shape[1] != n_templates:
            return everything
        descending = np.argsort(-norms[0], kind="stable")
        return np.sort(descending[:_MAX_TEMPLATES])

    def _warn_of_few_nodes(self, n_nodes: float, difference: float) -> None:
        remedy = "a smaller gamma, or accept it"
        if are_given(self.group_):
            remedy = "n_nodes=None (degree=None), or accept it"
        warn(
            f"{type(self).__name__}: over {n_nodes} nodes the features of points of one orbit "
            f"differ by about {difference:.1e} of their norm; take {remedy} by "
            f"tolerance={2 * difference:.0e}"
        )

    def _orbits_for(self, X: Any) -> OrbitProducts:
        """Return the fitted orbits, or orbits over more nodes if the points X need them."""
        if not self._has_nodes:
            return self._orbits
        group = self.group_
        if self._reach is None:
            # The fitted orbits are exact without nodes, but not if gradients are needed.
            if not is_foreign(X) or self._orbits.is_exact(X, self._keeps):
                return self._orbits
            return self._over_nodes(self._enough_nodes(X).group)
        owner = type(self).__name__
        norms = moving_norms(group, X, owner)
        outside = (norms > _SLACK * self._reach[:, None]).any(axis=0)
        if not outside.any() or self._warned:
            return self._orbits
        points = plain(X, owner)[outside]
        rule = self._enough_nodes(points).group
        if are_given(group):
            self._reach = np.maximum(self._reach, norms.max(axis=1))
            return self._orbits
        if rule.order <= self._orbits.group.order:
            return self._orbits
        return self._over_nodes(rule)

    def _over_nodes(self, rule: Any) -> OrbitProducts:
        if rule.order not in self._finer:
            self._finer[rule.order] = self._orbits_over(rule)
        return self._finer[rule.order]


def transformed_width(group: Any, elements: NDArray, X: NDArray) -> int:
    """Return the number of features of a transformed point."""
    return group.act(elements[:1], X[:1]).size


def spawn(rng: np.random.RandomState, n_streams: int) -> list[np.random.RandomState]:
    """Return random generators whose draws do not depend on each other."""
    seeds = rng.randint(2**31 - 1, size=n_streams)
    return [np.random.RandomState(seed) for seed in seeds]
