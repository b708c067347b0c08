"""Random templates: Gaussian within a norm bound, or uniform on the sphere."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.utils import check_random_state

from ..core.parameters import (
    Array,
    Number,
    OneOf,
    ParameterError,
    Seed,
    Whole,
    arguments,
    check_memory,
)

__all__ = ["draw_templates"]


@arguments(
    kind=OneOf("gaussian", "sphere") | Array(2),
    n_templates=Whole(1),
    n_features=Whole(1),
    epsilon=Number(above=-1) | None,
    rejection=OneOf("redraw", "zero"),
    random_state=Seed(),
)
def draw_templates(
    kind: str | ArrayLike,
    n_templates: int,
    *,
    n_features: int,
    epsilon: float | None,
    rejection: str = "redraw",
    random_state=None,
) -> NDArray:
    """Draw templates t of Mroueh et al. 2015, section 2.

    Parameters
    ----------
    kind : {"gaussian", "sphere"} or array of shape (n_templates, n_features)
        "gaussian": N(0, I/d), accepted while |t|^2 < 1 + epsilon. "sphere": uniform on the unit
        sphere (remark 1). An array is taken as it is, and held to the same bound.
    epsilon : float or None
        None is no bound.
    rejection : {"redraw", "zero"}
        What happens to a rejected Gaussian: drawn again (no template is wasted), or the paper's
        null template, whose features are zero (unbiased for K_s).

    Returns
    -------
    templates : ndarray of shape (n_templates, n_features); rejected ones are NaN under "zero"

    Raises
    ------
    ValueError
        When the norm bound rules out the given templates, or nearly all draws.

    Examples
    --------
    >>> draw_templates("sphere", 3, n_features=5, epsilon=0.2, random_state=0).shape
    (3, 5)
    """
    sizes = {"n_templates": n_templates, "n_features": n_features}
    check_memory("draw_templates", 8 * n_templates * n_features, **sizes)
    bound = np.inf if epsilon is None else 1 + epsilon
    rng = check_random_state(random_state)
    if not isinstance(kind, str):
        templates = np.asarray(kind, dtype=float)
        if templates.shape != (n_templates, n_features):
            raise ParameterError(
                f"templates (kind) must have shape (n_templates, n_features) = "
                f"{(n_templates, n_features)}, got {templates.shape}"
            )
        squared = np.square(templates).sum(axis=1)
        if not np.all(squared < bound):
            worst = int(squared.argmax())
            raise ParameterError(
                f"template {worst} has squared norm {squared[worst]:.4g}, outside the bound "
                f"|t|^2 < 1 + epsilon = {bound:.4g}: scale the templates, raise epsilon, or "
                "set s explicitly"
            )
        return templates
    if kind == "sphere":
        templates = rng.standard_normal((n_templates, n_features))
        return templates / np.linalg.norm(templates, axis=1, keepdims=True)
    kept = stats.chi2.cdf(n_features * bound, n_features)
    if kept < 1e-3:
        raise ParameterError(
            f"epsilon = {epsilon} keeps only {kept:.1e} of the Gaussian templates in dimension "
            f"{n_features}; raise epsilon or use templates='sphere'"
        )
    templates = rng.standard_normal((n_templates, n_features)) / np.sqrt(n_features)
    outside = np.square(templates).sum(axis=1) >= bound
    if rejection == "zero":
        templates[outside] = np.nan
        return templates
    while outside.any():
        fresh = rng.standard_normal((int(outside.sum()), n_features)) / np.sqrt(n_features)
        templates[outside] = fresh
        outside[outside] = np.square(fresh).sum(axis=1) >= bound
    return templates
