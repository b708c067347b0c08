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
# A digit shifted by a pixel is the same digit; to a computer it is a different vector. **How many
# vectors show the same thing, and what does a learner gain if it knows?**

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
# The picture shows some rotated and shifted copies of a digit. In Jupyter, three sliders move them.

# %%
side = 24
enlarged = np.kron(load_digits().images[:100] / 16, np.ones((2, 2)))
images = np.pad(enlarged, ((0, 0), (4, 4), (4, 4)))


def turned_and_shifted(digit=5, degrees=30.0, right=2):
    """Draw seven copies of a digit, rotated step by step and shifted."""
    angles = np.linspace(-degrees, degrees, 7)
    point = images[digit].reshape(1, -1)
    rotated = Rotations((side, side)).act(np.deg2rad(angles), point)[:, 0]
    shifted = Translations((side, side), max_shift=6).act([[0, right]], rotated)[0]
    figure, panels = plt.subplots(1, 7, figsize=(9, 1.7))
    for axes, picture, angle in zip(panels, shifted, angles, strict=True):
        axes.imshow(picture.reshape(side, side), cmap="gray_r", vmin=0, vmax=1)
        axes.set_title(f"{angle:+.0f}°")
        axes.axis("off")
    plt.close(figure)
    return figure


if not run.batch:  # sliders, in JupyterLab
    from ipywidgets import interact

    interact(turned_and_shifted, digit=(0, 99), degrees=(0.0, 180.0), right=(-6, 6))
run.figure(
    turned_and_shifted(),
    "orbit",
    alt="Seven copies of a handwritten digit, turned step by step and shifted to the right.",
    caption="Part of the orbit of a digit.",
)

# %% [markdown]
# ## The idea
#
# A set $G$ of transformations is a **group** if it contains the identity, the inverse of each of its
# elements, and the composition of any two of them. The **orbit** of $x$ is the set of its images,
#
# $$G x = \{ g x : g \in G \} .$$
#
# In code a group lists its elements and acts on a batch of points. The example is a ring of six sensors.

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


# %% jupyter={"source_hidden": true} tags=["hide-input"]
def orbit_size(r):
    images_of_r = shifts.act(shifts.elements(), np.array([r], float))[:, 0]
    return len(np.unique(np.round(images_of_r / np.abs(r).max(), 9), axis=0))


check(
    reading,
    lambda r: np.any(r) and orbit_size(r) == 3,
    "six shifts give three different readings, so each reading comes from two shifts",
    "a shift by three places must change nothing: which sensors have to agree?",
    why="it repeats after three places, so two shifts leave it as it is, and 6 / 2 = 3",
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
# ## The gain: count the orbits
#
# Beads of two colours on a ring form $2^n$ words, but how many necklaces? A learner with the symmetry
# has to see one word of each orbit, the *core set*. The name of an orbit is the smallest of its
# words, read as a number.


# %%
def count_necklaces(n):
    words = np.arange(2**n)
    rotations = [(words << s | words >> (n - s)) % 2**n for s in range(n)]
    smallest = np.min(rotations, axis=0)
    return len(np.unique(smallest))


lengths = list(range(3, n_beads + 1))
necklaces = [count_necklaces(n) for n in lengths]
curves = {
    "words": ("raw", [2.0**n for n in lengths]),
    "necklaces": ("haar", necklaces),
    "words / n": ("bound", [2**n / n for n in lengths], {"ls": ":"}),
}

# %%
fig, axes = plt.subplots()
axes.set_yscale("log", base=2)
panel(axes, lengths, curves, xlabel="beads on the ring, n", ylabel="number")
axes.set_title(f"{2**n_beads:,} words of {n_beads} beads are {necklaces[-1]:,} necklaces")
run.figure(fig, "necklaces", caption="Counted one by one. Dotted: words divided by |G| = n.")

# %% [markdown]
# The gain is close to $|G|$: almost every word has an orbit of full size.
#
# **Exercise 2.** Five letters from an alphabet of eight, in any order: how many *bags* of letters
# are there? These are the orbits of `mroueh2015/xperm`, the first experiment of the first paper.

# %% tags=["exercise"]
bags = ...  # a number

# %% jupyter={"source_hidden": true} tags=["hide-input"]
letters = np.array(np.unravel_index(np.arange(8**5), (8,) * 5)).T
check(
    bags,
    lambda n: n == len(np.unique(np.sort(letters, axis=1), axis=0)),
    "8^5 words divided by 5! is too few, as words with a letter twice have smaller orbits",
    "only the number of each letter matters: put five balls into eight boxes",
    why="a bag is a choice of five letters out of eight with repetition",
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
# $f$ is **invariant** if $f(g x) = f(x)$ for every $g$: a function of orbits. The art is to
# ignore the group *and nothing else*.
#
# **Exercise 3.** Write a function of a reading `x` that is invariant under all cyclic shifts, but not
# under all permutations: it still depends on which values are neighbours.

# %% tags=["exercise"]
neighbours = ...  # def neighbours(x): ...

# %% jupyter={"source_hidden": true} tags=["hide-input"]
orders = Permutations(6)


def spread(f, points):
    return np.ptp([f(point) for point in points])


def sees_neighbours_only(f):
    """Whether f is constant on two orbits of shifts, and not on their orbits of all orders."""
    for point in (x, np.cos(np.arange(6.0))):
        on_shifts = shifts.act(shifts.elements(), point[None])[:, 0]
        on_orders = orders.act(orders.elements(), point[None])[:, 0]
        if not spread(f, on_shifts) < 1e-9 * spread(f, on_orders):
            return False
    return True


check(
    neighbours,
    sees_neighbours_only,
    "the sum over all places does not depend on where the ring begins: a sum of which terms?",
    "combine each value with the next one on the ring (`np.roll`), then sum over places",
    why="a sum over all places is invariant, and its terms depend on pairs of neighbours",
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
# **Keep:** an orbit is the set of images of one point; invariant means constant on orbits; one
# example of each orbit is enough. Next, `course/averaging` makes any function invariant.
#
# ## Try it
#
# `invariance run course/orbit -p n_beads 16`: does the factor come closer to $n$?
