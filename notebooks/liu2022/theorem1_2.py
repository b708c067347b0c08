# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # When is a best-fit kernel positive definite? Theorems 1 and 2, lemmas 1 and 2
#
# *Liu, Kumar, Zhou and Liu (2022), section 2 and appendices B to D.*
#
# A maximum of kernels is not a kernel in the usual sense: nothing makes
#
# $$K(x, z) = \max_{T \in \mathcal{G}} K_{\mathrm{base}}(x, T z)$$
#
# positive definite. The paper's answer is that for *few* samples it is, with high probability. If $n
# \le |\lambda|_1 / (2 |\lambda|_2 (\ln m)^{(1+\epsilon)/2})$, where $\lambda$ are the eigenvalues of
# the covariance of the $m$ features, the probability tends to one as $m$ grows (theorem 1). For
# independent features the bound is $\sqrt{m}$ up to a logarithm.
#
# How sharp is that? We draw Gaussian images, translate them cyclically in all $m$ ways, and look.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
length: float = 1.0  # over which the pixels of correlated images are, in pixels

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy import linalg

from invariance import kernels
from invariance.companion import Run, colour, panel, shades
from invariance.groups import CyclicTranslations, Rotations, departure_from_unitary
from invariance.kernels import BestFit, Gaussian, Linear, Polynomial
from invariance.theory import liu2022

run = Run("liu2022/theorem1_2", profile=profile, seed=seed, length=length)

# %% tags=["settings"]
# Side of the images -> samples drawn, more than are positive definite with quadratic kernels.
N_LARGEST, REPETITIONS, LARGER, FRESH = {
    "quick": ({4: 60, 6: 150, 8: 200}, 8, (16, 32), 5),
    "full": ({4: 100, 6: 200, 8: 300, 12: 450, 16: 800}, 40, (16, 32, 48, 64), 100),
}[profile]
SIDES, BEYOND = tuple(N_LARGEST), (1, 2, 4, 8)
LENGTHS = {"independent": 0.0, "correlated": length}
KINDS = ("linear", "2", "8", "rbf")

# %% [markdown]
# ## Lemma 1: symmetric and invariant, if $\mathcal{G}$ is a group
#
# We measure the largest relative violation of both over random images, for the three base kernels of
# the paper, and the difference from the maximum over all translations, taken one by one. The paper's
# experiments use other sets: 121 or 225 of the 784 translations, and rotations by interpolation. Those
# are not groups: how far do smooth blobs, turned by 7 degrees, depart?

# %%
group = CyclicTranslations((12, 12))
X, Z = run.rng.standard_normal((2, 10, 144))
moved_X, moved_Z = (group.act(group.sample(1, seed + i), A)[0] for i, A in enumerate((X, Z)))
violations = []
for base in (Linear(), Polynomial(8, gamma=1 / 1000), Gaussian(1 / 288)):
    kernel = BestFit(base, group)
    gram = kernel(X, Z)
    plain = np.max([base(X, moved) for moved in group.act(group.elements(), Z)], axis=0)
    for other in (plain, kernel(moved_X, moved_Z), kernel(Z, X).T):
        violations.append(np.abs(gram - other).max() / np.abs(gram).max())

turns, axis = Rotations((28, 28), degrees=range(-10, 10)), np.linspace(-2.5, 2.5, 28)
a, b = run.rng.uniform(-1, 1, (12, 2)).T[..., None, None]
blobs = np.exp(-2 * ((axis[:, None] - a) ** 2 + 2 * (axis - b) ** 2)).reshape(12, -1)
kernel = BestFit(Polynomial(8, gamma=1 / 784), turns)
gram, turned = kernel(blobs), turns.act(np.deg2rad([7.0]), blobs)[0]
run.claim(
    "liu2022/lemma1",
    difference=violations,
    tolerance=1e-10,
    note="symmetry, invariance and the plain maximum, over the whole group of translations; the "
    f"rotations of the experiments, interpolated and from -10 to 9 degrees, depart by {kernels.gram_report(gram).asymmetry:.1e} from symmetry and "
    f"{np.abs(kernel(turned, turned) / gram - 1).max():.1e} from invariance on smooth images "
    f"(norms change by up to {departure_from_unitary(turns, blobs, random_state=seed)['norm']:.1e})",
)

# %% [markdown]
# ## Gaussian images
#
# Independent pixels, or pixels correlated over about a pixel's distance: a stationary field on the
# torus, so that the law is invariant under translation, as the proof requires. Its covariance is
# circulant, and its eigenvalues are the squared filter in the frequency domain.


# %%
def eigenvalues(side, length):
    """Of the covariance of a stationary Gaussian field; length 0 is white noise."""
    f = np.fft.fftfreq(side)
    values = np.exp(-2 * (np.pi * length) ** 2 * (f[:, None] ** 2 + f**2))
    return (values / values.mean()).ravel()


def images(n, side, length, rng):
    white = np.fft.fft2(rng.standard_normal((n, side, side)))
    root = np.sqrt(eigenvalues(side, length)).reshape(side, side)
    return np.fft.ifft2(white * root).real.reshape(n, -1)


# %% [markdown]
# For each set of images we take the Gram matrix of the linear best-fit kernel once,
# `BestFit(Linear(), CyclicTranslations(shape))(X) / m`. Polynomial kernels $(1 + \frac{\gamma}{m}
# \langle x, z\rangle)^d$ of even degree follow from it entry by entry, together with the
# *smallest* inner product $-\max_T \langle x, -Tz \rangle$, whose even power wins where it is far
# enough below $-1$. The Gaussian kernel (appendix D) follows as well.


# %%
def best_fits(X, kernel):
    """Gram matrices of KINDS, from the largest and the smallest inner products over m."""
    m, norms = X.shape[1], (X**2).mean(axis=1)
    linear, smallest = kernel(X) / m, -kernel(X, -X) / m
    yield linear
    for degree in (2, 8):
        yield np.maximum(1 + linear, -(1 + smallest)) ** degree
    yield np.exp(linear - norms[:, None] / 2 - norms / 2)  # sigma = 1; |x|^2 / m close to one


@run.cache
def trials(side, length, axes, n, repetitions, seed):
    """Largest definite n for each kind of base kernel, shape (repetitions, kinds)."""
    rng = np.random.default_rng([seed, side, side, int(10 * length)])
    kernel, found = BestFit(Linear(), CyclicTranslations((side, side), axes=axes), n_jobs=1), []
    for _ in range(repetitions):
        X = images(n, side, length, rng)
        found.append([kernels.largest_definite(gram) for gram in best_fits(X, kernel)])
    return np.array(found)


found = {
    (law, side): trials(side, over, (0, 1), N_LARGEST[side], REPETITIONS, seed)
    for law, over in LENGTHS.items()
    for side in SIDES
}
turned = {
    ("correlated", side): trials(side, length, (1,), N_LARGEST[side], REPETITIONS, seed + 1)
    for side in SIDES
}
bounds = {
    (law, side): liu2022.theorem1_samples(eigenvalues(side, over), epsilon=1e-9)
    for law, over in LENGTHS.items()
    for side in SIDES
}

# %% [markdown]
# The share of draws that are positive definite estimates the probability in theorems 1 and 2. Cut a
# disc into rings and sectors, and a rotation is a cyclic shift along the second axis (lemma 2).

# %%
columns = {
    "translations, independent": (found, "independent"),
    "translations, correlated": (found, "correlated"),
    "rotations, correlated": (turned, "correlated"),
}
fig, axes = plt.subplots(2, 3, figsize=(11, 6.8), sharey=True)
for k, (panels, look, name) in enumerate(
    zip(axes, ("linear", "polynomial"), ("linear", "quadratic"), strict=True)
):
    for axis, (title, (draws, law)) in zip(panels, columns.items(), strict=True):
        lasts = []
        for side, tint in zip(SIDES, shades(look, len(SIDES)), strict=True):
            n = np.arange(1, N_LARGEST[side] + 1)
            share = (draws[law, side][:, k] >= n[:, None]).mean(axis=1)
            error, x = np.sqrt(share * (1 - share) / REPETITIONS), n / bounds[law, side]
            axis.plot(x, share, color=tint, label=f"{side} x {side}")
            axis.fill_between(x, share - error, share + error, color=tint, alpha=0.3)
            lasts.append(x[share == 1][-1])
        axis.axvline(1, color=colour("bound"), linestyle="--", label="the bound")
        axis.set(
            xscale="log",
            xlabel="n / bound of the theorem",
            title=f"{name}, {title}:\nall up to {min(lasts):.1f} to {max(lasts):.1f} times",
        )
    panels[0].set_ylabel("share of draws positive definite")
    panels[0].legend(title="pixels", loc="lower left", frameon=True, framealpha=1)
run.figure(fig, "probability", caption="Bands: one standard error of the share.")

# %% [markdown]
# Gershgorin's discs are the conservative part of the proof: entries off the diagonal are nearly equal;
# that costs one large eigenvalue, but Gershgorin charges every row for it.

# %%
side = SIDES[-1]
kernel = BestFit(Linear(), CyclicTranslations((side, side)))
linear = kernel(images(N_LARGEST[side], side, 0.0, np.random.default_rng(seed))) / side**2
sizes = np.unique(np.geomspace(2, N_LARGEST[side], 24).astype(int))
curves = {
    "smallest eigenvalue": ("linear", [linalg.eigvalsh(linear[:n, :n])[0] for n in sizes]),
    "Gershgorin's bound": ("bound", [kernels.gershgorin_margin(linear[:n, :n]) for n in sizes]),
}


def given_up(values):
    """In words, at which of the sizes values turn negative."""
    below = sizes[np.array(values) < 0]
    return f"fails at n = {below[0]}" if len(below) else f"holds up to n = {sizes[-1]}"


matrix, gershgorin = (given_up(values) for _, values in curves.values())
fig, axis = plt.subplots(figsize=(7, 4))
panel(
    axis,
    sizes.tolist(),
    curves,
    log="x",
    ends=None,
    xlabel="samples n",
    ylabel="eigenvalue",
    ylim=(-4, 1.2),
    title=f"The matrix {matrix}, Gershgorin {gershgorin}",
)
axis.axhline(0, color="black", linewidth=0.8)
axis.legend()
run.figure(fig, "gershgorin", caption="One draw of independent Gaussian images, linear kernel.")

# %% [markdown]
# The theorem at its own $n$ and at 2, 4 and 8 times as many, on fresh draws: the smallest eigenvalue of
# the Gram matrix. "Probability tends to one" means that the margin grows with the image.


# %%
@run.cache
def smallest_eigenvalues(side, length, axes, counts, repetitions, seed):
    """(repetitions, counts, kinds): of the best-fit kernel of each of KINDS."""
    rng = np.random.default_rng([seed, side, int(10 * length)])
    kernel, found = BestFit(Linear(), CyclicTranslations((side, side), axes=axes), n_jobs=1), []
    for _ in range(repetitions):
        X = images(counts[-1], side, length, rng)
        grams = [*best_fits(X, kernel)]
        found.append([[linalg.eigvalsh(G[:n, :n])[0] for G in grams] for n in counts])
    return np.array(found)


def beyond(axes, kinds, seed):
    """Order and scores of a claim: positive in every draw at the theorem's n and beyond, and growing
    with the image; and the least eigenvalue at the most samples."""
    scores, order, least = {"0": 0.0}, [], np.inf
    for law, over in LENGTHS.items():
        allowed = {
            side: int(liu2022.theorem1_samples(eigenvalues(side, over), epsilon=1e-9))
            for side in LARGER
        }
        drawn = {
            side: smallest_eigenvalues(side, over, axes, tuple(k * n for k in BEYOND), FRESH, seed)
            for side, n in allowed.items()
            if n >= 2
        }
        for kind in kinds:
            k = KINDS.index(kind)
            for side, values in drawn.items():
                where = f"{law}, {kind}, m = {side**2}"
                least = min(least, values[:, -1, k].min())
                for i, multiple in enumerate(BEYOND):
                    name = f"least of draws at {multiple} x {allowed[side]}, {where}"
                    scores[name] = values[:, i, k].min()
                    order.append(f"{name} > 0")
                scores[f"mean at 8 x bound, {where}"] = values[:, -1, k]
            order += [
                f"mean at 8 x bound, {law}, {kind}, m = {4 * side**2} > "
                f"mean at 8 x bound, {law}, {kind}, m = {side**2}"
                for side in drawn
                if 2 * side in drawn
            ]
    return order, scores, least


# %%
EXACT = "the least of all draws says it for each of them"
AT = f"{FRESH} draws, smallest eigenvalue at 8 times the bound never below"
order, scores, least = beyond((0, 1), ("linear",), 10)
run.claim(
    "liu2022/theorem1",
    order=order,
    scores=scores,
    exact=EXACT,
    note=f"{AT} {least:.2f}; the diagonal is near one",
)

# %% [markdown]
# ## Theorem 2 and appendix D: polynomial and Gaussian kernels
#
# The same condition suffices for $(1 + \frac{\gamma}{m}\langle x, z \rangle)^d$ of any degree. The
# Gaussian kernel $\exp(-|x - z|^2 / 2 m \sigma^2)$ is a positive factor times $\exp(\langle x,
# z\rangle / m\sigma^2)$ when transformations keep norms. We ask the same of them as of theorem 1, on its
# draws; and how far does each last in smaller images, which can be followed to the end?

# %%
scores, wheres = {}, []
for (law, side), counts in found.items():
    wheres.append(f"{law}, m = {side**2}")
    names = {f"{k}, {wheres[-1]}": by for k, by in zip(KINDS, counts.T, strict=True)}
    scores |= names | {f"bound, {wheres[-1]}": bounds[law, side]}
all_definite = all(counts[:, 2].min() == N_LARGEST[side] for (_, side), counts in found.items())
last = f"; largest positive definite n in {len(SIDES)} sizes of image, {REPETITIONS} draws each"
order, beyond_scores, least = beyond((0, 1), ("2", "8"), 10)
run.claim(
    "liu2022/theorem2",
    order=order + [f"8, {w} > 2, {w} > linear, {w} > bound, {w}" for w in wheres],
    scores=scores | beyond_scores,
    paired=True,
    exact=EXACT,
    note=f"{AT} {least:.2f}{last}"
    + ("; at degree 8 every sample drawn is definite" if all_definite else ""),
)
order, beyond_scores, least = beyond((0, 1), ("rbf",), 10)
run.claim(
    "liu2022/appendixD-rbf",
    order=order + [f"rbf, {w} > linear, {w} > bound, {w}" for w in wheres],
    scores=scores | beyond_scores,
    paired=True,
    exact=EXACT,
    note=f"{AT} {least:.2f}{last}",
)

# %% [markdown]
# ## Lemma 2: rotations of annular images
#
# The right column of the figure above: linear and quadratic kernels, correlated features.

# %%
fewer, more = (draws["correlated", SIDES[-1]][:, 0].mean() for draws in (turned, found))
order, scores, least = beyond((1,), ("linear", "2"), 11)
run.claim(
    "liu2022/lemma2",
    order=order,
    scores=scores,
    exact=EXACT,
    note=f"{AT} {least:.2f}; with {SIDES[-1] ** 2} correlated features the linear kernel is positive "
    f"definite up to n = {fewer:.1f} over {SIDES[-1]} rotations and {more:.1f} over "
    f"{SIDES[-1] ** 2} translations",
)

# %% [markdown]
# A maximum over *fewer* transformations is not safer. The maximum of many inner products fluctuates
# less from pair to pair, and it is fluctuations that make eigenvalues negative.
#
# ## Try it
#
# `invariance run liu2022/theorem1_2 -p length 1.5`: the bound falls with $|\lambda|_1 /
# |\lambda|_2$; does the true limit? For real images see `liu2022/positive_definite_samples`.
