"""`by_rows`: the outer loop of a Gram matrix or a feature map, on whatever joblib runs on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.parallel import TimeoutError as JoblibTimeout
from joblib.parallel import get_active_backend
from numpy.typing import NDArray

__all__ = ["by_rows"]


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
        raise TypeError(
            f"by_rows: {function!r} cannot be sent to a worker ({error}); leave open files, "
            "locks and clients out of it"
        ) from error


def _check_array(what: str, array: Any) -> None:
    if not isinstance(array, np.ndarray) or array.ndim == 0:
        single = " of shape ()" if isinstance(array, np.ndarray) else ""
        raise TypeError(
            f"by_rows: {what} must be a NumPy array of rows, got {type(array).__module__}."
            f"{type(array).__qualname__}{single}; convert it, a tensor of PyTorch by "
            "tensor.numpy(force=True)"
        )


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
        Where the result is written, such as a ``numpy.lib.format.open_memmap`` on disk;
        float32 will do for a result in float64. Default: a new array.
    n_jobs : int or None
        As everywhere in joblib.
    timeout : float, optional
        Seconds to wait for the next block; default: forever, as a cluster may get new workers.

    Returns
    -------
    ndarray of n rows

    Raises
    ------
    ValueError
        For `block_rows` that is no whole number or below 1, no rows, a function that does not give
        one row for each, or an `out` that does not fit the result.
    TypeError
        For arrays of other libraries than NumPy, which no function may give either, or a function
        that cannot be sent to the processes that shall compute it.
    TimeoutError
        If the next block does not come within `timeout`.

    Examples
    --------
    >>> from functools import partial
    >>> from invariance.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> kernel = Gaussian(gamma=0.5)
    >>> bool(np.allclose(by_rows(partial(kernel, Y=X), X, block_rows=30), kernel(X)))
    True
    """
    if not isinstance(block_rows, Integral) or block_rows < 1:
        raise ValueError(f"by_rows needs a whole number block_rows >= 1, got {block_rows!r}")
    X = np.asarray(X) if isinstance(X, (list, tuple)) else X
    _check_array("X", X)
    if len(X) == 0:
        raise ValueError("by_rows needs at least one row, got none")
    if out is not None:
        _check_array("out", out)
        if len(out) != len(X):
            raise ValueError(
                f"by_rows: out is of shape {out.shape}, which is {len(out)} rows for the {len(X)} "
                f"of X; give one of {len(X)} rows"
            )
    alone = effective_n_jobs(n_jobs) == 1  # joblib then stays in this thread
    if not alone and hasattr(get_active_backend()[0], "client"):  # of Dask; others say it at once
        _check_it_travels(function)
    blocks = [slice(a, min(a + block_rows, len(X))) for a in range(0, len(X), block_rows)]
    # A block travels inside its task, not as an argument of it: joblib hands large arguments to
    # one worker of a Dask cluster in advance, and a worker that dies takes them along.
    tasks = (delayed(partial(_in_threads, function, X[block]))() for block in blocks)
    parts = Parallel(
        n_jobs=n_jobs, batch_size=1, return_as="generator", timeout=None if alone else timeout
    )(tasks)
    done = 0
    try:
        for block, part in zip(blocks, parts, strict=True):
            _check_array(f"what {function!r} makes of rows", part)
            if len(part) != block.stop - block.start:
                raise ValueError(
                    f"by_rows: {function!r} made {len(part)} rows of {block.stop - block.start}; "
                    "it must give one row for each"
                )
            if out is None:
                out = np.empty((len(X), *part.shape[1:]), dtype=part.dtype)
            # NumPy would repeat a single column, and cut off fractions and imaginary parts
            if part.shape[1:] != out.shape[1:] or not np.can_cast(
                part.dtype, out.dtype, "same_kind"
            ):
                raise ValueError(
                    f"by_rows: {function!r} made rows of shape {part.shape[1:]} and {part.dtype}, "
                    f"which do not fit into a result of shape {out.shape} and {out.dtype}; give "
                    f"an out of shape {(len(X), *part.shape[1:])} and {part.dtype}"
                )
            out[block] = part
            done = block.stop
    except JoblibTimeout as error:
        raise TimeoutError(
            f"by_rows: row {done} did not come within {timeout:g} s. Are the workers alive, and is "
            f"their memory enough for what becomes of {block_rows} rows?"
        ) from error
    return out
