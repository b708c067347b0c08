# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Moving templates instead of data
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

# %% tags=["settings"]
trials, trials_on_images = (10, 10) if run.quick else (100, 50)
n_images, n_samples = (10, 8) if run.quick else (50, 20)

# %% [markdown]
# ## The lemma on images as functions
#
# Images that can be evaluated anywhere, sums of Gaussian blobs, need no interpolation. Inner
# products are integrals over the plane; on a fine grid the trapezoidal rule is exact to rounding
# for such smooth functions. With random affine maps (rotation, scale, shear, shift):

# %%
grid = np.linspace(-16, 16, 321)
cell = (grid[1] - grid[0]) ** 2
plane = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(-1, 2)


def blobs(rng):
    centres = rng.uniform(-1.5, 1.5, (4, 2))
    widths, heights = rng.uniform(0.6, 1.0, 4), rng.normal(size=4)

    def image(points):
        squared = np.square(points[:, None] - centres).sum(axis=-1)
        return np.exp(-squared / (2 * widths**2)) @ heights

    return image


def moved(image, element):
    """|J|^(-1/2) I(A^-1 (x - b))."""
    matrix, shift = element[:, :2], element[:, 2]
    scale = raj2017.jacobian_factor(matrix)
    return lambda points: scale * image((points - shift) @ np.linalg.inv(matrix).T)


exact = []
for trial in range(trials):
    rng = np.random.default_rng([seed, trial])
    pair = blobs(rng), blobs(rng)
    turn, scale = rng.uniform(-180, 180), rng.lognormal(0, 0.3)
    how = {"shear": rng.normal(0, 0.2), "shift": rng.normal(0, 0.5, 2)}
    element = groups.affine_maps(turn, scale, **how)[0]
    one, two = (image(plane) for image in pair)
    size = cell * np.sqrt(np.sum(one**2) * np.sum(two**2))
    after = np.prod([moved(image, element)(plane) for image in pair], axis=0)
    exact.append(cell * abs(np.sum(after) - np.sum(one * two)) / size)

# %% [markdown]
# ## On pixels
#
# Turning a 28 × 28 image means interpolating, and zooming in pushes part of it out of the frame.
# `departure_from_unitary` measures how much of the norm is lost or gained, for digits, which are
# smooth, and for white noise, which is what a random template looks like.

# %%
data = load_digits_images() if run.quick else load_mnist()
run.uses_data(data)
rng = np.random.default_rng(seed)
digits = data.data[rng.permutation(len(data.data))[:n_images]].reshape(n_images, -1) / 255
noise = rng.standard_normal((n_images, 784))
disc = AngularBasis((28, 28), concentration=0.999).fit(digits)
band_limited = disc.inverse_transform(rng.standard_normal((n_images, len(disc.frequencies_))))

frame, turn = (28, 28), VonMises(kappa=0.2)
actions = {
    "rotation, bilinear": Rotations(frame, density=turn, interpolation=1),
    "rotation, cubic": Rotations(frame, density=turn, interpolation=3),
    "scaling, cubic, with |J|^(-1/2)": Affine(frame, scaling=LogNormal(sigma)),
    "scaling, cubic, without": Affine(frame, scaling=LogNormal(sigma), jacobian=False),
    "affine of Table 3, cubic": Affine(
        frame, rotation=VonMises(9), scaling=LogNormal(sigma), translation=groups.Normal(0.3)
    ),
}
inputs = {"digits": digits, "white noise": noise, "band-limited noise": band_limited}
how = {"n_samples": n_samples, "random_state": seed}
departures = {
    (action, kind): groups.departure_from_unitary(transformations, X, **how)
    for action, transformations in actions.items()
    for kind, X in inputs.items()
}
circle = CircleAction(disc.frequencies_, turn)
departures["rotation, angular basis", "white noise"] = groups.departure_from_unitary(
    circle, disc.transform(noise), random_state=seed
)
table = pd.Series({key: d["norm_rms"] for key, d in departures.items()}).unstack(sort=False)
cubic = table.loc["rotation, cubic"]

# %%
fig, axis = plt.subplots(figsize=(7.2, 3.6))
looks = {"digits": "raw", "band-limited noise": "fast", "white noise": "haar"}
for i, (kind, look) in enumerate(looks.items()):
    at, values = np.arange(len(actions)), [100 * table.loc[a, kind] for a in actions]
    axis.barh(at + 0.26 * (i - 1), values, height=0.24, color=colour(look), label=kind)
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
run.claim(
    "raj2017/lemma2.1",
    difference=np.array(exact),
    tolerance=1e-9,
    note=f"on pixels, interpolated cubic rotations change the norm by {cubic['digits']:.1%} (digits) "
    f"and {cubic['white noise']:.1%} (white-noise templates), root mean square",
)

# %% [markdown]
# The Gaussian templates of random Fourier features *are* white noise. A rotation by interpolation
# makes them weaker; templates in an angular basis avoid that.
#
# ## The transfer
#
# `OrbitFourier(side="second")` and `side="first"` on the same draws, for unitary actions. The
# paper transforms templates by $g$ itself, which is right in expectation for symmetric densities;
# we apply $g^{-1}$, which is right for every single draw. Both are tested.

# %%
transfers, skewed = [], []
planes, local = [0, 0, 1, 1, 2, 2], VonMises(kappa=1.5)
skew = VonMises(1.5, loc=mode)
unitary = [groups.Permutations(6), groups.CyclicShifts(6)]
unitary += [CircleAction(planes, local), CircleAction(planes, skew)]
for trial in range(trials_on_images):
    X = np.random.default_rng([seed, 3, trial]).standard_normal((8, 6))
    for group in unitary:
        how = {"n_transforms": 30, "gamma": 0.2, "random_state": trial}
        one, two = (
            OrbitFourier(group, 20, side=side, **how).fit_transform(X)
            for side in ("second", "first")
        )
        transfers.append(np.abs(one - two).max())
    # g instead of g^-1, over the whole density: equal for symmetric q, not for a skewed one
    for density, found in ((local, transfers), (skew, skewed)):
        group = CircleAction(planes, density, n_nodes=64)
        model = OrbitFourier(group, 20, gamma=0.2, side="first", random_state=trial).fit(X)
        moved = group.act(group.elements(), model.templates_)  # by g itself, not by its inverse
        waves = np.cos(np.einsum("nd,rsd->rns", X, moved) + model.phases_)
        features = np.sqrt(2 / 20) * np.einsum("r,rns->ns", model.weights_, waves)
        found.append(np.abs(features - model.transform(X)).max())
run.claim(
    "raj2017/template-transfer",
    difference=np.array(transfers),
    tolerance=1e-10,
    note=f"transforming templates by g under a density that is not symmetric is off by up to "
    f"{max(skewed):.2f}",
)

# %% [markdown]
# ## Try it
#
# `invariance run raj2017/lemma21 -p mode 0`: a symmetric density. Or `-p sigma 0.05`, smaller scalings.
