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
# # A Gaussian process that knows a symmetry, and tunes itself
#
# *From any start within two decades of the best bandwidth.*
#
# `GaussianProcessRegressor` fits the parameters of its kernel by the gradient of the marginal
# likelihood. The average of a Gaussian kernel over a group has the derivatives of that kernel,
# averaged; so `Average(Gaussian(gamma=1.0), CyclicShifts(6))` is tuned like any `RBF`, and so is
# `Average(RBF(), CyclicShifts(6))`, whose length scale stays scikit-learn's.
#
# The target is invariant to cyclic shifts of six numbers. Beside the invariant process: the plain
# one, the plain one on all six shifted copies of each point, and a grid of bandwidths, which is
# what there was before.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 1

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from invariance.companion import Run, label_ends, look, mean_se
from invariance.groups import CyclicShifts
from invariance.kernels import Average, Gaussian

run = Run("compare/gaussian_process", profile=profile, seed=seed)
group = CyclicShifts(6)
warnings.simplefilter("ignore", ConvergenceWarning)

# %%
FULL = not run.quick
N, TEST = (150, 1000) if FULL else (30, 100)
D, NOISE = 6, 0.1
DRAWS = 10 if FULL else 2
STARTS = (-2, -1, 0, 1, 2) if FULL else (-2, 2)  # decades from the best on the grid
PER_DECADE = 2 if FULL else 1  # bandwidths of the grid
GRID = np.logspace(-3, 2, 5 * PER_DECADE + 1)


# %%
def target(X):
    return np.cos(X * np.roll(X, 1, axis=1)).sum(axis=1) + np.tanh(X).sum(axis=1)


def draw(repetition):
    rng = np.random.default_rng((seed, repetition))
    X, Z = rng.standard_normal((N, D)), rng.standard_normal((TEST, D))
    return X, target(X) + NOISE * rng.standard_normal(N), Z, target(Z)


def r2(kernel, X, y, Z, truth):
    """On noise-free values at new points, and the fitted process."""
    model = GaussianProcessRegressor(
        ConstantKernel() * kernel + WhiteKernel(0.1),
        normalize_y=True,
    ).fit(X, y)
    return model.score(Z, truth), model


# %% [markdown]
# ## A grid, and starts around its best
#
# The grid keeps gamma fixed and tunes variance and noise; its best is the one with the largest
# marginal likelihood, which needs no test points.


# %%
@run.cache
def grid(repetition):
    X, y, Z, truth = draw(repetition)
    fits = [r2(Average(Gaussian(g, gamma_bounds="fixed"), group), X, y, Z, truth) for g in GRID]
    likelihoods = [model.log_marginal_likelihood_value_ for _, model in fits]
    return [score for score, _ in fits], int(np.argmax(likelihoods))


@run.cache
def tuned(repetition, decades):
    _, best = grid(repetition)
    start = GRID[best] * 10.0**decades
    bounds = (1e-4, 1e4)
    kernels = {
        "average of Gaussian": Average(Gaussian(start, gamma_bounds=bounds), group),
        "average of RBF": Average(RBF((2 * start) ** -0.5, bounds), group),
        "plain RBF": RBF((2 * start) ** -0.5, bounds),
    }
    X, y, Z, truth = draw(repetition)
    return {name: r2(kernel, X, y, Z, truth)[0] for name, kernel in kernels.items()}


@run.cache
def copies(repetition):
    X, y, Z, truth = draw(repetition)
    moved = group.act(group.elements(), X).reshape(-1, D)
    return r2(RBF(2.0), moved, np.tile(y, D), Z, truth)[0]


grids = [grid(r) for r in range(DRAWS)]
at_best = np.array([scores[best] for scores, best in grids])
ends = {start: [tuned(r, start) for r in range(DRAWS)] for start in STARTS}
rows = []
for decades, found in ends.items():
    untuned = [
        scores[int(np.clip(best + decades * PER_DECADE, 0, len(GRID) - 1))]
        for scores, best in grids
    ]
    for name, values in {
        **{name: [f[name] for f in found] for name in found[0]},
        "average, gamma not tuned": untuned,
    }.items():
        mean, se = mean_se(np.array(values))
        rows.append({"method": name, "start": f"{10.0**decades:g} x best", "R2": mean, "se": se})
for name, values in (
    ("average, best gamma of the grid", at_best),
    (
        "plain RBF on six copies",
        np.array([copies(r) for r in range(DRAWS)]),
    ),
):
    mean, se = mean_se(values)
    rows.append({"method": name, "start": "", "R2": mean, "se": se})
table = pd.DataFrame(rows)
run.table(
    table, "scores", caption=f"R^2 on {TEST} test points, means over {DRAWS} draws of {N} points."
)
print(table.round(3).to_string(index=False))

# %%
gaps = {
    name: np.array([[end[name] for end in found] for found in ends.values()]).T - at_best[:, None]
    for name in ("average of Gaussian", "average of RBF")
}
below = -gaps["average of Gaussian"].mean()
fig, axis = plt.subplots(figsize=(8, 4))
for name, method in (
    ("average of Gaussian", "haar"),
    ("average, gamma not tuned", "average-fit"),
    ("plain RBF", "raw"),
):
    some = table[table["method"] == name]
    axis.errorbar(STARTS, some["R2"], 2 * some["se"], label=name, **look(method)._asdict())
reached = at_best.mean()
axis.plot(STARTS, [reached] * len(STARTS), "k:", label="best gamma of the grid")
axis.set(
    xlabel="start: decades from the best gamma of the grid",
    ylabel="$R^2$ on test points",
    title=f"Tuned from any start, the average ends {abs(below):.3f} "
    f"{'below' if below > 0 else 'above'} the grid's best",
    xticks=STARTS,
)
label_ends(axis)
run.figure(
    fig,
    "starts",
    alt="R squared against the start of gamma, least and largest over starts: "
    + "; ".join(
        f"{name} {some['R2'].min():.3f} to {some['R2'].max():.3f}"
        for name, some in table[table["start"] != ""].groupby("method", sort=False)
    )
    + f". The best gamma of the grid reaches {reached:.3f}.",
    caption=f"Means over {DRAWS} draws, two standard errors.",
)

# %% [markdown]
# Draw by draw: how far below the best of the grid does a tuned process end, from any start?

# %%
for name, gap in gaps.items():
    run.say(
        "{name}: {mean:+.4f} ± {se:.4f} beside the grid's best, at worst {worst:+.4f}.",
        name=f"The {name}",
        mean=gap.mean(),
        se=mean_se(gap.mean(axis=1)).se,
        worst=gap.min(),
    )

# %% [markdown]
# ## What to take from it
#
# The gradient goes through the average: compare, in the figure, the curve that is tuned with the
# one that is not. Far from the best start (a thousand times the best gamma) the Gram matrix is the
# identity and its gradient zero; no gradient helps there, and `n_restarts_optimizer` does.
