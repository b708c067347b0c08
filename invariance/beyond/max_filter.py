"""`MaxFilter`: the largest inner product of a point with the orbit of each template."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.parameters import Positive, stores_parameters
from ..features.orbit import OrbitFeatures
from ..features.templates import TEMPLATES, draw_templates
from ..orbits import Extremes


@stores_parameters
class MaxFilter(OrbitFeatures):
    r"""Max filtering: the largest inner product with the orbit of each template.

    Cahill, Iverson, Mixon and Packer 2024, definition 1: for template t_j,

    .. math:: \phi_j(x) = \max_{g \in G} \langle x, g t_j \rangle .

    For a unitary group they are invariant, and Lipschitz in the distance between orbits,

    .. math:: |\phi_j(x) - \phi_j(z)| \le \lVert t_j \rVert \; \min_g \lVert x - g z \rVert .

    For a finite group, 2 d templates in general position separate all orbits, and sufficiently many
    also bound that distance from below: a few bi-Lipschitz features instead of a histogram.
    PyTorch's gradients are those at the largest inner product, as in max pooling.

    Parameters
    ----------
    group, n_transforms : as in `OrbitFourier`
    n_components : int, number of templates m
    templates : {"gaussian", "sphere", "data"} or array of shape (m, d)
        "gaussian" is N(0, I/d), "sphere" uniform on the unit sphere. "data" takes random training
        points scaled to norm one: features that compare a point with examples, best aligned.
    tolerance, block_bytes, n_jobs, verbose, random_state : as in `OrbitFourier`
        Rotations of the plane, of space and of several frequencies (`CircleAction`) need no nodes;
        between nodes of other infinite groups the largest value is missed by up to the tolerance.

    Attributes
    ----------
    templates_ : ndarray of shape (m, d)
    elements_ : ndarray of shape (r, ...) or None
        The sampled group elements, or the nodes, if there are any.

    Examples
    --------
    >>> import numpy as np
    >>> from invariance.groups import Permutations
    >>> X = np.random.default_rng(0).standard_normal((1, 20))
    >>> features = MaxFilter(Permutations(20), n_components=3, random_state=0).fit(X)
    >>> bool(np.allclose(features.transform(X), features.transform(X[:, ::-1])))
    True
    >>> MaxFilter(Permutations(20), 1, templates="data").fit(X).transform(X).round(4)
    array([[3.8924]])
    >>> np.linalg.norm(X).round(4)
    np.float64(3.8924)
    """

    _: KW_ONLY
    tolerance: Annotated[float, Positive()] = 1e-3
    templates: Annotated[str | ArrayLike, TEMPLATES] = "gaussian"

    def _fit(self, X: NDArray, rng: np.random.RandomState) -> None:
        templates = draw_templates(
            self.templates,
            self.n_components,
            n_features=X.shape[1],
            epsilon=None,
            points=X,
            random_state=rng,
        )
        self.templates_ = templates.astype(X.dtype)
        self.elements_ = None
        if self.n_transforms is not None and self.group_ is not None:
            self.elements_ = self.group_.sample(self.n_transforms, rng)
        self._n_features_out = self.n_components
        self._prepare(self.templates_, Extremes())
