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
# Which group? How much of it? Kernel or features? Which bandwidth, which penalty? Groups and kernels
# are scikit-learn objects with parameters, so one `GridSearchCV` answers all of it.

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
N_TEST, FOLDS, MANY = (300, 3, 400) if run.quick else (1600, 5, 1600)

# %% [markdown]
# ## The task
#
# scikit-learn's digits, 8 by 8 pixels, set at a random place of a 12 by 12 frame: a shift by up to
# two pixels each way. We pretend not to know how far.

# %%
bundled = load_digits()
rng = np.random.default_rng(seed)
frame = np.zeros((len(bundled.images), 12, 12), dtype=np.float32)
corners = rng.integers(5, size=(len(frame), 2))
for image, (down, right), digit in zip(frame, corners, bundled.images, strict=True):
    image[down : down + 8, right : right + 8] = digit / 16
order = rng.permutation(len(frame))
X, y = frame.reshape(len(frame), -1)[order], bundled.target[order]
train, test = np.arange(n_train), np.arange(n_train, n_train + N_TEST)
shape = (12, 12)

# %% [markdown]
# ## Names reach all the way down
#
# The bandwidth of the base kernel inside the average inside the classifier in a pipeline has a name.

# %%
model = make_pipeline(SVC(kernel=Average(Gaussian(), Translations(shape, max_shift=1))))
print("\n".join(name for name in model.get_params() if name.startswith("svc__kernel__")))

# %% [markdown]
# ## Groups as candidates
#
# The group is one more parameter. A list of grids keeps combinations that make no sense out of the
# search. For features there is one more choice: average over 25 random shifts, or over all of them.
#
# The shifts by up to one, two or four pixels are not a group. Over them `Average(...,
# side="second")`, the quick form that moves one argument alone, need not be positive definite (the
# default `side` is), and neither need `BestFit`. `SVC` accepts such kernels silently and stops at a
# stationary point; the held-out folds show whether that is a good one. `gram_report` prints what is
# found for shifts by up to two pixels.

# %%
GROUPS = {
    "none": Translations(shape, max_shift=0),
    "up to 1 pixel": Translations(shape, max_shift=1),
    "up to 2 pixels": Translations(shape, max_shift=2),
    "up to 4 pixels": Translations(shape, max_shift=4),
    "all, cyclic": CyclicTranslations(shape),
}
some = list(GROUPS.values())
average = Average(Gaussian(), GROUPS["none"], side="second")
fourier = OrbitFourier(n_components=400, random_state=seed)
pooling = GroupCDF(n_components=60, n_bins=5, s="data", random_state=seed)
of_features = {"features__group": some[1:], "features__n_transforms": [25, None]}
best = SVC(kernel=BestFit(Gaussian(), GROUPS["none"]), C=1e3)
linear = Pipeline([("features", fourier), ("classifier", RLSClassifier())])
grids = [
    {"features": [fourier], "features__gamma": [0.03, 0.1, 0.3]} | of_features,
    {"features": [pooling]} | of_features,
]
of_kernels = {"kernel__group": some, "kernel__base__gamma": [0.1, 0.3]}
CANDIDATES = {
    "SVC, plain": (SVC(), {"kernel": [Gaussian()], "kernel__gamma": [0.03, 0.1], "C": [10, 1e3]}),
    "SVC, Average": (SVC(kernel=average, C=1e3), of_kernels),
    "SVC, BestFit": (best, of_kernels | {"kernel__base__gamma": [0.03, 0.1]}),
    "features + least squares": (linear, grids),
}
over_two = Average(Gaussian(0.3), GROUPS["up to 2 pixels"], side="second")
print(gram_report(over_two(X[train].astype(float))))

# %% [markdown]
# `n_jobs` spreads the candidates over processes, or over machines under
# `joblib.parallel_config("dask")`.

# %%
folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
searches = {
    name: GridSearchCV(clone(estimator), grid, cv=folds).fit(X[train], y[train])
    for name, (estimator, grid) in CANDIDATES.items()
}
described = {repr(group): name for name, group in GROUPS.items()}


def held_out(search, i):
    """Accuracy over folds (%) of candidate i."""
    found = search.cv_results_
    spread = found["std_test_score"][i] / FOLDS**0.5
    return Score(100 * found["mean_test_score"][i], 100 * spread)


def in_words(name, value):
    if name.endswith("group"):
        return f"shifts {described[repr(value)]}"
    value = "all" if value is None else value if np.isscalar(value) else type(value).__name__
    return f"{name.split('__')[-1]} = {value}"


run.table(
    [
        {
            "model": name,
            "candidates": len(search.cv_results_["params"]),
            "chosen": ", ".join(in_words(*item) for item in search.best_params_.items()),
            "cross-validated (%)": f"{held_out(search, search.best_index_):.1f}",
            "test (%)": f"{100 * search.score(X[test], y[test]):.1f}",
        }
        for name, search in searches.items()
    ],
    "chosen",
    caption=f"What the search chose with {n_train} labelled images, {FOLDS} folds, "
    f"and how it did on {len(test)} test images that took no part in it.",
)

# %% [markdown]
# The cross-validated score was maximised over, the test score was not. Believe the last column.
#
# ## What a sample of shifts costs
#
# Random features are random in their frequencies and, over a sample, in their shifts:

# %%
reached = {}
for n_transforms, n_components in ((None, 100), (25, 100), (25, MANY)):
    how = dict(n_transforms=n_transforms, gamma=0.3, random_state=seed)
    features = OrbitFourier(GROUPS["all, cyclic"], n_components, **how)
    model = make_pipeline(features, RLSClassifier()).fit(X[train], y[train])
    reached[n_transforms, n_components] = 100 * model.score(X[test], y[test])
run.say(
    "Over all cyclic shifts, 100 random features reach {all:.1f} %. Over 25 shifts, drawn once and "
    "the same for every image, they reach {some:.1f} %, and {many} features reach {more:.1f} %.",
    many=MANY,
    all=reached[None, 100],
    some=reached[25, 100],
    more=reached[25, MANY],
)

# %% [markdown]
# An average over a sixth of the group still sees where in the frame a digit stands. So list the
# group where it can be listed.
#
# ## The whole dial
#
# The score of every group, at its best bandwidth, not only of the winner.

# %%
fig, axes = plt.subplots(figsize=(7.4, 3.8))
for offset, name, method in ((-0.08, "SVC, Average", "average-fit"), (0.08, "SVC, BestFit", "ti")):
    found = pd.DataFrame(searches[name].cv_results_)
    found["group"] = [described[repr(p["kernel__group"])] for p in found["params"]]
    best = found.groupby("group")["mean_test_score"].idxmax()
    dial = [held_out(searches[name], best[group]) for group in GROUPS]
    x, (means, errors) = np.arange(len(GROUPS)) + offset, np.transpose(dial)
    curve(axes, x, means, method, errors, ls=":", label=name)
axes.set_xticks(range(len(GROUPS)), GROUPS)
axes.set(
    xlabel="shifts in the kernel",
    ylabel="cross-validated accuracy (%)",
    title=f"{name}: from {means[0]:.0f} % without shifts to {max(means):.0f} %",
)
label_ends(axes)
run.figure(
    fig,
    "groups",
    caption=f"Each at its best bandwidth. Error bars: two standard errors over {FOLDS} folds of "
    f"{n_train} images.",
)

# %% [markdown]
# ## The rest is scikit-learn
#
# - `RLSClassifier` chooses its own penalty by leave-one-out in closed form: no grid for it.
# - Templates are drawn from the same `random_state`: candidates differ by their parameters alone.
# - Scores of two models on the same folds are paired: compare their differences.
