# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A group of your own: one class, and a test of it
#
# Your data may have a symmetry that the package does not include. One class adds it. The class defines
# **the elements, their composition, and their action**. It need not be registered; every kernel,
# feature map and learner takes an instance as it is.
#
# In the example $n$ sensors form a ring around a pipe, mounted at any angle and from either end. A
# reading $x \in \mathbb{R}^n$ means the same after any rotation of the ring and after a reflection:
# the dihedral group $D_n$ of order $2n$.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
n_sensors: int = 16  # on the ring

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

from invariance.companion import Run, panel
from invariance.features import OrbitFourier
from invariance.groups import CyclicShifts, FiniteGroup, GeneratedPermutations, check_group
from invariance.kernels import Average, BestFit, Gaussian

run = Run("guides/own_group", profile=profile, seed=seed, n_sensors=n_sensors)
N_REPETITIONS = 20 if run.quick else 200

# %% [markdown]
# ## The class
#
# An element is a row $(f, s)$: reflect if $f = 1$, then rotate by $s$ places. It carries position
# $i$ to position
#
# $$p_{f,s}(i) = (-1)^f\, i + s \bmod n ,$$
#
# so that $p_{f,s} \circ p_{f',s'} = p_{f \oplus f',\; s + (-1)^f s'}$. Elements come in batches,
# one per row; hence `[:, 0]` and `[:, 1]`, and the broadcasting.


# %%
class Dihedral(FiniteGroup):
    """Rotations and reflections of a ring; an element is a row (reflect?, places)."""

    unitary = True

    def __init__(self, n_sensors):
        self.n_sensors = n_sensors

    @property
    def shape(self):
        return (self.n_sensors,)

    @property
    def order(self):
        return 2 * self.n_sensors

    def identity(self):
        return np.array([[0, 0]])

    def generators(self):
        return np.array([[0, 1], [1, 0]])

    def compose(self, first, second):
        first, second = np.broadcast_arrays(first, second)
        flips = first[:, 0] ^ second[:, 0]
        shifts = first[:, 1] + (-1) ** first[:, 0] * second[:, 1]
        return np.stack([flips, shifts % self.n_sensors], axis=1)

    def inverse(self, elements):
        shifts = -((-1) ** elements[:, 0]) * elements[:, 1]
        return np.stack([elements[:, 0], shifts % self.n_sensors], axis=1)

    def _act(self, elements, X):
        # The value at position j comes from position p^-1(j).
        signs = (-1) ** elements[:, :1]
        sources = signs * (np.arange(self.n_sensors) - elements[:, 1:])
        return X[:, sources % self.n_sensors].swapaxes(0, 1)


# %%
ring = Dihedral(n_sensors)
print(f"{ring!r}: {ring.order} elements, {len(ring.generators())} generators")

# %%
small_ring = Dihedral(4)
reading = np.arange(4.0)
quarter_turn = [0, 1]
mirror_image = [1, 0]
images = small_ring.act([quarter_turn, mirror_image], [reading])[:, 0]
print(f"{reading} after a quarter turn: {images[0]}; mirrored: {images[1]}")

# %% [markdown]
# The constructor only stores its arguments, so that scikit-learn can clone a group and search over
# `group__n_sensors`. Listing the elements and drawing random ones come with `FiniteGroup`.
#
# ## Is it a group?
#
# `check_group` draws random points and tests every property of the class: closure,
# identity and inverses, $(gh)x = g(hx)$, linearity, unitarity $\langle gx, gz \rangle = \langle x,
# z \rangle$, and that the generators give `order` elements. It also counts how
# often `sample` draws each element. It is silent if all tests pass.

# %%
check_group(ring)
print("Dihedral passes all tests.")

# %% [markdown]
# If a test fails, the error names the property and the elements that break it. The following classes
# have one mistake each.


# %%
class ForgetsTheSign(Dihedral):
    """Composes as if rotations and reflections commuted."""

    def compose(self, first, second):
        first, second = np.broadcast_arrays(first, second)
        flips = first[:, 0] ^ second[:, 0]
        return np.stack([flips, (first[:, 1] + second[:, 1]) % self.n_sensors], axis=1)


class LosesEnergy(Dihedral):
    """A reflected reading comes out weaker, yet the action is called unitary."""

    def _act(self, elements, X):
        factors = np.where(elements[:, 0] == 1, 0.9, 1.0)
        return factors[:, None, None] * super()._act(elements, X)


# %%
class Miscounts(Dihedral):
    """Has the order n instead of 2 n."""

    @property
    def order(self):
        return self.n_sensors


# %%
rows = []
for broken in (ForgetsTheSign, LosesEnergy, Miscounts):
    try:
        check_group(broken(n_sensors))
    except AssertionError as error:
        row = {}
        row["class"] = broken.__name__
        row["its mistake"] = broken.__doc__
        row["message of check_group"] = str(error)
        rows.append(row)
assert len(rows) == 3, "a broken class went unnoticed"
run.table(rows, "broken", caption="Three broken classes, and the errors that name their mistakes.")

# %% [markdown]
# An action that is not unitary (a rotation by interpolation, a change of speed) is not a
# mistake: set `unitary = False`. `departure_from_unitary` measures its distance from unitarity.
#
# ## The gain in accuracy
#
# Two kinds of defect have five typical signatures each. They appear at a random angle, mirrored or not,
# with noise. The same support vector machine is fitted with three kernels. An average over a
# large group has small values, so $C$ has to be large.

# %%
rng = np.random.default_rng([seed, 0])
signatures = rng.standard_normal((10, n_sensors))
lengths = np.linalg.norm(signatures, axis=1, keepdims=True)
signatures *= 2 / lengths


def readings(n_samples, rng):
    """Return noisy readings of random signatures at random positions, and their kinds."""
    signature = rng.integers(10, size=n_samples)
    signature[:2] = 0, 1  # both kinds, however few the readings
    elements = ring.sample(n_samples, int(rng.integers(2**31 - 1)))
    transformed = ring.act(elements, signatures)  # shape (n_samples, 10, n_sensors)
    clean = transformed[np.arange(n_samples), signature]
    noise = 0.2 * rng.standard_normal(clean.shape)
    kinds = signature % 2
    return clean + noise, kinds


# %%
base = Gaussian(gamma=0.5)
sizes = [10, 20, 40, 80, 160]
KERNELS = {
    "ring as it is": ("raw", base),
    "rotations only": ("local", Average(base, CyclicShifts(n_sensors))),
    "rotations and reflections": ("haar", Average(base, ring)),
}
scores = {name: np.empty((N_REPETITIONS, len(sizes))) for name in KERNELS}
for repetition in range(N_REPETITIONS):
    rng = np.random.default_rng([seed, 1, repetition])
    X, y = readings(max(sizes), rng)
    X_test, y_test = readings(300, rng)
    for name, (_, kernel) in KERNELS.items():
        K = kernel(X)
        K_test = kernel(X_test, X)
        for i, n in enumerate(sizes):
            model = SVC(C=1e4, kernel="precomputed")
            model.fit(K[:n, :n], y[:n])
            accuracy = model.score(K_test[:, :n], y_test)
            scores[name][repetition, i] = 100 * accuracy


# %%
def draw_orbit(axis):
    """Draw the orbit of one reading as an image, one element per row."""
    elements = np.array(sorted(ring.elements().tolist()))
    two_readings, _ = readings(2, np.random.default_rng(seed))
    orbit = ring.act(elements, two_readings[:1])[:, 0]
    image = axis.imshow(orbit, aspect="auto")
    axis.axhline(n_sensors - 0.5, color="white", lw=2)
    axis.set(xlabel="sensor", ylabel="rotations, then reflections")
    axis.set_title(f"One reading has {len(orbit)} images under $D_{{{n_sensors}}}$")
    axis.grid(False)
    axis.figure.colorbar(image, ax=axis, label="reading")


# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
draw_orbit(left)
curves = {name: (KERNELS[name][0], values) for name, values in scores.items()}
panel(right, sizes, curves, log="x", ends=0.5, xlabel="training readings")
plain = scores["ring as it is"][:, 0].mean()
invariant = scores["rotations and reflections"][:, 0].mean()
right.set_ylabel("test accuracy (%)")
right.set_title(f"{sizes[0]} readings give {invariant:.0f} % with the group, {plain:.0f} % without")
caption = (
    f"Error bars: two standard errors over {N_REPETITIONS} draws of training and test readings."
)
run.figure(fig, "dihedral", caption=caption)


# %% [markdown]
# Features are invariant up to rounding as well. The group acts on templates, because it is unitary.

# %%
features = OrbitFourier(ring, n_components=200, gamma=0.5, random_state=seed)
before = features.fit_transform(X)
reflected = ring.act([[1, 3]], X)[0]
after = features.transform(reflected)
change = np.abs(after - before).max()
print(f"transformed: {features.side_}; largest change under reflection and rotation: {change:.1e}")

# %% [markdown]
# ## The fast algorithm
#
# So far every kernel treats $D_n$ as a list. But rotations of a ring are cyclic shifts, and a Fourier
# transform computes inner products with all shifts of a vector at once. The class has to declare that
# our $(f, s)$ is *reflect, then shift*: `chain` lists the parts
# in the order in which they are applied. `explain` prints the algorithm that a kernel will use.


# %%
class DihedralInParts(Dihedral):
    """The same group, as a chain of reflections and shifts."""

    def chain(self):
        mirror = -np.arange(self.n_sensors) % self.n_sensors
        return [GeneratedPermutations([mirror.tolist()]), CyclicShifts(self.n_sensors)]


X_large = np.random.default_rng(seed).standard_normal((50, 256))
listed = BestFit(Gaussian(0.01), Dihedral(256))
in_parts = BestFit(Gaussian(0.01), DihedralInParts(256))
plan = in_parts.explain(X_large)
print("as a list :", listed.explain(X_large))
print("in parts  :", plan)
assert plan.way == "correlation"

# %%
difference = listed(X_large) - in_parts(X_large)
print(f"largest difference: {np.abs(difference).max():.1e}")

# %% [markdown]
# Other groups have other short cuts: the table in `Transformations` lists them. A comparison of two
# kernels, as above, finds a wrong declaration.
#
# Next: `guides/when_invariance_hurts` treats approximate symmetries, and
# `soleymani2025/projection` a group that is too large to list.
