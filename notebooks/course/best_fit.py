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
# Two photographs of a face are compared by moving one until they fit. An average over all positions
# would compare noses with ears as well. **What if a kernel took the best position only?**

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
sizes, draws = [2, 5, 10], 4 if run.quick else 30

# %% [markdown]
# ## The picture
#
# The best-fit kernel of Liu et al. (2022), of the machines named TI-RI-SVM, looks for the
# transformation of the second image that makes it most similar to the first,
#
# $$K(x, z) = \max_T k_0(x, T z) .$$
#
# Here $T$ runs through shifts. In code it is one call; the map shows what the maximum is taken over.

# %%
digits = load_digits()
side = 8 + 2 * reach
images = np.pad(digits.images / 16, ((0, 0), (reach, reach), (reach, reach))).reshape(-1, side**2)
shifts = Translations((side, side), max_shift=reach)
kernel = BestFit(Linear(), shifts)


# %%
def alignment(first=5, second=15, down=2, right=-1):
    x, z = images[first], shifts.act([[down, right]], images[second][None])[0]
    values = shifts.act(shifts.elements(), z)[:, 0] @ x
    best = shifts.elements()[np.argmax(values)]
    moved = shifts.act([best], z)[0]
    figure, panels = plt.subplots(1, 4, figsize=(9.6, 2.7))
    named = {"x": x, "z": z, f"T z: {best[0]:+d} down, {best[1]:+d} right": moved}
    for axes, (title, image) in zip(panels, named.items(), strict=False):
        axes.imshow(image.reshape(side, side), cmap="gray_r", vmin=0, vmax=1)
        axes.set_title(title)
        axes.axis("off")
    extent = (-reach - 0.5, reach + 0.5, reach + 0.5, -reach - 0.5)
    drawn = panels[3].imshow(values.reshape([2 * reach + 1] * 2), extent=extent)
    panels[3].plot(best[1], best[0], "wx", ms=9, mew=2)
    title = f"⟨x, T z⟩, at most {kernel(x[None], z)[0, 0]:.1f}"
    panels[3].set(title=title, xlabel="right", ylabel="down")
    panels[3].grid(False)
    figure.colorbar(drawn, ax=panels[3])
    plt.close(figure)
    return figure


if not run.batch:  # sliders, where somebody can move them
    from ipywidgets import interact

    interact(alignment, first=(0, 99), second=(0, 99), down=(-reach, reach), right=(-reach, reach))
run.figure(alignment(), "alignment", caption="The title of the map is the kernel's own value.")

# %% [markdown]
# **Exercise 1.** By the Fourier transform all inner products $\langle x, T_s z \rangle$ on a ring
# come at once: `ifft(fft(x) * conj(fft(z)))`. Write `best_shift(x, z)`: by how many places to roll
# `z` so that it fits `x` best.

# %% tags=["exercise"]
best_shift = ...  # def best_shift(x, z): ...

# %% tags=["hide-input"]
ring = np.random.default_rng(1).standard_normal(1000)
check(
    best_shift,
    lambda f: all(f(np.roll(ring, s), ring) == s for s in (0, 1, 417, 999)),
    "take the real part, and the place of its largest entry (`argmax`)",
)

# %% [markdown]
# <details><summary>Solution</summary>
#
# ```python
# def best_shift(x, z):
#     return np.argmax(np.fft.ifft(np.fft.fft(x) * np.conj(np.fft.fft(z))).real)
# ```
#
# `BestFit` does the same where a group says that it shifts; `kernel.explain(X)` tells.
# </details>
#
# **Exercise 2.** There are $30! \approx 2.7 \cdot 10^{32}$ orders of 30 numbers. Write
# `best_order(x, z)`, the largest inner product of `x` with any reordering of `z`, in a line.

# %% tags=["exercise"]
best_order = ...  # def best_order(x, z): ...

# %% tags=["hide-input"]
x, z = np.random.default_rng(2).standard_normal((2, 30))
orders = BestFit(Linear(), Permutations(30))
check(
    best_order,
    lambda f: np.isclose(f(x, z), orders(x[None], z[None])[0, 0]),
    "the largest value should meet the largest, the second largest the second",
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
# kernel, all shifts) has a negative eigenvalue. (Of three readings, it never has one.)

# %% tags=["exercise"]
four = ...  # four rows of three numbers

# %% tags=["hide-input"]
check(
    four,
    lambda X: (
        np.shape(X) == (4, 3)
        and np.linalg.eigvalsh(BestFit(Linear(), CyclicShifts(3))(np.array(X, float)))[0] < -1e-9
    ),
    "each should fit two of the others and not the third; or let random -1, 0 and 1 find it",
)

# %% [markdown]
# <details><summary>Solution</summary>
#
# ```python
# four = [[-1, 1, 1], [-1, 0, 1], [-1, -1, 1], [0, -1, 1]]
# ```
#
# Each fits its neighbours at positions of their own; no one position serves all four.
# </details>
#
# `GramTransformer(kernel)` cuts negative eigenvalues off, on training and test points alike.
#
# ## What it is worth
#
# A few upright digits of each class train; test digits lie up to `reach` pixels from their place.

# %%
base = Gaussian(gamma=0.3)  # the mean needs it as narrow as this
KERNELS = {
    "plain": ("raw", base),
    "mean": ("haar", Average(base, shifts, normalize=True)),
    "best fit": ("ti", BestFit(base, shifts)),
}
scores = {name: np.empty((draws, len(sizes))) for name in KERNELS}
for draw in range(draws):
    rng = np.random.default_rng([seed, draw])
    order = rng.permutation(len(images))
    train, test = order[:-300], order[-300:]
    places = zip(rng.integers(-reach, reach + 1, size=(300, 2)), images[test], strict=True)
    moved = np.stack([shifts.act([place], image[None])[0, 0] for place, image in places])
    for i, n in enumerate(sizes):
        few = np.concatenate([train[digits.target[train] == c][:n] for c in range(10)])
        for name, (_, kernel) in KERNELS.items():
            model = make_pipeline(GramTransformer(kernel), SVC(C=100, kernel="precomputed"))
            model.fit(images[few], digits.target[few])
            scores[name][draw, i] = 100 * model.score(moved, digits.target[test])
fig, axes = plt.subplots()
curves = {name: (KERNELS[name][0], values) for name, values in scores.items()}
panel(axes, sizes, curves, xlabel="training digits per class", ylabel="accuracy when shifted (%)")
at = [f"{name} {values[:, 1].mean():.0f} %" for name, values in scores.items()]
axes.set_title(f"{sizes[1]} a class: {', '.join(at)}")
run.figure(fig, "curve", caption=f"Bars: two standard errors over {draws} draws.")

# %% [markdown]
# **Keep:** a best fit compares what belongs together; structure makes it cheap; check the spectrum.
# `liu2022/few_samples` does this on MNIST, with rotations and locality; next is `course/spectral`.
#
# ## Try it
#
# `invariance run course/best_fit -p reach 2`: what is left of the gain when digits move less?
