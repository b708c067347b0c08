"""`SortedCoorbits`: inner products with the orbits of templates, in ascending order."""

from __future__ import annotations

from dataclasses import KW_ONLY
from math import inf
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arrays import is_foreign, like, namespace
from ..core.parameters import OneOf, ParameterError, Whole, check_memory, short, stores_parameters
from ..features.orbit import OrbitFeatures
from ..features.templates import TEMPLATES, draw_templates
from ..orbits import Sorted
from ..orbits.nodes import has_nodes


@stores_parameters
class SortedCoorbits(OrbitFeatures):
    r"""Sorted coorbits: the inner products with the orbit of each template, in ascending order.

    Balan, Tsoukanis and Wellershoff 2024: for template t_j,

    .. math:: \beta_j(x) = \frac{1}{\sqrt{m |G|}} \;
              \operatorname{sort} \bigl( \langle x, g t_j \rangle : g \in G \bigr) ,

    with m \|G\| features in all. For a finite unitary group they are invariant, and if they
    separate orbits, then they are bi-Lipschitz: distances of features are between c and C times
    the distances of orbits, with c > 0. The upper constant is known, `upper_constant_`. The
    distance of features is a sliced Wasserstein distance between orbits: the root of the mean, over
    templates, of the squared 2-Wasserstein distance between both distributions of projections.

    `GroupCDF` counts how many of these inner products lie below each threshold, and `MaxFilter`
    takes the last one.

    Parameters
    ----------
    group : Transformations or None
        A finite set of equally likely elements. Others need ``n_transforms``.
    n_components : int, number of templates m
    n_transforms : int or None
        Number of random elements that stand for all; invariance is then approximate.
    n_ranks : int or None
        The sorted values are divided into so many runs of neighbouring ranks, as equal as can be,
        and each run is replaced by its mean, times the root of its length: a linear map that does
        not increase distances. None keeps all values.
    templates : {"tight", "gaussian", "sphere", "data"} or array of shape (m, d)
        "tight" multiplies Gaussian templates by a matrix, so that the mean of (g t)(g t)^T over
        templates and elements is the identity (on the span of the orbits): then the distances of
        nearby points in general position are kept, no distance grows, and the distortion is
        smaller as a rule. It needs a unitary group. Others: see `MaxFilter`.
    tolerance : float
        Without effect, as there are no nodes.
    block_bytes, n_jobs, verbose, random_state : as in `OrbitFourier`

    Attributes
    ----------
    templates_ : ndarray of shape (m, d)
    elements_ : ndarray of shape (r, ...) or None
        The sampled group elements, if they are sampled.
    upper_constant_ : float
        The smallest C with \|phi(x) - phi(z)\| <= C min_g \|x - g z\| if ``n_ranks`` is None,
        otherwise an upper bound of it: the root of the largest eigenvalue of the mean of
        (g t)(g t)^T over templates and elements. NaN for sets that are not unitary.

    Examples
    --------
    >>> from invariance.groups import CyclicShifts
    >>> X = np.random.default_rng(0).standard_normal((1, 6))
    >>> features = SortedCoorbits(CyclicShifts(6), n_components=12, random_state=0).fit(X)
    >>> Z = features.transform(np.concatenate([X, np.roll(X, 1, axis=1)]))
    >>> Z.shape, bool(np.allclose(Z[0], Z[1]))
    ((2, 72), True)
    >>> SortedCoorbits(CyclicShifts(6), 12, n_ranks=3).fit_transform(X).shape
    (1, 36)
    """

    _: KW_ONLY
    n_ranks: Annotated[int | None, Whole(1) | None] = None
    templates: Annotated[str | ArrayLike, OneOf("tight") | TEMPLATES] = "tight"

    def _fit(self, X: NDArray, rng: np.random.RandomState) -> None:
        is_tight = isinstance(self.templates, str) and self.templates == "tight"
        if is_tight and self.group_ is not None and not self.group_.unitary:
            raise ParameterError(
                f"templates 'tight' need a unitary group, got {short(self.group)}: take 'gaussian'"
            )
        n_elements = self._number_of_elements()
        templates = draw_templates(
            "gaussian" if is_tight else self.templates,
            self.n_components,
            n_features=X.shape[1],
            epsilon=None,
            points=X,
            random_state=rng,
        )
        self.elements_ = None
        if self.n_transforms is not None and self.group_ is not None:
            self.elements_ = self.group_.sample(self.n_transforms, rng)
        if is_tight:
            templates = templates @ _inverse_root(self._mean_square(templates))
        self.templates_ = templates.astype(X.dtype)
        self._n_ranks = n_elements
        if self.n_ranks is not None:
            self._n_ranks = min(self.n_ranks, n_elements)
        self._n_features_out = self.n_components * self._n_ranks
        self._prepare(self.templates_, Sorted(n_elements))
        self._set_runs(n_elements)
        self.upper_constant_ = self._upper_constant()

    def _number_of_elements(self) -> int:
        group = self.group_
        if group is None:
            return 1
        if self.n_transforms is not None:
            return self.n_transforms
        if group.order == inf or has_nodes(group) or group.weights() is not None:
            raise ParameterError(
                "SortedCoorbits needs a finite set of equally likely elements, got "
                f"{short(group)}; set n_transforms to draw elements"
            )
        n_elements = int(group.order)
        check_memory("SortedCoorbits", 8 * n_elements * self.n_components, group=self.group)
        return n_elements

    def _set_runs(self, n_elements: int) -> None:
        """Set the first rank of each run, and the factor of its sum."""
        edges = np.linspace(0, n_elements, self._n_ranks + 1).round().astype(int)
        self._starts = edges[:-1]
        self._factors = 1 / np.sqrt(np.diff(edges) * float(self.n_components * n_elements))

    def _mean_square(self, templates: NDArray) -> NDArray:
        """Return the mean of (g t)(g t)^T over templates and elements, shape (d, d)."""
        group = self.group_
        if group is None:
            return templates.T @ templates / len(templates)
        elements = self.elements_
        if elements is None:
            elements = group.elements()
        d = templates.shape[1]
        total = np.zeros((d, d))
        for template in templates:
            orbit = group.act(elements, template[None]).reshape(len(elements), d)
            total += orbit.T @ orbit / len(elements)
        return total / len(templates)

    def _upper_constant(self) -> float:
        if self.group_ is not None and not self.group_.unitary:
            return np.nan
        mean_square = self._mean_square(self.templates_.astype(float))
        return float(np.sqrt(max(np.linalg.eigvalsh(mean_square)[-1], 0)))

    def _scaled(self, values: Any) -> Any:
        n, m, n_elements = values.shape
        if self._n_ranks < n_elements:
            values = self._sums_of_runs(values)
        values = values * like(self._factors, values)
        if isinstance(values, np.ndarray):
            return values.reshape(n, m * self._n_ranks)
        return namespace(values).reshape(values, (n, m * self._n_ranks))

    def _sums_of_runs(self, values: Any) -> Any:
        if not is_foreign(values):
            return np.add.reduceat(values, self._starts, axis=2)
        xp = namespace(values)
        ends = [*self._starts[1:].tolist(), values.shape[2]]
        sums = []
        for start, end in zip(self._starts.tolist(), ends, strict=True):
            sums.append(xp.sum(values[:, :, start:end], axis=2))
        return xp.stack(sums, axis=-1)


def _inverse_root(matrix: NDArray) -> NDArray:
    """Return the inverse root of a positive semi-definite matrix on its range."""
    eigenvalues, vectors = np.linalg.eigh(matrix)
    is_kept = eigenvalues > 1e-8 * max(eigenvalues[-1], 0)
    kept = vectors[:, is_kept]
    return np.asarray((kept / np.sqrt(eigenvalues[is_kept])) @ kept.T)
