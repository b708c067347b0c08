"""`by_rows`: the outer loop of a Gram matrix or a feature map, on whatever joblib runs on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.parallel import SequentialBackend, get_active_backend
from joblib.parallel import TimeoutError as JoblibTimeout
from numpy.typing import NDArray

from .parameters import ParameterError, Whole, arguments

Array = NDArray[Any]


@arguments(block_rows=Whole(1))
def by_rows(
    function: Callable[[Array], Array],
    X: Array,
    block_rows: int = 1024,
    out: Any = None,
    n_jobs: int | None = None,
    timeout: float | None = None,
) -> Array:
    """``function(X)``, computed a block of rows at a time and in parallel.

    The blocks run where joblib is told to run them: one after the other by default, in processes
    with ``n_jobs``, on a cluster under ``joblib.parallel_config("dask")``. Results are written as
    they come, except on backends that hand out all of them at once (Ray, multiprocessing).

    Parameters
    ----------
    function : callable
        Maps rows (b, d) to b rows, each from its own row alone: a feature map's ``transform``, or
        a kernel against fixed points, ``functools.partial(kernel, Y=Y)``.
    X : array-like of shape (n, d)
    block_rows : int, a worker needs memory for what `function` makes of so many rows
    out : ndarray of n rows, optional
        Where the result is written, such as a ``numpy.lib.format.open_memmap`` on disk.
    timeout : float, optional, seconds to wait for the next block before a `TimeoutError`

    Examples
    --------
    >>> from functools import partial
    >>> from invariance.kernels import Gaussian
    >>> X, kernel = np.random.default_rng(0).normal(size=(100, 3)), Gaussian(gamma=0.5)
    >>> bool(np.allclose(by_rows(partial(kernel, Y=X), X, block_rows=30), kernel(X)))
    True
    """
    X, start = np.asarray(X), 0
    if not X.shape or not len(X):
        raise ParameterError(f"by_rows needs at least one row, got shape {X.shape}")
    try:
        for part in map(np.asarray, _parts(function, X, block_rows, n_jobs, timeout)):
            if out is None:
                out = np.empty((len(X), *part.shape[1:]), dtype=part.dtype)
            due = min(block_rows, len(X) - start), *out.shape[1:]
            # NumPy would repeat a single column, and cut off fractions and imaginary parts.
            fits = part.shape == due and np.can_cast(part.dtype, out.dtype, "same_kind")
            if not fits or len(out) != len(X):
                raise ParameterError(
                    f"by_rows: {function!r} made {part.shape} of {part.dtype} from {due[0]} rows, "
                    f"where {due} of {out.dtype} is due; give one row for each, and an out of "
                    f"shape {(len(X), *part.shape[1:])} and {part.dtype}"
                )
            out[start : start + block_rows] = part
            start += block_rows
    except JoblibTimeout as error:
        raise TimeoutError(f"by_rows: row {start} did not come within {timeout:g} s") from error
    return np.asanyarray(out)


def _parts(function: Any, X: Array, step: int, n_jobs: int | None, timeout: float | None) -> Any:
    """What becomes of each block, as it comes."""
    backend = get_active_backend()[0]
    alone = effective_n_jobs(n_jobs) == 1  # joblib then stays in this thread
    if not alone and hasattr(backend, "client"):  # of Dask, which tells nobody what it cannot send
        import cloudpickle  # which Dask needs

        try:  # buffers stay where they are: this copies no array inside the function
            cloudpickle.dumps(function, protocol=5, buffer_callback=lambda _: None)
        except Exception as error:
            raise TypeError(f"by_rows: {function!r} cannot be sent to a worker: {error}") from error
    streams = backend.supports_return_generator or isinstance(backend, SequentialBackend)
    how = "generator" if streams else "list"
    run = Parallel(n_jobs, batch_size=1, return_as=how, timeout=None if alone else timeout)
    # A block travels inside its task, not as an argument of it: joblib hands large arguments to
    # one worker of a Dask cluster in advance, and a worker that dies takes them along.
    blocks = (X[start : start + step] for start in range(0, len(X), step))
    return run(delayed(partial(_in_threads, function, block))() for block in blocks)


def _in_threads(function: Callable[[Array], Array], rows: Array) -> Array:
    """A block, with the loops inside `function` kept to the machine that works on it."""
    with parallel_config("threading", n_jobs=1):
        return function(rows)
