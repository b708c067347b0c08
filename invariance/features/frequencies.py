"""`draw_frequencies`: templates from the spectral law of a shift-invariant kernel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.stats import qmc
from sklearn.utils import check_random_state

from ..core.parameters import (
    OneOf,
    ParameterError,
    Positive,
    Seed,
    Whole,
    arguments,
    check_memory,
)

__all__ = ["draw_frequencies"]


@arguments(
    kernel=OneOf("gaussian", "laplacian"),
    gamma=Positive(),
    n_components=Whole(1),
    n_features=Whole(1),
    sampling=OneOf("monte_carlo", "quasi", "orthogonal"),
    random_state=Seed(),
)
def draw_frequencies(
    kernel: str,
    gamma: float,
    *,
    n_components: int,
    n_features: int,
    sampling: str = "monte_carlo",
    random_state=None,
) -> NDArray:
    r"""Templates omega ~ p, the spectral law of a shift-invariant kernel, shape (s, d).

    Parameters
    ----------
    kernel : {"gaussian", "laplacian"}
        exp(-gamma \|x - z\|^2) has omega ~ N(0, 2 gamma I); exp(-gamma \|x - z\|_1) has independent
        Cauchy entries of scale gamma.
    gamma : float
    n_components, n_features : int
        s and d.
    sampling : {"monte_carlo", "quasi", "orthogonal"}
        "quasi": a scrambled Sobol sequence through the quantile function; best at powers of two.
        "orthogonal": blocks of d orthogonal directions with the radii of independent draws.

    Examples
    --------
    >>> W = draw_frequencies(
    ...     "gaussian", 0.5, n_components=3, n_features=3, sampling="orthogonal", random_state=0
    ... )
    >>> bool(abs(W[0] @ W[1]) < 1e-12)
    True
    """
    sizes = {"n_components": n_components, "n_features": n_features}
    check_memory("draw_frequencies", 8 * n_components * n_features, **sizes)
    rng = check_random_state(random_state)
    shape = (n_components, n_features)
    if sampling == "monte_carlo":
        if kernel == "laplacian":
            return gamma * rng.standard_cauchy(shape)
        return np.sqrt(2 * gamma) * rng.standard_normal(shape)
    if sampling == "quasi":
        sequence = qmc.Sobol(n_features, seed=np.random.default_rng(rng.randint(2**31)))
        uniform = sequence.random_base2(int(np.ceil(np.log2(max(n_components, 1)))))
        # The first points of a scrambled net; 0 and 1 have infinite quantiles.
        uniform = uniform[:n_components].clip(1e-12, 1 - 1e-12)
        if kernel == "laplacian":
            return gamma * np.tan(np.pi * (uniform - 0.5))
        return np.sqrt(2 * gamma) * special.ndtri(uniform)
    if kernel == "laplacian":
        raise ParameterError(
            "orthogonal templates need an isotropic law, which the Laplacian kernel's is not; use "
            "kernel='gaussian', or sampling='quasi'"
        )
    blocks = []
    for _ in range(-(-n_components // n_features)):
        q, r = np.linalg.qr(rng.standard_normal((n_features, n_features)))
        blocks.append((q * np.sign(np.diag(r))).T)  # Haar distributed
    directions = np.concatenate(blocks)[:n_components]
    radii = np.sqrt(rng.chisquare(n_features, size=(n_components, 1)))
    return np.sqrt(2 * gamma) * radii * directions
