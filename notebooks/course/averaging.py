# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lesson 2: average, and anything is invariant
#
# *35 minutes. You need `course/orbit`, and `SVC` of scikit-learn.*
#
# A flower looks the same after a fifth of a turn. A support vector machine that is shown points of
# one petal knows nothing of the other four. **How do we tell it?** By an average.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
petals: int = 5  # of the flower; 1 has no symmetry

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

from invariance.companion import Run, check, panel
from invariance.groups import CyclicShifts, OrthogonalMatrices
from invariance.kernels import Average, Gaussian

run = Run("course/averaging", profile=profile, seed=seed, petals=petals)
sizes, draws = [10, 20, 40, 80], 8 if run.quick else 100

# %% [markdown]
# ## The picture
#
# A kernel is a function of two points, and may be averaged over both. The **Haar kernel**
#
# $$K(x, z) = \frac{1}{|G|^2} \sum_{g, g'} k_0(g x, g' z)$$
#
# is invariant in each, and so is every decision of a machine that uses it. In code it is one call:


# %%
def flower(n, rng):
    """Points of the plane, and whether they lie on a petal."""
    X = rng.uniform(-1, 1, size=(n, 2))
    angle, radius = np.arctan2(X[:, 1], X[:, 0]), np.hypot(*X.T)
    return X, (radius < 0.65 + 0.3 * np.cos(petals * angle)).astype(int)


angle = 2 * np.pi / petals
turn = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
turns = OrthogonalMatrices([turn])  # and all that this one generates
base = Gaussian(gamma=10.0)
KERNELS = {"plain": ("raw", base), "Haar": ("haar", Average(base, turns))}

# %%
X, y = flower(40, np.random.default_rng(seed))
grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 61)] * 2), axis=-1).reshape(-1, 2)
fig, panels = plt.subplots(1, 2, figsize=(8.2, 4.1), sharey=True)
for axes, (name, (_, kernel)) in zip(panels, KERNELS.items(), strict=True):
    machine = SVC(kernel=kernel, C=100).fit(X, y)
    decided = machine.decision_function(grid).reshape(61, 61)
    axes.contourf(decided, [-9e9, 0, 9e9], extent=(-1, 1, -1, 1), colors=["#ffffff", "#9cc2e8"])
    axes.scatter(*X.T, c=y, cmap="coolwarm_r", s=18, edgecolors="black", linewidths=0.4)
    X_test, y_test = flower(2000, np.random.default_rng([seed, 1]))
    axes.set(xticks=[-1, 0, 1], yticks=[-1, 0, 1], aspect="equal")
    axes.set_title(f"{name} kernel: {100 * machine.score(X_test, y_test):.0f} % right")
run.figure(
    fig,
    "flower",
    caption=f"What a support vector machine learns from the same {len(X)} points (shaded: petal).",
)

# %% [markdown]
# ## Why it is invariant
#
# For any function $f$, the average over the orbit of its argument,
#
# $$\bar f(x) = \frac{1}{|G|} \sum_{g \in G} f(g x) ,$$
#
# has $\bar f(h x) = \bar f(x)$: as $g$ runs through $G$ so does $g h$, and the sum has the same
# terms. If $f$ was invariant already, nothing changes: averaging is a *projection*.
#
# **Exercise 1.** Write `averaged(f, group, X)`, one value for each row of `X`, for an `f` that
# takes a batch of points. `group.act(group.elements(), X)` has the shape (elements, points,
# coordinates).

# %% tags=["exercise"]
averaged = ...  # def averaged(f, group, X): ...

# %% tags=["hide-input"]
ring, some = CyclicShifts(6), np.random.default_rng(1).standard_normal((7, 6))
check(
    averaged,
    lambda mean: np.allclose(mean(lambda X: X[:, 0] ** 3, ring, some), (some**3).mean(axis=1)),
    "apply f to every moved batch, then take the mean over the first axis",
)

# %% [markdown]
# <details><summary>Solution</summary>
#
# ```python
# def averaged(f, group, X):
#     return np.mean([f(moved) for moved in group.act(group.elements(), X)], axis=0)
# ```
# </details>
#
# **Exercise 2.** Averages can also destroy. Find six weights, not all zero, such that the average
# of the linear function $f(x) = \langle w, x \rangle$ over all shifts of a ring is zero everywhere.

# %% tags=["exercise"]
w = ...  # six numbers

# %% tags=["hide-input"]
check(
    w,
    lambda w: np.any(w) and np.allclose((ring.act(ring.elements(), some) @ w).mean(axis=0), 0),
    "every weight meets every place once, so the average is the mean of w times the sum of x",
)

# %% [markdown]
# <details><summary>Solution</summary>
#
# ```python
# w = [1.0, -1.0, 0.0, 0.0, 0.0, 0.0]
# ```
#
# Of a linear function nothing is left but the sum of $x$: average something *nonlinear*, as the
# Gaussian kernel is.
# </details>
#
# ## What it is worth
#
# The plain kernel, the Haar kernel, and the plain kernel with *augmentation*: all turned copies of
# each training point are added to the training set.

# %%
scores = {name: np.empty((draws, len(sizes))) for name in [*KERNELS, "augmented"]}
for draw in range(draws):
    X, y = flower(max(sizes), np.random.default_rng([seed, 2, draw]))
    for i, n in enumerate(sizes):
        copies = turns.act(turns.elements(), X[:n]).reshape(-1, 2)
        for name in scores:
            more = name == "augmented"
            points, labels = (copies, np.tile(y[:n], turns.order)) if more else (X[:n], y[:n])
            machine = SVC(kernel=base if more else KERNELS[name][1], C=100).fit(points, labels)
            scores[name][draw, i] = 100 * machine.score(X_test, y_test)
fig, axes = plt.subplots()
looks = {"plain": "raw", "Haar": "haar", "augmented": "augmentation"}
curves = {name: (looks[name], values) for name, values in scores.items()}
panel(axes, sizes, curves, log="x", xlabel="training points", ylabel="test accuracy (%)")
mean = {name: values[:, 1].mean() for name, values in scores.items()}
axes.set_title(f"{sizes[1]} points: Haar kernel {mean['Haar']:.0f} %, plain {mean['plain']:.0f} %")
run.figure(fig, "curve", caption=f"Bars: two standard errors over {draws} draws.")

# %% [markdown]
# Augmentation does much the same here, at $|G|$ times the points.
#
# **Exercise 3.** By the definition, one value of $K$ takes $|G|^2$ values of $k_0$. A rotation does
# not change distances, $k_0(g x, g' z) = k_0(x, g^{-1} g' z)$. How many values are enough, here?

# %% tags=["exercise"]
values_enough = ...  # a number, or a formula in turns.order

# %% tags=["hide-input"]
check(
    values_enough,
    lambda n: n == len(np.unique(turns.elements(), axis=0)),
    "for how many different elements does g^-1 g' stand?",
)

# %% [markdown]
# <details><summary>Solution</summary>
#
# ```python
# values_enough = turns.order
# ```
#
# One sum is enough. `Average` asks the group whether its action is unitary, and does just that.
# </details>
#
# **Keep:** averaging projects on invariant functions; average something nonlinear; the Haar kernel
# goes into any kernel machine. When $|G|$ is large, `course/features` draws features instead.
#
# ## Try it
#
# `invariance run course/averaging -p petals 9`: a larger group, a larger gain? And `-p petals 1`?
