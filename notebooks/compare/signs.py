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
# # Functions of ten numbers whose signs do not matter
#
# *All 1,024 sign changes in closed form, compared with taking absolute values.*
#
# If signs do not matter, one takes absolute values and goes on. That is hard to beat: it is exact
# and costs nothing. Two kernels here have the same invariance. The best fit over all sign
# changes of a Gaussian kernel *is* the Gaussian kernel of absolute values. The average,
#
# $$K(x, z) = \frac{1}{2^d} \sum_s e^{-\gamma |x - s z|^2}
#   = \prod_i \tfrac12 \left(e^{-\gamma (x_i - z_i)^2} + e^{-\gamma (x_i + z_i)^2}\right),$$
#
# is another one: its functions are smooth where a coordinate passes through zero, while functions
# of $|x|$ have a kink there. Which is better depends on the target, so there are two: one with
# kinks, one without.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 1

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from invariance.companion import Run, label_ends, look, mean_se
from invariance.companion.run.comparison import score_texts, scores
from invariance.evaluation import best_by_leave_one_out, best_with_copies, trial
from invariance.groups import SignFlips
from invariance.kernels import Average, BestFit, Gaussian
from invariance.linear import RLSRegressor

run = Run("compare/signs", profile=profile, seed=seed)

# %%
FULL = not run.quick
SIZES = (100, 300, 1000) if FULL else (100,)
DRAWS, TEST = (10, 2000) if FULL else (2, 300)
MOST_COPIED = 300  # augmentation of more points would take a matrix of 8,000 rows
D, NOISE = 10, 0.1
group = SignFlips(D)
GAMMAS = np.logspace(-3, 0, 7 if FULL else 4)

# %% [markdown]
# ## Targets
#
# Points are standard normal. *Kinked*: $\sum_i \tanh |x_i|$ and products of neighbours, which has
# a kink wherever a coordinate is zero. *Smooth*: squares and products of neighbours' squares.
# Both have variance one, and noise of a tenth of that scale.


# %%
def target(X, kind):
    U = np.tanh(np.abs(X)) if kind == "kinked" else X**2
    weights = np.ones(D) if kind == "kinked" else np.arange(D) / D
    values = U @ weights + 0.1 * (U * np.roll(U, 1, axis=1)).sum(axis=1)
    mean, size = MOMENTS[kind]
    return (values - mean) / size


MOMENTS = {"kinked": (0.0, 1.0), "smooth": (0.0, 1.0)}
for kind in MOMENTS:
    values = target(np.random.default_rng(99).standard_normal((100_000, D)), kind)
    MOMENTS[kind] = values.mean(), values.std()

NAMES = {
    "raw": "plain kernel",
    "augmentation": "seven copies with other signs",
    "krr": "kernel of |x|",
    "ti-ri": "best fit over signs",
    "haar": "average over signs",
}


def fit(method, X, y, repetition):
    """A function from points to values."""
    bases = [Gaussian(g) for g in GAMMAS]
    if method == "augmentation":
        rng = np.random.default_rng(repetition)
        moved = X * rng.choice([-1.0, 1.0], size=(7, *X.shape))
        return best_with_copies(bases, RLSRegressor(), X=X, y=y, moved=moved)
    if method in ("haar", "ti-ri"):
        bases = [(Average if method == "haar" else BestFit)(base, group) for base in bases]
    own = np.abs if method == "krr" else np.asarray
    predict = best_by_leave_one_out(bases, RLSRegressor(), X=own(X), y=y)
    return lambda Z: predict(own(Z))


@run.cache
def compare(method, kind, n, repetition):
    rng = np.random.default_rng((seed, repetition, n))
    X, Z = rng.standard_normal((n, D)), rng.standard_normal((TEST, D))
    y = target(X, kind) + NOISE * rng.standard_normal(n)
    moved = Z[:50] * rng.choice([-1.0, 1.0], size=(50, D))
    return trial(
        lambda: fit(method, X, y, repetition),
        Z,
        score=lambda predicted: float(np.mean((predicted - target(Z, kind)) ** 2)),
        discrepancy=lambda f: float(np.mean((f(Z[:50]) - f(moved)) ** 2)),
        memory=repetition == 0,
        apart=FULL,
    )


# %% [markdown]
# ## Results
#
# Mean squared errors on test points without noise; the discrepancy is the mean squared change of
# predictions when signs change.

# %%
trials = {
    (kind, method, n): [compare(method, kind, n, r) for r in range(DRAWS)]
    for kind in MOMENTS
    for method in NAMES
    for n in SIZES
    if method != "augmentation" or n <= MOST_COPIED
}


def of_kind(kind):
    return {(method, n): draws for (k, method, n), draws in trials.items() if k == kind}


# %%
tables = {kind: scores(of_kind(kind)) for kind in MOMENTS}
ends = []
fig, axes = plt.subplots(1, 2, figsize=(11, 3.8), sharey=True)
for axis, (kind, table) in zip(axes, tables.items(), strict=True):
    for method, name in NAMES.items():
        rows = table[table["method"] == method]
        style = look("best-fit" if method == "ti-ri" else method)._asdict()
        line = "--" if method == "ti-ri" else "-"
        axis.errorbar(rows["n"], rows["score"], 2 * rows["se"], label=name, ls=line, **style)
    last = table[table["n"] == SIZES[-1]].set_index("method")["score"]
    best = last.idxmin()
    ends.append(f"{kind} target, {', '.join(f'{NAMES[m]} {v:.2g}' for m, v in last.items())}.")
    axis.set(xscale="log", yscale="log", xlabel="training points")
    axis.set(title=f"{kind.capitalize()} target: least error by {NAMES[best]}")
    axis.set_xticks(SIZES, [f"{n:,}" for n in SIZES])
    axis.minorticks_off()
axes[0].set_ylabel("mean squared error / variance")
for axis in axes:  # both have all their limits by now
    label_ends(axis)
run.figure(
    fig,
    "errors",
    alt="Two panels, mean squared error against the number of points for five methods. With "
    f"{SIZES[-1]:,} points: " + " ".join(ends),
    caption=f"Means over {DRAWS} draws, two standard errors.",
)
run.table(
    pd.concat([table.assign(target=kind) for kind, table in tables.items()]),
    "scores",
    caption=f"Means over {DRAWS} draws: mean squared error with its standard error, squared change "
    "with signs, CPU seconds; peak MiB.",
)

# %% [markdown]
# Draw by draw, against absolute values, with the most points: the ratio of errors, and of times.

# %%
for kind in MOMENTS:
    usual = np.array(trials[kind, "krr", SIZES[-1]])
    for method in ("ti-ri", "haar"):
        ours = np.array(trials[kind, method, SIZES[-1]])
        ratio = mean_se(np.log(ours[:, 0] / usual[:, 0]))
        run.say(
            "{kind} target, {name}: {error:.2f} times the error of the kernel of absolute values "
            "(a factor of {se:.2f} either way), {time:.2f} times its time.",
            kind=kind.capitalize(),
            name=NAMES[method],
            error=np.exp(ratio.mean),
            se=np.exp(2 * ratio.se),
            time=ours[:, 2:4].sum() / usual[:, 2:4].sum(),
        )

# %% [markdown]
# ## What it shows
#
# The plain kernel and augmentation see 1,024 orthants with a few points in all of them. The best
# fit over signs is the kernel of absolute values, so that errors and costs are the same. The
# average over signs has no kinks; functions of $|x|$ have one wherever a coordinate is zero, as one
# of the targets has.

# %%
for kind, table in tables.items():
    said = score_texts(table)
    run.say(
        "{kind} target, {n:,} points: {haar} by the average over signs, {krr} by the kernel of "
        "absolute values, {raw} by the plain kernel.",
        kind=kind.capitalize(),
        n=SIZES[-1],
        haar=said["haar", SIZES[-1]],
        krr=said["krr", SIZES[-1]],
        raw=said["raw", SIZES[-1]],
    )
