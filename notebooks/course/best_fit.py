# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lesson 4: the best fit instead of the mean
#
# *40 minutes. You need `course/averaging`, and eigenvalues of symmetric matrices.*
#
# People compare two photographs of a face by moving one until they fit. An average over all positions
# would compare noses with ears as well. **What if a kernel used the best position only?**

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
reach: int = 4  # largest shift of a test image, and of the kernels, in pixels

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from invariance.companion import Run, check, panel
from invariance.groups import CyclicShifts, Permutations, Translations
from invariance.kernels import Average, BestFit, Gaussian, GramTransformer, Linear, gram_report

run = Run("course/best_fit", profile=profile, seed=seed, reach=reach)
sizes = [2, 5, 10]
n_draws = 4 if run.quick else 30

# %% [markdown]
# ## The picture
#
# The best-fit kernel of Liu et al. (2022), of the machines named TI-RI-SVM, looks for the
# transformation of the second image that makes it most similar to the first,
#
# $$K(x, z) = \max_T k_0(x, T z) .$$
#
# In this lesson $T$ runs through shifts. In code it is one call; the kernel is the largest value in the
# map.

# %%
digits = load_digits()
side = 8 + 2 * reach
framed = np.pad(digits.images / 16, ((0, 0), (reach, reach), (reach, reach)))
images = framed.reshape(-1, side**2)
shifts = Translations((side, side), max_shift=reach)
kernel = BestFit(Linear(), shifts)


# %%
def alignment(first=5, second=15, down=2, right=-1):
    """Draw two digits, the best fit of the second one, and the map of inner products."""
    x = images[first]
    z = shifts.act([[down, right]], images[second][None])[0]
    values = shifts.act(shifts.elements(), z)[:, 0] @ x
    best = shifts.elements()[np.argmax(values)]
    pictures = {
        "x": x,
        "z": z,
        f"T z: {best[0]:+d} down, {best[1]:+d} right": shifts.act([best], z)[0],
    }
    figure, panels = plt.subplots(1, 4, figsize=(9, 2.7))
    for axes, (title, image) in zip(panels, pictures.items(), strict=False):
        axes.imshow(image.reshape(side, side), cmap="gray_r", vmin=0, vmax=1)
        axes.set_title(title)
        axes.axis("off")
    n_shifts = 2 * reach + 1
    extent = (-reach - 0.5, reach + 0.5, reach + 0.5, -reach - 0.5)
    image = panels[3].imshow(values.reshape(n_shifts, n_shifts), extent=extent)
    panels[3].plot(best[1], best[0], "wx", ms=9, mew=2)
    panels[3].set(xlabel="right", ylabel="down")
    panels[3].set_title(f"⟨x, T z⟩, at most {kernel(x[None], z)[0, 0]:.1f}")
    panels[3].grid(False)
    figure.colorbar(image, ax=panels[3])
    plt.close(figure)
    return figure


if not run.batch:  # sliders, in JupyterLab
    from ipywidgets import interact

    interact(alignment, first=(0, 99), second=(0, 99), down=(-reach, reach), right=(-reach, reach))
run.figure(alignment(), "alignment", caption="The title of the map is the kernel's own value.")

# %% [markdown]
# **Exercise 1.** The Fourier transform computes all inner products $\langle x, T_s z \rangle$ on a ring
# at once: `ifft(fft(x) * conj(fft(z)))`. Write `best_shift(x, z)`: the number of places by which to roll
# `z` so that it fits `x` best.

# %% tags=["exercise"]
best_shift = ...  # def best_shift(x, z): ...

# %% jupyter={"source_hidden": true} tags=["hide-input"]
ring = np.random.default_rng(1).standard_normal(1000)
check(
    best_shift,
    lambda f: all(
        f(np.roll(z, s), z) == s for z in (ring, np.cos(ring[:7])) for s in (0, 1, len(z) - 1)
    ),
    "compute all inner products by the formula: the real part of the inverse transform",
    "take the place of the largest entry (`argmax`)",
    why="it finds the shift of two signals of different lengths",
)

# %% [markdown]
# <details><summary>Solution</summary>
#
# ```python
# def best_shift(x, z):
#     spectrum = np.fft.fft(x) * np.conj(np.fft.fft(z))
#     return np.argmax(np.fft.ifft(spectrum).real)
# ```
#
# `BestFit` does the same if a group consists of shifts; `kernel.explain(X)` prints the algorithm.
# </details>
#
# **Exercise 2.** There are $30! \approx 2.7 \cdot 10^{32}$ orders of 30 numbers. Write
# `best_order(x, z)`, the largest inner product of `x` with any reordering of `z`, in a line.

# %% tags=["exercise"]
best_order = ...  # def best_order(x, z): ...

# %% jupyter={"source_hidden": true} tags=["hide-input"]
numbers = np.random.default_rng(2).standard_normal((3, 30))
best_of_all = BestFit(Linear(), Permutations(30))(numbers)


def finds_the_best(f):
    products = [[f(x, z) for z in numbers] for x in numbers]
    return np.allclose(products, best_of_all)


check(
    best_order,
    finds_the_best,
    "with two numbers each, which order is better? Exchange two places and compare",
    "the largest value should meet the largest, the second largest the second",
    why="it agrees with `BestFit` over all orders, for nine pairs of points",
)

# %% [markdown]
# <details><summary>Solution</summary>
#
# ```python
# def best_order(x, z):
#     return np.sort(x) @ np.sort(z)
# ```
#
# The rearrangement inequality. A maximum over a group may be *easier* than an average.
# </details>
#
# ## The price
#
# A maximum of kernels need not be a kernel: its Gram matrix may have negative eigenvalues.

# %%
K = kernel(images[:60])
print(gram_report(K))

# %% [markdown]
# **Exercise 3.** Find four readings of a ring of three sensors whose best-fit Gram matrix (linear
# kernel, all shifts) has a negative eigenvalue. (With three readings it never has one.)

# %% tags=["exercise"]
four = ...  # four rows of three numbers


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def least_eigenvalue(X):
    gram = BestFit(Linear(), CyclicShifts(3))(np.array(X, float))
    return np.linalg.eigvalsh(gram)[0]


check(
    four,
    lambda X: np.shape(X) == (4, 3) and least_eigenvalue(X) < -1e-9 * np.square(X).sum(),
    "each should fit two of the others and not the third",
    "draw random rows of -1, 0 and 1 until `least_eigenvalue` is negative",
    why="a positive semidefinite matrix has no negative eigenvalue, so this maximum is no kernel",
)

# %% [markdown]
# <details><summary>Solution</summary>
#
# ```python
# four = [[-1, 1, 1], [-1, 0, 1], [-1, -1, 1], [0, -1, 1]]
# ```
#
# Each fits its neighbours at different positions; no single position fits all four.
# </details>
#
# `GramTransformer(kernel)` cuts negative eigenvalues off, on training and test points alike.
#
# ## The gain
#
# There are a few upright training digits of each class; test digits are shifted by up to `reach` pixels.

# %%
base = Gaussian(gamma=0.3)  # the mean needs such a narrow kernel
KERNELS = {
    "plain": base,
    "mean": Average(base, shifts, normalize=True),
    "best fit": BestFit(base, shifts),
}
STYLES = {"plain": "raw", "mean": "haar", "best fit": "ti"}


def first_of_each_class(rows, n):
    """Return the first n of the rows of each digit."""
    parts = [rows[digits.target[rows] == digit][:n] for digit in range(10)]
    return np.concatenate(parts)


def shift_each(points, offsets):
    """Shift each image by its own offset."""
    pairs = zip(points, offsets, strict=True)
    return np.stack([shifts.act([offset], point[None])[0, 0] for point, offset in pairs])


# %%
scores = {name: np.empty((n_draws, len(sizes))) for name in KERNELS}
for draw in range(n_draws):
    rng = np.random.default_rng([seed, draw])
    order = rng.permutation(len(images))
    train = order[:-300]
    test = order[-300:]
    offsets = rng.integers(-reach, reach + 1, size=(300, 2))
    X_test = shift_each(images[test], offsets)
    for i, n in enumerate(sizes):
        rows = first_of_each_class(train, n)
        for name, kernel_of_name in KERNELS.items():
            machine = SVC(C=100, kernel="precomputed")
            model = make_pipeline(GramTransformer(kernel_of_name), machine)
            model.fit(images[rows], digits.target[rows])
            scores[name][draw, i] = 100 * model.score(X_test, digits.target[test])

# %%
curves = {name: (STYLES[name], values) for name, values in scores.items()}
means = [f"{name} {values[:, 1].mean():.0f} %" for name, values in scores.items()]
fig, axes = plt.subplots()
panel(axes, sizes, curves, xlabel="training digits per class", ylabel="accuracy when shifted (%)")
axes.set_title(f"Accuracy with {sizes[1]} digits per class: {', '.join(means)}")
run.figure(fig, "curve", caption=f"Bars: two standard errors over {n_draws} draws.")

# %% [markdown]
# **Keep:** a best fit compares parts that belong together; structure makes it cheap; check the spectrum.
# `liu2022/few_samples` does this on MNIST, with rotations and locality; next is `course/spectral`.
#
# ## Try it
#
# `invariance run course/best_fit -p reach 2`: how much of the gain remains if digits move less?
