"""`Expansion`, a function given by its coefficients, and the discrepancy of functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ..core.arrays import as_floats
from ..core.parameters import Array, Flag, ParameterError, Positive, Seed, Whole, arguments
from ..groups import LinearMaps
from ..groups.base import GROUP, Transformations
from ..theory.soleymani2025 import alpha
from .base import BASIS, Basis, OracleCalls
from .projection import invariant_subspace

#: A function is evaluated at no more than this many points at a time.
CHUNK = 20_000


@dataclass(frozen=True)
class Expansion:
    """A function given by its coefficients, (D,) or (D, t) of t functions, in a truncated basis.

    >>> from invariance.groups import SignFlips
    >>> from invariance.spectral import Torus
    >>> f = Expansion(Torus(1, degree=1), np.array([0.0, 1.0, 0.0]))     # sqrt2 cos
    >>> f.discrepancy([[0.3]], SignFlips(1))
    0.0
    """

    basis: Basis
    coefficients: NDArray

    def __post_init__(self) -> None:
        coefficients = as_floats("coefficients", self.coefficients)
        object.__setattr__(self, "coefficients", coefficients)
        shape = coefficients.shape
        n_functions = self.basis.n_functions_
        if len(shape) not in (1, 2) or shape[0] != n_functions:
            raise ParameterError(
                f"basis holds {n_functions} functions, coefficients have shape {shape}"
            )

    def predict(self, X: ArrayLike, *, calls: OracleCalls | None = None) -> NDArray:
        """Return the values at points of shape (n, n_features), by eq. 23."""
        columns = self.coefficients.reshape(len(self.coefficients), -1)
        values = self.basis.combine(X, columns, calls=calls)
        return values.reshape(-1, *self.coefficients.shape[1:])

    def discrepancy(
        self,
        X: ArrayLike,
        group: Transformations | None,
        *,
        outputs: Transformations | None = None,
        relative: bool = True,
        **options: Any,
    ) -> float:
        """Return the largest `invariance_discrepancy` of this function.

        It is that under the group, or under the exchanges of factors of the basis; if there are
        several functions, that of the least invariant one.
        """
        cases = []
        if group is not None:
            cases.append((group, outputs))
        exchanges, _ = self.basis.exchanges()
        if len(exchanges):
            maps = LinearMaps(exchanges)
            n_coordinates = exchanges.shape[1]
            are_vectors = self.coefficients.shape[1:] == (n_coordinates,)
            cases.append((maps, maps if outputs is not None and are_vectors else None))
        largest = 0.0
        for case_group, case_outputs in cases:
            gaps = invariance_discrepancy(
                self.predict, case_group, X, outputs=case_outputs, relative=relative, **options
            )
            largest = float(np.maximum(largest, np.max(gaps)))  # NaN stays NaN, unlike in max
        return largest


@arguments(basis=BASIS, smoothness=Positive(), random_state=Seed())
def sobolev_target(
    basis: Basis, group: Transformations | None, *, smoothness: float, random_state: Any = None
) -> Expansion:
    r"""Return an invariant function that is in :math:`H^s`, but in no space 2 % smoother.

    Its energy beyond the first D eigenfunctions is

    .. math:: \sum_{D_\lambda > D} |f_\lambda|^2 = D^{-1.02 \alpha}, \qquad \alpha = 2 s / d,

    up to the functions beyond the truncated ``basis``, which must be much larger than any cutoff
    under study. Within an eigenspace the direction is random. The mean is one.

    >>> from invariance.groups import SignFlips
    >>> from invariance.spectral import Torus
    >>> f = sobolev_target(Torus(2, degree=50), SignFlips(2), smoothness=2.0, random_state=0)
    >>> float(f.coefficients[0])
    1.0
    """
    rng = check_random_state(random_state)
    exponent = 1.02 * alpha(smoothness, basis.manifold_dimension)
    subspaces = invariant_subspace(basis, group)
    coefficients = [np.ones(1)]
    remaining_energy = 1.0
    for vectors, count in zip(subspaces[1:], basis.counts_[1:], strict=True):
        dimension, n_invariant = vectors.shape
        if n_invariant == 0:
            coefficients.append(np.zeros(dimension))
            continue
        direction = rng.standard_normal(n_invariant)
        energy_beyond = float(count) ** -exponent
        size = np.sqrt(remaining_energy - energy_beyond)
        coefficients.append(vectors @ (direction / np.linalg.norm(direction) * size))
        remaining_energy = energy_beyond
    return Expansion(basis, np.concatenate(coefficients))


@arguments(
    group=GROUP,
    outputs=GROUP | None,
    X=Array(ndim=2),
    n_elements=Whole(1),
    relative=Flag(),
    random_state=Seed(),
)
def invariance_discrepancy(
    function: Callable[[NDArray], NDArray],
    group: Transformations,
    X: ArrayLike,
    *,
    outputs: Transformations | None = None,
    n_elements: int = 100,
    relative: bool = False,
    random_state: Any = 0,
) -> float | NDArray:
    r"""Return the largest change of a function under the group, over points X (n, d).

    .. math:: \mathrm{ID}(f) = \sup_{x, g} |f(x) - f(g x)|

    (Soleymani et al. 2025, section 6.3), a lower bound on the supremum over all points. Groups of
    at most ``n_elements`` are listed; from larger ones take the generators, ``n_elements``
    uniform draws and as many random words of length 20 in the generators and their inverses (of
    continuous groups twice as many draws).

    Parameters
    ----------
    function : callable
        (n, d) -> (n,), or (n, m) for m functions at once: the result is a float or shape (m,).
    outputs : group, optional
        The action on the m values of a function that turn with the group, see `project`. The
        change is then that from g f(x) to f(g x), of each value.
    relative : bool
        Divide by the largest \\|f(x)\\| met (zero functions have discrepancy 0).

    Examples
    --------
    >>> from invariance.groups import SignFlips
    >>> float(invariance_discrepancy(lambda X: X.sum(axis=1), SignFlips(2), [[1.0, 3.0]]))
    8.0
    """
    X = np.asarray(X, dtype=float)
    reference = _values(function, X)
    largest_value = np.abs(reference).max(axis=0)
    largest_gap = np.zeros_like(largest_value)
    elements = _elements_to_try(group, n_elements, random_state)
    step = max(1, CHUNK // len(X))
    for start in range(0, len(elements), step):
        block = elements[start : start + step]
        points = group.act(block, X).reshape(-1, X.shape[1])
        values = _values(function, points).reshape(len(block), *reference.shape)
        expected = reference[None]
        if outputs is not None:
            images = outputs.act(block, reference.reshape(len(X), -1))
            expected = images.reshape(-1, *reference.shape)
        gaps = np.abs(values - expected)
        largest_gap = np.maximum(largest_gap, gaps.max(axis=(0, 1)))
        largest_value = np.maximum(largest_value, np.abs(values).max(axis=(0, 1)))
    if not relative:
        return largest_gap
    ratio = largest_gap / np.where(largest_value > 0, largest_value, 1)
    return np.asarray(ratio)[()]


def _values(function: Callable[[NDArray], NDArray], points: NDArray) -> NDArray:
    """Return a function's values; integers, whose differences may wrap, as floats."""
    values = np.asarray(function(points))
    if values.dtype.kind in "biu":
        return values.astype(float)
    return values


def _elements_to_try(group: Transformations, n_elements: int, random_state: Any) -> NDArray:
    """Return the elements over which a discrepancy is maximised."""
    if group.order <= n_elements:
        return group.elements()
    if not hasattr(group, "random_words"):
        return group.sample(2 * n_elements, random_state)
    draws = group.sample(n_elements, random_state)
    words = group.random_words(n_elements, random_state=random_state)
    return np.concatenate([group.generators(), draws, words])
