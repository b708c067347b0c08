"""Probability densities on a group's parameters (angles, scales, shifts) as objects."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from ..checks import check_number, check_positive

__all__ = ["Density", "LogNormal", "Normal", "Uniform", "VonMises", "own_density"]

#: Concentrations above which a von Mises density is its normal limit to ten digits.
_NORMAL_ABOVE = 1e9


class Density(BaseEstimator, ABC):
    """A probability density on the real line or the circle.

    Attributes
    ----------
    symmetric : bool
        Whether g and g^-1 are equally likely: q(-x) = q(x) for angles and shifts,
        and q of log-scale symmetric about zero for scales.
    """

    symmetric: bool = False

    @abstractmethod
    def _distribution(self):
        """The frozen SciPy distribution behind this density."""

    def sample(self, size: int | tuple[int, ...], random_state=None) -> NDArray:
        """Independent draws, float64, of the given shape."""
        return np.asarray(
            self._distribution().rvs(size=size, random_state=check_random_state(random_state))
        )

    def pdf(self, x: ArrayLike) -> NDArray:
        """The density at each x."""
        return self._distribution().pdf(x)


class Uniform(Density):
    """Uniform on [low, high); the default is one full turn in radians.

    >>> Uniform(-1, 1).pdf([0.0, 2.0])
    array([0.5, 0. ])
    """

    def __init__(self, low: float = -np.pi, high: float = np.pi):
        self.low = low
        self.high = high

    @property
    def symmetric(self) -> bool:
        return bool(np.isclose(self.low, -self.high))

    def _distribution(self):
        check_number("Uniform", low=self.low, high=self.high)
        if not self.high > self.low:
            raise ValueError(f"Uniform needs low < high, got low={self.low}, high={self.high}")
        return stats.uniform(self.low, self.high - self.low)


class VonMises(Density):
    """Von Mises density on angles in radians, exp(kappa cos(x - loc)) / (2 pi I_0(kappa)).

    ``kappa = 0`` is the uniform (Haar) density on the circle; large ``kappa`` concentrates on
    ``loc`` with standard deviation about kappa^(-1/2): above 1e9 its normal limit is taken.

    >>> float(VonMises(kappa=0.0).pdf(1.0).round(4))
    0.1592
    """

    def __init__(self, kappa: float = 1.0, loc: float = 0.0):
        self.kappa = kappa
        self.loc = loc

    @property
    def symmetric(self) -> bool:
        return self.loc == 0

    def _distribution(self):
        check_number("VonMises", kappa=self.kappa, loc=self.loc)
        if not self.kappa >= 0:
            raise ValueError(f"VonMises needs kappa >= 0, got {self.kappa}")
        if self.kappa == 0:
            return stats.uniform(-np.pi, 2 * np.pi)
        if self.kappa > _NORMAL_ABOVE:
            return stats.norm(self._wrapped(self.loc), self.kappa**-0.5)
        return stats.vonmises(self.kappa, loc=self.loc)

    @staticmethod
    def _wrapped(angle: ArrayLike) -> NDArray:
        return (np.asarray(angle, dtype=float) + np.pi) % (2 * np.pi) - np.pi

    def pdf(self, x: ArrayLike) -> NDArray:
        """The density at each angle."""
        distribution = self._distribution()
        if self.kappa > _NORMAL_ABOVE:
            x = self._wrapped(self.loc) + self._wrapped(np.asarray(x, dtype=float) - self.loc)
        return distribution.pdf(x)

    def fourier_coefficients(self, orders: ArrayLike) -> NDArray:
        """E[exp(i m x)] for integer orders m: I_m(kappa) / I_0(kappa) exp(i m loc)."""
        orders = np.asarray(orders)
        if self.kappa > _NORMAL_ABOVE:
            ratio = np.exp(-(orders**2) / (2 * self.kappa))
        else:
            ratio = special.ive(np.abs(orders), self.kappa) / special.ive(0, self.kappa)
        return ratio * np.exp(1j * orders * self.loc)


class Normal(Density):
    """Normal density, for translations.

    >>> Normal(scale=2.0).symmetric
    True
    """

    def __init__(self, scale: float = 1.0, loc: float = 0.0):
        self.scale = scale
        self.loc = loc

    @property
    def symmetric(self) -> bool:
        return self.loc == 0

    def _distribution(self):
        check_positive("Normal", scale=self.scale)
        check_number("Normal", loc=self.loc)
        return stats.norm(self.loc, self.scale)


class LogNormal(Density):
    """Log-normal density, for scalings: log x ~ N(log median, sigma^2).

    Symmetric as a density on the group of scalings when ``median = 1``: x and 1/x are then
    equally likely.

    >>> LogNormal(sigma=0.3).symmetric
    True
    """

    def __init__(self, sigma: float = 1.0, median: float = 1.0):
        self.sigma = sigma
        self.median = median

    @property
    def symmetric(self) -> bool:
        return self.median == 1

    def _distribution(self):
        check_positive("LogNormal", sigma=self.sigma, median=self.median)
        return stats.lognorm(self.sigma, scale=self.median)


def own_density(group: BaseEstimator, name: str = "density") -> Density | None:
    """A group's parameter that is a density or None, checked."""
    density = getattr(group, name)
    if density is not None and not isinstance(density, Density):
        raise TypeError(
            f"{type(group).__name__} needs a density for {name}, such as Normal(0.2), or None, got "
            f"{density!r}"
        )
    return density
