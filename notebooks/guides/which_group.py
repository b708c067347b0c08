# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # I do not know which group
#
# *Does building a group in lower the error on points that the model has not seen?* `symmetry_test`
# asks that, for several groups at once, and says so when the data do not tell.

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
# scikit-learn's digits, each at a random place of a frame of 12 by 12 pixels (at full scale MNIST as
# it is, 28 by 28): a few labelled ones, and some that are kept for the end.

# %%
rng = np.random.default_rng(seed)
data = load_digits() if run.quick else load_mnist()
if run.quick:
    images = np.zeros((len(data.target), 12, 12))
    corners = rng.integers(5, size=(len(images), 2))
    for image, (down, right), digit in zip(images, corners, data.images, strict=True):
        image[down : down + 8, right : right + 8] = digit / 16
else:
    images = data.data.reshape(-1, 28, 28) / 255
order, shape = rng.permutation(len(images))[: n_train + 600], images.shape[1:]
X, y = images[order].reshape(len(order), -1).astype(float), data.target[order]
X, y, X_kept, y_kept = X[:n_train], y[:n_train], X[n_train:], y[n_train:]
run.uses_data(data)

# %% [markdown]
# ## Candidates
#
# Write down what *might* leave a label as it is, wrong ideas included. Few are better than many:
# p-values are multiplied by their number.

# %%
groups = {
    "shifts by 2": Translations(shape, max_shift=2),
    "all cyclic shifts": CyclicTranslations(shape),
    "upside down": Rotations(shape, degrees=[0, 180]),
    "quarter turns": Rotations(shape, degrees=[0, 90, 180, 270]),
}
gamma = 2.4 / np.median(((X[:50, None] - X[None, :50]) ** 2).sum(axis=2))
model = RLSClassifier(kernel=Gaussian(gamma))

# %% [markdown]
# ## The test
#
# The plain model and the model with each group are fitted to nine tenths of the points and make
# errors on the rest, ten times, for three divisions into tenths. Differences are paired. The folds
# share points, so the interval is wider than that of thirty independent ones (Nadeau and Bengio
# 2003).

# %%
test = symmetry_test(model, groups, X, y)
print(test)

# %% [markdown]
# ## How to read it
#
# - *lowers the error*: build it in. It need not be a symmetry of nature; it helps this model with
#   this many points.
# - *raises the error*: what the group calls equal is not, as a six and a nine.
# - *the data do not tell*: the interval holds zero. With so few points that is the usual answer
#   for a small gain; more labelled points narrow it by the root of their number. It does not say
#   that there is no symmetry.

# %%
fig, axis = plt.subplots(figsize=(7, 2.8))
for i, gain in enumerate(test):
    axis.plot(gain.interval, [i, i], color=colour("cdf"))
    axis.plot(gain.gain, i, "o", color=colour("cdf"))
axis.axvline(0, color="black", linewidth=0.8)
axis.set_yticks(range(len(groups)), list(groups))
axis.set(
    xlabel="gain (percentage points of error)",
    title=f"Shown to lower the error: {test.best.name if test.best else 'none'}",
)
run.figure(
    fig,
    "gains",
    alt="Horizontal intervals of gains in percentage points of error beside a line at zero: "
    + "; ".join(f"{gain.name} {gain.interval[0]:.1f} to {gain.interval[1]:.1f}" for gain in test)
    + ".",
    caption=f"Ten folds of {n_train} labelled images, drawn three times. The intervals hold all "
    "four true gains with probability 95 %.",
)

# %% [markdown]
# ## The answer, on points that were kept
#
# Once, at the end, with the group that the test chose (or none).

# %%
best = test.best
chosen = model if best is None else built_in(model, groups[best.name])
for name, one in {"plain": model, best.name if best else "no group": chosen}.items():
    error = 100 * (1 - one.fit(X, y).score(X_kept, y_kept))
    print(f"{name:20s} error on {len(y_kept)} kept images: {error:.1f} %")

# %% [markdown]
# ## Groups inside groups
#
# A larger group can pass for the sake of a smaller one inside it, as half turns among quarter turns.
# `find_symmetry(model, groups, X, y)` compares each group with those inside it and names the largest
# that the data support: `beyond/which_symmetry` says how often it is right.
#
# ## Other models
#
# `symmetry_test` takes any estimator: a kernel object becomes its average over the group, a feature
# map gets the group as its parameter, and anything else is fitted to moved copies as well
# (`Augmented`). Another meaning is a function away: `build=lambda model, group: ...`.
