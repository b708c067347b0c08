"""`CircleAverage`: the exact orbit kernel of rotations, from one product over frequencies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array

from ..checks import check_positive
from ..groups import CircleAction, CircleProducts
from ..groups.base import check_transformations
from .base import Gaussian, Kernel, Linear, Polynomial

__all__ = ["CircleAverage"]

_ROWS, _COLUMNS = 256, 128


class CircleAverage(Kernel):
    r"""``Average(base, group)`` for a `CircleAction`, by relative angles.

    For a base kernel that depends on inner products alone, the double average of Raj et al. 2017,
    eq. 3, is a single one over the relative angle,

    .. math:: k_{q,G}(x, z) = \sum_\theta w(\theta) \, k_0(x, g_\theta z) , \qquad
              w(\theta) = \sum_\phi q(\phi) q(\phi + \theta) ,

    with w the autocorrelation of the density, and all inner products <x, g_theta z> of a pair
    come from one short product over angular frequencies. Equal to the double sum over the
    nodes, not an estimate of it.

    Parameters
    ----------
    base : Gaussian, Polynomial or Linear
    group : CircleAction
        Its nodes, or those of its quadrature rule where it has none.
    n_jobs : int or None
        Threads; the result does not depend on their number.

    Examples
    --------
    >>> import numpy as np
    >>> from invariance.groups import CircleAction, VonMises
    >>> from invariance.kernels import Average, Gaussian
    >>> group = CircleAction([0, 1, 1, 2, 2], VonMises(kappa=1.0), n_nodes=16)
    >>> X = np.random.default_rng(0).standard_normal((4, 5))
    >>> fast, plain = (K(Gaussian(0.3), group)(X) for K in (CircleAverage, Average))
    >>> bool(np.allclose(fast, plain))
    True
    """

    def __init__(self, base: Kernel, group: CircleAction, n_jobs: int | None = None):
        self.base = base
        self.group = group
        self.n_jobs = n_jobs

    def relative_weights(self) -> NDArray:
        """w: the circular autocorrelation of the density's values at the nodes, sums to one."""
        check_transformations("CircleAverage", self.group)
        if not isinstance(self.group, CircleAction):
            raise TypeError(
                f"CircleAverage needs a CircleAction, got {self.group!r}; Average takes any group"
            )
        _, q = self.group.quadrature()
        spectrum = np.fft.rfft(q)
        w = np.fft.irfft(np.abs(spectrum) ** 2, len(q))
        # Exactly even in the angle, so that the Gram matrix is exactly symmetric in theory.
        return (w + np.roll(w[::-1], 1)) / 2

    def grams(self, X: ArrayLike, Y: ArrayLike | None, gammas: Sequence[float]) -> NDArray:
        """Kernel matrices of Gaussian base kernels at several bandwidths, from one pass.

        Parameters
        ----------
        X, Y : arrays of shape (n, d) and (m, d); Y=None is X
        gammas : sequence of q floats

        Returns
        -------
        ndarray of shape (q, n, m)
        """
        for gamma in gammas:
            check_positive("CircleAverage", gamma=gamma)
        X = check_array(X, dtype=(np.float64, np.float32))
        Y = None if Y is None else check_array(Y, dtype=(np.float64, np.float32))

        def power(gamma):
            return lambda exponents: np.exp(gamma * exponents)

        return self._averages(X, Y, [power(gamma) for gamma in gammas], gaussian=True)

    def _gram(self, X: NDArray, Y: NDArray | None) -> NDArray:
        if isinstance(self.base, Gaussian):
            return self.grams(X, Y, [self.base.gamma])[0]
        if isinstance(self.base, Polynomial):
            function = self.base.of_inner_products
        elif isinstance(self.base, Linear):
            function = np.asarray
        else:
            raise TypeError(
                f"CircleAverage knows Gaussian, Polynomial and Linear base kernels, got "
                f"{self.base!r}; Average takes any"
            )
        return self._averages(X, Y, [function], gaussian=False)[0]

    def _averages(self, X, Y, functions, gaussian: bool) -> NDArray:
        dtype = np.result_type(X, X if Y is None else Y)
        weights = self.relative_weights().astype(dtype)
        frequencies = self.group.frequency_array()
        if X.shape[1] != len(frequencies):
            raise ValueError(
                f"{type(self.group).__name__} acts on vectors of length {len(frequencies)}, got "
                f"{X.shape[1]} features"
            )
        left, right = X.astype(dtype), (X if Y is None else Y).astype(dtype)
        if gaussian:
            # Two fixed entries make the product 2 <x, gz> - |x|^2 - |z|^2, the exponent.
            squares = [np.einsum("nd,nd->n", A, A)[:, None] for A in (left, right)]
            ones = [np.ones_like(s) for s in squares]
            left = np.concatenate([left, ones[0], squares[0]], axis=1)
            right = np.concatenate([2 * right, -squares[1], -ones[1]], axis=1)
            frequencies = np.concatenate([frequencies, [0, 0]])
        products = CircleProducts(frequencies, right, self.group.quadrature()[0])
        gathered = products.gather(left)
        grams = np.empty((len(functions), len(left), len(right)), dtype=dtype)

        def one(begin: int) -> None:
            rows = slice(begin, begin + _ROWS)
            first = 0 if Y is not None else begin // _COLUMNS * _COLUMNS
            for start in range(first, len(right), _COLUMNS):
                columns = slice(start, start + _COLUMNS)
                tile = np.empty((len(grams), *grams[0][rows, columns].shape), dtype=dtype)
                for which, values in products.pairs(gathered, rows, columns):
                    if gaussian:
                        np.minimum(values, 0, out=values)
                    for part, function in zip(tile, functions, strict=True):
                        part.reshape(-1)[which] = weights @ function(values)
                grams[:, rows, columns] = tile

        # tasks write into one array: threads, whatever backend joblib is told to use
        tasks = (delayed(one)(begin) for begin in range(0, len(left), _ROWS))
        Parallel(n_jobs=self.n_jobs, require="sharedmem")(tasks)
        if Y is None:
            for gram in grams:
                _mirror(gram)
        return grams

    def _diag(self, X: NDArray) -> NDArray:
        # By blocks on the diagonal.
        blocks = [np.diag(self._gram(X[a : a + 32], None)) for a in range(0, len(X), 32)]
        return np.concatenate(blocks)


def _mirror(gram: NDArray) -> None:
    """Copy the upper triangle onto the lower one, by blocks."""
    n, step = len(gram), 1024
    for a in range(0, n, step):
        gram[a + step :, a : a + step] = gram[a : a + step, a + step :].T
        block = gram[a : a + step, a : a + step]
        block[:] = np.triu(block) + np.triu(block, 1).T
