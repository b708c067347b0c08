# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Shifted signals: compare windows on their overlap
#
# *Zero-filled shifts treat zeros as measurements. A comparison on the overlap alone is better.*
#
# A recording is cut into windows of 128 samples at random positions: new samples enter on one side,
# and samples leave on the other. Each window has its own level and gain. The class is that of the
# source; a shift by up to 32 samples does not matter.
#
# - **cyclic shifts**: samples that leave come back on the other side, which no recording does;
# - **zero-filled shifts**: samples that leave are lost and zeros come in, a step as large as the level;
# - **augmentation**: eight zero-filled copies of each training signal;
# - **overlap**: `OverlapFit` compares only the samples that both windows show. `scale="size"`
#   takes squared distances per sample of the overlap; `scale="standard"` removes level and gain
#   there, which gives the normalized cross-correlation;
# - **centred, zero-filled**: a careful user subtracts each signal's mean first.
#
# All methods have the same learner, regularised least squares, and choose bandwidth and penalty by
# leave-one-out on the training signals alone.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 1

# %%
import matplotlib.pyplot as plt
import numpy as np
from _comparison import show
from _trials import all_trials, classification_trial
from scipy.ndimage import gaussian_filter1d

from invariance.beyond import OverlapFit
from invariance.companion import Run, colour
from invariance.evaluation import best_by_leave_one_out, best_with_copies
from invariance.features import median_gamma
from invariance.groups import Translations
from invariance.kernels import BestFit, Gaussian
from invariance.linear import RLSClassifier

run = Run("compare/signals", profile=profile, seed=seed)

# %% tags=["settings"]
FULL = not run.quick
LENGTH = 128
MAX_SHIFT = 32
N_CLASSES = 4
NOISE = 0.3
if FULL:
    SIZES = (20, 60, 200)
    N_DRAWS = 10
    N_TEST = 500
else:
    SIZES = (40,)
    N_DRAWS = 2
    N_TEST = 60

# %% [markdown]
# ## The recordings
#
# Four smooth random sources of 192 samples; a window begins anywhere, is multiplied by a gain
# (log-normal, 30 %), gets a level (standard normal) and noise of 0.3 times the source's size.

# %%
sources = np.random.default_rng(seed).standard_normal((N_CLASSES, LENGTH + 2 * MAX_SHIFT))
sources = gaussian_filter1d(sources, 3, axis=1)
sources /= sources.std(axis=1, keepdims=True)


def signals(n, rng):
    """Return windows at random positions, with random levels and gains, and their classes."""
    y = rng.permutation(np.arange(n) % N_CLASSES)
    starts = rng.integers(0, 65, n)
    columns = starts[:, None] + np.arange(LENGTH)
    windows = sources[y[:, None], columns]
    gains = np.exp(0.3 * rng.standard_normal((n, 1)))
    levels = rng.standard_normal((n, 1))
    noise = NOISE * rng.standard_normal(windows.shape)
    return gains * windows + levels + noise, y


# %%
X, y = signals(12, np.random.default_rng(seed + 1))
levels = X[y < 2].mean(axis=1)
fig, axis = plt.subplots(figsize=(7, 3.2))
for label, method in enumerate(("cdf", "haar")):
    axis.plot(X[y == label][:3].T, color=colour(method), alpha=0.8)
title = f"Windows of two sources have levels from {levels.min():.1f} to {levels.max():.1f}"
axis.set(xlabel="sample", ylabel="value", title=title)
run.figure(
    fig, "signals", caption="Three windows of each of two of the four sources, in two colours."
)

# %% [markdown]
# ## The methods
#
# Zero-filled and cyclic shifts are best fits over two families of shifts. The overlap methods use the
# zero-filled shifts only to find the overlap.

# %%
zero_filled = Translations(LENGTH, max_shift=MAX_SHIFT, boundary="zero")
cyclic = Translations(LENGTH, max_shift=MAX_SHIFT)
NAMES = {
    "raw": "plain kernel",
    "augmentation": "augmentation",
    "ri": "cyclic shifts",
    "ti": "zero-filled shifts",
    "l-ti": "centred, zero-filled",
    "l-ri": "overlap, size",
    "l-ti-ri": "overlap, standard",
}


# %%
def kernels(method, X):
    """Return the candidates of a method, one per bandwidth."""
    gamma = median_gamma(X, random_state=0)
    bases = [Gaussian(factor * gamma) for factor in (0.3, 1.0, 3.0)]
    if method == "ri":
        return [BestFit(base, cyclic) for base in bases]
    if method in ("ti", "l-ti"):
        return [BestFit(base, zero_filled) for base in bases]
    if method == "l-ri":
        return [OverlapFit(base, zero_filled) for base in bases]
    if method == "l-ti-ri":
        standard = [Gaussian(gamma) for gamma in (0.5, 1.5, 5.0)]
        return [OverlapFit(base, zero_filled, scale="standard") for base in standard]
    return bases


def centre(X):
    """Subtract the mean of each signal."""
    return X - X.mean(axis=1, keepdims=True)


# %%
def fit(method, X, y, repetition):
    """Return a function from signals to classes."""
    learner = RLSClassifier()
    if method == "augmentation":
        copies = zero_filled.act(zero_filled.sample(8, repetition), X)
        return best_with_copies(kernels("raw", X), learner, X=X, y=y, moved=copies)
    if method != "l-ti":
        return best_by_leave_one_out(kernels(method, X), learner, X=X, y=y)
    centred = centre(X)
    predict = best_by_leave_one_out(kernels(method, centred), learner, X=centred, y=y)
    return lambda X_test: predict(centre(X_test))


# %%
@run.cache
def compare(method, n, repetition):
    rng = np.random.default_rng((seed, repetition, n))
    X, y = signals(n, rng)
    X_test, y_test = signals(N_TEST, rng)
    small_shifts = Translations(LENGTH, 8)
    return classification_trial(
        lambda: fit(method, X, y, repetition),
        X_test,
        y_test,
        group=small_shifts,
        n_transformed=10,
        memory=repetition == 0,
        apart=FULL,
    )


# %% [markdown]
# ## Results
#
# The standardized overlap is the best method; centring helps the zero-filled shifts most.

# %%
trials = all_trials(compare, NAMES, SIZES, N_DRAWS)

# %%
show(
    run,
    trials,
    NAMES,
    score="accuracy (%)",
    discrepancy="share of classes that change with a cyclic shift",
    higher_is_better=True,
)

# %% [markdown]
# ## Consequences of zero filling
#
# A zero-filled shift changes three things at once: the content moves, a step appears at the edge of
# the zeros, and the norm falls. With a level of one and a shift by a quarter of the window the step
# alone contributes 32 to the squared distance. The best fit then prefers the shift with the least
# harmful step, not the matching one. The overlap contains only measured samples. Small overlaps are
# easier to match than large ones, and `scale` accounts for that. If signals return to zero on both
# sides and have no level, `BestFit` over zero-filled shifts is fine.
#
# Best fits need not be positive definite: put `GramTransformer(kernel, repair="clip")` in front of
# `SVC(kernel="precomputed")`. A signal of three channels has shape (1, length, 3), and its channels
# move together. For a hundred thousand signals use features, `OrbitFourier(cyclic, 200)`.
