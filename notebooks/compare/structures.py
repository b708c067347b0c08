# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Structures as sets of atoms: average and REMatch kernels beside DScribe
#
# *A structure is a set of atoms, each with a description of its surroundings. Two kernels of structures
# are in wide use: the mean over all pairs of atoms, and the regularised entropy match. How many
# structures can be compared in a minute, and what happens if atoms are matched one to one?*
#
# With a kernel $k_0$ between atoms, a plan $P$ whose rows sum to $1/m$ and whose columns sum to $1/m'$,
# and a weight $\alpha$ of the entropy,
#
# $$ K(x, z) = \sum_{i,j} P_{ij} \, k_0(x_i, z_j), \qquad
#    P = \operatorname*{arg\,max}_P \sum_{i,j} P_{ij} \bigl(k_0(x_i, z_j) - \alpha \log P_{ij}\bigr). $$
#
# For a large $\alpha$ all entries of $P$ are equal, and $K$ is the average kernel, `SetKernel`. For a
# small one the atoms are matched one to one. In between it is `REMatchKernel` (De, Bartók, Csányi and
# Ceriotti 2016). The package [DScribe](https://singroup.github.io/dscribe) has both kernels, and a loop
# over pairs of structures. Users report that the average of 10,000 structures is slow, and that the match
# returns values that are not numbers. Here both packages compute the same numbers in one run; where
# DScribe is not installed, the notebook shows ours alone.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
alpha: float = 0.1  # weight of the entropy

# %%
import time
import warnings
from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np

from invariance.beyond import REMatchKernel, SetKernel, pad_sets
from invariance.companion import Run, panel
from invariance.companion.provenance import peak_memory_mb
from invariance.kernels import Gaussian

run = Run("compare/structures", profile=profile, seed=seed, alpha=alpha)

# %% tags=["settings"]
if run.quick:
    SIZES = (10, 20)  # structures
    LARGER = {"REMatch": (40,), "average": (40,)}  # of ours alone, with rising memory
    N_SMALL = 10  # for small weights of the entropy
else:
    SIZES = (50, 100, 200)
    LARGER = {"REMatch": (1000,), "average": (1000, 4000, 10_000)}
    N_SMALL = 60
WEIGHTS = (1.0, 0.1, 0.01, 0.001)
GAMMA = 1.0

# %% [markdown]
# ## Structures
#
# Each structure has 8 to 19 atoms, and each atom is described by 60 numbers, about as many as a small
# set of SOAP features. They are drawn from a normal law, so distances between atoms are about $\sqrt 2$.


# %%
def draw(n):
    """Return n structures, arrays of shape (atoms, 60)."""
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((m, 60)) / np.sqrt(60) for m in rng.integers(8, 20, n)]


# %% [markdown]
# ## The two kernels, here and there
#
# Ours are one call each on padded sets.

# %%
base = Gaussian(GAMMA)
OURS = {"average": SetKernel(base), "REMatch": REMatchKernel(base, alpha=alpha)}
THEIRS = {}
if find_spec("dscribe"):
    from dscribe import kernels as dscribe

    options = {"metric": "rbf", "gamma": GAMMA, "normalize_kernel": False}
    THEIRS["average"] = dscribe.AverageKernel(**options)
    THEIRS["REMatch"] = dscribe.REMatchKernel(alpha=alpha, threshold=1e-6, **options)


def timed(function, *arguments):
    """Return a function's value and its seconds of the processor."""
    begin = time.process_time()
    value = function(*arguments)
    return value, time.process_time() - begin


# %%
seconds = {}  # by name and package, in the order of SIZES
differences = dict.fromkeys(THEIRS, 0.0)
for name, kernel in OURS.items():
    kernel(pad_sets(draw(5)))  # The first call loads what later ones share.
    for n in SIZES:
        structures = draw(n)
        gram, own_seconds = timed(kernel, pad_sets(structures))
        seconds.setdefault((name, "here"), []).append(own_seconds)
        if name in THEIRS:
            theirs, their_seconds = timed(THEIRS[name].create, structures)
            seconds.setdefault((name, "DScribe"), []).append(their_seconds)
            differences[name] = max(differences[name], np.abs(gram - theirs).max())

# %% [markdown]
# ## Ten thousand structures
#
# Larger sets of structures are for ours alone, in single precision. The values between atoms are
# computed in tiles of four megabytes, so the matrix itself takes nearly all the memory.

# %%
memory_before = peak_memory_mb()["peak_memory_mb"]
table = []
for name, sizes in LARGER.items():
    for n in sizes:
        points = pad_sets(draw(n)).astype(np.float32)
        gram, own_seconds = timed(OURS[name], points)
        seconds[name, "here"].append(own_seconds)
        extra_memory = peak_memory_mb()["peak_memory_mb"] - memory_before
        row = {
            "kernel": name,
            "structures": f"{n:,}",
            "processor seconds": f"{own_seconds:.1f}",
            "matrix (MiB)": round(gram.nbytes / 2**20),
            "most memory beyond the imports (MiB)": round(extra_memory),
        }
        table.append(row)
        assert np.isfinite(gram).all()
run.table(
    table,
    "larger",
    caption="Gram matrices in single precision; memory with the points, the most up to this row.",
)

# %% tags=["hide-input"]
LOOKS = {"average": "haar", "REMatch": "ti"}
curves = {}
for (name, package), values in seconds.items():
    sizes = [*SIZES, *LARGER[name]] if package == "here" else SIZES
    style = {"x": sizes, "ls": "-" if package == "here" else ":"}
    curves[f"{name}, {package}"] = (LOOKS[name], values, style)
gains = {}
for name in THEIRS:
    gains[name] = seconds[name, "DScribe"][-1] / seconds[name, "here"][len(SIZES) - 1]
title = "Kernels of structures, without DScribe, which is not installed"
if THEIRS:
    title = (
        f"With {SIZES[-1]} structures the average takes 1/{gains['average']:.0f} of DScribe's time, "
        f"and the match 1/{gains['REMatch']:.0f}"
    )
fig, axis = plt.subplots(figsize=(7.2, 4.2))
panel(
    axis,
    sorted({*SIZES, *LARGER["average"]}),
    curves,
    log="xy",
    ends=None,
    xlabel="structures",
    ylabel="processor seconds",
    title=title,
)
axis.legend()
run.figure(fig, "seconds", caption="Gram matrices of structures of 8 to 19 atoms, 60 numbers each.")

# %%
for name, difference in differences.items():
    run.say(
        "{name}: the two packages differ by at most {difference:.0e}; ours takes 1/{gain:.0f} of the time.",
        name=name,
        difference=difference,
        gain=gains[name],
    )

# %% [markdown]
# ## Small weights of the entropy
#
# The entries of $P$ are exponentials of $k_0 / \alpha$. DScribe computes $e^{-(1 - k_0) / \alpha}$ itself,
# which is zero once $\alpha$ is small, and divides by its sums. `REMatchKernel` keeps logarithms, and finds
# them by Newton's method for weights that fall to $\alpha$ by factors of four.

# %%
structures = draw(N_SMALL)
points = pad_sets(structures)
table = []
for weight in WEIGHTS:
    kernel = REMatchKernel(base, alpha=weight)
    gram, own_seconds = timed(kernel, points)
    row = {"alpha": f"{weight:g}", "here (s)": f"{own_seconds:.2f}"}
    row["here, not a number (%)"] = f"{100 * np.isnan(gram).mean():.0f}"
    if THEIRS:
        other = dscribe.REMatchKernel(alpha=weight, threshold=1e-6, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of divisions by zero
            theirs, their_seconds = timed(other.create, structures)
        row["DScribe (s)"] = f"{their_seconds:.2f}"
        row["DScribe, not a number (%)"] = f"{100 * np.isnan(theirs).mean():.0f}"
        row["largest difference"] = f"{np.nanmax(np.abs(gram - theirs)):.0e}"
    table.append(row)
run.table(
    table,
    "weights",
    caption=f"REMatch of {N_SMALL} structures. Differences are taken over the values that are numbers; "
    "DScribe ends its iteration once the error of the sums changes little, ours once it is below 1e-6.",
)

# %% [markdown]
# **What it means.** Averages of thousands of structures take seconds, and a match takes about a tenth of
# a millisecond for a pair. `SetFeatures` gives features whose cost grows with the atoms alone, for more.
# Neither kernel needs a normalisation here; `normalize=True` divides by the values of each structure with
# itself.
#
# ## Try it
#
# `invariance run compare/structures -p alpha 0.01`, nearly one to one.
