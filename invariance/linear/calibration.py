"""Probabilities from decision values, calibrated on values of points that were left out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

__all__ = ["fit_slope"]


def fit_slope(values: NDArray, truth: NDArray, weights: NDArray) -> float:
    r"""The slope a >= 0 of :math:`P(k \mid f) = e^{a f_k} / \sum_l e^{a f_l}`.

    By maximum likelihood ("temperature scaling", Guo et al. 2017), with a share of 1 / (n + 2) of
    each point given to the other classes, as Platt (1999) does, so that the slope stays finite
    where the classes are separable. One parameter, which leaves the order of the classes as it is:
    the most probable one is the predicted one.

    Parameters
    ----------
    values : ndarray of shape (n, k)
        Decision values of points by models that did not see them.
    truth : ndarray of shape (n,)
        The columns of their classes.
    weights : ndarray of shape (n,)

    Examples
    --------
    >>> values = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> a = fit_slope(values, np.array([0, 0, 1, 1]), np.ones(4))
    >>> bool(0.5 < 1 / (1 + np.exp(-a)) < 0.75)  # three of four are right
    True
    """
    n, k = values.shape
    scale = float(np.ptp(values, axis=1).max()) or 1.0
    targets = np.full((n, k), 1 / (n + 2) / (k - 1))
    targets[np.arange(n), truth] = 1 - 1 / (n + 2)
    shares = weights[:, None] / weights.sum() * targets

    def loss(log_slope: float) -> float:
        return -float(np.sum(shares * log_softmax(values * (np.exp(log_slope) / scale), axis=1)))

    # convex in the slope, hence with one minimum in its logarithm
    found = minimize_scalar(loss, bounds=(-12, 12), method="bounded")
    return float(np.exp(found.x)) / scale
