# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Four ideas with sliders
#
# One idea per paper, each a function that draws a figure from a few numbers. In Jupyter (`make
# lab`) sliders change the numbers; the site shows one picture of each, because a page cannot run
# Python.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
import matplotlib.pyplot as plt
import numpy as np
from ipywidgets import FloatSlider, IntSlider, interact
from sklearn.datasets import load_digits

from invariance.companion import Run, colour
from invariance.groups import CyclicShifts, Rotations, TorusTranslations, Translations
from invariance.kernels import BestFit, Linear
from invariance.spectral import Circle, project

run = Run("guides/interactive", profile=profile, seed=seed)
side = 24
enlarged = np.kron(load_digits().images[:200] / 16, np.ones((2, 2)))
images = np.pad(enlarged, ((0, 0), (4, 4), (4, 4)))
shifts_of_images = Translations((side, side), max_shift=6)


def show(axes, image, title=""):
    axes.imshow(image.reshape(side, side), cmap="gray_r", vmin=0, vmax=1)
    axes.set(title=title, xticks=[], yticks=[])
    axes.grid(False)


def sliders(draw, **widgets):
    """Sliders in front of a function that draws; what it drew before is closed."""
    if run.batch:  # widgets talk with whoever looks at them: a batch could wait for ever
        print(f"In JupyterLab there are sliders here: {', '.join(widgets)}.")
        return

    def redraw(**values):
        plt.close("all")
        draw(**values)
        plt.show()

    interact(redraw, **widgets)


# %% [markdown]
# ## An orbit
#
# The orbit of an image holds everything that the group makes of it. Turn and shift the digit: a
# *local* kernel averages over a neighbourhood on this orbit, a *global* one over all of it.


# %%
def orbit(digit=5, degrees=30.0, right=2):
    steps = np.linspace(-degrees, degrees, 7)
    moved = Rotations((side, side)).act(np.deg2rad(steps), images[digit][None])[:, 0]
    moved = shifts_of_images.act([[0, right]], moved)[0]
    figure, panels = plt.subplots(1, 7, figsize=(9, 1.7))
    for axes, picture, angle in zip(panels, moved, steps, strict=True):
        show(axes, picture, f"{angle:+.0f}°")
    return figure


sliders(
    orbit,
    digit=IntSlider(5, 0, 99),
    degrees=FloatSlider(value=30, min=0, max=180),
    right=IntSlider(2, -6, 6),
)
run.figure(
    orbit(),
    "orbit",
    alt="Seven copies of a handwritten digit, turned step by step and shifted to the right.",
    caption="Part of the orbit of a digit under rotations and a shift.",
)

# %% [markdown]
# ## A template and its CDF
#
# Project a signal on all shifts of one random template: the *order* of the projections depends on
# where the signal stands, their *distribution* does not. That cumulative distribution function is
# the feature of Mroueh et al. (2015),
#
# $$\phi_t(x)(\tau) = \frac{1}{|G|} \sum_{g \in G} 1[\langle g t, x \rangle \le \tau] .$$

# %%
length = 40
shifts, grid = CyclicShifts(length), np.arange(length)


def template_cdf(template=3, shift=12, width=4.0):
    t = np.random.default_rng([seed, template]).standard_normal(length) / np.sqrt(length)
    x = np.exp(-0.5 * ((grid - 10) / width) ** 2)
    z = np.cos(2 * np.pi * grid / 10) * np.exp(-0.5 * ((grid - 20) / 6) ** 2)
    curves = {"x": (x, "cdf"), f"x shifted by {shift}": (np.roll(x, shift), "haar")}
    figure, panels = plt.subplots(1, 3, figsize=(9.6, 2.9))
    for name, (values, look) in (curves | {"another z": (z, "raw")}).items():
        projections = shifts.act(shifts.elements(), t[None])[:, 0] @ values
        style = {"color": colour(look), "label": name, "ls": "--" if look == "haar" else "-"}
        panels[0].plot(grid, values, **style)
        panels[1].plot(grid, projections, **style)
        panels[2].step(np.sort(projections), (grid + 1) / length, where="post", **style)
    panels[0].set(title="signals", xlabel="position")
    panels[1].set(title="inner products with t", xlabel="shift of t")
    panels[2].set(title="their CDF", xlabel="threshold τ")
    panels[2].legend(loc="lower right", fontsize="small")
    return figure


sliders(
    template_cdf,
    template=IntSlider(3, 0, 20),
    shift=IntSlider(12, 0, length - 1),
    width=FloatSlider(value=4, min=1, max=10),
)
run.figure(template_cdf(), "template_cdf", caption="A signal, its shifted copy and another signal.")

# %% [markdown]
# ## A best-fit alignment
#
# The best-fit kernel of Liu et al. (2022) looks for the transformation of the second image that
# makes it most similar to the first, $K(x, z) = \max_T k_0(x, T z)$. Here $T$ runs through the
# shifts, and the map of $\langle x, T z \rangle$ shows what the maximum is taken over. Move the
# second image away and see it found again.


# %%
def alignment(first=5, second=15, down=3, right=-2):
    x = images[first].ravel()
    z = shifts_of_images.act([[down, right]], images[second].reshape(1, -1))[0]
    elements = shifts_of_images.elements()
    values = shifts_of_images.act(elements, z)[:, 0] @ x
    best, kernel = elements[np.argmax(values)], BestFit(Linear(), shifts_of_images)
    figure, panels = plt.subplots(1, 4, figsize=(9.6, 2.7))
    show(panels[0], x, "x")
    show(panels[1], z, "z")
    moved = shifts_of_images.act([best], z)[0]
    show(panels[2], moved, f"T z: {best[0]:+d} down, {best[1]:+d} right")
    drawn = panels[3].imshow(values.reshape(13, 13), extent=(-6.5, 6.5, 6.5, -6.5))
    panels[3].plot(best[1], best[0], marker="x", color="white", ms=9, mew=2)
    title = f"⟨x, T z⟩, at most {kernel(x[None], z)[0, 0]:.1f}"
    panels[3].set(title=title, xlabel="right", ylabel="down")
    panels[3].grid(False)
    figure.colorbar(drawn, ax=panels[3])
    return figure


sliders(
    alignment,
    first=IntSlider(5, 0, 99),
    second=IntSlider(15, 0, 99),
    down=IntSlider(3, -4, 4),
    right=IntSlider(-2, -4, 4),
)
run.figure(
    alignment(),
    "alignment",
    caption="Best fit over 169 shifts; the title of the map is the kernel's own value.",
)

# %% [markdown]
# ## A spectral projection
#
# Soleymani et al. (2025) estimate the coefficients of a function in a basis of eigenfunctions and
# project each eigenspace on its invariant part. On the circle, under rotations by $2\pi/m$, only
# the frequencies divisible by $m$ survive.


# %%
def projection(order=4, samples=60, frequencies=12, noise=0.5):
    rng, basis = np.random.default_rng([seed, 7]), Circle(frequencies)
    angles = rng.uniform(0, 2 * np.pi, size=(samples, 1))
    dense = np.linspace(0, 2 * np.pi, 400)[:, None]

    def target(x):
        return np.cos(order * x[:, 0]) + 0.5 * np.sin(2 * order * x[:, 0])

    observed = target(angles) + noise * rng.standard_normal(samples)
    plain = basis.evaluate(angles).T @ observed / samples
    projected = project(plain, basis, TorusTranslations([order], period=2 * np.pi))
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.2))
    left.plot(angles, observed, "o", ms=3, color=colour("raw"), label=f"{samples} noisy points")
    left.plot(dense, target(dense), color=colour("bound"), label="target")
    for values, look, name in ((plain, "krr", "plain"), (projected, "spec-avg", "projected")):
        fit = basis.evaluate(dense) @ values
        error = np.sqrt(np.mean((fit - target(dense)) ** 2))
        left.plot(dense, fit, color=colour(look), label=f"{name}, error {error:.2f}")
        right.plot(np.abs(values), ".-", color=colour(look), label=name)
    left.set(xlabel="angle (radians)", title=f"invariant under rotations by 2π/{order}")
    right.set(xlabel="eigenfunction", title="sizes of the coefficients")
    low, high = left.get_ylim()
    left.set_ylim(low, high + 0.5 * (high - low))  # room for the legend
    left.legend(fontsize=8, loc="upper center", ncols=2)
    right.legend()
    return figure


sliders(
    projection,
    order=IntSlider(4, 2, 6),
    samples=IntSlider(60, 10, 400),
    frequencies=IntSlider(12, 2, 30),
    noise=FloatSlider(value=0.5, min=0, max=2),
)
run.figure(
    projection(),
    "projection",
    caption="Monte Carlo estimate of the coefficients, before and after the projection.",
)

# %% [markdown]
# Each of these has a notebook that does it at scale: `raj2017/embedding`, `mroueh2015/theorem1`,
# `liu2022/few_samples`, `soleymani2025/circle_rotations`.
