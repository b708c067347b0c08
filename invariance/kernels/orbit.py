"""What kernels that reduce a base kernel over a group have in common; how a mean is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from functools import partial
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Hyperparameter

from ..core.arrays import is_foreign
from ..core.parameters import (
    BLOCK_BYTES,
    Has,
    OneOf,
    ParameterError,
    Positive,
    Seed,
    Whole,
    check_parameters,
    stores_parameters,
)
from ..groups import Transformations
from ..orbits import Explanation, OrbitProducts, Reduction, WeightedMean
from ..orbits.both_sides import both_sides
from ..orbits.derivatives import Derivative, of_products, outer_derivatives, whole_derivatives
from ..orbits.engine import image_shape
from ..orbits.foreign import as_function
from ..orbits.rules import enough_nodes
from .base import BASE, Kernel, as_points, on_rows

__all__ = ["GroupMean", "OrbitKernel"]

Array = NDArray[Any]


@stores_parameters
class OrbitKernel(Kernel):
    """Base of kernels of a ``base`` kernel and a ``group``, computed by `OrbitProducts`."""

    base: Annotated[Kernel, BASE]
    group: Annotated[
        Transformations, Has("transformations, such as CyclicShifts(8)", "act", "quadrature")
    ]
    _: KW_ONLY
    n_transforms: Annotated[int | None, Whole(1) | None] = None
    block_bytes: Annotated[int | None, BLOCK_BYTES] = None
    n_jobs: Annotated[int | None, Whole() | None] = None
    verbose: Annotated[int, Whole(0)] = 0
    random_state: Any = 0

    def elements(self) -> Array | None:
        """The ``n_transforms`` elements that are drawn, the same at every call; None for all."""
        if self.n_transforms is None:
            return None
        if not Seed(fixed=True).accepts(self.random_state):
            raise ParameterError(
                f"{type(self).__name__}: random_state={self.random_state!r} draws other "
                "transformations at every call, so that fit and predict would use two kernels; "
                "give an integer seed, such as random_state=0"
            )
        return self.group.sample(self.n_transforms, int(self.random_state))

    def _check(self, n_features: int) -> None:
        check_parameters(self)
        if hasattr(self.base, "_parameters"):
            check_parameters(self.base)
        for part in (self.group, self.base):
            expected = getattr(part, "n_features", None)
            if expected is not None and expected != n_features:
                raise ParameterError(
                    f"{type(self).__name__}: points have {n_features} features, but {part!r} "
                    f"takes {expected} (shape {part.shape})"
                )
        image_shape(self.group, self.base, n_features)

    def _preserved(self) -> bool:
        """Whether the transformations are known to preserve the base kernel."""
        known = getattr(self._known_base(), "preserved_by", None)
        return known is not None and bool(known(self.group))

    def _orbits(self, Z: Any, group: Transformations | None = None, **more: Any) -> OrbitProducts:
        return OrbitProducts(
            Z,
            self.group if group is None else group,
            owner=type(self).__name__,
            **{
                "base": self._known_base(),
                "block_bytes": self.block_bytes,
                "n_jobs": self.n_jobs,
                "verbose": self.verbose,
            }
            | more,
        )

    def _known_base(self) -> Any:
        """The base kernel, as a function of inner products or distances where it is one."""
        return as_function(self.base)

    # -- a Gaussian process tunes the base kernel ------------------------------------------------

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        """The base kernel's, under the names ``base__...``."""
        return [
            Hyperparameter(f"base__{h.name}", h.value_type, h.bounds, h.n_elements)
            for h in self.base.hyperparameters
        ]

    @property
    def theta(self) -> Array:
        """Logarithms of the base kernel's hyperparameters that are not fixed."""
        return np.asarray(self.base.theta, dtype=float)

    @theta.setter
    def theta(self, theta: Array) -> None:
        self.base.theta = theta

    def _derivatives(self, n_features: int) -> list[Derivative] | None:
        """Of the base kernel as a function of inner products."""
        base = self._known_base()
        shape = image_shape(self.group, self.base, n_features)
        return outer_derivatives(base, shape) if hasattr(base, "inner_form") else None

    def _check_takes(self, X: Any, Y: Any) -> None:
        takes = getattr(self.base, "_check_takes", None)
        if takes is None:
            super()._check_takes(X, Y)
        else:
            takes(X, Y)

    def _plan(self, Z: Any) -> tuple[OrbitProducts, Reduction]:
        """How the kernel of points and Z is computed."""
        raise NotImplementedError(f"{type(self).__name__} explains itself")

    def explain(self, X: ArrayLike, Y: ArrayLike | None = None) -> Explanation:
        """Which way the kernel matrix will be computed, with operations, memory and seconds.

        >>> from invariance.groups import CyclicTranslations
        >>> from invariance.kernels import BestFit, Linear
        >>> import numpy as np
        >>> X = np.random.default_rng(0).random((100, 784))
        >>> BestFit(Linear(), CyclicTranslations((28, 28))).explain(X).way
        'correlation'
        """
        kernel, rows = on_rows(self, X, *(() if Y is None else (Y,)))
        kernel._check(rows[0].shape[1])
        orbits, reduction = kernel._plan(rows[-1])
        told: Explanation = orbits.explain(rows[0], reduction)
        return told.times(kernel._unrolled(orbits))

    def _unrolled(self, orbits: OrbitProducts) -> int:
        """How many transforms of each first point the plan's orbits meet."""
        return 1


@stores_parameters
class GroupMean(OrbitKernel):
    """Base of `Average`: over the orbits of one argument where that is the same, else of both."""

    _: KW_ONLY
    side: Annotated[str, OneOf("auto", "both", "second", "first")] = "auto"
    tolerance: Annotated[float, Positive()] = 1e-4

    def transforms(self) -> tuple[Array, Array]:
        """The elements averaged over and their weights, which sum to one."""
        elements = self.elements()
        if elements is None:
            return self.group.quadrature()
        return elements, np.full(len(elements), 1 / len(elements))

    def _one_side(self, Z: Any, group: Transformations) -> OrbitProducts | None:
        """The average as a reduction over the orbits of Z alone, where it is one."""
        elements = self.elements()
        if self.side in ("first", "second"):
            return self._orbits(Z, group, elements=elements, side=self.side)
        if self.side == "both" or elements is not None or not self._preserved():
            return None
        if group.one_sided:
            return self._orbits(Z, group)
        rule = group.relative_rule()
        return None if rule is None else self._orbits(Z, group, elements=rule[0], weights=rule[1])

    def _plan(self, Z: Any) -> tuple[OrbitProducts, Reduction]:
        group = self._finite(Z, Z)
        return self._one_side(Z, group) or self._both_sides(Z, group), WeightedMean()

    def _both_sides(self, Z: Any, group: Transformations) -> OrbitProducts:
        """Orbits of Z, for transforms of the first points to meet."""
        elements, weights = self.transforms() if group is self.group else group.quadrature()
        return self._orbits(Z, group, elements=elements, weights=weights)

    def _unrolled(self, orbits: OrbitProducts) -> int:
        one_side = self._one_side(orbits.Z, orbits.group) is not None
        return 1 if one_side or orbits.elements is None else len(orbits.elements)

    def _of_group(self, group: Transformations, X: Any, Y: Any, same: bool) -> Any:
        orbits = self._one_side(Y, group)
        if orbits is None:
            return both_sides(self._both_sides(Y, group), X, same=same)
        symmetric = same and self.side == "auto" and not is_foreign(X)
        return orbits.reduce(X, WeightedMean(), symmetric=symmetric)[0]

    def _gradient(self, X: Array) -> Array:
        orbits = self._one_side(X, self._finite(X, X))
        functions = self._derivatives(X.shape[1])
        closed = orbits is None or orbits.explain(X, WeightedMean()).way == "closed form"
        if functions is None or orbits is None or closed:
            return whole_derivatives(self, X)
        return of_products(orbits, functions, symmetric=self.side == "auto")

    def _finite(self, X: Any, Y: Any) -> Transformations:
        """The group, or for an infinite one a finite one whose mean agrees to `tolerance`."""
        if self.n_transforms is not None:
            return self.group
        return enough_nodes(
            self.group,
            lambda group, A, B: self._of_group(group, A, B, False),
            (X, Y),
            tolerance=self.tolerance,
            pairs=lambda group, B: self._one_side(B, group) is None,
            kernel=self,
        )

    def grams(self, X: ArrayLike, Y: ArrayLike | None, gammas: Sequence[float]) -> Array:
        """Kernel matrices of Gaussian base kernels at several bandwidths, from one pass.

        Parameters
        ----------
        X, Y : arrays of shape (n, d) and (m, d); Y=None is X
        gammas : sequence of q floats
            In place of the base kernel's own.

        Returns
        -------
        ndarray of shape (q, n, m)

        Raises
        ------
        ParameterError
            For a base that is no Gaussian kernel, or where both arguments are transformed.
        """
        bases = [clone(self.base).set_params(gamma=gamma) for gamma in gammas]
        X = as_points(X, type(self).__name__)
        other = X if Y is None else as_points(Y, type(self).__name__)
        for base in bases:
            check_parameters(base)
        self._check(X.shape[1])
        own, *forms = (b.inner_form((1, X.shape[1], 1)) for b in (self.base, *bases))
        orbits = self._one_side(other, self._finite(X, other))
        if orbits is None or own is None or own.rate is None:
            raise ParameterError(
                f"{type(self).__name__}.grams needs a Gaussian base kernel and a group that "
                f"preserves it, got {self.base!r} and {self.group!r}"
            )
        if not forms:
            raise ParameterError(f"{type(self).__name__}.grams needs gammas, got {gammas!r}")
        reduction = WeightedMean([partial(form.value, xp=np) for form in forms], raw=True)
        return np.stack(orbits.reduce(X, reduction, symmetric=Y is None and self.side == "auto"))
