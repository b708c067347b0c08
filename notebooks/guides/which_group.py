# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Which group? Candidates tested on held-out data
#
# A symmetry is worth building in if the invariant model has a smaller error on points that it has not
# seen. `symmetry_test` tests this for several groups at once, and its answer may be that the data do
# not decide.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 1
n_train: int = 150  # labelled images

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from invariance.beyond import built_in, symmetry_test
from invariance.companion import Run, colour
from invariance.datasets import load_mnist
from invariance.groups import CyclicTranslations, Rotations, Translations
from invariance.kernels import Gaussian
from invariance.linear import RLSClassifier

run = Run("guides/which_group", profile=profile, seed=seed, n_train=n_train)

# %% [markdown]
# ## Handwritten digits, as if we had never seen one
#
# The data are scikit-learn's digits, each at a random place of a frame of 12 by 12 pixels (in the full
# profile MNIST, 28 by 28). A few images are labelled, and some are kept for the end.

# %%
rng = np.random.default_rng(seed)
if run.quick:
    data = load_digits()
    images = np.zeros((len(data.target), 12, 12))
    corners = rng.integers(5, size=(len(images), 2))
    for image, (top, left), digit in zip(images, corners, data.images, strict=True):
        image[top : top + 8, left : left + 8] = digit / 16
else:
    data = load_mnist()
    images = data.data.reshape(-1, 28, 28) / 255
run.uses_data(data)

# %%
order = rng.permutation(len(images))[: n_train + 600]
shape = images.shape[1:]
points = images[order].reshape(len(order), -1).astype(float)
labels = data.target[order]
X = points[:n_train]
y = labels[:n_train]
X_kept = points[n_train:]
y_kept = labels[n_train:]

# %% [markdown]
# ## Candidates
#
# List transformations that *might* leave a label unchanged, wrong ideas included. Keep the list short:
# p-values are corrected for the number of candidates (Bonferroni).

# %%
groups = {
    "shifts by 2": Translations(shape, max_shift=2),
    "all cyclic shifts": CyclicTranslations(shape),
    "upside down": Rotations(shape, degrees=[0, 180]),
    "quarter turns": Rotations(shape, degrees=[0, 90, 180, 270]),
}
differences = X[:50, None] - X[None, :50]
gamma = 2.4 / np.median((differences**2).sum(axis=2))
model = RLSClassifier(kernel=Gaussian(gamma))

# %% [markdown]
# ## The test
#
# The plain model and the model with each group are compared by ten-fold cross-validation, repeated three
# times. Differences are paired. The folds share points, so the interval is wider than that of thirty
# independent folds (Nadeau and Bengio 2003).

# %%
test = symmetry_test(model, groups, X, y)
print(test)

# %% [markdown]
# ## How to read it
#
# - *lowers the error*: build it in. It need not be a symmetry of nature; it helps this model with
#   this many points.
# - *raises the error*: the group identifies points that differ, such as a six and a nine.
# - *the data do not tell*: the interval contains zero. With so few points that is the usual answer
#   for a small gain; more labelled points narrow the interval by the root of their number. This answer
#   does not mean that there is no symmetry.

# %%
fig, axis = plt.subplots(figsize=(7, 2.8))
descriptions = []
for i, gain in enumerate(test):
    low, high = gain.interval
    axis.plot([low, high], [i, i], color=colour("cdf"))
    axis.plot(gain.gain, i, "o", color=colour("cdf"))
    descriptions.append(f"{gain.name} {low:.1f} to {high:.1f}")
axis.axvline(0, color="black", linewidth=0.8)
axis.set_yticks(range(len(groups)), list(groups))
axis.set_xlabel("gain (percentage points of error)")
if test.best:
    axis.set_title(f"The group that lowers the error most: {test.best.name}")
else:
    axis.set_title("No group is shown to lower the error")
run.figure(
    fig,
    "gains",
    alt="Horizontal intervals of gains in percentage points of error beside a line at zero: "
    + "; ".join(descriptions)
    + ".",
    caption=f"Ten folds of {n_train} labelled images, drawn three times. The intervals hold all "
    "four true gains with probability 95 %.",
)

# %% [markdown]
# ## The answer on the kept points
#
# The kept points are used once, at the end, with the group that the test chose (or without a group).

# %%
models = {"plain": model}
if test.best is None:
    models["no group"] = model
else:
    models[test.best.name] = built_in(model, groups[test.best.name])
for name, candidate in models.items():
    candidate.fit(X, y)
    error = 100 * (1 - candidate.score(X_kept, y_kept))
    print(f"{name:20s} error on {len(y_kept)} kept images: {error:.1f} %")

# %% [markdown]
# ## Subgroups
#
# A larger group may pass only because of a subgroup, such as half turns among quarter turns.
# `find_symmetry(model, groups, X, y)` compares each group with its subgroups and names the largest
# group that the data support: `beyond/which_symmetry` measures how often it is right.
#
# Both tests ask whether a group helps to *predict*. Whether the whole law of the targets is symmetric, its
# variance too, is another question, which randomisation tests answer: `beyond/symmetry_tests` compares them.
#
# ## Other models
#
# `symmetry_test` takes any estimator: a kernel object becomes its average over the group, a feature
# map gets the group as its parameter, and any other model is fitted to transformed copies as well
# (`Augmented`). A function defines any other construction: `build=lambda model, group: ...`. For a group
# that is too large to list, `build=partial(built_in, n_transforms=50)` draws 50 elements.
