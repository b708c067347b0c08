"""`sobolev_target`: invariant functions of known smoothness, for measuring rates."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..groups import Transformations
from ..core.parameters import Positive, Seed, arguments
from ..theory.soleymani2025 import alpha
from .base import BASIS, Basis
from .expansion import Expansion
from .projection import invariant_subspace

__all__ = ["sobolev_target"]


@arguments(basis=BASIS, smoothness=Positive(), random_state=Seed())
def sobolev_target(
    basis: Basis, group: Transformations | None, *, smoothness: float, random_state: Any = None
) -> Expansion:
    r"""An invariant function that is in :math:`H^s`, but in no space 2 % smoother.

    Its energy beyond the first D eigenfunctions is

    .. math:: \sum_{D_\lambda > D} |f_\lambda|^2 = D^{-1.02 \alpha}, \qquad \alpha = 2 s / d,

    up to what the truncation of the basis leaves out. So the theorem's bias is met up to a hair,
    and :math:`\sum_\lambda D_\lambda^\alpha |f_\lambda|^2` stays finite. Within an eigenspace the
    direction is random. The mean is one.

    Parameters
    ----------
    basis : Basis
        A truncated basis, much larger than any cutoff under study.
    group : FiniteGroup or continuous group
    smoothness : float
        The exponent s.
    random_state : int, RandomState or None

    Examples
    --------
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
