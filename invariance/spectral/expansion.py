"""`Expansion`: a function given by coefficients; what is made of one, and how invariant it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ..core.parameters import Array, Flag, ParameterError, Positive, Seed, Whole, arguments
from ..groups import LinearMaps
from ..groups.base import GROUP, Transformations
from ..theory.soleymani2025 import alpha
from .base import BASIS, Basis, OracleCalls
from .projection import invariant_subspace

#: At most this many points are handed to a function at once.
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
        shape = np.shape(self.coefficients)
        if len(shape) not in (1, 2) or shape[0] != self.basis.n_functions_:
            holds = f"basis holds {self.basis.n_functions_} functions"
            raise ParameterError(f"{holds}, coefficients have shape {shape}")

    def predict(self, X: ArrayLike, *, calls: OracleCalls | None = None) -> NDArray:
        """Values at points of shape (n, n_features): one evaluation of the basis (eq. 23)."""
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
        """`invariance_discrepancy` of this function, the worst of several.

        Under the group and under the exchanges that the basis brings.
        """
        tried = [] if group is None else [(group, outputs)]
        if len(swaps := self.basis.exchanges()[0]):
            turned = outputs is not None and self.coefficients.shape[1:] == (swaps.shape[1],)
            tried.append((LinearMaps(swaps), LinearMaps(swaps) if turned else None))
        how: Any = {"relative": relative, **options}
        gaps = (invariance_discrepancy(self.predict, g, X, outputs=o, **how) for g, o in tried)
        return float(max(map(np.max, gaps), default=0.0))


@arguments(basis=BASIS, smoothness=Positive(), random_state=Seed())
def sobolev_target(
    basis: Basis, group: Transformations | None, *, smoothness: float, random_state: Any = None
) -> Expansion:
    r"""An invariant function that is in :math:`H^s`, but in no space 2 % smoother.

    Its energy beyond the first D eigenfunctions is

    .. math:: \sum_{D_\lambda > D} |f_\lambda|^2 = D^{-1.02 \alpha}, \qquad \alpha = 2 s / d,

    up to what the truncation of the ``basis`` leaves out, which must be much larger than any cutoff
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
    parts = [np.ones(1)]
    left = 1.0
    for vectors, count in zip(subspaces[1:], basis.counts_[1:], strict=True):
        direction = rng.standard_normal(vectors.shape[1])
        beyond = float(count) ** -exponent if len(direction) else left
        norm = np.linalg.norm(direction) if len(direction) else 1.0
        parts.append(vectors @ (direction / norm * np.sqrt(left - beyond)))
        left = beyond
    return Expansion(basis, np.concatenate(parts))


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
    r"""The largest change of a function under the group, over given points X (n, d).

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
        Of a function whose m values turn with the group, see `project`: the change is then
        \\|g f(x) - f(g x)\\|.
    relative : bool
        Divide by the largest \\|f(x)\\| met (zero functions have discrepancy 0).

    >>> from invariance.groups import SignFlips
    >>> float(invariance_discrepancy(lambda X: X.sum(axis=1), SignFlips(2), [[1.0, 3.0]]))
    8.0
    """
    X = np.asarray(X, dtype=float)
    reference = np.asarray(function(X))
    size = np.abs(reference).max(axis=0)
    worst = np.zeros_like(size)
    elements = _tried_elements(group, n_elements, random_state)
    step = max(1, CHUNK // len(X))
    for start in range(0, len(elements), step):
        moved = group.act(elements[start : start + step], X)
        values = np.asarray(function(moved.reshape(-1, X.shape[1])))
        values = values.reshape(len(moved), *reference.shape)
        due = reference
        if outputs is not None:
            due = outputs.act(elements[start : start + step], reference.reshape(len(X), -1))
        gaps = np.abs(values - due.reshape(-1, *reference.shape))
        worst = np.maximum(worst, gaps.max(axis=(0, 1)))
        size = np.maximum(size, np.abs(values).max(axis=(0, 1)))
    return np.asarray(worst / np.where(size > 0, size, 1))[()] if relative else worst


def _tried_elements(group: Transformations, n_elements: int, random_state: Any) -> NDArray:
    """The elements over which a discrepancy is maximised."""
    if group.order <= n_elements:
        return group.elements()
    if not hasattr(group, "random_words"):
        return group.sample(2 * n_elements, random_state)
    drawn = group.sample(n_elements, random_state)
    words = group.random_words(n_elements, random_state=random_state)
    return np.concatenate([group.generators(), drawn, words])
