"""`Scalings` of images about their centre, interpolated."""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from .densities import Density, LogNormal, own_density
from .resampled import ResampledWithJacobian, listed, normalised

__all__ = ["Scalings"]


class Scalings(ResampledWithJacobian):
    """Magnifications of an image about its centre, by interpolation, in a fixed frame.

    An element is a factor; above one the content grows.

    Parameters
    ----------
    shape : tuple
        (height, width) or (height, width, channels).
    scales : sequence of float or None
        A finite set of factors. None takes all positive ones.
    density : Density or None
        On the factor. With ``scales`` it weighs them, as a density of log(factor), where 1/2 and 2
        mirror each other; without, factors are drawn from it, and None is ``LogNormal(0.3)``.
    interpolation : {1, 3}
    jacobian : bool
        Whether intensities are multiplied by |J_g|^(-1/2) = 1 / factor (Raj et al. 2017, lemma
        2.1), which keeps the energy.

    Examples
    --------
    >>> zooms = Scalings((8, 8), scales=[0.5, 1, 2])
    >>> zooms.order, zooms.symmetric
    (3, True)
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        scales: ArrayLike | None = None,
        density: Density | None = None,
        interpolation: int = 3,
        jacobian: bool = True,
    ):
        self.shape = shape
        self.scales = scales
        self.density = density
        self.interpolation = interpolation
        self.jacobian = jacobian

    @property
    def symmetric(self) -> bool:
        density = own_density(self)
        if self.scales is None:
            return density is None or density.symmetric
        if density is not None:
            weights = dict(zip(self.elements(), self.weights(), strict=True))
        else:
            weights = dict.fromkeys(self.elements(), 1.0)
        return all(
            any(np.isclose(1 / s, t) and np.isclose(w, v) for t, v in weights.items())
            for s, w in weights.items()
        )

    @property
    def order(self) -> int | float:
        return inf if self.scales is None else len(listed(self.scales, "scales"))

    def elements(self) -> NDArray:
        """The factors, shape (r,), as given."""
        return super().elements() if self.scales is None else listed(self.scales, "scales")

    def weights(self) -> NDArray | None:
        density = own_density(self)
        if self.scales is None or density is None:
            return None
        factors = self.elements()
        return normalised(density.pdf(factors) * factors, density)

    def sample(self, n_samples: int, random_state=None) -> NDArray:
        rng = check_random_state(random_state)
        if self.scales is not None:
            factors = self.elements()
            return factors[rng.choice(len(factors), size=n_samples, p=self.weights())]
        density = own_density(self) or LogNormal(0.3)
        return density.sample(n_samples, rng)

    def inverse(self, elements: ArrayLike) -> NDArray:
        """Reciprocal factors; undone up to interpolation and what left the frame."""
        return 1 / np.asarray(elements)

    def _maps(self, elements: NDArray) -> tuple[NDArray, NDArray]:
        if elements.ndim != 1 or not np.all(elements > 0):
            raise ValueError(f"scales must be positive numbers of shape (r,), got {elements}")
        inverses = np.eye(2) / elements[:, None, None]
        return inverses, np.zeros((len(elements), 2))
