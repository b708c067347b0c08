# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # What a feature costs, and structured templates
#
# *Raj et al. (2017), remark (4) of section 2.2.2.*
#
# Features with $s$ templates and $r$ group elements cost $r\, C_f + r s\, C_g$: plain features $r$
# times, and the action of $r$ elements on $s$ templates. The second term is paid once for all points.
# And structured templates can take the place of independent ones.
#
# We count machine instructions, which repeat to seven digits, and the vectors moved, and set templates
# in Hadamard blocks, `StructuredTemplates`, beside independent ones. The clock decides nothing.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
d: int = 64  # coordinates that are permuted
s: int = 200  # templates

# %%
import matplotlib.pyplot as plt
import numpy as np

from invariance.companion import Run, fit_rate, instructions, panel, processor_seconds
from invariance.features import OrbitFourier, StructuredTemplates, draw_frequencies
from invariance.groups import CyclicShifts, Permutations
from invariance.kernels import Average, Gaussian

run = Run("raj2017/remark4", profile=profile, seed=seed, d=d, s=s)

# %% tags=["settings"]
quick = run.quick
SIZES = {
    "features": (8, 16, 32) if quick else (16, 32, 64, 128),
    "acting, r": (16, 32, 64) if quick else (32, 64, 128, 256),
    "acting, s": (200, 400, 800) if quick else (500, 1000, 2000, 4000),
    "structured": (256, 1024) if quick else (256, 1024, 2048, 4096),
    "independent": (256, 1024) if quick else (256, 1024, 2048, 4096),
}
dimensions, draws = ((16, 64), 20) if quick else ((16, 64, 256, 1024), 60)

# %% [markdown]
# ## Linear in r and in s, and templates transformed once
#
# Permutations of 64 coordinates have no fast way, so that the construction itself is counted,
#
# $$ r\, C_f:\ \tfrac1r \sum_i \cos \langle \omega_k, g_i x\rangle \ \text{of 100 points},
#    \qquad r s\, C_g:\ g_i \omega_k \ \text{for all } i, k, $$
#
# each under valgrind. A counter inside the action says how many vectors it moved.

# %%
WORK = f"""
import numpy as np
from invariance.features import OrbitFourier, StructuredTemplates, draw_frequencies
from invariance.groups import Permutations

d, s, rng = {d}, {s}, np.random.default_rng({seed})
group = Permutations(d)

def features(r):
    X = rng.standard_normal((100, d)) / np.sqrt(d)
    model = OrbitFourier(group, s, n_transforms=r, gamma=0.5, random_state=0).fit(X)
    return lambda: model.transform(X)

def acting(r, s):
    g, W = group.sample(r, 0), rng.standard_normal((s, d))
    return lambda: group.act(g, W)

def structured(d):
    fast = StructuredTemplates(d, d, gamma=0.5, random_state=0)
    X = np.ones((16, d), dtype=np.float32)
    return lambda: fast.products(X)

def independent(d):
    X, W = np.ones((16, d), dtype=np.float32), np.ones((d, d), dtype=np.float32)
    return lambda: X @ W.T

def prepare(size):
    what, n = size
    if what.startswith("acting"):
        return acting(n, 2000) if what.endswith("r") else acting(64, n)
    return globals()[what](n)
"""

# %%
sizes = [(what, n) for what, values in SIZES.items() for n in values]
found = None if quick else instructions(WORK, sizes)  # a quick run looks at the clock
clock = dict(zip(sizes, processor_seconds(WORK, sizes), strict=True))
count = dict(zip(sizes, map(float, found), strict=True)) if found else clock
unit = "instructions" if found else "processor seconds"


class Counted(Permutations):
    """Permutations that count the vectors that they transform."""

    moved = 0
    # Only what is transformed is counted here, so that no closed form may stand in for it.
    aligned = as_assignment = mean_powers = Permutations.largest_inner

    def _act(self, elements, X):
        Counted.moved += len(elements) * len(X)
        return super()._act(elements, X)


X = run.rng.standard_normal((100, d)) / np.sqrt(d)
numbers = np.array([100, 200, 400, 800])
moved = []
for n in numbers:
    Counted.moved = 0
    model = OrbitFourier(Counted(d), s, n_transforms=32, gamma=0.5, random_state=seed)
    model.fit(X[:2]).transform(np.tile(X, (n // 100, 1)))
    moved.append(Counted.moved)
GROWS = {
    "features, against r": "features",
    "acting on templates, against r": "acting, r",
    "acting on templates, against s": "acting, s",
}
rates = {
    words: fit_rate(SIZES[what], [count[what, n] for n in SIZES[what]])
    for words, what in GROWS.items()
}
rates["templates moved, against the number of points"] = fit_rate(numbers, np.array(moved, float))
if found:
    run.claim(
        "raj2017/remark4-cost",
        rates=rates,
        expected=dict(zip(rates, (1.0, 1.0, 1.0, 0.0), strict=True)),
        note=f"{moved[0]:,} vectors were transformed for {numbers[0]} points and {moved[-1]:,} for "
        f"{numbers[-1]}, where r s = {32 * s:,}; exponents by the clock: "
        + ", ".join(
            f"{words} {fit_rate(SIZES[what], [clock[what, n] for n in SIZES[what]]).slope:.2f}"
            for words, what in GROWS.items()
        ),
    )

# %%
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
# ## Structured templates in the same construction
#
# Features $\frac1r \sum_i \cos, \sin \langle \omega, g_i x \rangle$ under cyclic shifts, with
# independent and with structured templates; the error of the Gram matrix against the exact kernel.
# Points lie about one bandwidth apart, where a kernel distinguishes most.


# %%
def error(kind, d, s, draw, K, moved):
    """Root mean square error of the Gram matrix with one draw of templates."""
    flat = moved.reshape(-1, d)
    if kind == "structured":
        values = StructuredTemplates(s, d, gamma=0.5, random_state=draw).products(flat)
    else:
        how = {"n_components": s, "n_features": d, "random_state": draw}
        values = flat @ draw_frequencies("gaussian", 0.5, **how).T
    values = values.reshape(*moved.shape[:2], -1)
    Z = np.concatenate([np.cos(values), np.sin(values)], axis=-1).mean(axis=0) / np.sqrt(s)
    return np.sqrt(np.mean((Z @ Z.T - K) ** 2))


KINDS = ("structured", "independent")
errors = {}
for size in dimensions:
    group = CyclicShifts(4, block=size // 4)
    X = np.random.default_rng([1000, size]).standard_normal((20, size)) / np.sqrt(2 * size)
    K = Average(Gaussian(0.5), group)(X)
    moved = group.act(group.elements(), X)
    for factor in (1, 2):
        errors[size, factor] = {
            kind: [error(kind, size, factor * size, 1000 + i, K, moved) for i in range(draws)]
            for kind in KINDS
        }

# %%
counted = {kind: np.array([count[kind, n] for n in SIZES[kind]]) for kind in KINDS}
ratio = counted["independent"] / counted["structured"]
high = np.array(SIZES["structured"]) >= 1024
fig, axes = plt.subplots(1, 2, figsize=(9.6, 4.2))
by_kind = {kind: np.array([errors[size, 1][kind] for size in dimensions]).T for kind in KINDS}
less = by_kind["independent"].mean(axis=0) / by_kind["structured"].mean(axis=0)
LOOKS = {"structured": ("fast", {}), "independent": ("templates", {"ls": "--"})}
for axis, x, drawn, title in (
    (axes[0], dimensions, by_kind, f"{less.min():.2f} to {less.max():.2f} times less error"),
    (axes[1], SIZES["structured"], counted, f"{ratio.min():.2g} to {ratio.max():.2g} times less work"),
):  # fmt: skip
    curves = {kind: (look, drawn[kind], how) for kind, (look, how) in LOOKS.items()}
    panel(axis, x, curves, log="xy", xlabel="dimension d = number of templates s", title=title)
axes[0].set_ylabel("error of the Gram matrix (RMS)")
axes[1].set_ylabel(f"{unit} for 16 points")
run.figure(fig, "structured", caption="Two standard errors over draws (left); counted (right).")
lhs = [np.mean(e["structured"]) for e in errors.values()]
rhs = [np.mean(e["independent"]) for e in errors.values()]
by_clock = {kind: np.array([clock[kind, n] for n in SIZES[kind]]) for kind in KINDS}
if found:
    run.claim(
        "raj2017/remark4-structured",
        lhs=[*lhs, *counted["structured"][high]],
        rhs=[*rhs, *counted["independent"][high]],
        ceiling=np.inf,
        note="mean error of the Gram matrix (cyclic shifts, 4 elements) at s = d and s = 2 d for d "
        f"= {', '.join(map(str, dimensions))}; instructions of the projections for d of at least "
        "1,024; by the clock "
        + ", ".join(
            f"{r:.1f} times as fast at {n:,}"
            for n, r in zip(
                SIZES["structured"], by_clock["independent"] / by_clock["structured"], strict=True
            )
        ),
    )

# %% [markdown]
# ## Try it
#
# `invariance run raj2017/remark4 -p d 256`: what do longer vectors change? Or `-p s 1000`.
