"""`OrbitFeatures`: what features averaged over a group share, whatever they average."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ..array_api import check_arrays, is_foreign, on_host
from ..groups.base import check_transformations
from .base import FeatureMap

__all__ = ["OrbitFeatures"]


class OrbitFeatures(FeatureMap, ABC):
    """Features averaged over elements of ``group``, for arrays of any library.

    Without a group, ``group=None``, there is nothing to average: ``elements_`` is None.
    """

    def _points_to_fit(self, X: ArrayLike) -> NDArray:
        if is_foreign(X):
            check_arrays(type(self).__name__, X)
            X = on_host(X, f"{type(self).__name__}.fit")
        return super()._points_to_fit(X)

    def transform(self, X: ArrayLike) -> NDArray:
        """Features of points X of shape (n, d), a row a point, of X's floating type.

        They are in the library and on the device of X.
        """
        check_is_fitted(self)
        if is_foreign(X):
            self._check_takes(X)
            xp = check_arrays(type(self).__name__, X, n_features=self.n_features_in_)
            return self._transform_arrays(xp, X)
        return self._transform(self._points_to_transform(X))

    def _check_takes(self, X: Any) -> None:
        """Refuse points of another library where what was fitted takes NumPy arrays only."""

    @abstractmethod
    def _transform(self, X: NDArray) -> NDArray:
        """Features of validated points."""

    @abstractmethod
    def _transform_arrays(self, xp: Any, X: Any) -> Any:
        """The same for arrays of the array API namespace ``xp``."""

    def _draw_transforms(self, rng: np.random.RandomState) -> tuple[NDArray | None, NDArray]:
        """Group elements and weights that sum to one; ``(None, [1])`` without a group.

        Raises
        ------
        ValueError
            For ``n_transforms < 1``.
        TypeError
            For an infinite set that has no quadrature rule, without ``n_transforms``.
        """
        if self.n_transforms is not None:
            self._check_counts("n_transforms")
        if self.group is None:
            return None, np.ones(1)
        check_transformations(type(self).__name__, self.group)
        if self.n_transforms is None:
            return self.group.quadrature()
        elements = self.group.sample(self.n_transforms, rng)
        return elements, np.full(len(elements), 1 / len(elements))

    def _resolve_side(
        self, elements: NDArray | None, preserved: bool, templates: NDArray
    ) -> tuple[str, NDArray | None]:
        """Whether templates or points are transformed, and by which elements.

        Where the action preserves the value, ``f(g x, t) = f(x, g^-1 t)``: with the inverses known
        the two sides agree element by element, whatever the density. A set without inverses needs
        a symmetric density, and then agrees in expectation (Raj et al. 2017, section 2.2.1).

        Parameters
        ----------
        preserved : bool
            Whether the action preserves the value exactly.
        templates : ndarray of shape (s, d)
            Used to measure how far a non-unitary action departs, for the warning.

        Raises
        ------
        ValueError
            For an unknown side, or templates asked for under a density that is not symmetric in a
            set without inverses.
        """
        owner, side, group = type(self).__name__, self.side, self.group
        if side not in ("auto", "templates", "points"):
            raise ValueError(f"side must be 'auto', 'templates' or 'points', got {side!r}")
        if elements is None:
            return "templates", None
        invertible = hasattr(group, "inverse")
        faithful = invertible or group.symmetric
        if side == "points" or (side == "auto" and not (preserved and faithful)):
            return "points", elements
        if not faithful:
            raise ValueError(
                f"{owner}: templates cannot be transformed, because the density of {group!r} is "
                "not symmetric (q(g) != q(g^-1)) and its inverses are not known; use "
                "side='points' or a symmetric density"
            )
        if not preserved:
            some = templates[: min(len(templates), 8)]
            norms = np.linalg.norm(some.reshape(len(some), -1), axis=1)
            moved = group.act(elements[: min(len(elements), 32)], some)
            change = np.linalg.norm(moved.reshape(*moved.shape[:2], -1), axis=2) / norms - 1
            warnings.warn(
                f"{owner}: the action of {type(group).__name__} is not unitary (it changes the "
                f"norm of a template by {np.abs(change).mean():.1%} on average), so transforming "
                "templates only approximates transforming points; side='points' is exact",
                UserWarning,
                stacklevel=3,
            )
        return "templates", group.inverse(elements) if invertible else elements

    def _moved(self, X: NDArray) -> NDArray:
        """Rows after each of ``elements_``, shape (r, n, width)."""
        if self.elements_ is None:
            return X[None]
        moved = self.group.act(self.elements_, X)
        return moved.reshape(*moved.shape[:2], -1)
