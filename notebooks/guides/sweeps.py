# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Sweeps: one notebook, many parameters
#
# A result is seldom one run. It is a curve over the noise, with repetitions for the error bars, and each
# point of it is one run of a notebook. `invariance sweep` runs one notebook with every combination of
# the values of some parameters:
#
#     invariance sweep demo/pulses -p seed 1..20 -p noise 1,2,4
#
# Each combination has a folder of its own with everything that its notebook has written. What is there
# and valid is not run again: after an interruption, the same command goes on, and with further values
# only these run. All numbers are collected in one table and one plot.
#
# This guide writes a small notebook into an empty project, sweeps it, and measures the cost.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0  # of the first repetition; at least 0
repetitions: int = 2  # seeds of each noise; from 2 to 100
largest: float = 2.0  # standard deviation of the noise; from 0.1 to 100

# %%
import os
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import pandas as pd
from distributed import Client
from distributed.deploy.subprocess import SubprocessCluster

from invariance.companion import Run
from invariance.companion.paths import Paths
from invariance.companion.runner.collect import plot_of
from invariance.companion.runner.sweep import Sweep

run = Run("guides/sweeps", profile=profile, seed=seed, repetitions=repetitions, largest=largest)

# %% [markdown]
# ## A notebook with limits
#
# The notebook below learns which of two pulses a noisy signal contains, wherever the pulse lies: once
# with a kernel that knows about shifts, and once with a plain one.
#
# Its parameters cell declares types, and in the comments which values make sense. A comment, or what
# follows its last semicolon, may be `from A to B`, `at least A`, `at most B` or `one of a, b, c`.
# Numbers that it hands to `run.say` become columns of the table, and so do the cells of its tables and
# the numbers of its claims.

# %%
NOTEBOOK = """\
    # %% tags=["parameters"]
    profile: str = "quick"
    seed: int = 0  # at least 0
    noise: float = 1.0  # standard deviation of the samples; from 0 to 100
    boundary: str = "cyclic"  # what is beyond the last sample; one of cyclic, zero

    # %%
    import numpy as np

    from invariance.companion import Run
    from invariance.groups import Translations
    from invariance.kernels import Average, Gaussian
    from invariance.linear import RLSClassifier

    run = Run("demo/pulses", profile=profile, seed=seed, noise=noise, boundary=boundary)
    n, d = 440, 23
    y = run.rng.integers(2, size=n)
    pulses = np.zeros((2, d))
    pulses[0, :6] = 1.0
    pulses[1, [0, 1, 2, 9, 10, 11]] = 1.0
    shifts = run.rng.integers(d, size=n)
    X = np.stack([np.roll(pulses[label], shift) for label, shift in zip(y, shifts)])
    X += noise * run.rng.normal(size=X.shape)

    # %%
    kernels = {"plain": Gaussian(gamma=0.05)}
    group = Translations(d, max_shift=d // 2, boundary=boundary)
    kernels["invariant"] = Average(Gaussian(gamma=0.05), group)
    right = {}
    for name, kernel in kernels.items():
        model = RLSClassifier(kernel=kernel).fit(X[:40], y[:40])
        right[name] = 100 * model.score(X[40:], y[40:])
    run.say("{invariant:.0f} % with shifts, {plain:.0f} % without", **right)
"""

# %%
scratch = run.folder / ".work" if run.batch else None  # emptied by the runner, whatever happens
folder = tempfile.TemporaryDirectory(dir=scratch, ignore_cleanup_errors=True)
project = Paths(Path(folder.name))
project.source("demo/pulses").parent.mkdir(parents=True)
project.source("demo/pulses").write_text(textwrap.dedent(NOTEBOOK), encoding="utf-8")
project.ledger.write_text("claims: []\n", encoding="utf-8")


def invariance(*arguments):
    """Run the command line in the small project, and return what it prints."""
    line = [sys.executable, "-m", "invariance.companion", *arguments]
    environment = os.environ | {"INVARIANCE_ROOT": folder.name}
    done = subprocess.run(line, env=environment, capture_output=True, encoding="utf-8")
    return (done.stdout + done.stderr).replace(folder.name, "...").strip()


# %% [markdown]
# ## Refusals and a dry run
#
# Names and values are checked before anything starts; the columns of `--plot` are known only when the
# notebook has run. `--dry-run` prints what would run, and why.

# %%
seeds = f"{seed}..{seed + repetitions - 1}"
noises = ",".join(str(largest * share) for share in (0.125, 0.25, 1.0))
sweep = ["sweep", "demo/pulses", "-p", "seed", seeds, "-p", "noise", noises]
print(invariance(*sweep, "-p", "boundary", "cyclic,mirror"))
print(invariance(*sweep, "--dry-run"))

# %% [markdown]
# ## The sweep

# %%
started = time.perf_counter()
print(invariance(*sweep, "--jobs", "1"))
local_seconds = time.perf_counter() - started

# %% [markdown]
# In Python a sweep is an object with its axes, its folder and the paths of table and plot.

# %%
combinations = Sweep.read(project, "demo/pulses", "quick", [("seed", seeds), ("noise", noises)])
table = pd.read_csv(combinations.table)
means = table.groupby("noise")[["plain", "invariant"]].mean()
run.table(
    means.round(1).reset_index(),
    "means",
    caption=f"Test signals that are recognised (%), mean over {repetitions} seeds, by the noise.",
)
first = means.iloc[0]
run.figure(
    plot_of(combinations, table, ["plain", "invariant"]),
    "sweep",
    alt=f"Share of recognised signals against the noise, without and with shifts. At a noise of "
    f"{means.index[0]:g}, {first.plain:.0f} % without and {first.invariant:.0f} % with shifts.",
    caption="The plot of the sweep: means over seeds with two standard errors. Without `--plot COLUMN`, "
    "it shows the first six numbers that differ.",
)

# %% [markdown]
# ## Further values
#
# With one more seed, only its combinations run.

# %%
more_seeds = f"{seed}..{seed + repetitions}"
extended = ["sweep", "demo/pulses", "-p", "seed", more_seeds, "-p", "noise", noises]
print(invariance(*extended, "--dry-run"))

# %% [markdown]
# ## On many machines
#
# `--cluster` runs the same notebooks on the workers of a Dask scheduler, one for each of their threads:
#
#     dask scheduler                                    # on one machine
#     dask worker tcp://MACHINE:8786 --nthreads 1       # on each of the others, once per core
#     invariance sweep ... --cluster tcp://MACHINE:8786
#
# The workers need the same versions of the packages, which is checked, but not this project: library
# and notebooks are sent to them. Data sets are not. Put them in a folder that all machines see;
# `INVARIANCE_DATA` names it, on each worker or on the machine that starts the run. Results come back
# whole, and count as if they had been computed here. If a worker dies, its notebooks run again on
# another one. If the scheduler dies, finished results are here, and the same command runs the others.
#
# A worker has to start and to import everything. Here is one on this machine.

# %%
started = time.perf_counter()
with (
    SubprocessCluster(
        n_workers=1,
        threads_per_worker=1,
        dashboard_address=None,
        worker_kwargs={"local_directory": folder.name},
    ) as cluster,
    Client(cluster, timeout=120) as client,
):
    client.wait_for_workers(1, timeout=120)
    dask_seconds = time.perf_counter() - started
    started = time.perf_counter()
    last_seed = str(seed + repetitions)
    one_more = ["sweep", "demo/pulses", "-p", "seed", last_seed, "-p", "noise", noises]
    print(invariance(*one_more, "--cluster", cluster.scheduler_address))
    cluster_seconds = time.perf_counter() - started
run.timing("start of Dask", dask_seconds)
run.timing("sweep here", local_seconds)
run.timing("sweep on one worker", cluster_seconds)

# %%
n_local = len(table)
n_cluster = len(means)
each = local_seconds / n_local
start = max(0.0, cluster_seconds - n_cluster * each)
# With w workers against one process, n notebooks of t seconds pay if n t (1 - 1 / w) > start.
run.say(
    "Here {n_local} runs in one process took {local:.0f} s, with the start of the command, and "
    "{n_cluster} runs on a new worker {remote:.0f} s, of which about {start:.0f} s are the start of the "
    "worker's processes. So two workers pay from about {two:.0f} s of work in one process on, and many "
    "workers from about {start:.0f} s on, whether these are many short notebooks or a few long ones.",
    n_local=n_local,
    local=local_seconds,
    n_cluster=n_cluster,
    remote=cluster_seconds,
    start=start,
    two=2 * start,
)
folder.cleanup()

# %% [markdown]
# ## Plain papermill
#
# The notebooks need no command of ours. Plain papermill writes the results beside its output file: those
# of `papermill notebook.ipynb out/seed-3.ipynb -p seed 3` are in `out/seed-3.results`. Two runs at the
# same time never share a folder; a second one with the same output file gets `seed-3.results-2`. If
# papermill is called from Python, pass the output file as the parameter `PAPERMILL_OUTPUT_PATH` too, or
# name any folder in the environment variable `INVARIANCE_RUN_DIR`. Papermill starts an interpreter for
# each run, checks no types or limits, and runs everything again.
#
# ## Try it
#
# `invariance run guides/sweeps -p repetitions 10 -p largest 4`: how much noise does the symmetry make up
# for?
