# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Signals that are cut out of longer ones
#
# *Zero-filled shifts take zeros for measurements. What to do instead.*
#
# A recording is cut into windows of 128 samples, each from a random place: something new enters on
# one side, something leaves on the other. Each has a level and a gain of its own. The class is that
# of the source; a shift by up to 32 samples does not matter.
#
# - **cyclic shifts**: what leaves comes back on the other side, which no recording does;
# - **zero-filled shifts**: what leaves is lost and zeros come in, a step as large as the level;
# - **augmentation**: eight zero-filled copies of each training signal;
# - **overlap**: `OverlapFit` compares what both windows show, and nothing else. `scale="size"`
#   takes squared distances per sample of the overlap; `scale="standard"` removes level and gain
#   there, which is the normalised cross-correlation;
# - **centred, zero-filled**: what a careful user does, subtract each signal's mean first.
#
# All have the same learner, regularised least squares, and choose bandwidth and penalty by
# leave-one-out on the training signals alone.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 1

# %%
import matplotlib.pyplot as plt
import numpy as np
from _comparison import show
from scipy.ndimage import gaussian_filter1d

from invariance.beyond import OverlapFit
from invariance.companion import Run, colour
from invariance.evaluation import best_by_leave_one_out, best_with_copies, share_of_changes, trial
from invariance.features import median_gamma
from invariance.groups import Translations
from invariance.kernels import BestFit, Gaussian
from invariance.linear import RLSClassifier

run = Run("compare/signals", profile=profile, seed=seed)

# %% tags=["settings"]
FULL = not run.quick
SIZES = (20, 60, 200) if FULL else (40,)
DRAWS, TEST = (10, 500) if FULL else (2, 60)
LENGTH, SHIFT, CLASSES, NOISE = 128, 32, 4, 0.3
zero = Translations(LENGTH, max_shift=SHIFT, boundary="zero")
cyclic = Translations(LENGTH, max_shift=SHIFT)

# %% [markdown]
# ## The recordings
#
# Four smooth random sources of 192 samples; a window begins anywhere, is multiplied by a gain
# (log-normal, 30 %), gets a level (standard normal) and noise of 0.3 times the source's size.

# %%
sources = np.random.default_rng(seed).standard_normal((CLASSES, LENGTH + 2 * SHIFT))
sources = gaussian_filter1d(sources, 3, axis=1)
sources /= sources.std(axis=1, keepdims=True)


def signals(n, rng):
    y = rng.permutation(np.arange(n) % CLASSES)
    starts = rng.integers(0, 65, n)
    X = np.stack([sources[c, s : s + LENGTH] for c, s in zip(y, starts, strict=True)])
    X *= np.exp(0.3 * rng.standard_normal((n, 1)))
    return X + rng.standard_normal((n, 1)) + NOISE * rng.standard_normal(X.shape), y


X, y = signals(12, np.random.default_rng(seed + 1))
fig, axis = plt.subplots(figsize=(7, 3.2))
for c, method in enumerate(("cdf", "haar")):
    axis.plot(X[y == c][:3].T, color=colour(method), alpha=0.8)
levels = X[y < 2].mean(axis=1)
title = f"Windows of two sources: levels from {levels.min():.1f} to {levels.max():.1f}"
axis.set(xlabel="sample", ylabel="value", title=title)
run.figure(
    fig, "signals", caption="Three windows of each of two of the four sources, in two colours."
)

# %% [markdown]
# ## The methods

# %%
NAMES = {
    "raw": "plain kernel",
    "augmentation": "augmentation",
    "ri": "cyclic shifts",
    "ti": "zero-filled shifts",
    "l-ti": "centred, zero-filled",
    "l-ri": "overlap, size",
    "l-ti-ri": "overlap, standard",
}


def kernels(method, X):
    gammas = [f * median_gamma(X, random_state=0) for f in (0.3, 1.0, 3.0)]
    if method in ("ti", "l-ti", "ri"):
        return [BestFit(Gaussian(g), cyclic if method == "ri" else zero) for g in gammas]
    if method == "l-ri":
        return [OverlapFit(Gaussian(g), zero) for g in gammas]
    if method == "l-ti-ri":
        return [OverlapFit(Gaussian(g), zero, scale="standard") for g in (0.5, 1.5, 5.0)]
    return [Gaussian(g) for g in gammas]


def fit(method, X, y, repetition):
    """A function from signals to classes."""
    learner = RLSClassifier()
    if method == "augmentation":
        moved = zero.act(zero.sample(8, repetition), X)
        return best_with_copies(kernels("raw", X), learner, X=X, y=y, moved=moved)
    centred = (lambda A: A - A.mean(axis=1, keepdims=True)) if method == "l-ti" else (lambda A: A)
    X = centred(X)
    predict = best_by_leave_one_out(kernels(method, X), learner, X=X, y=y)
    return lambda Z: predict(centred(Z))


@run.cache
def compare(method, n, repetition):
    rng = np.random.default_rng((seed, repetition, n))
    (X, y), (Z, truth) = signals(n, rng), signals(TEST, rng)
    return trial(
        lambda: fit(method, X, y, repetition),
        Z,
        score=lambda predicted: 100 * np.mean(predicted == truth),
        discrepancy=lambda f: share_of_changes(f, Translations(LENGTH, 8), X=Z[:10]),
        memory=repetition == 0,
        apart=FULL,
    )


# %% [markdown]
# ## Results

# %%
show(
    run,
    {(m, n): [compare(m, n, r) for r in range(DRAWS)] for m in NAMES for n in SIZES},
    NAMES,
    score="accuracy (%)",
    discrepancy="share of classes that change with a cyclic shift",
    higher_is_better=True,
)

# %% [markdown]
# ## What zero filling does, and what follows
#
# A zero-filled shift changes three things at once: the content moves, a step appears where zeros
# come in, and the norm falls. With a level of one and a shift by a quarter of the window the step
# alone contributes 32 to the squared distance. The best fit then prefers the shift whose step
# hurts least, not the one that matches. On the overlap nothing is made up; small overlaps are
# easier to match than large ones, and `scale` accounts for that. Where signals return to zero on
# both sides and have no level, `BestFit` over zero-filled shifts is fine.
#
# Best fits need not be positive definite: in front of `SVC(kernel="precomputed")` comes
# `GramTransformer(kernel, repair="clip")`. A signal of three channels has shape (1, length, 3), and
# they move together. For a hundred thousand signals take features, `OrbitFourier(cyclic, 200)`.
