"""`OrbitKernel`: what kernels that reduce a base kernel over a group have in common."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.gaussian_process.kernels import Hyperparameter

from ..core import parameters as kinds
from ..core.parameters import ParameterError, stores_parameters
from ..groups import Transformations
from ..groups.base import GROUP
from ..orbits import Explanation, OrbitProducts, Reduction
from ..orbits.engine import image_shape
from .base import BASE, Derivative, Kernel, on_rows, outer_derivatives

Array = NDArray[Any]


@stores_parameters
class OrbitKernel(Kernel):
    """Base of kernels of a ``base`` kernel and a ``group``, computed by `OrbitProducts`."""

    base: Annotated[Kernel, BASE]
    group: Annotated[Transformations, GROUP]
    _: KW_ONLY
    n_transforms: Annotated[int | None, kinds.Whole(1) | None] = None
    block_bytes: kinds.BlockBytes = None
    n_jobs: kinds.Jobs = None
    verbose: kinds.Verbose = 0
    random_state: Any = 0

    def elements(self) -> Array | None:
        """The ``n_transforms`` elements that are drawn, the same at every call; None for all."""
        if self.n_transforms is None:
            return None
        if not kinds.Seed(fixed=True).accepts(self.random_state):
            raise ParameterError(
                f"random_state={self.random_state!r}: fit and predict would use two kernels; "
                "give an integer, such as 0"
            )
        return self.group.sample(self.n_transforms, int(self.random_state))

    def _of(self, d: int) -> Any:
        """The memory, once it is checked that base kernel and group take d features."""
        memory = self._memory()
        if memory.get("d") != d:
            self._check(d)
            memory["d"] = d
        return memory

    def _check(self, n_features: int) -> None:
        for part in (self.group, self.base):
            due = getattr(part, "n_features", None)
            if due is not None and due != n_features:
                raise ParameterError(f"points have {n_features} features, {part!r} takes {due}")
        image_shape(self.group, self.base, n_features)

    def _orbits(self, **how: Any) -> OrbitProducts:
        names = ("base", "group", "block_bytes", "n_jobs", "verbose")
        own = {name: getattr(self, name) for name in names}
        return OrbitProducts(**{"Z": None, "owner": type(self).__name__} | own | how)

    def _plan(self, X: Any, Y: Any) -> tuple[OrbitProducts, Reduction, int, bool]:
        """How the kernel is computed, how often for each first point, and whether symmetric."""
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
        kernel._of(rows[0].shape[1])
        orbits: OrbitProducts
        orbits, reduction, times, symmetric = kernel._plan(rows[0], rows[-1])
        how = {"times": times, "symmetric": symmetric and Y is None}
        first = kernel._as_they_meet(orbits, rows[0])
        return orbits.at(rows[-1]).explain(first, reduction, **how)

    def _as_they_meet(self, orbits: OrbitProducts, X: Array) -> Array:
        """First points of the shape in which they meet transformed second ones."""
        return X

    def work_over_orbits(self, X: Array, Y: Array) -> float:
        """Operations of the kernel matrix of points as rows, counted without a trial."""
        self._of(X.shape[1])
        orbits, reduction, times, _ = self._plan(X, Y)
        way = orbits.at(Y).ways(X, reduction)[0]
        return times * way.operations(len(X), len(Y))

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
        self.__dict__["_in_process"] = True  # nobody else sets it

    def _derivatives(self, n_features: int) -> list[Derivative] | None:
        """Of the base kernel as a function of inner products."""
        return outer_derivatives(self.base, image_shape(self.group, self.base, n_features))
