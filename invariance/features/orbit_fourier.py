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
from .orbit import OrbitFeatures, Side, spawn
from .templates import draw_frequencies, median_gamma

#: Error of phases in single precision above which they are computed in double.
_PHASE_ERROR = 1e-3
#: Numbers of which cosines are taken at a time, and up to where a polynomial gives them.
_BLOCK, _LARGE = 4096, 1e5
#: sin(2 pi x) / x by powers of x^2, for |x| <= 1/4.
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

    Where the action is unitary the templates are transformed, once, instead of the points. Give
    float32 arrays where speed matters: NumPy's cosine is then some fifty times faster.

    Parameters
    ----------
    group : Transformations or None for the trivial group
    n_components : int, number of templates s
    n_transforms : int or None
        Number of elements r drawn from the group's density, of which features are not exactly
        invariant; None takes its quadrature rule: all elements of a finite set with their weights,
        and of an infinite one as many nodes as ``tolerance`` asks for.
    tolerance : float
        By how much features of points of one orbit may differ over an infinite group, relative to
        their norm. Nodes are added until they do not, on the points of `fit`, and again on points
        of `transform` of which more moves; a warning tells by how much they differ if that would
        take too many, or if the group was given too few. Turns of one frequency
        (`PlaneRotations`, say) need no nodes. For images turned by interpolation it is 0.01 at
        least.
    kernel : {"gaussian", "laplacian"}
    gamma : float or "median"
        Bandwidth of the base kernel; "median" is the median heuristic, see `median_gamma`.
    form : {"phase", "cos_sin"}
        One cosine with a random phase per template, s features; or a cosine and a sine: 2 s
        features of smaller variance, cosines first.
    side : {"auto", "first", "second"}
        Which argument of <x, omega> the elements act on. "auto" takes the second, the templates,
        where that gives the same features: the action is unitary, and the set is a group or its
        density symmetric. "second" with an action that is only nearly unitary (images turned by
        interpolation) warns. The choice is found in ``side_``.
    block_bytes : int or None
        Bound on temporary arrays; None is the configured one (`invariance.config_context`).
        Transformed templates are kept between calls when they fit in it.
    n_jobs : int or None, threads
    verbose : int, 1 shows progress
    random_state : int, RandomState or None

    Attributes
    ----------
    templates_ : ndarray of shape (s, d), of X's type
    phases_ : ndarray of shape (s,)
    centre_ : ndarray of shape (d,) or None
        A point that the group fixes, from which x is taken if the points lie far from the origin:
        products of features stay the same, and phases small.
    elements_, weights_ : the group elements acting (on ``side_``) and their weights, None if none
        are needed
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
        # One stream each, so that the same seed gives the same templates whatever r is.
        rng, for_elements = spawn(rng, 2)
        elements, self.weights_ = self._draw_transforms(for_elements)
        seen = X if elements is None else self._seen(elements, X, for_elements)
        self.gamma_ = self.gamma
        if isinstance(self.gamma_, str):
            self.gamma_ = median_gamma(seen, self.kernel, random_state=for_elements)
        frequencies = draw_frequencies(
            self.kernel,
            self.gamma_,
            n_components=self.n_components,
            n_features=seen.shape[1],
            random_state=rng,
        )
        self.templates_ = frequencies.astype(X.dtype)
        self.phases_ = rng.uniform(0, 2 * np.pi, self.n_components).astype(X.dtype)
        # Far from the origin phases would be large numbers.
        same = seen.shape[1] == X.shape[1]
        self.centre_ = centre_of(Form(distance=True), X, self.group_) if same else None
        functions = [cosine] if self.form == "phase" else [cosine, sine]
        over_turns = [_cosine_over_turns, _sine_over_turns][: len(functions)]
        self._n_features_out = self.n_components * len(functions)
        factor = float(np.sqrt(2 / self._n_features_out))
        self._prepare_on_side(
            self.templates_,
            elements,
            preserved=self.group_ is not None and self.group_.unitary,
            offsets=self.phases_ if self.form == "phase" else None,
            keeps=WeightedMean(functions, factor=factor, over_turns=over_turns),
        )

    def _reduced(self, orbits: OrbitProducts, X: Any) -> Any:
        """Means of waves; in double precision if phases would be lost in single."""
        if self.centre_ is not None:
            X = X - like(self.centre_, X)
        xp = namespace(X)
        if X.dtype != xp.float32:
            return super()._reduced(orbits, X)
        lengths = np.sqrt(np.square(self.templates_, dtype=float).sum(axis=1))
        seen = detached(X)
        largest = max(float(xp.max(seen)), -float(xp.min(seen))) * X.shape[1] ** 0.5
        if largest * float(np.median(lengths)) * np.finfo(np.float32).eps <= _PHASE_ERROR:
            return super()._reduced(orbits, X)
        found = super()._reduced(orbits, X.astype(float) if xp is np else xp.astype(X, xp.float64))
        return found.astype(np.float32) if xp is np else xp.astype(found, xp.float32)

    def _seen(self, elements: NDArray, X: NDArray, rng) -> NDArray:
        """Some points as the group shows them: they set the bandwidth and the dimension."""
        some = X if len(X) <= 1000 else X[rng.choice(len(X), 1000, replace=False)]
        return self.group_.act(elements[:1], some)[0].reshape(len(some), -1)


def _wave(less: float, values: Any) -> Any:
    """Cosines, less a part of a turn, of an array; in place where it is NumPy's.

    NumPy has no vector instructions for cosines of float64: a polynomial, a cache's worth at a
    time, is twice as fast, and wrong by no more than rounding of the argument is.
    """
    if is_foreign(values):
        xp = namespace(values)
        return xp.sin(values) if less else xp.cos(values)
    wave = np.sin if less else np.cos
    if values.dtype != np.float64 or not values.flags.c_contiguous:
        return wave(values, out=values)
    flat = values.reshape(-1)
    whole, square = np.empty((2, min(_BLOCK, flat.size)))
    for start in range(0, flat.size, _BLOCK):
        x = flat[start : start + _BLOCK]
        if not -_LARGE < x.min() <= x.max() < _LARGE:
            wave(x, out=x)
            continue
        k, z = whole[: x.size], square[: x.size]
        x *= 1 / (2 * np.pi)  # in turns
        if less:
            x -= less
        np.rint(x, out=k)
        x -= k
        np.abs(x, out=x)
        np.subtract(0.25, x, out=x)  # a quarter turn at most, of which the sine is wanted
        np.multiply(x, x, out=z)
        np.multiply(z, _SINE[-1], out=k)
        for coefficient in _SINE[-2:0:-1]:
            k += coefficient
            k *= z
        k += _SINE[0]
        x *= k
    return values


cosine, sine = partial(_wave, 0.0), partial(_wave, 0.25)


def _cosine_over_turns(fixed: NDArray, radius: NDArray) -> NDArray:
    """Mean of cos(fixed + radius cos t) over a full turn of t."""
    return np.cos(fixed) * j0(radius)


def _sine_over_turns(fixed: NDArray, radius: NDArray) -> NDArray:
    """Mean of sin(fixed + radius cos t) over a full turn of t."""
    return np.sin(fixed) * j0(radius)
