"""`by_rows`: the outer loop of a Gram matrix or a feature map, on any backend of joblib."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from functools import partial
from itertools import islice
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.parallel import SequentialBackend, get_active_backend
from joblib.parallel import TimeoutError as JoblibTimeout
from numpy.typing import NDArray

from .arrays import refuse_masked
from .dask_arrays import refuse_dask
from .finished_rows import FinishedRows, computation
from .parameters import Flag, ParameterError, Whole, arguments

Array = NDArray[Any]

#: Finished blocks per worker that may wait to be written.
_WAITING_BLOCKS = 2
#: More blocks may wait if together they take less than this many bytes.
_WAITING_BYTES = 64 * 2**20


@arguments(block_rows=Whole(1), symmetric=Flag())
def by_rows(
    function: Callable[..., Array],
    X: Array,
    block_rows: int = 1024,
    out: Any = None,
    n_jobs: int | None = None,
    timeout: float | None = None,
    symmetric: bool = False,
    resume: bool | str | PathLike[str] = False,
) -> Any:
    """Return ``function(X)``, computed in blocks of rows and in parallel.

    joblib runs the blocks: one after the other by default, in processes with ``n_jobs``, on a
    cluster under ``joblib.parallel_config("dask")`` or "ray". They are handed out in rounds and
    written in order: at most two finished blocks per worker wait, or more if together they take
    less than 64 MiB.

    Parameters
    ----------
    function : callable
        Maps rows (b, d) to b rows, each from its own row alone: a feature map's ``transform``, or
        a kernel against fixed points, ``functools.partial(kernel, Y=Y)``. With ``symmetric`` a
        kernel, ``function(X)`` and ``function(X, Y)``.
    X : array-like of shape (n, d)
        Blocks of a data frame of pandas are data frames.
    block_rows : int
        Rows per block; each worker needs memory for the values of `function` on one block.
    out : ndarray of n rows, or an array of another kind, optional
        Receives the result, such as a ``numpy.lib.format.open_memmap`` on disk or an array of zarr.
        It needs ``shape``, ``dtype`` and ``out[rows] = values``.
    n_jobs : int, optional
        As in joblib; without it, a backend that is not joblib's own uses all its workers.
    timeout : float, optional, seconds to wait for the next block before a `TimeoutError`
    symmetric : bool
        Whether the result is a symmetric Gram matrix of X, shape (n, n): blocks below the diagonal
        are copied. This takes little more than half the time.
    resume : bool or path
        Whether finished blocks are recorded in a text file, so that the same call after a failure
        computes only the missing blocks. True puts the file next to ``out``, which must then be a
        memory map opened with mode "r+"; for other kinds of ``out`` pass the path of the file. A
        block that was computed with other data, parameters, code or versions is computed again.

    Returns
    -------
    ndarray of n rows, or ``out``

    Examples
    --------
    >>> from invariance.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> kernel = Gaussian(gamma=0.5)
    >>> bool(np.allclose(by_rows(kernel, X, block_rows=30, symmetric=True), kernel(X)))
    True
    """
    refuse_dask("X", X)
    refuse_masked("X", X)
    if not hasattr(X, "iloc"):  # a data frame has names of columns, which `function` may check
        X = np.asarray(X)
    if not X.shape or not len(X):
        raise ParameterError(f"by_rows needs at least one row, got shape {X.shape}")
    n_rows = len(X)
    result = _Result(function, n_rows, symmetric, out)
    starts = range(0, n_rows, block_rows)
    blocks = [slice(start, min(start + block_rows, n_rows)) for start in starts]
    finished = None
    if resume is not False:
        path = _record_path(out, resume)
        key = computation(function, np.asarray(X), **result.settings())
        finished = FinishedRows(path, key, result.parts)
        blocks = [block for block in blocks if not finished.holds(block)]
    with closing(_computed(function, X, blocks, symmetric, n_jobs, timeout)) as parts:
        for block in blocks:
            try:
                part = next(parts)
            except JoblibTimeout as error:
                raise TimeoutError(
                    f"by_rows: row {block.start} did not come within {timeout:g} s"
                ) from error
            result.put(block, np.asarray(part))
            if finished is not None:
                result.flush()
                finished.add(block)
    return result.out


class _Result:
    """The array that collects the blocks of rows."""

    def __init__(self, function: Callable[..., Array], n_rows: int, symmetric: bool, out: Any):
        if out is not None:
            needed = ("shape", "dtype", "__setitem__")
            missing = [name for name in needed if not hasattr(out, name)]
            if missing:
                raise ParameterError(
                    f"by_rows: out has no {', '.join(missing)}; give an array, such as "
                    f"np.empty(({n_rows}, ...)), an open_memmap or a zarr array, got {type(out)}"
                )
        self.function = function
        self.n_rows = n_rows
        self.symmetric = symmetric
        self.out = out

    def settings(self) -> dict[str, Any]:
        """Return what distinguishes this result from others of the same function and points."""
        return {
            "symmetric": self.symmetric,
            "offset": getattr(self.out, "offset", 0),
            "shape": list(self.out.shape),
            "dtype": str(self.out.dtype),
        }

    def put(self, block: slice, part: Array) -> None:
        """Write a block of rows, from the diagonal on if the result is symmetric."""
        if self.out is None:
            columns = (self.n_rows,) if self.symmetric else part.shape[1:]
            self.out = np.empty((self.n_rows, *columns), dtype=part.dtype)
        self._check(block, part)
        part = part.astype(self.out.dtype, copy=False)
        if not self.symmetric:
            self.out[block.start : block.stop] = part
            return
        block_size = block.stop - block.start
        self.out[block.start : block.stop, block.start :] = part
        if block.stop < self.n_rows:
            self.out[block.stop :, block.start : block.stop] = part[:, block_size:].T

    def _check(self, block: slice, part: Array) -> None:
        """Refuse a block or an `out` of another shape or type than the function's values."""
        block_size = block.stop - block.start
        out_shape = tuple(self.out.shape)
        dtype = self.out.dtype
        if self.symmetric:
            part_shape: tuple[int, ...] = (block_size, self.n_rows - block.start)
            result_shape: tuple[int, ...] = (self.n_rows, self.n_rows)
            shape_fits = out_shape == result_shape
        else:
            part_shape = (block_size, *out_shape[1:])
            result_shape = (self.n_rows, *part.shape[1:])
            shape_fits = out_shape[:1] == (self.n_rows,)
        # NumPy would repeat a single column, and cut off fractions and imaginary parts.
        part_fits = part.shape == part_shape and np.can_cast(part.dtype, dtype, "same_kind")
        if not part_fits or not shape_fits:
            raise ParameterError(
                f"by_rows: {self.function!r} made {part.shape} of {part.dtype} from {block_size} "
                f"rows, but {part_shape} of {dtype} is due; give one row for each, and an out of "
                f"shape {result_shape} and {part.dtype}"
            )

    def parts(self, block: slice) -> Iterator[Array]:
        """Yield the arrays that a block has written, as they are now."""
        if not self.symmetric:
            yield np.asarray(self.out[block.start : block.stop])
            return
        yield np.asarray(self.out[block.start : block.stop, block.start :])
        if block.stop < self.n_rows:
            yield np.asarray(self.out[block.stop :, block.start : block.stop])

    def flush(self) -> None:
        """Write the array to disk, if it has a method for that."""
        flush = getattr(self.out, "flush", None)
        if flush is not None:
            flush()


def _record_path(out: Any, resume: bool | str | PathLike[str]) -> Path:
    """Return the path of the text file with the finished rows."""
    if out is None:
        raise ParameterError("by_rows: resume needs out, such as np.lib.format.open_memmap(...)")
    if not isinstance(resume, bool):
        return Path(fspath(resume))
    name = getattr(out, "filename", None)
    if name is None:
        raise ParameterError(
            f"by_rows: resume=True needs a memory map as out, got {type(out)}; give the path of a "
            "text file, resume='gram.rows'"
        )
    return Path(f"{fspath(name)}.rows")


def _tasks(
    function: Callable[..., Array], X: Array, blocks: list[slice], symmetric: bool
) -> Iterator[Callable[[], Array]]:
    """Yield a function without arguments for each block.

    A block travels inside its task, not as an argument of it: joblib hands large arguments to one
    worker of a Dask cluster in advance, and they are lost if that worker dies.
    """
    rows: Any = getattr(X, "iloc", X)
    for block in blocks:
        if symmetric:
            yield partial(_triangle, function, rows[block], rows[block.stop :])
        else:
            yield partial(function, rows[block])


def _computed(
    function: Callable[..., Array],
    X: Array,
    blocks: list[slice],
    symmetric: bool,
    n_jobs: int | None,
    timeout: float | None,
) -> Generator[Array]:
    """Yield the values of each block, in order and in rounds of several blocks."""
    tasks = _tasks(function, X, blocks, symmetric)
    backend, n_jobs = _backend(n_jobs)
    n_workers = effective_n_jobs(n_jobs)
    if n_workers == 1:  # joblib would stay in this thread, too
        yield from map(_run_single_threaded, tasks)
        return
    _check_can_be_sent(function, backend)
    streams = backend.supports_return_generator or isinstance(backend, SequentialBackend)
    return_as = "generator" if streams else "list"
    # joblib hands out a block as soon as another one is finished, even if that is not yet written.
    # Rounds bound the number of finished blocks in memory.
    with Parallel(n_jobs, batch_size=1, return_as=return_as, timeout=timeout) as parallel:
        least_round = _WAITING_BLOCKS * n_workers
        round_size = least_round
        while True:
            round_tasks = list(islice(tasks, round_size))
            if not round_tasks:
                break
            largest_bytes = 1
            for part in parallel(delayed(_run_single_threaded)(task) for task in round_tasks):
                largest_bytes = max(largest_bytes, np.asarray(part).nbytes)
                yield part
            round_size = max(least_round, _WAITING_BYTES // largest_bytes)


def _backend(n_jobs: int | None) -> tuple[Any, int | None]:
    """Return joblib's backend, and the number of jobs to request from it.

    If no number is configured, joblib takes one job, also on a cluster that the user registered. In
    that case all its workers are requested.
    """
    backend, configured_n_jobs = get_active_backend()
    registered = not type(backend).__module__.startswith("joblib.")
    if registered and n_jobs is None and configured_n_jobs is None:
        return backend, -1
    return backend, n_jobs


def _check_can_be_sent(function: Callable[..., Array], backend: Any) -> None:
    """Refuse functions that cannot be sent to a worker of Dask, which raises no error itself."""
    if not hasattr(backend, "client"):
        return
    import cloudpickle  # which Dask needs

    try:  # the callback leaves buffers in place: no array inside the function is copied
        cloudpickle.dumps(function, protocol=5, buffer_callback=lambda _: None)
    except Exception as error:
        raise TypeError(f"by_rows: {function!r} cannot be sent to a worker: {error}") from error


def _triangle(kernel: Callable[..., Array], rows: Array, later_rows: Array) -> Array:
    """Return the values of a kernel for a block of rows against itself and all later rows."""
    square = np.asarray(kernel(rows))
    if square.shape != (len(rows), len(rows)):
        raise ParameterError(
            f"by_rows: {kernel!r} made {square.shape} from {len(rows)} rows: no kernel"
        )
    asymmetry = np.abs(square - square.T).max()
    if square.dtype.kind == "f":
        tolerance = np.finfo(square.dtype).eps ** 0.5 * np.abs(square).max()
        if asymmetry > tolerance:
            raise ParameterError(
                f"by_rows: symmetric=True, but {kernel!r} differs by {asymmetry:.2g} when points "
                "are exchanged: leave it out"
            )
    if not len(later_rows):
        return square
    return np.concatenate([square, np.asarray(kernel(rows, later_rows))], axis=1)


def _run_single_threaded(task: Callable[[], Array]) -> Array:
    """Compute a block; loops inside the function stay on this worker, in one thread."""
    with parallel_config("threading", n_jobs=1):
        return task()
