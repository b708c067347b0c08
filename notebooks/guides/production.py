# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Production: save, serve and monitor a trained model
#
# How much does a chosen model cost, how is it stored, and how does it answer a million questions in a
# fixed amount of memory?

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
import tempfile
from pathlib import Path

import joblib
import numpy as np
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline

import invariance
from invariance import config_context
from invariance.companion import Run
from invariance.core.parallel import by_rows
from invariance.evaluation import share_of_changes
from invariance.features import OrbitFourier
from invariance.groups import Translations
from invariance.kernels import BestFit, Gaussian
from invariance.linear import BlockRidgeClassifier, RLSClassifier

run = Run("guides/production", profile=profile, seed=seed)  # only stores the results

# %%
digits = load_digits()
X = digits.data / 16
X_train = X[:1000]
y_train = digits.target[:1000]
X_new = X[1000:]
y_new = digits.target[1000:]
shifts = Translations((8, 8), max_shift=1)

# %% [markdown]
# ## 1. Estimate the cost first
#
# `explain` prints the algorithm of a kernel or feature map, its time and its memory. The cost of a
# kernel's prediction grows with the number of training points; the cost of features does not.

# %%
kernel = BestFit(Gaussian(0.05), shifts)
many = np.tile(X_train, (100, 1))
features = OrbitFourier(shifts, 300, gamma=0.05, random_state=seed).fit(X_train)
costs = {
    "fit": kernel.explain(X_train),
    "predict": kernel.explain(X_new, X_train),
    "predict 100 times as many": kernel.explain(many, X_train),
    "features of as many": features.explain(many),
}
rows = [{"step": step, "operations": cost.operations} for step, cost in costs.items()]
run.table(
    rows,
    "operations",
    caption=f"Operations of four steps. The last in words: {costs['features of as many']}",
)

# %% [markdown]
# ## 2. Fit, and store
#
# joblib writes a fitted pipeline to a file. Store the versions of the packages with it: only these
# versions are guaranteed to read the pickle. Read only files that you wrote, because a pickle can run
# code.

# %%
model = make_pipeline(features, RLSClassifier()).fit(X_train, y_train)
folder = tempfile.TemporaryDirectory()  # in production: a folder of your own
path = Path(folder.name) / "digits.joblib"
content = {
    "model": model,
    "versions": {"invariance": invariance.__version__, "numpy": np.__version__},
    "n_features": X.shape[1],
}
joblib.dump(content, path, compress=3)
print(f"{path.name}: {path.stat().st_size / 2**20:.2f} MiB")

# %% [markdown]
# On the other machine, check the versions, and the answers to a few points that are sent with the
# model.

# %%
stored = joblib.load(path)
stored_model = stored["model"]
assert stored["versions"]["numpy"] == np.__version__, "made by another NumPy: compare answers first"
assert np.array_equal(stored_model.predict(X_new[:20]), model.predict(X_new[:20]))
score = stored_model.score(X_new, y_new)
probabilities = stored_model.predict_proba(X_new)
print(f"accuracy {score:.3f}; most certain answer {probabilities.max():.3f}")

# %% [markdown]
# ## 3. Many points, fixed memory
#
# Temporary arrays are bounded (by 256 MiB if you do not change it), results are not. `by_rows` predicts
# by blocks of rows, in several processes under `joblib.parallel_config`, and keeps the order.

# %%
with config_context(block_bytes=32 * 2**20):
    predicted = by_rows(stored_model.predict, X_new, block_rows=200)
assert np.array_equal(predicted, model.predict(X_new))
print(predicted.shape)

# %% [markdown]
# ## 4. When new labels arrive
#
# `BlockRidgeClassifier` keeps sums, to which new points are added: earlier points are not needed
# again.

# %%
learner = BlockRidgeClassifier(alpha=1e-4)
for rows in np.array_split(np.arange(1000), 5):
    learner.partial_fit(features.transform(X_train[rows]), y_train[rows], classes=np.arange(10))
print(f"after {learner.n_seen_} points: {learner.score(features.transform(X_new), y_new):.3f}")

# %% [markdown]
# ## 5. Monitoring
#
# - **The inputs**: a value that is not finite, or a row of another length, raises an error. Log it.
# - **The symmetry**: the share of answers that change when a new point is transformed is an early
#   sign that inputs have drifted.

# %%
changed = share_of_changes(stored_model.predict, shifts, X=X_new[:50])
print(f"{100 * changed:.1f} % of answers change under a shift by one pixel")
