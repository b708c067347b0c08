"""The same numbers on one worker, on four, and on a Dask cluster."""

import os
import signal
import threading
from functools import partial

import numpy as np
import pytest
from joblib import parallel_config

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
HOW = {"gamma": 0.1, "n_jobs": 2, "random_state": 0}

FUNCTIONS = {
    "Average": partial(Average(Gaussian(gamma=0.1), SHIFTS), Y=X),
    "BestFit": partial(BestFit(Gaussian(gamma=0.1), SHIFTS, n_jobs=2), Y=X),
    "GroupCDF": GroupCDF(SHIFTS, n_components=9, n_bins=4, random_state=0).fit(X).transform,
    "OrbitFourier on the circle": OrbitFourier(CIRCLE, 300, **HOW).fit(X).transform,
    "OrbitNystroem": OrbitNystroem(SHIFTS, 20, **HOW).fit(X).transform,
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
    sign, kernel = tmp_path / "killed", FUNCTIONS["Average"]

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
    lock, kernel = threading.Lock(), FUNCTIONS["Average"]

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
    ("function", "rows", "how", "message"),
    [
        (lambda rows: rows[:1], X, {}, r"\(1, 8\) of float64 from 40 rows"),
        (lambda rows: rows @ rows.T, X, {}, r"made \(30, 30\) .* where \(30, 40\) of float64 is d"),
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
def test_what_is_no_map_of_rows_is_refused(function, rows, how, message):
    with pytest.raises((TypeError, ValueError), match=message):
        by_rows(function, rows, **({"block_rows": 40} | how))
