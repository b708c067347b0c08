"""`Average`: the orbit-averaged (Haar-integration) kernel of any base kernel and group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel

from ..checks import check_positive, is_integer
from ..groups import Transformations
from .base import BLOCK_BYTES, Kernel, row_blocks

__all__ = ["Average"]


def check_parts(kernel) -> None:
    """Refuse what is no base kernel or no group, and a bound on memory that is none."""
    if not isinstance(kernel.base, GaussianProcessKernel):
        raise TypeError(
            f"{type(kernel).__name__} needs a kernel as base, such as Gaussian(gamma=0.1), got "
            f"{kernel.base!r}"
        )
    if not isinstance(kernel.group, Transformations):
        raise TypeError(
            f"{type(kernel).__name__} needs transformations as group, such as "
            f"Translations((28, 28)), got {kernel.group!r}"
        )
    check_positive(type(kernel).__name__, block_bytes=kernel.block_bytes)


def drawn(kernel) -> NDArray:
    """The ``n_transforms`` elements that a kernel draws from its group, the same at every call."""
    name, n, seed = type(kernel).__name__, kernel.n_transforms, kernel.random_state
    if not is_integer(n) or n < 1:
        raise ValueError(f"{name} needs an integer n_transforms >= 1, got {n!r}")
    if not is_integer(seed):
        raise ValueError(
            f"{name}: random_state={seed!r} draws other transformations at every call, so that "
            "fit and predict would use two kernels; give an integer seed, such as random_state=0"
        )
    return kernel.group.sample(n, seed)


class Average(Kernel):
    r"""The average of a base kernel over the transformations of its arguments.

    With both sides transformed (Mroueh et al. 2015, eq. 1; Raj et al. 2017, eq. 3),

    .. math:: K(x, z) = \sum_{i, j} w_i w_j \, k_0(g_i x, g_j z),

    which is invariant, K(gx, g'z) = K(x, z), when the g_i run through a whole group. Where the
    group is whole, unitary and uniform and the base kernel is unitarily invariant, the double sum
    equals the single one over transformed second arguments, and that is what is computed.

    Parameters
    ----------
    base : Kernel
    group : Transformations
    n_transforms : int or None
        How many elements to draw from the group's measure; ``None`` takes its quadrature rule:
        all elements of a finite set with their weights, and for rotations by any angle the
        trapezoidal rule, exact but for what lies beyond its nodes.
    sides : {"auto", "both", "second"}
        Which arguments are transformed. "second" transforms z alone (the average-fit kernel of
        Liu et al. 2022, section 2.3); "auto" is "both", shortened to "second" where that is equal.
    block_bytes : int
        Bound on temporary arrays.
    random_state : int
        Seed for ``n_transforms``. An integer, since the elements are drawn anew at every call:
        fitting and predicting must draw the same ones.

    Raises
    ------
    TypeError
        For a base that is no kernel, a group that is none, or an infinite one that has no
        quadrature rule, without ``n_transforms``.
    ValueError
        For ``n_transforms < 1``, ``n_transforms`` without an integer ``random_state``, or unknown
        ``sides``.

    Examples
    --------
    >>> from invariance.groups import CyclicShifts
    >>> from invariance.kernels import Gaussian
    >>> K = Average(Gaussian(gamma=0.1), CyclicShifts(4))
    >>> x, z = [[1.0, 2.0, 3.0, 4.0]], [[0.0, 1.0, 0.0, 2.0]]
    >>> bool(abs(K(x, z) - K([[4.0, 1.0, 2.0, 3.0]], z)) < 1e-12)
    True
    """

    def __init__(
        self,
        base: Kernel,
        group: Transformations,
        n_transforms: int | None = None,
        sides: str = "auto",
        block_bytes: int = BLOCK_BYTES,
        random_state=0,
    ):
        self.base = base
        self.group = group
        self.n_transforms = n_transforms
        self.sides = sides
        self.block_bytes = block_bytes
        self.random_state = random_state

    def transforms(self) -> tuple[NDArray, NDArray]:
        """The elements averaged over and their weights, which sum to one."""
        if self.n_transforms is None:
            return self.group.quadrature()
        elements = drawn(self)
        return elements, np.full(len(elements), 1 / len(elements))

    def _second_only(self, weights: NDArray) -> bool:
        if self.sides not in ("auto", "both", "second"):
            raise ValueError(f"sides must be 'auto', 'both' or 'second', got {self.sides!r}")
        if self.sides != "auto":
            return self.sides == "second"
        return (
            self.n_transforms is None
            and self.group.is_group
            and np.ptp(weights) == 0
            and self.group.unitary
            and getattr(self.base, "unitary_invariant", False)
        )

    def _gram(self, X, Y):
        check_parts(self)
        elements, weights = self.transforms()
        Y = X if Y is None else Y
        gram = np.zeros((len(X), len(Y)), dtype=np.result_type(X, Y))
        row_bytes = gram.itemsize * len(elements) * max(X.shape[1], 1)
        if self._second_only(weights):
            self._add(gram, X, Y, elements, weights)
            return gram
        # Both sides: the first argument's orbits are unrolled a block of points at a time.
        for rows in row_blocks(len(X), row_bytes, self.block_bytes // 4):
            orbit = self.group.act(elements, X[rows])
            part = np.zeros((orbit.shape[0] * orbit.shape[1], len(Y)), dtype=gram.dtype)
            unrolled = orbit.reshape(len(part), -1)
            self._add(part, unrolled, Y, elements, weights)
            gram[rows] = np.tensordot(
                weights.astype(gram.dtype), part.reshape(*orbit.shape[:2], len(Y)), axes=1
            )
        return gram

    def _add(self, out, X, Y, elements, weights) -> None:
        """out += sum_j w_j k_0(x, g_j y), by blocks of y with one kernel evaluation each."""
        per_point = out.itemsize * len(elements) * (Y.shape[1] + 3 * len(X))
        for columns in row_blocks(len(Y), per_point, self.block_bytes):
            for some in row_blocks(len(elements), per_point / len(elements), self.block_bytes):
                orbit = self.group.act(elements[some], Y[columns])
                values = self.base(X, orbit.reshape(orbit.shape[0] * orbit.shape[1], -1))
                values = values.reshape(len(X), orbit.shape[0], orbit.shape[1])
                out[:, columns] += np.einsum(
                    "nrm,r->nm", values, weights[some].astype(out.dtype), optimize=True
                )
