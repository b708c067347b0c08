# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Remark 4: the cost of a feature, and structured templates
#
# *Raj et al. (2017), remark (4) of section 2.2.2.*
#
# Features with $s$ templates and $r$ group elements cost $r\, C_f + r s\, C_g$: plain features $r$
# times, and the action of $r$ elements on $s$ templates. The second term is paid once for all points.
# And structured templates can take the place of independent ones. Both statements hold.
#
# We count machine instructions, which repeat to seven digits, and the vectors transformed, and compare
# templates in Hadamard blocks, `StructuredTemplates`, with independent ones. Times by the clock are only
# reported.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
d: int = 64  # coordinates that are permuted
s: int = 200  # templates

# %%
import matplotlib.pyplot as plt
import numpy as np
from _hadamard_work import PROGRAM
from _structured_templates import StructuredTemplates

from invariance.companion import Run, fit_rate, instructions, panel, processor_seconds
from invariance.features import OrbitFourier, draw_frequencies
from invariance.groups import CyclicShifts, Permutations
from invariance.kernels import Average, Gaussian

run = Run("raj2017/remark4", profile=profile, seed=seed, d=d, s=s)

# %% [markdown]
# Numbers of group elements, of templates and of coordinates, by part of the work.

# %% tags=["settings"]
if run.quick:
    SIZES = {
        "features": (8, 16, 32),
        "acting, r": (16, 32, 64),
        "acting, s": (200, 400, 800),
        "structured": (256, 1024),
        "independent": (256, 1024),
    }
    DIMENSIONS = (16, 64)
    N_DRAWS = 20
else:
    SIZES = {
        "features": (16, 32, 64, 128),
        "acting, r": (32, 64, 128, 256),
        "acting, s": (500, 1000, 2000, 4000),
        "structured": (256, 1024, 2048, 4096),
        "independent": (256, 1024, 2048, 4096),
    }
    DIMENSIONS = (16, 64, 256, 1024)
    N_DRAWS = 60

# %% [markdown]
# ## Linear in r and in s, and templates transformed once
#
# Permutations of 64 coordinates have no fast algorithm, so that the construction itself is counted,
#
# $$ r\, C_f:\ \tfrac1r \sum_i \cos \langle \omega_k, g_i x\rangle \ \text{of 100 points},
#    \qquad r s\, C_g:\ g_i \omega_k \ \text{for all } i, k, $$
#
# each under valgrind. A quick run reads the clock instead.

# %%
work = PROGRAM.format(d=d, s=s, seed=seed)
cases = [(part, n) for part, values in SIZES.items() for n in values]
counts = None if run.quick else instructions(work, cases)
clock = dict(zip(cases, processor_seconds(work, cases), strict=True))
if counts is None:
    count = clock
    unit = "processor seconds"
else:
    count = dict(zip(cases, map(float, counts), strict=True))
    unit = "instructions"


def rate_of(measured, part):
    """Exponent with which a part of the work grows."""
    return fit_rate(SIZES[part], [measured[part, n] for n in SIZES[part]])


# %% [markdown]
# A counter inside the action shows how many vectors it transforms. Their number does not depend on the
# number of points.


# %%
class Counted(Permutations):
    """Permutations that count the vectors that they transform."""

    n_transformed = 0
    # Only transformed vectors are counted, so no closed form may take their place.
    aligned = Permutations.largest_inner
    as_assignment = Permutations.largest_inner
    mean_polynomial = Permutations.largest_inner

    def _act(self, elements, X):
        Counted.n_transformed += len(elements) * len(X)
        return super()._act(elements, X)


X = run.rng.standard_normal((100, d)) / np.sqrt(d)
point_counts = np.array([100, 200, 400, 800])
transformed = []
for n in point_counts:
    Counted.n_transformed = 0
    model = OrbitFourier(Counted(d), s, n_transforms=32, gamma=0.5, random_state=seed)
    model.fit(X[:2]).transform(np.tile(X, (n // 100, 1)))
    transformed.append(Counted.n_transformed)

# %% [markdown]
# Three parts should grow in proportion to $r$ or $s$; the number of transformed vectors should not
# grow with the number of points.

# %%
GROWTH = {
    "features, against r": "features",
    "acting on templates, against r": "acting, r",
    "acting on templates, against s": "acting, s",
}
rates = {}
by_clock = []
for words, part in GROWTH.items():
    rates[words] = rate_of(count, part)
    by_clock.append(f"{words} {rate_of(clock, part).slope:.2f}")
expected = dict.fromkeys(GROWTH, 1.0)
against_points = "templates moved, against the number of points"
rates[against_points] = fit_rate(point_counts, np.array(transformed, float))
expected[against_points] = 0.0

# %% [markdown]
# The figure shows the first term, $r\, C_f$.

# %% tags=["hide-input"]
fig, axis = plt.subplots()
panel(
    axis,
    SIZES["features"],
    {"r C_f": ("templates", [count["features", r] for r in SIZES["features"]])},
    log="xy",
    xlabel="group elements r",
    ylabel=unit,
    title=f"Features cost r to the power {rates['features, against r'].slope:.3f}",
)
run.figure(fig, "cost", caption="Features of 100 points; templates are moved beforehand.")

# %% [markdown]
# The verdict rests on instructions, which only the full profile counts.

# %% tags=["claims"]
if counts is not None:
    run.claim(
        "raj2017/remark4-cost",
        rates=rates,
        expected=expected,
        note=f"{transformed[0]:,} vectors were transformed for {point_counts[0]} points and "
        f"{transformed[-1]:,} for {point_counts[-1]}, where r s = {32 * s:,}; exponents by the "
        f"clock: {', '.join(by_clock)}",
    )

# %% [markdown]
# ## Structured templates in the same construction
#
# Features $\frac1r \sum_i \cos, \sin \langle \omega, g_i x \rangle$ under cyclic shifts, with
# independent and with structured templates; the error of the Gram matrix against the exact kernel.
# Structured templates have smaller errors, and cost less in high dimensions. Points lie about one
# bandwidth apart, where a kernel distinguishes most.


# %%
def projections(kind, s, draw, X):
    """Products of points with one draw of templates."""
    d = X.shape[1]
    if kind == "structured":
        return StructuredTemplates(s, d, gamma=0.5, random_state=draw).products(X)
    frequencies = draw_frequencies("gaussian", 0.5, n_components=s, n_features=d, random_state=draw)
    return X @ frequencies.T


def gram_error(kind, s, draw, exact, orbits):
    """Root mean square error of the Gram matrix with one draw of templates."""
    n_elements, n_points, d = orbits.shape
    values = projections(kind, s, draw, orbits.reshape(-1, d)).reshape(n_elements, n_points, -1)
    waves = np.concatenate([np.cos(values), np.sin(values)], axis=-1)
    Z = waves.mean(axis=0) / np.sqrt(s)
    return np.sqrt(np.mean((Z @ Z.T - exact) ** 2))


# %% [markdown]
# The same points, group and exact kernel serve both kinds of templates, with as many templates as
# dimensions and twice as many. All four group elements are averaged over, so that the error is that of the
# templates alone.

# %%
KINDS = ("structured", "independent")
errors = {}  # by kind, dimension, and templates per dimension
for size in DIMENSIONS:
    group = CyclicShifts(4, block=size // 4)
    X = np.random.default_rng([1000, size]).standard_normal((20, size)) / np.sqrt(2 * size)
    exact = Average(Gaussian(0.5), group)(X)
    orbits = group.act(group.elements(), X)
    for factor in (1, 2):
        for kind in KINDS:
            errors[kind, size, factor] = [
                gram_error(kind, factor * size, 1000 + draw, exact, orbits)
                for draw in range(N_DRAWS)
            ]

# %% [markdown]
# Ratios of the mean errors, and of the work.

# %%
by_kind = {}  # errors with as many templates as dimensions, shape (draws, dimensions)
counted = {}
timed = {}
for kind in KINDS:
    by_kind[kind] = np.array([errors[kind, size, 1] for size in DIMENSIONS]).T
    counted[kind] = np.array([count[kind, n] for n in SIZES[kind]])
    timed[kind] = np.array([clock[kind, n] for n in SIZES[kind]])
less_error = by_kind["independent"].mean(axis=0) / by_kind["structured"].mean(axis=0)
less_work = counted["independent"] / counted["structured"]

# %% [markdown]
# In low dimensions the fast transform does not pay yet; the errors are smaller at once.


# %% tags=["hide-input"]
def words_of(ratios):
    """Return the least and the largest of some ratios in words."""
    return f"{ratios.min():.2g} to {ratios.max():.2g} times"


fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2))
for axis, x, values, title in (
    (left, DIMENSIONS, by_kind, f"Independent templates have {words_of(less_error)} the error"),
    (right, SIZES["structured"], counted, f"Independent templates take {words_of(less_work)} the work"),
):  # fmt: skip
    curves = {
        "structured": ("fast", values["structured"]),
        "independent": ("templates", values["independent"], {"ls": "--"}),
    }
    panel(axis, x, curves, log="xy", xlabel="dimension d = number of templates s", title=title)
left.set_ylabel("error of the Gram matrix (RMS)")
right.set_ylabel(f"{unit} for 16 points")
run.figure(fig, "structured", caption="Two standard errors over draws (left); counted (right).")

# %% [markdown]
# The claim compares errors in all dimensions, and work from 1,024 dimensions on.

# %%
mean_errors = {kind: [] for kind in KINDS}
for size in DIMENSIONS:
    for factor in (1, 2):
        for kind in KINDS:
            mean_errors[kind].append(np.mean(errors[kind, size, factor]))
high = np.array(SIZES["structured"]) >= 1024
speedups = []
for n, ratio in zip(SIZES["structured"], timed["independent"] / timed["structured"], strict=True):
    speedups.append(f"{ratio:.1f} times as fast at {n:,}")

# %% tags=["claims"]
if counts is not None:
    run.claim(
        "raj2017/remark4-structured",
        lhs=[*mean_errors["structured"], *counted["structured"][high]],
        rhs=[*mean_errors["independent"], *counted["independent"][high]],
        ceiling=np.inf,
        note="mean error of the Gram matrix (cyclic shifts, 4 elements) at s = d and s = 2 d for d "
        f"= {', '.join(map(str, DIMENSIONS))}; instructions of the projections for d of at least "
        f"1,024; by the clock {', '.join(speedups)}",
    )

# %% [markdown]
# ## Try it
#
# `invariance run raj2017/remark4 -p d 256`: what do longer vectors change? Or `-p s 1000`.
