# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Clusters: more than one machine
#
# A Gram matrix or a feature map can be computed in blocks of rows, independent of each other, so
# the loop over blocks may run anywhere. `by_rows` is that loop. It uses joblib, which has several
# backends: processes of this machine, or a **Dask** cluster of many machines. The blocks are the
# same everywhere, so the numbers are the same as well.
#
# This guide's workers are processes of one machine. On yours, start `dask scheduler` on one machine and
# `dask worker tcp://...:8786` on each of the others, and give that address: `Client("tcp://...:8786")`.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
n_workers: int = 2  # processes of the cluster
memory_mb: int = 420  # limit of each worker, in MiB

# %%
import os
import signal
import tempfile
import time
from functools import partial
from pathlib import Path

import dask
import numpy as np
from distributed import Client
from distributed.deploy.subprocess import SubprocessCluster
from joblib import parallel_config

from invariance.companion import Run
from invariance.companion.provenance import peak_memory_mb
from invariance.core.parallel import by_rows
from invariance.features import OrbitFourier
from invariance.groups import CyclicShifts
from invariance.kernels import BestFit, Gaussian

run = Run(
    "guides/many_machines", profile=profile, seed=seed, n_workers=n_workers, memory_mb=memory_mb
)

# %% [markdown]
# ## A cluster
#
# A worker takes no new work at four fifths of its `memory_limit`, and is killed and replaced near it.

# %%
PATIENCE = 120  # seconds; an operation of a few seconds that takes longer has failed
scratch = run.folder / ".work" if run.batch else None  # emptied by the runner, whatever happens
folder = tempfile.TemporaryDirectory(dir=scratch, ignore_cleanup_errors=True)
# Dask tries for half a minute by default to reach a worker that has just died.
dask.config.set({"distributed.comm.timeouts.connect": "5s"})
# new programs, unlike those of `LocalCluster`: they do not import a script that starts them again
begin = time.perf_counter()
cluster = SubprocessCluster(
    n_workers=n_workers,
    threads_per_worker=1,
    dashboard_address=None,
    worker_kwargs={
        "memory_limit": f"{memory_mb}MiB",
        "preload": "invariance.kernels",  # before a worker reports: else the first block waits
        "local_directory": folder.name,
    },
)
client = Client(cluster, timeout=PATIENCE)
client.wait_for_workers(n_workers, timeout=PATIENCE)
start_seconds = time.perf_counter() - begin
run.timing("start of the cluster", start_seconds)

# %% [markdown]
# ## Larger than a worker
#
# Each of the two matrices below is larger than all the memory that a worker may use. A worker holds
# the blocks that it is working on; the finished ones go into a file on disk. The line with
# `parallel_config` selects the cluster; without it, `n_jobs=2` takes processes of this machine.

# %%
size = (1.03 if run.quick else 2.5) * memory_mb * 2**20
n, d = int(np.sqrt(size / 4)), 4  # numbers in single precision
X = np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)
group = CyclicShifts(d)
kernel = BestFit(Gaussian(gamma=0.1), group)
features = OrbitFourier(group, n_components=n, gamma=0.1, random_state=seed).fit(X)
each = 10**6 // n  # rows of a block: it takes 4 MB, and its computation some times that


def compute(function, rows, name):
    """Compute blocks of rows on the cluster, and return the result on disk."""
    file = Path(folder.name) / f"{name}.npy"
    out = np.lib.format.open_memmap(file, "w+", dtype=np.float32, shape=(len(rows), n))
    with parallel_config("dask", client=client):
        return by_rows(function, rows, block_rows=each, out=out, timeout=PATIENCE)


# %%
checked_rows = np.r_[0:each, n // 2 : n // 2 + each, n - each : n]
table = []
matrices = {}
functions = {"Gram matrix": partial(kernel, Y=X), "feature map": features.transform}
for name, function in functions.items():
    begin = time.perf_counter()
    matrix = compute(function, X, name)
    seconds = time.perf_counter() - begin
    matrices[name] = matrix
    peak = max(memory["peak_memory_mb"] for memory in client.run(peak_memory_mb).values())
    local = by_rows(function, X[checked_rows], block_rows=each)  # without any cluster
    difference = np.abs(local - matrix[checked_rows]).max() / np.abs(local).max()
    row = {
        "what": name,
        "rows": f"{n:,}",
        "size (MiB)": round(matrix.nbytes / 2**20),
        "limit of a worker (MiB)": memory_mb,
        "most memory of a worker (MiB)": round(peak),
        "seconds": round(seconds, 1),
        "largest relative difference from here": f"{difference:.0e}",
    }
    table.append(row)
    assert matrix.nbytes > memory_mb * 2**20 > peak * 2**20 and difference <= 1e-6
run.table(
    table,
    "larger",
    caption="Two results that are larger than the memory of the workers that computed them.",
)


# %% [markdown]
# ## From what size it pays
#
# Workers have to start, and every value has to be sent. Here are both times. The first function below
# computes nothing, so that its time is that of sending; the kernels differ in the length of a point,
# and thus in the work for each value. If a MiB takes c seconds to compute in one process and s seconds to
# send, w workers take about the larger of c / w and s. So a cluster pays only if c is larger than s, and if
# it saves more time than it takes to start.


# %%
def nothing(rows):
    """Return zeros of the shape of a block."""
    return np.zeros((len(rows), n), np.float32)


longer = (32,) if run.quick else (32, 128)  # numbers of a point
n_timed = (2 if run.quick else 8) * n_workers * each  # rows


def seconds_per_mib(compute_rows, function, rows):
    """Return the seconds of the clock that a MiB of values takes, the better of two tries."""
    tries = []
    for _ in range(2):
        begin = time.perf_counter()
        values = compute_rows(function, rows)
        tries.append(time.perf_counter() - begin)
    return min(tries) / (values.nbytes / 2**20)


def here(function, rows):
    """Compute blocks of rows in this process."""
    return by_rows(function, rows, block_rows=each)


def there(function, rows):
    """Compute the same blocks on the cluster."""
    return compute(function, rows, "timed")


# %%
sending = seconds_per_mib(there, nothing, X[:n_timed])
kernels = {"points of 4 numbers": (partial(kernel, Y=X), X[:n_timed])}
for length in longer:
    points = np.random.default_rng(seed).standard_normal((n, length)).astype(np.float32)
    long_kernel = BestFit(Gaussian(gamma=0.3 / length), CyclicShifts(length))
    kernels[f"points of {length} numbers"] = (partial(long_kernel, Y=points), points[:n_timed])
pays = []
for name, (function, rows) in kernels.items():
    computing = seconds_per_mib(here, function, rows)
    on_cluster = seconds_per_mib(there, function, rows)
    saved = 1 - on_cluster / computing  # of the time of one process
    row = {
        "kernel": name,
        "one process (s per MiB)": round(computing, 4),
        "sending alone (s per MiB)": round(sending, 4),
        "cluster (s per MiB)": round(on_cluster, 4),
        "pays from (s of one process)": round(start_seconds / saved, 1) if saved > 0 else "never",
    }
    pays.append(row)

# %%
run.table(
    pays,
    "pays",
    caption=f"Clock times of {n_workers} workers on one machine, which started in "
    f"{start_seconds:.1f} s. Between machines, sending takes longer.",
)
run.say(
    "Here {n} workers start in {start:.1f} s and send a MiB in {sending:.4f} s.",
    n=n_workers,
    start=start_seconds,
    sending=sending,
)
worthwhile = [row for row in pays if row["pays from (s of one process)"] != "never"]
if worthwhile:
    run.say(
        "The cheapest kernel here that pays takes {cost:.3f} s for a MiB, and pays from {work:.0f} s of "
        "work on.",
        cost=worthwhile[0]["one process (s per MiB)"],
        work=worthwhile[0]["pays from (s of one process)"],
    )
else:
    run.say("None of these kernels takes long enough for a cluster of {n} to pay.", n=n_workers)

# %% [markdown]
# ## A worker dies
#
# In this example the worker that gets one of the blocks kills itself, and its finished blocks are lost
# if it has not sent them yet. Dask starts another worker and repeats the lost computations. A
# block is sent *inside* its task: data that is scattered over the workers and then only referred to
# is lost with its worker. Processes of one machine, `n_jobs=2`, are not replaced: the call ends with
# an error. With `resume=True` finished rows are noted beside the file, and the same call goes on from
# there; rows of other data, parameters or code are never taken for finished.

# %%
part = X[: 20 * each]
fatal = X[8 * each]
sign = Path(folder.name) / "killed"


def fragile(rows):
    """Compute the kernel, but kill the first process that gets the fatal block."""
    if np.array_equal(rows[0], fatal) and not sign.exists():
        sign.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return kernel(rows, Y=X)


# %%
survived = compute(fragile, part, "survived")
undisturbed = matrices["Gram matrix"][: len(part)]
difference = np.abs(survived - undisturbed).max() / np.abs(undisturbed).max()
assert sign.exists() and difference <= 1e-6
run.say(
    "{rows:,} rows on {n} workers, of which one was killed: off by {difference:.0e}.",
    rows=len(part),
    n=n_workers,
    difference=difference,
)


# %% [markdown]
# A function is sent with all objects that it uses, so it must not use a lock or a connection.
# `by_rows(..., timeout=120)` raises an error if a block does not arrive; without a timeout, a loop over
# a cluster that has lost all its workers waits for new ones, which is right overnight.

# %%
client.close()
cluster.close()
