r"""Conditions and bounds of Liu, Kumar, Zhou and Liu 2022 for best-fit kernels.

*Learning from Few Samples: Transformation-Invariant SVMs with Composition and Locality at Multiple
Scales.* Throughout, :math:`\lambda` holds the m eigenvalues of the features' covariance matrix.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.parameters import Array, Kind, Number, ParameterError, Whole, short
from .quantities import checked

__all__ = [
    "assumption1",
    "diagonal_tail",
    "offdiagonal_tail",
    "theorem1_probability",
    "theorem1_samples",
]

_KINDS: dict[str, Kind] = {
    "eigenvalues": Array(1, least=0),
    "epsilon": Number(above=0, most=1),
    "m": Whole(2),
    "n": Number(1),
}


def _spectrum(eigenvalues: ArrayLike) -> NDArray:
    spectrum = np.asarray(eigenvalues, dtype=float)
    if len(spectrum) < 2 or not spectrum.max() > 0:
        raise ParameterError(
            "eigenvalues must be at least two non-negative numbers, not all zero, got "
            f"{short(eigenvalues)} of shape {spectrum.shape}"
        )
    return spectrum


def _logarithm(m: int, epsilon: float) -> float:
    return float(np.log(m) ** ((1 + epsilon) / 2))


@checked(_KINDS)
def assumption1(eigenvalues: ArrayLike, epsilon: float = 1.0) -> bool:
    r"""Whether :math:`|\lambda|_2 / |\lambda|_\infty \ge (\ln m)^{(1+\epsilon)/2} / 2`.

    >>> assumption1(np.ones(784)), assumption1([1.0] + [1e-6] * 783)
    (True, False)
    """
    spectrum = _spectrum(eigenvalues)
    ratio = np.linalg.norm(spectrum) / spectrum.max()
    return bool(ratio >= _logarithm(len(spectrum), epsilon) / 2)


@checked(_KINDS)
def theorem1_samples(eigenvalues: ArrayLike, epsilon: float = 1.0) -> float:
    r"""Sample sizes that theorems 1 and 2 and lemma 2 allow.

    .. math:: n \le \frac{|\lambda|_1}{2 |\lambda|_2 (\ln m)^{(1 + \epsilon)/2}}

    >>> round(theorem1_samples(np.ones(784), epsilon=1e-9), 2)
    5.42
    """
    spectrum = _spectrum(eigenvalues)
    ratio = spectrum.sum() / np.linalg.norm(spectrum)
    return float(ratio / (2 * _logarithm(len(spectrum), epsilon)))


@checked(_KINDS)
def diagonal_tail(eigenvalues: ArrayLike) -> float:
    r"""Bound on the probability that K_ii is at most half its mean (eq. 7).

    .. math:: P\big(K_{ii} \le |\lambda|_1 / 2m\big) \le \exp(-|\lambda|_1 / 32 |\lambda|_\infty)

    >>> diagonal_tail(np.ones(784)) < 1e-10
    True
    """
    spectrum = _spectrum(eigenvalues)
    return float(np.exp(-spectrum.sum() / (32 * spectrum.max())))


@checked(_KINDS)
def offdiagonal_tail(m: int, epsilon: float = 1.0) -> float:
    r"""Bound on the probability that a best-fit entry off the diagonal is large (eq. 9).

    .. math:: P\big(|K_{ij}| \ge |\lambda|_2 (\ln m)^{(1+\epsilon)/2} / m\big)
              \le 2 m \exp(-(\ln m)^{1+\epsilon} / 4)

    >>> offdiagonal_tail(10**6) < 1e-10, round(offdiagonal_tail(784), 3), offdiagonal_tail(64)
    (True, 0.024, 1.0)
    """
    return float(min(1.0, np.exp(-(np.log(m) ** (1 + epsilon)) / 4 + np.log(2 * m))))


@checked(_KINDS)
def theorem1_probability(n: int, eigenvalues: ArrayLike, *, epsilon: float = 1.0) -> float:
    r"""Lower bound on the probability of positive definiteness (end of appendix B).

    .. math:: 1 - n\, e^{-|\lambda|_1 / 32 |\lambda|_\infty}
              - 2 m n^2\, e^{-(\ln m)^{1 + \epsilon} / 4}

    valid for n up to `theorem1_samples`, and zero where the formula is negative.

    >>> theorem1_probability(3, np.ones(784)), round(theorem1_probability(30, np.ones(10**6)), 6)
    (0.0, 1.0)
    """
    spectrum = _spectrum(eigenvalues)
    if n > theorem1_samples(spectrum, epsilon):
        return 0.0
    m = len(spectrum)
    off = np.exp(-(np.log(m) ** (1 + epsilon)) / 4 + 2 * np.log(n) + np.log(2 * m))
    return float(max(0.0, 1 - n * diagonal_tail(spectrum) - off))
