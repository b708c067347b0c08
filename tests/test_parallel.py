"""`by_rows` gives the same numbers on one worker, on four, and on a Dask cluster."""

import importlib
import os
import signal
import sys
import threading
import time
from functools import partial

import numpy as np
import pytest
from joblib import parallel_config, register_parallel_backend
from joblib.parallel import ThreadingBackend

from invariance.core.parallel import by_rows
from invariance.features import GroupCDF, OrbitFourier, OrbitNystroem
from invariance.groups import CircleAction, CyclicShifts, VonMises
from invariance.kernels import Average, BestFit, Gaussian

#: Largest relative difference of equal results. The blocks are the same, so that only the number of
#: BLAS threads can change the order of a sum.
SAME = 1e-12

X = np.random.default_rng(0).normal(size=(150, 8))
SHIFTS = CyclicShifts(8)
CIRCLE = CircleAction([0, 0, 1, 1, 2, 2, 3, 3], density=VonMises(kappa=2.0), n_nodes=16)
OPTIONS = {"gamma": 0.1, "n_jobs": 2, "random_state": 0}

FUNCTIONS = {
    "Average": partial(Average(Gaussian(gamma=0.1), SHIFTS), Y=X),
    "BestFit": partial(BestFit(Gaussian(gamma=0.1), SHIFTS, n_jobs=2), Y=X),
    "GroupCDF": GroupCDF(SHIFTS, n_components=9, n_bins=4, random_state=0).fit(X).transform,
    "OrbitFourier on the circle": OrbitFourier(CIRCLE, 300, **OPTIONS).fit(X).transform,
    "OrbitNystroem": OrbitNystroem(SHIFTS, 20, **OPTIONS).fit(X).transform,
}
#: Functions that are sent to other processes: a kernel and a fitted feature map.
SENT = ["Average", "OrbitFourier on the circle"]


def _off(values, expected) -> float:
    return np.abs(values - expected).max() / np.abs(expected).max()


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def client(cluster):
    cluster.wait_for_workers(2, timeout=60)  # joblib does not use a cluster of one worker
    return cluster


@pytest.mark.parametrize(
    ("name", "backend", "n_jobs"),
    [*((name, "threading", 4) for name in FUNCTIONS), *((name, "loky", 2) for name in SENT)],
)
def test_threads_and_processes_give_the_same_numbers(name, backend, n_jobs):
    expected = FUNCTIONS[name](X)
    with parallel_config(backend):
        assert _off(by_rows(FUNCTIONS[name], X, block_rows=40, n_jobs=n_jobs), expected) < SAME


@pytest.mark.parametrize("name", SENT)
def test_dask_workers_give_the_same_numbers(name, client):
    expected = FUNCTIONS[name](X)
    with parallel_config("dask"):
        assert _off(by_rows(FUNCTIONS[name], X, block_rows=40), expected) < SAME
        # loops that write into one array stay in this process
        assert _off(FUNCTIONS[name](X), expected) < SAME


def test_dask_workers_compute_features_and_kernels_of_dask_arrays(client):
    dask = pytest.importorskip("dask")
    dask_array = pytest.importorskip("dask.array")
    model = OrbitFourier(SHIFTS, 9, **OPTIONS).fit(X)
    kernel = BestFit(Gaussian(gamma=0.1), SHIFTS)
    blocks = dask_array.from_array(X, chunks=(40, 8))
    values, gram = dask.compute(model.transform(blocks), kernel(blocks, X))
    assert _off(values, model.transform(X)) < SAME
    assert _off(gram, kernel(X, X)) < SAME


def test_the_result_survives_the_death_of_a_dask_worker(client, tmp_path):
    sign = tmp_path / "killed"
    kernel = FUNCTIONS["Average"]

    def fragile(rows):
        if not sign.exists():
            sign.touch()
            os.kill(os.getpid(), 9)
        return kernel(rows)

    with parallel_config("dask"):
        values = by_rows(fragile, X, block_rows=10)
    assert sign.exists()
    assert _off(values, kernel(X)) < SAME


def test_a_function_that_cannot_be_pickled_raises_an_error(client):
    lock = threading.Lock()
    kernel = FUNCTIONS["Average"]

    def locked(rows):
        with lock:
            return kernel(rows)

    with parallel_config("threading", n_jobs=2):
        assert _off(by_rows(locked, X, block_rows=40), kernel(X)) < SAME
    with parallel_config("dask"), pytest.raises(TypeError, match="locked.*cannot be sent .*lock"):
        by_rows(locked, X, block_rows=40)


def test_workers_that_do_not_respond_raise_an_error(client):
    stopped = list(client.run(os.getpid).values())
    for process in stopped:
        os.kill(process, signal.SIGSTOP)
    try:
        with parallel_config("dask"), pytest.raises(TimeoutError, match="row 0 did not .* 1 s"):
            by_rows(FUNCTIONS["Average"], X, block_rows=40, timeout=1)
    finally:
        for process in stopped:
            os.kill(process, signal.SIGCONT)
    with parallel_config("dask"):
        values = by_rows(FUNCTIONS["Average"], X, block_rows=40, timeout=60)
    assert _off(values, FUNCTIONS["Average"](X)) < SAME


def test_ray_workers_give_the_same_numbers():
    ray = pytest.importorskip("ray", reason="ray is not installed")
    register = pytest.importorskip("ray.util.joblib").register_ray
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        register()
        for name in SENT:
            with parallel_config("ray", n_jobs=2):
                values = by_rows(FUNCTIONS[name], X, block_rows=40)
            assert _off(values, FUNCTIONS[name](X)) < SAME
    finally:
        ray.shutdown()


def test_results_on_disk_in_single_precision_and_from_other_backends(tmp_path):
    out = np.lib.format.open_memmap(tmp_path / "K.npy", "w+", shape=(150, 150))
    assert by_rows(FUNCTIONS["Average"], X, block_rows=64, out=out) is out
    assert np.array_equal(np.load(tmp_path / "K.npy"), out)
    single = by_rows(np.sin, X.tolist(), np.int64(40), out=np.empty(X.shape, dtype=np.float32))
    assert np.array_equal(single, np.sin(X).astype(np.float32))
    with parallel_config("multiprocessing", n_jobs=2):  # returns a list, like Ray
        assert np.array_equal(by_rows(np.sin, X, block_rows=40), np.sin(X))


@pytest.mark.parametrize(
    ("function", "rows", "options", "message"),
    [
        (lambda rows: rows[:1], X, {}, r"\(1, 8\) of float64 from 40 rows"),
        (lambda rows: rows @ rows.T, X, {}, r"made \(30, 30\) .* but \(30, 40\) of float64 is due"),
        (np.sin, X[:0], {}, "at least one row"),
        (np.sin, np.array(3.0), {}, "at least one row"),
        (np.sin, X, {"block_rows": 2.5}, "block_rows to be a whole number >= 1, got 2.5"),
        *(
            (np.sin, X, {"out": np.empty(shape)}, r"made \(40, 8\) .* out of shape \(150, 8\)")
            for shape in ((149, 8), (151, 8), (150,), (150, 9), (150, 1, 8))
        ),
        (np.sin, X, {"out": np.empty(X.shape, int)}, "of float64 .* int64 is due.* and float64"),
        (np.emath.sqrt, X, {"out": np.empty(X.shape)}, "of complex128 .* of float64 is due"),
    ],
)
def test_functions_and_outputs_of_a_wrong_shape_are_refused(function, rows, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        by_rows(function, rows, **({"block_rows": 40} | options))


# -- memory, other arrays, other backends ----------------------------------------------------------


class Written:
    """An array with a shape, a type, and values that can be assigned."""

    def __init__(self, shape, dtype=float, on_write=lambda: None):
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self.on_write = on_write
        self.values = np.zeros(shape, dtype)

    def __setitem__(self, rows, values):
        self.on_write()
        self.values[rows] = values

    def __getitem__(self, rows):
        return self.values[rows]


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("symmetric", [False, True])
def test_results_are_written_to_arrays_of_other_libraries(n_jobs, symmetric):
    kernel = Average(Gaussian(gamma=0.1), SHIFTS)
    out = Written((150, 150), np.float32)
    function = kernel if symmetric else partial(kernel, Y=X)
    with parallel_config("threading"):
        made = by_rows(function, X, block_rows=40, out=out, n_jobs=n_jobs, symmetric=symmetric)
    assert made is out
    np.testing.assert_allclose(out.values, kernel(X), rtol=1e-6)
    with pytest.raises(ValueError, match="out has no dtype, __setitem__; give an array"):
        by_rows(np.sin, X, out=type("Bare", (), {"shape": X.shape})())


def test_results_are_written_to_zarr(tmp_path):
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    out = zarr.open(
        str(tmp_path / "K"), mode="w", shape=X.shape, chunks=(40, 8), dtype="f8", encoding="utf-8"
    )
    assert by_rows(np.sin, X, block_rows=40, out=out, resume=tmp_path / "rows") is out
    assert np.array_equal(out[:], np.sin(X))


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_the_number_of_blocks_that_wait_for_writing_is_bounded(n_jobs):
    """Writing is slow; each of the 24 blocks takes 20 MB."""
    made = []
    waiting = []

    def large(rows):
        made.append(len(rows))
        return np.zeros((len(rows), 2_500_000))

    def slowly():
        time.sleep(0.02)
        waiting.append(len(made) - len(waiting))

    class Slow(Written):
        def __setitem__(self, rows, values):
            slowly()

    out = Slow((24, 1))
    out.shape = 24, 2_500_000
    with parallel_config("threading", n_jobs=n_jobs):
        by_rows(large, np.zeros((24, 1)), block_rows=1, out=out)
    assert len(waiting) == 24 and max(waiting) <= max(1, 2 * n_jobs)


class Elsewhere(ThreadingBackend):
    """A registered backend, like that of Ray; joblib gives it one job by default."""


@pytest.mark.parametrize(
    ("options", "in_this_thread"), [({}, False), ({"n_jobs": 2}, False), ({"n_jobs": 1}, True)]
)
def test_a_registered_backend_is_used_without_a_number_of_jobs(options, in_this_thread):
    this_thread = threading.get_ident()
    threads = set()

    def note(rows):
        threads.add(threading.get_ident())
        time.sleep(0.01)
        return rows

    register_parallel_backend("elsewhere", Elsewhere)
    with parallel_config("elsewhere", **options):
        by_rows(note, X, block_rows=10)
    assert (threads == {this_thread}) == in_this_thread
    assert (this_thread in threads) == in_this_thread


# -- symmetric matrices ----------------------------------------------------------------------------


@pytest.mark.parametrize("block_rows", [1, 7, 40, 149, 150, 1000])
def test_a_symmetric_matrix_needs_half_the_work(block_rows):
    kernel = BestFit(Gaussian(gamma=0.1), SHIFTS)
    pairs = []

    def counted(rows, Y=None):
        pairs.append(len(rows) * len(rows if Y is None else Y))
        return kernel(rows, Y)

    K = by_rows(counted, X, block_rows=block_rows, symmetric=True)
    assert _off(K, kernel(X)) < SAME and np.array_equal(K, K.T)
    blocks = -(-len(X) // block_rows)
    assert sum(pairs) <= len(X) ** 2 * (1 + 1 / blocks) / 2 + block_rows**2
    single = by_rows(
        kernel, X, block_rows=block_rows, symmetric=True, out=np.empty((150, 150), "f4")
    )
    np.testing.assert_allclose(single, K, rtol=1e-6)


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (lambda A, B=None: np.tri(len(A), len(A if B is None else B)), {}, "differs by 1 when"),
        (lambda A, B=None: A, {}, r"made \(40, 8\) from 40 rows: no kernel"),
        (Gaussian(0.1), {"out": np.empty((150, 151))}, r"out of shape \(150, 150\)"),
        (Gaussian(0.1), {"out": np.empty((151, 150))}, r"out of shape \(150, 150\)"),
        (Gaussian(0.1), {"symmetric": 2}, "symmetric to be"),
    ],
)
def test_functions_that_are_not_symmetric_kernels_are_refused(function, options, message):
    with pytest.raises(ValueError, match=message):
        by_rows(function, X, 40, **({"symmetric": True} | options))


# -- resuming --------------------------------------------------------------------------------------


class Counted:
    """A kernel that creates a file for each block, and fails at a row if a file requests it."""

    def __init__(self, folder, gamma=0.1):
        self.folder = str(folder)
        self.gamma = gamma

    def __call__(self, rows, Y=None):
        names = os.listdir(self.folder)
        if "fatal" in names and np.isin(7.5, rows[:, 0]):
            if "die" in names:
                os.kill(os.getpid(), 9)
            raise RuntimeError("lost")
        with open(f"{self.folder}/{time.time_ns()}.block", "w", encoding="utf-8") as _:
            pass
        return Gaussian(self.gamma)(rows, X if Y is None else Y)


def test_masked_entries_are_refused():
    masked = np.ma.masked_array(X, np.eye(*X.shape))
    with pytest.raises(ValueError, match="8 masked entries: fill them"):
        by_rows(Gaussian(0.1), masked)


def test_columns_of_a_data_frame_are_those_of_the_fit(tmp_path):
    pandas = pytest.importorskip("pandas")
    index = np.linspace(1, 0, len(X))
    frame = pandas.DataFrame(X, index, columns=list("abcdefgh"))
    model = OrbitFourier(SHIFTS, 20, gamma=0.1, random_state=0).fit(frame)
    expected = model.transform(frame)
    out = np.lib.format.open_memmap(tmp_path / "out.npy", "w+", float, expected.shape)
    for resume in (tmp_path / "rows", False):
        values = by_rows(model.transform, frame, 40, out=out, resume=resume)
        assert _off(values, expected) < SAME
    assert _off(by_rows(Gaussian(0.1), frame, 40, symmetric=True), Gaussian(0.1)(X)) < SAME
    with pytest.raises(ValueError, match="same order as they were in fit"):
        by_rows(model.transform, frame[list("bacdefgh")])


def symmetric_kernel(rows, Y=None):
    return Gaussian(0.1)(rows, Y)


@pytest.fixture
def counted(tmp_path):
    """A kernel that counts blocks, and a function for their number since its last call."""
    folder = tmp_path / "counts"
    folder.mkdir()

    def blocks_since():
        names = [name for name in os.listdir(folder) if name.endswith(".block")]
        for name in names:
            os.remove(folder / name)
        return len(names)

    return Counted(folder), blocks_since, folder


def opened(path, mode="r+", dtype=float):
    if not path.exists():
        mode = "w+"
    return np.lib.format.open_memmap(path, mode, dtype=dtype, shape=(150, 150))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("death", [False, True])
def test_finished_rows_are_not_computed_again(counted, tmp_path, n_jobs, death):
    """A first run ends with an error or the death of a worker."""
    if death and n_jobs == 1:
        pytest.skip("this process would die")
    function, blocks_since, folder = counted
    path = tmp_path / "K.npy"
    points = X.copy()
    points[105, 0] = 7.5
    for name in ["fatal", *(["die"] if death else [])]:
        (folder / name).touch()
    with pytest.raises(Exception, match="lost|terminated"):
        by_rows(function, points, 10, opened(path), n_jobs=n_jobs, resume=True)
    first = blocks_since()
    os.remove(folder / "fatal")
    K = by_rows(function, points, 10, opened(path), n_jobs=n_jobs, resume=True)
    n_recorded = sum(1 for line in open(f"{path}.rows", encoding="utf-8")) - 1
    assert (
        n_recorded == 15
        and 15 - 10 <= blocks_since() <= 15 - (10 if n_jobs == 1 else 4)
        and first >= 4
    )
    assert np.array_equal(K, by_rows(partial(Gaussian(0.1), Y=X), points, 10))
    by_rows(function, points, 10, opened(path), n_jobs=n_jobs, resume=True)
    assert blocks_since() == 0


@pytest.fixture
def resumed(counted, tmp_path):
    """A kernel, the file of its Gram matrix, and a function that resumes the computation."""
    kernel, blocks_since, _ = counted
    path = tmp_path / "K.npy"

    def run(points=X, block_rows=10, out=None):
        """Return the Gram matrix and the number of blocks that were computed."""
        out = opened(path) if out is None else out
        K = by_rows(kernel, points, block_rows, out, resume=True)
        return np.array(K), blocks_since()

    return kernel, path, run


def test_rows_of_other_points_or_blocks_are_computed_again(resumed):
    _, _, run = resumed
    assert run()[1] == 15
    assert run()[1] == 0
    changed_points = X.copy()
    changed_points[-1, -1] += 1e-12
    assert run(points=changed_points)[1] == 15
    assert run(points=changed_points.astype(np.float32))[1] == 15
    assert run()[1] == 15  # the file contained rows of other points
    assert run(block_rows=30)[1] == 5
    assert run(block_rows=30)[1] == 0
    assert run()[1] in (0, 15)


def test_rows_of_another_kernel_are_computed_again(resumed):
    kernel, _, run = resumed
    K, _ = run()
    kernel.gamma = 0.2
    changed, blocks = run()
    assert blocks == 15 and not np.allclose(changed, K)
    kernel.gamma = 0.1
    assert run()[1] == 15


def test_changed_or_lost_rows_are_computed_again(resumed, tmp_path):
    _, path, run = resumed
    K, _ = run()
    out = opened(path)
    out[33, 3] += 1  # another program writes a row
    assert run(out=out)[1] == 1
    assert run(out=opened(path, "w+"))[1] == 15  # a new file of zeros
    with open(f"{path}.rows", "rb+") as file:  # a power failure while writing
        file.truncate(os.path.getsize(file.name) - 20)
    assert run()[1] == 1
    with open(f"{path}.rows", "w", encoding="utf-8") as file:
        file.write("rubbish\n0 10 0\n")
    again, blocks = run()
    assert blocks == 15 and np.array_equal(again, K)
    single = np.lib.format.open_memmap(tmp_path / "L.npy", "w+", "f4", (150, 150))
    assert run(out=single)[1] == 15


def test_changed_code_is_computed_again(tmp_path):
    """Changes in nested functions and in lambdas of the script are detected."""

    def made(scale):
        def inner(rows):
            return scale * rows

        return lambda rows: inner(rows) + 1

    out = np.lib.format.open_memmap(tmp_path / "K.npy", "w+", float, X.shape)
    for scale in (2, 3):
        assert np.array_equal(by_rows(made(scale), X, 40, out, resume=True), scale * X + 1)
    doubled = by_rows(lambda rows: rows * 2, X, 40, out, resume=True)
    assert np.array_equal(doubled, X * 2)
    squared = by_rows(lambda rows: rows**2, X, 40, out, resume=True)
    assert np.array_equal(squared, X**2)


def test_changed_code_of_an_imported_module_is_computed_again(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    # Python takes stored bytecode for that of a file of the same size, changed in the same second.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    helper = tmp_path / "by_rows_helper.py"
    module = tmp_path / "by_rows_module.py"
    module.write_text(
        "import by_rows_helper\n\ndef f(rows):\n    return by_rows_helper.g(rows)\n", "utf-8"
    )
    out = np.lib.format.open_memmap(tmp_path / "K.npy", "w+", float, X.shape)
    for factor in (2, 3):
        helper.write_text(f"def g(rows):\n    return {factor} * rows\n", "utf-8")
        for name in ("by_rows_helper", "by_rows_module"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        f = importlib.import_module("by_rows_module").f
        assert np.array_equal(by_rows(f, X, 40, out, resume=True), factor * X)


def test_a_symmetric_matrix_is_resumed(tmp_path):
    path = tmp_path / "K.npy"
    K = by_rows(symmetric_kernel, X, 40, opened(path), symmetric=True, resume=True)
    expected = Gaussian(0.1)(X)
    np.testing.assert_allclose(K, expected, rtol=1e-12)
    out = opened(path)
    out[140, 3] = 9.0  # below the diagonal, a copy of a value of the first block
    again = by_rows(symmetric_kernel, X, 40, out, symmetric=True, resume=True)
    np.testing.assert_allclose(again, expected, rtol=1e-12)


def test_arrays_of_other_libraries_are_resumed_with_the_path_of_a_file(tmp_path):
    out = Written(X.shape)
    by_rows(np.sin, X, 40, out, resume=tmp_path / "rows")
    out[0] = np.zeros(8)
    assert np.array_equal(
        by_rows(np.sin, X, 40, out, resume=str(tmp_path / "rows")).values, np.sin(X)
    )
    for out, message in (
        (None, "resume needs out"),
        (np.empty(X.shape), "needs a memory map.*path"),
    ):
        with pytest.raises(ValueError, match=message):
            by_rows(np.sin, X, 40, out, resume=True)
    lock = threading.Lock()
    with pytest.raises(ValueError, match="resume needs a function that can be pickled.*lock"):
        by_rows(lambda rows: lock and rows, X, 40, np.empty(X.shape), resume=tmp_path / "rows")


def test_a_kernel_that_was_called_before_is_the_same_computation(tmp_path):
    """Values that a kernel stores between calls are not part of the computation."""
    out = np.lib.format.open_memmap(tmp_path / "K.npy", "w+", float, (150, 150))
    kernel = Average(Gaussian(gamma=0.1), SHIFTS)
    by_rows(partial(kernel, Y=X), X, 40, out, resume=True)
    first = (tmp_path / "K.npy.rows").read_text("utf-8")
    kernel(X[:30], X[:20])
    by_rows(partial(kernel, Y=X), X, 40, out, resume=True)
    by_rows(partial(Average(Gaussian(gamma=0.1), SHIFTS), Y=X.copy()), X, 40, out, resume=True)
    assert (tmp_path / "K.npy.rows").read_text("utf-8") == first
