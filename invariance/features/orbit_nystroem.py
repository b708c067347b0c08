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
from ..core.messages import warn
from ..core.parameters import ParameterError, stores_parameters
from ..core.symmetric import factorize
from ..kernels import Gaussian, Kernel, Laplacian
from ..kernels.base import BASE, preserved
from ..linear.gram import describe_negative, rounding, warn_indefinite
from ..orbits import WeightedMean, row_blocks
from .bandwidth import median_gamma
from .orbit import OrbitFeatures, Side, spawn, transformed_width

_KERNELS_BY_NAME = {"gaussian": Gaussian, "laplacian": Laplacian}
#: Rows of values are multiplied by the whitener in blocks of this many bytes.
_ROW_BLOCK_BYTES = 2**22
#: Features are computed in blocks of this many columns if the whitener is triangular.
_COLUMN_BLOCK = 1024


@stores_parameters
class OrbitNystroem(OrbitFeatures):
    r"""Nystrom features averaged over the group, for any base kernel.

    Raj et al. 2017, eq. 8: with landmarks Z and :math:`K_{ZZ}^+ = L^T L`,

    .. math:: \psi(x) = L \, \frac{1}{r} \sum_{i=1}^r K(Z, g_i x) .

    If the base kernel is unchanged by transforming both arguments, the landmarks are
    transformed instead of the points. Negative eigenvalues of the landmarks' Gram matrix are
    clipped, with an `invariance.linear.IndefiniteWarning`.

    Parameters
    ----------
    group, n_transforms : as in `OrbitFourier`
    n_components : int
        Number of landmarks s. If it exceeds the number of points, all points become landmarks,
        with a warning.
    kernel : Kernel or {"gaussian", "laplacian"}
    gamma : float or "median", the bandwidth of a kernel given by name
    landmarks : "random" or array of shape (s, d)
        Random training points, or your own, such as centres of k-means.
    from_orbit : bool
        Whether candidate landmarks are training points transformed by random group elements.
    side : {"auto", "first", "second"}, as in `OrbitFourier`, with landmarks for templates
    rcond : float or None
        Eigenvalues of K_ZZ below ``rcond`` times the largest count as zero, which leaves ``rank_``
        features. None is s times the machine epsilon of X's type. In single precision a smaller
        value, down to 1e-9, approximates the kernel better, but features have about three correct
        digits.
    tolerance, block_bytes, n_jobs, verbose, random_state : as in `OrbitFourier`

    Attributes
    ----------
    landmarks_ : ndarray of shape (s, d)
    kernel_ : Kernel
    whitener_ : ndarray of shape (rank_, s), the matrix L
    rank_ : int
    elements_ : as in `OrbitFourier`
    weights_ : as in `OrbitFourier`
    side_ : as in `OrbitFourier`

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
        # Separate streams: the same seed gives the same landmarks for every number of elements.
        landmark_rng, element_rng = spawn(rng, 2)
        elements, self.weights_ = self._draw_transforms(element_rng)
        candidates = X
        if self.from_orbit and elements is not None:
            candidates = self._on_orbits(X, elements, element_rng)
        self.kernel_: Kernel = self._kernel(candidates, landmark_rng)
        self.landmarks_ = self._landmarks(candidates, landmark_rng)
        self._prepare_on_side(
            self.landmarks_,
            elements,
            WeightedMean(),
            preserved=self.group_ is not None and preserved(self.kernel_, self.group_),
            base=self.kernel_,
        )
        self._check_width(X, elements)
        gram = self.kernel_(self.landmarks_.astype(np.float64))
        check_finite("the landmarks' Gram matrix", gram)
        _check_precision(self.kernel_, self.landmarks_, gram)
        self.whitener_ = whitener(gram, self.rcond, X.dtype)
        self.rank_ = len(self.whitener_)
        self._n_features_out = self.rank_

    def _check_width(self, X: NDArray, elements: NDArray | None) -> None:
        """Refuse transformed points that have another number of features than the landmarks."""
        if self.side_ != "first" or self.group_ is None or elements is None:
            return
        width = transformed_width(self.group_, elements, X)
        if width != self.landmarks_.shape[1]:
            raise ParameterError(f"{self.group!r} makes {width} features: take from_orbit=True")

    def _landmarks(self, candidates: NDArray, rng: np.random.RandomState) -> NDArray:
        n_landmarks = self.n_components
        n_candidates, n_features = candidates.shape
        if not isinstance(self.landmarks, str):
            # A copy keeps the fitted features from changing with the user's array.
            landmarks = np.array(self.landmarks, dtype=candidates.dtype)
            shape = (n_landmarks, n_features)
            if landmarks.shape != shape:
                raise ParameterError(
                    f"landmarks need shape (s, d) = {shape}, got {landmarks.shape}"
                )
            return landmarks
        if n_landmarks > n_candidates:
            warn(
                f"OrbitNystroem: n_components={n_landmarks} landmarks are asked for, of only "
                f"{n_candidates} points"
            )
        if n_landmarks >= n_candidates:
            return candidates.copy()
        return candidates[rng.choice(n_candidates, n_landmarks, replace=False)]

    def _kernel(self, candidates: NDArray, rng) -> Kernel:
        if not isinstance(self.kernel, str):
            return clone(self.kernel, safe=False)
        gamma = self.gamma
        if isinstance(gamma, str):
            gamma = median_gamma(candidates, self.kernel, random_state=rng)
        return _KERNELS_BY_NAME[self.kernel](gamma)

    def _scaled(self, values: Any) -> Any:
        if is_foreign(values):
            return values @ like(self.whitener_.T, values)
        whitening = self.whitener_.astype(values.dtype, copy=False).T
        triangular = _is_upper_triangular(whitening)
        # Values become features in place, since a second array of this size may not fit in memory.
        for rows in row_blocks(len(values), values[:1].nbytes, _ROW_BLOCK_BYTES):
            if triangular:
                _multiply_by_triangle(values[rows], whitening)
            else:
                values[rows, : self.rank_] = values[rows] @ whitening
        return values[:, : self.rank_]


def _column_starts(n_columns: int) -> range:
    return range(0, n_columns, _COLUMN_BLOCK)


def _is_upper_triangular(matrix: NDArray) -> bool:
    """Whether a matrix is square and zero below its diagonal blocks."""
    n_rows, n_columns = matrix.shape
    if n_rows != n_columns:
        return False
    for start in _column_starts(n_columns):
        stop = start + _COLUMN_BLOCK
        if matrix[stop:, start:stop].any():
            return False
    return True


def _multiply_by_triangle(values: NDArray, triangle: NDArray) -> None:
    """Replace values by their product with an upper triangular matrix, without a copy.

    A column of the product depends only on the columns up to it, so the last ones come first.
    """
    for start in reversed(_column_starts(len(triangle))):
        stop = start + _COLUMN_BLOCK
        values[:, start:stop] = values[:, :stop] @ triangle[:stop, start:stop]


def _check_precision(kernel: Kernel, landmarks: NDArray, gram: NDArray) -> None:
    """Refuse landmarks whose kernel values the precision of the points cannot hold."""
    dtype = landmarks.dtype
    limits = np.finfo(dtype)
    largest = float(np.abs(gram).max())
    # Subnormal numbers have few digits.
    lost = 0 < largest < float(limits.tiny) / float(limits.eps)
    if dtype != gram.dtype and not lost:
        sample = slice(0, 8)
        with np.errstate(all="ignore"):
            values = kernel(landmarks[sample])
        errors = np.abs(values.astype(np.float64) - gram[sample, sample])
        # Written so that an error that is not a number counts as a loss.
        lost = not errors.max() <= 0.1 * largest
    if lost:
        size = float(np.abs(landmarks).max())
        raise ValueError(
            f"OrbitNystroem: {dtype} cannot hold the values of {kernel!r} at landmarks with "
            f"entries up to {size:.2g}: rescale X, or give it in float64"
        )


def whitener(gram: NDArray, rcond: float | None, dtype: np.dtype) -> NDArray:
    """Return L, shape (rank, s), with L^T L the pseudo-inverse of a Gram matrix.

    The Gram matrix is in double precision, and L has the type ``dtype``. Negative eigenvalues
    beyond rounding are clipped, with an `IndefiniteWarning`.
    """
    if rcond is None:
        rcond = len(gram) * np.finfo(dtype).eps
    check_finite("the landmarks' Gram matrix", gram)
    gram = (gram + gram.T) / 2
    inverse = _inverse_factor(gram, rcond)
    if inverse is not None:
        return inverse.astype(dtype)
    eigenvalues, eigenvectors = np.linalg.eigh(gram)
    largest = max(eigenvalues[-1], np.finfo(gram.dtype).tiny)
    positive = eigenvalues > rcond * largest
    if not positive.any():
        raise ValueError(
            "the landmarks' Gram matrix has no positive eigenvalue, and hence no features: "
            "rescale X, or take another kernel"
        )
    uncertainty = rounding(gram)
    if eigenvalues[0] < -uncertainty:
        description, _ = describe_negative(eigenvalues, uncertainty)
        warn_indefinite("OrbitNystroem", description)
    scaled_vectors = eigenvectors[:, positive] / np.sqrt(eigenvalues[positive])
    return scaled_vectors.T.astype(dtype)


def _inverse_factor(gram: NDArray, rcond: float) -> NDArray | None:
    """Return L with L^T L the inverse; None unless all eigenvalues exceed rcond times the largest.

    Two Cholesky factorizations take a tenth of the time of an eigendecomposition.
    """
    eigenvalue_bound = np.abs(gram).sum(axis=0).max()
    shifted = np.array(gram, order="F")
    shifted.flat[:: len(gram) + 1] -= rcond * eigenvalue_bound
    factor = np.array(gram, order="F")
    if factorize(shifted) or factorize(factor, clear=True):
        return None
    invert_triangle = linalg.get_lapack_funcs("trtri", (factor,))
    inverse, _ = invert_triangle(factor, lower=1, overwrite_c=1)
    return inverse
