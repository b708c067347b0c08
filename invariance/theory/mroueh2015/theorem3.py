"""Theorem 3 and its lemmas: the excess risk of learning with the features."""

from __future__ import annotations

from math import log, sqrt

import numpy as np

from ...core.parameters import Flag, Kind, Number, OneOf, Positive
from ..quantities import LOGGED, PROBABILITY, SIZE, checked

__all__ = [
    "lemma4_error",
    "lemma5_risk",
    "lemma6_deviation",
    "loss_constants",
    "rademacher_bound",
    "theorem3_bound",
]

_KINDS: dict[str, Kind] = {
    "loss": OneOf("hinge", "logistic", "square"),
    "largest": Number(0),
    "N": Number(1),
    "m": LOGGED,
    "G": SIZE,
    "n": SIZE | None,
    "L": Positive(),
    "C": Positive(),
    "s": Positive(),
    "V0": Number(),
    "delta": PROBABILITY,
    "delta1": PROBABILITY,
    "delta2": PROBABILITY,
    "printed": Flag(),
}


@checked(_KINDS)
def loss_constants(loss: str, largest: float) -> tuple[float, float]:
    r"""Lipschitz constant L on [-largest, largest] and V(0) of a margin loss V(y f(x)).

    "hinge" is max(0, 1 - u), "logistic" log(1 + e^-u), "square" (1 - u)^2: the last is Lipschitz
    on bounded intervals only.

    >>> loss_constants("square", 1.0)
    (4.0, 1.0)
    """
    if loss == "hinge":
        return 1.0, 1.0
    if loss == "logistic":
        return 1 / (1 + np.exp(-largest)), log(2)
    return 2 * (1 + largest), 1.0


@checked(_KINDS)
def rademacher_bound(N: int, C: float, *, s: float, n: float | None = None) -> float:
    r"""Rademacher complexity of the class F~ of theorem 3.

    The paper prints :math:`C s / \sqrt N` (``n=None``). Its sum over 2n + 1 thresholds divided by
    n leaves a factor 2 + 1/n: :math:`(2 + 1/n) C s / \sqrt N`.

    >>> rademacher_bound(100, C=1.0, s=1.2), rademacher_bound(100, C=1.0, s=1.2, n=10)
    (0.12, 0.252)
    """
    return (1.0 if n is None else 2 + 1 / n) * C * s / sqrt(N)


@checked(_KINDS, n=SIZE)
def lemma4_error(
    m: float, G: float, *, n: float, C: float, s: float, delta1: float, delta2: float
) -> float:
    r"""Distance in L2 from any f in F_p to the class F~ (lemma 4),

    .. math:: \frac{2sC}{\sqrt m} \Bigl(1 + \sqrt{2 \log \tfrac{1}{\delta_1}}\Bigr)
              + \frac{2sC}{\sqrt{|G|}} \Bigl(1 + \sqrt{2 \log \tfrac{m}{\delta_2}}\Bigr)
              + \frac{2sC}{n} .

    An infinite size removes its term. The last term needs no regularity of w in tau when the
    approximation takes averages of w over each bin; then sC/n is enough.

    >>> round(lemma4_error(100, np.inf, n=10, C=1.0, s=1.2, delta1=0.05, delta2=0.05), 4)
    1.0675
    """
    templates = (1 + sqrt(2 * log(1 / delta1))) / sqrt(m)
    elements = (1 + sqrt(2 * log(m / delta2))) / sqrt(G) if np.isfinite(float(G)) else 0.0
    return 2 * s * C * (templates + elements + 1 / n)


@checked(_KINDS, n=SIZE)
def lemma5_risk(
    m: float, G: float, *, n: float, L: float, C: float, s: float, delta1: float, delta2: float
) -> float:
    """Excess expected risk of the best function of F~ over F_p: L times `lemma4_error`."""
    return L * lemma4_error(m, G, n=n, C=C, s=s, delta1=delta1, delta2=delta2)


@checked(_KINDS)
def lemma6_deviation(
    N: int, L: float, *, C: float, s: float, V0: float, delta: float, n: float | None = None
) -> float:
    r"""Uniform deviation of empirical from expected risk over F~ (lemma 6),

    .. math:: \frac{1}{\sqrt N} \Bigl(4LsC + 2V(0)
              + LC \sqrt{\tfrac12 \log \tfrac1\delta}\Bigr) .

    Theorem 5, which it rests on, wants the supremum of :math:`|f|` over the class in the last
    term and the Rademacher complexity in the first. Both are :math:`(2 + 1/n) s C` (over
    :math:`\sqrt N`), where the paper has C and :math:`sC`: with ``n`` given, the derived constants
    are used.

    >>> round(lemma6_deviation(10_000, L=1.0, C=1.0, s=1.2, V0=1.0, delta=0.05), 4)
    0.0802
    """
    largest = C if n is None else (2 + 1 / n) * s * C
    complexity = 4 * L * rademacher_bound(N, C, s=s, n=n)
    return complexity + (2 * V0 + L * largest * sqrt(0.5 * log(1 / delta))) / sqrt(N)


@checked(_KINDS, n=SIZE)
def theorem3_bound(
    N: int,
    m: float,
    *,
    G: float,
    n: float,
    L: float,
    C: float,
    s: float,
    V0: float,
    delta: float,
    printed: bool = True,
) -> float:
    r"""Excess risk of the empirical minimiser over F~ with probability 1 - 3 delta (theorem 3),

    .. math:: \frac{2}{\sqrt N} \Bigl(4LsC + 2V(0) + LC\sqrt{\tfrac12\log\tfrac1\delta}\Bigr)
              + \frac{2sLC}{\sqrt m} \Bigl(1 + \sqrt{2\log\tfrac1\delta}\Bigr)
              + L \Bigl(\frac{2sC}{\sqrt{|G|}} \Bigl(1 + \sqrt{2\log\tfrac m\delta}\Bigr)
              + \frac{2sC}{n}\Bigr) .

    Parameters
    ----------
    N : int
        Training points, from the core set.
    m, G, n : float
        Templates, sampled group elements (``inf`` for a whole group), bins.
    L, V0 : float
        Lipschitz constant and value at zero of the loss; see `loss_constants`.
    C : float
        Bound on :math:`|w| / p` in F_p; weights of F~ are at most C/m.
    s : float
        Half-width of the thresholds.
    printed : bool
        False takes the constants that the proof's steps give; see `lemma6_deviation`.

    Examples
    --------
    >>> sizes = dict(N=10_000, m=10_000, G=float("inf"), n=100, L=1.0, C=1.0, s=1.2, V0=1.0)
    >>> round(theorem3_bound(**sizes, delta=0.05), 3)
    0.267
    >>> round(theorem3_bound(**sizes, delta=0.05, printed=False), 3)
    0.399
    """
    deviation = lemma6_deviation(N, L, C=C, s=s, V0=V0, delta=delta, n=None if printed else n)
    return 2 * deviation + lemma5_risk(m, G, n=n, L=L, C=C, s=s, delta1=delta, delta2=delta)
