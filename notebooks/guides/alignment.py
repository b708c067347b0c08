# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # See the alignment
#
# Which shift, order or rotation makes two points alike? `best_element` returns it, `plot_alignment` draws
# it, and `canonical` gives one representative to all points of an orbit.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from invariance.beyond import PlaneRotations, Rotations3D, plot_alignment, plot_along_orbit
from invariance.companion import Run
from invariance.groups import CyclicShifts, CyclicTranslations, Permutations
from invariance.kernels import Average, BestFit, Gaussian

run = Run("guides/alignment", profile=profile, seed=seed)  # only stores the results
rng = np.random.default_rng(seed)

# %% [markdown]
# ## 1. Pairs of images
#
# $K(x, z) = \max_g k_0(x, g z)$ is the value at the best shift $g$. Each row shows a digit, another digit
# of the same class that was shifted, and that digit after the best shift.

# %%
digits = load_digits()
X = digits.data[:10] / 16
Z = digits.data[10:20] / 16
shifts = CyclicTranslations((8, 8))
plain = Gaussian(0.05)
kernel = BestFit(plain, shifts)


def act_one_by_one(elements, images):
    """Apply the first element to the first image, the second to the second, and so on."""
    transformed = []
    for element, image in zip(elements, images, strict=True):
        transformed.append(shifts.act(element[None], image[None])[0, 0])
    return np.array(transformed)


# %%
shifted = act_one_by_one(shifts.sample(10, seed), Z)
elements = kernel.best_element(X, shifted)  # shape (10, 10, 2): steps down and to the right
pairs = np.arange(10)
aligned = act_one_by_one(elements[pairs, pairs], shifted)

before = plain(X, shifted)[pairs, pairs]
after = plain(X, aligned)[pairs, pairs]
best = kernel(X, shifted)[pairs, pairs]
assert np.allclose(best, after)

# %%
fig, axes = plt.subplots(3, 10, figsize=(8, 2.8), layout="constrained")
rows = {"x": X, "z": shifted, "g z": aligned}
for row, (name, images) in zip(axes, rows.items(), strict=True):
    row[0].set_ylabel(name)
    for axis, image in zip(row, images, strict=True):
        axis.imshow(image.reshape(8, 8), cmap="gray_r")
        axis.set(xticks=[], yticks=[])
means = f"from {before.mean():.2f} to {after.mean():.2f}"
fig.suptitle(f"The best shift raises the mean similarity {means}")
run.figure(
    fig, "aligned_pairs", alt="Ten digits, ten shifted digits, and these after the best shift"
)

# %% [markdown]
# ## 2. Rotations and orders
#
# The element of a rotation of space is a matrix, by Kabsch's superposition; that of a reordering is a
# permutation in one-line notation. All are what `group.act` takes.

# %%
molecule = rng.standard_normal((1, 12))  # four points of space
rotations = Rotations3D()
rotation = rotations.sample(1, seed)
turned = rotations.act(rotation, molecule)[0]
best_rotations = BestFit(Gaussian(1.0), rotations).best_element(molecule, turned)
assert np.allclose(best_rotations[0, 0], rotation[0].T)

# %%
x = [1.0, 4.0, 2.0, 3.0]
z = [1.0, 2.0, 3.0, 4.0]
orders = BestFit(Gaussian(1.0), Permutations(4)).best_element([x], [z])
print("the order of z that fits x best:", orders[0, 0])

# %%
angles = np.arange(5)
corners = np.stack([np.cos(angles), 2 * np.sin(angles)], axis=1)
outline = corners.ravel()
turns = PlaneRotations()
turned_outline = turns.act([1.0], outline[None])[0, 0]
axes = plot_alignment(BestFit(Gaussian(1.0), turns), outline, turned_outline)
figure = axes[0].figure
figure.suptitle("A turn of one radian is undone; the first point is black")
run.figure(figure, "aligned_outline", alt="An outline, the turned outline, and the aligned outline")

# %% [markdown]
# ## 3. A kernel along an orbit
#
# A plain kernel changes along the orbit of z. The average is level, and so is the maximum.

# %%
signals = rng.standard_normal((2, 16))
cycle = CyclicShifts(16)
kernels = [plain, Average(plain, cycle), BestFit(plain, cycle)]
fig, axes = plt.subplots(figsize=(5, 3.2), layout="constrained")
for kernel in kernels:
    plot_along_orbit(kernel, cycle, signals[0], signals[1], axes=axes)
orbit = cycle.act(cycle.elements(), signals[1:])[:, 0]
changes = np.ptp(plain(signals[:1], orbit))
axes.set_title(f"The plain kernel changes by {changes:.2f} along the orbit")
run.figure(fig, "along_an_orbit", alt="Three kernels along the orbit of a signal; two are level")

# %% [markdown]
# ## 4. One representative for each orbit
#
# `canonical` gives all points of an orbit the same representative, so equal orbits can be counted or
# looked up.
# Representatives of similar points need not be similar, so a kernel is the better input of a model.

# %%
signal = signals[0]
of_signal, of_shifted = cycle.canonical([signal, np.roll(signal, 5)])
assert np.array_equal(of_signal, of_shifted)
assert np.allclose(rotations.canonical(molecule), rotations.canonical(turned))
print(Permutations(4).canonical([[3.0, 1.0, 2.0, 0.0]]))
