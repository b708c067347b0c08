# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lesson 6: when invariance hurts
#
# *40 minutes. You need `course/averaging`, and cross-validation.*
#
# A six turned upside down is a nine. A reader of digits with all rotations built in takes them for
# one, and **no amount of data will tell them apart**. How much of a group should a model know?

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
tilt: float = 30.0  # degrees by which test digits may be turned, either way

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from invariance.beyond import symmetry_test
from invariance.companion import Run, check, panel
from invariance.groups import Rotations, Translations
from invariance.kernels import Average, Gaussian
from invariance.linear import RLSClassifier

run = Run("course/when_it_hurts", profile=profile, seed=seed, tilt=tilt)
widths, n_train, n_test, draws = [0, 15, 30, 60, 120, 180], 60, 200, 3 if run.quick else 30
data, side = load_digits(), 10
images = np.pad(data.images / 16, ((0, 0), (1, 1), (1, 1))).reshape(-1, side**2)

# %% [markdown]
# ## The picture

# %%
six, nine = (images[data.target == digit][0][None] for digit in (6, 9))
turned = Rotations((side, side)).act(np.deg2rad([0, 60, 120, 180]), six)[:, 0]
fig, panels = plt.subplots(1, 5, figsize=(8.0, 1.9))
names = ["a six", "60°", "120°", "180°", "a nine"]
for axes, image, name in zip(panels, [*turned, nine], names, strict=True):
    axes.imshow(image.reshape(side, side), cmap="gray_r", vmin=0, vmax=1)
    axes.set_title(name)
    axes.axis("off")
far, near = np.linalg.norm(six - nine), np.linalg.norm(turned[-1] - nine)
caption = f"The six is {far:.1f} away from the nine; turned by 180° it is {near:.1f} away."
run.figure(fig, "six_nine", alt="A six in four positions, and a nine.", caption=caption)

# %% [markdown]
# ## The idea
#
# An invariant function has *one* answer for an orbit: at best the most frequent class, so that
#
# $$\text{accuracy} \le \sum_{\text{orbits } o} P(o)\, \max_c P(c \mid o) .$$
#
# **Exercise 1.** Ten digits are equally frequent. Suppose a turned six were exactly a nine, and all
# else were distinct. What is the highest accuracy of a classifier that is invariant under all
# rotations?

# %% tags=["exercise"]
highest = ...  # a number between 0 and 1

# %% tags=["hide-input"]
check(
    highest,
    lambda a: np.isclose(a, sum([0.1] * 8 + [0.2 * 0.5])),
    "eight orbits hold one class, and one orbit of probability 0.2 holds two",
)

# %% [markdown]
# <details><summary>Solution</summary>
#
# ```python
# highest = 0.9
# ```
# </details>
#
# A **local** average goes only over a part of the group, here rotations by at most $w$,
#
# $$k_w(x, z) = \frac{1}{(2w)^2} \int_{-w}^{w}\!\int_{-w}^{w} k_0(g_\theta x, g_{\theta'} z)\, d\theta\, d\theta' ,$$
#
# a dial between the plain kernel ($w = 0$) and the Haar kernel ($w = 180°$). In code:


# %%
base = Gaussian(gamma=0.05)


def kernel(width):
    """k_w; its integrals are means over steps of 15 degrees."""
    degrees = np.arange(-width, min(width, 165) + 1, 15)  # a full turn is counted once
    return Average(base, Rotations((side, side), degrees=degrees)) if width else base


def moved(group, elements, points):
    """Each point by an element of its own."""
    return np.stack([group.act([g], x[None])[0, 0] for g, x in zip(elements, points, strict=True)])


def accuracy(width, train, test, limit):
    """Of a machine that learns upright digits, in %, on digits turned by at most `limit` degrees."""
    angles = np.deg2rad(np.random.default_rng(seed).uniform(-limit, limit, len(test)))
    seen = moved(Rotations((side, side)), angles, images[test])
    machine = SVC(kernel=kernel(width), C=1e3).fit(images[train], data.target[train])
    return 100 * machine.score(seen, data.target[test])


# %% [markdown]
# ## It helps, and it hurts
#
# Few upright digits train. Test digits are upright, or tilted as on a page that lies askew.

# %%
WORLDS = {"upright": (0.0, "raw"), "tilted": (tilt, "local")}
found = {world: np.empty((draws, len(widths))) for world in WORLDS}
for draw in range(draws):
    order = np.random.default_rng([seed, draw]).permutation(len(images))
    train, test = order[:n_train], order[n_train : n_train + n_test]
    for world, (limit, _) in WORLDS.items():
        found[world][draw] = [accuracy(width, train, test, limit) for width in widths]
fig, axes = plt.subplots()
best = {world: widths[values.mean(axis=0).argmax()] for world, values in found.items()}
curves = {f"{world} test digits": (WORLDS[world][1], values) for world, values in found.items()}
words = {"xlabel": "half-width w of the rotations in the kernel (degrees)"}
words["title"] = "Best w: " + ", ".join(f"{world} {width}°" for world, width in best.items())
panel(axes, widths, curves, ends=0.45, ylabel="test accuracy (%)", **words)
caption = f"{n_train} training digits; bars: two standard errors over {draws} draws."
run.figure(fig, "width", caption=caption)

# %% [markdown]
# **Exercise 2.** Choose `width` for tilted digits without a look at the figure, and without a test
# digit: split the training digits `train` in two, and call
# `accuracy(width, one half, the other half, tilt)` for each of `widths`.

# %% tags=["exercise"]
width = ...  # one of widths

# %% tags=["hide-input"]
check(
    width,
    lambda w: found["tilted"].mean(axis=0)[widths.index(w)] >= found["tilted"].mean() + 2,
    "held-out digits must be tilted as test digits will be; several splits vary less than one",
)

# %% [markdown]
# <details><summary>Solution</summary>
#
# ```python
# halves = train[::2], train[1::2]
# held_out = [accuracy(w, *halves, tilt) + accuracy(w, *halves[::-1], tilt) for w in widths]
# width = widths[np.argmax(held_out)]
# ```
# </details>
#
# ## Let the data speak
#
# `symmetry_test` asks of each candidate whether building it in lowers the error on points held out,
# and says so when the data do not tell. Here are 60 sixes and nines, each up to two pixels away
# from its place:

# %%
rng = np.random.default_rng([0, 9])
frame, jolt = (12, 12), Translations((12, 12), max_shift=2)
rows = rng.permutation(np.flatnonzero(np.isin(data.target, (6, 9))))[:60]
framed = np.pad(images[rows].reshape(-1, side, side), ((0, 0), (1, 1), (1, 1))).reshape(60, -1)
X, y = moved(jolt, rng.integers(-2, 3, size=(60, 2)), framed), data.target[rows]
model = RLSClassifier(kernel=base)
print(symmetry_test(model, {"tilts": Rotations(frame, degrees=[-15, 0, 15])}, X, y))

# %% [markdown]
# **Exercise 3.** Write down two candidates for these images: one that you expect to lower the error,
# and one to raise it. The check runs the test.

# %% tags=["exercise"]
candidates = ...  # {"name": group, "another": group}, of images of the shape `frame`

# %% tags=["hide-input"]
verdicts = {"lowers the error", "raises the error"}
check(
    candidates,
    lambda groups: verdicts <= {gain.verdict for gain in symmetry_test(model, groups, X, y)},
    "what was done to the images should not count, and what makes a six a nine should",
)

# %% [markdown]
# <details><summary>Solution</summary>
#
# ```python
# candidates = {"jolts": jolt, "half turns": Rotations(frame, degrees=[0, 180])}
# ```
# </details>
#
# **Keep:** ask what an orbit holds; make the group local; let held-out data turn the dial. On your
# own data: `guides/which_group`, `guides/own_data`.
#
# ## Try it
#
# `invariance run course/when_it_hurts -p tilt 180`: which width is best when test digits lie any
# way?
