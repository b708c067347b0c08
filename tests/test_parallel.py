"""The same numbers on one worker, on four, and on a Dask cluster."""

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

#: Largest relative difference that counts as the same: the same blocks are multiplied everywhere,
#: so only the number of BLAS threads can change the order of a sum.
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
#: Those that are sent to other processes: a kernel and a fitted feature map.
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
    cluster.wait_for_workers(2, timeout=60)  # joblib uses a cluster of one worker for nothing
    return cluster


@pytest.mark.parametrize(
    ("name", "backend", "n_jobs"),
    [*((name, "threading", 4) for name in FUNCTIONS), *((name, "loky", 2) for name in SENT)],
)
def test_workers_of_one_machine(name, backend, n_jobs):
    whole = FUNCTIONS[name](X)
    with parallel_config(backend):
        assert _off(by_rows(FUNCTIONS[name], X, block_rows=40, n_jobs=n_jobs), whole) < SAME


@pytest.mark.parametrize("name", SENT)
def test_dask(name, client):
    whole = FUNCTIONS[name](X)
    with parallel_config("dask"):
        assert _off(by_rows(FUNCTIONS[name], X, block_rows=40), whole) < SAME
        # the loops inside keep to this process where they write into one array
        assert _off(FUNCTIONS[name](X), whole) < SAME


def test_a_worker_that_dies_changes_nothing(client, tmp_path):
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


def test_what_cannot_be_sent_is_an_error_and_not_a_wait(client):
    lock = threading.Lock()
    kernel = FUNCTIONS["Average"]

    def locked(rows):
        with lock:
            return kernel(rows)

    with parallel_config("threading", n_jobs=2):
        assert _off(by_rows(locked, X, block_rows=40), kernel(X)) < SAME
    with parallel_config("dask"), pytest.raises(TypeError, match="locked.*cannot be sent .*lock"):
        by_rows(locked, X, block_rows=40)


def test_workers_that_do_not_answer(client):
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


def test_ray():
    ray = pytest.importorskip("ray", reason="ray is not installed")
    register = pytest.importorskip("ray.util.joblib").register_ray
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        register()
        for name in SENT:
            with parallel_config("ray", n_jobs=2):
                found = by_rows(FUNCTIONS[name], X, block_rows=40)
            assert _off(found, FUNCTIONS[name](X)) < SAME
    finally:
        ray.shutdown()


def test_results_on_disk_in_single_precision_and_from_backends_that_hand_out_a_list(tmp_path):
    out = np.lib.format.open_memmap(tmp_path / "K.npy", "w+", shape=(150, 150))
    assert by_rows(FUNCTIONS["Average"], X, block_rows=64, out=out) is out
    assert np.array_equal(np.load(tmp_path / "K.npy"), out)
    single = by_rows(np.sin, X.tolist(), np.int64(40), out=np.empty(X.shape, dtype=np.float32))
    assert np.array_equal(single, np.sin(X).astype(np.float32))
    with parallel_config("multiprocessing", n_jobs=2):  # Ray is another one
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
def test_what_is_no_map_of_rows_is_refused(function, rows, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        by_rows(function, rows, **({"block_rows": 40} | options))


# -- memory, other arrays, other backends ----------------------------------------------------------


class Written:
    """An array of another library: a shape, a type, and values that can be assigned."""

    def __init__(self, shape, dtype=float, seen=lambda: None):
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self.seen = seen
        self.values = np.zeros(shape, dtype)

    def __setitem__(self, rows, values):
        self.seen()
        self.values[rows] = values

    def __getitem__(self, rows):
        return self.values[rows]


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("symmetric", [False, True])
def test_arrays_of_other_kinds_are_written_to(n_jobs, symmetric):
    kernel = Average(Gaussian(gamma=0.1), SHIFTS)
    out = Written((150, 150), np.float32)
    function = kernel if symmetric else partial(kernel, Y=X)
    with parallel_config("threading"):
        made = by_rows(function, X, block_rows=40, out=out, n_jobs=n_jobs, symmetric=symmetric)
    assert made is out
    np.testing.assert_allclose(out.values, kernel(X), rtol=1e-6)
    with pytest.raises(ValueError, match="out has no dtype, __setitem__; give an array"):
        by_rows(np.sin, X, out=type("Bare", (), {"shape": X.shape})())


def test_zarr(tmp_path):
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    out = zarr.open(
        str(tmp_path / "K"), mode="w", shape=X.shape, chunks=(40, 8), dtype="f8", encoding="utf-8"
    )
    assert by_rows(np.sin, X, block_rows=40, out=out, resume=tmp_path / "rows") is out
    assert np.array_equal(out[:], np.sin(X))


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_finished_blocks_wait_in_bounded_number(n_jobs):
    """However slowly they are written; each takes 20 MB, and 24 are made."""
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
    """A backend that a user registers, as Ray's is: joblib gives it one job if nobody says more."""


@pytest.mark.parametrize(
    ("given", "own"), [({}, False), ({"n_jobs": 2}, False), ({"n_jobs": 1}, True)]
)
def test_a_registered_backend_is_used_without_a_number_of_jobs(given, own):
    here = threading.get_ident()
    seen = set()

    def note(rows):
        seen.add(threading.get_ident())
        time.sleep(0.01)
        return rows

    register_parallel_backend("elsewhere", Elsewhere)
    with parallel_config("elsewhere", **given):
        by_rows(note, X, block_rows=10)
    assert (seen == {here}) == own and (here in seen) == own


# -- symmetric matrices ----------------------------------------------------------------------------


@pytest.mark.parametrize("block_rows", [1, 7, 40, 149, 150, 1000])
def test_a_symmetric_matrix_is_half_the_work(block_rows):
    kernel = BestFit(Gaussian(gamma=0.1), SHIFTS)
    pairs = []

    def counted(rows, others=None):
        pairs.append(len(rows) * len(rows if others is None else others))
        return kernel(rows, others)

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
def test_what_is_not_symmetric_is_refused(function, options, message):
    with pytest.raises(ValueError, match=message):
        by_rows(function, X, 40, **({"symmetric": True} | options))


# -- resuming --------------------------------------------------------------------------------------


class Counted:
    """A kernel that leaves a file for each block, and fails at a row if it is told so."""

    def __init__(self, folder, gamma=0.1):
        self.folder = str(folder)
        self.gamma = gamma

    def __call__(self, rows, others=None):
        names = os.listdir(self.folder)
        if "fatal" in names and np.isin(7.5, rows[:, 0]):
            if "die" in names:
                os.kill(os.getpid(), 9)
            raise RuntimeError("lost")
        with open(f"{self.folder}/{time.time_ns()}.block", "w", encoding="utf-8") as _:
            pass
        return Gaussian(self.gamma)(rows, X if others is None else others)


def symmetric_kernel(rows, others=None):
    return Gaussian(0.1)(rows, others)


@pytest.fixture
def counted(tmp_path):
    """A function that counts, and the number of blocks since the last question."""
    folder = tmp_path / "counts"
    folder.mkdir()

    def since():
        names = [name for name in os.listdir(folder) if name.endswith(".block")]
        for name in names:
            os.remove(folder / name)
        return len(names)

    return Counted(folder), since, folder


def opened(path, mode="r+", dtype=float):
    if not path.exists():
        mode = "w+"
    return np.lib.format.open_memmap(path, mode, dtype=dtype, shape=(150, 150))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("death", [False, True])
def test_finished_rows_are_not_computed_again(counted, tmp_path, n_jobs, death):
    """After an error, or the death of a worker, which is not survived without Dask."""
    if death and n_jobs == 1:
        pytest.skip("this process would die")
    function, since, folder = counted
    path = tmp_path / "K.npy"
    points = X.copy()
    points[105, 0] = 7.5
    for name in ["fatal", *(["die"] if death else [])]:
        (folder / name).touch()
    with pytest.raises(Exception, match="lost|terminated"):
        by_rows(function, points, 10, opened(path), n_jobs=n_jobs, resume=True)
    first = since()
    os.remove(folder / "fatal")
    K = by_rows(function, points, 10, opened(path), n_jobs=n_jobs, resume=True)
    noted = sum(1 for line in open(f"{path}.rows", encoding="utf-8")) - 1
    assert noted == 15 and 15 - 10 <= since() <= 15 - (10 if n_jobs == 1 else 4) and first >= 4
    assert np.array_equal(K, by_rows(partial(Gaussian(0.1), Y=X), points, 10))
    by_rows(function, points, 10, opened(path), n_jobs=n_jobs, resume=True)
    assert since() == 0


def test_stale_rows_are_never_taken(counted, tmp_path):
    function, since, _ = counted
    path = tmp_path / "K.npy"

    def run(function=function, points=X, block_rows=10, out=None, **options):
        out = opened(path) if out is None else out
        K = by_rows(function, points, block_rows, out, resume=True, **options)
        return np.array(K), since()

    K, blocks = run()
    assert blocks == 15 and run()[1] == 0
    other = X.copy()
    other[-1, -1] += 1e-12
    assert run(points=other)[1] == 15  # other points
    assert run(points=other.astype(np.float32))[1] == 15
    assert run()[1] == 15  # the file is now of those
    assert run(block_rows=30)[1] == 5 and run(block_rows=30)[1] == 0
    assert run()[1] in (0, 15)
    function.gamma = 0.2
    changed, blocks = run()
    assert blocks == 15 and not np.allclose(changed, K)
    function.gamma = 0.1
    assert run()[1] == 15
    out = opened(path)
    out[33, 3] += 1  # somebody else writes a row
    assert run(out=out)[1] == 1
    assert run(out=opened(path, "w+"))[1] == 15  # made anew, of zeros
    with open(f"{path}.rows", "rb+") as file:  # the power fails in writing
        file.truncate(os.path.getsize(file.name) - 20)
    assert run()[1] == 1
    with open(f"{path}.rows", "w", encoding="utf-8") as file:
        file.write("rubbish\n0 10 0\n")
    again, blocks = run()
    assert blocks == 15 and np.array_equal(again, K)
    assert run(out=np.lib.format.open_memmap(tmp_path / "L.npy", "w+", "f4", (150, 150)))[1] == 15


def test_changed_code_is_computed_again(tmp_path):
    """Of functions of the script itself, of what they call, and of modules beside it."""

    def made(scale):
        def inner(rows):
            return scale * rows

        return lambda rows: inner(rows) + 1

    out = np.lib.format.open_memmap(tmp_path / "K.npy", "w+", float, X.shape)
    for scale in (2, 3):
        assert np.array_equal(by_rows(made(scale), X, 40, out, resume=True), scale * X + 1)
    plain = lambda rows: rows * 2
    squared = lambda rows: rows**2
    assert np.array_equal(by_rows(plain, X, 40, out, resume=True), X * 2)
    assert np.array_equal(by_rows(squared, X, 40, out, resume=True), X**2)


def test_code_of_a_module_counts(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
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
    out[140, 3] = 9.0  # below the diagonal: the copy of a value of the first block
    again = by_rows(symmetric_kernel, X, 40, out, symmetric=True, resume=True)
    np.testing.assert_allclose(again, expected, rtol=1e-12)


def test_other_arrays_are_resumed_with_the_path_of_a_file(tmp_path):
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


def test_a_kernel_that_was_used_is_the_same_computation(tmp_path):
    """What a kernel remembers between calls is not part of it."""
    out = np.lib.format.open_memmap(tmp_path / "K.npy", "w+", float, (150, 150))
    kernel = Average(Gaussian(gamma=0.1), SHIFTS)
    by_rows(partial(kernel, Y=X), X, 40, out, resume=True)
    first = (tmp_path / "K.npy.rows").read_text("utf-8")
    kernel(X[:30], X[:20])
    by_rows(partial(kernel, Y=X), X, 40, out, resume=True)
    by_rows(partial(Average(Gaussian(gamma=0.1), SHIFTS), Y=X.copy()), X, 40, out, resume=True)
    assert (tmp_path / "K.npy.rows").read_text("utf-8") == first
