"""`OrbitFourier`: random Fourier features of the orbit-embedding kernel k_q,G."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from scipy.stats import qmc
from sklearn.utils import check_random_state

from ..array_api import like, on_host
from ..checks import check_count, check_positive
from ..groups import Transformations
from ..orbits import CircleProducts
from .bandwidth import resolve_gamma
from .orbit import OrbitFeatures
from .pooling import (
    circle_frequencies,
    pool,
    pool_arrays,
    pool_circle,
    row_slices,
    spawn,
)

__all__ = ["OrbitFourier", "draw_frequencies"]


def draw_frequencies(
    kernel: str,
    gamma: float,
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
    sampling : {"monte_carlo", "quasi", "orthogonal"}
        "quasi": a scrambled Sobol sequence through the quantile function; best at powers of two.
        "orthogonal": blocks of d orthogonal directions with the radii of independent draws.

    Examples
    --------
    >>> W = draw_frequencies("gaussian", 0.5, 3, 3, "orthogonal", random_state=0)
    >>> bool(abs(W[0] @ W[1]) < 1e-12)
    True
    """
    rng = check_random_state(random_state)
    if kernel not in ("gaussian", "laplacian"):
        raise ValueError(f"kernel must be 'gaussian' or 'laplacian', got {kernel!r}")
    check_positive("draw_frequencies", gamma=gamma)
    check_count("draw_frequencies", n_components=n_components, n_features=n_features)
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
    if sampling != "orthogonal":
        raise ValueError(
            f"sampling must be 'monte_carlo', 'quasi' or 'orthogonal', got {sampling!r}"
        )
    if kernel == "laplacian":
        raise ValueError(
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


class OrbitFourier(OrbitFeatures):
    r"""Random Fourier features averaged over the group.

    Raj et al. 2017, eq. 7: with templates omega_j from the base kernel's spectral law and group
    elements g_i from the density q,

    .. math:: \psi_j(x) = \sqrt{2/s} \; \frac{1}{r} \sum_{i=1}^r
              \cos(\langle \omega_j, g_i x \rangle + b_j) ,

    so that inner products of features approximate the kernel :math:`k_{q,G}` between orbit
    embeddings (eq. 3; exactly, ``Average(base, group)``). Without a group these are plain random
    Fourier features: applied to features they are the second layer, a Gaussian hyperkernel.

    Where the action is unitary the templates are transformed, once, instead of the points. With
    `CircleAction` all angles of a template cost one projection and one small product.

    Parameters
    ----------
    group : Transformations or None
        None is the trivial group.
    n_components : int
        Number of templates s.
    n_transforms : int or None
        Number of elements r drawn from the group's density; None takes its quadrature rule: all
        elements of a finite set with their weights, and for rotations by any angle the
        trapezoidal rule.
    kernel : {"gaussian", "laplacian"}
    gamma : float or "median"
        Bandwidth of the base kernel; "median" is the median heuristic, see `median_gamma`.
    form : {"phase", "cos_sin"}
        One cosine with a random phase a template, s features; or a cosine and a sine: 2 s
        features of smaller variance, cosines first.
    sampling : {"monte_carlo", "quasi", "orthogonal"}
        See `draw_frequencies`.
    side : {"auto", "templates", "points"}
        What the elements act on. "auto" takes templates where that gives the same features: the
        action is unitary, and the set is a group or its density symmetric. "templates" with an
        action that is only nearly unitary (images turned by interpolation) warns with the
        measured departure. The choice is found in ``side_``.
    block_bytes : int
        Bound on temporary arrays. Transformed templates are kept between calls when they fit.
    n_jobs : int or None
        Threads; the features do not depend on their number.
    random_state : int, RandomState or None

    Attributes
    ----------
    templates_ : ndarray of shape (s, d), of X's type
    phases_ : ndarray of shape (s,)
    elements_, weights_ : the group elements acting (on ``side_``) and their weights
    side_ : {"templates", "points"}
    gamma_ : float

    Raises
    ------
    ValueError
        For s or r < 1, a bandwidth that is not positive, or templates asked for under a density
        that is not symmetric in a set without inverses.

    Notes
    -----
    Give float32 arrays where speed matters: NumPy's cosine is then some fifty times faster.

    Examples
    --------
    >>> import numpy as np
    >>> from invariance.groups import CyclicShifts
    >>> features = OrbitFourier(CyclicShifts(6), n_components=50, gamma=0.5, random_state=0)
    >>> Z = features.fit_transform(np.eye(6)[:2])     # e_1 and its shift e_2: one orbit
    >>> Z.shape, features.side_, bool(np.allclose(Z[0], Z[1]))
    ((2, 50), 'templates', True)
    """

    def __init__(
        self,
        group: Transformations | None = None,
        n_components: int = 100,
        n_transforms: int | None = None,
        kernel: str = "gaussian",
        gamma: float | str = "median",
        form: str = "phase",
        sampling: str = "monte_carlo",
        side: str = "auto",
        block_bytes: int = 512 * 2**20,
        n_jobs: int | None = None,
        random_state=None,
    ):
        self.group = group
        self.n_components = n_components
        self.n_transforms = n_transforms
        self.kernel = kernel
        self.gamma = gamma
        self.form = form
        self.sampling = sampling
        self.side = side
        self.block_bytes = block_bytes
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: ArrayLike, y=None) -> OrbitFourier:
        """Draw templates, phases and group elements.

        Parameters
        ----------
        X : array-like of shape (n, d)
            NumPy's or, through the array API standard, another library's; what is fitted is kept
            as NumPy arrays.
        """
        X = self._points_to_fit(X)
        self._check_counts("n_components")
        if self.form not in ("phase", "cos_sin"):
            raise ValueError(f"form must be 'phase' or 'cos_sin', got {self.form!r}")
        # One stream each, so that the same seed gives the same templates whatever r is.
        rng, for_elements = spawn(check_random_state(self.random_state), 2)
        elements, self.weights_ = self._draw_transforms(for_elements)
        seen = X if elements is None else self._seen(elements, X, for_elements)
        self.gamma_ = resolve_gamma(self.gamma, seen, self.kernel, for_elements)
        self.templates_ = draw_frequencies(
            self.kernel, self.gamma_, self.n_components, seen.shape[1], self.sampling, rng
        ).astype(X.dtype)
        self.phases_ = rng.uniform(0, 2 * np.pi, self.n_components).astype(X.dtype)
        preserved = self.group is not None and self.group.unitary
        self.side_, self.elements_ = self._resolve_side(elements, preserved, self.templates_)
        self._n_features_out = self.n_components * (1 if self.form == "phase" else 2)
        self._frequencies = None
        if self.side_ == "templates":
            self._frequencies = circle_frequencies(self.group, int(self.form == "phase"))
        self._orbit = None
        orbit_bytes = self.templates_.nbytes * len(self.weights_)
        if self.side_ == "templates" and self._frequencies is None:
            if orbit_bytes <= self.block_bytes:
                self._orbit = self._template_orbit(slice(None))
        return self

    def _seen(self, elements: NDArray, X: NDArray, rng) -> NDArray:
        """Some points as the group shows them: they set the bandwidth and the dimension."""
        some = X if len(X) <= 1000 else X[rng.choice(len(X), 1000, replace=False)]
        moved = self.group.act(elements[:1], some)[0]
        return moved.reshape(len(some), -1)

    def _extended(self, templates: NDArray, phases: NDArray) -> NDArray:
        """Templates with their phase as one more coordinate; points carry a one there."""
        if self.form == "cos_sin":
            return templates
        column = np.broadcast_to(phases[:, None], (*templates.shape[:-1], 1))
        return np.concatenate([templates, column.astype(templates.dtype)], axis=-1)

    def _template_orbit(self, which: slice) -> NDArray:
        if self._orbit is not None:
            return self._orbit[:, which]
        return self._extended(self._moved(self.templates_[which]), self.phases_[which])

    def _with_one(self, X: NDArray) -> NDArray:
        if self.form == "cos_sin":
            return X
        return np.concatenate([X, np.ones((*X.shape[:-1], 1), dtype=X.dtype)], axis=-1)

    def _transform(self, X: NDArray) -> NDArray:
        s = self.n_components
        features = np.zeros((len(X), self._n_features_out), dtype=X.dtype)
        if self.form == "phase":
            activations, outputs = [_cos], [features]
        else:
            activations, outputs = [_cos, _sin], [features[:, :s], features[:, s:]]
        if self._frequencies is not None:
            templates = self._extended(self.templates_, self.phases_).astype(X.dtype, copy=False)
            products = CircleProducts(self._frequencies, templates, self.elements_)
            pool_circle(
                self._with_one(X), products, self.weights_, activations, outputs, self.n_jobs
            )
        elif self.side_ == "templates":
            self._pool_templates(self._with_one(X), activations, outputs)
        else:
            self._pool_points(X, activations, outputs)
        features *= np.sqrt((2 if self.form == "phase" else 1) / s)
        return features

    def _transform_arrays(self, xp, X):
        activations = [xp.cos] if self.form == "phase" else [xp.cos, xp.sin]
        weights = like(self.weights_, X)
        blocks = []
        if self.side_ == "templates":
            rows = X
            if self.form == "phase":
                rows = xp.concat([X, xp.ones_like(X[:, :1])], axis=1)
            row_bytes = len(self.weights_) * rows.shape[1] * self.templates_.itemsize
            for which in row_slices(self.n_components, row_bytes, self.block_bytes // 2):
                orbit = like(self._template_orbit(which), X)
                blocks.append(pool_arrays(xp, rows, orbit, weights, activations, self.block_bytes))
            axis = 1
        else:
            templates = like(self._extended(self.templates_, self.phases_), X)
            row_bytes = 2 * len(self.weights_) * templates.shape[1] * self.templates_.itemsize
            for which in row_slices(X.shape[0], row_bytes, self.block_bytes // 2):
                points = on_host(X[which, :], "OrbitFourier with side_='points'")
                moved = like(self._with_one(self._moved(points)), X)
                pooled = pool_arrays(xp, templates, moved, weights, activations, self.block_bytes)
                blocks.append([part.T for part in pooled])
            axis = 0
        features = [xp.concat(parts, axis=axis) for parts in zip(*blocks, strict=True)]
        factor = float(np.sqrt((2 if self.form == "phase" else 1) / self.n_components))
        return factor * xp.concat(features, axis=1)

    def _pool_templates(self, rows, activations, outputs) -> None:
        row_bytes = len(self.weights_) * rows.shape[1] * rows.itemsize
        for which in row_slices(self.n_components, row_bytes, self.block_bytes // 2):
            orbit = self._template_orbit(which).astype(rows.dtype, copy=False)
            parts = [output[:, which] for output in outputs]
            pool(rows, orbit, self.weights_, activations, parts, n_jobs=self.n_jobs)

    def _pool_points(self, X, activations, outputs) -> None:
        templates = self._extended(self.templates_, self.phases_).astype(X.dtype, copy=False)
        row_bytes = 2 * len(self.weights_) * templates.shape[1] * X.itemsize
        for which in row_slices(len(X), row_bytes, self.block_bytes // 2):
            moved = self._with_one(self._moved(X[which]))
            parts = [output[which].T for output in outputs]
            pool(templates, moved, self.weights_, activations, parts, n_jobs=self.n_jobs)


def _cos(values: NDArray) -> NDArray:
    return np.cos(values, out=values)


def _sin(values: NDArray) -> NDArray:
    return np.sin(values, out=values)
