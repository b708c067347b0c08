# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lesson 3: random features that do not see the group
#
# *40 minutes. You need `course/averaging`; random Fourier features help.*
#
# A kernel machine costs $n^2$ averages and $n^3$ operations, a *feature map* costs $n$. **Can a few
# random numbers per point be invariant, and lose nothing else?**

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
length: int = 24  # of a signal; as many shifts

# %%
import matplotlib.pyplot as plt
import numpy as np

from invariance.companion import Run, check, colour, curve, fit_rate
from invariance.features import GroupCDF
from invariance.groups import CyclicShifts
from invariance.kernels import CDF, Average

run = Run("course/features", profile=profile, seed=seed, length=length)
counts = [10, 30, 100, 300]
n_draws = 20 if run.quick else 200

# %% [markdown]
# ## The picture
#
# Take a random **template** $t$, and the inner products of a signal with all shifts of $t$. If the
# signal is shifted, the same numbers come in a different *order*. Their *distribution* does not change.

# %%
shifts = CyclicShifts(length)
positions = np.arange(length)


def bump(centre, width):
    return np.exp(-0.5 * ((positions - centre) / width) ** 2)


def draw_signal(panels, signal, t, name, style, linestyle="-"):
    """Draw a signal, its inner products with the shifts of t, and their distribution."""
    products = shifts.act(shifts.elements(), t[None])[:, 0] @ signal
    look = {"color": colour(style), "label": name, "ls": linestyle}
    panels[0].plot(positions, signal, **look)
    panels[1].plot(positions, products, **look)
    panels[2].step(np.sort(products), (positions + 1) / length, where="post", **look)


def template_cdf(template=3, shift=7, width=2.5):
    """Draw a signal, a shifted copy and another signal, with one template."""
    t = np.random.default_rng([seed, template]).standard_normal(length) / np.sqrt(length)
    x = bump(length // 4, width)
    z = np.cos(2 * np.pi * positions / 8) * bump(length // 2, 4)
    figure, panels = plt.subplots(1, 3, figsize=(9, 3))
    draw_signal(panels, x, t, "x", "cdf")
    draw_signal(panels, np.roll(x, shift), t, f"x shifted by {shift}", "haar", "--")
    draw_signal(panels, z, t, "another z", "raw")
    panels[0].set(title="signals", xlabel="position")
    panels[1].set(title="inner products with t", xlabel="shift of t")
    panels[2].set(title="their distribution", xlabel="threshold τ")
    panels[2].legend(loc="lower right", fontsize="small")
    plt.close(figure)
    return figure


# %%
if not run.batch:  # sliders, in JupyterLab
    from ipywidgets import interact

    interact(template_cdf, template=(0, 20), shift=(0, length - 1), width=(1.0, 8.0))
run.figure(template_cdf(), "template", caption="A signal, its shifted copy and another signal.")

# %% [markdown]
# ## The idea
#
# The feature of Mroueh et al. (2015), "GICDF" in later papers, is that distribution function,
#
# $$\phi_t(x)(\tau) = \frac{1}{|G|} \sum_{g \in G} 1[\langle g t, x \rangle \le \tau] ,$$
#
# at a few thresholds $\tau$, for a few random $t$. Only the *template* is transformed, once, before any
# data arrive. In code it is one call, `GroupCDF`.

# %%
X = np.random.default_rng(seed).standard_normal((20, length))
X /= np.linalg.norm(X, axis=1, keepdims=True)
features = GroupCDF(shifts, n_components=50, n_bins=25, random_state=seed).fit(X)
change = np.abs(features.transform(np.roll(X, 5, axis=1)) - features.transform(X)).max()
print(features.transform(X).shape, f"largest change under a shift by 5: {change:.0e}")

# %% [markdown]
# **Exercise 1.** Write `share_below(t, x, tau)`: the share of the shifts of the template `t` whose
# inner product with `x` is at most `tau`.

# %% tags=["exercise"]
share_below = ...  # def share_below(t, x, tau): ...

# %% jupyter={"source_hidden": true} tags=["hide-input"]
t = features.templates_[0]
thresholds = [-0.1, 0, 0.2]


def share_by_hand(t, x, tau):
    return np.mean([np.roll(t, s) @ x <= tau for s in range(length)])


def counts_shares(f):
    cases = [(s, x, tau) for s in (t, X[1]) for x in X[:2] for tau in thresholds]
    return all(np.isclose(f(*case), share_by_hand(*case)) for case in cases)


check(
    share_below,
    counts_shares,
    "first make an array of all inner products, one per shift of t",
    "list the shifts of t with shifts.act, multiply by x, compare, take the mean",
    why="it agrees with a loop over all shifts, for two templates, two signals, three thresholds",
)

# %% [markdown]
# <details><summary>Solution</summary>
#
# ```python
# def share_below(t, x, tau):
#     shifted = shifts.act(shifts.elements(), t[None])[:, 0]
#     return np.mean(shifted @ x <= tau)
# ```
# </details>
#
# **Exercise 2.** One template may be blind. Find a $t \neq 0$ with which *every* signal whose
# values sum to zero has the same feature.

# %% tags=["exercise"]
blind = ...  # as many numbers as the signal has: `length`

# %% jupyter={"source_hidden": true} tags=["hide-input"]
signals_of_sum_zero = X - X.mean(axis=1, keepdims=True)


def largest_product(t):
    shifted = shifts.act(shifts.elements(), np.array([t], float))[:, 0]
    return np.abs(shifted @ signals_of_sum_zero.T).max()


check(
    blind,
    lambda t: np.any(t) and largest_product(t) < 1e-9 * np.linalg.norm(t),
    "all its inner products with such signals must be zero",
    "the sum of a signal is its inner product with which vector?",
    why="its inner product with a signal is a multiple of the signal's sum, which is zero",
)

# %% [markdown]
# <details><summary>Solution</summary>
#
# ```python
# blind = np.ones(length)
# ```
#
# A *random* template is blind with probability zero, and more templates lose less information.
# </details>
#
# ## The limit, and the rate
#
# As the number $m$ of templates grows, inner products of these features approach an invariant
# kernel, $\langle \Phi(x), \Phi(z) \rangle \to K_s(x, z)$ (theorem 1 of the paper). The library has
# its closed form, as an average over the group.

# %%
limit = Average(CDF(epsilon=0.2), shifts)(X)
errors = np.empty((n_draws, len(counts)))
seeds = np.random.default_rng(seed).integers(2**31, size=errors.shape)
for draw in range(n_draws):
    for i, m in enumerate(counts):
        model = GroupCDF(shifts, m, n_bins=50, rejection="zero", random_state=seeds[draw, i])
        Phi = model.fit_transform(X)
        errors[draw, i] = np.sqrt(np.mean((Phi @ Phi.T - limit) ** 2))

# %%
rate = fit_rate(counts, errors)
theory = errors[:, 0].mean() * (counts[0] / np.array(counts)) ** 0.5
fig, axes = plt.subplots()
axes.set(xscale="log", yscale="log", xlabel="templates, m", ylabel="error of inner products")
curve(axes, counts, errors, "cdf", label="measured")
axes.plot(counts, theory, "k:", label=r"$m^{-1/2}$")
axes.legend()
axes.set_title(f"The error falls as the number of templates to the power {rate.slope:.2f}")
run.figure(
    fig,
    "rate",
    caption=f"Root mean square over pairs; bars: two standard errors over {n_draws} draws.",
)

# %% [markdown]
# **Exercise 3.** By the theory, how many times as many templates are needed to halve the error?

# %% tags=["exercise"]
times_as_many = ...  # a number

# %% jupyter={"source_hidden": true} tags=["hide-input"]
check(
    times_as_many,
    lambda times: np.isclose(times**-0.5, 0.5),
    "the error is proportional to the number to the power -1/2",
    "solve times**(-1/2) = 1/2",
    why="4 to the power -1/2 is 1/2",
)

# %% [markdown]
# <details><summary>Solution</summary>
#
# ```python
# times_as_many = 4
# ```
#
# This holds for any mean of random numbers: two digits take 10,000 templates. A learner rarely needs
# them.
# </details>
#
# **Keep:** transform templates, not data; pool the inner products; random templates make the features
# rich. `OrbitFourier` (the LGIKA of Raj et al. 2017) pools cosines in the same way. Next,
# `course/best_fit` takes the maximum instead of a mean.
#
# ## Try it
#
# `invariance run course/features -p length 60`: do more shifts make the error smaller?
