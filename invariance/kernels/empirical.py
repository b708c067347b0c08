"""`EmpiricalAverage`: U- and V-statistics of the orbit-embedding kernel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..checks import check_count
from ..groups import Transformations
from ..groups.base import check_transformations
from .base import BLOCK_BYTES, Kernel, row_blocks
from .orbit import Average

__all__ = ["EmpiricalAverage"]


class EmpiricalAverage(Kernel):
    r"""Estimates of k_q,G from r group elements drawn once and used on both sides.

    Raj et al. 2017, proof of theorem 3.1: the V-statistic

    .. math:: \hat k(x, z) = \frac{1}{r^2} \sum_{i, j} k_0(g_i x, g_j z)

    is what features with r elements approximate; the U-statistic leaves out i = j, is unbiased
    and differs by at most 1/r for a base kernel with values in [0, 1].

    Parameters
    ----------
    base : Kernel
    group : Transformations
    n_transforms : int
        r, at least 2 for the U-statistic.
    statistic : {"V", "U"}
    block_bytes : int
    random_state : int
        The elements are drawn anew, from the same seed, at every call.

    Examples
    --------
    >>> from invariance.groups import CyclicShifts
    >>> from invariance.kernels import Gaussian
    >>> x, z, group = [[1.0, 0.0, 2.0]], [[0.0, 1.0, 1.0]], CyclicShifts(3)
    >>> V = EmpiricalAverage(Gaussian(0.5), group, 10)(x, z)
    >>> U = EmpiricalAverage(Gaussian(0.5), group, 10, statistic="U")(x, z)
    >>> bool(abs(U - V) <= 1 / 10)
    True
    """

    def __init__(
        self,
        base: Kernel,
        group: Transformations,
        n_transforms: int = 20,
        statistic: str = "V",
        block_bytes: int = BLOCK_BYTES,
        random_state=0,
    ):
        self.base = base
        self.group = group
        self.n_transforms = n_transforms
        self.statistic = statistic
        self.block_bytes = block_bytes
        self.random_state = random_state

    def _gram(self, X: NDArray, Y: NDArray | None) -> NDArray:
        if self.statistic not in ("U", "V"):
            raise ValueError(f"statistic must be 'U' or 'V', got {self.statistic!r}")
        least = 2 if self.statistic == "U" else 1
        check_count(f"a {self.statistic}-statistic", least, n_transforms=self.n_transforms)
        check_transformations("EmpiricalAverage", self.group)
        average = Average(
            self.base, self.group, self.n_transforms, "both", self.block_bytes, self.random_state
        )
        gram = average(X, Y)
        if self.statistic == "V":
            return gram
        elements, _ = average.transforms()
        Y = X if Y is None else Y
        diagonal = np.zeros_like(gram)
        some = 2 * (X.nbytes + Y.nbytes)
        for block in row_blocks(len(elements), some, self.block_bytes):
            pairs = zip(
                self.group.act(elements[block], X), self.group.act(elements[block], Y), strict=True
            )
            for one, two in pairs:
                diagonal += self.base(one.reshape(len(X), -1), two.reshape(len(Y), -1))
        r = len(elements)
        return (r * r * gram - diagonal) / (r * (r - 1))
