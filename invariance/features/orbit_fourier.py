"""`OrbitFourier`: random Fourier features of the orbit-embedding kernel k_q,G."""

from __future__ import annotations

from dataclasses import KW_ONLY
from functools import partial
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import j0

from ..core.arrays import detached, is_foreign, like, namespace
from ..core.parameters import OneOf, Positive, stores_parameters
from ..orbits import Form, OrbitProducts, WeightedMean
from ..orbits.numerics import centre_of
from .bandwidth import median_gamma
from .orbit import OrbitFeatures, Side, spawn
from .templates import draw_frequencies

#: Phases are computed in double precision if their error in single precision exceeds this.
_PHASE_ERROR = 1e-3
#: Cosines are computed for this many numbers at a time.
_BLOCK = 4096
#: Cosines of numbers below this size are computed by a polynomial.
_LARGE = 1e5
#: Coefficients of sin(2 pi x) / x as a polynomial in x^2, for |x| <= 1/4.
_SINE = (
    6.283185307179585,
    -41.341702240398284,
    81.60524927557977,
    -76.70585968962867,
    42.05868995395094,
    -15.09450614073429,
    3.817365633469135,
    -0.6925067010720717,
)


@stores_parameters
class OrbitFourier(OrbitFeatures):
    r"""Random Fourier features averaged over the group.

    Raj et al. 2017, eq. 7: with templates omega_j from the base kernel's spectral law and group
    elements g_i from the density q,

    .. math:: \psi_j(x) = \sqrt{2/s} \; \frac{1}{r} \sum_{i=1}^r
              \cos(\langle \omega_j, g_i x \rangle + b_j) ,

    so that inner products of features approximate the kernel :math:`k_{q,G}` between orbit
    embeddings (eq. 3; exactly, ``Average(base, group)``). Without a group these are plain random
    Fourier features: applied to features they are the second layer, a Gaussian hyperkernel.

    If the action is unitary, the templates are transformed, once, instead of the points. Use
    float32 arrays if speed matters: NumPy's cosine is then some fifty times faster.

    Parameters
    ----------
    group : Transformations or None for the trivial group
    n_components : int, number of templates s
    n_transforms : int or None
        Number of elements r drawn from the group's density; the features are then only
        approximately invariant. None uses the group's quadrature rule: all elements of a finite
        set with their weights, or as many nodes of an infinite group as ``tolerance`` requires.
    tolerance : float
        Largest difference, relative to their norm, between the features of points of one orbit of
        an infinite group. Nodes are added until the points of `fit` meet it, and again if points
        of `transform` vary faster along their orbits. If that would take too many nodes, or if the
        group has a fixed number of nodes that is too small, a warning states the difference.
        Rotations of a single frequency, such as `PlaneRotations`, need no nodes. For images
        rotated by interpolation the tolerance is at least 0.01.
    kernel : {"gaussian", "laplacian"}
    gamma : float or "median"
        Bandwidth of the base kernel; "median" is the median heuristic, see `median_gamma`, over
        points that are transformed by random elements if the action is not unitary.
    form : {"phase", "cos_sin"}
        One cosine with a random phase per template, s features; or a cosine and a sine: 2 s
        features of smaller variance, cosines first.
    side : {"auto", "first", "second"}
        The argument of <x, omega> on which the elements act. "auto" takes the second, the
        templates, if that gives the same features: if the action is unitary, and the set is a
        group or its density is symmetric. "second" warns if the action is only nearly unitary
        (images rotated by interpolation). The choice is stored in ``side_``.
    block_bytes : int or None
        Bound on temporary arrays; None is the configured bound (`invariance.config_context`).
        Transformed templates are kept between calls if they fit in it.
    n_jobs : int or None, number of threads
    verbose : int, 1 shows the progress
    random_state : int, RandomState or None

    Attributes
    ----------
    templates_ : ndarray of shape (s, d), of X's type
    phases_ : ndarray of shape (s,)
    centre_ : ndarray of shape (d,) or None
        A point fixed by the group, which is subtracted from x if the points lie far from the
        origin: inner products of features stay the same, and the phases are small.
    elements_ : ndarray or None
        The group elements that act on ``side_``; None if no elements are needed.
    weights_ : ndarray or None
        The weights of these elements.
    side_ : {"first", "second"}
    gamma_ : float

    Examples
    --------
    >>> import numpy as np
    >>> from invariance.groups import CyclicShifts
    >>> features = OrbitFourier(CyclicShifts(6), n_components=50, gamma=0.5, random_state=0)
    >>> Z = features.fit_transform(np.eye(6)[:2])     # e_1 and its shift e_2: one orbit
    >>> Z.shape, features.side_, bool(np.allclose(Z[0], Z[1]))
    ((2, 50), 'second', True)
    """

    _: KW_ONLY
    kernel: Annotated[str, OneOf("gaussian", "laplacian")] = "gaussian"
    gamma: Annotated[float | str, Positive() | OneOf("median")] = "median"
    form: Annotated[str, OneOf("phase", "cos_sin")] = "phase"
    side: Side = "auto"

    def _fit(self, X: NDArray, rng: np.random.RandomState) -> None:
        # Separate streams: the same seed gives the same templates for every number of elements.
        template_rng, element_rng = spawn(rng, 2)
        elements, self.weights_ = self._draw_transforms(element_rng)
        sample = X
        if elements is not None:
            sample = self._transformed_sample(elements, X, element_rng)
        n_features = sample.shape[1]
        self.gamma_ = self.gamma
        if isinstance(self.gamma_, str):
            self.gamma_ = median_gamma(sample, self.kernel, random_state=element_rng)
        frequencies = draw_frequencies(
            self.kernel,
            self.gamma_,
            n_components=self.n_components,
            n_features=n_features,
            random_state=template_rng,
        )
        self.templates_ = frequencies.astype(X.dtype)
        squared_norms = np.square(self.templates_, dtype=float).sum(axis=1)
        self._template_norm = float(np.median(np.sqrt(squared_norms)))
        phases = template_rng.uniform(0, 2 * np.pi, self.n_components)
        self.phases_ = phases.astype(X.dtype)
        self.centre_ = None
        if n_features == X.shape[1]:
            # Phases of points far from the origin would be large numbers.
            self.centre_ = centre_of(Form(distance=True), X, self.group_)
        self._prepare_on_side(
            self.templates_,
            elements,
            preserved=self.group_ is not None and self.group_.unitary,
            offsets=self.phases_ if self.form == "phase" else None,
            keeps=self._mean_of_waves(),
        )

    def _mean_of_waves(self) -> WeightedMean:
        """Set the number of features, and return the reduction that computes them."""
        functions = [cosine]
        over_turns = [_cosine_over_turns]
        if self.form == "cos_sin":
            functions.append(sine)
            over_turns.append(_sine_over_turns)
        self._n_features_out = self.n_components * len(functions)
        factor = float(np.sqrt(2 / self._n_features_out))
        return WeightedMean(functions, factor=factor, over_turns=over_turns)

    def _reduced(self, orbits: OrbitProducts, X: Any) -> Any:
        """Means of waves, in double precision if phases would lose their digits in single."""
        if self.centre_ is not None:
            X = X - like(self.centre_, X)
        if not self._needs_double(X):
            return super()._reduced(orbits, X)
        if is_foreign(X):
            xp = namespace(X)
            means = super()._reduced(orbits, xp.astype(X, xp.float64))
            return xp.astype(means, xp.float32)
        means = super()._reduced(orbits, X.astype(float))
        return means.astype(np.float32)

    def _needs_double(self, X: Any) -> bool:
        """Whether typical phases of points in single precision have too large an error."""
        xp = namespace(X)
        if X.dtype != xp.float32:
            return False
        points = detached(X)
        largest_entry = max(float(xp.max(points)), -float(xp.min(points)))
        norm_bound = largest_entry * X.shape[1] ** 0.5
        error = norm_bound * self._template_norm * np.finfo(np.float32).eps
        return not error <= _PHASE_ERROR

    def _transformed_sample(self, elements: NDArray, X: NDArray, rng) -> NDArray:
        """Transform at most 1,000 points; they determine the bandwidth and the dimension.

        Elements that are not unitary change distances: for the median, they are drawn.
        """
        sample = X
        if len(X) > 1000:
            sample = X[rng.choice(len(X), 1000, replace=False)]
        if isinstance(self.gamma, str) and not self.group_.unitary:
            return self._on_orbits(sample, elements, rng)
        transformed = self.group_.act(elements[:1], sample)[0]
        return transformed.reshape(len(sample), -1)


def _wave(quarter: float, values: Any) -> Any:
    """Cosines (``quarter`` 0) or sines (0.25, in turns) of an array; in place if it is NumPy's."""
    if is_foreign(values):
        xp = namespace(values)
        return xp.sin(values) if quarter else xp.cos(values)
    wave = np.cos if quarter == 0 else np.sin
    if values.dtype != np.float64 or not values.flags.c_contiguous:
        return wave(values, out=values)
    # NumPy has no vector instructions for cosines of float64. A polynomial is twice as fast, in
    # blocks that fit into the cache, and its error is that of rounding the argument.
    flat = values.reshape(-1)
    workspace = np.empty((2, min(_BLOCK, flat.size)))
    for start in range(0, flat.size, _BLOCK):
        block = flat[start : start + _BLOCK]
        if -_LARGE < block.min() <= block.max() < _LARGE:
            _wave_by_polynomial(quarter, block, workspace[:, : block.size])
        else:
            wave(block, out=block)
    return values


def _wave_by_polynomial(quarter: float, x: NDArray, workspace: NDArray) -> None:
    """Replace numbers x by their cosines or sines."""
    polynomial, square = workspace
    turns = polynomial  # both are not needed at the same time
    x *= 1 / (2 * np.pi)
    if quarter:
        x -= quarter
    np.rint(x, out=turns)
    x -= turns
    np.abs(x, out=x)
    # cos(2 pi x) = sin(2 pi (1/4 - x)), of an angle of at most a quarter turn.
    np.subtract(0.25, x, out=x)
    np.multiply(x, x, out=square)
    # Horner's scheme
    np.multiply(square, _SINE[-1], out=polynomial)
    for coefficient in _SINE[-2:0:-1]:
        polynomial += coefficient
        polynomial *= square
    polynomial += _SINE[0]
    x *= polynomial


cosine = partial(_wave, 0.0)
sine = partial(_wave, 0.25)


def _cosine_over_turns(fixed: NDArray, radius: NDArray) -> NDArray:
    """Mean of cos(fixed + radius cos t) over a full turn of t."""
    return np.cos(fixed) * j0(radius)


def _sine_over_turns(fixed: NDArray, radius: NDArray) -> NDArray:
    """Mean of sin(fixed + radius cos t) over a full turn of t."""
    return np.sin(fixed) * j0(radius)
