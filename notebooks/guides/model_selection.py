# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Model selection in a scikit-learn pipeline
#
# One `GridSearchCV` chooses the group and how much of it, kernel or features, bandwidth and penalty:
# groups and kernels are scikit-learn objects with parameters.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
n_train: int = 120  # labelled images

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import SVC

from invariance.companion import Run, Score, curve, label_ends
from invariance.features import GroupCDF, OrbitFourier
from invariance.groups import CyclicTranslations, Translations
from invariance.kernels import Average, BestFit, Gaussian, gram_report
from invariance.linear import RLSClassifier

run = Run("guides/model_selection", profile=profile, seed=seed, n_train=n_train)

# %% tags=["settings"]
SHAPE = (12, 12)
if run.quick:
    N_TEST = 300
    N_FOLDS = 3
    MANY_FEATURES = 400
else:
    N_TEST = 1600
    N_FOLDS = 5
    MANY_FEATURES = 1600

# %% [markdown]
# ## The task
#
# The images are scikit-learn's digits, 8 by 8 pixels, at a random place of a 12 by 12 frame: a shift by
# up to two pixels each way. We pretend not to know this number.

# %%
bundled = load_digits()
rng = np.random.default_rng(seed)
frames = np.zeros((len(bundled.images), *SHAPE), dtype=np.float32)
corners = rng.integers(5, size=(len(frames), 2))
for frame, (top, left), digit in zip(frames, corners, bundled.images, strict=True):
    frame[top : top + 8, left : left + 8] = digit / 16
order = rng.permutation(len(frames))
X = frames.reshape(len(frames), -1)[order]
y = bundled.target[order]
train = np.arange(n_train)
test = np.arange(n_train, n_train + N_TEST)

# %% [markdown]
# ## Nested parameters have names
#
# The bandwidth of the base kernel inside the average inside the classifier in a pipeline has a name.

# %%
model = make_pipeline(SVC(kernel=Average(Gaussian(), Translations(SHAPE, max_shift=1))))
for name in model.get_params():
    if name.startswith("svc__kernel__"):
        print(name)

# %% [markdown]
# ## Groups as candidates
#
# The group is one more parameter.
#
# The shifts by up to one, two or four pixels are not a group. Over them `Average(...,
# side="second")`, the fast form that transforms one argument alone, need not be positive definite (the
# default `side` is), and neither need `BestFit`. `SVC` accepts such kernels silently and stops at a
# stationary point; the held-out folds show whether it is a good one. `gram_report` prints the
# eigenvalues for shifts by up to two pixels.

# %%
GROUPS = {
    "none": Translations(SHAPE, max_shift=0),
    "up to 1 pixel": Translations(SHAPE, max_shift=1),
    "up to 2 pixels": Translations(SHAPE, max_shift=2),
    "up to 4 pixels": Translations(SHAPE, max_shift=4),
    "all, cyclic": CyclicTranslations(SHAPE),
}
all_groups = list(GROUPS.values())
average = Average(Gaussian(), GROUPS["none"], side="second")
best_fit = BestFit(Gaussian(), GROUPS["none"])
over_two = Average(Gaussian(0.3), GROUPS["up to 2 pixels"], side="second")
print(gram_report(over_two(X[train].astype(float))))

# %% [markdown]
# For features there is one more choice: average over 25 random shifts, or over all shifts. A list of
# grids excludes combinations that make no sense.

# %%
fourier = OrbitFourier(n_components=400, random_state=seed)
pooling = GroupCDF(n_components=60, n_bins=5, s="data", random_state=seed)
features_model = Pipeline([("features", fourier), ("classifier", RLSClassifier())])
fourier_grid = {
    "features": [fourier],
    "features__gamma": [0.03, 0.1, 0.3],
    "features__group": all_groups[1:],
    "features__n_transforms": [25, None],
}
pooling_grid = {
    "features": [pooling],
    "features__group": all_groups[1:],
    "features__n_transforms": [25, None],
}

# %%
ESTIMATORS = {
    "SVC, plain": SVC(),
    "SVC, Average": SVC(kernel=average, C=1e3),
    "SVC, BestFit": SVC(kernel=best_fit, C=1e3),
    "features + least squares": features_model,
}
GRIDS = {
    "SVC, plain": {"kernel": [Gaussian()], "kernel__gamma": [0.03, 0.1], "C": [10, 1e3]},
    "SVC, Average": {"kernel__group": all_groups, "kernel__base__gamma": [0.1, 0.3]},
    "SVC, BestFit": {"kernel__group": all_groups, "kernel__base__gamma": [0.03, 0.1]},
    "features + least squares": [fourier_grid, pooling_grid],
}

# %% [markdown]
# `n_jobs` distributes the candidates over processes, or over machines under
# `joblib.parallel_config("dask")`.

# %%
folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
searches = {}
for name, estimator in ESTIMATORS.items():
    search = GridSearchCV(clone(estimator), GRIDS[name], cv=folds)
    searches[name] = search.fit(X[train], y[train])

# %%
GROUP_NAMES = {repr(group): name for name, group in GROUPS.items()}


def held_out(search, i):
    """Return the accuracy over folds (%) of candidate i."""
    results = search.cv_results_
    se = results["std_test_score"][i] / N_FOLDS**0.5
    return Score(100 * results["mean_test_score"][i], 100 * se)


# %%
def in_words(name, value):
    """Return a chosen parameter in words."""
    if name.endswith("group"):
        return f"shifts {GROUP_NAMES[repr(value)]}"
    if value is None:
        value = "all"
    elif not np.isscalar(value):
        value = type(value).__name__
    return f"{name.split('__')[-1]} = {value}"


# %%
rows = []
for name, search in searches.items():
    chosen = [in_words(*item) for item in search.best_params_.items()]
    row = {
        "model": name,
        "candidates": len(search.cv_results_["params"]),
        "chosen": ", ".join(chosen),
        "cross-validated (%)": f"{held_out(search, search.best_index_):.1f}",
        "test (%)": f"{100 * search.score(X[test], y[test]):.1f}",
    }
    rows.append(row)
run.table(
    rows,
    "chosen",
    caption=f"The choices of the search with {n_train} labelled images and {N_FOLDS} folds, "
    f"and accuracies on {len(test)} test images that were not used for it.",
)


# %% [markdown]
# The cross-validated score was maximised, the test score was not. Believe the last column.
#
# ## The cost of sampling shifts
#
# Random features are random in their frequencies and, over a sample, in their shifts.


# %%
def accuracy_of(n_transforms, n_components):
    """Return the test accuracy (%) of random features over the cyclic shifts."""
    features = OrbitFourier(
        GROUPS["all, cyclic"],
        n_components,
        n_transforms=n_transforms,
        gamma=0.3,
        random_state=seed,
    )
    model = make_pipeline(features, RLSClassifier()).fit(X[train], y[train])
    return 100 * model.score(X[test], y[test])


# %%
run.say(
    "Over all cyclic shifts, 100 random features reach {all:.1f} %. Over 25 shifts, drawn once and "
    "the same for every image, they reach {some:.1f} %, and {many} features reach {more:.1f} %.",
    many=MANY_FEATURES,
    all=accuracy_of(None, 100),
    some=accuracy_of(25, 100),
    more=accuracy_of(25, MANY_FEATURES),
)


# %% [markdown]
# An average over a sixth of the group still depends on the position of a digit in the frame. So list the
# whole group if possible.
#
# ## The score of every group
#
# The figure draws the score of every group at its best bandwidth, not only of the winner.


# %%
def best_scores(search):
    """Return the score of each group, at its best bandwidth."""
    results = pd.DataFrame(search.cv_results_)
    results["group"] = [GROUP_NAMES[repr(p["kernel__group"])] for p in results["params"]]
    best = results.groupby("group")["mean_test_score"].idxmax()
    return [held_out(search, best[group]) for group in GROUPS]


# %%
positions = np.arange(len(GROUPS))
average_means, average_errors = np.transpose(best_scores(searches["SVC, Average"]))
means, errors = np.transpose(best_scores(searches["SVC, BestFit"]))
fig, axes = plt.subplots(figsize=(7.4, 3.8))
curve(
    axes,
    positions - 0.08,
    average_means,
    "average-fit",
    average_errors,
    ls=":",
    label="SVC, Average",
)
curve(axes, positions + 0.08, means, "ti", errors, ls=":", label="SVC, BestFit")
axes.set_xticks(positions, GROUPS)
axes.set(xlabel="shifts in the kernel", ylabel="cross-validated accuracy (%)")
axes.set_title(f"BestFit rises from {means[0]:.0f} % without shifts to {max(means):.0f} %")
label_ends(axes)
run.figure(
    fig,
    "groups",
    caption=f"Each at its best bandwidth. Error bars: two standard errors over {N_FOLDS} folds of "
    f"{n_train} images.",
)


# %% [markdown]
# ## Scikit-learn does the rest
#
# - `RLSClassifier` chooses its own penalty by leave-one-out in closed form: no grid for it.
# - Templates are drawn from the same `random_state`: candidates differ by their parameters alone.
# - Scores of two models on the same folds are paired: compare their differences.
