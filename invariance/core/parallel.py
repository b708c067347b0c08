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


@arguments(block_rows=Whole(1))
def by_rows(
    function: Callable[[NDArray], NDArray],
    X: NDArray,
    block_rows: int = 1024,
    out: NDArray | None = None,
    n_jobs: int | None = None,
    timeout: float | None = None,
) -> NDArray:
    """``function(X)``, computed a block of rows at a time and in parallel.

    The blocks run where joblib is told to run them: one after the other by default, in processes
    with ``n_jobs``, on a cluster under ``joblib.parallel_config("dask")``; the same blocks
    everywhere, hence the same numbers. Results are written as they come, and may be larger than
    any memory, except on backends that hand out all of them at once (Ray, multiprocessing).

    Parameters
    ----------
    function : callable
        Maps rows (b, d) to b rows, each from its own row alone: a feature map's ``transform``, or
        a kernel against fixed points, ``functools.partial(kernel, Y=Y)``.
    X : ndarray of shape (n, d)
    block_rows : int
        A worker needs memory for what `function` makes of so many rows.
    out : ndarray of n rows, optional
        Where the result is written, such as a ``numpy.lib.format.open_memmap`` on disk.
    n_jobs : int or None
    timeout : float, optional
        Seconds to wait for the next block before a `TimeoutError`; default: forever.

    Examples
    --------
    >>> from functools import partial
    >>> from invariance.kernels import Gaussian
    >>> X, kernel = np.random.default_rng(0).normal(size=(100, 3)), Gaussian(gamma=0.5)
    >>> bool(np.allclose(by_rows(partial(kernel, Y=X), X, block_rows=30), kernel(X)))
    True
    """
    X = _rows("X", np.asarray(X) if isinstance(X, (list, tuple)) else X)
    if not len(X):
        raise ParameterError("by_rows needs at least one row, got none")
    if out is not None and len(_rows("out", out)) != len(X):
        raise ParameterError(f"by_rows: out is of shape {out.shape}, give one of {len(X)} rows")
    starts, parts = _parts(function, X, block_rows, n_jobs, timeout)
    start = 0
    try:
        for start, part in zip(starts, parts, strict=True):
            part = _rows(f"what {function!r} makes of rows", part)
            if out is None:
                out = np.empty((len(X), *part.shape[1:]), dtype=part.dtype)
            place = out[start : start + block_rows]
            _check_fits(function, part, place, len(X))
            place[...] = part
            start += block_rows
    except JoblibTimeout as error:
        raise TimeoutError(
            f"by_rows: row {start} did not come within {timeout:g} s: are the workers alive, with "
            f"memory for what becomes of {block_rows} rows?"
        ) from error
    return out  # type: ignore[return-value]  # there is a row


def _parts(
    function: Callable[[NDArray], NDArray],
    X: NDArray,
    block_rows: int,
    n_jobs: int | None,
    timeout: float | None,
) -> tuple[range, Any]:
    """Where each block starts, and what becomes of it, as it comes."""
    backend = get_active_backend()[0]
    alone = effective_n_jobs(n_jobs) == 1  # joblib then stays in this thread
    if not alone and hasattr(backend, "client"):  # of Dask; others say it at once
        _check_it_travels(function)
    streams = backend.supports_return_generator or isinstance(backend, SequentialBackend)
    how = "generator" if streams else "list"
    run = Parallel(n_jobs, batch_size=1, return_as=how, timeout=None if alone else timeout)
    # A block travels inside its task, not as an argument of it: joblib hands large arguments to
    # one worker of a Dask cluster in advance, and a worker that dies takes them along.
    starts = range(0, len(X), block_rows)
    tasks = (delayed(partial(_in_threads, function, X[a : a + block_rows]))() for a in starts)
    return starts, run(tasks)


def _check_fits(function: Any, part: NDArray, place: NDArray, n: int) -> None:
    """NumPy would repeat a single column, and cut off fractions and imaginary parts."""
    if part.shape != place.shape or not np.can_cast(part.dtype, place.dtype, "same_kind"):
        raise ParameterError(
            f"by_rows: {function!r} made {part.shape} of {part.dtype} from {len(place)} rows, "
            f"where {place.shape} of {place.dtype} is due; give one row for each, and an out of "
            f"shape {(n, *part.shape[1:])} and {part.dtype}"
        )


def _rows(what: str, array: Any) -> NDArray:
    if isinstance(array, np.ndarray) and array.ndim:
        return array
    shape = " of shape ()" if isinstance(array, np.ndarray) else ""
    raise TypeError(
        f"by_rows: {what} must be a NumPy array of rows, got {type(array).__module__}."
        f"{type(array).__qualname__}{shape}; convert it, a tensor of PyTorch by "
        "tensor.numpy(force=True)"
    )


def _in_threads(function: Callable[[NDArray], NDArray], rows: NDArray) -> NDArray:
    """A block, with the loops inside `function` kept to the machine that works on it."""
    with parallel_config("threading", n_jobs=1):
        return function(rows)


def _check_it_travels(function: Callable[[NDArray], NDArray]) -> None:
    """Dask tells nobody of a task that it cannot send, and joblib would wait for it forever."""
    import cloudpickle  # which Dask needs

    try:
        # buffers stay where they are: this costs no copy of an array inside the function
        cloudpickle.dumps(function, protocol=5, buffer_callback=lambda _: None)
    except Exception as error:
        raise TypeError(f"by_rows: {function!r} cannot be sent to a worker: {error}") from error
