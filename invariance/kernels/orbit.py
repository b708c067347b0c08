"""`OrbitKernel`: what kernels that reduce a base kernel over a group have in common."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.gaussian_process.kernels import Hyperparameter

from ..core.parameters import BLOCK_BYTES, Has, ParameterError, Seed, Whole, stores_parameters
from ..groups import Transformations
from ..orbits import Explanation, OrbitProducts, Reduction
from ..orbits.engine import image_shape
from .base import BASE, Derivative, Kernel, on_rows, outer_derivatives, preserved

Array = NDArray[Any]

#: Numbers of the orbit by which it is told whether a group permutes a set of transformations.
_TRIAL = 2**20


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

    def _of(self, d: int) -> dict[str, Any]:
        """The memory, once it is checked that base kernel and group take d features."""
        memory = self._memory()
        if memory.get("d") != d:
            self._check(d)
            memory["d"] = d
        return memory

    def _check(self, n_features: int) -> None:
        for part in (self.group, self.base):
            expected = getattr(part, "n_features", None)
            if expected is not None and expected != n_features:
                raise ParameterError(
                    f"{type(self).__name__}: points have {n_features} features, but {part!r} "
                    f"takes {expected} (shape {part.shape})"
                )
        image_shape(self.group, self.base, n_features)

    def preserved_by(self, group: Transformations) -> bool:
        """Where it preserves the base kernel, and only permutes what is averaged over."""
        return (
            self.n_transforms is None
            and preserved(self.base, group)
            and all(_normalizes(part, self.group) for part in group.chain())
        )

    def _orbits(self, **how: Any) -> OrbitProducts:
        names = ("base", "group", "block_bytes", "n_jobs", "verbose")
        own = {name: getattr(self, name) for name in names}
        return OrbitProducts(**{"Z": None, "owner": type(self).__name__} | own | how)

    def _plan(self, X: Any, Y: Any) -> tuple[OrbitProducts, Reduction, int]:
        """How the kernel is computed, and how often for each first point."""
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
        orbits, reduction, times = kernel._plan(rows[0], rows[-1])
        return orbits.at(rows[-1]).explain(rows[0], reduction, times=times)

    def _check_takes(self, X: Any, Y: Any) -> None:
        if hasattr(self.base, "_check_takes"):
            self.base._check_takes(X, Y)

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
        vars(self)["_in_process"] = True  # nobody else sets it

    def _derivatives(self, n_features: int) -> list[Derivative] | None:
        """Of the base kernel as a function of inner products."""
        return outer_derivatives(self.base, image_shape(self.group, self.base, n_features))


def _normalizes(group: Transformations, others: Transformations) -> bool:
    """Whether g h g^-1 is among the finitely many maps h for every g that generates the group."""
    d = others.n_features or group.n_features or 60
    affine = all(part.linear or part.unitary for part in (group, others))
    if not affine or not hasattr(group, "generators") or others.order * d > _TRIAL:
        return False
    # Affine maps that agree on a random point are the same, with probability one.
    x, direction = np.random.RandomState(0).standard_normal((2, 1, d))
    elements, generators = others.elements(), group.generators()
    orbit = np.sort(others.act(elements, x)[:, 0] @ direction[0])
    for g, inverse in zip(generators, group.inverse(generators), strict=True):
        back = group.act(inverse[None], x)[0]
        there = group.act(g[None], others.act(elements, back)[:, 0])[0]
        if not np.allclose(np.sort(there @ direction[0]), orbit, atol=1e-9):
            return False
    return others.weights() is None
