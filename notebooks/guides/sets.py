# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Sets: points, molecules, patches
#
# Some data are *sets*: points of a scan, atoms of a molecule, patches of an image. Their order
# means nothing and their number varies. This guide goes from a list of arrays to a model in a pipeline.
# Then it treats sets that may be rotated, and molecules and images as sets of their parts.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %% [markdown]
# ## From a list of arrays
#
# `pad_sets` turns them into one array $(n, m, d)$: $m$ is the size of the largest set, and missing
# points are NaN. All kernels and features of sets take this array.

# %%
import numpy as np
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from invariance.beyond import (
    MatchingKernel,
    PlaneRotations,
    Rotations3D,
    SetFeatures,
    SetKernel,
    atom_environments,
    pad_sets,
    patch_sets,
    unpad_sets,
)
from invariance.features import OrbitFourier, OrbitNystroem
from invariance.groups import OnPoints, SignFlips
from invariance.kernels import Average, BestFit, Gaussian, GramTransformer, Hyperkernel
from invariance.linear import RLSRegressor

# %%
rng = np.random.default_rng(seed)
list_of_arrays = []
for n_points in rng.integers(5, 11, 80):
    list_of_arrays.append(rng.standard_normal((n_points, 2)))
X = pad_sets(list_of_arrays)
sizes = [len(points) for points in unpad_sets(X)]
print(X.shape, sizes[:5])

# %% [markdown]
# The targets do not change with a rotation of a set: its largest distance, and whether that is above
# the median.


# %%
def largest_distance(points):
    differences = points[:, None] - points
    return np.linalg.norm(differences, axis=2).max()


y = np.array([largest_distance(points) for points in list_of_arrays])
label = y > np.median(y)


def mean_score(model, targets):
    """Return the mean score over four folds."""
    return cross_val_score(model, X, targets, cv=4).mean()


# %% [markdown]
# ## Kernels of sets
#
# `SetKernel` is the mean of a kernel over all pairs of points; `MatchingKernel` is the best one-to-one
# matching of the points. `SVC` takes them, sums and products of them are kernels, and
# grid search finds the parameters of their base.

# %%
kernel = SetKernel(Gaussian(gamma=1.0))
print(kernel(X[:3]).round(3))
classifier = SVC(kernel=kernel, C=100)
print("SVC:", mean_score(classifier, label))

# %%
grid = {"kernel__base__gamma": [0.1, 0.5, 2.0]}
search = GridSearchCV(RLSRegressor(kernel=kernel), grid, cv=4)
search.fit(X, y)
print("R^2:", search.best_score_.round(3), search.best_params_)

# %% [markdown]
# A matching is a maximum, which need not be positive definite. `GramTransformer` repairs the
# matrix on the training sets and applies the same repair to new ones. Estimators of scikit-learn
# that refuse arrays of three axes take the kernel behind `GramTransformer(kernel, repair=None)`.

# %%
matching = GramTransformer(MatchingKernel(Gaussian(0.5)))
model = make_pipeline(matching, SVC(kernel="precomputed"))
print("matching:", mean_score(model, label))

# %% [markdown]
# ## Features for many sets
#
# `SetFeatures` averages a feature map of the points over each set, at a cost that is linear in the
# number of points. `explain` prints the cost of a kernel.

# %%
features = SetFeatures(OrbitFourier(n_components=200, gamma=1.0, random_state=seed))
model = make_pipeline(features, Ridge(1e-3))
print("features:", mean_score(model, y).round(3))
print(kernel.explain(X))

# %% [markdown]
# ## Sets that may be rotated
#
# A group acts in one of two places. *Inside*, each point is compared over its own orbit: points
# at the same distance from the origin then look alike, wherever the other points are. *Outside*, the
# whole set is rotated. The plain mean over pairs is linear in both sets, so both are the same for it.
# A Gaussian kernel between embeddings, `Hyperkernel`, preserves the shape of the set.

# %%
turns = PlaneRotations(n_nodes=32)
inside = SetKernel(Average(Gaussian(1.0), turns))
outside = Average(SetKernel(Gaussian(1.0)), turns)
print("the same:", np.allclose(inside(X[:5]), outside(X[:5])))

# %%
sums = SetKernel(Gaussian(1.0), "sum")
base = Hyperkernel(sums, gamma=0.05)
shape_kernel = Average(base, PlaneRotations(16))
kernels = {"not turned": base, "inside": inside, "whole sets": shape_kernel}
for name, kernel_of_name in kernels.items():
    regressor = RLSRegressor(kernel=kernel_of_name)
    print(f"{name:10}", mean_score(regressor, y).round(3))

rotated = PlaneRotations().act([0.7], X)[0]
change = shape_kernel(rotated, X) - shape_kernel(X)
print("change by turning:", np.abs(change).max())

# %% [markdown]
# An average over `PlaneRotations()` or `Rotations3D()`, without a number of nodes, chooses a rule
# by itself, to a stated tolerance. `OnPoints` lets any other group act on all points of a set
# alike, or on some of their coordinates only: the first coordinate may be a label that stays fixed.

# %%
matching = MatchingKernel(Gaussian(1.0))
best = BestFit(matching, PlaneRotations(n_nodes=12))
print(best(X[:2], rotated[:2]).round(3))

# %%
in_space = rng.standard_normal((3, 3, 3))  # three sets of three points in space
base_in_space = Hyperkernel(SetKernel(Gaussian(0.3)), 1.0)
rotations = Rotations3D(degree=4)
flips = OnPoints(SignFlips(3), 3)
for group in (rotations, flips):
    averaged = Average(base_in_space, group)
    print(averaged(in_space).round(3))

# %% [markdown]
# ## Points that correspond
#
# If the points of all bodies come in the same order (markers on a body, atoms of one molecule as it
# moves), the best of *all* rotations has a closed form. With $M = \sum_i x_i z_i^\top$ and its
# singular values $s_1 \ge s_2 \ge s_3$,
#
# $$ \max_{g \in SO(3)} \langle x, g z \rangle = s_1 + s_2 + \operatorname{sign}(\det M) \, s_3, $$
#
# the superposition of Kabsch (1976). Subtract each body's mean first, and its position does not matter
# either. A mirror image remains a different body.

# %%
body = rng.standard_normal((1, 5 * 3))
rotations = Rotations3D()
rotation = rotations.sample(1, seed)
rotated_body = rotations.act(rotation, body)[0]
pose = BestFit(Gaussian(0.2), rotations)
print("turned:", pose(body, rotated_body).round(6))
print("mirrored:", pose(body, -body).round(3))
print(pose.explain(body))

# %% [markdown]
# For sets without an order there is no such form: `BestFit` of a kernel of sets takes rotations
# that are listed, as above.
#
# ## Molecules are sets of atoms
#
# `atom_environments` describes every atom by its surroundings, which no rotation changes: smooth
# histograms of distances to each element, and of triangles with each pair of elements. With
# `labelled=True` only atoms of the same element are compared; an energy needs sums instead of means.

# %%
charges = np.array([[8, 1, 1], [16, 1, 1], [6, 8, 0]])  # water, hydrogen sulphide, carbon monoxide
positions = np.array(
    [
        [[0.0, 0.0, 0.12], [0.76, 0.0, -0.48], [-0.76, 0.0, -0.48]],
        [[0.0, 0.0, 0.1], [0.97, 0.0, -0.83], [-0.97, 0.0, -0.83]],
        [[0.0, 0.0, 0.0], [0.0, 0.0, 1.13], [0.0, 0.0, 0.0]],
    ]
)
atoms = atom_environments(positions, charges)  # in angstroms; unit=1.88972612 for Bohr
print(atoms.shape)
same_elements = SetKernel(Gaussian(0.1), "sum", labelled=True)
print(same_elements(atoms).round(3))

# %% [markdown]
# For thousands of molecules: landmarks among the atoms of each element, features summed over
# molecules, and any linear model. `compare/atoms` does it on QM7.

# %%
landmarks = OrbitNystroem(None, 1, kernel=Gaussian(0.1), random_state=seed)
of_molecules = SetFeatures(landmarks, "sum", labelled=True, random_state=seed)
print(of_molecules.fit_transform(atoms[:2]).shape)

# %% [markdown]
# ## Images are sets of patches
#
# `patch_sets` cuts images into patches; `place` appends the position of each patch, so that a Gaussian
# kernel compares patches near each other. This example also averages over a change of sign.

# %%
images = rng.random((6, 8 * 8))
patches = patch_sets(images, (8, 8), size=3, stride=2, place=0.1)
print(patches.shape)
of_patches = SetKernel(Gaussian(0.5))
print(of_patches(patches)[0].round(3))

signs = OnPoints(SignFlips(9), 11, coordinates=range(9))
up_to_sign = Average(Gaussian(0.5), signs, n_transforms=8)
print(SetKernel(up_to_sign)(patches[:2]).round(3))

# %% [markdown]
# A point may also carry a weight, its last coordinate (`weighted=True`). `compare/sets` compares these
# methods on two tasks.

# %%
from invariance.companion import Run

run = Run("guides/sets", profile=profile, seed=seed)
kernels = {
    "mean over pairs": kernel,
    "whole sets, not turned": base,
    "whole sets, averaged over turns": shape_kernel,
}
rows = []
for name, kernel_of_name in kernels.items():
    score = mean_score(RLSRegressor(kernel=kernel_of_name), y)
    rows.append({"kernel": name, "R^2": f"{score:.3f}"})
run.table(rows, "scores", caption="Largest distance in 80 sets: cross-validated R^2.")
