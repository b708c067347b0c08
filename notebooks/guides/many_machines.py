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
# A Gram matrix is $n^2$ numbers and a feature map $n s$ of them. Both come in blocks of rows that
# know nothing of each other, so the outer loop may run anywhere. `by_rows` is that loop. It is
# written with joblib, and joblib has backends: processes of this machine, or a **Dask** cluster of
# many. The numbers are the same, because the blocks are.
#
# The cluster here is a real one, with a scheduler and worker processes that talk over sockets. It
# only happens to have all its workers on this machine. On yours, start `dask scheduler` on one
# machine and `dask worker tcp://...:8786` on the others, and give that address.

# %% tags=["parameters"]
profile: str = "quick"      # quick or full
seed: int = 0
n_workers: int = 2          # processes of the cluster
memory_mb: int = 400        # limit of each worker

# %%
import os
import shutil
import signal
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from distributed import Client, LocalCluster
from joblib import parallel_config

from invariance.companion import Run
from invariance.companion.paths import Paths
from invariance.companion.places import Cluster, ClusterError, connect
from invariance.companion.runner import run_notebooks
from invariance.features import OrbitFourier
from invariance.groups import CyclicShifts
from invariance.kernels import BestFit, Gaussian
from invariance.parallel import by_rows

run = Run("guides/many_machines", profile=profile, seed=seed)
cluster = LocalCluster(
    n_workers=n_workers, threads_per_worker=1, memory_limit=memory_mb * 2**20,
    dashboard_address=":0", silence_logs=50,
)
client = Client(cluster)
print(f"scheduler at {client.scheduler.address}, {n_workers} workers of {memory_mb} MiB each")

# %% [markdown]
# ## Larger than a worker
#
# The inputs are small, the results are not: each of the two matrices below is larger than the
# memory that a worker may use, some 250 MiB of which Python and its libraries take before they have
# computed anything. A worker holds only the blocks that it is working on; the finished ones go into
# a file on disk.

# %%
rng = np.random.default_rng(seed)
n, d = run.choose(quick=10400, full=16000), 4
X = rng.standard_normal((n, d)).astype(np.float32)
group = CyclicShifts(d)
kernel = BestFit(Gaussian(gamma=0.1), group)
features = OrbitFourier(group, n_components=n, gamma=0.1, random_state=seed).fit(X)
functions = {"Gram matrix": partial(kernel, Y=X), "feature map": features.transform}
folder = Path(tempfile.mkdtemp())  # removed at the end


def on_disk(name, rows=n):
    return np.lib.format.open_memmap(folder / f"{name}.npy", "w+", dtype=np.float32, shape=(rows, n))


found, matrices = [], {}
with parallel_config("dask"):
    for name, function in functions.items():
        begin = time.perf_counter()
        matrices[name] = by_rows(function, X, block_rows=100, out=on_disk(name.split()[0]))
        found.append({
            "what": name, "size (MiB)": round(matrices[name].nbytes / 2**20),
            "limit of a worker (MiB)": memory_mb, "seconds": round(time.perf_counter() - begin, 1),
        })
        assert matrices[name].nbytes > memory_mb * 2**20

# %% [markdown]
# The same numbers? A few blocks computed here, without any cluster, say so. (A run without the
# cluster gives the same blocks in the same order; only a different number of BLAS threads could
# change the last digit.)

# %%
TOLERANCE = 1e-6  # single precision
for row, (name, function) in zip(found, functions.items(), strict=True):
    rows = np.r_[0:100, n - 100 : n]
    here = np.concatenate([function(X[:100]), function(X[-100:])])
    difference = np.abs(here - matrices[name][rows]).max() / np.abs(here).max()
    assert difference <= TOLERANCE, f"{name}: off by {difference}"
    row["largest relative difference from here"] = f"{difference:.0e}"
run.table(found, "larger", caption="Two results larger than the memory of the workers that computed them.")

# %% [markdown]
# ## A worker dies
#
# Machines fail. Below, the first worker that gets to the fourth block kills itself, with all the
# finished blocks that it had not handed over yet. Dask notices, starts a new worker and computes
# what was lost again. Nothing in the call changes.

# %%
sign = folder / "one worker was killed"
fourth = X[3 * 100]


def fragile(rows):
    """The kernel, and the death of the first process that meets the fourth block."""
    if np.array_equal(rows[0], fourth) and not sign.exists():
        sign.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return kernel(rows, Y=X)


before = set(client.run(os.getpid).values())
part = 1000
begin = time.perf_counter()
with parallel_config("dask"):
    survived = by_rows(fragile, X[:part], block_rows=100)
seconds = time.perf_counter() - begin
client.wait_for_workers(n_workers, timeout=60)
after = set(client.run(os.getpid).values())
difference = np.abs(survived - matrices["Gram matrix"][:part]).max()
print(f"killed: {sign.exists()}; worker processes that are gone: {len(before - after)}, new ones: {len(after - before)}")
print(f"{part:,} rows in {seconds:.1f} s, largest difference from the undisturbed run: {difference:.0e}")
assert sign.exists() and len(before - after) >= 1
assert difference <= TOLERANCE

# %% [markdown]
# What makes this work: a block travels *inside* its task. Data that is first scattered over the
# workers and then only referred to is faster to send, and gone when its worker is.
#
# Inside a task the package keeps to the machine that it is on: a kernel with `n_jobs` of its own
# uses that many threads there.
#
# ## Notebooks through the same door
#
# The notebooks of this project are a batch of independent jobs as well. With
#
#     invariance run --profile full --scheduler tcp://10.0.0.1:8786
#
# each of them runs on a worker of the cluster, in processes of its own; the machines share the
# project's folder. Here a project of one tiny notebook:

# %%
project = Paths(folder / "project")
(project.notebooks / "demo").mkdir(parents=True)
project.ledger.write_text("claims:\n  - {id: demo/none, kind: identity, source: none, data: generated}\n")
project.source("demo/tiny").write_text("""# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% tags=["parameters"]
profile: str = "quick"
seed: int = 0
# %%
import os
from invariance.companion import Run
run = Run("demo/tiny", profile=profile, seed=seed)
run.table([{"worker": os.getppid(), "number": float(run.rng.normal())}], "numbers")
""")
with connect(client.scheduler.address) as batch:
    summary = run_notebooks(project, ["demo/tiny"], place=Cluster(batch, project.root))
print(f"{summary.outcomes[0].notebook}: {summary.outcomes[0].status}")
number = pd.read_csv(project.output("demo/tiny", "quick") / "numbers.csv")["number"][0]
assert number == np.random.default_rng(0).normal(), "another number than here"

# %% [markdown]
# ## When the cluster is not there
#
# A wrong address is an error that names it, at once and not in the middle of the night:

# %%
client.close()
cluster.close()
shutil.rmtree(folder)
try:
    connect("tcp://127.0.0.1:9", timeout=1)
except ClusterError as error:
    print(error)
