"""`Scalings` of images about their centre, interpolated."""

from __future__ import annotations

from dataclasses import KW_ONLY
from math import inf
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.parameters import Array, stores_parameters
from .densities import DENSITY, Density, LogNormal, normalised
from .resampled import ResampledWithJacobian

__all__ = ["Scalings"]


@stores_parameters
class Scalings(ResampledWithJacobian):
    """Magnifications of an image about its centre, by interpolation, in a fixed frame.

    An element is a factor; above one the content grows.

    Parameters
    ----------
    shape : tuple
        (height, width) or (height, width, channels).
    factors : sequence of float or None
        A finite set of factors. None takes all positive ones.
    density : Density or None
        On the factor. With ``factors`` it weighs them, as a density of log(factor), where 1/2 and 2
        mirror each other; without, factors are drawn from it, and None is ``LogNormal(0.3)``.
    interpolation : {1, 3}
    jacobian : bool
        Whether intensities are multiplied by |J_g|^(-1/2) = 1 / factor (Raj et al. 2017, lemma
        2.1), which keeps the energy.

    Examples
    --------
    >>> zooms = Scalings((8, 8), factors=[0.5, 1, 2])
    >>> zooms.order, zooms.symmetric
    (3, True)
    """

    factors: Annotated[ArrayLike | None, Array(1, above=0) | None] = None
    _: KW_ONLY
    density: Annotated[Density | None, DENSITY] = None

    def _listed(self) -> NDArray[Any] | None:
        """The factors as given; None for all positive ones."""
        self._check()
        return None if self.factors is None else np.asarray(self.factors, dtype=float)

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        factors = self._listed()
        if factors is None:
            return self.density is None or self.density.symmetric
        weights = self.weights()
        known = list(
            zip(factors, np.ones(len(factors)) if weights is None else weights, strict=True)
        )
        return all(
            any(np.isclose(1 / s, t) and np.isclose(w, v) for t, v in known) for s, w in known
        )

    @property
    def order(self) -> int | float:
        factors = self._listed()
        return inf if factors is None else len(factors)

    def elements(self) -> NDArray[Any]:
        """The factors, shape (r,), as given."""
        factors = self._listed()
        return super().elements() if factors is None else factors

    def weights(self) -> NDArray[Any] | None:
        factors = self._listed()
        if factors is None or self.density is None:
            return None
        return normalised(self.density.pdf(factors) * factors, self.density, factors=self.factors)

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> NDArray[Any]:
        if self.factors is not None:
            return self._from_listed(n_samples, rng)
        return (self.density or LogNormal(0.3)).sample(n_samples, rng)

    def inverse(self, elements: ArrayLike) -> NDArray[Any]:
        """Reciprocal factors; undone up to interpolation and what left the frame."""
        return np.asarray(1 / np.asarray(elements))

    def _check_elements(self, elements: NDArray[Any]) -> NDArray[Any]:
        # Beyond these bounds the image or its background has vanished.
        if elements.ndim != 1 or not np.all((elements > 1e-100) & (elements < 1e100)):
            self._refuse(elements, "factors of shape (r,), positive numbers")
        return elements

    def _maps(self, elements: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        inverses = np.eye(2) / elements[:, None, None]
        return inverses, np.zeros((len(elements), 2))
