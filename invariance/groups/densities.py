"""Probability densities on a group's parameters (angles, scales, shifts) as objects."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from math import prod
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from ..core import parameters as kinds
from ..core.parameters import ParameterError, check_parameters, short, stores_parameters

#: Values that are accepted as a parameter ``density``.
DENSITY = kinds.Has("a density, such as Normal(0.2)", "pdf", "sample", "symmetric") | None

#: Draws that show over which turns a density extends, and the most turns on each side.
_N_DRAWS = 1000
_MOST_TURNS = 500


class Density(BaseEstimator, ABC):
    """A probability density on the real line or the circle.

    It is ``symmetric`` if g and g^-1 are equally likely: q(-x) = q(x) for angles and shifts; for
    scales, the density of the logarithm is symmetric about zero. It is ``periodic`` if `pdf` is a
    density on the circle, equal at angles that are whole turns apart; otherwise the density of an
    angle on the circle is a sum over whole turns.
    """

    periodic: bool = False

    #: A parameter, and the value of it that makes g and g^-1 equally likely.
    _centre: tuple[str, float] = ("loc", 0.0)

    def __dir__(self) -> list[str]:
        """All names, listed without computing any property.

        The default of scikit-learn computes every attribute to find out whether it exists.
        """
        return list(object.__dir__(self))

    @abstractmethod
    def _distribution(self) -> Any:
        """The frozen SciPy distribution behind this density."""

    @property
    def symmetric(self) -> bool:
        check_parameters(self)
        name, central_value = self._centre
        return bool(getattr(self, name) == central_value)

    @kinds.arguments(
        size=kinds.Whole(0) | kinds.Array(1, whole=True, least=0), random_state=kinds.Seed()
    )
    def sample(self, size: int | tuple[int, ...], random_state: Any = None) -> NDArray[Any]:
        """Independent draws, float64, of the given shape."""
        check_parameters(self)
        sizes = np.ravel(size).tolist()
        n_bytes = 8 * prod(sizes)
        kinds.check_memory(f"{type(self).__name__}.sample", n_bytes, size=size)
        rng = check_random_state(random_state)
        draws = self._distribution().rvs(size=size, random_state=rng)
        return np.asarray(draws)

    @kinds.arguments(x=kinds.Array(empty=True))
    def pdf(self, x: ArrayLike) -> NDArray[Any]:
        """The density at each x."""
        check_parameters(self)
        return np.asarray(self._distribution().pdf(x))


def wrapped(angles: ArrayLike) -> NDArray[Any]:
    """Angles in radians, moved to [-pi, pi) by whole turns."""
    shifted = np.asarray(angles, dtype=float) + np.pi
    return shifted % (2 * np.pi) - np.pi


def circular_pdf(density: Density, angles: ArrayLike) -> NDArray[Any]:
    """The density of angles in [-pi, pi] on the circle: the sum over whole turns.

    >>> circular_pdf(Uniform(0.0, 3 * np.pi), [1.0, -1.0]) * 3 * np.pi
    array([2., 1.])
    """
    angles = np.asarray(angles, dtype=float)
    if getattr(density, "periodic", False):
        return np.asarray(density.pdf(angles))
    if isinstance(density, Uniform) and density.n_whole_turns():
        # Both ends are the same angle, which counts once.
        return np.full(angles.shape, density.n_whole_turns() / (density.high - density.low))
    turns = np.rint(np.asarray(density.sample(_N_DRAWS, 0)) / (2 * np.pi))
    central = float(np.median(turns))
    values = np.asarray(density.pdf(angles + 2 * np.pi * central))
    for direction, last in ((1, turns.max()), (-1, turns.min())):
        for distance in range(1, _MOST_TURNS):
            turn = central + direction * distance
            added = np.asarray(density.pdf(angles + 2 * np.pi * turn))
            is_negligible = added.max(initial=0) <= np.finfo(float).eps * values.max(initial=0)
            if not is_negligible:
                values = values + added
            elif direction * turn >= direction * last:
                break
    return values


@stores_parameters
class Uniform(Density):
    """Uniform on [low, high); the default is one full turn in radians.

    >>> Uniform(-1, 1).pdf([0.0, 2.0])
    array([0.5, 0. ])
    """

    low: Annotated[float, kinds.Number()] = -np.pi
    high: Annotated[float, kinds.Number()] = np.pi

    @property
    def symmetric(self) -> bool:
        check_parameters(self)
        # Only relative differences count as rounding: an interval can be short.
        return bool(np.isclose(self.low, -self.high, atol=0))

    def n_whole_turns(self) -> int:
        """Length of the interval in turns; zero if it is not a whole number, up to rounding."""
        check_parameters(self)
        length = (self.high - self.low) / (2 * np.pi)
        n_turns = round(length)
        return n_turns if -1e-9 <= length - n_turns <= 1e-5 else 0

    def _distribution(self) -> Any:
        if not self.high > self.low:
            raise ParameterError(f"Uniform needs low < high, got low={self.low}, high={self.high}")
        return stats.uniform(self.low, self.high - self.low)


@stores_parameters
class VonMises(Density):
    """Von Mises density on angles in radians, exp(kappa cos(x - loc)) / (2 pi I_0(kappa)).

    ``kappa = 0`` is the uniform (Haar) density on the circle; large ``kappa``, up to 1e9,
    concentrates on ``loc`` with standard deviation about kappa^(-1/2).

    >>> float(VonMises(kappa=0.0).pdf(1.0).round(4))
    0.1592
    """

    periodic = True
    kappa: Annotated[float, kinds.Number(0, 1e9)] = 1.0
    loc: Annotated[float, kinds.Number()] = 0.0

    def _distribution(self) -> Any:
        if self.kappa == 0:
            return stats.uniform(-np.pi, 2 * np.pi)
        return stats.vonmises(self.kappa, loc=self.loc)


@stores_parameters
class Normal(Density):
    """Normal density, for translations.

    >>> Normal(scale=2.0).symmetric
    True
    """

    scale: Annotated[float, kinds.Positive()] = 1.0
    loc: Annotated[float, kinds.Number()] = 0.0

    def _distribution(self) -> Any:
        return stats.norm(self.loc, self.scale)


@stores_parameters
class LogNormal(Density):
    """Log-normal density, for scalings: log x ~ N(log median, sigma^2).

    Symmetric as a density on the group of scalings when ``median = 1``: x and 1/x are then
    equally likely.

    >>> LogNormal(sigma=0.3).symmetric
    True
    """

    _centre = "median", 1.0
    # With sigma above 50, draws leave the range of floating-point numbers.
    sigma: Annotated[float, kinds.Number(above=0, most=50)] = 1.0
    median: Annotated[float, kinds.Positive()] = 1.0

    def _distribution(self) -> Any:
        return stats.lognorm(self.sigma, scale=self.median)


def normalize_weights(values: NDArray[Any], density: Density, **listed: Any) -> NDArray[Any]:
    """Weights of listed elements, scaled to add up to one.

    ``listed`` is the parameter that lists the elements, for the error message.
    """
    total = values.sum()
    if not total > 0:
        settings = [f"{name}={short(value)}" for name, value in listed.items()]
        raise ParameterError(
            f"density {density!r} gives no element a positive weight: {', '.join(settings)}"
        )
    return np.asarray(values / total)


def nodes_for(density: Density | None, n_nodes: int) -> int:
    """Number of nodes on the circle that resolve a density: `n_nodes`, doubled until it suffices.

    A warning appears if the density is narrower than the spacing of 16,384 nodes.

    >>> nodes_for(VonMises(1.0), 9), nodes_for(VonMises(1000.0), 9)
    (9, 144)
    """
    if density is None:
        return n_nodes
    while not _is_resolved(density, n_nodes):
        if n_nodes >= 2**14:
            message = f"{density!r} is too narrow for {n_nodes} nodes"
            warnings.warn(f"{message}; draw elements with n_transforms", stacklevel=2)
            break
        n_nodes *= 2
    return n_nodes


def _is_resolved(density: Density, n_nodes: int) -> bool:
    """Whether twice as many nodes give the same mean density, up to one in a thousand."""
    coarse_mean = _mean_on_circle(density, n_nodes)
    fine_mean = _mean_on_circle(density, 2 * n_nodes)
    if fine_mean == 0:
        return False
    return abs(coarse_mean / fine_mean - 1) <= 1e-3


def _mean_on_circle(density: Density, n_nodes: int) -> float:
    """Mean of a density over equally spaced angles."""
    angles = wrapped(2 * np.pi * np.arange(n_nodes) / n_nodes)
    return float(np.mean(circular_pdf(density, angles)))
