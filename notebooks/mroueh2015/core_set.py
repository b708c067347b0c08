# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Equations (1) and (2), lemma 1: an averaged kernel learns from the core set
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
from _norm_infinity import margin_loss
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

from invariance.companion import Run, panel
from invariance.features import GroupCDF
from invariance.groups import Permutations
from invariance.kernels import Average, Gaussian, Laplacian, Polynomial
from invariance.linear import RLSClassifier

run = Run("mroueh2015/core_set", profile=profile, seed=seed, sharpness=sharpness, copies=copies)

# %% tags=["settings"]
if run.quick:
    dimensions = (4, 8)  # of the Haar-integration kernel
    sizes = (20, 50)  # training points
    n_repetitions = 3
    n_test = 200
    n_points = 10  # core points of lemma 1
    n_templates = 5
    n_draws = 4  # of weights in lemma 1
else:
    dimensions = (4, 8, 16)
    sizes = (10, 20, 50, 100, 200)
    n_repetitions = 10
    n_test = 1000
    n_points = 60
    n_templates = 40
    n_draws = 25

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
    scale = np.abs(K).max()
    gX, hX = group.act(group.sample(2, int(rng.integers(2**31))), X)
    with_shared_orbits = np.r_[X, gX[: len(X) // 2]]
    gram = kernel(with_shared_orbits)
    return {
        "invariance": np.abs(kernel(gX, hX) - kernel(X, X)).max() / scale,
        "symmetry": np.abs(gram - gram.T).max() / scale,
        "positivity": max(0.0, -np.linalg.eigvalsh(gram)[0]) / np.trace(gram),
    }


# %%
haar_defects = []
for base in (Gaussian(gamma=2.0), Polynomial(degree=3), Laplacian(gamma=1.0)):
    for d in dimensions:
        for group in groups(d).values():
            X = sphere(12, d, run.rng)
            haar_defects.append(defects(Average(base, group), group, X, run.rng))
haar_defects = pd.DataFrame(haar_defects)

# %% [markdown]
# ### The decision function inherits the invariance
#
# By the representer theorem a kernel machine is $f(x) = \sum_i \alpha_i \mathcal K(x, x_i)$, so
# $f(gx) = f(x)$, for every $g$, whatever the labels. Two machines, trained on random labels:

# %%
decision_changes = []
for group in groups(8).values():
    X = sphere(40, 8, run.rng)
    y = run.rng.choice([-1, 1], size=40)
    kernel = Average(Gaussian(gamma=2.0), group)
    Z = sphere(10, 8, run.rng)
    orbit = group.act(group.sample(5, run.seed), Z)
    support_vectors = SVC(kernel=kernel).fit(X, y)
    ridge = KernelRidge(kernel=kernel, alpha=1e-3).fit(X, y)
    for decide in (support_vectors.decision_function, ridge.predict):
        scale = np.abs(decide(Z)).max()
        for gZ in orbit:
            decision_changes.append(np.abs(decide(gZ) - decide(Z)).max() / scale)

# %% tags=["claims"]
run.claim(
    "mroueh2015/eq1-haar-invariance",
    difference=haar_defects.to_numpy(),
    tolerance=1e-10,
)
run.claim("mroueh2015/eq1-decision-boundary", difference=decision_changes, tolerance=1e-10)

# %% [markdown]
# ## Learning from the core set
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
averaged = Average(plain, permutations)


def draw(n, rng):
    """Points of the core set and labels, P(y = 1) a logistic function of the gap."""
    X = np.sort(sphere(n, 5, rng), axis=1)[:, ::-1].copy()
    gap = X[:, 0] - X[:, 1]
    probability = 1 / (1 + np.exp(-sharpness * (gap - 0.3)))
    return X, np.where(rng.random(n) < probability, 1, -1)


# %%
def fitted_learners(X, y, rng):
    """Fit the four learners to one sample of the core set; return them by name."""
    permuted_copies = [rng.permuted(X, axis=1) for _ in range(copies)]
    augmented = np.concatenate([X, *permuted_copies])
    return {
        "haar": RLSClassifier(kernel=averaged).fit(X, y),
        "raw": RLSClassifier(kernel=plain).fit(X, y),
        "augmentation": RLSClassifier(kernel=plain).fit(augmented, np.tile(y, 1 + copies)),
        "raw on X": RLSClassifier(kernel=plain).fit(rng.permuted(X, axis=1), y),
    }


# %% [markdown]
# Test points come twice, sorted and with their coordinates permuted, under the same labels. Within a
# repetition all learners have the same training points too, so that the claim compares them in pairs.


# %%
@run.cache
def core_set_experiment(sizes, n_repetitions, n_test, seed):
    """Return one row per learner, test set, training size and repetition."""
    rows = []
    for repetition in range(n_repetitions):
        rng = np.random.default_rng([seed, repetition])
        on_core, y_test = draw(n_test, rng)
        tests = {"X0": on_core, "GX0": rng.permuted(on_core, axis=1)}
        for n in sizes:
            X, y = draw(n, rng)
            for name, model in fitted_learners(X, y, rng).items():
                for test, Z in tests.items():
                    is_right = (model.decision_function(Z) > 0) == (y_test > 0)
                    row = {"learner": name, "test": test, "n": n, "repetition": repetition}
                    rows.append(row | {"accuracy": 100 * np.mean(is_right)})
    return rows


# %%
results = pd.DataFrame(core_set_experiment(sizes, n_repetitions, n_test, run.seed))
accuracy = {}  # by learner and test set, shape (repetitions, sizes)
for key, rows in results.groupby(["learner", "test"]):
    accuracy[key] = rows.pivot(index="repetition", columns="n", values="accuracy").to_numpy()


# %% [markdown]
# Accuracies on the core set, and on randomly permuted points, whose orbits are the same:


# %%
def draw_accuracies(axis, test, words):
    """Draw the accuracies of the four learners on one test set."""
    averaged_last = accuracy["haar", test][:, -1].mean()
    plain_last = accuracy["raw", test][:, -1].mean()
    on_all_points = ("raw", accuracy["raw on X", test], {"marker": "s", "ls": "--"})
    panel(
        axis,
        sizes,
        {
            "averaged kernel, trained on $X_0$": ("haar", accuracy["haar", test]),
            "plain kernel, trained on $X_0$": ("raw", accuracy["raw", test]),
            f"plain kernel, $X_0$ and {copies} copies": (
                "augmentation",
                accuracy["augmentation", test],
            ),
            "plain kernel, trained on $X$": on_all_points,
        },
        log="x",
        ends=None,
        xlabel="training points",
        title=f"On the {words} the averaged kernel\nreaches {averaged_last:.0f} %, "
        f"the plain one {plain_last:.0f} %",
    )


# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 4.4), sharey=True)
draw_accuracies(axes[0], "X0", "core set $X_0$")
draw_accuracies(axes[1], "GX0", "orbits $GX_0$")
axes[0].set_ylabel("accuracy (%)")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
run.figure(fig, "core_set", caption="Mean over repetitions, bars of two standard errors.")

# %% [markdown]
# The averaged kernel predicts one number for a point and for its permuted copies, so its accuracies on
# both sides are equal. Copies repair part of the loss of the plain kernel.

# %% tags=["claims"]
order = []
scores = {}
for i, n in enumerate(sizes):
    for name in ("haar", "raw"):
        for test in ("X0", "GX0"):
            scores[f"{name} on {test}, n = {n}"] = accuracy[name, test][:, i]
    order += [
        f"haar on GX0, n = {n} >= haar on X0, n = {n}",
        f"haar on X0, n = {n} >= haar on GX0, n = {n}",
        f"raw on X0, n = {n} > raw on GX0, n = {n}",
        f"haar on GX0, n = {n} > raw on GX0, n = {n}",
    ]
run.claim("mroueh2015/core-set", order=order, scores=scores, paired=True)

# %% [markdown]
# ## Lemma 1: the same for the functions that the features approximate
#
# Lemma 1 states it for $f(x) = \iint w(t, \tau)\, \psi(x, t, \tau)\, d\tau\, dt$, where
# $\psi(x, t, \tau)$ is the share of the group for which $\langle gt, x \rangle \le \tau$:
#
# $$ E_{(x, y) \sim \mathcal X} V(y f(x)) = E_{(x, y) \sim \mathcal X_0} V(y f(x)) . $$
#
# Both sides are finite sums here, without sampling error: points with known label probabilities, their
# orbits, templates and thresholds with random weights. As a control the same with $\psi$ over a third
# of the group's elements, drawn at random, which is not invariant.


# %%
def risk(scores, positive, loss):
    """Expected risk of decision values at points with known probabilities of a positive label."""
    if_positive = positive * margin_loss(loss, scores)
    if_negative = (1 - positive) * margin_loss(loss, -scores)
    return np.mean(if_positive + if_negative)


# %%
def relative_differences(features, orbits, positive):
    """Relative differences of the risk on all orbits from that on the core set.

    `orbits` holds the transformed points, the core set first.
    """
    transformed = [features.transform(points) for points in orbits]
    differences = []
    for loss in ("hinge", "logistic", "square"):
        for _ in range(n_draws):
            weights = 3 * run.rng.uniform(-1, 1, transformed[0].shape[1])
            risks = [risk(Z @ weights, positive, loss) for Z in transformed]
            differences.append(abs(np.mean(risks) - risks[0]) / risks[0])
    return differences


# %% [markdown]
# The identity comes first among the elements, so that the first risk is that on the core set. The control
# shows that the comparison can fail: a part of the group does not make the features invariant.

# %%
differences = []
controls = []
for group in groups(8).values():
    X0 = sphere(n_points, 8, run.rng)
    positive = run.rng.uniform(0, 1, n_points)
    elements = group.elements()
    changes = np.abs(group.act(elements, X0) - X0).max(axis=(1, 2))
    identity_first = np.roll(elements, -changes.argmin(), axis=0)
    orbits = group.act(identity_first, X0)
    n_third = -(-len(elements) // 3)
    for n_transforms, results_of_size in ((None, differences), (n_third, controls)):
        features = GroupCDF(
            group, n_templates, n_bins=20, n_transforms=n_transforms, s=1.5, random_state=seed
        )
        results_of_size += relative_differences(features.fit(X0), orbits, positive)
run.say(
    "Largest relative difference of the two risks: {group:.0e} with the whole group, {part:.0e} "
    "with a third of its elements.",
    group=max(differences),
    part=max(controls),
)

# %% tags=["claims"]
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
