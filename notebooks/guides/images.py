# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Few images
#
# A handful of labelled images of each class, and strokes or edges that move a little from one to
# the next. Three things help without any training, and they add up.
#
# | your images | take |
# |---|---|
# | centred, with small deformations | `Scattering`, then any kernel |
# | few, and you can say how they vary | copies by `deform_images`, of the training images alone |
# | photographs, parts of which may be anywhere | `PatchPooling` of some features of patches |
#
# `beyond/few_samples` and `beyond/cifar10` take them to the scale of benchmarks.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import SVC

from invariance.companion import Run, rows
from invariance.datasets import deform_images, load_digits_images
from invariance.features import PatchPooling
from invariance.features.scattering import Scattering

run = Run("guides/images", profile=profile, seed=seed)  # keeps what the notebook makes, no more
digits = load_digits_images()  # bundled with scikit-learn, enlarged to 28 x 28 pixels
labels = digits.target
# they come carefully framed; here they lie and lean as on a sheet of paper
moved = {"linear": 0.15, "shift": 2.0, "bend": 0.6}
images = deform_images(digits.data.astype(np.float32) / 255, **moved, random_state=seed + 1)
order = np.random.default_rng(seed).permutation(len(images))
train, test = order[:50], order[-300:]
X = images.reshape(len(images), -1)

# %% [markdown]
# ## Descriptions that forgive
#
# Fifty images train. A Gaussian support-vector machine sees pixels, then scattering coefficients,
# which hardly change when strokes move by a pixel or two, then averages over patches in each
# quarter of the image, which do not know where in the quarter a patch lies.

# %%
random_features = RBFSampler(gamma=0.2, n_components=200, random_state=seed)
patches = PatchPooling(random_features, (28, 28), size=7, stride=2, grid=2, random_state=seed)
descriptions = {
    "pixels": Normalizer(),
    "scattering": make_pipeline(Scattering((28, 28), n_scales=2), Normalizer()),
    "patches": make_pipeline(patches, Normalizer()),
}


def accuracy_of(description, images, labels_of):
    model = make_pipeline(description, SVC(C=10, gamma=4)).fit(images, labels_of)
    return 100 * model.score(X[test], labels[test])


accuracy = {name: accuracy_of(d, X[train], labels[train]) for name, d in descriptions.items()}

# %% [markdown]
# ## Copies
#
# `deform_images` shears, scales, turns and bends an image a little, differently every time. Only
# training images get copies, and a copy has its original's label. Here they vary as the images
# themselves were made to; on the digits as they come, carefully framed, a trial gained nothing that
# so few test images could tell.

# %%
more = deform_images(np.repeat(images[train], 5, axis=0), **moved, random_state=seed)
copies = np.concatenate([X[train], more.reshape(len(more), -1)])
copied = np.concatenate([labels[train], np.repeat(labels[train], 5)])
for name, description in descriptions.items():
    accuracy[f"{name}, copies"] = accuracy_of(description, copies, copied)

# %%
best = max(accuracy, key=accuracy.get)
fig, axis = plt.subplots(figsize=(6.4, 2.8))
errors = [np.sqrt(value * (100 - value) / len(test)) for value in accuracy.values()]
methods = ["haar" if "copies" in name else "raw" for name in accuracy]
rows(axis, zip(accuracy.values(), errors, strict=True), methods)
axis.set_yticks(range(len(accuracy)), accuracy)
axis.set(
    xlabel="test accuracy (%)",
    title=f"Fifty digits: {accuracy['pixels']:.0f} % by pixels, {accuracy[best]:.0f} % by {best}",
)
run.figure(
    fig,
    "answer",
    caption=f"One sample, {len(test)} test images; bars of two binomial standard errors.",
)

# %% [markdown]
# ## Choosing
#
# How far copies may stray is chosen by leaving out each image *together with its copies*: a copy
# of what is held out must not train. `invariance.linear.left_out_with_copies` does that for ridge
# regression from one factorisation.
