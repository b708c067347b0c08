"""What learners ask of a Gram matrix, and what they do about negative eigenvalues."""

from __future__ import annotations

import warnings
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from ..core.parameters import OneOf, ParameterError, as_floats, check_finite
from .classes import check_two_classes

__all__ = [
    "REPAIRS",
    "IndefiniteWarning",
    "Repair",
    "check_gram",
    "check_labels",
    "check_symmetric",
    "labelled_gram",
    "lowest_eigenvalue",
    "rounding",
]

#: What a learner does with negative eigenvalues.
REPAIRS = OneOf("clip", "flip", "shift", "raise")


class IndefiniteWarning(UserWarning):
    """A Gram matrix has negative eigenvalues: how many, how large, and what follows."""


def check_gram(
    gram: NDArray, targets: NDArray, called: str = "label", name: str = "labels"
) -> None:
    """Refuse a Gram matrix that is not square, finite and symmetric with one target per row."""
    n = len(targets) if targets.ndim == 1 else -1
    if n < 1 or gram.shape != (n, n):
        raise ParameterError(
            f"expected a square Gram matrix and one {called} per row, got shapes {gram.shape} and "
            f"{targets.shape} of gram and {name}"
        )
    check_finite("the Gram matrix", gram)
    check_symmetric(gram)


def check_labels(labels: NDArray) -> None:
    """Refuse labels that are missing: NaN, infinity or None."""
    if labels.dtype.kind == "f":
        check_finite("labels", labels)
    elif labels.dtype.kind == "O" and any(label is None or label != label for label in labels):
        raise ValueError("labels must not be None or NaN: drop the points without a label")


def labelled_gram(given: ArrayLike, labels: ArrayLike) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """A Gram matrix in its precision, its labels, the classes' numbers and targets 1 and -1.

    Targets have shape (n, classes), numbers (n,); both follow ``np.unique(labels)``.
    """
    gram, names = np.asarray(given), np.asarray(labels)
    if gram.dtype not in (np.float32, np.float64):
        gram = as_floats("gram", gram)
    check_gram(gram, names)
    check_labels(names)
    classes, index = np.unique(names, return_inverse=True)
    check_two_classes(classes)
    return gram, names, index, np.where(index[:, None] == np.arange(len(classes)), 1.0, -1.0)


def check_symmetric(gram: NDArray) -> None:
    """Refuse a square matrix that is not symmetric up to rounding."""
    tiles = [slice(start, start + 128) for start in range(0, len(gram), 128)]
    gap = 0.0
    for a, b in combinations_with_replacement(tiles, 2):  # squares that fit into the cache
        gap = max(gap, float(np.abs(gram[a, b] - gram[b, a].T).max()))
    tolerance = 1e-4 if gram.dtype == np.float32 else 1e-6
    if gap > tolerance * max(gram.max(), -gram.min()):
        raise ValueError(
            f"the Gram matrix is not symmetric (largest difference {gap:.2g}); use "
            "(K + K.T) / 2, or a learner for indefinite kernels such as SVC"
        )


def rounding(gram: NDArray) -> float:
    """How far below zero rounding may put an eigenvalue of a positive semi-definite matrix."""
    eps = float(np.finfo(gram.dtype).eps)
    return max(10 * eps, 1e-12) * float(np.linalg.norm(gram))


def lowest_eigenvalue(gram: NDArray) -> float:
    """The lowest eigenvalue where it is negative by more than rounding, else zero.

    A Cholesky factor of the matrix, shifted by its rounding, shows that nothing is negative. It
    takes one copy, in the precision of the matrix.
    """
    shifted = np.array(gram.T, order="F")  # the same matrix, in the order that LAPACK works on
    shifted.flat[:: len(gram) + 1] += gram.dtype.type(rounding(gram))
    try:
        linalg.cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
        return 0.0
    except linalg.LinAlgError:
        lowest = float(linalg.eigvalsh(gram, subset_by_index=[0, 0], check_finite=False)[0])
        return lowest if lowest < -rounding(gram) else 0.0


class Repair:
    r"""One learner's treatment of negative eigenvalues, the same at fit and at prediction.

    With :math:`K = V \Lambda V^T` the training matrix becomes :math:`V L V^T`, and the row k of a
    new point :math:`k V S V^T`, where (L, S) are

    - "clip": (max(:math:`\Lambda`, 0), 1 where :math:`\Lambda > 0` and else 0);
    - "flip": (:math:`|\Lambda|`, sign :math:`\Lambda`);
    - "shift": (:math:`\Lambda - \lambda_{\min}`, 1): a ridge, which new points do not see.

    Dual coefficients :math:`V S (L + r)^{-1} V^T y` then predict from rows as they are.

    Parameters
    ----------
    owner : str
        Who warns.
    how : {"clip", "flip", "shift", "raise"} or None
        "raise" refuses what is below zero by more than rounding; None warns and leaves the matrix
        to the ridge.
    """

    def __init__(self, owner: str, how: str | None):
        self.owner = owner
        self.how = how
        self.negative_share = 0.0
        self._said = False

    def __call__(self, values: NDArray, tolerance: float) -> tuple[NDArray, NDArray]:
        """L and the diagonal of S for eigenvalues of which ``tolerance`` may be rounding."""
        if values.min(initial=0) < -tolerance:
            self.negative_share = float(-values[values < 0].sum() / np.abs(values).sum())
            self.say(
                f"{int((values < -tolerance).sum())} of {len(values)} eigenvalues are negative, "
                f"{100 * self.negative_share:.2g} % of the sum of their absolute values, the "
                f"lowest {values.min():.2g} beside a largest of {values.max():.2g}"
            )
        if self.how == "shift":
            return values - min(values.min(initial=0), 0), np.ones_like(values)
        if self.how == "flip":
            return np.abs(values), np.sign(values)
        return np.maximum(values, 0), (values > 0).astype(values.dtype)

    def say(self, size: str) -> None:
        """Warn, or raise, once."""
        said = f"{self.owner}: the Gram matrix is not positive semi-definite: {size}"
        if self.how == "raise":
            raise ValueError(f"{said}; repair='clip', 'flip' or 'shift' mends it")
        if not self._said:
            self._said = True
            done = (
                "nothing is repaired, as repair=None asks; too small an alpha will fail"
                if self.how is None
                else f"repaired for training and new points alike by repair={self.how!r}"
            )
            warnings.warn(f"{said}; {done}", IndefiniteWarning, stacklevel=4)
