"""`by_rows`: the outer loop of a Gram matrix or a feature map, on whatever joblib runs on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from joblib import Parallel, delayed, parallel_config
from numpy.typing import NDArray

__all__ = ["by_rows"]


def _in_threads(function: Callable[[NDArray], NDArray], rows: NDArray) -> NDArray:
    """A block, with the loops inside `function` kept to the machine that works on it."""
    with parallel_config("threading", n_jobs=1):
        return function(rows)


def by_rows(
    function: Callable[[NDArray], NDArray],
    X: NDArray,
    block_rows: int = 1024,
    out: NDArray | None = None,
    n_jobs: int | None = None,
) -> NDArray:
    """``function(X)``, computed a block of rows at a time and in parallel.

    The blocks run where joblib is told to run them: one after the other by default, in processes
    with ``n_jobs``, on the machines of a cluster under ``joblib.parallel_config("dask")``. They
    are the same blocks everywhere, hence the same numbers, and a worker holds only those it works
    on: the result may be larger than the memory of any of them.

    Parameters
    ----------
    function : callable
        Maps rows (b, d) to an array of b rows, each from its own row alone: a feature map's
        ``transform``, or a kernel against fixed points, ``functools.partial(kernel, Y=Y)``.
    X : ndarray of shape (n, d)
    block_rows : int
        Rows of a block: a worker needs memory for what `function` makes of that many.
    out : ndarray of n rows, optional
        Where the result is written, such as a ``numpy.lib.format.open_memmap`` on disk; default:
        a new array.
    n_jobs : int or None
        As everywhere in joblib.

    Returns
    -------
    ndarray of n rows

    Raises
    ------
    ValueError
        For ``block_rows < 1``, no rows, or a function that does not give one row for each.

    Examples
    --------
    >>> from functools import partial
    >>> from invariance.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> kernel = Gaussian(gamma=0.5)
    >>> bool(np.allclose(by_rows(partial(kernel, Y=X), X, block_rows=30), kernel(X)))
    True
    """
    if block_rows < 1:
        raise ValueError(f"by_rows needs block_rows >= 1, got {block_rows!r}")
    if len(X) == 0:
        raise ValueError("by_rows needs at least one row, got none")
    blocks = [slice(a, min(a + block_rows, len(X))) for a in range(0, len(X), block_rows)]
    # A block travels inside its task, not as an argument of it: joblib hands large arguments to
    # one worker of a Dask cluster in advance, and a worker that dies takes them along.
    tasks = (delayed(partial(_in_threads, function, X[block]))() for block in blocks)
    parts = Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator")(tasks)
    for block, part in zip(blocks, parts, strict=True):
        if len(part) != block.stop - block.start:
            raise ValueError(
                f"by_rows: {function!r} made {len(part)} rows of {block.stop - block.start}; it "
                "must give one row for each"
            )
        if out is None:
            out = np.empty((len(X), *part.shape[1:]), dtype=part.dtype)
        out[block] = part
    return out
