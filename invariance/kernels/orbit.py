"""`OrbitKernel`: common base of the kernels that reduce a base kernel over a group.

`BestFit` and `Average` derive from it. A subclass builds an engine, `OrbitProducts`, which
transforms points, multiplies them, and reduces the products over the group.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ..core import parameters as kinds
from ..core.parameters import ParameterError, stores_parameters
from ..groups import Transformations
from ..groups.base import GROUP
from ..orbits import Explanation, OrbitProducts, Reduction, form_of
from ..orbits.plan import image_shape
from .base import BASE, Kernel, TunesItsBase, on_rows
from .derivatives import Function, outer_with_derivatives
from .image_shapes import images_as_rows

Array = NDArray[Any]


@stores_parameters
class OrbitKernel(TunesItsBase, Kernel):
    """Base class of kernels that reduce a ``base`` kernel over a ``group``."""

    base: Annotated[Kernel, BASE]
    group: Annotated[Transformations, GROUP]
    _: KW_ONLY
    n_transforms: Annotated[int | None, kinds.Whole(1) | None] = None
    block_bytes: kinds.BlockBytes = None
    n_jobs: kinds.Jobs = None
    verbose: kinds.Verbose = 0
    random_state: Any = 0

    def elements(self) -> Array | None:
        """Return the ``n_transforms`` elements that are drawn, or None for all elements.

        Every call draws the same elements, since ``random_state`` is an integer.
        """
        if self.n_transforms is None:
            return None
        if not kinds.Seed(fixed=True).accepts(self.random_state):
            raise ParameterError(
                f"random_state={self.random_state!r}: fit and predict would use two kernels; "
                "give an integer, such as 0"
            )
        return self.group.sample(self.n_transforms, int(self.random_state))

    def _check_features(self, n_features: int) -> None:
        """Raise an error unless base kernel and group take points with ``n_features``."""
        for part in (self.group, self.base):
            expected = getattr(part, "n_features", None)
            if expected is not None and expected != n_features:
                raise ParameterError(
                    f"points have {n_features} features, {part!r} takes {expected}"
                )
        image_shape(self.group, self.base, n_features)  # Raises if their shapes disagree.

    def _orbits(
        self,
        *,
        group: Transformations | None = None,
        elements: Array | None = None,
        weights: Array | None = None,
        side: str = "second",
        method: str = "auto",
        precision: str = "input",
    ) -> OrbitProducts:
        """Return the engine of this kernel, over its own group by default, without points yet."""
        return OrbitProducts(
            Z=None,
            group=self.group if group is None else group,
            base=self.base,
            owner=type(self).__name__,
            elements=elements,
            weights=weights,
            side=side,
            method=method,
            precision=precision,
            block_bytes=self.block_bytes,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )

    def _plan(self, X: Array, Y: Array) -> tuple[OrbitProducts, Reduction, int, bool]:
        """Return how the kernel matrix of X and Y is computed, for `explain`.

        Returns
        -------
        orbits : OrbitProducts, without points
        reduction : Reduction over the group
        n_reductions : int, number of reductions for each point of X
        symmetric : bool, whether Gram matrices are symmetric
        """
        raise NotImplementedError(f"{type(self).__name__} has its own method explain")

    def explain(self, X: ArrayLike, Y: ArrayLike | None = None) -> Explanation:
        """Return how the kernel matrix will be computed, with operations, memory and seconds.

        >>> from invariance.groups import CyclicTranslations
        >>> from invariance.kernels import BestFit, Linear
        >>> import numpy as np
        >>> X = np.random.default_rng(0).random((100, 784))
        >>> BestFit(Linear(), CyclicTranslations((28, 28))).explain(X).way
        'correlation'
        """
        points = [images_as_rows(self, A) for A in (X, Y) if A is not None]
        kernel, rows = on_rows(self, *points)
        X_rows = rows[0]
        Y_rows = rows[-1]
        orbits: OrbitProducts
        orbits, reduction, n_reductions, symmetric = kernel._plan(X_rows, Y_rows)
        return orbits.at(Y_rows).explain(
            kernel._as_factors(orbits, X_rows),
            reduction,
            times=n_reductions,
            symmetric=symmetric and Y is None,
        )

    def _as_factors(self, orbits: OrbitProducts, X: Array) -> Array:
        """Return X in the shape in which it is multiplied with transformed points."""
        return X

    def work_over_orbits(self, X: Array, Y: Array) -> float:
        """Return the number of operations of the kernel matrix of points as rows.

        The number is counted, without a timing trial.
        """
        orbits, reduction, n_reductions, _ = self._plan(X, Y)
        cheapest = orbits.at(Y).ranked(X, reduction)[0]
        return n_reductions * cheapest.operations(len(X), len(Y))

    def rounding(self, dtype: DTypeLike) -> float:
        """Return the relative rounding error of the kernel's values.

        It is the root of the machine epsilon if the base kernel has a corner at distance zero, as
        `CDF` has: the group may move two points onto each other.
        """
        epsilon = float(np.finfo(dtype).eps)
        form = form_of(self.base, (1, 1, 1))
        if form is not None and form.rooted:
            return float(epsilon**0.5)
        return epsilon

    def _with_derivatives(self, n_features: int) -> Function | None:
        """The base kernel and its derivatives as functions of inner products, or None."""
        return outer_with_derivatives(self.base, image_shape(self.group, self.base, n_features))
