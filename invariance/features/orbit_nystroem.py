"""`OrbitNystroem`: Nystrom features of the orbit-embedding kernel k_q,G."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.base import clone

from ..core import parameters as kinds
from ..core.arrays import check_finite, is_foreign, like
from ..core.parameters import ParameterError, stores_parameters
from ..kernels import Gaussian, Kernel, Laplacian
from ..kernels.base import BASE, preserved
from ..linear.gram import describe_negative, rounding, warn_indefinite
from ..orbits import WeightedMean, row_blocks
from ..orbits.way import warn
from .orbit import OrbitFeatures, Side, spawn
from .templates import median_gamma

_NAMED = {"gaussian": Gaussian, "laplacian": Laplacian}
#: Bytes of features that are turned by the whitener at a time.
_ROWS_BYTES = 2**22
#: Features of a triangular whitener that are made at a time.
_COLUMNS = 1024


@stores_parameters
class OrbitNystroem(OrbitFeatures):
    r"""Nystrom features averaged over the group, for any base kernel.

    Raj et al. 2017, eq. 8: with landmarks Z and :math:`K_{ZZ}^+ = L^T L`,

    .. math:: \psi(x) = L \, \frac{1}{r} \sum_{i=1}^r K(Z, g_i x) .

    Where the base kernel is unchanged by transforming both arguments, the landmarks are
    transformed instead of the points. Negative eigenvalues of the landmarks' Gram matrix are
    clipped, with an `invariance.linear.IndefiniteWarning`.

    Parameters
    ----------
    group, n_transforms : as in `OrbitFourier`
    n_components : int
        Number of landmarks s. More than there are points: all points, with a warning.
    kernel : Kernel or {"gaussian", "laplacian"}
    gamma : float or "median", of the kernels given by name
    landmarks : "random" or array of shape (s, d)
        Random training points, or your own, such as centres of k-means.
    from_orbit : bool
        Take each candidate landmark from the orbit of a training point, with a random element.
    side : {"auto", "first", "second"}, as in `OrbitFourier`, with landmarks for templates
    rcond : float or None
        Eigenvalues of K_ZZ below ``rcond`` times the largest count as zero, which leaves ``rank_``
        features. None is s machine epsilons of X's type; in single precision a smaller one, down to
        1e-9, keeps more of the kernel at features good to about three digits.
    tolerance, block_bytes, n_jobs, verbose, random_state : as in `OrbitFourier`

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

    _mixes_templates = True
    _: KW_ONLY
    kernel: Annotated[Kernel | str, kinds.OneOf("gaussian", "laplacian") | BASE] = "gaussian"
    gamma: Annotated[float | str, kinds.Positive() | kinds.OneOf("median")] = "median"
    landmarks: Annotated[str | ArrayLike, kinds.OneOf("random") | kinds.Array(2)] = "random"
    from_orbit: Annotated[bool, kinds.Flag()] = False
    side: Side = "auto"
    rcond: Annotated[float | None, kinds.Number(0, below=1) | None] = None

    def _fit(self, X: NDArray, rng: np.random.RandomState) -> None:
        # One stream each, so that the same seed gives the same landmarks whatever r is.
        rng, for_elements = spawn(rng, 2)
        elements, self.weights_ = self._draw_transforms(for_elements)
        candidates = X
        if self.from_orbit and elements is not None:
            candidates = self._on_orbits(X, elements, for_elements)
        self.kernel_: Kernel = self._kernel(candidates, rng)
        self.landmarks_ = self._landmarks(candidates, rng)
        known = self.group_ is not None and preserved(self.kernel_, self.group_)
        self._prepare_on_side(
            self.landmarks_, elements, WeightedMean(), preserved=known, base=self.kernel_
        )
        if self.side_ == "first" and self.group_ is not None and elements is not None:
            width = self.group_.act(elements[:1], X[:1])[0].reshape(1, -1).shape[1]
            if width != self.landmarks_.shape[1]:
                raise ParameterError(f"{self.group!r} makes {width} features: take from_orbit=True")
        gram = self.kernel_(self.landmarks_.astype(np.float64))
        check_finite("the landmarks' Gram matrix", gram)
        _check_precision(self.kernel_, self.landmarks_, gram)
        self.whitener_ = whitener(gram, self.rcond, X.dtype)
        self.rank_ = self._n_features_out = len(self.whitener_)

    def _landmarks(self, candidates: NDArray, rng: np.random.RandomState) -> NDArray:
        n, s = len(candidates), self.n_components
        if not isinstance(self.landmarks, str):
            landmarks = np.asarray(self.landmarks, dtype=candidates.dtype)
            if landmarks.shape != (due := (s, candidates.shape[1])):
                raise ParameterError(f"landmarks need shape (s, d) = {due}, got {landmarks.shape}")
            return landmarks
        if s > n:
            warn(f"OrbitNystroem: n_components={s} landmarks are asked for, of only {n} points")
        return candidates.copy() if s >= n else candidates[rng.choice(n, s, replace=False)]

    def _kernel(self, candidates: NDArray, rng) -> Kernel:
        if not isinstance(self.kernel, str):
            return clone(self.kernel, safe=False)
        gamma = self.gamma
        if isinstance(gamma, str):
            gamma = median_gamma(candidates, self.kernel, random_state=rng)
        return _NAMED[self.kernel](gamma)

    def _on_orbits(self, X: NDArray, elements: NDArray, rng) -> NDArray:
        """Each point after an element drawn by its weight."""
        drawn = rng.choice(len(elements), size=len(X), p=self.weights_)
        width = self.group_.act(elements[:1], X[:1]).size
        moved = np.empty((len(X), width), X.dtype)
        for g in np.unique(drawn):
            part = self.group_.act(elements[g][None], X[drawn == g])[0]
            moved[drawn == g] = part.reshape(len(part), -1)
        return moved

    def _scaled(self, values: Any) -> Any:
        if is_foreign(values):
            return values @ like(self.whitener_.T, values)
        # In place, so that no second array of the result's size exists: where the whitener is
        # triangular a feature needs the values up to its own, and the last ones are made first.
        turn, width = self.whitener_.astype(values.dtype, copy=False).T, self.rank_
        blocks = [slice(start, start + _COLUMNS) for start in range(0, width, _COLUMNS)]
        below = any(turn[some.stop :, some].any() for some in blocks)
        triangular = len(turn) == width and not below
        step = _COLUMNS if triangular else width
        for rows in row_blocks(len(values), values[:1].nbytes, _ROWS_BYTES):
            for start in reversed(range(0, width, step)):
                some, upto = slice(start, start + step), start + step if triangular else None
                values[rows, some] = values[rows, :upto] @ turn[:upto, some]
        return values[:, :width]


def _check_precision(kernel: Kernel, landmarks: NDArray, gram: NDArray) -> None:
    """Refuse landmarks whose kernel values the precision of the points cannot hold."""
    dtype = landmarks.dtype
    largest = float(np.abs(gram).max())
    lost = 0 < largest < float(np.finfo(dtype).tiny) / float(np.finfo(dtype).eps)
    if dtype != gram.dtype and not lost:
        some = slice(0, 8)
        with np.errstate(all="ignore"):
            values = kernel(landmarks[some])
        gap = np.abs(values.astype(np.float64) - gram[some, some]).max()
        lost = not gap <= 0.1 * largest
    if lost:
        size = float(np.abs(landmarks).max())
        raise ValueError(
            f"OrbitNystroem: {dtype} cannot hold the values of {kernel!r} at landmarks with "
            f"entries up to {size:.2g}: rescale X, or give it in float64"
        )


def whitener(gram: NDArray, rcond: float | None, dtype: np.dtype) -> NDArray:
    """L (rank, s) with L^T L the pseudo-inverse of a Gram matrix in double precision.

    Negative eigenvalues beyond rounding are clipped, with an `IndefiniteWarning`.
    """
    rcond = len(gram) * np.finfo(dtype).eps if rcond is None else rcond
    check_finite("the landmarks' Gram matrix", gram)
    gram = (gram + gram.T) / 2
    inverse = _inverse_factor(gram, rcond)
    if inverse is not None:
        return inverse.astype(dtype)
    values, vectors = np.linalg.eigh(gram)
    keep = values > rcond * max(values[-1], np.finfo(gram.dtype).tiny)
    if not keep.any():
        lacks = "the landmarks' Gram matrix has no positive eigenvalue, and hence no features"
        raise ValueError(f"{lacks}: rescale X, or take another kernel")
    if values[0] < -rounding(gram):
        warn_indefinite("OrbitNystroem", describe_negative(values, rounding(gram))[0])
    return (vectors[:, keep] / np.sqrt(values[keep])).T.astype(dtype)


def _inverse_factor(gram: NDArray, rcond: float) -> NDArray | None:
    """L with L^T L the inverse; None unless all eigenvalues exceed rcond times the largest.

    Two Cholesky factors, a tenth of the time of the eigenvectors.
    """
    largest = np.abs(gram).sum(axis=0).max()  # no eigenvalue is above it
    shifted = np.array(gram, order="F")
    shifted.flat[:: len(gram) + 1] -= rcond * largest
    try:
        linalg.cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
        factor = linalg.cholesky(gram, lower=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    inverse, _ = linalg.get_lapack_funcs("trtri", (factor,))(factor, lower=1, overwrite_c=1)
    return inverse
