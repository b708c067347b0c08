"""The extreme inner products of images over a set of shifts.

Every cyclic shift of a pair comes out of one inverse Fourier transform. Only a small window of
shifts is wanted as a rule, so that the inverse is partial: a product with a small matrix, which
never separates opposite shifts, whose values are E + O and E - O with maximum E + |O|.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .base import ShiftCorrelation
from .frequencies import FrequencyCorrelation
from .rows import RowCorrelation

__all__ = ["FrequencyCorrelation", "RowCorrelation", "ShiftCorrelation", "shift_correlation"]


def shift_correlation(
    grid: Any, shifts: Any, n_channels: int, dtype: Any, shown: tuple[float, float] = (1.0, 1.0)
) -> ShiftCorrelation:
    """`RowCorrelation` of either axis or `FrequencyCorrelation`, whichever multiplies least.

    Parameters
    ----------
    grid, shifts, n_channels, dtype
        As in `ShiftCorrelation`.
    shown : tuple (share of rows, share of columns)
        Of pixels that are not blank in a block of first images.
    """
    shifts = np.asarray(shifts)
    key = tuple(grid), shifts.tobytes(), shifts.shape, shifts.dtype, n_channels, np.dtype(dtype)
    ways = zip(_ways(*key), (*shown, 1.0), strict=True)
    return min(ways, key=lambda way: sum(way[0].operations(way[1]).values()))[0]


@lru_cache(maxsize=16)
def _ways(
    grid: Any, data: bytes, shape: Any, integers: Any, n_channels: int, dtype: Any
) -> tuple[ShiftCorrelation, ...]:
    """Kept for further calls: on a few small points making them would take most of the time."""
    given = grid, np.frombuffer(data, integers).reshape(shape), n_channels, dtype
    return (
        RowCorrelation(*given),
        RowCorrelation(*given, transposed=True),
        FrequencyCorrelation(*given),
    )
