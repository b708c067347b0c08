"""The extreme inner products of images over a set of shifts.

Every cyclic shift of a pair comes out of one inverse Fourier transform. Only a small window of
shifts is wanted as a rule, so that the inverse is partial: a product with a small matrix, which
never separates opposite shifts, whose values are E + O and E - O with maximum E + |O|.
"""

from __future__ import annotations

from typing import Any

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
    ways = [
        (RowCorrelation(grid, shifts, n_channels, dtype), shown[0]),
        (RowCorrelation(grid, shifts, n_channels, dtype, transposed=True), shown[1]),
        (FrequencyCorrelation(grid, shifts, n_channels, dtype), 1.0),
    ]
    return min(ways, key=lambda way: sum(way[0].operations(way[1]).values()))[0]
