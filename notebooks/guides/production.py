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
from time import process_time

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
from invariance.groups import CyclicTranslations, Translations
from invariance.kernels import Average, BestFit, Gaussian
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
# `side` names the argument that a kernel transforms: "first" is the new points, "second" all training
# points. Over a group that keeps lengths (`group.unitary`) the values are the same, and the default,
# "auto", takes the smaller side. Over other sets, such as shifts by up to one pixel, `Average` has a
# double mean by default; there, `side="first"` makes the prediction for one point fast.

# %%
one_point = X_new[:1]
answers = {}
for side in ("auto", "first", "second"):
    kernel = Average(Gaussian(0.05), CyclicTranslations((8, 8)), side=side)
    answers[side] = kernel(one_point, X_train)
    start = process_time()
    for _ in range(20):
        kernel(one_point, X_train)
    milliseconds = 1000 * (process_time() - start) / 20
    print(f"side={side}: {milliseconds:.1f} ms for one point")
assert np.allclose(answers["first"], answers["second"])
assert np.allclose(answers["first"], answers["auto"])

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
# ### Without Python: ONNX
#
# Features over a finite set whose elements act on the templates (`features.side_` is "second") are
# two matrix products with a cosine between them. The classifier's coefficients belong to the second.

# %%
classifier = model[-1]
templates = shifts.act(features.elements_, features.templates_)
n_elements, n_templates, n_pixels = templates.shape
frequencies = templates.reshape(-1, n_pixels).T
phases = np.tile(features.phases_, n_elements)
mean = np.kron(features.weights_[:, None], np.eye(n_templates)) * np.sqrt(2 / n_templates)
weights = mean @ classifier.coef_.T
scores = np.cos(X_new @ frequencies + phases) @ weights + classifier.intercept_
assert features.side_ == "second"
assert np.allclose(scores, model.decision_function(X_new))

# %% [markdown]
# So ten lines write the model for ONNX Runtime, with the package `onnx`; the label is
# `classifier.classes_` at the largest score.
#
#     from onnx import TensorProto, helper, numpy_helper, save
#
#     arrays = dict(frequencies=frequencies, phases=phases, weights=weights, bias=classifier.intercept_)
#     steps = [("MatMul", "X frequencies", "a"), ("Add", "a phases", "b"), ("Cos", "b", "c")]
#     steps += [("MatMul", "c weights", "d"), ("Add", "d bias", "scores")]
#     nodes = [helper.make_node(step, names.split(), [result]) for step, names, result in steps]
#     constants = [numpy_helper.from_array(a.astype("f4"), name) for name, a in arrays.items()]
#     points = helper.make_tensor_value_info("X", TensorProto.FLOAT, ["n", n_pixels])
#     result = helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", weights.shape[1]])
#     graph = helper.make_graph(nodes, "digits", [points], [result], constants)
#     save(helper.make_model(graph), "digits.onnx")

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
