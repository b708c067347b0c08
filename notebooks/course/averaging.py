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
# A flower looks the same after a fifth of a turn. A support vector machine that sees points of
# one petal knows nothing about the other four. **How can it learn the symmetry?** By an average.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
petals: int = 5  # of the flower; 1 has no symmetry

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

from invariance.companion import Run, check, panel
from invariance.groups import CyclicShifts, Negation, OrthogonalMatrices
from invariance.kernels import Average, Gaussian

run = Run("course/averaging", profile=profile, seed=seed, petals=petals)
sizes = [10, 20, 40, 80]
n_draws = 8 if run.quick else 100

# %% [markdown]
# ## The picture
#
# A kernel is a function of two points, and may be averaged over both. The **Haar kernel**
#
# $$K(x, z) = \frac{1}{|G|^2} \sum_{g, g'} k_0(g x, g' z)$$
#
# is invariant in each, and so is every decision of a machine that uses it. In code it is one call,
# `Average`.


# %%
def flower(n, rng):
    """Return points of the plane, and whether they lie on a petal."""
    X = rng.uniform(-1, 1, size=(n, 2))
    angle = np.arctan2(X[:, 1], X[:, 0])
    radius = np.hypot(X[:, 0], X[:, 1])
    boundary = 0.65 + 0.3 * np.cos(petals * angle)
    return X, (radius < boundary).astype(int)


angle = 2 * np.pi / petals
cosine = np.cos(angle)
sine = np.sin(angle)
turns = OrthogonalMatrices([[[cosine, -sine], [sine, cosine]]])  # the group that it generates
base = Gaussian(gamma=10.0)
KERNELS = {"plain": base, "Haar": Average(base, turns)}

# %%
X, y = flower(40, np.random.default_rng(seed))
X_test, y_test = flower(2000, np.random.default_rng([seed, 1]))
ticks = np.linspace(-1, 1, 61)
grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
fig, panels = plt.subplots(1, 2, figsize=(8.2, 4.1), sharey=True)
for axes, (name, kernel) in zip(panels, KERNELS.items(), strict=True):
    machine = SVC(kernel=kernel, C=100).fit(X, y)
    decisions = machine.decision_function(grid).reshape(61, 61)
    accuracy = 100 * machine.score(X_test, y_test)
    axes.contourf(decisions, [-9e9, 0, 9e9], extent=(-1, 1, -1, 1), colors=["#ffffff", "#9cc2e8"])
    axes.scatter(X[:, 0], X[:, 1], c=y, cmap="coolwarm_r", s=18, edgecolors="black", linewidths=0.4)
    axes.set(xticks=[-1, 0, 1], yticks=[-1, 0, 1], aspect="equal")
    axes.set_title(f"The {name} kernel is right at {accuracy:.0f} %")
run.figure(
    fig,
    "flower",
    caption=f"Decisions of a support vector machine after the same {len(X)} points (shaded: petal).",
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

# %% jupyter={"source_hidden": true} tags=["hide-input"]
ring = CyclicShifts(6)
readings = np.random.default_rng(1).standard_normal((7, 6))


def cube_of_first(X):
    return X[:, 0] ** 3


def first_two(X):
    return X[:, 0] * X[:, 1]


def is_average(mean):
    signs = Negation()
    of_neighbours = (readings * np.roll(readings, 1, axis=1)).mean(axis=1)
    return (
        np.allclose(mean(cube_of_first, ring, readings), (readings**3).mean(axis=1))
        and np.allclose(mean(first_two, ring, readings), of_neighbours)
        and np.allclose(mean(cube_of_first, signs, readings), 0)
    )


check(
    averaged,
    is_average,
    "group.act returns one batch of points for each element: what does f make of each?",
    "apply f to every transformed batch, then take the mean over the first axis",
    why="it agrees with the definition for two functions and two groups",
)

# %% [markdown]
# <details><summary>Solution</summary>
#
# ```python
# def averaged(f, group, X):
#     batches = group.act(group.elements(), X)
#     return np.mean([f(batch) for batch in batches], axis=0)
# ```
# </details>
#
# **Exercise 2.** Averages can also destroy. Find six weights, not all zero, such that the average
# of the linear function $f(x) = \langle w, x \rangle$ over all shifts of a ring is zero everywhere.

# %% tags=["exercise"]
w = ...  # six numbers


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def averages_to_zero(w):
    averages = (ring.act(ring.elements(), readings) @ np.array(w)).mean(axis=0)
    return np.any(w) and np.abs(averages).max() < 1e-9 * np.linalg.norm(w)


check(
    w,
    averages_to_zero,
    "every weight meets every place once: write the average as a product of two sums",
    "the average is the mean of w times the sum of x",
    why="the weights sum to zero, so the average is zero for every x",
)

# %% [markdown]
# <details><summary>Solution</summary>
#
# ```python
# w = [1.0, -1.0, 0.0, 0.0, 0.0, 0.0]
# ```
#
# The average of a linear function depends on the sum of $x$ alone: average something *nonlinear*, such
# as the Gaussian kernel.
# </details>
#
# ## The gain
#
# We compare the plain kernel, the Haar kernel, and the plain kernel with *augmentation*: all turned
# copies of each training point are added to the training set.

# %%
METHODS = {"plain": "raw", "Haar": "haar", "augmented": "augmentation"}
scores = {name: np.empty((n_draws, len(sizes))) for name in METHODS}


def score(kernel, points, labels):
    machine = SVC(kernel=kernel, C=100).fit(points, labels)
    return 100 * machine.score(X_test, y_test)


for draw in range(n_draws):
    X, y = flower(max(sizes), np.random.default_rng([seed, 2, draw]))
    for i, n in enumerate(sizes):
        copies = turns.act(turns.elements(), X[:n]).reshape(-1, 2)
        labels_of_copies = np.tile(y[:n], turns.order)
        scores["plain"][draw, i] = score(base, X[:n], y[:n])
        scores["Haar"][draw, i] = score(KERNELS["Haar"], X[:n], y[:n])
        scores["augmented"][draw, i] = score(base, copies, labels_of_copies)

# %%
curves = {name: (METHODS[name], values) for name, values in scores.items()}
means = {name: values[:, 1].mean() for name, values in scores.items()}
fig, axes = plt.subplots()
panel(axes, sizes, curves, log="x", xlabel="training points", ylabel="test accuracy (%)")
axes.set_title(
    f"With {sizes[1]} points the Haar kernel has {means['Haar']:.0f} %, the plain {means['plain']:.0f} %"
)
run.figure(fig, "curve", caption=f"Bars: two standard errors over {n_draws} draws.")

# %% [markdown]
# Augmentation has nearly the same effect, at $|G|$ times the points.
#
# **Exercise 3.** By the definition, one value of $K$ takes $|G|^2$ values of $k_0$. A rotation does
# not change distances, $k_0(g x, g' z) = k_0(x, g^{-1} g' z)$. How many values are enough, here?

# %% tags=["exercise"]
values_enough = ...  # a number, or a formula in turns.order

# %% jupyter={"source_hidden": true} tags=["hide-input"]
check(
    values_enough,
    lambda n: n == len(np.unique(turns.elements(), axis=0)),
    "how many different elements are there among all g^-1 g'?",
    "if g and g' run through the group, then so does g^-1 g', and it meets each element equally often",
    why="g^-1 g' is an element of the group, and each occurs equally often",
)

# %% [markdown]
# <details><summary>Solution</summary>
#
# ```python
# values_enough = turns.order
# ```
#
# One sum is enough. `Average` takes only one sum if the group's action is unitary.
# </details>
#
# **Keep:** averaging projects on invariant functions; average something nonlinear; the Haar kernel
# goes into any kernel machine. When $|G|$ is large, `course/features` draws features instead.
#
# ## Try it
#
# `invariance run course/averaging -p petals 9`: a larger group, a larger gain? And `-p petals 1`?
