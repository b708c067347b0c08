"""The same numbers on one worker, on four, and on a Dask cluster."""

import os
import signal
import threading
from functools import partial

import numpy as np
import pytest
from joblib import parallel_config

from invariance.features import GroupCDF, OrbitFourier, OrbitNystroem
from invariance.groups import CircleAction, CyclicShifts, VonMises
from invariance.kernels import Average, BestFit, CircleAverage, Gaussian
from invariance.parallel import by_rows

#: Largest relative difference that counts as the same: the same blocks are multiplied everywhere,
#: so only the number of BLAS threads can change the order of a sum.
SAME = 1e-12

X = np.random.default_rng(0).normal(size=(150, 8))
SHIFTS = CyclicShifts(8)
CIRCLE = CircleAction([0, 0, 1, 1, 2, 2, 3, 3], density=VonMises(kappa=2.0), n_nodes=16)


def _fitted(features):
    return features.fit(X).transform


FUNCTIONS = {
    "Average": partial(Average(Gaussian(gamma=0.1), SHIFTS), Y=X),
    "BestFit": partial(BestFit(Gaussian(gamma=0.1), SHIFTS, n_jobs=2), Y=X),
    "CircleAverage": partial(CircleAverage(Gaussian(gamma=0.1), CIRCLE, n_jobs=2), Y=X),
    "GroupCDF": _fitted(GroupCDF(SHIFTS, n_templates=9, n_bins=4, random_state=0)),
    "OrbitFourier": _fitted(
        OrbitFourier(SHIFTS, n_components=600, gamma=0.1, n_jobs=2, random_state=0)
    ),
    "OrbitFourier on the circle": _fitted(
        OrbitFourier(CIRCLE, n_components=300, gamma=0.1, n_jobs=2, random_state=0)
    ),
    "OrbitNystroem": _fitted(
        OrbitNystroem(SHIFTS, n_components=20, gamma=0.1, n_jobs=2, random_state=0)
    ),
}


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


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("backend", ["loky", "threading"])
@pytest.mark.parametrize("n_jobs", [1, 4])
def test_workers_of_one_machine(name, backend, n_jobs):
    whole = FUNCTIONS[name](X)
    with parallel_config(backend):
        assert _off(by_rows(FUNCTIONS[name], X, block_rows=40, n_jobs=n_jobs), whole) < SAME


@pytest.mark.parametrize("name", FUNCTIONS)
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

    assert _off(by_rows(locked, X, block_rows=40), kernel(X)) < SAME
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


def test_result_may_lie_on_disk(tmp_path):
    out = np.lib.format.open_memmap(tmp_path / "K.npy", "w+", shape=(150, 150))
    assert by_rows(FUNCTIONS["Average"], X, block_rows=64, out=out) is out
    assert np.array_equal(np.load(tmp_path / "K.npy"), out)


def test_what_is_no_map_of_rows_is_refused():
    with pytest.raises(ValueError, match="1 rows of 40"):
        by_rows(lambda rows: rows[:1], X, block_rows=40)
    with pytest.raises(ValueError, match="block_rows >= 1, got 0"):
        by_rows(FUNCTIONS["Average"], X, block_rows=0)
    with pytest.raises(ValueError, match="at least one row"):
        by_rows(FUNCTIONS["Average"], X[:0])
