# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Signals
#
# One-dimensional recordings that begin at a random moment: heart beats, waveforms, spectra with a
# drifting axis. Which of the four ways to say "a shift does not matter" fits yours?
#
# | your signals | take |
# |---|---|
# | periodic, one full period per row | `CyclicShifts(d)`: exact and fast |
# | a pulse on a silent background | `BestFit` with `Translations(d, max_shift, boundary="zero")` |
# | windows of something longer | `OverlapFit(base, Translations(d, max_shift))` |
# | very many of them | features: `OrbitFourier`, `GroupCDF`, `MaxFilter` over `Translations` |

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from invariance.companion import Run, rows
from invariance.features import OrbitFourier
from invariance.groups import CyclicShifts, Translations
from invariance.kernels import Average, BestFit, Gaussian, GramTransformer, OverlapFit
from invariance.linear import RLSClassifier

run = Run("guides/signals", profile=profile, seed=seed)  # keeps what the notebook makes, no more
rng = np.random.default_rng(seed)

# %% [markdown]
# ## One row, one signal
#
# 64 samples, three kinds of pulse somewhere in the window, and a level that differs from
# recording to recording.

# %%
t = np.arange(64)


def record(n, level):
    kinds, places = rng.integers(3, size=n), rng.integers(20, 45, size=n)
    u = t - places[:, None]
    pulse = np.exp(-(u**2) / 30) * np.where(kinds == 0, 1.0, np.where(kinds == 1, 0, -1))[:, None]
    pulse += (kinds == 1)[:, None] * np.exp(-(u**2) / 30) * np.cos(u / 1.5)
    return pulse + level * rng.standard_normal((n, 1)) + 0.1 * rng.standard_normal((n, 64)), kinds


shifts = Translations(64, max_shift=24, boundary="zero")  # a length will do for a shape
print(shifts.order, "shifts; a point has shape", shifts.shape)

# %% [markdown]
# ## Four kernels, with and without levels
#
# Best fits need not be positive definite, and with zero-filled shifts of one argument they are
# not even symmetric. `GramTransformer` takes points to rows of a repaired Gram matrix, at
# training and at prediction alike; whatever learner takes a precomputed kernel comes after it.

# %%
kernels = {
    "plain": Gaussian(0.1),
    "average, cyclic": Average(Gaussian(0.1), CyclicShifts(64)),
    "best fit, zero-filled": BestFit(Gaussian(0.1), shifts),
    "overlap": OverlapFit(Gaussian(0.1), shifts),
    "overlap, normalised": OverlapFit(Gaussian(2.0), shifts, scale="standard"),
}
found = {}
for level in (0.0, 2.0):
    (X, y), (Z, truth) = record(60, level), record(200, level)
    for name, kernel in kernels.items():
        gram = GramTransformer(kernel, repair="clip")
        model = make_pipeline(gram, RLSClassifier(kernel="precomputed")).fit(X, y)
        found[level, name] = 100 * model.score(Z, truth)

# %%
LOOKS = ("raw", "average-fit", "best-fit", "local", "haar")
fig, axes = plt.subplots(1, 2, figsize=(9, 2.8), sharey=True, sharex=True)
for axis, level in zip(axes, (0.0, 2.0), strict=True):
    shares = [found[level, name] for name in kernels]
    rows(axis, [(a, np.sqrt(a * (100 - a) / 200)) for a in shares], LOOKS)
    best = max(kernels, key=lambda name: found[level, name])
    axis.set(
        xlabel="accuracy (%)", title=f"Levels of size {level:g}: {max(shares):.0f} % by {best}"
    )
axes[0].set_yticks(range(len(kernels)), kernels)
run.figure(
    fig, "accuracy", caption="200 new signals after 60; bars of two binomial standard errors."
)

# %% [markdown]
# With levels a zero-filled shift brings in a step as large as the level, and the best fit follows
# the step; on the overlap there is none. `scale="standard"` also removes what is left of level and
# gain.
#
# ## Several channels
#
# A signal of three channels has shape (1, length, 3), the channels of a sample beside each other;
# all move together.

# %%
channels = Translations((1, 64, 3), max_shift=8, boundary="zero")
recordings = rng.standard_normal((5, 64, 3))
print(OverlapFit(Gaussian(0.01), channels)(recordings.reshape(5, -1)).shape)

# %% [markdown]
# ## In a pipeline, and for many signals
#
# The same in front of a support vector machine. For a hundred thousand signals take features,
# whose cost grows with their number alone.

# %%
svm = make_pipeline(
    GramTransformer(kernels["overlap"], repair="clip"), SVC(kernel="precomputed", C=100)
)
print("SVC:", svm.fit(X, y).score(Z, truth))
features = make_pipeline(
    OrbitFourier(CyclicShifts(64), 200, gamma=0.1, random_state=seed), RLSClassifier()
)
print("features:", features.fit(X, y).score(Z, truth))
print(kernels["overlap"].explain(np.zeros((10_000, 64))))

# %% [markdown]
# `compare/signals` measures all of this over ten draws.
