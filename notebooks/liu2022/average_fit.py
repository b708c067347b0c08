# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # What an average forgets: average fit and augmentation
#
# *Liu, Kumar, Zhou and Liu (2022), section 2.3.*
#
# The older way to an invariant kernel is the mean over transformations,
#
# $$K_{\mathrm{avg}}(x, z)
#   = \frac{1}{|\mathcal{G}|} \sum_{T \in \mathcal{G}} K_{\mathrm{base}}(T x, z).$$
#
# The paper says: over translations, and with a *linear* base kernel, nothing of an image is left but
# its brightness. And an SVM on data augmented by all translates of every sample *is* an SVM with the
# average-fit kernel. We check both, and then ask whether the conclusion, "a poor classifier", follows.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
degree: int = 8  # of the polynomial kernel on digits

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from invariance.companion import Run, panel
from invariance.groups import CyclicTranslations
from invariance.kernels import Average, BestFit, Linear, Polynomial

run = Run("liu2022/average_fit", profile=profile, seed=seed, degree=degree)

# %% tags=["settings"]
SIZES, DRAWS = {"quick": ((50, 100), 2), "full": ((50, 100, 200, 500), 10)}[profile]

# %% [markdown]
# ## Brightness only
#
# Summing all translates of an image gives every pixel the image's mean. Hence $K_{\mathrm{avg}}(x,
# z) = \frac{1}{m}\langle \bar x \mathbf{1}, z\rangle = \bar x \bar z$ with the normalised linear
# kernel $\frac{1}{m}\langle x, z \rangle$ of section 2.2. The paper prints $m\, \bar x \bar z$, which
# belongs to the kernel without $\frac{1}{m}$; an SVM takes the factor up in $C$.


# %%
def relative(found, stated):
    return np.abs(found - stated).max() / np.abs(stated).max()


differences, from_printed = [], []
for shape in ((4, 4), (7, 5), (16, 16), (1, 30)):
    X, Z = run.rng.standard_normal((2, 20, int(np.prod(shape))))
    average = Average(Linear(), CyclicTranslations(shape))(X, Z) / X.shape[1]
    brightness = np.outer(X.mean(axis=1), Z.mean(axis=1))
    differences.append(relative(average, brightness))
    from_printed.append(relative(average, X.shape[1] * brightness))
# Rotations of annular images leave one number a ring.
rings = run.rng.standard_normal((2, 20, 6, 8))
average = Average(Linear(), CyclicTranslations((6, 8), axes=(1,)))(*rings.reshape(2, 20, -1))
means = rings.mean(axis=3)
differences.append(relative(8 * means[0] @ means[1].T, average))
run.claim(
    "liu2022/average-fit-linear",
    difference=differences,
    tolerance=1e-10,
    note="four image shapes, and the mean brightness of each ring under rotations",
)
run.claim(
    "liu2022/average-fit-factor",
    difference=from_printed,
    tolerance=1e-10,
    note="the printed factor m belongs to the kernel without 1/m; with the normalised kernel the "
    "average is the product of the two brightnesses",
)

# %% [markdown]
# ## Augmentation is average fit
#
# In the dual of an SVM on all $|\mathcal{G}| n$ translates, a transformation of all samples at
# once changes nothing, so there is a solution whose multipliers are equal along orbits,
# $\alpha_{i, T} = \alpha_i / |\mathcal{G}|$. Put into the decision function, the sum over $T$
# becomes the average-fit kernel, and $C$ for each of the augmented samples corresponds to
# $|\mathcal{G}|\, C$ for each sample. We compare decision functions on noisy 4 × 4 patterns.

# %%
group = CyclicTranslations((4, 4))
prototypes = run.rng.standard_normal((2, 16))


def patterns(n, noise, rng):
    """Noisy copies of two patterns, each at a random place."""
    y = np.arange(n) % 2
    moved = group.act(group.sample(n, rng.integers(2**31)), prototypes)
    return moved[np.arange(n), y] + noise * rng.standard_normal((n, 16)), y


new, _ = patterns(200, 0.5, run.rng)
gaps = []
for base in (Linear(), Polynomial(2, gamma=1 / 16), Polynomial(8, gamma=1 / 64)):
    for C in (0.001, 0.1):
        X, y = patterns(24, 0.5, run.rng)
        orbit = group.act(group.elements(), X).reshape(-1, 16)
        augmented = SVC(kernel=base, C=C, tol=1e-7).fit(orbit, np.tile(y, group.order))
        averaged = SVC(kernel=Average(base, group), C=group.order * C, tol=1e-7).fit(X, y)
        gaps.append(relative(augmented.decision_function(new), averaged.decision_function(new)))
run.claim(
    "liu2022/augmentation-equals-average",
    difference=gaps,
    tolerance=1e-6,
    note="relative to the largest decision value, solved to 1e-7",
)

# %% [markdown]
# ## Poor, but when?
#
# "This yields a poor classifier since it only leverages the average brightness level" holds for
# the linear kernel. A polynomial average keeps correlations of pixels (translation averages of
# monomials). So we compare average fit and best fit on cyclically translated digits.

# %%
X, y = load_digits(return_X_y=True)
X = X / 16
whole = CyclicTranslations((8, 8))
polynomial = Polynomial(degree, gamma=1 / 16)
METHODS = {
    f"best fit, degree {degree}": ("l-ti-ri", BestFit(polynomial, whole)),
    "best fit, linear": ("ti", BestFit(Linear(), whole)),
    f"average, degree {degree}": ("average-fit", Average(polynomial, whole, side="second")),
    "average, linear": ("local", Average(Linear(), whole)),
    f"degree {degree} alone": ("svm", polynomial),
}


def translated(rows, seed):
    """Each image moved by a random translation of its own."""
    moves = whole.sample(len(rows), seed)
    return np.stack(
        [whole.act(g[None], x[None])[0, 0] for g, x in zip(moves, X[rows], strict=True)]
    )


@run.cache
def accuracy(name, size, draw, degree):
    rows = np.random.default_rng([seed, draw]).permutation(len(X))
    train, test = rows[:size], rows[-400:]
    machine = SVC(kernel=METHODS[name][1], C=10.0).fit(translated(train, draw), y[train])
    return 100 * machine.score(translated(test, draw + 1000), y[test])


scores = {
    name: np.array([[accuracy(name, n, draw, degree) for n in SIZES] for draw in range(DRAWS)])
    for name in METHODS
}

# %%
last = [values[:, -1].mean() for values in scores.values()]
fig, axis = plt.subplots()
panel(
    axis,
    SIZES,
    {name: (METHODS[name][0], values) for name, values in scores.items()},
    log="x",
    xlabel="training samples",
    ylabel="accuracy (%)",
    ylim=(0, 100),
    title=f"{SIZES[-1]} samples, averages: linear {last[3]:.0f} %, degree {degree} {last[2]:.0f} %;\n"
    f"best fits: linear {last[1]:.0f} %, degree {degree} {last[0]:.0f} %",
)
caption = "Mean and two standard errors over draws of samples and translations."
run.figure(fig, "average-against-best", caption=caption)

# %% [markdown]
# How much augmentation can do with as few samples as in Table 2 is measured in `liu2022/few_samples`.
#
# ## Try it
#
# `invariance run liu2022/average_fit -p degree 16`: the average moves towards the maximum.
