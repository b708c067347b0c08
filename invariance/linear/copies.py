"""`left_out_with_copies`: leave-one-out where each point comes with copies of itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from ..core.parameters import ParameterError, as_floats
from .classes import check_two_classes
from .gram import check_gram, check_labels
from .ridge import check_alphas

__all__ = ["left_out_with_copies"]


def left_out_with_copies(gram: ArrayLike, labels: ArrayLike, *, alphas: ArrayLike) -> NDArray:
    r"""Leave-one-out accuracies of one-vs-all kernel ridge classification on augmented points.

    A point is left out together with its copies, which would give it away. With
    :math:`B = (K + N \alpha I)^{-1}` and g the rows of a point and of its copies, the residuals
    of the machine that was trained without them are :math:`B_{gg}^{-1} (B y)_g`: one inverse for
    each alpha. Targets are centred, the kernel is not. Computes in the precision of ``gram``.

    Parameters
    ----------
    gram : array-like of shape (N, N)
        Symmetric, of n points followed by their first copies, by their second ones, and so on.
    labels : array-like of shape (n,)
        Of the points; N must be a multiple of n, and may be n.
    alphas : array-like of shape (q,)
        On the scale of `invariance.linear`.

    Returns
    -------
    ndarray of shape (q,)
        On the n points themselves; NaN where the matrix was not positive definite.

    Raises
    ------
    ValueError
        For a Gram matrix that is not square, symmetric or finite, missing labels, a single class,
        or another number of rows than some for each label.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> points = np.concatenate([x, x + 0.01])
    >>> gram = np.exp(-((points - points.T) ** 2))
    >>> bool(left_out_with_copies(gram, x[:, 0] > 0, alphas=[1e-3])[0] > 0.9)
    True
    """
    alphas = check_alphas("left_out_with_copies", alphas, relative_to=None, repair=None)
    gram, labels = np.asarray(gram), np.asarray(labels)
    if gram.dtype not in (np.float32, np.float64):
        gram = as_floats("gram", gram)
    n, total = labels.size, len(np.atleast_1d(gram))
    if labels.ndim != 1 or not n or gram.ndim != 2 or total % n or not total:
        raise ParameterError(
            "expected a square Gram matrix and as many rows for one label as for another, got "
            f"shapes {gram.shape} and {labels.shape} of gram and labels"
        )
    check_labels(labels)
    check_gram(gram, np.tile(labels, total // n))
    classes, index = np.unique(labels, return_inverse=True)
    check_two_classes(classes)
    Y = np.where(index[:, None] == np.arange(len(classes)), 1.0, -1.0).astype(gram.dtype)
    mean = Y.mean(axis=0)
    Y = np.tile(Y - mean, (total // n, 1))
    found = np.full(len(alphas), np.nan)
    for i, alpha in enumerate(alphas):
        shifted = gram.copy()
        shifted.flat[:: total + 1] += alpha * total
        try:
            factor = linalg.cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            continue
        potri = linalg.get_lapack_funcs("potri", (factor,))
        lower, _ = potri(factor, lower=1, overwrite_c=1)
        inverse = np.tril(lower) + np.tril(lower, -1).T
        own = np.einsum("aibi->iab", inverse.reshape(total // n, n, total // n, n))
        products = (inverse @ Y).reshape(total // n, n, -1).swapaxes(0, 1)
        decided = Y[:n] + mean - np.linalg.solve(own, products)[:, 0]
        found[i] = np.mean(decided.argmax(axis=1) == index)
    return found
