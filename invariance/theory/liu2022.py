r"""Conditions and bounds of Liu, Kumar, Zhou and Liu 2022 for best-fit kernels.

*Learning from Few Samples: Transformation-Invariant SVMs with Composition and Locality at Multiple
Scales.* Throughout, :math:`\lambda` holds the m >= 2 eigenvalues of the features' covariance, and
epsilon lies in (0, 1].
"""

from __future__ import annotations

import numpy as np

from . import Numbers, in_floats


@in_floats
def theorem1_samples(eigenvalues: Numbers, epsilon: float = 1.0) -> float:
    r"""Sample sizes that theorems 1 and 2 and lemma 2 allow.

    .. math:: n \le \frac{|\lambda|_1}{2 |\lambda|_2 (\ln m)^{(1 + \epsilon)/2}}

    >>> round(theorem1_samples(np.ones(784), epsilon=1e-9), 2)
    5.42
    """
    m = np.size(eigenvalues)
    # The unit has no effect, and squares in this one neither overflow nor vanish.
    _, exponent = np.frexp(np.max(eigenvalues))
    scaled = np.ldexp(eigenvalues, -exponent)
    ratio = np.sum(scaled) / np.linalg.norm(scaled)
    growth = np.log(m) ** ((1 + epsilon) / 2)
    return float(ratio / (2 * growth))


@in_floats
def diagonal_tail(eigenvalues: Numbers) -> float:
    r"""Bound on the probability that K_ii is at most half its mean (eq. 7).

    .. math:: P\big(K_{ii} \le |\lambda|_1 / 2m\big) \le \exp(-|\lambda|_1 / 32 |\lambda|_\infty)

    >>> diagonal_tail(np.ones(784)) < 1e-10
    True
    """
    total = np.sum(eigenvalues)
    largest = np.max(eigenvalues)
    return float(np.exp(-total / (32 * largest)))


@in_floats
def offdiagonal_tail(m: int, epsilon: float = 1.0) -> float:
    r"""Bound on the probability that a best-fit entry off the diagonal is large (eq. 9).

    .. math:: P\big(|K_{ij}| \ge |\lambda|_2 (\ln m)^{(1+\epsilon)/2} / m\big)
              \le 2 m \exp(-(\ln m)^{1+\epsilon} / 4)

    >>> offdiagonal_tail(10**6) < 1e-10, round(offdiagonal_tail(784), 3), offdiagonal_tail(64)
    (True, 0.024, 1.0)
    """
    decay = np.log(m) ** (1 + epsilon) / 4
    exponent = np.log(2 * m) - decay
    return float(min(1.0, np.exp(exponent)))


@in_floats
def theorem1_probability(n: int, eigenvalues: Numbers, *, epsilon: float = 1.0) -> float:
    r"""Lower bound on the probability of positive definiteness (end of appendix B).

    .. math:: 1 - n\, e^{-|\lambda|_1 / 32 |\lambda|_\infty}
              - 2 m n^2\, e^{-(\ln m)^{1 + \epsilon} / 4}

    valid for n up to `theorem1_samples`, and zero if the formula is negative.

    >>> theorem1_probability(3, np.ones(784)), round(theorem1_probability(30, np.ones(10**6)), 6)
    (0.0, 1.0)
    """
    if n > theorem1_samples(eigenvalues, epsilon):
        return 0.0
    m = np.size(eigenvalues)
    decay = np.log(m) ** (1 + epsilon) / 4
    exponent = np.log(2 * m) + 2 * np.log(n) - decay
    diagonal = n * diagonal_tail(eigenvalues)
    off_diagonal = np.exp(exponent)
    return float(max(0.0, 1 - diagonal - off_diagonal))
