"""`OrbitNystroem`: Nystrom features of the orbit-embedding kernel k_q,G."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.cluster import KMeans
from sklearn.utils import check_array, check_random_state

from ..array_api import like, numpy_only, on_host
from ..checks import check_count, check_finite, check_positive, is_number
from ..groups import SignedPermutationGroup, Transformations
from ..orbits import CircleProducts
from ..kernels import Gaussian, Kernel, Laplacian, Linear, Polynomial
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

__all__ = ["OrbitNystroem", "leverage_scores"]


def leverage_scores(
    X: ArrayLike, kernel: Kernel, ridge: float, n_landmarks: int, random_state=None
) -> NDArray:
    r"""Ridge leverage scores diag(K (K + ridge I)^-1), shape (n,).

    Estimated from ``n_landmarks`` random points S as (k_ii - K_iS (K_SS + ridge \|S\|/n)^-1 K_Si) /
    ridge, which gives points unlike any in S a high score; exact when S holds all points.

    >>> import numpy as np
    >>> X = np.array([[0.0], [0.0], [9.0]])            # the lonely point matters most
    >>> leverage_scores(X, Gaussian(1.0), 1.0, 3, 0).round(3)
    array([0.333, 0.333, 0.5  ])
    """
    check_positive("leverage_scores", ridge=ridge)
    check_count("leverage_scores", n_landmarks=n_landmarks)
    X = check_array(X, dtype=(np.float64, np.float32))
    rng = check_random_state(random_state)
    chosen = rng.choice(len(X), min(n_landmarks, len(X)), replace=False)
    gram = kernel(X[chosen])
    gram.flat[:: len(gram) + 1] += ridge * len(chosen) / len(X)
    cross = kernel(X, X[chosen])
    explained = np.einsum("ij,ij->i", cross, np.linalg.solve(gram, cross.T).T)
    return np.clip((kernel.diag(X) - explained) / ridge, 0, 1)


def _whitener(gram: NDArray, rcond: float | None, dtype: np.dtype) -> NDArray:
    """L of shape (rank, s) with L^T L the pseudo-inverse of the Gram matrix, for points of a type.

    Computed in the Gram matrix's precision, which is to be double: the small eigenvalues are lost
    to rounding in single.
    """
    if rcond is None:
        rcond = len(gram) * np.finfo(dtype).eps
    elif not is_number(rcond) or not 0 <= rcond < 1:
        raise ValueError(f"OrbitNystroem needs 0 <= rcond < 1 or None, got {rcond!r}")
    check_finite("the landmarks' Gram matrix", gram)
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    keep = values > rcond * max(values[-1], np.finfo(gram.dtype).tiny)
    if not keep.any():
        raise ValueError(
            "OrbitNystroem: the landmarks' Gram matrix has no positive eigenvalue, so there are no "
            "features; is the kernel zero at all landmarks?"
        )
    return (vectors[:, keep] / np.sqrt(values[keep])).T.astype(dtype)


class OrbitNystroem(OrbitFeatures):
    r"""Nystrom features averaged over the group, for any base kernel.

    Raj et al. 2017, eq. 8: with landmarks Z and :math:`K_{ZZ}^+ = L^T L`,

    .. math:: \psi(x) = L \, \frac{1}{r} \sum_{i=1}^r K(Z, g_i x) .

    Where the base kernel is unchanged by transforming both arguments, the landmarks are
    transformed instead of the points.

    Parameters
    ----------
    group : Transformations or None
        None is the trivial group.
    n_components : int
        Number of landmarks s. More than there are points: all points, with a warning.
    n_transforms : int or None
        As in `OrbitFourier`.
    kernel : Kernel or {"gaussian", "laplacian"}
    gamma : float or "median"
        Of the kernels given by name.
    landmarks : {"random", "kmeans", "leverage"} or array of shape (s, d)
        Random training points, centres of k-means, points drawn by ridge leverage, or your own.
    from_orbit : bool
        Take each candidate landmark from the orbit of a training point, with a random element.
    side : {"auto", "templates", "points"}
        As in `OrbitFourier`, with landmarks for templates.
    rcond : float or None
        Eigenvalues of K_ZZ below ``rcond`` times the largest count as zero: a rank-deficient
        Gram matrix gives ``rank_`` < s features instead of noise. None is s machine epsilons of
        X's type; in single precision a smaller one, down to 1e-9, keeps more of the kernel at
        features good to about three digits.
    block_bytes, n_jobs, random_state : as in `OrbitFourier`

    Attributes
    ----------
    landmarks_ : ndarray of shape (s, d)
    kernel_ : Kernel
    whitener_ : ndarray of shape (rank_, s), the matrix L
    rank_ : int
    elements_, weights_, side_ : as in `OrbitFourier`

    Examples
    --------
    >>> import numpy as np
    >>> from invariance.groups import CyclicShifts
    >>> from invariance.kernels import Average, Gaussian
    >>> X = np.random.default_rng(0).standard_normal((8, 3))
    >>> group = CyclicShifts(3)
    >>> orbits = group.act(group.elements(), X).reshape(-1, 3)
    >>> features = OrbitNystroem(group, 24, gamma=0.5, landmarks=orbits)
    >>> Z = features.fit_transform(X)              # landmarks span the orbits: exact
    >>> bool(np.allclose(Z @ Z.T, Average(Gaussian(0.5), group)(X)))
    True
    """

    def __init__(
        self,
        group: Transformations | None = None,
        n_components: int = 100,
        n_transforms: int | None = None,
        kernel: Kernel | str = "gaussian",
        gamma: float | str = "median",
        landmarks: str | ArrayLike = "random",
        from_orbit: bool = False,
        side: str = "auto",
        rcond: float | None = None,
        block_bytes: int = 512 * 2**20,
        n_jobs: int | None = None,
        random_state=None,
    ):
        self.group = group
        self.n_components = n_components
        self.n_transforms = n_transforms
        self.kernel = kernel
        self.gamma = gamma
        self.landmarks = landmarks
        self.from_orbit = from_orbit
        self.side = side
        self.rcond = rcond
        self.block_bytes = block_bytes
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: ArrayLike, y=None) -> OrbitNystroem:
        """Choose landmarks and group elements, and factor the landmarks' Gram matrix.

        Parameters
        ----------
        X : array-like of shape (n, d)
            NumPy's or, through the array API standard, another library's; what is fitted is kept
            as NumPy arrays.
        """
        X = self._points_to_fit(X)
        self._check_counts("n_components")
        # One stream each, so that the same seed gives the same landmarks whatever r is.
        rng, for_elements = spawn(check_random_state(self.random_state), 2)
        elements, self.weights_ = self._draw_transforms(for_elements)
        candidates = self._candidates(X, elements, for_elements)
        self.kernel_ = self._kernel(candidates, rng)
        self.landmarks_ = self._choose(candidates, rng)
        self.side_, self.elements_ = self._resolve_side(
            elements, self._preserved(), self.landmarks_
        )
        if self.side_ == "points":
            width = self.group.act(elements[:1], X[:1])[0].reshape(1, -1).shape[1]
            if width != self.landmarks_.shape[1]:
                raise ValueError(
                    f"{self.group!r} turns {X.shape[1]} features into {width}, but the landmarks "
                    f"have {self.landmarks_.shape[1]}; use from_orbit=True"
                )
        gram = self.kernel_(self.landmarks_.astype(np.float64))
        self.whitener_ = _whitener(gram, self.rcond, X.dtype)
        self.rank_ = self._n_features_out = len(self.whitener_)
        self._frequencies = None
        if self.side_ == "templates" and isinstance(self.kernel_, Gaussian):
            self._frequencies = circle_frequencies(self.group, 2)
        return self

    def _candidates(self, X: NDArray, elements: NDArray | None, rng) -> NDArray:
        if not self.from_orbit or elements is None:
            return X
        drawn = rng.choice(len(elements), size=len(X), p=self.weights_)
        parts = [
            self.group.act(elements[g][None], X[drawn == g])[0].reshape(np.sum(drawn == g), -1)
            for g in np.unique(drawn)
        ]
        order = np.argsort(np.concatenate([np.flatnonzero(drawn == g) for g in np.unique(drawn)]))
        return np.concatenate(parts)[order]

    def _kernel(self, candidates: NDArray, rng) -> Kernel:
        if isinstance(self.kernel, Kernel):
            return self.kernel
        named = {"gaussian": Gaussian, "laplacian": Laplacian}
        if self.kernel not in named:
            raise ValueError(
                f"kernel must be a Kernel, 'gaussian' or 'laplacian', got {self.kernel!r}"
            )
        return named[self.kernel](resolve_gamma(self.gamma, candidates, self.kernel, rng))

    def _preserved(self) -> bool:
        if self.group is None or not self.group.unitary:
            return False
        # The distance of the Laplacian kernel sees no permutation and no change of sign.
        signed = isinstance(self.group, SignedPermutationGroup)
        return self.kernel_.unitary_invariant or (isinstance(self.kernel_, Laplacian) and signed)

    def _choose(self, candidates: NDArray, rng) -> NDArray:
        n, s = len(candidates), self.n_components
        if not isinstance(self.landmarks, str):
            landmarks = np.asarray(self.landmarks, dtype=candidates.dtype)
            if landmarks.shape != (s, candidates.shape[1]):
                raise ValueError(
                    f"landmarks must have shape (n_components, n_features) = "
                    f"{(s, candidates.shape[1])}, got {landmarks.shape}"
                )
            return landmarks
        if self.landmarks not in ("random", "kmeans", "leverage"):
            raise ValueError(
                "landmarks must be 'random', 'kmeans', 'leverage' or an array of points, got "
                f"{self.landmarks!r}"
            )
        if s > n:
            warnings.warn(
                f"OrbitNystroem: n_components={s} landmarks were asked for but there are only {n} "
                "points; all of them are used",
                UserWarning,
                stacklevel=3,
            )
        if s >= n:
            return candidates.copy()
        if self.landmarks == "kmeans":
            means = KMeans(s, n_init=1, random_state=rng.randint(2**31)).fit(candidates)
            return means.cluster_centers_.astype(candidates.dtype)
        if self.landmarks == "random":
            chosen = rng.choice(n, s, replace=False)
        else:
            # The ridge at which s landmarks can do justice to the kernel's effective dimension.
            ridge = float(np.sum(self.kernel_.diag(candidates))) / s
            scores = np.zeros(n)
            if ridge > 0:
                scores = leverage_scores(candidates, self.kernel_, ridge, 2 * s, rng)
            useful = np.flatnonzero(scores)
            if len(useful) < s:
                rest = rng.choice(np.flatnonzero(scores == 0), s - len(useful), replace=False)
                chosen = np.concatenate([useful, rest])
            else:
                chosen = rng.choice(n, s, replace=False, p=scores / scores.sum())
        return candidates[chosen]

    def _transform(self, X: NDArray) -> NDArray:
        pooled = np.zeros((len(X), len(self.landmarks_)), dtype=X.dtype)
        gaussian = isinstance(self.kernel_, Gaussian)
        landmarks = self.landmarks_.astype(X.dtype, copy=False)
        if self._frequencies is not None:
            products = CircleProducts(
                self._frequencies, self._as_template(landmarks), self.elements_
            )
            pool_circle(self._as_point(X), products, self.weights_, [_exp], [pooled], self.n_jobs)
            return pooled @ self.whitener_.astype(X.dtype, copy=False).T
        how = {"n_jobs": self.n_jobs}
        how["activations"] = [_exp if gaussian else _same]
        if not gaussian:
            how["evaluate"] = self.kernel_._gram
        on_templates = self.side_ == "templates"
        turned, fixed = (landmarks, X) if on_templates else (X, landmarks)
        if gaussian:
            fixed = self._as_point(fixed)
        row_bytes = 2 * len(self.weights_) * fixed.shape[1] * X.itemsize
        for which in row_slices(len(turned), row_bytes, self.block_bytes // 2):
            orbit = self._moved(turned[which])
            if gaussian:
                orbit = self._as_template(orbit)
            part = pooled[:, which] if on_templates else pooled[which].T
            pool(fixed, orbit, self.weights_, outputs=[part], **how)
        return pooled @ self.whitener_.astype(X.dtype, copy=False).T

    def _check_takes(self, X):
        if not isinstance(self.kernel_, (Gaussian, Linear, Polynomial)):
            numpy_only(
                f"OrbitNystroem with {self.kernel_!r}",
                "take one of the kernels for other libraries: Gaussian, Linear and Polynomial",
                X,
            )

    def _transform_arrays(self, xp, X):
        gaussian = isinstance(self.kernel_, Gaussian)
        activation = xp.exp if gaussian else lambda values: values
        if isinstance(self.kernel_, Polynomial):
            activation = self.kernel_.of_inner_products
        as_point, as_template = (
            (self._as_point, self._as_template) if gaussian else (np.asarray, np.asarray)
        )
        # Points are extended on the host: the squared norms are theirs as NumPy computes them.
        points, landmarks = on_host(X, "OrbitNystroem"), self.landmarks_
        on_templates = self.side_ == "templates"
        turned, fixed = (landmarks, points) if on_templates else (points, landmarks)
        fixed, weights = like(as_point(fixed), X), like(self.weights_, X)
        row_bytes = 2 * len(self.weights_) * fixed.shape[1] * points.itemsize
        parts = []
        for which in row_slices(len(turned), row_bytes, self.block_bytes // 2):
            orbit = like(as_template(self._moved(turned[which])), X)
            (part,) = pool_arrays(xp, fixed, orbit, weights, [activation], self.block_bytes)
            parts.append(part if on_templates else part.T)
        pooled = xp.concat(parts, axis=1 if on_templates else 0)
        return pooled @ like(self.whitener_.T, X)

    # <as_point(x), as_template(z)> = -gamma |x - z|^2: the product gives the exponent as it is.
    def _as_point(self, X: NDArray) -> NDArray:
        squares = np.einsum("...d,...d->...", X, X)[..., None]
        return np.concatenate([X, np.ones_like(squares), squares], axis=-1)

    def _as_template(self, Z: NDArray) -> NDArray:
        gamma = self.kernel_.gamma
        squares = np.einsum("...d,...d->...", Z, Z)[..., None]
        return np.concatenate(
            [2 * gamma * Z, -gamma * squares, np.full_like(squares, -gamma)], axis=-1
        )


def _exp(values: NDArray) -> NDArray:
    return np.exp(values, out=values)


def _same(values: NDArray) -> NDArray:
    return values
