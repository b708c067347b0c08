# ---
# jupyter:
#   jupytext:
#     formats: py:percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # More than one machine
#
# A Gram matrix of $n$ points is $n^2$ numbers, a feature map with $s$ features $n s$ of them.
# Either can be computed in blocks of rows, independent of each other, so the loop over blocks may
# run anywhere. `by_rows` is that loop. It is written with joblib, and joblib has backends:
# processes of this machine, or a **Dask** cluster of many. The blocks are the same everywhere,
# hence so are the numbers.
#
# The cluster of this guide is a real one: a scheduler and workers, processes of their own that
# talk over sockets. It only happens to have all of them on this machine. On yours, start `dask
# scheduler` on one machine and `dask worker tcp://...:8786` on each of the others, and give that
# address.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
n_workers: int = 2  # processes of the cluster
memory_mb: int = 420  # limit of each worker, in MiB

# %%
import atexit
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import dask
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from distributed import Client, get_task_stream
from joblib import parallel_config

from invariance.companion import Run, colour
from invariance.companion.provenance import peak_memory_mb
from invariance.core.parallel import by_rows
from invariance.features import OrbitFourier
from invariance.groups import CyclicShifts
from invariance.kernels import BestFit, Gaussian

run = Run(
    "guides/many_machines", profile=profile, seed=seed, n_workers=n_workers, memory_mb=memory_mb
)

# %% tags=["settings"]
# all that differs between the two profiles
SETTINGS = {"quick": {"times a worker's memory": 1.03}, "full": {"times a worker's memory": 2.5}}[
    profile
]


# %% [markdown]
# ## A cluster
#
# Five settings are worth knowing, wherever the machines stand.
#
# - **`--memory-limit`**: a worker takes no new work at four fifths of it, and is killed and
#   replaced at 95. Some 200 MiB go to Python and its libraries before anything is computed: with
#   too little above that, a worker pauses for ever.
# - **`--preload`**: the worker loads the package before it reports for work. Otherwise the first
#   block does that, and for these seconds the worker answers nobody.
# - **`timeouts.connect`**: how long Dask tries to reach a worker that has just died, half a
#   minute by default. Where a new connection takes milliseconds, five seconds are plenty.
# - **`MALLOC_..._THRESHOLD_`**: Dask has a worker return freed memory to the system at once. A
#   loop over blocks of some MiB then spends more time on getting its memory back than on
#   arithmetic.
# - **`--host`**: the address to listen at. Here nobody outside this machine is to reach the
#   cluster.

# %%
PATIENCE = 120  # seconds for anything that takes a few: what takes longer is an error, not a wait
cluster = ExitStack()  # what it holds is ended by the last cell, or with this process
atexit.register(cluster.close)
scratch = (
    run.folder / ".work" if run.batch else None
)  # the runner empties that, whatever happens here
folder = Path(
    cluster.enter_context(tempfile.TemporaryDirectory(dir=scratch, ignore_cleanup_errors=True))
)
cluster.enter_context(dask.config.set({"distributed.comm.timeouts.connect": "5s"}))
environment = os.environ | {
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s",
    "MALLOC_MMAP_THRESHOLD_": str(2**24),
    "MALLOC_TRIM_THRESHOLD_": str(2**25),
}


def end(process):
    """End a process of the cluster: it may close what it has open, but not take its time."""
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


# %%
def start(program, **options):
    """Start ``dask scheduler`` or ``dask worker``, as on a machine of its own."""
    options |= {
        "scheduler_file": folder / "scheduler.json",
        "host": "127.0.0.1",
        "dashboard_address": "127.0.0.1:0",
    }
    line = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    with open(folder / f"{program}.log", "wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", program, "--no-dashboard", *line],
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
        )
    cluster.callback(end, process)
    return process


scheduler, patient_until = start("scheduler", port=0, idle_timeout=600), time.monotonic() + PATIENCE
while not (folder / "scheduler.json").exists():  # a client would wait for that file for ever
    if scheduler.poll() is not None or time.monotonic() > patient_until:
        raise RuntimeError(f"the scheduler did not start: {(folder / 'scheduler.log').read_text()}")
    time.sleep(0.05)
start(
    "worker",
    nworkers=n_workers,
    nthreads=1,
    memory_limit=f"{memory_mb}MiB",
    preload="invariance.kernels",
    local_directory=folder,
    death_timeout=60,
)
client = cluster.enter_context(
    Client(scheduler_file=str(folder / "scheduler.json"), timeout=PATIENCE)
)
client.wait_for_workers(n_workers, timeout=PATIENCE)
address = client.scheduler.address
print(f"scheduler at {address}, {n_workers} workers of {memory_mb} MiB each")

# %% [markdown]
# ## Larger than a worker
#
# The inputs are small, the results are not: each of the two matrices below is larger than all the
# memory that a worker may use. A worker holds the blocks that it is working on and no others; the
# finished ones go into a file on disk. `compute` is all the code there is: the line with
# `parallel_config` selects the cluster.

# %%
size = SETTINGS["times a worker's memory"] * memory_mb * 2**20
n, d = int(np.sqrt(size / 4)), 4  # numbers in single precision
X = np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)
group = CyclicShifts(d)
kernel = BestFit(Gaussian(gamma=0.1), group)
features = OrbitFourier(group, n_components=n, gamma=0.1, random_state=seed).fit(X)
rows_each = 10**6 // n  # a block takes 4 MB, and its computation some times that


def ask(function):
    """What `function` returns on each worker."""
    asked = {
        worker: client.submit(function, workers=[worker], pure=False) for worker in client.ncores()
    }
    return {worker: future.result(PATIENCE) for worker, future in asked.items()}


def compute(function, rows, name):
    """The blocks of rows on the cluster, and the result on disk."""
    out = np.lib.format.open_memmap(
        folder / f"{name}.npy", "w+", dtype=np.float32, shape=(len(rows), n)
    )
    with parallel_config("dask", client=client):
        return by_rows(function, rows, block_rows=rows_each, out=out, timeout=PATIENCE)


TOLERANCE = 1e-6  # of the largest number: single precision
some = np.r_[0:rows_each, n // 2 : n // 2 + rows_each, n - rows_each : n]
found, matrices = [], {}
for name, function in {
    "Gram matrix": partial(kernel, Y=X),
    "feature map": features.transform,
}.items():
    begin = time.perf_counter()
    matrices[name] = matrix = compute(function, X, name)
    seconds = time.perf_counter() - begin
    peak = max(memory["peak_memory_mb"] for memory in ask(peak_memory_mb).values())
    # the same numbers? Blocks that were computed here, without any cluster, say so
    here = np.concatenate([function(block) for block in np.split(X[some], 3)])
    difference = np.abs(here - matrix[some]).max() / np.abs(here).max()
    found.append(
        {
            "what": name,
            "rows": f"{n:,}",
            "size (MiB)": round(matrix.nbytes / 2**20),
            "limit of a worker (MiB)": memory_mb,
            "most memory of a worker (MiB)": round(peak),
            "seconds": round(seconds, 1),
            "largest relative difference from here": f"{difference:.0e}",
        }
    )
    assert matrix.nbytes > memory_mb * 2**20 > peak * 2**20
    assert difference <= TOLERANCE, f"{name}: off by {difference}"
run.table(
    found,
    "larger",
    caption="Two results that are larger than the memory of the workers that computed them.",
)

# %% [markdown]
# ## A worker dies
#
# Machines fail. Below, the worker that gets to one of the blocks kills itself, and takes along
# the finished blocks that it had not handed over yet. Dask notices, starts another worker and
# computes again what was lost. Nothing in the call changes, and the numbers do not either.

# %%
part = X[: 20 * rows_each]
fatal = X[8 * rows_each]
sign = folder / "killed"


def fragile(rows):
    """The kernel, and the death of the first process that meets the fatal block."""
    if np.array_equal(rows[0], fatal) and not sign.exists():
        sign.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return kernel(rows, Y=X)


workers = list(client.ncores())
with get_task_stream(client) as stream:
    survived = compute(fragile, part, "survived")
client.wait_for_workers(n_workers, timeout=PATIENCE)
lost = set(workers) - set(client.ncores())
undisturbed = matrices["Gram matrix"][: len(part)]
difference = np.abs(survived - undisturbed).max() / np.abs(undisturbed).max()
assert sign.exists() and len(lost) == 1, "no worker was lost"
assert difference <= TOLERANCE, f"off by {difference}"
print(
    f"{len(part):,} rows on {n_workers} workers, of which one was killed: off by {difference:.0e}"
)

# %%
blocks = pd.DataFrame(
    [
        {
            "worker": task["worker"],
            "key": task["key"],
            "start": times["start"],
            "stop": times["stop"],
        }
        for task in stream.data
        for times in task["startstops"]
        if times["action"] == "compute"
    ]
).sort_values("start")
blocks["again"] = blocks.duplicated("key", keep="last")  # computed, lost and computed again
zero = blocks["start"].min()
lanes = workers + [w for w in blocks["worker"].unique() if w not in workers]
fig, axis = plt.subplots(figsize=(8, 1.2 + 0.5 * len(lanes)))
for again, rows in blocks.groupby("again"):
    axis.barh(
        [lanes.index(w) for w in rows["worker"]],
        rows["stop"] - rows["start"],
        left=rows["start"] - zero,
        height=0.6,
        color=colour("haar") if again else colour("fast"),
        edgecolor="white",
        linewidth=0.5,
        label="lost, computed again" if again else f"a block of {rows_each} rows",
    )
death = blocks.loc[blocks["worker"].isin(lost), "stop"].max()
death = np.fmax(death, sign.stat().st_mtime)  # Dask's clocks may be some milliseconds ahead
axis.axvline(death - zero, color=colour("bound"), linestyle="--", label="a worker is killed")
names = ["killed" if w in lost else "survivor" if w in workers else "replacement" for w in lanes]
axis.set_yticks(range(len(lanes)), names)
axis.set(
    xlabel="seconds since the first block",
    ylim=(len(lanes) - 0.5, -0.5),
    title=f"One worker is killed; {blocks['again'].sum()} of its blocks are computed again",
)
axis.grid(False)
axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.28), ncols=3)
run.figure(
    fig,
    "lost",
    alt=f"A lane for each worker with a bar for each block that it computed, over time. The "
    f"lane of the worker that is killed ends "
    f"at a dashed line; the others go on to the end. Blocks that were lost and computed again: "
    f"{blocks['again'].sum()}.",
    caption=f"{len(part) // rows_each} blocks of a Gram matrix. What the killed worker was "
    f"computing is not drawn: it never ended.",
)

# %% [markdown]
# What makes this work: a block travels *inside* its task. Data that is first scattered over the
# workers and then only referred to is faster to send, and gone when its worker is.
#
# Inside a task the package keeps to the machine that it is on: a kernel with `n_jobs` of its own
# uses that many threads there.
#
# ## When it does not work
#
# What a function needs has to travel with it. A lock does not, nor a running thread, nor a
# connection:

# %%
lock = threading.Lock()


def one_at_a_time(rows):
    with lock:
        return kernel(rows, Y=X)


try:
    compute(one_at_a_time, part, "locked")
except TypeError as error:
    print(error)
else:
    raise AssertionError("a lock has travelled")

# %% [markdown]
# `by_rows(..., timeout=120)` gives up when a block does not come: without it, a loop over a
# cluster that has lost all its workers waits for new ones, as it should overnight. The last thing
# to do is to let the machines go.

# %%
cluster.close()
