"""`RowIndex`: where does this row of integers stand in that table?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["RowIndex"]


class RowIndex:
    """Look up rows of a table of distinct integer rows, many at a time.

    Rows are compared through one 64-bit hash each (a random linear form, modulo 2^64) and then
    verified entry by entry, so that a collision cannot give a wrong answer.

    Parameters
    ----------
    rows : ndarray of int, shape (m, d)

    >>> import numpy as np
    >>> RowIndex(np.array([[0, 1], [2, 0]])).find(np.array([[2, 0], [5, 5]]))
    array([ 1, -1])
    """

    def __init__(self, rows: NDArray):
        self.rows = rows
        draw = np.random.default_rng(0)
        self._form = draw.integers(1, 2**63, size=rows.shape[1], dtype=np.int64) | 1
        keys = self._hash(rows)
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]
        if np.any(self._keys[1:] == self._keys[:-1]):
            raise ValueError("the table holds a row twice (or two rows share a hash)")

    def _hash(self, rows: NDArray) -> NDArray:
        return rows.astype(np.int64) @ self._form

    def find(self, queries: NDArray) -> NDArray:
        """Position of each query row in the table, -1 where it is not there."""
        place = np.searchsorted(self._keys, self._hash(queries))
        place = self._order[np.minimum(place, len(self._order) - 1)]
        return np.where(np.all(self.rows[place] == queries, axis=1), place, -1)
