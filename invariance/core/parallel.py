"""`by_rows`: the outer loop of a Gram matrix or a feature map, on whatever joblib runs on."""

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

from .finished_rows import FinishedRows, computation
from .parameters import Flag, ParameterError, Whole, arguments

Array = NDArray[Any]

#: Finished blocks that wait to be written: two for each worker, or more of small ones.
_WAITING, _WAITING_BYTES = 2, 64 * 2**20


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
    """``function(X)``, computed a block of rows at a time and in parallel.

    The blocks run where joblib is told to run them: one after the other by default, in processes
    with ``n_jobs``, on a cluster under ``joblib.parallel_config("dask")`` or "ray". They are handed
    out in rounds and written as they come: two finished blocks for each worker wait at most, or
    more if together they take less than 64 MiB.

    Parameters
    ----------
    function : callable
        Maps rows (b, d) to b rows, each from its own row alone: a feature map's ``transform``, or
        a kernel against fixed points, ``functools.partial(kernel, Y=Y)``. With ``symmetric`` a
        kernel, ``function(X)`` and ``function(X, Y)``.
    X : array-like of shape (n, d)
    block_rows : int, a worker needs memory for what `function` makes of so many rows
    out : ndarray of n rows, or an array of another kind, optional
        Where the result is written, such as a ``numpy.lib.format.open_memmap`` on disk or an array
        of zarr: whatever has ``shape``, ``dtype`` and ``out[rows] = values``.
    n_jobs : int, optional
        joblib's; without it a backend that is not joblib's own is used with all its workers.
    timeout : float, optional, seconds to wait for the next block before a `TimeoutError`
    symmetric : bool
        Whether the result is a symmetric Gram matrix of X, shape (n, n): blocks below the diagonal
        are copied. This takes little more than half the time.
    resume : bool or path
        Whether finished blocks are noted in a text file, so that the same call after a failure
        computes the others alone. The file lies beside ``out``, which is then a memory map opened
        with mode "r+"; for other kinds of ``out`` give its path. It is known what is computed: a
        block that other data, parameters, code or versions made is computed again.

    Returns
    -------
    ndarray of n rows, or ``out``

    Examples
    --------
    >>> from invariance.kernels import Gaussian
    >>> X, kernel = np.random.default_rng(0).normal(size=(100, 3)), Gaussian(gamma=0.5)
    >>> bool(np.allclose(by_rows(kernel, X, block_rows=30, symmetric=True), kernel(X)))
    True
    """
    X = np.asarray(X)
    if not X.shape or not len(X):
        raise ParameterError(f"by_rows needs at least one row, got shape {X.shape}")
    result = _Result(function, len(X), symmetric, out)
    blocks = [slice(a, min(a + block_rows, len(X))) for a in range(0, len(X), block_rows)]
    finished = None
    if not isinstance(resume, bool) or resume:
        finished = FinishedRows(
            _beside(out, resume), computation(function, X, **result.kind()), result.parts
        )
        blocks = [block for block in blocks if not finished.holds(block)]
    with closing(_computed(function, X, blocks, symmetric, n_jobs, timeout)) as parts:
        for block in blocks:
            try:
                part = next(parts)
            except JoblibTimeout as error:
                late = f"by_rows: row {block.start} did not come within {timeout:g} s"
                raise TimeoutError(late) from error
            result.put(block, np.asarray(part))
            if finished is not None:
                result.flush()
                finished.add(block)
    return result.out


class _Result:
    """Where blocks of rows go."""

    def __init__(self, function: Any, n: int, symmetric: bool, out: Any):
        if out is not None:
            lacks = [name for name in ("shape", "dtype", "__setitem__") if not hasattr(out, name)]
            if lacks:
                raise ParameterError(
                    f"by_rows: out has no {', '.join(lacks)}; give an array, such as "
                    f"np.empty(({n}, ...)), an open_memmap or a zarr array, got {type(out)}"
                )
        self.function, self.n, self.symmetric, self.out = function, n, symmetric, out

    def kind(self) -> dict[str, Any]:
        """What tells this result from others of the same function and points."""
        own = {"symmetric": self.symmetric, "offset": getattr(self.out, "offset", 0)}
        return own | {"shape": list(self.out.shape), "dtype": str(self.out.dtype)}

    def put(self, block: slice, part: Array) -> None:
        """Write a block of rows, from the diagonal on if the result is symmetric."""
        if self.out is None:
            tail = (self.n,) if self.symmetric else part.shape[1:]
            self.out = np.empty((self.n, *tail), dtype=part.dtype)
        self._check(block, part)
        part = part.astype(self.out.dtype, copy=False)
        if not self.symmetric:
            self.out[block.start : block.stop] = part
            return
        size = block.stop - block.start
        self.out[block.start : block.stop, block.start :] = part
        if block.stop < self.n:
            self.out[block.stop :, block.start : block.stop] = part[:, size:].T

    def _check(self, block: slice, part: Array) -> None:
        size, shape, dtype = block.stop - block.start, tuple(self.out.shape), self.out.dtype
        due = (size, self.n - block.start) if self.symmetric else (size, *shape[1:])
        whole = (self.n, self.n) if self.symmetric else (self.n, *part.shape[1:])
        # NumPy would repeat a single column, and cut off fractions and imaginary parts.
        fits = part.shape == due and np.can_cast(part.dtype, dtype, "same_kind")
        if not fits or shape[:1] != (self.n,) or (self.symmetric and shape != whole):
            raise ParameterError(
                f"by_rows: {self.function!r} made {part.shape} of {part.dtype} from {size} rows, "
                f"where {due} of {dtype} is due; give one row for each, and an out of "
                f"shape {whole} and {part.dtype}"
            )

    def parts(self, block: slice) -> Iterator[Array]:
        """What a block has written, as it is now."""
        if not self.symmetric:
            yield np.asarray(self.out[block.start : block.stop])
            return
        yield np.asarray(self.out[block.start : block.stop, block.start :])
        if block.stop < self.n:
            yield np.asarray(self.out[block.stop :, block.start : block.stop])

    def flush(self) -> None:
        """Have what is written on disk, if the array can do that."""
        flush = getattr(self.out, "flush", None)
        if flush is not None:
            flush()


def _beside(out: Any, resume: bool | str | PathLike[str]) -> Path:
    """The text file with the finished rows."""
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


def _computed(
    function: Any,
    X: Array,
    blocks: list[slice],
    symmetric: bool,
    n_jobs: int | None,
    timeout: float | None,
) -> Generator[Array]:
    """What becomes of each block, in order and in rounds of some blocks."""
    # A block travels inside its task, not as an argument of it: joblib hands large arguments to
    # one worker of a Dask cluster in advance, and a worker that dies takes them along.
    if symmetric:
        tasks = (partial(_triangle, function, X[b], X[b.stop :]) for b in blocks)
    else:
        tasks = (partial(function, X[b]) for b in blocks)
    backend, n_jobs = _backend(n_jobs)
    workers = effective_n_jobs(n_jobs)
    if workers == 1:  # joblib would stay in this thread, too
        yield from map(_in_threads, tasks)
        return
    _check_sent(function, backend)
    streams = backend.supports_return_generator or isinstance(backend, SequentialBackend)
    how = "generator" if streams else "list"
    # joblib hands out a block as soon as another one is finished, whether that is written or not.
    with Parallel(n_jobs, batch_size=1, return_as=how, timeout=timeout) as run:
        size = _WAITING * workers
        while some := list(islice(tasks, size)):
            n_bytes = 0
            parts = run(delayed(_in_threads)(task) for task in some)
            for part in parts:
                n_bytes = max(n_bytes, np.asarray(part).nbytes)
                yield part
            size = max(_WAITING * workers, _WAITING_BYTES // max(n_bytes, 1))


def _backend(n_jobs: int | None) -> tuple[Any, int | None]:
    """joblib's backend, and the jobs that it is asked for.

    joblib takes one job where nobody says how many, also on a cluster that somebody registered.
    """
    backend, asked_for = get_active_backend()
    registered = not type(backend).__module__.startswith("joblib.")
    if registered and n_jobs is None and asked_for is None:
        return backend, -1
    return backend, n_jobs


def _check_sent(function: Any, backend: Any) -> None:
    """Refuse what cannot be sent to a worker of Dask, which tells nobody."""
    if not hasattr(backend, "client"):
        return
    import cloudpickle  # which Dask needs

    try:  # buffers stay where they are: this copies no array inside the function
        cloudpickle.dumps(function, protocol=5, buffer_callback=lambda _: None)
    except Exception as error:
        raise TypeError(f"by_rows: {function!r} cannot be sent to a worker: {error}") from error


def _triangle(kernel: Any, rows: Array, others: Array) -> Array:
    """Values of some rows against themselves and those that follow."""
    own = np.asarray(kernel(rows))
    if own.shape != (len(rows), len(rows)):
        raise ParameterError(
            f"by_rows: {kernel!r} made {own.shape} from {len(rows)} rows: no kernel"
        )
    gap = np.abs(own - own.T).max()
    if own.dtype.kind == "f" and gap > np.finfo(own.dtype).eps ** 0.5 * np.abs(own).max():
        raise ParameterError(
            f"by_rows: symmetric=True, but {kernel!r} differs by {gap:.2g} when points are "
            "exchanged: leave it out"
        )
    if not len(others):
        return own
    return np.concatenate([own, np.asarray(kernel(rows, others))], axis=1)


def _in_threads(task: Callable[[], Array]) -> Array:
    """A block, with the loops inside the function kept to the machine that works on it."""
    with parallel_config("threading", n_jobs=1):
        return task()
