"""Splits into training and test rows that refuse to leave a class out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ..core.parameters import ParameterError, Seed, Whole, arguments, short

__all__ = ["balanced_sample", "split_rows"]


def split_rows(
    target: ArrayLike, *, train: ArrayLike, test: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows for training and for testing from two masks, checked.

    Parameters
    ----------
    target : array-like of shape (n,)
    train, test : array-like of bool, shape (n,)

    Returns
    -------
    train, test : ndarray of row indices

    Raises
    ------
    ParameterError
        When a part is empty, a row is in both, or the test rows hold a class that no training
        row has; names the classes.

    Examples
    --------
    >>> speaker = np.array([0, 0, 1, 1])
    >>> split_rows([5, 6, 5, 6], train=speaker == 0, test=speaker == 1)
    (array([0, 1]), array([2, 3]))
    """
    labels = _labels("split_rows", target)
    masks = [np.asarray(mask) for mask in (train, test)]
    for name, mask in zip(("train", "test"), masks, strict=True):
        if mask.dtype != bool or mask.shape != labels.shape:
            raise ParameterError(
                f"{name} must be a mask of {len(labels)} booleans, as many as target has labels, "
                f"got {mask.dtype} of shape {mask.shape}"
            )
        if not mask.any():
            raise ParameterError(f"the split leaves no row to {name}: check the groups it names")
    if (both := masks[0] & masks[1]).any():
        raise ParameterError(f"{both.sum()} rows, such as {both.argmax()}, are in both parts")
    lost = np.setdiff1d(labels[masks[1]], labels[masks[0]])
    if len(lost):
        raise ParameterError(
            f"the split leaves no training row of class {', '.join(map(str, lost))}, which the "
            "test rows hold: move some of its rows to the training part, or drop it from the test"
        )
    return np.flatnonzero(masks[0]), np.flatnonzero(masks[1])


@arguments(per_class=Whole(), random_state=Seed())
def balanced_sample(
    target: ArrayLike,
    per_class: int,
    *,
    random_state: int | np.random.RandomState | None = None,
) -> NDArray[np.int64]:
    """Rows drawn without replacement, ``per_class`` from each class, class after class.

    Raises
    ------
    ParameterError
        When a class has fewer rows; names the smallest.

    Examples
    --------
    >>> balanced_sample([0, 1, 0, 1, 1], per_class=2, random_state=0).tolist()
    [2, 0, 4, 1]
    """
    labels = _labels("balanced_sample", target)
    classes, counts = np.unique(labels, return_counts=True)
    if per_class < 1 or counts.min() < per_class:
        raise ParameterError(
            f"cannot draw {per_class} rows (per_class) of every class: class "
            f"{classes[counts.argmin()]} has {counts.min()} in the target {short(target)}"
        )
    rng = check_random_state(random_state)
    return np.concatenate(
        [rng.permutation(np.flatnonzero(labels == c))[:per_class] for c in classes]
    )


def _labels(owner: str, target: ArrayLike) -> NDArray[Any]:
    """Labels as an array of shape (n,), of one type and without NaN, so that they can be sorted."""
    try:
        labels = np.asarray(target)
        np.sort(labels)
    except (ValueError, TypeError):  # ragged, or labels that cannot be compared
        labels = np.array(None)
    if labels.ndim != 1 or not labels.size or bool((labels != labels).any()):
        raise ParameterError(
            f"{owner} needs target to be labels of one type, without NaN, shape (n,), got "
            f"{short(target)}"
        )
    return labels
