# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lesson 1: one thing, many faces
#
# *35 minutes. You need vectors, matrices and NumPy.*
#
# A digit shifted by a pixel is the same digit; to a computer it is another vector. **How many
# vectors are one and the same thing, and what does a learner gain when it knows?**

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
n_beads: int = 12  # of the longest necklace that is counted

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from invariance.companion import Run, check, panel
from invariance.groups import CyclicShifts, Permutations, Rotations, Translations, check_group

run = Run("course/orbit", profile=profile, seed=seed, n_beads=n_beads)

# %% [markdown]
# ## The picture
#
# Part of what rotations and shifts make of a digit. In Jupyter, three sliders move it.

# %%
side = 24
enlarged = np.kron(load_digits().images[:100] / 16, np.ones((2, 2)))
images = np.pad(enlarged, ((0, 0), (4, 4), (4, 4)))


def turned_and_shifted(digit=5, degrees=30.0, right=2):
    steps = np.linspace(-degrees, degrees, 7)
    moved = Rotations((side, side)).act(np.deg2rad(steps), images[digit].reshape(1, -1))[:, 0]
    moved = Translations((side, side), max_shift=6).act([[0, right]], moved)[0]
    figure, panels = plt.subplots(1, 7, figsize=(9, 1.7))
    for axes, picture, angle in zip(panels, moved, steps, strict=True):
        axes.imshow(picture.reshape(side, side), cmap="gray_r", vmin=0, vmax=1)
        axes.set_title(f"{angle:+.0f}°")
        axes.axis("off")
    plt.close(figure)
    return figure


if not run.batch:  # sliders, where somebody can move them
    from ipywidgets import interact

    interact(turned_and_shifted, digit=(0, 99), degrees=(0.0, 180.0), right=(-6, 6))
said = "Seven copies of a handwritten digit, turned step by step and shifted to the right."
run.figure(turned_and_shifted(), "orbit", alt=said, caption="Part of the orbit of a digit.")

# %% [markdown]
# ## The idea
#
# A set $G$ of transformations is a **group** when doing nothing is one of them, each can be undone
# by one of them, and two in a row are one of them. The **orbit** of $x$ is all that $G$ makes of
# it,
#
# $$G x = \{ g x : g \in G \} .$$
#
# In code a group lists its elements and acts on a batch of points. Take six sensors on a ring:

# %%
shifts = CyclicShifts(6)
x = np.array([5.0, 3.0, 0.0, 1.0, 0.0, 0.0])
orbit = shifts.act(shifts.elements(), x[None])[:, 0]
print(orbit.astype(int))
check_group(shifts)  # silent: it is a group, and acts like one

# %% [markdown]
# **Two orbits are equal or have no point in common**: if $g x = h z$ then $z = h^{-1} g x$ lies in
# the orbit of $x$. A label that a symmetry does not change is constant on each.
#
# **Exercise 1.** The orbit above has six points, as many as the group has elements. Find a reading
# of the six sensors, not all zero, whose orbit has exactly three points.

# %% tags=["exercise"]
reading = ...  # six numbers

# %% tags=["hide-input"]
check(
    reading,
    lambda r: len(np.unique(shifts.act(shifts.elements(), [r])[:, 0], axis=0)) == 3,
    "three of the six shifts give back what another gave: after how many places does it repeat?",
)

# %% [markdown]
# <details><summary>Solution</summary>
#
# ```python
# reading = [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]
# ```
#
# Two shifts leave it as it is, by 0 and by 3 places; the orbit has $6 / 2$ points.
# </details>
#
# ## What it is worth: count the orbits
#
# Beads of two colours on a ring: $2^n$ words, but how many necklaces? A learner with the symmetry
# has to see one word of each orbit, the *core set*. Each orbit is named by the smallest of its
# words, read as a number.

# %%
lengths = list(range(3, n_beads + 1))
necklaces = []
for n in lengths:
    words = np.arange(2**n)
    turned = [(words << s | words >> (n - s)) % 2**n for s in range(n)]
    necklaces.append(len(np.unique(np.min(turned, axis=0))))
curves = {
    "words": ("raw", [2.0**n for n in lengths]),
    "necklaces": ("haar", necklaces),
    "words / n": ("bound", [2**n / n for n in lengths], {"ls": ":"}),
}
fig, axes = plt.subplots()
axes.set_yscale("log", base=2)
panel(axes, lengths, curves, xlabel="beads on the ring, n", ylabel="how many")
axes.set_title(f"{2**n_beads:,} words of {n_beads} beads are {necklaces[-1]:,} necklaces")
run.figure(fig, "necklaces", caption="Counted one by one. Dotted: words divided by |G| = n.")

# %% [markdown]
# The gain is close to $|G|$: almost every word has an orbit of full size.
#
# **Exercise 2.** Five letters from an alphabet of eight, in any order: how many *bags* of letters
# are there? These are the orbits of `mroueh2015/xperm`, the first experiment of the first paper.

# %% tags=["exercise"]
bags = ...  # a number

# %% tags=["hide-input"]
letters = np.array(np.unravel_index(np.arange(8**5), (8,) * 5)).T
check(
    bags,
    lambda n: n == len(np.unique(np.sort(letters, axis=1), axis=0)),
    "8^5 words divided by 5! is too few, as words with a letter twice have smaller orbits",
)

# %% [markdown]
# <details><summary>Solution</summary>
#
# ```python
# from math import comb
#
# bags = comb(8 + 5 - 1, 5)
# ```
#
# A choice of five out of eight with repetition: $\binom{12}{5} = 792$ for 32,768 words.
# </details>
#
# ## Functions that do not see the difference
#
# $f$ is **invariant** when $f(g x) = f(x)$ for every $g$: a function of orbits. The art is to
# ignore the group *and nothing else*.
#
# **Exercise 3.** Write a function of a reading `x` that all cyclic shifts leave as it is, but not
# all permutations: one that still sees which values are neighbours.

# %% tags=["exercise"]
neighbours = ...  # def neighbours(x): ...

# %% tags=["hide-input"]
orders = Permutations(6)
others = orders.act(orders.elements(), x[None])[:, 0]
check(
    neighbours,
    lambda f: np.ptp([f(z) for z in orbit]) < 1e-9 and np.ptp([f(z) for z in others]) > 1e-6,
    "combine each value with the next one on the ring (`np.roll`), then sum over places",
)

# %% [markdown]
# <details><summary>Solution</summary>
#
# ```python
# def neighbours(x):
#     return np.sum(x * np.roll(x, 1))
# ```
#
# The sum runs over all places, so its value does not depend on where the ring begins.
# </details>
#
# **Keep:** an orbit is all that a group makes of one point; invariant means constant on orbits; one
# example of each orbit is enough. Next, `course/averaging` makes any function invariant.
#
# ## Try it
#
# `invariance run course/orbit -p n_beads 16`: does the factor come closer to $n$?
