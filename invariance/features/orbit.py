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
from ..orbits.way import warn
from .feature_map import FeatureMap

#: Templates, and points beside those of which most moves, on which nodes are chosen.
_TEMPLATES, _ORDINARY = 64, 8
#: Tolerance for actions that are not exactly a group's, such as of interpolated images.
_INTERPOLATED = 0.01
#: Norms beyond those of `fit` for which its nodes will do as well.
_SLACK = 1 + 1e-6

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
        """Draw templates and group elements, with all that depends on them.

        X, of shape (n, d), may be another library's array; what is fitted is NumPy's.
        """
        X = self._points_to_fit(X)
        self._fit(X, check_random_state(self.random_state))
        self._fit_nodes(X)
        return self

    @abstractmethod
    def _fit(self, X: NDArray, rng: np.random.RandomState) -> None:
        """`fit` to validated points."""

    def transform(self, X: ArrayLike) -> NDArray:
        """Features of points X of shape (n, d), one row per point, of X's floating type.

        They are in the library and on the device of X.
        """
        X = self._points(X)
        orbits = self._orbits_for(X) if self._has_nodes else self._orbits
        return self._scaled(self._reduced(orbits, X))

    def explain(self, X: ArrayLike) -> Explanation:
        """How `transform` would compute the features of X: the way, operations, memory, seconds."""
        X = self._points(X)
        orbits = self._orbits_for(X) if self._has_nodes else self._orbits
        return orbits.explain(X, self._keeps)

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

    def _prepare(self, templates: NDArray, keeps: Reduction, **how: Any) -> None:
        """Templates for the engine, and what it keeps.

        Sets ``_orbits``; elements that were drawn have to be in ``elements_``.
        """
        self._templates, self._keeps, self._how = templates, keeps, how
        self._preserved: bool | None = None
        self._orbits = self._orbits_over(self.group_)

    def _prepare_on_side(
        self, templates: NDArray, elements: NDArray | None, keeps: Reduction, **how: Any
    ) -> None:
        """`_prepare` with the elements on the side that ``side`` asks for, with ``weights_``.

        Whether the action preserves the value f(x, t) is ``how["preserved"]``: then ``f(g x, t) =
        f(x, g^-1 t)``. A set without inverses needs a symmetric density, and then agrees in
        expectation (Raj et al. 2017, section 2.2.1).
        """
        self._templates, self._keeps = templates, keeps
        self._preserved = how.pop("preserved")
        self._how = how
        group = self.group_
        self.side_, self.elements_ = "second", None
        if group is not None and elements is not None:
            self.side_ = self._chosen_side()
            self.elements_ = self._acting(group, elements)
        self._orbits = self._orbits_over(group)

    def _chosen_side(self) -> str:
        group = self.group_
        has_inverses = getattr(group, "inverse", None) is not None
        if self.side == "first" or (
            self.side == "auto" and not (self._preserved and (has_inverses or group.symmetric))
        ):
            return "first"
        if not has_inverses and not group.symmetric:
            raise ParameterError(
                f"the density of {group!r} is not symmetric and has no inverses: take side='first'"
            )
        if not self._preserved:
            warn(
                f"the action of {group!r} is not unitary, so that transforming templates only "
                "approximates transforming points; side='first' is exact"
            )
        return "second"

    def _acting(self, group: Any, elements: NDArray) -> NDArray:
        """Elements as they act on their side."""
        inverse = getattr(group, "inverse", None)
        return elements if self.side_ == "first" or inverse is None else inverse(elements)

    def _orbits_over(self, group: Any, chosen: NDArray | None = None) -> OrbitProducts:
        """The orbits of templates, all or chosen ones, over the group or a rule for it."""
        fitted = vars(self._fitted)
        how = self._how | {name: fitted[name] for name in ("block_bytes", "n_jobs", "verbose")}
        templates, side = self._templates, "second"
        if chosen is not None:
            templates = templates[chosen].astype(float)
            offsets = how.get("offsets")
            how["offsets"] = None if offsets is None else offsets[chosen].astype(float)
        if self._preserved is not None:
            side = self.side_
        if fitted["n_transforms"] is not None and self.elements_ is not None:
            how["elements"] = self.elements_
            how["weights"] = None if self._preserved is None else self.weights_
        elif self._preserved is not None and group is not None:
            # the group's own rule stands for its elements where it can
            if not (side == "first" or group.symmetric):
                elements, how["weights"] = group.quadrature()
                how["elements"] = self._acting(group, elements)
        owner = type(self).__name__
        return OrbitProducts(templates, group, owner=owner, side=side, keep=side != "first", **how)

    def _reduced(self, orbits: OrbitProducts, X: Any) -> Any:
        """The outputs of the reduction for points X, side by side, shape (n, k m, ...)."""
        reduction, m = self._keeps, len(orbits.Z)
        if is_foreign(X):
            parts = orbits.reduce(X, reduction)
            return parts[0] if len(parts) == 1 else namespace(X).concat(parts, axis=1)
        result = np.empty((len(X), reduction.n_outputs * m, *reduction.tail), X.dtype)
        parts = np.split(result, reduction.n_outputs, axis=1)  # views
        orbits.reduce(X, reduction, out=parts)
        return result

    # -- nodes that stand for an infinite group --------------------------------------------------

    def _fit_nodes(self, X: NDArray) -> None:
        """Choose the nodes of an infinite group for the points of `fit`."""
        #: The norms of what moves up to which the nodes will do, None for any.
        self._reach: NDArray | None = None
        #: Whether nodes that were given have been found too few.
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
        rule = self._enough_nodes(X, X[:: max(1, len(X) // _ORDINARY)])
        self._reach = moving_norms(group, X, type(self).__name__).max(axis=1)
        if are_given(group):
            return
        elements, weights = rule.group.quadrature()
        self.elements_ = elements
        if self._preserved is not None:
            self.elements_, self.weights_ = self._acting(rule.group, elements), weights
        self._orbits = self._orbits_over(rule.group)

    def _enough_nodes(self, X: Any, ordinary: NDArray | None = None) -> Rule:
        """A rule that will do for points X, or a warning tells how far off it is."""
        group, owner = self.group_, type(self).__name__
        points = fastest(group, X, owner)
        if ordinary is not None:
            points = np.concatenate([points, ordinary.astype(float)])
        chosen = None
        if not self._mixes_templates and len(self._templates) > _TEMPLATES:
            norms = moving_norms(group, np.nan_to_num(self._templates), owner)
            if norms.shape[1] == len(self._templates):
                chosen = np.sort(np.argsort(-norms[0], kind="stable")[:_TEMPLATES])
        if chosen is None:
            chosen = np.arange(len(self._templates))

        def mean(rule: Any) -> NDArray:
            values = self._reduced(self._orbits_over(rule, chosen), points)
            if self._mixes_templates:
                values = self._scaled(values)
            return values.reshape(len(points), -1)

        most = most_nodes(points.shape[1])
        # Two points of an orbit may be off to either side.
        tolerance = self._fitted.tolerance
        if not group.unitary:
            tolerance = max(tolerance, _INTERPOLATED)
        rule = enough_nodes(group, mean, tolerance=tolerance / 2, most=lambda rule: most)
        coarse = 2 * rule.error > tolerance
        self._warned = coarse and are_given(group)
        if coarse:
            remedy = "a smaller gamma, or accept it"
            if are_given(group):
                remedy = "n_nodes=None (degree=None), or accept it"
            warn(
                f"{owner}: over {rule.group.order} nodes the features of points of one orbit "
                f"differ by about {2 * rule.error:.1e} of their norm; take {remedy} by "
                f"tolerance={4 * rule.error:.0e}"
            )
        return rule

    def _orbits_for(self, X: Any) -> OrbitProducts:
        """The fitted orbits, or such over more nodes, if points X need more than those of `fit`."""
        group = self.group_
        if self._reach is None:  # no nodes, unless gradients are wanted
            if not is_foreign(X) or self._orbits.is_exact(X, self._keeps):
                return self._orbits
            return self._over_nodes(self._enough_nodes(X).group)
        norms = moving_norms(group, X, type(self).__name__)
        outside = (norms > _SLACK * self._reach[:, None]).any(axis=0)
        if not outside.any() or self._warned:
            return self._orbits
        rule = self._enough_nodes(plain(X, type(self).__name__)[outside]).group
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


def spawn(rng: np.random.RandomState, n_streams: int) -> list[np.random.RandomState]:
    """Generators whose draws do not depend on how much the others are used."""
    return [np.random.RandomState(seed) for seed in rng.randint(2**31 - 1, size=n_streams)]
