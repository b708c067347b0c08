# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lemma 2.1: moving templates instead of data
#
# *Raj et al. (2017), section 2.2.1 and Lemma 2.1.*
#
# A feature averages $\langle \omega, g_i x \rangle$ over $r$ transformed copies of the data point
# $x$. With 62,000 points and $r = 100$ that is six million transformed images. But if the action
# preserves inner products, $\langle \omega, g x \rangle = \langle g^{-1} \omega, x \rangle$: a few
# thousand templates can be transformed instead, once and for all, without looking at the data.
#
# Two things must hold. The density must treat $g$ and $g^{-1}$ alike, or the inverse must be taken.
# And the action must be unitary, which Lemma 2.1 claims for images, once intensities are scaled:
#
# $$T_g[I](x) = |J_g|^{-1/2}\, I(g^{-1} x).$$
#
# The lemma holds for images as functions. On pixels, interpolation spoils it for white noise, that is,
# for random templates.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
mode: float = 0.6  # of the density that is not symmetric, in radians
sigma: float = 0.3  # of the log-normal scalings

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from invariance import groups
from invariance.companion import Run, colour
from invariance.datasets import load_digits_images, load_mnist
from invariance.features import AngularBasis, OrbitFourier
from invariance.groups import Affine, CircleAction, LogNormal, Rotations, VonMises
from invariance.theory import raj2017

run = Run("raj2017/lemma21", profile=profile, seed=seed, mode=mode, sigma=sigma)

# %% [markdown]
# The quick profile has fewer trials and images, and the bundled digits in place of MNIST.

# %% tags=["settings"]
if run.quick:
    N_TRIALS = 10
    N_TRANSFER_TRIALS = 10
    N_IMAGES = 10
    N_ELEMENTS = 8
else:
    N_TRIALS = 100
    N_TRANSFER_TRIALS = 50
    N_IMAGES = 50
    N_ELEMENTS = 20

# %% [markdown]
# ## The lemma on images as functions
#
# Images that can be evaluated anywhere, sums of Gaussian blobs, need no interpolation. Inner
# products are integrals over the plane; on a fine grid the trapezoidal rule is exact to rounding
# for such smooth functions.

# %%
grid = np.linspace(-16, 16, 321)
cell = (grid[1] - grid[0]) ** 2
plane = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(-1, 2)


def blobs(rng):
    """A random sum of blobs, as a function of points."""
    centres = rng.uniform(-1.5, 1.5, (4, 2))
    widths = rng.uniform(0.6, 1.0, 4)
    heights = rng.normal(size=4)

    def image(points):
        squared = np.square(points[:, None] - centres).sum(axis=-1)
        return np.exp(-squared / (2 * widths**2)) @ heights

    return image


def transformed(image, element):
    """|J|^(-1/2) I(A^-1 (x - b))."""
    matrix = element[:, :2]
    shift = element[:, 2]
    inverse = np.linalg.inv(matrix)
    return lambda points: raj2017.jacobian_factor(matrix) * image((points - shift) @ inverse.T)


# %% [markdown]
# With random affine maps (rotation, scale, shear, shift), inner products before and after agree:

# %%
differences = []
for trial in range(N_TRIALS):
    rng = np.random.default_rng([seed, trial])
    first = blobs(rng)
    second = blobs(rng)
    turn = rng.uniform(-180, 180)
    scale = rng.lognormal(0, 0.3)
    shear = rng.normal(0, 0.2)
    shift = rng.normal(0, 0.5, 2)
    element = groups.affine_maps(turn, scale, shear=shear, shift=shift)[0]
    first_values = first(plane)
    second_values = second(plane)
    size = cell * np.sqrt(np.sum(first_values**2) * np.sum(second_values**2))
    before = np.sum(first_values * second_values)
    after = np.sum(transformed(first, element)(plane) * transformed(second, element)(plane))
    differences.append(cell * abs(after - before) / size)

# %% [markdown]
# ## On pixels
#
# Turning a 28 × 28 image means interpolating, and zooming in pushes part of it out of the frame.
# `departure_from_unitary` measures how much of the norm is lost or gained, for digits, which are
# smooth, and for white noise, which resembles a random template.

# %%
data = load_digits_images() if run.quick else load_mnist()
run.uses_data(data)
rng = np.random.default_rng(seed)
rows = rng.permutation(len(data.data))[:N_IMAGES]
digits = data.data[rows].reshape(N_IMAGES, -1) / 255
noise = rng.standard_normal((N_IMAGES, 784))
disc = AngularBasis((28, 28), concentration=0.999).fit(digits)
band_limited = disc.inverse_transform(rng.standard_normal((N_IMAGES, len(disc.frequencies_))))
inputs = {"digits": digits, "white noise": noise, "band-limited noise": band_limited}

# %% [markdown]
# Five interpolated actions, on three kinds of images each. Band-limited noise lies between digits
# and white noise: it has no frequency that the pixels cannot turn.

# %%
frame = (28, 28)
density = VonMises(kappa=0.2)
scaling = LogNormal(sigma)
table3 = Affine(frame, rotation=VonMises(9), scaling=scaling, translation=groups.Normal(0.3))
actions = {
    "rotation, bilinear": Rotations(frame, density=density, interpolation=1),
    "rotation, cubic": Rotations(frame, density=density, interpolation=3),
    "scaling, cubic, with |J|^(-1/2)": Affine(frame, scaling=scaling),
    "scaling, cubic, without": Affine(frame, scaling=scaling, jacobian=False),
    "affine of Table 3, cubic": table3,
}
changes = {}  # of the norm, root mean square
for action, group in actions.items():
    for kind, X in inputs.items():
        departure = groups.departure_from_unitary(group, X, n_samples=N_ELEMENTS, random_state=seed)
        changes[action, kind] = departure["norm_rms"]
departure = groups.departure_from_unitary(
    CircleAction(disc.frequencies_, density), disc.transform(noise), random_state=seed
)
changes["rotation, angular basis", "white noise"] = departure["norm_rms"]
table = pd.Series(changes).unstack(sort=False)
cubic = table.loc["rotation, cubic"]

# %% [markdown]
# The Gaussian templates of random Fourier features *are* white noise. A rotation by interpolation
# makes them weaker; templates in an angular basis avoid that.

# %% tags=["hide-input"]
looks = {"digits": "raw", "band-limited noise": "fast", "white noise": "haar"}
fig, axis = plt.subplots(figsize=(7.2, 3.6))
places = np.arange(len(actions))
for i, (kind, look) in enumerate(looks.items()):
    values = [100 * table.loc[action, kind] for action in actions]
    axis.barh(places + 0.26 * (i - 1), values, height=0.24, color=colour(look), label=kind)
axis.set(
    yticks=range(len(actions)),
    yticklabels=list(actions),
    xlabel="change of the norm (%, root mean square)",
    xlim=(0, 1.45 * 100 * np.nanmax(table.to_numpy())),
    title=f"Cubic rotations change digits by {cubic['digits']:.1%}, white noise by "
    f"{cubic['white noise']:.0%}",
)
axis.invert_yaxis()
axis.legend()
run.figure(
    fig,
    "departure",
    alt="Bars of the change of norm under five interpolated actions for digits, band-limited "
    f"noise and white noise. Cubic rotations: {cubic['digits']:.1%}, "
    f"{cubic['band-limited noise']:.1%} and {cubic['white noise']:.1%}.",
    caption="In the angular basis white noise changes by "
    f"{table.loc['rotation, angular basis', 'white noise']:.0e}.",
)

# %% tags=["claims"]
run.claim(
    "raj2017/lemma2.1",
    difference=np.array(differences),
    tolerance=1e-9,
    note=f"on pixels, interpolated cubic rotations change the norm by {cubic['digits']:.1%} (digits) "
    f"and {cubic['white noise']:.1%} (white-noise templates), root mean square",
)

# %% [markdown]
# ## The transfer
#
# `OrbitFourier(side="second")` and `side="first"` on the same draws, for unitary actions. The
# paper transforms templates by $g$ itself, which is right in expectation for symmetric densities;
# we apply $g^{-1}$, which is right for every single draw. Both are tested.

# %%
PLANES = [0, 0, 1, 1, 2, 2]
symmetric = VonMises(kappa=1.5)
skewed = VonMises(1.5, loc=mode)
UNITARY = [
    groups.Permutations(6),
    groups.CyclicShifts(6),
    CircleAction(PLANES, symmetric),
    CircleAction(PLANES, skewed),
]


def features_by_side(group, side, X, draw):
    model = OrbitFourier(group, 20, side=side, n_transforms=30, gamma=0.2, random_state=draw)
    return model.fit_transform(X)


# %% [markdown]
# Transforming templates by $g$ in place of $g^{-1}$, over the whole density, gives the same
# features if the density is symmetric, and others if it is skewed.


# %%
def error_without_inverse(density, X, draw):
    """Error of features whose templates are transformed by g, over the whole density."""
    group = CircleAction(PLANES, density, n_nodes=64)
    model = OrbitFourier(group, 20, gamma=0.2, side="first", random_state=draw).fit(X)
    templates = group.act(group.elements(), model.templates_)
    waves = np.cos(np.einsum("nd,rsd->rns", X, templates) + model.phases_)
    features = np.sqrt(2 / 20) * np.einsum("r,rns->ns", model.weights_, waves)
    return np.abs(features - model.transform(X)).max()


# %% [markdown]
# Both tests on the same points, for permutations, shifts, and rotations of planes.

# %%
transfers = []
skewed_errors = []
for trial in range(N_TRANSFER_TRIALS):
    X = np.random.default_rng([seed, 3, trial]).standard_normal((8, 6))
    for group in UNITARY:
        second = features_by_side(group, "second", X, trial)
        first = features_by_side(group, "first", X, trial)
        transfers.append(np.abs(second - first).max())
    transfers.append(error_without_inverse(symmetric, X, trial))
    skewed_errors.append(error_without_inverse(skewed, X, trial))

# %% tags=["claims"]
run.claim(
    "raj2017/template-transfer",
    difference=np.array(transfers),
    tolerance=1e-10,
    note=f"transforming templates by g under a density that is not symmetric is off by up to "
    f"{max(skewed_errors):.2f}",
)

# %% [markdown]
# ## Try it
#
# `invariance run raj2017/lemma21 -p mode 0`: a symmetric density. Or `-p sigma 0.05`, smaller scalings.
