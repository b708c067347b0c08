# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # An averaged kernel, and what it buys: learning from the core set
#
# *Mroueh, Voinea and Poggio (2015), section 1.1, equations (1) and (2), and lemma 1.*
#
# Average a kernel over a group and it no longer notices the group. Learners that use it predict the
# same for a point and for all its transformed copies. So their risk on all transformed points *is*
# their risk on the core set, one point per orbit: train there, and the rest comes free.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 1
sharpness: float = 40.0  # of the labels: 5 is mostly noise
copies: int = 8  # permuted copies of each training point, for augmentation

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from _groups import four_groups as groups
from _groups import sphere
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

from invariance.companion import Run, panel
from invariance.features import GroupCDF
from invariance.groups import Permutations
from invariance.kernels import Average, Gaussian, Laplacian, Polynomial
from invariance.linear import RLSClassifier, margin_loss

run = Run("mroueh2015/core_set", profile=profile, seed=seed, sharpness=sharpness, copies=copies)

# %% tags=["settings"]
dimensions = (4, 8) if run.quick else (4, 8, 16)
sizes = (20, 50) if run.quick else (10, 20, 50, 100, 200)  # training points
repetitions, n_test = (3, 200) if run.quick else (10, 1000)
n_points, n_templates, n_draws = (10, 5, 4) if run.quick else (60, 40, 25)  # of lemma 1

# %% [markdown]
# ## Equation (1): the Haar-integration kernel
#
# $$ \mathcal K(x, z) = \int_G \int_G k_0(gx, g'z)\, d\mu(g)\, d\mu(g') $$
#
# is `Average(base, group)`. It must not notice transformations of either argument, be symmetric,
# and be positive semi-definite whenever the base kernel is. We check all three on points in general
# position *and* on points that share orbits (where Gram matrices are singular), for three base kernels
# and four compact, unitary groups: permutations and cyclic shifts of four blocks, sign flips of four
# coordinates, and rotations of every coordinate plane by multiples of 15 degrees.


# %%
def defects(kernel, group, X, rng):
    """Largest violation of invariance, symmetry and positivity, relative to the kernel's size."""
    K = kernel(X)
    g, h = group.act(group.sample(2, int(rng.integers(2**31))), X)
    both = np.r_[X, g[: len(X) // 2]]
    gram = kernel(both)
    size = np.abs(K).max()
    return {
        "invariance": np.abs(kernel(g, h) - kernel(X, X)).max() / size,
        "symmetry": np.abs(gram - gram.T).max() / size,
        "positivity": max(0.0, -np.linalg.eigvalsh(gram)[0]) / np.trace(gram),
    }


rows = []
for base in (Gaussian(gamma=2.0), Polynomial(degree=3), Laplacian(gamma=1.0)):
    for d in dimensions:
        for name, group in groups(d).items():
            found = defects(Average(base, group), group, sphere(12, d, run.rng), run.rng)
            rows.append({"base kernel": type(base).__name__, "d": d, "group": name, **found})
haar = pd.DataFrame(rows)
run.claim(
    "mroueh2015/eq1-haar-invariance",
    difference=haar[["invariance", "symmetry", "positivity"]].to_numpy(),
    tolerance=1e-10,
)

# %% [markdown]
# ### The decision function inherits the invariance
#
# By the representer theorem a kernel machine is $f(x) = \sum_i \alpha_i \mathcal K(x, x_i)$, so
# $f(gx) = f(x)$, for every $g$, whatever the labels. Two machines, trained on random labels:

# %%
differences = []
for group in groups(8).values():
    X, y = sphere(40, 8, run.rng), run.rng.choice([-1, 1], size=40)
    kernel = Average(Gaussian(gamma=2.0), group)
    new = sphere(10, 8, run.rng)
    for machine in (SVC(kernel=kernel), KernelRidge(kernel=kernel, alpha=1e-3)):
        decide = getattr(machine.fit(X, y), "decision_function", machine.predict)
        for moved in group.act(group.sample(5, run.seed), new):
            change = np.abs(decide(moved) - decide(new)).max()
            differences.append(change / np.abs(decide(new)).max())
run.claim("mroueh2015/eq1-decision-boundary", difference=differences, tolerance=1e-10)

# %% [markdown]
# ## What it buys: learning from the core set
#
# Write $\mathcal X = \mathcal X_0 \cup G\mathcal X_0$. If labels do not change along orbits, the risk
# of an invariant function on all of $\mathcal X$ *is* its risk on the core set (equation 2).
#
# The experiment: points of $\mathbb R^5$ under all 120 permutations. The core set holds the sorted
# points. The label depends, with noise, on the gap between the two largest coordinates, which is a
# *linear* function on the core set, and anything but linear off it. Four learners, all regularised
# least squares with a Gaussian kernel and $\lambda$ by leave-one-out: the averaged kernel and the
# plain one on the core set, the plain kernel with eight permuted copies of each point, and the plain
# kernel on points of all of $\mathcal X$.

# %%
permutations = Permutations(5)
plain = Gaussian(gamma=2.0)


def draw(n, rng):
    """Points of the core set and labels, P(y = 1) a logistic function of the gap."""
    X = np.sort(sphere(n, 5, rng), axis=1)[:, ::-1].copy()
    gap = X[:, 0] - X[:, 1]
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(-sharpness * (gap - 0.3))), 1, -1)


@run.cache
def core_set_experiment(sizes, repetitions, n_test, seed):
    """Accuracy by learner, test set, training size and repetition."""
    results = []
    for repetition in range(repetitions):
        rng = np.random.default_rng([seed, repetition])
        on_core, y_test = draw(n_test, rng)
        off_core = rng.permuted(on_core, axis=1)
        for n in sizes:
            X, y = draw(n, rng)
            many = np.concatenate([X] + [rng.permuted(X, axis=1) for _ in range(copies)])
            learners = {
                "haar": (Average(plain, permutations), X, y),
                "raw": (plain, X, y),
                "augmentation": (plain, many, np.tile(y, 1 + copies)),
                "raw on X": (plain, rng.permuted(X, axis=1), y),
            }
            for name, (kernel, points, labels) in learners.items():
                model = RLSClassifier(kernel=kernel).fit(points, labels)
                for where, test in (("X0", on_core), ("GX0", off_core)):
                    right = (model.decision_function(test) > 0) == (y_test > 0)
                    results.append((name, where, n, repetition, 100 * np.mean(right)))
    return results


learned = pd.DataFrame(
    core_set_experiment(sizes, repetitions, n_test, run.seed),
    columns=["learner", "test", "n", "repetition", "accuracy"],
)
accuracy = {
    key: rows.pivot(index="repetition", columns="n", values="accuracy").to_numpy()
    for key, rows in learned.groupby(["learner", "test"])
}

# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 4.4), sharey=True)
LEARNERS = {
    "averaged kernel, trained on $X_0$": ("haar", "haar", {}),
    "plain kernel, trained on $X_0$": ("raw", "raw", {}),
    f"plain kernel, $X_0$ and {copies} copies": ("augmentation", "augmentation", {}),
    "plain kernel, trained on $X$": ("raw on X", "raw", {"marker": "s", "ls": "--"}),
}
for axis, where, words in zip(
    axes, ("X0", "GX0"), ("core set $X_0$", "orbits $GX_0$"), strict=True
):
    last = {name: accuracy[name, where][:, -1].mean() for name, _, _ in LEARNERS.values()}
    panel(
        axis,
        sizes,
        {
            label: (look, accuracy[name, where], how)
            for label, (name, look, how) in LEARNERS.items()
        },
        log="x",
        ends=None,
        xlabel="training points",
        title=f"On the {words}: {last['haar']:.0f} % averaged, {last['raw']:.0f} % plain",
    )
axes[0].set_ylabel("accuracy (%)")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
run.figure(fig, "core_set", caption="Mean over repetitions, bars of two standard errors.")

# %% [markdown]
# The averaged kernel predicts one number for a point and for its permuted copies, so its accuracies on
# both sides are one. Copies repair part of what the plain kernel loses.

# %%
scores = {
    f"{name} on {where}, n = {n}": accuracy[name, where][:, i]
    for name in ("haar", "raw")
    for where in ("X0", "GX0")
    for i, n in enumerate(sizes)
}
run.claim(
    "mroueh2015/core-set",
    order=[
        f"{higher}, n = {n} {relation} {lower}, n = {n}"
        for n in sizes
        for higher, relation, lower in (
            ("haar on GX0", ">=", "haar on X0"),
            ("haar on X0", ">=", "haar on GX0"),
            ("raw on X0", ">", "raw on GX0"),
            ("haar on GX0", ">", "raw on GX0"),
        )
    ],
    scores=scores,
    paired=True,
)

# %% [markdown]
# ## Lemma 1: the same for the functions that the features approximate
#
# Lemma 1 says it for $f(x) = \iint w(t, \tau)\, \psi(x, t, \tau)\, d\tau\, dt$, where
# $\psi(x, t, \tau)$ is the share of the group for which $\langle gt, x \rangle \le \tau$:
#
# $$ E_{(x, y) \sim \mathcal X} V(y f(x)) = E_{(x, y) \sim \mathcal X_0} V(y f(x)) . $$
#
# Both sides are finite sums here, without sampling error: points with known label probabilities, their
# orbits, templates and thresholds with random weights. As a control the same with $\psi$ over a third
# of the group's elements, drawn at random, which is not invariant.


# %%
def risks(features, moved, positive, weights, loss):
    """Risk on the core set, and on all its orbits."""
    scores = [features.transform(points) @ weights for points in moved]
    each = [
        np.mean(positive * margin_loss(loss, f) + (1 - positive) * margin_loss(loss, -f))
        for f in scores
    ]
    return each[0], np.mean(each)


differences, controls = [], []
for group in groups(8).values():
    X0, positive = sphere(n_points, 8, run.rng), run.rng.uniform(0, 1, n_points)
    elements = group.elements()
    first = np.abs(group.act(elements, X0) - X0).max(axis=(1, 2)).argmin()  # the identity
    moved = group.act(np.roll(elements, -first, axis=0), X0)
    for size, found in ((None, differences), (-(-len(elements) // 3), controls)):
        model = GroupCDF(group, n_templates, n_bins=20, n_transforms=size, s=1.5, random_state=seed)
        model.fit(X0)
        n_columns = model.transform(X0[:1]).shape[1]
        for loss in ("hinge", "logistic", "square"):
            for _ in range(n_draws):
                weights = 3 * run.rng.uniform(-1, 1, n_columns)
                here, everywhere = risks(model, moved, positive, weights, loss)
                found.append(abs(everywhere - here) / here)
run.say(
    "Largest relative difference of the two risks: {group:.0e} with the whole group, {part:.0e} "
    "with a third of its elements.",
    group=max(differences),
    part=max(controls),
)
run.claim(
    "mroueh2015/lemma1-core-risk",
    difference=differences,
    tolerance=1e-10,
    note=f"relative; four groups in eight dimensions, three losses, {n_draws} draws of weights each. "
    f"With a third of the elements the same code gives differences up to {max(controls):.2g}",
)

# %% [markdown]
# ## Try it
#
# `invariance run mroueh2015/core_set -p copies 40`: how many copies are enough? Or `-p sharpness 5`.
