"""`make_xperm`: all short sequences, labelled by which letters they hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ..core.parameters import ParameterError, Seed, Whole, arguments

__all__ = ["make_xperm"]


@arguments(length=Whole(1, 23), alphabet=Whole(2, 10**7), random_state=Seed())
def make_xperm(
    length: int = 5,
    alphabet: int = 8,
    *,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """All sequences of given length over an alphabet; positive when both target letters occur.

    The permutation-invariant task X_perm of Mroueh et al. 2015, section 6 and appendix D.1. Two
    distinct targets are drawn at random; where in the sequence they stand does not matter.

    Parameters
    ----------
    length, alphabet : int
        5 and 8 in the paper: 8^5 = 32,768 sequences.
    random_state : int, RandomState or None
        Draws the two targets.

    Returns
    -------
    X : ndarray of shape (alphabet^length, length * alphabet)
        One-hot letters, position after position.
    y : ndarray of shape (alphabet^length,)
        1 when both targets occur, else 0.

    Raises
    ------
    ParameterError
        For length < 1, alphabet < 2, or more than ten million sequences.

    Examples
    --------
    >>> X, y = make_xperm(random_state=0)
    >>> X.shape, int(y.sum())
    ((32768, 40), 6930)
    """
    if alphabet**length > 10**7:
        raise ParameterError(
            f"alphabet^length = {alphabet}^{length} sequences are too many to list"
        )
    letters = np.indices((alphabet,) * length).reshape(length, -1).T
    first, second = check_random_state(random_state).choice(alphabet, 2, replace=False)
    y = np.any(letters == first, axis=1) & np.any(letters == second, axis=1)
    return np.eye(alphabet)[letters].reshape(len(letters), -1), y.astype(np.int64)
